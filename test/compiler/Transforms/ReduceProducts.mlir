// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --reduce-products | FileCheck %s

// Each row of the matrix times the column, summed.

// CHECK-LABEL: @column
// CHECK:       %[[V:.*]] = graph.reshape %arg1 : {{.*}} -> tensor<?x1x?xf32, #graph.dims<B, 1, K>>
// CHECK-NEXT:  %[[P:.*]] = graph.mul %arg0, %[[V]]
// CHECK-NEXT:  graph.reduce %[[P]] {axes = array<i64: 2>, kind = #graph<reduce_kind sum>} : {{.*}} -> tensor<?x?x1xf32, #graph.dims<B, M, 1>>
func.func @column(%x: tensor<?x?x?xf32, #graph.dims<B, M, K>>, %v: tensor<?x?x1xf32, #graph.dims<B, K, 1>>) -> tensor<?x?x1xf32, #graph.dims<B, M, 1>> {
  %0 = graph.matmul %x, %v : (tensor<?x?x?xf32, #graph.dims<B, M, K>>, tensor<?x?x1xf32, #graph.dims<B, K, 1>>) -> tensor<?x?x1xf32, #graph.dims<B, M, 1>>
  return %0 : tensor<?x?x1xf32, #graph.dims<B, M, 1>>
}

// One column for all batches, and one element of a result.

// CHECK-LABEL: @shared_column
// CHECK:       graph.reshape %arg1 : (tensor<8x1xf32>) -> tensor<1x8xf32>
// CHECK:       graph.reduce %{{.*}} {axes = array<i64: 2>
// CHECK:       graph.reduce %{{.*}} {axes = array<i64: 1>
func.func @shared_column(%x: tensor<4x3x8xf32>, %v: tensor<8x1xf32>, %y: tensor<1x8xf32>) -> (tensor<4x3x1xf32>, tensor<1x1xf32>) {
  %0 = graph.matmul %x, %v : (tensor<4x3x8xf32>, tensor<8x1xf32>) -> tensor<4x3x1xf32>
  %1 = graph.matmul %y, %v : (tensor<1x8xf32>, tensor<8x1xf32>) -> tensor<1x1xf32>
  return %0, %1 : tensor<4x3x1xf32>, tensor<1x1xf32>
}

// A row by a matrix whose columns are rows in memory, be it of heads.

// CHECK-LABEL: @row
// CHECK:       %[[P:.*]] = graph.mul %arg1, %arg0 : (tensor<2x50x8xf32>, tensor<2x1x8xf32>)
// CHECK-NEXT:  %[[S:.*]] = graph.reduce %[[P]] {axes = array<i64: 2>
// CHECK-NEXT:  graph.reshape %[[S]] : (tensor<2x50x1xf32>) -> tensor<2x1x50xf32>
// CHECK:       %[[K:.*]] = graph.transpose %arg3 {permutation = array<i64: 0, 2, 1, 3>}
// CHECK-NEXT:  graph.mul %[[K]], %arg2
func.func @row(%q: tensor<2x1x8xf32>, %k: tensor<2x50x8xf32>, %qs: tensor<2x4x1x8xf32>, %ks: tensor<2x50x4x8xf32>) -> (tensor<2x1x50xf32>, tensor<2x4x1x50xf32>) {
  %0 = graph.transpose %k {permutation = array<i64: 0, 2, 1>} : (tensor<2x50x8xf32>) -> tensor<2x8x50xf32>
  %1 = graph.matmul %q, %0 : (tensor<2x1x8xf32>, tensor<2x8x50xf32>) -> tensor<2x1x50xf32>
  %2 = graph.transpose %ks {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x50x4x8xf32>) -> tensor<2x4x8x50xf32>
  %3 = graph.matmul %qs, %2 : (tensor<2x4x1x8xf32>, tensor<2x4x8x50xf32>) -> tensor<2x4x1x50xf32>
  return %1, %3 : tensor<2x1x50xf32>, tensor<2x4x1x50xf32>
}

// A column by a matrix that is transposed is a row by that as it lies.

// CHECK-LABEL: @turned_column
// CHECK:       %[[V:.*]] = graph.reshape %arg1 : (tensor<8x1xf32>) -> tensor<1x8xf32>
// CHECK-NEXT:  %[[P:.*]] = graph.matmul %[[V]], %arg0 : (tensor<1x8xf32>, tensor<8x50xf32>) -> tensor<1x50xf32>
// CHECK-NEXT:  graph.reshape %[[P]] : (tensor<1x50xf32>) -> tensor<50x1xf32>
func.func @turned_column(%x: tensor<8x50xf32>, %v: tensor<8x1xf32>) -> tensor<50x1xf32> {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<8x50xf32>) -> tensor<50x8xf32>
  %1 = graph.matmul %0, %v : (tensor<50x8xf32>, tensor<8x1xf32>) -> tensor<50x1xf32>
  return %1 : tensor<50x1xf32>
}

// CHECK-LABEL: @outer
// CHECK:       graph.mul %arg0, %arg1 : (tensor<5x64x1xf32>, tensor<1x50xf32>) -> tensor<5x64x50xf32>
func.func @outer(%x: tensor<5x64x1xf32>, %y: tensor<1x50xf32>) -> tensor<5x64x50xf32> {
  %0 = graph.matmul %x, %y : (tensor<5x64x1xf32>, tensor<1x50xf32>) -> tensor<5x64x50xf32>
  return %0 : tensor<5x64x50xf32>
}

// Several columns; a row by a matrix as it lies; a matrix that batches share,
// on either side; other types, and what was rounded.

// CHECK-LABEL: @stays
// CHECK-COUNT-7: graph.matmul
// CHECK-NOT:   graph.mul
// CHECK-NOT:   graph.reduce
func.func @stays(%x: tensor<4x3x8xf32>, %v: tensor<8x2xf32>, %r: tensor<1x8xf32>, %m: tensor<3x8xf32>, %vs: tensor<4x8x1xf32>, %rs: tensor<4x1x8xf32>, %d: tensor<3x8xf64>, %dv: tensor<8x1xf64>, %h: tensor<8x1xbf16>, %n: tensor<?x8xf32, #graph.dims<N, 8>>)
    -> (tensor<4x3x2xf32>, tensor<1x2xf32>, tensor<4x3x1xf32>, tensor<4x1x3xf32>, tensor<3x1xf64>, tensor<3x1xf32>, tensor<?x2xf32, #graph.dims<N, 2>>) {
  %0 = graph.matmul %x, %v : (tensor<4x3x8xf32>, tensor<8x2xf32>) -> tensor<4x3x2xf32>
  %1 = graph.matmul %r, %v : (tensor<1x8xf32>, tensor<8x2xf32>) -> tensor<1x2xf32>
  %2 = graph.matmul %m, %vs : (tensor<3x8xf32>, tensor<4x8x1xf32>) -> tensor<4x3x1xf32>
  %3 = graph.transpose %m {permutation = array<i64: 1, 0>} : (tensor<3x8xf32>) -> tensor<8x3xf32>
  %4 = graph.matmul %rs, %3 : (tensor<4x1x8xf32>, tensor<8x3xf32>) -> tensor<4x1x3xf32>
  %5 = graph.matmul %d, %dv : (tensor<3x8xf64>, tensor<8x1xf64>) -> tensor<3x1xf64>
  %6 = graph.cast %h : (tensor<8x1xbf16>) -> tensor<8x1xf32>
  %7 = graph.matmul %m, %6 : (tensor<3x8xf32>, tensor<8x1xf32>) -> tensor<3x1xf32>
  %8 = graph.matmul %n, %v : (tensor<?x8xf32, #graph.dims<N, 8>>, tensor<8x2xf32>) -> tensor<?x2xf32, #graph.dims<N, 2>>
  return %0, %1, %2, %4, %5, %7, %8 : tensor<4x3x2xf32>, tensor<1x2xf32>, tensor<4x3x1xf32>, tensor<4x1x3xf32>, tensor<3x1xf64>, tensor<3x1xf32>, tensor<?x2xf32, #graph.dims<N, 2>>
}
