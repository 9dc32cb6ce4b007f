//===- PanelMatmul.h - Matrix products by panels of columns ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Per batch, group of rows and chunk of panels: blocks of k outermost, so that
// a slice of lhs and the chunk's part of the result stay in the second level of
// the cache while rhs streams through once. It comes packed, or blocks of it
// are packed on the way: there a group may be tall and have many slices, and
// the first that meets a panel packs it. Sums wait for the next block of k in
// the result itself; those of a last panel that is not full wait on the stack,
// and where the result is of another type, so do all: there a chunk of several
// blocks of k is one panel. What follows the matmul runs over each tile after
// its last block of k, whose sums come on the stack: read back from the result,
// whose rows often lie a multiple of 4 KiB apart, a load would seem to wait for
// the store of the row above.
//
// Where the result is the product's transpose, a tile is turned on its way
// there and what follows runs over its columns.
//
// Where nothing needs some rows, the others of a group are copied together, and
// tiles are made of those.
//
// Of a few rows, rhs is not packed but read as it lies (see StreamedRows.h).
//
// Where two halves of the columns meet, a panel is one of each half, and so is
// a tile. Between blocks of k both wait in scratch memory.
//
// Where AMX multiplies all of k at once, what follows a tile is computed beside
// the next one (see OverlappedTiles.h).
//
// Where pairs of bf16 or f16 are multiplied (see RhsPanels.h), a step of k is a
// pair.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CPU_PANELMATMUL_H
#define TENON_COMPILER_TARGETS_CPU_PANELMATMUL_H

#include "compiler/Targets/Cpu/LhsSlices.h"
#include "compiler/Targets/Cpu/ListedRows.h"
#include "compiler/Targets/Cpu/MatmulBatches.h"
#include "compiler/Targets/Cpu/OverlappedTiles.h"
#include "compiler/Targets/Cpu/PanelEpilogue.h"
#include "compiler/Targets/Cpu/PanelUnits.h"
#include "compiler/Targets/Cpu/RhsPanels.h"
#include "dialects/Kernel/MatmulView.h"
#include "dialects/Kernel/Packing.h"

namespace tenon::cpu {

class PanelMatmul {
public:
  /// `packed` is rhs where it comes packed, else null.
  PanelMatmul(Emitter &e, graph::MatmulOp op, kernel::MatmulView view,
              Value packed, RowCount count = RowCount::Any);

  void emit();

private:
  /// Rows of the batch, or of the list: where a slice begins, and those of it
  /// that a strip has.
  struct StripRows {
    Value slice, begin, end;
  };

  void emitBatches();
  PanelUnits makeUnits();
  /// Whether what follows a tile may be computed beside the next one.
  bool mayOverlap() const;
  bool isTall() const { return mostBlocks > kernel::groupBlocks; }
  bool mayBeWhole() { return mlir::getConstantIntValue(wholePanels) != 0; }
  bool mayBePartial();

  /// Where an operand's matrix of a batch lies; its elements may be pairs.
  Matrix matrixOf(const kernel::StridedView &operand, Value tensor, Value batch,
                  bool inPairs);
  /// Which matrix on the right a batch has.
  Value matrixOrdinal(Value batch) {
    return view.picks ? e.checkedIndex(view.picks, batch) : batch;
  }

  /// Units [begin, end) of the batch.
  void emitBatch(Value batch, Value begin, Value end);
  void emitGroup();
  /// The group where rhs is read as it lies.
  void emitStreamed();
  void forEachPanel(Value begin, Value end,
                    llvm::function_ref<void(Value panel, bool isWhole)> body);
  void emitChunk(Value begin, Value end);
  /// Slices of the group that panels [begin, end) of the piece may meet.
  void forEachSlice(Value begin, Value end, llvm::function_ref<void()> body);
  void copySlice(Value k, Value kEnd);

  // What is done with a panel (PanelMatmulStrips.cpp).
  /// What is stored for a panel of rows that are not computed.
  void emitSkipped(Value panel, bool isWhole);
  void emitStrip(PanelBlock block, bool isWhole);
  /// Where a panel is packed, from block `low` of the group on. One that meets
  /// a single slice, just before it does: there is one place for all.
  void placePanel(PanelBlock &block, Value low);
  /// The strips of some rows by a panel from column n on, one for each part.
  /// `inResult`: sums are at home there.
  llvm::SmallVector<Strip> stripsOf(const PanelBlock &block,
                                    const StripRows &rows, Value n,
                                    bool inResult);
  /// Their tiles, from row m on. `staysInResult`: nothing follows them.
  void emitTiles(llvm::ArrayRef<Strip> works, const PanelBlock &block, Value m,
                 Value n, bool staysInResult);
  /// Where the sums of a panel of the chunk, from row m on, wait for the next
  /// block of k.
  Value waitingAt(Value panelOfChunk, Value m);
  /// Everything behind the matmul, for the rows from m on of a tile whose sums
  /// are there.
  void emitBehind(Value m, Value count, Value n, Value width);
  void emitRowBehind(Value m, Value n, Value width, Value sums, Value waits);

  Value onStack(int64_t count) {
    return cpu::onStack(e, e.b.getF32Type(), count);
  }
  Value element(Value base, Value offset) {
    return e.address(base, e.b.getF32Type(), offset);
  }
  /// A number wherever it can be, for the vectoriser.
  Value widthOf(bool isWhole) {
    Value width = e.number(kernel::panelColumns);
    return isWhole ? width : e.sub(columns, e.mul(wholePanels, width));
  }

  Emitter &e;
  graph::MatmulOp op;
  kernel::MatmulView view;
  RhsPanels rhsPanels;
  StripKind kind;
  Value rows, columns, depth;
  bool isPacked;
  Value panels, wholePanels;
  int64_t parts, tileElements;
  int64_t mostPanels, mostBlocks; // Of a chunk, of a group.
  bool streams;                   // Rhs is read as it lies.
  bool sumsFit;                   // Those of whole panels wait in the result.
  bool isBare, isOneBlock;
  bool hasScratch; // For sums that wait.
  std::optional<PanelUnits> units;
  std::optional<NextBatch> next;
  Value sums, waiting; // Of a tile, of a group.
  Indices leadDims;
  std::optional<ListedRows> listed; // Where not all rows are computed.
  std::optional<LhsSlices> lhs;
  std::optional<OverlappedTiles> overlapped;
  // Of the current batch.
  Value batch, resultRow;
  // Of the current group's blocks.
  Value sliceBegin, sliceEnd;
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_PANELMATMUL_H
