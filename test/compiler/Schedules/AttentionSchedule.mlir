// RUN: tenon-opt %s --apply-schedules=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// What a thread needs of scratch memory does not depend on the queries, and
// grows with the keys as those of one head do; operands and result are seen
// through what lies between them and memory.

// CHECK: kernel.func @seen symbols ["b", "s", "t"] layouts ["", "", "", ""]
// CHECK-SAME: schedule "Attention" geometry <4 * b * floordiv(2 * s + 47, 48)
// CHECK-SAME:   min(floordiv(63, 4 * b * floordiv(2 * s + 47, 48) + 1), floordiv(t, 768))
// CHECK-SAME:   32768 * floordiv(t + 63, 64) + 38656,
kernel.func @seen symbols ["b", "s", "t"] layouts ["", "", "", ""] schedule "Generic" geometry <1, 1, 0> {
^bb0(%0: tensor<?x?x512xf32, #graph.dims<b, s, 512>>, %1: tensor<?x4x?x64xf32, #graph.dims<b, 4, t, 64>>, %2: tensor<?x4x?x64xf32, #graph.dims<b, 4, t, 64>>, %3: tensor<?x?xi1, #graph.dims<b, t>>):
  %4 = graph.reshape %0 : (tensor<?x?x512xf32, #graph.dims<b, s, 512>>) -> tensor<?x?x8x64xf32, #graph.dims<b, s, 8, 64>>
  %5 = graph.transpose %4 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<?x?x8x64xf32, #graph.dims<b, s, 8, 64>>) -> tensor<?x8x?x64xf32, #graph.dims<b, 8, s, 64>>
  %6 = graph.attention %5, %1, %2, %3 {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>, scale = 0.125 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<?x8x?x64xf32, #graph.dims<b, 8, s, 64>>, tensor<?x4x?x64xf32, #graph.dims<b, 4, t, 64>>, tensor<?x4x?x64xf32, #graph.dims<b, 4, t, 64>>, tensor<?x?xi1, #graph.dims<b, t>>) -> tensor<?x8x?x64xf32, #graph.dims<b, 8, s, 64>>
  %7 = graph.transpose %6 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<?x8x?x64xf32, #graph.dims<b, 8, s, 64>>) -> tensor<?x?x8x64xf32, #graph.dims<b, s, 8, 64>>
  kernel.yield %7 : tensor<?x?x8x64xf32, #graph.dims<b, s, 8, 64>>
}

// -----

// Rounding to bf16 and back belongs to the kernel; it takes what levels with
// AMX need of scratch memory.

// CHECK: kernel.func @rounded {{.*}} schedule "Attention"
kernel.func @rounded symbols ["s"] layouts ["", "", ""] schedule "Generic" geometry <1, 1, 0> {
^bb0(%0: tensor<1x1x?x16xf32, #graph.dims<1, 1, s, 16>>, %1: tensor<1x1x?x16xf32, #graph.dims<1, 1, s, 16>>, %2: tensor<1x1x?x16xf32, #graph.dims<1, 1, s, 16>>):
  %3 = graph.cast %0 : (tensor<1x1x?x16xf32, #graph.dims<1, 1, s, 16>>) -> tensor<1x1x?x16xbf16, #graph.dims<1, 1, s, 16>>
  %4 = graph.cast %3 : (tensor<1x1x?x16xbf16, #graph.dims<1, 1, s, 16>>) -> tensor<1x1x?x16xf32, #graph.dims<1, 1, s, 16>>
  %5 = graph.cast %1 : (tensor<1x1x?x16xf32, #graph.dims<1, 1, s, 16>>) -> tensor<1x1x?x16xbf16, #graph.dims<1, 1, s, 16>>
  %6 = graph.cast %5 : (tensor<1x1x?x16xbf16, #graph.dims<1, 1, s, 16>>) -> tensor<1x1x?x16xf32, #graph.dims<1, 1, s, 16>>
  %7 = graph.cast %2 : (tensor<1x1x?x16xf32, #graph.dims<1, 1, s, 16>>) -> tensor<1x1x?x16xbf16, #graph.dims<1, 1, s, 16>>
  %8 = graph.cast %7 : (tensor<1x1x?x16xbf16, #graph.dims<1, 1, s, 16>>) -> tensor<1x1x?x16xf32, #graph.dims<1, 1, s, 16>>
  %9 = graph.attention %4, %6, %8 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.125 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x1x?x16xf32, #graph.dims<1, 1, s, 16>>, tensor<1x1x?x16xf32, #graph.dims<1, 1, s, 16>>, tensor<1x1x?x16xf32, #graph.dims<1, 1, s, 16>>) -> tensor<1x1x?x16xf32, #graph.dims<1, 1, s, 16>>
  kernel.yield %9 : tensor<1x1x?x16xf32, #graph.dims<1, 1, s, 16>>
}

// -----

// Every refusal says why.

// CHECK: kernel.func @half {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by Attention: its operands are not f32}}
kernel.func @half symbols ["s"] layouts ["", "", ""] schedule "Generic" geometry <1, 1, 0> {
^bb0(%0: tensor<1x1x?x16xf16, #graph.dims<1, 1, s, 16>>, %1: tensor<1x1x?x16xf16, #graph.dims<1, 1, s, 16>>, %2: tensor<1x1x?x16xf16, #graph.dims<1, 1, s, 16>>):
  %3 = graph.attention %0, %1, %2 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.125 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x1x?x16xf16, #graph.dims<1, 1, s, 16>>, tensor<1x1x?x16xf16, #graph.dims<1, 1, s, 16>>, tensor<1x1x?x16xf16, #graph.dims<1, 1, s, 16>>) -> tensor<1x1x?x16xf16, #graph.dims<1, 1, s, 16>>
  kernel.yield %3 : tensor<1x1x?x16xf16, #graph.dims<1, 1, s, 16>>
}
// CHECK: kernel.func @narrow {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by Attention: the head sizes are no numbers from 8 to 1024}}
kernel.func @narrow symbols ["s"] layouts ["", "", ""] schedule "Generic" geometry <1, 1, 0> {
^bb0(%0: tensor<1x1x?x4xf32, #graph.dims<1, 1, s, 4>>, %1: tensor<1x1x?x4xf32, #graph.dims<1, 1, s, 4>>, %2: tensor<1x1x?x4xf32, #graph.dims<1, 1, s, 4>>):
  %3 = graph.attention %0, %1, %2 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.125 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x1x?x4xf32, #graph.dims<1, 1, s, 4>>, tensor<1x1x?x4xf32, #graph.dims<1, 1, s, 4>>, tensor<1x1x?x4xf32, #graph.dims<1, 1, s, 4>>) -> tensor<1x1x?x4xf32, #graph.dims<1, 1, s, 4>>
  kernel.yield %3 : tensor<1x1x?x4xf32, #graph.dims<1, 1, s, 4>>
}
// CHECK: kernel.func @computed {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by Attention: query, key or value is computed in the kernel}}
kernel.func @computed symbols ["s"] layouts ["", "", ""] schedule "Generic" geometry <1, 1, 0> {
^bb0(%0: tensor<1x1x?x16xf32, #graph.dims<1, 1, s, 16>>, %1: tensor<1x1x?x16xf32, #graph.dims<1, 1, s, 16>>, %2: tensor<1x1x?x16xf32, #graph.dims<1, 1, s, 16>>):
  %3 = graph.exp %0 : (tensor<1x1x?x16xf32, #graph.dims<1, 1, s, 16>>) -> tensor<1x1x?x16xf32, #graph.dims<1, 1, s, 16>>
  %4 = graph.attention %3, %1, %2 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.125 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x1x?x16xf32, #graph.dims<1, 1, s, 16>>, tensor<1x1x?x16xf32, #graph.dims<1, 1, s, 16>>, tensor<1x1x?x16xf32, #graph.dims<1, 1, s, 16>>) -> tensor<1x1x?x16xf32, #graph.dims<1, 1, s, 16>>
  kernel.yield %4 : tensor<1x1x?x16xf32, #graph.dims<1, 1, s, 16>>
}
