//===- TinyModels.cpp - Models for tests of the runtime -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/runtime/TinyModels.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace tenon;
using namespace tenon::test;

ArtifactBuilder tenon::test::scaleModel() {
  ArtifactBuilder b;
  uint32_t n = b.symbol("n", 0, 1000);
  uint32_t rows = b.linear(n, 4), bytes = b.linear(n, 16);
  b.input("x", TENON_F32, {b.size(n), b.constant(4)});
  b.output("y", TENON_F32, {b.size(n), b.constant(4)});
  uint32_t arena = b.segment(b.linear(n, 16, 64));
  uint32_t scale = b.kernel("scale");
  float two = 2.0f;
  b.weights.assign(reinterpret_cast<const char *>(&two), sizeof two);
  b.weightTable.push_back(
      {b.string("w"), 0, 4, TENON_F32, 0, b.string("row-major")});
  auto middle = b.at(TENON_PLACE_ARENA, arena, bytes, b.constant(64));
  b.step(TENON_STEP_SEGMENT, arena);
  b.launch({scale,
            rows,
            {b.at(TENON_PLACE_INPUT, 0, bytes),
             b.at(TENON_PLACE_WEIGHTS, 0, b.constant(4)), middle},
            {},
            {"first"}});
  b.launch({scale,
            rows,
            {middle, b.at(TENON_PLACE_NONE, 0, 0),
             b.at(TENON_PLACE_OUTPUT, 0, bytes)},
            {},
            {"second"}});
  return b;
}

ArtifactBuilder tenon::test::gatherModel() {
  ArtifactBuilder b;
  uint32_t n = b.symbol("n"), m = b.symbol("m");
  b.input("x", TENON_I64, {b.size(n)});
  b.input("index", TENON_I64, {b.size(m)});
  b.output("y", TENON_I64, {b.size(m)});
  b.launch({b.kernel("gather"),
            b.size(m),
            {b.at(TENON_PLACE_INPUT, 0, b.linear(n, 8)),
             b.at(TENON_PLACE_INPUT, 1, b.linear(m, 8)),
             b.at(TENON_PLACE_OUTPUT, 0, b.linear(m, 8))},
            {b.size(n)},
            {"divide", "pick"}});
  return b;
}

ArtifactBuilder tenon::test::piecesModel(int64_t grain) {
  ArtifactBuilder b;
  uint32_t n = b.symbol("n");
  b.input("rows", TENON_I8, {b.size(n)});
  b.output("y", TENON_I64, {b.size(n)});
  b.launch({b.kernel("pieces"),
            b.size(n),
            {b.at(TENON_PLACE_OUTPUT, 0, b.linear(n, 8))},
            {},
            {},
            b.constant(grain)});
  return b;
}

Loaded::Loaded(const std::string &artifact,
               const tenon_session_options_t *options)
    : file(artifact) {
  EXPECT_EQ(Model::load(file.path(), model), TENON_OK) << lastError();
  if (model) {
    EXPECT_EQ(Session::create(model, session, options), TENON_OK)
        << lastError();
  }
}

Canceller::Canceller(Session &session) : session(session) {
  tenon_session_set_observer(
      session.get(),
      [](void *hasBegun, const tenon_launch_t *) {
        *static_cast<std::atomic<bool> *>(hasBegun) = true;
      },
      &hasBegun);
  thread = std::thread([this] {
    while (!hasBegun)
      std::this_thread::yield();
    this->session.cancel();
  });
}

Canceller::~Canceller() {
  thread.join();
  tenon_session_set_observer(session.get(), nullptr, nullptr);
}

tenon_session_options_t tenon::test::withThreads(int32_t threads) {
  tenon_session_options_t options = {};
  options.struct_size = sizeof options;
  options.threads = threads;
  return options;
}

Model tenon::test::loadModel(const std::string &artifact,
                             tenon_status_t wanted) {
  TemporaryFile file(artifact);
  Model model;
  EXPECT_EQ(Model::load(file.path(), model), wanted) << lastError();
  return model;
}
