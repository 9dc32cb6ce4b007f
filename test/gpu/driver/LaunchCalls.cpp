//===- LaunchCalls.cpp - Functions and their launches ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/driver/Call.h"
#include "test/gpu/driver/Queue.h"
#include "test/gpu/sim/TensorMap.h"

#include <algorithm>
#include <cstring>

using namespace fake;

namespace {
constexpr uint32_t kSharedWithoutAsking = 49152;

uint32_t sharedOptIn(const Driver &driver) {
  return driver.settings.sm == 80    ? 166912
         : driver.settings.sm == 120 ? 101376
                                     : 232448;
}

uint32_t mostThreads(const sim::Kernel &kernel) {
  uint32_t most = 1;
  for (uint32_t threads : kernel.maxThreads)
    most *= std::max(threads, 1u);
  return kernel.maxThreads[0] ? most : 1024;
}
} // namespace

FAKE_CUDA cuFuncSetAttribute(Handle handle, FunctionAttribute attribute,
                             int value) {
  Call call("cuFuncSetAttribute", NeedsContext, InvalidValue);
  Function *function = call ? call.object<Function>(handle) : nullptr;
  if (!function || attribute == FunctionCarveout)
    return call.status(); // A wish, without effect here.
  if (attribute == FunctionLargeClusters) {
    function->largeClusters = value != 0;
    return call.done();
  }
  if (attribute != FunctionMaxDynamicShared)
    return call.violate(InvalidValue, "attribute %d cannot be set",
                        int(attribute));
  uint32_t room = sharedOptIn(call.driver);
  uint32_t fixed = function->kernel->staticShared;
  if (value < 0 || uint32_t(value) + fixed > room)
    return call.violate(InvalidValue,
                        "%d bytes of dynamic and %u of static shared memory; "
                        "the device has %u",
                        value, fixed, room);
  function->maxDynamicShared = uint32_t(value);
  return call.done();
}

FAKE_CUDA cuFuncGetAttribute(int *out, FunctionAttribute attribute,
                             Handle handle) {
  Call call("cuFuncGetAttribute", NeedsContext, InvalidValue);
  Function *function = call ? call.object<Function>(handle) : nullptr;
  if (!function)
    return call.status();
  const sim::Kernel &kernel = *function->kernel;
  int sm = int(call.driver.settings.sm);
  switch (attribute) {
  case FunctionMaxThreads:
    *out = int(mostThreads(kernel));
    break;
  case FunctionSharedBytes:
    *out = int(kernel.staticShared);
    break;
  case FunctionConstBytes:
    *out = 0;
    break;
  case FunctionLocalBytes:
    *out = int(kernel.local);
    break;
  case FunctionRegisters:
    *out = int(std::min(kernel.registers, 255u)); // Of PTX, not the machine's.
    break;
  case FunctionPtxVersion:
    *out = call.driver.find<Module>(function->module)->ptxVersion;
    break;
  case FunctionBinaryVersion:
    *out = sm;
    break;
  case FunctionMaxDynamicShared:
    *out = int(function->maxDynamicShared ? function->maxDynamicShared
                                          : kSharedWithoutAsking);
    break;
  default:
    return call.violate(InvalidValue, "attribute %d is not known here",
                        int(attribute));
  }
  return call.done();
}

namespace {
bool checkSizes(Call &call, const sim::Kernel &kernel,
                const sim::Launch &launch) {
  const char *name = kernel.name.c_str();
  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (!launch.grid[i] || !launch.block[i])
      return call.violate(InvalidValue, "%s: a size is 0", name), false;
    if (launch.grid[i] > (i ? 65535u : 0x7fffffffu))
      return call.violate(InvalidValue, "%s: %u blocks along axis %d", name,
                          launch.grid[i], i),
             false;
    threads *= launch.block[i];
  }
  if (threads > 1024 || launch.block[2] > 64)
    return call.violate(InvalidValue,
                        "%s: %llu threads in a block are over the limit of "
                        "1024",
                        name, static_cast<unsigned long long>(threads)),
           false;
  if (threads > mostThreads(kernel))
    return call.violate(InvalidValue,
                        "%s: %llu threads in a block are over its .maxntid "
                        "of %u",
                        name, static_cast<unsigned long long>(threads),
                        mostThreads(kernel)),
           false;
  for (int i = 0; i < 3; ++i)
    if (kernel.requiredThreads[0] &&
        launch.block[i] != std::max(kernel.requiredThreads[i], 1u))
      return call.violate(InvalidValue, "%s: the block is not its .reqntid",
                          name),
             false;
  return true;
}

bool checkShared(Call &call, const Function &function, uint32_t bytes) {
  uint32_t fixed = function.kernel->staticShared;
  uint32_t most =
      function.maxDynamicShared
          ? function.maxDynamicShared
          : kSharedWithoutAsking - std::min(kSharedWithoutAsking, fixed);
  if (bytes <= most)
    return true;
  call.violate(InvalidValue,
               "%s: %u bytes of dynamic shared memory are over the %u that "
               "are allowed (cuFuncSetAttribute)",
               function.kernel->name.c_str(), bytes, most);
  return false;
}

/// `extra`: all parameters in one buffer, whose size is known.
bool takeBuffer(Call &call, const sim::Kernel &kernel, void **extra,
                std::vector<char> &out) {
  const void *buffer = nullptr;
  size_t bytes = 0;
  for (;; extra += 2) {
    auto word = reinterpret_cast<uintptr_t>(extra[0]);
    if (word == kLaunchEnd)
      break;
    if (word == kLaunchBuffer)
      buffer = extra[1];
    else if (word == kLaunchBufferBytes)
      bytes = *static_cast<size_t *>(extra[1]);
    else
      return call.violate(InvalidValue, "%s: extra word %zu",
                          kernel.name.c_str(), size_t(word)),
             false;
  }
  if (bytes != kernel.parameterBytes || !isReadable(buffer, bytes))
    return call.violate(InvalidValue,
                        "%s: a buffer of %zu bytes of parameters; it takes %u",
                        kernel.name.c_str(), bytes, kernel.parameterBytes),
           false;
  auto *data = static_cast<const char *>(buffer);
  out.assign(data, data + bytes);
  return true;
}

bool takeParameters(Call &call, const sim::Kernel &kernel, void **parameters,
                    void **extra, std::vector<char> &out) {
  if (parameters && extra)
    return call.violate(InvalidValue, "%s: parameters are given twice",
                        kernel.name.c_str()),
           false;
  if (extra)
    return takeBuffer(call, kernel, extra, out);
  out.assign(kernel.parameterBytes, 0);
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    const sim::Parameter &parameter = kernel.parameters[i];
    bool there = parameters && isReadable(parameters + i, sizeof(void *));
    if (!there || !isReadable(parameters[i], parameter.bytes))
      return call.violate(InvalidValue,
                          "%s takes %zu parameters and parameter %zu is not "
                          "there",
                          kernel.name.c_str(), kernel.parameters.size(), i),
             false;
    memcpy(out.data() + parameter.offset, parameters[i], parameter.bytes);
  }
  return true;
}

/// Parameters that are addresses of live allocations, by their value alone,
/// which no other number has; and what tensor maps name.
std::vector<Address> usesOf(const sim::Memory &memory,
                            const sim::Kernel &kernel,
                            const std::vector<char> &parameters) {
  std::vector<Address> uses;
  for (const sim::Parameter &parameter : kernel.parameters) {
    uint64_t value = 0, base = 0, bytes = 0;
    sim::TensorMap map;
    if (parameter.bytes == sim::TensorMap::kBytes &&
        map.decode(parameters.data() + parameter.offset) &&
        memory.range(map.address, base, bytes))
      uses.push_back(base);
    if (parameter.bytes != 8)
      continue;
    memcpy(&value, parameters.data() + parameter.offset, 8);
    if (memory.range(value, base, bytes))
      uses.push_back(base);
  }
  return uses;
}
/// Clusters are the kernel's, or what the launch says.
bool checkCluster(Call &call, const Function &function,
                  const sim::Launch &launch) {
  const sim::Kernel &kernel = *function.kernel;
  const char *name = kernel.name.c_str();
  uint64_t blocks = 1;
  for (int i = 0; i < 3; ++i) {
    uint32_t size = launch.cluster[i];
    if (!size || launch.grid[i] % size)
      return call.violate(InvalidClusterSize,
                          "%s: %u blocks along axis %d are no multiple of the "
                          "cluster's %u",
                          name, launch.grid[i], i, size),
             false;
    if (kernel.requiredCluster[0] &&
        size != std::max(kernel.requiredCluster[i], 1u))
      return call.violate(InvalidClusterSize,
                          "%s: the cluster is not its .reqnctapercluster",
                          name),
             false;
    blocks *= size;
  }
  if (blocks > 1 && call.driver.settings.sm < 90)
    return call.violate(InvalidClusterSize, "%s: the device has no clusters",
                        name),
           false;
  if (blocks > (function.largeClusters ? 16 : 8))
    return call.violate(InvalidClusterSize,
                        "%s: %llu blocks in a cluster are over the limit of %d",
                        name, static_cast<unsigned long long>(blocks),
                        function.largeClusters ? 16 : 8),
           false;
  return true;
}

/// What the attributes of a launch say.
struct Attributes {
  const unsigned *cluster = nullptr;
  bool overlaps = false;
};

/// Issues what a call asks for; `config` holds no attributes any more.
Status launchKernel(Call &call, const LaunchConfig &config, Handle handle,
                    const Attributes &attributes, void **parameters,
                    void **extra) {
  Function *function = call ? call.object<Function>(handle) : nullptr;
  Stream *stream = function ? call.stream(config.stream) : nullptr;
  if (!stream)
    return call.status();
  const sim::Kernel &kernel = *function->kernel;
  Operation operation;
  operation.kind = Operation::Launch;
  operation.call = format("%s of %s", call.name, kernel.name.c_str());
  operation.function = handle;
  sim::Launch &launch = operation.launch;
  launch.dynamicShared = config.sharedBytes;
  launch.overlaps = attributes.overlaps;
  launch.order = call.driver.settings.order;
  launch.instructionLimit = call.driver.settings.instructions;
  for (int i = 0; i < 3; ++i) {
    launch.grid[i] = config.grid[i];
    launch.block[i] = config.block[i];
    launch.cluster[i] = attributes.cluster
                            ? attributes.cluster[i]
                            : std::max(kernel.requiredCluster[i], 1u);
  }
  if (!checkSizes(call, kernel, launch) ||
      !checkCluster(call, *function, launch) ||
      !checkShared(call, *function, config.sharedBytes) ||
      !takeParameters(call, kernel, parameters, extra, launch.parameters))
    return call.status();
  operation.uses = usesOf(call.driver.memoryOf(call.current->handle), kernel,
                          launch.parameters);
  call.driver.log(format("  %s: grid %u %u %u, block %u %u %u, cluster %u %u "
                         "%u, shared %u%s",
                         kernel.name.c_str(), launch.grid[0], launch.grid[1],
                         launch.grid[2], launch.block[0], launch.block[1],
                         launch.block[2], launch.cluster[0], launch.cluster[1],
                         launch.cluster[2], config.sharedBytes,
                         launch.overlaps ? ", overlapping" : ""));
  issue(call.driver, *stream, std::move(operation));
  return call.done();
}
} // namespace

FAKE_CUDA cuLaunchKernel(Handle handle, unsigned gridX, unsigned gridY,
                         unsigned gridZ, unsigned blockX, unsigned blockY,
                         unsigned blockZ, unsigned sharedBytes, Handle stream,
                         void **parameters, void **extra) {
  Call call("cuLaunchKernel", NeedsContext, LaunchOutOfResources);
  LaunchConfig config = {{gridX, gridY, gridZ},
                         {blockX, blockY, blockZ},
                         sharedBytes,
                         stream,
                         nullptr,
                         0};
  return launchKernel(call, config, handle, {}, parameters, extra);
}

FAKE_CUDA cuLaunchKernelEx(const LaunchConfig *config, Handle handle,
                           void **parameters, void **extra) {
  Call call("cuLaunchKernelEx", NeedsContext, LaunchOutOfResources);
  if (!call)
    return call.status();
  if (!isReadable(config, sizeof *config) ||
      (config->attributeCount &&
       !isReadable(config->attributes,
                   config->attributeCount * sizeof(LaunchAttribute))))
    return call.violate(InvalidValue, "the configuration is not there");
  Attributes attributes;
  for (unsigned i = 0; i < config->attributeCount; ++i) {
    const LaunchAttribute &attribute = config->attributes[i];
    if (attribute.id == LaunchCluster)
      attributes.cluster = attribute.cluster;
    else if (attribute.id == LaunchBesidePrevious)
      attributes.overlaps = attribute.isOn;
    else if (attribute.id != LaunchIgnore)
      return call.violate(InvalidValue, "attribute %d is not known here",
                          attribute.id);
  }
  if (attributes.overlaps && call.driver.settings.sm < 90)
    return call.violate(InvalidValue,
                        "the device has no launches that overlap");
  return launchKernel(call, *config, handle, attributes, parameters, extra);
}
