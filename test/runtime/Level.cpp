//===- Level.cpp - The best code that the CPU can run ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Level.h"
#include "test/runtime/TinyModels.h"

#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace tenon;
using namespace tenon::test;

namespace {
/// y = 3 at the low level, 4 at the high one.
ArtifactBuilder levelModel(uint64_t lowFeatures, uint64_t highFeatures) {
  ArtifactBuilder b;
  b.levels.clear();
  b.level("low", lowFeatures);
  b.level("high", highFeatures);
  uint32_t kernel = b.kernel("level_low");
  b.code[1] = b.address("level_high");
  b.output("y", TENON_I64, {});
  b.launch(
      {kernel, b.constant(1), {b.at(TENON_PLACE_OUTPUT, 0, b.constant(8))}});
  return b;
}

int64_t runIt(const Model &model) {
  Session session;
  EXPECT_EQ(Session::create(model, session), TENON_OK);
  tenon_tensor_t output = result();
  EXPECT_EQ(session.run({}, {&output, 1}), TENON_OK) << lastError();
  return *static_cast<int64_t *>(output.data);
}

constexpr uint64_t impossible = uint64_t(1) << 63;

TEST(Level, TheHighestThatRuns) {
  EXPECT_EQ(runIt(loadModel(levelModel(0, 0).build())), 4);
  Model low = loadModel(levelModel(0, impossible).build());
  EXPECT_EQ(runIt(low), 3);
  EXPECT_STREQ(low.info().level, "low");
  EXPECT_TRUE(low.level(0).runs_here && low.level(0).in_use);
  EXPECT_FALSE(low.level(1).runs_here || low.level(1).in_use);
}

TEST(Level, ItIsWhatTheCpuSays) {
  uint64_t features = runtime::machineFeatures();
  EXPECT_EQ(bool(features & TENON_CPU_AVX2),
            __builtin_cpu_supports("x86-64-v3") != 0);
  EXPECT_EQ(bool(features & TENON_CPU_AVX512),
            __builtin_cpu_supports("x86-64-v4") != 0);
  EXPECT_EQ(bool(features & TENON_CPU_AVX_VNNI),
            __builtin_cpu_supports("avxvnni") != 0);
  EXPECT_EQ(bool(features & TENON_CPU_AVX512_VNNI),
            __builtin_cpu_supports("avx512vnni") != 0);
  EXPECT_EQ(bool(features & TENON_CPU_AVX512_BF16),
            __builtin_cpu_supports("avx512bf16") != 0);
  EXPECT_EQ(bool(features & TENON_CPU_AVX512_FP16),
            __builtin_cpu_supports("avx512fp16") != 0);
  EXPECT_EQ(bool(features & TENON_CPU_AMX),
            __builtin_cpu_supports("amx-bf16") &&
                __builtin_cpu_supports("amx-int8"));
}

TEST(Level, SlowPairDotsAreTheLastChoice) {
  if (!(runtime::machineFeatures() & TENON_CPU_AVX512_BF16))
    GTEST_SKIP() << "this machine multiplies no pairs of bf16";
  Model both = loadModel(levelModel(0, TENON_CPU_AVX512_BF16).build());
  EXPECT_EQ(runIt(both),
            runtime::hasSlowPairDots(runtime::machineFeatures()) ? 3 : 4);
  EXPECT_TRUE(both.level(1).runs_here);
  // Where no other level runs, and where one is asked for.
  EXPECT_EQ(
      runIt(loadModel(levelModel(impossible, TENON_CPU_AVX512_BF16).build())),
      4);
  tenon_load_options_t options = {};
  options.struct_size = sizeof options;
  options.level = "high";
  Model forced;
  TemporaryFile file(levelModel(0, TENON_CPU_AVX512_BF16).build());
  ASSERT_EQ(Model::load(file.path(), forced, &options), TENON_OK);
  EXPECT_EQ(runIt(forced), 4);
}

TEST(Level, WaysOfTheCacheAreWhatTheSystemSays) {
  int64_t ways = runtime::cacheWays();
  EXPECT_GE(ways, 1);
  // 0 where the system does not know either.
  if (long known = sysconf(_SC_LEVEL1_DCACHE_ASSOC); known > 0)
    EXPECT_EQ(ways, known);
}

TEST(Level, AmxIsAskedFor) {
  if (!(runtime::machineFeatures() & TENON_CPU_AMX))
    GTEST_SKIP() << "this machine has no AMX";
  EXPECT_TRUE(runtime::requestAmx());
  EXPECT_TRUE(runtime::requestAmx()); // It may be asked again.
  EXPECT_EQ(runIt(loadModel(levelModel(0, TENON_CPU_AMX).build())), 4);
}

/// Linux refuses while a thread has an alternate signal stack that could not
/// hold the registers. In a process of its own: what is given stays given.
TEST(LevelDeathTest, AmxThatIsRefusedIsNotUsed) {
  if (!(runtime::machineFeatures() & TENON_CPU_AMX))
    GTEST_SKIP() << "this machine has no AMX";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        static char memory[8192];
        stack_t small = {};
        small.ss_sp = memory;
        small.ss_size = sizeof memory;
        sigaltstack(&small, nullptr);
        bool isLow =
            !runtime::requestAmx() &&
            runIt(loadModel(levelModel(0, TENON_CPU_AMX).build())) == 3;
        std::exit(isLow ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(Level, AnUnfitCpuIsRefused) {
  loadModel(levelModel(impossible, impossible).build(), TENON_UNSUPPORTED);
  EXPECT_NE(lastError().find("this CPU lacks"), std::string_view::npos)
      << lastError();
}

TEST(Level, OneCanBeForced) {
  tenon_load_options_t options = {};
  options.struct_size = sizeof options;
  Model model;
  TemporaryFile both(levelModel(0, 0).build());
  options.level = "low";
  ASSERT_EQ(Model::load(both.path(), model, &options), TENON_OK);
  EXPECT_EQ(runIt(model), 3);
  options.level = "middle";
  EXPECT_EQ(Model::load(both.path(), model, &options), TENON_NOT_FOUND);
  TemporaryFile future(levelModel(0, impossible).build());
  options.level = "high";
  EXPECT_EQ(Model::load(future.path(), model, &options), TENON_UNSUPPORTED);
  EXPECT_FALSE(model);
}
} // namespace
