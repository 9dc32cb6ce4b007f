//===- DeviceRun.cpp - Runs on a simulated device -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/runtime/DevicePrograms.h"

#include <cstring>
#include <numeric>

using namespace tenon;
using namespace tenon::test;

namespace {
using B = ArtifactBuilder;
using Values = std::vector<int64_t>;

/// Runs under every order in which a driver may do its work.
class DeviceRun : public DeviceTest,
                  public testing::WithParamInterface<const char *> {
protected:
  DeviceRun() { restart({{"QUEUE", GetParam()}, {"SEED", "3"}}); }
};
INSTANTIATE_TEST_SUITE_P(Queues, DeviceRun,
                         testing::Values("eager", "lazy", "random"));

/// Runs a model of one i64 input and one i64 output; returns the output.
Values run(Session &session, Values x, tenon_status_t status = TENON_OK) {
  tenon_tensor_t input = tensor(TENON_I64, {int64_t(x.size())}, x.data());
  tenon_tensor_t output = result();
  EXPECT_EQ(session.run({&input, 1}, {&output, 1}), status) << lastError();
  if (status != TENON_OK)
    return {};
  auto *data = static_cast<int64_t *>(output.data);
  return {data, data + output.bytes / 8};
}

TEST_P(DeviceRun, DescribesItself) {
  Device device;
  ASSERT_EQ(open(device), TENON_OK) << lastError();
  tenon_device_info_t info = device.info();
  EXPECT_STREQ(info.kind, "cuda");
  EXPECT_STRNE(info.name, "");
  EXPECT_EQ(info.compute_capability, 90u);
  EXPECT_EQ(info.driver_version, 13000u);
  EXPECT_EQ(info.memory_bytes, uint64_t(4) << 30);
  EXPECT_EQ(info.index, 0);
}

TEST_P(DeviceRun, ComputesThroughArenaAndWeights) {
  OnDevice model(*this, deviceScale());
  EXPECT_STREQ(model.model.info().target, "cuda");
  EXPECT_TRUE(model.model.image(0).in_use);
  for (int64_t n : {1, 3, 100, 0, 1000, 7, 7, 7, 7})
    expectScaled(model.session, n);
  tenon_session_info_t info = model.session.info();
  EXPECT_EQ(info.runs, 9u);
  EXPECT_EQ(info.threads, 1u);
  EXPECT_EQ(info.arena_bytes, 16064u);
}

TEST_P(DeviceRun, LargeTensorsPassThroughStaging) {
  OnDevice model(*this, deviceScale());
  expectScaled(model.session, 80000); // Of 1.3 MB each way.
}

TEST_P(DeviceRun, FaultsNameTheNode) {
  OnDevice model(*this, deviceGather());
  Values x = {10, 0, 5}, index = {0, 2, 2};
  auto gather = [&](tenon_status_t wanted) {
    tenon_tensor_t inputs[] = {tensor(TENON_I64, {3}, x.data()),
                               tensor(TENON_I64, {3}, index.data())};
    tenon_tensor_t output = result();
    EXPECT_EQ(model.session.run(inputs, {&output, 1}), wanted) << lastError();
    return Values(static_cast<int64_t *>(output.data),
                  static_cast<int64_t *>(output.data) +
                      (wanted == TENON_OK ? 3 : 0));
  };
  EXPECT_EQ(gather(TENON_OK), (Values{100, 200, 200}));
  index = {0, 1, 2};
  gather(TENON_FAILED);
  EXPECT_EQ(lastError(), "node \"divide\": an integer is divided by zero");
  index = {0, 3, 1};
  gather(TENON_FAILED); // That of the first row counts.
  EXPECT_EQ(lastError(), "node \"pick\": an index lies outside its axis");
  index = {2, 2, 2};
  EXPECT_EQ(gather(TENON_OK), (Values{200, 200, 200}));
}

/// Input x[n], output y[m], where the tests say what m is.
struct Frame : B {
  Frame() : B(deviceProgram()) {}
  uint32_t n = symbol("n"), m = symbol("m", 0, 100);
  uint32_t x = input("x", TENON_I64, {size(n)});
  uint32_t y = output("y", TENON_I64, {size(m)});
  uint32_t part = segment(constant(8));
  tenon_buffer_t xs = at(TENON_PLACE_INPUT, 0, linear(n, 8));
  tenon_buffer_t ys = at(TENON_PLACE_OUTPUT, 0, linear(m, 8));
  tenon_buffer_t x0 = at(TENON_PLACE_INPUT, 0, constant(8));
  tenon_buffer_t middle = at(TENON_PLACE_ARENA, part, constant(8));
};

TEST_P(DeviceRun, BindReadsSizesThatTheDeviceComputed) {
  Frame f;
  f.step(TENON_STEP_SEGMENT, f.part);
  f.launch({f.deviceKernel("increase"), f.constant(1), {f.x0, f.middle}});
  f.step(TENON_STEP_BIND, f.m, 1, TENON_I64, {f.middle}, {"shape"});
  f.launch(
      {f.deviceKernel("places"), f.size(f.m), {f.ys}, {}, {}, f.constant(2)});
  OnDevice model(*this, f);
  EXPECT_EQ(run(model.session, {4}), (Values{0, 0, 2, 2, 4}));
  EXPECT_EQ(run(model.session, {-1}), Values());
  run(model.session, {100}, TENON_FAILED);
  EXPECT_EQ(lastError(),
            "node \"shape\": the size m is 101, but must be from 0 to 100");
  EXPECT_EQ(run(model.session, {1}), (Values{0, 0}));
  EXPECT_EQ(model.session.info().graph_runs, 0u);
}

TEST_P(DeviceRun, BindReadsInputsWhereTheyAre) {
  Frame f;
  f.step(TENON_STEP_BIND, f.m, 1, TENON_I64, {f.x0}, {"shape"});
  f.launch({f.deviceKernel("places"), f.size(f.m), {f.ys}});
  OnDevice model(*this, f);
  EXPECT_EQ(run(model.session, {3}), (Values{0, 1, 2}));
  DeviceMemory memory;
  ASSERT_EQ(DeviceMemory::allocate(model.device, 8, memory), TENON_OK);
  int64_t two = 2;
  ASSERT_EQ(model.device.copy(memory.get(), &two, 8), TENON_OK);
  tenon_tensor_t input = tensor(TENON_I64, {1}, memory.get());
  tenon_tensor_t output = result();
  ASSERT_EQ(model.session.run({&input, 1}, {&output, 1}), TENON_OK);
  EXPECT_EQ(output.dims[0], 2);
}

TEST_P(DeviceRun, JumpsReadTheirCondition) {
  // while (!(x[0] < limit)) ...: y = x[0] + 1 and again, until it is 5.
  Frame f;
  uint32_t flag = f.segment(f.constant(1)), other = f.segment(f.constant(8));
  uint32_t five = f.constant(5);
  auto flags = f.at(TENON_PLACE_ARENA, flag, f.constant(1));
  auto next = f.at(TENON_PLACE_ARENA, other, f.constant(8));
  uint32_t less = f.deviceKernel("less"), more = f.deviceKernel("increase");
  uint32_t one = f.constant(1);
  f.step(TENON_STEP_SET, f.m, one);
  f.step(TENON_STEP_SEGMENT, f.part);
  f.step(TENON_STEP_SEGMENT, flag);
  f.step(TENON_STEP_SEGMENT, other);
  f.step(TENON_STEP_COPY, 0, 0, 0, {f.x0, f.middle});
  f.launch({less, one, {f.middle, flags}, {five}});   // 5
  f.step(TENON_STEP_JUMP_UNLESS, 10, 0, 0, {flags});  // 6
  f.launch({more, one, {f.middle, next}});            // 7
  f.step(TENON_STEP_COPY, 0, 0, 0, {next, f.middle}); // 8
  f.step(TENON_STEP_JUMP, 5);                         // 9
  f.step(TENON_STEP_COPY, 0, 0, 0, {f.middle, f.ys}); // 10
  OnDevice model(*this, f);
  EXPECT_EQ(run(model.session, {1}), Values{5});
  EXPECT_EQ(run(model.session, {9}), Values{9});
}

TEST_P(DeviceRun, CancelEndsALoop) {
  // while (x[0] < 5) ...: for ever, as nothing changes it.
  Frame f;
  uint32_t flag = f.segment(f.constant(1)), less = f.deviceKernel("less");
  uint32_t one = f.constant(1);
  auto flags = f.at(TENON_PLACE_ARENA, flag, one);
  f.step(TENON_STEP_SET, f.m, one);
  f.step(TENON_STEP_SEGMENT, flag);
  f.launch({less, one, {f.xs, flags}, {f.constant(5)}}); // 2
  f.step(TENON_STEP_JUMP_UNLESS, 5, 0, 0, {flags});
  f.step(TENON_STEP_JUMP, 2);
  f.step(TENON_STEP_COPY, 0, 0, 0, {f.xs, f.ys}); // 5
  OnDevice model(*this, f);
  {
    Canceller canceller(model.session);
    run(model.session, {1}, TENON_CANCELLED);
  }
  run(model.session, {9}, TENON_CANCELLED);
  model.session.cancel(false);
  EXPECT_EQ(run(model.session, {9}), Values{9});
}

TEST_P(DeviceRun, OutputsThatNoStepWritesAreZero) {
  Frame f;
  f.step(TENON_STEP_SET, f.m, f.linear(f.n, 2));
  OnDevice model(*this, f);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(run(model.session, {7, 8}), Values(4, 0));
}

TEST_P(DeviceRun, ThreadsHaveScratchOfTheirOwn) {
  Frame f;
  f.step(TENON_STEP_SET, f.m, f.size(f.n));
  f.launch({f.deviceKernel("scratch", 64),
            f.size(f.n),
            {f.xs, f.ys},
            {},
            {},
            f.constant(10),
            f.constant(8)});
  OnDevice model(*this, f);
  Values x(99), doubled(99);
  for (int i = 0; i < 99; ++i)
    x[i] = i, doubled[i] = 2 * i;
  EXPECT_EQ(run(model.session, x), doubled);
  EXPECT_EQ(model.session.info().scratch_bytes, 10u * 64 * 64);
}

TEST_P(DeviceRun, BlocksAreFewerWhereScratchIsLarge) {
  Frame f;
  f.step(TENON_STEP_SET, f.m, f.size(f.n));
  // 32 threads with 4 MiB each: no more than two blocks.
  f.launch({f.deviceKernel("scratch", 32),
            f.size(f.n),
            {f.xs, f.ys},
            {},
            {},
            f.constant(1),
            f.constant(4 << 20)});
  OnDevice model(*this, f);
  EXPECT_EQ(run(model.session, Values(20, 3)), Values(20, 6));
  EXPECT_EQ(model.session.info().scratch_bytes, uint64_t(256) << 20);
}

TEST_P(DeviceRun, PiecesShareMemoryThatStartsAsZero) {
  Frame f;
  f.step(TENON_STEP_SET, f.m, f.constant(1));
  uint32_t count = f.deviceKernel("count", 32);
  uint32_t shared = f.constant(512), none = f.constant(0);
  f.step(TENON_STEP_COPY, 0, 0, 0, {f.x0, f.ys}); // Of which it is the maximum.
  for (int i = 0; i < 2; ++i)
    f.launch(
        {count, f.constant(77), {f.ys}, {}, {}, f.constant(5), none, shared});
  OnDevice model(*this, f);
  EXPECT_EQ(run(model.session, {0}), Values{77});
  EXPECT_EQ(run(model.session, {5}), Values{77});
}

TEST_P(DeviceRun, CountersAreClearedOnce) {
  Frame f;
  f.step(TENON_STEP_SET, f.m, f.constant(1));
  f.step(TENON_STEP_COPY, 0, 0, 0, {f.x0, f.ys});
  uint32_t shared = f.constant(512), none = f.constant(0);
  f.launch({f.deviceKernel("count", 32),
            f.constant(77),
            {f.ys},
            {},
            {},
            f.constant(5),
            none,
            shared});
  OnDevice model(*this, f);
  for (int i = 0; i < 4; ++i) // By launches, and then as a graph.
    EXPECT_EQ(run(model.session, {0}), Values{77});
  EXPECT_GT(model.session.info().graph_runs, 0u);
  EXPECT_EQ(model.session.info().scratch_bytes, 512u);
}

TEST_P(DeviceRun, BlocksHaveSharedMemory) {
  Frame f;
  f.step(TENON_STEP_SET, f.m, f.constant(40));
  f.launch({f.deviceKernel("dynamic", 32, 100 << 10),
            f.size(f.m),
            {f.ys},
            {},
            {},
            f.constant(20)});
  OnDevice model(*this, f);
  Values y(40);
  std::iota(y.begin(), y.end(), 0);
  EXPECT_EQ(run(model.session, {0}), y);
}

struct Observed {
  Device *device;
  std::vector<std::string> kernels;
  std::vector<float> first; // Operands of the first launch, as they were.
};

TEST_P(DeviceRun, ObserversReadOperands) {
  OnDevice model(*this, deviceScale());
  expectScaled(model.session, 5);
  Observed seen = {&model.device, {}, {}};
  auto observe = [](void *user, const tenon_launch_t *launch) {
    auto &seen = *static_cast<Observed *>(user);
    seen.kernels.push_back(launch->nodes[0]);
    if (!seen.first.empty())
      return;
    seen.first.resize(launch->operands[2].bytes / 4);
    EXPECT_EQ(seen.device->copy(seen.first.data(), launch->operands[2].data,
                                launch->operands[2].bytes),
              TENON_OK)
        << lastError();
    EXPECT_EQ(launch->rows, 20);
    EXPECT_EQ(launch->pieces, 1u);
  };
  ASSERT_EQ(tenon_session_set_observer(model.session.get(), observe, &seen),
            TENON_OK);
  for (int i = 0; i < 3; ++i)
    expectScaled(model.session, 5);
  EXPECT_EQ(seen.kernels.size(), 6u);
  EXPECT_EQ(seen.kernels[1], "second");
  ASSERT_EQ(seen.first.size(), 20u);
  EXPECT_EQ(seen.first[19], 40.0f);
  EXPECT_EQ(model.session.info().graph_runs, 0u);
}
} // namespace
