// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --narrow-caches=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// Keys and values, also behind a view: new rows are rounded, what is read is
// widened last.

// CHECK-LABEL: func.func @caches
// CHECK-SAME:  %arg0: tensor<1x2x?x8xbf16, #graph.dims<1, 2, room0, 8>> {graph.dims = #graph.dims<1, 2, P, 8>}
// CHECK-SAME:  tensor<1x?x2x8xbf16, #graph.dims<1, room3, 2, 8>> {graph.appends_to = 1 : i64
func.func @caches(%k: tensor<1x2x?x8xf32, #graph.dims<1, 2, room0, 8>> {graph.dims = #graph.dims<1, 2, P, 8>}, %v: tensor<1x?x2x8xf32, #graph.dims<1, room2, 2, 8>> {graph.dims = #graph.dims<1, P, 2, 8>}, %x: tensor<1x2x1x8xf32>, %r: tensor<1x2x1x8xf32>, %w: tensor<1x1x2x8xf32>)
    -> (tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>> {graph.appends_to = 0 : i64, graph.dims = #graph.dims<1, 2, P + 1, 8>}, tensor<1x?x2x8xf32, #graph.dims<1, room3, 2, 8>> {graph.appends_to = 1 : i64, graph.dims = #graph.dims<1, P + 1, 2, 8>}, tensor<1x2x1x8xf32>) {
  // CHECK:      %[[Q:.*]] = graph.tanh %arg2
  // CHECK:      %[[ROWS:.*]] = graph.cast %arg3 : {{.*}} -> tensor<1x2x1x8xbf16>
  // CHECK-NEXT: %[[KEYS:.*]] = graph.append %arg0, %[[ROWS]]
  // CHECK-NEXT: %[[HELD:.*]] = graph.slice %[[KEYS]]
  // CHECK-NEXT: %[[KEY:.*]] = graph.cast %[[HELD]] : {{.*}} -> tensor<1x2x?x8xf32
  // CHECK:      %[[VALUES:.*]] = graph.append %arg1
  // CHECK:      %[[MOVED:.*]] = graph.transpose {{.*}} -> tensor<1x2x?x8xbf16
  // CHECK-NEXT: %[[VALUE:.*]] = graph.cast %[[MOVED]]
  // CHECK-NEXT: %[[Y:.*]] = graph.attention %[[Q]], %[[KEY]], %[[VALUE]]
  // CHECK-NEXT: return %[[KEYS]], %[[VALUES]], %[[Y]]
  %q = graph.tanh %x : (tensor<1x2x1x8xf32>) -> tensor<1x2x1x8xf32>
  %0 = graph.append %k, %r {axis = 2 : i64, length = #graph.dims<P>} : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room0, 8>>, tensor<1x2x1x8xf32>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>
  %1 = graph.slice %0 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
  %2 = graph.append %v, %w {axis = 1 : i64, length = #graph.dims<P>} : (tensor<1x?x2x8xf32, #graph.dims<1, room2, 2, 8>>, tensor<1x1x2x8xf32>) -> tensor<1x?x2x8xf32, #graph.dims<1, room3, 2, 8>>
  %3 = graph.slice %2 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x?x2x8xf32, #graph.dims<1, room3, 2, 8>>) -> tensor<1x?x2x8xf32, #graph.dims<1, P + 1, 2, 8>>
  %4 = graph.transpose %3 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x?x2x8xf32, #graph.dims<1, P + 1, 2, 8>>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
  %5 = graph.attention %q, %1, %4 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x1x8xf32>, tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>, tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>) -> tensor<1x2x1x8xf32>
  return %0, %2, %5 : tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>, tensor<1x?x2x8xf32, #graph.dims<1, room3, 2, 8>>, tensor<1x2x1x8xf32>
}

// -----

// What was rounded before it was appended, or read, is rounded once.

// CHECK-LABEL: func.func @rounded
func.func @rounded(%k: tensor<1x2x?x8xf32, #graph.dims<1, 2, room0, 8>> {graph.dims = #graph.dims<1, 2, P, 8>}, %x: tensor<1x2x1x8xf32>, %r: tensor<1x2x1x8xf32>)
    -> (tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>> {graph.appends_to = 0 : i64, graph.dims = #graph.dims<1, 2, P + 1, 8>}, tensor<1x2x1x8xf32>) {
  // CHECK:      %[[ROWS:.*]] = graph.cast %arg2
  // CHECK-NEXT: %[[KEYS:.*]] = graph.append %arg0, %[[ROWS]]
  // CHECK-NEXT: %[[HELD:.*]] = graph.slice %[[KEYS]]
  // CHECK-NEXT: %[[KEY:.*]] = graph.cast %[[HELD]]
  // CHECK-NEXT: graph.attention %{{.*}}, %[[KEY]], %[[KEY]]
  %n = graph.cast %x : (tensor<1x2x1x8xf32>) -> tensor<1x2x1x8xbf16>
  %q = graph.cast %n : (tensor<1x2x1x8xbf16>) -> tensor<1x2x1x8xf32>
  %0 = graph.append %k, %r {axis = 2 : i64, length = #graph.dims<P>} : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room0, 8>>, tensor<1x2x1x8xf32>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>
  %1 = graph.slice %0 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
  %2 = graph.cast %1 : (tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>) -> tensor<1x2x?x8xbf16, #graph.dims<1, 2, P + 1, 8>>
  %3 = graph.cast %2 : (tensor<1x2x?x8xbf16, #graph.dims<1, 2, P + 1, 8>>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
  %4 = graph.attention %q, %3, %3 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x1x8xf32>, tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>, tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>) -> tensor<1x2x1x8xf32>
  return %0, %4 : tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>, tensor<1x2x1x8xf32>
}

// -----

// A cache of f16, as CPUs read it.

// CHECK-LABEL: func.func @from_f16
// CHECK-SAME:  %arg0: tensor<1x2x?x8xbf16
func.func @from_f16(%k: tensor<1x2x?x8xf16, #graph.dims<1, 2, room0, 8>> {graph.dims = #graph.dims<1, 2, P, 8>}, %q: tensor<1x2x1x8xf32>, %r: tensor<1x2x1x8xf32>)
    -> (tensor<1x2x?x8xf16, #graph.dims<1, 2, room1, 8>> {graph.appends_to = 0 : i64, graph.dims = #graph.dims<1, 2, P + 1, 8>}, tensor<1x2x1x8xf32>) {
  // CHECK:      %[[ROWS:.*]] = graph.cast %arg2 : {{.*}} -> tensor<1x2x1x8xbf16>
  // CHECK-NEXT: graph.append %arg0, %[[ROWS]]
  // CHECK-NEXT: %[[HELD:.*]] = graph.slice
  // CHECK-NEXT: graph.cast %[[HELD]] : {{.*}} -> tensor<1x2x?x8xf32
  // CHECK-NEXT: graph.attention
  %n = graph.cast %r : (tensor<1x2x1x8xf32>) -> tensor<1x2x1x8xf16>
  %0 = graph.append %k, %n {axis = 2 : i64, length = #graph.dims<P>} : (tensor<1x2x?x8xf16, #graph.dims<1, 2, room0, 8>>, tensor<1x2x1x8xf16>) -> tensor<1x2x?x8xf16, #graph.dims<1, 2, room1, 8>>
  %1 = graph.slice %0 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x2x?x8xf16, #graph.dims<1, 2, room1, 8>>) -> tensor<1x2x?x8xf16, #graph.dims<1, 2, P + 1, 8>>
  %2 = graph.cast %1 : (tensor<1x2x?x8xf16, #graph.dims<1, 2, P + 1, 8>>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
  %3 = graph.attention %q, %2, %2 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x1x8xf32>, tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>, tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>) -> tensor<1x2x1x8xf32>
  return %0, %3 : tensor<1x2x?x8xf16, #graph.dims<1, 2, room1, 8>>, tensor<1x2x1x8xf32>
}

// -----

// A cache that something else reads, numbers, and keys whose elements lie apart
// stay beside one that does not.

// CHECK-LABEL: func.func @others
// CHECK-SAME:  %arg0: tensor<1x2x?x8xf32
// CHECK-SAME:  %arg1: tensor<1x2x?x8xbf16
// CHECK-SAME:  %arg2: tensor<1x2x8x?xf32
// CHECK-SAME:  %arg3: tensor<2x?xi64
func.func @others(%k: tensor<1x2x?x8xf32, #graph.dims<1, 2, room0, 8>> {graph.dims = #graph.dims<1, 2, P, 8>, graph.name = "past"}, %v: tensor<1x2x?x8xf32, #graph.dims<1, 2, room2, 8>> {graph.dims = #graph.dims<1, 2, P, 8>}, %t: tensor<1x2x8x?xf32, #graph.dims<1, 2, 8, room4>> {graph.dims = #graph.dims<1, 2, 8, P>}, %i: tensor<2x?xi64, #graph.dims<2, room6>> {graph.dims = #graph.dims<2, P>}, %q: tensor<1x2x1x8xf32>, %r: tensor<1x2x1x8xf32>, %s: tensor<1x2x8x1xf32>, %j: tensor<2x1xi64>)
    -> (tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>> {graph.appends_to = 0 : i64, graph.dims = #graph.dims<1, 2, P + 1, 8>}, tensor<1x2x?x8xf32, #graph.dims<1, 2, room3, 8>> {graph.appends_to = 1 : i64, graph.dims = #graph.dims<1, 2, P + 1, 8>}, tensor<1x2x8x?xf32, #graph.dims<1, 2, 8, room5>> {graph.appends_to = 2 : i64, graph.dims = #graph.dims<1, 2, 8, P + 1>}, tensor<2x?xi64, #graph.dims<2, room7>> {graph.appends_to = 3 : i64, graph.dims = #graph.dims<2, P + 1>}, tensor<1x2x1x8xf32>, tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>) {
  // expected-remark @+1 {{cache 'past' stays: 'graph.tanh' reads it, and attention alone widens what it reads}}
  %0 = graph.append %k, %r {axis = 2 : i64, length = #graph.dims<P>} : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room0, 8>>, tensor<1x2x1x8xf32>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>
  %1 = graph.slice %0 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
  %2 = graph.append %v, %r {axis = 2 : i64, length = #graph.dims<P>} : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room2, 8>>, tensor<1x2x1x8xf32>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, room3, 8>>
  %3 = graph.slice %2 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room3, 8>>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
  // expected-remark @+1 {{cache input 2 stays: the elements of a key or value do not lie together in it}}
  %4 = graph.append %t, %s {axis = 3 : i64, length = #graph.dims<P>} : (tensor<1x2x8x?xf32, #graph.dims<1, 2, 8, room4>>, tensor<1x2x8x1xf32>) -> tensor<1x2x8x?xf32, #graph.dims<1, 2, 8, room5>>
  %5 = graph.slice %4 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x2x8x?xf32, #graph.dims<1, 2, 8, room5>>) -> tensor<1x2x8x?xf32, #graph.dims<1, 2, 8, P + 1>>
  // expected-remark @+1 {{cache input 3 stays: it holds numbers of i64}}
  %6 = graph.append %i, %j {axis = 1 : i64, length = #graph.dims<P>} : (tensor<2x?xi64, #graph.dims<2, room6>>, tensor<2x1xi64>) -> tensor<2x?xi64, #graph.dims<2, room7>>
  %7 = graph.transpose %5 {permutation = array<i64: 0, 1, 3, 2>} : (tensor<1x2x8x?xf32, #graph.dims<1, 2, 8, P + 1>>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
  %8 = graph.tanh %1 : (tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
  %9 = graph.attention %q, %7, %3 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x1x8xf32>, tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>, tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>) -> tensor<1x2x1x8xf32>
  return %0, %2, %4, %6, %9, %8 : tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>, tensor<1x2x?x8xf32, #graph.dims<1, 2, room3, 8>>, tensor<1x2x8x?xf32, #graph.dims<1, 2, 8, room5>>, tensor<2x?xi64, #graph.dims<2, room7>>, tensor<1x2x1x8xf32>, tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
}
