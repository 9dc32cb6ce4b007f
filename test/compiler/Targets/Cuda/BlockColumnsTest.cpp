//===- BlockColumnsTest.cpp - Softmax and reductions of columns -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/RowCases.h"
#include <gtest/gtest.h>

namespace tenon::test {
namespace {

void runColumns(std::vector<KernelCase> cases) {
  for (KernelCase &test : cases)
    test.schedule = "BlockColumns";
  runCases(cases);
}

TEST(BlockColumns, Softmax) {
  std::vector<KernelCase> cases;
  std::vector<Symbols> sizes;
  for (int64_t n : {2, 33, 130})
    sizes.push_back({{"k", 11}, {"m", 2}, {"n", n}});
  sizes.push_back({{"k", 1}, {"m", 2}, {"n", 20}});
  sizes.push_back({{"k", 0}, {"m", 2}, {"n", 20}});
  for (const std::string &op : {"softmax", "log_softmax"}) {
    std::string whole = tensor({"m", "k", "n"}, "f32");
    cases.push_back(one(op, "{axis = 1}", {whole}, {whole}, sizes));
    cases.back().tolerance = 2e-5;
    cases.push_back(cases.back());
    cases.back().values = {{-2, 2, true}};
    whole = tensor({"m", "21", "64"}, "bf16");
    cases.push_back(withPrologue(
        withEpilogue(one(op, "{axis = 1}", {whole}, {whole}, {{{"m", 2}}}),
                     whole, tensor({"64"}, "bf16")),
        whole));
  }
  runColumns(cases);
}

TEST(BlockColumns, Reductions) {
  std::vector<KernelCase> cases;
  for (const std::string &kind : {"sum", "mean", "max", "min", "prod"}) {
    // As images have them: over both axes of space, channels last.
    cases.push_back(reduceOf(kind, "1, 2", tensor({"m", "7", "9", "40"}, "f32"),
                             tensor({"m", "1", "1", "40"}, "f32"),
                             {{{"m", 3}}}));
    cases.push_back(reduceOf(
        kind, "0", tensor({"m", "n"}, "f32"), tensor({"1", "n"}, "f32"),
        {{{"m", 70}, {"n", 33}}, {{"m", 1}, {"n", 5}}, {{"m", 0}, {"n", 5}}}));
  }
  // Whole vectors, and many steps.
  cases.push_back(reduceOf("sum", "0", tensor({"m", "65536"}, "f16"),
                           tensor({"1", "65536"}, "f16"), {{{"m", 3}}}));
  cases.push_back(reduceOf("mean", "1", tensor({"m", "3000", "20"}, "f32"),
                           tensor({"m", "1", "20"}, "f32"), {{{"m", 2}}}));
  for (const std::string &kind : {"max", "min"}) {
    cases.push_back(reduceOf(kind, "0", tensor({"m", "130"}, "f32"),
                             tensor({"1", "130"}, "f32"), {{{"m", 9}}}));
    cases.back().values = {{-2, 2, true}};
  }
  runColumns(cases);
}

TEST(BlockColumns, Places) {
  std::vector<KernelCase> cases;
  for (const std::string &kind : {"max", "min"})
    for (bool last : {false, true}) {
      KernelCase test =
          argReduceOf(kind, last, 1, tensor({"m", "k", "40"}, "f32"),
                      tensor({"m", "1", "40"}, "i64"), {{{"m", 2}, {"k", 70}}});
      test.values = {{0, 0, false}};
      cases.push_back(test);
      test.values = {{-2, 2, true}};
      cases.push_back(test);
    }
  runColumns(cases);
}

} // namespace
} // namespace tenon::test
