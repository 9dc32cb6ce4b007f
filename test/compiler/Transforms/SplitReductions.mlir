// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --split-reductions | FileCheck %s

// Pixels of a group first, then its channels; axes of one element go anywhere.

// CHECK-LABEL: @group
// CHECK:       %[[A:.*]] = graph.reduce %{{.*}} {axes = array<i64: 1, 2>, kind = #graph<reduce_kind mean>} : {{.*}} -> tensor<2x1x1x8x4xf32>
// CHECK-NEXT:  graph.reduce %[[A]] {axes = array<i64: 4>, kind = #graph<reduce_kind mean>} : {{.*}} -> tensor<2x1x1x8x1xf32>
func.func @group(%x: tensor<2x?x64x8x4xf32, #graph.dims<2, H, 64, 8, 4>>) -> tensor<2x1x1x8x1xf32> {
  %0 = graph.reduce %x {kind = #graph<reduce_kind mean>, axes = array<i64: 1, 2, 4>} : (tensor<2x?x64x8x4xf32, #graph.dims<2, H, 64, 8, 4>>) -> tensor<2x1x1x8x1xf32>
  return %0 : tensor<2x1x1x8x1xf32>
}

// CHECK-LABEL: @extreme_of_bytes
// CHECK:       graph.reduce %{{.*}} {axes = array<i64: 0>, kind = #graph<reduce_kind max>}
// CHECK-NEXT:  graph.reduce %{{.*}} {axes = array<i64: 1, 3>, kind = #graph<reduce_kind max>}
func.func @extreme_of_bytes(%x: tensor<9x1x8x4xui8>) -> tensor<1x1x8x1xui8> {
  %0 = graph.reduce %x {kind = #graph<reduce_kind max>, axes = array<i64: 0, 1, 3>} : (tensor<9x1x8x4xui8>) -> tensor<1x1x8x1xui8>
  return %0 : tensor<1x1x8x1xui8>
}

// Many neighbours are worked along; what is all reduced, or all of it behind
// what stays, is one run of memory; f16 would be rounded in between.

// CHECK-LABEL: @stays
// CHECK-COUNT-5: graph.reduce
// CHECK-NOT:   graph.reduce
func.func @stays(%x: tensor<9x8x64xf32>, %y: tensor<9x8x4xf32>, %z: tensor<9x8x4xf16>, %w: tensor<9x8x?xf32, #graph.dims<9, 8, N>>) -> (tensor<1x8x1xf32>, tensor<1x1x1xf32>, tensor<9x1x1xf32>, tensor<1x8x1xf16>, tensor<1x8x1xf32>) {
  %0 = graph.reduce %x {kind = #graph<reduce_kind sum>, axes = array<i64: 0, 2>} : (tensor<9x8x64xf32>) -> tensor<1x8x1xf32>
  %1 = graph.reduce %y {kind = #graph<reduce_kind sum>, axes = array<i64: 0, 1, 2>} : (tensor<9x8x4xf32>) -> tensor<1x1x1xf32>
  %2 = graph.reduce %y {kind = #graph<reduce_kind sum>, axes = array<i64: 1, 2>} : (tensor<9x8x4xf32>) -> tensor<9x1x1xf32>
  %3 = graph.reduce %z {kind = #graph<reduce_kind sum>, axes = array<i64: 0, 2>} : (tensor<9x8x4xf16>) -> tensor<1x8x1xf16>
  %4 = graph.reduce %w {kind = #graph<reduce_kind sum>, axes = array<i64: 0, 2>} : (tensor<9x8x?xf32, #graph.dims<9, 8, N>>) -> tensor<1x8x1xf32>
  return %0, %1, %2, %3, %4 : tensor<1x8x1xf32>, tensor<1x1x1xf32>, tensor<9x1x1xf32>, tensor<1x8x1xf16>, tensor<1x8x1xf32>
}
