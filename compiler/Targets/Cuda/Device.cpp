//===- Device.cpp - What a GPU can do, for predictions --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/Device.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace tenon::cuda {

// Bytes are 90 % of what the data sheets give: what copies are seen to reach.
static const Device table[] = {
    {"A100", 80, 108, 2048, 32, 65536, 167936, 19.5e12, 312e12, 1.83e12},
    {"H200", 90, 132, 2048, 32, 65536, 233472, 66.9e12, 989e12, 4.3e12},
    {"B200", 100, 148, 2048, 32, 65536, 233472, 74.5e12, 2250e12, 7.2e12},
    {"RTX 5090", 120, 170, 1536, 24, 65536, 102400, 104.8e12, 209.5e12,
     1.61e12},
};

llvm::ArrayRef<Device> devices() { return table; }

const Device *findDevice(unsigned sm) {
  for (const Device &device : table)
    if (device.sm == sm)
      return &device;
  return nullptr;
}

int64_t blocksPerMultiprocessor(const Device &device, int64_t threads,
                                int64_t sharedBytes, unsigned registers) {
  // Registers go to warps in lots of 256, and shared memory in lots of 1 KiB,
  // one of which the system takes of each block.
  constexpr int64_t warp = 32, registerLot = 256, sharedLot = 1024;
  int64_t warps = llvm::divideCeil(std::max<int64_t>(threads, 1), warp);
  int64_t fits = std::min(device.blocks, device.threads / (warps * warp));
  if (registers > 0)
    fits = std::min(fits, device.registers /
                              (warps * int64_t(llvm::alignTo(registers * warp,
                                                             registerLot))));
  return std::min(
      fits, device.sharedBytes /
                int64_t(llvm::alignTo(sharedBytes, sharedLot) + sharedLot));
}

} // namespace tenon::cuda
