//===- WinogradConvTest.cpp - 3x3 convolutions with fewer products --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/ConvCase.h"
#include "test/compiler/Targets/Cpu/LevelTest.h"

namespace tenon::test {
namespace {

/// A convolution of `n` images [height, width, channels] to some maps.
struct Conv {
  int64_t height, width, channels, maps;
  Numbers pads = {1, 1, 1, 1};
  Behind behind = {};
  Numbers dilations = {1, 1};

  KernelCase with(int64_t outputs, const Numbers &images) const {
    auto text = [](int64_t number) { return std::to_string(number); };
    Dims input = {"n", text(height), text(width), text(channels)};
    Dims result = {"n", text(height + pads[0] + pads[2] - 2 * dilations[0]),
                   text(width + pads[1] + pads[3] - 2 * dilations[1]),
                   text(maps)};
    KernelCase test =
        convCase("WinogradF" + text(outputs), {{1, 1}, dilations, pads, 1},
                 input, {text(maps), text(channels), "3", "3"}, result, behind);
    test.sizes.clear();
    for (int64_t count : images)
      test.sizes.push_back({{"n", count}});
    // What transforms lose, of sums of a few hundred products.
    test.tolerance = outputs == 2 ? 4e-6 : 4e-5;
    return test;
  }
};

const std::vector<Conv> withAnyPads = {{16, 16, 32, 32, {0, 0, 0, 0}},
                                       {15, 17, 32, 32, {2, 0, 1, 3}},
                                       {18, 18, 32, 32, {-1, -2, 1, 2}},
                                       {15, 20, 32, 32, {7, 9, 0, -3}}};

class WinogradConv : public LevelTest {
protected:
  using LevelTest::run;
  void run(const std::vector<Conv> &convs, const Numbers &images = {1, 2}) {
    std::vector<KernelCase> cases;
    for (const Conv &conv : convs)
      for (int64_t outputs : {2, 4})
        cases.push_back(conv.with(outputs, images));
    run(cases);
  }
};

TEST_P(WinogradConv, TakesAnyImage) {
  std::vector<Conv> convs;
  for (int64_t width : {14, 15, 16, 17, 29})
    convs.push_back({14, width, 32, 32});
  convs.push_back({1, 200, 32, 32});
  convs.push_back({199, 1, 32, 32});
  convs.push_back({67, 3, 32, 32});
  run(convs, {1, 3, 0});
}

TEST_P(WinogradConv, TakesAnyPads) { run(withAnyPads); }

/// A tile's outputs lie as far apart as taps, and some beside the image.
TEST_P(WinogradConv, TakesTapsThatLieApart) {
  run({{32, 32, 32, 40, {4, 4, 4, 4}, {}, {4, 4}},
       {48, 46, 32, 40, {3, 3, 3, 3}, {}, {3, 3}}},
      {1, 3});
  std::vector<KernelCase> cases;
  for (const Conv &conv : std::vector<Conv>{
           {33, 30, 32, 32, {2, 2, 2, 2}, {}, {2, 2}},
           {24, 35, 32, 32, {3, 1, 3, 1}, {}, {3, 1}},
           {17, 32, 32, 32, {0, 5, 2, 3}, {}, {1, 4}},
           {23, 29, 64, 50, {-1, 6, 9, 0}, commonEpilogues(50)[0], {2, 3}},
           {46, 44, 96, 32, {6, 6, 6, 6}, {}, {6, 6}}})
    cases.push_back(conv.with(/*outputs=*/2, {1, 2}));
  for (const char *schedule : {"WinogradF2", "WinogradF4"}) {
    cases.push_back(convCase(schedule, {{1, 1}, {2, 4}, {2, 4, 2, 4}, 1},
                             {"n", "h", "w", "32"}, {"40", "32", "3", "3"},
                             {"n", "h", "w", "40"}, {}));
    cases.back().sizes = {{{"n", 2}, {"h", 15}, {"w", 14}},
                          {{"n", 1}, {"h", 1}, {"w", 3}},
                          {{"n", 1}, {"h", 41}, {"w", 44}},
                          {{"n", 0}, {"h", 8}, {"w", 8}}};
    cases.back().tolerance = schedule[9] == '2' ? 4e-6 : 4e-5;
  }
  run(cases);
}

TEST_P(WinogradConv, TakesAnyNumberOfChannels) {
  std::vector<Conv> convs;
  for (int64_t channels : {32, 48, 144})
    for (int64_t maps : {33, 47, 64, 100})
      convs.push_back({14, 14, channels, maps});
  run(convs, {1});
}

TEST_P(WinogradConv, CutsImagesIntoBlocks) {
  run({{40, 44, 96, 32}, {14, 14, 512, 32}, {28, 27, 128, 70}}, {1, 2});
}

/// Of so many that the second level of the cache holds a tile or two.
TEST_P(WinogradConv, TakesManyChannels) {
  std::vector<KernelCase> cases;
  for (const Conv &conv : {Conv{20, 21, 1296, 40}, Conv{12, 11, 2560, 33}})
    cases.push_back(conv.with(/*outputs=*/2, {1}));
  run(cases);
}

/// As many tiles as there are at run time: less than a strip, some of a block,
/// and several blocks.
TEST_P(WinogradConv, TakesImagesOfAnySize) {
  std::vector<Symbols> sizes = {
      {{"n", 2}, {"h", 15}, {"w", 14}}, {{"n", 1}, {"h", 3}, {"w", 3}},
      {{"n", 1}, {"h", 41}, {"w", 44}}, {{"n", 3}, {"h", 2}, {"w", 90}},
      {{"n", 0}, {"h", 8}, {"w", 8}},
  };
  std::vector<KernelCase> cases;
  for (const char *channels : {"16", "32", "208"})
    for (const char *schedule : {"WinogradF2", "WinogradF4"})
      for (bool isPadded : {true, false}) {
        Numbers pads(4, isPadded);
        std::string cut = isPadded ? "" : " + -2";
        cases.push_back(convCase(
            schedule, {{1, 1}, {1, 1}, pads, 1}, {"n", "h", "w", channels},
            {"40", channels, "3", "3"}, {"n", "h" + cut, "w" + cut, "40"}, {}));
        cases.back().sizes = sizes;
        cases.back().tolerance = schedule[9] == '2' ? 4e-6 : 4e-5;
      }
  run(cases);
}

TEST_P(WinogradConv, RunsWhatFollows) {
  std::vector<Conv> convs;
  for (const Behind &behind : commonEpilogues(40))
    convs.push_back({14, 15, 32, 40, {1, 1, 1, 1}, behind});
  run(convs);
}

TENON_FOR_ALL_LEVELS(WinogradConv);

/// Of bf16: on levels that multiply pairs by lines of the image.
class WinogradPairs : public LevelTest {
protected:
  using LevelTest::run;
  void run(const std::vector<Conv> &convs, const Numbers &images = {1, 2}) {
    std::vector<KernelCase> cases;
    for (const Conv &conv : convs) {
      FixedConv fixed = {
          1,           conv.channels, conv.maps, {conv.height, conv.width},
          {3, 3},      {1, 1},        {1, 1},    conv.pads,
          conv.behind, "bf16"};
      cases.push_back(fixed.with("WinogradPairs", images));
    }
    run(cases);
  }
};

/// Of one block, and of several that tiles fill or not.
TEST_P(WinogradPairs, TakesAnyImage) {
  std::vector<Conv> convs;
  for (int64_t width : {14, 15, 16, 17, 29})
    convs.push_back({14, width, 32, 32});
  for (Numbers image : std::vector<Numbers>{{15, 14},
                                            {28, 28},
                                            {27, 29},
                                            {38, 17},
                                            {57, 30},
                                            {2, 200},
                                            {9, 131},
                                            {60, 9}})
    convs.push_back({image[0], image[1], 32, 50});
  run(convs, {1, 3, 0});
}

TEST_P(WinogradPairs, TakesAnyPads) { run(withAnyPads); }

TEST_P(WinogradPairs, TakesAnyNumberOfChannels) {
  std::vector<Conv> convs;
  for (int64_t channels : {32, 48, 144})
    for (int64_t maps : {24, 33, 47, 48, 49, 64, 70, 97, 112, 144})
      convs.push_back({14, 14, channels, maps});
  convs.push_back({14, 14, 256, 256});
  run(convs, {1});
}

TEST_P(WinogradPairs, RunsWhatFollows) {
  std::vector<Conv> convs;
  std::vector<Behind> all = commonEpilogues(70);
  for (std::string element : {"f16", "bf16", "f64"})
    all.push_back(castTo(element, {"n", "14", "15", "70"}));
  for (const Behind &behind : all)
    convs.push_back({14, 15, 32, 70, {1, 1, 1, 1}, behind});
  run(convs);
}

TENON_FOR_LEVELS_OF_PAIRS(WinogradPairs);

} // namespace
} // namespace tenon::test
