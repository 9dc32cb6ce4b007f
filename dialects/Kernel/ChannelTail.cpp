//===- ChannelTail.cpp - Convolutions that are stored channels first ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/ChannelTail.h"
#include "dialects/Kernel/Geometry.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tenon::kernel {

bool putsChannelsFirst(graph::TransposeOp op) {
  ArrayRef<int64_t> axes = op.getPermutation();
  int64_t rank = axes.size();
  if (rank < 3 || axes[0] != 0 || axes[1] != rank - 1)
    return false;
  for (int64_t i = 2; i < rank; ++i)
    if (axes[i] != i - 1)
      return false;
  return true;
}

/// Whether what is read of it differs from channel to channel at most.
static bool isOfChannels(Value value) {
  SmallVector<Expr> dims = graph::getDims(value);
  return dims.empty() || llvm::all_of(ArrayRef(dims).drop_back(), [](Expr dim) {
           return dim.isConstant(1);
         });
}

std::optional<ChannelTail> channelTailOf(graph::ConvOp op) {
  SmallVector<Expr> dims = graph::getDims(op.getResult());
  auto yield = dyn_cast<YieldOp>(op->getBlock()->getTerminator());
  if (!op.getChannelsLast() || !yield || yield.getValues().size() != 1)
    return std::nullopt;
  ChannelTail tail;
  tail.last = behindReshapes(yield.getValues()[0]);
  tail.turn = tail.last.getDefiningOp<graph::TransposeOp>();
  if (tail.turn)
    tail.last = tail.turn.getInput();
  tail.pixelAxis = dims.size() - 2;
  while (tail.pixelAxis > 0 && dims[tail.pixelAxis].isConstant(1))
    --tail.pixelAxis;
  if ((tail.turn && (!putsChannelsFirst(tail.turn) || tail.pixelAxis == 0)) ||
      graph::getDims(tail.last) != dims ||
      !graph::getElementType(tail.last).isF32())
    return std::nullopt;
  llvm::SetVector<Value> values;
  values.insert(tail.last);
  for (size_t i = 0; i < values.size(); ++i) { // It grows.
    Operation *maker = values[i].getDefiningOp();
    if (maker == op)
      continue;
    if (!maker || !graph::isPointwise(maker))
      return std::nullopt;
    for (Value operand : maker->getOperands())
      if (!isOfChannels(operand))
        values.insert(operand);
  }
  if (!values.contains(op.getResult()))
    return std::nullopt;
  return tail;
}

} // namespace tenon::kernel
