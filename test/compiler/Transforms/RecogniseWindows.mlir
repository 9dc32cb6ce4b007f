// RUN: tenon-opt %s --recognise-windows=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// What an unrolled loop leaves: slices one column apart, and a concat.

// CHECK-LABEL: @slices
func.func @slices(%x: tensor<2x7xf32>) -> tensor<2x3x4xf32> {
  // CHECK: %[[READ:.*]] = graph.slice %arg0 {starts = #graph.dims<0, 1>, steps = #graph.dims<1, 1>} : (tensor<2x7xf32>) -> tensor<2x6xf32>
  // CHECK-NEXT: %[[WINDOWS:.*]] = graph.windows %[[READ]] {axis = 1 : i64, step = 1 : i64, stride = 1 : i64} : (tensor<2x6xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: return %[[WINDOWS]]
  %0 = graph.slice %x {starts = #graph.dims<0, 1>, steps = #graph.dims<1, 1>} : (tensor<2x7xf32>) -> tensor<2x4xf32>
  %1 = graph.slice %x {starts = #graph.dims<0, 2>, steps = #graph.dims<1, 1>} : (tensor<2x7xf32>) -> tensor<2x4xf32>
  %2 = graph.slice %x {starts = #graph.dims<0, 3>, steps = #graph.dims<1, 1>} : (tensor<2x7xf32>) -> tensor<2x4xf32>
  %3 = graph.reshape %0 : (tensor<2x4xf32>) -> tensor<2x1x4xf32>
  %4 = graph.reshape %1 : (tensor<2x4xf32>) -> tensor<2x1x4xf32>
  %5 = graph.reshape %2 : (tensor<2x4xf32>) -> tensor<2x1x4xf32>
  %y = graph.concat %3, %4, %5 {axis = 1 : i64} : (tensor<2x1x4xf32>, tensor<2x1x4xf32>, tensor<2x1x4xf32>) -> tensor<2x3x4xf32>
  return %y : tensor<2x3x4xf32>
}

// -----

// The concat sets them end to end along an axis of their own; rows two apart.

// CHECK-LABEL: @slices_along_another_axis
func.func @slices_along_another_axis(%x: tensor<7x?xf32, #graph.dims<7, N>>) -> tensor<3x?xf32, #graph.dims<3, 3 * N>> {
  // CHECK: %[[WINDOWS:.*]] = graph.windows %arg0 {axis = 0 : i64, step = 1 : i64, stride = 2 : i64} : {{.*}} -> tensor<3x3x?xf32, #graph.dims<3, 3, N>>
  // CHECK-NEXT: %[[TURNED:.*]] = graph.transpose %[[WINDOWS]] {permutation = array<i64: 1, 0, 2>}
  // CHECK-NEXT: graph.reshape %[[TURNED]] : {{.*}} -> tensor<3x?xf32, #graph.dims<3, 3 * N>>
  %0 = graph.slice %x {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<7x?xf32, #graph.dims<7, N>>) -> tensor<3x?xf32, #graph.dims<3, N>>
  %1 = graph.slice %x {starts = #graph.dims<2, 0>, steps = #graph.dims<1, 1>} : (tensor<7x?xf32, #graph.dims<7, N>>) -> tensor<3x?xf32, #graph.dims<3, N>>
  %2 = graph.slice %x {starts = #graph.dims<4, 0>, steps = #graph.dims<1, 1>} : (tensor<7x?xf32, #graph.dims<7, N>>) -> tensor<3x?xf32, #graph.dims<3, N>>
  %y = graph.concat %0, %1, %2 {axis = 1 : i64} : (tensor<3x?xf32, #graph.dims<3, N>>, tensor<3x?xf32, #graph.dims<3, N>>, tensor<3x?xf32, #graph.dims<3, N>>) -> tensor<3x?xf32, #graph.dims<3, 3 * N>>
  return %y : tensor<3x?xf32, #graph.dims<3, 3 * N>>
}

// -----

// Slices that take every second element, as a step of the windows.

// CHECK-LABEL: @slices_with_steps
func.func @slices_with_steps(%x: tensor<9xf32>) -> tensor<12xf32> {
  // CHECK: graph.windows %{{.*}} {axis = 0 : i64, step = 2 : i64, stride = 1 : i64} : (tensor<9xf32>) -> tensor<3x4xf32>
  // CHECK: graph.reshape %{{.*}} -> tensor<12xf32>
  %0 = graph.slice %x {starts = #graph.dims<0>, steps = #graph.dims<2>} : (tensor<9xf32>) -> tensor<4xf32>
  %1 = graph.slice %x {starts = #graph.dims<1>, steps = #graph.dims<2>} : (tensor<9xf32>) -> tensor<4xf32>
  %2 = graph.slice %x {starts = #graph.dims<2>, steps = #graph.dims<2>} : (tensor<9xf32>) -> tensor<4xf32>
  %y = graph.concat %0, %1, %2 {axis = 0 : i64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<12xf32>
  return %y : tensor<12xf32>
}

// -----

// Slices side by side that are set together again move nothing.

// CHECK-LABEL: @split_and_joined
func.func @split_and_joined(%x: tensor<2x6xf32>) -> tensor<2x6xf32> {
  // CHECK-NOT: graph.windows
  // CHECK-NOT: graph.concat
  %0 = graph.slice %x {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<2x6xf32>) -> tensor<2x2xf32>
  %1 = graph.slice %x {starts = #graph.dims<0, 2>, steps = #graph.dims<1, 1>} : (tensor<2x6xf32>) -> tensor<2x2xf32>
  %2 = graph.slice %x {starts = #graph.dims<0, 4>, steps = #graph.dims<1, 1>} : (tensor<2x6xf32>) -> tensor<2x2xf32>
  %y = graph.concat %0, %1, %2 {axis = 1 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// -----

// CHECK-LABEL: @unequal_offsets
func.func @unequal_offsets(%x: tensor<9xf32>) -> tensor<12xf32> {
  // CHECK: graph.concat
  %0 = graph.slice %x {starts = #graph.dims<0>, steps = #graph.dims<1>} : (tensor<9xf32>) -> tensor<4xf32>
  %1 = graph.slice %x {starts = #graph.dims<1>, steps = #graph.dims<1>} : (tensor<9xf32>) -> tensor<4xf32>
  %2 = graph.slice %x {starts = #graph.dims<3>, steps = #graph.dims<1>} : (tensor<9xf32>) -> tensor<4xf32>
  // expected-remark@+1 {{is no view of windows: its slices are not equally far apart}}
  %y = graph.concat %0, %1, %2 {axis = 0 : i64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<12xf32>
  return %y : tensor<12xf32>
}

// -----

// CHECK-LABEL: @backwards
func.func @backwards(%x: tensor<9xf32>) -> tensor<12xf32> {
  // CHECK: graph.concat
  %0 = graph.slice %x {starts = #graph.dims<2>, steps = #graph.dims<1>} : (tensor<9xf32>) -> tensor<4xf32>
  %1 = graph.slice %x {starts = #graph.dims<1>, steps = #graph.dims<1>} : (tensor<9xf32>) -> tensor<4xf32>
  %2 = graph.slice %x {starts = #graph.dims<0>, steps = #graph.dims<1>} : (tensor<9xf32>) -> tensor<4xf32>
  // expected-remark@+1 {{is no view of windows: its slices do not move forward by a number}}
  %y = graph.concat %0, %1, %2 {axis = 0 : i64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<12xf32>
  return %y : tensor<12xf32>
}

// -----

// CHECK-LABEL: @different_tensors
func.func @different_tensors(%x: tensor<9xf32>, %z: tensor<9xf32>) -> tensor<12xf32> {
  // CHECK: graph.concat
  %0 = graph.slice %x {starts = #graph.dims<0>, steps = #graph.dims<1>} : (tensor<9xf32>) -> tensor<4xf32>
  %1 = graph.slice %z {starts = #graph.dims<1>, steps = #graph.dims<1>} : (tensor<9xf32>) -> tensor<4xf32>
  %2 = graph.slice %x {starts = #graph.dims<2>, steps = #graph.dims<1>} : (tensor<9xf32>) -> tensor<4xf32>
  // expected-remark@+1 {{is no view of windows: its slices are of different tensors}}
  %y = graph.concat %0, %1, %2 {axis = 0 : i64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<12xf32>
  return %y : tensor<12xf32>
}

// -----

// CHECK-LABEL: @different_steps
func.func @different_steps(%x: tensor<9xf32>) -> tensor<12xf32> {
  // CHECK: graph.concat
  %0 = graph.slice %x {starts = #graph.dims<0>, steps = #graph.dims<1>} : (tensor<9xf32>) -> tensor<4xf32>
  %1 = graph.slice %x {starts = #graph.dims<1>, steps = #graph.dims<2>} : (tensor<9xf32>) -> tensor<4xf32>
  %2 = graph.slice %x {starts = #graph.dims<2>, steps = #graph.dims<1>} : (tensor<9xf32>) -> tensor<4xf32>
  // expected-remark@+1 {{is no view of windows: its slices differ in size or step}}
  %y = graph.concat %0, %1, %2 {axis = 0 : i64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<12xf32>
  return %y : tensor<12xf32>
}

// -----

// The corners of 2 x 2 blocks, as patches are merged.

// CHECK-LABEL: @two_axes
func.func @two_axes(%x: tensor<4x4xf32>) -> tensor<6x2xf32> {
  // CHECK: graph.concat
  %0 = graph.slice %x {starts = #graph.dims<0, 0>, steps = #graph.dims<2, 2>} : (tensor<4x4xf32>) -> tensor<2x2xf32>
  %1 = graph.slice %x {starts = #graph.dims<1, 1>, steps = #graph.dims<2, 2>} : (tensor<4x4xf32>) -> tensor<2x2xf32>
  %2 = graph.slice %x {starts = #graph.dims<0, 1>, steps = #graph.dims<2, 2>} : (tensor<4x4xf32>) -> tensor<2x2xf32>
  // expected-remark@+1 {{is no view of windows: its slices move along two axes}}
  %y = graph.concat %0, %1, %2 {axis = 0 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<6x2xf32>
  return %y : tensor<6x2xf32>
}

// -----

// A roll has two slices only.

// CHECK-LABEL: @roll
func.func @roll(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: graph.concat
  %0 = graph.slice %x {starts = #graph.dims<4>, steps = #graph.dims<1>} : (tensor<8xf32>) -> tensor<4xf32>
  %1 = graph.slice %x {starts = #graph.dims<0>, steps = #graph.dims<1>} : (tensor<8xf32>) -> tensor<4xf32>
  %y = graph.concat %0, %1 {axis = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// What a vectorised loop leaves: positions in a table.

// CHECK-LABEL: @table
func.func @table(%x: tensor<2x9x5xf32>) -> tensor<2x3x3x5xf32> {
  // CHECK: %[[READ:.*]] = graph.slice %arg0 {starts = #graph.dims<0, 1, 0>, {{.*}} -> tensor<2x7x5xf32>
  // CHECK-NEXT: graph.windows %[[READ]] {axis = 1 : i64, step = 1 : i64, stride = 2 : i64} : {{.*}} -> tensor<2x3x3x5xf32>
  %i = graph.constant {value = dense<[[1, 2, 3], [3, 4, 5], [5, 6, 7]]> : tensor<3x3xi64>} : () -> tensor<3x3xi64>
  %y = graph.gather %x, %i {axis = 1 : i64} : (tensor<2x9x5xf32>, tensor<3x3xi64>) -> tensor<2x3x3x5xf32>
  return %y : tensor<2x3x3x5xf32>
}

// -----

// A list of positions is a slice.

// CHECK-LABEL: @list
func.func @list(%x: tensor<2x9xf32>) -> tensor<2x3xf32> {
  // CHECK: %[[SLICE:.*]] = graph.slice %arg0 {starts = #graph.dims<0, 1>, steps = #graph.dims<1, 3>} : (tensor<2x9xf32>) -> tensor<2x3xf32>
  // CHECK-NOT: graph.gather
  %i = graph.constant {value = dense<[1, 4, 7]> : tensor<3xi64>} : () -> tensor<3xi64>
  %y = graph.gather %x, %i {axis = 1 : i64} : (tensor<2x9xf32>, tensor<3xi64>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: @table_not_arithmetic
func.func @table_not_arithmetic(%x: tensor<9xf32>) -> tensor<3x3xf32> {
  // CHECK: graph.gather
  %i = graph.constant {value = dense<[[1, 2, 3], [2, 3, 4], [3, 4, 6]]> : tensor<3x3xi64>} : () -> tensor<3x3xi64>
  // expected-remark@+1 {{is no view of windows: its table does not go forward by equal distances}}
  %y = graph.gather %x, %i {axis = 0 : i64} : (tensor<9xf32>, tensor<3x3xi64>) -> tensor<3x3xf32>
  return %y : tensor<3x3xf32>
}

// -----

// A negative position counts from the end, not from before the start.

// CHECK-LABEL: @table_from_the_end
func.func @table_from_the_end(%x: tensor<9xf32>) -> tensor<3x3xf32> {
  // CHECK: graph.gather
  %i = graph.constant {value = dense<[[-1, 0, 1], [0, 1, 2], [1, 2, 3]]> : tensor<3x3xi64>} : () -> tensor<3x3xi64>
  // expected-remark@+1 {{is no view of windows: its table does not go forward by equal distances}}
  %y = graph.gather %x, %i {axis = 0 : i64} : (tensor<9xf32>, tensor<3x3xi64>) -> tensor<3x3xf32>
  return %y : tensor<3x3xf32>
}

// -----

// A position outside is a fault at run time, and stays one.

// CHECK-LABEL: @table_out_of_range
func.func @table_out_of_range(%x: tensor<4xf32>) -> tensor<3x3xf32> {
  // CHECK: graph.gather
  %i = graph.constant {value = dense<[[0, 1, 2], [1, 2, 3], [2, 3, 4]]> : tensor<3x3xi64>} : () -> tensor<3x3xi64>
  // expected-remark@+1 {{is no view of windows: its table may lead outside of its input}}
  %y = graph.gather %x, %i {axis = 0 : i64} : (tensor<4xf32>, tensor<3x3xi64>) -> tensor<3x3xf32>
  return %y : tensor<3x3xf32>
}

// -----

// So it is where the size is known at run time only.

// CHECK-LABEL: @size_unknown
func.func @size_unknown(%x: tensor<?xf32, #graph.dims<N>>) -> tensor<2x2xf32> {
  // CHECK: graph.gather
  %i = graph.constant {value = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
  // expected-remark@+1 {{is no view of windows: its table may lead outside of its input}}
  %y = graph.gather %x, %i {axis = 0 : i64} : (tensor<?xf32, #graph.dims<N>>, tensor<2x2xi64>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// -----

// CHECK-LABEL: @table_not_constant
func.func @table_not_constant(%x: tensor<9xf32>, %i: tensor<3x3xi64>) -> tensor<3x3xf32> {
  // CHECK: graph.gather
  %y = graph.gather %x, %i {axis = 0 : i64} : (tensor<9xf32>, tensor<3x3xi64>) -> tensor<3x3xf32>
  return %y : tensor<3x3xf32>
}
