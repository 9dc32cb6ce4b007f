//===- Runner.cpp - Run a session, and time it ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/run/Runner.h"

#include <algorithm>
#include <chrono>
#include <cstring>

using namespace tenon::trial;

static Problem judge(tenon_status_t status) {
  return status == TENON_OK ? Problem() : Problem(tenon_last_error());
}

double tenon::trial::now() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch())
      .count();
}

Problem tenon::trial::allocate(tenon_device_t *device, size_t bytes,
                               DeviceMemory &memory) {
  void *address;
  if (tenon_device_allocate(device, bytes, &address))
    return tenon_last_error();
  memory = DeviceMemory(address, FreeOnDevice{device});
  return std::nullopt;
}

Problem Runner::create() {
  tenon_session_options_t options = {};
  options.struct_size = sizeof options;
  options.results_on_device = way.onDevice;
  options.no_graphs = !way.graphs;
  tenon_session_t *created;
  Problem problem = judge(tenon_session_create(model, &options, &created));
  session.reset(created);
  return problem;
}

Problem Runner::setInputs(const std::vector<Tensor> &tensors) {
  inputs.clear();
  memory.clear();
  for (const Tensor &tensor : tensors) {
    tenon_tensor_t input = {};
    input.struct_size = sizeof input;
    input.dtype = tensor.dtype;
    input.rank = uint32_t(tensor.dims.size());
    std::copy(tensor.dims.begin(), tensor.dims.end(), input.dims);
    input.data = const_cast<char *>(tensor.bytes.data()); // It is only read.
    input.bytes = tensor.bytes.size();
    if (way.onDevice && input.bytes) {
      DeviceMemory copy;
      if (Problem problem = allocate(device, input.bytes, copy))
        return problem;
      if (tenon_device_copy(device, copy.get(), input.data, input.bytes))
        return tenon_last_error();
      input.data = copy.get();
      memory.push_back(std::move(copy));
    }
    inputs.push_back(input);
  }
  return std::nullopt;
}

Problem Runner::run() {
  tenon_model_info_t info = {};
  info.struct_size = sizeof info;
  if (tenon_model_info(model, &info))
    return tenon_last_error();
  results.assign(info.output_count, {});
  for (tenon_tensor_t &result : results)
    result.struct_size = sizeof result;
  return judge(tenon_session_run(session.get(), inputs.data(),
                                 uint32_t(inputs.size()), results.data(),
                                 uint32_t(results.size())));
}

Problem Runner::outputs(std::vector<Tensor> &tensors) const {
  tensors.clear();
  for (const tenon_tensor_t &result : results) {
    Tensor tensor;
    tensor.dtype = result.dtype;
    tensor.dims.assign(result.dims, result.dims + result.rank);
    tensor.bytes.resize(tensor.size());
    if (!tensor.bytes.empty() &&
        tenon_device_copy(device, tensor.bytes.data(), result.data,
                          tensor.bytes.size()))
      return tenon_last_error();
    tensors.push_back(std::move(tensor));
  }
  return std::nullopt;
}

Problem Runner::measure(double seconds, double &median) {
  std::vector<double> times;
  double start = now();
  do {
    double begin = now();
    if (Problem problem = run())
      return problem;
    times.push_back(now() - begin);
  } while (now() - start < seconds * 1e3);
  auto middle = times.begin() + ptrdiff_t(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  median = *middle;
  return std::nullopt;
}

Problem Runner::measureQueue(double seconds, double &mean) {
  const int together = seconds > 0 ? 20 : 1;
  auto queue = [&](int count) -> Problem {
    for (int i = 0; i < count; ++i)
      if (tenon_session_enqueue(session.get(), inputs.data(),
                                uint32_t(inputs.size()), results.data(),
                                uint32_t(results.size())))
        return tenon_last_error();
    return judge(tenon_session_wait(session.get()));
  };
  if (Problem problem = queue(1)) // It warms up.
    return problem;
  double start = now(), count = 0;
  do {
    if (Problem problem = queue(together))
      return problem;
    count += together;
  } while (now() - start < seconds * 1e3);
  mean = (now() - start) / count;
  return std::nullopt;
}

bool Runner::launchedGraphs() const {
  tenon_session_info_t info = {};
  info.struct_size = sizeof info;
  return tenon_session_info(session.get(), &info) == TENON_OK &&
         info.graph_runs != 0;
}
