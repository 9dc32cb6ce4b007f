//===- QuantizedRhs.cpp - Right sides of products in few bits -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/QuantizedRhs.h"
#include "dialects/Kernel/Packing.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

/// Sizes that are all numbers; nullopt for others.
std::optional<SmallVector<int64_t>> numbersOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.hasStaticShape())
    return std::nullopt;
  return SmallVector<int64_t>(type.getShape());
}

/// What is reshaped to `shape` from `from`; null for anything else.
Value behindReshape(Value value, ArrayRef<int64_t> from,
                    ArrayRef<int64_t> shape) {
  auto reshape = value.getDefiningOp<graph::ReshapeOp>();
  if (!reshape || numbersOf(value) != SmallVector<int64_t>(shape) ||
      numbersOf(reshape.getInput()) != SmallVector<int64_t>(from))
    return {};
  return reshape.getInput();
}

std::optional<int64_t> constantInt(Value value) {
  auto constant = value.getDefiningOp<graph::ConstantOp>();
  auto numbers = constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue())
                          : DenseIntElementsAttr();
  if (!numbers || numbers.getNumElements() != 1)
    return std::nullopt;
  APInt number = *numbers.value_begin<APInt>();
  return graph::getElementType(value).isUnsignedInteger()
             ? int64_t(number.getZExtValue())
             : number.getSExtValue();
}

/// The reshape that an operand is the first rows of.
graph::ReshapeOp wholeOf(Value operand) {
  auto slice = operand.getDefiningOp<graph::SliceOp>();
  if (!slice)
    return operand.getDefiningOp<graph::ReshapeOp>();
  SmallVector<graph::Expr> dims = graph::getDims(slice.getInput());
  SmallVector<graph::Expr> sliced = graph::getDims(operand);
  // Of all axes but that of k all is there.
  size_t rank = dims.size();
  if (rank < 2 || rank > 3 || dims[rank - 1] != sliced[rank - 1] ||
      (rank == 3 && dims[0] != sliced[0]) ||
      !llvm::all_of(slice.getStarts().exprs(),
                    [](graph::Expr at) { return at.isConstant(0); }) ||
      !llvm::all_of(slice.getSteps().exprs(),
                    [](graph::Expr step) { return step.isConstant(1); }))
    return {};
  return slice.getInput().getDefiningOp<graph::ReshapeOp>();
}

} // namespace

std::optional<QuantizedRhs> quantizedRhsOf(Value operand) {
  graph::ReshapeOp whole = wholeOf(operand);
  QuantizedRhs rhs;
  rhs.op = whole ? whole.getInput().getDefiningOp() : nullptr;
  if (!widensNumbers(rhs.op) || !graph::getElementType(operand).isF32())
    return std::nullopt;
  Value numbers = rhs.op->getOperand(0), scales = rhs.op->getOperand(1);
  auto shape = numbersOf(numbers);
  auto matrix = numbersOf(whole.getResult());
  if (!shape || shape->size() != 3 || !matrix || matrix->size() < 2 ||
      matrix->size() > 3 || matrix->back() != (*shape)[2] ||
      llvm::is_contained(*matrix, 0) || llvm::is_contained(*shape, 0))
    return std::nullopt;
  rhs.batches = matrix->size() == 3 ? matrix->front() : 0;
  rhs.blocks = (*shape)[0] / std::max<int64_t>(rhs.batches, 1);
  rhs.block = (*shape)[1];
  if (rhs.allBlocks() != (*shape)[0])
    return std::nullopt;
  if (auto bits = rhs.op->getAttrOfType<IntegerAttr>(bitsOfNumbers))
    rhs.bits = bits.getInt();
  int64_t columns = (*shape)[2];
  SmallVector<int64_t> side = {rhs.allBlocks(), columns};
  SmallVector<int64_t> spread = {rhs.allBlocks(), 1, columns};
  SmallVector<int64_t> steps = {rhs.allBlocks() * rhs.block, columns};
  rhs.numbers = behindReshape(numbers, steps, *shape);
  rhs.scales = behindReshape(scales, side, spread);
  if (auto decode = dyn_cast<graph::DecodeOp>(rhs.op)) {
    rhs.codebook = decode.getCodebook();
    rhs.bits = 4;
  } else if (auto zero = constantInt(rhs.op->getOperand(2))) {
    rhs.zeroPoint = *zero;
  } else if (!(rhs.zeros =
                   behindReshape(rhs.op->getOperand(2), side, spread))) {
    return std::nullopt;
  }
  if (!rhs.numbers || !rhs.scales ||
      graph::getElementType(rhs.numbers).getIntOrFloatBitWidth() != 8 ||
      (rhs.bits != 4 && rhs.bits != 8))
    return std::nullopt;
  return rhs;
}

int64_t QuantizedRhs::blockDepth(std::optional<int64_t> steps) const {
  int64_t depth = kernel::blockDepth(steps);
  if (blocks == 1 || (steps && *steps <= depth))
    return depth;
  return llvm::alignTo(depth, block);
}

std::optional<int64_t> scratchDepth(const std::optional<QuantizedRhs> &rhs,
                                    std::optional<int64_t> steps) {
  if (rhs && steps && *steps > maxDepthAtOnce)
    return std::nullopt; // That of any other.
  return steps;
}

SmallVector<Operation *> quantizedRhsOps(Value operand) {
  std::optional<QuantizedRhs> rhs = quantizedRhsOf(operand);
  if (!rhs)
    return {};
  SmallVector<Operation *> ops = {rhs->op->getOperand(0).getDefiningOp(),
                                  rhs->op->getOperand(1).getDefiningOp()};
  if (rhs->zeros)
    ops.push_back(rhs->op->getOperand(2).getDefiningOp());
  ops.push_back(rhs->op);
  ops.push_back(wholeOf(operand));
  if (operand.getDefiningOp() != ops.back())
    ops.push_back(operand.getDefiningOp());
  return ops;
}

} // namespace tenon::kernel
