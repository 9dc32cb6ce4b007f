//===- MatmulCase.cpp - Cases of products with packed weights -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/MatmulCase.h"

namespace tenon::test {

KernelCase product(Dims lead, int64_t depth, int64_t columns,
                   std::vector<Symbols> sizes, const std::string &operands,
                   std::string behind, const std::string &element) {
  Dims lhs = lead, result = lead;
  lhs.push_back(std::to_string(depth));
  result.push_back(std::to_string(columns));
  std::string rhs =
      tensor({std::to_string(depth), std::to_string(columns)}, "f32");
  std::string sums = tensor(result, "f32"), yielded = tensor(result, element);
  for (size_t at; (at = behind.find("RESULT")) != std::string::npos;)
    behind.replace(at, 6, sums);
  KernelCase test;
  test.schedule = "PackedMatmul";
  test.sizes = std::move(sizes);
  test.name = lhs.back() + "x" + result.back() + " " + behind;
  test.arguments = "%a: " + tensor(lhs, "f32") + ", %b: " + rhs +
                   (operands.empty() ? "" : ", " + operands);
  test.body = "%sums = graph.matmul %a, %b : (" + tensor(lhs, "f32") + ", " +
              rhs + ") -> " + sums + "\n" + behind + "\nkernel.yield " +
              (behind.empty() ? "%sums" : "%y") + " : " + yielded;
  return test;
}

std::vector<KernelCase> withMoreBehind() {
  std::vector<KernelCase> cases;
  for (auto [depth, columns] :
       {std::pair<int64_t, int64_t>(30, 100), {770, 48 * 14}, {3072, 100}}) {
    std::string n = std::to_string(columns);
    std::string type = tensor({"m", n}, "bf16");
    cases.push_back(product(
        {"m"}, depth, columns, rows({1, 21, 70}), "%c: " + tensor({n}, "f32"),
        "%d = graph.add %sums, %c : (RESULT, " + tensor({n}, "f32") +
            ") -> RESULT\n"
            "%y = graph.abs %d : (RESULT) -> RESULT"));
    cases.push_back(product({"m"}, depth, columns, rows({1, 21, 70}), "",
                            "%y = graph.cast %sums : (RESULT) -> " + type,
                            "bf16"));
  }
  return cases;
}

KernelCase batches(const std::string &depth, const std::string &columns,
                   std::vector<Symbols> sizes) {
  KernelCase test;
  test.name = "batches, " + depth + "x" + columns;
  test.schedule = "PackedMatmul";
  std::string lhs = tensor({"3", "m", depth}, "f32");
  std::string weight = tensor({"3", depth, columns}, "f32");
  std::string sums = tensor({"3", "m", columns}, "f32");
  test.arguments = "%a: " + lhs + ", %b: " + weight;
  test.body = "%s = graph.matmul %a, %b : (" + lhs + ", " + weight + ") -> " +
              sums + "\nkernel.yield %s : " + sums;
  test.sizes = std::move(sizes);
  return test;
}

KernelCase picked(const std::string &depth, const std::string &columns,
                  std::vector<Symbols> sizes, const std::string &element) {
  KernelCase test;
  test.name = "picked " + element + ", " + depth + "x" + columns;
  test.schedule = "PackedMatmul";
  std::string lhs = tensor({"t", "m", depth}, "f32");
  std::string weight = tensor({"5", depth, columns}, element);
  std::string indices = tensor({"t"}, "i64");
  std::string chosen = tensor({"t", depth, columns}, element);
  std::string rhs = tensor({"t", depth, columns}, "f32");
  std::string sums = tensor({"t", "m", columns}, "f32");
  bool isWide = element == "f32";
  test.arguments = "%a: " + lhs + ", %b: " + weight + ", %i: " + indices;
  test.body = "%p = graph.gather %b, %i {axis = 0 : i64} : (" + weight + ", " +
              indices + ") -> " + chosen + "\n";
  if (!isWide)
    test.body += "%w = graph.cast %p : (" + chosen + ") -> " + rhs + "\n";
  test.body += "%s = graph.matmul %a, " + std::string(isWide ? "%p" : "%w") +
               " : (" + lhs + ", " + rhs + ") -> " + sums +
               "\n%y = graph.abs %s : (" + sums + ") -> " + sums +
               "\nkernel.yield %y : " + sums;
  test.sizes = std::move(sizes);
  test.values = {{}, {}, {-5, 4}};
  return test;
}

std::vector<Symbols> rows(std::initializer_list<int64_t> counts) {
  std::vector<Symbols> sizes;
  for (int64_t count : counts)
    sizes.push_back({{"m", count}});
  return sizes;
}

KernelCase gated(Dims lead, int64_t depth, int64_t columns,
                 std::vector<Symbols> sizes, std::string meeting,
                 const std::string &element, const std::string &operands) {
  Dims lhs = lead, whole = lead, half = lead;
  lhs.push_back(std::to_string(depth));
  whole.push_back(std::to_string(2 * columns));
  half.push_back(std::to_string(columns));
  std::string rhs =
      tensor({std::to_string(depth), std::to_string(2 * columns)}, "f32");
  std::string halfType = tensor(half, "f32"), zeros, ones;
  for (size_t i = 0; i < lead.size(); ++i)
    zeros += "0, ", ones += "1, ";
  auto slice = [&](int64_t start) {
    return " = graph.slice %s {starts = #graph.dims<" + zeros +
           std::to_string(start) + ">, steps = #graph.dims<" + ones +
           "1>} : (" + tensor(whole, "f32") + ") -> " + halfType + "\n";
  };
  for (size_t at; (at = meeting.find("HALF")) != std::string::npos;)
    meeting.replace(at, 4, halfType);
  KernelCase test;
  test.schedule = "PackedMatmul";
  test.sizes = std::move(sizes);
  test.name = lhs.back() + "x2x" + half.back() + " " + meeting;
  test.arguments = "%a: " + tensor(lhs, "f32") + ", %b: " + rhs + operands;
  test.body = "%s = graph.matmul %a, %b : (" + tensor(lhs, "f32") + ", " + rhs +
              ") -> " + tensor(whole, "f32") + "\n%l" + slice(0) + "%h" +
              slice(columns) + meeting +
              "\nkernel.yield %y : " + tensor(half, element);
  return test;
}

const char *const silu = "%g = graph.sigmoid %l : (HALF) -> HALF\n"
                         "%t = graph.mul %l, %g : (HALF, HALF) -> HALF\n"
                         "%y = graph.mul %t, %h : (HALF, HALF) -> HALF";

/// Where the type of an argument is.
static std::pair<size_t, size_t> typeOf(const std::string &arguments,
                                        const std::string &name) {
  size_t from = arguments.find(name + ": ") + name.size() + 2;
  size_t to = arguments.find('>', from) + 1;
  if (to < arguments.size() && arguments[to] == '>')
    ++to; // Behind symbolic sizes.
  return {from, to};
}

/// The case with some of its operands in 16 bits.
static KernelCase narrowed(KernelCase test, const Dims &names,
                           const char *element = "bf16") {
  for (std::string name : names) {
    auto [from, to] = typeOf(test.arguments, name);
    std::string wide = test.arguments.substr(from, to - from), narrow = wide;
    narrow.replace(narrow.find("f32"), 3, element);
    test.arguments.replace(from, to - from, narrow);
    size_t use = test.body.find("matmul ");
    use = test.body.find(name, use);
    test.body.replace(use, name.size(), name + "wide");
    test.body = name + "wide = graph.cast " + name + " : (" + narrow + ") -> " +
                wide + "\n" + test.body;
  }
  return test;
}

KernelCase inPairs(KernelCase test, bool lhsToo) {
  test = narrowed(test, lhsToo ? Dims{"%b", "%a"} : Dims{"%b"});
  test.name += lhsToo ? " in pairs" : " of pairs";
  return test;
}

KernelCase ofF16(KernelCase test) {
  test = narrowed(test, {"%b"}, "f16");
  test.name += " of f16";
  return test;
}

KernelCase roundedToF16(KernelCase test) {
  test = ofF16(std::move(test));
  auto [from, to] = typeOf(test.arguments, "%a");
  std::string wide = test.arguments.substr(from, to - from), narrow = wide;
  narrow.replace(narrow.find("f32"), 3, "f16");
  test.body.replace(test.body.find("%a", test.body.find("matmul ")), 2,
                    "%arounded");
  test.body = "%ahalf = graph.cast %a : (" + wide + ") -> " + narrow +
              "\n%arounded = graph.cast %ahalf : (" + narrow + ") -> " + wide +
              "\n" + test.body;
  test.name += ", rounded";
  return addingF16(std::move(test));
}

KernelCase addingF16(KernelCase test) {
  size_t product = test.body.find("matmul ");
  test.body.insert(test.body.find(" :", product), " {graph.adds_f16}");
  return test;
}

KernelCase withHalfLhs(KernelCase test) {
  test = narrowed(test, {"%a"});
  test.name += " of bf16";
  return test;
}

/// No two of them are alike, nor is one the negative of another.
static constexpr llvm::StringLiteral codebook =
    "{codebook = array<f32: -1.0, -0.7, -0.53, -0.39, -0.28, -0.18, -0.09, "
    "0.0, 0.08, 0.16, 0.25, 0.34, 0.44, 0.56, 0.72, 1.5>}";

KernelCase quantized(KernelCase test, const Quantized &form) {
  size_t from = test.arguments.find("%b: ") + 4;
  size_t to = test.arguments.find('>', from) + 1;
  std::string wide = test.arguments.substr(from, to - from);
  std::vector<int64_t> sizes;
  for (size_t at = wide.find('<'); wide[at + 1] != 'f';
       at = wide.find('x', at + 1))
    sizes.push_back(std::stoll(wide.substr(at + 1)));
  int64_t depth = sizes[sizes.size() - 2], columns = sizes.back();
  int64_t batches = sizes.size() == 3 ? sizes[0] : 1;
  int64_t block = form.block ? form.block : depth;
  int64_t ofMatrix = (depth + block - 1) / block, rows = ofMatrix * block;
  int64_t blocks = batches * ofMatrix;
  auto type = [](const std::vector<int64_t> &sizes, std::string element) {
    std::vector<std::string> dims;
    for (int64_t size : sizes)
      dims.push_back(std::to_string(size));
    return tensor(dims, element);
  };
  // The first one, and what it is reshaped to.
  auto pairOf = [&](int64_t each, const std::string &element) {
    return std::pair(type({blocks * each, columns}, element),
                     type({blocks, each, columns}, element));
  };
  auto [numbers, split] = pairOf(block, form.number);
  auto [scales, spread] = pairOf(1, form.scale);
  auto [zeros, zeroSpread] = pairOf(1, form.number);
  std::string zeroType = form.hasZeros ? zeroSpread : type({}, form.number);
  std::string narrow = numbers + ", %bs: " + scales;
  if (form.hasZeros)
    narrow += ", %bz: " + zeros;
  test.arguments.replace(from, to - from, narrow);
  auto reshape = [](std::string result, std::string value, std::string before,
                    std::string after) {
    return result + " = graph.reshape " + value + " : (" + before + ") -> " +
           after + "\n";
  };
  std::string made = type({blocks, block, columns}, "f32");
  sizes[sizes.size() - 2] = rows;
  std::string whole = type(sizes, "f32");
  std::string body = reshape("%bq3", "%b", numbers, split) +
                     reshape("%bs3", "%bs", scales, spread);
  if (form.hasCodebook) {
    body += "%bd = graph.decode %bq3, %bs3 " + codebook.str() + " : (" + split +
            ", " + spread + ") -> " + made + "\n";
  } else {
    body += form.hasZeros ? reshape("%bz3", "%bz", zeros, zeroSpread)
                          : "%bz3 = graph.constant {value = dense<" +
                                std::to_string(form.zero) + "> : " + zeroType +
                                "} : () -> " + zeroType + "\n";
    body += "%bd = graph.dequantize %bq3, %bs3, %bz3 " +
            std::string(form.bits == 4 ? "{bits = 4 : i64} " : "") + ": (" +
            split + ", " + spread + ", " + zeroType + ") -> " + made + "\n";
  }
  body += reshape(rows == depth ? "%bw" : "%br", "%bd", made, whole);
  if (rows != depth)
    body += "%bw = graph.slice %br {starts = #graph.dims<" +
            std::string(batches > 1 ? "0, " : "") +
            "0, 0>, steps = " + "#graph.dims<" + (batches > 1 ? "1, " : "") +
            "1, 1>} : (" + whole + ") -> " + wide + "\n";
  size_t use = test.body.find("%b", test.body.find("matmul "));
  test.body.replace(use, 2, "%bw");
  test.body = body + test.body;
  test.name += " of " + form.number + " in " + std::to_string(form.bits) +
               " bits, blocks of " + std::to_string(form.block) + ", scales " +
               form.scale +
               (form.hasCodebook ? ", codebook"
                : form.hasZeros  ? ", zeros"
                                 : ", zero " + std::to_string(form.zero));
  // A last value may be what the number's type ends at.
  bool isSigned = form.number[0] == 'i';
  double end = form.bits == 4 ? 16 : 256, low = isSigned ? -end / 2 : 0;
  Values first = test.values.empty() ? Values() : test.values[0];
  std::vector<Values> values = {
      first, {low, low + end - 0.01}, {-1 / end, 1 / end}};
  if (form.hasZeros)
    values.push_back({low, low + end - 0.01});
  values.push_back(first);
  test.values = values;
  return test;
}

} // namespace tenon::test
