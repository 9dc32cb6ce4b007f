//===- Team.h - Threads that start together -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_LIMITS_TEAM_H
#define TENON_TOOLS_LIMITS_TEAM_H

#include <atomic>
#include <thread>
#include <vector>

namespace tenon::limits {

/// Calls body(0), ... body(threads - 1), each on a thread of its own, once all
/// of these run. Returns when all have returned.
template <typename Body> void runTogether(int threads, Body body) {
  std::atomic<int> waiting{threads};
  auto run = [&](int thread) {
    --waiting;
    while (waiting > 0)
      std::this_thread::yield();
    body(thread);
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread)
    others.emplace_back(run, thread);
  run(0);
  for (std::thread &other : others)
    other.join();
}

} // namespace tenon::limits

#endif // TENON_TOOLS_LIMITS_TEAM_H
