// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --trim-taps --split-input-file | FileCheck %s

// Over one pixel, nine taps are one; of an axis of two, all three are read.

// CHECK-LABEL: @pixel
// CHECK:      %[[W:.*]] = graph.slice %{{.*}} {starts = #graph.dims<0, 0, 1, 1>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<16x8x3x3xf32>) -> tensor<16x8x1x1xf32>
// CHECK:      graph.conv %arg0, %[[W]] {{.*}}pads = #graph.dims<0, 0, 0, 0>
// CHECK:      %[[V:.*]] = graph.slice %{{.*}} {starts = #graph.dims<0, 0, 0, 1>, {{.*}} -> tensor<16x8x3x1xf32>
// CHECK:      graph.conv %arg1, %[[V]] {{.*}}pads = #graph.dims<1, 0, 1, 0>
func.func @pixel(%x: tensor<2x1x1x8xf32>, %y: tensor<2x2x1x8xf32>) -> (tensor<2x1x1x16xf32>, tensor<2x2x1x16xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<16x8x3x3xf32>
  %0 = graph.conv %x, %w {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1 : i64}
      : (tensor<2x1x1x8xf32>, tensor<16x8x3x3xf32>) -> tensor<2x1x1x16xf32>
  %1 = graph.conv %y, %w {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1 : i64}
      : (tensor<2x2x1x8xf32>, tensor<16x8x3x3xf32>) -> tensor<2x2x1x16xf32>
  return %0, %1 : tensor<2x1x1x16xf32>, tensor<2x2x1x16xf32>
}

// -----

// Dilated windows that reach beyond the image on both sides, or in front. With a
// stride, a later window may read by a tap by which the first one does not.

// CHECK-LABEL: @dilated
// CHECK:      graph.slice {{.*}} -> tensor<4x8x1xf32>
// CHECK:      graph.conv {{.*}}pads = #graph.dims<0, 0>{{.*}} -> tensor<1x14x4xf32>
// CHECK:      graph.slice %{{.*}} {starts = #graph.dims<0, 0, 1>, {{.*}} -> tensor<4x8x4xf32>
// CHECK:      graph.conv {{.*}}pads = #graph.dims<12, 8>{{.*}} -> tensor<1x16x4xf32>
// CHECK-NOT:  graph.slice
// CHECK:      graph.conv {{.*}}pads = #graph.dims<2, -1>{{.*}} -> tensor<1x6x4xf32>
func.func @dilated(%x: tensor<1x14x8xf32>) -> (tensor<1x14x4xf32>, tensor<1x16x4xf32>, tensor<1x6x4xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<4x8x3xf32>
  %v = graph.weight {name = "v"} : () -> tensor<4x8x5xf32>
  %0 = graph.conv %x, %w {channels_last, strides = array<i64: 1>, dilations = array<i64: 18>, pads = #graph.dims<18, 18>, group = 1 : i64}
      : (tensor<1x14x8xf32>, tensor<4x8x3xf32>) -> tensor<1x14x4xf32>
  %1 = graph.conv %x, %v {channels_last, strides = array<i64: 1>, dilations = array<i64: 6>, pads = #graph.dims<18, 8>, group = 1 : i64}
      : (tensor<1x14x8xf32>, tensor<4x8x5xf32>) -> tensor<1x16x4xf32>
  %2 = graph.conv %x, %v {channels_last, strides = array<i64: 2>, dilations = array<i64: 1>, pads = #graph.dims<2, -1>, group = 1 : i64}
      : (tensor<1x14x8xf32>, tensor<4x8x5xf32>) -> tensor<1x6x4xf32>
  return %0, %1, %2 : tensor<1x14x4xf32>, tensor<1x16x4xf32>, tensor<1x6x4xf32>
}

// -----

// Filters that are computed, sizes that are not known, channels in front, and
// windows of which none reads the image stay as they are.

// CHECK-LABEL: @others
// CHECK-NOT:   graph.slice
func.func @others(%x: tensor<1x1x8xf32>, %f: tensor<4x8x3xf32>, %y: tensor<1x?x8xf32, #graph.dims<1, n, 8>>, %z: tensor<1x8x1xf32>)
    -> (tensor<1x1x4xf32>, tensor<1x?x4xf32, #graph.dims<1, n, 4>>, tensor<1x4x1xf32>, tensor<1x1x4xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<4x8x3xf32>
  %0 = graph.conv %x, %f {channels_last, strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<1, 1>, group = 1 : i64}
      : (tensor<1x1x8xf32>, tensor<4x8x3xf32>) -> tensor<1x1x4xf32>
  %1 = graph.conv %y, %w {channels_last, strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<1, 1>, group = 1 : i64}
      : (tensor<1x?x8xf32, #graph.dims<1, n, 8>>, tensor<4x8x3xf32>) -> tensor<1x?x4xf32, #graph.dims<1, n, 4>>
  %2 = graph.conv %z, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<1, 1>, group = 1 : i64}
      : (tensor<1x8x1xf32>, tensor<4x8x3xf32>) -> tensor<1x4x1xf32>
  %3 = graph.conv %x, %w {channels_last, strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<5, -3>, group = 1 : i64}
      : (tensor<1x1x8xf32>, tensor<4x8x3xf32>) -> tensor<1x1x4xf32>
  return %0, %1, %2, %3 : tensor<1x1x4xf32>, tensor<1x?x4xf32, #graph.dims<1, n, 4>>, tensor<1x4x1xf32>, tensor<1x1x4xf32>
}
