//===- AttentionTilesTest.cpp - Attention by tiles on devices -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/AttentionForms.h"
#include <cmath>
#include <gtest/gtest.h>

namespace tenon::test {
namespace {

using Sizes = std::vector<std::array<int64_t, 3>>;

/// By all schedules: f32, and bf16 that is widened, whose weights are rounded
/// to bf16 for the second product, by tiles of 64 queries and of 128.
std::vector<KernelCase> each(Form form, const Sizes &sizes) {
  form.schedule = "AttentionSimt";
  std::vector<KernelCase> cases = {attention(form, sizesOf(sizes))};
  form.isWidened = true;
  for (std::string schedule : {"AttentionMma", "AttentionMmaTall"}) {
    if (schedule == "AttentionMmaTall" &&
        std::max(form.depth, form.width) > 128)
      continue;
    form.schedule = schedule;
    cases.push_back(attention(form, sizesOf(sizes)));
    cases.back().tolerance = 8e-3;
  }
  return cases;
}

void runEach(const std::vector<Form> &forms, const Sizes &sizes) {
  std::vector<KernelCase> cases;
  for (const Form &form : forms)
    for (KernelCase &test : each(form, sizes))
      cases.push_back(std::move(test));
  runCases(cases);
}

/// By one of them each, in turn: what a mask does is the same code for all.
void runInTurn(const std::vector<Form> &forms, const Sizes &sizes) {
  std::vector<KernelCase> cases;
  for (const Form &form : forms) {
    std::vector<KernelCase> all = each(form, sizes);
    cases.push_back(std::move(all[cases.size() % all.size()]));
  }
  runCases(cases);
}

Form ofHeads(int64_t depth, int64_t width) {
  Form form;
  form.heads = form.keyHeads = 1;
  form.depth = depth, form.width = width;
  form.scale = 1 / std::sqrt(double(depth));
  return form;
}

TEST(AttentionTiles, EveryMask) {
  static constexpr const char *dead[] = {"zero", "uniform", "nan"};
  std::vector<Form> forms = masks();
  for (size_t i = 0; i < forms.size(); ++i)
    forms[i].dead = dead[i % 3];
  runInTurn(forms, {{2, 5, 9}, {1, 66, 70}, {1, 3, 0}});
}

/// Queries in front of all keys, and masks that are by chance all false.
TEST(AttentionTiles, RowsOfNoKeys) {
  std::vector<Form> forms;
  for (std::string dead : {"zero", "uniform", "nan"}) {
    Form &form = forms.emplace_back(ofHeads(16, 16));
    form.dead = dead;
    form.causal = form.keyMask = true;
    form.offset = "-3";
  }
  runInTurn(forms, {{9, 3, 2}, {1, 40, 60}, {2, 4, 0}});
}

TEST(AttentionTiles, HeadSizes) {
  std::vector<Form> forms;
  for (auto [depth, width] : {std::pair(8, 8), {64, 64}, {80, 96}, {128, 128}})
    forms.push_back(ofHeads(depth, width));
  forms.push_back(ofHeads(256, 256));
  for (Form &form : forms)
    form.causal = true;
  runEach(forms, {{1, 33, 70}});
}

/// Rows begin at multiples of 8, 4 and 2 bytes.
TEST(AttentionTiles, NarrowCopies) {
  runEach({ofHeads(20, 12), ofHeads(18, 9), ofHeads(27, 42)},
          {{2, 5, 40}, {1, 1, 3}});
}

TEST(AttentionTiles, HeadsShareKeys) {
  std::vector<Form> forms;
  for (auto [heads, keyHeads] : {std::pair(6, 2), {7, 1}}) {
    Form &form = forms.emplace_back();
    form.heads = heads, form.keyHeads = keyHeads;
    form.causal = form.offsets = true;
    form.window = heads == 7 ? 9 : 0;
    form.dead = "uniform";
    form.biases = {{"2", std::to_string(heads), "s", "t"}};
  }
  runEach(forms, {{2, 1, 70}, {2, 20, 30}});
}

/// Few queries and many keys, which several blocks share.
TEST(AttentionTiles, PiecesOfThePast) {
  static constexpr const char *dead[] = {"zero", "uniform", "nan"};
  std::vector<Form> forms;
  for (auto [heads, keyHeads] : {std::pair(1, 1), {7, 1}, {4, 2}}) {
    Form &form = forms.emplace_back(ofHeads(16, 24));
    form.heads = heads, form.keyHeads = keyHeads;
    form.dead = dead[forms.size() % 3];
    form.causal = true;
    form.keyMask = heads == 7;
    form.offset = "-1 * s + t";
  }
  // Queries in front of all keys.
  for (std::string each : dead) {
    Form &form = forms.emplace_back(ofHeads(8, 8));
    form.dead = each;
    form.causal = form.offsets = true;
    form.offset = "-300";
  }
  runInTurn(forms, {{1, 1, 555}, {1, 3, 300}});
}

/// The result in 16 bits, positions in front of heads, as products read it.
void storeForProducts(KernelCase &test, const Form &form) {
  auto type = [&](const char *first, const char *second,
                  const std::string &element) {
    return tensor({form.batch, first, second, std::to_string(form.width)},
                  element);
  };
  std::string heads = std::to_string(form.heads);
  std::string seen = type(heads.c_str(), "s", "f32");
  std::string narrow = type(heads.c_str(), "s", form.narrow);
  std::string turned = type("s", heads.c_str(), form.narrow);
  test.body.resize(test.body.find("kernel.yield"));
  test.body += "%n = graph.cast %r#0 : (" + seen + ") -> " + narrow +
               "\n%t = graph.transpose %n {permutation = array<i64: 0, 2, 1, "
               "3>} : (" +
               narrow + ") -> " + turned + "\nkernel.yield %t : " + turned;
}

/// A step or a prompt behind a past: 14 heads share two of keys.
Form behindPast(Form form, int64_t heads, const std::string &narrow) {
  form.heads = heads, form.keyHeads = heads == 14 ? 2 : 1;
  form.causal = true;
  form.offset = "-1 * s + t";
  form.schedule = narrow.empty() ? "AttentionSimt" : "AttentionMma";
  form.isWidened = form.isCache = !narrow.empty();
  if (!narrow.empty())
    form.narrow = narrow;
  return form;
}

KernelCase cacheCase(const Form &form, const Sizes &sizes) {
  KernelCase test = attention(form, sizesOf(sizes));
  if (form.isCache)
    test.tolerance = form.narrow == "f16" ? 1e-3 : 8e-3;
  if (form.isCache && form.heads == 14)
    storeForProducts(test, form);
  return test;
}

Form maskedHeads() {
  Form form = ofHeads(20, 16);
  form.keyMask = true, form.dead = "uniform";
  form.biases = {{"1", "1", "s", "t"}};
  form.window = 50;
  return form;
}

/// Keys and values of f32, which are rounded on the way, of head sizes that
/// begin at multiples of 16, 8 and 4 bytes; shared by heads, in pieces, all for
/// one query or many.
TEST(AttentionTiles, Caches) {
  std::vector<KernelCase> cases;
  auto add = [&](const Form &form, int64_t heads, const std::string &narrow,
                 const Sizes &sizes) {
    cases.push_back(cacheCase(behindPast(form, heads, narrow), sizes));
  };
  add(ofHeads(64, 64), 14, "bf16", {{1, 1, 300}, {2, 9, 70}});
  add(ofHeads(64, 64), 1, "f16", {{1, 70, 130}, {1, 1, 0}});
  add(ofHeads(128, 96), 1, "bf16", {{2, 1, 33}, {1, 66, 67}});
  add(ofHeads(256, 256), 1, "f16", {{1, 3, 40}});
  add(ofHeads(18, 9), 2, "bf16", {{1, 2, 300}});
  add(maskedHeads(), 1, "bf16", {{2, 5, 90}});
  runCases(cases);
}

/// Keys and values of bytes with a scale for each row, which are multiplied in
/// 16 bits and in f32, of head sizes that begin at multiples of 16, 8, 4, 2 and
/// 1 bytes.
TEST(AttentionTiles, CachesOfBytes) {
  std::vector<KernelCase> cases;
  auto add = [&](Form form, int64_t heads, const std::string &narrow,
                 const Sizes &sizes) {
    form.stored = "i8";
    cases.push_back(cacheCase(behindPast(form, heads, narrow), sizes));
  };
  for (std::string narrow : {"", "bf16"}) {
    add(ofHeads(64, 64), 14, narrow, {{1, 1, 300}, {2, 9, 70}});
    add(ofHeads(128, 96), 1, narrow, {{2, 1, 33}, {1, 66, 67}});
    add(maskedHeads(), 1, narrow, {{2, 5, 90}});
  }
  add(ofHeads(64, 64), 1, "f16", {{1, 70, 130}, {1, 1, 0}});
  add(ofHeads(256, 256), 1, "f16", {{1, 3, 40}});
  add(ofHeads(256, 256), 1, "", {{1, 3, 40}});
  add(ofHeads(18, 9), 2, "bf16", {{1, 2, 300}});
  add(ofHeads(9, 18), 2, "", {{1, 2, 70}});
  runCases(cases);
}

TEST(AttentionRows, MasksAndPieces) {
  std::vector<KernelCase> cases;
  auto add = [&](Form form, const Sizes &sizes) {
    form.schedule = "AttentionRows";
    form.causal = true;
    cases.push_back(attention(form, sizesOf(sizes)));
  };
  Form form = ofHeads(64, 64);
  form.heads = 7;
  form.keyMask = true, form.dead = "uniform";
  form.offset = "-1 * s + t";
  add(form, {{1, 1, 300}, {2, 3, 70}});
  form = ofHeads(20, 128);
  form.window = 40;
  form.biases = {{"1", "1", "s", "t"}};
  add(form, {{1, 8, 100}, {1, 2, 0}});
  add(ofHeads(256, 200), {{1, 5, 33}});
  form = ofHeads(80, 64);
  form.stored = "i8";
  add(form, {{1, 1, 300}, {2, 8, 70}});
  runCases(cases);
}

TEST(AttentionTiles, InfinitiesAndNaN) {
  std::vector<KernelCase> cases;
  Form form = ofHeads(16, 16);
  form.biases = {{"1", "1", "s", "t"}};
  for (bool masked : {false, true}) {
    form.keyMask = masked;
    for (KernelCase &test : each(form, {{1, 70, 70}, {1, 2, 300}})) {
      // Lines of -infinity and of the lowest number are whole dead rows.
      test.values.back() = {-1, 1, /*special=*/true};
      cases.push_back(std::move(test));
    }
  }
  runCases(cases);
}

/// Of 128 queries, two fragments of each warp: all, some and none of them
/// there.
TEST(AttentionTiles, TallTiles) {
  std::vector<KernelCase> cases;
  for (bool causal : {false, true}) {
    Form form = ofHeads(causal ? 80 : 64, 64);
    form.schedule = "AttentionMmaTall";
    form.isWidened = true;
    form.causal = causal;
    cases.push_back(
        attention(form, sizesOf({{1, 128, 64}, {1, 145, 70}, {2, 50, 130}})));
    cases.back().tolerance = 8e-3;
  }
  runCases(cases);
}

TEST(AttentionTiles, OperandsOf16Bits) {
  std::vector<KernelCase> cases;
  for (std::string element : {"f16", "bf16"}) {
    Form form;
    form.schedule = "AttentionMma";
    form.element = element;
    form.causal = true;
    form.biases = {{"1", "2", "s", "t"}};
    cases.push_back(attention(form, sizesOf({{1, 70, 70}})));
    cases.back().tolerance = element == "bf16" ? 1.6e-2 : 2e-3;
  }
  runCases(cases);
}

} // namespace
} // namespace tenon::test
