// RUN: tenon-opt %s --skip-experts=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// Two of eight experts per token: products by one joined weight get a matrix
// per expert, and every product gives zero where the weight is zero.

// CHECK-LABEL: @gated
func.func @gated(%x: tensor<?x16xf32, #graph.dims<T, 16>>, %i: tensor<?x2xi64, #graph.dims<T, 2>>, %u: tensor<?x2xf32, #graph.dims<T, 2>>) -> tensor<1x?x16xf32, #graph.dims<1, T, 16>> {
  // CHECK-DAG: %[[GATE:.*]] = graph.weight {name = "gate"}
  // CHECK-DAG: %[[DOWN:.*]] = graph.weight {name = "down"}
  // CHECK: graph.scatter_elements
  // CHECK: %[[WEIGHTS:.*]] = graph.reshape %{{.*}} -> tensor<8x?x1xf32, #graph.dims<8, T, 1>>
  // CHECK: %[[ZERO:.*]] = graph.constant {value = dense<0.000000e+00> : tensor<f32>}
  // CHECK-NEXT: %[[SKIPPED:.*]] = graph.equal %[[WEIGHTS]], %[[ZERO]]
  // CHECK-NEXT: %[[CUT:.*]] = graph.reshape %[[GATE]] : (tensor<16x32xf32>) -> tensor<16x8x4xf32>
  // CHECK-NEXT: %[[EACH:.*]] = graph.transpose %[[CUT]] {permutation = array<i64: 1, 0, 2>}
  // CHECK-NEXT: %[[PRODUCT:.*]] = graph.matmul %arg0, %[[EACH]] : {{.*}} -> tensor<8x?x4xf32, #graph.dims<8, T, 4>>
  // CHECK-NEXT: %[[CHOSEN:.*]] = graph.select %[[SKIPPED]], %[[ZERO]], %[[PRODUCT]]
  // CHECK-NEXT: %[[ACTIVE:.*]] = graph.tanh %[[CHOSEN]]
  // CHECK-NEXT: %[[HIDDEN:.*]] = graph.select %[[SKIPPED]], %[[ZERO]], %[[ACTIVE]]
  // CHECK-NEXT: %[[BACK:.*]] = graph.matmul %[[HIDDEN]], %[[DOWN]]
  // CHECK-NEXT: %[[SCALED:.*]] = graph.mul %[[BACK]], %[[WEIGHTS]]
  // CHECK-NEXT: %[[SUMMAND:.*]] = graph.select %[[SKIPPED]], %[[ZERO]], %[[SCALED]]
  // CHECK-NEXT: graph.reduce %[[SUMMAND]]
  %gate = graph.weight {name = "gate"} : () -> tensor<16x32xf32>
  %down = graph.weight {name = "down"} : () -> tensor<8x4x16xf32>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.matmul %x, %gate : (tensor<?x16xf32, #graph.dims<T, 16>>, tensor<16x32xf32>) -> tensor<?x32xf32, #graph.dims<T, 32>>
  %1 = graph.reshape %0 : (tensor<?x32xf32, #graph.dims<T, 32>>) -> tensor<?x8x4xf32, #graph.dims<T, 8, 4>>
  %2 = graph.transpose %1 {permutation = array<i64: 1, 0, 2>} : (tensor<?x8x4xf32, #graph.dims<T, 8, 4>>) -> tensor<8x?x4xf32, #graph.dims<8, T, 4>>
  %3 = graph.tanh %2 : (tensor<8x?x4xf32, #graph.dims<8, T, 4>>) -> tensor<8x?x4xf32, #graph.dims<8, T, 4>>
  %4 = graph.matmul %3, %down : (tensor<8x?x4xf32, #graph.dims<8, T, 4>>, tensor<8x4x16xf32>) -> tensor<8x?x16xf32, #graph.dims<8, T, 16>>
  %5 = graph.broadcast %zero : (tensor<f32>) -> tensor<?x8xf32, #graph.dims<T, 8>>
  %6 = graph.scatter_elements %5, %i, %u {axis = 1 : i64, kind = #graph<scatter_kind assign>} : (tensor<?x8xf32, #graph.dims<T, 8>>, tensor<?x2xi64, #graph.dims<T, 2>>, tensor<?x2xf32, #graph.dims<T, 2>>) -> tensor<?x8xf32, #graph.dims<T, 8>>
  %7 = graph.transpose %6 {permutation = array<i64: 1, 0>} : (tensor<?x8xf32, #graph.dims<T, 8>>) -> tensor<8x?xf32, #graph.dims<8, T>>
  %8 = graph.reshape %7 : (tensor<8x?xf32, #graph.dims<8, T>>) -> tensor<8x?x1xf32, #graph.dims<8, T, 1>>
  %9 = graph.mul %4, %8 : (tensor<8x?x16xf32, #graph.dims<8, T, 16>>, tensor<8x?x1xf32, #graph.dims<8, T, 1>>) -> tensor<8x?x16xf32, #graph.dims<8, T, 16>>
  %10 = graph.reduce %9 {axes = array<i64: 0>, kind = #graph<reduce_kind sum>} : (tensor<8x?x16xf32, #graph.dims<8, T, 16>>) -> tensor<1x?x16xf32, #graph.dims<1, T, 16>>
  return %10 : tensor<1x?x16xf32, #graph.dims<1, T, 16>>
}

// -----

// Weights of one-hot rows, and a bias per expert behind the product.

// CHECK-LABEL: @oneHot
func.func @oneHot(%x: tensor<4x5x16xf32>, %w: tensor<4x16x8xf32>, %b: tensor<4x1x8xf32>, %i: tensor<1x5x1xi64>, %j: tensor<4x1x1xi64>, %p: tensor<4x5x1xf32>) -> tensor<1x5x8xf32> {
  // CHECK: graph.matmul
  // CHECK-NEXT: graph.add
  // CHECK-NEXT: %[[SCALED:.*]] = graph.mul
  // CHECK-NEXT: graph.select %{{.*}}, %{{.*}}, %[[SCALED]]
  %0 = graph.equal %i, %j : (tensor<1x5x1xi64>, tensor<4x1x1xi64>) -> tensor<4x5x1xi1>
  %1 = graph.cast %0 : (tensor<4x5x1xi1>) -> tensor<4x5x1xf32>
  %2 = graph.mul %1, %p : (tensor<4x5x1xf32>, tensor<4x5x1xf32>) -> tensor<4x5x1xf32>
  %3 = graph.matmul %x, %w : (tensor<4x5x16xf32>, tensor<4x16x8xf32>) -> tensor<4x5x8xf32>
  %4 = graph.add %3, %b : (tensor<4x5x8xf32>, tensor<4x1x8xf32>) -> tensor<4x5x8xf32>
  %5 = graph.mul %4, %2 : (tensor<4x5x8xf32>, tensor<4x5x1xf32>) -> tensor<4x5x8xf32>
  %6 = graph.reduce %5 {axes = array<i64: 0>, kind = #graph<reduce_kind sum>} : (tensor<4x5x8xf32>) -> tensor<1x5x8xf32>
  return %6 : tensor<1x5x8xf32>
}

// -----

// Weights of a softmax are not zero.

// CHECK-LABEL: @dense
func.func @dense(%x: tensor<4x5x16xf32>, %w: tensor<4x16x8xf32>, %l: tensor<4x5x1xf32>) -> tensor<1x5x8xf32> {
  // CHECK-NOT: graph.select
  %0 = graph.softmax %l {axis = 0 : i64} : (tensor<4x5x1xf32>) -> tensor<4x5x1xf32>
  %1 = graph.matmul %x, %w : (tensor<4x5x16xf32>, tensor<4x16x8xf32>) -> tensor<4x5x8xf32>
  %2 = graph.mul %1, %0 : (tensor<4x5x8xf32>, tensor<4x5x1xf32>) -> tensor<4x5x8xf32>
  %3 = graph.reduce %2 {axes = array<i64: 0>, kind = #graph<reduce_kind sum>} : (tensor<4x5x8xf32>) -> tensor<1x5x8xf32>
  return %3 : tensor<1x5x8xf32>
}

// -----

// Three of four experts are most of them.

// CHECK-LABEL: @most
func.func @most(%x: tensor<4x5x16xf32>, %w: tensor<4x16x8xf32>, %i: tensor<3x5x1xi64>, %u: tensor<3x5x1xf32>) -> tensor<1x5x8xf32> {
  // CHECK-NOT: graph.select
  %zero = graph.constant {value = dense<0.0> : tensor<4x5x1xf32>} : () -> tensor<4x5x1xf32>
  %0 = graph.scatter_elements %zero, %i, %u {axis = 0 : i64, kind = #graph<scatter_kind assign>} : (tensor<4x5x1xf32>, tensor<3x5x1xi64>, tensor<3x5x1xf32>) -> tensor<4x5x1xf32>
  %1 = graph.matmul %x, %w : (tensor<4x5x16xf32>, tensor<4x16x8xf32>) -> tensor<4x5x8xf32>
  %2 = graph.mul %1, %0 : (tensor<4x5x8xf32>, tensor<4x5x1xf32>) -> tensor<4x5x8xf32>
  %3 = graph.reduce %2 {axes = array<i64: 0>, kind = #graph<reduce_kind sum>} : (tensor<4x5x8xf32>) -> tensor<1x5x8xf32>
  return %3 : tensor<1x5x8xf32>
}

// -----

// What is left over of a scatter into ones is no zero.

// CHECK-LABEL: @ones
func.func @ones(%x: tensor<4x5x16xf32>, %w: tensor<4x16x8xf32>, %i: tensor<1x5x1xi64>, %u: tensor<1x5x1xf32>) -> tensor<1x5x8xf32> {
  // CHECK-NOT: graph.select
  %one = graph.constant {value = dense<1.0> : tensor<4x5x1xf32>} : () -> tensor<4x5x1xf32>
  %0 = graph.scatter_elements %one, %i, %u {axis = 0 : i64, kind = #graph<scatter_kind assign>} : (tensor<4x5x1xf32>, tensor<1x5x1xi64>, tensor<1x5x1xf32>) -> tensor<4x5x1xf32>
  %1 = graph.matmul %x, %w : (tensor<4x5x16xf32>, tensor<4x16x8xf32>) -> tensor<4x5x8xf32>
  %2 = graph.mul %1, %0 : (tensor<4x5x8xf32>, tensor<4x5x1xf32>) -> tensor<4x5x8xf32>
  %3 = graph.reduce %2 {axes = array<i64: 0>, kind = #graph<reduce_kind sum>} : (tensor<4x5x8xf32>) -> tensor<1x5x8xf32>
  return %3 : tensor<1x5x8xf32>
}

// -----

// All rows are multiplied by one matrix: those of a token are one row of it.

// CHECK-LABEL: @shared
func.func @shared(%x: tensor<4x5x16xf32>, %w: tensor<16x8xf32>, %i: tensor<1x5x1xi64>, %u: tensor<1x5x1xf32>) -> tensor<1x5x8xf32> {
  // CHECK-NOT: graph.select
  %zero = graph.constant {value = dense<0.0> : tensor<4x5x1xf32>} : () -> tensor<4x5x1xf32>
  %0 = graph.scatter_elements %zero, %i, %u {axis = 0 : i64, kind = #graph<scatter_kind assign>} : (tensor<4x5x1xf32>, tensor<1x5x1xi64>, tensor<1x5x1xf32>) -> tensor<4x5x1xf32>
  %1 = graph.matmul %x, %w : (tensor<4x5x16xf32>, tensor<16x8xf32>) -> tensor<4x5x8xf32>
  // expected-remark@+1 {{computes experts that no token chose: they share a matrix}}
  %2 = graph.mul %1, %0 : (tensor<4x5x8xf32>, tensor<4x5x1xf32>) -> tensor<4x5x8xf32>
  %3 = graph.reduce %2 {axes = array<i64: 0>, kind = #graph<reduce_kind sum>} : (tensor<4x5x8xf32>) -> tensor<1x5x8xf32>
  return %3 : tensor<1x5x8xf32>
}

// -----

// What an expert gives is returned as well, whether chosen or not.

// CHECK-LABEL: @returned
func.func @returned(%x: tensor<4x5x16xf32>, %w: tensor<4x16x8xf32>, %i: tensor<1x5x1xi64>, %u: tensor<1x5x1xf32>) -> (tensor<1x5x8xf32>, tensor<4x5x8xf32>) {
  // CHECK-NOT: graph.select
  %zero = graph.constant {value = dense<0.0> : tensor<4x5x1xf32>} : () -> tensor<4x5x1xf32>
  %0 = graph.scatter_elements %zero, %i, %u {axis = 0 : i64, kind = #graph<scatter_kind assign>} : (tensor<4x5x1xf32>, tensor<1x5x1xi64>, tensor<1x5x1xf32>) -> tensor<4x5x1xf32>
  %1 = graph.matmul %x, %w : (tensor<4x5x16xf32>, tensor<4x16x8xf32>) -> tensor<4x5x8xf32>
  // expected-remark@+1 {{computes experts that no token chose: they are not the rows of one product}}
  %2 = graph.mul %1, %0 : (tensor<4x5x8xf32>, tensor<4x5x1xf32>) -> tensor<4x5x8xf32>
  %3 = graph.reduce %2 {axes = array<i64: 0>, kind = #graph<reduce_kind sum>} : (tensor<4x5x8xf32>) -> tensor<1x5x8xf32>
  return %3, %1 : tensor<1x5x8xf32>, tensor<4x5x8xf32>
}

// -----

// Something else reads the hidden rows: they stay, and so does what makes them.

// CHECK-LABEL: @hiddenReturned
func.func @hiddenReturned(%x: tensor<4x5x16xf32>, %v: tensor<4x16x16xf32>, %w: tensor<4x16x8xf32>, %i: tensor<1x5x1xi64>, %u: tensor<1x5x1xf32>) -> (tensor<1x5x8xf32>, tensor<4x5x16xf32>) {
  // CHECK: %[[HIDDEN:.*]] = graph.matmul
  // CHECK-NEXT: %[[ACTIVE:.*]] = graph.tanh %[[HIDDEN]]
  // CHECK-COUNT-1: graph.select
  // CHECK-NOT: graph.select
  // CHECK: return %{{.*}}, %[[ACTIVE]]
  %zero = graph.constant {value = dense<0.0> : tensor<4x5x1xf32>} : () -> tensor<4x5x1xf32>
  %0 = graph.scatter_elements %zero, %i, %u {axis = 0 : i64, kind = #graph<scatter_kind assign>} : (tensor<4x5x1xf32>, tensor<1x5x1xi64>, tensor<1x5x1xf32>) -> tensor<4x5x1xf32>
  %1 = graph.matmul %x, %v : (tensor<4x5x16xf32>, tensor<4x16x16xf32>) -> tensor<4x5x16xf32>
  %2 = graph.tanh %1 : (tensor<4x5x16xf32>) -> tensor<4x5x16xf32>
  %3 = graph.matmul %2, %w : (tensor<4x5x16xf32>, tensor<4x16x8xf32>) -> tensor<4x5x8xf32>
  %4 = graph.mul %3, %0 : (tensor<4x5x8xf32>, tensor<4x5x1xf32>) -> tensor<4x5x8xf32>
  %5 = graph.reduce %4 {axes = array<i64: 0>, kind = #graph<reduce_kind sum>} : (tensor<4x5x8xf32>) -> tensor<1x5x8xf32>
  return %5, %2 : tensor<1x5x8xf32>, tensor<4x5x16xf32>
}

// -----

// Weights in front of the last product.

// CHECK-LABEL: @weighedBefore
func.func @weighedBefore(%x: tensor<4x5x16xf32>, %v: tensor<4x16x16xf32>, %w: tensor<4x16x8xf32>, %i: tensor<1x5x1xi64>, %u: tensor<1x5x1xf32>) -> tensor<1x5x8xf32> {
  // CHECK: %[[HIDDEN:.*]] = graph.matmul %arg0, %arg1
  // CHECK-NEXT: %[[CHOSEN:.*]] = graph.select %{{.*}}, %{{.*}}, %[[HIDDEN]]
  // CHECK-NEXT: %[[SCALED:.*]] = graph.mul %[[CHOSEN]]
  // CHECK-NEXT: %[[LHS:.*]] = graph.select %{{.*}}, %{{.*}}, %[[SCALED]]
  // CHECK-NEXT: %[[BACK:.*]] = graph.matmul %[[LHS]], %arg2
  // CHECK-NEXT: %[[SUMMAND:.*]] = graph.select %{{.*}}, %{{.*}}, %[[BACK]]
  // CHECK-NEXT: graph.reduce %[[SUMMAND]]
  %zero = graph.constant {value = dense<0.0> : tensor<4x5x1xf32>} : () -> tensor<4x5x1xf32>
  %0 = graph.scatter_elements %zero, %i, %u {axis = 0 : i64, kind = #graph<scatter_kind assign>} : (tensor<4x5x1xf32>, tensor<1x5x1xi64>, tensor<1x5x1xf32>) -> tensor<4x5x1xf32>
  %1 = graph.matmul %x, %v : (tensor<4x5x16xf32>, tensor<4x16x16xf32>) -> tensor<4x5x16xf32>
  %2 = graph.mul %1, %0 : (tensor<4x5x16xf32>, tensor<4x5x1xf32>) -> tensor<4x5x16xf32>
  %3 = graph.matmul %2, %w : (tensor<4x5x16xf32>, tensor<4x16x8xf32>) -> tensor<4x5x8xf32>
  %4 = graph.reduce %3 {axes = array<i64: 0>, kind = #graph<reduce_kind sum>} : (tensor<4x5x8xf32>) -> tensor<1x5x8xf32>
  return %4 : tensor<1x5x8xf32>
}

// -----

// Tokens first: the sum is over the second axis.

// CHECK-LABEL: @tokensFirst
func.func @tokensFirst(%x: tensor<4x5x16xf32>, %w: tensor<4x16x8xf32>, %i: tensor<5x1x1xi64>, %u: tensor<5x1x1xf32>) -> tensor<5x1x8xf32> {
  // CHECK: %[[WEIGHTS:.*]] = graph.transpose %{{.*}} : (tensor<5x4x1xf32>) -> tensor<4x5x1xf32>
  // CHECK: %[[SCALED:.*]] = graph.mul %{{.*}}, %[[WEIGHTS]]
  // CHECK-NEXT: %[[SUMMAND:.*]] = graph.select %{{.*}}, %{{.*}}, %[[SCALED]]
  // CHECK-NEXT: %[[SUM:.*]] = graph.reduce %[[SUMMAND]] {axes = array<i64: 0>
  // CHECK-NEXT: graph.reshape %[[SUM]] : (tensor<1x5x8xf32>) -> tensor<5x1x8xf32>
  %zero = graph.constant {value = dense<0.0> : tensor<5x4x1xf32>} : () -> tensor<5x4x1xf32>
  %0 = graph.scatter_elements %zero, %i, %u {axis = 1 : i64, kind = #graph<scatter_kind assign>} : (tensor<5x4x1xf32>, tensor<5x1x1xi64>, tensor<5x1x1xf32>) -> tensor<5x4x1xf32>
  %1 = graph.matmul %x, %w : (tensor<4x5x16xf32>, tensor<4x16x8xf32>) -> tensor<4x5x8xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 1, 0, 2>} : (tensor<4x5x8xf32>) -> tensor<5x4x8xf32>
  %3 = graph.mul %2, %0 : (tensor<5x4x8xf32>, tensor<5x4x1xf32>) -> tensor<5x4x8xf32>
  %4 = graph.reduce %3 {axes = array<i64: 1>, kind = #graph<reduce_kind sum>} : (tensor<5x4x8xf32>) -> tensor<5x1x8xf32>
  return %4 : tensor<5x1x8xf32>
}

// -----

// The largest of all experts is not their sum.

// CHECK-LABEL: @largest
func.func @largest(%x: tensor<4x5x16xf32>, %w: tensor<4x16x8xf32>, %i: tensor<1x5x1xi64>, %u: tensor<1x5x1xf32>) -> tensor<1x5x8xf32> {
  // CHECK-NOT: graph.select
  %zero = graph.constant {value = dense<0.0> : tensor<4x5x1xf32>} : () -> tensor<4x5x1xf32>
  %0 = graph.scatter_elements %zero, %i, %u {axis = 0 : i64, kind = #graph<scatter_kind assign>} : (tensor<4x5x1xf32>, tensor<1x5x1xi64>, tensor<1x5x1xf32>) -> tensor<4x5x1xf32>
  %1 = graph.matmul %x, %w : (tensor<4x5x16xf32>, tensor<4x16x8xf32>) -> tensor<4x5x8xf32>
  %2 = graph.mul %1, %0 : (tensor<4x5x8xf32>, tensor<4x5x1xf32>) -> tensor<4x5x8xf32>
  %3 = graph.reduce %2 {axes = array<i64: 0>, kind = #graph<reduce_kind max>} : (tensor<4x5x8xf32>) -> tensor<1x5x8xf32>
  return %3 : tensor<1x5x8xf32>
}
