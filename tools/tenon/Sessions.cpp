//===- Sessions.cpp - Several sessions of a model at once -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Sessions.h"

#include "tools/limits/Team.h"
#include "tools/tenon/InPlaceRun.h"

#include <chrono>
#include <cstdio>
#include <unistd.h>

using namespace tenon;
using Clock = std::chrono::steady_clock;

/// Of this process, in memory now; 0 when the system does not say.
static uint64_t residentBytes() {
  unsigned long long all = 0, resident = 0;
  if (FILE *file = fopen("/proc/self/statm", "r")) {
    if (fscanf(file, "%llu %llu", &all, &resident) != 2)
      resident = 0;
    fclose(file);
  }
  return resident * uint64_t(sysconf(_SC_PAGESIZE));
}

namespace {
/// A session with its own copies of the caches that it extends.
struct Member {
  Session *session;
  std::unique_ptr<Session> own; // All but the first.
  std::optional<InPlaceRun> runs;
  uint64_t count = 0;
  std::string error;

  void work(Clock::time_point until) {
    do {
      if (llvm::Error problem = runs->run()) {
        error = llvm::toString(std::move(problem));
        return;
      }
      ++count;
    } while (Clock::now() < until);
  }
};
} // namespace

llvm::Expected<Throughput> tenon::runTogether(Session &first,
                                              const std::vector<Tensor> &inputs,
                                              int count, int threads,
                                              double seconds) {
  uint64_t before = residentBytes();
  std::vector<Member> members(count);
  for (Member &member : members) {
    member.session = &first;
    if (&member != &members.front()) {
      auto own = first.another(threads);
      if (!own)
        return own.takeError();
      member.own = std::move(*own);
      member.session = member.own.get();
    }
    auto runs = InPlaceRun::prepare(*member.session, inputs);
    if (!runs)
      return runs.takeError();
    member.runs.emplace(std::move(*runs));
  }
  uint64_t after = residentBytes();
  Clock::time_point start = Clock::now();
  auto until = start + std::chrono::duration_cast<Clock::duration>(
                           std::chrono::duration<double>(seconds));
  limits::runTogether(count, [&](int i) { members[i].work(until); });
  std::chrono::duration<double> taken = Clock::now() - start;
  Throughput result;
  result.sessions = count;
  result.addedBytes = after > before ? after - before : 0;
  for (const Member &member : members) {
    if (!member.error.empty())
      return sentence(member.error);
    result.runsPerSecond += double(member.count) / taken.count();
  }
  return result;
}
