// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --find-batch=explain=true --split-input-file 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t

// Images that are convolved, then each reduced.

// CHECK-LABEL: @images
// CHECK-SAME: attributes {graph.batch = ["N"]}
func.func @images(%x: tensor<?x8x8x4xf32, #graph.dims<N, 8, 8, 4>>, %w: tensor<6x4x3x3xf32>) -> tensor<?x6xf32, #graph.dims<N, 6>> {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64, channels_last} : (tensor<?x8x8x4xf32, #graph.dims<N, 8, 8, 4>>, tensor<6x4x3x3xf32>) -> tensor<?x6x6x6xf32, #graph.dims<N, 6, 6, 6>>
  %1 = graph.reduce %0 {axes = array<i64: 1, 2>, kind = #graph<reduce_kind mean>} : (tensor<?x6x6x6xf32, #graph.dims<N, 6, 6, 6>>) -> tensor<?x1x1x6xf32, #graph.dims<N, 1, 1, 6>>
  %2 = graph.reshape %1 : (tensor<?x1x1x6xf32, #graph.dims<N, 1, 1, 6>>) -> tensor<?x6xf32, #graph.dims<N, 6>>
  return %2 : tensor<?x6xf32, #graph.dims<N, 6>>
}

// -----

// Tokens in front of the items, as rows of one product.

// CHECK-LABEL: @tokens_first
// CHECK-SAME: attributes {graph.batch = ["B"]}
func.func @tokens_first(%x: tensor<?x5x8xf32, #graph.dims<B, 5, 8>>, %w: tensor<8x8xf32>) -> tensor<?x5x8xf32, #graph.dims<B, 5, 8>> {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<?x5x8xf32, #graph.dims<B, 5, 8>>) -> tensor<5x?x8xf32, #graph.dims<5, B, 8>>
  %1 = graph.reshape %0 : (tensor<5x?x8xf32, #graph.dims<5, B, 8>>) -> tensor<?x8xf32, #graph.dims<5 * B, 8>>
  %2 = graph.matmul %1, %w : (tensor<?x8xf32, #graph.dims<5 * B, 8>>, tensor<8x8xf32>) -> tensor<?x8xf32, #graph.dims<5 * B, 8>>
  %3 = graph.reshape %2 : (tensor<?x8xf32, #graph.dims<5 * B, 8>>) -> tensor<5x?x8xf32, #graph.dims<5, B, 8>>
  %4 = graph.transpose %3 {permutation = array<i64: 1, 0, 2>} : (tensor<5x?x8xf32, #graph.dims<5, B, 8>>) -> tensor<?x5x8xf32, #graph.dims<B, 5, 8>>
  return %4 : tensor<?x5x8xf32, #graph.dims<B, 5, 8>>
}

// -----

// A mask that has items for more than the batch, as two nodes require, and a
// bias that all share.

// CHECK-LABEL: @longer_mask
// CHECK-SAME: attributes {graph.batch = ["B", "M"]}
func.func @longer_mask(%x: tensor<?x8xf32, #graph.dims<B, 8>>, %m: tensor<?x8xi1, #graph.dims<M, 8>>, %b: tensor<8xf32>) -> tensor<?x8xf32, #graph.dims<B, 8>> {
  graph.require {sizes = #graph.dims<B, M>, relation = #graph<relation less_equal>, message = "the mask must cover the batch"} : () -> ()
  graph.require {sizes = #graph.dims<B, M>, relation = #graph<relation less_equal>, message = "here as well"} : () -> ()
  %0 = graph.slice %m {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<?x8xi1, #graph.dims<M, 8>>) -> tensor<?x8xi1, #graph.dims<B, 8>>
  %1 = graph.select %0, %x, %b : (tensor<?x8xi1, #graph.dims<B, 8>>, tensor<?x8xf32, #graph.dims<B, 8>>, tensor<8xf32>) -> tensor<?x8xf32, #graph.dims<B, 8>>
  return %1 : tensor<?x8xf32, #graph.dims<B, 8>>
}

// -----

// Four windows of an image count the biases of attention anew.

// CHECK-LABEL: @windows
// CHECK-SAME: attributes {graph.batch = ["B"]}
func.func @windows(%x: tensor<?x4x2x9x8xf32, #graph.dims<B, 4, 2, 9, 8>>, %b: tensor<4x1x9x9xf32>) -> tensor<?x2x9x8xf32, #graph.dims<4 * B, 2, 9, 8>> {
  %0 = graph.reshape %x : (tensor<?x4x2x9x8xf32, #graph.dims<B, 4, 2, 9, 8>>) -> tensor<?x2x9x8xf32, #graph.dims<4 * B, 2, 9, 8>>
  %1 = graph.attention %0, %0, %0, %b {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>, scale = 1.0 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<?x2x9x8xf32, #graph.dims<4 * B, 2, 9, 8>>, tensor<?x2x9x8xf32, #graph.dims<4 * B, 2, 9, 8>>, tensor<?x2x9x8xf32, #graph.dims<4 * B, 2, 9, 8>>, tensor<4x1x9x9xf32>) -> tensor<?x2x9x8xf32, #graph.dims<4 * B, 2, 9, 8>>
  return %1 : tensor<?x2x9x8xf32, #graph.dims<4 * B, 2, 9, 8>>
}

// -----

// Not if a bias is for more than an item.

// CHECK-LABEL: @biases_of_two
// CHECK-NOT: graph.batch
// WHY: all of B runs at once: attention is not known to keep apart what that counts
func.func @biases_of_two(%x: tensor<?x3x2x9x8xf32, #graph.dims<B, 3, 2, 9, 8>>, %b: tensor<2x1x9x9xf32>) -> tensor<?x2x9x8xf32, #graph.dims<3 * B, 2, 9, 8>> {
  %0 = graph.reshape %x : (tensor<?x3x2x9x8xf32, #graph.dims<B, 3, 2, 9, 8>>) -> tensor<?x2x9x8xf32, #graph.dims<3 * B, 2, 9, 8>>
  %1 = graph.attention %0, %0, %0, %b {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>, scale = 1.0 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<?x2x9x8xf32, #graph.dims<3 * B, 2, 9, 8>>, tensor<?x2x9x8xf32, #graph.dims<3 * B, 2, 9, 8>>, tensor<?x2x9x8xf32, #graph.dims<3 * B, 2, 9, 8>>, tensor<2x1x9x9xf32>) -> tensor<?x2x9x8xf32, #graph.dims<3 * B, 2, 9, 8>>
  return %1 : tensor<?x2x9x8xf32, #graph.dims<3 * B, 2, 9, 8>>
}

// -----

// Not if items are added up,

// CHECK-LABEL: @sums
// CHECK-NOT: graph.batch
// WHY: all of B runs at once: reduce is not known to keep apart what that counts
func.func @sums(%x: tensor<?x8xf32, #graph.dims<B, 8>>) -> tensor<?x8xf32, #graph.dims<B, 8>> {
  %0 = graph.reduce %x {axes = array<i64: 0>, kind = #graph<reduce_kind sum>} : (tensor<?x8xf32, #graph.dims<B, 8>>) -> tensor<1x8xf32>
  %1 = graph.sub %x, %0 : (tensor<?x8xf32, #graph.dims<B, 8>>, tensor<1x8xf32>) -> tensor<?x8xf32, #graph.dims<B, 8>>
  return %1 : tensor<?x8xf32, #graph.dims<B, 8>>
}

// -----

// counted,

// CHECK-LABEL: @count
// CHECK-NOT: graph.batch
// WHY: all of B runs at once: sizes is not known to keep apart what that counts
func.func @count(%x: tensor<?x8xi64, #graph.dims<B, 8>>) -> tensor<?x8xi64, #graph.dims<B, 8>> {
  %0 = graph.sizes {value = #graph.dims<B>} : () -> tensor<1xi64>
  %1 = graph.mul %x, %0 : (tensor<?x8xi64, #graph.dims<B, 8>>, tensor<1xi64>) -> tensor<?x8xi64, #graph.dims<B, 8>>
  return %1 : tensor<?x8xi64, #graph.dims<B, 8>>
}

// -----

// numbered,

// CHECK-LABEL: @numbers
// CHECK-NOT: graph.batch
// WHY: all of B runs at once: iota is not known to keep apart what that counts
func.func @numbers(%x: tensor<?xi64, #graph.dims<B>>) -> tensor<?xi64, #graph.dims<B>> {
  %0 = graph.iota : () -> tensor<?xi64, #graph.dims<B>>
  %1 = graph.add %x, %0 : (tensor<?xi64, #graph.dims<B>>, tensor<?xi64, #graph.dims<B>>) -> tensor<?xi64, #graph.dims<B>>
  return %1 : tensor<?xi64, #graph.dims<B>>
}

// -----

// or some are left out.

// CHECK-LABEL: @but_one
// CHECK-NOT: graph.batch
// WHY: all of B runs at once: slice is not known to keep apart what that counts
func.func @but_one(%x: tensor<?x8xf32, #graph.dims<B, 8>>) -> tensor<?x8xf32, #graph.dims<B + -1, 8>> {
  %0 = graph.slice %x {starts = #graph.dims<1, 0>, steps = #graph.dims<1, 1>} : (tensor<?x8xf32, #graph.dims<B, 8>>) -> tensor<?x8xf32, #graph.dims<B + -1, 8>>
  return %0 : tensor<?x8xf32, #graph.dims<B + -1, 8>>
}

// -----

// Not if they do not lie one behind the other where they come in or go out.

// CHECK-LABEL: @in_columns
// CHECK-NOT: graph.batch
// WHY: all of B runs at once: in an output it is not the first axis
func.func @in_columns(%x: tensor<?x8xf32, #graph.dims<B, 8>>) -> tensor<8x?xf32, #graph.dims<8, B>> {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<?x8xf32, #graph.dims<B, 8>>) -> tensor<8x?xf32, #graph.dims<8, B>>
  return %0 : tensor<8x?xf32, #graph.dims<8, B>>
}

// -----

// CHECK-LABEL: @behind_tokens
// CHECK-NOT: graph.batch
// WHY: all of B runs at once: in an output it is not the first axis
func.func @behind_tokens(%x: tensor<?x5x8xf32, #graph.dims<B, 5, 8>>) -> tensor<?x8xf32, #graph.dims<5 * B, 8>> {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<?x5x8xf32, #graph.dims<B, 5, 8>>) -> tensor<5x?x8xf32, #graph.dims<5, B, 8>>
  %1 = graph.reshape %0 : (tensor<5x?x8xf32, #graph.dims<5, B, 8>>) -> tensor<?x8xf32, #graph.dims<5 * B, 8>>
  return %1 : tensor<?x8xf32, #graph.dims<5 * B, 8>>
}

// -----

// CHECK-LABEL: @twice_in_an_input
// CHECK-NOT: graph.batch
// WHY: all of B runs at once: in an input it is not the first axis alone
func.func @twice_in_an_input(%x: tensor<?x?xf32, #graph.dims<B, B>>) -> tensor<?x?xf32, #graph.dims<B, B>> {
  %0 = graph.exp %x : (tensor<?x?xf32, #graph.dims<B, B>>) -> tensor<?x?xf32, #graph.dims<B, B>>
  return %0 : tensor<?x?xf32, #graph.dims<B, B>>
}

// -----

// Not of caches, which lie as an app keeps them.

// CHECK-LABEL: @cache
// CHECK-NOT: graph.batch
// WHY: a batch runs at once: caches lie as an app keeps them
func.func @cache(%past: tensor<?x?x8xf32, #graph.dims<B, room0, 8>> {graph.dims = #graph.dims<B, P, 8>}, %k: tensor<?x1x8xf32, #graph.dims<B, 1, 8>>) -> (tensor<?x?x8xf32, #graph.dims<B, room1, 8>> {graph.appends_to = 0 : i64, graph.dims = #graph.dims<B, P + 1, 8>}) {
  %0 = graph.append %past, %k {axis = 1 : i64, length = #graph.dims<P>} : (tensor<?x?x8xf32, #graph.dims<B, room0, 8>>, tensor<?x1x8xf32, #graph.dims<B, 1, 8>>) -> tensor<?x?x8xf32, #graph.dims<B, room1, 8>>
  return %0 : tensor<?x?x8xf32, #graph.dims<B, room1, 8>>
}
