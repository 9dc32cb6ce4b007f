//===- Bind.cpp - A run's tensors, of a model on a device -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Error.h"
#include "runtime/Session.h"

#include <string.h>

using namespace tenon::runtime;

static bool isAligned(const void *data) {
  return reinterpret_cast<uintptr_t>(data) % TENON_BUFFER_ALIGN == 0;
}

tenon_status_t
tenon_session_t::placeInputOnDevice(uint32_t index,
                                    const tenon_tensor_t &tensor) {
  Input &input = inputs[index];
  input.memory = Memory::Pageable;
  if (input.bytes == 0)
    return TENON_OK;
  if (tenon_status_t status =
          device->getDevice().find(tensor.data, input.memory))
    return status;
  if (input.memory == Memory::Device && isAligned(tensor.data))
    return TENON_OK;
  if (!grow(input.copy, input.bytes))
    return fail(TENON_OUT_OF_MEMORY,
                "input \"%.200s\": it takes %llu bytes, over the session's "
                "memory limit of %llu%s",
                model->metadata.text(model->metadata.inputs[index].name),
                static_cast<unsigned long long>(input.bytes),
                static_cast<unsigned long long>(budget.limit), orOfDevice());
  input.data = input.copy.get();
  switch (input.memory) {
  case Memory::Device:
    return device->copy(input.data, tensor.data, input.bytes);
  case Memory::Pinned:
    return device->uploadPinned(input.data, tensor.data, input.bytes);
  case Memory::Pageable:
    break;
  }
  return device->upload(input.data, tensor.data, input.bytes);
}

/// Where the memory is that the caller gave for outputs. Unless the run waits,
/// it must be such that the device can write it by itself.
tenon_status_t tenon_session_t::findOutputs(bool waits) {
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    Output &output = outputs[i];
    output.memory = Memory::Device;
    if (output.callerData)
      if (tenon_status_t status =
              device->getDevice().find(output.callerData, output.memory))
        return status;
    bool isHosts = output.callerData ? output.memory == Memory::Pageable
                                     : !device->resultsStay;
    if (isHosts && !waits)
      return fail(TENON_INVALID_ARGUMENT,
                  "tenon_session_enqueue: output \"%.200s\" goes to the "
                  "host's memory, for which a run has to wait; give memory of "
                  "the device or pinned memory, or set results_on_device",
                  model->metadata.text(model->metadata.outputs[i].name));
  }
  return TENON_OK;
}

/// Sends an output to where the caller finds it, `result`.
tenon_status_t tenon_session_t::sendOutput(uint32_t index, char *&result) {
  Output &output = outputs[index];
  result = output.callerData;
  if (!result && device->resultsStay) {
    result = output.data;
    return TENON_OK;
  }
  if (!result) {
    uint64_t reserved = output.bytes ? output.bytes : TENON_BUFFER_ALIGN;
    if (!output.result.reserve(reserved, hostBudget))
      return fail(TENON_OUT_OF_MEMORY,
                  "output \"%.200s\": the host has no %llu bytes for it",
                  model->metadata.text(model->metadata.outputs[index].name),
                  static_cast<unsigned long long>(output.bytes));
    result = output.result.get();
    return device->download(result, output.data, output.bytes);
  }
  if (result == output.data || output.bytes == 0)
    return TENON_OK;
  switch (output.memory) {
  case Memory::Device:
    return device->copy(result, output.data, output.bytes);
  case Memory::Pinned:
    return device->downloadPinned(result, output.data, output.bytes);
  case Memory::Pageable:
    break;
  }
  return device->download(result, output.data, output.bytes);
}

tenon_status_t tenon_session_t::finishOutputsOnDevice(tenon_tensor_t *tensors) {
  const Metadata &m = model->metadata;
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    Output &output = outputs[i];
    if (!output.data) { // No step wrote it: it is empty, or all zero.
      if (tenon_status_t status = makeOutput(i))
        return status;
      if (tenon_status_t status = device->zero(output.data, output.bytes))
        return status;
    }
    char *result;
    if (tenon_status_t status = sendOutput(i, result))
      return status;
    tenon_tensor_t &tensor = tensors[i];
    tensor.dtype = m.outputs[i].dtype;
    tensor.rank = m.outputs[i].rank;
    memcpy(tensor.dims, output.dims, sizeof tensor.dims);
    tensor.data = result;
    tensor.bytes = output.bytes;
  }
  return TENON_OK;
}
