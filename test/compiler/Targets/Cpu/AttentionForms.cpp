//===- AttentionForms.cpp - Cases of attention ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/AttentionForms.h"

namespace tenon::test {

/// Lets an operand be of 16 bits that are widened, which it has in memory or is
/// rounded to before that.
static void widen(KernelCase &test, const std::string &name,
                  const std::string &type, const Form &form, bool isRounded) {
  std::string narrow = type;
  narrow.replace(narrow.find(form.element), form.element.size(), form.narrow);
  std::string argument = "%" + name + ": " + type;
  std::string memory = isRounded ? "m: " + type : "n: " + narrow;
  test.arguments.replace(test.arguments.find(argument), argument.size(),
                         "%" + name + memory);
  auto cast = [&](const std::string &to, const std::string &from,
                  const std::string &types) {
    return "%" + name + to + " = graph.cast %" + name + from + " : " + types +
           "\n";
  };
  test.body = cast("", "n", "(" + narrow + ") -> " + type) + test.body;
  if (isRounded)
    test.body = cast("n", "m", "(" + type + ") -> " + narrow) + test.body;
}

/// Lets operand i of f32, [.., width], be bytes in memory with a scale for each
/// row.
static void quantize(KernelCase &test, const std::string &name, size_t i,
                     const std::string &type, const std::string &scales) {
  std::string bytes = type, argument = "%" + name + ": " + type;
  bytes.replace(bytes.find("f32"), 3, "i8");
  test.arguments.replace(test.arguments.find(argument), argument.size(),
                         "%" + name + "s: " + bytes + ", %" + name +
                             "t: " + scales);
  test.values[i] = {-127, 127};
  test.values.insert(test.values.begin() + i + 1, {0.002, 0.02});
  test.body = "%" + name + "z = graph.constant {value = dense<0> : " +
              "tensor<i8>} : () -> tensor<i8>\n%" + name +
              " = graph.dequantize %" + name + "s, %" + name + "t, %" + name +
              "z : (" + bytes + ", " + scales + ", tensor<i8>) -> " + type +
              "\n" + test.body;
}

/// Lets an operand of f32 be 16 bits in memory.
static void store(KernelCase &test, const std::string &name,
                  const std::string &type, const std::string &stored) {
  std::string narrow = type, argument = "%" + name + ": " + type;
  narrow.replace(narrow.find("f32"), 3, stored);
  test.arguments.replace(test.arguments.find(argument), argument.size(),
                         "%" + name + "s: " + narrow);
  test.body = "%" + name + " = graph.cast %" + name + "s : (" + narrow +
              ") -> " + type + "\n" + test.body;
}

/// Lets what is yielded be rounded, and stored heads behind queries.
static void roundResult(KernelCase &test, const Form &form,
                        const std::string &type) {
  std::string narrow = type;
  narrow.replace(narrow.find(form.element), form.element.size(), "bf16");
  std::string turned =
      tensor({form.batch, form.queries, std::to_string(form.heads),
              std::to_string(form.width)},
             "bf16");
  test.body.erase(test.body.find("kernel.yield"));
  test.body += "%y = graph.cast %r#0 : (" + type + ") -> " + narrow +
               "\n%z = graph.transpose %y {permutation = array<i64: 0, 2, 1, "
               "3>} : (" +
               narrow + ") -> " + turned + "\nkernel.yield %z : " + turned;
}

KernelCase attention(const Form &form, std::vector<Symbols> sizes) {
  auto text = [](int64_t value) { return std::to_string(value); };
  std::vector<std::string> operands = {
      tensor({form.batch, text(form.heads), form.queries, text(form.depth)},
             form.element),
      tensor({form.batch, text(form.keyHeads), form.keys, text(form.depth)},
             form.element),
      tensor({form.batch, text(form.keyHeads), form.keys, text(form.width)},
             form.element)};
  std::vector<Values> values(3, {-2, 2});
  if (form.keyMask)
    operands.push_back(tensor({form.batch, form.keys}, "i1"));
  if (form.keyMask)
    values.push_back({});
  if (form.offsets)
    operands.push_back(tensor({form.batch}, "i64"));
  if (form.offsets)
    values.push_back({-3, 40});
  for (const Dims &dims : form.biases)
    operands.push_back(tensor(dims, form.element));
  values.push_back({-2, 2});
  std::string attributes =
      "{operandSegmentSizes = array<i32: 1, 1, 1, " + text(form.keyMask) +
      ", " + text(form.offsets) + ", " + text(form.biases.size()) +
      ">, scale = " + std::to_string(form.scale) +
      " : f64, softcap = " + std::to_string(form.softcap) +
      " : f64, causal = " + (form.causal ? "true" : "false") +
      ", offset = #graph.dims<" + form.offset +
      ">, window = " + text(form.window) +
      " : i64, dead_rows = #graph<dead_rows " + form.dead + ">}";
  std::string result =
      tensor({form.batch, text(form.heads), form.queries, text(form.width)},
             form.element);
  KernelCase test =
      one("attention", attributes, operands, {result}, std::move(sizes));
  if (form.givesBf16)
    roundResult(test, form, result);
  test.name =
      form.schedule + " " + attributes + " " + operands[0] + " " + operands[2];
  test.schedule = form.schedule;
  test.values = values;
  if (form.isWidened || form.isRounded)
    for (size_t i = 0; i < 3; ++i)
      widen(test, std::string(1, 'a' + i), operands[i], form,
            form.isRounded || (form.isCache && i > 0));
  if (!form.stored.empty())
    for (size_t i : {2, 1}) {
      bool isBehindRounding = form.isRounded || form.isCache;
      std::string name =
          std::string(1, 'a' + i) + (isBehindRounding ? "m" : "");
      if (form.stored == "i8")
        quantize(test, name, i, operands[i],
                 tensor({form.batch, text(form.keyHeads), form.keys, "1"},
                        form.element));
      else
        store(test, name, operands[i], form.stored);
    }
  return test;
}

std::vector<Symbols> sizesOf(std::vector<std::array<int64_t, 3>> all) {
  std::vector<Symbols> sizes;
  for (auto [b, s, t] : all)
    sizes.push_back({{"b", b}, {"s", s}, {"t", t}});
  return sizes;
}

std::vector<Form> masks() {
  std::vector<Form> forms;
  auto add = [&](auto change) { change(forms.emplace_back()); };
  add([](Form &) {});
  add([](Form &f) { f.keyMask = true; });
  add([](Form &f) { f.causal = true; });
  add([](Form &f) { f.causal = true, f.offset = "-1 * s + t"; });
  add([](Form &f) { f.causal = true, f.offset = "-5"; });
  add([](Form &f) { f.causal = f.offsets = true; });
  add([](Form &f) { f.causal = true, f.window = 7, f.offset = "-1 * s + t"; });
  add([](Form &f) { f.causal = f.offsets = true, f.window = 70; });
  add([](Form &f) { f.causal = f.keyMask = f.offsets = true; });
  add([](Form &f) { f.causal = true, f.window = INT64_MAX; });
  add([](Form &f) { f.softcap = 1.5, f.scale = 1; });
  add([](Form &f) { f.biases = {{"b", "2", "s", "t"}}; });
  add([](Form &f) { f.biases = {{"1", "1", "s", "t"}, {"b", "1", "1", "t"}}; });
  add([](Form &f) { f.biases = {{"1", "2", "s", "1"}}, f.keyMask = true; });
  add([](Form &f) {
    f.biases = {{"1", "2", "1", "t"}}, f.softcap = 2, f.causal = true;
  });
  return forms;
}

} // namespace tenon::test
