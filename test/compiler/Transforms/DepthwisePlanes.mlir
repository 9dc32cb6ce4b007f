// RUN: tenon-opt %s --depthwise-planes=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// Between two transposes, with what follows: the bias is turned while compiling.

// CHECK-LABEL: @between
func.func @between(%x: tensor<1x8x6x9xf32>) -> tensor<1x8x6x9xf32> {
  // CHECK-NOT: graph.transpose %arg0
  // CHECK: %[[Y:.*]] = graph.conv %arg0, %{{.*}} {dilations = array<i64: 1, 1>, group = 8 : i64, pads = #graph.dims<1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x8x6x9xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x6x9xf32>
  // CHECK: %[[B:.*]] = graph.add %[[Y]], %{{.*}} : (tensor<1x8x6x9xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x9xf32>
  // CHECK: %[[R:.*]] = graph.max %[[B]]
  // CHECK: return %[[R]]
  %w = graph.weight {name = "w"} : () -> tensor<8x1x3x3xf32>
  %b = graph.weight {name = "b"} : () -> tensor<8xf32>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x8x6x9xf32>) -> tensor<1x6x9x8xf32>
  // expected-remark@+1 {{channels come first again, and transposes around go: each is a plane by itself}}
  %1 = graph.conv %0, %w {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 8 : i64} : (tensor<1x6x9x8xf32>, tensor<8x1x3x3xf32>) -> tensor<1x6x9x8xf32>
  %2 = graph.add %1, %b : (tensor<1x6x9x8xf32>, tensor<8xf32>) -> tensor<1x6x9x8xf32>
  %3 = graph.max %2, %zero : (tensor<1x6x9x8xf32>, tensor<f32>) -> tensor<1x6x9x8xf32>
  %4 = graph.transpose %3 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x6x9x8xf32>) -> tensor<1x8x6x9xf32>
  return %4 : tensor<1x8x6x9xf32>
}

// -----

// One behind the other, and a residual.

// CHECK-LABEL: @chain
func.func @chain(%x: tensor<1x8x6x9xf32>) -> tensor<1x8x6x9xf32> {
  // CHECK-NOT: graph.transpose
  // CHECK: %[[Y:.*]] = graph.conv %arg0
  // CHECK: %[[Z:.*]] = graph.conv %[[Y]]
  // CHECK: graph.add %[[Z]], %arg0
  // CHECK-NOT: graph.transpose
  %w = graph.weight {name = "w"} : () -> tensor<8x1x3x3xf32>
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x8x6x9xf32>) -> tensor<1x6x9x8xf32>
  // expected-remark@+1 {{channels come first again}}
  %1 = graph.conv %0, %w {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 8 : i64} : (tensor<1x6x9x8xf32>, tensor<8x1x3x3xf32>) -> tensor<1x6x9x8xf32>
  %2 = graph.conv %1, %w {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 8 : i64} : (tensor<1x6x9x8xf32>, tensor<8x1x3x3xf32>) -> tensor<1x6x9x8xf32>
  %3 = graph.add %2, %0 : (tensor<1x6x9x8xf32>, tensor<1x6x9x8xf32>) -> tensor<1x6x9x8xf32>
  %4 = graph.transpose %3 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x6x9x8xf32>) -> tensor<1x8x6x9xf32>
  return %4 : tensor<1x8x6x9xf32>
}

// -----

// Behind it channels are mixed: a transpose would only go elsewhere.

// CHECK-LABEL: @mixed
func.func @mixed(%x: tensor<1x8x6x9xf32>) -> tensor<1x8x6x9xf32> {
  // CHECK: graph.transpose %arg0
  // CHECK: graph.conv {{.*}}channels_last
  // CHECK: graph.conv {{.*}}channels_last
  %w = graph.weight {name = "w"} : () -> tensor<8x1x3x3xf32>
  %v = graph.weight {name = "v"} : () -> tensor<8x8x1x1xf32>
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x8x6x9xf32>) -> tensor<1x6x9x8xf32>
  %1 = graph.conv %0, %w {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 8 : i64} : (tensor<1x6x9x8xf32>, tensor<8x1x3x3xf32>) -> tensor<1x6x9x8xf32>
  %2 = graph.conv %1, %v {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<1x6x9x8xf32>, tensor<8x8x1x1xf32>) -> tensor<1x6x9x8xf32>
  %3 = graph.transpose %2 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x6x9x8xf32>) -> tensor<1x8x6x9xf32>
  return %3 : tensor<1x8x6x9xf32>
}

// -----

// The kernel wants a weight, and lines that fill a vector.

// CHECK-LABEL: @computed
func.func @computed(%x: tensor<1x8x6x9xf32>, %w: tensor<8x1x3x3xf32>) -> tensor<1x8x6x9xf32> {
  // CHECK: graph.transpose %arg0
  // CHECK: graph.conv {{.*}}channels_last
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x8x6x9xf32>) -> tensor<1x6x9x8xf32>
  %1 = graph.conv %0, %w {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 8 : i64} : (tensor<1x6x9x8xf32>, tensor<8x1x3x3xf32>) -> tensor<1x6x9x8xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x6x9x8xf32>) -> tensor<1x8x6x9xf32>
  return %2 : tensor<1x8x6x9xf32>
}

// CHECK-LABEL: @short
func.func @short(%x: tensor<1x8x9x6xf32>) -> tensor<1x8x9x6xf32> {
  // CHECK: graph.transpose %arg0
  // CHECK: graph.conv {{.*}}channels_last
  %w = graph.weight {name = "w"} : () -> tensor<8x1x3x3xf32>
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x8x9x6xf32>) -> tensor<1x9x6x8xf32>
  %1 = graph.conv %0, %w {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 8 : i64} : (tensor<1x9x6x8xf32>, tensor<8x1x3x3xf32>) -> tensor<1x9x6x8xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x9x6x8xf32>) -> tensor<1x8x9x6xf32>
  return %2 : tensor<1x8x9x6xf32>
}

// -----

// Bytes are read as such with channels last.

// CHECK-LABEL: @bytes
func.func @bytes(%x: tensor<1x8x6x9xui8>) -> tensor<1x8x6x9xf32> {
  // CHECK: graph.conv {{.*}}channels_last
  %w = graph.weight {name = "w"} : () -> tensor<8x1x3x3xf32>
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x8x6x9xui8>) -> tensor<1x6x9x8xui8>
  %1 = graph.cast %0 : (tensor<1x6x9x8xui8>) -> tensor<1x6x9x8xi32>
  %2 = graph.cast %1 : (tensor<1x6x9x8xi32>) -> tensor<1x6x9x8xf32>
  %3 = graph.conv %2, %w {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 8 : i64} : (tensor<1x6x9x8xf32>, tensor<8x1x3x3xf32>) -> tensor<1x6x9x8xf32>
  %4 = graph.transpose %3 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x6x9x8xf32>) -> tensor<1x8x6x9xf32>
  return %4 : tensor<1x8x6x9xf32>
}
