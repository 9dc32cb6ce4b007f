//===- FourierMatrix.cpp - The matrix of a Fourier transform --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/FourierMatrix.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace tenon {
namespace {

/// The number for part p of point n in part q of point k, with the cosine and
/// the sine of their angle: those of a product of complex numbers.
template <typename T> T entry(int64_t p, int64_t q, T cosine, T sine) {
  if (p == q)
    return cosine;
  return p ? -sine : sine;
}

/// How often point n counts where its mirror image was left out.
double countOf(const Transform &transform, int64_t n, int64_t length) {
  return transform.fromHalf() && n != 0 && 2 * n != length ? 2 : 1;
}

template <typename T>
std::vector<T> matrixNumbers(const Transform &transform, int64_t length,
                             int64_t inputs, int64_t outputs) {
  std::vector<T> numbers;
  for (int64_t n = 0; n < inputs; ++n) {
    double count = countOf(transform, n, length) *
                   (transform.inverse ? 1.0 / double(length) : 1.0);
    for (int64_t p = 0; p < transform.inputParts; ++p)
      for (int64_t k = 0; k < outputs; ++k)
        for (int64_t q = 0; q < transform.outputParts; ++q) {
          double angle =
              2 * llvm::numbers::pi * double(n * k % length) / double(length);
          numbers.push_back(
              T(count * entry(p, q, std::cos(angle),
                              transform.sign() * std::sin(angle))));
        }
  }
  return numbers;
}

/// [inputs * parts, outputs * parts] of sizes that are numbers.
Value constantMatrix(NodeConverter &node, const Transform &transform,
                     Type element) {
  int64_t length = *transform.length.asConstant();
  int64_t inputs = *transform.inputs.asConstant();
  int64_t outputs = *transform.outputs.asConstant();
  int64_t shape[] = {inputs * transform.inputParts,
                     outputs * transform.outputParts};
  if (shape[0] > maxMatrix ||
      shape[1] > maxMatrix / std::max<int64_t>(shape[0], 1)) {
    (void)node.unsupported("a transform of " + Twine(length) +
                               " points is too long for a product",
                           "transform frames of fewer points");
    return {};
  }
  if (element.isF64())
    return madeTensor(node, element, shape,
                      matrixNumbers<double>(transform, length, inputs, outputs),
                      ".fourier");
  return madeTensor(node, element, shape,
                    matrixNumbers<float>(transform, length, inputs, outputs),
                    ".fourier");
}

/// `countOf` over `length`, as [inputs, 1]; null where all are 1.
Value computedCounts(NodeConverter &node, const Transform &transform,
                     Value points, Value period) {
  if (!transform.fromHalf() || node.failed())
    return {};
  auto isSame = [&](Value lhs, Value rhs) {
    return node.emit<graph::EqualOp>({lhs, rhs});
  };
  Value once =
      node.emit<graph::OrOp>({isSame(points, node.scalar(node.integer(64), 0)),
                              isSame(node.mul(points, 2.0), period)});
  return node.select(once, node.scalar(node.f32(), 1),
                     node.scalar(node.f32(), 2));
}

/// The same matrix of sizes that are known when the model runs, in f32.
Value computedMatrix(NodeConverter &node, const Transform &transform) {
  Type index = node.integer(64);
  Value period = node.reshape(node.sizesVector(transform.length, index), {});
  Value points = node.unsqueeze(node.iota(transform.inputs, index), 1);
  Value places = node.mul(points, node.iota(transform.outputs, index));
  if (node.failed())
    return {};
  Value turns =
      node.cast(node.emit<graph::ModOp>({places, period}), node.f32());
  Value length = node.cast(period, node.f32());
  Value angle = node.mul(node.div(turns, length), 2 * llvm::numbers::pi);
  if (node.failed())
    return {};
  Value cosine = node.emit<graph::CosOp>({angle});
  Value sine = node.emit<graph::SinOp>({angle});
  if (Value counts = computedCounts(node, transform, points, period)) {
    cosine = node.mul(cosine, counts);
    sine = node.mul(sine, counts);
  }
  if (transform.inverse) {
    cosine = node.div(cosine, length);
    sine = node.div(sine, length);
  }
  sine = node.mul(sine, transform.sign());
  Value opposite = node.mul(sine, -1.0);
  SmallVector<Value> rows;
  for (int64_t p = 0; p < transform.inputParts; ++p) {
    SmallVector<Value> parts;
    for (int64_t q = 0; q < transform.outputParts; ++q)
      parts.push_back(
          node.unsqueeze(p == q ? cosine : (p ? opposite : sine), 2));
    rows.push_back(node.unsqueeze(node.concat(parts, 2), 1));
  }
  return node.reshape(node.concat(rows, 1),
                      {transform.inputs * transform.inputParts,
                       transform.outputs * transform.outputParts});
}

} // namespace

Value fourierMatrix(NodeConverter &node, const Transform &transform,
                    Type element) {
  if (transform.length.asConstant() && transform.inputs.asConstant() &&
      transform.outputs.asConstant())
    return constantMatrix(node, transform, element);
  return node.cast(computedMatrix(node, transform), element);
}

} // namespace tenon
