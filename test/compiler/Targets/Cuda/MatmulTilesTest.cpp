//===- MatmulTilesTest.cpp - Matrix products by tiles on devices ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/model_format.h"
#include "test/compiler/Targets/Cuda/ProductCases.h"
#include <gtest/gtest.h>
#include <regex>

namespace tenon::test {
namespace {

const std::vector<Symbols> heads = {{{"b", 2}, {"m", 67}, {"n", 70}},
                                    {{"b", 1}, {"m", 1}, {"n", 130}}};

//===----------------------------------------------------------------------===//
// MatmulSimt
//===----------------------------------------------------------------------===//

TEST(MatmulSimt, TakesLargeTiles) {
  // Columns in fours, the whole depth in panels; and neither.
  runCases(products("MatmulSimt", "f32",
                    {withEpilogue("24", "260", rows({1, 127, 130})),
                     withEpilogue("40", "384", rows({128})),
                     withEpilogue("19", "259", rows({5, 140}))}));
}

TEST(MatmulSimt, TakesSmallTiles) {
  runCases(products("MatmulSimtSmall", "f32",
                    {withEpilogue("33", "70", rows({0, 1, 63, 65, 200})),
                     {{{"64", "48"}}, {{"48", "64"}}, {"64", "64"}},
                     {{{"m", "0"}}, {{"0", "20"}}, {"m", "20"}, rows({3})}}));
}

TEST(MatmulSimt, SharesLongSums) {
  runCases(products(
      "MatmulSimtSmall", "f32",
      {withEpilogue("300", "70", rows({5, 65})),
       gated("200", 37, rows({3})),
       turned("130", "50", rows({5})),
       {{{"2", "9", "130"}}, {{"2", "130", "40"}}, {"2", "9", "40"}}}));
}

TEST(MatmulSimt, ReadsOperandsAsTheyLie) {
  std::vector<Symbols> sizes = {{{"m", 70}, {"k", 21}, {"n", 65}},
                                {{"m", 4}, {"k", 1}, {"n", 4}}};
  runCases(products("MatmulSimt", "f32",
                    {{{{"k", "m"}, transpose("1, 0"), {"m", "k"}},
                      {{"n", "k"}, transpose("1, 0"), {"k", "n"}},
                      {"m", "n"},
                      sizes},
                     {{{"20", "132"}, transpose("1, 0"), {"132", "20"}},
                      {{"20", "68"}},
                      {"132", "68"}},
                     perHead("16", heads)}));
}

TEST(MatmulSimt, JoinsHalvesAndTurnsResults) {
  runCases(products(
      "MatmulSimt", "f32",
      {gated("24", 132, rows({3, 150})), gated("20", 37, rows({70})),
       turned("20", "50", rows({5, 70})), turned("32", "260", rows({5, 70})),
       turned("20", "m", rows({70}))}));
}

//===----------------------------------------------------------------------===//
// MatmulMma
//===----------------------------------------------------------------------===//

TEST(MatmulMma, TakesLargeTiles) {
  runCases(products("MatmulMma", "bf16",
                    {withEpilogue("72", "264", rows({1, 127, 130})),
                     withEpilogue("64", "384", rows({128})),
                     withEpilogue("38", "262", rows({5, 140}))}));
}

TEST(MatmulMma, TakesSmallTiles) {
  runCases(products("MatmulMmaSmall", "bf16",
                    {withEpilogue("34", "70", rows({0, 1, 63, 65, 200})),
                     withEpilogue("200", "48", rows({40})),
                     withEpilogue("39", "71", rows({5, 70})),
                     {{{"64", "48"}}, {{"48", "64"}}, {"64", "64"}},
                     {{{"m", "0"}}, {{"0", "20"}}, {"m", "20"}, rows({3})}}));
}

TEST(MatmulMma, SharesLongSums) {
  runCases(products(
      "MatmulMmaSmall", "bf16",
      {withEpilogue("520", "70", rows({5, 65})),
       gated("392", 40, rows({3})),
       {{{"2", "9", "264"}}, {{"2", "264", "40"}}, {"2", "9", "40"}}}));
}

TEST(MatmulMma, ReadsOperandsAsTheyLie) {
  runCases(products("MatmulMma", "bf16",
                    {{{{"44", "132"}, transpose("1, 0"), {"132", "44"}},
                      {{"68", "44"}, transpose("1, 0"), {"44", "68"}},
                      {"132", "68"}},
                     {{{"40", "136"}, transpose("1, 0"), {"136", "40"}},
                      {{"264", "40"}, transpose("1, 0"), {"40", "264"}},
                      {"136", "264"}},
                     perHead("16", heads)}));
}

TEST(MatmulMma, JoinsHalvesAndTurnsResults) {
  runCases(products(
      "MatmulMma", "bf16",
      {gated("40", 136, rows({3, 150})), gated("20", 38, rows({70})),
       turned("24", "50", rows({5, 70})), turned("32", "264", rows({5, 70})),
       turned("24", "m", rows({70}))}));
}

TEST(MatmulMma, MultipliesHalves) {
  Product half = {{{"m", "40"}}, {{"40", "72"}}, {"m", "72"}, rows({67})};
  runCases({product("MatmulMma", "f16", half)});
  half.isWidened = false;
  runCases({product("MatmulMma", "bf16", half)});
}

//===----------------------------------------------------------------------===//
// MatmulTf32
//===----------------------------------------------------------------------===//

void runTf32(const std::string &schedule, double tolerance) {
  std::vector<Symbols> odd = {{{"m", 70}, {"k", 21}, {"n", 65}}};
  std::vector<KernelCase> small =
      products(schedule + "Small", "f32",
               {withEpilogue("72", "68", rows({5, 65})),
                withEpilogue("39", "71", rows({63})),
                withEpilogue("300", "40", rows({9})),
                gated("20", 36, rows({3})),
                {{{"k", "m"}, transpose("1, 0"), {"m", "k"}},
                 {{"n", "k"}, transpose("1, 0"), {"k", "n"}},
                 {"m", "n"},
                 odd}});
  std::vector<KernelCase> cases =
      products(schedule, "f32",
               {withEpilogue("36", "132", rows({1, 130})),
                {{{"20", "132"}, transpose("1, 0"), {"132", "20"}},
                 {{"68", "20"}, transpose("1, 0"), {"20", "68"}},
                 {"132", "68"}}});
  cases.insert(cases.end(), small.begin(), small.end());
  for (KernelCase &each : cases)
    each.tolerance = tolerance;
  runCases(cases);
}

TEST(MatmulTf32, RoundsFactors) { runTf32("MatmulTf32", 5e-3); }

TEST(MatmulTf32, SplitsFactors) { runTf32("MatmulTf32x3", 2e-6); }

//===----------------------------------------------------------------------===//
// Matrices that batches choose
//===----------------------------------------------------------------------===//

/// A product whose batches have one of five matrices each, by indices that may
/// count from the end.
KernelCase picked(const std::string &schedule, const std::string &in,
                  const std::string &depth, const std::string &columns,
                  std::vector<Symbols> sizes) {
  KernelCase test = product(schedule, in,
                            {{{"t", "m", depth}},
                             {{"t", depth, columns}},
                             {"t", "m", columns},
                             std::move(sizes)});
  std::string all = tensor({"5", depth, columns}, in),
              own = tensor({"t", depth, columns}, in),
              indices = tensor({"t"}, "i64");
  size_t at = test.arguments.find("%b: ");
  test.arguments.replace(at, 4 + own.size(), "%b: " + all + ", %i: " + indices);
  test.body = "%bp = graph.gather %b, %i {axis = 0 : i64} : (" + all + ", " +
              indices + ") -> " + own + "\n" +
              std::regex_replace(test.body, std::regex("%b\\b"), "%bp");
  test.name += ", picked";
  test.values = {{}, {}, {-5, 4}};
  return test;
}

TEST(PickedMatrices, AreReadInPlace) {
  const std::vector<Symbols> sizes = {
      {{"t", 1}, {"m", 1}}, {{"t", 4}, {"m", 3}}, {{"t", 2}, {"m", 70}}};
  for (const char *schedule : {"MatmulSimt", "MatmulSimtSmall"})
    runCases({picked(schedule, "f32", "20", "70", sizes),
              picked(schedule, "f32", "33", "64", sizes)});
  for (const char *schedule : {"MatmulMma", "MatmulMmaSmall"})
    runCases({picked(schedule, "bf16", "40", "72", sizes),
              picked(schedule, "bf16", "33", "71", sizes)});
  for (const char *in : {"f32", "bf16"})
    runCases({picked("MatmulRows", in, "20", "70", sizes),
              picked("MatmulRows", in, "512", "64", sizes)});
}

TEST(PickedMatrices, ThatAreNotThereAreFaults) {
  for (const char *schedule : {"MatmulSimtSmall", "MatmulRows"}) {
    KernelCase test =
        picked(schedule, "f32", "20", "70", {{{"t", 3}, {"m", 2}}});
    test.values.back() = {5, 9};
    test.fault = TENON_FAULT_INDEX;
    runCases({test});
  }
}

} // namespace
} // namespace tenon::test
