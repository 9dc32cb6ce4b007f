//===- Quantization.h - The arithmetic of quantized operators -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A quantized number q stands for (q - zero point) * scale.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_IMPORT_QUANTIZATION_H
#define TENON_COMPILER_IMPORT_QUANTIZATION_H

#include "compiler/Import/NodeConverter.h"

namespace tenon {

/// `value - zeroPoint` in i32, where both are exact. A null zero point is 0.
mlir::Value centered(NodeConverter &node, mlir::Value value,
                     mlir::Value zeroPoint);

/// saturate(round(value * multiplier) + zeroPoint) in the zero point's type;
/// f32 arithmetic.
mlir::Value requantize(NodeConverter &node, mlir::Value value,
                       mlir::Value multiplier, mlir::Value zeroPoint);

/// (value - zeroPoint) * scale in `element`, the scale's type unless given; a
/// null zero point is 0.
mlir::Value dequantized(NodeConverter &node, mlir::Value value,
                        mlir::Value scale, mlir::Value zeroPoint,
                        mlir::Type element = {});

/// saturate(round(value / scale) + zeroPoint), for a scale and zero point that
/// broadcast to the value.
mlir::Value quantized(NodeConverter &node, mlir::Value value, mlir::Value scale,
                      mlir::Value zeroPoint);

/// A tensor rounded to floats of 8 or 4 bits, as the node's `saturate` says:
/// see graph.round_float.
mlir::Value inFewBits(NodeConverter &node, mlir::Value value,
                      mlir::FloatType type);

/// A float tensor as bytes whose scale follows from its own range, as
/// DynamicQuantizeLinear has it.
struct DynamicQuantization {
  mlir::Value value, scale, zeroPoint;
};
DynamicQuantization dynamicallyQuantized(NodeConverter &node, mlir::Value x);

/// A scalar, or one number per index of `axis`, shaped to broadcast against a
/// tensor of `rank`. Other shapes are left as they are.
mlir::Value alongAxis(NodeConverter &node, mlir::Value value, int64_t axis,
                      int64_t rank);

/// Repeats each number `block` times along an axis, up to `size` of them.
mlir::Value blockwise(NodeConverter &node, mlir::Value value, int64_t axis,
                      int64_t block, graph::Expr size);

/// `dequantized` by blocks along an axis, with the blocks as an axis: no scale
/// is repeated. Null where that has no such form.
mlir::Value dequantizedBlocks(NodeConverter &node, mlir::Value x,
                              mlir::Value scale, mlir::Value zero, int64_t axis,
                              int64_t block, mlir::Type element = {});

/// The quantized tensor whose value, scale and zero point begin at input i.
mlir::Value readQuantized(NodeConverter &node, unsigned i);

/// The value quantized by the scale and zero point that begin at input i. A
/// zero point left out is 0 in the type of input `like`.
mlir::Value quantizedAs(NodeConverter &node, mlir::Value value, unsigned i,
                        unsigned like = 0);

/// The same as the only output.
mlir::LogicalResult writeQuantized(NodeConverter &node, mlir::Value result,
                                   unsigned i, unsigned like = 0);

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_QUANTIZATION_H
