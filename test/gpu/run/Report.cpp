//===- Report.cpp - Write the results -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/run/Report.h"

#include <algorithm>
#include <cstdio>

using namespace tenon::trial;

template <typename... Values>
static std::string format(const char *format, Values... values) {
  char text[200];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

Problem tenon::trial::describeDevice(tenon_device_t *device,
                                     const CopyRate &copies,
                                     std::string &text) {
  tenon_device_info_t info = {};
  info.struct_size = sizeof info;
  if (tenon_device_info(device, &info))
    return tenon_last_error();
  text =
      std::string(info.name) +
      format(", compute capability %u.%u, %.1f GB, driver %u.%u\n\n",
             info.compute_capability / 10, info.compute_capability % 10,
             double(info.memory_bytes) / 1e9, info.driver_version / 1000,
             info.driver_version % 1000 / 10) +
      format("A copy of %.0f MB on the device: %.1f GB/s read and written\n\n",
             double(copies.bytes) / 1e6, copies.rate / 1e9);
  return std::nullopt;
}

std::string tenon::trial::tableHead() {
  return "Milliseconds: to load, and of a median run with tensors on the "
         "device or the\nhost, as one graph or launch by launch, and of one "
         "of those enqueued in a row\n\n"
         "| model | data sets | load | device, graph | device, launches "
         "| host, graph | host, launches | in a row | error | result |\n"
         "|---|--:|--:|--:|--:|--:|--:|--:|--:|---|\n";
}

std::string tenon::trial::tableRow(const Row &row) {
  std::string text = "| " + row.name + format(" | %zu | ", row.sets);
  text += row.problem ? "- |" : format("%.1f |", row.load);
  for (size_t i = 0; i < std::size(ways); ++i)
    text += !row.problem && (row.graphs || !ways[i].graphs)
                ? format(" %.4f |", row.latency[i])
                : " - |";
  text += row.problem ? " - |" : format(" %.4f |", row.queued);
  return text + format(" %.1e | ", row.error) +
         (row.problem ? "FAILED |\n" : "ok |\n");
}

/// Of a time, or "-": how much of it a model of a device foretold.
static std::string foretold(double predicted, double measured) {
  return predicted > 0 && measured > 0
             ? format(" %.0f%% |", 100 * predicted / measured)
             : " - |";
}

static double predictionOf(const Row &row, const std::string &kernel) {
  for (const Prediction &prediction : row.predicted)
    if (prediction.first == kernel)
      return prediction.second;
  return 0;
}

std::string tenon::trial::sweepHead() {
  return "\nSingle ops with tensors on the device: milliseconds of a run of "
         "those enqueued in a\nrow, as libraries' calls are timed, of which "
         "are the rates; of its kernels launched\none by one, how much of "
         "which was predicted; and of a median run that is waited for\n\n"
         "| case | in a row | TF/s | GB/s | % of a copy | cuBLAS | of cuBLAS "
         "| kernels | predicted | run | error | result |\n"
         "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n";
}

std::string tenon::trial::sweepRow(const Row &row, const Work &work,
                                   const CopyRate &copies) {
  if (row.problem)
    return "| " + row.name +
           " | - | - | - | - | - | - | - | - | - | - | FAILED |\n";
  double milliseconds = 0, predicted = 0;
  std::string schedules;
  for (const KernelTime &kernel : row.kernels)
    if (kernel.launches > 0) {
      milliseconds += kernel.milliseconds;
      predicted += predictionOf(row, kernel.name);
      schedules += " " + kernel.schedule;
    }
  double seconds = std::max(row.queued, 1e-6) / 1e3;
  std::string text =
      "| " + row.name + schedules + format(" | %.4f |", row.queued);
  text +=
      work.flops > 0 ? format(" %.1f |", work.flops / seconds / 1e12) : " - |";
  text += format(" %.1f | %.1f |", work.bytes / seconds / 1e9,
                 100 * work.bytes / seconds / copies.rate);
  if (row.vendorProblem)
    text += " " + *row.vendorProblem + " | - |";
  else if (row.vendor > 0)
    text +=
        format(" %.4f | %.0f%% |", row.vendor, 100 * row.vendor / row.queued);
  else
    text += " - | - |";
  return text + format(" %.4f |", milliseconds) +
         foretold(predicted, milliseconds) +
         format(" %.4f | %.1e | ok |\n", row.latency[0], row.error);
}

std::string tenon::trial::kernelsHead() {
  return "\nThe slowest kernels, launched one by one\n\n"
         "| model | kernel | launches | ms | predicted | GF/s | GB/s "
         "| % of a copy |\n|---|---|--:|--:|--:|--:|--:|--:|\n";
}

static std::string kernelRow(const Row &row, const KernelTime &kernel,
                             const CopyRate &copies) {
  std::string text =
      "| " + row.name + " | " + kernel.name + " " + kernel.schedule +
      format(" | %.0f | %.4f |", kernel.launches, kernel.milliseconds) +
      foretold(predictionOf(row, kernel.name), kernel.milliseconds);
  if (!kernel.known)
    return text + " - | - | - |\n";
  double seconds = std::max(kernel.milliseconds, 1e-6) / 1e3;
  double rate = kernel.bytes / seconds;
  return text + format(" %.1f | %.1f | %.1f |\n", kernel.flops / seconds / 1e9,
                       rate / 1e9, 100 * rate / copies.rate);
}

std::string tenon::trial::kernelRows(const Row &row, const CopyRate &copies) {
  constexpr size_t few = 5;
  std::string text;
  for (size_t i = 0; i < std::min(few, row.kernels.size()); ++i)
    if (row.kernels[i].launches > 0)
      text += kernelRow(row, row.kernels[i], copies);
  return text;
}
