//===- Session.cpp - Sessions, their misuse and their sharing -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/runtime/TinyModels.h"

#include <gtest/gtest.h>

#include <atomic>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tenon;
using namespace tenon::test;

namespace {
void expectScales(Session &session, float factor) {
  float x[400];
  for (int i = 0; i < 400; ++i)
    x[i] = factor + float(i);
  tenon_tensor_t input = tensor(TENON_F32, {100, 4}, x), output = result();
  ASSERT_EQ(session.run({&input, 1}, {&output, 1}), TENON_OK) << lastError();
  for (int i = 0; i < 400; ++i)
    ASSERT_EQ(static_cast<float *>(output.data)[i], 2 * x[i]);
}

TEST(Session, MisuseIsRefused) {
  Model model = loadModel(scaleModel().build());
  tenon_session_t *session = nullptr;
  tenon_session_info_t info = {};
  EXPECT_EQ(tenon_session_create(model.get(), nullptr, nullptr),
            TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_session_create(nullptr, nullptr, &session),
            TENON_INVALID_ARGUMENT);
  EXPECT_EQ(session, nullptr);
  EXPECT_EQ(tenon_session_run(nullptr, nullptr, 0, nullptr, 0),
            TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_session_info(nullptr, &info), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_session_set_observer(nullptr, nullptr, nullptr),
            TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_session_destroy(nullptr), TENON_OK);
  EXPECT_EQ(tenon_model_load(nullptr, nullptr, nullptr),
            TENON_INVALID_ARGUMENT);
  tenon_model_t *none = model.get();
  EXPECT_EQ(tenon_model_load(nullptr, nullptr, &none), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
}

TEST(Session, WrongOptionsAreRefused) {
  Model model = loadModel(scaleModel().build());
  Session session;
  struct Larger {
    tenon_session_options_t options;
    int64_t unknown;
  } larger = {};
  auto create = [&] {
    return Session::create(model, session, &larger.options);
  };
  larger.options = withThreads(-1);
  EXPECT_EQ(create(), TENON_INVALID_ARGUMENT);
  larger.options = withThreads(5000);
  EXPECT_EQ(create(), TENON_INVALID_ARGUMENT);
  larger.options = withThreads(1);
  larger.options.spin_microseconds = -2;
  EXPECT_EQ(create(), TENON_INVALID_ARGUMENT);
  larger.options = withThreads(1);
  for (size_t size : {size_t(0), size_t(4), SIZE_MAX}) {
    larger.options.struct_size = size;
    EXPECT_EQ(create(), TENON_INVALID_ARGUMENT) << size;
  }
  larger.options.struct_size = sizeof larger; // A newer caller ...
  EXPECT_EQ(create(), TENON_OK);
  larger.unknown = 1; // ... that wants what we do not have.
  EXPECT_EQ(create(), TENON_INVALID_ARGUMENT);
  larger.options.struct_size = 16; // An older one.
  EXPECT_EQ(create(), TENON_OK);
}

TEST(Session, OutlivesItsModelHandle) {
  Session session;
  {
    Model model = loadModel(scaleModel().build());
    Model copy = model;
    ASSERT_EQ(Session::create(copy, session), TENON_OK);
  }
  expectScales(session, 1);
}

TEST(Session, ManyShareAModel) {
  Model model = loadModel(scaleModel().build());
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      Session session;
      tenon_session_options_t options = withThreads(1 + t);
      ASSERT_EQ(Session::create(model, session, &options), TENON_OK);
      for (int i = 0; i < 100; ++i)
        expectScales(session, float(t));
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Session, SecondThreadIsRefused) {
  Loaded model(scaleModel());
  tenon_session_t *session = model.session.get();
  // The observer runs during a run; so does what it calls.
  static std::atomic<int> refused;
  refused = 0;
  auto observer = [](void *user, const tenon_launch_t *) {
    auto *session = static_cast<tenon_session_t *>(user);
    tenon_session_info_t info = {};
    info.struct_size = sizeof info;
    refused += tenon_session_run(session, nullptr, 0, nullptr, 0) == TENON_BUSY;
    refused += tenon_session_info(session, &info) == TENON_BUSY;
    refused += tenon_session_destroy(session) == TENON_BUSY;
    std::thread([&] {
      refused +=
          tenon_session_run(session, nullptr, 0, nullptr, 0) == TENON_BUSY;
    }).join();
  };
  tenon_session_set_observer(session, observer, session);
  expectScales(model.session, 3);
  EXPECT_EQ(refused, 8); // Two launches.
  EXPECT_EQ(model.session.info().runs, 1u);
}

TEST(Session, LastErrorBelongsToItsThread) {
  tenon_session_run(nullptr, nullptr, 0, nullptr, 0);
  std::thread([] { EXPECT_EQ(lastError(), ""); }).join();
  EXPECT_NE(lastError(), "");
}

TEST(Session, RunsInAForkedChild) {
  tenon_session_options_t options = withThreads(2);
  Loaded model(scaleModel(), &options);
  expectScales(model.session, 1);
  pid_t child = fork();
  if (child == 0) {
    expectScales(model.session, 2); // Without workers.
    tenon_session_options_t fresh = withThreads(2);
    Session session;
    Session::create(model.model, session, &fresh);
    expectScales(session, 3);
    model.session = Session();
    _exit(::testing::Test::HasFailure());
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Session, ReportsWhatItHolds) {
  tenon_session_options_t options = withThreads(2);
  Loaded model(scaleModel(), &options);
  EXPECT_EQ(model.session.info().arena_bytes, 0u);
  expectScales(model.session, 1);
  tenon_session_info_t info = model.session.info();
  EXPECT_EQ(info.threads, 2u);
  EXPECT_EQ(info.runs, 1u);
  EXPECT_EQ(info.arena_bytes, 100 * 16 + 64u);
  EXPECT_EQ(info.output_bytes, 100 * 16u);
}
} // namespace
