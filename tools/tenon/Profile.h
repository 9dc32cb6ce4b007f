//===- Profile.h - Where the time of runs goes ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_PROFILE_H
#define TENON_TOOLS_TENON_PROFILE_H

#include "runtime/tenon.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace tenon {

/// What the launches of one kernel took, summed over all observed runs.
struct KernelTime {
  std::string name, schedule, node; // A node of its first launch.
  uint64_t launches = 0, nanoseconds = 0;
};

/// Observes a session from its construction to its destruction.
class Profile {
public:
  Profile(tenon_model_t *model, tenon_session_t *session);
  ~Profile();
  Profile(const Profile &) = delete;
  Profile &operator=(const Profile &) = delete;

  /// Kernels that ran, the most expensive first.
  std::vector<KernelTime> kernels() const;

private:
  static void observe(void *self, const tenon_launch_t *launch);

  tenon_session_t *session;
  std::vector<KernelTime> times; // By kernel.
};

/// A line per kernel: its share, milliseconds and launches per run, name,
/// schedule and a node.
void printProfile(llvm::raw_ostream &os, const std::vector<KernelTime> &kernels,
                  uint64_t runs);
/// The same as an array of objects.
llvm::json::Array profileJson(const std::vector<KernelTime> &kernels,
                              uint64_t runs);

} // namespace tenon

#endif // TENON_TOOLS_TENON_PROFILE_H
