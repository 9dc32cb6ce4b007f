// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --split-conv-groups --split-input-file | FileCheck %s
// RUN: tenon-opt %s --split-conv-groups=explain --split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY

// Along an axis whose size is open.
// CHECK-LABEL: @open
// CHECK:      %[[X0:.*]] = graph.slice %arg0 {starts = #graph.dims<0, 0, 0>
// CHECK:      %[[W0:.*]] = graph.slice %[[W:.*]] {starts = #graph.dims<0, 0, 0>{{.*}} -> tensor<8x4x3xf32>
// CHECK:      %[[Y0:.*]] = graph.conv %[[X0]], %[[W0]] {channels_last, dilations = array<i64: 2>, group = 1 : i64, pads = #graph.dims<2, 2>
// CHECK:      %[[X1:.*]] = graph.slice %arg0 {starts = #graph.dims<0, 0, 4>
// CHECK:      %[[W1:.*]] = graph.slice %[[W]] {starts = #graph.dims<8, 0, 0>{{.*}} -> tensor<8x4x3xf32>
// CHECK:      %[[Y1:.*]] = graph.conv %[[X1]], %[[W1]]
// CHECK:      graph.concat %[[Y0]], %[[Y1]] {axis = 2 : i64}
func.func @open(%x: tensor<1x?x8xf32, #graph.dims<1, s, 8>>)
    -> tensor<1x?x16xf32, #graph.dims<1, s, 16>> {
  %w = graph.weight {name = "w"} : () -> tensor<16x4x3xf32>
  %0 = graph.conv %x, %w {channels_last, strides = array<i64: 1>,
      dilations = array<i64: 2>, pads = #graph.dims<2, 2>, group = 2 : i64}
      : (tensor<1x?x8xf32, #graph.dims<1, s, 8>>, tensor<16x4x3xf32>)
      -> tensor<1x?x16xf32, #graph.dims<1, s, 16>>
  return %0 : tensor<1x?x16xf32, #graph.dims<1, s, 16>>
}

// -----

// What a kernel convolves at once stays, and so do groups of few maps,
// channels by themselves, and filters that come at run time.
// CHECK-LABEL: @stays
// CHECK-NOT:  graph.slice
// WHY: remark: groups stay together: a kernel convolves its groups at once
// WHY: remark: groups stay together: its groups are small, or many
// WHY: remark: groups stay together: its groups are small, or many
// WHY: remark: groups stay together: its filter is no weight
func.func @stays(%x: tensor<1x32x32x32xf32>,
                 %y: tensor<1x?x8xf32, #graph.dims<1, s, 8>>,
                 %f: tensor<16x4x1xf32>)
    -> (tensor<1x30x30x32xf32>, tensor<1x?x8xf32, #graph.dims<1, s, 8>>,
        tensor<1x?x8xf32, #graph.dims<1, s, 8>>,
        tensor<1x?x16xf32, #graph.dims<1, s, 16>>) {
  %u = graph.weight {name = "u"} : () -> tensor<32x16x3x3xf32>
  %v = graph.weight {name = "v"} : () -> tensor<8x4x1xf32>
  %w = graph.weight {name = "w"} : () -> tensor<8x1x1xf32>
  %0 = graph.conv %x, %u {channels_last, strides = array<i64: 1, 1>,
      dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>,
      group = 2 : i64}
      : (tensor<1x32x32x32xf32>, tensor<32x16x3x3xf32>)
      -> tensor<1x30x30x32xf32>
  %1 = graph.conv %y, %v {channels_last, strides = array<i64: 1>,
      dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 2 : i64}
      : (tensor<1x?x8xf32, #graph.dims<1, s, 8>>, tensor<8x4x1xf32>)
      -> tensor<1x?x8xf32, #graph.dims<1, s, 8>>
  %2 = graph.conv %y, %w {channels_last, strides = array<i64: 1>,
      dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 8 : i64}
      : (tensor<1x?x8xf32, #graph.dims<1, s, 8>>, tensor<8x1x1xf32>)
      -> tensor<1x?x8xf32, #graph.dims<1, s, 8>>
  %3 = graph.conv %y, %f {channels_last, strides = array<i64: 1>,
      dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 2 : i64}
      : (tensor<1x?x8xf32, #graph.dims<1, s, 8>>, tensor<16x4x1xf32>)
      -> tensor<1x?x16xf32, #graph.dims<1, s, 16>>
  return %0, %1, %2, %3 : tensor<1x30x30x32xf32>,
      tensor<1x?x8xf32, #graph.dims<1, s, 8>>,
      tensor<1x?x8xf32, #graph.dims<1, s, 8>>,
      tensor<1x?x16xf32, #graph.dims<1, s, 16>>
}
