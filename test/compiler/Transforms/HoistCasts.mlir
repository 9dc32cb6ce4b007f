// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --hoist-casts --split-input-file | FileCheck %s
// RUN: tenon-opt %s --hoist-casts=products=false --split-input-file | FileCheck %s --check-prefix=OBSERVED

// What is concatenated for products alone is rounded before, once for all that
// read it so.

// CHECK-LABEL: @joined
// CHECK:       %[[X:.*]] = graph.cast %arg0 : (tensor<?x4xf32, {{.*}}>) -> tensor<?x4xbf16
// CHECK-NEXT:  %[[E:.*]] = graph.exp %arg0
// CHECK-NEXT:  %[[Y:.*]] = graph.cast %[[E]] : {{.*}} -> tensor<?x4xbf16
// CHECK-NEXT:  %[[J:.*]] = graph.concat %[[X]], %[[Y]], %[[X]] {axis = 1 : i64} : {{.*}} -> tensor<?x12xbf16
// CHECK-NEXT:  %[[W:.*]] = graph.cast %[[J]] : {{.*}} -> tensor<?x12xf32
// CHECK-NEXT:  %[[V:.*]] = graph.cast %[[X]] : {{.*}} -> tensor<?x4xf32
// CHECK-NEXT:  return %[[W]], %[[V]], %[[E]]
func.func @joined(%x: tensor<?x4xf32, #graph.dims<N, 4>>) -> (tensor<?x12xf32, #graph.dims<N, 12>>, tensor<?x4xf32, #graph.dims<N, 4>>, tensor<?x4xf32, #graph.dims<N, 4>>) {
  %0 = graph.exp %x : (tensor<?x4xf32, #graph.dims<N, 4>>) -> tensor<?x4xf32, #graph.dims<N, 4>>
  %1 = graph.concat %x, %0, %x {axis = 1 : i64} : (tensor<?x4xf32, #graph.dims<N, 4>>, tensor<?x4xf32, #graph.dims<N, 4>>, tensor<?x4xf32, #graph.dims<N, 4>>) -> tensor<?x12xf32, #graph.dims<N, 12>>
  %2 = graph.cast %1 : (tensor<?x12xf32, #graph.dims<N, 12>>) -> tensor<?x12xbf16, #graph.dims<N, 12>>
  %3 = graph.cast %2 : (tensor<?x12xbf16, #graph.dims<N, 12>>) -> tensor<?x12xf32, #graph.dims<N, 12>>
  %4 = graph.cast %x : (tensor<?x4xf32, #graph.dims<N, 4>>) -> tensor<?x4xbf16, #graph.dims<N, 4>>
  %5 = graph.cast %4 : (tensor<?x4xbf16, #graph.dims<N, 4>>) -> tensor<?x4xf32, #graph.dims<N, 4>>
  return %3, %5, %0 : tensor<?x12xf32, #graph.dims<N, 12>>, tensor<?x4xf32, #graph.dims<N, 4>>, tensor<?x4xf32, #graph.dims<N, 4>>
}

// -----

// The largest of windows, where what it reads is also concatenated for a
// product, which comes to light when that has been hoisted.

// CHECK-LABEL: @pooled
// CHECK:       %[[E:.*]] = graph.exp %arg0
// CHECK-NEXT:  %[[X:.*]] = graph.cast %[[E]] : (tensor<1x3x8xf32>) -> tensor<1x3x8xf16>
// CHECK-NEXT:  %[[J:.*]] = graph.concat %[[X]], %[[X]]
// CHECK-NEXT:  %[[P:.*]] = graph.max_pool %[[X]] {{.*}} : (tensor<1x3x8xf16>) -> tensor<1x3x4xf16>
// CHECK-NEXT:  return %[[J]], %[[P]]
func.func @pooled(%x: tensor<1x3x8xf32>) -> (tensor<1x6x8xf16>, tensor<1x3x4xf16>) {
  %0 = graph.exp %x : (tensor<1x3x8xf32>) -> tensor<1x3x8xf32>
  %1 = graph.concat %0, %0 {axis = 1 : i64} : (tensor<1x3x8xf32>, tensor<1x3x8xf32>) -> tensor<1x6x8xf32>
  %2 = graph.cast %1 : (tensor<1x6x8xf32>) -> tensor<1x6x8xf16>
  %3 = graph.max_pool %0 {kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
  %4 = graph.cast %3 : (tensor<1x3x4xf32>) -> tensor<1x3x4xf16>
  return %2, %4 : tensor<1x6x8xf16>, tensor<1x3x4xf16>
}

// -----

// Not where something reads all digits, or another type; not in front of a pool
// whose operand is read in f32 anyway; not whole numbers.

// CHECK-LABEL: @stays
// CHECK-COUNT-2: graph.concat {{.*}} -> tensor<2x8xf32>
// CHECK:         graph.concat {{.*}} -> tensor<2x8xi32>
// CHECK:         graph.max_pool {{.*}} -> tensor<1x1x2xf32>
func.func @stays(%x: tensor<2x4xf32>, %i: tensor<2x4xi32>, %p: tensor<1x1x4xf32>) -> (tensor<2x8xf32>, tensor<2x8xbf16>, tensor<2x8xbf16>, tensor<2x8xf16>, tensor<2x8xf16>, tensor<1x1x2xbf16>, tensor<1x1x4xf32>) {
  %0 = graph.concat %x, %x {axis = 1 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  %1 = graph.cast %0 : (tensor<2x8xf32>) -> tensor<2x8xbf16>
  %2 = graph.concat %x, %x {axis = 1 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  %3 = graph.cast %2 : (tensor<2x8xf32>) -> tensor<2x8xbf16>
  %4 = graph.cast %2 : (tensor<2x8xf32>) -> tensor<2x8xf16>
  %5 = graph.concat %i, %i {axis = 1 : i64} : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x8xi32>
  %6 = graph.cast %5 : (tensor<2x8xi32>) -> tensor<2x8xf16>
  %7 = graph.max_pool %p {kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>} : (tensor<1x1x4xf32>) -> tensor<1x1x2xf32>
  %8 = graph.cast %7 : (tensor<1x1x2xf32>) -> tensor<1x1x2xbf16>
  %9 = graph.exp %p : (tensor<1x1x4xf32>) -> tensor<1x1x4xf32>
  return %0, %1, %3, %4, %6, %8, %9 : tensor<2x8xf32>, tensor<2x8xbf16>, tensor<2x8xbf16>, tensor<2x8xf16>, tensor<2x8xf16>, tensor<1x1x2xbf16>, tensor<1x1x4xf32>
}

// -----

// What is 16 bits already, and was only widened to be joined.

// CHECK-LABEL: @widened
// CHECK-NEXT:  %[[Y:.*]] = graph.cast %arg1 : {{.*}} -> tensor<2x4xbf16>
// CHECK-NEXT:  %[[J:.*]] = graph.concat %arg0, %[[Y]] {{.*}} -> tensor<2x8xbf16>
// CHECK-NEXT:  return %[[J]]
func.func @widened(%x: tensor<2x4xbf16>, %y: tensor<2x4xf32>) -> tensor<2x8xbf16> {
  %0 = graph.cast %x : (tensor<2x4xbf16>) -> tensor<2x4xf32>
  %1 = graph.concat %0, %y {axis = 1 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  %2 = graph.cast %1 : (tensor<2x8xf32>) -> tensor<2x8xbf16>
  return %2 : tensor<2x8xbf16>
}

// -----

// What attention rounds of a product is stored so, whatever renames it; not
// where the product is to be observed as it is.

// OBSERVED-LABEL: @heads
// OBSERVED:       graph.add
// OBSERVED-NEXT:  graph.slice {{.*}} -> tensor<6x8xf32>
// OBSERVED:       graph.transpose {{.*}} -> tensor<2x6x4xf32>
// OBSERVED-NEXT:  graph.cast {{.*}} -> tensor<2x6x4xbf16>

// CHECK-LABEL: @heads
// CHECK:       %[[P:.*]] = graph.matmul
// CHECK-NEXT:  %[[A:.*]] = graph.add %[[P]]
// CHECK-NEXT:  %[[N:.*]] = graph.cast %[[A]] : {{.*}} -> tensor<6x16xbf16>
// CHECK-NEXT:  %[[Q:.*]] = graph.slice %[[N]] {{.*}} -> tensor<6x8xbf16>
// CHECK-NEXT:  %[[R:.*]] = graph.reshape %[[Q]] : {{.*}} -> tensor<6x2x4xbf16>
// CHECK-NEXT:  %[[T:.*]] = graph.transpose %[[R]] {{.*}} -> tensor<2x6x4xbf16>
// CHECK-NEXT:  %[[K:.*]] = graph.slice %[[N]] {{.*}} -> tensor<6x8xbf16>
// CHECK-NEXT:  return %[[T]], %[[K]]
func.func @heads(%x: tensor<6x4xf32>, %w: tensor<4x16xf32>) -> (tensor<2x6x4xbf16>, tensor<6x8xbf16>) {
  %b = graph.weight {name = "b"} : () -> tensor<1x16xf32>
  %0 = graph.matmul %x, %w : (tensor<6x4xf32>, tensor<4x16xf32>) -> tensor<6x16xf32>
  %1 = graph.add %0, %b : (tensor<6x16xf32>, tensor<1x16xf32>) -> tensor<6x16xf32>
  %2 = graph.slice %1 {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<6x16xf32>) -> tensor<6x8xf32>
  %3 = graph.reshape %2 : (tensor<6x8xf32>) -> tensor<6x2x4xf32>
  %4 = graph.transpose %3 {permutation = array<i64: 1, 0, 2>} : (tensor<6x2x4xf32>) -> tensor<2x6x4xf32>
  %5 = graph.cast %4 : (tensor<2x6x4xf32>) -> tensor<2x6x4xbf16>
  %6 = graph.slice %1 {starts = #graph.dims<0, 8>, steps = #graph.dims<1, 1>} : (tensor<6x16xf32>) -> tensor<6x8xf32>
  %7 = graph.cast %6 : (tensor<6x8xf32>) -> tensor<6x8xbf16>
  return %5, %7 : tensor<2x6x4xbf16>, tensor<6x8xbf16>
}

// -----

// Not where a part is read with all digits, or rounded to another type; not of
// what is no product's.

// CHECK-LABEL: @read_exactly
// CHECK-NOT:   -> tensor<6x16xbf16>
// CHECK-NOT:   -> tensor<6x16xf16>
func.func @read_exactly(%x: tensor<6x4xf32>, %w: tensor<4x16xf32>, %y: tensor<6x16xf32>) -> (tensor<6x8xbf16>, tensor<6x8xf32>, tensor<6x8xf16>, tensor<6x8xbf16>) {
  %0 = graph.matmul %x, %w : (tensor<6x4xf32>, tensor<4x16xf32>) -> tensor<6x16xf32>
  %1 = graph.slice %0 {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<6x16xf32>) -> tensor<6x8xf32>
  %2 = graph.cast %1 : (tensor<6x8xf32>) -> tensor<6x8xbf16>
  %3 = graph.slice %0 {starts = #graph.dims<0, 8>, steps = #graph.dims<1, 1>} : (tensor<6x16xf32>) -> tensor<6x8xf32>
  %4 = graph.matmul %x, %w : (tensor<6x4xf32>, tensor<4x16xf32>) -> tensor<6x16xf32>
  %5 = graph.slice %4 {starts = #graph.dims<0, 8>, steps = #graph.dims<1, 1>} : (tensor<6x16xf32>) -> tensor<6x8xf32>
  %6 = graph.cast %5 : (tensor<6x8xf32>) -> tensor<6x8xf16>
  %7 = graph.exp %y : (tensor<6x16xf32>) -> tensor<6x16xf32>
  %8 = graph.slice %7 {starts = #graph.dims<0, 8>, steps = #graph.dims<1, 1>} : (tensor<6x16xf32>) -> tensor<6x8xf32>
  %9 = graph.cast %8 : (tensor<6x8xf32>) -> tensor<6x8xbf16>
  return %2, %3, %6, %9 : tensor<6x8xbf16>, tensor<6x8xf32>, tensor<6x8xf16>, tensor<6x8xbf16>
}

// -----

// Of a convolution, too, behind x * f(x).

// CHECK-LABEL: @maps
// CHECK:       %[[Y:.*]] = graph.mul
// CHECK-NEXT:  %[[N:.*]] = graph.cast %[[Y]] : {{.*}} -> tensor<1x4x4x16xbf16>
// CHECK-NEXT:  %[[A:.*]] = graph.slice %[[N]] {{.*}} -> tensor<1x4x4x8xbf16>
// CHECK-NEXT:  %[[B:.*]] = graph.slice %[[N]] {{.*}} -> tensor<1x4x4x8xbf16>
// CHECK-NEXT:  return %[[A]], %[[B]]
func.func @maps(%x: tensor<1x4x4x8xf32>, %w: tensor<16x8x1x1xf32>) -> (tensor<1x4x4x8xbf16>, tensor<1x4x4x8xbf16>) {
  %0 = graph.conv %x, %w {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<1x4x4x8xf32>, tensor<16x8x1x1xf32>) -> tensor<1x4x4x16xf32>
  %1 = graph.sigmoid %0 : (tensor<1x4x4x16xf32>) -> tensor<1x4x4x16xf32>
  %2 = graph.mul %0, %1 : (tensor<1x4x4x16xf32>, tensor<1x4x4x16xf32>) -> tensor<1x4x4x16xf32>
  %3 = graph.slice %2 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x4x4x16xf32>) -> tensor<1x4x4x8xf32>
  %4 = graph.cast %3 : (tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xbf16>
  %5 = graph.slice %2 {starts = #graph.dims<0, 0, 0, 8>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x4x4x16xf32>) -> tensor<1x4x4x8xf32>
  %6 = graph.cast %5 : (tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xbf16>
  return %4, %6 : tensor<1x4x4x8xbf16>, tensor<1x4x4x8xbf16>
}

// -----

// Not of a convolution that others read as it is, before what follows it.

// CHECK-LABEL: @maps_read
// CHECK-NOT:   -> tensor<1x4x4x16xbf16>
func.func @maps_read(%x: tensor<1x4x4x8xf32>, %w: tensor<16x8x1x1xf32>) -> (tensor<1x4x4x8xbf16>, tensor<1x4x4x16xf32>) {
  %0 = graph.conv %x, %w {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<1x4x4x8xf32>, tensor<16x8x1x1xf32>) -> tensor<1x4x4x16xf32>
  %1 = graph.tanh %0 : (tensor<1x4x4x16xf32>) -> tensor<1x4x4x16xf32>
  %2 = graph.slice %1 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x4x4x16xf32>) -> tensor<1x4x4x8xf32>
  %3 = graph.cast %2 : (tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xbf16>
  return %3, %0 : tensor<1x4x4x8xbf16>, tensor<1x4x4x16xf32>
}

// -----

// An average of what is rounded reads that, and rounds its sums as the cast
// would. What is not rounded is averaged as it is.

// CHECK-LABEL: @averages
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x4x4x8xbf16>, %[[Y:[a-z0-9]+]]: tensor<1x4x4x8xf32>
// CHECK-NEXT:  %[[A:.*]] = graph.average_pool %[[X]] {{.*}} -> tensor<1x2x2x8xbf16>
// CHECK-NEXT:  %[[B:.*]] = graph.average_pool %[[Y]] {{.*}} -> tensor<1x2x2x8xf32>
// CHECK-NEXT:  %[[C:.*]] = graph.cast %[[B]]
// CHECK-NEXT:  return %[[A]], %[[C]]
func.func @averages(%x: tensor<1x4x4x8xbf16>, %y: tensor<1x4x4x8xf32>) -> (tensor<1x2x2x8xbf16>, tensor<1x2x2x8xbf16>) {
  %0 = graph.cast %x : (tensor<1x4x4x8xbf16>) -> tensor<1x4x4x8xf32>
  %1 = graph.average_pool %0 {channels_last, count_pads = false, kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>} : (tensor<1x4x4x8xf32>) -> tensor<1x2x2x8xf32>
  %2 = graph.cast %1 : (tensor<1x2x2x8xf32>) -> tensor<1x2x2x8xbf16>
  %3 = graph.average_pool %y {channels_last, count_pads = false, kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>} : (tensor<1x4x4x8xf32>) -> tensor<1x2x2x8xf32>
  %4 = graph.cast %3 : (tensor<1x2x2x8xf32>) -> tensor<1x2x2x8xbf16>
  return %2, %4 : tensor<1x2x2x8xbf16>, tensor<1x2x2x8xbf16>
}
