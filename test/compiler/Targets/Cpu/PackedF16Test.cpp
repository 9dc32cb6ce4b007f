//===- PackedF16Test.cpp - Matrix products with weights in f16 ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/LevelTest.h"
#include "test/compiler/Targets/Cpu/MatmulCase.h"

namespace tenon::test {
namespace {

class PackedF16 : public LevelTest {
protected:
  void runF16(std::vector<KernelCase> cases) {
    for (KernelCase &test : cases)
      test = ofF16(test);
    run(cases);
  }
};

TEST_P(PackedF16, TakesAnyNumberOfRows) {
  std::vector<Symbols> sizes = rows({0, 65, 127, 128, 129, 130, 191, 257});
  for (int64_t m = 1; m <= 33; ++m) // Few are widened by each tile.
    sizes.push_back({{"m", m}});
  runF16({product({"m"}, 7, 49, sizes)});
}

TEST_P(PackedF16, TakesAnyNumberOfColumns) {
  std::vector<KernelCase> cases;
  for (int64_t columns : {1, 16, 17, 33, 47, 48, 49, 97, 1000})
    cases.push_back(product({"m"}, 13, columns, rows({1, 9, 67})));
  runF16(cases);
}

TEST_P(PackedF16, TakesAnyDepth) {
  std::vector<KernelCase> cases;
  for (int64_t depth :
       {1, 2, 3, 5, 8, 33, 515, 895, 896, 897, 1023, 1537, 3072})
    cases.push_back(product({"m"}, depth, 50, rows({3, 30})));
  runF16(cases);
}

/// Weights below 2^-14 and up to where f16 ends; and none that are numbers.
TEST_P(PackedF16, TakesAllNumbersOfF16) {
  std::vector<KernelCase> cases;
  for (Values values : {Values{-1e-5, 1e-5}, {-65504, 65504}, {-4, 4, true}}) {
    cases.push_back(product({"m"}, 21, 50, rows({2, 40})));
    cases.back().values = {{-1, 1}, values};
  }
  runF16(cases);
}

TEST_P(PackedF16, CopiesRowsThatLiePagesApart) {
  runF16({product({"m"}, 1024, 50, rows({1, 7, 9, 65, 129})),
          product({"m"}, 4096, 100, rows({0, 5, 24, 25, 70}))});
}

TEST_P(PackedF16, ReadsColumnsOfMemoryAsRows) {
  std::vector<KernelCase> cases;
  for (int64_t depth : {30, 898}) {
    std::string k = std::to_string(depth);
    KernelCase test = product({"m"}, depth, 50, rows({0, 1, 9, 25, 70}));
    std::string lies = tensor({k, "m"}, "f32"), seen = tensor({"m", k}, "f32");
    test.arguments.replace(test.arguments.find(seen), seen.size(), lies);
    test.body.replace(test.body.find("%a"), 2, "%t");
    test.body = "%t = graph.transpose %a {permutation = array<i64: 1, 0>} : (" +
                lies + ") -> " + seen + "\n" + test.body;
    test.name += " of columns";
    cases.push_back(test);
  }
  runF16(cases);
}

TEST_P(PackedF16, ComputesBehindTheProduct) { runF16(withMoreBehind()); }

TEST_P(PackedF16, CombinesTwoHalvesOfItsColumns) {
  std::vector<KernelCase> cases;
  for (int64_t columns : {1, 48, 150})
    for (int64_t depth : {3, 898, 2048})
      cases.push_back(gated({"m"}, depth, columns, rows({0, 1, 13, 70}), silu));
  for (KernelCase &test : cases)
    test.values = {{-0.5, 0.5}};
  runF16(cases);
}

/// Levels that do not add up in f16 leave lhs as it is.
TEST_P(PackedF16, IgnoresRounding) {
  KernelCase test = roundedToF16(product({"m"}, 130, 100, rows({1, 30})));
  test.tolerance = 1e-3;
  run({test});
}

TEST_P(PackedF16, TakesAMatrixPerBatch) {
  std::vector<KernelCase> cases;
  for (const char *depth : {"21", "1100"})
    for (const char *columns : {"48", "50"})
      cases.push_back(batches(depth, columns, rows({0, 1, 9, 66})));
  runF16(cases);
}

TENON_FOR_ALL_LEVELS(PackedF16);

} // namespace
} // namespace tenon::test
