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

// A gate and what it gates become two halves of one product, which its kernel
// combines.

// CHECK-LABEL: @gate
func.func @gate(%x: tensor<1x4x8xf32>, %b: tensor<6xf32>) -> tensor<1x4x6xf32> {
  // CHECK: %[[WEIGHT:.*]] = graph.concat %{{.*}}, %{{.*}} {axis = 1 : i64} : {{.*}} -> tensor<8x12xf32>
  // CHECK: %[[PRODUCT:.*]] = graph.matmul %arg0, %[[WEIGHT]] : {{.*}} -> tensor<1x4x12xf32>
  // CHECK-NEXT: %[[G:.*]] = graph.slice %[[PRODUCT]] {starts = #graph.dims<0, 0, 0>
  // CHECK-NEXT: %[[U:.*]] = graph.slice %[[PRODUCT]] {starts = #graph.dims<0, 0, 6>
  // CHECK-NEXT: %[[SIGMOID:.*]] = graph.sigmoid %[[G]]
  // CHECK-NEXT: %[[SILU:.*]] = graph.mul %[[G]], %[[SIGMOID]]
  // CHECK-NEXT: %[[BIASED:.*]] = graph.add %[[U]], %arg1
  // CHECK-NEXT: graph.mul %[[BIASED]], %[[SILU]]
  %g = graph.weight {name = "g"} : () -> tensor<8x6xf32>
  %u = graph.weight {name = "u"} : () -> tensor<8x6xf32>
  %0 = graph.matmul %x, %g : (tensor<1x4x8xf32>, tensor<8x6xf32>) -> tensor<1x4x6xf32>
  %1 = graph.sigmoid %0 : (tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
  %2 = graph.mul %0, %1 : (tensor<1x4x6xf32>, tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
  %3 = graph.matmul %x, %u : (tensor<1x4x8xf32>, tensor<8x6xf32>) -> tensor<1x4x6xf32>
  %4 = graph.add %3, %b : (tensor<1x4x6xf32>, tensor<6xf32>) -> tensor<1x4x6xf32>
  %5 = graph.mul %4, %2 : (tensor<1x4x6xf32>, tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
  return %5 : tensor<1x4x6xf32>
}

// -----

// What is read on the way, too, is no half of a kernel's result.

// CHECK-LABEL: @gate_read_elsewhere
func.func @gate_read_elsewhere(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK-NOT: graph.concat
  %g = graph.weight {name = "g"} : () -> tensor<8x8xf32>
  %u = graph.weight {name = "u"} : () -> tensor<8x8xf32>
  // expected-remark@+1 {{is not merged with the other products of its operand: a reader of its result would need a copy of a slice}}
  %0 = graph.matmul %x, %g : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  // expected-remark@+1 {{is not merged with the other products of its operand: a reader of its result would need a copy of a slice}}
  %1 = graph.matmul %x, %u : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %2 = graph.sigmoid %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = graph.mul %2, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Halves are of equal width.

// CHECK-LABEL: @unequal_columns
func.func @unequal_columns(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK-NOT: graph.concat
  %g = graph.weight {name = "g"} : () -> tensor<8x1xf32>
  %u = graph.weight {name = "u"} : () -> tensor<8x8xf32>
  // expected-remark@+1 {{is not merged with the other products of its operand: a reader of its result would need a copy of a slice}}
  %0 = graph.matmul %x, %g : (tensor<4x8xf32>, tensor<8x1xf32>) -> tensor<4x1xf32>
  // expected-remark@+1 {{is not merged with the other products of its operand: a reader of its result would need a copy of a slice}}
  %1 = graph.matmul %x, %u : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %2 = graph.mul %0, %1 : (tensor<4x1xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// Halves that do not meet element by element would be cut out.

// CHECK-LABEL: @halves_apart
func.func @halves_apart(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK-NOT: graph.concat
  %g = graph.weight {name = "g"} : () -> tensor<8x8xf32>
  %u = graph.weight {name = "u"} : () -> tensor<8x8xf32>
  // expected-remark@+1 {{is not merged with the other products of its operand: a reader of its result would need a copy of a slice}}
  %0 = graph.matmul %x, %g : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // expected-remark@+1 {{is not merged with the other products of its operand: a reader of its result would need a copy of a slice}}
  %1 = graph.matmul %x, %u : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = graph.mul %0, %2 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}
