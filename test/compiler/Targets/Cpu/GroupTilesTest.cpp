//===- GroupTilesTest.cpp - Convolutions of small groups, by tiles --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/ConvCase.h"
#include "test/compiler/Targets/Cpu/LevelTest.h"

namespace tenon::test {
namespace {

using Conv = FixedConv;

class GroupTiles : public FixedConvTest {
protected:
  GroupTiles() : FixedConvTest("GroupTiles") {}
};

/// Whole vectors of groups, parts of one, and parts of a group.
TEST_P(GroupTiles, TakesAnyNumberOfGroups) {
  std::vector<Conv> convs;
  for (int64_t members : {2, 4, 8, 16})
    for (int64_t groups : {2, 3, 4, 5, 8, 9, 16, 25})
      convs.push_back({groups,
                       members,
                       members,
                       {5, 14},
                       {3, 3},
                       {1, 1},
                       {1, 1},
                       {1, 1, 1, 1}});
  run(convs, {1, 2, 0});
}

TEST_P(GroupTiles, TakesLinesOfAnyLength) {
  std::vector<Conv> convs;
  for (int64_t width : {1, 2, 6, 7, 8, 13, 14, 15, 16, 28, 29, 43, 56, 150})
    for (int64_t taps : {3, 5})
      convs.push_back({10,
                       4,
                       4,
                       {3, width},
                       {taps, taps},
                       {1, 1},
                       {1, 1},
                       {taps / 2, taps / 2, taps / 2, taps / 2}});
  run(convs);
}

/// Lines of more taps than there are registers for, too.
TEST_P(GroupTiles, TakesAnyWindow) {
  for (int64_t members : {2, 4, 8, 16})
    run({{6, members, members, {7, 7}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
         {6, members, members, {9, 30}, {5, 5}, {2, 2}, {1, 1}, {2, 2, 2, 2}},
         {6, members, members, {9, 30}, {3, 3}, {3, 2}, {2, 2}, {2, 0, 3, 4}},
         {6, members, members, {9, 31}, {3, 3}, {1, 1}, {1, 1}, {-1, 3, 3, 0}},
         {6, members, members, {5, 40}, {3, 13}, {1, 1}, {1, 1}, {1, 6, 1, 6}},
         {6, members, members, {5, 40}, {2, 9}, {1, 3}, {1, 5}, {0, 20, 0, 20}},
         // Outputs that read nothing of the image.
         {6, members, members, {2, 3}, {3, 3}, {1, 2}, {1, 1}, {9, 20, 9, 70}},
         {6, members, members, {30}, {3}, {1}, {1}, {1, 1}},
         {6, members, members, {31}, {4}, {2}, {3}, {9, 0}}},
        {1, 3});
}

TEST_P(GroupTiles, RunsWhatFollows) {
  std::vector<Conv> convs;
  for (const Behind &behind : commonEpilogues(100))
    convs.push_back(
        {25, 4, 4, {6, 17}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, behind});
  llvm::append_range(
      convs,
      withCasts({25, 4, 4, {6, 13}, {3, 1}, {1, 1}, {1, 1}, {1, 0, 1, 0}}));
  run(convs);
}

TENON_FOR_ALL_LEVELS(GroupTiles);

} // namespace
} // namespace tenon::test
