//===- Warpgroup.h - Four warps that multiply matrices --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_GPU_SIM_WARPGROUP_H
#define TENON_TEST_GPU_SIM_WARPGROUP_H

#include "test/gpu/sim/Warp.h"

#include <cstdint>
#include <deque>

namespace tenon::sim {

class Cluster;

/// One wgmma.mma_async.
struct Product {
  const Instruction *line = nullptr;
  uint64_t left = 0, right = 0; // Descriptors; left: unless in registers.
  bool adds = false;            // To the sums; else they count as zeros.

  bool operator==(const Product &) const = default;
};

/// A matrix in shared memory, as a descriptor says: in pieces of 16 bytes. Of
/// a matrix whose k lies side by side, piece (i, j) is row i (of M or N) and
/// the j-th 16 bytes of k; of a transposed one, k = i and 8 rows from 8 * j.
class MatrixPlace {
public:
  MatrixPlace(uint64_t descriptor, bool transposed);

  bool isSound() const; // What must be zero is.
  uint32_t piece(uint32_t i, uint32_t j) const;

private:
  uint64_t descriptor;
  bool transposed;
  uint32_t start, leading, stride, span, swizzle;
};

struct Warpgroup {
  static constexpr uint32_t kWarps = 4;

  Warpgroup(const Cluster &cluster, uint32_t engine, uint32_t threads);

  uint32_t engine; // Its slot in clocks; epochs are start + a number.
  uint32_t start;
  std::deque<Product> waiting; // Issued and not performed.
  uint32_t issued = 0, performed = 0;
  uint32_t registers; // A thread's; setmaxnreg changes it.

  // What some of its warps have come to.
  Product gathering;
  uint32_t come = 0;
};

/// Multiplies and adds, in the registers of the four warps from `first` on.
void performProduct(Block &block, uint32_t first, const Product &product);
/// Whether no product of the block is in flight; else false after a report.
bool finishProducts(Block &block);
/// Whether an instruction keeps off the registers of products in flight.
bool checkProducts(Warp &warp, const Instruction &line);

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_WARPGROUP_H
