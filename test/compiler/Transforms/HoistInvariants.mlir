// RUN: tenon-opt %s --hoist-invariants --split-input-file | FileCheck %s

// A product that each step would compute anew is computed once, through the
// views in front of it, and what is computed of it, too.

// CHECK-LABEL: @projection
// CHECK:      %[[T:.*]] = graph.transpose %{{.*}}
// CHECK-NEXT: %[[W:.*]] = graph.weight
// CHECK-NEXT: %[[P:.*]] = graph.matmul %[[T]], %[[W]]
// CHECK-NEXT: %[[N:.*]] = graph.tanh %[[P]]
// CHECK-NEXT: graph.loop
// CHECK-NEXT: ^bb0(%[[S:.*]]: tensor<4x4xf32>):
// CHECK-NEXT:   graph.add %[[S]], %[[N]]
func.func @projection(%c: tensor<i1>, %x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = graph.loop "i" %c, %x attributes {room = #graph.dims<0>} : (tensor<i1>, tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%s: tensor<4x4xf32>):
    %w = graph.weight {name = "w"} : () -> tensor<4x4xf32>
    %1 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = graph.matmul %1, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = graph.tanh %2 : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = graph.add %s, %3 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.yield %c, %4 : tensor<i1>, tensor<4x4xf32>
  }
  return %0 : tensor<4x4xf32>
}

// -----

// It leaves every loop that it depends on nothing of.

// CHECK-LABEL: @twice
// CHECK:      %[[P:.*]] = graph.matmul
// CHECK-NEXT: graph.loop "i"
// CHECK-NEXT: ^bb0(%[[S:.*]]: tensor<4x4xf32>):
// CHECK-NEXT:   %[[Q:.*]] = graph.matmul %[[S]], %[[P]]
// CHECK-NEXT:   graph.loop "j"
// CHECK-NEXT:   ^bb0
// CHECK-NEXT:     graph.add
func.func @twice(%c: tensor<i1>, %x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = graph.loop "i" %c, %x attributes {room = #graph.dims<0>} : (tensor<i1>, tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%s: tensor<4x4xf32>):
    %1 = graph.loop "j" %c, %s attributes {room = #graph.dims<0>} : (tensor<i1>, tensor<4x4xf32>) -> tensor<4x4xf32> {
    ^bb0(%u: tensor<4x4xf32>):
      %2 = graph.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %3 = graph.matmul %s, %2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %4 = graph.add %u, %3 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      graph.yield %c, %4 : tensor<i1>, tensor<4x4xf32>
    }
    graph.yield %c, %1 : tensor<i1>, tensor<4x4xf32>
  }
  return %0 : tensor<4x4xf32>
}

// -----

// A state that every step hands on is read from outside, and what is computed of
// it is computed there; one that changes its type is not.

// CHECK-LABEL: @kept
// CHECK-SAME: %[[C:[a-z0-9]+]]: tensor<i1>, %[[X:[a-z0-9]+]]: tensor<4x4xf32>, %[[Y:[a-z0-9]+]]: tensor<?xf32, #graph.dims<A>>
// CHECK:      %[[P:.*]] = graph.matmul %[[X]], %[[X]]
// CHECK-NEXT: %[[L:.*]]:3 = graph.loop "i" %[[C]], %[[Y]], %[[X]] attributes
// CHECK-NEXT: ^bb0(%[[U:.*]]: tensor<?xf32, #graph.dims<s>>, %[[V:.*]]: tensor<4x4xf32>):
// CHECK-NEXT:   %[[N:.*]] = graph.add %[[V]], %[[P]]
// CHECK-NEXT:   graph.yield %[[C]], %[[U]], %[[N]], %[[X]]
// CHECK:      return %[[X]], %[[L]]#0, %[[L]]#1, %[[L]]#2
func.func @kept(%c: tensor<i1>, %x: tensor<4x4xf32>, %y: tensor<?xf32, #graph.dims<A>>) -> (tensor<4x4xf32>, tensor<?xf32, #graph.dims<l>>, tensor<4x4xf32>, tensor<?x4x4xf32, #graph.dims<n, 4, 4>>) {
  %0:4 = graph.loop "i" %c, %x, %y, %x attributes {room = #graph.dims<9>} : (tensor<i1>, tensor<4x4xf32>, tensor<?xf32, #graph.dims<A>>, tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<?xf32, #graph.dims<l>>, tensor<4x4xf32>, tensor<?x4x4xf32, #graph.dims<n, 4, 4>>) {
  ^bb0(%s: tensor<4x4xf32>, %u: tensor<?xf32, #graph.dims<s>>, %v: tensor<4x4xf32>):
    %1 = graph.matmul %s, %s : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = graph.add %v, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.yield %c, %s, %u, %2, %s : tensor<i1>, tensor<4x4xf32>, tensor<?xf32, #graph.dims<s>>, tensor<4x4xf32>, tensor<4x4xf32>
  }
  return %0#0, %0#1, %0#2, %0#3 : tensor<4x4xf32>, tensor<?xf32, #graph.dims<l>>, tensor<4x4xf32>, tensor<?x4x4xf32, #graph.dims<n, 4, 4>>
}

// -----

// Products of each step's row are rows of one product, be they taken by the
// step's number or by an index.

// CHECK-LABEL: @rows
// CHECK-SAME: %[[C:[a-z0-9]+]]: tensor<i1>, %[[X:[a-z0-9]+]]: tensor<?x4x8xf32, #graph.dims<S, 4, 8>>, %[[K:[a-z0-9]+]]: tensor<i64>
// CHECK:      %[[W:.*]] = graph.weight
// CHECK-NEXT: %[[P:.*]] = graph.matmul %[[X]], %[[W]] : {{.*}} -> tensor<?x4x16xf32, #graph.dims<S, 4, 16>>
// CHECK-NEXT: %[[Q:.*]] = graph.matmul %[[X]], %[[W]]
// CHECK-NEXT: graph.loop
// CHECK:        %[[A:.*]] = graph.slice %[[P]] {starts = #graph.dims<i, 0, 0>, steps = #graph.dims<1, 1, 1>} : {{.*}} -> tensor<1x4x16xf32>
// CHECK-NEXT:   %[[R:.*]] = graph.reshape %[[A]] : (tensor<1x4x16xf32>) -> tensor<4x16xf32>
// CHECK:        %[[B:.*]] = graph.gather %[[Q]], %[[K]] {axis = 0 : i64} : {{.*}} -> tensor<4x16xf32>
// CHECK:        graph.add %[[R]], %[[B]]
func.func @rows(%c: tensor<i1>, %x: tensor<?x4x8xf32, #graph.dims<S, 4, 8>>, %k: tensor<i64>, %h: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %0 = graph.loop "i" %c, %h attributes {room = #graph.dims<0>} : (tensor<i1>, tensor<4x16xf32>) -> tensor<4x16xf32> {
  ^bb0(%s: tensor<4x16xf32>):
    %w = graph.weight {name = "w"} : () -> tensor<8x16xf32>
    %1 = graph.slice %x {starts = #graph.dims<i, 0, 0>, steps = #graph.dims<1, 1, 1>} : (tensor<?x4x8xf32, #graph.dims<S, 4, 8>>) -> tensor<1x4x8xf32>
    %2 = graph.reshape %1 : (tensor<1x4x8xf32>) -> tensor<4x8xf32>
    %3 = graph.matmul %2, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %4 = graph.gather %x, %k {axis = 0 : i64} : (tensor<?x4x8xf32, #graph.dims<S, 4, 8>>, tensor<i64>) -> tensor<4x8xf32>
    %5 = graph.matmul %4, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %6 = graph.add %3, %5 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %7 = graph.add %6, %s : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    graph.yield %c, %7 : tensor<i1>, tensor<4x16xf32>
  }
  return %0 : tensor<4x16xf32>
}

// -----

// Not of another axis, of part of a row, of a state, or by what a step makes.

// CHECK-LABEL: @no_rows
// CHECK-NEXT: graph.loop
// CHECK:   graph.gather
// CHECK:   graph.matmul
// CHECK:   graph.slice
// CHECK:   graph.matmul
// CHECK:   graph.gather
// CHECK:   graph.matmul
// CHECK:   graph.gather
// CHECK:   graph.matmul
// CHECK:   graph.yield
func.func @no_rows(%c: tensor<i1>, %x: tensor<8x4x8xf32>, %k: tensor<i64>, %h: tensor<4x16xf32>, %v: tensor<8x16xf32>, %t: tensor<8x4x8xf32>) -> (tensor<4x16xf32>, tensor<8x4x8xf32>) {
  %0:2 = graph.loop "i" %c, %h, %t attributes {room = #graph.dims<0>} : (tensor<i1>, tensor<4x16xf32>, tensor<8x4x8xf32>) -> (tensor<4x16xf32>, tensor<8x4x8xf32>) {
  ^bb0(%s: tensor<4x16xf32>, %u: tensor<8x4x8xf32>):
    %1 = graph.gather %x, %k {axis = 1 : i64} : (tensor<8x4x8xf32>, tensor<i64>) -> tensor<8x8xf32>
    %2 = graph.matmul %1, %v : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %3 = graph.slice %x {starts = #graph.dims<i, 0, 0>, steps = #graph.dims<1, 1, 1>} : (tensor<8x4x8xf32>) -> tensor<1x2x8xf32>
    %4 = graph.reshape %3 : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    %5 = graph.matmul %4, %v : (tensor<2x8xf32>, tensor<8x16xf32>) -> tensor<2x16xf32>
    %6 = graph.gather %u, %k {axis = 0 : i64} : (tensor<8x4x8xf32>, tensor<i64>) -> tensor<4x8xf32>
    %7 = graph.matmul %6, %v : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %8 = graph.gather %x, %k {axis = 0 : i64} : (tensor<8x4x8xf32>, tensor<i64>) -> tensor<4x8xf32>
    %9 = graph.matmul %8, %2 : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %10 = graph.slice %5 {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<2x16xf32>) -> tensor<1x16xf32>
    %11 = graph.add %7, %9 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %12 = graph.add %11, %10 : (tensor<4x16xf32>, tensor<1x16xf32>) -> tensor<4x16xf32>
    %13 = graph.neg %u : (tensor<8x4x8xf32>) -> tensor<8x4x8xf32>
    graph.yield %c, %12, %13 : tensor<i1>, tensor<4x16xf32>, tensor<8x4x8xf32>
  }
  return %0#0, %0#1 : tensor<4x16xf32>, tensor<8x4x8xf32>
}

// -----

// What stays: of a state, of the number of a step, a view alone, an index or a
// quotient that may be none, and what a step's requirement speaks of.

// CHECK-LABEL: @stays
// CHECK-NEXT: graph.loop
// CHECK:   graph.neg
// CHECK:   graph.sizes
// CHECK:   graph.cast
// CHECK:   graph.reshape
// CHECK:   graph.gather
// CHECK:   graph.div
// CHECK:   graph.require
// CHECK:   graph.add %{{.*}} : (tensor<?xf32, #graph.dims<A>>, tensor<?xf32, #graph.dims<B>>)
// CHECK:   graph.yield
func.func @stays(%c: tensor<i1>, %x: tensor<4xf32>, %k: tensor<i64>, %a: tensor<?xf32, #graph.dims<A>>, %b: tensor<?xf32, #graph.dims<B>>) -> (tensor<?xf32, #graph.dims<A>>, tensor<4xf32>) {
  %0:2 = graph.loop "i" %c, %a, %x attributes {room = #graph.dims<0>} : (tensor<i1>, tensor<?xf32, #graph.dims<A>>, tensor<4xf32>) -> (tensor<?xf32, #graph.dims<A>>, tensor<4xf32>) {
  ^bb0(%s: tensor<?xf32, #graph.dims<A>>, %u: tensor<4xf32>):
    %1 = graph.neg %u : (tensor<4xf32>) -> tensor<4xf32>
    %2 = graph.sizes {value = #graph.dims<i>} : () -> tensor<i64>
    %3 = graph.cast %2 : (tensor<i64>) -> tensor<f32>
    %4 = graph.reshape %x : (tensor<4xf32>) -> tensor<2x2xf32>
    %5 = graph.gather %x, %k {axis = 0 : i64} : (tensor<4xf32>, tensor<i64>) -> tensor<f32>
    %6 = graph.div %k, %k : (tensor<i64>, tensor<i64>) -> tensor<i64>
    graph.require {sizes = #graph.dims<A, B>, relation = #graph<relation equal>, message = "A must be B"} : () -> ()
    %7 = graph.add %a, %b : (tensor<?xf32, #graph.dims<A>>, tensor<?xf32, #graph.dims<B>>) -> tensor<?xf32, #graph.dims<broadcast(A, B)>>
    graph.yield %c, %7, %1 : tensor<i1>, tensor<?xf32, #graph.dims<broadcast(A, B)>>, tensor<4xf32>
  }
  return %0#0, %0#1 : tensor<?xf32, #graph.dims<A>>, tensor<4xf32>
}
