// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --lower-precision --split-input-file | FileCheck %s
// RUN: tenon-opt %s --lower-precision=explain --split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY
// RUN: tenon-opt %s --lower-precision="explain f16" --split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY16
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
// WHY16: remark: stays in f32: CPUs convolve in bf16 or f32
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

// A few maps of some depth stay in f32, whose vectors their channels fill; more maps do not.
// CHECK-LABEL: @few_maps
// CHECK:      graph.conv %{{.*}} -> tensor<1x60x60x3xf32>
// CHECK-NOT:  graph.conv %arg0
// CHECK:      bf16
// WHY: remark: stays in f32: it has few maps, which are fast in f32
// WHY16: remark: stays in f32
// NONE: remark: stays in f32
func.func @few_maps(%x: tensor<1x64x64x128xf32>) -> (tensor<1x60x60x3xf32>, tensor<1x60x60x12xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<3x128x5x5xf32>
  %v = graph.weight {name = "v"} : () -> tensor<12x128x5x5xf32>
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, group = 1 : i64,
      pads = #graph.dims<0, 0, 0, 0>, strides = array<i64: 1, 1>, channels_last}
      : (tensor<1x64x64x128xf32>, tensor<3x128x5x5xf32>) -> tensor<1x60x60x3xf32>
  %1 = graph.conv %x, %v {dilations = array<i64: 1, 1>, group = 1 : i64,
      pads = #graph.dims<0, 0, 0, 0>, strides = array<i64: 1, 1>, channels_last}
      : (tensor<1x64x64x128xf32>, tensor<12x128x5x5xf32>) -> tensor<1x60x60x12xf32>
  return %0, %1 : tensor<1x60x60x3xf32>, tensor<1x60x60x12xf32>
}

// -----

// Channels by themselves, many of an odd number, those that are not the last axis and small convolutions stay
// in f32, however large a filter is.
// CHECK-LABEL: @others
// CHECK-NOT:  bf16
// WHY: remark: stays in f32: its image is not made for it alone
// WHY: remark: stays in f32: channels do not lie in pairs
// WHY: remark: stays in f32: channels do not lie in pairs
// WHY: remark: stays in f32: it multiplies little
// WHY: remark: stays in f32: it has few maps, which are fast in f32
func.func @others(%x: tensor<1x9x9x512xf32>, %y: tensor<1x9x9x17xf32>,
                  %z: tensor<1x64x9x9xf32>)
    -> (tensor<1x7x7x512xf32>, tensor<1x7x7x512xf32>, tensor<1x64x7x7xf32>,
        tensor<1x7x7x32xf32>, tensor<1x7x7x2xf32>) {
  %v = graph.weight {name = "v"} : () -> tensor<512x1x3x3xf32>
  %w = graph.weight {name = "w"} : () -> tensor<512x17x3x3xf32>
  %t = graph.weight {name = "t"} : () -> tensor<64x64x3x3xf32>
  %s = graph.weight {name = "s"} : () -> tensor<2x512x1x1xf32>
  %0 = graph.conv %x, %v {dilations = array<i64: 1, 1>, group = 512 : i64,
      pads = #graph.dims<0, 0, 0, 0>, strides = array<i64: 1, 1>,
      channels_last}
      : (tensor<1x9x9x512xf32>, tensor<512x1x3x3xf32>) -> tensor<1x7x7x512xf32>
  %1 = graph.conv %y, %w {dilations = array<i64: 1, 1>, group = 1 : i64,
      pads = #graph.dims<0, 0, 0, 0>, strides = array<i64: 1, 1>,
      channels_last}
      : (tensor<1x9x9x17xf32>, tensor<512x17x3x3xf32>) -> tensor<1x7x7x512xf32>
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

// -----

// Groups run by lines, alone or some together; a small filter that multiplies
// much is rounded, too.
// CHECK-LABEL: @groups
// CHECK:      %[[X:.*]] = graph.cast %arg0 : {{.*}} -> tensor<1x56x56x32xbf16>
// CHECK-DAG:  graph.cast %{{.*}} : {{.*}} -> tensor<64x4x3x3xbf16>
// CHECK-DAG:  graph.cast %{{.*}} : {{.*}} -> tensor<16x32x1x1xbf16>
// CHECK:      %[[G:.*]] = graph.cast %[[X]]
// CHECK:      graph.conv %[[G]], {{.*}} group = 8 : i64
// CHECK:      %[[O:.*]] = graph.cast %[[X]]
// CHECK:      graph.conv %[[O]], {{.*}} group = 1 : i64
// NONE: remark: stays in f32
// WHY16: remark: stays in f32
func.func @groups(%x: tensor<1x56x56x32xf32>)
    -> (tensor<1x56x56x64xf32>, tensor<1x56x56x16xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<64x4x3x3xf32>
  %v = graph.weight {name = "v"} : () -> tensor<16x32x1x1xf32>
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, group = 8 : i64,
      pads = #graph.dims<1, 1, 1, 1>, strides = array<i64: 1, 1>, channels_last}
      : (tensor<1x56x56x32xf32>, tensor<64x4x3x3xf32>) -> tensor<1x56x56x64xf32>
  %1 = graph.conv %x, %v {dilations = array<i64: 1, 1>, group = 1 : i64,
      pads = #graph.dims<0, 0, 0, 0>, strides = array<i64: 1, 1>, channels_last}
      : (tensor<1x56x56x32xf32>, tensor<16x32x1x1xf32>) -> tensor<1x56x56x16xf32>
  return %0, %1 : tensor<1x56x56x64xf32>, tensor<1x56x56x16xf32>
}

// -----

// Not those of sizes that are not known, nor of channels that make no pairs,
// or no parts that a matrix unit takes at once.
// CHECK-LABEL: @odd_groups
// CHECK-NOT:  bf16
// WHY: remark: stays in f32: it has groups of one channel, or that do not run by lines
// WHY: remark: stays in f32: it has groups of one channel, or that do not run by lines
// WHY: remark: stays in f32: it has groups of one channel, or that do not run by lines
func.func @odd_groups(%x: tensor<1x?x56x32xf32, #graph.dims<1, h, 56, 32>>,
                      %y: tensor<1x56x56x51xf32>, %z: tensor<1x56x56x68xf32>)
    -> (tensor<1x?x56x64xf32, #graph.dims<1, h, 56, 64>>, tensor<1x56x56x51xf32>, tensor<1x56x56x68xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<64x4x3x3xf32>
  %v = graph.weight {name = "v"} : () -> tensor<51x17x3x3xf32>
  %u = graph.weight {name = "u"} : () -> tensor<68x34x3x3xf32>
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, group = 8 : i64,
      pads = #graph.dims<1, 1, 1, 1>, strides = array<i64: 1, 1>, channels_last}
      : (tensor<1x?x56x32xf32, #graph.dims<1, h, 56, 32>>, tensor<64x4x3x3xf32>)
      -> tensor<1x?x56x64xf32, #graph.dims<1, h, 56, 64>>
  %1 = graph.conv %y, %v {dilations = array<i64: 1, 1>, group = 3 : i64,
      pads = #graph.dims<1, 1, 1, 1>, strides = array<i64: 1, 1>, channels_last}
      : (tensor<1x56x56x51xf32>, tensor<51x17x3x3xf32>) -> tensor<1x56x56x51xf32>
  %2 = graph.conv %z, %u {dilations = array<i64: 1, 1>, group = 2 : i64,
      pads = #graph.dims<1, 1, 1, 1>, strides = array<i64: 1, 1>, channels_last}
      : (tensor<1x56x56x68xf32>, tensor<68x34x3x3xf32>) -> tensor<1x56x56x68xf32>
  return %0, %1, %2 : tensor<1x?x56x64xf32, #graph.dims<1, h, 56, 64>>, tensor<1x56x56x51xf32>, tensor<1x56x56x68xf32>
}

// -----

// The first convolution of a network, whose lines its stride divides: two
// pixels become one of six channels, which has pairs. Windows start with a tap
// of zeros, at such a pixel. Of the numbers behind it the largest is taken of
// rounded ones.
// CHECK-LABEL: @first
// CHECK:      %[[I:.*]] = graph.cast %arg0 : {{.*}} -> tensor<1x64x64x3xbf16>
// CHECK:      %[[F:.*]] = graph.pad %{{.*}} {low = #graph.dims<0, 0, 0, 1>, {{.*}} : (tensor<64x3x7x7xf32>, tensor<f32>) -> tensor<64x3x7x8xf32>
// CHECK:      %[[S:.*]] = graph.reshape %[[F]] : {{.*}} -> tensor<64x3x7x4x2xf32>
// CHECK:      %[[T:.*]] = graph.transpose %[[S]] {permutation = array<i64: 0, 4, 1, 2, 3>}
// CHECK:      %[[C:.*]] = graph.cast %[[T]] : {{.*}} -> tensor<64x2x3x7x4xbf16>
// CHECK:      graph.reshape %[[C]] : {{.*}} -> tensor<64x6x7x4xbf16>
// CHECK:      graph.reshape %[[I]] : {{.*}} -> tensor<1x64x32x6xbf16>
// CHECK:      %[[Y:.*]] = graph.conv {{.*}} pads = #graph.dims<3, 2, 3, 1>, strides = array<i64: 2, 1>{{.*}} -> tensor<1x32x32x64xf32>
// CHECK:      %[[N:.*]] = graph.cast %[[Y]] : {{.*}} -> tensor<1x32x32x64xbf16>
// CHECK-NEXT: %[[P:.*]] = graph.max_pool %[[N]] {{.*}} -> tensor<1x16x16x64xbf16>
// CHECK-NOT:  graph.max_pool
// CHECK:      %[[X:.*]] = graph.cast %[[P]] : {{.*}} -> tensor<1x16x16x64xf32>
// CHECK:      graph.conv %[[X]],
func.func @first(%x: tensor<1x64x64x3xf32>) -> tensor<1x16x16x64xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<64x3x7x7xf32>
  %v = graph.weight {name = "v"} : () -> tensor<64x64x1x1xf32>
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, group = 1 : i64,
      pads = #graph.dims<3, 3, 3, 3>, strides = array<i64: 2, 2>,
      channels_last}
      : (tensor<1x64x64x3xf32>, tensor<64x3x7x7xf32>) -> tensor<1x32x32x64xf32>
  %1 = graph.max_pool %0 {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>,
      dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>,
      channels_last} : (tensor<1x32x32x64xf32>) -> tensor<1x16x16x64xf32>
  %2 = graph.conv %1, %v {dilations = array<i64: 1, 1>, group = 1 : i64,
      pads = #graph.dims<0, 0, 0, 0>, strides = array<i64: 1, 1>,
      channels_last}
      : (tensor<1x16x16x64xf32>, tensor<64x64x1x1xf32>) -> tensor<1x16x16x64xf32>
  return %2 : tensor<1x16x16x64xf32>
}

// -----

// Lines of an odd number of pixels: image and filter get a fourth channel, and
// the filter an eighth tap, of zeros, with room for it behind the image.
// CHECK-LABEL: @odd
// CHECK:      %[[I:.*]] = graph.pad %arg0, {{.*}} -> tensor<1x64x63x4xf32>
// CHECK:      graph.cast %[[I]] : {{.*}} -> tensor<1x64x63x4xbf16>
// CHECK:      %[[F:.*]] = graph.pad %{{.*}} : (tensor<64x3x7x7xf32>, tensor<f32>) -> tensor<64x4x7x8xf32>
// CHECK:      graph.cast %[[F]] : {{.*}} -> tensor<64x4x7x8xbf16>
// CHECK:      graph.conv {{.*}} pads = #graph.dims<3, 3, 3, 4>, {{.*}} -> tensor<1x32x32x64xf32>
func.func @odd(%x: tensor<1x64x63x3xf32>) -> tensor<1x32x32x64xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<64x3x7x7xf32>
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, group = 1 : i64,
      pads = #graph.dims<3, 3, 3, 3>, strides = array<i64: 2, 2>,
      channels_last}
      : (tensor<1x64x63x3xf32>, tensor<64x3x7x7xf32>) -> tensor<1x32x32x64xf32>
  return %0 : tensor<1x32x32x64xf32>
}

// -----

// Pixels of a stride of three have nine channels, an odd number.
// CHECK-LABEL: @stride_of_three
// CHECK:      graph.pad %arg0, {{.*}} -> tensor<1x63x63x4xf32>
// CHECK:      graph.conv {{.*}} strides = array<i64: 3, 3>
func.func @stride_of_three(%x: tensor<1x63x63x3xf32>)
    -> tensor<1x20x20x64xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<64x3x5x5xf32>
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, group = 1 : i64,
      pads = #graph.dims<0, 0, 0, 0>, strides = array<i64: 3, 3>,
      channels_last}
      : (tensor<1x63x63x3xf32>, tensor<64x3x5x5xf32>) -> tensor<1x20x20x64xf32>
  return %0 : tensor<1x20x20x64xf32>
}

// -----

// Of two convolutions that are summed the second one's kernel stores 16 bits,
// behind the ops with constants that are between; a product is none.
// CHECK-LABEL: @shortcut
// CHECK:      %[[A:.*]] = graph.conv
// CHECK:      %[[B:.*]] = graph.conv
// CHECK:      %[[C:.*]] = graph.neg %[[B]]
// CHECK:      %[[D:.*]] = graph.add %[[C]], %{{.*}}
// CHECK-NEXT: %[[N:.*]] = graph.cast %[[D]] : {{.*}} -> tensor<1x16x16x64xbf16>
// CHECK-NEXT: %[[W:.*]] = graph.cast %[[N]]
// CHECK-NEXT: graph.add %[[A]], %[[W]]
func.func @shortcut(%x: tensor<1x16x16x64xf32>) -> tensor<1x16x16x64xf32> {
  %v = graph.weight {name = "v"} : () -> tensor<64x64x1x1xf32>
  %w = graph.weight {name = "w"} : () -> tensor<64x64x3x3xf32>
  %c = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, group = 1 : i64,
      pads = #graph.dims<1, 1, 1, 1>, strides = array<i64: 1, 1>,
      channels_last}
      : (tensor<1x16x16x64xf32>, tensor<64x64x3x3xf32>) -> tensor<1x16x16x64xf32>
  %1 = graph.conv %x, %v {dilations = array<i64: 1, 1>, group = 1 : i64,
      pads = #graph.dims<0, 0, 0, 0>, strides = array<i64: 1, 1>,
      channels_last}
      : (tensor<1x16x16x64xf32>, tensor<64x64x1x1xf32>) -> tensor<1x16x16x64xf32>
  %2 = graph.neg %1 : (tensor<1x16x16x64xf32>) -> tensor<1x16x16x64xf32>
  %3 = graph.add %2, %c : (tensor<1x16x16x64xf32>, tensor<f32>)
      -> tensor<1x16x16x64xf32>
  %4 = graph.add %0, %3 : (tensor<1x16x16x64xf32>, tensor<1x16x16x64xf32>)
      -> tensor<1x16x16x64xf32>
  return %4 : tensor<1x16x16x64xf32>
}

// -----

// What has no kernel for the bits that it asks for is multiplied in bf16; an
// image that was calibrated is for lower-static-int8. A copy by which
// probe-precision measures is no reason to round what others read.
// CHECK-LABEL: @bits
// CHECK:      %[[X:.*]] = graph.cast %{{.*}} : {{.*}} -> tensor<1x19x19x64xf32>
// CHECK:      graph.conv %[[X]], %{{.*}} {{.*}}graph.precision = "bf16"
// CHECK:      graph.conv %{{.*}}, %{{.*}} {{.*}}graph.precision = "bf16"
// CHECK:      graph.conv %arg0, %{{.*}} {{.*}}graph.precision = "int8"
// CHECK:      graph.add %{{.*}}, %arg0
func.func @bits(%x: tensor<1x19x19x64xf32>)
    -> (tensor<1x19x19x64xf32>, tensor<1x19x19x64xf32>,
        tensor<1x19x19x64xf32>, tensor<1x19x19x64xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<64x64x1x1xf32>
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, group = 1 : i64,
      pads = #graph.dims<0, 0, 0, 0>, strides = array<i64: 1, 1>,
      channels_last, graph.op = "probe 0", graph.precision = "int8"}
      : (tensor<1x19x19x64xf32>, tensor<64x64x1x1xf32>) -> tensor<1x19x19x64xf32>
  %1 = graph.conv %x, %w {dilations = array<i64: 1, 1>, group = 1 : i64,
      pads = #graph.dims<0, 0, 0, 0>, strides = array<i64: 1, 1>,
      channels_last, graph.op = "probe 1", graph.precision = "int4-weights"}
      : (tensor<1x19x19x64xf32>, tensor<64x64x1x1xf32>) -> tensor<1x19x19x64xf32>
  %2 = graph.conv %x, %w {dilations = array<i64: 1, 1>, group = 1 : i64,
      pads = #graph.dims<0, 0, 0, 0>, strides = array<i64: 1, 1>,
      channels_last, graph.lhs = {scale = 0.25 : f32, zero = 3}, graph.precision = "int8"}
      : (tensor<1x19x19x64xf32>, tensor<64x64x1x1xf32>) -> tensor<1x19x19x64xf32>
  %3 = graph.add %2, %x : (tensor<1x19x19x64xf32>, tensor<1x19x19x64xf32>)
      -> tensor<1x19x19x64xf32>
  return %0, %1, %2, %3 : tensor<1x19x19x64xf32>, tensor<1x19x19x64xf32>,
      tensor<1x19x19x64xf32>, tensor<1x19x19x64xf32>
}

// -----

// Of a convolution of each channel by itself the image alone is rounded, which
// is as much less to move; where nobody else reads it, and a kernel makes it.
// CHECK-LABEL: @each_channel
// CHECK:      %[[E:.*]] = graph.exp %arg0
// CHECK-NEXT: %[[N:.*]] = graph.cast %[[E]] : {{.*}} -> tensor<1x9x9x64xbf16>
// CHECK:      %[[X:.*]] = graph.cast %[[N]] : {{.*}} -> tensor<1x9x9x64xf32>
// CHECK-NEXT: %[[Y:.*]] = graph.conv %[[X]], %[[V:[0-9]+]] {{.*}} group = 64
// CHECK-NEXT: %[[Z:.*]] = graph.conv %[[Y]], %[[V]] {{.*}} group = 64
// CHECK-NEXT: graph.add %[[Z]], %[[Y]]
// CHECK:      graph.conv %arg0, %[[V]] {{.*}} group = 64
// WHY: remark: stays in f32: its image is not made for it alone
// WHY: remark: stays in f32: its image is not made for it alone
// NONE: remark: stays in f32: no CPU level of the program multiplies pairs of bf16
func.func @each_channel(%x: tensor<1x9x9x64xf32>)
    -> (tensor<1x9x9x64xf32>, tensor<1x9x9x64xf32>) {
  %v = graph.weight {name = "v"} : () -> tensor<64x1x3x3xf32>
  %e = graph.exp %x : (tensor<1x9x9x64xf32>) -> tensor<1x9x9x64xf32>
  %0 = graph.conv %e, %v {dilations = array<i64: 1, 1>, group = 64 : i64,
      pads = #graph.dims<1, 1, 1, 1>, strides = array<i64: 1, 1>,
      channels_last}
      : (tensor<1x9x9x64xf32>, tensor<64x1x3x3xf32>) -> tensor<1x9x9x64xf32>
  %1 = graph.conv %0, %v {dilations = array<i64: 1, 1>, group = 64 : i64,
      pads = #graph.dims<1, 1, 1, 1>, strides = array<i64: 1, 1>,
      channels_last}
      : (tensor<1x9x9x64xf32>, tensor<64x1x3x3xf32>) -> tensor<1x9x9x64xf32>
  %2 = graph.add %1, %0 : (tensor<1x9x9x64xf32>, tensor<1x9x9x64xf32>)
      -> tensor<1x9x9x64xf32>
  %3 = graph.conv %x, %v {dilations = array<i64: 1, 1>, group = 64 : i64,
      pads = #graph.dims<1, 1, 1, 1>, strides = array<i64: 1, 1>,
      channels_last}
      : (tensor<1x9x9x64xf32>, tensor<64x1x3x3xf32>) -> tensor<1x9x9x64xf32>
  return %2, %3 : tensor<1x9x9x64xf32>, tensor<1x9x9x64xf32>
}
