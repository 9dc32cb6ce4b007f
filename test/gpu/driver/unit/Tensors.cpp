//===- Tensors.cpp - Tensor maps and launches in clusters -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/driver/unit/Fixture.h"

#include <cstring>

using namespace tenon::cuda;

namespace {

/// Each block of a cluster loads half of 64 words for all: parameters map, out.
const char *const kShare = R"(
.version 8.0
.target sm_90a
.address_size 64
.visible .entry share(.param .align 64 .b8 map[128], .param .u64 out)
{
  .shared .align 128 .b8 tile[256];
  .shared .align 8 .b64 bar;
  .reg .b32 %t, %tile, %bar, %rank, %x, %y;
  .reg .b64 %map, %out;
  .reg .b16 %mask;
  .reg .pred %first, %done;
  mov.u32 %t, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  mov.u32 %bar, bar;
  mov.b64 %map, map;
  cvta.param.u64 %map, %map;
  ld.param.u64 %out, [out];
  setp.eq.u32 %first, %t, 0;
  @%first mbarrier.init.shared.b64 [%bar], 1;
  @%first fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  shl.b32 %x, %rank, 5;
  shl.b32 %tile, %rank, 7;
  mov.u32 %y, tile;
  add.u32 %tile, %tile, %y;
  mov.u16 %mask, 3;
  @!%first bra wait;
  mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 256;
  cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%tile], [%map, {%x}], [%bar], %mask;
wait:
  mbarrier.try_wait.parity.shared.b64 %done, [%bar], 0;
  @!%done bra wait;
  mad.lo.u32 %y, %t, 4, %y;
  ld.shared.u32 %x, [%y];
  mov.u32 %y, %ctaid.x;
  mad.lo.u32 %y, %y, 64, %t;
  mad.wide.u32 %out, %y, 4, %out;
  st.global.u32 [%out], %x;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}
)";

struct alignas(64) Map {
  char bytes[128];
};

class Tensors : public DriverTest {
protected:
  Result encode(Map &map, DevicePointer address, uint64_t width, uint32_t box,
                int swizzle = 0, uint32_t step = 1) {
    using Encode = Result (*)(void *, int, uint32_t, void *, const uint64_t *,
                              const uint64_t *, const uint32_t *,
                              const uint32_t *, int, int, int, int);
    constexpr int kWords = 2;
    return reinterpret_cast<Encode>(symbol("cuTensorMapEncodeTiled"))(
        &map, kWords, 1, reinterpret_cast<void *>(address), &width, nullptr,
        &box, &step, 0, swizzle, 0, 0);
  }
  Result share(Function function, Map &map, DevicePointer out, unsigned grid,
               unsigned cluster) {
    constexpr int kCluster = 4;
    const unsigned size[] = {cluster, 1, 1};
    LaunchAttribute attribute = {kCluster, {}, {}};
    std::memcpy(attribute.bytes, size, sizeof size);
    LaunchConfig config = {grid, 1, 1, 64, 1, 1, 0, stream, &attribute, 1};
    void *parameters[] = {&map, &out};
    return cu.launchKernelEx(&config, function, parameters, nullptr);
  }
};

TEST_F(Tensors, ClustersShareATile) {
  open();
  Module module = load(kShare);
  Function function = this->function(module, "share");
  DevicePointer in = allocate(256), out = allocate(1024);
  std::vector<uint32_t> values(64), results(256);
  for (unsigned i = 0; i < 64; ++i)
    values[i] = i * i;
  EXPECT_EQ(cu.copyHostToDevice(in, values.data(), 256, stream), success);
  Map map;
  EXPECT_EQ(encode(map, in, 64, 32), success);
  EXPECT_EQ(share(function, map, out, 4, 2), success);
  EXPECT_EQ(cu.copyDeviceToHost(results.data(), out, 1024, stream), success);
  EXPECT_EQ(cu.streamSynchronize(stream), success);
  for (unsigned i = 0; i < 256; ++i)
    EXPECT_EQ(results[i], values[i % 64]);
  EXPECT_EQ(cu.memFree(in), success);
  EXPECT_EQ(cu.memFree(out), success);
  EXPECT_EQ(cu.moduleUnload(module), success);
  close();
}

TEST_F(Tensors, MemoryOfAMapIsInUse) {
  open({{"QUEUE", "lazy"}});
  Module module = load(kShare);
  DevicePointer in = allocate(256), out = allocate(512);
  EXPECT_EQ(cu.memsetBytes(in, 0, 256, stream), success);
  Map map;
  EXPECT_EQ(encode(map, in, 64, 32), success);
  EXPECT_EQ(share(function(module, "share"), map, out, 2, 2), success);
  EXPECT_EQ(cu.memFree(in), success); // As the driver, which then waits.
  EXPECT_COMPLAINT("is not finished: synchronise first");
}

TEST_F(Tensors, MapsAreChecked) {
  open();
  DevicePointer in = allocate(128);
  Map map;
  EXPECT_NE(encode(map, in, 33, 16), success);
  EXPECT_COMPLAINT("not inside one allocation");
  EXPECT_NE(encode(map, in, 32, 300), success);
  EXPECT_COMPLAINT("300 elements along axis 0");
  EXPECT_NE(encode(map, in, 32, 16, 1), success);
  EXPECT_COMPLAINT("64 bytes, and 32 are swizzled");
  EXPECT_NE(encode(map, in + 4, 16, 16), success);
  EXPECT_COMPLAINT("no multiple of 16");
  EXPECT_NE(encode(map, in, 32, 16, 0, 2), success);
  EXPECT_COMPLAINT("strides of elements");
}

TEST_F(Tensors, ClustersAreChecked) {
  open();
  Module module = load(kShare);
  Function function = this->function(module, "share");
  DevicePointer in = allocate(128);
  Map map;
  EXPECT_EQ(encode(map, in, 32, 16), success);
  EXPECT_NE(share(function, map, in, 3, 2), success);
  EXPECT_COMPLAINT("no multiple of the cluster's 2");
  EXPECT_NE(share(function, map, in, 16, 16), success);
  EXPECT_COMPLAINT("16 blocks in a cluster are over the limit of 8");
}

TEST_F(Tensors, OldDevicesHaveNeither) {
  open({{"SM", "80"}});
  Map map;
  DevicePointer in = allocate(128);
  EXPECT_NE(encode(map, in, 32, 16), success);
  EXPECT_COMPLAINT("no tensor maps");
}

} // namespace
