//===- Profile.h - Where the time of runs goes ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_PROFILE_H
#define TENON_TOOLS_TENON_PROFILE_H

#include "runtime/tenon.h"
#include "tools/tenon/Roofline.h"
#include <string>
#include <vector>

namespace tenon {

/// What a launch took and had to do, per run: the median of its times, as one
/// that others disturbed says nothing of it. Of several, their sum.
struct KernelTime {
  std::string name, schedule, node; // A node of its first launch.
  double launches = 0, seconds = 0;
  Work work;
  Roofline roofline; // As launches are one after the other: times add up.

  double speed(double amount) const {
    return seconds > 0 ? amount / seconds : 0;
  }
  /// Of the limit; how much of the time it needs at least.
  double percent() const { return 100 * speed(roofline.seconds); }
};

/// Observes a session from its construction to its destruction.
class Profile {
public:
  Profile(tenon_model_t *model, tenon_session_t *session);
  ~Profile();
  Profile(const Profile &) = delete;
  Profile &operator=(const Profile &) = delete;

  /// Kernels that ran in `runs` runs, the most expensive first.
  std::vector<KernelTime> kernels(const MachineLimits &limits,
                                  uint64_t runs) const;

private:
  struct Launch {
    uint32_t kernel = 0;
    std::string node;
    std::vector<uint64_t> nanoseconds;
    Work work; // Of all.
  };
  static void observe(void *self, const tenon_launch_t *launch);

  tenon_session_t *session;
  std::vector<KernelTime> names; // By kernel.
  std::vector<Launch> launches;  // By step.
};

/// What observed runs took, beside what those took that nobody observed.
struct ProfileReport {
  std::vector<KernelTime> kernels;
  MachineLimits limits;
  double runSeconds = 0; // The median run.

  KernelTime sum() const;
};

/// A line per kernel: its share, milliseconds and launches per run, work, the
/// speed that it reached, the limit that binds and how much of it was reached;
/// then the same for the whole model, and the limits.
void printProfile(llvm::raw_ostream &os, const ProfileReport &report);
/// The same as members of an object.
void addProfile(llvm::json::Object &object, const ProfileReport &report);

} // namespace tenon

#endif // TENON_TOOLS_TENON_PROFILE_H
