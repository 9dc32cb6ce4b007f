//===- Abi.h - The driver's interface as numbers --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Written on its own, not shared with the runtime: a wrong number in either
// shows as a test that fails.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_GPU_DRIVER_ABI_H
#define TENON_TEST_GPU_DRIVER_ABI_H

#include <cstddef>
#include <cstdint>

namespace fake {

enum Status : int {
#define STATUS(name, number, theirs, words) name = number,
#include "test/gpu/driver/Statuses.def"
};

const char *nameOf(Status status); // CUDA_...; null: no such status.
const char *wordsOf(Status status);

/// A context, module, function, stream, event or graph: never a real address.
using Handle = void *;
using Address = uint64_t;
using Device = int;

enum DeviceAttribute : int {
  MaxThreadsPerBlock = 1,
  MaxBlockX = 2,
  MaxBlockY = 3,
  MaxBlockZ = 4,
  MaxGridX = 5,
  MaxGridY = 6,
  MaxGridZ = 7,
  MaxSharedPerBlock = 8,
  TotalConstantMemory = 9,
  WarpSize = 10,
  MaxRegistersPerBlock = 12,
  ClockRate = 13,
  MultiprocessorCount = 16,
  Integrated = 18,
  CanMapHostMemory = 19,
  ComputeMode = 20,
  ConcurrentKernels = 31,
  EccEnabled = 32,
  MemoryClockRate = 36,
  MemoryBusWidth = 37,
  L2Bytes = 38,
  MaxThreadsPerMultiprocessor = 39,
  AsyncEngines = 40,
  UnifiedAddressing = 41,
  Major = 75,
  Minor = 76,
  MaxSharedPerMultiprocessor = 81,
  MaxRegistersPerMultiprocessor = 82,
  ManagedMemory = 83,
  PageableAccess = 88,
  CooperativeLaunch = 95,
  MaxSharedOptIn = 97,
  MaxBlocksPerMultiprocessor = 106,
  ReservedSharedPerBlock = 111,
  MemoryPools = 115,
  ClusterLaunch = 120,
  TensorMapAccess = 127,
};

enum FunctionAttribute : int {
  FunctionMaxThreads = 0,
  FunctionSharedBytes = 1,
  FunctionConstBytes = 2,
  FunctionLocalBytes = 3,
  FunctionRegisters = 4,
  FunctionPtxVersion = 5,
  FunctionBinaryVersion = 6,
  FunctionMaxDynamicShared = 8,
  FunctionCarveout = 9,
  FunctionLargeClusters = 14,
};

enum PointerAttribute : int {
  PointerContext = 1,
  PointerMemoryType = 2,
  PointerDevice = 3,
  PointerHost = 4,
  PointerOrdinal = 9,
  PointerRangeStart = 11,
  PointerRangeSize = 12,
};
enum MemoryType : unsigned { HostMemory = 1, DeviceMemory = 2 };

enum JitOption : int {
  JitMaxRegisters = 0,
  JitWallTime = 2,
  JitInfoLog = 3,
  JitInfoLogBytes = 4,
  JitErrorLog = 5,
  JitErrorLogBytes = 6,
  JitOptimization = 7,
  JitVerbose = 12,
  JitLineInfo = 13,
  JitLastKnown = 34,
};

enum StreamFlag : unsigned { StreamNonBlocking = 1 };
enum EventFlag : unsigned { EventDisableTiming = 2, EventFlags = 7 };
enum CaptureMode : int {
  CaptureGlobal = 0,
  CaptureThreadLocal = 1,
  CaptureRelaxed = 2
};
enum CaptureStatus : int {
  CaptureNone = 0,
  CaptureActive = 1,
  CaptureBroken = 2
};
enum HostAllocFlags : unsigned { HostAllocFlagMask = 7 };
enum UpdateResult : int {
  UpdateSuccess = 0,
  UpdateTopologyChanged = 2,
  UpdateNodeTypeChanged = 3,
};
struct UpdateInfo {
  UpdateResult result;
  Handle errorNode, errorFromNode;
};

/// Words of cuLaunchKernel's `extra`.
inline constexpr uintptr_t kLaunchEnd = 0, kLaunchBuffer = 1,
                           kLaunchBufferBytes = 2;

/// What cuLaunchKernelEx takes.
struct LaunchAttribute {
  int id;
  char padding[4];
  union {
    char bytes[64];
    unsigned cluster[3];
    int isOn;
  };
};
struct LaunchConfig {
  unsigned grid[3], block[3], sharedBytes;
  Handle stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};
static_assert(sizeof(LaunchAttribute) == 72 && sizeof(LaunchConfig) == 56);
enum LaunchAttributeId : int {
  LaunchIgnore = 0,
  LaunchCluster = 4,
  LaunchBesidePrevious = 6, // Programmatic stream serialisation.
};

/// The exit status of a process that violated a rule.
inline constexpr int kViolationStatus = 86;

} // namespace fake

/// Every function of the fake driver is the library's to export.
#define FAKE_CUDA extern "C" __attribute__((visibility("default"))) fake::Status

#endif // TENON_TEST_GPU_DRIVER_ABI_H
