// RUN: tenon-opt %s --channels-last=explain=1 --simplify --split-input-file --verify-diagnostics | FileCheck %s

// A network in miniature: of all transposes one is left, at the input.

// CHECK-LABEL: @network
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x3x9x9xf32
func.func @network(%x: tensor<?x3x9x9xf32, #graph.dims<B, 3, 9, 9>>) -> tensor<?x5xf32, #graph.dims<B, 5>> {
  %w = graph.weight {name = "w"} : () -> tensor<4x3x3x3xf32>
  %v = graph.weight {name = "v"} : () -> tensor<4x1x3x3xf32>
  %b = graph.weight {name = "b"} : () -> tensor<1x4x1x1xf32>
  %c = graph.weight {name = "c"} : () -> tensor<4x1x1xf32>
  %f = graph.weight {name = "f"} : () -> tensor<4x5xf32>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  // CHECK:      %[[T:.*]] = graph.transpose %[[X]] {permutation = array<i64: 0, 2, 3, 1>}
  // CHECK-NEXT: %[[CONV:.*]] = graph.conv %[[T]], {{.*}} {channels_last, {{.*}}pads = #graph.dims<1, 1, 1, 1>, strides = array<i64: 2, 2>}
  // expected-remark @+1 {{transpose stays between an input of the model and 'graph.conv'}}
  %0 = graph.conv %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1 : i64} : (tensor<?x3x9x9xf32, #graph.dims<B, 3, 9, 9>>, tensor<4x3x3x3xf32>) -> tensor<?x4x5x5xf32, #graph.dims<B, 4, 5, 5>>
  // CHECK:      %[[BIAS:.*]] = graph.reshape {{.*}} : (tensor<1x4x1x1xf32>) -> tensor<1x1x1x4xf32>
  // CHECK:      %[[ADD:.*]] = graph.add %[[CONV]], %[[BIAS]]
  // CHECK:      %[[RELU:.*]] = graph.max %[[ADD]]
  %1 = graph.add %0, %b : (tensor<?x4x5x5xf32, #graph.dims<B, 4, 5, 5>>, tensor<1x4x1x1xf32>) -> tensor<?x4x5x5xf32, #graph.dims<B, 4, 5, 5>>
  %2 = graph.max %1, %zero : (tensor<?x4x5x5xf32, #graph.dims<B, 4, 5, 5>>, tensor<f32>) -> tensor<?x4x5x5xf32, #graph.dims<B, 4, 5, 5>>
  // CHECK:      %[[DEPTH:.*]] = graph.conv %[[RELU]], {{.*}} {channels_last, {{.*}}group = 4
  // CHECK:      %[[SCALE:.*]] = graph.reshape {{.*}} : (tensor<4x1x1xf32>) -> tensor<4xf32>
  // CHECK:      %[[MUL:.*]] = graph.mul %[[DEPTH]], %[[SCALE]]
  // CHECK:      %[[SUM:.*]] = graph.add %[[MUL]], %[[RELU]]
  %3 = graph.conv %2, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 4 : i64} : (tensor<?x4x5x5xf32, #graph.dims<B, 4, 5, 5>>, tensor<4x1x3x3xf32>) -> tensor<?x4x5x5xf32, #graph.dims<B, 4, 5, 5>>
  %4 = graph.mul %3, %c : (tensor<?x4x5x5xf32, #graph.dims<B, 4, 5, 5>>, tensor<4x1x1xf32>) -> tensor<?x4x5x5xf32, #graph.dims<B, 4, 5, 5>>
  %5 = graph.add %4, %2 : (tensor<?x4x5x5xf32, #graph.dims<B, 4, 5, 5>>, tensor<?x4x5x5xf32, #graph.dims<B, 4, 5, 5>>) -> tensor<?x4x5x5xf32, #graph.dims<B, 4, 5, 5>>
  // CHECK:      %[[POOL:.*]] = graph.max_pool %[[SUM]] {channels_last,
  // CHECK:      %[[MEAN:.*]] = graph.reduce %[[POOL]] {axes = array<i64: 1, 2>
  // CHECK:      %[[FLAT:.*]] = graph.reshape %[[MEAN]]
  // CHECK:      %[[Y:.*]] = graph.matmul %[[FLAT]]
  // CHECK-NEXT: return %[[Y]]
  %6 = graph.max_pool %5 {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>} : (tensor<?x4x5x5xf32, #graph.dims<B, 4, 5, 5>>) -> tensor<?x4x2x2xf32, #graph.dims<B, 4, 2, 2>>
  %7 = graph.reduce %6 {axes = array<i64: 2, 3>, kind = #graph<reduce_kind mean>} : (tensor<?x4x2x2xf32, #graph.dims<B, 4, 2, 2>>) -> tensor<?x4x1x1xf32, #graph.dims<B, 4, 1, 1>>
  %8 = graph.reshape %7 : (tensor<?x4x1x1xf32, #graph.dims<B, 4, 1, 1>>) -> tensor<?x4xf32, #graph.dims<B, 4>>
  %9 = graph.matmul %8, %f : (tensor<?x4xf32, #graph.dims<B, 4>>, tensor<4x5xf32>) -> tensor<?x5xf32, #graph.dims<B, 5>>
  return %9 : tensor<?x5xf32, #graph.dims<B, 5>>
}

// -----

// A gate reads the same value twice: all of it moves, or nothing would.

// CHECK-LABEL: @gate
// CHECK-NOT: graph.transpose
// CHECK:     %[[C:.*]] = graph.conv
// CHECK:     %[[S:.*]] = graph.sigmoid %[[C]]
// CHECK:     %[[M:.*]] = graph.mul %[[C]], %[[S]]
// CHECK:     %[[P:.*]] = graph.concat %[[C]], %[[M]] {axis = 3 : i64}
// CHECK:     %[[L:.*]] = graph.slice %[[P]] {starts = #graph.dims<0, 0, 0, 1>
// CHECK:     %[[Y:.*]] = graph.softmax %[[L]] {axis = 3 : i64}
// CHECK:     return %[[Y]]
func.func @gate(%x: tensor<1x5x5x3xf32>, %w: tensor<4x3x1x1xf32>) -> tensor<1x5x5x7xf32> {
  %t = graph.transpose %x {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x5x5x3xf32>) -> tensor<1x3x5x5xf32>
  %0 = graph.conv %t, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<1x3x5x5xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x5x5xf32>
  %1 = graph.sigmoid %0 : (tensor<1x4x5x5xf32>) -> tensor<1x4x5x5xf32>
  %2 = graph.mul %0, %1 : (tensor<1x4x5x5xf32>, tensor<1x4x5x5xf32>) -> tensor<1x4x5x5xf32>
  %3 = graph.concat %0, %2 {axis = 1 : i64} : (tensor<1x4x5x5xf32>, tensor<1x4x5x5xf32>) -> tensor<1x8x5x5xf32>
  %4 = graph.slice %3 {starts = #graph.dims<0, 1, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x8x5x5xf32>) -> tensor<1x7x5x5xf32>
  %5 = graph.softmax %4 {axis = 1 : i64} : (tensor<1x7x5x5xf32>) -> tensor<1x7x5x5xf32>
  %6 = graph.transpose %5 {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x7x5x5xf32>) -> tensor<1x5x5x7xf32>
  return %6 : tensor<1x5x5x7xf32>
}

// -----

// Patches become tokens without a transpose: the reshape merges the places.

// CHECK-LABEL: @patches
// CHECK:     %[[T:.*]] = graph.transpose
// CHECK:     %[[C:.*]] = graph.conv %[[T]]
// CHECK:     %[[Y:.*]] = graph.reshape %[[C]] : ({{.*}}) -> tensor<?x16x6xf32, #graph.dims<B, 16, 6>>
// CHECK:     return %[[Y]]
func.func @patches(%x: tensor<?x3x8x8xf32, #graph.dims<B, 3, 8, 8>>, %w: tensor<6x3x2x2xf32>) -> tensor<?x16x6xf32, #graph.dims<B, 16, 6>> {
  // expected-remark @+1 {{transpose stays between an input of the model and 'graph.conv'}}
  %0 = graph.conv %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<?x3x8x8xf32, #graph.dims<B, 3, 8, 8>>, tensor<6x3x2x2xf32>) -> tensor<?x6x4x4xf32, #graph.dims<B, 6, 4, 4>>
  %1 = graph.reshape %0 : (tensor<?x6x4x4xf32, #graph.dims<B, 6, 4, 4>>) -> tensor<?x6x16xf32, #graph.dims<B, 6, 16>>
  %2 = graph.transpose %1 {permutation = array<i64: 0, 2, 1>} : (tensor<?x6x16xf32, #graph.dims<B, 6, 16>>) -> tensor<?x16x6xf32, #graph.dims<B, 16, 6>>
  return %2 : tensor<?x16x6xf32, #graph.dims<B, 16, 6>>
}

// -----

// A weight behind a flattened image has its rows put in the image's order.

// CHECK-LABEL: @flatten
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor
// CHECK:     %[[W:.*]] = graph.weight {name = "f"}
// CHECK:     %[[C:.*]] = graph.conv %[[X]]
// CHECK:     %[[R:.*]] = graph.reshape %[[W]] : (tensor<24x5xf32>) -> tensor<4x2x3x5xf32>
// CHECK:     %[[T:.*]] = graph.transpose %[[R]] {permutation = array<i64: 1, 2, 0, 3>}
// CHECK:     %[[V:.*]] = graph.reshape %[[T]] : (tensor<2x3x4x5xf32>) -> tensor<24x5xf32>
// CHECK:     %[[F:.*]] = graph.reshape %[[C]] : (tensor<1x2x3x4xf32>) -> tensor<1x24xf32>
// CHECK:     graph.matmul %[[F]], %[[V]]
func.func @flatten(%x: tensor<1x2x3x3xf32>, %w: tensor<4x3x1x1xf32>) -> tensor<1x5xf32> {
  %f = graph.weight {name = "f"} : () -> tensor<24x5xf32>
  %t = graph.transpose %x {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x2x3x3xf32>) -> tensor<1x3x2x3xf32>
  %0 = graph.conv %t, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<1x3x2x3xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x2x3xf32>
  %1 = graph.reshape %0 : (tensor<1x4x2x3xf32>) -> tensor<1x24xf32>
  %2 = graph.matmul %1, %f : (tensor<1x24xf32>, tensor<24x5xf32>) -> tensor<1x5xf32>
  return %2 : tensor<1x5xf32>
}

// -----

// A signal has one axis of places.

// CHECK-LABEL: @signal
// CHECK-NOT: graph.transpose
// CHECK:     graph.conv {{.*}} {channels_last
// CHECK:     graph.gelu
// CHECK:     graph.conv {{.*}} {channels_last
// CHECK:     return
func.func @signal(%x: tensor<1x9x3xf32>, %w: tensor<4x3x3xf32>, %v: tensor<4x4x3xf32>) -> tensor<1x9x4xf32> {
  %t = graph.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<1x9x3xf32>) -> tensor<1x3x9xf32>
  %0 = graph.conv %t, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<1, 1>, group = 1 : i64} : (tensor<1x3x9xf32>, tensor<4x3x3xf32>) -> tensor<1x4x9xf32>
  %1 = graph.gelu %0 {kind = #graph<gelu_kind erf>} : (tensor<1x4x9xf32>) -> tensor<1x4x9xf32>
  %2 = graph.conv %1, %v {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<1, 1>, group = 1 : i64} : (tensor<1x4x9xf32>, tensor<4x4x3xf32>) -> tensor<1x4x9xf32>
  %3 = graph.transpose %2 {permutation = array<i64: 0, 2, 1>} : (tensor<1x4x9xf32>) -> tensor<1x9x4xf32>
  return %3 : tensor<1x9x4xf32>
}

// -----

// Integers have no kernels with channels last.

// CHECK-LABEL: @integers
// CHECK-NOT: channels_last
// CHECK-NOT: graph.transpose
func.func @integers(%x: tensor<1x3x5x5xi32>, %w: tensor<4x3x1x1xi32>) -> tensor<1x4x5x5xi32> {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<1x3x5x5xi32>, tensor<4x3x1x1xi32>) -> tensor<1x4x5x5xi32>
  return %0 : tensor<1x4x5x5xi32>
}

// -----

// A transpose that its other user needs stays where it is; a sum with what
// has its axes in the old order would need another one; a softmax along the
// last axis does not leave it.

// CHECK-LABEL: @stays
// CHECK:     %[[C:.*]] = graph.conv
// CHECK:     %[[T:.*]] = graph.transpose %[[C]] {permutation = array<i64: 0, 3, 1, 2>}
// CHECK:     %[[S:.*]] = graph.softmax %[[T]] {axis = 3 : i64}
// CHECK:     %[[A:.*]] = graph.add %[[T]], %{{.*}}
// CHECK:     return %[[T]], %[[S]], %[[A]]
func.func @stays(%x: tensor<1x5x5x3xf32>, %w: tensor<4x3x1x1xf32>, %z: tensor<1x4x5x5xf32>) -> (tensor<1x4x5x5xf32>, tensor<1x4x5x5xf32>, tensor<1x4x5x5xf32>) {
  %t = graph.transpose %x {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x5x5x3xf32>) -> tensor<1x3x5x5xf32>
  // expected-remark @+1 {{transpose stays between 'graph.conv' and 'graph.softmax'}}
  %0 = graph.conv %t, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<1x3x5x5xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x5x5xf32>
  %1 = graph.softmax %0 {axis = 3 : i64} : (tensor<1x4x5x5xf32>) -> tensor<1x4x5x5xf32>
  %2 = graph.add %0, %z : (tensor<1x4x5x5xf32>, tensor<1x4x5x5xf32>) -> tensor<1x4x5x5xf32>
  return %0, %1, %2 : tensor<1x4x5x5xf32>, tensor<1x4x5x5xf32>, tensor<1x4x5x5xf32>
}

// -----

// Without a convolution nothing is moved.

// CHECK-LABEL: @pool_alone
// CHECK-NOT: channels_last
// CHECK-NOT: graph.transpose
func.func @pool_alone(%x: tensor<1x3x8xf32>) -> tensor<1x3x4xf32> {
  %0 = graph.max_pool %x {kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
  return %0 : tensor<1x3x4xf32>
}

// -----

// Convolutions of bytes pass them on as they lie; one of other integers, which
// has no kernel that would gain, stays.

// CHECK-LABEL: @bytes
// CHECK:      graph.conv {{.*}} {channels_last,
// CHECK-NEXT: %[[Q:.*]] = graph.cast {{.*}} -> tensor<1x4x4x4xi8>
// CHECK-NEXT: graph.cast %[[Q]]
// CHECK-NEXT: graph.conv {{.*}} {channels_last,
func.func @bytes(%x: tensor<1x3x6x6xui8>) -> tensor<1x5x2x2xi32> {
  %w = graph.weight {name = "w"} : () -> tensor<4x3x3x3xi8>
  %v = graph.weight {name = "v"} : () -> tensor<5x4x3x3xi8>
  %0 = graph.cast %w : (tensor<4x3x3x3xi8>) -> tensor<4x3x3x3xi32>
  %1 = graph.cast %v : (tensor<5x4x3x3xi8>) -> tensor<5x4x3x3xi32>
  %2 = graph.cast %x : (tensor<1x3x6x6xui8>) -> tensor<1x3x6x6xi32>
  // expected-remark @+1 {{transpose stays between}}
  %3 = graph.conv %2, %0 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<1x3x6x6xi32>, tensor<4x3x3x3xi32>) -> tensor<1x4x4x4xi32>
  %4 = graph.cast %3 : (tensor<1x4x4x4xi32>) -> tensor<1x4x4x4xi8>
  %5 = graph.cast %4 : (tensor<1x4x4x4xi8>) -> tensor<1x4x4x4xi32>
  // expected-remark @+1 {{transpose stays between}}
  %6 = graph.conv %5, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<1x4x4x4xi32>, tensor<5x4x3x3xi32>) -> tensor<1x5x2x2xi32>
  return %6 : tensor<1x5x2x2xi32>
}

// CHECK-LABEL: @integers
// CHECK-NOT: channels_last
func.func @integers(%x: tensor<1x3x6x6xi32>) -> tensor<1x4x4x4xi32> {
  %w = graph.weight {name = "u"} : () -> tensor<4x3x3x3xi32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<1x3x6x6xi32>, tensor<4x3x3x3xi32>) -> tensor<1x4x4x4xi32>
  return %0 : tensor<1x4x4x4xi32>
}

// -----

// Channels that are shuffled between two convolutions move once, also where
// they are put together before and cut in two behind.

// CHECK-LABEL: @shuffle
// CHECK-NOT: graph.transpose
// CHECK:     %[[C:.*]] = graph.conv
// CHECK:     %[[A:.*]] = graph.concat %[[C]], %[[C]] {axis = 3 : i64}
// CHECK:     %[[G:.*]] = graph.reshape %[[A]] : ({{.*}}) -> tensor<?x5x5x2x8xf32
// CHECK:     %[[T:.*]] = graph.transpose %[[G]] {permutation = array<i64: 0, 1, 2, 4, 3>}
// CHECK:     %[[R:.*]] = graph.reshape %[[T]] : ({{.*}}) -> tensor<?x5x5x16xf32
// CHECK-DAG: %[[L:.*]] = graph.slice %[[R]] {starts = #graph.dims<0, 0, 0, 0>
// CHECK-DAG: %[[H:.*]] = graph.slice %[[R]] {starts = #graph.dims<0, 0, 0, 8>
// CHECK-NOT: graph.transpose
// CHECK:     %[[D:.*]] = graph.conv %[[H]]
// CHECK-NOT: graph.transpose
// CHECK:     graph.add %[[L]], %[[D]]
func.func @shuffle(%x: tensor<?x1x7x7xf32, #graph.dims<N, 1, 7, 7>>) -> tensor<?x1x1x1xf32, #graph.dims<N, 1, 1, 1>> {
  %w = graph.weight {name = "w"} : () -> tensor<8x1x3x3xf32>
  %v = graph.weight {name = "v"} : () -> tensor<8x8x3x3xf32>
  %u = graph.weight {name = "u"} : () -> tensor<1x8x5x5xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1} : (tensor<?x1x7x7xf32, #graph.dims<N, 1, 7, 7>>, tensor<8x1x3x3xf32>) -> tensor<?x8x5x5xf32, #graph.dims<N, 8, 5, 5>>
  %1 = graph.concat %0, %0 {axis = 1 : i64} : (tensor<?x8x5x5xf32, #graph.dims<N, 8, 5, 5>>, tensor<?x8x5x5xf32, #graph.dims<N, 8, 5, 5>>) -> tensor<?x16x5x5xf32, #graph.dims<N, 16, 5, 5>>
  %2 = graph.reshape %1 : (tensor<?x16x5x5xf32, #graph.dims<N, 16, 5, 5>>) -> tensor<?x2x8x5x5xf32, #graph.dims<N, 2, 8, 5, 5>>
  %3 = graph.transpose %2 {permutation = array<i64: 0, 2, 1, 3, 4>} : (tensor<?x2x8x5x5xf32, #graph.dims<N, 2, 8, 5, 5>>) -> tensor<?x8x2x5x5xf32, #graph.dims<N, 8, 2, 5, 5>>
  %4 = graph.reshape %3 : (tensor<?x8x2x5x5xf32, #graph.dims<N, 8, 2, 5, 5>>) -> tensor<?x16x5x5xf32, #graph.dims<N, 16, 5, 5>>
  %5 = graph.slice %4 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x16x5x5xf32, #graph.dims<N, 16, 5, 5>>) -> tensor<?x8x5x5xf32, #graph.dims<N, 8, 5, 5>>
  %6 = graph.slice %4 {starts = #graph.dims<0, 8, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x16x5x5xf32, #graph.dims<N, 16, 5, 5>>) -> tensor<?x8x5x5xf32, #graph.dims<N, 8, 5, 5>>
  %7 = graph.conv %6, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1} : (tensor<?x8x5x5xf32, #graph.dims<N, 8, 5, 5>>, tensor<8x8x3x3xf32>) -> tensor<?x8x5x5xf32, #graph.dims<N, 8, 5, 5>>
  %8 = graph.add %5, %7 : (tensor<?x8x5x5xf32, #graph.dims<N, 8, 5, 5>>, tensor<?x8x5x5xf32, #graph.dims<N, 8, 5, 5>>) -> tensor<?x8x5x5xf32, #graph.dims<N, 8, 5, 5>>
  %9 = graph.conv %8, %u {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1} : (tensor<?x8x5x5xf32, #graph.dims<N, 8, 5, 5>>, tensor<1x8x5x5xf32>) -> tensor<?x1x1x1xf32, #graph.dims<N, 1, 1, 1>>
  return %9 : tensor<?x1x1x1xf32, #graph.dims<N, 1, 1, 1>>
}

// -----

// A depth that is put beside the channels is turned once: between both turns
// axes are only merged.

// CHECK-LABEL: @merge
// CHECK:     %[[C:.*]] = graph.conv
// CHECK-NOT: graph.transpose
// CHECK:     %[[G:.*]] = graph.reshape %[[C]]
// CHECK:     %[[T:.*]] = graph.transpose %[[G]]
// CHECK:     %[[R:.*]] = graph.reshape %[[T]]
// CHECK:     graph.conv %[[R]]
// CHECK-NOT: graph.transpose
func.func @merge(%x: tensor<1x1x6x6xf32>) -> tensor<1x1x2x2xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<3x1x3x3xf32>
  %v = graph.weight {name = "v"} : () -> tensor<1x12x1x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1} : (tensor<1x1x6x6xf32>, tensor<3x1x3x3xf32>) -> tensor<1x3x4x4xf32>
  %1 = graph.reshape %0 : (tensor<1x3x4x4xf32>) -> tensor<1x3x2x2x2x2xf32>
  // expected-remark@+1 {{transpose stays between 'graph.reshape' and 'graph.reshape'}}
  %2 = graph.transpose %1 {permutation = array<i64: 0, 3, 5, 1, 2, 4>} : (tensor<1x3x2x2x2x2xf32>) -> tensor<1x2x2x3x2x2xf32>
  %3 = graph.reshape %2 : (tensor<1x2x2x3x2x2xf32>) -> tensor<1x12x2x2xf32>
  %4 = graph.conv %3, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1} : (tensor<1x12x2x2xf32>, tensor<1x12x1x1xf32>) -> tensor<1x1x2x2xf32>
  return %4 : tensor<1x1x2x2xf32>
}

// -----

// What mixes axes before they are turned is no merge: both turns stay.

// CHECK-LABEL: @mixes
// CHECK-COUNT-2: graph.transpose
func.func @mixes(%x: tensor<1x1x7x7xf32>) -> tensor<1x1x3x2xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<6x1x3x3xf32>
  %v = graph.weight {name = "v"} : () -> tensor<1x10x1x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1} : (tensor<1x1x7x7xf32>, tensor<6x1x3x3xf32>) -> tensor<1x6x5x5xf32>
  // expected-remark@+1 {{transpose stays between 'graph.slice' and 'graph.reshape'}}
  %1 = graph.slice %0 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x6x5x5xf32>) -> tensor<1x6x5x2xf32>
  %2 = graph.reshape %1 : (tensor<1x6x5x2xf32>) -> tensor<1x10x3x2xf32>
  // expected-remark@+1 {{transpose stays between 'graph.reshape' and 'graph.conv'}}
  %3 = graph.conv %2, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1} : (tensor<1x10x3x2xf32>, tensor<1x10x1x1xf32>) -> tensor<1x1x3x2xf32>
  return %3 : tensor<1x1x3x2xf32>
}
