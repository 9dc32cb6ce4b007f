//===- IndexExpression.cpp - Elements as terms over their indices ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/IndexExpression.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon;
using graph::Expr;

namespace {

/// Reads the value that a function returns, over a box of its own sizes.
struct IndexExpressionTest : testing::Test {
  IndexExpressionTest() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<func::FuncDialect, graph::GraphDialect>();
  }

  /// The term, and behind " if " what it depends on.
  std::string read(const std::string &text) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    if (!module)
      return "";
    auto function = *module->getOps<func::FuncOp>().begin();
    Value value = function.getBody().front().getTerminator()->getOperand(0);
    IndexExpressions expressions(&context, graph::getDims(value));
    const Term *term = expressions.readAligned(value);
    std::string result = term ? term->str() : "none";
    source = term ? term->tensor : Value();
    for (auto [lhs, rhs] : expressions.obligations())
      result += " if " + lhs.str() + " <= " + rhs.str();
    return result;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Value source; // Of a load.
};

TEST_F(IndexExpressionTest, CausalMask) {
  EXPECT_EQ("select(0 <= $0 + -1 * $1, 0.000000e+00, -1.000000e+04)", read(R"(
    func.func @f() -> tensor<?x?xf32, #graph.dims<S, S>> {
      %j = graph.iota : () -> tensor<?xi64, #graph.dims<S>>
      %i = graph.reshape %j : (tensor<?xi64, #graph.dims<S>>)
          -> tensor<?x1xi64, #graph.dims<S, 1>>
      %p = graph.less %i, %j : (tensor<?x1xi64, #graph.dims<S, 1>>,
          tensor<?xi64, #graph.dims<S>>)
          -> tensor<?x?xi1, #graph.dims<S, S>>
      %n = graph.not %p : (tensor<?x?xi1, #graph.dims<S, S>>)
          -> tensor<?x?xi1, #graph.dims<S, S>>
      %a = graph.constant {value = dense<0.0> : tensor<f32>}
          : () -> tensor<f32>
      %b = graph.constant {value = dense<-1.0e4> : tensor<f32>}
          : () -> tensor<f32>
      %y = graph.select %n, %a, %b : (tensor<?x?xi1, #graph.dims<S, S>>,
          tensor<f32>, tensor<f32>) -> tensor<?x?xf32, #graph.dims<S, S>>
      return %y : tensor<?x?xf32, #graph.dims<S, S>>
    })"));
}

TEST_F(IndexExpressionTest, ComparisonsThatSignsDecide) {
  EXPECT_EQ("0 <= 0", read(R"(
    func.func @f() -> tensor<?xi1, #graph.dims<S>> {
      %i = graph.iota : () -> tensor<?xi64, #graph.dims<S>>
      %s = graph.sizes {value = #graph.dims<S>} : () -> tensor<i64>
      %y = graph.less %i, %s : (tensor<?xi64, #graph.dims<S>>, tensor<i64>)
          -> tensor<?xi1, #graph.dims<S>>
      return %y : tensor<?xi1, #graph.dims<S>>
    })"));
  EXPECT_EQ("0 <= -1", read(R"(
    func.func @f() -> tensor<?xi1, #graph.dims<S>> {
      %i = graph.iota : () -> tensor<?xi64, #graph.dims<S>>
      %s = graph.constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
      %y = graph.less %i, %s : (tensor<?xi64, #graph.dims<S>>, tensor<i64>)
          -> tensor<?xi1, #graph.dims<S>>
      return %y : tensor<?xi1, #graph.dims<S>>
    })"));
}

std::string flatGather(const std::string &width) {
  return R"(
    func.func @f(%m: tensor<?x?xi64, #graph.dims<B, )" +
         width + R"(>>) -> tensor<?x?xi64, #graph.dims<B, T>> {
      %f = graph.reshape %m : (tensor<?x?xi64, #graph.dims<B, )" +
         width + R"(>>) -> tensor<?xi64, #graph.dims<B * ()" + width +
         R"()>>
      %j = graph.iota : () -> tensor<?xi64, #graph.dims<T>>
      %b = graph.iota : () -> tensor<?xi64, #graph.dims<B>>
      %c = graph.reshape %b : (tensor<?xi64, #graph.dims<B>>)
          -> tensor<?x1xi64, #graph.dims<B, 1>>
      %w = graph.sizes {value = #graph.dims<)" +
         width + R"(>} : () -> tensor<i64>
      %r = graph.mul %c, %w : (tensor<?x1xi64, #graph.dims<B, 1>>, tensor<i64>)
          -> tensor<?x1xi64, #graph.dims<B, 1>>
      %i = graph.add %j, %r : (tensor<?xi64, #graph.dims<T>>,
          tensor<?x1xi64, #graph.dims<B, 1>>)
          -> tensor<?x?xi64, #graph.dims<B, T>>
      %y = graph.gather %f, %i {axis = 0 : i64}
          : (tensor<?xi64, #graph.dims<B * ()" +
         width + R"()>>, tensor<?x?xi64, #graph.dims<B, T>>)
          -> tensor<?x?xi64, #graph.dims<B, T>>
      return %y : tensor<?x?xi64, #graph.dims<B, T>>
    })";
}

TEST_F(IndexExpressionTest, FlatIndexIsSplitAgain) {
  EXPECT_EQ("load($0, $1)", read(flatGather("T")));
  EXPECT_EQ("load($0, $1) if T <= W", read(flatGather("W")));
}

TEST_F(IndexExpressionTest, SumOfSizesAsWidth) {
  EXPECT_EQ("load($0, $1) if T <= P + S", read(flatGather("P + S")));
}

TEST_F(IndexExpressionTest, NegativeIndicesAreNotFollowed) {
  EXPECT_EQ("load($0)", read(R"(
    func.func @f(%x: tensor<9xf32>) -> tensor<4xf32> {
      %i = graph.iota : () -> tensor<4xi64>
      %two = graph.constant {value = dense<2> : tensor<i64>}
          : () -> tensor<i64>
      %j = graph.sub %i, %two : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
      %y = graph.gather %x, %j {axis = 0 : i64}
          : (tensor<9xf32>, tensor<4xi64>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    })"));
}

TEST_F(IndexExpressionTest, BroadcastOfAnUnknownSizeIsNotFollowed) {
  // A is N, or 1: the index is $0 or 0.
  EXPECT_EQ("load($0)", read(R"(
    func.func @f(%x: tensor<?xi64, #graph.dims<A>>,
                 %z: tensor<?xi64, #graph.dims<N>>)
        -> tensor<?xi64, #graph.dims<broadcast(A, N)>> {
      %y = graph.add %x, %z : (tensor<?xi64, #graph.dims<A>>,
          tensor<?xi64, #graph.dims<N>>)
          -> tensor<?xi64, #graph.dims<broadcast(A, N)>>
      return %y : tensor<?xi64, #graph.dims<broadcast(A, N)>>
    })"));
}

TEST_F(IndexExpressionTest, IndexVectors) {
  EXPECT_EQ("load($1, $0 + 1)", read(R"(
    func.func @f(%x: tensor<5x9xf32>) -> tensor<4x5xf32> {
      %s = graph.slice %x {starts = #graph.dims<0, 1>,
          steps = #graph.dims<1, 1>} : (tensor<5x9xf32>) -> tensor<5x4xf32>
      %i = graph.iota : () -> tensor<5xi64>
      %j = graph.iota : () -> tensor<4xi64>
      %a = graph.reshape %i : (tensor<5xi64>) -> tensor<1x5x1xi64>
      %b = graph.broadcast %a : (tensor<1x5x1xi64>) -> tensor<4x5x1xi64>
      %c = graph.reshape %j : (tensor<4xi64>) -> tensor<4x1x1xi64>
      %d = graph.broadcast %c : (tensor<4x1x1xi64>) -> tensor<4x5x1xi64>
      %v = graph.concat %b, %d {axis = 2 : i64}
          : (tensor<4x5x1xi64>, tensor<4x5x1xi64>) -> tensor<4x5x2xi64>
      %y = graph.gather_nd %s, %v {batch_dims = 0 : i64}
          : (tensor<5x4xf32>, tensor<4x5x2xi64>) -> tensor<4x5xf32>
      return %y : tensor<4x5xf32>
    })"));
}

/// A table of numbers that are equally far apart is a formula of its index.
TEST_F(IndexExpressionTest, TablesOfProgressions) {
  auto text = [](const std::string &values) {
    return "func.func @f() -> tensor<2x3xi64> {\n"
           "%y = graph.constant {value = dense<" +
           values +
           "> : tensor<2x3xi64>} : () -> tensor<2x3xi64>\n"
           "return %y : tensor<2x3xi64>\n}";
  };
  EXPECT_EQ("6 * $0 + 2 * $1 + 5", read(text("[[5, 7, 9], [11, 13, 15]]")));
  EXPECT_EQ("-3 * $0 + -1 * $1", read(text("[[0, -1, -2], [-3, -4, -5]]")));
  EXPECT_EQ("load($0, $1)", read(text("[[5, 7, 9], [11, 13, 16]]")));
  EXPECT_EQ("load($0, $1)", read(text("[[9223372036854775807, 1, 2], "
                                      "[3, 4, 5]]")));
}

/// Batches are not indexed: their axes come before the index vector.
TEST_F(IndexExpressionTest, IndexVectorsPerBatch) {
  auto text = [](const std::string &batches, const std::string &input,
                 const std::string &result) {
    return "func.func @f(%x: tensor<" + input + "xi64>) -> tensor<" + result +
           "xi64> {\n%i = graph.iota : () -> tensor<4xi64>\n"
           "%v = graph.reshape %i : (tensor<4xi64>) -> tensor<4x1xi64>\n"
           "%y = graph.gather_nd %x, %v {batch_dims = " +
           batches + " : i64} : (tensor<" + input +
           "xi64>, tensor<4x1xi64>) -> tensor<" + result +
           "xi64>\nreturn %y : tensor<" + result + "xi64>\n}";
  };
  EXPECT_EQ("load($0, $1)", read(text("0", "4x9", "4x9")));
  EXPECT_EQ("load($0, $0)", read(text("1", "4x9", "4")));
}

/// Updates at every place, each its own, are the result.
TEST_F(IndexExpressionTest, ScatterOverTheWholeGrid) {
  auto text = [](const std::string &first) {
    return R"(
    func.func @f(%x: tensor<4x5xf32>, %u: tensor<4x5xf32>) -> tensor<5x4xf32> {
      %i = graph.iota : () -> tensor<4xi64>
      %j = graph.iota : () -> tensor<5xi64>
      %one = graph.constant {value = dense<1> : tensor<i64>}
          : () -> tensor<i64>
      %k = graph.)" +
           first + R"( %i, %one : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
      %a = graph.reshape %k : (tensor<4xi64>) -> tensor<4x1x1xi64>
      %b = graph.broadcast %a : (tensor<4x1x1xi64>) -> tensor<4x5x1xi64>
      %c = graph.reshape %j : (tensor<5xi64>) -> tensor<1x5x1xi64>
      %d = graph.broadcast %c : (tensor<1x5x1xi64>) -> tensor<4x5x1xi64>
      %v = graph.concat %b, %d {axis = 2 : i64}
          : (tensor<4x5x1xi64>, tensor<4x5x1xi64>) -> tensor<4x5x2xi64>
      %y = graph.scatter_nd %x, %v, %u {kind = #graph<scatter_kind assign>}
          : (tensor<4x5xf32>, tensor<4x5x2xi64>, tensor<4x5xf32>)
          -> tensor<4x5xf32>
      %z = graph.transpose %y {permutation = array<i64: 1, 0>}
          : (tensor<4x5xf32>) -> tensor<5x4xf32>
      return %z : tensor<5x4xf32>
    })";
  };
  read(text("mul"));
  EXPECT_TRUE(isa<BlockArgument>(source));
  read(text("sub"));
  EXPECT_FALSE(isa<BlockArgument>(source));
}

/// Sharing makes a tree of 2^200 terms out of 200 ops.
TEST_F(IndexExpressionTest, SharedOperandsEnd) {
  std::string text = "func.func @f(%x0: tensor<4xf32>) -> tensor<4xf32> {\n";
  for (int i = 0; i < 200; ++i)
    text += "%x" + std::to_string(i + 1) + " = graph.add %x" +
            std::to_string(i) + ", %x" + std::to_string(i) +
            " : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n";
  EXPECT_EQ("load($0)", read(text + "return %x200 : tensor<4xf32>\n}"));
}

} // namespace
