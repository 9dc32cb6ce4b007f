// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --center-products --split-input-file | FileCheck %s

// A zero point that only the run knows: the sums of the weight's columns are
// subtracted times it.

// CHECK-LABEL: @dynamic
// CHECK:      %[[L:.*]] = graph.cast %arg0 : (tensor<2x4x64xui8>) -> tensor<2x4x64xi32>
// CHECK:      %[[Z:.*]] = graph.cast %arg1
// CHECK:      %[[R:.*]] = graph.cast %{{.*}} : (tensor<64x32xi8>) -> tensor<64x32xi32>
// CHECK-NEXT: %[[P:.*]] = graph.matmul %[[L]], %[[R]]
// CHECK-NEXT: %[[SUMS:.*]] = graph.weight {{.*}}name = "w.sums"} : () -> tensor<32xi32>
// CHECK-NEXT: %[[REST:.*]] = graph.mul %[[SUMS]], %[[Z]]
// CHECK-NEXT: %[[Y:.*]] = graph.sub %[[P]], %[[REST]] : (tensor<2x4x32xi32>, tensor<32xi32>)
// CHECK-NEXT: return %[[Y]]
func.func @dynamic(%x: tensor<2x4x64xui8>, %z: tensor<ui8>) -> tensor<2x4x32xi32> {
  %w = graph.weight {name = "w"} : () -> tensor<64x32xi8>
  %0 = graph.cast %x : (tensor<2x4x64xui8>) -> tensor<2x4x64xi32>
  %1 = graph.cast %z : (tensor<ui8>) -> tensor<i32>
  %2 = graph.sub %0, %1 : (tensor<2x4x64xi32>, tensor<i32>) -> tensor<2x4x64xi32>
  %3 = graph.cast %w : (tensor<64x32xi8>) -> tensor<64x32xi32>
  %4 = graph.matmul %2, %3 : (tensor<2x4x64xi32>, tensor<64x32xi32>) -> tensor<2x4x32xi32>
  return %4 : tensor<2x4x32xi32>
}

// -----

// Numbers with a sign lose their zero point, here of rank 1; without one bytes
// stay as they are.

// CHECK-LABEL: @signed
// CHECK:      %[[L:.*]] = graph.cast %arg0
// CHECK:      graph.matmul %[[L]],
// CHECK:      graph.reshape %arg1 : (tensor<1xi32>) -> tensor<i32>
// CHECK:      graph.sub
// CHECK-LABEL: @no_zero
// CHECK-NOT:  graph.sub
// CHECK-NOT:  graph.add
// CHECK:      return
func.func @signed(%x: tensor<4x64xi8>, %z: tensor<1xi32>) -> tensor<4x32xi32> {
  %w = graph.weight {name = "w"} : () -> tensor<64x32xi8>
  %0 = graph.cast %x : (tensor<4x64xi8>) -> tensor<4x64xi32>
  %2 = graph.sub %0, %z : (tensor<4x64xi32>, tensor<1xi32>) -> tensor<4x64xi32>
  %3 = graph.cast %w : (tensor<64x32xi8>) -> tensor<64x32xi32>
  %4 = graph.matmul %2, %3 : (tensor<4x64xi32>, tensor<64x32xi32>) -> tensor<4x32xi32>
  return %4 : tensor<4x32xi32>
}
func.func @no_zero(%x: tensor<4x64xui8>) -> tensor<4x32xi32> {
  %w = graph.weight {name = "w"} : () -> tensor<64x32xi8>
  %0 = graph.cast %x : (tensor<4x64xui8>) -> tensor<4x64xi32>
  %3 = graph.cast %w : (tensor<64x32xi8>) -> tensor<64x32xi32>
  %4 = graph.matmul %0, %3 : (tensor<4x64xi32>, tensor<64x32xi32>) -> tensor<4x32xi32>
  return %4 : tensor<4x32xi32>
}

// -----

// Weights of ui8 become i8, and what they and zero points of columns leave are
// sums of rows; from 128 they leave none.

// CHECK-LABEL: @weights
// CHECK:      %[[C:.*]] = graph.cast %arg0
// CHECK:      %[[W:.*]] = graph.weight {{.*}}name = "u.centered"{{.*}} -> tensor<64x32xi8>
// CHECK:      %[[B:.*]] = graph.cast %[[W]]
// CHECK:      %[[P:.*]] = graph.matmul %[[C]], %[[B]]
// CHECK-NOT:  sums
// CHECK:      graph.reduce %[[C]] {axes = array<i64: 1>, {{.*}} -> tensor<4x1xi32>
// CHECK-NEXT: graph.mul {{.*}} -> tensor<4x32xi32>
// CHECK-NEXT: graph.add
// CHECK:      graph.weight {{.*}}name = "u.centered"
// CHECK-NOT:  graph.reduce
// CHECK:      return
func.func @weights(%x: tensor<4x64xui8>, %c: tensor<1x32xi32>) -> (tensor<4x32xi32>, tensor<4x32xi32>) {
  %u = graph.weight {name = "u"} : () -> tensor<64x32xui8>
  %m = graph.constant {value = dense<128> : tensor<i32>} : () -> tensor<i32>
  %0 = graph.cast %x : (tensor<4x64xui8>) -> tensor<4x64xi32>
  %1 = graph.cast %u : (tensor<64x32xui8>) -> tensor<64x32xi32>
  %2 = graph.sub %1, %c : (tensor<64x32xi32>, tensor<1x32xi32>) -> tensor<64x32xi32>
  %3 = graph.sub %1, %m : (tensor<64x32xi32>, tensor<i32>) -> tensor<64x32xi32>
  %4 = graph.matmul %0, %2 : (tensor<4x64xi32>, tensor<64x32xi32>) -> tensor<4x32xi32>
  %5 = graph.matmul %0, %3 : (tensor<4x64xi32>, tensor<64x32xi32>) -> tensor<4x32xi32>
  return %4, %5 : tensor<4x32xi32>, tensor<4x32xi32>
}

// -----

// What devices multiply already, a zero point for each row, rows that do not lie
// together by fours, and weights that are seen in another shape stay.

// CHECK-LABEL: @stays
// CHECK-NOT: sums
// CHECK-NOT: centered
// CHECK: return
func.func @stays(%x: tensor<4x64xui8>, %z: tensor<4x1xi32>, %y: tensor<4x63xui8>)
    -> (tensor<4x32xi32>, tensor<4x32xi32>, tensor<4x32xi32>, tensor<4x64xi32>) {
  %w = graph.weight {name = "w"} : () -> tensor<64x32xi8>
  %v = graph.weight {name = "v"} : () -> tensor<63x32xi8>
  %u = graph.weight {name = "u"} : () -> tensor<64x64xui8>
  %m = graph.constant {value = dense<128> : tensor<i32>} : () -> tensor<i32>
  %0 = graph.cast %x : (tensor<4x64xui8>) -> tensor<4x64xi32>
  %1 = graph.sub %0, %m : (tensor<4x64xi32>, tensor<i32>) -> tensor<4x64xi32>
  %2 = graph.cast %w : (tensor<64x32xi8>) -> tensor<64x32xi32>
  %3 = graph.matmul %1, %2 : (tensor<4x64xi32>, tensor<64x32xi32>) -> tensor<4x32xi32>
  %4 = graph.sub %0, %z : (tensor<4x64xi32>, tensor<4x1xi32>) -> tensor<4x64xi32>
  %5 = graph.matmul %4, %2 : (tensor<4x64xi32>, tensor<64x32xi32>) -> tensor<4x32xi32>
  %8 = graph.cast %y : (tensor<4x63xui8>) -> tensor<4x63xi32>
  %9 = graph.cast %v : (tensor<63x32xi8>) -> tensor<63x32xi32>
  %10 = graph.matmul %8, %9 : (tensor<4x63xi32>, tensor<63x32xi32>) -> tensor<4x32xi32>
  %11 = graph.transpose %u {permutation = array<i64: 1, 0>} : (tensor<64x64xui8>) -> tensor<64x64xui8>
  %12 = graph.cast %11 : (tensor<64x64xui8>) -> tensor<64x64xi32>
  %13 = graph.matmul %0, %12 : (tensor<4x64xi32>, tensor<64x64xi32>) -> tensor<4x64xi32>
  return %3, %5, %10, %13 : tensor<4x32xi32>, tensor<4x32xi32>, tensor<4x32xi32>, tensor<4x64xi32>
}
