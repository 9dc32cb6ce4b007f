// RUN: tenon-opt %s --merge-matmuls=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// Query, key and value of one input; the key has no bias and gets zeros.

// CHECK-LABEL: @merges
func.func @merges(%x: tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32> {
  %q = graph.weight {name = "q"} : () -> tensor<8x8xf32>
  %k = graph.weight {name = "k"} : () -> tensor<8x8xf32>
  %v = graph.weight {name = "v"} : () -> tensor<8x8xf32>
  %b = graph.weight {name = "b"} : () -> tensor<8xf32>
  %c = graph.weight {name = "c"} : () -> tensor<8xf32>
  // CHECK: %[[WEIGHT:.*]] = graph.concat %{{.*}}, %{{.*}}, %{{.*}} {axis = 1 : i64} : {{.*}} -> tensor<8x24xf32>
  // CHECK: %[[PRODUCT:.*]] = graph.matmul %arg0, %[[WEIGHT]] : {{.*}} -> tensor<1x1x4x24xf32>
  // CHECK: %[[ZERO:.*]] = graph.constant {value = dense<0.0{{.*}}> : tensor<8xf32>}
  // CHECK: %[[BIAS:.*]] = graph.concat %{{.*}}, %[[ZERO]], %{{.*}} {axis = 0 : i64}
  // CHECK: %[[SUM:.*]] = graph.add %[[PRODUCT]], %[[BIAS]]
  // CHECK: %[[Q:.*]] = graph.slice %[[SUM]] {starts = #graph.dims<0, 0, 0, 0>
  // CHECK: %[[K:.*]] = graph.slice %[[SUM]] {starts = #graph.dims<0, 0, 0, 8>
  // CHECK: %[[V:.*]] = graph.slice %[[SUM]] {starts = #graph.dims<0, 0, 0, 16>
  // CHECK: graph.attention %[[Q]], %[[K]], %[[V]]
  %0 = graph.matmul %x, %q : (tensor<1x1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x1x4x8xf32>
  %1 = graph.add %0, %b : (tensor<1x1x4x8xf32>, tensor<8xf32>) -> tensor<1x1x4x8xf32>
  %2 = graph.matmul %x, %k : (tensor<1x1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x1x4x8xf32>
  %3 = graph.matmul %x, %v : (tensor<1x1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x1x4x8xf32>
  %4 = graph.add %3, %c : (tensor<1x1x4x8xf32>, tensor<8xf32>) -> tensor<1x1x4x8xf32>
  %y = graph.attention %1, %2, %4 {
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 1.0 : f64,
      softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>,
      window = 0 : i64, dead_rows = #graph<dead_rows zero>}
      : (tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32>
  return %y : tensor<1x1x4x8xf32>
}

// -----

// Products of different inputs stay apart.

// CHECK-LABEL: @different_inputs
func.func @different_inputs(%x: tensor<1x1x4x8xf32>, %z: tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32> {
  // CHECK-NOT: graph.concat
  %q = graph.weight {name = "q"} : () -> tensor<8x8xf32>
  %k = graph.weight {name = "k"} : () -> tensor<8x8xf32>
  %0 = graph.matmul %x, %q : (tensor<1x1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x1x4x8xf32>
  %1 = graph.matmul %z, %k : (tensor<1x1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x1x4x8xf32>
  %y = graph.attention %0, %1, %x {
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 1.0 : f64,
      softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>,
      window = 0 : i64, dead_rows = #graph<dead_rows zero>}
      : (tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32>
  return %y : tensor<1x1x4x8xf32>
}

// -----

// A weight that something else reads would be stored twice.

// CHECK-LABEL: @weight_used_elsewhere
func.func @weight_used_elsewhere(%x: tensor<1x1x4x8xf32>, %z: tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32> {
  // CHECK-NOT: graph.concat
  %q = graph.weight {name = "q"} : () -> tensor<8x8xf32>
  %k = graph.weight {name = "k"} : () -> tensor<8x8xf32>
  // expected-remark@+1 {{is not merged with the other products of its operand: something else reads its weight}}
  %0 = graph.matmul %x, %q : (tensor<1x1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x1x4x8xf32>
  %1 = graph.matmul %x, %k : (tensor<1x1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x1x4x8xf32>
  %2 = graph.matmul %z, %q : (tensor<1x1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x1x4x8xf32>
  %y = graph.attention %0, %1, %2 {
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 1.0 : f64,
      softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>,
      window = 0 : i64, dead_rows = #graph<dead_rows zero>}
      : (tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32>
  return %y : tensor<1x1x4x8xf32>
}

// -----

// A result that is returned would have to be copied.

// CHECK-LABEL: @product_used_elsewhere
func.func @product_used_elsewhere(%x: tensor<1x1x4x8xf32>) -> (tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>) {
  // CHECK-NOT: graph.concat
  %q = graph.weight {name = "q"} : () -> tensor<8x8xf32>
  %k = graph.weight {name = "k"} : () -> tensor<8x8xf32>
  // expected-remark@+1 {{is not merged with the other products of its operand: a reader of its result would need a copy of a slice}}
  %0 = graph.matmul %x, %q : (tensor<1x1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x1x4x8xf32>
  %1 = graph.matmul %x, %k : (tensor<1x1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x1x4x8xf32>
  %y = graph.attention %0, %1, %x {
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 1.0 : f64,
      softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>,
      window = 0 : i64, dead_rows = #graph<dead_rows zero>}
      : (tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32>
  return %y, %0 : tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>
}

// -----

// Neither is what a kernel computes behind the product.

// CHECK-LABEL: @gate
func.func @gate(%x: tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32> {
  // CHECK-NOT: graph.concat
  %q = graph.weight {name = "q"} : () -> tensor<8x8xf32>
  %k = graph.weight {name = "k"} : () -> tensor<8x8xf32>
  // expected-remark@+1 {{is not merged with the other products of its operand: a reader of its result would need a copy of a slice}}
  %0 = graph.matmul %x, %q : (tensor<1x1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x1x4x8xf32>
  // expected-remark@+1 {{is not merged with the other products of its operand: a reader of its result would need a copy of a slice}}
  %1 = graph.matmul %x, %k : (tensor<1x1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x1x4x8xf32>
  %2 = graph.sigmoid %0 : (tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32>
  %y = graph.mul %2, %1 : (tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32>
  return %y : tensor<1x1x4x8xf32>
}
