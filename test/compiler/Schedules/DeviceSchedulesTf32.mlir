// RUN: tenon-opt %s --apply-schedules="target=cuda without=MatmulTf32x3,MatmulTf32x3Small,ConvTf32x3,ConvTf32x3Small" --split-input-file | FileCheck %s --check-prefixes=ALL,ON
// RUN: tenon-opt %s --apply-schedules="target=cuda without=MatmulTf32,MatmulTf32Small,ConvTf32,ConvTf32Small" --split-input-file | FileCheck %s --check-prefixes=ALL,SPLIT
// RUN: tenon-opt %s --apply-schedules="target=cuda without=MatmulTf32,MatmulTf32Small,MatmulTf32x3,MatmulTf32x3Small,ConvTf32,ConvTf32Small,ConvTf32x3,ConvTf32x3Small" --split-input-file | FileCheck %s --check-prefixes=ALL,OFF

// Products of f32 run on tensor cores where that is allowed.

// ON: kernel.func @large {{.*}} schedule "MatmulTf32" geometry <144, 1, 0>
// SPLIT: kernel.func @large {{.*}} schedule "MatmulTf32x3" geometry <144, 1, 0>
// OFF: kernel.func @large {{.*}} schedule "MatmulSimt" geometry <144, 1, 0>
kernel.func @large symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<768x64xf32>, %1: tensor<64x3072xf32>):
  %2 = graph.matmul %0, %1 : (tensor<768x64xf32>, tensor<64x3072xf32>) -> tensor<768x3072xf32>
  kernel.yield %2 : tensor<768x3072xf32>
}

// -----

// ON: kernel.func @small {{.*}} schedule "MatmulTf32Small" geometry <264, 1, 0, 4325888>
// SPLIT: kernel.func @small {{.*}} schedule "MatmulTf32x3Small"
// OFF: kernel.func @small {{.*}} schedule "MatmulSimtSmall"
kernel.func @small symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<128x3072xf32>, %1: tensor<3072x768xf32>):
  %2 = graph.matmul %0, %1 : (tensor<128x3072xf32>, tensor<3072x768xf32>) -> tensor<128x768xf32>
  kernel.yield %2 : tensor<128x768xf32>
}

// -----

// Of few rows, reading rhs is what takes the time: those sums stay exact.

// ALL: kernel.func @few {{.*}} schedule "MatmulRows"
kernel.func @few symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x64xf32>, %1: tensor<64x3072xf32>):
  %2 = graph.matmul %0, %1 : (tensor<1x64xf32>, tensor<64x3072xf32>) -> tensor<1x3072xf32>
  kernel.yield %2 : tensor<1x3072xf32>
}

// -----

// Products of 16 bits are none of f32.

// ALL: kernel.func @half {{.*}} schedule "MatmulMmaSmall"
kernel.func @half symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<100x8xf16>, %1: tensor<8x100xf16>):
  %2 = graph.matmul %0, %1 : (tensor<100x8xf16>, tensor<8x100xf16>) -> tensor<100x100xf16>
  kernel.yield %2 : tensor<100x100xf16>
}

// -----

// So do convolutions by tiles, of all pixels or of few.

// ALL-LABEL: @convolutions
func.func @convolutions(%x: tensor<16x58x58x64xf32>, %y: tensor<1x9x9x64xf32>, %z: tensor<1x9x9x64xbf16>) {
  %w = graph.weight {name = "w"} : () -> tensor<128x64x3x3xf32>
  %v = graph.weight {name = "v"} : () -> tensor<128x64x3x3xbf16>
  %u = graph.weight {name = "u"} : () -> tensor<64x1x3x3xf32>
  kernel.call @many(%x, %w) params <> : (tensor<16x58x58x64xf32>, tensor<128x64x3x3xf32>) -> tensor<16x56x56x128xf32>
  kernel.call @one(%y, %w) params <> : (tensor<1x9x9x64xf32>, tensor<128x64x3x3xf32>) -> tensor<1x7x7x128xf32>
  kernel.call @narrow(%z, %v) params <> : (tensor<1x9x9x64xbf16>, tensor<128x64x3x3xbf16>) -> tensor<1x7x7x128xf32>
  kernel.call @depthwise(%y, %u) params <> : (tensor<1x9x9x64xf32>, tensor<64x1x3x3xf32>) -> tensor<1x7x7x64xf32>
  return
}
// ON: kernel.func @many {{.*}} layouts ["", "conv128"] schedule "ConvTf32" geometry <392, 1, 0>
// SPLIT: kernel.func @many {{.*}} schedule "ConvTf32x3" geometry <392, 1, 0>
// OFF: kernel.func @many {{.*}} schedule "ConvSimt" geometry <392, 1, 0>
kernel.func @many symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<16x58x58x64xf32>, %1: tensor<128x64x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<16x58x58x64xf32>, tensor<128x64x3x3xf32>) -> tensor<16x56x56x128xf32>
  kernel.yield %2 : tensor<16x56x56x128xf32>
}
// ON: kernel.func @one {{.*}} schedule "ConvTf32Small"
// SPLIT: kernel.func @one {{.*}} schedule "ConvTf32x3Small"
// OFF: kernel.func @one {{.*}} schedule "ConvSimtSmall"
kernel.func @one symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x9x9x64xf32>, %1: tensor<128x64x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<1x9x9x64xf32>, tensor<128x64x3x3xf32>) -> tensor<1x7x7x128xf32>
  kernel.yield %2 : tensor<1x7x7x128xf32>
}
// ALL: kernel.func @narrow {{.*}} schedule "ConvMmaSmall"
kernel.func @narrow symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x9x9x64xbf16>, %1: tensor<128x64x3x3xbf16>):
  %2 = graph.cast %0 : (tensor<1x9x9x64xbf16>) -> tensor<1x9x9x64xf32>
  %3 = graph.cast %1 : (tensor<128x64x3x3xbf16>) -> tensor<128x64x3x3xf32>
  %4 = graph.conv %2, %3 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<1x9x9x64xf32>, tensor<128x64x3x3xf32>) -> tensor<1x7x7x128xf32>
  kernel.yield %4 : tensor<1x7x7x128xf32>
}
// ALL: kernel.func @depthwise {{.*}} schedule "DepthwiseDevice"
kernel.func @depthwise symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x9x9x64xf32>, %1: tensor<64x1x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 64, channels_last} : (tensor<1x9x9x64xf32>, tensor<64x1x3x3xf32>) -> tensor<1x7x7x64xf32>
  kernel.yield %2 : tensor<1x7x7x64xf32>
}
