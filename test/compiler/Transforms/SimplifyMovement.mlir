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

// -----

// Rows by one index each are gathered along the first axis; elements by two, or
// in batches, are not.

// CHECK-LABEL: @one_index
// CHECK-NEXT: %[[I:.*]] = graph.reshape %{{.*}} : (tensor<3x1xi64>) -> tensor<3xi64>
// CHECK-NEXT: %[[A:.*]] = graph.gather %{{.*}}, %[[I]] {axis = 0 : i64} : (tensor<5x4x2xf32>, tensor<3xi64>) -> tensor<3x4x2xf32>
// CHECK-NEXT: %[[B:.*]] = graph.gather_nd
// CHECK-NEXT: %[[C:.*]] = graph.gather_nd
// CHECK-NEXT: return %[[A]], %[[B]], %[[C]]
func.func @one_index(%x: tensor<5x4x2xf32>, %i: tensor<3x1xi64>, %j: tensor<3x2xi64>, %k: tensor<5x1xi64>)
    -> (tensor<3x4x2xf32>, tensor<3x2xf32>, tensor<5x2xf32>) {
  %0 = graph.gather_nd %x, %i {batch_dims = 0 : i64} : (tensor<5x4x2xf32>, tensor<3x1xi64>) -> tensor<3x4x2xf32>
  %1 = graph.gather_nd %x, %j {batch_dims = 0 : i64} : (tensor<5x4x2xf32>, tensor<3x2xi64>) -> tensor<3x2xf32>
  %2 = graph.gather_nd %x, %k {batch_dims = 1 : i64} : (tensor<5x4x2xf32>, tensor<5x1xi64>) -> tensor<5x2xf32>
  return %0, %1, %2 : tensor<3x4x2xf32>, tensor<3x2xf32>, tensor<5x2xf32>
}

// -----

// Weights that are chosen for columns are on the right of rows.

// CHECK-LABEL: @chosen
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<3x8x1xf32>, %[[I:[a-z0-9]+]]: tensor<3xi64>
// CHECK-DAG:  %[[W:.*]] = graph.weight
// CHECK-DAG:  %[[R:.*]] = graph.reshape %[[X]] : (tensor<3x8x1xf32>) -> tensor<3x1x8xf32>
// CHECK:      %[[T:.*]] = graph.transpose %[[W]] {permutation = array<i64: 0, 2, 1>} : (tensor<5x4x8xf32>) -> tensor<5x8x4xf32>
// CHECK-NEXT: %[[P:.*]] = graph.gather %[[T]], %[[I]] {axis = 0 : i64} : (tensor<5x8x4xf32>, tensor<3xi64>) -> tensor<3x8x4xf32>
// CHECK-NEXT: %[[Y:.*]] = graph.matmul %[[R]], %[[P]] : (tensor<3x1x8xf32>, tensor<3x8x4xf32>) -> tensor<3x1x4xf32>
// CHECK-NEXT: graph.reshape %[[Y]] : (tensor<3x1x4xf32>) -> tensor<3x4x1xf32>
func.func @chosen(%x: tensor<3x8x1xf32>, %i: tensor<3xi64>) -> tensor<3x4x1xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<5x4x8xf32>
  %0 = graph.gather %w, %i {axis = 0 : i64} : (tensor<5x4x8xf32>, tensor<3xi64>) -> tensor<3x4x8xf32>
  %1 = graph.matmul %0, %x : (tensor<3x4x8xf32>, tensor<3x8x1xf32>) -> tensor<3x4x1xf32>
  return %1 : tensor<3x4x1xf32>
}

// -----

// Not for several columns, nor what is no weight, nor what others read.

// CHECK-LABEL: @not_chosen
// CHECK-NOT: graph.transpose
// CHECK-NOT: graph.reshape
// CHECK: return
func.func @not_chosen(%x: tensor<3x8x2xf32>, %z: tensor<3x8x1xf32>, %v: tensor<5x4x8xf32>, %i: tensor<3xi64>)
    -> (tensor<3x4x2xf32>, tensor<3x4x1xf32>, tensor<3x4x1xf32>, tensor<3x4x8xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<5x4x8xf32>
  %0 = graph.gather %w, %i {axis = 0 : i64} : (tensor<5x4x8xf32>, tensor<3xi64>) -> tensor<3x4x8xf32>
  %1 = graph.matmul %0, %x : (tensor<3x4x8xf32>, tensor<3x8x2xf32>) -> tensor<3x4x2xf32>
  %2 = graph.gather %v, %i {axis = 0 : i64} : (tensor<5x4x8xf32>, tensor<3xi64>) -> tensor<3x4x8xf32>
  %3 = graph.matmul %2, %z : (tensor<3x4x8xf32>, tensor<3x8x1xf32>) -> tensor<3x4x1xf32>
  %4 = graph.abs %w : (tensor<5x4x8xf32>) -> tensor<5x4x8xf32>
  %5 = graph.gather %4, %i {axis = 0 : i64} : (tensor<5x4x8xf32>, tensor<3xi64>) -> tensor<3x4x8xf32>
  %6 = graph.matmul %5, %z : (tensor<3x4x8xf32>, tensor<3x8x1xf32>) -> tensor<3x4x1xf32>
  return %1, %3, %6, %5 : tensor<3x4x2xf32>, tensor<3x4x1xf32>, tensor<3x4x1xf32>, tensor<3x4x8xf32>
}

// -----

// Halves that are joined again, where one goes on from the other, are one slice
// or all there is.

// CHECK-LABEL: @joined_slices
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x8x4xf32, #graph.dims<B, 8, 4>>, %[[Y:[a-z0-9]+]]:
// CHECK-NEXT:  %[[A:.*]] = graph.concat %[[X]], %[[Y]] {axis = 1 : i64}
// CHECK-NEXT:  %[[S:.*]] = graph.slice %[[X]] {starts = #graph.dims<0, 2, 0>, steps = #graph.dims<1, 1, 1>} : {{.*}} -> tensor<?x6x4xf32, #graph.dims<B, 6, 4>>
// CHECK-NEXT:  %[[B:.*]] = graph.concat %[[Y]], %[[S]] {axis = 1 : i64}
// CHECK-NEXT:  return %[[A]], %[[B]]
func.func @joined_slices(%x: tensor<?x8x4xf32, #graph.dims<B, 8, 4>>, %y: tensor<?x1x4xf32, #graph.dims<B, 1, 4>>)
    -> (tensor<?x9x4xf32, #graph.dims<B, 9, 4>>, tensor<?x7x4xf32, #graph.dims<B, 7, 4>>) {
  %0 = graph.slice %x {starts = #graph.dims<0, 0, 0>, steps = #graph.dims<1, 1, 1>} : (tensor<?x8x4xf32, #graph.dims<B, 8, 4>>) -> tensor<?x2x4xf32, #graph.dims<B, 2, 4>>
  %1 = graph.slice %x {starts = #graph.dims<0, 2, 0>, steps = #graph.dims<1, 1, 1>} : (tensor<?x8x4xf32, #graph.dims<B, 8, 4>>) -> tensor<?x3x4xf32, #graph.dims<B, 3, 4>>
  %2 = graph.slice %x {starts = #graph.dims<0, 5, 0>, steps = #graph.dims<1, 1, 1>} : (tensor<?x8x4xf32, #graph.dims<B, 8, 4>>) -> tensor<?x3x4xf32, #graph.dims<B, 3, 4>>
  %3 = graph.concat %0, %1, %2, %y {axis = 1 : i64} : (tensor<?x2x4xf32, #graph.dims<B, 2, 4>>, tensor<?x3x4xf32, #graph.dims<B, 3, 4>>, tensor<?x3x4xf32, #graph.dims<B, 3, 4>>, tensor<?x1x4xf32, #graph.dims<B, 1, 4>>) -> tensor<?x9x4xf32, #graph.dims<B, 9, 4>>
  %4 = graph.concat %y, %1, %2 {axis = 1 : i64} : (tensor<?x1x4xf32, #graph.dims<B, 1, 4>>, tensor<?x3x4xf32, #graph.dims<B, 3, 4>>, tensor<?x3x4xf32, #graph.dims<B, 3, 4>>) -> tensor<?x7x4xf32, #graph.dims<B, 7, 4>>
  return %3, %4 : tensor<?x9x4xf32, #graph.dims<B, 9, 4>>, tensor<?x7x4xf32, #graph.dims<B, 7, 4>>
}

// -----

// Not in another order, nor of other rows, along another axis, of every second
// element, or of two tensors.

// CHECK-LABEL: @other_slices
// CHECK-COUNT-5: graph.concat %{{[0-9]+}}, %{{[0-9]+}}
func.func @other_slices(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>)
    -> (tensor<4x8xf32>, tensor<2x8xf32>, tensor<8x4xf32>, tensor<4x4xf32>, tensor<4x8xf32>) {
  %0 = graph.slice %x {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %1 = graph.slice %x {starts = #graph.dims<0, 4>, steps = #graph.dims<1, 1>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %2 = graph.concat %1, %0 {axis = 1 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  %3 = graph.slice %x {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<4x8xf32>) -> tensor<2x4xf32>
  %4 = graph.slice %x {starts = #graph.dims<1, 4>, steps = #graph.dims<1, 1>} : (tensor<4x8xf32>) -> tensor<2x4xf32>
  %5 = graph.concat %3, %4 {axis = 1 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  %6 = graph.concat %0, %1 {axis = 0 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %7 = graph.slice %x {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 2>} : (tensor<4x8xf32>) -> tensor<4x2xf32>
  %8 = graph.slice %x {starts = #graph.dims<0, 2>, steps = #graph.dims<1, 2>} : (tensor<4x8xf32>) -> tensor<4x2xf32>
  %9 = graph.concat %7, %8 {axis = 1 : i64} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  %10 = graph.slice %y {starts = #graph.dims<0, 4>, steps = #graph.dims<1, 1>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %11 = graph.concat %0, %10 {axis = 1 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  return %2, %5, %6, %9, %11 : tensor<4x8xf32>, tensor<2x8xf32>, tensor<8x4xf32>, tensor<4x4xf32>, tensor<4x8xf32>
}
