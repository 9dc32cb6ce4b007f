//===- SweepValues.h - What a sweep's kernels read and should give --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_GPU_RUN_SWEEPVALUES_H
#define TENON_TEST_GPU_RUN_SWEEPVALUES_H

#include "test/gpu/run/Manifest.h"

namespace tenon::trial {

/// Inputs that every type holds exactly: multiples of 1/64 within [-1, 1].
std::vector<Tensor> makeInputs(const Sweep &sweep);

/// Compares some elements of the output, the first and the last among them,
/// with what they should be.
Problem checkSamples(const Sweep &sweep, const std::vector<Tensor> &inputs,
                     const Tensor &output, double tolerance, double &error);

} // namespace tenon::trial

#endif // TENON_TEST_GPU_RUN_SWEEPVALUES_H
