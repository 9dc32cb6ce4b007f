//===- Inspect.cpp - What a model says of itself --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/runtime/TinyModels.h"

#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::test;

namespace {
TEST(Inspect, TellsWhatWasWritten) {
  std::string artifact = scaleModel().build();
  Model model = loadModel(artifact);
  tenon_model_info_t info = model.info();
  EXPECT_STREQ(info.name, "tiny");
  EXPECT_STREQ(info.producer, "test");
  EXPECT_STREQ(info.level, "baseline");
  EXPECT_EQ(info.input_count, 1u);
  EXPECT_EQ(info.output_count, 1u);
  EXPECT_EQ(info.symbol_count, 1u);
  EXPECT_EQ(info.step_count, 3u);
  EXPECT_EQ(info.segment_count, 1u);
  EXPECT_EQ(info.file_bytes, artifact.size());
  EXPECT_EQ(info.weights_bytes, 4u);
  EXPECT_EQ(info.image_checksum[1], footerOf(artifact).image_xxh3[1]);

  tenon_value_info_t input = model.input(0);
  EXPECT_STREQ(input.name, "x");
  EXPECT_EQ(input.dtype, uint32_t(TENON_F32));
  EXPECT_EQ(input.rank, 2u);
  EXPECT_EQ(input.dims[0], -1);
  EXPECT_STREQ(input.dim_texts[0], "n");
  EXPECT_EQ(input.dims[1], 4);
  EXPECT_STREQ(input.dim_texts[1], "4");
  EXPECT_STREQ(model.output(0).name, "y");

  EXPECT_STREQ(model.symbol(0).name, "n");
  EXPECT_EQ(model.symbol(0).hi, 1000);
  EXPECT_STREQ(model.kernel(0).name, "scale");
  EXPECT_STREQ(model.kernel(0).schedule, "Generic");
  EXPECT_EQ(model.kernel(0).launch_count, 2u);
  EXPECT_STREQ(model.weight(0).name, "w");
  EXPECT_STREQ(model.weight(0).layout, "row-major");
  EXPECT_EQ(model.weight(0).bytes, 4u);
}

TEST(Inspect, FindsByName) {
  Model model = loadModel(gatherModel().build());
  uint32_t index = 7;
  EXPECT_EQ(tenon_model_find_input(model.get(), "index", &index), TENON_OK);
  EXPECT_EQ(index, 1u);
  EXPECT_EQ(tenon_model_find_output(model.get(), "y", &index), TENON_OK);
  EXPECT_EQ(index, 0u);
  EXPECT_EQ(tenon_model_find_input(model.get(), "y", &index), TENON_NOT_FOUND);
  EXPECT_EQ(index, UINT32_MAX);
  EXPECT_EQ(lastError(),
            "the model has no input named \"y\"; its first is \"x\"");
}

TEST(Inspect, MisuseIsRefused) {
  Model model = loadModel(scaleModel().build());
  tenon_model_t *handle = model.get();
  tenon_value_info_t value = {};
  value.struct_size = sizeof value;
  uint32_t index;
  EXPECT_EQ(tenon_model_input(nullptr, 0, &value), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_model_input(handle, 0, nullptr), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_model_input(handle, 1, &value), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_model_output(handle, ~0u, &value), TENON_INVALID_ARGUMENT);
  value.struct_size = 3;
  EXPECT_EQ(tenon_model_input(handle, 0, &value), TENON_INVALID_ARGUMENT);
  value.struct_size = SIZE_MAX;
  EXPECT_EQ(tenon_model_input(handle, 0, &value), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_model_info(nullptr, nullptr), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_model_symbol(handle, 1, nullptr), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_model_level(handle, 1, nullptr), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_model_kernel(handle, 1, nullptr), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_model_weight(handle, 1, nullptr), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_model_find_input(handle, "x", nullptr),
            TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_model_find_input(handle, nullptr, &index),
            TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_model_find_input(nullptr, "x", &index),
            TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_model_verify_weights(nullptr), TENON_INVALID_ARGUMENT);
  tenon_model_retain(nullptr);
  tenon_model_release(nullptr);
}

TEST(Inspect, AnOlderCallersStructIsFilledAsFarAsItGoes) {
  Model model = loadModel(scaleModel().build());
  tenon_symbol_info_t info = {};
  info.struct_size = offsetof(tenon_symbol_info_t, lo);
  info.lo = 77;
  ASSERT_EQ(tenon_model_symbol(model.get(), 0, &info), TENON_OK);
  EXPECT_STREQ(info.name, "n");
  EXPECT_EQ(info.lo, 77);
}

TEST(Inspect, DataTypesHaveNamesAndSizes) {
  EXPECT_STREQ(tenon_dtype_name(TENON_BF16), "bf16");
  EXPECT_EQ(tenon_dtype_bytes(TENON_F64), 8u);
  EXPECT_EQ(tenon_dtype_name(8), nullptr);
  EXPECT_EQ(tenon_dtype_bytes(~0u), 0u);
  EXPECT_STREQ(tenon_version(), "2.5");
}
} // namespace
