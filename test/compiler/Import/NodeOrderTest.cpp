//===- NodeOrderTest.cpp - Which nodes to visit, and in which order -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/NodeOrder.h"
#include "test/compiler/Import/ModelBuilder.h"

namespace tenon {
namespace {

using Order = llvm::SmallVector<int>;

class NodeOrderTest : public testing::Test {
protected:
  const Body &body() { return names.body(proto); }

  onnx::GraphProto proto;
  GraphBuilder graph{&proto};
  ModelNames names;
};

TEST_F(NodeOrderTest, ProducersComeFirst) {
  graph.node("Relu", {"b"}, {"c"});
  graph.node("Relu", {"a"}, {"b"});
  graph.node("Relu", {"x"}, {"a"});
  EXPECT_EQ(orderNodes(body()).nodes, Order({2, 1, 0}));
}

TEST_F(NodeOrderTest, FreeNodesStayInTheOrderOfTheFile) {
  graph.node("Relu", {"x"}, {"a"});
  graph.node("Neg", {"x"}, {"b"});
  graph.node("Add", {"a", "b"}, {"c"});
  EXPECT_EQ(orderNodes(body()).nodes, Order({0, 1, 2}));
}

TEST_F(NodeOrderTest, CyclesAreFound) {
  graph.node("Relu", {"x"}, {"a"});
  graph.node("Add", {"a", "d"}, {"b"});
  graph.node("Relu", {"b"}, {"d"});
  graph.node("Relu", {"d"}, {"y"});
  int onCycle = orderNodes(body()).onCycle;
  EXPECT_TRUE(onCycle == 1 || onCycle == 2) << onCycle;
}

TEST_F(NodeOrderTest, BodiesReadWhatTheyCapture) {
  onnx::NodeProto *choice = graph.node("If", {"flag"}, {"y"});
  GraphBuilder branch = addBody(choice, "then_branch");
  branch.node("Add", {"late", "inner"}, {"z"});
  branch.node("Relu", {"late"}, {"inner"});
  branch.output("z");
  graph.node("Relu", {"x"}, {"late"});
  EXPECT_EQ(orderNodes(body()).nodes, Order({1, 0}));
  std::vector<NameId> uses;
  forEachUse(body().nodes[0], [&](NameId name) { uses.push_back(name); });
  NameId flag = names.id("flag"), late = names.id("late");
  EXPECT_EQ(uses, std::vector<NameId>({flag, late, late}));
}

TEST_F(NodeOrderTest, NodesWithoutUseAreDropped) {
  graph.node("Relu", {"x"}, {"y"});
  graph.node("NoSuchOp", {"y"}, {"unused"});
  Order all = orderNodes(body()).nodes;
  EXPECT_EQ(liveNodes(body(), all, names.id("y")), Order({0}));
}

TEST_F(NodeOrderTest, LongChainsNeedNoStack) {
  constexpr int length = 200000;
  for (int i = length; i > 0; --i)
    graph.node("Relu", {"t" + std::to_string(i - 1)},
               {"t" + std::to_string(i)});
  Order order = orderNodes(body()).nodes;
  ASSERT_EQ(order.size(), size_t(length));
  EXPECT_EQ(order.front(), length - 1);
  EXPECT_EQ(order.back(), 0);
}

} // namespace
} // namespace tenon
