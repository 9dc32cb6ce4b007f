//===- ConvDepth.cpp - Convolutions as matrix products --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/ConvDepth.h"
#include "dialects/Kernel/DepthwiseView.h"
#include "dialects/Kernel/IntegerConvView.h"
#include "dialects/Kernel/LineConvView.h"
#include "dialects/Kernel/MatmulView.h"

using namespace mlir;

namespace tenon::kernel {

bool convolvesPairs(graph::ConvOp op) {
  if (!op.getChannelsLast() || !isWidenedBf16(op.getInput()) ||
      !isWidenedBf16(op.getFilter()))
    return false;
  if (op.getGroup() != 1)
    return canConvolveGroups(op);
  std::optional<int64_t> channels =
      graph::getDims(op.getFilter())[1].asConstant();
  return channels && *channels % 2 == 0;
}

int64_t mergedGroups(graph::ConvOp op) {
  constexpr int64_t mostChannels = 16;
  int64_t groups = op.getGroup(), most = 0;
  std::optional<int64_t> channels =
      graph::getDims(op.getFilter())[1].asConstant();
  if (groups == 1 || !channels || *channels < 1)
    return groups == 1 ? 1 : 0;
  for (int64_t count = 1; count <= std::min(groups, mostChannels); ++count)
    if (groups % count == 0 && count * *channels % 2 == 0 &&
        (most == 0 || count * *channels <= mostChannels))
      most = count;
  return most;
}

Value operandOf(graph::ConvOp op, Value operand) {
  if (convolvesPairs(op))
    return behindWidening(operand);
  if (std::optional<IntegerConvView> bytes = integerConvViewOf(op))
    return operand == op.getInput() ? bytes->input.view.base
                                    : bytes->filter.view.base;
  if (std::optional<IntegerFactor> bytes = depthwiseBytesOf(op);
      bytes && operand == op.getInput())
    return bytes->view.base;
  if (Value narrow = depthwiseBf16Of(op); narrow && operand == op.getInput())
    return narrow;
  return operand;
}

bool hasFewMaps(graph::ConvOp op) {
  constexpr int64_t leastChannels = 8, veryFew = 4, most = 8;
  auto filter = cast<RankedTensorType>(op.getFilter().getType());
  if (op.getGroup() != 1 || !filter.hasStaticShape())
    return false;
  int64_t maps = filter.getDimSize(0), channels = filter.getDimSize(1);
  if (maps < 1 || maps > most || channels < leastChannels)
    return false;
  // What each sum takes to become a number is shared by its depth.
  int64_t depth = filter.getNumElements() / maps;
  return depth >= (maps <= veryFew ? 4 : 12) * maps;
}

ConvBlocks::ConvBlocks(graph::ConvOp op) {
  auto number = [&](int64_t value) {
    return graph::Expr::constant(op.getContext(), value);
  };
  SmallVector<graph::Expr> result = graph::getDims(op.getResult());
  graph::Expr rows =
      graph::product(op.getContext(), ArrayRef(result).drop_back());
  if (!rows)
    return;
  bool isOnePanel = *result.back().asConstant() <= panelColumns;
  count = rows.ceilDiv(number(blockRows));
  ofGroup = number(groupBlocks);
  if (!isOnePanel)
    return;
  count = count.max(number(2).min(rows.ceilDiv(number(blockRows / 2))));
  ofGroup = count.floorDiv(number(4)).max(number(1)).min(ofGroup);
}

ConvDepth::ConvDepth(graph::ConvOp op) : ConvDepth(op, convolvesPairs(op)) {}

ConvDepth::ConvDepth(graph::ConvOp op, bool hasPairs) : hasPairs(hasPairs) {
  constexpr int64_t maxDepth = 768;
  auto filter = cast<RankedTensorType>(op.getFilter().getType());
  std::optional<IntegerConvView> bytes = integerConvViewOf(op);
  hasQuads = bool(bytes);
  int64_t merged = std::max<int64_t>(mergedGroups(op), 1);
  channels = run = filter.getDimSize(1) * merged / (hasPairs ? 2 : 1);
  lineTaps.assign(filter.getShape().begin() + 2, filter.getShape().end());
  if (!lineTaps.empty() && op.getDilations().back() == 1)
    run *= lineTaps.pop_back_val();
  bool isTap = run == channels;
  numbers = run;
  if (hasQuads)
    run = llvm::divideCeil(numbers, quadSteps);
  lines = 1;
  for (int64_t taps : lineTaps)
    lines *= taps;
  if (run > maxDepth) {
    int64_t parts = llvm::divideCeil(run, maxDepth);
    blockLines = 1;
    blockRun = llvm::alignTo(llvm::divideCeil(run, parts), 16);
  } else {
    int64_t blocks = llvm::divideCeil(lines * run, maxDepth);
    blockLines = llvm::divideCeil(lines, std::max<int64_t>(blocks, 1));
    blockRun = run;
  }
  auto isOne = [](int64_t value) { return value == 1; };
  isMatrix = op.getGroup() == 1 && isTap && llvm::all_of(lineTaps, isOne) &&
             llvm::all_of(op.getStrides(), isOne) &&
             llvm::all_of(op.getPads().exprs(),
                          [](graph::Expr pad) { return pad.isConstant(0); });
  // Rows that lie pages apart meet in the same few sets of the caches.
  isInput = isMatrix && run % 1024 != 0;
  // Instructions take whole quads of ui8.
  if (hasQuads && (numbers % quadSteps != 0 || bytes->input.isSigned()))
    isInput = false;
  auto yieldsF32 = [](Operation *end) {
    return end->getNumOperands() > 0 &&
           graph::getElementType(end->getOperand(0)).isF32();
  };
  sumsWait =
      !isOneBlock() &&
      (hasQuads || (hasPairs && !yieldsF32(op->getBlock()->getTerminator())));
}

int64_t ConvDepth::copyBytes() const {
  return isInput ? 0 : groupBlocks * blockRows * copyStride() * 4;
}

int64_t ConvDepth::wideRowsBytes() const {
  return groupBlocks * blockRows * wideStride() * 4;
}

} // namespace tenon::kernel
