//===- Memory.h - Device memory of the PTX simulator ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Global memory as separate allocations. Addresses are never given out twice
// and allocations never touch, so that an access past an end, or to what was
// freed, always misses. Every byte knows whether it was ever written.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_GPU_SIM_MEMORY_H
#define TENON_TEST_GPU_SIM_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace tenon::sim {

struct Allocation;

class Memory {
public:
  static constexpr uint64_t kAlignment = 256;

  /// At most `limit` bytes are alive at a time.
  explicit Memory(uint64_t limit = uint64_t(16) << 30);
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  /// A new allocation's address, a multiple of kAlignment; 0 if `bytes` is 0
  /// or does not fit. Its bytes count as never written.
  uint64_t allocate(uint64_t bytes);

  /// False unless `address` is the first of a live allocation.
  bool free(uint64_t address);

  /// The host's view of [address, address + bytes); null unless it lies inside
  /// one live allocation. Whoever writes through it calls markWritten.
  char *find(uint64_t address, uint64_t bytes) const;

  /// First address and size of the live allocation that holds `address`.
  bool range(uint64_t address, uint64_t &base, uint64_t &bytes) const;

  /// Copies by the host; false (and nothing is copied) where find is null.
  bool write(uint64_t address, const void *source, uint64_t bytes);
  bool fill(uint64_t address, int value, uint64_t bytes);
  bool read(uint64_t address, void *target, uint64_t bytes) const;

  void markWritten(uint64_t address, uint64_t bytes);
  /// Whether every byte was written since its allocation.
  bool isWritten(uint64_t address, uint64_t bytes) const;

  /// Why find is null there: "4 bytes past the end of the allocation of ...".
  std::string explain(uint64_t address, uint64_t bytes) const;

  size_t liveCount() const { return live.size(); }
  uint64_t liveBytes() const { return liveSize; }

  /// The live allocation that holds `address`, or null.
  Allocation *allocation(uint64_t address) const;

private:
  std::map<uint64_t, std::unique_ptr<Allocation>> live; // By first address.
  std::map<uint64_t, uint64_t> freed;                   // Address to size.
  mutable Allocation *latest = nullptr;
  uint64_t limit, liveSize = 0, next;
};

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_MEMORY_H
