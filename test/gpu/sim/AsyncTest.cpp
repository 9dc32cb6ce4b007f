//===- AsyncTest.cpp - Copies in groups, and mbarriers --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/TestKernels.h"

#include <numeric>

using namespace tenon::sim;

namespace {

const char *kStart = ".shared .align 16 .b8 tile[2048];\n"
                     ".shared .align 8 .b64 bars[2];\n";

std::string kernel(const std::string &body) {
  return kStart + entry("k", 2,
                        "  .reg .b64 %q<4>, %s;\n  .reg .b32 %t, %r<8>;\n"
                        "  .reg .pred %p<3>;\n  mov.u32 %t, %tid.x;\n"
                        "  ld.param.u64 %q0, [p0];\n  ld.param.u64 %q1, [p1];\n"
                        "  mad.wide.u32 %q0, %t, 4, %q0;\n"
                        "  mad.wide.u32 %q1, %t, 4, %q1;\n"
                        "  mov.u32 %r0, tile;\n  mad.lo.u32 %r0, %t, 4, %r0;\n"
                        "  setp.eq.u32 %p0, %t, 0;\n" +
                            body);
}

/// Two stages in flight; the thread waits for the older one.
TEST(Async, Groups) {
  for (Order order : {Order::Eager, Order::Lazy, Order::Random}) {
    TestRun run(kernel("  cp.async.ca.shared.global [%r0], [%q0], 4;\n"
                       "  cp.async.commit_group;\n"
                       "  cp.async.ca.shared.global [%r0+512], [%q0+512], 4;\n"
                       "  cp.async.commit_group;\n"
                       "  cp.async.wait_group 1;\n"
                       "  ld.shared.u32 %r1, [%r0];\n"
                       "  cp.async.wait_group 0;\n"
                       "  ld.shared.u32 %r2, [%r0+512];\n"
                       "  mad.lo.u32 %r1, %r2, 1000, %r1;\n"
                       "  st.global.u32 [%q1], %r1;\n"));
    run.launch.order = order;
    std::vector<uint32_t> input(256);
    std::iota(input.begin(), input.end(), 0);
    uint64_t out = run.memory.allocate(512);
    ASSERT_EQ(run({run.upload(input), out}, 128), "");
    EXPECT_EQ(run.download<uint32_t>(out, 128)[9], 9 + 1000 * 137u);
  }
}

/// Bytes beyond the source's are zeros, and are not read.
TEST(Async, ZeroFill) {
  TestRun run(kernel("  setp.lt.u32 %p1, %t, 5;\n  selp.u32 %r1, 4, 0, %p1;\n"
                     "  cp.async.ca.shared.global [%r0], [%q0], 4, %r1;\n"
                     "  cp.async.wait_all;\n  ld.shared.u32 %r2, [%r0];\n"
                     "  st.global.u32 [%q1], %r2;\n"));
  uint64_t out = run.memory.allocate(128);
  uint64_t in = run.upload(std::vector<uint32_t>(5, 7));
  ASSERT_EQ(run({in, out}, 32), "");
  EXPECT_EQ(run.download<uint32_t>(out, 32)[4], 7u);
  EXPECT_EQ(run.download<uint32_t>(out, 32)[5], 0u);
}

/// A stage that others still read is filled again without a barrier.
TEST(Async, FilledTooEarly) {
  TestRun run(kernel("  cp.async.ca.shared.global [%r0], [%q0], 4;\n"
                     "  cp.async.wait_all;\n  bar.sync 0;\n"
                     "  ld.shared.u32 %r1, [tile+8];\n"
                     "  cp.async.ca.shared.global [%r0], [%q0], 4;\n"
                     "  cp.async.wait_all;\n"));
  uint64_t in = run.upload(std::vector<uint32_t>(64, 7));
  std::string error = run({in, in}, 64);
  EXPECT_NE(error.find("data race: copies to shared memory"), std::string::npos)
      << error;
}

TEST(Async, Bounds) {
  TestRun run(kernel("  cp.async.ca.shared.global [%r0], [%q0], 4;\n"));
  uint64_t in = run.upload(std::vector<uint32_t>(16, 7));
  EXPECT_NE(run({in, in}, 17).find("thread (16,0,0): reads 4 bytes of global"),
            std::string::npos);
}

std::string phases(const std::string &count, const std::string &parity) {
  return kernel("  mov.u32 %r5, bars;\n"
                "  @%p0 mbarrier.init.shared.b64 [%r5], " +
                count +
                ";\n  bar.sync 0;\n"
                "  cp.async.ca.shared.global [%r0], [%q0], 4;\n"
                "  cp.async.mbarrier.arrive.noinc.shared.b64 [%r5];\n"
                "wait:\n"
                "  mbarrier.try_wait.parity.shared.b64 %p1, [%r5], " +
                parity +
                ";\n  @!%p1 bra wait;\n"
                "  xor.b32 %r1, %t, 33;\n  mov.u32 %r2, tile;\n"
                "  mad.lo.u32 %r1, %r1, 4, %r2;\n  ld.shared.u32 %r1, [%r1];\n"
                "  st.global.u32 [%q1], %r1;\n");
}

/// Everybody's copies have landed when the phase ends.
TEST(Async, Phases) {
  std::vector<uint32_t> input(64);
  std::iota(input.begin(), input.end(), 0);
  for (Order order : {Order::Eager, Order::Lazy, Order::Random}) {
    TestRun run(phases("64", "0"), "sm_90");
    run.launch.order = order;
    uint64_t out = run.memory.allocate(256);
    ASSERT_EQ(run({run.upload(input), out}, 64), "");
    EXPECT_EQ(run.download<uint32_t>(out, 64)[40], 40u ^ 33);
  }
}

TEST(Async, PhaseDeadlock) {
  TestRun run(phases("65", "0"), "sm_90");
  uint64_t in = run.upload(std::vector<uint32_t>(64, 7));
  std::string error = run({in, in}, 64);
  EXPECT_NE(error.find("deadlock"), std::string::npos) << error;
  EXPECT_NE(error.find("64 threads (first: 0) wait at line"),
            std::string::npos);
  EXPECT_NE(error.find("mbarrier.try_wait"), std::string::npos);
}

TEST(Async, PhaseMisuse) {
  uint64_t in;
  TestRun many(phases("63", "0"), "sm_90");
  many.launch.order = Order::Eager;
  in = many.upload(std::vector<uint32_t>(64, 7));
  EXPECT_NE(many({in, in}, 64), "");
  TestRun absent(kernel("  mov.u32 %r5, bars;\n"
                        "  mbarrier.arrive.shared.b64 %s, [%r5];\n"));
  EXPECT_NE(absent({0, 0}, 1).find("no initialised mbarrier"),
            std::string::npos);
}

/// States by token, as sm_80 has them.
TEST(Async, Tokens) {
  TestRun run(kernel("  mov.u32 %r5, bars;\n"
                     "  @%p0 mbarrier.init.shared.b64 [%r5], 64;\n"
                     "  bar.sync 0;\n  st.shared.u32 [%r0], %t;\n"
                     "  mbarrier.arrive.shared.b64 %s, [%r5];\nwait:\n"
                     "  mbarrier.test_wait.shared.b64 %p1, [%r5], %s;\n"
                     "  @!%p1 bra wait;\n  xor.b32 %r1, %t, 32;\n"
                     "  mov.u32 %r2, tile;\n  mad.lo.u32 %r1, %r1, 4, %r2;\n"
                     "  ld.shared.u32 %r1, [%r1];\n"
                     "  st.global.u32 [%q1], %r1;\n"));
  uint64_t out = run.memory.allocate(256);
  ASSERT_EQ(run({out, out}, 64), "");
  EXPECT_EQ(run.download<uint32_t>(out, 64)[3], 35u);
}

} // namespace
