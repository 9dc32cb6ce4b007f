//===- PrecisionMeasurement.cpp - What precisions do to a model -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/PrecisionMeasurement.h"
#include "tools/tenon/Calibration.h"
#include "tools/tenon/Compare.h"
#include "tools/tenon/Verify.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <limits>

using namespace tenon;

namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();
/// Sizes that inputs do not tell.
constexpr int64_t defaultSize = 128;

using Inputs = std::vector<Tensor>;

} // namespace

Measurement::Measurement(const std::string &path, const CompileOptions &options,
                         const PrecisionRequest &request)
    : path(path), options(options), request(request) {
  this->options.precision = Precision::Fp32;
  this->options.precisionPlan.reset();
}

llvm::Error Measurement::add(Session &session, Inputs inputs) {
  auto outputs = session.run(inputs);
  if (!outputs)
    return outputs.takeError();
  sets.push_back(std::move(inputs));
  expected.push_back(std::move(*outputs));
  return llvm::Error::success();
}

llvm::Error Measurement::readSets(Session &session) {
  auto found = readInputSets(session, request.calibrate);
  if (!found)
    return found.takeError();
  for (InputSet &set : *found)
    if (llvm::Error error = add(session, std::move(set.inputs)))
      return sentence(set.folder + ": " + llvm::toString(std::move(error)));
  return llvm::Error::success();
}

llvm::Error Measurement::seedSets(Session &session) {
  ImportedModel model(false);
  if (auto verdict = import(path, model))
    return sentence(verdict->reason);
  std::string reason;
  for (unsigned attempt = 0; attempt < kSeedAttempts; ++attempt) {
    auto inputs = seededInputs(model, options.dims, attempt);
    if (!inputs)
      return inputs.takeError();
    if (llvm::Error error = add(session, std::move(*inputs)))
      reason = llvm::toString(std::move(error));
  }
  if (sets.empty())
    return sentence("seeded inputs do not fit the model (" + reason +
                    "): give some with --calibrate DIR");
  return llvm::Error::success();
}

static bool haveSameShapes(const Inputs &one, const Inputs &other) {
  return llvm::equal(one, other, [](const Tensor &a, const Tensor &b) {
    return a.dims == b.dims;
  });
}

void Measurement::keepSetApart() {
  for (size_t i = sets.size(); i-- > 0 && !keptApart;)
    for (size_t other = 0; other < sets.size(); ++other)
      if (other != i && haveSameShapes(sets[i], sets[other]))
        keptApart = i;
}

llvm::Error Measurement::prepare(llvm::ArrayRef<Precision> candidates) {
  auto model = CompiledModel::toMeasure(path, options, request.threads);
  if (!model)
    return model.takeError();
  lastWeightBytes = (*model)->compilation.summary.weightBytes;
  seeded = request.calibrate.empty();
  Session &session = *(*model)->session;
  if (llvm::Error error = seeded ? seedSets(session) : readSets(session))
    return error;
  keepSetApart();
  CompileOptions how = options;
  how.probes = candidates.vec();
  if (!seeded && llvm::is_contained(candidates, Precision::Int8)) {
    if (llvm::Error error = calibrate())
      return error;
    how.precisionPlan = calibrated;
  }
  auto made = CompiledModel::toMeasure(path, how, request.threads);
  if (!made)
    return made.takeError();
  probing = std::move(*made);
  return llvm::Error::success();
}

/// Of the model in f32, as all of its ops stay but for their copies.
llvm::Error Measurement::calibrate() {
  std::string report;
  auto made = calibrateInt8(path, options, request, report, keptApart);
  if (!made)
    return made.takeError();
  llvm::outs() << report;
  calibrated = std::move(*made);
  for (OpPrecision &row : calibrated.ops)
    row.precision = Precision::Fp32;
  return llvm::Error::success();
}

std::optional<StaticLhs> Measurement::calibratedLhs(const ProbedOp &op) const {
  for (const OpPrecision &row : calibrated.ops)
    if (row.op == op.op && row.kind == op.kind)
      return row.lhs;
  return std::nullopt;
}

double Measurement::worst(llvm::ArrayRef<Tensor> actual, size_t set) const {
  double error = 0;
  for (auto [one, known] : llvm::zip(actual, expected[set])) {
    Agreement agreement = compare(one, known);
    error = std::max(error,
                     agreement.mismatch.empty() ? agreement.error : unbounded);
  }
  return error;
}

llvm::Expected<std::vector<Tensor>>
Measurement::runProbes(size_t set, llvm::ArrayRef<Precision> ofOps) {
  Inputs inputs = sets[set];
  if (probes().probes.empty())
    return probing->session->run(inputs);
  PrecisionMask mask = ofOps.empty() ? PrecisionMask::ofErrors(probes())
                                     : PrecisionMask::ofChoice(probes(), ofOps);
  Tensor bits;
  bits.type = TENON_BOOL;
  bits.dims = {int64_t(mask.bits.size())};
  bits.bytes.assign(mask.bits.begin(), mask.bits.end());
  inputs.push_back(std::move(bits));
  return probing->session->run(inputs);
}

/// What a formula of the probes is for these inputs.
static double valueOf(graph::Expr expr, const PrecisionProbes &probes,
                      const Inputs &inputs) {
  llvm::StringMap<int64_t> sizes;
  for (auto [dims, input] : llvm::zip(probes.inputDims, inputs))
    for (auto [dim, size] : llvm::zip(dims, input.dims))
      if (dim.isSymbol())
        sizes[dim.name()] = size;
  auto sizeOf = [&](llvm::StringRef name) -> std::optional<int64_t> {
    auto found = sizes.find(name);
    return found == sizes.end() ? defaultSize : found->second;
  };
  return double(expr.evaluate(sizeOf).value_or(0));
}

llvm::Expected<std::vector<MeasuredOp>> Measurement::ops() {
  std::vector<double> errors(probes().probes.size(), 0);
  for (size_t set = 0; set < sets.size() && !errors.empty(); ++set) {
    if (!chooses(set))
      continue;
    auto outputs = runProbes(set, {});
    if (!outputs)
      return outputs.takeError();
    for (size_t i = 0; i < errors.size(); ++i) {
      double error = elementAsDouble(outputs->back(), int64_t(i));
      // 0 / 0: all of the result is 0 in both.
      errors[i] = std::max(errors[i], std::isnan(error) ? 0 : error);
    }
  }
  std::vector<MeasuredOp> found;
  for (const ProbedOp &op : probes().ops) {
    auto value = [&](graph::Expr expr) {
      return valueOf(expr, probes(), sets.front());
    };
    found.push_back({op.op,
                     op.kind,
                     calibratedLhs(op),
                     2 * value(op.terms),
                     value(op.weightElements),
                     value(op.dataElements),
                     {},
                     {}});
  }
  for (auto [probe, error] : llvm::zip(probes().probes, errors)) {
    if (probe.isTaken() && std::isfinite(error))
      found[probe.op].errors.push_back({probe.precision, error});
    if (probe.made)
      found[probe.op].made.push_back({probe.precision, *probe.made});
  }
  return found;
}

llvm::Expected<double> Measurement::errorOf(llvm::ArrayRef<Precision> ofOps) {
  double error = 0;
  for (size_t set = 0; set < sets.size(); ++set) {
    if (!chooses(set))
      continue;
    auto outputs = runProbes(set, ofOps);
    if (!outputs)
      return outputs.takeError();
    error = std::max(error, worst(*outputs, set));
  }
  return error;
}

llvm::Expected<double> Measurement::errorOf(const PrecisionPlan &plan) {
  CompileOptions how = options;
  how.precisionPlan = plan;
  auto model = CompiledModel::toMeasure(path, how, request.threads);
  if (!model)
    return model.takeError();
  lastWeightBytes = (*model)->compilation.summary.weightBytes;
  double error = 0;
  for (size_t set = 0; set < sets.size(); ++set) {
    auto outputs = (*model)->session->run(sets[set]);
    if (!outputs)
      return outputs.takeError();
    error = std::max(error, worst(*outputs, set));
  }
  return error;
}
