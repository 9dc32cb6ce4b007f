//===- AttentionUnit.h - One unit of work of an attention -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_ATTENTIONUNIT_H
#define TENON_COMPILER_TARGETS_CPU_ATTENTIONUNIT_H

#include "compiler/Targets/Cpu/AttentionKeys.h"
#include "compiler/Targets/Cpu/AttentionVectors.h"
#include "compiler/Targets/Cpu/PackedMatmulStrip.h"
#include "dialects/Kernel/AttentionView.h"

namespace tenon::cpu {

using kernel::AttentionView;
using kernel::keyBlock;
using kernel::queryBlock;

constexpr double log2OfE = 1.4426950408889634;

/// A block of one list of queries (see kernel::AttentionView) and where its
/// things are in memory.
struct AttentionUnit {
  AttentionUnit(Emitter &e, const AttentionView &view);

  /// Whether products of many queries are those of AttentionMatrices.h, or of
  /// pairs in vectors, of bf16 or of f16; else they are of f32.
  bool usesMatrices() const {
    return view.isRounded && !view.toF16 && e.level.amx != Amx::None;
  }
  bool usesPairs() const {
    return view.isRounded && !usesMatrices() && view.depth % 2 == 0 &&
           view.depth >= 2 * lanes && (multipliesBf16() || mayAddF16());
  }
  bool usesF16() const { return usesPairs() && !multipliesBf16(); }
  bool rounds() const { return usesMatrices() || usesPairs(); }
  /// What the products multiply.
  StripKind kind() const {
    return usesF16()     ? StripKind::F16Pairs
           : usesPairs() ? StripKind::Pairs
                         : StripKind::F32;
  }

  /// Makes a row of the launch the current one.
  void start(Value row);

  /// The keys of the current piece that any query sees whose last keys lie in
  /// [first, last].
  std::pair<Value, Value> keysOf(Value first, Value last);
  /// Emits `finish` where the unit's sums are in scratch memory: those of its
  /// only piece, or for the last one what `join` makes of all. Of a piece's
  /// sums `floats` are used.
  void finishWith(Value floats, llvm::function_ref<void()> join,
                  llvm::function_ref<void()> finish);
  /// Something of a piece of the unit (see kernel::AttentionPiece).
  Value pieceAt(Value piece, int64_t offset);

  Value area(int64_t offset) {
    return e.address(base, e.b.getI8Type(), e.number(offset));
  }
  Value element(Value base, Value offset) {
    return e.address(base, f32, offset);
  }
  Value byte(Value base, Value offset) {
    return e.address(base, e.b.getI8Type(), offset);
  }
  Value load(Value at) { return vectors.load(vector, at); }
  void store(Value value, Value at) { vectors.store(value, at); }
  /// What lies `offset` elements behind some of a tensor that is read as it is
  /// in memory, which may be 16 bits, and of keys and values a byte.
  Value behind(const kernel::StridedView &seen, Value base, Value offset) {
    return e.address(base, Emitter::memoryType(seen.element()), offset);
  }
  /// A vector of it, in f32.
  Value loadOf(const kernel::StridedView &seen, Value at) {
    return vectors.loadAs(vector, seen.element(), at);
  }
  /// A vector of a row that ends at `end`, from `at` on, and zeros behind it.
  Value loadHead(const kernel::StridedView &seen, Value row, int64_t at,
                 int64_t end) {
    return vectors.loadSomeAs(vector, seen.element(),
                              behind(seen, row, e.number(at)),
                              e.number(end - at));
  }
  /// Two vectors of a row, rounded and times its scale, if there is one: words
  /// of two, as many as lanes.
  Value pairsAt(const kernel::StridedView &seen, Value at, Value scale);
  Value splat(double value) { return constantLike(e.b, vector, value); }

  /// Where a key and value have their scale, from the head's on, and the scale
  /// of one; null where they have none.
  using Scales = std::optional<kernel::StridedView>;
  Value scalesOf(const Scales &scales, Value key);
  Value scaleOf(const Scales &scales, Value key);
  /// Those of the keys from `key` on, of which there are `count`.
  Value scalesFrom(const Scales &scales, Value key, Value count);
  /// A row's elements times its scale, if there is one.
  Value times(Value elements, Value scale);

  /// The largest size (see bitsOfSize) of `count` elements of rows [from, to),
  /// of which `rowAt` and `scaleAt` tell place and scale, which may be null.
  Value sizeOf(const kernel::StridedView &seen, int64_t count, Value from,
               Value to, llvm::function_ref<Value(Value)> rowAt,
               llvm::function_ref<Value(Value)> scaleAt);

  Value bufferOf(const kernel::StridedView &seen);
  /// Element 0 of key 0 of the unit's head.
  Value headOf(const kernel::StridedView &seen);
  /// A query of the list: its position and its head.
  std::pair<Value, Value> queryAt(Value number);
  /// The offset of a query, its batch aside, in a tensor of these strides.
  Value offsetOf(Value number, llvm::ArrayRef<Expr> strides);
  /// Where the unit's batch of a bias starts.
  Value batchOf(Value bias, const kernel::StridedView &seen);
  /// The elements of a bias's line from key `key` on, `count` of them or as
  /// many as there are lanes.
  Value biasAt(mlir::VectorType type, const kernel::StridedView &seen,
               Value line, Value key, Value count);
  Value resultRow(Value number);
  /// Where an element of it lies, and elements as they lie there.
  Value inResult(Value row, Value n);
  Value asResult(Value elements);

  /// 2^(score - shift) in units of the scores.
  Value power(Value score, Value shift);
  /// The result of a query to which no key adds anything. Where a key does
  /// take part, its score is -infinity, and so is the largest one: that gives
  /// NaN.
  void fillDead(Value number);

  Emitter &e;
  const AttentionView &view;
  graph::AttentionOp op;
  kernel::AttentionScratch areas;
  int64_t lanes;
  mlir::Type f32;
  mlir::VectorType vector;
  AttentionVectors vectors;
  Value base, keys, group, listLength, blocks, pieces, units;
  double softcap;
  double scale; // Of queries.
  bool isPlain; // Scores are used as they are, in powers of two.
  // Of the current row: unit, piece of its keys, and of the unit where its
  // list starts (`first` is a number in it) and how many queries it has.
  Value unit, piece, list, batch, keyHead, first, count;

private:
  bool multipliesBf16() const {
    return e.level.pairDots != PairDots::None && !view.toF16;
  }
  bool mayAddF16() const { return e.level.f16Fma != F16Fma::None; }
  Value meanOf(Value n);
};

/// A unit of many queries: they lie along the vectors.
void emitAttentionColumns(const AttentionUnit &unit);

/// A unit of a few queries, one after the other: keys lie along the vectors.
void emitAttentionRows(const AttentionUnit &unit);
/// At most how many; 0 where head sizes do not fill vectors.
int64_t mostAttentionRows(const CpuLevel &level, const AttentionView &view);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_ATTENTIONUNIT_H
