//===- MemoryCalls.cpp - Memory of the device and of the host -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/driver/Call.h"
#include "test/gpu/driver/Queue.h"

#include <algorithm>
#include <sys/mman.h>

using namespace fake;

static unsigned long long print(uint64_t value) { return value; }

FAKE_CUDA cuMemGetInfo_v2(size_t *free, size_t *total) {
  Call call("cuMemGetInfo_v2", NeedsContext, Unknown);
  if (!call)
    return call.status();
  *total = call.driver.settings.memory;
  *free = *total - call.driver.memoryOf(call.current->handle).liveBytes();
  return call.done();
}

FAKE_CUDA cuMemAlloc_v2(Address *out, size_t bytes) {
  Call call("cuMemAlloc_v2", NeedsContext | Unsafe, OutOfMemory);
  if (!call)
    return call.status();
  if (!out || !bytes)
    return call.violate(InvalidValue, "%zu bytes are asked for", bytes);
  Driver &driver = call.driver;
  sim::Memory &memory = driver.memoryOf(call.current->handle);
  if (bytes > driver.settings.allocation)
    return call.refuse(OutOfMemory);
  Address address = memory.allocate(bytes);
  if (!address)
    return call.refuse(OutOfMemory);
  poison(memory.find(address, bytes), bytes);
  driver.devices[size_t(call.current->device)]->owners[address] =
      call.current->handle;
  *out = address;
  return call.done();
}

FAKE_CUDA cuMemFree_v2(Address address) {
  Call call("cuMemFree_v2", NeedsContext | Destroys | Unsafe, LaunchFailed);
  if (!call || !address) // Null is nothing to free.
    return call.status();
  Driver &driver = call.driver;
  sim::Memory &memory = driver.memoryOf(call.current->handle);
  uint64_t base = 0, bytes = 0;
  if (!memory.range(address, base, bytes))
    return call.violate(InvalidValue, "0x%llx is no live allocation: %s",
                        print(address), memory.explain(address, 1).c_str());
  if (base != address)
    return call.violate(InvalidValue, "0x%llx is inside an allocation",
                        print(address));
  std::string user = pendingUse(driver, address, bytes);
  if (!user.empty() && call.current->broken == Success)
    driver.violate("cuMemFree_v2: " + user + " uses the memory and is not " +
                   "finished: synchronise first");
  finishContext(driver, call.current->handle);
  memory.free(address);
  driver.devices[size_t(call.current->device)]->owners.erase(address);
  return call.done();
}

FAKE_CUDA cuMemHostAlloc(void **out, size_t bytes, unsigned flags) {
  Call call("cuMemHostAlloc", NeedsContext | Unsafe, OutOfMemory);
  if (!call)
    return call.status();
  if (!out || !bytes || flags & ~unsigned(HostAllocFlagMask))
    return call.violate(InvalidValue, "%zu bytes, flags %u", bytes, flags);
  if (bytes > call.driver.settings.allocation)
    return call.refuse(OutOfMemory);
  void *block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED)
    return call.refuse(OutOfMemory);
  poison(block, bytes);
  call.driver.hostBlocks[reinterpret_cast<uint64_t>(block)] = {
      bytes, call.current->handle, true};
  *out = block;
  return call.done();
}

FAKE_CUDA cuMemFreeHost(void *block) {
  Call call("cuMemFreeHost", NeedsContext | Destroys | Unsafe, LaunchFailed);
  if (!call || !block)
    return call.status();
  Driver &driver = call.driver;
  auto known = driver.hostBlocks.find(reinterpret_cast<uint64_t>(block));
  if (known == driver.hostBlocks.end())
    return call.violate(InvalidValue, "%p is no host memory of the driver",
                        block);
  HostBlock &host = known->second;
  if (!host.live)
    return call.violate(InvalidValue, "%p was freed already", block);
  std::string user = pendingHostUse(driver, block, host.bytes);
  if (!user.empty() && call.current->broken == Success)
    driver.violate("cuMemFreeHost: " + user + " uses the memory and is not " +
                   "finished: synchronise first");
  finishContext(driver, call.current->handle);
  // Its addresses stay taken: a late use is a fault, not somebody's data.
  madvise(block, host.bytes, MADV_DONTNEED);
  mprotect(block, host.bytes, PROT_NONE);
  host.live = false;
  return call.done();
}

/// The block of ours that holds an address of the host.
static const HostBlock *hostBlockOf(const Driver &driver, uint64_t address,
                                    uint64_t &base) {
  auto after = driver.hostBlocks.upper_bound(address);
  if (after == driver.hostBlocks.begin())
    return nullptr;
  --after;
  base = after->first;
  bool holds = address - base < after->second.bytes && after->second.live;
  return holds ? &after->second : nullptr;
}

FAKE_CUDA cuPointerGetAttribute(void *out, PointerAttribute attribute,
                                Address pointer) {
  Call call("cuPointerGetAttribute", NeedsInit, InvalidValue);
  if (!call)
    return call.status();
  Driver &driver = call.driver;
  Device device = driver.deviceOf(pointer);
  uint64_t base = 0, bytes = 0;
  const HostBlock *host = hostBlockOf(driver, pointer, base);
  if (device < 0 && !host)
    return call.refuse(InvalidValue); // Any other memory of the host.
  Handle owner = host ? host->context : nullptr;
  if (host)
    bytes = host->bytes, device = driver.find<Context>(owner)->device;
  else if (driver.devices[size_t(device)]->memory.range(pointer, base, bytes))
    owner = driver.devices[size_t(device)]->owners[base];
  switch (attribute) {
  case PointerContext:
    *static_cast<Handle *>(out) = owner;
    break;
  case PointerMemoryType:
    *static_cast<unsigned *>(out) = host ? HostMemory : DeviceMemory;
    break;
  case PointerHost:
    if (!host)
      return call.refuse(InvalidValue);
    [[fallthrough]];
  case PointerDevice:
    *static_cast<Address *>(out) = pointer;
    break;
  case PointerOrdinal:
    *static_cast<int *>(out) = device;
    break;
  case PointerRangeStart:
    *static_cast<Address *>(out) = base;
    break;
  case PointerRangeSize:
    *static_cast<size_t *>(out) = bytes;
    break;
  default:
    return call.violate(InvalidValue, "attribute %d is not known here",
                        int(attribute));
  }
  return call.done();
}
