//===- Program.cpp - A model's code and weights on a CUDA device ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Cuda/Program.h"
#include "runtime/Cuda/Staging.h"
#include "runtime/Error.h"

using namespace tenon::cuda;
using namespace tenon::runtime;

namespace {
/// Of the file that is read while the chunk before is copied.
constexpr size_t weightsChunk = size_t(8) << 20;
/// A block has them without asking.
constexpr int plainSharedBytes = 48 << 10;
/// Of CUDA: graphs keep that launches may overlap.
constexpr int overlapVersion = 12030;

/// Whether code runs on a device of a compute capability.
bool runs(const tenon_image_t &image, int capability) {
  int least = int(image.sm);
  return kindOf(image) == TENON_IMAGE_PTX
             ? least <= capability
             : least <= capability && least / 10 == capability / 10;
}

/// Whether `a` is to be preferred: it was compiled for more, or is ready.
bool better(const tenon_image_t &a, const tenon_image_t &b) {
  if (kindOf(a) != kindOf(b))
    return kindOf(a) == TENON_IMAGE_CUBIN;
  return a.sm > b.sm;
}

/// Images that one driver refuses and another would take.
bool notForThisOne(Result result) {
  return result == errorInvalidImage || result == errorNoBinaryForDevice ||
         result == errorInvalidPtx || result == errorUnsupportedPtxVersion;
}

/// A stream for a scope.
struct OwnStream {
  explicit OwnStream(const Driver &driver)
      : driver(driver),
        result(driver.streamCreate(&stream, streamNonBlocking)) {}
  OwnStream(const OwnStream &) = delete;
  OwnStream &operator=(const OwnStream &) = delete;
  ~OwnStream() {
    if (result == success)
      driver.streamDestroy(stream);
  }

  const Driver &driver;
  Stream stream = nullptr;
  Result result;
};
} // namespace

Program::~Program() {
  if (!device)
    return;
  {
    Current current(*device);
    if (weights && current)
      device->driver.memFree(address(weights));
    if (module && current)
      device->driver.moduleUnload(module);
  }
  tenon_device_release(device);
}

tenon_status_t Program::load(tenon_device_t &onDevice, const Metadata &metadata,
                             const Image &image, Artifact &artifact) {
  tenon_device_retain(&onDevice);
  device = &onDevice;
  Current current(*device);
  if (tenon_status_t status = current.check())
    return status;
  if (!kernels.allocate(metadata.kernels.count))
    return fail(TENON_OUT_OF_MEMORY, "%.300s: no memory to load it",
                artifact.getPath());
  if (metadata.kernels.count != 0) {
    if (tenon_status_t status = loadModule(metadata, image, artifact.getPath()))
      return status;
    if (tenon_status_t status = findKernels(metadata, artifact.getPath()))
      return status;
  }
  return copyWeights(artifact);
}

/// The best image of those not `tried` yet.
uint32_t Program::nextBest(const Metadata &metadata, uint64_t tried) const {
  uint32_t best = none;
  for (uint32_t i = 0; i < metadata.images.count; ++i)
    if (!(tried >> i & 1) && runs(metadata.images[i], device->capability) &&
        (best == none || better(metadata.images[i], metadata.images[best])))
      best = i;
  return best;
}

tenon_status_t Program::loadModule(const Metadata &metadata, const Image &image,
                                   const char *path) {
  uint64_t tried = 0;
  Result result = success;
  char log[400] = "";
  for (;;) {
    chosen = nextBest(metadata, tried);
    if (chosen == none)
      break;
    tried |= uint64_t(1) << chosen;
    const JitOption options[] = {jitErrorLogBuffer, jitErrorLogBufferSizeBytes};
    void *values[] = {log, reinterpret_cast<void *>(sizeof log - 1)};
    Module loaded = nullptr;
    result = device->driver.moduleLoad(
        &loaded, image.data + metadata.images[chosen].offset, 2, options,
        values);
    if (result == success) {
      module = loaded;
      mayOverlap = metadata.images[chosen].kind & TENON_IMAGE_WAITS &&
                   device->driver.getVersion() >= overlapVersion;
      return TENON_OK;
    }
    if (!notForThisOne(result))
      break;
  }
  if (result == success)
    return fail(TENON_UNSUPPORTED,
                "%.300s: it has no code for %.120s, whose compute capability "
                "is %d.%d; compile the model for it (tenon compile "
                "--target=cuda --sm=%d)",
                path, device->name, device->capability / 10,
                device->capability % 10, device->capability);
  Driver::Words words = device->driver.words(result);
  return fail(statusOf(result),
              "%.300s: the CUDA driver does not load its code: %s: %.200s%s"
              "%.300s",
              path, words.name, words.sentence, *log ? ": " : "", log);
}

tenon_status_t Program::findKernels(const Metadata &metadata,
                                    const char *path) {
  for (uint32_t i = 0; i < metadata.kernels.count; ++i) {
    const char *name = metadata.text(metadata.kernels[i].name);
    Function function = nullptr;
    Result result = device->driver.moduleGetFunction(&function, module, name);
    if (result == errorNotFound)
      return fail(TENON_BAD_FORMAT,
                  "%.300s: its metadata is damaged: kernel %.200s has no code",
                  path, name);
    if (tenon_status_t status =
            device->driver.check(result, "cannot find a kernel"))
      return status;
    kernels[i] = function;
    int shared = int(metadata.blocks[i].shared_bytes);
    if (shared > device->sharedBytes)
      return fail(TENON_UNSUPPORTED,
                  "%.300s: kernel %.200s needs %d bytes of shared memory, but "
                  "a block of %.120s has %d",
                  path, name, shared, device->name, device->sharedBytes);
    if (shared > plainSharedBytes)
      if (tenon_status_t status = device->driver.check(
              device->driver.functionSetAttribute(
                  function, attributeMaxDynamicSharedSizeBytes, shared),
              "cannot give a kernel its shared memory"))
        return status;
  }
  return TENON_OK;
}

tenon_status_t Program::copyWeights(Artifact &artifact) {
  uint64_t bytes = artifact.getFooter().weights_bytes;
  if (bytes == 0)
    return TENON_OK;
  weights = device->allocate(bytes);
  if (!weights) {
    size_t spare = 0, all = 0;
    (void)device->driver.memGetInfo(&spare, &all);
    return fail(TENON_OUT_OF_MEMORY,
                "%.300s: its weights take %llu bytes, but %.120s has only %zu "
                "to spare",
                artifact.getPath(), static_cast<unsigned long long>(bytes),
                device->name, spare);
  }
  Staging staging;
  if (tenon_status_t status =
          staging.create(*device, bytes < weightsChunk ? bytes : weightsChunk))
    return status;
  OwnStream stream(device->driver);
  tenon_status_t status =
      device->driver.check(stream.result, "cannot use the device");
  for (uint64_t at = 0; at < bytes && status == TENON_OK;) {
    uint64_t part = bytes - at;
    char *memory = staging.room(part);
    status = artifact.readWeights(at, memory, part);
    if (status == TENON_OK)
      status = staging.send(address(weights) + at, part, stream.stream);
    at += part;
  }
  if (status == TENON_OK)
    return staging.finish(stream.stream);
  if (stream.result == success)
    staging.abandon(stream.stream);
  return status;
}
