// RUN: tenon-opt %s --fold-batch-norm --split-input-file | FileCheck %s

// A batch norm goes into the filter and one bias.

// CHECK-LABEL: @batch_norm
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor
// CHECK-DAG: %[[W:.*]] = graph.weight {name = "w"}
// CHECK-DAG: %[[FACTOR:.*]] = graph.weight {name = "factor"}
// CHECK:     %[[COLUMN:.*]] = graph.reshape %[[FACTOR]] : (tensor<4x1xf32>) -> tensor<4x1x1xf32>
// CHECK:     %[[FILTER:.*]] = graph.mul %[[W]], %[[COLUMN]]
// CHECK:     %[[CONV:.*]] = graph.conv %[[X]], %[[FILTER]]
// CHECK:     %[[Y:.*]] = graph.add %[[CONV]], %{{.*}} : (tensor<1x4x8xf32>, tensor<4x1xf32>)
// CHECK:     return %[[Y]]
func.func @batch_norm(%x: tensor<1x3x8xf32>) -> tensor<1x4x8xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<4x3x1xf32>
  %b = graph.weight {name = "b"} : () -> tensor<4x1xf32>
  %mean = graph.weight {name = "mean"} : () -> tensor<4x1xf32>
  %factor = graph.weight {name = "factor"} : () -> tensor<4x1xf32>
  %bias = graph.weight {name = "bias"} : () -> tensor<4x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x3x8xf32>, tensor<4x3x1xf32>) -> tensor<1x4x8xf32>
  %1 = graph.add %0, %b : (tensor<1x4x8xf32>, tensor<4x1xf32>) -> tensor<1x4x8xf32>
  %2 = graph.sub %1, %mean : (tensor<1x4x8xf32>, tensor<4x1xf32>) -> tensor<1x4x8xf32>
  %3 = graph.mul %2, %factor : (tensor<1x4x8xf32>, tensor<4x1xf32>) -> tensor<1x4x8xf32>
  %4 = graph.add %3, %bias : (tensor<1x4x8xf32>, tensor<4x1xf32>) -> tensor<1x4x8xf32>
  return %4 : tensor<1x4x8xf32>
}

// -----

// With channels last a channel's number stands last.

// CHECK-LABEL: @channels_last
// CHECK:     %[[COLUMN:.*]] = graph.reshape %{{.*}} : (tensor<4xf32>) -> tensor<4x1x1xf32>
// CHECK:     %[[FILTER:.*]] = graph.mul %{{.*}}, %[[COLUMN]]
// CHECK:     %[[Y:.*]] = graph.conv %{{.*}}, %[[FILTER]] {channels_last
// CHECK:     return %[[Y]]
func.func @channels_last(%x: tensor<1x8x3xf32>) -> tensor<1x8x4xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<4x3x1xf32>
  %c = graph.weight {name = "c"} : () -> tensor<4xf32>
  %0 = graph.conv %x, %w {channels_last, strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x8x3xf32>, tensor<4x3x1xf32>) -> tensor<1x8x4xf32>
  %1 = graph.mul %0, %c : (tensor<1x8x4xf32>, tensor<4xf32>) -> tensor<1x8x4xf32>
  return %1 : tensor<1x8x4xf32>
}

// -----

// A filter that something else reads unscaled stays: so does one that is
// scaled by place or by data.

// CHECK-LABEL: @stays
// CHECK:     %[[A:.*]] = graph.conv
// CHECK:     %[[AY:.*]] = graph.mul %[[A]]
// CHECK:     %[[B:.*]] = graph.conv
// CHECK:     %[[BY:.*]] = graph.mul %[[B]]
// CHECK:     %[[C:.*]] = graph.conv
// CHECK:     %[[CY:.*]] = graph.mul %[[C]]
// CHECK:     return %[[A]], %[[AY]], %[[BY]], %[[CY]]
func.func @stays(%x: tensor<1x3x4xf32>, %d: tensor<4x1xf32>) -> (tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<4x3x1xf32>
  %c = graph.weight {name = "c"} : () -> tensor<4x1xf32>
  %p = graph.weight {name = "p"} : () -> tensor<4xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x3x4xf32>, tensor<4x3x1xf32>) -> tensor<1x4x4xf32>
  %1 = graph.mul %0, %c : (tensor<1x4x4xf32>, tensor<4x1xf32>) -> tensor<1x4x4xf32>
  %2 = graph.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x3x4xf32>, tensor<4x3x1xf32>) -> tensor<1x4x4xf32>
  %3 = graph.mul %2, %p : (tensor<1x4x4xf32>, tensor<4xf32>) -> tensor<1x4x4xf32>
  %4 = graph.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x3x4xf32>, tensor<4x3x1xf32>) -> tensor<1x4x4xf32>
  %5 = graph.mul %4, %d : (tensor<1x4x4xf32>, tensor<4x1xf32>) -> tensor<1x4x4xf32>
  return %0, %1, %3, %5 : tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>
}

// -----

// A filter of few bits would have others with a factor in it.

// CHECK-LABEL: @few_bits
// CHECK:     %[[A:.*]] = graph.conv %{{.*}}, %[[W:.*]] {
// CHECK:     graph.mul %[[A]]
func.func @few_bits(%x: tensor<1x3x4xf32>) -> tensor<1x4x4xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<4x3x1xf32>
  %c = graph.weight {name = "c"} : () -> tensor<4x1xf32>
  %r = graph.round_float %x {to = f8E4M3FN, saturates = true} : (tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
  %0 = graph.conv %r, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x3x4xf32>, tensor<4x3x1xf32>) -> tensor<1x4x4xf32>
  %1 = graph.mul %0, %c : (tensor<1x4x4xf32>, tensor<4x1xf32>) -> tensor<1x4x4xf32>
  return %1 : tensor<1x4x4xf32>
}
