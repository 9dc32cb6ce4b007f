// RUN: tenon-opt %s --project-recurrent-inputs --split-input-file | FileCheck %s

// Both directions of an LSTM are one product, and all its biases are added to
// it: what is left of the cell has neither.

// CHECK-LABEL: @lstm
func.func @lstm(%x: tensor<?x2x3xf32, #graph.dims<s, 2, 3>>, %r: tensor<2x20x5xf32>) -> tensor<?x2x2x5xf32, #graph.dims<s, 2, 2, 5>> {
  // CHECK: %[[W:.*]] = graph.transpose %{{.*}} {permutation = array<i64: 1, 0>} : (tensor<40x3xf32>) -> tensor<3x40xf32>
  // CHECK: %[[X:.*]] = graph.reshape %arg0 {{.*}} #graph.dims<2 * s, 3>
  // CHECK: %[[P:.*]] = graph.matmul %[[X]], %[[W]]
  // CHECK: graph.slice {{.*}}starts = #graph.dims<0, 0>
  // CHECK: graph.slice {{.*}}starts = #graph.dims<0, 20>
  // CHECK: %[[B:.*]] = graph.add
  // CHECK: %[[A:.*]] = graph.add %[[P]], %[[B]]
  // CHECK: %[[R:.*]] = graph.reshape %[[A]]
  // CHECK: graph.recurrent %[[R]], %arg1 {{.*}}operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>
  %w = graph.weight {name = "w"} : () -> tensor<2x20x3xf32>
  %b = graph.weight {name = "b"} : () -> tensor<2x40xf32>
  %all, %h, %c = graph.recurrent %x, %w, %r, %b {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, cell = #graph<cell_kind lstm>, direction = "bidirectional", activations = ["Sigmoid", "Tanh", "Tanh", "Sigmoid", "Tanh", "Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<?x2x3xf32, #graph.dims<s, 2, 3>>, tensor<2x20x3xf32>, tensor<2x20x5xf32>, tensor<2x40xf32>) -> (tensor<?x2x2x5xf32, #graph.dims<s, 2, 2, 5>>, tensor<2x2x5xf32>, tensor<2x2x5xf32>)
  return %all : tensor<?x2x2x5xf32, #graph.dims<s, 2, 2, 5>>
}

// -----

// A GRU that resets behind the product keeps the bias that it resets.

// CHECK-LABEL: @linear_before_reset
func.func @linear_before_reset(%x: tensor<7x2x3xf32>, %r: tensor<1x15x5xf32>) -> tensor<7x1x2x5xf32> {
  // CHECK: %[[P:.*]] = graph.matmul
  // CHECK: %[[A:.*]] = graph.add %[[P]]
  // CHECK: %[[R:.*]] = graph.reshape %[[A]]
  // CHECK: graph.recurrent %[[R]], %arg1, %{{.*}} {{.*}}operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0, 0, 0>
  %w = graph.weight {name = "w"} : () -> tensor<1x15x3xf32>
  %b = graph.weight {name = "b"} : () -> tensor<1x30xf32>
  %all, %h, %c = graph.recurrent %x, %w, %r, %b {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, cell = #graph<cell_kind gru>, direction = "forward", activations = ["Sigmoid", "Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = true, input_forget = false} : (tensor<7x2x3xf32>, tensor<1x15x3xf32>, tensor<1x15x5xf32>, tensor<1x30xf32>) -> (tensor<7x1x2x5xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>)
  return %all : tensor<7x1x2x5xf32>
}

// -----

// Weights that are given by the caller, and what f16 would round, stay.

// CHECK-LABEL: @given
func.func @given(%x: tensor<7x2x3xf32>, %w: tensor<1x5x3xf32>, %r: tensor<1x5x5xf32>) -> tensor<7x1x2x5xf32> {
  // CHECK-NOT: graph.matmul
  // CHECK: graph.recurrent %arg0, %arg1, %arg2
  %all, %h, %c = graph.recurrent %x, %w, %r {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind rnn>, direction = "forward", activations = ["Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x3xf32>, tensor<1x5x3xf32>, tensor<1x5x5xf32>) -> (tensor<7x1x2x5xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>)
  return %all : tensor<7x1x2x5xf32>
}

// -----

// CHECK-LABEL: @half
func.func @half(%x: tensor<7x2x3xf16>, %r: tensor<1x5x5xf16>) -> tensor<7x1x2x5xf16> {
  // CHECK-NOT: graph.matmul
  %w = graph.weight {name = "w"} : () -> tensor<1x5x3xf16>
  %all, %h, %c = graph.recurrent %x, %w, %r {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind rnn>, direction = "forward", activations = ["Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x3xf16>, tensor<1x5x3xf16>, tensor<1x5x5xf16>) -> (tensor<7x1x2x5xf16>, tensor<1x2x5xf16>, tensor<1x2x5xf16>)
  return %all : tensor<7x1x2x5xf16>
}
