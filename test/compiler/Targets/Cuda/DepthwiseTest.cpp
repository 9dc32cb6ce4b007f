//===- DepthwiseTest.cpp - Depthwise convolutions on devices --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/ConvCase.h"
#include <gtest/gtest.h>

namespace tenon::test {
namespace {

KernelCase of(const FixedConv &conv, const Numbers &images = {1}) {
  return conv.with("DepthwiseDevice", images);
}

FixedConv square(int64_t channels, Numbers image, int64_t taps, int64_t stride,
                 int64_t pad) {
  return {channels,
          1,
          1,
          image,
          {taps, taps},
          {stride, stride},
          {1, 1},
          {pad, pad, pad, pad}};
}

TEST(DepthwiseDevice, TakesAnyNumberOfChannels) {
  runCases({of(square(96, {9, 11}, 7, 1, 3), {0, 2}),
            of(square(6, {8, 8}, 3, 1, 1)), of(square(5, {7, 9}, 3, 2, 1)),
            of(square(1, {6, 5}, 3, 1, 1))});
}

TEST(DepthwiseDevice, GoesOverImagesInAnyWay) {
  runCases({of({8, 1, 1, {9, 30}, {3, 5}, {1, 3}, {2, 1}, {0, 2, 3, 1}}),
            of({8, 1, 1, {9, 30}, {5, 3}, {2, 1}, {1, 4}, {2, 0, 1, 5}}),
            of({12, 1, 1, {40}, {5}, {1}, {3}, {5, 0}}, {1, 3}),
            of({4,
                1,
                1,
                {5, 6, 7},
                {2, 3, 3},
                {1, 2, 1},
                {1, 1, 2},
                {0, 1, 2, 1, 0, 2}}),
            // Whole windows lie outside.
            of({8, 1, 1, {3, 4}, {2, 2}, {1, 1}, {1, 1}, {4, 3, 5, 6}})});
}

TEST(DepthwiseDevice, GivesThreadsManyPixels) {
  // Eight where that leaves threads enough; and four, of any number of images.
  Dims image = {"1", "4", "280", "1024"};
  KernelCase many =
      convCase("DepthwiseDevice", {{1, 1}, {1, 1}, {0, 1, 0, 1}, 1024}, image,
               {"1024", "1", "1", "3"}, image, {});
  runCases({many, of(square(8, {5, 18}, 7, 1, 3), {1, 3})});
}

TEST(DepthwiseDevice, ComputesWhatFollows) {
  std::vector<KernelCase> cases;
  for (size_t i : {1, 3}) { // A residual; and the sums twice.
    FixedConv conv = square(12, {5, 6}, 3, 1, 1);
    conv.behind = commonEpilogues(12)[i];
    cases.push_back(of(conv, {2}));
  }
  FixedConv narrow = square(12, {5, 6}, 3, 1, 1);
  narrow.behind = castTo("bf16", {"n", "5", "6", "12"});
  cases.push_back(of(narrow));
  runCases(cases);
}

TEST(DepthwiseDevice, TakesImagesOfAnySize) {
  KernelCase test =
      convCase("DepthwiseDevice", {{1, 2}, {1, 1}, {1, 1, 1, 1}, 8},
               {"n", "h", "w", "8"}, {"8", "1", "3", "3"},
               {"n", "h", "floordiv(w + -1, 2) + 1", "8"}, {});
  test.sizes = {{{"n", 2}, {"h", 5}, {"w", 9}},
                {{"n", 1}, {"h", 1}, {"w", 1}},
                {{"n", 0}, {"h", 3}, {"w", 3}},
                {{"n", 1}, {"h", 12}, {"w", 26}}};
  runCases({test});
}

} // namespace
} // namespace tenon::test
