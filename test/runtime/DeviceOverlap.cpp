//===- DeviceOverlap.cpp - Launches that begin before the last one ends ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/runtime/DevicePrograms.h"

#include <fstream>
#include <string>

using namespace tenon;
using namespace tenon::test;

namespace {
class DeviceOverlap : public DeviceTest {
protected:
  /// How many launches of four runs overlapped, of how many; under these
  /// FAKE_CUDA_... variables.
  std::pair<int, int> count(const ArtifactBuilder &builder,
                            Environment environment = {}, bool graphs = true) {
    TemporaryFile log("");
    environment["LOG"] = log.path();
    restart(environment);
    tenon_session_options_t options = sessionOptions();
    options.no_graphs = !graphs;
    OnDevice model(*this, builder, &options);
    for (int i = 0; i < 4; ++i)
      expectScaled(model.session, 5);
    std::ifstream lines(log.path());
    std::pair<int, int> found;
    for (std::string line; std::getline(lines, line);) {
      found.second += line.find("  scale: grid") != std::string::npos;
      found.first += line.ends_with(", overlapping");
    }
    return found;
  }

  static ArtifactBuilder waiting() {
    ArtifactBuilder b = deviceScale();
    b.addImage(TENON_IMAGE_PTX, 90, devicePtx(true), /*waits=*/true);
    return b;
  }

  using Counts = std::pair<int, int>;
};

TEST_F(DeviceOverlap, KernelsThatWaitMayBegin) {
  EXPECT_EQ(count(waiting(), {}, /*graphs=*/false), Counts(8, 8));
  // Two runs are launched, or recorded.
  EXPECT_EQ(count(waiting()), Counts(4, 4));
}

TEST_F(DeviceOverlap, OthersBeginWhenAllIsOver) {
  EXPECT_EQ(count(deviceScale(), {}, /*graphs=*/false), Counts(0, 8));
}

TEST_F(DeviceOverlap, DevicesWithoutItRunTheOtherImage) {
  EXPECT_EQ(count(waiting(), {{"SM", "80"}}), Counts(0, 4));
}

TEST_F(DeviceOverlap, DriversWhoseGraphsLoseItDoWithout) {
  EXPECT_EQ(count(waiting(), {{"VERSION", "12020"}}), Counts(0, 4));
}

TEST_F(DeviceOverlap, KernelsThatDoNotWaitAreReported) {
  ArtifactBuilder b = deviceScale();
  b.addImage(TENON_IMAGE_PTX, 90, devicePtx(), /*waits=*/true);
  TemporaryFile file(b.build());
  expectViolations();
  restart({{"QUEUE", "eager"}});
  Device device;
  Model model;
  Session session;
  ASSERT_EQ(open(device), TENON_OK);
  ASSERT_EQ(load(file.path(), device, model), TENON_OK) << lastError();
  ASSERT_EQ(Session::create(model, session), TENON_OK);
  float x[20] = {};
  tenon_tensor_t input = tensor(TENON_F32, {5, 4}, x), output = result();
  // Whatever comes next fails, as on a device whose kernel went wrong.
  EXPECT_NE(session.run({&input, 1}, {&output, 1}), TENON_OK);
}
} // namespace
