//===- ViewWeights.cpp - Transposed weights become views, where it pays ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/Passes.h"
#include "compiler/Weights/WeightStore.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon;

namespace {

struct ViewWeightsTest : testing::Test {
  ViewWeightsTest() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<func::FuncDialect, graph::GraphDialect>();
  }

  /// What a product by the transpose of a [columns, 8] weight `w` reads: the
  /// name of the op that makes it. `more` are further lines, where %t is the
  /// transpose and %x has four rows.
  std::string rhsOf(int64_t columns, const std::string &more = "") {
    Type f32 = Float32Type::get(&context);
    auto source = weights.addOwned("w", f32, {columns, 8},
                                   std::vector<char>(columns * 8 * 4));
    EXPECT_TRUE(bool(source));
    weights.addTransposed("w.transposed", **source);
    std::string n = std::to_string(columns);
    std::string type = "tensor<8x" + n + "xf32>";
    std::string result = "tensor<4x" + n + "xf32>";
    module = parseSourceString<ModuleOp>(
        "func.func @f(%x: tensor<4x8xf32>, %i: tensor<4xi64>) -> " + result +
            " {\n%t = graph.weight {name = \"w.transposed\"} : () -> " + type +
            "\n" + more + "\n%y = graph.matmul %x, %t : (tensor<4x8xf32>, " +
            type + ") -> " + result + "\nreturn %y : " + result + "\n}",
        &context);
    EXPECT_TRUE(module);
    if (!module)
      return "";
    PassManager pm(&context);
    pm.addNestedPass<func::FuncOp>(createViewWeightsPass(weights));
    EXPECT_TRUE(succeeded(pm.run(*module)));
    std::string name;
    module->walk([&](graph::MatmulOp op) {
      name = op.getRhs().getDefiningOp()->getName().getStringRef().str();
    });
    return name;
  }

  MLIRContext context;
  WeightStore weights;
  OwningOpRef<ModuleOp> module;
};

TEST_F(ViewWeightsTest, StoresATableThatIsLookedUpOnce) {
  EXPECT_EQ(rhsOf(16, "%w = graph.weight {name = \"w\"} : () -> "
                      "tensor<16x8xf32>\n"
                      "%r = graph.gather %w, %i {axis = 0 : i64} : "
                      "(tensor<16x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>"),
            "graph.transpose");
}

TEST_F(ViewWeightsTest, ReadsRowsThatBeginAtMultiplesOf16Bytes) {
  EXPECT_EQ(rhsOf(17), "graph.transpose");
}

TEST_F(ViewWeightsTest, LeavesWhatIsAlignedAndAlone) {
  EXPECT_EQ(rhsOf(16), "graph.weight");
}

TEST_F(ViewWeightsTest, LeavesWhatIsNotOnlyMultipliedBy) {
  EXPECT_EQ(rhsOf(17, "%n = graph.neg %t : (tensor<8x17xf32>) -> "
                      "tensor<8x17xf32>"),
            "graph.weight");
}

} // namespace
