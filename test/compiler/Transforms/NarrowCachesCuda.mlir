// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --narrow-caches="type=f16 target=cuda" --split-input-file --verify-diagnostics | FileCheck %s

// Where no cache can be narrowed, that is the user's mistake.

// expected-error @unknown {{no cache can be kept in f16: no input comes back with rows behind it}}
func.func @no_cache(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @unknown {{no cache can be kept in f16: 'past': 'graph.tanh' reads it, and attention alone widens what it reads}}
func.func @read(%k: tensor<1x2x?x8xf32, #graph.dims<1, 2, room0, 8>> {graph.dims = #graph.dims<1, 2, P, 8>, graph.name = "past"}, %r: tensor<1x2x1x8xf32>)
    -> (tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>> {graph.appends_to = 0 : i64, graph.dims = #graph.dims<1, 2, P + 1, 8>}, tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>) {
  %0 = graph.append %k, %r {axis = 2 : i64, length = #graph.dims<P>} : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room0, 8>>, tensor<1x2x1x8xf32>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>
  %1 = graph.slice %0 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
  %2 = graph.tanh %1 : (tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
  return %0, %2 : tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>, tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
}

// -----

// Queries are rounded to what devices multiply them by.

// CHECK-LABEL: func.func @queries
func.func @queries(%k: tensor<1x2x?x8xf32, #graph.dims<1, 2, room0, 8>> {graph.dims = #graph.dims<1, 2, P, 8>}, %x: tensor<1x2x1x8xf32>, %r: tensor<1x2x1x8xf32>)
    -> (tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>> {graph.appends_to = 0 : i64, graph.dims = #graph.dims<1, 2, P + 1, 8>}, tensor<1x2x1x8xf32>) {
  // CHECK:      %[[Q:.*]] = graph.tanh
  // CHECK-NEXT: %[[NARROW:.*]] = graph.cast %[[Q]] : (tensor<1x2x1x8xf32>) -> tensor<1x2x1x8xf16>
  // CHECK:      %[[KEY:.*]] = graph.cast %{{.*}} -> tensor<1x2x?x8xf32
  // CHECK-NEXT: %[[WIDE:.*]] = graph.cast %[[NARROW]] : (tensor<1x2x1x8xf16>) -> tensor<1x2x1x8xf32>
  // CHECK-NEXT: graph.attention %[[WIDE]], %[[KEY]], %[[KEY]]
  %q = graph.tanh %x : (tensor<1x2x1x8xf32>) -> tensor<1x2x1x8xf32>
  %0 = graph.append %k, %r {axis = 2 : i64, length = #graph.dims<P>} : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room0, 8>>, tensor<1x2x1x8xf32>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>
  %1 = graph.slice %0 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
  %4 = graph.attention %q, %1, %1 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x1x8xf32>, tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>, tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>) -> tensor<1x2x1x8xf32>
  return %0, %4 : tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>, tensor<1x2x1x8xf32>
}

// -----

// Devices multiply numbers of one type.

func.func @other_type(%k: tensor<1x2x?x8xf32, #graph.dims<1, 2, room0, 8>> {graph.dims = #graph.dims<1, 2, P, 8>}, %x: tensor<1x2x1x8xf32>, %r: tensor<1x2x1x8xf32>)
    -> (tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>> {graph.appends_to = 0 : i64, graph.dims = #graph.dims<1, 2, P + 1, 8>}, tensor<1x2x1x8xf32>) {
  %n = graph.cast %x : (tensor<1x2x1x8xf32>) -> tensor<1x2x1x8xbf16>
  %q = graph.cast %n : (tensor<1x2x1x8xbf16>) -> tensor<1x2x1x8xf32>
  // expected-error @+1 {{cache input 0 cannot be kept in f16 on CUDA, where keys are multiplied as they are: --precision has its attention multiply bf16; keep it in that}}
  %0 = graph.append %k, %r {axis = 2 : i64, length = #graph.dims<P>} : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room0, 8>>, tensor<1x2x1x8xf32>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>
  %1 = graph.slice %0 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
  %4 = graph.attention %q, %1, %1 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x1x8xf32>, tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>, tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>) -> tensor<1x2x1x8xf32>
  return %0, %4 : tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>, tensor<1x2x1x8xf32>
}

// -----

func.func @other_model(%k: tensor<1x2x?x8xbf16, #graph.dims<1, 2, room0, 8>> {graph.dims = #graph.dims<1, 2, P, 8>}, %q: tensor<1x2x1x8xbf16>, %r: tensor<1x2x1x8xbf16>)
    -> (tensor<1x2x?x8xbf16, #graph.dims<1, 2, room1, 8>> {graph.appends_to = 0 : i64, graph.dims = #graph.dims<1, 2, P + 1, 8>}, tensor<1x2x1x8xbf16>) {
  // expected-error @+1 {{the model's attention multiplies bf16; keep it in that}}
  %0 = graph.append %k, %r {axis = 2 : i64, length = #graph.dims<P>} : (tensor<1x2x?x8xbf16, #graph.dims<1, 2, room0, 8>>, tensor<1x2x1x8xbf16>) -> tensor<1x2x?x8xbf16, #graph.dims<1, 2, room1, 8>>
  %1 = graph.slice %0 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x2x?x8xbf16, #graph.dims<1, 2, room1, 8>>) -> tensor<1x2x?x8xbf16, #graph.dims<1, 2, P + 1, 8>>
  %4 = graph.attention %q, %1, %1 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x1x8xbf16>, tensor<1x2x?x8xbf16, #graph.dims<1, 2, P + 1, 8>>, tensor<1x2x?x8xbf16, #graph.dims<1, 2, P + 1, 8>>) -> tensor<1x2x1x8xbf16>
  return %0, %4 : tensor<1x2x?x8xbf16, #graph.dims<1, 2, room1, 8>>, tensor<1x2x1x8xbf16>
}

// -----

// CHECK-LABEL: func.func @given_queries
// CHECK: graph.cast %arg1 : (tensor<1x2x1x8xf32>) -> tensor<1x2x1x8xf16>
func.func @given_queries(%k: tensor<1x2x?x8xf32, #graph.dims<1, 2, room0, 8>> {graph.dims = #graph.dims<1, 2, P, 8>}, %q: tensor<1x2x1x8xf32>, %r: tensor<1x2x1x8xf32>)
    -> (tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>> {graph.appends_to = 0 : i64, graph.dims = #graph.dims<1, 2, P + 1, 8>}, tensor<1x2x1x8xf32>) {
  %0 = graph.append %k, %r {axis = 2 : i64, length = #graph.dims<P>} : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room0, 8>>, tensor<1x2x1x8xf32>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>
  %1 = graph.slice %0 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
  %4 = graph.attention %q, %1, %1 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x1x8xf32>, tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>, tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>) -> tensor<1x2x1x8xf32>
  return %0, %4 : tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>, tensor<1x2x1x8xf32>
}

// -----

// Caches that are f32 at the interface alone.

// CHECK-LABEL: func.func @interface
// CHECK:      %[[ROWS:.*]] = graph.cast %arg2 : (tensor<1x2x1x8xf32>) -> tensor<1x2x1x8xf16>
// CHECK-NEXT: graph.append %arg0, %[[ROWS]]
// CHECK-NEXT: %[[KEY:.*]] = graph.slice
// CHECK-NEXT: graph.attention %arg1, %[[KEY]], %[[KEY]]
func.func @interface(%k: tensor<1x2x?x8xf32, #graph.dims<1, 2, room0, 8>> {graph.dims = #graph.dims<1, 2, P, 8>}, %q: tensor<1x2x1x8xf16>, %r: tensor<1x2x1x8xf32>)
    -> (tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>> {graph.appends_to = 0 : i64, graph.dims = #graph.dims<1, 2, P + 1, 8>}, tensor<1x2x1x8xf16>) {
  %0 = graph.append %k, %r {axis = 2 : i64, length = #graph.dims<P>} : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room0, 8>>, tensor<1x2x1x8xf32>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>
  %1 = graph.slice %0 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
  %2 = graph.cast %1 : (tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>) -> tensor<1x2x?x8xf16, #graph.dims<1, 2, P + 1, 8>>
  %4 = graph.attention %q, %2, %2 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x1x8xf16>, tensor<1x2x?x8xf16, #graph.dims<1, 2, P + 1, 8>>, tensor<1x2x?x8xf16, #graph.dims<1, 2, P + 1, 8>>) -> tensor<1x2x1x8xf16>
  return %0, %4 : tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>, tensor<1x2x1x8xf16>
}

// -----

func.func @other_interface(%k: tensor<1x2x?x8xf32, #graph.dims<1, 2, room0, 8>> {graph.dims = #graph.dims<1, 2, P, 8>}, %q: tensor<1x2x1x8xbf16>, %r: tensor<1x2x1x8xf32>)
    -> (tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>> {graph.appends_to = 0 : i64, graph.dims = #graph.dims<1, 2, P + 1, 8>}, tensor<1x2x1x8xbf16>) {
  // expected-error @+1 {{the model's attention multiplies bf16; keep it in that}}
  %0 = graph.append %k, %r {axis = 2 : i64, length = #graph.dims<P>} : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room0, 8>>, tensor<1x2x1x8xf32>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>
  %1 = graph.slice %0 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
  %2 = graph.cast %1 : (tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>) -> tensor<1x2x?x8xbf16, #graph.dims<1, 2, P + 1, 8>>
  %4 = graph.attention %q, %2, %2 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x1x8xbf16>, tensor<1x2x?x8xbf16, #graph.dims<1, 2, P + 1, 8>>, tensor<1x2x?x8xbf16, #graph.dims<1, 2, P + 1, 8>>) -> tensor<1x2x1x8xbf16>
  return %0, %4 : tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>, tensor<1x2x1x8xbf16>
}
