//===- AutoPrecision.cpp - A precision plan within a bound on errors ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One program computes each op in all precisions (see ProbePrecision.cpp). Run
// as it is, it says how much each result differs from f32; told to use one op's
// other result, how much of that reaches the outputs. Errors of different ops
// are taken to be independent, so that their squares add up. That is a guess:
// the same program then runs a plan as a whole, and bisection finds the bound
// on the guess that the measured error keeps. The plan is compiled in the end,
// and tried on inputs that it was not chosen by.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/AutoPrecision.h"
#include "tools/tenon/Calibration.h"
#include "tools/tenon/Compare.h"
#include "tools/tenon/CompiledModel.h"
#include "tools/tenon/PrecisionChoice.h"
#include "tools/tenon/PrecisionSpeeds.h"
#include "tools/tenon/Verify.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <limits>

using namespace tenon;

namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();
/// Sizes that inputs do not tell.
constexpr int64_t defaultSize = 128;
/// Powers of two around the bound on squares of errors that the guess may be
/// off by, and the steps in which the range is halved.
constexpr double mostOptimism = 8, mostPessimism = 8;
constexpr int halvings = 7;
/// Plans that are compiled before all ops stay in f32, and what becomes of the
/// bound when one errs too much.
constexpr int mostPlans = 6;
constexpr double caution = 0.5;

using Inputs = std::vector<Tensor>;

/// An op, what it has to do and what other precisions do to its result.
struct MeasuredOp {
  std::string op, kind;
  std::optional<StaticLhs> lhs; // For int8, where it was calibrated.
  double flops = 0, weightElements = 0, dataElements = 0;
  /// Squares, relative to the result's; of the precisions that it takes.
  std::vector<std::pair<Precision, double>> errors;
};

/// The model in f32, its inputs and what it gives, and the program that has all
/// ops in all precisions.
class Measurement {
public:
  Measurement(const std::string &path, const CompileOptions &options,
              const PrecisionRequest &request)
      : path(path), options(options), request(request) {
    // CPUs measure what the graph for another target rounds.
    this->options.graphTarget = options.targets.front();
    this->options.targets = {Target::Cpu};
    this->options.sms.clear();
    this->options.stage = EmitStage::Artifact;
    this->options.precision = Precision::Fp32;
    this->options.precisionPlan.reset();
    // Products are chosen whatever caches are kept in.
    this->options.kvCache = CacheType::AsGiven;
  }

  /// Reads inputs, or makes them, runs the model in f32 and compiles the other
  /// program.
  llvm::Error prepare(llvm::ArrayRef<Precision> candidates);

  /// What ops have to do, and their own errors; outputs' errors are left 0.
  llvm::Expected<std::vector<MeasuredOp>> ops();
  /// The largest error of any output for the inputs to calibrate by, with ops
  /// in these precisions; infinite when one differs in more than rounding.
  llvm::Expected<double> errorOf(llvm::ArrayRef<Precision> ofOps);
  /// The same of the compiled plan, for all inputs.
  llvm::Expected<double> errorOf(const PrecisionPlan &plan);

  /// What weights alone are cut into.
  int64_t blockSize() const { return options.blockSize; }
  /// Of the model in f32, or of the plan that was compiled last.
  uint64_t weightBytes() const { return lastWeightBytes; }
  size_t setCount() const { return sets.size(); }
  bool isSeeded() const { return seeded; }

private:
  llvm::Error readSets(Session &session);
  llvm::Error calibrate();
  std::optional<StaticLhs> calibratedLhs(const ProbedOp &op) const;
  llvm::Error seedSets(Session &session);
  llvm::Error add(Session &session, Inputs inputs);
  double worst(llvm::ArrayRef<Tensor> actual, size_t set) const;
  const PrecisionProbes &probes() const { return probing->compilation.probes; }
  llvm::Expected<std::vector<Tensor>>
  runProbes(size_t set, llvm::ArrayRef<Precision> ofOps);
  /// Of several sets, the last is kept to try plans on.
  size_t calibrationSets() const {
    return std::max<size_t>(sets.size() - 1, 1);
  }

  std::string path;
  CompileOptions options;
  const PrecisionRequest &request;
  PrecisionPlan calibrated; // How int8 is made of what each op reads.
  std::vector<Inputs> sets, expected;
  std::shared_ptr<CompiledModel> probing;
  bool seeded = false;
  uint64_t lastWeightBytes = 0;
};

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
  std::vector<std::string> dims;
  for (const DimRange &range : options.dims)
    dims.push_back(range.name + "=" + std::to_string(range.lo));
  std::string reason;
  for (unsigned attempt = 0; attempt < kSeedAttempts; ++attempt) {
    auto inputs = seededInputs(model, dims, attempt);
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

llvm::Error Measurement::prepare(llvm::ArrayRef<Precision> candidates) {
  auto model = CompiledModel::make(path, options, request.threads);
  if (!model)
    return model.takeError();
  lastWeightBytes = (*model)->compilation.summary.weightBytes;
  seeded = request.calibrate.empty();
  Session &session = *(*model)->session;
  if (llvm::Error error = seeded ? seedSets(session) : readSets(session))
    return error;
  CompileOptions how = options;
  how.probes = candidates.vec();
  if (!seeded && llvm::is_contained(candidates, Precision::Int8)) {
    if (llvm::Error error = calibrate())
      return error;
    how.precisionPlan = calibrated;
  }
  auto made = CompiledModel::make(path, how, request.threads);
  if (!made)
    return made.takeError();
  probing = std::move(*made);
  return llvm::Error::success();
}

/// Of the model in f32, as all of its ops stay but for their copies.
llvm::Error Measurement::calibrate() {
  std::string report;
  auto made = calibrateInt8(path, options, request, report, /*keepsLast=*/true);
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
  Tensor mask;
  mask.type = TENON_BOOL;
  mask.dims = {int64_t(probes().probes.size())};
  for (const PrecisionProbe &probe : probes().probes)
    mask.bytes.push_back(probe.isTaken && !ofOps.empty() &&
                         ofOps[probe.op] == probe.precision);
  inputs.push_back(std::move(mask));
  return probing->session->run(inputs);
}

/// What a formula of the probes is for these inputs.
double valueOf(graph::Expr expr, const PrecisionProbes &probes,
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
  for (size_t set = 0; set < calibrationSets() && !errors.empty(); ++set) {
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
                     {}});
  }
  for (auto [probe, error] : llvm::zip(probes().probes, errors))
    if (probe.isTaken && std::isfinite(error))
      found[probe.op].errors.push_back({probe.precision, error});
  return found;
}

llvm::Expected<double> Measurement::errorOf(llvm::ArrayRef<Precision> ofOps) {
  double error = 0;
  for (size_t set = 0; set < calibrationSets(); ++set) {
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
  auto model = CompiledModel::make(path, how, request.threads);
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

/// What a row of the report says.
struct Outcome {
  std::string name;
  double error, time;
  uint64_t weightBytes;
};

/// Chooses plans by what was measured.
class Planner {
public:
  Planner(Measurement &measured, PrecisionSpeeds machine,
          const PrecisionRequest &request)
      : measured(measured), machine(std::move(machine)),
        speeds(this->machine.speeds), request(request) {}

  llvm::Expected<PrecisionPlan> run();

private:
  using Choice = std::vector<size_t>;

  /// Fills in costs but for errors: of each op f32 first, and then what it
  /// takes.
  void addCosts();
  /// Errors: what reaches the outputs of an op in one precision, and as much of
  /// the others as their own errors say.
  llvm::Error addErrors();
  llvm::Error addErrors(size_t op);
  /// Rows of the report: all ops in one precision.
  llvm::Error measureAlone();
  /// The fastest choice that was measured to keep the error and is thought to
  /// keep the bytes.
  llvm::Expected<std::optional<Choice>> bestWithin(double mostError);
  double mostBytes() const;
  llvm::Expected<PrecisionPlan> choosePlan();
  std::vector<Precision> precisionsOf(const Choice &choice) const;
  PrecisionPlan planOf(const Choice &choice) const;
  Outcome outcomeOf(std::string name, const Choice &choice, double error) const;
  void report(const PrecisionPlan &plan) const;

  Measurement &measured;
  const PrecisionSpeeds machine;
  const std::vector<PrecisionSpeed> &speeds; // That of f32 first.
  const PrecisionRequest &request;
  std::vector<MeasuredOp> ops;
  std::vector<std::vector<PrecisionCost>> costs;
  std::vector<std::vector<Precision>> candidates; // What costs are of.
  uint64_t bytesInF32 = 0;
  std::vector<Outcome> outcomes;
};

void Planner::addCosts() {
  for (const MeasuredOp &op : ops) {
    costs.emplace_back();
    candidates.emplace_back();
    auto add = [&](const PrecisionSpeed &speed) {
      costs.back().push_back(
          {0,
           machine.timeOf(op.flops, op.weightElements, op.dataElements, speed),
           op.weightElements * speed.weightBytes});
      candidates.back().push_back(speed.precision);
    };
    add(speeds.front());
    for (const auto &[taken, error] : op.errors)
      for (const PrecisionSpeed &speed : speeds)
        if (speed.precision == taken)
          add(speed);
  }
}

std::vector<Precision> Planner::precisionsOf(const Choice &choice) const {
  std::vector<Precision> precisions;
  for (auto [each, index] : llvm::zip(candidates, choice))
    precisions.push_back(each[index]);
  return precisions;
}

llvm::Error Planner::addErrors(size_t op) {
  // That with the largest error of its own shows best in the outputs.
  const auto &errors = ops[op].errors;
  size_t shown = 0;
  for (size_t i = 1; i < errors.size(); ++i)
    if (errors[i].second > errors[shown].second)
      shown = i;
  if (errors.empty())
    return llvm::Error::success();
  Choice choice(ops.size(), 0);
  choice[op] = shown + 1;
  auto error = measured.errorOf(precisionsOf(choice));
  if (!error)
    return error.takeError();
  double own = errors[shown].second, square = *error * *error;
  for (size_t i = 0; i < errors.size(); ++i)
    costs[op][i + 1].error = own > 0 ? square * errors[i].second / own : square;
  return llvm::Error::success();
}

llvm::Error Planner::addErrors() {
  for (size_t op = 0; op < ops.size(); ++op)
    if (llvm::Error error = addErrors(op))
      return error;
  // What no output survives is no choice.
  for (size_t op = 0; op < ops.size(); ++op)
    for (size_t i = costs[op].size(); i-- > 1;)
      if (!std::isfinite(costs[op][i].error)) {
        costs[op].erase(costs[op].begin() + i);
        candidates[op].erase(candidates[op].begin() + i);
      }
  return llvm::Error::success();
}

Outcome Planner::outcomeOf(std::string name, const Choice &choice,
                           double error) const {
  PrecisionCost cost = costOf(costs, choice);
  PrecisionCost f32 = costOf(costs, Choice(ops.size(), 0));
  double saved = f32.bytes - cost.bytes;
  return {std::move(name), error, f32.time > 0 ? cost.time / f32.time : 1,
          uint64_t(std::max(0.0, double(bytesInF32) - saved))};
}

llvm::Error Planner::measureAlone() {
  for (const PrecisionSpeed &speed : speeds) {
    Choice choice(ops.size(), 0);
    for (size_t op = 0; op < ops.size(); ++op)
      for (size_t i = 0; i < candidates[op].size(); ++i)
        if (candidates[op][i] == speed.precision)
          choice[op] = i;
    auto error = measured.errorOf(precisionsOf(choice));
    if (!error)
      return error.takeError();
    outcomes.push_back(
        outcomeOf(nameOf(speed.precision).str(), choice, *error));
  }
  return llvm::Error::success();
}

/// Of the weights that have a choice: what the others leave.
double Planner::mostBytes() const {
  if (request.maxMemory == 0)
    return unbounded;
  double inF32 = costOf(costs, Choice(ops.size(), 0)).bytes;
  return double(request.maxMemory) - (double(bytesInF32) - inF32);
}

llvm::Expected<std::optional<Planner::Choice>>
Planner::bestWithin(double mostError) {
  std::optional<Choice> best;
  double lo = -mostPessimism, hi = mostOptimism;
  for (int i = 0; i <= halvings; ++i) {
    double middle = i == 0 ? hi : (lo + hi) / 2;
    auto choice = choosePrecisions(
        costs, mostError * mostError * std::exp2(middle), mostBytes());
    if (!choice) {
      lo = middle;
      continue;
    }
    auto error = measured.errorOf(precisionsOf(*choice));
    if (!error)
      return error.takeError();
    bool holds = *error <= mostError;
    if (holds)
      best = std::move(*choice);
    if (holds && i == 0)
      break;
    (holds ? lo : hi) = middle;
  }
  return best;
}

PrecisionPlan Planner::planOf(const Choice &choice) const {
  PrecisionPlan plan;
  for (size_t i = 0; i < ops.size(); ++i) {
    plan.ops.push_back({ops[i].op, ops[i].kind, candidates[i][choice[i]],
                        std::sqrt(costs[i][choice[i]].error)});
    OpPrecision &row = plan.ops.back();
    if (isOfFewBits(row.precision))
      row.block = measured.blockSize();
    if (row.precision == Precision::Int8)
      row.lhs = ops[i].lhs;
  }
  return plan;
}

llvm::Expected<PrecisionPlan> Planner::choosePlan() {
  double mostError = request.maxError;
  for (int i = 0; i < mostPlans; ++i, mostError *= caution) {
    auto choice = bestWithin(mostError);
    if (!choice)
      return choice.takeError();
    if (!*choice)
      break;
    PrecisionPlan plan = planOf(**choice);
    auto error = measured.errorOf(plan);
    if (!error)
      return error.takeError();
    bool fits =
        !request.maxMemory || measured.weightBytes() <= request.maxMemory;
    if (*error > request.maxError || !fits)
      continue;
    outcomes.push_back(outcomeOf("auto", **choice, *error));
    outcomes.back().weightBytes = measured.weightBytes();
    return plan;
  }
  if (request.maxMemory && bytesInF32 > request.maxMemory)
    return sentence("no precisions keep both --max-error " +
                    llvm::Twine(llvm::formatv("{0}", request.maxError).str()) +
                    " and --max-memory " + llvm::Twine(request.maxMemory) +
                    " bytes; fp32 has " + llvm::Twine(bytesInF32) +
                    ": allow more of one");
  Choice f32(ops.size(), 0);
  outcomes.push_back(outcomeOf("auto", f32, 0));
  return planOf(f32);
}

void Planner::report(const PrecisionPlan &plan) const {
  size_t count = measured.setCount();
  llvm::outs() << "precisions on " << count
               << (measured.isSeeded() ? " seeded" : "") << " set"
               << (count == 1 ? "" : "s") << " of inputs"
               << (count == 1 ? "" : ", the last for auto alone")
               << ":\n                   error    time     weights\n";
  for (const Outcome &row : outcomes)
    llvm::outs() << llvm::format("  %-13s %8.2g %6.0f%% %8.1f MB\n",
                                 row.name.c_str(), row.error, 100 * row.time,
                                 double(row.weightBytes) / 1e6);
  llvm::outs() << "  (time: a model's"
               << (machine.machine.empty() ? "" : " for " + machine.machine)
               << ", of products and tables; weights: of auto as compiled"
               << (machine.machine.empty() ? "" : " to measure it")
               << ")\n  auto is";
  for (const PrecisionSpeed &speed : speeds) {
    size_t ofThis = llvm::count_if(plan.ops, [&](const OpPrecision &row) {
      return row.precision == speed.precision;
    });
    if (ofThis)
      llvm::outs() << ' ' << ofThis << ' ' << nameOf(speed.precision);
  }
  llvm::outs() << '\n';
}

llvm::Expected<PrecisionPlan> Planner::run() {
  bytesInF32 = measured.weightBytes();
  auto found = measured.ops();
  if (!found)
    return found.takeError();
  ops = std::move(*found);
  addCosts();
  if (llvm::Error error = addErrors())
    return error;
  if (llvm::Error error = measureAlone())
    return error;
  auto plan = choosePlan();
  if (plan)
    report(*plan);
  return plan;
}

} // namespace

llvm::Expected<PrecisionPlan>
tenon::planPrecisions(const std::string &path, const CompileOptions &options,
                      const PrecisionRequest &request) {
  PrecisionSpeeds machine = speedsOf(options);
  std::vector<Precision> candidates;
  for (const PrecisionSpeed &speed :
       llvm::ArrayRef(machine.speeds).drop_front())
    candidates.push_back(speed.precision);
  Measurement measured(path, options, request);
  if (llvm::Error error = measured.prepare(candidates))
    return error;
  return Planner(measured, std::move(machine), request).run();
}
