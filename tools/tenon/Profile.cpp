//===- Profile.cpp - Where the time of runs goes --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Profile.h"

#include "compiler/Weights/Printable.h"
#include "llvm/Support/Format.h"

#include <algorithm>

using namespace tenon;

Profile::Profile(tenon_model_t *model, tenon_session_t *session)
    : session(session) {
  tenon_kernel_info_t info = {};
  info.struct_size = sizeof info;
  for (uint32_t i = 0; tenon_model_kernel(model, i, &info) == TENON_OK; ++i)
    times.push_back({info.name, info.schedule, "", 0, 0});
  tenon_session_set_observer(session, observe, this);
}

Profile::~Profile() { tenon_session_set_observer(session, nullptr, nullptr); }

void Profile::observe(void *self, const tenon_launch_t *launch) {
  auto &times = static_cast<Profile *>(self)->times;
  if (launch->kernel >= times.size())
    return;
  KernelTime &time = times[launch->kernel];
  for (uint32_t i = 0; i < launch->node_count && time.node.empty(); ++i)
    time.node = launch->nodes[i];
  ++time.launches;
  time.nanoseconds += launch->nanoseconds;
}

std::vector<KernelTime> Profile::kernels() const {
  std::vector<KernelTime> ran;
  std::copy_if(times.begin(), times.end(), std::back_inserter(ran),
               [](const KernelTime &time) { return time.launches > 0; });
  std::sort(ran.begin(), ran.end(), [](const auto &a, const auto &b) {
    return a.nanoseconds > b.nanoseconds;
  });
  return ran;
}

static double totalOf(const std::vector<KernelTime> &kernels) {
  double total = 0;
  for (const KernelTime &kernel : kernels)
    total += double(kernel.nanoseconds);
  return std::max(total, 1.0);
}

void tenon::printProfile(llvm::raw_ostream &os,
                         const std::vector<KernelTime> &kernels,
                         uint64_t runs) {
  double total = totalOf(kernels);
  for (const KernelTime &kernel : kernels)
    os << llvm::format("%5.1f %%  %9.3f ms  %6.0f x  ",
                       100 * double(kernel.nanoseconds) / total,
                       double(kernel.nanoseconds) / 1e6 / double(runs),
                       double(kernel.launches) / double(runs))
       << printable(kernel.name) << ' ' << kernel.schedule << ", "
       << printable(kernel.node) << '\n';
}

llvm::json::Array tenon::profileJson(const std::vector<KernelTime> &kernels,
                                     uint64_t runs) {
  double total = totalOf(kernels);
  llvm::json::Array array;
  for (const KernelTime &kernel : kernels)
    array.push_back(llvm::json::Object{
        {"kernel", llvm::json::fixUTF8(kernel.name)},
        {"schedule", kernel.schedule},
        {"node", llvm::json::fixUTF8(kernel.node)},
        {"share", double(kernel.nanoseconds) / total},
        {"ms", double(kernel.nanoseconds) / 1e6 / double(runs)},
        {"launches", double(kernel.launches) / double(runs)}});
  return array;
}
