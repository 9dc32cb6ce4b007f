//===- KernelOps.td - Which ops share a kernel -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_DIALECTS_KERNEL_KERNELOPS_TD
#define TENON_DIALECTS_KERNEL_KERNELOPS_TD

include "dialects/Graph/GraphDialect.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def Kernel_Dialect : Dialect {
  let name = "kernel";
  let cppNamespace = "::tenon::kernel";
  let summary = "Which ops share a kernel, and how each kernel runs";
  let description = [{
    The body of a kernel is `graph` ops: its specification. Fusion moves ops
    into a region and never invents one.
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

class Kernel_Op<string mnemonic, list<Trait> traits = []>
    : Op<Kernel_Dialect, mnemonic, traits>;

def Kernel_RegionOp : Kernel_Op<"region",
    [Pure, IsolatedFromAbove, SingleBlock,
     SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Ops that become one kernel";
  let description = [{
    Grammar, checked by the verifier: only pointwise ops, data movement,
    constants and at most one root (an op that reduces, contracts, scans or
    scatters). Pointwise ops behind the root have its result's sizes. Block
    arguments are the operands, in order.

    Example:
    ```mlir
    %y = kernel.region(%x, %b) : (tensor<4x8xf32>, tensor<8xf32>)
        -> tensor<4x8xf32> {
    ^bb0(%0: tensor<4x8xf32>, %1: tensor<8xf32>):
      %2 = graph.add %0, %1 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
      kernel.yield %2 : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$operands);
  let results = (outs Variadic<Graph_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $operands `)` attr-dict `:` functional-type($operands, $results) $body
  }];
  let hasVerifier = 1;
}

def Kernel_FuncOp : Kernel_Op<"func",
    [IsolatedFromAbove, Symbol, SingleBlock,
     SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "One kernel, compiled once and called for each equal region";
  let description = [{
    The size symbols in the body's types are the parameters: `symbols` lists
    them in the order in which a call passes their values. `schedule` says how
    it runs; `geometry` is rows, grain and scratch bytes (see tenon_step_t),
    or a fourth: bytes that all pieces share, as
    expressions over the symbols. A block argument that is a weight in another
    layout than row-major says so in `layouts` ("" is row-major).

    Machine code sees the block arguments' buffers in order, then those of the
    results.

    Example:
    ```mlir
    kernel.func @add_f32 symbols ["d0"] layouts ["", ""] schedule "Generic"
        geometry <d0, 64, 0> {
    ^bb0(%0: tensor<?x8xf32, #graph.dims<d0, 8>>, %1: tensor<8xf32>):
      %2 = graph.add %0, %1
          : (tensor<?x8xf32, #graph.dims<d0, 8>>, tensor<8xf32>)
          -> tensor<?x8xf32, #graph.dims<d0, 8>>
      kernel.yield %2 : tensor<?x8xf32, #graph.dims<d0, 8>>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$symbols,
                       StrArrayAttr:$layouts, StrAttr:$schedule,
                       Graph_DimsAttr:$geometry);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `symbols` $symbols `layouts` $layouts `schedule` $schedule
    `geometry` $geometry attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    ::mlir::ValueRange getYielded() {
      return getBlock().getTerminator()->getOperands();
    }
    Expr getRows() { return getGeometry()[0]; }
  }];
  let hasVerifier = 1;
}

def Kernel_CallOp : Kernel_Op<"call", [Pure]> {
  let summary = "Runs a kernel";
  let description = [{
    `params` are the values of the kernel's symbols. The attribute `nodes` names
    the model's node of each op of the kernel's body ("" for none), so that
    faults, profiles and traces speak of nodes.

    ```mlir
    %y = kernel.call @add_f32_0(%x, %b) params <B> {nodes = ["sum"]}
        : (tensor<?x8xf32, #graph.dims<B, 8>>, tensor<8xf32>)
        -> tensor<?x8xf32, #graph.dims<B, 8>>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee,
                       Variadic<Graph_Tensor>:$operands,
                       Graph_DimsAttr:$params);
  let results = (outs Variadic<Graph_Tensor>:$results);
  let assemblyFormat = [{
    $callee `(` $operands `)` `params` $params attr-dict `:`
    functional-type($operands, $results)
  }];
}

def Kernel_YieldOp : Kernel_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "The results of a kernel";
  let description = [{
    ```mlir
    %y = kernel.region(%x) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%0: tensor<4xf32>):
      %1 = graph.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
      kernel.yield %1 : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{}]>];
}

#endif // TENON_DIALECTS_KERNEL_KERNELOPS_TD
