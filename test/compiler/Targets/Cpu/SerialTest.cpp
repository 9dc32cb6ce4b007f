//===- SerialTest.cpp - Roots that run as one row -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/LevelTest.h"
#include "test/compiler/Targets/Cpu/RecurrentCases.h"
#include "test/compiler/Targets/Cpu/StateCases.h"
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

TEST(Serial, RunsRecurrentCells) { runCases(recurrentCells({})); }

TEST(Serial, RecurrentSequencesHaveLengths) { runCases(recurrentLengths({})); }

TEST(Serial, RecurrentInputsMayBeProjected) {
  runCases(recurrentCells({0, true, "Generic"}));
  runCases(recurrentLengths({5, true}));
}

TEST(Serial, RecurrencesMayBeOfBytes) {
  runCases(recurrentCells({16, true, "Generic", "i8", true}));
}

TEST(Serial, AttendsStates) {
  runCases(statesOf(5, 3, 1, "Generic"));
  runCases(statesOf(4, 7, 6, "Generic"));
}

class LinearAttention : public LevelTest {};

TEST_P(LinearAttention, RunsAllRules) {
  run(statesOf(8, 32, 1, "LinearAttention"));
  run(statesOf(5, 16, 3, "LinearAttention"));
  run(statesOf(6, 64, 9, "LinearAttention"));
}

/// Of more rows, 16 columns.
TEST_P(LinearAttention, KeepsDeepStates) {
  run(statesOf(256, 48, 1, "LinearAttention"));
}

TENON_FOR_ALL_LEVELS(LinearAttention);

class RecurrentTiles : public LevelTest {};

TEST_P(RecurrentTiles, RunsAllCells) {
  for (int64_t hidden : {16, 48})
    run(recurrentCells({hidden, true, "RecurrentTiles"}));
}

TEST_P(RecurrentTiles, SequencesHaveLengths) {
  run(recurrentLengths({32, true, "RecurrentTiles"}));
  run(recurrentLengths({528, true, "RecurrentTiles"}));
  run(recurrentLengths({640, true, "RecurrentTiles"})); // By turns.
}

TEST_P(RecurrentTiles, ThreadsShareASequence) { run(recurrentTogether()); }

TEST_P(RecurrentTiles, SequencesShareARecurrence) {
  for (int64_t hidden : {32, 400})
    run(recurrentBatches("", hidden));
}

TENON_FOR_ALL_LEVELS(RecurrentTiles);

class RecurrentBytes : public LevelTest {};

TEST_P(RecurrentBytes, RunsAllCells) {
  for (bool perUnit : {false, true}) {
    run(recurrentCells({16, true, "RecurrentTiles", "i8", perUnit}));
    run(recurrentCells({48, true, "RecurrentTiles", "ui8", perUnit}));
  }
}

TEST_P(RecurrentBytes, ThreadsShareASequence) {
  run(recurrentTogether("i8"));
  run(recurrentTogether("ui8"));
}

TEST_P(RecurrentBytes, SequencesShareARecurrence) {
  run(recurrentBatches("i8"));
}

INSTANTIATE_TEST_SUITE_P(Levels, RecurrentBytes,
                         testing::Values("x86-64-v3", "x86-64-v3-vnni",
                                         "x86-64-v4", "x86-64-v4-vnni"),
                         nameOfLevel);

class RecurrentPairs : public LevelTest {};

TEST_P(RecurrentPairs, RunsAllCells) {
  for (const char *batch : {"b", "7"})
    run(recurrentCells({16, true, "RecurrentTiles", "bf16", false, batch}));
  for (const char *batch : {"1", "70"})
    run(recurrentCells({48, true, "RecurrentTiles", "bf16", false, batch}));
}

TEST_P(RecurrentPairs, SequencesHaveLengths) {
  for (int64_t hidden : {32, 528, 1024})
    run(recurrentLengths({hidden, true, "RecurrentTiles", "bf16"}));
}

TEST_P(RecurrentPairs, ThreadsShareASequence) {
  run(recurrentTogether("bf16"));
}

TEST_P(RecurrentPairs, SequencesShareARecurrence) {
  run(recurrentBatches("bf16"));
}

TENON_FOR_LEVELS_OF_PAIRS(RecurrentPairs);

} // namespace
} // namespace tenon::test
