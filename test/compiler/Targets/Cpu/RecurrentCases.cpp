//===- RecurrentCases.cpp - Cases of recurrent cells ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/RecurrentCases.h"
#include <cmath>

namespace tenon::test {

static void replace(std::string &text, const std::string &from,
                    const std::string &to) {
  text.replace(text.find(from), from.size(), to);
}

/// Makes the recurrence of a projected cell of bytes, whose scales and zero
/// points are the last arguments.
static void quantize(KernelCase &test, const std::vector<std::string> &dims,
                     const Cells &cells) {
  std::string floats = tensor(dims, "f32"), bytes = tensor(dims, cells.bytes);
  std::vector<std::string> few;
  if (cells.perUnit)
    few = {dims[0], dims[1], "1"};
  std::string scale = tensor(few, "f32"), zero = tensor(few, cells.bytes);
  size_t count = 0;
  for (char c : test.arguments)
    count += c == '%';
  replace(test.arguments, "%b: " + floats, "%b: " + bytes);
  test.arguments += ", %scale: " + scale + ", %zero: " + zero;
  replace(test.body, "%a, %b", "%a, %q");
  test.body = "%q = graph.dequantize %b, %scale, %zero : (" + bytes + ", " +
              scale + ", " + zero + ") -> " + floats + "\n" + test.body;
  bool isUnsigned = cells.bytes == "ui8";
  test.values.assign(count, {-1, 1});
  test.values[1] = isUnsigned ? Values{0, 255.9} : Values{-128, 127.9};
  // So small that a state forgets what the one before was rounded to.
  double least = 0.02 / double(cells.hidden);
  test.values.push_back({least, 2 * least});
  test.values.push_back(isUnsigned ? Values{100, 150} : Values{-9, 9});
  // The state is an integer of 16 bits.
  test.tolerance = 5e-5;
}

/// Makes the recurrence of a projected cell of bf16, and rounds its state.
static void roundState(KernelCase &test, const std::vector<std::string> &dims,
                       int64_t hidden) {
  std::string floats = tensor(dims, "f32"), pairs = tensor(dims, "bf16");
  replace(test.arguments, "%b: " + floats, "%b: " + pairs);
  replace(test.body, "%a, %b", "%a, %q");
  replace(test.body, "input_forget", "rounds_state, input_forget");
  test.body =
      "%q = graph.cast %b : (" + pairs + ") -> " + floats + "\n" + test.body;
  // So that a state forgets what the one before was rounded to.
  double most = 1 / std::sqrt(double(hidden));
  test.values = {{-1, 1}, {-most, most}, {-1, 1}};
  // Of levels that do not round; others err by a state rounded otherwise.
  test.tolerance = 6e-3;
}

static KernelCase recurrent(const std::string &cell, int gates,
                            const std::string &direction,
                            const std::string &type, bool isFull,
                            const std::string &activations,
                            const std::string &flags, const Cells &cells) {
  int64_t hidden = cells.hidden;
  std::string d = direction == "bidirectional" ? "2" : "1";
  auto units = [&](int64_t of) {
    return hidden ? std::to_string(of * hidden) : std::to_string(of) + " * h";
  };
  std::string h = hidden ? std::to_string(hidden) : "h";
  std::vector<std::string> operands;
  if (cells.isProjected)
    operands = {
        tensor({"s", cells.batch, units(d == "2" ? 2 * gates : gates)}, type)};
  else
    operands = {tensor({"s", cells.batch, "5"}, type),
                tensor({d, units(gates), "5"}, type)};
  operands.push_back(tensor({d, units(gates), h}, type));
  std::string first = cells.isProjected ? "1, 0, 1, " : "1, 1, 1, ";
  std::string segments = "0, 0, 0, 0, 0";
  if (isFull) {
    operands.push_back(tensor({d, units(2 * gates)}, type));
    operands.push_back(tensor({d, cells.batch, h}, type));
    segments = "1, 0, 1, 0, 0";
    if (gates == 4) {
      operands.push_back(tensor({d, cells.batch, h}, type));
      operands.push_back(tensor({d, units(3)}, type));
      segments = "1, 0, 1, 1, 1";
    }
  }
  std::string state = tensor({d, cells.batch, h}, type);
  KernelCase test =
      one("recurrent",
          "{cell = #graph<cell_kind " + cell + ">, direction = \"" + direction +
              "\", activations = [" + activations +
              "], alpha = array<f64>, beta = array<f64>, " + flags +
              ", operandSegmentSizes = array<i32: " + first + segments + ">}",
          operands, {tensor({"s", d, cells.batch, h}, type), state, state},
          {{{"b", 2}, {"h", 3}, {"s", 4}}, {{"b", 1}, {"h", 1}, {"s", 0}}});
  if (hidden) // Groups of some, the last of which is smaller.
    test.sizes.push_back({{"b", 5}, {"s", 3}});
  for (Symbols &sizes : test.sizes) {
    if (hidden)
      sizes.erase("h");
    if (cells.batch != "b")
      sizes.erase("b");
  }
  test.schedule = cells.schedule.empty() ? test.schedule : cells.schedule;
  test.name += " " + cell + " " + direction;
  test.values = {{-1, 1}};
  if (cells.bytes == "bf16")
    roundState(test, {d, units(gates), h}, hidden);
  else if (!cells.bytes.empty())
    quantize(test, {d, units(gates), h}, cells);
  return test;
}

std::vector<KernelCase> recurrentCells(const Cells &cells) {
  std::vector<KernelCase> cases;
  std::string flags = "clip = 0.0, linear_before_reset = false, "
                      "input_forget = false";
  std::vector<std::string> types = {"f16", "bf16", "f32", "f64"};
  if (!cells.schedule.empty())
    types = {"f32"};
  for (const std::string &type : types)
    for (const std::string &direction : {"forward", "reverse", "bidirectional"})
      for (bool isFull : {false, true}) {
        auto twice = [&](const std::string &names) {
          return direction == "bidirectional" ? names + ", " + names : names;
        };
        cases.push_back(recurrent("rnn", 1, direction, type, isFull,
                                  twice("\"Tanh\""), flags, cells));
        cases.push_back(recurrent("gru", 3, direction, type, isFull,
                                  twice("\"Sigmoid\", \"Tanh\""), flags,
                                  cells));
        cases.push_back(recurrent("lstm", 4, direction, type, isFull,
                                  twice("\"Sigmoid\", \"Tanh\", \"Tanh\""),
                                  flags, cells));
      }
  cases.push_back(recurrent("gru", 3, "forward", "f32", true,
                            "\"HardSigmoid\", \"Softsign\"",
                            "clip = 0.5, linear_before_reset = true, "
                            "input_forget = false",
                            cells));
  cases.push_back(recurrent("lstm", 4, "forward", "f32", true,
                            "\"Affine\", \"Elu\", \"ScaledTanh\"",
                            "clip = 0.0, linear_before_reset = false, "
                            "input_forget = true",
                            cells));
  if (cells.bytes == "bf16") // Whose states grow.
    cases.back().values = {{-0.2, 0.2}};
  std::vector<std::string> names = {"Relu", "LeakyRelu", "Softplus"};
  if (cells.bytes != "bf16") // It jumps where a sum is rounded otherwise.
    names.push_back("ThresholdedRelu");
  for (const std::string &name : names)
    cases.push_back(recurrent("rnn", 1, "forward", "f32", true,
                              "\"" + name + "\"", flags, cells));
  return cases;
}

std::vector<KernelCase> recurrentTogether(const std::string &bytes) {
  auto cell = [&](const std::string &kind, int gates, int64_t hidden,
                  bool isFull, const std::string &activations, bool isLinear) {
    KernelCase test = recurrent(
        kind, gates, isFull ? "reverse" : "forward", "f32", isFull, activations,
        std::string("clip = 0.0, linear_before_reset = ") +
            (isLinear ? "true" : "false") + ", input_forget = false",
        {hidden, true, "RecurrentTiles", bytes, isFull});
    test.sizes = {{{"b", 1}, {"s", 9}},
                  {{"b", 3}, {"s", 2}},
                  {{"b", 9}, {"s", 2}},
                  {{"b", 1}, {"s", 1}},
                  {{"b", 1}, {"s", 0}}};
    if (bytes.empty())
      test.values = {{-1, 1}, {-0.1, 0.1}};
    if (bytes.empty() || bytes == "bf16")
      test.sizes.push_back({{"b", 33}, {"s", 2}}); // A group and one more.
    return test;
  };
  std::string lstm = "\"Sigmoid\", \"Tanh\", \"Tanh\"";
  std::string gru = "\"Sigmoid\", \"Tanh\"";
  return {cell("lstm", 4, 272, false, lstm, false),
          cell("lstm", 4, 528, true, lstm, false),
          cell("gru", 3, 304, true, gru, false),
          cell("gru", 3, 400, false, gru, true),
          cell("rnn", 1, 560, true, "\"Tanh\"", false)};
}

std::vector<KernelCase> recurrentBatches(const std::string &bytes,
                                         int64_t hidden) {
  std::vector<KernelCase> cases;
  std::vector<int64_t> batches = {1, 2, 3, 5, 9};
  if (bytes == "bf16")
    batches.insert(batches.end(), {16, 23, 35}); // Registers of 16 states.
  if (hidden < 100)
    batches.push_back(14); // Groups of four, each by one thread.
  for (int64_t batch : batches) {
    cases.push_back(recurrent(
        "lstm", 4, "bidirectional", "f32", true,
        "\"Sigmoid\", \"Tanh\", \"Tanh\", "
        "\"Sigmoid\", \"Tanh\", \"Tanh\"",
        "clip = 0.0, linear_before_reset = false, "
        "input_forget = false",
        {hidden, true, "RecurrentTiles", bytes, false, std::to_string(batch)}));
    cases.back().sizes = {{{"s", 3}}};
    if (bytes.empty() && hidden > 100)
      cases.back().values = {{-1, 1}, {-0.1, 0.1}};
  }
  return cases;
}

std::vector<KernelCase> recurrentLengths(const Cells &cells) {
  KernelCase test = recurrent("rnn", 1, "reverse", "f32", false, "\"Tanh\"",
                              "clip = 0.0, linear_before_reset = false, "
                              "input_forget = false",
                              cells);
  std::string lengths = tensor({cells.batch}, "i32");
  test.arguments += ", %l: " + lengths;
  std::string operands = !cells.isProjected    ? "%a, %b, %c"
                         : cells.bytes.empty() ? "%a, %b"
                                               : "%a, %q";
  replace(test.body, operands + " ", operands + ", %l ");
  replace(test.body, "1, 0, 0, 0, 0, 0>", "1, 0, 1, 0, 0, 0>");
  replace(test.body, ") -> (", ", " + lengths + ") -> (");
  size_t last = cells.isProjected ? 2 : 3;
  Values weights = {-1, 1};
  if (cells.bytes == "bf16")
    weights = test.values[last - 1];
  else if (cells.hidden > 100) // As those of recurrentTogether.
    weights = {-0.1, 0.1};
  test.values.assign(last + 1, {-1, 1});
  test.values[last - 1] = weights;
  test.values[last] = {0, 4.9};
  test.sizes = {{{"b", 5}, {"s", 4}}};
  if (!cells.hidden)
    test.sizes[0]["h"] = 3;
  KernelCase bad = test;
  bad.values[last] = {5, 6};
  bad.fault = cells.bytes.empty() ? 4 : 0x104; // Of the kernel's second op.
  return {test, bad};
}

} // namespace tenon::test
