// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --observe-products --split-input-file | FileCheck %s

// What two products read goes out once, behind the function's own result.
// CHECK-LABEL: @shared
// CHECK-SAME: -> (tensor<4x64xf32>, tensor<4x64xf32> {graph.name = "graph.lhs 0"})
// CHECK:      %[[E:.*]] = graph.exp
// CHECK-COUNT-2: graph.precision = "fp32"
// CHECK:      %[[SUM:.*]] = graph.add
// CHECK:      return %[[SUM]], %[[E]]
func.func @shared(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %v = graph.weight {name = "v"} : () -> tensor<64x64xf32>
  %w = graph.weight {name = "w"} : () -> tensor<64x64xf32>
  %e = graph.exp %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %0 = graph.matmul %e, %v {graph.op = "a", graph.precision = "int8"}
      : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  %1 = graph.matmul %e, %w {graph.op = "b", graph.precision = "int8"}
      : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  %2 = graph.add %0, %1 : (tensor<4x64xf32>, tensor<4x64xf32>)
      -> tensor<4x64xf32>
  return %2 : tensor<4x64xf32>
}

// -----

// Products of other precisions, small weights and two activations are no
// concern of calibration.
// CHECK-LABEL: @stays
// CHECK-SAME: -> (tensor<4x64xf32>, tensor<4x8xf32>, tensor<4x4xf32>) {
// CHECK:      graph.precision = "bf16"
// CHECK-COUNT-2: graph.precision = "int8"
func.func @stays(%x: tensor<4x64xf32>, %y: tensor<64x4xf32>)
    -> (tensor<4x64xf32>, tensor<4x8xf32>, tensor<4x4xf32>) {
  %v = graph.weight {name = "v"} : () -> tensor<64x64xf32>
  %w = graph.weight {name = "w"} : () -> tensor<64x8xf32>
  %0 = graph.matmul %x, %v {graph.op = "a", graph.precision = "bf16"}
      : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  %1 = graph.matmul %x, %w {graph.op = "b", graph.precision = "int8"}
      : (tensor<4x64xf32>, tensor<64x8xf32>) -> tensor<4x8xf32>
  %2 = graph.matmul %x, %y {graph.op = "c", graph.precision = "int8"}
      : (tensor<4x64xf32>, tensor<64x4xf32>) -> tensor<4x4xf32>
  return %0, %1, %2 : tensor<4x64xf32>, tensor<4x8xf32>, tensor<4x4xf32>
}
