//===- IntegerConvTest.cpp - Convolutions of 8-bit numbers ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The evaluator convolves numbers of 32 bits: what kernels make of 8 must be
// equal to the last bit.
//
//===----------------------------------------------------------------------===//

#include "test/compiler/Targets/Cpu/ConvCase.h"
#include "test/compiler/Targets/Cpu/LevelTest.h"
#include <algorithm>

namespace tenon::test {
namespace {

/// The numbers' types, and whether they have zero points: one of the image, and
/// "", "scalar" or "each" for one per map of the filter.
struct Factors {
  std::string image = "ui8", filter = "i8";
  bool hasZero = true;
  std::string filterZero = "";
};

/// %NAMEw: `name` as i32, less %NAMEzero if there is one.
std::string centered(const std::string &name, const Dims &dims,
                     const std::string &element, const std::string &zeros) {
  std::string narrow = tensor(dims, element), wide = tensor(dims, "i32");
  std::string cast = "graph.cast %" + name + " : (" + narrow + ") -> " + wide;
  if (zeros.empty())
    return "%" + name + "w = " + cast + "\n";
  std::string wideZeros = zeros;
  wideZeros.replace(wideZeros.find(element + ">"), element.size(), "i32");
  return "%" + name + "c = " + cast + "\n%" + name + "z = graph.cast %" + name +
         "zero : (" + zeros + ") -> " + wideZeros + "\n%" + name +
         "w = graph.sub %" + name + "c, %" + name + "z : (" + wide + ", " +
         wideZeros + ") -> " + wide + "\n";
}

/// A convolution of images [n, h.., channels] with a weight. What is behind it
/// calls the type of %sums INTEGERS.
struct Conv {
  int64_t channels, maps;
  Numbers taps, strides, dilations, pads;
  Factors factors = {};
  Behind behind = {"", "", "i32"};

  /// Of any size.
  KernelCase at(const std::vector<Numbers> &images) const {
    KernelCase test = integers("PackedConvInt8",
                               AnyConv::of(channels, 1, maps, taps, sliding()));
    test.sizes = sizesOf(images);
    return test;
  }
  /// By lines of so many images of one size.
  KernelCase byLines(const Numbers &image, const Numbers &images) const {
    FixedConv fixed = {1,    channels, maps,      image,
                       taps, strides,  dilations, pads};
    KernelCase test = integers("LineConvInt8", fixed.dims());
    test.sizes = countsOf(images);
    return test;
  }

private:
  Sliding sliding() const {
    return {strides, dilations, pads, /*groups=*/1, "i32"};
  }

  /// The case of i32 operands that are made of bytes.
  KernelCase integers(const std::string &schedule, const AnyConv &dims) const {
    const auto &[input, filter, result] = dims;
    KernelCase test =
        convCase(schedule, sliding(), input, filter, result, behind);
    std::string imageZeros =
        factors.hasZero ? tensor({}, factors.image) : std::string();
    Dims perMap = {std::to_string(maps)};
    perMap.resize(filter.size(), "1");
    std::string filterZeros = factors.filterZero.empty() ? ""
                              : factors.filterZero == "scalar"
                                  ? tensor({}, factors.filter)
                                  : tensor(perMap, factors.filter);
    test.name = factors.image + " less " + imageZeros + " by " +
                factors.filter + " less " + filterZeros + test.name;
    test.arguments = "%a: " + tensor(input, factors.image) +
                     ", %b: " + tensor(filter, factors.filter);
    if (!imageZeros.empty())
      test.arguments += ", %azero: " + imageZeros;
    if (!filterZeros.empty())
      test.arguments += ", %bzero: " + filterZeros;
    if (!behind.arguments.empty())
      test.arguments += ", " + behind.arguments;
    std::string sums = tensor(result, "i32");
    size_t conv = test.body.find("%sums = ");
    std::string rest = test.body.substr(conv);
    std::string types = "(" + tensor(input, "f32") + ", " +
                        tensor(filter, "f32") + ") -> " + tensor(result, "f32");
    rest.replace(rest.find(types), types.size(),
                 "(" + tensor(input, "i32") + ", " + tensor(filter, "i32") +
                     ") -> " + sums);
    for (size_t at; (at = rest.find("INTEGERS")) != std::string::npos;)
      rest.replace(at, 8, sums);
    test.body = centered("a", input, factors.image, imageZeros) +
                centered("b", filter, factors.filter, filterZeros) + rest;
    test.values = {{-128, 256}};
    return test;
  }
};

class IntegerConv : public LevelTest {
protected:
  void runAt(const std::vector<Conv> &convs,
             const std::vector<Numbers> &images) {
    std::vector<KernelCase> cases;
    for (const Conv &conv : convs)
      cases.push_back(conv.at(images));
    run(cases);
  }
  void runByLines(const std::vector<Conv> &convs,
                  const std::vector<Numbers> &sizes,
                  const Numbers &images = {1, 3}) {
    std::vector<KernelCase> cases;
    for (const Conv &conv : convs)
      for (const Numbers &size : sizes)
        cases.push_back(conv.byLines(size, images));
    run(cases);
  }
};

const std::vector<Numbers> images = {{1, 1, 1},  {1, 7, 7},  {3, 5, 9},
                                     {0, 5, 5},  {1, 13, 2}, {2, 2, 12},
                                     {1, 17, 11}};

const std::vector<Factors> allFactors = [] {
  std::vector<Factors> all;
  for (const char *image : {"ui8", "i8"})
    for (const char *filter : {"ui8", "i8"})
      for (bool hasZero : {false, true})
        for (const char *filterZero : {"", "scalar", "each"})
          all.push_back({image, filter, hasZero, filterZero});
  return all;
}();

TEST_P(IntegerConv, TakesAllSignsAndZeroPoints) {
  std::vector<Conv> convs;
  for (const Factors &factors : allFactors)
    for (int64_t channels : {3, 8}) {
      convs.push_back(
          {channels, 50, {3, 3}, {1, 2}, {1, 1}, {1, 1, 1, 1}, factors});
      convs.push_back(
          {channels, 7, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, factors});
    }
  runAt(convs, {{2, 5, 6}});
}

TEST_P(IntegerConv, TakesAnyWindow) {
  std::vector<Conv> convs;
  for (int64_t channels : {3, 4})
    for (const Conv &conv : std::vector<Conv>{
             {channels, 50, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
             {channels, 50, {1, 1}, {2, 3}, {1, 1}, {0, 0, 0, 0}},
             {channels, 50, {1, 1}, {1, 1}, {1, 1}, {1, 0, 2, 1}},
             {channels, 50, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
             {channels, 50, {7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}},
             {channels, 50, {3, 3}, {3, 1}, {1, 1}, {0, 2, 2, 1}},
             {channels, 50, {3, 3}, {1, 1}, {2, 2}, {2, 2, 2, 2}},
             {channels, 50, {3, 2}, {2, 1}, {1, 2}, {4, 0, 1, 2}},
             {channels, 50, {3, 3}, {1, 1}, {1, 1}, {-1, 3, 3, 0}}})
      convs.push_back(conv);
  runAt(convs, images);
}

TEST_P(IntegerConv, TakesAnyNumberOfChannels) {
  std::vector<Conv> convs;
  for (int64_t channels : {1, 2, 3, 4, 5, 16, 20, 33, 64, 65})
    for (int64_t dilation : {1, 2})
      convs.push_back({channels,
                       49,
                       {3, 3},
                       {1, 1},
                       {1, dilation},
                       {1, 1, 1, 1},
                       {"i8", "ui8", true, "each"}});
  runAt(convs, {{1, 6, 7}, {2, 3, 5}});
}

TEST_P(IntegerConv, TakesAnyNumberOfMaps) {
  std::vector<Conv> convs;
  for (int64_t maps : {1, 2, 15, 16, 17, 33, 47, 48, 49, 96, 100, 800})
    convs.push_back({8, maps, {2, 2}, {1, 1}, {1, 1}, {0, 0, 0, 0}});
  runAt(convs, {{1, 2, 2}, {1, 9, 9}, {1, 12, 13}});
}

TEST_P(IntegerConv, TakesOneAxisOrThree) {
  std::vector<KernelCase> cases;
  for (int64_t channels : {3, 8}) {
    Conv line = {channels, 20, {5}, {2}, {1}, {2, 2}};
    Conv block = {channels,  20,        {2, 3, 2},
                  {1, 2, 1}, {1, 1, 1}, {1, 0, 1, 0, 1, 0}};
    cases.push_back(line.at({{1, 1}, {2, 37}, {1, 300}}));
    cases.push_back(block.at({{1, 3, 4, 5}, {2, 1, 3, 2}}));
  }
  run(cases);
}

TEST_P(IntegerConv, CutsTheDepthIntoBlocks) {
  std::vector<Conv> convs;
  for (const Factors &factors : {Factors{}, {"i8", "ui8", true, "each"}})
    for (int64_t channels : {1030, 3076, 3079, 4096}) {
      convs.push_back(
          {channels, 50, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, factors});
      convs.push_back(
          {channels, 50, {3, 2}, {1, 1}, {1, 1}, {1, 1, 1, 0}, factors});
    }
  convs.push_back({600, 900, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  runAt(convs, {{1, 5, 7}});
}

/// Sums of two neighbours would not fit 16 bits.
TEST_P(IntegerConv, TakesExtremes) {
  std::vector<KernelCase> cases;
  for (const char *image : {"ui8", "i8"})
    for (const char *filter : {"ui8", "i8"})
      for (int64_t channels : {3, 64}) {
        Conv conv = {channels,
                     50,
                     {3, 3},
                     {1, 1},
                     {1, 1},
                     {1, 1, 1, 1},
                     {image, filter, true, "each"}};
        cases.push_back(conv.at({{1, 3, 9}}));
      }
  for (KernelCase &test : cases)
    test.values = {{-128, 256, /*special=*/true}};
  run(cases);
  for (KernelCase &test : cases) // All at an end.
    test.values = {{255, 255}, {-128, -128}, {0, 0}};
  run(cases);
}

/// %y, bytes of what is rounded to bytes before an activation.
std::string throughBytes(const std::string &wide, const std::string &bytes) {
  std::string half = "dense<0.5> : tensor<f32>", six = "dense<6> : tensor<ui8>",
              none = "dense<0.0> : tensor<f32>", text;
  for (const auto &[name, value] :
       {std::pair("by", half), std::pair("from", six), std::pair("none", none)})
    text += std::string("%") + name + " = graph.constant {value = " + value +
            "} : () -> " + value.substr(value.find(": ") + 2) + "\n";
  std::string numbers = ", tensor<f32>, tensor<ui8>) -> ";
  return text + "%bytes = graph.quantize %v, %by, %from : (" + wide + numbers +
         bytes + "\n%widened = graph.dequantize %bytes, %by, %from : (" +
         bytes + numbers + wide + "\n%above = graph.max %widened, %none : (" +
         wide + ", tensor<f32>) -> " + wide +
         "\n%y = graph.quantize %above, %by, %from : (" + wide + numbers +
         bytes;
}

/// As importers write it: a scale for each map, a bias, an activation, bytes.
TEST_P(IntegerConv, GivesWhatFollows) {
  std::vector<KernelCase> cases;
  for (int64_t maps : {3, 48, 70}) {
    std::string row = tensor({std::to_string(maps)}, "f32");
    for (std::string element : {"f32", "ui8", "i8", "table"}) {
      Conv conv = {5, maps, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}};
      Dims result = {"n", "h0", "h1", std::to_string(maps)};
      std::string wide = tensor(result, "f32");
      conv.behind.element = element == "table" ? "ui8" : element;
      conv.behind.arguments = "%s: " + row + ", %c: " + row;
      conv.behind.ops = "%f = graph.cast %sums : (INTEGERS) -> " + wide +
                        "\n%u = graph.mul %f, %s : (" + wide + ", " + row +
                        ") -> " + wide + "\n%v = graph.add %u, %c : (" + wide +
                        ", " + row + ") -> " + wide + "\n";
      if (element == "f32") {
        conv.behind.ops += "%y = graph.tanh %v : (" + wide + ") -> " + wide;
      } else if (element == "table") {
        conv.behind.ops += throughBytes(wide, tensor(result, "ui8"));
      } else {
        conv.behind.arguments +=
            ", %d: tensor<f32>, %z: " + tensor({}, element);
        conv.behind.ops += "%y = graph.quantize %v, %d, %z : (" + wide +
                           ", tensor<f32>, " + tensor({}, element) + ") -> " +
                           tensor(result, element);
      }
      cases.push_back(conv.at(images));
    }
  }
  run(cases);
}

const std::vector<Factors> factorsOfLines = {{"ui8", "i8", false},
                                             {"ui8", "i8", true},
                                             {"i8", "i8", false},
                                             {"i8", "i8", true}};

TEST_P(IntegerConv, ReadsLinesOfAnySign) {
  std::vector<Conv> convs;
  for (const Factors &factors : factorsOfLines) {
    convs.push_back({64, 50, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, factors});
    convs.push_back({64, 50, {3, 3}, {2, 2}, {1, 1}, {0, 1, 1, 0}, factors});
    convs.push_back({64, 50, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, factors});
    convs.push_back({64, 50, {1, 1}, {1, 2}, {1, 1}, {0, 0, 0, 0}, factors});
  }
  runByLines(convs, {{5, 24}, {12, 18}}, {0, 1, 3});
}

TEST_P(IntegerConv, ReadsLinesOfAnySize) {
  Conv conv = {64, 70, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  runByLines({conv}, {{1, 9},
                      {9, 10},
                      {2, 15},
                      {3, 16},
                      {5, 17},
                      {7, 31},
                      {35, 17},
                      {5, 20},
                      {60, 9},
                      {1, 300},
                      {7, 7},
                      {3, 5},
                      {4, 4}});
}

TEST_P(IntegerConv, ReadsLinesOfAnyChannelsAndMaps) {
  std::vector<Conv> convs;
  for (int64_t maps : {1, 16, 17, 47, 48, 49, 96, 144})
    convs.push_back({64, maps, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  for (int64_t channels : {4, 8, 12, 20, 24, 36, 128, 192, 320})
    convs.push_back({channels, 20, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  for (int64_t channels : {4, 60, 72, 80})
    convs.push_back({channels, 50, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}});
  // Steps across the taps of a line.
  convs.push_back({4, 50, {5, 16}, {2, 2}, {1, 1}, {3, 3, 3, 4}});
  convs.push_back({12, 50, {2, 16}, {1, 1}, {1, 1}, {0, 7, 1, 8}});
  convs.push_back({32, 50, {3, 2}, {1, 1}, {1, 1}, {1, 0, 1, 1}});
  runByLines(convs, {{4, 26}});
}

TEST_P(IntegerConv, ReadsLinesOfAnyWindow) {
  std::vector<Conv> convs;
  for (const Factors &factors : {factorsOfLines[1], factorsOfLines[3]})
    for (const Conv &conv :
         std::vector<Conv>{{64, 50, {1, 1}, {1, 1}, {1, 1}, {1, 0, 2, 1}},
                           {64, 50, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
                           {64, 50, {3, 3}, {1, 1}, {2, 2}, {2, 2, 2, 2}},
                           {64, 50, {3, 2}, {1, 1}, {1, 2}, {4, 0, 1, 2}},
                           {64, 50, {3, 3}, {1, 1}, {1, 1}, {-1, 3, 3, 0}},
                           {64, 50, {3, 3}, {1, 1}, {1, 1}, {-1, -2, 0, 0}}}) {
      convs.push_back(conv);
      convs.back().factors = factors;
    }
  runByLines(convs, {{9, 14}});
}

/// Of one spatial axis, or three.
TEST_P(IntegerConv, ReadsLinesOfAnyRank) {
  for (const Factors &factors : {factorsOfLines[1], factorsOfLines[3]}) {
    runByLines({{64, 50, {3}, {1}, {1}, {1, 1}, factors},
                {64, 50, {1}, {1}, {1}, {0, 0}, factors},
                {64, 50, {5}, {2}, {1}, {2, 3}, factors},
                {64, 50, {3}, {1}, {4}, {4, 0}, factors}},
               {{31}, {200}}, {0, 1, 3});
    Numbers ones = {1, 1, 1}, pads(6, 1), none(6, 0);
    runByLines({{64, 50, {3, 3, 3}, ones, ones, pads, factors},
                {64, 50, {3, 3, 3}, {2, 1, 1}, ones, pads, factors},
                {64, 50, {2, 1, 3}, ones, {2, 1, 2}, pads, factors},
                {64, 50, ones, ones, ones, none, factors}},
               {{4, 5, 11}}, {0, 1, 3});
  }
}

/// Whose images share a filter that is fetched panel by panel.
TEST_P(IntegerConv, ReadsLinesByLargeFilters) {
  runByLines({{1024, 336, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}}, {{2, 7}},
             {1, 11});
}

INSTANTIATE_TEST_SUITE_P(Levels, IntegerConv,
                         testing::Values("x86-64-v3", "x86-64-v3-vnni",
                                         "x86-64-v4", "x86-64-v4-vnni",
                                         "x86-64-v4-bf16", "x86-64-v4-amx",
                                         expandedAmx),
                         nameOfLevel);

} // namespace
} // namespace tenon::test
