// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --pad-recurrent-units --split-input-file | FileCheck %s

// Units of each gate are padded, and states of the recurrence; what a run gives
// is padded by the run. Results that are read are cut.

// CHECK-LABEL: @lstm
func.func @lstm(%x: tensor<?x?x3xf32, #graph.dims<s, b, 3>>, %h0: tensor<2x?x5xf32, #graph.dims<2, b, 5>>) -> (tensor<?x2x?x5xf32, #graph.dims<s, 2, b, 5>>, tensor<2x?x5xf32, #graph.dims<2, b, 5>>) {
  // CHECK: graph.pad %{{.*}} : (tensor<2x4x5x3xf32>, tensor<f32>) -> tensor<2x4x16x3xf32>
  // CHECK: %[[W:.*]] = graph.reshape {{.*}} -> tensor<2x64x3xf32>
  // CHECK: graph.pad %{{.*}} : (tensor<2x4x5x5xf32>, tensor<f32>) -> tensor<2x4x16x5xf32>
  // CHECK: %[[R:.*]] = graph.pad %{{.*}} : (tensor<2x64x5xf32>, tensor<f32>) -> tensor<2x64x16xf32>
  // CHECK: graph.pad %{{.*}} : (tensor<2x8x5xf32>, tensor<f32>) -> tensor<2x8x16xf32>
  // CHECK: %[[B:.*]] = graph.reshape {{.*}} -> tensor<2x128xf32>
  // CHECK: %[[H:.*]] = graph.pad %arg1
  // CHECK: %[[ALL:.*]], %[[LAST:.*]], %{{.*}} = graph.recurrent %arg0, %[[W]], %[[R]], %[[B]], %[[H]]
  // CHECK: %[[A:.*]] = graph.slice %[[ALL]] {{.*}} -> tensor<?x2x?x5xf32, #graph.dims<s, 2, b, 5>>
  // CHECK: %[[L:.*]] = graph.slice %[[LAST]] {{.*}} -> tensor<2x?x5xf32, #graph.dims<2, b, 5>>
  // CHECK-NOT: graph.slice
  // CHECK: return %[[A]], %[[L]]
  %w = graph.weight {name = "w"} : () -> tensor<2x20x3xf32>
  %r = graph.weight {name = "r"} : () -> tensor<2x20x5xf32>
  %b = graph.weight {name = "b"} : () -> tensor<2x40xf32>
  %all, %h, %c = graph.recurrent %x, %w, %r, %b, %h0 {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1, 0, 0>, cell = #graph<cell_kind lstm>, direction = "bidirectional", activations = ["Sigmoid", "Tanh", "Tanh", "Sigmoid", "Tanh", "Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<?x?x3xf32, #graph.dims<s, b, 3>>, tensor<2x20x3xf32>, tensor<2x20x5xf32>, tensor<2x40xf32>, tensor<2x?x5xf32, #graph.dims<2, b, 5>>) -> (tensor<?x2x?x5xf32, #graph.dims<s, 2, b, 5>>, tensor<2x?x5xf32, #graph.dims<2, b, 5>>, tensor<2x?x5xf32, #graph.dims<2, b, 5>>)
  return %all, %h : tensor<?x2x?x5xf32, #graph.dims<s, 2, b, 5>>, tensor<2x?x5xf32, #graph.dims<2, b, 5>>
}

// -----

// Peepholes have units as well.

// CHECK-LABEL: @peepholes
func.func @peepholes(%x: tensor<7x2x3xf32>) -> tensor<1x2x5xf32> {
  // CHECK: graph.pad %{{.*}} : (tensor<1x3x5xf32>, tensor<f32>) -> tensor<1x3x16xf32>
  // CHECK: %[[P:.*]] = graph.reshape {{.*}} -> tensor<1x48xf32>
  // CHECK: graph.recurrent %arg0, %{{.*}}, %{{.*}}, %[[P]]
  %w = graph.weight {name = "w"} : () -> tensor<1x20x3xf32>
  %r = graph.weight {name = "r"} : () -> tensor<1x20x5xf32>
  %p = graph.weight {name = "p"} : () -> tensor<1x15xf32>
  %all, %h, %c = graph.recurrent %x, %w, %r, %p {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1>, cell = #graph<cell_kind lstm>, direction = "forward", activations = ["Sigmoid", "Tanh", "Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x3xf32>, tensor<1x20x3xf32>, tensor<1x20x5xf32>, tensor<1x15xf32>) -> (tensor<7x1x2x5xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>)
  return %c : tensor<1x2x5xf32>
}

// -----

// Must not fire: whole vectors of units.

// CHECK-LABEL: @whole
// CHECK-NOT: graph.pad
func.func @whole(%x: tensor<7x2x3xf32>) -> tensor<1x2x16xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<1x16x3xf32>
  %r = graph.weight {name = "r"} : () -> tensor<1x16x16xf32>
  %all, %h, %c = graph.recurrent %x, %w, %r {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind rnn>, direction = "forward", activations = ["Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x3xf32>, tensor<1x16x3xf32>, tensor<1x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  return %h : tensor<1x2x16xf32>
}

// -----

// So few units that they are computed sooner one by one.

// CHECK-LABEL: @few
// CHECK-NOT: graph.pad
func.func @few(%x: tensor<7x2x3xf32>) -> tensor<1x2x4xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<1x4x3xf32>
  %r = graph.weight {name = "r"} : () -> tensor<1x4x4xf32>
  %all, %h, %c = graph.recurrent %x, %w, %r {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind rnn>, direction = "forward", activations = ["Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x3xf32>, tensor<1x4x3xf32>, tensor<1x4x4xf32>) -> (tensor<7x1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return %h : tensor<1x2x4xf32>
}

// -----

// Activations that make of zero what may grow without bound, weights that a run
// gives, and doubles, which have no vectors of units.

// CHECK-LABEL: @others
// CHECK-NOT: graph.pad
func.func @others(%x: tensor<7x2x3xf32>, %v: tensor<1x5x5xf32>, %y: tensor<7x2x3xf64>) -> (tensor<1x2x5xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf64>) {
  %w = graph.weight {name = "w"} : () -> tensor<1x5x3xf32>
  %r = graph.weight {name = "r"} : () -> tensor<1x5x5xf32>
  %all, %h, %c = graph.recurrent %x, %w, %r {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind rnn>, direction = "forward", activations = ["Softplus"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x3xf32>, tensor<1x5x3xf32>, tensor<1x5x5xf32>) -> (tensor<7x1x2x5xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>)
  %all1, %h1, %c1 = graph.recurrent %x, %w, %v {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind rnn>, direction = "forward", activations = ["Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x3xf32>, tensor<1x5x3xf32>, tensor<1x5x5xf32>) -> (tensor<7x1x2x5xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>)
  %w2 = graph.weight {name = "w2"} : () -> tensor<1x5x3xf64>
  %r2 = graph.weight {name = "r2"} : () -> tensor<1x5x5xf64>
  %all2, %h2, %c2 = graph.recurrent %y, %w2, %r2 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind rnn>, direction = "forward", activations = ["Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x3xf64>, tensor<1x5x3xf64>, tensor<1x5x5xf64>) -> (tensor<7x1x2x5xf64>, tensor<1x2x5xf64>, tensor<1x2x5xf64>)
  return %h, %h1, %h2 : tensor<1x2x5xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf64>
}
