// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --round-concats --hoist-casts --split-input-file | FileCheck %s
// RUN: tenon-opt %s --round-concats --split-input-file | FileCheck %s --check-prefix=ALONE

// A dense block: what is joined is scaled for one convolution, and joined with
// its maps for another one. Both joins are of bf16, and what is rounded already
// is rounded once.

// CHECK-LABEL: @block
// CHECK-DAG:  %[[X:.*]] = graph.cast %arg0 : {{.*}} -> tensor<1x8x8x16xbf16>
// CHECK-DAG:  %[[Y:.*]] = graph.cast %arg1 : {{.*}} -> tensor<1x8x8x16xbf16>
// CHECK:      %[[J:.*]] = graph.concat %[[X]], %[[Y]] {{.*}} -> tensor<1x8x8x32xbf16>
// CHECK:      %[[W:.*]] = graph.cast %[[J]] : {{.*}} -> tensor<1x8x8x32xf32>
// CHECK:      graph.tanh %[[W]]
// CHECK:      %[[C:.*]] = graph.conv
// CHECK:      %[[N:.*]] = graph.cast %[[C]] : {{.*}} -> tensor<1x8x8x32xbf16>
// CHECK:      graph.concat %[[J]], %[[N]] {{.*}} -> tensor<1x8x8x64xbf16>
// CHECK-NOT:  graph.cast %arg0
// ALONE-LABEL: @block
// ALONE:      %[[J:.*]] = graph.concat {{.*}} -> tensor<1x8x8x32xf32>
// ALONE-NEXT: %[[N:.*]] = graph.cast %[[J]] : {{.*}} -> tensor<1x8x8x32xbf16>
// ALONE-NEXT: %[[W:.*]] = graph.cast %[[N]] : {{.*}} -> tensor<1x8x8x32xf32>
// ALONE:      graph.tanh %[[W]]
// ALONE:      graph.concat %[[W]], {{.*}} -> tensor<1x8x8x64xf32>
func.func @block(%x: tensor<1x8x8x16xf32>, %y: tensor<1x8x8x16xf32>)
    -> (tensor<1x8x8x32xf32>, tensor<1x8x8x16xbf16>) {
  %w = graph.weight {name = "w"} : () -> tensor<32x32x1x1xbf16>
  %v = graph.weight {name = "v"} : () -> tensor<32x64x1x1xbf16>
  %s = graph.weight {name = "s"} : () -> tensor<64xf32>
  %xn = graph.cast %x : (tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xbf16>
  %0 = graph.concat %x, %y {axis = 3 : i64} : (tensor<1x8x8x16xf32>, tensor<1x8x8x16xf32>) -> tensor<1x8x8x32xf32>
  %1 = graph.tanh %0 : (tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  %2 = graph.cast %1 : (tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xbf16>
  %3 = graph.cast %2 : (tensor<1x8x8x32xbf16>) -> tensor<1x8x8x32xf32>
  %4 = graph.cast %w : (tensor<32x32x1x1xbf16>) -> tensor<32x32x1x1xf32>
  %5 = graph.conv %3, %4 {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64}
      : (tensor<1x8x8x32xf32>, tensor<32x32x1x1xf32>) -> tensor<1x8x8x32xf32>
  %6 = graph.concat %0, %5 {axis = 3 : i64} : (tensor<1x8x8x32xf32>, tensor<1x8x8x32xf32>) -> tensor<1x8x8x64xf32>
  %7 = graph.mul %6, %s : (tensor<1x8x8x64xf32>, tensor<64xf32>) -> tensor<1x8x8x64xf32>
  %8 = graph.cast %7 : (tensor<1x8x8x64xf32>) -> tensor<1x8x8x64xbf16>
  %9 = graph.cast %8 : (tensor<1x8x8x64xbf16>) -> tensor<1x8x8x64xf32>
  %10 = graph.cast %v : (tensor<32x64x1x1xbf16>) -> tensor<32x64x1x1xf32>
  %11 = graph.conv %9, %10 {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64}
      : (tensor<1x8x8x64xf32>, tensor<32x64x1x1xf32>) -> tensor<1x8x8x32xf32>
  return %11, %xn : tensor<1x8x8x32xf32>, tensor<1x8x8x16xbf16>
}

// -----

// Not where the program gives it, what scales it is computed, a convolution of
// f32 reads it, or a product of a matrix does.

// CHECK-LABEL: @others
// CHECK-NOT:   graph.concat {{.*}}xbf16>
// ALONE-LABEL: @others
// ALONE:       graph.concat
// ALONE-NEXT:  graph.tanh
// ALONE:       graph.concat
// ALONE-NEXT:  graph.mul
// ALONE:       graph.concat
// ALONE-NEXT:  graph.tanh
// ALONE:       graph.concat
// ALONE-NEXT:  graph.tanh
func.func @others(%x: tensor<1x8x8x16xf32>, %y: tensor<1x8x8x16xf32>, %t: tensor<32xf32>)
    -> (tensor<1x8x8x32xf32>, tensor<1x8x8x32xf32>, tensor<1x8x8x32xf32>, tensor<1x8x8x32xf32>, tensor<1x8x8x8xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<32x32x1x1xbf16>
  %v = graph.weight {name = "v"} : () -> tensor<32x32x1x1xf32>
  %m = graph.weight {name = "m"} : () -> tensor<32x8xbf16>
  %4 = graph.cast %w : (tensor<32x32x1x1xbf16>) -> tensor<32x32x1x1xf32>

  %a = graph.concat %x, %y {axis = 3 : i64} : (tensor<1x8x8x16xf32>, tensor<1x8x8x16xf32>) -> tensor<1x8x8x32xf32>
  %a1 = graph.tanh %a : (tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  %a2 = graph.cast %a1 : (tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xbf16>
  %a3 = graph.cast %a2 : (tensor<1x8x8x32xbf16>) -> tensor<1x8x8x32xf32>
  %a4 = graph.conv %a3, %4 {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64}
      : (tensor<1x8x8x32xf32>, tensor<32x32x1x1xf32>) -> tensor<1x8x8x32xf32>

  %b = graph.concat %y, %x {axis = 3 : i64} : (tensor<1x8x8x16xf32>, tensor<1x8x8x16xf32>) -> tensor<1x8x8x32xf32>
  %b1 = graph.mul %b, %t : (tensor<1x8x8x32xf32>, tensor<32xf32>) -> tensor<1x8x8x32xf32>
  %b2 = graph.cast %b1 : (tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xbf16>
  %b3 = graph.cast %b2 : (tensor<1x8x8x32xbf16>) -> tensor<1x8x8x32xf32>
  %b4 = graph.conv %b3, %4 {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64}
      : (tensor<1x8x8x32xf32>, tensor<32x32x1x1xf32>) -> tensor<1x8x8x32xf32>

  %c = graph.concat %x, %x {axis = 3 : i64} : (tensor<1x8x8x16xf32>, tensor<1x8x8x16xf32>) -> tensor<1x8x8x32xf32>
  %c1 = graph.tanh %c : (tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  %c4 = graph.conv %c1, %v {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64}
      : (tensor<1x8x8x32xf32>, tensor<32x32x1x1xf32>) -> tensor<1x8x8x32xf32>

  %d = graph.concat %y, %y {axis = 3 : i64} : (tensor<1x8x8x16xf32>, tensor<1x8x8x16xf32>) -> tensor<1x8x8x32xf32>
  %d1 = graph.tanh %d : (tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  %d2 = graph.cast %d1 : (tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xbf16>
  %d3 = graph.cast %d2 : (tensor<1x8x8x32xbf16>) -> tensor<1x8x8x32xf32>
  %d4 = graph.cast %m : (tensor<32x8xbf16>) -> tensor<32x8xf32>
  %d5 = graph.matmul %d3, %d4 : (tensor<1x8x8x32xf32>, tensor<32x8xf32>) -> tensor<1x8x8x8xf32>
  return %a, %a4, %b4, %c4, %d5 : tensor<1x8x8x32xf32>, tensor<1x8x8x32xf32>, tensor<1x8x8x32xf32>, tensor<1x8x8x32xf32>, tensor<1x8x8x8xf32>
}

// -----

// One of several readers averages windows for a convolution of its own.

// CHECK-LABEL: @averaged
// CHECK:       %[[A:.*]] = graph.concat {{.*}} -> tensor<1x8x8x32xbf16>
// CHECK-NEXT:  graph.average_pool %[[A]] {{.*}} -> tensor<1x8x8x32xbf16>
// CHECK:       %[[B:.*]] = graph.concat {{.*}} -> tensor<1x8x8x32xf32>
// CHECK-NEXT:  graph.average_pool %[[B]] {{.*}} -> tensor<1x8x8x32xf32>
func.func @averaged(%x: tensor<1x8x8x16xf32>, %y: tensor<1x8x8x16xf32>) -> (tensor<1x8x8x32xf32>, tensor<1x8x8x32xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<32x32x1x1xbf16>
  %0 = graph.cast %w : (tensor<32x32x1x1xbf16>) -> tensor<32x32x1x1xf32>
  %a = graph.concat %x, %y {axis = 3 : i64} : (tensor<1x8x8x16xf32>, tensor<1x8x8x16xf32>) -> tensor<1x8x8x32xf32>
  %a1 = graph.average_pool %a {channels_last, count_pads = true, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>} : (tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  %a2 = graph.cast %a1 : (tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xbf16>
  %a3 = graph.cast %a2 : (tensor<1x8x8x32xbf16>) -> tensor<1x8x8x32xf32>
  %a4 = graph.conv %a3, %0 {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<1x8x8x32xf32>, tensor<32x32x1x1xf32>) -> tensor<1x8x8x32xf32>
  %b = graph.concat %y, %x {axis = 3 : i64} : (tensor<1x8x8x16xf32>, tensor<1x8x8x16xf32>) -> tensor<1x8x8x32xf32>
  %b1 = graph.average_pool %b {channels_last, count_pads = true, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>} : (tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  return %a4, %b1 : tensor<1x8x8x32xf32>, tensor<1x8x8x32xf32>
}
