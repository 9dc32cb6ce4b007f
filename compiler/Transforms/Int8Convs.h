//===- Int8Convs.h - Convolutions of f32 that multiply 8 bits -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_INT8CONVS_H
#define TENON_COMPILER_TRANSFORMS_INT8CONVS_H

#include "compiler/Transforms/Int8Products.h"

namespace tenon {

/// Convolutions by weights, quantized to i8 with a scale for each map.
class Int8Convs {
public:
  /// Without a store, or of weights that are not in it, the graph computes the
  /// numbers.
  explicit Int8Convs(WeightStore *weights) : weights(weights) {}

  /// Why a convolution cannot multiply 8 bits, or would not gain; empty where
  /// it can.
  std::string refusal(graph::ConvOp op);

  /// Replaces a convolution by one of an image in ui8, which counts from `zero`
  /// (ui8), and its filter in i8.
  void convolve(graph::ConvOp op, Quantized image, mlir::Value zero);

private:
  Quantized filterOf(mlir::Value filter);
  Quantized quantizeStored(mlir::Value filter, const Weight &weight);

  WeightStore *weights;
  llvm::DenseMap<mlir::Value, Quantized> made;
};

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_INT8CONVS_H
