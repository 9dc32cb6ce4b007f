// RUN: tenon-opt %s --apply-schedules="target=cuda explain=true" --split-input-file --verify-diagnostics | FileCheck %s

// Rows of ui8 less 128 by a weight of i8, which lies as warps multiply it; by
// small tiles where there are few.

// CHECK-LABEL: @by_bytes
func.func @by_bytes(%x: tensor<?x64xui8, #graph.dims<m, 64>>) {
  %w = graph.weight {name = "w"} : () -> tensor<64x16xi8>
  kernel.call @bytes(%x, %w) params <m> : (tensor<?x64xui8, #graph.dims<m, 64>>, tensor<64x16xi8>) -> tensor<?x16xf32, #graph.dims<m, 16>>
  return
}
// CHECK: kernel.func @bytes symbols ["d0"] layouts ["", "quads32"] schedule "MatmulMmaInt8Small"
// CHECK: kernel.func @bytes_else1 symbols ["d0"] layouts ["", "quads32"] schedule "MatmulMmaInt8"
kernel.func @bytes symbols ["d0"] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%x: tensor<?x64xui8, #graph.dims<d0, 64>>, %w: tensor<64x16xi8>):
  %z = graph.constant {value = dense<128> : tensor<i32>} : () -> tensor<i32>
  %a = graph.cast %x : (tensor<?x64xui8, #graph.dims<d0, 64>>) -> tensor<?x64xi32, #graph.dims<d0, 64>>
  %l = graph.sub %a, %z : (tensor<?x64xi32, #graph.dims<d0, 64>>, tensor<i32>) -> tensor<?x64xi32, #graph.dims<d0, 64>>
  %r = graph.cast %w : (tensor<64x16xi8>) -> tensor<64x16xi32>
  %c = graph.matmul %l, %r : (tensor<?x64xi32, #graph.dims<d0, 64>>, tensor<64x16xi32>) -> tensor<?x16xi32, #graph.dims<d0, 16>>
  %f = graph.cast %c : (tensor<?x16xi32, #graph.dims<d0, 16>>) -> tensor<?x16xf32, #graph.dims<d0, 16>>
  kernel.yield %f : tensor<?x16xf32, #graph.dims<d0, 16>>
}

// -----

// Another zero point, rows of 30 bytes, and a rhs that is no weight.

// CHECK-LABEL: @others
func.func @others(%x: tensor<4x64xui8>, %y: tensor<4x30xi8>, %v: tensor<64x16xi8>, %s: tensor<4x64xi8>) {
  %w = graph.weight {name = "w"} : () -> tensor<64x16xi8>
  %u = graph.weight {name = "u"} : () -> tensor<30x16xi8>
  kernel.call @zero_point(%x, %w) params <> : (tensor<4x64xui8>, tensor<64x16xi8>) -> tensor<4x16xi32>
  kernel.call @odd_rows(%y, %u) params <> : (tensor<4x30xi8>, tensor<30x16xi8>) -> tensor<4x16xi32>
  kernel.call @no_weight(%s, %v) params <> : (tensor<4x64xi8>, tensor<64x16xi8>) -> tensor<4x16xi32>
  return
}
// CHECK: kernel.func @zero_point {{.*}} schedule "Generic"
// expected-remark@+2 {{by MatmulMmaInt8Small: its operands are not rows of i8 or ui8, or of ui8 less 128}}
// expected-remark@+1 {{by MatmulMmaInt8: its operands are not rows of i8 or ui8, or of ui8 less 128}}
kernel.func @zero_point symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%x: tensor<4x64xui8>, %w: tensor<64x16xi8>):
  %z = graph.constant {value = dense<127> : tensor<i32>} : () -> tensor<i32>
  %a = graph.cast %x : (tensor<4x64xui8>) -> tensor<4x64xi32>
  %l = graph.sub %a, %z : (tensor<4x64xi32>, tensor<i32>) -> tensor<4x64xi32>
  %r = graph.cast %w : (tensor<64x16xi8>) -> tensor<64x16xi32>
  %c = graph.matmul %l, %r : (tensor<4x64xi32>, tensor<64x16xi32>) -> tensor<4x16xi32>
  kernel.yield %c : tensor<4x16xi32>
}
// CHECK: kernel.func @odd_rows {{.*}} schedule "Generic"
// expected-remark@+2 {{by MatmulMmaInt8Small: its operands are not rows}}
// expected-remark@+1 {{by MatmulMmaInt8: its operands are not rows}}
kernel.func @odd_rows symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%x: tensor<4x30xi8>, %w: tensor<30x16xi8>):
  %a = graph.cast %x : (tensor<4x30xi8>) -> tensor<4x30xi32>
  %r = graph.cast %w : (tensor<30x16xi8>) -> tensor<30x16xi32>
  %c = graph.matmul %a, %r : (tensor<4x30xi32>, tensor<30x16xi32>) -> tensor<4x16xi32>
  kernel.yield %c : tensor<4x16xi32>
}
// CHECK: kernel.func @no_weight {{.*}} schedule "Generic"
// expected-remark@+2 {{by MatmulMmaInt8Small: rhs is no weight}}
// expected-remark@+1 {{by MatmulMmaInt8: rhs is no weight}}
kernel.func @no_weight symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%x: tensor<4x64xi8>, %w: tensor<64x16xi8>):
  %a = graph.cast %x : (tensor<4x64xi8>) -> tensor<4x64xi32>
  %r = graph.cast %w : (tensor<64x16xi8>) -> tensor<64x16xi32>
  %c = graph.matmul %a, %r : (tensor<4x64xi32>, tensor<64x16xi32>) -> tensor<4x16xi32>
  kernel.yield %c : tensor<4x16xi32>
}

// -----

// Convolutions of bytes, by small tiles where there are few; a filter of ui8, a
// zero point and channels that do not lie by fours are others.

// CHECK-LABEL: @convolutions
func.func @convolutions(%x: tensor<?x8x8x16xui8, #graph.dims<n, 8, 8, 16>>, %y: tensor<1x8x8x6xi8>, %z: tensor<ui8>) {
  %w = graph.weight {name = "w"} : () -> tensor<24x16x3x3xi8>
  %u = graph.weight {name = "u"} : () -> tensor<24x6x3x3xi8>
  kernel.call @conv(%x, %w) params <n> : (tensor<?x8x8x16xui8, #graph.dims<n, 8, 8, 16>>, tensor<24x16x3x3xi8>) -> tensor<?x8x8x24xi32, #graph.dims<n, 8, 8, 24>>
  kernel.call @odd_channels(%y, %u) params <> : (tensor<1x8x8x6xi8>, tensor<24x6x3x3xi8>) -> tensor<1x8x8x24xi32>
  kernel.call @zero(%y, %z, %u) params <> : (tensor<1x8x8x6xi8>, tensor<ui8>, tensor<24x6x3x3xi8>) -> tensor<1x8x8x24xi32>
  return
}
// CHECK: kernel.func @conv symbols ["d0"] layouts ["", "quads32"] schedule "ConvMmaInt8Small"
// CHECK: kernel.func @conv_else1 symbols ["d0"] layouts ["", "quads32"] schedule "ConvMmaInt8"
kernel.func @conv symbols ["d0"] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%x: tensor<?x8x8x16xui8, #graph.dims<d0, 8, 8, 16>>, %w: tensor<24x16x3x3xi8>):
  %a = graph.cast %x : (tensor<?x8x8x16xui8, #graph.dims<d0, 8, 8, 16>>) -> tensor<?x8x8x16xi32, #graph.dims<d0, 8, 8, 16>>
  %b = graph.cast %w : (tensor<24x16x3x3xi8>) -> tensor<24x16x3x3xi32>
  %c = graph.conv %a, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<?x8x8x16xi32, #graph.dims<d0, 8, 8, 16>>, tensor<24x16x3x3xi32>) -> tensor<?x8x8x24xi32, #graph.dims<d0, 8, 8, 24>>
  kernel.yield %c : tensor<?x8x8x24xi32, #graph.dims<d0, 8, 8, 24>>
}
// CHECK: kernel.func @odd_channels {{.*}} schedule "Generic"
// expected-remark@+2 {{by ConvMmaInt8Small: it has several groups, or channels that do not lie by fours}}
// expected-remark@+1 {{by ConvMmaInt8: it has several groups, or channels that do not lie by fours}}
kernel.func @odd_channels symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%x: tensor<1x8x8x6xi8>, %w: tensor<24x6x3x3xi8>):
  %a = graph.cast %x : (tensor<1x8x8x6xi8>) -> tensor<1x8x8x6xi32>
  %b = graph.cast %w : (tensor<24x6x3x3xi8>) -> tensor<24x6x3x3xi32>
  %c = graph.conv %a, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<1x8x8x6xi32>, tensor<24x6x3x3xi32>) -> tensor<1x8x8x24xi32>
  kernel.yield %c : tensor<1x8x8x24xi32>
}
// CHECK: kernel.func @zero {{.*}} schedule "Generic"
// expected-remark@+2 {{by ConvMmaInt8Small: an operand of the convolution is computed in the kernel}}
// expected-remark@+1 {{by ConvMmaInt8: an operand of the convolution is computed in the kernel}}
kernel.func @zero symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%x: tensor<1x8x8x6xi8>, %z: tensor<ui8>, %w: tensor<24x6x3x3xi8>):
  %a = graph.cast %x : (tensor<1x8x8x6xi8>) -> tensor<1x8x8x6xi32>
  %y = graph.cast %z : (tensor<ui8>) -> tensor<i32>
  %l = graph.sub %a, %y : (tensor<1x8x8x6xi32>, tensor<i32>) -> tensor<1x8x8x6xi32>
  %b = graph.cast %w : (tensor<24x6x3x3xi8>) -> tensor<24x6x3x3xi32>
  %c = graph.conv %l, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<1x8x8x6xi32>, tensor<24x6x3x3xi32>) -> tensor<1x8x8x24xi32>
  kernel.yield %c : tensor<1x8x8x24xi32>
}
