//===- OnnxQLinearTest.cpp - Operators on quantized tensors ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers expected are those of ONNX Runtime, but for QLinearReduceMean,
// which it has no kernel for.
//
//===----------------------------------------------------------------------===//

#include "test/compiler/Import/OperatorTest.h"

namespace tenon {
namespace {

class OnnxQLinearTest : public OperatorTest {
protected:
  onnx::NodeProto *microsoft(const std::string &op,
                             std::vector<Tensor> values) {
    return node(op, std::move(values), 1, "com.microsoft");
  }
  Tensor scale(double value) { return floats({}, {value}); }
  Tensor zero(int64_t value) { return bytes({}, {value}); }

  onnx::NodeProto *concat() {
    return microsoft("QLinearConcat",
                     {scale(0.5), zero(10), bytes({1, 2}, {1, 7}), scale(0.25),
                      zero(0), bytes({1, 2}, {200, 9}), scale(1), zero(5)});
  }
  onnx::NodeProto *softmax(std::vector<int64_t> shape,
                           std::vector<int64_t> values, int64_t axis,
                           int64_t version) {
    auto *made = microsoft("QLinearSoftmax",
                           {bytes(shape, std::move(values)), scale(0.05),
                            zero(20), scale(1.0 / 256), zero(0)});
    addInt(made, "axis", axis);
    addInt(made, "opset", version);
    return made;
  }
  onnx::NodeProto *averagePool(int64_t countsPads) {
    auto *pool = microsoft("QLinearAveragePool",
                           {bytes({1, 1, 3, 4}, {10, 20, 30, 41, 50, 60, 70, 80,
                                                 90, 100, 111, 120}),
                            scale(0.5), zero(10), scale(0.37), zero(5)});
    addInts(pool, "kernel_shape", {2, 2});
    addInts(pool, "strides", {1, 2});
    addInts(pool, "pads", {0, 1, 0, 1});
    addInt(pool, "count_include_pad", countsPads);
    return pool;
  }
};

TEST_F(OnnxQLinearTest, EachOperandHasAScaleOfItsOwn) {
  addInt(concat(), "axis", -1);
  expect({10, 14, 255, 18});
}

TEST_F(OnnxQLinearTest, OperandsComeByThree) {
  addInt(microsoft("QLinearConcat",
                   {scale(0.5), zero(10), bytes({2}, {1, 7}), scale(0.25)}),
         "axis", 0);
  expectReason("takes 2 and 3 for each operand");
}

TEST_F(OnnxQLinearTest, OperandsAreJoinedAlongAnAxisTheyHave) {
  addInt(concat(), "axis", 2);
  expectReason("axis 2 lies outside a tensor of rank 2");
}

TEST_F(OnnxQLinearTest, WhereChoosesWhatTheBytesStandFor) {
  auto flags =
      Tensor::fromInts(mlir::IntegerType::get(&context, 1), {3}, {1, 0, 1});
  microsoft("QLinearWhere", {flags, bytes({3}, {10, 20, 30}), scale(0.5),
                             zero(10), bytes({3}, {100, 200, 250}), scale(0.1),
                             zero(0), scale(0.25), zero(3)});
  expect({3, 83, 43});
}

TEST_F(OnnxQLinearTest, SoftmaxIsAlongAnAxis) {
  softmax({2, 3}, {0, 20, 40, 60, 255, 10}, 0, 13);
  expect({12, 0, 209, 244, 255, 47});
}

TEST_F(OnnxQLinearTest, SoftmaxOfOldIsOfAllAxesFromOneOn) {
  softmax({2, 2, 2}, {0, 20, 40, 60, 10, 30, 20, 5}, 1, 12);
  expect({8, 22, 61, 165, 42, 113, 69, 32});
}

TEST_F(OnnxQLinearTest, AnAverageLeavesOutItsBorders) {
  averagePool(0);
  expect({32, 52, 73, 86, 107, 127});
}

TEST_F(OnnxQLinearTest, AnAverageCountsItsBordersAsZero) {
  averagePool(1);
  expect({19, 52, 39, 46, 107, 66});
}

/// 70 / 3 and not 70 / 2.
TEST_F(OnnxQLinearTest, AnAverageCountsWhatLiesBeyondTheBorder) {
  auto *pool = microsoft("QLinearAveragePool",
                         {bytes({1, 1, 4}, {10, 20, 30, 40}), scale(0.5),
                          zero(0), scale(0.5), zero(0)});
  addInts(pool, "kernel_shape", {3});
  addInts(pool, "strides", {2});
  addInt(pool, "ceil_mode", 1);
  addInt(pool, "count_include_pad", 1);
  expect({20, 23});
}

TEST_F(OnnxQLinearTest, AnAverageMayHaveChannelsLast) {
  auto *pool = microsoft("QLinearAveragePool",
                         {bytes({1, 2, 2, 2}, {1, 100, 2, 110, 3, 120, 4, 130}),
                          scale(0.5), zero(0), scale(0.5), zero(0)});
  addInts(pool, "kernel_shape", {2, 1});
  addInt(pool, "channels_last", 1);
  expect({2, 110, 3, 120});
}

TEST_F(OnnxQLinearTest, AnAverageHasWindows) {
  microsoft("QLinearAveragePool", {bytes({1, 2}, {1, 100}), scale(0.5), zero(0),
                                   scale(0.5), zero(0)});
  expectReason("rank 3 or more");
}

/// (5 / 0.3 + 2 and 49.17 / 0.3 + 2, rounded.)
TEST_F(OnnxQLinearTest, AMeanIsOverTheAxesItNames) {
  auto *mean = microsoft("QLinearReduceMean",
                         {bytes({2, 3}, {0, 20, 40, 60, 255, 10}), scale(0.5),
                          zero(10), scale(0.3), zero(2)});
  addInts(mean, "axes", {1});
  addInt(mean, "keepdims", 0);
  expect({19, 166});
}

} // namespace
} // namespace tenon
