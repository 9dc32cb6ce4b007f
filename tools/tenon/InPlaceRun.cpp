//===- InPlaceRun.cpp - Runs whose caches stay where they are -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/InPlaceRun.h"

#include <cstring>

using namespace tenon;

size_t tenon::bytesFrom(const tenon_tensor_t &tensor, size_t axis) {
  size_t bytes = tenon_dtype_bytes(tensor.dtype);
  for (size_t i = axis; i < tensor.rank; ++i)
    bytes *= size_t(tensor.dims[i]);
  return bytes;
}

llvm::Expected<InPlaceRun>
InPlaceRun::prepare(Session &session, const std::vector<Tensor> &inputs) {
  InPlaceRun result(session);
  if (llvm::Error error = session.run(inputs, result.results))
    return error;
  result.arguments = Session::arguments(inputs);
  for (uint32_t i = 0; i < result.results.size(); ++i) {
    tenon_value_info_t info = {};
    info.struct_size = sizeof info;
    if (tenon_model_output(session.model(), i, &info))
      return lastError();
    tenon_tensor_t &output = result.results[i];
    output.data = nullptr;
    if (info.appends_to < 0)
      continue;
    if (llvm::Error error = result.share(uint32_t(info.appends_to),
                                         uint32_t(info.grows_axis), output))
      return error;
  }
  return result;
}

/// Caches of a device stay there.
llvm::Error InPlaceRun::moveToDevice(Buffer &buffer, size_t bytes) {
  tenon_device_t *device = session->device();
  if (!device)
    return llvm::Error::success();
  void *memory;
  if (tenon_device_allocate(device, bytes, &memory))
    return lastError();
  Buffer moved(static_cast<char *>(memory), Free{device});
  if (tenon_device_copy(device, memory, buffer.get(), bytes))
    return lastError();
  buffer = std::move(moved);
  return llvm::Error::success();
}

/// Moves an input to a buffer in which the output has room.
llvm::Error InPlaceRun::share(uint32_t input, uint32_t axis,
                              tenon_tensor_t &output) {
  constexpr size_t alignment = 64;
  tenon_tensor_t &past = arguments[input];
  size_t bytes = bytesFrom(output, 0);
  size_t reserved = (bytes / alignment + 1) * alignment;
  Buffer buffer(static_cast<char *>(aligned_alloc(alignment, reserved)));
  if (!buffer)
    return sentence("no memory for " + llvm::Twine(bytes) +
                    " bytes of a cache");
  memset(buffer.get(), 0, reserved);
  size_t from = bytesFrom(past, axis), to = bytesFrom(output, axis);
  for (size_t i = 0; from != 0 && i < past.bytes / from; ++i)
    memcpy(buffer.get() + i * to, static_cast<char *>(past.data) + i * from,
           from);
  if (llvm::Error error = moveToDevice(buffer, reserved))
    return error;
  past.data = output.data = buffer.get();
  past.bytes = output.bytes = bytes;
  past.capacity = output.capacity = output.dims[axis];
  buffers.push_back(std::move(buffer));
  return llvm::Error::success();
}

llvm::Error InPlaceRun::run() {
  // Of those in the session's memory, the last run's address is not ours.
  for (tenon_tensor_t &output : results)
    if (output.capacity == 0)
      output.data = nullptr;
  if (tenon_session_run(session->handle(), arguments.data(),
                        uint32_t(arguments.size()), results.data(),
                        uint32_t(results.size())))
    return lastError();
  return llvm::Error::success();
}
