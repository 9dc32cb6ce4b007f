//===- PtxOps.td - Instructions of all GPUs from sm_80 on -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_DIALECTS_PTX_PTXOPS_TD
#define TENON_DIALECTS_PTX_PTXOPS_TD

include "dialects/Ptx/PtxDialect.td"
include "dialects/Ptx/PtxHopper.td"

//===--- Products ---===//

def Ptx_MmaOp : Ptx_Op<"mma",
    [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "A warp adds the product of two small matrices to its sums";
  let description = [{
    `result[16, 8] = sums[16, 8] + lhs[16, k] * rhs[k, 8]`, where k is 16 for
    f16 and bf16, 8 for tf32 and 32 for bytes; sums are f32, or i32 of bytes.
    `s8_u8` is a signed lhs and an unsigned rhs.

    With g = lane / 4 and t = lane % 4, and w the elements of a register (2, 1,
    4), register i of lhs holds row g + 8 * (i % 2), columns
    w * (t + 4 * (i / 2)) and on; register i of rhs rows w * (t + 4 * i) and on,
    column g; sum i is row g + 8 * (i / 2), column 2 * t + i % 2.

    PTX: `mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32`, or of the shape
    and types that the kind says.

    ```mlir
    %d = ptx.mma bf16 %a, %b, %c : vector<4xi32>, vector<2xi32>, vector<4xf32>
    ```
  }];
  let arguments = (ins Ptx_MmaAttr:$kind, Ptx_Words<[4]>:$lhs,
                       Ptx_Words<[2]>:$rhs, Ptx_Sums:$sums);
  let results = (outs Ptx_Sums:$result);
  let assemblyFormat = [{
    $kind $lhs `,` $rhs `,` $sums attr-dict `:` type(operands)
  }];
  let hasVerifier = 1; // The sums are those of the kind.
}

def Ptx_LdmatrixOp : Ptx_Op<"ldmatrix"> {
  let summary = "A warp loads 8x8 matrices of 16-bit elements as fragments";
  let description = [{
    One matrix per register of the result: 1, 2 or 4. Lane 8 * i + r has the
    address of row r of matrix i: 16 bytes, aligned to 16. Register i of lane l
    then holds elements 2 * (l % 4) and the next of row l / 4; with `trans`, of
    column l / 4.

    PTX: `ldmatrix.sync.aligned.m8n8.x4[.trans].shared.b16`

    ```mlir
    %a = ptx.ldmatrix %p : (!llvm.ptr<3>) -> vector<4xi32>
    ```
  }];
  let arguments = (ins Arg<Ptx_Shared, "", [MemRead]>:$address,
                       UnitAttr:$trans);
  let results = (outs Ptx_Words<[1, 2, 4]>:$result);
  let assemblyFormat = [{
    (`trans` $trans^)? $address attr-dict `:` functional-type(operands, results)
  }];
}

def Ptx_StmatrixOp : Ptx_Op<"stmatrix"> {
  let summary = "A warp stores fragments as 8x8 matrices of 16-bit elements";
  let description = [{
    The inverse of ptx.ldmatrix. From sm_90 on.

    PTX: `stmatrix.sync.aligned.m8n8.x4[.trans].shared.b16`

    ```mlir
    ptx.stmatrix %p, %a : !llvm.ptr<3>, vector<4xi32>
    ```
  }];
  let arguments = (ins Arg<Ptx_Shared, "", [MemWrite]>:$address,
                       Ptx_Words<[1, 2, 4]>:$values, UnitAttr:$trans);
  let assemblyFormat = [{
    (`trans` $trans^)? $address `,` $values attr-dict `:` type(operands)
  }];
}

//===--- Copies to shared memory ---===//

def Ptx_CpAsyncOp : Ptx_Op<"cp_async"> {
  let summary = "A thread starts to copy some bytes to shared memory";
  let description = [{
    Copies 4, 8 or 16 bytes, both addresses aligned to as many; of `size` bytes,
    where that is given, and the rest becomes zero. A size of 0 reads nothing.
    `ca` goes through all caches, `cg`, for 16 bytes only, past the first level.

    PTX: `cp.async.cg.shared.global [to], [from], 16, size`

    ```mlir
    ptx.cp_async cg 16 %to, %from size %n : !llvm.ptr<3>, !llvm.ptr<1>, i32
    ```
  }];
  let arguments = (ins Ptx_CacheAttr:$cache, I32Attr:$bytes,
                       Arg<Ptx_Shared, "", [MemWrite]>:$to,
                       Arg<Ptx_Global, "", [MemRead]>:$from,
                       Optional<I32>:$size);
  let assemblyFormat = [{
    $cache $bytes $to `,` $from (`size` $size^)? attr-dict `:` type(operands)
  }];
  let hasVerifier = 1; // The bytes are among those, and those of the cache.
}

def Ptx_CpAsyncCommitOp : Ptx_Op<"cp_async_commit"> {
  let summary = "The copies since the last commit become a group";
  let description = [{
    PTX: `cp.async.commit_group`

    ```mlir
    ptx.cp_async_commit
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Ptx_CpAsyncWaitOp : Ptx_Op<"cp_async_wait"> {
  let summary = "Wait until all groups but the last few have arrived";
  let description = [{
    Of this thread's groups; others' copies are seen behind a barrier.

    PTX: `cp.async.wait_group 2`

    ```mlir
    ptx.cp_async_wait 2
    ```
  }];
  let arguments = (ins I32Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
  let hasVerifier = 1; // Not negative.
}

//===--- Barriers ---===//

def Ptx_NamedBarrierOp : Ptx_Op<"named_barrier"> {
  let summary = "Some warps of a block wait for each other";
  let description = [{
    Barrier `id` from 0 to 15 (0 is also that of all threads), for a number of
    threads that is a multiple of 32. With `arrive` nobody waits here.

    PTX: `bar.sync 1, 128` or `bar.arrive 1, 128`

    ```mlir
    ptx.named_barrier 1 threads 128
    ```
  }];
  let arguments = (ins I32Attr:$id, I32Attr:$threads, UnitAttr:$arrive);
  let assemblyFormat = [{
    (`arrive` $arrive^)? $id `threads` $threads attr-dict
  }];
  let hasVerifier = 1; // Id and threads are among those.
}

def Ptx_MbarrierInitOp : Ptx_Op<"mbarrier.init"> {
  let summary = "Make a barrier in shared memory for so many arrivals";
  let description = [{
    The barrier takes 8 bytes, aligned to 8.

    PTX: `mbarrier.init.shared.b64 [barrier], count`

    ```mlir
    ptx.mbarrier.init %barrier, %count : !llvm.ptr<3>, i32
    ```
  }];
  let arguments = (ins Arg<Ptx_Shared, "", [MemWrite]>:$barrier, I32:$count);
  let assemblyFormat = "$barrier `,` $count attr-dict `:` type(operands)";
}

def Ptx_MbarrierArriveOp : Ptx_Op<"mbarrier.arrive"> {
  let summary = "Arrive at a barrier in shared memory";
  let description = [{
    With `rank`, at the barrier in the same place of that block of the cluster;
    from sm_90 on.

    PTX: `mbarrier.arrive.shared.b64 state, [barrier]`, or `mapa` and
    `mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there]`

    ```mlir
    ptx.mbarrier.arrive %barrier rank %rank : !llvm.ptr<3>, i32
    ```
  }];
  let arguments = (ins Arg<Ptx_Shared, "", [MemRead, MemWrite]>:$barrier,
                       Optional<I32>:$rank);
  let assemblyFormat = [{
    $barrier (`rank` $rank^)? attr-dict `:` type(operands)
  }];
}

def Ptx_MbarrierExpectOp : Ptx_Op<"mbarrier.expect"> {
  let summary = "Arrive, and let the phase wait for so many bytes";
  let description = [{
    From sm_90 on.

    PTX: `mbarrier.arrive.expect_tx.shared.b64 state, [barrier], bytes`

    ```mlir
    ptx.mbarrier.expect %barrier, %bytes : !llvm.ptr<3>, i32
    ```
  }];
  let arguments = (ins Arg<Ptx_Shared, "", [MemRead, MemWrite]>:$barrier,
                       I32:$bytes);
  let assemblyFormat = "$barrier `,` $bytes attr-dict `:` type(operands)";
}

def Ptx_MbarrierWaitOp : Ptx_Op<"mbarrier.wait"> {
  let summary = "Wait until the phase of a parity is over";
  let description = [{
    A fresh barrier is in phase 0, of parity 0: waiting for parity 1 returns.
    `poll` asks without sleeping, the only way before sm_90.

    PTX: a loop on `mbarrier.try_wait.parity.shared.b64`, or on `test_wait`

    ```mlir
    ptx.mbarrier.wait %barrier, %parity : !llvm.ptr<3>, i32
    ```
  }];
  let arguments = (ins Arg<Ptx_Shared, "", [MemRead, MemWrite]>:$barrier,
                       I32:$parity, UnitAttr:$poll);
  let assemblyFormat = [{
    (`poll` $poll^)? $barrier `,` $parity attr-dict `:` type(operands)
  }];
}

#endif // TENON_DIALECTS_PTX_PTXOPS_TD
