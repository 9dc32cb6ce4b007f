// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --sink-dequantize --split-input-file | FileCheck %s

// The pair around a reshape and a transpose, of which a user wants floats.

// CHECK-LABEL: @moved
// CHECK-NOT:   graph.quantize
// CHECK:       %[[R:.*]] = graph.reshape %arg0 {{.*}} -> tensor<2x3x4xui8>
// CHECK:       %[[T:.*]] = graph.transpose %[[R]] {permutation = array<i64: 1, 0, 2>} {{.*}} -> tensor<3x2x4xui8>
// CHECK:       %[[F:.*]] = graph.dequantize %[[T]]
// CHECK:       return %[[F]]
func.func @moved(%x: tensor<2x12xui8>) -> tensor<3x2x4xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %z = graph.constant {value = dense<9> : tensor<ui8>} : () -> tensor<ui8>
  %0 = graph.dequantize %x, %s, %z : (tensor<2x12xui8>, tensor<f32>, tensor<ui8>) -> tensor<2x12xf32>
  %1 = graph.reshape %0 : (tensor<2x12xf32>) -> tensor<2x3x4xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 1, 0, 2>} : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
  %3 = graph.quantize %2, %s, %z : (tensor<3x2x4xf32>, tensor<f32>, tensor<ui8>) -> tensor<3x2x4xui8>
  %4 = graph.dequantize %3, %s, %z : (tensor<3x2x4xui8>, tensor<f32>, tensor<ui8>) -> tensor<3x2x4xf32>
  return %4 : tensor<3x2x4xf32>
}

// -----

// A factor between two scales that differ by it, up to their rounding.

// CHECK-LABEL: @scaled
// CHECK-NOT:   graph.mul
// CHECK:       return %arg0
func.func @scaled(%x: tensor<5xi8>) -> tensor<5xi8> {
  %s = graph.constant {value = dense<0.103602804> : tensor<f32>} : () -> tensor<f32>
  %t = graph.constant {value = dense<0.0129503505> : tensor<f32>} : () -> tensor<f32>
  %c = graph.constant {value = dense<0.125> : tensor<f32>} : () -> tensor<f32>
  %z = graph.constant {value = dense<-3> : tensor<i8>} : () -> tensor<i8>
  %0 = graph.dequantize %x, %s, %z : (tensor<5xi8>, tensor<f32>, tensor<i8>) -> tensor<5xf32>
  %1 = graph.mul %0, %c : (tensor<5xf32>, tensor<f32>) -> tensor<5xf32>
  %2 = graph.quantize %1, %t, %z : (tensor<5xf32>, tensor<f32>, tensor<i8>) -> tensor<5xi8>
  return %2 : tensor<5xi8>
}

// -----

// A table is read before it is widened, and what a run computes is not.

// CHECK-LABEL: @table
// CHECK:       %[[W:.*]] = graph.weight
// CHECK:       %[[G:.*]] = graph.gather %[[W]], %arg0 {{.*}} -> tensor<4x8xi8>
// CHECK:       graph.dequantize %[[G]]
// CHECK:       %[[D:.*]] = graph.dequantize %arg1
// CHECK:       graph.gather %[[D]], %arg0
func.func @table(%i: tensor<4xi64>, %x: tensor<90x8xi8>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<90x8xi8>
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %0 = graph.dequantize %w, %s, %z : (tensor<90x8xi8>, tensor<f32>, tensor<i8>) -> tensor<90x8xf32>
  %1 = graph.gather %0, %i {axis = 0} : (tensor<90x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
  %2 = graph.dequantize %x, %s, %z : (tensor<90x8xi8>, tensor<f32>, tensor<i8>) -> tensor<90x8xf32>
  %3 = graph.gather %2, %i {axis = 0} : (tensor<90x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
  return %1, %3 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Another scale, another zero point, another type, a scale that the run gives,
// one that is no normal number, and a table with a scale for each row.

// CHECK-LABEL: @others
// CHECK-COUNT-5: graph.quantize
// CHECK:         graph.gather {{.*}} -> tensor<5x8xf32>
func.func @others(%x: tensor<5xui8>, %r: tensor<f32>, %i: tensor<5xi64>) -> (tensor<5xui8>, tensor<5xui8>, tensor<5xi8>, tensor<5xui8>, tensor<5xui8>, tensor<5x8xf32>) {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %t = graph.constant {value = dense<0.51> : tensor<f32>} : () -> tensor<f32>
  %u = graph.constant {value = dense<1.0e-40> : tensor<f32>} : () -> tensor<f32>
  %z = graph.constant {value = dense<9> : tensor<ui8>} : () -> tensor<ui8>
  %y = graph.constant {value = dense<8> : tensor<ui8>} : () -> tensor<ui8>
  %i9 = graph.constant {value = dense<9> : tensor<i8>} : () -> tensor<i8>
  %0 = graph.dequantize %x, %s, %z : (tensor<5xui8>, tensor<f32>, tensor<ui8>) -> tensor<5xf32>
  %1 = graph.quantize %0, %t, %z : (tensor<5xf32>, tensor<f32>, tensor<ui8>) -> tensor<5xui8>
  %2 = graph.quantize %0, %s, %y : (tensor<5xf32>, tensor<f32>, tensor<ui8>) -> tensor<5xui8>
  %3 = graph.quantize %0, %s, %i9 : (tensor<5xf32>, tensor<f32>, tensor<i8>) -> tensor<5xi8>
  %4 = graph.dequantize %x, %r, %z : (tensor<5xui8>, tensor<f32>, tensor<ui8>) -> tensor<5xf32>
  %5 = graph.quantize %4, %r, %z : (tensor<5xf32>, tensor<f32>, tensor<ui8>) -> tensor<5xui8>
  %6 = graph.dequantize %x, %u, %z : (tensor<5xui8>, tensor<f32>, tensor<ui8>) -> tensor<5xf32>
  %7 = graph.quantize %6, %u, %z : (tensor<5xf32>, tensor<f32>, tensor<ui8>) -> tensor<5xui8>
  %w = graph.weight {name = "w"} : () -> tensor<90x8xui8>
  %v = graph.weight {name = "v"} : () -> tensor<90x1xf32>
  %8 = graph.dequantize %w, %v, %z : (tensor<90x8xui8>, tensor<90x1xf32>, tensor<ui8>) -> tensor<90x8xf32>
  %9 = graph.gather %8, %i {axis = 0} : (tensor<90x8xf32>, tensor<5xi64>) -> tensor<5x8xf32>
  return %1, %2, %3, %5, %7, %9 : tensor<5xui8>, tensor<5xui8>, tensor<5xi8>, tensor<5xui8>, tensor<5xui8>, tensor<5x8xf32>
}
