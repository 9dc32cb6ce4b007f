//===- RoundedAttentionTest.cpp - Attention of what is rounded to bf16 ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Levels that multiply bf16 round weights, too; others and few queries take
// operands as they are.
//
//===----------------------------------------------------------------------===//

#include "test/compiler/Targets/Cpu/AttentionForms.h"
#include "test/compiler/Targets/Cpu/LevelTest.h"
#include <algorithm>
#include <cmath>

namespace tenon::test {
namespace {

class RoundedAttention : public LevelTest {
protected:
  void add(Form form, std::vector<std::array<int64_t, 3>> sizes) {
    form.isRounded = true;
    cases.push_back(attention(form, sizesOf(std::move(sizes))));
    cases.back().tolerance = 1.6e-2;
  }
  void runAll() { run(cases); }

  std::vector<KernelCase> cases;
};

TEST_P(RoundedAttention, EveryMask) {
  static constexpr const char *dead[] = {"zero", "uniform", "nan"};
  for (Form form : masks()) {
    form.dead = dead[cases.size() % 3];
    add(form, {{2, 5, 9},
               {1, 1, 1},
               {1, 70, 130},
               {3, 1, 75},
               {0, 3, 4},
               {2, 0, 3},
               {1, 3, 0},
               {2, 20, 33},
               {1, 49, 64}});
  }
  // Queries in front of all keys, and masks that are by chance all false.
  for (std::string each : dead) {
    Form form;
    form.dead = each;
    form.causal = form.keyMask = true;
    form.offset = "-3";
    add(form, {{9, 2, 1}, {9, 13, 2}, {1, 40, 60}, {2, 14, 0}});
  }
  runAll();
}

TEST_P(RoundedAttention, AnyNumberOfQueriesAndKeys) {
  std::vector<std::array<int64_t, 3>> sizes;
  for (int64_t i = 1; i <= 70; ++i) {
    sizes.push_back({1, i, 71 - i});
    sizes.push_back({1, 9, i});
  }
  for (int64_t around : {48, 96, 128, 192})
    for (int64_t i : {-1, 0, 1})
      sizes.push_back({1, around + i, 128 + i});
  Form plain, causal;
  causal.causal = causal.keyMask = true;
  add(plain, sizes);
  add(causal, sizes);
  runAll();
}

TEST_P(RoundedAttention, AnyHeadSizes) {
  for (int64_t depth : {8, 16, 20, 33, 40, 64, 80, 128, 256, 262, 544})
    for (int64_t width : {depth, depth % 3 ? int64_t(27) : int64_t(72)}) {
      Form form;
      form.depth = depth, form.width = width;
      form.scale = 1 / std::sqrt(double(depth));
      form.causal = true;
      add(form, {{1, 33, 33}, {2, 5, 70}});
    }
  Form wide;
  wide.depth = 288, wide.width = 1024;
  wide.scale = 1 / 17.0;
  add(wide, {{1, 11, 40}, {2, 19, 70}});
  runAll();
}

/// Heads that are wide enough for pairs of their elements, rounded either way.
TEST_P(RoundedAttention, WideHeads) {
  for (Form form : masks()) {
    form.depth = form.width = 64;
    form.narrow = cases.size() % 2 ? "bf16" : "f16";
    add(form, {{2, 5, 9}, {1, 70, 130}, {1, 49, 64}, {1, 60, 1100}});
  }
  runAll();
}

/// What the kernel stores is rounded, too: by vectors, or by less than one.
TEST_P(RoundedAttention, ResultsInBf16) {
  static constexpr const char *dead[] = {"zero", "uniform", "nan"};
  for (Form form : masks()) {
    form.givesBf16 = true;
    form.dead = dead[cases.size() % 3];
    form.depth = form.width = cases.size() % 2 ? 16 : 64;
    add(form, {{2, 5, 9}, {1, 1, 1}, {1, 70, 130}, {2, 0, 3}, {1, 3, 0}});
  }
  for (int64_t width : {8, 9, 20, 27, 40}) {
    Form form;
    form.givesBf16 = form.causal = true;
    form.offset = "-3";
    form.width = width;
    add(form, {{1, 3, 33}, {2, 50, 70}});
  }
  runAll();
}

/// Products and sums that f16 has not, or only in a few bits.
TEST_P(RoundedAttention, NumbersOfEverySize) {
  for (std::string narrow : {"bf16", "f16"}) {
    Form form;
    form.depth = form.width = 64, form.narrow = narrow;
    form.scale = 1e-6;
    add(form, {{1, 33, 130}});
    cases.back().values = {{-400, 400}, {-400, 400}, {-60000, 60000}};
    form.scale = 1e4;
    add(form, {{1, 33, 130}});
    cases.back().values = {{-1e-3, 1e-3}, {-1e-3, 1e-3}, {-1e-3, 1e-3}};
  }
  runAll();
}

/// What is left of scratch memory by other sizes must not get in.
TEST_P(RoundedAttention, Pieces) {
  for (Form form : masks())
    add(form, {{1, 20, 1025}, {1, 60, 1100}});
  runAll();
}

TEST_P(RoundedAttention, HeadsShareKeys) {
  for (auto [heads, keyHeads] : {std::pair(6, 2), {8, 1}, {7, 1}, {4, 4}})
    for (int64_t window : {0, 9}) {
      Form form;
      form.heads = heads, form.keyHeads = keyHeads;
      form.causal = form.offsets = true;
      form.window = window;
      form.dead = "uniform";
      form.biases = {{"2", std::to_string(heads), "s", "t"}};
      add(form, {{2, 1, 100}, {4, 20, 30}, {2, 50, 70}, {0, 3, 3}});
    }
  runAll();
}

TEST_P(RoundedAttention, ScalesOfEverySign) {
  for (double scale : {0.0, -0.25, 0.25})
    for (double softcap : {0.0, 1.5}) {
      Form form;
      form.scale = scale, form.softcap = softcap;
      form.causal = true;
      add(form, {{1, 30, 90}, {2, 5, 70}});
    }
  runAll();
}

TEST_P(RoundedAttention, InfinitiesAndNaN) {
  for (bool causal : {false, true}) {
    Form form;
    form.causal = causal;
    form.biases = {{"1", "1", "s", "t"}};
    add(form, {{1, 9, 5}, {1, 70, 140}, {1, 20, 1100}});
    // Lines of -infinity and of the lowest number are whole dead rows.
    cases.back().values.back() = {-1, 1, /*special=*/true};
  }
  runAll();
}

/// Several lists, and keys that a list reads in blocks with gaps.
TEST_P(RoundedAttention, PanelsOfListsAndWindows) {
  Form form;
  form.heads = 3, form.keyHeads = 3;
  form.causal = true, form.window = 5;
  form.depth = 12, form.width = 20;
  Form far = form;
  far.offset = "200";
  add(form, {{2, 300, 300}});
  add(far, {{2, 100, 500}});
  runAll();
}

INSTANTIATE_TEST_SUITE_P(Levels, RoundedAttention,
                         testing::Values("x86-64-v3", "x86-64-v4",
                                         "x86-64-v4-bf16", expandedPairs,
                                         "x86-64-v4-amx", expandedAmx,
                                         "x86-64-v4-fp16", expandedF16),
                         nameOfLevel);

} // namespace
} // namespace tenon::test
