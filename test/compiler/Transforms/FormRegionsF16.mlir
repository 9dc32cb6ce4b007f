// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --form-regions --split-input-file | FileCheck %s

// A product takes in what widens its weight of f16: one matrix, or one for each
// batch.

// CHECK-LABEL: @weights
// CHECK:      kernel.region(%{{.*}}, %arg0) : (tensor<128x64xf16>, tensor<4x128xf32>) -> tensor<4x64xf32>
// CHECK:        graph.cast
// CHECK-NEXT:   graph.matmul
// CHECK:      kernel.region(%{{.*}}, %arg1) : (tensor<3x128x64xf16>, tensor<3x4x128xf32>) -> tensor<3x4x64xf32>
func.func @weights(%x: tensor<4x128xf32>, %y: tensor<3x4x128xf32>)
    -> (tensor<4x64xf32>, tensor<3x4x64xf32>) {
  %v = graph.weight {name = "v"} : () -> tensor<128x64xf16>
  %w = graph.weight {name = "w"} : () -> tensor<3x128x64xf16>
  %0 = graph.cast %v : (tensor<128x64xf16>) -> tensor<128x64xf32>
  %1 = graph.matmul %x, %0 : (tensor<4x128xf32>, tensor<128x64xf32>)
      -> tensor<4x64xf32>
  %2 = graph.cast %w : (tensor<3x128x64xf16>) -> tensor<3x128x64xf32>
  %3 = graph.matmul %y, %2 : (tensor<3x4x128xf32>, tensor<3x128x64xf32>)
      -> tensor<3x4x64xf32>
  return %1, %3 : tensor<4x64xf32>, tensor<3x4x64xf32>
}

// -----

// What is no weight, a weight on the left, and one for all pairs of batches are
// widened before: no kernel packs them.

// CHECK-LABEL: @others
// CHECK:      kernel.region{{.*}} -> tensor<128x64xf32>
// CHECK:      kernel.region{{.*}} (tensor<4x128xf32>, tensor<128x64xf32>)
// CHECK:      kernel.region{{.*}} -> tensor<4x128xf32>
// CHECK:      kernel.region{{.*}} (tensor<4x128xf32>, tensor<128x64xf32>)
// CHECK:      kernel.region{{.*}} -> tensor<3x128x64xf32>
// CHECK:      kernel.region{{.*}} (tensor<2x3x4x128xf32>, tensor<3x128x64xf32>)
func.func @others(%x: tensor<4x128xf32>, %h: tensor<128x64xf16>,
                  %y: tensor<128x64xf32>, %z: tensor<2x3x4x128xf32>)
    -> (tensor<4x64xf32>, tensor<4x64xf32>, tensor<2x3x4x64xf32>) {
  %v = graph.weight {name = "v"} : () -> tensor<4x128xf16>
  %w = graph.weight {name = "w"} : () -> tensor<3x128x64xf16>
  %0 = graph.cast %h : (tensor<128x64xf16>) -> tensor<128x64xf32>
  %1 = graph.matmul %x, %0 : (tensor<4x128xf32>, tensor<128x64xf32>)
      -> tensor<4x64xf32>
  %2 = graph.cast %v : (tensor<4x128xf16>) -> tensor<4x128xf32>
  %3 = graph.matmul %2, %y : (tensor<4x128xf32>, tensor<128x64xf32>)
      -> tensor<4x64xf32>
  %4 = graph.cast %w : (tensor<3x128x64xf16>) -> tensor<3x128x64xf32>
  %5 = graph.matmul %z, %4 : (tensor<2x3x4x128xf32>, tensor<3x128x64xf32>)
      -> tensor<2x3x4x64xf32>
  return %1, %3, %5 : tensor<4x64xf32>, tensor<4x64xf32>, tensor<2x3x4x64xf32>
}
