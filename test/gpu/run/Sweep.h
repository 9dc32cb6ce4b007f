//===- Sweep.h - One kernel at many sizes ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A case of a sweep is a model of one op. Its inputs are made here, and some
// elements of its output are computed again on the host.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_GPU_RUN_SWEEP_H
#define TENON_TEST_GPU_RUN_SWEEP_H

#include "test/gpu/run/CopyRate.h"
#include "test/gpu/run/Trial.h"

namespace tenon::trial {

/// What a case has to do at least.
struct Work {
  double flops = 0, bytes = 0;
};
Work workOf(const Sweep &sweep);

/// Loads, runs and checks a case and times its kernels and its latency; with
/// `vendor`, the path of a cuBLAS or "", also that library's product.
Row trySweep(tenon_device_t *device, Case &one, double seconds,
             const char *vendor);

} // namespace tenon::trial

#endif // TENON_TEST_GPU_RUN_SWEEP_H
