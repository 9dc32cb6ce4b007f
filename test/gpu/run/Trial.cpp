//===- Trial.cpp - Check and time one model -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/run/Trial.h"
#include "test/gpu/run/Agreement.h"

#include <algorithm>

using namespace tenon::trial;

namespace {

using Outputs = std::vector<Tensor>;

/// Compares with what the data set expects.
Problem compareAll(const Outputs &actual, const DataSet &set, double tolerance,
                   double &error) {
  if (set.outputs.empty())
    return std::nullopt;
  if (actual.size() != set.outputs.size())
    return "the model has " + std::to_string(actual.size()) +
           " outputs, but the data set " + std::to_string(set.outputs.size());
  for (size_t i = 0; i < actual.size(); ++i)
    if (Problem problem = compare(actual[i], set.outputs[i], tolerance, error))
      return "output " + std::to_string(i) + ": " + *problem;
  return std::nullopt;
}

Problem compareBits(const Outputs &actual, const Outputs &first) {
  for (size_t i = 0; i < actual.size(); ++i)
    if (actual[i].dims != first[i].dims || actual[i].bytes != first[i].bytes)
      return "output " + std::to_string(i) +
             " has other bits than the first run gave";
  return std::nullopt;
}

/// What the first run of each data set gave.
using FirstOutputs = std::vector<Outputs>;

/// Runs a data set as often as it takes to launch it, record it as a graph and
/// launch that.
Problem checkSet(Runner &runner, const Case &one, size_t number,
                 FirstOutputs &first, double &error) {
  const DataSet &set = one.sets[number];
  if (Problem problem = runner.setInputs(set.inputs))
    return problem;
  for (int repetition = 0; repetition < 3; ++repetition) {
    if (Problem problem = runner.run())
      return problem;
    Outputs actual;
    if (Problem problem = runner.outputs(actual))
      return problem;
    if (number == first.size()) {
      if (Problem problem = compareAll(actual, set, one.tolerance, error))
        return problem;
      first.push_back(std::move(actual));
    } else if (Problem problem = compareBits(actual, first[number])) {
      return problem;
    }
  }
  return std::nullopt;
}

/// Runs all data sets one way, and times the first.
Problem tryWay(Runner &runner, const Case &one, double seconds,
               FirstOutputs &first, double &error, double &latency) {
  if (Problem problem = runner.create())
    return problem;
  for (size_t number = 0; number < one.sets.size(); ++number)
    if (Problem problem = checkSet(runner, one, number, first, error))
      return "data set " + std::to_string(number) + ": " + *problem;
  if (Problem problem = runner.setInputs(one.sets[0].inputs))
    return problem;
  for (int warmUp = 0; warmUp < 3; ++warmUp)
    if (Problem problem = runner.run())
      return problem;
  return runner.measure(seconds, latency);
}

void observe(void *user, const tenon_launch_t *launch) {
  auto &kernels = *static_cast<std::vector<KernelTime> *>(user);
  if (launch->kernel >= kernels.size())
    return;
  KernelTime &kernel = kernels[launch->kernel];
  kernel.launches += 1;
  kernel.milliseconds += double(launch->nanoseconds) / 1e6;
  kernel.known &= launch->flops >= 0;
  if (launch->flops < 0)
    return;
  kernel.flops += double(launch->flops);
  kernel.bytes += double(launch->bytes) + double(launch->weight_bytes);
}

Problem fill(Row &row, tenon_device_t *device, Case &one, double seconds) {
  if (Problem problem = one.read())
    return problem;
  tenon_load_options_t options = {};
  options.struct_size = sizeof options;
  options.device = device;
  tenon_model_t *loaded;
  double start = now();
  tenon_status_t status =
      tenon_model_load(one.artifact.c_str(), &options, &loaded);
  row.load = now() - start;
  Model model(loaded);
  if (status)
    return tenon_last_error();
  FirstOutputs first;
  for (size_t i = 0; i < std::size(ways); ++i) {
    Runner runner(device, model.get(), ways[i]);
    if (Problem problem =
            tryWay(runner, one, seconds, first, row.error, row.latency[i]))
      return std::string(ways[i].name) + ": " + *problem;
    if (ways[i].graphs)
      row.graphs = runner.launchedGraphs();
    if (ways[i].graphs && ways[i].onDevice)
      if (Problem problem = runner.measureQueue(seconds, row.queued))
        return problem;
    if (!ways[i].graphs && ways[i].onDevice)
      if (Problem problem = profile(model.get(), runner, seconds, row.kernels))
        return problem;
  }
  return std::nullopt;
}

} // namespace

Problem tenon::trial::profile(tenon_model_t *model, Runner &runner,
                              double seconds,
                              std::vector<KernelTime> &kernels) {
  tenon_kernel_info_t info = {};
  info.struct_size = sizeof info;
  for (uint32_t i = 0; tenon_model_kernel(model, i, &info) == TENON_OK; ++i) {
    kernels.emplace_back();
    kernels.back().name = info.name;
    kernels.back().schedule = info.schedule;
  }
  int runs = seconds > 0 ? 20 : 1;
  tenon_session_set_observer(runner.handle(), observe, &kernels);
  Problem problem;
  for (int run = 0; run < runs && !problem; ++run)
    problem = runner.run();
  tenon_session_set_observer(runner.handle(), nullptr, nullptr);
  for (KernelTime &kernel : kernels)
    for (double *sum :
         {&kernel.launches, &kernel.milliseconds, &kernel.flops, &kernel.bytes})
      *sum /= runs;
  std::sort(kernels.begin(), kernels.end(),
            [](const KernelTime &a, const KernelTime &b) {
              return a.milliseconds > b.milliseconds;
            });
  return problem;
}

Row tenon::trial::tryModel(tenon_device_t *device, Case &one, double seconds) {
  Row row;
  row.name = one.name;
  row.sets = one.sets.size();
  row.predicted = one.predicted;
  row.problem = fill(row, device, one, seconds);
  one.forget();
  return row;
}
