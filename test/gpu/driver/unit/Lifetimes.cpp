//===- Lifetimes.cpp - Order, handles and leaks ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/driver/unit/Fixture.h"

#include <thread>

using namespace tenon::cuda;

namespace {
class Lifetimes : public DriverTest {};
using LifetimesDeathTest = Lifetimes;

TEST_F(Lifetimes, ARightProgramIsNotComplainedAbout) {
  open();
  DevicePointer pointer = allocate(64);
  Event event = nullptr;
  EXPECT_EQ(cu.eventCreate(&event, eventDefault), success);
  EXPECT_EQ(cu.eventRecord(event, stream), success);
  EXPECT_EQ(cu.eventSynchronize(event), success);
  EXPECT_EQ(cu.eventDestroy(event), success);
  EXPECT_EQ(cu.memFree(pointer), success);
  close();
}

TEST_F(Lifetimes, CallsBeforeInit) {
  int count = 0;
  EXPECT_EQ(cu.deviceGetCount(&count), errorNotInitialized);
  EXPECT_COMPLAINT("cuDeviceGetCount: called before cuInit");
}

TEST_F(Lifetimes, CallsWithoutAContext) {
  ASSERT_EQ(cu.init(0), success);
  DevicePointer pointer = 0;
  EXPECT_EQ(cu.memAlloc(&pointer, 4), errorInvalidContext);
  EXPECT_COMPLAINT("cuMemAlloc_v2: no context is current in this thread");
}

TEST_F(Lifetimes, AContextIsCurrentInItsThreadAlone) {
  open();
  std::thread([&] {
    DevicePointer pointer = 0;
    EXPECT_EQ(cu.memAlloc(&pointer, 4), errorInvalidContext);
  }).join();
  EXPECT_COMPLAINT("no context is current in this thread");
  close();
}

TEST_F(Lifetimes, CallsAfterTheContextWasReleased) {
  open();
  EXPECT_EQ(cu.streamDestroy(stream), success);
  EXPECT_EQ(cu.primaryContextRelease(0), success);
  DevicePointer pointer = 0;
  EXPECT_EQ(cu.memAlloc(&pointer, 4), 709);
  EXPECT_COMPLAINT("the current context was released");
  EXPECT_EQ(cu.contextPop(&context), success);
}

TEST_F(Lifetimes, ReleasedOnceTooOften) {
  ASSERT_EQ(cu.init(0), success);
  EXPECT_EQ(cu.primaryContextRelease(0), errorInvalidContext);
  EXPECT_COMPLAINT("cuDevicePrimaryCtxRelease_v2: it was not retained");
}

TEST_F(Lifetimes, PoppedOnceTooOften) {
  ASSERT_EQ(cu.init(0), success);
  EXPECT_EQ(cu.contextPop(&context), errorInvalidContext);
  EXPECT_COMPLAINT("no context is current to be popped");
}

TEST_F(Lifetimes, MemoryIsFreedTwice) {
  open();
  DevicePointer pointer = allocate(64);
  EXPECT_EQ(cu.memFree(pointer), success);
  EXPECT_EQ(cu.memFree(pointer), errorInvalidValue);
  EXPECT_COMPLAINT("is no live allocation");
  close();
}

TEST_F(Lifetimes, FreedInTheMiddle) {
  open();
  DevicePointer pointer = allocate(64);
  EXPECT_EQ(cu.memFree(pointer + 8), errorInvalidValue);
  EXPECT_COMPLAINT("is inside an allocation");
  EXPECT_EQ(cu.memFree(pointer), success);
  close();
}

TEST_F(Lifetimes, HostMemoryIsFreedTwiceOrIsNotTheDrivers) {
  open();
  void *block = nullptr;
  ASSERT_EQ(cu.memHostAlloc(&block, 100, hostAllocPortable), success);
  EXPECT_EQ(cu.memFreeHost(block), success);
  EXPECT_EQ(cu.memFreeHost(block), errorInvalidValue);
  EXPECT_COMPLAINT("was freed already");
  char mine[4];
  EXPECT_EQ(cu.memFreeHost(mine), errorInvalidValue);
  EXPECT_COMPLAINT("is no host memory of the driver");
  close();
}

TEST_F(LifetimesDeathTest, FreedHostMemoryCannotBeTouched) {
  open();
  void *block = nullptr;
  ASSERT_EQ(cu.memHostAlloc(&block, 100, hostAllocPortable), success);
  EXPECT_EQ(cu.memFreeHost(block), success);
  EXPECT_DEATH(*static_cast<volatile char *>(block) = 1, "");
  close();
}

TEST_F(Lifetimes, HandlesOfAnotherKind) {
  open();
  EXPECT_EQ(cu.eventSynchronize(reinterpret_cast<Event>(stream)),
            errorInvalidHandle);
  EXPECT_COMPLAINT("the handle is a stream and not an event");
  EXPECT_EQ(cu.eventDestroy(reinterpret_cast<Event>(uintptr_t(12345))),
            errorInvalidHandle);
  EXPECT_COMPLAINT("0x3039, which the driver never gave out");
  EXPECT_EQ(cu.graphDestroy(nullptr), errorInvalidHandle);
  EXPECT_COMPLAINT("the handle is null");
  close();
}

TEST_F(Lifetimes, HandlesThatWereDestroyed) {
  open();
  Stream other = nullptr;
  ASSERT_EQ(cu.streamCreate(&other, 0), success);
  EXPECT_EQ(cu.streamDestroy(other), success);
  EXPECT_EQ(cu.streamSynchronize(other), errorInvalidHandle);
  EXPECT_COMPLAINT("the handle is a stream that was destroyed");
  close();
}

TEST_F(Lifetimes, HandlesOfAnotherContext) {
  open({{"DEVICES", "2"}});
  Context second = nullptr;
  ASSERT_EQ(cu.primaryContextRetain(&second, 1), success);
  ASSERT_EQ(cu.contextPush(second), success);
  EXPECT_EQ(cu.streamSynchronize(stream), errorInvalidHandle);
  EXPECT_COMPLAINT("a stream of another context");
  EXPECT_EQ(cu.contextPop(&second), success);
  EXPECT_EQ(cu.primaryContextRelease(1), success);
  close();
}

TEST_F(Lifetimes, LeaksAtTheContextsEnd) {
  open();
  allocate(64);
  allocate(100);
  void *block = nullptr;
  ASSERT_EQ(cu.memHostAlloc(&block, 100, hostAllocPortable), success);
  Event event = nullptr;
  ASSERT_EQ(cu.eventCreate(&event, eventDefault), success);
  EXPECT_EQ(cu.contextPop(&context), success);
  EXPECT_EQ(cu.primaryContextRelease(0), success);
  EXPECT_COMPLAINT("never freed: 2 allocation(s) of 164 bytes in all, 1 "
                   "block(s) of host memory, 1 stream(s), 1 event(s)");
}

TEST_F(Lifetimes, LeaksMayBeIgnored) {
  open({{"LEAKS", "0"}});
  allocate(64);
  EXPECT_EQ(cu.contextPop(&context), success);
  EXPECT_EQ(cu.primaryContextRelease(0), success);
}

TEST_F(LifetimesDeathTest, AViolationIsTheExitStatus) {
  EXPECT_EXIT(
      {
        int count = 0;
        cu.deviceGetCount(&count);
        exit(0);
      },
      testing::ExitedWithCode(86), "called before cuInit");
}

TEST_F(LifetimesDeathTest, LeaksAtExit) {
  EXPECT_EXIT(
      {
        open();
        allocate(64);
        exit(0);
      },
      testing::ExitedWithCode(86), "at exit: never freed: 1 allocation");
}

TEST_F(LifetimesDeathTest, ViolationsMayAbort) {
  EXPECT_DEATH(
      {
        restart({{"ABORT", "1"}});
        int count = 0;
        cu.deviceGetCount(&count);
      },
      "called before cuInit");
}
} // namespace
