//===- FewBitsRhs.h - Weights of few bits that devices multiply -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_DIALECTS_KERNEL_FEWBITSRHS_H
#define TENON_DIALECTS_KERNEL_FEWBITSRHS_H

#include "dialects/Kernel/QuantizedRhs.h"
#include <string>

namespace tenon::kernel {

/// Why the numbers, scales or zero points of a quantized weight are not what
/// devices' kernels read as fragments (see FragmentLayout.h); nothing where
/// they are.
std::optional<std::string> refusalOfFragments(const QuantizedRhs &rhs);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_FEWBITSRHS_H
