//===- BulkTest.cpp - cp.async.bulk, tensor maps and clusters -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/TensorMap.h"
#include "test/gpu/sim/TestKernels.h"

#include <numeric>

using namespace tenon::sim;

namespace {

constexpr Order kOrders[] = {Order::Eager, Order::Lazy, Order::Random};

const char *kShared = ".shared .align 1024 .b8 tile[8192];\n"
                      ".shared .align 8 .b64 bars[2];\n";

/// p0: a tensor map or memory; p1: where all threads store a word. Thread 0
/// has initialised bars[0] for one arrival, and everybody knows it.
std::string kernel(const std::string &body) {
  return kShared +
         entry("k", 2,
               "  .reg .b64 %map, %out, %s;\n  .reg .b32 %t, %r<8>, %tile, "
               "%bar, %rank;\n"
               "  .reg .b16 %m;\n  .reg .pred %p<3>;\n  mov.u32 %t, %tid.x;\n"
               "  ld.param.u64 %map, [p0];\n  ld.param.u64 %out, [p1];\n"
               "  mov.u32 %tile, tile;\n  mov.u32 %bar, bars;\n"
               "  mov.u32 %rank, %cluster_ctarank;\n"
               "  mov.u32 %r0, %ctaid.x;\n  mov.u32 %r1, %ntid.x;\n"
               "  mad.lo.u32 %r0, %r0, %r1, %t;\n"
               "  mad.wide.u32 %out, %r0, 4, %out;\n"
               "  mad.lo.u32 %r0, %t, 4, %tile;\n"
               "  setp.eq.u32 %p0, %t, 0;\n"
               "  @%p0 mbarrier.init.shared.b64 [%bar], 1;\n"
               "  @%p0 fence.mbarrier_init.release.cluster;\n"
               "  barrier.cluster.arrive.aligned;\n"
               "  barrier.cluster.wait.aligned;\n" +
                   body);
}

const char *kWait = "wait:\n"
                    "  mbarrier.try_wait.parity.shared.b64 %p1, [%bar], 0;\n"
                    "  @!%p1 bra wait;\n";
const char *kEnd = "  barrier.cluster.arrive.aligned;\n"
                   "  barrier.cluster.wait.aligned;\n";

std::string expectBytes(uint32_t bytes) {
  return "  @%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%bar], " +
         std::to_string(bytes) + ";\n";
}

std::string load(const std::string &axes, const std::string &at) {
  return "  @%p0 cp.async.bulk.tensor." + axes +
         ".shared::cluster.global.tile.mbarrier::complete_tx::bytes "
         "[%tile], [%map, " +
         at + "], [%bar];\n";
}

const char *kStoreWord = "  ld.shared.u32 %r1, [%r0];\n"
                         "  st.global.u32 [%out], %r1;\n";

struct BulkRun : TestRun {
  explicit BulkRun(const std::string &body) : TestRun(kernel(body), "sm_90a") {}

  uint64_t give(const TensorMap &map) {
    EXPECT_EQ(map.check(), "");
    std::vector<char> bytes(TensorMap::kBytes);
    map.encode(bytes.data());
    return upload(bytes);
  }
  void expect(const std::string &words, uint64_t in, uint32_t threads = 32) {
    uint64_t out = memory.allocate(4096);
    for (Order order : kOrders) {
      launch.order = order;
      std::string said = (*this)({in, out}, threads);
      EXPECT_NE(said.find(words), std::string::npos) << words << ": " << said;
    }
  }
};

/// Words in rows of `width`, boxes of 8 by 4.
TensorMap mapOf(uint64_t address, uint64_t width, uint64_t height) {
  TensorMap map;
  map.address = address;
  map.rank = 2;
  map.elementBytes = 4;
  map.sizes[0] = width;
  map.sizes[1] = height;
  map.strides[0] = 4;
  map.strides[1] = width * 4;
  map.box[0] = 8;
  map.box[1] = 4;
  return map;
}

std::vector<uint32_t> counting(size_t count) {
  std::vector<uint32_t> values(count);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

TEST(Bulk, LoadOfRaggedTile) {
  for (Order order : kOrders) {
    BulkRun run(expectBytes(128) + load("2d", "{8, -1}") + kWait + kStoreWord);
    run.launch.order = order;
    uint64_t in = run.upload(counting(12 * 5)), out = run.memory.allocate(128);
    ASSERT_EQ(run({run.give(mapOf(in, 12, 5)), out}, 32), "");
    std::vector<uint32_t> words = run.download<uint32_t>(out, 32);
    for (uint32_t row = 0; row < 4; ++row)
      for (uint32_t x = 0; x < 8; ++x)
        EXPECT_EQ(words[row * 8 + x],
                  row == 0 || x >= 4 ? 0 : (row - 1) * 12 + 8 + x + 1);
  }
}

/// A box of five axes, and the three swizzles.
TEST(Bulk, AxesAndSwizzles) {
  for (Swizzle swizzle :
       {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128}) {
    BulkRun run(expectBytes(512) + load("5d", "{0, 0, 1, 0, 1}") + kWait +
                kStoreWord);
    TensorMap map;
    uint32_t wide = std::max(8u, 4u << static_cast<uint32_t>(swizzle));
    uint64_t in = run.upload(counting(wide * 4 * 3 * 4 * 2));
    map.address = in;
    map.rank = 5;
    map.elementBytes = 4;
    uint64_t sizes[5] = {wide, 4, 3, 4, 2}, stride = 4;
    uint32_t box[5] = {wide, 4, 1, 32 / wide, 1};
    for (int axis = 0; axis < 5; ++axis) {
      map.sizes[axis] = sizes[axis];
      map.box[axis] = box[axis];
      map.strides[axis] = stride;
      stride *= sizes[axis];
    }
    map.swizzle = swizzle;
    uint64_t out = run.memory.allocate(512);
    ASSERT_EQ(run({run.give(map), out}, 128), "");
    std::vector<uint32_t> words = run.download<uint32_t>(out, 128);
    uint32_t turns = (1u << static_cast<uint32_t>(swizzle)) - 1;
    for (uint32_t i = 0; i < 128; ++i) {
      uint32_t at = i * 4 ^ (i * 4 / 128 & turns) * 16; // Where it lies.
      uint32_t x = i % wide, y = i / wide % 4, w = i / wide / 4;
      EXPECT_EQ(words[at / 4], 1 + x + wide * (y + 4 * (1 + 3 * (w + 4 * 1))));
    }
  }
}

TEST(Bulk, PlainBytes) {
  BulkRun run(expectBytes(64) +
              "  @%p0 cp.async.bulk.shared::cluster.global.mbarrier::"
              "complete_tx::bytes [%tile], [%map+16], 64, [%bar];\n" +
              kWait +
              "  setp.lt.u32 %p2, %t, 16;\n  mov.u32 %r1, 0;\n"
              "  @%p2 ld.shared.u32 %r1, [%r0];\n  add.u32 %r1, %r1, 1;\n"
              "  st.shared.u32 [%r0], %r1;\n  fence.proxy.async;\n"
              "  bar.sync 0;\n  cvt.u64.u32 %s, %t;\n"
              "  @%p0 cp.async.bulk.global.shared::cta.bulk_group [%out], "
              "[%tile], 128;\n  cp.async.bulk.commit_group;\n"
              "  cp.async.bulk.wait_group.read 0;\n");
  for (Order order : kOrders) {
    run.launch.order = order;
    uint64_t in = run.upload(counting(20)), out = run.memory.allocate(128);
    ASSERT_EQ(run({in, out}, 32), "");
    std::vector<uint32_t> words = run.download<uint32_t>(out, 32);
    EXPECT_EQ(words[15], 21u);
    EXPECT_EQ(words[16], 1u);
  }
  run.expect("which ends", run.upload(counting(19)));
  run.expect("one is no multiple of 16", run.upload(counting(20)) + 8);
}

/// What lies outside the tensor is not written.
TEST(Bulk, StoreOfRaggedTile) {
  std::string body = "  st.shared.u32 [%r0], %t;\n"
                     "  fence.proxy.async.shared::cta;\n  bar.warp.sync -1;\n"
                     "  @%p0 cp.async.bulk.tensor.2d.global.shared::cta.tile"
                     ".bulk_group [%map, {8, 3}], [%tile];\n"
                     "  cp.async.bulk.commit_group;\n"
                     "  cp.async.bulk.wait_group 0;\n";
  for (Order order : kOrders) {
    BulkRun run(body);
    run.launch.order = order;
    uint64_t to = run.upload(std::vector<uint32_t>(12 * 5, 99));
    ASSERT_EQ(run({run.give(mapOf(to, 12, 5)), to}, 32), "");
    std::vector<uint32_t> words = run.download<uint32_t>(to, 60);
    EXPECT_EQ(words[3 * 12 + 8], 0u);
    EXPECT_EQ(words[4 * 12 + 11], 11u);
    EXPECT_EQ(words[3 * 12 + 7], 99u);
    EXPECT_EQ(words[4 * 12], 99u);
  }
}

TEST(Bulk, LoadMisuse) {
  auto says = [](const std::string &words, const std::string &body) {
    BulkRun run(body);
    uint64_t in = run.upload(counting(60));
    run.expect(words, run.give(mapOf(in, 12, 5)));
  };
  says("nobody has waited for it",
       expectBytes(128) + load("2d", "{0, 0}") + kStoreWord + kWait);
  says("nobody has waited for it",
       expectBytes(128) + load("2d", "{0, 0}") + load("2d", "{0, 0}") + kWait);
  says("deadlock", expectBytes(144) + load("2d", "{0, 0}") + kWait);
  says("3 coordinates, but the tensor map has 2",
       expectBytes(128) + load("3d", "{0, 0, 0}"));
  says("the kernel ends while",
       "  @%p0 mbarrier.expect_tx.relaxed.cta.shared.b64 [%bar], 128;\n"
       "  setp.eq.u32 %p2, %t, 77;\n" +
           load("2d", "{0, 0}") + "  @%p2 bra wait;\n  exit;\n" + kWait);
  says("no initialised mbarrier",
       "  add.u32 %bar, %bar, 8;\n" + load("2d", "{0, 0}"));
  says("no place for it: a multiple of 128",
       "  add.u32 %tile, %tile, 64;\n" + load("2d", "{0, 0}"));
  says("with no fence.proxy.async between",
       "  st.shared.u32 [%r0], %t;\n  bar.warp.sync -1;\n" + expectBytes(128) +
           load("2d", "{0, 0}") + kWait);
  says("there is no tensor map",
       "  add.u64 %map, %map, 64;\n" + load("2d", "{0, 0}"));
  says("where there is an mbarrier", "  st.shared.u32 [%bar+4], %t;\n");
  says("there is an mbarrier at",
       "  @%p0 mbarrier.init.shared.b64 [%bar], 1;\n");
}

TEST(Bulk, StoreMisuse) {
  std::string store = "  @%p0 cp.async.bulk.tensor.2d.global.shared::cta.tile"
                      ".bulk_group [%map, {0, 0}], [%tile];\n"
                      "  cp.async.bulk.commit_group;\n",
              fill = "  st.shared.u32 [%r0], %t;\n",
              fence = "  fence.proxy."
                      "async.shared::cta;\n",
              wait = "  cp.async.bulk.wait_group 0;\n",
              sync = "  bar.warp.sync -1;\n";
  auto says = [](const std::string &words, const std::string &body) {
    BulkRun run(body);
    uint64_t to = run.upload(counting(60));
    run.expect(words, run.give(mapOf(to, 12, 5)));
  };
  says("with no fence.proxy.async between", fill + sync + store + wait);
  says("data race", fill + "  @%p0 fence.proxy.async;\n" + store + wait);
  says("may still read", fill + fence + sync + store + sync + fill + wait);
  says("the block ends while", fill + fence + sync + store);
  says("never written", fence + sync + store + wait);
}

/// Each block loads half of a tile for both.
TEST(Bulk, Multicast) {
  std::string body =
      expectBytes(256) +
      "  mad.lo.u32 %r2, %rank, 128, %tile;\n  shl.b32 %r3, %rank, 2;\n"
      "  mov.u16 %m, MASK;\n"
      "  @%p0 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::"
      "complete_tx::bytes.multicast::cluster [%r2], [%map, {0, %r3}], [%bar], "
      "%m;\n" +
      std::string(kWait) + kStoreWord + kEnd;
  auto with = [&](const char *mask) {
    std::string out = body;
    return out.replace(out.find("MASK"), 4, mask);
  };
  for (Order order : kOrders) {
    BulkRun run(with("3"));
    run.launch.order = order;
    run.launch.grid[0] = 4;
    run.launch.cluster[0] = 2;
    uint64_t in = run.upload(counting(64)), out = run.memory.allocate(1024);
    ASSERT_EQ(run({run.give(mapOf(in, 8, 8)), out}, 64), "");
    std::vector<uint32_t> words = run.download<uint32_t>(out, 256);
    for (uint32_t i = 0; i < 256; ++i)
      EXPECT_EQ(words[i], i % 64 + 1);
  }
  BulkRun far(with("5"));
  far.launch.grid[0] = far.launch.cluster[0] = 2;
  far.expect("outside the cluster of 2",
             far.give(mapOf(far.upload(counting(64)), 8, 8)), 64);
}

/// Every thread stores into the other block's tile and arrives there.
TEST(Clusters, DistributedSharedMemory) {
  std::string store =
      "  xor.b32 %r2, %rank, 1;\n  mapa.shared::cluster.u32 %r3, %r0, %r2;\n"
      "  st.shared::cluster.u32 [%r3], %r4;\n";
  std::string fill = "  mov.u32 %r4, %ctaid.x;\n";
  for (Order order : kOrders) {
    BulkRun run(fill + store + kEnd + kStoreWord);
    run.launch.order = order;
    run.launch.grid[0] = run.launch.cluster[0] = 2;
    uint64_t out = run.memory.allocate(256);
    ASSERT_EQ(run({out, out}, 32), "");
    EXPECT_EQ(run.download<uint32_t>(out, 64)[5], 1u);
    EXPECT_EQ(run.download<uint32_t>(out, 64)[37], 0u);
  }
  auto says = [](const std::string &words, const std::string &body) {
    BulkRun run(body);
    run.launch.grid[0] = run.launch.cluster[0] = 2;
    run.expect(words, 0);
  };
  says("exited: its shared memory is gone", fill + store);
  says("data race", fill + "  st.shared.u32 [%r0], %r4;\n" + kEnd + store +
                        kStoreWord + kEnd);
  says("there is no block 2", "  mov.u32 %r2, 2;\n"
                              "  mapa.shared::cluster.u32 %r3, %r0, %r2;\n");
}

/// Arrivals at another block's barrier, which hand on what was seen.
TEST(Clusters, RemoteArrivals) {
  std::string body =
      "  setp.eq.u32 %p2, %rank, 0;\n  mov.u32 %r2, 1;\n  mov.u32 %r4, 7;\n"
      "  mapa.shared::cluster.u32 %r3, %bar, %r2;\n"
      "  mapa.shared::cluster.u32 %r5, %tile, %r2;\n"
      "  and.pred %p2, %p2, %p0;\n"
      "  @%p2 st.shared::cluster.u32 [%r5], %r4;\n"
      "  @%p2 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];\n"
      "  setp.eq.u32 %p2, %rank, 0;\n  @%p2 bra done;\n" +
      std::string(kWait) +
      "  ld.shared.u32 %r1, [%tile];\n  st.global.u32 [%out], %r1;\ndone:\n" +
      kEnd;
  for (Order order : kOrders) {
    BulkRun run(body);
    run.launch.order = order;
    run.launch.grid[0] = run.launch.cluster[0] = 2;
    uint64_t out = run.memory.allocate(256);
    ASSERT_EQ(run({out, out}, 32), "");
    EXPECT_EQ(run.download<uint32_t>(out, 64)[60], 7u);
  }
}

TEST(Clusters, Barriers) {
  auto says = [](const std::string &words, const std::string &body) {
    BulkRun run(body);
    run.launch.grid[0] = run.launch.cluster[0] = 2;
    run.expect(words, 0);
  };
  says("twice in one phase", "  barrier.cluster.arrive.aligned;\n"
                             "  barrier.cluster.arrive.aligned;\n");
  says("without having arrived", "  barrier.cluster.wait.aligned;\n");
  says("block (1,0,0): deadlock",
       "  setp.eq.u32 %p2, %rank, 0;\n  @%p2 bra other;\n" + std::string(kEnd) +
           "other:\n  @!%p2 exit;\n" + kWait);
}

TEST(TensorMaps, Limits) {
  TensorMap map = mapOf(0x1000, 12, 5);
  EXPECT_EQ(map.check(), "");
  map.strides[1] = 40;
  EXPECT_NE(map.check().find("stride of axis 1"), std::string::npos);
  map = mapOf(0x1008, 12, 5);
  EXPECT_NE(map.check().find("address"), std::string::npos);
  map = mapOf(0x1000, 12, 5);
  map.box[1] = 257;
  EXPECT_NE(map.check().find("257 elements"), std::string::npos);
  map.box[1] = 4;
  map.box[0] = 3;
  EXPECT_NE(map.check().find("12 bytes"), std::string::npos);
  map.box[0] = 16;
  map.swizzle = Swizzle::B32;
  EXPECT_NE(map.check().find("64 bytes, and 32 are swizzled"),
            std::string::npos);
  map.rank = 6;
  EXPECT_NE(map.check().find("rank 6"), std::string::npos);
}

} // namespace
