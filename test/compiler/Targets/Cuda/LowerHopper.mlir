// The same of the ops that only sm_90a has.

// RUN: tenon-opt %s --lower-ptx | mlir-translate --mlir-to-llvmir | \
// RUN:   llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_90a -mattr=+ptx80 -o %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: %if ptxas %{ ptxas -arch=sm_90a %t.ptx -o %t.cubin %}

!map = !llvm.array<128 x i8>
!sums = vector<8xf32>

// CHECK-LABEL: .entry products
llvm.func @products(%p: !llvm.ptr<3>, %to: !llvm.ptr<1>, %n: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %0 = llvm.load %to : !llvm.ptr<1> -> !sums
  %a = llvm.load %to : !llvm.ptr<1> -> vector<4xi32>
  // CHECK: or.b64 %{{.*}}, 4611686293305360384;
  %d = ptx.wgmma.descriptor swizzle128 %p leading 16 stride 1024
      : (!llvm.ptr<3>) -> i64
  // CHECK: wgmma.fence.sync.aligned;
  ptx.wgmma.fence
  %more = llvm.icmp "eq" %n, %n : i32
  // CHECK: setp.ne.b32 more
  // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {{.*}}, more, 1, 1, 0, 1;
  %1 = ptx.wgmma.mma bf16 %d, %d, %0 accumulate %more trans_rhs
      : i64, i64, !sums, i1
  // CHECK: wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {{.*}}, 1, 1, 1, 0;
  %2 = ptx.wgmma.mma f16 %a, %d, %1 : vector<4xi32>, i64, !sums
  // CHECK: wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 {{.*}}, 1, 1, 1;
  %3 = ptx.wgmma.mma tf32 %d, %d, %2 : i64, i64, !sums
  // CHECK: wgmma.mma_async.sync.aligned.m64n16k32.f32.e4m3.e4m3 {{.*}}, 1, 1, 1;
  %4 = ptx.wgmma.mma e4m3 %d, %d, %3 : i64, i64, !sums
  // CHECK: wgmma.commit_group.sync.aligned;
  ptx.wgmma.commit
  // CHECK: wgmma.wait_group.sync.aligned 0;
  %5 = ptx.wgmma.wait 0 %4 : !sums
  // CHECK: setp.eq.f32 never, %{{.*}}, 0fBF800000; @never nanosleep.u32 1;
  %zero = llvm.mlir.constant(0 : i32) : i32
  %x = llvm.extractelement %5[%zero : i32] : !sums
  ptx.sched_fence %x : f32
  llvm.store %5, %to : !sums, !llvm.ptr<1>
  llvm.return
}

// CHECK-LABEL: .entry products_of_bytes
llvm.func @products_of_bytes(%d: i64, %to: !llvm.ptr<1>)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %0 = llvm.load %to : !llvm.ptr<1> -> vector<4xi32>
  ptx.wgmma.fence
  // CHECK: wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {{.*}}, 1;
  %1 = ptx.wgmma.mma s8 %d, %d, %0 : i64, i64, vector<4xi32>
  ptx.wgmma.commit
  %2 = ptx.wgmma.wait 0 %1 : vector<4xi32>
  llvm.store %2, %to : vector<4xi32>, !llvm.ptr<1>
  llvm.return
}

// CHECK-LABEL: .entry tiles
llvm.func @tiles(%map: !llvm.ptr {llvm.byval = !map, llvm.align = 64 : i64,
                                  nvvm.grid_constant},
                 %p: !llvm.ptr<3>, %x: i32, %y: i32, %mask: i16)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>,
                nvvm.cluster_dim = array<i32: 2>, nvvm.minctasm = 1 : i32} {
  // CHECK: griddepcontrol.launch_dependents;
  ptx.grid_launch
  // CHECK: griddepcontrol.wait;
  ptx.grid_wait
  // CHECK: setmaxnreg.dec.sync.aligned.u32 40;
  ptx.setmaxnreg decrease 40
  // CHECK: mbarrier.arrive.expect_tx.shared.b64 state, [%{{.*}}], %{{.*}};
  ptx.mbarrier.expect %p, %x : !llvm.ptr<3>, i32
  // CHECK: mapa.shared::cluster.u32 there, %{{.*}}, %{{.*}}; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];
  ptx.mbarrier.arrive %p rank %x : !llvm.ptr<3>, i32
  // CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%{{.*}}], [%{{.*}}, {%{{.*}}, %{{.*}}}], [%{{.*}}];
  ptx.tma.load %p, %map[%x, %y], %p
      : !llvm.ptr<3>, !llvm.ptr, i32, i32, !llvm.ptr<3>
  // CHECK: cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%{{.*}}], [%{{.*}}, {%{{.*}}}], [%{{.*}}], %{{.*}};
  ptx.tma.load_multicast %p, %map[%x], %p, %mask
      : !llvm.ptr<3>, !llvm.ptr, i32, !llvm.ptr<3>, i16
  // CHECK: mbarrier.try_wait.parity.shared.b64 done, [%{{.*}}], %{{.*}};
  ptx.mbarrier.wait %p, %y : !llvm.ptr<3>, i32
  %a = ptx.ldmatrix %p : (!llvm.ptr<3>) -> vector<4xi32>
  // CHECK: stmatrix.sync.aligned.m8n8.x4.shared.b16
  ptx.stmatrix %p, %a : !llvm.ptr<3>, vector<4xi32>
  // CHECK: stmatrix.sync.aligned.m8n8.x4.trans.shared.b16
  ptx.stmatrix trans %p, %a : !llvm.ptr<3>, vector<4xi32>
  // CHECK: fence.proxy.async.shared::cta;
  ptx.fence_proxy_async
  // CHECK: cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%{{.*}}, {%{{.*}}, %{{.*}}}], [%{{.*}}];
  ptx.tma.store %map[%x, %y], %p : !llvm.ptr, i32, i32, !llvm.ptr<3>
  // CHECK: cp.async.bulk.commit_group;
  ptx.tma.commit
  // CHECK: cp.async.bulk.wait_group.read 1;
  ptx.tma.wait read 1
  // CHECK: cp.async.bulk.wait_group 0;
  ptx.tma.wait 0
  // CHECK: setmaxnreg.inc.sync.aligned.u32 232;
  ptx.setmaxnreg increase 232
  llvm.return
}
