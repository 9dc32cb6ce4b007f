//===- Memory.cpp - Device memory of the PTX simulator --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Memory.h"
#include "test/gpu/sim/Allocation.h"
#include "test/gpu/sim/Text.h"

#include <cstring>
#include <iterator>

namespace tenon::sim {

namespace {
// Above 4 GiB, so that an address cut to 32 bits misses everything.
constexpr uint64_t kFirst = uint64_t(1) << 33;
constexpr uint64_t kGap = 1 << 16;
} // namespace

Memory::Memory(uint64_t limit) : limit(limit), next(kFirst) {}
Memory::~Memory() = default;

uint64_t Memory::allocate(uint64_t bytes) {
  if (bytes == 0 || bytes > limit || liveSize > limit - bytes)
    return 0;
  auto fresh = std::make_unique<Allocation>();
  fresh->base = next;
  fresh->size = bytes;
  // Zeroed pages cost nothing until they are touched.
  fresh->data.reset(static_cast<char *>(calloc(bytes, 1)));
  fresh->written.reset(
      static_cast<uint64_t *>(calloc((bytes + 63) / 64 + 1, 8)));
  if (!fresh->data || !fresh->written)
    return 0;
  uint64_t address = next;
  next += (bytes + 2 * kGap - 1) / kGap * kGap;
  live.emplace(address, std::move(fresh));
  liveSize += bytes;
  return address;
}

bool Memory::free(uint64_t address) {
  auto found = live.find(address);
  if (found == live.end())
    return false;
  liveSize -= found->second->size;
  freed[address] = found->second->size;
  live.erase(found);
  latest = nullptr;
  return true;
}

Allocation *Memory::allocation(uint64_t address) const {
  if (latest && address - latest->base < latest->size)
    return latest;
  auto after = live.upper_bound(address);
  if (after == live.begin())
    return nullptr;
  Allocation *candidate = std::prev(after)->second.get();
  if (address - candidate->base >= candidate->size)
    return nullptr;
  return latest = candidate;
}

char *Memory::find(uint64_t address, uint64_t bytes) const {
  Allocation *home = allocation(address);
  if (!home || bytes > home->size - (address - home->base))
    return nullptr;
  return home->data.get() + (address - home->base);
}

bool Memory::range(uint64_t address, uint64_t &base, uint64_t &bytes) const {
  Allocation *home = allocation(address);
  if (!home)
    return false;
  base = home->base;
  bytes = home->size;
  return true;
}

bool Memory::write(uint64_t address, const void *source, uint64_t bytes) {
  char *target = find(address, bytes);
  if (!target)
    return false;
  memcpy(target, source, bytes);
  markWritten(address, bytes);
  return true;
}

bool Memory::fill(uint64_t address, int value, uint64_t bytes) {
  char *target = find(address, bytes);
  if (!target)
    return false;
  memset(target, value, bytes);
  markWritten(address, bytes);
  return true;
}

bool Memory::read(uint64_t address, void *target, uint64_t bytes) const {
  const char *source = find(address, bytes);
  if (!source)
    return false;
  memcpy(target, source, bytes);
  return true;
}

void Memory::markWritten(uint64_t address, uint64_t bytes) {
  if (Allocation *home = allocation(address))
    if (bytes && bytes <= home->size - (address - home->base))
      home->markWritten(address - home->base, bytes);
}

bool Memory::isWritten(uint64_t address, uint64_t bytes) const {
  Allocation *home = allocation(address);
  if (!home || bytes > home->size - (address - home->base))
    return false;
  return bytes == 0 || home->isWritten(address - home->base, bytes);
}

std::string Memory::explain(uint64_t address, uint64_t bytes) const {
  auto after = freed.upper_bound(address);
  if (after != freed.begin()) {
    auto [base, size] = *std::prev(after);
    if (address - base < size)
      return format("which lies %llu bytes into the %llu bytes at 0x%llx that "
                    "were freed",
                    address - base, size, base);
  }
  auto above = live.upper_bound(address);
  if (above != live.begin()) {
    const Allocation &below = *std::prev(above)->second;
    uint64_t end = below.base + below.size;
    if (address + bytes > end && address < end + kGap)
      return format("which ends %llu bytes past the end of the %llu bytes at "
                    "0x%llx",
                    address + bytes - end, below.size, below.base);
  }
  if (above != live.end() && above->first - address < kGap)
    return format("which lies %llu bytes before the %llu bytes at 0x%llx",
                  above->first - address, above->second->size, above->first);
  return "where nothing was allocated";
}

void Allocation::markWritten(uint64_t offset, uint64_t bytes) {
  uint64_t end = offset + bytes;
  while (offset < end) {
    uint64_t bit = offset % 64, count = std::min(end - offset, 64 - bit);
    uint64_t mask = count == 64 ? ~uint64_t(0) : ((uint64_t(1) << count) - 1);
    written[offset / 64] |= mask << bit;
    offset += count;
  }
}

bool Allocation::isWritten(uint64_t offset, uint64_t bytes) const {
  uint64_t end = offset + bytes;
  while (offset < end) {
    uint64_t bit = offset % 64, count = std::min(end - offset, 64 - bit);
    uint64_t mask = count == 64 ? ~uint64_t(0) : ((uint64_t(1) << count) - 1);
    if (~written[offset / 64] & mask << bit)
      return false;
    offset += count;
  }
  return true;
}

} // namespace tenon::sim
