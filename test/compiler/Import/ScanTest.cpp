//===- ScanTest.cpp - Scans become their steps, or one op -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Import/OperatorTest.h"

namespace tenon {
namespace {

/// y0 = x0 + all of x1, and y1 the sums on the way.
class ScanTest : public OperatorTest {
protected:
  onnx::NodeProto *scan(std::vector<Tensor> inputs) {
    onnx::NodeProto *made = node("Scan", std::move(inputs), 2);
    addInt(made, "num_scan_inputs", 1);
    body = addBody(made, "body");
    for (const char *input : {"sum", "each"})
      setType(body.graph->add_input(), input, {2}, onnx::TensorProto::FLOAT);
    body.node("Add", {"sum", "each"}, {"next"});
    body.output("next");
    body.output("next");
    return made;
  }
  onnx::NodeProto *scanOfThree() {
    return scan({floats({2}, {1, 2}), floats({3, 2}, {1, 0, 2, 10, 3, 20})});
  }
  void lengthOfX1(Dim length) {
    graph.graph->mutable_input(1)->Clear();
    setType(graph.graph->mutable_input(1), "x1", {length, 2},
            onnx::TensorProto::FLOAT);
  }

  GraphBuilder body{nullptr};
};

TEST_F(ScanTest, StepsReadAndWriteAlongAnAxis) {
  scanOfThree();
  expectBoth({7, 32}, {2, 2, 4, 12, 7, 32});
}

TEST_F(ScanTest, DirectionsTurnWhatIsReadAndWritten) {
  onnx::NodeProto *made = scanOfThree();
  addInts(made, "scan_input_directions", {1});
  addInts(made, "scan_output_directions", {1});
  expectBoth({7, 32}, {7, 32, 6, 32, 4, 22});
}

TEST_F(ScanTest, AxesMayBeAny) {
  onnx::NodeProto *made =
      scan({floats({2}, {1, 2}), floats({2, 3}, {1, 2, 3, 0, 10, 20})});
  addInts(made, "scan_input_axes", {-1});
  addInts(made, "scan_output_axes", {1});
  expectBoth({7, 32}, {2, 4, 7, 2, 12, 32});
}

TEST_F(ScanTest, WithoutAStepThereAreEmptyTensors) {
  onnx::NodeProto *made = scan({floats({2}, {1, 2}), floats({0, 2}, {})});
  addInts(made, "scan_output_axes", {-1});
  auto found = results();
  ASSERT_EQ(found.size(), 2u);
  expectNear(found[0], {1, 2});
  EXPECT_EQ(found[1].shape, (llvm::SmallVector<int64_t>{2, 0}));
}

/// x1 is a batch of two sequences.
class BatchedScanTest : public ScanTest {
protected:
  void build(Tensor lengths) {
    setOpset(8);
    onnx::NodeProto *made =
        scan({lengths, floats({2, 2}, {1, 2, 3, 4}),
              floats({2, 2, 2}, {1, 10, 2, 20, 3, 30, 4, 40})});
    addInts(made, "directions", {1});
  }
};

TEST_F(BatchedScanTest, SequencesOfABatchAreScannedOneByOne) {
  build({});
  expectBoth({4, 32, 10, 74}, {3, 22, 4, 32, 7, 44, 10, 74});
}

TEST_F(BatchedScanTest, LengthsOfTheirOwnAreRefused) {
  build(ints({2}, {2, 1}));
  expectReason("has sequences of lengths of their own; convert the model");
}

TEST_F(ScanTest, OpenNumbersOfStepsMakeItOneOp) {
  onnx::NodeProto *made = scanOfThree();
  lengthOfX1("n");
  expectBoth({7, 32}, {2, 2, 4, 12, 7, 32});
  EXPECT_EQ(count("graph.loop"), 1);
  EXPECT_EQ(count("graph.require"), 0) << "each step has its element";
  // All that is read and written, the other way round along other axes.
  addInts(made, "scan_input_directions", {1});
  addInts(made, "scan_output_directions", {1});
  addInts(made, "scan_output_axes", {-1});
  expectBoth({7, 32}, {7, 6, 4, 32, 32, 22});
  options.dims["n"] = 3;
  expectBoth({7, 32}, {7, 6, 4, 32, 32, 22});
  EXPECT_EQ(count("graph.loop"), 0) << "by its steps";
}

TEST_F(ScanTest, ManyStepsAreOneOp) {
  scanOfThree();
  lengthOfX1(int64_t(1) << 20);
  EXPECT_TRUE(run()) << report.str();
  EXPECT_EQ(count("graph.loop"), 1);
}

TEST_F(ScanTest, TooManyStepsAreRefused) {
  scanOfThree();
  lengthOfX1(int64_t(1) << 30);
  expectReason("come to more than 16384 nodes");
}

TEST_F(ScanTest, WhatItScansMustBeThere) {
  onnx::NodeProto *made = scanOfThree();
  for (int64_t count : {int64_t(0), int64_t(3), INT64_MIN}) {
    made->mutable_attribute(0)->set_i(count);
    report = {};
    expectReason("scans " + std::to_string(count) + " of 2 inputs");
    EXPECT_TRUE(report.isInvalidModel());
  }
}

TEST_F(ScanTest, AttributesSpeakOfEachScannedInput) {
  onnx::NodeProto *made = scanOfThree();
  addInts(made, "scan_input_directions", {1, 0});
  expectReason("its attribute 'scan_input_directions' has 2 numbers where 1 "
               "are needed");
  made->mutable_attribute()->RemoveLast();
  addInts(made, "scan_input_directions", {2});
  report = {};
  expectReason("has the direction 2");
  made->mutable_attribute()->RemoveLast();
  addInts(made, "scan_input_axes", {2});
  report = {};
  expectReason("its axis 2 lies outside a tensor of rank 2");
}

} // namespace
} // namespace tenon
