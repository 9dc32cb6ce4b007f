// RUN: tenon-opt %s --lift-constants --split-input-file | FileCheck %s

// Regions that differ by scales and zero points alone take them as operands.
// Numbers that all have in common stay, and so does what a pair of a
// quantization and its reverse shares: one operand for both.

// CHECK-LABEL: @steps
// CHECK-SAME:    %[[X:.*]]: tensor<8xf32>
func.func @steps(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  // CHECK-DAG: %[[A:.*]] = graph.weight {name = "step"} : () -> tensor<f32>
  // CHECK-DAG: %[[B:.*]] = graph.weight {name = "{{.*}}"} : () -> tensor<ui8>
  // CHECK:     kernel.region(%[[X]], %{{.*}}, %{{.*}}) : (tensor<8xf32>, tensor<f32>, tensor<ui8>)
  // CHECK-NEXT: ^bb0(%[[IN:.*]]: tensor<8xf32>, %[[S:.*]]: tensor<f32>, %[[Z:.*]]: tensor<ui8>):
  // CHECK-NEXT:   %[[T:.*]] = graph.constant {value = dense<2.000000e+00> : tensor<f32>}
  // CHECK-NEXT:   %[[Q:.*]] = graph.quantize %[[IN]], %[[S]], %[[Z]] {kernel.normal_scale}
  // CHECK-NEXT:   graph.dequantize %[[Q]], %[[T]], %[[Z]] :
  // CHECK:     kernel.region(%[[X]], %{{.*}}, %{{.*}}) : (tensor<8xf32>, tensor<f32>, tensor<ui8>)
  // CHECK-NEXT: ^bb0(%[[IN:.*]]: tensor<8xf32>, %[[S:.*]]: tensor<f32>, %[[Z:.*]]: tensor<ui8>):
  // CHECK-NEXT:   %[[T:.*]] = graph.constant {value = dense<2.000000e+00> : tensor<f32>}
  // CHECK-NEXT:   %[[Q:.*]] = graph.quantize %[[IN]], %[[S]], %[[Z]] {kernel.normal_scale}
  // CHECK-NEXT:   graph.dequantize %[[Q]], %[[T]], %[[Z]] :
  // A layer in which the two scales are the same is no other kernel.
  // CHECK:     kernel.region(%[[X]], %{{.*}}, %{{.*}}) : (tensor<8xf32>, tensor<f32>, tensor<ui8>)
  // CHECK-NEXT: ^bb0(%[[IN:.*]]: tensor<8xf32>, %[[S:.*]]: tensor<f32>, %[[Z:.*]]: tensor<ui8>):
  // CHECK-NEXT:   %[[T:.*]] = graph.constant {value = dense<2.000000e+00> : tensor<f32>}
  // CHECK-NEXT:   %[[Q:.*]] = graph.quantize %[[IN]], %[[S]], %[[Z]] {kernel.normal_scale}
  // CHECK-NEXT:   graph.dequantize %[[Q]], %[[T]], %[[Z]] :
  %a = kernel.region(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%0: tensor<8xf32>):
    %s = graph.constant {value = dense<5.000000e-01> : tensor<f32>} : () -> tensor<f32>
    %t = graph.constant {value = dense<2.000000e+00> : tensor<f32>} : () -> tensor<f32>
    %z = graph.constant {value = dense<9> : tensor<ui8>} : () -> tensor<ui8>
    %q = graph.quantize %0, %s, %z : (tensor<8xf32>, tensor<f32>, tensor<ui8>) -> tensor<8xui8>
    %d = graph.dequantize %q, %t, %z : (tensor<8xui8>, tensor<f32>, tensor<ui8>) -> tensor<8xf32>
    kernel.yield %d : tensor<8xf32>
  }
  %b = kernel.region(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%0: tensor<8xf32>):
    %s = graph.constant {value = dense<2.500000e-01> : tensor<f32>} : () -> tensor<f32>
    %t = graph.constant {value = dense<2.000000e+00> : tensor<f32>} : () -> tensor<f32>
    %z = graph.constant {value = dense<7> : tensor<ui8>} : () -> tensor<ui8>
    %q = graph.quantize %0, %s, %z : (tensor<8xf32>, tensor<f32>, tensor<ui8>) -> tensor<8xui8>
    %d = graph.dequantize %q, %t, %z : (tensor<8xui8>, tensor<f32>, tensor<ui8>) -> tensor<8xf32>
    kernel.yield %d : tensor<8xf32>
  }
  %c = kernel.region(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%0: tensor<8xf32>):
    %s = graph.constant {value = dense<2.000000e+00> : tensor<f32>} : () -> tensor<f32>
    %z = graph.constant {value = dense<5> : tensor<ui8>} : () -> tensor<ui8>
    %q = graph.quantize %0, %s, %z : (tensor<8xf32>, tensor<f32>, tensor<ui8>) -> tensor<8xui8>
    %d = graph.dequantize %q, %s, %z : (tensor<8xui8>, tensor<f32>, tensor<ui8>) -> tensor<8xf32>
    kernel.yield %d : tensor<8xf32>
  }
  return %a, %b, %c : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// What a product of integers takes off is a zero point, too, and what its sums
// are multiplied by is a scale.

// CHECK-LABEL: @products
func.func @products(%x: tensor<4x8xui8>, %w: tensor<8x6xi8>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  // CHECK:      kernel.region({{.*}}) : (tensor<4x8xui8>, tensor<8x6xi8>, tensor<i32>, tensor<f32>)
  // CHECK-NOT:    graph.constant
  // CHECK:      kernel.region({{.*}}) : (tensor<4x8xui8>, tensor<8x6xi8>, tensor<i32>, tensor<f32>)
  // CHECK-NOT:    graph.constant
  %a = kernel.region(%x, %w) : (tensor<4x8xui8>, tensor<8x6xi8>) -> tensor<4x6xf32> {
  ^bb0(%0: tensor<4x8xui8>, %1: tensor<8x6xi8>):
    %z = graph.constant {value = dense<130> : tensor<i32>} : () -> tensor<i32>
    %2 = graph.cast %0 : (tensor<4x8xui8>) -> tensor<4x8xi32>
    %3 = graph.sub %2, %z : (tensor<4x8xi32>, tensor<i32>) -> tensor<4x8xi32>
    %4 = graph.cast %1 : (tensor<8x6xi8>) -> tensor<8x6xi32>
    %5 = graph.matmul %3, %4 : (tensor<4x8xi32>, tensor<8x6xi32>) -> tensor<4x6xi32>
    %s = graph.constant {value = dense<0.126953125> : tensor<f32>} : () -> tensor<f32>
    %6 = graph.cast %5 : (tensor<4x6xi32>) -> tensor<4x6xf32>
    %7 = graph.mul %6, %s : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
    kernel.yield %7 : tensor<4x6xf32>
  }
  %b = kernel.region(%x, %w) : (tensor<4x8xui8>, tensor<8x6xi8>) -> tensor<4x6xf32> {
  ^bb0(%0: tensor<4x8xui8>, %1: tensor<8x6xi8>):
    %z = graph.constant {value = dense<127> : tensor<i32>} : () -> tensor<i32>
    %2 = graph.cast %0 : (tensor<4x8xui8>) -> tensor<4x8xi32>
    %3 = graph.sub %2, %z : (tensor<4x8xi32>, tensor<i32>) -> tensor<4x8xi32>
    %4 = graph.cast %1 : (tensor<8x6xi8>) -> tensor<8x6xi32>
    %5 = graph.matmul %3, %4 : (tensor<4x8xi32>, tensor<8x6xi32>) -> tensor<4x6xi32>
    %s = graph.constant {value = dense<0.1240234375> : tensor<f32>} : () -> tensor<f32>
    %6 = graph.cast %5 : (tensor<4x6xi32>) -> tensor<4x6xf32>
    %7 = graph.mul %6, %s : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
    kernel.yield %7 : tensor<4x6xf32>
  }
  return %a, %b : tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// Not where there is no other region of the kind, where other constants than
// scales differ, where a byte is looked up by them, or by a scale whose
// quotients need a division.

// CHECK-LABEL: @stay
// CHECK-NOT:   graph.weight
// CHECK-NOT:   normal_scale
func.func @stay(%x: tensor<8xf32>, %q: tensor<8xui8>) -> (tensor<8xui8>, tensor<8xf32>, tensor<8xf32>, tensor<8xui8>, tensor<8xui8>, tensor<4xui8>, tensor<4xui8>) {
  %few = graph.slice %x {starts = #graph.dims<0>, steps = #graph.dims<1>} : (tensor<8xf32>) -> tensor<4xf32>
  %a = kernel.region(%x) : (tensor<8xf32>) -> tensor<8xui8> {
  ^bb0(%0: tensor<8xf32>):
    %s = graph.constant {value = dense<5.000000e-01> : tensor<f32>} : () -> tensor<f32>
    %z = graph.constant {value = dense<3> : tensor<ui8>} : () -> tensor<ui8>
    %1 = graph.quantize %0, %s, %z : (tensor<8xf32>, tensor<f32>, tensor<ui8>) -> tensor<8xui8>
    kernel.yield %1 : tensor<8xui8>
  }
  %b = kernel.region(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%0: tensor<8xf32>):
    %s = graph.constant {value = dense<1.000000e+00> : tensor<f32>} : () -> tensor<f32>
    %1 = graph.add %0, %s : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    kernel.yield %1 : tensor<8xf32>
  }
  %c = kernel.region(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%0: tensor<8xf32>):
    %s = graph.constant {value = dense<2.000000e+00> : tensor<f32>} : () -> tensor<f32>
    %1 = graph.add %0, %s : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    kernel.yield %1 : tensor<8xf32>
  }
  %d = kernel.region(%q) : (tensor<8xui8>) -> tensor<8xui8> {
  ^bb0(%0: tensor<8xui8>):
    %s = graph.constant {value = dense<5.000000e-01> : tensor<f32>} : () -> tensor<f32>
    %z = graph.constant {value = dense<3> : tensor<ui8>} : () -> tensor<ui8>
    %1 = graph.dequantize %0, %s, %z : (tensor<8xui8>, tensor<f32>, tensor<ui8>) -> tensor<8xf32>
    %2 = graph.tanh %1 : (tensor<8xf32>) -> tensor<8xf32>
    %3 = graph.quantize %2, %s, %z : (tensor<8xf32>, tensor<f32>, tensor<ui8>) -> tensor<8xui8>
    kernel.yield %3 : tensor<8xui8>
  }
  %e = kernel.region(%q) : (tensor<8xui8>) -> tensor<8xui8> {
  ^bb0(%0: tensor<8xui8>):
    %s = graph.constant {value = dense<2.500000e-01> : tensor<f32>} : () -> tensor<f32>
    %z = graph.constant {value = dense<3> : tensor<ui8>} : () -> tensor<ui8>
    %1 = graph.dequantize %0, %s, %z : (tensor<8xui8>, tensor<f32>, tensor<ui8>) -> tensor<8xf32>
    %2 = graph.tanh %1 : (tensor<8xf32>) -> tensor<8xf32>
    %3 = graph.quantize %2, %s, %z : (tensor<8xf32>, tensor<f32>, tensor<ui8>) -> tensor<8xui8>
    kernel.yield %3 : tensor<8xui8>
  }
  %f = kernel.region(%few) : (tensor<4xf32>) -> tensor<4xui8> {
  ^bb0(%0: tensor<4xf32>):
    %s = graph.constant {value = dense<5.000000e-01> : tensor<f32>} : () -> tensor<f32>
    %z = graph.constant {value = dense<3> : tensor<ui8>} : () -> tensor<ui8>
    %1 = graph.quantize %0, %s, %z : (tensor<4xf32>, tensor<f32>, tensor<ui8>) -> tensor<4xui8>
    kernel.yield %1 : tensor<4xui8>
  }
  %g = kernel.region(%few) : (tensor<4xf32>) -> tensor<4xui8> {
  ^bb0(%0: tensor<4xf32>):
    %s = graph.constant {value = dense<1.000000e-30> : tensor<f32>} : () -> tensor<f32>
    %z = graph.constant {value = dense<3> : tensor<ui8>} : () -> tensor<ui8>
    %1 = graph.quantize %0, %s, %z : (tensor<4xf32>, tensor<f32>, tensor<ui8>) -> tensor<4xui8>
    kernel.yield %1 : tensor<4xui8>
  }
  return %a, %b, %c, %d, %e, %f, %g : tensor<8xui8>, tensor<8xf32>, tensor<8xf32>, tensor<8xui8>, tensor<8xui8>, tensor<4xui8>, tensor<4xui8>
}

// -----

// The border of a convolution is made of its zero point, which stays.

// CHECK-LABEL: @borders
// CHECK-NOT:   graph.weight
func.func @borders(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x3x3xf32>) -> (tensor<1x4x8x8xui8>, tensor<1x4x8x8xui8>) {
  %a = kernel.region(%x, %w) : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xui8> {
  ^bb0(%0: tensor<1x4x8x8xf32>, %1: tensor<4x4x3x3xf32>):
    %s = graph.constant {value = dense<5.000000e-01> : tensor<f32>} : () -> tensor<f32>
    %z = graph.constant {value = dense<3> : tensor<ui8>} : () -> tensor<ui8>
    %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xf32>
    %3 = graph.quantize %2, %s, %z : (tensor<1x4x8x8xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x4x8x8xui8>
    kernel.yield %3 : tensor<1x4x8x8xui8>
  }
  %b = kernel.region(%x, %w) : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xui8> {
  ^bb0(%0: tensor<1x4x8x8xf32>, %1: tensor<4x4x3x3xf32>):
    %s = graph.constant {value = dense<2.500000e-01> : tensor<f32>} : () -> tensor<f32>
    %z = graph.constant {value = dense<3> : tensor<ui8>} : () -> tensor<ui8>
    %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xf32>
    %3 = graph.quantize %2, %s, %z : (tensor<1x4x8x8xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x4x8x8xui8>
    kernel.yield %3 : tensor<1x4x8x8xui8>
  }
  return %a, %b : tensor<1x4x8x8xui8>, tensor<1x4x8x8xui8>
}

// -----

// Scales of floats of 8 bits are factors and divisors; what follows from the
// same number stays.

// CHECK-LABEL: @factors
// CHECK:       kernel.region(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<8xf32>, tensor<f32>, tensor<f32>)
// CHECK-NEXT:  ^bb0(%[[X:.*]]: tensor<8xf32>, %[[T:.*]]: tensor<f32>, %[[S:.*]]: tensor<f32>)
// CHECK-NEXT:    %[[HALF:.*]] = graph.constant
// CHECK-NEXT:    %[[A:.*]] = graph.mul %[[X]], %[[T]]
// CHECK-NEXT:    %[[B:.*]] = graph.mul %[[A]], %[[HALF]]
// CHECK-NEXT:    %[[C:.*]] = graph.div %[[B]], %[[S]]
// CHECK-NEXT:    graph.round_float %[[C]]
func.func @factors(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = kernel.region(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%0: tensor<8xf32>):
    %t = graph.constant {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
    %h = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
    %s = graph.constant {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
    %1 = graph.mul %0, %t : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    %2 = graph.mul %1, %h : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    %3 = graph.div %2, %s : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    %4 = graph.round_float %3 {to = f8E4M3FN, saturates = true} : (tensor<8xf32>) -> tensor<8xf32>
    kernel.yield %4 : tensor<8xf32>
  }
  %b = kernel.region(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%0: tensor<8xf32>):
    %t = graph.constant {value = dense<0.75> : tensor<f32>} : () -> tensor<f32>
    %h = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
    %s = graph.constant {value = dense<7.0> : tensor<f32>} : () -> tensor<f32>
    %1 = graph.mul %0, %t : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    %2 = graph.mul %1, %h : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    %3 = graph.div %2, %s : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    %4 = graph.round_float %3 {to = f8E4M3FN, saturates = true} : (tensor<8xf32>) -> tensor<8xf32>
    kernel.yield %4 : tensor<8xf32>
  }
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}
