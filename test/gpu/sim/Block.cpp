//===- Block.cpp - A thread block while it runs ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Block.h"
#include "test/gpu/sim/Text.h"

#include <algorithm>
#include <bit>

namespace tenon::sim {

namespace {
constexpr uint64_t kBudget = 4096; // Instructions of a warp at a time.
constexpr char kJunk = 0x5b;       // What shared memory holds at first.
} // namespace

Block::Block(LaunchState &state, const uint32_t (&at)[3], uint32_t rank)
    : state(state), index{at[0], at[1], at[2]}, rank(rank),
      threads(state.launch.block[0] * state.launch.block[1] *
              state.launch.block[2]),
      shared(state.program.dynamicBase + state.launch.dynamicShared, kJunk),
      sharedWritten(shared.size()) {
  for (uint32_t first = 0; first < threads; first += kLanes)
    warps.emplace_back(*this, first / kLanes,
                       std::min<uint32_t>(threads - first, kLanes));
  const uint32_t (&cluster)[3] = state.launch.cluster;
  uint32_t all = warps.size() * cluster[0] * cluster[1] * cluster[2];
  if (state.sharedShadows.size() <= rank)
    state.sharedShadows.emplace_back();
  shadow().resize(shared.size(), state.program.sharedGranule, all);
  for (Warp &warp : warps) {
    warp.clock.assign(all, state.epoch);
    tick(warp);
  }
}

void Block::tick(Warp &warp) { ++warp.clock[warpInCluster(warp)]; }

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
  if (gone)
    out += format("; %u threads have exited", gone);
  return out;
}

bool runCluster(LaunchState &state, const uint32_t (&first)[3]) {
  const uint32_t (&size)[3] = state.launch.cluster;
  std::deque<Block> blocks;
  for (uint32_t z = 0; z < size[2]; ++z)
    for (uint32_t y = 0; y < size[1]; ++y)
      for (uint32_t x = 0; x < size[0]; ++x)
        blocks.emplace_back(state,
                            (const uint32_t (&)[3])(const uint32_t[3]){
                                first[0] + x, first[1] + y, first[2] + z},
                            uint32_t(blocks.size()));
  while (true) {
    bool progressed = false, finished = true;
    for (Block &block : blocks) {
      block.progressed = false;
      if (!block.round())
        return false;
      progressed |= block.progressed;
      finished &= block.finished();
    }
    if (finished) {
      for (const Block &block : blocks)
        for (const Warp &warp : block.warps)
          state.epoch =
              std::max(state.epoch, warp.clock[block.warpInCluster(warp)] + 1);
      ++state.cluster;
      return true;
    }
    if (progressed)
      continue;
    // Nobody can move: something that is under way must end.
    bool delivered = false;
    for (Block &block : blocks)
      delivered = delivered || block.deliver();
    if (!state.error.empty())
      return false;
    if (delivered)
      continue;
    for (const Block &block : blocks)
      if (!block.finished() && state.error.empty())
        state.error = format("kernel %s, block (%u,%u,%u): deadlock",
                             state.kernel.name.c_str(), block.index[0],
                             block.index[1], block.index[2]) +
                      block.explainWaits();
    return false;
  }
}

} // namespace tenon::sim
