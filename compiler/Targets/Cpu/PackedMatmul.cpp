//===- PackedMatmul.cpp - Matrix products by panels of columns ------------===//
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

#include "compiler/Targets/Cpu/AmxStrip.h"
#include "compiler/Targets/Cpu/LhsSlices.h"
#include "compiler/Targets/Cpu/ListedRows.h"
#include "compiler/Targets/Cpu/MatmulBatches.h"
#include "compiler/Targets/Cpu/OverlappedTiles.h"
#include "compiler/Targets/Cpu/PackedMatmulStrip.h"
#include "compiler/Targets/Cpu/PanelEpilogue.h"
#include "compiler/Targets/Cpu/PanelUnits.h"
#include "compiler/Targets/Cpu/RhsPanels.h"
#include "compiler/Targets/Cpu/TurnedTile.h"
#include "dialects/Kernel/Geometry.h"
#include "dialects/Kernel/MatmulView.h"
#include "dialects/Kernel/Packing.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::blockRows;
using kernel::groupBlocks;
using kernel::panelColumns;

/// Sums of a group's rows in a panel.
constexpr int64_t groupElements = groupBlocks * blockRows * panelColumns;

class PanelMatmul {
public:
  /// `packed` is rhs where it comes packed, else null.
  PanelMatmul(Emitter &e, graph::MatmulOp op, kernel::MatmulView view,
              Value packed, RowCount count = RowCount::Any)
      : e(e), op(op), view(std::move(view)),
        rhsPanels(e, this->view, packed, count),
        rows(e.valueOf(this->view.rows)),
        columns(e.valueOf(this->view.columns)), depth(rhsPanels.getDepth()),
        isPacked(packed) {
    std::optional<int64_t> knownDepth = rhsPanels.getKnownDepth();
    Value yielded = e.kernel.getYielded()[0];
    parts = this->view.halves ? 2 : 1;
    if (this->view.skipped)
      listed.emplace(e, *this->view.skipped);
    sumsFit = graph::getElementType(yielded).isF32() && parts == 1 &&
              !this->view.turn && !listed;
    hasScratch = parts == 2 || listed || kernel::sumsWait(op);
    isOneBlock = knownDepth && *knownDepth <= rhsPanels.blockDepth();
    mostPanels = sumsFit || isOneBlock ? kernel::chunkPanels
                 : hasScratch          ? kernel::waitingPairs
                                       : 1;
    mostBlocks = packed ? groupBlocks : kernel::blocksOfGroup(op, this->view);
    panels = e.ceilDiv(columns, e.number(panelColumns));
    wholePanels = e.div(columns, e.number(panelColumns));
    kind = rhsPanels.kind();
    if (!packed && !this->view.picks)
      next = NextBatch::of(op, this->view);
    lhs.emplace(e, this->view, rhsPanels, listed ? &*listed : nullptr);
    auto behind = [&](Value area, int64_t bytes) {
      if (bytes == 0)
        return area;
      return e.atEntry(
          [&] { return e.address(area, e.b.getI8Type(), e.number(bytes)); });
    };
    Value pairs = e.scratch(0);
    std::optional<int64_t> steps = rhsPanels.scratchDepth();
    Value area = behind(pairs, hasScratch ? kernel::pairBytes(steps)
                               : isTall() ? kernel::tallSumsBytes(steps)
                                          : 0);
    // Of panels that are packed here, their number decides how many come last.
    lhs->setScratch(packed ? behind(area, rhsPanels.scratchBytes()) : area);
    rhsPanels.setScratch(
        packed ? area : behind(area, this->view.lhsScratchBytes(steps)));
    isBare = kernel::behindReshapes(yielded) == op.getResult();
    leadDims = e.dimsOf(op.getResult());
    leadDims.pop_back();
    tileElements = stripTileRows(e.level, kind) * panelColumns;
    sums = onStack(parts * tileElements);
    if (mayOverlap())
      overlapped.emplace(e, kind, *knownDepth,
                         [this](Value m, Value n, Value sums, Value waits) {
                           emitRowBehind(m, n, this->e.number(panelColumns),
                                         sums, waits);
                         });
    if (hasScratch || isTall())
      waiting = pairs;
    else if ((!sumsFit || mayBePartial()) && !isOneBlock)
      waiting = onStack(groupElements);
  }

  void emit() {
    withAmx(e, usesAmx(e.level, kind), [&] {
      if (mostPanels == 1 || !lhs->mayCopy())
        return emitBatches();
      Value ways = e.cacheWays(), most = e.number(kernel::interleavedRows);
      lhs->setCopies(true);
      e.ifThen(e.less(ways, e.add(most, e.number(1))), [&] { emitBatches(); });
      lhs->setCopies(false);
      e.ifThen(e.less(most, ways), [&] { emitBatches(); });
    });
  }

private:
  void emitBatches() {
    units = makeUnits();
    if (view.batchDims.empty())
      return emitBatch(e.number(0), e.begin, e.end);
    forEachBatch(e, units->ofBatch(), [&](Value batch, Value from, Value to) {
      emitBatch(batch, from, to);
    });
  }

  PanelUnits makeUnits() {
    bool tiles = lhs->interleaves();
    if (isPacked && !listed) {
      // What waits for the next block of k, and what is copied, is a group's.
      int64_t merged = isOneBlock && !lhs->copies()
                           ? PanelUnits::groupsNearby(
                                 e.level, kind, 4 * *rhsPanels.getKnownDepth())
                           : 1;
      return PanelUnits::fine(e, view.rows, view.columns, kind, tiles, merged);
    }
    Value blocks = e.ceilDiv(rows, e.number(blockRows));
    return PanelUnits::blocks(e, rows, columns,
                              listed ? RowBlocks::whole(e, blockRows)
                                     : RowBlocks(e, rows, blocks, kind, tiles),
                              mostBlocks);
  }

  /// Whether what follows a tile may be computed beside the next one.
  bool mayOverlap() const {
    return isPacked && isOneBlock && parts == 1 && !listed && !view.turn &&
           !view.quantized && !(sumsFit && isBare) &&
           OverlappedTiles::suits(e.level, kind, rhsPanels.getKnownDepth());
  }
  bool isTall() const { return mostBlocks > groupBlocks; }
  bool mayBeWhole() { return getConstantIntValue(wholePanels) != 0; }
  bool mayBePartial() {
    std::optional<int64_t> whole = getConstantIntValue(wholePanels);
    return !whole || *whole != getConstantIntValue(panels);
  }

  Value onStack(int64_t count) {
    return cpu::onStack(e, e.b.getF32Type(), count);
  }

  /// Where an operand's matrix of a batch lies; its elements may be pairs.
  Matrix matrixOf(const kernel::StridedView &operand, Value tensor, Value batch,
                  bool inPairs) {
    auto argument = cast<BlockArgument>(operand.base);
    bool isHalf = graph::getElementType(argument).isBF16();
    int64_t elements = inPairs ? 2 : 1;
    auto valueOf = [&](Expr expr) {
      return e.div(e.valueOf(expr), e.number(elements));
    };
    Value offset =
        batchOffset(e, operand, tensor, view.batchDims, batch, elements);
    size_t own = operand.strides.size() - 2;
    Matrix matrix;
    matrix.isHalf = isHalf && !inPairs;
    matrix.base = e.argumentBuffer(argument.getArgNumber());
    matrix.rowStride = e.number(1); // To reach the offset.
    matrix.base = matrix.at(e, offset, e.number(0));
    matrix.rowStride = operand.strides[own].isConstant(1)
                           ? e.number(1)
                           : valueOf(operand.strides[own]);
    matrix.columnStride = operand.strides[own + 1].isConstant(1)
                              ? e.number(1)
                              : valueOf(operand.strides[own + 1]);
    return matrix;
  }

  /// Which matrix on the right a batch has.
  Value matrixOrdinal(Value batch) {
    return view.picks ? e.checkedIndex(view.picks, batch) : batch;
  }

  /// Units [begin, end) of the batch.
  void emitBatch(Value batch, Value begin, Value end) {
    lhs->startBatch(
        matrixOf(view.lhs, op.getLhs(), batch, kind == StripKind::Pairs));
    Matrix rhs;
    Value matrix = matrixOrdinal(batch);
    if (!isPacked)
      rhs = matrixOf(view.rhs, op.getRhs(), matrix, /*inPairs=*/false);
    rhsPanels.startBatch(matrix, panels, rhs);
    if (next) {
      Value follower = e.add(batch, e.number(1));
      next->start(matrixOf(view.lhs, op.getLhs(), follower, false).base,
                  matrixOf(view.rhs, op.getRhs(), follower, false).base);
    }
    resultRow = e.mul(batch, rows);
    this->batch = batch;
    units->forEachGroup(begin, end, [&] { emitGroup(); });
  }

  void emitGroup() {
    if (listed)
      listed->list(batch, units->rowOf(e.number(0)), rows);
    Value begin = units->beginPanel();
    Value count = e.sub(units->endPanel(), begin),
          chunks = e.ceilDiv(count, e.number(mostPanels));
    e.loop(e.number(0), chunks, [&](Value chunk) {
      auto firstOf = [&](Value i) {
        return e.add(begin, e.div(e.mul(i, count), chunks));
      };
      emitChunk(firstOf(chunk), firstOf(e.add(chunk, e.number(1))));
    });
    if (overlapped)
      overlapped->finish();
  }

  void forEachPanel(Value begin, Value end,
                    function_ref<void(Value panel, bool isWhole)> body) {
    if (mayBeWhole())
      e.loop(begin, e.min(end, wholePanels),
             [&](Value panel) { body(panel, /*isWhole=*/true); });
    if (mayBePartial())
      e.loop(e.max(begin, wholePanels), end,
             [&](Value panel) { body(panel, /*isWhole=*/false); });
  }

  void emitChunk(Value begin, Value end) {
    if (listed)
      forEachPanel(begin, end, [&](Value panel, bool isWhole) {
        emitSkipped(panel, isWhole);
      });
    // One step where there is no k at all: its sums are zero.
    Value steps = lhs->stepsAtOnce(rows, depth);
    e.loop(e.number(0), e.max(depth, e.number(1)), steps, [&](Value k) {
      Value kEnd = e.min(e.add(k, steps), depth);
      forEachSlice(begin, end, [&] {
        if (lhs->copies())
          copySlice(k, kEnd);
        forEachPanel(begin, end, [&](Value panel, bool isWhole) {
          emitStrip(begin, end, k, kEnd, panel, isWhole);
        });
      });
    });
  }

  /// Slices of the group that panels [begin, end) of the piece may meet.
  void forEachSlice(Value begin, Value end, function_ref<void()> body) {
    if (!isTall()) {
      sliceBegin = e.number(0);
      sliceEnd = units->size();
      return body();
    }
    auto [low, high] = units->blocksOf(begin);
    Value isOne = e.equal(e.sub(end, begin), e.number(1));
    Value first =
        e.select(isOne, e.div(low, e.number(groupBlocks)), e.number(0));
    Value last =
        e.ceilDiv(e.select(isOne, high, units->size()), e.number(groupBlocks));
    e.loop(first, last, [&](Value slice) {
      sliceBegin = e.mul(slice, e.number(groupBlocks));
      sliceEnd = e.min(e.add(sliceBegin, e.number(groupBlocks)), units->size());
      body();
    });
  }

  /// What is stored for a panel of rows that are not computed.
  void emitSkipped(Value panel, bool isWhole) {
    auto [low, high] = units->blocksOf(panel);
    Value n = e.mul(panel, e.number(panelColumns));
    Value width = widthOf(isWhole);
    listed->forEachSkipped(units->rowOf(low), units->rowOf(high), [&](Value m) {
      Value row = e.add(resultRow, m);
      Value first = e.add(e.mul(row, columns), n);
      storePanelRow(e, view.skipped->select.getResult(),
                    {e.delinearise(row, leadDims), n, width, first, {}, {}});
    });
  }

  /// A number wherever it can be, for the vectoriser.
  Value widthOf(bool isWhole) {
    Value width = e.number(panelColumns);
    return isWhole ? width : e.sub(columns, e.mul(wholePanels, width));
  }

  void copySlice(Value k, Value kEnd) {
    Value first = units->rowOf(sliceBegin);
    lhs->copySlice(first, e.sub(units->rowOf(sliceEnd), first), k, kEnd);
  }

  Value element(Value base, Value offset) {
    return e.address(base, e.b.getF32Type(), offset);
  }

  void emitStrip(Value begin, Value end, Value k, Value kEnd, Value panel,
                 bool isWhole) {
    auto [low, high] = units->blocksOf(panel);
    PanelBlock block = {panel, begin, end, k, kEnd, widthOf(isWhole)};
    Value width = block.width;
    if (!isPacked)
      placePanel(block, low);
    if (isTall()) {
      low = e.max(low, sliceBegin);
      high = e.max(low, e.min(high, sliceEnd));
    }
    Value first = units->rowOf(sliceBegin);
    // Rows of the batch, or of the list.
    Value m = units->rowOf(low), mEnd = units->rowOf(high);
    if (listed) {
      first = e.number(0);
      m = listed->before(low);
      mEnd = listed->before(high);
    }
    Value n = e.mul(panel, e.number(panelColumns));
    bool inResult = isWhole && sumsFit;
    Strip work;
    work.depth = e.sub(kEnd, k);
    work.kind = kind;
    // What was rounded to bf16 leaves less room for errors.
    work.stepsInF16 = view.hasHalfLhs() || view.hasPairs() ? 48 : 64;
    lhs->placeRows(work, m, first, k);
    work.cStride = inResult ? columns : e.number(panelColumns);
    work.c = inResult
                 ? element(e.resultBuffer(0),
                           e.add(e.mul(e.add(resultRow, m), work.cStride), n))
             : isOneBlock ? sums
                          : waitingAt(e.sub(panel, begin), m);
    work.rows = e.sub(mEnd, m);
    work.mostRows = rhsPanels.mostRows(work.rows);
    work.accumulate = e.less(e.number(0), k);
    SmallVector<Strip> works;
    for (int64_t part = 0; part < parts; ++part) {
      works.push_back(rhsPanels.partOf(work, block, part));
      if (!isOneBlock)
        works.back().c = element(work.c, e.number(part * groupElements));
    }
    if (next)
      next->share(e, works.back(), panel);
    if (overlapped && isWhole)
      return forEachStripTile(e, work, [&](const StripTile &tile) {
        overlapped->compute(works[0], tile, e.add(m, tile.row), n);
      });
    Value isLast = e.equal(kEnd, depth);
    forEachStripTile(e, work, [&](const StripTile &tile) {
      bool staysInResult = inResult && isBare;
      for (auto [part, each] : llvm::enumerate(works)) {
        StripTarget own = {element(each.c, e.mul(tile.row, each.cStride)),
                           each.cStride};
        StripTarget here = {element(sums, e.number(part * tileElements)),
                            e.number(panelColumns)};
        if (!staysInResult && isOneBlock)
          own = here;
        else if (!staysInResult)
          own = {e.select(isLast, here.out, own.out),
                 e.select(isLast, here.stride, own.stride)};
        rhsPanels.callTile(each, tile, own, width);
      }
      if (staysInResult)
        return;
      auto behind = [&] {
        emitBehind(e.add(m, tile.row), tile.rows, n, width);
      };
      if (isOneBlock)
        behind();
      else
        e.ifThen(isLast, behind);
    });
  }

  /// Where a panel is packed, from block `low` of the group on. One that meets
  /// a single slice, just before it does: there is one place for all.
  void placePanel(PanelBlock &block, Value low) {
    Value none = e.number(0);
    block.place = block.nextPlace = none;
    if (!isTall())
      return;
    Value follower = e.add(block.panel, e.number(1));
    Value isLast = e.equal(follower, block.end);
    Value isShort = e.less(units->size(), e.number(groupBlocks + 1));
    block.place = e.select(isShort, none, e.sub(block.panel, block.begin));
    block.nextPlace = e.select(
        isShort, none, e.select(isLast, none, e.sub(follower, block.begin)));
    Value last = e.sub(sliceEnd, e.number(1));
    block.isNew = e.equal(low, e.max(sliceBegin, e.min(low, last)));
  }

  /// Where the sums of a panel of the chunk, from row m on, wait for the next
  /// block of k.
  Value waitingAt(Value panelOfChunk, Value m) {
    if (isTall())
      return element(waiting, e.mul(e.sub(m, units->rowOf(e.number(0))),
                                    e.number(panelColumns)));
    if (!hasScratch)
      return waiting;
    return element(waiting,
                   e.mul(panelOfChunk, e.number(parts * groupElements)));
  }

  /// Everything behind the matmul, for the rows from m on of a tile whose sums
  /// are there.
  void emitBehind(Value m, Value count, Value n, Value width) {
    if (view.turn) {
      Indices lead =
          e.delinearise(e.add(resultRow, m), leadDims); // One batch's rows.
      lead.back() = m;
      return storeTurnedTile(e, op, view.turn,
                             {lead, count, n, width, sums, panelColumns,
                              tileElements / panelColumns});
    }
    e.loop(e.number(0), count, [&](Value i) {
      emitRowBehind(e.add(m, i), n, width, sums,
                    e.mul(i, e.number(panelColumns)));
    });
  }

  void emitRowBehind(Value m, Value n, Value width, Value sums, Value waits) {
    SmallVector<Value> tensors = {op.getResult()};
    if (view.halves)
      tensors = {view.halves->low.getResult(), view.halves->high.getResult()};
    Value row = e.add(resultRow, listed ? listed->rowAt(m) : m);
    Value first = e.add(e.mul(row, columns), n);
    storePanelRow(e, tensors,
                  {e.delinearise(row, leadDims), n, width, first, sums, waits},
                  tileElements);
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

} // namespace

LogicalResult emitPanelMatmul(Emitter &e, bool isPacked) {
  auto op = dyn_cast_if_present<graph::MatmulOp>(
      kernel::findRoot(e.kernel.getBlock()));
  std::optional<kernel::MatmulView> view;
  if (op)
    view = kernel::matmulViewOf(op);
  if (!view || e.kernel.getYielded().size() != 1)
    return e.kernel.emitOpError("is no matmul of two operands with one result");
  Value packed;
  if (isPacked)
    packed =
        e.argumentBuffer(cast<BlockArgument>(view->rhs.base).getArgNumber());
  if (!RhsPanels::canMakePairs(e.level, *view)) {
    PanelMatmul(e, op, std::move(*view), packed).emit();
    return success();
  }
  // Of those that are listed, a matrix meets some only.
  bool isListed = view->skipped && !view->quantized;
  int64_t most = isListed ? 2 * kernel::fewRows : kernel::fewRows;
  RowCount few = isListed ? RowCount::Any : RowCount::Few;
  Value isFew = e.less(e.valueOf(view->rows), e.number(most + 1));
  e.ifThen(isFew, [&] { PanelMatmul(e, op, *view, packed, few).emit(); });
  Value isMany = e.less(e.number(most), e.valueOf(view->rows));
  e.ifThen(isMany,
           [&] { PanelMatmul(e, op, *view, packed, RowCount::Many).emit(); });
  return success();
}

} // namespace tenon::cpu
