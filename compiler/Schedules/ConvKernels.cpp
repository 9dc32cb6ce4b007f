//===- ConvKernels.cpp - What schedules of convolutions ask ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedules/ConvKernels.h"
#include "dialects/Kernel/ConvDepth.h"
#include "dialects/Kernel/DepthwiseView.h"

using namespace mlir;

namespace tenon {
namespace {

/// Whether an op only renames what is yielded.
bool isTailReshape(Operation *op) {
  return isa<graph::ReshapeOp>(op) &&
         llvm::all_of(op->getUsers(), [](Operation *user) {
           return isa<kernel::YieldOp, graph::ReshapeOp>(user);
         });
}

} // namespace

graph::ConvOp convOf(const KernelView &view) {
  return dyn_cast_if_present<graph::ConvOp>(kernel::findRoot(view.body));
}

std::optional<std::string> refusalOfOperands(const KernelView &view,
                                             graph::ConvOp conv) {
  auto filter =
      dyn_cast<BlockArgument>(kernel::operandOf(conv, conv.getFilter()));
  if (!isa<BlockArgument>(kernel::operandOf(conv, conv.getInput())) || !filter)
    return "an operand of the convolution is computed in the kernel";
  if (!view.isWeight[filter.getArgNumber()])
    return "the filter is no weight";
  auto type = cast<RankedTensorType>(filter.getType());
  if (!type.hasStaticShape())
    return "the filter has not numbers as sizes";
  if (type.getNumElements() == 0)
    return "the filter is empty";
  if (!filter.hasOneUse())
    return "the filter has another user in the kernel";
  return std::nullopt;
}

std::optional<std::string> refusalOfConv(const KernelView &view, Narrow taken) {
  graph::ConvOp conv = convOf(view);
  if (!conv)
    return "its root is no convolution";
  if (!conv.getChannelsLast())
    return "channels are not the last axis";
  if (!graph::getElementType(conv.getInput()).isF32())
    return "its operands are not f32";
  if (graph::getRank(conv.getInput()) < 3)
    return "it has no spatial axis";
  if (kernel::convolvesPairs(conv) && taken != Narrow::Pairs)
    return "its operands are bf16";
  if (kernel::depthwiseBytesOf(conv) && taken != Narrow::Depthwise)
    return "its image is of bytes";
  if (kernel::depthwiseBf16Of(conv) && taken != Narrow::Depthwise)
    return "its image is of bf16";
  return refusalOfOperands(view, conv);
}

bool movesBehind(const KernelView &view, Operation *root) {
  llvm::SmallPtrSet<Operation *, 8> behind = {root};
  for (Operation &op : view.body.without_terminator()) {
    if (!llvm::any_of(op.getOperands(), [&](Value operand) {
          return behind.contains(operand.getDefiningOp());
        }))
      continue;
    if (kernel::roleOf(&op) == kernel::Role::Movement && !isTailReshape(&op))
      return true;
    behind.insert(&op);
  }
  return false;
}

std::optional<std::string> refusalOfBehind(const KernelView &view) {
  if (view.body.getTerminator()->getNumOperands() != 1)
    return "it has several results";
  if (movesBehind(view, convOf(view)))
    return "it moves data behind the convolution";
  return std::nullopt;
}

SmallVector<std::string> withFilter(const KernelView &view, StringRef layout) {
  SmallVector<std::string> layouts(view.body.getNumArguments());
  graph::ConvOp conv = convOf(view);
  auto filter = cast<BlockArgument>(kernel::operandOf(conv, conv.getFilter()));
  layouts[filter.getArgNumber()] = layout.str();
  return layouts;
}

} // namespace tenon
