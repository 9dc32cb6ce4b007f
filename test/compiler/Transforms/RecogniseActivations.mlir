// RUN: tenon-opt %s --recognise-activations --split-input-file | FileCheck %s
// RUN: tenon-opt %s --recognise-activations=explain=true --split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY

// x / sqrt 2, erf, + 1, times x, times a half: what TorchScript writes.

// CHECK-LABEL: @erf_half_last
// CHECK-SAME:    %[[X:.*]]: tensor
func.func @erf_half_last(%x: tensor<?x8xf32, #graph.dims<B, 8>>) -> tensor<?x8xf32, #graph.dims<B, 8>> {
  // CHECK-NEXT: %[[G:.*]] = graph.gelu %[[X]] {kind = #graph<gelu_kind erf>}
  // CHECK-NEXT: return %[[G]]
  %half = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %one = graph.constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %root = graph.constant {value = dense<1.41421354> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.div %x, %root : (tensor<?x8xf32, #graph.dims<B, 8>>, tensor<f32>) -> tensor<?x8xf32, #graph.dims<B, 8>>
  %1 = graph.erf %0 : (tensor<?x8xf32, #graph.dims<B, 8>>) -> tensor<?x8xf32, #graph.dims<B, 8>>
  %2 = graph.add %1, %one : (tensor<?x8xf32, #graph.dims<B, 8>>, tensor<f32>) -> tensor<?x8xf32, #graph.dims<B, 8>>
  %3 = graph.mul %x, %2 : (tensor<?x8xf32, #graph.dims<B, 8>>, tensor<?x8xf32, #graph.dims<B, 8>>) -> tensor<?x8xf32, #graph.dims<B, 8>>
  %4 = graph.mul %3, %half : (tensor<?x8xf32, #graph.dims<B, 8>>, tensor<f32>) -> tensor<?x8xf32, #graph.dims<B, 8>>
  return %4 : tensor<?x8xf32, #graph.dims<B, 8>>
}

// -----

// The half belongs to 1 + erf, and the constants are those of f16.

// CHECK-LABEL: @erf_half_first
// CHECK-SAME:    %[[X:.*]]: tensor<8xf16>
func.func @erf_half_first(%x: tensor<8xf16>) -> tensor<8xf16> {
  // CHECK-NEXT: %[[G:.*]] = graph.gelu %[[X]] {kind = #graph<gelu_kind erf>}
  // CHECK-NEXT: return %[[G]]
  %half = graph.constant {value = dense<0.5> : tensor<1xf16>} : () -> tensor<1xf16>
  %one = graph.constant {value = dense<1.0> : tensor<f16>} : () -> tensor<f16>
  %root = graph.constant {value = dense<0.7071> : tensor<f16>} : () -> tensor<f16>
  %0 = graph.mul %root, %x : (tensor<f16>, tensor<8xf16>) -> tensor<8xf16>
  %1 = graph.erf %0 : (tensor<8xf16>) -> tensor<8xf16>
  %2 = graph.add %one, %1 : (tensor<f16>, tensor<8xf16>) -> tensor<8xf16>
  %3 = graph.mul %half, %2 : (tensor<1xf16>, tensor<8xf16>) -> tensor<8xf16>
  %4 = graph.mul %x, %3 : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  return %4 : tensor<8xf16>
}

// -----

// GPT-2: x / 2 apart, the cube by pow.

// CHECK-LABEL: @tanh_pow
// CHECK-SAME:    %[[X:.*]]: tensor<8xf32>
func.func @tanh_pow(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[G:.*]] = graph.gelu %[[X]] {kind = #graph<gelu_kind tanh>}
  // CHECK-NEXT: return %[[G]]
  %half = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %one = graph.constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %three = graph.constant {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
  %c = graph.constant {value = dense<0.044715> : tensor<f32>} : () -> tensor<f32>
  %r = graph.constant {value = dense<0.797884583> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.mul %x, %half : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = graph.pow %x, %three : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = graph.mul %1, %c : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = graph.add %x, %2 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = graph.mul %3, %r : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %5 = graph.tanh %4 : (tensor<8xf32>) -> tensor<8xf32>
  %6 = graph.add %5, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %7 = graph.mul %0, %6 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %7 : tensor<8xf32>
}

// -----

// The cube as a product, the argument as x (a + b x x), the half spread out.

// CHECK-LABEL: @tanh_products
// CHECK-SAME:    %[[X:.*]]: tensor<8xf32>
func.func @tanh_products(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[G:.*]] = graph.gelu %[[X]] {kind = #graph<gelu_kind tanh>}
  // CHECK-NEXT: return %[[G]]
  %half = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %a = graph.constant {value = dense<0.7978846> : tensor<f32>} : () -> tensor<f32>
  %b = graph.constant {value = dense<0.0356774> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.mul %x, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = graph.mul %0, %b : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = graph.add %1, %a : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = graph.mul %x, %2 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = graph.tanh %3 : (tensor<8xf32>) -> tensor<8xf32>
  %5 = graph.mul %4, %half : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %6 = graph.add %5, %half : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %7 = graph.mul %6, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %7 : tensor<8xf32>
}

// -----

// CLIP: x sigmoid(1.702 x).

// CHECK-LABEL: @quick
// CHECK-SAME:    %[[X:.*]]: tensor<8xf32>
func.func @quick(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[G:.*]] = graph.gelu %[[X]] {kind = #graph<gelu_kind quick>}
  // CHECK-NEXT: return %[[G]]
  %c = graph.constant {value = dense<1.702> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.mul %x, %c : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = graph.sigmoid %0 : (tensor<8xf32>) -> tensor<8xf32>
  %2 = graph.mul %1, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

// SiLU has one form, whichever way round it came.

// CHECK-LABEL: @silu
// CHECK-SAME:    %[[X:.*]]: tensor<8xf32>
func.func @silu(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[S:.*]] = graph.sigmoid %[[X]]
  // CHECK-NEXT: %[[Y:.*]] = graph.mul %[[X]], %[[S]]
  // CHECK-NEXT: return %[[Y]]
  %0 = graph.sigmoid %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = graph.mul %0, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// 1.7 is not 1.702.

// CHECK-LABEL: @other_slope
// CHECK-NOT: graph.gelu
func.func @other_slope(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c = graph.constant {value = dense<1.7> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.mul %x, %c : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = graph.sigmoid %0 : (tensor<8xf32>) -> tensor<8xf32>
  %2 = graph.mul %1, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

// The sigmoid of another value gates x: neither GELU nor SiLU.

// CHECK-LABEL: @gate
// CHECK:         graph.mul %[[S:.*]], %arg0
func.func @gate(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = graph.sigmoid %y : (tensor<8xf32>) -> tensor<8xf32>
  %1 = graph.mul %0, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// 0.0447 is the rounded constant; 0.045 is another function.

// CHECK-LABEL: @other_cube
// CHECK-NOT: graph.gelu
// WHY: remark: not a GELU: its argument is not that of a GELU
func.func @other_cube(%x: tensor<8xf32>) -> tensor<8xf32> {
  %half = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %one = graph.constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %three = graph.constant {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
  %c = graph.constant {value = dense<0.045> : tensor<f32>} : () -> tensor<f32>
  %r = graph.constant {value = dense<0.797884583> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.mul %x, %half : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = graph.pow %x, %three : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = graph.mul %1, %c : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = graph.add %x, %2 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = graph.mul %3, %r : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %5 = graph.tanh %4 : (tensor<8xf32>) -> tensor<8xf32>
  %6 = graph.add %5, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %7 = graph.mul %0, %6 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %7 : tensor<8xf32>
}

// -----

// 1 + erf is wanted elsewhere too: fusing would compute it twice.

// CHECK-LABEL: @second_use
// CHECK-NOT: graph.gelu
// WHY: remark: not a GELU: its users do not make a GELU of it
func.func @second_use(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %half = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %one = graph.constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %root = graph.constant {value = dense<1.41421354> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.div %x, %root : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = graph.erf %0 : (tensor<8xf32>) -> tensor<8xf32>
  %2 = graph.add %1, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = graph.mul %x, %2 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = graph.mul %3, %half : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %4, %2 : tensor<8xf32>, tensor<8xf32>
}

// -----

// The argument of the erf is an output as well.

// CHECK-LABEL: @second_use_of_the_argument
// CHECK-NOT: graph.gelu
// WHY: remark: not a GELU: an intermediate of the GELU has another user
func.func @second_use_of_the_argument(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %half = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %one = graph.constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %root = graph.constant {value = dense<1.41421354> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.div %x, %root : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = graph.erf %0 : (tensor<8xf32>) -> tensor<8xf32>
  %2 = graph.add %1, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = graph.mul %x, %2 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = graph.mul %3, %half : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %4, %0 : tensor<8xf32>, tensor<8xf32>
}

// -----

// By erfc, as JAX has it; the same of what is not negated is none.

// CHECK-LABEL: @complement
// CHECK-SAME:    %[[X:.*]]: tensor<4xf32>
// CHECK-NEXT:  %[[Y:.*]] = graph.gelu %[[X]] {kind = #graph<gelu_kind erf>}
// CHECK-NEXT:  return %[[Y]]
// CHECK-LABEL: @wrong_sign
// CHECK-NOT:   graph.gelu
// WHY: its users do not make a GELU of it
func.func @complement(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %root = graph.constant {value = dense<0.707106769> : tensor<f32>} : () -> tensor<f32>
  %one = graph.constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.mul %half, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %2 = graph.mul %1, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = graph.erf %2 : (tensor<4xf32>) -> tensor<4xf32>
  %4 = graph.sub %one, %3 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = graph.mul %0, %4 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %5 : tensor<4xf32>
}
func.func @wrong_sign(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %root = graph.constant {value = dense<0.707106769> : tensor<f32>} : () -> tensor<f32>
  %one = graph.constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.mul %half, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %2 = graph.mul %1, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = graph.erf %2 : (tensor<4xf32>) -> tensor<4xf32>
  %4 = graph.add %one, %3 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = graph.mul %0, %4 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %5 : tensor<4xf32>
}

// -----

// A soft cap is left alone, and so is the tanh of a pooler.

// CHECK-LABEL: @softcap
// CHECK-COUNT-2: graph.tanh
// WHY-NOT: remark
func.func @softcap(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %cap = graph.constant {value = dense<50.0> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.div %x, %cap : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = graph.tanh %0 : (tensor<8xf32>) -> tensor<8xf32>
  %2 = graph.mul %1, %cap : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = graph.tanh %x : (tensor<8xf32>) -> tensor<8xf32>
  return %2, %3 : tensor<8xf32>, tensor<8xf32>
}

// -----

// Mish: one exponential, where who else reads the softplus keeps it.

// CHECK-LABEL: @mish
// CHECK-SAME:    %[[X:.*]]: tensor<8xf32>
func.func @mish(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: %[[S:.*]] = graph.softplus %[[X]]
  // CHECK-NEXT: %[[MOST:.*]] = graph.constant {value = dense<2.000000e+01> : tensor<f32>}
  // CHECK-NEXT: %[[L:.*]] = graph.min %[[X]], %[[MOST]]
  // CHECK-NEXT: %[[E:.*]] = graph.exp %[[L]]
  // CHECK:      %[[F:.*]] = graph.add %[[E]], %{{.*}}
  // CHECK-NEXT: %[[N:.*]] = graph.mul %[[E]], %[[F]]
  // CHECK:      %[[M:.*]] = graph.add %[[N]], %{{.*}}
  // CHECK-NEXT: %[[T:.*]] = graph.div %[[N]], %[[M]]
  // CHECK-NEXT: %[[Y:.*]] = graph.mul %[[X]], %[[T]]
  // CHECK-NEXT: return %[[Y]], %[[S]]
  %s = graph.softplus %x : (tensor<8xf32>) -> tensor<8xf32>
  %t = graph.tanh %s : (tensor<8xf32>) -> tensor<8xf32>
  %y = graph.mul %x, %t : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %y, %s : tensor<8xf32>, tensor<8xf32>
}

// -----

// The square of the exponential stays within what f16 holds.

// CHECK-LABEL: @mish_f16
// CHECK-NOT:     graph.softplus
// CHECK:         graph.constant {value = dense<5.000000e+00> : tensor<f16>}
// CHECK-NEXT:    graph.min
func.func @mish_f16(%x: tensor<8xf16>) -> tensor<8xf16> {
  %s = graph.softplus %x : (tensor<8xf16>) -> tensor<8xf16>
  %t = graph.tanh %s : (tensor<8xf16>) -> tensor<8xf16>
  %y = graph.mul %x, %t : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  return %y : tensor<8xf16>
}

// -----

// A sum comes between.

// CHECK-LABEL: @tanh_of_a_sum
// CHECK:         graph.softplus
// CHECK:         graph.tanh
func.func @tanh_of_a_sum(%x: tensor<8xf32>) -> tensor<8xf32> {
  %s = graph.softplus %x : (tensor<8xf32>) -> tensor<8xf32>
  %a = graph.add %s, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %t = graph.tanh %a : (tensor<8xf32>) -> tensor<8xf32>
  return %t : tensor<8xf32>
}
