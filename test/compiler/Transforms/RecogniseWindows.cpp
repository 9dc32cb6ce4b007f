//===- RecogniseWindows.cpp - Tables of positions that are weights --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/Passes.h"
#include "compiler/Weights/WeightStore.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon;

namespace {

struct RecogniseWindowsTest : testing::Test {
  RecogniseWindowsTest() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<func::FuncDialect, graph::GraphDialect>();
  }

  /// A gather by a weight of 30 rows and 4 columns whose elements `position`
  /// makes: the name of the op that it has become.
  template <typename Integer>
  std::string recognise(std::function<Integer(int64_t, int64_t)> position) {
    std::vector<char> bytes(30 * 4 * sizeof(Integer));
    for (int64_t row = 0; row < 30; ++row)
      for (int64_t column = 0; column < 4; ++column) {
        Integer value = position(row, column);
        std::memcpy(&bytes[(row * 4 + column) * sizeof(Integer)], &value,
                    sizeof(Integer));
      }
    Builder builder(&context);
    unsigned bits = 8 * sizeof(Integer);
    auto weight = weights.addOwned("table", builder.getIntegerType(bits),
                                   {30, 4}, std::move(bytes));
    EXPECT_TRUE(bool(weight));
    std::string table = "tensor<30x4xi" + std::to_string(bits) + ">";
    module = parseSourceString<ModuleOp>(
        "func.func @f(%x: tensor<200xf32>) -> tensor<30x4xf32> {\n"
        "%i = graph.weight {name = \"" +
            (*weight)->name + "\"} : () -> " + table +
            "\n%y = graph.gather %x, %i {axis = 0 : i64} : (tensor<200xf32>, " +
            table + ") -> tensor<30x4xf32>\nreturn %y : tensor<30x4xf32>\n}",
        &context);
    EXPECT_TRUE(module);
    PassManager pm(&context);
    pm.addNestedPass<func::FuncOp>(createRecogniseWindowsPass(weights, {}));
    EXPECT_TRUE(succeeded(pm.run(*module)));
    auto function = *module->getOps<func::FuncOp>().begin();
    Operation *end = function.getBody().front().getTerminator();
    return end->getOperand(0).getDefiningOp()->getName().getStringRef().str();
  }

  MLIRContext context;
  WeightStore weights;
  OwningOpRef<ModuleOp> module;
};

TEST_F(RecogniseWindowsTest, ReadsTablesOfBothWidths) {
  EXPECT_EQ(recognise<int64_t>([](int64_t row, int64_t column) {
              return 3 + 5 * row + 2 * column;
            }),
            "graph.windows");
  EXPECT_EQ(recognise<int32_t>([](int64_t row, int64_t column) {
              return static_cast<int32_t>(row + column);
            }),
            "graph.windows");
  EXPECT_EQ(recognise<int32_t>([](int64_t row, int64_t column) {
              return static_cast<int32_t>(4 * row + column);
            }),
            "graph.reshape");
}

TEST_F(RecogniseWindowsTest, LeavesOtherTablesAlone) {
  int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(recognise<int64_t>([](int64_t row, int64_t column) {
              return row + column + (row == 29 && column == 3);
            }),
            "graph.gather");
  EXPECT_EQ(recognise<int64_t>([&](int64_t row, int64_t column) {
              return row == 0 && column == 0 ? -most : most;
            }),
            "graph.gather");
  EXPECT_EQ(recognise<int64_t>([](int64_t row, int64_t column) {
              return 6 * row + 10 * column;
            }),
            "graph.gather");
}

} // namespace
