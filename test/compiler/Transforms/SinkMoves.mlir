// RUN: tenon-opt %s --sink-moves=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// The gates of all experts, cut apart behind one product for all of them.

// CHECK-LABEL: @experts
func.func @experts(%gate: tensor<?x32xf32, #graph.dims<T, 32>>, %up: tensor<?x32xf32, #graph.dims<T, 32>>, %w: tensor<2x16x4xf32>) -> tensor<2x?x4xf32, #graph.dims<2, T, 4>> {
  // CHECK: %[[SIGMOID:.*]] = graph.sigmoid %arg0
  // CHECK-NEXT: %[[SILU:.*]] = graph.mul %arg0, %[[SIGMOID]]
  // CHECK-NEXT: %[[GATED:.*]] = graph.mul %[[SILU]], %arg1
  // CHECK-NEXT: %[[CUT:.*]] = graph.reshape %[[GATED]] : {{.*}} -> tensor<?x2x16xf32, #graph.dims<T, 2, 16>>
  // CHECK-NEXT: %[[MOVED:.*]] = graph.transpose %[[CUT]] {permutation = array<i64: 1, 0, 2>}
  // CHECK-NEXT: graph.matmul %[[MOVED]], %arg2
  %0 = graph.reshape %gate : (tensor<?x32xf32, #graph.dims<T, 32>>) -> tensor<?x2x16xf32, #graph.dims<T, 2, 16>>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0, 2>} : (tensor<?x2x16xf32, #graph.dims<T, 2, 16>>) -> tensor<2x?x16xf32, #graph.dims<2, T, 16>>
  %2 = graph.reshape %up : (tensor<?x32xf32, #graph.dims<T, 32>>) -> tensor<?x2x16xf32, #graph.dims<T, 2, 16>>
  %3 = graph.transpose %2 {permutation = array<i64: 1, 0, 2>} : (tensor<?x2x16xf32, #graph.dims<T, 2, 16>>) -> tensor<2x?x16xf32, #graph.dims<2, T, 16>>
  %4 = graph.sigmoid %1 : (tensor<2x?x16xf32, #graph.dims<2, T, 16>>) -> tensor<2x?x16xf32, #graph.dims<2, T, 16>>
  %5 = graph.mul %1, %4 : (tensor<2x?x16xf32, #graph.dims<2, T, 16>>, tensor<2x?x16xf32, #graph.dims<2, T, 16>>) -> tensor<2x?x16xf32, #graph.dims<2, T, 16>>
  %6 = graph.mul %5, %3 : (tensor<2x?x16xf32, #graph.dims<2, T, 16>>, tensor<2x?x16xf32, #graph.dims<2, T, 16>>) -> tensor<2x?x16xf32, #graph.dims<2, T, 16>>
  %7 = graph.matmul %6, %w : (tensor<2x?x16xf32, #graph.dims<2, T, 16>>, tensor<2x16x4xf32>) -> tensor<2x?x4xf32, #graph.dims<2, T, 4>>
  return %7 : tensor<2x?x4xf32, #graph.dims<2, T, 4>>
}

// -----

// A number has no axes to move, whatever its rank; the result may have
// another type.

// CHECK-LABEL: @number
func.func @number(%x: tensor<5x2x16xf16>, %c: tensor<1x1x1x1xf16>, %w: tensor<1x2x16x4xf32>) -> tensor<1x2x5x4xf32> {
  // CHECK-DAG: %[[NUMBER:.*]] = graph.reshape %arg1 : (tensor<1x1x1x1xf16>) -> tensor<1xf16>
  // CHECK: %[[SUM:.*]] = graph.add %{{.*}}, %[[NUMBER]] : (tensor<5x2x16xf16>, tensor<1xf16>) -> tensor<5x2x16xf16>
  // CHECK-NEXT: %[[WIDE:.*]] = graph.cast %[[SUM]] : (tensor<5x2x16xf16>) -> tensor<5x2x16xf32>
  // CHECK-NEXT: %[[MOVED:.*]] = graph.transpose %[[WIDE]] {{.*}} -> tensor<2x5x16xf32>
  // CHECK-NEXT: %[[BATCH:.*]] = graph.reshape %[[MOVED]] : (tensor<2x5x16xf32>) -> tensor<1x2x5x16xf32>
  // CHECK-NEXT: graph.matmul %[[BATCH]]
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<5x2x16xf16>) -> tensor<2x5x16xf16>
  %1 = graph.reshape %0 : (tensor<2x5x16xf16>) -> tensor<1x2x5x16xf16>
  %2 = graph.add %1, %c : (tensor<1x2x5x16xf16>, tensor<1x1x1x1xf16>) -> tensor<1x2x5x16xf16>
  %3 = graph.cast %2 : (tensor<1x2x5x16xf16>) -> tensor<1x2x5x16xf32>
  %4 = graph.matmul %3, %w : (tensor<1x2x5x16xf32>, tensor<1x2x16x4xf32>) -> tensor<1x2x5x4xf32>
  return %4 : tensor<1x2x5x4xf32>
}

// -----

// Rows of both are put elsewhere, but not to the same place.

// CHECK-LABEL: @differ
func.func @differ(%x: tensor<4x4x4x16xf32>, %y: tensor<4x4x4x16xf32>, %w: tensor<16x4xf32>) -> tensor<4x4x4x4xf32> {
  // CHECK: graph.transpose %arg0
  // CHECK: graph.transpose %arg1
  // CHECK: graph.mul
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2, 3>} : (tensor<4x4x4x16xf32>) -> tensor<4x4x4x16xf32>
  %1 = graph.transpose %y {permutation = array<i64: 2, 1, 0, 3>} : (tensor<4x4x4x16xf32>) -> tensor<4x4x4x16xf32>
  // expected-remark@+1 {{stays behind what moves its operands: its operands are not all moved alike}}
  %2 = graph.mul %0, %1 : (tensor<4x4x4x16xf32>, tensor<4x4x4x16xf32>) -> tensor<4x4x4x16xf32>
  %3 = graph.matmul %2, %w : (tensor<4x4x4x16xf32>, tensor<16x4xf32>) -> tensor<4x4x4x4xf32>
  return %3 : tensor<4x4x4x4xf32>
}

// -----

// A number per expert is not the same for all rows in front of the movement.

// CHECK-LABEL: @perExpert
func.func @perExpert(%x: tensor<5x2x16xf32>, %c: tensor<2x1x1xf32>, %w: tensor<2x16x4xf32>) -> tensor<2x5x4xf32> {
  // CHECK: %[[MOVED:.*]] = graph.transpose %arg0
  // CHECK-NEXT: graph.mul %[[MOVED]], %arg1
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<5x2x16xf32>) -> tensor<2x5x16xf32>
  // expected-remark@+1 {{stays behind what moves its operands: its operands are not all moved alike}}
  %1 = graph.mul %0, %c : (tensor<2x5x16xf32>, tensor<2x1x1xf32>) -> tensor<2x5x16xf32>
  %2 = graph.matmul %1, %w : (tensor<2x5x16xf32>, tensor<2x16x4xf32>) -> tensor<2x5x4xf32>
  return %2 : tensor<2x5x4xf32>
}

// -----

// The moved values are needed anyway.

// CHECK-LABEL: @returned
func.func @returned(%x: tensor<5x2x16xf32>, %w: tensor<2x16x4xf32>) -> (tensor<2x5x4xf32>, tensor<2x5x16xf32>) {
  // CHECK: %[[MOVED:.*]] = graph.transpose %arg0
  // CHECK-NEXT: graph.tanh %[[MOVED]]
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<5x2x16xf32>) -> tensor<2x5x16xf32>
  // expected-remark@+1 {{stays behind what moves its operands: something else reads what it moves}}
  %1 = graph.tanh %0 : (tensor<2x5x16xf32>) -> tensor<2x5x16xf32>
  %2 = graph.matmul %1, %w : (tensor<2x5x16xf32>, tensor<2x16x4xf32>) -> tensor<2x5x4xf32>
  return %2, %0 : tensor<2x5x4xf32>, tensor<2x5x16xf32>
}

// -----

// Elements of a row part, and the product would read them one by one.

// CHECK-LABEL: @columns
func.func @columns(%x: tensor<16x5xf32>, %w: tensor<16x4xf32>) -> tensor<5x4xf32> {
  // CHECK: %[[MOVED:.*]] = graph.transpose %arg0
  // CHECK-NEXT: graph.tanh %[[MOVED]]
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<16x5xf32>) -> tensor<5x16xf32>
  %1 = graph.tanh %0 : (tensor<5x16xf32>) -> tensor<5x16xf32>
  %2 = graph.matmul %1, %w : (tensor<5x16xf32>, tensor<16x4xf32>) -> tensor<5x4xf32>
  return %2 : tensor<5x4xf32>
}

// -----

// What is returned has to be written in its order anyway.

// CHECK-LABEL: @result
func.func @result(%x: tensor<5x2x16xf32>) -> tensor<2x5x16xf32> {
  // CHECK: %[[MOVED:.*]] = graph.transpose %arg0
  // CHECK-NEXT: graph.tanh %[[MOVED]]
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<5x2x16xf32>) -> tensor<2x5x16xf32>
  %1 = graph.tanh %0 : (tensor<2x5x16xf32>) -> tensor<2x5x16xf32>
  return %1 : tensor<2x5x16xf32>
}

// -----

// Rows that are only cut: a gate and what it gates meet in front of that.

// CHECK-LABEL: @cut
func.func @cut(%gate: tensor<5x32xf32>, %up: tensor<5x32xf32>, %w: tensor<16x4xf32>) -> tensor<5x2x4xf32> {
  // CHECK: %[[GATED:.*]] = graph.mul %arg0, %arg1
  // CHECK-NEXT: %[[CUT:.*]] = graph.reshape %[[GATED]]
  // CHECK-NEXT: graph.matmul %[[CUT]]
  %0 = graph.reshape %gate : (tensor<5x32xf32>) -> tensor<5x2x16xf32>
  %1 = graph.reshape %up : (tensor<5x32xf32>) -> tensor<5x2x16xf32>
  %2 = graph.mul %0, %1 : (tensor<5x2x16xf32>, tensor<5x2x16xf32>) -> tensor<5x2x16xf32>
  %3 = graph.matmul %2, %w : (tensor<5x2x16xf32>, tensor<16x4xf32>) -> tensor<5x2x4xf32>
  return %3 : tensor<5x2x4xf32>
}

// -----

// Rows that only get other axes: the product takes those.

// CHECK-LABEL: @axes
func.func @axes(%x: tensor<10x16xf32>, %w: tensor<16x4xf32>) -> tensor<5x2x4xf32> {
  // CHECK: %[[AXES:.*]] = graph.reshape %arg0
  // CHECK-NEXT: graph.tanh %[[AXES]]
  %0 = graph.reshape %x : (tensor<10x16xf32>) -> tensor<5x2x16xf32>
  %1 = graph.tanh %0 : (tensor<5x2x16xf32>) -> tensor<5x2x16xf32>
  %2 = graph.matmul %1, %w : (tensor<5x2x16xf32>, tensor<16x4xf32>) -> tensor<5x2x4xf32>
  return %2 : tensor<5x2x4xf32>
}
