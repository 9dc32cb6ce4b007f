// Every op of the dialect parses, verifies, and prints what parses again to
// the same text.

// RUN: tenon-opt %s -o %t
// RUN: tenon-opt %t | diff %t -
// RUN: FileCheck %s < %t

// Sizes are expressions; only types with a symbol carry them.

// CHECK-LABEL: @sizes
// CHECK-SAME:    tensor<?x4xf32, #graph.dims<2 * B * S + 1, 4>>
// CHECK-SAME:    tensor<?xf32, #graph.dims<floordiv(S + 3, 4)>>
// CHECK-SAME:    tensor<2x3xf32>
// CHECK-SAME:    tensor<?xi64, #graph.dims<max(0, signed(i))>>
// CHECK-SAME:    tensor<?xi64, #graph.dims<broadcast(B, S)>>
func.func @sizes(
    %0: tensor<?x4xf32, #graph.dims<1 + S * 2 * B, 4>>,
    %1: tensor<?xf32, #graph.dims<floordiv(3 + S, 4)>>,
    %2: tensor<2x3xf32>,
    %3: tensor<?xi64, #graph.dims<max(signed(i), 0)>>,
    %4: tensor<?xi64, #graph.dims<broadcast(B, S)>>) {
  return
}

// CHECK-LABEL: @sources
func.func @sources(%n: tensor<2xi64>) -> tensor<?xi32, #graph.dims<n>> {
  // CHECK: graph.weight
  %0 = graph.weight {name = "w"} : () -> tensor<2x3xf16>
  // CHECK: graph.constant
  %1 = graph.constant {value = dense<[1, 2]> : tensor<2xi64>} : () -> tensor<2xi64>
  // CHECK: graph.sizes
  %2 = graph.sizes {value = #graph.dims<B, 64>} : () -> tensor<2xi64>
  // CHECK: graph.bind
  graph.bind %n {symbols = ["n", "m"], lo = array<i64: 0, 1>, hi = array<i64: 9, 9>} : (tensor<2xi64>) -> ()
  // CHECK: graph.require
  graph.require {sizes = #graph.dims<n, m>, relation = #graph<relation broadcasts>, message = "n and m broadcast"} : () -> ()
  // CHECK: graph.iota
  %3 = graph.iota : () -> tensor<?xi32, #graph.dims<n>>
  return %3 : tensor<?xi32, #graph.dims<n>>
}

// CHECK-LABEL: @unary
func.func @unary(%x: tensor<?xf32, #graph.dims<N>>, %k: tensor<4xui8>, %p: tensor<4xi1>, %h: tensor<4xbf16>) {
  // CHECK: graph.abs %
  graph.abs %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.acos %
  graph.acos %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.acosh %
  graph.acosh %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.asin %
  graph.asin %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.asinh %
  graph.asinh %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.atan %
  graph.atan %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.atanh %
  graph.atanh %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.ceil %
  graph.ceil %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.cos %
  graph.cos %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.cosh %
  graph.cosh %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.erf %
  graph.erf %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.exp %
  graph.exp %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.floor %
  graph.floor %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.log %
  graph.log %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.neg %
  graph.neg %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.reciprocal %
  graph.reciprocal %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.round %
  graph.round %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.sigmoid %
  graph.sigmoid %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.sign %
  graph.sign %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.sin %
  graph.sin %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.sinh %
  graph.sinh %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.softplus %
  graph.softplus %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.sqrt %
  graph.sqrt %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.tan %
  graph.tan %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.tanh %
  graph.tanh %x : (tensor<?xf32, #graph.dims<N>>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.bit_not %
  graph.bit_not %k : (tensor<4xui8>) -> tensor<4xui8>
  // CHECK: graph.not %
  graph.not %p : (tensor<4xi1>) -> tensor<4xi1>
  // CHECK: graph.gelu %
  graph.gelu %h {kind = #graph<gelu_kind erf>} : (tensor<4xbf16>) -> tensor<4xbf16>
  // CHECK: graph.gelu %{{.*}} {kind = #graph<gelu_kind tanh>}
  graph.gelu %h {kind = #graph<gelu_kind tanh>} : (tensor<4xbf16>) -> tensor<4xbf16>
  // CHECK: graph.gelu %{{.*}} {kind = #graph<gelu_kind quick>}
  graph.gelu %h {kind = #graph<gelu_kind quick>} : (tensor<4xbf16>) -> tensor<4xbf16>
  // CHECK: graph.is_nan %
  graph.is_nan %h : (tensor<4xbf16>) -> tensor<4xi1>
  // CHECK: graph.is_inf %
  graph.is_inf %h {negative = true, positive = false} : (tensor<4xbf16>) -> tensor<4xi1>
  // CHECK: graph.cast %
  graph.cast %h : (tensor<4xbf16>) -> tensor<4xui64>
  // CHECK: graph.bitcast %
  graph.bitcast %h : (tensor<4xbf16>) -> tensor<4xui16>
  return
}

// Sizes follow from broadcasting.

// CHECK-LABEL: @binary
func.func @binary(%x: tensor<?x1xf32, #graph.dims<N, 1>>, %y: tensor<3xf32>, %j: tensor<4xi32>, %k: tensor<4xi32>, %p: tensor<4xi1>, %q: tensor<1xi1>, %words: tensor<4xui64>, %word: tensor<ui64>) {
  // CHECK: graph.add %
  graph.add %x, %y : (tensor<?x1xf32, #graph.dims<N, 1>>, tensor<3xf32>) -> tensor<?x3xf32, #graph.dims<N, 3>>
  // CHECK: graph.div %
  graph.div %x, %y : (tensor<?x1xf32, #graph.dims<N, 1>>, tensor<3xf32>) -> tensor<?x3xf32, #graph.dims<N, 3>>
  // CHECK: graph.fmod %
  graph.fmod %x, %y : (tensor<?x1xf32, #graph.dims<N, 1>>, tensor<3xf32>) -> tensor<?x3xf32, #graph.dims<N, 3>>
  // CHECK: graph.max %
  graph.max %x, %y : (tensor<?x1xf32, #graph.dims<N, 1>>, tensor<3xf32>) -> tensor<?x3xf32, #graph.dims<N, 3>>
  // CHECK: graph.min %
  graph.min %x, %y : (tensor<?x1xf32, #graph.dims<N, 1>>, tensor<3xf32>) -> tensor<?x3xf32, #graph.dims<N, 3>>
  // CHECK: graph.mod %
  graph.mod %x, %y : (tensor<?x1xf32, #graph.dims<N, 1>>, tensor<3xf32>) -> tensor<?x3xf32, #graph.dims<N, 3>>
  // CHECK: graph.mul %
  graph.mul %x, %y : (tensor<?x1xf32, #graph.dims<N, 1>>, tensor<3xf32>) -> tensor<?x3xf32, #graph.dims<N, 3>>
  // CHECK: graph.pow %
  graph.pow %x, %y : (tensor<?x1xf32, #graph.dims<N, 1>>, tensor<3xf32>) -> tensor<?x3xf32, #graph.dims<N, 3>>
  // CHECK: graph.sub %
  graph.sub %x, %y : (tensor<?x1xf32, #graph.dims<N, 1>>, tensor<3xf32>) -> tensor<?x3xf32, #graph.dims<N, 3>>
  // CHECK: graph.bit_and %
  graph.bit_and %j, %k : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: graph.bit_or %
  graph.bit_or %j, %k : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: graph.bit_xor %
  graph.bit_xor %j, %k : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: graph.random_bits %
  graph.random_bits %words, %word : (tensor<4xui64>, tensor<ui64>) -> tensor<4xui64>
  // CHECK: graph.shift_left %
  graph.shift_left %j, %k : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: graph.shift_right %
  graph.shift_right %j, %k : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: graph.and %
  graph.and %p, %q : (tensor<4xi1>, tensor<1xi1>) -> tensor<4xi1>
  // CHECK: graph.or %
  graph.or %p, %q : (tensor<4xi1>, tensor<1xi1>) -> tensor<4xi1>
  // CHECK: graph.xor %
  graph.xor %p, %q : (tensor<4xi1>, tensor<1xi1>) -> tensor<4xi1>
  // CHECK: graph.equal %
  graph.equal %x, %y : (tensor<?x1xf32, #graph.dims<N, 1>>, tensor<3xf32>) -> tensor<?x3xi1, #graph.dims<N, 3>>
  // CHECK: graph.less %
  graph.less %x, %y : (tensor<?x1xf32, #graph.dims<N, 1>>, tensor<3xf32>) -> tensor<?x3xi1, #graph.dims<N, 3>>
  // CHECK: graph.less_equal %
  graph.less_equal %x, %y : (tensor<?x1xf32, #graph.dims<N, 1>>, tensor<3xf32>) -> tensor<?x3xi1, #graph.dims<N, 3>>
  return
}

// CHECK-LABEL: @ternary
func.func @ternary(%p: tensor<4x1xi1>, %x: tensor<3xf16>, %y: tensor<f16>, %f: tensor<2x4xf32>, %s: tensor<4xf32>, %z: tensor<4xui8>) {
  // CHECK: graph.select %
  graph.select %p, %x, %y : (tensor<4x1xi1>, tensor<3xf16>, tensor<f16>) -> tensor<4x3xf16>
  // CHECK: graph.round_float %
  graph.round_float %f {to = f8E5M2FNUZ, saturates = false} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: %[[Q:.*]] = graph.quantize %
  %q = graph.quantize %f, %s, %z : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xui8>) -> tensor<2x4xui8>
  // CHECK: graph.dequantize %[[Q]]
  graph.dequantize %q, %s, %z : (tensor<2x4xui8>, tensor<4xf32>, tensor<4xui8>) -> tensor<2x4xf32>
  // CHECK: graph.decode %[[Q]], %{{.*}} {codebook = array<f32: 0.000000e+00, 1.000000e+00,
  graph.decode %q, %s {codebook = array<f32: 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 0.0, -1.0, -2.0, -3.0, -4.0, -5.0, -6.0, -7.0>} : (tensor<2x4xui8>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}

// CHECK-LABEL: @movement
func.func @movement(%x: tensor<?x4xf32, #graph.dims<N, 4>>, %zero: tensor<f32>, %i: tensor<2x3xi64>, %j: tensor<2x4xi64>, %k: tensor<5x1xi32>, %u: tensor<2x4xf32>, %v: tensor<5x4xf32>) {
  // CHECK: graph.reshape %{{.*}} -> tensor<?x2xf32, #graph.dims<2 * N, 2>>
  graph.reshape %x : (tensor<?x4xf32, #graph.dims<N, 4>>) -> tensor<?x2xf32, #graph.dims<2 * N, 2>>
  // CHECK: graph.broadcast %
  graph.broadcast %zero : (tensor<f32>) -> tensor<?xf32, #graph.dims<N>>
  // CHECK: graph.transpose %{{.*}} -> tensor<4x?xf32, #graph.dims<4, N>>
  graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<?x4xf32, #graph.dims<N, 4>>) -> tensor<4x?xf32, #graph.dims<4, N>>
  // CHECK: graph.slice %
  graph.slice %x {starts = #graph.dims<N + -1, 0>, steps = #graph.dims<-1, 2>} : (tensor<?x4xf32, #graph.dims<N, 4>>) -> tensor<?x2xf32, #graph.dims<N, 2>>
  // CHECK: graph.concat %{{.*}} -> tensor<?x4xf32, #graph.dims<N + 7, 4>>
  graph.concat %x, %u, %v {axis = 0 : i64} : (tensor<?x4xf32, #graph.dims<N, 4>>, tensor<2x4xf32>, tensor<5x4xf32>) -> tensor<?x4xf32, #graph.dims<N + 7, 4>>
  // CHECK: graph.pad %{{.*}} mode = #graph<pad_mode constant>
  graph.pad %x, %zero {low = #graph.dims<1, 0>, mode = #graph<pad_mode constant>} : (tensor<?x4xf32, #graph.dims<N, 4>>, tensor<f32>) -> tensor<?x4xf32, #graph.dims<N + 2, 4>>
  // CHECK: graph.pad %{{.*}} mode = #graph<pad_mode edge>
  graph.pad %u, %zero {low = #graph.dims<1, 0>, mode = #graph<pad_mode edge>} : (tensor<2x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  // CHECK: graph.pad %{{.*}} mode = #graph<pad_mode reflect>
  graph.pad %u, %zero {low = #graph.dims<1, 0>, mode = #graph<pad_mode reflect>} : (tensor<2x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  // CHECK: graph.pad %{{.*}} mode = #graph<pad_mode wrap>
  graph.pad %u, %zero {low = #graph.dims<1, 0>, mode = #graph<pad_mode wrap>} : (tensor<2x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  // CHECK: graph.append %{{.*}}, %{{.*}} {axis = 1 : i64, length = #graph.dims<3>} : {{.*}} -> tensor<?x9xf32, #graph.dims<N, 9>>
  graph.append %x, %x {axis = 1 : i64, length = #graph.dims<3>} : (tensor<?x4xf32, #graph.dims<N, 4>>, tensor<?x4xf32, #graph.dims<N, 4>>) -> tensor<?x9xf32, #graph.dims<N, 9>>
  // CHECK: graph.windows %{{.*}} -> tensor<?x2x3xf32, #graph.dims<N, 2, 3>>
  graph.windows %x {axis = 1 : i64, stride = 1 : i64, step = 1 : i64} : (tensor<?x4xf32, #graph.dims<N, 4>>) -> tensor<?x2x3xf32, #graph.dims<N, 2, 3>>
  // CHECK: graph.gather %
  graph.gather %x, %i {axis = 1 : i64} : (tensor<?x4xf32, #graph.dims<N, 4>>, tensor<2x3xi64>) -> tensor<?x2x3xf32, #graph.dims<N, 2, 3>>
  // CHECK: graph.gather_elements %
  graph.gather_elements %x, %j {axis = 0 : i64} : (tensor<?x4xf32, #graph.dims<N, 4>>, tensor<2x4xi64>) -> tensor<2x4xf32>
  // CHECK: graph.gather_nd %
  graph.gather_nd %x, %k {batch_dims = 0 : i64} : (tensor<?x4xf32, #graph.dims<N, 4>>, tensor<5x1xi32>) -> tensor<5x4xf32>
  // CHECK: graph.scatter_elements %{{.*}} kind = #graph<scatter_kind assign>
  graph.scatter_elements %x, %j, %u {axis = 0 : i64, kind = #graph<scatter_kind assign>} : (tensor<?x4xf32, #graph.dims<N, 4>>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<?x4xf32, #graph.dims<N, 4>>
  // CHECK: graph.scatter_nd %{{.*}} {kind = #graph<scatter_kind add>}
  graph.scatter_nd %x, %k, %v {kind = #graph<scatter_kind add>} : (tensor<?x4xf32, #graph.dims<N, 4>>, tensor<5x1xi32>, tensor<5x4xf32>) -> tensor<?x4xf32, #graph.dims<N, 4>>
  // CHECK: graph.scatter_nd %{{.*}} {kind = #graph<scatter_kind mul>}
  graph.scatter_nd %v, %k, %v {kind = #graph<scatter_kind mul>} : (tensor<5x4xf32>, tensor<5x1xi32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  // CHECK: graph.scatter_nd %{{.*}} {kind = #graph<scatter_kind max>}
  graph.scatter_nd %v, %k, %v {kind = #graph<scatter_kind max>} : (tensor<5x4xf32>, tensor<5x1xi32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  // CHECK: graph.scatter_nd %{{.*}} {kind = #graph<scatter_kind min>}
  graph.scatter_nd %v, %k, %v {kind = #graph<scatter_kind min>} : (tensor<5x4xf32>, tensor<5x1xi32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  // CHECK: graph.nonzero %
  graph.nonzero %u : (tensor<2x4xf32>) -> tensor<2x?xi64, #graph.dims<2, n>>
  // CHECK: graph.resize %
  graph.resize %u {mode = #graph<resize_mode linear>, coordinates = "half_pixel", nearest = "floor", scales = array<f64>, roi = array<f64>, cubic_coefficient = -0.75 : f64, exclude_outside = false, extrapolation = 0.0 : f64, antialias = false} : (tensor<2x4xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: @contractions
func.func @contractions(%a: tensor<?x1x5x4xf16, #graph.dims<B, 1, 5, 4>>, %b: tensor<3x4x2xf16>, %x: tensor<?x4x9x9xf32, #graph.dims<B, 4, 9, 9>>, %w: tensor<6x2x3x3xf32>, %t: tensor<4x6x3x3xf32>) {
  // CHECK: graph.matmul %{{.*}} -> tensor<?x3x5x2xf16, #graph.dims<B, 3, 5, 2>>
  graph.matmul %a, %b : (tensor<?x1x5x4xf16, #graph.dims<B, 1, 5, 4>>, tensor<3x4x2xf16>) -> tensor<?x3x5x2xf16, #graph.dims<B, 3, 5, 2>>
  // CHECK: graph.conv %
  graph.conv %x, %w {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pads = #graph.dims<1, 0, 1, 0>, group = 2 : i64} : (tensor<?x4x9x9xf32, #graph.dims<B, 4, 9, 9>>, tensor<6x2x3x3xf32>) -> tensor<?x6x5x5xf32, #graph.dims<B, 6, 5, 5>>
  // CHECK: graph.conv_transpose %
  graph.conv_transpose %x, %t {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<?x4x9x9xf32, #graph.dims<B, 4, 9, 9>>, tensor<4x6x3x3xf32>) -> tensor<?x6x11x11xf32, #graph.dims<B, 6, 11, 11>>
  // CHECK: graph.max_pool %
  graph.max_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 3, 3>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>} : (tensor<?x4x9x9xf32, #graph.dims<B, 4, 9, 9>>) -> tensor<?x4x3x3xf32, #graph.dims<B, 4, 3, 3>>
  // CHECK: graph.average_pool %
  graph.average_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 3, 3>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, count_pads = false} : (tensor<?x4x9x9xf32, #graph.dims<B, 4, 9, 9>>) -> tensor<?x4x3x3xf32, #graph.dims<B, 4, 3, 3>>
  // CHECK: graph.lp_pool %
  graph.lp_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 3, 3>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, p = 2 : i64} : (tensor<?x4x9x9xf32, #graph.dims<B, 4, 9, 9>>) -> tensor<?x4x3x3xf32, #graph.dims<B, 4, 3, 3>>
  // CHECK: graph.max_pool_indices %
  graph.max_pool_indices %x {kernel = array<i64: 3, 3>, strides = array<i64: 3, 3>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, column_major = false} : (tensor<?x4x9x9xf32, #graph.dims<B, 4, 9, 9>>) -> tensor<?x4x3x3xi64, #graph.dims<B, 4, 3, 3>>
  return
}

// CHECK-LABEL: @rows
func.func @rows(%x: tensor<?x4xf32, #graph.dims<N, 4>>) {
  // CHECK: graph.reduce %{{.*}} kind = #graph<reduce_kind sum>
  graph.reduce %x {axes = array<i64: 0>, kind = #graph<reduce_kind sum>} : (tensor<?x4xf32, #graph.dims<N, 4>>) -> tensor<1x4xf32>
  // CHECK: graph.reduce %{{.*}} kind = #graph<reduce_kind mean>
  graph.reduce %x {axes = array<i64: 0>, kind = #graph<reduce_kind mean>} : (tensor<?x4xf32, #graph.dims<N, 4>>) -> tensor<1x4xf32>
  // CHECK: graph.reduce %{{.*}} kind = #graph<reduce_kind max>
  graph.reduce %x {axes = array<i64: 0>, kind = #graph<reduce_kind max>} : (tensor<?x4xf32, #graph.dims<N, 4>>) -> tensor<1x4xf32>
  // CHECK: graph.reduce %{{.*}} kind = #graph<reduce_kind min>
  graph.reduce %x {axes = array<i64: 0>, kind = #graph<reduce_kind min>} : (tensor<?x4xf32, #graph.dims<N, 4>>) -> tensor<1x4xf32>
  // CHECK: graph.reduce %{{.*}} kind = #graph<reduce_kind prod>
  graph.reduce %x {axes = array<i64: 0>, kind = #graph<reduce_kind prod>} : (tensor<?x4xf32, #graph.dims<N, 4>>) -> tensor<1x4xf32>
  // CHECK: graph.arg_reduce %
  graph.arg_reduce %x {axis = 1 : i64, kind = #graph<reduce_kind max>, last = false} : (tensor<?x4xf32, #graph.dims<N, 4>>) -> tensor<?x1xi64, #graph.dims<N, 1>>
  // CHECK: graph.softmax %
  graph.softmax %x {axis = 1 : i64} : (tensor<?x4xf32, #graph.dims<N, 4>>) -> tensor<?x4xf32, #graph.dims<N, 4>>
  // CHECK: graph.log_softmax %
  graph.log_softmax %x {axis = 0 : i64} : (tensor<?x4xf32, #graph.dims<N, 4>>) -> tensor<?x4xf32, #graph.dims<N, 4>>
  // CHECK: graph.layer_norm %
  graph.layer_norm %x {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<?x4xf32, #graph.dims<N, 4>>) -> tensor<?x4xf32, #graph.dims<N, 4>>
  // CHECK: graph.rms_norm %
  graph.rms_norm %x {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<?x4xf32, #graph.dims<N, 4>>) -> tensor<?x4xf32, #graph.dims<N, 4>>
  // CHECK: graph.cumulative %
  graph.cumulative %x {axis = 1 : i64, kind = #graph<reduce_kind sum>, exclusive = true, reverse = false} : (tensor<?x4xf32, #graph.dims<N, 4>>) -> tensor<?x4xf32, #graph.dims<N, 4>>
  // CHECK: %{{.*}}, %{{.*}}, %{{.*}} = graph.quantize_rows %
  %n, %s, %z = graph.quantize_rows %x : (tensor<?x4xf32, #graph.dims<N, 4>>) -> (tensor<?x4xui8, #graph.dims<N, 4>>, tensor<?x1xf32, #graph.dims<N, 1>>, tensor<?x1xui8, #graph.dims<N, 1>>)
  // CHECK: %{{.*}}, %{{.*}} = graph.topk %
  %v, %i = graph.topk %x {axis = 1 : i64, largest = true} : (tensor<?x4xf32, #graph.dims<N, 4>>) -> (tensor<?x2xf32, #graph.dims<N, 2>>, tensor<?x2xi64, #graph.dims<N, 2>>)
  return
}

// A row of boxes says which are kept.

// CHECK-LABEL: @suppress
func.func @suppress(%boxes: tensor<?x4xf32, #graph.dims<N, 4>>, %rows: tensor<?xi1, #graph.dims<N>>, %threshold: tensor<f32>, %limit: tensor<i64>) {
  // CHECK: graph.suppress %
  graph.suppress %boxes, %rows, %threshold, %limit : (tensor<?x4xf32, #graph.dims<N, 4>>, tensor<?xi1, #graph.dims<N>>, tensor<f32>, tensor<i64>) -> tensor<?xi1, #graph.dims<N>>
  return
}

// Operands that are absent leave a zero in the segment sizes.

// CHECK-LABEL: @recurrent
func.func @recurrent(%x: tensor<?x2x3xf32, #graph.dims<S, 2, 3>>, %w: tensor<1x20x3xf32>, %r: tensor<1x20x5xf32>, %h: tensor<1x2x5xf32>) {
  // CHECK: graph.recurrent %
  graph.recurrent %x, %w, %r, %h {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 0, 0>, cell = #graph<cell_kind lstm>, direction = "forward", activations = ["Sigmoid", "Tanh", "Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<?x2x3xf32, #graph.dims<S, 2, 3>>, tensor<1x20x3xf32>, tensor<1x20x5xf32>, tensor<1x2x5xf32>) -> (tensor<?x1x2x5xf32, #graph.dims<S, 1, 2, 5>>, tensor<1x2x5xf32>, tensor<1x2x5xf32>)
  return
}

// CHECK-LABEL: @linear_attention
func.func @linear_attention(%q: tensor<2x?x8x4xf32, #graph.dims<2, T, 8, 4>>, %k: tensor<2x?x2x4xf32, #graph.dims<2, T, 2, 4>>, %v: tensor<2x?x2x16xf32, #graph.dims<2, T, 2, 16>>, %b: tensor<2x?x1xf32, #graph.dims<2, T, 1>>) {
  // CHECK: graph.linear_attention %
  graph.linear_attention %q, %k, %v, %b {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>, scale = 0.5 : f64} : (tensor<2x?x8x4xf32, #graph.dims<2, T, 8, 4>>, tensor<2x?x2x4xf32, #graph.dims<2, T, 2, 4>>, tensor<2x?x2x16xf32, #graph.dims<2, T, 2, 16>>, tensor<2x?x1xf32, #graph.dims<2, T, 1>>) -> (tensor<2x?x8x16xf32, #graph.dims<2, T, 8, 16>>, tensor<2x2x4x16xf32>)
  return
}

// CHECK-LABEL: @control
func.func @control(%c: tensor<i1>, %x: tensor<4xf32>, %y: tensor<2xf32>) -> tensor<?xf32, #graph.dims<k>> {
  // CHECK: graph.if %{{.*}} : (tensor<i1>) -> tensor<?xf32, #graph.dims<k>> {
  // CHECK: graph.yield %{{.*}} : tensor<4xf32>
  // CHECK: else
  // CHECK: graph.yield %{{.*}} : tensor<2xf32>
  %0 = graph.if %c : (tensor<i1>) -> tensor<?xf32, #graph.dims<k>> {
    graph.yield %x : tensor<4xf32>
  } else {
    graph.yield %y : tensor<2xf32>
  }
  return %0 : tensor<?xf32, #graph.dims<k>>
}

// CHECK-LABEL: @steps
func.func @steps(%c: tensor<i1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32, #graph.dims<n, 4>>) {
  // CHECK: graph.loop "i" %{{.*}}, %{{.*}} attributes {room = #graph.dims<M>} : (tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32, #graph.dims<n, 4>>) {
  // CHECK-NEXT: ^bb0(%[[STATE:.*]]: tensor<4xf32>):
  // CHECK-NEXT: %[[NEXT:.*]] = graph.neg %[[STATE]]
  // CHECK-NEXT: graph.yield %{{.*}}, %[[NEXT]], %[[STATE]] : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  %0:2 = graph.loop "i" %c, %x attributes {room = #graph.dims<M>} : (tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32, #graph.dims<n, 4>>) {
  ^bb0(%s: tensor<4xf32>):
    %1 = graph.neg %s : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %c, %1, %s : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  }
  return %0#0, %0#1 : tensor<4xf32>, tensor<?x4xf32, #graph.dims<n, 4>>
}
