//===- Run.cpp - Runs and launches on a device ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps are those of any run; only what touches memory or launches a
// kernel differs. Nothing waits for the device but a step that needs what it
// has computed, an observer, and the end.
//
//===----------------------------------------------------------------------===//

#include "runtime/Error.h"
#include "runtime/Session.h"

#include <string.h>

using namespace tenon::runtime;
using tenon::cuda::Current;
using tenon::cuda::Driver;
using tenon::cuda::Recording;

namespace {
/// What all threads of a grid may have together, unless a block takes more.
constexpr uint64_t maxScratch = uint64_t(256) << 20;
constexpr uint64_t maxBlocks = INT32_MAX;
} // namespace

tenon_status_t tenon_session_t::runOnDevice(const tenon_tensor_t *inputTensors,
                                            tenon_tensor_t *outputTensors,
                                            bool waits) {
  Current current(device->getDevice());
  if (tenon_status_t status = current.check())
    return status;
  tenon_status_t status = bindAndRun(inputTensors, outputTensors, waits);
  if (status) // Nobody may free or change what is still in use.
    device->abandon();
  else
    ++runs;
  return status;
}

tenon_status_t tenon_session_t::wait() {
  if (!device || !device->hasLeft())
    return TENON_OK;
  Current current(device->getDevice());
  if (tenon_status_t status = current.check())
    return status;
  tenon_status_t status = checkFaultsNow();
  if (status)
    device->abandon();
  return status;
}

tenon_status_t tenon_session_t::bindAndRun(const tenon_tensor_t *inputTensors,
                                           tenon_tensor_t *outputTensors,
                                           bool waits) {
  if (tenon_status_t status = bindInputs(inputTensors))
    return status;
  if (tenon_status_t status = bindOutputs(outputTensors))
    return status;
  if (tenon_status_t status = findOutputs(waits))
    return status;
  for (Segment &segment : segments)
    segment.bytes = 0;
  if (tenon_status_t status = executeOnDevice())
    return status;
  if (tenon_status_t status = finishOutputsOnDevice(outputTensors))
    return status;
  if (!waits) {
    device->leave();
    return TENON_OK;
  }
  return checkFaultsNow();
}

tenon_status_t tenon_session_t::executeOnDevice() {
  if (tenon_status_t status = device->clearFaults())
    return status;
  // Now, for it has no place in what is recorded.
  if (tenon_status_t status = clearCounters())
    return status;
  tenon::cuda::Recordings &recordings = device->recordings;
  if (recordings.enabled() && !observer) {
    fillKey();
    if (const Recording *recording = recordings.find())
      return replay(*recording);
    if (recordings.isWorthRecording())
      return record();
  }
  return execute();
}

/// What two runs that launch the same have in common.
void tenon_session_t::fillKey() {
  uint64_t *next = device->recordings.key.begin();
  for (uint32_t i = 0; i < symbols.size(); ++i)
    *next++ = symbolSet[i] ? uint64_t(symbols[i]) : 0;
  for (const Input &input : inputs)
    *next++ = tenon::cuda::address(input.data);
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    bool isHosts = outputs[i].memory != Memory::Device;
    *next++ = !isHosts ? tenon::cuda::address(outputs[i].callerData)
                       : extendsInPlace(i);
  }
  *next = budget.growths;
}

tenon_status_t tenon_session_t::record() {
  if (tenon_status_t status = device->beginRecording())
    return status;
  if (tenon_status_t status = execute()) {
    device->giveUpRecording();
    return status;
  }
  Recording *recording;
  if (tenon_status_t status = device->endRecording(recording))
    return status;
  memcpy(recording->symbols.begin(), symbols.begin(),
         symbols.size() * sizeof(int64_t));
  memcpy(recording->symbolSet.begin(), symbolSet.begin(), symbolSet.size());
  for (uint32_t i = 0; i < outputs.size(); ++i)
    recording->outputMade[i] = outputs[i].data != nullptr;
  ++graphRuns;
  return device->launchRecording(*recording);
}

tenon_status_t tenon_session_t::replay(const Recording &recording) {
  for (uint32_t i = 0; i < symbols.size(); ++i)
    if (recording.symbolSet[i])
      setSymbol(i, recording.symbols[i]);
  for (uint32_t i = 0; i < outputs.size(); ++i)
    if (recording.outputMade[i])
      if (tenon_status_t status = makeOutput(i))
        return status;
  ++graphRuns;
  return device->launchRecording(recording);
}

/// Memory with counters at its start, which always has room for all of them.
bool tenon_session_t::growShared(uint64_t bytes) {
  if (bytes > 0 && bytes < TENON_SHARED_ZEROS)
    bytes = TENON_SHARED_ZEROS;
  return grow(shared, bytes);
}

tenon_status_t tenon_session_t::clearCounters() {
  return device->clearCounters(shared.get(), shared.capacity());
}

tenon_status_t tenon_session_t::launchOnDevice(const tenon_step_t &step,
                                               int64_t rows, int64_t grain) {
  uint32_t threadCount = model->metadata.blocks[step.a].threads;
  if (grain < 1)
    grain = 1;
  uint64_t pieces = uint64_t(rows - 1) / uint64_t(grain) + 1;
  uint64_t blocks = pieces < maxBlocks ? pieces : maxBlocks;
  int64_t each = 0;
  if (tenon_status_t status =
          size(step, "the scratch memory it needs", step.d, each))
    return status;
  if (each > 0) {
    uint64_t most = maxScratch / threadCount / uint64_t(each);
    blocks = most == 0 ? 1 : blocks < most ? blocks : most;
  }
  uint64_t stride, sharedBytes;
  if (tenon_status_t status =
          reserveScratch(step, blocks * threadCount, stride, sharedBytes))
    return status;

  tenon::cuda::Launch launch = {};
  launch.step = uint32_t(&step - model->metadata.steps.data);
  launch.kernel = step.a;
  launch.operands = operands.begin();
  launch.operandCount = step.buffer_count;
  launch.parameters = parameters.begin();
  launch.parameterCount = step.param_count;
  launch.rows = rows;
  launch.grain = grain;
  launch.blocks = uint32_t(blocks);
  launch.scratch = stride ? tenon::cuda::address(scratch.get()) : 0;
  launch.scratchStride = stride;
  if (sharedBytes) {
    launch.shared = tenon::cuda::address(shared.get());
    if (tenon_status_t status = clearCounters())
      return status;
  }
  uint64_t start = observer ? nanosecondsNow() : 0, nanoseconds = 0;
  tenon::cuda::Result result = device->launch(launch, observer);
  if (result != tenon::cuda::success) {
    Driver::Words words = device->getDevice().driver.words(result);
    return fail(tenon::cuda::statusOf(result),
                "%s: the CUDA driver does not launch kernel %.200s: %s: %s",
                Subject(*this, step).text,
                model->metadata.text(model->metadata.kernels[step.a].name),
                words.name, words.sentence);
  }
  if (!observer)
    return TENON_OK;
  if (tenon_status_t status = device->readTime(nanoseconds))
    return status;
  if (tenon_status_t status = checkFaultsNow())
    return status;
  observe(step, rows, uint32_t(pieces < UINT32_MAX ? pieces : UINT32_MAX),
          start, nanoseconds);
  return TENON_OK;
}

/// Waits for the first bytes of an operand: from the host, if they are there.
tenon_status_t tenon_session_t::readBack(const tenon_step_t &step,
                                         const tenon_operand_t &operand,
                                         const char *&bytes) {
  const tenon_buffer_t &buffer = model->metadata.buffers[step.first_buffer];
  if (buffer.place == TENON_PLACE_INPUT &&
      inputs[buffer.index].memory != Memory::Device) {
    const Input &input = inputs[buffer.index];
    bytes = operand.bytes ? input.callerData +
                                (static_cast<char *>(operand.data) - input.data)
                          : nothing;
    return TENON_OK;
  }
  bytes = device->readBackSpace.begin();
  if (operand.bytes == 0)
    return TENON_OK;
  if (tenon_status_t status = device->download(device->readBackSpace.begin(),
                                               operand.data, operand.bytes))
    return status;
  return checkFaultsNow();
}

tenon_status_t tenon_session_t::checkFaultsNow() {
  if (tenon_status_t status = device->downloadFaults())
    return status;
  if (tenon_status_t status = device->finish())
    return status;
  return checkFaults();
}

/// Fails like a step that went wrong, of those whose faults have come.
tenon_status_t tenon_session_t::checkFaults() {
  uint32_t step, code;
  if (!device->findFault(step, code))
    return TENON_OK;
  return fault(model->metadata.steps[step], code);
}
