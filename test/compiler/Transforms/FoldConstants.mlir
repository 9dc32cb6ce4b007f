// RUN: tenon-opt %s --fold-constants --split-input-file | FileCheck %s

// A chain on constants is computed, floats included.

// CHECK-LABEL: @chain
func.func @chain() -> tensor<2xf32> {
  // CHECK: %[[C:.*]] = graph.constant {value = dense<[6.000000e+00, 1.500000e+01]> : tensor<2xf32>}
  // CHECK: return %[[C]]
  %0 = graph.constant {value = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>} : () -> tensor<2x3xf32>
  %1 = graph.reduce %0 {axes = array<i64: 1>, kind = #graph<reduce_kind sum>} : (tensor<2x3xf32>) -> tensor<2x1xf32>
  %2 = graph.slice %1 {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %3 = graph.reshape %2 : (tensor<2x1xf32>) -> tensor<2xf32>
  return %3 : tensor<2xf32>
}

// -----

// Integers wrap here as they do at run time.

// CHECK-LABEL: @wraps
func.func @wraps() -> tensor<i8> {
  // CHECK: graph.constant {value = dense<-56> : tensor<i8>}
  %0 = graph.constant {value = dense<100> : tensor<i8>} : () -> tensor<i8>
  %1 = graph.add %0, %0 : (tensor<i8>, tensor<i8>) -> tensor<i8>
  return %1 : tensor<i8>
}

// -----

// More bytes than an inlined constant may have become a weight.

// CHECK-LABEL: @becomes_weight
func.func @becomes_weight() -> tensor<100xf32> {
  // CHECK: %[[W:.*]] = graph.weight {name = "folded"} : () -> tensor<100xf32>
  // CHECK: return %[[W]]
  %0 = graph.constant {value = dense<1.0> : tensor<100xf32>} : () -> tensor<100xf32>
  %1 = graph.exp %0 : (tensor<100xf32>) -> tensor<100xf32>
  return %1 : tensor<100xf32>
}

// -----

// A result much larger than its operands is made at run time.

// CHECK-LABEL: @would_grow
func.func @would_grow() -> tensor<4096x4096xf32> {
  // CHECK: graph.broadcast
  %0 = graph.constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %1 = graph.broadcast %0 : (tensor<f32>) -> tensor<4096x4096xf32>
  return %1 : tensor<4096x4096xf32>
}

// -----

// What depends on an input or a size is none of this pass's business.

// CHECK-LABEL: @not_constant
func.func @not_constant(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<?xf32, #graph.dims<B>>) {
  // CHECK: graph.add
  // CHECK: graph.broadcast
  %0 = graph.constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %1 = graph.add %x, %0 : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %2 = graph.broadcast %0 : (tensor<f32>) -> tensor<?xf32, #graph.dims<B>>
  return %1, %2 : tensor<2xf32>, tensor<?xf32, #graph.dims<B>>
}

// -----

// A fault of the data stays a fault of the run.

// CHECK-LABEL: @faults
func.func @faults() -> (tensor<1xi64>, tensor<i32>) {
  // CHECK: graph.gather
  // CHECK: graph.div
  %0 = graph.constant {value = dense<[1, 2]> : tensor<2xi64>} : () -> tensor<2xi64>
  %1 = graph.constant {value = dense<7> : tensor<1xi64>} : () -> tensor<1xi64>
  %2 = graph.gather %0, %1 {axis = 0 : i64} : (tensor<2xi64>, tensor<1xi64>) -> tensor<1xi64>
  %zero = graph.constant {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %3 = graph.div %zero, %zero : (tensor<i32>, tensor<i32>) -> tensor<i32>
  return %2, %3 : tensor<1xi64>, tensor<i32>
}

// -----

// A weight that is not in the store (here: any) is left alone.

// CHECK-LABEL: @unknown_weight
func.func @unknown_weight() -> tensor<3x2xf32> {
  // CHECK: graph.transpose
  // CHECK: graph.neg
  %0 = graph.weight {name = "w"} : () -> tensor<2x3xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %2 = graph.neg %1 : (tensor<3x2xf32>) -> tensor<3x2xf32>
  return %2 : tensor<3x2xf32>
}

// -----

// f16 stays f16: 2048 + 1 is not a number of it, and what is added to it next
// meets the rounded sum, as at run time.

// CHECK-LABEL: @rounds
func.func @rounds() -> tensor<f16> {
  // CHECK: graph.constant {value = dense<2.048000e+03> : tensor<f16>}
  %0 = graph.constant {value = dense<2048.0> : tensor<f16>} : () -> tensor<f16>
  %1 = graph.constant {value = dense<1.0> : tensor<f16>} : () -> tensor<f16>
  %2 = graph.add %0, %1 : (tensor<f16>, tensor<f16>) -> tensor<f16>
  %3 = graph.add %2, %1 : (tensor<f16>, tensor<f16>) -> tensor<f16>
  return %3 : tensor<f16>
}

// -----

// A weight of few bits stays in the form that kernels of products take in.
// CHECK-LABEL: @quantized_rhs
// CHECK-COUNT-2: graph.reshape
// CHECK: graph.dequantize
// CHECK: graph.reshape
// CHECK: graph.matmul
func.func @quantized_rhs(%x: tensor<2x64xf32>) -> tensor<2x8xf32> {
  %q = graph.constant {value = dense<1> : tensor<64x8xi8>} : () -> tensor<64x8xi8>
  %s = graph.constant {value = dense<0.5> : tensor<2x8xf32>} : () -> tensor<2x8xf32>
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %0 = graph.reshape %q : (tensor<64x8xi8>) -> tensor<2x32x8xi8>
  %1 = graph.reshape %s : (tensor<2x8xf32>) -> tensor<2x1x8xf32>
  %2 = graph.dequantize %0, %1, %z : (tensor<2x32x8xi8>, tensor<2x1x8xf32>, tensor<i8>) -> tensor<2x32x8xf32>
  %3 = graph.reshape %2 : (tensor<2x32x8xf32>) -> tensor<64x8xf32>
  %4 = graph.matmul %x, %3 : (tensor<2x64xf32>, tensor<64x8xf32>) -> tensor<2x8xf32>
  return %4 : tensor<2x8xf32>
}

// -----

// A filter is computed, however little it is computed of: a convolution packs
// it. What is for anything else, too, is not.
// CHECK-LABEL: @computed_filter
// CHECK-NOT:  graph.sin
// CHECK:      %[[W:.*]] = graph.weight {name = "folded_2"} : () -> tensor<64x1x512xf32>
// CHECK:      graph.conv %arg0, %[[W]]
// CHECK:      graph.add
// CHECK:      graph.conv
func.func @computed_filter(%x: tensor<1x1x4096xf32>)
    -> (tensor<1x64x8xf32>, tensor<1x64x8xf32>, tensor<64x1x512xf32>) {
  %a = graph.constant {value = dense<0.5> : tensor<64x1x1xf32>} : () -> tensor<64x1x1xf32>
  %b = graph.constant {value = dense<0.25> : tensor<512xf32>} : () -> tensor<512xf32>
  %0 = graph.add %a, %b : (tensor<64x1x1xf32>, tensor<512xf32>) -> tensor<64x1x512xf32>
  %1 = graph.sin %0 : (tensor<64x1x512xf32>) -> tensor<64x1x512xf32>
  %2 = graph.mul %0, %1 : (tensor<64x1x512xf32>, tensor<64x1x512xf32>) -> tensor<64x1x512xf32>
  %3 = graph.conv %x, %2 {strides = array<i64: 512>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x1x4096xf32>, tensor<64x1x512xf32>) -> tensor<1x64x8xf32>
  %4 = graph.add %a, %b : (tensor<64x1x1xf32>, tensor<512xf32>) -> tensor<64x1x512xf32>
  %5 = graph.conv %x, %4 {strides = array<i64: 512>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x1x4096xf32>, tensor<64x1x512xf32>) -> tensor<1x64x8xf32>
  return %3, %5, %4 : tensor<1x64x8xf32>, tensor<1x64x8xf32>, tensor<64x1x512xf32>
}

// -----

// One of few numbers is a weight, too, for the same reason; what else reads it
// has the constant.
// CHECK-LABEL: @small_filter
// CHECK:      %[[C:.*]] = graph.constant
// CHECK:      %[[W:.*]] = graph.weight {name = "filter"} : () -> tensor<1x1x3xf32>
// CHECK:      graph.conv %arg0, %[[W]]
// CHECK:      graph.mul %arg1, %[[C]]
func.func @small_filter(%x: tensor<1x1x9xf32>, %y: tensor<1x1x3xf32>)
    -> (tensor<1x1x7xf32>, tensor<1x1x3xf32>) {
  %w = graph.constant {value = dense<[[[0.25, 0.5, 0.25]]]> : tensor<1x1x3xf32>} : () -> tensor<1x1x3xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x1x9xf32>, tensor<1x1x3xf32>) -> tensor<1x1x7xf32>
  %1 = graph.mul %y, %w : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
  return %0, %1 : tensor<1x1x7xf32>, tensor<1x1x3xf32>
}

// -----

// One of few bits is widened by the convolution's kernel.
// CHECK-LABEL: @narrow_filter
// CHECK:      graph.cast {{.*}} -> tensor<64x2x512xf32>
func.func @narrow_filter(%x: tensor<1x2x4096xf32>) -> tensor<1x64x8xf32> {
  %w = graph.constant {value = dense<0.5> : tensor<64x2x512xbf16>} : () -> tensor<64x2x512xbf16>
  %0 = graph.cast %w : (tensor<64x2x512xbf16>) -> tensor<64x2x512xf32>
  %1 = graph.conv %x, %0 {strides = array<i64: 512>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x2x4096xf32>, tensor<64x2x512xf32>) -> tensor<1x64x8xf32>
  return %1 : tensor<1x64x8xf32>
}

// -----

// A filter with a border of zeros is a weight, though a larger one.
// CHECK-LABEL: @border
// CHECK-NOT:  graph.pad
// CHECK:      graph.weight {{.*}} -> tensor<64x4x7x8xf32>
func.func @border() -> tensor<64x4x7x8xf32> {
  %z = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %w = graph.constant {value = dense<0.5> : tensor<64x3x7x7xf32>} : () -> tensor<64x3x7x7xf32>
  %0 = graph.pad %w, %z {low = #graph.dims<0, 0, 0, 0>, mode = #graph<pad_mode constant>}
      : (tensor<64x3x7x7xf32>, tensor<f32>) -> tensor<64x4x7x8xf32>
  return %0 : tensor<64x4x7x8xf32>
}

// -----

// So does a filter of bytes that a convolution of one group widens; groups have
// kernels of wide numbers.
// CHECK-LABEL: @bytes_of_filters
// CHECK:      %[[W:.*]] = graph.cast
// CHECK-NOT:  graph.cast
// CHECK:      graph.conv %arg0, %[[W]]
// CHECK-NOT:  graph.cast
// CHECK:      graph.conv
func.func @bytes_of_filters(%x: tensor<1x4x9xi32>) -> (tensor<1x4x9xi32>, tensor<1x4x9xi32>) {
  %w = graph.constant {value = dense<1> : tensor<4x4x1xi8>} : () -> tensor<4x4x1xi8>
  %v = graph.constant {value = dense<2> : tensor<4x1x1xi8>} : () -> tensor<4x1x1xi8>
  %0 = graph.cast %w : (tensor<4x4x1xi8>) -> tensor<4x4x1xi32>
  %1 = graph.cast %v : (tensor<4x1x1xi8>) -> tensor<4x1x1xi32>
  %2 = graph.conv %x, %0 {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x4x9xi32>, tensor<4x4x1xi32>) -> tensor<1x4x9xi32>
  %3 = graph.conv %x, %1 {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 4 : i64} : (tensor<1x4x9xi32>, tensor<4x1x1xi32>) -> tensor<1x4x9xi32>
  return %2, %3 : tensor<1x4x9xi32>, tensor<1x4x9xi32>
}

// -----

// Quantized weights become wide ones where nothing multiplies them as they are:
// in recurrent cells, groups of convolutions and transposed ones. A filter of
// one group stays.
// CHECK-LABEL: @transposed_filter
// CHECK:      %[[W:.*]] = graph.weight {name = "folded{{.*}} -> tensor<512x9x2xf32>
// CHECK:      graph.conv_transpose %arg0, %[[W]]
func.func @transposed_filter(%x: tensor<1x512x9xf32>) -> tensor<1x9x18xf32> {
  %w = graph.constant {value = dense<1> : tensor<512x9x2xi8>} : () -> tensor<512x9x2xi8>
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %0 = graph.dequantize %w, %s, %z : (tensor<512x9x2xi8>, tensor<f32>, tensor<i8>) -> tensor<512x9x2xf32>
  %1 = graph.conv_transpose %x, %0 {strides = array<i64: 2>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x512x9xf32>, tensor<512x9x2xf32>) -> tensor<1x9x18xf32>
  return %1 : tensor<1x9x18xf32>
}

// -----

// CHECK-LABEL: @wide_weights
// CHECK:      %[[V:.*]] = graph.weight {name = "folded{{.*}} -> tensor<512x2x9xf32>
// CHECK:      graph.conv %arg0, %[[V]]
// CHECK:      %[[W:.*]] = graph.dequantize
// CHECK:      graph.conv %arg0, %[[W]]
func.func @wide_weights(%x: tensor<1x512x9xf32>) -> (tensor<1x512x1xf32>, tensor<1x9x1xf32>) {
  %v = graph.constant {value = dense<1> : tensor<512x2x9xi8>} : () -> tensor<512x2x9xi8>
  %w = graph.constant {value = dense<2> : tensor<9x512x9xi8>} : () -> tensor<9x512x9xi8>
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %0 = graph.dequantize %v, %s, %z : (tensor<512x2x9xi8>, tensor<f32>, tensor<i8>) -> tensor<512x2x9xf32>
  %1 = graph.conv %x, %0 {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 256 : i64} : (tensor<1x512x9xf32>, tensor<512x2x9xf32>) -> tensor<1x512x1xf32>
  %2 = graph.dequantize %w, %s, %z : (tensor<9x512x9xi8>, tensor<f32>, tensor<i8>) -> tensor<9x512x9xf32>
  %3 = graph.conv %x, %2 {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x512x9xf32>, tensor<9x512x9xf32>) -> tensor<1x9x1xf32>
  return %1, %3 : tensor<1x512x1xf32>, tensor<1x9x1xf32>
}

// -----

// Recurrent cells read bytes where those have whole tiles of 16 units.
// CHECK-LABEL: @bytes_of_cells
// CHECK:      %[[W:.*]] = graph.dequantize {{.*}} -> tensor<1x144x144xf32>
// CHECK:      %[[V:.*]] = graph.weight {name = "folded{{.*}} -> tensor<1x150x150xf32>
// CHECK:      graph.recurrent %arg0, %[[W]]
// CHECK:      graph.recurrent %arg1, %[[V]]
func.func @bytes_of_cells(%x: tensor<7x2x144xf32>, %y: tensor<7x2x150xf32>) -> (tensor<7x1x2x144xf32>, tensor<7x1x2x150xf32>) {
  %w = graph.constant {value = dense<1> : tensor<1x144x144xi8>} : () -> tensor<1x144x144xi8>
  %v = graph.constant {value = dense<2> : tensor<1x150x150xi8>} : () -> tensor<1x150x150xi8>
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %0 = graph.dequantize %w, %s, %z : (tensor<1x144x144xi8>, tensor<f32>, tensor<i8>) -> tensor<1x144x144xf32>
  %1 = graph.dequantize %v, %s, %z : (tensor<1x150x150xi8>, tensor<f32>, tensor<i8>) -> tensor<1x150x150xf32>
  %2:3 = graph.recurrent %x, %0 {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind rnn>, direction = "forward", activations = ["Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x144xf32>, tensor<1x144x144xf32>) -> (tensor<7x1x2x144xf32>, tensor<1x2x144xf32>, tensor<1x2x144xf32>)
  %3:3 = graph.recurrent %y, %1 {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind rnn>, direction = "forward", activations = ["Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x150xf32>, tensor<1x150x150xf32>) -> (tensor<7x1x2x150xf32>, tensor<1x2x150xf32>, tensor<1x2x150xf32>)
  return %2#0, %3#0 : tensor<7x1x2x144xf32>, tensor<7x1x2x150xf32>
}

// -----

// Pairs of bf16 they read where they round their state.
// CHECK-LABEL: @pairs_of_cells
// CHECK:      %[[W:.*]] = graph.cast {{.*}} -> tensor<1x144x144xf32>
// CHECK:      %[[V:.*]] = graph.weight {name = "folded{{.*}} -> tensor<1x144x144xf32>
// CHECK:      graph.recurrent %arg0, %[[W]]
// CHECK:      graph.recurrent %arg0, %[[V]]
func.func @pairs_of_cells(%x: tensor<7x2x144xf32>) -> (tensor<7x1x2x144xf32>, tensor<7x1x2x144xf32>) {
  %w = graph.constant {value = dense<1.0> : tensor<1x144x144xbf16>} : () -> tensor<1x144x144xbf16>
  %v = graph.constant {value = dense<2.0> : tensor<1x144x144xbf16>} : () -> tensor<1x144x144xbf16>
  %0 = graph.cast %w : (tensor<1x144x144xbf16>) -> tensor<1x144x144xf32>
  %1 = graph.cast %v : (tensor<1x144x144xbf16>) -> tensor<1x144x144xf32>
  %2:3 = graph.recurrent %x, %0 {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind rnn>, direction = "forward", activations = ["Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false, rounds_state} : (tensor<7x2x144xf32>, tensor<1x144x144xf32>) -> (tensor<7x1x2x144xf32>, tensor<1x2x144xf32>, tensor<1x2x144xf32>)
  %3:3 = graph.recurrent %x, %1 {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind rnn>, direction = "forward", activations = ["Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x144xf32>, tensor<1x144x144xf32>) -> (tensor<7x1x2x144xf32>, tensor<1x2x144xf32>, tensor<1x2x144xf32>)
  return %2#0, %3#0 : tensor<7x1x2x144xf32>, tensor<7x1x2x144xf32>
}

// -----

// A vector of bytes is widened, a table of them is not.
// CHECK-LABEL: @vector
// CHECK:     graph.weight {name = "folded{{.*}}-> tensor<3072xf32>
// CHECK:     graph.dequantize {{.*}} -> tensor<64x96xf32>
// CHECK-NOT: graph.dequantize
func.func @vector() -> (tensor<3072xf32>, tensor<64x96xf32>) {
  %b = graph.constant {value = dense<1> : tensor<3072xui8>} : () -> tensor<3072xui8>
  %t = graph.constant {value = dense<2> : tensor<64x96xui8>} : () -> tensor<64x96xui8>
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %z = graph.constant {value = dense<9> : tensor<ui8>} : () -> tensor<ui8>
  %0 = graph.dequantize %b, %s, %z : (tensor<3072xui8>, tensor<f32>, tensor<ui8>) -> tensor<3072xf32>
  %1 = graph.dequantize %t, %s, %z : (tensor<64x96xui8>, tensor<f32>, tensor<ui8>) -> tensor<64x96xf32>
  return %0, %1 : tensor<3072xf32>, tensor<64x96xf32>
}

// -----

// Zeros that a scatter writes among stay what they are; others become a weight.
// CHECK-LABEL: @zeros
// CHECK:      %[[Z:.*]] = graph.broadcast
// CHECK-NEXT: %[[S:.*]] = graph.scatter_elements %[[Z]]
// CHECK-NEXT: %[[F:.*]] = graph.weight {name = "folded{{.*}}-> tensor<40x8xf32>
// CHECK-NEXT: return %[[S]], %[[F]]
func.func @zeros(%i: tensor<40x2xi64>, %u: tensor<40x2xf32>) -> (tensor<40x8xf32>, tensor<40x8xf32>) {
  %0 = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = graph.broadcast %0 : (tensor<f32>) -> tensor<40x8xf32>
  %2 = graph.scatter_elements %1, %i, %u {axis = 1 : i64, kind = #graph<scatter_kind assign>}
      : (tensor<40x8xf32>, tensor<40x2xi64>, tensor<40x2xf32>) -> tensor<40x8xf32>
  %3 = graph.broadcast %0 : (tensor<f32>) -> tensor<40x8xf32>
  return %2, %3 : tensor<40x8xf32>, tensor<40x8xf32>
}
