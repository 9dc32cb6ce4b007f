//===- FoldConstants.cpp - Folding moves the bytes of weights -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/Passes.h"
#include "compiler/Weights/WeightStore.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace tenon;

namespace {

struct FoldConstantsTest : testing::Test {
  FoldConstantsTest() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<func::FuncDialect, graph::GraphDialect>();
  }

  void addWeight(StringRef name, Type type, ArrayRef<int64_t> shape) {
    int64_t count = *elementCount(shape), width = *elementBytes(type);
    std::vector<char> bytes(count * width);
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(&bytes[i * width], &i, width);
    ASSERT_TRUE(bool(weights.addOwned(name, type, shape, std::move(bytes))));
  }

  /// Runs the pass on a function of one result; gives what it returns.
  Operation *fold(const std::string &text, Folding folding = Folding::All) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    if (!module)
      return nullptr;
    PassManager pm(&context);
    pm.addNestedPass<func::FuncOp>(createFoldConstantsPass(weights, folding));
    EXPECT_TRUE(succeeded(pm.run(*module)));
    auto function = *module->getOps<func::FuncOp>().begin();
    return function.getBody()
        .front()
        .getTerminator()
        ->getOperand(0)
        .getDefiningOp();
  }

  static std::string tensor(ArrayRef<int64_t> shape, StringRef type) {
    std::string text = "tensor<";
    for (int64_t size : shape)
      text += std::to_string(size) + "x";
    return text + type.str() + ">";
  }

  MLIRContext context;
  WeightStore weights;
  OwningOpRef<ModuleOp> module;
};

/// A filter of 16 bits becomes one of f32, and what multiplies it stays.
TEST_F(FoldConstantsTest, WidensFiltersAlone) {
  addWeight("w", Float16Type::get(&context), {64, 32, 3, 3});
  addWeight("v", Float16Type::get(&context), {64, 64});
  auto text = [](const std::string &result, const std::string &body) {
    return "func.func @main(%x: tensor<1x9x9x32xf32>, %y: tensor<4x64xf32>) "
           "-> " +
           result + " {\n" + body + "return %r : " + result + "\n}";
  };
  Operation *conv = fold(
      text("tensor<1x7x7x64xf32>",
           "%w = graph.weight {name = \"w\"} : () -> tensor<64x32x3x3xf16>\n"
           "%f = graph.cast %w : (tensor<64x32x3x3xf16>) -> "
           "tensor<64x32x3x3xf32>\n"
           "%r = graph.conv %x, %f {strides = array<i64: 1, 1>, dilations = "
           "array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, "
           "channels_last} : (tensor<1x9x9x32xf32>, tensor<64x32x3x3xf32>) -> "
           "tensor<1x7x7x64xf32>\n"),
      Folding::WideFilters);
  ASSERT_TRUE(conv);
  EXPECT_TRUE(conv->getOperand(1).getDefiningOp<graph::WeightOp>());
  Operation *matmul = fold(
      text("tensor<4x64xf32>",
           "%v = graph.weight {name = \"v\"} : () -> tensor<64x64xf16>\n"
           "%f = graph.cast %v : (tensor<64x64xf16>) -> tensor<64x64xf32>\n"
           "%r = graph.matmul %y, %f : (tensor<4x64xf32>, "
           "tensor<64x64xf32>) -> tensor<4x64xf32>\n"),
      Folding::WideFilters);
  ASSERT_TRUE(matmul);
  EXPECT_TRUE(matmul->getOperand(1).getDefiningOp<graph::CastOp>());
}

TEST_F(FoldConstantsTest, TransposesMoveBytes) {
  std::mt19937 engine(7);
  Builder builder(&context);
  for (int round = 0; round < 60; ++round) {
    size_t rank = 1 + engine() % 4;
    SmallVector<int64_t> shape, permutation, permuted;
    for (size_t i = 0; i < rank; ++i) {
      shape.push_back(engine() % 8 == 0 ? 0 : 1 + engine() % 5);
      permutation.push_back(i);
    }
    std::shuffle(permutation.begin(), permutation.end(), engine);
    std::string axes, name = "w" + std::to_string(round);
    for (int64_t axis : permutation) {
      permuted.push_back(shape[axis]);
      axes += (axes.empty() ? "" : ", ") + std::to_string(axis);
    }
    bool wide = round % 2;
    addWeight(name, builder.getIntegerType(wide ? 64 : 16), shape);
    std::string from = tensor(shape, wide ? "i64" : "i16");
    std::string to = tensor(permuted, wide ? "i64" : "i16");
    Operation *op =
        fold("func.func @f() -> " + to + " {\n%0 = graph.weight {name = \"" +
             name + "\"} : () -> " + from +
             "\n%1 = graph.transpose %0 {permutation = array<i64: " + axes +
             ">} : (" + from + ") -> " + to + "\nreturn %1 : " + to + "\n}\n");
    auto result = dyn_cast_if_present<graph::WeightOp>(op);
    ASSERT_TRUE(result);
    const Weight *weight = weights.lookup(result.getName());
    ASSERT_TRUE(weight);
    ASSERT_EQ(weight->shape, permuted);
    // Element i of the result is element `expected` of the operand.
    int64_t width = wide ? 8 : 2, count = *elementCount(shape);
    for (int64_t i = 0; i < count; ++i) {
      SmallVector<int64_t> index(rank);
      int64_t rest = i, expected = 0, found = 0;
      for (size_t axis = rank; axis-- > 0; rest /= permuted[axis])
        index[permutation[axis]] = rest % permuted[axis];
      for (size_t axis = 0; axis < rank; ++axis)
        expected = expected * shape[axis] + index[axis];
      std::memcpy(&found, weight->bytes().data() + i * width, width);
      ASSERT_EQ(found, expected);
    }
  }
}

/// However large the weight is, which the evaluator would not take.
TEST_F(FoldConstantsTest, SlicesMoveBytes) {
  addWeight("w", IntegerType::get(&context, 32), {3, 3000000});
  auto result = dyn_cast_if_present<graph::WeightOp>(fold(R"(
    func.func @f() -> tensor<2x1000000xi32> {
      %0 = graph.weight {name = "w"} : () -> tensor<3x3000000xi32>
      %1 = graph.slice %0 {starts = #graph.dims<2, 2999998>,
                           steps = #graph.dims<-2, -2>}
        : (tensor<3x3000000xi32>) -> tensor<2x1000000xi32>
      return %1 : tensor<2x1000000xi32>
    })"));
  ASSERT_TRUE(result);
  const Weight *weight = weights.lookup(result.getName());
  ASSERT_TRUE(weight);
  EXPECT_EQ(weight->shape, (SmallVector<int64_t>{2, 1000000}));
  for (int64_t i = 0; i < 2000000; ++i) {
    int32_t found;
    std::memcpy(&found, weight->bytes().data() + i * 4, 4);
    ASSERT_EQ(found, (i < 1000000 ? 6000000 : 0) + 2999998 - i % 1000000 * 2);
  }
}

/// What lies outside of a weight is not read.
TEST_F(FoldConstantsTest, SlicesStayInside) {
  addWeight("w", IntegerType::get(&context, 32), {300});
  for (const char *place : {"starts = #graph.dims<300>, steps = #graph.dims<1>",
                            "starts = #graph.dims<-1>, steps = #graph.dims<1>",
                            "starts = #graph.dims<0>, steps = #graph.dims<3>",
                            "starts = #graph.dims<9>, steps = #graph.dims<-1>"})
    EXPECT_TRUE(isa_and_present<graph::SliceOp>(
        fold(std::string("func.func @f() -> tensor<200xi32> {\n"
                         "%0 = graph.weight {name = \"w\"} : () -> "
                         "tensor<300xi32>\n%1 = graph.slice %0 {") +
             place +
             "} : (tensor<300xi32>) -> tensor<200xi32>\n"
             "return %1 : tensor<200xi32>\n}\n")))
        << place;
}

TEST_F(FoldConstantsTest, ReshapesShareBytes) {
  addWeight("w", Float32Type::get(&context), {6, 1000});
  auto result = dyn_cast_if_present<graph::WeightOp>(fold(R"(
    func.func @f() -> tensor<2x3000xf32> {
      %0 = graph.weight {name = "w"} : () -> tensor<6x1000xf32>
      %1 = graph.reshape %0 : (tensor<6x1000xf32>) -> tensor<2x3000xf32>
      return %1 : tensor<2x3000xf32>
    })"));
  ASSERT_TRUE(result);
  const Weight *weight = weights.lookup(result.getName());
  ASSERT_TRUE(weight);
  EXPECT_EQ(weight->shape, (SmallVector<int64_t>{2, 3000}));
  EXPECT_EQ(weight->bytes().data(), weights.lookup("w")->bytes().data());
}

TEST_F(FoldConstantsTest, ConcatenationsMoveBytes) {
  addWeight("w", IntegerType::get(&context, 16), {2, 3});
  auto result = dyn_cast_if_present<graph::WeightOp>(fold(R"(
    func.func @f() -> tensor<2x9xi16> {
      %0 = graph.weight {name = "w"} : () -> tensor<2x3xi16>
      %1 = graph.concat %0, %0, %0 {axis = 1 : i64}
        : (tensor<2x3xi16>, tensor<2x3xi16>, tensor<2x3xi16>) -> tensor<2x9xi16>
      return %1 : tensor<2x9xi16>
    })"));
  ASSERT_TRUE(result);
  const Weight *weight = weights.lookup(result.getName());
  ASSERT_TRUE(weight);
  EXPECT_EQ(weight->shape, (SmallVector<int64_t>{2, 9}));
  const int16_t want[] = {0, 1, 2, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 3, 4, 5};
  ASSERT_EQ(weight->bytes().size(), sizeof(want));
  EXPECT_EQ(std::memcmp(weight->bytes().data(), want, sizeof(want)), 0);
}

TEST_F(FoldConstantsTest, ArithmeticOnWeightsIsAWeight) {
  addWeight("w", IntegerType::get(&context, 32), {100});
  auto result = dyn_cast_if_present<graph::WeightOp>(fold(R"(
    func.func @f() -> tensor<100xi32> {
      %0 = graph.weight {name = "w"} : () -> tensor<100xi32>
      %1 = graph.constant {value = dense<3> : tensor<i32>} : () -> tensor<i32>
      %2 = graph.mul %0, %1 : (tensor<100xi32>, tensor<i32>) -> tensor<100xi32>
      return %2 : tensor<100xi32>
    })"));
  ASSERT_TRUE(result);
  int32_t last;
  std::memcpy(&last, weights.bytes(result.getName()).data() + 99 * 4, 4);
  EXPECT_EQ(last, 297);
}

} // namespace
