//===- AwkwardRegionsTest.cpp - Regions that recognisers will form --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One hand-written kernel of each kind that a plain elementwise fusion never
// makes: operands that are slices and transposes of a merged projection, an
// append of rotated keys, a rolled and partitioned window. They hold that the
// grammar of regions can say them and that the Generic schedule runs them, so
// that a fast schedule has something to be compared with.
//
//===----------------------------------------------------------------------===//

#include "test/compiler/Targets/Cpu/KernelTest.h"
#include <gtest/gtest.h>

namespace tenon::test {
namespace {

/// Writes ops one by one and keeps the type of each value.
class Body {
public:
  explicit Body(KernelCase &test) : test(test) {}

  std::string argument(const std::string &name, const std::string &type) {
    test.arguments += (test.arguments.empty() ? "" : ", ") + name + ": " + type;
    types[name] = type;
    return name;
  }
  std::string op(const std::string &name, const std::string &attributes,
                 const std::vector<std::string> &operands,
                 const std::string &type) {
    std::string result = "%v" + std::to_string(types.size()), list, from;
    for (const std::string &operand : operands) {
      list += (list.empty() ? "" : ", ") + operand;
      from += (from.empty() ? "" : ", ") + types[operand];
    }
    test.body += result + " = graph." + name + " " + list + " " + attributes +
                 " : (" + from + ") -> " + type + "\n";
    types[result] = type;
    return result;
  }
  void yield(const std::string &value) {
    test.body += "kernel.yield " + value + " : " + types[value];
  }

private:
  KernelCase &test;
  std::map<std::string, std::string> types;
};

/// Scores of one head group straight from a merged [B, S, 3 * H * D]
/// projection: slices, head splits and transposes are the operands' access.
KernelCase mergedProjectionScores(const std::string &element) {
  KernelCase test;
  test.name = "scores from a merged projection, " + element;
  Body body(test);
  auto qkv = body.argument("%qkv", tensor({"b", "s", "96"}, element));
  auto head = [&](const std::string &start, const std::string &permutation,
                  const std::vector<std::string> &dims) {
    auto part = body.op("slice",
                        "{starts = #graph.dims<0, 0, " + start +
                            ">, steps = #graph.dims<1, 1, 1>}",
                        {qkv}, tensor({"b", "s", "32"}, element));
    auto split =
        body.op("reshape", "", {part}, tensor({"b", "s", "4", "8"}, element));
    return body.op("transpose",
                   "{permutation = array<i64: " + permutation + ">}", {split},
                   tensor(dims, element));
  };
  auto q = head("0", "0, 2, 1, 3", {"b", "4", "s", "8"});
  auto k = head("32", "0, 2, 3, 1", {"b", "4", "8", "s"});
  std::string type = tensor({"b", "4", "s", "s"}, element);
  auto scores = body.op("matmul", "", {q, k}, type);
  auto mask = body.argument("%mask", tensor({"b", "1", "1", "s"}, element));
  body.yield(body.op("add", "", {scores, mask}, type));
  test.sizes = {
      {{"b", 2}, {"s", 5}}, {{"b", 1}, {"s", 1}}, {{"b", 3}, {"s", 0}}};
  return test;
}

/// The context of the same layout, written as the projection wants to read it.
KernelCase contextIntoProjection() {
  KernelCase test;
  test.name = "context times a weight, heads merged by access";
  Body body(test);
  auto context = body.argument("%context", tensor({"b", "4", "s", "8"}, "f32"));
  auto turned = body.op("transpose", "{permutation = array<i64: 0, 2, 1, 3>}",
                        {context}, tensor({"b", "s", "4", "8"}, "f32"));
  auto merged =
      body.op("reshape", "", {turned}, tensor({"b", "s", "32"}, "f32"));
  auto weight = body.argument("%weight", tensor({"32", "24"}, "f32"));
  std::string type = tensor({"b", "s", "24"}, "f32");
  auto product = body.op("matmul", "", {merged, weight}, type);
  auto residual = body.argument("%residual", type);
  body.yield(body.op("add", "", {product, residual}, type));
  test.sizes = {{{"b", 2}, {"s", 3}}, {{"b", 1}, {"s", 0}}};
  return test;
}

/// present = concat(past, rotate(key)), half-split rotation.
KernelCase rotaryAppend(const std::string &element) {
  KernelCase test;
  test.name = "append of rotated keys, " + element;
  Body body(test);
  std::vector<std::string> dims = {"b", "2", "s", "8"},
                           half = {"b", "2", "s", "4"};
  auto past = body.argument("%past", tensor({"b", "2", "p", "8"}, element));
  auto key = body.argument("%key", tensor(dims, element));
  auto cos = body.argument("%cos", tensor({"b", "1", "s", "8"}, element));
  auto sin = body.argument("%sin", tensor({"b", "1", "s", "8"}, element));
  auto part = [&](const std::string &start) {
    return body.op("slice",
                   "{starts = #graph.dims<0, 0, 0, " + start +
                       ">, steps = #graph.dims<1, 1, 1, 1>}",
                   {key}, tensor(half, element));
  };
  auto low = part("0");
  auto high = body.op("neg", "", {part("4")}, tensor(half, element));
  auto turned =
      body.op("concat", "{axis = 3 : i64}", {high, low}, tensor(dims, element));
  auto straight = body.op("mul", "", {key, cos}, tensor(dims, element));
  auto crossed = body.op("mul", "", {turned, sin}, tensor(dims, element));
  auto rotated = body.op("add", "", {straight, crossed}, tensor(dims, element));
  body.yield(body.op("concat", "{axis = 2 : i64}", {past, rotated},
                     tensor({"b", "2", "p + s", "8"}, element)));
  test.sizes = {{{"b", 2}, {"s", 3}, {"p", 4}},
                {{"b", 1}, {"s", 1}, {"p", 0}},
                {{"b", 2}, {"s", 1}, {"p", 7}}};
  return test;
}

/// LayerNorm whose input is a rolled image cut into windows.
KernelCase rolledWindow() {
  KernelCase test;
  test.name = "layer_norm over rolled windows";
  Body body(test);
  std::string image = tensor({"b", "4", "4", "6"}, "f32");
  auto x = body.argument("%x", image);
  auto roll = [&](const std::string &input, int axis) {
    std::string first[] = {"0", "0", "0"};
    std::vector<std::string> tail = {"b", "4", "4", "6"}, lead = tail;
    first[axis] = "1";
    tail[axis] = "3";
    lead[axis] = "1";
    auto slice = [&](const std::string &starts,
                     const std::vector<std::string> &dims) {
      return body.op("slice",
                     "{starts = #graph.dims<" + starts +
                         ">, steps = #graph.dims<1, 1, 1, 1>}",
                     {input}, tensor(dims, "f32"));
    };
    auto a = slice(first[0] + ", " + first[1] + ", " + first[2] + ", 0", tail);
    auto b = slice("0, 0, 0, 0", lead);
    return body.op("concat", "{axis = " + std::to_string(axis) + " : i64}",
                   {a, b}, image);
  };
  auto rolled = roll(roll(x, 1), 2);
  auto cut = body.op("reshape", "", {rolled},
                     tensor({"b", "2", "2", "2", "2", "6"}, "f32"));
  auto turned =
      body.op("transpose", "{permutation = array<i64: 0, 1, 3, 2, 4, 5>}",
              {cut}, tensor({"b", "2", "2", "2", "2", "6"}, "f32"));
  std::string windows = tensor({"4 * b", "4", "6"}, "f32");
  auto flat = body.op("reshape", "", {turned}, windows);
  auto norm =
      body.op("layer_norm", "{axis = 2 : i64, epsilon = 1.000000e-05 : f64}",
              {flat}, windows);
  auto scale = body.argument("%scale", tensor({"6"}, "f32"));
  body.yield(body.op("mul", "", {norm, scale}, windows));
  test.sizes = {{{"b", 1}}, {{"b", 3}}, {{"b", 0}}};
  return test;
}

TEST(AwkwardRegions, RunByTheGenericSchedule) {
  runCases({mergedProjectionScores("f32"), mergedProjectionScores("f16"),
            contextIntoProjection(), rotaryAppend("f32"), rotaryAppend("bf16"),
            rolledWindow()});
}

} // namespace
} // namespace tenon::test
