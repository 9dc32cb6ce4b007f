//===- Report.cpp - Print the results -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/run/Report.h"

#include <algorithm>
#include <cstdio>

using namespace tenon::trial;

Problem tenon::trial::printDevice(tenon_device_t *device,
                                  const CopyRate &copies) {
  tenon_device_info_t info = {};
  info.struct_size = sizeof info;
  if (tenon_device_info(device, &info))
    return tenon_last_error();
  std::printf("%s, compute capability %u.%u, %.1f GB, driver %u.%u\n\n",
              info.name, info.compute_capability / 10,
              info.compute_capability % 10, double(info.memory_bytes) / 1e9,
              info.driver_version / 1000, info.driver_version % 1000 / 10);
  if (copies.rate > 0)
    std::printf("A copy of %.0f MB on the device: %.1f GB/s read and "
                "written\n\n",
                double(copies.bytes) / 1e6, copies.rate / 1e9);
  std::fflush(stdout);
  return std::nullopt;
}

void tenon::trial::printHead() {
  std::printf("Milliseconds: to load, and of a median run with tensors on the "
              "device or the\nhost, as one graph or launch by launch\n\n"
              "| model | data sets | load | device, graph | device, launches "
              "| host, graph | host, launches | error | result |\n"
              "|---|--:|--:|--:|--:|--:|--:|--:|---|\n");
  std::fflush(stdout);
}

static void printLatency(double milliseconds, bool known) {
  if (known)
    std::printf(" %.4f |", milliseconds);
  else
    std::printf(" - |");
}

void tenon::trial::printRow(const Row &row) {
  std::printf("| %s | %zu | %.1f |", row.name.c_str(), row.sets, row.load);
  for (size_t i = 0; i < std::size(ways); ++i)
    printLatency(row.latency[i],
                 !row.problem && (row.graphs || !ways[i].graphs));
  std::printf(" %.1e | %s |\n", row.error, row.problem ? "FAILED" : "ok");
  std::fflush(stdout);
}

void tenon::trial::printProblems(const std::vector<Row> &rows) {
  auto failed = std::count_if(rows.begin(), rows.end(), [](const Row &row) {
    return row.problem.has_value();
  });
  std::printf("\n%zu models ok, %zu failed\n", rows.size() - size_t(failed),
              size_t(failed));
  for (const Row &row : rows)
    if (row.problem)
      std::printf("- %s: %s\n", row.name.c_str(), row.problem->c_str());
}

static void printKernel(const Row &row, const KernelTime &kernel,
                        const CopyRate &copies) {
  std::printf("| %s | %s %s | %.0f | %.4f |", row.name.c_str(),
              kernel.name.c_str(), kernel.schedule.c_str(), kernel.launches,
              kernel.milliseconds);
  double seconds = std::max(kernel.milliseconds, 1e-6) / 1e3;
  double rate = kernel.bytes / seconds;
  if (!kernel.known)
    std::printf(" - | - |");
  else
    std::printf(" %.1f | %.1f |", kernel.flops / seconds / 1e9, rate / 1e9);
  if (!kernel.known || copies.rate <= 0)
    std::printf(" - |\n");
  else
    std::printf(" %.1f |\n", 100 * rate / copies.rate);
}

void tenon::trial::printKernels(const std::vector<Row> &rows,
                                const CopyRate &copies) {
  constexpr size_t few = 5;
  std::printf("\nThe slowest kernels, launched one by one\n\n"
              "| model | kernel | launches | ms | GF/s | GB/s | %% of a copy "
              "|\n|---|---|--:|--:|--:|--:|--:|\n");
  for (const Row &row : rows)
    for (size_t i = 0; i < std::min(few, row.kernels.size()); ++i)
      if (row.kernels[i].launches > 0)
        printKernel(row, row.kernels[i], copies);
}
