// RUN: tenon-opt %s --recognise-row-indices=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// torch.gather of rows: x.gather(1, i[..., None].expand(-1, -1, 4)).

// CHECK-LABEL: @rows_of_batches
// CHECK-SAME:  (%[[X:.*]]: tensor<2x8x4xf32>, %[[I:.*]]: tensor<2x3x1xi64>)
// CHECK-NEXT:  %[[Y:.*]] = graph.gather_nd %[[X]], %[[I]] {batch_dims = 1 : i64}
// CHECK-NEXT:  return %[[Y]]
func.func @rows_of_batches(%x: tensor<2x8x4xf32>, %i: tensor<2x3x1xi64>) -> tensor<2x3x4xf32> {
  %0 = graph.broadcast %i : (tensor<2x3x1xi64>) -> tensor<2x3x4xi64>
  %1 = graph.gather_elements %x, %0 {axis = 1 : i64} : (tensor<2x8x4xf32>, tensor<2x3x4xi64>) -> tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}

// -----

// The same rows of each batch.

// CHECK-LABEL: @same_rows
// CHECK:       %[[F:.*]] = graph.reshape %{{.*}} -> tensor<?xi32, #graph.dims<n>>
// CHECK-NEXT:  graph.gather %{{.*}}, %[[F]] {axis = 1 : i64}
func.func @same_rows(%x: tensor<2x8x?xf32, #graph.dims<2, 8, c>>, %i: tensor<?x1xi32, #graph.dims<n, 1>>) -> tensor<2x?x?xf32, #graph.dims<2, n, c>> {
  %0 = graph.broadcast %i : (tensor<?x1xi32, #graph.dims<n, 1>>) -> tensor<2x?x?xi32, #graph.dims<2, n, c>>
  %1 = graph.gather_elements %x, %0 {axis = 1 : i64} : (tensor<2x8x?xf32, #graph.dims<2, 8, c>>, tensor<2x?x?xi32, #graph.dims<2, n, c>>) -> tensor<2x?x?xf32, #graph.dims<2, n, c>>
  return %1 : tensor<2x?x?xf32, #graph.dims<2, n, c>>
}

// -----

// Levels of a pyramid put where their regions are (torchvision).

// CHECK-LABEL: @scattered_rows
// CHECK:       %[[V:.*]] = graph.reshape %{{.*}} -> tensor<?x1xi64, #graph.dims<n, 1>>
// CHECK-NEXT:  graph.scatter_nd %{{.*}}, %[[V]], %{{.*}} {kind = #graph<scatter_kind add>}
func.func @scattered_rows(%x: tensor<9x4x7xf32>, %i: tensor<?x1x1xi64, #graph.dims<n, 1, 1>>, %u: tensor<?x4x7xf32, #graph.dims<n, 4, 7>>) -> tensor<9x4x7xf32> {
  %0 = graph.broadcast %i : (tensor<?x1x1xi64, #graph.dims<n, 1, 1>>) -> tensor<?x4x7xi64, #graph.dims<n, 4, 7>>
  %1 = graph.scatter_elements %x, %0, %u {axis = 0 : i64, kind = #graph<scatter_kind add>} : (tensor<9x4x7xf32>, tensor<?x4x7xi64, #graph.dims<n, 4, 7>>, tensor<?x4x7xf32, #graph.dims<n, 4, 7>>) -> tensor<9x4x7xf32>
  return %1 : tensor<9x4x7xf32>
}

// -----

// CHECK-LABEL: @differ_along_a_row
// CHECK:       graph.gather_elements
func.func @differ_along_a_row(%x: tensor<8x4x5xf32>, %i: tensor<3x4x1xi64>) -> tensor<3x4x5xf32> {
  %0 = graph.broadcast %i : (tensor<3x4x1xi64>) -> tensor<3x4x5xi64>
  // expected-remark @below {{does not move rows: its indices differ along a row}}
  %1 = graph.gather_elements %x, %0 {axis = 0 : i64} : (tensor<8x4x5xf32>, tensor<3x4x5xi64>) -> tensor<3x4x5xf32>
  return %1 : tensor<3x4x5xf32>
}

// -----

// CHECK-LABEL: @parts_of_rows
// CHECK:       graph.scatter_elements
func.func @parts_of_rows(%x: tensor<8x4xf32>, %i: tensor<3x1xi64>, %u: tensor<3x3xf32>) -> tensor<8x4xf32> {
  %0 = graph.broadcast %i : (tensor<3x1xi64>) -> tensor<3x3xi64>
  // expected-remark @below {{does not move rows: it moves parts of rows}}
  %1 = graph.scatter_elements %x, %0, %u {axis = 0 : i64, kind = #graph<scatter_kind assign>} : (tensor<8x4xf32>, tensor<3x3xi64>, tensor<3x3xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

// CHECK-LABEL: @some_batches
// CHECK:       graph.gather_elements
func.func @some_batches(%x: tensor<3x8x4xf32>, %i: tensor<2x3x1xi64>) -> tensor<2x3x4xf32> {
  %0 = graph.broadcast %i : (tensor<2x3x1xi64>) -> tensor<2x3x4xi64>
  // expected-remark @below {{does not move rows: it leaves out some of what lies in front of its axis}}
  %1 = graph.gather_elements %x, %0 {axis = 1 : i64} : (tensor<3x8x4xf32>, tensor<2x3x4xi64>) -> tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}

// -----

// CHECK-LABEL: @along_the_last_axis
// CHECK:       graph.gather_elements
func.func @along_the_last_axis(%x: tensor<2x8xf32>, %i: tensor<1x3xi64>) -> tensor<2x3xf32> {
  %0 = graph.broadcast %i : (tensor<1x3xi64>) -> tensor<2x3xi64>
  // expected-remark @below {{does not move rows: its rows are single elements}}
  %1 = graph.gather_elements %x, %0 {axis = 1 : i64} : (tensor<2x8xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: @one_row_to_many_places
// CHECK:       graph.gather_elements
func.func @one_row_to_many_places(%x: tensor<8x4xf32>, %i: tensor<1x1xi64>) -> tensor<3x4xf32> {
  %0 = graph.broadcast %i : (tensor<1x1xi64>) -> tensor<3x4xi64>
  // expected-remark @below {{does not move rows: it moves one row to many places}}
  %1 = graph.gather_elements %x, %0 {axis = 0 : i64} : (tensor<8x4xf32>, tensor<3x4xi64>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: @same_along_one_of_two
// CHECK:       graph.gather_elements
func.func @same_along_one_of_two(%x: tensor<2x3x8x4xf32>, %i: tensor<2x1x5x1xi64>) -> tensor<2x3x5x4xf32> {
  %0 = graph.broadcast %i : (tensor<2x1x5x1xi64>) -> tensor<2x3x5x4xi64>
  // expected-remark @below {{does not move rows: its indices are the same along one axis in front, and not along another}}
  %1 = graph.gather_elements %x, %0 {axis = 2 : i64} : (tensor<2x3x8x4xf32>, tensor<2x3x5x4xi64>) -> tensor<2x3x5x4xf32>
  return %1 : tensor<2x3x5x4xf32>
}

// -----

// CHECK-LABEL: @computed_indices
// CHECK:       graph.scatter_elements
// CHECK:       graph.scatter_elements
func.func @computed_indices(%x: tensor<8x4xf32>, %i: tensor<3x4xi64>, %u: tensor<3x4xf32>) -> tensor<8x4xf32> {
  // expected-remark @below {{does not move rows: its indices are not expanded}}
  %0 = graph.scatter_elements %x, %i, %u {axis = 0 : i64, kind = #graph<scatter_kind assign>} : (tensor<8x4xf32>, tensor<3x4xi64>, tensor<3x4xf32>) -> tensor<8x4xf32>
  // expected-remark @below {{does not move rows: it is along another axis than the first}}
  %1 = graph.scatter_elements %0, %i, %u {axis = 1 : i64, kind = #graph<scatter_kind assign>} : (tensor<8x4xf32>, tensor<3x4xi64>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
