// RUN: tenon-opt %s --apply-schedules="target=cuda explain=true without=ConvTf32,ConvTf32Small,ConvTf32x3,ConvTf32x3Small" --split-input-file --verify-diagnostics | FileCheck %s

// With channels last, a filter that is a weight is packed by the maps of a
// group, and a row of the launch is a tile: of 64 x 64 where few blocks would
// have work, with taps shared by several (their sums are the kernel's scratch),
// else of 128 x 64. Where n decides, a kernel for few images and one for many.

// CHECK-LABEL: @by_weight
func.func @by_weight(%x: tensor<?x9x9x8xf32, #graph.dims<n, 9, 9, 8>>, %y: tensor<1x9x9x32xbf16>) {
  %w = graph.weight {name = "w"} : () -> tensor<50x8x3x3xf32>
  %v = graph.weight {name = "v"} : () -> tensor<24x16x3x3xbf16>
  kernel.call @conv(%x, %w) params <n> : (tensor<?x9x9x8xf32, #graph.dims<n, 9, 9, 8>>, tensor<50x8x3x3xf32>) -> tensor<?x7x7x50xf32, #graph.dims<n, 7, 7, 50>>
  kernel.call @groups(%y, %v) params <> : (tensor<1x9x9x32xbf16>, tensor<24x16x3x3xbf16>) -> tensor<1x7x7x24xf32>
  return
}
// CHECK: kernel.func @conv symbols ["n"] layouts ["", "conv56"] schedule "ConvSimtSmall" geometry <floordiv(49 * n + 63, 64) * min(1, max(0, -1 * floordiv(49 * n + 127, 128) + 128)){{.*}}> attributes {otherwise = @conv_else1}
// CHECK: kernel.func @conv_else1 symbols ["n"] layouts ["", "conv56"] schedule "ConvSimt" geometry <{{.*}} + floordiv(49 * n + 127, 128), 1, 0>
// expected-remark@+3 {{does not run by DepthwiseDevice: a group has several channels or maps}}
// expected-remark@+2 {{does not run by ConvMmaSmall: its operands are neither bf16 nor f16}}
// expected-remark@+1 {{does not run by ConvMma: its operands are neither bf16 nor f16}}
kernel.func @conv symbols ["n"] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<?x9x9x8xf32, #graph.dims<n, 9, 9, 8>>, %1: tensor<50x8x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<?x9x9x8xf32, #graph.dims<n, 9, 9, 8>>, tensor<50x8x3x3xf32>) -> tensor<?x7x7x50xf32, #graph.dims<n, 7, 7, 50>>
  kernel.yield %2 : tensor<?x7x7x50xf32, #graph.dims<n, 7, 7, 50>>
}
// CHECK: kernel.func @groups symbols [] layouts ["", "conv16/2"] schedule "ConvMmaSmall" geometry <2, 1, 0>
// expected-remark@+1 {{does not run by DepthwiseDevice: a group has several channels or maps}}
kernel.func @groups symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x9x9x32xbf16>, %1: tensor<24x16x3x3xbf16>):
  %2 = graph.cast %0 : (tensor<1x9x9x32xbf16>) -> tensor<1x9x9x32xf32>
  %3 = graph.cast %1 : (tensor<24x16x3x3xbf16>) -> tensor<24x16x3x3xf32>
  %4 = graph.conv %2, %3 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 2, channels_last} : (tensor<1x9x9x32xf32>, tensor<24x16x3x3xf32>) -> tensor<1x7x7x24xf32>
  kernel.yield %4 : tensor<1x7x7x24xf32>
}

// -----

// A filter that is computed, channels in the second axis and groups of few maps
// are left to the generic schedule.

// CHECK-LABEL: @others
func.func @others(%x: tensor<1x8x9xf32>, %y: tensor<1x9x8xf32>, %f: tensor<8x8x3xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<8x8x3xf32>
  %v = graph.weight {name = "v"} : () -> tensor<16x2x3xf32>
  kernel.call @first(%x, %w) params <> : (tensor<1x8x9xf32>, tensor<8x8x3xf32>) -> tensor<1x8x7xf32>
  kernel.call @computed(%y, %f) params <> : (tensor<1x9x8xf32>, tensor<8x8x3xf32>) -> tensor<1x7x8xf32>
  kernel.call @few(%y, %v) params <> : (tensor<1x9x8xf32>, tensor<16x2x3xf32>) -> tensor<1x7x16xf32>
  return
}
// CHECK: kernel.func @first {{.*}} schedule "Generic"
// expected-remark@+5 {{by DepthwiseDevice: channels are not the last axis}}
// expected-remark@+4 {{by ConvMmaSmall: channels are not the last axis}}
// expected-remark@+3 {{by ConvMma: channels are not the last axis}}
// expected-remark@+2 {{by ConvSimtSmall: channels are not the last axis}}
// expected-remark@+1 {{by ConvSimt: channels are not the last axis}}
kernel.func @first symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x8x9xf32>, %1: tensor<8x8x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1} : (tensor<1x8x9xf32>, tensor<8x8x3xf32>) -> tensor<1x8x7xf32>
  kernel.yield %2 : tensor<1x8x7xf32>
}
// CHECK: kernel.func @computed {{.*}} schedule "Generic"
// expected-remark@+5 {{by DepthwiseDevice: the filter is no weight}}
// expected-remark@+4 {{by ConvMmaSmall: the filter is no weight}}
// expected-remark@+3 {{by ConvMma: the filter is no weight}}
// expected-remark@+2 {{by ConvSimtSmall: the filter is no weight}}
// expected-remark@+1 {{by ConvSimt: the filter is no weight}}
kernel.func @computed symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x9x8xf32>, %1: tensor<8x8x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1, channels_last} : (tensor<1x9x8xf32>, tensor<8x8x3xf32>) -> tensor<1x7x8xf32>
  kernel.yield %2 : tensor<1x7x8xf32>
}
// CHECK: kernel.func @few {{.*}} schedule "Generic"
// expected-remark@+5 {{by DepthwiseDevice: a group has several channels or maps}}
// expected-remark@+4 {{by ConvMmaSmall: its operands are neither bf16 nor f16}}
// expected-remark@+3 {{by ConvMma: its operands are neither bf16 nor f16}}
// expected-remark@+2 {{by ConvSimtSmall: it has so few pixels, or maps in a group, that tiles would be mostly empty}}
// expected-remark@+1 {{by ConvSimt: it has so few pixels, or maps in a group, that tiles would be mostly empty}}
kernel.func @few symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x9x8xf32>, %1: tensor<16x2x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 4, channels_last} : (tensor<1x9x8xf32>, tensor<16x2x3xf32>) -> tensor<1x7x16xf32>
  kernel.yield %2 : tensor<1x7x16xf32>
}

// -----

// A group for each channel: a row of the launch is a thread, with four channels
// of two pixels where images are small.

// CHECK-LABEL: @by_channel
func.func @by_channel(%x: tensor<1x9x9x8xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<8x1x3x3xf32>
  kernel.call @depthwise(%x, %w) params <> : (tensor<1x9x9x8xf32>, tensor<8x1x3x3xf32>) -> tensor<1x7x7x8xf32>
  return
}
// CHECK: kernel.func @depthwise symbols [] layouts ["", "taps_first"] schedule "DepthwiseDevice" geometry <56, 128, 0>
kernel.func @depthwise symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x9x9x8xf32>, %1: tensor<8x1x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 8, channels_last} : (tensor<1x9x9x8xf32>, tensor<8x1x3x3xf32>) -> tensor<1x7x7x8xf32>
  kernel.yield %2 : tensor<1x7x7x8xf32>
}
