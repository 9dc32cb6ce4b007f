//===- ProductCases.cpp - Matrix products as models have them -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cuda/ProductCases.h"

namespace tenon::test {

static std::string replaced(std::string text, const std::string &word,
                            const std::string &by) {
  for (size_t at; (at = text.find(word)) != std::string::npos;)
    text.replace(at, word.size(), by);
  return text;
}

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

Product perHead(const std::string &depth, std::vector<Symbols> sizes) {
  return {.a = {{"b", "m", "3", depth},
                transpose("0, 2, 1, 3"),
                {"b", "3", "m", depth}},
          .b = {{"b", "n", "3", depth},
                transpose("0, 2, 3, 1"),
                {"b", "3", depth, "n"}},
          .result = {"b", "3", "m", "n"},
          .sizes = std::move(sizes)};
}

Product turned(const std::string &depth, const std::string &columns,
               std::vector<Symbols> sizes) {
  std::string back = tensor({"2", columns, "m"}, "f32");
  return {.a = {{"2", "m", depth}},
          .b = {{depth, columns}},
          .result = {"2", "m", columns},
          .sizes = std::move(sizes),
          .behind = "%0 = graph.sigmoid %sums : (RESULT) -> RESULT\n"
                    "%y = graph.transpose %0 {permutation = array<i64: 0, 2, "
                    "1>} : (RESULT) -> " +
                    back,
          .yielded = {"2", columns, "m"}};
}

std::vector<KernelCase> products(const std::string &schedule,
                                 const std::string &in,
                                 const std::vector<Product> &all) {
  std::vector<KernelCase> cases;
  for (const Product &each : all)
    cases.push_back(product(schedule, in, each));
  return cases;
}

} // namespace tenon::test
