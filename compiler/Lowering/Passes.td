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
  }];
  let dependentDialects = ["::tenon::exec::ExecDialect"];
}

#endif // TENON_COMPILER_LOWERING_PASSES_TD
