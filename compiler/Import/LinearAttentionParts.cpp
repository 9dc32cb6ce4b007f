//===- LinearAttentionParts.cpp - What operators with a state share -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/LinearAttentionParts.h"
#include <cmath>

using namespace mlir;

namespace tenon {

using graph::Expr;

std::optional<UpdateRule> readUpdateRule(NodeConverter &node) {
  std::string rule = node.stringAttr("update_rule", "gated_delta");
  UpdateRule is = {rule == "gated" || rule == "gated_delta",
                   rule == "delta" || rule == "gated_delta"};
  if (!is.decays && !is.corrects && rule != "linear")
    (void)node.invalid("update_rule must be linear, gated, delta or "
                       "gated_delta");
  return node.failed() ? std::nullopt : std::optional(is);
}

static double readScale(NodeConverter &node, Expr depth) {
  double scale = node.floatAttr("scale", 0);
  if (scale != 0 || node.failed())
    return scale;
  std::optional<int64_t> size = depth.asConstant();
  if (!size || *size < 1) {
    (void)node.unsupported("its scale follows from a head size that is no "
                           "number",
                           "give it the attribute scale");
    return 1;
  }
  return 1 / std::sqrt(double(*size));
}

SmallVector<Value> linearAttention(NodeConverter &node,
                                   const LinearAttention &the) {
  SmallVector<Value> operands = {the.query, the.key, the.value};
  SmallVector<int32_t> segments = {1, 1, 1};
  for (Value operand : {the.state, the.decay, the.beta}) {
    segments.push_back(operand ? 1 : 0);
    if (operand)
      operands.push_back(operand);
  }
  Emitter::Exprs q = node.dimsOf(the.query), v = node.dimsOf(the.value);
  if (node.failed())
    return {};
  double scale = readScale(node, q[3]);
  Type all = graph::tensorOf({q[0], q[1], q[2], v[3]}, node.f32());
  Type last = graph::tensorOf({q[0], v[2], q[3], v[3]}, node.f32());
  if (!node.failed() && (!all || !last))
    (void)node.invalid("a size is negative or overflows");
  if (node.failed())
    return {};
  auto results = node.emitAll<graph::LinearAttentionOp>(
      operands,
      {node.attr("operandSegmentSizes",
                 node.builder.getDenseI32ArrayAttr(segments)),
       node.f64("scale", scale)},
      {all, last});
  return results.size() == 2 ? results : SmallVector<Value>();
}

Value repeatedHeads(NodeConverter &node, Value x, int64_t times) {
  if (node.failed() || times == 1)
    return x;
  Emitter::Exprs dims = node.dimsOf(x);
  Value each =
      node.broadcast(node.unsqueeze(x, {3}),
                     {dims[0], dims[1], dims[2], node.size(times), dims[3]});
  return node.reshape(each, {dims[0], dims[1], dims[2] * times, dims[3]});
}

} // namespace tenon
