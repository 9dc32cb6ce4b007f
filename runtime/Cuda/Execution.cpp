//===- Execution.cpp - What a session has on a CUDA device ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Cuda/Execution.h"
#include "runtime/Error.h"

using namespace tenon::cuda;
using namespace tenon::runtime;

namespace {
/// Small enough to pin for every session, large enough for the bus.
constexpr size_t stagingChunk = size_t(1) << 20;
/// Behind the buffers and parameters of a launch.
constexpr uint32_t commonArguments = 6;

constexpr const char *what = "cannot use the device";
} // namespace

Execution::~Execution() {
  if (!device)
    return;
  Current current(*device);
  if (!current)
    return;
  const Driver &driver = device->driver;
  if (isLeft)
    driver.streamSynchronize(own());
  if (before)
    driver.eventDestroy(before);
  if (after)
    driver.eventDestroy(after);
  if (faults)
    driver.memFree(address(faults));
  if (mine)
    driver.streamDestroy(mine);
}

tenon_status_t Execution::create(const Program &ofProgram,
                                 const Metadata &metadata,
                                 const tenon_session_options_t &options) {
  program = &ofProgram;
  device = program->getDevice();
  blocks = metadata.blocks.data;
  resultsStay = options.results_on_device != 0;
  Current current(*device);
  if (tenon_status_t status = current.check())
    return status;
  callers = static_cast<Stream>(options.stream);
  if (!callers) {
    Stream created = nullptr;
    if (tenon_status_t status = device->driver.check(
            device->driver.streamCreate(&created, streamNonBlocking), what))
      return status;
    mine = created;
  }
  target = own();
  if (tenon_status_t status = staging.create(*device, stagingChunk))
    return status;
  if (tenon_status_t status = createEvents())
    return status;
  if (tenon_status_t status = createFaults(metadata))
    return status;

  bool waits = false; // For what a step computes: no two runs need be alike.
  uint32_t argumentCount = 0;
  size_t readBack = 1;
  for (const tenon_step_t &step : metadata.steps) {
    waits |= step.kind == TENON_STEP_BIND ||
             step.kind == TENON_STEP_JUMP_UNLESS ||
             step.kind == TENON_STEP_JUMP_UNLESS_LESS;
    if (step.kind == TENON_STEP_BIND &&
        step.b * tenon_dtype_bytes(step.c) > readBack)
      readBack = step.b * tenon_dtype_bytes(step.c);
    if (step.kind == TENON_STEP_LAUNCH &&
        step.buffer_count + step.param_count > argumentCount)
      argumentCount = step.buffer_count + step.param_count;
  }
  if (!arguments.allocate(argumentCount + commonArguments) ||
      !readBackSpace.allocate(readBack))
    return fail(TENON_OUT_OF_MEMORY, "no memory for a session");
  // Sizes, inputs, outputs, and how often memory has grown.
  uint32_t keySize = metadata.symbols.count + metadata.inputs.count +
                     metadata.outputs.count + 1;
  return recordings.create(*device, own(), !waits && !options.no_graphs,
                           keySize, metadata.symbols.count,
                           metadata.outputs.count);
}

tenon_status_t Execution::createEvents() {
  for (Event *event : {&before, &after}) {
    Event created = nullptr;
    if (tenon_status_t status = device->driver.check(
            device->driver.eventCreate(&created, eventDefault), what))
      return status;
    *event = created;
  }
  return TENON_OK;
}

tenon_status_t Execution::createFaults(const Metadata &metadata) {
  if (!faultCopies.allocate(metadata.steps.count))
    return fail(TENON_OUT_OF_MEMORY, "no memory for a session");
  faults = device->allocate(faultCopies.size() * 8 + TENON_BUFFER_ALIGN);
  if (!faults)
    return fail(TENON_OUT_OF_MEMORY, "the device has no memory for a session");
  return TENON_OK;
}

char *Execution::emptyPlace() const {
  uint64_t slots = (faultCopies.size() * 8 + TENON_BUFFER_ALIGN - 1) /
                   TENON_BUFFER_ALIGN * TENON_BUFFER_ALIGN;
  return static_cast<char *>(faults) + slots;
}

tenon_status_t Execution::upload(void *to, const void *from, uint64_t bytes) {
  return staging.upload(address(to), from, bytes, own());
}

tenon_status_t Execution::uploadPinned(void *to, const void *from,
                                       uint64_t bytes) {
  return device->driver.check(
      device->driver.copyHostToDevice(address(to), from, bytes, own()),
      "cannot copy to the device");
}

tenon_status_t Execution::copy(void *to, const void *from, uint64_t bytes) {
  return device->driver.check(device->driver.copyDeviceToDevice(
                                  address(to), address(from), bytes, stream()),
                              "cannot copy on the device");
}

tenon_status_t Execution::zero(void *to, uint64_t bytes) {
  if (bytes == 0)
    return TENON_OK;
  return device->driver.check(
      device->driver.memsetBytes(address(to), 0, bytes, stream()),
      "cannot clear memory of the device");
}

tenon_status_t Execution::download(void *to, const void *from, uint64_t bytes) {
  return staging.download(to, address(from), bytes, own());
}

tenon_status_t Execution::downloadPinned(void *to, const void *from,
                                         uint64_t bytes) {
  return device->driver.check(
      device->driver.copyDeviceToHost(to, address(from), bytes, own()),
      "cannot copy from the device");
}

tenon_status_t Execution::finish() {
  if (tenon_status_t status = staging.finish(own()))
    return status;
  isLeft = false;
  return TENON_OK;
}

void Execution::abandon() {
  staging.abandon(own());
  target = own();
  mayHoldFaults = true;
  clearedBytes = 0;
}

/// Kernels write none but when they fault: one clearing lasts for many runs.
tenon_status_t Execution::clearFaults() {
  if (faultCopies.size() == 0 || !mayHoldFaults || isLeft)
    return TENON_OK;
  if (tenon_status_t status = device->driver.check(
          device->driver.memsetBytes(address(faults), 0xff,
                                     faultCopies.size() * 8, own()),
          "cannot clear memory of the device"))
    return status;
  mayHoldFaults = false;
  return TENON_OK;
}

tenon_status_t Execution::downloadFaults() {
  return download(faultCopies.begin(), faults, faultCopies.size() * 8);
}

bool Execution::findFault(uint32_t &step, uint32_t &code) {
  for (uint32_t i = 0; i < faultCopies.size(); ++i)
    if (faultCopies[i] != UINT64_MAX) {
      step = i;
      code = uint32_t(faultCopies[i]);
      mayHoldFaults = true;
      return true;
    }
  return false;
}

tenon_status_t Execution::clearCounters(void *memory, uint64_t bytes) {
  if (bytes == clearedBytes)
    return TENON_OK;
  clearedBytes = bytes;
  return zero(memory, TENON_SHARED_ZEROS);
}

Result Execution::launch(const Launch &launch, bool timed) {
  const Driver &driver = device->driver;
  // The driver copies what the pointers point to.
  DevicePointer rows = DevicePointer(launch.rows);
  DevicePointer grain = DevicePointer(launch.grain);
  DevicePointer stride = launch.scratchStride;
  DevicePointer scratch = launch.scratch, shared = launch.shared;
  DevicePointer fault = address(faults) + launch.step * sizeof(uint64_t);
  uint32_t count = 0;
  auto pass = [&](const void *value) {
    arguments[count++] = const_cast<void *>(value);
  };
  for (uint32_t i = 0; i < launch.operandCount; ++i)
    pass(&launch.operands[i].data);
  for (uint32_t i = 0; i < launch.parameterCount; ++i)
    pass(&launch.parameters[i]);
  pass(&rows), pass(&grain), pass(&scratch), pass(&stride), pass(&shared);
  pass(&fault);

  const tenon_block_t &block = blocks[launch.kernel];
  LaunchAttribute overlap = {launchProgrammaticSerialization, {}, {}};
  overlap.isOn = 1;
  LaunchConfig config = {launch.blocks,
                         1,
                         1,
                         block.threads,
                         1,
                         1,
                         block.shared_bytes,
                         stream(),
                         &overlap,
                         program->launchesMayOverlap() && !timed};
  Result result = success;
  if (timed)
    result = driver.eventRecord(before, stream());
  if (result == success)
    result = driver.launchKernelEx(&config, program->getKernel(launch.kernel),
                                   arguments.begin(), nullptr);
  if (timed && result == success)
    result = driver.eventRecord(after, stream());
  return result;
}

tenon_status_t Execution::readTime(uint64_t &nanoseconds) {
  const Driver &driver = device->driver;
  float milliseconds = 0;
  Result result = driver.eventSynchronize(after);
  if (result == success)
    result = driver.eventElapsedTime(&milliseconds, before, after);
  nanoseconds = milliseconds > 0 ? uint64_t(double(milliseconds) * 1e6) : 0;
  return driver.check(result, "cannot time a kernel");
}

tenon_status_t Execution::beginRecording() {
  if (tenon_status_t status = recordings.begin())
    return status;
  target = recordings.captureStream();
  return TENON_OK;
}

void Execution::giveUpRecording() {
  target = own();
  recordings.giveUp();
}

tenon_status_t Execution::endRecording(Recording *&recording) {
  target = own();
  return recordings.end(recording);
}

tenon_status_t Execution::launchRecording(const Recording &recording) {
  return device->driver.check(
      device->driver.graphLaunch(recording.graph, own()),
      "cannot launch a recorded run");
}
