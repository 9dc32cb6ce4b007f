// RUN: tenon-opt %s --simplify --split-input-file | FileCheck %s

// Reshapes in a row are one, and none when the sizes are back.

// CHECK-LABEL: @reshapes
// CHECK-SAME:    %[[X:.*]]: tensor<2x6xf32>
func.func @reshapes(%x: tensor<2x6xf32>) -> (tensor<4x3xf32>, tensor<2x6xf32>) {
  // CHECK-NEXT: %[[R:.*]] = graph.reshape %[[X]] : (tensor<2x6xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: return %[[R]], %[[X]]
  %0 = graph.reshape %x : (tensor<2x6xf32>) -> tensor<12xf32>
  %1 = graph.reshape %0 : (tensor<12xf32>) -> tensor<4x3xf32>
  %2 = graph.reshape %1 : (tensor<4x3xf32>) -> tensor<2x6xf32>
  return %1, %2 : tensor<4x3xf32>, tensor<2x6xf32>
}

// -----

// Transposes in a row are one, and none when the axes are back.

// CHECK-LABEL: @transposes
// CHECK-SAME:    %[[X:.*]]: tensor
func.func @transposes(%x: tensor<2x3x4xf32>) -> (tensor<4x2x3xf32>, tensor<2x3x4xf32>) {
  // CHECK-NEXT: %[[T:.*]] = graph.transpose %[[X]] {permutation = array<i64: 2, 0, 1>}
  // CHECK-NEXT: return %[[T]], %[[X]]
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0, 2>} : (tensor<2x4x3xf32>) -> tensor<4x2x3xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 1, 2, 0>} : (tensor<4x2x3xf32>) -> tensor<2x3x4xf32>
  return %1, %2 : tensor<4x2x3xf32>, tensor<2x3x4xf32>
}

// -----

// A transpose that moves only axes of size one moves no element.

// CHECK-LABEL: @transpose_of_ones
func.func @transpose_of_ones(%x: tensor<?x1x4xf32, #graph.dims<B, 1, 4>>) -> tensor<1x?x4xf32, #graph.dims<1, B, 4>> {
  // CHECK-NEXT: graph.reshape
  // CHECK-NEXT: return
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<?x1x4xf32, #graph.dims<B, 1, 4>>) -> tensor<1x?x4xf32, #graph.dims<1, B, 4>>
  return %0 : tensor<1x?x4xf32, #graph.dims<1, B, 4>>
}

// -----

// A symbol may be one, but it need not.

// CHECK-LABEL: @transpose_of_symbols
func.func @transpose_of_symbols(%x: tensor<?x1x4xf32, #graph.dims<B, 1, 4>>) -> tensor<4x1x?xf32, #graph.dims<4, 1, B>> {
  // CHECK-NEXT: graph.transpose
  %0 = graph.transpose %x {permutation = array<i64: 2, 1, 0>} : (tensor<?x1x4xf32, #graph.dims<B, 1, 4>>) -> tensor<4x1x?xf32, #graph.dims<4, 1, B>>
  return %0 : tensor<4x1x?xf32, #graph.dims<4, 1, B>>
}

// -----

// An operand need not be broadcast before an op that broadcasts it anyway.

// CHECK-LABEL: @implied_broadcast
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<8xf32>
func.func @implied_broadcast(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> tensor<4x8xf32> {
  // CHECK-NEXT: graph.add %[[X]], %[[Y]] : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: return
  %0 = graph.broadcast %y : (tensor<8xf32>) -> tensor<4x8xf32>
  %1 = graph.add %x, %0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// Of two broadcasts that make the sizes together, the last one stays.

// CHECK-LABEL: @needed_broadcast
func.func @needed_broadcast(%x: tensor<8xf32>) -> tensor<4x8xf32> {
  // CHECK-NEXT: graph.broadcast
  // CHECK-NEXT: graph.mul
  %0 = graph.broadcast %x : (tensor<8xf32>) -> tensor<4x8xf32>
  %1 = graph.mul %0, %x : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// Requirements that arithmetic proves are gone.

// CHECK-LABEL: @proven
func.func @proven() {
  // CHECK-NEXT: return
  graph.require {sizes = #graph.dims<2 * B, B + B>, relation = #graph<relation equal>, message = "a"} : () -> ()
  graph.require {sizes = #graph.dims<B, B + S>, relation = #graph<relation less_equal>, message = "b"} : () -> ()
  graph.require {sizes = #graph.dims<1, S>, relation = #graph<relation broadcasts>, message = "c"} : () -> ()
  graph.require {sizes = #graph.dims<4, 8 * S>, relation = #graph<relation divides>, message = "d"} : () -> ()
  return
}

// -----

// All others stay: a divisor that may be zero, an order that depends, numbers
// that never agree.

// CHECK-LABEL: @not_proven
func.func @not_proven() {
  // CHECK-COUNT-5: graph.require
  graph.require {sizes = #graph.dims<B, S>, relation = #graph<relation equal>, message = "a"} : () -> ()
  graph.require {sizes = #graph.dims<B + S, B + 3>, relation = #graph<relation less_equal>, message = "b"} : () -> ()
  graph.require {sizes = #graph.dims<B, B * S>, relation = #graph<relation divides>, message = "c"} : () -> ()
  graph.require {sizes = #graph.dims<3, 4>, relation = #graph<relation equal>, message = "d"} : () -> ()
  graph.require {sizes = #graph.dims<0, 0>, relation = #graph<relation divides>, message = "e"} : () -> ()
  return
}

// -----

// Equal computations are one; what nobody reads is gone; what binds or asks
// stays in its place.

// CHECK-LABEL: @common_and_dead
func.func @common_and_dead(%x: tensor<1xi64>) -> tensor<1xi64> {
  // CHECK-NEXT: %[[A:.*]] = graph.abs
  // CHECK-NEXT: graph.bind %[[A]]
  // CHECK-NEXT: %[[SUM:.*]] = graph.add %[[A]], %[[A]]
  // CHECK-NEXT: return %[[SUM]]
  %0 = graph.abs %x : (tensor<1xi64>) -> tensor<1xi64>
  graph.bind %0 {symbols = ["n"], lo = array<i64: 0>, hi = array<i64: 9>} : (tensor<1xi64>) -> ()
  %1 = graph.abs %x : (tensor<1xi64>) -> tensor<1xi64>
  %dead = graph.neg %1 : (tensor<1xi64>) -> tensor<1xi64>
  %2 = graph.add %0, %1 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  return %2 : tensor<1xi64>
}

// -----

// A sum of what a condition keeps and of what its opposite does chooses; in
// either order.

// CHECK-LABEL: @sum_of_choices
func.func @sum_of_choices(%m: tensor<1x8xi1>, %a: tensor<4x8xf32>, %b: tensor<f32>) -> tensor<4x8xf32> {
  // CHECK-NEXT: %[[Y:.*]] = graph.select %arg0, %arg1, %arg2 :
  // CHECK-NEXT: return %[[Y]]
  %n = graph.not %m : (tensor<1x8xi1>) -> tensor<1x8xi1>
  %0 = graph.cast %m : (tensor<1x8xi1>) -> tensor<1x8xf32>
  %1 = graph.cast %n : (tensor<1x8xi1>) -> tensor<1x8xf32>
  %2 = graph.mul %1, %b : (tensor<1x8xf32>, tensor<f32>) -> tensor<1x8xf32>
  %3 = graph.mul %a, %0 : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  %4 = graph.add %2, %3 : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// -----

// Not of two conditions, nor of a factor that is any number.

// CHECK-LABEL: @sums_that_stay
func.func @sums_that_stay(%m: tensor<8xi1>, %o: tensor<8xi1>, %w: tensor<8xf32>, %a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NOT: graph.select
  // CHECK: return
  %n = graph.not %o : (tensor<8xi1>) -> tensor<8xi1>
  %0 = graph.cast %m : (tensor<8xi1>) -> tensor<8xf32>
  %1 = graph.cast %n : (tensor<8xi1>) -> tensor<8xf32>
  %2 = graph.mul %0, %a : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %3 = graph.mul %1, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = graph.add %2, %3 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %5 = graph.mul %w, %a : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %6 = graph.add %5, %3 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %4, %6 : tensor<8xf32>, tensor<8xf32>
}

// -----

// What adds nothing goes, as Paddle's assignments do, through its reshapes.

// CHECK-LABEL: @neutral
// CHECK-NEXT: return %arg0, %arg0, %arg0, %arg0
func.func @neutral(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = graph.constant {value = dense<0.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %one = graph.constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.reshape %x : (tensor<4xf32>) -> tensor<1x4xf32>
  %1 = graph.add %0, %zero : (tensor<1x4xf32>, tensor<1xf32>) -> tensor<1x4xf32>
  %2 = graph.reshape %1 : (tensor<1x4xf32>) -> tensor<4xf32>
  %3 = graph.sub %x, %zero : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  %4 = graph.mul %one, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = graph.div %x, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %2, %3, %4, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Not what the number makes larger, or is made something of.

// CHECK-LABEL: @not_neutral
// CHECK: graph.add
// CHECK: graph.sub
// CHECK: graph.div
// CHECK: graph.mul
// CHECK: graph.add
func.func @not_neutral(%x: tensor<4xf32>, %y: tensor<1xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zeros = graph.constant {value = dense<0.0> : tensor<4xf32>} : () -> tensor<4xf32>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %one = graph.constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.add %y, %zeros : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.sub %zero, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = graph.div %one, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = graph.mul %zero, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = graph.add %one, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// A choice that is decided, for all of its elements, chooses nothing.

// CHECK-LABEL: @decided
// CHECK: %[[LOWEST:.*]] = graph.broadcast
// CHECK-NEXT: return %arg0, %arg1, %[[LOWEST]]
func.func @decided(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) {
  %yes = graph.constant {value = dense<true> : tensor<4x1xi1>} : () -> tensor<4x1xi1>
  %no = graph.constant {value = dense<false> : tensor<i1>} : () -> tensor<i1>
  %lowest = graph.constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.select %yes, %x, %lowest : (tensor<4x1xi1>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  %1 = graph.select %no, %x, %y : (tensor<i1>, tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %2 = graph.select %no, %x, %lowest : (tensor<i1>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  return %0, %1, %2 : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>
}

// -----

// Not one that differs from row to row, nor what would have to grow.

// CHECK-LABEL: @undecided
// CHECK: graph.select
// CHECK: graph.select
func.func @undecided(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %some = graph.constant {value = dense<[[true], [false]]> : tensor<2x1xi1>} : () -> tensor<2x1xi1>
  %no = graph.constant {value = dense<false> : tensor<i1>} : () -> tensor<i1>
  %0 = graph.select %some, %x, %y : (tensor<2x1xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = graph.select %no, %x, %y : (tensor<i1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}
