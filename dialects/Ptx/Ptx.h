//===- Ptx.h - The Ptx dialect: instructions of NVIDIA GPUs ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_DIALECTS_PTX_PTX_H
#define TENON_DIALECTS_PTX_PTX_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Ptx/PtxDialect.h.inc"
#include "dialects/Ptx/PtxEnums.h.inc"

namespace tenon::ptx {

/// Columns of the tile whose sums a thread of a warpgroup holds so.
inline int64_t wgmmaColumns(mlir::VectorType sums) {
  return 2 * sums.getNumElements();
}

} // namespace tenon::ptx

#define GET_ATTRDEF_CLASSES
#include "dialects/Ptx/PtxAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/Ptx/PtxOps.h.inc"

#endif // TENON_DIALECTS_PTX_PTX_H
