// RUN: tenon-opt %s --apply-schedules | FileCheck %s --check-prefixes=CHECK,FOUR
// RUN: tenon-opt %s --apply-schedules=without=WinogradF4 | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: tenon-opt %s --apply-schedules=without=WinogradF4,WinogradF2 | FileCheck %s --check-prefix=OFF

// 3x3 windows side by side take Winograd tiles if that is asked for: small ones
// where the filter would be large. Others never do.

func.func @main(%w: tensor<2x28x28x64xf32>, %x: tensor<2x14x14x256xf32>, %y: tensor<?x?x?x64xf32, #graph.dims<n, h, w, 64>>) {
  %u = graph.weight {name = "u"} : () -> tensor<64x64x3x3xf32>
  %v = graph.weight {name = "v"} : () -> tensor<256x256x3x3xf32>
  %0 = kernel.call @small(%w, %u) params <> : (tensor<2x28x28x64xf32>, tensor<64x64x3x3xf32>) -> tensor<2x28x28x64xf32>
  %1 = kernel.call @large(%x, %v) params <> : (tensor<2x14x14x256xf32>, tensor<256x256x3x3xf32>) -> tensor<2x14x14x256xf32>
  %3 = kernel.call @any(%y, %u) params <n, h, w> : (tensor<?x?x?x64xf32, #graph.dims<n, h, w, 64>>, tensor<64x64x3x3xf32>) -> tensor<?x?x?x64xf32, #graph.dims<n, h, w, 64>>
  %2 = kernel.call @strides(%w, %u) params <> : (tensor<2x28x28x64xf32>, tensor<64x64x3x3xf32>) -> tensor<2x14x14x64xf32>
  return
}
// FOUR: kernel.func @small symbols [] layouts ["", "winograd4"] schedule "WinogradF4"
// TWO: kernel.func @small symbols [] layouts ["", "winograd2"] schedule "WinogradF2"
// OFF: kernel.func @small symbols [] layouts ["", "conv32"] schedule "DirectConv"
kernel.func @small symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<2x28x28x64xf32>, %1: tensor<64x64x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<2x28x28x64xf32>, tensor<64x64x3x3xf32>) -> tensor<2x28x28x64xf32>
  kernel.yield %2 : tensor<2x28x28x64xf32>
}
// CHECK: kernel.func @large symbols [] layouts ["", "winograd2"] schedule "WinogradF2"
// OFF: kernel.func @large symbols [] layouts ["", "conv32"] schedule "DirectConv"
kernel.func @large symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<2x14x14x256xf32>, %1: tensor<256x256x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<2x14x14x256xf32>, tensor<256x256x3x3xf32>) -> tensor<2x14x14x256xf32>
  kernel.yield %2 : tensor<2x14x14x256xf32>
}
// Of images of any size a block has as many strips of tiles as the cache holds.
// TWO: kernel.func @any symbols ["n", "h", "w"] layouts ["", "winograd2"] schedule "WinogradF2" geometry <20 * n * floordiv(floordiv(h + 1, 2) * floordiv(w + 1, 2) + 119, 120), 20, 739328>
// OFF: kernel.func @any {{.*}} schedule "PackedConv"
kernel.func @any symbols ["n", "h", "w"] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<?x?x?x64xf32, #graph.dims<n, h, w, 64>>, %1: tensor<64x64x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<?x?x?x64xf32, #graph.dims<n, h, w, 64>>, tensor<64x64x3x3xf32>) -> tensor<?x?x?x64xf32, #graph.dims<n, h, w, 64>>
  kernel.yield %2 : tensor<?x?x?x64xf32, #graph.dims<n, h, w, 64>>
}
// CHECK: kernel.func @strides {{.*}} schedule "DirectConv"
kernel.func @strides symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<2x28x28x64xf32>, %1: tensor<64x64x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<2x28x28x64xf32>, tensor<64x64x3x3xf32>) -> tensor<2x14x14x64xf32>
  kernel.yield %2 : tensor<2x14x14x64xf32>
}
