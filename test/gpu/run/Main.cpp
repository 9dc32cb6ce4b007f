//===- Main.cpp - gpu_run: try models on a GPU ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   gpu_run MANIFEST [--driver PATH] [--device N] [--seconds S]
//
// Runs every model of the manifest on a CUDA device and prints tables in
// Markdown. Exits with 1 when any output differs or any model fails, with 2
// when nothing could be tried.
//
//===----------------------------------------------------------------------===//

#include "test/gpu/run/Report.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace tenon::trial;

namespace {

struct CommandLine {
  const char *manifest = nullptr, *driver = nullptr;
  double seconds = 0.5; // For each of the things that are timed.
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
    else if (std::strcmp(argv[i], "--seconds") == 0 &&
             parseNumber(value, 3600, number))
      line.seconds = number;
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

/// The number of models that failed.
size_t tryAll(tenon_device_t *device, std::vector<Case> &cases, double seconds,
              const CopyRate &copies) {
  std::vector<Row> rows;
  size_t failures = 0;
  printHead();
  for (Case &one : cases) {
    rows.push_back(tryModel(device, one, seconds));
    printRow(rows.back());
    failures += rows.back().problem.has_value();
  }
  printProblems(rows);
  printKernels(rows, copies);
  return failures;
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
                "[--seconds S]");
  std::vector<Case> cases;
  if (Problem problem = readManifest(line.manifest, cases))
    return fail(*problem);
  Device device;
  if (Problem problem = open(line, device))
    return fail(*problem);
  CopyRate copies;
  if (Problem problem = measureCopyRate(device.get(), line.seconds, copies))
    return fail(*problem);
  if (Problem problem = printDevice(device.get(), copies))
    return fail(*problem);
  return tryAll(device.get(), cases, line.seconds, copies) ? 1 : 0;
}
