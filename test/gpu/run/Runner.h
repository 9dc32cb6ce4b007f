//===- Runner.h - A model's sessions on a device --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_GPU_RUN_RUNNER_H
#define TENON_TEST_GPU_RUN_RUNNER_H

#include "runtime/tenon.h"
#include "test/gpu/run/Manifest.h"

#include <memory>

namespace tenon::trial {

template <auto release> struct Releasing {
  template <typename T> void operator()(T *handle) const { release(handle); }
};
using Device = std::unique_ptr<tenon_device_t, Releasing<tenon_device_release>>;
using Model = std::unique_ptr<tenon_model_t, Releasing<tenon_model_release>>;
using Session =
    std::unique_ptr<tenon_session_t, Releasing<tenon_session_destroy>>;

/// Memory of a device.
struct FreeOnDevice {
  tenon_device_t *device;
  void operator()(void *memory) const { tenon_device_free(device, memory); }
};
using DeviceMemory = std::unique_ptr<void, FreeOnDevice>;
Problem allocate(tenon_device_t *device, size_t bytes, DeviceMemory &memory);

/// In milliseconds, of a clock that only rises.
double now();

/// How a session runs.
struct Way {
  const char *name;
  bool graphs;
  bool onDevice; // Where inputs are, and outputs stay.
};

/// A session that runs one way, and its inputs.
class Runner {
public:
  Runner(tenon_device_t *device, tenon_model_t *model, Way way)
      : device(device), model(model), way(way) {}

  Problem create();

  /// What further runs take. The tensors must outlive them.
  Problem setInputs(const std::vector<Tensor> &tensors);

  Problem run();

  /// What the last run gave, in the host's memory.
  Problem outputs(std::vector<Tensor> &tensors) const;

  /// The median of runs for so long, in milliseconds; at least one.
  Problem measure(double seconds, double &median);

  /// The mean of runs that are enqueued one behind the other for so long, as
  /// libraries' calls are timed; of ways on the device.
  Problem measureQueue(double seconds, double &mean);

  /// Of those so far, whether one launched a graph.
  bool launchedGraphs() const;

  tenon_session_t *handle() const { return session.get(); }

private:
  tenon_device_t *device;
  tenon_model_t *model;
  Way way;
  std::vector<DeviceMemory> memory; // Of inputs; it outlives the session.
  std::vector<tenon_tensor_t> inputs, results;
  Session session;
};

} // namespace tenon::trial

#endif // TENON_TEST_GPU_RUN_RUNNER_H
