//===- ByteTilesTest.cpp - Products of 8-bit numbers on devices -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/MatmulCase.h"
#include <gtest/gtest.h>

namespace tenon::test {
namespace {

/// Rows of ui8 less 128, or of i8, by a weight of i8. What is yielded are the
/// sums, or f32 by scales of rows and columns, of sums to which what a zero
/// point leaves is added: a number for each column times one that the run
/// knows.
KernelCase bytes(const std::string &schedule, const std::string &number,
                 int64_t depth, int64_t columns, std::vector<Symbols> sizes,
                 bool isScaled) {
  std::string k = std::to_string(depth), n = std::to_string(columns);
  std::string lhs = tensor({"m", k}, number), wide = tensor({"m", k}, "i32");
  std::string rhs = tensor({k, n}, "i8"), wideRhs = tensor({k, n}, "i32");
  std::string sums = tensor({"m", n}, "i32"), floats = tensor({"m", n}, "f32");
  std::string rows = tensor({"m", "1"}, "f32"), scales = tensor({n}, "f32");
  KernelCase test;
  test.name = number + " " + k + "x" + n + (isScaled ? " scaled" : "");
  test.schedule = schedule;
  test.sizes = std::move(sizes);
  test.arguments = "%a: " + lhs + ", %b: " + rhs;
  test.body = "%x = graph.cast %a : (" + lhs + ") -> " + wide + "\n";
  if (number == "ui8")
    test.body += "%z = graph.constant {value = dense<128> : tensor<i32>} : () "
                 "-> tensor<i32>\n%l = graph.sub %x, %z : (" +
                 wide + ", tensor<i32>) -> " + wide + "\n";
  std::string left = number == "ui8" ? "%l" : "%x";
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
  for (const char *number : {"ui8", "i8"})
    for (bool isScaled : {false, true})
      cases.push_back(
          bytes(schedule, number, depth, columns, rows(counts), isScaled));
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

} // namespace
} // namespace tenon::test
