//===- RootsTest.cpp - Reductions, products and scans ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/RowCases.h"
#include <gtest/gtest.h>

namespace tenon::test {
namespace {

using Names = std::vector<std::string>;
using Dims = std::vector<std::string>;

const Names floats = {"f16", "bf16", "f32", "f64"};
const Names numbers = {"f16", "bf16", "f32", "f64",  "i8",   "i16",
                       "i32", "i64",  "ui8", "ui16", "ui32", "ui64"};

/// The last op's result goes through a pointwise op before it is yielded.
KernelCase withEpilogue(const KernelCase &test, const std::string &type) {
  return followedBy(test, "graph.abs %r#0 : (" + type + ") -> " + type, type);
}

const std::vector<Symbols> grid = {{{"m", 3}, {"n", 70}},
                                   {{"m", 1}, {"n", 1}},
                                   {{"m", 5}, {"n", 0}},
                                   {{"m", 0}, {"n", 5}}};

TEST(Roots, Reduces) {
  std::vector<KernelCase> cases;
  for (const std::string &type : numbers)
    for (const std::string &kind : {"sum", "mean", "max", "min", "prod"}) {
      bool isInt = type.find('f') == std::string::npos;
      std::vector<Symbols> sizes = grid;
      if (isInt && kind == "mean")
        sizes.erase(sizes.begin() + 2, sizes.end());
      struct Shape {
        std::string axes;
        Dims result;
      };
      for (const Shape &shape :
           {Shape{"2", {"m", "4", "1"}}, Shape{"0", {"1", "4", "n"}},
            Shape{"1, 2", {"m", "1", "1"}},
            Shape{"0, 1, 2", {"1", "1", "1"}}}) {
        if (type == "i8" && shape.axes != "2")
          continue;
        cases.push_back(reduceOf(kind, shape.axes,
                                 tensor({"m", "4", "n"}, type),
                                 tensor(shape.result, type), sizes));
      }
    }
  runCases(cases);
}

TEST(Roots, RowsBecomeBytes) {
  std::vector<KernelCase> cases = rowsAsBytes({"m", "n"}, grid);
  for (KernelCase &test : rowsAsBytes({"m", "2", "1"}, {{{"m", 3}}}))
    cases.push_back(std::move(test));
  runCases(cases);
}

TEST(Roots, ReducesBoolsSpecialValuesAndScalars) {
  std::vector<KernelCase> cases;
  for (const std::string &kind : {"max", "min"}) {
    cases.push_back(reduceOf(kind, "1", tensor({"m", "n"}, "i1"),
                             tensor({"m", "1"}, "i1"), grid));
    for (const std::string &type : floats) {
      cases.push_back(reduceOf(kind, "1", tensor({"m", "n"}, type),
                               tensor({"m", "1"}, type), grid));
      cases.back().values = {{-1, 1, true}};
    }
  }
  cases.push_back(one("reduce",
                      "{axes = array<i64>, kind = #graph<reduce_kind sum>}",
                      {"tensor<f32>"}, {"tensor<f32>"}));
  runCases(cases);
}

TEST(Roots, SumsManyElementsPrecisely) {
  KernelCase test = reduceOf("sum", "0", tensor({"n"}, "f32"),
                             tensor({"1"}, "f32"), {{{"n", 3000000}}});
  test.values = {{0, 1}};
  test.tolerance = 1e-6;
  runCases({test});
}

TEST(Roots, ArgReduces) {
  std::vector<KernelCase> cases;
  std::vector<Symbols> sizes(grid.begin(), grid.begin() + 2);
  for (const std::string &type : numbers)
    for (const std::string &kind : {"max", "min"})
      for (bool last : {true, false})
        for (int axis : {0, 1}) {
          cases.push_back(argReduceOf(
              kind, last, axis, tensor({"m", "n"}, type),
              axis ? tensor({"m", "1"}, "i64") : tensor({"1", "n"}, "i64"),
              sizes));
          cases.back().values = {{0, 5, type[0] == 'f' || type[0] == 'b'}};
        }
  runCases(cases);
}

TEST(Roots, Normalizes) {
  std::vector<KernelCase> cases;
  for (const std::string &type : floats) {
    std::string whole = tensor({"m", "3", "n"}, type);
    for (const std::string &axis : {"0", "1", "2"}) {
      for (const std::string &op : {"softmax", "log_softmax"})
        cases.push_back(
            one(op, "{axis = " + axis + "}", {whole}, {whole}, grid));
      for (const std::string &op : {"layer_norm", "rms_norm"}) {
        cases.push_back(one(op, "{axis = " + axis + ", epsilon = 1.0e-5}",
                            {whole}, {whole}, grid));
        cases.push_back(withEpilogue(cases.back(), whole));
      }
    }
  }
  for (KernelCase &test : cases)
    if (test.name.find("f32") != std::string::npos)
      test.tolerance = 2e-5;
  runCases(cases);
}

TEST(Roots, Scans) {
  std::vector<KernelCase> cases;
  for (const std::string &type : numbers)
    for (int axis : {0, 1})
      for (const KernelCase &test :
           cumulativesOf(axis, tensor({"m", "n"}, type), grid))
        cases.push_back(test);
  runCases(cases);
}

TEST(Roots, SelectsTopElements) {
  std::vector<KernelCase> cases;
  std::vector<Symbols> sizes;
  for (int64_t n : {1, 2, 3, 7, 8, 100})
    for (int64_t k : {0, 1, 3, 8, 100})
      if (k <= n)
        sizes.push_back({{"m", 2}, {"n", n}, {"k", k}});
  // Kept while the row passes, sorted once or many times.
  for (int64_t k : {0, 1, 7, 70, 333, 480, 499, 997})
    sizes.push_back({{"m", 2}, {"n", 997}, {"k", k}});
  for (const std::string &type : numbers)
    for (const std::string &largest : {"true", "false"}) {
      cases.push_back(one("topk", "{axis = 1, largest = " + largest + "}",
                          {tensor({"m", "n"}, type)},
                          {tensor({"m", "k"}, type), tensor({"m", "k"}, "i64")},
                          sizes));
      cases.back().values = {{0, 9, type[0] == 'f' || type[0] == 'b'}};
    }
  cases.push_back(cases.front()); // Hardly any are equal.
  cases.back().values = {{-1e6, 1e6}};
  cases.push_back(
      one("topk", "{axis = 0, largest = true}", {tensor({"n", "m"}, "f32")},
          {tensor({"k", "m"}, "f32"), tensor({"k", "m"}, "i64")}, sizes));
  cases.push_back(cases.back());
  cases.back().sizes = {{{"m", 2}, {"n", 3}, {"k", 4}}};
  cases.back().fault = 3;
  runCases(cases);
}

TEST(Roots, SelectsFewTopElements) {
  std::vector<KernelCase> cases;
  std::vector<Symbols> sizes;
  for (int64_t n : {5, 6, 20, 21, 69, 70, 300, 1000})
    sizes.push_back({{"m", 2}, {"n", n}});
  for (const std::string &type : numbers)
    for (const std::string &largest : {"true", "false"})
      for (const std::string &k : {"0", "1", "5"}) {
        cases.push_back(one("topk", "{axis = 1, largest = " + largest + "}",
                            {tensor({"m", "n"}, type)},
                            {tensor({"m", k}, type), tensor({"m", k}, "i64")},
                            sizes));
        cases.back().values = {{0, 9, type[0] == 'f' || type[0] == 'b'}};
      }
  cases.push_back(
      one("topk", "{axis = 0, largest = true}", {tensor({"n", "m"}, "f32")},
          {tensor({"5", "m"}, "f32"), tensor({"5", "m"}, "i64")}, sizes));
  KernelCase tooMany = cases.back();
  tooMany.sizes = {{{"m", 2}, {"n", 4}}};
  tooMany.fault = 3;
  cases.push_back(tooMany);
  runCases(cases);
}

/// Of rows of n boxes.
KernelCase suppress(const std::string &rows, double threshold,
                    std::vector<Symbols> sizes) {
  std::string mask = tensor({rows, "n"}, "i1");
  KernelCase test =
      one("suppress", "",
          {tensor({rows, "n", "4"}, "f32"), mask, "tensor<f32>", "tensor<i64>"},
          {mask}, std::move(sizes));
  test.values = {{0, 9}, {0, 1}, {threshold, threshold}, {3, 60}};
  return test;
}

TEST(Roots, SuppressesBoxes) {
  std::vector<KernelCase> cases;
  for (const std::string &rows : {"m", "3"})
    for (double threshold : {0.1, 0.6, -0.5})
      cases.push_back(suppress(rows, threshold,
                               {{{"m", 2}, {"n", 0}},
                                {{"m", 1}, {"n", 7}},
                                {{"m", 5}, {"n", 150}}}));
  runCases(cases);
}

/// Enough are kept for a grid, and for it to be made again.
class ManyBoxes : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Levels, ManyBoxes,
                         testing::Values("native", "x86-64-v3"));

TEST_P(ManyBoxes, AreSuppressed) {
  if (!canRun(GetParam()))
    GTEST_SKIP() << "this machine has no " << GetParam();
  std::vector<KernelCase> cases;
  std::vector<Symbols> sizes = {{{"m", 2}, {"n", 2500}}};
  for (double threshold : {0.0, 0.3, 0.8}) {
    cases.push_back(suppress("m", threshold, sizes));
    cases.back().values[3] = {2400, 2500};
    KernelCase plain = cases.back();
    cases.push_back(plain); // With NaN, infinities and no area.
    cases.back().values[0].special = true;
    // Moved along the diagonal, or each corner alone.
    for (const std::string &moved : {"1", "4"}) {
      KernelCase test = plain;
      std::string boxes = tensor({"m", "n", "4"}, "f32");
      std::string by = tensor({"m", "n", moved}, "f32");
      std::string mask = tensor({"m", "n"}, "i1");
      test.arguments += ", %e: " + by;
      test.body = "%x = graph.add %a, %e : (" + boxes + ", " + by + ") -> " +
                  boxes + "\n" + "%r = graph.suppress %x, %b, %c, %d : (" +
                  boxes + ", " + mask + ", tensor<f32>, tensor<i64>) -> " +
                  mask + "\nkernel.yield %r : " + mask;
      test.values.push_back({0, 1000});
      cases.push_back(test);
    }
  }
  cases.push_back(suppress("m", 0.5, {{{"m", 1}, {"n", 12000}}}));
  cases.back().values[0] = {0, 300};
  cases.back().values[3] = {9000, 12000};
  cases.push_back(suppress("m", 0.5, sizes)); // All in one place.
  cases.back().values[0] = {3, 3};
  runCases(cases, GetParam());
}

TEST(Roots, Multiplies) {
  std::vector<KernelCase> cases;
  std::vector<Symbols> sizes;
  for (int64_t b : {1, 2})
    for (int64_t m : {0, 1, 5})
      for (int64_t k : {0, 1, 6, 67})
        for (int64_t n : {1, 70})
          sizes.push_back({{"b", b}, {"k", k}, {"m", m}, {"n", n}});
  for (const std::string &type : numbers) {
    std::string result = tensor({"broadcast(b, 2)", "m", "n"}, type);
    cases.push_back(
        one("matmul", "",
            {tensor({"b", "m", "k"}, type), tensor({"2", "k", "n"}, type)},
            {tensor({"2", "m", "n"}, type)}, sizes));
    cases.push_back(one(
        "matmul", "", {tensor({"3", "m", "k"}, type), tensor({"k", "n"}, type)},
        {tensor({"3", "m", "n"}, type)}, sizes));
    cases.push_back(withEpilogue(cases.back(), tensor({"3", "m", "n"}, type)));
  }
  cases.push_back(one("matmul", "",
                      {tensor({"m", "k"}, "f32"), tensor({"k", "2100"}, "f32")},
                      {tensor({"m", "2100"}, "f32")}, {{{"k", 13}, {"m", 3}}}));
  runCases(cases);
}

} // namespace
} // namespace tenon::test
