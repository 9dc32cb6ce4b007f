// RUN: tenon-opt %s --recognise-permutations=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// The shift of Swin's windows.

// CHECK-LABEL: @roll
func.func @roll(%x: tensor<?x8x4xf32, #graph.dims<B, 8, 4>>) -> tensor<?x8x4xf32, #graph.dims<B, 8, 4>> {
  // CHECK: %[[ZERO:.*]] = graph.constant
  // CHECK-NEXT: %[[ROLLED:.*]] = graph.pad %arg0, %[[ZERO]] {low = #graph.dims<0, -3, 0>, mode = #graph<pad_mode wrap>}
  // CHECK-NEXT: return %[[ROLLED]]
  %0 = graph.slice %x {starts = #graph.dims<0, 3, 0>, steps = #graph.dims<1, 1, 1>} : (tensor<?x8x4xf32, #graph.dims<B, 8, 4>>) -> tensor<?x5x4xf32, #graph.dims<B, 5, 4>>
  %1 = graph.slice %x {starts = #graph.dims<0, 0, 0>, steps = #graph.dims<1, 1, 1>} : (tensor<?x8x4xf32, #graph.dims<B, 8, 4>>) -> tensor<?x3x4xf32, #graph.dims<B, 3, 4>>
  %2 = graph.concat %0, %1 {axis = 1 : i64} : (tensor<?x5x4xf32, #graph.dims<B, 5, 4>>, tensor<?x3x4xf32, #graph.dims<B, 3, 4>>) -> tensor<?x8x4xf32, #graph.dims<B, 8, 4>>
  return %2 : tensor<?x8x4xf32, #graph.dims<B, 8, 4>>
}

// -----

// A roll back that does not fit leaves an element out and takes one twice.

// CHECK-LABEL: @mismatched_roll
func.func @mismatched_roll(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // CHECK-NOT: graph.pad
  %0 = graph.slice %x {starts = #graph.dims<4, 0>, steps = #graph.dims<1, 1>} : (tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = graph.slice %x {starts = #graph.dims<1, 0>, steps = #graph.dims<1, 1>} : (tensor<8x4xf32>) -> tensor<4x4xf32>
  // expected-remark@+1 {{is no permutation of its input: its slices are not two parts in turned order}}
  %2 = graph.concat %0, %1 {axis = 0 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// -----

// Both parts in order are the input; other passes see to that.

// CHECK-LABEL: @parts_in_order
func.func @parts_in_order(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // CHECK-NOT: graph.pad
  %0 = graph.slice %x {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<8x4xf32>) -> tensor<3x4xf32>
  %1 = graph.slice %x {starts = #graph.dims<3, 0>, steps = #graph.dims<1, 1>} : (tensor<8x4xf32>) -> tensor<5x4xf32>
  // expected-remark@+1 {{is no permutation of its input: its slices are not two parts in turned order}}
  %2 = graph.concat %0, %1 {axis = 0 : i64} : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// -----

// A slice of another axis as well.

// CHECK-LABEL: @cropped
func.func @cropped(%x: tensor<8x4xf32>) -> tensor<8x3xf32> {
  // CHECK-NOT: graph.pad
  %0 = graph.slice %x {starts = #graph.dims<3, 0>, steps = #graph.dims<1, 1>} : (tensor<8x4xf32>) -> tensor<5x3xf32>
  %1 = graph.slice %x {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<8x4xf32>) -> tensor<3x3xf32>
  // expected-remark@+1 {{is no permutation of its input: its slices leave something out}}
  %2 = graph.concat %0, %1 {axis = 0 : i64} : (tensor<5x3xf32>, tensor<3x3xf32>) -> tensor<8x3xf32>
  return %2 : tensor<8x3xf32>
}

// -----

// Halves that change places within a row, as in a rotation.

// CHECK-LABEL: @halves
func.func @halves(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  // CHECK-NOT: graph.pad
  %0 = graph.slice %x {starts = #graph.dims<0, 4>, steps = #graph.dims<1, 1>} : (tensor<3x8xf32>) -> tensor<3x4xf32>
  %1 = graph.slice %x {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<3x8xf32>) -> tensor<3x4xf32>
  // expected-remark@+1 {{is no permutation of its input: along the last axis its parts are copied as they are}}
  %2 = graph.concat %0, %1 {axis = 1 : i64} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x8xf32>
  return %2 : tensor<3x8xf32>
}

// -----

// Patches merged: the row within a patch moves faster than the column.

// CHECK-LABEL: @patches
func.func @patches(%x: tensor<?x4x6x3xf32, #graph.dims<B, 4, 6, 3>>) -> tensor<?x2x3x12xf32, #graph.dims<B, 2, 3, 12>> {
  // CHECK: %[[SPLIT:.*]] = graph.reshape %arg0 : {{.*}} -> tensor<?x2x2x3x2x3xf32, #graph.dims<B, 2, 2, 3, 2, 3>>
  // CHECK-NEXT: %[[TURNED:.*]] = graph.transpose %[[SPLIT]] {permutation = array<i64: 0, 1, 3, 4, 2, 5>}
  // CHECK-NEXT: %[[MERGED:.*]] = graph.reshape %[[TURNED]] : {{.*}} -> tensor<?x2x3x12xf32, #graph.dims<B, 2, 3, 12>>
  // CHECK-NEXT: return %[[MERGED]]
  %0 = graph.slice %x {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 2, 2, 1>} : (tensor<?x4x6x3xf32, #graph.dims<B, 4, 6, 3>>) -> tensor<?x2x3x3xf32, #graph.dims<B, 2, 3, 3>>
  %1 = graph.slice %x {starts = #graph.dims<0, 1, 0, 0>, steps = #graph.dims<1, 2, 2, 1>} : (tensor<?x4x6x3xf32, #graph.dims<B, 4, 6, 3>>) -> tensor<?x2x3x3xf32, #graph.dims<B, 2, 3, 3>>
  %2 = graph.slice %x {starts = #graph.dims<0, 0, 1, 0>, steps = #graph.dims<1, 2, 2, 1>} : (tensor<?x4x6x3xf32, #graph.dims<B, 4, 6, 3>>) -> tensor<?x2x3x3xf32, #graph.dims<B, 2, 3, 3>>
  %3 = graph.slice %x {starts = #graph.dims<0, 1, 1, 0>, steps = #graph.dims<1, 2, 2, 1>} : (tensor<?x4x6x3xf32, #graph.dims<B, 4, 6, 3>>) -> tensor<?x2x3x3xf32, #graph.dims<B, 2, 3, 3>>
  %4 = graph.concat %0, %1, %2, %3 {axis = 3 : i64} : (tensor<?x2x3x3xf32, #graph.dims<B, 2, 3, 3>>, tensor<?x2x3x3xf32, #graph.dims<B, 2, 3, 3>>, tensor<?x2x3x3xf32, #graph.dims<B, 2, 3, 3>>, tensor<?x2x3x3xf32, #graph.dims<B, 2, 3, 3>>) -> tensor<?x2x3x12xf32, #graph.dims<B, 2, 3, 12>>
  return %4 : tensor<?x2x3x12xf32, #graph.dims<B, 2, 3, 12>>
}

// -----

// One corner is taken twice.

// CHECK-LABEL: @corner_twice
func.func @corner_twice(%x: tensor<4x4xf32>) -> tensor<8x2xf32> {
  // CHECK: graph.concat
  %0 = graph.slice %x {starts = #graph.dims<0, 0>, steps = #graph.dims<2, 2>} : (tensor<4x4xf32>) -> tensor<2x2xf32>
  %1 = graph.slice %x {starts = #graph.dims<1, 0>, steps = #graph.dims<2, 2>} : (tensor<4x4xf32>) -> tensor<2x2xf32>
  %2 = graph.slice %x {starts = #graph.dims<0, 1>, steps = #graph.dims<2, 2>} : (tensor<4x4xf32>) -> tensor<2x2xf32>
  // expected-remark@+1 {{is no permutation of its input: its slices do not take turns}}
  %3 = graph.concat %0, %1, %2, %0 {axis = 0 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<8x2xf32>
  return %3 : tensor<8x2xf32>
}

// -----

// Every second element, twice.

// CHECK-LABEL: @half_twice
func.func @half_twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: graph.concat
  %0 = graph.slice %x {starts = #graph.dims<0>, steps = #graph.dims<2>} : (tensor<4xf32>) -> tensor<2xf32>
  // expected-remark@+1 {{is no permutation of its input: its slices do not take turns}}
  %1 = graph.concat %0, %0 {axis = 0 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// Slices of different tensors.

// CHECK-LABEL: @different_tensors
func.func @different_tensors(%x: tensor<8x4xf32>, %z: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // CHECK: graph.concat
  %0 = graph.slice %x {starts = #graph.dims<3, 0>, steps = #graph.dims<1, 1>} : (tensor<8x4xf32>) -> tensor<5x4xf32>
  %1 = graph.slice %z {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<8x4xf32>) -> tensor<3x4xf32>
  %2 = graph.concat %0, %1 {axis = 0 : i64} : (tensor<5x4xf32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// -----

// What exporters make of the end of a pool: element c of image b is at
// b * 4 + c, where it was.

// CHECK-LABEL: @gather_of_all
func.func @gather_of_all(%x: tensor<?xf32, #graph.dims<4 * B>>) -> tensor<?x4xf32, #graph.dims<B, 4>> {
  // CHECK-NOT: graph.gather
  // CHECK: %[[Y:.*]] = graph.reshape %arg0 : {{.*}} -> tensor<?x4xf32, #graph.dims<B, 4>>
  // CHECK-NOT: graph.gather
  // CHECK: return %[[Y]]
  %n = graph.constant {value = dense<4> : tensor<i64>} : () -> tensor<i64>
  %c = graph.constant {value = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : () -> tensor<1x4xi64>
  %0 = graph.iota : () -> tensor<?xi64, #graph.dims<B>>
  %1 = graph.mul %0, %n : (tensor<?xi64, #graph.dims<B>>, tensor<i64>) -> tensor<?xi64, #graph.dims<B>>
  %2 = graph.reshape %1 : (tensor<?xi64, #graph.dims<B>>) -> tensor<?x1xi64, #graph.dims<B, 1>>
  %3 = graph.add %2, %c : (tensor<?x1xi64, #graph.dims<B, 1>>, tensor<1x4xi64>) -> tensor<?x4xi64, #graph.dims<B, 4>>
  %4 = graph.gather %x, %3 {axis = 0 : i64} : (tensor<?xf32, #graph.dims<4 * B>>, tensor<?x4xi64, #graph.dims<B, 4>>) -> tensor<?x4xf32, #graph.dims<B, 4>>
  return %4 : tensor<?x4xf32, #graph.dims<B, 4>>
}

// -----

// Another order.

// CHECK-LABEL: @gather_in_another_order
func.func @gather_in_another_order(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: graph.gather
  %i = graph.constant {value = dense<[3, 2, 1, 0]> : tensor<4xi64>} : () -> tensor<4xi64>
  // expected-remark@+1 {{is no permutation of its input: its positions are not proven to be all in order}}
  %0 = graph.gather %x, %i {axis = 0 : i64} : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// The axis is longer.

// CHECK-LABEL: @gather_of_some
func.func @gather_of_some(%x: tensor<5xf32>) -> tensor<4xf32> {
  // CHECK: graph.gather
  %i = graph.constant {value = dense<[0, 1, 2, 3]> : tensor<4xi64>} : () -> tensor<4xi64>
  // expected-remark@+1 {{is no permutation of its input: its positions are not as many as the axis has}}
  %0 = graph.gather %x, %i {axis = 0 : i64} : (tensor<5xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Positions that an input gives.

// CHECK-LABEL: @gather_by_input
func.func @gather_by_input(%x: tensor<4xf32>, %i: tensor<4xi64>) -> tensor<4xf32> {
  // CHECK: graph.gather
  // expected-remark@+1 {{is no permutation of its input: its positions are not proven to be all in order}}
  %0 = graph.gather %x, %i {axis = 0 : i64} : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
