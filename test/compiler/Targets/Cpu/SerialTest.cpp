//===- SerialTest.cpp - Roots that run as one row -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/KernelTest.h"
#include <gtest/gtest.h>

namespace tenon::test {
namespace {

const std::vector<std::string> types = {"f16", "bf16", "f32", "f64",
                                        "i8",  "i32",  "i64", "ui8"};

TEST(Serial, Scatters) {
  std::vector<KernelCase> cases;
  std::vector<Symbols> sizes = {
      {{"m", 6}, {"n", 4}}, {{"m", 1}, {"n", 1}}, {{"m", 0}, {"n", 3}}};
  for (const std::string &type : types)
    for (const std::string &kind : {"assign", "add", "mul", "max", "min"}) {
      std::string suffix = "kind = #graph<scatter_kind " + kind + ">}";
      std::string data = tensor({"5", "n"}, type);
      cases.push_back(
          one("scatter_elements", "{axis = 0 : i64, " + suffix,
              {data, tensor({"m", "n"}, "i64"), tensor({"m", "n"}, type)},
              {data}, sizes));
      cases.push_back(
          one("scatter_nd", "{" + suffix,
              {data, tensor({"m", "1"}, "i64"), tensor({"m", "n"}, type)},
              {data}, sizes));
    }
  cases.push_back(one("scatter_nd", "{kind = #graph<scatter_kind assign>}",
                      {tensor({"5", "5"}, "i1"), tensor({"m", "2"}, "i32"),
                       tensor({"m"}, "i1")},
                      {tensor({"5", "5"}, "i1")}, {{{"m", 9}}}));
  for (KernelCase &test : cases)
    test.values = {{-4, 4}, {-5, 5}, {-4, 4}};
  cases.push_back(cases[0]);
  cases.back().values[1] = {5, 5};
  cases.back().sizes = {{{"m", 2}, {"n", 2}}};
  cases.back().fault = 1;
  runCases(cases);
}

TEST(Serial, ScattersWithEpilogue) {
  std::string data = tensor({"5", "n"}, "f32"),
              index = tensor({"2", "1"}, "i64"),
              updates = tensor({"2", "n"}, "f32");
  KernelCase test;
  test.name = "scatter_nd and abs";
  test.arguments = "%a: " + data + ", %b: " + index + ", %c: " + updates;
  test.body = "%r = graph.scatter_nd %a, %b, %c {kind = #graph<scatter_kind "
              "assign>} : (" +
              data + ", " + index + ", " + updates + ") -> " + data +
              "\n%s = graph.abs %r : (" + data + ") -> " + data +
              "\nkernel.yield %s : " + data;
  test.sizes = {{{"n", 9}}};
  test.values = {{-4, 4}, {-5, 5}, {-4, 4}};
  runCases({test});
}

TEST(Serial, FindsNonzeros) {
  std::vector<KernelCase> cases;
  for (const std::string &type : {"i64", "f32", "ui8"}) {
    cases.push_back(one("nonzero", "", {tensor({"m", "4"}, type)},
                        {tensor({"2", "n"}, "i64")},
                        {{{"m", 3}, {"n", 12}}, {{"m", 0}, {"n", 0}}}));
    cases.back().values = {{1, 5}};
    cases.push_back(cases.back());
    cases.back().sizes = {{{"m", 3}, {"n", 11}}};
    cases.back().fault = 3;
  }
  runCases(cases);
}

KernelCase recurrent(const std::string &cell, int gates,
                     const std::string &direction, const std::string &type,
                     bool isFull, const std::string &activations,
                     const std::string &flags) {
  std::string d = direction == "bidirectional" ? "2" : "1";
  std::string g = std::to_string(gates), doubled = std::to_string(2 * gates);
  std::vector<std::string> operands = {tensor({"s", "b", "5"}, type),
                                       tensor({d, g + " * h", "5"}, type),
                                       tensor({d, g + " * h", "h"}, type)};
  std::string segments = "1, 1, 1, 0, 0, 0, 0, 0";
  if (isFull) {
    operands.push_back(tensor({d, doubled + " * h"}, type));
    operands.push_back(tensor({d, "b", "h"}, type));
    segments = "1, 1, 1, 1, 0, 1, 0, 0";
    if (gates == 4) {
      operands.push_back(tensor({d, "b", "h"}, type));
      operands.push_back(tensor({d, "3 * h"}, type));
      segments = "1, 1, 1, 1, 0, 1, 1, 1";
    }
  }
  std::string state = tensor({d, "b", "h"}, type);
  KernelCase test =
      one("recurrent",
          "{cell = #graph<cell_kind " + cell + ">, direction = \"" + direction +
              "\", activations = [" + activations +
              "], alpha = array<f64>, beta = array<f64>, " + flags +
              ", operandSegmentSizes = array<i32: " + segments + ">}",
          operands, {tensor({"s", d, "b", "h"}, type), state, state},
          {{{"b", 2}, {"h", 3}, {"s", 4}}, {{"b", 1}, {"h", 1}, {"s", 0}}});
  test.name += " " + cell + " " + direction;
  test.values = {{-1, 1}};
  return test;
}

TEST(Serial, RunsRecurrentCells) {
  std::vector<KernelCase> cases;
  std::string flags = "clip = 0.0, linear_before_reset = false, "
                      "input_forget = false";
  for (const std::string &type : {"f16", "bf16", "f32", "f64"})
    for (const std::string &direction : {"forward", "reverse", "bidirectional"})
      for (bool isFull : {false, true}) {
        auto twice = [&](const std::string &names) {
          return direction == "bidirectional" ? names + ", " + names : names;
        };
        cases.push_back(recurrent("rnn", 1, direction, type, isFull,
                                  twice("\"Tanh\""), flags));
        cases.push_back(recurrent("gru", 3, direction, type, isFull,
                                  twice("\"Sigmoid\", \"Tanh\""), flags));
        cases.push_back(recurrent("lstm", 4, direction, type, isFull,
                                  twice("\"Sigmoid\", \"Tanh\", \"Tanh\""),
                                  flags));
      }
  cases.push_back(recurrent("gru", 3, "forward", "f32", true,
                            "\"HardSigmoid\", \"Softsign\"",
                            "clip = 0.5, linear_before_reset = true, "
                            "input_forget = false"));
  cases.push_back(recurrent("lstm", 4, "forward", "f32", true,
                            "\"Affine\", \"Elu\", \"ScaledTanh\"",
                            "clip = 0.0, linear_before_reset = false, "
                            "input_forget = true"));
  for (const std::string &name :
       {"Relu", "LeakyRelu", "ThresholdedRelu", "Softplus"})
    cases.push_back(
        recurrent("rnn", 1, "forward", "f32", true, "\"" + name + "\"", flags));
  runCases(cases);
}

TEST(Serial, RecurrentSequencesHaveLengths) {
  KernelCase test = recurrent("rnn", 1, "reverse", "f32", false, "\"Tanh\"",
                              "clip = 0.0, linear_before_reset = false, "
                              "input_forget = false");
  std::string lengths = tensor({"b"}, "i32");
  test.arguments += ", %l: " + lengths;
  auto replace = [&](const std::string &from, const std::string &to) {
    size_t at = test.body.find(from);
    ASSERT_NE(at, std::string::npos);
    test.body.replace(at, from.size(), to);
  };
  replace("%a, %b, %c ", "%a, %b, %c, %l ");
  replace("1, 1, 1, 0, 0", "1, 1, 1, 0, 1");
  replace(") -> (", ", " + lengths + ") -> (");
  test.values = {{-1, 1}, {-1, 1}, {-1, 1}, {0, 4.9}};
  test.sizes = {{{"b", 5}, {"h", 3}, {"s", 4}}};
  KernelCase bad = test;
  bad.values[3] = {5, 6};
  bad.fault = 4;
  runCases({test, bad});
}

} // namespace
} // namespace tenon::test
