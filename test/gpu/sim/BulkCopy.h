//===- BulkCopy.h - cp.async.bulk under way -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_GPU_SIM_BULKCOPY_H
#define TENON_TEST_GPU_SIM_BULKCOPY_H

#include "test/gpu/sim/TensorMap.h"

#include <cstdint>
#include <vector>

namespace tenon::sim {

class Block;
class Warp;
struct Instruction;

/// One bulk copy of one thread, between a box in global memory and bytes side
/// by side in shared memory.
struct BulkCopy {
  const Instruction *line = nullptr;
  Warp *warp = nullptr;
  int lane = 0;
  TensorMap map;
  int32_t at[TensorMap::kMostAxes] = {};
  uint32_t shared = 0;  // Offset in a block's.
  uint32_t barrier = 0; // Of a load: the offset of what counts its bytes.
  uint32_t blocks = 0;  // Of a load: who gets it, by rank.
  uint32_t group = 0;   // Of a store.
  bool copied = false;  // Happened, though nobody may know.

  uint32_t bytes() const { return map.boxBytes(); }
};

/// A thread's stores in the order of issue.
struct BulkStores {
  std::vector<BulkCopy> copies;
  uint32_t committed = 0; // Groups so far; copies of the open one bear it.
};

/// Moves the bytes; what was freed since reads as zeros.
void performLoad(const BulkCopy &copy, Block &target);
void performStore(const BulkCopy &copy);

/// Begins a copy, or reports and returns false.
bool beginLoad(BulkCopy copy);
bool beginStore(BulkCopy copy);
/// Ends a load: its bytes count at the barriers.
bool finishLoad(BulkCopy &copy);
/// Ends a thread's stores of the groups before `end`.
void finishStores(Warp &warp, int lane, uint32_t end);

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_BULKCOPY_H
