// RUN: tenon-opt %s --apply-schedules=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// Rows are units of work, with company in front and behind; the rows of a
// norm over two axes are one run of both.

// CHECK: kernel.func @norm {{.*}} schedule "RowProgram" geometry <d0, {{.*}}>
kernel.func @norm symbols ["d0"] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<?x96xf32, #graph.dims<d0, 96>>, %1: tensor<?x96xf32, #graph.dims<d0, 96>>, %2: tensor<96xf32>):
  %3 = graph.add %0, %1 : (tensor<?x96xf32, #graph.dims<d0, 96>>, tensor<?x96xf32, #graph.dims<d0, 96>>) -> tensor<?x96xf32, #graph.dims<d0, 96>>
  %4 = graph.layer_norm %3 {axis = 1, epsilon = 1.0e-5} : (tensor<?x96xf32, #graph.dims<d0, 96>>) -> tensor<?x96xf32, #graph.dims<d0, 96>>
  %5 = graph.mul %4, %2 : (tensor<?x96xf32, #graph.dims<d0, 96>>, tensor<96xf32>) -> tensor<?x96xf32, #graph.dims<d0, 96>>
  kernel.yield %5, %3 : tensor<?x96xf32, #graph.dims<d0, 96>>, tensor<?x96xf32, #graph.dims<d0, 96>>
}
// CHECK: kernel.func @plane {{.*}} schedule "RowProgram" geometry <5, {{.*}}>
kernel.func @plane symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<5x6x7xf32>):
  %1 = graph.rms_norm %0 {axis = 1, epsilon = 1.0e-5} : (tensor<5x6x7xf32>) -> tensor<5x6x7xf32>
  kernel.yield %1 : tensor<5x6x7xf32>
}

// -----

// Columns are cut in blocks of 64; inner axes that are kept count as one.

// CHECK: kernel.func @columns {{.*}} schedule "RowProgram" geometry <8, {{.*}}, 16384>
kernel.func @columns symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<2x64x14x14xf32>):
  %1 = graph.softmax %0 {axis = 1} : (tensor<2x64x14x14xf32>) -> tensor<2x64x14x14xf32>
  kernel.yield %1 : tensor<2x64x14x14xf32>
}
// CHECK: kernel.func @pool {{.*}} schedule "RowProgram" geometry <3, {{.*}}, 0>
kernel.func @pool symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x7x7x192xf32>):
  %1 = graph.reduce %0 {axes = array<i64: 1, 2>, kind = #graph<reduce_kind mean>} : (tensor<1x7x7x192xf32>) -> tensor<1x1x1x192xf32>
  kernel.yield %1 : tensor<1x1x1x192xf32>
}

// -----

// Integers, and rows that are read along columns, are left to Generic.

// CHECK: kernel.func @integers {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by RowProgram: its elements are not f32, f16 or bf16}}
kernel.func @integers symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<4x8xi32>):
  %1 = graph.reduce %0 {axes = array<i64: 1>, kind = #graph<reduce_kind sum>} : (tensor<4x8xi32>) -> tensor<4x1xi32>
  kernel.yield %1 : tensor<4x1xi32>
}
// CHECK: kernel.func @turned {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by RowProgram: what it reads or writes does not lie along its rows}}
kernel.func @turned symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<8x4xf32>):
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %2 = graph.softmax %1 {axis = 1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  kernel.yield %2 : tensor<4x8xf32>
}
// CHECK: kernel.func @down {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by RowProgram: its sums run down along the innermost axis}}
kernel.func @down symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<4x8xf32>):
  %1 = graph.cumulative %0 {axis = 1, kind = #graph<reduce_kind sum>, exclusive = false, reverse = true} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  kernel.yield %1 : tensor<4x8xf32>
}
// CHECK: kernel.func @pairs {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by RowProgram: its rows are too short for vectors}}
kernel.func @pairs symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<4x2xf32>):
  %1 = graph.softmax %0 {axis = 1} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  kernel.yield %1 : tensor<4x2xf32>
}
