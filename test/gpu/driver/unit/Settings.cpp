//===- Settings.cpp - What the environment asks of the fake driver --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/driver/unit/Fixture.h"

#include <filesystem>
#include <fstream>

using namespace tenon::cuda;

namespace {
class Settings : public DriverTest {};

TEST_F(Settings, TheDeviceIsWhatWasAskedFor) {
  restart({{"SM", "120"}, {"DEVICES", "3"}, {"MEMORY", "1000000"}});
  ASSERT_EQ(cu.init(0), success);
  int count = 0, value = 0;
  EXPECT_EQ(cu.deviceGetCount(&count), success);
  EXPECT_EQ(count, 3);
  EXPECT_EQ(cu.deviceGetAttribute(&value, attributeComputeCapabilityMajor, 2),
            success);
  EXPECT_EQ(value, 12);
  EXPECT_EQ(
      cu.deviceGetAttribute(&value, attributeMaxSharedMemoryPerBlockOptin, 0),
      success);
  EXPECT_EQ(value, 101376);
  size_t bytes = 0;
  EXPECT_EQ(cu.deviceTotalMem(&bytes, 0), success);
  EXPECT_EQ(bytes, 1000000u);
  char name[100];
  EXPECT_EQ(cu.deviceGetName(name, sizeof name, 0), success);
  EXPECT_STREQ(name, "Fake RTX 5090");
  EXPECT_EQ(cu.deviceGetAttribute(&value, attributeMultiprocessorCount, 3),
            errorInvalidDevice);
  EXPECT_COMPLAINT("there is no device 3");
}

TEST_F(Settings, ThereMayBeNoDevice) {
  restart({{"DEVICES", "0"}});
  EXPECT_EQ(cu.init(0), errorNoDevice);
}

TEST_F(Settings, TheDriversVersion) {
  restart({{"VERSION", "12020"}});
  int version = 0;
  EXPECT_EQ(cu.driverGetVersion(&version), success);
  EXPECT_EQ(version, 12020);
}

TEST_F(Settings, MemoryEnds) {
  open({{"MEMORY", "1000000"}, {"ALLOCATION", "600000"}});
  DevicePointer first = allocate(500000), second = 0;
  EXPECT_EQ(cu.memAlloc(&second, 510000), errorOutOfMemory);
  EXPECT_EQ(cu.memFree(first), success);
  EXPECT_EQ(cu.memAlloc(&second, 700000), errorOutOfMemory);
  size_t free = 0, total = 0;
  EXPECT_EQ(cu.memGetInfo(&free, &total), success);
  EXPECT_EQ(free, 1000000u);
  close();
}

TEST_F(Settings, TheNthCallFails) {
  restart({{"FAIL_CALL", "5"}});
  ASSERT_EQ(cu.init(0), success);
  ASSERT_EQ(cu.primaryContextRetain(&context, 0), success);
  ASSERT_EQ(cu.contextPush(context), success);
  ASSERT_EQ(cu.streamCreate(&stream, streamNonBlocking), success);
  DevicePointer memory = 0;
  EXPECT_EQ(cu.memAlloc(&memory, 4), errorOutOfMemory);
  EXPECT_EQ(cu.memAlloc(&memory, 4), success);
  EXPECT_EQ(cu.memFree(memory), success);
  close();
}

// A call that frees does so, and tells of a failure of something else.
TEST_F(Settings, ACallThatFreesMayFail) {
  restart({{"FAIL_CALL", "4"}});
  ASSERT_EQ(cu.init(0), success);
  ASSERT_EQ(cu.primaryContextRetain(&context, 0), success);
  ASSERT_EQ(cu.contextPush(context), success);
  EXPECT_EQ(cu.contextPop(&context), errorInvalidContext);
  EXPECT_EQ(cu.primaryContextRelease(0), success);
}

// After work has failed, so does every call but those that free.
TEST_F(Settings, AFailedWaitLasts) {
  restart({{"FAIL_CALL", "5"}});
  ASSERT_EQ(cu.init(0), success);
  ASSERT_EQ(cu.primaryContextRetain(&context, 0), success);
  ASSERT_EQ(cu.contextPush(context), success);
  ASSERT_EQ(cu.streamCreate(&stream, streamNonBlocking), success);
  EXPECT_EQ(cu.streamSynchronize(stream), errorLaunchFailed);
  DevicePointer memory = 0;
  EXPECT_EQ(cu.memAlloc(&memory, 4), errorLaunchFailed);
  EXPECT_EQ(cu.streamDestroy(stream), errorLaunchFailed);
  EXPECT_EQ(cu.contextPop(&context), success);
  EXPECT_EQ(cu.primaryContextRelease(0), success);
}

TEST_F(Settings, TheLogHasEveryCall) {
  auto path = std::filesystem::temp_directory_path() /
              ("fake_cuda_log_" + std::to_string(getpid()));
  open({{"LOG", path.string()}});
  close();
  std::ifstream file(path);
  std::string log(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(log, "1 cuInit CUDA_SUCCESS\n"
                 "2 cuDevicePrimaryCtxRetain CUDA_SUCCESS\n"
                 "3 cuCtxPushCurrent_v2 CUDA_SUCCESS\n"
                 "4 cuStreamCreate CUDA_SUCCESS\n"
                 "5 cuStreamDestroy_v2 CUDA_SUCCESS\n"
                 "6 cuCtxPopCurrent_v2 CUDA_SUCCESS\n"
                 "7 cuDevicePrimaryCtxRelease_v2 CUDA_SUCCESS\n");
  std::filesystem::remove(path);
}

TEST_F(Settings, AMisspeltSettingIsRefused) {
  restart({{"QUEUE", "sometimes"}});
  EXPECT_EQ(cu.init(0), errorUnknown);
  EXPECT_COMPLAINT(
      "FAKE_CUDA_QUEUE is \"sometimes\" and not eager, lazy or random");
}

TEST_F(Settings, ErrorsHaveNames) {
  const char *text = nullptr;
  EXPECT_EQ(cu.getErrorName(errorIllegalAddress, &text), success);
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(cu.getErrorString(errorNoDevice, &text), success);
  EXPECT_STREQ(text, "no device");
  EXPECT_EQ(cu.getErrorName(12345, &text), errorInvalidValue);
}
} // namespace
