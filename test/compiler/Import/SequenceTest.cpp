//===- SequenceTest.cpp - Sequences are lists of values -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Import/OperatorTest.h"

namespace tenon {
namespace {

class SequenceTest : public ImportTest {
protected:
  SequenceTest() {
    graph.input("x", {6, 2});
    graph.input("z", {3, 2});
  }
  void number(const std::string &name, int64_t value) {
    graph.ints(name, {value})->clear_dims();
  }
  /// y is all tensors of a sequence, along the first axis.
  void join(const std::string &sequence) {
    addInt(graph.node("ConcatFromSequence", {sequence}, {"y"}), "axis", 0);
    graph.output("y");
  }
  void expectDims(const std::string &dims) {
    expectText("-> (tensor<" + dims + "xf32> {graph.name = \"y\"})");
  }
  /// "q" is x, z, x.
  void threeTensors() {
    graph.node("SequenceConstruct", {"x", "z", "x"}, {"q"});
  }
};

TEST_F(SequenceTest, TensorsAreInsertedErasedAndJoined) {
  threeTensors();
  number("first", 0);
  number("last", -1);
  graph.node("SequenceInsert", {"q", "z", "first"}, {"q1"}); // z x z x
  graph.node("SequenceErase", {"q1", "last"}, {"q2"});       // z x z
  graph.node("SequenceErase", {"q2"}, {"q3"});               // z x
  graph.node("SequenceInsert", {"q3", "z"}, {"q4"});         // z x z
  join("q4");
  expectText("graph.concat %arg1, %arg0, %arg1");
}

TEST_F(SequenceTest, PositionsCountFromEitherEnd) {
  threeTensors();
  number("one", 1);
  number("minus_two", -2);
  graph.node("SequenceAt", {"q", "one"}, {"a"});
  graph.node("SequenceAt", {"q", "minus_two"}, {"b"});
  graph.node("Add", {"a", "b"}, {"y"});
  graph.output("y");
  expectText("graph.add %arg1, %arg1");
}

TEST_F(SequenceTest, PositionsOutsideAreInvalid) {
  for (const char *op : {"SequenceAt", "SequenceErase", "SequenceInsert"})
    for (int64_t place : {int64_t(4), int64_t(-4), INT64_MIN, INT64_MAX}) {
      graph.graph->Clear();
      graph.input("x", {6, 2});
      graph.input("z", {3, 2});
      threeTensors();
      number("place", place);
      Names inputs = {"q", "place"};
      if (op == std::string("SequenceInsert"))
        inputs.insert(inputs.begin() + 1, "z");
      graph.node(op, inputs, {"a"});
      graph.node("SequenceLength", {"a"}, {"y"});
      graph.output("y");
      report = {};
      expectReason("its position lies outside a sequence of 3 tensors");
    }
}

TEST_F(SequenceTest, APositionOfTheRunGathersEqualTensors) {
  graph.input("place", {}, onnx::TensorProto::INT64);
  graph.node("SequenceConstruct", {"x", "x"}, {"q"});
  graph.node("SequenceAt", {"q", "place"}, {"y"});
  graph.output("y");
  expectText("graph.gather");
}

TEST_F(SequenceTest, APositionOfTheRunIsRefusedElsewhere) {
  graph.input("place", {}, onnx::TensorProto::INT64);
  threeTensors();
  graph.node("SequenceAt", {"q", "place"}, {"y"});
  graph.output("y");
  expectReason("its position is known only at run time; make it a constant");
}

TEST_F(SequenceTest, LengthsAreNumbers) {
  threeTensors();
  graph.node("SequenceLength", {"q"}, {"y"});
  graph.output("y");
  expectText("dense<3> : tensor<i64>");
}

TEST_F(SequenceTest, SplitsByOneSizeLeaveASmallerRest) {
  number("size", 4);
  graph.node("SplitToSequence", {"x", "size"}, {"q"});
  number("last", -1);
  graph.node("SequenceAt", {"q", "last"}, {"y"});
  graph.output("y");
  expectDims("2x2");
}

TEST_F(SequenceTest, SplitsIntoAListOfSizes) {
  graph.ints("sizes", {1, 0, 5});
  graph.node("SplitToSequence", {"x", "sizes"}, {"q"});
  number("last", 2);
  graph.node("SequenceAt", {"q", "last"}, {"y"});
  graph.output("y");
  expectDims("5x2");
}

TEST_F(SequenceTest, PartsHaveToAddUp) {
  graph.ints("sizes", {1, 4});
  graph.node("SplitToSequence", {"x", "sizes"}, {"q"});
  join("q");
  expectReason("the parts of a split must add up to the axis (5 and 6)");
}

TEST_F(SequenceTest, SplitsByOneMayDropTheAxis) {
  onnx::NodeProto *split = graph.node("SplitToSequence", {"x"}, {"q"});
  addInt(split, "keepdims", 0);
  addInt(split, "axis", -1);
  addInt(graph.node("ConcatFromSequence", {"q"}, {"y"}), "axis", 0);
  addInt(graph.graph->mutable_node(1), "new_axis", 1);
  graph.output("y");
  expectDims("2x6");
}

TEST_F(SequenceTest, SplitsNeedASizeAndAnAxisThatAreKnown) {
  graph.input("open", {"n", 2});
  graph.node("SplitToSequence", {"open"}, {"q"});
  join("q");
  expectReason("how many tensors it makes is known only at run time; fix the "
               "size of its axis with --dim NAME=N");
  options.dims["n"] = 3;
  report = {};
  expectDims("3x2");
}

TEST_F(SequenceTest, HugeSplitsAreRefused) {
  graph.input("huge", {int64_t(1) << 30, 2});
  graph.node("SplitToSequence", {"huge"}, {"q"});
  join("q");
  expectReason("the model's loops and sequences come to more than 16384 nodes");
}

TEST_F(SequenceTest, ManyLongSequencesAreRefused) {
  graph.input("long", {4096, 1});
  graph.node("SplitToSequence", {"long"}, {"q0"});
  for (int i = 1; i <= 1300; ++i)
    graph.node("SequenceErase", {"q" + std::to_string(i - 1)},
               {"q" + std::to_string(i)});
  join("q1300");
  expectReason("the model's sequences come to more than 4194304 elements");
}

TEST_F(SequenceTest, ElementTypesMayNotBeMixed) {
  graph.input("i", {2}, onnx::TensorProto::INT64);
  graph.node("SequenceEmpty", {}, {"q"});
  graph.node("SequenceInsert", {"q", "i"}, {"q1"});
  join("q1");
  expectReason("puts tensors of different element types into one sequence");
}

TEST_F(SequenceTest, AnEmptySequenceJoinsToNothing) {
  graph.node("SequenceEmpty", {}, {"q"});
  join("q");
  expectReason("joins no tensors, so that its shape is not known");
}

TEST_F(SequenceTest, TensorsAndSequencesAreToldApart) {
  threeTensors();
  graph.node("Relu", {"q"}, {"y"});
  graph.output("y");
  expectReason("its input 0 is a sequence where the operator takes a tensor");
  graph.graph->mutable_node(1)->set_op_type("SequenceLength");
  graph.graph->mutable_node(1)->set_input(0, "x");
  report = {};
  expectReason("its input 0 is no sequence");
}

TEST_F(SequenceTest, OutputsOfTheGraphAreTensors) {
  threeTensors();
  graph.output("q");
  expectReason("the graph output 'q' is no tensor; sequences, maps");
}

TEST_F(SequenceTest, BodiesMapEachTensor) {
  onnx::NodeProto *map = graph.node("SequenceMap", {"q", "z"}, {"m"});
  GraphBuilder body = addBody(map, "body");
  setType(body.graph->add_input(), "each", {}, onnx::TensorProto::FLOAT);
  setType(body.graph->add_input(), "all", {}, onnx::TensorProto::FLOAT);
  addInt(body.node("Concat", {"each", "all"}, {"both"}), "axis", 0);
  body.output("both");
  threeTensors();
  join("m");
  expectDims("24x2");
}

TEST_F(SequenceTest, BranchesGiveSequencesOfOneLength) {
  graph.input("flag", {}, onnx::TensorProto::BOOL);
  onnx::NodeProto *choice = graph.node("If", {"flag"}, {"q"});
  GraphBuilder yes = addBody(choice, "then_branch");
  yes.node("SequenceConstruct", {"x", "z"}, {"a"});
  yes.output("a");
  GraphBuilder no = addBody(choice, "else_branch");
  no.node("SequenceConstruct", {"x", "x"}, {"b"});
  no.output("b");
  join("q");
  expectText("-> (tensor<6x2xf32>, tensor<?x2xf32, #graph.dims<branch, 2>>)");
  no.graph->mutable_node(0)->add_input("x");
  report = {};
  expectReason("its branches give sequences of different lengths");
}

TEST_F(SequenceTest, LoopsCarrySequences) {
  number("trips", 3);
  graph.node("SequenceEmpty", {}, {"none"});
  onnx::NodeProto *loop = graph.node("Loop", {"trips", "", "none"}, {"q"});
  GraphBuilder body = addBody(loop, "body");
  setType(body.graph->add_input(), "i", {}, onnx::TensorProto::INT64);
  setType(body.graph->add_input(), "on", {}, onnx::TensorProto::BOOL);
  body.graph->add_input()->set_name("list");
  body.node("SequenceInsert", {"list", "z"}, {"more"});
  body.output("on");
  body.output("more");
  join("q");
  expectDims("9x2");
}

TEST_F(SequenceTest, OptionalsAreWhatTheyHold) {
  graph.node("Optional", {"x"}, {"some"});
  graph.node("OptionalGetElement", {"some"}, {"y"});
  graph.node("OptionalHasElement", {"some"}, {"has"});
  graph.node("Optional", {}, {"none"});
  graph.node("OptionalHasElement", {"none"}, {"has_not"});
  for (const char *output : {"y", "has", "has_not"})
    graph.output(output);
  std::string all = text();
  for (const char *part : {"return %arg0", "dense<true>", "dense<false>"})
    EXPECT_TRUE(llvm::StringRef(all).contains(part)) << part << all;
}

TEST_F(SequenceTest, EmptyOptionalsGiveNothing) {
  graph.node("Optional", {}, {"none"});
  graph.node("OptionalGetElement", {"none"}, {"y"});
  graph.output("y");
  expectReason("its optional is empty");
}

} // namespace
} // namespace tenon
