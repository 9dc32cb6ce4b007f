// RUN: tenon-opt %s --simplify --split-input-file | FileCheck %s

// Slices in a row are one.

// CHECK-LABEL: @slices
// CHECK-NEXT: graph.slice %{{.*}} {starts = #graph.dims<5, 0>, steps = #graph.dims<6, 1>} : (tensor<30x4xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: return
func.func @slices(%x: tensor<30x4xf32>) -> tensor<4x3xf32> {
  %0 = graph.slice %x {starts = #graph.dims<2, 0>, steps = #graph.dims<3, 1>} : (tensor<30x4xf32>) -> tensor<9x4xf32>
  %1 = graph.slice %0 {starts = #graph.dims<1, 0>, steps = #graph.dims<2, 1>} : (tensor<9x4xf32>) -> tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}

// -----

// A pad by nothing is none; one that crops as much as it adds moves elements.

// CHECK-LABEL: @pads
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK:      %[[P:.*]] = graph.pad %[[X]]
// CHECK-NEXT: return %[[X]], %[[P]]
func.func @pads(%x: tensor<4xf32>, %v: tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.pad %x, %v {low = #graph.dims<0>, mode = #graph<pad_mode constant>} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = graph.pad %x, %v {low = #graph.dims<1>, mode = #graph<pad_mode constant>} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
