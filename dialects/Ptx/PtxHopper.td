//===- PtxHopper.td - Instructions of sm_90a -------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_DIALECTS_PTX_PTXHOPPER_TD
#define TENON_DIALECTS_PTX_PTXHOPPER_TD

include "dialects/Ptx/PtxDialect.td"

//===--- Products of warpgroups ---===//

def Ptx_WgmmaDescriptorOp : Ptx_Op<"wgmma.descriptor", [Pure]> {
  let summary = "Say where a matrix lies in shared memory";
  let description = [{
    `leading` and `stride` are the distances in bytes between the matrix's
    pieces of 8 rows by 16 bytes along both axes, as the swizzle takes them:
    multiples of 16 below 2^18. Adding n to a descriptor moves it by 16 * n
    bytes.

    PTX: shifts and ors of integers

    ```mlir
    %d = ptx.wgmma.descriptor swizzle128 %p leading 16 stride 1024
        : (!llvm.ptr<3>) -> i64
    ```
  }];
  let arguments = (ins Ptx_SwizzleAttr:$swizzle, Ptx_Shared:$address,
                       I32Attr:$leading, I32Attr:$stride);
  let results = (outs I64:$result);
  let assemblyFormat = [{
    $swizzle $address `leading` $leading `stride` $stride attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1; // The distances can be written down.
}

def Ptx_WgmmaFenceOp : Ptx_Op<"wgmma.fence"> {
  let summary = "Registers and memory are ready for a group of products";
  let description = [{
    Stands before the first product, and where others than products have
    written sums or a lhs in registers.

    PTX: `wgmma.fence.sync.aligned`

    ```mlir
    ptx.wgmma.fence
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Ptx_WgmmaMmaOp : Ptx_Op<"wgmma.mma",
    [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "A warpgroup starts to add a product to its sums";
  let description = [{
    `result[64, n] = sums[64, n] + lhs[64, k] * rhs[k, n]`; a thread holds n / 2
    of the sums, and k is 32 bytes of elements. lhs is a descriptor or four
    registers, rhs a descriptor. Where `accumulate` is given and false, the
    sums before are taken for zero. A matrix of 16-bit elements in shared memory
    may lie transposed: `trans_lhs`, `trans_rhs`.

    The result may be read behind a ptx.wgmma.wait only.

    PTX: `wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16`

    ```mlir
    %d = ptx.wgmma.mma bf16 %a, %b, %c accumulate %more
        : i64, i64, vector<128xf32>, i1
    ```
  }];
  let arguments = (ins Ptx_WgmmaAttr:$kind,
                       AnyTypeOf<[I64, Ptx_Words<[4]>]>:$lhs, I64:$rhs,
                       Ptx_Sums:$sums, Optional<I1>:$accumulate,
                       UnitAttr:$trans_lhs, UnitAttr:$trans_rhs);
  let results = (outs Ptx_Sums:$result);
  let assemblyFormat = [{
    $kind $lhs `,` $rhs `,` $sums (`accumulate` $accumulate^)?
    (`trans_lhs` $trans_lhs^)? (`trans_rhs` $trans_rhs^)? attr-dict `:`
    type(operands)
  }];
  let hasVerifier = 1; // Sums, n and transposes are those of the kind.
}

def Ptx_WgmmaCommitOp : Ptx_Op<"wgmma.commit"> {
  let summary = "The products since the last commit become a group";
  let description = [{
    PTX: `wgmma.commit_group.sync.aligned`

    ```mlir
    ptx.wgmma.commit
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Ptx_WgmmaWaitOp : Ptx_Op<"wgmma.wait",
    [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "Wait until all groups but the last few are done";
  let description = [{
    The results are the values once they may be read: sums, and registers that
    were a lhs and are to be written again. At most 7 groups stay pending.

    PTX: `wgmma.wait_group.sync.aligned 1`

    ```mlir
    %d = ptx.wgmma.wait 1 %c : vector<128xf32>
    ```
  }];
  let arguments = (ins I32Attr:$pending, Variadic<AnyVectorOfNonZeroRank>:$values);
  let results = (outs Variadic<AnyVectorOfNonZeroRank>:$results);
  let assemblyFormat = [{
    $pending ($values^ `:` type($values))? attr-dict
  }];
  let hasVerifier = 1; // So few groups; vectors of 32-bit elements.
}

//===--- Tiles of tensors ---===//

def Ptx_TmaLoadOp : Ptx_Op<"tma.load"> {
  let summary = "Start to copy a tile of a tensor to shared memory";
  let description = [{
    `map` describes the tensor and the tile; up to five coordinates, innermost
    first, say which one. What lies outside the tensor arrives as zeros. All
    bytes of the tile count at `barrier`.

    PTX: `cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes`

    ```mlir
    ptx.tma.load %to, %map[%x, %y], %barrier
        : !llvm.ptr<3>, !llvm.ptr, i32, i32, !llvm.ptr<3>
    ```
  }];
  let arguments = (ins Ptx_Shared:$to, Ptx_Map:$map, Variadic<I32>:$coordinates,
                       Ptx_Shared:$barrier);
  let assemblyFormat = [{
    $to `,` $map `[` $coordinates `]` `,` $barrier attr-dict `:` type(operands)
  }];
  let hasVerifier = 1; // One to five coordinates.
}

def Ptx_TmaLoadMulticastOp : Ptx_Op<"tma.load_multicast"> {
  let summary = "Start to copy a tile to several blocks of a cluster";
  let description = [{
    To the same place of each block whose bit is set in `mask`, counted at the
    barrier in the same place of that block.

    PTX: `cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster`

    ```mlir
    ptx.tma.load_multicast %to, %map[%x, %y], %barrier, %mask
        : !llvm.ptr<3>, !llvm.ptr, i32, i32, !llvm.ptr<3>, i16
    ```
  }];
  let arguments = (ins Ptx_Shared:$to, Ptx_Map:$map, Variadic<I32>:$coordinates,
                       Ptx_Shared:$barrier, I16:$mask);
  let assemblyFormat = [{
    $to `,` $map `[` $coordinates `]` `,` $barrier `,` $mask attr-dict `:`
    type(operands)
  }];
  let hasVerifier = 1; // One to five coordinates.
}

def Ptx_TmaStoreOp : Ptx_Op<"tma.store"> {
  let summary = "Start to copy a tile from shared memory into a tensor";
  let description = [{
    What lies outside the tensor is not written. Writes of threads are seen
    behind a ptx.fence_proxy_async of theirs.

    PTX: `cp.async.bulk.tensor.2d.global.shared::cta.bulk_group`

    ```mlir
    ptx.tma.store %map[%x, %y], %from : !llvm.ptr, i32, i32, !llvm.ptr<3>
    ```
  }];
  let arguments = (ins Ptx_Map:$map, Variadic<I32>:$coordinates,
                       Ptx_Shared:$from);
  let assemblyFormat = [{
    $map `[` $coordinates `]` `,` $from attr-dict `:` type(operands)
  }];
  let hasVerifier = 1; // One to five coordinates.
}

def Ptx_TmaCommitOp : Ptx_Op<"tma.commit"> {
  let summary = "The stores since the last commit become a group";
  let description = [{
    PTX: `cp.async.bulk.commit_group`

    ```mlir
    ptx.tma.commit
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Ptx_TmaWaitOp : Ptx_Op<"tma.wait"> {
  let summary = "Wait until all stores but those of the last groups are done";
  let description = [{
    With `read`, only until shared memory has been read and may be written.

    PTX: `cp.async.bulk.wait_group[.read] 1`

    ```mlir
    ptx.tma.wait read 1
    ```
  }];
  let arguments = (ins I32Attr:$pending, UnitAttr:$read);
  let assemblyFormat = "(`read` $read^)? $pending attr-dict";
  let hasVerifier = 1; // Not negative.
}

//===--- Launches that overlap ---===//

def Ptx_GridWaitOp : Ptx_Op<"grid_wait"> {
  let summary = "Waits for the end of the launch before, and for all it wrote";
  let description = [{
    Of a launch that may begin while the one before is ending. All blocks wait:
    the end of a launch then is the end of all before it, too. Again, it does
    nothing.

    PTX: `griddepcontrol.wait`

    ```mlir
    ptx.grid_wait
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Ptx_GridLaunchOp : Ptx_Op<"grid_launch"> {
  let summary = "The launch behind may begin once all blocks are here or over";
  let description = [{
    Says nothing of what this one has written: that takes `ptx.grid_wait` there.

    PTX: `griddepcontrol.launch_dependents`

    ```mlir
    ptx.grid_launch
    ```
  }];
  let assemblyFormat = "attr-dict";
}

//===--- Order and registers ---===//

def Ptx_FenceProxyAsyncOp : Ptx_Op<"fence_proxy_async"> {
  let summary = "What threads wrote to shared memory is seen by TMA and wgmma";
  let description = [{
    PTX: `fence.proxy.async.shared::cta`

    ```mlir
    ptx.fence_proxy_async
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Ptx_SchedFenceOp : Ptx_Op<"sched_fence"> {
  let summary = "Nothing that follows is scheduled before the value is there";
  let description = [{
    Keeps ptxas from pulling a wait for products in front of arithmetic that is
    to run beside them. The value must be of arithmetic that never gives -1.

    PTX: a `nanosleep` that runs where the value is -1.0

    ```mlir
    ptx.sched_fence %x : f32
    ```
  }];
  let arguments = (ins F32:$value);
  let assemblyFormat = "$value attr-dict `:` type(operands)";
}

def Ptx_SetmaxnregOp : Ptx_Op<"setmaxnreg"> {
  let summary = "A warpgroup gives registers back, or gets more";
  let description = [{
    To a multiple of 8 from 24 to 256. Takes effect in kernels that are compiled
    by ptxas for a known number of threads.

    PTX: `setmaxnreg.inc.sync.aligned.u32 232`

    ```mlir
    ptx.setmaxnreg increase 232
    ```
  }];
  let arguments = (ins I32Attr:$registers, UnitAttr:$increase);
  let assemblyFormat = [{
    (`increase` $increase^) : (`decrease`)? $registers attr-dict
  }];
  let hasVerifier = 1; // Registers are among those.
}

#endif // TENON_DIALECTS_PTX_PTXHOPPER_TD
