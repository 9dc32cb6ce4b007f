//===- Device.cpp - Open a CUDA device ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Cuda/Device.h"
#include "runtime/Error.h"
#include "runtime/Memory.h"
#include "runtime/Options.h"

#include <string.h>

using namespace tenon::cuda;
using namespace tenon::runtime;

tenon_device_t::~tenon_device_t() {
  if (context)
    driver.primaryContextRelease(number);
}

tenon_status_t tenon_device_t::open(const tenon_device_options_t &options) {
  if (options.kind && strcmp(options.kind, "cuda") != 0)
    return fail(TENON_UNSUPPORTED,
                "tenon_device_open: there is no kind of device \"%.60s\"; "
                "known is \"cuda\"",
                options.kind);
  const char *path = options.driver ? options.driver : "libcuda.so.1";
  if (tenon_status_t status = driver.open(path))
    return status;
  if (tenon_status_t status = choose(options.index))
    return status;
  if (tenon_status_t status = ask())
    return status;
  Context retained = nullptr;
  if (tenon_status_t status =
          driver.check(driver.primaryContextRetain(&retained, number),
                       "cannot use the device"))
    return status;
  context = retained;
  return TENON_OK;
}

tenon_status_t tenon_device_t::choose(int wanted) {
  Result result = driver.init(0);
  int count = 0;
  if (result == success)
    result = driver.deviceGetCount(&count);
  if (result == errorNoDevice || (result == success && count == 0))
    return fail(TENON_NOT_FOUND,
                "this machine has no CUDA device that the driver sees; run on "
                "the CPU, or look at what nvidia-smi says");
  if (tenon_status_t status =
          driver.check(result, "cannot start the CUDA driver"))
    return status;
  if (wanted < 0 || wanted >= count)
    return fail(TENON_NOT_FOUND,
                "there is no CUDA device %d: this machine has %d, counted "
                "from 0",
                wanted, count);
  index = wanted;
  return driver.check(driver.deviceGet(&number, wanted),
                      "cannot use the device");
}

tenon_status_t tenon_device_t::ask() {
  int major = 0, minor = 0;
  Result result = driver.deviceGetName(name, sizeof name - 1, number);
  if (result == success)
    result = driver.deviceTotalMem(&memoryBytes, number);
  auto attribute = [&](int &value, DeviceAttribute which) {
    if (result == success)
      result = driver.deviceGetAttribute(&value, which, number);
  };
  attribute(major, attributeComputeCapabilityMajor);
  attribute(minor, attributeComputeCapabilityMinor);
  attribute(sharedBytes, attributeMaxSharedMemoryPerBlockOptin);
  capability = 10 * major + minor;
  return driver.check(result, "cannot ask the device what it is");
}

void *tenon_device_t::allocate(uint64_t bytes) {
  Current current(*this);
  DevicePointer memory = 0;
  if (!current || driver.memAlloc(&memory, bytes) != success)
    return nullptr;
  return reinterpret_cast<void *>(memory);
}

void tenon_device_t::free(void *memory) {
  Current current(*this);
  if (current)
    driver.memFree(address(memory));
}

tenon_status_t tenon_device_t::find(const void *pointer, Memory &memory) const {
  unsigned type = 0;
  memory = Memory::Pageable;
  Result result =
      driver.pointerGetAttribute(&type, attributeMemoryType, address(pointer));
  if (result == errorInvalidValue) // It does not know it.
    return TENON_OK;
  if (tenon_status_t status =
          driver.check(result, "cannot ask where a tensor is"))
    return status;
  if (type != memoryDevice) {
    memory = type == memoryHost ? Memory::Pinned : Memory::Pageable;
    return TENON_OK;
  }
  memory = Memory::Device;
  int owner = index;
  if (driver.pointerGetAttribute(&owner, attributeDeviceOrdinal,
                                 address(pointer)) == success &&
      owner != index)
    return fail(TENON_INVALID_ARGUMENT,
                "a tensor is on CUDA device %d, but the model on device %d",
                owner, index);
  return TENON_OK;
}

tenon_status_t tenon_device_open(const tenon_device_options_t *options,
                                 tenon_device_t **out_device) {
  if (!out_device)
    return fail(TENON_INVALID_ARGUMENT,
                "tenon_device_open: out_device is NULL");
  *out_device = nullptr;
  tenon_device_options_t known = {};
  if (tenon_status_t status =
          readOptions(options, known, "tenon_device_open: options"))
    return status;
  tenon_device_t *device = create<tenon_device_t>();
  if (!device)
    return fail(TENON_OUT_OF_MEMORY, "no memory for a device");
  if (tenon_status_t status = device->open(known)) {
    destroy(device);
    return status;
  }
  *out_device = device;
  return TENON_OK;
}

void tenon_device_retain(tenon_device_t *device) {
  if (device)
    device->references.fetch_add(1, std::memory_order_relaxed);
}

void tenon_device_release(tenon_device_t *device) {
  if (device && device->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    destroy(device);
}

tenon_status_t tenon_device_info(const tenon_device_t *device,
                                 tenon_device_info_t *out_info) {
  const char *what = "tenon_device_info";
  if (!device)
    return fail(TENON_INVALID_ARGUMENT, "%s: device is NULL", what);
  tenon_device_info_t info = {};
  info.kind = "cuda";
  info.name = device->name;
  info.memory_bytes = device->memoryBytes;
  info.compute_capability = uint32_t(device->capability);
  info.driver_version = uint32_t(device->driver.getVersion());
  info.index = device->index;
  return writeInfo(info, out_info, what);
}
