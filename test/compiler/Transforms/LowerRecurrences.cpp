//===- LowerRecurrences.cpp - What cells multiply their state by ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/WeightPasses.h"
#include "compiler/Weights/WeightStore.h"
#include "dialects/Kernel/RecurrentView.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace mlir;
using namespace tenon;

namespace {

constexpr StringLiteral kept =
    "stays in f32: a cell multiplies its state by f32, bf16 or 8 bits";
constexpr StringLiteral keptOnDevices =
    "stays in f32: a device's cell multiplies its state by f32 or 8 bits";
constexpr StringLiteral rounded =
    "its recurrence is bf16, and its state where it is multiplied";
constexpr StringLiteral lowered8 =
    "its recurrence has 8 bits and a scale for each unit";

struct LowerRecurrencesTest : testing::Test {
  LowerRecurrencesTest() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<func::FuncDialect, graph::GraphDialect>();
  }

  void add(const std::vector<float> &values, ArrayRef<int64_t> shape) {
    std::vector<char> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    llvm::cantFail(weights.addOwned("r", Float32Type::get(&context), shape,
                                    std::move(bytes)));
  }

  /// Two RNNs by the stored recurrence, of which one says what it asks for.
  OwningOpRef<ModuleOp> run(const std::string &assigned,
                            const std::string &others, int64_t units = 64) {
    std::string source;
    for (const char *attributes :
         {R"(graph.op = "a", graph.block = 48, graph.compensated, )"
          R"(graph.precision = "ASKED", )",
          ""})
      source += std::string("%" + std::to_string(source.size()) + ":3") +
                R"( = graph.recurrent %x, %r {)" + attributes +
                R"(operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>,
    cell = #graph<cell_kind rnn>, direction = "bidirectional",
    activations = ["Tanh", "Tanh"], alpha = array<f64>, beta = array<f64>,
    clip = 0.0 : f64, linear_before_reset = false, input_forget = false}
    : (tensor<3x1xIN>, tensor<2xUxUxf32>) -> (tensor<3x2x1xUxf32>,
    tensor<2x1xUxf32>, tensor<2x1xUxf32>)
)";
    source = "func.func @f(%x: tensor<3x1xIN>) {\n%r = graph.weight {name = "
             "\"r\"} : () -> tensor<2xUxUxf32>\n" +
             source + "return }";
    auto replace = [&](StringRef from, const std::string &to) {
      for (size_t at; (at = source.find(from.str())) != std::string::npos;)
        source.replace(at, from.size(), to);
    };
    replace("ASKED", assigned);
    replace("IN>", std::to_string(2 * units) + "xf32>");
    replace("xUx", "x" + std::to_string(units) + "x");
    return lowered(source, others);
  }

  OwningOpRef<ModuleOp> lowered(const std::string &source,
                                const std::string &precision) {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      remarks.push_back(diagnostic.str());
    });
    auto module = parseSourceString<ModuleOp>(source, &context);
    PassManager pm(&context);
    LowerRecurrencesPassOptions options;
    options.precision = precision;
    options.target = target;
    options.explain = true;
    pm.addNestedPass<func::FuncOp>(
        createLowerRecurrencesPass(weights, options));
    if (module && succeeded(pm.run(*module)))
      return module;
    return nullptr;
  }

  static std::vector<graph::RecurrentOp> cellsOf(ModuleOp module) {
    std::vector<graph::RecurrentOp> cells;
    module.walk([&](graph::RecurrentOp op) { cells.push_back(op); });
    return cells;
  }

  ArrayRef<char> bytesOf(Value value) {
    return weights.bytes(value.getDefiningOp<graph::WeightOp>().getName());
  }

  /// What the numbers of a cell stand for; empty where it has none.
  std::vector<float> valuesOf(graph::RecurrentOp op) {
    graph::DequantizeOp made = kernel::cellBytesOf(op);
    if (!made)
      return {};
    ArrayRef<char> numbers = bytesOf(made.getInput());
    ArrayRef<char> scales = bytesOf(made.getScale());
    size_t length = numbers.size() / (scales.size() / sizeof(float));
    std::vector<float> values;
    for (auto [i, number] : llvm::enumerate(numbers)) {
      float scale;
      std::memcpy(&scale, scales.data() + i / length * sizeof(float),
                  sizeof(float));
      values.push_back(float(int8_t(number)) * scale);
    }
    return values;
  }

  /// Where a cell is left as it was.
  void expectKept(const std::string &precision, StringRef why) {
    remarks.clear();
    auto module = run(precision, precision);
    ASSERT_TRUE(module);
    for (graph::RecurrentOp cell : cellsOf(*module)) {
      EXPECT_TRUE(cell.getRecurrence().getDefiningOp<graph::WeightOp>());
      EXPECT_FALSE(cell.getRoundsState());
    }
    EXPECT_EQ(cellsOf(*module)[0]->getAttrOfType<StringAttr>("graph.precision"),
              "fp32");
    EXPECT_EQ(remarks, std::vector<std::string>({why.str(), why.str()}));
  }

  MLIRContext context;
  WeightStore weights;
  std::string target = "cpu";
  std::vector<std::string> remarks;
};

/// Units whose numbers are of very different sizes.
std::vector<float> normal(size_t units, size_t length) {
  std::mt19937 random(7);
  std::normal_distribution<float> distribution(0, 1);
  std::vector<float> values;
  for (size_t unit = 0; unit < units; ++unit)
    for (size_t i = 0; i < length; ++i)
      values.push_back(distribution(random) * std::exp2(float(unit % 9)));
  return values;
}

TEST_F(LowerRecurrencesTest, EachUnitHasAScale) {
  std::vector<float> values = normal(128, 64);
  add(values, {2, 64, 64});
  auto module = run("int8-weights", "fp32");
  ASSERT_TRUE(module);
  auto cells = cellsOf(*module);
  std::vector<float> made = valuesOf(cells[0]);
  ASSERT_EQ(made.size(), values.size());
  // Anywhere in a step of its unit's with equal probability.
  double squares = 0;
  for (size_t unit = 0; unit < 128; ++unit) {
    double largest = 0, off = 0;
    for (size_t i = unit * 64; i < (unit + 1) * 64; ++i) {
      off += std::pow(made[i] - values[i], 2);
      largest = std::max(largest, std::abs(double(values[i])));
    }
    double step = largest / 127;
    EXPECT_LT(std::sqrt(off / 64), step / 2) << unit;
    squares += off / (step * step);
  }
  EXPECT_LT(std::sqrt(squares / values.size()), 1.02 / std::sqrt(12));
  // That which was assigned none asks for the option's, f32.
  EXPECT_FALSE(kernel::cellBytesOf(cells[1]));
  EXPECT_EQ(remarks, std::vector<std::string>({lowered8.str()}));
}

TEST_F(LowerRecurrencesTest, WhateverAsksForFewBitsHasEight) {
  add(normal(128, 64), {2, 64, 64});
  for (const char *precision : {"int8", "int8-weights", "int4-weights"}) {
    auto module = run(precision, precision);
    ASSERT_TRUE(module);
    auto cells = cellsOf(*module);
    EXPECT_FALSE(valuesOf(cells[0]).empty()) << precision;
    EXPECT_EQ(cells[0]->getAttrOfType<StringAttr>("graph.precision"),
              "int8-weights");
    EXPECT_FALSE(cells[0]->hasAttr("graph.block"));
    EXPECT_FALSE(cells[0]->hasAttr("graph.compensated"));
    // It is quantized once for both.
    graph::DequantizeOp one = kernel::cellBytesOf(cells[0]);
    graph::DequantizeOp other = kernel::cellBytesOf(cells[1]);
    ASSERT_TRUE(one && other);
    EXPECT_EQ(one.getInput().getDefiningOp<graph::WeightOp>().getName(),
              other.getInput().getDefiningOp<graph::WeightOp>().getName());
    EXPECT_FALSE(cells[1]->hasAttr("graph.precision"));
  }
}

TEST_F(LowerRecurrencesTest, Bf16RoundsStatesToo) {
  std::vector<float> values = normal(128, 64);
  add(values, {2, 64, 64});
  auto module = run("bf16", "bf16");
  ASSERT_TRUE(module);
  auto cells = cellsOf(*module);
  for (graph::RecurrentOp cell : cells) {
    graph::CastOp widening = kernel::cellPairsOf(cell);
    ASSERT_TRUE(widening && cell.getRoundsState());
    ArrayRef<char> halves = bytesOf(widening.getInput());
    ASSERT_EQ(halves.size(), 2 * values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      uint32_t bits = 0;
      std::memcpy(reinterpret_cast<char *>(&bits) + 2, &halves[2 * i], 2);
      EXPECT_NEAR(llvm::bit_cast<float>(bits), values[i],
                  std::abs(values[i]) / 256);
    }
  }
  EXPECT_EQ(cells[0]->getAttrOfType<StringAttr>("graph.precision"), "bf16");
  EXPECT_EQ(remarks, std::vector<std::string>({rounded.str(), rounded.str()}));
}

TEST_F(LowerRecurrencesTest, SixteenBitsStayF32) {
  add(normal(128, 64), {2, 64, 64});
  expectKept("fp16", kept);
  target = "cuda";
  expectKept("bf16", keptOnDevices);
}

TEST_F(LowerRecurrencesTest, SmallOnesAndPartsOfTilesStay) {
  for (auto [units, why] :
       {std::pair(48, "its recurrence is small"),
        std::pair(72, "its hidden units are no multiple of 16"),
        std::pair(80, "its recurrence is not at hand")}) {
    remarks.clear();
    auto module = run("int8", "fp32", units);
    ASSERT_TRUE(module);
    EXPECT_TRUE(valuesOf(cellsOf(*module)[0]).empty());
    EXPECT_EQ(cellsOf(*module)[0]->getAttrOfType<StringAttr>("graph.precision"),
              "fp32");
    EXPECT_EQ(remarks,
              std::vector<std::string>({std::string("stays in f32: ") + why}));
  }
}

TEST_F(LowerRecurrencesTest, WhatIsGivenOrHasWeightsStays) {
  auto module = lowered(R"(
func.func @f(%x: tensor<3x1x64xf32>, %r: tensor<1x64x64xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<1x64x64xf32>
  %0:3 = graph.recurrent %x, %r {
      operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>,
      cell = #graph<cell_kind rnn>, direction = "forward",
      activations = ["Tanh"], alpha = array<f64>, beta = array<f64>,
      clip = 0.0 : f64, linear_before_reset = false, input_forget = false}
      : (tensor<3x1x64xf32>, tensor<1x64x64xf32>)
      -> (tensor<3x1x1x64xf32>, tensor<1x1x64xf32>, tensor<1x1x64xf32>)
  %1:3 = graph.recurrent %x, %r, %w {
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>,
      cell = #graph<cell_kind rnn>, direction = "forward",
      activations = ["Tanh"], alpha = array<f64>, beta = array<f64>,
      clip = 0.0 : f64, linear_before_reset = false, input_forget = false}
      : (tensor<3x1x64xf32>, tensor<1x64x64xf32>, tensor<1x64x64xf32>)
      -> (tensor<3x1x1x64xf32>, tensor<1x1x64xf32>, tensor<1x1x64xf32>)
  return
})",
                        "int8");
  ASSERT_TRUE(module);
  EXPECT_EQ(remarks,
            std::vector<std::string>(
                {"stays in f32: its recurrence is no weight",
                 "stays in f32: its input is not multiplied by its weights "
                 "yet"}));
}

TEST_F(LowerRecurrencesTest, InfinitiesAndZerosAreNoFault) {
  std::vector<float> values(2 * 64 * 64, 0.0f);
  values[3] = std::numeric_limits<float>::infinity();
  values[4] = std::numeric_limits<float>::quiet_NaN();
  values[70] = 1e-44f;
  add(values, {2, 64, 64});
  auto module = run("int8", "fp32");
  ASSERT_TRUE(module);
  for (float value : valuesOf(cellsOf(*module)[0]))
    EXPECT_EQ(value, 0);
}

TEST_F(LowerRecurrencesTest, UnknownPrecisionsAreRefused) {
  EXPECT_FALSE(run("int8", "fp9"));
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_NE(remarks[0].find("the precision must be one of fp32, bf16"),
            std::string::npos);
}

} // namespace
