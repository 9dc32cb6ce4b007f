//===- Recordings.cpp - Runs as graphs, to be launched at once ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Cuda/Recordings.h"
#include "runtime/Error.h"

#include <string.h>

using namespace tenon::cuda;
using namespace tenon::runtime;

namespace {
constexpr const char *what = "cannot record a run";

bool equal(const Array<uint64_t> &a, const Array<uint64_t> &b) {
  return memcmp(a.begin(), b.begin(), a.size() * sizeof(uint64_t)) == 0;
}

void copy(const Array<uint64_t> &from, Array<uint64_t> &to) {
  memcpy(to.begin(), from.begin(), from.size() * sizeof(uint64_t));
}
} // namespace

Recordings::~Recordings() {
  if (!device)
    return;
  Current current(*device);
  if (!current)
    return;
  for (Recording &recording : recordings)
    if (recording.graph)
      device->driver.graphExecDestroy(recording.graph);
  if (stream)
    device->driver.streamDestroy(stream);
}

tenon_status_t Recordings::create(tenon_device_t &ofDevice, Stream runStream,
                                  bool enabled, uint32_t keySize,
                                  uint32_t symbols, uint32_t outputs) {
  if (!enabled)
    return TENON_OK;
  device = &ofDevice;
  runs = runStream;
  sizes = symbols;
  bool fits = key.allocate(keySize);
  for (Array<uint64_t> &each : seen) {
    fits = fits && each.allocate(keySize);
    if (fits)
      each[keySize - 1] = UINT64_MAX; // No run has had it.
  }
  for (Recording &recording : recordings)
    fits = fits && recording.key.allocate(keySize) &&
           recording.symbols.allocate(symbols) &&
           recording.symbolSet.allocate(symbols) &&
           recording.outputMade.allocate(outputs);
  if (!fits)
    return fail(TENON_OUT_OF_MEMORY, "no memory for a session");
  Stream created = nullptr;
  if (tenon_status_t status = device->driver.check(
          device->driver.streamCreate(&created, streamNonBlocking), what))
    return status;
  stream = created;
  return TENON_OK;
}

Recording *Recordings::find() {
  for (Recording &recording : recordings)
    if (recording.graph && equal(recording.key, key)) {
      recording.lastUse = ++uses;
      return &recording;
    }
  return nullptr;
}

bool Recordings::hasSizes(const Array<uint64_t> &other) const {
  return other[other.size() - 1] != UINT64_MAX &&
         memcmp(other.begin(), key.begin(), sizes * sizeof(uint64_t)) == 0;
}

/// An empty one counts as least used, unless it must have the sizes.
Recording &Recordings::leastUsed(bool ofTheseSizes) {
  Recording *found = nullptr;
  for (Recording &recording : recordings) {
    if (ofTheseSizes && !(recording.graph && hasSizes(recording.key)))
      continue;
    if (!found || recording.lastUse < found->lastUse)
      found = &recording;
  }
  return found ? *found : leastUsed(/*ofTheseSizes=*/false);
}

bool Recordings::isWorthRecording() {
  bool isRepeated = false, isLike = false;
  for (const Array<uint64_t> &each : seen) {
    isRepeated |= equal(each, key);
    isLike |= hasSizes(each);
  }
  if (!isRepeated) {
    copy(key, seen[nextSeen]);
    nextSeen = (nextSeen + 1) % maxSeen;
  }
  // What comes again and again gets one of its own, as memory in turns does.
  chosen = &leastUsed(/*ofTheseSizes=*/!isRepeated);
  return isLike;
}

tenon_status_t Recordings::begin() {
  // Other threads, and what a step may have to allocate, are not its concern.
  return device->driver.check(
      device->driver.streamBeginCapture(stream, captureRelaxed), what);
}

void Recordings::giveUp() {
  Graph graph = nullptr;
  if (device->driver.streamEndCapture(stream, &graph) == success && graph)
    device->driver.graphDestroy(graph);
}

tenon_status_t Recordings::end(Recording *&recording) {
  Graph graph = nullptr;
  if (tenon_status_t status = device->driver.check(
          device->driver.streamEndCapture(stream, &graph), what))
    return status;
  recording = chosen;
  tenon_status_t status = put(*recording, graph);
  device->driver.graphDestroy(graph);
  recording->lastUse = ++uses;
  if (status == TENON_OK)
    copy(key, recording->key);
  return status;
}

/// Makes `recording` launch `graph`: changed where it is of the same kernels,
/// which is the cheaper way, else anew.
tenon_status_t Recordings::put(Recording &recording, Graph graph) {
  const Driver &driver = device->driver;
  if (recording.graph) {
    GraphExecUpdateInfo info = {};
    if (driver.graphExecUpdate(recording.graph, graph, &info) == success)
      return TENON_OK;
    // Runs before this one may still be launching it.
    if (tenon_status_t status =
            driver.check(driver.streamSynchronize(runs), what))
      return status;
    driver.graphExecDestroy(recording.graph);
    recording.graph = nullptr;
  }
  GraphExec made = nullptr;
  if (tenon_status_t status =
          driver.check(driver.graphInstantiate(&made, graph, 0), what))
    return status;
  recording.graph = made;
  return TENON_OK;
}
