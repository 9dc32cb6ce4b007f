//===- PackedPairsTest.cpp - Matrix products with weights in bf16 ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/LevelTest.h"
#include "test/compiler/Targets/Cpu/MatmulCase.h"

namespace tenon::test {
namespace {

class PackedPairs : public LevelTest {
protected:
  /// With lhs in bf16 too, and without.
  void runPairs(const std::vector<KernelCase> &cases) {
    std::vector<KernelCase> pairs;
    for (const KernelCase &test : cases)
      for (bool lhsToo : {false, true})
        pairs.push_back(inPairs(test, lhsToo));
    run(pairs);
  }
};

TEST_P(PackedPairs, TakesAnyNumberOfRows) {
  std::vector<Symbols> sizes = rows({0, 65, 127, 128, 129, 130, 191, 257});
  for (int64_t m = 1; m <= 33; ++m) // Few are widened by each tile.
    sizes.push_back({{"m", m}});
  runPairs({product({"m"}, 6, 49, sizes)});
}

TEST_P(PackedPairs, TakesAnyNumberOfColumns) {
  std::vector<KernelCase> cases;
  for (int64_t columns : {1, 16, 47, 48, 49, 97, 1000})
    cases.push_back(product({"m"}, 14, columns, rows({1, 9, 67})));
  runPairs(cases);
}

TEST_P(PackedPairs, TakesAnyEvenDepth) {
  std::vector<KernelCase> cases;
  for (int64_t depth :
       {2, 4, 6, 8, 32, 34, 64, 514, 896, 1022, 1792, 1794, 3072})
    cases.push_back(product({"m"}, depth, 50, rows({3, 30})));
  runPairs(cases);
}

TEST_P(PackedPairs, CopiesRowsThatLiePagesApart) {
  std::string half = tensor({"m", "50"}, "bf16");
  runPairs({product({"m"}, 2048, 50, rows({1, 7, 9, 65, 129})),
            product({"m"}, 4096, 100, rows({0, 5, 70})),
            product({"m"}, 2048, 50, rows({3, 70}), "",
                    "%y = graph.cast %sums : (RESULT) -> " + half, "bf16")});
}

/// What follows adds a tensor of bf16 and rounds.
KernelCase plusInBf16(int64_t depth, int64_t columns,
                      std::vector<Symbols> sizes) {
  std::string type = tensor({"m", std::to_string(columns)}, "bf16");
  return product({"m"}, depth, columns, std::move(sizes), "%c: " + type,
                 "%d = graph.cast %c : (" + type +
                     ") -> RESULT\n"
                     "%e = graph.add %sums, %d : (RESULT, RESULT) -> RESULT\n"
                     "%y = graph.cast %e : (RESULT) -> " +
                     type,
                 "bf16");
}

TEST_P(PackedPairs, GivesBf16) {
  // One block of k; several, with more than one chunk of panels.
  runPairs({plusInBf16(30, 100, rows({1, 21, 70})),
            plusInBf16(770, 48 * 14, rows({1, 21, 70})),
            plusInBf16(3072, 100, rows({1, 21, 70}))});
}

/// Groups of rows that meet a panel together, and tiles of which AMX follows up
/// one while it multiplies the next: the last ones, short ones, those of panels
/// that are not full.
TEST_P(PackedPairs, FollowsTilesBesideOthers) {
  std::string added = "%y = graph.add %sums, %c : (RESULT, tensor<100xf32>) "
                      "-> RESULT";
  runPairs({plusInBf16(512, 100,
                       rows({0, 1, 15, 16, 17, 32, 33, 48, 49, 64, 65, 130, 300,
                             520})),
            plusInBf16(544, 48, rows({40, 129, 257})),
            plusInBf16(1792, 150, rows({31, 70, 260})),
            plusInBf16(64, 100, rows({385, 520, 1100})),
            product({"m"}, 512, 100, rows({20, 128, 600}),
                    "%c: tensor<100xf32>", added)});
}

TEST_P(PackedPairs, CombinesTwoHalvesOfItsColumns) {
  std::vector<KernelCase> cases;
  for (int64_t columns : {1, 48, 150})
    for (int64_t depth : {2, 898, 2048})
      cases.push_back(gated({"m"}, depth, columns, rows({0, 1, 13, 70}), silu));
  for (KernelCase &test : cases)
    test.values = {{-0.5, 0.5}};
  runPairs(cases);
}

TEST_P(PackedPairs, TakesAMatrixPerBatch) {
  std::vector<KernelCase> cases;
  for (const char *depth : {"20", "1100"})
    for (const char *columns : {"48", "50"})
      cases.push_back(batches(depth, columns, rows({0, 1, 9, 66})));
  runPairs(cases);
}

/// Rows that start at an odd element are no pairs.
TEST_P(PackedPairs, ReadsLhsThroughSlices) {
  std::vector<KernelCase> cases;
  for (int64_t start : {0, 1, 2, 5})
    for (const char *width : {"40", "41"}) {
      KernelCase test;
      test.name = "slice from " + std::to_string(start) + " of " + width;
      test.schedule = "PackedMatmul";
      std::string lies = tensor({"m", width}, "bf16");
      std::string seen = tensor({"m", "32"}, "bf16");
      std::string wide = tensor({"m", "32"}, "f32");
      std::string sums = tensor({"m", "50"}, "f32");
      test.arguments = "%a: " + lies + ", %b: tensor<32x50xbf16>";
      test.body =
          "%t = graph.slice %a {starts = #graph.dims<0, " +
          std::to_string(start) + ">, steps = #graph.dims<1, 1>} : (" + lies +
          ") -> " + seen + "\n%u = graph.cast %t : (" + seen + ") -> " + wide +
          "\n%v = graph.cast %b : (tensor<32x50xbf16>) -> tensor<32x50xf32>" +
          "\n%s = graph.matmul %u, %v : (" + wide + ", tensor<32x50xf32>) -> " +
          sums + "\nkernel.yield %s : " + sums;
      test.sizes = rows({0, 1, 9, 70});
      cases.push_back(test);
    }
  run(cases);
}

TENON_FOR_LEVELS_OF_PAIRS(PackedPairs);

} // namespace
} // namespace tenon::test
