//===- IntegerMatmulTest.cpp - Products of 8-bit numbers ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The evaluator multiplies numbers of 32 bits: what kernels make of 8 must be
// equal to the last bit.
//
//===----------------------------------------------------------------------===//

#include "test/compiler/Targets/Cpu/LevelTest.h"
#include "test/compiler/Targets/Cpu/MatmulCase.h"
#include <algorithm>

namespace tenon::test {
namespace {

/// Numbers of a product and its zero points: "" for none, "scalar", or "each"
/// for one per row of lhs or column of rhs.
struct Factors {
  std::string lhs = "ui8", rhs = "i8";
  std::string lhsZero = "scalar", rhsZero = "";
};

/// %NAME: an operand of type `element` less its zero point, as i32.
std::string centered(const std::string &name, const Dims &dims,
                     const std::string &element, const std::string &zero,
                     const Dims &zeroDims) {
  std::string narrow = tensor(dims, element), wide = tensor(dims, "i32");
  std::string text = "%" + name + "wide = graph.cast %" + name + " : (" +
                     narrow + ") -> " + wide + "\n";
  if (zero.empty())
    return text;
  std::string zeros = tensor(zeroDims, element);
  std::string wideZeros = tensor(zeroDims, "i32");
  return text + "%" + name + "z = graph.cast %" + name + "zero : (" + zeros +
         ") -> " + wideZeros + "\n%" + name + "less = graph.sub %" + name +
         "wide, %" + name + "z : (" + wide + ", " + wideZeros + ") -> " + wide +
         "\n";
}

/// lhs [lead, depth] by a weight [depth, columns]; `behind` computes %y of type
/// `element` from %sums of type RESULT.
KernelCase integers(Dims lead, int64_t depth, int64_t columns,
                    std::vector<Symbols> sizes, const Factors &factors,
                    const std::string &operands = "", std::string behind = "",
                    const std::string &element = "f32") {
  std::string k = std::to_string(depth), n = std::to_string(columns);
  Dims lhs = lead, result = lead, perRow = lead, perColumn = {n};
  lhs.push_back(k);
  result.push_back(n);
  perRow.push_back("1");
  if (factors.lhsZero == "scalar")
    perRow.clear();
  if (factors.rhsZero == "scalar")
    perColumn.clear();
  std::string sums = tensor(result, "i32");
  for (size_t at; (at = behind.find("RESULT")) != std::string::npos;)
    behind.replace(at, 6, sums);
  KernelCase test;
  test.schedule = "PackedMatmulInt8";
  test.sizes = std::move(sizes);
  test.name = factors.lhs + " less " + factors.lhsZero + " by " + factors.rhs +
              " less " + factors.rhsZero + " " + k + "x" + n;
  test.arguments = "%a: " + tensor(lhs, factors.lhs) +
                   ", %b: " + tensor({k, n}, factors.rhs);
  if (!factors.lhsZero.empty())
    test.arguments += ", %azero: " + tensor(perRow, factors.lhs);
  if (!factors.rhsZero.empty())
    test.arguments += ", %bzero: " + tensor(perColumn, factors.rhs);
  if (!operands.empty())
    test.arguments += ", " + operands;
  auto nameOf = [](const std::string &name, const std::string &zero) {
    return "%" + name + (zero.empty() ? "wide" : "less");
  };
  test.body =
      centered("a", lhs, factors.lhs, factors.lhsZero, perRow) +
      centered("b", {k, n}, factors.rhs, factors.rhsZero, perColumn) +
      "%sums = graph.matmul " + nameOf("a", factors.lhsZero) + ", " +
      nameOf("b", factors.rhsZero) + " : (" + tensor(lhs, "i32") + ", " +
      tensor({k, n}, "i32") + ") -> " + sums + "\n" + behind +
      "\nkernel.yield " +
      (behind.empty() ? "%sums : " + sums : "%y : " + tensor(result, element));
  test.values = {{-128, 256}};
  return test;
}

class IntegerMatmul : public LevelTest {};

TEST_P(IntegerMatmul, TakesAllSignsAndZeroPoints) {
  std::vector<KernelCase> cases;
  for (const char *lhs : {"ui8", "i8"})
    for (const char *rhs : {"ui8", "i8"})
      for (const char *lhsZero : {"", "scalar", "each"})
        for (const char *rhsZero : {"", "scalar", "each"})
          cases.push_back(integers({"m"}, 21, 50, rows({0, 1, 9}),
                                   {lhs, rhs, lhsZero, rhsZero}));
  run(cases);
}

TEST_P(IntegerMatmul, TakesAnyNumberOfRows) {
  std::vector<Symbols> sizes = rows({0, 63, 64, 65, 128, 129, 130, 257});
  for (int64_t m = 1; m <= 34; ++m)
    sizes.push_back({{"m", m}});
  run({integers({"m"}, 8, 49, sizes, {})});
}

TEST_P(IntegerMatmul, TakesAnyNumberOfColumns) {
  std::vector<KernelCase> cases;
  for (int64_t columns : {1, 15, 16, 17, 32, 33, 47, 48, 49, 97, 1000})
    cases.push_back(integers({"m"}, 12, columns, rows({1, 9, 67}), {}));
  run(cases);
}

TEST_P(IntegerMatmul, TakesAnyDepth) {
  std::vector<KernelCase> cases;
  for (int64_t depth :
       {1, 2, 3, 4, 5, 15, 16, 17, 64, 68, 257, 768, 1023, 4096})
    cases.push_back(integers({"m"}, depth, 50, rows({1, 3, 30}), {}));
  cases.push_back(integers({"m"}, 4095, 3, rows({2}), {"i8", "ui8"}));
  run(cases);
}

/// Sums of two neighbours would not fit 16 bits.
TEST_P(IntegerMatmul, TakesExtremes) {
  std::vector<KernelCase> cases;
  for (const char *lhs : {"ui8", "i8"})
    for (const char *rhs : {"ui8", "i8"})
      for (int64_t depth : {7, 640})
        cases.push_back(integers({"m"}, depth, 50, rows({1, 7, 66}),
                                 {lhs, rhs, "each", "each"}));
  for (KernelCase &test : cases)
    test.values = {{-128, 256, /*special=*/true}};
  run(cases);
  for (KernelCase &test : cases) // All at an end.
    test.values = {{255, 255}, {-128, -128}, {0, 0}};
  run(cases);
}

/// As importers write it: scales, a bias, an activation, numbers again.
TEST_P(IntegerMatmul, GivesWhatFollows) {
  std::vector<KernelCase> cases;
  for (int64_t columns : {3, 48, 70}) {
    std::string n = std::to_string(columns);
    std::string wide = tensor({"b", "m", n}, "f32");
    std::string scaled = "%f = graph.cast %sums : (RESULT) -> " + wide +
                         "\n%u = graph.mul %f, %s : (" + wide + ", " +
                         tensor({"b", "m", "1"}, "f32") + ") -> " + wide +
                         "\n%v = graph.mul %u, %w : (" + wide + ", " +
                         tensor({n}, "f32") + ") -> " + wide + "\n";
    std::string scales =
        "%s: " + tensor({"b", "m", "1"}, "f32") + ", %w: " + tensor({n}, "f32");
    std::vector<Symbols> sizes;
    for (int64_t m : {0, 1, 5, 70})
      sizes.push_back({{"b", 2}, {"m", m}});
    cases.push_back(integers(
        {"b", "m"}, 36, columns, sizes, {"ui8", "i8", "each", ""}, scales,
        scaled + "%y = graph.tanh %v : (" + wide + ") -> " + wide));
    std::string bytes = tensor({"b", "m", n}, "ui8");
    cases.push_back(integers({"b", "m"}, 36, columns, sizes, {},
                             scales + ", %c: tensor<f32>, %z: tensor<ui8>",
                             scaled + "%y = graph.quantize %v, %c, %z : (" +
                                 wide + ", tensor<f32>, tensor<ui8>) -> " +
                                 bytes,
                             "ui8"));
  }
  run(cases);
}

/// As above, with k for so many steps that AMX follows up one tile while it
/// multiplies the next, and so many rows that groups meet a panel together.
TEST_P(IntegerMatmul, FollowsTilesBesideOthers) {
  std::vector<KernelCase> cases;
  for (const char *rhsZero : {"", "each"})
    for (auto [depth, columns] :
         {std::pair<int64_t, int64_t>(1024, 100), {1088, 48}, {256, 100}}) {
      std::string n = std::to_string(columns);
      std::string wide = tensor({"m", n}, "f32");
      cases.push_back(integers({"m"}, depth, columns,
                               rows({0, 1, 16, 17, 33, 48, 65, 130, 300, 520}),
                               {"ui8", "i8", "each", rhsZero},
                               "%w: " + tensor({n}, "f32"),
                               "%f = graph.cast %sums : (RESULT) -> " + wide +
                                   "\n%y = graph.mul %f, %w : (" + wide + ", " +
                                   tensor({n}, "f32") + ") -> " + wide));
    }
  run(cases);
}

TEST_P(IntegerMatmul, ReadsLhsThroughSlices) {
  std::vector<KernelCase> cases;
  for (int64_t start : {0, 1, 4})
    for (const char *width : {"40", "41"}) {
      KernelCase test = integers({"m"}, 32, 50, rows({0, 1, 9, 70}), {});
      std::string lies = tensor({"m", width}, "ui8");
      std::string seen = tensor({"m", "32"}, "ui8");
      test.name = "slice from " + std::to_string(start) + " of " + width;
      test.arguments.replace(0, ("%a: " + seen).size(), "%whole: " + lies);
      test.body = "%a = graph.slice %whole {starts = #graph.dims<0, " +
                  std::to_string(start) + ">, steps = #graph.dims<1, 1>} : (" +
                  lies + ") -> " + seen + "\n" + test.body;
      cases.push_back(test);
    }
  run(cases);
}

/// Two activations, [b, h, m, k] by [b, h, k, n], as they lie: `lies` says how
/// the axes of rhs do in memory.
KernelCase activations(const Dims &sizesOf, std::vector<Symbols> sizes,
                       const Factors &factors,
                       const std::string &lies = "0, 1, 2, 3") {
  const std::string &m = sizesOf[0], &k = sizesOf[1], &n = sizesOf[2];
  Dims lhs = {"b", "3", m, k}, rhs = {"b", "3", k, n},
       result = {"b", "3", m, n};
  Dims memory(4);
  for (size_t axis = 0; axis < 4; ++axis) // The transpose's axis is that one.
    memory[size_t(lies[3 * axis] - '0')] = rhs[axis];
  KernelCase test;
  test.schedule = "BatchedMatmulInt8";
  test.sizes = std::move(sizes);
  test.name = factors.lhs + " less " + factors.lhsZero + " by " + factors.rhs +
              " less " + factors.rhsZero + " " + m + "x" + k + "x" + n +
              " from " + lies;
  test.arguments = "%a: " + tensor(lhs, factors.lhs) +
                   ", %bmemory: " + tensor(memory, factors.rhs);
  if (!factors.lhsZero.empty())
    test.arguments += ", %azero: " + tensor({}, factors.lhs);
  if (!factors.rhsZero.empty())
    test.arguments += ", %bzero: " + tensor({}, factors.rhs);
  auto nameOf = [](const std::string &name, const std::string &zero) {
    return "%" + name + (zero.empty() ? "wide" : "less");
  };
  test.body =
      "%b = graph.transpose %bmemory {permutation = array<i64: " + lies +
      ">} : (" + tensor(memory, factors.rhs) + ") -> " +
      tensor(rhs, factors.rhs) + "\n" +
      centered("a", lhs, factors.lhs, factors.lhsZero, {}) +
      centered("b", rhs, factors.rhs, factors.rhsZero, {}) +
      "%sums = graph.matmul " + nameOf("a", factors.lhsZero) + ", " +
      nameOf("b", factors.rhsZero) + " : (" + tensor(lhs, "i32") + ", " +
      tensor(rhs, "i32") + ") -> " + tensor(result, "i32") +
      "\nkernel.yield %sums : " + tensor(result, "i32");
  test.values = {{-128, 256}};
  return test;
}

std::vector<Symbols> sizesOf(const char *symbol,
                             std::initializer_list<int64_t> counts) {
  std::vector<Symbols> sizes;
  for (int64_t count : counts)
    sizes.push_back({{"b", 2}, {symbol, count}});
  return sizes;
}

TEST_P(IntegerMatmul, TakesTwoActivationsOfAllSigns) {
  std::vector<KernelCase> cases;
  for (const char *lhs : {"ui8", "i8"})
    for (const char *rhs : {"ui8", "i8"})
      for (const char *zero : {"", "scalar"})
        for (const char *depth : {"8", "21"})
          for (const char *lies : {"0, 1, 2, 3", "0, 1, 3, 2"})
            cases.push_back(activations({"m", depth, "50"},
                                        sizesOf("m", {0, 1, 9, 70}),
                                        {lhs, rhs, zero, zero}, lies));
  run(cases);
}

TEST_P(IntegerMatmul, PacksAnyMatrixOnTheWay) {
  std::vector<KernelCase> cases;
  std::vector<int64_t> few = {0, 1, 2, 3, 4, 7, 47, 48, 49, 64, 97, 131};
  for (const char *lies :
       {"0, 1, 2, 3", "0, 1, 3, 2", "0, 2, 1, 3", "0, 2, 3, 1", "3, 1, 2, 0"})
    for (const char *form : {"ui8", "i8"}) {
      std::vector<Symbols> columns, depths;
      for (int64_t count : few) {
        columns.push_back({{"b", 2}, {"n", count}});
        depths.push_back({{"b", 2}, {"k", count}});
      }
      Factors factors = {form, form, "scalar", "scalar"};
      cases.push_back(activations({"9", "64", "n"}, columns, factors, lies));
      cases.push_back(activations({"9", "k", "64"}, depths, factors, lies));
    }
  run(cases);
}

TEST_P(IntegerMatmul, SharesPackedPanelsAmongRows) {
  std::vector<KernelCase> cases;
  for (const char *lhs : {"ui8", "i8"}) { // As it lies, and copied.
    std::vector<Symbols> sizes;
    for (int64_t m : {63, 64, 65, 128, 129, 200, 2049})
      sizes.push_back({{"b", 1}, {"m", m}});
    cases.push_back(activations({"m", "20", "49"}, sizes,
                                {lhs, "ui8", "scalar", "scalar"}));
  }
  // One matrix whose last panel is not full: groups of one block and of two.
  for (const char *rows : {"128", "260"})
    for (const char *zero : {"", "scalar"}) {
      cases.push_back(
          integers({rows}, 36, 64, {{}}, {"ui8", "i8", "scalar", zero}));
      cases.back().schedule = "BatchedMatmulInt8";
    }
  run(cases);
  std::vector<KernelCase> deep;
  for (const char *lhs : {"ui8", "i8"})
    deep.push_back(activations({"5", "k", "50"}, sizesOf("k", {4095, 4096}),
                               {lhs, "ui8", "scalar", "scalar"}, "0, 1, 3, 2"));
  for (KernelCase &test : deep)
    test.values = {{-128, 256, /*special=*/true}};
  run(deep);
}

/// Keys of a group of heads, and a matrix that all batches share.
TEST_P(IntegerMatmul, BroadcastsMatrices) {
  KernelCase test = activations({"m", "16", "n"}, {}, {"i8", "ui8"});
  test.name = "one matrix for three heads";
  for (int64_t n : {0, 5, 50})
    test.sizes.push_back({{"b", 2}, {"m", 7}, {"n", n}});
  std::string all = tensor({"b", "3", "16", "n"}, "ui8");
  std::string one = tensor({"b", "1", "16", "n"}, "ui8");
  for (std::string *text : {&test.arguments, &test.body})
    for (size_t at; (at = text->find(all)) != std::string::npos;)
      text->replace(at, all.size(), one);
  std::string wide = tensor({"b", "3", "16", "n"}, "i32");
  for (size_t at; (at = test.body.find(wide)) != std::string::npos;)
    test.body.replace(at, wide.size(), tensor({"b", "1", "16", "n"}, "i32"));
  run({test});
}

INSTANTIATE_TEST_SUITE_P(Levels, IntegerMatmul,
                         testing::Values("x86-64-v3", "x86-64-v3-vnni",
                                         "x86-64-v4", "x86-64-v4-vnni",
                                         "x86-64-v4-bf16", "x86-64-v4-amx",
                                         expandedAmx),
                         nameOfLevel);

} // namespace
} // namespace tenon::test
