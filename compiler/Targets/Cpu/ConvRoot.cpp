//===- ConvRoot.cpp - The convolution that a kernel computes --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/ConvRoot.h"

using namespace mlir;

namespace tenon::cpu {

FailureOr<graph::ConvOp> convRootOf(Emitter &e) {
  auto op =
      dyn_cast_if_present<graph::ConvOp>(kernel::findRoot(e.kernel.getBlock()));
  if (!op || !isa<BlockArgument>(op.getInput()) ||
      !isa<BlockArgument>(op.getFilter()) || e.kernel.getYielded().size() != 1)
    return e.kernel.emitOpError(
        "is no convolution of two operands with one result");
  return op;
}

} // namespace tenon::cpu
