//===- PanelUnits.h - What part of a product a piece computes -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The units of Packing.h, which rows of the launch count, as rows and panels of
// a product.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CPU_PANELUNITS_H
#define TENON_COMPILER_TARGETS_CPU_PANELUNITS_H

#include "compiler/Targets/Cpu/PackedMatmulStrip.h"

namespace tenon::cpu {

class PanelUnits {
public:
  /// Units of a block of rows by a panel, `mostBlocks` blocks in a group.
  static PanelUnits blocks(Emitter &e, Value rows, Value columns,
                           const RowBlocks &blocks, int64_t mostBlocks);
  /// Units of `unitRows` by `unitColumns`, as many in each group. Of a group's
  /// rows a piece may have some in a panel, where they are many: as whole
  /// registers hold them. Of up to `mostMerged` groups that follow each other,
  /// half of all at most, all rows meet a panel before the next one does.
  static PanelUnits fine(Emitter &e, Expr rows, Expr columns, StripKind kind,
                         bool interleaved, int64_t mostMerged = 1);
  /// How many groups to merge whose rows are read as they lie, of so many bytes
  /// each.
  static int64_t groupsNearby(const CpuLevel &level, StripKind kind,
                              int64_t rowBytes);

  /// Units of a batch.
  Value ofBatch() const { return count; }

  /// Runs `body` for each group of which units [begin, end) of the batch have a
  /// part, which is then the current one.
  void forEachGroup(Value begin, Value end, llvm::function_ref<void()> body);

  // ---- Of the current group ---------------------------------------------
  /// Blocks, or what takes their place.
  Value size() const { return groupSize; }
  /// The first row of a block, or one behind all of the group.
  Value rowOf(Value block) const;
  /// Panels of the piece, and the blocks that it has of one of those.
  Value beginPanel() const;
  Value endPanel() const;
  std::pair<Value, Value> blocksOf(Value panel) const;

private:
  PanelUnits(Emitter &e, Value rows, Value columns, RowBlocks blocks,
             Value blockCount, Value mostBlocks, int64_t parts);

  Value positionOf(Value panel) const;
  Value blockAt(Value position, Value panel) const;

  Emitter *e;
  Value rows;
  bool isFine = false;
  RowBlocks rowBlocks;          // Groups where units are fine,
  Value groups;                 // of which there are so many,
  Value merged;                 // and so many at a time.
  Value blockCount, mostBlocks; // Of a batch, of a group.
  Value wholePanels;
  int64_t parts;    // Of a panel, each a unit wide.
  Value lastParts;  // Of one that is not full; null where all are.
  Value partsOfRow; // Of all panels.
  Value isCut;      // A piece may end inside a group's rows,
  int64_t tile = 1; // behind so many blocks; else who has more has all.
  Value count;
  // Of the current group.
  Value firstBlock, groupSize, groupRow, groupEnd;
  Value from, to; // Its units in the piece.
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_PANELUNITS_H
