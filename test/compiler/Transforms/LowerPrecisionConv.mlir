// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --lower-precision --split-input-file | FileCheck %s
// RUN: tenon-opt %s --lower-precision=explain --split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY
// RUN: tenon-opt %s --lower-precision="explain pair-dots=false" --split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=NONE

// An image is rounded for its convolution; what adds to it element by element
// reads it rounded, so that one tensor is stored. What else reads it does not.
// CHECK-LABEL: @residual
// CHECK:      %[[E:.*]] = graph.exp
// CHECK-NEXT: %[[N:.*]] = graph.cast %[[E]] : {{.*}} -> tensor<1x19x19x64xbf16>
// CHECK-DAG:  %[[X:.*]] = graph.cast %[[N]] : {{.*}} -> tensor<1x19x19x64xf32>
// CHECK-DAG:  %[[W:.*]] = graph.cast %{{.*}} : (tensor<64x64x1x1xbf16>) -> tensor<64x64x1x1xf32>
// CHECK:      %[[Y:.*]] = graph.conv %[[X]], %[[W]]
// CHECK:      %[[R:.*]] = graph.cast %[[N]] : {{.*}} -> tensor<1x19x19x64xf32>
// CHECK-NEXT: graph.add %[[Y]], %[[R]]
// CHECK:      graph.transpose %[[E]]
// NONE: remark: stays in f32: no CPU level of the program multiplies pairs of bf16
func.func @residual(%x: tensor<1x19x19x64xf32>)
    -> (tensor<1x19x19x64xf32>, tensor<1x64x19x19xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<64x64x1x1xf32>
  %e = graph.exp %x : (tensor<1x19x19x64xf32>) -> tensor<1x19x19x64xf32>
  %0 = graph.conv %e, %w {dilations = array<i64: 1, 1>, group = 1 : i64,
      pads = #graph.dims<0, 0, 0, 0>, strides = array<i64: 1, 1>,
      channels_last}
      : (tensor<1x19x19x64xf32>, tensor<64x64x1x1xf32>) -> tensor<1x19x19x64xf32>
  %1 = graph.add %0, %e : (tensor<1x19x19x64xf32>, tensor<1x19x19x64xf32>)
      -> tensor<1x19x19x64xf32>
  %2 = graph.transpose %e {permutation = array<i64: 0, 3, 1, 2>}
      : (tensor<1x19x19x64xf32>) -> tensor<1x64x19x19xf32>
  return %1, %2 : tensor<1x19x19x64xf32>, tensor<1x64x19x19xf32>
}

// -----

// Groups, odd channels, channels that are not the last axis, small filters and
// small convolutions stay in f32.
// CHECK-LABEL: @others
// CHECK-NOT:  bf16
// WHY: remark: stays in f32: it has several groups
// WHY: remark: stays in f32: channels do not lie in pairs
// WHY: remark: stays in f32: channels do not lie in pairs
// WHY: remark: stays in f32: it multiplies little
// WHY: remark: stays in f32: the filter is no weight of f32 of some size
func.func @others(%x: tensor<1x9x9x512xf32>, %y: tensor<1x9x9x3xf32>,
                  %z: tensor<1x64x9x9xf32>)
    -> (tensor<1x7x7x512xf32>, tensor<1x7x7x512xf32>, tensor<1x64x7x7xf32>,
        tensor<1x7x7x32xf32>, tensor<1x7x7x2xf32>) {
  %v = graph.weight {name = "v"} : () -> tensor<512x1x3x3xf32>
  %w = graph.weight {name = "w"} : () -> tensor<512x3x3x3xf32>
  %t = graph.weight {name = "t"} : () -> tensor<64x64x3x3xf32>
  %s = graph.weight {name = "s"} : () -> tensor<2x512x1x1xf32>
  %0 = graph.conv %x, %v {dilations = array<i64: 1, 1>, group = 512 : i64,
      pads = #graph.dims<0, 0, 0, 0>, strides = array<i64: 1, 1>,
      channels_last}
      : (tensor<1x9x9x512xf32>, tensor<512x1x3x3xf32>) -> tensor<1x7x7x512xf32>
  %1 = graph.conv %y, %w {dilations = array<i64: 1, 1>, group = 1 : i64,
      pads = #graph.dims<0, 0, 0, 0>, strides = array<i64: 1, 1>,
      channels_last}
      : (tensor<1x9x9x3xf32>, tensor<512x3x3x3xf32>) -> tensor<1x7x7x512xf32>
  %2 = graph.conv %z, %t {dilations = array<i64: 1, 1>, group = 1 : i64,
      pads = #graph.dims<0, 0, 0, 0>, strides = array<i64: 1, 1>}
      : (tensor<1x64x9x9xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x7x7xf32>
  %r = graph.weight {name = "r"} : () -> tensor<32x512x1x1xf32>
  %4 = graph.conv %0, %r {dilations = array<i64: 1, 1>, group = 1 : i64,
      pads = #graph.dims<0, 0, 0, 0>, strides = array<i64: 1, 1>,
      channels_last}
      : (tensor<1x7x7x512xf32>, tensor<32x512x1x1xf32>) -> tensor<1x7x7x32xf32>
  %3 = graph.conv %0, %s {dilations = array<i64: 1, 1>, group = 1 : i64,
      pads = #graph.dims<0, 0, 0, 0>, strides = array<i64: 1, 1>,
      channels_last}
      : (tensor<1x7x7x512xf32>, tensor<2x512x1x1xf32>) -> tensor<1x7x7x2xf32>
  return %0, %1, %2, %4, %3 : tensor<1x7x7x512xf32>, tensor<1x7x7x512xf32>,
      tensor<1x64x7x7xf32>, tensor<1x7x7x32xf32>, tensor<1x7x7x2xf32>
}
