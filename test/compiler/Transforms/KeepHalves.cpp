//===- KeepHalves.cpp - Weights that came in 16 bits are read in them -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/WeightPasses.h"
#include "compiler/Weights/WeightStore.h"
#include "dialects/Graph/Graph.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

using namespace tenon;
using namespace mlir;

namespace {

struct KeepHalvesTest : testing::Test {
  KeepHalvesTest() {
    context.loadDialect<graph::GraphDialect, func::FuncDialect>();
  }

  void add(StringRef name, Type type, ArrayRef<int64_t> shape) {
    auto bytes = size_t(*tensorBytes(type, shape));
    llvm::cantFail(
        weights.addOwned(name, type, shape, std::vector<char>(bytes, 1)));
  }

  /// A lookup of rows of "w", as a model has it, and a product by it.
  OwningOpRef<ModuleOp> lowered(std::string shape, StringRef element) {
    std::string source = R"(
func.func @f(%x: tensor<3xDEPTHxHALF>, %i: tensor<2xi64>)
    -> (tensor<3x64xHALF>, tensor<2x64xHALF>) {
  %w = graph.weight {name = "w"} : () -> tensor<DEPTHx64xHALF>
  %0 = graph.matmul %x, %w
      : (tensor<3xDEPTHxHALF>, tensor<DEPTHx64xHALF>) -> tensor<3x64xHALF>
  %1 = graph.gather %w, %i {axis = 0 : i64}
      : (tensor<DEPTHx64xHALF>, tensor<2xi64>) -> tensor<2x64xHALF>
  %2 = graph.exp %1 : (tensor<2x64xHALF>) -> tensor<2x64xHALF>
  return %0, %2 : tensor<3x64xHALF>, tensor<2x64xHALF>
})";
    auto replace = [&](StringRef from, StringRef to) {
      for (size_t at; (at = source.find(from.str())) != std::string::npos;)
        source.replace(at, from.size(), to.str());
    };
    replace("DEPTH", shape);
    replace("HALF", element);
    auto module = parseSourceString<ModuleOp>(source, &context);
    PassManager pm(&context);
    pm.addNestedPass<func::FuncOp>(createWidenHalvesPass(weights));
    pm.addNestedPass<func::FuncOp>(createKeepHalvesPass(weights));
    EXPECT_TRUE(succeeded(pm.run(*module)));
    return module;
  }

  /// The names of what products multiply by and of what is looked up, with
  /// their types.
  std::vector<std::string> readIn(ModuleOp module) {
    std::vector<std::string> read;
    auto note = [&](Value value) {
      if (auto cast = value.getDefiningOp<graph::CastOp>())
        value = cast.getInput();
      std::string text = value.getDefiningOp<graph::WeightOp>().getName().str();
      llvm::raw_string_ostream(text) << ' ' << graph::getElementType(value);
      read.push_back(text);
    };
    module.walk([&](graph::MatmulOp op) {
      EXPECT_TRUE(graph::getElementType(op.getRhs()).isF32());
      note(op.getRhs());
    });
    module.walk([&](graph::GatherOp op) { note(op.getInput()); });
    return read;
  }

  MLIRContext context;
  WeightStore weights;
};

using Names = std::vector<std::string>;

TEST_F(KeepHalvesTest, ProductsAndLookupsReadWhatCame) {
  add("w", Float16Type::get(&context), {99, 64});
  EXPECT_EQ(readIn(*lowered("99", "f16")), Names({"w f16", "w f16"}));
}

TEST_F(KeepHalvesTest, PairsOfBf16) {
  add("w", BFloat16Type::get(&context), {98, 64});
  EXPECT_EQ(readIn(*lowered("98", "bf16")), Names({"w bf16", "w bf16"}));
}

TEST_F(KeepHalvesTest, OddDepthsOfBf16AreMultipliedInF32) {
  add("w", BFloat16Type::get(&context), {99, 64});
  EXPECT_EQ(readIn(*lowered("99", "bf16")), Names({"w_f32 f32", "w bf16"}));
}

TEST_F(KeepHalvesTest, SmallWeightsAreF32) {
  add("w", Float16Type::get(&context), {8, 64});
  EXPECT_EQ(readIn(*lowered("8", "f16")), Names({"w_f32 f32", "w_f32 f32"}));
}

TEST_F(KeepHalvesTest, F32Stays) {
  add("w", Float32Type::get(&context), {99, 64});
  EXPECT_EQ(readIn(*lowered("99", "f32")), Names({"w f32", "w f32"}));
}

} // namespace
