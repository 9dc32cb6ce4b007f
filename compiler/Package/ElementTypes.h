//===- ElementTypes.h - Element types as the artifact numbers them --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_PACKAGE_ELEMENTTYPES_H
#define TENON_COMPILER_PACKAGE_ELEMENTTYPES_H

#include "mlir/IR/Types.h"

namespace tenon {

/// The tenon_dtype_t of an element type; 0 when it has none.
uint32_t dtypeOf(mlir::Type element);

/// The reverse; null for a number that is no element type.
mlir::Type elementOf(mlir::MLIRContext *context, uint32_t dtype);

} // namespace tenon

#endif // TENON_COMPILER_PACKAGE_ELEMENTTYPES_H
