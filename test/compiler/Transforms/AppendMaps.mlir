// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --append-maps --split-input-file | FileCheck %s

// A dense block: maps are appended to what has room for the last ones, and what
// normalizes reads a slice of it.

// CHECK-LABEL: @dense
// CHECK:      %[[A:.*]] = graph.append %arg0, %arg1 {axis = 3 : i64, length = #graph.dims<64>} : {{.*}} -> tensor<?x7x7x128xf32
// CHECK-NEXT: %[[S:.*]] = graph.slice %[[A]] {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : {{.*}} -> tensor<?x7x7x96xf32
// CHECK-NEXT: %[[E:.*]] = graph.exp %[[S]]
// CHECK-NEXT: %[[Y:.*]] = graph.slice %[[E]]
// CHECK-NEXT: %[[B:.*]] = graph.append %[[A]], %[[Y]] {axis = 3 : i64, length = #graph.dims<96>} : {{.*}} -> tensor<?x7x7x128xf32
// CHECK-NEXT: return %[[B]]
func.func @dense(%x: tensor<?x7x7x64xf32, #graph.dims<N, 7, 7, 64>>, %y: tensor<?x7x7x32xf32, #graph.dims<N, 7, 7, 32>>) -> tensor<?x7x7x128xf32, #graph.dims<N, 7, 7, 128>> {
  %0 = graph.concat %x, %y {axis = 3 : i64} : (tensor<?x7x7x64xf32, #graph.dims<N, 7, 7, 64>>, tensor<?x7x7x32xf32, #graph.dims<N, 7, 7, 32>>) -> tensor<?x7x7x96xf32, #graph.dims<N, 7, 7, 96>>
  %1 = graph.exp %0 : (tensor<?x7x7x96xf32, #graph.dims<N, 7, 7, 96>>) -> tensor<?x7x7x96xf32, #graph.dims<N, 7, 7, 96>>
  %2 = graph.slice %1 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x7x7x96xf32, #graph.dims<N, 7, 7, 96>>) -> tensor<?x7x7x32xf32, #graph.dims<N, 7, 7, 32>>
  %3 = graph.concat %0, %2 {axis = 3 : i64} : (tensor<?x7x7x96xf32, #graph.dims<N, 7, 7, 96>>, tensor<?x7x7x32xf32, #graph.dims<N, 7, 7, 32>>) -> tensor<?x7x7x128xf32, #graph.dims<N, 7, 7, 128>>
  return %3 : tensor<?x7x7x128xf32, #graph.dims<N, 7, 7, 128>>
}

// -----

// Some at once are appended one after another. What is seen through a view is
// joined first: a kernel appends to memory.

// CHECK-LABEL: @views
// CHECK:      %[[T:.*]] = graph.transpose %arg0
// CHECK-NEXT: %[[A:.*]] = graph.concat %[[T]], %arg1 {axis = 1 : i64}
// CHECK-NEXT: graph.exp %[[A]]
// CHECK-NEXT: %[[B:.*]] = graph.append %[[A]], %arg1 {axis = 1 : i64, length = #graph.dims<5>} : (tensor<2x5xf32>, tensor<2x2xf32>) -> tensor<2x10xf32>
// CHECK-NEXT: %[[C:.*]] = graph.append %[[B]], %arg2 {axis = 1 : i64, length = #graph.dims<7>} : (tensor<2x10xf32>, tensor<2x3xf32>) -> tensor<2x10xf32>
func.func @views(%x: tensor<3x2xf32>, %y: tensor<2x2xf32>, %z: tensor<2x3xf32>) -> (tensor<2x5xf32>, tensor<2x10xf32>) {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %1 = graph.concat %0, %y {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x2xf32>) -> tensor<2x5xf32>
  %2 = graph.exp %1 : (tensor<2x5xf32>) -> tensor<2x5xf32>
  %3 = graph.concat %1, %y, %z {axis = 1 : i64} : (tensor<2x5xf32>, tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x10xf32>
  return %2, %3 : tensor<2x5xf32>, tensor<2x10xf32>
}

// -----

// Not what is read otherwise, returned, read behind what goes on from it, or
// joined along another axis, nor parts of any size.

// CHECK-LABEL: @others
// CHECK-NOT:  graph.append
func.func @others(%x: tensor<2x2xf32>, %y: tensor<2x2xf32>, %w: tensor<4x3xf32>, %z: tensor<2x?xf32, #graph.dims<2, N>>) -> (tensor<2x6xf32>, tensor<2x3xf32>, tensor<2x4xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x4xf32>, tensor<4x4xf32>, tensor<2x?xf32, #graph.dims<2, N + 4>>) {
  %0 = graph.concat %x, %y {axis = 1 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
  %1 = graph.matmul %0, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %2 = graph.concat %0, %y {axis = 1 : i64} : (tensor<2x4xf32>, tensor<2x2xf32>) -> tensor<2x6xf32>

  %3 = graph.concat %y, %x {axis = 1 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
  %4 = graph.concat %3, %y {axis = 1 : i64} : (tensor<2x4xf32>, tensor<2x2xf32>) -> tensor<2x6xf32>

  %5 = graph.concat %x, %x {axis = 1 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
  %6 = graph.concat %5, %y {axis = 1 : i64} : (tensor<2x4xf32>, tensor<2x2xf32>) -> tensor<2x6xf32>
  %7 = graph.exp %5 : (tensor<2x4xf32>) -> tensor<2x4xf32>

  %8 = graph.concat %y, %y {axis = 1 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
  %9 = graph.concat %8, %8 {axis = 0 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>

  %10 = graph.concat %x, %y {axis = 1 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
  %11 = graph.concat %10, %z {axis = 1 : i64} : (tensor<2x4xf32>, tensor<2x?xf32, #graph.dims<2, N>>) -> tensor<2x?xf32, #graph.dims<2, N + 4>>
  return %2, %1, %3, %4, %6, %7, %9, %11 : tensor<2x6xf32>, tensor<2x3xf32>, tensor<2x4xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x4xf32>, tensor<4x4xf32>, tensor<2x?xf32, #graph.dims<2, N + 4>>
}
