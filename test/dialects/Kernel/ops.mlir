// Every op of the dialect parses, verifies, and prints what parses again to
// the same text.

// RUN: tenon-opt %s -o %t
// RUN: tenon-opt %t | diff %t -
// RUN: FileCheck %s < %t

// CHECK-LABEL: @fused
func.func @fused(%x: tensor<?x8xf32, #graph.dims<B, 8>>, %b: tensor<8xf32>) -> tensor<?x8xf32, #graph.dims<B, 8>> {
  // CHECK:      %[[Y:.*]] = kernel.region(%{{.*}}, %{{.*}}) : (tensor<?x8xf32, #graph.dims<B, 8>>, tensor<8xf32>) -> tensor<?x8xf32, #graph.dims<B, 8>> {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<?x8xf32, #graph.dims<B, 8>>, %[[C:.*]]: tensor<8xf32>):
  // CHECK-NEXT:   %[[SUM:.*]] = graph.add %[[A]], %[[C]]
  // CHECK-NEXT:   kernel.yield %[[SUM]] : tensor<?x8xf32, #graph.dims<B, 8>>
  // CHECK-NEXT: }
  %0 = kernel.region(%x, %b) : (tensor<?x8xf32, #graph.dims<B, 8>>, tensor<8xf32>) -> tensor<?x8xf32, #graph.dims<B, 8>> {
  ^bb0(%1: tensor<?x8xf32, #graph.dims<B, 8>>, %2: tensor<8xf32>):
    %3 = graph.add %1, %2 : (tensor<?x8xf32, #graph.dims<B, 8>>, tensor<8xf32>) -> tensor<?x8xf32, #graph.dims<B, 8>>
    kernel.yield %3 : tensor<?x8xf32, #graph.dims<B, 8>>
  }
  // CHECK: return %[[Y]]
  return %0 : tensor<?x8xf32, #graph.dims<B, 8>>
}

// CHECK-LABEL: @outlined
func.func @outlined(%x: tensor<?x8xf32, #graph.dims<B, 8>>, %b: tensor<8xf32>) -> tensor<?x8xf32, #graph.dims<B, 8>> {
  // CHECK: kernel.call @add_f32_0(%{{.*}}, %{{.*}}) params <B> {nodes = ["n"]} :
  %0 = kernel.call @add_f32_0(%x, %b) params <B> {nodes = ["n"]} : (tensor<?x8xf32, #graph.dims<B, 8>>, tensor<8xf32>) -> tensor<?x8xf32, #graph.dims<B, 8>>
  return %0 : tensor<?x8xf32, #graph.dims<B, 8>>
}

// CHECK: kernel.func @add_f32_0 symbols ["d0"] layouts ["", ""] schedule "Generic" geometry <d0, 64, 0> {
kernel.func @add_f32_0 symbols ["d0"] layouts ["", ""] schedule "Generic" geometry <d0, 64, 0> {
^bb0(%0: tensor<?x8xf32, #graph.dims<d0, 8>>, %1: tensor<8xf32>):
  %2 = graph.add %0, %1 : (tensor<?x8xf32, #graph.dims<d0, 8>>, tensor<8xf32>) -> tensor<?x8xf32, #graph.dims<d0, 8>>
  kernel.yield %2 : tensor<?x8xf32, #graph.dims<d0, 8>>
}

// A kernel without operands writes numbers.

// CHECK: kernel.func @sizes_i64_1
kernel.func @sizes_i64_1 symbols ["d0"] layouts [] schedule "Generic" geometry <1, 1, 0> {
  %0 = graph.sizes {value = #graph.dims<d0, 4>} : () -> tensor<2xi64>
  kernel.yield %0 : tensor<2xi64>
}
