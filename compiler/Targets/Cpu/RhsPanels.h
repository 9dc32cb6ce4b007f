//===- RhsPanels.h - The right side of a product, panel by panel ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A panel lies packed, or a block of it is packed on the way. Of a weight in
// bf16, two steps of k lie together. Where the level multiplies such pairs and
// rows of lhs are pairs too, a pair is one element of 4 bytes, and a step of k
// is a pair. Elsewhere a block of a panel is widened once for a group's rows,
// or, of few rows, by each tile in registers. So are those of a quantized
// weight (see QuantizedTile.h), or its panels become pairs, for many rows of
// lhs that are such. A block in bf16 that is packed on the way is made of pairs
// too. A weight in f16 lies as one of f32 does; tiles widen it as they load it,
// or, of many rows, the first one does and stores it for the others.
//
// Where the level adds up in f16 and has no products of pairs of bf16, blocks
// of all these become pairs of f16 for many rows, if the product allows that.
// What is packed on the way may hold any numbers: its columns have factors.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CPU_RHSPANELS_H
#define TENON_COMPILER_TARGETS_CPU_RHSPANELS_H

#include "compiler/Targets/Cpu/MatmulOperands.h"
#include "compiler/Targets/Cpu/PackedMatmulStrip.h"
#include "dialects/Kernel/MatmulView.h"
#include "dialects/Kernel/QuantizedRhs.h"

namespace tenon::cpu {

/// A block of k of a panel, and the chunk of panels that it belongs to.
struct PanelBlock {
  Value panel, begin, end; // This one of [begin, end).
  Value k, kEnd, width;    // Columns that it has.
  /// Where it does not come packed: its place in scratch memory, that of the
  /// next panel, and whether it is not there yet; null: it never is.
  Value place, nextPlace, isNew;
};

/// The rows of a product that code is for. Where panels can be made pairs there
/// is code for few rows, and for many that does.
enum class RowCount { Any, Few, Many };

class RhsPanels {
public:
  /// `packed` is rhs where it comes packed, else null; `view` outlives this.
  RhsPanels(Emitter &e, const kernel::MatmulView &view, Value packed,
            RowCount count);

  /// Whether panels of the product can be made pairs, of many rows.
  static bool canMakePairs(const CpuLevel &level,
                           const kernel::MatmulView &view);

  /// Whether steps of k are pairs, and whether packed panels are widened.
  bool multipliesPairs() const { return multiplies; }
  /// Whether such are of f16, and lhs is to be rounded to it.
  bool multipliesF16() const { return inF16; }
  StripKind kind() const {
    return inF16        ? StripKind::F16Pairs
           : multiplies ? StripKind::Pairs
                        : StripKind::F32;
  }
  bool widens() const {
    return packed && !multiplies && (quantized || hasPairs || isF16);
  }
  /// Whether tiles of any number of rows can read lhs interleaved.
  bool takesInterleaved() const { return !widens() || isF16; }
  /// Steps of k, and their number where it is known.
  Value getDepth() const { return depth; }
  std::optional<int64_t> getKnownDepth() const { return knownDepth; }

  /// The steps of k in a block, and those that so many rows take at once.
  int64_t blockDepth() const;
  Value stepsAtOnce(Value rows);
  /// The depth that scratch memory for a block has room for.
  std::optional<int64_t> scratchDepth() const {
    return kernel::scratchDepth(quantized, view.depth.asConstant());
  }

  /// Bytes of scratch memory for a panel of a block, and where they are.
  int64_t scratchBytes() const;
  void setScratch(Value area) { panel = area; }

  /// A batch begins, whose matrix of `panels` panels is `matrix` where it does
  /// not come packed.
  void startBatch(Value batch, Value panels, const Matrix &matrix);
  const Matrix &ofBatch() const { return rhs; }

  /// Completes the work on a part of the panel, be it one of two halves: B,
  /// which is packed or widened here if need be, and what to fetch meanwhile.
  Strip partOf(Strip work, const PanelBlock &block, int64_t part);

  /// The most rows of a tile of so many rows; null: as the level has it.
  Value mostRows(Value rows);
  /// A tile of a part, of the least width that covers `width` columns.
  void callTile(const Strip &work, const StripTile &tile,
                const StripTarget &target, Value width);

private:
  static bool multipliesPairs(const CpuLevel &level,
                              const kernel::MatmulView &view);
  int64_t panelElements() const;
  void packBlock(const Strip &work, const PanelBlock &block, int64_t part);
  Value scratchOf(Value place, int64_t part);
  Value inPacked(Value base, Value offset);
  Value packedAt(Value panel, Value k);
  Value quantizedAt(Value panel, Value k);
  void findSides(Strip &work, Value panel, Value k);
  static bool addsF16(const CpuLevel &level, const kernel::MatmulView &view);
  Strip pairedPart(Strip work, Value panel, Value k, int64_t part);
  Strip quantizedPart(Strip work, Value panel, Value k, int64_t part);
  void callQuantized(const Strip &work, const StripTile &tile,
                     const StripTarget &target);
  bool keepsPairs() const;
  void callAndKeep(const Strip &work, const Strip &narrow, StripKind keeping,
                   const StripTile &tile, const StripTarget &target,
                   Value width);
  void keepFirst(const Strip &work, Strip narrow, StripKind keeping,
                 const StripTile &tile, const StripTarget &target, Value width);
  int64_t narrowTileRows() const;
  int64_t mostFew() const;
  Value isFew(Value rows);
  Value isMany(Value rows);
  void callWidth(Strip work, const StripTile &tile, const StripTarget &target,
                 Value width);

  Emitter &e;
  const kernel::MatmulView &view;
  std::optional<kernel::QuantizedRhs> quantized;
  Value packed, depth;
  std::optional<int64_t> knownDepth;
  bool areFew, makesPairs, hasPairs, multiplies, inF16, isF16;
  int64_t parts;
  Value packedDepth; // Rows of a packed panel.
  Value panel;       // Scratch memory.
  // Of the current batch.
  Value batch;
  Matrix rhs;
  Value packedBatch;
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_RHSPANELS_H
