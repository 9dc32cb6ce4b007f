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
#include "tools/tenon/PrecisionChoice.h"
#include "tools/tenon/PrecisionMeasurement.h"
#include "tools/tenon/PrecisionSpeeds.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <limits>

using namespace tenon;

namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();
/// Powers of two around the bound on squares of errors that the guess may be
/// off by, and the steps in which the range is halved.
constexpr double mostOptimism = 8, mostPessimism = 8;
constexpr int halvings = 7;
/// Plans that are compiled before all ops stay in f32, and what becomes of the
/// bound when one errs too much.
constexpr int mostPlans = 6;
constexpr double caution = 0.5;
/// What may be used of the bound where there is no set of inputs to see what
/// others err by: on the panel a tenth to a third more than one set, and a
/// tenth more than the worst of several.
constexpr double shareOfOneSet = 0.75, shareOfSeveral = 0.9;

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
  /// Rows of the report, and plans: all ops in one precision.
  llvm::Error measureAlone();
  size_t whereAsked(size_t op, Precision asked) const;
  /// The fastest choice that was measured to keep the error and is thought to
  /// keep the bytes.
  llvm::Expected<std::optional<Choice>> bestWithin(double mostError);
  double mostBytes() const;
  /// On what the inputs that choose may show.
  double boundOnErrors() const {
    if (measured.keepsSetApart())
      return request.maxError;
    return request.maxError *
           (measured.setCount() > 1 ? shareOfSeveral : shareOfOneSet);
  }
  llvm::Expected<PrecisionPlan> choosePlan();
  /// The plan of a choice if it keeps the bounds when it is compiled.
  llvm::Expected<std::optional<PrecisionPlan>> tryPlan(const Choice &choice);
  /// The same of one precision for all ops that is faster than `other`, which
  /// is what a choice made more careful than need be may end behind.
  llvm::Expected<std::optional<PrecisionPlan>> tryFasterAlone(Choice other);
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
  /// One precision for all, within the bound in the probing program, and not
  /// yet compiled.
  std::vector<Choice> alone;
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

/// Which of an op's candidates it is where all ops are asked to be in one
/// precision.
size_t Planner::whereAsked(size_t op, Precision asked) const {
  Precision own = Precision::Fp32;
  for (const auto &[each, made] : ops[op].made)
    if (each == asked)
      own = made;
  auto found = llvm::find(candidates[op], own);
  return found == candidates[op].end() ? 0
                                       : size_t(found - candidates[op].begin());
}

llvm::Error Planner::measureAlone() {
  for (const PrecisionSpeed &speed : speeds) {
    Choice choice;
    for (size_t op = 0; op < ops.size(); ++op)
      choice.push_back(whereAsked(op, speed.precision));
    auto error = measured.errorOf(precisionsOf(choice));
    if (!error)
      return error.takeError();
    outcomes.push_back(
        outcomeOf(nameOf(speed.precision).str(), choice, *error));
    if (*error > 0 && *error <= boundOnErrors())
      alone.push_back(std::move(choice));
  }
  llvm::sort(alone, [&](const Choice &one, const Choice &other) {
    return costOf(costs, one).time < costOf(costs, other).time;
  });
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

llvm::Expected<std::optional<PrecisionPlan>>
Planner::tryPlan(const Choice &choice) {
  PrecisionPlan plan = planOf(choice);
  auto error = measured.errorOf(plan);
  if (!error)
    return error.takeError();
  bool fits = !request.maxMemory || measured.weightBytes() <= request.maxMemory;
  if (*error > request.maxError || !fits)
    return std::nullopt;
  outcomes.push_back(outcomeOf("auto", choice, *error));
  outcomes.back().weightBytes = measured.weightBytes();
  return plan;
}

llvm::Expected<std::optional<PrecisionPlan>>
Planner::tryFasterAlone(Choice other) {
  double time = costOf(costs, other).time;
  while (!alone.empty() && costOf(costs, alone.front()).time < time) {
    auto plan = tryPlan(alone.front());
    if (!plan || *plan)
      return plan;
    alone.erase(alone.begin());
  }
  return std::nullopt;
}

llvm::Expected<PrecisionPlan> Planner::choosePlan() {
  double mostError = boundOnErrors();
  bool hasChoice = true;
  for (int i = 0; i < mostPlans && hasChoice; ++i, mostError *= caution) {
    auto choice = bestWithin(mostError);
    if (!choice)
      return choice.takeError();
    hasChoice = choice->has_value();
    auto plan = tryFasterAlone(hasChoice ? **choice : Choice(ops.size(), 0));
    if (plan && !*plan && hasChoice)
      plan = tryPlan(**choice);
    if (!plan)
      return plan.takeError();
    if (*plan)
      return **plan;
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
               << (measured.keepsSetApart() ? ", one for auto alone" : "")
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
  for (MeasuredOp &op : ops)
    if (machine.calibratesInt8 && !op.lhs)
      llvm::erase_if(op.errors, [](const auto &each) {
        return each.first == Precision::Int8;
      });
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
    if (speed.precision != Precision::Int8 || !machine.calibratesInt8 ||
        !request.calibrate.empty())
      candidates.push_back(speed.precision);
  Measurement measured(path, options, request);
  if (llvm::Error error = measured.prepare(candidates))
    return error;
  return Planner(measured, std::move(machine), request).run();
}
