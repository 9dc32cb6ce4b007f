//===- BatchedMatmulTest.cpp - Products of activations --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/model_format.h"
#include "test/compiler/Targets/Cpu/LevelTest.h"
#include "test/compiler/Targets/Cpu/MatmulCase.h"

namespace tenon::test {
namespace {

using namespace std::string_literals;
using Dims = std::vector<std::string>;

/// An operand: the dims of the argument, and ops from %NAME to %NAMEv, if any,
/// of dims `seen`.
struct Operand {
  Dims dims;
  std::string view = "";
  Dims seen = {};
};

std::string replaced(std::string text, const std::string &word,
                     const std::string &by) {
  for (size_t at; (at = text.find(word)) != std::string::npos;)
    text.replace(at, word.size(), by);
  return text;
}

/// %y = behind(%a * %b); in `behind` %sums is the product, of type RESULT.
/// Operands of another type than f32 are widened in front of it.
KernelCase product(const Operand &a, const Operand &b, const Dims &result,
                   std::vector<Symbols> sizes, std::string behind = "",
                   const std::string &operands = "",
                   const std::string &element = "f32",
                   const std::string &given = "f32") {
  KernelCase test;
  test.schedule = "BatchedMatmul";
  test.sizes = std::move(sizes);
  std::string sums = tensor(result, "f32"), types, names;
  for (const auto &[name, operand] : {std::pair("a", &a), std::pair("b", &b)}) {
    std::string type = tensor(operand->dims, given),
                comma = *name - 'a' ? ", " : "", value = "%"s + name;
    bool isView = !operand->seen.empty();
    const Dims &dims = isView ? operand->seen : operand->dims;
    std::string seen = tensor(dims, given), wide = tensor(dims, "f32");
    test.arguments += comma + value + ": " + type;
    test.name += type + operand->view + " ";
    if (isView) {
      value += "v";
      test.body += value + " = graph." + operand->view + " : (" + type +
                   ") -> " + seen + "\n";
    }
    if (given != "f32") {
      test.body += value + "w = graph.cast " + value + " : (" + seen + ") -> " +
                   wide + "\n";
      value += "w";
    }
    names += comma + value;
    types += comma + wide;
  }
  test.name += behind;
  if (!operands.empty())
    test.arguments += ", " + operands;
  test.body += "%sums = graph.matmul " + names + " : (" + types + ") -> " +
               sums + "\n" + replaced(behind, "RESULT", sums) +
               "\nkernel.yield " + (behind.empty() ? "%sums" : "%y") + " : " +
               tensor(result, element);
  return test;
}

std::string transpose(const std::string &name, const std::string &axes) {
  return "transpose %" + name + " {permutation = array<i64: " + axes + ">}";
}

/// Heads of attention, of rows that hold all of them.
Operand queries() {
  return {{"b", "s", "4", "32"},
          transpose("a", "0, 2, 1, 3"),
          {"b", "4", "s", "32"}};
}
Operand keys() {
  return {{"b", "s", "4", "32"},
          transpose("b", "0, 2, 3, 1"),
          {"b", "4", "32", "s"}};
}

class BatchedMatmul : public LevelTest {};

/// Windows of columns, of rows, and a matrix for each window: batches whose
/// operands overlap in memory.
TEST_P(BatchedMatmul, ReadsWindowsInPlace) {
  std::vector<Symbols> sizes;
  for (int64_t m : {0, 1, 9, 65})
    for (int64_t n : {1, 16, 33})
      for (int64_t w : {1, 5})
        sizes.push_back({{"m", m}, {"k", 7 + m}, {"n", n}, {"w", w}});
  std::string windows = " {axis = 1 : i64, stride = 1 : i64, step = 1 : i64}";
  std::vector<KernelCase> cases;
  for (std::string batch : {"", "w"}) {
    std::string lhs =
        tensor(batch.empty() ? Dims{"m", "k"} : Dims{"w", "m", "k"}, "f32");
    std::string rhs = tensor({"k", "w + n + -1"}, "f32"),
                wide = tensor({"k", "w", "n"}, "f32"),
                seen = tensor({"w", "k", "n"}, "f32"),
                result = tensor({"w", "m", "n"}, "f32");
    KernelCase test;
    test.name = "windows " + lhs;
    test.schedule = "BatchedMatmul";
    test.sizes = sizes;
    test.arguments = "%a: " + lhs + ", %b: " + rhs;
    test.body = "%0 = graph.windows %b" + windows + " : (" + rhs + ") -> " +
                wide + "\n%1 = graph.transpose %0 {permutation = array<i64: " +
                "1, 0, 2>} : (" + wide + ") -> " + seen +
                "\n%2 = graph.matmul %a, %1 : (" + lhs + ", " + seen + ") -> " +
                result + "\nkernel.yield %2 : " + result;
    cases.push_back(test);
  }
  cases.push_back(
      product({{"w + m + -1", "k"},
               "windows %a {axis = 0 : i64, stride = 1 : i64, step = 1 : i64}",
               {"w", "m", "k"}},
              {{"k", "n"}}, {"w", "m", "n"}, sizes));
  run(cases);
}

TEST_P(BatchedMatmul, TakesAnySizes) {
  std::vector<Symbols> sizes;
  for (int64_t m : {0, 1, 2, 7, 8, 9, 63, 64, 65, 127, 128, 129})
    for (int64_t n : {0, 1, 15, 16, 17, 33, 47, 48, 49, 97})
      sizes.push_back({{"m", m}, {"k", (m + n) % 20}, {"n", n}});
  for (int64_t size = 0; size <= 65; ++size)
    sizes.push_back({{"m", size}, {"k", size}, {"n", size}});
  for (int64_t k : {0, 1, 3, 4, 895, 896, 897, 1540})
    sizes.push_back({{"m", 9}, {"k", k}, {"n", 50}});
  run({product({{"m", "k"}}, {{"k", "n"}}, {"m", "n"}, sizes)});
}

TEST_P(BatchedMatmul, TakesNumbersAsSizes) {
  std::vector<KernelCase> cases;
  for (int64_t depth : {1, 16, 700, 1024, 1100})
    for (const char *columns : {"1", "48", "50", "112"}) {
      std::string k = std::to_string(depth);
      cases.push_back(product({{"3", "70", k}}, {{"3", k, columns}},
                              {"3", "70", columns}, {{}}));
    }
  run(cases);
}

TEST_P(BatchedMatmul, Broadcasts) {
  std::vector<Symbols> sizes = {{{"b", 3}, {"c", 3}, {"s", 5}},
                                {{"b", 0}, {"c", 0}, {"s", 5}},
                                {{"b", 4}, {"c", 4}, {"s", 70}},
                                {{"b", 1}, {"c", 1}, {"s", 1}}};
  run({product({{"b", "s", "20"}}, {{"20", "s"}}, {"b", "s", "s"}, sizes),
       product({{"s", "20"}}, {{"b", "20", "50"}}, {"b", "s", "50"}, sizes),
       product({{"2", "1", "s", "20"}}, {{"b", "20", "50"}},
               {"2", "b", "s", "50"}, sizes),
       product({{"b", "1", "s", "20"}}, {{"1", "2", "20", "s"}},
               {"b", "2", "s", "s"}, sizes)});
}

TEST_P(BatchedMatmul, PicksMatricesOfBatches) {
  const std::vector<Symbols> sizes = {
      {{"t", 0}, {"m", 3}}, {{"t", 4}, {"m", 1}}, {{"t", 3}, {"m", 70}}};
  std::vector<KernelCase> cases = {picked("20", "50", sizes),
                                   picked("1100", "96", sizes)};
  // Whose columns lie apart.
  KernelCase turned = picked("20", "50", sizes);
  std::string stored = tensor({"5", "50", "20"}, "f32"),
              seen = tensor({"5", "20", "50"}, "f32");
  turned.name += ", turned";
  turned.arguments = replaced(turned.arguments, seen, stored);
  turned.body = "%bt = graph.transpose %b {permutation = array<i64: 0, 2, 1>} "
                ": (" +
                stored + ") -> " + seen + "\n" +
                replaced(turned.body, "gather %b,", "gather %bt,");
  cases.push_back(turned);
  KernelCase none = picked("20", "50", {{{"t", 3}, {"m", 2}}});
  none.values.back() = {5, 9};
  none.fault = TENON_FAULT_INDEX;
  cases.push_back(none);
  for (KernelCase &test : cases)
    test.schedule = "BatchedMatmul";
  run(cases);
}

TEST_P(BatchedMatmul, SeesThroughTransposes) {
  std::vector<Symbols> sizes;
  for (int64_t s : {0, 1, 5, 16, 17, 40, 64, 65, 100, 130})
    sizes.push_back({{"b", 2}, {"s", s}, {"t", s % 50 + 3}});
  run({
      // lhs: its rows are contiguous, or nothing is.
      product({{"b", "s", "t"}, transpose("a", "0, 2, 1"), {"b", "t", "s"}},
              {{"b", "s", "50"}}, {"b", "t", "50"}, sizes),
      product({{"b", "s", "t", "3"},
               transpose("a", "0, 3, 1, 2"),
               {"b", "3", "s", "t"}},
              {{"t", "20"}}, {"b", "3", "s", "20"}, sizes),
      product({{"1600", "s"}, transpose("a", "1, 0"), {"s", "1600"}},
              {{"1600", "t"}}, {"s", "t"}, sizes),
      // rhs: its columns are apart, its steps of k contiguous, or nothing is.
      product({{"b", "s", "20"}},
              {{"b", "t", "20"}, transpose("b", "0, 2, 1"), {"b", "20", "t"}},
              {"b", "s", "t"}, sizes),
      product({{"b", "s", "20"}},
              {{"b", "t", "20", "2"},
               transpose("b", "3, 0, 2, 1"),
               {"2", "b", "20", "t"}},
              {"2", "b", "s", "t"}, sizes),
      // Heads of attention, both ways.
      product(queries(), keys(), {"b", "4", "s", "s"}, sizes),
      product({{"b", "4", "s", "t"}},
              {{"b", "t", "4", "32"},
               transpose("b", "0, 2, 1, 3"),
               {"b", "4", "t", "32"}},
              {"b", "4", "s", "32"}, sizes),
  });
}

/// As onesided Fourier transforms have it: what the body computes of k for its
/// own use is no part of the columns, which are known before.
TEST_P(BatchedMatmul, ColumnsFollowFromTheSharedAxis) {
  std::vector<Symbols> sizes;
  for (int64_t k : {1, 2, 33, 100})
    sizes.push_back({{"m", 5}, {"k", k}});
  std::string columns = "2 * floordiv(k, 2) + 2";
  run({product({{"m", "k"}}, {{"k", columns}}, {"m", columns}, sizes),
       product({{"m", "b", "k"}, transpose("a", "1, 0, 2"), {"b", "m", "k"}},
               {{"k", columns}}, {"b", "m", columns},
               {{{"m", 5}, {"b", 2}, {"k", 33}}})});
}

TEST_P(BatchedMatmul, CopiesRowsThatLiePagesApart) {
  std::vector<Symbols> sizes = {{{"m", 1}}, {{"m", 63}}, {{"m", 140}}};
  run({product({{"2", "m", "1024"}}, {{"2", "1024", "50"}}, {"2", "m", "50"},
               sizes),
       product({{"m", "2", "1000"},
                "slice %a {starts = #graph.dims<0, 1, 3>, steps = "
                "#graph.dims<1, 1, 1>}",
                {"m", "1", "990"}},
               {{"990", "50"}}, {"m", "1", "50"}, sizes)});
}

/// A matrix whose last panel is not full: groups of one block, of two and of
/// three.
TEST_P(BatchedMatmul, HasMoreGroupsOfFewPanels) {
  std::vector<KernelCase> cases;
  for (const char *rows : {"128", "260", "700"})
    for (const char *depth : {"40", "1100"})
      cases.push_back(
          product({{rows, depth}}, {{depth, "64"}}, {rows, "64"}, {{}}));
  cases.push_back(
      product({{"140", "30"}}, {{"30", "112"}}, {"140", "112"}, {{}}));
  run(cases);
}

/// Groups of many blocks of rows: full, cut by a piece, and the next one.
TEST_P(BatchedMatmul, PacksForManyRows) {
  std::vector<Symbols> sizes;
  for (int64_t m : {128, 129, 300, 2048, 2049})
    for (int64_t n : {3, 48, 50, 1210})
      sizes.push_back({{"m", m}, {"k", 5}, {"n", n}});
  for (int64_t n : {48, 50, 100})
    sizes.push_back({{"m", 260}, {"k", 900}, {"n", n}});
  std::string doubled = "%y = graph.add %sums, %sums : (RESULT, RESULT) -> "
                        "RESULT";
  std::vector<Symbols> few = {{{"m", 140}}, {{"m", 330}}};
  run({product({{"m", "k"}}, {{"k", "n"}}, {"m", "n"}, sizes),
       product({{"2", "m", "780"}}, {{"2", "780", "50"}}, {"2", "m", "50"}, few,
               doubled),
       product({{"2", "m", "7"}}, {{"2", "7", "1200"}}, {"2", "m", "1200"}, few,
               doubled),
       product({{"m", "1024"}},
               {{"100", "1024"}, transpose("b", "1, 0"), {"1024", "100"}},
               {"m", "100"}, few),
       product({{"1024", "m"}, transpose("a", "1, 0"), {"m", "1024"}},
               {{"1024", "50"}}, {"m", "50"}, few)});
}

/// Of a few rows, a matrix whose columns lie together is not packed.
TEST_P(BatchedMatmul, ReadsMatricesWhereTheyLie) {
  std::vector<Symbols> sizes;
  for (int64_t n : {0, 1, 7, 8, 9, 16, 23, 24, 31, 32, 47, 48, 49, 97, 250})
    for (int64_t k : {0, 1, 5, 900, 1540})
      sizes.push_back({{"n", n}, {"k", k}, {"b", 1 + n % 3}});
  std::string doubled = "%y = graph.add %sums, %sums : (RESULT, RESULT) -> "
                        "RESULT";
  std::vector<KernelCase> cases;
  for (const char *rows : {"1", "2", "3", "4", "5"}) {
    Operand a = {{"b", rows, "k"}}, b = {{"b", "k", "n"}};
    Dims result = {"b", rows, "n"};
    cases.push_back(product(a, b, result, sizes));
    cases.push_back(product(a, b, result, sizes, doubled));
    cases.push_back(
        product(a, b, result, sizes,
                "%y = graph.cast %sums : (RESULT) -> " + tensor(result, "f16"),
                "", "f16"));
    // Some columns of rows that are longer, and every second row.
    cases.push_back(product(
        {{"b", "k", rows, "2"},
         transpose("a", "0, 3, 2, 1"),
         {"b", "2", rows, "k"}},
        {{"b", "2", "2 * k", "n + 30"},
         "slice %b {starts = #graph.dims<0, 0, 0, 3>, steps = #graph.dims<1, "
         "1, 2, 1>}",
         {"b", "2", "k", "n"}},
        {"b", "2", rows, "n"}, {{{"n", 50}, {"k", 7}, {"b", 2}}}));
    cases.push_back(product({{"2", rows, "1100"}}, {{"2", "1100", "100"}},
                            {"2", rows, "100"}, {{}}));
  }
  for (const char *columns : {"20", "96"})
    cases.push_back(
        picked("20", columns, {{{"t", 0}, {"m", 1}}, {{"t", 4}, {"m", 1}}}));
  for (KernelCase &test : cases)
    test.schedule = "BatchedMatmul";
  run(cases);
}

TEST_P(BatchedMatmul, ReadsRowsOfBatchesThatLieApart) {
  // One row of each batch, behind an axis of one; and every second batch.
  std::vector<Symbols> sizes = {{{"m", 1}}, {{"m", 5}}, {{"m", 70}}};
  run({product({{"m", "1", "6", "20"},
                "slice %a {starts = #graph.dims<0, 0, 2, 0>, steps = "
                "#graph.dims<1, 1, 1, 1>}",
                {"m", "1", "1", "20"}},
               {{"20", "9"}}, {"m", "1", "1", "9"}, sizes),
       product({{"3", "4", "m", "20"},
                "slice %a {starts = #graph.dims<0, 1, 0, 0>, steps = "
                "#graph.dims<1, 2, 1, 1>}",
                {"3", "1", "m", "20"}},
               {{"20", "9"}}, {"3", "1", "m", "9"}, sizes)});
}

TEST_P(BatchedMatmul, RunsWhatFollows) {
  std::vector<Symbols> sizes = {
      {{"b", 2}, {"s", 5}}, {{"b", 3}, {"s", 70}}, {{"b", 1}, {"s", 0}}};
  std::string mask = tensor({"b", "1", "1", "s"}, "f32");
  std::string scaled = "%c0 = graph.constant {value = dense<0.25> : "
                       "tensor<f32>} : () -> tensor<f32>\n"
                       "%t = graph.mul %sums, %c0 : (RESULT, tensor<f32>) -> "
                       "RESULT\n";
  std::string half = tensor({"b", "4", "s", "s"}, "f16");
  Operand q = {{"b", "4", "s", "32"}}, k = {{"b", "4", "32", "s"}};
  KernelCase wide = product(
      {{"b", "s", "1600"}}, {{"b", "1600", "100"}}, {"b", "s", "100"}, sizes,
      "%y = graph.cast %sums : (RESULT) -> " + tensor({"b", "s", "100"}, "f64"),
      "", "f64");
  wide.tolerance = 1e-6; // The sums are f32.
  run({wide,
       product(q, k, {"b", "4", "s", "s"}, sizes,
               scaled + "%y = graph.add %t, %m : (RESULT, " + mask +
                   ") -> RESULT",
               "%m: " + mask),
       product(q, k, {"b", "4", "s", "s"}, sizes,
               scaled + "%y = graph.cast %t : (RESULT) -> " + half, "",
               "f16")});
}

TENON_FOR_ALL_LEVELS(BatchedMatmul);

/// Both operands in bf16, which some levels multiply by pairs of steps.
class BatchedPairs : public LevelTest {
protected:
  static KernelCase pairs(const Operand &a, const Operand &b,
                          const Dims &result, std::vector<Symbols> sizes,
                          const std::string &behind = "",
                          const std::string &operands = "",
                          const std::string &element = "f32") {
    return product(a, b, result, std::move(sizes), behind, operands, element,
                   "bf16");
  }
};

TEST_P(BatchedPairs, TakesAnySizes) {
  std::vector<Symbols> sizes;
  for (int64_t m : {0, 1, 9, 16, 17, 31, 65, 129})
    for (int64_t n : {0, 1, 16, 47, 48, 49, 97})
      sizes.push_back({{"m", m}, {"n", n}});
  std::vector<KernelCase> cases;
  for (const char *depth : {"2", "30", "32", "66", "898", "1540"}) {
    cases.push_back(pairs({{"m", depth}}, {{depth, "n"}}, {"m", "n"}, sizes));
    cases.push_back(pairs({{"m", depth}},
                          {{"n", depth}, transpose("b", "1, 0"), {depth, "n"}},
                          {"m", "n"}, sizes));
  }
  run(cases);
}

TEST_P(BatchedPairs, TakesBatches) {
  std::vector<Symbols> sizes;
  for (int64_t s : {0, 2, 16, 40, 64, 66, 130})
    sizes.push_back({{"b", 2}, {"s", s}});
  run({pairs({{"b", "s", "20"}}, {{"20", "s"}}, {"b", "s", "s"}, sizes),
       pairs({{"b", "1", "s", "20"}}, {{"1", "2", "20", "s"}},
             {"b", "2", "s", "s"}, sizes),
       // Heads of attention.
       pairs(queries(), keys(), {"b", "4", "s", "s"}, sizes),
       pairs({{"b", "4", "s", "66"}},
             {{"b", "66", "4", "32"},
              transpose("b", "0, 2, 1, 3"),
              {"b", "4", "66", "32"}},
             {"b", "4", "s", "32"}, sizes)});
}

/// Tall groups; rows that lie pages apart; several blocks of k whose sums wait
/// in the result, in a part of a panel and in scratch memory.
TEST_P(BatchedPairs, PacksForManyRows) {
  std::vector<Symbols> sizes;
  for (int64_t m : {129, 300, 2049})
    for (int64_t n : {48, 50, 1210})
      sizes.push_back({{"m", m}, {"n", n}});
  std::vector<Symbols> few = {{{"m", 5}}, {{"m", 140}}, {{"m", 330}}};
  std::string half = tensor({"m", "100"}, "bf16");
  std::string rounded = "%y = graph.cast %sums : (RESULT) -> " + half;
  Operand turned = {{"100", "2048"}, transpose("b", "1, 0"), {"2048", "100"}};
  run({pairs({{"m", "6"}}, {{"6", "n"}}, {"m", "n"}, sizes),
       pairs({{"m", "2048"}}, turned, {"m", "100"}, few),
       pairs({{"m", "2048"}}, turned, {"m", "100"}, few, rounded, "", "bf16"),
       pairs({{"m", "1536"}}, {{"1536", "100"}}, {"m", "100"}, few, rounded, "",
             "bf16"),
       pairs({{"2", "m", "1600"}}, {{"2", "1600", "50"}}, {"2", "m", "50"}, few,
             "%y = graph.add %sums, %sums : (RESULT, RESULT) -> RESULT")});
}

TENON_FOR_LEVELS_OF_PAIRS(BatchedPairs);

/// The case whose product may be added up in f16, for which its operands are
/// rounded in the body or by the kernel alone. Sums are off as in F16Strip.
KernelCase roundingToF16(KernelCase test, bool rounds = true) {
  constexpr const char *product = "%sums = graph.matmul ";
  std::string text = test.body.substr(test.body.find(product));
  text.resize(text.find('\n'));
  size_t comma = text.find(", "), colon = text.find(" : (");
  size_t next = text.find(", tensor", colon), end = text.find(") -> ", colon);
  Dims names = {text.substr(text.find("%", 1), comma - text.find("%", 1)),
                text.substr(comma + 2, colon - comma - 2)};
  Dims types = {text.substr(colon + 4, next - colon - 4),
                text.substr(next + 2, end - next - 2)};
  std::string casts;
  for (int i = 0; rounds && i < 2; ++i) {
    std::string half = replaced(types[i], "f32", "f16");
    casts += names[i] + "n = graph.cast " + names[i] + " : (" + types[i] +
             ") -> " + half + "\n" + names[i] + "r = graph.cast " + names[i] +
             "n : (" + half + ") -> " + types[i] + "\n";
    names[i] += "r";
  }
  test.body.replace(test.body.find(product), text.size(),
                    casts + product + names[0] + ", " + names[1] +
                        " {graph.adds_f16}" + text.substr(colon));
  test.name += ", in f16";
  test.tolerance = std::max(test.tolerance, 4e-3);
  return test;
}

class BatchedF16 : public LevelTest {
protected:
  void runRounded(std::vector<KernelCase> cases) {
    for (KernelCase &test : cases)
      test = roundingToF16(test);
    run(cases);
  }
};

TEST_P(BatchedF16, TakesAnySizes) {
  std::vector<Symbols> sizes;
  for (int64_t m : {0, 24, 25, 31, 65, 129})
    for (int64_t n : {0, 1, 16, 47, 48, 49, 97})
      sizes.push_back({{"m", m}, {"n", n}});
  std::vector<KernelCase> cases;
  for (const char *depth :
       {"2", "30", "33", "66", "128", "130", "898", "1540"}) {
    cases.push_back(product({{"m", depth}}, {{depth, "n"}}, {"m", "n"}, sizes));
    cases.push_back(product(
        {{"m", depth}}, {{"n", depth}, transpose("b", "1, 0"), {depth, "n"}},
        {"m", "n"}, sizes));
  }
  runRounded(cases);
}

/// Columns of memory: few, many, and of several blocks of k, the last of which
/// is short; and elements of which none are neighbours.
TEST_P(BatchedF16, TurnsLhs) {
  std::vector<Symbols> sizes;
  for (int64_t m : {0, 7, 25, 64, 128, 130, 200})
    sizes.push_back({{"m", m}});
  std::vector<KernelCase> cases;
  for (const char *depth : {"2", "34", "64", "514", "896", "1544"})
    cases.push_back(
        product({{depth, "m"}, transpose("a", "1, 0"), {"m", depth}},
                {{depth, "50"}}, {"m", "50"}, sizes));
  cases.push_back(
      product({{"m", "66", "3"}, transpose("a", "2, 0, 1"), {"3", "m", "66"}},
              {{"66", "20"}}, {"3", "m", "20"}, sizes));
  runRounded(cases);
}

TEST_P(BatchedF16, TakesBatches) {
  std::vector<Symbols> sizes;
  for (int64_t s : {0, 2, 26, 40, 64, 66, 130})
    sizes.push_back({{"b", 2}, {"s", s}});
  runRounded(
      {product({{"b", "s", "20"}}, {{"20", "s"}}, {"b", "s", "s"}, sizes),
       product({{"b", "1", "s", "20"}}, {{"1", "2", "20", "s"}},
               {"b", "2", "s", "s"}, sizes),
       product(queries(), keys(), {"b", "4", "s", "s"}, sizes)});
}

/// As BatchedPairs.
TEST_P(BatchedF16, PacksForManyRows) {
  std::vector<Symbols> sizes;
  for (int64_t m : {129, 300, 2049})
    for (int64_t n : {48, 50, 1210})
      sizes.push_back({{"m", m}, {"n", n}});
  std::vector<Symbols> few = {{{"m", 5}}, {{"m", 140}}, {{"m", 330}}};
  Operand turned = {{"100", "2048"}, transpose("b", "1, 0"), {"2048", "100"}};
  std::string half = tensor({"m", "100"}, "f16");
  std::vector<KernelCase> cases = {
      product({{"m", "6"}}, {{"6", "n"}}, {"m", "n"}, sizes),
      product({{"m", "2048"}}, turned, {"m", "100"}, few),
      product({{"2048", "m"}, transpose("a", "1, 0"), {"m", "2048"}}, turned,
              {"m", "100"}, few),
      product({{"m", "1536"}}, {{"1536", "100"}}, {"m", "100"}, few,
              "%y = graph.cast %sums : (RESULT) -> " + half, "", "f16"),
      product({{"2", "m", "1600"}}, {{"2", "1600", "50"}}, {"2", "m", "50"},
              few, "%y = graph.add %sums, %sums : (RESULT, RESULT) -> RESULT")};
  runRounded(cases);
}

/// Rows and columns of any size, and both of such that f32 holds what f16 could
/// not; products of them end where f32 does.
TEST_P(BatchedF16, NeitherOverflowsNorVanishes) {
  std::vector<KernelCase> cases;
  for (auto [lhs, rhs] : {std::pair<Values, Values>({60000, 65000}, {6e4, 7e4}),
                          {{-1e20, 1e20}, {-1e6, 1e6}},
                          {{1e-20, 2e-20}, {1e-10, 2e-10}},
                          {{-1e38, 1e38}, {-1e-38, 1e-38}},
                          {{-1e-30, 1e-30}, {-1e30, 1e30}}}) {
    cases.push_back(
        product({{"m", "512"}}, {{"512", "100"}}, {"m", "100"}, {{{"m", 40}}}));
    cases.back().values = {lhs, rhs};
  }
  for (KernelCase &test : cases) // As f16, some would be infinite.
    test = roundingToF16(test, /*rounds=*/false);
  run(cases);
}

TEST_P(BatchedF16, MakesPairsOfPairsOfBf16) {
  std::vector<Symbols> sizes;
  for (int64_t m : {24, 25, 70, 300})
    sizes.push_back({{"m", m}, {"n", 50}});
  std::vector<KernelCase> cases;
  for (const char *depth : {"64", "66", "898", "1536"})
    for (bool turned : {false, true}) {
      Operand rhs = {{depth, "n"}};
      if (turned)
        rhs = {{"n", depth}, transpose("b", "1, 0"), {depth, "n"}};
      cases.push_back(roundingToF16(product({{"m", depth}}, rhs, {"m", "n"},
                                            sizes, "", "", "f32", "bf16"),
                                    /*rounds=*/false));
    }
  cases.push_back(cases.front()); // f16 holds none of these.
  cases.back().values = {{-1e20, 1e20}, {-1e6, 1e6}};
  run(cases);
}

TENON_FOR_LEVELS_OF_F16(BatchedF16);

} // namespace
} // namespace tenon::test
