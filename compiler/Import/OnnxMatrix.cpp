//===- OnnxMatrix.cpp - Matrix products -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/FusedActivation.h"
#include "compiler/Import/OpFamilies.h"
#include "compiler/Import/Quantization.h"

using namespace mlir;

namespace tenon {
namespace {

/// The NumPy product: a vector on the left is a row, on the right a column,
/// and the result lacks its axis.
Value product(NodeConverter &node, Value lhs, Value rhs) {
  Emitter::Exprs left = node.dimsOf(lhs), right = node.dimsOf(rhs);
  if (node.failed() || left.empty() || right.empty()) {
    (void)node.invalid("a scalar is no operand of a matrix product");
    return {};
  }
  if (left.size() == 1)
    lhs = node.unsqueeze(lhs, 0);
  if (right.size() == 1)
    rhs = node.unsqueeze(rhs, 1);
  Value result = node.matmul(lhs, rhs);
  int64_t rank = node.dimsOf(result).size();
  SmallVector<int64_t> dropped;
  if (left.size() == 1)
    dropped.push_back(rank - 2);
  if (right.size() == 1)
    dropped.push_back(rank - 1);
  return dropped.empty() ? result : node.squeeze(result, dropped);
}

/// Exchanges the last two axes.
Value transposed(NodeConverter &node, Value matrix) {
  int64_t rank = node.dimsOf(matrix).size();
  if (node.failed() || rank < 2) {
    (void)node.invalid("a transposed operand must have rank 2 or more");
    return {};
  }
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(permutation[rank - 2], permutation[rank - 1]);
  return node.transpose(matrix, permutation);
}

LogicalResult convertMatmul(NodeConverter &node) {
  if (failed(node.expectInputs(2, 2)))
    return failure();
  return node.output(product(node, node.input(0), node.input(1)));
}

/// value * factor, where integers allow integers only.
Value scaled(NodeConverter &node, Value value, double factor) {
  if (factor == 1 || node.failed())
    return value;
  if (!isa<FloatType>(node.elementOf(value)) && factor != std::trunc(factor)) {
    (void)node.unsupported("a factor of integers is no integer");
    return {};
  }
  return node.mul(value, factor);
}

/// A and B of a Gemm as its product multiplies them.
LogicalResult orderGemm(NodeConverter &node, Value &lhs, Value &rhs) {
  if (failed(node.expectRank(lhs, 2, "A")) ||
      failed(node.expectRank(rhs, 2, "B")))
    return failure();
  if (node.flagAttr("transA", false))
    lhs = transposed(node, lhs);
  if (node.flagAttr("transB", false))
    rhs = transposed(node, rhs);
  return success();
}

/// alpha * A * B + beta * C
Value gemm(NodeConverter &node) {
  Value lhs = node.input(0), rhs = node.input(1),
        addend = node.optionalInput(2);
  if (failed(orderGemm(node, lhs, rhs)))
    return {};
  double alpha = node.floatAttr("alpha", 1), beta = node.floatAttr("beta", 1);
  Value sum = scaled(node, node.matmul(lhs, rhs), alpha);
  // Not even a NaN of C comes through a beta of zero.
  if (addend && beta != 0) {
    Emitter::Exprs dims = node.dimsOf(sum);
    sum = node.add(sum, node.broadcast(scaled(node, addend, beta), dims));
  }
  return sum;
}

LogicalResult convertGemm(NodeConverter &node) {
  return node.output(gemm(node));
}

LogicalResult convertFusedGemm(NodeConverter &node) {
  Value sum = gemm(node);
  std::string name = node.stringAttr("activation", "");
  auto number = [&](StringRef attribute, double missing) {
    return node.floatAttr(("activation_" + attribute).str(), missing);
  };
  return node.output(name.empty() ? sum : activated(node, sum, name, number));
}

/// FusedMatMul, and TransposeMatMul, as it was called once.
LogicalResult convertFusedMatmul(NodeConverter &node) {
  Value lhs = node.input(0), rhs = node.input(1);
  if (node.flagAttr("transBatchA", false) ||
      node.flagAttr("transBatchB", false))
    return node.unsupported("transBatchA and transBatchB are not computed");
  if (node.flagAttr("transA", false))
    lhs = transposed(node, lhs);
  if (node.flagAttr("transB", false))
    rhs = transposed(node, rhs);
  return node.output(
      scaled(node, product(node, lhs, rhs), node.floatAttr("alpha", 1)));
}

LogicalResult convertGemmFastGelu(NodeConverter &node) {
  Value sum = product(node, node.input(0), node.input(1));
  if (Value bias = node.optionalInput(2))
    sum = node.add(sum, bias);
  return node.output(geluOf(node, sum, graph::GeluKind::Tanh));
}

/// Distances of the rows of A from those of B: |a|^2 + |b|^2 - 2 a b.
LogicalResult convertCDist(NodeConverter &node) {
  Value lhs = node.input(0), rhs = node.input(1);
  if (failed(node.expectRank(lhs, 2, "A")) ||
      failed(node.expectRank(rhs, 2, "B")))
    return failure();
  std::string metric = node.stringAttr("metric", "sqeuclidean");
  if (metric != "euclidean" && metric != "sqeuclidean")
    return node.unsupported("the metric '" + metric + "' is not supported",
                            "use euclidean or sqeuclidean");
  auto squares = [&](Value rows) {
    return node.reduce(node.mul(rows, rows), {1}, graph::ReduceKind::Sum);
  };
  Value products = node.matmul(lhs, transposed(node, rhs));
  Value sums = node.add(squares(lhs), node.transpose(squares(rhs), {1, 0}));
  // Of rows that are all but equal, rounding may leave less than nothing.
  Value distance = node.maximum(node.sub(sums, node.mul(products, 2.0)), 0.0);
  return node.output(
      metric == "euclidean" ? node.emit<graph::SqrtOp>({distance}) : distance);
}

//===----------------------------------------------------------------------===//
// Quantized
//===----------------------------------------------------------------------===//

/// A scalar, or one number per row of the left operand.
Value perRow(NodeConverter &node, Value value, Value lhs) {
  int64_t rank = node.dimsOf(lhs).size();
  return alongAxis(node, value, std::max<int64_t>(rank - 2, 0),
                   std::max<int64_t>(rank, 1));
}

/// A scalar, or one number per column of the right operand.
Value perColumn(NodeConverter &node, Value value) {
  return alongAxis(node, value, 0, 1);
}

/// The exact product of two quantized operands, in i32.
Value integerProduct(NodeConverter &node, Value lhs, Value lhsZero, Value rhs,
                     Value rhsZero) {
  if (node.failed())
    return {};
  return product(node, centered(node, lhs, perRow(node, lhsZero, lhs)),
                 centered(node, rhs, perColumn(node, rhsZero)));
}

LogicalResult convertMatmulInteger(NodeConverter &node) {
  return node.output(integerProduct(node, node.input(0), node.optionalInput(2),
                                    node.input(1), node.optionalInput(3)));
}

LogicalResult convertQLinearMatmul(NodeConverter &node) {
  Value lhs = node.input(0), lhsScale = node.input(1), lhsZero = node.input(2);
  Value rhs = node.input(3), rhsScale = node.input(4), rhsZero = node.input(5);
  Value scale = node.input(6), zero = node.input(7);
  Value sums = integerProduct(node, lhs, lhsZero, rhs, rhsZero);
  if (node.failed())
    return failure();
  auto wide = [&](Value value) { return node.cast(value, node.f32()); };
  Value multiplier = node.div(node.mul(wide(perRow(node, lhsScale, lhs)),
                                       wide(perColumn(node, rhsScale))),
                              wide(perRow(node, scale, lhs)));
  return node.output(
      requantize(node, sums, multiplier, perRow(node, zero, lhs)));
}

/// The float product that follows from quantized operands, plus a bias.
Value rescaled(NodeConverter &node, Value sums, Value lhsScale, Value rhsScale,
               Value bias) {
  Value scale = node.mul(lhsScale, perColumn(node, rhsScale));
  Value result = node.mul(node.cast(sums, node.elementOf(scale)), scale);
  return bias ? node.add(result, bias) : result;
}

LogicalResult convertMatmulIntegerToFloat(NodeConverter &node) {
  Value lhs = node.input(0), rhs = node.input(1);
  Value lhsScale = node.input(2), rhsScale = node.input(3);
  Value sums = integerProduct(node, lhs, node.optionalInput(4), rhs,
                              node.optionalInput(5));
  if (node.failed())
    return failure();
  return node.output(rescaled(node, sums, perRow(node, lhsScale, lhs), rhsScale,
                              node.optionalInput(6)));
}

LogicalResult convertDynamicQuantizeMatmul(NodeConverter &node) {
  Value x = node.input(0), rhs = node.input(1), rhsScale = node.input(2);
  if (node.failed())
    return failure();
  DynamicQuantization lhs = dynamicallyQuantized(node, x);
  Value sums = integerProduct(node, lhs.value, lhs.zeroPoint, rhs,
                              node.optionalInput(3));
  return node.output(
      rescaled(node, sums, lhs.scale, rhsScale, node.optionalInput(4)));
}

/// alpha * A * B + C in quantized numbers, where C counts in what the sums of
/// the product do. Without a scale of the result, it is f32.
LogicalResult convertQuantizedGemm(NodeConverter &node) {
  Value lhs = node.input(0), rhs = node.input(3);
  if (failed(orderGemm(node, lhs, rhs)))
    return failure();
  Value sums =
      integerProduct(node, lhs, node.input(2), rhs, node.optionalInput(5));
  Value bias = node.optionalInput(6);
  Value multiplier = scaled(node,
                            node.mul(alongAxis(node, node.input(1), 0, 1),
                                     perColumn(node, node.input(4))),
                            node.floatAttr("alpha", 1));
  Value scale = node.optionalInput(7), zero = node.optionalInput(8);
  if (node.failed())
    return failure();
  if (bias)
    sums = node.add(sums, bias);
  if (!scale)
    return node.output(node.mul(node.cast(sums, node.f32()), multiplier));
  if (!zero)
    return node.invalid("a quantized result needs a zero point");
  return node.output(
      requantize(node, sums, node.div(multiplier, alongAxis(node, scale, 0, 1)),
                 alongAxis(node, zero, 0, 1)));
}

} // namespace

ArrayRef<OpRow> matrixRows() {
  static constexpr OpRow rows[] = {
      {"", "Gemm", {7, 9, 11, 13}, convertGemm},
      {"", "MatMul", {1, 9, 13}, convertMatmul},
      {"", "MatMulInteger", {10}, convertMatmulInteger},
      {"", "QLinearMatMul", {10, 21}, convertQLinearMatmul},
      {"com.microsoft", "CDist", {1}, convertCDist},
      {"com.microsoft",
       "DynamicQuantizeMatMul",
       {1},
       convertDynamicQuantizeMatmul},
      {"com.microsoft", "FusedGemm", {1}, convertFusedGemm},
      {"com.microsoft", "FusedMatMul", {1}, convertFusedMatmul},
      {"com.microsoft", "GemmFastGelu", {1}, convertGemmFastGelu},
      {"com.microsoft",
       "MatMulIntegerToFloat",
       {1},
       convertMatmulIntegerToFloat},
      {"com.microsoft", "QGemm", {1}, convertQuantizedGemm},
      {"com.microsoft", "TransposeMatMul", {1}, convertFusedMatmul},
  };
  return rows;
}

} // namespace tenon
