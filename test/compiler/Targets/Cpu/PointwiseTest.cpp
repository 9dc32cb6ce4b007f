//===- PointwiseTest.cpp - Every formula in every element type ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/KernelTest.h"
#include <gtest/gtest.h>

namespace tenon::test {
namespace {

const std::vector<Symbols> flatSizes = {{{"n", 0}}, {{"n", 1}}, {{"n", 613}}};

TEST(Pointwise, AddsVectors) {
  std::string type = tensor({"n"}, "f32");
  runCases({{"add", "%a: " + type + ", %b: " + type,
             "%r = graph.add %a, %b : (" + type + ", " + type + ") -> " + type +
                 "\nkernel.yield %r : " + type,
             flatSizes}});
}

} // namespace
} // namespace tenon::test
