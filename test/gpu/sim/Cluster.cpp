//===- Cluster.cpp - Thread blocks that run together ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Cluster.h"
#include "test/gpu/sim/Text.h"

#include <algorithm>

namespace tenon::sim {

namespace {

uint32_t blocksOf(const Launch &launch) {
  return launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
}

uint32_t warpsOf(const Launch &launch) {
  return (launch.block[0] * launch.block[1] * launch.block[2] + kLanes - 1) /
         kLanes;
}

uint32_t warpgroupsOf(const LaunchState &state) {
  return state.program.warpgroups
             ? (warpsOf(state.launch) + Warpgroup::kWarps - 1) /
                   Warpgroup::kWarps
             : 0;
}

} // namespace

Cluster::Cluster(LaunchState &state, const uint32_t (&first)[3])
    : state(state), start(state.epoch),
      warps(blocksOf(state.launch) * warpsOf(state.launch)),
      readers(warps + blocksOf(state.launch) * warpgroupsOf(state)),
      engines(warps) {
  const uint32_t (&size)[3] = state.launch.cluster;
  for (uint32_t z = 0; z < size[2]; ++z)
    for (uint32_t y = 0; y < size[1]; ++y)
      for (uint32_t x = 0; x < size[0]; ++x)
        blocks.emplace_back(*this,
                            (const uint32_t (&)[3])(const uint32_t[3]){
                                first[0] + x, first[1] + y, first[2] + z},
                            uint32_t(blocks.size()));
  barrier.lanes.resize(warps);
}

bool Cluster::step(bool &progressed, bool &finished) {
  delivered = false;
  progressed = false;
  finished = true;
  for (Block &block : blocks) {
    block.progressed = false;
    if (!block.round())
      return false;
    progressed |= block.progressed;
    finished &= block.finished();
  }
  progressed |= delivered;
  return true;
}

bool Cluster::run() {
  while (true) {
    bool progressed, finished;
    if (!step(progressed, finished))
      return false;
    if (finished)
      break;
    if (progressed)
      continue;
    // Nobody can move: something that is under way must end.
    bool delivered = deliver();
    if (!state.error.empty())
      return false;
    if (delivered)
      continue;
    reportDeadlock();
    return false;
  }
  if (!checkEnd())
    return false;
  for (const Block &block : blocks) {
    for (const Warp &warp : block.warps)
      for (uint32_t epoch : warp.clock.seen)
        state.epoch = std::max(state.epoch, epoch + 1);
    for (const auto &[offset, phases] : block.phases)
      state.epoch = std::max(state.epoch, phases.epochAfter() + 1);
  }
  return true;
}

/// Whether somebody waited for the last copy that the mbarrier counted.
bool Cluster::checkCopied(Block &block, const PhaseBarrier &barrier) {
  if (!barrier.copied)
    return true;
  for (const Block &other : blocks)
    for (const Warp &warp : other.warps)
      if (warp.clock[barrier.engine] >= barrier.copied)
        return true;
  const Instruction &line = state.program.code[barrier.initialized.instruction];
  block.warps.front().fail(line, 0,
                           "the kernel ends while copies may be under way "
                           "that this mbarrier counts: nobody has waited");
  return false;
}

bool Cluster::checkEnd() {
  for (const BulkCopy &copy : loads) {
    copy.warp->fail(*copy.line, copy.lane,
                    "the kernel ends while the copy is under way");
    return false;
  }
  for (Block &block : blocks) {
    for (Warp &warp : block.warps)
      for (int lane = 0; lane < kLanes; ++lane)
        for (const BulkCopy &copy : warp.stores[lane].copies) {
          warp.fail(*copy.line, lane,
                    "the block ends while the copy may still read its shared "
                    "memory: nobody has waited for it");
          return false;
        }
    for (const auto &[offset, barrier] : block.phases)
      if (!checkCopied(block, barrier))
        return false;
    if (!finishProducts(block) || !checkVisits(block))
      return false;
  }
  return true;
}

bool Cluster::deliverLoad(size_t which) {
  BulkCopy copy = loads[which];
  loads.erase(loads.begin() + which);
  return finishLoad(copy);
}

bool Cluster::deliver() {
  size_t choices = loads.size();
  for (const Block &block : blocks)
    choices += block.pending.size();
  if (!choices)
    return false;
  size_t chosen =
      state.launch.order == Order::Random ? state.random() % choices : 0;
  if (chosen < loads.size())
    return deliverLoad(chosen);
  for (Block &block : blocks)
    if (!block.pending.empty())
      return block.deliver();
  return false;
}

void Cluster::deliverSometimes() {
  if (state.launch.order == Order::Random && state.random() % 4 == 0)
    delivered |= deliver();
}

void Cluster::completeBarrier() {
  bool some = false;
  for (const Block &block : blocks)
    for (const Warp &warp : block.warps) {
      uint32_t come = barrier.lanes[block.warpInCluster(warp)];
      some |= come != 0;
      if (warp.present & ~warp.exited & ~come)
        return;
    }
  if (!some)
    return;
  std::fill(barrier.lanes.begin(), barrier.lanes.end(), 0);
  barrier.completed = barrier.arrived;
  ++barrier.phase;
}

void Cluster::reportDeadlock() {
  for (const Block &block : blocks) {
    if (block.finished())
      continue;
    if (state.error.empty())
      state.error = "kernel " + state.kernel.name + ", ";
    else
      state.error += "; ";
    state.error += format("block (%u,%u,%u): deadlock", block.index[0],
                          block.index[1], block.index[2]) +
                   block.explainWaits();
  }
}

} // namespace tenon::sim
