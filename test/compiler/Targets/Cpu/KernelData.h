//===- KernelData.h - Cases of kernels and the data they run on -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every way to run a KernelCase needs.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_COMPILER_TARGETS_CPU_KERNELDATA_H
#define TENON_TEST_COMPILER_TARGETS_CPU_KERNELDATA_H

#include "compiler/Options.h"
#include "compiler/Reference/Tensor.h"
#include "dialects/Kernel/Kernel.h"
#include "test/compiler/Targets/Cpu/KernelTest.h"
#include <random>

namespace tenon::test {

/// The kernel.func @k<ordinal> of a case, without a geometry yet.
std::string kernelText(const KernelCase &test, size_t ordinal);

/// Sets geometry and layouts as the schedule asks for; all operands that it
/// wants to be weights are. Of a function without one: by the schedule that the
/// compiler takes.
void applySchedule(kernel::FuncOp function, Target target = Target::Cpu);

reference::Tensor randomTensor(mlir::Type element,
                               llvm::ArrayRef<int64_t> shape,
                               const Values &values, std::mt19937_64 &random);

/// The bytes of a tensor in a layout of filters; row-major in any other.
std::vector<char> inFilterLayout(const reference::Tensor &tensor,
                                 llvm::StringRef layout);

double defaultTolerance(mlir::Type element);

/// Where two tensors of one type and shape differ; empty when they agree.
std::string difference(const reference::Tensor &got,
                       const reference::Tensor &want, double tolerance);

} // namespace tenon::test

#endif // TENON_TEST_COMPILER_TARGETS_CPU_KERNELDATA_H
