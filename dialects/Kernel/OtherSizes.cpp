//===- OtherSizes.cpp - Kernels of which one runs at any sizes ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/OtherSizes.h"

using namespace mlir;

namespace tenon::kernel {

SmallVector<FuncOp> kernelsOf(CallOp call, SymbolTable &functions) {
  SmallVector<FuncOp> kernels;
  auto name = call.getCalleeAttr();
  while (name) {
    auto function = functions.lookup<FuncOp>(name.getValue());
    if (!function)
      break;
    kernels.push_back(function);
    name = function->getAttrOfType<FlatSymbolRefAttr>(otherwise);
  }
  return kernels;
}

} // namespace tenon::kernel
