// RUN: tenon-opt %s --hoist-reshapes=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// GPT-2's layers: rows are flattened for the product, not for what follows.

// CHECK-LABEL: @flattened
func.func @flattened(%x: tensor<?x?x8xf32, #graph.dims<B, S, 8>>, %w: tensor<8x4xf32>, %b: tensor<4xf32>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>> {
  // CHECK: %[[PRODUCT:.*]] = graph.matmul %arg0, %arg1 : {{.*}} -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  // CHECK-NEXT: %[[SUM:.*]] = graph.add %[[PRODUCT]], %arg2
  // CHECK-NEXT: %[[GELU:.*]] = graph.gelu %[[SUM]]
  // CHECK-NEXT: return %[[GELU]]
  %0 = graph.reshape %x : (tensor<?x?x8xf32, #graph.dims<B, S, 8>>) -> tensor<?x8xf32, #graph.dims<B * S, 8>>
  %1 = graph.matmul %0, %w : (tensor<?x8xf32, #graph.dims<B * S, 8>>, tensor<8x4xf32>) -> tensor<?x4xf32, #graph.dims<B * S, 4>>
  %2 = graph.add %1, %b : (tensor<?x4xf32, #graph.dims<B * S, 4>>, tensor<4xf32>) -> tensor<?x4xf32, #graph.dims<B * S, 4>>
  %3 = graph.reshape %2 : (tensor<?x4xf32, #graph.dims<B * S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %4 = graph.gelu %3 {kind = #graph<gelu_kind tanh>} : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  return %4 : tensor<?x?x4xf32, #graph.dims<B, S, 4>>
}

// -----

// Other operands are reshaped, which costs nothing, or repeat for each row.

// CHECK-LABEL: @residual
func.func @residual(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %b: tensor<1x4xf32>, %r: tensor<6x4xf32>) -> tensor<2x3x4xf32> {
  // CHECK-DAG: %[[X:.*]] = graph.reshape %arg0 : {{.*}} -> tensor<2x3x8xf32>
  // CHECK-DAG: %[[R:.*]] = graph.reshape %arg3 : {{.*}} -> tensor<2x3x4xf32>
  // CHECK-DAG: %[[B:.*]] = graph.reshape %arg2 : {{.*}} -> tensor<4xf32>
  // CHECK-DAG: %[[PRODUCT:.*]] = graph.matmul %[[X]], %arg1
  // CHECK: %[[BIASED:.*]] = graph.add %[[PRODUCT]], %[[B]]
  // CHECK: %[[SUM:.*]] = graph.add %[[R]], %[[BIASED]]
  // CHECK: graph.tanh %[[SUM]]
  %0 = graph.matmul %x, %w : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %1 = graph.add %0, %b : (tensor<6x4xf32>, tensor<1x4xf32>) -> tensor<6x4xf32>
  %2 = graph.add %r, %1 : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %3 = graph.reshape %2 : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %4 = graph.tanh %3 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %4 : tensor<2x3x4xf32>
}

// -----

// The product would be computed twice.

// CHECK-LABEL: @used_elsewhere
func.func @used_elsewhere(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) -> (tensor<2x3x4xf32>, tensor<6x4xf32>) {
  // CHECK: %[[PRODUCT:.*]] = graph.matmul %{{.*}} -> tensor<6x4xf32>
  // CHECK: graph.reshape %[[PRODUCT]]
  %0 = graph.matmul %x, %w : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %1 = graph.reshape %0 : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %2 = graph.tanh %1 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %2, %0 : tensor<2x3x4xf32>, tensor<6x4xf32>
}

// -----

// Heads: the columns of the product are cut.

// CHECK-LABEL: @last_axis
func.func @last_axis(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) -> tensor<6x2x2xf32> {
  // CHECK: graph.matmul %{{.*}} -> tensor<6x4xf32>
  %0 = graph.matmul %x, %w : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  // expected-remark@+1 {{stays between a product and what follows it: it changes the last axis}}
  %1 = graph.reshape %0 : (tensor<6x4xf32>) -> tensor<6x2x2xf32>
  %2 = graph.tanh %1 : (tensor<6x2x2xf32>) -> tensor<6x2x2xf32>
  return %2 : tensor<6x2x2xf32>
}

// -----

// CHECK-LABEL: @several_matrices
func.func @several_matrices(%x: tensor<2x3x8xf32>, %w: tensor<2x8x4xf32>) -> tensor<6x4xf32> {
  // CHECK: graph.matmul %{{.*}} -> tensor<2x3x4xf32>
  %0 = graph.matmul %x, %w : (tensor<2x3x8xf32>, tensor<2x8x4xf32>) -> tensor<2x3x4xf32>
  // expected-remark@+1 {{stays between a product and what follows it: the product has several matrices}}
  %1 = graph.reshape %0 : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %2 = graph.tanh %1 : (tensor<6x4xf32>) -> tensor<6x4xf32>
  return %2 : tensor<6x4xf32>
}

// -----

// A factor per row would have to be repeated.

// CHECK-LABEL: @factor_per_row
func.func @factor_per_row(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %f: tensor<6x1xf32>) -> tensor<2x3x4xf32> {
  // CHECK: graph.matmul %{{.*}} -> tensor<6x4xf32>
  %0 = graph.matmul %x, %w : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %1 = graph.mul %0, %f : (tensor<6x4xf32>, tensor<6x1xf32>) -> tensor<6x4xf32>
  // expected-remark@+1 {{stays between a product and what follows it: an operand is broadcast along an axis that it changes}}
  %2 = graph.reshape %1 : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %3 = graph.tanh %2 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %3 : tensor<2x3x4xf32>
}

// -----

// Without anything behind it a reshape only renames the result.

// CHECK-LABEL: @nothing_follows
func.func @nothing_follows(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) -> tensor<2x3x4xf32> {
  // CHECK: graph.matmul %{{.*}} -> tensor<6x4xf32>
  %0 = graph.matmul %x, %w : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %1 = graph.reshape %0 : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}
