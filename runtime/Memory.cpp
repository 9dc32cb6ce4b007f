//===- Memory.cpp - Aligned memory that only grows ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Memory.h"
#include "runtime/Cuda/Device.h"
#include "runtime/model_format.h"

#include <sys/mman.h>

using namespace tenon::runtime;

void *tenon::runtime::allocateOnHost(uint64_t bytes) {
  // Large blocks start on a huge page: fewer TLB misses and page faults.
  uint64_t alignment = bytes >= 2 * hugePage ? hugePage : TENON_BUFFER_ALIGN;
  void *memory = nullptr;
  if (posix_memalign(&memory, alignment, bytes))
    return nullptr;
  if (alignment == hugePage)
    madvise(memory, bytes, MADV_HUGEPAGE); // A wish; it may fail.
  return memory;
}

void Block::release() {
  if (data && device)
    device->free(data);
  else
    free(data);
  data = nullptr;
  size = 0;
}

bool Block::reserve(uint64_t bytes, MemoryBudget &budget) {
  if (bytes <= size)
    return true;
  budget.used -= size;
  ++budget.growths;
  release();
  if (bytes > budget.limit || budget.used > budget.limit - bytes)
    return false;
  uint64_t rounded;
  if (__builtin_add_overflow(bytes, uint64_t(TENON_BUFFER_ALIGN - 1),
                             &rounded) ||
      rounded > INT64_MAX)
    return false;
  rounded &= ~uint64_t(TENON_BUFFER_ALIGN - 1);
  device = budget.device;
  data = static_cast<char *>(device ? device->allocate(rounded)
                                    : allocateOnHost(rounded));
  if (!data)
    return false;
  size = bytes;
  budget.used += bytes;
  return true;
}
