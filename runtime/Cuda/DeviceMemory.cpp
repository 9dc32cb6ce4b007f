//===- DeviceMemory.cpp - Memory of a device, for callers -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Cuda/Device.h"
#include "runtime/Error.h"

#include <string.h>

using namespace tenon::cuda;
using namespace tenon::runtime;

tenon_status_t tenon_device_allocate(tenon_device_t *device, size_t bytes,
                                     void **out_memory) {
  const char *what = "tenon_device_allocate";
  if (!out_memory)
    return fail(TENON_INVALID_ARGUMENT, "%s: out_memory is NULL", what);
  *out_memory = nullptr;
  if (!device)
    return fail(TENON_INVALID_ARGUMENT, "%s: device is NULL", what);
  *out_memory = device->allocate(bytes ? bytes : 1);
  if (*out_memory)
    return TENON_OK;
  return fail(TENON_OUT_OF_MEMORY, "%s: the device has no %zu bytes to spare",
              what, bytes);
}

tenon_status_t tenon_device_free(tenon_device_t *device, void *memory) {
  if (!memory)
    return TENON_OK;
  if (!device)
    return fail(TENON_INVALID_ARGUMENT, "tenon_device_free: device is NULL");
  Current current(*device);
  if (tenon_status_t status = current.check())
    return status;
  return device->driver.check(device->driver.memFree(address(memory)),
                              "tenon_device_free");
}

tenon_status_t tenon_device_copy(tenon_device_t *device, void *to,
                                 const void *from, size_t bytes) {
  const char *what = "tenon_device_copy";
  if (!device)
    return fail(TENON_INVALID_ARGUMENT, "%s: device is NULL", what);
  if (bytes == 0)
    return TENON_OK;
  if (!to || !from)
    return fail(TENON_INVALID_ARGUMENT, "%s: %s is NULL", what,
                to ? "from" : "to");
  Current current(*device);
  if (tenon_status_t status = current.check())
    return status;
  using Memory = tenon_device_t::Memory;
  Memory source, target;
  if (tenon_status_t status = device->find(from, source))
    return status;
  if (tenon_status_t status = device->find(to, target))
    return status;
  const Driver &driver = device->driver;
  Result result;
  if (source != Memory::Device && target != Memory::Device) {
    memmove(to, from, bytes);
    return TENON_OK;
  }
  if (source != Memory::Device)
    result = driver.copyHostToDevice(address(to), from, bytes, nullptr);
  else if (target != Memory::Device)
    result = driver.copyDeviceToHost(to, address(from), bytes, nullptr);
  else
    result =
        driver.copyDeviceToDevice(address(to), address(from), bytes, nullptr);
  if (result == success)
    result = driver.streamSynchronize(nullptr);
  return driver.check(result, what);
}
