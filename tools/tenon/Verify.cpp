//===- Verify.cpp - tenon verify ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Verify.h"

#include "tools/tenon/Progress.h"
#include "tools/tenon/Workers.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <thread>

using namespace tenon;

namespace {

std::string encode(const Verdict &verdict) {
  char head[64];
  std::snprintf(head, sizeof head, "%d %.17g ", int(verdict.status),
                verdict.error);
  return head + verdict.reason;
}

Verdict decode(const Outcome &outcome) {
  if (!outcome.crash.empty())
    return Verdict::fail("crashed: " + outcome.crash);
  Verdict verdict;
  int status = Verdict::Fail, length = 0;
  if (std::sscanf(outcome.output.c_str(), "%d %lf %n", &status, &verdict.error,
                  &length) < 2)
    return Verdict::fail("crashed without a result");
  verdict.status = Verdict::Status(status);
  verdict.reason = outcome.output.substr(size_t(length));
  return verdict;
}

class Report {
public:
  Report(const VerifyCommand &command) : command(command) {}

  void add(const std::string &model, const Verdict &verdict) {
    static const char *const names[] = {"ok", "FAIL", "unsupported"};
    ++counts[verdict.status];
    if (!command.json) {
      llvm::outs() << names[verdict.status] << ' ' << model;
      if (verdict.status == Verdict::Ok)
        llvm::outs() << ' ' << llvm::format("%.2e", verdict.error);
      else
        llvm::outs() << ": " << verdict.reason;
      llvm::outs() << '\n';
      llvm::outs().flush();
      return;
    }
    llvm::json::Object entry{{"model", model},
                             {"status", names[verdict.status]},
                             {"error", nullptr},
                             {"reason", llvm::json::fixUTF8(verdict.reason)}};
    if (verdict.status == Verdict::Ok)
      entry["error"] = verdict.error;
    models.push_back(std::move(entry));
  }

  int finish() {
    if (command.json)
      llvm::outs() << llvm::json::Value(llvm::json::Object{
                          {"models", std::move(models)},
                          {"passed", counts[Verdict::Ok]},
                          {"failed", counts[Verdict::Fail]},
                          {"unsupported", counts[Verdict::Unsupported]}})
                   << '\n';
    else
      llvm::outs() << counts[Verdict::Ok] << " passed, "
                   << counts[Verdict::Fail] << " failed, "
                   << counts[Verdict::Unsupported] << " unsupported\n";
    return counts[Verdict::Fail] ? kFailure : kSuccess;
  }

private:
  const VerifyCommand &command;
  int counts[3] = {};
  llvm::json::Array models;
};

unsigned processCount(const VerifyCommand &command) {
  if (command.jobs != 0)
    return command.jobs < 0 ? 0 : unsigned(command.jobs);
  unsigned cpus = std::max(1u, std::thread::hardware_concurrency());
  return std::min<size_t>(cpus, command.models.size());
}

} // namespace

int tenon::runVerify(const VerifyCommand &command) {
  Report report(command);
  ProgressLine progress;
  runForked(
      command.models.size(), processCount(command),
      [&](size_t i) { return encode(verifyModel(command.models[i], command)); },
      [&](size_t i, const Outcome &outcome) {
        report.add(command.models[i], decode(outcome));
      },
      [&](size_t i) {
        if (i < command.models.size())
          progress.show("verify " + std::to_string(i + 1) + " of " +
                        std::to_string(command.models.size()) + ": " +
                        command.models[i]);
      });
  return report.finish();
}
