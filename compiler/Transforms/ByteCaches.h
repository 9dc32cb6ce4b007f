//===- ByteCaches.h - Caches of bytes and their scales --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_BYTECACHES_H
#define TENON_COMPILER_TRANSFORMS_BYTECACHES_H

#include "dialects/Graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tenon {

/// Why a cache that attention alone reads cannot be bytes with a scale for each
/// row of its last axis; empty where it can.
std::string refusalOfBytes(graph::AppendOp cache);

/// Makes it such. The scales are an input and an output of their own, behind
/// all others, which lose the cache's last axis, have room as it does and its
/// name with `.scale` behind. The function's type is left to the caller.
void keepInBytes(mlir::func::FuncOp function, graph::AppendOp cache);

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_BYTECACHES_H
