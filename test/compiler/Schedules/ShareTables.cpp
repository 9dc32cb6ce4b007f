//===- ShareTables.cpp - Tables that products keep packed are shared ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedules/Passes.h"
#include "compiler/Weights/WeightStore.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon;

namespace {

struct ShareTablesTest : testing::Test {
  ShareTablesTest() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<func::FuncDialect, graph::GraphDialect,
                        kernel::KernelDialect>();
    Type f32 = Float32Type::get(&context);
    for (const char *name : {"table", "other"}) {
      auto added = weights.addOwned(name, f32, {50, 8},
                                    std::vector<char>(50 * 8 * 4, name[0]));
      EXPECT_TRUE(bool(added));
    }
    weights.addTransposed("head", *weights.lookup("table"));
    Type i8 = IntegerType::get(&context, 8);
    auto added =
        weights.addOwned("table_i8", i8, {50, 8}, std::vector<char>(50 * 8));
    EXPECT_TRUE(bool(added));
    weights.addTransposed("head_i8", **added);
  }

  /// The layout of a lookup's table, beside a product by "head" in `layout`.
  std::string layoutOf(const std::string &lookups, const std::string &layout,
                       const std::string &axis = "0", bool isOfBytes = false) {
    std::string type =
        "(tensor<50x8xf32>, tensor<8xi64>) -> " +
        std::string(axis == "0" ? "tensor<8x8xf32>" : "tensor<50x8xf32>");
    std::string text = R"(
func.func @main(%x: tensor<8x8xf32>, %i: tensor<8xi64>) {
  %table = graph.weight {name = "table"} : () -> tensor<50x8xf32>
  %other = graph.weight {name = "other"} : () -> tensor<50x8xf32>
  %head = graph.weight {name = "head"} : () -> tensor<8x50xf32>
)";
    for (const char *table : {"table", "other"})
      if (lookups.find(table) != std::string::npos)
        text += std::string("kernel.call @gather(%") + table +
                ", %i) params <> : " + type + "\n";
    text += R"(
  kernel.call @matmul(%x, %head) params <>
      : (tensor<8x8xf32>, tensor<8x50xf32>) -> tensor<8x50xf32>
  return
}
kernel.func @gather symbols [] layouts ["", ""] schedule "Generic"
    geometry <8, 1, 0> {
^bb0(%0: tensor<50x8xf32>, %1: tensor<8xi64>):
  %2 = graph.gather %0, %1 {axis = )" +
            axis + " : i64} : " + type +
            "\nkernel.yield %2 : " + type.substr(type.find("->") + 3) + R"(
}
kernel.func @matmul symbols [] layouts ["", ")" +
            layout + R"("] schedule "PackedMatmul" geometry <8, 1, 0> {
^bb0(%0: tensor<8x8xf32>, %1: tensor<8x50xf32>):
  %2 = graph.matmul %0, %1
      : (tensor<8x8xf32>, tensor<8x50xf32>) -> tensor<8x50xf32>
  kernel.yield %2 : tensor<8x50xf32>
})";
    if (isOfBytes)
      text = ofBytes(text);
    auto module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return "does not parse";
    PassManager pm(&context);
    pm.addPass(createShareTablesPass(weights));
    if (failed(pm.run(*module)))
      return "fails";
    auto gather = module->lookupSymbol<kernel::FuncOp>("gather");
    return cast<StringAttr>(gather.getLayouts()[0]).getValue().str();
  }

  /// The same of tables of i8.
  static std::string ofBytes(std::string text) {
    auto replace = [&](StringRef from, StringRef to) {
      for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
           at += to.size())
        text.replace(at, from.size(), to);
    };
    replace("\"table\"", "\"table_i8\"");
    replace("\"head\"", "\"head_i8\"");
    replace("xf32>", "xi8>");
    return text;
  }

  MLIRContext context;
  WeightStore weights;
};

TEST_F(ShareTablesTest, ReadsRowsOfPackedTransposes) {
  EXPECT_EQ(layoutOf("table", "packed48"), "rows48");
}

TEST_F(ShareTablesTest, ReadsRowsOfBytesThatLieInLines) {
  EXPECT_EQ(layoutOf("table", "lines48", "0", /*isOfBytes=*/true), "rows48");
  EXPECT_EQ(layoutOf("table", "nibbles48", "0", /*isOfBytes=*/true), "");
  EXPECT_EQ(layoutOf("table", "lines48"), "");
}

TEST_F(ShareTablesTest, LeavesWhatNoProductPacks) {
  EXPECT_EQ(layoutOf("table", ""), "");
  EXPECT_EQ(layoutOf("other", "packed48"), "");
}

TEST_F(ShareTablesTest, LeavesKernelsThatAlsoReadAnotherTable) {
  EXPECT_EQ(layoutOf("table other", "packed48"), "");
}

TEST_F(ShareTablesTest, LeavesPicksOfColumns) {
  EXPECT_EQ(layoutOf("table", "packed48", "1"), "");
}

} // namespace
