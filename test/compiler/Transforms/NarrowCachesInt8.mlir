// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --narrow-caches="type=int8 explain=true" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: tenon-opt %s --narrow-caches="type=int8 target=cuda explain=true" --split-input-file --verify-diagnostics | FileCheck %s

// Bytes, and behind all inputs and outputs a scale for each row, which moves as
// rows do. Where rows are rounded before, what they were rounded from is read.

// CHECK-LABEL: func.func @caches
// CHECK-SAME:  %arg0: tensor<1x2x?x8xi8, #graph.dims<1, 2, room0, 8>> {graph.dims = #graph.dims<1, 2, P, 8>, graph.name = "past"}
// CHECK-SAME:  %arg1: tensor<1x?x2x8xi8
// CHECK-SAME:  %arg5: tensor<1x2x?xf32, #graph.dims<1, 2, room4>> {graph.dims = #graph.dims<1, 2, P>, graph.name = "past.scale"}
// CHECK-SAME:  %arg6: tensor<1x?x2xf32, #graph.dims<1, room6, 2>> {graph.dims = #graph.dims<1, P, 2>}
// CHECK-SAME:  -> (tensor<1x2x?x8xi8
// CHECK-SAME:  tensor<1x2x?xf32, #graph.dims<1, 2, room5>> {graph.appends_to = 5 : i64, graph.dims = #graph.dims<1, 2, P + 1>, graph.name = "present.scale"}
// CHECK-SAME:  tensor<1x?x2xf32, #graph.dims<1, room7, 2>> {graph.appends_to = 6 : i64
func.func @caches(%k: tensor<1x2x?x8xf32, #graph.dims<1, 2, room0, 8>> {graph.dims = #graph.dims<1, 2, P, 8>, graph.name = "past"}, %v: tensor<1x?x2x8xf32, #graph.dims<1, room2, 2, 8>> {graph.dims = #graph.dims<1, P, 2, 8>}, %q: tensor<1x2x1x8xf32>, %r: tensor<1x2x1x8xf32>, %w: tensor<1x1x2x8xf32>)
    -> (tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>> {graph.appends_to = 0 : i64, graph.dims = #graph.dims<1, 2, P + 1, 8>, graph.name = "present"}, tensor<1x?x2x8xf32, #graph.dims<1, room3, 2, 8>> {graph.appends_to = 1 : i64, graph.dims = #graph.dims<1, P + 1, 2, 8>}, tensor<1x2x1x8xf32>) {
  // CHECK:      %[[SIZE:.*]] = graph.abs %arg3
  // CHECK-NEXT: %[[MOST:.*]] = graph.reduce %[[SIZE]] {axes = array<i64: 3>, kind = #graph<reduce_kind max>}
  // CHECK:      %[[LARGEST:.*]] = graph.max %[[MOST]]
  // CHECK:      %[[SCALE:.*]] = graph.div %[[LARGEST]]
  // CHECK:      %[[ROWS:.*]] = graph.quantize %arg3, %[[SCALE]], {{.*}} -> tensor<1x2x1x8xi8>
  // CHECK:      %[[EACH:.*]] = graph.reshape %[[SCALE]] : (tensor<1x2x1x1xf32>) -> tensor<1x2x1xf32>
  // CHECK-NEXT: %[[SCALES:.*]] = graph.append %arg5, %[[EACH]] {axis = 2 : i64, length = #graph.dims<P>}
  // CHECK-NEXT: %[[KEYS:.*]] = graph.append %arg0, %[[ROWS]]
  // CHECK-NEXT: %[[HELD:.*]] = graph.slice %[[SCALES]] {starts = #graph.dims<0, 0, 0>
  // CHECK-NEXT: %[[COLUMN:.*]] = graph.reshape %[[HELD]] {{.*}} -> tensor<1x2x?x1xf32
  // CHECK-NEXT: %[[BYTES:.*]] = graph.slice %[[KEYS]]
  // CHECK:      %[[KEY:.*]] = graph.dequantize %[[BYTES]], %[[COLUMN]],
  // CHECK:      %[[VALUES:.*]] = graph.append %arg1
  // CHECK:      %[[TURNED:.*]] = graph.transpose {{.*}} -> tensor<1x2x?x1xf32
  // CHECK-NEXT: %[[MOVED:.*]] = graph.transpose {{.*}} -> tensor<1x2x?x8xi8
  // CHECK:      %[[VALUE:.*]] = graph.dequantize %[[MOVED]], %[[TURNED]],
  // CHECK:      %[[ROUNDED:.*]] = graph.cast %[[VALUE]] : {{.*}} -> tensor<1x2x?x8xbf16
  // CHECK-NEXT: %[[WIDE:.*]] = graph.cast %[[ROUNDED]]
  // CHECK-NEXT: %[[Y:.*]] = graph.attention %arg2, %[[KEY]], %[[WIDE]]
  // CHECK-NEXT: return %[[KEYS]], %[[VALUES]], %[[Y]], %[[SCALES]], %{{.*}}
  %0 = graph.append %k, %r {axis = 2 : i64, length = #graph.dims<P>} : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room0, 8>>, tensor<1x2x1x8xf32>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>
  %1 = graph.slice %0 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
  %2 = graph.append %v, %w {axis = 1 : i64, length = #graph.dims<P>} : (tensor<1x?x2x8xf32, #graph.dims<1, room2, 2, 8>>, tensor<1x1x2x8xf32>) -> tensor<1x?x2x8xf32, #graph.dims<1, room3, 2, 8>>
  %3 = graph.slice %2 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x?x2x8xf32, #graph.dims<1, room3, 2, 8>>) -> tensor<1x?x2x8xf32, #graph.dims<1, P + 1, 2, 8>>
  %4 = graph.transpose %3 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x?x2x8xf32, #graph.dims<1, P + 1, 2, 8>>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
  %5 = graph.cast %4 : (tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>) -> tensor<1x2x?x8xbf16, #graph.dims<1, 2, P + 1, 8>>
  %6 = graph.cast %5 : (tensor<1x2x?x8xbf16, #graph.dims<1, 2, P + 1, 8>>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
  %7 = graph.attention %q, %1, %6 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x1x8xf32>, tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>, tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>) -> tensor<1x2x1x8xf32>
  return %0, %2, %7 : tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>, tensor<1x?x2x8xf32, #graph.dims<1, room3, 2, 8>>, tensor<1x2x1x8xf32>
}

// -----

// Heads that are parts of a row have no scale of their own: that cache stays
// beside one that does not.

// CHECK-LABEL: func.func @parts
// CHECK-SAME:  %arg0: tensor<1x?x16xf32
// CHECK-SAME:  %arg1: tensor<1x2x?x8xi8
func.func @parts(%k: tensor<1x?x16xf32, #graph.dims<1, room2, 16>> {graph.dims = #graph.dims<1, P, 16>}, %v: tensor<1x2x?x8xf32, #graph.dims<1, 2, room0, 8>> {graph.dims = #graph.dims<1, 2, P, 8>}, %q: tensor<1x2x1x8xf32>, %r: tensor<1x1x16xf32>, %w: tensor<1x2x1x8xf32>)
    -> (tensor<1x?x16xf32, #graph.dims<1, room3, 16>> {graph.appends_to = 0 : i64, graph.dims = #graph.dims<1, P + 1, 16>}, tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>> {graph.appends_to = 1 : i64, graph.dims = #graph.dims<1, 2, P + 1, 8>}, tensor<1x2x1x8xf32>) {
  // expected-remark @+1 {{cache input 0 stays: its rows, which share a scale, are taken apart by 'graph.reshape'}}
  %0 = graph.append %k, %r {axis = 1 : i64, length = #graph.dims<P>} : (tensor<1x?x16xf32, #graph.dims<1, room2, 16>>, tensor<1x1x16xf32>) -> tensor<1x?x16xf32, #graph.dims<1, room3, 16>>
  %1 = graph.slice %0 {starts = #graph.dims<0, 0, 0>, steps = #graph.dims<1, 1, 1>} : (tensor<1x?x16xf32, #graph.dims<1, room3, 16>>) -> tensor<1x?x16xf32, #graph.dims<1, P + 1, 16>>
  %2 = graph.reshape %1 : (tensor<1x?x16xf32, #graph.dims<1, P + 1, 16>>) -> tensor<1x?x2x8xf32, #graph.dims<1, P + 1, 2, 8>>
  %3 = graph.transpose %2 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x?x2x8xf32, #graph.dims<1, P + 1, 2, 8>>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
  %4 = graph.append %v, %w {axis = 2 : i64, length = #graph.dims<P>} : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room0, 8>>, tensor<1x2x1x8xf32>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>
  %5 = graph.slice %4 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
  %6 = graph.attention %q, %3, %5 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x1x8xf32>, tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>, tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>) -> tensor<1x2x1x8xf32>
  return %0, %4, %6 : tensor<1x?x16xf32, #graph.dims<1, room3, 16>>, tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>, tensor<1x2x1x8xf32>
}

// -----

// Readers get the type that they had.

// CHECK-LABEL: func.func @halves
// CHECK-SAME:  %arg0: tensor<1x2x?x8xi8
func.func @halves(%k: tensor<1x2x?x8xf16, #graph.dims<1, 2, room0, 8>> {graph.dims = #graph.dims<1, 2, P, 8>}, %q: tensor<1x2x1x8xf16>, %r: tensor<1x2x1x8xf16>)
    -> (tensor<1x2x?x8xf16, #graph.dims<1, 2, room1, 8>> {graph.appends_to = 0 : i64, graph.dims = #graph.dims<1, 2, P + 1, 8>}, tensor<1x2x1x8xf16>) {
  // CHECK:      %[[WIDE:.*]] = graph.dequantize {{.*}} -> tensor<1x2x?x8xf32
  // CHECK-NEXT: %[[KEY:.*]] = graph.cast %[[WIDE]] : {{.*}} -> tensor<1x2x?x8xf16
  // CHECK:      graph.attention %arg1, %[[KEY]],
  %0 = graph.append %k, %r {axis = 2 : i64, length = #graph.dims<P>} : (tensor<1x2x?x8xf16, #graph.dims<1, 2, room0, 8>>, tensor<1x2x1x8xf16>) -> tensor<1x2x?x8xf16, #graph.dims<1, 2, room1, 8>>
  %2 = graph.slice %0 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x2x?x8xf16, #graph.dims<1, 2, room1, 8>>) -> tensor<1x2x?x8xf16, #graph.dims<1, 2, P + 1, 8>>
  %4 = graph.attention %q, %2, %2 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x1x8xf16>, tensor<1x2x?x8xf16, #graph.dims<1, 2, P + 1, 8>>, tensor<1x2x?x8xf16, #graph.dims<1, 2, P + 1, 8>>) -> tensor<1x2x1x8xf16>
  return %0, %4 : tensor<1x2x?x8xf16, #graph.dims<1, 2, room1, 8>>, tensor<1x2x1x8xf16>
}
