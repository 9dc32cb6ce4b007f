//===- DeviceEnqueue.cpp - Runs that nobody waits for yet -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/runtime/DevicePrograms.h"

#include <numeric>

using namespace tenon;
using namespace tenon::test;

namespace {
/// Runs under every order in which a driver may do its work.
class DeviceEnqueue : public DeviceTest,
                      public testing::WithParamInterface<const char *> {
protected:
  DeviceEnqueue() { restart({{"QUEUE", GetParam()}, {"SEED", "5"}}); }

  static tenon_session_options_t stays() {
    tenon_session_options_t options = sessionOptions();
    options.results_on_device = 1;
    return options;
  }

  /// Room for 64 numbers of 4 or 8 bytes.
  static DeviceMemory room(const Device &device) {
    DeviceMemory memory;
    EXPECT_EQ(DeviceMemory::allocate(device, 512, memory), TENON_OK);
    return memory;
  }
};
INSTANTIATE_TEST_SUITE_P(Queues, DeviceEnqueue,
                         testing::Values("eager", "lazy", "random"));

TEST_P(DeviceEnqueue, RunsFollowEachOther) {
  OnDevice model(*this, deviceScale());
  DeviceMemory places[3] = {room(model.device), room(model.device),
                            room(model.device)};
  std::vector<float> x(40), y(40);
  std::iota(x.begin(), x.end(), 1.0f);
  ASSERT_EQ(model.device.copy(places[0].get(), x.data(), 160), TENON_OK);
  // Each doubles what the one before has left: 2^9 times in all.
  for (int run = 0; run < 9; ++run) {
    tenon_tensor_t input = tensor(TENON_F32, {10, 4}, places[run % 3].get());
    tenon_tensor_t output = result(places[(run + 1) % 3].get(), 160);
    ASSERT_EQ(model.session.enqueue({&input, 1}, {&output, 1}), TENON_OK)
        << lastError();
    EXPECT_EQ(output.dims[0], 10);
    EXPECT_EQ(output.bytes, 160u);
  }
  ASSERT_EQ(model.session.wait(), TENON_OK) << lastError();
  EXPECT_EQ(model.session.wait(), TENON_OK);
  ASSERT_EQ(model.device.copy(y.data(), places[0].get(), 160), TENON_OK);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(y[i], x[i] * 512);
  EXPECT_EQ(model.session.info().runs, 9u);
  EXPECT_GT(model.session.info().graph_runs, 3u);
}

TEST_P(DeviceEnqueue, InputsOfTheHostMayChangeAtTheReturn) {
  tenon_session_options_t options = stays();
  OnDevice model(*this, deviceScale(), &options);
  void *last = nullptr;
  for (int run = 0; run < 5; ++run) {
    std::vector<float> x(40, float(run));
    tenon_tensor_t input = tensor(TENON_F32, {10, 4}, x.data());
    tenon_tensor_t output = result();
    ASSERT_EQ(model.session.enqueue({&input, 1}, {&output, 1}), TENON_OK)
        << lastError();
    last = output.data;
    std::fill(x.begin(), x.end(), -1.0f);
  }
  ASSERT_EQ(model.session.wait(), TENON_OK) << lastError();
  std::vector<float> y(40);
  ASSERT_EQ(model.device.copy(y.data(), last, 160), TENON_OK);
  EXPECT_EQ(y, std::vector<float>(40, 8.0f));
}

TEST_P(DeviceEnqueue, OutputsOfTheHostAreRefused) {
  OnDevice model(*this, deviceScale());
  std::vector<float> x(40, 1.0f), y(40);
  for (void *data :
       {static_cast<void *>(nullptr), static_cast<void *>(y.data())}) {
    tenon_tensor_t input = tensor(TENON_F32, {10, 4}, x.data());
    tenon_tensor_t output = result(data, data ? 160 : 0);
    EXPECT_EQ(model.session.enqueue({&input, 1}, {&output, 1}),
              TENON_INVALID_ARGUMENT);
    EXPECT_TRUE(mentions("set results_on_device")) << lastError();
    EXPECT_EQ(model.session.run({&input, 1}, {&output, 1}), TENON_OK);
  }
  EXPECT_EQ(tenon_session_wait(nullptr), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_session_enqueue(nullptr, nullptr, 0, nullptr, 0),
            TENON_INVALID_ARGUMENT);
}

/// Enqueues the gather model on x = {1, 0}; a fault where it divides by x[1].
tenon_status_t gather(Session &session, int64_t *index, bool waits = false) {
  static int64_t x[] = {1, 0};
  tenon_tensor_t inputs[] = {tensor(TENON_I64, {2}, x),
                             tensor(TENON_I64, {2}, index)};
  tenon_tensor_t output = result();
  return waits ? session.run(inputs, {&output, 1})
               : session.enqueue(inputs, {&output, 1});
}

TEST_P(DeviceEnqueue, FaultsAreToldByWhoeverWaits) {
  tenon_session_options_t options = stays();
  OnDevice model(*this, deviceGather(), &options);
  int64_t good[] = {0, 0}, bad[] = {0, 1};
  for (int round = 0; round < 4; ++round) {
    for (int run = 0; run < 5; ++run)
      ASSERT_EQ(gather(model.session, run == 2 ? bad : good), TENON_OK)
          << lastError();
    if (round % 2)
      EXPECT_EQ(gather(model.session, good, /*waits=*/true), TENON_FAILED);
    else
      EXPECT_EQ(model.session.wait(), TENON_FAILED);
    EXPECT_EQ(lastError(), "node \"divide\": an integer is divided by zero");
    // It is told once.
    EXPECT_EQ(model.session.wait(), TENON_OK);
    EXPECT_EQ(gather(model.session, good, /*waits=*/true), TENON_OK);
    ASSERT_EQ(gather(model.session, good), TENON_OK);
    EXPECT_EQ(model.session.wait(), TENON_OK) << lastError();
  }
}

TEST_P(DeviceEnqueue, SessionsMayGrowAndEndWithoutWaiting) {
  tenon_session_options_t options = stays();
  OnDevice model(*this, deviceScale(), &options);
  std::vector<float> x(4000, 3.0f);
  for (int64_t rows : {10, 1000, 10, 500}) {
    tenon_tensor_t input = tensor(TENON_F32, {rows, 4}, x.data());
    tenon_tensor_t output = result();
    ASSERT_EQ(model.session.enqueue({&input, 1}, {&output, 1}), TENON_OK)
        << lastError();
  }
}

TEST_P(DeviceEnqueue, AFailureLeavesTheOthersToBeWaitedFor) {
  OnDevice model(*this, deviceScale());
  DeviceMemory from = room(model.device), to = room(model.device);
  std::vector<float> x(40, 3.0f), y(40);
  ASSERT_EQ(model.device.copy(from.get(), x.data(), 160), TENON_OK);
  auto enqueue = [&](size_t bytes) {
    tenon_tensor_t input = tensor(TENON_F32, {10, 4}, from.get());
    tenon_tensor_t output = result(to.get(), bytes);
    return model.session.enqueue({&input, 1}, {&output, 1});
  };
  ASSERT_EQ(enqueue(160), TENON_OK) << lastError();
  EXPECT_NE(enqueue(100), TENON_OK);
  ASSERT_EQ(model.session.wait(), TENON_OK) << lastError();
  ASSERT_EQ(model.device.copy(y.data(), to.get(), 160), TENON_OK);
  EXPECT_EQ(y, std::vector<float>(40, 6.0f));
}

TEST(DeviceEnqueueOnCpu, IsRefused) {
  TemporaryFile file(scaleModel().build());
  Model model;
  Session session;
  ASSERT_EQ(Model::load(file.path(), model), TENON_OK) << lastError();
  ASSERT_EQ(Session::create(model, session), TENON_OK) << lastError();
  std::vector<float> x(40, 3.0f);
  tenon_tensor_t input = tensor(TENON_F32, {10, 4}, x.data());
  tenon_tensor_t output = result();
  EXPECT_EQ(session.enqueue({&input, 1}, {&output, 1}), TENON_INVALID_ARGUMENT);
  EXPECT_TRUE(mentions("tenon_session_run")) << lastError();
  EXPECT_EQ(session.wait(), TENON_OK);
}
} // namespace
