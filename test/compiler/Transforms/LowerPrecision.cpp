//===- LowerPrecision.cpp - Weights beyond the range of f16 ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/Passes.h"
#include "compiler/Weights/WeightStore.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon;

namespace {

/// A product by a weight, and rows looked up in it.
constexpr const char *source = R"(
func.func @f(%x: tensor<4x64xf32>, %i: tensor<4xi64>)
    -> (tensor<4x64xf32>, tensor<4x64xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<64x64xf32>
  %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x64xf32>)
      -> tensor<4x64xf32>
  %1 = graph.gather %w, %i {axis = 0 : i64}
      : (tensor<64x64xf32>, tensor<4xi64>) -> tensor<4x64xf32>
  return %0, %1 : tensor<4x64xf32>, tensor<4x64xf32>
})";

struct LowerPrecisionTest : testing::Test {
  LowerPrecisionTest() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<func::FuncDialect, graph::GraphDialect>();
  }

  /// Casts that the pass makes where the weight has `value` in it and there are
  /// few rows or many; what it remarks is added to `remarks`.
  size_t castsWith(float value, bool f16, bool areMany = false) {
    std::string text = source;
    for (size_t at; areMany && (at = text.find("<4x")) != std::string::npos;)
      text.replace(at, 3, "<32x");
    std::vector<char> bytes(64 * 64 * sizeof(float));
    std::memcpy(&bytes[77 * sizeof(float)], &value, sizeof value);
    WeightStore weights;
    llvm::cantFail(weights.addOwned("w", Float32Type::get(&context), {64, 64},
                                    std::move(bytes)));
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      remarks.push_back(diagnostic.str());
    });
    auto module = parseSourceString<ModuleOp>(text, &context);
    PassManager pm(&context);
    pm.addNestedPass<func::FuncOp>(
        createLowerPrecisionPass(weights, {/*explain=*/true, "cpu", f16}));
    EXPECT_TRUE(succeeded(pm.run(*module)));
    size_t casts = 0;
    module->walk([&](graph::CastOp) { ++casts; });
    return casts;
  }

  MLIRContext context;
  std::vector<std::string> remarks;
};

/// The weight, once, and back for the product and behind the table; lhs not.
TEST_F(LowerPrecisionTest, WeightsWithinTheRangeAreRounded) {
  EXPECT_EQ(castsWith(-65504, /*f16=*/true), 3u);
  EXPECT_EQ(castsWith(std::numeric_limits<float>::infinity(), true), 3u);
  EXPECT_TRUE(remarks.empty());
}

TEST_F(LowerPrecisionTest, WeightsBeyondTheRangeOfF16Stay) {
  EXPECT_EQ(castsWith(-70000, /*f16=*/true), 0u);
  std::string why = "stays in f32: weight 'w' has 70000 in it, and f16 "
                    "ends at 65504";
  EXPECT_EQ(remarks, std::vector<std::string>({why, why}));
  EXPECT_EQ(castsWith(-70000, /*f16=*/false), 5u);
}

/// Of many rows lhs is rounded too, unless sums of products by such a weight
/// might end up beyond f16.
TEST_F(LowerPrecisionTest, LargeWeightsAreNotAddedUpInF16) {
  EXPECT_EQ(castsWith(63, /*f16=*/true, /*areMany=*/true), 5u);
  EXPECT_EQ(castsWith(64, /*f16=*/true, /*areMany=*/true), 3u);
  EXPECT_EQ(castsWith(-64, /*f16=*/true, /*areMany=*/true), 3u);
}

} // namespace
