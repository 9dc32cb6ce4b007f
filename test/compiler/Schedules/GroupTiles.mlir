// RUN: tenon-opt %s --apply-schedules="explain=true without=FewMapsConv,WinogradF4,WinogradF2" --split-input-file --verify-diagnostics | FileCheck %s

// Groups of a few channels and as many maps are summed with the maps of whole
// groups in a vector, whose filter is packed by taps.

// CHECK-LABEL: @by_groups
func.func @by_groups(%x: tensor<2x56x56x64xf32>, %y: tensor<2x100x6xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<64x4x3x3xf32>
  %v = graph.weight {name = "v"} : () -> tensor<6x2x3xf32>
  kernel.call @groups(%x, %w) params <> : (tensor<2x56x56x64xf32>, tensor<64x4x3x3xf32>) -> tensor<2x56x56x64xf32>
  kernel.call @line(%y, %v) params <> : (tensor<2x100x6xf32>, tensor<6x2x3xf32>) -> tensor<2x98x6xf32>
  return
}
// CHECK: kernel.func @groups symbols [] layouts ["", "taps_first"] schedule "GroupTiles" geometry <224, 14, 0>
kernel.func @groups symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<2x56x56x64xf32>, %1: tensor<64x4x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 16, channels_last} : (tensor<2x56x56x64xf32>, tensor<64x4x3x3xf32>) -> tensor<2x56x56x64xf32>
  kernel.yield %2 : tensor<2x56x56x64xf32>
}
// CHECK: kernel.func @line symbols [] layouts ["", "taps_first"] schedule "GroupTiles"
kernel.func @line symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<2x100x6xf32>, %1: tensor<6x2x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 3, channels_last} : (tensor<2x100x6xf32>, tensor<6x2x3xf32>) -> tensor<2x98x6xf32>
  kernel.yield %2 : tensor<2x98x6xf32>
}

// -----

// One group, many channels, a number that is no power of two, and other numbers
// of channels and maps are left to panels of a group's maps.

// CHECK-LABEL: @others
func.func @others(%x: tensor<1x28x28x96xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<16x96x3x3xf32>
  %v = graph.weight {name = "v"} : () -> tensor<96x32x3x3xf32>
  %u = graph.weight {name = "u"} : () -> tensor<96x6x3x3xf32>
  %t = graph.weight {name = "t"} : () -> tensor<48x4x3x3xf32>
  kernel.call @one(%x, %w) params <> : (tensor<1x28x28x96xf32>, tensor<16x96x3x3xf32>) -> tensor<1x28x28x16xf32>
  kernel.call @many(%x, %v) params <> : (tensor<1x28x28x96xf32>, tensor<96x32x3x3xf32>) -> tensor<1x28x28x96xf32>
  kernel.call @six(%x, %u) params <> : (tensor<1x28x28x96xf32>, tensor<96x6x3x3xf32>) -> tensor<1x28x28x96xf32>
  kernel.call @fewer(%x, %t) params <> : (tensor<1x28x28x96xf32>, tensor<48x4x3x3xf32>) -> tensor<1x28x28x48xf32>
  return
}
// CHECK: kernel.func @one {{.*}} schedule "DirectConv"
// expected-remark@+1 {{does not run by GroupTiles: it has one group}}
kernel.func @one symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x28x28x96xf32>, %1: tensor<16x96x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<1x28x28x96xf32>, tensor<16x96x3x3xf32>) -> tensor<1x28x28x16xf32>
  kernel.yield %2 : tensor<1x28x28x16xf32>
}
// CHECK: kernel.func @many {{.*}} schedule "DirectConv"
// expected-remark@+1 {{does not run by GroupTiles: its groups have many channels, or not as many maps}}
kernel.func @many symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x28x28x96xf32>, %1: tensor<96x32x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 3, channels_last} : (tensor<1x28x28x96xf32>, tensor<96x32x3x3xf32>) -> tensor<1x28x28x96xf32>
  kernel.yield %2 : tensor<1x28x28x96xf32>
}
// CHECK: kernel.func @six {{.*}} schedule "DirectConv"
// expected-remark@+1 {{does not run by GroupTiles: its groups have many channels, or not as many maps}}
kernel.func @six symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x28x28x96xf32>, %1: tensor<96x6x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 16, channels_last} : (tensor<1x28x28x96xf32>, tensor<96x6x3x3xf32>) -> tensor<1x28x28x96xf32>
  kernel.yield %2 : tensor<1x28x28x96xf32>
}
// CHECK: kernel.func @fewer {{.*}} schedule "DirectConv"
// expected-remark@+1 {{does not run by GroupTiles: its groups have many channels, or not as many maps}}
kernel.func @fewer symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x28x28x96xf32>, %1: tensor<48x4x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 24, channels_last} : (tensor<1x28x28x96xf32>, tensor<48x4x3x3xf32>) -> tensor<1x28x28x48xf32>
  kernel.yield %2 : tensor<1x28x28x48xf32>
}
