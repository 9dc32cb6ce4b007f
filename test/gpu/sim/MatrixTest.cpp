//===- MatrixTest.cpp - cp.async, ldmatrix and mma against the host -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/TestKernels.h"

#include <bit>
#include <cmath>
#include <random>

using namespace tenon::sim;

namespace {

/// One warp: D = A * B + C. A has 16 rows and B 8 columns of 32 bytes along k,
/// which arrive by cp.async; C is all `start`.
std::string product(const std::string &mma, const std::string &wait,
                    bool halves = false, const std::string &start = "0") {
  std::string sums = halves ? "{%c0, %c1}" : "{%c0, %c1, %c2, %c3}";
  std::string text =
      ".shared .align 16 .b8 tile[768];\n"
      ".visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2)\n{\n"
      "  .reg .b64 %q<6>;\n  .reg .b32 %t, %r<12>, %a<4>, %b<2>, %c<4>;\n"
      "  .reg .pred %p;\n  mov.u32 %t, %tid.x;\n"
      "  ld.param.u64 %q0, [p0];\n  ld.param.u64 %q1, [p1];\n"
      "  ld.param.u64 %q2, [p2];\n  mul.wide.u32 %q3, %t, 16;\n"
      "  add.u64 %q0, %q0, %q3;\n  add.u64 %q1, %q1, %q3;\n"
      "  mov.u32 %r0, tile;\n  shl.b32 %r1, %t, 4;\n  add.u32 %r2, %r0, %r1;\n"
      "  cp.async.cg.shared.global [%r2], [%q0], 16;\n"
      "  setp.lt.u32 %p, %t, 16;\n"
      "  @%p cp.async.ca.shared.global [%r2+512], [%q1], 16;\n"
      "  cp.async.commit_group;\n" +
      wait +
      // Rows of A by lane % 16, of B by lane % 8.
      "  and.b32 %r3, %t, 15;\n  shl.b32 %r3, %r3, 5;\n"
      "  shr.u32 %r4, %t, 4;\n  shl.b32 %r4, %r4, 4;\n"
      "  add.u32 %r3, %r3, %r4;\n  add.u32 %r3, %r3, %r0;\n"
      "  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%a0, %a1, %a2, %a3}, "
      "[%r3];\n"
      "  and.b32 %r3, %t, 7;\n  shl.b32 %r3, %r3, 5;\n  and.b32 %r4, %t, 8;\n"
      "  shl.b32 %r4, %r4, 1;\n  add.u32 %r3, %r3, %r4;\n"
      "  add.u32 %r3, %r3, %r0;\n"
      "  ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%b0, %b1}, [%r3+512];\n";
  for (const char *c : {"%c0", "%c1", "%c2", "%c3"})
    text += std::string("  mov.b32 ") + c + ", " + start + ";\n";
  text += "  mma.sync.aligned." + mma + " " + sums +
          ", {%a0, %a1, %a2, %a3}, {%b0, %b1}, " + sums + ";\n";
  int bytes = halves ? 2 : 4;
  text += "  shr.u32 %r5, %t, 2;\n  and.b32 %r6, %t, 3;\n"
          "  mul.lo.u32 %r5, %r5, " +
          std::to_string(8 * bytes) + ";\n  mad.lo.u32 %r5, %r6, " +
          std::to_string(2 * bytes) +
          ", %r5;\n  cvt.u64.u32 %q4, %r5;\n  add.u64 %q2, %q2, %q4;\n";
  if (halves)
    text += "  st.global.b32 [%q2], %c0;\n  st.global.b32 [%q2+128], %c1;\n";
  else
    text += "  st.global.v2.b32 [%q2], {%c0, %c1};\n"
            "  st.global.v2.b32 [%q2+256], {%c2, %c3};\n";
  return text + "  ret;\n}\n";
}

const char *kWait = "  cp.async.wait_group 0;\n  bar.sync 0;\n";

/// Small integers, of which every format holds the sums exactly.
template <typename T>
void check(const std::string &mma, T (*encode)(int), bool floats,
           bool halves = false, int start = 0, const std::string &bits = "0") {
  int depth = 32 / sizeof(T);
  std::mt19937 random(7);
  std::vector<int> a(16 * depth), b(8 * depth);
  std::vector<T> storedA, storedB;
  for (int &value : a)
    storedA.push_back(encode(value = int(random() % 9) - 4));
  for (int &value : b)
    storedB.push_back(encode(value = int(random() % 7) - 3));
  for (Order order : {Order::Eager, Order::Lazy, Order::Random}) {
    TestRun run(product(mma, kWait, halves, bits));
    run.launch.order = order;
    uint64_t out = run.memory.allocate(512);
    ASSERT_EQ(run({run.upload(storedA), run.upload(storedB), out}, 32), "");
    EXPECT_EQ(run.counts.matrixProducts, 1u);
    auto words = run.download<uint32_t>(out, halves ? 64 : 128);
    for (int row = 0; row < 16; ++row)
      for (int column = 0; column < 8; ++column) {
        int sum = start;
        for (int k = 0; k < depth; ++k)
          sum += a[row * depth + k] * b[column * depth + k];
        int at = row * 8 + column;
        double got;
        if (halves) {
          uint16_t half = uint16_t(words[at / 2] >> 16 * (at % 2));
          got = double(std::bit_cast<_Float16>(half));
        } else {
          got = floats ? double(std::bit_cast<float>(words[at]))
                       : double(int32_t(words[at]));
        }
        ASSERT_EQ(got, sum) << mma << " " << row << " " << column;
      }
  }
}

uint16_t half(int value) { return std::bit_cast<uint16_t>(_Float16(value)); }
uint16_t brain(int value) {
  return uint16_t(std::bit_cast<uint32_t>(float(value)) >> 16);
}
uint32_t single(int value) { return std::bit_cast<uint32_t>(float(value)); }
uint8_t byte(int value) { return uint8_t(value); }

TEST(Matrices, Products) {
  check("m16n8k16.row.col.f32.f16.f16.f32", half, true);
  check("m16n8k16.row.col.f32.bf16.bf16.f32", brain, true, false, 2,
        "0f40000000");
  check("m16n8k16.row.col.f16.f16.f16.f16", half, true, true, 1, "0x3c003c00");
  check("m16n8k8.row.col.f32.tf32.tf32.f32", single, true);
  check("m16n8k32.row.col.s32.s8.s8.s32", byte, false, false, 100, "100");
}

TEST(Matrices, Unsigned) {
  TestRun run(product("m16n8k32.row.col.s32.u8.s8.s32", kWait));
  uint64_t out = run.memory.allocate(512);
  uint64_t a = run.upload(std::vector<uint8_t>(512, 200));
  uint64_t b = run.upload(std::vector<int8_t>(256, -100));
  ASSERT_EQ(run({a, b, out}, 32), "");
  EXPECT_EQ(run.download<int32_t>(out, 128)[77], -200 * 100 * 32);
}

TEST(Matrices, CopyNotAwaited) {
  for (const char *wait :
       {"  bar.sync 0;\n", "  cp.async.wait_group 1;\n  bar.sync 0;\n"}) {
    TestRun run(product("m16n8k16.row.col.f32.f16.f16.f32", wait));
    uint64_t a = run.upload(std::vector<uint16_t>(256, half(1)));
    uint64_t b = run.upload(std::vector<uint16_t>(128, half(1)));
    for (Order order : {Order::Eager, Order::Lazy}) {
      run.launch.order = order;
      std::string error = run({a, b, run.memory.allocate(512)}, 32);
      EXPECT_NE(error.find("where the copy of line"), std::string::npos)
          << error;
      EXPECT_NE(error.find("nobody has waited for it"), std::string::npos);
    }
  }
}

TEST(Matrices, CopyWithoutBarrier) {
  TestRun run(
      product("m16n8k16.row.col.f32.f16.f16.f32", "  cp.async.wait_all;\n"));
  uint64_t a = run.upload(std::vector<uint16_t>(256, half(1)));
  uint64_t b = run.upload(std::vector<uint16_t>(128, half(1)));
  std::string error = run({a, b, run.memory.allocate(512)}, 32);
  EXPECT_NE(error.find("data race: reads shared memory"), std::string::npos)
      << error;
}

TEST(Matrices, Transposes) {
  TestRun run(
      ".shared .align 16 .b8 tile[128];\n" +
      entry("k", 1,
            "  .reg .b64 %q;\n  .reg .b32 %t, %r<6>;\n"
            "  mov.u32 %t, %tid.x;\n  mov.u32 %r0, tile;\n"
            "  shl.b32 %r1, %t, 2;\n  add.u32 %r1, %r1, %r0;\n"
            // Word t holds elements 2t and 2t + 1.
            "  shl.b32 %r2, %t, 1;\n  add.u32 %r3, %r2, 1;\n"
            "  shl.b32 %r3, %r3, 16;\n  or.b32 %r2, %r2, %r3;\n"
            "  st.shared.b32 [%r1], %r2;\n  bar.sync 0;\n"
            "  and.b32 %r1, %t, 7;\n  shl.b32 %r1, %r1, 4;\n"
            "  add.u32 %r1, %r1, %r0;\n"
            "  ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r4}, [%r1];\n"
            "  movmatrix.sync.aligned.m8n8.trans.b16 %r5, %r4;\n"
            "  ld.param.u64 %q, [p0];\n  mad.wide.u32 %q, %t, 8, %q;\n"
            "  st.global.v2.b32 [%q], {%r4, %r5};\n"));
  uint64_t out = run.memory.allocate(256);
  ASSERT_EQ(run({out}, 32), "");
  auto words = run.download<uint16_t>(out, 128);
  for (int t = 0; t < 32; ++t) {
    EXPECT_EQ(words[t * 4], t % 4 * 2 * 8 + t / 4);
    EXPECT_EQ(words[t * 4 + 1], (t % 4 * 2 + 1) * 8 + t / 4);
    EXPECT_EQ(words[t * 4 + 2], 2 * t);
  }
}

} // namespace
