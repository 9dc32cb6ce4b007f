//===- OnnxRouterTest.cpp - Which experts a token goes to -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Import/OperatorTest.h"

namespace tenon {
namespace {

/// One token, whose experts have scores of 0.5, 0.6, 0.4 and 0.7.
class OnnxRouterTest : public OperatorTest {
protected:
  OnnxRouterTest() { import("com.microsoft", 1); }

  onnx::NodeProto *router(std::vector<float> bias, const Names &outputs) {
    graph.floats("logits", {1, 4}, {0, 0.4054651f, -0.4054651f, 0.8472979f});
    graph.floats("bias", {int64_t(bias.size())}, bias);
    for (const std::string &name : outputs)
      if (!name.empty())
        graph.output(name);
    auto *made = graph.node("MoEGroupRouter", {"logits", "bias"}, outputs,
                            "com.microsoft");
    addInt(made, "top_k", 1);
    return made;
  }
};

TEST_F(OnnxRouterTest, TheBestExpertOfAllIsChosen) {
  router({0, 0, 0, 0}, {"y"});
  expect({-1e4, -1e4, -1e4, -0.3566749});
}

TEST_F(OnnxRouterTest, TheBestGroupIsChosenFirst) {
  addInt(router({0, 0.25, 0, 0}, {"y"}), "n_group", 2);
  expect({-1e4, -0.5108256, -1e4, -1e4}); // 1.35 together for 1.1.
}

TEST_F(OnnxRouterTest, AGroupMayCountForItsBest) {
  auto *made = router({0.25, 0.15f, 0, 0.1f}, {"y"});
  addInt(made, "n_group", 2);
  addInt(made, "group_topk", 1);
  addFloat(made, "router_sentinel", -7);
  expect({-7, -7, -7, -0.3566749}); // 0.75 for 0.8.
}

TEST_F(OnnxRouterTest, AllScoresMayBeGiven) {
  router({1, 2, 3, 4}, {"", "scores", "weights"});
  expectBoth({1.5, 2.6, 3.4, 4.7}, {0.5, 0.6, 0.4, 0.7});
}

TEST_F(OnnxRouterTest, GroupsAreOfOneSize) {
  addInt(router({0, 0, 0, 0}, {"y"}), "n_group", 3);
  expectReason("n_group must divide the number of experts");
}

TEST_F(OnnxRouterTest, ABiasIsForEachExpert) {
  router({0, 0, 0}, {"y"});
  expectReason("the bias must have a number for each expert");
}

} // namespace
} // namespace tenon
