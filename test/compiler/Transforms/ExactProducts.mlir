// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --exact-products --split-input-file | FileCheck %s

// Both were rounded to few bits, seen through views or not.

// CHECK-LABEL: @both
// CHECK:       graph.matmul %{{.*}}, %{{.*}} {graph.exact, graph.precision = "bf16"}
// CHECK:       graph.matmul %{{.*}}, %{{.*}} {graph.exact, graph.precision = "bf16"}
func.func @both(%x: tensor<2x8xf32>, %y: tensor<4x8xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = graph.round_float %x {to = f8E4M3FN, saturates = true} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = graph.round_float %y {to = f8E5M2, saturates = true} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %3 = graph.matmul %0, %2 {graph.precision = "fp32"} : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %4 = graph.matmul %0, %2 {graph.precision = "bf16"} : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  return %3, %4 : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// Not where one is any number, where fewer bits are asked for, or where nothing
// was assigned.

// CHECK-LABEL: @others
// CHECK-NOT:   graph.exact
func.func @others(%x: tensor<2x8xf32>, %y: tensor<8x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = graph.round_float %x {to = f8E4M3FN, saturates = true} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = graph.round_float %y {to = f8E5M2, saturates = true} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = graph.matmul %0, %y {graph.precision = "fp32"} : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %3 = graph.matmul %0, %1 {graph.precision = "int8"} : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %4 = graph.matmul %0, %1 : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  return %2, %3, %4 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}
