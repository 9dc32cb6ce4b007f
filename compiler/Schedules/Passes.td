//===- Passes.td - kernel.func: how each kernel runs -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_SCHEDULES_PASSES_TD
#define TENON_COMPILER_SCHEDULES_PASSES_TD

include "mlir/Pass/PassBase.td"

def ApplySchedulesPass : Pass<"apply-schedules", "::mlir::ModuleOp"> {
  let summary = "Choose a schedule, its geometry and operand layouts";
  let description = [{
    Asks the rows of Schedules.def in order. A kernel that a schedule refuses
    gets a remark with the reason if `explain` is set. Where a schedule is for
    some sizes only and they are not known, a copy of the kernel runs by the
    next one: the attribute `otherwise` names it, and the rows of each are 0 at
    the other's sizes.

    ```mlir
    kernel.func @exp symbols ["d0"] layouts [""] schedule ""
        geometry <0, 0, 0> {
    ^bb0(%0: tensor<?x8xf32, #graph.dims<d0, 8>>):
      %1 = graph.exp %0 : (tensor<?x8xf32, #graph.dims<d0, 8>>)
          -> tensor<?x8xf32, #graph.dims<d0, 8>>
      kernel.yield %1 : tensor<?x8xf32, #graph.dims<d0, 8>>
    }
    // becomes
    kernel.func @exp symbols ["d0"] layouts [""] schedule "Generic"
        geometry <d0, 1250, 0> {
    ^bb0(%0: tensor<?x8xf32, #graph.dims<d0, 8>>):
      %1 = graph.exp %0 : (tensor<?x8xf32, #graph.dims<d0, 8>>)
          -> tensor<?x8xf32, #graph.dims<d0, 8>>
      kernel.yield %1 : tensor<?x8xf32, #graph.dims<d0, 8>>
    }
    ```
  }];
  let dependentDialects = ["::tenon::kernel::KernelDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on each schedule that refuses a kernel: why">,
                 Option<"generic", "generic", "bool", "false",
                        "Run every kernel by the Generic schedule">,
                 ListOption<"without", "without", "std::string",
                            "Schedules not to choose, though they may apply">,
                 Option<"target", "target", "std::string", "\"cpu\"",
                        "What kernels run on: cpu or cuda">];
}

def ShareTablesPass : Pass<"share-tables", "::mlir::ModuleOp"> {
  let summary = "Look rows up in weights that products keep packed";
  let description = [{
    Where a product has the transpose of a weight packed, kernels that pick
    rows of that weight read them from the panels, so that the artifact holds
    it once. A pick touches one cache line per element; it is small beside the
    product.

    The layout of the table, as the kernel that picks from it sees it, changes
    from "" to "rows48".
  }];
  let dependentDialects = ["::tenon::kernel::KernelDialect"];
}

#endif // TENON_COMPILER_SCHEDULES_PASSES_TD
