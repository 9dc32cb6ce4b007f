//===- WgmmaTest.cpp - Products of warpgroups -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/TestKernels.h"

#include <cstring>

using namespace tenon::sim;

namespace {

constexpr uint32_t kLeftBytes = 8192, kBytes = kLeftBytes + 32768;

/// Small whole numbers in each type.
uint32_t encode(const std::string &type, int value) {
  static constexpr uint32_t kHalf[] = {0, 0x3c00, 0x4000, 0x4200};
  static constexpr uint32_t kE4m3[] = {0, 0x38, 0x40, 0x44};
  static constexpr uint32_t kE5m2[] = {0, 0x3c, 0x40, 0x42};
  uint32_t size = value < 0 ? -value : value, sign = value < 0;
  float asFloat = float(value);
  uint32_t bits;
  memcpy(&bits, &asFloat, 4);
  if (type == "f16")
    return kHalf[size] | sign << 15;
  if (type == "bf16")
    return bits >> 16;
  if (type == "tf32")
    return bits;
  if (type == "e4m3")
    return kE4m3[size] | sign << 7;
  if (type == "e5m2")
    return kE5m2[size] | sign << 7;
  return uint32_t(value) & 0xff;
}

uint32_t bytesOf(const std::string &type) {
  return type == "tf32" ? 4 : type == "f16" || type == "bf16" ? 2 : 1;
}

struct Case {
  std::string sums, left, right;
  uint32_t columns = 32;
  uint32_t mode = 1; // Of descriptors: none, 128, 64, 32 bytes.
  bool transLeft = false, transRight = false, inRegisters = false;
  bool negateLeft = false;
};

struct Layout {
  uint32_t leading, stride;
};

/// Where a byte of a matrix lies, and the distances that say so.
uint32_t place(const Case &test, bool transposed, uint32_t row, uint32_t k,
               uint32_t bytes, Layout &layout) {
  uint32_t span = test.mode ? 256u >> test.mode : 16, pieces = span / 16;
  if (!test.mode) {
    layout = {128, 256};
    if (transposed)
      return k / 8 * 128 + row / 8 * 256 + k % 8 * 16 + row % 8 * 2;
    return row / 8 * 256 + k * bytes / 16 * 128 + row % 8 * 16 + k * bytes % 16;
  }
  uint32_t line = transposed ? k : row;
  uint32_t along = transposed ? row * 2 : k * bytes;
  uint32_t turn = line % 8 * pieces / 8;
  layout = {16 * span, 8 * span};
  return along / span * 16 * span + line * span +
         ((along % span / 16) ^ turn) * 16 + along % 16;
}

std::string list(uint32_t count, const char *name) {
  std::string out = "{";
  for (uint32_t i = 0; i < count; ++i)
    out += (i ? ", " : "") + std::string(name) + std::to_string(i);
  return out + "}";
}

std::string descriptor(const char *at, uint32_t mode, Layout layout) {
  uint64_t rest = uint64_t(layout.leading / 16) << 16 |
                  uint64_t(layout.stride / 16) << 32 | uint64_t(mode) << 62;
  return std::string("  shr.u64 ") + at + ", " + at + ", 4;\n  or.b64 " + at +
         ", " + at + ", " + std::to_string(int64_t(rest)) + ";\n";
}

/// Copies p0 to shared memory; %left and %right are where the matrices are.
std::string opening(uint32_t sums) {
  return "  .reg .b64 %q<6>, %left, %right;\n  .reg .b32 %t, %r<8>, %a<4>;\n"
         "  .reg .pred %p, %more;\n  .reg .b32 %d<" +
         std::to_string(sums) +
         ">;\n"
         "  mov.u32 %t, %tid.x;\n  ld.param.u64 %q0, [p0];\n"
         "  and.b32 %r6, %t, 127;\n"
         "  mul.wide.u32 %q1, %r6, 16;\n  add.u64 %q0, %q0, %q1;\n"
         "  mov.u32 %r0, tiles;\n  mad.lo.u32 %r0, %r6, 16, %r0;\n"
         "  mov.u32 %r1, 0;\ncopy:\n"
         "  ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%q0];\n"
         "  st.shared.v4.b32 [%r0], {%r2, %r3, %r4, %r5};\n"
         "  add.u64 %q0, %q0, 2048;\n  add.u32 %r0, %r0, 2048;\n"
         "  add.u32 %r1, %r1, 2048;\n  setp.lt.u32 %p, %r1, " +
         std::to_string(kBytes) +
         ";\n  @%p bra copy;\n"
         "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n"
         "  mov.u32 %r0, tiles;\n  cvt.u64.u32 %left, %r0;\n"
         "  add.u64 %right, %left, " +
         std::to_string(kLeftBytes) + ";\n";
}

/// Stores the sums at p1, register by register.
std::string closing(uint32_t sums) {
  std::string out = "  ld.param.u64 %q0, [p1];\n  mul.wide.u32 %q1, %t, 4;\n"
                    "  add.u64 %q0, %q0, %q1;\n";
  for (uint32_t i = 0; i < sums; ++i)
    out += "  st.global.b32 [%q0+" + std::to_string(i * 512) + "], %d" +
           std::to_string(i) + ";\n";
  return out;
}

const char *kTiles =
    ".extern .shared .align 1024 .b8 tiles[];\n"; // The launch says how many.

std::string kernelOf(const Case &test, const Layout (&layouts)[2]) {
  uint32_t sums = test.columns / (test.sums == "f16" ? 4 : 2);
  std::string body = opening(sums) +
                     descriptor("%left", test.mode, layouts[0]) +
                     descriptor("%right", test.mode, layouts[1]) +
                     "  ld.param.u64 %q2, [p2];\n  mul.wide.u32 %q3, %t, 16;\n"
                     "  add.u64 %q2, %q2, %q3;\n"
                     "  ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%q2];\n";
  for (uint32_t i = 0; i < sums; ++i)
    body += "  mov.b32 %d" + std::to_string(i) + ", 0;\n";
  bool half = bytesOf(test.left) == 2, integer = test.sums == "s32";
  std::string flags;
  if (!integer)
    flags += test.negateLeft ? ", -1, 1" : ", 1, 1";
  if (half && !test.inRegisters)
    flags += test.transLeft ? ", 1" : ", 0";
  if (half)
    flags += test.transRight ? ", 1" : ", 0";
  std::string product =
      "  wgmma.mma_async.sync.aligned.m64n" + std::to_string(test.columns) +
      "k" + std::to_string(32 / bytesOf(test.left)) + "." + test.sums + "." +
      test.left + "." + test.right + " " + list(sums, "%d") + ", " +
      (test.inRegisters ? "{%a0, %a1, %a2, %a3}" : "%left") +
      ", %right, %more" + flags + ";\n";
  body += "  setp.eq.u32 %more, %t, 9999;\n"
          "  wgmma.fence.sync.aligned;\n" +
          product + "  setp.ne.u32 %more, %t, 9999;\n" + product +
          "  wgmma.commit_group.sync.aligned;\n"
          "  wgmma.wait_group.sync.aligned 0;\n" +
          closing(sums);
  return kTiles + entry("k", 3, body);
}

int leftOf(uint32_t row, uint32_t k) { return int((row * 3 + k * 5) % 7) - 3; }
int rightOf(uint32_t column, uint32_t k) {
  return int((column * 5 + k * 3) % 6) - 2;
}

void put(std::vector<uint8_t> &image, uint32_t at, uint32_t value,
         uint32_t bytes) {
  memcpy(&image[at], &value, bytes);
}

/// Twice the product: the second adds to the first.
void check(const Case &test, Order order) {
  SCOPED_TRACE(test.sums + " " + test.left + " " + test.right + " mode " +
               std::to_string(test.mode));
  uint32_t bytes = bytesOf(test.left), depth = 32 / bytes;
  bool isSigned = test.left != "u8", rightSigned = test.right != "u8";
  auto left = [&](uint32_t m, uint32_t k) {
    return isSigned ? leftOf(m, k) : leftOf(m, k) + 3;
  };
  auto right = [&](uint32_t n, uint32_t k) {
    return rightSigned ? rightOf(n, k) : rightOf(n, k) + 2;
  };
  std::vector<uint8_t> image(kBytes);
  Layout layouts[2];
  for (uint32_t k = 0; k < depth; ++k) {
    for (uint32_t m = 0; m < 64; ++m)
      put(image, place(test, test.transLeft, m, k, bytes, layouts[0]),
          encode(test.left, left(m, k)), bytes);
    for (uint32_t n = 0; n < test.columns; ++n)
      put(image,
          kLeftBytes + place(test, test.transRight, n, k, bytes, layouts[1]),
          encode(test.right, right(n, k)), bytes);
  }
  std::vector<uint32_t> registers(128 * 4);
  uint32_t each = 4 / bytes;
  for (uint32_t t = 0; t < 128; ++t)
    for (uint32_t i = 0; i < 4; ++i)
      for (uint32_t e = 0; e < each; ++e)
        registers[t * 4 + i] |=
            encode(test.left, left(t / 32 * 16 + t % 32 / 4 + i % 2 * 8,
                                   each * (t % 4 + i / 2 * 4) + e))
            << 8 * bytes * e;
  TestRun run(kernelOf(test, layouts), "sm_90a");
  run.launch.order = order;
  run.launch.dynamicShared = kBytes;
  uint32_t sums = test.columns / (test.sums == "f16" ? 4 : 2);
  uint64_t out = run.memory.allocate(sums * 512);
  ASSERT_EQ(run({run.upload(image), out, run.upload(registers)}, 128), "");
  std::vector<uint32_t> words = run.download<uint32_t>(out, sums * 128);
  for (uint32_t m = 0; m < 64; ++m)
    for (uint32_t n = 0; n < test.columns; ++n) {
      int sum = 0;
      for (uint32_t k = 0; k < depth; ++k)
        sum += left(m, k) * right(n, k);
      sum *= test.negateLeft ? -2 : 2;
      uint32_t t = m / 16 * 32 + m % 8 * 4 + n % 8 / 2, high = m % 16 / 8;
      if (test.sums == "f16") {
        uint32_t word = words[(n / 8 * 2 + high) * 128 + t];
        _Float16 value;
        uint16_t bits = uint16_t(word >> n % 2 * 16);
        memcpy(&value, &bits, 2);
        ASSERT_EQ(int(value), sum) << m << " " << n;
        continue;
      }
      uint32_t word = words[(n / 8 * 4 + high * 2 + n % 2) * 128 + t];
      float value;
      memcpy(&value, &word, 4);
      ASSERT_EQ(test.sums == "s32" ? int(word) : int(value), sum)
          << m << " " << n;
    }
}

TEST(Wgmma, Types) {
  const char *kTypes[][3] = {{"f32", "f16", "f16"},   {"f32", "bf16", "bf16"},
                             {"f16", "f16", "f16"},   {"f32", "tf32", "tf32"},
                             {"f32", "e4m3", "e5m2"}, {"f16", "e5m2", "e4m3"},
                             {"s32", "s8", "s8"}};
  for (const auto &types : kTypes)
    for (bool inRegisters : {false, true}) {
      Case test{types[0], types[1], types[2]};
      test.inRegisters = inRegisters;
      check(test, inRegisters ? Order::Eager : Order::Lazy);
    }
}

TEST(Wgmma, Places) {
  for (uint32_t mode = 0; mode < 4; ++mode)
    for (bool transposed : {false, true}) {
      Case test{"f32", "bf16", "bf16"};
      test.columns = 128;
      test.mode = mode;
      test.transRight = transposed;
      test.transLeft = mode == 2 && transposed;
      test.negateLeft = transposed;
      check(test, Order::Random);
    }
}

TEST(Wgmma, WidestSums) {
  Case test{"f32", "f16", "f16"};
  test.columns = 256;
  check(test, Order::Lazy);
}

/// The report on a kernel with these lines between its opening and closing.
std::string report(const std::string &lines, uint32_t threads = 128,
                   Order order = Order::Eager) {
  std::string body = opening(4) + descriptor("%left", 1, {16, 1024}) +
                     descriptor("%right", 1, {16, 1024}) +
                     "  setp.eq.u32 %more, %t, 9999;\n" + lines;
  std::string product = "  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
                        "{%d0, %d1, %d2, %d3}, %left, %right, %more, 1, 1, 0, "
                        "0;\n";
  for (size_t at; (at = body.find("PRODUCT\n")) != std::string::npos;)
    body.replace(at, 8, product);
  std::string text = kTiles + entry("k", 2, body);
  std::string error, header = ".version 8.0\n.target sm_90a\n"
                              ".address_size 64\n";
  Memory memory;
  std::unique_ptr<Module> module = Module::parse(header + text, error);
  if (!module)
    return error;
  std::vector<uint8_t> image(kBytes * 2);
  uint64_t in = memory.allocate(image.size());
  memory.write(in, image.data(), image.size());
  uint64_t parameters[2] = {in, in};
  Launch launch;
  launch.block[0] = threads;
  launch.dynamicShared = kBytes;
  launch.order = order;
  launch.parameters.resize(16);
  memcpy(launch.parameters.data(), parameters, 16);
  launch.checks.globalRaces = false;
  return run(*module->kernel("k"), memory, launch);
}

void expect(const std::string &lines, const std::string &words,
            uint32_t threads = 128) {
  for (Order order : {Order::Eager, Order::Lazy, Order::Random}) {
    std::string said = report(lines, threads, order);
    EXPECT_NE(said.find(words), std::string::npos) << lines << said;
  }
}

const std::string kFence = "  wgmma.fence.sync.aligned;\n",
                  kCommit = "  wgmma.commit_group.sync.aligned;\n",
                  kWait = "  wgmma.wait_group.sync.aligned 0;\n";

TEST(Wgmma, Fine) {
  EXPECT_EQ(report(kFence + "PRODUCT\nPRODUCT\n" + kCommit + kWait), "");
  EXPECT_EQ(report(kFence + "PRODUCT\n" + kCommit + "PRODUCT\n" + kCommit +
                   "  wgmma.wait_group.sync.aligned 1;\n" + kWait +
                   "  add.u32 %d0, %d0, 1;\n" + kFence + "PRODUCT\n" + kCommit +
                   kWait),
            "");
}

TEST(Wgmma, Registers) {
  expect("PRODUCT\n" + kCommit + kWait, "no wgmma.fence was before");
  expect(kFence + "  add.u32 %d1, %t, 1;\nPRODUCT\n" + kCommit + kWait,
         "register %d1 was set behind the last wgmma.fence");
  expect(kFence + "PRODUCT\n" + kCommit + "  add.u32 %r0, %d2, 1;\n" + kWait,
         "register %d2 is a sum of the product in flight");
  expect(kFence + "PRODUCT\n" + kWait + "  mov.u32 %d3, 1;\n",
         "register %d3 is a sum of the product in flight");
  expect(kFence + "PRODUCT\n" + kCommit + "PRODUCT\n" + kCommit +
             "  wgmma.wait_group.sync.aligned 1;\n  mov.u32 %r0, %d0;\n" +
             kWait,
         "register %d0 is a sum of the product in flight");
  expect(kFence + "PRODUCT\n" + kCommit, "ends while the product is in flight");
  expect("  setp.ne.u32 %more, %t, 9999;\n" + kFence + "PRODUCT\n",
         "reads register %d0, which was never set");
}

TEST(Wgmma, SharedMemory) {
  std::string store = "  mov.u32 %r0, tiles;\n  mad.lo.u32 %r0, %t, 16, %r0;\n"
                      "  st.shared.u32 [%r0], %t;\n";
  expect(kFence + "PRODUCT\n" + kCommit + store + kWait,
         "may still read: nobody has waited for it");
  expect(store + "  bar.sync 0;\n" + kFence + "PRODUCT\n" + kCommit + kWait,
         "with no fence.proxy.async between");
  expect(store + "  fence.proxy.async;\n" + kFence + "PRODUCT\n" + kCommit +
             kWait,
         "data race: reads shared memory");
  expect("  fence.proxy.async;\n" + store + "  bar.sync 0;\n" + kFence +
             "PRODUCT\n" + kCommit + kWait,
         "with no fence.proxy.async between");
  EXPECT_EQ(report(store + "  bar.sync 0;\n  fence.proxy.async;\n" + kFence +
                   "PRODUCT\n" + kCommit + kWait),
            "");
  expect("  or.b64 %left, %left, 0x3fff;\n" + kFence + "PRODUCT\n",
         "the descriptor reaches");
  expect("  or.b64 %left, %left, 0x2000000000000;\n" + kFence + "PRODUCT\n",
         "bits that are not simulated");
}

TEST(Wgmma, Warpgroups) {
  expect(kFence, "fewer than 128 threads", 96);
  expect(kFence + "  setp.lt.u32 %p, %t, 32;\n  @%p bra other;\nPRODUCT\n"
                  "  bra.uni done;\nother:\nPRODUCT\ndone:\n",
         "all four must come to the same");
  expect("  setp.lt.u32 %p, %t, 32;\n  @%p bra done;\n" + kFence +
             "PRODUCT\ndone:\n",
         "deadlock");
  expect("  setp.lt.u32 %p, %t, 32;\n  @%p add.u64 %left, %left, 2;\n" +
             kFence + "PRODUCT\n",
         "differ within the warpgroup");
}

TEST(Wgmma, Setmaxnreg) {
  EXPECT_EQ(report("  setmaxnreg.dec.sync.aligned.u32 24;\n"
                   "  setmaxnreg.inc.sync.aligned.u32 256;\n"),
            "");
  expect("  setmaxnreg.dec.sync.aligned.u32 20;\n", "no multiple of 8");
  expect("  setmaxnreg.inc.sync.aligned.u32 232;\n", "deadlock", 384);
  expect("  setmaxnreg.inc.sync.aligned.u32 24;\n", "has 256 registers");
  EXPECT_EQ(report("  setp.lt.u32 %p, %t, 128;\n  @%p bra few;\n"
                   "  setmaxnreg.inc.sync.aligned.u32 232;\n  bra.uni done;\n"
                   "few:\n  setmaxnreg.dec.sync.aligned.u32 40;\ndone:\n",
                   384),
            "");
}

/// Whatever is left out or doubled, there is a sentence or a module.
TEST(Wgmma, BrokenTexts) {
  const std::string text =
      ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n"
      "{\n.reg .b64 %q<3>;\n.reg .b32 %d<8>;\n.reg .b16 %m;\n.reg .pred %p;\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::"
      "bytes.multicast::cluster [%d0], [%q0, {%d1, %d2}], [%d3], %m;\n"
      "cp.async.bulk.global.shared::cta.bulk_group [%q0], [%d1], 16;\n"
      "cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%q0, {%d1}];\n"
      "mapa.shared::cluster.u32 %d1, %d2, 1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%d1];\n"
      "setmaxnreg.inc.sync.aligned.u32 32;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, "
      "{%d4, %d5, %d6, %d7}, %q1, %p, 1, 1, 0;\nret;\n}\n";
  std::string error;
  EXPECT_TRUE(Module::parse(text, error)) << error;
  for (size_t at = 0; at < text.size(); ++at) {
    std::string shorter = text, other = text;
    shorter.erase(at, 1);
    other[at] = ";{[,<0"[at % 6];
    for (const std::string &broken : {shorter, other, text.substr(0, at)}) {
      error.clear();
      if (!Module::parse(broken, error))
        EXPECT_NE(error, "");
    }
  }
}

} // namespace
