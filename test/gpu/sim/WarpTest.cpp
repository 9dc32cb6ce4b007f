//===- WarpTest.cpp - Control flow, memory and exchanges of warps ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/TestKernels.h"

#include <bit>
#include <numeric>

using namespace tenon::sim;

namespace {

/// %t: the thread; the result %r0 goes to p0[%t].
std::vector<uint32_t> runBody(const std::string &body, uint32_t threads,
                              const std::string &before = "") {
  TestRun run(before + entry("k", 1,
                             "  .reg .b64 %q<4>;\n  .reg .b32 %t, %r<8>;\n"
                             "  .reg .pred %p<4>;\n  mov.u32 %t, %tid.x;\n" +
                                 body +
                                 "  ld.param.u64 %q0, [p0];\n"
                                 "  mad.wide.u32 %q0, %t, 4, %q0;\n"
                                 "  st.global.u32 [%q0], %r0;\n"));
  uint64_t out = run.memory.allocate(threads * 4);
  EXPECT_EQ(run({out}, threads), "");
  return run.download<uint32_t>(out, threads);
}

TEST(Warps, Shuffles) {
  auto butterfly =
      runBody("  shfl.sync.bfly.b32 %r0|%p0, %t, 5, 31, 0xffffffff;\n", 32);
  auto up = runBody("  shfl.sync.up.b32 %r0|%p0, %t, 3, 0, -1;\n"
                    "  @!%p0 mov.b32 %r0, 99;\n",
                    32);
  auto down = runBody("  shfl.sync.down.b32 %r0, %t, 4, 0x181f, -1;\n", 32);
  auto index = runBody("  shfl.sync.idx.b32 %r0, %t, 2, 0x181f, -1;\n", 32);
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(butterfly[t], t ^ 5);
    EXPECT_EQ(up[t], t < 3 ? 99 : t - 3);
    EXPECT_EQ(down[t], t % 8 < 4 ? t + 4 : t); // Segments of eight.
    EXPECT_EQ(index[t], t / 8 * 8 + 2);
  }
}

TEST(Warps, Votes) {
  auto ballot = runBody("  setp.gt.u32 %p0, %t, 20;\n"
                        "  vote.sync.ballot.b32 %r0, %p0, -1;\n",
                        32);
  auto any = runBody("  setp.eq.u32 %p0, %t, 20;\n"
                     "  vote.sync.any.pred %p1, %p0, -1;\n"
                     "  selp.u32 %r0, 1, 0, %p1;\n",
                     64);
  auto sum = runBody("  redux.sync.add.s32 %r0, %t, -1;\n", 32);
  auto least = runBody("  xor.b32 %r1, %t, -1;\n"
                       "  redux.sync.min.u32 %r0, %r1, -1;\n",
                       32);
  auto same = runBody("  and.b32 %r1, %t, 3;\n"
                      "  match.any.sync.b32 %r0, %r1, -1;\n",
                      32);
  EXPECT_EQ(ballot[7], 0xffe00000u);
  EXPECT_EQ(any[5], 1u);
  EXPECT_EQ(any[40], 0u);
  EXPECT_EQ(sum[9], 31 * 16u);
  EXPECT_EQ(least[0], ~31u);
  EXPECT_EQ(same[6], 0x44444444u);
}

/// Lanes that part at a branch meet again for the shuffle behind it.
TEST(Warps, Divergence) {
  auto result = runBody("  mov.u32 %r1, 0;\n  mov.u32 %r2, 0;\n"
                        "  and.b32 %r3, %t, 7;\nloop:\n"
                        "  setp.ge.u32 %p0, %r2, %r3;\n  @%p0 bra done;\n"
                        "  add.u32 %r1, %r1, %r2;\n  add.u32 %r2, %r2, 1;\n"
                        "  bra.uni loop;\ndone:\n"
                        "  shfl.sync.bfly.b32 %r0, %r1, 1, 31, -1;\n",
                        64);
  for (uint32_t t = 0; t < 64; ++t) {
    uint32_t n = (t ^ 1) & 7;
    EXPECT_EQ(result[t], n * (n - 1) / 2);
  }
}

TEST(Warps, IndexedBranch) {
  auto result = runBody("  and.b32 %r1, %t, 3;\n"
                        "targets: .branchtargets a, b, c, b;\n"
                        "  brx.idx %r1, targets;\n"
                        "a:\n  mov.u32 %r0, 10;\n  bra.uni done;\n"
                        "b:\n  mov.u32 %r0, 20;\n  bra.uni done;\n"
                        "c:\n  mov.u32 %r0, 30;\ndone:\n",
                        32);
  for (uint32_t t = 0; t < 32; ++t)
    EXPECT_EQ(result[t], (t % 4 == 0 ? 10u : t % 4 == 2 ? 30u : 20u));
}

TEST(Warps, Calls) {
  auto result = runBody(
      "  {\n  .param .b32 x;\n  .param .b32 y;\n  st.param.b32 [x], %t;\n"
      "  call.uni (y), twice, (x);\n  ld.param.b32 %r0, [y];\n  }\n"
      "  {\n  .param .b32 x;\n  .param .b32 y;\n  st.param.b32 [x], %r0;\n"
      "  call.uni (y), twice, (x);\n  ld.param.b32 %r0, [y];\n  }\n",
      32,
      ".func (.param .b32 out) twice(.param .b32 in)\n{\n"
      "  .reg .b32 %r<2>;\n  .reg .pred %p;\n  ld.param.b32 %r0, [in];\n"
      "  setp.eq.u32 %p, %r0, 5;\n  @%p bra five;\n"
      "  add.u32 %r1, %r0, %r0;\n  st.param.b32 [out], %r1;\n  ret;\n"
      "five:\n  st.param.b32 [out], %r0;\n  ret;\n}\n");
  for (uint32_t t = 0; t < 32; ++t)
    EXPECT_EQ(result[t], t == 5 ? 5 : t * 4);
}

TEST(Warps, Atomics) {
  const char *before = ".shared .align 8 .b8 words[64];\n";
  const char *clear = "  setp.eq.u32 %p0, %t, 0;\n"
                      "  @%p0 st.shared.u32 [words], 5;\n  bar.sync 0;\n";
  auto result = [&](const std::string &change) {
    return runBody(clear + change +
                       "  bar.sync 0;\n"
                       "  ld.shared.u32 %r0, [words];\n",
                   64, before)[33];
  };
  EXPECT_EQ(result("  atom.shared.add.u32 %r1, [words], %t;\n"), 5 + 63 * 32u);
  EXPECT_EQ(result("  red.shared.max.s32 [words], %t;\n"), 63u);
  EXPECT_EQ(result("  red.shared.or.b32 [words], %t;\n"), 63u);
  EXPECT_EQ(result("  atom.shared.exch.b32 %r1, [words], 8;\n"), 8u);
  EXPECT_EQ(result("  atom.shared.cas.b32 %r1, [words], 5, 77;\n"), 77u);
  EXPECT_EQ(result("  atom.shared.inc.u32 %r1, [words], 6;\n"), 6u);
  EXPECT_EQ(std::bit_cast<float>(result(
                "  @%p0 st.shared.f32 [words], 0f3F800000;\n  bar.sync 0;\n"
                "  atom.shared.add.f32 %r1, [words], 0f3F000000;\n")),
            33.0f);
}

TEST(Warps, NamedBarriers) {
  // The second warp only announces; the first waits for it.
  auto result = runBody("  setp.lt.u32 %p0, %t, 32;\n  @%p0 bra first;\n"
                        "  st.shared.u32 [words], 42;\n"
                        "  bar.arrive 3, 64;\n  mov.u32 %r0, 1;\n"
                        "  bra.uni done;\nfirst:\n  bar.sync 3, 64;\n"
                        "  ld.shared.u32 %r0, [words];\ndone:\n",
                        64, ".shared .align 8 .b8 words[64];\n");
  EXPECT_EQ(result[0], 42u);
  EXPECT_EQ(result[63], 1u);
  auto votes = runBody("  setp.gt.u32 %p0, %t, 60;\n"
                       "  barrier.red.popc.aligned.u32 %r0, 0, %p0;\n",
                       96);
  EXPECT_EQ(votes[17], 35u);
}

/// Static, dynamic and generic addresses of shared memory; .global variables.
TEST(Warps, Variables) {
  TestRun run(".extern .shared .align 16 .b8 more[];\n"
              ".shared .align 4 .b8 some[12];\n"
              ".global .align 4 .u32 numbers[3] = {7, 8, 9};\n"
              ".global .align 8 .u64 where = generic(numbers)+4;\n" +
              entry("k", 1,
                    "  .reg .b64 %q<6>;\n  .reg .b32 %r<4>;\n"
                    "  mov.u64 %q0, more;\n  cvta.shared.u64 %q1, %q0;\n"
                    "  st.u32 [%q1+8], 5;\n  st.shared.u32 [some+8], 6;\n"
                    "  ld.shared.u32 %r0, [more+8];\n"
                    "  ld.global.u64 %q2, [where];\n"
                    "  ld.global.u32 %r1, [%q2];\n"
                    "  ld.param.u64 %q3, [p0];\n"
                    "  mad.lo.u32 %r0, %r1, 100, %r0;\n"
                    "  st.global.u32 [%q3], %r0;\n"));
  ASSERT_TRUE(run.module);
  uint64_t out = run.memory.allocate(4), address, bytes;
  run.launch.dynamicShared = 16;
  EXPECT_NE(run({out}, 1).find("was not loaded"), std::string::npos);
  std::string error;
  ASSERT_TRUE(run.module->load(run.memory, error)) << error;
  ASSERT_TRUE(run.module->variable("numbers", address, bytes));
  EXPECT_EQ(bytes, 12u);
  EXPECT_EQ(run({out}, 1), "");
  EXPECT_EQ(run.download<uint32_t>(out, 1)[0], 805u);
  EXPECT_EQ(run.module->kernel("k")->staticShared, 12u);
  run.module->unload(run.memory);
  EXPECT_EQ(run.memory.liveCount(), 1u);
}

/// Sectors and conflicts, as a profiler would count them.
TEST(Warps, Traffic) {
  auto count = [](const std::string &stride) {
    TestRun run(".shared .align 16 .b8 tile[8192];\n" +
                entry("k", 1,
                      "  .reg .b64 %q;\n  .reg .b32 %r<4>;\n"
                      "  mov.u32 %r0, %tid.x;\n  ld.param.u64 %q, [p0];\n"
                      "  mad.wide.u32 %q, %r0, " +
                          stride +
                          ", %q;\n  st.global.u32 [%q], %r0;\n"
                          "  mul.lo.u32 %r1, %r0, " +
                          stride +
                          ";\n  mov.u32 %r2, tile;\n  add.u32 %r1, %r1, %r2;\n"
                          "  st.shared.u32 [%r1], %r0;\n"));
    EXPECT_EQ(run({run.memory.allocate(8192)}, 32), "");
    return run.counts;
  };
  Counts close = count("4"), far = count("128");
  EXPECT_EQ(close.globalSectors, 4u);
  EXPECT_EQ(close.globalStoreBytes, 128u);
  EXPECT_EQ(close.bankConflicts, 0u);
  EXPECT_EQ(far.globalSectors, 32u);
  EXPECT_EQ(far.bankConflicts, 31u);
  EXPECT_EQ(far.sharedStoreBytes, 128u);
  EXPECT_EQ(far.warpInstructions, 9u);
  EXPECT_EQ(far.threadInstructions, 9 * 32u);
}

} // namespace
