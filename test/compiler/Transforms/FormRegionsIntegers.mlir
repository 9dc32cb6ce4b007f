// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --form-regions --split-input-file | FileCheck %s

// Between kernels lie 8-bit numbers: products by weights take in the casts and
// zero points, and what follows element by element.

// CHECK-LABEL: @two_products
// CHECK:      %[[Q:.*]] = kernel.region
// CHECK:      graph.quantize
// CHECK:      kernel.yield {{.*}} : tensor<4x64xui8>
// CHECK:      kernel.region(%[[Q]], %arg2, %{{.*}})
// CHECK:      graph.cast {{.*}} -> tensor<4x64xi32>
// CHECK:      graph.cast {{.*}} : (tensor<ui8>) -> tensor<i32>
// CHECK:      graph.matmul
// CHECK:      kernel.yield {{.*}} : tensor<4x32xi32>
// CHECK:      kernel.region(%[[Q]], %arg2, %{{.*}})
// CHECK:      graph.matmul
// CHECK:      kernel.yield {{.*}} : tensor<4x32xf32>
// CHECK-NOT:  kernel.region
func.func @two_products(%x: tensor<4x64xf32>, %s: tensor<f32>, %z: tensor<ui8>) -> (tensor<4x32xf32>, tensor<4x32xi32>) {
  %v = graph.weight {name = "v"} : () -> tensor<64x32xi8>
  %w = graph.weight {name = "w"} : () -> tensor<64x32xi8>
  %q = graph.quantize %x, %s, %z : (tensor<4x64xf32>, tensor<f32>, tensor<ui8>) -> tensor<4x64xui8>
  %0 = graph.cast %q : (tensor<4x64xui8>) -> tensor<4x64xi32>
  %1 = graph.cast %z : (tensor<ui8>) -> tensor<i32>
  %2 = graph.sub %0, %1 : (tensor<4x64xi32>, tensor<i32>) -> tensor<4x64xi32>
  %3 = graph.cast %v : (tensor<64x32xi8>) -> tensor<64x32xi32>
  %4 = graph.cast %w : (tensor<64x32xi8>) -> tensor<64x32xi32>
  %5 = graph.matmul %2, %3 : (tensor<4x64xi32>, tensor<64x32xi32>) -> tensor<4x32xi32>
  %6 = graph.matmul %2, %4 : (tensor<4x64xi32>, tensor<64x32xi32>) -> tensor<4x32xi32>
  %7 = graph.cast %5 : (tensor<4x32xi32>) -> tensor<4x32xf32>
  return %7, %6 : tensor<4x32xf32>, tensor<4x32xi32>
}

// -----

// So do products of two activations, each of which it may see through a view.
// CHECK-LABEL: @activations
// CHECK:      kernel.region(%arg0, %arg1)
// CHECK-DAG:  graph.transpose {{.*}} -> tensor<64x32xui8>
// CHECK-DAG:  graph.cast {{.*}} -> tensor<4x64xi32>
// CHECK-DAG:  graph.cast {{.*}} -> tensor<64x32xi32>
// CHECK:      graph.matmul
// CHECK:      kernel.yield {{.*}} : tensor<4x32xi32>
// CHECK-NOT:  kernel.region
func.func @activations(%x: tensor<4x64xui8>, %y: tensor<32x64xui8>) -> tensor<4x32xi32> {
  %0 = graph.cast %x : (tensor<4x64xui8>) -> tensor<4x64xi32>
  %t = graph.transpose %y {permutation = array<i64: 1, 0>} : (tensor<32x64xui8>) -> tensor<64x32xui8>
  %1 = graph.cast %t : (tensor<64x32xui8>) -> tensor<64x32xi32>
  %2 = graph.matmul %0, %1 : (tensor<4x64xi32>, tensor<64x32xi32>) -> tensor<4x32xi32>
  return %2 : tensor<4x32xi32>
}

// -----

// A convolution takes in the casts of its numbers, but no transpose: it reads
// its image as it lies. Of two that are added, one stores bytes, which the
// kernel of the other widens.
// CHECK-LABEL: @convolutions
// CHECK:      %[[T:.*]] = kernel.region(%arg0)
// CHECK:      kernel.yield {{.*}} : tensor<1x6x6x8xui8>
// CHECK:      %[[Q:.*]] = kernel.region({{.*}}%[[T]]
// CHECK:      graph.cast {{.*}} : (tensor<1x6x6x8xui8>) -> tensor<1x6x6x8xi32>
// CHECK:      graph.conv
// CHECK-NOT:  graph.dequantize
// CHECK:      kernel.yield {{.*}} : tensor<1x6x6x8xui8>
// CHECK:      kernel.region({{.*}}%[[Q]]
// CHECK:      graph.conv
// CHECK:      graph.dequantize
// CHECK:      graph.dequantize
// CHECK:      graph.add
// CHECK:      kernel.yield {{.*}} : tensor<1x6x6x8xf32>
// CHECK-NOT:  kernel.region
func.func @convolutions(%x: tensor<1x8x6x6xui8>, %s: tensor<f32>, %z: tensor<ui8>) -> tensor<1x6x6x8xf32> {
  %v = graph.weight {name = "v"} : () -> tensor<8x8x3x3xi8>
  %w = graph.weight {name = "w"} : () -> tensor<8x8x3x3xi8>
  %t = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x8x6x6xui8>) -> tensor<1x6x6x8xui8>
  %0 = graph.cast %t : (tensor<1x6x6x8xui8>) -> tensor<1x6x6x8xi32>
  %1 = graph.cast %z : (tensor<ui8>) -> tensor<i32>
  %2 = graph.sub %0, %1 : (tensor<1x6x6x8xi32>, tensor<i32>) -> tensor<1x6x6x8xi32>
  %a3 = graph.cast %v : (tensor<8x8x3x3xi8>) -> tensor<8x8x3x3xi32>
  %a4 = graph.conv %2, %a3 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1 : i64, channels_last} : (tensor<1x6x6x8xi32>, tensor<8x8x3x3xi32>) -> tensor<1x6x6x8xi32>
  %a5 = graph.cast %a4 : (tensor<1x6x6x8xi32>) -> tensor<1x6x6x8xf32>
  %a6 = graph.quantize %a5, %s, %z : (tensor<1x6x6x8xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x6x6x8xui8>
  %a7 = graph.dequantize %a6, %s, %z : (tensor<1x6x6x8xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x6x6x8xf32>
  %b3 = graph.cast %w : (tensor<8x8x3x3xi8>) -> tensor<8x8x3x3xi32>
  %b4 = graph.conv %2, %b3 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1 : i64, channels_last} : (tensor<1x6x6x8xi32>, tensor<8x8x3x3xi32>) -> tensor<1x6x6x8xi32>
  %b5 = graph.cast %b4 : (tensor<1x6x6x8xi32>) -> tensor<1x6x6x8xf32>
  %b6 = graph.quantize %b5, %s, %z : (tensor<1x6x6x8xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x6x6x8xui8>
  %b7 = graph.dequantize %b6, %s, %z : (tensor<1x6x6x8xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x6x6x8xf32>
  %8 = graph.add %a7, %b7 : (tensor<1x6x6x8xf32>, tensor<1x6x6x8xf32>) -> tensor<1x6x6x8xf32>
  return %8 : tensor<1x6x6x8xf32>
}

// -----

// A convolution of each channel takes in the casts of its image, the kernel in
// front of it stores bytes; by groups of several channels it reads f32.
// CHECK-LABEL: @depthwise
// CHECK:      kernel.yield {{.*}} : tensor<1x6x6x8xui8>
// CHECK:      kernel.yield {{.*}} : tensor<1x6x6x8xf32>
// CHECK:      kernel.region({{.*}}) : (tensor<1x6x6x8xui8>, tensor<ui8>, tensor<8x1x3x3xf32>)
// CHECK:      graph.cast {{.*}} : (tensor<1x6x6x8xi32>) -> tensor<1x6x6x8xf32>
// CHECK-NEXT: graph.conv
// CHECK:      kernel.region({{.*}}) : (tensor<1x6x6x8xf32>, tensor<8x2x1x1xf32>)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: graph.conv
func.func @depthwise(%x: tensor<1x6x6x8xf32>, %s: tensor<f32>, %z: tensor<ui8>) -> (tensor<1x6x6x8xf32>, tensor<1x6x6x8xf32>) {
  %v = graph.weight {name = "v"} : () -> tensor<8x1x3x3xf32>
  %w = graph.weight {name = "w"} : () -> tensor<8x2x1x1xf32>
  %q = graph.quantize %x, %s, %z : (tensor<1x6x6x8xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x6x6x8xui8>
  %0 = graph.cast %q : (tensor<1x6x6x8xui8>) -> tensor<1x6x6x8xi32>
  %1 = graph.cast %z : (tensor<ui8>) -> tensor<i32>
  %2 = graph.sub %0, %1 : (tensor<1x6x6x8xi32>, tensor<i32>) -> tensor<1x6x6x8xi32>
  %3 = graph.cast %2 : (tensor<1x6x6x8xi32>) -> tensor<1x6x6x8xf32>
  %4 = graph.conv %3, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 8 : i64, channels_last} : (tensor<1x6x6x8xf32>, tensor<8x1x3x3xf32>) -> tensor<1x6x6x8xf32>
  %5 = graph.conv %3, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 4 : i64, channels_last} : (tensor<1x6x6x8xf32>, tensor<8x2x1x1xf32>) -> tensor<1x6x6x8xf32>
  return %4, %5 : tensor<1x6x6x8xf32>, tensor<1x6x6x8xf32>
}

// -----

// Rows that a transpose turned are no rows of their memory: bytes are turned,
// and the product reads those.
// CHECK-LABEL: @turned
// CHECK:      kernel.region(%arg0)
// CHECK:      kernel.yield {{.*}} : tensor<2x9x64xui8>
// CHECK:      graph.cast {{.*}} : (tensor<2x9x64xui8>) -> tensor<2x9x64xi32>
// CHECK:      graph.matmul
func.func @turned(%x: tensor<2x64x9xui8>, %z: tensor<ui8>) -> tensor<2x9x32xi32> {
  %w = graph.weight {name = "w"} : () -> tensor<64x32xi8>
  %t = graph.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<2x64x9xui8>) -> tensor<2x9x64xui8>
  %0 = graph.cast %t : (tensor<2x9x64xui8>) -> tensor<2x9x64xi32>
  %1 = graph.cast %z : (tensor<ui8>) -> tensor<i32>
  %2 = graph.sub %0, %1 : (tensor<2x9x64xi32>, tensor<i32>) -> tensor<2x9x64xi32>
  %3 = graph.cast %w : (tensor<64x32xi8>) -> tensor<64x32xi32>
  %4 = graph.matmul %2, %3 : (tensor<2x9x64xi32>, tensor<64x32xi32>) -> tensor<2x9x32xi32>
  return %4 : tensor<2x9x32xi32>
}

// -----

// Scores that are quantized are stored as bytes, which the softmax widens as it
// reads rows of them; not one along another axis.
// CHECK-LABEL: @scores
// CHECK:      graph.matmul
// CHECK-NOT:  graph.dequantize
// CHECK:      kernel.yield {{.*}} : tensor<3x5x7xui8>
// CHECK:      graph.dequantize
// CHECK:      graph.softmax
// CHECK:      kernel.yield {{.*}} : tensor<3x5x7xf32>
// CHECK:      graph.matmul
// CHECK:      graph.dequantize
// CHECK:      kernel.yield {{.*}} : tensor<3x5x7xf32>
// CHECK:      kernel.region
// CHECK-NOT:  graph.dequantize
// CHECK:      graph.softmax
func.func @scores(%x: tensor<3x5x64xui8>, %y: tensor<3x64x7xui8>, %s: tensor<f32>, %z: tensor<ui8>) -> (tensor<3x5x7xf32>, tensor<3x5x7xf32>) {
  %0 = graph.cast %x : (tensor<3x5x64xui8>) -> tensor<3x5x64xi32>
  %1 = graph.cast %y : (tensor<3x64x7xui8>) -> tensor<3x64x7xi32>
  %2 = graph.matmul %0, %1 : (tensor<3x5x64xi32>, tensor<3x64x7xi32>) -> tensor<3x5x7xi32>
  %3 = graph.cast %2 : (tensor<3x5x7xi32>) -> tensor<3x5x7xf32>
  %4 = graph.quantize %3, %s, %z : (tensor<3x5x7xf32>, tensor<f32>, tensor<ui8>) -> tensor<3x5x7xui8>
  %5 = graph.dequantize %4, %s, %z : (tensor<3x5x7xui8>, tensor<f32>, tensor<ui8>) -> tensor<3x5x7xf32>
  %6 = graph.softmax %5 {axis = 2 : i64} : (tensor<3x5x7xf32>) -> tensor<3x5x7xf32>
  %a = graph.matmul %0, %1 : (tensor<3x5x64xi32>, tensor<3x64x7xi32>) -> tensor<3x5x7xi32>
  %b = graph.cast %a : (tensor<3x5x7xi32>) -> tensor<3x5x7xf32>
  %c = graph.quantize %b, %s, %z : (tensor<3x5x7xf32>, tensor<f32>, tensor<ui8>) -> tensor<3x5x7xui8>
  %d = graph.dequantize %c, %s, %z : (tensor<3x5x7xui8>, tensor<f32>, tensor<ui8>) -> tensor<3x5x7xf32>
  %e = graph.softmax %d {axis = 1 : i64} : (tensor<3x5x7xf32>) -> tensor<3x5x7xf32>
  return %6, %e : tensor<3x5x7xf32>, tensor<3x5x7xf32>
}

// -----

// A product in a branch multiplies the numbers that were widened outside.

// CHECK-LABEL: func.func @branch
// CHECK: graph.if
// CHECK: kernel.region(%arg0
// CHECK: ^bb0(%{{.*}}: tensor<4x64xui8>
// CHECK: graph.cast
// CHECK: graph.sub
// CHECK: graph.matmul
func.func @branch(%x: tensor<4x64xui8>, %c: tensor<i1>, %y: tensor<4x16xi32>) -> (tensor<4x16xi32>, tensor<4x64xi32>) {
  %w = graph.weight {name = "w"} : () -> tensor<64x16xi8>
  %z = graph.constant {value = dense<128> : tensor<i32>} : () -> tensor<i32>
  %a = graph.cast %x : (tensor<4x64xui8>) -> tensor<4x64xi32>
  %l = graph.sub %a, %z : (tensor<4x64xi32>, tensor<i32>) -> tensor<4x64xi32>
  %0 = graph.if %c : (tensor<i1>) -> tensor<4x16xi32> {
    %r = graph.cast %w : (tensor<64x16xi8>) -> tensor<64x16xi32>
    %p = graph.matmul %l, %r : (tensor<4x64xi32>, tensor<64x16xi32>) -> tensor<4x16xi32>
    graph.yield %p : tensor<4x16xi32>
  } else {
    graph.yield %y : tensor<4x16xi32>
  }
  return %0, %l : tensor<4x16xi32>, tensor<4x64xi32>
}
