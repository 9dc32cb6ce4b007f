//===- Main.cpp - gpu_run: try models on a GPU ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   gpu_run MANIFEST [--driver PATH] [--device N] [--seconds S] [--limit S]
//           [--cublas PATH]
//
// Runs every model of the manifest on a CUDA device, each in a process of its
// own, and prints tables in Markdown. Products are timed by cuBLAS as well,
// where there is one. Timing takes --seconds for each way to
// run; a model that takes more than --limit in all is given up. Exits with 1
// when any output differs or any model fails, with 2 when nothing could be
// tried.
//
//===----------------------------------------------------------------------===//

#include "test/gpu/run/Isolation.h"
#include "test/gpu/run/Report.h"
#include "test/gpu/run/Vendor.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace tenon::trial;

namespace {

struct CommandLine {
  const char *manifest = nullptr, *driver = nullptr, *cublas = nullptr;
  double seconds = 0.5, limit = 300;
  int device = 0;
};

bool parseNumber(const char *text, double limit, double &number) {
  char *end;
  number = std::strtod(text, &end);
  return end != text && !*end && number >= 0 && number <= limit;
}

bool parse(int argc, char **argv, CommandLine &line) {
  for (int i = 1; i < argc; ++i) {
    const char *value = i + 1 < argc ? argv[i + 1] : nullptr;
    double number = 0;
    if (std::strncmp(argv[i], "--", 2) != 0) {
      if (line.manifest)
        return false;
      line.manifest = argv[i];
      continue;
    }
    if (!value)
      return false;
    if (std::strcmp(argv[i], "--driver") == 0)
      line.driver = value;
    else if (std::strcmp(argv[i], "--cublas") == 0)
      line.cublas = value;
    else if (std::strcmp(argv[i], "--seconds") == 0 &&
             parseNumber(value, 3600, number))
      line.seconds = number;
    else if (std::strcmp(argv[i], "--limit") == 0 &&
             parseNumber(value, 86400, number))
      line.limit = number;
    else if (std::strcmp(argv[i], "--device") == 0 &&
             parseNumber(value, 1000, number))
      line.device = int(number);
    else
      return false;
    ++i;
  }
  return line.manifest;
}

Problem open(const CommandLine &line, Device &device) {
  tenon_device_options_t options = {};
  options.struct_size = sizeof options;
  options.driver = line.driver;
  options.index = line.device;
  tenon_device_t *opened;
  if (tenon_device_open(&options, &opened))
    return tenon_last_error();
  device.reset(opened);
  return std::nullopt;
}

/// What one process tells the other, in parts.
std::string pack(const Problem &problem, const std::string &one,
                 const std::string &other) {
  return problem.value_or("") + '\0' + one + '\0' + other;
}

/// Does the work in another process, and takes its parts, or its problem.
Problem isolateParts(const std::function<std::string()> &work, double limit,
                     std::string &one, std::string &other) {
  std::string text;
  if (Problem problem = isolate(work, limit, text))
    return problem;
  size_t first = text.find('\0'), second = text.find('\0', first + 1);
  if (second == text.npos)
    return "its process told nothing";
  one = text.substr(first + 1, second - first - 1);
  other = text.substr(second + 1);
  return first ? Problem(text.substr(0, first)) : std::nullopt;
}

/// Describes the device and measures copies on it.
Problem look(const CommandLine &line, CopyRate &copies, std::string &text) {
  auto work = [&]() -> std::string {
    Device device;
    std::string description;
    Problem problem = open(line, device);
    if (!problem)
      problem = measureCopyRate(device.get(), line.seconds, copies);
    if (!problem)
      problem = describeDevice(device.get(), copies, description);
    return pack(problem, description, std::to_string(copies.rate));
  };
  constexpr double limit = 120; // Some drivers take long to start.
  std::string rate;
  if (Problem problem = isolateParts(work, limit, text, rate))
    return problem;
  copies.rate = std::strtod(rate.c_str(), nullptr);
  return std::nullopt;
}

/// With a driver of its own, only a cuBLAS that is named belongs to it.
const char *vendorOf(const CommandLine &line) {
  return line.cublas || !line.driver ? findVendor(line.cublas) : nullptr;
}

/// Asked elsewhere: what it loads stays out of the processes to come.
bool hasVendor(const CommandLine &line) {
  std::string found;
  auto look = [&]() -> std::string { return vendorOf(line) ? "yes" : ""; };
  return !isolate(look, line.limit, found) && !found.empty();
}

/// Tries a model; gives its row, and those of its kernels.
Problem tryOne(const CommandLine &line, Case &one, const CopyRate &copies,
               std::string &row, std::string &kernels) {
  bool isSweep = !one.sweep.kind.empty();
  auto work = [&]() -> std::string {
    Device device;
    if (Problem problem = open(line, device))
      return pack(problem, "", "");
    if (isSweep) {
      Row result = trySweep(device.get(), one, line.seconds, vendorOf(line));
      return pack(result.problem, sweepRow(result, workOf(one.sweep), copies),
                  "");
    }
    Row result = tryModel(device.get(), one, line.seconds);
    return pack(result.problem, tableRow(result), kernelRows(result, copies));
  };
  Problem problem = isolateParts(work, line.limit, row, kernels);
  if (problem && row.empty()) {
    Row nothing;
    nothing.name = one.name;
    nothing.sets = one.sets.size();
    nothing.problem = problem;
    row = isSweep ? sweepRow(nothing, {}, copies) : tableRow(nothing);
  }
  return problem;
}

/// What became of all cases of a kind.
struct Outcome {
  size_t ok = 0, failed = 0;
  std::string problems, kernels;
};

/// Rows are printed as they come, as a run may be cut off.
Outcome tryAll(const CommandLine &line, std::vector<Case> &cases, bool sweeps,
               const CopyRate &copies) {
  Outcome outcome;
  for (Case &one : cases) {
    if (one.sweep.kind.empty() == sweeps)
      continue;
    if (outcome.ok + outcome.failed == 0)
      std::fputs((sweeps ? sweepHead() : tableHead()).c_str(), stdout);
    std::string row, slowest;
    if (Problem problem = tryOne(line, one, copies, row, slowest)) {
      ++outcome.failed;
      outcome.problems += "- " + one.name + ": " + *problem + "\n";
    } else {
      ++outcome.ok;
    }
    std::fputs(row.c_str(), stdout);
    std::fflush(stdout);
    outcome.kernels += slowest;
  }
  if (outcome.ok + outcome.failed)
    std::printf("\n%zu %s ok, %zu failed\n%s", outcome.ok,
                sweeps ? "cases" : "models", outcome.failed,
                outcome.problems.c_str());
  return outcome;
}

int fail(const std::string &sentence) {
  std::fprintf(stderr, "gpu_run: %s\n", sentence.c_str());
  return 2;
}

} // namespace

int main(int argc, char **argv) {
  CommandLine line;
  if (!parse(argc, argv, line))
    return fail("usage: gpu_run MANIFEST [--driver PATH] [--device N] "
                "[--seconds S] [--limit S] [--cublas PATH]");
  std::vector<Case> cases;
  if (Problem problem = readManifest(line.manifest, cases))
    return fail(*problem);
  CopyRate copies;
  std::string device;
  if (Problem problem = look(line, copies, device))
    return fail(*problem);
  std::fputs(device.c_str(), stdout);
  Outcome ops = tryAll(line, cases, /*sweeps=*/true, copies);
  if (ops.ok + ops.failed && !hasVendor(line))
    std::puts("cuBLAS is left out: the loader finds none.");
  Outcome models = tryAll(line, cases, /*sweeps=*/false, copies);
  if (!models.kernels.empty())
    std::printf("%s%s", kernelsHead().c_str(), models.kernels.c_str());
  return ops.failed || models.failed ? 1 : 0;
}
