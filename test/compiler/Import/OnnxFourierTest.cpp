//===- OnnxFourierTest.cpp - Fourier transforms and mel filters -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers expected are NumPy's.
//
//===----------------------------------------------------------------------===//

#include "test/compiler/Import/OperatorTest.h"

namespace tenon {
namespace {

class OnnxFourierTest : public OperatorTest {
protected:
  OnnxFourierTest() { setOpset(20); }

  /// A constant of the model.
  std::string constant(const std::string &name, int64_t value) {
    onnx::NodeProto *made = graph.node("Constant", {}, {name});
    addInt(made, "value_int", value);
    return name;
  }
  std::string constant(const std::string &name, float value) {
    addFloat(graph.node("Constant", {}, {name}), "value_float", value);
    return name;
  }
  /// A node whose first input is x0, and whose others are constants.
  onnx::NodeProto *transform(const std::string &op, Tensor x,
                             std::vector<std::string> others) {
    given = {x};
    graph.input("x0", dimsOf(x), onnx::TensorProto::FLOAT);
    others.insert(others.begin(), "x0");
    graph.output("y0");
    return graph.node(op, others, {"y0"});
  }
  /// Two triangles over the 9 bins of 16 points.
  void mel(float low, float high) {
    graph.output("y0");
    graph.node("MelWeightMatrix",
               {constant("bins", int64_t(2)), constant("length", int64_t(16)),
                constant("rate", int64_t(16)), constant("low", low),
                constant("high", high)},
               {"y0"});
  }
  void expectOf(const Numbers &expected) {
    ASSERT_TRUE(run()) << report.str();
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    auto values = reference::evaluateFunction(function, given);
    ASSERT_TRUE(bool(values)) << llvm::toString(values.takeError());
    expectNear((*values)[0], expected);
  }

  bool isOpen = false; // Whether the sizes of x0 but the last are symbols.

private:
  std::vector<Dim> dimsOf(const Tensor &x) {
    std::vector<Dim> dims(x.shape.begin(), x.shape.end());
    for (size_t i = 0; isOpen && i + 1 < dims.size(); ++i)
      dims[i] = Dim(("d" + std::to_string(i)).c_str());
    return dims;
  }

  std::vector<Tensor> given;
};

class OpenFourierTest : public OnnxFourierTest,
                        public testing::WithParamInterface<bool> {
protected:
  OpenFourierTest() { isOpen = GetParam(); }

  Tensor real() { return floats({1, 3, 1}, {1, 2, 4}); }
  Tensor complex() { return floats({1, 2, 2}, {3, 1, 1, -2}); }
};

TEST_P(OpenFourierTest, RealSignalsGiveComplexOnes) {
  transform("DFT", real(), {});
  expectOf({7, 0, -2, 1.7320508, -2, -1.7320508});
}

TEST_P(OpenFourierTest, HalfOfThePointsIsEnough) {
  addInt(transform("DFT", real(), {}), "onesided", 1);
  expectOf({7, 0, -2, 1.7320508});
}

TEST_P(OpenFourierTest, SignalsAreCutToTheLength) {
  transform("DFT", real(), {constant("length", int64_t(2))});
  expectOf({3, 0, -1, 0});
}

TEST_P(OpenFourierTest, SignalsAreFilledWithZeros) {
  transform("DFT", real(), {constant("length", int64_t(4))});
  expectOf({7, 0, -3, -2, 3, 0, -3, 2});
}

TEST_P(OpenFourierTest, InverseTransformsDivide) {
  addInt(transform("DFT", complex(), {}), "inverse", 1);
  expectOf({2, -0.5, 1, 1.5});
}

TEST_P(OpenFourierTest, HalfOfThePointsGivesRealSignals) {
  auto *inverse = transform("DFT", floats({1, 3, 2}, {7, 0, -3, -2, 3, 0}),
                            {constant("length", int64_t(4))});
  addInt(inverse, "inverse", 1);
  addInt(inverse, "onesided", 1);
  expectOf({1, 2, 4, 0});
}

TEST_P(OpenFourierTest, AnAxisBeforeOthersIsTransformed) {
  transform("DFT", floats({2, 2, 1}, {1, 2, 3, 5}),
            {"", constant("axis", int64_t(0))});
  expectOf({4, 0, 7, 0, -2, 0, -3, 0});
}

TEST_P(OpenFourierTest, FramesAreWeighed) {
  addFloats(graph.node("Constant", {}, {"window"}), "value_floats",
            {1, 2, 1, 0.5});
  transform("STFT", floats({1, 7, 1}, {1, 2, 3, 4, 5, 6, 7}),
            {constant("step", int64_t(3)), "window"});
  expectOf({10, 0, -2, -2, -2, 0, 23.5, 0, -2, -6.5, -3.5, 0});
}

TEST_F(OnnxFourierTest, RealSignalsNeedNoAxisOfTheirOwn) {
  addFloats(graph.node("Constant", {}, {"window"}), "value_floats",
            {1, 2, 1, 0.5});
  transform("STFT", floats({1, 7}, {1, 2, 3, 4, 5, 6, 7}),
            {constant("step", int64_t(3)), "window"});
  expectOf({10, 0, -2, -2, -2, 0, 23.5, 0, -2, -6.5, -3.5, 0});
}

INSTANTIATE_TEST_SUITE_P(Sizes, OpenFourierTest, testing::Bool(),
                         [](const auto &info) {
                           return info.param ? "Open" : "Fixed";
                         });

TEST_F(OnnxFourierTest, HalfOfAComplexSignalIsRefused) {
  addInt(transform("DFT", floats({1, 2, 2}, {3, 1, 1, -2}), {}), "onesided", 1);
  expectReason("onesided must be 0");
}

TEST_F(OnnxFourierTest, PartsAreNotTransformed) {
  transform("DFT", floats({1, 2, 2}, {3, 1, 1, -2}),
            {"", constant("axis", int64_t(-1))});
  expectReason("its axis is the one of real and imaginary parts");
}

TEST_F(OnnxFourierTest, APointHasOneOrTwoNumbers) {
  transform("DFT", floats({1, 1, 3}, {3, 1, 1}), {});
  expectReason("the last axis of its signal must have 1 number (real) or 2");
}

TEST_F(OnnxFourierTest, AnAxisOfTheRunIsRefused) {
  graph.input("axis", {}, onnx::TensorProto::INT64);
  transform("DFT", floats({1, 3, 1}, {1, 2, 4}), {"", "axis"});
  expectReason("its axis is not known before the run; make the axis a "
               "constant");
}

TEST_F(OnnxFourierTest, LongTransformsAreRefused) {
  transform("DFT", floats({1, 1, 1}, {1}),
            {constant("length", int64_t(1) << 30)});
  expectReason("a transform of 1073741824 points is too long for a product");
}

TEST_F(OnnxFourierTest, StepsOfTheRunAreRefused) {
  graph.input("step", {}, onnx::TensorProto::INT64);
  transform("STFT", floats({1, 3, 1}, {1, 2, 4}), {"step"});
  expectReason(
      "its frame_step is not known before the run; make it a constant");
}

TEST_F(OnnxFourierTest, TrianglesAreEvenInMel) {
  mel(0, 8);
  expectOf({0, 0, 0.5, 0, 1, 0, 0.5, 0.5, 0, 1, 0, 0.5, 0, 0, 0, 0, 0, 0});
}

TEST_F(OnnxFourierTest, EdgesAreOrdered) {
  mel(4, 1);
  expectReason("its edges must be ordered, and within the sample rate");
}

} // namespace
} // namespace tenon
