//===- DriverApi.h - What is used of the CUDA driver's binary interface ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declared here, so that neither building nor running needs the CUDA toolkit:
// the driver's library is opened when a device is. Names, numbers and
// parameter lists are those of the library `libcuda.so.1` on 64-bit Linux.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_RUNTIME_CUDA_DRIVERAPI_H
#define TENON_RUNTIME_CUDA_DRIVERAPI_H

#include <stddef.h>
#include <stdint.h>

namespace tenon::cuda {

/// An address of the device.
using DevicePointer = unsigned long long;
/// The number of a device, from 0.
using DeviceNumber = int;
/// Zero is success.
using Result = int;

using Context = struct ContextHandle *;
using Event = struct EventHandle *;
using Function = struct FunctionHandle *;
using Graph = struct GraphHandle *;
using GraphExec = struct GraphExecHandle *;
using GraphNode = struct GraphNodeHandle *;
using Module = struct ModuleHandle *;
using Stream = struct StreamHandle *;

enum : Result {
  success = 0,
  errorInvalidValue = 1,
  errorOutOfMemory = 2,
  errorNotInitialized = 3,
  errorStubLibrary = 34,
  errorNoDevice = 100,
  errorInvalidDevice = 101,
  errorInvalidImage = 200,
  errorInvalidContext = 201,
  errorNoBinaryForDevice = 209,
  errorInvalidPtx = 218,
  errorUnsupportedPtxVersion = 222,
  errorInvalidHandle = 400,
  errorNotFound = 500,
  errorNotReady = 600,
  errorIllegalAddress = 700,
  errorLaunchOutOfResources = 701,
  errorLaunchFailed = 719,
  errorSystemDriverMismatch = 803,
  errorCaptureUnsupported = 900,
  errorCaptureInvalidated = 901,
  errorGraphExecUpdateFailure = 910,
  errorUnknown = 999,
};

/// Of a device.
enum DeviceAttribute : int {
  attributeMaxThreadsPerBlock = 1,
  attributeMaxSharedMemoryPerBlock = 8,
  attributeMultiprocessorCount = 16,
  attributeComputeCapabilityMajor = 75,
  attributeComputeCapabilityMinor = 76,
  attributeMaxSharedMemoryPerBlockOptin = 97,
};

/// Of a function.
enum FunctionAttribute : int {
  attributeMaxDynamicSharedSizeBytes = 8,
};

/// Of a pointer; a pointer to plain host memory is errorInvalidValue.
enum PointerAttribute : int {
  attributeMemoryType = 2,    // An unsigned int: MemoryType.
  attributeDeviceOrdinal = 9, // An int.
};

enum MemoryType : unsigned {
  memoryHost = 1,
  memoryDevice = 2,
};

/// Of loading a module; values are passed as pointers.
enum JitOption : int {
  jitErrorLogBuffer = 5,
  jitErrorLogBufferSizeBytes = 6,
};

enum : unsigned {
  streamNonBlocking = 1,
  eventDefault = 0,
  eventDisableTiming = 2,
  hostAllocPortable = 1,
};

enum CaptureMode : int {
  captureGlobal = 0,
  captureThreadLocal = 1,
  captureRelaxed = 2,
};

/// How a kernel is launched, beside its grid.
struct LaunchAttribute {
  int id; // LaunchAttributeId
  char padding[4];
  union {
    char bytes[64];
    int isOn;
  };
};

enum LaunchAttributeId : int {
  // Its blocks may start once all of the kernel before have asked for it; they
  // wait for its end themselves.
  launchProgrammaticSerialization = 6,
};

struct LaunchConfig {
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  Stream stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};

/// What an update of an executable graph ran into.
struct GraphExecUpdateInfo {
  int result;
  GraphNode errorNode, errorFromNode;
};

} // namespace tenon::cuda

/// Every function that is used: FUNCTION(member, symbol in the library,
/// parameters). All return a Result.
#define TENON_CUDA_FUNCTIONS(FUNCTION)                                         \
  FUNCTION(init, "cuInit", (unsigned flags))                                   \
  FUNCTION(driverGetVersion, "cuDriverGetVersion", (int *version))             \
  FUNCTION(getErrorName, "cuGetErrorName", (Result error, const char **text))  \
  FUNCTION(getErrorString, "cuGetErrorString",                                 \
           (Result error, const char **text))                                  \
  FUNCTION(deviceGetCount, "cuDeviceGetCount", (int *count))                   \
  FUNCTION(deviceGet, "cuDeviceGet", (DeviceNumber * device, int ordinal))     \
  FUNCTION(deviceGetName, "cuDeviceGetName",                                   \
           (char *name, int bytes, DeviceNumber device))                       \
  FUNCTION(deviceGetAttribute, "cuDeviceGetAttribute",                         \
           (int *value, DeviceAttribute attribute, DeviceNumber device))       \
  FUNCTION(deviceTotalMem, "cuDeviceTotalMem_v2",                              \
           (size_t *bytes, DeviceNumber device))                               \
  FUNCTION(primaryContextRetain, "cuDevicePrimaryCtxRetain",                   \
           (Context * context, DeviceNumber device))                           \
  FUNCTION(primaryContextRelease, "cuDevicePrimaryCtxRelease_v2",              \
           (DeviceNumber device))                                              \
  FUNCTION(contextPush, "cuCtxPushCurrent_v2", (Context context))              \
  FUNCTION(contextPop, "cuCtxPopCurrent_v2", (Context * context))              \
  FUNCTION(memGetInfo, "cuMemGetInfo_v2", (size_t *free, size_t *total))       \
  FUNCTION(memAlloc, "cuMemAlloc_v2", (DevicePointer * pointer, size_t bytes)) \
  FUNCTION(memFree, "cuMemFree_v2", (DevicePointer pointer))                   \
  FUNCTION(memHostAlloc, "cuMemHostAlloc",                                     \
           (void **pointer, size_t bytes, unsigned flags))                     \
  FUNCTION(memFreeHost, "cuMemFreeHost", (void *pointer))                      \
  FUNCTION(pointerGetAttribute, "cuPointerGetAttribute",                       \
           (void *value, PointerAttribute attribute, DevicePointer pointer))   \
  FUNCTION(copyHostToDevice, "cuMemcpyHtoDAsync_v2",                           \
           (DevicePointer to, const void *from, size_t bytes, Stream stream))  \
  FUNCTION(copyDeviceToHost, "cuMemcpyDtoHAsync_v2",                           \
           (void *to, DevicePointer from, size_t bytes, Stream stream))        \
  FUNCTION(                                                                    \
      copyDeviceToDevice, "cuMemcpyDtoDAsync_v2",                              \
      (DevicePointer to, DevicePointer from, size_t bytes, Stream stream))     \
  FUNCTION(                                                                    \
      memsetBytes, "cuMemsetD8Async",                                          \
      (DevicePointer to, unsigned char value, size_t bytes, Stream stream))    \
  FUNCTION(streamCreate, "cuStreamCreate", (Stream * stream, unsigned flags))  \
  FUNCTION(streamDestroy, "cuStreamDestroy_v2", (Stream stream))               \
  FUNCTION(streamSynchronize, "cuStreamSynchronize", (Stream stream))          \
  FUNCTION(streamBeginCapture, "cuStreamBeginCapture_v2",                      \
           (Stream stream, CaptureMode mode))                                  \
  FUNCTION(streamEndCapture, "cuStreamEndCapture",                             \
           (Stream stream, Graph * graph))                                     \
  FUNCTION(graphInstantiate, "cuGraphInstantiateWithFlags",                    \
           (GraphExec * executable, Graph graph, unsigned long long flags))    \
  FUNCTION(graphExecUpdate, "cuGraphExecUpdate_v2",                            \
           (GraphExec executable, Graph graph, GraphExecUpdateInfo * info))    \
  FUNCTION(graphLaunch, "cuGraphLaunch",                                       \
           (GraphExec executable, Stream stream))                              \
  FUNCTION(graphDestroy, "cuGraphDestroy", (Graph graph))                      \
  FUNCTION(graphExecDestroy, "cuGraphExecDestroy", (GraphExec executable))     \
  FUNCTION(eventCreate, "cuEventCreate", (Event * event, unsigned flags))      \
  FUNCTION(eventDestroy, "cuEventDestroy_v2", (Event event))                   \
  FUNCTION(eventRecord, "cuEventRecord", (Event event, Stream stream))         \
  FUNCTION(eventSynchronize, "cuEventSynchronize", (Event event))              \
  FUNCTION(eventElapsedTime, "cuEventElapsedTime",                             \
           (float *milliseconds, Event from, Event to))                        \
  FUNCTION(moduleLoad, "cuModuleLoadDataEx",                                   \
           (Module * module, const void *image, unsigned optionCount,          \
            const JitOption *options, void **values))                          \
  FUNCTION(moduleUnload, "cuModuleUnload", (Module module))                    \
  FUNCTION(moduleGetFunction, "cuModuleGetFunction",                           \
           (Function * function, Module module, const char *name))             \
  FUNCTION(functionSetAttribute, "cuFuncSetAttribute",                         \
           (Function function, FunctionAttribute attribute, int value))        \
  FUNCTION(launchKernelEx, "cuLaunchKernelEx",                                 \
           (const LaunchConfig *config, Function function, void **parameters,  \
            void **extra))

#endif // TENON_RUNTIME_CUDA_DRIVERAPI_H
