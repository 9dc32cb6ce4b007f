//===- PoolRowsTest.cpp - Pools, by vectors -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/ConvCase.h"
#include "test/compiler/Targets/Cpu/LevelTest.h"

namespace tenon::test {
namespace {

/// How windows go over an image; `grid` are the spatial sizes of the result.
struct Pool {
  Numbers kernel, strides, dilations, pads;
  Dims image, grid;
};

std::string listed(const Numbers &numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

const std::vector<std::string> kinds = {"max_pool {",
                                        "average_pool {count_pads = true, ",
                                        "average_pool {count_pads = false, "};

KernelCase poolCase(const std::string &kind, const Pool &pool,
                    const std::string &channels, bool channelsLast,
                    std::vector<Symbols> sizes = {{}},
                    const std::string &element = "f32") {
  Dims from = {"2"}, to = {"2"};
  if (!channelsLast) {
    from.push_back(channels);
    to.push_back(channels);
  }
  from.insert(from.end(), pool.image.begin(), pool.image.end());
  to.insert(to.end(), pool.grid.begin(), pool.grid.end());
  if (channelsLast) {
    from.push_back(channels);
    to.push_back(channels);
  }
  KernelCase test =
      one(kind.substr(0, kind.find(' ')),
          kind.substr(kind.find('{')) +
              "kernel = array<i64: " + listed(pool.kernel) +
              ">, strides = array<i64: " + listed(pool.strides) +
              ">, dilations = array<i64: " + listed(pool.dilations) +
              ">, pads = #graph.dims<" + listed(pool.pads) + ">" +
              (channelsLast ? ", channels_last}" : "}"),
          {tensor(from, element)}, {tensor(to, element)}, std::move(sizes));
  test.schedule = "PoolRows";
  test.name += " " + kind + listed(pool.kernel);
  return test;
}

class PoolRows : public LevelTest {};

TEST_P(PoolRows, TakesAnyNumberOfChannels) {
  Pool pool = {{3, 2},       {2, 1},     {1, 2},
               {1, 1, 1, 0}, {"7", "w"}, {"4", "w + -1"}};
  std::vector<KernelCase> cases;
  for (const std::string &kind : kinds)
    for (std::string channels : {"2", "8", "16", "47", "64", "70", "192"})
      cases.push_back(
          poolCase(kind, pool, channels, true, {{{"w", 21}}, {{"w", 2}}}));
  run(cases);
}

TEST_P(PoolRows, TakesLinesOfAnyLength) {
  Pool pool = {{3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, {"5", "w"}, {"5", "w"}};
  std::vector<KernelCase> cases;
  for (const std::string &kind : kinds) {
    std::vector<Symbols> sizes;
    for (int64_t w : {0, 1, 2, 7, 15, 16, 17, 33, 70})
      sizes.push_back({{"w", w}});
    cases.push_back(poolCase(kind, pool, "3", false, sizes));
    for (std::string w : {"2", "7", "14", "16", "56", "100"}) {
      Pool fixed = pool;
      fixed.image.back() = fixed.grid.back() = w;
      cases.push_back(poolCase(kind, fixed, "3", false));
    }
  }
  run(cases);
}

TEST_P(PoolRows, TakesAnyWindow) {
  std::vector<Pool> pools = {
      {{2, 2}, {2, 1}, {1, 1}, {0, 0, 0, 0}, {"8", "20"}, {"4", "19"}},
      {{3, 5}, {3, 1}, {2, 3}, {2, 4, 3, 5}, {"9", "30"}, {"4", "27"}},
      // Beyond the padded image, as sizes that were rounded up leave it.
      {{3, 3}, {2, 1}, {1, 1}, {1, 1, 1, 1}, {"6", "9"}, {"4", "10"}},
      {{1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, {"5", "19"}, {"5", "19"}},
      // Windows that hold nothing of the image.
      {{2, 2}, {1, 1}, {1, 1}, {3, 3, 3, 20}, {"2", "3"}, {"7", "25"}},
      {{4}, {1}, {1}, {2, 1}, {"40"}, {"40"}},
      // Lines of which elements lie any distance apart.
      {{3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, {"9", "75"}, {"5", "38"}},
      {{2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {"8", "33"}, {"4", "16"}},
      {{2, 3}, {1, 2}, {1, 3}, {0, 2, 1, 5}, {"4", "40"}, {"4", "21"}},
      {{4}, {4}, {1}, {0, 0}, {"164"}, {"41"}},
      {{5}, {4}, {2}, {3, 3}, {"99"}, {"25"}},
      {{3}, {3}, {1}, {0, 1}, {"50"}, {"17"}},
      {{2, 16}, {1, 8}, {1, 1}, {0, 4, 0, 4}, {"3", "120"}, {"2", "15"}},
      {{20}, {1}, {1}, {9, 10}, {"90"}, {"90"}},
      {{17}, {5}, {3}, {0, 0}, {"120"}, {"15"}},
      {{2, 3, 2},
       {2, 1, 1},
       {1, 1, 1},
       {0, 1, 1, 0, 1, 0},
       {"4", "5", "18"},
       {"2", "5", "18"}}};
  std::vector<KernelCase> cases;
  for (const std::string &kind : kinds)
    for (const Pool &pool : pools)
      for (bool channelsLast : {false, true})
        cases.push_back(poolCase(kind, pool, "18", channelsLast));
  // Gaps between windows; and windows of which lines are joined first.
  Pool gaps = {{3}, {6}, {2}, {2, 3}, {"31"}, {"6"}},
       large = {{2, 40},      {2, 40},      {1, 1},
                {0, 0, 0, 0}, {"4", "200"}, {"2", "5"}};
  for (const std::string &kind : kinds) {
    cases.push_back(poolCase(kind, gaps, "18", true));
    cases.push_back(poolCase(kind, large, "18", false));
  }
  run(cases);
}

TEST_P(PoolRows, TakesLinesOfOpenLength) {
  Pool pool = {{3, 3},       {2, 2},         {1, 1},
               {1, 1, 1, 0}, {"5", "2 * w"}, {"3", "w"}};
  std::vector<Symbols> sizes;
  for (int64_t w : {0, 1, 2, 7, 8, 15, 16, 17, 33, 70})
    sizes.push_back({{"w", w}});
  std::vector<KernelCase> cases;
  for (const std::string &kind : kinds)
    cases.push_back(poolCase(kind, pool, "3", false, sizes));
  run(cases);
}

TEST_P(PoolRows, TakesShortAndSpecialFloats) {
  Pool pool = {{3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, {"4", "20"}, {"4", "20"}};
  std::vector<KernelCase> cases;
  for (const std::string &kind : kinds)
    for (bool channelsLast : {false, true}) {
      for (std::string element : {"f16", "bf16"})
        cases.push_back(
            poolCase(kind, pool, "21", channelsLast, {{}}, element));
      if (kind[0] != 'm')
        continue;
      cases.push_back(poolCase(kind, pool, "21", channelsLast));
      cases.back().values = {{-4, 4, /*special=*/true}};
    }
  run(cases);
}

TEST_P(PoolRows, RunsWhatFollows) {
  std::vector<KernelCase> cases;
  Pool pool = {{3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, {"5", "w"}, {"5", "w"}};
  for (bool channelsLast : {false, true}) {
    KernelCase test = poolCase(kinds[2], pool, "20", channelsLast,
                               {{{"w", 14}}, {{"w", 37}}});
    Dims dims =
        channelsLast ? Dims{"2", "5", "w", "20"} : Dims{"2", "20", "5", "w"};
    std::string y = tensor(dims, "f32"),
                s = tensor(channelsLast ? Dims{"20"} : Dims{"20", "1", "1"},
                           "f32");
    std::string op = test.body.substr(test.body.find("graph.average_pool"));
    op = op.substr(0, op.find('\n'));
    test.arguments += ", %b: " + s + ", %c: " + y;
    test.body = "%p = " + op + "\n%d = graph.sub %p, %a : (" + y + ", " + y +
                ") -> " + y + "\n%m = graph.mul %d, %b : (" + y + ", " + s +
                ") -> " + y + "\n%r = graph.add %c, %m : (" + y + ", " + y +
                ") -> " + y + "\nkernel.yield %r : " + y;
    cases.push_back(test);
  }
  run(cases);
}

TENON_FOR_ALL_LEVELS(PoolRows);

} // namespace
} // namespace tenon::test
