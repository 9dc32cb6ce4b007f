//===- CheckTest.cpp - Planted bugs and what is said of them --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/TestKernels.h"

using namespace tenon::sim;
using testing::TempDir;

namespace {

/// Loads p0 into %a; %t is the thread, %q its place in p0's words.
const char *kStart = "  .reg .b64 %a, %q, %x<4>;\n"
                     "  .reg .b32 %t, %r<8>;\n  .reg .pred %p;\n"
                     "  ld.param.u64 %a, [p0];\n  mov.u32 %t, %tid.x;\n"
                     "  mad.wide.u32 %q, %t, 4, %a;\n";

std::string kernel(const std::string &body) {
  return entry("k", 1, kStart + body);
}

void expectSays(const std::string &error,
                std::initializer_list<const char *> parts) {
  for (const char *part : parts)
    EXPECT_NE(error.find(part), std::string::npos)
        << "'" << error << "' does not say '" << part << "'";
}

std::string shared(const std::string &body) {
  return ".shared .align 16 .b8 tile[512];\n" + kernel(body);
}

TEST(Checks, OutOfBounds) {
  TestRun run(kernel("  st.global.u32 [%q], %t;\n"));
  uint64_t buffer = run.memory.allocate(4 * 100);
  EXPECT_EQ(run({buffer}, 100), "");
  expectSays(run({buffer}, 101),
             {"kernel k", "line ", "`st.global.u32 [%q], %t;`",
              "block (0,0,0), thread (100,0,0)", "writes 4 bytes",
              "ends 4 bytes past the end of the 400 bytes"});
}

TEST(Checks, Freed) {
  TestRun run(kernel("  ld.global.u32 %r0, [%q];\n"));
  uint64_t buffer = run.upload(std::vector<int>(8));
  EXPECT_EQ(run({buffer}, 8), "");
  EXPECT_TRUE(run.memory.free(buffer));
  EXPECT_FALSE(run.memory.free(buffer));
  expectSays(run({buffer}, 1), {"reads 4 bytes", "that were freed"});
  EXPECT_EQ(run.memory.liveCount(), 0u);
}

TEST(Checks, Misaligned) {
  TestRun run(kernel("  ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%q];\n"));
  uint64_t buffer = run.upload(std::vector<int>(64));
  expectSays(run({buffer}, 2), {"thread (1,0,0)", "no multiple of 16"});
}

/// What is said of a second kernel that overlaps the first, which has written
/// 32 words.
std::string overlapping(const std::string &body) {
  TestRun run(entry("first", 1,
                    kStart + std::string("  st.global.u32 [%q], "
                                         "%t;\n")) +
                  kernel(body),
              "sm_90");
  uint64_t buffer = run.memory.allocate(128);
  run.launch.overlaps = false;
  EXPECT_EQ(run({buffer}, 32, "first"), "");
  run.launch.overlaps = true;
  return run({buffer}, 32);
}

TEST(Checks, OverlappingLaunches) {
  const std::string wait = "  griddepcontrol.wait;\n",
                    load = "  ld.global.u32 %r0, [%q];\n",
                    store = "  st.global.u32 [%q], %t;\n";
  EXPECT_EQ(overlapping("  griddepcontrol.launch_dependents;\n" + wait + load +
                        wait + store),
            "");
  expectSays(overlapping(load + wait),
             {"reads 4 bytes", "which the launch before may still write"});
  expectSays(overlapping(store + wait),
             {"writes 4 bytes", "which the launch before may still use"});
  expectSays(overlapping("  mov.u32 %r0, %t;\n"),
             {"ends before it has waited for the launch before"});
  // A thread waits for itself alone.
  expectSays(overlapping("  setp.eq.u32 %p, %t, 5;\n  @!%p "
                         "griddepcontrol.wait;\n" +
                         store),
             {"thread (5,0,0)", "it has not been waited for"});
}

TEST(Checks, OverlappingLaunchesMayReadWhatNoKernelWrites) {
  TestRun run(kernel("  ld.global.u32 %r0, [%q];\n  griddepcontrol.wait;\n"),
              "sm_90");
  run.launch.overlaps = true;
  EXPECT_EQ(run({run.upload(std::vector<int>(32))}, 32), "");
}

TEST(Checks, SharedBounds) {
  TestRun run(shared("  shl.b32 %r0, %t, 2;\n  mov.u32 %r1, tile;\n"
                     "  add.u32 %r1, %r1, %r0;\n  st.shared.u32 [%r1], %t;\n"));
  EXPECT_EQ(run({0}, 128), "");
  expectSays(run({0}, 160), {"thread (128,0,0)", "where the block has 512"});
}

TEST(Checks, UnwrittenGlobal) {
  TestRun run(kernel("  ld.global.u32 %r0, [%q];\n"));
  uint64_t buffer = run.memory.allocate(64);
  run.memory.fill(buffer, 0, 20);
  expectSays(run({buffer}, 16), {"thread (5,0,0)", "that were never written",
                                 "byte 20 of the 64"});
  run.launch.checks.uninitialized = false;
  EXPECT_EQ(run({buffer}, 16), "");
}

TEST(Checks, UnwrittenShared) {
  TestRun run(shared("  ld.shared.u32 %r0, [tile+64];\n"));
  expectSays(run({0}, 1), {"`ld.shared.u32 %r0, [tile+64];`", "never written"});
}

TEST(Checks, UnwrittenLocal) {
  TestRun run(
      kernel("  .local .align 4 .b8 place[16];\n"
             "  mov.u64 %x0, place;\n  st.local.u32 [%x0+4], %t;\n"
             "  ld.local.u32 %r0, [%x0+4];\n  cvta.local.u64 %x1, %x0;\n"
             "  ld.u32 %r0, [%x1+8];\n"));
  expectSays(run({0}, 1), {"local memory at 0x8", "never written"});
}

TEST(Checks, UnsetRegister) {
  TestRun run(kernel("  setp.eq.u32 %p, %t, 3;\n  @!%p mov.u32 %r0, 1;\n"
                     "  add.u32 %r1, %r0, 1;\n"));
  expectSays(run({0}, 8), {"thread (3,0,0)", "register %r0", "never set"});
}

TEST(Checks, ConstantIsReadOnly) {
  TestRun run(".const .align 4 .u32 table[4] = {1, 2, 3, 4};\n" +
              kernel("  mov.u64 %x0, table;\n  ld.const.u32 %r0, [%x0+8];\n"
                     "  cvta.const.u64 %x1, %x0;\n  ld.u32 %r1, [%x1];\n"
                     "  st.u32 [%x1], %r1;\n"));
  expectSays(run({0}, 1), {"`st.u32 [%x1], %r1;`", "writes constant memory"});
}

const char *kExchange = // Each thread reads what its neighbour wrote.
    "  shl.b32 %r0, %t, 2;\n  mov.u32 %r1, tile;\n  add.u32 %r1, %r1, %r0;\n"
    "  st.shared.u32 [%r1], %t;\n  @BARRIER@\n  xor.b32 %r0, %r0, 128;\n"
    "  mov.u32 %r1, tile;\n  add.u32 %r1, %r1, %r0;\n"
    "  ld.shared.u32 %r2, [%r1];\n  st.global.u32 [%q], %r2;\n";

std::string exchange(const std::string &barrier) {
  std::string body = kExchange;
  return shared(body.replace(body.find("@BARRIER@"), 9, barrier));
}

TEST(Checks, MissingBarrier) {
  TestRun good(exchange("bar.sync 0;"));
  uint64_t buffer = good.memory.allocate(512);
  EXPECT_EQ(good({buffer}, 64), "");
  EXPECT_EQ(good.download<uint32_t>(buffer, 64)[5], 37u);
  // Within the rounds of one warp the other may not have stored yet.
  TestRun bad(exchange("bar.warp.sync 0xffffffff;"));
  std::string error = bad({bad.memory.allocate(512)}, 64);
  EXPECT_NE(error, "");
}

TEST(Checks, SharedRace) {
  // Both warps store, in their turn, to the same words; then each reads.
  TestRun run(shared("  and.b32 %r0, %t, 31;\n  shl.b32 %r0, %r0, 2;\n"
                     "  mov.u32 %r1, tile;\n  add.u32 %r1, %r1, %r0;\n"
                     "  st.shared.u32 [%r1], %t;\n"));
  EXPECT_EQ(run({0}, 32), "");
  expectSays(run({0}, 64), {"data race: writes shared memory", "thread 0 wrote",
                            "thread (32,0,0)", "st.shared.u32 [%r1], %t;"});
  run.launch.checks.sharedRaces = false;
  EXPECT_EQ(run({0}, 64), "");
}

TEST(Checks, RaceOfReader) {
  // The next round's store comes before everybody has read this one's.
  TestRun run(
      shared("  mov.u32 %r2, 0;\n"
             "  setp.ne.u32 %p, %t, 0;\nloop:\n"
             "  @!%p st.shared.u32 [tile], %r2;\n  bar.sync 0;\n"
             "  ld.shared.u32 %r3, [tile];\n  add.u32 %r2, %r2, 1;\n"
             "  setp.ne.u32 %p, %r2, 2;\n  @%p bra last;\n  bra done;\n"
             "last:\n  setp.ne.u32 %p, %t, 0;\n  bra.uni loop;\ndone:\n"));
  expectSays(run({0}, 64), {"data race: writes shared memory", "read in"});
}

TEST(Checks, RaceWithinWarp) {
  std::string body =
      "  shl.b32 %r0, %t, 2;\n  mov.u32 %r1, tile;\n  add.u32 %r1, %r1, %r0;\n"
      "  st.shared.u32 [%r1], %t;\n  @SYNC@\n  xor.b32 %r0, %r0, 4;\n"
      "  mov.u32 %r1, tile;\n  add.u32 %r1, %r1, %r0;\n"
      "  ld.shared.u32 %r2, [%r1];\n";
  std::string with = body, without = body;
  with.replace(with.find("@SYNC@"), 6, "bar.warp.sync 0xffffffff;");
  without.replace(without.find("@SYNC@"), 6, "");
  EXPECT_EQ(TestRun(shared(with))({0}, 32), "");
  expectSays(TestRun(shared(without))({0}, 32),
             {"data race: reads shared memory"});
}

TEST(Checks, GlobalRace) {
  // All blocks count in one word: with an atomic they may.
  TestRun bad(kernel("  ld.global.u32 %r0, [%a];\n  add.u32 %r0, %r0, 1;\n"
                     "  st.global.u32 [%a], %r0;\n"));
  bad.launch.grid[0] = 2;
  uint64_t word = bad.upload(std::vector<int>(1));
  expectSays(bad({word}, 1), {"data race: reads global memory",
                              "cluster 1 wrote", "block (0,0,0)"});
  TestRun good(kernel("  red.global.add.u32 [%a], 1;\n"));
  good.launch.grid[0] = 7;
  word = good.upload(std::vector<int>(1));
  EXPECT_EQ(good({word}, 33), "");
  EXPECT_EQ(good.download<int>(word, 1)[0], 7 * 33);
}

TEST(Checks, DivergentBarrier) {
  TestRun exited(
      kernel("  setp.eq.u32 %p, %t, 7;\n  @%p exit;\n  bar.sync 0;\n"));
  expectSays(exited({0}, 32),
             {"divergent barrier: lane 7 of the warp has exited"});
  TestRun elsewhere(kernel("  setp.lt.u32 %p, %t, 7;\n  @%p bra other;\n"
                           "  bar.sync 0;\n  bra.uni done;\nother:\n"
                           "  bar.sync 0;\ndone:\n"));
  expectSays(elsewhere({0}, 32), {"deadlock",
                                  "7 threads (first: 0) wait for "
                                  "the rest of their warp at line",
                                  "25 threads (first: 7)"});
}

TEST(Checks, BarrierOfTooFew) {
  TestRun run(kernel("  setp.lt.u32 %p, %t, 32;\n  @%p bra done;\n"
                     "  bar.sync 1, 64;\ndone:\n"));
  expectSays(run({0}, 64), {"deadlock", "32 threads (first: 32) wait at",
                            "`bar.sync 1, 64;`", "32 threads have exited"});
}

TEST(Checks, InstructionLimit) {
  TestRun run(kernel("loop:\n  add.u32 %t, %t, 1;\n  bra.uni loop;\n"));
  run.launch.instructionLimit = 100000;
  expectSays(run({0}, 32), {"still runs after 100000 instructions"});
}

TEST(Checks, Trap) {
  TestRun run(kernel("  setp.eq.u32 %p, %t, 9;\n  @%p trap;\n"));
  expectSays(run({0}, 32), {"thread (9,0,0)", "the kernel trapped"});
}

TEST(Checks, Launches) {
  TestRun run(
      ".visible .entry k(.param .u64 p0) .reqntid 64, 1, 1\n{\n  ret;\n}\n");
  EXPECT_EQ(run({0}, 64), "");
  expectSays(run({0}, 32), {"not what .reqntid says"});
  expectSays(run({0, 0}, 64), {"16 bytes of parameters are given, 8 are"});
  run.launch.dynamicShared = 228 << 10;
  expectSays(run({0}, 64), {"more than a GPU has"});
}

void expectRefused(const std::string &line,
                   std::initializer_list<const char *> parts) {
  std::string error;
  std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n" +
                     kernel("  " + line + "\n");
  EXPECT_FALSE(Module::parse(text, error)) << line;
  expectSays(error, parts);
}

TEST(Checks, NotUnderstood) {
  expectRefused("frobnicate.b32 %r0, %r1;",
                {"line 12: `frobnicate.b32 %r0, %r1;`", "unknown instruction"});
  expectRefused("add.fancy.s32 %r0, %r1, %r2;", {"unknown modifier .fancy"});
  expectRefused("add.s32 %r0, %nothing, %r2;", {"unknown name '%nothing'"});
  expectRefused("add.s32 %r0, %x0, %r2;", {"has not the size"});
  expectRefused("bra nowhere;", {"unknown label"});
  expectRefused("st.const.u32 [%x0], %r0;", {"memory that is constant"});
  expectRefused("call.uni printer;", {"calls a function without a body"});
  expectRefused("add.s32 %r0, %r1", {"line "});
  expectRefused("@%r0 ret;", {"no declared predicate"});
  expectRefused(".reg .b32 %v<99999999999>;", {"line "});
}

/// As ptxas does, whatever PTX says of registers without types.
TEST(Checks, PartsOfFloats) {
  const std::string sum = "add.rn.f32 %r1, %r0, 0f4B400000;\n  ";
  expectRefused(sum + "st.global.b8 [%q], %r1;",
                {"stores a part of a register", "ptxas converts"});
  expectRefused(sum + "st.global.b16 [%q], %r1;", {"ptxas converts"});
  for (const char *line : {"  st.global.b32 [%q], %r1;\n",
                           "  mov.b32 %r2, %r1;\n  st.global.b8 [%q], %r2;\n",
                           "  cvt.rn.bf16x2.f32 %r2, %r1, %r1;\n"
                           "  st.global.b16 [%q], %r2;\n",
                           "  cvt.rzi.s32.f32 %r2, %r1;\n"
                           "  st.global.b8 [%q], %r2;\n"}) {
    TestRun run(kernel("  ld.global.b32 %r0, [%q];\n  " + sum + line));
    EXPECT_EQ(run({run.upload(std::vector<int>(4))}, 4), "");
  }
}

/// Whatever is left out or doubled, there is a sentence or a module.
TEST(Checks, BrokenTexts) {
  std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n"
                     ".const .align 4 .u32 table[4] = {1, 2, 3, 4};\n" +
                     exchange("bar.sync 0;");
  for (size_t at = 0; at < text.size(); ++at) {
    std::string error, shorter = text, other = text;
    shorter.erase(at, 1);
    other[at] = ";{[,<0"[at % 6];
    if (!Module::parse(shorter, error))
      EXPECT_NE(error, "");
    if (!Module::parse(other, error))
      EXPECT_NE(error, "");
    if (!Module::parse(text.substr(0, at), error))
      EXPECT_NE(error, "");
  }
}

} // namespace
