//===- ConvKernels.h - What schedules of convolutions ask -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_SCHEDULES_CONVKERNELS_H
#define TENON_COMPILER_SCHEDULES_CONVKERNELS_H

#include "compiler/Schedules/Schedules.h"

namespace tenon {

/// The convolution at a kernel's root; null for another.
graph::ConvOp convOf(const KernelView &view);

/// Why kernels cannot read the image in place, and the filter packed.
std::optional<std::string> refusalOfOperands(const KernelView &view,
                                             graph::ConvOp conv);

/// What a schedule reads beside f32.
enum class Narrow { None, Pairs, Depthwise };

/// Why a kernel is no convolution with channels last of an image in memory by
/// a weight.
std::optional<std::string> refusalOfConv(const KernelView &view,
                                         Narrow taken = Narrow::None);

/// Whether an op behind the root moves elements.
bool movesBehind(const KernelView &view, mlir::Operation *root);

/// Why the ops behind the convolution cannot run on sums that wait for them.
std::optional<std::string> refusalOfBehind(const KernelView &view);

/// The layouts of a kernel's arguments, of which the filter has one.
llvm::SmallVector<std::string> withFilter(const KernelView &view,
                                          llvm::StringRef layout);

} // namespace tenon

#endif // TENON_COMPILER_SCHEDULES_CONVKERNELS_H
