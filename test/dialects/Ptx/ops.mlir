// Every op of the dialect parses, verifies, and prints what parses again to
// the same text.

// RUN: tenon-opt %s -o %t
// RUN: tenon-opt %t | diff %t -
// RUN: FileCheck %s < %t

// CHECK-LABEL: @products
func.func @products(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>,
                    %s: vector<4xi32>) {
  // CHECK: ptx.mma bf16 %{{.*}}, %{{.*}}, %{{.*}} : vector<4xi32>, vector<2xi32>, vector<4xf32>
  %0 = ptx.mma bf16 %a, %b, %c : vector<4xi32>, vector<2xi32>, vector<4xf32>
  // CHECK: ptx.mma f16
  %1 = ptx.mma f16 %a, %b, %0 : vector<4xi32>, vector<2xi32>, vector<4xf32>
  // CHECK: ptx.mma tf32
  %2 = ptx.mma tf32 %a, %b, %1 : vector<4xi32>, vector<2xi32>, vector<4xf32>
  // CHECK: ptx.mma u8_s8 %{{.*}} : vector<4xi32>, vector<2xi32>, vector<4xi32>
  %3 = ptx.mma u8_s8 %a, %b, %s : vector<4xi32>, vector<2xi32>, vector<4xi32>
  return
}

// CHECK-LABEL: @matrices
func.func @matrices(%p: !llvm.ptr<3>) {
  // CHECK: ptx.ldmatrix %{{.*}} : (!llvm.ptr<3>) -> vector<4xi32>
  %0 = ptx.ldmatrix %p : (!llvm.ptr<3>) -> vector<4xi32>
  // CHECK: ptx.ldmatrix trans %{{.*}} : (!llvm.ptr<3>) -> vector<2xi32>
  %1 = ptx.ldmatrix trans %p : (!llvm.ptr<3>) -> vector<2xi32>
  // CHECK: ptx.stmatrix %{{.*}}, %{{.*}} : !llvm.ptr<3>, vector<4xi32>
  ptx.stmatrix %p, %0 : !llvm.ptr<3>, vector<4xi32>
  // CHECK: ptx.stmatrix trans %{{.*}}, %{{.*}} : !llvm.ptr<3>, vector<2xi32>
  ptx.stmatrix trans %p, %1 : !llvm.ptr<3>, vector<2xi32>
  return
}

// CHECK-LABEL: @copies
func.func @copies(%to: !llvm.ptr<3>, %from: !llvm.ptr<1>, %n: i32) {
  // CHECK: ptx.cp_async cg 16 %{{.*}}, %{{.*}} : !llvm.ptr<3>, !llvm.ptr<1>
  ptx.cp_async cg 16 %to, %from : !llvm.ptr<3>, !llvm.ptr<1>
  // CHECK: ptx.cp_async ca 4 %{{.*}}, %{{.*}} size %{{.*}} : !llvm.ptr<3>, !llvm.ptr<1>, i32
  ptx.cp_async ca 4 %to, %from size %n : !llvm.ptr<3>, !llvm.ptr<1>, i32
  // CHECK: ptx.cp_async_commit
  ptx.cp_async_commit
  // CHECK: ptx.cp_async_wait 2
  ptx.cp_async_wait 2
  return
}

// CHECK-LABEL: @barriers
func.func @barriers(%p: !llvm.ptr<3>, %n: i32) {
  // CHECK: ptx.named_barrier 1 threads 128
  ptx.named_barrier 1 threads 128
  // CHECK: ptx.named_barrier arrive 2 threads 64
  ptx.named_barrier arrive 2 threads 64
  // CHECK: ptx.mbarrier.init %{{.*}}, %{{.*}} : !llvm.ptr<3>, i32
  ptx.mbarrier.init %p, %n : !llvm.ptr<3>, i32
  // CHECK: ptx.mbarrier.arrive %{{.*}} : !llvm.ptr<3>
  ptx.mbarrier.arrive %p : !llvm.ptr<3>
  // CHECK: ptx.mbarrier.arrive %{{.*}} rank %{{.*}} : !llvm.ptr<3>, i32
  ptx.mbarrier.arrive %p rank %n : !llvm.ptr<3>, i32
  // CHECK: ptx.mbarrier.expect %{{.*}}, %{{.*}} : !llvm.ptr<3>, i32
  ptx.mbarrier.expect %p, %n : !llvm.ptr<3>, i32
  // CHECK: ptx.mbarrier.wait %{{.*}}, %{{.*}} : !llvm.ptr<3>, i32
  ptx.mbarrier.wait %p, %n : !llvm.ptr<3>, i32
  // CHECK: ptx.mbarrier.wait poll %{{.*}}, %{{.*}} : !llvm.ptr<3>, i32
  ptx.mbarrier.wait poll %p, %n : !llvm.ptr<3>, i32
  return
}

// CHECK-LABEL: @warpgroups
func.func @warpgroups(%p: !llvm.ptr<3>, %a: vector<4xi32>, %c: vector<32xf32>,
                      %more: i1) {
  // CHECK: ptx.wgmma.descriptor swizzle128 %{{.*}} leading 16 stride 1024 : (!llvm.ptr<3>) -> i64
  %0 = ptx.wgmma.descriptor swizzle128 %p leading 16 stride 1024
      : (!llvm.ptr<3>) -> i64
  // CHECK: ptx.wgmma.fence
  ptx.wgmma.fence
  // CHECK: ptx.wgmma.mma bf16 %{{.*}}, %{{.*}}, %{{.*}} accumulate %{{.*}} trans_lhs trans_rhs : i64, i64, vector<32xf32>, i1
  %1 = ptx.wgmma.mma bf16 %0, %0, %c accumulate %more trans_lhs trans_rhs
      : i64, i64, vector<32xf32>, i1
  // CHECK: ptx.wgmma.mma bf16 %{{.*}}, %{{.*}}, %{{.*}} : vector<4xi32>, i64, vector<32xf32>
  %2 = ptx.wgmma.mma bf16 %a, %0, %1 : vector<4xi32>, i64, vector<32xf32>
  // CHECK: ptx.wgmma.commit
  ptx.wgmma.commit
  // CHECK: ptx.wgmma.wait 1 %{{.*}}, %{{.*}} : vector<32xf32>, vector<4xi32>
  %3:2 = ptx.wgmma.wait 1 %2, %a : vector<32xf32>, vector<4xi32>
  // CHECK: ptx.wgmma.wait 0{{$}}
  ptx.wgmma.wait 0
  return
}

// CHECK-LABEL: @tiles
func.func @tiles(%p: !llvm.ptr<3>, %map: !llvm.ptr, %x: i32, %mask: i16) {
  // CHECK: ptx.tma.load %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}} : !llvm.ptr<3>, !llvm.ptr, i32, i32, !llvm.ptr<3>
  ptx.tma.load %p, %map[%x, %x], %p
      : !llvm.ptr<3>, !llvm.ptr, i32, i32, !llvm.ptr<3>
  // CHECK: ptx.tma.load_multicast %{{.*}}, %{{.*}}[%{{.*}}], %{{.*}}, %{{.*}} : !llvm.ptr<3>, !llvm.ptr, i32, !llvm.ptr<3>, i16
  ptx.tma.load_multicast %p, %map[%x], %p, %mask
      : !llvm.ptr<3>, !llvm.ptr, i32, !llvm.ptr<3>, i16
  // CHECK: ptx.tma.store %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}} : !llvm.ptr, i32, i32, !llvm.ptr<3>
  ptx.tma.store %map[%x, %x], %p : !llvm.ptr, i32, i32, !llvm.ptr<3>
  // CHECK: ptx.tma.commit
  ptx.tma.commit
  // CHECK: ptx.tma.wait 0
  ptx.tma.wait 0
  // CHECK: ptx.tma.wait read 1
  ptx.tma.wait read 1
  return
}

// CHECK-LABEL: @order
func.func @order(%x: f32) {
  // CHECK: ptx.fence_proxy_async
  ptx.fence_proxy_async
  // CHECK: ptx.sched_fence %{{.*}} : f32
  ptx.sched_fence %x : f32
  // CHECK: ptx.setmaxnreg increase 232
  ptx.setmaxnreg increase 232
  // CHECK: ptx.setmaxnreg decrease 40
  ptx.setmaxnreg decrease 40
  return
}
