// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --integer-products=target=cuda --split-input-file | FileCheck %s
// RUN: tenon-opt %s --integer-products="target=cuda explain" --split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY

// Of weights of bytes, one of them turned round, one with a zero point.

// CHECK-LABEL: @weights
// CHECK-COUNT-3: graph.matmul {{.*}} -> tensor<6x32xi32>
func.func @weights(%x: tensor<6x64xui8>, %s: tensor<f32>, %z: tensor<ui8>) -> (tensor<6x32xf32>, tensor<6x32xf32>, tensor<6x32xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<64x32xi8>
  %v = graph.weight {name = "v"} : () -> tensor<32x64xi8>
  %u = graph.weight {name = "u"} : () -> tensor<64x32xui8>
  %m = graph.constant {value = dense<5> : tensor<ui8>} : () -> tensor<ui8>
  %n = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %0 = graph.dequantize %x, %s, %z : (tensor<6x64xui8>, tensor<f32>, tensor<ui8>) -> tensor<6x64xf32>
  %1 = graph.dequantize %w, %s, %n : (tensor<64x32xi8>, tensor<f32>, tensor<i8>) -> tensor<64x32xf32>
  %2 = graph.dequantize %v, %s, %n : (tensor<32x64xi8>, tensor<f32>, tensor<i8>) -> tensor<32x64xf32>
  %3 = graph.transpose %2 {permutation = array<i64: 1, 0>} : (tensor<32x64xf32>) -> tensor<64x32xf32>
  %4 = graph.matmul %0, %1 : (tensor<6x64xf32>, tensor<64x32xf32>) -> tensor<6x32xf32>
  %5 = graph.matmul %0, %3 : (tensor<6x64xf32>, tensor<64x32xf32>) -> tensor<6x32xf32>
  %6 = graph.dequantize %u, %s, %m : (tensor<64x32xui8>, tensor<f32>, tensor<ui8>) -> tensor<64x32xf32>
  %7 = graph.matmul %0, %6 : (tensor<6x64xf32>, tensor<64x32xf32>) -> tensor<6x32xf32>
  return %4, %5, %7 : tensor<6x32xf32>, tensor<6x32xf32>, tensor<6x32xf32>
}

// -----

// Two activations, a depth that is no multiple of four, and bytes that are
// turned round behind their rounding stay.

// CHECK-LABEL: @stay
// CHECK-NOT: i32
// CHECK: return
// WHY: remark: multiplies f32: rhs is no weight, and GPUs multiply no bytes by others
// WHY: remark: multiplies f32: rows of lhs do not lie together by fours
// WHY: remark: multiplies f32: rows of lhs do not lie together by fours
func.func @stay(%x: tensor<6x64xui8>, %y: tensor<64x32xi8>, %a: tensor<6x63xi8>, %t: tensor<64x6xui8>, %s: tensor<f32>, %z: tensor<ui8>) -> (tensor<6x32xf32>, tensor<6x32xf32>, tensor<6x32xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<64x32xi8>
  %v = graph.weight {name = "v"} : () -> tensor<63x32xi8>
  %n = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %0 = graph.dequantize %x, %s, %z : (tensor<6x64xui8>, tensor<f32>, tensor<ui8>) -> tensor<6x64xf32>
  %1 = graph.dequantize %y, %s, %n : (tensor<64x32xi8>, tensor<f32>, tensor<i8>) -> tensor<64x32xf32>
  %3 = graph.dequantize %a, %s, %n : (tensor<6x63xi8>, tensor<f32>, tensor<i8>) -> tensor<6x63xf32>
  %4 = graph.dequantize %v, %s, %n : (tensor<63x32xi8>, tensor<f32>, tensor<i8>) -> tensor<63x32xf32>
  %5 = graph.matmul %0, %1 : (tensor<6x64xf32>, tensor<64x32xf32>) -> tensor<6x32xf32>
  %7 = graph.matmul %3, %4 : (tensor<6x63xf32>, tensor<63x32xf32>) -> tensor<6x32xf32>
  %8 = graph.transpose %t {permutation = array<i64: 1, 0>} : (tensor<64x6xui8>) -> tensor<6x64xui8>
  %9 = graph.dequantize %8, %s, %z : (tensor<6x64xui8>, tensor<f32>, tensor<ui8>) -> tensor<6x64xf32>
  %10 = graph.dequantize %w, %s, %n : (tensor<64x32xi8>, tensor<f32>, tensor<i8>) -> tensor<64x32xf32>
  %11 = graph.matmul %9, %10 : (tensor<6x64xf32>, tensor<64x32xf32>) -> tensor<6x32xf32>
  return %5, %7, %11 : tensor<6x32xf32>, tensor<6x32xf32>, tensor<6x32xf32>
}

// -----

// Convolutions by a filter of i8 become such of integers; where channels have
// filters of their own or the filter has zero points, they stay.

// CHECK-LABEL: @convolutions
// CHECK:     graph.conv {{.*}} -> tensor<1x8x8x16xi32>
// CHECK-NOT: graph.conv {{.*}}i32
// CHECK: return
// WHY: remark: convolves f32: GPUs convolve no bytes by a filter that is not i8
// WHY: remark: convolves f32: GPUs convolve channels by themselves in f32
// WHY: remark: convolves f32: it has few maps
func.func @convolutions(%x: tensor<1x8x8x16xui8>, %s: tensor<f32>, %z: tensor<ui8>) -> (tensor<1x8x8x16xf32>, tensor<1x8x8x16xf32>, tensor<1x8x8x16xf32>, tensor<1x8x8x4xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<16x16x3x3xi8>
  %u = graph.weight {name = "u"} : () -> tensor<16x16x3x3xui8>
  %v = graph.weight {name = "v"} : () -> tensor<16x1x3x3xi8>
  %t = graph.weight {name = "t"} : () -> tensor<4x16x3x3xi8>
  %n = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %0 = graph.dequantize %x, %s, %z : (tensor<1x8x8x16xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x8x8x16xf32>
  %1 = graph.dequantize %w, %s, %n : (tensor<16x16x3x3xi8>, tensor<f32>, tensor<i8>) -> tensor<16x16x3x3xf32>
  %2 = graph.dequantize %u, %s, %z : (tensor<16x16x3x3xui8>, tensor<f32>, tensor<ui8>) -> tensor<16x16x3x3xf32>
  %3 = graph.dequantize %v, %s, %n : (tensor<16x1x3x3xi8>, tensor<f32>, tensor<i8>) -> tensor<16x1x3x3xf32>
  %4 = graph.dequantize %t, %s, %n : (tensor<4x16x3x3xi8>, tensor<f32>, tensor<i8>) -> tensor<4x16x3x3xf32>
  %5 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<1x8x8x16xf32>, tensor<16x16x3x3xf32>) -> tensor<1x8x8x16xf32>
  %6 = graph.conv %0, %2 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<1x8x8x16xf32>, tensor<16x16x3x3xf32>) -> tensor<1x8x8x16xf32>
  %7 = graph.conv %0, %3 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 16, channels_last} : (tensor<1x8x8x16xf32>, tensor<16x1x3x3xf32>) -> tensor<1x8x8x16xf32>
  %8 = graph.conv %0, %4 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<1x8x8x16xf32>, tensor<4x16x3x3xf32>) -> tensor<1x8x8x4xf32>
  return %5, %6, %7, %8 : tensor<1x8x8x16xf32>, tensor<1x8x8x16xf32>, tensor<1x8x8x16xf32>, tensor<1x8x8x4xf32>
}
