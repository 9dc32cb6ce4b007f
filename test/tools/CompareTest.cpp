//===- CompareTest.cpp - When results agree -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Compare.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

using namespace tenon;

namespace {

template <typename T>
Tensor make(uint32_t type, std::vector<int64_t> dims, std::vector<T> values) {
  Tensor tensor{type, dims, {}};
  tensor.bytes.resize(values.size() * sizeof(T));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

Tensor floats(std::vector<float> values) {
  return make<float>(TENON_F32, {int64_t(values.size())}, values);
}

TEST(Compare, ErrorsAreRelativeToTheLargestMagnitude) {
  Agreement agreement = compare(floats({100, 1.5f}), floats({100, 1}));
  EXPECT_TRUE(agreement.mismatch.empty());
  EXPECT_DOUBLE_EQ(agreement.error, 0.005);
  EXPECT_EQ(agreement.worst, 1);
  EXPECT_TRUE(agreement.within(1e-2));
  EXPECT_FALSE(agreement.within(1e-3));
}

TEST(Compare, SpecialValuesMatchInPlaceAndKind) {
  float nan = NAN, inf = INFINITY, huge = 3e38f;
  EXPECT_TRUE(
      compare(floats({nan, -inf, huge, 1}), floats({nan, -inf, 2e38f, 1}))
          .within(0));
  for (float wrong : {0.0f, inf, -huge, nan})
    EXPECT_FALSE(compare(floats({wrong}), floats({huge})).within(1e9));
  EXPECT_FALSE(compare(floats({0}), floats({nan})).within(1e9));
}

TEST(Compare, HugeValuesAreNoMagnitude) {
  EXPECT_FALSE(compare(floats({1e38f, 1.1f}), floats({1e38f, 1})).within(1e-2));
}

TEST(Compare, IntegersAreExact) {
  int64_t big = int64_t(1) << 62;
  Tensor a = make<int64_t>(TENON_I64, {2}, {big, 1});
  Tensor b = make<int64_t>(TENON_I64, {2}, {big + 1, 1});
  EXPECT_TRUE(compare(a, a).within(0));
  Agreement agreement = compare(b, a);
  EXPECT_FALSE(agreement.within(1e9));
  EXPECT_NE(agreement.mismatch.find("element 0"), std::string::npos);
}

TEST(Compare, TypesAndShapesAreExact) {
  Tensor a = floats({1, 2}), row = a;
  row.dims = {1, 2};
  EXPECT_EQ(compare(row, a).mismatch, "it is f32[1x2], expected f32[2]");
  Tensor integers = make<int32_t>(TENON_I32, {2}, {1, 2});
  EXPECT_FALSE(compare(integers, a).within(1e9));
}

TEST(Compare, EmptyAgreesWithEmpty) {
  Tensor a{TENON_F32, {0, 3}, {}}, b{TENON_F32, {2, 0}, {}};
  EXPECT_TRUE(compare(a, b).within(0));
  EXPECT_FALSE(compare(a, floats({1})).within(1e9));
}

TEST(Compare, HalvesAreWidened) {
  Tensor half = make<uint16_t>(TENON_F16, {2}, {0x3c00, 0xc000});
  EXPECT_EQ(elementAsDouble(half, 0), 1);
  EXPECT_EQ(elementAsDouble(half, 1), -2);
  Tensor brain = make<uint16_t>(TENON_BF16, {1}, {0x3f80});
  EXPECT_EQ(elementAsDouble(brain, 0), 1);
}

} // namespace
