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
    %w = graph.weight {name = "w"} : () -> tensor<2x3xf32>
    %t = graph.transpose %w {permutation = array<i64: 1, 0>} : ...
    // becomes
    %t = graph.weight {name = "w.transposed"} : () -> tensor<3x2xf32>
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
    %0 = graph.matmul %x, %w : ...
    %1 = graph.add %0, %b : ...
    // becomes
    %1 = kernel.region(%x, %w, %b) : ... {
      ...
      kernel.yield %sum : ...
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
  }];
  let dependentDialects = ["::tenon::kernel::KernelDialect"];
}

def SimplifyPass : Pass<"simplify", "::mlir::func::FuncOp"> {
  let summary = "Folding, identities, common subexpressions, dead code";
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

#endif // TENON_COMPILER_TRANSFORMS_PASSES_TD
