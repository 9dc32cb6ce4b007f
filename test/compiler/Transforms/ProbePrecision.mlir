// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --probe-precision=precisions=bf16+int8 --split-input-file | FileCheck %s
// RUN: tenon-opt %s --probe-precision --lower-precision --record-precision --split-input-file | FileCheck %s --check-prefix=LOWERED
// RUN: not tenon-opt %s --probe-precision=precisions=fp9 --split-input-file 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: there is no precision 'fp9'

// A copy for each precision, with weights of its own, in branches that the mask
// chooses: whether there is any (bits 4 and 5), and each (0 to 3). The second
// product reads what the first one's branches give. Errors are of exact inputs
// where the last bit says so.
// CHECK-LABEL: @two
// CHECK-SAME: %[[MASK:[a-z0-9]*]]: tensor<7xi1> {graph.name = "graph.precision_mask"}
// CHECK-SAME: tensor<4xf32> {graph.name = "graph.precision_errors"}
// CHECK: %[[EXACT:.*]] = graph.matmul %arg0, {{.*}} {graph.op = "a"
// CHECK: graph.slice %[[MASK]] {starts = #graph.dims<4>
// CHECK: %[[CHOSEN:.*]]:3 = graph.if
// CHECK:   graph.slice %[[MASK]] {starts = #graph.dims<0>
// CHECK:   %[[ONE:.*]]:2 = graph.if
// CHECK:     %[[WEIGHT:.*]] = graph.weight {name = "w"}
// CHECK:     %[[FIRST:.*]] = graph.matmul %arg0, %[[WEIGHT]] {graph.op = "probe 0", graph.precision = "bf16"}
// CHECK:     graph.sub %[[FIRST]], %[[EXACT]]
// CHECK:     %[[ERROR:.*]] = graph.div
// CHECK:     graph.slice %[[MASK]] {starts = #graph.dims<6>
// CHECK:     %[[RESULT:.*]] = graph.select {{.*}}, %[[EXACT]], %[[FIRST]]
// CHECK:     graph.yield %[[RESULT]], %[[ERROR]]
// CHECK:   } else {
// CHECK:     graph.yield %[[EXACT]],
// CHECK:   graph.slice %[[MASK]] {starts = #graph.dims<1>
// CHECK:   %[[TWO:.*]]:2 = graph.if
// CHECK:     %[[SECOND:.*]] = graph.matmul {{.*}} {graph.op = "probe 1", graph.precision = "int8"}
// CHECK:     graph.select {{.*}}, %[[ONE]]#0, %[[SECOND]]
// CHECK:   graph.yield %[[TWO]]#0, %[[ONE]]#1, %[[TWO]]#1
// CHECK: } else {
// CHECK:   graph.yield %[[EXACT]],
// CHECK: graph.matmul %[[CHOSEN]]#0, {{.*}} {graph.op = "b"
// CHECK: graph.slice %[[MASK]] {starts = #graph.dims<5>
// CHECK: graph.matmul %[[CHOSEN]]#0, {{.*}} {graph.op = "probe 2"
// CHECK: graph.concat %[[CHOSEN]]#1, %[[CHOSEN]]#2,
// CHECK: return

// LOWERED-LABEL: @two
// LOWERED-COUNT-2: tensor<64x64xbf16>
// LOWERED-NOT: graph.precision =
func.func @two(%x: tensor<?x64xf32, #graph.dims<s, 64>>)
    -> tensor<?x64xf32, #graph.dims<s, 64>> {
  %w = graph.weight {name = "w"} : () -> tensor<64x64xf32>
  %0 = graph.matmul %x, %w {graph.op = "a", graph.precision = "fp32"}
      : (tensor<?x64xf32, #graph.dims<s, 64>>, tensor<64x64xf32>)
      -> tensor<?x64xf32, #graph.dims<s, 64>>
  %1 = graph.matmul %0, %w {graph.op = "b", graph.precision = "fp32"}
      : (tensor<?x64xf32, #graph.dims<s, 64>>, tensor<64x64xf32>)
      -> tensor<?x64xf32, #graph.dims<s, 64>>
  return %1 : tensor<?x64xf32, #graph.dims<s, 64>>
}

// -----

// What assign-precision did not name, or what gives no f32, has no copy, and
// the function stays as it was.
// CHECK-LABEL: @none
// CHECK-SAME: (%arg0: tensor<4x64xf32>, %arg1: tensor<4x64xf16>) -> (tensor<4x4xf32>, tensor<4x4xf16>)
// CHECK-NOT: graph.select
func.func @none(%x: tensor<4x64xf32>, %y: tensor<4x64xf16>)
    -> (tensor<4x4xf32>, tensor<4x4xf16>) {
  %w = graph.weight {name = "w"} : () -> tensor<64x4xf32>
  %v = graph.weight {name = "v"} : () -> tensor<64x4xf16>
  %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x4xf32>)
      -> tensor<4x4xf32>
  %1 = graph.matmul %y, %v {graph.op = "a", graph.precision = "fp32"}
      : (tensor<4x64xf16>, tensor<64x4xf16>) -> tensor<4x4xf16>
  return %0, %1 : tensor<4x4xf32>, tensor<4x4xf16>
}

// -----

// How lhs was calibrated is for the copy in int8 alone.
// CHECK-LABEL: @calibrated
// CHECK:      graph.matmul {{.*}} {graph.lhs = {{.*}}graph.precision = "fp32"}
// CHECK:      graph.matmul {{.*}} {graph.op = "probe 0", graph.precision = "bf16"}
// CHECK:      graph.matmul {{.*}} {graph.lhs = {scale = 2.500000e-01 : f32, zero = 3 : i64}, graph.op = "probe 1", graph.precision = "int8"}
func.func @calibrated(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<64x64xf32>
  %0 = graph.matmul %x, %w {graph.op = "a", graph.precision = "fp32", graph.lhs = {scale = 0.25 : f32, zero = 3}}
      : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}

// -----

// What renames elements does so in the branch, too, where kernels look for it.
// CHECK-LABEL: @views
// CHECK: graph.transpose %arg0
// CHECK: graph.matmul {{.*}} {graph.op = "a"
// CHECK: graph.if
// CHECK:   graph.if
// CHECK:     %[[VIEW:.*]] = graph.transpose %arg0
// CHECK:     graph.matmul %[[VIEW]], {{.*}} {graph.op = "probe 0"
func.func @views(%x: tensor<64x4xf32>) -> tensor<4x64xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<64x64xf32>
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>}
      : (tensor<64x4xf32>) -> tensor<4x64xf32>
  %1 = graph.matmul %0, %w {graph.op = "a", graph.precision = "fp32"}
      : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  return %1 : tensor<4x64xf32>
}

// -----

// Of several results the mask chooses all; the error is the first one's.
// CHECK-LABEL: @cell
// CHECK: %[[ALL:.*]], %[[H:.*]], %{{.*}} = graph.recurrent {{.*}}graph.op = "a"
// CHECK: %[[CHOSEN:.*]]:5 = graph.if
// CHECK:   %[[ONE:.*]]:4 = graph.if
// CHECK:     %[[A:.*]], %[[B:.*]], %[[C:.*]] = graph.recurrent {{.*}}graph.op = "probe 0"
// CHECK:     graph.sub %[[A]], %[[ALL]]
// CHECK:     graph.select {{.*}}, %[[ALL]], %[[A]]
// CHECK:     graph.select {{.*}}, %[[H]], %[[B]]
// CHECK:   %[[TWO:.*]]:4 = graph.if
// CHECK:     graph.select {{.*}}, %[[ONE]]#1, %{{.*}} : {{.*}} -> tensor<1x2x64xf32>
// CHECK:   graph.yield %[[TWO]]#0, %[[TWO]]#1, %[[TWO]]#2, %[[ONE]]#3, %[[TWO]]#3
// CHECK: graph.concat %[[CHOSEN]]#3, %[[CHOSEN]]#4
// CHECK: return %[[CHOSEN]]#1
func.func @cell(%x: tensor<7x2x64xf32>) -> tensor<1x2x64xf32> {
  %r = graph.weight {name = "r"} : () -> tensor<1x64x64xf32>
  %0, %h, %c = graph.recurrent %x, %r {graph.op = "a", graph.precision = "fp32", operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind rnn>, direction = "forward", activations = ["Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x64xf32>, tensor<1x64x64xf32>) -> (tensor<7x1x2x64xf32>, tensor<1x2x64xf32>, tensor<1x2x64xf32>)
  return %h : tensor<1x2x64xf32>
}

// -----

// What a loop or a branch computes cannot be returned: it has no probes.
// CHECK-LABEL: @nested
// CHECK-NOT: precision_mask
// CHECK-NOT: probe
// CHECK: return
func.func @nested(%c: tensor<i1>, %x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %0 = graph.loop "i" %c, %x attributes {room = #graph.dims<0>} : (tensor<i1>, tensor<4x64xf32>) -> tensor<4x64xf32> {
  ^bb0(%s: tensor<4x64xf32>):
    %w = graph.weight {name = "w"} : () -> tensor<64x64xf32>
    %1 = graph.matmul %s, %w {graph.op = "a"} : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    graph.yield %c, %1 : tensor<i1>, tensor<4x64xf32>
  }
  return %0 : tensor<4x64xf32>
}
