// RUN: tenon-opt %s --sink-windows=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// Every window of y's columns, each multiplied by x: a column is in three.

// CHECK-LABEL: @columns
func.func @columns(%x: tensor<5x2xf32>, %y: tensor<2x9xf32>) -> tensor<7x5x3xf32> {
  // CHECK: %[[PRODUCT:.*]] = graph.matmul %arg0, %arg1 : (tensor<5x2xf32>, tensor<2x9xf32>) -> tensor<5x9xf32>
  // CHECK-NEXT: %[[WINDOWS:.*]] = graph.windows %[[PRODUCT]] {axis = 1 : i64, step = 1 : i64, stride = 1 : i64} : (tensor<5x9xf32>) -> tensor<5x7x3xf32>
  // CHECK-NEXT: %[[RESULT:.*]] = graph.transpose %[[WINDOWS]] {permutation = array<i64: 1, 0, 2>}
  // CHECK-NEXT: return %[[RESULT]]
  %0 = graph.windows %y {axis = 1 : i64, stride = 1 : i64, step = 1 : i64} : (tensor<2x9xf32>) -> tensor<2x7x3xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0, 2>} : (tensor<2x7x3xf32>) -> tensor<7x2x3xf32>
  %2 = graph.matmul %x, %1 : (tensor<5x2xf32>, tensor<7x2x3xf32>) -> tensor<7x5x3xf32>
  return %2 : tensor<7x5x3xf32>
}

// -----

// Windows of x's rows.

// CHECK-LABEL: @rows
func.func @rows(%x: tensor<?x9x2xf32, #graph.dims<B, 9, 2>>, %y: tensor<2x5xf32>) -> tensor<?x4x3x5xf32, #graph.dims<B, 4, 3, 5>> {
  // CHECK: %[[PRODUCT:.*]] = graph.matmul %arg0, %arg1 : {{.*}} -> tensor<?x9x5xf32, #graph.dims<B, 9, 5>>
  // CHECK-NEXT: graph.windows %[[PRODUCT]] {axis = 1 : i64, step = 1 : i64, stride = 2 : i64} : {{.*}} -> tensor<?x4x3x5xf32, #graph.dims<B, 4, 3, 5>>
  %0 = graph.windows %x {axis = 1 : i64, stride = 2 : i64, step = 1 : i64} : (tensor<?x9x2xf32, #graph.dims<B, 9, 2>>) -> tensor<?x4x3x2xf32, #graph.dims<B, 4, 3, 2>>
  %1 = graph.matmul %0, %y : (tensor<?x4x3x2xf32, #graph.dims<B, 4, 3, 2>>, tensor<2x5xf32>) -> tensor<?x4x3x5xf32, #graph.dims<B, 4, 3, 5>>
  return %1 : tensor<?x4x3x5xf32, #graph.dims<B, 4, 3, 5>>
}

// -----

// Each window has a matrix of its own.

// CHECK-LABEL: @batches
func.func @batches(%x: tensor<7x5x2xf32>, %y: tensor<2x9xf32>) -> tensor<7x5x3xf32> {
  // CHECK: graph.matmul %{{.*}} -> tensor<7x5x3xf32>
  %0 = graph.windows %y {axis = 1 : i64, stride = 1 : i64, step = 1 : i64} : (tensor<2x9xf32>) -> tensor<2x7x3xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0, 2>} : (tensor<2x7x3xf32>) -> tensor<7x2x3xf32>
  // expected-remark@+1 {{multiplies windows one by one: the other operand has batches}}
  %2 = graph.matmul %x, %1 : (tensor<7x5x2xf32>, tensor<7x2x3xf32>) -> tensor<7x5x3xf32>
  return %2 : tensor<7x5x3xf32>
}

// -----

// What is summed over lies in the windows, as in a convolution.

// CHECK-LABEL: @depth
func.func @depth(%x: tensor<5x3xf32>, %y: tensor<2x9xf32>) -> tensor<2x5x7xf32> {
  // CHECK: graph.matmul %{{.*}} -> tensor<2x5x7xf32>
  %0 = graph.windows %y {axis = 1 : i64, stride = 1 : i64, step = 1 : i64} : (tensor<2x9xf32>) -> tensor<2x7x3xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 0, 2, 1>} : (tensor<2x7x3xf32>) -> tensor<2x3x7xf32>
  // expected-remark@+1 {{multiplies windows one by one: they are not along its rows or columns}}
  %2 = graph.matmul %x, %1 : (tensor<5x3xf32>, tensor<2x3x7xf32>) -> tensor<2x5x7xf32>
  return %2 : tensor<2x5x7xf32>
}

// -----

// Between windows that do not touch lie columns that nothing needs.

// CHECK-LABEL: @apart
func.func @apart(%x: tensor<5x2xf32>, %y: tensor<2x9xf32>) -> tensor<3x5x2xf32> {
  // CHECK: graph.matmul %{{.*}} -> tensor<3x5x2xf32>
  %0 = graph.windows %y {axis = 1 : i64, stride = 3 : i64, step = 1 : i64} : (tensor<2x9xf32>) -> tensor<2x3x2xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0, 2>} : (tensor<2x3x2xf32>) -> tensor<3x2x2xf32>
  // expected-remark@+1 {{multiplies windows one by one: they do not overlap}}
  %2 = graph.matmul %x, %1 : (tensor<5x2xf32>, tensor<3x2x2xf32>) -> tensor<3x5x2xf32>
  return %2 : tensor<3x5x2xf32>
}
