//===- F16StripTest.cpp - Products whose lhs is rounded to f16 ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/LevelTest.h"
#include "test/compiler/Targets/Cpu/MatmulCase.h"

namespace tenon::test {
namespace {

class F16Strip : public LevelTest {
protected:
  /// Levels that do not add up in f16 do not round either. Where they do, a sum
  /// of n products of some size is off by 2^-12 * sqrt(n) of that or so, a
  /// fifth of the tolerance for the largest of some hundreds.
  void runRounded(std::vector<KernelCase> cases) {
    for (KernelCase &test : cases) {
      test = roundedToF16(test);
      test.tolerance = std::max(test.tolerance, 3e-3);
    }
    run(cases);
  }
};

TEST_P(F16Strip, TakesAnyNumberOfRows) {
  std::vector<Symbols> sizes =
      rows({0, 1, 24, 65, 127, 128, 129, 130, 191, 257});
  for (int64_t m = 25; m <= 41; ++m)
    sizes.push_back({{"m", m}});
  runRounded({product({"m"}, 30, 49, sizes)});
}

TEST_P(F16Strip, TakesAnyNumberOfColumns) {
  std::vector<KernelCase> cases;
  for (int64_t columns : {1, 16, 17, 33, 47, 48, 49, 97, 1000, 1300})
    cases.push_back(product({"m"}, 26, columns, rows({9, 67})));
  runRounded(cases);
}

/// Around the steps that are added up in f16, and the blocks of k.
TEST_P(F16Strip, TakesAnyDepth) {
  std::vector<KernelCase> cases;
  for (int64_t depth :
       {2, 4, 6, 10, 126, 128, 130, 136, 256, 514, 896, 898, 1022, 1538, 3072})
    cases.push_back(product({"m"}, depth, 50, rows({3, 30})));
  for (int64_t depth : {1, 129, 897}) // Pairs are of two.
    cases.push_back(product({"m"}, depth, 50, rows({30})));
  runRounded(cases);
}

/// Sums of f16 would end at 65504, or lose what lies below 2^-14: as the values
/// are taken, they do not.
TEST_P(F16Strip, NeitherOverflowsNorVanishes) {
  std::vector<KernelCase> cases;
  for (auto [lhs, rhs] : {std::pair<Values, Values>({60000, 65000}, {0.5, 1}),
                          {{-1, 1}, {-63, 63}},
                          {{30000, 65000}, {50, 63}},
                          {{1e-4, 2e-4}, {1e-4, 2e-4}}}) {
    cases.push_back(product({"m"}, 512, 100, rows({40})));
    cases.back().values = {lhs, rhs};
  }
  runRounded(cases);
}

/// Numbers that are none spread as they do otherwise. Of lhs, those of f32 that
/// f16 has not would be infinite if they were rounded as they are.
TEST_P(F16Strip, KeepsWhatIsNotFinite) {
  KernelCase test = product({"m"}, 130, 100, rows({40}));
  test.values = {{-1, 1}, {-4, 4, true}};
  runRounded({test});
}

TEST_P(F16Strip, ReadsRowsThatLieApart) {
  runRounded({product({"m"}, 1024, 50, rows({7, 65, 129})),
              product({"m"}, 4096, 100, rows({25, 70}))});
}

TEST_P(F16Strip, ComputesBehindTheProduct) {
  std::vector<KernelCase> cases = withMoreBehind();
  for (KernelCase &test : cases)
    test.tolerance = 8e-3; // Some results are bf16.
  runRounded(cases);
}

TEST_P(F16Strip, CombinesTwoHalvesOfItsColumns) {
  std::vector<KernelCase> cases;
  for (int64_t columns : {1, 48, 150})
    for (int64_t depth : {4, 898, 2048})
      cases.push_back(gated({"m"}, depth, columns, rows({0, 13, 70}), silu));
  for (KernelCase &test : cases)
    test.values = {{-0.5, 0.5}}, test.tolerance = 6e-3; // Of two sums.
  runRounded(cases);
}

TEST_P(F16Strip, TakesAMatrixPerBatch) {
  std::vector<KernelCase> cases;
  for (const char *depth : {"22", "1100"})
    for (const char *columns : {"48", "50"})
      cases.push_back(batches(depth, columns, rows({0, 9, 66})));
  runRounded(cases);
}

/// Weights of few bits become pairs of f16, and so does an lhs of bf16.
TEST_P(F16Strip, MakesPairsOfQuantizedWeights) {
  std::vector<KernelCase> cases;
  for (int64_t bits : {4, 8})
    for (auto [depth, block] : {std::pair<int64_t, int64_t>(64, 32),
                                {1056, 32},
                                {2048, 128},
                                {130, 0}}) {
      Quantized form;
      form.bits = bits, form.block = block, form.hasZeros = bits == 4;
      cases.push_back(addingF16(withHalfLhs(quantized(
          product({"m"}, depth, 100, rows({0, 24, 25, 67, 130})), form))));
      cases.back().tolerance = 3e-3;
    }
  run(cases);
}

TEST_P(F16Strip, MakesPairsOfPairsOfBf16) {
  std::vector<KernelCase> cases;
  for (int64_t depth : {64, 130, 896, 1056, 3072})
    for (bool lhsToo : {true, false}) {
      cases.push_back(addingF16(inPairs(
          product({"m"}, depth, 100, rows({0, 24, 25, 67, 130})), lhsToo)));
      cases.back().tolerance = 3e-3;
    }
  // f16 holds none of these.
  cases.push_back(addingF16(inPairs(product({"m"}, 128, 100, rows({40})))));
  cases.back().tolerance = 3e-3;
  cases.back().values = {{-1e20, 1e20}, {-1, 1}};
  run(cases);
}

TENON_FOR_LEVELS_OF_F16(F16Strip);

} // namespace
} // namespace tenon::test
