// RUN: tenon-opt %s --hoist-slices --split-input-file | FileCheck %s

// Of a last layer only the row that the classifier reads is computed.

// CHECK-LABEL: @last_layer
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x9x4xf32, #graph.dims<B, 9, 4>>, %[[Z:[a-z0-9]+]]: tensor
// CHECK:     %[[XS:.*]] = graph.slice %[[X]] {starts = #graph.dims<0, 0, 0>, steps = #graph.dims<1, 1, 1>} : ({{.*}}) -> tensor<?x1x4xf32, #graph.dims<B, 1, 4>>
// CHECK:     %[[M:.*]] = graph.matmul %[[XS]], %{{.*}}
// CHECK:     %[[BIAS:.*]] = graph.add %[[M]], %{{.*}} : (tensor<?x1x8xf32, #graph.dims<B, 1, 8>>, tensor<8xf32>)
// CHECK:     %[[ZS:.*]] = graph.slice %[[Z]]
// CHECK:     %[[SUM:.*]] = graph.add %[[BIAS]], %[[ZS]]
// CHECK:     %[[N:.*]] = graph.layer_norm %[[SUM]]
// CHECK:     %[[Y:.*]] = graph.reshape %[[N]]
// CHECK:     return %[[Y]]
func.func @last_layer(%x: tensor<?x9x4xf32, #graph.dims<B, 9, 4>>, %z: tensor<?x9x8xf32, #graph.dims<B, 9, 8>>, %w: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32, #graph.dims<B, 8>> {
  %zero = graph.constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %0 = graph.matmul %x, %w : (tensor<?x9x4xf32, #graph.dims<B, 9, 4>>, tensor<4x8xf32>) -> tensor<?x9x8xf32, #graph.dims<B, 9, 8>>
  %1 = graph.add %0, %b : (tensor<?x9x8xf32, #graph.dims<B, 9, 8>>, tensor<8xf32>) -> tensor<?x9x8xf32, #graph.dims<B, 9, 8>>
  %2 = graph.add %1, %z : (tensor<?x9x8xf32, #graph.dims<B, 9, 8>>, tensor<?x9x8xf32, #graph.dims<B, 9, 8>>) -> tensor<?x9x8xf32, #graph.dims<B, 9, 8>>
  %3 = graph.layer_norm %2 {axis = 2 : i64, epsilon = 1.0e-05 : f64} : (tensor<?x9x8xf32, #graph.dims<B, 9, 8>>) -> tensor<?x9x8xf32, #graph.dims<B, 9, 8>>
  %4 = graph.gather %3, %zero {axis = 1 : i64} : (tensor<?x9x8xf32, #graph.dims<B, 9, 8>>, tensor<i64>) -> tensor<?x8xf32, #graph.dims<B, 8>>
  return %4 : tensor<?x8xf32, #graph.dims<B, 8>>
}

// -----

// Two readers of the same rows are one.

// CHECK-LABEL: @residual
// CHECK:      %[[S:.*]] = graph.slice
// CHECK-NEXT: %[[T:.*]] = graph.tanh %[[S]]
// CHECK-NEXT: %[[E:.*]] = graph.exp %[[T]]
// CHECK-NEXT: %[[Y:.*]] = graph.add %[[E]], %[[T]]
// CHECK-NEXT: return %[[Y]]
func.func @residual(%x: tensor<9x8xf32>) -> tensor<1x8xf32> {
  %0 = graph.tanh %x : (tensor<9x8xf32>) -> tensor<9x8xf32>
  %1 = graph.exp %0 : (tensor<9x8xf32>) -> tensor<9x8xf32>
  %2 = graph.add %1, %0 : (tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
  %3 = graph.slice %2 {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<9x8xf32>) -> tensor<1x8xf32>
  return %3 : tensor<1x8xf32>
}

// -----

// A size that is read behind the producer is not known there: it is cut where
// the slice stands.

// CHECK-LABEL: @read_behind
// CHECK-NEXT: graph.bind
// CHECK-NEXT: %[[S:.*]] = graph.slice %{{.*}} {starts = #graph.dims<0>, steps = #graph.dims<1>} : (tensor<?xf32, #graph.dims<S>>) -> tensor<?xf32, #graph.dims<min(S, n)>>
// CHECK-NEXT: %[[E:.*]] = graph.exp %[[S]]
// CHECK-NEXT: return %[[E]]
func.func @read_behind(%x: tensor<?xf32, #graph.dims<S>>, %n: tensor<1xi64>) -> tensor<?xf32, #graph.dims<min(S, n)>> {
  %0 = graph.exp %x : (tensor<?xf32, #graph.dims<S>>) -> tensor<?xf32, #graph.dims<S>>
  graph.bind %n {symbols = ["n"], lo = array<i64: 0>, hi = array<i64: 99>} : (tensor<1xi64>) -> ()
  %1 = graph.slice %0 {starts = #graph.dims<0>, steps = #graph.dims<1>} : (tensor<?xf32, #graph.dims<S>>) -> tensor<?xf32, #graph.dims<min(S, n)>>
  return %1 : tensor<?xf32, #graph.dims<min(S, n)>>
}

// -----

// A transpose is cut along the axis that it moves.

// CHECK-LABEL: @transpose
// CHECK:      %[[S:.*]] = graph.slice %{{.*}} {starts = #graph.dims<0, 1>, steps = #graph.dims<1, 2>} : (tensor<3x9xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: graph.transpose %[[S]]
func.func @transpose(%x: tensor<3x9xf32>) -> tensor<4x3xf32> {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<3x9xf32>) -> tensor<9x3xf32>
  %1 = graph.slice %0 {starts = #graph.dims<1, 0>, steps = #graph.dims<2, 1>} : (tensor<9x3xf32>) -> tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}

// -----

// Everything of a row is needed to normalise it, columns of a product share
// its operand, and a value with another reader is there anyway.

// CHECK-LABEL: @stays
// CHECK:      %[[N:.*]] = graph.layer_norm
// CHECK-NEXT: graph.slice %[[N]]
// CHECK-NEXT: %[[M:.*]] = graph.matmul
// CHECK-NEXT: graph.slice %[[M]]
// CHECK-NEXT: %[[T:.*]] = graph.tanh
// CHECK-NEXT: graph.slice %[[T]]
func.func @stays(%x: tensor<9x8xf32>, %w: tensor<8x8xf32>) -> (tensor<9x4xf32>, tensor<9x4xf32>, tensor<1x8xf32>, tensor<9x8xf32>) {
  %0 = graph.layer_norm %x {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<9x8xf32>) -> tensor<9x8xf32>
  %1 = graph.slice %0 {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<9x8xf32>) -> tensor<9x4xf32>
  %2 = graph.matmul %x, %w : (tensor<9x8xf32>, tensor<8x8xf32>) -> tensor<9x8xf32>
  %3 = graph.slice %2 {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<9x8xf32>) -> tensor<9x4xf32>
  %4 = graph.tanh %x : (tensor<9x8xf32>) -> tensor<9x8xf32>
  %5 = graph.slice %4 {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<9x8xf32>) -> tensor<1x8xf32>
  return %1, %3, %5, %4 : tensor<9x4xf32>, tensor<9x4xf32>, tensor<1x8xf32>, tensor<9x8xf32>
}

// -----

// An index that may be out of range is a fault that the gather reports.

// CHECK-LABEL: @unknown_size
// CHECK: graph.gather
func.func @unknown_size(%x: tensor<?x8xf32, #graph.dims<S, 8>>) -> tensor<8xf32> {
  %zero = graph.constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %0 = graph.gather %x, %zero {axis = 0 : i64} : (tensor<?x8xf32, #graph.dims<S, 8>>, tensor<i64>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// One row of attention needs all keys and values, one of a softmax of columns
// all rows.

// CHECK-LABEL: @needs_all
// CHECK:      %[[A:.*]] = graph.attention
// CHECK-NEXT: graph.slice %[[A]]
// CHECK:      %[[P:.*]] = graph.softmax
// CHECK-NEXT: graph.slice %[[P]]
func.func @needs_all(%x: tensor<1x2x9x8xf32>, %z: tensor<9x8xf32>) -> (tensor<1x2x1x8xf32>, tensor<1x8xf32>) {
  %0 = graph.attention %x, %x, %x {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 1.0 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>) -> tensor<1x2x9x8xf32>
  %1 = graph.slice %0 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x2x9x8xf32>) -> tensor<1x2x1x8xf32>
  %2 = graph.softmax %z {axis = 0 : i64} : (tensor<9x8xf32>) -> tensor<9x8xf32>
  %3 = graph.slice %2 {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<9x8xf32>) -> tensor<1x8xf32>
  return %1, %3 : tensor<1x2x1x8xf32>, tensor<1x8xf32>
}

// -----

// A causal convolution whose border is on both sides, of a length that is not
// known; one of an image, in front and behind.

// CHECK-LABEL: @causal
// CHECK-NOT:   graph.slice
// CHECK:       graph.conv {{.*}} pads = #graph.dims<4, 0>{{.*}} -> tensor<1x4x?xf32, #graph.dims<1, 4, L>>
// CHECK:       graph.tanh
// CHECK:       graph.conv {{.*}} pads = #graph.dims<1, 2, 2, 0>{{.*}} -> tensor<1x9x6x4xf32>
// CHECK-NOT:   graph.slice
func.func @causal(%x: tensor<1x3x?xf32, #graph.dims<1, 3, L>>, %w: tensor<4x3x3xf32>,
                  %y: tensor<1x8x6x3xf32>, %v: tensor<4x3x3x3xf32>)
    -> (tensor<1x4x?xf32, #graph.dims<1, 4, L>>, tensor<1x9x6x4xf32>) {
  %0 = graph.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 2>, pads = #graph.dims<4, 4>, group = 1 : i64}
      : (tensor<1x3x?xf32, #graph.dims<1, 3, L>>, tensor<4x3x3xf32>) -> tensor<1x4x?xf32, #graph.dims<1, 4, L + 4>>
  %1 = graph.tanh %0 : (tensor<1x4x?xf32, #graph.dims<1, 4, L + 4>>) -> tensor<1x4x?xf32, #graph.dims<1, 4, L + 4>>
  %2 = graph.slice %1 {starts = #graph.dims<0, 0, 0>, steps = #graph.dims<1, 1, 1>}
      : (tensor<1x4x?xf32, #graph.dims<1, 4, L + 4>>) -> tensor<1x4x?xf32, #graph.dims<1, 4, L>>
  %3 = graph.conv %y, %v {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<2, 2, 2, 2>, group = 1 : i64}
      : (tensor<1x8x6x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x10x8x4xf32>
  %4 = graph.slice %3 {starts = #graph.dims<0, 1, 0, 0>, steps = #graph.dims<1, 1, 1, 1>}
      : (tensor<1x10x8x4xf32>) -> tensor<1x9x6x4xf32>
  return %2, %4 : tensor<1x4x?xf32, #graph.dims<1, 4, L>>, tensor<1x9x6x4xf32>
}

// -----

// More than a border, every second place, maps, and convolutions with a stride
// or another reader are cut behind.

// CHECK-LABEL: @convolutions
// CHECK-COUNT-5: graph.slice
func.func @convolutions(%x: tensor<1x9x3xf32>, %w: tensor<4x3x3xf32>)
    -> (tensor<1x6x4xf32>, tensor<1x5x4xf32>, tensor<1x9x2xf32>, tensor<1x4x4xf32>, tensor<1x8x4xf32>, tensor<1x9x4xf32>) {
  %0 = graph.conv %x, %w {channels_last, strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<1, 1>, group = 1 : i64}
      : (tensor<1x9x3xf32>, tensor<4x3x3xf32>) -> tensor<1x9x4xf32>
  %1 = graph.slice %0 {starts = #graph.dims<0, 0, 0>, steps = #graph.dims<1, 1, 1>} : (tensor<1x9x4xf32>) -> tensor<1x6x4xf32>
  %2 = graph.conv %x, %w {channels_last, strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<1, 1>, group = 1 : i64}
      : (tensor<1x9x3xf32>, tensor<4x3x3xf32>) -> tensor<1x9x4xf32>
  %3 = graph.slice %2 {starts = #graph.dims<0, 0, 0>, steps = #graph.dims<1, 2, 1>} : (tensor<1x9x4xf32>) -> tensor<1x5x4xf32>
  %4 = graph.conv %x, %w {channels_last, strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<1, 1>, group = 1 : i64}
      : (tensor<1x9x3xf32>, tensor<4x3x3xf32>) -> tensor<1x9x4xf32>
  %5 = graph.slice %4 {starts = #graph.dims<0, 0, 1>, steps = #graph.dims<1, 1, 1>} : (tensor<1x9x4xf32>) -> tensor<1x9x2xf32>
  %6 = graph.conv %x, %w {channels_last, strides = array<i64: 2>, dilations = array<i64: 1>, pads = #graph.dims<1, 1>, group = 1 : i64}
      : (tensor<1x9x3xf32>, tensor<4x3x3xf32>) -> tensor<1x5x4xf32>
  %7 = graph.slice %6 {starts = #graph.dims<0, 0, 0>, steps = #graph.dims<1, 1, 1>} : (tensor<1x5x4xf32>) -> tensor<1x4x4xf32>
  %8 = graph.conv %x, %w {channels_last, strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<1, 1>, group = 1 : i64}
      : (tensor<1x9x3xf32>, tensor<4x3x3xf32>) -> tensor<1x9x4xf32>
  %9 = graph.slice %8 {starts = #graph.dims<0, 0, 0>, steps = #graph.dims<1, 1, 1>} : (tensor<1x9x4xf32>) -> tensor<1x8x4xf32>
  return %1, %3, %5, %7, %9, %8 : tensor<1x6x4xf32>, tensor<1x5x4xf32>, tensor<1x9x2xf32>, tensor<1x4x4xf32>, tensor<1x8x4xf32>, tensor<1x9x4xf32>
}
