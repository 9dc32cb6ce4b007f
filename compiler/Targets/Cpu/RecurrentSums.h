//===- RecurrentSums.h - What a cell's state is multiplied by -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_RECURRENTSUMS_H
#define TENON_COMPILER_TARGETS_CPU_RECURRENTSUMS_H

#include "compiler/Targets/Cpu/Emitter.h"
#include "dialects/Kernel/RecurrentView.h"

namespace tenon::cpu {

/// A part of the states of a group, [hidden] of f32 each.
struct GroupStates {
  Value first;
  int64_t stride; // Bytes from one to the next.
  Value count;

  /// One of them; for a number behind the last one, the one at `otherwise`.
  Value at(Emitter &e, Value number, Value otherwise = {}) const;
};

/// What is summed for vectors of kernel::cellUnits hidden units of some states:
/// state by state, and of each some gates.
struct CellSums {
  llvm::SmallVector<Value> values; // In registers; or else
  Value base;                      // where memory has them, and
  int64_t chains = 1;              // how many of them are the sum of a gate.
};

/// Sums of the states of a group times the recurrence R of a cell.
class RecurrentSums {
public:
  virtual ~RecurrentSums() = default;

  /// Looks at the states that the sums behind this are of.
  virtual void read(const GroupStates &states) = 0;

  /// The sums of some gates, which follow each other, of the units from `unit`
  /// on, of the states abreast from number `from` on.
  virtual CellSums of(Value direction, Value unit, Value from,
                      llvm::ArrayRef<int64_t> gates) = 0;
};

/// Of the R of the kernel's root, as memory has it.
std::unique_ptr<RecurrentSums>
makeRecurrentSums(Emitter &e, graph::RecurrentOp op,
                  const kernel::RecurrentView &view);

/// Sums that the registers have room for.
struct SumPiece {
  llvm::ArrayRef<int64_t> gates;
  int64_t entry, entries; // The first one, and how many.

  int64_t count() const { return int64_t(gates.size()) * entries; }
};

/// The sums of all entries and gates, entry by entry, by pieces of so many.
llvm::SmallVector<Value> inPieces(
    llvm::ArrayRef<int64_t> gates, int64_t entries, int64_t gatesEach,
    int64_t entriesEach,
    llvm::function_ref<llvm::SmallVector<Value>(const SumPiece &piece)> sumsOf);

/// Sums in vector registers. What a line of R has, of one step or of two, is
/// multiplied by a number of each state in turn.
class VectorSums : public RecurrentSums {
public:
  /// Of a vector of units R has `lines` lines, of which `count` are multiplied.
  VectorSums(Emitter &e, graph::RecurrentOp op,
             const kernel::RecurrentView &view, int64_t lines, int64_t count);

  void read(const GroupStates &states) override { group = states; }
  CellSums of(Value direction, Value unit, Value from,
              llvm::ArrayRef<int64_t> gates) override;

protected:
  /// Adds to the sums of each state what `numbers` gives, a gate's part of a
  /// line of R each.
  virtual void multiply(Value line, llvm::ArrayRef<Value> numbers,
                        llvm::ArrayRef<Value> states,
                        llvm::MutableArrayRef<Value> sums) = 0;
  Emitter &e;
  const kernel::RecurrentView view;
  const mlir::VectorType type;
  GroupStates group; // As they are multiplied.

private:
  void addLine(Value line, Value first, const SumPiece &piece,
               llvm::MutableArrayRef<Value> sums);
  llvm::SmallVector<Value> sumsOf(Value first, const SumPiece &piece);

  const int64_t lines, count;
  const Value recurrence;
  llvm::SmallVector<Value> states;
};

/// `count` sums from `zero` on, to which `add` adds what each of `steps` steps
/// gives. Those of `chains` steps, a divisor of them, do not wait for each
/// other; `together` of them, a divisor as well, are one iteration at least.
llvm::SmallVector<Value> sumSteps(
    Emitter &e, Value steps, int64_t count, int64_t chains, Value zero,
    llvm::function_ref<void(Value step, llvm::MutableArrayRef<Value> sums)> add,
    int64_t together = 1);

/// Adds to the sums of each state, gate by gate, its element `step` times what
/// R has there of some gates.
void addProducts(Emitter &e, mlir::VectorType type,
                 llvm::ArrayRef<Value> states, Value step,
                 llvm::ArrayRef<Value> numbers,
                 llvm::MutableArrayRef<Value> sums);

/// A vector from element `i` on.
inline Value loadUnits(Emitter &e, mlir::VectorType type, Value base, Value i) {
  mlir::Type element = type.getElementType();
  return mlir::LLVM::LoadOp::create(e.b, type, e.address(base, element, i),
                                    element.getIntOrFloatBitWidth() / 8);
}

/// Fetches such a vector to the first level of the cache. Past a buffer's end
/// nothing is read.
inline void fetchUnits(Emitter &e, Value base, Value i) {
  mlir::LLVM::Prefetch::create(e.b, e.address(base, e.b.getF32Type(), i),
                               /*rw=*/0, /*hint=*/3, /*cache=*/1);
}

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_RECURRENTSUMS_H
