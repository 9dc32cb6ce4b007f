//===- Work.cpp - Copies, streams, events and captures --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/driver/unit/Fixture.h"

#include <cstring>
#include <sys/mman.h>

using namespace tenon::cuda;

namespace {
class Work : public DriverTest,
             public testing::WithParamInterface<const char *> {};
class LazyWork : public DriverTest {
protected:
  LazyWork() { open({{"QUEUE", "lazy"}}); }

  void *pinned(size_t bytes) {
    void *block = nullptr;
    EXPECT_EQ(cu.memHostAlloc(&block, bytes, hostAllocPortable), success);
    return block;
  }
};

// Whenever the work is done, who synchronises sees it.
TEST_P(Work, CopiesThereAndBack) {
  open({{"QUEUE", GetParam()}, {"SEED", "7"}});
  DevicePointer first = allocate(1000), second = allocate(1000);
  char in[1000], out[1000];
  for (int i = 0; i < 1000; ++i)
    in[i] = char(i);
  EXPECT_EQ(cu.copyHostToDevice(first, in, 1000, stream), success);
  EXPECT_EQ(cu.copyDeviceToDevice(second, first, 1000, stream), success);
  EXPECT_EQ(cu.memsetBytes(second + 10, 5, 20, stream), success);
  EXPECT_EQ(cu.copyDeviceToHost(out, second, 1000, stream), success);
  EXPECT_EQ(cu.streamSynchronize(stream), success);
  memset(in + 10, 5, 20);
  EXPECT_EQ(memcmp(in, out, 1000), 0);
  EXPECT_EQ(cu.memFree(first), success);
  EXPECT_EQ(cu.memFree(second), success);
  close();
}

TEST_P(Work, EventsOrderStreams) {
  open({{"QUEUE", GetParam()}, {"SEED", "3"}});
  auto wait = reinterpret_cast<Result (*)(Stream, Event, unsigned)>(
      symbol("cuStreamWaitEvent"));
  Stream other = nullptr;
  ASSERT_EQ(cu.streamCreate(&other, streamNonBlocking), success);
  Event event = nullptr;
  ASSERT_EQ(cu.eventCreate(&event, eventDisableTiming), success);
  DevicePointer memory = allocate(4);
  unsigned out = 0;
  EXPECT_EQ(cu.memsetBytes(memory, 1, 4, stream), success);
  EXPECT_EQ(cu.eventRecord(event, stream), success);
  EXPECT_EQ(wait(other, event, 0), success);
  EXPECT_EQ(cu.copyDeviceToHost(&out, memory, 4, other), success);
  EXPECT_EQ(cu.streamSynchronize(other), success);
  EXPECT_EQ(out, 0x01010101u);
  EXPECT_EQ(cu.streamSynchronize(stream), success);
  EXPECT_EQ(cu.memFree(memory), success);
  EXPECT_EQ(cu.eventDestroy(event), success);
  EXPECT_EQ(cu.streamDestroy(other), success);
  close();
}

TEST_P(Work, TimeGoesOn) {
  open({{"QUEUE", GetParam()}});
  Event from = nullptr, to = nullptr;
  ASSERT_EQ(cu.eventCreate(&from, eventDefault), success);
  ASSERT_EQ(cu.eventCreate(&to, eventDefault), success);
  EXPECT_EQ(cu.eventRecord(from, stream), success);
  EXPECT_EQ(cu.eventRecord(to, stream), success);
  EXPECT_EQ(cu.eventSynchronize(to), success);
  float milliseconds = -1;
  EXPECT_EQ(cu.eventElapsedTime(&milliseconds, from, to), success);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(cu.eventDestroy(from), success);
  EXPECT_EQ(cu.eventDestroy(to), success);
  close();
}

INSTANTIATE_TEST_SUITE_P(Queues, Work,
                         testing::Values("eager", "lazy", "random"));

// Nobody waits for the copy, so its bytes are not there.
TEST_F(LazyWork, AForgottenSynchronisationShows) {
  DevicePointer memory = allocate(4);
  unsigned out = 0;
  EXPECT_EQ(cu.memsetBytes(memory, 1, 4, stream), success);
  EXPECT_EQ(cu.copyDeviceToHost(&out, memory, 4, stream), success);
  EXPECT_EQ(out, 0x7fd17fd1u);
  EXPECT_EQ(cu.streamSynchronize(stream), success);
  EXPECT_EQ(out, 0x01010101u);
  EXPECT_EQ(cu.memFree(memory), success);
  close();
}

TEST_F(LazyWork, TheHostChangesBytesThatAreStillToBeCopied) {
  DevicePointer memory = allocate(64);
  void *host = pinned(64);
  EXPECT_EQ(cu.copyHostToDevice(memory, host, 64, stream), success);
  memset(host, 1, 64);
  EXPECT_EQ(cu.streamSynchronize(stream), success);
  EXPECT_COMPLAINT("cuMemcpyHtoDAsync_v2: the host changed the bytes before "
                   "they were copied");
  EXPECT_EQ(cu.memFreeHost(host), success);
  EXPECT_EQ(cu.memFree(memory), success);
  close();
}

// A copy out and a copy in of the same bytes follow each other: no mistake.
TEST_F(LazyWork, BytesThatTheDeviceItselfChangesAreFine) {
  DevicePointer memory = allocate(64);
  void *host = pinned(64);
  EXPECT_EQ(cu.memsetBytes(memory, 3, 64, stream), success);
  EXPECT_EQ(cu.copyDeviceToHost(host, memory, 64, stream), success);
  EXPECT_EQ(cu.copyHostToDevice(memory, host, 64, stream), success);
  EXPECT_EQ(cu.streamSynchronize(stream), success);
  EXPECT_EQ(cu.memFreeHost(host), success);
  EXPECT_EQ(cu.memFree(memory), success);
  close();
}

TEST_F(LazyWork, MemoryIsFreedUnderWork) {
  DevicePointer memory = allocate(64);
  void *host = pinned(64);
  EXPECT_EQ(cu.copyHostToDevice(memory, host, 64, stream), success);
  EXPECT_EQ(cu.memFree(memory), success);
  EXPECT_COMPLAINT("cuMemFree_v2: cuMemcpyHtoDAsync_v2 uses the memory");
  memory = allocate(64);
  EXPECT_EQ(cu.copyHostToDevice(memory, host, 64, stream), success);
  EXPECT_EQ(cu.memFreeHost(host), success);
  EXPECT_COMPLAINT("cuMemFreeHost: cuMemcpyHtoDAsync_v2 uses the memory");
  EXPECT_EQ(cu.memFree(memory), success);
  close();
}

TEST_F(LazyWork, HostMemoryThatIsNotTheDriversGoesUnderWork) {
  DevicePointer memory = allocate(4096);
  void *host = mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_EQ(cu.copyHostToDevice(memory, host, 4096, stream), success);
  munmap(host, 4096);
  EXPECT_EQ(cu.streamSynchronize(stream), errorIllegalAddress);
  EXPECT_COMPLAINT("the host's bytes are gone before they were copied");
  cu.memFree(memory);
  cu.streamDestroy(stream);
  cu.contextPop(&context);
  cu.primaryContextRelease(0);
}

TEST_F(LazyWork, AContextIsReleasedUnderWork) {
  DevicePointer memory = allocate(64);
  EXPECT_EQ(cu.memsetBytes(memory, 3, 64, nullptr), success);
  EXPECT_EQ(cu.streamDestroy(stream), success);
  EXPECT_EQ(cu.contextPop(&context), success);
  EXPECT_EQ(cu.primaryContextRelease(0), success);
  EXPECT_COMPLAINT("work is not finished: synchronise first");
}

TEST_F(LazyWork, TheDefaultStreamWaitsForBlockingOnes) {
  Stream blocking = nullptr;
  ASSERT_EQ(cu.streamCreate(&blocking, 0), success);
  DevicePointer memory = allocate(4);
  unsigned out = 0;
  EXPECT_EQ(cu.memsetBytes(memory, 1, 4, blocking), success);
  EXPECT_EQ(cu.copyDeviceToHost(&out, memory, 4, nullptr), success);
  EXPECT_EQ(cu.streamSynchronize(nullptr), success);
  EXPECT_EQ(out, 0x01010101u);
  EXPECT_EQ(cu.streamDestroy(blocking), success);
  EXPECT_EQ(cu.memFree(memory), success);
  close();
}

class Ranges : public DriverTest {};

TEST_F(Ranges, CopiesOutsideAnAllocation) {
  open();
  DevicePointer memory = allocate(64);
  char host[128] = {};
  EXPECT_EQ(cu.copyHostToDevice(memory, host, 65, stream), errorInvalidValue);
  EXPECT_COMPLAINT("cuMemcpyHtoDAsync_v2: the target: ");
  EXPECT_EQ(cu.copyDeviceToHost(host, memory + 60, 8, stream),
            errorInvalidValue);
  EXPECT_COMPLAINT("cuMemcpyDtoHAsync_v2: the source: ");
  EXPECT_EQ(cu.copyDeviceToDevice(memory, memory + 8, 16, stream),
            errorInvalidValue);
  EXPECT_COMPLAINT("the source and the target overlap");
  EXPECT_EQ(cu.memsetBytes(memory, 0, 80, stream), errorInvalidValue);
  EXPECT_COMPLAINT("cuMemsetD8Async: the target: ");
  EXPECT_EQ(cu.memFree(memory), success);
  EXPECT_EQ(cu.memsetBytes(memory, 0, 4, stream), errorInvalidValue);
  EXPECT_COMPLAINT("cuMemsetD8Async: the target: ");
  close();
}

TEST_F(Ranges, CopiesOutsideHostMemory) {
  open();
  DevicePointer memory = allocate(64);
  void *host = nullptr;
  ASSERT_EQ(cu.memHostAlloc(&host, 32, hostAllocPortable), success);
  EXPECT_EQ(cu.copyHostToDevice(memory, host, 40, stream), errorInvalidValue);
  EXPECT_COMPLAINT("the source ends 8 bytes after its host memory");
  EXPECT_EQ(cu.memFreeHost(host), success);
  EXPECT_EQ(cu.copyHostToDevice(memory, host, 8, stream), errorInvalidValue);
  EXPECT_COMPLAINT("the source is host memory that was freed");
  auto *device = reinterpret_cast<void *>(memory);
  EXPECT_EQ(cu.copyDeviceToHost(device, memory, 8, stream), errorInvalidValue);
  EXPECT_COMPLAINT("the target is memory of the device, not the host");
  EXPECT_EQ(cu.memFree(memory), success);
  close();
}

TEST_F(Ranges, MemoryOfAnotherDevice) {
  open({{"DEVICES", "2"}});
  DevicePointer memory = allocate(64);
  Context second = nullptr;
  ASSERT_EQ(cu.primaryContextRetain(&second, 1), success);
  ASSERT_EQ(cu.contextPush(second), success);
  EXPECT_EQ(cu.memsetBytes(memory, 0, 4, nullptr), errorInvalidValue);
  EXPECT_COMPLAINT("the target is memory of device 0");
  EXPECT_EQ(cu.contextPop(&second), success);
  EXPECT_EQ(cu.primaryContextRelease(1), success);
  EXPECT_EQ(cu.memFree(memory), success);
  close();
}

TEST_F(Ranges, WhatAPointerIs) {
  open();
  DevicePointer memory = allocate(64);
  void *host = nullptr;
  ASSERT_EQ(cu.memHostAlloc(&host, 32, hostAllocPortable), success);
  unsigned type = 0;
  int ordinal = -1;
  EXPECT_EQ(cu.pointerGetAttribute(&type, attributeMemoryType, memory + 63),
            success);
  EXPECT_EQ(type, memoryDevice);
  EXPECT_EQ(cu.pointerGetAttribute(&ordinal, attributeDeviceOrdinal, memory),
            success);
  EXPECT_EQ(ordinal, 0);
  EXPECT_EQ(cu.pointerGetAttribute(&type, attributeMemoryType,
                                   DevicePointer(uintptr_t(host)) + 31),
            success);
  EXPECT_EQ(type, memoryHost);
  EXPECT_EQ(cu.pointerGetAttribute(&type, attributeMemoryType,
                                   DevicePointer(uintptr_t(&type))),
            errorInvalidValue);
  EXPECT_EQ(cu.memFreeHost(host), success);
  EXPECT_EQ(cu.memFree(memory), success);
  close();
}

class Captures : public DriverTest {
protected:
  /// An instantiated graph that sets 4 bytes.
  GraphExec capture(DevicePointer memory, unsigned char value = 1) {
    Graph graph = captureGraph(memory, value);
    GraphExec made = nullptr;
    EXPECT_EQ(cu.graphInstantiate(&made, graph, 0), success);
    EXPECT_EQ(cu.graphDestroy(graph), success);
    return made;
  }

  Graph captureGraph(DevicePointer memory, unsigned char value, int times = 1) {
    Graph graph = nullptr;
    EXPECT_EQ(cu.streamBeginCapture(stream, captureThreadLocal), success);
    for (int i = 0; i < times; ++i)
      EXPECT_EQ(cu.memsetBytes(memory, value, 4, stream), success);
    EXPECT_EQ(cu.streamEndCapture(stream, &graph), success);
    return graph;
  }

  unsigned read(DevicePointer memory) {
    unsigned out = 0;
    EXPECT_EQ(cu.copyDeviceToHost(&out, memory, 4, stream), success);
    EXPECT_EQ(cu.streamSynchronize(stream), success);
    return out;
  }
};

TEST_F(Captures, WhatIsCapturedIsDoneAtEachLaunch) {
  open({{"QUEUE", "lazy"}});
  DevicePointer memory = allocate(4);
  GraphExec made = capture(memory);
  EXPECT_EQ(read(memory), 0x7fd17fd1u);
  EXPECT_EQ(cu.graphLaunch(made, stream), success);
  EXPECT_EQ(read(memory), 0x01010101u);
  Graph other = captureGraph(memory, 2);
  GraphExecUpdateInfo info;
  EXPECT_EQ(cu.graphExecUpdate(made, other, &info), success);
  EXPECT_EQ(cu.graphLaunch(made, stream), success);
  EXPECT_EQ(read(memory), 0x02020202u);
  EXPECT_EQ(cu.graphDestroy(other), success);
  EXPECT_EQ(cu.graphExecDestroy(made), success);
  EXPECT_EQ(cu.memFree(memory), success);
  close();
}

TEST_F(Captures, AGraphOfAnotherShapeIsNoUpdate) {
  open();
  DevicePointer memory = allocate(4);
  GraphExec made = capture(memory);
  Graph other = captureGraph(memory, 2, 2);
  GraphExecUpdateInfo info;
  EXPECT_EQ(cu.graphExecUpdate(made, other, &info),
            errorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, 2);
  EXPECT_EQ(cu.graphDestroy(other), success);
  EXPECT_EQ(cu.graphExecDestroy(made), success);
  EXPECT_EQ(cu.memFree(memory), success);
  close();
}

TEST_F(Captures, WaitingInACapture) {
  open();
  EXPECT_EQ(cu.streamBeginCapture(stream, captureThreadLocal), success);
  EXPECT_EQ(cu.streamSynchronize(stream), errorCaptureUnsupported);
  EXPECT_COMPLAINT("cuStreamSynchronize: the stream is being captured");
  Graph graph = nullptr;
  EXPECT_EQ(cu.streamEndCapture(stream, &graph), errorCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  close();
}

TEST_F(Captures, AllocatingInACapture) {
  open();
  EXPECT_EQ(cu.streamBeginCapture(stream, captureGlobal), success);
  DevicePointer memory = 0;
  EXPECT_EQ(cu.memAlloc(&memory, 4), errorCaptureUnsupported);
  EXPECT_COMPLAINT("cuMemAlloc_v2: called while a stream is captured");
  Graph graph = nullptr;
  EXPECT_EQ(cu.streamEndCapture(stream, &graph), errorCaptureInvalidated);
  close();
}

TEST_F(Captures, ARelaxedCaptureAllowsAllocating) {
  open();
  EXPECT_EQ(cu.streamBeginCapture(stream, captureRelaxed), success);
  DevicePointer memory = allocate(4);
  Graph graph = nullptr;
  EXPECT_EQ(cu.streamEndCapture(stream, &graph), success);
  EXPECT_EQ(cu.graphDestroy(graph), success);
  EXPECT_EQ(cu.memFree(memory), success);
  close();
}

TEST_F(Captures, NoCaptureWasBegun) {
  open();
  Graph graph = nullptr;
  EXPECT_EQ(cu.streamEndCapture(stream, &graph), 903);
  EXPECT_COMPLAINT("no capture was begun");
  close();
}

TEST_F(Captures, AGraphOutlivesItsMemory) {
  open();
  DevicePointer memory = allocate(4);
  GraphExec made = capture(memory);
  EXPECT_EQ(cu.memFree(memory), success);
  EXPECT_EQ(cu.graphLaunch(made, stream), errorIllegalAddress);
  EXPECT_COMPLAINT("was captured with memory that was freed since");
  EXPECT_EQ(cu.graphExecDestroy(made), success);
  close();
}

TEST_F(Captures, AGraphIsLeaked) {
  open();
  DevicePointer memory = allocate(4);
  capture(memory);
  EXPECT_EQ(cu.memFree(memory), success);
  close();
  EXPECT_COMPLAINT("never freed: 1 instantiated graph(s)");
}
} // namespace
