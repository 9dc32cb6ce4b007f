// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --form-regions --split-input-file | FileCheck %s

// A product takes in what widens its weight of f16: one matrix, or one for each
// batch.

// CHECK-LABEL: @weights
// CHECK:      kernel.region(%{{.*}}, %arg0) : (tensor<128x64xf16>, tensor<4x128xf32>) -> tensor<4x64xf32>
// CHECK:        graph.cast
// CHECK-NEXT:   graph.matmul
// CHECK:      kernel.region(%{{.*}}, %arg1) : (tensor<3x128x64xf16>, tensor<3x4x128xf32>) -> tensor<3x4x64xf32>
func.func @weights(%x: tensor<4x128xf32>, %y: tensor<3x4x128xf32>)
    -> (tensor<4x64xf32>, tensor<3x4x64xf32>) {
  %v = graph.weight {name = "v"} : () -> tensor<128x64xf16>
  %w = graph.weight {name = "w"} : () -> tensor<3x128x64xf16>
  %0 = graph.cast %v : (tensor<128x64xf16>) -> tensor<128x64xf32>
  %1 = graph.matmul %x, %0 : (tensor<4x128xf32>, tensor<128x64xf32>)
      -> tensor<4x64xf32>
  %2 = graph.cast %w : (tensor<3x128x64xf16>) -> tensor<3x128x64xf32>
  %3 = graph.matmul %y, %2 : (tensor<3x4x128xf32>, tensor<3x128x64xf32>)
      -> tensor<3x4x64xf32>
  return %1, %3 : tensor<4x64xf32>, tensor<3x4x64xf32>
}

// -----

// What is no weight, a weight on the left, and one for all pairs of batches are
// widened before: no kernel packs them.

// CHECK-LABEL: @others
// CHECK:      kernel.region{{.*}} -> tensor<128x64xf32>
// CHECK:      kernel.region{{.*}} (tensor<4x128xf32>, tensor<128x64xf32>)
// CHECK:      kernel.region{{.*}} -> tensor<4x128xf32>
// CHECK:      kernel.region{{.*}} (tensor<4x128xf32>, tensor<128x64xf32>)
// CHECK:      kernel.region{{.*}} -> tensor<3x128x64xf32>
// CHECK:      kernel.region{{.*}} (tensor<2x3x4x128xf32>, tensor<3x128x64xf32>)
func.func @others(%x: tensor<4x128xf32>, %h: tensor<128x64xf16>,
                  %y: tensor<128x64xf32>, %z: tensor<2x3x4x128xf32>)
    -> (tensor<4x64xf32>, tensor<4x64xf32>, tensor<2x3x4x64xf32>) {
  %v = graph.weight {name = "v"} : () -> tensor<4x128xf16>
  %w = graph.weight {name = "w"} : () -> tensor<3x128x64xf16>
  %0 = graph.cast %h : (tensor<128x64xf16>) -> tensor<128x64xf32>
  %1 = graph.matmul %x, %0 : (tensor<4x128xf32>, tensor<128x64xf32>)
      -> tensor<4x64xf32>
  %2 = graph.cast %v : (tensor<4x128xf16>) -> tensor<4x128xf32>
  %3 = graph.matmul %2, %y : (tensor<4x128xf32>, tensor<128x64xf32>)
      -> tensor<4x64xf32>
  %4 = graph.cast %w : (tensor<3x128x64xf16>) -> tensor<3x128x64xf32>
  %5 = graph.matmul %z, %4 : (tensor<2x3x4x128xf32>, tensor<3x128x64xf32>)
      -> tensor<2x3x4x64xf32>
  return %1, %3, %5 : tensor<4x64xf32>, tensor<4x64xf32>, tensor<2x3x4x64xf32>
}

// -----

// Attention widens keys and values itself, and reads them where they lie; it
// rounds what it is to multiply in bf16.

// CHECK-LABEL: @caches
// CHECK:      kernel.region(%arg1, %arg2, %arg0) : (tensor<1x2x9x8xf16>, tensor<1x2x9x8xbf16>, tensor<1x2x3x8xf32>) -> tensor<1x2x3x8xf32>
// CHECK:        graph.slice %{{.*}} -> tensor<1x2x5x8xf16>
// CHECK:        graph.cast {{.*}} -> tensor<1x2x5x8xf32>
// CHECK:        graph.cast {{.*}} -> tensor<1x2x5x8xbf16>
// CHECK:        graph.attention
// CHECK-NOT:  kernel.region
func.func @caches(%q: tensor<1x2x3x8xf32>, %k: tensor<1x2x9x8xf16>,
                  %v: tensor<1x2x9x8xbf16>) -> tensor<1x2x3x8xf32> {
  %0 = graph.slice %k {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x2x9x8xf16>) -> tensor<1x2x5x8xf16>
  %1 = graph.cast %0 : (tensor<1x2x5x8xf16>) -> tensor<1x2x5x8xf32>
  %2 = graph.cast %1 : (tensor<1x2x5x8xf32>) -> tensor<1x2x5x8xbf16>
  %3 = graph.cast %2 : (tensor<1x2x5x8xbf16>) -> tensor<1x2x5x8xf32>
  %4 = graph.slice %v {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x2x9x8xbf16>) -> tensor<1x2x5x8xbf16>
  %5 = graph.cast %4 : (tensor<1x2x5x8xbf16>) -> tensor<1x2x5x8xf32>
  %6 = graph.attention %q, %3, %5 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>) -> tensor<1x2x3x8xf32>
  return %6 : tensor<1x2x3x8xf32>
}

// -----

// Queries of 16 bits are read as they are, too. Keys whose elements lie apart
// are widened before.

// CHECK-LABEL: @no_caches
// CHECK:      kernel.region{{.*}} -> tensor<1x2x5x8xf32>
// CHECK:      kernel.region{{.*}} (tensor<1x2x3x8xf16>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>)
// CHECK-NEXT: bb0
// CHECK-NEXT:   graph.cast
// CHECK-NEXT:   graph.attention
// CHECK-NOT:  kernel.region
func.func @no_caches(%q: tensor<1x2x3x8xf16>, %k: tensor<1x2x8x5xf16>,
                     %v: tensor<1x2x5x8xf32>) -> tensor<1x2x3x8xf32> {
  %0 = graph.cast %q : (tensor<1x2x3x8xf16>) -> tensor<1x2x3x8xf32>
  %1 = graph.transpose %k {permutation = array<i64: 0, 1, 3, 2>} : (tensor<1x2x8x5xf16>) -> tensor<1x2x5x8xf16>
  %2 = graph.cast %1 : (tensor<1x2x5x8xf16>) -> tensor<1x2x5x8xf32>
  %3 = graph.attention %0, %2, %v {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>) -> tensor<1x2x3x8xf32>
  return %3 : tensor<1x2x3x8xf32>
}

// -----

// New rows are rounded as they are written behind a cache, from where they lie.

// CHECK-LABEL: @rounded_rows
// CHECK:      kernel.region(%arg1, %arg0) : (tensor<1x4x2x8xf32>, tensor<1x2x9x8xf16>) -> tensor<1x2x9x8xf16>
// CHECK:        graph.transpose
// CHECK-NEXT:   graph.cast
// CHECK-NEXT:   graph.append
// CHECK-NOT:  kernel.region
func.func @rounded_rows(%past: tensor<1x2x9x8xf16>, %x: tensor<1x4x2x8xf32>) -> tensor<1x2x9x8xf16> {
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x4x2x8xf32>) -> tensor<1x2x4x8xf32>
  %1 = graph.cast %0 : (tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf16>
  %2 = graph.append %past, %1 {axis = 2 : i64, length = #graph.dims<5>} : (tensor<1x2x9x8xf16>, tensor<1x2x4x8xf16>) -> tensor<1x2x9x8xf16>
  return %2 : tensor<1x2x9x8xf16>
}

// -----

// Rows that others read rounded, and that a kernel computes, are not computed
// again for each cache.

// CHECK-LABEL: @computed_rows
// CHECK:      kernel.region{{.*}} (tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf16>
// CHECK:        graph.tanh
// CHECK-NEXT:   graph.cast
// CHECK:      kernel.region{{.*}} (tensor<1x2x9x8xf16>, tensor<1x2x4x8xf16>) -> tensor<1x2x9x8xf16>
func.func @computed_rows(%past: tensor<1x2x9x8xf16>, %x: tensor<1x2x4x8xf32>) -> tensor<1x2x9x8xf16> {
  %0 = graph.tanh %x : (tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32>
  %1 = graph.cast %0 : (tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf16>
  %2 = graph.append %past, %1 {axis = 2 : i64, length = #graph.dims<5>} : (tensor<1x2x9x8xf16>, tensor<1x2x4x8xf16>) -> tensor<1x2x9x8xf16>
  return %2 : tensor<1x2x9x8xf16>
}

// -----

// Bytes and what they are scaled by are read where they lie, for keys or values
// only where each row has one scale.

// CHECK-LABEL: @bytes
// CHECK:      kernel.region(%arg3) : (tensor<1x2x5x8xi8>) -> tensor<1x2x5x8xf32>
// CHECK:      kernel.region(%arg1, %arg2, %arg0, %{{.*}}) : (tensor<1x2x9x8xi8>, tensor<1x2x7xf32>, tensor<1x2x3x8xf32>, tensor<1x2x5x8xf32>)
// CHECK:        graph.slice {{.*}} -> tensor<1x2x5x8xi8>
// CHECK:        graph.dequantize
// CHECK-NEXT:   graph.attention
// CHECK-NOT:  kernel.region
func.func @bytes(%q: tensor<1x2x3x8xf32>, %k: tensor<1x2x9x8xi8>, %s: tensor<1x2x7xf32>,
                 %v: tensor<1x2x5x8xi8>) -> tensor<1x2x3x8xf32> {
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %h = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.slice %k {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x2x9x8xi8>) -> tensor<1x2x5x8xi8>
  %1 = graph.slice %s {starts = #graph.dims<0, 0, 0>, steps = #graph.dims<1, 1, 1>} : (tensor<1x2x7xf32>) -> tensor<1x2x5xf32>
  %2 = graph.reshape %1 : (tensor<1x2x5xf32>) -> tensor<1x2x5x1xf32>
  %3 = graph.dequantize %0, %2, %z : (tensor<1x2x5x8xi8>, tensor<1x2x5x1xf32>, tensor<i8>) -> tensor<1x2x5x8xf32>
  %4 = graph.dequantize %v, %h, %z : (tensor<1x2x5x8xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x5x8xf32>
  %5 = graph.attention %q, %3, %4 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>) -> tensor<1x2x3x8xf32>
  return %5 : tensor<1x2x3x8xf32>
}
