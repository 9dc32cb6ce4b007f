//===- Device.cpp - Devices that cannot be had ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/runtime/TinyModels.h"

#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::test;

namespace {
bool mentions(const char *part) {
  return lastError().find(part) != std::string_view::npos;
}

tenon_device_options_t byDriver(const char *path) {
  tenon_device_options_t options = {};
  options.struct_size = sizeof options;
  options.driver = path;
  return options;
}

TEST(Device, ADriverThatIsMissingIsNamed) {
  Device device;
  tenon_device_options_t options = byDriver("/nowhere/libcuda.so.1");
  EXPECT_EQ(Device::open(device, &options), TENON_NOT_FOUND);
  EXPECT_FALSE(device);
  EXPECT_TRUE(mentions("cannot load the CUDA driver: /nowhere/libcuda.so.1: "))
      << lastError();
  EXPECT_TRUE(mentions("install NVIDIA's driver")) << lastError();
}

TEST(Device, AFileThatIsNoLibraryIsRefused) {
  TemporaryFile file("no library");
  Device device;
  tenon_device_options_t options = byDriver(file.path());
  EXPECT_EQ(Device::open(device, &options), TENON_NOT_FOUND);
  EXPECT_TRUE(mentions(file.path())) << lastError();
}

TEST(Device, ALibraryThatIsNoDriverIsRefused) {
  Device device;
  tenon_device_options_t options = byDriver("libm.so.6");
  EXPECT_EQ(Device::open(device, &options), TENON_UNSUPPORTED);
  EXPECT_EQ(lastError(),
            "libm.so.6 is no CUDA driver of version 12.0 or newer: it lacks "
            "cuInit; install NVIDIA's driver, 525 or newer");
}

TEST(Device, OtherKindsAreRefused) {
  Device device;
  tenon_device_options_t options = byDriver(nullptr);
  options.kind = "abacus";
  EXPECT_EQ(Device::open(device, &options), TENON_UNSUPPORTED);
  EXPECT_TRUE(mentions("\"abacus\"; known is \"cuda\"")) << lastError();
}

TEST(Device, MisuseIsAnError) {
  EXPECT_EQ(tenon_device_open(nullptr, nullptr), TENON_INVALID_ARGUMENT);
  tenon_device_options_t options = {};
  options.struct_size = 3;
  Device device;
  EXPECT_EQ(Device::open(device, &options), TENON_INVALID_ARGUMENT);
  tenon_device_info_t info = {};
  info.struct_size = sizeof info;
  EXPECT_EQ(tenon_device_info(nullptr, &info), TENON_INVALID_ARGUMENT);
  void *memory = &info;
  EXPECT_EQ(tenon_device_allocate(nullptr, 4, &memory), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(tenon_device_copy(nullptr, nullptr, nullptr, 4),
            TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_device_free(nullptr, nullptr), TENON_OK);
  tenon_device_retain(nullptr);
  tenon_device_release(nullptr);
}

TEST(Device, OptionsOfDevicesAreRefusedWithoutOne) {
  Model model = loadModel(scaleModel().build());
  Session session;
  tenon_session_options_t options = withThreads(1);
  options.results_on_device = 1;
  EXPECT_EQ(Session::create(model, session, &options), TENON_INVALID_ARGUMENT);
  EXPECT_TRUE(mentions("are for models on a device")) << lastError();
}
} // namespace
