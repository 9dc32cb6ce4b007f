// RUN: tenon-opt %s --apply-schedules=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// Vectors lie along the channels, or along neighbours, whose windows are found
// in a line in scratch memory.

// CHECK: kernel.func @pixels {{.*}} schedule "PoolRows" geometry <16 * d0, 139, 0>
kernel.func @pixels symbols ["d0"] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<?x9x9x32xf32, #graph.dims<d0, 9, 9, 32>>):
  %1 = graph.max_pool %0 {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, channels_last} : (tensor<?x9x9x32xf32, #graph.dims<d0, 9, 9, 32>>) -> tensor<?x4x4x32xf32, #graph.dims<d0, 4, 4, 32>>
  kernel.yield %1 : tensor<?x4x4x32xf32, #graph.dims<d0, 4, 4, 32>>
}
// CHECK: kernel.func @lines {{.*}} schedule "PoolRows"
kernel.func @lines symbols ["d0"] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x8x9x?xbf16, #graph.dims<1, 8, 9, d0>>):
  %1 = graph.average_pool %0 {kernel = array<i64: 3, 3>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, count_pads = false} : (tensor<1x8x9x?xbf16, #graph.dims<1, 8, 9, d0>>) -> tensor<1x8x5x?xbf16, #graph.dims<1, 8, 5, d0>>
  kernel.yield %1 : tensor<1x8x5x?xbf16, #graph.dims<1, 8, 5, d0>>
}
// CHECK: kernel.func @far {{.*}} schedule "PoolRows" geometry <8, 1429, 256>
kernel.func @far symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x8x28xf32>):
  %1 = graph.max_pool %0 {kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>} : (tensor<1x8x28xf32>) -> tensor<1x8x14xf32>
  kernel.yield %1 : tensor<1x8x14xf32>
}
// CHECK: kernel.func @many {{.*}} schedule "PoolRows"
kernel.func @many symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x8x90x90xf32>):
  %1 = graph.average_pool %0 {kernel = array<i64: 20, 20>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, count_pads = false} : (tensor<1x8x90x90xf32>) -> tensor<1x8x71x71xf32>
  kernel.yield %1 : tensor<1x8x71x71xf32>
}

// -----

// Windows with gaps between them along the last axis, that are large, of bytes,
// or of an image that the kernel computes, are left to Generic.

// CHECK: kernel.func @gaps {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by PoolRows: there are gaps between neighbouring windows}}
kernel.func @gaps symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x8x12xf32>):
  %1 = graph.max_pool %0 {kernel = array<i64: 2>, strides = array<i64: 3>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>} : (tensor<1x8x12xf32>) -> tensor<1x8x4xf32>
  kernel.yield %1 : tensor<1x8x4xf32>
}
// CHECK: kernel.func @long {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by PoolRows: its windows are large}}
kernel.func @long symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x8x90xf32>):
  %1 = graph.average_pool %0 {kernel = array<i64: 70>, strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, count_pads = false} : (tensor<1x8x90xf32>) -> tensor<1x8x21xf32>
  kernel.yield %1 : tensor<1x8x21xf32>
}
// CHECK: kernel.func @large {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by PoolRows: its windows are large}}
kernel.func @large symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x9x9x32xf32>):
  %1 = graph.average_pool %0 {kernel = array<i64: 9, 9>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, count_pads = false, channels_last} : (tensor<1x9x9x32xf32>) -> tensor<1x1x1x32xf32>
  kernel.yield %1 : tensor<1x1x1x32xf32>
}
// CHECK: kernel.func @bytes {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by PoolRows: its elements are not f32, f16 or bf16}}
kernel.func @bytes symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x8x32xui8>):
  %1 = graph.max_pool %0 {kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, channels_last} : (tensor<1x8x32xui8>) -> tensor<1x4x32xui8>
  kernel.yield %1 : tensor<1x4x32xui8>
}
// CHECK: kernel.func @computed {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by PoolRows: its image is computed in the kernel}}
kernel.func @computed symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x32x8xf32>):
  %1 = graph.transpose %0 {permutation = array<i64: 0, 2, 1>} : (tensor<1x32x8xf32>) -> tensor<1x8x32xf32>
  %2 = graph.max_pool %1 {kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, channels_last} : (tensor<1x8x32xf32>) -> tensor<1x4x32xf32>
  kernel.yield %2 : tensor<1x4x32xf32>
}
// CHECK: kernel.func @column {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by PoolRows: its rows are of one element}}
kernel.func @column symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x8x1xf32>):
  %1 = graph.max_pool %0 {kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, channels_last} : (tensor<1x8x1xf32>) -> tensor<1x4x1xf32>
  kernel.yield %1 : tensor<1x4x1xf32>
}
// CHECK: kernel.func @wide {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by PoolRows: its windows are wide}}
kernel.func @wide symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x8x1048580xf32>):
  %1 = graph.max_pool %0 {kernel = array<i64: 1048577>, strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>} : (tensor<1x8x1048580xf32>) -> tensor<1x8x4xf32>
  kernel.yield %1 : tensor<1x8x4xf32>
}
