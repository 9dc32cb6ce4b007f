//===- PrecisionAttributes.h - Precisions on ops, between passes ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_PRECISIONATTRIBUTES_H
#define TENON_COMPILER_TRANSFORMS_PRECISIONATTRIBUTES_H

#include "compiler/PrecisionPlan.h"
#include "mlir/IR/Operation.h"

namespace tenon {

/// A name of Precision, and the op's name in plans. Assign-precision sets both;
/// record-precision removes them.
inline constexpr llvm::StringLiteral precisionAttribute = "graph.precision";
inline constexpr llvm::StringLiteral opNameAttribute = "graph.op";
/// How calibration says that the lhs of an int8 product is quantized: a
/// dictionary with the members of StaticLhs.
inline constexpr llvm::StringLiteral lhsAttribute = "graph.lhs";

/// Steps of k with a scale in common, of an op whose weight has few bits.
inline constexpr llvm::StringLiteral blockAttribute = "graph.block";

/// There where such a weight is rounded by what its product reads.
inline constexpr llvm::StringLiteral compensatedAttribute = "graph.compensated";

/// What an op asks for; `otherwise` where nothing was assigned.
Precision precisionOf(mlir::Operation *op, Precision otherwise);

/// What `lhsAttribute` of an op says; none where there is no such attribute.
std::optional<StaticLhs> staticLhsOf(mlir::Operation *op);

/// Whether an op is a copy that probe-precision made. Others that read its
/// operands show what the model does without it: they stay as they are.
bool isProbe(mlir::Operation *op);

/// For an op that a lowering does not take: says so in its attribute and, to
/// explain, in a remark.
void leaveInFp32(mlir::Operation *op, const llvm::Twine &why, bool explain);

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_PRECISIONATTRIBUTES_H
