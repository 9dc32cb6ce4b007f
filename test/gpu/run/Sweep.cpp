//===- Sweep.cpp - One kernel at many sizes -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/run/Sweep.h"
#include "test/gpu/run/SweepValues.h"
#include "test/gpu/run/Vendor.h"

using namespace tenon::trial;

Work tenon::trial::workOf(const Sweep &sweep) {
  double width = double(tenon_dtype_bytes(sweep.dtype)), all = 1;
  for (int64_t dim : sweep.dims)
    all *= double(dim);
  if (sweep.kind == "gemm") {
    double elements = 0;
    for (int64_t dim : sweep.dims)
      elements += all / double(dim);
    return {2 * all, elements * width};
  }
  if (sweep.dims.size() == 4) {
    double flops = 4 * all * double(sweep.dims[2]);
    return {sweep.kind == "causal" ? flops / 2 : flops, 4 * all * width};
  }
  return {0, (sweep.kind == "add" ? 3 : 2) * all * width};
}

namespace {

Problem fill(Row &row, tenon_device_t *device, Case &one, double seconds,
             const char *vendor) {
  tenon_load_options_t options = {};
  options.struct_size = sizeof options;
  options.device = device;
  tenon_model_t *loaded;
  if (tenon_model_load(one.artifact.c_str(), &options, &loaded))
    return tenon_last_error();
  Model model(loaded);
  Runner runner(device, model.get(), ways[0]);
  if (Problem problem = runner.create())
    return problem;
  std::vector<Tensor> inputs = makeInputs(one.sweep);
  if (Problem problem = runner.setInputs(inputs))
    return problem;
  std::vector<Tensor> outputs;
  for (int time = 0; time < 3; ++time) // As steps, recorded, as a graph.
    if (Problem problem = runner.run())
      return problem;
  if (Problem problem = runner.outputs(outputs))
    return problem;
  if (Problem problem = checkSamples(one.sweep, inputs, outputs.at(0),
                                     one.tolerance, row.error))
    return problem;
  if (Problem problem = runner.measure(seconds, row.latency[0]))
    return problem;
  if (Problem problem = runner.measureQueue(seconds, row.queued))
    return problem;
  if (Problem problem = profile(model.get(), runner, seconds, row.kernels))
    return problem;
  if (vendor && one.sweep.kind == "gemm")
    row.vendorProblem =
        timeVendor(device, one.sweep, inputs, vendor, seconds, row.vendor);
  return std::nullopt;
}

} // namespace

Row tenon::trial::trySweep(tenon_device_t *device, Case &one, double seconds,
                           const char *vendor) {
  Row row;
  row.name = one.name;
  row.predicted = one.predicted;
  row.problem = fill(row, device, one, seconds, vendor);
  return row;
}
