// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --observe-products --split-input-file | FileCheck %s
// RUN: tenon-opt %s --observe-products=of-weights --split-input-file | FileCheck %s --check-prefix=WEIGHTS

// What two products read goes out once, behind the function's own result.
// CHECK-LABEL: @shared
// CHECK-SAME: -> (tensor<4x64xf32>, tensor<4x64xf32> {graph.name = "graph.lhs 0"})
// CHECK:      %[[E:.*]] = graph.exp
// CHECK-COUNT-2: graph.precision = "fp32"
// CHECK:      %[[SUM:.*]] = graph.add
// CHECK:      return %[[SUM]], %[[E]]
func.func @shared(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %v = graph.weight {name = "v"} : () -> tensor<64x64xf32>
  %w = graph.weight {name = "w"} : () -> tensor<64x64xf32>
  %e = graph.exp %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %0 = graph.matmul %e, %v {graph.op = "a", graph.precision = "int8"}
      : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  %1 = graph.matmul %e, %w {graph.op = "b", graph.precision = "int8"}
      : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  %2 = graph.add %0, %1 : (tensor<4x64xf32>, tensor<4x64xf32>)
      -> tensor<4x64xf32>
  return %2 : tensor<4x64xf32>
}

// -----

// Products of other precisions, small weights and two activations are no
// concern of calibration.
// CHECK-LABEL: @stays
// CHECK-SAME: -> (tensor<4x64xf32>, tensor<4x8xf32>, tensor<4x4xf32>) {
// CHECK:      graph.precision = "bf16"
// CHECK-COUNT-2: graph.precision = "int8"
func.func @stays(%x: tensor<4x64xf32>, %y: tensor<64x4xf32>)
    -> (tensor<4x64xf32>, tensor<4x8xf32>, tensor<4x4xf32>) {
  %v = graph.weight {name = "v"} : () -> tensor<64x64xf32>
  %w = graph.weight {name = "w"} : () -> tensor<64x8xf32>
  %0 = graph.matmul %x, %v {graph.op = "a", graph.precision = "bf16"}
      : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  %1 = graph.matmul %x, %w {graph.op = "b", graph.precision = "int8"}
      : (tensor<4x64xf32>, tensor<64x8xf32>) -> tensor<4x8xf32>
  %2 = graph.matmul %x, %y {graph.op = "c", graph.precision = "int8"}
      : (tensor<4x64xf32>, tensor<64x4xf32>) -> tensor<4x4xf32>
  return %0, %1, %2 : tensor<4x64xf32>, tensor<4x8xf32>, tensor<4x4xf32>
}

// -----

// Of weights in few bits: what products of them read goes out, once, and all
// is f32. Other products and small weights go out neither way; without the
// option none does.
// CHECK-LABEL: @weights
// CHECK-SAME: -> (tensor<4x64xf32>, tensor<4x8xf32>) {
// CHECK:      graph.precision = "int4-weights"
// WEIGHTS-LABEL: @shared
// WEIGHTS-SAME: -> tensor<4x64xf32> {
// WEIGHTS-LABEL: @weights
// WEIGHTS-SAME: -> (tensor<4x64xf32>, tensor<4x8xf32>, tensor<4x64xf32> {graph.name = "graph.lhs 0"})
// WEIGHTS-NOT:  graph.lhs
// WEIGHTS:      %[[E:.*]] = graph.exp
// WEIGHTS-COUNT-4: graph.precision = "fp32"
// WEIGHTS:      return %{{.*}}, %{{.*}}, %[[E]]
func.func @weights(%x: tensor<4x64xf32>)
    -> (tensor<4x64xf32>, tensor<4x8xf32>) {
  %v = graph.weight {name = "v"} : () -> tensor<64x64xf32>
  %w = graph.weight {name = "w"} : () -> tensor<64x8xf32>
  %u = graph.weight {name = "u"} : () -> tensor<64x64xf32>
  %e = graph.exp %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %0 = graph.matmul %e, %v {graph.op = "a", graph.precision = "int4-weights"}
      : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  %1 = graph.matmul %e, %u {graph.op = "b", graph.precision = "int8-weights"}
      : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  %2 = graph.add %0, %1 : (tensor<4x64xf32>, tensor<4x64xf32>)
      -> tensor<4x64xf32>
  %3 = graph.matmul %2, %w {graph.op = "c", graph.precision = "int4-weights"}
      : (tensor<4x64xf32>, tensor<64x8xf32>) -> tensor<4x8xf32>
  %4 = graph.matmul %2, %v {graph.op = "d", graph.precision = "bf16"}
      : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  return %4, %3 : tensor<4x64xf32>, tensor<4x8xf32>
}

// -----

// So does the image of a convolution, but not that of one by groups.
// CHECK-LABEL: @convolutions
// CHECK-SAME: -> (tensor<1x64x64x16xf32>, tensor<1x64x64x16xf32> {graph.name = "graph.lhs 0"})
// CHECK:      %[[E:.*]] = graph.exp
// CHECK:      graph.conv %[[E]], {{.*}}graph.precision = "fp32"
// CHECK:      %[[Y:.*]] = graph.conv {{.*}}graph.precision = "int8"
// CHECK:      return %[[Y]], %[[E]]
// WEIGHTS-LABEL: @convolutions
// WEIGHTS-SAME: -> tensor<1x64x64x16xf32> {
func.func @convolutions(%x: tensor<1x64x64x16xf32>) -> tensor<1x64x64x16xf32> {
  %v = graph.weight {name = "v"} : () -> tensor<16x16x3x3xf32>
  %w = graph.weight {name = "w"} : () -> tensor<16x1x3x3xf32>
  %e = graph.exp %x : (tensor<1x64x64x16xf32>) -> tensor<1x64x64x16xf32>
  %0 = graph.conv %e, %v {graph.op = "a", graph.precision = "int8", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1 : i64, channels_last}
      : (tensor<1x64x64x16xf32>, tensor<16x16x3x3xf32>) -> tensor<1x64x64x16xf32>
  %1 = graph.conv %0, %w {graph.op = "b", graph.precision = "int8", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 16 : i64, channels_last}
      : (tensor<1x64x64x16xf32>, tensor<16x1x3x3xf32>) -> tensor<1x64x64x16xf32>
  return %1 : tensor<1x64x64x16xf32>
}
