//===- Agreement.h - Does an output agree with the expected one? ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_GPU_RUN_AGREEMENT_H
#define TENON_TEST_GPU_RUN_AGREEMENT_H

#include "test/gpu/run/Manifest.h"

namespace tenon::trial {

/// "f32[2x3]".
std::string describe(const Tensor &tensor);

/// An element of floats.
double numberAt(const Tensor &tensor, size_t i);

/// Takes the largest error of floats, relative to the largest magnitude that
/// is expected, into `error`. Integers must be equal; so must infinities, and
/// where there is no number. A problem when they are not, or the error is more
/// than `tolerance`.
Problem compare(const Tensor &actual, const Tensor &expected, double tolerance,
                double &error);

} // namespace tenon::trial

#endif // TENON_TEST_GPU_RUN_AGREEMENT_H
