//===- Staging.cpp - Pinned memory between the host and a device ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Cuda/Staging.h"

#include <string.h>

using namespace tenon::cuda;

namespace {
constexpr const char *what = "cannot copy between host and device";
} // namespace

Staging::~Staging() {
  if (!device)
    return;
  Current context(*device);
  if (!context)
    return;
  for (Chunk &chunk : chunks) {
    if (chunk.done)
      device->driver.eventDestroy(chunk.done);
    if (chunk.memory)
      device->driver.memFreeHost(chunk.memory);
  }
}

tenon_status_t Staging::create(tenon_device_t &ofDevice, size_t bytes) {
  device = &ofDevice;
  chunkBytes = bytes;
  const Driver &driver = device->driver;
  for (Chunk &chunk : chunks) {
    void *memory = nullptr;
    if (tenon_status_t status =
            driver.check(driver.memHostAlloc(&memory, bytes, hostAllocPortable),
                         "no pinned memory to copy through"))
      return status;
    chunk.memory = static_cast<char *>(memory);
    Event event = nullptr;
    if (tenon_status_t status =
            driver.check(driver.eventCreate(&event, eventDisableTiming), what))
      return status;
    chunk.done = event;
  }
  return TENON_OK;
}

/// Hands out what a chunk's copies, which are done, have brought.
void Staging::settle(Chunk &chunk) {
  for (uint32_t i = 0; i < chunk.pieceCount; ++i)
    memcpy(chunk.pieces[i].to, chunk.pieces[i].from, chunk.pieces[i].bytes);
  chunk.pending = false;
  chunk.pieceCount = 0;
  chunk.filled = 0;
}

/// Leaves the chunk to the device and goes on with the other.
tenon_status_t Staging::turn(Stream stream) {
  Chunk &full = chunks[current];
  if (tenon_status_t status = device->driver.check(
          device->driver.eventRecord(full.done, stream), what))
    return status;
  full.pending = true;
  current ^= 1;
  Chunk &next = chunks[current];
  if (next.pending)
    if (tenon_status_t status = device->driver.check(
            device->driver.eventSynchronize(next.done), what))
      return status;
  settle(next);
  return TENON_OK;
}

char *Staging::room(uint64_t &bytes) const {
  const Chunk &chunk = chunks[current];
  if (bytes > chunkBytes - chunk.filled)
    bytes = chunkBytes - chunk.filled;
  return chunk.memory + chunk.filled;
}

tenon_status_t Staging::send(DevicePointer to, uint64_t bytes, Stream stream) {
  Chunk &chunk = chunks[current];
  if (tenon_status_t status = device->driver.check(
          device->driver.copyHostToDevice(to, chunk.memory + chunk.filled,
                                          bytes, stream),
          what))
    return status;
  chunk.filled += bytes;
  return chunk.filled == chunkBytes ? turn(stream) : TENON_OK;
}

tenon_status_t Staging::upload(DevicePointer to, const void *from,
                               uint64_t bytes, Stream stream) {
  const char *source = static_cast<const char *>(from);
  while (bytes > 0) {
    uint64_t part = bytes;
    memcpy(room(part), source, part);
    if (tenon_status_t status = send(to, part, stream))
      return status;
    source += part;
    to += part;
    bytes -= part;
  }
  return TENON_OK;
}

tenon_status_t Staging::download(void *to, DevicePointer from, uint64_t bytes,
                                 Stream stream) {
  char *target = static_cast<char *>(to);
  while (bytes > 0) {
    Chunk &chunk = chunks[current];
    uint64_t part = bytes;
    char *memory = room(part);
    if (tenon_status_t status = device->driver.check(
            device->driver.copyDeviceToHost(memory, from, part, stream), what))
      return status;
    chunk.pieces[chunk.pieceCount++] = {target, memory, part};
    chunk.filled += part;
    target += part;
    from += part;
    bytes -= part;
    if (chunk.filled == chunkBytes || chunk.pieceCount == maxPieces)
      if (tenon_status_t status = turn(stream))
        return status;
  }
  return TENON_OK;
}

tenon_status_t Staging::finish(Stream stream) {
  if (tenon_status_t status =
          device->driver.check(device->driver.streamSynchronize(stream), what))
    return status;
  settle(chunks[current ^ 1]); // The older one first.
  settle(chunks[current]);
  return TENON_OK;
}

void Staging::abandon(Stream stream) {
  (void)device->driver.streamSynchronize(stream);
  for (Chunk &chunk : chunks) {
    chunk.pieceCount = 0;
    settle(chunk);
  }
}
