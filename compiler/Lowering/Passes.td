//===- Passes.td - kernel calls -> exec ------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_LOWERING_PASSES_TD
#define TENON_COMPILER_LOWERING_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToExecPass : Pass<"lower-to-exec", "::mlir::ModuleOp"> {
  let summary = "Give every value a buffer and write the launch table";
  let description = [{
    Replaces `func.func @main` by an `exec.program`. Values that are returned
    are computed in the caller's memory; all others share the arena
    (MemoryPlan.h). Constants that a kernel reads by address become weights.

    ```mlir
    func.func @main(%x: tensor<8xf32> {graph.name = "x"})
        -> (tensor<8xf32> {graph.name = "y"}) {
      %0 = kernel.call @exp(%x) params <> : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    kernel.func @exp symbols [] layouts [""] schedule "Generic"
        geometry <1, 1, 0> {
    ^bb0(%0: tensor<8xf32>):
      %1 = graph.exp %0 : (tensor<8xf32>) -> tensor<8xf32>
      kernel.yield %1 : tensor<8xf32>
    }
    // becomes
    exec.program attributes {
        inputs = ["x"], input_types = [tensor<8xf32>],
        outputs = ["y"], output_types = [tensor<8xf32>],
        symbols = [], lo = array<i64>, hi = array<i64>,
        segments = #graph.dims<0>} {
      exec.segment 0
      exec.launch @exp [#exec.buffer<input, 0, <0, 32>, "", "">,
          #exec.buffer<output, 0, <0, 32>, "", "">]
          params <> geometry <1, 1, 0> {cost = #graph.dims<0, 0, 64>}
    }
    kernel.func @exp symbols [] layouts [""] schedule "Generic"
        geometry <1, 1, 0> {
    ^bb0(%0: tensor<8xf32>):
      %1 = graph.exp %0 : (tensor<8xf32>) -> tensor<8xf32>
      kernel.yield %1 : tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::exec::ExecDialect"];
}

#endif // TENON_COMPILER_LOWERING_PASSES_TD
