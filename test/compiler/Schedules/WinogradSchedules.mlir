// RUN: tenon-opt %s --apply-schedules | FileCheck %s --check-prefixes=CHECK,FOUR
// RUN: tenon-opt %s --apply-schedules=without=WinogradF4 | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: tenon-opt %s --apply-schedules=without=WinogradF4,WinogradF2,WinogradPairs | FileCheck %s --check-prefix=OFF

// 3x3 windows side by side take Winograd tiles if that is asked for: small ones
// where the filter would be large. Others never do.

func.func @main(%w: tensor<2x28x28x64xf32>, %x: tensor<2x14x14x256xf32>, %y: tensor<?x?x?x64xf32, #graph.dims<n, h, w, 64>>) {
  %u = graph.weight {name = "u"} : () -> tensor<64x64x3x3xf32>
  %v = graph.weight {name = "v"} : () -> tensor<256x256x3x3xf32>
  %0 = kernel.call @small(%w, %u) params <> : (tensor<2x28x28x64xf32>, tensor<64x64x3x3xf32>) -> tensor<2x28x28x64xf32>
  %1 = kernel.call @large(%x, %v) params <> : (tensor<2x14x14x256xf32>, tensor<256x256x3x3xf32>) -> tensor<2x14x14x256xf32>
  %3 = kernel.call @any(%y, %u) params <n, h, w> : (tensor<?x?x?x64xf32, #graph.dims<n, h, w, 64>>, tensor<64x64x3x3xf32>) -> tensor<?x?x?x64xf32, #graph.dims<n, h, w, 64>>
  %2 = kernel.call @strides(%w, %u) params <> : (tensor<2x28x28x64xf32>, tensor<64x64x3x3xf32>) -> tensor<2x14x14x64xf32>
  %4 = kernel.call @dilated(%w, %u) params <> : (tensor<2x28x28x64xf32>, tensor<64x64x3x3xf32>) -> tensor<2x28x28x64xf32>
  %5 = kernel.call @far(%w, %u) params <> : (tensor<2x28x28x64xf32>, tensor<64x64x3x3xf32>) -> tensor<2x28x28x64xf32>
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
// Taps that lie apart have tiles of outputs that do: of every third one of 28,
// 10 or 9, five tiles each. Of every ninth there are 4 or 3, whose tiles would
// have 36 by 36 outputs for 28 by 28.
// TWO: kernel.func @dilated symbols [] layouts ["", "winograd2"] schedule "WinogradF2"
// OFF: kernel.func @dilated {{.*}} schedule "DirectConv"
kernel.func @dilated symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<2x28x28x64xf32>, %1: tensor<64x64x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 3, 3>, pads = #graph.dims<3, 3, 3, 3>, group = 1, channels_last} : (tensor<2x28x28x64xf32>, tensor<64x64x3x3xf32>) -> tensor<2x28x28x64xf32>
  kernel.yield %2 : tensor<2x28x28x64xf32>
}
// CHECK: kernel.func @far {{.*}} schedule "PackedConv"
kernel.func @far symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<2x28x28x64xf32>, %1: tensor<64x64x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 9, 9>, pads = #graph.dims<9, 9, 9, 9>, group = 1, channels_last} : (tensor<2x28x28x64xf32>, tensor<64x64x3x3xf32>) -> tensor<2x28x28x64xf32>
  kernel.yield %2 : tensor<2x28x28x64xf32>
}

// Pairs of bf16 do so on levels that widen them; for the others, and where
// tiles do not suit, they are read by lines. Blocks have whole tiles: of 28
// lines two blocks, where LineConv has four of seven.

// CHECK-LABEL: @by_pairs
// OFF-LABEL: @by_pairs
func.func @by_pairs(%x: tensor<2x28x28x128xbf16>, %y: tensor<2x28x28x24xbf16>, %z: tensor<2x7x7x128xbf16>) {
  %u = graph.weight {name = "u"} : () -> tensor<128x128x3x3xbf16>
  %v = graph.weight {name = "v"} : () -> tensor<128x24x3x3xbf16>
  %0 = kernel.call @pairs(%x, %u) params <> : (tensor<2x28x28x128xbf16>, tensor<128x128x3x3xbf16>) -> tensor<2x28x28x128xf32>
  %1 = kernel.call @thin(%y, %v) params <> : (tensor<2x28x28x24xbf16>, tensor<128x24x3x3xbf16>) -> tensor<2x28x28x128xf32>
  %2 = kernel.call @few(%z, %u) params <> : (tensor<2x7x7x128xbf16>, tensor<128x128x3x3xbf16>) -> tensor<2x7x7x128xf32>
  %3 = kernel.call @apart(%x, %u) params <> : (tensor<2x28x28x128xbf16>, tensor<128x128x3x3xbf16>) -> tensor<2x14x14x128xf32>
  return
}
// CHECK: kernel.func @pairs symbols [] layouts ["", "conv48_pairs"] schedule "WinogradPairs" geometry <132, 22, 1500160>
// OFF: kernel.func @pairs symbols [] layouts ["", "conv48_pairs"] schedule "LineConv" geometry <144, 12, 424512>
kernel.func @pairs symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<2x28x28x128xbf16>, %1: tensor<128x128x3x3xbf16>):
  %2 = graph.cast %0 : (tensor<2x28x28x128xbf16>) -> tensor<2x28x28x128xf32>
  %3 = graph.cast %1 : (tensor<128x128x3x3xbf16>) -> tensor<128x128x3x3xf32>
  %4 = graph.conv %2, %3 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<2x28x28x128xf32>, tensor<128x128x3x3xf32>) -> tensor<2x28x28x128xf32>
  kernel.yield %4 : tensor<2x28x28x128xf32>
}
// CHECK: kernel.func @thin {{.*}} schedule "LineConv"
kernel.func @thin symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<2x28x28x24xbf16>, %1: tensor<128x24x3x3xbf16>):
  %2 = graph.cast %0 : (tensor<2x28x28x24xbf16>) -> tensor<2x28x28x24xf32>
  %3 = graph.cast %1 : (tensor<128x24x3x3xbf16>) -> tensor<128x24x3x3xf32>
  %4 = graph.conv %2, %3 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<2x28x28x24xf32>, tensor<128x24x3x3xf32>) -> tensor<2x28x28x128xf32>
  kernel.yield %4 : tensor<2x28x28x128xf32>
}
// CHECK: kernel.func @few {{.*}} schedule "LineConv"
kernel.func @few symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<2x7x7x128xbf16>, %1: tensor<128x128x3x3xbf16>):
  %2 = graph.cast %0 : (tensor<2x7x7x128xbf16>) -> tensor<2x7x7x128xf32>
  %3 = graph.cast %1 : (tensor<128x128x3x3xbf16>) -> tensor<128x128x3x3xf32>
  %4 = graph.conv %2, %3 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<2x7x7x128xf32>, tensor<128x128x3x3xf32>) -> tensor<2x7x7x128xf32>
  kernel.yield %4 : tensor<2x7x7x128xf32>
}
// CHECK: kernel.func @apart {{.*}} schedule "LineConv"
kernel.func @apart symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<2x28x28x128xbf16>, %1: tensor<128x128x3x3xbf16>):
  %2 = graph.cast %0 : (tensor<2x28x28x128xbf16>) -> tensor<2x28x28x128xf32>
  %3 = graph.cast %1 : (tensor<128x128x3x3xbf16>) -> tensor<128x128x3x3xf32>
  %4 = graph.conv %2, %3 {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<2x28x28x128xf32>, tensor<128x128x3x3xf32>) -> tensor<2x14x14x128xf32>
  kernel.yield %4 : tensor<2x14x14x128xf32>
}
