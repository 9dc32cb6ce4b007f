//===- GraphTypes.cpp - Shapes of tensor types ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace tenon::graph {

bool hasDims(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && (tensor.hasStaticShape() ||
                    isa_and_nonnull<DimsAttr>(tensor.getEncoding()));
}

SmallVector<Expr> getDims(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  if (auto dims = dyn_cast_if_present<DimsAttr>(tensor.getEncoding()))
    return dims.exprs();
  SmallVector<Expr> dims;
  for (int64_t size : tensor.getShape())
    dims.push_back(Expr::constant(type.getContext(), size));
  return dims;
}

SmallVector<Expr> getDims(Value value) { return getDims(value.getType()); }
Expr getDim(Value value, int64_t axis) { return getDims(value)[axis]; }

Type getElementType(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

int64_t getRank(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

bool areOnes(ArrayRef<Expr> dims) {
  return llvm::all_of(dims, [](Expr dim) { return dim.isConstant(1); });
}

bool isOneNumber(Value value) { return areOnes(getDims(value)); }

bool isConstantOf(Value value, int64_t number) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto numbers = constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue())
                          : DenseIntElementsAttr();
  if (!numbers || !numbers.isSplat())
    return false;
  APInt splat = numbers.getSplatValue<APInt>();
  bool isUnsigned = numbers.getElementType().isUnsignedInteger();
  return (isUnsigned ? splat.getZExtValue() : splat.getSExtValue()) ==
         uint64_t(number);
}

void forEachSymbol(Type type, llvm::function_ref<void(Expr)> visit) {
  for (Expr dim : getDims(type))
    dim.forEachSymbol(visit);
}

void forEachSymbol(Operation *op, llvm::function_ref<void(Expr)> visit) {
  for (NamedAttribute attr : op->getAttrs())
    if (auto dims = dyn_cast<DimsAttr>(attr.getValue()))
      for (Expr expr : dims.exprs())
        expr.forEachSymbol(visit);
  for (Type type : op->getOperandTypes())
    forEachSymbol(type, visit);
  for (Type type : op->getResultTypes())
    forEachSymbol(type, visit);
}

bool dividesIntegers(Operation *op) {
  return isa<DivOp, ModOp, FmodOp>(op) &&
         !isa<FloatType>(getElementType(op->getOperand(0)));
}

RankedTensorType tensorOf(ArrayRef<Expr> dims, Type element) {
  SmallVector<int64_t> shape;
  bool isStatic = true;
  for (Expr dim : dims) {
    if (!dim)
      return {};
    std::optional<int64_t> number = dim.asConstant();
    if (number && *number < 0)
      return {};
    isStatic &= number.has_value();
    shape.push_back(number.value_or(ShapedType::kDynamic));
  }
  Attribute encoding;
  if (!isStatic)
    encoding = DimsAttr::get(element.getContext(), dims);
  return RankedTensorType::get(shape, element, encoding);
}

std::optional<SmallVector<Expr>>
broadcastDims(ArrayRef<Expr> lhs, ArrayRef<Expr> rhs, std::string *reason) {
  if (lhs.size() < rhs.size())
    std::swap(lhs, rhs);
  SmallVector<Expr> result(lhs.begin(), lhs.end());
  size_t offset = lhs.size() - rhs.size();
  for (size_t i = 0; i < rhs.size(); ++i) {
    Expr &dim = result[offset + i];
    std::optional<int64_t> a = dim.asConstant(), b = rhs[i].asConstant();
    if (a && b && *a != *b && *a != 1 && *b != 1) {
      if (reason)
        *reason = "sizes " + dim.str() + " and " + rhs[i].str() + " of axis " +
                  std::to_string(offset + i) + " do not broadcast";
      return std::nullopt;
    }
    dim = dim.broadcast(rhs[i]);
  }
  return result;
}

Expr elementCount(Value value) {
  return product(value.getContext(), getDims(value));
}

unsigned byteWidth(Type element) {
  return (element.getIntOrFloatBitWidth() + 7) / 8;
}

std::optional<SmallVector<Expr>> getIndexValues(Value value) {
  if (auto sizes = value.getDefiningOp<SizesOp>())
    return sizes.getValue().exprs();
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant || !isa<IntegerType>(getElementType(value)))
    return std::nullopt;
  auto elements = dyn_cast<DenseIntElementsAttr>(constant.getValue());
  if (!elements)
    return std::nullopt;
  bool isSigned = !getElementType(value).isUnsignedInteger() &&
                  !getElementType(value).isInteger(1);
  SmallVector<Expr> result;
  for (const APInt &number : elements.getValues<APInt>()) {
    if (!isSigned && number.getActiveBits() > 63)
      return std::nullopt; // An Expr has no such number.
    result.push_back(
        Expr::constant(value.getContext(), isSigned ? number.getSExtValue()
                                                    : number.getZExtValue()));
  }
  return result;
}

} // namespace tenon::graph
