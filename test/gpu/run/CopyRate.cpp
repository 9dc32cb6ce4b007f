//===- CopyRate.cpp - Time copies on a device -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/run/CopyRate.h"

#include <algorithm>

using namespace tenon::trial;

Problem tenon::trial::measureCopyRate(tenon_device_t *device, double seconds,
                                      CopyRate &result) {
  tenon_device_info_t info = {};
  info.struct_size = sizeof info;
  if (tenon_device_info(device, &info))
    return tenon_last_error();
  // Much more than caches hold, so that what a call takes is little of it.
  result.bytes = size_t(std::min<uint64_t>(info.memory_bytes / 64, 1u << 30));
  DeviceMemory from, to;
  if (Problem problem = allocate(device, result.bytes, from))
    return problem;
  if (Problem problem = allocate(device, result.bytes, to))
    return problem;
  // What was never written may be compressed, or not be there at all.
  std::vector<char> zeros(result.bytes);
  if (tenon_device_copy(device, from.get(), zeros.data(), zeros.size()))
    return tenon_last_error();
  std::vector<double> times;
  double start = now();
  while (times.size() < 3 || now() - start < seconds * 1e3) {
    double begin = now();
    if (tenon_device_copy(device, to.get(), from.get(), result.bytes))
      return tenon_last_error();
    times.push_back(now() - begin);
  }
  auto middle = times.begin() + ptrdiff_t(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  result.rate = 2 * double(result.bytes) / (std::max(*middle, 1e-6) / 1e3);
  return std::nullopt;
}
