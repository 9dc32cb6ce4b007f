//===- StoredAttentionTest.cpp - Attention of caches in fewer bits --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys and values come in 16 or 8 bits and are widened where they are read: by
// a few queries, by many, and by those of the levels that multiply bf16.
// Queries may come in 16 bits, too, and what is bf16 is multiplied as it is
// there.
//
//===----------------------------------------------------------------------===//

#include "test/compiler/Targets/Cpu/AttentionForms.h"
#include "test/compiler/Targets/Cpu/LevelTest.h"
#include <cmath>

namespace tenon::test {
namespace {

class StoredAttention : public LevelTest {
protected:
  /// In all types, every other case with what is multiplied rounded to bf16.
  void add(Form form, std::vector<std::array<int64_t, 3>> sizes) {
    for (const char *stored : {"f16", "bf16", "i8"}) {
      form.stored = stored;
      form.isRounded = isNextRounded = !isNextRounded;
      cases.push_back(attention(form, sizesOf(sizes)));
      if (form.isRounded)
        cases.back().tolerance = 1.6e-2;
    }
  }
  void runAll() { run(cases); }

  std::vector<KernelCase> cases;
  bool isNextRounded = false;
};

TEST_P(StoredAttention, EveryMask) {
  static constexpr const char *dead[] = {"zero", "uniform", "nan"};
  for (Form form : masks()) {
    form.dead = dead[cases.size() / 3 % 3];
    add(form, {{2, 5, 9},
               {1, 1, 1},
               {1, 70, 130},
               {3, 1, 75},
               {0, 3, 4},
               {2, 0, 3},
               {1, 3, 0},
               {1, 49, 64}});
  }
  runAll();
}

TEST_P(StoredAttention, StepsBehindAnyPast) {
  for (auto [heads, keyHeads, size] : {std::array<int64_t, 3>{1, 1, 64},
                                       {4, 4, 80},
                                       {6, 2, 128},
                                       {7, 1, 64}}) {
    Form form;
    form.heads = heads, form.keyHeads = keyHeads;
    form.depth = form.width = size;
    form.scale = 1 / std::sqrt(double(size));
    form.causal = form.keyMask = true;
    form.offset = "-1 * s + t";
    add(form, {{1, 1, 1}, {2, 1, 2}, {1, 3, 10}, {1, 1, 34}, {1, 1, 513}});
  }
  runAll();
}

TEST_P(StoredAttention, PiecesOfThePast) {
  for (auto [heads, keyHeads] : {std::pair(2, 2), {14, 2}}) {
    Form form;
    form.heads = heads, form.keyHeads = keyHeads;
    form.depth = form.width = 64;
    form.causal = true;
    form.offset = "-1 * s + t";
    add(form, {{1, 1, 1100}, {2, 3, 1600}, {1, 20, 1025}, {1, 60, 1100}});
  }
  runAll();
}

TEST_P(StoredAttention, AnyHeadSizes) {
  for (int64_t depth : {8, 16, 20, 33, 40, 256})
    for (int64_t width : {depth, depth % 3 ? int64_t(27) : int64_t(72)}) {
      Form form;
      form.depth = depth, form.width = width;
      form.scale = 1 / std::sqrt(double(depth));
      form.causal = true;
      add(form, {{1, 33, 33}, {2, 5, 70}});
    }
  runAll();
}

/// As products leave all three.
TEST_P(StoredAttention, QueriesToo) {
  auto add = [&](Form form, std::vector<std::array<int64_t, 3>> sizes) {
    form.isWidened = true;
    for (const char *narrow : {"bf16", "f16"}) {
      form.narrow = narrow;
      cases.push_back(attention(form, sizesOf(sizes)));
      if (form.narrow == "bf16")
        cases.back().tolerance = 1.6e-2;
    }
  };
  for (Form form : masks()) {
    form.depth = form.width = cases.size() % 4 ? 64 : 16;
    add(form, {{2, 5, 9},
               {1, 1, 1},
               {1, 70, 130},
               {2, 0, 3},
               {1, 3, 0},
               {1, 49, 64},
               {1, 60, 1100}});
  }
  for (int64_t depth : {8, 20, 33, 40, 80, 256})
    for (int64_t width : {depth, int64_t(27)}) {
      Form form;
      form.depth = depth, form.width = width;
      form.scale = 1 / std::sqrt(double(depth));
      form.causal = true;
      add(form, {{1, 33, 33}, {2, 5, 70}, {1, 1, 40}});
    }
  runAll();
}

INSTANTIATE_TEST_SUITE_P(Levels, StoredAttention,
                         testing::Values("x86-64-v3", "x86-64-v4",
                                         "x86-64-v4-bf16", expandedPairs,
                                         "x86-64-v4-amx", expandedAmx,
                                         "x86-64-v4-fp16", expandedF16),
                         nameOfLevel);

} // namespace
} // namespace tenon::test
