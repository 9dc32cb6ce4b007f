// c = a * b^T by one warpgroup: tiles of 64 of k come by TMA, one at a time.
// HopperTest.cpp runs it on the simulator.

// RUN: tenon-opt %s --lower-ptx | mlir-translate --mlir-to-llvmir | \
// RUN:   llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_90a -mattr=+ptx80 -o %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: %if ptxas %{ ptxas -arch=sm_90a %t.ptx -o %t.cubin %}

!map = !llvm.array<128 x i8>
!sums = vector<32xf32>

llvm.mlir.global external @shared()
    {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>

// CHECK-LABEL: .entry product
// CHECK-COUNT-4: wgmma.mma_async
llvm.func @product(%a: !llvm.ptr {llvm.byval = !map, llvm.align = 64 : i64,
                                  nvvm.grid_constant},
                   %b: !llvm.ptr {llvm.byval = !map, llvm.align = 64 : i64,
                                  nvvm.grid_constant},
                   %c: !llvm.ptr<1>, %tiles: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c64 = llvm.mlir.constant(64 : i32) : i32
  %bytes = llvm.mlir.constant(16384 : i32) : i32
  %zeros = llvm.mlir.constant(dense<0.0> : !sums) : !sums
  %left = llvm.mlir.addressof @shared : !llvm.ptr<3>
  %right = llvm.getelementptr %left[8192]
      : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %full = llvm.getelementptr %left[16384]
      : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %da = ptx.wgmma.descriptor swizzle128 %left leading 16 stride 1024
      : (!llvm.ptr<3>) -> i64
  %db = ptx.wgmma.descriptor swizzle128 %right leading 16 stride 1024
      : (!llvm.ptr<3>) -> i64
  // The next 16 of k are 32 bytes further on: 2 in a descriptor.
  %by2 = llvm.mlir.constant(2 : i64) : i64
  %by4 = llvm.mlir.constant(4 : i64) : i64
  %by6 = llvm.mlir.constant(6 : i64) : i64
  %da1 = llvm.add %da, %by2 : i64
  %da2 = llvm.add %da, %by4 : i64
  %da3 = llvm.add %da, %by6 : i64
  %db1 = llvm.add %db, %by2 : i64
  %db2 = llvm.add %db, %by4 : i64
  %db3 = llvm.add %db, %by6 : i64
  %thread = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() : () -> i32
  %first = llvm.icmp "eq" %thread, %c0 : i32
  llvm.cond_br %first, ^init, ^ready
^init:
  ptx.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
  ptx.fence_proxy_async
  llvm.br ^ready
^ready:
  ptx.named_barrier 0 threads 128
  llvm.br ^head(%c0, %zeros : i32, !sums)
^head(%tile: i32, %before: !sums):
  %more = llvm.icmp "slt" %tile, %tiles : i32
  llvm.cond_br %more, ^body, ^end
^body:
  llvm.cond_br %first, ^load, ^multiply
^load:
  %k = llvm.mul %tile, %c64 : i32
  ptx.mbarrier.expect %full, %bytes : !llvm.ptr<3>, i32
  ptx.tma.load %left, %a[%k, %c0], %full
      : !llvm.ptr<3>, !llvm.ptr, i32, i32, !llvm.ptr<3>
  ptx.tma.load %right, %b[%k, %c0], %full
      : !llvm.ptr<3>, !llvm.ptr, i32, i32, !llvm.ptr<3>
  llvm.br ^multiply
^multiply:
  %parity = llvm.and %tile, %c1 : i32
  ptx.mbarrier.wait %full, %parity : !llvm.ptr<3>, i32
  ptx.wgmma.fence
  %0 = ptx.wgmma.mma bf16 %da, %db, %before : i64, i64, !sums
  %1 = ptx.wgmma.mma bf16 %da1, %db1, %0 : i64, i64, !sums
  %2 = ptx.wgmma.mma bf16 %da2, %db2, %1 : i64, i64, !sums
  %3 = ptx.wgmma.mma bf16 %da3, %db3, %2 : i64, i64, !sums
  ptx.wgmma.commit
  %done = ptx.wgmma.wait 0 %3 : !sums
  // Nobody reads the tiles any more.
  ptx.named_barrier 0 threads 128
  %next = llvm.add %tile, %c1 : i32
  llvm.br ^head(%next, %done : i32, !sums)
^end:
  // Each thread's 32 sums side by side.
  %to = llvm.getelementptr %c[%thread]
      : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !sums
  llvm.store %before, %to {alignment = 16 : i64} : !sums, !llvm.ptr<1>
  llvm.return
}
