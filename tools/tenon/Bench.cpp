//===- Bench.cpp - tenon bench --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Balance.h"
#include "tools/tenon/CacheStorage.h"
#include "tools/tenon/Commands.h"
#include "tools/tenon/Compare.h"
#include "tools/tenon/DataSet.h"
#include "tools/tenon/InPlaceRun.h"
#include "tools/tenon/Profile.h"
#include "tools/tenon/Progress.h"
#include "tools/tenon/Sessions.h"
#include "tools/tenon/Trace.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>
#include <sys/resource.h>

using namespace tenon;
using Clock = std::chrono::steady_clock;

namespace {

double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start)
      .count();
}

struct Measurement {
  std::vector<double> latencies; // Sorted, in ms.
  double load = 0;
  uint64_t weights = 0, arena = 0, peak = 0;
  std::optional<double> error;
  std::string mismatch;
  /// With --profile: of runs after the measured ones, as observing costs time.
  std::optional<ProfileReport> profile;
  std::optional<Throughput> together; // With --sessions.
  std::vector<Balance> balances;      // With --balance.

  double quantile(double q) const {
    return latencies[size_t(q * double(latencies.size() - 1) + 0.5)];
  }
};

/// Compares one run with the outputs in the folder, when it has any.
llvm::Error measureError(Session &session, const std::string &folder,
                         const std::vector<Tensor> &inputs,
                         Measurement &result) {
  auto expected = readDataSet(folder, "output");
  if (!expected)
    return expected.takeError();
  if (expected->empty())
    return llvm::Error::success();
  auto arranged =
      arrange(std::move(*expected), modelOutputNames(session), "output");
  if (!arranged)
    return arranged.takeError();
  auto actual = session.run(inputs);
  if (!actual)
    return actual.takeError();
  readCaches(session, *actual);
  result.error = 0;
  for (size_t i = 0; i < actual->size(); ++i) {
    widenToCompare((*actual)[i], (*arranged)[i]);
    Agreement agreement = compare((*actual)[i], (*arranged)[i]);
    result.error = std::max(*result.error, agreement.error);
    if (result.mismatch.empty() && !agreement.mismatch.empty())
      result.mismatch =
          modelOutputNames(session)[i] + ": " + agreement.mismatch;
  }
  return llvm::Error::success();
}

llvm::Error measureLatency(InPlaceRun &runs, double seconds,
                           Measurement &result) {
  ProgressTimer progress("measuring");
  for (int warmUp = 0; warmUp < 2; ++warmUp)
    if (llvm::Error error = runs.run())
      return error;
  Clock::time_point start = Clock::now();
  do {
    Clock::time_point begin = Clock::now();
    if (llvm::Error error = runs.run())
      return error;
    result.latencies.push_back(millisecondsSince(begin));
  } while (millisecondsSince(start) < seconds * 1000);
  std::sort(result.latencies.begin(), result.latencies.end());
  return llvm::Error::success();
}

/// What the runtime says of a session, and of its model.
std::pair<tenon_session_info_t, tenon_model_info_t>
infoOf(const Session &session) {
  tenon_session_info_t info = {};
  info.struct_size = sizeof info;
  tenon_session_info(session.handle(), &info);
  tenon_model_info_t model = {};
  model.struct_size = sizeof model;
  tenon_model_info(session.model(), &model);
  return {info, model};
}

void measureMemory(const Session &session, Measurement &result) {
  auto [info, model] = infoOf(session);
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  result.weights = model.weights_bytes;
  result.arena = info.arena_bytes;
  result.peak = uint64_t(usage.ru_maxrss) * 1024;
}

/// The limits of as many threads as the session has and as many bytes as it
/// works on.
MachineLimits measureLimits(Session &session,
                            const std::vector<Tensor> &inputs) {
  if (session.device()) // What it could do is not measured.
    return {};
  auto [info, model] = infoOf(session);
  uint64_t bytes = info.arena_bytes + info.output_bytes;
  for (const Tensor &input : inputs)
    bytes += input.bytes.size();
  return MachineLimits::measure(int(info.threads), model.weights_bytes, bytes);
}

llvm::Error measureKernels(Session &session, InPlaceRun &runs,
                           const MachineLimits &limits, Measurement &result) {
  for (int warmUp = 0; warmUp < 2; ++warmUp)
    if (llvm::Error error = runs.run())
      return error;
  Profile profile(session.model(), session.handle());
  uint64_t count = std::clamp<uint64_t>(result.latencies.size(), 3, 100);
  for (uint64_t run = 0; run < count; ++run)
    if (llvm::Error error = runs.run())
      return error;
  result.profile = {profile.kernels(limits, count), limits,
                    result.quantile(0.5) / 1e3};
  return llvm::Error::success();
}

llvm::Error writeTrace(Session &session, InPlaceRun &runs,
                       const std::string &path) {
  // The first ones wake the workers, and make room for what is seen.
  constexpr int tracedRuns = 3, warmUps = 10;
  Trace trace(session.model(), session.handle());
  for (int run = -warmUps; run < tracedRuns; ++run) {
    if (run == 0)
      trace.clear();
    if (llvm::Error error = runs.run())
      return error;
    trace.endRun();
  }
  return trace.write(path);
}

/// With --profile the machine's limits are measured before and after: others
/// may be at work for a while.
llvm::Error measureRuns(const BenchCommand &command, Session &session,
                        const std::vector<Tensor> &inputs,
                        Measurement &result) {
  if (session.device() && !command.balance.empty())
    return sentence("--balance is of threads; leave it out on a device");
  auto runs = InPlaceRun::prepare(session, inputs);
  if (!runs)
    return runs.takeError();
  measureMemory(session, result); // Less what measuring limits takes.
  MachineLimits limits;
  if (command.profile)
    limits = measureLimits(session, inputs);
  if (llvm::Error error = measureLatency(*runs, command.seconds, result))
    return error;
  if (command.profile) {
    limits.improve(measureLimits(session, inputs));
    if (llvm::Error error = measureKernels(session, *runs, limits, result))
      return error;
  }
  if (command.sessions > 1) {
    auto together = runTogether(session, inputs, command.sessions,
                                command.threads, command.seconds);
    if (!together)
      return together.takeError();
    result.together = *together;
  }
  for (int threads : command.balance) {
    auto balance = measureBalance(session, inputs, threads, command.seconds);
    if (!balance)
      return balance.takeError();
    result.balances.push_back(std::move(*balance));
  }
  return command.trace.empty() ? llvm::Error::success()
                               : writeTrace(session, *runs, command.trace);
}

llvm::Expected<Measurement> measure(const BenchCommand &command) {
  Measurement result;
  Clock::time_point start = Clock::now();
  auto session = Session::open(command.artifact, command.level, command.threads,
                               command.device);
  if (!session)
    return session.takeError();
  result.load = millisecondsSince(start);
  auto inputs = readInputs(**session, command.request);
  if (!inputs)
    return inputs.takeError();
  std::string folder = inputFolder(command.request.inputs);
  if (!folder.empty())
    if (llvm::Error error = measureError(**session, folder, *inputs, result))
      return error;
  if (llvm::Error error = measureRuns(command, **session, *inputs, result))
    return error;
  return result;
}

void printJson(const Measurement &result) {
  llvm::json::Object object{
      {"latency_ms", llvm::json::Object{{"min", result.latencies.front()},
                                        {"median", result.quantile(0.5)},
                                        {"p90", result.quantile(0.9)},
                                        {"p99", result.quantile(0.99)}}},
      {"runs", int64_t(result.latencies.size())},
      {"load_ms", result.load},
      {"memory_bytes", llvm::json::Object{{"weights", result.weights},
                                          {"arena", result.arena},
                                          {"peak_rss", result.peak}}}};
  object["error"] = result.error && result.mismatch.empty()
                        ? llvm::json::Value(*result.error)
                        : llvm::json::Value(nullptr);
  if (!result.mismatch.empty())
    object["mismatch"] = llvm::json::fixUTF8(result.mismatch);
  if (result.together)
    object["together"] =
        llvm::json::Object{{"sessions", result.together->sessions},
                           {"runs_per_second", result.together->runsPerSecond},
                           {"added_bytes", result.together->addedBytes}};
  llvm::json::Array balances;
  for (const Balance &balance : result.balances)
    balances.push_back(jsonOf(balance));
  if (!balances.empty())
    object["balance"] = std::move(balances);
  if (result.profile)
    addProfile(object, *result.profile);
  llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(std::move(object)))
               << '\n';
}

void printText(const Measurement &result) {
  llvm::outs() << llvm::format("latency  min %.3f ms, median %.3f ms, "
                               "p90 %.3f ms, p99 %.3f ms (%zu runs)\n",
                               result.latencies.front(), result.quantile(0.5),
                               result.quantile(0.9), result.quantile(0.99),
                               result.latencies.size())
               << llvm::format("load     %.2f ms\n", result.load)
               << llvm::format("memory   weights %.1f MB, arena %.1f MB, peak "
                               "%.1f MB\n",
                               double(result.weights) / 1e6,
                               double(result.arena) / 1e6,
                               double(result.peak) / 1e6);
  if (!result.mismatch.empty())
    llvm::outs() << "error    " << result.mismatch << '\n';
  else if (result.error)
    llvm::outs() << llvm::format("error    %.2e\n", *result.error);
  if (result.together)
    llvm::outs() << llvm::format("together %d sessions: %.1f runs a second, "
                                 "%.1f MB more memory\n",
                                 result.together->sessions,
                                 result.together->runsPerSecond,
                                 double(result.together->addedBytes) / 1e6);
  for (const Balance &balance : result.balances)
    printBalance(llvm::outs(), balance);
  if (result.profile)
    printProfile(llvm::outs(), *result.profile);
}

} // namespace

int tenon::runBench(const BenchCommand &command) {
  auto result = measure(command);
  if (!result) {
    llvm::errs() << "tenon bench: " << llvm::toString(result.takeError())
                 << '\n';
    return kFailure;
  }
  if (command.json)
    printJson(*result);
  else
    printText(*result);
  return kSuccess;
}
