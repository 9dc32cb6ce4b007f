//===- OnnxDiffusionTest.cpp - Operators of com.microsoft for diffusion ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX Runtime has no kernels of these for CPUs: the numbers expected are those
// of their definitions in NumPy.
//
//===----------------------------------------------------------------------===//

#include "test/compiler/Import/OperatorTest.h"

namespace tenon {
namespace {

class OnnxDiffusionTest : public OperatorTest {
protected:
  Tensor image(llvm::ArrayRef<int64_t> shape = {1, 1, 2, 4}) {
    return floats(shape, {1, 2, 3, 4, 5, 9, 7, 8});
  }
  onnx::NodeProto *normalize(const std::string &op, std::vector<Tensor> values,
                             int64_t activation, int outputs = 1) {
    auto *made = node(op, std::move(values), outputs, "com.microsoft");
    addInt(made, "groups", 2);
    addInt(made, "activation", activation);
    return made;
  }
  Tensor gamma() { return floats({4}, {1, 2, 1, 0.5}); }
  Tensor beta() { return floats({4}, {0, 0, 1, 0}); }
  Tensor ones() { return floats({4}, {1, 1, 1, 1}); }
  Tensor zeros() { return floats({4}, {0, 0, 0, 0}); }
};

TEST_F(OnnxDiffusionTest, GroupsAreOfTheLastAxis) {
  normalize("GroupNorm", {image(), gamma(), beta()}, 1);
  expect({-0.2718465, -0.2756402, -0.0950729, -0.1491735, 0.1349291, 2.9145115,
          1.4669205, 0.3923646});
}

TEST_F(OnnxDiffusionTest, ChannelsMayComeFirst) {
  addInt(normalize(
             "GroupNorm",
             {floats({1, 4, 1, 2}, {1, 2, 3, 4, 5, 9, 7, 8}), gamma(), beta()},
             0),
         "channels_last", 0);
  expect({-1.3416354, -0.4472118, 0.8944236, 2.6832708, -0.5212742, 2.1832133,
          -0.0845152, 0.2535457});
}

TEST_F(OnnxDiffusionTest, AnActivationOfAnotherNumberIsRefused) {
  normalize("GroupNorm", {image(), gamma(), beta()}, 2);
  expectReason("activation must be 0 (none) or 1 (SiLU), not 2");
}

TEST_F(OnnxDiffusionTest, GroupsAreRequired) {
  addInt(node("GroupNorm", {image(), gamma(), beta()}, 1, "com.microsoft"),
         "activation", 0);
  expectReason("its required attribute 'groups' is missing");
}

TEST_F(OnnxDiffusionTest, ASkipMayBeANumberPerChannel) {
  normalize("SkipGroupNorm",
            {image(), ones(), zeros(), floats({1, 4}, {1, 0, -1, 2}),
             floats({4}, {0, 1, 0, 0})},
            0, 2);
  auto found = results();
  ASSERT_EQ(found.size(), 2u);
  expectNear(found[0], {-1.0441846, -0.722897, -1.4142127, 0, 0.2409657,
                        1.5261159, 0, 1.4142127});
  expectNear(found[1], {2, 3, 2, 6, 6, 10, 6, 10});
}

TEST_F(OnnxDiffusionTest, BiasAndSkipAreAdded) {
  node("BiasAdd",
       {floats({1, 1, 2}, {1, 2}), floats({2}, {10, 20}),
        floats({1, 1, 2}, {100, 200})},
       1, "com.microsoft");
  expect({111, 222});
}

TEST_F(OnnxDiffusionTest, OneHalfGatesTheOther) {
  node("BiasSplitGelu",
       {floats({1, 1, 4}, {1, 2, 0.5, -1}), floats({4}, {0, 1, 0, 0.5})}, 1,
       "com.microsoft");
  expect({0.3457312, -0.4628063});
}

TEST_F(OnnxDiffusionTest, OnlyAnEvenAxisHasHalves) {
  node("BiasSplitGelu", {floats({1, 1, 3}, {1, 2, 3}), floats({3}, {0, 0, 0})},
       1, "com.microsoft");
  expectReason("the last axis must have two halves");
}

TEST_F(OnnxDiffusionTest, FiltersHaveChannelsLast) {
  node("NhwcConv",
       {floats({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}),
        floats({1, 2, 2, 2}, {1, 2, 0, -1, 0.5, 1, 1, 0}), floats({1}, {0.5})},
       1, "com.microsoft");
  expect({12.5});
}

} // namespace
} // namespace tenon
