// RUN: tenon-opt %s --store-turned --split-input-file | FileCheck %s

// A convolution whose result only becomes channels first stores it so; equal
// ones share a function, and what nobody calls any more is gone.

// CHECK-LABEL: @twice
// CHECK: %[[Y:.*]] = kernel.call @conv_turned(%{{.*}}, %{{.*}}, %{{.*}}) params <n> {nodes = ["a", "b", "c"]} : {{.*}} -> tensor<?x16x8x8xf32, #graph.dims<n, 16, 8, 8>>
// CHECK: %[[Z:.*]] = kernel.call @conv_turned
// CHECK: return %[[Y]], %[[Z]]
// CHECK-NOT: kernel.func @conv symbols
// CHECK-NOT: kernel.func @transpose
// CHECK: kernel.func @conv_turned symbols ["d0"] layouts ["", "conv16", ""] schedule "DirectConv" geometry <d0, 1, 0>
// CHECK: %[[SUMS:.*]] = graph.add
// CHECK: %[[TURNED:.*]] = graph.transpose %[[SUMS]] {permutation = array<i64: 0, 3, 1, 2>}
// CHECK: kernel.yield %[[TURNED]]
func.func @twice(%x: tensor<?x8x8x2xf32, #graph.dims<n, 8, 8, 2>>, %y: tensor<?x8x8x2xf32, #graph.dims<n, 8, 8, 2>>, %b: tensor<16xf32>) -> (tensor<?x16x8x8xf32, #graph.dims<n, 16, 8, 8>>, tensor<?x16x8x8xf32, #graph.dims<n, 16, 8, 8>>) {
  %w = graph.weight {name = "w"} : () -> tensor<16x2x1x1xf32>
  %0 = kernel.call @conv(%x, %w, %b) params <n> {nodes = ["a", "b"]} : (tensor<?x8x8x2xf32, #graph.dims<n, 8, 8, 2>>, tensor<16x2x1x1xf32>, tensor<16xf32>) -> tensor<?x8x8x16xf32, #graph.dims<n, 8, 8, 16>>
  %1 = kernel.call @transpose(%0) params <n> {nodes = ["c"]} : (tensor<?x8x8x16xf32, #graph.dims<n, 8, 8, 16>>) -> tensor<?x16x8x8xf32, #graph.dims<n, 16, 8, 8>>
  %2 = kernel.call @conv(%y, %w, %b) params <n> : (tensor<?x8x8x2xf32, #graph.dims<n, 8, 8, 2>>, tensor<16x2x1x1xf32>, tensor<16xf32>) -> tensor<?x8x8x16xf32, #graph.dims<n, 8, 8, 16>>
  %3 = kernel.call @transpose(%2) params <n> : (tensor<?x8x8x16xf32, #graph.dims<n, 8, 8, 16>>) -> tensor<?x16x8x8xf32, #graph.dims<n, 16, 8, 8>>
  return %1, %3 : tensor<?x16x8x8xf32, #graph.dims<n, 16, 8, 8>>, tensor<?x16x8x8xf32, #graph.dims<n, 16, 8, 8>>
}
kernel.func @conv symbols ["d0"] layouts ["", "conv16", ""] schedule "DirectConv" geometry <d0, 1, 0> {
^bb0(%0: tensor<?x8x8x2xf32, #graph.dims<d0, 8, 8, 2>>, %1: tensor<16x2x1x1xf32>, %2: tensor<16xf32>):
  %3 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<?x8x8x2xf32, #graph.dims<d0, 8, 8, 2>>, tensor<16x2x1x1xf32>) -> tensor<?x8x8x16xf32, #graph.dims<d0, 8, 8, 16>>
  %4 = graph.add %3, %2 : (tensor<?x8x8x16xf32, #graph.dims<d0, 8, 8, 16>>, tensor<16xf32>) -> tensor<?x8x8x16xf32, #graph.dims<d0, 8, 8, 16>>
  kernel.yield %4 : tensor<?x8x8x16xf32, #graph.dims<d0, 8, 8, 16>>
}
kernel.func @transpose symbols ["d0"] layouts [""] schedule "Generic" geometry <d0, 1, 0> {
^bb0(%0: tensor<?x8x8x16xf32, #graph.dims<d0, 8, 8, 16>>):
  %1 = graph.transpose %0 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<?x8x8x16xf32, #graph.dims<d0, 8, 8, 16>>) -> tensor<?x16x8x8xf32, #graph.dims<d0, 16, 8, 8>>
  kernel.yield %1 : tensor<?x16x8x8xf32, #graph.dims<d0, 16, 8, 8>>
}

// -----

// Must not fire: the result is read as it is, too; other axes move; what is
// added differs from pixel to pixel.

// CHECK-LABEL: @others
// CHECK-NOT: _turned
func.func @others(%x: tensor<1x8x8x2xf32>, %r: tensor<1x8x8x16xf32>) -> (tensor<1x8x8x16xf32>, tensor<1x16x8x8xf32>, tensor<1x8x16x8xf32>, tensor<1x16x8x8xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<16x2x1x1xf32>
  %0 = kernel.call @conv(%x, %w) params <> : (tensor<1x8x8x2xf32>, tensor<16x2x1x1xf32>) -> tensor<1x8x8x16xf32>
  %1 = kernel.call @transpose(%0) params <> : (tensor<1x8x8x16xf32>) -> tensor<1x16x8x8xf32>
  %2 = kernel.call @conv(%x, %w) params <> : (tensor<1x8x8x2xf32>, tensor<16x2x1x1xf32>) -> tensor<1x8x8x16xf32>
  %3 = kernel.call @exchange(%2) params <> : (tensor<1x8x8x16xf32>) -> tensor<1x8x16x8xf32>
  %4 = kernel.call @residual(%x, %w, %r) params <> : (tensor<1x8x8x2xf32>, tensor<16x2x1x1xf32>, tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32>
  %5 = kernel.call @transpose(%4) params <> : (tensor<1x8x8x16xf32>) -> tensor<1x16x8x8xf32>
  return %0, %1, %3, %5 : tensor<1x8x8x16xf32>, tensor<1x16x8x8xf32>, tensor<1x8x16x8xf32>, tensor<1x16x8x8xf32>
}
kernel.func @conv symbols [] layouts ["", "conv16"] schedule "DirectConv" geometry <1, 1, 0> {
^bb0(%0: tensor<1x8x8x2xf32>, %1: tensor<16x2x1x1xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<1x8x8x2xf32>, tensor<16x2x1x1xf32>) -> tensor<1x8x8x16xf32>
  kernel.yield %2 : tensor<1x8x8x16xf32>
}
kernel.func @residual symbols [] layouts ["", "conv16", ""] schedule "DirectConv" geometry <1, 1, 0> {
^bb0(%0: tensor<1x8x8x2xf32>, %1: tensor<16x2x1x1xf32>, %2: tensor<1x8x8x16xf32>):
  %3 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<1x8x8x2xf32>, tensor<16x2x1x1xf32>) -> tensor<1x8x8x16xf32>
  %4 = graph.add %3, %2 : (tensor<1x8x8x16xf32>, tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32>
  kernel.yield %4 : tensor<1x8x8x16xf32>
}
kernel.func @transpose symbols [] layouts [""] schedule "Generic" geometry <128, 32, 0> {
^bb0(%0: tensor<1x8x8x16xf32>):
  %1 = graph.transpose %0 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x8x8x16xf32>) -> tensor<1x16x8x8xf32>
  kernel.yield %1 : tensor<1x16x8x8xf32>
}
kernel.func @exchange symbols [] layouts [""] schedule "Generic" geometry <128, 32, 0> {
^bb0(%0: tensor<1x8x8x16xf32>):
  %1 = graph.transpose %0 {permutation = array<i64: 0, 1, 3, 2>} : (tensor<1x8x8x16xf32>) -> tensor<1x8x16x8xf32>
  kernel.yield %1 : tensor<1x8x16x8xf32>
}

// -----

// Must not fire: another schedule stores it by its own tiles; lines of fewer
// pixels than fill a vector.

// CHECK-LABEL: @tiles
// CHECK-NOT: _turned
func.func @tiles(%x: tensor<1x8x8x2xf32>, %y: tensor<1x4x4x6xf32>) -> (tensor<1x16x8x8xf32>, tensor<1x9x4x4xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<16x2x3x3xf32>
  %v = graph.weight {name = "v"} : () -> tensor<9x2x3x3xf32>
  %0 = kernel.call @winograd(%x, %w) params <> : (tensor<1x8x8x2xf32>, tensor<16x2x3x3xf32>) -> tensor<1x8x8x16xf32>
  %1 = kernel.call @transpose(%0) params <> : (tensor<1x8x8x16xf32>) -> tensor<1x16x8x8xf32>
  %2 = kernel.call @groups(%y, %v) params <> : (tensor<1x4x4x6xf32>, tensor<9x2x3x3xf32>) -> tensor<1x4x4x9xf32>
  %3 = kernel.call @transpose_small(%2) params <> : (tensor<1x4x4x9xf32>) -> tensor<1x9x4x4xf32>
  return %1, %3 : tensor<1x16x8x8xf32>, tensor<1x9x4x4xf32>
}
kernel.func @winograd symbols [] layouts ["", "winograd2"] schedule "WinogradF2" geometry <1, 1, 0> {
^bb0(%0: tensor<1x8x8x2xf32>, %1: tensor<16x2x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, channels_last} : (tensor<1x8x8x2xf32>, tensor<16x2x3x3xf32>) -> tensor<1x8x8x16xf32>
  kernel.yield %2 : tensor<1x8x8x16xf32>
}
kernel.func @groups symbols [] layouts ["", "conv16by3"] schedule "DirectConv" geometry <1, 1, 0> {
^bb0(%0: tensor<1x4x4x6xf32>, %1: tensor<9x2x3x3xf32>):
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 3, channels_last} : (tensor<1x4x4x6xf32>, tensor<9x2x3x3xf32>) -> tensor<1x4x4x9xf32>
  kernel.yield %2 : tensor<1x4x4x9xf32>
}
kernel.func @transpose symbols [] layouts [""] schedule "Generic" geometry <128, 32, 0> {
^bb0(%0: tensor<1x8x8x16xf32>):
  %1 = graph.transpose %0 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x8x8x16xf32>) -> tensor<1x16x8x8xf32>
  kernel.yield %1 : tensor<1x16x8x8xf32>
}
kernel.func @transpose_small symbols [] layouts [""] schedule "Generic" geometry <36, 32, 0> {
^bb0(%0: tensor<1x4x4x9xf32>):
  %1 = graph.transpose %0 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x4x4x9xf32>) -> tensor<1x9x4x4xf32>
  kernel.yield %1 : tensor<1x9x4x4xf32>
}
