//===- SerialTilesTest.cpp - Scans, topk and scatters on devices ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/RecurrentCases.h"
#include "test/compiler/Targets/Cpu/RowCases.h"
#include "test/compiler/Targets/Cpu/StateCases.h"
#include <gtest/gtest.h>

namespace tenon::test {
namespace {

void runAs(const std::string &schedule, std::vector<KernelCase> cases) {
  for (KernelCase &test : cases)
    test.schedule = schedule;
  runCases(cases);
}

TEST(BlockScan, RunningSums) {
  std::vector<Symbols> sizes;
  for (int64_t n : {1, 31, 1024, 2500})
    sizes.push_back({{"m", 2}, {"n", n}});
  sizes.push_back({{"m", 2}, {"n", 0}});
  std::vector<KernelCase> cases =
      cumulativesOf(1, tensor({"m", "n"}, "f32"), sizes);
  for (const std::string &type : {"i64", "bf16"}) {
    std::string whole = tensor({"m", "1100", "1"}, type);
    cases.push_back(one("cumulative",
                        "{axis = 1, kind = #graph<reduce_kind sum>, exclusive "
                        "= false, reverse = false}",
                        {whole}, {whole}, {{{"m", 2}}}));
    cases.push_back(followedBy(
        cases.back(), "graph.neg %r#0 : (" + whole + ") -> " + whole, whole));
  }
  std::string whole = tensor({"m", "n"}, "f32");
  cases.push_back(one("cumulative",
                      "{axis = 1, kind = #graph<reduce_kind max>, exclusive = "
                      "false, reverse = true}",
                      {whole}, {whole}, sizes));
  cases.back().values = {{-2, 2, true}};
  runAs("BlockScan", cases);
}

KernelCase topk(bool largest, const std::string &n, const std::string &k,
                const std::string &type, const std::vector<Symbols> &sizes) {
  return one("topk",
             std::string("{axis = 1, largest = ") +
                 (largest ? "true" : "false") + "}",
             {tensor({"m", n}, type)},
             {tensor({"m", k}, type), tensor({"m", k}, "i64")}, sizes);
}

TEST(BlockTopk, FewOfMany) {
  std::vector<KernelCase> cases;
  for (bool largest : {false, true}) {
    cases.push_back(topk(largest, "n", "3", "f32",
                         {{{"m", 2}, {"n", 3}}, {{"m", 2}, {"n", 3000}}}));
    cases.push_back(topk(largest, "9000", "1", "bf16", {{{"m", 2}}}));
    // Of few numbers many are equal.
    cases.push_back(topk(largest, "n", "8", "i32",
                         {{{"m", 1}, {"n", 9}}, {{"m", 2}, {"n", 700}}}));
    cases.push_back(topk(largest, "700", "8", "f32", {{{"m", 2}}}));
    cases.back().values = {{-2, 2, true}};
  }
  cases.push_back(topk(true, "n", "4", "f32", {{{"m", 2}, {"n", 3}}}));
  cases.back().fault = 3;
  runAs("BlockTopk", cases);
}

TEST(RankTopk, AnyNumber) {
  std::vector<KernelCase> cases;
  for (bool largest : {false, true}) {
    cases.push_back(topk(largest, "n", "k", "f32",
                         {{{"m", 2}, {"n", 1}, {"k", 1}},
                          {{"m", 2}, {"n", 600}, {"k", 600}},
                          {{"m", 3}, {"n", 257}, {"k", 20}},
                          {{"m", 2}, {"n", 5}, {"k", 0}},
                          {{"m", 2}, {"n", 0}, {"k", 0}}}));
    cases.push_back(topk(largest, "700", "90", "i32", {{{"m", 2}}}));
    cases.push_back(topk(largest, "300", "300", "f32", {{{"m", 2}}}));
    cases.back().values = {{-2, 2, true}};
    cases.push_back(topk(largest, "300", "300", "f16", {{{"m", 2}}}));
    cases.back().values = {{0, 0, false}};
  }
  cases.push_back(
      topk(true, "n", "k", "f32", {{{"m", 2}, {"n", 3}, {"k", 4}}}));
  cases.back().fault = 3;
  runAs("RankTopk", cases);
}

TEST(ScatterFold, ElementsAndSlices) {
  std::vector<KernelCase> cases;
  for (const std::string &kind : {"assign", "add", "mul", "max", "min"})
    for (const std::string &type : {"f32", "bf16"}) {
      std::string of = "kind = #graph<scatter_kind " + kind + ">}";
      std::string whole = tensor({"m", "n", "6"}, type);
      for (const std::string &axis : {"0", "1"}) {
        cases.push_back(one("scatter_elements", "{axis = " + axis + ", " + of,
                            {whole, tensor({"u", "4", "5"}, "i64"),
                             tensor({"u", "4", "5"}, type)},
                            {whole}, {{{"m", 4}, {"n", 5}, {"u", 3}}}));
        cases.back().values = {{}, {-4, 3}, {}};
      }
      // Some slices are updated twice.
      cases.push_back(one(
          "scatter_nd", "{" + of,
          {whole, tensor({"u", "2"}, "i64"), tensor({"u", "6"}, type)}, {whole},
          {{{"m", 4}, {"n", 5}, {"u", 30}}, {{"m", 4}, {"n", 5}, {"u", 0}}}));
      cases.back().values = {{}, {-4, 3}, {}};
    }
  std::string whole = tensor({"m", "6"}, "f32");
  cases.push_back(
      one("scatter_nd", "{kind = #graph<scatter_kind assign>}",
          {whole, tensor({"3", "1"}, "i64"), tensor({"3", "6"}, "f32")},
          {whole}, {{{"m", 2}}}));
  cases.back().values = {{}, {5, 7}, {}};
  cases.back().fault = 1;
  runAs("ScatterFold", cases);
}

TEST(BlockRecurrent, Cells) {
  // Fewer hidden units than a warp, and more than one has.
  runAs("BlockRecurrent", recurrentCells({3}));
  runAs("BlockRecurrent", recurrentLengths({37}));
  runAs("BlockRecurrent", recurrentLengths({37, true}));
}

TEST(BlockRecurrent, ReadsBytes) {
  runAs("BlockRecurrent", recurrentCells({16, true, "Generic", "ui8", true}));
}

TEST(BlockState, RunsAllRules) {
  // Fewer columns than threads of a block, and more.
  runAs("BlockState", statesOf(5, 3, 1, ""));
  runAs("BlockState", statesOf(4, 300, 6, ""));
}

TEST(BlockNonzero, FindsAll) {
  std::vector<KernelCase> cases;
  for (const std::string &type : {"i64", "f32", "ui8"}) {
    cases.push_back(one("nonzero", "", {tensor({"m", "50"}, type)},
                        {tensor({"2", "n"}, "i64")},
                        {{{"m", 3}, {"n", 150}},
                         {{"m", 170}, {"n", 8500}},
                         {{"m", 0}, {"n", 0}}}));
    cases.back().values = {{1, 5}};
    cases.push_back(cases.back());
    cases.back().sizes = {{{"m", 3}, {"n", 149}}};
    cases.back().fault = 3;
  }
  // Two of five are 0; and all.
  std::string type = tensor({"m", "5"}, "i32");
  KernelCase test = one("nonzero", "", {type}, {tensor({"2", "n"}, "i64")},
                        {{{"m", 4}, {"n", 12}}, {{"m", 3001}, {"n", 9003}}});
  test.body.replace(test.body.find("%a"), 2, "%p");
  test.body = "%c = graph.constant {value = dense<[1, 0, 3, -4, 0]> : "
              "tensor<5xi32>} : () -> tensor<5xi32>\n"
              "%p = graph.mul %a, %c : (" +
              type + ", tensor<5xi32>) -> " + type + "\n" + test.body;
  test.values = {{1, 5}};
  cases.push_back(test);
  cases.push_back(one("nonzero", "", {tensor({"m"}, "i32")},
                      {tensor({"1", "n"}, "i32")}, {{{"m", 4}, {"n", 0}}}));
  cases.back().values = {{0, 0}};
  runAs("BlockNonzero", cases);
}

} // namespace
} // namespace tenon::test
