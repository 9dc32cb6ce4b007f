// RUN: tenon-opt %s --outline-kernels --split-input-file | FileCheck %s

// Regions that differ in the names of their symbols only are one kernel; a
// call passes the values of the symbols and the names of the nodes.

// CHECK-LABEL: @same
// CHECK-SAME:    %[[X:.*]]: tensor<?x4xf32, #graph.dims<B, 4>>, %[[Y:.*]]: tensor<?x4xf32, #graph.dims<S + 1, 4>>
func.func @same(%x: tensor<?x4xf32, #graph.dims<B, 4>>, %y: tensor<?x4xf32, #graph.dims<S + 1, 4>>, %z: tensor<?x4xf32, #graph.dims<S, 4>>) {
  // CHECK-NEXT: kernel.call @exp_f32_0(%[[X]]) params <B> {nodes = ["first"]}
  // CHECK-NEXT: kernel.call @exp_f32_1(%[[Y]]) params <S> {nodes = [""]}
  // CHECK-NEXT: kernel.call @exp_f32_0(%{{.*}}) params <S> {nodes = [""]}
  kernel.region(%x) : (tensor<?x4xf32, #graph.dims<B, 4>>) -> tensor<?x4xf32, #graph.dims<B, 4>> {
  ^bb0(%0: tensor<?x4xf32, #graph.dims<B, 4>>):
    %1 = graph.exp %0 : (tensor<?x4xf32, #graph.dims<B, 4>>) -> tensor<?x4xf32, #graph.dims<B, 4>> loc("first")
    kernel.yield %1 : tensor<?x4xf32, #graph.dims<B, 4>>
  }
  kernel.region(%y) : (tensor<?x4xf32, #graph.dims<S + 1, 4>>) -> tensor<?x4xf32, #graph.dims<S + 1, 4>> {
  ^bb0(%0: tensor<?x4xf32, #graph.dims<S + 1, 4>>):
    %1 = graph.exp %0 : (tensor<?x4xf32, #graph.dims<S + 1, 4>>) -> tensor<?x4xf32, #graph.dims<S + 1, 4>>
    kernel.yield %1 : tensor<?x4xf32, #graph.dims<S + 1, 4>>
  }
  kernel.region(%z) : (tensor<?x4xf32, #graph.dims<S, 4>>) -> tensor<?x4xf32, #graph.dims<S, 4>> {
  ^bb0(%0: tensor<?x4xf32, #graph.dims<S, 4>>):
    %1 = graph.exp %0 : (tensor<?x4xf32, #graph.dims<S, 4>>) -> tensor<?x4xf32, #graph.dims<S, 4>>
    kernel.yield %1 : tensor<?x4xf32, #graph.dims<S, 4>>
  }
  return
}
// CHECK:      kernel.func @exp_f32_0 symbols ["d0"] layouts [""]
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<?x4xf32, #graph.dims<d0, 4>>):
// CHECK:      kernel.func @exp_f32_1 symbols ["d0"] layouts [""]
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<?x4xf32, #graph.dims<d0 + 1, 4>>):

// -----

// A symbol that only an attribute has is a parameter too; symbols that could
// be exchanged are not mixed up.

// CHECK-LABEL: @attributes
func.func @attributes(%x: tensor<?xf32, #graph.dims<d1>>) {
  // CHECK: kernel.call @slice_f32_0(%{{.*}}) params <d1, d0>
  kernel.region(%x) : (tensor<?xf32, #graph.dims<d1>>) -> tensor<2xf32> {
  ^bb0(%0: tensor<?xf32, #graph.dims<d1>>):
    %1 = graph.slice %0 {starts = #graph.dims<d0>, steps = #graph.dims<1>} : (tensor<?xf32, #graph.dims<d1>>) -> tensor<2xf32>
    kernel.yield %1 : tensor<2xf32>
  }
  return
}
// CHECK:      kernel.func @slice_f32_0 symbols ["d0", "d1"]
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<?xf32, #graph.dims<d0>>):
// CHECK-NEXT:   graph.slice %{{.*}} {starts = #graph.dims<d1>

// -----

// Kernels that differ in an attribute or a constant are two. A name lists at
// most four ops.

// CHECK-LABEL: @different
func.func @different(%x: tensor<4x4xf32>) {
  // CHECK: kernel.call @softmax_f32_0
  // CHECK: kernel.call @softmax_f32_1
  // CHECK: kernel.call @exp_exp_exp_exp_and1_f32_2
  // CHECK: kernel.call @softmax_f32_0
  // CHECK-NOT: @{{.*}}_3
  kernel.region(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%0: tensor<4x4xf32>):
    %1 = graph.softmax %0 {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    kernel.yield %1 : tensor<4x4xf32>
  }
  kernel.region(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%0: tensor<4x4xf32>):
    %1 = graph.softmax %0 {axis = 0 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    kernel.yield %1 : tensor<4x4xf32>
  }
  kernel.region(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%0: tensor<4x4xf32>):
    %1 = graph.exp %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = graph.exp %1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = graph.exp %2 : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = graph.exp %3 : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %5 = graph.exp %4 : (tensor<4x4xf32>) -> tensor<4x4xf32>
    kernel.yield %5 : tensor<4x4xf32>
  }
  kernel.region(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%0: tensor<4x4xf32>):
    %1 = graph.softmax %0 {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    kernel.yield %1 : tensor<4x4xf32>
  }
  return
}

// -----

// Ops outside regions are left alone, and make no kernel.

// CHECK-LABEL: @no_region
func.func @no_region(%x: tensor<4xf32>) -> tensor<2x2xf32> {
  // CHECK-NEXT: graph.reshape
  // CHECK-NOT:  kernel
  %0 = graph.reshape %x : (tensor<4xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
