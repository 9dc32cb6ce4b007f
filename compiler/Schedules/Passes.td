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

def StoreTurnedPass : Pass<"store-turned", "::mlir::ModuleOp"> {
  let summary = "Convolutions store channels first where that is all that follows";
  let description = [{
    Where a convolution by tiles of pixels is read by a transposition alone that
    puts channels first, its tiles are stored so. All that is behind it in its
    kernel has to be the same for all pixels, as vectors are of pixels then.

    ```mlir
    func.func @main(%x: tensor<1x8x8x2xf32>) -> tensor<1x16x8x8xf32> {
      %0 = graph.weight {name = "w"} : () -> tensor<16x2x1x1xf32>
      %1 = kernel.call @conv(%x, %0) params <>
          : (tensor<1x8x8x2xf32>, tensor<16x2x1x1xf32>) -> tensor<1x8x8x16xf32>
      %2 = kernel.call @transpose(%1) params <>
          : (tensor<1x8x8x16xf32>) -> tensor<1x16x8x8xf32>
      return %2 : tensor<1x16x8x8xf32>
    }
    kernel.func @conv symbols [] layouts ["", "conv16"] schedule "DirectConv"
        geometry <1, 1, 0> {
    ^bb0(%0: tensor<1x8x8x2xf32>, %1: tensor<16x2x1x1xf32>):
      %2 = graph.conv %0, %1 {channels_last, dilations = array<i64: 1, 1>,
          group = 1 : i64, pads = #graph.dims<0, 0, 0, 0>,
          strides = array<i64: 1, 1>}
          : (tensor<1x8x8x2xf32>, tensor<16x2x1x1xf32>) -> tensor<1x8x8x16xf32>
      kernel.yield %2 : tensor<1x8x8x16xf32>
    }
    kernel.func @transpose symbols [] layouts [""] schedule "Generic"
        geometry <128, 32, 0> {
    ^bb0(%0: tensor<1x8x8x16xf32>):
      %1 = graph.transpose %0 {permutation = array<i64: 0, 3, 1, 2>}
          : (tensor<1x8x8x16xf32>) -> tensor<1x16x8x8xf32>
      kernel.yield %1 : tensor<1x16x8x8xf32>
    }
    // becomes
    func.func @main(%x: tensor<1x8x8x2xf32>) -> tensor<1x16x8x8xf32> {
      %0 = graph.weight {name = "w"} : () -> tensor<16x2x1x1xf32>
      %1 = kernel.call @conv_turned(%x, %0) params <>
          : (tensor<1x8x8x2xf32>, tensor<16x2x1x1xf32>) -> tensor<1x16x8x8xf32>
      return %1 : tensor<1x16x8x8xf32>
    }
    kernel.func @conv_turned symbols [] layouts ["", "conv16"]
        schedule "DirectConv" geometry <1, 1, 0> {
    ^bb0(%0: tensor<1x8x8x2xf32>, %1: tensor<16x2x1x1xf32>):
      %2 = graph.conv %0, %1 {channels_last, dilations = array<i64: 1, 1>,
          group = 1 : i64, pads = #graph.dims<0, 0, 0, 0>,
          strides = array<i64: 1, 1>}
          : (tensor<1x8x8x2xf32>, tensor<16x2x1x1xf32>) -> tensor<1x8x8x16xf32>
      %3 = graph.transpose %2 {permutation = array<i64: 0, 3, 1, 2>}
          : (tensor<1x8x8x16xf32>) -> tensor<1x16x8x8xf32>
      kernel.yield %3 : tensor<1x16x8x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::kernel::KernelDialect"];
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
