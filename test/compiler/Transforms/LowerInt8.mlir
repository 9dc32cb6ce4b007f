// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --lower-int8 --split-input-file | FileCheck %s
// RUN: tenon-opt %s --lower-int8=target=cuda --split-input-file | FileCheck %s --check-prefix=CUDA
// RUN: tenon-opt %s --lower-int8=explain --split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY

// Two products of one value quantize it once; who else reads it does not see
// that.
// CHECK-LABEL: @shared
// CHECK:      %[[E:.*]] = graph.exp
// CHECK:      %[[Q:.*]], %[[S:.*]], %[[Z:.*]] = graph.quantize_rows %[[E]]
// CHECK:      %[[W:.*]] = graph.cast %[[Z]] : (tensor<4x1xui8>) -> tensor<4x1xi32>
// CHECK-NOT:  graph.quantize_rows
// CHECK:      %[[C:.*]] = graph.cast %[[Q]]
// CHECK:      %[[L:.*]] = graph.sub %[[C]], %[[W]]
// CHECK:      %[[P:.*]] = graph.matmul %[[L]], {{.*}} -> tensor<4x64xi32>
// CHECK:      %[[F:.*]] = graph.cast %[[P]]
// CHECK:      %[[R:.*]] = graph.mul %[[F]], %[[S]]
// CHECK:      graph.mul %[[R]], {{.*}} : (tensor<4x64xf32>, tensor<1x64xf32>)
// CHECK:      graph.matmul {{.*}} -> tensor<4x64xi32>
// CHECK:      graph.add %[[E]],

// Devices multiply signed numbers: their rows count from 128.
// CUDA-LABEL: @shared
// CUDA:      %[[S:.*]] = graph.select {{.*}} -> tensor<4x1xf32>
// CUDA:      %[[Q:.*]] = graph.quantize {{.*}} -> tensor<4x128xui8>
// CUDA:      dense<128> : tensor<i32>
// CUDA-NOT:  -> tensor<4x128xui8>
// CUDA:      graph.matmul {{.*}} -> tensor<4x64xi32>
func.func @shared(%x: tensor<4x128xf32>)
    -> (tensor<4x64xf32>, tensor<4x64xf32>, tensor<4x128xf32>) {
  %v = graph.weight {name = "v"} : () -> tensor<128x64xf32>
  %w = graph.weight {name = "w"} : () -> tensor<128x64xf32>
  %e = graph.exp %x : (tensor<4x128xf32>) -> tensor<4x128xf32>
  %0 = graph.matmul %e, %v : (tensor<4x128xf32>, tensor<128x64xf32>)
      -> tensor<4x64xf32>
  %1 = graph.matmul %e, %w : (tensor<4x128xf32>, tensor<128x64xf32>)
      -> tensor<4x64xf32>
  %2 = graph.add %e, %x : (tensor<4x128xf32>, tensor<4x128xf32>)
      -> tensor<4x128xf32>
  return %0, %1, %2 : tensor<4x64xf32>, tensor<4x64xf32>, tensor<4x128xf32>
}

// -----

// What a product's kernel makes for products alone lies in memory in bf16; not
// what others read.
// CHECK-LABEL: @chain
// CHECK:      %[[G:.*]] = graph.gelu
// CHECK-NEXT: %[[B:.*]] = graph.cast %[[G]] : (tensor<4x128xf32>) -> tensor<4x128xbf16>
// CHECK-NEXT: %[[W:.*]] = graph.cast %[[B]] : (tensor<4x128xbf16>) -> tensor<4x128xf32>
// CHECK-NEXT: graph.quantize_rows %[[W]]
// CHECK:      %[[T:.*]] = graph.tanh
// CHECK-NEXT: graph.quantize_rows %[[T]]
// CHECK:      graph.add %[[T]],
func.func @chain(%x: tensor<4x128xf32>) -> (tensor<4x128xf32>, tensor<4x128xf32>) {
  %u = graph.weight {name = "u"} : () -> tensor<128x128xf32>
  %v = graph.weight {name = "v"} : () -> tensor<128x128xf32>
  %w = graph.weight {name = "w"} : () -> tensor<128x128xf32>
  %0 = graph.matmul %x, %u : (tensor<4x128xf32>, tensor<128x128xf32>) -> tensor<4x128xf32>
  %1 = graph.gelu %0 {kind = #graph<gelu_kind erf>} : (tensor<4x128xf32>) -> tensor<4x128xf32>
  %2 = graph.matmul %1, %v : (tensor<4x128xf32>, tensor<128x128xf32>) -> tensor<4x128xf32>
  %3 = graph.tanh %2 : (tensor<4x128xf32>) -> tensor<4x128xf32>
  %4 = graph.matmul %3, %w : (tensor<4x128xf32>, tensor<128x128xf32>) -> tensor<4x128xf32>
  %5 = graph.add %3, %x : (tensor<4x128xf32>, tensor<4x128xf32>) -> tensor<4x128xf32>
  return %4, %5 : tensor<4x128xf32>, tensor<4x128xf32>
}

// -----

// Small weights, products of two activations and other types stay.
// CHECK-LABEL: @stays
// CHECK-NOT:  i32
// WHY: remark: stays in f32: rhs is no matrix of weights of some size
// WHY: remark: stays in f32: rhs is no matrix of weights of some size
// WHY: remark: stays in f32: its operands are not f32
// WHY: remark: stays in f32: sums over so much of k do not fit 32 bits
func.func @stays(%x: tensor<4x8xf32>, %y: tensor<8x512xf32>, %h: tensor<4x128xf16>, %l: tensor<4x70000xf32>)
    -> (tensor<4x8xf32>, tensor<4x512xf32>, tensor<4x64xf16>, tensor<4x2xf32>) {
  %v = graph.weight {name = "v"} : () -> tensor<8x8xf32>
  %w = graph.weight {name = "w"} : () -> tensor<128x64xf16>
  %0 = graph.matmul %x, %v : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = graph.matmul %x, %y : (tensor<4x8xf32>, tensor<8x512xf32>) -> tensor<4x512xf32>
  %2 = graph.matmul %h, %w : (tensor<4x128xf16>, tensor<128x64xf16>) -> tensor<4x64xf16>
  %u = graph.weight {name = "u"} : () -> tensor<70000x2xf32>
  %3 = graph.matmul %l, %u : (tensor<4x70000xf32>, tensor<70000x2xf32>) -> tensor<4x2xf32>
  return %0, %1, %2, %3 : tensor<4x8xf32>, tensor<4x512xf32>, tensor<4x64xf16>, tensor<4x2xf32>
}
