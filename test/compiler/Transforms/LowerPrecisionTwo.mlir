// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --lower-precision="f16-fma=false" --split-input-file | FileCheck %s
// RUN: tenon-opt %s --lower-precision="f16-fma=false explain" --split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY
// RUN: tenon-opt %s --lower-precision="pair-dots=false f16-fma=false" --split-input-file | FileCheck %s --check-prefix=NONE
// RUN: tenon-opt %s --lower-precision="f16 f16-fma=false" --split-input-file | FileCheck %s --check-prefix=NONE
// RUN: tenon-opt %s --lower-precision=f16 --split-input-file | FileCheck %s --check-prefix=F16
// RUN: tenon-opt %s --lower-precision --split-input-file | FileCheck %s --check-prefix=BOTH

// Products of two that are no weights, where a CPU level multiplies pairs, and
// where one adds up in f16: there kernels round what they read.
// NONE-NOT: 16>

// One value is both operands: it is rounded once.
// CHECK-LABEL: @gram
// CHECK:      %[[X:.*]] = graph.cast %arg0 : (tensor<300x64xf32>) -> tensor<300x64xbf16>
// CHECK-NOT:  graph.cast %arg0
// CHECK:      %[[T:.*]] = graph.transpose %[[X]] {{.*}} -> tensor<64x300xbf16>
// CHECK:      %[[RHS:.*]] = graph.cast %[[T]]
// CHECK:      graph.matmul %{{.*}}, %[[RHS]] : {{.*}} -> tensor<300x300xf32>
// F16-LABEL: @gram
// F16:       %[[T:.*]] = graph.transpose %arg0 {{.*}} -> tensor<64x300xf32>
// F16-DAG:   graph.cast %arg0 : {{.*}} -> tensor<300x64xf16>
// F16-DAG:   graph.cast %[[T]] : {{.*}} -> tensor<64x300xf16>
// F16:       graph.matmul %{{.*}} {graph.adds_f16}
// BOTH-LABEL: @gram
// BOTH-NOT:  xf16
// BOTH:      graph.cast %arg0 : {{.*}} -> tensor<300x64xbf16>
// BOTH:      graph.matmul %{{.*}} {graph.adds_f16}
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
// In f16 it would be stored rounded, and kernels of f32 not read it.
// F16-LABEL: @made
// F16:       %[[W:.*]] = graph.weight
// F16-NOT:   graph.cast %[[W]]
// F16:       graph.matmul %[[W]], %{{.*}} {graph.adds_f16}
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
// All but the few and the odd can be f16, whatever was wanted.
// F16-LABEL: @others
// F16:       graph.matmul %{{.*}} {graph.adds_f16} : (tensor<64x64xf32>
// F16-NEXT:  graph.matmul %{{.*}} : (tensor<4x64xf32>
// F16-NEXT:  graph.matmul %{{.*}} : (tensor<300x65xf32>
// F16:       graph.cast %{{.*}} : (tensor<300x64xf32>) -> tensor<300x64xf16>
// F16:       graph.matmul %{{.*}} {graph.adds_f16} : (tensor<300x64xf32>
// BOTH-LABEL: @others
// BOTH-NOT:  bf16
// BOTH:      graph.matmul %{{.*}} {graph.adds_f16} : (tensor<64x64xf32>
// BOTH-NEXT: graph.matmul %{{.*}} : (tensor<4x64xf32>
// BOTH-NEXT: graph.matmul %{{.*}} : (tensor<300x65xf32>
// BOTH:      graph.cast %{{.*}} : (tensor<300x64xf32>) -> tensor<300x64xf16>
// BOTH:      graph.matmul %{{.*}} {graph.adds_f16} : (tensor<300x64xf32>
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
