// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --pad-quads | FileCheck %s

// A zero point of the image stays, and is none of the channel more; the chain
// of casts behind it is made anew.

// CHECK-LABEL: @first
// CHECK: %[[ZERO:.*]] = graph.cast %arg1
// CHECK: %[[IMAGE:.*]] = graph.pad %{{.*}} -> tensor<1x9x9x4xui8>
// CHECK: %[[WIDE:.*]] = graph.cast %[[IMAGE]]
// CHECK: %[[X:.*]] = graph.sub %[[WIDE]], %[[ZERO]]
// CHECK: %[[FILTER:.*]] = graph.pad %{{.*}} -> tensor<8x4x3x3xi8>
// CHECK: %[[W:.*]] = graph.cast %[[FILTER]]
// CHECK: graph.conv %[[X]], %[[W]] {{.*}} -> tensor<1x5x5x8xi32>
func.func @first(%x: tensor<1x3x9x9xui8>, %p: tensor<ui8>) -> tensor<1x5x5x8xi32> {
  %w = graph.weight {name = "w"} : () -> tensor<8x3x3x3xi8>
  %z = graph.cast %p : (tensor<ui8>) -> tensor<i32>
  %t = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x3x9x9xui8>) -> tensor<1x9x9x3xui8>
  %0 = graph.cast %t : (tensor<1x9x9x3xui8>) -> tensor<1x9x9x3xi32>
  %1 = graph.sub %0, %z : (tensor<1x9x9x3xi32>, tensor<i32>) -> tensor<1x9x9x3xi32>
  %2 = graph.cast %w : (tensor<8x3x3x3xi8>) -> tensor<8x3x3x3xi32>
  %3 = graph.conv %1, %2 {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<1x9x9x3xi32>, tensor<8x3x3x3xi32>) -> tensor<1x5x5x8xi32>
  return %3 : tensor<1x5x5x8xi32>
}

// What is quantized in front of the turn is behind it and the pad.

// CHECK-LABEL: @quantized
// CHECK: %[[T:.*]] = graph.transpose %arg0
// CHECK: %[[P:.*]] = graph.pad %[[T]], %{{.*}} -> tensor<1x9x9x4xf32>
// CHECK: %[[Q:.*]] = graph.quantize %[[P]], %{{.*}} -> tensor<1x9x9x4xui8>
// CHECK: graph.cast %[[Q]]
func.func @quantized(%x: tensor<1x3x9x9xf32>) -> tensor<1x7x7x8xi32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %p = graph.constant {value = dense<9> : tensor<ui8>} : () -> tensor<ui8>
  %w = graph.weight {name = "q"} : () -> tensor<8x3x3x3xi8>
  %q = graph.quantize %x, %s, %p : (tensor<1x3x9x9xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x3x9x9xui8>
  %t = graph.transpose %q {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x3x9x9xui8>) -> tensor<1x9x9x3xui8>
  %0 = graph.cast %t : (tensor<1x9x9x3xui8>) -> tensor<1x9x9x3xi32>
  %1 = graph.cast %w : (tensor<8x3x3x3xi8>) -> tensor<8x3x3x3xi32>
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<1x9x9x3xi32>, tensor<8x3x3x3xi32>) -> tensor<1x7x7x8xi32>
  return %2 : tensor<1x7x7x8xi32>
}

// Factors of the channels, as smoothing multiplies with, have one more too.

// CHECK-LABEL: @smoothed
// CHECK: %[[T:.*]] = graph.transpose %arg0
// CHECK: %[[P:.*]] = graph.pad %[[T]], %{{.*}} -> tensor<1x9x9x4xf32>
// CHECK: %[[F:.*]] = graph.pad %{{.*}} -> tensor<4xf32>
// CHECK: %[[M:.*]] = graph.mul %[[P]], %[[F]]
// CHECK: graph.quantize %[[M]], %{{.*}} -> tensor<1x9x9x4xui8>
func.func @smoothed(%x: tensor<1x3x9x9xf32>) -> tensor<1x7x7x8xi32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %p = graph.constant {value = dense<9> : tensor<ui8>} : () -> tensor<ui8>
  %f = graph.weight {name = "f"} : () -> tensor<3xf32>
  %w = graph.weight {name = "s"} : () -> tensor<8x3x3x3xi8>
  %t = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x3x9x9xf32>) -> tensor<1x9x9x3xf32>
  %m = graph.mul %t, %f : (tensor<1x9x9x3xf32>, tensor<3xf32>) -> tensor<1x9x9x3xf32>
  %q = graph.quantize %m, %s, %p : (tensor<1x9x9x3xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x9x9x3xui8>
  %0 = graph.cast %q : (tensor<1x9x9x3xui8>) -> tensor<1x9x9x3xi32>
  %1 = graph.cast %w : (tensor<8x3x3x3xi8>) -> tensor<8x3x3x3xi32>
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<1x9x9x3xi32>, tensor<8x3x3x3xi32>) -> tensor<1x7x7x8xi32>
  return %2 : tensor<1x7x7x8xi32>
}

// Another convolution's result would be copied, zero points of a filter make
// numbers of its zeros, and whole quads want nothing.

// CHECK-LABEL: @others
// CHECK-NOT: graph.pad
func.func @others(%x: tensor<1x9x9x3xui8>, %y: tensor<1x9x9x4xui8>, %z: tensor<i32>) -> (tensor<1x7x7x8xi32>, tensor<1x7x7x8xi32>, tensor<1x5x5x8xi32>) {
  %w = graph.weight {name = "w"} : () -> tensor<8x3x3x3xi8>
  %v = graph.weight {name = "v"} : () -> tensor<5x4x3x3xi8>
  %u = graph.weight {name = "u"} : () -> tensor<8x5x3x3xi8>
  %0 = graph.cast %x : (tensor<1x9x9x3xui8>) -> tensor<1x9x9x3xi32>
  %1 = graph.cast %w : (tensor<8x3x3x3xi8>) -> tensor<8x3x3x3xi32>
  %2 = graph.sub %1, %z : (tensor<8x3x3x3xi32>, tensor<i32>) -> tensor<8x3x3x3xi32>
  %3 = graph.conv %0, %2 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<1x9x9x3xi32>, tensor<8x3x3x3xi32>) -> tensor<1x7x7x8xi32>
  %4 = graph.cast %y : (tensor<1x9x9x4xui8>) -> tensor<1x9x9x4xi32>
  %5 = graph.cast %v : (tensor<5x4x3x3xi8>) -> tensor<5x4x3x3xi32>
  %6 = graph.conv %4, %5 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<1x9x9x4xi32>, tensor<5x4x3x3xi32>) -> tensor<1x7x7x5xi32>
  %k = graph.weight {name = "k"} : () -> tensor<8x4x3x3xi8>
  %7 = graph.cast %k : (tensor<8x4x3x3xi8>) -> tensor<8x4x3x3xi32>
  %8 = graph.conv %4, %7 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<1x9x9x4xi32>, tensor<8x4x3x3xi32>) -> tensor<1x7x7x8xi32>
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %p = graph.constant {value = dense<0> : tensor<ui8>} : () -> tensor<ui8>
  %9 = graph.cast %6 : (tensor<1x7x7x5xi32>) -> tensor<1x7x7x5xf32>
  %10 = graph.quantize %9, %s, %p : (tensor<1x7x7x5xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x7x7x5xui8>
  %11 = graph.max_pool %10 {kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, channels_last} : (tensor<1x7x7x5xui8>) -> tensor<1x7x7x5xui8>
  %12 = graph.cast %11 : (tensor<1x7x7x5xui8>) -> tensor<1x7x7x5xi32>
  %13 = graph.cast %u : (tensor<8x5x3x3xi8>) -> tensor<8x5x3x3xi32>
  %14 = graph.conv %12, %13 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<1x7x7x5xi32>, tensor<8x5x3x3xi32>) -> tensor<1x5x5x8xi32>
  return %3, %8, %14 : tensor<1x7x7x8xi32>, tensor<1x7x7x8xi32>, tensor<1x5x5x8xi32>
}
