//===- Profile.cpp - Where the time of runs goes --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Profile.h"

#include "compiler/Weights/Printable.h"
#include "llvm/Support/Format.h"

#include <algorithm>

using namespace tenon;
namespace json = llvm::json;

Profile::Profile(tenon_model_t *model, tenon_session_t *session)
    : session(session) {
  tenon_kernel_info_t info = {};
  info.struct_size = sizeof info;
  for (uint32_t i = 0; tenon_model_kernel(model, i, &info) == TENON_OK; ++i) {
    names.emplace_back();
    names.back().name = info.name;
    names.back().schedule = info.schedule;
  }
  tenon_model_info_t all = {};
  all.struct_size = sizeof all;
  if (tenon_model_info(model, &all) == TENON_OK)
    launches.resize(all.step_count);
  tenon_session_set_observer(session, observe, this);
}

Profile::~Profile() { tenon_session_set_observer(session, nullptr, nullptr); }

void Profile::observe(void *self, const tenon_launch_t *launch) {
  auto &launches = static_cast<Profile *>(self)->launches;
  if (launch->step >= launches.size())
    return;
  Launch &seen = launches[launch->step];
  seen.kernel = launch->kernel;
  for (uint32_t i = 0; i < launch->node_count && seen.node.empty(); ++i)
    seen.node = launch->nodes[i];
  seen.nanoseconds.push_back(launch->nanoseconds);
  Work work;
  work.known = launch->flops >= 0;
  if (work.known) {
    bool isInt8 =
        launch->flops_dtype == TENON_I8 || launch->flops_dtype == TENON_U8;
    double &flops = launch->flops_dtype == TENON_BF16  ? work.bf16Flops
                    : launch->flops_dtype == TENON_F16 ? work.f16Flops
                    : isInt8                           ? work.int8Ops
                                                       : work.flops;
    flops = double(launch->flops);
    work.weightBytes = double(launch->weight_bytes);
    work.bytes = double(launch->bytes);
  }
  seen.work += work;
}

static uint64_t median(std::vector<uint64_t> values) {
  auto middle = values.begin() + ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// A part of `sum` whose limit takes the most time gives it its name.
static void add(KernelTime &sum, const KernelTime &part, double &binding) {
  sum.launches += part.launches;
  sum.seconds += part.seconds;
  sum.work += part.work;
  sum.roofline.seconds += part.roofline.seconds;
  if (part.roofline.seconds > binding) {
    binding = part.roofline.seconds;
    sum.roofline.limit = part.roofline.limit;
  }
}

std::vector<KernelTime> Profile::kernels(const MachineLimits &limits,
                                         uint64_t runs) const {
  std::vector<KernelTime> kernels = names;
  std::vector<double> binding(kernels.size());
  double run = 1.0 / double(std::max<uint64_t>(runs, 1));
  for (const Launch &launch : launches) {
    if (launch.nanoseconds.empty() || launch.kernel >= kernels.size())
      continue;
    KernelTime one;
    one.launches = double(launch.nanoseconds.size()) * run;
    one.seconds = one.launches * double(median(launch.nanoseconds)) / 1e9;
    one.work = launch.work;
    for (double *amount :
         {&one.work.flops, &one.work.bf16Flops, &one.work.f16Flops,
          &one.work.int8Ops, &one.work.weightBytes, &one.work.bytes})
      *amount *= run;
    one.roofline = Roofline(one.work, limits);
    KernelTime &kernel = kernels[launch.kernel];
    if (kernel.launches == 0)
      kernel.node = launch.node;
    add(kernel, one, binding[launch.kernel]);
  }
  llvm::erase_if(kernels, [](const auto &time) { return time.launches == 0; });
  llvm::sort(kernels, [](const auto &a, const auto &b) {
    return a.seconds > b.seconds;
  });
  return kernels;
}

KernelTime ProfileReport::sum() const {
  KernelTime sum;
  double binding = 0;
  for (const KernelTime &kernel : kernels)
    add(sum, kernel, binding);
  return sum;
}

static void printRow(llvm::raw_ostream &os, const KernelTime &row,
                     double total) {
  os << llvm::format("%5.1f  %9.4f  %6.0f", 100 * row.seconds / total,
                     row.seconds * 1e3, row.launches);
  if (row.work.known)
    os << llvm::format("  %8.3f %9.3f %7.1f %6.1f  %-7s %5.1f",
                       row.work.allFlops() / 1e9, row.work.allBytes() / 1e6,
                       row.speed(row.work.allFlops()) / 1e9,
                       row.speed(row.work.allBytes()) / 1e9, row.roofline.limit,
                       row.percent());
  else
    os << "         ?         ?       ?      ?  ?           ?";
}

void tenon::printProfile(llvm::raw_ostream &os, const ProfileReport &report) {
  KernelTime sum = report.sum();
  double total = std::max(sum.seconds, 1e-9);
  os << "time%         ms       x        GF        MB    GF/s   GB/s  limit    "
        "    %\n";
  for (const KernelTime &kernel : report.kernels) {
    printRow(os, kernel, total);
    os << "  " << printable(kernel.name) << ' ' << kernel.schedule << ", "
       << printable(kernel.node) << '\n';
  }
  printRow(os, sum, total);
  os << "  all kernels\n";
  if (!report.limits.known())
    return;
  os << report.limits;
  if (sum.work.known)
    os << llvm::format("roofline %.3f ms: %.1f %% of the kernels' %.3f ms, "
                       "%.1f %% of the median run's %.3f ms\n",
                       sum.roofline.seconds * 1e3, sum.percent(),
                       sum.seconds * 1e3,
                       100 * sum.roofline.seconds / report.runSeconds,
                       report.runSeconds * 1e3);
}

/// Amounts and speeds of one kernel or of all.
static void addWork(json::Object &object, const KernelTime &time) {
  object["ms"] = time.seconds * 1e3;
  object["launches"] = time.launches;
  if (!time.work.known) {
    for (const char *name : {"flops", "weight_bytes", "bytes", "gflops", "gbs",
                             "limit", "roofline_ms", "percent"})
      object[name] = nullptr;
    return;
  }
  object["flops"] = time.work.allFlops();
  object["weight_bytes"] = time.work.weightBytes;
  object["bytes"] = time.work.allBytes();
  object["gflops"] = time.speed(time.work.allFlops()) / 1e9;
  object["gbs"] = time.speed(time.work.allBytes()) / 1e9;
  object["limit"] = time.roofline.limit;
  object["roofline_ms"] = time.roofline.seconds * 1e3;
  object["percent"] = time.percent();
}

void tenon::addProfile(json::Object &object, const ProfileReport &report) {
  KernelTime sum = report.sum();
  json::Array kernels;
  for (const KernelTime &kernel : report.kernels) {
    json::Object row{{"kernel", json::fixUTF8(kernel.name)},
                     {"schedule", kernel.schedule},
                     {"node", json::fixUTF8(kernel.node)},
                     {"share", kernel.seconds / std::max(sum.seconds, 1e-9)}};
    addWork(row, kernel);
    kernels.push_back(std::move(row));
  }
  object["kernels"] = std::move(kernels);
  object["limits"] = report.limits.known() ? json::Value(report.limits.json())
                                           : json::Value(nullptr);
  json::Object all;
  addWork(all, sum);
  if (sum.work.known && report.limits.known())
    all["percent_of_run"] = 100 * sum.roofline.seconds / report.runSeconds;
  object["sum"] = std::move(all);
}
