// Integer tensors whose elements are sizes or numbers fold at compile time.

// RUN: tenon-opt %s --canonicalize --split-input-file | FileCheck %s

// The usual debris of a reshape: Shape, Gather, Mul, Concat.

// CHECK-LABEL: @shape_arithmetic
func.func @shape_arithmetic() -> tensor<3xi64> {
  // CHECK-NEXT: %[[S:.*]] = graph.sizes {value = #graph.dims<B, 64 * S, -1>}
  // CHECK-NEXT: return %[[S]]
  %shape = graph.sizes {value = #graph.dims<B, S, 64>} : () -> tensor<3xi64>
  %0 = graph.constant {value = dense<0> : tensor<1xi64>} : () -> tensor<1xi64>
  %last = graph.constant {value = dense<[-2, 2]> : tensor<2xi64>} : () -> tensor<2xi64>
  %minus = graph.constant {value = dense<-1> : tensor<1xi64>} : () -> tensor<1xi64>
  %b = graph.gather %shape, %0 {axis = 0 : i64} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
  %sk = graph.gather %shape, %last {axis = 0 : i64} : (tensor<3xi64>, tensor<2xi64>) -> tensor<2xi64>
  %prod = graph.reduce %sk {axes = array<i64: 0>, kind = #graph<reduce_kind prod>} : (tensor<2xi64>) -> tensor<1xi64>
  %all = graph.concat %b, %prod, %minus {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
  return %all : tensor<3xi64>
}

// -----

// When only numbers are left, the result is a constant again.

// CHECK-LABEL: @back_to_numbers
func.func @back_to_numbers() -> tensor<2x2xi32> {
  // CHECK-NEXT: graph.constant {value = dense<{{\[\[}}0, 4], [0, 6]]> : tensor<2x2xi32>}
  // CHECK-NEXT: return
  %s = graph.sizes {value = #graph.dims<B, 2, B, 3>} : () -> tensor<4xi64>
  %b = graph.sizes {value = #graph.dims<B>} : () -> tensor<1xi64>
  %2 = graph.constant {value = dense<[1, 2, 1, 2]> : tensor<4xi64>} : () -> tensor<4xi64>
  %zero = graph.constant {value = dense<[1, 0, 1, 0]> : tensor<4xi64>} : () -> tensor<4xi64>
  %twice = graph.mul %s, %2 : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %bs = graph.mul %b, %zero : (tensor<1xi64>, tensor<4xi64>) -> tensor<4xi64>
  %left = graph.sub %twice, %bs : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %cast = graph.cast %left : (tensor<4xi64>) -> tensor<4xi32>
  %result = graph.reshape %cast : (tensor<4xi32>) -> tensor<2x2xi32>
  return %result : tensor<2x2xi32>
}

// -----

// Slices, transposes and broadcasts pick elements.

// CHECK-LABEL: @movement
func.func @movement() -> (tensor<2xi64>, tensor<2x2xi64>, tensor<2x2xi64>) {
  // CHECK-DAG: %[[REVERSED:.*]] = graph.sizes {value = #graph.dims<C, A>} : () -> tensor<2xi64>
  // CHECK-DAG: %[[TURNED:.*]] = graph.sizes {value = #graph.dims<A, C, B, 4>}
  // CHECK-DAG: %[[SPREAD:.*]] = graph.sizes {value = #graph.dims<C, A, C, A>}
  // CHECK: return %[[REVERSED]], %[[TURNED]], %[[SPREAD]]
  %s = graph.sizes {value = #graph.dims<A, B, C, 4>} : () -> tensor<4xi64>
  %square = graph.reshape %s : (tensor<4xi64>) -> tensor<2x2xi64>
  %0 = graph.slice %s {starts = #graph.dims<2>, steps = #graph.dims<-2>} : (tensor<4xi64>) -> tensor<2xi64>
  %1 = graph.transpose %square {permutation = array<i64: 1, 0>} : (tensor<2x2xi64>) -> tensor<2x2xi64>
  %2 = graph.broadcast %0 : (tensor<2xi64>) -> tensor<2x2xi64>
  return %0, %1, %2 : tensor<2xi64>, tensor<2x2xi64>, tensor<2x2xi64>
}

// -----

// Comparisons fold when the answer is the same for all sizes.

// CHECK-LABEL: @comparisons
func.func @comparisons() -> (tensor<3xi1>, tensor<2xi64>) {
  // CHECK-DAG: %[[LESS:.*]] = graph.constant {value = dense<[false, true, false]> : tensor<3xi1>}
  // CHECK-DAG: %[[PICK:.*]] = graph.sizes {value = #graph.dims<B, C>} : () -> tensor<2xi64>
  // CHECK: return %[[LESS]], %[[PICK]]
  %x = graph.sizes {value = #graph.dims<B, B, 3>} : () -> tensor<3xi64>
  %y = graph.sizes {value = #graph.dims<B, B + 1, 3>} : () -> tensor<3xi64>
  %less = graph.less %x, %y : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
  %a = graph.sizes {value = #graph.dims<B + 1, B>} : () -> tensor<2xi64>
  %b = graph.sizes {value = #graph.dims<0, B>} : () -> tensor<2xi64>
  %eq = graph.equal %a, %b : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
  %l = graph.sizes {value = #graph.dims<A, C>} : () -> tensor<2xi64>
  %r = graph.sizes {value = #graph.dims<B, D>} : () -> tensor<2xi64>
  %pick = graph.select %eq, %l, %r : (tensor<2xi1>, tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  return %less, %pick : tensor<3xi1>, tensor<2xi64>
}

// -----

// Division truncates, sizes floor: they agree where the sign is known, and
// where all that may be negative is closer to zero than the divisor.

// CHECK-LABEL: @division
func.func @division() -> (tensor<3xi64>, tensor<3xi64>) {
  // CHECK-DAG: %[[DIV:.*]] = graph.sizes {value = #graph.dims<floordiv(B, 2), 2 * B, floordiv(max(0, B + -1), 2)>}
  // CHECK-DAG: %[[MOD:.*]] = graph.sizes {value = #graph.dims<mod(B, 3), 0, 2>}
  // CHECK: return %[[DIV]], %[[MOD]]
  %b = graph.sizes {value = #graph.dims<B, 4 * B, B + -1>} : () -> tensor<3xi64>
  %2 = graph.constant {value = dense<2> : tensor<1xi64>} : () -> tensor<1xi64>
  %div = graph.div %b, %2 : (tensor<3xi64>, tensor<1xi64>) -> tensor<3xi64>
  %x = graph.sizes {value = #graph.dims<B, 3 * B, -1>} : () -> tensor<3xi64>
  %3 = graph.constant {value = dense<3> : tensor<1xi64>} : () -> tensor<1xi64>
  %mod = graph.mod %x, %3 : (tensor<3xi64>, tensor<1xi64>) -> tensor<3xi64>
  return %div, %mod : tensor<3xi64>, tensor<3xi64>
}

// -----

// A quotient whose sign is not known stays, and so does a comparison that
// depends on the sizes, a division by zero and an index out of range.

// CHECK-LABEL: @stays
func.func @stays() -> (tensor<1xi64>, tensor<1xi1>, tensor<1xi64>, tensor<1xi64>) {
  // CHECK: graph.div
  // CHECK: graph.less
  // CHECK: graph.div
  // CHECK: graph.gather
  %b = graph.sizes {value = #graph.dims<B + -3>} : () -> tensor<1xi64>
  %2 = graph.constant {value = dense<2> : tensor<1xi64>} : () -> tensor<1xi64>
  %0 = graph.constant {value = dense<0> : tensor<1xi64>} : () -> tensor<1xi64>
  %div = graph.div %b, %2 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %less = graph.less %b, %2 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi1>
  %by0 = graph.div %2, %0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %out = graph.gather %b, %2 {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  return %div, %less, %by0, %out : tensor<1xi64>, tensor<1xi1>, tensor<1xi64>, tensor<1xi64>
}

// -----

// What wraps in the type is no size: it stays for the evaluator.

// CHECK-LABEL: @wraps
func.func @wraps() -> (tensor<i8>, tensor<ui64>, tensor<ui8>) {
  // CHECK: graph.add
  // CHECK: graph.max
  // CHECK: graph.cast
  %100 = graph.constant {value = dense<100> : tensor<i8>} : () -> tensor<i8>
  %sum = graph.add %100, %100 : (tensor<i8>, tensor<i8>) -> tensor<i8>
  %big = graph.constant {value = dense<18446744073709551615> : tensor<ui64>} : () -> tensor<ui64>
  %one = graph.constant {value = dense<1> : tensor<ui64>} : () -> tensor<ui64>
  %max = graph.max %big, %one : (tensor<ui64>, tensor<ui64>) -> tensor<ui64>
  %minus = graph.constant {value = dense<-1> : tensor<i8>} : () -> tensor<i8>
  %cast = graph.cast %minus : (tensor<i8>) -> tensor<ui8>
  return %sum, %max, %cast : tensor<i8>, tensor<ui64>, tensor<ui8>
}

// -----

// Ops that change nothing vanish.

// CHECK-LABEL: @identities
// CHECK-SAME:    %[[X:.*]]: tensor
func.func @identities(%x: tensor<?x3xf32, #graph.dims<B, 3>>) -> tensor<?x3xf32, #graph.dims<B, 3>> {
  // CHECK-NEXT: return %[[X]]
  %0 = graph.reshape %x : (tensor<?x3xf32, #graph.dims<B, 3>>) -> tensor<?x3xf32, #graph.dims<B, 3>>
  %1 = graph.broadcast %0 : (tensor<?x3xf32, #graph.dims<B, 3>>) -> tensor<?x3xf32, #graph.dims<B, 3>>
  %2 = graph.transpose %1 {permutation = array<i64: 0, 1>} : (tensor<?x3xf32, #graph.dims<B, 3>>) -> tensor<?x3xf32, #graph.dims<B, 3>>
  %3 = graph.slice %2 {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<?x3xf32, #graph.dims<B, 3>>) -> tensor<?x3xf32, #graph.dims<B, 3>>
  %4 = graph.concat %3 {axis = 0 : i64} : (tensor<?x3xf32, #graph.dims<B, 3>>) -> tensor<?x3xf32, #graph.dims<B, 3>>
  %5 = graph.cast %4 : (tensor<?x3xf32, #graph.dims<B, 3>>) -> tensor<?x3xf32, #graph.dims<B, 3>>
  return %5 : tensor<?x3xf32, #graph.dims<B, 3>>
}

// -----

// A slice that reverses is none of them.

// CHECK-LABEL: @reversed
func.func @reversed(%x: tensor<3xf32>) -> tensor<3xf32> {
  // CHECK: graph.slice
  %0 = graph.slice %x {starts = #graph.dims<2>, steps = #graph.dims<-1>} : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
