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

// A bias that something before the products reads, too, stays where it is.

// CHECK-LABEL: @shared_bias
func.func @shared_bias(%x: tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32> {
  // CHECK: %[[B:.*]] = graph.weight {name = "b"}
  // CHECK: %[[X:.*]] = graph.add %arg0, %[[B]]
  // CHECK: graph.matmul %[[X]], %{{.*}} -> tensor<1x1x4x16xf32>
  // CHECK: graph.concat %[[B]], %[[B]] {axis = 0 : i64}
  // CHECK-NOT: graph.matmul
  %b = graph.weight {name = "b"} : () -> tensor<8xf32>
  %0 = graph.add %x, %b : (tensor<1x1x4x8xf32>, tensor<8xf32>) -> tensor<1x1x4x8xf32>
  %q = graph.weight {name = "q"} : () -> tensor<8x8xf32>
  %1 = graph.matmul %0, %q : (tensor<1x1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x1x4x8xf32>
  %2 = graph.add %1, %b : (tensor<1x1x4x8xf32>, tensor<8xf32>) -> tensor<1x1x4x8xf32>
  %k = graph.weight {name = "k"} : () -> tensor<8x8xf32>
  %3 = graph.matmul %0, %k : (tensor<1x1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x1x4x8xf32>
  %4 = graph.add %3, %b : (tensor<1x1x4x8xf32>, tensor<8xf32>) -> tensor<1x1x4x8xf32>
  %y = graph.attention %2, %4, %x {
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 1.0 : f64,
      softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>,
      window = 0 : i64, dead_rows = #graph<dead_rows zero>}
      : (tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32>
  return %y : tensor<1x1x4x8xf32>
}

// -----

// Whisper scales its queries before it splits heads: that goes into the
// attention, and the bias joins its product.

// CHECK-LABEL: @scaled_query
func.func @scaled_query(%x: tensor<1x4x8xf32>, %z: tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32> {
  // CHECK: %[[PRODUCT:.*]] = graph.matmul %arg0, %{{.*}} : {{.*}} -> tensor<1x4x16xf32>
  // CHECK: %[[SUM:.*]] = graph.add %[[PRODUCT]]
  // CHECK-NOT: graph.mul
  // CHECK: graph.attention {{.*}}scale = 1.250000e-01
  %q = graph.weight {name = "q"} : () -> tensor<8x8xf32>
  %k = graph.weight {name = "k"} : () -> tensor<8x8xf32>
  %b = graph.weight {name = "b"} : () -> tensor<8xf32>
  %c = graph.constant {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.matmul %x, %q : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  %1 = graph.add %0, %b : (tensor<1x4x8xf32>, tensor<8xf32>) -> tensor<1x4x8xf32>
  %2 = graph.mul %1, %c : (tensor<1x4x8xf32>, tensor<f32>) -> tensor<1x4x8xf32>
  %3 = graph.reshape %2 : (tensor<1x4x8xf32>) -> tensor<1x1x4x8xf32>
  %4 = graph.matmul %x, %k : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  %5 = graph.reshape %4 : (tensor<1x4x8xf32>) -> tensor<1x1x4x8xf32>
  %y = graph.attention %3, %5, %z {
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64,
      softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>,
      window = 0 : i64, dead_rows = #graph<dead_rows zero>}
      : (tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32>
  return %y : tensor<1x1x4x8xf32>
}

// -----

// A factor per column is none of the scale.

// CHECK-LABEL: @scaled_columns
func.func @scaled_columns(%q: tensor<1x1x4x2xf32>) -> tensor<1x1x4x2xf32> {
  // CHECK: graph.mul
  // CHECK: graph.attention {{.*}}scale = 5.000000e-01
  %c = graph.constant {value = dense<[0.25, 0.5]> : tensor<2xf32>} : () -> tensor<2xf32>
  %0 = graph.mul %q, %c : (tensor<1x1x4x2xf32>, tensor<2xf32>) -> tensor<1x1x4x2xf32>
  %y = graph.attention %0, %q, %q {
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64,
      softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>,
      window = 0 : i64, dead_rows = #graph<dead_rows zero>}
      : (tensor<1x1x4x2xf32>, tensor<1x1x4x2xf32>, tensor<1x1x4x2xf32>) -> tensor<1x1x4x2xf32>
  return %y : tensor<1x1x4x2xf32>
}

// -----

// A weight that is computed, as from 4 bits, is not merged.

// CHECK-LABEL: @computed_weights
func.func @computed_weights(%x: tensor<4x8xf32>, %s: tensor<f32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  // CHECK-NOT: graph.concat
  %k = graph.weight {name = "k"} : () -> tensor<8x8xf32>
  %v = graph.weight {name = "v"} : () -> tensor<8x8xf32>
  %0 = graph.mul %k, %s : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
  %1 = graph.matmul %x, %0 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %2 = graph.matmul %x, %v : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %3 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %4 = graph.transpose %2 {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return %3, %4 : tensor<8x4xf32>, tensor<8x4xf32>
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

// Branches of an If that read the same weights merge the same ones.

// CHECK-LABEL: @branches
func.func @branches(%c: tensor<i1>, %x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  // CHECK: graph.if
  // CHECK: graph.concat
  // CHECK-NEXT: graph.matmul {{.*}} -> tensor<4x16xf32>
  // CHECK-NOT: graph.matmul
  // CHECK: } else {
  // CHECK: graph.concat
  // CHECK-NEXT: graph.matmul {{.*}} -> tensor<4x16xf32>
  // CHECK-NOT: graph.matmul
  %k = graph.weight {name = "k"} : () -> tensor<8x8xf32>
  %v = graph.weight {name = "v"} : () -> tensor<8x8xf32>
  %0 = graph.if %c : (tensor<i1>) -> tensor<8x4xf32> {
    %1 = graph.matmul %x, %k : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %2 = graph.matmul %x, %v : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %3 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %4 = graph.transpose %2 {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %5 = graph.add %3, %4 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    graph.yield %5 : tensor<8x4xf32>
  } else {
    %1 = graph.matmul %x, %k : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %2 = graph.matmul %x, %v : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %3 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %4 = graph.transpose %2 {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %5 = graph.sub %3, %4 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    graph.yield %5 : tensor<8x4xf32>
  }
  return %0 : tensor<8x4xf32>
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

// What is transposed on the way is written anew anyway: the slices are read by
// who does that.

// CHECK-LABEL: @transposed
func.func @transposed(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK: %[[PRODUCT:.*]] = graph.matmul %arg0, %{{.*}} : {{.*}} -> tensor<8x16xf32>
  // CHECK: %[[K:.*]] = graph.slice %[[PRODUCT]] {starts = #graph.dims<0, 0>
  // CHECK: %[[V:.*]] = graph.slice %[[PRODUCT]] {starts = #graph.dims<0, 8>
  // CHECK: graph.transpose %[[K]]
  // CHECK: graph.transpose %[[V]]
  %k = graph.weight {name = "k"} : () -> tensor<8x8xf32>
  %v = graph.weight {name = "v"} : () -> tensor<8x8xf32>
  %0 = graph.matmul %x, %k : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = graph.matmul %x, %v : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2, %3 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// A rotation and an append read slices, with the biases of all three.

// CHECK-LABEL: @cache
func.func @cache(%x: tensor<1x4x8xf32>, %c: tensor<1x4x2xf32>, %p: tensor<1x1x3x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x1x7x4xf32>, tensor<1x1x7x4xf32>) {
  // CHECK: %[[PRODUCT:.*]] = graph.matmul %arg0, %{{.*}} : {{.*}} -> tensor<1x4x16xf32>
  // CHECK: %[[BIAS:.*]] = graph.concat %{{.*}}, %{{.*}}, %{{.*}} {axis = 0 : i64}
  // CHECK: %[[SUM:.*]] = graph.add %[[PRODUCT]], %[[BIAS]]
  // CHECK-COUNT-3: graph.slice %[[SUM]]
  // CHECK-NOT: graph.matmul
  %wq = graph.weight {name = "q"} : () -> tensor<8x8xf32>
  %wk = graph.weight {name = "k"} : () -> tensor<8x4xf32>
  %wv = graph.weight {name = "v"} : () -> tensor<8x4xf32>
  %bq = graph.weight {name = "bq"} : () -> tensor<8xf32>
  %bk = graph.weight {name = "bk"} : () -> tensor<4xf32>
  %0 = graph.matmul %x, %wq : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  %1 = graph.add %0, %bq : (tensor<1x4x8xf32>, tensor<8xf32>) -> tensor<1x4x8xf32>
  %2 = graph.reshape %1 : (tensor<1x4x8xf32>) -> tensor<1x4x2x4xf32>
  %3 = graph.transpose %2 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x4x2x4xf32>) -> tensor<1x2x4x4xf32>
  %4 = graph.rotary %3, %c, %c {interleaved = false} : (tensor<1x2x4x4xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>) -> tensor<1x2x4x4xf32>
  %5 = graph.matmul %x, %wk : (tensor<1x4x8xf32>, tensor<8x4xf32>) -> tensor<1x4x4xf32>
  %6 = graph.add %5, %bk : (tensor<1x4x4xf32>, tensor<4xf32>) -> tensor<1x4x4xf32>
  %7 = graph.reshape %6 : (tensor<1x4x4xf32>) -> tensor<1x1x4x4xf32>
  %8 = graph.rotary %7, %c, %c {interleaved = false} : (tensor<1x1x4x4xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>) -> tensor<1x1x4x4xf32>
  %9 = graph.concat %p, %8 {axis = 2 : i64} : (tensor<1x1x3x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x7x4xf32>
  %10 = graph.matmul %x, %wv : (tensor<1x4x8xf32>, tensor<8x4xf32>) -> tensor<1x4x4xf32>
  %11 = graph.reshape %10 : (tensor<1x4x4xf32>) -> tensor<1x1x4x4xf32>
  %12 = graph.concat %p, %11 {axis = 2 : i64} : (tensor<1x1x3x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x7x4xf32>
  return %4, %9, %12 : tensor<1x2x4x4xf32>, tensor<1x1x7x4xf32>, tensor<1x1x7x4xf32>
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
  %1 = graph.matmul %x, %u : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = graph.mul %0, %2 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}
