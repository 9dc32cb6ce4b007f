//===- Settings.h - How the fake driver behaves ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Read from the environment, at the first call and at a restart:
//
//   FAKE_CUDA_DEVICES=1        how many devices there are
//   FAKE_CUDA_SM=90            what they are: 80, 90, 100 or 120
//   FAKE_CUDA_MEMORY=BYTES     of each device; default 4 GiB
//   FAKE_CUDA_ALLOCATION=BYTES the largest allocation; default: all memory
//   FAKE_CUDA_VERSION=13000    of the driver
//   FAKE_CUDA_QUEUE=eager      when work of a stream is done: eager, at the
//                              call; lazy, when somebody waits for it; random
//   FAKE_CUDA_ORDER=lazy       when asynchronous copies inside a kernel are
//                              done: eager, lazy or random
//   FAKE_CUDA_SEED=1           of both, where random
//   FAKE_CUDA_INSTRUCTIONS=N   per launch and thread; default 2^40
//   FAKE_CUDA_FAIL_CALL=N      the N-th call fails (from 1); 0: none
//   FAKE_CUDA_COMPANION=FILE   PTX to run where a cubin is loaded
//   FAKE_CUDA_LOG=FILE         every call and its result, appended
//   FAKE_CUDA_LEAKS=1          0: do not look for leaks
//   FAKE_CUDA_ABORT=0          1: abort at the first violation
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_GPU_DRIVER_SETTINGS_H
#define TENON_TEST_GPU_DRIVER_SETTINGS_H

#include "test/gpu/sim/Simulator.h"

#include <cstdint>
#include <string>

namespace fake {

using tenon::sim::Order;

struct Settings {
  uint64_t devices = 1, sm = 90, version = 13000;
  uint64_t memory = uint64_t(4) << 30, allocation = UINT64_MAX;
  Order queue = Order::Eager, order = Order::Lazy;
  uint64_t seed = 1, instructions = uint64_t(1) << 40;
  uint64_t failCall = 0;
  bool leaks = true, abort = false;
  std::string companion, log;
  std::string mistake; // A sentence about a setting that makes no sense.

  static Settings fromEnvironment();
};

} // namespace fake

#endif // TENON_TEST_GPU_DRIVER_SETTINGS_H
