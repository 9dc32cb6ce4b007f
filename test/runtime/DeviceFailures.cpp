//===- DeviceFailures.cpp - A device that refuses, at any moment ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/runtime/DevicePrograms.h"

#include <fstream>

using namespace tenon;
using namespace tenon::test;

namespace {
class DeviceFailures : public DeviceTest {
protected:
  tenon_status_t tryToOpen(const Environment &environment, int index = 0) {
    restart(environment);
    Device device;
    return open(device, index);
  }

  tenon_status_t tryToLoad(ArtifactBuilder builder) {
    Device device;
    EXPECT_EQ(open(device), TENON_OK);
    TemporaryFile file(builder.build());
    Model model;
    return load(file.path(), device, model);
  }
};

TEST_F(DeviceFailures, NoDevice) {
  EXPECT_EQ(tryToOpen({{"DEVICES", "0"}}), TENON_NOT_FOUND);
  EXPECT_TRUE(mentions("this machine has no CUDA device")) << lastError();
}

TEST_F(DeviceFailures, NoSuchDevice) {
  EXPECT_EQ(tryToOpen({{"DEVICES", "2"}}, 2), TENON_NOT_FOUND);
  EXPECT_EQ(lastError(), "there is no CUDA device 2: this machine has 2, "
                         "counted from 0");
  EXPECT_EQ(tryToOpen({}, -1), TENON_NOT_FOUND);
}

TEST_F(DeviceFailures, AnOldDriver) {
  EXPECT_EQ(tryToOpen({{"VERSION", "11080"}}), TENON_UNSUPPORTED);
  EXPECT_TRUE(mentions("supports CUDA 11.8, but 12.0 is needed"))
      << lastError();
}

TEST_F(DeviceFailures, NoCodeForTheDevice) {
  restart({{"SM", "80"}});
  ArtifactBuilder b = deviceScale();
  b.images[0].sm = 90;
  EXPECT_EQ(tryToLoad(b), TENON_UNSUPPORTED);
  EXPECT_TRUE(mentions("whose compute capability is 8.0; compile the model for "
                       "it (tenon compile --target=cuda --sm=80)"))
      << lastError();
}

TEST_F(DeviceFailures, OtherCubinsAreNotTaken) {
  restart({{"SM", "120"}});
  ArtifactBuilder b = deviceScale();
  b.addImage(TENON_IMAGE_CUBIN, 90, "no cubin for this one");
  EXPECT_EQ(tryToLoad(b), TENON_OK) << lastError();
}

TEST_F(DeviceFailures, CodeThatIsNone) {
  ArtifactBuilder b = deviceScale();
  b.images.clear();
  b.addImage(TENON_IMAGE_PTX, 80, "this is no PTX");
  EXPECT_EQ(tryToLoad(b), TENON_UNSUPPORTED);
  EXPECT_TRUE(mentions("the CUDA driver does not load its code"))
      << lastError();
}

TEST_F(DeviceFailures, AKernelWithoutCode) {
  ArtifactBuilder b = deviceScale();
  b.deviceKernel("nothing");
  EXPECT_EQ(tryToLoad(b), TENON_BAD_FORMAT);
  EXPECT_TRUE(mentions("kernel nothing has no code")) << lastError();
}

TEST_F(DeviceFailures, MoreSharedMemoryThanThereIs) {
  ArtifactBuilder b = deviceScale();
  b.blocks[0].shared_bytes = 256 << 10;
  EXPECT_EQ(tryToLoad(b), TENON_UNSUPPORTED);
  EXPECT_TRUE(mentions("needs 262144 bytes of shared memory")) << lastError();
}

TEST_F(DeviceFailures, AProgramForCpusAlone) {
  EXPECT_EQ(tryToLoad(scaleModel()), TENON_UNSUPPORTED);
  EXPECT_TRUE(mentions("it has no program for CUDA devices; compile the model "
                       "for them (tenon compile --target=cuda)"))
      << lastError();
}

/// Loads and runs the scale model as often as it takes to replay a recording;
/// the first failure, or TENON_OK when all results are right.
tenon_status_t loadAndRun(const char *path, tenon_device_t *device) {
  tenon_load_options_t load = {};
  load.struct_size = sizeof load;
  load.device = device;
  Model model;
  Session session;
  if (tenon_status_t status = Model::load(path, model, &load))
    return status;
  if (tenon_status_t status = Session::create(model, session))
    return status;
  DeviceMemory memory;
  Device same;
  void *x = nullptr;
  if (tenon_status_t status = tenon_device_allocate(device, 512, &x))
    return status;
  std::vector<float> values(40, 2.0f);
  tenon_status_t status = tenon_device_copy(device, x, values.data(), 160);
  for (int run = 0; run < 6 && status == TENON_OK; ++run) {
    tenon_tensor_t input =
        tensor(TENON_F32, {10, 4}, run < 2 ? values.data() : x);
    tenon_tensor_t output = result();
    status = session.run({&input, 1}, {&output, 1});
    if (status == TENON_OK) {
      EXPECT_EQ(static_cast<float *>(output.data)[39], 4.0f);
    }
  }
  // Once more, from there to there.
  for (int run = 0; run < 3 && status == TENON_OK; ++run) {
    tenon_tensor_t input = tensor(TENON_F32, {10, 4}, x);
    tenon_tensor_t output = result(static_cast<char *>(x) + 256, 160);
    status = session.enqueue({&input, 1}, {&output, 1});
  }
  tenon_status_t waited = session.wait();
  status = status ? status : waited;
  tenon_status_t freed = tenon_device_free(device, x);
  return status ? status : freed;
}

TEST_F(DeviceFailures, AnyCallMayFail) {
  TemporaryFile artifact(deviceScale().build()), log("");
  auto attempt = [&](const Environment &environment) {
    restart(environment);
    Device device;
    tenon_status_t status = open(device);
    if (status == TENON_OK)
      status = loadAndRun(artifact.path(), device.get());
    return status;
  };
  ASSERT_EQ(attempt({{"LOG", log.path()}}), TENON_OK) << lastError();
  std::ifstream lines(log.path());
  std::map<int, std::string> calls;
  for (std::string line; std::getline(lines, line);)
    calls[atoi(line.c_str())] += line;
  EXPECT_GT(calls.size(), 50u);
  size_t failures = 0;
  for (const auto &[n, call] : calls) {
    auto is = [&call = call](const char *name) {
      return call.find(name) != std::string::npos;
    };
    if (is("cuPointerGetAttribute")) // Its failure says that it is the host's.
      continue;
    // Who cannot use the device cannot give back its memory either.
    bool leaks = is("cuCtxPushCurrent");
    tenon_status_t status = attempt(
        {{"FAIL_CALL", std::to_string(n)}, {"LEAKS", leaks ? "0" : "1"}});
    if (status == TENON_OK) // A call that we can do without.
      continue;
    ++failures;
    EXPECT_NE(status, TENON_INVALID_ARGUMENT) << call << ": " << lastError();
  }
  EXPECT_GT(failures, calls.size() / 2);
  EXPECT_EQ(attempt({}), TENON_OK) << lastError();
}

TEST_F(DeviceFailures, MemoryMayBeShortAtAnyMoment) {
  ArtifactBuilder b = deviceScale();
  b.weights.resize(1000);
  TemporaryFile artifact(b.build());
  int failures = 0;
  for (int bytes = 256;; bytes += 256) {
    ASSERT_LT(bytes, 100000);
    restart({{"MEMORY", std::to_string(bytes)}});
    Device device;
    ASSERT_EQ(open(device), TENON_OK) << lastError();
    tenon_status_t status = loadAndRun(artifact.path(), device.get());
    if (status == TENON_OK)
      break;
    ++failures;
    ASSERT_EQ(status, TENON_OUT_OF_MEMORY) << bytes << ": " << lastError();
  }
  EXPECT_GT(failures, 4);
}

TEST_F(DeviceFailures, ShortMemoryNamesTheNode) {
  tenon_session_options_t options = sessionOptions();
  options.memory_limit = 1000;
  OnDevice model(*this, deviceScale(), &options);
  std::vector<float> x(400);
  tenon_tensor_t input = tensor(TENON_F32, {100, 4}, x.data());
  tenon_tensor_t output = result();
  EXPECT_EQ(model.session.run({&input, 1}, {&output, 1}), TENON_OUT_OF_MEMORY);
  EXPECT_EQ(lastError(), "input \"x\": it takes 1600 bytes, over the session's "
                         "memory limit of 1000, or more than the device has "
                         "left");
  input = tensor(TENON_F32, {1, 4}, x.data());
  EXPECT_EQ(model.session.run({&input, 1}, {&output, 1}), TENON_OK)
      << lastError();
}

TEST_F(DeviceFailures, AKernelThatAccessesWhatItMayNot) {
  expectViolations();
  ArtifactBuilder b = deviceScale();
  // It writes n rows to an output that has 100 less.
  b.dims[2] = b.linear(0, 1, -100);
  b.buffers[5].bytes = b.linear(0, 16, -1600);
  TemporaryFile artifact(b.build());
  Device device;
  ASSERT_EQ(open(device), TENON_OK);
  Model model;
  Session session;
  ASSERT_EQ(load(artifact.path(), device, model), TENON_OK);
  ASSERT_EQ(Session::create(model, session), TENON_OK);
  std::vector<float> x(4000);
  tenon_tensor_t input = tensor(TENON_F32, {1000, 4}, x.data());
  tenon_tensor_t output = result();
  EXPECT_EQ(session.run({&input, 1}, {&output, 1}), TENON_FAILED);
  EXPECT_TRUE(mentions("CUDA_ERROR")) << lastError();
  EXPECT_TRUE(mentions("please report this")) << lastError();
  EXPECT_EQ(session.run({&input, 1}, {&output, 1}), TENON_FAILED);
}
} // namespace
