// RUN: tenon-opt %s --apply-schedules="target=cuda explain=true" --split-input-file --verify-diagnostics | FileCheck %s

// Of 16 bits and many queries, tiles are of 128 queries; where the number of
// queries is a symbol, there are tiles of 64 as well, for when they are few.

// CHECK: kernel.func @many {{.*}} schedule "AttentionMmaTall" geometry <128, 1, 0>
// CHECK: kernel.func @some {{.*}} schedule "AttentionMmaTall" geometry <
// CHECK-SAME: floordiv(s + 127, 128)
// CHECK-SAME: otherwise = @some_else1
// CHECK: kernel.func @some_else1 {{.*}} schedule "AttentionMma" geometry <
// CHECK-SAME: floordiv(s + 63, 64)
kernel.func @many symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x16x1024x64xbf16>, %1: tensor<1x16x64x64xbf16>, %2: tensor<1x16x64x64xbf16>):
  %3 = graph.cast %0 : (tensor<1x16x1024x64xbf16>) -> tensor<1x16x1024x64xf32>
  %4 = graph.cast %1 : (tensor<1x16x64x64xbf16>) -> tensor<1x16x64x64xf32>
  %5 = graph.cast %2 : (tensor<1x16x64x64xbf16>) -> tensor<1x16x64x64xf32>
  %6 = graph.attention %3, %4, %5 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.125 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x16x1024x64xf32>, tensor<1x16x64x64xf32>, tensor<1x16x64x64xf32>) -> tensor<1x16x1024x64xf32>
  kernel.yield %6 : tensor<1x16x1024x64xf32>
}
kernel.func @some symbols ["s"] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x16x?x64xbf16, #graph.dims<1, 16, s, 64>>, %1: tensor<1x16x64x64xbf16>, %2: tensor<1x16x64x64xbf16>):
  %3 = graph.cast %0 : (tensor<1x16x?x64xbf16, #graph.dims<1, 16, s, 64>>) -> tensor<1x16x?x64xf32, #graph.dims<1, 16, s, 64>>
  %4 = graph.cast %1 : (tensor<1x16x64x64xbf16>) -> tensor<1x16x64x64xf32>
  %5 = graph.cast %2 : (tensor<1x16x64x64xbf16>) -> tensor<1x16x64x64xf32>
  %6 = graph.attention %3, %4, %5 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.125 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x16x?x64xf32, #graph.dims<1, 16, s, 64>>, tensor<1x16x64x64xf32>, tensor<1x16x64x64xf32>) -> tensor<1x16x?x64xf32, #graph.dims<1, 16, s, 64>>
  kernel.yield %6 : tensor<1x16x?x64xf32, #graph.dims<1, 16, s, 64>>
}

// -----

// Fewer tiles than a large device has multiprocessors are not tall.

// CHECK: kernel.func @few {{.*}} schedule "AttentionMma" geometry <
// expected-remark@+1 {{by AttentionMmaTall: it has too few queries for tall tiles}}
kernel.func @few symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x2x100x64xbf16>, %1: tensor<1x2x100x64xbf16>, %2: tensor<1x2x100x64xbf16>):
  %3 = graph.cast %0 : (tensor<1x2x100x64xbf16>) -> tensor<1x2x100x64xf32>
  %4 = graph.cast %1 : (tensor<1x2x100x64xbf16>) -> tensor<1x2x100x64xf32>
  %5 = graph.cast %2 : (tensor<1x2x100x64xbf16>) -> tensor<1x2x100x64xf32>
  %6 = graph.attention %3, %4, %5 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.125 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x100x64xf32>, tensor<1x2x100x64xf32>, tensor<1x2x100x64xf32>) -> tensor<1x2x100x64xf32>
  kernel.yield %6 : tensor<1x2x100x64xf32>
}

// -----

// Wide heads leave no registers for it.

// CHECK: kernel.func @wide {{.*}} schedule "AttentionMma" geometry <
// expected-remark@+1 {{by AttentionMmaTall: its heads are wider than 128}}
kernel.func @wide symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x16x1024x256xbf16>, %1: tensor<1x16x64x256xbf16>, %2: tensor<1x16x64x256xbf16>):
  %3 = graph.cast %0 : (tensor<1x16x1024x256xbf16>) -> tensor<1x16x1024x256xf32>
  %4 = graph.cast %1 : (tensor<1x16x64x256xbf16>) -> tensor<1x16x64x256xf32>
  %5 = graph.cast %2 : (tensor<1x16x64x256xbf16>) -> tensor<1x16x64x256xf32>
  %6 = graph.attention %3, %4, %5 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.0625 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x16x1024x256xf32>, tensor<1x16x64x256xf32>, tensor<1x16x64x256xf32>) -> tensor<1x16x1024x256xf32>
  kernel.yield %6 : tensor<1x16x1024x256xf32>
}
