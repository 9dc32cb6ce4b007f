// Each op of the dialect becomes the instruction that it documents, down to the
// text of PTX, and NVIDIA's assembler takes it.

// RUN: tenon-opt %s --lower-ptx | mlir-translate --mlir-to-llvmir | \
// RUN:   llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_80 -mattr=+ptx80 -o %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: %if ptxas %{ ptxas -arch=sm_80 %t.ptx -o %t.cubin %}

!sums = vector<4xf32>
!counts = vector<4xi32>

// CHECK-LABEL: .entry products
llvm.func @products(%from: !llvm.ptr<3>, %to: !llvm.ptr<1>)
    attributes {nvvm.kernel} {
  // CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
  %a = ptx.ldmatrix %from : (!llvm.ptr<3>) -> vector<4xi32>
  // CHECK: ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16
  %b = ptx.ldmatrix trans %from : (!llvm.ptr<3>) -> vector<2xi32>
  // CHECK: ldmatrix.sync.aligned.m8n8.x1.shared.b16
  %one = ptx.ldmatrix %from : (!llvm.ptr<3>) -> vector<1xi32>
  llvm.store %one, %to : vector<1xi32>, !llvm.ptr<1>
  %0 = llvm.load %to : !llvm.ptr<1> -> !sums
  // CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
  %1 = ptx.mma f16 %a, %b, %0 : vector<4xi32>, vector<2xi32>, !sums
  // CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
  %2 = ptx.mma bf16 %a, %b, %1 : vector<4xi32>, vector<2xi32>, !sums
  // CHECK: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
  %3 = ptx.mma tf32 %a, %b, %2 : vector<4xi32>, vector<2xi32>, !sums
  llvm.store %3, %to : !sums, !llvm.ptr<1>
  llvm.return
}

// CHECK-LABEL: .entry products_of_bytes
llvm.func @products_of_bytes(%a: vector<4xi32>, %b: vector<2xi32>,
                             %to: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %0 = llvm.load %to : !llvm.ptr<1> -> !counts
  // CHECK: mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32
  %1 = ptx.mma s8 %a, %b, %0 : vector<4xi32>, vector<2xi32>, !counts
  // CHECK: mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32
  %2 = ptx.mma u8 %a, %b, %1 : vector<4xi32>, vector<2xi32>, !counts
  // CHECK: mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32
  %3 = ptx.mma s8_u8 %a, %b, %2 : vector<4xi32>, vector<2xi32>, !counts
  // CHECK: mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32
  %4 = ptx.mma u8_s8 %a, %b, %3 : vector<4xi32>, vector<2xi32>, !counts
  llvm.store %4, %to : !counts, !llvm.ptr<1>
  llvm.return
}

// CHECK-LABEL: .entry copies
llvm.func @copies(%to: !llvm.ptr<3>, %from: !llvm.ptr<1>, %n: i32)
    attributes {nvvm.kernel} {
  // CHECK: cp.async.ca.shared.global [%{{.*}}], [%{{.*}}], 4;
  ptx.cp_async ca 4 %to, %from : !llvm.ptr<3>, !llvm.ptr<1>
  // CHECK: cp.async.ca.shared.global [%{{.*}}], [%{{.*}}], 8, %{{.*}};
  ptx.cp_async ca 8 %to, %from size %n : !llvm.ptr<3>, !llvm.ptr<1>, i32
  // CHECK: cp.async.ca.shared.global [%{{.*}}], [%{{.*}}], 16;
  ptx.cp_async ca 16 %to, %from : !llvm.ptr<3>, !llvm.ptr<1>
  // CHECK: cp.async.cg.shared.global [%{{.*}}], [%{{.*}}], 16, %{{.*}};
  ptx.cp_async cg 16 %to, %from size %n : !llvm.ptr<3>, !llvm.ptr<1>, i32
  // CHECK: cp.async.commit_group;
  ptx.cp_async_commit
  // CHECK: cp.async.wait_group 2;
  ptx.cp_async_wait 2
  llvm.return
}

// CHECK-LABEL: .entry barriers
llvm.func @barriers(%p: !llvm.ptr<3>, %n: i32) attributes {nvvm.kernel} {
  // CHECK: bar.sync 1, 128;
  ptx.named_barrier 1 threads 128
  // CHECK: bar.arrive 2, 64;
  ptx.named_barrier arrive 2 threads 64
  // CHECK: mbarrier.init.shared.b64 [%{{.*}}], %{{.*}};
  ptx.mbarrier.init %p, %n : !llvm.ptr<3>, i32
  // CHECK: mbarrier.arrive.shared.b64 state, [%{{.*}}];
  ptx.mbarrier.arrive %p : !llvm.ptr<3>
  // CHECK: again:
  // CHECK-NEXT: mbarrier.test_wait.parity.shared.b64 done, [%{{.*}}], %{{.*}};
  // CHECK-NEXT: @!done bra again;
  ptx.mbarrier.wait poll %p, %n : !llvm.ptr<3>, i32
  llvm.return
}
