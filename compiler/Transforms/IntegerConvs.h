//===- IntegerConvs.h - Convolutions of quantized numbers -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_INTEGERCONVS_H
#define TENON_COMPILER_TRANSFORMS_INTEGERCONVS_H

#include "compiler/Transforms/QuantizedFactors.h"

namespace tenon {

/// What integer-products does to convolutions, and to what is around them.
class IntegerConvs {
public:
  /// Without a store, filters that are constants stay such.
  IntegerConvs(WeightStore &weights, bool hasStore, bool isCuda, bool explain)
      : weights(weights), hasStore(hasStore), isCuda(isCuda), explain(explain) {
  }

  /// A convolution of dequantized numbers becomes one of the numbers; one of
  /// i32 comes in the form that kernels take.
  void rewrite(graph::ConvOp op);

  /// The largest of dequantized numbers is that of the numbers, if they grow
  /// with them: of what a convolution stores in bytes, a pool reads bytes.
  void rewrite(graph::MaxPoolOp op);

  /// Quantizations behind convolutions of integers multiply by what they would
  /// divide by, which no other op of their kernels takes as long as.
  void multiplyByInverses(mlir::Operation *function);

private:
  std::string refusal(graph::ConvOp op, graph::DequantizeOp image,
                      graph::DequantizeOp filter) const;
  std::string refusalOnCuda(graph::ConvOp op, graph::DequantizeOp image,
                            graph::DequantizeOp filter) const;
  void makeInteger(graph::ConvOp op, graph::DequantizeOp image,
                   llvm::ArrayRef<mlir::Operation *> views,
                   graph::DequantizeOp filter);
  /// Small tensors of integers come as constants; kernels read filters that
  /// are stored.
  mlir::Value asWeight(mlir::OpBuilder &builder, mlir::Value value);
  /// Folding has made i32 of the bytes of small filters, less zero points:
  /// these back, if they are such.
  void narrowFilter(graph::ConvOp op);
  /// A convolution of bytes by groups in f32, of numbers whose sums are
  /// integers that it holds.
  void widenGroups(graph::ConvOp op);

  WeightStore &weights;
  bool hasStore, isCuda, explain, convolves = false;
};

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_INTEGERCONVS_H
