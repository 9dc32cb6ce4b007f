//===- ConvTilesTest.cpp - Convolutions by tiles on devices ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/ConvCase.h"
#include <gtest/gtest.h>

namespace tenon::test {
namespace {

struct Schedule {
  std::string name, element;
};

class ConvTiles : public ::testing::TestWithParam<Schedule> {
protected:
  KernelCase of(FixedConv conv, const Numbers &images = {1}) {
    conv.element = GetParam().element;
    return conv.with(GetParam().name, images);
  }
};

/// Taps of equal number along two axes, that leave the image by `pad`.
FixedConv square(int64_t channels, int64_t maps, Numbers image, int64_t taps,
                 int64_t stride, int64_t pad) {
  return {1,
          channels,
          maps,
          image,
          {taps, taps},
          {stride, stride},
          {1, 1},
          {pad, pad, pad, pad}};
}

TEST_P(ConvTiles, CopiesChannelsByAsManyAsFit) {
  runCases({of(square(16, 24, {7, 9}, 3, 1, 1), {0, 3}),
            of(square(12, 70, {6, 5}, 3, 1, 1)),
            of(square(6, 8, {9, 7}, 3, 1, 1)),
            of(square(3, 64, {17, 15}, 7, 2, 3)),
            of(square(40, 16, {5, 5}, 1, 1, 0)),
            // The taps of a line lie together.
            of(square(3, 24, {32, 16}, 8, 8, 0)),
            of(square(3, 20, {9, 13}, 4, 3, 0))});
}

TEST_P(ConvTiles, GoesOverImagesInAnyWay) {
  runCases({of({1, 8, 16, {9, 12}, {3, 2}, {2, 3}, {1, 2}, {0, 2, 3, 1}}),
            of({1, 4, 9, {40}, {5}, {4}, {3}, {5, 0}}, {1, 3}),
            of({1,
                8,
                10,
                {3, 5, 6},
                {2, 2, 3},
                {1, 2, 1},
                {1, 1, 2},
                {0, 1, 2, 1, 0, 2}}),
            of({1, 16, 32, {16, 16}, {8, 8}, {8, 8}, {1, 1}, {0, 0, 0, 0}}),
            of({1, 32, 16, {6, 6}, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}}),
            // Whole windows lie outside.
            of({1, 8, 8, {3, 4}, {2, 2}, {1, 1}, {1, 1}, {4, 3, 5, 6}})});
}

TEST_P(ConvTiles, ReadsGroupsOfChannels) {
  runCases({of({2, 16, 24, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}),
            of({3, 5, 9, {7, 5}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}}, {2})});
}

TEST_P(ConvTiles, SharesLongWindowsBetweenBlocks) {
  runCases({of(square(64, 70, {5, 7}, 3, 1, 1)),
            of(square(200, 24, {8, 9}, 1, 1, 0), {2})});
}

TEST_P(ConvTiles, ComputesWhatFollows) {
  std::vector<KernelCase> cases;
  for (size_t i : {1, 3}) { // A residual; and the sums twice.
    FixedConv conv = square(16, 20, {9, 8}, 1, 1, 0);
    conv.behind = commonEpilogues(20)[i];
    cases.push_back(of(conv, {2}));
  }
  FixedConv narrow = square(16, 20, {9, 8}, 1, 1, 0);
  narrow.behind = castTo("bf16", {"n", "9", "8", "20"});
  cases.push_back(of(narrow));
  runCases(cases);
}

TEST_P(ConvTiles, TakesImagesOfAnySize) {
  auto conv = [&](const std::string &channels, const std::string &maps) {
    KernelCase test = convCase(
        GetParam().name, {{1, 2}, {1, 1}, {1, 1, 1, 1}, 1, GetParam().element},
        {"n", "h", "w", channels}, {maps, channels, "3", "3"},
        {"n", "h", "floordiv(w + -1, 2) + 1", maps}, {});
    test.sizes = {{{"n", 2}, {"h", 5}, {"w", 9}},
                  {{"n", 1}, {"h", 1}, {"w", 1}},
                  {{"n", 0}, {"h", 3}, {"w", 3}},
                  {{"n", 1}, {"h", 12}, {"w", 26}}};
    return test;
  };
  runCases({conv("8", "24"), conv("3", "72")});
}

INSTANTIATE_TEST_SUITE_P(, ConvTiles,
                         ::testing::Values(Schedule{"ConvSimt", "f32"},
                                           Schedule{"ConvSimtSmall", "f32"},
                                           Schedule{"ConvMma", "bf16"},
                                           Schedule{"ConvMmaSmall", "bf16"}),
                         [](const auto &info) { return info.param.name; });

/// Factors are rounded, or split in two parts; all else is as above.
void runTf32(const std::string &schedule, double tolerance) {
  std::vector<KernelCase> cases;
  auto add = [&](const std::string &size, FixedConv conv,
                 const Numbers &images = {1}) {
    cases.push_back(conv.with(schedule + size, images));
    cases.back().tolerance = tolerance;
  };
  FixedConv residual = square(16, 20, {9, 8}, 1, 1, 0);
  residual.behind = commonEpilogues(20)[1];
  add("", square(16, 24, {7, 9}, 3, 1, 1), {0, 3});
  add("", square(12, 70, {6, 5}, 3, 1, 1));
  add("", square(3, 64, {17, 15}, 7, 2, 3));
  add("", residual, {2});
  add("Small", square(6, 8, {9, 7}, 3, 1, 1));
  add("Small", square(64, 70, {5, 7}, 3, 1, 1));
  add("Small", {3, 5, 9, {7, 5}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}}, {2});
  add("Small", {1, 8, 8, {3, 4}, {2, 2}, {1, 1}, {1, 1}, {4, 3, 5, 6}});
  runCases(cases);
}

TEST(ConvTf32, RoundsFactors) { runTf32("ConvTf32", 5e-3); }

TEST(ConvTf32, SplitsFactors) { runTf32("ConvTf32x3", 4e-6); }

TEST(ConvMma, MultipliesHalves) {
  for (std::string type : {"f16", "bf16"}) {
    KernelCase test =
        one("conv",
            "{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, "
            "pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last}",
            {tensor({"2", "6", "5", "8"}, type),
             tensor({"12", "8", "3", "3"}, type)},
            {tensor({"2", "6", "5", "12"}, type)});
    test.schedule = "ConvMma";
    runCases({test});
  }
}

} // namespace
} // namespace tenon::test
