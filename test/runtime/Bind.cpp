//===- Bind.cpp - Tensors in and out of a run -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/runtime/TinyModels.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace tenon;
using namespace tenon::test;

namespace {
struct Bind : ::testing::Test {
  Loaded scale{scaleModel()};
  alignas(64) float x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  alignas(64) float y[12] = {};

  tenon_status_t run(const tenon_tensor_t &input, tenon_tensor_t &output) {
    return scale.session.run({&input, 1}, {&output, 1});
  }

  /// Runs and expects one exact sentence.
  void refused(const tenon_tensor_t &input, const char *sentence,
               tenon_status_t status = TENON_BAD_INPUT) {
    tenon_tensor_t output = result();
    EXPECT_EQ(run(input, output), status);
    EXPECT_EQ(lastError(), sentence);
    // The session can still run.
    tenon_tensor_t good = tensor(TENON_F32, {3, 4}, x);
    output = result();
    EXPECT_EQ(run(good, output), TENON_OK) << lastError();
  }
};

TEST_F(Bind, WrongInputsAreRefusedWithASentence) {
  refused(tensor(TENON_I32, {3, 4}, x),
          "input \"x\" is i32, but the model takes f32[n, 4]");
  refused(tensor(99, {3, 4}, x),
          "input \"x\" is of no known type, but the model takes f32[n, 4]");
  refused(tensor(TENON_F32, {12}, x),
          "input \"x\" has rank 1: it is f32[12], but the model takes "
          "f32[n, 4]");
  refused(tensor(TENON_F32, {4, 3}, x),
          "input \"x\" is f32[4, 3], but the model takes f32[n, 4]: dim 1 is "
          "3, not 4");
  refused(
      tensor(TENON_F32, {-1, 4}, x),
      "input \"x\": no tensor can be f32[-1, 4]; the model takes f32[n, 4]");
  refused(tensor(TENON_F32, {int64_t(1) << 62, 4}, x),
          "input \"x\": no tensor can be f32[4611686018427387904, 4]; the "
          "model takes f32[n, 4]");
  refused(tensor(TENON_F32, {1001, 4}, x),
          "input \"x\" is f32[1001, 4], but the model takes f32[n, 4] where n "
          "is from 0 to 1000");
  refused(tensor(TENON_F32, {3, 4}, nullptr), "input \"x\": data is NULL");
  tenon_tensor_t small = tensor(TENON_F32, {3, 4}, x);
  small.bytes = 47;
  refused(small, "input \"x\": f32[3, 4] takes 48 bytes, but bytes is 47");
  tenon_tensor_t ranked = tensor(TENON_F32, {3, 4}, x);
  ranked.rank = ~0u;
  tenon_tensor_t output = result();
  EXPECT_EQ(run(ranked, output), TENON_BAD_INPUT);
}

TEST_F(Bind, WrongCountsAndStructsAreRefused) {
  tenon_tensor_t two[2] = {tensor(TENON_F32, {3, 4}, x),
                           tensor(TENON_F32, {3, 4}, x)};
  tenon_tensor_t output = result();
  EXPECT_EQ(scale.session.run(two, {&output, 1}), TENON_BAD_INPUT);
  EXPECT_EQ(lastError(), "2 inputs given, but the model has 1");
  EXPECT_EQ(scale.session.run({two, 1}, {}), TENON_BAD_INPUT);
  EXPECT_EQ(tenon_session_run(scale.session.get(), nullptr, 1, &output, 1),
            TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_session_run(scale.session.get(), two, 1, nullptr, 1),
            TENON_INVALID_ARGUMENT);
  two[0].struct_size = 8;
  EXPECT_EQ(run(two[0], output), TENON_INVALID_ARGUMENT);
}

TEST_F(Bind, OlderAndNewerCallersRun) {
  constexpr size_t older = offsetof(tenon_tensor_t, capacity);
  constexpr size_t newer = sizeof(tenon_tensor_t) + 16;
  for (size_t size : {older, newer}) {
    alignas(tenon_tensor_t) char in[newer] = {}, out[newer] = {};
    auto *input = reinterpret_cast<tenon_tensor_t *>(in);
    auto *output = reinterpret_cast<tenon_tensor_t *>(out);
    auto run = [&] {
      return tenon_session_run(scale.session.get(), input, 1, output, 1);
    };
    tenon_tensor_t known = tensor(TENON_F32, {3, 4}, x), empty = result();
    memcpy(in, &known, std::min(size, sizeof known));
    memcpy(out, &empty, std::min(size, sizeof empty));
    input->struct_size = output->struct_size = size;
    in[newer - 1] = 1; // No part of the older struct; a wish of the newer one.
    if (size == newer) {
      EXPECT_EQ(run(), TENON_INVALID_ARGUMENT);
      in[newer - 1] = 0;
    }
    ASSERT_EQ(run(), TENON_OK) << lastError();
    EXPECT_EQ(output->struct_size, size);
    EXPECT_EQ(output->dims[0], 3);
    EXPECT_EQ(output->bytes, sizeof x);
    for (size_t i = older; i < newer; ++i)
      EXPECT_EQ(out[i], 0);
  }
}

TEST_F(Bind, ZeroSizedTensorsRun) {
  tenon_tensor_t output = result();
  ASSERT_EQ(run(tensor(TENON_F32, {0, 4}, nullptr), output), TENON_OK)
      << lastError();
  EXPECT_EQ(output.dims[0], 0);
  EXPECT_EQ(output.dims[1], 4);
  EXPECT_EQ(output.bytes, 0u);
  EXPECT_NE(output.data, nullptr);
}

TEST_F(Bind, OutputsOfTheSession) {
  tenon_tensor_t output = result();
  ASSERT_EQ(run(tensor(TENON_F32, {3, 4}, x), output), TENON_OK);
  EXPECT_EQ(output.dtype, uint32_t(TENON_F32));
  EXPECT_EQ(output.rank, 2u);
  EXPECT_EQ(output.dims[0], 3);
  EXPECT_EQ(output.bytes, 48u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(output.data) % 64, 0u);
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(static_cast<float *>(output.data)[i], 2 * x[i]);
}

TEST_F(Bind, OutputsOfTheCallerAreWrittenInPlace) {
  tenon_tensor_t output = result(y, sizeof y);
  ASSERT_EQ(run(tensor(TENON_F32, {3, 4}, x), output), TENON_OK);
  EXPECT_EQ(output.data, y);
  EXPECT_EQ(y[11], 24.0f);
  EXPECT_EQ(scale.session.info().output_bytes, 0u);
}

TEST_F(Bind, MisalignedTensorsAreCopied) {
  alignas(64) char in[64], out[64];
  memcpy(in + 1, x, sizeof x);
  tenon_tensor_t output = result(out + 3, 48);
  ASSERT_EQ(run(tensor(TENON_F32, {3, 4}, in + 1), output), TENON_OK);
  float last;
  memcpy(&last, out + 3 + 44, 4);
  EXPECT_EQ(last, 24.0f);
  EXPECT_EQ(scale.session.info().output_bytes, 96u);
}

TEST_F(Bind, OutputMayOverlapInput) {
  tenon_tensor_t output = result(x, sizeof x);
  ASSERT_EQ(run(tensor(TENON_F32, {3, 4}, x), output), TENON_OK);
  EXPECT_EQ(x[0], 2.0f);
  EXPECT_EQ(x[11], 24.0f);
}

TEST_F(Bind, OutputThatDoesNotFitIsRefused) {
  tenon_tensor_t output = result(y, 47);
  EXPECT_EQ(run(tensor(TENON_F32, {3, 4}, x), output), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(),
            "output \"y\": f32[3, 4] takes 48 bytes, but the buffer has 47");
  EXPECT_EQ(y[0], 0.0f);
}

TEST(BindSymbols, OneSizeInTwoInputsMustAgree) {
  ArtifactBuilder b;
  uint32_t n = b.symbol("n");
  b.input("a", TENON_U8, {b.linear(n, 2, 1)}); // Known only after b.
  b.input("b", TENON_U8, {b.size(n), b.size(n)});
  Loaded model(b);
  uint8_t data[16] = {};
  std::vector<tenon_tensor_t> none;
  EXPECT_EQ(
      model.run({tensor(TENON_U8, {5}, data), tensor(TENON_U8, {2, 2}, data)},
                none),
      TENON_OK)
      << lastError();
  EXPECT_EQ(
      model.run({tensor(TENON_U8, {4}, data), tensor(TENON_U8, {2, 2}, data)},
                none),
      TENON_BAD_INPUT);
  EXPECT_EQ(lastError(), "input \"a\" is u8[4], but the model takes "
                         "u8[n * 2 + 1]: dim 0 is 4, not 5");
  EXPECT_EQ(
      model.run({tensor(TENON_U8, {5}, data), tensor(TENON_U8, {2, 3}, data)},
                none),
      TENON_BAD_INPUT);
  EXPECT_EQ(lastError(), "input \"b\" is u8[2, 3], but the model takes "
                         "u8[n, n]: dim 1 is 3, not 2");
}

TEST(BindOutputs, OverlappingOutputsAreRefused) {
  ArtifactBuilder b;
  b.output("p", TENON_U8, {b.constant(4)});
  b.output("q", TENON_U8, {b.constant(4)});
  Loaded model(b);
  char data[8];
  std::vector<tenon_tensor_t> outputs = {result(data, 5), result(data + 4, 4)};
  EXPECT_EQ(model.run({}, outputs), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "outputs \"p\" and \"q\" overlap in memory");
  outputs = {result(data, 4), result(data + 4, 4)};
  EXPECT_EQ(model.run({}, outputs), TENON_OK);
}
} // namespace
