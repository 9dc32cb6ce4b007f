//===- Trial.h - One model of the manifest, on a device -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_GPU_RUN_TRIAL_H
#define TENON_TEST_GPU_RUN_TRIAL_H

#include "test/gpu/run/Runner.h"

namespace tenon::trial {

/// All ways to run a model: each must give the same bits.
inline constexpr Way ways[] = {
    {"tensors on the device, graphs", true, true},
    {"tensors on the device, no graphs", false, true},
    {"tensors on the host, graphs", true, false},
    {"tensors on the host, no graphs", false, false}};

/// The launches of one kernel in a run, by what the observer is told.
struct KernelTime {
  std::string name, schedule;
  double launches = 0, milliseconds = 0;
  double flops = 0, bytes = 0; // Bytes are those of weights, too.
  bool known = true;           // Whether flops and bytes are.
};

struct Row {
  std::string name;
  size_t sets = 0;
  double load = 0;                      // In milliseconds, as below.
  double latency[std::size(ways)] = {}; // Of the first data set.
  double queued = 0;   // Of those enqueued, with tensors on the device.
  bool graphs = false; // Whether runs with graphs launched any.
  double error = 0;
  std::vector<KernelTime> kernels; // The slowest first.
  std::vector<Prediction> predicted;
  double vendor = 0; // What a vendor's library takes; 0: it was not asked.
  Problem vendorProblem;
  Problem problem;
};

/// What each kernel of the runner's model takes in a run, as the mean of a few
/// of a runner that is warm.
Problem profile(tenon_model_t *model, Runner &runner, double seconds,
                std::vector<KernelTime> &kernels);

/// Loads the model, runs all data sets all ways, compares what they give with
/// what is expected, and times it. A problem is said in the row, which then
/// has no times.
Row tryModel(tenon_device_t *device, Case &one, double seconds);

} // namespace tenon::trial

#endif // TENON_TEST_GPU_RUN_TRIAL_H
