//===- PackedConv.cpp - Convolutions with packed filters ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/PackedConv.h"
#include "compiler/Targets/Cpu/AmxStrip.h"
#include "compiler/Targets/Cpu/ConvRoot.h"
#include "compiler/Targets/Cpu/MatmulOperands.h"
#include "compiler/Targets/Cpu/WindowCopy.h"
#include "dialects/Kernel/Packing.h"
#include "dialects/Kernel/ResultPlaces.h"

using namespace mlir;

namespace tenon::cpu {

using kernel::blockRows;
using kernel::groupBlocks;
using kernel::panelColumns;

PackedConv::PackedConv(Emitter &e, graph::ConvOp op)
    : e(e), op(op), depth(op),
      columns(cast<RankedTensorType>(op.getFilter().getType()).getDimSize(0)),
      panels(llvm::divideCeil(columns, panelColumns)) {
  Value yielded = e.kernel.getYielded()[0];
  sumsFit = graph::getElementType(yielded).isF32() && !depth.hasQuads;
  auto pitch = e.kernel->getAttrOfType<IntegerAttr>(kernel::pitch);
  resultStride = pitch ? pitch.getInt() : columns;
  kind = depth.hasPairs   ? StripKind::Pairs
         : depth.hasQuads ? StripKind::Quads
                          : StripKind::F32;
  hasTiles = kind != StripKind::F32;
  widens = depth.hasPairs && e.level.pairDots == PairDots::None;
  wholePanels = sumsFit || hasTiles ? columns / panelColumns : 0;
  chunkPanels = sumsFit || hasTiles ? kernel::waitingPanels : 1;
  isBare = yielded == op.getResult() && !e.kernel->hasAttr(kernel::copyPitch);
  interleaves = depth.isMatrix && !depth.isInput && !depth.hasQuads &&
                canInterleaveLhs(e.level, kind);
  if (kind == StripKind::F32 && ReachedLines::mayMiss(op, depth))
    reached.emplace(e, op, depth);
  if (depth.hasQuads)
    quads.emplace(e, op, depth, groupBlocks * blockRows);
  auto bufferOf = [&](Value operand) {
    auto argument = cast<BlockArgument>(kernel::operandOf(op, operand));
    return e.argumentBuffer(argument.getArgNumber());
  };
  input = bufferOf(op.getInput());
  filter = bufferOf(op.getFilter());
  if (!depth.isInput || depth.sumsWait || widens)
    copy = e.atEntry(
        [&] { return e.loadRaw(e.context, input.getType(), e.number(0)); });
  if (depth.sumsWait)
    waiting = e.atEntry([&] {
      return e.address(copy, e.b.getI8Type(), e.number(depth.copyBytes()));
    });
  if (widens)
    widenedRows = e.atEntry([&] {
      return e.address(copy, e.b.getI8Type(),
                       e.number(depth.copyBytes() + depth.waitingBytes()));
    });
  if (widens && e.level.vectorBits < 512)
    widenedPanel = e.atEntry([&] {
      return e.address(widenedRows, e.b.getI8Type(),
                       e.number(depth.wideRowsBytes()));
    });
  leadDims = e.dimsOf(op.getResult());
  leadDims.pop_back();
  rows = e.number(1);
  for (Value dim : leadDims)
    rows = e.mul(rows, dim);
}

void PackedConv::emit() {
  if (hasTiles)
    sums = onStack(stripTileRows(e.level, widens ? StripKind::F32 : kind) *
                   panelColumns);
  if (wholePanels < panels && !depth.sumsWait)
    tile =
        depth.isOneBlock() && hasTiles ? sums : onStack(kernel::groupElements);
  withAmx(e, usesAmx(e.level, kind), [&] { emitGroups(); });
}

void PackedConv::emitGroups() {
  kernel::ConvBlocks cut(op);
  Value blocks = e.valueOf(cut.count), most = e.valueOf(cut.ofGroup);
  rowBlocks.emplace(e, rows, blocks, kind, interleaves);
  Value units = e.mul(most, e.number(panels));
  Value groups = e.ceilDiv(e.end, units);
  e.loop(e.div(e.begin, units), groups, [&](Value group) {
    Value first = e.mul(group, units);
    firstBlock = e.mul(group, most);
    groupSize = e.min(most, e.sub(blocks, firstBlock));
    from = e.sub(e.max(e.begin, first), first);
    to = e.min(e.sub(e.end, first), e.mul(groupSize, e.number(panels)));
    emitGroup();
  });
}

void PackedConv::emitGroup() {
  Value begin = e.div(from, groupSize);
  Value end = e.ceilDiv(to, groupSize);
  e.loop(
      begin, end,
      [&](Value panel) {
        Value last = e.min(e.add(panel, e.number(chunkPanels)), end);
        emitChunk(panel, last);
      },
      chunkPanels);
}

void PackedConv::forEachBlock(function_ref<void(const DepthBlock &)> body) {
  Value lines = e.number(depth.lines), run = e.number(depth.run);
  e.loop(
      e.number(0), lines,
      [&](Value line) {
        Value lineEnd = e.min(e.add(line, e.number(depth.blockLines)), lines);
        e.loop(
            e.number(0), run,
            [&](Value start) {
              Value end = e.min(e.add(start, e.number(depth.blockRun)), run);
              DepthBlock block;
              block.line = line;
              block.lines = e.sub(lineEnd, line);
              block.start = start;
              // A number wherever it can be, for the copies.
              block.length = depth.run % depth.blockRun == 0
                                 ? e.number(depth.blockRun)
                                 : e.sub(end, start);
              block.k = e.add(e.mul(line, run), start);
              block.steps = e.mul(block.lines, block.length);
              block.isLast = e.both(e.equal(lineEnd, lines), e.equal(end, run));
              body(block);
            },
            depth.blockRun);
      },
      depth.blockLines);
}

void PackedConv::emitChunk(Value begin, Value end) {
  Value whole = e.number(wholePanels);
  forEachBlock([&](const DepthBlock &block) {
    if (!depth.isInput)
      emitCopy(block);
    if (widens)
      widenRows(block);
    if (quads && quads->needsRowSums())
      sumRows(block);
    if (wholePanels > 0)
      e.loop(begin, e.min(end, whole), [&](Value panel) {
        emitStrip({panel, begin, end, /*isWhole=*/true}, block);
      });
    if (wholePanels < panels)
      e.loop(e.max(begin, whole), end, [&](Value panel) {
        emitStrip({panel, begin, end, /*isWhole=*/false}, block);
      });
  });
}

void PackedConv::emitCopy(const DepthBlock &block) {
  Value first = firstRow(e.number(0));
  Value last = e.min(firstRow(groupSize), rows);
  if (interleaves) {
    Value stride = e.number(depth.run);
    Value from = element(input, e.add(e.mul(first, stride), block.k));
    return copyLhs(e, {from, stride, e.number(1)}, copy, e.sub(last, first),
                   block.steps, /*interleaved=*/true);
  }
  if (!reached)
    return copyWindows(block, first, last);
  e.loop(e.number(0), groupSize, [&](Value i) {
    Value from = firstRow(i), to = e.min(firstRow(e.add(i, e.number(1))), rows);
    auto reach = reached->of(from, to, block.line, block.lines);
    e.ifThen(reach.here, [&] { copyWindows(block, from, to); });
  });
}

void PackedConv::copyWindows(const DepthBlock &block, Value from, Value to) {
  Value first = firstRow(e.number(0));
  int64_t stride = depth.copyStride();
  Value place = e.mul(e.sub(from, first), e.number(stride));
  WindowCopy(e, op, depth)
      .copyRows({from, to, leadDims, element(copy, place), stride},
                {block.line, block.lines, block.start, block.length});
}

PackedConv::GroupRows PackedConv::rowsOf(const DepthBlock &block) {
  Value first = firstRow(e.number(0));
  Value last = e.min(firstRow(groupSize), rows);
  Value stride = e.number(depth.isInput ? depth.run : depth.copyStride());
  Value from = depth.isInput
                   ? element(input, e.add(e.mul(first, stride), block.k))
                   : copy;
  return {from, stride, e.sub(last, first)};
}

void PackedConv::widenRows(const DepthBlock &block) {
  GroupRows own = rowsOf(block);
  Value two = e.number(2);
  widenLhs(e, {own.from, e.mul(own.stride, two), e.number(1), /*isHalf=*/true},
           widenedRows, e.number(depth.wideStride()), own.count,
           e.mul(block.steps, two));
}

void PackedConv::sumRows(const DepthBlock &block) {
  GroupRows own = rowsOf(block);
  quads->sumRows(own.from, own.stride, own.count, block.steps,
                 e.less(e.number(0), block.k));
}

LogicalResult emitPackedConv(Emitter &e) {
  FailureOr<graph::ConvOp> op = convRootOf(e);
  if (failed(op))
    return failure();
  PackedConv(e, *op).emit();
  return success();
}

} // namespace tenon::cpu
