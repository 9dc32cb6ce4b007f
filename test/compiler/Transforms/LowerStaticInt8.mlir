// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --lower-static-int8 --split-input-file | FileCheck %s
// RUN: tenon-opt %s --lower-static-int8=explain --split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY

// lhs is divided by its scale and, of the first channel, by 2^2, which the
// weight's first row is multiplied by.
// CHECK-LABEL: @smoothed
// CHECK:      graph.constant {{.*}} : tensor<64xf32>}
// CHECK-DAG:  %[[S:.*]] = graph.constant {{ *}}{value = dense<2.500000e-01> : tensor<f32>}
// CHECK-DAG:  %[[B:.*]] = graph.constant {{ *}}{value = dense<3> : tensor<ui8>}
// CHECK-DAG:  %[[Z:.*]] = graph.constant {{ *}}{value = dense<3> : tensor<i32>}
// CHECK:      %[[X:.*]] = graph.mul %arg0, {{.*}} : (tensor<4x64xf32>, tensor<64xf32>)
// CHECK:      %[[Q:.*]] = graph.quantize %[[X]], {{.*}}, %[[B]]
// CHECK:      %[[W:.*]] = graph.weight
// CHECK:      graph.mul %[[W]], {{.*}} : (tensor<64x64xf32>, tensor<64x1xf32>)
// CHECK:      %[[C:.*]] = graph.cast %[[Q]]
// CHECK:      %[[L:.*]] = graph.sub %[[C]], %[[Z]]
// CHECK:      %[[P:.*]] = graph.matmul %[[L]], {{.*}} -> tensor<4x64xi32>
// CHECK:      %[[F:.*]] = graph.cast %[[P]]
// CHECK:      %[[R:.*]] = graph.mul %[[F]], %[[S]]
// CHECK:      graph.mul %[[R]], {{.*}} : (tensor<4x64xf32>, tensor<1x64xf32>)
func.func @smoothed(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<64x64xf32>
  %0 = graph.matmul %x, %w {graph.lhs = {scale = 0.25 : f32, zero = 3, shifts = array<i8: 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}}
      : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}

// -----

// Products of one value share its numbers where they count alike.
// CHECK-LABEL: @shared
// CHECK-COUNT-2: -> tensor<4x64xui8>
// CHECK-NOT:  -> tensor<4x64xui8>
// CHECK:      return
func.func @shared(%x: tensor<4x64xf32>)
    -> (tensor<4x64xf32>, tensor<4x64xf32>, tensor<4x64xf32>) {
  %u = graph.weight {name = "u"} : () -> tensor<64x64xf32>
  %v = graph.weight {name = "v"} : () -> tensor<64x64xf32>
  %w = graph.weight {name = "w"} : () -> tensor<64x64xf32>
  %0 = graph.matmul %x, %u {graph.lhs = {scale = 0.25 : f32, zero = 3}}
      : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  %1 = graph.matmul %x, %v {graph.lhs = {scale = 0.25 : f32, zero = 3}}
      : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  %2 = graph.matmul %x, %w {graph.lhs = {scale = 0.5 : f32, zero = 3}}
      : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  return %0, %1, %2 : tensor<4x64xf32>, tensor<4x64xf32>, tensor<4x64xf32>
}

// -----

// What was not calibrated is for lower-int8, and small weights stay f32.
// CHECK-LABEL: @stays
// CHECK-NOT:  i32
// WHY: remark: stays in f32: rhs is no matrix of weights of some size
// WHY-NOT: remark
func.func @stays(%x: tensor<4x64xf32>) -> (tensor<4x64xf32>, tensor<4x8xf32>) {
  %v = graph.weight {name = "v"} : () -> tensor<64x64xf32>
  %w = graph.weight {name = "w"} : () -> tensor<64x8xf32>
  %0 = graph.matmul %x, %v : (tensor<4x64xf32>, tensor<64x64xf32>)
      -> tensor<4x64xf32>
  %1 = graph.matmul %x, %w {graph.lhs = {scale = 0.25 : f32, zero = 3}}
      : (tensor<4x64xf32>, tensor<64x8xf32>) -> tensor<4x8xf32>
  return %0, %1 : tensor<4x64xf32>, tensor<4x8xf32>
}

// -----

// An image in bytes, which the sum behind it reads too; a filter with a scale
// for each map.
// CHECK-LABEL: @convolution
// CHECK:      %[[B:.*]] = graph.constant {{ *}}{value = dense<3> : tensor<ui8>}
// CHECK:      %[[X:.*]] = graph.mul %arg0, {{.*}} : (tensor<1x64x64x16xf32>, tensor<16xf32>)
// CHECK:      %[[Q:.*]] = graph.quantize %[[X]], {{.*}}, %[[B]]
// CHECK:      %[[M:.*]] = graph.reduce {{.*}} -> tensor<16x1x1x1xf32>
// CHECK:      %[[C:.*]] = graph.cast %[[Q]]
// CHECK:      %[[Z:.*]] = graph.cast %[[B]] : (tensor<ui8>) -> tensor<i32>
// CHECK:      %[[L:.*]] = graph.sub %[[C]], %[[Z]]
// CHECK:      %[[P:.*]] = graph.conv %[[L]], {{.*}} {channels_last, {{.*}} -> tensor<1x64x64x16xi32>
// CHECK:      graph.mul {{.*}} : (tensor<1x64x64x16xf32>, tensor<f32>)
// CHECK:      %[[R:.*]] = graph.mul {{.*}} : (tensor<1x64x64x16xf32>, tensor<16xf32>)
// CHECK:      %[[D:.*]] = graph.dequantize %[[Q]], {{.*}}, %[[B]]
// CHECK:      graph.add %[[R]], %[[D]]
func.func @convolution(%x: tensor<1x64x64x16xf32>) -> tensor<1x64x64x16xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<16x16x3x3xf32>
  %0 = graph.conv %x, %w {graph.lhs = {scale = 0.25 : f32, zero = 3}, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1 : i64, channels_last}
      : (tensor<1x64x64x16xf32>, tensor<16x16x3x3xf32>) -> tensor<1x64x64x16xf32>
  %1 = graph.add %0, %x : (tensor<1x64x64x16xf32>, tensor<1x64x64x16xf32>) -> tensor<1x64x64x16xf32>
  return %1 : tensor<1x64x64x16xf32>
}

// -----

// A copy by which probe-precision measures is no reason to sum bytes.
// CHECK-LABEL: @probe
// CHECK:      graph.conv {{.*}} -> tensor<1x64x64x16xi32>
// CHECK-NOT:  graph.dequantize
// CHECK:      graph.add %{{.*}}, %arg0
func.func @probe(%x: tensor<1x64x64x16xf32>) -> tensor<1x64x64x16xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<16x16x3x3xf32>
  %0 = graph.conv %x, %w {graph.op = "probe 7", graph.lhs = {scale = 0.25 : f32, zero = 3}, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1 : i64, channels_last}
      : (tensor<1x64x64x16xf32>, tensor<16x16x3x3xf32>) -> tensor<1x64x64x16xf32>
  %1 = graph.add %0, %x : (tensor<1x64x64x16xf32>, tensor<1x64x64x16xf32>) -> tensor<1x64x64x16xf32>
  return %1 : tensor<1x64x64x16xf32>
}

// -----

// Groups, a few maps and small images stay, whatever a plan says.
// CHECK-LABEL: @other_convolutions
// CHECK-NOT: i8
// WHY: remark: stays in f32: it has several groups, or channels that are not last
// WHY: remark: stays in f32: it multiplies little
// WHY: remark: stays in f32: it has few maps, which are fast in f32
func.func @other_convolutions(%x: tensor<1x64x64x16xf32>, %y: tensor<1x4x4x16xf32>)
    -> (tensor<1x64x64x16xf32>, tensor<1x4x4x16xf32>, tensor<1x64x64x2xf32>) {
  %u = graph.weight {name = "u"} : () -> tensor<2x16x3x3xf32>
  %v = graph.weight {name = "v"} : () -> tensor<16x1x3x3xf32>
  %w = graph.weight {name = "w"} : () -> tensor<16x16x3x3xf32>
  %0 = graph.conv %x, %v {graph.lhs = {scale = 0.25 : f32, zero = 3}, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 16 : i64, channels_last}
      : (tensor<1x64x64x16xf32>, tensor<16x1x3x3xf32>) -> tensor<1x64x64x16xf32>
  %1 = graph.conv %y, %w {graph.lhs = {scale = 0.25 : f32, zero = 3}, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1 : i64, channels_last}
      : (tensor<1x4x4x16xf32>, tensor<16x16x3x3xf32>) -> tensor<1x4x4x16xf32>
  %2 = graph.conv %x, %u {graph.lhs = {scale = 0.25 : f32, zero = 3}, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1 : i64, channels_last}
      : (tensor<1x64x64x16xf32>, tensor<2x16x3x3xf32>) -> tensor<1x64x64x2xf32>
  return %0, %1, %2 : tensor<1x64x64x16xf32>, tensor<1x4x4x16xf32>, tensor<1x64x64x2xf32>
}
