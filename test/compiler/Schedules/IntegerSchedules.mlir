// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --apply-schedules=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// 8-bit numbers less zero points by a weight of such.

// CHECK-LABEL: @by_weight
func.func @by_weight(%x: tensor<?x64xui8, #graph.dims<B, 64>>, %z: tensor<ui8>) {
  %w = graph.weight {name = "w"} : () -> tensor<64x100xi8>
  kernel.call @matmul(%x, %z, %w) params <B> : (tensor<?x64xui8, #graph.dims<B, 64>>, tensor<ui8>, tensor<64x100xi8>) -> tensor<?x100xf32, #graph.dims<B, 100>>
  return
}
// CHECK: kernel.func @matmul {{.*}} layouts ["", "", "packed48_quads"] schedule "PackedMatmulInt8"
kernel.func @matmul symbols ["d0"] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%x: tensor<?x64xui8, #graph.dims<d0, 64>>, %z: tensor<ui8>, %w: tensor<64x100xi8>):
  %0 = graph.cast %x : (tensor<?x64xui8, #graph.dims<d0, 64>>) -> tensor<?x64xi32, #graph.dims<d0, 64>>
  %1 = graph.cast %z : (tensor<ui8>) -> tensor<i32>
  %2 = graph.sub %0, %1 : (tensor<?x64xi32, #graph.dims<d0, 64>>, tensor<i32>) -> tensor<?x64xi32, #graph.dims<d0, 64>>
  %3 = graph.cast %w : (tensor<64x100xi8>) -> tensor<64x100xi32>
  %4 = graph.matmul %2, %3 : (tensor<?x64xi32, #graph.dims<d0, 64>>, tensor<64x100xi32>) -> tensor<?x100xi32, #graph.dims<d0, 100>>
  %5 = graph.cast %4 : (tensor<?x100xi32, #graph.dims<d0, 100>>) -> tensor<?x100xf32, #graph.dims<d0, 100>>
  kernel.yield %5 : tensor<?x100xf32, #graph.dims<d0, 100>>
}

// -----

// CHECK-LABEL: @refusals
func.func @refusals(%x: tensor<4x64xui8>, %y: tensor<64x8xi8>, %i: tensor<4x64xi32>, %c: tensor<1x64xi32>) {
  %w = graph.weight {name = "w"} : () -> tensor<64x8xi8>
  kernel.call @activations(%x, %y) params <> : (tensor<4x64xui8>, tensor<64x8xi8>) -> tensor<4x8xi32>
  kernel.call @wide(%i, %w) params <> : (tensor<4x64xi32>, tensor<64x8xi8>) -> tensor<4x8xi32>
  kernel.call @zeros_along_k(%x, %c, %w) params <> : (tensor<4x64xui8>, tensor<1x64xi32>, tensor<64x8xi8>) -> tensor<4x8xi32>
  return
}
// CHECK: kernel.func @activations {{.*}} schedule "BatchedMatmulInt8"
// expected-remark@+1 {{by PackedMatmulInt8: rhs is no weight}}
kernel.func @activations symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%x: tensor<4x64xui8>, %y: tensor<64x8xi8>):
  %0 = graph.cast %x : (tensor<4x64xui8>) -> tensor<4x64xi32>
  %1 = graph.cast %y : (tensor<64x8xi8>) -> tensor<64x8xi32>
  %2 = graph.matmul %0, %1 : (tensor<4x64xi32>, tensor<64x8xi32>) -> tensor<4x8xi32>
  kernel.yield %2 : tensor<4x8xi32>
}
// CHECK: kernel.func @wide {{.*}} schedule "Generic"
// expected-remark@+2 {{by PackedMatmulInt8: its operands are no matrices of ui8 or i8 less zero points}}
// expected-remark@+1 {{by BatchedMatmulInt8: its operands are no matrices of ui8 or i8 less zero points}}
kernel.func @wide symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%x: tensor<4x64xi32>, %w: tensor<64x8xi8>):
  %1 = graph.cast %w : (tensor<64x8xi8>) -> tensor<64x8xi32>
  %2 = graph.matmul %x, %1 : (tensor<4x64xi32>, tensor<64x8xi32>) -> tensor<4x8xi32>
  kernel.yield %2 : tensor<4x8xi32>
}
// CHECK: kernel.func @zeros_along_k {{.*}} schedule "Generic"
// expected-remark@+2 {{by PackedMatmulInt8: its operands are no matrices of ui8 or i8 less zero points}}
// expected-remark@+1 {{by BatchedMatmulInt8: its operands are no matrices of ui8 or i8 less zero points}}
kernel.func @zeros_along_k symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%x: tensor<4x64xui8>, %c: tensor<1x64xi32>, %w: tensor<64x8xi8>):
  %0 = graph.cast %x : (tensor<4x64xui8>) -> tensor<4x64xi32>
  %z = graph.sub %0, %c : (tensor<4x64xi32>, tensor<1x64xi32>) -> tensor<4x64xi32>
  %1 = graph.cast %w : (tensor<64x8xi8>) -> tensor<64x8xi32>
  %2 = graph.matmul %z, %1 : (tensor<4x64xi32>, tensor<64x8xi32>) -> tensor<4x8xi32>
  kernel.yield %2 : tensor<4x8xi32>
}

// -----

// Two activations, one of them seen through a transpose: i8 rows are copied, and
// a panel serves a group of two blocks; ui8 rows are read as they lie, and a
// panel serves many.

// CHECK-LABEL: @heads
func.func @heads(%q: tensor<12x?x64xi8, #graph.dims<12, S, 64>>, %u: tensor<12x?x64xui8, #graph.dims<12, S, 64>>, %k: tensor<12x?x64xi8, #graph.dims<12, T, 64>>, %z: tensor<i8>) {
  kernel.call @copied(%q, %k, %z) params <S, T> : (tensor<12x?x64xi8, #graph.dims<12, S, 64>>, tensor<12x?x64xi8, #graph.dims<12, T, 64>>, tensor<i8>) -> tensor<12x?x?xi32, #graph.dims<12, S, T>>
  kernel.call @in_place(%u, %k, %z) params <S, T> : (tensor<12x?x64xui8, #graph.dims<12, S, 64>>, tensor<12x?x64xi8, #graph.dims<12, T, 64>>, tensor<i8>) -> tensor<12x?x?xi32, #graph.dims<12, S, T>>
  return
}
// CHECK: kernel.func @copied {{.*}} schedule "BatchedMatmulInt8" geometry <{{.*}}, 11968>
// expected-remark@+1 {{by PackedMatmulInt8: rhs is no weight}}
kernel.func @copied symbols ["s", "t"] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%q: tensor<12x?x64xi8, #graph.dims<12, s, 64>>, %k: tensor<12x?x64xi8, #graph.dims<12, t, 64>>, %z: tensor<i8>):
  %0 = graph.transpose %k {permutation = array<i64: 0, 2, 1>} : (tensor<12x?x64xi8, #graph.dims<12, t, 64>>) -> tensor<12x64x?xi8, #graph.dims<12, 64, t>>
  %1 = graph.cast %q : (tensor<12x?x64xi8, #graph.dims<12, s, 64>>) -> tensor<12x?x64xi32, #graph.dims<12, s, 64>>
  %2 = graph.cast %0 : (tensor<12x64x?xi8, #graph.dims<12, 64, t>>) -> tensor<12x64x?xi32, #graph.dims<12, 64, t>>
  %3 = graph.cast %z : (tensor<i8>) -> tensor<i32>
  %4 = graph.sub %2, %3 : (tensor<12x64x?xi32, #graph.dims<12, 64, t>>, tensor<i32>) -> tensor<12x64x?xi32, #graph.dims<12, 64, t>>
  %5 = graph.matmul %1, %4 : (tensor<12x?x64xi32, #graph.dims<12, s, 64>>, tensor<12x64x?xi32, #graph.dims<12, 64, t>>) -> tensor<12x?x?xi32, #graph.dims<12, s, t>>
  kernel.yield %5 : tensor<12x?x?xi32, #graph.dims<12, s, t>>
}
// CHECK: kernel.func @in_place {{.*}} schedule "BatchedMatmulInt8" geometry <{{.*}}, 11456>
// expected-remark@+1 {{by PackedMatmulInt8: rhs is no weight}}
kernel.func @in_place symbols ["s", "t"] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%q: tensor<12x?x64xui8, #graph.dims<12, s, 64>>, %k: tensor<12x?x64xi8, #graph.dims<12, t, 64>>, %z: tensor<i8>):
  %0 = graph.transpose %k {permutation = array<i64: 0, 2, 1>} : (tensor<12x?x64xi8, #graph.dims<12, t, 64>>) -> tensor<12x64x?xi8, #graph.dims<12, 64, t>>
  %1 = graph.cast %q : (tensor<12x?x64xui8, #graph.dims<12, s, 64>>) -> tensor<12x?x64xi32, #graph.dims<12, s, 64>>
  %2 = graph.cast %0 : (tensor<12x64x?xi8, #graph.dims<12, 64, t>>) -> tensor<12x64x?xi32, #graph.dims<12, 64, t>>
  %3 = graph.cast %z : (tensor<i8>) -> tensor<i32>
  %4 = graph.sub %2, %3 : (tensor<12x64x?xi32, #graph.dims<12, 64, t>>, tensor<i32>) -> tensor<12x64x?xi32, #graph.dims<12, 64, t>>
  %5 = graph.matmul %1, %4 : (tensor<12x?x64xi32, #graph.dims<12, s, 64>>, tensor<12x64x?xi32, #graph.dims<12, 64, t>>) -> tensor<12x?x?xi32, #graph.dims<12, s, t>>
  kernel.yield %5 : tensor<12x?x?xi32, #graph.dims<12, s, t>>
}

// -----

// Convolutions read bytes by four: those of a line together, or of each tap
// where lines are dilated.

// CHECK-LABEL: @convolutions
func.func @convolutions(%x: tensor<1x9x9x3xi8>, %z: tensor<i8>) {
  %w = graph.weight {name = "w"} : () -> tensor<50x3x3x3xui8>
  kernel.call @conv(%x, %z, %w) params <> : (tensor<1x9x9x3xi8>, tensor<i8>, tensor<50x3x3x3xui8>) -> tensor<1x9x9x50xi32>
  kernel.call @dilated(%x, %w) params <> : (tensor<1x9x9x3xi8>, tensor<50x3x3x3xui8>) -> tensor<1x5x5x50xi32>
  return
}
// CHECK: kernel.func @conv {{.*}} layouts ["", "", "conv48_quads"] schedule "PackedConvInt8"
// expected-remark@+1 {{by LineConvInt8: its filter is of ui8 or has zero points}}
kernel.func @conv symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x9x9x3xi8>, %1: tensor<i8>, %2: tensor<50x3x3x3xui8>):
  %3 = graph.cast %0 : (tensor<1x9x9x3xi8>) -> tensor<1x9x9x3xi32>
  %4 = graph.cast %1 : (tensor<i8>) -> tensor<i32>
  %5 = graph.sub %3, %4 : (tensor<1x9x9x3xi32>, tensor<i32>) -> tensor<1x9x9x3xi32>
  %6 = graph.cast %2 : (tensor<50x3x3x3xui8>) -> tensor<50x3x3x3xi32>
  %7 = graph.conv %5, %6 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<1x9x9x3xi32>, tensor<50x3x3x3xi32>) -> tensor<1x9x9x50xi32>
  kernel.yield %7 : tensor<1x9x9x50xi32>
}
// CHECK: kernel.func @dilated {{.*}} layouts ["", "conv48_quad_taps"] schedule "PackedConvInt8"
// expected-remark@+1 {{by LineConvInt8: its filter is of ui8 or has zero points}}
kernel.func @dilated symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x9x9x3xi8>, %1: tensor<50x3x3x3xui8>):
  %2 = graph.cast %0 : (tensor<1x9x9x3xi8>) -> tensor<1x9x9x3xi32>
  %3 = graph.cast %1 : (tensor<50x3x3x3xui8>) -> tensor<50x3x3x3xi32>
  %4 = graph.conv %2, %3 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 2>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<1x9x9x3xi32>, tensor<50x3x3x3xi32>) -> tensor<1x7x5x50xi32>
  kernel.yield %4 : tensor<1x7x5x50xi32>
}

// -----

// Borders are filled with a byte of the image: a zero point of another type may
// be none. Groups have no such kernel.

// CHECK-LABEL: @other_convolutions
func.func @other_convolutions(%x: tensor<1x9x8xui8>, %z: tensor<i32>) {
  %w = graph.weight {name = "w"} : () -> tensor<8x8x3xi8>
  %v = graph.weight {name = "v"} : () -> tensor<8x1x3xi8>
  kernel.call @wide(%x, %z, %w) params <> : (tensor<1x9x8xui8>, tensor<i32>, tensor<8x8x3xi8>) -> tensor<1x9x8xi32>
  kernel.call @groups(%x, %v) params <> : (tensor<1x9x8xui8>, tensor<8x1x3xi8>) -> tensor<1x9x8xi32>
  return
}
// CHECK: kernel.func @wide {{.*}} schedule "Generic"
// expected-remark@+2 {{by LineConvInt8: its operands are no images and filter of ui8 or i8 less zero points: a byte for all images, a number for each map}}
// expected-remark@+1 {{by PackedConvInt8: its operands are no images and filter of ui8 or i8 less zero points: a byte for all images, a number for each map}}
kernel.func @wide symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x9x8xui8>, %1: tensor<i32>, %2: tensor<8x8x3xi8>):
  %3 = graph.cast %0 : (tensor<1x9x8xui8>) -> tensor<1x9x8xi32>
  %4 = graph.sub %3, %1 : (tensor<1x9x8xi32>, tensor<i32>) -> tensor<1x9x8xi32>
  %5 = graph.cast %2 : (tensor<8x8x3xi8>) -> tensor<8x8x3xi32>
  %6 = graph.conv %4, %5 {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<1, 1>, group = 1, channels_last} : (tensor<1x9x8xi32>, tensor<8x8x3xi32>) -> tensor<1x9x8xi32>
  kernel.yield %6 : tensor<1x9x8xi32>
}
// CHECK: kernel.func @groups {{.*}} schedule "Generic"
// expected-remark@+2 {{by LineConvInt8: it has several groups}}
// expected-remark@+1 {{by PackedConvInt8: it has several groups}}
kernel.func @groups symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x9x8xui8>, %1: tensor<8x1x3xi8>):
  %2 = graph.cast %0 : (tensor<1x9x8xui8>) -> tensor<1x9x8xi32>
  %3 = graph.cast %1 : (tensor<8x1x3xi8>) -> tensor<8x1x3xi32>
  %4 = graph.conv %2, %3 {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<1, 1>, group = 8, channels_last} : (tensor<1x9x8xi32>, tensor<8x1x3xi32>) -> tensor<1x9x8xi32>
  kernel.yield %4 : tensor<1x9x8xi32>
}

// -----

// Lines of an image are read where they lie, by whole quads of channels and
// equal parts of a line that fill matrix units.

// CHECK-LABEL: @lines
func.func @lines(%x: tensor<3x14x14x64xui8>, %z: tensor<ui8>, %y: tensor<3x14x14x18xui8>, %t: tensor<3x14x14x68xui8>) {
  %w = graph.weight {name = "w"} : () -> tensor<100x64x3x3xi8>
  %v = graph.weight {name = "v"} : () -> tensor<100x18x3x3xi8>
  %u = graph.weight {name = "u"} : () -> tensor<100x68x3x3xi8>
  kernel.call @whole(%x, %z, %w) params <> : (tensor<3x14x14x64xui8>, tensor<ui8>, tensor<100x64x3x3xi8>) -> tensor<3x14x14x100xi32>
  kernel.call @odd(%y, %v) params <> : (tensor<3x14x14x18xui8>, tensor<100x18x3x3xi8>) -> tensor<3x14x14x100xi32>
  kernel.call @thin(%t, %u) params <> : (tensor<3x14x14x68xui8>, tensor<100x68x3x3xi8>) -> tensor<3x14x14x100xi32>
  return
}
// CHECK: kernel.func @whole {{.*}} layouts ["", "", "conv48_quads_even"] schedule "LineConvInt8" geometry <54, 6, 82368>
kernel.func @whole symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<3x14x14x64xui8>, %1: tensor<ui8>, %2: tensor<100x64x3x3xi8>):
  %3 = graph.cast %0 : (tensor<3x14x14x64xui8>) -> tensor<3x14x14x64xi32>
  %4 = graph.cast %1 : (tensor<ui8>) -> tensor<i32>
  %5 = graph.sub %3, %4 : (tensor<3x14x14x64xi32>, tensor<i32>) -> tensor<3x14x14x64xi32>
  %6 = graph.cast %2 : (tensor<100x64x3x3xi8>) -> tensor<100x64x3x3xi32>
  %7 = graph.conv %5, %6 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<3x14x14x64xi32>, tensor<100x64x3x3xi32>) -> tensor<3x14x14x100xi32>
  kernel.yield %7 : tensor<3x14x14x100xi32>
}
// CHECK: kernel.func @odd {{.*}} schedule "PackedConvInt8"
// expected-remark@+1 {{by LineConvInt8: channels are no multiple of four}}
kernel.func @odd symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<3x14x14x18xui8>, %1: tensor<100x18x3x3xi8>):
  %2 = graph.cast %0 : (tensor<3x14x14x18xui8>) -> tensor<3x14x14x18xi32>
  %3 = graph.cast %1 : (tensor<100x18x3x3xi8>) -> tensor<100x18x3x3xi32>
  %4 = graph.conv %2, %3 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<3x14x14x18xi32>, tensor<100x18x3x3xi32>) -> tensor<3x14x14x100xi32>
  kernel.yield %4 : tensor<3x14x14x100xi32>
}
// CHECK: kernel.func @thin {{.*}} schedule "PackedConvInt8"
// expected-remark@+1 {{by LineConvInt8: a line of its windows has no parts that fill matrix units}}
kernel.func @thin symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<3x14x14x68xui8>, %1: tensor<100x68x3x3xi8>):
  %2 = graph.cast %0 : (tensor<3x14x14x68xui8>) -> tensor<3x14x14x68xi32>
  %3 = graph.cast %1 : (tensor<100x68x3x3xi8>) -> tensor<100x68x3x3xi32>
  %4 = graph.conv %2, %3 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<3x14x14x68xi32>, tensor<100x68x3x3xi32>) -> tensor<3x14x14x100xi32>
  kernel.yield %4 : tensor<3x14x14x100xi32>
}
