// RUN: tenon-opt %s --hoist-row-moves=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// Windows of an image are cut in front of the norm, scale and bias.

// CHECK-LABEL: @windows_of_image
func.func @windows_of_image(%x: tensor<2x16x8xf32>, %g: tensor<8xf32>, %b: tensor<1x1x8xf32>) -> tensor<8x4x8xf32> {
  // CHECK: %[[SPLIT:.*]] = graph.reshape %arg0 : {{.*}} -> tensor<2x2x2x2x2x8xf32>
  // CHECK: %[[TURNED:.*]] = graph.transpose %[[SPLIT]] {permutation = array<i64: 0, 1, 3, 2, 4, 5>}
  // CHECK: %[[WINDOWS:.*]] = graph.reshape %[[TURNED]] : {{.*}} -> tensor<8x4x8xf32>
  // CHECK: %[[NORM:.*]] = graph.layer_norm %[[WINDOWS]] {axis = 2 : i64
  // CHECK: %[[SCALED:.*]] = graph.mul %[[NORM]], %arg1
  // CHECK: %[[BIAS:.*]] = graph.reshape %arg2 : (tensor<1x1x8xf32>) -> tensor<8xf32>
  // CHECK: %[[SUM:.*]] = graph.add %[[SCALED]], %[[BIAS]]
  // CHECK: return %[[SUM]]
  %0 = graph.layer_norm %x {axis = 2 : i64, epsilon = 1.0e-05 : f64} : (tensor<2x16x8xf32>) -> tensor<2x16x8xf32>
  %1 = graph.mul %0, %g : (tensor<2x16x8xf32>, tensor<8xf32>) -> tensor<2x16x8xf32>
  %2 = graph.add %1, %b : (tensor<2x16x8xf32>, tensor<1x1x8xf32>) -> tensor<2x16x8xf32>
  %3 = graph.reshape %2 : (tensor<2x16x8xf32>) -> tensor<2x2x2x2x2x8xf32>
  %4 = graph.transpose %3 {permutation = array<i64: 0, 1, 3, 2, 4, 5>} : (tensor<2x2x2x2x2x8xf32>) -> tensor<2x2x2x2x2x8xf32>
  %5 = graph.reshape %4 : (tensor<2x2x2x2x2x8xf32>) -> tensor<8x4x8xf32>
  return %5 : tensor<8x4x8xf32>
}

// -----

// A roll in front of them; the axis of the norm is the last one then, too.

// CHECK-LABEL: @roll
func.func @roll(%x: tensor<16x8xf32>, %zero: tensor<f32>) -> tensor<4x4x8xf32> {
  // CHECK: %[[IMAGE:.*]] = graph.reshape %arg0 : {{.*}} -> tensor<4x4x8xf32>
  // CHECK: %[[ROLLED:.*]] = graph.pad %[[IMAGE]], %arg1
  // CHECK: graph.rms_norm %[[ROLLED]] {axis = 2 : i64
  %0 = graph.rms_norm %x {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %1 = graph.reshape %0 : (tensor<16x8xf32>) -> tensor<4x4x8xf32>
  %2 = graph.pad %1, %zero {low = #graph.dims<0, -1, 0>, mode = #graph<pad_mode wrap>} : (tensor<4x4x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
  return %2 : tensor<4x4x8xf32>
}

// -----

// Columns become rows: what a norm sums over would change.

// CHECK-LABEL: @columns
func.func @columns(%x: tensor<4x6x8xf32>) -> tensor<4x8x6xf32> {
  // CHECK: graph.layer_norm %arg0
  %0 = graph.layer_norm %x {axis = 2 : i64, epsilon = 1.0e-05 : f64} : (tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 0, 2, 1>} : (tensor<4x6x8xf32>) -> tensor<4x8x6xf32>
  return %1 : tensor<4x8x6xf32>
}

// -----

// The norm would be computed twice.

// CHECK-LABEL: @used_elsewhere
func.func @used_elsewhere(%x: tensor<4x6x8xf32>) -> (tensor<6x4x8xf32>, tensor<4x6x8xf32>) {
  // CHECK: graph.layer_norm %arg0
  %0 = graph.layer_norm %x {axis = 2 : i64, epsilon = 1.0e-05 : f64} : (tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  // expected-remark@+1 {{stays behind a norm, whose rows it moves: the norm has several users}}
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0, 2>} : (tensor<4x6x8xf32>) -> tensor<6x4x8xf32>
  return %1, %0 : tensor<6x4x8xf32>, tensor<4x6x8xf32>
}

// -----

// A norm of several axes mixes rows.

// CHECK-LABEL: @several_axes
func.func @several_axes(%x: tensor<4x6x8xf32>) -> tensor<6x4x8xf32> {
  // CHECK: graph.layer_norm %arg0
  %0 = graph.layer_norm %x {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0, 2>} : (tensor<4x6x8xf32>) -> tensor<6x4x8xf32>
  return %1 : tensor<6x4x8xf32>
}

// -----

// A residual would have to be moved as well.

// CHECK-LABEL: @residual
func.func @residual(%x: tensor<4x6x8xf32>, %r: tensor<4x6x8xf32>) -> tensor<6x4x8xf32> {
  // CHECK: graph.layer_norm %arg0
  // CHECK: graph.add
  // CHECK: graph.transpose
  %0 = graph.layer_norm %x {axis = 2 : i64, epsilon = 1.0e-05 : f64} : (tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %1 = graph.add %0, %r : (tensor<4x6x8xf32>, tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 1, 0, 2>} : (tensor<4x6x8xf32>) -> tensor<6x4x8xf32>
  return %2 : tensor<6x4x8xf32>
}

// -----

// A reshape alone is no movement.

// CHECK-LABEL: @reshape
func.func @reshape(%x: tensor<4x6x8xf32>) -> tensor<24x8xf32> {
  // CHECK: graph.layer_norm %arg0
  %0 = graph.layer_norm %x {axis = 2 : i64, epsilon = 1.0e-05 : f64} : (tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %1 = graph.reshape %0 : (tensor<4x6x8xf32>) -> tensor<24x8xf32>
  return %1 : tensor<24x8xf32>
}
