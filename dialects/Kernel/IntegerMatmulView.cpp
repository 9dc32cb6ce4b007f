//===- IntegerMatmulView.cpp - Products of 8-bit numbers ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/IntegerMatmulView.h"
#include "dialects/Kernel/FineUnits.h"
#include "dialects/Kernel/MatmulView.h"
#include "dialects/Kernel/Packing.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

bool isZero(Value value) {
  if (auto cast = value.getDefiningOp<graph::CastOp>())
    value = cast.getInput();
  return graph::isConstantOf(value, 0);
}

/// The 8-bit tensor that an i32 one is a cast of; null when it is none.
Value behindCast(Value value) {
  auto cast = value.getDefiningOp<graph::CastOp>();
  if (!cast || !graph::getElementType(value).isSignlessInteger(32))
    return {};
  auto type = dyn_cast<IntegerType>(graph::getElementType(cast.getInput()));
  return type && type.getWidth() == 8 ? cast.getInput() : Value();
}

/// Whether a zero point is one number for all steps of k, whose axis is the
/// last or the one before it.
bool isSameAlong(Value zero, size_t fromLast) {
  if (!zero)
    return true;
  SmallVector<Expr> dims = graph::getDims(zero);
  return dims.size() < fromLast || dims[dims.size() - fromLast].isConstant(1);
}

bool isOneIfAny(Value zero) { return !zero || graph::isOneNumber(zero); }

constexpr int64_t lineBytes = 64, setBytes = 4096;

bool isMultipleOf(Expr expr, int64_t number) {
  return expr.isConstant(0) ||
         bool(expr.exactDiv(Expr::constant(expr.getContext(), number)));
}

} // namespace

int64_t quadsBytes(int64_t depth, int64_t columns) {
  return llvm::divideCeil(columns, panelColumns) *
         (llvm::divideCeil(depth, quadSteps) + 1) * panelColumns * 4;
}

std::optional<IntegerFactor> integerFactorInPlace(Value operand) {
  IntegerFactor factor;
  Value wide = operand;
  if (auto sub = operand.getDefiningOp<graph::SubOp>()) {
    wide = sub.getLhs();
    if (graph::getDims(wide) != graph::getDims(operand))
      return std::nullopt;
    if (!isZero(sub.getRhs()))
      factor.zero = sub.getRhs();
  }
  factor.view.base = behindCast(wide);
  if (!factor.view.base)
    return std::nullopt;
  return factor;
}

std::optional<IntegerFactor> integerFactorOf(Value operand) {
  std::optional<IntegerFactor> factor = integerFactorInPlace(operand);
  if (!factor)
    return std::nullopt;
  std::optional<StridedView> view = stridedViewOf(factor->view.base);
  if (!view)
    return std::nullopt;
  factor->view = std::move(*view);
  return factor;
}

std::optional<IntegerFactor> integerRowsOf(Value operand) {
  std::optional<IntegerFactor> factor = integerFactorInPlace(operand);
  if (!factor || graph::getRank(operand) < 2)
    return std::nullopt;
  std::optional<StridedView> view =
      farthestView(factor->view.base, [&](const StridedView &view) {
        return rowsFold(graph::getDims(operand), view.strides);
      });
  if (!view || !rowsFold(graph::getDims(operand), view->strides))
    return std::nullopt;
  factor->view = std::move(*view);
  return factor;
}

SmallVector<Operation *> factorOpsOf(Value operand,
                                     const IntegerFactor &factor) {
  SmallVector<Operation *> ops;
  for (; operand != factor.view.base; operand = ops.back()->getOperand(0))
    ops.push_back(operand.getDefiningOp());
  return ops;
}

bool IntegerMatmulView::copiesLhs() const {
  Expr stride = lhsRowStride();
  return lhs.isSigned() || !isMultipleOf(depth, quadSteps) ||
         !lhs.view.strides.back().isConstant(1) ||
         !isMultipleOf(stride, quadSteps) ||
         (!stride.isConstant(0) && isMultipleOf(stride, setBytes));
}

/// Eight rows a multiple of `setBytes` apart would meet in one set of the
/// cache.
Expr IntegerMatmulView::copyStride() const {
  MLIRContext *context = depth.getContext();
  if (std::optional<int64_t> known = depth.asConstant()) {
    int64_t stride = llvm::alignTo(*known, lineBytes);
    return Expr::constant(context,
                          stride % setBytes == 0 ? stride + lineBytes : stride);
  }
  // An odd number of lines.
  return depth.ceilDiv(Expr::constant(context, 2 * lineBytes)) *
             (2 * lineBytes) +
         lineBytes;
}

/// An odd number of lines, as a copy has an even or an odd one.
Expr IntegerMatmulView::wideStride() const {
  return copyStride() * 2 + Expr::constant(depth.getContext(), lineBytes);
}

bool IntegerMatmulView::rhsLiesInQuads() const {
  ArrayRef<Expr> strides = rhs.view.strides;
  return isMultipleOf(depth, quadSteps) &&
         strides[strides.size() - 2].isConstant(1) &&
         isMultipleOf(strides.back(), quadSteps);
}

int64_t IntegerMatmulView::blocksOfGroup(bool packsRhs) const {
  return packsRhs && !copiesLhs() ? blocksOfTallGroup(rows, columns, batchDims)
                                  : groupBlocks;
}

IntegerMatmulView::Scratch IntegerMatmulView::scratch(bool packsRhs) const {
  MLIRContext *context = depth.getContext();
  int64_t height = blocksOfGroup(packsRhs) * blockRows;
  Expr none = Expr::constant(context, 0);
  Expr lines = depth.ceilDiv(Expr::constant(context, quadSteps));
  Expr line = Expr::constant(context, panelColumns * 4);
  return {copiesLhs() ? copyStride() * height : none,
          needsRowSums() ? Expr::constant(context, height * 4) : none,
          packsRhs ? (lines + 1) * line : none,
          packsRhs ? none : wideStride() * height,
          packsRhs ? none : lines * 2 * line};
}

/// Both operands as they lie.
static std::optional<IntegerMatmulView> batchesOf(graph::MatmulOp op) {
  std::optional<IntegerFactor> lhs = integerFactorOf(op.getLhs());
  std::optional<IntegerFactor> rhs = integerFactorOf(op.getRhs());
  if (!lhs || !rhs || !isOneIfAny(lhs->zero) || !isOneIfAny(rhs->zero))
    return std::nullopt;
  SmallVector<Expr> result = graph::getDims(op.getResult());
  SmallVector<Expr> batchDims(ArrayRef(result).drop_back(2));
  return IntegerMatmulView{
      std::move(*lhs),      std::move(*rhs),
      std::move(batchDims), result[result.size() - 2],
      result.back(),        graph::getDims(op.getLhs()).back()};
}

std::optional<IntegerMatmulView> integerMatmulViewOf(graph::MatmulOp op) {
  SmallVector<Expr> result = graph::getDims(op.getResult());
  if (!graph::getElementType(op.getResult()).isSignlessInteger(32) ||
      graph::getRank(op.getLhs()) < 2 || graph::getRank(op.getRhs()) < 2)
    return std::nullopt;
  std::optional<IntegerFactor> lhs = integerRowsOf(op.getLhs());
  std::optional<IntegerFactor> rhs = integerRowsOf(op.getRhs());
  Expr rows = graph::product(op.getContext(), ArrayRef(result).drop_back());
  if (!lhs || !rhs || !rows || graph::getRank(op.getRhs()) != 2)
    return batchesOf(op);
  if (!isSameAlong(lhs->zero, 1) || !isSameAlong(rhs->zero, 2))
    return std::nullopt;
  return IntegerMatmulView{std::move(*lhs),
                           std::move(*rhs),
                           {},
                           rows,
                           result.back(),
                           graph::getDims(op.getLhs()).back()};
}

} // namespace tenon::kernel
