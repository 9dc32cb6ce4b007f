// RUN: tenon-opt %s --apply-schedules="explain=true without=WinogradF4,WinogradF2,WinogradPairs,DirectConv,SmallConv,LineConv,PackedConv,DepthwiseTiles,DepthwiseConv,FewMapsConv,GroupTiles" --split-input-file --verify-diagnostics | FileCheck %s

// Channels first: a piece has whole planes, and 9 lines of an image at most
// wait with their borders.

// CHECK-LABEL: @planes
func.func @planes(%x: tensor<?x8x7x20xf32, #graph.dims<n, 8, 7, 20>>) {
  %w = graph.weight {name = "w"} : () -> tensor<8x1x3x3xf32>
  kernel.call @each(%x, %w) params <n> : (tensor<?x8x7x20xf32, #graph.dims<n, 8, 7, 20>>, tensor<8x1x3x3xf32>) -> tensor<?x8x7x20xf32, #graph.dims<n, 8, 7, 20>>
  return
}
// CHECK: kernel.func @each symbols ["n"] layouts ["", ""] schedule "DepthwisePlanes" geometry <56 * n, 364, 1728>
kernel.func @each symbols ["n"] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<?x8x7x20xf32, #graph.dims<n, 8, 7, 20>>, %1: tensor<8x1x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 8} : (tensor<?x8x7x20xf32, #graph.dims<n, 8, 7, 20>>, tensor<8x1x3x3xf32>) -> tensor<?x8x7x20xf32, #graph.dims<n, 8, 7, 20>>
  kernel.yield %2 : tensor<?x8x7x20xf32, #graph.dims<n, 8, 7, 20>>
}

// -----

// Channels last, several of a group, short lines, large windows, wide ones, and
// a filter that is computed.

// CHECK-LABEL: @others
func.func @others(%x0: tensor<1x9x9x8xf32>, %x1: tensor<1x8x9x9xf32>, %x2: tensor<1x8x9x7xf32>, %x3: tensor<1x8x40x40xf32>, %x4: tensor<1x8x9x200xf32>, %x5: tensor<1x8x9x9xf32>, %f: tensor<8x1x3x3xf32>) {
  %w0 = graph.weight {name = "w0"} : () -> tensor<8x1x3x3xf32>
  %w1 = graph.weight {name = "w1"} : () -> tensor<8x2x3x3xf32>
  %w2 = graph.weight {name = "w2"} : () -> tensor<8x1x3x3xf32>
  %w3 = graph.weight {name = "w3"} : () -> tensor<8x1x17x1xf32>
  %w4 = graph.weight {name = "w4"} : () -> tensor<8x1x3x3xf32>
  kernel.call @last(%x0, %w0) params <> : (tensor<1x9x9x8xf32>, tensor<8x1x3x3xf32>) -> tensor<1x9x9x8xf32>
  kernel.call @several(%x1, %w1) params <> : (tensor<1x8x9x9xf32>, tensor<8x2x3x3xf32>) -> tensor<1x8x9x9xf32>
  kernel.call @short(%x2, %w2) params <> : (tensor<1x8x9x7xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x9x7xf32>
  kernel.call @large(%x3, %w3) params <> : (tensor<1x8x40x40xf32>, tensor<8x1x17x1xf32>) -> tensor<1x8x26x42xf32>
  kernel.call @wide(%x4, %w4) params <> : (tensor<1x8x9x200xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x9x72xf32>
  kernel.call @computed(%x5, %f) params <> : (tensor<1x8x9x9xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x9x9xf32>
  return
}
// CHECK: kernel.func @last {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by DepthwisePlanes: channels are the last axis}}
kernel.func @last symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x9x9x8xf32>, %1: tensor<8x1x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 8, channels_last} : (tensor<1x9x9x8xf32>, tensor<8x1x3x3xf32>) -> tensor<1x9x9x8xf32>
  kernel.yield %2 : tensor<1x9x9x8xf32>
}
// CHECK: kernel.func @several {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by DepthwisePlanes: a group has several channels}}
kernel.func @several symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x8x9x9xf32>, %1: tensor<8x2x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 4} : (tensor<1x8x9x9xf32>, tensor<8x2x3x3xf32>) -> tensor<1x8x9x9xf32>
  kernel.yield %2 : tensor<1x8x9x9xf32>
}
// CHECK: kernel.func @short {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by DepthwisePlanes: its lines are short}}
kernel.func @short symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x8x9x7xf32>, %1: tensor<8x1x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 8} : (tensor<1x8x9x7xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x9x7xf32>
  kernel.yield %2 : tensor<1x8x9x7xf32>
}
// CHECK: kernel.func @large {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by DepthwisePlanes: its windows are large, or empty}}
kernel.func @large symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x8x40x40xf32>, %1: tensor<8x1x17x1xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 8} : (tensor<1x8x40x40xf32>, tensor<8x1x17x1xf32>) -> tensor<1x8x26x42xf32>
  kernel.yield %2 : tensor<1x8x26x42xf32>
}
// CHECK: kernel.func @wide {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by DepthwisePlanes: its windows are wide, or far apart}}
kernel.func @wide symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x8x9x200xf32>, %1: tensor<8x1x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 65>, pads = #graph.dims<1, 1, 1, 1>, group = 8} : (tensor<1x8x9x200xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x9x72xf32>
  kernel.yield %2 : tensor<1x8x9x72xf32>
}
// CHECK: kernel.func @computed {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by DepthwisePlanes: the filter is no weight}}
kernel.func @computed symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x8x9x9xf32>, %1: tensor<8x1x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 8} : (tensor<1x8x9x9xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x9x9xf32>
  kernel.yield %2 : tensor<1x8x9x9xf32>
}
