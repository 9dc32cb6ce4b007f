//===- RowMoves.cpp - Data movement that leaves rows whole ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/RowMoves.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tenon {

namespace {

/// Elements of a row that is long enough for vectors.
constexpr int64_t fewest = 8;

/// Whether rows are cut into shorter ones, still long enough for vectors.
bool cutsRows(graph::ReshapeOp op) {
  SmallVector<graph::Expr> from = graph::getDims(op.getInput()),
                           to = graph::getDims(op.getResult());
  if (from.empty() || to.empty())
    return false;
  std::optional<int64_t> length = to.back().asConstant();
  return length && *length >= fewest && from.back().exactDiv(to.back());
}

} // namespace

bool movesRows(Operation *op) {
  if (permutesRows(op))
    return true;
  if (auto reshape = dyn_cast<graph::ReshapeOp>(op))
    return cutsRows(reshape);
  if (auto slice = dyn_cast<graph::SliceOp>(op))
    return slice.getSteps().size() > 0 &&
           slice.getSteps().exprs().back().isConstant(1);
  if (auto windows = dyn_cast<graph::WindowsOp>(op))
    return windows.getStep() == 1 ||
           static_cast<int64_t>(windows.getAxis()) + 1 <
               graph::getRank(windows.getInput());
  return false;
}

bool picksRows(Operation *op) {
  auto gather = dyn_cast<graph::GatherOp>(op);
  if (!gather)
    return false;
  int64_t last = graph::getRank(gather.getInput()) - 1;
  graph::Expr length = graph::getDim(gather.getInput(), last);
  return static_cast<int64_t>(gather.getAxis()) < last &&
         length.asConstant().value_or(fewest) >= fewest;
}

bool permutesRows(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([](graph::ReshapeOp reshape) {
        SmallVector<graph::Expr> from = graph::getDims(reshape.getInput()),
                                 to = graph::getDims(reshape.getResult());
        return !from.empty() && !to.empty() && from.back() == to.back();
      })
      .Case([](graph::TransposeOp transpose) {
        ArrayRef<int64_t> order = transpose.getPermutation();
        return !order.empty() &&
               order.back() == static_cast<int64_t>(order.size()) - 1;
      })
      .Case([](graph::PadOp pad) {
        SmallVector<graph::Expr> low = pad.getLow().exprs();
        return pad.getMode() == graph::PadMode::Wrap && !low.empty() &&
               low.back().isConstant(0) &&
               pad.getType() == pad.getInput().getType();
      })
      .Default([](Operation *) { return false; });
}

bool repeatsPerRow(Value operand) {
  SmallVector<graph::Expr> dims = graph::getDims(operand);
  return graph::areOnes(ArrayRef(dims).drop_back(dims.empty() ? 0 : 1));
}

Value reshapeRows(OpBuilder &builder, Value value, ArrayRef<graph::Expr> dims) {
  if (ArrayRef(graph::getDims(value)) == dims)
    return value;
  if (auto reshape = value.getDefiningOp<graph::ReshapeOp>())
    return reshapeRows(builder, reshape.getInput(), dims);
  return graph::ReshapeOp::create(
      builder, value.getLoc(),
      graph::tensorOf(dims, graph::getElementType(value)), value);
}

Value asOneRow(OpBuilder &builder, Value value) {
  SmallVector<graph::Expr> dims = graph::getDims(value);
  return dims.size() <= 1 ? value : reshapeRows(builder, value, dims.back());
}

} // namespace tenon
