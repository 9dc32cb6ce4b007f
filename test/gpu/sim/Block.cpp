//===- Block.cpp - A thread block while it runs ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Cluster.h"
#include "test/gpu/sim/Text.h"

#include <algorithm>
#include <bit>

namespace tenon::sim {

namespace {
constexpr uint64_t kBudget = 4096; // Instructions of a warp at a time.
constexpr char kJunk = 0x5b;       // What shared memory holds at first.
} // namespace

Block::Block(Cluster &cluster, const uint32_t (&at)[3], uint32_t rank)
    : cluster(cluster), state(cluster.state), index{at[0], at[1], at[2]},
      rank(rank), threads(state.launch.block[0] * state.launch.block[1] *
                          state.launch.block[2]),
      shared(state.program.dynamicBase + state.launch.dynamicShared, kJunk),
      sharedWritten(shared.size()) {
  for (uint32_t first = 0; first < threads; first += kLanes)
    warps.emplace_back(*this, first / kLanes,
                       std::min<uint32_t>(threads - first, kLanes));
  if (state.program.warpgroups)
    for (uint32_t first = 0; first < warps.size(); first += Warpgroup::kWarps)
      warpgroups.emplace_back(cluster, cluster.engines++, threads);
  if (state.sharedShadows.size() <= rank)
    state.sharedShadows.emplace_back();
  shadow().resize(shared.size(), state.program.sharedGranule, cluster.warps,
                  cluster.readers);
  for (Warp &warp : warps) {
    warp.clock.start = state.epoch;
    warp.clock.seen.assign(cluster.warps, state.epoch);
    tick(warp);
  }
}

void Block::tick(Warp &warp) {
  warp.clock.synced = ++warp.clock.seen[warpInCluster(warp)];
}

void Block::publishBarriers(const Warp &warp, bool all) {
  for (auto &[offset, barrier] : phases) {
    uint32_t by = barrier.initialized.warp;
    if (by == warpInCluster(warp) ||
        (all && barrier.initialized.epoch <= warp.clock[by]))
      barrier.fenced = true;
  }
}

void Block::arrive(Warp &warp, Clock &clock) {
  join(clock, warp.clock);
  tick(warp);
}

void Block::threadIndex(uint32_t thread, uint32_t (&out)[3]) const {
  const uint32_t (&size)[3] = state.launch.block;
  out[0] = thread % size[0];
  out[1] = thread / size[0] % size[1];
  out[2] = thread / size[0] / size[1];
}

bool Block::finished() const {
  return std::all_of(warps.begin(), warps.end(),
                     [](const Warp &warp) { return warp.finished(); });
}

bool Block::round() {
  for (Warp &warp : warps) {
    warp.progressed = false;
    warp.wake();
    if (!warp.run(kBudget))
      return false;
    progressed |= warp.progressed;
  }
  return true;
}

std::string Block::explainWaits() const {
  struct Place {
    uint32_t pc;
    Group::State state;
    uint32_t threads, first;
  };
  std::vector<Place> places;
  uint32_t gone = 0;
  for (const Warp &warp : warps) {
    gone += std::popcount(warp.exited);
    for (const Group &group : warp.groups) {
      // A parked group stands behind the barrier it waits at.
      uint32_t pc = group.pc - (group.state == Group::Parked);
      auto same = std::find_if(places.begin(), places.end(), [&](Place &each) {
        return each.pc == pc && each.state == group.state;
      });
      if (same == places.end())
        same = places.insert(
            places.end(),
            {pc, group.state, 0, warp.thread(std::countr_zero(group.mask))});
      same->threads += std::popcount(group.mask);
    }
  }
  std::string out;
  for (const Place &place : places) {
    const Instruction &instruction = state.program.code[place.pc];
    out += format("; %u threads (first: %u) %s line %u `", place.threads,
                  place.first,
                  place.state == Group::Meeting
                      ? "wait for the rest of their warp at"
                      : "wait at",
                  instruction.line) +
           state.program.texts[instruction.textIndex] + "`";
  }
  for (const auto &[offset, barrier] : phases)
    if (barrier.pending < barrier.count || barrier.bytes)
      out += format("; the mbarrier at 0x%x waits for %u of %u arrivals and "
                    "%lld bytes",
                    offset, barrier.pending, barrier.count,
                    (long long)barrier.bytes);
  if (gone)
    out += format("; %u threads have exited", gone);
  return out;
}

} // namespace tenon::sim
