//===- DevicePrograms.h - Programs for a device, to be simulated ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_RUNTIME_DEVICEPROGRAMS_H
#define TENON_TEST_RUNTIME_DEVICEPROGRAMS_H

#include "test/runtime/TinyModels.h"

#include <gtest/gtest.h>

#include <map>

namespace tenon::test {

/// PTX of the kernels that tests launch, by the interface of model_format.h:
///
///   scale     x f32, w f32[1] or absent, y: y = x * w, a row an element
///   gather    x i64, index i64, y; n: y = 1000 / x[index]; faults
///   increase  x i64, y: y[0] = x[0] + 1
///   less      x i64, y bool; limit: y[0] = x[0] < limit
///   places    y i64: the first row of the piece of each row
///   scratch   x i64, y: y = 2 * x, by way of each thread's scratch memory
///   count     y i64[1]: how many rows there are, by way of shared memory
///   dynamic   y i64: the row, by way of the block's dynamic shared memory
/// Where the text `waits`, it is for sm_90: kernels wait for the launch before.
std::string devicePtx(bool waits = false);

/// A builder of a program for devices with that code.
ArtifactBuilder deviceProgram();

/// Like scaleModel, on a device: y = x * 2 through the arena.
ArtifactBuilder deviceScale();

/// Like gatherModel, on a device.
ArtifactBuilder deviceGather();

/// A fake driver that knows nothing, at the start of each test; at the end it
/// must have nothing to complain of.
class DeviceTest : public testing::Test {
protected:
  using Environment = std::map<std::string, std::string>;

  DeviceTest();
  ~DeviceTest() override;

  /// Begins anew with FAKE_CUDA_... variables.
  void restart(const Environment &environment);

  /// This test does what the driver complains of.
  void expectViolations() { violates = true; }

  /// Opens the driver's device `index`.
  tenon_status_t open(Device &device, int index = 0);

  static tenon_status_t load(const char *path, const Device &device,
                             Model &model);

  /// A model with a session, loaded for device 0.
  struct OnDevice {
    OnDevice(DeviceTest &test, const ArtifactBuilder &builder,
             const tenon_session_options_t *options = nullptr);

    TemporaryFile file;
    Device device;
    Model model;
    Session session;
  };

private:
  bool violates = false;
};

/// Runs the scale model on n rows of numbers and checks all results.
void expectScaled(Session &session, int64_t n);

/// Session options, all defaults.
tenon_session_options_t sessionOptions();

/// Whether the last error has a part.
bool mentions(const char *part);

} // namespace tenon::test

#endif // TENON_TEST_RUNTIME_DEVICEPROGRAMS_H
