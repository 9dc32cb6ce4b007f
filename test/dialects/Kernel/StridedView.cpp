//===- StridedView.cpp - What can be read and written through a view ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/StridedView.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon;

namespace {

struct StridedViewTest : testing::Test {
  StridedViewTest() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<graph::GraphDialect, func::FuncDialect>();
  }

  /// The value returned by a function with this body and argument.
  Value parse(const std::string &argument, const std::string &body,
              const std::string &type) {
    module = parseSourceString<ModuleOp>("func.func @f(%x: " + argument +
                                             ") -> " + type + " {\n" + body +
                                             "\nreturn %y : " + type + "\n}",
                                         &context);
    if (!module)
      return {};
    auto function = *module->getOps<func::FuncOp>().begin();
    return function.getBody().front().getTerminator()->getOperand(0);
  }

  static std::string text(ArrayRef<kernel::Expr> strides) {
    std::string all;
    for (kernel::Expr stride : strides)
      all += (all.empty() ? "" : ", ") + stride.str();
    return all;
  }

  std::string viewText(Value value) {
    std::optional<kernel::StridedView> view = kernel::stridedViewOf(value);
    if (!view)
      return "none";
    return (isa<BlockArgument>(view->base) ? "" : "inner ") +
           view->offset.str() + ": " + text(view->strides);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

const char *const joined = "tensor<?x?x192xf32, #graph.dims<B, S, 192>>";
const char *const heads = "tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>";

TEST_F(StridedViewTest, ReadsHeadsOfMergedProjections) {
  Value y = parse(joined, R"(
    %s = graph.slice %x {starts = #graph.dims<0, 0, 64>,
        steps = #graph.dims<1, 1, 1>}
        : (tensor<?x?x192xf32, #graph.dims<B, S, 192>>)
        -> tensor<?x?x64xf32, #graph.dims<B, S, 64>>
    %r = graph.reshape %s : (tensor<?x?x64xf32, #graph.dims<B, S, 64>>)
        -> tensor<?x?x4x16xf32, #graph.dims<B, S, 4, 16>>
    %y = graph.transpose %r {permutation = array<i64: 0, 2, 1, 3>}
        : (tensor<?x?x4x16xf32, #graph.dims<B, S, 4, 16>>)
        -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>)",
                  heads);
  ASSERT_TRUE(y);
  EXPECT_EQ(viewText(y), "64: 192 * S, 16, 192, 1");
}

TEST_F(StridedViewTest, RepeatsHaveNoStride) {
  Value y = parse("tensor<2x1x3xf32>", R"(
    %b = graph.broadcast %x : (tensor<2x1x3xf32>) -> tensor<2x5x3xf32>
    %y = graph.transpose %b {permutation = array<i64: 1, 0, 2>}
        : (tensor<2x5x3xf32>) -> tensor<5x2x3xf32>)",
                  "tensor<5x2x3xf32>");
  ASSERT_TRUE(y);
  EXPECT_EQ(viewText(y), "0: 0, 3, 1");
}

TEST_F(StridedViewTest, WindowsOverlapInMemory) {
  Value y = parse("tensor<20x1000xf32>", R"(
    %w = graph.windows %x {axis = 1 : i64, stride = 3 : i64, step = 2 : i64}
        : (tensor<20x1000xf32>) -> tensor<20x300x20xf32>
    %y = graph.transpose %w {permutation = array<i64: 1, 0, 2>}
        : (tensor<20x300x20xf32>) -> tensor<300x20x20xf32>)",
                  "tensor<300x20x20xf32>");
  ASSERT_TRUE(y);
  EXPECT_EQ(viewText(y), "0: 3, 1000, 2");
}

TEST_F(StridedViewTest, StopsWhereElementsWouldHaveToMove) {
  // Merging transposed axes is a copy; what comes after it is a view of that.
  Value y = parse("tensor<2x3xf32>", R"(
    %t = graph.transpose %x {permutation = array<i64: 1, 0>}
        : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %r = graph.reshape %t : (tensor<3x2xf32>) -> tensor<6xf32>
    %y = graph.slice %r {starts = #graph.dims<5>, steps = #graph.dims<-1>}
        : (tensor<6xf32>) -> tensor<4xf32>)",
                  "tensor<4xf32>");
  ASSERT_TRUE(y);
  EXPECT_EQ(viewText(y), "inner 5: -1");
  Value computed = parse("tensor<2x3xf32>", R"(
    %y = graph.neg %x : (tensor<2x3xf32>) -> tensor<2x3xf32>)",
                         "tensor<2x3xf32>");
  ASSERT_TRUE(computed);
  EXPECT_EQ(viewText(computed), "inner 0: 3, 1");
}

TEST_F(StridedViewTest, WritesHeadsSideBySide) {
  Value y = parse(heads, R"(
    %t = graph.transpose %x {permutation = array<i64: 0, 2, 1, 3>}
        : (tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>)
        -> tensor<?x?x4x16xf32, #graph.dims<B, S, 4, 16>>
    %y = graph.reshape %t : (tensor<?x?x4x16xf32, #graph.dims<B, S, 4, 16>>)
        -> tensor<?x?x64xf32, #graph.dims<B, S, 64>>)",
                  "tensor<?x?x64xf32, #graph.dims<B, S, 64>>");
  ASSERT_TRUE(y);
  auto function = *module->getOps<func::FuncOp>().begin();
  auto strides = kernel::stridesInside(function.getArgument(0), y);
  ASSERT_TRUE(strides);
  EXPECT_EQ(text(*strides), "64 * S, 16, 64, 1");
}

TEST_F(StridedViewTest, WritesNothingThroughASlice) {
  Value y = parse("tensor<6xf32>", R"(
    %y = graph.slice %x {starts = #graph.dims<1>, steps = #graph.dims<1>}
        : (tensor<6xf32>) -> tensor<4xf32>)",
                  "tensor<4xf32>");
  ASSERT_TRUE(y);
  auto function = *module->getOps<func::FuncOp>().begin();
  EXPECT_FALSE(kernel::stridesInside(function.getArgument(0), y));
}

} // namespace
