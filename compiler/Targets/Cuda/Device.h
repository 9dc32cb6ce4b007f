//===- Device.h - What a GPU can do, for predictions ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CUDA_DEVICE_H
#define TENON_COMPILER_TARGETS_CUDA_DEVICE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace tenon::cuda {

/// A GPU by its data sheet; per second. Rates are without sparsity.
struct Device {
  llvm::StringRef name;
  unsigned sm; // 10 * major + minor of its compute capability.
  int64_t multiprocessors;
  int64_t threads, blocks; // That a multiprocessor holds at a time.
  int64_t registers;       // Of a multiprocessor, 32 bits each.
  int64_t sharedBytes;     // Of a multiprocessor, for blocks.
  double flops, halfFlops; // f32 multiply-adds; bf16 on tensor cores.
  double bytes;            // From memory, as a copy reaches it.
};

llvm::ArrayRef<Device> devices();

/// The device of a compute capability, or null.
const Device *findDevice(unsigned sm);

/// What ptxas says that a kernel takes. 0 registers: not known.
struct KernelResources {
  unsigned registers = 0;
  unsigned sharedBytes = 0; // Static; the launch adds its own.
  unsigned spillBytes = 0;
};

/// Blocks of `threads` threads that a multiprocessor holds at a time; 0: they
/// do not fit at all.
int64_t blocksPerMultiprocessor(const Device &device, int64_t threads,
                                int64_t sharedBytes, unsigned registers);

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_DEVICE_H
