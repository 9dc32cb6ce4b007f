//===- DepthwiseTilesTest.cpp - Convolutions of each channel, by tiles ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/ConvCase.h"
#include "test/compiler/Targets/Cpu/LevelTest.h"

namespace tenon::test {
namespace {

using Conv = FixedConv;

class DepthwiseTiles : public FixedConvTest {
protected:
  DepthwiseTiles() : FixedConvTest("DepthwiseTiles") {}
};

TEST_P(DepthwiseTiles, TakesAnyNumberOfChannels) {
  std::vector<Conv> convs;
  for (int64_t channels : {1, 3, 8, 16, 17, 31, 32, 33, 47, 48, 64, 70, 100})
    convs.push_back(
        {channels, 1, 1, {5, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  run(convs, {1, 2, 0});
}

/// An image of bytes, less a zero point or not, as importers leave it.
KernelCase ofBytes(KernelCase test, const Dims &image, const std::string &type,
                   bool hasZero) {
  std::string bytes = tensor(image, type), wide = tensor(image, "i32"),
              values = tensor(image, "f32"), zero = tensor({}, type);
  test.name = type + (hasZero ? " less a zero point " : " ") + test.name;
  test.arguments.replace(test.arguments.find("%a: " + values),
                         ("%a: " + values).size(),
                         "%image: " + bytes + ", %zero: " + zero);
  std::string less = hasZero
                         ? "%z = graph.cast %zero : (" + zero +
                               ") -> tensor<i32>\n%l = graph.sub %w, %z : (" +
                               wide + ", tensor<i32>) -> " + wide + "\n"
                         : "";
  test.body = "%w = graph.cast %image : (" + bytes + ") -> " + wide + "\n" +
              less + "%a = graph.cast " + (hasZero ? "%l" : "%w") + " : (" +
              wide + ") -> " + values + "\n" + test.body;
  test.values = {{-128, 256}};
  return test;
}

TEST_P(DepthwiseTiles, ReadsBytes) {
  std::vector<KernelCase> cases;
  for (const char *type : {"ui8", "i8"})
    for (bool hasZero : {false, true})
      for (int64_t channels : {1, 7, 16, 33, 64, 100})
        for (int64_t width : {1, 9, 30}) {
          Conv conv = {channels, 1,      1,      {5, width},
                       {3, 3},   {1, 2}, {1, 1}, {1, 1, 1, 1}};
          Dims image = {"n", "5", std::to_string(width),
                        std::to_string(channels)};
          cases.push_back(
              ofBytes(conv.with(schedule, {0, 1, 2}), image, type, hasZero));
        }
  Conv line = {20, 1, 1, {40}, {4}, {2}, {3}, {9, 0}};
  cases.push_back(
      ofBytes(line.with(schedule, {1, 3}), {"n", "40", "20"}, "i8", true));
  run(cases);
}

/// An image that its kernel widens.
KernelCase ofBf16(KernelCase test, const Dims &image) {
  std::string narrow = tensor(image, "bf16"), wide = tensor(image, "f32");
  test.name = "bf16 " + test.name;
  test.arguments.replace(test.arguments.find("%a: " + wide),
                         ("%a: " + wide).size(), "%image: " + narrow);
  test.body =
      "%a = graph.cast %image : (" + narrow + ") -> " + wide + "\n" + test.body;
  return test;
}

TEST_P(DepthwiseTiles, ReadsBf16) {
  std::vector<KernelCase> cases;
  for (int64_t channels : {1, 7, 16, 33, 64, 100})
    for (int64_t width : {1, 9, 30})
      cases.push_back(ofBf16(
          Conv{channels, 1, 1, {5, width}, {3, 3}, {1, 2}, {1, 1}, {1, 1, 1, 1}}
              .with(schedule, {0, 1, 2}),
          {"n", "5", std::to_string(width), std::to_string(channels)}));
  Conv line = {20, 1, 1, {40}, {4}, {2}, {3}, {9, 0}};
  cases.push_back(ofBf16(line.with(schedule, {1, 3}), {"n", "40", "20"}));
  for (const Behind &behind : commonEpilogues(70))
    cases.push_back(ofBf16(
        Conv{70, 1, 1, {6, 17}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}, behind}
            .with(schedule, {2}),
        {"n", "6", "17", "70"}));
  run(cases);
}

TEST_P(DepthwiseTiles, TakesLinesOfAnyLength) {
  std::vector<Conv> convs;
  for (int64_t width : {1, 2, 6, 7, 8, 13, 14, 15, 16, 28, 29, 43, 56, 150})
    for (int64_t taps : {3, 7})
      convs.push_back({40,
                       1,
                       1,
                       {3, width},
                       {taps, taps},
                       {1, 1},
                       {1, 1},
                       {taps / 2, taps / 2, taps / 2, taps / 2}});
  run(convs);
}

/// In bands where they are equal.
TEST_P(DepthwiseTiles, TakesAnyNumberOfLines) {
  std::vector<Conv> convs;
  for (int64_t lines : {1, 4, 7, 8, 11, 14, 15, 28, 32, 57})
    for (int64_t taps : {3, 7})
      convs.push_back({70,
                       1,
                       1,
                       {lines, 9},
                       {taps, taps},
                       {1, 1},
                       {1, 1},
                       {taps / 2, taps / 2, taps / 2, taps / 2}});
  run(convs, {1, 2, 3});
}

TEST_P(DepthwiseTiles, TakesAnyWindow) {
  run({{20, 1, 1, {7, 7}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
       {20, 1, 1, {7, 33}, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
       {20, 1, 1, {9, 30}, {5, 5}, {2, 2}, {1, 1}, {2, 2, 2, 2}},
       {20, 1, 1, {9, 30}, {3, 3}, {3, 2}, {2, 2}, {2, 0, 3, 4}},
       {20, 1, 1, {9, 31}, {3, 3}, {1, 1}, {1, 1}, {-1, 3, 3, 0}},
       {20, 1, 1, {9, 31}, {3, 3}, {1, 1}, {1, 1}, {3, -2, -1, -3}},
       {20, 1, 1, {5, 40}, {3, 13}, {1, 1}, {1, 1}, {1, 6, 1, 6}},
       {20, 1, 1, {5, 40}, {2, 9}, {1, 3}, {1, 5}, {0, 20, 0, 20}},
       // Outputs that read nothing of the image.
       {20, 1, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {4, 20, 4, 50}},
       {20, 1, 1, {2, 3}, {3, 3}, {1, 2}, {1, 1}, {9, 20, 9, 70}}},
      {1, 3});
}

TEST_P(DepthwiseTiles, TakesOneAxis) {
  run({{40, 1, 1, {30}, {3}, {1}, {1}, {1, 1}},
       {40, 1, 1, {100}, {31}, {1}, {1}, {15, 15}},
       {40, 1, 1, {31}, {4}, {2}, {3}, {9, 0}},
       {70, 1, 1, {9}, {4}, {1}, {1}, {3, 0}}},
      {1, 2, 0});
}

TEST_P(DepthwiseTiles, RunsWhatFollows) {
  std::vector<Conv> convs;
  for (const Behind &behind : commonEpilogues(100))
    convs.push_back(
        {100, 1, 1, {6, 17}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, behind});
  llvm::append_range(
      convs,
      withCasts({100, 1, 1, {6, 13}, {3, 1}, {1, 1}, {1, 1}, {1, 0, 1, 0}}));
  run(convs);
}

TENON_FOR_ALL_LEVELS(DepthwiseTiles);

} // namespace
} // namespace tenon::test
