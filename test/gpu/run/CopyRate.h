//===- CopyRate.h - How fast a device copies its own memory ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_GPU_RUN_COPYRATE_H
#define TENON_TEST_GPU_RUN_COPYRATE_H

#include "test/gpu/run/Runner.h"

namespace tenon::trial {

/// The limit for kernels that do little but read and write.
struct CopyRate {
  size_t bytes = 0; // Of one copy.
  double rate = 0;  // In bytes read and written a second, of a median copy.
};

/// Copies for so long, at least thrice.
Problem measureCopyRate(tenon_device_t *device, double seconds,
                        CopyRate &result);

} // namespace tenon::trial

#endif // TENON_TEST_GPU_RUN_COPYRATE_H
