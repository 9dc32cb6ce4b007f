//===- HandoverTest.cpp - Fences between blocks, and bugs planted there ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every block stores a word and counts itself; the last one adds all words.
//
//===----------------------------------------------------------------------===//

#include "test/gpu/sim/TestKernels.h"

using namespace tenon::sim;

namespace {
constexpr uint32_t kBlocks = 5, kThreads = 64;
constexpr Order kOrders[] = {Order::Eager, Order::Lazy, Order::Random};

/// p0 is the counter, behind which the blocks' words lie; p1 the sum. All
/// threads of a block store the same, the second warp's last.
const char *kSum = R"(
  .shared .align 4 .b32 flag;
  .reg .b64 %a, %o, %q, %n;
  .reg .b32 %t, %c, %r<4>;
  .reg .pred %p, %w;
  ld.param.u64 %a, [p0];
  ld.param.u64 %o, [p1];
  mov.u32 %t, %tid.x;
  mov.u32 %c, %ctaid.x;
  mad.wide.u32 %q, %c, 4, %a;
  setp.ne.u32 %p, %t, 0;
  setp.ne.u32 %w, %t, 63;
  @%w bra stored;
  st.global.u32 [%q+4], 7;
stored:
  bar.sync 0;
  @%p bra counted;
  fence.acq_rel.gpu; // The writer's.
  atom.global.add.u32 %r0, [%a], 1;
  fence.acq_rel.gpu; // The reader's.
  st.shared.u32 [flag], %r0;
counted:
  bar.sync 0;
  @%p bra done;
  ld.shared.u32 %r0, [flag];
  setp.ne.u32 %p, %r0, 4;
  @%p bra done;
  mov.u32 %r1, 0;
  mov.u32 %r2, 0;
  mov.u64 %n, %a;
next:
  ld.global.u32 %r3, [%n+4];
  add.u32 %r2, %r2, %r3;
  add.u64 %n, %n, 4;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p, %r1, 5;
  @%p bra next;
  st.global.u32 [%o], %r2;
done:
)";

/// What is said when the first `good` has become `bad`.
std::string report(const std::string &good = "", const std::string &bad = "") {
  std::string text = kSum;
  size_t at = text.find(good);
  EXPECT_NE(at, std::string::npos);
  text.replace(at, good.size(), bad);
  std::string said;
  for (Order order : kOrders) {
    TestRun run(entry("k", 2, text));
    run.launch.grid[0] = kBlocks;
    run.launch.order = order;
    uint64_t words = run.upload(std::vector<uint32_t>(1 + kBlocks));
    uint64_t sum = run.upload(std::vector<uint32_t>(1));
    std::string error = run({words, sum}, kThreads);
    if (error.empty())
      EXPECT_EQ(run.download<uint32_t>(sum, 1)[0], 7 * kBlocks);
    said = said.empty() ? error : said;
  }
  return said;
}

const char *kWriter = "fence.acq_rel.gpu; // The writer's.";
const char *kReader = "fence.acq_rel.gpu; // The reader's.";
const char *kAtomic = "atom.global.add.u32";

std::string replaced(const char *writer, const char *atomic,
                     const char *reader) {
  std::string all =
      std::string(kWriter) + "\n  " + kAtomic + " %r0, [%a], 1;\n  " + kReader;
  return report(all, std::string(writer) + "\n  " + atomic +
                         " %r0, [%a], 1;\n  " + reader);
}

void expectRace(const std::string &said) {
  for (const char *part :
       {"data race: reads global memory", "`ld.global.u32 %r3", "wrote in line",
        "no fence, atomics on one word and fence between"})
    EXPECT_NE(said.find(part), std::string::npos) << said;
}

TEST(Handover, IsRight) {
  EXPECT_EQ(report(), "");
  EXPECT_EQ(replaced("membar.gl;", "atom.relaxed.gpu.global.add.u32",
                     "fence.sc.sys;"),
            "");
  EXPECT_EQ(replaced("", "atom.acq_rel.gpu.global.add.u32", ""), "");
  EXPECT_EQ(replaced(kWriter, "atom.acquire.gpu.global.add.u32", ""), "");
  EXPECT_EQ(replaced("", "atom.release.gpu.global.add.u32", kReader), "");
}

TEST(Handover, AMissingFenceIsReported) {
  expectRace(report(kWriter));
  expectRace(report(kReader));
  expectRace(replaced("", kAtomic, ""));
  expectRace(replaced("", "atom.acquire.gpu.global.add.u32", ""));
  expectRace(replaced("", "atom.release.gpu.global.add.u32", ""));
}

TEST(Handover, AFenceOfTheBlockIsNotEnough) {
  expectRace(replaced("fence.acq_rel.cta;", kAtomic, kReader));
  expectRace(replaced(kWriter, kAtomic, "membar.cta;"));
}

TEST(Handover, AFenceOnTheWrongSideOfTheAtomicIsReported) {
  expectRace(replaced("", kAtomic, "fence.acq_rel.gpu; membar.gl;"));
  expectRace(replaced("fence.acq_rel.gpu; membar.gl;", kAtomic, ""));
}

/// One that all threads pass before the barrier orders their own stores, and
/// not what the thread that counts does behind it.
TEST(Handover, AFenceOfOtherThreadsIsReported) {
  std::string all =
      std::string("bar.sync 0;\n  @%p bra counted;\n  ") + kWriter;
  expectRace(report(all, "fence.acq_rel.gpu;\n  bar.sync 0;\n"
                         "  @%p bra counted;\n"));
}

TEST(Handover, AMissingBarrierBeforeTheFenceIsReported) {
  std::string said = report("bar.sync 0;");
  EXPECT_NE(said.find("data race"), std::string::npos) << said;
}

TEST(Handover, CountsOfTheBlocksScopeRace) {
  std::string said = replaced(kWriter, "atom.cta.global.add.u32", kReader);
  EXPECT_NE(said.find("data race: changes global memory"), std::string::npos)
      << said;
}

TEST(Handover, ACountWithoutAResultFindsNothing) {
  std::string said =
      report("atom.global.add.u32 %r0, [%a], 1;",
             "red.global.add.u32 [%a], 1;\n  sub.u32 %r0, 4, %c;");
  EXPECT_NE(said.find("data race"), std::string::npos) << said;
}

TEST(Handover, BlocksThatWriteTheSameBytesAreReported) {
  std::string said =
      report("st.global.u32 [%q+4], 7;", "st.global.u32 [%a+4], %c;");
  EXPECT_NE(said.find("data race: writes global memory"), std::string::npos)
      << said;
}

TEST(Handover, BytesThatAnotherBlockReadAreNotWritten) {
  std::string said =
      report("st.global.u32 [%q+4], 7;", "ld.global.u32 %r3, [%a+8];\n"
                                         "  add.u32 %r3, %r3, 1;\n"
                                         "  st.global.u32 [%q+4], %r3;");
  EXPECT_NE(said.find("data race"), std::string::npos) << said;
}

/// What is handed on by a block between the two is ordered as well.
TEST(Handover, GoesOnThroughOthers) {
  std::string chain = R"(
  .reg .b64 %a;
  .reg .b32 %c, %r<4>;
  .reg .pred %p;
  ld.param.u64 %a, [p0];
  mov.u32 %c, %ctaid.x;
  setp.ne.u32 %p, %c, 0;
  @%p bra second;
  st.global.u32 [%a+8], 9;
  atom.release.gpu.global.add.u32 %r0, [%a], 1;
  bra.uni done;
second:
  setp.ne.u32 %p, %c, 1;
  @%p bra third;
  atom.acq_rel.gpu.global.add.u32 %r0, [%a], 0;
  atom.ORDER.gpu.global.add.u32 %r0, [%a+4], 1;
  bra.uni done;
third:
  atom.acquire.gpu.global.add.u32 %r0, [%a+4], 0;
  ld.global.u32 %r1, [%a+8];
done:
)";
  for (bool isOrdered : {true, false}) {
    std::string text = chain;
    text.replace(text.find("ORDER"), 5, isOrdered ? "release" : "acquire");
    TestRun run(entry("k", 1, text));
    run.launch.grid[0] = 3;
    run.launch.order = Order::Eager;
    std::string said = run({run.upload(std::vector<uint32_t>(3))}, 1);
    EXPECT_EQ(said.empty(), isOrdered) << said;
  }
}
} // namespace
