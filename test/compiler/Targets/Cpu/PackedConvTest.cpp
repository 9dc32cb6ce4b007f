//===- PackedConvTest.cpp - Convolutions with packed filters --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/ConvCase.h"
#include "test/compiler/Targets/Cpu/LevelTest.h"

namespace tenon::test {
namespace {

/// A convolution of images [n, h.., C] with a weight, of any size.
struct Conv {
  int64_t channels, maps;
  Numbers taps, strides, dilations, pads;
  bool isDepthwise = false;
  Behind behind = {};
  std::string element = "f32";

  /// At sizes of images: n, h.. each.
  KernelCase at(const std::vector<Numbers> &images) const {
    int64_t groups = isDepthwise ? channels : 1;
    Sliding sliding = {strides, dilations, pads, groups, element};
    AnyConv any = AnyConv::of(channels, groups, maps, taps, sliding);
    KernelCase test =
        convCase(isDepthwise ? "DepthwiseConv" : "PackedConv", sliding,
                 any.input, any.filter, any.result, behind);
    test.sizes = sizesOf(images);
    return test;
  }
};

class PackedConv : public LevelTest {};

const std::vector<Numbers> images = {{1, 1, 1},  {1, 7, 7},  {3, 5, 9},
                                     {0, 5, 5},  {1, 13, 2}, {2, 2, 12},
                                     {1, 17, 11}};

std::vector<Conv> windows(int64_t channels) {
  return {{channels, 50, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
          {channels, 50, {1, 1}, {2, 3}, {1, 1}, {0, 0, 0, 0}},
          {channels, 50, {1, 1}, {1, 1}, {1, 1}, {1, 0, 2, 1}},
          {channels, 50, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
          {channels, 50, {7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}},
          {channels, 50, {3, 3}, {3, 1}, {1, 1}, {0, 2, 2, 1}},
          {channels, 50, {3, 3}, {1, 1}, {2, 2}, {2, 2, 2, 2}},
          {channels, 50, {3, 2}, {2, 1}, {1, 2}, {4, 0, 1, 2}},
          {channels, 50, {3, 3}, {1, 1}, {1, 1}, {-1, 3, 3, 0}}};
}

// Dilated windows as wide as the image and wider, of which blocks of rows leave
// out most taps, or all of them.
TEST_P(PackedConv, LeavesOutTapsBesideTheImage) {
  std::vector<Numbers> images = {
      {1, 16, 16}, {2, 5, 9}, {1, 33, 7}, {3, 1, 1}, {2, 20, 13}};
  std::vector<KernelCase> cases;
  for (int64_t maps : {20, 48, 70, 112})
    for (int64_t reach : {2, 12, 24})
      cases.push_back(Conv{
          400,
          maps,
          {3, 3},
          {1, 1},
          {reach, reach},
          {reach, reach, reach,
           reach}}.at(images));
  cases.push_back(
      Conv{900, 50, {3, 3}, {2, 1}, {6, 1}, {6, 1, 6, 1}}.at(images));
  cases.push_back(
      Conv{300, 50, {2, 3}, {1, 2}, {9, 5}, {12, 30, 3, 30}}.at(images));
  for (const Behind &behind : commonEpilogues(70))
    cases.push_back(
        Conv{400, 70, {3, 3}, {1, 1}, {8, 8}, {8, 8, 8, 8}, false, behind}.at(
            images));
  run(cases);
}

TEST_P(PackedConv, TakesAnyNumberOfChannels) {
  std::vector<KernelCase> cases;
  for (int64_t channels : {1, 3, 16, 47, 48, 49, 70})
    for (int64_t maps : {1, 48, 50})
      cases.push_back(
          Conv{channels, maps, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}.at(
              {{1, 7, 7}, {2, 3, 14}}));
  for (int64_t maps : {3, 16, 47, 49, 70, 97})
    cases.push_back(Conv{5, maps, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}.at(
        {{1, 7, 7}, {2, 3, 14}}));
  run(cases);
}

// Up to 48 maps, where few pixels are cut in two for a second thread.
TEST_P(PackedConv, CutsFewPixelsOfOnePanel) {
  std::vector<Numbers> lines;
  for (int64_t pixels : {31, 32, 33, 47, 63, 64, 65, 97, 300, 600})
    lines.push_back({1, pixels});
  std::vector<KernelCase> cases;
  for (int64_t maps : {5, 48})
    for (const std::string &element : {"f32", "bf16"})
      cases.push_back(
          Conv{20, maps, {31}, {1}, {1}, {15, 15}, false, {}, element}.at(
              lines));
  run(cases);
}

TEST_P(PackedConv, TakesAnyWindow) {
  std::vector<KernelCase> cases;
  for (int64_t channels : {3, 16})
    for (const Conv &conv : windows(channels))
      cases.push_back(conv.at(images));
  cases.push_back(Conv{3, 20, {4, 4}, {4, 4}, {1, 1}, {0, 0, 0, 0}}.at(
      {{1, 4, 4}, {2, 8, 13}}));
  run(cases);
}

TEST_P(PackedConv, TakesOneAxisOrThree) {
  run({Conv{7, 50, {3}, {1}, {1}, {1, 1}}.at({{1, 1}, {2, 30}, {1, 200}}),
       Conv{7, 50, {3}, {2}, {1}, {1, 1}}.at({{1, 1}, {2, 31}, {0, 9}}),
       Conv{7, 50, {4}, {1}, {3}, {9, 0}}.at({{1, 5}, {2, 30}}),
       Conv{5, 9, {2, 3, 2}, {1, 2, 1}, {1, 1, 2}, {0, 1, 1, 1, 0, 1}}.at(
           {{1, 3, 5, 4}, {2, 2, 4, 6}})});
}

TEST_P(PackedConv, CutsTheDepthIntoBlocks) {
  std::vector<Numbers> small = {{1, 3, 5}, {2, 9, 8}};
  run({Conv{300, 50, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}.at(small),
       Conv{270, 50, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}}.at(small),
       Conv{100, 50, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}.at(small),
       Conv{100, 50, {3, 3}, {1, 1}, {2, 2}, {1, 1, 1, 1}}.at(small),
       Conv{1000, 50, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}}.at(small),
       Conv{1024, 50, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}}.at(small),
       Conv{1000, 17 * 48, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}}.at(small)});
}

TEST_P(PackedConv, RunsWhatFollows) {
  std::vector<KernelCase> cases;
  for (const Behind &behind : commonEpilogues(100))
    for (int64_t taps : {1, 3})
      for (bool isDepthwise : {false, true}) {
        int64_t pad = taps / 2;
        cases.push_back(Conv{isDepthwise ? 100 : 10,
                             100,
                             {taps, taps},
                             {1, 1},
                             {1, 1},
                             {pad, pad, pad, pad},
                             isDepthwise,
                             behind}
                            .at(images));
      }
  for (std::string element : {"f16", "bf16", "f64"})
    cases.push_back(Conv{10,
                         100,
                         {3, 1},
                         {1, 1},
                         {1, 1},
                         {1, 0, 1, 0},
                         false,
                         castTo(element, {"n", "h0", "h1", "100"})}
                        .at(images));
  run(cases);
}

TEST_P(PackedConv, ConvolvesEachChannelByItself) {
  std::vector<KernelCase> cases;
  for (int64_t channels : {1, 3, 8, 16, 47, 48, 64, 70, 150})
    cases.push_back(
        Conv{channels, channels, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, true}.at(
            {{1, 7, 7}, {2, 3, 14}, {0, 3, 3}}));
  for (const Conv &conv :
       std::vector<Conv>{{20, 20, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, true},
                         {20, 20, {7, 7}, {1, 1}, {1, 1}, {3, 3, 3, 3}, true},
                         {20, 20, {5, 5}, {2, 2}, {1, 1}, {2, 2, 2, 2}, true},
                         {20, 20, {3, 3}, {3, 2}, {2, 2}, {2, 0, 3, 4}, true},
                         {20, 20, {3, 3}, {1, 1}, {1, 1}, {-1, 3, 3, 0}, true}})
    cases.push_back(conv.at(images));
  cases.push_back(
      Conv{70, 70, {4}, {1}, {1}, {3, 0}, true}.at({{1, 1}, {2, 30}}));
  run(cases);
}

/// Of images and filters in bf16, whose channels are pairs.
class ConvPairs : public LevelTest {
protected:
  static Conv pairsOf(Conv conv) {
    conv.element = "bf16";
    return conv;
  }
};

TEST_P(ConvPairs, TakesAnyEvenNumberOfChannels) {
  std::vector<KernelCase> cases;
  std::vector<Numbers> sizes = {{1, 7, 7}, {2, 3, 14}, {0, 3, 3}, {1, 12, 13}};
  for (int64_t channels : {2, 4, 14, 32, 48, 64, 70})
    for (int64_t maps : {1, 48, 50})
      cases.push_back(
          pairsOf({channels, maps, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}})
              .at(sizes));
  for (int64_t maps : {3, 16, 47, 49, 70, 97, 144})
    for (int64_t taps : {1, 3})
      cases.push_back(pairsOf({6,
                               maps,
                               {taps, taps},
                               {1, 1},
                               {1, 1},
                               {taps / 2, taps / 2, taps / 2, taps / 2}})
                          .at(sizes));
  run(cases);
}

TEST_P(ConvPairs, TakesAnyWindow) {
  std::vector<KernelCase> cases;
  for (int64_t channels : {2, 36})
    for (const Conv &conv : windows(channels))
      cases.push_back(pairsOf(conv).at(images));
  cases.push_back(
      pairsOf({8, 50, {3}, {2}, {1}, {1, 1}}).at({{1, 1}, {2, 31}, {0, 9}}));
  cases.push_back(
      pairsOf({4, 9, {2, 3, 2}, {1, 2, 1}, {1, 1, 2}, {0, 1, 1, 1, 0, 1}})
          .at({{1, 3, 5, 4}, {2, 2, 4, 6}}));
  run(cases);
}

/// Sums wait in the result, on the stack, or in scratch memory where the result
/// is of bf16.
TEST_P(ConvPairs, CutsTheDepthIntoBlocks) {
  std::vector<Numbers> small = {{1, 3, 5}, {2, 9, 8}};
  std::vector<KernelCase> cases;
  for (const Conv &conv : std::vector<Conv>{
           {600, 50, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
           {540, 96, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
           {200, 50, {3, 3}, {1, 1}, {2, 2}, {1, 1, 1, 1}},
           {1600, 50, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
           {2048, 50, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
           {4096, 50, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
           {1600, 17 * 48 + 2, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}}}) {
    cases.push_back(pairsOf(conv).at(small));
  }
  // One whose result is as many pixels as the image, in bf16 with a chunk of
  // panels and another one.
  cases.push_back(pairsOf({400,
                           17 * 48 + 2,
                           {3, 3},
                           {1, 1},
                           {1, 1},
                           {1, 1, 1, 1},
                           false,
                           castTo("bf16", {"n", "h0", "h1", "818"})})
                      .at(small));
  run(cases);
}

TEST_P(ConvPairs, RunsWhatFollows) {
  std::vector<KernelCase> cases;
  const std::vector<Numbers> images = {{1, 7, 7}, {0, 5, 5}, {2, 2, 12}};
  for (int64_t channels : {10, 400})
    for (int64_t taps : {1, 3}) {
      int64_t pad = taps / 2;
      Conv conv = {channels, 100,    {taps, taps},
                   {1, 1},   {1, 1}, {pad, pad, pad, pad}};
      for (const Behind &behind : commonEpilogues(100)) {
        conv.behind = behind;
        cases.push_back(pairsOf(conv).at(images));
      }
      Dims result = {"n", "h0", "h1", "100"};
      std::string half = tensor(result, "bf16");
      conv.behind = castTo("bf16", result);
      cases.push_back(pairsOf(conv).at(images));
      conv.behind = {"%c: " + half,
                     "%d = graph.cast %c : (" + half +
                         ") -> RESULT\n"
                         "%e = graph.add %sums, %d : (RESULT, RESULT) -> "
                         "RESULT\n"
                         "%y = graph.cast %e : (RESULT) -> " +
                         half,
                     "bf16"};
      cases.push_back(pairsOf(conv).at(images));
    }
  run(cases);
}

TENON_FOR_ALL_LEVELS(PackedConv);

TENON_FOR_LEVELS_OF_PAIRS(ConvPairs);

} // namespace
} // namespace tenon::test
