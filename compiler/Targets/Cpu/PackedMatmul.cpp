//===- PackedMatmul.cpp - Matrix products with packed weights -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Per group of rows and chunk of panels: blocks of k outermost, so that a slice
// of lhs and the chunk's part of the result stay in the second level of the
// cache while the weights stream through once. Sums wait in the result itself;
// those of a last panel that is not full wait on the stack, and where the
// result is of another type, so do all: there a chunk is one panel. What
// follows the matmul runs over each panel's rows right after its last block of
// k.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Emitter.h"
#include "compiler/Targets/Cpu/PackedMatmulStrip.h"
#include "dialects/Kernel/Packing.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::blockRows;
using kernel::groupBlocks;
using kernel::panelColumns;

/// Panels whose sums may wait for the next block of k.
constexpr int64_t maxChunkPanels = 16;

class PackedMatmul {
public:
  PackedMatmul(Emitter &e, graph::MatmulOp op)
      : e(e), op(op),
        depth(cast<RankedTensorType>(op.getRhs().getType()).getDimSize(0)),
        columns(cast<RankedTensorType>(op.getRhs().getType()).getDimSize(1)),
        panels(llvm::divideCeil(columns, panelColumns)) {
    blockDepth = kernel::blockDepth(depth);
    Value yielded = e.kernel.getYielded()[0];
    bool sumsFit = graph::getElementType(yielded).isF32();
    wholePanels = sumsFit ? columns / panelColumns : 0;
    chunkPanels = sumsFit ? maxChunkPanels : 1;
    copies = sumsFit && kernel::copiesLhs(depth) && canInterleaveLhs(e.level);
    if (copies)
      copy = e.scratch(0);
    isBare = yielded == op.getResult();
    lhs = e.argumentBuffer(cast<BlockArgument>(op.getLhs()).getArgNumber());
    rhs = e.argumentBuffer(cast<BlockArgument>(op.getRhs()).getArgNumber());
    leadDims = e.dimsOf(op.getResult());
    leadDims.pop_back();
    rows = e.number(1);
    for (Value dim : leadDims)
      rows = e.mul(rows, dim);
  }

  void emit() {
    if (wholePanels < panels)
      tile = e.atEntry([&]() -> Value {
        return LLVM::AllocaOp::create(
            e.b, LLVM::LLVMPointerType::get(e.b.getContext()), e.b.getF32Type(),
            e.number(groupBlocks * blockRows * panelColumns), 64);
      });
    Value blocks =
        e.div(e.add(rows, e.number(blockRows - 1)), e.number(blockRows));
    Value units = e.number(groupBlocks * panels);
    Value groups = e.div(e.add(e.end, e.sub(units, e.number(1))), units);
    e.loop(e.div(e.begin, units), groups, [&](Value group) {
      Value first = e.mul(group, units);
      firstBlock = e.mul(group, e.number(groupBlocks));
      groupSize = e.min(e.number(groupBlocks), e.sub(blocks, firstBlock));
      from = e.sub(e.max(e.begin, first), first);
      to = e.min(e.sub(e.end, first), e.mul(groupSize, e.number(panels)));
      emitGroup();
    });
  }

private:
  /// Units [from, to) of the group: unit u is block u % groupSize of panel
  /// u / groupSize.
  void emitGroup() {
    Value begin = e.div(from, groupSize);
    Value end = e.div(e.add(to, e.sub(groupSize, e.number(1))), groupSize);
    e.loop(
        begin, end,
        [&](Value panel) {
          Value last = e.min(e.add(panel, e.number(chunkPanels)), end);
          emitChunk(panel, last);
        },
        chunkPanels);
  }

  void emitChunk(Value begin, Value end) {
    Value depth = e.number(this->depth), whole = e.number(wholePanels);
    e.loop(
        e.number(0), depth,
        [&](Value k) {
          Value kEnd = e.min(e.add(k, e.number(blockDepth)), depth);
          if (copies)
            emitCopy(k, kEnd);
          if (wholePanels > 0)
            e.loop(begin, e.min(end, whole), [&](Value panel) {
              emitStrip(begin, end, k, kEnd, panel, /*inResult=*/true);
            });
          if (wholePanels < panels)
            e.loop(e.max(begin, whole), end, [&](Value panel) {
              emitStrip(begin, end, k, kEnd, panel, /*inResult=*/false);
            });
        },
        blockDepth);
  }

  /// The group's slice [k, kEnd) of lhs, to scratch memory.
  void emitCopy(Value k, Value kEnd) {
    Value m = firstRow(e.number(0));
    Value mEnd = e.min(firstRow(groupSize), rows);
    callInterleave(e.b, interleaveLhs(e.module, e.level),
                   {element(lhs, e.add(e.mul(m, e.number(depth)), k)),
                    e.number(depth), copy, e.sub(kEnd, k), e.sub(mEnd, m)});
  }

  Value firstRow(Value block) {
    return e.mul(e.add(firstBlock, block), e.number(blockRows));
  }

  Value element(Value base, Value offset) {
    return e.address(base, e.b.getF32Type(), offset);
  }

  void emitStrip(Value begin, Value end, Value k, Value kEnd, Value panel,
                 bool inResult) {
    Value depth = e.number(this->depth);
    Value unit = e.mul(panel, groupSize);
    Value low = e.sub(e.max(from, unit), unit);
    Value high = e.min(e.sub(to, unit), groupSize);
    Value m = firstRow(low), mEnd = e.min(firstRow(high), rows);
    Value n = e.mul(panel, e.number(panelColumns));
    auto packed = [&](Value panel, Value k) {
      return element(
          rhs, e.mul(e.add(e.mul(panel, depth), k), e.number(panelColumns)));
    };
    Value follower = e.add(panel, e.number(1));
    Value isLast = e.equal(follower, end);
    Value result = e.resultBuffer(0);
    Value stride = e.number(inResult ? columns : panelColumns);
    Strip work;
    work.depth = e.sub(kEnd, k);
    work.a =
        copies
            ? element(copy, e.mul(e.sub(m, firstRow(e.number(0))), work.depth))
            : element(lhs, e.add(e.mul(m, depth), k));
    work.aStride = copies ? work.depth : depth;
    work.b = packed(panel, k);
    work.c = inResult ? element(result, e.add(e.mul(m, stride), n)) : tile;
    work.cStride = stride;
    work.rows = e.sub(mEnd, m);
    work.accumulate = e.less(e.number(0), k);
    work.next =
        packed(e.select(isLast, begin, follower), e.select(isLast, kEnd, k));
    int64_t width =
        inResult || wholePanels == 0 ? panelColumns : columns % panelColumns;
    callStrip(e.b, packedMatmulStrip(e.module, e.level, copies, width), work);
    if (inResult && isBare)
      return;
    e.ifThen(e.equal(kEnd, depth), [&] { emitBehind(m, mEnd, n, inResult); });
  }

  /// Everything behind the matmul, for some rows of a panel.
  void emitBehind(Value m, Value mEnd, Value n, bool inResult) {
    Value stride = e.number(inResult ? columns : panelColumns);
    // A number wherever it can be, for the vectoriser.
    Value width = e.number(panelColumns);
    if (!inResult)
      width = wholePanels > 0 ? e.number(columns % panelColumns)
                              : e.min(width, e.sub(e.number(columns), n));
    e.loop(m, mEnd, [&](Value row) {
      Indices lead = e.delinearise(row, leadDims);
      Value first = e.add(e.mul(row, e.number(columns)), n);
      Value waits = inResult ? first : e.mul(e.sub(row, m), stride);
      e.loop(e.number(0), width, [&](Value i) {
        Value column = e.add(n, i), position = e.add(first, i);
        Value sum =
            e.loadRaw(inResult ? e.resultBuffer(0) : tile, e.b.getF32Type(),
                      inResult ? position : e.add(waits, i));
        Indices index = lead;
        index.push_back(column);
        // As operands that broadcast see it.
        for (auto [i, dim] : llvm::enumerate(graph::getDims(op.getResult())))
          if (dim.isConstant(1))
            index[i] = e.number(0);
        e.bind(op.getResult(), index, sum);
        e.storeYields(index, position);
      });
    });
  }

  Emitter &e;
  graph::MatmulOp op;
  int64_t depth, columns, panels;
  int64_t blockDepth, wholePanels; // Panels whose sums wait in the result.
  int64_t chunkPanels;
  bool isBare, copies; // The copies: of lhs, to scratch memory.
  Value lhs, rhs, rows, tile, copy;
  Indices leadDims;
  // Of the current group.
  Value firstBlock, groupSize, from, to;
};

} // namespace

LogicalResult emitPackedMatmul(Emitter &e) {
  auto op = dyn_cast_if_present<graph::MatmulOp>(
      kernel::findRoot(e.kernel.getBlock()));
  if (!op || !isa<BlockArgument>(op.getLhs()) ||
      !isa<BlockArgument>(op.getRhs()) || e.kernel.getYielded().size() != 1)
    return e.kernel.emitOpError("is no matmul of two operands with one result");
  PackedMatmul(e, op).emit();
  return success();
}

} // namespace tenon::cpu
