//===- CompileTest.cpp - Objects of several levels ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/Compile.h"
#include "dialects/Kernel/Kernel.h"
#include "mlir/Parser/Parser.h"
#include "test/compiler/Targets/Cpu/KernelTest.h"
#include <gtest/gtest.h>

namespace tenon::test {
namespace {

constexpr const char *gelu = R"(
  kernel.func @gelu symbols ["n"] layouts [""] schedule "Generic"
      geometry <floordiv(n + 255, 256), 1, 0> {
  ^bb0(%a: tensor<?xf32, #graph.dims<n>>):
    %r = graph.gelu %a {kind = #graph<gelu_kind erf>}
        : (tensor<?xf32, #graph.dims<n>>) -> tensor<?xf32, #graph.dims<n>>
    kernel.yield %r : tensor<?xf32, #graph.dims<n>>
  })";

constexpr const char *join = R"(
  kernel.func @join symbols ["n"] layouts ["", ""] schedule "Generic"
      geometry <n, 1, 0> {
  ^bb0(%a: tensor<?x64xf32, #graph.dims<n, 64>>,
       %b: tensor<?x64xf32, #graph.dims<n, 64>>):
    %r = graph.concat %a, %b {axis = 1 : i64}
        : (tensor<?x64xf32, #graph.dims<n, 64>>,
           tensor<?x64xf32, #graph.dims<n, 64>>)
        -> tensor<?x128xf32, #graph.dims<n, 128>>
    kernel.yield %r : tensor<?x128xf32, #graph.dims<n, 128>>
  })";

class Compile : public testing::Test {
protected:
  Compile() {
    mlir::DialectRegistry registry;
    registry.insert<graph::GraphDialect, kernel::KernelDialect>();
    cpu::registerCpuDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = mlir::parseSourceString<mlir::ModuleOp>(gelu, &context);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_F(Compile, GivesEqualObjectsForEqualInput) {
  CodeCache some, others;
  auto first = cpu::compileArchives(*module, cpu::cpuLevels(), some);
  auto second = cpu::compileArchives(*module, cpu::cpuLevels(), others);
  ASSERT_TRUE(succeeded(first) && succeeded(second));
  ASSERT_EQ(first->size(), cpu::cpuLevels().size());
  EXPECT_EQ(*first, *second);
  EXPECT_NE((*first)[0], (*first)[1]);
}

TEST_F(Compile, VectorisesForTheLevel) {
  for (const cpu::CpuLevel &level : cpu::cpuLevels()) {
    auto text = cpu::compileToLlvmIr(*module, level);
    ASSERT_TRUE(succeeded(text));
    std::string vector = "<" + std::to_string(level.lanes(4)) + " x float>";
    EXPECT_NE(text->find(vector), std::string::npos) << *text;
  }
}

TEST_F(Compile, JoinsRowsByVectors) {
  module = mlir::parseSourceString<mlir::ModuleOp>(join, &context);
  auto text = cpu::compileToLlvmIr(*module, *cpu::findCpuLevel("x86-64-v3"));
  ASSERT_TRUE(succeeded(text));
  EXPECT_NE(text->find("load <8 x float>"), std::string::npos) << *text;
  EXPECT_EQ(text->find("insertelement"), std::string::npos) << *text;
}

TEST_F(Compile, KnowsItsLevels) {
  EXPECT_FALSE(cpu::findCpuLevel("x86-64-v9"));
  EXPECT_EQ(cpu::findCpuLevel("x86-64-v3")->vectorBits, 256u);
}

TEST_F(Compile, TheLowestLevelComputesTheSame) {
  std::vector<KernelCase> cases;
  for (const std::string &type : {"f16", "bf16", "f32", "f64"}) {
    std::string lhs = tensor({"m", "k"}, type), rhs = tensor({"k", "n"}, type),
                result = tensor({"m", "n"}, type);
    cases.push_back(one("matmul", "", {lhs, rhs}, {result},
                        {{{"k", 67}, {"m", 5}, {"n", 70}}}));
    cases.push_back(one("gelu", "{kind = #graph<gelu_kind tanh>}", {result},
                        {result}, {{{"m", 5}, {"n", 70}}}));
    cases.push_back(one("softmax", "{axis = 1 : i64}", {result}, {result},
                        {{{"m", 5}, {"n", 70}}}));
    cases.push_back(one("cast", "", {result}, {tensor({"m", "n"}, "f16")},
                        {{{"m", 5}, {"n", 70}}}));
    cases.push_back(one("cast", "", {result}, {tensor({"m", "n"}, "ui8")},
                        {{{"m", 5}, {"n", 70}}}));
  }
  runCases(cases, "x86-64-v3");
}

} // namespace
} // namespace tenon::test
