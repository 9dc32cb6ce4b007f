//===- LimitsTest.cpp - Large kernels and odd shapes ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/KernelTest.h"
#include <gtest/gtest.h>

namespace tenon::test {
namespace {

TEST(Limits, ConcatenatesManyOperands) {
  for (const std::string &axis : {"0", "1"}) {
    std::vector<std::string> operands(200, tensor({"2", "n"}, "f32"));
    runCases({one("concat", "{axis = " + axis + " : i64}", operands,
                  {axis == "0" ? tensor({"400", "n"}, "f32")
                               : tensor({"2", "200 * n"}, "f32")},
                  {{{"n", 3}}})});
  }
}

TEST(Limits, ChainsOfManyOps) {
  std::string type = tensor({"n"}, "f32");
  KernelCase test;
  test.name = "sum of shared subexpressions";
  test.arguments = "%a0: " + type;
  int64_t last = 300;
  for (int64_t i = 0; i < last; ++i) {
    std::string from = "%a" + std::to_string(i);
    test.body += "%a" + std::to_string(i + 1) + " = graph." +
                 (i % 2 ? "sub " : "max ") + from + ", " +
                 (i ? "%a" + std::to_string(i - 1) : from) + " : (" + type +
                 ", " + type + ") -> " + type + "\n";
  }
  test.body += "kernel.yield %a" + std::to_string(last) + " : " + type;
  test.sizes = {{{"n", 77}}};
  runCases({test});
}

TEST(Limits, TensorsOfManyAxes) {
  std::vector<std::string> dims(16, "1"), turned(16, "1");
  dims[0] = turned[15] = "n";
  dims[7] = turned[3] = "3";
  std::string permutation;
  for (int i = 0; i < 16; ++i) {
    int axis = i == 15 ? 0 : i == 3 ? 7 : i == 0 ? 15 : i == 7 ? 3 : i;
    permutation += (i ? ", " : "") + std::to_string(axis);
  }
  runCases({one("transpose", "{permutation = array<i64: " + permutation + ">}",
                {tensor(dims, "f32")}, {tensor(turned, "f32")}, {{{"n", 5}}})});
}

} // namespace
} // namespace tenon::test
