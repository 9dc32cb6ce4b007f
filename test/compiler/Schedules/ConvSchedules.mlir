// RUN: tenon-opt %s --apply-schedules="explain=true without=WinogradF4,WinogradF2,WinogradPairs,FewMapsConv,GroupTiles,DepthwisePlanes" --split-input-file --verify-diagnostics | FileCheck %s

// With channels last, a filter that is a weight is packed, by panels of its
// maps or, where a group is one channel, by taps.

// CHECK-LABEL: @by_weight
func.func @by_weight(%x: tensor<1x9x9x8xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<50x8x3x3xf32>
  %v = graph.weight {name = "v"} : () -> tensor<8x1x3x3xf32>
  kernel.call @conv(%x, %w) params <> : (tensor<1x9x9x8xf32>, tensor<50x8x3x3xf32>) -> tensor<1x7x7x50xf32>
  kernel.call @depthwise(%x, %v) params <> : (tensor<1x9x9x8xf32>, tensor<8x1x3x3xf32>) -> tensor<1x7x7x8xf32>
  return
}
// CHECK: kernel.func @conv symbols [] layouts ["", "conv32"] schedule "SmallConv" geometry <8, 4, 10624>
// expected-remark@+1 {{does not run by DirectConv: its lines are short}}
kernel.func @conv symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x9x9x8xf32>, %1: tensor<50x8x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<1x9x9x8xf32>, tensor<50x8x3x3xf32>) -> tensor<1x7x7x50xf32>
  kernel.yield %2 : tensor<1x7x7x50xf32>
}
// CHECK: kernel.func @depthwise symbols [] layouts ["", "taps_first"] schedule "DepthwiseTiles" geometry <7, 7, 0>
// expected-remark@+4 {{does not run by DirectConv: each channel is a group with one map}}
// expected-remark@+3 {{does not run by SmallConv: it has groups or three spatial axes}}
// expected-remark@+2 {{does not run by LineConv: its operands are neither pairs of bf16 nor bytes}}
// expected-remark@+1 {{does not run by PackedConv: it has several groups}}
kernel.func @depthwise symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x9x9x8xf32>, %1: tensor<8x1x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 8, channels_last} : (tensor<1x9x9x8xf32>, tensor<8x1x3x3xf32>) -> tensor<1x7x7x8xf32>
  kernel.yield %2 : tensor<1x7x7x8xf32>
}

// -----

// Channels in the second axis and a filter that is computed are left to the
// generic schedule; sizes that are symbols to the schedule that copies windows.

// CHECK-LABEL: @others
func.func @others(%x: tensor<1x8x9xf32>, %y: tensor<1x9x8xf32>, %f: tensor<4x8x3xf32>, %z: tensor<1x?x8xf32, #graph.dims<1, n, 8>>) {
  %w = graph.weight {name = "w"} : () -> tensor<4x8x3xf32>
  kernel.call @first(%x, %w) params <> : (tensor<1x8x9xf32>, tensor<4x8x3xf32>) -> tensor<1x4x7xf32>
  kernel.call @symbol(%z, %w) params <n> : (tensor<1x?x8xf32, #graph.dims<1, n, 8>>, tensor<4x8x3xf32>) -> tensor<1x?x4xf32, #graph.dims<1, n + -2, 4>>
  kernel.call @computed(%y, %f) params <> : (tensor<1x9x8xf32>, tensor<4x8x3xf32>) -> tensor<1x7x4xf32>
  return
}
// CHECK: kernel.func @first {{.*}} schedule "Generic"
// expected-remark@+6 {{does not run by DirectConv: channels are not the last axis}}
// expected-remark@+5 {{does not run by SmallConv: channels are not the last axis}}
// expected-remark@+4 {{does not run by LineConv: channels are not the last axis}}
// expected-remark@+3 {{does not run by PackedConv: channels are not the last axis}}
// expected-remark@+2 {{does not run by DepthwiseTiles: channels are not the last axis}}
// expected-remark@+1 {{does not run by DepthwiseConv: channels are not the last axis}}
kernel.func @first symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x8x9xf32>, %1: tensor<4x8x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1} : (tensor<1x8x9xf32>, tensor<4x8x3xf32>) -> tensor<1x4x7xf32>
  kernel.yield %2 : tensor<1x4x7xf32>
}
// CHECK: kernel.func @symbol {{.*}} schedule "PackedConv"
// expected-remark@+3 {{does not run by DirectConv: heights, widths or pads are not numbers}}
// expected-remark@+2 {{does not run by SmallConv: heights, widths or pads are not numbers}}
// expected-remark@+1 {{does not run by LineConv: its operands are neither pairs of bf16 nor bytes}}
kernel.func @symbol symbols ["n"] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x?x8xf32, #graph.dims<1, n, 8>>, %1: tensor<4x8x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1, channels_last} : (tensor<1x?x8xf32, #graph.dims<1, n, 8>>, tensor<4x8x3xf32>) -> tensor<1x?x4xf32, #graph.dims<1, n + -2, 4>>
  kernel.yield %2 : tensor<1x?x4xf32, #graph.dims<1, n + -2, 4>>
}
// CHECK: kernel.func @computed {{.*}} schedule "Generic"
// expected-remark@+6 {{does not run by DirectConv: the filter is no weight}}
// expected-remark@+5 {{does not run by SmallConv: the filter is no weight}}
// expected-remark@+4 {{does not run by LineConv: the filter is no weight}}
// expected-remark@+3 {{does not run by PackedConv: the filter is no weight}}
// expected-remark@+2 {{does not run by DepthwiseTiles: the filter is no weight}}
// expected-remark@+1 {{does not run by DepthwiseConv: the filter is no weight}}
kernel.func @computed symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x9x8xf32>, %1: tensor<4x8x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1, channels_last} : (tensor<1x9x8xf32>, tensor<4x8x3xf32>) -> tensor<1x7x4xf32>
  kernel.yield %2 : tensor<1x7x4xf32>
}

// -----

// Sizes that are numbers: by tiles of pixels, whole blocks of lines (all maps)
// to a thread, or where blocks are few, some panels of one.

// CHECK-LABEL: @by_pixels
func.func @by_pixels(%x: tensor<2x56x56x64xf32>, %y: tensor<2x14x14x256xf32>, %z: tensor<2x56x56x64xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<64x64x3x3xf32>
  %v = graph.weight {name = "v"} : () -> tensor<1024x256x1x1xf32>
  %u = graph.weight {name = "u"} : () -> tensor<96x16x3x3xf32>
  kernel.call @lines(%x, %w) params <> : (tensor<2x56x56x64xf32>, tensor<64x64x3x3xf32>) -> tensor<2x56x56x64xf32>
  kernel.call @matrix(%y, %v) params <> : (tensor<2x14x14x256xf32>, tensor<1024x256x1x1xf32>) -> tensor<2x14x14x1024xf32>
  kernel.call @groups(%z, %u) params <> : (tensor<2x56x56x64xf32>, tensor<96x16x3x3xf32>) -> tensor<2x56x56x96xf32>
  return
}
// CHECK: kernel.func @lines symbols [] layouts ["", "conv32"] schedule "DirectConv" geometry <112, 4, 89152>
kernel.func @lines symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<2x56x56x64xf32>, %1: tensor<64x64x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<2x56x56x64xf32>, tensor<64x64x3x3xf32>) -> tensor<2x56x56x64xf32>
  kernel.yield %2 : tensor<2x56x56x64xf32>
}
// CHECK: kernel.func @matrix symbols [] layouts ["", "conv32"] schedule "DirectConv" geometry <128, 8, 0>
kernel.func @matrix symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<2x14x14x256xf32>, %1: tensor<1024x256x1x1xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<2x14x14x256xf32>, tensor<1024x256x1x1xf32>) -> tensor<2x14x14x1024xf32>
  kernel.yield %2 : tensor<2x14x14x1024xf32>
}
// CHECK: kernel.func @groups symbols [] layouts ["", "conv32/4"] schedule "DirectConv"
kernel.func @groups symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<2x56x56x64xf32>, %1: tensor<96x16x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 4, channels_last} : (tensor<2x56x56x64xf32>, tensor<96x16x3x3xf32>) -> tensor<2x56x56x96xf32>
  kernel.yield %2 : tensor<2x56x56x96xf32>
}

// -----

// Pairs of bf16, widened in the kernel, are read as they are by two schedules,
// whose filter is packed in pairs of channels. One reads lines of the image;
// where runs of a window are no whole steps of a matrix unit, or lines do not
// fill its rows, windows are copied, and pixels read as they lie that cannot be
// cut into lines which do.
// Images share a block whose filter is too large for the cache.

// CHECK-LABEL: @by_pairs
func.func @by_pairs(%x: tensor<3x14x14x64xbf16>, %y: tensor<3x14x14x34xbf16>, %z: tensor<3x8x8x64xbf16>, %t: tensor<3x7x7x512xbf16>, %r: tensor<3x17x19x64xbf16>) {
  %w = graph.weight {name = "w"} : () -> tensor<100x64x3x3xbf16>
  %v = graph.weight {name = "v"} : () -> tensor<50x34x3x3xbf16>
  %u = graph.weight {name = "u"} : () -> tensor<100x64x1x1xbf16>
  kernel.call @lines(%x, %w) params <> : (tensor<3x14x14x64xbf16>, tensor<100x64x3x3xbf16>) -> tensor<3x14x14x100xf32>
  kernel.call @thin(%y, %v) params <> : (tensor<3x14x14x34xbf16>, tensor<50x34x3x3xbf16>) -> tensor<3x14x14x50xf32>
  kernel.call @short(%z, %w) params <> : (tensor<3x8x8x64xbf16>, tensor<100x64x3x3xbf16>) -> tensor<3x8x8x100xf32>
  %s = graph.weight {name = "s"} : () -> tensor<512x512x3x3xbf16>
  kernel.call @images(%t, %s) params <> : (tensor<3x7x7x512xbf16>, tensor<512x512x3x3xbf16>) -> tensor<3x7x7x512xf32>
  kernel.call @matrix(%x, %u) params <> : (tensor<3x14x14x64xbf16>, tensor<100x64x1x1xbf16>) -> tensor<3x14x14x100xf32>
  kernel.call @odd(%r, %u) params <> : (tensor<3x17x19x64xbf16>, tensor<100x64x1x1xbf16>) -> tensor<3x17x19x100xf32>
  return
}
// Two blocks of lines: of three panels of one block, two would be one thread's.
// The last two panels of 100 maps share what they have.
// CHECK: kernel.func @lines symbols [] layouts ["", "conv48_pairs_even"] schedule "LineConv" geometry <54, 6, 163904>
// expected-remark@+2 {{does not run by DirectConv: its operands are bf16}}
// expected-remark@+1 {{does not run by SmallConv: its operands are bf16}}
kernel.func @lines symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<3x14x14x64xbf16>, %1: tensor<100x64x3x3xbf16>):
  %2 = graph.cast %0 : (tensor<3x14x14x64xbf16>) -> tensor<3x14x14x64xf32>
  %3 = graph.cast %1 : (tensor<100x64x3x3xbf16>) -> tensor<100x64x3x3xf32>
  %4 = graph.conv %2, %3 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<3x14x14x64xf32>, tensor<100x64x3x3xf32>) -> tensor<3x14x14x100xf32>
  kernel.yield %4 : tensor<3x14x14x100xf32>
}
// CHECK: kernel.func @thin symbols [] layouts ["", "conv48_pairs"] schedule "PackedConv"
// expected-remark@+3 {{does not run by DirectConv: its operands are bf16}}
// expected-remark@+2 {{does not run by SmallConv: its operands are bf16}}
// expected-remark@+1 {{does not run by LineConv: a line of its windows has no parts that fill matrix units}}
kernel.func @thin symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<3x14x14x34xbf16>, %1: tensor<50x34x3x3xbf16>):
  %2 = graph.cast %0 : (tensor<3x14x14x34xbf16>) -> tensor<3x14x14x34xf32>
  %3 = graph.cast %1 : (tensor<50x34x3x3xbf16>) -> tensor<50x34x3x3xf32>
  %4 = graph.conv %2, %3 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<3x14x14x34xf32>, tensor<50x34x3x3xf32>) -> tensor<3x14x14x50xf32>
  kernel.yield %4 : tensor<3x14x14x50xf32>
}
// CHECK: kernel.func @short symbols [] layouts ["", "conv48_pairs"] schedule "PackedConv"
// expected-remark@+3 {{does not run by DirectConv: its operands are bf16}}
// expected-remark@+2 {{does not run by SmallConv: its operands are bf16}}
// expected-remark@+1 {{does not run by LineConv: its lines are short}}
kernel.func @short symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<3x8x8x64xbf16>, %1: tensor<100x64x3x3xbf16>):
  %2 = graph.cast %0 : (tensor<3x8x8x64xbf16>) -> tensor<3x8x8x64xf32>
  %3 = graph.cast %1 : (tensor<100x64x3x3xbf16>) -> tensor<100x64x3x3xf32>
  %4 = graph.conv %2, %3 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<3x8x8x64xf32>, tensor<100x64x3x3xf32>) -> tensor<3x8x8x100xf32>
  kernel.yield %4 : tensor<3x8x8x100xf32>
}
// CHECK: kernel.func @images symbols [] layouts ["", "conv48_pairs"] schedule "LineConv" geometry <22, 6, 2270592>
// expected-remark@+2 {{does not run by DirectConv: its operands are bf16}}
// expected-remark@+1 {{does not run by SmallConv: its operands are bf16}}
kernel.func @images symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<3x7x7x512xbf16>, %1: tensor<512x512x3x3xbf16>):
  %2 = graph.cast %0 : (tensor<3x7x7x512xbf16>) -> tensor<3x7x7x512xf32>
  %3 = graph.cast %1 : (tensor<512x512x3x3xbf16>) -> tensor<512x512x3x3xf32>
  %4 = graph.conv %2, %3 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<3x7x7x512xf32>, tensor<512x512x3x3xf32>) -> tensor<3x7x7x512xf32>
  kernel.yield %4 : tensor<3x7x7x512xf32>
}
// CHECK: kernel.func @matrix symbols [] layouts ["", "conv48_pairs_even"] schedule "LineConv" geometry <54, 6, 37376>
// expected-remark@+2 {{does not run by DirectConv: its operands are bf16}}
// expected-remark@+1 {{does not run by SmallConv: its operands are bf16}}
kernel.func @matrix symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<3x14x14x64xbf16>, %1: tensor<100x64x1x1xbf16>):
  %2 = graph.cast %0 : (tensor<3x14x14x64xbf16>) -> tensor<3x14x14x64xf32>
  %3 = graph.cast %1 : (tensor<100x64x1x1xbf16>) -> tensor<100x64x1x1xf32>
  %4 = graph.conv %2, %3 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<3x14x14x64xf32>, tensor<100x64x1x1xf32>) -> tensor<3x14x14x100xf32>
  kernel.yield %4 : tensor<3x14x14x100xf32>
}
// CHECK: kernel.func @odd symbols [] layouts ["", "conv48_pairs"] schedule "PackedConv"
// expected-remark@+3 {{does not run by DirectConv: its operands are bf16}}
// expected-remark@+2 {{does not run by SmallConv: its operands are bf16}}
// expected-remark@+1 {{does not run by LineConv: its windows are a matrix as they lie}}
kernel.func @odd symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<3x17x19x64xbf16>, %1: tensor<100x64x1x1xbf16>):
  %2 = graph.cast %0 : (tensor<3x17x19x64xbf16>) -> tensor<3x17x19x64xf32>
  %3 = graph.cast %1 : (tensor<100x64x1x1xbf16>) -> tensor<100x64x1x1xf32>
  %4 = graph.conv %2, %3 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<3x17x19x64xf32>, tensor<100x64x1x1xf32>) -> tensor<3x17x19x100xf32>
  kernel.yield %4 : tensor<3x17x19x100xf32>
}

// -----

// Of each channel by itself a convolution reads bytes, in one schedule.

// CHECK-LABEL: @by_bytes
func.func @by_bytes(%x: tensor<1x9x9x8xui8>, %z: tensor<ui8>) {
  %w = graph.weight {name = "w"} : () -> tensor<8x1x3x3xf32>
  kernel.call @bytes(%x, %z, %w) params <> : (tensor<1x9x9x8xui8>, tensor<ui8>, tensor<8x1x3x3xf32>) -> tensor<1x9x9x8xf32>
  return
}
// CHECK: kernel.func @bytes symbols [] layouts ["", "", "taps_first"] schedule "DepthwiseTiles"
// expected-remark@+4 {{does not run by DirectConv: its image is of bytes}}
// expected-remark@+3 {{does not run by SmallConv: its image is of bytes}}
// expected-remark@+2 {{does not run by LineConv: its image is of bytes}}
// expected-remark@+1 {{does not run by PackedConv: its image is of bytes}}
kernel.func @bytes symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x9x9x8xui8>, %1: tensor<ui8>, %2: tensor<8x1x3x3xf32>):
  %3 = graph.cast %0 : (tensor<1x9x9x8xui8>) -> tensor<1x9x9x8xi32>
  %4 = graph.cast %1 : (tensor<ui8>) -> tensor<i32>
  %5 = graph.sub %3, %4 : (tensor<1x9x9x8xi32>, tensor<i32>) -> tensor<1x9x9x8xi32>
  %6 = graph.cast %5 : (tensor<1x9x9x8xi32>) -> tensor<1x9x9x8xf32>
  %7 = graph.conv %6, %2 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 8, channels_last} : (tensor<1x9x9x8xf32>, tensor<8x1x3x3xf32>) -> tensor<1x9x9x8xf32>
  kernel.yield %7 : tensor<1x9x9x8xf32>
}

// -----

// Or an image of bf16, which it widens.

// CHECK-LABEL: @by_bf16
func.func @by_bf16(%x: tensor<1x9x9x8xbf16>) {
  %w = graph.weight {name = "w"} : () -> tensor<8x1x3x3xf32>
  kernel.call @narrow(%x, %w) params <> : (tensor<1x9x9x8xbf16>, tensor<8x1x3x3xf32>) -> tensor<1x9x9x8xf32>
  return
}
// CHECK: kernel.func @narrow symbols [] layouts ["", "taps_first"] schedule "DepthwiseTiles"
// expected-remark@+4 {{does not run by DirectConv: its image is of bf16}}
// expected-remark@+3 {{does not run by SmallConv: its image is of bf16}}
// expected-remark@+2 {{does not run by LineConv: its image is of bf16}}
// expected-remark@+1 {{does not run by PackedConv: its image is of bf16}}
kernel.func @narrow symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x9x9x8xbf16>, %1: tensor<8x1x3x3xf32>):
  %2 = graph.cast %0 : (tensor<1x9x9x8xbf16>) -> tensor<1x9x9x8xf32>
  %3 = graph.conv %2, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 8, channels_last} : (tensor<1x9x9x8xf32>, tensor<8x1x3x3xf32>) -> tensor<1x9x9x8xf32>
  kernel.yield %3 : tensor<1x9x9x8xf32>
}

// -----

// Where taps lie many lines apart, most of what is between those that a block
// reads would be copied in vain. Those of two lines are not far.

func.func @apart(%x: tensor<1x128x128x12xf32>, %y: tensor<1x128x128x12xbf16>) {
  %w = graph.weight {name = "w"} : () -> tensor<12x12x7x3xf32>
  %v = graph.weight {name = "v"} : () -> tensor<12x12x7x3xbf16>
  kernel.call @far(%x, %w) params <> : (tensor<1x128x128x12xf32>, tensor<12x12x7x3xf32>) -> tensor<1x128x128x12xf32>
  kernel.call @far_pairs(%y, %v) params <> : (tensor<1x128x128x12xbf16>, tensor<12x12x7x3xbf16>) -> tensor<1x128x128x12xf32>
  kernel.call @near(%x, %w) params <> : (tensor<1x128x128x12xf32>, tensor<12x12x7x3xf32>) -> tensor<1x128x128x12xf32>
  return
}
// CHECK: kernel.func @far symbols [] layouts ["", "conv48"] schedule "PackedConv"
// expected-remark@+3 {{does not run by DirectConv: its taps lie many lines apart}}
// expected-remark@+2 {{does not run by SmallConv: its images do not have 16 to 128 pixels}}
// expected-remark@+1 {{does not run by LineConv: its operands are neither pairs of bf16 nor bytes}}
kernel.func @far symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x128x128x12xf32>, %1: tensor<12x12x7x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 17, 1>, pads = #graph.dims<51, 1, 51, 1>, group = 1, channels_last} : (tensor<1x128x128x12xf32>, tensor<12x12x7x3xf32>) -> tensor<1x128x128x12xf32>
  kernel.yield %2 : tensor<1x128x128x12xf32>
}
// CHECK: kernel.func @far_pairs symbols [] layouts ["", "conv48_pairs"] schedule "PackedConv"
// expected-remark@+3 {{does not run by DirectConv: its operands are bf16}}
// expected-remark@+2 {{does not run by SmallConv: its operands are bf16}}
// expected-remark@+1 {{does not run by LineConv: its taps lie many lines apart}}
kernel.func @far_pairs symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x128x128x12xbf16>, %1: tensor<12x12x7x3xbf16>):
  %2 = graph.cast %0 : (tensor<1x128x128x12xbf16>) -> tensor<1x128x128x12xf32>
  %3 = graph.cast %1 : (tensor<12x12x7x3xbf16>) -> tensor<12x12x7x3xf32>
  %4 = graph.conv %2, %3 {strides = array<i64: 1, 1>, dilations = array<i64: 17, 1>, pads = #graph.dims<51, 1, 51, 1>, group = 1, channels_last} : (tensor<1x128x128x12xf32>, tensor<12x12x7x3xf32>) -> tensor<1x128x128x12xf32>
  kernel.yield %4 : tensor<1x128x128x12xf32>
}
// CHECK: kernel.func @near symbols [] layouts ["", "conv16"] schedule "DirectConv"
kernel.func @near symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x128x128x12xf32>, %1: tensor<12x12x7x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 2, 1>, pads = #graph.dims<6, 1, 6, 1>, group = 1, channels_last} : (tensor<1x128x128x12xf32>, tensor<12x12x7x3xf32>) -> tensor<1x128x128x12xf32>
  kernel.yield %2 : tensor<1x128x128x12xf32>
}

// -----

// Groups in bf16 run by lines: of four channels, four at once by a filter with
// zeros between them; of one spatial axis, too. A long line of one group has
// its windows copied.

// CHECK-LABEL: @groups_of_pairs
func.func @groups_of_pairs(%x: tensor<3x14x14x32xbf16>, %y: tensor<1x40x96xbf16>, %z: tensor<1x400x32xbf16>) {
  %w = graph.weight {name = "w"} : () -> tensor<64x4x3x3xbf16>
  %v = graph.weight {name = "v"} : () -> tensor<96x48x16xbf16>
  %u = graph.weight {name = "u"} : () -> tensor<64x32x3xbf16>
  kernel.call @few_channels(%x, %w) params <> : (tensor<3x14x14x32xbf16>, tensor<64x4x3x3xbf16>) -> tensor<3x14x14x64xf32>
  kernel.call @line(%y, %v) params <> : (tensor<1x40x96xbf16>, tensor<96x48x16xbf16>) -> tensor<1x41x96xf32>
  kernel.call @long(%z, %u) params <> : (tensor<1x400x32xbf16>, tensor<64x32x3xbf16>) -> tensor<1x400x64xf32>
  return
}
// CHECK: kernel.func @few_channels symbols [] layouts ["", "conv48/8x4_pairs"] schedule "LineConv"
// expected-remark@+2 {{does not run by DirectConv: its operands are bf16}}
// expected-remark@+1 {{does not run by SmallConv: its operands are bf16}}
kernel.func @few_channels symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<3x14x14x32xbf16>, %1: tensor<64x4x3x3xbf16>):
  %2 = graph.cast %0 : (tensor<3x14x14x32xbf16>) -> tensor<3x14x14x32xf32>
  %3 = graph.cast %1 : (tensor<64x4x3x3xbf16>) -> tensor<64x4x3x3xf32>
  %4 = graph.conv %2, %3 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 8, channels_last} : (tensor<3x14x14x32xf32>, tensor<64x4x3x3xf32>) -> tensor<3x14x14x64xf32>
  kernel.yield %4 : tensor<3x14x14x64xf32>
}
// CHECK: kernel.func @line symbols [] layouts ["", "conv48/2_pairs"] schedule "LineConv"
// expected-remark@+2 {{does not run by DirectConv: its operands are bf16}}
// expected-remark@+1 {{does not run by SmallConv: its operands are bf16}}
kernel.func @line symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x40x96xbf16>, %1: tensor<96x48x16xbf16>):
  %2 = graph.cast %0 : (tensor<1x40x96xbf16>) -> tensor<1x40x96xf32>
  %3 = graph.cast %1 : (tensor<96x48x16xbf16>) -> tensor<96x48x16xf32>
  %4 = graph.conv %2, %3 {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<8, 8>, group = 2, channels_last} : (tensor<1x40x96xf32>, tensor<96x48x16xf32>) -> tensor<1x41x96xf32>
  kernel.yield %4 : tensor<1x41x96xf32>
}
// CHECK: kernel.func @long symbols [] layouts ["", "conv48_pairs"] schedule "PackedConv"
// expected-remark@+3 {{does not run by DirectConv: its operands are bf16}}
// expected-remark@+2 {{does not run by SmallConv: its operands are bf16}}
// expected-remark@+1 {{does not run by LineConv: its line is long}}
kernel.func @long symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x400x32xbf16>, %1: tensor<64x32x3xbf16>):
  %2 = graph.cast %0 : (tensor<1x400x32xbf16>) -> tensor<1x400x32xf32>
  %3 = graph.cast %1 : (tensor<64x32x3xbf16>) -> tensor<64x32x3xf32>
  %4 = graph.conv %2, %3 {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<1, 1>, group = 1, channels_last} : (tensor<1x400x32xf32>, tensor<64x32x3xf32>) -> tensor<1x400x64xf32>
  kernel.yield %4 : tensor<1x400x64xf32>
}
