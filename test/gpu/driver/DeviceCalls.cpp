//===- DeviceCalls.cpp - Devices and their primary contexts ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/driver/Call.h"
#include "test/gpu/driver/Queue.h"

#include <cstdio>
#include <cstring>

using namespace fake;

FAKE_CUDA cuInit(unsigned flags) {
  Call call("cuInit", NeedsNothing, Unknown);
  if (!call)
    return call.status();
  if (flags)
    return call.violate(InvalidValue, "flags are %u and must be 0", flags);
  if (call.driver.devices.empty())
    return call.refuse(NoDevice);
  call.driver.initialized = true;
  return call.done();
}

FAKE_CUDA cuDriverGetVersion(int *version) {
  Call call("cuDriverGetVersion", NeedsNothing, InvalidValue);
  if (!call)
    return call.status();
  if (!version)
    return call.violate(InvalidValue, "nowhere to put the version");
  *version = int(call.driver.settings.version);
  return call.done();
}

static Status textOf(Status error, const char **text,
                     const char *(*words)(Status)) {
  // Not through Call: it must work whatever happened.
  if (!text)
    return InvalidValue;
  *text = words(error);
  return *text ? Success : InvalidValue;
}

FAKE_CUDA cuGetErrorName(Status error, const char **text) {
  return textOf(error, text, nameOf);
}

FAKE_CUDA cuGetErrorString(Status error, const char **text) {
  return textOf(error, text, wordsOf);
}

FAKE_CUDA cuDeviceGetCount(int *count) {
  Call call("cuDeviceGetCount", NeedsInit, Unknown);
  if (!call)
    return call.status();
  *count = int(call.driver.devices.size());
  return call.done();
}

FAKE_CUDA cuDeviceGet(Device *device, int ordinal) {
  Call call("cuDeviceGet", NeedsInit, InvalidDevice);
  if (!call)
    return call.status();
  if (ordinal < 0 || size_t(ordinal) >= call.driver.devices.size())
    return call.refuse(InvalidDevice);
  *device = ordinal;
  return call.done();
}

namespace {
/// What differs between the devices that the fake driver can be.
struct Model {
  const char *name;
  int sm, processors, sharedOptIn, sharedPerProcessor, threads, l2;
};
constexpr Model kModels[] = {
    {"Fake A100", 80, 108, 166912, 167936, 2048, 40 << 20},
    {"Fake H100", 90, 132, 232448, 233472, 2048, 50 << 20},
    {"Fake B200", 100, 148, 232448, 233472, 2048, 126 << 20},
    {"Fake RTX 5090", 120, 170, 101376, 102400, 1536, 96 << 20},
};

const Model &modelOf(const Driver &driver) {
  for (const Model &model : kModels)
    if (uint64_t(model.sm) == driver.settings.sm)
      return model;
  return kModels[0];
}

bool isDevice(Call &call, Device device) {
  if (device >= 0 && size_t(device) < call.driver.devices.size())
    return true;
  call.violate(InvalidDevice, "there is no device %d", device);
  return false;
}

int valueOf(const Model &model, DeviceAttribute attribute) {
  switch (attribute) {
  case MaxThreadsPerBlock:
  case MaxBlockX:
  case MaxBlockY:
    return 1024;
  case MaxBlockZ:
    return 64;
  case MaxGridX:
    return 0x7fffffff;
  case MaxGridY:
  case MaxGridZ:
    return 65535;
  case MaxSharedPerBlock:
    return 49152;
  case TotalConstantMemory:
    return 65536;
  case WarpSize:
    return 32;
  case MaxRegistersPerBlock:
  case MaxRegistersPerMultiprocessor:
    return 65536;
  case ClockRate:
    return 1500000;
  case MultiprocessorCount:
    return model.processors;
  case MemoryClockRate:
    return 2600000;
  case MemoryBusWidth:
    return 5120;
  case L2Bytes:
    return model.l2;
  case MaxThreadsPerMultiprocessor:
    return model.threads;
  case AsyncEngines:
    return 3;
  case Major:
    return model.sm / 10;
  case Minor:
    return model.sm % 10;
  case MaxSharedPerMultiprocessor:
    return model.sharedPerProcessor;
  case MaxSharedOptIn:
    return model.sharedOptIn;
  case MaxBlocksPerMultiprocessor:
    return 32;
  case ReservedSharedPerBlock:
    return 1024;
  case CanMapHostMemory:
  case ConcurrentKernels:
  case EccEnabled:
  case UnifiedAddressing:
  case ManagedMemory:
  case CooperativeLaunch:
  case MemoryPools:
    return 1;
  case ClusterLaunch:
  case TensorMapAccess:
    return model.sm >= 90;
  case Integrated:
  case ComputeMode:
  case PageableAccess:
    return 0;
  }
  return -1;
}
} // namespace

FAKE_CUDA cuDeviceGetName(char *name, int bytes, Device device) {
  Call call("cuDeviceGetName", NeedsInit, InvalidDevice);
  if (!call || !isDevice(call, device))
    return call.status();
  if (!name || bytes <= 0)
    return call.violate(InvalidValue, "nowhere to put the name");
  snprintf(name, size_t(bytes), "%s", modelOf(call.driver).name);
  return call.done();
}

FAKE_CUDA cuDeviceGetAttribute(int *value, DeviceAttribute attribute,
                               Device device) {
  Call call("cuDeviceGetAttribute", NeedsInit, InvalidValue);
  if (!call || !isDevice(call, device))
    return call.status();
  int known = valueOf(modelOf(call.driver), attribute);
  if (known < 0)
    return call.violate(InvalidValue, "attribute %d is not known here",
                        int(attribute));
  *value = known;
  return call.done();
}

FAKE_CUDA cuDeviceTotalMem_v2(size_t *bytes, Device device) {
  Call call("cuDeviceTotalMem_v2", NeedsInit, InvalidDevice);
  if (!call || !isDevice(call, device))
    return call.status();
  *bytes = call.driver.settings.memory;
  return call.done();
}

FAKE_CUDA cuDevicePrimaryCtxRetain(Handle *context, Device device) {
  Call call("cuDevicePrimaryCtxRetain", NeedsInit, OutOfMemory);
  if (!call || !isDevice(call, device))
    return call.status();
  Driver &driver = call.driver;
  DeviceState &state = *driver.devices[size_t(device)];
  if (!state.retained++) {
    auto *made = driver.make<Context>(device);
    made->defaultStream = driver.make<Stream>(made->handle, true)->handle;
    state.primary = made->handle;
  }
  *context = state.primary;
  return call.done();
}

/// Everything that a context has goes with it.
static void destroyContext(Driver &driver, Context &context) {
  std::vector<Handle> all;
  auto collect = [&](Object &object) {
    if (object.context == context.handle && object.kind != Kind::Context)
      all.push_back(object.handle);
  };
  driver.each<Function>(collect);
  driver.each<Module>(collect);
  driver.each<Stream>(collect);
  driver.each<Event>(collect);
  driver.each<Graph>(collect);
  driver.each<GraphExec>(collect);
  DeviceState &state = *driver.devices[size_t(context.device)];
  for (Handle handle : all)
    driver.destroy(handle);
  for (auto &[address, owner] : state.owners)
    state.memory.free(address);
  state.owners.clear();
  driver.destroy(context.handle);
  state.primary = nullptr;
}

FAKE_CUDA cuDevicePrimaryCtxRelease_v2(Device device) {
  Call call("cuDevicePrimaryCtxRelease_v2", NeedsInit | Destroys, LaunchFailed);
  if (!call || !isDevice(call, device))
    return call.status();
  Driver &driver = call.driver;
  DeviceState &state = *driver.devices[size_t(device)];
  if (!state.retained)
    return call.violate(InvalidContext, "it was not retained");
  if (--state.retained)
    return call.done();
  auto &context = *driver.find<Context>(state.primary);
  bool pending = false;
  driver.each<Stream>([&](Stream &stream) {
    pending |= stream.context == context.handle && !stream.queue.empty();
  });
  if (pending && context.broken == Success)
    driver.violate("cuDevicePrimaryCtxRelease_v2: work is not finished: "
                   "synchronise first");
  driver.lookForLeaks(context.handle, call.name);
  destroyContext(driver, context);
  return call.done();
}
