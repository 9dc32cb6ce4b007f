//===- WarpProducts.h - A warp's part in products of its warpgroup --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_GPU_SIM_WARPPRODUCTS_H
#define TENON_TEST_GPU_SIM_WARPPRODUCTS_H

#include <cstdint>
#include <vector>

namespace tenon::sim {

struct Instruction;

/// Products are numbered from 1 in the order of issue, alike in all warps.
struct WarpProducts {
  /// The last product that uses a register.
  struct Use {
    uint32_t number = 0;
    const Instruction *line = nullptr;
  };
  uint32_t issued = 0, retired = 0;
  std::vector<uint32_t> groups; // Products issued when each was committed.
  std::vector<Use> sums, left;  // By register.
  bool fenced = false;          // There was a wgmma.fence.

  bool inFlight() const { return issued > retired; }
  bool isSum(uint32_t index) const { return sums[index].number > retired; }
  bool isLeft(uint32_t index) const { return left[index].number > retired; }

  // Registers that other instructions have set since the last wgmma.fence.
  void touch(const Instruction &instruction);
  bool isTouched(uint32_t index) const { return touched[index]; }
  void fence();

  void resize(uint32_t registers);

private:
  std::vector<bool> touched;
  std::vector<uint32_t> touchedList;
};

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_WARPPRODUCTS_H
