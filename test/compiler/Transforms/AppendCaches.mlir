// RUN: tenon-opt %s --append-caches=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// A cache that goes out again with rows behind it, and a reader of all of it.

// CHECK-LABEL: func.func @cache
// CHECK-SAME: %arg0: tensor<?x2x?x8xf32, #graph.dims<B, 2, room0, 8>> {graph.dims = #graph.dims<B, 2, P, 8>, graph.name = "past"}
// CHECK-SAME: tensor<?x2x?x8xf32, #graph.dims<B, 2, room1, 8>> {graph.appends_to = 0 : i64, graph.dims = #graph.dims<B, 2, P + S, 8>, graph.name = "present"}
func.func @cache(%past: tensor<?x2x?x8xf32, #graph.dims<B, 2, P, 8>> {graph.name = "past"}, %k: tensor<?x2x?x8xf32, #graph.dims<B, 2, S, 8>>)
    -> (tensor<?x2x?x8xf32, #graph.dims<B, 2, P + S, 8>> {graph.name = "present"}, tensor<?x2x?x8xf32, #graph.dims<B, 2, P + S, 8>>) {
  // CHECK: %[[ALL:.*]] = graph.append %arg0, %arg1 {axis = 2 : i64, length = #graph.dims<P>} : {{.*}} -> tensor<?x2x?x8xf32, #graph.dims<B, 2, room1, 8>>
  // CHECK-NEXT: %[[HELD:.*]] = graph.slice %[[ALL]] {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : {{.*}} -> tensor<?x2x?x8xf32, #graph.dims<B, 2, P + S, 8>>
  // CHECK-NEXT: %[[OTHER:.*]] = graph.tanh %[[HELD]]
  // CHECK-NEXT: return %[[ALL]], %[[OTHER]]
  %0 = graph.concat %past, %k {axis = 2 : i64} : (tensor<?x2x?x8xf32, #graph.dims<B, 2, P, 8>>, tensor<?x2x?x8xf32, #graph.dims<B, 2, S, 8>>) -> tensor<?x2x?x8xf32, #graph.dims<B, 2, P + S, 8>>
  %1 = graph.tanh %0 : (tensor<?x2x?x8xf32, #graph.dims<B, 2, P + S, 8>>) -> tensor<?x2x?x8xf32, #graph.dims<B, 2, P + S, 8>>
  return %0, %1 : tensor<?x2x?x8xf32, #graph.dims<B, 2, P + S, 8>>, tensor<?x2x?x8xf32, #graph.dims<B, 2, P + S, 8>>
}

// -----

// Numbers grow too, along any axis, and a symbol of the model keeps its name.

// CHECK-LABEL: func.func @numbers
// CHECK-SAME: %arg0: tensor<2x?xi64, #graph.dims<2, room1>> {graph.dims = #graph.dims<2, 3>}
// CHECK-SAME: tensor<2x?xi64, #graph.dims<2, room2>> {graph.appends_to = 0 : i64, graph.dims = #graph.dims<2, room0 + 3>}
func.func @numbers(%past: tensor<2x3xi64>, %k: tensor<2x?xi64, #graph.dims<2, room0>>) -> tensor<2x?xi64, #graph.dims<2, room0 + 3>> {
  // CHECK: graph.append %arg0, %arg1 {axis = 1 : i64, length = #graph.dims<3>}
  // CHECK-NOT: graph.slice
  %0 = graph.concat %past, %k {axis = 1 : i64} : (tensor<2x3xi64>, tensor<2x?xi64, #graph.dims<2, room0>>) -> tensor<2x?xi64, #graph.dims<2, room0 + 3>>
  return %0 : tensor<2x?xi64, #graph.dims<2, room0 + 3>>
}

// -----

// The new rows come first.

// CHECK-LABEL: func.func @first
func.func @first(%past: tensor<2x3xf32>, %k: tensor<2x1xf32>) -> tensor<2x4xf32> {
  // CHECK-NOT: graph.append
  %0 = graph.tanh %k : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %1 = graph.concat %0, %past {axis = 1 : i64} : (tensor<2x1xf32>, tensor<2x3xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

// What came before is read as it was.

// CHECK-LABEL: func.func @read
func.func @read(%past: tensor<2x3xf32>, %k: tensor<2x1xf32>) -> (tensor<2x4xf32>, tensor<2x3xf32>) {
  // CHECK-NOT: graph.append
  // expected-remark @+1 {{no cache that grows where it lies: what came before is read elsewhere too}}
  %0 = graph.concat %past, %k {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %1 = graph.tanh %past : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0, %1 : tensor<2x4xf32>, tensor<2x3xf32>
}

// -----

// Two outputs would want the same memory.

// CHECK-LABEL: func.func @twice
func.func @twice(%past: tensor<2x3xf32>, %k: tensor<2x1xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  // CHECK-NOT: graph.append
  // expected-remark @+1 {{no cache that grows where it lies: it is several outputs}}
  %0 = graph.concat %past, %k {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %0, %0 : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// How many rows are added is known only during the run.

// CHECK-LABEL: func.func @data
func.func @data(%past: tensor<?xi64, #graph.dims<P>>, %x: tensor<9xf32>) -> tensor<?xi64, #graph.dims<P + n>> {
  // CHECK-NOT: graph.append
  %0 = graph.nonzero %x : (tensor<9xf32>) -> tensor<1x?xi64, #graph.dims<1, n>>
  %1 = graph.reshape %0 : (tensor<1x?xi64, #graph.dims<1, n>>) -> tensor<?xi64, #graph.dims<n>>
  // expected-remark @+1 {{no cache that grows where it lies: its size is not known from the inputs' sizes}}
  %2 = graph.concat %past, %1 {axis = 0 : i64} : (tensor<?xi64, #graph.dims<P>>, tensor<?xi64, #graph.dims<n>>) -> tensor<?xi64, #graph.dims<P + n>>
  return %2 : tensor<?xi64, #graph.dims<P + n>>
}

// -----

// Computed, not an input; and of three parts.

// CHECK-LABEL: func.func @others
func.func @others(%past: tensor<2x3xf32>, %k: tensor<2x1xf32>) -> (tensor<2x4xf32>, tensor<2x5xf32>) {
  // CHECK-NOT: graph.append
  %0 = graph.tanh %past : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = graph.concat %0, %k {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %2 = graph.concat %0, %k, %k {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x5xf32>
  return %1, %2 : tensor<2x4xf32>, tensor<2x5xf32>
}

// -----

// A model in 16 bits whose interface is f32: new rows are widened, readers
// round, and no other row is touched.

// CHECK-LABEL: func.func @interface
// CHECK-SAME:  %arg0: tensor<1x?x4xf32, #graph.dims<1, room0, 4>>
func.func @interface(%past: tensor<1x?x4xf32, #graph.dims<1, P, 4>>, %k: tensor<1x1x4xf16>)
    -> (tensor<1x?x4xf32, #graph.dims<1, P + 1, 4>>, tensor<1x?x4xf16, #graph.dims<1, P + 1, 4>>) {
  // CHECK:      %[[ROWS:.*]] = graph.cast %arg1 : (tensor<1x1x4xf16>) -> tensor<1x1x4xf32>
  // CHECK-NEXT: %[[ALL:.*]] = graph.append %arg0, %[[ROWS]]
  // CHECK-NEXT: %[[HELD:.*]] = graph.slice %[[ALL]]
  // CHECK-NEXT: %[[ROUNDED:.*]] = graph.cast %[[HELD]] : {{.*}} -> tensor<1x?x4xf16
  // CHECK-NEXT: %[[Y:.*]] = graph.tanh %[[ROUNDED]]
  // CHECK-NEXT: return %[[ALL]], %[[Y]]
  %0 = graph.cast %past : (tensor<1x?x4xf32, #graph.dims<1, P, 4>>) -> tensor<1x?x4xf16, #graph.dims<1, P, 4>>
  %1 = graph.concat %0, %k {axis = 1 : i64} : (tensor<1x?x4xf16, #graph.dims<1, P, 4>>, tensor<1x1x4xf16>) -> tensor<1x?x4xf16, #graph.dims<1, P + 1, 4>>
  %2 = graph.tanh %1 : (tensor<1x?x4xf16, #graph.dims<1, P + 1, 4>>) -> tensor<1x?x4xf16, #graph.dims<1, P + 1, 4>>
  %3 = graph.cast %1 : (tensor<1x?x4xf16, #graph.dims<1, P + 1, 4>>) -> tensor<1x?x4xf32, #graph.dims<1, P + 1, 4>>
  return %3, %2 : tensor<1x?x4xf32, #graph.dims<1, P + 1, 4>>, tensor<1x?x4xf16, #graph.dims<1, P + 1, 4>>
}

// -----

// What comes in is rounded and what goes out is not: those bits would differ.

// CHECK-LABEL: func.func @narrower
func.func @narrower(%past: tensor<2x3xf32>, %k: tensor<2x1xf16>) -> tensor<2x4xf16> {
  // CHECK-NOT: graph.append
  %0 = graph.cast %past : (tensor<2x3xf32>) -> tensor<2x3xf16>
  %1 = graph.concat %0, %k {axis = 1 : i64} : (tensor<2x3xf16>, tensor<2x1xf16>) -> tensor<2x4xf16>
  return %1 : tensor<2x4xf16>
}

// -----

// Rows whose batch is not proven to be that of the past are no more rows of it.

// CHECK-LABEL: func.func @other_sizes
func.func @other_sizes(%past: tensor<?x?x8xf32, #graph.dims<B, P, 8>>, %k: tensor<?x?x8xf32, #graph.dims<C, S, 8>>) -> tensor<?x?x8xf32, #graph.dims<B, P + S, 8>> {
  // CHECK-NOT: graph.append
  // expected-remark@+1 {{no cache that grows where it lies: the other sizes of what is new are not proven to be its own}}
  %0 = graph.concat %past, %k {axis = 1 : i64} : (tensor<?x?x8xf32, #graph.dims<B, P, 8>>, tensor<?x?x8xf32, #graph.dims<C, S, 8>>) -> tensor<?x?x8xf32, #graph.dims<B, P + S, 8>>
  return %0 : tensor<?x?x8xf32, #graph.dims<B, P + S, 8>>
}
