// RUN: tenon-opt %s --recognise-attention=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// Batch and heads in one axis, and unfolded for the mask: BART.

// CHECK-LABEL: @folded
func.func @folded(%q: tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, %k: tensor<?x4x?x16xf32, #graph.dims<B, 4, T, 16>>, %v: tensor<?x4x?x16xf32, #graph.dims<B, 4, T, 16>>, %m: tensor<?x1x1x?xf32, #graph.dims<B, 1, 1, T>>) -> tensor<?x?x16xf32, #graph.dims<4 * B, S, 16>> {
  // CHECK-NEXT: %[[Y:.*]] = graph.attention %arg0, %arg1, %arg2, %arg3 {causal = false{{.*}} scale = 2.500000e-01
  // CHECK-NEXT: %[[R:.*]] = graph.reshape %[[Y]]
  // CHECK-NEXT: return %[[R]]
  %c = graph.constant {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %q0 = graph.reshape %q : (tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>) -> tensor<?x?x16xf32, #graph.dims<4 * B, S, 16>>
  %q3 = graph.mul %q0, %c : (tensor<?x?x16xf32, #graph.dims<4 * B, S, 16>>, tensor<f32>) -> tensor<?x?x16xf32, #graph.dims<4 * B, S, 16>>
  %k3 = graph.reshape %k : (tensor<?x4x?x16xf32, #graph.dims<B, 4, T, 16>>) -> tensor<?x?x16xf32, #graph.dims<4 * B, T, 16>>
  %v3 = graph.reshape %v : (tensor<?x4x?x16xf32, #graph.dims<B, 4, T, 16>>) -> tensor<?x?x16xf32, #graph.dims<4 * B, T, 16>>
  %kt = graph.transpose %k3 {permutation = array<i64: 0, 2, 1>} : (tensor<?x?x16xf32, #graph.dims<4 * B, T, 16>>) -> tensor<?x16x?xf32, #graph.dims<4 * B, 16, T>>
  %s = graph.matmul %q3, %kt : (tensor<?x?x16xf32, #graph.dims<4 * B, S, 16>>, tensor<?x16x?xf32, #graph.dims<4 * B, 16, T>>) -> tensor<?x?x?xf32, #graph.dims<4 * B, S, T>>
  %s4 = graph.reshape %s : (tensor<?x?x?xf32, #graph.dims<4 * B, S, T>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, T>>
  %a4 = graph.add %s4, %m : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, T>>, tensor<?x1x1x?xf32, #graph.dims<B, 1, 1, T>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, T>>
  %a3 = graph.reshape %a4 : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, T>>) -> tensor<?x?x?xf32, #graph.dims<4 * B, S, T>>
  %p = graph.softmax %a3 {axis = 2 : i64} : (tensor<?x?x?xf32, #graph.dims<4 * B, S, T>>) -> tensor<?x?x?xf32, #graph.dims<4 * B, S, T>>
  %y = graph.matmul %p, %v3 : (tensor<?x?x?xf32, #graph.dims<4 * B, S, T>>, tensor<?x?x16xf32, #graph.dims<4 * B, T, 16>>) -> tensor<?x?x16xf32, #graph.dims<4 * B, S, 16>>
  return %y : tensor<?x?x16xf32, #graph.dims<4 * B, S, 16>>
}

// -----

// Heads that only a mask shows, for each of which it was repeated: torch's own
// module. It becomes a mask of keys.

// CHECK-LABEL: @mask_per_head
func.func @mask_per_head(%q: tensor<?x?x16xf32, #graph.dims<4 * B, S, 16>>, %k: tensor<?x16x?xf32, #graph.dims<4 * B, 16, T>>, %v: tensor<?x?x16xf32, #graph.dims<4 * B, T, 16>>, %m: tensor<?x?xi1, #graph.dims<B, T>>) -> tensor<?x?x16xf32, #graph.dims<4 * B, S, 16>> {
  // CHECK-DAG: %[[Q:.*]] = graph.reshape %arg0 {{.*}} -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
  // CHECK-DAG: %[[V:.*]] = graph.reshape %arg2 {{.*}} -> tensor<?x4x?x16xf32, #graph.dims<B, 4, T, 16>>
  // CHECK:     %[[M:.*]] = graph.not
  // CHECK:     graph.attention %[[Q]], %{{.*}}, %[[V]], %[[M]] {causal = false, dead_rows = #graph<dead_rows nan>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %fill = graph.constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %m4 = graph.reshape %m : (tensor<?x?xi1, #graph.dims<B, T>>) -> tensor<?x1x1x?xi1, #graph.dims<B, 1, 1, T>>
  %mh = graph.broadcast %m4 : (tensor<?x1x1x?xi1, #graph.dims<B, 1, 1, T>>) -> tensor<?x4x1x?xi1, #graph.dims<B, 4, 1, T>>
  %m3 = graph.reshape %mh : (tensor<?x4x1x?xi1, #graph.dims<B, 4, 1, T>>) -> tensor<?x1x?xi1, #graph.dims<4 * B, 1, T>>
  %mask = graph.select %m3, %fill, %zero : (tensor<?x1x?xi1, #graph.dims<4 * B, 1, T>>, tensor<f32>, tensor<f32>) -> tensor<?x1x?xf32, #graph.dims<4 * B, 1, T>>
  %s = graph.matmul %q, %k : (tensor<?x?x16xf32, #graph.dims<4 * B, S, 16>>, tensor<?x16x?xf32, #graph.dims<4 * B, 16, T>>) -> tensor<?x?x?xf32, #graph.dims<4 * B, S, T>>
  %a = graph.add %s, %mask : (tensor<?x?x?xf32, #graph.dims<4 * B, S, T>>, tensor<?x1x?xf32, #graph.dims<4 * B, 1, T>>) -> tensor<?x?x?xf32, #graph.dims<4 * B, S, T>>
  %p = graph.softmax %a {axis = 2 : i64} : (tensor<?x?x?xf32, #graph.dims<4 * B, S, T>>) -> tensor<?x?x?xf32, #graph.dims<4 * B, S, T>>
  %y = graph.matmul %p, %v : (tensor<?x?x?xf32, #graph.dims<4 * B, S, T>>, tensor<?x?x16xf32, #graph.dims<4 * B, T, 16>>) -> tensor<?x?x16xf32, #graph.dims<4 * B, S, 16>>
  return %y : tensor<?x?x16xf32, #graph.dims<4 * B, S, 16>>
}

// -----

// No heads at all, guarded, and a mask of as many queries as there are batches:
// it is [queries, keys].

// CHECK-LABEL: @single
func.func @single(%q: tensor<7x7x16xf32>, %k: tensor<7x16x9xf32>, %v: tensor<7x9x8xf32>) -> tensor<7x7x8xf32> {
  // CHECK: graph.attention {{.*}} {causal = true, dead_rows = #graph<dead_rows zero>, offset = #graph.dims<0>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>{{.*}} -> tensor<7x1x7x8xf32>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %fill = graph.constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %j = graph.iota : () -> tensor<9xi64>
  %i0 = graph.iota : () -> tensor<7xi64>
  %i = graph.reshape %i0 : (tensor<7xi64>) -> tensor<7x1xi64>
  %before = graph.less_equal %j, %i : (tensor<9xi64>, tensor<7x1xi64>) -> tensor<7x9xi1>
  %mask = graph.select %before, %zero, %fill : (tensor<7x9xi1>, tensor<f32>, tensor<f32>) -> tensor<7x9xf32>
  %s = graph.matmul %q, %k : (tensor<7x7x16xf32>, tensor<7x16x9xf32>) -> tensor<7x7x9xf32>
  %a = graph.add %s, %mask : (tensor<7x7x9xf32>, tensor<7x9xf32>) -> tensor<7x7x9xf32>
  %p = graph.softmax %a {axis = 2 : i64} : (tensor<7x7x9xf32>) -> tensor<7x7x9xf32>
  %n = graph.is_nan %p : (tensor<7x7x9xf32>) -> tensor<7x7x9xi1>
  %g = graph.select %n, %zero, %p : (tensor<7x7x9xi1>, tensor<f32>, tensor<7x7x9xf32>) -> tensor<7x7x9xf32>
  %y = graph.matmul %g, %v : (tensor<7x7x9xf32>, tensor<7x9x8xf32>) -> tensor<7x7x8xf32>
  return %y : tensor<7x7x8xf32>
}

// -----

// Windows get an axis of their own for their masks: a bias that repeats for
// each image.

// CHECK-LABEL: @windows
func.func @windows(%q: tensor<?x2x9x16xf32, #graph.dims<4 * B, 2, 9, 16>>, %k: tensor<?x2x16x9xf32, #graph.dims<4 * B, 2, 16, 9>>, %v: tensor<?x2x9x16xf32, #graph.dims<4 * B, 2, 9, 16>>, %m: tensor<1x4x1x9x9xf32>) -> tensor<?x2x9x16xf32, #graph.dims<4 * B, 2, 9, 16>> {
  // CHECK: %[[M:.*]] = graph.reshape %arg3 : (tensor<1x4x1x9x9xf32>) -> tensor<4x1x9x9xf32>
  // CHECK: graph.attention %arg0, %{{.*}}, %arg2, %[[M]] {causal = false
  %s = graph.matmul %q, %k : (tensor<?x2x9x16xf32, #graph.dims<4 * B, 2, 9, 16>>, tensor<?x2x16x9xf32, #graph.dims<4 * B, 2, 16, 9>>) -> tensor<?x2x9x9xf32, #graph.dims<4 * B, 2, 9, 9>>
  %s5 = graph.reshape %s : (tensor<?x2x9x9xf32, #graph.dims<4 * B, 2, 9, 9>>) -> tensor<?x4x2x9x9xf32, #graph.dims<B, 4, 2, 9, 9>>
  %a5 = graph.add %s5, %m : (tensor<?x4x2x9x9xf32, #graph.dims<B, 4, 2, 9, 9>>, tensor<1x4x1x9x9xf32>) -> tensor<?x4x2x9x9xf32, #graph.dims<B, 4, 2, 9, 9>>
  %a = graph.reshape %a5 : (tensor<?x4x2x9x9xf32, #graph.dims<B, 4, 2, 9, 9>>) -> tensor<?x2x9x9xf32, #graph.dims<4 * B, 2, 9, 9>>
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<?x2x9x9xf32, #graph.dims<4 * B, 2, 9, 9>>) -> tensor<?x2x9x9xf32, #graph.dims<4 * B, 2, 9, 9>>
  %y = graph.matmul %p, %v : (tensor<?x2x9x9xf32, #graph.dims<4 * B, 2, 9, 9>>, tensor<?x2x9x16xf32, #graph.dims<4 * B, 2, 9, 16>>) -> tensor<?x2x9x16xf32, #graph.dims<4 * B, 2, 9, 16>>
  return %y : tensor<?x2x9x16xf32, #graph.dims<4 * B, 2, 9, 16>>
}

// -----

// Keys that all batches share are no operand of the op.

// CHECK-LABEL: @shared_keys
func.func @shared_keys(%q: tensor<3x7x16xf32>, %k: tensor<16x9xf32>, %v: tensor<9x8xf32>) -> tensor<3x7x8xf32> {
  // CHECK-NOT: graph.attention
  %s = graph.matmul %q, %k : (tensor<3x7x16xf32>, tensor<16x9xf32>) -> tensor<3x7x9xf32>
  // expected-remark@+1 {{not an attention: the probabilities are not the left operand of a matmul}}
  %p = graph.softmax %s {axis = 2 : i64} : (tensor<3x7x9xf32>) -> tensor<3x7x9xf32>
  %y = graph.matmul %p, %v : (tensor<3x7x9xf32>, tensor<9x8xf32>) -> tensor<3x7x8xf32>
  return %y : tensor<3x7x8xf32>
}

// -----

// The reshape mixes queries with keys.

// CHECK-LABEL: @mixed
func.func @mixed(%q: tensor<3x4x16xf32>, %k: tensor<3x16x6xf32>, %v: tensor<3x4x8xf32>) -> tensor<3x6x8xf32> {
  // CHECK-NOT: graph.attention
  %s = graph.matmul %q, %k : (tensor<3x4x16xf32>, tensor<3x16x6xf32>) -> tensor<3x4x6xf32>
  %r = graph.reshape %s : (tensor<3x4x6xf32>) -> tensor<3x6x4xf32>
  // expected-remark@+1 {{not an attention: the scores come from graph.reshape}}
  %p = graph.softmax %r {axis = 2 : i64} : (tensor<3x6x4xf32>) -> tensor<3x6x4xf32>
  %y = graph.matmul %p, %v : (tensor<3x6x4xf32>, tensor<3x4x8xf32>) -> tensor<3x6x8xf32>
  return %y : tensor<3x6x8xf32>
}

// -----

// Folded scores that are an output are computed anyway.

// CHECK-LABEL: @scores_are_output
func.func @scores_are_output(%q: tensor<8x7x16xf32>, %k: tensor<8x16x9xf32>, %v: tensor<8x9x8xf32>) -> (tensor<8x7x8xf32>, tensor<2x4x7x9xf32>) {
  // CHECK-NOT: graph.attention
  %s = graph.matmul %q, %k : (tensor<8x7x16xf32>, tensor<8x16x9xf32>) -> tensor<8x7x9xf32>
  %s4 = graph.reshape %s : (tensor<8x7x9xf32>) -> tensor<2x4x7x9xf32>
  // expected-remark@+1 {{not an attention: the scores have another user}}
  %p4 = graph.softmax %s4 {axis = 3 : i64} : (tensor<2x4x7x9xf32>) -> tensor<2x4x7x9xf32>
  %p = graph.reshape %p4 : (tensor<2x4x7x9xf32>) -> tensor<8x7x9xf32>
  %y = graph.matmul %p, %v : (tensor<8x7x9xf32>, tensor<8x9x8xf32>) -> tensor<8x7x8xf32>
  return %y, %s4 : tensor<8x7x8xf32>, tensor<2x4x7x9xf32>
}

// -----

// So wide a head has no room in a cache: the products stay apart.

// CHECK-LABEL: @wide
func.func @wide(%q: tensor<3x4x2048xf32>, %k: tensor<3x2048x6xf32>, %v: tensor<3x6x2048xf32>) -> tensor<3x4x2048xf32> {
  // CHECK-NOT: graph.attention
  %s = graph.matmul %q, %k : (tensor<3x4x2048xf32>, tensor<3x2048x6xf32>) -> tensor<3x4x6xf32>
  // expected-remark@+1 {{not an attention: the head sizes are no numbers up to 1024}}
  %p = graph.softmax %s {axis = 2 : i64} : (tensor<3x4x6xf32>) -> tensor<3x4x6xf32>
  %y = graph.matmul %p, %v : (tensor<3x4x6xf32>, tensor<3x6x2048xf32>) -> tensor<3x4x2048xf32>
  return %y : tensor<3x4x2048xf32>
}

// -----

// The key is the left operand, as Keras writes it: the product is turned.

// CHECK-LABEL: @key_first
func.func @key_first(%q: tensor<2x7x4x16xf32>, %k: tensor<2x9x4x16xf32>, %v: tensor<2x4x9x16xf32>) -> tensor<2x4x7x16xf32> {
  // CHECK-DAG: %[[Q:.*]] = graph.transpose %arg0 {permutation = array<i64: 0, 2, 1, 3>}
  // CHECK-DAG: %[[K:.*]] = graph.transpose %arg1 {permutation = array<i64: 0, 2, 1, 3>}
  // CHECK:     graph.attention %[[Q]], %[[K]], %arg2
  %kh = graph.transpose %k {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x9x4x16xf32>) -> tensor<2x4x9x16xf32>
  %qh = graph.transpose %q {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x7x4x16xf32>) -> tensor<2x4x16x7xf32>
  %s = graph.matmul %kh, %qh : (tensor<2x4x9x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x9x7xf32>
  %t = graph.transpose %s {permutation = array<i64: 0, 1, 3, 2>} : (tensor<2x4x9x7xf32>) -> tensor<2x4x7x9xf32>
  %p = graph.softmax %t {axis = 3 : i64} : (tensor<2x4x7x9xf32>) -> tensor<2x4x7x9xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x9xf32>, tensor<2x4x9x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// A product that is read as it is too stays.

// CHECK-LABEL: @key_first_is_output
func.func @key_first_is_output(%q: tensor<2x4x16x7xf32>, %k: tensor<2x4x9x16xf32>, %v: tensor<2x4x9x16xf32>) -> (tensor<2x4x7x16xf32>, tensor<2x4x9x7xf32>) {
  // CHECK-NOT: graph.attention
  %s = graph.matmul %k, %q : (tensor<2x4x9x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x9x7xf32>
  %t = graph.transpose %s {permutation = array<i64: 0, 1, 3, 2>} : (tensor<2x4x9x7xf32>) -> tensor<2x4x7x9xf32>
  // expected-remark@+1 {{not an attention: the scores come from graph.transpose}}
  %p = graph.softmax %t {axis = 3 : i64} : (tensor<2x4x7x9xf32>) -> tensor<2x4x7x9xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x9xf32>, tensor<2x4x9x16xf32>) -> tensor<2x4x7x16xf32>
  return %y, %s : tensor<2x4x7x16xf32>, tensor<2x4x9x7xf32>
}
