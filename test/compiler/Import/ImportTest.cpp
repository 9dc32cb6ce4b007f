//===- ImportTest.cpp - From an ONNX file to a module of graph ops --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Import/ModelBuilder.h"

namespace tenon {
namespace {

TEST_F(ImportTest, InputsAndOutputsKeepTheirNames) {
  graph.input("my input", {"batch", 3});
  graph.node("Relu", {"my input"}, {"my output"});
  graph.output("my output");
  std::string all = text();
  EXPECT_TRUE(llvm::StringRef(all).contains(
      "%arg0: tensor<?x3xf32, #graph.dims<batch, 3>> "
      "{graph.name = \"my input\"}"))
      << all;
  EXPECT_TRUE(llvm::StringRef(all).contains("{graph.name = \"my output\"}"));
}

TEST_F(ImportTest, NodesAreLocations) {
  graph.input("x", {2});
  graph.node("Neg", {"x"}, {"a"})->set_name("first");
  graph.node("Abs", {"a"}, {"y"});
  graph.output("y");
  ASSERT_TRUE(run()) << report.str();
  Names names;
  module->walk([&](mlir::Operation *op) {
    if (auto name = llvm::dyn_cast<mlir::NameLoc>(op->getLoc()))
      if (op->getName().getDialectNamespace() == "graph")
        names.push_back(name.getName().str());
  });
  EXPECT_EQ(names, Names({"first", "Abs:y"}));
}

TEST_F(ImportTest, LargeInitializersAreWeightsAndSmallOnesConstants) {
  graph.input("x", {100});
  graph.floats("large", {100}, std::vector<float>(100, 1));
  graph.floats("small", {1}, {2});
  graph.floats("unused", {100}, std::vector<float>(100, 1));
  graph.node("Add", {"x", "large"}, {"a"});
  graph.node("Mul", {"a", "small"}, {"y"});
  graph.output("y");
  ASSERT_TRUE(run()) << report.str();
  EXPECT_EQ(weights.size(), 1u);
  EXPECT_EQ(weights.bytes("large").size(), 400u);
  EXPECT_EQ(count("graph.constant"), 1);
}

TEST_F(ImportTest, InitializersMayBeListedAsInputs) {
  graph.input("x", {1});
  graph.input("w", {1});
  graph.floats("w", {1}, {2});
  graph.node("Add", {"x", "w"}, {"y"});
  graph.output("y");
  ASSERT_TRUE(run()) << report.str();
  auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
  EXPECT_EQ(main.getNumArguments(), 1u);
}

TEST_F(ImportTest, NodesMayComeInAnyOrder) {
  graph.input("x", {2});
  graph.node("Relu", {"a"}, {"y"});
  graph.node("Neg", {"x"}, {"a"});
  graph.output("y");
  EXPECT_TRUE(run()) << report.str();
}

TEST_F(ImportTest, AllUnsupportedNodesAreReportedAtOnce) {
  graph.input("x", {2});
  graph.node("NoSuchOp", {"x"}, {"a"})->set_name("one");
  graph.node("TfIdfVectorizer", {"a"}, {"b"})->set_name("two");
  graph.node("Flatten", {"b"}, {"y"});
  graph.node("AlsoUnknown", {"x"}, {"unused"});
  graph.output("y");
  EXPECT_FALSE(run());
  ASSERT_EQ(report.issues.size(), 2u) << report.str();
  EXPECT_EQ(report.issues[0].node, "one");
  EXPECT_EQ(report.issues[1].op, "TfIdfVectorizer");
  EXPECT_FALSE(report.issues[1].fix.empty());
  EXPECT_FALSE(report.isInvalidModel());
}

TEST_F(ImportTest, AllProblemsOfConvertingAreReportedAtOnce) {
  graph.input("x", {2});
  addInt(graph.node("Flatten", {"x"}, {"a"}), "axis", 7);
  addInt(graph.node("Softmax", {"x"}, {"b"}), "axis", 7);
  graph.node("Add", {"a", "b"}, {"y"});
  graph.output("y");
  EXPECT_FALSE(run());
  EXPECT_EQ(report.issues.size(), 2u) << report.str();
  EXPECT_TRUE(report.isInvalidModel());
}

TEST_F(ImportTest, AnOpsetMustBeImported) {
  graph.input("x", {2});
  graph.node("Gelu", {"x"}, {"y"}, "com.example");
  graph.output("y");
  expectReason("the model imports no opset of the domain 'com.example'");
}

TEST_F(ImportTest, TheOpsetOfContribOperatorsMayBeLeftOut) {
  graph.input("x", {2});
  graph.node("Gelu", {"x"}, {"y"}, "com.microsoft");
  graph.output("y");
  EXPECT_TRUE(run()) << report.str();
}

TEST_F(ImportTest, SizesThatMustAgreeAreRequired) {
  graph.input("x", {"n"});
  graph.input("z", {"m"});
  graph.node("Add", {"x", "z"}, {"y"});
  graph.output("y");
  expectText("relation = #graph<relation broadcasts>, sizes = "
             "#graph.dims<n, m>");
}

TEST_F(ImportTest, ARequirementIsStatedOnce) {
  graph.input("x", {"n"});
  graph.input("z", {"m"});
  graph.node("Add", {"x", "z"}, {"a"});
  graph.node("Mul", {"x", "z"}, {"b"});
  graph.node("Sub", {"a", "b"}, {"y"});
  graph.output("y");
  ASSERT_TRUE(run()) << report.str();
  EXPECT_EQ(count("graph.require"), 1);
}

TEST_F(ImportTest, InputsNeedARank) {
  graph.input("x", {2});
  model.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->clear_shape();
  graph.node("Relu", {"x"}, {"y"});
  graph.output("y");
  expectReason("the graph input 'x' states no rank");
}

TEST_F(ImportTest, ChosenDimsAreNumbers) {
  options.dims["batch"] = 4;
  graph.input("x", {"batch", 3});
  graph.node("Relu", {"x"}, {"y"});
  graph.output("y");
  expectText("%arg0: tensor<4x3xf32>");
}

TEST_F(ImportTest, TheElementTypeOfAnOutputMustNotLie) {
  graph.input("x", {2});
  graph.node("Relu", {"x"}, {"y"});
  setType(model.mutable_graph()->add_output(), "y", {2},
          onnx::TensorProto::INT64);
  expectReason("the graph output 'y' is declared as int64 but computed as "
               "another element type");
}

} // namespace
} // namespace tenon
