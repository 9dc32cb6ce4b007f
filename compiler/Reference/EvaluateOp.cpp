//===- EvaluateOp.cpp - From an op to the function of its family ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Reference/Call.h"

using namespace mlir;

namespace tenon::reference {
namespace {

using graph::Expr;
using graph::ExprKind;

llvm::Error evaluateConstant(Call &call) {
  std::optional<Tensor> tensor =
      Tensor::fromAttr(cast<graph::ConstantOp>(call.op).getValue());
  if (!tensor)
    return fault("the value is not held densely");
  call.results[0] = std::move(*tensor);
  return llvm::Error::success();
}

llvm::Error evaluateSizes(Call &call) {
  auto sizes = call.sizes(cast<graph::SizesOp>(call.op).getValue());
  if (!sizes)
    return sizes.takeError();
  llvm::copy(*sizes, call.make().writeInts().begin());
  return llvm::Error::success();
}

llvm::Error evaluateIota(Call &call) {
  Tensor &result = call.make();
  int64_t count = result.count();
  if (result.isFloat()) {
    MutableArrayRef<double> to = result.writeFloats();
    for (int64_t i = 0; i < count; ++i)
      to[i] = static_cast<double>(i);
    call.round();
    return llvm::Error::success();
  }
  IntKind kind = IntKind::of(result.element);
  MutableArrayRef<int64_t> to = result.writeInts();
  for (int64_t i = 0; i < count; ++i)
    to[i] = kind.wrap(i);
  return llvm::Error::success();
}

llvm::Error evaluateBind(Call &call) {
  auto op = cast<graph::BindOp>(call.op);
  ArrayRef<int64_t> values = call.operands[0].ints();
  if (values.size() != op.getSymbols().size())
    return fault("the input has " + std::to_string(values.size()) +
                 " elements, not " + std::to_string(op.getSymbols().size()));
  for (auto [i, value] : llvm::enumerate(values)) {
    int64_t lo = op.getLo()[i], hi = op.getHi()[i];
    if (value < lo || value > hi)
      return fault("the value " + std::to_string(value) + " is outside " +
                   std::to_string(lo) + " .. " + std::to_string(hi));
    call.symbols[cast<StringAttr>(op.getSymbols()[i]).getValue()] = value;
  }
  return llvm::Error::success();
}

bool holds(graph::Relation relation, int64_t a, int64_t b) {
  switch (relation) {
  case graph::Relation::Equal:
    return a == b;
  case graph::Relation::LessEqual:
    return a <= b;
  case graph::Relation::Broadcasts:
    return a == b || a == 1 || b == 1;
  case graph::Relation::Divides:
    return a == 0 ? b == 0 : graph::floorModulo(b, a) == 0;
  }
  return false;
}

llvm::Error evaluateRequire(Call &call) {
  auto op = cast<graph::RequireOp>(call.op);
  auto sizes = call.sizes(op.getSizes());
  if (!sizes)
    return sizes.takeError();
  if (!holds(op.getRelation(), (*sizes)[0], (*sizes)[1]))
    return fault(op.getMessage() + " (" + std::to_string((*sizes)[0]) +
                 " and " + std::to_string((*sizes)[1]) + ")");
  return llvm::Error::success();
}

struct Family {
  llvm::StringLiteral name;
  llvm::Error (*evaluate)(Call &call);
};

/// Every op but the pointwise ones that have a row in Pointwise.cpp.
constexpr Family families[] = {
    {"graph.append", evaluateAppend},
    {"graph.arg_reduce", evaluateArgReduce},
    {"graph.attention", evaluateAttention},
    {"graph.average_pool", evaluatePool},
    {"graph.bind", evaluateBind},
    {"graph.bitcast", evaluateBitcast},
    {"graph.broadcast", evaluateBroadcast},
    {"graph.cast", evaluateCast},
    {"graph.concat", evaluateConcat},
    {"graph.constant", evaluateConstant},
    {"graph.conv", evaluateConv},
    {"graph.conv_transpose", evaluateConvTranspose},
    {"graph.cumulative", evaluateCumulative},
    {"graph.decode", evaluateDecode},
    {"graph.dequantize", evaluateDequantize},
    {"graph.gather", evaluateGather},
    {"graph.gather_elements", evaluateGatherElements},
    {"graph.gather_nd", evaluateGatherNd},
    {"graph.iota", evaluateIota},
    {"graph.layer_norm", evaluateNorm},
    {"graph.linear_attention", evaluateLinearAttention},
    {"graph.log_softmax", evaluateSoftmax},
    {"graph.lp_pool", evaluatePool},
    {"graph.matmul", evaluateMatmul},
    {"graph.max_pool", evaluatePool},
    {"graph.max_pool_indices", evaluatePool},
    {"graph.nonzero", evaluateNonzero},
    {"graph.pad", evaluatePad},
    {"graph.quantize", evaluateQuantize},
    {"graph.quantize_rows", evaluateQuantizeRows},
    {"graph.recurrent", evaluateRecurrent},
    {"graph.reduce", evaluateReduce},
    {"graph.require", evaluateRequire},
    {"graph.reshape", evaluateReshape},
    {"graph.resize", evaluateResize},
    {"graph.rms_norm", evaluateNorm},
    {"graph.rotary", evaluateRotary},
    {"graph.round_float", evaluateRoundFloat},
    {"graph.scatter_elements", evaluateScatterElements},
    {"graph.scatter_nd", evaluateScatterNd},
    {"graph.sizes", evaluateSizes},
    {"graph.slice", evaluateSlice},
    {"graph.softmax", evaluateSoftmax},
    {"graph.suppress", evaluateSuppress},
    {"graph.topk", evaluateTopk},
    {"graph.transpose", evaluateTranspose},
    {"graph.windows", evaluateWindows},
};

llvm::Error dispatch(Call &call) {
  StringRef name = call.op->getName().getStringRef();
  for (const Family &family : families)
    if (family.name == name)
      return family.evaluate(call);
  if (graph::isPointwise(call.op))
    return evaluatePointwise(call);
  return fault("the evaluator does not know this op");
}

llvm::Error checkOperands(Call &call) {
  if (call.operands.size() != call.op->getNumOperands())
    return fault("got " + std::to_string(call.operands.size()) +
                 " operands, not " + std::to_string(call.op->getNumOperands()));
  for (auto [tensor, value] : llvm::zip(call.operands, call.op->getOperands()))
    if (!graph::hasDims(value.getType()) ||
        tensor.element != graph::getElementType(value) ||
        static_cast<int64_t>(tensor.rank()) != graph::getRank(value))
      return fault("an operand is no tensor of the declared type");
  return llvm::Error::success();
}

llvm::Error shapeResults(Call &call) {
  for (Value value : call.op->getResults()) {
    if (!graph::hasDims(value.getType()))
      return fault("a result is no tensor with sizes");
    Tensor result;
    result.element = graph::getElementType(value);
    for (Expr dim : graph::getDims(value)) {
      std::optional<int64_t> size = evaluateSize(dim, call.symbols);
      if (!size)
        return fault("the size " + dim.str() + " of the result has no value");
      if (*size < 0)
        return fault("the size " + dim.str() +
                     " of the result is negative: " + std::to_string(*size));
      result.shape.push_back(*size);
    }
    std::optional<int64_t> count = countOf(result.shape);
    if (!count || *count > call.options.maxBytes / 8)
      return fault("a result of shape " + str(result.shape) + " is too large");
    call.results.push_back(std::move(result));
  }
  return llvm::Error::success();
}

llvm::Error evaluateCall(Call &call) {
  if (auto error = checkOperands(call))
    return error;
  if (auto error = shapeResults(call))
    return error;
  return dispatch(call);
}

} // namespace

std::optional<int64_t> evaluateSize(Expr expr, const SymbolMap &symbols) {
  if (!expr)
    return std::nullopt;
  if (expr.kind() == ExprKind::Constant)
    return expr.value();
  if (expr.kind() == ExprKind::Symbol) {
    auto found = symbols.find(expr.name());
    return found == symbols.end() ? std::nullopt : std::optional(found->second);
  }
  SmallVector<int64_t> operands;
  for (size_t i = 0; i < expr.size(); ++i) {
    std::optional<int64_t> operand = evaluateSize(expr.operand(i), symbols);
    if (!operand)
      return std::nullopt;
    operands.push_back(*operand);
  }
  int64_t result = expr.kind() == ExprKind::Product ? expr.value() : 0;
  switch (expr.kind()) {
  case ExprKind::Product:
    for (int64_t operand : operands)
      if (llvm::MulOverflow(result, operand, result))
        return std::nullopt;
    return result;
  case ExprKind::Sum:
    for (int64_t operand : operands)
      if (llvm::AddOverflow(result, operand, result))
        return std::nullopt;
    return result;
  case ExprKind::FloorDiv:
    return graph::floorDivide(operands[0], operands[1]);
  case ExprKind::Mod:
    return graph::floorModulo(operands[0], operands[1]);
  case ExprKind::Min:
    return std::min(operands[0], operands[1]);
  case ExprKind::Max:
    return std::max(operands[0], operands[1]);
  case ExprKind::Broadcast:
    return operands[0] == 1 ? operands[1] : operands[0];
  case ExprKind::Constant:
  case ExprKind::Symbol:
    break;
  }
  return std::nullopt;
}

llvm::Expected<SmallVector<Tensor>> evaluateOp(Operation *op,
                                               ArrayRef<Tensor> operands,
                                               SymbolMap &symbols,
                                               const EvaluateOptions &options) {
  Call call{op, operands, symbols, options, {}};
  if (auto error = evaluateCall(call))
    return llvm::createStringError("node '" + nodeName(op) + "' (" +
                                   op->getName().getStringRef().str() +
                                   "): " + llvm::toString(std::move(error)));
  return std::move(call.results);
}

} // namespace tenon::reference
