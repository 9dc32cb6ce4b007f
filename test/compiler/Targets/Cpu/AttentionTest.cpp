//===- AttentionTest.cpp - Attention by both schedules --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/AttentionForms.h"
#include "test/compiler/Targets/Cpu/LevelTest.h"
#include <cmath>

namespace tenon::test {
namespace {

void runAll(std::string schedule, std::string element, const char *level) {
  static constexpr const char *dead[] = {"zero", "uniform", "nan"};
  std::vector<KernelCase> cases;
  for (Form form : masks()) {
    form.schedule = schedule;
    form.element = element;
    form.dead = dead[cases.size() % 3];
    cases.push_back(attention(form, sizesOf({{2, 5, 9},
                                             {1, 1, 1},
                                             {1, 70, 130},
                                             {3, 1, 75},
                                             {0, 3, 4},
                                             {2, 0, 3},
                                             {1, 3, 0},
                                             {1, 49, 64}})));
  }
  // Queries in front of all keys, and masks that are by chance all false.
  for (std::string dead : {"zero", "uniform", "nan"}) {
    Form form;
    form.schedule = schedule;
    form.element = element;
    form.dead = dead;
    form.causal = form.keyMask = true;
    form.offset = "-3";
    cases.push_back(attention(
        form, sizesOf({{9, 2, 1}, {9, 3, 2}, {1, 40, 60}, {2, 4, 0}})));
  }
  runCases(cases, level);
}

TEST(GenericAttention, EveryMask) { runAll("Generic", "f32", "native"); }
TEST(GenericAttention, EveryType) {
  runAll("Generic", "f16", "native");
  runAll("Generic", "bf16", "native");
  runAll("Generic", "f64", "native");
}

TEST(GenericAttention, HeadsAndWidths) {
  Form form;
  form.schedule = "Generic";
  form.heads = 6, form.keyHeads = 2, form.depth = 5, form.width = 3;
  form.biases = {{"2", "6", "s", "t"}};
  std::vector<KernelCase> cases = {
      attention(form, sizesOf({{4, 3, 5}, {0, 1, 1}}))};
  runCases(cases);
}

class AttentionBlocks : public LevelTest {};

TEST_P(AttentionBlocks, EveryMask) { runAll("Attention", "f32", GetParam()); }

TEST_P(AttentionBlocks, AnyNumberOfQueriesAndKeys) {
  std::vector<std::array<int64_t, 3>> sizes;
  for (int64_t i = 1; i <= 65; ++i) {
    sizes.push_back({1, i, 70 - i});
    sizes.push_back({1, 3, i});
  }
  for (int64_t around : {48, 96, 128, 192})
    for (int64_t i : {-1, 0, 1})
      sizes.push_back({1, around + i, 128 + i});
  Form plain, causal, biased;
  causal.causal = causal.keyMask = true;
  biased.biases = {{"1", "2", "s", "t"}};
  std::vector<KernelCase> cases;
  for (const Form &form : {plain, causal, biased})
    cases.push_back(attention(form, sizesOf(sizes)));
  runCases(cases, GetParam());
}

TEST_P(AttentionBlocks, AnyHeadSizes) {
  std::vector<KernelCase> cases;
  for (int64_t depth : {8, 16, 20, 40, 64, 80, 128, 256})
    for (int64_t width : {depth, depth % 3 ? int64_t(27) : int64_t(72)}) {
      Form form;
      form.depth = depth, form.width = width;
      form.scale = 1 / std::sqrt(double(depth));
      form.causal = true;
      cases.push_back(attention(form, sizesOf({{1, 33, 33}, {2, 5, 70}})));
    }
  runCases(cases, GetParam());
}

TEST_P(AttentionBlocks, WideHeads) {
  std::vector<KernelCase> cases;
  for (auto [depth, width] :
       {std::pair(512, 512), {288, 1024}, {1024, 8}, {392, 264}}) {
    Form form;
    form.depth = depth, form.width = width;
    form.scale = 1 / std::sqrt(double(depth));
    form.causal = true;
    cases.push_back(attention(form, sizesOf({{1, 11, 40}, {2, 2, 70}})));
  }
  runCases(cases, GetParam());
}

/// Few queries and many keys, which are cut in pieces.
TEST_P(AttentionBlocks, PiecesOfThePast) {
  static constexpr const char *dead[] = {"zero", "uniform", "nan"};
  std::vector<KernelCase> cases;
  for (Form form : masks()) {
    form.dead = dead[cases.size() % 3];
    cases.push_back(attention(form, sizesOf({{1, 1, 1100},
                                             {2, 3, 1600},
                                             {1, 20, 1025},
                                             {1, 60, 1100},
                                             {1, 1, 512},
                                             {1, 1, 513}})));
  }
  // Queries in front of all keys, and keys all of which are masked.
  for (std::string each : dead) {
    Form form;
    form.dead = each;
    form.causal = form.offsets = true;
    form.offset = "-1200";
    cases.push_back(attention(form, sizesOf({{3, 1, 1100}, {2, 30, 1100}})));
  }
  runCases(cases, GetParam());
}

TEST_P(AttentionBlocks, PiecesOfALongPast) {
  std::vector<KernelCase> cases;
  for (auto [heads, keyHeads] : {std::pair(7, 1), {14, 2}, {40, 1}, {3, 3}}) {
    Form form;
    form.heads = heads, form.keyHeads = keyHeads;
    form.depth = 64, form.width = heads == 14 ? 96 : 64;
    form.scale = 0.125;
    form.causal = form.keyMask = true;
    form.offset = "-1 * s + t";
    cases.push_back(attention(form, sizesOf({{1, 1, 4096}, {1, 2, 5000}})));
  }
  Form form;
  form.heads = 2, form.keyHeads = 1;
  cases.push_back(attention(form, sizesOf({{1, 1, 16384}})));
  runCases(cases, GetParam());
}

TEST_P(AttentionBlocks, InfinitiesAndNaNInPieces) {
  Form form;
  form.biases = {{"1", "1", "s", "t"}};
  KernelCase test = attention(form, sizesOf({{1, 1, 1100}, {1, 20, 1100}}));
  test.values.back() = {-1, 1, /*special=*/true};
  Form masked;
  masked.keyMask = true;
  masked.biases = {{"1", "1", "s", "t"}};
  KernelCase lines = attention(masked, sizesOf({{2, 1, 1100}}));
  lines.values.back() = {-1, 1, /*special=*/true};
  runCases({test, lines}, GetParam());
}

TEST_P(AttentionBlocks, HeadsShareKeys) {
  std::vector<KernelCase> cases;
  for (auto [heads, keyHeads] : {std::pair(6, 2), {8, 1}, {7, 1}, {4, 4}})
    for (int64_t window : {0, 9}) {
      Form form;
      form.heads = heads, form.keyHeads = keyHeads;
      form.causal = form.offsets = true;
      form.window = window;
      form.dead = "uniform";
      form.biases = {{"2", std::to_string(heads), "s", "t"}};
      cases.push_back(attention(
          form, sizesOf({{2, 1, 100}, {4, 20, 30}, {2, 50, 70}, {0, 3, 3}})));
    }
  runCases(cases, GetParam());
}

TEST_P(AttentionBlocks, InfinitiesAndNaN) {
  std::vector<KernelCase> cases;
  for (bool causal : {false, true}) {
    Form form;
    form.causal = causal;
    form.biases = {{"1", "1", "s", "t"}};
    KernelCase test = attention(form, sizesOf({{1, 9, 5}, {1, 70, 140}}));
    // Lines of -infinity and of the lowest number are whole dead rows.
    test.values.back() = {-1, 1, /*special=*/true};
    cases.push_back(test);
  }
  runCases(cases, GetParam());
}

/// As masks of -100 make them.
TEST_P(AttentionBlocks, WeightsBelowTheNormalNumbers) {
  Form form;
  form.biases = {{"1", "1", "s", "t"}};
  KernelCase test = attention(form, sizesOf({{1, 20, 50}, {1, 3, 70}}));
  test.values.back() = {-220, 0};
  runCases({test}, GetParam());
}

/// Several lists, and keys that a list reads in blocks with gaps.
TEST_P(AttentionBlocks, PanelsOfListsAndWindows) {
  Form form;
  form.heads = 3, form.keyHeads = 3;
  form.causal = true, form.window = 5;
  form.depth = 12, form.width = 20;
  Form far = form;
  far.offset = "200";
  runCases({attention(form, sizesOf({{2, 300, 300}})),
            attention(far, sizesOf({{2, 100, 500}}))},
           GetParam());
}

TEST_P(AttentionBlocks, ReadsAndWritesThroughViews) {
  // [B, S, H * D] as exporters have it, in one tensor for all three.
  std::string joined = tensor({"b", "s", "96"}, "f32");
  std::string split = tensor({"b", "s", "3", "2", "16"}, "f32");
  std::string moved = tensor({"3", "b", "2", "s", "16"}, "f32");
  std::string slice = tensor({"1", "b", "2", "s", "16"}, "f32");
  std::string head = tensor({"b", "2", "s", "16"}, "f32");
  std::string back = tensor({"b", "s", "2", "16"}, "f32");
  std::string result = tensor({"b", "s", "32"}, "f32");
  KernelCase test;
  test.name = "views";
  test.schedule = "Attention";
  test.arguments = "%a: " + joined;
  test.body = "%split = graph.reshape %a : (" + joined + ") -> " + split +
              "\n%moved = graph.transpose %split {permutation = array<i64: 2, "
              "0, 3, 1, 4>} : (" +
              split + ") -> " + moved + "\n";
  std::string names[] = {"q", "k", "v"};
  for (int i = 0; i < 3; ++i)
    test.body +=
        "%s" + names[i] + " = graph.slice %moved {starts = #graph.dims<" +
        std::to_string(i) +
        ", 0, 0, 0, 0>, steps = #graph.dims<1, 1, "
        "1, 1, 1>} : (" +
        moved + ") -> " + slice + "\n%" + names[i] + " = graph.reshape %s" +
        names[i] + " : (" + slice + ") -> " + head + "\n";
  test.body +=
      "%y = graph.attention %q, %k, %v {operandSegmentSizes = array<i32: 1, 1, "
      "1, 0, 0, 0>, scale = 0.25 : f64, softcap = 0.0 : f64, causal = true, "
      "offset = #graph.dims<0>, window = 0 : i64, dead_rows = "
      "#graph<dead_rows zero>} : (" +
      head + ", " + head + ", " + head + ") -> " + head +
      "\n%t = graph.transpose %y {permutation = array<i64: 0, "
      "2, 1, 3>} : (" +
      head + ") -> " + back + "\n%r = graph.reshape %t : (" + back + ") -> " +
      result + "\nkernel.yield %r : " + result;
  for (auto [b, s] : {std::pair(1, 1), {2, 5}, {3, 70}, {2, 0}})
    test.sizes.push_back({{"b", b}, {"s", s}});
  test.sizes.erase(test.sizes.begin());
  KernelCase generic = test;
  generic.schedule = "Generic";
  runCases({test, generic}, GetParam());
}

TEST_P(AttentionBlocks, BiasesAreViews) {
  // [S, T, H], as a table of relative positions is looked up.
  std::string table = tensor({"s", "t", "2"}, "f32");
  std::string moved = tensor({"2", "s", "t"}, "f32");
  std::string bias = tensor({"1", "2", "s", "t"}, "f32");
  Form form;
  form.causal = true;
  form.biases = {{"1", "2", "s", "t"}};
  KernelCase test = attention(
      form, sizesOf({{2, 1, 5}, {1, 3, 70}, {2, 20, 9}, {1, 60, 65}}));
  size_t at = test.arguments.find("%d: " + bias);
  test.arguments.replace(at, 4 + bias.size(), "%table: " + table);
  test.body = "%moved = graph.transpose %table {permutation = array<i64: 2, 0, "
              "1>} : (" +
              table + ") -> " + moved + "\n%d = graph.reshape %moved : (" +
              moved + ") -> " + bias + "\n" + test.body;
  runCases({test}, GetParam());
}

TENON_FOR_ALL_LEVELS(AttentionBlocks);

} // namespace
} // namespace tenon::test
