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
// CHECK: kernel.func @activations {{.*}} schedule "Generic"
// expected-remark@+1 {{by PackedMatmulInt8: rhs is no weight}}
kernel.func @activations symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%x: tensor<4x64xui8>, %y: tensor<64x8xi8>):
  %0 = graph.cast %x : (tensor<4x64xui8>) -> tensor<4x64xi32>
  %1 = graph.cast %y : (tensor<64x8xi8>) -> tensor<64x8xi32>
  %2 = graph.matmul %0, %1 : (tensor<4x64xi32>, tensor<64x8xi32>) -> tensor<4x8xi32>
  kernel.yield %2 : tensor<4x8xi32>
}
// CHECK: kernel.func @wide {{.*}} schedule "Generic"
// expected-remark@+1 {{by PackedMatmulInt8: its operands are no rows and matrix of ui8 or i8 less zero points}}
kernel.func @wide symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%x: tensor<4x64xi32>, %w: tensor<64x8xi8>):
  %1 = graph.cast %w : (tensor<64x8xi8>) -> tensor<64x8xi32>
  %2 = graph.matmul %x, %1 : (tensor<4x64xi32>, tensor<64x8xi32>) -> tensor<4x8xi32>
  kernel.yield %2 : tensor<4x8xi32>
}
// CHECK: kernel.func @zeros_along_k {{.*}} schedule "Generic"
// expected-remark@+1 {{by PackedMatmulInt8: its operands are no rows and matrix of ui8 or i8 less zero points}}
kernel.func @zeros_along_k symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%x: tensor<4x64xui8>, %c: tensor<1x64xi32>, %w: tensor<64x8xi8>):
  %0 = graph.cast %x : (tensor<4x64xui8>) -> tensor<4x64xi32>
  %z = graph.sub %0, %c : (tensor<4x64xi32>, tensor<1x64xi32>) -> tensor<4x64xi32>
  %1 = graph.cast %w : (tensor<64x8xi8>) -> tensor<64x8xi32>
  %2 = graph.matmul %z, %1 : (tensor<4x64xi32>, tensor<64x8xi32>) -> tensor<4x8xi32>
  kernel.yield %2 : tensor<4x8xi32>
}
