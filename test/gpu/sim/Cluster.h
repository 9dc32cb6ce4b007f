//===- Cluster.h - Thread blocks that run together ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_GPU_SIM_CLUSTER_H
#define TENON_TEST_GPU_SIM_CLUSTER_H

#include "test/gpu/sim/Block.h"
#include "test/gpu/sim/BulkCopy.h"

#include <deque>
#include <vector>

namespace tenon::sim {

/// barrier.cluster: a phase ends when every thread that has not exited came.
struct ClusterBarrier {
  uint32_t phase = 0;
  Clock arrived, completed;
  std::vector<uint32_t> lanes; // That have come, by warp of the cluster.
};

class Cluster {
public:
  Cluster(LaunchState &state, const uint32_t (&first)[3]);

  LaunchState &state;
  const uint32_t start;   // Epochs up to this are those of earlier clusters.
  const uint32_t warps;   // The first slots of clocks.
  const uint32_t readers; // With those of warpgroups.
  uint32_t engines;       // The next free slot.
  std::deque<Block> blocks;
  ClusterBarrier barrier;
  std::vector<BulkCopy> loads; // Under way.
  bool delivered = false;      // While threads polled, in this round.

  /// Runs to the end; false: failed.
  bool run();
  /// Lets one asynchronous piece of work end; false: none did.
  bool deliver();
  /// Where the order says so, something ends while a thread polls.
  void deliverSometimes();
  /// Ends the barrier's phase if all have come.
  void completeBarrier();

private:
  bool step(bool &progressed, bool &finished);
  bool checkEnd(); // Whether nothing is under way.
  bool checkCopied(Block &block, const PhaseBarrier &barrier);
  bool deliverLoad(size_t which);
  void reportDeadlock();
};

/// Whether the block waited for whoever used its shared memory.
bool checkVisits(Block &block);

/// Where shared memory of a block of the cluster begins in the addresses of
/// shared::cluster. Below: the block's own.
constexpr uint32_t kRankShift = 24;
inline uint64_t inBlock(uint32_t rank, uint64_t offset) {
  return uint64_t(rank + 1) << kRankShift | offset;
}

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_CLUSTER_H
