//===- MatmulTilesTest.cpp - Matrix products by tiles on devices ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/KernelTest.h"
#include <gtest/gtest.h>

namespace tenon::test {
namespace {

using Dims = std::vector<std::string>;

/// An operand: the dims of the argument, and an op on %NAME that makes %NAMEv
/// of dims `seen`, if any.
struct Operand {
  Dims dims;
  std::string view = "";
  Dims seen = {};
};

struct Product {
  Operand a, b;
  Dims result;
  std::vector<Symbols> sizes = {{}};
  std::string behind = "";   // Of %sums, of type RESULT, to %y.
  std::string operands = ""; // More arguments.
  Dims yielded = {};         // Unless it is the result's.
  std::string element = "";  // Of what is yielded, unless that of the sums.
  bool isWidened = true;     // bf16 operands become f32 before.
};

std::string replaced(std::string text, const std::string &word,
                     const std::string &by) {
  for (size_t at; (at = text.find(word)) != std::string::npos;)
    text.replace(at, word.size(), by);
  return text;
}

/// %y = behind(%a * %b) with operands of type `in`.
KernelCase product(const std::string &schedule, const std::string &in,
                   const Product &of) {
  KernelCase test;
  test.schedule = schedule;
  test.sizes = of.sizes;
  bool isWidened = in == "bf16" && of.isWidened;
  std::string out = isWidened ? "f32" : in, types, names;
  for (const auto &[name, operand] : {std::pair("a", &of.a), {"b", &of.b}}) {
    std::string type = tensor(operand->dims, in), value = name,
                comma = names.empty() ? "" : ", ";
    test.arguments += comma + "%" + name + ": " + type;
    test.name += type + " " + operand->view + " ";
    auto then = [&](const std::string &op, const std::string &to) {
      test.body += "%" + value + "v = graph." + replaced(op, "IT", value) +
                   " : (" + type + ") -> " + to + "\n";
      value += "v", type = to;
    };
    Dims seen = operand->seen.empty() ? operand->dims : operand->seen;
    if (!operand->view.empty())
      then(operand->view, tensor(seen, in));
    if (isWidened)
      then("cast %IT", tensor(seen, "f32"));
    names += comma + "%" + value;
    types += comma + type;
  }
  std::string sums = tensor(of.result, out);
  test.name += of.behind;
  test.arguments += of.operands.empty() ? "" : ", " + of.operands;
  test.body += "%sums = graph.matmul " + names + " : (" + types + ") -> " +
               sums + "\n" + replaced(of.behind, "RESULT", sums) +
               "\nkernel.yield " + (of.behind.empty() ? "%sums" : "%y") +
               " : " +
               tensor(of.yielded.empty() ? of.result : of.yielded,
                      of.element.empty() ? out : of.element);
  return test;
}

std::string transpose(const std::string &axes) {
  return "transpose %IT {permutation = array<i64: " + axes + ">}";
}

std::vector<Symbols> rows(std::initializer_list<int64_t> counts) {
  std::vector<Symbols> sizes;
  for (int64_t count : counts)
    sizes.push_back({{"m", count}});
  return sizes;
}

/// What models have behind a product: bias, activation and residual.
Product withEpilogue(const std::string &depth, const std::string &columns,
                     std::vector<Symbols> sizes) {
  std::string whole = tensor({"m", columns}, "f32"),
              bias = tensor({columns}, "f32");
  return {.a = {{"m", depth}},
          .b = {{depth, columns}},
          .result = {"m", columns},
          .sizes = std::move(sizes),
          .behind = "%0 = graph.add %sums, %bias : (RESULT, " + bias +
                    ") -> RESULT\n%1 = graph.sigmoid %0 : (RESULT) -> RESULT\n"
                    "%y = graph.add %1, %d : (RESULT, RESULT) -> RESULT",
          .operands = "%bias: " + bias + ", %d: " + whole};
}

/// Both halves of the columns meet: low * sigmoid(high).
Product gated(const std::string &depth, int64_t columns,
              std::vector<Symbols> sizes) {
  std::string half = tensor({"m", std::to_string(columns)}, "f32");
  auto slice = [&](const std::string &name, int64_t start) {
    return "%" + name + " = graph.slice %sums {starts = #graph.dims<0, " +
           std::to_string(start) +
           ">, steps = #graph.dims<1, 1>} : (RESULT) -> " + half + "\n";
  };
  std::string both = std::to_string(2 * columns);
  return {.a = {{"m", depth}},
          .b = {{depth, both}},
          .result = {"m", both},
          .sizes = std::move(sizes),
          .behind = slice("l", 0) + slice("h", columns) +
                    "%g = graph.sigmoid %h : (" + half + ") -> " + half +
                    "\n%y = graph.mul %l, %g : (" + half + ", " + half +
                    ") -> " + half,
          .yielded = {"m", std::to_string(columns)}};
}

/// Batches as attention has them: of the columns of [b, m, h * k], and of a
/// rhs whose columns lie apart.
Product perHead(const std::string &depth) {
  return {.a = {{"b", "m", "3", depth},
                transpose("0, 2, 1, 3"),
                {"b", "3", "m", depth}},
          .b = {{"b", "n", "3", depth},
                transpose("0, 2, 3, 1"),
                {"b", "3", depth, "n"}},
          .result = {"b", "3", "m", "n"},
          .sizes = {{{"b", 2}, {"m", 67}, {"n", 70}},
                    {{"b", 1}, {"m", 1}, {"n", 130}}}};
}

/// The result is the product's transpose.
Product turned(const std::string &depth, const std::string &columns) {
  std::string back = tensor({"2", columns, "m"}, "f32");
  return {.a = {{"2", "m", depth}},
          .b = {{depth, columns}},
          .result = {"2", "m", columns},
          .sizes = rows({5, 70}),
          .behind = "%0 = graph.sigmoid %sums : (RESULT) -> RESULT\n"
                    "%y = graph.transpose %0 {permutation = array<i64: 0, 2, "
                    "1>} : (RESULT) -> " +
                    back,
          .yielded = {"2", columns, "m"}};
}

std::vector<KernelCase> all(const std::string &schedule, const std::string &in,
                            const std::vector<Product> &products) {
  std::vector<KernelCase> cases;
  for (const Product &each : products)
    cases.push_back(product(schedule, in, each));
  return cases;
}

//===----------------------------------------------------------------------===//
// MatmulSimt
//===----------------------------------------------------------------------===//

TEST(MatmulSimt, TakesLargeTiles) {
  // Columns in fours, the whole depth in panels; and neither.
  runCases(all("MatmulSimt", "f32",
               {withEpilogue("24", "260", rows({1, 127, 130})),
                withEpilogue("40", "384", rows({128})),
                withEpilogue("19", "259", rows({5, 140}))}));
}

TEST(MatmulSimt, TakesSmallTiles) {
  runCases(all("MatmulSimt", "f32",
               {withEpilogue("33", "70", rows({0, 1, 63, 65, 200})),
                {{{"64", "48"}}, {{"48", "64"}}, {"64", "64"}},
                {{{"m", "0"}}, {{"0", "20"}}, {"m", "20"}, rows({3})}}));
}

TEST(MatmulSimt, ReadsOperandsAsTheyLie) {
  std::vector<Symbols> sizes = {{{"m", 70}, {"k", 21}, {"n", 65}},
                                {{"m", 4}, {"k", 1}, {"n", 4}}};
  runCases(all("MatmulSimt", "f32",
               {{{{"k", "m"}, transpose("1, 0"), {"m", "k"}},
                 {{"n", "k"}, transpose("1, 0"), {"k", "n"}},
                 {"m", "n"},
                 sizes},
                {{{"20", "132"}, transpose("1, 0"), {"132", "20"}},
                 {{"20", "68"}},
                 {"132", "68"}},
                perHead("16")}));
}

TEST(MatmulSimt, JoinsHalvesAndTurnsResults) {
  runCases(all("MatmulSimt", "f32",
               {gated("24", 132, rows({3, 150})), gated("20", 37, rows({70})),
                turned("20", "50"), turned("32", "260")}));
}

//===----------------------------------------------------------------------===//
// MatmulMma
//===----------------------------------------------------------------------===//

TEST(MatmulMma, TakesLargeTiles) {
  runCases(all("MatmulMma", "bf16",
               {withEpilogue("72", "264", rows({1, 127, 130})),
                withEpilogue("64", "384", rows({128})),
                withEpilogue("38", "262", rows({5, 140}))}));
}

TEST(MatmulMma, TakesSmallTiles) {
  runCases(all("MatmulMma", "bf16",
               {withEpilogue("34", "70", rows({0, 1, 63, 65, 200})),
                withEpilogue("200", "48", rows({40})),
                {{{"64", "48"}}, {{"48", "64"}}, {"64", "64"}},
                {{{"m", "0"}}, {{"0", "20"}}, {"m", "20"}, rows({3})}}));
}

TEST(MatmulMma, ReadsOperandsAsTheyLie) {
  runCases(all("MatmulMma", "bf16",
               {{{{"44", "132"}, transpose("1, 0"), {"132", "44"}},
                 {{"68", "44"}, transpose("1, 0"), {"44", "68"}},
                 {"132", "68"}},
                {{{"40", "136"}, transpose("1, 0"), {"136", "40"}},
                 {{"264", "40"}, transpose("1, 0"), {"40", "264"}},
                 {"136", "264"}},
                perHead("16")}));
}

TEST(MatmulMma, JoinsHalvesAndTurnsResults) {
  runCases(all("MatmulMma", "bf16",
               {gated("40", 136, rows({3, 150})), gated("20", 38, rows({70})),
                turned("24", "50"), turned("32", "264")}));
}

TEST(MatmulMma, MultipliesHalves) {
  Product half = {{{"m", "40"}}, {{"40", "72"}}, {"m", "72"}, rows({67})};
  runCases({product("MatmulMma", "f16", half)});
  half.isWidened = false;
  runCases({product("MatmulMma", "bf16", half)});
}

} // namespace
} // namespace tenon::test
