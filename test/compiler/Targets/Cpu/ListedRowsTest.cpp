//===- ListedRowsTest.cpp - Products of some rows only --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/LevelTest.h"
#include "test/compiler/Targets/Cpu/MatmulCase.h"
#include <gtest/gtest.h>

namespace tenon::test {
namespace {

/// What a case has beside a product of [e, m, depth] and a matrix for each e.
struct Experts {
  std::string depth = "20", columns = "50";
  bool isShared = false;       // lhs has no e: the same for all.
  bool isWeight = true;        // rhs.
  bool whenTrue = true;        // A row is zero where its condition is true.
  std::string element = "f32"; // Of the result.
};

std::string op(const std::string &name, const std::string &operands,
               const std::string &from, const std::string &to) {
  return name + " " + operands + " : (" + from + ") -> " + to + "\n";
}

/// y = exp(condition ? 0 : a * b * factor + bias) + c
KernelCase experts(const std::string &schedule, const Experts &shape) {
  std::string count = shape.isWeight ? "3" : "e";
  std::string a = shape.isShared ? tensor({"m", shape.depth}, "f32")
                                 : tensor({count, "m", shape.depth}, "f32"),
              b = tensor({count, shape.depth, shape.columns}, "f32"),
              s = tensor({count, "m", shape.columns}, "f32"),
              y = tensor({count, "m", shape.columns}, shape.element),
              condition = tensor({count, "m", "1"}, "i1"),
              factor = tensor({count, "m", "1"}, "f32"),
              bias = tensor({shape.columns}, "f32");
  KernelCase test;
  test.schedule = schedule;
  test.name = schedule + " " + a + " " + b + " " + y;
  test.arguments = "%a: " + a + ", %b: " + b + ", %z: " + condition +
                   ", %f: " + factor + ", %g: " + bias + ", %c: " + s;
  test.body = "%n = graph.constant {value = dense<0.0> : tensor<f32>} "
              ": () -> tensor<f32>\n" +
              op("%s = graph.matmul", "%a, %b", a + ", " + b, s) +
              op("%t = graph.mul", "%s, %f", s + ", " + factor, s) +
              op("%u = graph.add", "%t, %g", s + ", " + bias, s) +
              (shape.whenTrue ? op("%v = graph.select", "%z, %n, %u",
                                   condition + ", tensor<f32>, " + s, s)
                              : op("%v = graph.select", "%z, %u, %n",
                                   condition + ", " + s + ", tensor<f32>", s)) +
              op("%w = graph.tanh", "%v", s, s) +
              op("%x = graph.add", "%w, %c", s + ", " + s, s);
  std::string last = "%x";
  if (shape.element != "f32") {
    test.body += op("%y = graph.cast", "%x", s, y);
    last = "%y";
  }
  test.body += "kernel.yield " + last + " : " + y;
  test.values = {{-0.5, 0.5}, {-0.5, 0.5}, {0, 1}, {-1, 1}};
  test.sizes.clear();
  for (int64_t m : {0, 1, 2, 7, 9, 63, 64, 65, 100, 128, 129, 200})
    test.sizes.push_back({{"e", 3}, {"m", m}, {"n", 70}});
  return test;
}

class ListedRows : public LevelTest {};

TEST_P(ListedRows, AreComputedAlone) {
  run({experts("PackedMatmul", {}), experts("PackedMatmul", {.isShared = true}),
       experts("PackedMatmul", {.whenTrue = false}),
       experts("PackedMatmul", {.element = "f16"})});
}

TEST_P(ListedRows, TakeAnyColumnsAndDepth) {
  std::vector<KernelCase> cases;
  for (const char *columns : {"1", "48", "97", "700"})
    cases.push_back(experts("PackedMatmul", {.columns = columns}));
  for (const char *depth : {"1", "896", "1024", "1700"})
    for (const char *columns : {"50", "700"}) {
      cases.push_back(
          experts("PackedMatmul", {.depth = depth, .columns = columns}));
      cases.back().sizes = {{{"m", 9}}, {{"m", 70}}};
    }
  run(cases);
}

TEST_P(ListedRows, MeetWeightsOfFewBits) {
  std::vector<KernelCase> cases;
  for (const char *depth : {"64", "1024"})
    for (bool isShared : {false, true})
      for (const Quantized &form : {Quantized{4, 32, "i8", "bf16"},
                                    Quantized{8, 64, "ui8", "bf16", true}}) {
        KernelCase test =
            experts("PackedMatmul",
                    {.depth = depth, .columns = "97", .isShared = isShared});
        std::vector<Values> behind(test.values.begin() + 2, test.values.end());
        test.values = {{-0.5, 0.5}};
        test = quantized(test, form);
        test.values.pop_back(); // It is that of the conditions.
        test.values.insert(test.values.end(), behind.begin(), behind.end());
        test.sizes = {{{"m", 1}}, {{"m", 9}}, {{"m", 70}}, {{"m", 129}}};
        cases.push_back(test);
        cases.push_back(withHalfLhs(test));
        cases.back().tolerance = 1e-2;
      }
  run(cases);
}

TEST_P(ListedRows, TakeActivations) {
  run({experts("BatchedMatmul", {.isWeight = false}),
       experts("BatchedMatmul", {.columns = "n", .isWeight = false}),
       experts("BatchedMatmul", {.depth = "900", .isWeight = false})});
}

TEST_P(ListedRows, AreAllAtEitherEnd) {
  std::vector<KernelCase> cases;
  for (double value : {0.0, 1.0})
    for (const char *depth : {"20", "1000"}) {
      cases.push_back(experts("PackedMatmul", {.depth = depth}));
      cases.back().values[2] = {value, value};
      cases.back().name += value == 0 ? " none" : " all";
    }
  run(cases);
}

TENON_FOR_ALL_LEVELS(ListedRows);
TENON_FOR_LEVELS_OF_F16(ListedRows); // And of pairs of few bits, with AMX.

class ListedF16 : public LevelTest {};

/// Weights in f16 and in bf16, with lhs as well, in one block of k and several;
/// and lists of some rows, of none and of all.
TEST_P(ListedF16, AreRounded) {
  std::vector<KernelCase> cases;
  for (const char *depth : {"66", "900", "1700"})
    for (double value : {0.5, 0.0, 1.0}) {
      Experts shape;
      shape.depth = depth;
      shape.columns = value == 0.5 ? "50" : "97";
      shape.isShared = value == 1.0;
      KernelCase test = experts("PackedMatmul", shape);
      if (value != 0.5)
        test.values[2] = {value, value};
      for (const KernelCase &each :
           {roundedToF16(test), addingF16(inPairs(test)),
            addingF16(inPairs(test, /*lhsToo=*/false))}) {
        cases.push_back(each);
        cases.back().tolerance = 1e-2; // Behind tanh, which ends at 1.
      }
    }
  run(cases);
}

TEST_P(ListedF16, TakeActivations) {
  std::vector<KernelCase> cases;
  for (const char *depth : {"66", "900"}) {
    cases.push_back(addingF16(
        experts("BatchedMatmul", {.depth = depth, .isWeight = false})));
    cases.back().tolerance = 1e-2; // Behind tanh, which ends at 1.
  }
  run(cases);
}

TENON_FOR_LEVELS_OF_F16(ListedF16);

} // namespace
} // namespace tenon::test
