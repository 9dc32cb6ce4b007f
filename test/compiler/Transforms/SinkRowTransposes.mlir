// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --sink-row-transposes --split-input-file | FileCheck %s

// Behind the product and what does the same to all rows, but not behind a sum
// with something that has rows of its own.
// CHECK-LABEL: @tokensFirst
// CHECK:      %[[P:.*]] = graph.matmul %arg0, %arg1 : (tensor<?x9x16xf32
// CHECK-NEXT: %[[S:.*]] = graph.add %arg2, %[[P]]
// CHECK-NEXT: %[[E:.*]] = graph.exp %[[S]]
// CHECK-NEXT: %[[T:.*]] = graph.transpose %[[E]] {permutation = array<i64: 1, 0, 2>}
// CHECK-NEXT: graph.add %[[T]], %arg3
// CHECK-NOT:  graph.transpose
func.func @tokensFirst(%x: tensor<?x9x16xf32, #graph.dims<b, 9, 16>>,
                       %w: tensor<16x4xf32>, %c: tensor<4xf32>,
                       %y: tensor<9x?x4xf32, #graph.dims<9, b, 4>>)
    -> tensor<9x?x4xf32, #graph.dims<9, b, 4>> {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>}
      : (tensor<?x9x16xf32, #graph.dims<b, 9, 16>>)
      -> tensor<9x?x16xf32, #graph.dims<9, b, 16>>
  %1 = graph.matmul %0, %w
      : (tensor<9x?x16xf32, #graph.dims<9, b, 16>>, tensor<16x4xf32>)
      -> tensor<9x?x4xf32, #graph.dims<9, b, 4>>
  %2 = graph.add %c, %1
      : (tensor<4xf32>, tensor<9x?x4xf32, #graph.dims<9, b, 4>>)
      -> tensor<9x?x4xf32, #graph.dims<9, b, 4>>
  %3 = graph.exp %2 : (tensor<9x?x4xf32, #graph.dims<9, b, 4>>)
      -> tensor<9x?x4xf32, #graph.dims<9, b, 4>>
  %4 = graph.add %3, %y
      : (tensor<9x?x4xf32, #graph.dims<9, b, 4>>,
         tensor<9x?x4xf32, #graph.dims<9, b, 4>>)
      -> tensor<9x?x4xf32, #graph.dims<9, b, 4>>
  return %4 : tensor<9x?x4xf32, #graph.dims<9, b, 4>>
}

// -----

// Rows that stay beside each other, columns that are turned, and a matrix for
// each batch.
// CHECK-LABEL: @stays
// CHECK:      %[[A:.*]] = graph.transpose %arg0 {permutation = array<i64: 1, 0, 2, 3>}
// CHECK:      graph.matmul %[[A]]
// CHECK:      %[[B:.*]] = graph.transpose %arg1 {permutation = array<i64: 0, 2, 1>}
// CHECK:      graph.matmul %[[B]]
// CHECK:      %[[C:.*]] = graph.transpose %arg2 {permutation = array<i64: 1, 0, 2>}
// CHECK:      graph.matmul %[[C]]
func.func @stays(%x: tensor<2x3x9x16xf32>, %y: tensor<2x16x9xf32>,
                 %z: tensor<9x2x16xf32>, %w: tensor<16x4xf32>,
                 %v: tensor<2x16x4xf32>)
    -> (tensor<3x2x9x4xf32>, tensor<2x9x4xf32>, tensor<2x9x4xf32>) {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2, 3>}
      : (tensor<2x3x9x16xf32>) -> tensor<3x2x9x16xf32>
  %1 = graph.matmul %0, %w
      : (tensor<3x2x9x16xf32>, tensor<16x4xf32>) -> tensor<3x2x9x4xf32>
  %2 = graph.transpose %y {permutation = array<i64: 0, 2, 1>}
      : (tensor<2x16x9xf32>) -> tensor<2x9x16xf32>
  %3 = graph.matmul %2, %w
      : (tensor<2x9x16xf32>, tensor<16x4xf32>) -> tensor<2x9x4xf32>
  %4 = graph.transpose %z {permutation = array<i64: 1, 0, 2>}
      : (tensor<9x2x16xf32>) -> tensor<2x9x16xf32>
  %5 = graph.matmul %4, %v
      : (tensor<2x9x16xf32>, tensor<2x16x4xf32>) -> tensor<2x9x4xf32>
  return %1, %3, %5 : tensor<3x2x9x4xf32>, tensor<2x9x4xf32>, tensor<2x9x4xf32>
}
