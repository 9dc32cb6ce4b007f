// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --recognise-quantized-weights --split-input-file | FileCheck %s
// RUN: tenon-opt %s --recognise-quantized-weights=explain --split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY

// Blocks as an axis of [N, K], of which K is not a whole number.
// CHECK-LABEL: @blocks
// CHECK:      %[[Q:.*]] = graph.weight {{.*}} -> tensor<96x8xi8>
// CHECK-NEXT: %[[Q3:.*]] = graph.reshape %[[Q]] : (tensor<96x8xi8>) -> tensor<3x32x8xi8>
// CHECK-NEXT: %[[S:.*]] = graph.weight {{.*}} -> tensor<3x8xf32>
// CHECK-NEXT: %[[S3:.*]] = graph.reshape %[[S]] : (tensor<3x8xf32>) -> tensor<3x1x8xf32>
// CHECK-NEXT: %[[Z:.*]] = graph.constant {value = dense<1> : tensor<i8>}
// CHECK-NEXT: %[[D:.*]] = graph.dequantize %[[Q3]], %[[S3]], %[[Z]] : {{.*}} -> tensor<3x32x8xf32>
// CHECK-NEXT: %[[R:.*]] = graph.reshape %[[D]] : (tensor<3x32x8xf32>) -> tensor<96x8xf32>
// CHECK-NEXT: %[[W:.*]] = graph.slice %[[R]] {{.*}} -> tensor<90x8xf32>
// CHECK-NEXT: graph.matmul %arg0, %[[W]]
func.func @blocks(%x: tensor<4x90xf32>) -> tensor<4x8xf32> {
  %q = graph.constant {value = dense<3> : tensor<8x3x32xi8>} : () -> tensor<8x3x32xi8>
  %s = graph.constant {value = dense<0.5> : tensor<8x3x1xf32>} : () -> tensor<8x3x1xf32>
  %z = graph.constant {value = dense<1> : tensor<8x3x1xi8>} : () -> tensor<8x3x1xi8>
  %0 = graph.dequantize %q, %s, %z
      : (tensor<8x3x32xi8>, tensor<8x3x1xf32>, tensor<8x3x1xi8>) -> tensor<8x3x32xf32>
  %1 = graph.reshape %0 : (tensor<8x3x32xf32>) -> tensor<8x96xf32>
  %2 = graph.slice %1 {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>}
      : (tensor<8x96xf32>) -> tensor<8x90xf32>
  %3 = graph.transpose %2 {permutation = array<i64: 1, 0>} : (tensor<8x90xf32>) -> tensor<90x8xf32>
  %4 = graph.matmul %x, %3 : (tensor<4x90xf32>, tensor<90x8xf32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// -----

// Zero points that differ are read like the scales.
// CHECK-LABEL: @zero_points
// CHECK:      graph.weight {{.*}} -> tensor<2x8xui8>
// CHECK-NEXT: %[[Z:.*]] = graph.reshape {{.*}} -> tensor<2x1x8xui8>
// CHECK-NEXT: graph.dequantize %{{.*}}, %{{.*}}, %[[Z]]
func.func @zero_points(%x: tensor<4x32xf32>) -> tensor<4x8xf32> {
  %q = graph.constant {value = dense<3> : tensor<2x16x8xui8>} : () -> tensor<2x16x8xui8>
  %s = graph.constant {value = dense<0.5> : tensor<2x1x8xf32>} : () -> tensor<2x1x8xf32>
  %z = graph.constant {value = dense<[[[1]], [[2]]]> : tensor<2x1x1xui8>} : () -> tensor<2x1x1xui8>
  %0 = graph.dequantize %q, %s, %z
      : (tensor<2x16x8xui8>, tensor<2x1x8xf32>, tensor<2x1x1xui8>) -> tensor<2x16x8xf32>
  %1 = graph.reshape %0 : (tensor<2x16x8xf32>) -> tensor<32x8xf32>
  %2 = graph.matmul %x, %1 : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// One scale for all.
// CHECK-LABEL: @per_tensor
// CHECK:      graph.weight {{.*}} -> tensor<32x8xi8>
// CHECK:      graph.weight {{.*}} -> tensor<1x8xf32>
// CHECK:      graph.dequantize {{.*}} -> tensor<1x32x8xf32>
func.func @per_tensor(%x: tensor<4x32xf32>) -> tensor<4x8xf32> {
  %q = graph.constant {value = dense<3> : tensor<32x8xi8>} : () -> tensor<32x8xi8>
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %0 = graph.dequantize %q, %s, %z
      : (tensor<32x8xi8>, tensor<f32>, tensor<i8>) -> tensor<32x8xf32>
  %1 = graph.matmul %x, %0 : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// A scale per step of k is for no kernel.
// CHECK-LABEL: @per_step
// CHECK:      graph.dequantize %{{.*}} : (tensor<32x8xi8>
// WHY: its weight is dequantized in memory: a scale is neither for a column nor for a block of one
func.func @per_step(%x: tensor<4x32xf32>) -> tensor<4x8xf32> {
  %q = graph.constant {value = dense<3> : tensor<32x8xi8>} : () -> tensor<32x8xi8>
  %s = graph.constant {value = dense<0.5> : tensor<32x1xf32>} : () -> tensor<32x1xf32>
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %0 = graph.dequantize %q, %s, %z
      : (tensor<32x8xi8>, tensor<32x1xf32>, tensor<i8>) -> tensor<32x8xf32>
  %1 = graph.matmul %x, %0 : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: @odd_blocks
// CHECK:      graph.dequantize %{{.*}} : (tensor<2x12x8xi8>
// WHY: its weight is dequantized in memory: blocks of 12 steps of k
func.func @odd_blocks(%x: tensor<4x24xf32>) -> tensor<4x8xf32> {
  %q = graph.constant {value = dense<3> : tensor<2x12x8xi8>} : () -> tensor<2x12x8xi8>
  %s = graph.constant {value = dense<0.5> : tensor<2x1x8xf32>} : () -> tensor<2x1x8xf32>
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %0 = graph.dequantize %q, %s, %z
      : (tensor<2x12x8xi8>, tensor<2x1x8xf32>, tensor<i8>) -> tensor<2x12x8xf32>
  %1 = graph.reshape %0 : (tensor<2x12x8xf32>) -> tensor<24x8xf32>
  %2 = graph.matmul %x, %1 : (tensor<4x24xf32>, tensor<24x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// What is quantized at run time stays.
// CHECK-LABEL: @activation
// CHECK:      graph.dequantize %arg1, %{{.*}} : (tensor<32x8xi8>
func.func @activation(%x: tensor<4x32xf32>, %q: tensor<32x8xi8>) -> tensor<4x8xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %0 = graph.dequantize %q, %s, %z
      : (tensor<32x8xi8>, tensor<f32>, tensor<i8>) -> tensor<32x8xf32>
  %1 = graph.matmul %x, %0 : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// A matrix for each batch: columns of one behind those of another become rows
// of all.
// CHECK-LABEL: @batches
// CHECK:      %[[Q:.*]] = graph.weight {{.*}} -> tensor<96x8xi8>
// CHECK-NEXT: %[[Q3:.*]] = graph.reshape %[[Q]] : (tensor<96x8xi8>) -> tensor<6x16x8xi8>
// CHECK-NEXT: %[[S:.*]] = graph.weight {{.*}} -> tensor<6x8xf32>
// CHECK-NEXT: %[[S3:.*]] = graph.reshape %[[S]] : (tensor<6x8xf32>) -> tensor<6x1x8xf32>
// CHECK:      %[[D:.*]] = graph.dequantize %[[Q3]], %[[S3]], {{.*}} -> tensor<6x16x8xf32>
// CHECK-NEXT: %[[W:.*]] = graph.reshape %[[D]] : (tensor<6x16x8xf32>) -> tensor<3x32x8xf32>
// CHECK-NEXT: graph.matmul %arg0, %[[W]]
func.func @batches(%x: tensor<4x32xf32>) -> tensor<3x4x8xf32> {
  %q = graph.constant {value = dense<3> : tensor<24x2x16xi8>} : () -> tensor<24x2x16xi8>
  %s = graph.constant {value = dense<0.5> : tensor<24x2x1xf32>} : () -> tensor<24x2x1xf32>
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %0 = graph.dequantize %q, %s, %z
      : (tensor<24x2x16xi8>, tensor<24x2x1xf32>, tensor<i8>) -> tensor<24x2x16xf32>
  %1 = graph.reshape %0 : (tensor<24x2x16xf32>) -> tensor<3x8x32xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 0, 2, 1>} : (tensor<3x8x32xf32>) -> tensor<3x32x8xf32>
  %3 = graph.matmul %x, %2 : (tensor<4x32xf32>, tensor<3x32x8xf32>) -> tensor<3x4x8xf32>
  return %3 : tensor<3x4x8xf32>
}

// -----

// Matrices that do not begin with a word each.
// CHECK-LABEL: @odd_batches
// CHECK:      graph.dequantize %{{.*}} : (tensor<24x1x24xi8>
// WHY: its weight is dequantized in memory: its numbers do not lie in memory as a matrix
func.func @odd_batches(%x: tensor<4x24xf32>) -> tensor<3x4x8xf32> {
  %q = graph.constant {value = dense<3> : tensor<24x1x24xi8>} : () -> tensor<24x1x24xi8>
  %s = graph.constant {value = dense<0.5> : tensor<24x1x1xf32>} : () -> tensor<24x1x1xf32>
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %0 = graph.dequantize %q, %s, %z
      : (tensor<24x1x24xi8>, tensor<24x1x1xf32>, tensor<i8>) -> tensor<24x1x24xf32>
  %1 = graph.reshape %0 : (tensor<24x1x24xf32>) -> tensor<3x8x24xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 0, 2, 1>} : (tensor<3x8x24xf32>) -> tensor<3x24x8xf32>
  %3 = graph.matmul %x, %2 : (tensor<4x24xf32>, tensor<3x24x8xf32>) -> tensor<3x4x8xf32>
  return %3 : tensor<3x4x8xf32>
}

// -----

// Numbers that stand for a codebook's values, where they have a byte each.
// CHECK-LABEL: @codebook_of_bytes
// CHECK:      graph.decode %{{.*}} : (tensor<2x16x8xui8>
// WHY: its weight is dequantized in memory: numbers of a codebook have a byte each
func.func @codebook_of_bytes(%x: tensor<4x32xf32>) -> tensor<4x8xf32> {
  %q = graph.constant {value = dense<3> : tensor<2x16x8xui8>} : () -> tensor<2x16x8xui8>
  %s = graph.constant {value = dense<0.5> : tensor<2x1x8xf32>} : () -> tensor<2x1x8xf32>
  %0 = graph.decode %q, %s {codebook = array<f32: 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, -1.5>}
      : (tensor<2x16x8xui8>, tensor<2x1x8xf32>) -> tensor<2x16x8xf32>
  %1 = graph.reshape %0 : (tensor<2x16x8xf32>) -> tensor<32x8xf32>
  %2 = graph.matmul %x, %1 : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
