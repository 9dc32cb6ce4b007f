//===- CopyCalls.cpp - Copies and fills -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/driver/Call.h"
#include "test/gpu/driver/Queue.h"

#include <cstring>

using namespace fake;

namespace {
/// Both are checked when the copy is asked for and again when it is done.
bool isDeviceRange(Call &call, const char *what, Address address,
                   uint64_t bytes) {
  sim::Memory &memory = call.driver.memoryOf(call.current->handle);
  if (memory.find(address, bytes))
    return true;
  Device other = call.driver.deviceOf(address);
  if (other >= 0 && other != call.current->device)
    call.violate(InvalidValue, "the %s is memory of device %d", what, other);
  else
    call.violate(InvalidValue, "the %s: %s", what,
                 memory.explain(address, bytes).c_str());
  return false;
}

bool isHostRange(Call &call, const char *what, void *host, uint64_t bytes,
                 bool writes) {
  auto address = reinterpret_cast<uint64_t>(host);
  for (auto &[base, block] : call.driver.hostBlocks) {
    if (address < base || address - base >= block.bytes)
      continue;
    if (!block.live)
      call.violate(InvalidValue, "the %s is host memory that was freed", what);
    else if (bytes > block.bytes - (address - base))
      call.violate(InvalidValue, "the %s ends %llu bytes after its host memory",
                   what,
                   static_cast<unsigned long long>(address - base + bytes -
                                                   block.bytes));
    else
      return true;
    return false;
  }
  if (writes ? isWritable(host, bytes) : isReadable(host, bytes))
    return true;
  if (call.driver.deviceOf(address) >= 0)
    call.violate(InvalidValue, "the %s is memory of the device, not the host",
                 what);
  else
    call.violate(InvalidValue, "the %s is no memory of the host", what);
  return false;
}

Operation operationOf(Operation::Kind kind, const Call &call) {
  Operation operation;
  operation.kind = kind;
  operation.call = call.name;
  return operation;
}

Status copyIn(Call &call, Address to, const void *from, uint64_t bytes,
              Handle handle, bool wait) {
  Stream *stream = call ? call.stream(handle) : nullptr;
  void *host = const_cast<void *>(from);
  if (!stream || !bytes || !isDeviceRange(call, "target", to, bytes) ||
      !isHostRange(call, "source", host, bytes, false))
    return call.status();
  Operation operation = operationOf(Operation::CopyIn, call);
  operation.to = to, operation.host = host, operation.bytes = bytes;
  issue(call.driver, *stream, std::move(operation));
  if (Status status = wait ? finishStream(call.driver, *stream) : Success)
    return call.refuse(status);
  return call.done();
}

Status copyOut(Call &call, void *to, Address from, uint64_t bytes,
               Handle handle, bool wait) {
  Stream *stream = call ? call.stream(handle) : nullptr;
  if (!stream || !bytes || !isDeviceRange(call, "source", from, bytes) ||
      !isHostRange(call, "target", to, bytes, true))
    return call.status();
  Operation operation = operationOf(Operation::CopyOut, call);
  operation.from = from, operation.host = to, operation.bytes = bytes;
  issue(call.driver, *stream, std::move(operation));
  if (Status status = wait ? finishStream(call.driver, *stream) : Success)
    return call.refuse(status);
  return call.done();
}

Status fillWith(Call &call, Address to, uint32_t value, uint32_t width,
                uint64_t count, Handle handle) {
  Stream *stream = call ? call.stream(handle) : nullptr;
  uint64_t bytes = count * width;
  if (!stream || !bytes || !isDeviceRange(call, "target", to, bytes))
    return call.status();
  if (to % width)
    return call.violate(InvalidValue, "the target is not aligned to %u bytes",
                        width);
  Operation operation = operationOf(Operation::Fill, call);
  operation.to = to, operation.bytes = bytes;
  operation.value = value, operation.width = width;
  issue(call.driver, *stream, std::move(operation));
  return call.done();
}
} // namespace

FAKE_CUDA cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes,
                               Handle stream) {
  Call call("cuMemcpyHtoDAsync_v2", NeedsContext, InvalidValue);
  return copyIn(call, to, from, bytes, stream, false);
}

FAKE_CUDA cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes,
                               Handle stream) {
  Call call("cuMemcpyDtoHAsync_v2", NeedsContext, InvalidValue);
  return copyOut(call, to, from, bytes, stream, false);
}

FAKE_CUDA cuMemcpyHtoD_v2(Address to, const void *from, size_t bytes) {
  Call call("cuMemcpyHtoD_v2", NeedsContext | Unsafe, InvalidValue);
  return copyIn(call, to, from, bytes, nullptr, true);
}

FAKE_CUDA cuMemcpyDtoH_v2(void *to, Address from, size_t bytes) {
  Call call("cuMemcpyDtoH_v2", NeedsContext | Unsafe, InvalidValue);
  return copyOut(call, to, from, bytes, nullptr, true);
}

FAKE_CUDA cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes,
                               Handle handle) {
  Call call("cuMemcpyDtoDAsync_v2", NeedsContext, InvalidValue);
  Stream *stream = call ? call.stream(handle) : nullptr;
  if (!stream || !bytes || !isDeviceRange(call, "target", to, bytes) ||
      !isDeviceRange(call, "source", from, bytes))
    return call.status();
  if (to < from + bytes && from < to + bytes)
    return call.violate(InvalidValue, "the source and the target overlap");
  Operation operation = operationOf(Operation::CopyDevice, call);
  operation.to = to, operation.from = from, operation.bytes = bytes;
  issue(call.driver, *stream, std::move(operation));
  return call.done();
}

FAKE_CUDA cuMemsetD8Async(Address to, unsigned char value, size_t count,
                          Handle stream) {
  Call call("cuMemsetD8Async", NeedsContext, InvalidValue);
  return fillWith(call, to, value, 1, count, stream);
}

FAKE_CUDA cuMemsetD32Async(Address to, unsigned value, size_t count,
                           Handle stream) {
  Call call("cuMemsetD32Async", NeedsContext, InvalidValue);
  return fillWith(call, to, value, 4, count, stream);
}
