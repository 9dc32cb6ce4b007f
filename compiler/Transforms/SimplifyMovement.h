//===- SimplifyMovement.h - Data movement that can be spared --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_SIMPLIFYMOVEMENT_H
#define TENON_COMPILER_TRANSFORMS_SIMPLIFYMOVEMENT_H

#include "mlir/IR/PatternMatch.h"

namespace tenon {

/// transpose(transpose(x)) -> transpose(x)
void addMergeTransposes(mlir::RewritePatternSet &patterns);

/// Slices of slices, pads by nothing.
void addMovementPatterns(mlir::RewritePatternSet &patterns);

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_SIMPLIFYMOVEMENT_H
