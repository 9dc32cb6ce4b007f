//===- GraphFold.cpp - Identities, and arithmetic on sizes ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters compute shapes with tensor ops. Here those ops run on expressions:
// an integer tensor whose elements are known as Exprs folds to `constant` when
// all are numbers and to `sizes` otherwise. Floats are folded elsewhere, by the
// reference evaluator.
//
//===----------------------------------------------------------------------===//

#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace tenon::graph {
namespace {

using Exprs = SmallVector<Expr>;

/// Larger tensors are data, not shapes.
constexpr int64_t maxElements = 1024;

/// The elements of a folded operand; nullopt when it is not one of integers.
std::optional<Exprs> exprsOf(Attribute attr) {
  if (auto sizes = dyn_cast_if_present<DimsAttr>(attr))
    return sizes.exprs();
  auto elements = dyn_cast_if_present<DenseIntElementsAttr>(attr);
  if (!elements || elements.getNumElements() > maxElements)
    return std::nullopt;
  Type type = elements.getElementType();
  bool isSigned = !type.isUnsignedInteger() && !type.isInteger(1);
  Exprs result;
  for (const APInt &number : elements.getValues<APInt>()) {
    if (!isSigned && number.getActiveBits() > 63)
      return std::nullopt; // An Expr has no such number.
    result.push_back(
        Expr::constant(attr.getContext(), isSigned ? number.getSExtValue()
                                                   : number.getZExtValue()));
  }
  return result;
}

/// The attribute for a result with these elements; null when one is unknown,
/// or does not fit the type.
Attribute attrOf(const Exprs &exprs, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  auto element = dyn_cast<IntegerType>(tensor.getElementType());
  if (!element || !tensor.hasStaticShape() ||
      tensor.getNumElements() != static_cast<int64_t>(exprs.size()))
    return {};
  SmallVector<APInt> numbers;
  bool isIndex = element.isSignless() &&
                 (element.getWidth() == 32 || element.getWidth() == 64);
  for (Expr expr : exprs) {
    if (!expr)
      return {};
    std::optional<int64_t> number = expr.asConstant();
    if (!number)
      continue;
    unsigned width = element.getWidth();
    bool fits = element.isUnsigned() || width == 1
                    ? *number >= 0 && (width == 64 || *number >> width == 0)
                    : llvm::isIntN(width, *number);
    if (!fits)
      return {};
    numbers.push_back(APInt(width, static_cast<uint64_t>(*number),
                            /*isSigned=*/true, /*implicitTrunc=*/true));
  }
  if (numbers.size() == exprs.size())
    return DenseElementsAttr::get(tensor, numbers);
  return isIndex ? DimsAttr::get(type.getContext(), exprs) : Attribute();
}

SmallVector<int64_t> stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t i = static_cast<int64_t>(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

/// Row-major source positions of each result element, for movement whose
/// position is an affine function of the result's index.
std::optional<SmallVector<int64_t>>
positions(Type result, ArrayRef<int64_t> steps, int64_t base = 0) {
  auto tensor = cast<RankedTensorType>(result);
  if (!tensor.hasStaticShape() || tensor.getNumElements() > maxElements)
    return std::nullopt;
  SmallVector<int64_t> list, index(tensor.getRank(), 0);
  for (int64_t n = tensor.getNumElements(); n > 0; --n) {
    int64_t position = base;
    for (auto [i, step] : llvm::zip(index, steps))
      position += i * step;
    list.push_back(position);
    for (int64_t axis = tensor.getRank() - 1; axis >= 0; --axis) {
      if (++index[axis] < tensor.getDimSize(axis))
        break;
      index[axis] = 0;
    }
  }
  return list;
}

/// Steps through an operand that is broadcast to `result`.
SmallVector<int64_t> broadcastSteps(Type operand, Type result) {
  auto from = cast<RankedTensorType>(operand);
  int64_t rank = cast<RankedTensorType>(result).getRank();
  SmallVector<int64_t> steps(rank, 0), strides = stridesOf(from.getShape());
  for (int64_t i = 0; i < from.getRank(); ++i)
    if (from.getDimSize(i) != 1)
      steps[rank - from.getRank() + i] = strides[i];
  return steps;
}

OpFoldResult pick(Attribute source, Type result,
                  const std::optional<SmallVector<int64_t>> &from) {
  std::optional<Exprs> exprs = exprsOf(source);
  if (!exprs || !from)
    return {};
  Exprs picked;
  for (int64_t position : *from) {
    if (position < 0 || position >= static_cast<int64_t>(exprs->size()))
      return {};
    picked.push_back((*exprs)[position]);
  }
  return attrOf(picked, result);
}

using Formula = llvm::function_ref<Expr(ArrayRef<Expr>)>;

/// Applies a formula element by element under broadcasting.
OpFoldResult foldPointwise(Operation *op, ArrayRef<Attribute> operands,
                           Formula formula) {
  Type result = op->getResult(0).getType();
  SmallVector<Exprs> values;
  SmallVector<SmallVector<int64_t>> from;
  for (auto [operand, attr] : llvm::zip(op->getOperands(), operands)) {
    std::optional<Exprs> exprs = exprsOf(attr);
    auto type = cast<RankedTensorType>(operand.getType());
    if (!exprs || !type.hasStaticShape())
      return {};
    std::optional<SmallVector<int64_t>> list =
        positions(result, broadcastSteps(type, result));
    if (!list)
      return {};
    values.push_back(std::move(*exprs));
    from.push_back(std::move(*list));
  }
  Exprs computed;
  for (size_t i = 0; i < from[0].size(); ++i) {
    SmallVector<Expr> elements;
    for (auto [exprs, list] : llvm::zip(values, from)) {
      if (list[i] >= static_cast<int64_t>(exprs.size()))
        return {};
      elements.push_back(exprs[list[i]]);
    }
    computed.push_back(formula(elements));
  }
  return attrOf(computed, result);
}

Expr boolean(Expr like, std::optional<bool> value) {
  return value ? Expr::constant(like.getContext(), *value) : Expr();
}

/// What is known of lhs < rhs (or <=).
std::optional<bool> less(Expr lhs, Expr rhs, bool orEqual) {
  Expr difference = rhs - lhs;
  if (orEqual ? difference.isNonNegative() : difference.isPositive())
    return true;
  Expr opposite = lhs - rhs;
  if (orEqual ? opposite.isPositive() : opposite.isNonNegative())
    return false;
  return std::nullopt;
}

std::optional<bool> equal(Expr lhs, Expr rhs) {
  if (lhs == rhs)
    return true;
  if ((lhs - rhs).isPositive() || (rhs - lhs).isPositive())
    return false;
  return std::nullopt;
}

/// Division that truncates: floor division where both signs are known.
Expr truncatingDiv(Expr lhs, Expr rhs) {
  if (auto a = lhs.asConstant(), b = rhs.asConstant(); a && b) {
    bool overflow = *a == INT64_MIN && *b == -1;
    return *b == 0 || overflow ? Expr()
                               : Expr::constant(lhs.getContext(), *a / *b);
  }
  if (lhs.isNonNegative() && rhs.isPositive())
    return lhs.floorDiv(rhs);
  // What is negative and closer to zero than rhs becomes zero.
  if (Expr above = lhs + rhs - 1;
      above && rhs.isPositive() && above.isNonNegative())
    return lhs.max(Expr::constant(lhs.getContext(), 0)).floorDiv(rhs);
  // A quotient without rest is the same either way.
  return rhs.isConstant(0) ? Expr() : lhs.exactDiv(rhs);
}

} // namespace

#define FOLD_BINARY(OP, EXPRESSION)                                            \
  OpFoldResult OP::fold(FoldAdaptor adaptor) {                                 \
    return foldPointwise(*this, adaptor.getOperands(),                         \
                         [](ArrayRef<Expr> v) -> Expr {                        \
                           [[maybe_unused]] Expr a = v[0], b = v.back();       \
                           return EXPRESSION;                                  \
                         });                                                   \
  }
FOLD_BINARY(AddOp, a + b)
FOLD_BINARY(SubOp, a - b)
FOLD_BINARY(MulOp, a *b)
FOLD_BINARY(DivOp, truncatingDiv(a, b))
FOLD_BINARY(ModOp, b.isPositive() ? a.mod(b) : Expr())
FOLD_BINARY(MinOp, a.min(b))
FOLD_BINARY(MaxOp, a.max(b))
FOLD_BINARY(NegOp, a * -1)
FOLD_BINARY(EqualOp, boolean(a, equal(a, b)))
FOLD_BINARY(LessOp, boolean(a, less(a, b, false)))
FOLD_BINARY(LessEqualOp, boolean(a, less(a, b, true)))
FOLD_BINARY(AndOp, a *b)
FOLD_BINARY(OrOp, a.max(b))
FOLD_BINARY(XorOp, (a + b).mod(Expr::constant(a.getContext(), 2)))
FOLD_BINARY(NotOp, a * -1 + 1)

OpFoldResult SelectOp::fold(FoldAdaptor adaptor) {
  return foldPointwise(*this, adaptor.getOperands(), [](ArrayRef<Expr> v) {
    std::optional<int64_t> condition = v[0].asConstant();
    return condition ? (*condition ? v[1] : v[2]) : Expr();
  });
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  Type to = getElementType(getResult());
  if (!isa<IntegerType>(to))
    return {};
  return foldPointwise(*this, adaptor.getOperands(), [&](ArrayRef<Expr> v) {
    if (!to.isInteger(1))
      return v[0];
    Expr zero = Expr::constant(v[0].getContext(), 0);
    std::optional<bool> isZero = equal(v[0], zero);
    return isZero ? boolean(v[0], !*isZero) : Expr();
  });
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }
OpFoldResult SizesOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  auto type = cast<RankedTensorType>(getType());
  if (auto dense = dyn_cast_if_present<DenseElementsAttr>(adaptor.getInput());
      dense && type.hasStaticShape() &&
      type.getNumElements() == dense.getNumElements())
    return dense.reshape(type);
  if (std::optional<Exprs> exprs = exprsOf(adaptor.getInput()))
    return attrOf(*exprs, getType());
  return {};
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  auto type = cast<RankedTensorType>(getInput().getType());
  if (!adaptor.getInput() || !type.hasStaticShape())
    return {};
  return pick(adaptor.getInput(), getType(),
              positions(getType(), broadcastSteps(type, getType())));
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (llvm::equal(getPermutation(), llvm::seq<int64_t>(0, getRank(getInput()))))
    return getInput();
  auto type = cast<RankedTensorType>(getInput().getType());
  if (!adaptor.getInput() || !type.hasStaticShape())
    return {};
  SmallVector<int64_t> strides = stridesOf(type.getShape()), steps;
  for (int64_t axis : getPermutation())
    steps.push_back(strides[axis]);
  return pick(adaptor.getInput(), getType(), positions(getType(), steps));
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  auto isConstant = [](Expr expr, int64_t value) {
    return expr.isConstant(value);
  };
  bool whole = getInput().getType() == getType();
  for (Expr start : getStarts().exprs())
    whole = whole && isConstant(start, 0);
  for (Expr step : getSteps().exprs())
    whole = whole && isConstant(step, 1);
  if (whole)
    return getInput();
  auto type = cast<RankedTensorType>(getInput().getType());
  if (!adaptor.getInput() || !type.hasStaticShape())
    return {};
  SmallVector<int64_t> strides = stridesOf(type.getShape()), steps;
  int64_t base = 0;
  for (auto [start, step, stride] :
       llvm::zip(getStarts().exprs(), getSteps().exprs(), strides)) {
    if (!start.asConstant() || !step.asConstant())
      return {};
    base += *start.asConstant() * stride;
    steps.push_back(*step.asConstant() * stride);
  }
  return pick(adaptor.getInput(), getType(), positions(getType(), steps, base));
}

OpFoldResult ConcatOp::fold(FoldAdaptor adaptor) {
  if (getInputs().size() == 1 && getInputs()[0].getType() == getType())
    return getInputs()[0];
  // Row-major order is the order of the operands only along the first axis.
  if (getAxis() != 0)
    return {};
  Exprs all;
  for (Attribute attr : adaptor.getInputs()) {
    std::optional<Exprs> exprs = exprsOf(attr);
    if (!exprs)
      return {};
    llvm::append_range(all, *exprs);
  }
  return attrOf(all, getType());
}

OpFoldResult GatherOp::fold(FoldAdaptor adaptor) {
  std::optional<Exprs> input = exprsOf(adaptor.getInput());
  std::optional<Exprs> indices = exprsOf(adaptor.getIndices());
  if (!input || !indices || getRank(getInput()) != 1)
    return {};
  Exprs picked;
  for (Expr index : *indices) {
    std::optional<int64_t> number = index.asConstant();
    int64_t size = input->size();
    if (!number || *number < -size || *number >= size)
      return {};
    picked.push_back((*input)[*number < 0 ? *number + size : *number]);
  }
  return attrOf(picked, getType());
}

OpFoldResult ReduceOp::fold(FoldAdaptor adaptor) {
  std::optional<Exprs> input = exprsOf(adaptor.getInput());
  auto type = cast<RankedTensorType>(getType());
  if (!input || input->empty() || !type.hasStaticShape() ||
      type.getNumElements() != 1 || getKind() == ReduceKind::Mean)
    return {};
  Expr result = input->front();
  for (Expr expr : ArrayRef(*input).drop_front())
    switch (getKind()) {
    case ReduceKind::Sum:
      result = result + expr;
      break;
    case ReduceKind::Prod:
      result = result * expr;
      break;
    case ReduceKind::Max:
      result = result.max(expr);
      break;
    case ReduceKind::Min:
      result = result.min(expr);
      break;
    case ReduceKind::Mean:
      return {};
    }
  return attrOf({result}, getType());
}

} // namespace tenon::graph
