//===- Passes.td - GPU instructions become LLVM's --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CUDA_PASSES_TD
#define TENON_COMPILER_TARGETS_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerPtxPass : Pass<"lower-ptx", "::mlir::ModuleOp"> {
  let summary = "Replace ptx ops by intrinsics and inline assembly";
  let description = [{
    An op becomes an intrinsic where LLVM has one that is tied to its values,
    and inline assembly with all its registers as operands and results where
    it has none.

    ```mlir
    func.func @wait() {
      ptx.wgmma.commit
      return
    }
    // becomes
    func.func @wait() {
      llvm.inline_asm has_side_effects asm_dialect = att
          "wgmma.commit_group.sync.aligned;", "~{memory}" : () -> ()
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // TENON_COMPILER_TARGETS_CUDA_PASSES_TD
