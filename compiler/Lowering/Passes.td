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
    (MemoryPlan.h). Constants that a kernel reads by address become weights. A
    call that only joins values is left out where all of them are computed in
    its result, rows apart where they take turns: by variants of kernels that
    store so (`_apart`), or store what others read as well twice (`_twice`).

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
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"",
           "'cpu', whose kernels can store rows apart, or 'cuda'">,
  ];
  let dependentDialects = ["::tenon::exec::ExecDialect"];
}

def SplitBatchPass : Pass<"split-batch", "::mlir::ModuleOp"> {
  let summary = "Run a batch some items at a time";
  let description = [{
    All steps of a program whose `batch` counts independent items are repeated
    for pieces of it, of sizes as equal as may be. A piece has as many items as
    have what is computed for them in caches, or more where fewer would take
    longer to read weights for.

    ```mlir
    exec.program attributes {
        inputs = ["x"], input_types = [tensor<?x8xf32, #graph.dims<B, 8>>],
        outputs = ["y"], output_types = [tensor<?x8xf32, #graph.dims<B, 8>>],
        symbols = ["B"], lo = array<i64: 0>, hi = array<i64: 2147483647>,
        segments = #graph.dims<1048576 * B>, batch = ["B"]} {
      exec.segment 0
      exec.launch @exp [#exec.buffer<input, 0, <0, 32 * B>, "", "">,
          #exec.buffer<output, 0, <0, 32 * B>, "", "">]
          params <B> geometry <B, 1, 0>
    }
    // becomes
    exec.program attributes {
        inputs = ["x"], input_types = [tensor<?x8xf32, #graph.dims<B, 8>>],
        outputs = ["y"], output_types = [tensor<?x8xf32, #graph.dims<B, 8>>],
        symbols = ["B", "B.from", "B.here"], lo = array<i64: 0, 0, 0>,
        hi = array<i64: 2147483647, 2147483647, 2147483647>,
        segments = #graph.dims<1048576 * B.here>, batch = ["B"]} {
      exec.pieces "B.from" "B.here"
          <B, floordiv(B + -1 * B.from + -1, max(1, floordiv(B + -1 * B.from, 32))) + 1> {
        exec.segment 0
        exec.launch @exp
            [#exec.buffer<input, 0, <32 * B.from, 32 * B.here>, "", "">,
             #exec.buffer<output, 0, <32 * B.from, 32 * B.here>, "", "">]
            params <B.here> geometry <B.here, 1, 0>
      }
    }
    ```
  }];
  let dependentDialects = ["::tenon::exec::ExecDialect"];
  let options = [Option<"atOnce", "at-once", "int64_t", "0",
                        "How many items; 0: by what they take">,
                 Option<"explain", "explain", "bool", "false",
                        "Remark on programs that are left whole">];
}

#endif // TENON_COMPILER_LOWERING_PASSES_TD
