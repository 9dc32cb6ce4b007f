//===- Block.h - A thread block while it runs -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_GPU_SIM_BLOCK_H
#define TENON_TEST_GPU_SIM_BLOCK_H

#include "test/gpu/sim/Phases.h"
#include "test/gpu/sim/Simulator.h"
#include "test/gpu/sim/Warp.h"
#include "test/gpu/sim/Warpgroup.h"

#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace tenon::sim {

class Cluster;

/// What all blocks of a launch share.
struct LaunchState {
  const Kernel &kernel;
  const Program &program;
  Memory &memory;
  const Launch &launch;
  Counts counts;
  std::string error;
  std::mt19937 random;
  GlobalShadow globalShadow;
  std::vector<SharedShadow> sharedShadows; // By rank in the cluster.
  uint32_t cluster = 0;                    // The one that runs, in the grid.
  uint32_t epoch = 1;                      // Past all of earlier clusters.
};

/// bar.sync and its kin: a barrier by number.
struct NamedBarrier {
  struct Waiting {
    Warp *warp;
    uint32_t mask;
    const Instruction *instruction; // A reduction's, to deliver its result.
  };
  uint32_t arrived = 0, expected = 0; // Threads.
  uint32_t votes = 0, voters = 0;     // Of a reduction: true ones, and all.
  std::vector<Waiting> waiting;
  Clock clock;
};

/// An arrival that waits for a thread's copies.
struct PendingArrival {
  Warp *warp;
  int lane;
  uint32_t end; // Copies before this number.
  uint32_t barrier;
  const Instruction *instruction;
};

class Block {
public:
  Block(Cluster &cluster, const uint32_t (&index)[3], uint32_t rank);

  /// What sharedWritten says of bytes that are an mbarrier's.
  static constexpr char kBarrier = 2;

  /// Shared memory that a bulk store may still read.
  struct Busy {
    uint32_t first, end;
    const Instruction *line;
  };

  /// The last use that a warp of another block made of its shared memory.
  struct Visit {
    Warp *warp = nullptr;
    const Instruction *line = nullptr;
    int lane = 0;
    uint32_t epoch = 0;
    uint32_t phase = 0; // Of barrier.cluster that came behind it.
  };

  Cluster &cluster;
  LaunchState &state;
  uint32_t index[3]; // %ctaid
  uint32_t rank;     // In its cluster.
  uint32_t threads;
  std::vector<char> shared, sharedWritten;
  NamedBarrier barriers[16];
  std::map<uint32_t, PhaseBarrier> phases; // By place in shared memory.
  std::vector<PendingArrival> pending;
  std::vector<Busy> busy;
  std::vector<Visit> visits;         // By warp of the cluster; empty: none.
  uint32_t waitedPhases = 0;         // Of barrier.cluster.
  std::vector<Warpgroup> warpgroups; // None without their products.
  std::deque<Warp> warps;

  /// Lets one asynchronous piece of work end; false: none did.
  bool deliver();

  // What warps have seen of each other.
  uint32_t warpInCluster(const Warp &warp) const {
    return rank * uint32_t(warps.size()) + warp.index;
  }
  void tick(Warp &warp); // A new epoch.
  void arrive(Warp &warp, Clock &clock);
  void depart(Warp &warp, const Clock &clock) { join(warp.clock, clock); }
  /// Others see the mbarriers that the warp initialised; `all`: or knows of.
  void publishBarriers(const Warp &warp, bool all);
  SharedShadow &shadow() { return state.sharedShadows[rank]; }

  /// Lets each warp run for a while; false: failed.
  bool round();
  bool finished() const;
  bool progressed = false;
  /// The sentences about who waits where.
  std::string explainWaits() const;
  void threadIndex(uint32_t thread, uint32_t (&out)[3]) const;
};

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_BLOCK_H
