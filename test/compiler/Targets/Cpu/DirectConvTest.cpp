//===- DirectConvTest.cpp - Convolutions by tiles of pixels ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/ConvCase.h"
#include "test/compiler/Targets/Cpu/LevelTest.h"

namespace tenon::test {
namespace {

using Conv = FixedConv;

class DirectConv : public FixedConvTest {
protected:
  DirectConv() : FixedConvTest("DirectConv") {}
};

TEST_P(DirectConv, TakesAnyNumberOfChannels) {
  std::vector<Conv> convs;
  for (int64_t channels : {2, 3, 4, 16, 47})
    for (int64_t maps : {1, 16, 50, 64})
      convs.push_back(
          {1, channels, maps, {5, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  for (int64_t maps : {3, 17, 32, 47, 48, 49, 70, 97})
    convs.push_back(
        {1, 5, maps, {3, 13}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  run(convs);
}

/// With registers of 256 bits a panel's last columns are one vector, or three
/// for fewer pixels at once.
TEST_P(DirectConv, TakesAnyNumberOfMaps) {
  std::vector<Conv> convs;
  for (int64_t groups : {1, 3})
    for (int64_t width : {10, 13, 14, 25})
      for (int64_t maps : {4, 8, 9, 16, 17, 20, 24, 25, 40, 41, 56, 72, 88})
        convs.push_back({groups,
                         4,
                         maps,
                         {2, width},
                         {3, 3},
                         {1, 1},
                         {1, 1},
                         {1, 1, 1, 1}});
  run(convs, {1});
}

TEST_P(DirectConv, TakesLinesOfAnyLength) {
  std::vector<Conv> convs;
  for (int64_t width : {10, 11, 12, 13, 25, 28, 56, 130, 300})
    for (int64_t maps : {32, 48})
      convs.push_back(
          {1, 4, maps, {3, width}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  run(convs);
}

TEST_P(DirectConv, TakesAnyWindow) {
  std::vector<Conv> convs;
  for (int64_t channels : {3, 16})
    for (const Conv &conv : std::vector<Conv>{
             {1, 0, 50, {11, 24}, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
             {1, 0, 50, {13, 33}, {1, 1}, {2, 3}, {1, 1}, {0, 1, 0, 2}},
             {1, 0, 50, {5, 17}, {1, 1}, {1, 1}, {1, 1}, {1, 0, 2, 1}},
             {1, 0, 50, {7, 21}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
             {1, 0, 50, {20, 31}, {7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}},
             {1, 0, 50, {9, 14}, {3, 3}, {3, 1}, {1, 1}, {0, 2, 2, 1}},
             {1, 0, 50, {9, 14}, {3, 3}, {1, 1}, {2, 2}, {2, 2, 2, 2}},
             {1, 0, 50, {9, 14}, {3, 2}, {2, 1}, {1, 2}, {4, 0, 1, 2}},
             {1, 0, 50, {9, 14}, {3, 3}, {1, 1}, {1, 1}, {-1, 3, 3, 0}},
             {1, 0, 50, {4, 44}, {4, 4}, {4, 4}, {1, 1}, {0, 0, 0, 0}},
             {1, 0, 50, {1, 3}, {1, 1}, {1, 1}, {1, 1}, {4, 9, 4, 9}}}) {
      convs.push_back(conv);
      convs.back().channels = channels;
    }
  run(convs, {1, 3, 0});
}

TEST_P(DirectConv, ReadsMatricesInPlace) {
  std::vector<Conv> convs;
  for (Numbers image : std::vector<Numbers>{{8, 8}, {5, 13}, {17, 11}, {40, 9}})
    for (int64_t channels : {1, 6, 40})
      convs.push_back(
          {1, channels, 70, image, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}});
  // A filter that is not kept in the cache, pixels pages apart.
  convs.push_back({1, 500, 400, {8, 9}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}});
  convs.push_back({1, 1024, 50, {8, 9}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}});
  convs.push_back({1, 512, 20, {12, 24}, {1, 1}, {2, 1}, {1, 1}, {0, 0, 0, 0}});
  convs.push_back({1, 1024, 20, {3, 24}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}});
  run(convs);
}

TEST_P(DirectConv, CutsWideImages) {
  run({{1, 160, 32, {9, 500}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
       {1, 3, 16, {100, 20}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
       {1, 420, 400, {20, 15}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}}},
      {1});
}

TEST_P(DirectConv, StreamsLargeFilters) {
  // Lines that halve, that do not, and too many for the cache.
  std::vector<Conv> convs;
  for (Numbers image : std::vector<Numbers>{{14, 14}, {7, 11}, {1, 12}})
    convs.push_back({1, 140, 150, image, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  convs.push_back({1, 300, 70, {29, 29}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}});
  // Few pixels whose slab is larger than that of many may be.
  convs.push_back(
      {1, 1100, 50, {18, 21}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}});
  run(convs, {1, 3});
}

TEST_P(DirectConv, TakesOneAxisOrThree) {
  run({{1, 7, 50, {30}, {3}, {1}, {1}, {1, 1}},
       {1, 7, 50, {400}, {3}, {2}, {1}, {1, 1}},
       {1, 7, 50, {30}, {4}, {1}, {3}, {9, 0}},
       {1, 1, 50, {333}, {10}, {5}, {1}, {0, 0}},
       {1,
        5,
        9,
        {3, 5, 14},
        {2, 3, 2},
        {1, 2, 1},
        {1, 1, 2},
        {0, 1, 1, 1, 0, 1}},
       {1,
        5,
        9,
        {5, 4, 12},
        {3, 3, 3},
        {2, 1, 1},
        {2, 1, 1},
        {2, 1, 1, 2, 1, 1}}},
      {1, 2, 0});
}

TEST_P(DirectConv, TakesGroups) {
  std::vector<Conv> convs;
  for (Numbers image : std::vector<Numbers>{{1, 1}, {7, 7}, {5, 20}})
    for (const Conv &conv : std::vector<Conv>{
             {4, 4, 4, {}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
             {2, 16, 50, {}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
             {3, 5, 33, {}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
             {3, 5, 33, {}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
             {2, 8, 64, {}, {3, 3}, {1, 1}, {2, 2}, {2, 2, 2, 2}},
             // Several maps of each channel.
             {20, 1, 2, {}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
             {3, 1, 17, {}, {5, 5}, {2, 2}, {1, 1}, {2, 2, 2, 2}}}) {
      convs.push_back(conv);
      convs.back().image = image;
    }
  convs.push_back({3, 4, 5, {40}, {3}, {1}, {1}, {1, 1}});
  run(convs, {1, 2, 0});
}

TEST_P(DirectConv, RunsWhatFollows) {
  std::vector<Conv> convs;
  for (const Behind &behind : commonEpilogues(100))
    for (int64_t taps : {1, 3})
      for (int64_t groups : {1, 5}) {
        int64_t pad = taps / 2;
        convs.push_back({groups,
                         10,
                         100 / groups,
                         {6, 13},
                         {taps, taps},
                         {1, 1},
                         {1, 1},
                         {pad, pad, pad, pad},
                         behind});
      }
  llvm::append_range(
      convs,
      withCasts({1, 10, 100, {6, 13}, {3, 1}, {1, 1}, {1, 1}, {1, 0, 1, 0}}));
  run(convs);
}

/// Nothing, or what is common and the same for all pixels, and channels first
/// at the end.
std::vector<Behind> turned(int64_t maps) {
  std::vector<Behind> all = commonEpilogues(maps);
  llvm::erase_if(all, [](const Behind &behind) {
    return behind.ops.find("%d") != std::string::npos;
  });
  all.insert(all.begin(), Behind());
  for (Behind &behind : all)
    behind.isTurned = true;
  return all;
}

TEST_P(DirectConv, StoresChannelsFirst) {
  std::vector<Conv> convs;
  for (int64_t maps : {1, 7, 8, 9, 16, 24, 40, 50, 64})
    for (int64_t width : {10, 13})
      convs.push_back({1,
                       4,
                       maps,
                       {5, width},
                       {3, 3},
                       {1, 1},
                       {1, 1},
                       {1, 1, 1, 1},
                       turned(maps).back()});
  for (int64_t width : {11, 12, 25, 28, 56, 130, 300})
    for (int64_t maps : {32, 48})
      for (const Behind &behind : turned(maps))
        convs.push_back({1,
                         4,
                         maps,
                         {3, width},
                         {3, 3},
                         {1, 1},
                         {1, 1},
                         {1, 1, 1, 1},
                         behind});
  run(convs, {1, 3, 0});
}

TEST_P(DirectConv, StoresAnyImageChannelsFirst) {
  std::vector<Conv> convs;
  for (const Conv &conv : std::vector<Conv>{
           // Matrices, whose pixels go on from line to line.
           {1, 6, 50, {5, 13}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
           {1, 40, 50, {40, 9}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
           {1, 500, 50, {17, 11}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
           {1, 9, 50, {13, 33}, {1, 1}, {2, 3}, {1, 1}, {0, 1, 0, 2}},
           {1, 9, 50, {90, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
           // Strides, dilations, large filters.
           {1, 3, 50, {20, 31}, {7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}},
           {1, 16, 50, {9, 14}, {3, 3}, {1, 1}, {2, 2}, {2, 2, 2, 2}},
           {1, 140, 50, {14, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
           {1, 300, 50, {29, 29}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
           // One axis or three; groups, and lines of fewer pixels than lanes.
           {1, 7, 50, {400}, {3}, {2}, {1}, {1, 1}},
           {1,
            5,
            50,
            {3, 5, 14},
            {2, 3, 2},
            {1, 2, 1},
            {1, 1, 2},
            {0, 1, 1, 1, 0, 1}},
           {2, 8, 25, {5, 20}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
           {5, 3, 10, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
           {5, 3, 10, {2, 1}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}})
    for (const Behind &behind : turned(50)) {
      convs.push_back(conv);
      convs.back().behind = behind;
    }
  run(convs, {1, 2});
}

TENON_FOR_ALL_LEVELS(DirectConv);

} // namespace
} // namespace tenon::test
