//===- ByteTableTest.cpp - Bytes computed of bytes ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Levels with permutes of bytes look up what others compute: all must give the
// evaluator's numbers. The formulas here are exact in f32 on both ways.
//
//===----------------------------------------------------------------------===//

#include "test/compiler/Targets/Cpu/LevelTest.h"

namespace tenon::test {
namespace {

using Dims = std::vector<std::string>;

class ByteTable : public LevelTest {};

/// Names of a chain of ops and the types that it is written with.
struct Chain {
  std::string from, to; // Of bytes.
  Dims dims;
};

std::string constant(const std::string &name, const std::string &value,
                     const std::string &type) {
  return "%" + name + " = graph.constant {value = dense<" + value +
         "> : tensor<" + type + ">} : () -> tensor<" + type + ">\n";
}

/// %y, bytes of the bytes %q: x * min(max(x / 8 + 1/2, 0), 1), which reads its
/// operand twice.
std::string activation(const Chain &chain) {
  std::string bytes = tensor(chain.dims, chain.from),
              wide = tensor(chain.dims, "f32"),
              result = tensor(chain.dims, chain.to);
  std::string text =
      constant("c0", "0.25", "f32") + constant("c1", "7", chain.from) +
      constant("c2", "0.125", "f32") + constant("c3", "0.5", "f32") +
      constant("c4", "0.0", "f32") + constant("c5", "1.0", "f32") +
      constant("c6", "3", chain.to) + "%a = graph.dequantize %q, %c0, %c1 : (" +
      bytes + ", tensor<f32>, tensor<" + chain.from + ">) -> " + wide + "\n";
  auto binary = [&](const std::string &name, const std::string &op,
                    const std::string &x, const std::string &y) {
    std::string other = y[0] == 'c' ? "tensor<f32>" : wide;
    text += "%" + name + " = graph." + op + " %" + x + ", %" + y + " : (" +
            wide + ", " + other + ") -> " + wide + "\n";
  };
  binary("b", "mul", "a", "c2");
  binary("d", "add", "b", "c3");
  binary("e", "max", "d", "c4");
  binary("f", "min", "e", "c5");
  binary("g", "mul", "a", "f");
  return text + "%y = graph.quantize %g, %c3, %c6 : (" + wide +
         ", tensor<f32>, tensor<" + chain.to + ">) -> " + result + "\n";
}

const std::vector<Chain> chains = {
    {"ui8", "ui8", {}}, {"i8", "ui8", {}}, {"ui8", "i8", {}}, {"i8", "i8", {}}};

TEST_P(ByteTable, OfAnOperand) {
  std::vector<KernelCase> cases;
  for (Chain chain : chains) {
    chain.dims = {"m", "n"};
    cases.push_back({chain.from + " " + chain.to,
                     "%q: " + tensor(chain.dims, chain.from),
                     activation(chain) +
                         "kernel.yield %y : " + tensor(chain.dims, chain.to),
                     {{{"m", 0}, {"n", 3}},
                      {{"m", 1}, {"n", 1}},
                      {{"m", 3}, {"n", 15}},
                      {{"m", 7}, {"n", 64}},
                      {{"m", 1}, {"n", 999}}},
                     {{-128, 256}}});
  }
  run(cases);
}

// Which have no neighbours where a result's rows lie apart.
TEST_P(ByteTable, OfRowsOfOneElement) {
  std::vector<KernelCase> cases;
  for (Chain chain : chains) {
    chain.dims = {"m", "n", "1"};
    std::string values = tensor(chain.dims, "f32");
    cases.push_back(
        {chain.from + " " + chain.to,
         "%q: " + tensor(chain.dims, chain.from),
         activation(chain) + "%w = graph.dequantize %y, %c0, %c6 : (" +
             tensor(chain.dims, chain.to) + ", tensor<f32>, tensor<" +
             chain.to + ">) -> " + values + "\nkernel.yield %w : " + values,
         {{{"m", 0}, {"n", 3}}, {{"m", 3}, {"n", 15}}, {{"m", 7}, {"n", 64}}},
         {{-128, 256}}});
  }
  run(cases);
}

/// x * clamp(x / 8 + 1/2), rounded to bytes between the two, so that bytes of
/// the chain are read along with the first one.
TEST_P(ByteTable, ThroughOtherBytes) {
  std::vector<KernelCase> cases;
  for (const std::string &type : {"ui8", "i8"}) {
    std::string bytes = tensor({"m", "n"}, type),
                wide = tensor({"m", "n"}, "f32"),
                point = "tensor<" + type + ">";
    auto dequantize = [&](const std::string &to, const std::string &from,
                          const std::string &scale) {
      return "%" + to + " = graph.dequantize %" + from + ", %" + scale +
             ", %z : (" + bytes + ", tensor<f32>, " + point + ") -> " + wide +
             "\n";
    };
    auto quantize = [&](const std::string &to, const std::string &from,
                        const std::string &scale) {
      return "%" + to + " = graph.quantize %" + from + ", %" + scale +
             ", %z : (" + wide + ", tensor<f32>, " + point + ") -> " + bytes +
             "\n";
    };
    auto binary = [&](const std::string &to, const std::string &op,
                      const std::string &x, const std::string &y) {
      std::string other = y[0] == 'c' ? "tensor<f32>" : wide;
      return "%" + to + " = graph." + op + " %" + x + ", %" + y + " : (" +
             wide + ", " + other + ") -> " + wide + "\n";
    };
    std::string body =
        constant("c0", "0.25", "f32") + constant("c1", "0.125", "f32") +
        constant("c2", "0.5", "f32") + constant("c3", "0.0", "f32") +
        constant("z", "7", type) + dequantize("a", "q", "c0") +
        binary("b", "mul", "a", "c1") + binary("d", "add", "b", "c2") +
        quantize("d8", "d", "c1") + dequantize("e", "d8", "c1") +
        binary("f", "max", "e", "c3") + quantize("f8", "f", "c1") +
        dequantize("g", "f8", "c1") + dequantize("a2", "q", "c1") +
        binary("h", "mul", "a2", "g") + quantize("y", "h", "c2") +
        "kernel.yield %y : " + bytes;
    cases.push_back({type,
                     "%q: " + bytes,
                     body,
                     {{{"m", 1}, {"n", 1}}, {{"m", 3}, {"n", 79}}},
                     {{-128, 256}}});
    // Of an integer that the kernel makes itself, and of both.
    cases.push_back({type + " of sums",
                     "%p: " + bytes + ", %r: " + bytes,
                     "%q = graph.add %p, %r : (" + bytes + ", " + bytes +
                         ") -> " + bytes + "\n" + body,
                     {{{"m", 3}, {"n", 79}}},
                     {{-60, 60}, {-60, 60}}});
  }
  run(cases);
}

/// What a kernel rounded itself, and stores too.
TEST_P(ByteTable, OfWhatIsQuantized) {
  std::vector<KernelCase> cases;
  for (Chain chain : chains) {
    chain.dims = {"n"};
    std::string bytes = tensor(chain.dims, chain.from),
                wide = tensor(chain.dims, "f32");
    cases.push_back(
        {chain.from + " " + chain.to,
         "%x: " + wide + ", %s: tensor<f32>",
         constant("z", "9", chain.from) + "%q = graph.quantize %x, %s, %z : (" +
             wide + ", tensor<f32>, tensor<" + chain.from + ">) -> " + bytes +
             "\n" + activation(chain) + "kernel.yield %q, %y : " + bytes +
             ", " + tensor(chain.dims, chain.to),
         {{{"n", 0}}, {{"n", 1}}, {{"n", 61}}, {{"n", 640}}},
         {{-90, 90, true}, {0.2, 0.5}}});
  }
  run(cases);
}

/// Behind sums of products, in whole vectors of a row and the rest of it.
TEST_P(ByteTable, BehindAProduct) {
  std::vector<KernelCase> cases;
  for (int64_t columns : {1, 3, 16, 48, 70, 100})
    for (Chain chain : chains) {
      std::string n = std::to_string(columns);
      chain.dims = {"m", n};
      std::string sums = tensor(chain.dims, "i32"),
                  wide = tensor(chain.dims, "f32");
      cases.push_back(
          {chain.from + " " + chain.to + " " + n,
           "%lhs: " + tensor({"m", "40"}, "ui8") + ", %z: tensor<ui8>, %rhs: " +
               tensor({"40", n}, "i8") + ", %s: " + tensor({n}, "f32"),
           "%l = graph.cast %lhs : (" + tensor({"m", "40"}, "ui8") + ") -> " +
               tensor({"m", "40"}, "i32") +
               "\n%zw = graph.cast %z : (tensor<ui8>) -> tensor<i32>\n"
               "%lz = graph.sub %l, %zw : (" +
               tensor({"m", "40"}, "i32") + ", tensor<i32>) -> " +
               tensor({"m", "40"}, "i32") + "\n%r = graph.cast %rhs : (" +
               tensor({"40", n}, "i8") + ") -> " + tensor({"40", n}, "i32") +
               "\n%sums = graph.matmul %lz, %r : (" +
               tensor({"m", "40"}, "i32") + ", " + tensor({"40", n}, "i32") +
               ") -> " + sums + "\n%w = graph.cast %sums : (" + sums + ") -> " +
               wide + "\n%x = graph.mul %w, %s : (" + wide + ", " +
               tensor({n}, "f32") + ") -> " + wide + "\n" +
               constant("t", "0.5", "f32") + constant("p", "5", chain.from) +
               "%q = graph.quantize %x, %t, %p : (" + wide +
               ", tensor<f32>, tensor<" + chain.from + ">) -> " +
               tensor(chain.dims, chain.from) + "\n" + activation(chain) +
               "kernel.yield %y : " + tensor(chain.dims, chain.to),
           {{{"m", 0}}, {{"m", 1}}, {{"m", 7}}, {{"m", 70}}},
           {{0, 255}, {0, 255}, {-128, 127}, {0.0005, 0.002}},
           0,
           0,
           "PackedMatmulInt8"});
    }
  run(cases);
}

INSTANTIATE_TEST_SUITE_P(Levels, ByteTable,
                         testing::Values("x86-64-v3", "x86-64-v3-vnni",
                                         "x86-64-v4", "x86-64-v4-vnni",
                                         "x86-64-v4-bf16", "x86-64-v4-amx"),
                         nameOfLevel);

} // namespace
} // namespace tenon::test
