// RUN: tenon-opt %s --recognise-attention=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// Scale behind the product; the transposed key is read as it was.

// CHECK-LABEL: @scaled
func.func @scaled(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x7x16xf32>, %v: tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32> {
  // CHECK-NEXT: graph.attention %arg0, %arg1, %arg2 {causal = false, dead_rows = #graph<dead_rows zero>, offset = #graph.dims<0>, {{.*}}, scale = 2.500000e-01 : f64, softcap = 0.000000e+00 : f64, window = 0 : i64}
  %c = graph.constant {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %kt = graph.transpose %k {permutation = array<i64: 0, 1, 3, 2>} : (tensor<2x4x7x16xf32>) -> tensor<2x4x16x7xf32>
  %s = graph.matmul %q, %kt : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %m = graph.mul %s, %c : (tensor<2x4x7x7xf32>, tensor<f32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %m {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// Each side has half of the scale; the key was transposed with its heads
// merged into the batch.

// CHECK-LABEL: @both_sides
func.func @both_sides(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x7x16xf32>, %v: tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32> {
  // CHECK-NEXT: graph.attention %arg0, %arg1, %arg2 {{.*}} scale = 2.500000e-01 : f64
  %c = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %k3 = graph.reshape %k : (tensor<2x4x7x16xf32>) -> tensor<8x7x16xf32>
  %t3 = graph.transpose %k3 {permutation = array<i64: 0, 2, 1>} : (tensor<8x7x16xf32>) -> tensor<8x16x7xf32>
  %kt = graph.reshape %t3 : (tensor<8x16x7xf32>) -> tensor<2x4x16x7xf32>
  %kc = graph.mul %kt, %c : (tensor<2x4x16x7xf32>, tensor<f32>) -> tensor<2x4x16x7xf32>
  %qc = graph.mul %q, %c : (tensor<2x4x7x16xf32>, tensor<f32>) -> tensor<2x4x7x16xf32>
  %m = graph.matmul %qc, %kc : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %m {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// A softcap comes before the mask.

// CHECK-LABEL: @capped
func.func @capped(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %b: tensor<2x1x7x7xf32>) -> tensor<2x4x7x16xf32> {
  // CHECK: graph.attention %arg0, %{{.*}}, %arg2, %arg3 {{.*}} softcap = 5.000000e+01 : f64
  %c = graph.constant {value = dense<50.0> : tensor<f32>} : () -> tensor<f32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %d = graph.div %s, %c : (tensor<2x4x7x7xf32>, tensor<f32>) -> tensor<2x4x7x7xf32>
  %t = graph.tanh %d : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %u = graph.mul %t, %c : (tensor<2x4x7x7xf32>, tensor<f32>) -> tensor<2x4x7x7xf32>
  %m = graph.add %u, %b : (tensor<2x4x7x7xf32>, tensor<2x1x7x7xf32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %m {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// Key j <= i + past: an offset, not a mask aligned at the top. No query is
// without a key, whatever the fill.

// CHECK-LABEL: @causal
func.func @causal(%q: tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, %k: tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>, %v: tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>, %mask_in: tensor<?x?xi64, #graph.dims<B, W>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>> {
  // CHECK: graph.attention %arg0, %{{.*}}, %arg2 {causal = true, dead_rows = #graph<dead_rows zero>, offset = #graph.dims<P>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>{{.*}} window = 0 : i64}
  %i0 = graph.iota : () -> tensor<?xi64, #graph.dims<S>>
  %j0 = graph.iota : () -> tensor<?xi64, #graph.dims<P + S>>
  %past = graph.sizes {value = #graph.dims<P>} : () -> tensor<i64>
  %i1 = graph.add %i0, %past : (tensor<?xi64, #graph.dims<S>>, tensor<i64>) -> tensor<?xi64, #graph.dims<S>>
  %i = graph.reshape %i1 : (tensor<?xi64, #graph.dims<S>>) -> tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>
  %j = graph.reshape %j0 : (tensor<?xi64, #graph.dims<P + S>>) -> tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>
  %allowed = graph.less_equal %j, %i : (tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>, tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>) -> tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %mask = graph.select %allowed, %zero, %fill : (tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>, tensor<f32>, tensor<f32>) -> tensor<1x1x?x?xf32, #graph.dims<1, 1, S, P + S>>
  %s = graph.matmul %q, %k : (tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %m = graph.add %s, %mask : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<1x1x?x?xf32, #graph.dims<1, 1, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %p = graph.softmax %m {axis = 3 : i64} : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %y = graph.matmul %p, %v : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
  return %y : tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
}

// -----

// A padding mask read through a flat index becomes [batch, keys], and must be
// as wide as there are keys. A row without keys is uniform.

// CHECK-LABEL: @key_mask
func.func @key_mask(%q: tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, %k: tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>, %v: tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>, %mask_in: tensor<?x?xi64, #graph.dims<B, W>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>> {
  // CHECK:      graph.require {{.*}} sizes = #graph.dims<P + S, W>
  // CHECK:      %[[KEYS:.*]] = graph.slice %arg3
  // CHECK-SAME:   -> tensor<?x?xi64, #graph.dims<B, P + S>>
  // CHECK:      %[[PLANE:.*]] = graph.reshape %[[KEYS]]
  // CHECK:      %[[MASK:.*]] = graph.cast %[[PLANE]]
  // CHECK:      graph.attention %arg0, %{{.*}}, %arg2, %[[MASK]] {causal = true, dead_rows = #graph<dead_rows uniform>, offset = #graph.dims<P>
  %i0 = graph.iota : () -> tensor<?xi64, #graph.dims<S>>
  %j0 = graph.iota : () -> tensor<?xi64, #graph.dims<P + S>>
  %past = graph.sizes {value = #graph.dims<P>} : () -> tensor<i64>
  %i1 = graph.add %i0, %past : (tensor<?xi64, #graph.dims<S>>, tensor<i64>) -> tensor<?xi64, #graph.dims<S>>
  %i = graph.reshape %i1 : (tensor<?xi64, #graph.dims<S>>) -> tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>
  %j = graph.reshape %j0 : (tensor<?xi64, #graph.dims<P + S>>) -> tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>
  %w = graph.sizes {value = #graph.dims<W>} : () -> tensor<i64>
  %b0 = graph.iota : () -> tensor<?xi64, #graph.dims<B>>
  %mb = graph.cast %mask_in : (tensor<?x?xi64, #graph.dims<B, W>>) -> tensor<?x?xi1, #graph.dims<B, W>>
  %flat = graph.reshape %mb : (tensor<?x?xi1, #graph.dims<B, W>>) -> tensor<?x1xi1, #graph.dims<B * W, 1>>
  %b1 = graph.reshape %b0 : (tensor<?xi64, #graph.dims<B>>) -> tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>
  %b2 = graph.mul %b1, %w : (tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>, tensor<i64>) -> tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>
  %at = graph.add %j, %b2 : (tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>, tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>) -> tensor<?x1x1x?xi64, #graph.dims<B, 1, 1, P + S>>
  %got = graph.gather %flat, %at {axis = 0 : i64} : (tensor<?x1xi1, #graph.dims<B * W, 1>>, tensor<?x1x1x?xi64, #graph.dims<B, 1, 1, P + S>>) -> tensor<?x1x1x?x1xi1, #graph.dims<B, 1, 1, P + S, 1>>
  %seen = graph.reshape %got : (tensor<?x1x1x?x1xi1, #graph.dims<B, 1, 1, P + S, 1>>) -> tensor<?x1x1x?xi1, #graph.dims<B, 1, 1, P + S>>
  %before = graph.less_equal %j, %i : (tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>, tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>) -> tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>
  %allowed = graph.and %before, %seen : (tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>, tensor<?x1x1x?xi1, #graph.dims<B, 1, 1, P + S>>) -> tensor<?x1x?x?xi1, #graph.dims<B, 1, S, P + S>>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %mask = graph.select %allowed, %zero, %fill : (tensor<?x1x?x?xi1, #graph.dims<B, 1, S, P + S>>, tensor<f32>, tensor<f32>) -> tensor<?x1x?x?xf32, #graph.dims<B, 1, S, P + S>>
  %s = graph.matmul %q, %k : (tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %m = graph.add %s, %mask : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<?x1x?x?xf32, #graph.dims<B, 1, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %p = graph.softmax %m {axis = 3 : i64} : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %y = graph.matmul %p, %v : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
  return %y : tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
}

// -----

// Minus infinity and a guard: a row without keys is zero.

// CHECK-LABEL: @guarded
func.func @guarded(%q: tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, %k: tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>, %v: tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>, %mask_in: tensor<?x?xi64, #graph.dims<B, W>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>> {
  // CHECK: graph.attention {{.*}} dead_rows = #graph<dead_rows zero>
  %i0 = graph.iota : () -> tensor<?xi64, #graph.dims<S>>
  %j0 = graph.iota : () -> tensor<?xi64, #graph.dims<P + S>>
  %past = graph.sizes {value = #graph.dims<P>} : () -> tensor<i64>
  %i1 = graph.add %i0, %past : (tensor<?xi64, #graph.dims<S>>, tensor<i64>) -> tensor<?xi64, #graph.dims<S>>
  %i = graph.reshape %i1 : (tensor<?xi64, #graph.dims<S>>) -> tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>
  %j = graph.reshape %j0 : (tensor<?xi64, #graph.dims<P + S>>) -> tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>
  %w = graph.sizes {value = #graph.dims<W>} : () -> tensor<i64>
  %b0 = graph.iota : () -> tensor<?xi64, #graph.dims<B>>
  %mb = graph.cast %mask_in : (tensor<?x?xi64, #graph.dims<B, W>>) -> tensor<?x?xi1, #graph.dims<B, W>>
  %flat = graph.reshape %mb : (tensor<?x?xi1, #graph.dims<B, W>>) -> tensor<?x1xi1, #graph.dims<B * W, 1>>
  %b1 = graph.reshape %b0 : (tensor<?xi64, #graph.dims<B>>) -> tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>
  %b2 = graph.mul %b1, %w : (tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>, tensor<i64>) -> tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>
  %at = graph.add %j, %b2 : (tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>, tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>) -> tensor<?x1x1x?xi64, #graph.dims<B, 1, 1, P + S>>
  %got = graph.gather %flat, %at {axis = 0 : i64} : (tensor<?x1xi1, #graph.dims<B * W, 1>>, tensor<?x1x1x?xi64, #graph.dims<B, 1, 1, P + S>>) -> tensor<?x1x1x?x1xi1, #graph.dims<B, 1, 1, P + S, 1>>
  %seen = graph.reshape %got : (tensor<?x1x1x?x1xi1, #graph.dims<B, 1, 1, P + S, 1>>) -> tensor<?x1x1x?xi1, #graph.dims<B, 1, 1, P + S>>
  %before = graph.less_equal %j, %i : (tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>, tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>) -> tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>
  %allowed = graph.and %before, %seen : (tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>, tensor<?x1x1x?xi1, #graph.dims<B, 1, 1, P + S>>) -> tensor<?x1x?x?xi1, #graph.dims<B, 1, S, P + S>>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %fill = graph.constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %mask = graph.select %allowed, %zero, %fill : (tensor<?x1x?x?xi1, #graph.dims<B, 1, S, P + S>>, tensor<f32>, tensor<f32>) -> tensor<?x1x?x?xf32, #graph.dims<B, 1, S, P + S>>
  %s = graph.matmul %q, %k : (tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %m = graph.add %s, %mask : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<?x1x?x?xf32, #graph.dims<B, 1, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %p = graph.softmax %m {axis = 3 : i64} : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %n = graph.is_nan %p : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>) -> tensor<?x4x?x?xi1, #graph.dims<B, 4, S, P + S>>
  %g = graph.select %n, %zero, %p : (tensor<?x4x?x?xi1, #graph.dims<B, 4, S, P + S>>, tensor<f32>, tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %y = graph.matmul %g, %v : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
  return %y : tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
}

// -----

// Minus infinity without a guard: it is NaN.

// CHECK-LABEL: @unguarded
func.func @unguarded(%q: tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, %k: tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>, %v: tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>, %mask_in: tensor<?x?xi64, #graph.dims<B, W>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>> {
  // CHECK: graph.attention {{.*}} dead_rows = #graph<dead_rows nan>
  %i0 = graph.iota : () -> tensor<?xi64, #graph.dims<S>>
  %j0 = graph.iota : () -> tensor<?xi64, #graph.dims<P + S>>
  %past = graph.sizes {value = #graph.dims<P>} : () -> tensor<i64>
  %i1 = graph.add %i0, %past : (tensor<?xi64, #graph.dims<S>>, tensor<i64>) -> tensor<?xi64, #graph.dims<S>>
  %i = graph.reshape %i1 : (tensor<?xi64, #graph.dims<S>>) -> tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>
  %j = graph.reshape %j0 : (tensor<?xi64, #graph.dims<P + S>>) -> tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>
  %w = graph.sizes {value = #graph.dims<W>} : () -> tensor<i64>
  %b0 = graph.iota : () -> tensor<?xi64, #graph.dims<B>>
  %mb = graph.cast %mask_in : (tensor<?x?xi64, #graph.dims<B, W>>) -> tensor<?x?xi1, #graph.dims<B, W>>
  %flat = graph.reshape %mb : (tensor<?x?xi1, #graph.dims<B, W>>) -> tensor<?x1xi1, #graph.dims<B * W, 1>>
  %b1 = graph.reshape %b0 : (tensor<?xi64, #graph.dims<B>>) -> tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>
  %b2 = graph.mul %b1, %w : (tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>, tensor<i64>) -> tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>
  %at = graph.add %j, %b2 : (tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>, tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>) -> tensor<?x1x1x?xi64, #graph.dims<B, 1, 1, P + S>>
  %got = graph.gather %flat, %at {axis = 0 : i64} : (tensor<?x1xi1, #graph.dims<B * W, 1>>, tensor<?x1x1x?xi64, #graph.dims<B, 1, 1, P + S>>) -> tensor<?x1x1x?x1xi1, #graph.dims<B, 1, 1, P + S, 1>>
  %seen = graph.reshape %got : (tensor<?x1x1x?x1xi1, #graph.dims<B, 1, 1, P + S, 1>>) -> tensor<?x1x1x?xi1, #graph.dims<B, 1, 1, P + S>>
  %before = graph.less_equal %j, %i : (tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>, tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>) -> tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>
  %allowed = graph.and %before, %seen : (tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>, tensor<?x1x1x?xi1, #graph.dims<B, 1, 1, P + S>>) -> tensor<?x1x?x?xi1, #graph.dims<B, 1, S, P + S>>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %fill = graph.constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %mask = graph.select %allowed, %zero, %fill : (tensor<?x1x?x?xi1, #graph.dims<B, 1, S, P + S>>, tensor<f32>, tensor<f32>) -> tensor<?x1x?x?xf32, #graph.dims<B, 1, S, P + S>>
  %s = graph.matmul %q, %k : (tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %m = graph.add %s, %mask : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<?x1x?x?xf32, #graph.dims<B, 1, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %p = graph.softmax %m {axis = 3 : i64} : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %y = graph.matmul %p, %v : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
  return %y : tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
}

// -----

// j > i - 8 sees eight keys.

// CHECK-LABEL: @window
func.func @window(%q: tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, %k: tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>, %v: tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>, %mask_in: tensor<?x?xi64, #graph.dims<B, W>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>> {
  // CHECK: graph.attention {{.*}}causal = true{{.*}} window = 8 : i64
  %i0 = graph.iota : () -> tensor<?xi64, #graph.dims<S>>
  %j0 = graph.iota : () -> tensor<?xi64, #graph.dims<P + S>>
  %past = graph.sizes {value = #graph.dims<P>} : () -> tensor<i64>
  %i1 = graph.add %i0, %past : (tensor<?xi64, #graph.dims<S>>, tensor<i64>) -> tensor<?xi64, #graph.dims<S>>
  %i = graph.reshape %i1 : (tensor<?xi64, #graph.dims<S>>) -> tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>
  %j = graph.reshape %j0 : (tensor<?xi64, #graph.dims<P + S>>) -> tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>
  %eight = graph.constant {value = dense<8> : tensor<i64>} : () -> tensor<i64>
  %first = graph.sub %i, %eight : (tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>, tensor<i64>) -> tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>
  %near = graph.less %first, %j : (tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>, tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>) -> tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>
  %before = graph.less_equal %j, %i : (tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>, tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>) -> tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>
  %allowed = graph.and %near, %before : (tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>, tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>) -> tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %mask = graph.select %allowed, %zero, %fill : (tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>, tensor<f32>, tensor<f32>) -> tensor<1x1x?x?xf32, #graph.dims<1, 1, S, P + S>>
  %s = graph.matmul %q, %k : (tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %m = graph.add %s, %mask : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<1x1x?x?xf32, #graph.dims<1, 1, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %p = graph.softmax %m {axis = 3 : i64} : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %y = graph.matmul %p, %v : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
  return %y : tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
}

// -----

// j >= i - 8 sees nine.

// CHECK-LABEL: @window_and_one
func.func @window_and_one(%q: tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, %k: tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>, %v: tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>, %mask_in: tensor<?x?xi64, #graph.dims<B, W>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>> {
  // CHECK: graph.attention {{.*}} window = 9 : i64
  %i0 = graph.iota : () -> tensor<?xi64, #graph.dims<S>>
  %j0 = graph.iota : () -> tensor<?xi64, #graph.dims<P + S>>
  %past = graph.sizes {value = #graph.dims<P>} : () -> tensor<i64>
  %i1 = graph.add %i0, %past : (tensor<?xi64, #graph.dims<S>>, tensor<i64>) -> tensor<?xi64, #graph.dims<S>>
  %i = graph.reshape %i1 : (tensor<?xi64, #graph.dims<S>>) -> tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>
  %j = graph.reshape %j0 : (tensor<?xi64, #graph.dims<P + S>>) -> tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>
  %eight = graph.constant {value = dense<8> : tensor<i64>} : () -> tensor<i64>
  %first = graph.sub %i, %eight : (tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>, tensor<i64>) -> tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>
  %near = graph.less_equal %first, %j : (tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>, tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>) -> tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>
  %before = graph.less_equal %j, %i : (tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>, tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>) -> tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>
  %allowed = graph.and %near, %before : (tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>, tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>) -> tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %mask = graph.select %allowed, %zero, %fill : (tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>, tensor<f32>, tensor<f32>) -> tensor<1x1x?x?xf32, #graph.dims<1, 1, S, P + S>>
  %s = graph.matmul %q, %k : (tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %m = graph.add %s, %mask : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<1x1x?x?xf32, #graph.dims<1, 1, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %p = graph.softmax %m {axis = 3 : i64} : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %y = graph.matmul %p, %v : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
  return %y : tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
}

// -----

// A window without an end is no window of ours: it stays a bias.

// CHECK-LABEL: @window_alone
func.func @window_alone(%q: tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, %k: tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>, %v: tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>, %mask_in: tensor<?x?xi64, #graph.dims<B, W>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>> {
  // CHECK: graph.attention {{.*}}, %{{.*}} {causal = false{{.*}} operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>
  %i0 = graph.iota : () -> tensor<?xi64, #graph.dims<S>>
  %j0 = graph.iota : () -> tensor<?xi64, #graph.dims<P + S>>
  %past = graph.sizes {value = #graph.dims<P>} : () -> tensor<i64>
  %i1 = graph.add %i0, %past : (tensor<?xi64, #graph.dims<S>>, tensor<i64>) -> tensor<?xi64, #graph.dims<S>>
  %i = graph.reshape %i1 : (tensor<?xi64, #graph.dims<S>>) -> tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>
  %j = graph.reshape %j0 : (tensor<?xi64, #graph.dims<P + S>>) -> tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>
  %eight = graph.constant {value = dense<8> : tensor<i64>} : () -> tensor<i64>
  %first = graph.sub %i, %eight : (tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>, tensor<i64>) -> tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>
  %allowed = graph.less %first, %j : (tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>, tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>) -> tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %mask = graph.select %allowed, %zero, %fill : (tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>, tensor<f32>, tensor<f32>) -> tensor<1x1x?x?xf32, #graph.dims<1, 1, S, P + S>>
  %s = graph.matmul %q, %k : (tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %m = graph.add %s, %mask : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<1x1x?x?xf32, #graph.dims<1, 1, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %p = graph.softmax %m {axis = 3 : i64} : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %y = graph.matmul %p, %v : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
  return %y : tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
}

// -----

// A fill of -100 lets masked keys through: a bias.

// CHECK-LABEL: @small_fill
func.func @small_fill(%q: tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, %k: tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>, %v: tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>, %mask_in: tensor<?x?xi64, #graph.dims<B, W>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>> {
  // CHECK: graph.attention {{.*}} {causal = false{{.*}} operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>
  %i0 = graph.iota : () -> tensor<?xi64, #graph.dims<S>>
  %j0 = graph.iota : () -> tensor<?xi64, #graph.dims<P + S>>
  %past = graph.sizes {value = #graph.dims<P>} : () -> tensor<i64>
  %i1 = graph.add %i0, %past : (tensor<?xi64, #graph.dims<S>>, tensor<i64>) -> tensor<?xi64, #graph.dims<S>>
  %i = graph.reshape %i1 : (tensor<?xi64, #graph.dims<S>>) -> tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>
  %j = graph.reshape %j0 : (tensor<?xi64, #graph.dims<P + S>>) -> tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>
  %allowed = graph.less_equal %j, %i : (tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>, tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>) -> tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %fill = graph.constant {value = dense<-100.0> : tensor<f32>} : () -> tensor<f32>
  %mask = graph.select %allowed, %zero, %fill : (tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>, tensor<f32>, tensor<f32>) -> tensor<1x1x?x?xf32, #graph.dims<1, 1, S, P + S>>
  %s = graph.matmul %q, %k : (tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %m = graph.add %s, %mask : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<1x1x?x?xf32, #graph.dims<1, 1, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %p = graph.softmax %m {axis = 3 : i64} : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %y = graph.matmul %p, %v : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
  return %y : tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
}

// -----

// So does -10000.

// CHECK-LABEL: @ten_thousand
func.func @ten_thousand(%q: tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, %k: tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>, %v: tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>, %mask_in: tensor<?x?xi64, #graph.dims<B, W>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>> {
  // CHECK: graph.attention {{.*}} {causal = false{{.*}} operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>
  %i0 = graph.iota : () -> tensor<?xi64, #graph.dims<S>>
  %j0 = graph.iota : () -> tensor<?xi64, #graph.dims<P + S>>
  %past = graph.sizes {value = #graph.dims<P>} : () -> tensor<i64>
  %i1 = graph.add %i0, %past : (tensor<?xi64, #graph.dims<S>>, tensor<i64>) -> tensor<?xi64, #graph.dims<S>>
  %i = graph.reshape %i1 : (tensor<?xi64, #graph.dims<S>>) -> tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>
  %j = graph.reshape %j0 : (tensor<?xi64, #graph.dims<P + S>>) -> tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>
  %allowed = graph.less_equal %j, %i : (tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>, tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>) -> tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %fill = graph.constant {value = dense<-10000.0> : tensor<f32>} : () -> tensor<f32>
  %mask = graph.select %allowed, %zero, %fill : (tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>, tensor<f32>, tensor<f32>) -> tensor<1x1x?x?xf32, #graph.dims<1, 1, S, P + S>>
  %s = graph.matmul %q, %k : (tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %m = graph.add %s, %mask : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<1x1x?x?xf32, #graph.dims<1, 1, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %p = graph.softmax %m {axis = 3 : i64} : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %y = graph.matmul %p, %v : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
  return %y : tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
}

// -----

// In f16 the lowest number does not absorb a score.

// CHECK-LABEL: @half
func.func @half(%q: tensor<?x4x?x16xf16, #graph.dims<B, 4, S, 16>>, %k: tensor<?x4x16x?xf16, #graph.dims<B, 4, 16, P + S>>, %v: tensor<?x4x?x16xf16, #graph.dims<B, 4, P + S, 16>>, %mask_in: tensor<?x?xi64, #graph.dims<B, W>>) -> tensor<?x4x?x16xf16, #graph.dims<B, 4, S, 16>> {
  // CHECK: graph.attention {{.*}} {causal = false{{.*}} operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>
  %i0 = graph.iota : () -> tensor<?xi64, #graph.dims<S>>
  %j0 = graph.iota : () -> tensor<?xi64, #graph.dims<P + S>>
  %past = graph.sizes {value = #graph.dims<P>} : () -> tensor<i64>
  %i1 = graph.add %i0, %past : (tensor<?xi64, #graph.dims<S>>, tensor<i64>) -> tensor<?xi64, #graph.dims<S>>
  %i = graph.reshape %i1 : (tensor<?xi64, #graph.dims<S>>) -> tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>
  %j = graph.reshape %j0 : (tensor<?xi64, #graph.dims<P + S>>) -> tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>
  %w = graph.sizes {value = #graph.dims<W>} : () -> tensor<i64>
  %b0 = graph.iota : () -> tensor<?xi64, #graph.dims<B>>
  %mb = graph.cast %mask_in : (tensor<?x?xi64, #graph.dims<B, W>>) -> tensor<?x?xi1, #graph.dims<B, W>>
  %flat = graph.reshape %mb : (tensor<?x?xi1, #graph.dims<B, W>>) -> tensor<?x1xi1, #graph.dims<B * W, 1>>
  %b1 = graph.reshape %b0 : (tensor<?xi64, #graph.dims<B>>) -> tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>
  %b2 = graph.mul %b1, %w : (tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>, tensor<i64>) -> tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>
  %at = graph.add %j, %b2 : (tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>, tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>) -> tensor<?x1x1x?xi64, #graph.dims<B, 1, 1, P + S>>
  %got = graph.gather %flat, %at {axis = 0 : i64} : (tensor<?x1xi1, #graph.dims<B * W, 1>>, tensor<?x1x1x?xi64, #graph.dims<B, 1, 1, P + S>>) -> tensor<?x1x1x?x1xi1, #graph.dims<B, 1, 1, P + S, 1>>
  %seen = graph.reshape %got : (tensor<?x1x1x?x1xi1, #graph.dims<B, 1, 1, P + S, 1>>) -> tensor<?x1x1x?xi1, #graph.dims<B, 1, 1, P + S>>
  %before = graph.less_equal %j, %i : (tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>, tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>) -> tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>
  %allowed = graph.and %before, %seen : (tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>, tensor<?x1x1x?xi1, #graph.dims<B, 1, 1, P + S>>) -> tensor<?x1x?x?xi1, #graph.dims<B, 1, S, P + S>>
  %zero = graph.constant {value = dense<0.0> : tensor<f16>} : () -> tensor<f16>
  %fill = graph.constant {value = dense<-65504.0> : tensor<f16>} : () -> tensor<f16>
  %mask = graph.select %allowed, %zero, %fill : (tensor<?x1x?x?xi1, #graph.dims<B, 1, S, P + S>>, tensor<f16>, tensor<f16>) -> tensor<?x1x?x?xf16, #graph.dims<B, 1, S, P + S>>
  %s = graph.matmul %q, %k : (tensor<?x4x?x16xf16, #graph.dims<B, 4, S, 16>>, tensor<?x4x16x?xf16, #graph.dims<B, 4, 16, P + S>>) -> tensor<?x4x?x?xf16, #graph.dims<B, 4, S, P + S>>
  %m = graph.add %s, %mask : (tensor<?x4x?x?xf16, #graph.dims<B, 4, S, P + S>>, tensor<?x1x?x?xf16, #graph.dims<B, 1, S, P + S>>) -> tensor<?x4x?x?xf16, #graph.dims<B, 4, S, P + S>>
  %p = graph.softmax %m {axis = 3 : i64} : (tensor<?x4x?x?xf16, #graph.dims<B, 4, S, P + S>>) -> tensor<?x4x?x?xf16, #graph.dims<B, 4, S, P + S>>
  %y = graph.matmul %p, %v : (tensor<?x4x?x?xf16, #graph.dims<B, 4, S, P + S>>, tensor<?x4x?x16xf16, #graph.dims<B, 4, P + S, 16>>) -> tensor<?x4x?x16xf16, #graph.dims<B, 4, S, 16>>
  return %y : tensor<?x4x?x16xf16, #graph.dims<B, 4, S, 16>>
}

// -----

// Minus infinity does.

// CHECK-LABEL: @half_infinity
func.func @half_infinity(%q: tensor<?x4x?x16xf16, #graph.dims<B, 4, S, 16>>, %k: tensor<?x4x16x?xf16, #graph.dims<B, 4, 16, P + S>>, %v: tensor<?x4x?x16xf16, #graph.dims<B, 4, P + S, 16>>, %mask_in: tensor<?x?xi64, #graph.dims<B, W>>) -> tensor<?x4x?x16xf16, #graph.dims<B, 4, S, 16>> {
  // CHECK: graph.attention {{.*}} {causal = true
  %i0 = graph.iota : () -> tensor<?xi64, #graph.dims<S>>
  %j0 = graph.iota : () -> tensor<?xi64, #graph.dims<P + S>>
  %past = graph.sizes {value = #graph.dims<P>} : () -> tensor<i64>
  %i1 = graph.add %i0, %past : (tensor<?xi64, #graph.dims<S>>, tensor<i64>) -> tensor<?xi64, #graph.dims<S>>
  %i = graph.reshape %i1 : (tensor<?xi64, #graph.dims<S>>) -> tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>
  %j = graph.reshape %j0 : (tensor<?xi64, #graph.dims<P + S>>) -> tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>
  %allowed = graph.less_equal %j, %i : (tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>, tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>) -> tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>
  %zero = graph.constant {value = dense<0.0> : tensor<f16>} : () -> tensor<f16>
  %fill = graph.constant {value = dense<0xFC00> : tensor<f16>} : () -> tensor<f16>
  %mask = graph.select %allowed, %zero, %fill : (tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>, tensor<f16>, tensor<f16>) -> tensor<1x1x?x?xf16, #graph.dims<1, 1, S, P + S>>
  %s = graph.matmul %q, %k : (tensor<?x4x?x16xf16, #graph.dims<B, 4, S, 16>>, tensor<?x4x16x?xf16, #graph.dims<B, 4, 16, P + S>>) -> tensor<?x4x?x?xf16, #graph.dims<B, 4, S, P + S>>
  %m = graph.add %s, %mask : (tensor<?x4x?x?xf16, #graph.dims<B, 4, S, P + S>>, tensor<1x1x?x?xf16, #graph.dims<1, 1, S, P + S>>) -> tensor<?x4x?x?xf16, #graph.dims<B, 4, S, P + S>>
  %p = graph.softmax %m {axis = 3 : i64} : (tensor<?x4x?x?xf16, #graph.dims<B, 4, S, P + S>>) -> tensor<?x4x?x?xf16, #graph.dims<B, 4, S, P + S>>
  %y = graph.matmul %p, %v : (tensor<?x4x?x?xf16, #graph.dims<B, 4, S, P + S>>, tensor<?x4x?x16xf16, #graph.dims<B, 4, P + S, 16>>) -> tensor<?x4x?x16xf16, #graph.dims<B, 4, S, 16>>
  return %y : tensor<?x4x?x16xf16, #graph.dims<B, 4, S, 16>>
}

// -----

// Two masks that meet add up to -inf, which one mask does not give: both stay
// biases.

// CHECK-LABEL: @two_masks
func.func @two_masks(%q: tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, %k: tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>, %v: tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>, %mask_in: tensor<?x?xi64, #graph.dims<B, W>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>> {
  // CHECK: graph.attention {{.*}} {causal = false{{.*}} operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 2>
  %i0 = graph.iota : () -> tensor<?xi64, #graph.dims<S>>
  %j0 = graph.iota : () -> tensor<?xi64, #graph.dims<P + S>>
  %past = graph.sizes {value = #graph.dims<P>} : () -> tensor<i64>
  %i1 = graph.add %i0, %past : (tensor<?xi64, #graph.dims<S>>, tensor<i64>) -> tensor<?xi64, #graph.dims<S>>
  %i = graph.reshape %i1 : (tensor<?xi64, #graph.dims<S>>) -> tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>
  %j = graph.reshape %j0 : (tensor<?xi64, #graph.dims<P + S>>) -> tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>
  %w = graph.sizes {value = #graph.dims<W>} : () -> tensor<i64>
  %b0 = graph.iota : () -> tensor<?xi64, #graph.dims<B>>
  %mb = graph.cast %mask_in : (tensor<?x?xi64, #graph.dims<B, W>>) -> tensor<?x?xi1, #graph.dims<B, W>>
  %flat = graph.reshape %mb : (tensor<?x?xi1, #graph.dims<B, W>>) -> tensor<?x1xi1, #graph.dims<B * W, 1>>
  %b1 = graph.reshape %b0 : (tensor<?xi64, #graph.dims<B>>) -> tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>
  %b2 = graph.mul %b1, %w : (tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>, tensor<i64>) -> tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>
  %at = graph.add %j, %b2 : (tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>, tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>) -> tensor<?x1x1x?xi64, #graph.dims<B, 1, 1, P + S>>
  %got = graph.gather %flat, %at {axis = 0 : i64} : (tensor<?x1xi1, #graph.dims<B * W, 1>>, tensor<?x1x1x?xi64, #graph.dims<B, 1, 1, P + S>>) -> tensor<?x1x1x?x1xi1, #graph.dims<B, 1, 1, P + S, 1>>
  %seen = graph.reshape %got : (tensor<?x1x1x?x1xi1, #graph.dims<B, 1, 1, P + S, 1>>) -> tensor<?x1x1x?xi1, #graph.dims<B, 1, 1, P + S>>
  %allowed = graph.less_equal %j, %i : (tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>, tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>) -> tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %mask = graph.select %allowed, %zero, %fill : (tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>, tensor<f32>, tensor<f32>) -> tensor<1x1x?x?xf32, #graph.dims<1, 1, S, P + S>>
  %s = graph.matmul %q, %k : (tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %other = graph.select %seen, %zero, %fill : (tensor<?x1x1x?xi1, #graph.dims<B, 1, 1, P + S>>, tensor<f32>, tensor<f32>) -> tensor<?x1x1x?xf32, #graph.dims<B, 1, 1, P + S>>
  %m0 = graph.add %s, %other : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<?x1x1x?xf32, #graph.dims<B, 1, 1, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %m = graph.add %m0, %mask : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<1x1x?x?xf32, #graph.dims<1, 1, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %p = graph.softmax %m {axis = 3 : i64} : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %y = graph.matmul %p, %v : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
  return %y : tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
}

// -----

// Two infinities are one: a key that both mask has the score of one that either
// masks. Guarded, a row without keys is zero.

// CHECK-LABEL: @two_infinities_guarded
func.func @two_infinities_guarded(%q: tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, %k: tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>, %v: tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>, %mask_in: tensor<?x?xi64, #graph.dims<B, W>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>> {
  // CHECK: graph.attention {{.*}} {causal = true, dead_rows = #graph<dead_rows zero>, offset = #graph.dims<P>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>
  %i0 = graph.iota : () -> tensor<?xi64, #graph.dims<S>>
  %j0 = graph.iota : () -> tensor<?xi64, #graph.dims<P + S>>
  %past = graph.sizes {value = #graph.dims<P>} : () -> tensor<i64>
  %i1 = graph.add %i0, %past : (tensor<?xi64, #graph.dims<S>>, tensor<i64>) -> tensor<?xi64, #graph.dims<S>>
  %i = graph.reshape %i1 : (tensor<?xi64, #graph.dims<S>>) -> tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>
  %j = graph.reshape %j0 : (tensor<?xi64, #graph.dims<P + S>>) -> tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>
  %w = graph.sizes {value = #graph.dims<W>} : () -> tensor<i64>
  %b0 = graph.iota : () -> tensor<?xi64, #graph.dims<B>>
  %mb = graph.cast %mask_in : (tensor<?x?xi64, #graph.dims<B, W>>) -> tensor<?x?xi1, #graph.dims<B, W>>
  %flat = graph.reshape %mb : (tensor<?x?xi1, #graph.dims<B, W>>) -> tensor<?x1xi1, #graph.dims<B * W, 1>>
  %b1 = graph.reshape %b0 : (tensor<?xi64, #graph.dims<B>>) -> tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>
  %b2 = graph.mul %b1, %w : (tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>, tensor<i64>) -> tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>
  %at = graph.add %j, %b2 : (tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>, tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>) -> tensor<?x1x1x?xi64, #graph.dims<B, 1, 1, P + S>>
  %got = graph.gather %flat, %at {axis = 0 : i64} : (tensor<?x1xi1, #graph.dims<B * W, 1>>, tensor<?x1x1x?xi64, #graph.dims<B, 1, 1, P + S>>) -> tensor<?x1x1x?x1xi1, #graph.dims<B, 1, 1, P + S, 1>>
  %seen = graph.reshape %got : (tensor<?x1x1x?x1xi1, #graph.dims<B, 1, 1, P + S, 1>>) -> tensor<?x1x1x?xi1, #graph.dims<B, 1, 1, P + S>>
  %allowed = graph.less_equal %j, %i : (tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>, tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>) -> tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %fill = graph.constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %mask = graph.select %allowed, %zero, %fill : (tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>, tensor<f32>, tensor<f32>) -> tensor<1x1x?x?xf32, #graph.dims<1, 1, S, P + S>>
  %s = graph.matmul %q, %k : (tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %other = graph.select %seen, %zero, %fill : (tensor<?x1x1x?xi1, #graph.dims<B, 1, 1, P + S>>, tensor<f32>, tensor<f32>) -> tensor<?x1x1x?xf32, #graph.dims<B, 1, 1, P + S>>
  %m0 = graph.add %s, %other : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<?x1x1x?xf32, #graph.dims<B, 1, 1, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %m = graph.add %m0, %mask : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<1x1x?x?xf32, #graph.dims<1, 1, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %p = graph.softmax %m {axis = 3 : i64} : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %n = graph.is_nan %p : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>) -> tensor<?x4x?x?xi1, #graph.dims<B, 4, S, P + S>>
  %g = graph.select %n, %zero, %p : (tensor<?x4x?x?xi1, #graph.dims<B, 4, S, P + S>>, tensor<f32>, tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %y = graph.matmul %g, %v : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
  return %y : tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
}

// -----

// A mask beside a bias that may itself be a mask stays a bias.

// CHECK-LABEL: @unknown_bias
func.func @unknown_bias(%q: tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, %k: tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>, %v: tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>, %mask_in: tensor<?x?xi64, #graph.dims<B, W>>, %bias: tensor<1x4x?x?xf32, #graph.dims<1, 4, S, P + S>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>> {
  // CHECK: graph.attention {{.*}} {causal = false{{.*}} operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 2>
  %i0 = graph.iota : () -> tensor<?xi64, #graph.dims<S>>
  %j0 = graph.iota : () -> tensor<?xi64, #graph.dims<P + S>>
  %past = graph.sizes {value = #graph.dims<P>} : () -> tensor<i64>
  %i1 = graph.add %i0, %past : (tensor<?xi64, #graph.dims<S>>, tensor<i64>) -> tensor<?xi64, #graph.dims<S>>
  %i = graph.reshape %i1 : (tensor<?xi64, #graph.dims<S>>) -> tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>
  %j = graph.reshape %j0 : (tensor<?xi64, #graph.dims<P + S>>) -> tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>
  %w = graph.sizes {value = #graph.dims<W>} : () -> tensor<i64>
  %b0 = graph.iota : () -> tensor<?xi64, #graph.dims<B>>
  %mb = graph.cast %mask_in : (tensor<?x?xi64, #graph.dims<B, W>>) -> tensor<?x?xi1, #graph.dims<B, W>>
  %flat = graph.reshape %mb : (tensor<?x?xi1, #graph.dims<B, W>>) -> tensor<?x1xi1, #graph.dims<B * W, 1>>
  %b1 = graph.reshape %b0 : (tensor<?xi64, #graph.dims<B>>) -> tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>
  %b2 = graph.mul %b1, %w : (tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>, tensor<i64>) -> tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>
  %at = graph.add %j, %b2 : (tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>, tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>) -> tensor<?x1x1x?xi64, #graph.dims<B, 1, 1, P + S>>
  %got = graph.gather %flat, %at {axis = 0 : i64} : (tensor<?x1xi1, #graph.dims<B * W, 1>>, tensor<?x1x1x?xi64, #graph.dims<B, 1, 1, P + S>>) -> tensor<?x1x1x?x1xi1, #graph.dims<B, 1, 1, P + S, 1>>
  %seen = graph.reshape %got : (tensor<?x1x1x?x1xi1, #graph.dims<B, 1, 1, P + S, 1>>) -> tensor<?x1x1x?xi1, #graph.dims<B, 1, 1, P + S>>
  %before = graph.less_equal %j, %i : (tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>, tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>) -> tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>
  %allowed = graph.and %before, %seen : (tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>, tensor<?x1x1x?xi1, #graph.dims<B, 1, 1, P + S>>) -> tensor<?x1x?x?xi1, #graph.dims<B, 1, S, P + S>>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %mask = graph.select %allowed, %zero, %fill : (tensor<?x1x?x?xi1, #graph.dims<B, 1, S, P + S>>, tensor<f32>, tensor<f32>) -> tensor<?x1x?x?xf32, #graph.dims<B, 1, S, P + S>>
  %s = graph.matmul %q, %k : (tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %m0 = graph.add %s, %bias : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<1x4x?x?xf32, #graph.dims<1, 4, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %m = graph.add %m0, %mask : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<?x1x?x?xf32, #graph.dims<B, 1, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %p = graph.softmax %m {axis = 3 : i64} : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %y = graph.matmul %p, %v : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
  return %y : tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
}

// -----

// Beside one of known size it is a predicate.

// CHECK-LABEL: @small_bias
func.func @small_bias(%q: tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, %k: tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>, %v: tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>, %mask_in: tensor<?x?xi64, #graph.dims<B, W>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>> {
  // CHECK: graph.attention {{.*}} {causal = true{{.*}} operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1>
  %i0 = graph.iota : () -> tensor<?xi64, #graph.dims<S>>
  %j0 = graph.iota : () -> tensor<?xi64, #graph.dims<P + S>>
  %past = graph.sizes {value = #graph.dims<P>} : () -> tensor<i64>
  %i1 = graph.add %i0, %past : (tensor<?xi64, #graph.dims<S>>, tensor<i64>) -> tensor<?xi64, #graph.dims<S>>
  %i = graph.reshape %i1 : (tensor<?xi64, #graph.dims<S>>) -> tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>
  %j = graph.reshape %j0 : (tensor<?xi64, #graph.dims<P + S>>) -> tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>
  %w = graph.sizes {value = #graph.dims<W>} : () -> tensor<i64>
  %b0 = graph.iota : () -> tensor<?xi64, #graph.dims<B>>
  %mb = graph.cast %mask_in : (tensor<?x?xi64, #graph.dims<B, W>>) -> tensor<?x?xi1, #graph.dims<B, W>>
  %flat = graph.reshape %mb : (tensor<?x?xi1, #graph.dims<B, W>>) -> tensor<?x1xi1, #graph.dims<B * W, 1>>
  %b1 = graph.reshape %b0 : (tensor<?xi64, #graph.dims<B>>) -> tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>
  %b2 = graph.mul %b1, %w : (tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>, tensor<i64>) -> tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>
  %at = graph.add %j, %b2 : (tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>, tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>) -> tensor<?x1x1x?xi64, #graph.dims<B, 1, 1, P + S>>
  %got = graph.gather %flat, %at {axis = 0 : i64} : (tensor<?x1xi1, #graph.dims<B * W, 1>>, tensor<?x1x1x?xi64, #graph.dims<B, 1, 1, P + S>>) -> tensor<?x1x1x?x1xi1, #graph.dims<B, 1, 1, P + S, 1>>
  %seen = graph.reshape %got : (tensor<?x1x1x?x1xi1, #graph.dims<B, 1, 1, P + S, 1>>) -> tensor<?x1x1x?xi1, #graph.dims<B, 1, 1, P + S>>
  %before = graph.less_equal %j, %i : (tensor<1x1x1x?xi64, #graph.dims<1, 1, 1, P + S>>, tensor<1x1x?x1xi64, #graph.dims<1, 1, S, 1>>) -> tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>
  %allowed = graph.and %before, %seen : (tensor<1x1x?x?xi1, #graph.dims<1, 1, S, P + S>>, tensor<?x1x1x?xi1, #graph.dims<B, 1, 1, P + S>>) -> tensor<?x1x?x?xi1, #graph.dims<B, 1, S, P + S>>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %mask = graph.select %allowed, %zero, %fill : (tensor<?x1x?x?xi1, #graph.dims<B, 1, S, P + S>>, tensor<f32>, tensor<f32>) -> tensor<?x1x?x?xf32, #graph.dims<B, 1, S, P + S>>
  %s = graph.matmul %q, %k : (tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %slope = graph.constant {value = dense<[[[[1.5]], [[2.0]], [[0.5]], [[0.0]]]]> : tensor<1x4x1x1xf32>} : () -> tensor<1x4x1x1xf32>
  %m0 = graph.add %s, %slope : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<1x4x1x1xf32>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %m = graph.add %m0, %mask : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<?x1x?x?xf32, #graph.dims<B, 1, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %p = graph.softmax %m {axis = 3 : i64} : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>
  %y = graph.matmul %p, %v : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P + S>>, tensor<?x4x?x16xf32, #graph.dims<B, 4, P + S, 16>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
  return %y : tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
}

// -----

// Rank 2 is [queries, keys], even where there are as many batches: no key mask.

// CHECK-LABEL: @queries_not_batches
func.func @queries_not_batches(%q: tensor<2x4x2x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %m: tensor<2x7xi1>) -> tensor<2x4x2x16xf32> {
  // CHECK: %[[MASK:.*]] = graph.reshape %{{.*}} : (tensor<2x7xf32>) -> tensor<1x1x2x7xf32>
  // CHECK: graph.attention %arg0, %{{.*}}, %arg2, %[[MASK]] {{.*}} operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %mask = graph.select %m, %zero, %fill : (tensor<2x7xi1>, tensor<f32>, tensor<f32>) -> tensor<2x7xf32>
  %s = graph.matmul %q, %k : (tensor<2x4x2x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x2x7xf32>
  %a = graph.add %s, %mask : (tensor<2x4x2x7xf32>, tensor<2x7xf32>) -> tensor<2x4x2x7xf32>
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<2x4x2x7xf32>) -> tensor<2x4x2x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x2x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x2x16xf32>
  return %y : tensor<2x4x2x16xf32>
}

// -----

// Copies of a bias, one per image, are read modulo.

// CHECK-LABEL: @repeated_bias
func.func @repeated_bias(%q: tensor<6x4x7x16xf32>, %k: tensor<6x4x16x7xf32>, %v: tensor<6x4x7x16xf32>, %b: tensor<2x1x7x7xf32>) -> tensor<6x4x7x16xf32> {
  // CHECK: graph.attention %arg0, {{.*}} tensor<2x1x7x7xf32>) -> tensor<6x4x7x16xf32>
  %b5 = graph.reshape %b : (tensor<2x1x7x7xf32>) -> tensor<1x2x1x7x7xf32>
  %bb = graph.broadcast %b5 : (tensor<1x2x1x7x7xf32>) -> tensor<3x2x1x7x7xf32>
  %bias = graph.reshape %bb : (tensor<3x2x1x7x7xf32>) -> tensor<6x1x7x7xf32>
  %s = graph.matmul %q, %k : (tensor<6x4x7x16xf32>, tensor<6x4x16x7xf32>) -> tensor<6x4x7x7xf32>
  %m = graph.add %s, %bias : (tensor<6x4x7x7xf32>, tensor<6x1x7x7xf32>) -> tensor<6x4x7x7xf32>
  %p = graph.softmax %m {axis = 3 : i64} : (tensor<6x4x7x7xf32>) -> tensor<6x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<6x4x7x7xf32>, tensor<6x4x7x16xf32>) -> tensor<6x4x7x16xf32>
  return %y : tensor<6x4x7x16xf32>
}

// -----

// Repeated heads, each next to its copies, are read in place.

// CHECK-LABEL: @grouped
func.func @grouped(%q: tensor<2x4x7x16xf32>, %k: tensor<2x2x7x16xf32>, %v: tensor<2x2x7x16xf32>) -> tensor<2x4x7x16xf32> {
  // CHECK-NEXT: graph.attention %arg0, %arg1, %arg2 {
  %kr1 = graph.reshape %k : (tensor<2x2x7x16xf32>) -> tensor<2x2x1x7x16xf32>
  %kr2 = graph.broadcast %kr1 : (tensor<2x2x1x7x16xf32>) -> tensor<2x2x2x7x16xf32>
  %kr = graph.reshape %kr2 : (tensor<2x2x2x7x16xf32>) -> tensor<2x4x7x16xf32>
  %vr1 = graph.reshape %v : (tensor<2x2x7x16xf32>) -> tensor<2x2x1x7x16xf32>
  %vr2 = graph.broadcast %vr1 : (tensor<2x2x1x7x16xf32>) -> tensor<2x2x2x7x16xf32>
  %vr = graph.reshape %vr2 : (tensor<2x2x2x7x16xf32>) -> tensor<2x4x7x16xf32>
  %kt = graph.transpose %kr {permutation = array<i64: 0, 1, 3, 2>} : (tensor<2x4x7x16xf32>) -> tensor<2x4x16x7xf32>
  %s = graph.matmul %q, %kt : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %s {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %vr : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// Heads repeated as a whole (h mod 2) are not what the op would read.

// CHECK-LABEL: @interleaved_heads
func.func @interleaved_heads(%q: tensor<2x4x7x16xf32>, %k: tensor<2x2x7x16xf32>, %v: tensor<2x2x7x16xf32>) -> tensor<2x4x7x16xf32> {
  // CHECK: graph.attention %arg0, %{{.*}}, %{{.*}} {{.*}} (tensor<2x4x7x16xf32>, tensor<2x4x7x16xf32>, tensor<2x4x7x16xf32>)
  %kr1 = graph.reshape %k : (tensor<2x2x7x16xf32>) -> tensor<2x1x2x7x16xf32>
  %kr2 = graph.broadcast %kr1 : (tensor<2x1x2x7x16xf32>) -> tensor<2x2x2x7x16xf32>
  %kr = graph.reshape %kr2 : (tensor<2x2x2x7x16xf32>) -> tensor<2x4x7x16xf32>
  %vr1 = graph.reshape %v : (tensor<2x2x7x16xf32>) -> tensor<2x1x2x7x16xf32>
  %vr2 = graph.broadcast %vr1 : (tensor<2x1x2x7x16xf32>) -> tensor<2x2x2x7x16xf32>
  %vr = graph.reshape %vr2 : (tensor<2x2x2x7x16xf32>) -> tensor<2x4x7x16xf32>
  %kt = graph.transpose %kr {permutation = array<i64: 0, 1, 3, 2>} : (tensor<2x4x7x16xf32>) -> tensor<2x4x16x7xf32>
  %s = graph.matmul %q, %kt : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %s {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %vr : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// Key and value with different groups stay repeated.

// CHECK-LABEL: @two_groups
func.func @two_groups(%q: tensor<2x4x7x16xf32>, %k: tensor<2x2x7x16xf32>, %v: tensor<2x1x7x16xf32>) -> tensor<2x4x7x16xf32> {
  // CHECK: graph.attention %arg0, %{{.*}}, %{{.*}} {{.*}} (tensor<2x4x7x16xf32>, tensor<2x4x7x16xf32>, tensor<2x4x7x16xf32>)
  %kr1 = graph.reshape %k : (tensor<2x2x7x16xf32>) -> tensor<2x2x1x7x16xf32>
  %kr2 = graph.broadcast %kr1 : (tensor<2x2x1x7x16xf32>) -> tensor<2x2x2x7x16xf32>
  %kr = graph.reshape %kr2 : (tensor<2x2x2x7x16xf32>) -> tensor<2x4x7x16xf32>
  %v1 = graph.reshape %v : (tensor<2x1x7x16xf32>) -> tensor<2x1x1x7x16xf32>
  %v2 = graph.broadcast %v1 : (tensor<2x1x1x7x16xf32>) -> tensor<2x1x4x7x16xf32>
  %vr = graph.reshape %v2 : (tensor<2x1x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  %kt = graph.transpose %kr {permutation = array<i64: 0, 1, 3, 2>} : (tensor<2x4x7x16xf32>) -> tensor<2x4x16x7xf32>
  %s = graph.matmul %q, %kt : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %s {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %vr : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// A repeated key that is an output is still computed.

// CHECK-LABEL: @repeat_is_output
func.func @repeat_is_output(%q: tensor<2x4x7x16xf32>, %k: tensor<2x2x7x16xf32>, %v: tensor<2x2x7x16xf32>) -> (tensor<2x4x7x16xf32>, tensor<2x4x7x16xf32>) {
  // CHECK: %[[K:.*]] = graph.reshape %{{.*}} -> tensor<2x4x7x16xf32>
  // CHECK: %[[Y:.*]] = graph.attention %arg0, %arg1, %arg2 {
  // CHECK: return %[[Y]], %[[K]]
  %kr1 = graph.reshape %k : (tensor<2x2x7x16xf32>) -> tensor<2x2x1x7x16xf32>
  %kr2 = graph.broadcast %kr1 : (tensor<2x2x1x7x16xf32>) -> tensor<2x2x2x7x16xf32>
  %kr = graph.reshape %kr2 : (tensor<2x2x2x7x16xf32>) -> tensor<2x4x7x16xf32>
  %vr1 = graph.reshape %v : (tensor<2x2x7x16xf32>) -> tensor<2x2x1x7x16xf32>
  %vr2 = graph.broadcast %vr1 : (tensor<2x2x1x7x16xf32>) -> tensor<2x2x2x7x16xf32>
  %vr = graph.reshape %vr2 : (tensor<2x2x2x7x16xf32>) -> tensor<2x4x7x16xf32>
  %kt = graph.transpose %kr {permutation = array<i64: 0, 1, 3, 2>} : (tensor<2x4x7x16xf32>) -> tensor<2x4x16x7xf32>
  %s = graph.matmul %q, %kt : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %s {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %vr : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y, %kr : tensor<2x4x7x16xf32>, tensor<2x4x7x16xf32>
}

// -----

// Another axis is another function.

// CHECK-LABEL: @axis
func.func @axis(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32> {
  // CHECK-NOT: graph.attention
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  // expected-remark@+1 {{not an attention: it is not over the last axis of three or more}}
  %p = graph.softmax %s {axis = 2 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// A cap behind the mask lifts masked keys.

// CHECK-LABEL: @cap_behind_mask
func.func @cap_behind_mask(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %b: tensor<2x1x7x7xf32>) -> tensor<2x4x7x16xf32> {
  // CHECK-NOT: graph.attention
  %c = graph.constant {value = dense<50.0> : tensor<f32>} : () -> tensor<f32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %s, %b : (tensor<2x4x7x7xf32>, tensor<2x1x7x7xf32>) -> tensor<2x4x7x7xf32>
  %d = graph.div %a, %c : (tensor<2x4x7x7xf32>, tensor<f32>) -> tensor<2x4x7x7xf32>
  %t = graph.tanh %d : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %m = graph.mul %t, %c : (tensor<2x4x7x7xf32>, tensor<f32>) -> tensor<2x4x7x7xf32>
  // expected-remark@+1 {{not an attention: a mask is added before the scores are scaled or capped}}
  %p = graph.softmax %m {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// A scale behind the mask scales the mask.

// CHECK-LABEL: @scale_behind_mask
func.func @scale_behind_mask(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %b: tensor<2x1x7x7xf32>) -> tensor<2x4x7x16xf32> {
  // CHECK-NOT: graph.attention
  %c = graph.constant {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %s, %b : (tensor<2x4x7x7xf32>, tensor<2x1x7x7xf32>) -> tensor<2x4x7x7xf32>
  %m = graph.mul %a, %c : (tensor<2x4x7x7xf32>, tensor<f32>) -> tensor<2x4x7x7xf32>
  // expected-remark@+1 {{not an attention: a mask is added before the scores are scaled or capped}}
  %p = graph.softmax %m {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// Caps of different heights are no cap.

// CHECK-LABEL: @uneven_cap
func.func @uneven_cap(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32> {
  // CHECK-NOT: graph.attention
  %c = graph.constant {value = dense<50.0> : tensor<f32>} : () -> tensor<f32>
  %d = graph.constant {value = dense<30.0> : tensor<f32>} : () -> tensor<f32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %u = graph.div %s, %c : (tensor<2x4x7x7xf32>, tensor<f32>) -> tensor<2x4x7x7xf32>
  %t = graph.tanh %u : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %m = graph.mul %t, %d : (tensor<2x4x7x7xf32>, tensor<f32>) -> tensor<2x4x7x7xf32>
  // expected-remark@+1 {{not an attention: the scores come from graph.tanh}}
  %p = graph.softmax %m {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// A scale per head is no scale of the op.

// CHECK-LABEL: @scale_per_head
func.func @scale_per_head(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %c: tensor<4x1x1xf32>) -> tensor<2x4x7x16xf32> {
  // CHECK-NOT: graph.attention
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %m = graph.mul %s, %c : (tensor<2x4x7x7xf32>, tensor<4x1x1xf32>) -> tensor<2x4x7x7xf32>
  // expected-remark@+1 {{not an attention: the scores come from graph.mul}}
  %p = graph.softmax %m {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// Scores that are an output are computed anyway.

// CHECK-LABEL: @scores_are_output
func.func @scores_are_output(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>) -> (tensor<2x4x7x16xf32>, tensor<2x4x7x7xf32>) {
  // CHECK-NOT: graph.attention
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  // expected-remark@+1 {{not an attention: the scores have another user}}
  %p = graph.softmax %s {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y, %s : tensor<2x4x7x16xf32>, tensor<2x4x7x7xf32>
}

// -----

// So are probabilities.

// CHECK-LABEL: @probabilities_are_output
func.func @probabilities_are_output(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>) -> (tensor<2x4x7x16xf32>, tensor<2x4x7x7xf32>) {
  // CHECK-NOT: graph.attention
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  // expected-remark@+1 {{not an attention: the probabilities have another user, or none}}
  %p = graph.softmax %s {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y, %p : tensor<2x4x7x16xf32>, tensor<2x4x7x7xf32>
}

// -----

// A select that replaces scores by what absorbs them is a mask: here one that
// stays a bias.

// CHECK-LABEL: @replaced
func.func @replaced(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %m: tensor<2x1x7x7xi1>) -> tensor<2x4x7x16xf32> {
  // CHECK: %[[BIAS:.*]] = graph.select %arg3, %{{.*}}, %{{.*}} -> tensor<2x1x7x7xf32>
  // CHECK: graph.attention %arg0, %{{.*}}, %arg2, %[[BIAS]] {causal = false
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %r = graph.select %m, %s, %fill : (tensor<2x1x7x7xi1>, tensor<2x4x7x7xf32>, tensor<f32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %r {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// What it replaced is lost, so an addend of unknown size is part of the choice.

// CHECK-LABEL: @replaced_sum
func.func @replaced_sum(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %m: tensor<2x1x7x7xi1>, %b: tensor<1x4x1x7xf32>) -> tensor<2x4x7x16xf32> {
  // CHECK: %[[BIAS:.*]] = graph.select %arg3, %arg4, %{{.*}} -> tensor<2x4x7x7xf32>
  // CHECK: graph.attention %arg0, %{{.*}}, %arg2, %[[BIAS]] {causal = false
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %b, %s : (tensor<1x4x1x7xf32>, tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %r = graph.select %m, %a, %fill : (tensor<2x1x7x7xi1>, tensor<2x4x7x7xf32>, tensor<f32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %r {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// A fill that a score still shows in replaces it: adding it would not.

// CHECK-LABEL: @replaced_by_small
func.func @replaced_by_small(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %m: tensor<2x1x7x7xi1>) -> tensor<2x4x7x16xf32> {
  // CHECK-NOT: graph.attention
  %fill = graph.constant {value = dense<-1.0E+4> : tensor<f32>} : () -> tensor<f32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %r = graph.select %m, %s, %fill : (tensor<2x1x7x7xi1>, tensor<2x4x7x7xf32>, tensor<f32>) -> tensor<2x4x7x7xf32>
  // expected-remark@+1 {{not an attention: the scores come from graph.select}}
  %p = graph.softmax %r {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// In the place of a score, -1e9 hides a key from those that have one; all keys of
// a row without any weigh the same.

// CHECK-LABEL: @replaced_by_a_billion
func.func @replaced_by_a_billion(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %m: tensor<2x1x7x7xi1>) -> tensor<2x4x7x16xf32> {
  // CHECK: %[[LOW:.*]] = graph.constant {value = dense<-1.000000e+30>
  // CHECK: %[[BIAS:.*]] = graph.select %arg3, %{{.*}}, %[[LOW]] : (tensor<2x1x7x7xi1>
  // CHECK: graph.attention %arg0, %{{.*}}, %arg2, %[[BIAS]] {causal = false
  %fill = graph.constant {value = dense<-1.0E+9> : tensor<f32>} : () -> tensor<f32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %r = graph.select %m, %s, %fill : (tensor<2x1x7x7xi1>, tensor<2x4x7x7xf32>, tensor<f32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %r {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// Beside another mask -1e9 and what that adds would be compared.

// CHECK-LABEL: @replaced_by_a_billion_beside_another
func.func @replaced_by_a_billion_beside_another(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %m: tensor<2x1x7x7xi1>, %b: tensor<2x1x1x7xf32>) -> tensor<2x4x7x16xf32> {
  // CHECK-NOT: graph.attention
  %fill = graph.constant {value = dense<-1.0E+9> : tensor<f32>} : () -> tensor<f32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %r = graph.select %m, %s, %fill : (tensor<2x1x7x7xi1>, tensor<2x4x7x7xf32>, tensor<f32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %r, %b : (tensor<2x4x7x7xf32>, tensor<2x1x1x7xf32>) -> tensor<2x4x7x7xf32>
  // expected-remark@+1 {{not an attention: a mask that hides less than all others stands beside another}}
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// What is hidden has the weight 0 already: only rows without a key change.

// CHECK-LABEL: @kept
func.func @kept(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %m: tensor<2x1x7x7xi1>) -> tensor<2x4x7x16xf32> {
  // CHECK: %[[Y:.*]] = graph.attention
  // CHECK: %[[KEYS:.*]] = graph.reduce %{{.*}} {axes = array<i64: 3>, kind = #graph<reduce_kind max>} : (tensor<2x1x7x7xf32>) -> tensor<2x1x7x1xf32>
  // CHECK: %[[NONE:.*]] = graph.equal %[[KEYS]]
  // CHECK: graph.select %[[NONE]], %{{.*}}, %[[Y]]
  %fill = graph.constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %r = graph.select %m, %s, %fill : (tensor<2x1x7x7xi1>, tensor<2x4x7x7xf32>, tensor<f32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %r {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %z = graph.select %m, %p, %zero : (tensor<2x1x7x7xi1>, tensor<2x4x7x7xf32>, tensor<f32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %z, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// The same by a product.

// CHECK-LABEL: @kept_by_product
func.func @kept_by_product(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %m: tensor<2x1x7x7xi1>) -> tensor<2x4x7x16xf32> {
  // CHECK: %[[Y:.*]] = graph.attention
  // CHECK: %[[KEYS:.*]] = graph.reduce %{{.*}} {axes = array<i64: 3>, kind = #graph<reduce_kind max>} : (tensor<2x1x7x7xf32>) -> tensor<2x1x7x1xf32>
  // CHECK: %[[NONE:.*]] = graph.equal %[[KEYS]]
  // CHECK: graph.select %[[NONE]], %{{.*}}, %[[Y]]
  %fill = graph.constant {value = dense<-1.0E+9> : tensor<f32>} : () -> tensor<f32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %r = graph.select %m, %s, %fill : (tensor<2x1x7x7xi1>, tensor<2x4x7x7xf32>, tensor<f32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %r {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %n = graph.cast %m : (tensor<2x1x7x7xi1>) -> tensor<2x1x7x7xf32>
  %z = graph.mul %p, %n : (tensor<2x4x7x7xf32>, tensor<2x1x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %z, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// A row of -inf is NaN, and NaN times 0 is NaN.

// CHECK-LABEL: @kept_nan
func.func @kept_nan(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %m: tensor<2x1x7x7xi1>) -> tensor<2x4x7x16xf32> {
  // CHECK-NOT: graph.attention
  %fill = graph.constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %r = graph.select %m, %s, %fill : (tensor<2x1x7x7xi1>, tensor<2x4x7x7xf32>, tensor<f32>) -> tensor<2x4x7x7xf32>
  // expected-remark@+1 {{not an attention: the probabilities are not the left operand of a matmul}}
  %p = graph.softmax %r {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %n = graph.cast %m : (tensor<2x1x7x7xi1>) -> tensor<2x1x7x7xf32>
  %z = graph.mul %p, %n : (tensor<2x4x7x7xf32>, tensor<2x1x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %z, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// Of another mask the rest of a row is not its softmax.

// CHECK-LABEL: @kept_by_another_mask
func.func @kept_by_another_mask(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %m: tensor<2x1x7x7xi1>, %o: tensor<2x1x7x7xi1>) -> tensor<2x4x7x16xf32> {
  // CHECK-NOT: graph.attention
  %fill = graph.constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %r = graph.select %m, %s, %fill : (tensor<2x1x7x7xi1>, tensor<2x4x7x7xf32>, tensor<f32>) -> tensor<2x4x7x7xf32>
  // expected-remark@+1 {{not an attention: a select of probabilities is no guard against NaN}}
  %p = graph.softmax %r {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %z = graph.select %o, %p, %zero : (tensor<2x1x7x7xi1>, tensor<2x4x7x7xf32>, tensor<f32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %z, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// So does the lowest number of f16.

// CHECK-LABEL: @replaced_in_half
func.func @replaced_in_half(%q: tensor<2x4x7x16xf16>, %k: tensor<2x4x16x7xf16>, %v: tensor<2x4x7x16xf16>, %m: tensor<2x1x7x7xi1>) -> tensor<2x4x7x16xf16> {
  // CHECK-NOT: graph.attention
  %fill = graph.constant {value = dense<-6.5504E+4> : tensor<f16>} : () -> tensor<f16>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf16>, tensor<2x4x16x7xf16>) -> tensor<2x4x7x7xf16>
  %r = graph.select %m, %s, %fill : (tensor<2x1x7x7xi1>, tensor<2x4x7x7xf16>, tensor<f16>) -> tensor<2x4x7x7xf16>
  // expected-remark@+1 {{not an attention: the scores come from graph.select}}
  %p = graph.softmax %r {axis = 3 : i64} : (tensor<2x4x7x7xf16>) -> tensor<2x4x7x7xf16>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf16>, tensor<2x4x7x16xf16>) -> tensor<2x4x7x16xf16>
  return %y : tensor<2x4x7x16xf16>
}

// -----

// Two masks that add up to -inf are lifted to one fill: together they are one
// mask, and a row without keys is uniform.

// CHECK-LABEL: @lifted
func.func @lifted(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %m: tensor<2x7xi1>) -> tensor<2x4x7x16xf32> {
  // CHECK: graph.attention %arg0, %{{.*}}, %arg2, %{{.*}} {causal = true, dead_rows = #graph<dead_rows uniform>, offset = #graph.dims<0>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %j = graph.iota : () -> tensor<7xi64>
  %i = graph.reshape %j : (tensor<7xi64>) -> tensor<7x1xi64>
  %before = graph.less_equal %j, %i : (tensor<7xi64>, tensor<7x1xi64>) -> tensor<7x7xi1>
  %causal = graph.select %before, %zero, %fill : (tensor<7x7xi1>, tensor<f32>, tensor<f32>) -> tensor<7x7xf32>
  %m4 = graph.reshape %m : (tensor<2x7xi1>) -> tensor<2x1x1x7xi1>
  %keys = graph.select %m4, %zero, %fill : (tensor<2x1x1x7xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x1x7xf32>
  %mask = graph.add %causal, %keys : (tensor<7x7xf32>, tensor<2x1x1x7xf32>) -> tensor<2x1x7x7xf32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %s, %mask : (tensor<2x4x7x7xf32>, tensor<2x1x7x7xf32>) -> tensor<2x4x7x7xf32>
  %l = graph.max %a, %fill : (tensor<2x4x7x7xf32>, tensor<f32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %l {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// What is lifted must be known: -inf of a bias would become the fill.

// CHECK-LABEL: @lifted_bias
func.func @lifted_bias(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %b: tensor<2x1x7x7xf32>) -> tensor<2x4x7x16xf32> {
  // CHECK-NOT: graph.attention
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %s, %b : (tensor<2x4x7x7xf32>, tensor<2x1x7x7xf32>) -> tensor<2x4x7x7xf32>
  %l = graph.max %a, %fill : (tensor<2x4x7x7xf32>, tensor<f32>) -> tensor<2x4x7x7xf32>
  // expected-remark@+1 {{not an attention: scores are bounded below beside a bias of unknown size}}
  %p = graph.softmax %l {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// A mask that is added after the lift is not lifted.

// CHECK-LABEL: @lifted_too_early
func.func @lifted_too_early(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %b: tensor<2x1x7x7xf32>) -> tensor<2x4x7x16xf32> {
  // CHECK-NOT: graph.attention
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %l = graph.max %s, %fill : (tensor<2x4x7x7xf32>, tensor<f32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %l, %b : (tensor<2x4x7x7xf32>, tensor<2x1x7x7xf32>) -> tensor<2x4x7x7xf32>
  // expected-remark@+1 {{not an attention: scores are bounded below before something is done to them}}
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// m == 1 ? 1 - m : lowest: what is kept is zero, by the condition. The mask is
// computed of keys, not of scores.

// CHECK-LABEL: @kept_is_zero
func.func @kept_is_zero(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %m: tensor<2x7xi64>) -> tensor<2x4x7x16xf32> {
  // CHECK:      %[[F:.*]] = graph.cast %{{.*}} : (tensor<2x7xi64>) -> tensor<2x7xf32>
  // CHECK:      %[[D:.*]] = graph.sub %{{.*}}, %[[F]] {{.*}} -> tensor<2x7xf32>
  // CHECK:      %[[C:.*]] = graph.cast %[[D]] : (tensor<2x7xf32>) -> tensor<2x7xi1>
  // CHECK:      %[[N:.*]] = graph.not %[[C]]
  // CHECK:      graph.attention %arg0, %{{.*}}, %arg2, %[[N]] {causal = false, dead_rows = #graph<dead_rows uniform>
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %one = graph.constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %m4 = graph.reshape %m : (tensor<2x7xi64>) -> tensor<2x1x1x7xi64>
  %all = graph.broadcast %m4 : (tensor<2x1x1x7xi64>) -> tensor<2x1x7x7xi64>
  %f = graph.cast %all : (tensor<2x1x7x7xi64>) -> tensor<2x1x7x7xf32>
  %d = graph.sub %one, %f : (tensor<f32>, tensor<2x1x7x7xf32>) -> tensor<2x1x7x7xf32>
  %c = graph.cast %d : (tensor<2x1x7x7xf32>) -> tensor<2x1x7x7xi1>
  %mask = graph.select %c, %fill, %d : (tensor<2x1x7x7xi1>, tensor<f32>, tensor<2x1x7x7xf32>) -> tensor<2x1x7x7xf32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %s, %mask : (tensor<2x4x7x7xf32>, tensor<2x1x7x7xf32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// (1 - m) * lowest is a mask only if m is 0 or 1, which nobody said.

// CHECK-LABEL: @product_of_mask
func.func @product_of_mask(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %m: tensor<2x1x1x7xf32>) -> tensor<2x4x7x16xf32> {
  // CHECK: graph.attention {{.*}} operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %one = graph.constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %d = graph.sub %one, %m : (tensor<f32>, tensor<2x1x1x7xf32>) -> tensor<2x1x1x7xf32>
  %mask = graph.mul %d, %fill : (tensor<2x1x1x7xf32>, tensor<f32>) -> tensor<2x1x1x7xf32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %s, %mask : (tensor<2x4x7x7xf32>, tensor<2x1x1x7xf32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// A guard of rows that a bias may have made NaN is not expressed.

// CHECK-LABEL: @guarded_bias
func.func @guarded_bias(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %b: tensor<2x1x7x7xf32>) -> tensor<2x4x7x16xf32> {
  // CHECK-NOT: graph.attention
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %s, %b : (tensor<2x4x7x7xf32>, tensor<2x1x7x7xf32>) -> tensor<2x4x7x7xf32>
  // expected-remark@+1 {{not an attention: a row of NaN is guarded, and its mask is not understood}}
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %n = graph.is_nan %p : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xi1>
  %g = graph.select %n, %zero, %p : (tensor<2x4x7x7xi1>, tensor<f32>, tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %g, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// A mask that replaces scores and another that is added to what it left: where
// both mask, the sum is -inf, so they are not one.

// CHECK-LABEL: @replaced_then_masked
func.func @replaced_then_masked(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %m: tensor<2x7xi1>) -> tensor<2x4x7x16xf32> {
  // CHECK: graph.attention {{.*}} {causal = false{{.*}} operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 2>
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %j = graph.iota : () -> tensor<7xi64>
  %i = graph.reshape %j : (tensor<7xi64>) -> tensor<7x1xi64>
  %before = graph.less_equal %j, %i : (tensor<7xi64>, tensor<7x1xi64>) -> tensor<7x7xi1>
  %m4 = graph.reshape %m : (tensor<2x7xi1>) -> tensor<2x1x1x7xi1>
  %keys = graph.select %m4, %zero, %fill : (tensor<2x1x1x7xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x1x7xf32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %r = graph.select %before, %s, %fill : (tensor<7x7xi1>, tensor<2x4x7x7xf32>, tensor<f32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %r, %keys : (tensor<2x4x7x7xf32>, tensor<2x1x1x7xf32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// The other way round nothing is added to the fill: one mask.

// CHECK-LABEL: @masked_then_replaced
func.func @masked_then_replaced(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %m: tensor<2x7xi1>) -> tensor<2x4x7x16xf32> {
  // CHECK: graph.attention {{.*}} {causal = true, dead_rows = #graph<dead_rows uniform>{{.*}} operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %j = graph.iota : () -> tensor<7xi64>
  %i = graph.reshape %j : (tensor<7xi64>) -> tensor<7x1xi64>
  %before = graph.less_equal %j, %i : (tensor<7xi64>, tensor<7x1xi64>) -> tensor<7x7xi1>
  %m4 = graph.reshape %m : (tensor<2x7xi1>) -> tensor<2x1x1x7xi1>
  %keys = graph.select %m4, %zero, %fill : (tensor<2x1x1x7xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x1x7xf32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %s, %keys : (tensor<2x4x7x7xf32>, tensor<2x1x1x7xf32>) -> tensor<2x4x7x7xf32>
  %r = graph.select %before, %a, %fill : (tensor<7x7xi1>, tensor<2x4x7x7xf32>, tensor<f32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %r {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// -inf and the lowest number are two fills: of a row without keys the lowest
// ones count, so both stay biases.

// CHECK-LABEL: @infinity_and_lowest
func.func @infinity_and_lowest(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %m: tensor<2x7xi1>) -> tensor<2x4x7x16xf32> {
  // CHECK: graph.attention {{.*}} {causal = false{{.*}} operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 2>
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %infinite = graph.constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %j = graph.iota : () -> tensor<7xi64>
  %i = graph.reshape %j : (tensor<7xi64>) -> tensor<7x1xi64>
  %before = graph.less_equal %j, %i : (tensor<7xi64>, tensor<7x1xi64>) -> tensor<7x7xi1>
  %causal = graph.select %before, %zero, %infinite : (tensor<7x7xi1>, tensor<f32>, tensor<f32>) -> tensor<7x7xf32>
  %m4 = graph.reshape %m : (tensor<2x7xi1>) -> tensor<2x1x1x7xi1>
  %keys = graph.select %m4, %zero, %fill : (tensor<2x1x1x7xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x1x7xf32>
  %mask = graph.add %causal, %keys : (tensor<7x7xf32>, tensor<2x1x1x7xf32>) -> tensor<2x1x7x7xf32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %s, %mask : (tensor<2x4x7x7xf32>, tensor<2x1x7x7xf32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// A guard that gives something else than zero is none.

// CHECK-LABEL: @guard_of_one
func.func @guard_of_one(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32> {
  // CHECK-NOT: graph.attention
  %one = graph.constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  // expected-remark@+1 {{not an attention: a select of probabilities is no guard against NaN}}
  %p = graph.softmax %s {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %n = graph.is_nan %p : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xi1>
  %g = graph.select %n, %one, %p : (tensor<2x4x7x7xi1>, tensor<f32>, tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %g, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}
