//===- QuantizedMatmulTest.cpp - Matrix products with weights of few bits -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/LevelTest.h"
#include "test/compiler/Targets/Cpu/MatmulCase.h"

namespace tenon::test {
namespace {

class QuantizedMatmul : public LevelTest {
protected:
  /// In each of some forms.
  void runForms(const std::vector<KernelCase> &cases,
                const std::vector<Quantized> &forms) {
    std::vector<KernelCase> all;
    for (const KernelCase &test : cases)
      for (const Quantized &form : forms)
        all.push_back(quantized(test, form));
    run(all);
  }
};

const std::vector<Quantized> bothWidths = {{4, 32, "i8", "bf16"},
                                           {8, 32, "i8", "bf16"}};

TEST_P(QuantizedMatmul, TakesAnyNumberOfRows) {
  std::vector<Symbols> sizes = rows({0, 65, 128, 129});
  for (int64_t m = 1; m <= 27; ++m) // Few are widened by each tile.
    sizes.push_back({{"m", m}});
  runForms({product({"m"}, 40, 49, sizes)}, bothWidths);
}

TEST_P(QuantizedMatmul, TakesAnyNumberOfColumns) {
  std::vector<KernelCase> cases;
  for (int64_t columns : {1, 47, 97})
    cases.push_back(product({"m"}, 64, columns, rows({1, 9, 67})));
  runForms(cases, bothWidths);
}

TEST_P(QuantizedMatmul, TakesAnyDepth) {
  std::vector<KernelCase> cases;
  // Beyond 896 steps, of many rows, there are several blocks in the kernel.
  for (int64_t depth : {7, 33, 172, 960, 1555})
    cases.push_back(product({"m"}, depth, 50, rows({1, 3, 30})));
  runForms(cases, bothWidths);
}

TEST_P(QuantizedMatmul, TakesBlocksOfAnySize) {
  std::vector<Quantized> forms;
  for (int64_t bits : {4, 8})
    for (int64_t block : {0, 16, 64, 128, 256})
      forms.push_back({bits, block, "i8", "bf16"});
  runForms({product({"m"}, 1030, 20, rows({1, 2, 3, 5, 17, 65}))}, forms);
}

TEST_P(QuantizedMatmul, SubtractsZeroPoints) {
  std::vector<Quantized> forms;
  for (int64_t bits : {4, 8})
    for (const char *number : {"i8", "ui8"}) {
      forms.push_back({bits, 32, number, "f32", true});
      forms.push_back({bits, 32, number, "f32", false, bits == 4 ? 7 : 100});
    }
  runForms({product({"m"}, 76, 50, rows({1, 2, 3, 6, 9, 65}))}, forms);
}

TEST_P(QuantizedMatmul, LooksNumbersUpInACodebook) {
  std::vector<Quantized> forms;
  for (int64_t block : {0, 16, 64})
    for (const char *number : {"i8", "ui8"})
      forms.push_back({4, block, number, "f32", false, 0, true});
  std::vector<KernelCase> cases = {
      product({"m"}, 76, 50, rows({0, 1, 2, 3, 4, 6, 9, 65})),
      product({"m"}, 1030, 20, rows({1, 2, 5, 30})),
      gated({"m"}, 64, 100, rows({1, 13, 70}), silu),
      batches("64", "49", rows({1, 9, 66}))};
  cases[2].values = {{-0.5, 0.5}};
  runForms(cases, forms);
}

TEST_P(QuantizedMatmul, TakesScalesOfAnyFloat) {
  std::vector<Quantized> forms;
  for (const char *scale : {"f32", "bf16", "f16"})
    forms.push_back({4, 32, "ui8", scale, false, 8});
  runForms({product({"m"}, 96, 50, rows({1, 4, 30}))}, forms);
}

TEST_P(QuantizedMatmul, RunsWhatFollows) {
  std::string type = tensor({"m", "100"}, "f32");
  std::vector<KernelCase> cases;
  for (int64_t depth : {64, 1100}) {
    cases.push_back(
        product({"m"}, depth, 100, rows({1, 21, 70}), "%c: " + type,
                "%e = graph.add %sums, %c : (RESULT, RESULT) -> "
                "RESULT\n%y = graph.sigmoid %e : (RESULT) -> RESULT"));
    std::string half = tensor({"m", "100"}, "bf16");
    cases.push_back(product({"m"}, depth, 100, rows({1, 21, 70}), "",
                            "%y = graph.cast %sums : (RESULT) -> " + half,
                            "bf16"));
  }
  runForms(cases, bothWidths);
}

TEST_P(QuantizedMatmul, CombinesTwoHalvesOfItsColumns) {
  std::vector<KernelCase> cases;
  for (auto [depth, columns] : {std::pair<int64_t, int64_t>(32, 1), {960, 100}})
    cases.push_back(gated({"m"}, depth, columns, rows({0, 1, 13, 70}), silu));
  for (KernelCase &test : cases)
    test.values = {{-0.5, 0.5}};
  runForms(cases, {{4, 32, "i8", "bf16"}, {8, 32, "ui8", "bf16", true}});
}

TEST_P(QuantizedMatmul, ReadsRowsThatLiePagesApart) {
  runForms({product({"m"}, 2048, 50, rows({1, 7, 30, 129}))}, bothWidths);
}

TEST_P(QuantizedMatmul, TakesAMatrixForEachBatch) {
  std::vector<KernelCase> cases;
  for (const char *depth : {"40", "960"})
    for (const char *columns : {"49", "96"})
      cases.push_back(batches(depth, columns, rows({0, 1, 9, 66})));
  runForms(cases, {{4, 32, "i8", "bf16"},
                   {8, 32, "i8", "bf16"},
                   {4, 64, "ui8", "bf16", true},
                   {4, 0, "i8", "f32"}});
}

TENON_FOR_ALL_LEVELS(QuantizedMatmul);

/// By rows of bf16: where a level multiplies pairs, panels become such for many
/// rows, which rounds what the numbers stand for.
class QuantizedPairs : public QuantizedMatmul {
protected:
  void runPairs(std::vector<KernelCase> cases,
                const std::vector<Quantized> &forms) {
    for (KernelCase &test : cases) {
      test = withHalfLhs(test);
      test.tolerance = 1e-2;
    }
    runForms(cases, forms);
  }
};

TEST_P(QuantizedPairs, TakesAnyNumberOfRows) {
  std::vector<Symbols> sizes = rows({0, 32, 33, 65, 128, 130});
  for (int64_t m : {1, 2, 7, 23, 24, 25, 26, 31})
    sizes.push_back({{"m", m}});
  runPairs({product({"m"}, 40, 49, sizes)}, bothWidths);
}

TEST_P(QuantizedPairs, TakesAnyDepth) {
  std::vector<KernelCase> cases;
  for (int64_t depth : {6, 33, 64, 70, 96, 172, 960, 1554})
    cases.push_back(product({"m"}, depth, 50, rows({1, 30, 129})));
  runPairs(cases, bothWidths);
}

TEST_P(QuantizedPairs, TakesBlocksOfAnySize) {
  std::vector<Quantized> forms;
  for (int64_t bits : {4, 8})
    for (int64_t block : {0, 16, 64, 128, 256})
      forms.push_back({bits, block, "ui8", "bf16", true});
  forms.push_back({4, 32, "ui8", "f32", false, 7});
  runPairs({product({"m"}, 1030, 20, rows({1, 30, 65}))}, forms);
}

TEST_P(QuantizedPairs, CombinesTwoHalvesOfItsColumns) {
  std::vector<KernelCase> cases = {
      gated({"m"}, 960, 100, rows({0, 1, 30, 70}), silu)};
  cases[0].values = {{-0.5, 0.5}};
  runPairs(cases, {{4, 32, "i8", "bf16"}});
}

TEST_P(QuantizedPairs, TakesAMatrixForEachBatch) {
  std::vector<KernelCase> cases;
  for (const char *depth : {"40", "960"})
    cases.push_back(batches(depth, "49", rows({0, 1, 30, 66})));
  runPairs(cases, {{4, 32, "i8", "bf16"},
                   {8, 32, "i8", "bf16"},
                   {4, 64, "ui8", "bf16", true}});
}

TEST_P(QuantizedPairs, GivesBf16) {
  // Sums of several blocks of k wait for those of twelve panels.
  std::vector<KernelCase> cases;
  for (int64_t columns : {100, 1180}) {
    std::string half = tensor({"m", std::to_string(columns)}, "bf16");
    cases.push_back(product({"m"}, 1100, columns, rows({1, 30, 70}), "",
                            "%y = graph.cast %sums : (RESULT) -> " + half,
                            "bf16"));
  }
  runPairs(cases, bothWidths);
}

/// One row of bf16, which with AVX2 is made of whole numbers of 16 bits: their
/// products are those of f32 but for elements that are far from the largest.
class QuantizedRow : public QuantizedMatmul {
protected:
  void runRow(std::vector<KernelCase> cases,
              const std::vector<Quantized> &forms, double tolerance = 1e-4) {
    for (KernelCase &test : cases) {
      test = withHalfLhs(test);
      test.tolerance = tolerance;
    }
    runForms(cases, forms);
  }
};

TEST_P(QuantizedRow, TakesAnyDepth) {
  std::vector<KernelCase> cases;
  for (int64_t depth : {2, 7, 8, 31, 33, 40, 64, 70, 172, 960, 1555})
    cases.push_back(product({"m"}, depth, 50, rows({1, 2, 4})));
  runRow(cases, {{4, 32, "i8", "bf16"}});
}

TEST_P(QuantizedRow, TakesBlocksOfAnySizeAndNumbersOfAnyKind) {
  std::vector<Quantized> forms;
  for (int64_t block : {16, 64, 128, 256})
    forms.push_back({4, block, "i8", "bf16"});
  for (const char *number : {"i8", "ui8"}) {
    forms.push_back({4, 32, number, "f32", true});
    forms.push_back({4, 32, number, "f16", false, 7});
  }
  forms.push_back({4, 32, "ui8", "f32"});
  runRow({product({"m"}, 1100, 20, rows({1, 2, 3}))}, forms);
}

/// Whose values are no whole numbers.
TEST_P(QuantizedRow, LeavesCodebooksToTiles) {
  runRow({product({"m"}, 1100, 20, rows({1, 2}))},
         {{4, 64, "ui8", "f32", false, 0, true}});
}

TEST_P(QuantizedRow, TakesElementsOfAnySize) {
  std::vector<KernelCase> cases;
  for (double most : {0.0, 1e-38, 1e-20, 1e20, 1e35}) {
    cases.push_back(product({"m"}, 72, 20, rows({1, 2})));
    cases.back().values = {{-most, most}, {-1, 1}};
  }
  // Of sums near zero nothing but their terms says how large an error may be.
  runRow(cases, {{4, 32, "i8", "f32"}}, 1e-2);
}

INSTANTIATE_TEST_SUITE_P(Levels, QuantizedRow,
                         testing::Values("x86-64-v3", "x86-64-v4"),
                         nameOfLevel);

INSTANTIATE_TEST_SUITE_P(Levels, QuantizedPairs,
                         testing::Values("x86-64-v3", "x86-64-v4",
                                         "x86-64-v4-bf16", "x86-64-v4-amx",
                                         expandedAmx),
                         nameOfLevel);

} // namespace
} // namespace tenon::test
