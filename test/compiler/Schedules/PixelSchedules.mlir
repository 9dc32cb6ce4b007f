// RUN: tenon-opt %s --apply-schedules="explain=true without=WinogradF4,WinogradF2,WinogradPairs,DirectConv,SmallConv,LineConv,PackedConv,DepthwiseTiles,DepthwiseConv,DepthwisePlanes,GroupTiles" --split-input-file --verify-diagnostics | FileCheck %s

// One map, of images of any size, by vectors of channels: the filter by maps,
// taps and channels. A piece has whole lines.

// CHECK-LABEL: @few
func.func @few(%x: tensor<1x?x9x32xf32, #graph.dims<1, h, 9, 32>>) {
  %w = graph.weight {name = "w"} : () -> tensor<1x32x3x3xf32>
  kernel.call @few_maps(%x, %w) params <h> : (tensor<1x?x9x32xf32, #graph.dims<1, h, 9, 32>>, tensor<1x32x3x3xf32>) -> tensor<1x?x9x1xf32, #graph.dims<1, h, 9, 1>>
  return
}
// CHECK: kernel.func @few_maps symbols ["h"] layouts ["", "conv1"] schedule "FewMapsConv" geometry <9 * h, {{.*}}, 64>
kernel.func @few_maps symbols ["h"] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x?x9x32xf32, #graph.dims<1, h, 9, 32>>, %1: tensor<1x32x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<1x?x9x32xf32, #graph.dims<1, h, 9, 32>>, tensor<1x32x3x3xf32>) -> tensor<1x?x9x1xf32, #graph.dims<1, h, 9, 1>>
  kernel.yield %2 : tensor<1x?x9x1xf32, #graph.dims<1, h, 9, 1>>
}

// -----

// More maps, too little depth for eight of them, few channels, and groups.

// CHECK-LABEL: @others
func.func @others(%x: tensor<1x9x9x32xf32>, %y: tensor<1x9x9x4xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<9x32x3x3xf32>
  %v = graph.weight {name = "v"} : () -> tensor<8x32x1x1xf32>
  %u = graph.weight {name = "u"} : () -> tensor<1x4x3x3xf32>
  %t = graph.weight {name = "t"} : () -> tensor<2x16x3x3xf32>
  kernel.call @more(%x, %w) params <> : (tensor<1x9x9x32xf32>, tensor<9x32x3x3xf32>) -> tensor<1x7x7x9xf32>
  kernel.call @shallow(%x, %v) params <> : (tensor<1x9x9x32xf32>, tensor<8x32x1x1xf32>) -> tensor<1x9x9x8xf32>
  kernel.call @narrow(%y, %u) params <> : (tensor<1x9x9x4xf32>, tensor<1x4x3x3xf32>) -> tensor<1x7x7x1xf32>
  kernel.call @groups(%x, %t) params <> : (tensor<1x9x9x32xf32>, tensor<2x16x3x3xf32>) -> tensor<1x7x7x2xf32>
  return
}
// CHECK: kernel.func @more {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by FewMapsConv: it has more than a few maps, or few channels for them}}
kernel.func @more symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x9x9x32xf32>, %1: tensor<9x32x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<1x9x9x32xf32>, tensor<9x32x3x3xf32>) -> tensor<1x7x7x9xf32>
  kernel.yield %2 : tensor<1x7x7x9xf32>
}
// CHECK: kernel.func @shallow {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by FewMapsConv: it has more than a few maps, or few channels for them}}
kernel.func @shallow symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x9x9x32xf32>, %1: tensor<8x32x1x1xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<1x9x9x32xf32>, tensor<8x32x1x1xf32>) -> tensor<1x9x9x8xf32>
  kernel.yield %2 : tensor<1x9x9x8xf32>
}
// CHECK: kernel.func @narrow {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by FewMapsConv: it has more than a few maps, or few channels for them}}
kernel.func @narrow symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x9x9x4xf32>, %1: tensor<1x4x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<1x9x9x4xf32>, tensor<1x4x3x3xf32>) -> tensor<1x7x7x1xf32>
  kernel.yield %2 : tensor<1x7x7x1xf32>
}
// CHECK: kernel.func @groups {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by FewMapsConv: it has several groups}}
kernel.func @groups symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x9x9x32xf32>, %1: tensor<2x16x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 2, channels_last} : (tensor<1x9x9x32xf32>, tensor<2x16x3x3xf32>) -> tensor<1x7x7x2xf32>
  kernel.yield %2 : tensor<1x7x7x2xf32>
}
