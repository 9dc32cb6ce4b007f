// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --widen-halves --split-input-file | FileCheck %s

// From the first op that computes to the end of the program.
// CHECK-LABEL: func.func @chain
func.func @chain(%x: tensor<4x8xf16>, %y: tensor<8xf16>) -> tensor<4x8xf16> {
  // CHECK-DAG: %[[X:.*]] = graph.cast %{{.*}} : (tensor<4x8xf16>) -> tensor<4x8xf32>
  // CHECK-DAG: %[[Y:.*]] = graph.cast %{{.*}} : (tensor<8xf16>) -> tensor<8xf32>
  // CHECK: %[[SUM:.*]] = graph.add %[[X]], %[[Y]]{{.*}} -> tensor<4x8xf32>
  // CHECK-NEXT: %[[SOFTMAX:.*]] = graph.softmax %[[SUM]]
  // CHECK-NEXT: %[[PRODUCT:.*]] = graph.mul %[[SOFTMAX]], %[[X]]
  // CHECK-NEXT: %[[ROUNDED:.*]] = graph.cast %[[PRODUCT]] : (tensor<4x8xf32>) -> tensor<4x8xf16>
  // CHECK-NEXT: return %[[ROUNDED]]
  %0 = graph.add %x, %y : (tensor<4x8xf16>, tensor<8xf16>) -> tensor<4x8xf16>
  %1 = graph.softmax %0 {axis = 1 : i64} : (tensor<4x8xf16>) -> tensor<4x8xf16>
  %2 = graph.mul %1, %x : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<4x8xf16>
  return %2 : tensor<4x8xf16>
}

// -----

// Casts of the model fall away: to f32 for a norm, and back.
// CHECK-LABEL: func.func @casts
func.func @casts(%x: tensor<4xbf16>) -> (tensor<4xf32>, tensor<4xbf16>) {
  // CHECK: %[[X:.*]] = graph.cast
  // CHECK-NEXT: %[[SQUARE:.*]] = graph.mul %[[X]], %[[X]] {{.*}} tensor<4xf32>
  // CHECK-NEXT: %[[EXP:.*]] = graph.exp %[[SQUARE]]
  // CHECK-NEXT: %[[ROUNDED:.*]] = graph.cast %[[EXP]]
  // CHECK-NEXT: return %[[SQUARE]], %[[ROUNDED]]
  %0 = graph.cast %x : (tensor<4xbf16>) -> tensor<4xf32>
  %1 = graph.mul %0, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = graph.cast %1 : (tensor<4xf32>) -> tensor<4xbf16>
  %3 = graph.exp %2 : (tensor<4xbf16>) -> tensor<4xbf16>
  return %1, %3 : tensor<4xf32>, tensor<4xbf16>
}

// -----

// Constants, weights, other types, branches.
// CHECK-LABEL: func.func @others
func.func @others(%c: tensor<i1>, %i: tensor<4xi32>) -> (tensor<4xf16>, tensor<4xi32>) {
  // CHECK: graph.if {{.*}} -> tensor<4xf32>
  %0 = graph.if %c : (tensor<i1>) -> tensor<4xf16> {
    %w = graph.weight {name = "w"} : () -> tensor<4xf16>
    // CHECK: %[[W:.*]] = graph.cast %{{.*}} : (tensor<4xf16>) -> tensor<4xf32>
    // CHECK-NEXT: graph.yield %[[W]]
    graph.yield %w : tensor<4xf16>
  } else {
    // CHECK: %[[I:.*]] = graph.cast %{{.*}} : (tensor<4xi32>) -> tensor<4xf32>
    // CHECK-NEXT: graph.yield %[[I]]
    %f = graph.cast %i : (tensor<4xi32>) -> tensor<4xf16>
    graph.yield %f : tensor<4xf16>
  }
  %k = graph.constant {value = dense<2.0> : tensor<f16>} : () -> tensor<f16>
  // CHECK: %[[SCALED:.*]] = graph.mul {{.*}} -> tensor<4xf32>
  %1 = graph.mul %0, %k : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  // CHECK: graph.cast %[[SCALED]] : (tensor<4xf32>) -> tensor<4xi32>
  %2 = graph.cast %1 : (tensor<4xf16>) -> tensor<4xi32>
  return %1, %2 : tensor<4xf16>, tensor<4xi32>
}

// -----

// A cache stays f16, and what is appended to it is rounded.
// CHECK-LABEL: func.func @cache
func.func @cache(%past: tensor<1x6x8xf16>, %x: tensor<1x1x8xf16>)
    -> (tensor<1x7x8xf16>, tensor<1x7x8xf16>) {
  // CHECK: %[[NEW:.*]] = graph.exp {{.*}} -> tensor<1x1x8xf32>
  // CHECK-NEXT: %[[ROUNDED:.*]] = graph.cast %[[NEW]]
  // CHECK-NEXT: %[[ALL:.*]] = graph.concat %{{.*}}, %[[ROUNDED]] {{.*}} -> tensor<1x7x8xf16>
  // CHECK-NEXT: %[[WIDE:.*]] = graph.cast %[[ALL]]
  // CHECK-NEXT: graph.abs %[[WIDE]]
  %0 = graph.exp %x : (tensor<1x1x8xf16>) -> tensor<1x1x8xf16>
  %1 = graph.concat %past, %0 {axis = 1 : i64}
      : (tensor<1x6x8xf16>, tensor<1x1x8xf16>) -> tensor<1x7x8xf16>
  %2 = graph.abs %1 : (tensor<1x7x8xf16>) -> tensor<1x7x8xf16>
  return %1, %2 : tensor<1x7x8xf16>, tensor<1x7x8xf16>
}

// -----

// A rounding that somebody wanted stays, and so does f32.
// CHECK-LABEL: func.func @rounding
func.func @rounding(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[ROUNDED:.*]] = graph.cast %{{.*}} : (tensor<4xf32>) -> tensor<4xf16>
  // CHECK-NEXT: %[[WIDE:.*]] = graph.cast %[[ROUNDED]]
  // CHECK-NEXT: graph.exp %[[WIDE]]
  %0 = graph.cast %x : (tensor<4xf32>) -> tensor<4xf16>
  %1 = graph.cast %0 : (tensor<4xf16>) -> tensor<4xf32>
  %2 = graph.exp %1 : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// So does one that is moved before it is widened.
// CHECK-LABEL: func.func @moved_rounding
func.func @moved_rounding(%x: tensor<4xf32>) -> tensor<16xf32> {
  // CHECK: %[[X:.*]] = graph.cast %{{.*}} : (tensor<4xf32>) -> tensor<4xf16>
  // CHECK-NEXT: %[[TWICE:.*]] = graph.concat %[[X]], %[[X]]
  // CHECK-NEXT: %[[ALL:.*]] = graph.concat %[[TWICE]], %[[TWICE]] {{.*}} -> tensor<16xf16>
  // CHECK-NEXT: %[[WIDE:.*]] = graph.cast %[[ALL]]
  // CHECK-NEXT: return %[[WIDE]]
  %0 = graph.cast %x : (tensor<4xf32>) -> tensor<4xf16>
  %1 = graph.concat %0, %0 {axis = 0 : i64} : (tensor<4xf16>, tensor<4xf16>) -> tensor<8xf16>
  %2 = graph.concat %1, %1 {axis = 0 : i64} : (tensor<8xf16>, tensor<8xf16>) -> tensor<16xf16>
  %3 = graph.cast %2 : (tensor<16xf16>) -> tensor<16xf32>
  return %3 : tensor<16xf32>
}

// What also computes does so in f32, as before.
// CHECK-LABEL: func.func @moved_and_computed
func.func @moved_and_computed(%x: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf16>) {
  // CHECK: %[[TWICE:.*]] = graph.concat %arg0, %arg0
  // CHECK: graph.exp %[[TWICE]]
  // CHECK: return %[[TWICE]]
  %0 = graph.cast %x : (tensor<4xf32>) -> tensor<4xf16>
  %1 = graph.concat %0, %0 {axis = 0 : i64} : (tensor<4xf16>, tensor<4xf16>) -> tensor<8xf16>
  %2 = graph.exp %1 : (tensor<8xf16>) -> tensor<8xf16>
  %3 = graph.cast %1 : (tensor<8xf16>) -> tensor<8xf32>
  return %3, %2 : tensor<8xf32>, tensor<8xf16>
}

// -----

// What only moves what is given is left alone.
// CHECK-LABEL: func.func @moves
func.func @moves(%x: tensor<4x8xf16>) -> tensor<8x4xf16> {
  // CHECK-NEXT: graph.transpose
  // CHECK-NEXT: return
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>}
      : (tensor<4x8xf16>) -> tensor<8x4xf16>
  return %0 : tensor<8x4xf16>
}

// -----

// Floats of 8 bits are numbers of bf16, which f32 has as well.
// CHECK-LABEL: func.func @few_bits
func.func @few_bits(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[ROUNDED:.*]] = graph.round_float
  // CHECK-NEXT: %[[EXP:.*]] = graph.exp %[[ROUNDED]]
  // CHECK-NEXT: return %[[EXP]]
  %0 = graph.round_float %x {to = f8E4M3FN, saturates = true} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.cast %0 : (tensor<4xf32>) -> tensor<4xbf16>
  %2 = graph.cast %1 : (tensor<4xbf16>) -> tensor<4xf32>
  %3 = graph.exp %2 : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
