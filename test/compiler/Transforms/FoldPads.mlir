// RUN: tenon-opt %s --fold-pads --split-input-file | FileCheck %s

// The border of an image, in front of one of the convolution's own.

// CHECK-LABEL: @border
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x3x8x8xf32>
// CHECK-NEXT:    graph.conv %[[X]], %{{.*}} {{.*}}pads = #graph.dims<0, 1, 1, 1>
func.func @border(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x4x8xf32> {
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.pad %x, %zero {low = #graph.dims<0, 0, 0, 1>, mode = #graph<pad_mode constant>} : (tensor<1x3x8x8xf32>, tensor<f32>) -> tensor<1x3x9x9xf32>
  %1 = graph.conv %0, %w {strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 1>, group = 1 : i64} : (tensor<1x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x4x8xf32>
  return %1 : tensor<1x4x4x8xf32>
}

// -----

// A sequence that is padded to be causal, made an image of one row, of a length
// that is not known: both convolutions that read it.

// CHECK-LABEL: @causal
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x?x3xf32, #graph.dims<2, L, 3>>
// CHECK-NOT:     graph.pad
// CHECK-DAG:     %[[T:.*]] = graph.transpose %[[X]] {{.*}} -> tensor<2x3x?xf32, #graph.dims<2, 3, L>>
// CHECK-DAG:     %[[R:.*]] = graph.reshape %{{.*}} -> tensor<2x3x1x?xf32, #graph.dims<2, 3, 1, L>>
// CHECK:         graph.conv %{{.*}} {{.*}}pads = #graph.dims<0, 4, 0, 0>{{.*}} -> tensor<2x4x1x?xf32, #graph.dims<2, 4, 1, L>>
// CHECK:         graph.conv %{{.*}} {{.*}}pads = #graph.dims<0, 4, 0, 0>{{.*}} -> tensor<2x4x1x?xf32, #graph.dims<2, 4, 1, L>>
func.func @causal(%x: tensor<2x?x3xf32, #graph.dims<2, L, 3>>, %w: tensor<4x3x1x3xf32>) -> (tensor<2x4x1x?xf32, #graph.dims<2, 4, 1, L>>, tensor<2x4x1x?xf32, #graph.dims<2, 4, 1, L>>) {
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.pad %x, %zero {low = #graph.dims<0, 4, 0>, mode = #graph<pad_mode constant>} : (tensor<2x?x3xf32, #graph.dims<2, L, 3>>, tensor<f32>) -> tensor<2x?x3xf32, #graph.dims<2, L + 4, 3>>
  %1 = graph.transpose %0 {permutation = array<i64: 0, 2, 1>} : (tensor<2x?x3xf32, #graph.dims<2, L + 4, 3>>) -> tensor<2x3x?xf32, #graph.dims<2, 3, L + 4>>
  %2 = graph.reshape %1 : (tensor<2x3x?xf32, #graph.dims<2, 3, L + 4>>) -> tensor<2x3x1x?xf32, #graph.dims<2, 3, 1, L + 4>>
  %3 = graph.conv %2, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 2>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<2x3x1x?xf32, #graph.dims<2, 3, 1, L + 4>>, tensor<4x3x1x3xf32>) -> tensor<2x4x1x?xf32, #graph.dims<2, 4, 1, L>>
  %4 = graph.conv %2, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 2>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<2x3x1x?xf32, #graph.dims<2, 3, 1, L + 4>>, tensor<4x3x1x3xf32>) -> tensor<2x4x1x?xf32, #graph.dims<2, 4, 1, L>>
  return %3, %4 : tensor<2x4x1x?xf32, #graph.dims<2, 4, 1, L>>, tensor<2x4x1x?xf32, #graph.dims<2, 4, 1, L>>
}

// -----

// Channels last; what else reads the pad keeps it.

// CHECK-LABEL: @also_read
// CHECK:         %[[P:.*]] = graph.pad
// CHECK:         graph.conv %arg0, %{{.*}} {channels_last, {{.*}}pads = #graph.dims<1, 1>
// CHECK:         graph.tanh %[[P]]
func.func @also_read(%x: tensor<1x8x3xf32>, %w: tensor<4x3x3xf32>) -> (tensor<1x8x4xf32>, tensor<1x10x3xf32>) {
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.pad %x, %zero {low = #graph.dims<0, 1, 0>, mode = #graph<pad_mode constant>} : (tensor<1x8x3xf32>, tensor<f32>) -> tensor<1x10x3xf32>
  %1 = graph.conv %0, %w {channels_last, strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x10x3xf32>, tensor<4x3x3xf32>) -> tensor<1x8x4xf32>
  %2 = graph.tanh %0 : (tensor<1x10x3xf32>) -> tensor<1x10x3xf32>
  return %1, %2 : tensor<1x8x4xf32>, tensor<1x10x3xf32>
}

// -----

// Through rounding to bytes and back, by a zero point that 0 becomes; and bytes
// that are padded by what their zero point is.

// CHECK-LABEL: @bytes
// CHECK-NOT:     graph.pad
// CHECK:         graph.quantize %arg0, {{.*}} -> tensor<1x3x8xui8>
// CHECK:         graph.conv {{.*}}pads = #graph.dims<1, 1>{{.*}} -> tensor<1x4x8xf32>
// CHECK:         graph.cast %arg1 : (tensor<1x3x8xui8>) -> tensor<1x3x8xi32>
// CHECK:         graph.conv {{.*}}pads = #graph.dims<1, 1>{{.*}} -> tensor<1x4x8xi32>
func.func @bytes(%x: tensor<1x3x8xf32>, %q: tensor<1x3x8xui8>, %w: tensor<4x3x3xf32>, %v: tensor<4x3x3xi32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xi32>) {
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %scale = graph.constant {value = dense<0.1> : tensor<f32>} : () -> tensor<f32>
  %point = graph.constant {value = dense<130> : tensor<ui8>} : () -> tensor<ui8>
  %wide = graph.constant {value = dense<130> : tensor<i32>} : () -> tensor<i32>
  %0 = graph.pad %x, %zero {low = #graph.dims<0, 0, 1>, mode = #graph<pad_mode constant>} : (tensor<1x3x8xf32>, tensor<f32>) -> tensor<1x3x10xf32>
  %1 = graph.quantize %0, %scale, %point : (tensor<1x3x10xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x3x10xui8>
  %2 = graph.dequantize %1, %scale, %point : (tensor<1x3x10xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x3x10xf32>
  %3 = graph.conv %2, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x3x10xf32>, tensor<4x3x3xf32>) -> tensor<1x4x8xf32>
  %4 = graph.pad %q, %point {low = #graph.dims<0, 0, 1>, mode = #graph<pad_mode constant>} : (tensor<1x3x8xui8>, tensor<ui8>) -> tensor<1x3x10xui8>
  %5 = graph.cast %4 : (tensor<1x3x10xui8>) -> tensor<1x3x10xi32>
  %6 = graph.sub %5, %wide : (tensor<1x3x10xi32>, tensor<i32>) -> tensor<1x3x10xi32>
  %7 = graph.conv %6, %v {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x3x10xi32>, tensor<4x3x3xi32>) -> tensor<1x4x8xi32>
  return %3, %7 : tensor<1x4x8xf32>, tensor<1x4x8xi32>
}

// -----

// Bytes that are padded by 0, which is not their zero point.

// CHECK-LABEL: @another_zero_point
// CHECK:         graph.pad
// CHECK:         graph.pad
func.func @another_zero_point(%q: tensor<1x3x8xui8>, %w: tensor<4x3x3xf32>, %v: tensor<4x3x3xi32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xi32>) {
  %zero = graph.constant {value = dense<0> : tensor<ui8>} : () -> tensor<ui8>
  %scale = graph.constant {value = dense<0.1> : tensor<f32>} : () -> tensor<f32>
  %point = graph.constant {value = dense<130> : tensor<ui8>} : () -> tensor<ui8>
  %wide = graph.constant {value = dense<130> : tensor<i32>} : () -> tensor<i32>
  %0 = graph.pad %q, %zero {low = #graph.dims<0, 0, 1>, mode = #graph<pad_mode constant>} : (tensor<1x3x8xui8>, tensor<ui8>) -> tensor<1x3x10xui8>
  %1 = graph.dequantize %0, %scale, %point : (tensor<1x3x10xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x3x10xf32>
  %2 = graph.conv %1, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x3x10xf32>, tensor<4x3x3xf32>) -> tensor<1x4x8xf32>
  %3 = graph.pad %q, %zero {low = #graph.dims<0, 0, 1>, mode = #graph<pad_mode constant>} : (tensor<1x3x8xui8>, tensor<ui8>) -> tensor<1x3x10xui8>
  %4 = graph.cast %3 : (tensor<1x3x10xui8>) -> tensor<1x3x10xi32>
  %5 = graph.sub %4, %wide : (tensor<1x3x10xi32>, tensor<i32>) -> tensor<1x3x10xi32>
  %6 = graph.conv %5, %v {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x3x10xi32>, tensor<4x3x3xi32>) -> tensor<1x4x8xi32>
  return %2, %6 : tensor<1x4x8xf32>, tensor<1x4x8xi32>
}

// -----

// A pad by other numbers, of channels, that crops, that repeats what is inside,
// whose size is not known, and one beyond all windows.

// CHECK-LABEL: @pads_that_stay
// CHECK-COUNT-6: graph.pad
func.func @pads_that_stay(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>, %v: tensor<4x4x3xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x6xf32>, tensor<1x4x6xf32>, tensor<1x4x8xf32>, tensor<1x4x?xf32, #graph.dims<1, 4, S + 6>>, tensor<1x4x9xf32>) {
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %one = graph.constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.pad %x, %one {low = #graph.dims<0, 0, 1>, mode = #graph<pad_mode constant>} : (tensor<1x3x8xf32>, tensor<f32>) -> tensor<1x3x10xf32>
  %1 = graph.conv %0, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x3x10xf32>, tensor<4x3x3xf32>) -> tensor<1x4x8xf32>
  %2 = graph.pad %x, %zero {low = #graph.dims<0, 0, 0>, mode = #graph<pad_mode constant>} : (tensor<1x3x8xf32>, tensor<f32>) -> tensor<1x4x8xf32>
  %3 = graph.conv %2, %v {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x4x8xf32>, tensor<4x4x3xf32>) -> tensor<1x4x6xf32>
  %4 = graph.pad %x, %zero {low = #graph.dims<0, 0, -1>, mode = #graph<pad_mode constant>} : (tensor<1x3x8xf32>, tensor<f32>) -> tensor<1x3x8xf32>
  %5 = graph.conv %4, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x6xf32>
  %6 = graph.pad %x, %zero {low = #graph.dims<0, 0, 1>, mode = #graph<pad_mode reflect>} : (tensor<1x3x8xf32>, tensor<f32>) -> tensor<1x3x10xf32>
  %7 = graph.conv %6, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x3x10xf32>, tensor<4x3x3xf32>) -> tensor<1x4x8xf32>
  %8 = graph.pad %x, %zero {low = #graph.dims<0, 0, S>, mode = #graph<pad_mode constant>} : (tensor<1x3x8xf32>, tensor<f32>) -> tensor<1x3x?xf32, #graph.dims<1, 3, S + 8>>
  %9 = graph.conv %8, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x3x?xf32, #graph.dims<1, 3, S + 8>>, tensor<4x3x3xf32>) -> tensor<1x4x?xf32, #graph.dims<1, 4, S + 6>>
  %10 = graph.pad %x, %zero {low = #graph.dims<0, 0, 3>, mode = #graph<pad_mode constant>} : (tensor<1x3x8xf32>, tensor<f32>) -> tensor<1x3x11xf32>
  %11 = graph.conv %10, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x3x11xf32>, tensor<4x3x3xf32>) -> tensor<1x4x9xf32>
  return %1, %3, %5, %7, %9, %11 : tensor<1x4x8xf32>, tensor<1x4x6xf32>, tensor<1x4x6xf32>, tensor<1x4x8xf32>, tensor<1x4x?xf32, #graph.dims<1, 4, S + 6>>, tensor<1x4x9xf32>
}

// -----

// Means count the zeros. The largest of what is not below 0 is never one of
// them alone, nor is one of what is below all numbers.

// CHECK-LABEL: @pools
// CHECK-NOT:     graph.pad
// CHECK:         graph.average_pool %arg0 {count_pads = true, {{.*}}pads = #graph.dims<1, 0>
// CHECK:         graph.max_pool %{{.*}}pads = #graph.dims<1, 0>
// CHECK:         graph.max_pool %arg0 {{.*}}pads = #graph.dims<1, 0>
// CHECK:         graph.max_pool %arg1 {{.*}}pads = #graph.dims<1, 0>
func.func @pools(%x: tensor<1x3x8xf32>, %q: tensor<1x3x8xui8>) -> (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xui8>) {
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %lowest = graph.constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %byte = graph.constant {value = dense<0> : tensor<ui8>} : () -> tensor<ui8>
  %0 = graph.pad %x, %zero {low = #graph.dims<0, 0, 1>, mode = #graph<pad_mode constant>} : (tensor<1x3x8xf32>, tensor<f32>) -> tensor<1x3x9xf32>
  %1 = graph.average_pool %0 {kernel = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, count_pads = false} : (tensor<1x3x9xf32>) -> tensor<1x3x8xf32>
  %2 = graph.max %x, %zero : (tensor<1x3x8xf32>, tensor<f32>) -> tensor<1x3x8xf32>
  %3 = graph.pad %2, %zero {low = #graph.dims<0, 0, 1>, mode = #graph<pad_mode constant>} : (tensor<1x3x8xf32>, tensor<f32>) -> tensor<1x3x9xf32>
  %4 = graph.max_pool %3 {kernel = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>} : (tensor<1x3x9xf32>) -> tensor<1x3x8xf32>
  %5 = graph.pad %x, %lowest {low = #graph.dims<0, 0, 1>, mode = #graph<pad_mode constant>} : (tensor<1x3x8xf32>, tensor<f32>) -> tensor<1x3x9xf32>
  %6 = graph.max_pool %5 {kernel = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>} : (tensor<1x3x9xf32>) -> tensor<1x3x8xf32>
  %7 = graph.pad %q, %byte {low = #graph.dims<0, 0, 1>, mode = #graph<pad_mode constant>} : (tensor<1x3x8xui8>, tensor<ui8>) -> tensor<1x3x9xui8>
  %8 = graph.max_pool %7 {kernel = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>} : (tensor<1x3x9xui8>) -> tensor<1x3x8xui8>
  return %1, %4, %6, %8 : tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x3x8xui8>
}

// -----

// Zeros that are larger than numbers, means of what is inside a border of the
// pool's own, windows with gaps, and bytes from which a zero point is taken.

// CHECK-LABEL: @pools_that_stay
// CHECK-COUNT-3: graph.pad
func.func @pools_that_stay(%x: tensor<1x3x8xf32>, %q: tensor<1x3x8xui8>) -> (tensor<1x3x8xf32>, tensor<1x3x9xf32>, tensor<1x3x7xf32>, tensor<1x3x8xi32>) {
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %point = graph.constant {value = dense<9> : tensor<ui8>} : () -> tensor<ui8>
  %wide = graph.constant {value = dense<9> : tensor<i32>} : () -> tensor<i32>
  %0 = graph.pad %x, %zero {low = #graph.dims<0, 0, 1>, mode = #graph<pad_mode constant>} : (tensor<1x3x8xf32>, tensor<f32>) -> tensor<1x3x9xf32>
  %1 = graph.max_pool %0 {kernel = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>} : (tensor<1x3x9xf32>) -> tensor<1x3x8xf32>
  %2 = graph.average_pool %0 {kernel = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<1, 1>, count_pads = false} : (tensor<1x3x9xf32>) -> tensor<1x3x9xf32>
  %3 = graph.max %x, %zero : (tensor<1x3x8xf32>, tensor<f32>) -> tensor<1x3x8xf32>
  %4 = graph.pad %3, %zero {low = #graph.dims<0, 0, 1>, mode = #graph<pad_mode constant>} : (tensor<1x3x8xf32>, tensor<f32>) -> tensor<1x3x9xf32>
  %5 = graph.max_pool %4 {kernel = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 2>, pads = #graph.dims<0, 0>} : (tensor<1x3x9xf32>) -> tensor<1x3x7xf32>
  %6 = graph.max %q, %point : (tensor<1x3x8xui8>, tensor<ui8>) -> tensor<1x3x8xui8>
  %7 = graph.pad %6, %point {low = #graph.dims<0, 0, 1>, mode = #graph<pad_mode constant>} : (tensor<1x3x8xui8>, tensor<ui8>) -> tensor<1x3x9xui8>
  %8 = graph.cast %7 : (tensor<1x3x9xui8>) -> tensor<1x3x9xi32>
  %9 = graph.sub %8, %wide : (tensor<1x3x9xi32>, tensor<i32>) -> tensor<1x3x9xi32>
  %10 = graph.max_pool %9 {kernel = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>} : (tensor<1x3x9xi32>) -> tensor<1x3x8xi32>
  return %1, %2, %5, %10 : tensor<1x3x8xf32>, tensor<1x3x9xf32>, tensor<1x3x7xf32>, tensor<1x3x8xi32>
}
