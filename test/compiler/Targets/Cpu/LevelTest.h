//===- LevelTest.h - Suites of kernels for each level of CPU --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_COMPILER_TARGETS_CPU_LEVELTEST_H
#define TENON_TEST_COMPILER_TARGETS_CPU_LEVELTEST_H

#include "test/compiler/Targets/Cpu/KernelTest.h"
#include <gtest/gtest.h>

namespace tenon::test {

/// Runs kernels compiled for the level that is the parameter. On a machine that
/// lacks it the tests say that they were skipped.
class LevelTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (!canRun(GetParam()))
      GTEST_SKIP() << "this machine is not a " << GetParam();
  }
  void run(const std::vector<KernelCase> &cases) {
    runCases(cases, GetParam());
  }
};

} // namespace tenon::test

/// A suite of LevelTest for all levels.
#define TENON_FOR_ALL_LEVELS(suite)                                            \
  INSTANTIATE_TEST_SUITE_P(                                                    \
      Levels, suite, testing::Values("x86-64-v3", "x86-64-v4"),                \
      [](const auto &info) { return std::string(info.param).substr(7); })

#endif // TENON_TEST_COMPILER_TARGETS_CPU_LEVELTEST_H
