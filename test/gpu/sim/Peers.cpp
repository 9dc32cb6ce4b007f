//===- Peers.cpp - Shared memory of the blocks of a cluster ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// barrier.cluster, mapa, getctarank, and who may touch what of another block.
//
//===----------------------------------------------------------------------===//

#include "test/gpu/sim/Access.h"
#include "test/gpu/sim/Cluster.h"
#include "test/gpu/sim/Decoder.h"
#include "test/gpu/sim/Text.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tenon::sim {

namespace {

constexpr Type kU32{Type::Unsigned, 32};

/// The whole warp, or, where it is not .aligned, who is there.
Step gather(Warp &warp, const Instruction &line) {
  if (!line.second)
    return Step::Next;
  if (uint32_t gone = warp.exited)
    return warp.fail(line, std::countr_zero(warp.active),
                     format("divergent barrier: lane %d of the warp has exited",
                            std::countr_zero(gone)));
  return warp.meet(line, warp.present);
}

/// Instruction::option: .relaxed, which orders nothing.
Step arrive(Warp &warp, const Instruction &line) {
  Step step = gather(warp, line);
  if (step != Step::Next)
    return step;
  Cluster &cluster = warp.block.cluster;
  uint32_t &come = cluster.barrier.lanes[warp.block.warpInCluster(warp)];
  if (uint32_t twice = come & warp.active)
    return warp.fail(line, std::countr_zero(twice),
                     "arrives at the cluster's barrier twice in one phase");
  come |= warp.active;
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1)
      warp.clusterPhase[lane] = cluster.barrier.phase + 1;
  if (!line.option)
    warp.block.arrive(warp, cluster.barrier.arrived);
  cluster.completeBarrier();
  return Step::Next;
}

Step wait(Warp &warp, const Instruction &line) {
  Step step = gather(warp, line);
  if (step != Step::Next)
    return step;
  Cluster &cluster = warp.block.cluster;
  cluster.completeBarrier();
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    if (!warp.clusterPhase[lane])
      return warp.fail(line, lane,
                       "waits at the cluster's barrier without having arrived");
    if (cluster.barrier.phase < warp.clusterPhase[lane])
      return Step::Retry;
  }
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1)
      warp.clusterPhase[lane] = 0;
  warp.block.depart(warp, cluster.barrier.completed);
  warp.metCluster = true;
  warp.block.waitedPhases = cluster.barrier.phase;
  return Step::Next;
}

/// Operands: result, address, rank.
Step mapAddress(Warp &warp, const Instruction &line) {
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    uint64_t address = warp.value(line.operands[1], lane);
    uint64_t rank = warp.value(line.operands[2], lane);
    if (rank >= warp.block.cluster.blocks.size())
      return warp.fail(
          line, lane,
          format("there is no block %llu in a cluster of %llu",
                 (unsigned long long)rank,
                 (unsigned long long)warp.block.cluster.blocks.size()));
    uint64_t window = address & ~window::kMask;
    uint64_t offset = address & ((uint64_t(1) << kRankShift) - 1);
    warp.setValue(line.operands[0], lane, window | inBlock(rank, offset));
  }
  return Step::Next;
}

Step rankOf(Warp &warp, const Instruction &line) {
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1) {
      uint64_t address = warp.value(line.operands[1], lane) & window::kMask;
      uint64_t rank = address >> kRankShift;
      warp.setValue(line.operands[0], lane, rank ? rank - 1 : warp.block.rank);
    }
  return Step::Next;
}

bool takeAddressType(Line &line, Type &type) {
  line.out.space =
      line.take("shared::cluster") ? Space::Cluster : Space::Generic;
  return line.takeType(type);
}

bool decodeMapAddress(Line &line) {
  Type type;
  return takeAddressType(line, type) && line.expect(3) &&
         line.target(0, type) && line.source(1, type) && line.source(2, kU32) &&
         line.finish(mapAddress);
}

bool decodeRank(Line &line) {
  Type type; // Of the result; the address is as wide as its register.
  return takeAddressType(line, type) && line.expect(2) &&
         line.target(0, kU32) && line.source(1, kU32, true) &&
         line.finish(rankOf);
}

} // namespace

bool decodeClusterBarrier(Line &line) {
  int action = line.takeOneOf({"arrive", "wait"});
  if (action < 0)
    return line.fail("one of .arrive .wait is missing");
  line.takeOneOf({"release", "acquire"});
  line.out.option = line.take("relaxed");
  line.out.second = line.take("aligned");
  return line.expect(0) && line.finish(action ? wait : arrive);
}

Block *Warp::peer(const Instruction &line, int lane, uint64_t address,
                  uint32_t &offset) {
  address &= window::kMask;
  uint64_t rank = address >> kRankShift;
  offset = uint32_t(address & ((1u << kRankShift) - 1));
  if (rank == 0)
    return &block;
  std::deque<Block> &blocks = block.cluster.blocks;
  if (rank <= blocks.size())
    return &blocks[rank - 1];
  fail(line, lane,
       format("0x%llx is in no block of the cluster",
              (unsigned long long)address));
  return nullptr;
}

bool Warp::checkPeer(const Instruction &line, int lane, Block &home,
                     bool stays) {
  if (&home == &block)
    return true;
  if (home.finished()) {
    fail(line, lane,
         format("block %u of the cluster has exited: its shared memory is gone",
                home.rank));
    return false;
  }
  uint32_t slot = block.warpInCluster(*this);
  const ClusterBarrier &barrier = block.cluster.barrier;
  home.visits.resize(block.cluster.warps);
  if (stays)
    home.visits[slot] = {this, &line, lane, clock[slot],
                         barrier.phase + (barrier.lanes[slot] != 0)};
  for (const Warp &warp : home.warps)
    if (metCluster || clock[home.warpInCluster(warp)] > clock.start)
      return true;
  fail(line, lane,
       format("block %u of the cluster may not have begun: a barrier.cluster "
              "comes first",
              home.rank));
  return false;
}

bool checkVisits(Block &block) {
  for (uint32_t slot = 0; slot < block.visits.size(); ++slot) {
    const Block::Visit &visit = block.visits[slot];
    if (!visit.warp || visit.phase < block.waitedPhases ||
        std::any_of(
            block.warps.begin(), block.warps.end(),
            [&](const Warp &warp) { return warp.clock[slot] >= visit.epoch; }))
      continue;
    visit.warp->fail(*visit.line, visit.lane,
                     format("block %u of the cluster may have exited: its "
                            "shared memory is gone",
                            block.rank));
    return false;
  }
  return true;
}

bool Warp::checkUnused(const Instruction &line, int lane, const Block &home,
                       uint64_t offset, uint32_t bytes) {
  if (memchr(&home.sharedWritten[offset], Block::kBarrier, bytes)) {
    fail(line, lane,
         format("writes %u bytes of shared memory at 0x%llx, where there is an "
                "mbarrier",
                bytes, (unsigned long long)offset));
    return false;
  }
  for (const Block::Busy &busy : home.busy)
    if (offset < busy.end && busy.first < offset + bytes) {
      fail(line, lane,
           format("writes shared memory at 0x%llx, which the copy of line %u `",
                  (unsigned long long)offset, busy.line->line) +
               program.texts[busy.line->textIndex] +
               "` may still read: nobody has waited for it");
      return false;
    }
  return true;
}

void addClusterInstructions(DecodeTable &table) {
  table["getctarank"] = decodeRank;
  table["mapa"] = decodeMapAddress;
}

} // namespace tenon::sim
