// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --form-regions=target=cuda --split-input-file | FileCheck %s
// RUN: tenon-opt %s --form-regions --split-input-file | FileCheck %s --check-prefix=CPU

// The kernel of an attention stores its result rounded, and through a transpose
// behind that; on CPUs as well, to bf16.

// CHECK-LABEL: @rounded
// CHECK:      kernel.region
// CHECK-NEXT: ^bb0
// CHECK-NEXT:   graph.attention
// CHECK-NEXT:   graph.cast
// CHECK-NEXT:   graph.transpose
// CHECK-NEXT:   kernel.yield %{{.*}} : tensor<1x6x2x8xbf16>
// CPU-LABEL: @rounded
// CPU:        graph.attention
// CPU-NEXT:   graph.cast
// CPU-NEXT:   graph.transpose
// CPU-NEXT:   kernel.yield %{{.*}} : tensor<1x6x2x8xbf16>
// CPU-LABEL: @halves
// CPU:        graph.attention
// CPU-NEXT:   kernel.yield %{{.*}} : tensor<1x2x6x8xf32>
func.func @rounded(%x: tensor<1x2x6x8xf32>) -> tensor<1x6x2x8xbf16> {
  %0 = graph.attention %x, %x, %x {causal = false,
      dead_rows = #graph<dead_rows zero>, offset = #graph.dims<0>,
      scale = 1.0 : f64, softcap = 0.0 : f64, window = 0 : i64,
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
      : (tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>)
      -> tensor<1x2x6x8xf32>
  %1 = graph.cast %0 : (tensor<1x2x6x8xf32>) -> tensor<1x2x6x8xbf16>
  %2 = graph.transpose %1 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<1x2x6x8xbf16>) -> tensor<1x6x2x8xbf16>
  return %2 : tensor<1x6x2x8xbf16>
}
func.func @halves(%x: tensor<1x2x6x8xf32>) -> tensor<1x2x6x8xf16> {
  %0 = graph.attention %x, %x, %x {causal = false,
      dead_rows = #graph<dead_rows zero>, offset = #graph.dims<0>,
      scale = 1.0 : f64, softcap = 0.0 : f64, window = 0 : i64,
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
      : (tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>)
      -> tensor<1x2x6x8xf32>
  %1 = graph.cast %0 : (tensor<1x2x6x8xf32>) -> tensor<1x2x6x8xf16>
  return %1 : tensor<1x2x6x8xf16>
}

// -----

// Where somebody reads f32 it stores that, and only that; and it rounds to
// nothing but 16 bits.

// CHECK-LABEL: @read
// CHECK:        graph.attention
// CHECK-NEXT:   kernel.yield %{{.*}} : tensor<1x2x6x8xf32>
// CHECK-LABEL: @integers
// CHECK:        graph.attention
// CHECK-NEXT:   kernel.yield %{{.*}} : tensor<1x2x6x8xf32>
func.func @read(%x: tensor<1x2x6x8xf32>)
    -> (tensor<1x2x6x8xf32>, tensor<1x2x6x8xbf16>) {
  %0 = graph.attention %x, %x, %x {causal = false,
      dead_rows = #graph<dead_rows zero>, offset = #graph.dims<0>,
      scale = 1.0 : f64, softcap = 0.0 : f64, window = 0 : i64,
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
      : (tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>)
      -> tensor<1x2x6x8xf32>
  %1 = graph.cast %0 : (tensor<1x2x6x8xf32>) -> tensor<1x2x6x8xbf16>
  return %0, %1 : tensor<1x2x6x8xf32>, tensor<1x2x6x8xbf16>
}
func.func @integers(%x: tensor<1x2x6x8xf32>) -> tensor<1x2x6x8xi8> {
  %0 = graph.attention %x, %x, %x {causal = false,
      dead_rows = #graph<dead_rows zero>, offset = #graph.dims<0>,
      scale = 1.0 : f64, softcap = 0.0 : f64, window = 0 : i64,
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
      : (tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>)
      -> tensor<1x2x6x8xf32>
  %1 = graph.cast %0 : (tensor<1x2x6x8xf32>) -> tensor<1x2x6x8xi8>
  return %1 : tensor<1x2x6x8xi8>
}

// -----

// A cache is rounded by the kernel that reads it, through what it is a view of;
// what another kernel computes is not.

// CHECK-LABEL: @cache
// CHECK:      kernel.region
// CHECK-NEXT: ^bb0
// CHECK-NEXT:   graph.exp
// CHECK-NEXT:   graph.cast
// CHECK-NEXT:   kernel.yield
// CHECK:      kernel.region
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<1x2x6x8xbf16>, %{{.*}}: tensor<1x2x9x8xf32>)
// CHECK:        %[[S:.*]] = graph.slice
// CHECK-NEXT:   %[[N:.*]] = graph.cast %[[S]] : {{.*}} -> tensor<1x2x6x8xbf16>
// CHECK-NEXT:   %[[K:.*]] = graph.cast %[[N]] : {{.*}} -> tensor<1x2x6x8xf32>
// CHECK:        graph.attention %{{.*}}, %[[K]], %{{.*}} {
// On CPUs that kernel rounds what others compute, too.
// CPU-LABEL: @cache
// CPU:        graph.exp
// CPU-NEXT:   kernel.yield
// CPU:        kernel.region
// CPU-NEXT:   ^bb0(%{{.*}}: tensor<1x2x6x8xf32>, %{{.*}}: tensor<1x2x9x8xf32>)
// CPU:          graph.attention
func.func @cache(%x: tensor<1x2x6x8xf32>, %cache: tensor<1x2x9x8xf32>)
    -> tensor<1x2x6x8xf32> {
  %e = graph.exp %x : (tensor<1x2x6x8xf32>) -> tensor<1x2x6x8xf32>
  %r = graph.cast %e : (tensor<1x2x6x8xf32>) -> tensor<1x2x6x8xbf16>
  %q = graph.cast %r : (tensor<1x2x6x8xbf16>) -> tensor<1x2x6x8xf32>
  %s = graph.slice %cache {starts = #graph.dims<0, 0, 0, 0>,
      steps = #graph.dims<1, 1, 1, 1>}
      : (tensor<1x2x9x8xf32>) -> tensor<1x2x6x8xf32>
  %n = graph.cast %s : (tensor<1x2x6x8xf32>) -> tensor<1x2x6x8xbf16>
  %k = graph.cast %n : (tensor<1x2x6x8xbf16>) -> tensor<1x2x6x8xf32>
  %0 = graph.attention %q, %k, %q {causal = false,
      dead_rows = #graph<dead_rows zero>, offset = #graph.dims<0>,
      scale = 1.0 : f64, softcap = 0.0 : f64, window = 0 : i64,
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
      : (tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>)
      -> tensor<1x2x6x8xf32>
  return %0 : tensor<1x2x6x8xf32>
}

// -----

// A rotation stores what it turns as 16 bits where nobody reads f32.

// CHECK-LABEL: @rotated
// CHECK:        graph.rotary
// CHECK-NEXT:   graph.cast
// CHECK-NEXT:   kernel.yield
// CPU-LABEL: @rotated
// CPU:          graph.rotary
// CPU-NEXT:     kernel.yield
func.func @rotated(%x: tensor<1x2x6x4xf32>, %c: tensor<1x6x2xf32>)
    -> tensor<1x2x6x4xbf16> {
  %0 = graph.rotary %x, %c, %c {interleaved = false}
      : (tensor<1x2x6x4xf32>, tensor<1x6x2xf32>, tensor<1x6x2xf32>)
      -> tensor<1x2x6x4xf32>
  %1 = graph.cast %0 : (tensor<1x2x6x4xf32>) -> tensor<1x2x6x4xbf16>
  return %1 : tensor<1x2x6x4xbf16>
}

// -----

// A product whose lhs is bf16 reads its weight in few bits; one of f32 has it
// dequantized by a kernel of its own, since devices multiply no such pair.

// CHECK-LABEL: @quantized
// CHECK:      kernel.region
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<64x16xi8>, %{{.*}}: tensor<2x16xbf16>, %{{.*}}: tensor<4x64xbf16>)
// CHECK:        graph.dequantize
// CHECK:        graph.matmul
// CHECK-NEXT:   kernel.yield
// CHECK-LABEL: @dequantized
// CHECK:        graph.dequantize
// CHECK-NEXT:   kernel.yield
// CHECK:        graph.matmul
func.func @quantized(%x: tensor<4x64xbf16>) -> tensor<4x16xf32> {
  %q = graph.weight {name = "q"} : () -> tensor<64x16xi8>
  %s = graph.weight {name = "s"} : () -> tensor<2x16xbf16>
  %q3 = graph.reshape %q : (tensor<64x16xi8>) -> tensor<2x32x16xi8>
  %s3 = graph.reshape %s : (tensor<2x16xbf16>) -> tensor<2x1x16xbf16>
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %d = graph.dequantize %q3, %s3, %z
      : (tensor<2x32x16xi8>, tensor<2x1x16xbf16>, tensor<i8>) -> tensor<2x32x16xf32>
  %b = graph.reshape %d : (tensor<2x32x16xf32>) -> tensor<64x16xf32>
  %a = graph.cast %x : (tensor<4x64xbf16>) -> tensor<4x64xf32>
  %c = graph.matmul %a, %b : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  return %c : tensor<4x16xf32>
}
func.func @dequantized(%a: tensor<4x64xf32>) -> tensor<4x16xf32> {
  %q = graph.weight {name = "q"} : () -> tensor<64x16xi8>
  %s = graph.weight {name = "s"} : () -> tensor<2x16xbf16>
  %q3 = graph.reshape %q : (tensor<64x16xi8>) -> tensor<2x32x16xi8>
  %s3 = graph.reshape %s : (tensor<2x16xbf16>) -> tensor<2x1x16xbf16>
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %d = graph.dequantize %q3, %s3, %z
      : (tensor<2x32x16xi8>, tensor<2x1x16xbf16>, tensor<i8>) -> tensor<2x32x16xf32>
  %b = graph.reshape %d : (tensor<2x32x16xf32>) -> tensor<64x16xf32>
  %c = graph.matmul %a, %b : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  return %c : tensor<4x16xf32>
}

// -----

// A product of bytes reads them; with a zero point that no instruction takes
// off, a kernel of its own widens them.

// CHECK-LABEL: @bytes
// CHECK:      kernel.region
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<4x64xui8>, %{{.*}}: tensor<64x16xi8>)
// CHECK:        graph.matmul
// CHECK-LABEL: @others
// CHECK:        graph.sub
// CHECK-NEXT:   kernel.yield
// CHECK:      ^bb0(%{{.*}}: tensor<4x64xi32>
// CHECK-NEXT:   graph.matmul
func.func @bytes(%x: tensor<4x64xui8>) -> tensor<4x16xi32> {
  %w = graph.weight {name = "w"} : () -> tensor<64x16xi8>
  %z = graph.constant {value = dense<128> : tensor<i32>} : () -> tensor<i32>
  %a = graph.cast %x : (tensor<4x64xui8>) -> tensor<4x64xi32>
  %l = graph.sub %a, %z : (tensor<4x64xi32>, tensor<i32>) -> tensor<4x64xi32>
  %r = graph.cast %w : (tensor<64x16xi8>) -> tensor<64x16xi32>
  %c = graph.matmul %l, %r : (tensor<4x64xi32>, tensor<64x16xi32>) -> tensor<4x16xi32>
  return %c : tensor<4x16xi32>
}
func.func @others(%x: tensor<4x64xui8>) -> tensor<4x16xi32> {
  %w = graph.weight {name = "w"} : () -> tensor<64x16xi8>
  %z = graph.constant {value = dense<3> : tensor<i32>} : () -> tensor<i32>
  %a = graph.cast %x : (tensor<4x64xui8>) -> tensor<4x64xi32>
  %l = graph.sub %a, %z : (tensor<4x64xi32>, tensor<i32>) -> tensor<4x64xi32>
  %r = graph.cast %w : (tensor<64x16xi8>) -> tensor<64x16xi32>
  %c = graph.matmul %l, %r : (tensor<4x64xi32>, tensor<64x16xi32>) -> tensor<4x16xi32>
  return %c : tensor<4x16xi32>
}

// -----

// A norm's kernel stores what others read and its bytes: both targets' do.

// CHECK-LABEL: @norm_of_two
// CHECK:      kernel.region
// CHECK-NEXT: ^bb0
// CHECK:        graph.layer_norm
// CHECK:        graph.mul
// CHECK-NEXT:   graph.quantize
// CHECK-NEXT:   kernel.yield %{{.*}}, %{{.*}} : tensor<4x64xf32>, tensor<4x64xui8>
// CHECK-NOT:  kernel.region
// CHECK:      return
func.func @norm_of_two(%x: tensor<4x64xf32>, %f: tensor<f32>, %z: tensor<ui8>) -> (tensor<4x64xf32>, tensor<4x64xui8>) {
  %one = graph.constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.layer_norm %x {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %1 = graph.mul %0, %f : (tensor<4x64xf32>, tensor<f32>) -> tensor<4x64xf32>
  %2 = graph.quantize %1, %one, %z : (tensor<4x64xf32>, tensor<f32>, tensor<ui8>) -> tensor<4x64xui8>
  return %0, %2 : tensor<4x64xf32>, tensor<4x64xui8>
}

// -----

// What chooses the matrices of a product for its batches joins it; those of few
// bits devices do not choose so.

// CHECK-LABEL: @picked
// CHECK:      kernel.region
// CHECK-NEXT: ^bb0
// CHECK-NEXT:   graph.gather
// CHECK-NEXT:   graph.matmul
// CHECK-NEXT:   kernel.yield
// CHECK-NOT:  kernel.region
// CPU-LABEL: @picked
// CPU:      kernel.region
// CPU-NEXT: ^bb0
// CPU-NEXT:   graph.gather
// CPU-NEXT:   graph.matmul
// CPU-NEXT:   kernel.yield
func.func @picked(%x: tensor<3x1x8xf32>, %w: tensor<5x8x16xf32>, %i: tensor<3xi64>) -> tensor<3x1x16xf32> {
  %0 = graph.gather %w, %i {axis = 0 : i64} : (tensor<5x8x16xf32>, tensor<3xi64>) -> tensor<3x8x16xf32>
  %1 = graph.matmul %x, %0 : (tensor<3x1x8xf32>, tensor<3x8x16xf32>) -> tensor<3x1x16xf32>
  return %1 : tensor<3x1x16xf32>
}

// -----

// CHECK-LABEL: @picked_few_bits
// CHECK:      graph.gather
// CHECK:      kernel.yield
// CHECK:      kernel.region
// CHECK-NEXT: ^bb0
// CHECK-NEXT:   graph.matmul
// CHECK-NEXT:   kernel.yield
// CPU-LABEL: @picked_few_bits
// CPU:      kernel.region
// CPU:        graph.dequantize
// CPU-NEXT:   graph.reshape
// CPU-NEXT:   graph.gather
// CPU-NEXT:   graph.matmul
// CPU-NEXT:   kernel.yield
// CPU-NOT:  kernel.region
func.func @picked_few_bits(%x: tensor<3x1x32xf32>, %n: tensor<64x16xi8>, %s: tensor<2x16xf32>, %i: tensor<3xi64>) -> tensor<3x1x16xf32> {
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %q = graph.reshape %n : (tensor<64x16xi8>) -> tensor<2x32x16xi8>
  %t = graph.reshape %s : (tensor<2x16xf32>) -> tensor<2x1x16xf32>
  %d = graph.dequantize %q, %t, %z : (tensor<2x32x16xi8>, tensor<2x1x16xf32>, tensor<i8>) -> tensor<2x32x16xf32>
  %m = graph.reshape %d : (tensor<2x32x16xf32>) -> tensor<2x32x16xf32>
  %0 = graph.gather %m, %i {axis = 0 : i64} : (tensor<2x32x16xf32>, tensor<3xi64>) -> tensor<3x32x16xf32>
  %1 = graph.matmul %x, %0 : (tensor<3x1x32xf32>, tensor<3x32x16xf32>) -> tensor<3x1x16xf32>
  return %1 : tensor<3x1x16xf32>
}
