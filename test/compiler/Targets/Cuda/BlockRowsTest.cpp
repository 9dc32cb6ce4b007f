//===- BlockRowsTest.cpp - Norms, softmax and reductions on devices -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/RowCases.h"
#include <gtest/gtest.h>

namespace tenon::test {
namespace {

void runRows(std::vector<KernelCase> cases) {
  for (KernelCase &test : cases)
    test.schedule = "BlockRows";
  runCases(cases);
}

/// The roots that keep the shape of rows [m, n], each with other company.
void addRoots(std::vector<KernelCase> &cases, const std::string &n,
              const std::string &type, const std::vector<Symbols> &sizes) {
  std::string whole = tensor({"m", n}, type), columns = tensor({n}, type);
  auto root = [&](const std::string &op, const std::string &more) {
    KernelCase test =
        one(op, "{axis = 1" + more + "}", {whole}, {whole}, sizes);
    if (type == "f32")
      test.tolerance = 2e-5;
    return test;
  };
  const std::string epsilon = ", epsilon = 1.0e-5";
  cases.push_back(withEpilogue(root("softmax", ""), whole, columns));
  cases.push_back(root("log_softmax", ""));
  cases.push_back(withPrologue(
      withEpilogue(root("layer_norm", epsilon), whole, columns), whole));
  cases.push_back(withPrologue(root("rms_norm", epsilon), whole));
}

TEST(BlockRows, RowsOfUnknownLength) {
  std::vector<Symbols> sizes;
  for (int64_t n : {1, 8, 127, 1024, 1030})
    sizes.push_back({{"m", 2}, {"n", n}});
  sizes.push_back({{"m", 0}, {"n", 9}});
  sizes.push_back({{"m", 3}, {"n", 0}});
  std::vector<KernelCase> cases;
  for (const std::string &type : {"bf16", "f32"})
    addRoots(cases, "n", type, sizes);
  runRows(cases);
}

TEST(BlockRows, RowsOfAWarp) {
  std::vector<KernelCase> cases;
  for (const std::string &n : {"8", "31", "33", "100", "512"})
    addRoots(cases, n, "f32", {{{"m", 5}}});
  addRoots(cases, "72", "f16", {{{"m", 17}}});
  addRoots(cases, "1024", "bf16", {{{"m", 5}}});
  runRows(cases);
}

TEST(BlockRows, RowsOfABlock) {
  std::vector<KernelCase> cases;
  for (const std::string &n : {"768", "1023", "5000"})
    addRoots(cases, n, "f32", {{{"m", 3}}});
  addRoots(cases, "4096", "bf16", {{{"m", 2}}});
  addRoots(cases, "1025", "f16", {{{"m", 2}}});
  runRows(cases);
}

/// What a norm gives, and that as bytes beside it.
TEST(BlockRows, RowsAndTheirBytes) {
  std::vector<KernelCase> cases;
  for (const std::string &n : {"8", "72", "300"}) {
    std::string rows = tensor({"m", n}, "f32"), bytes = tensor({"m", n}, "ui8");
    KernelCase test;
    test.name = "a norm and its bytes " + rows;
    test.sizes = {{{"m", 3}}, {{"m", 0}}};
    test.arguments = "%x: " + rows + ", %f: tensor<f32>, %z: tensor<ui8>";
    test.body = "%one = graph.constant {value = dense<1.0> : tensor<f32>} : () "
                "-> tensor<f32>\n%y = graph.layer_norm %x {axis = 1 : i64, "
                "epsilon = 1.0e-5 : f64} : (" +
                rows + ") -> " + rows + "\n%s = graph.mul %y, %f : (" + rows +
                ", tensor<f32>) -> " + rows +
                "\n%q = graph.quantize %s, %one, %z : (" + rows +
                ", tensor<f32>, tensor<ui8>) -> " + bytes +
                "\nkernel.yield %y, %q : " + rows + ", " + bytes;
    test.values = {{-2, 2}, {20, 40}, {100, 140}};
    test.tolerance = 2e-5;
    cases.push_back(test);
  }
  runRows(cases);
}

TEST(BlockRows, RowsThatAreReadAgain) {
  std::vector<KernelCase> cases;
  for (const std::string &op : {"softmax", "log_softmax"})
    for (const std::string &n : {"33000", "50257"}) {
      std::string whole = tensor({"m", n}, "f32");
      cases.push_back(one(op, "{axis = 1}", {whole}, {whole}, {{{"m", 1}}}));
      cases.back().tolerance = 1e-4;
    }
  runRows(cases);
}

TEST(BlockRows, SoftmaxOfSpecialValues) {
  std::vector<KernelCase> cases;
  for (const std::string &n : {"n", "70", "1030"})
    for (const std::string &op : {"softmax", "log_softmax"}) {
      std::string whole = tensor({"m", n}, "f32");
      cases.push_back(
          one(op, "{axis = 1}", {whole}, {whole}, {{{"m", 9}, {"n", 70}}}));
      cases.back().values = {{-2, 2, true}};
    }
  runRows(cases);
}

TEST(BlockRows, Reductions) {
  std::vector<KernelCase> cases;
  for (const std::string &kind : {"sum", "mean", "max", "min", "prod"}) {
    for (const std::string &n : {"n", "64", "2000"})
      cases.push_back(reduceOf(kind, "1", tensor({"m", n}, "f32"),
                               tensor({"m", "1"}, "f32"),
                               {{{"m", 5}, {"n", 200}},
                                {{"m", 2}, {"n", 1}},
                                {{"m", 2}, {"n", 0}}}));
    cases.push_back(reduceOf(kind, "0, 2", tensor({"3", "m", "40"}, "bf16"),
                             tensor({"1", "m", "1"}, "bf16"), {{{"m", 5}}}));
    cases.push_back(reduceOf(kind, "1, 2", tensor({"m", "7", "9"}, "f16"),
                             tensor({"m", "1", "1"}, "f16"), {{{"m", 5}}}));
  }
  for (const std::string &kind : {"max", "min"}) {
    cases.push_back(reduceOf(kind, "1", tensor({"m", "130"}, "f32"),
                             tensor({"m", "1"}, "f32"), {{{"m", 9}}}));
    cases.back().values = {{-2, 2, true}};
  }
  runRows(cases);
}

/// Several blocks have a piece of a row each: of symbols, of numbers, and of
/// rows that are no whole vectors. The last pieces are empty or short.
TEST(BlockRows, PiecesOfLongRows) {
  std::vector<KernelCase> cases;
  std::vector<Symbols> sizes = {{{"m", 2}, {"n", 9001}},
                                {{"m", 1}, {"n", 16388}},
                                {{"m", 1}, {"n", 4096}},
                                {{"m", 130}, {"n", 5}}};
  for (const std::string &kind : {"sum", "mean", "max", "min"}) {
    cases.push_back(reduceOf(kind, "1", tensor({"m", "n"}, "f32"),
                             tensor({"m", "1"}, "f32"), sizes));
    cases.push_back(reduceOf(kind, "0, 1", tensor({"7", "20000"}, "bf16"),
                             tensor({"1", "1"}, "bf16"), {{}}));
    cases.back().values = {{-2, 2, kind == "max" || kind == "min"}};
    if (kind != "max" && kind != "min")
      continue;
    for (bool last : {false, true}) {
      cases.push_back(argReduceOf(kind, last, 1, tensor({"m", "n"}, "f32"),
                                  tensor({"m", "1"}, "i64"), sizes));
      // With equals.
      cases.back().values = {{0, 0, false}};
      cases.push_back(argReduceOf(kind, last, 1, tensor({"1", "70001"}, "f32"),
                                  tensor({"1", "1"}, "i64"), {{}}));
    }
  }
  runRows(cases);
}

TEST(BlockRows, Places) {
  std::vector<KernelCase> cases;
  for (const std::string &kind : {"max", "min"})
    for (bool last : {false, true})
      for (const std::string &n : {"n", "40", "1001"}) {
        KernelCase test =
            argReduceOf(kind, last, 1, tensor({"m", n}, "f32"),
                        tensor({"m", "1"}, "i64"), {{{"m", 5}, {"n", 200}}});
        // Once with equals, once with NaN and infinities.
        test.values = {{0, 0, false}};
        cases.push_back(test);
        test.values = {{-2, 2, true}};
        cases.push_back(test);
      }
  cases.push_back(argReduceOf("max", false, 1, tensor({"2", "n"}, "f32"),
                              tensor({"2", "1"}, "i64"), {{{"n", 0}}}));
  cases.back().fault = 3;
  runRows(cases);
}

} // namespace
} // namespace tenon::test
