// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --sink-scales --split-input-file | FileCheck %s

// A weight that lies the other way round has its scales so, too; constants
// become one factor.

// CHECK-LABEL: @turned
// CHECK:       %[[X:.*]] = graph.cast %{{.*}} : (tensor<?x8xbf16
// CHECK-DAG:   %[[T:.*]] = graph.transpose %{{.*}} : (tensor<4x1xf32>) -> tensor<1x4xf32>
// CHECK-DAG:   %[[W:.*]] = graph.transpose %{{.*}} : (tensor<4x8xf32>) -> tensor<8x4xf32>
// CHECK:       %[[P:.*]] = graph.matmul %[[X]], %[[W]]
// CHECK-NEXT:  %[[F:.*]] = graph.mul %[[T]], %{{.*}} : (tensor<1x4xf32>, tensor<f32>)
// CHECK-NEXT:  %[[Y:.*]] = graph.mul %[[P]], %[[F]]
// CHECK:       graph.add %{{.*}}
func.func @turned(%x: tensor<?x8xf32, #graph.dims<N, 8>>, %b: tensor<4xf32>) -> tensor<?x4xf32, #graph.dims<N, 4>> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.round_float %x {to = f8E4M3FN, saturates = true} : (tensor<?x8xf32, #graph.dims<N, 8>>) -> tensor<?x8xf32, #graph.dims<N, 8>>
  %1 = graph.cast %0 : (tensor<?x8xf32, #graph.dims<N, 8>>) -> tensor<?x8xbf16, #graph.dims<N, 8>>
  %2 = graph.cast %1 : (tensor<?x8xbf16, #graph.dims<N, 8>>) -> tensor<?x8xf32, #graph.dims<N, 8>>
  %3 = graph.mul %2, %s : (tensor<?x8xf32, #graph.dims<N, 8>>, tensor<f32>) -> tensor<?x8xf32, #graph.dims<N, 8>>
  %w = graph.weight {name = "w"} : () -> tensor<4x8xbf16>
  %4 = graph.cast %w : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %t = graph.weight {name = "t"} : () -> tensor<4x1xf32>
  %5 = graph.mul %4, %t : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %6 = graph.transpose %5 {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %7 = graph.matmul %3, %6 : (tensor<?x8xf32, #graph.dims<N, 8>>, tensor<8x4xf32>) -> tensor<?x4xf32, #graph.dims<N, 4>>
  %8 = graph.add %7, %b : (tensor<?x4xf32, #graph.dims<N, 4>>, tensor<4xf32>) -> tensor<?x4xf32, #graph.dims<N, 4>>
  return %8 : tensor<?x4xf32, #graph.dims<N, 4>>
}

// -----

// Two that are computed, in a model of f16: a scale that only a run knows stays
// a factor of its own, and the product is rounded where it was.

// CHECK-LABEL: @attended
// CHECK:       %[[Q:.*]] = graph.cast %{{.*}} : (tensor<2x4x8xbf16>) -> tensor<2x4x8xf32>
// CHECK:       %[[K:.*]] = graph.transpose %{{.*}} : (tensor<2x6x8xf32>) -> tensor<2x8x6xf32>
// CHECK-NEXT:  %[[P:.*]] = graph.matmul %[[Q]], %[[K]] : {{.*}} -> tensor<2x4x6xf32>
// CHECK-NEXT:  %[[A:.*]] = graph.mul %[[P]], %{{.*}}
// CHECK-NEXT:  %[[B:.*]] = graph.mul %[[A]], %{{.*}}
// CHECK-NEXT:  graph.cast %[[B]] : (tensor<2x4x6xf32>) -> tensor<2x4x6xf16>
func.func @attended(%q: tensor<2x4x8xf32>, %k: tensor<2x6x8xf32>, %s: tensor<f32>, %t: tensor<1xf32>) -> tensor<2x4x6xf16> {
  %0 = graph.round_float %q {to = f8E4M3FN, saturates = true} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %1 = graph.cast %0 : (tensor<2x4x8xf32>) -> tensor<2x4x8xbf16>
  %2 = graph.cast %1 : (tensor<2x4x8xbf16>) -> tensor<2x4x8xf32>
  %3 = graph.mul %2, %s : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
  %4 = graph.cast %3 : (tensor<2x4x8xf32>) -> tensor<2x4x8xf16>
  %5 = graph.round_float %k {to = f8E5M2, saturates = true} : (tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %6 = graph.cast %5 : (tensor<2x6x8xf32>) -> tensor<2x6x8xbf16>
  %7 = graph.cast %6 : (tensor<2x6x8xbf16>) -> tensor<2x6x8xf32>
  %8 = graph.mul %t, %7 : (tensor<1xf32>, tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %9 = graph.cast %8 : (tensor<2x6x8xf32>) -> tensor<2x6x8xf16>
  %10 = graph.transpose %9 {permutation = array<i64: 0, 2, 1>} : (tensor<2x6x8xf16>) -> tensor<2x8x6xf16>
  %11 = graph.matmul %4, %10 : (tensor<2x4x8xf16>, tensor<2x8x6xf16>) -> tensor<2x4x6xf16>
  return %11 : tensor<2x4x6xf16>
}

// -----

// Of a filter, a scale for each map.

// CHECK-LABEL: @convolved
// CHECK:       %[[T:.*]] = graph.reshape %{{.*}} : (tensor<8x1x1x1xf32>) -> tensor<8x1x1xf32>
// CHECK:       %[[P:.*]] = graph.conv
// CHECK-NEXT:  %[[A:.*]] = graph.mul %[[P]], %{{.*}} : (tensor<1x8x6x6xf32>, tensor<f32>)
// CHECK-NEXT:  graph.mul %[[A]], %[[T]]
func.func @convolved(%x: tensor<1x4x6x6xf32>, %s: tensor<f32>) -> tensor<1x8x6x6xf32> {
  %0 = graph.round_float %x {to = f8E4M3FN, saturates = true} : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %1 = graph.cast %0 : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xbf16>
  %2 = graph.cast %1 : (tensor<1x4x6x6xbf16>) -> tensor<1x4x6x6xf32>
  %3 = graph.mul %2, %s : (tensor<1x4x6x6xf32>, tensor<f32>) -> tensor<1x4x6x6xf32>
  %w = graph.weight {name = "w"} : () -> tensor<8x4x1x1xbf16>
  %4 = graph.cast %w : (tensor<8x4x1x1xbf16>) -> tensor<8x4x1x1xf32>
  %t = graph.weight {name = "t"} : () -> tensor<8x1x1x1xf32>
  %5 = graph.mul %4, %t : (tensor<8x4x1x1xf32>, tensor<8x1x1x1xf32>) -> tensor<8x4x1x1xf32>
  %6 = graph.conv %3, %5 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<1x4x6x6xf32>, tensor<8x4x1x1xf32>) -> tensor<1x8x6x6xf32>
  return %6 : tensor<1x8x6x6xf32>
}

// -----

// Scales along the steps that are added up stay, and so do those of products
// of which one factor is any number.

// CHECK-LABEL: @along_steps
// CHECK:       %[[R:.*]] = graph.mul %{{.*}} : (tensor<8x4xf32>, tensor<8x1xf32>)
// CHECK-NEXT:  graph.matmul %{{.*}}, %[[R]]
// CHECK-NEXT:  return
// CHECK-LABEL: @any_number
// CHECK:       %[[R:.*]] = graph.mul %{{.*}} : (tensor<8x4xf32>, tensor<4xf32>)
// CHECK-NEXT:  graph.matmul %{{.*}}, %[[R]]
// CHECK-NEXT:  return
func.func @along_steps(%x: tensor<2x8xf32>, %s: tensor<f32>) -> tensor<2x4xf32> {
  %0 = graph.round_float %x {to = f8E4M3FN, saturates = true} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = graph.cast %0 : (tensor<2x8xf32>) -> tensor<2x8xbf16>
  %2 = graph.cast %1 : (tensor<2x8xbf16>) -> tensor<2x8xf32>
  %3 = graph.mul %2, %s : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %w = graph.weight {name = "w"} : () -> tensor<8x4xbf16>
  %4 = graph.cast %w : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  %t = graph.weight {name = "t"} : () -> tensor<8x1xf32>
  %5 = graph.mul %4, %t : (tensor<8x4xf32>, tensor<8x1xf32>) -> tensor<8x4xf32>
  %6 = graph.matmul %3, %5 : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  return %6 : tensor<2x4xf32>
}
func.func @any_number(%x: tensor<2x8xf32>) -> tensor<2x4xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<8x4xbf16>
  %4 = graph.cast %w : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  %t = graph.weight {name = "t"} : () -> tensor<4xf32>
  %5 = graph.mul %4, %t : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %6 = graph.matmul %x, %5 : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  return %6 : tensor<2x4xf32>
}
