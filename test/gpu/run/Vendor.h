//===- Vendor.h - The same product by cuBLAS ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_GPU_RUN_VENDOR_H
#define TENON_TEST_GPU_RUN_VENDOR_H

#include "test/gpu/run/Runner.h"

namespace tenon::trial {

/// The path of a cuBLAS that can be opened: `path`, or one of the usual names
/// where that is null; null without any.
const char *findVendor(const char *path);

/// The mean time of its product of a case's inputs, sums in f32. A problem is
/// no fault of ours: it is to be told beside the time.
Problem timeVendor(tenon_device_t *device, const Sweep &sweep,
                   const std::vector<Tensor> &inputs, const char *path,
                   double seconds, double &milliseconds);

} // namespace tenon::trial

#endif // TENON_TEST_GPU_RUN_VENDOR_H
