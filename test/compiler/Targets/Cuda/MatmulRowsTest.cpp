//===- MatmulRowsTest.cpp - Matrix products of few rows on devices --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cuda/ProductCases.h"
#include <gtest/gtest.h>

namespace tenon::test {
namespace {

/// rhs as a table of rows of k.
Operand table(const std::string &depth, const std::string &columns) {
  return {{columns, depth}, transpose("1, 0"), {depth, columns}};
}

Product tied(const std::string &depth, const std::string &columns,
             std::vector<Symbols> sizes) {
  return {.a = {{"m", depth}},
          .b = table(depth, columns),
          .result = {"m", columns},
          .sizes = std::move(sizes)};
}

TEST(MatmulRows, ReadsColumnsThatLieTogether) {
  // Runs of four steps in twos, in ones, and what is left of them; columns that
  // are wide, not there, and not aligned.
  runCases(products("MatmulRows", "f32",
                    {withEpilogue("264", "72", rows({1, 3, 13})),
                     withEpilogue("133", "35", rows({1, 7})),
                     withEpilogue("3", "20", rows({0, 1, 16})),
                     withEpilogue("130", "1", rows({2})),
                     {{{"m", "0"}}, {{"0", "20"}}, {"m", "20"}, rows({3})}}));
}

TEST(MatmulRows, ReadsStepsThatLieTogether) {
  runCases(
      products("MatmulRows", "f32",
               {tied("272", "40", rows({1, 3, 13})),
                tied("131", "33", rows({5})), tied("2", "9", rows({1, 6}))}));
}

TEST(MatmulRows, SharesLongSums) {
  // Eight blocks and more for each part of the result.
  runCases(products("MatmulRows", "f32",
                    {withEpilogue("1100", "40", rows({5})),
                     {{{"2", "1536"}}, {{"1536", "24"}}, {"2", "24"}},
                     tied("1160", "33", rows({1, 9})),
                     gated("1030", 20, rows({2}))}));
}

TEST(MatmulRows, WidensHalves) {
  runCases(products(
      "MatmulRows", "bf16",
      {withEpilogue("392", "136", rows({1, 4, 8})),
       withEpilogue("70", "35", rows({1, 6})), gated("136", 72, rows({1, 5})),
       tied("520", "40", rows({1, 3, 7})), tied("258", "6", rows({2}))}));
  Product half = {{{"m", "300"}}, {{"300", "24"}}, {"m", "24"}, rows({1, 5})};
  runCases({product("MatmulRows", "f16", half),
            product("MatmulRows", "f16", tied("300", "24", rows({2})))});
}

TEST(MatmulRows, ReadsOperandsAsTheyLie) {
  runCases(products(
      "MatmulRows", "f32",
      {{{{"k", "m"}, transpose("1, 0"), {"m", "k"}},
        table("k", "n"),
        {"m", "n"},
        {{{"m", 2}, {"k", 70}, {"n", 37}}, {{"m", 1}, {"k", 1}, {"n", 1}}}},
       {{{"60", "4"}, transpose("1, 0"), {"4", "60"}},
        {{"60", "68"}},
        {"4", "68"}},
       perHead("16", {{{"b", 2}, {"m", 1}, {"n", 70}},
                      {{"b", 1}, {"m", 9}, {"n", 33}}})}));
}

TEST(MatmulRows, JoinsHalvesAndTurnsResults) {
  runCases(products("MatmulRows", "f32",
                    {gated("24", 132, rows({3})), gated("20", 37, rows({1})),
                     turned("20", "50", rows({5})),
                     turned("32", "36", rows({1, 10})),
                     // Sizes do not tell it from its transposition.
                     turned("20", "m", rows({5}))}));
}

} // namespace
} // namespace tenon::test
