//===- Memory.cpp - Aligned memory that only grows ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Memory.h"
#include "runtime/model_format.h"

#include <sys/mman.h>

using namespace tenon::runtime;

bool Block::reserve(uint64_t bytes, MemoryBudget &budget) {
  if (bytes <= size)
    return true;
  free(data);
  budget.used -= size;
  data = nullptr;
  size = 0;
  if (bytes > budget.limit || budget.used > budget.limit - bytes)
    return false;
  // Large blocks start on a huge page: fewer TLB misses and page faults.
  uint64_t alignment = bytes >= 2 * hugePage ? hugePage : TENON_BUFFER_ALIGN;
  uint64_t rounded;
  if (__builtin_add_overflow(bytes, uint64_t(TENON_BUFFER_ALIGN - 1),
                             &rounded) ||
      rounded > INT64_MAX)
    return false;
  rounded &= ~uint64_t(TENON_BUFFER_ALIGN - 1);
  void *memory = nullptr;
  if (posix_memalign(&memory, alignment, rounded))
    return false;
  data = static_cast<char *>(memory);
  if (alignment == hugePage)
    madvise(data, rounded, MADV_HUGEPAGE); // A wish; it may fail.
  size = bytes;
  budget.used += bytes;
  return true;
}
