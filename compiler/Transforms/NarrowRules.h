//===- NarrowRules.h - What may be rounded to 16 bits ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_NARROWRULES_H
#define TENON_COMPILER_TRANSFORMS_NARROWRULES_H

#include "compiler/PrecisionPlan.h"
#include "dialects/Graph/Graph.h"
#include "llvm/ADT/DenseMap.h"
#include <string>

namespace tenon {

class Weight;
class WeightStore;

/// A weight of f32 that is worth storing in fewer bits.
bool isLargeWeight(mlir::Value value);

/// What products, attention and convolutions may multiply in 16 bits, bf16 or
/// f16, as the kernels of a target have it. lower-precision goes by it.
class NarrowRules {
public:
  /// Some CPU level of the program multiplies pairs of bf16, adds up in f16.
  struct Levels {
    bool havePairDots, haveF16Fma;
  };
  NarrowRules(bool isCuda, Levels levels, const WeightStore *weights)
      : isCuda(isCuda), levels(levels), weights(weights) {}

  /// Whether what meets a weight stays f32 in memory.
  bool isOfWeightsAlone(mlir::Type narrow) const {
    return !isCuda && narrow.isF16();
  }

  /// Whether an op that is to have fewer bits has no kernel for them: on CPUs
  /// attention and convolutions whose images were not calibrated, on CUDA all
  /// but products by weights and convolutions whose images were.
  bool staysInBf16(mlir::Operation *op, Precision own) const;

  /// Whether the weight of a product that may round lhs to bf16, or does,
  /// comes in few bits, which kernels read as they are.
  bool comesInFewBits(graph::MatmulOp op, Precision own) const;

  /// Whether some kernel of a product gains by adding up in f16, for which it
  /// rounds what comes in more bits, and may.
  bool mayAddF16(graph::MatmulOp op);
  bool mayAddF16(graph::ConvOp op);

  /// Why a product, an attention or a convolution stays in f32; empty where it
  /// need not.
  std::string refusal(mlir::Operation *op, mlir::Type narrow);

  /// Of a weight: infinities would take the place of what is too large.
  std::string refusalOfRange(mlir::Value value, mlir::Type narrow);

  /// Whether rows of a product whose elements lie apart are to be rounded as
  /// they are turned, by a kernel of its own: pairs are multiplied so much
  /// faster that this takes less than to multiply f32.
  bool isWorthTurning(mlir::OpOperand &operand, mlir::Type narrow) const;

private:
  /// A bound of what a product's weight holds; infinite where it has none.
  float largestOfRhs(graph::MatmulOp op);
  bool mayAddF16OfTwo(graph::MatmulOp op) const;
  /// Of a weight's finite numbers; 0 where it is not known.
  float largestOf(mlir::Value value);
  std::string refusalOnCuda(graph::MatmulOp op, mlir::Type narrow);
  std::string refusalOf(graph::AttentionOp op, mlir::Type narrow) const;
  std::string refusalOf(graph::ConvOp op, mlir::Type narrow);
  std::string refusalOf(graph::MatmulOp op, mlir::Type narrow);
  std::string refusalOfTwo(graph::MatmulOp op, mlir::Type narrow);

  bool isCuda;
  Levels levels;
  const WeightStore *weights;
  llvm::DenseMap<const Weight *, float> largest;
};

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_NARROWRULES_H
