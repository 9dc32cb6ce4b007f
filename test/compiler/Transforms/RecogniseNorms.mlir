// RUN: tenon-opt %s --recognise-norms --split-input-file | FileCheck %s
// RUN: tenon-opt %s --recognise-norms=explain=true --split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY

// Opset 11: mean, difference, square, mean, epsilon, root, quotient.

// CHECK-LABEL: @layer_norm
// CHECK-SAME:    %[[X:.*]]: tensor<?x8xf32
func.func @layer_norm(%x: tensor<?x8xf32, #graph.dims<B, 8>>, %gamma: tensor<8xf32>) -> tensor<?x8xf32, #graph.dims<B, 8>> {
  // CHECK-NEXT: %[[N:.*]] = graph.layer_norm %[[X]] {axis = 1 : i64, epsilon = {{9.99.*E-13}} : f64}
  // CHECK-NEXT: graph.mul %[[N]]
  // CHECK-NEXT: return
  %two = graph.constant {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %epsilon = graph.constant {value = dense<1.0e-12> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.reduce %x {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<?x8xf32, #graph.dims<B, 8>>) -> tensor<?x1xf32, #graph.dims<B, 1>>
  %1 = graph.sub %x, %0 : (tensor<?x8xf32, #graph.dims<B, 8>>, tensor<?x1xf32, #graph.dims<B, 1>>) -> tensor<?x8xf32, #graph.dims<B, 8>>
  %2 = graph.pow %1, %two : (tensor<?x8xf32, #graph.dims<B, 8>>, tensor<f32>) -> tensor<?x8xf32, #graph.dims<B, 8>>
  %3 = graph.reduce %2 {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<?x8xf32, #graph.dims<B, 8>>) -> tensor<?x1xf32, #graph.dims<B, 1>>
  %4 = graph.add %3, %epsilon : (tensor<?x1xf32, #graph.dims<B, 1>>, tensor<f32>) -> tensor<?x1xf32, #graph.dims<B, 1>>
  %5 = graph.sqrt %4 : (tensor<?x1xf32, #graph.dims<B, 1>>) -> tensor<?x1xf32, #graph.dims<B, 1>>
  %6 = graph.div %1, %5 : (tensor<?x8xf32, #graph.dims<B, 8>>, tensor<?x1xf32, #graph.dims<B, 1>>) -> tensor<?x8xf32, #graph.dims<B, 8>>
  %7 = graph.mul %6, %gamma : (tensor<?x8xf32, #graph.dims<B, 8>>, tensor<8xf32>) -> tensor<?x8xf32, #graph.dims<B, 8>>
  return %7 : tensor<?x8xf32, #graph.dims<B, 8>>
}

// -----

// The difference is written twice, and cast where it is squared.

// CHECK-LABEL: @two_differences
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xf16>
func.func @two_differences(%x: tensor<4x8xf16>) -> tensor<4x8xf32> {
  // CHECK:      %[[C:.*]] = graph.cast %[[X]]
  // CHECK-NEXT: %[[N:.*]] = graph.layer_norm %[[C]] {axis = 1 : i64
  // CHECK-NEXT: return %[[N]]
  %epsilon = graph.constant {value = dense<1.0e-5> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.reduce %x {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf16>) -> tensor<4x1xf16>
  %1 = graph.sub %x, %0 : (tensor<4x8xf16>, tensor<4x1xf16>) -> tensor<4x8xf16>
  %2 = graph.sub %x, %0 : (tensor<4x8xf16>, tensor<4x1xf16>) -> tensor<4x8xf16>
  %3 = graph.cast %1 : (tensor<4x8xf16>) -> tensor<4x8xf32>
  %4 = graph.mul %3, %3 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = graph.reduce %4 {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %6 = graph.add %epsilon, %5 : (tensor<f32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %7 = graph.sqrt %6 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %8 = graph.cast %2 : (tensor<4x8xf16>) -> tensor<4x8xf32>
  %9 = graph.div %8, %7 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %9 : tensor<4x8xf32>
}

// -----

// TensorFlow: x g + (beta - mean g) with g = gamma / root.

// CHECK-LABEL: @scaled_before_centred
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xf32>, %[[G:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>
func.func @scaled_before_centred(%x: tensor<4x8xf32>, %gamma: tensor<8xf32>, %beta: tensor<8xf32>) -> tensor<4x8xf32> {
  // CHECK-NEXT: %[[N:.*]] = graph.layer_norm %[[X]] {axis = 1 : i64
  // CHECK-NEXT: %[[S:.*]] = graph.mul %[[N]], %[[G]]
  // CHECK-NEXT: %[[Y:.*]] = graph.add %[[S]], %[[B]]
  // CHECK-NEXT: return %[[Y]]
  %epsilon = graph.constant {value = dense<1.0e-3> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.reduce %x {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %1 = graph.sub %x, %0 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %2 = graph.mul %1, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = graph.reduce %2 {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %4 = graph.add %3, %epsilon : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %5 = graph.sqrt %4 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %6 = graph.reciprocal %5 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %7 = graph.mul %6, %gamma : (tensor<4x1xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %8 = graph.mul %x, %7 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %9 = graph.mul %0, %7 : (tensor<4x1xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %10 = graph.sub %beta, %9 : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %11 = graph.add %8, %10 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %11 : tensor<4x8xf32>
}

// -----

// RMS norm by dynamo: times the reciprocal.

// CHECK-LABEL: @rms_reciprocal
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xf32>
func.func @rms_reciprocal(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK-NEXT: %[[N:.*]] = graph.rms_norm %[[X]] {axis = 1 : i64, epsilon = {{9.99.*E-7}} : f64}
  // CHECK-NEXT: return %[[N]]
  %two = graph.constant {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %epsilon = graph.constant {value = dense<1.0e-6> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.pow %x, %two : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %1 = graph.reduce %0 {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %2 = graph.add %1, %epsilon : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %3 = graph.sqrt %2 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %4 = graph.reciprocal %3 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %5 = graph.mul %x, %4 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %5 : tensor<4x8xf32>
}

// -----

// RMS norm by TorchScript: one divided by the root, in f32 between casts. The
// narrow norm computes in f32 too.

// CHECK-LABEL: @rms_upcast
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xf16>
func.func @rms_upcast(%x: tensor<4x8xf16>) -> tensor<4x8xf16> {
  // CHECK-NEXT: %[[N:.*]] = graph.rms_norm %[[X]] {axis = 1 : i64, {{.*}}} : (tensor<4x8xf16>) -> tensor<4x8xf16>
  // CHECK-NEXT: return %[[N]]
  %one = graph.constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %two = graph.constant {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %epsilon = graph.constant {value = dense<1.0e-6> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.cast %x : (tensor<4x8xf16>) -> tensor<4x8xf32>
  %1 = graph.pow %0, %two : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %2 = graph.reduce %1 {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %3 = graph.add %2, %epsilon : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %4 = graph.sqrt %3 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %5 = graph.div %one, %4 : (tensor<f32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %6 = graph.mul %5, %0 : (tensor<4x1xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %7 = graph.cast %6 : (tensor<4x8xf32>) -> tensor<4x8xf16>
  return %7 : tensor<4x8xf16>
}

// -----

// Gemma scales before it rounds: the norm stays in f32.

// CHECK-LABEL: @rms_scaled_before_the_cast
func.func @rms_scaled_before_the_cast(%x: tensor<4x8xf16>, %w: tensor<8xf32>) -> tensor<4x8xf16> {
  // CHECK:      graph.rms_norm {{.*}} -> tensor<4x8xf32>
  // CHECK-NEXT: graph.mul
  // CHECK-NEXT: graph.cast
  %epsilon = graph.constant {value = dense<1.0e-6> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.cast %x : (tensor<4x8xf16>) -> tensor<4x8xf32>
  %1 = graph.mul %0, %0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = graph.reduce %1 {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %3 = graph.add %2, %epsilon : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %4 = graph.sqrt %3 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %5 = graph.div %0, %4 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %6 = graph.mul %5, %w : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %7 = graph.cast %6 : (tensor<4x8xf32>) -> tensor<4x8xf16>
  return %7 : tensor<4x8xf16>
}

// -----

// A sum over the last two axes divided by how many there are is their mean.

// CHECK-LABEL: @sum_divided
func.func @sum_divided(%x: tensor<4x2x4xf32>) -> tensor<4x2x4xf32> {
  // CHECK-NEXT: graph.rms_norm {{.*}} {axis = 1 : i64
  // CHECK-NEXT: return
  %count = graph.constant {value = dense<8.0> : tensor<f32>} : () -> tensor<f32>
  %epsilon = graph.constant {value = dense<1.0e-6> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.mul %x, %x : (tensor<4x2x4xf32>, tensor<4x2x4xf32>) -> tensor<4x2x4xf32>
  %1 = graph.reduce %0 {axes = array<i64: 1, 2>, kind = #graph<reduce_kind sum>} : (tensor<4x2x4xf32>) -> tensor<4x1x1xf32>
  %2 = graph.div %1, %count : (tensor<4x1x1xf32>, tensor<f32>) -> tensor<4x1x1xf32>
  %3 = graph.add %2, %epsilon : (tensor<4x1x1xf32>, tensor<f32>) -> tensor<4x1x1xf32>
  %4 = graph.sqrt %3 : (tensor<4x1x1xf32>) -> tensor<4x1x1xf32>
  %5 = graph.div %x, %4 : (tensor<4x2x4xf32>, tensor<4x1x1xf32>) -> tensor<4x2x4xf32>
  return %5 : tensor<4x2x4xf32>
}

// -----

// The mean goes over the rows.

// CHECK-LABEL: @other_axis
// CHECK-NOT: _norm
// WHY: remark: not a norm: the root is not of a mean over the last axes
func.func @other_axis(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %epsilon = graph.constant {value = dense<1.0e-6> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.mul %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.reduce %0 {axes = array<i64: 0>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<1x8xf32>
  %2 = graph.add %1, %epsilon : (tensor<1x8xf32>, tensor<f32>) -> tensor<1x8xf32>
  %3 = graph.sqrt %2 : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %4 = graph.div %x, %3 : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// -----

// Epsilon is added to the root.

// CHECK-LABEL: @epsilon_outside
// CHECK-NOT: _norm
// WHY: remark: not a norm: there is no epsilon under the root
func.func @epsilon_outside(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %epsilon = graph.constant {value = dense<1.0e-6> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.mul %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.reduce %0 {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %2 = graph.sqrt %1 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %3 = graph.add %2, %epsilon : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %4 = graph.div %x, %3 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// -----

// One tensor is squared and another divided.

// CHECK-LABEL: @two_inputs
// CHECK-NOT: _norm
// WHY: remark: not a norm: what is divided is not what was squared
func.func @two_inputs(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %epsilon = graph.constant {value = dense<1.0e-6> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.mul %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.reduce %0 {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %2 = graph.add %1, %epsilon : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %3 = graph.sqrt %2 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %4 = graph.div %y, %3 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// -----

// A cube is no square.

// CHECK-LABEL: @exponent
// CHECK-NOT: _norm
// WHY: remark: not a norm: the mean is not of squares
func.func @exponent(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %three = graph.constant {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
  %epsilon = graph.constant {value = dense<1.0e-6> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.pow %x, %three : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %1 = graph.reduce %0 {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %2 = graph.add %1, %epsilon : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %3 = graph.sqrt %2 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %4 = graph.div %x, %3 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// -----

// A variance of n - 1 is none of layer_norm's.

// CHECK-LABEL: @unbiased
// CHECK-NOT: _norm
// WHY: remark: not a norm: the root is not of a mean over the last axes
func.func @unbiased(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %count = graph.constant {value = dense<7.0> : tensor<f32>} : () -> tensor<f32>
  %epsilon = graph.constant {value = dense<1.0e-6> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.mul %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.reduce %0 {axes = array<i64: 1>, kind = #graph<reduce_kind sum>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %2 = graph.div %1, %count : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %3 = graph.add %2, %epsilon : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %4 = graph.sqrt %3 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %5 = graph.div %x, %4 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %5 : tensor<4x8xf32>
}

// -----

// Gamma along another axis is an ordinary factor; the norm stands.

// CHECK-LABEL: @gamma_of_rows
func.func @gamma_of_rows(%x: tensor<4x8xf32>, %gamma: tensor<4x1xf32>) -> tensor<4x8xf32> {
  // CHECK-NEXT: graph.rms_norm
  // CHECK-NEXT: graph.mul
  // CHECK-NEXT: return
  %epsilon = graph.constant {value = dense<1.0e-6> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.mul %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.reduce %0 {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %2 = graph.add %1, %epsilon : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %3 = graph.sqrt %2 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %4 = graph.div %x, %3 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %5 = graph.mul %4, %gamma : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %5 : tensor<4x8xf32>
}

// -----

// An epsilon with more axes than the input makes more elements.

// CHECK-LABEL: @epsilon_of_batches
// CHECK-NOT: _norm
// WHY: remark: not a norm: epsilon or a factor has axes that the input lacks
func.func @epsilon_of_batches(%x: tensor<4x8xf32>) -> tensor<3x4x8xf32> {
  %epsilon = graph.constant {value = dense<1.0e-6> : tensor<3x1x1xf32>} : () -> tensor<3x1x1xf32>
  %0 = graph.mul %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.reduce %0 {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %2 = graph.add %1, %epsilon : (tensor<4x1xf32>, tensor<3x1x1xf32>) -> tensor<3x4x1xf32>
  %3 = graph.sqrt %2 : (tensor<3x4x1xf32>) -> tensor<3x4x1xf32>
  %4 = graph.div %x, %3 : (tensor<4x8xf32>, tensor<3x4x1xf32>) -> tensor<3x4x8xf32>
  return %4 : tensor<3x4x8xf32>
}

// -----

// A mean of another axis is what is squared less something: no layer norm, but
// an RMS norm of the difference.

// CHECK-LABEL: @centred_otherwise
func.func @centred_otherwise(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: %[[D:.*]] = graph.sub
  // CHECK: graph.rms_norm %[[D]]
  %epsilon = graph.constant {value = dense<1.0e-6> : tensor<f32>} : () -> tensor<f32>
  %m = graph.reduce %x {axes = array<i64: 0>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<1x8xf32>
  %d = graph.sub %x, %m : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  %0 = graph.mul %d, %d : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.reduce %0 {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %2 = graph.add %1, %epsilon : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %3 = graph.sqrt %2 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %4 = graph.div %d, %3 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// -----

// Keras: the mean is negated and added; without one, the root's inverse meets
// the scale first.

// CHECK-LABEL: @negative_mean
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xf32>, %[[G:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>
// CHECK-NEXT:  %[[N:.*]] = graph.layer_norm %[[X]]
// CHECK-NEXT:  %[[S:.*]] = graph.mul %[[N]], %[[G]]
// CHECK-NEXT:  %[[Y:.*]] = graph.add %[[S]], %[[B]]
// CHECK-NEXT:  return %[[Y]]
// CHECK-LABEL: @scaled_root
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xf32>, %[[G:.*]]: tensor<8xf32>
// CHECK-NEXT:  %[[N:.*]] = graph.rms_norm %[[X]]
// CHECK-NEXT:  %[[Y:.*]] = graph.mul %[[N]], %[[G]]
// CHECK-NEXT:  return %[[Y]]
func.func @negative_mean(%x: tensor<4x8xf32>, %gamma: tensor<8xf32>, %beta: tensor<8xf32>) -> tensor<4x8xf32> {
  %epsilon = graph.constant {value = dense<1.0e-3> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.reduce %x {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %1 = graph.sub %x, %0 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %2 = graph.mul %1, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = graph.reduce %2 {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %4 = graph.add %3, %epsilon : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %5 = graph.sqrt %4 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %6 = graph.reciprocal %5 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %7 = graph.mul %6, %gamma : (tensor<4x1xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %8 = graph.mul %x, %7 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %9 = graph.neg %0 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %10 = graph.mul %9, %7 : (tensor<4x1xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %11 = graph.add %10, %beta : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %12 = graph.add %8, %11 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %12 : tensor<4x8xf32>
}
func.func @scaled_root(%x: tensor<4x8xf32>, %gamma: tensor<8xf32>) -> tensor<4x8xf32> {
  %epsilon = graph.constant {value = dense<1.0e-3> : tensor<f32>} : () -> tensor<f32>
  %2 = graph.mul %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = graph.reduce %2 {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %4 = graph.add %3, %epsilon : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %5 = graph.sqrt %4 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %6 = graph.reciprocal %5 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %7 = graph.mul %6, %gamma : (tensor<4x1xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %8 = graph.mul %x, %7 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %8 : tensor<4x8xf32>
}

// -----

// JAX: the mean of squares less the square of the mean, perhaps not below 0.

// CHECK-LABEL: @moments
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xf32>
// CHECK-NEXT:  %[[N:.*]] = graph.layer_norm %[[X]]
// CHECK-NEXT:  return %[[N]]
func.func @moments(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %epsilon = graph.constant {value = dense<1.0e-3> : tensor<f32>} : () -> tensor<f32>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.reduce %x {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %1 = graph.sub %x, %0 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %2 = graph.mul %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = graph.reduce %2 {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %4 = graph.mul %0, %0 : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %5 = graph.sub %3, %4 : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %6 = graph.max %5, %zero : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %7 = graph.add %6, %epsilon : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %8 = graph.sqrt %7 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %9 = graph.div %1, %8 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %9 : tensor<4x8xf32>
}

// -----

// Not where another mean is taken off, or none, or where it is added as it is.

// CHECK-LABEL: @other_mean
// CHECK-NOT:   _norm
// CHECK-LABEL: @not_centred
// CHECK-NOT:   _norm
// CHECK-LABEL: @added_mean
// CHECK-NOT:   _norm
func.func @other_mean(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %epsilon = graph.constant {value = dense<1.0e-3> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.reduce %x {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %m = graph.reduce %y {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %1 = graph.sub %x, %0 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %2 = graph.mul %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = graph.reduce %2 {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %4 = graph.mul %m, %m : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %5 = graph.sub %3, %4 : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %7 = graph.add %5, %epsilon : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %8 = graph.sqrt %7 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %9 = graph.div %1, %8 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %9 : tensor<4x8xf32>
}
func.func @not_centred(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %epsilon = graph.constant {value = dense<1.0e-3> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.reduce %x {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %2 = graph.mul %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = graph.reduce %2 {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %4 = graph.mul %0, %0 : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %5 = graph.sub %3, %4 : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %7 = graph.add %5, %epsilon : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %8 = graph.sqrt %7 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %9 = graph.div %x, %8 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %9 : tensor<4x8xf32>
}
func.func @added_mean(%x: tensor<4x8xf32>, %gamma: tensor<8xf32>, %beta: tensor<8xf32>) -> tensor<4x8xf32> {
  %epsilon = graph.constant {value = dense<1.0e-3> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.reduce %x {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %1 = graph.sub %x, %0 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %2 = graph.mul %1, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = graph.reduce %2 {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %4 = graph.add %3, %epsilon : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %5 = graph.sqrt %4 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %6 = graph.reciprocal %5 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %7 = graph.mul %6, %gamma : (tensor<4x1xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %8 = graph.mul %x, %7 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %10 = graph.mul %0, %7 : (tensor<4x1xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %11 = graph.add %10, %beta : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %12 = graph.add %8, %11 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %12 : tensor<4x8xf32>
}
