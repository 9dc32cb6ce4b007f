//===- tenon.hpp - tenon.h for C++ ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Owners and spans over the C interface; no more. Functions that can fail
// return its status, and tenon::lastError() the sentence.
//
//   tenon::Model model;
//   tenon::Session session;
//   if (tenon::Model::load("m.tenon", model) ||
//       tenon::Session::create(model, session))
//     return report(tenon::lastError());
//   float x[6] = {...};
//   tenon_tensor_t input = tenon::tensor(TENON_F32, {2, 3}, x);
//   tenon_tensor_t output = tenon::result();
//   session.run({&input, 1}, {&output, 1});
//
//===----------------------------------------------------------------------===//

#ifndef TENON_RUNTIME_TENON_HPP
#define TENON_RUNTIME_TENON_HPP

#if __has_include(<tenon.h>)
#include <tenon.h> // As installed.
#else
#include "runtime/tenon.h"
#endif

#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>

namespace tenon {

inline std::string_view lastError() { return tenon_last_error(); }

/// A tensor over the caller's memory.
inline tenon_tensor_t tensor(uint32_t dtype, std::span<const int64_t> dims,
                             void *data) {
  tenon_tensor_t result = {};
  result.struct_size = sizeof result;
  result.dtype = dtype;
  result.rank = static_cast<uint32_t>(dims.size());
  result.data = data;
  result.bytes = tenon_dtype_bytes(dtype);
  for (size_t i = 0; i < dims.size() && i < TENON_MAX_RANK; ++i) {
    result.dims[i] = dims[i];
    result.bytes *= static_cast<size_t>(dims[i]);
  }
  return result;
}

inline tenon_tensor_t tensor(uint32_t dtype,
                             std::initializer_list<int64_t> dims, void *data) {
  return tensor(dtype, std::span(dims.begin(), dims.size()), data);
}

/// An output: in the session's memory, or in `bytes` of the caller's `data`.
inline tenon_tensor_t result(void *data = nullptr, size_t bytes = 0) {
  tenon_tensor_t result = {};
  result.struct_size = sizeof result;
  result.data = data;
  result.bytes = bytes;
  return result;
}

/// A shared reference to a device; copies refer to the same one.
class Device {
public:
  static tenon_status_t open(Device &out,
                             const tenon_device_options_t *options = nullptr) {
    out = Device();
    return tenon_device_open(options, &out.handle);
  }

  Device() = default;
  Device(const Device &other) : handle(other.handle) {
    tenon_device_retain(handle);
  }
  Device(Device &&other) noexcept
      : handle(std::exchange(other.handle, nullptr)) {}
  Device &operator=(Device other) noexcept {
    std::swap(handle, other.handle);
    return *this;
  }
  ~Device() { tenon_device_release(handle); }

  explicit operator bool() const { return handle; }
  tenon_device_t *get() const { return handle; }

  tenon_device_info_t info() const {
    tenon_device_info_t info = {};
    info.struct_size = sizeof info;
    tenon_device_info(handle, &info);
    return info;
  }

  /// Between any two of the device's and the host's memory.
  tenon_status_t copy(void *to, const void *from, size_t bytes) const {
    return tenon_device_copy(handle, to, from, bytes);
  }

private:
  tenon_device_t *handle = nullptr;
};

/// Owns memory of a device.
class DeviceMemory {
public:
  static tenon_status_t allocate(const Device &device, size_t bytes,
                                 DeviceMemory &out) {
    out = DeviceMemory();
    out.device = device;
    return tenon_device_allocate(device.get(), bytes, &out.memory);
  }

  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory(DeviceMemory &&other) noexcept
      : device(std::move(other.device)),
        memory(std::exchange(other.memory, nullptr)) {}
  DeviceMemory &operator=(DeviceMemory &&other) noexcept {
    std::swap(device, other.device);
    std::swap(memory, other.memory);
    return *this;
  }
  ~DeviceMemory() { tenon_device_free(device.get(), memory); }

  void *get() const { return memory; }

private:
  Device device;
  void *memory = nullptr;
};

/// A shared reference to a loaded model; copies refer to the same one.
class Model {
public:
  static tenon_status_t load(const char *path, Model &out,
                             const tenon_load_options_t *options = nullptr) {
    out = Model();
    return tenon_model_load(path, options, &out.handle);
  }

  Model() = default;
  Model(const Model &other) : handle(other.handle) {
    tenon_model_retain(handle);
  }
  Model(Model &&other) noexcept
      : handle(std::exchange(other.handle, nullptr)) {}
  Model &operator=(Model other) noexcept {
    std::swap(handle, other.handle);
    return *this;
  }
  ~Model() { tenon_model_release(handle); }

  explicit operator bool() const { return handle; }
  tenon_model_t *get() const { return handle; }

  tenon_model_info_t info() const {
    return ask<tenon_model_info_t>(
        [&](auto *out) { return tenon_model_info(handle, out); });
  }
  tenon_value_info_t input(uint32_t index) const {
    return ask<tenon_value_info_t>(
        [&](auto *out) { return tenon_model_input(handle, index, out); });
  }
  tenon_value_info_t output(uint32_t index) const {
    return ask<tenon_value_info_t>(
        [&](auto *out) { return tenon_model_output(handle, index, out); });
  }
  tenon_symbol_info_t symbol(uint32_t index) const {
    return ask<tenon_symbol_info_t>(
        [&](auto *out) { return tenon_model_symbol(handle, index, out); });
  }
  tenon_level_info_t level(uint32_t index) const {
    return ask<tenon_level_info_t>(
        [&](auto *out) { return tenon_model_level(handle, index, out); });
  }
  tenon_kernel_info_t kernel(uint32_t index) const {
    return ask<tenon_kernel_info_t>(
        [&](auto *out) { return tenon_model_kernel(handle, index, out); });
  }
  tenon_weight_info_t weight(uint32_t index) const {
    return ask<tenon_weight_info_t>(
        [&](auto *out) { return tenon_model_weight(handle, index, out); });
  }
  tenon_image_info_t image(uint32_t index) const {
    return ask<tenon_image_info_t>(
        [&](auto *out) { return tenon_model_image(handle, index, out); });
  }

private:
  /// Fills an info struct; on failure it is all zero.
  template <typename Info, typename Fill> static Info ask(Fill fill) {
    Info info = {};
    info.struct_size = sizeof info;
    if (fill(&info) != TENON_OK)
      return {};
    return info;
  }

  tenon_model_t *handle = nullptr;
};

/// Owns a session. Must not be destroyed during its run.
class Session {
public:
  static tenon_status_t
  create(const Model &model, Session &out,
         const tenon_session_options_t *options = nullptr) {
    out = Session();
    return tenon_session_create(model.get(), options, &out.handle);
  }

  Session() = default;
  Session(const Session &) = delete;
  Session(Session &&other) noexcept
      : handle(std::exchange(other.handle, nullptr)) {}
  Session &operator=(Session &&other) noexcept {
    std::swap(handle, other.handle);
    return *this;
  }
  ~Session() { tenon_session_destroy(handle); }

  explicit operator bool() const { return handle; }
  tenon_session_t *get() const { return handle; }

  tenon_status_t run(std::span<const tenon_tensor_t> inputs,
                     std::span<tenon_tensor_t> outputs) {
    return tenon_session_run(
        handle, inputs.data(), static_cast<uint32_t>(inputs.size()),
        outputs.data(), static_cast<uint32_t>(outputs.size()));
  }

  tenon_status_t enqueue(std::span<const tenon_tensor_t> inputs,
                         std::span<tenon_tensor_t> outputs) {
    return tenon_session_enqueue(
        handle, inputs.data(), static_cast<uint32_t>(inputs.size()),
        outputs.data(), static_cast<uint32_t>(outputs.size()));
  }

  tenon_status_t wait() { return tenon_session_wait(handle); }

  /// Ends runs until it is called with false, from any thread.
  void cancel(bool cancelled = true) {
    tenon_session_cancel(handle, cancelled);
  }

  tenon_session_info_t info() const {
    tenon_session_info_t info = {};
    info.struct_size = sizeof info;
    tenon_session_info(handle, &info);
    return info;
  }

private:
  tenon_session_t *handle = nullptr;
};

} // namespace tenon

#endif // TENON_RUNTIME_TENON_HPP
