//===- LowerWeights.cpp - Weights of products in few bits -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/WeightPasses.h"
#include "compiler/Weights/WeightStore.h"
#include "dialects/Kernel/QuantizedRhs.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace tenon;

namespace {

constexpr int64_t depth = 100, columns = 70; // A last block of four steps.

struct LowerWeightsTest : testing::Test {
  LowerWeightsTest() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<func::FuncDialect, graph::GraphDialect>();
  }

  void add(const std::vector<float> &values, ArrayRef<int64_t> shape) {
    std::vector<char> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    llvm::cantFail(weights.addOwned("w", Float32Type::get(&context), shape,
                                    std::move(bytes)));
  }

  /// Two products by the weight, lowered.
  OwningOpRef<ModuleOp> lowered(const std::string &precision,
                                const std::string &shape = "100x70",
                                int64_t block = 32,
                                const SquaresByWeight *squares = nullptr,
                                bool isCompensated = false) {
    LowerWeightsPassOptions options;
    options.precision = precision;
    options.block = block;
    return loweredFrom(R"(
func.func @f(%x: tensor<LEADxf32>) -> (tensor<OUTxf32>, tensor<OUTxf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<SHAPExf32>
  %0 = graph.matmul %x, %w : (tensor<LEADxf32>, tensor<SHAPExf32>)
      -> tensor<OUTxf32>
  %1 = graph.matmul %x, %w : (tensor<LEADxf32>, tensor<SHAPExf32>)
      -> tensor<OUTxf32>
  return %0, %1 : tensor<OUTxf32>, tensor<OUTxf32>
})",
                       shape, options, squares, isCompensated);
  }

  /// The same for CUDA, of a weight that is seen transposed; the second lhs is
  /// f32.
  OwningOpRef<ModuleOp> loweredTurned(const std::string &precision) {
    LowerWeightsPassOptions options;
    options.precision = precision;
    options.target = "cuda";
    return loweredFrom(R"(
func.func @f(%n: tensor<LEADxbf16>, %x: tensor<LEADxf32>)
    -> (tensor<OUTxf32>, tensor<OUTxf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<70x100xf32>
  %t = graph.transpose %w {permutation = array<i64: 1, 0>}
      : (tensor<70x100xf32>) -> tensor<SHAPExf32>
  %0 = graph.cast %n : (tensor<LEADxbf16>) -> tensor<LEADxf32>
  %1 = graph.matmul %0, %t : (tensor<LEADxf32>, tensor<SHAPExf32>)
      -> tensor<OUTxf32>
  %2 = graph.matmul %x, %t : (tensor<LEADxf32>, tensor<SHAPExf32>)
      -> tensor<OUTxf32>
  return %1, %2 : tensor<OUTxf32>, tensor<OUTxf32>
})",
                       "100x70", options);
  }

  OwningOpRef<ModuleOp> loweredFrom(std::string source,
                                    const std::string &shape,
                                    LowerWeightsPassOptions options,
                                    const SquaresByWeight *squares = nullptr,
                                    bool isCompensated = false) {
    bool isBatch = shape.starts_with("2x");
    auto replace = [&](StringRef from, StringRef to) {
      for (size_t at; (at = source.find(from.str())) != std::string::npos;)
        source.replace(at, from.size(), to.str());
    };
    replace("SHAPE", shape);
    replace("LEAD", isBatch ? "2x4x100" : "4x100");
    replace("OUT",
            (isBatch ? "2x4x" : "4x") + shape.substr(shape.rfind('x') + 1));
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      remarks.push_back(diagnostic.str());
    });
    auto module = parseSourceString<ModuleOp>(source, &context);
    if (isCompensated)
      module->walk([&](graph::MatmulOp op) {
        op->setAttr("graph.compensated", UnitAttr::get(&context));
      });
    PassManager pm(&context);
    options.explain = true;
    pm.addNestedPass<func::FuncOp>(
        createLowerWeightsPass(weights, squares, options));
    if (succeeded(pm.run(*module)))
      return module;
    return nullptr;
  }

  std::vector<kernel::QuantizedRhs> quantizedOf(ModuleOp module) {
    std::vector<kernel::QuantizedRhs> found;
    module.walk([&](graph::MatmulOp op) {
      if (auto rhs = kernel::quantizedRhsOf(op.getRhs()))
        found.push_back(*rhs);
    });
    return found;
  }

  ArrayRef<char> bytesOf(Value value) {
    return weights.bytes(value.getDefiningOp<graph::WeightOp>().getName());
  }

  static int64_t numberOf(const kernel::QuantizedRhs &rhs, ArrayRef<char> bytes,
                          int64_t i) {
    int64_t number = uint8_t(bytes[size_t(rhs.bits == 4 ? i / 2 : i)]);
    if (rhs.bits == 4)
      number = number >> (i % 2 * 4) & 15;
    int64_t range = int64_t(1) << rhs.bits;
    return rhs.isSigned() && number >= range / 2 ? number - range : number;
  }

  /// What the numbers stand for.
  std::vector<float> valuesOf(const kernel::QuantizedRhs &rhs) {
    ArrayRef<char> numbers = bytesOf(rhs.numbers), scales = bytesOf(rhs.scales);
    std::vector<float> values;
    int64_t all = rhs.batches ? rhs.allBlocks() * rhs.block : depth;
    for (int64_t k = 0; k < all; ++k)
      for (int64_t n = 0; n < columns; ++n) {
        int64_t side = k / rhs.block * columns + n;
        uint16_t bits;
        std::memcpy(&bits, scales.data() + side * 2, 2);
        double zero = rhs.zeros ? uint8_t(bytesOf(rhs.zeros)[size_t(side)])
                                : double(rhs.zeroPoint);
        double q = double(numberOf(rhs, numbers, k * columns + n));
        values.push_back(float((q - zero) * widenBf16(bits)));
      }
    return values;
  }

  /// The root of the mean square of what the numbers are off by, as a share of
  /// that of the values.
  double errorOf(const kernel::QuantizedRhs &rhs,
                 const std::vector<float> &values) {
    double off = 0, all = 0;
    for (auto [made, value] : llvm::zip_equal(valuesOf(rhs), values)) {
      off += std::pow(made - value, 2);
      all += value * value;
    }
    return std::sqrt(off / all);
  }

  MLIRContext context;
  WeightStore weights;
  std::vector<std::string> remarks;
};

std::vector<float> normal(float mean) {
  std::mt19937 random(7);
  std::normal_distribution<float> distribution(mean, 0.1f);
  std::vector<float> values(depth * columns);
  for (float &value : values)
    value = distribution(random);
  return values;
}

TEST_F(LowerWeightsTest, EightBitsAreCloseToTheWeight) {
  std::vector<float> values = normal(0);
  add(values, {depth, columns});
  auto module = lowered("int8-weights");
  auto found = quantizedOf(*module);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].bits, 8);
  EXPECT_EQ(found[0].block, 32);
  EXPECT_EQ(found[0].blocks, 4);
  EXPECT_LT(errorOf(found[0], values), 0.006);
  // The weight is quantized once.
  EXPECT_EQ(found[0].numbers.getDefiningOp<graph::WeightOp>().getName(),
            found[1].numbers.getDefiningOp<graph::WeightOp>().getName());
  std::string what = "its weight has 8 bits and a scale for each 32 steps of k";
  EXPECT_EQ(remarks, std::vector<std::string>({what, what}));
}

TEST_F(LowerWeightsTest, BlocksHaveTheSizeThatIsAskedFor) {
  std::vector<float> values = normal(0);
  add(values, {depth, columns});
  // Fewer scales are fewer bytes, and a larger error.
  double before = 0;
  for (int64_t block : {16, 64, 128}) {
    auto module = lowered("int4-weights", "100x70", block);
    kernel::QuantizedRhs found = quantizedOf(*module).front();
    EXPECT_EQ(found.block, block == 128 ? depth : block);
    EXPECT_EQ(found.blocks, llvm::divideCeil(depth, block));
    double error = errorOf(found, values);
    EXPECT_GT(error, before);
    before = error;
  }
  EXPECT_LT(before, 0.12);
}

TEST_F(LowerWeightsTest, RowsMakeUpForOthersWhereInputsAreKnown) {
  std::vector<float> values = normal(0);
  add(values, {depth, columns});
  auto nearest = lowered("int4-weights");
  // All channels are about the same: errors of a column are to add up to 0.
  std::vector<float> rows = normal(0);
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i] += float(i / depth);
  SquaresByWeight squares;
  squares.try_emplace("w", depth).first->second.add(rows);
  auto module = lowered("int4-weights", "100x70", 32, &squares, true);
  auto errorOfSums = [&](ModuleOp module) {
    kernel::QuantizedRhs rhs = quantizedOf(module).front();
    std::vector<float> made = valuesOf(rhs);
    double error = 0;
    for (size_t n = 0; n < columns; ++n) {
      double sum = 0;
      for (size_t k = 0; k < depth; ++k)
        sum += made[k * columns + n] - values[k * columns + n];
      error += sum * sum;
    }
    return std::sqrt(error);
  };
  EXPECT_LT(errorOfSums(*module), 0.2 * errorOfSums(*nearest));
  EXPECT_LT(errorOf(quantizedOf(*module).front(), values), 0.2);
  module->walk([](graph::MatmulOp op) {
    EXPECT_TRUE(op->hasAttr("graph.compensated"));
  });
}

TEST_F(LowerWeightsTest, WithoutInputsThatWereUsedItSaysSo) {
  add(normal(0), {depth, columns});
  EXPECT_FALSE(lowered("int4-weights", "100x70", 32, nullptr, true));
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_NE(remarks[0].find("compile with --calibrate DIR"), std::string::npos);
  // Inputs that say nothing of the weight leave it rounded to nearest.
  SquaresByWeight squares;
  auto module = lowered("int4-weights", "100x70", 32, &squares, true);
  EXPECT_EQ(quantizedOf(*module).size(), 2u);
  module->walk([](graph::MatmulOp op) {
    EXPECT_FALSE(op->hasAttr("graph.compensated"));
  });
}

TEST_F(LowerWeightsTest, FourBitsAreSearchedForTheLeastError) {
  std::vector<float> values = normal(0);
  add(values, {depth, columns});
  auto module = lowered("int4-weights");
  auto found = quantizedOf(*module);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].bits, 4);
  // By its largest magnitude / 7 alone it would be 0.095.
  EXPECT_LT(errorOf(found[0], values), 0.085);
}

TEST_F(LowerWeightsTest, WhatIsFarFromZeroHasZeroPoints) {
  std::vector<float> values = normal(0.25);
  add(values, {depth, columns});
  auto module = lowered("int4-weights");
  auto found = quantizedOf(*module);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].zeros);
  EXPECT_FALSE(found[0].isSigned());
  EXPECT_LT(errorOf(found[0], values), 0.06);
}

TEST_F(LowerWeightsTest, DevicesReadTransposesByLhsOfBf16) {
  std::vector<float> values = normal(0), turned(values.size());
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t n = 0; n < columns; ++n)
      turned[size_t(n * depth + k)] = values[size_t(k * columns + n)];
  add(turned, {columns, depth});
  auto module = loweredTurned("int8-weights");
  auto found = quantizedOf(*module);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_LT(errorOf(found[0], values), 0.006);
  EXPECT_EQ(remarks,
            std::vector<std::string>(
                {"its weight has 8 bits and a scale for each 32 steps of k",
                 "stays in f32: lhs is not rounded to bf16"}));
}

TEST_F(LowerWeightsTest, ZerosInfinitiesAndTinyNumbersAreNoFault) {
  std::vector<float> values(depth * columns, 0.0f);
  values[3] = std::numeric_limits<float>::infinity();
  values[4] = std::numeric_limits<float>::quiet_NaN();
  values[5] = 1e-44f;
  add(values, {depth, columns});
  for (const char *precision : {"int8-weights", "int4-weights"}) {
    auto module = lowered(precision);
    for (const kernel::QuantizedRhs &rhs : quantizedOf(*module))
      EXPECT_TRUE(llvm::all_of(bytesOf(rhs.scales).take_front(64),
                               [](char byte) { return byte == 0; }));
  }
}

TEST_F(LowerWeightsTest, BatchesHaveAMatrixEach) {
  std::vector<float> values = normal(0), first(values), second = values;
  for (float &value : second)
    value = 3 - value;
  values.insert(values.end(), second.begin(), second.end());
  add(values, {2, depth, columns});
  for (auto [precision, most] :
       {std::pair("int8-weights", 0.01), std::pair("int4-weights", 0.1)})
    for (int64_t block : {32, 256}) {
      auto module = lowered(precision, "2x100x70", block);
      auto found = quantizedOf(*module);
      ASSERT_EQ(found.size(), 2u);
      EXPECT_EQ(found[0].batches, 2);
      EXPECT_EQ(found[0].blocks, block == 32 ? 4 : 1);
      EXPECT_EQ(found[0].block, block == 32 ? 32 : 112);
      std::vector<float> made = valuesOf(found[0]);
      for (size_t i = 0; i < values.size(); ++i) {
        size_t batch = i / first.size(), at = i % first.size();
        int64_t steps = found[0].blocks * found[0].block;
        float value = made[batch * size_t(steps * columns) + at];
        EXPECT_NEAR(value, values[i], most * 4) << i;
      }
    }
}

TEST_F(LowerWeightsTest, TablesHaveEightBits) {
  // Rows of 70 are not whole blocks of 32.
  std::vector<float> values = normal(0);
  add(values, {depth, columns});
  const char *source = R"(
func.func @f(%i: tensor<4x2xi64>, %j: tensor<3xi64>)
    -> (tensor<4x2x70xf32>, tensor<3x70xf32>, tensor<100x2xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<100x70xf32>
  %0 = graph.gather %w, %i {axis = 0 : i64}
      : (tensor<100x70xf32>, tensor<4x2xi64>) -> tensor<4x2x70xf32>
  %1 = graph.gather %w, %j {axis = 0 : i64}
      : (tensor<100x70xf32>, tensor<3xi64>) -> tensor<3x70xf32>
  %c = graph.constant {value = dense<1> : tensor<2xi64>} : () -> tensor<2xi64>
  %2 = graph.gather %w, %c {axis = 1 : i64}
      : (tensor<100x70xf32>, tensor<2xi64>) -> tensor<100x2xf32>
  return %0, %1, %2 : tensor<4x2x70xf32>, tensor<3x70xf32>, tensor<100x2xf32>
})";
  LowerWeightsPassOptions options;
  options.precision = "int4-weights";
  auto module = loweredFrom(source, "", options);
  ASSERT_TRUE(module);
  std::vector<std::string> read; // Tables by the order of lookups.
  module->walk([&](graph::GatherOp op) {
    auto table = op.getInput().getDefiningOp<graph::WeightOp>();
    read.push_back(table.getName().str());
  });
  ASSERT_EQ(read.size(), 5u); // Columns are looked up in f32.
  EXPECT_EQ(read[0], read[2]);
  EXPECT_EQ(read[1], read[3]);
  EXPECT_EQ(read[4], "w");
  const Weight &numbers = *weights.lookup(read[0]);
  const Weight &scales = *weights.lookup(read[1]);
  EXPECT_EQ(ArrayRef(numbers.shape), ArrayRef<int64_t>({100, 96}));
  EXPECT_EQ(ArrayRef(scales.shape), ArrayRef<int64_t>({100, 3}));
  for (size_t row = 0; row < 100; ++row)
    for (size_t i = 0; i < 70; ++i) {
      uint16_t scale;
      std::memcpy(&scale, scales.bytes().data() + (row * 3 + i / 32) * 2, 2);
      float value = float(numbers.bytes()[row * 96 + i]) * widenBf16(scale);
      EXPECT_NEAR(value, values[row * 70 + i], 0.003);
    }
}

TEST_F(LowerWeightsTest, TablesHaveTheNumbersOfAProductByTheirTranspose) {
  add(normal(0), {depth, columns});
  weights.addTransposed("t", *weights.lookup("w"));
  const char *source = R"(
func.func @f(%i: tensor<4xi64>, %x: tensor<4x70xf32>)
    -> (tensor<4x70xf32>, tensor<4x100xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<100x70xf32>
  %t = graph.weight {name = "t"} : () -> tensor<70x100xf32>
  %0 = graph.gather %w, %i {axis = 0 : i64}
      : (tensor<100x70xf32>, tensor<4xi64>) -> tensor<4x70xf32>
  %1 = graph.matmul %x, %t : (tensor<4x70xf32>, tensor<70x100xf32>)
      -> tensor<4x100xf32>
  return %0, %1 : tensor<4x70xf32>, tensor<4x100xf32>
})";
  for (const char *precision : {"int8-weights", "int4-weights"}) {
    LowerWeightsPassOptions options;
    options.precision = precision;
    auto module = loweredFrom(source, "", options);
    ASSERT_TRUE(module);
    graph::GatherOp gather;
    module->walk([&](graph::GatherOp op) { gather = gather ? gather : op; });
    auto table = gather.getInput().getDefiningOp<graph::WeightOp>();
    auto numbers = quantizedOf(*module).front().numbers;
    const Weight *packed =
        weights.lookup(numbers.getDefiningOp<graph::WeightOp>().getName());
    bool isSame = packed->transposed == weights.lookup(table.getName());
    EXPECT_EQ(isSame, precision == StringRef("int8-weights"));
  }
}

TEST_F(LowerWeightsTest, WhatChoosesExpertsStays) {
  add(normal(0), {depth, columns});
  const char *source = R"(
func.func @f(%x: tensor<4x100xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>) {
  %w = graph.weight {name = "w"} : () -> tensor<100x70xf32>
  %0 = graph.matmul %x, %w : (tensor<4x100xf32>, tensor<100x70xf32>)
      -> tensor<4x70xf32>
  %1 = graph.softmax %0 {axis = 1 : i64}
      : (tensor<4x70xf32>) -> tensor<4x70xf32>
  %v, %i = graph.topk %1 {axis = 1 : i64, largest = true}
      : (tensor<4x70xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  return %v, %i : tensor<4x2xf32>, tensor<4x2xi64>
})";
  LowerWeightsPassOptions options;
  options.precision = "int4-weights";
  auto module = loweredFrom(source, "", options);
  ASSERT_TRUE(module);
  EXPECT_TRUE(quantizedOf(*module).empty());
}

TEST_F(LowerWeightsTest, OtherPrecisionsStay) {
  add(std::vector<float>(depth * columns), {depth, columns});
  EXPECT_TRUE(quantizedOf(*lowered("bf16")).empty());
  EXPECT_TRUE(remarks.empty());
}

TEST_F(LowerWeightsTest, SmallWeightsStay) {
  add(std::vector<float>(100), {100, 1});
  EXPECT_TRUE(quantizedOf(*lowered("int4-weights", "100x1")).empty());
  std::string why = "stays in f32: rhs is no weight of f32 of some size";
  EXPECT_EQ(remarks, std::vector<std::string>({why, why}));
}

} // namespace
