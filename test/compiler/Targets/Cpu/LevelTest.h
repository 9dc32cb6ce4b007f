//===- LevelTest.h - Suites of kernels for each level of CPU --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_COMPILER_TARGETS_CPU_LEVELTEST_H
#define TENON_TEST_COMPILER_TARGETS_CPU_LEVELTEST_H

#include "test/compiler/Targets/Cpu/KernelTest.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

namespace tenon::test {

/// Runs kernels compiled for the level that is the parameter. On a machine that
/// lacks it the tests say that they were skipped; so do those of an expanded
/// level where its instructions are.
class LevelTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (!canRun(GetParam()))
      GTEST_SKIP() << "this machine is not a " << GetParam();
    std::string_view level = GetParam();
    const char *native = level == expandedPairs ? "x86-64-v4-bf16"
                         : level == expandedAmx ? "x86-64-v4-amx"
                         : level == expandedF16 ? "x86-64-v4-fp16"
                                                : nullptr;
    if (native && canRun(native))
      GTEST_SKIP() << "this machine is a " << native;
  }
  void run(const std::vector<KernelCase> &cases) {
    runCases(cases, GetParam());
  }
};

/// "v4_bf16" of x86-64-v4-bf16, for the names of tests.
inline std::string
nameOfLevel(const testing::TestParamInfo<const char *> &info) {
  std::string name = std::string(info.param).substr(7);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

} // namespace tenon::test

/// A suite of LevelTest for all levels.
#define TENON_FOR_ALL_LEVELS(suite)                                            \
  INSTANTIATE_TEST_SUITE_P(Levels, suite,                                      \
                           testing::Values("x86-64-v3", "x86-64-v4"),          \
                           tenon::test::nameOfLevel)

/// Of kernels that may meet pairs of bf16, for all levels and those that
/// multiply such.
#define TENON_FOR_LEVELS_OF_PAIRS(suite)                                       \
  INSTANTIATE_TEST_SUITE_P(                                                    \
      Levels, suite,                                                           \
      testing::Values("x86-64-v3", "x86-64-v4", "x86-64-v4-bf16",              \
                      tenon::test::expandedPairs, "x86-64-v4-amx",             \
                      tenon::test::expandedAmx),                               \
      tenon::test::nameOfLevel)

/// Of kernels that may add up in f16, for levels that do, some of which
/// multiply pairs of bf16 as such.
#define TENON_FOR_LEVELS_OF_F16(suite)                                         \
  INSTANTIATE_TEST_SUITE_P(                                                    \
      LevelsOfF16, suite,                                                      \
      testing::Values("x86-64-v4-fp16", tenon::test::expandedF16,              \
                      "x86-64-v4-amx", tenon::test::expandedAmx),              \
      tenon::test::nameOfLevel)

#endif // TENON_TEST_COMPILER_TARGETS_CPU_LEVELTEST_H
