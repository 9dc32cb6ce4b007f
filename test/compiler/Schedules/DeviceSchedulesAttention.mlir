// RUN: tenon-opt %s --apply-schedules="target=cuda explain=true without=AttentionMmaTall" --split-input-file --verify-diagnostics | FileCheck %s

// Attention of f32 runs by tiles of 64 queries of the heads that share keys, or
// of 8 where there are no more; keys are cut in pieces where that makes few
// blocks, by the sizes alone.

// CHECK: kernel.func @seen {{.*}} schedule "AttentionRows" geometry <
// CHECK-SAME: floordiv(t, 128)
// CHECK-SAME: otherwise = @seen_else1
// CHECK: kernel.func @seen_else1 {{.*}} schedule "AttentionSimt" geometry <
// CHECK-SAME: floordiv(2 * s + 63, 64)
// CHECK-SAME: floordiv(t, 128)
// expected-remark@+1 {{by AttentionMma: its operands are neither bf16 nor f16}}
kernel.func @seen symbols ["b", "s", "t"] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<?x?x512xf32, #graph.dims<b, s, 512>>, %1: tensor<?x4x?x64xf32, #graph.dims<b, 4, t, 64>>, %2: tensor<?x4x?x64xf32, #graph.dims<b, 4, t, 64>>):
  %4 = graph.reshape %0 : (tensor<?x?x512xf32, #graph.dims<b, s, 512>>) -> tensor<?x?x8x64xf32, #graph.dims<b, s, 8, 64>>
  %5 = graph.transpose %4 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<?x?x8x64xf32, #graph.dims<b, s, 8, 64>>) -> tensor<?x8x?x64xf32, #graph.dims<b, 8, s, 64>>
  %6 = graph.attention %5, %1, %2 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.125 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<?x8x?x64xf32, #graph.dims<b, 8, s, 64>>, tensor<?x4x?x64xf32, #graph.dims<b, 4, t, 64>>, tensor<?x4x?x64xf32, #graph.dims<b, 4, t, 64>>) -> tensor<?x8x?x64xf32, #graph.dims<b, 8, s, 64>>
  %7 = graph.transpose %6 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<?x8x?x64xf32, #graph.dims<b, 8, s, 64>>) -> tensor<?x?x8x64xf32, #graph.dims<b, s, 8, 64>>
  kernel.yield %7 : tensor<?x?x8x64xf32, #graph.dims<b, s, 8, 64>>
}

// -----

// Operands of 16 bits, widened or not, go to the matrix instructions; few keys
// stay together.

// CHECK: kernel.func @widened {{.*}} schedule "AttentionMma" geometry <4, 1, 0>
kernel.func @widened symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x2x100x64xbf16>, %1: tensor<1x2x100x64xbf16>, %2: tensor<1x2x100x64xbf16>):
  %3 = graph.cast %0 : (tensor<1x2x100x64xbf16>) -> tensor<1x2x100x64xf32>
  %4 = graph.cast %1 : (tensor<1x2x100x64xbf16>) -> tensor<1x2x100x64xf32>
  %5 = graph.cast %2 : (tensor<1x2x100x64xbf16>) -> tensor<1x2x100x64xf32>
  %6 = graph.attention %3, %4, %5 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.125 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x100x64xf32>, tensor<1x2x100x64xf32>, tensor<1x2x100x64xf32>) -> tensor<1x2x100x64xf32>
  kernel.yield %6 : tensor<1x2x100x64xf32>
}

// -----

// So do caches of f32 that are rounded in the kernel, at any number of queries;
// what follows the attention does not matter.

// CHECK: kernel.func @cache {{.*}} schedule "AttentionMma" geometry <
// CHECK-NOT: otherwise
kernel.func @cache symbols ["s", "t"] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x2x?x64xbf16, #graph.dims<1, 2, s, 64>>, %1: tensor<1x2x?x64xf32, #graph.dims<1, 2, t, 64>>, %2: tensor<1x2x?x64xf32, #graph.dims<1, 2, t, 64>>):
  %3 = graph.cast %0 : (tensor<1x2x?x64xbf16, #graph.dims<1, 2, s, 64>>) -> tensor<1x2x?x64xf32, #graph.dims<1, 2, s, 64>>
  %4 = graph.cast %1 : (tensor<1x2x?x64xf32, #graph.dims<1, 2, t, 64>>) -> tensor<1x2x?x64xbf16, #graph.dims<1, 2, t, 64>>
  %5 = graph.cast %4 : (tensor<1x2x?x64xbf16, #graph.dims<1, 2, t, 64>>) -> tensor<1x2x?x64xf32, #graph.dims<1, 2, t, 64>>
  %6 = graph.cast %2 : (tensor<1x2x?x64xf32, #graph.dims<1, 2, t, 64>>) -> tensor<1x2x?x64xbf16, #graph.dims<1, 2, t, 64>>
  %7 = graph.cast %6 : (tensor<1x2x?x64xbf16, #graph.dims<1, 2, t, 64>>) -> tensor<1x2x?x64xf32, #graph.dims<1, 2, t, 64>>
  %8 = graph.attention %3, %5, %7 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.125 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x?x64xf32, #graph.dims<1, 2, s, 64>>, tensor<1x2x?x64xf32, #graph.dims<1, 2, t, 64>>, tensor<1x2x?x64xf32, #graph.dims<1, 2, t, 64>>) -> tensor<1x2x?x64xf32, #graph.dims<1, 2, s, 64>>
  %9 = graph.cast %8 : (tensor<1x2x?x64xf32, #graph.dims<1, 2, s, 64>>) -> tensor<1x2x?x64xbf16, #graph.dims<1, 2, s, 64>>
  kernel.yield %9 : tensor<1x2x?x64xbf16, #graph.dims<1, 2, s, 64>>
}

// -----

// One query, known beforehand, has no other kernel; many have none for few.

// CHECK: kernel.func @one {{.*}} schedule "AttentionRows" geometry <2, 1, 0>
// CHECK-NOT: otherwise
// CHECK: kernel.func @many {{.*}} schedule "AttentionSimt" geometry <4, 1, 0>
// CHECK-NOT: otherwise
// expected-remark@+1 {{by AttentionMma: its operands are neither bf16 nor f16}}
kernel.func @one symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x2x1x64xf32>, %1: tensor<1x2x100x64xf32>, %2: tensor<1x2x100x64xf32>):
  %6 = graph.attention %0, %1, %2 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.125 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x1x64xf32>, tensor<1x2x100x64xf32>, tensor<1x2x100x64xf32>) -> tensor<1x2x1x64xf32>
  kernel.yield %6 : tensor<1x2x1x64xf32>
}
// expected-remark@+2 {{by AttentionMma: its operands are neither bf16 nor f16}}
// expected-remark@+1 {{by AttentionRows: it has too many queries to take a few at a time}}
kernel.func @many symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x2x100x64xf32>, %1: tensor<1x2x100x64xf32>, %2: tensor<1x2x100x64xf32>):
  %6 = graph.attention %0, %1, %2 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.125 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x100x64xf32>, tensor<1x2x100x64xf32>, tensor<1x2x100x64xf32>) -> tensor<1x2x100x64xf32>
  kernel.yield %6 : tensor<1x2x100x64xf32>
}

// -----

// Every refusal says why.

// CHECK: kernel.func @mixed {{.*}} schedule "Generic"
// expected-remark@+3 {{by AttentionMma: its operands are of several types}}
// expected-remark@+2 {{by AttentionRows: its operands are not f32}}
// expected-remark@+1 {{by AttentionSimt: its operands are not f32}}
kernel.func @mixed symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x2x100x64xbf16>, %1: tensor<1x2x100x64xf32>, %2: tensor<1x2x100x64xf32>):
  %3 = graph.cast %0 : (tensor<1x2x100x64xbf16>) -> tensor<1x2x100x64xf32>
  %6 = graph.attention %3, %1, %2 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.125 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x100x64xf32>, tensor<1x2x100x64xf32>, tensor<1x2x100x64xf32>) -> tensor<1x2x100x64xf32>
  kernel.yield %6 : tensor<1x2x100x64xf32>
}

// -----

// CHECK: kernel.func @narrow {{.*}} schedule "Generic"
// expected-remark@+3 {{by AttentionMma: the head sizes are no numbers from 8 to 256}}
// expected-remark@+2 {{by AttentionRows: the head sizes are no numbers from 8 to 256}}
// expected-remark@+1 {{by AttentionSimt: the head sizes are no numbers from 8 to 256}}
kernel.func @narrow symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x1x9x4xf32>, %1: tensor<1x1x9x4xf32>, %2: tensor<1x1x9x4xf32>):
  %3 = graph.attention %0, %1, %2 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.125 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x1x9x4xf32>, tensor<1x1x9x4xf32>, tensor<1x1x9x4xf32>) -> tensor<1x1x9x4xf32>
  kernel.yield %3 : tensor<1x1x9x4xf32>
}

// -----

// CHECK: kernel.func @computed {{.*}} schedule "Generic"
// expected-remark@+3 {{by AttentionMma: query, key or value is computed in the kernel}}
// expected-remark@+2 {{by AttentionRows: query, key or value is computed in the kernel}}
// expected-remark@+1 {{by AttentionSimt: query, key or value is computed in the kernel}}
kernel.func @computed symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x1x9x16xf32>, %1: tensor<1x1x9x16xf32>, %2: tensor<1x1x9x16xf32>):
  %3 = graph.exp %0 : (tensor<1x1x9x16xf32>) -> tensor<1x1x9x16xf32>
  %4 = graph.attention %3, %1, %2 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.125 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x1x9x16xf32>, tensor<1x1x9x16xf32>, tensor<1x1x9x16xf32>) -> tensor<1x1x9x16xf32>
  kernel.yield %4 : tensor<1x1x9x16xf32>
}

// -----

// CHECK: kernel.func @scattered {{.*}} schedule "Generic"
// expected-remark@+3 {{by AttentionMma: the heads' last axis is not contiguous}}
// expected-remark@+2 {{by AttentionRows: the heads' last axis is not contiguous}}
// expected-remark@+1 {{by AttentionSimt: the heads' last axis is not contiguous}}
kernel.func @scattered symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x1x9x16xf32>, %1: tensor<1x1x16x9xf32>, %2: tensor<1x1x9x16xf32>):
  %3 = graph.transpose %1 {permutation = array<i64: 0, 1, 3, 2>} : (tensor<1x1x16x9xf32>) -> tensor<1x1x9x16xf32>
  %4 = graph.attention %0, %3, %2 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.125 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x1x9x16xf32>, tensor<1x1x9x16xf32>, tensor<1x1x9x16xf32>) -> tensor<1x1x9x16xf32>
  kernel.yield %4 : tensor<1x1x9x16xf32>
}
