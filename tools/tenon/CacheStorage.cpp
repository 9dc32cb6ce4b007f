//===- CacheStorage.cpp - Caches as an artifact keeps them ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/CacheStorage.h"

#include "compiler/Weights/WeightStore.h"

#include <cstring>

using namespace tenon;

namespace {

/// What --kv-cache chooses from.
bool isOfCaches(uint32_t type) {
  return type == TENON_F32 || type == TENON_F16 || type == TENON_BF16;
}

/// A tensor of such floats as another type of them.
Tensor convert(const Tensor &tensor, uint32_t type) {
  Tensor result = {type, tensor.dims, {}};
  int64_t count = tensor.count();
  size_t width = *bytesOfType(type);
  result.bytes.resize(size_t(count) * width);
  for (int64_t i = 0; i < count; ++i) {
    float value = float(elementAsDouble(tensor, i));
    uint16_t half = type == TENON_F16 ? roundToF16(value) : roundToBf16(value);
    std::memcpy(result.bytes.data() + size_t(i) * width,
                type == TENON_F32 ? static_cast<const void *>(&value) : &half,
                width);
  }
  return result;
}

} // namespace

llvm::Error tenon::storeCaches(const Session &session,
                               std::vector<Tensor> &inputs) {
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    tenon_value_info_t info = {};
    info.struct_size = sizeof info;
    if (tenon_model_input(session.model(), i, &info))
      return lastError();
    if (info.grows_axis >= 0 && inputs[i].type != info.dtype &&
        isOfCaches(inputs[i].type) && isOfCaches(info.dtype))
      inputs[i] = convert(inputs[i], info.dtype);
  }
  return llvm::Error::success();
}

bool tenon::widenToCompare(Tensor &actual, Tensor &expected) {
  if (actual.type == expected.type || !isOfCaches(actual.type) ||
      !isOfCaches(expected.type))
    return false;
  for (Tensor *tensor : {&actual, &expected})
    *tensor = convert(*tensor, TENON_F32);
  return true;
}
