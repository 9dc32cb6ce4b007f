//===- WgmmaShape.h - What a wgmma.mma_async multiplies -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of its instruction: operands are sums, the left matrix (one descriptor, or
// counts[1] registers), the right one's descriptor, and whether it adds.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_GPU_SIM_WGMMASHAPE_H
#define TENON_TEST_GPU_SIM_WGMMASHAPE_H

#include "test/gpu/sim/Program.h"

namespace tenon::sim {

class Line;

/// Bits of Instruction::option.
enum WgmmaFlag : uint8_t {
  LeftNegated = 1,
  RightNegated = 2,
  LeftTransposed = 4,
  RightTransposed = 8,
  HalfSums = 16
};

struct WgmmaShape {
  explicit WgmmaShape(const Instruction &line)
      : columns(line.counts[2] * 8u), depth(256u / line.type.bits),
        leftTransposed(line.option & LeftTransposed),
        rightTransposed(line.option & RightTransposed) {}

  uint32_t columns, depth; // N, K: of K there are 32 bytes.
  bool leftTransposed, rightTransposed;

  /// How many pieces a matrix of so many rows, of M or N, has.
  uint32_t outer(uint32_t rows, bool transposed) const {
    return transposed ? depth : rows;
  }
  uint32_t pieces(uint32_t rows, bool transposed) const {
    return transposed ? rows / 8 : 2;
  }
};

Step multiplyAsync(Warp &warp, const Instruction &line);
Step fenceProducts(Warp &warp, const Instruction &line);
Step commitProducts(Warp &warp, const Instruction &line);
Step waitForProducts(Warp &warp, const Instruction &line);
bool decodeSetRegisters(Line &line);

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_WGMMASHAPE_H
