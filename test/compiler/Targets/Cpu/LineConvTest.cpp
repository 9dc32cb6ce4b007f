//===- LineConvTest.cpp - Convolutions that read lines of an image --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/ConvCase.h"
#include "test/compiler/Targets/Cpu/LevelTest.h"

namespace tenon::test {
namespace {

using Conv = FixedConv;

class LineConv : public LevelTest {
protected:
  using LevelTest::run;
  void run(std::vector<Conv> convs, const Numbers &images = {1, 2}) {
    std::vector<KernelCase> cases;
    for (Conv &conv : convs) {
      conv.element = "bf16";
      cases.push_back(conv.with("LineConv", images));
      std::string &body = cases.back().body;
      body.insert(body.find('{', body.find("graph.conv")) + 1,
                  "graph.adds_f16, ");
      std::string_view level = GetParam();
      if (level == "x86-64-v4-fp16" || level == expandedF16)
        cases.back().tolerance = conv.behind.element == "bf16" ? 8e-3 : 3e-3;
    }
    run(cases);
  }
};

TEST_P(LineConv, TakesAnyNumberOfMaps) {
  std::vector<Conv> convs;
  for (int64_t maps :
       {1, 3, 16, 17, 24, 32, 40, 47, 48, 49, 64, 65, 70, 72, 96, 97, 112, 144})
    convs.push_back(
        {1, 32, maps, {4, 10}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  run(convs, {0, 1, 3});
}

/// A run of a window, of its channels or of those of all taps side by side, is
/// cut into equal steps, of 32 elements at most.
TEST_P(LineConv, TakesAnyWholeSteps) {
  std::vector<Conv> convs;
  for (int64_t channels : {2, 4, 6, 8, 10, 12, 16, 18, 24, 32, 48, 64, 96, 512})
    convs.push_back(
        {1, channels, 20, {3, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  for (int64_t channels : {2, 16, 30, 36, 40, 72})
    convs.push_back(
        {1, channels, 50, {5, 12}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}});
  convs.push_back({1, 4, 50, {5, 23}, {7, 8}, {2, 2}, {1, 1}, {3, 3, 3, 4}});
  convs.push_back({1, 6, 50, {3, 25}, {2, 16}, {1, 1}, {1, 1}, {0, 7, 1, 8}});
  convs.push_back({1, 34, 50, {3, 27}, {1, 16}, {1, 1}, {1, 1}, {0, 0, 0, 0}});
  convs.push_back({1, 16, 50, {3, 12}, {3, 2}, {1, 1}, {1, 1}, {1, 0, 1, 1}});
  run(convs);
}

TEST_P(LineConv, TakesAnySizes) {
  std::vector<Conv> convs;
  for (Numbers image : std::vector<Numbers>{{1, 9},
                                            {9, 10},
                                            {2, 15},
                                            {3, 16},
                                            {5, 17},
                                            {7, 31},
                                            {4, 33},
                                            {60, 9},
                                            {1, 300}})
    convs.push_back({1, 32, 50, image, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  run(convs, {1, 3});
}

/// Lines of a few pixels, several to a register of rows.
TEST_P(LineConv, TakesShortLines) {
  std::vector<Conv> convs;
  for (Numbers image : std::vector<Numbers>{
           {7, 7}, {2, 7}, {6, 6}, {3, 5}, {13, 5}, {4, 4}, {5, 4}, {9, 3}})
    convs.push_back({1, 32, 50, image, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  convs.push_back({1, 32, 50, {13, 14}, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}});
  convs.push_back({1, 32, 50, {5, 9}, {3, 1}, {1, 2}, {1, 1}, {1, 0, 1, 0}});
  run(convs, {1, 3});
}

/// Images that are matrices as they lie, cut into lines of other lengths.
TEST_P(LineConv, TakesPixelsAlone) {
  std::vector<Conv> convs;
  for (Numbers image : std::vector<Numbers>{{7, 7},
                                            {1, 9},
                                            {3, 5},
                                            {16, 17},
                                            {20, 21},
                                            {14, 14},
                                            {2, 113},
                                            {51, 5}})
    for (int64_t channels : {32, 160})
      convs.push_back({1,
                       channels,
                       50,
                       image,
                       {1, 1},
                       {1, 1},
                       {1, 1},
                       {0, 0, 0, 0},
                       commonEpilogues(50)[1]});
  run(convs, {0, 1, 3});
}

/// Whose images share a filter that is fetched panel by panel.
TEST_P(LineConv, FetchesLargeFilters) {
  run({{1, 1024, 1050, {6, 10}, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
       {1, 512, 336, {2, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}},
      {0, 1, 8, 11, 17});
  run({{1, 512, 340, {1, 10}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}});
}

/// Whose panels are widened by the taps of a line at a time: of whole images,
/// of blocks of them, and where taps are too large as well.
TEST_P(LineConv, WidensDeepFilters) {
  run({{1, 512, 50, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
       {1, 512, 64, {5, 3}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
       {1, 512, 50, {14, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
       {1, 512, 34, {17, 17}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
       {1, 512, 34, {9, 9}, {3, 3}, {1, 1}, {2, 2}, {2, 2, 2, 2}},
       {1, 512, 34, {4, 40}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
       {1, 640, 34, {6, 7}, {2, 3}, {1, 1}, {1, 1}, {0, 1, 1, 1}},
       {1, 512, 34, {7, 9}, {3, 1}, {1, 1}, {1, 1}, {1, 0, 1, 0}},
       {1, 512, 34, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {5, 1, 0, 1}},
       {1, 512, 34, {5, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 4, 4, 4}},
       {1, 1024, 34, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}},
      {1, 3});
}

/// With zeros around the image, and all inside of it.
TEST_P(LineConv, TakesAnyWindow) {
  run({{1, 32, 50, {19, 40}, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
       {1, 32, 50, {9, 30}, {1, 1}, {2, 3}, {1, 1}, {0, 1, 0, 2}},
       {1, 32, 50, {5, 11}, {1, 1}, {1, 1}, {1, 1}, {1, 0, 2, 1}},
       {1, 32, 50, {7, 12}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
       {1, 64, 50, {9, 21}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
       {1, 64, 50, {9, 22}, {3, 3}, {2, 2}, {1, 1}, {0, 0, 1, 1}},
       {1, 32, 50, {19, 14}, {3, 3}, {3, 1}, {1, 1}, {0, 2, 2, 1}},
       {1, 32, 50, {9, 15}, {3, 3}, {1, 1}, {2, 2}, {2, 2, 2, 2}},
       {1, 32, 50, {9, 13}, {3, 2}, {1, 1}, {1, 2}, {4, 0, 1, 2}},
       {1, 32, 50, {9, 14}, {3, 3}, {1, 1}, {1, 1}, {-1, 3, 3, 0}},
       {1, 32, 50, {9, 14}, {3, 3}, {1, 1}, {1, 1}, {-1, -2, 0, 0}},
       {1, 32, 50, {2, 3}, {3, 3}, {1, 1}, {1, 1}, {4, 8, 4, 9}}},
      {1, 3});
}

/// Of lines that leave a register half empty, it has pixels of several, and
/// what is computed between them.
TEST_P(LineConv, FillsRegistersFromLineToLine) {
  std::vector<Conv> convs = {
      {1, 32, 50, {17, 17}, {1, 7}, {1, 1}, {1, 1}, {0, 3, 0, 3}},
      {1, 32, 50, {17, 17}, {7, 1}, {1, 1}, {1, 1}, {3, 0, 3, 0}},
      {1, 32, 50, {35, 35}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {1, 32, 50, {7, 24}, {3, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {1, 32, 50, {8, 20}, {2, 5}, {1, 1}, {1, 1}, {1, 0, 0, 0}},
      {1, 32, 50, {9, 22}, {3, 3}, {1, 1}, {2, 2}, {2, 2, 2, 2}},
      {1, 32, 50, {9, 39}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
      {1, 32, 50, {2, 18}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {1, 32, 50, {6, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 4, 1, 4}},
      {1, 32, 50, {6, 15}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 5}},
      {3, 16, 16, {5, 33}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {1,
       32,
       50,
       {3, 4, 19},
       {3, 3, 3},
       {1, 1, 1},
       {1, 1, 1},
       {1, 1, 1, 1, 1, 1}}};
  Dims result = {"n", "5", "20", "50"};
  std::vector<Behind> all = commonEpilogues(50);
  all.push_back(castTo("bf16", result));
  for (const Behind &behind : all)
    convs.push_back(
        {1, 32, 50, {5, 20}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, behind});
  run(convs, {0, 1, 3});
}

/// Those of few channels are convolved together; an odd number of them, or of
/// groups, limits how.
TEST_P(LineConv, TakesGroups) {
  std::vector<Conv> convs;
  for (Numbers sizes : std::vector<Numbers>{{32, 4, 4},
                                            {6, 8, 8},
                                            {13, 8, 8},
                                            {3, 16, 16},
                                            {2, 24, 24},
                                            {4, 3, 5},
                                            {6, 5, 3},
                                            {2, 15, 40},
                                            {8, 1, 2},
                                            {2, 64, 100},
                                            {5, 2, 1},
                                            {3, 32, 49}})
    for (Numbers image : std::vector<Numbers>{{7, 7}, {5, 19}})
      convs.push_back({sizes[0],
                       sizes[1],
                       sizes[2],
                       image,
                       {3, 3},
                       {1, 1},
                       {1, 1},
                       {1, 1, 1, 1}});
  run(convs, {0, 1, 3});
}

TEST_P(LineConv, TakesAnyWindowOfGroups) {
  run({{6, 8, 8, {14, 14}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
       {4, 16, 16, {14, 14}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
       {4, 32, 32, {5, 4}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
       {4, 8, 12, {9, 11}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
       {3, 8, 12, {9, 11}, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
       {4, 8, 8, {20, 30}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
       {4, 16, 8, {9, 20}, {3, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
       {4, 8, 8, {9, 15}, {3, 3}, {1, 1}, {2, 2}, {2, 2, 2, 2}},
       {4, 8, 8, {9, 15}, {2, 3}, {1, 3}, {2, 1}, {-1, 3, 2, 0}},
       {4, 8, 8, {1, 1}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
       {3, 64, 64, {40, 60}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}},
      {1, 3});
}

TEST_P(LineConv, RunsWhatFollowsGroups) {
  std::vector<Conv> convs;
  Dims result = {"n", "6", "17", "48"};
  std::vector<Behind> all = commonEpilogues(48);
  all.push_back(castTo("bf16", result));
  for (const Behind &behind : all)
    for (Numbers sizes : std::vector<Numbers>{{6, 8, 8}, {3, 16, 16}})
      convs.push_back({sizes[0],
                       sizes[1],
                       sizes[2],
                       {6, 17},
                       {3, 3},
                       {1, 1},
                       {1, 1},
                       {1, 1, 1, 1},
                       behind});
  run(convs);
}

/// Of one spatial axis.
TEST_P(LineConv, TakesOneLine) {
  std::vector<Conv> convs;
  for (int64_t length : {9, 16, 40, 256})
    convs.push_back({1, 32, 50, {length}, {3}, {1}, {1}, {1, 1}});
  convs.push_back({1, 32, 50, {31}, {1}, {1}, {1}, {0, 0}});
  convs.push_back({1, 32, 50, {40}, {1}, {1}, {1}, {0, 0}});
  convs.push_back({1, 32, 50, {97}, {5}, {2}, {1}, {2, 1}});
  convs.push_back({1, 32, 50, {97}, {3}, {1}, {4}, {8, 0}});
  convs.push_back({1, 512, 340, {12}, {3}, {1}, {1}, {1, 1}});
  convs.push_back({4, 48, 48, {50}, {16}, {1}, {1}, {8, 8}});
  convs.push_back({6, 8, 8, {600}, {3}, {1}, {1}, {1, 1}});
  convs.push_back({1,
                   32,
                   20,
                   {40},
                   {3},
                   {1},
                   {1},
                   {1, 1},
                   castTo("bf16", {"n", "40", "20"})});
  run(convs, {0, 1, 3});
}

/// Of three, whose taps in front may all be beside the image.
TEST_P(LineConv, TakesDepths) {
  Numbers ones = {1, 1, 1};
  std::vector<Conv> convs;
  for (Numbers image : std::vector<Numbers>{
           {4, 5, 17}, {1, 9, 9}, {2, 3, 40}, {7, 20, 16}, {3, 4, 4}})
    convs.push_back(
        {1, 32, 50, image, {3, 3, 3}, ones, ones, {1, 1, 1, 1, 1, 1}});
  Numbers image = {5, 6, 13};
  for (Numbers taps : std::vector<Numbers>{
           {3, 1, 1}, {1, 3, 3}, {3, 1, 3}, {2, 3, 2}, {4, 2, 1}})
    convs.push_back({1, 32, 50, image, taps, ones, ones, {1, 1, 1, 1, 1, 1}});
  convs.push_back({1, 32, 50, image, ones, ones, ones, {0, 0, 0, 0, 0, 0}});
  convs.push_back(
      {1, 32, 50, image, ones, {2, 1, 1}, ones, {1, 0, 1, 0, 2, 0}});
  convs.push_back(
      {1, 32, 50, image, {3, 3, 3}, {2, 2, 1}, ones, {1, 1, 1, 1, 1, 1}});
  convs.push_back(
      {1, 32, 50, image, {3, 3, 3}, ones, {2, 1, 2}, {2, 1, 2, 2, 1, 2}});
  convs.push_back(
      {1, 32, 50, image, {3, 3, 3}, ones, ones, {5, 1, 1, 4, 1, 1}});
  convs.push_back(
      {1, 32, 50, image, {3, 3, 3}, ones, ones, {-1, 0, 2, 0, -1, 1}});
  convs.push_back(
      {1, 32, 50, image, {3, 3, 3}, ones, ones, {0, 0, 0, 0, 0, 0}});
  convs.push_back({6, 8, 8, image, {3, 3, 3}, ones, ones, {1, 1, 1, 1, 1, 1}});
  // Too large for a cache when they are widened.
  convs.push_back(
      {1, 256, 50, {3, 4, 11}, {3, 3, 3}, ones, ones, {1, 1, 1, 1, 1, 1}});
  for (const Behind &behind : commonEpilogues(20))
    convs.push_back(
        {1, 32, 20, image, {3, 3, 3}, ones, ones, {1, 1, 1, 1, 1, 1}, behind});
  run(convs, {0, 1, 3});
}

TEST_P(LineConv, RunsWhatFollows) {
  std::vector<Conv> convs;
  Numbers image = {6, 17};
  Dims result = {"n", "6", "17", "100"};
  std::string half = tensor(result, "bf16");
  std::vector<Behind> all = commonEpilogues(100);
  all.push_back({"%c: " + half,
                 "%d = graph.cast %c : (" + half +
                     ") -> RESULT\n"
                     "%e = graph.add %sums, %d : (RESULT, RESULT) -> RESULT\n"
                     "%y = graph.cast %e : (RESULT) -> " +
                     half,
                 "bf16"});
  for (std::string element : {"f16", "bf16", "f64"})
    all.push_back(castTo(element, result));
  for (const Behind &behind : all)
    convs.push_back(
        {1, 32, 100, image, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, behind});
  run(convs);
}

/// By vectors where an instruction rounds.
TEST_P(LineConv, RoundsAnyNumberOfMaps) {
  std::vector<Conv> convs;
  for (int64_t maps : {1, 2, 15, 16, 17, 33, 48, 64, 70, 95})
    convs.push_back({1,
                     32,
                     maps,
                     {2, 11},
                     {3, 3},
                     {1, 1},
                     {1, 1},
                     {1, 1, 1, 1},
                     castTo("bf16", {"n", "2", "11", std::to_string(maps)})});
  run(convs);
}

TENON_FOR_LEVELS_OF_PAIRS(LineConv);
TENON_FOR_LEVELS_OF_F16(LineConv);

} // namespace
} // namespace tenon::test
