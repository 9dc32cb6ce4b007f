//===- FewMapsConvTest.cpp - Convolutions to a few maps -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/ConvCase.h"
#include "test/compiler/Targets/Cpu/LevelTest.h"

namespace tenon::test {
namespace {

class FewMapsConv : public LevelTest {
protected:
  /// Of images n, h.. of these sizes.
  static KernelCase conv(int64_t channels, int64_t maps, const Numbers &taps,
                         const Sliding &sliding,
                         const std::vector<Numbers> &images,
                         const Behind &behind = {}) {
    AnyConv any = AnyConv::of(channels, 1, maps, taps, sliding);
    KernelCase test = convCase("FewMapsConv", sliding, any.input, any.filter,
                               any.result, behind);
    test.sizes = sizesOf(images);
    return test;
  }
};

const Sliding whole = {{1, 1}, {1, 1}, {1, 1, 1, 1}};

// Lines of one pixel and more, that fill tiles and do not.
const std::vector<Numbers> images = {{1, 1, 1},  {1, 7, 7},  {3, 5, 9},
                                     {0, 5, 5},  {1, 13, 2}, {2, 2, 12},
                                     {1, 4, 18}, {1, 3, 41}, {2, 33, 23}};

TEST_P(FewMapsConv, TakesAnyNumberOfChannels) {
  std::vector<KernelCase> cases;
  for (int64_t channels : {8, 9, 15, 16, 17, 24, 32, 50})
    for (int64_t maps : {1, 2, 3, 4})
      cases.push_back(conv(channels, maps, {3, 3}, whole, images));
  for (int64_t maps : {5, 6, 7, 8})
    for (int64_t channels : {12, 32, 41})
      cases.push_back(conv(channels, maps, {3, 3}, whole, images));
  run(cases);
}

TEST_P(FewMapsConv, TakesAnyWindow) {
  std::vector<KernelCase> cases;
  for (int64_t channels : {16, 19})
    for (int64_t maps : {1, 3}) {
      auto add = [&](const Numbers &taps, const Sliding &sliding) {
        cases.push_back(conv(channels, maps, taps, sliding, images));
      };
      add({1, 1}, {{1, 1}, {1, 1}, {0, 0, 0, 0}});
      add({1, 1}, {{2, 3}, {1, 1}, {0, 0, 0, 0}});
      add({1, 1}, {{1, 1}, {1, 1}, {1, 0, 2, 1}});
      add({9, 9}, {{1, 1}, {1, 1}, {4, 4, 4, 4}});
      add({7, 7}, {{2, 2}, {1, 1}, {3, 3, 3, 3}});
      add({3, 3}, {{3, 1}, {1, 1}, {0, 2, 2, 1}});
      add({3, 3}, {{1, 1}, {2, 2}, {2, 2, 2, 2}});
      add({3, 2}, {{2, 1}, {1, 2}, {4, 0, 1, 2}});
      add({3, 3}, {{1, 1}, {1, 1}, {-1, 3, 3, 0}});
    }
  run(cases);
}

TEST_P(FewMapsConv, TakesOneAxisOrThree) {
  run({conv(17, 1, {3}, {{1}, {1}, {1, 1}}, {{1, 1}, {2, 30}, {1, 200}}),
       conv(20, 2, {3}, {{2}, {1}, {1, 1}}, {{1, 1}, {2, 31}, {0, 9}}),
       conv(20, 3, {4}, {{1}, {3}, {9, 0}}, {{1, 5}, {2, 30}}),
       conv(9, 2, {2, 3, 2}, {{1, 2, 1}, {1, 1, 2}, {0, 1, 1, 1, 0, 1}},
            {{1, 3, 5, 4}, {2, 2, 4, 6}, {1, 4, 3, 40}})});
}

TEST_P(FewMapsConv, RunsWhatFollows) {
  // Errors are measured by the largest result: of one alone, in the tail of a
  // GELU, they would be large.
  std::vector<Numbers> several(images.begin() + 1, images.end());
  std::vector<KernelCase> cases;
  for (int64_t maps : {1, 3})
    for (const Behind &behind : commonEpilogues(maps))
      cases.push_back(conv(24, maps, {3, 3}, whole, several, behind));
  for (std::string element : {"f16", "bf16", "f64"})
    cases.push_back(conv(24, 3, {3, 3}, whole, several,
                         castTo(element, {"n", "h0", "h1", "3"})));
  run(cases);
}

TENON_FOR_ALL_LEVELS(FewMapsConv);

} // namespace
} // namespace tenon::test
