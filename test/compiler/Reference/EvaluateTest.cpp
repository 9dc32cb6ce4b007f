//===- EvaluateTest.cpp - Functions, symbols and faults -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Reference/EvaluateTest.h"

namespace tenon::reference {
namespace {

using Numbers = std::vector<double>;

TEST_F(EvaluateTest, SymbolsBindFromInputsInAnyOrder) {
  auto results =
      run(R"(
    func.func @main(%a: tensor<?xf32, #graph.dims<past + S>>,
                    %b: tensor<?x?xf32, #graph.dims<past, S>>)
        -> tensor<3xi64> {
      %0 = graph.sizes {value = #graph.dims<past, S, 2 * past + S>}
          : () -> tensor<3xi64>
      return %0 : tensor<3xi64>
    })",
          {floats({5}, {0, 0, 0, 0, 0}), floats({3, 2}, {0, 0, 0, 0, 0, 0})});
  EXPECT_EQ(numbers(results), Numbers({3, 2, 8}));
}

TEST_F(EvaluateTest, InputsThatDoNotFitAreNamed) {
  const char *text = R"(
    func.func @main(%a: tensor<?xf32, #graph.dims<S>> {graph.name = "ids"},
                    %b: tensor<?xf32, #graph.dims<S>> {graph.name = "mask"}) {
      return
    })";
  EXPECT_EQ(fault(text, {floats({2}, {0, 0}), floats({1}, {0})}),
            "input 'mask' has size 1 along axis 0 where S = 2 is declared");
  EXPECT_EQ(fault(text, {floats({2}, {0, 0})}), "expected 2 inputs but got 1");
  EXPECT_EQ(fault(text, {floats({2}, {0, 0}), floats({1, 1}, {0})}),
            "input 'mask' has rank 2 where rank 1 is declared");
  EXPECT_EQ(fault(text, {floats({2}, {0, 0}), ints({2}, {0, 0})}),
            "input 'mask' has another element type than declared");
}

TEST_F(EvaluateTest, BoundValuesShapeWhatFollows) {
  const char *text = R"(
    func.func @main(%n: tensor<1xi64>)
        -> tensor<?xf32, #graph.dims<n + 1>> {
      graph.bind %n {symbols = ["n"], lo = array<i64: 0>, hi = array<i64: 9>}
          : (tensor<1xi64>) -> () loc("Range_7")
      %0 = graph.iota : () -> tensor<?xf32, #graph.dims<n + 1>>
      return %0 : tensor<?xf32, #graph.dims<n + 1>>
    })";
  EXPECT_EQ(numbers(run(text, {ints({1}, {2})})), Numbers({0, 1, 2}));
  EXPECT_EQ(fault(text, {ints({1}, {10})}),
            "node 'Range_7' (graph.bind): the value 10 is outside 0 .. 9");
}

TEST_F(EvaluateTest, UnmetRequirementsAreSentences) {
  auto text = [](std::string relation) {
    return R"(func.func @main(%a: tensor<?x?xf32, #graph.dims<A, B>>) {
      graph.require {sizes = #graph.dims<A, B>, relation = #graph<relation )" +
           relation + R"(>, message = "A and B must fit"} : () -> ()
      return
    })";
  };
  auto holds = [&](std::string relation, int64_t a, int64_t b) {
    auto results =
        evaluateFunction(parse(text(relation)), {Tensor(f32(), {a, b})});
    if (results)
      return true;
    EXPECT_NE(llvm::toString(results.takeError()).find("A and B must fit"),
              std::string::npos);
    return false;
  };
  EXPECT_TRUE(holds("equal", 2, 2));
  EXPECT_FALSE(holds("equal", 2, 3));
  EXPECT_TRUE(holds("less_equal", 2, 3));
  EXPECT_FALSE(holds("less_equal", 3, 2));
  EXPECT_TRUE(holds("broadcasts", 1, 5));
  EXPECT_FALSE(holds("broadcasts", 2, 5));
  EXPECT_TRUE(holds("divides", 2, 6));
  EXPECT_FALSE(holds("divides", 4, 6));
}

TEST_F(EvaluateTest, OneBranchRunsAndSetsTheSizes) {
  const char *text = R"(
    func.func @main(%c: tensor<i1>, %x: tensor<3xf32>)
        -> tensor<?xf32, #graph.dims<n>> {
      %0 = graph.if %c : (tensor<i1>) -> tensor<?xf32, #graph.dims<n>> {
        %1 = graph.neg %x : (tensor<3xf32>) -> tensor<3xf32>
        graph.yield %1 : tensor<3xf32>
      } else {
        %1 = graph.concat %x, %x {axis = 0 : i64}
            : (tensor<3xf32>, tensor<3xf32>) -> tensor<6xf32>
        graph.yield %1 : tensor<6xf32>
      }
      %2 = graph.abs %0 : (tensor<?xf32, #graph.dims<n>>)
          -> tensor<?xf32, #graph.dims<n>>
      return %2 : tensor<?xf32, #graph.dims<n>>
    })";
  Tensor x = floats({3}, {1, 2, 3});
  EXPECT_EQ(numbers(run(text, {ints({}, {1}, 1), x})), Numbers({1, 2, 3}));
  EXPECT_EQ(numbers(run(text, {ints({}, {0}, 1), x})),
            Numbers({1, 2, 3, 1, 2, 3}));
}

TEST_F(EvaluateTest, LoopsRunWhileTheirConditionHolds) {
  const char *text = R"(
    func.func @main(%c: tensor<i1>, %x: tensor<1xf32>, %end: tensor<f32>)
        -> (tensor<?xf32, #graph.dims<l>>, tensor<?xf32, #graph.dims<n>>) {
      %0:2 = graph.loop "i" %c, %x attributes {room = #graph.dims<9>}
          : (tensor<i1>, tensor<1xf32>)
          -> (tensor<?xf32, #graph.dims<l>>, tensor<?xf32, #graph.dims<n>>) {
      ^bb0(%s: tensor<?xf32, #graph.dims<s>>):
        %1 = graph.concat %s, %x {axis = 0 : i64}
            : (tensor<?xf32, #graph.dims<s>>, tensor<1xf32>)
            -> tensor<?xf32, #graph.dims<s + 1>>
        %2 = graph.reduce %1 {axes = array<i64: 0>,
            kind = #graph<reduce_kind sum>}
            : (tensor<?xf32, #graph.dims<s + 1>>) -> tensor<1xf32>
        %3 = graph.reshape %2 : (tensor<1xf32>) -> tensor<f32>
        %4 = graph.less %3, %end
            : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %5 = graph.sizes {value = #graph.dims<10 * i + s>} : () -> tensor<i64>
        %6 = graph.cast %5 : (tensor<i64>) -> tensor<f32>
        graph.yield %4, %1, %6 : tensor<i1>,
            tensor<?xf32, #graph.dims<s + 1>>, tensor<f32>
      }
      return %0#0, %0#1 : tensor<?xf32, #graph.dims<l>>,
          tensor<?xf32, #graph.dims<n>>
    })";
  Tensor x = floats({1}, {2}), end = floats({}, {7});
  auto found = run(text, {ints({}, {1}, 1), x, end});
  EXPECT_EQ(numbers(found[0]), Numbers({2, 2, 2, 2}));
  EXPECT_EQ(numbers(found[1]), Numbers({1, 12, 23}));
  found = run(text, {ints({}, {0}, 1), x, end});
  EXPECT_EQ(numbers(found[0]), Numbers({2}));
  EXPECT_EQ(found[1].shape, (llvm::SmallVector<int64_t>{0}));
}

TEST_F(EvaluateTest, WeightsAreReadOnceWhenUsed) {
  const char *text = R"(
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %w = graph.weight {name = "w"} : () -> tensor<2xf32>
      %unused = graph.weight {name = "unused"} : () -> tensor<2xf32>
      %0 = graph.add %x, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %1 = graph.mul %0, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      return %1 : tensor<2xf32>
    })";
  std::vector<std::string> read, ops;
  EvaluateOptions options;
  options.weight = [&](llvm::StringRef name) -> llvm::Expected<Tensor> {
    read.push_back(name.str());
    return floats({2}, {2, 3});
  };
  options.observe = [&](mlir::Operation *op, llvm::ArrayRef<Tensor> results) {
    ops.push_back(op->getName().getStringRef().str());
    EXPECT_EQ(results.size(), 1u);
  };
  EXPECT_EQ(numbers(run(text, {floats({2}, {1, 1})}, options)),
            Numbers({6, 12}));
  EXPECT_EQ(read, std::vector<std::string>({"w"}));
  EXPECT_EQ(ops, std::vector<std::string>({"graph.add", "graph.mul"}));
  EXPECT_NE(fault(text, {floats({2}, {1, 1})}).find("weight 'w'"),
            std::string::npos);
}

TEST_F(EvaluateTest, LargeTensorsAreRefusedBeforeTheyAreMade) {
  const char *text = R"(
    func.func @main(%x: tensor<?xf32, #graph.dims<S>>)
        -> tensor<?x?x?xf32, #graph.dims<S, S, S>> {
      %0 = graph.broadcast %x : (tensor<?xf32, #graph.dims<S>>)
          -> tensor<?x?x?xf32, #graph.dims<S, S, S>>
      return %0 : tensor<?x?x?xf32, #graph.dims<S, S, S>>
    })";
  EXPECT_EQ(fault(text, {Tensor(f32(), {10000})}),
            "node 'graph.broadcast' (graph.broadcast): a result of shape "
            "[10000, 10000, 10000] is too large");
}

TEST_F(EvaluateTest, UnroundedModeKeepsDoubles) {
  const char *text = R"(
    func.func @main(%x: tensor<1xf16>) -> tensor<1xf16> {
      %0 = graph.reciprocal %x : (tensor<1xf16>) -> tensor<1xf16>
      return %0 : tensor<1xf16>
    })";
  Tensor x = Tensor::fromFloats(f16(), {1}, {3});
  EXPECT_EQ(numbers(run(text, {x})), Numbers({0.333251953125}));
  EvaluateOptions options;
  options.rounded = false;
  EXPECT_EQ(numbers(run(text, {x}, options)), Numbers({1.0 / 3}));
}

TEST_F(EvaluateTest, OperandsThatDoNotFitAtRunTimeAreAFault) {
  const char *text = R"(
    func.func @main(%a: tensor<?xf32, #graph.dims<A>>,
                    %b: tensor<?xf32, #graph.dims<B>>)
        -> tensor<?xf32, #graph.dims<broadcast(A, B)>> {
      %0 = graph.add %a, %b : (tensor<?xf32, #graph.dims<A>>,
                               tensor<?xf32, #graph.dims<B>>)
          -> tensor<?xf32, #graph.dims<broadcast(A, B)>>
      return %0 : tensor<?xf32, #graph.dims<broadcast(A, B)>>
    })";
  EXPECT_EQ(numbers(run(text, {floats({1}, {1}), floats({2}, {1, 2})})),
            Numbers({2, 3}));
  EXPECT_NE(fault(text, {Tensor(f32(), {3}), Tensor(f32(), {2})})
                .find("an operand of shape [2] does not broadcast to [3]"),
            std::string::npos);
}

TEST_F(EvaluateTest, ConstantsFoldUpToABound) {
  auto function = parse(R"(
    func.func @main(%a: tensor<2xi64>, %b: tensor<2xi64>) {
      %0 = graph.add %a, %b : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
      %1 = graph.div %a, %b : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
      return
    })");
  auto ops = function.front().begin();
  mlir::Operation *add = &*ops++, *divide = &*ops;
  mlir::Attribute a = ints({2}, {1, 2}).toAttr(),
                  b = ints({2}, {3, 0}).toAttr();
  auto folded = foldToAttr(add, {a, b}, 2);
  ASSERT_TRUE(folded);
  EXPECT_EQ(*folded, ints({2}, {4, 2}).toAttr());
  EXPECT_FALSE(foldToAttr(add, {a, b}, 1));
  EXPECT_FALSE(foldToAttr(add, {a, {}}, 2));
  EXPECT_FALSE(foldToAttr(divide, {a, b}, 2));
}

} // namespace
} // namespace tenon::reference
