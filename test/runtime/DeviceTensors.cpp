//===- DeviceTensors.cpp - Tensors on the device, and recorded runs -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Cuda/Device.h"
#include "test/runtime/DevicePrograms.h"

#include <numeric>

using namespace tenon;
using namespace tenon::test;

namespace {
class DeviceTensors : public DeviceTest,
                      public testing::WithParamInterface<const char *> {
protected:
  DeviceTensors() { restart({{"QUEUE", GetParam()}, {"SEED", "9"}}); }
};
INSTANTIATE_TEST_SUITE_P(Queues, DeviceTensors,
                         testing::Values("eager", "lazy", "random"));

/// Numbers on the device, and back.
struct Floats {
  Floats(const Device &device, size_t count, float first)
      : device(device), values(count) {
    std::iota(values.begin(), values.end(), first);
    EXPECT_EQ(DeviceMemory::allocate(device, count * 4 + 256, memory),
              TENON_OK);
    EXPECT_EQ(device.copy(memory.get(), values.data(), count * 4), TENON_OK);
  }

  std::vector<float> read(size_t offset = 0) const {
    std::vector<float> result(values.size());
    EXPECT_EQ(device.copy(result.data(), get(offset), result.size() * 4),
              TENON_OK);
    return result;
  }
  char *get(size_t offset = 0) const {
    return static_cast<char *>(memory.get()) + offset;
  }

  Device device;
  DeviceMemory memory;
  std::vector<float> values;
};

/// A stream that is not the session's own.
class CallersStream {
public:
  explicit CallersStream(const Device &device)
      : device(*device.get()), current(this->device) {
    EXPECT_EQ(driver().streamCreate(&handle, cuda::streamNonBlocking),
              cuda::success);
  }
  ~CallersStream() { EXPECT_EQ(driver().streamDestroy(handle), cuda::success); }

  void upload(void *to, const void *from, size_t bytes) {
    EXPECT_EQ(driver().copyHostToDevice(cuda::address(to), from, bytes, handle),
              cuda::success);
  }

  cuda::Stream handle = nullptr;

private:
  const cuda::Driver &driver() const { return device.driver; }

  tenon_device_t &device;
  cuda::Current current;
};

std::vector<float> doubled(std::vector<float> values) {
  for (float &value : values)
    value *= 2;
  return values;
}

tenon_status_t scale(Session &session, void *x, int64_t n,
                     tenon_tensor_t &output) {
  tenon_tensor_t input = tensor(TENON_F32, {n, 4}, x);
  return session.run({&input, 1}, {&output, 1});
}

TEST_P(DeviceTensors, AreReadAndWrittenWhereTheyAre) {
  OnDevice model(*this, deviceScale());
  Floats x(model.device, 40, 1), y(model.device, 40, 0);
  tenon_tensor_t output = result(y.get(), 160);
  ASSERT_EQ(scale(model.session, x.get(), 10, output), TENON_OK) << lastError();
  EXPECT_EQ(output.data, y.get());
  EXPECT_EQ(y.read(), doubled(x.values));
  EXPECT_EQ(model.session.info().output_bytes, 0u); // No copy was made.
}

TEST_P(DeviceTensors, MayBeMisaligned) {
  OnDevice model(*this, deviceScale());
  Floats x(model.device, 40, 1), y(model.device, 40, 0);
  ASSERT_EQ(model.device.copy(x.get(4), x.values.data(), 160), TENON_OK);
  tenon_tensor_t output = result(y.get(36), 160);
  ASSERT_EQ(scale(model.session, x.get(4), 10, output), TENON_OK);
  EXPECT_EQ(y.read(36), doubled(x.values));
}

TEST_P(DeviceTensors, MayOverlap) {
  OnDevice model(*this, deviceScale());
  Floats x(model.device, 40, 1);
  tenon_tensor_t output = result(x.get(), 160);
  ASSERT_EQ(scale(model.session, x.get(), 10, output), TENON_OK);
  EXPECT_EQ(x.read(), doubled(x.values));
}

TEST_P(DeviceTensors, ResultsMayStay) {
  tenon_session_options_t options = sessionOptions();
  options.results_on_device = 1;
  OnDevice model(*this, deviceScale(), &options);
  std::vector<float> x(40, 3.0f), y(40);
  tenon_tensor_t output = result();
  ASSERT_EQ(scale(model.session, x.data(), 10, output), TENON_OK);
  ASSERT_EQ(model.device.copy(y.data(), output.data, 160), TENON_OK)
      << lastError();
  EXPECT_EQ(y, doubled(x));
}

TEST_P(DeviceTensors, HostMemoryOfTheCallersIsFilled) {
  OnDevice model(*this, deviceScale());
  std::vector<float> x(40, 3.0f), y(41);
  tenon_tensor_t output = result(y.data() + 1, 160);
  ASSERT_EQ(scale(model.session, x.data(), 10, output), TENON_OK);
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_EQ(y[40], 6.0f);
  output = result(y.data(), 159);
  EXPECT_EQ(scale(model.session, x.data(), 10, output), TENON_INVALID_ARGUMENT);
}

TEST_P(DeviceTensors, AreCopiedAnyWay) {
  Device device;
  ASSERT_EQ(open(device), TENON_OK);
  Floats a(device, 10, 1), b(device, 10, 0);
  ASSERT_EQ(device.copy(b.get(), a.get(), 40), TENON_OK);
  EXPECT_EQ(b.read(), a.values);
  std::vector<float> host(10);
  ASSERT_EQ(device.copy(host.data(), a.values.data(), 40), TENON_OK);
  EXPECT_EQ(host, a.values);
  EXPECT_EQ(device.copy(nullptr, a.get(), 4), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(device.copy(nullptr, nullptr, 0), TENON_OK);
}

TEST_P(DeviceTensors, MayBeReadyOnTheCallersStreamAlone) {
  OnDevice model(*this, deviceScale());
  CallersStream stream(model.device);
  tenon_session_options_t options = sessionOptions();
  options.stream = stream.handle;
  Session session;
  ASSERT_EQ(Session::create(model.model, session, &options), TENON_OK);
  Floats x(model.device, 40, 1), y(model.device, 40, 0);
  for (int run = 0; run < 5; ++run) {
    std::vector<float> values(40, float(run));
    stream.upload(x.get(), values.data(), 160); // Perhaps later.
    tenon_tensor_t output = result(y.get(), 160);
    ASSERT_EQ(scale(session, x.get(), 10, output), TENON_OK) << lastError();
    EXPECT_EQ(y.read(), doubled(values));
  }
  EXPECT_GT(session.info().graph_runs, 0u);
}

/// y = x with rows behind it, by the place where x ends.
ArtifactBuilder appendModel() {
  ArtifactBuilder b = deviceProgram();
  uint32_t n = b.symbol("n"), roomOfX = b.symbol("room_x"),
           roomOfY = b.symbol("room_y");
  b.input("x", TENON_F32, {b.size(n)});
  b.output("y", TENON_F32, {b.linear(n, 1, 4)});
  b.inputs[0].room = roomOfX + 1;
  b.outputs[0].room = roomOfY + 1;
  b.outputs[0].appends_to = 1;
  uint32_t four = b.constant(4), bytes = b.constant(16);
  float two = 2.0f, ones[4] = {1, 1, 1, 1};
  b.weights.assign(reinterpret_cast<const char *>(&two), 4);
  b.weights.append(reinterpret_cast<const char *>(ones), 16);
  b.launch({b.deviceKernel("scale"),
            four,
            {b.at(TENON_PLACE_WEIGHTS, 0, bytes, four),
             b.at(TENON_PLACE_WEIGHTS, 0, four),
             b.at(TENON_PLACE_OUTPUT, 0, bytes, b.linear(n, 4))}});
  return b;
}

/// Runs the model above on a cache of 16, of which `held` are there.
void append(Session &session, void *cache, int64_t held) {
  tenon_tensor_t input = tensor(TENON_F32, {held}, cache);
  tenon_tensor_t output = result(cache, 64);
  input.bytes = 64;
  input.capacity = output.capacity = 16;
  ASSERT_EQ(session.run({&input, 1}, {&output, 1}), TENON_OK) << lastError();
  EXPECT_EQ(output.dims[0], held + 4);
  EXPECT_EQ(output.data, cache);
}

TEST_P(DeviceTensors, CachesGrowInPlace) {
  OnDevice model(*this, appendModel());
  Floats there(model.device, 16, 5);
  append(model.session, there.get(), 3);
  EXPECT_EQ(there.read(), (std::vector<float>{5, 6, 7, 2, 2, 2, 2, 12, 13, 14,
                                              15, 16, 17, 18, 19, 20}));
  // Of the host it goes to the device and comes back.
  alignas(64) float here[16];
  std::iota(here, here + 16, 5.0f);
  for (int64_t held : {3, 3, 3, 3, 8})
    append(model.session, here, held);
  EXPECT_EQ(std::vector<float>(here, here + 16),
            (std::vector<float>{5, 6, 7, 2, 2, 2, 2, 12, 2, 2, 2, 2, 17, 18, 19,
                                20}));
}

TEST_P(DeviceTensors, LikeRunsAreRecorded) {
  OnDevice model(*this, deviceScale());
  Floats x(model.device, 40, 1), y(model.device, 40, 0), z(model.device, 40, 7);
  auto run = [&](Floats &from, Floats &to, int64_t n) {
    tenon_tensor_t output = result(to.get(), 160);
    ASSERT_EQ(scale(model.session, from.get(), n, output), TENON_OK)
        << lastError();
    std::vector<float> got = to.read(), wanted = doubled(from.values);
    got.resize(size_t(n) * 4), wanted.resize(size_t(n) * 4);
    EXPECT_EQ(got, wanted);
  };
  auto graphRuns = [&] { return model.session.info().graph_runs; };
  for (int i = 0; i < 6; ++i)
    run(x, y, 10);
  uint64_t recorded = graphRuns();
  EXPECT_GE(recorded, 4u); // Not the first, which made room.
  run(x, y, 9);            // Other sizes.
  EXPECT_EQ(graphRuns(), recorded);
  run(x, y, 10); // As before: the recording is still there.
  EXPECT_EQ(graphRuns(), recorded + 1);
  for (int i = 0; i < 3; ++i) { // Other memory: it is changed, or another made.
    run(z, y, 10);
    run(x, y, 10);
  }
  EXPECT_EQ(graphRuns(), recorded + 7);
  for (int64_t n : {1, 2, 3, 4, 5, 6}) // More than are kept.
    for (int i = 0; i < 3; ++i)
      run(x, y, n);
  EXPECT_EQ(graphRuns(), recorded + 19);
  for (int64_t n : {1, 2, 3, 4, 5, 6})
    run(x, y, n);
}

TEST_P(DeviceTensors, RecordedRunsOfHostTensorsAreRightToo) {
  OnDevice model(*this, deviceScale());
  for (int run = 0; run < 6; ++run) {
    std::vector<float> x(40, float(run + 1)), y(40);
    tenon_tensor_t output = result(y.data(), 160);
    ASSERT_EQ(scale(model.session, x.data(), 10, output), TENON_OK);
    EXPECT_EQ(y, doubled(x));
  }
  EXPECT_GE(model.session.info().graph_runs, 3u);
}

TEST_P(DeviceTensors, FaultsOfRecordedRunsAreFound) {
  OnDevice model(*this, deviceGather());
  for (int run = 0; run < 8; ++run) {
    int64_t x[] = {1, 0}, index[] = {0, run == 5};
    tenon_tensor_t inputs[] = {tensor(TENON_I64, {2}, x),
                               tensor(TENON_I64, {2}, index)};
    tenon_tensor_t output = result();
    EXPECT_EQ(model.session.run(inputs, {&output, 1}),
              run == 5 ? TENON_FAILED : TENON_OK);
  }
  EXPECT_GE(model.session.info().graph_runs, 4u);
}

TEST_P(DeviceTensors, NothingIsRecordedWhereThatIsNotWanted) {
  tenon_session_options_t options = sessionOptions();
  options.no_graphs = 1;
  OnDevice model(*this, deviceScale(), &options);
  std::vector<float> x(40, 3.0f);
  for (int run = 0; run < 5; ++run) {
    tenon_tensor_t output = result();
    ASSERT_EQ(scale(model.session, x.data(), 10, output), TENON_OK);
  }
  EXPECT_EQ(model.session.info().graph_runs, 0u);
}

TEST_P(DeviceTensors, SessionsShareAModel) {
  OnDevice model(*this, deviceScale());
  Session other;
  ASSERT_EQ(Session::create(model.model, other), TENON_OK);
  std::vector<float> x(40, 3.0f), y(80, 4.0f);
  for (int run = 0; run < 4; ++run) {
    tenon_tensor_t a = result(), b = result();
    ASSERT_EQ(scale(model.session, x.data(), 10, a), TENON_OK);
    ASSERT_EQ(scale(other, y.data(), 20, b), TENON_OK);
    EXPECT_EQ(static_cast<float *>(a.data)[39], 6.0f);
    EXPECT_EQ(static_cast<float *>(b.data)[79], 8.0f);
  }
}
} // namespace
