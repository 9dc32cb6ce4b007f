//===- LaunchCost.h - What a launch has to do -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floating point operations and bytes of a kernel, for rooflines: what any
// code for it would have to do, not what the code that was generated does.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_LOWERING_LAUNCHCOST_H
#define TENON_COMPILER_LOWERING_LAUNCHCOST_H

#include "dialects/Kernel/Kernel.h"

namespace tenon {

/// Over the symbols of the kernel. What is too complex to say is null.
struct LaunchCost {
  /// Of products, convolutions, attention and recurrent cells: two for each
  /// term of each sum, masked or not. What is computed element by element
  /// counts nothing: it is bound by its bytes.
  graph::Expr flops;
  mlir::Type factors; // Their element type; null when there are none.
  /// Bytes read of each block argument: all of it, or as much of it as slices
  /// and gathers take.
  llvm::SmallVector<graph::Expr> reads;
  /// The block argument that a product reads some matrices of, if any.
  std::optional<unsigned> picked;
  graph::Expr writes; // Of all results.
};

LaunchCost costOf(kernel::FuncOp function);

} // namespace tenon

#endif // TENON_COMPILER_LOWERING_LAUNCHCOST_H
