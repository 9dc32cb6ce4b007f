//===- FewBitsTest.cpp - Products by weights of few bits on devices -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/MatmulCase.h"
#include <gtest/gtest.h>

namespace tenon::test {
namespace {

const std::vector<Quantized> bothWidths = {{4, 32, "i8", "bf16"},
                                           {8, 32, "i8", "bf16"}};

/// Cases by a schedule, whose lhs is bf16, in each of some forms. Numbers of
/// few bits are bf16, and what they make with those is added up in f32: no more
/// is rounded than of other products.
void runForms(const char *schedule, const std::vector<KernelCase> &cases,
              const std::vector<Quantized> &forms) {
  std::vector<KernelCase> all;
  for (const KernelCase &test : cases)
    for (const Quantized &form : forms) {
      all.push_back(quantized(withHalfLhs(test), form));
      all.back().schedule = schedule;
    }
  runCases(all);
}

//===----------------------------------------------------------------------===//
// MatmulRows
//===----------------------------------------------------------------------===//

TEST(MatmulRows, TakesAnyNumberOfFewRows) {
  std::vector<Symbols> sizes = rows({0});
  for (int64_t m = 1; m <= 17; ++m)
    sizes.push_back({{"m", m}});
  runForms("MatmulRows", {product({"m"}, 96, 49, sizes)}, bothWidths);
}

TEST(MatmulRows, TakesAnyDepth) {
  std::vector<KernelCase> cases;
  // Less than a block, its pairs and fours alone; rounds of several blocks,
  // what is left of them, and sums that blocks share.
  for (int64_t depth : {6, 34, 72, 100, 256, 1120, 1554, 2304})
    cases.push_back(product({"m"}, depth, 50, rows({1, 9})));
  runForms("MatmulRows", cases, bothWidths);
}

TEST(MatmulRows, TakesAnyNumberOfColumns) {
  std::vector<KernelCase> cases;
  for (int64_t columns : {1, 31, 33, 128})
    cases.push_back(product({"m"}, 64, columns, rows({1, 8, 16})));
  runForms("MatmulRows", cases, bothWidths);
}

TEST(MatmulRows, TakesBlocksOfSomeSizes) {
  std::vector<Quantized> forms;
  for (int64_t bits : {4, 8})
    for (int64_t block : {0, 64, 256})
      forms.push_back({bits, block, "i8", "bf16"});
  runForms("MatmulRows", {product({"m"}, 520, 20, rows({1, 5}))}, forms);
}

TEST(MatmulRows, SubtractsZeroPoints) {
  runForms("MatmulRows", {product({"m"}, 140, 50, rows({1, 3, 12}))},
           {{4, 32, "ui8", "bf16", true},
            {4, 0, "ui8", "bf16", true},
            {4, 32, "ui8", "bf16", false, 7},
            {4, 32, "i8", "bf16", false, -3}});
}

TEST(MatmulRows, TakesScalesOfF32) {
  const std::vector<Quantized> forms = {{4, 32, "ui8", "f32", true},
                                        {4, 32, "ui8", "f32", false, 8},
                                        {8, 0, "i8", "f32"}};
  for (const char *schedule : {"MatmulRows", "MatmulMmaSmall", "MatmulMma"})
    runForms(schedule, {product({"m"}, 140, 50, rows({1, 12, 70}))}, forms);
}

TEST(MatmulRows, JoinsHalvesOfFewBits) {
  std::vector<KernelCase> cases = {gated({"m"}, 300, 70, rows({1, 11}), silu),
                                   gated({"m"}, 32, 8, rows({2}), silu)};
  for (KernelCase &test : cases)
    test.values = {{-0.5, 0.5}};
  runForms("MatmulRows", cases,
           {{4, 32, "i8", "bf16"},
            {4, 32, "ui8", "bf16", true},
            {8, 32, "i8", "bf16"}});
}

//===----------------------------------------------------------------------===//
// MatmulMma
//===----------------------------------------------------------------------===//

TEST(MatmulMma, TakesWeightsOfFewBits) {
  runForms("MatmulMma",
           {product({"m"}, 72, 264, rows({1, 127, 130})),
            product({"m"}, 96, 129, rows({100})),
            product({"m"}, 22, 130, rows({17, 140}))},
           bothWidths);
}

TEST(MatmulMma, TakesSmallTilesOfFewBits) {
  runForms("MatmulMmaSmall",
           {product({"m"}, 40, 49, rows({0, 1, 17, 64, 100})),
            product({"m"}, 520, 70, rows({5, 65})),
            product({"m"}, 1554, 33, rows({40}))},
           bothWidths);
}

TEST(MatmulMma, TakesBlocksOfSomeSizes) {
  std::vector<Quantized> forms;
  for (int64_t bits : {4, 8})
    for (int64_t block : {0, 64, 256})
      forms.push_back({bits, block, "i8", "bf16"});
  runForms("MatmulMmaSmall", {product({"m"}, 520, 20, rows({30}))}, forms);
}

TEST(MatmulMma, SubtractsZeroPoints) {
  const std::vector<Quantized> forms = {{4, 32, "ui8", "bf16", true},
                                        {4, 0, "ui8", "bf16", true},
                                        {4, 32, "ui8", "bf16", false, 7}};
  runForms("MatmulMma", {product({"m"}, 140, 200, rows({70}))}, forms);
  runForms("MatmulMmaSmall", {product({"m"}, 140, 50, rows({70}))}, forms);
}

TEST(MatmulMma, JoinsHalvesOfFewBits) {
  for (const char *schedule : {"MatmulMma", "MatmulMmaSmall"}) {
    std::vector<KernelCase> cases = {
        gated({"m"}, 300, 70, rows({3, 150}), silu),
        gated({"m"}, 64, 40, rows({40}), silu)};
    for (KernelCase &test : cases)
      test.values = {{-0.5, 0.5}};
    runForms(schedule, cases,
             {{4, 32, "ui8", "bf16", true}, {8, 32, "i8", "bf16"}});
  }
}

TEST(MatmulMma, RunsWhatFollowsFewBits) {
  std::string type = tensor({"m", "100"}, "f32");
  KernelCase test =
      product({"m"}, 64, 100, rows({1, 70}), "%c: " + type,
              "%e = graph.add %sums, %c : (RESULT, RESULT) -> "
              "RESULT\n%y = graph.sigmoid %e : (RESULT) -> RESULT");
  std::string half = tensor({"m", "100"}, "bf16");
  KernelCase narrow =
      product({"m"}, 64, 100, rows({1, 70}), "",
              "%y = graph.cast %sums : (RESULT) -> " + half, "bf16");
  for (const char *schedule : {"MatmulRows", "MatmulMmaSmall", "MatmulMma"})
    runForms(schedule, {test, narrow}, bothWidths);
}

} // namespace
} // namespace tenon::test
