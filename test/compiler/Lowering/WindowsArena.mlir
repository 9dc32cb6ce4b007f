// RUN: tenon-opt %s --recognise-windows --sink-windows --simplify --form-regions --outline-kernels --apply-schedules --lower-to-exec --split-input-file | FileCheck %s

// Overlapping windows, each times a matrix of its own: one batched product by
// strides that reads them in place. There is no copy, so the arena is empty.

// CHECK:      segments = #graph.dims<0>
// CHECK:      exec.launch @windows_transpose_matmul_f32_0 [#exec.buffer<input, 1, <0, 72>{{.*}}>, #exec.buffer<input, 0, <0, 280>{{.*}}>, #exec.buffer<output, 0, <0, 420>
// CHECK-NOT:  exec.launch
// CHECK:      kernel.func @windows_transpose_matmul_f32_0 {{.*}} schedule "BatchedMatmul"
func.func @main(%x: tensor<7x5x2xf32> {graph.name = "x"}, %y: tensor<2x9xf32> {graph.name = "y"}) -> (tensor<7x5x3xf32> {graph.name = "z"}) attributes {graph.ranges = {}} {
  %i = graph.constant {value = dense<[[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6], [5, 6, 7], [6, 7, 8]]> : tensor<7x3xi64>} : () -> tensor<7x3xi64>
  %0 = graph.gather %y, %i {axis = 1 : i64} : (tensor<2x9xf32>, tensor<7x3xi64>) -> tensor<2x7x3xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0, 2>} : (tensor<2x7x3xf32>) -> tensor<7x2x3xf32>
  %2 = graph.matmul %x, %1 : (tensor<7x5x2xf32>, tensor<7x2x3xf32>) -> tensor<7x5x3xf32>
  return %2 : tensor<7x5x3xf32>
}

// -----

// All times one matrix: the arena holds the product of what they share, 5 x 9
// numbers, and its windows are the result.

// CHECK:      segments = #graph.dims<192>
// CHECK:      exec.launch @matmul_f32_0
// CHECK-NEXT: exec.launch @windows_transpose_f32_1
// CHECK-NOT:  exec.launch
func.func @main(%x: tensor<5x2xf32> {graph.name = "x"}, %y: tensor<2x9xf32> {graph.name = "y"}) -> (tensor<7x5x3xf32> {graph.name = "z"}) attributes {graph.ranges = {}} {
  %i = graph.constant {value = dense<[[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6], [5, 6, 7], [6, 7, 8]]> : tensor<7x3xi64>} : () -> tensor<7x3xi64>
  %0 = graph.gather %y, %i {axis = 1 : i64} : (tensor<2x9xf32>, tensor<7x3xi64>) -> tensor<2x7x3xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0, 2>} : (tensor<2x7x3xf32>) -> tensor<7x2x3xf32>
  %2 = graph.matmul %x, %1 : (tensor<5x2xf32>, tensor<7x2x3xf32>) -> tensor<7x5x3xf32>
  return %2 : tensor<7x5x3xf32>
}
