//===- DepthwisePlanesTest.cpp - Convolutions of each channel by planes ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/ConvCase.h"
#include "test/compiler/Targets/Cpu/LevelTest.h"

namespace tenon::test {
namespace {

/// A filter for each channel of images with channels first.
struct Planes {
  int64_t channels;
  Numbers taps, strides, dilations, pads;
  Behind behind = {};

  Sliding sliding() const {
    return {strides, dilations, pads, channels, "f32", false};
  }
  KernelCase of(const AnyConv &last) const {
    AnyConv conv = last.planes();
    return convCase("DepthwisePlanes", sliding(), conv.input, conv.filter,
                    conv.result, behind);
  }
  /// Of images whose sizes are numbers, so many of them.
  KernelCase with(const Numbers &image, const Numbers &images = {1, 2}) const {
    FixedConv conv = {channels, 1, 1, image, taps, strides, dilations, pads};
    KernelCase test = of(conv.dims());
    test.sizes = countsOf(images);
    return test;
  }
  /// At sizes of images: n, h.. each.
  KernelCase at(const std::vector<Numbers> &images) const {
    KernelCase test =
        of(AnyConv::of(channels, channels, channels, taps, sliding()));
    test.sizes = sizesOf(images);
    return test;
  }
};

class DepthwisePlanes : public LevelTest {};

TEST_P(DepthwisePlanes, TakesLinesOfAnyLength) {
  std::vector<KernelCase> cases;
  for (int64_t width : {8, 9, 15, 16, 17, 31, 33, 64, 112})
    for (int64_t taps : {3, 5}) {
      int64_t pad = taps / 2;
      cases.push_back(
          Planes{5, {taps, taps}, {1, 1}, {1, 1}, {pad, pad, pad, pad}}.with(
              {6, width}));
    }
  run(cases);
}

// Beyond a block of lines, and where some lines at a time leave a rest.
TEST_P(DepthwisePlanes, TakesAnyNumberOfLines) {
  std::vector<KernelCase> cases;
  for (int64_t lines : {1, 2, 3, 7, 8, 9, 14, 15, 16, 17, 33, 70})
    for (int64_t taps : {3, 7}) {
      int64_t pad = taps / 2;
      cases.push_back(
          Planes{9, {taps, taps}, {1, 1}, {1, 1}, {pad, pad, pad, pad}}.with(
              {lines, 20}, {0, 1, 3}));
    }
  run(cases);
}

TEST_P(DepthwisePlanes, TakesAnyWindows) {
  std::vector<KernelCase> cases;
  for (int64_t stride : {1, 2, 3, 4, 5})
    for (int64_t dilation : {1, 2, 3})
      cases.push_back(Planes{
          4,
          {3, 3},
          {stride, stride},
          {dilation, dilation},
          {dilation, 1, 0,
           dilation}}.with({29, 60}));
  for (const Planes &planes : {
           Planes{3, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
           Planes{3, {1, 1}, {2, 2}, {1, 1}, {1, 2, 3, 4}},
           Planes{3, {1, 9}, {1, 2}, {1, 1}, {0, 4, 0, 4}},
           Planes{3, {9, 1}, {2, 1}, {1, 1}, {4, 0, 4, 0}},
           Planes{3, {4, 2}, {3, 1}, {1, 4}, {5, 0, 1, 7}},
           Planes{3, {11, 11}, {1, 1}, {1, 1}, {5, 5, 5, 5}},
           Planes{3, {16, 17}, {2, 2}, {1, 1}, {8, 8, 7, 8}},
           Planes{3, {3, 40}, {1, 3}, {2, 1}, {2, 20, 2, 20}},
           // Borders that crop, and wider ones than the image.
           Planes{3, {3, 3}, {1, 1}, {1, 1}, {-2, -3, -1, 4}},
           Planes{3, {3, 3}, {1, 1}, {1, 1}, {40, 3, -8, 50}},
       })
    cases.push_back(planes.with({20, 25}));
  run(cases);
}

TEST_P(DepthwisePlanes, TakesOneAxis) {
  std::vector<KernelCase> cases;
  for (int64_t length : {8, 16, 50, 301})
    for (int64_t taps : {1, 4, 31, 64})
      cases.push_back(Planes{20, {taps}, {1}, {1}, {taps - 1, 0}}.with(
          {length}, {0, 1, 3}));
  cases.push_back(Planes{20, {5}, {2}, {3}, {6, 5}}.with({60}));
  run(cases);
}

TEST_P(DepthwisePlanes, TakesOpenSizes) {
  std::vector<Numbers> images = {{1, 1, 1},   {1, 7, 7},   {3, 5, 9},
                                 {0, 5, 5},   {1, 13, 2},  {2, 2, 12},
                                 {1, 40, 33}, {2, 18, 100}};
  run({Planes{6, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}.at(images),
       Planes{6, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}}.at(images),
       Planes{6, {7, 7}, {1, 3}, {1, 2}, {3, 6, 3, 6}}.at(images),
       Planes{6, {5}, {1}, {1}, {4, 0}}.at(
           {{1, 1}, {2, 17}, {0, 3}, {3, 80}})});
}

TEST_P(DepthwisePlanes, RunsWhatFollows) {
  std::vector<KernelCase> cases;
  for (const Behind &behind : commonEpilogues(Dims{"7", "1", "1"}))
    for (int64_t stride : {1, 2})
      cases.push_back(
          Planes{7, {3, 3}, {stride, stride}, {1, 1}, {1, 1, 1, 1}, behind}
              .with({19, 23}));
  for (std::string element : {"f16", "bf16", "f64"})
    cases.push_back(Planes{7,
                           {3, 3},
                           {1, 1},
                           {1, 1},
                           {1, 1, 1, 1},
                           castTo(element, {"n", "7", "9", "21"})}
                        .with({9, 21}));
  run(cases);
}

TENON_FOR_ALL_LEVELS(DepthwisePlanes);

} // namespace
} // namespace tenon::test
