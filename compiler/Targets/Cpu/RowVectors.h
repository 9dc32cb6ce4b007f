//===- RowVectors.h - Passes over a row by vectors ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_ROWVECTORS_H
#define TENON_COMPILER_TARGETS_CPU_ROWVECTORS_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// The vectors of elements [0, length) of a row, of as many lanes as f32 has.
class RowVectors {
public:
  /// A row of a known number of vectors up to `mostResident` is unrolled: the
  /// values that one pass computes are at hand in the next.
  RowVectors(Emitter &e, Value length, int64_t mostResident);

  bool isResident() const { return !firsts.empty(); }

  /// Of all lanes: see Lanes.
  bool mayFlush = false;

  /// One vector of a pass; its number where the row is resident.
  struct Step {
    Lanes lanes;
    int64_t ordinal = -1;
  };
  using Values = llvm::SmallVector<Value>;
  using Body =
      llvm::function_ref<Values(const Step &step, mlir::ValueRange carried)>;
  using Join =
      llvm::function_ref<Values(mlir::ValueRange x, mlir::ValueRange y)>;

  /// Runs `body`, in the lanes of a vector, for all of them. What it carries
  /// starts as `start`, in each of `copies` chains that do not wait for each
  /// other; `join` makes one of two.
  Values pass(int64_t copies, llvm::ArrayRef<Value> start, Body body,
              Join join);
  /// The same for its effects alone.
  void forEach(int64_t copies, llvm::function_ref<void(const Step &)> body);

  /// Of lanes [first, first + width), those below `end`.
  static Lanes lanesBelow(Emitter &e, Value first, int64_t width, Value end);
  static int64_t widthOf(const Emitter &e) { return e.level.lanes(4); }

private:
  Values runBody(const Step &step, mlir::ValueRange carried, Body body);
  Values passUnrolled(int64_t copies, llvm::ArrayRef<Value> start, Body body,
                      Join join);
  Value opaque(int64_t position);
  Lanes knownLanes(Value first, int64_t position);

  Emitter &e;
  int64_t width;
  Value length;
  std::optional<int64_t> known; // The length.
  Values firsts;                // Of a resident row.
};

/// 0, 1, 2, .. in i32, and which lanes are below a count that 32 bits hold.
Value laneNumbers(ImplicitLocOpBuilder &b, int64_t lanes);
Value lanesBelow(ImplicitLocOpBuilder &b, int64_t lanes, Value count);

/// Stores those lanes of a vector that there are, in a line of f32 in scratch
/// memory from an element on; and reads as many elements as there are offsets,
/// all of them, so that there is no branch for each.
void storeInLine(Emitter &e, const Lanes &lanes, Value vector, Value line,
                 Value at);
Value gatherFromLine(Emitter &e, Value line, Value offsets);

/// Some rows of a line: those of the axis in front of the last one, at `outer`,
/// the index of all axes before.
struct Line {
  Indices outer;
  Value firstRow, from, to;
};
/// Rows [begin, end) of a kernel whose rows are the last of some axes, line by
/// line.
void forEachLine(Emitter &e, llvm::ArrayRef<Value> dims,
                 llvm::function_ref<void(const Line &line)> body);
/// The same of rows [from, to) of axes `rows`.
void forEachLine(Emitter &e, llvm::ArrayRef<Value> rows, Value from, Value to,
                 llvm::function_ref<void(const Line &line)> body);

/// Of a line's rows those x, one behind the other, for which x * stride lies in
/// [least, most]: the first, and the one behind the last.
std::pair<Value, Value> rowsWithin(Emitter &e, const Line &line, int64_t stride,
                                   Value least, Value most);

/// Halves of a vector joined until one lane is left.
Value foldLanes(Emitter &e, Value vector,
                llvm::function_ref<Value(Value, Value)> join);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_ROWVECTORS_H
