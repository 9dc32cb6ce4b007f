//===- ByteTilesTest.cpp - Products of 8-bit numbers on devices -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/ConvCase.h"
#include "test/compiler/Targets/Cpu/MatmulCase.h"
#include <gtest/gtest.h>

namespace tenon::test {
namespace {

/// Rows of `number`, ui8 less `middle` where that is not 0, by a weight of i8.
/// What is yielded are the sums, or f32 by scales of rows and columns, of sums
/// to which what a zero point leaves is added: a number for each column times
/// one that the run knows.
KernelCase bytes(const std::string &schedule, const std::string &number,
                 int64_t middle, int64_t depth, int64_t columns,
                 std::vector<Symbols> sizes, bool isScaled) {
  std::string k = std::to_string(depth), n = std::to_string(columns);
  std::string lhs = tensor({"m", k}, number), wide = tensor({"m", k}, "i32");
  std::string rhs = tensor({k, n}, "i8"), wideRhs = tensor({k, n}, "i32");
  std::string sums = tensor({"m", n}, "i32"), floats = tensor({"m", n}, "f32");
  std::string rows = tensor({"m", "1"}, "f32"), scales = tensor({n}, "f32");
  KernelCase test;
  test.name = number + (middle != 0 ? " from the middle " : " ") + k + "x" + n +
              (isScaled ? " scaled" : "");
  test.schedule = schedule;
  test.sizes = std::move(sizes);
  test.arguments = "%a: " + lhs + ", %b: " + rhs;
  test.body = "%x = graph.cast %a : (" + lhs + ") -> " + wide + "\n";
  if (middle != 0)
    test.body += "%z = graph.constant {value = dense<128> : tensor<i32>} : () "
                 "-> tensor<i32>\n%l = graph.sub %x, %z : (" +
                 wide + ", tensor<i32>) -> " + wide + "\n";
  std::string left = middle != 0 ? "%l" : "%x";
  test.body += "%r = graph.cast %b : (" + rhs + ") -> " + wideRhs +
               "\n%s = graph.matmul " + left + ", %r : (" + wide + ", " +
               wideRhs + ") -> " + sums + "\n";
  if (isScaled) {
    std::string rest = tensor({n}, "i32");
    test.arguments += ", %p: " + rows + ", %q: " + scales + ", %c: " + rest +
                      ", %d: tensor<i32>";
    test.body += "%e = graph.mul %c, %d : (" + rest + ", tensor<i32>) -> " +
                 rest + "\n%t = graph.add %s, %e : (" + sums + ", " + rest +
                 ") -> " + sums + "\n%f = graph.cast %t : (" + sums + ") -> " +
                 floats + "\n%g = graph.mul %f, %p : (" + floats + ", " + rows +
                 ") -> " + floats + "\n%y = graph.mul %g, %q : (" + floats +
                 ", " + scales + ") -> " + floats + "\n";
  }
  test.body +=
      isScaled ? "kernel.yield %y : " + floats : "kernel.yield %s : " + sums;
  // All numbers, up to both ends.
  Values ofLhs = number == "ui8" ? Values{0, 255.99} : Values{-128, 127.99};
  test.values = {ofLhs,   {-128, 127.99}, {-1, 1},
                 {-1, 1}, {-9000, 9000},  {-127, 128}};
  return test;
}

void runBytes(const std::string &schedule, int64_t depth, int64_t columns,
              std::initializer_list<int64_t> counts) {
  std::vector<KernelCase> cases;
  for (auto [number, middle] :
       {std::pair("ui8", 128), std::pair("ui8", 0), std::pair("i8", 0)})
    for (bool isScaled : {false, true})
      cases.push_back(bytes(schedule, number, middle, depth, columns,
                            rows(counts), isScaled));
  runCases(cases);
}

/// A convolution of images of `number`, less a zero point or not, by a filter
/// of i8: sums of i32, or what networks make of them, bytes again.
KernelCase convolved(const std::string &schedule, const std::string &number,
                     bool hasZero, const FixedConv &conv, const Numbers &images,
                     bool isQuantized) {
  auto [input, filter, result] = conv.dims();
  Sliding sliding = {conv.strides, conv.dilations, conv.pads, 1, "i8"};
  KernelCase test = convCase(schedule, sliding, input, filter, result, {});
  std::string sums = tensor(result, "i32"), floats = tensor(result, "f32");
  std::string perMap = tensor({std::to_string(conv.maps)}, "f32");
  auto replace = [&](const std::string &from, const std::string &to) {
    for (size_t at = 0; (at = test.body.find(from, at)) != std::string::npos;
         at += to.size())
      test.body.replace(at, from.size(), to);
  };
  replace(floats, sums);
  replace(tensor(input, "f32"), tensor(input, "i32"));
  replace(tensor(filter, "f32"), tensor(filter, "i32"));
  replace("%a : (" + tensor(input, "i8"), "%a : (" + tensor(input, number));
  test.arguments =
      "%a: " + tensor(input, number) + ", %b: " + tensor(filter, "i8");
  if (isQuantized) {
    std::string bytes = tensor(result, "ui8");
    test.arguments += ", %s: " + perMap + ", %z: tensor<ui8>";
    replace("kernel.yield %sums : " + sums,
            "%one = graph.constant {value = dense<1.0> : tensor<f32>} : () -> "
            "tensor<f32>\n%f = graph.cast %sums : (" +
                sums + ") -> " + floats + "\n%g = graph.mul %f, %s : (" +
                floats + ", " + perMap + ") -> " + floats +
                "\n%y = graph.quantize %g, %one, %z : (" + floats +
                ", tensor<f32>, tensor<ui8>) -> " + bytes +
                "\nkernel.yield %y : " + bytes);
  }
  if (hasZero) {
    std::string wide = tensor(input, "i32"), scalar = tensor({}, number);
    test.arguments += ", %from: " + scalar;
    replace("%aw, %bw", "%al, %bw");
    replace("%sums = graph.conv",
            "%wide = graph.cast %from : (" + scalar +
                ") -> tensor<i32>\n%al = graph.sub %aw, %wide : (" + wide +
                ", tensor<i32>) -> " + wide + "\n%sums = graph.conv");
  }
  test.name = number + (hasZero ? " from another zero" : "") +
              (isQuantized ? " to bytes " : " ") + test.name;
  test.sizes = countsOf(images);
  Values ofImage = number == "ui8" ? Values{0, 255.99} : Values{-128, 127.99};
  test.values = {ofImage, {-128, 127.99}};
  if (isQuantized) {
    test.values.push_back({-0.01, 0.01});
    test.values.push_back({0, 255.99});
  }
  test.values.push_back(ofImage);
  return test;
}

void runConvs(const std::string &schedule,
              const std::vector<FixedConv> &convolutions,
              const Numbers &images = {1}) {
  std::vector<KernelCase> cases;
  for (const FixedConv &conv : convolutions)
    for (const char *number : {"ui8", "i8"})
      for (auto [hasZero, isQuantized] :
           {std::pair(false, true), std::pair(true, false),
            std::pair(true, true)})
        cases.push_back(
            convolved(schedule, number, hasZero, conv, images, isQuantized));
  runCases(cases);
}

TEST(MatmulMmaInt8, SumsAreExact) {
  runBytes("MatmulMmaInt8", 64, 128, {128});
  runBytes("MatmulMmaInt8", 160, 264, {1, 127, 130});
}

TEST(MatmulMmaInt8, TakesAnySizes) {
  runBytes("MatmulMmaInt8", 20, 33, {17, 140});
  runBytes("MatmulMmaInt8", 200, 1, {70});
}

TEST(MatmulMmaInt8Small, SharesLongSums) {
  runBytes("MatmulMmaInt8Small", 1100, 70, {5, 65});
  runBytes("MatmulMmaInt8Small", 72, 49, {0, 1, 17, 64, 100});
}

TEST(ConvMmaInt8, SumsAreExact) {
  runConvs("ConvMmaInt8",
           {{1, 64, 72, {7, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
            {1, 16, 24, {9, 12}, {3, 2}, {2, 3}, {1, 2}, {0, 2, 3, 1}}},
           {0, 3});
}

TEST(ConvMmaInt8, CopiesChannelsByAsManyAsFit) {
  runConvs("ConvMmaInt8",
           {{1, 40, 8, {6, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
            {1, 12, 33, {5, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
            // The taps of a line lie together.
            {1, 4, 64, {17, 15}, {7, 7}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
            // Whole windows lie outside.
            {1, 8, 9, {3, 4}, {2, 2}, {1, 1}, {1, 1}, {4, 3, 5, 6}},
            {1, 20, 16, {40}, {5}, {4}, {3}, {5, 0}}});
}

TEST(ConvMmaInt8Small, SharesLongWindowsBetweenBlocks) {
  runConvs("ConvMmaInt8Small",
           {{1, 128, 70, {5, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
            {1, 400, 24, {8, 9}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
            {1, 32, 16, {6, 6}, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}}},
           {2});
}

} // namespace
} // namespace tenon::test
