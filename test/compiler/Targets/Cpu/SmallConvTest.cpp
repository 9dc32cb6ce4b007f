//===- SmallConvTest.cpp - Convolutions of small images -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/ConvCase.h"
#include "test/compiler/Targets/Cpu/LevelTest.h"

namespace tenon::test {
namespace {

using Conv = FixedConv;

class SmallConv : public FixedConvTest {
protected:
  SmallConv() : FixedConvTest("SmallConv") {}
};

TEST_P(SmallConv, TakesAnyNumberOfChannels) {
  std::vector<Conv> convs;
  for (int64_t channels : {1, 3, 16, 47})
    for (int64_t maps : {1, 16, 50, 64})
      convs.push_back(
          {1, channels, maps, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  for (int64_t maps : {3, 17, 32, 47, 48, 49, 70, 97})
    convs.push_back({1, 5, maps, {4, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  run(convs, {1, 3, 6, 0});
}

TEST_P(SmallConv, TakesAnySizes) {
  std::vector<Conv> convs;
  for (Numbers image : std::vector<Numbers>{
           {4, 4}, {16, 1}, {1, 17}, {13, 2}, {8, 9}, {9, 8}, {14, 9}})
    for (int64_t maps : {32, 48})
      for (int64_t taps : {1, 3})
        convs.push_back({1,
                         20,
                         maps,
                         image,
                         {taps, taps},
                         {1, 1},
                         {1, 1},
                         {taps / 2, taps / 2, taps / 2, taps / 2}});
  run(convs, {1, 5});
}

/// With channels enough for zeros beside the image to be left out, too.
TEST_P(SmallConv, TakesAnyWindow) {
  std::vector<Conv> convs;
  for (int64_t channels : {3, 16, 200})
    for (const Conv &conv : std::vector<Conv>{
             {1, 0, 50, {14, 14}, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
             {1, 0, 50, {13, 27}, {1, 1}, {2, 3}, {1, 1}, {0, 1, 0, 2}},
             {1, 0, 50, {5, 7}, {1, 1}, {1, 1}, {1, 1}, {1, 0, 2, 1}},
             {1, 0, 50, {7, 7}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
             {1, 0, 50, {14, 14}, {7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}},
             {1, 0, 50, {19, 7}, {3, 3}, {3, 1}, {1, 1}, {0, 2, 2, 1}},
             {1, 0, 50, {9, 9}, {3, 3}, {1, 1}, {2, 2}, {2, 2, 2, 2}},
             {1, 0, 50, {9, 6}, {3, 2}, {1, 1}, {1, 2}, {4, 0, 1, 2}},
             {1, 0, 50, {9, 7}, {3, 3}, {1, 1}, {1, 1}, {-1, 3, 3, 0}},
             {1, 0, 50, {1, 3}, {1, 1}, {1, 1}, {1, 1}, {4, 2, 4, 2}}}) {
      convs.push_back(conv);
      convs.back().channels = channels;
    }
  run(convs, {1, 3});
}

TEST_P(SmallConv, CutsLargePanels) {
  run({{1, 300, 70, {5, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
       {1, 256, 40, {9, 11}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
       // Pixels that lie pages apart.
       {1, 512, 40, {9, 11}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
       {1, 1024, 40, {8, 9}, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
       {1, 1024, 40, {5, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}}},
      {1, 2});
}

TEST_P(SmallConv, TakesOneAxis) {
  run({{1, 7, 50, {30}, {3}, {1}, {1}, {1, 1}},
       {1, 7, 50, {60}, {4}, {2}, {3}, {9, 0}},
       {1, 20, 50, {17}, {1}, {1}, {1}, {0, 0}}});
}

TEST_P(SmallConv, RunsWhatFollows) {
  std::vector<Conv> convs;
  for (const Behind &behind : commonEpilogues(100))
    for (int64_t taps : {1, 3}) {
      int64_t pad = taps / 2;
      convs.push_back({1,
                       10,
                       100,
                       {6, 7},
                       {taps, taps},
                       {1, 1},
                       {1, 1},
                       {pad, pad, pad, pad},
                       behind});
    }
  llvm::append_range(
      convs,
      withCasts({1, 10, 100, {6, 7}, {3, 1}, {1, 1}, {1, 1}, {1, 0, 1, 0}}));
  run(convs);
}

TENON_FOR_ALL_LEVELS(SmallConv);

} // namespace
} // namespace tenon::test
