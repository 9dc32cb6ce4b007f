//===- CacheStorage.cpp - Caches as an artifact keeps them ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/CacheStorage.h"

#include "compiler/Weights/WeightStore.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
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

struct Bytes {
  Tensor numbers, scales;
};

/// As the program quantizes new rows (see ByteCaches.cpp): one scale for each
/// row of the last axis.
Bytes quantize(const Tensor &tensor) {
  std::vector<int64_t> rows(tensor.dims.begin(), tensor.dims.end() - 1);
  Bytes result = {{TENON_I8, tensor.dims, {}}, {TENON_F32, rows, {}}};
  int64_t count = tensor.count(), width = tensor.dims.back();
  result.numbers.bytes.resize(size_t(count));
  for (int64_t first = 0; first < count; first += width) {
    float most = 0;
    for (int64_t i = first; i < first + width; ++i)
      most = std::max(most, std::fabs(float(elementAsDouble(tensor, i))));
    float scale = std::max(most, 1e-30f) / 127;
    for (int64_t i = first; i < first + width; ++i) {
      float number = float(elementAsDouble(tensor, i)) / scale;
      result.numbers.bytes[size_t(i)] =
          char(std::clamp(std::nearbyint(number), -128.0f, 127.0f));
    }
    const char *bytes = reinterpret_cast<const char *>(&scale);
    result.scales.bytes.insert(result.scales.bytes.end(), bytes,
                               bytes + sizeof scale);
  }
  return result;
}

Tensor dequantize(const Bytes &cache) {
  Tensor result = {TENON_F32, cache.numbers.dims, {}};
  int64_t width = std::max<int64_t>(cache.numbers.dims.back(), 1);
  for (int64_t i = 0; i < cache.numbers.count(); ++i) {
    float value = float(elementAsInteger(cache.numbers, i)) *
                  float(elementAsDouble(cache.scales, i / width));
    const char *bytes = reinterpret_cast<const char *>(&value);
    result.bytes.insert(result.bytes.end(), bytes, bytes + sizeof value);
  }
  return result;
}

using Get = decltype(tenon_model_input);

tenon_value_info_t infoOf(const Session &session, size_t index, Get *get) {
  tenon_value_info_t info = {};
  info.struct_size = sizeof info;
  get(session.model(), uint32_t(index), &info);
  return info;
}

/// Of each input, or output, where the scales of its bytes are; -1 where it is
/// no cache of such.
std::vector<int> scalesOf(const Session &session,
                          const std::vector<std::string> &names, Get *get) {
  std::vector<int> scales(names.size(), -1);
  for (size_t i = 0; i < names.size(); ++i) {
    tenon_value_info_t info = infoOf(session, i, get);
    auto found = llvm::find(names, names[i] + ".scale");
    if (info.dtype == TENON_I8 && info.grows_axis >= 0 && found != names.end())
      scales[i] = int(found - names.begin());
  }
  return scales;
}

std::vector<std::string> modelNames(const Session &session,
                                    const std::vector<std::string> &names,
                                    Get *get) {
  std::vector<std::string> own;
  std::vector<int> scales = scalesOf(session, names, get);
  for (size_t i = 0; i < names.size(); ++i)
    if (!llvm::is_contained(scales, int(i)))
      own.push_back(names[i]);
  return own;
}

} // namespace

std::vector<std::string> tenon::modelInputNames(const Session &session) {
  return modelNames(session, session.inputNames(), tenon_model_input);
}

std::vector<std::string> tenon::modelOutputNames(const Session &session) {
  return modelNames(session, session.outputNames(), tenon_model_output);
}

void tenon::storeCaches(const Session &session, std::vector<Tensor> &inputs) {
  std::vector<std::string> names = session.inputNames();
  std::vector<int> scales = scalesOf(session, names, tenon_model_input);
  inputs.resize(names.size()); // Scales are behind all others.
  for (size_t i = 0; i < inputs.size(); ++i) {
    tenon_value_info_t info = infoOf(session, i, tenon_model_input);
    bool canBeCache = info.grows_axis >= 0 && inputs[i].type != info.dtype &&
                      isOfCaches(inputs[i].type);
    if (canBeCache && scales[i] >= 0 && !inputs[i].dims.empty()) {
      Bytes cache = quantize(inputs[i]);
      inputs[size_t(scales[i])] = std::move(cache.scales);
      inputs[i] = std::move(cache.numbers);
    } else if (canBeCache && isOfCaches(info.dtype)) {
      inputs[i] = convert(inputs[i], info.dtype);
    }
  }
}

void tenon::readCaches(const Session &session, std::vector<Tensor> &outputs) {
  std::vector<std::string> names = session.outputNames();
  std::vector<int> scales = scalesOf(session, names, tenon_model_output);
  std::vector<Tensor> own;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (scales[i] >= 0)
      own.push_back(dequantize({outputs[i], outputs[size_t(scales[i])]}));
    else if (!llvm::is_contained(scales, int(i)))
      own.push_back(std::move(outputs[i]));
  outputs = std::move(own);
}

bool tenon::widenToCompare(Tensor &actual, Tensor &expected) {
  if (actual.type == expected.type || !isOfCaches(actual.type) ||
      !isOfCaches(expected.type))
    return false;
  for (Tensor *tensor : {&actual, &expected})
    *tensor = convert(*tensor, TENON_F32);
  return true;
}
