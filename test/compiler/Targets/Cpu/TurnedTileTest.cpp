//===- TurnedTileTest.cpp - Products that are stored transposed -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/LevelTest.h"
#include "test/compiler/Targets/Cpu/MatmulCase.h"
#include <gtest/gtest.h>

namespace tenon::test {
namespace {

using Dims = std::vector<std::string>;

/// What a case has beside a product [lead, m, n] and its transposition.
struct Turned {
  Dims lead = {"b"};
  std::string depth = "20", columns = "50";
  bool isWeight = true;        // rhs; else it has a matrix per batch.
  std::string element = "f32"; // Of the result.
  bool isReshaped = false;     // The result, to [.., n * m].
};

std::string op(const std::string &name, const std::string &operands,
               const std::string &from, const std::string &to) {
  return name + " " + operands + " : (" + from + ") -> " + to + "\n";
}

/// y = residual + f(tanh(a * b + bias) turned)
KernelCase turned(const std::string &schedule, const Turned &shape) {
  Dims lhs = shape.lead, rhs = shape.lead, sums = shape.lead, back = shape.lead;
  if (shape.isWeight)
    rhs.clear();
  lhs.insert(lhs.end(), {"m", shape.depth});
  rhs.insert(rhs.end(), {shape.depth, shape.columns});
  sums.insert(sums.end(), {"m", shape.columns});
  back.insert(back.end(), {shape.columns, "m"});
  std::string a = tensor(lhs, "f32"), b = tensor(rhs, "f32"),
              s = tensor(sums, "f32"), t = tensor(back, "f32"),
              y = tensor(back, shape.element),
              bias = tensor({shape.columns}, "f32"), axes;
  for (size_t i = 0; i < shape.lead.size(); ++i)
    axes += std::to_string(i) + ", ";
  axes += std::to_string(shape.lead.size() + 1) + ", " +
          std::to_string(shape.lead.size());
  KernelCase test;
  test.schedule = schedule;
  test.name = schedule + " " + a + " " + b + " " + y;
  test.arguments = "%a: " + a + ", %b: " + b + ", %c: " + bias + ", %d: " + t;
  test.body = op("%s = graph.matmul", "%a, %b", a + ", " + b, s) +
              op("%u = graph.add", "%s, %c", s + ", " + bias, s) +
              op("%v = graph.tanh", "%u", s, s) +
              op("%t = graph.transpose",
                 "%v {permutation = array<i64: " + axes + ">}", s, t) +
              op("%w = graph.add", "%d, %t", t + ", " + t, t);
  std::string last = "%w";
  if (shape.element != "f32") {
    test.body += op("%x = graph.cast", "%w", t, y);
    last = "%x";
  }
  if (shape.isReshaped) {
    std::string flat =
        tensor({shape.lead[0] + " * m * " + shape.columns}, shape.element);
    test.body += op("%y = graph.reshape", last, y, flat);
    last = "%y", y = flat;
  }
  test.body += "kernel.yield " + last + " : " + y;
  test.values = {{-0.5, 0.5}, {-0.5, 0.5}, {-1, 1}};
  test.sizes.clear();
  for (int64_t m : {0, 1, 5, 6, 7, 8, 9, 64, 67, 130})
    test.sizes.push_back({{"b", 2}, {"h", 3}, {"m", m}, {"n", 50}});
  test.sizes.push_back({{"b", 0}, {"h", 1}, {"m", 9}, {"n", 3}});
  test.sizes.push_back({{"b", 1}, {"h", 1}, {"m", 17}, {"n", 0}});
  return test;
}

class TurnedTile : public LevelTest {};

TEST_P(TurnedTile, StoresColumnsOfAnyNumber) {
  std::vector<KernelCase> cases;
  for (const char *columns : {"2", "7", "8", "47", "48", "49", "100", "196"})
    cases.push_back(turned("PackedMatmul", {.columns = columns}));
  run(cases);
}

TEST_P(TurnedTile, TakesADepthOfOneBlock) {
  std::vector<KernelCase> cases;
  for (const char *depth : {"1", "13", "384", "896"})
    cases.push_back(turned("PackedMatmul", {.depth = depth}));
  run(cases);
}

TEST_P(TurnedTile, TakesAnyBatches) {
  run({turned("PackedMatmul", {.lead = {}}),
       turned("PackedMatmul", {.lead = {"b", "h"}}),
       turned("PackedMatmul", {.lead = {"2"}, .isWeight = false}),
       turned("BatchedMatmul", {.lead = {"b", "h"}, .isWeight = false}),
       turned("BatchedMatmul", {.columns = "n", .isWeight = false})});
}

TEST_P(TurnedTile, GivesOtherTypesAndShapes) {
  run({turned("PackedMatmul", {.element = "f16"}),
       turned("PackedMatmul", {.element = "i32"}),
       turned("PackedMatmul", {.columns = "48", .isReshaped = true})});
}

TEST_P(TurnedTile, IsWhatTheGenericScheduleStores) {
  run({turned("Generic", {}), turned("Generic", {.lead = {}}),
       turned("Generic", {.lead = {"b", "h"}, .isWeight = false}),
       turned("Generic", {.element = "f16", .isReshaped = true})});
}

TENON_FOR_ALL_LEVELS(TurnedTile);

/// Whose tiles are of 32 rows with AMX.
class TurnedPairs : public LevelTest {};

TEST_P(TurnedPairs, StoresColumnsOfAnyNumber) {
  std::vector<KernelCase> cases;
  for (const char *columns : {"7", "48", "100"})
    cases.push_back(inPairs(turned("PackedMatmul", {.columns = columns})));
  run(cases);
}

INSTANTIATE_TEST_SUITE_P(Levels, TurnedPairs,
                         testing::Values("x86-64-v4-bf16", "x86-64-v4-amx",
                                         expandedAmx),
                         nameOfLevel);

} // namespace
} // namespace tenon::test
