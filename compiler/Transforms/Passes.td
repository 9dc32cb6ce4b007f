//===- Passes.td - graph -> graph, graph -> kernel.region -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_PASSES_TD
#define TENON_COMPILER_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def FoldConstantsPass : Pass<"fold-constants", "::mlir::func::FuncOp"> {
  let summary = "Compute at compile time what depends on weights only";
  let description = [{
    Runs the reference evaluator on ops all of whose operands are constants or
    weights. A result takes no more bytes than its operands (or is tiny), so
    that the artifact never outgrows the weights. Transposes and reshapes of
    weights move bytes instead and have no such bound.

    ```mlir
    func.func @main() -> tensor<2xf32> {
      %0 = graph.constant {value = dense<[1.0, 2.0]> : tensor<2xf32>}
          : () -> tensor<2xf32>
      %1 = graph.neg %0 : (tensor<2xf32>) -> tensor<2xf32>
      return %1 : tensor<2xf32>
    }
    // becomes
    func.func @main() -> tensor<2xf32> {
      %0 = graph.constant {value = dense<[1.0, 2.0]> : tensor<2xf32>}
          : () -> tensor<2xf32>
      %1 = graph.constant {value = dense<[-1.0, -2.0]> : tensor<2xf32>}
          : () -> tensor<2xf32>
      return %1 : tensor<2xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

def FormRegionsPass : Pass<"form-regions", "::mlir::func::FuncOp"> {
  let summary = "Decide which ops share a kernel";
  let description = [{
    A pointwise op joins the kernel of its consumer when that is its only user
    and both have the same sizes, as long as the kernel has at most one root.
    Constants are copied into each kernel. Reshapes stay outside: they only
    rename a buffer.

    ```mlir
    func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>)
        -> tensor<4x2xf32> {
      %0 = graph.matmul %x, %w
          : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
      %1 = graph.tanh %0 : (tensor<4x2xf32>) -> tensor<4x2xf32>
      return %1 : tensor<4x2xf32>
    }
    // becomes
    func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>)
        -> tensor<4x2xf32> {
      %0 = kernel.region(%x, %w)
          : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32> {
      ^bb0(%1: tensor<4x8xf32>, %2: tensor<8x2xf32>):
        %3 = graph.matmul %1, %2
            : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
        %4 = graph.tanh %3 : (tensor<4x2xf32>) -> tensor<4x2xf32>
        kernel.yield %4 : tensor<4x2xf32>
      }
      return %0 : tensor<4x2xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::kernel::KernelDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on each kernel: why it ends where it ends">];
}

def OutlineKernelsPass : Pass<"outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Make equal regions one kernel.func";
  let description = [{
    Size symbols of a region become the parameters d0, d1, ... in order of
    appearance; regions that are then equal share one function.

    ```mlir
    func.func @main(%x: tensor<?xf32, #graph.dims<B>>) {
      %0 = kernel.region(%x) : (tensor<?xf32, #graph.dims<B>>)
          -> tensor<?xf32, #graph.dims<B>> {
      ^bb0(%1: tensor<?xf32, #graph.dims<B>>):
        %2 = graph.exp %1 : (tensor<?xf32, #graph.dims<B>>)
            -> tensor<?xf32, #graph.dims<B>>
        kernel.yield %2 : tensor<?xf32, #graph.dims<B>>
      }
      return
    }
    // becomes
    func.func @main(%x: tensor<?xf32, #graph.dims<B>>) {
      %0 = kernel.call @exp_f32_0(%x) params <B> {nodes = [""]}
          : (tensor<?xf32, #graph.dims<B>>) -> tensor<?xf32, #graph.dims<B>>
      return
    }
    kernel.func @exp_f32_0 symbols ["d0"] layouts [""] schedule ""
        geometry <0, 0, 0> {
    ^bb0(%0: tensor<?xf32, #graph.dims<d0>>):
      %1 = graph.exp %0 : (tensor<?xf32, #graph.dims<d0>>)
          -> tensor<?xf32, #graph.dims<d0>>
      kernel.yield %1 : tensor<?xf32, #graph.dims<d0>>
    }
    ```
  }];
  let dependentDialects = ["::tenon::kernel::KernelDialect"];
}

def SimplifyPass : Pass<"simplify", "::mlir::func::FuncOp"> {
  let summary = "Folding, identities, common subexpressions, dead code";
  let description = [{
    ```mlir
    func.func @main(%x: tensor<2x6xf32>) -> tensor<4x3xf32> {
      %0 = graph.reshape %x : (tensor<2x6xf32>) -> tensor<12xf32>
      %1 = graph.reshape %0 : (tensor<12xf32>) -> tensor<4x3xf32>
      %2 = graph.neg %x : (tensor<2x6xf32>) -> tensor<2x6xf32>
      return %1 : tensor<4x3xf32>
    }
    // becomes
    func.func @main(%x: tensor<2x6xf32>) -> tensor<4x3xf32> {
      %0 = graph.reshape %x : (tensor<2x6xf32>) -> tensor<4x3xf32>
      return %0 : tensor<4x3xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

#endif // TENON_COMPILER_TRANSFORMS_PASSES_TD
