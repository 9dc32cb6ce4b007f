// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --assign-precision --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s
// RUN: tenon-opt %s --assign-precision=precision=int8-weights | FileCheck %s --check-prefix=INT8
// RUN: tenon-opt %s --assign-precision="precision=int4-weights compensates" | FileCheck %s --check-prefix=COMPENSATED
// RUN: tenon-opt %s --assign-precision="precision=bf16 compensates" | FileCheck %s --check-prefix=PLAIN
// RUN: tenon-opt %s --assign-precision --record-precision | FileCheck %s --check-prefix=RECORD
// RUN: tenon-opt %s --assign-precision --lower-precision | FileCheck %s --check-prefix=LOWER
// RUN: tenon-opt %s --assign-precision=precision=fp16 --lower-precision | FileCheck %s --check-prefix=LOWER16
// RUN: tenon-opt %s --assign-precision=precision=int8 --lower-precision | FileCheck %s --check-prefix=OTHERS
// RUN: not tenon-opt %s --assign-precision=precision=fp9 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: there is no precision 'fp9'; say one of fp32, bf16, fp16, int8, int8-weights, int4-weights

// Products and lookups in tables have a choice; two of a name are told apart.
// What multiplies integers has none, nor has what adds.

// CHECK-LABEL: @f
// CHECK: graph.gather {{.*}}graph.op = "words", graph.precision = "bf16"
// CHECK: graph.matmul {{.*}}graph.op = "fc", graph.precision = "bf16"
// CHECK: graph.add
// CHECK-NOT: graph.precision
// CHECK: graph.matmul {{.*}}graph.op = "fc#2", graph.precision = "bf16"
// CHECK: graph.matmul
// CHECK-NOT: graph.precision
// CHECK: return

// A product by few columns that a choice is made by stays f32, whatever is
// between; a vocabulary's does not.
// CHECK-LABEL: @experts
// CHECK: graph.matmul {{.*}}graph.op = "router", graph.precision = "fp32"
// CHECK: graph.matmul {{.*}}graph.op = "head", graph.precision = "bf16"

// INT8-LABEL: @f
// INT8-COUNT-3: graph.precision = "int8-weights"

// What inputs say of rounding is for weights in few bits.
// COMPENSATED-COUNT-3: graph.compensated, graph.op = {{.*}}graph.precision = "int4-weights"
// PLAIN-NOT: graph.compensated

// RECORD-LABEL: @f
// RECORD-NOT: graph.precision
// RECORD-NOT: graph.op

// What is lowered keeps what it was assigned; of the small weight of the second
// product, that takes no bf16, it is fp32 by then.
// LOWER-LABEL: @f
// LOWER: graph.gather {{.*}}graph.precision = "bf16"{{.*}}bf16
// LOWER: graph.matmul {{.*}}graph.precision = "bf16"
// LOWER: graph.matmul {{.*}}graph.precision = "fp32"

// LOWER16: graph.gather {{.*}}graph.precision = "fp16"{{.*}}f16

// Another precision is for other passes.
// OTHERS-LABEL: @f
// OTHERS-NOT: bf16
// OTHERS: graph.matmul {{.*}}graph.precision = "int8"
// OTHERS-NOT: bf16
// OTHERS: return
func.func @f(%i: tensor<4xi64>, %q: tensor<4x4xi32>)
    -> (tensor<4x4xf32>, tensor<4x4xi32>) {
  %t = graph.weight {name = "t"} : () -> tensor<64x64xf32>
  %w = graph.weight {name = "w"} : () -> tensor<64x64xf32>
  %v = graph.weight {name = "v"} : () -> tensor<64x4xf32>
  %0 = graph.gather %t, %i {axis = 0 : i64}
      : (tensor<64x64xf32>, tensor<4xi64>) -> tensor<4x64xf32> loc("words")
  %1 = graph.matmul %0, %w : (tensor<4x64xf32>, tensor<64x64xf32>)
      -> tensor<4x64xf32> loc("fc")
  %2 = graph.add %0, %1 : (tensor<4x64xf32>, tensor<4x64xf32>)
      -> tensor<4x64xf32> loc("fc")
  %3 = graph.matmul %2, %v : (tensor<4x64xf32>, tensor<64x4xf32>)
      -> tensor<4x4xf32> loc("fc")
  %4 = graph.matmul %q, %q : (tensor<4x4xi32>, tensor<4x4xi32>)
      -> tensor<4x4xi32>
  return %3, %4 : tensor<4x4xf32>, tensor<4x4xi32>
}

func.func @experts(%x: tensor<4x64xf32>) -> (tensor<4x2xi64>, tensor<4x1xi64>) {
  %v = graph.weight {name = "v8"} : () -> tensor<64x8xf32>
  %w = graph.weight {name = "w1000"} : () -> tensor<64x1000xf32>
  %0 = graph.matmul %x, %v : (tensor<4x64xf32>, tensor<64x8xf32>)
      -> tensor<4x8xf32> loc("router")
  %1 = graph.softmax %0 {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = graph.reshape %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3, %4 = graph.topk %2 {axis = 1 : i64, largest = true} : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  %5 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x1000xf32>)
      -> tensor<4x1000xf32> loc("head")
  %6 = graph.arg_reduce %5 {axis = 1 : i64, kind = #graph<reduce_kind max>, last = false} : (tensor<4x1000xf32>) -> tensor<4x1xi64>
  return %4, %6 : tensor<4x2xi64>, tensor<4x1xi64>
}

// Cells have a choice where their recurrence is stored as f32.
// CHECK-LABEL: @cells
// CHECK: graph.recurrent {{.*}}graph.op = "stored", graph.precision = "bf16"
// CHECK: graph.recurrent
// CHECK-NOT: graph.precision
// CHECK: return
func.func @cells(%x: tensor<7x2x64xf32>, %r: tensor<1x64x64xf32>) -> (tensor<7x1x2x64xf32>, tensor<7x1x2x64xf32>) {
  %s = graph.weight {name = "r"} : () -> tensor<1x64x64xf32>
  %0, %h0, %c0 = graph.recurrent %x, %s {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind rnn>, direction = "forward", activations = ["Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x64xf32>, tensor<1x64x64xf32>) -> (tensor<7x1x2x64xf32>, tensor<1x2x64xf32>, tensor<1x2x64xf32>) loc("stored")
  %1, %h1, %c1 = graph.recurrent %x, %r {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind rnn>, direction = "forward", activations = ["Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x64xf32>, tensor<1x64x64xf32>) -> (tensor<7x1x2x64xf32>, tensor<1x2x64xf32>, tensor<1x2x64xf32>) loc("given")
  return %0, %1 : tensor<7x1x2x64xf32>, tensor<7x1x2x64xf32>
}
