//===- IntegerProducts.cpp - Products of bytes, by how weights are stored -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/WeightPasses.h"
#include "compiler/Weights/WeightStore.h"
#include "dialects/Graph/Graph.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

using namespace tenon;
using namespace mlir;

namespace {

/// A product and a convolution, quantized, by weights of so many bits.
struct IntegerProductsTest : testing::TestWithParam<unsigned> {
  IntegerProductsTest() {
    context.loadDialect<graph::GraphDialect, func::FuncDialect>();
  }

  void add(StringRef name, ArrayRef<int64_t> shape) {
    Type type = IntegerType::get(&context, GetParam());
    auto bytes = size_t(*tensorBytes(type, shape));
    llvm::cantFail(
        weights.addOwned(name, type, shape, std::vector<char>(bytes, 1)));
  }

  OwningOpRef<ModuleOp> lowered() {
    add("w", {32, 16});
    add("f", {16, 32, 1});
    auto module = parseSourceString<ModuleOp>(R"(
func.func @f(%x: tensor<3x32xui8>, %i: tensor<1x5x32xui8>)
    -> (tensor<3x16xf32>, tensor<1x5x16xf32>) {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %z = graph.constant {value = dense<128> : tensor<ui8>} : () -> tensor<ui8>
  %o = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %w = graph.weight {name = "w"} : () -> tensor<32x16xi8>
  %f = graph.weight {name = "f"} : () -> tensor<16x32x1xi8>
  %0 = graph.dequantize %x, %s, %z
      : (tensor<3x32xui8>, tensor<f32>, tensor<ui8>) -> tensor<3x32xf32>
  %1 = graph.dequantize %w, %s, %o
      : (tensor<32x16xi8>, tensor<f32>, tensor<i8>) -> tensor<32x16xf32>
  %2 = graph.matmul %0, %1
      : (tensor<3x32xf32>, tensor<32x16xf32>) -> tensor<3x16xf32>
  %3 = graph.dequantize %i, %s, %z
      : (tensor<1x5x32xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x5x32xf32>
  %4 = graph.dequantize %f, %s, %o
      : (tensor<16x32x1xi8>, tensor<f32>, tensor<i8>) -> tensor<16x32x1xf32>
  %5 = graph.conv %3, %4 {strides = array<i64: 1>, dilations = array<i64: 1>,
      pads = #graph.dims<0, 0>, group = 1 : i64, channels_last}
      : (tensor<1x5x32xf32>, tensor<16x32x1xf32>) -> tensor<1x5x16xf32>
  return %2, %5 : tensor<3x16xf32>, tensor<1x5x16xf32>
})",
                                              &context);
    PassManager pm(&context);
    pm.addNestedPass<func::FuncOp>(createIntegerProductsPass(weights, {}));
    EXPECT_TRUE(succeeded(pm.run(*module)));
    return module;
  }

  MLIRContext context;
  WeightStore weights;
};

/// In the graph numbers of 4 bits have 8, but kernels of bytes read none that
/// are stored in fewer.
TEST_P(IntegerProductsTest, AreOfWeightsStoredInBytes) {
  OwningOpRef<ModuleOp> module = lowered();
  bool isInteger = GetParam() == 8;
  int count = 0;
  module->walk([&](Operation *op) {
    if (!isa<graph::MatmulOp, graph::ConvOp>(op))
      return;
    ++count;
    EXPECT_EQ(graph::getElementType(op->getOperand(0)).isInteger(32),
              isInteger);
  });
  EXPECT_EQ(count, 2);
}

INSTANTIATE_TEST_SUITE_P(Bits, IntegerProductsTest, testing::Values(4, 8));

} // namespace
