//===- RowMajor.h - Weights as their tensors lie --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_PACKAGE_ROWMAJOR_H
#define TENON_COMPILER_PACKAGE_ROWMAJOR_H

#include "compiler/Package/WeightPlan.h"

namespace tenon {

/// Produces the bytes of a weight's tensor. Of what is made of other weights
/// some rows at a time, so that a model's weights are never all in memory.
void layRows(const Weight &weight, ByteSink sink);

} // namespace tenon

#endif // TENON_COMPILER_PACKAGE_ROWMAJOR_H
