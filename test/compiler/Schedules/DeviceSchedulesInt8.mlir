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
// expected-remark@+2 {{by MatmulMmaInt8Small: its operands are not rows of i8, or of ui8 less 128}}
// expected-remark@+1 {{by MatmulMmaInt8: its operands are not rows of i8, or of ui8 less 128}}
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
