//===- GuardedBuffer.h - Memory of a kernel that is tested -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_COMPILER_TARGETS_CPU_GUARDEDBUFFER_H
#define TENON_TEST_COMPILER_TARGETS_CPU_GUARDEDBUFFER_H

#include <cstring>
#include <optional>
#include <sys/mman.h>
#include <utility>
#include <vector>

namespace tenon::test {

/// Memory that ends where an unreadable page begins.
class GuardedBuffer {
public:
  explicit GuardedBuffer(size_t bytes) : bytes(bytes) {
    mapped = (bytes + page - 1) / page * page + page;
    base = static_cast<char *>(mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base + mapped - page, page, PROT_NONE);
    std::memset(data(), untouched, bytes);
  }
  GuardedBuffer(GuardedBuffer &&other)
      : bytes(other.bytes), mapped(other.mapped),
        base(std::exchange(other.base, nullptr)) {}
  ~GuardedBuffer() {
    if (base)
      munmap(base, mapped);
  }
  char *data() const { return base + mapped - page - bytes; }

  /// Rows of `rowBytes`, `pitchBytes` from one to the next, one behind the
  /// other; none where something was written between them.
  std::optional<std::vector<char>> rows(size_t rowBytes,
                                        size_t pitchBytes) const {
    std::vector<char> dense;
    for (size_t at = 0; at < bytes; ++at)
      if (at % pitchBytes < rowBytes)
        dense.push_back(data()[at]);
      else if (data()[at] != char(untouched))
        return std::nullopt;
    return dense;
  }

  size_t bytes;

private:
  static constexpr int untouched = 0xCD;
  static constexpr size_t page = 4096;
  size_t mapped;
  char *base;
};

} // namespace tenon::test

#endif // TENON_TEST_COMPILER_TARGETS_CPU_GUARDEDBUFFER_H
