//===- Memory.h - Arrays and aligned memory without exceptions ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime links no C++ library, so it has its own two containers.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_RUNTIME_MEMORY_H
#define TENON_RUNTIME_MEMORY_H

#include "runtime/tenon.h"

#include <new>
#include <stdint.h>
#include <stdlib.h>
#include <type_traits>

namespace tenon::runtime {

/// What the system may back with one entry of its translation tables.
constexpr uint64_t hugePage = uint64_t(2) << 20;

/// A fixed number of elements, all bytes zero at first.
template <typename T> class Array {
public:
  Array() = default;
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;
  ~Array() {
    for (T &element : *this)
      element.~T();
    free(data);
  }

  /// False when memory is short. Call once.
  [[nodiscard]] bool allocate(size_t newCount) {
    data = static_cast<T *>(calloc(newCount ? newCount : 1, sizeof(T)));
    count = data ? newCount : 0;
    if constexpr (!std::is_trivially_default_constructible_v<T>)
      for (T &element : *this)
        new (&element) T();
    return data;
  }

  T &operator[](size_t index) { return data[index]; }
  const T &operator[](size_t index) const { return data[index]; }
  T *begin() { return data; }
  T *end() { return data + count; }
  const T *begin() const { return data; }
  const T *end() const { return data + count; }
  size_t size() const { return count; }

private:
  T *data = nullptr;
  size_t count = 0;
};

/// Aligned to TENON_BUFFER_ALIGN, or where it is large, to pages that the
/// system may make huge; for free(). Null when memory is short.
void *allocateOnHost(uint64_t bytes);

/// What a session may take in all, and where from.
struct MemoryBudget {
  uint64_t limit = UINT64_MAX;
  uint64_t used = 0;
  uint64_t growths = 0;             // How often a block has moved.
  tenon_device_t *device = nullptr; // Whose memory it is; null: the host's.
};

/// 64-byte aligned memory that only grows; growing loses the contents, which
/// nothing may use any more.
class Block {
public:
  Block() = default;
  Block(const Block &) = delete;
  Block &operator=(const Block &) = delete;
  ~Block() { release(); }

  /// Makes room for `bytes`, charged to `budget`. False when memory is short
  /// or the budget spent; the block is then empty.
  [[nodiscard]] bool reserve(uint64_t bytes, MemoryBudget &budget);

  char *get() const { return data; }
  uint64_t capacity() const { return size; }

private:
  void release();

  char *data = nullptr;
  uint64_t size = 0;
  tenon_device_t *device = nullptr; // Whose memory it is.
};

/// Creates an object that `destroy` frees; null when memory is short.
template <typename T> T *create() {
  void *memory = aligned_alloc(alignof(T) < 64 ? 64 : alignof(T),
                               (sizeof(T) + 63) / 64 * 64);
  return memory ? new (memory) T() : nullptr;
}

template <typename T> void destroy(T *object) {
  if (!object)
    return;
  object->~T();
  free(object);
}

} // namespace tenon::runtime

#endif // TENON_RUNTIME_MEMORY_H
