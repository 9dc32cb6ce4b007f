// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --lower-precision --split-input-file | FileCheck %s
// RUN: tenon-opt %s --lower-precision=explain --split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY
// RUN: tenon-opt %s --lower-precision="pair-dots=false" --split-input-file | FileCheck %s --check-prefix=NONE
// RUN: tenon-opt %s --lower-precision=f16 --split-input-file | FileCheck %s --check-prefix=NONE

// Products of two that are no weights, where a CPU level multiplies pairs.
// NONE-NOT: 16>

// One value is both operands: it is rounded once.
// CHECK-LABEL: @gram
// CHECK:      %[[X:.*]] = graph.cast %arg0 : (tensor<300x64xf32>) -> tensor<300x64xbf16>
// CHECK-NOT:  graph.cast %arg0
// CHECK:      %[[T:.*]] = graph.transpose %[[X]] {{.*}} -> tensor<64x300xbf16>
// CHECK:      %[[RHS:.*]] = graph.cast %[[T]]
// CHECK:      graph.matmul %{{.*}}, %[[RHS]] : {{.*}} -> tensor<300x300xf32>
func.func @gram(%x: tensor<300x64xf32>) -> tensor<300x300xf32> {
  %t = graph.transpose %x {permutation = array<i64: 1, 0>}
      : (tensor<300x64xf32>) -> tensor<64x300xf32>
  %0 = graph.matmul %x, %t : (tensor<300x64xf32>, tensor<64x300xf32>)
      -> tensor<300x300xf32>
  return %0 : tensor<300x300xf32>
}

// -----

// What kernels of the program make, they round: any number of rows. A weight on
// the left is rounded as it is packed.
// CHECK-LABEL: @made
// CHECK:      graph.cast %{{.*}} : (tensor<128x64xf32>) -> tensor<128x64xbf16>
// CHECK:      %[[E:.*]] = graph.exp
// CHECK-NEXT: graph.cast %[[E]] : {{.*}}bf16
// CHECK:      graph.matmul {{.*}} -> tensor<128x?xf32
func.func @made(%x: tensor<64x?xf32, #graph.dims<64, n>>)
    -> tensor<128x?xf32, #graph.dims<128, n>> {
  %w = graph.weight {name = "w"} : () -> tensor<128x64xf32>
  %e = graph.exp %x : (tensor<64x?xf32, #graph.dims<64, n>>)
      -> tensor<64x?xf32, #graph.dims<64, n>>
  %0 = graph.matmul %w, %e
      : (tensor<128x64xf32>, tensor<64x?xf32, #graph.dims<64, n>>)
      -> tensor<128x?xf32, #graph.dims<128, n>>
  return %0 : tensor<128x?xf32, #graph.dims<128, n>>
}

// -----

// What is given to the program would be rounded for few products; few rows; a k
// that is odd; and lhs by columns.
// CHECK-LABEL: @others
// CHECK-NOT:  bf16
// WHY: remark: stays in f32: an operand is given to the program
// WHY: remark: stays in f32: it is of few rows or of one column
// WHY: remark: stays in f32: k is odd or no number
// WHY: remark: stays in f32: pairs of steps of an operand do not lie together
func.func @others(%x: tensor<64x64xf32>, %r: tensor<4x64xf32>,
                  %o: tensor<300x65xf32>, %p: tensor<65x300xf32>,
                  %q: tensor<64x300xf32>)
    -> (tensor<64x64xf32>, tensor<4x64xf32>, tensor<300x300xf32>,
        tensor<300x300xf32>) {
  %0 = graph.matmul %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>)
      -> tensor<64x64xf32>
  %1 = graph.matmul %r, %x : (tensor<4x64xf32>, tensor<64x64xf32>)
      -> tensor<4x64xf32>
  %2 = graph.matmul %o, %p : (tensor<300x65xf32>, tensor<65x300xf32>)
      -> tensor<300x300xf32>
  %t = graph.transpose %q {permutation = array<i64: 1, 0>}
      : (tensor<64x300xf32>) -> tensor<300x64xf32>
  %3 = graph.matmul %t, %q : (tensor<300x64xf32>, tensor<64x300xf32>)
      -> tensor<300x300xf32>
  return %0, %1, %2, %3 : tensor<64x64xf32>, tensor<4x64xf32>,
      tensor<300x300xf32>, tensor<300x300xf32>
}
