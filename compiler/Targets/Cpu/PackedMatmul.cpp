//===- PackedMatmul.cpp - Matrix products by panels of columns ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/AmxStrip.h"
#include "compiler/Targets/Cpu/PanelMatmul.h"
#include "compiler/Targets/Cpu/StreamedRows.h"
#include "dialects/Kernel/Geometry.h"

using namespace mlir;

namespace tenon::cpu {

using kernel::blockRows;
using kernel::groupBlocks;
using kernel::panelColumns;

PanelMatmul::PanelMatmul(Emitter &e, graph::MatmulOp op,
                         kernel::MatmulView view, Value packed, RowCount count)
    : e(e), op(op), view(std::move(view)),
      rhsPanels(e, this->view, packed, count), rows(e.valueOf(this->view.rows)),
      columns(e.valueOf(this->view.columns)), depth(rhsPanels.getDepth()),
      isPacked(packed) {
  std::optional<int64_t> knownDepth = rhsPanels.getKnownDepth();
  Value yielded = e.kernel.getYielded()[0];
  parts = this->view.halves ? 2 : 1;
  streams = !packed && this->view.streamsRhs();
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
  if (!packed && !this->view.picks && !streams)
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
                         emitRowBehind(m, n, this->e.number(panelColumns), sums,
                                       waits);
                       });
  if (hasScratch || isTall())
    waiting = pairs;
  else if ((!sumsFit || mayBePartial()) && !isOneBlock)
    waiting = onStack(kernel::groupElements);
}

void PanelMatmul::emit() {
  withAmx(e, usesAmx(e.level, kind), [&] {
    if (streams || mostPanels == 1 || !lhs->mayCopy())
      return emitBatches();
    Value ways = e.cacheWays(), most = e.number(kernel::interleavedRows);
    lhs->setCopies(true);
    e.ifThen(e.less(ways, e.add(most, e.number(1))), [&] { emitBatches(); });
    lhs->setCopies(false);
    e.ifThen(e.less(most, ways), [&] { emitBatches(); });
  });
}

void PanelMatmul::emitBatches() {
  units = makeUnits();
  if (view.batchDims.empty())
    return emitBatch(e.number(0), e.begin, e.end);
  forEachBatch(e, units->ofBatch(), [&](Value batch, Value from, Value to) {
    emitBatch(batch, from, to);
  });
}

PanelUnits PanelMatmul::makeUnits() {
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

bool PanelMatmul::mayOverlap() const {
  return isPacked && isOneBlock && parts == 1 && !listed && !view.turn &&
         !view.quantized && !(sumsFit && isBare) &&
         OverlappedTiles::suits(e.level, kind, rhsPanels.getKnownDepth());
}

bool PanelMatmul::mayBePartial() {
  std::optional<int64_t> whole = getConstantIntValue(wholePanels);
  return !whole || *whole != getConstantIntValue(panels);
}

Matrix PanelMatmul::matrixOf(const kernel::StridedView &operand, Value tensor,
                             Value batch, bool inPairs) {
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

void PanelMatmul::emitBatch(Value batch, Value begin, Value end) {
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

void PanelMatmul::emitGroup() {
  if (listed)
    listed->list(batch, units->rowOf(e.number(0)), rows);
  if (streams)
    return emitStreamed();
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

void PanelMatmul::emitStreamed() {
  // Panels whose sums stay in the nearest cache.
  constexpr int64_t together = 20;
  constexpr int64_t stride = together * panelColumns + streamedPadding;
  int64_t height = *view.rows.asConstant();
  Value sums = onStack(height * stride);
  Value zero = e.number(0), width = e.number(panelColumns);
  const Matrix &left = lhs->ofBatch(), &right = rhsPanels.ofBatch();
  e.loop(
      units->beginPanel(), units->endPanel(),
      [&](Value first) {
        Value last = e.min(e.add(first, e.number(together)), units->endPanel());
        Value n = e.mul(first, width);
        Value count = e.sub(e.min(e.mul(last, width), columns), n);
        callStreamedRows(e, height,
                         {left.base, left.rowStride, right.at(e, zero, n),
                          right.rowStride, depth, count, sums,
                          e.number(stride)});
        forEachPanel(first, last, [&](Value panel, bool isWhole) {
          Value at = e.mul(e.sub(panel, first), width);
          for (int64_t m = 0; m < height; ++m)
            emitRowBehind(e.number(m), e.mul(panel, width), widthOf(isWhole),
                          element(sums, at), e.number(m * stride));
        });
      },
      together);
}

void PanelMatmul::forEachPanel(
    Value begin, Value end,
    function_ref<void(Value panel, bool isWhole)> body) {
  if (mayBeWhole())
    e.loop(begin, e.min(end, wholePanels),
           [&](Value panel) { body(panel, /*isWhole=*/true); });
  if (mayBePartial())
    e.loop(e.max(begin, wholePanels), end,
           [&](Value panel) { body(panel, /*isWhole=*/false); });
}

void PanelMatmul::emitChunk(Value begin, Value end) {
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
        emitStrip({panel, begin, end, k, kEnd}, isWhole);
      });
    });
  });
}

void PanelMatmul::forEachSlice(Value begin, Value end,
                               function_ref<void()> body) {
  if (!isTall()) {
    sliceBegin = e.number(0);
    sliceEnd = units->size();
    return body();
  }
  auto [low, high] = units->blocksOf(begin);
  Value isOne = e.equal(e.sub(end, begin), e.number(1));
  Value first = e.select(isOne, e.div(low, e.number(groupBlocks)), e.number(0));
  Value last =
      e.ceilDiv(e.select(isOne, high, units->size()), e.number(groupBlocks));
  e.loop(first, last, [&](Value slice) {
    sliceBegin = e.mul(slice, e.number(groupBlocks));
    sliceEnd = e.min(e.add(sliceBegin, e.number(groupBlocks)), units->size());
    body();
  });
}

void PanelMatmul::copySlice(Value k, Value kEnd) {
  Value first = units->rowOf(sliceBegin);
  lhs->copySlice(first, e.sub(units->rowOf(sliceEnd), first), k, kEnd);
}

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
