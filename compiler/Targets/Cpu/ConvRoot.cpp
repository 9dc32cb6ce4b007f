//===- ConvRoot.cpp - The convolution that a kernel computes --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/ConvRoot.h"
#include "dialects/Kernel/ConvDepth.h"

using namespace mlir;

namespace tenon::cpu {

FailureOr<graph::ConvOp> convRootOf(Emitter &e) {
  auto op =
      dyn_cast_if_present<graph::ConvOp>(kernel::findRoot(e.kernel.getBlock()));
  if (!op || !isa<BlockArgument>(kernel::operandOf(op, op.getInput())) ||
      !isa<BlockArgument>(kernel::operandOf(op, op.getFilter())) ||
      e.kernel.getYielded().size() != 1)
    return e.kernel.emitOpError(
        "is no convolution of two operands with one result");
  return op;
}

void fetchOperands(Emitter &e, graph::ConvOp op, Value first, int64_t pixels,
                   int64_t columns) {
  int64_t maps = *graph::getDims(op.getResult()).back().asConstant();
  // The second level has room for pixels that lie pages apart, the first not.
  int locality = maps % 512 == 0 ? 2 : 3;
  for (BlockArgument argument : e.kernel.getBlock().getArguments()) {
    if (argument == op.getInput() || argument == op.getFilter() ||
        !isa<FloatType>(graph::getElementType(argument)) ||
        graph::getDims(argument) != graph::getDims(op.getResult()))
      continue;
    Type type = Emitter::memoryType(graph::getElementType(argument));
    int64_t line = 64 / graph::byteWidth(type);
    Value buffer = e.argumentBuffer(argument.getArgNumber());
    for (int64_t pixel = 0; pixel < pixels; ++pixel)
      for (int64_t n = 0; n < columns; n += line)
        LLVM::Prefetch::create(
            e.b,
            e.address(buffer, type, e.add(first, e.number(pixel * maps + n))),
            0, locality, 1);
  }
}

} // namespace tenon::cpu
