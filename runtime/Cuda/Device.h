//===- Device.h - One CUDA device -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_RUNTIME_CUDA_DEVICE_H
#define TENON_RUNTIME_CUDA_DEVICE_H

#include "runtime/Cuda/Driver.h"

#include <atomic>

/// Immutable once open.
struct tenon_device_t {
  tenon_device_t() = default;
  tenon_device_t(const tenon_device_t &) = delete;
  tenon_device_t &operator=(const tenon_device_t &) = delete;
  ~tenon_device_t();

  [[nodiscard]] tenon_status_t open(const tenon_device_options_t &options);

  /// Memory of the device; null when it is short.
  void *allocate(uint64_t bytes);
  void free(void *memory);

  /// Whether a pointer is the device's memory, the driver's own memory of the
  /// host, or any other.
  enum class Memory { Device, Pinned, Pageable };
  [[nodiscard]] tenon_status_t find(const void *pointer, Memory &memory) const;

  std::atomic<uint32_t> references{1};
  tenon::cuda::Driver driver;
  tenon::cuda::Context context = nullptr;
  tenon::cuda::DeviceNumber number = 0;
  int index = 0, capability = 0; // 10 * major + minor.
  int sharedBytes = 0;           // That a block can have.
  size_t memoryBytes = 0;
  char name[128] = "";

private:
  tenon_status_t choose(int wanted);
  tenon_status_t ask();
};

namespace tenon::cuda {

/// Makes a device's context the thread's for a scope.
class Current {
public:
  explicit Current(const tenon_device_t &device)
      : device(device), result(device.driver.contextPush(device.context)) {}
  Current(const Current &) = delete;
  Current &operator=(const Current &) = delete;
  ~Current() {
    Context previous;
    if (result == success)
      device.driver.contextPop(&previous);
  }

  explicit operator bool() const { return result == success; }
  [[nodiscard]] tenon_status_t check() const {
    return device.driver.check(result, "cannot use the device");
  }

private:
  const tenon_device_t &device;
  Result result;
};

inline DevicePointer address(const void *memory) {
  return reinterpret_cast<DevicePointer>(memory);
}

} // namespace tenon::cuda

#endif // TENON_RUNTIME_CUDA_DEVICE_H
