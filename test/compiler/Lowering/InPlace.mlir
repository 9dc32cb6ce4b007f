// RUN: tenon-opt %s --lower-to-exec --split-input-file --verify-diagnostics | FileCheck %s

// Which kernels with a root write over an operand.

// A product may write over a residual that joins its sums in their places, if
// none of them wait in the result; not over what it multiplies, nor over a row
// that all rows read.

// CHECK:      exec.program
// CHECK:      exec.launch @residual_over2 [{{.*}}, #exec.buffer<arena, 0, <[[A:[0-9]+]], 1024>, "", "">, #exec.buffer<arena, 0, <[[A]], 1024>, "", "">]
// CHECK-NEXT: exec.launch @deep [
// CHECK-NEXT: exec.launch @self [
// CHECK-NEXT: exec.launch @row [
func.func @main(%x: tensor<16x16xf32>, %y: tensor<16x1024xf32>, %w: tensor<16x16xf32>, %v: tensor<1024x16xf32>) -> tensor<16x16xf32> {
  %0 = kernel.call @exp(%x) params <> : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = kernel.call @residual(%x, %w, %0) params <> : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = kernel.call @deep(%y, %v, %1) params <> : (tensor<16x1024xf32>, tensor<1024x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %3 = kernel.call @self(%2, %w) params <> : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %4 = kernel.call @row(%x, %w, %3) params <> : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %5 = kernel.call @exp(%4) params <> : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %5 : tensor<16x16xf32>
}
kernel.func @exp symbols [] layouts [""] schedule "Generic" geometry <16, 64, 0> {
^bb0(%0: tensor<16x16xf32>):
  %1 = graph.exp %0 : (tensor<16x16xf32>) -> tensor<16x16xf32>
  kernel.yield %1 : tensor<16x16xf32>
}
kernel.func @residual symbols [] layouts ["", "packed48", ""] schedule "PackedMatmul" geometry <1, 1, 0> {
^bb0(%0: tensor<16x16xf32>, %1: tensor<16x16xf32>, %2: tensor<16x16xf32>):
  %3 = graph.matmul %0, %1 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %4 = graph.add %3, %2 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  kernel.yield %4 : tensor<16x16xf32>
}
kernel.func @deep symbols [] layouts ["", "packed48", ""] schedule "PackedMatmul" geometry <1, 1, 0> {
^bb0(%0: tensor<16x1024xf32>, %1: tensor<1024x16xf32>, %2: tensor<16x16xf32>):
  %3 = graph.matmul %0, %1 : (tensor<16x1024xf32>, tensor<1024x16xf32>) -> tensor<16x16xf32>
  %4 = graph.add %3, %2 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  kernel.yield %4 : tensor<16x16xf32>
}
kernel.func @self symbols [] layouts ["", "packed48"] schedule "PackedMatmul" geometry <1, 1, 0> {
^bb0(%0: tensor<16x16xf32>, %1: tensor<16x16xf32>):
  %2 = graph.matmul %0, %1 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %3 = graph.add %2, %0 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  kernel.yield %3 : tensor<16x16xf32>
}
kernel.func @row symbols [] layouts ["", "packed48", ""] schedule "PackedMatmul" geometry <1, 1, 0> {
^bb0(%0: tensor<16x16xf32>, %1: tensor<16x16xf32>, %2: tensor<16x16xf32>):
  %3 = graph.matmul %0, %1 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %4 = graph.slice %2 {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<16x16xf32>) -> tensor<1x16xf32>
  %5 = graph.add %3, %4 : (tensor<16x16xf32>, tensor<1x16xf32>) -> tensor<16x16xf32>
  kernel.yield %5 : tensor<16x16xf32>
}

// -----

// So may a convolution whose tiles have their sums on the stack, not one whose
// sums wait in the result.

// CHECK:      exec.program
// CHECK:      exec.launch @tiles_over2 [{{.*}}, #exec.buffer<arena, 0, <[[A:[0-9]+]], 12544>, "", "">, #exec.buffer<arena, 0, <[[A]], 12544>, "", "">]
// CHECK-NEXT: exec.launch @packed [
func.func @main(%x: tensor<1x14x14x16xf32>, %w: tensor<16x16x1x1xf32>) -> tensor<1x14x14x16xf32> {
  %0 = kernel.call @exp(%x) params <> : (tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>
  %1 = kernel.call @tiles(%x, %w, %0) params <> : (tensor<1x14x14x16xf32>, tensor<16x16x1x1xf32>, tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>
  %2 = kernel.call @packed(%x, %w, %1) params <> : (tensor<1x14x14x16xf32>, tensor<16x16x1x1xf32>, tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>
  %3 = kernel.call @exp(%2) params <> : (tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>
  return %3 : tensor<1x14x14x16xf32>
}
kernel.func @exp symbols [] layouts [""] schedule "Generic" geometry <16, 64, 0> {
^bb0(%0: tensor<1x14x14x16xf32>):
  %1 = graph.exp %0 : (tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>
  kernel.yield %1 : tensor<1x14x14x16xf32>
}
kernel.func @tiles symbols [] layouts ["", "conv32", ""] schedule "DirectConv" geometry <1, 1, 0> {
^bb0(%0: tensor<1x14x14x16xf32>, %1: tensor<16x16x1x1xf32>, %2: tensor<1x14x14x16xf32>):
  %3 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<1x14x14x16xf32>, tensor<16x16x1x1xf32>) -> tensor<1x14x14x16xf32>
  %4 = graph.add %3, %2 : (tensor<1x14x14x16xf32>, tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>
  kernel.yield %4 : tensor<1x14x14x16xf32>
}
kernel.func @packed symbols [] layouts ["", "conv48", ""] schedule "PackedConv" geometry <1, 1, 0> {
^bb0(%0: tensor<1x14x14x16xf32>, %1: tensor<16x16x1x1xf32>, %2: tensor<1x14x14x16xf32>):
  %3 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<1x14x14x16xf32>, tensor<16x16x1x1xf32>) -> tensor<1x14x14x16xf32>
  %4 = graph.add %3, %2 : (tensor<1x14x14x16xf32>, tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>
  kernel.yield %4 : tensor<1x14x14x16xf32>
}

// -----

// One of pairs of bf16, by lines or windows, may write over a residual of bf16
// that it widens; one whose sums wait in a result of f32 may if they are of one
// block of the depth.

// CHECK:      exec.program
// CHECK:      exec.launch @lines_over2 [{{.*}}, #exec.buffer<arena, 0, <[[A:[0-9]+]], 6272>, "", "">, #exec.buffer<arena, 0, <[[A]], 6272>, "", "">]
// CHECK-NEXT: exec.launch @windows_over2 [
// CHECK-NEXT: exec.launch @widen [
// CHECK-NEXT: exec.launch @block_over2 [
// CHECK-NEXT: exec.launch @blocks [
func.func @main(%x: tensor<1x14x14x16xbf16>, %w: tensor<16x16x1x1xbf16>, %y: tensor<1x14x14x2048xbf16>, %v: tensor<16x2048x1x1xbf16>) -> tensor<1x14x14x16xf32> {
  %0 = kernel.call @negate(%x) params <> : (tensor<1x14x14x16xbf16>) -> tensor<1x14x14x16xbf16>
  %1 = kernel.call @lines(%x, %w, %0) params <> : (tensor<1x14x14x16xbf16>, tensor<16x16x1x1xbf16>, tensor<1x14x14x16xbf16>) -> tensor<1x14x14x16xbf16>
  %2 = kernel.call @windows(%y, %v, %1) params <> : (tensor<1x14x14x2048xbf16>, tensor<16x2048x1x1xbf16>, tensor<1x14x14x16xbf16>) -> tensor<1x14x14x16xbf16>
  %3 = kernel.call @widen(%2) params <> : (tensor<1x14x14x16xbf16>) -> tensor<1x14x14x16xf32>
  %4 = kernel.call @block(%x, %w, %3) params <> : (tensor<1x14x14x16xbf16>, tensor<16x16x1x1xbf16>, tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>
  %5 = kernel.call @blocks(%y, %v, %4) params <> : (tensor<1x14x14x2048xbf16>, tensor<16x2048x1x1xbf16>, tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>
  %6 = kernel.call @exp(%5) params <> : (tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>
  return %6 : tensor<1x14x14x16xf32>
}
kernel.func @negate symbols [] layouts [""] schedule "Generic" geometry <16, 64, 0> {
^bb0(%0: tensor<1x14x14x16xbf16>):
  %1 = graph.neg %0 : (tensor<1x14x14x16xbf16>) -> tensor<1x14x14x16xbf16>
  kernel.yield %1 : tensor<1x14x14x16xbf16>
}
kernel.func @widen symbols [] layouts [""] schedule "Generic" geometry <16, 64, 0> {
^bb0(%0: tensor<1x14x14x16xbf16>):
  %1 = graph.cast %0 : (tensor<1x14x14x16xbf16>) -> tensor<1x14x14x16xf32>
  kernel.yield %1 : tensor<1x14x14x16xf32>
}
kernel.func @exp symbols [] layouts [""] schedule "Generic" geometry <16, 64, 0> {
^bb0(%0: tensor<1x14x14x16xf32>):
  %1 = graph.exp %0 : (tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>
  kernel.yield %1 : tensor<1x14x14x16xf32>
}
kernel.func @lines symbols [] layouts ["", "conv48_pairs", ""] schedule "LineConv" geometry <1, 1, 0> {
^bb0(%0: tensor<1x14x14x16xbf16>, %1: tensor<16x16x1x1xbf16>, %2: tensor<1x14x14x16xbf16>):
  %3 = graph.cast %0 : (tensor<1x14x14x16xbf16>) -> tensor<1x14x14x16xf32>
  %4 = graph.cast %1 : (tensor<16x16x1x1xbf16>) -> tensor<16x16x1x1xf32>
  %5 = graph.conv %3, %4 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<1x14x14x16xf32>, tensor<16x16x1x1xf32>) -> tensor<1x14x14x16xf32>
  %6 = graph.cast %2 : (tensor<1x14x14x16xbf16>) -> tensor<1x14x14x16xf32>
  %7 = graph.add %5, %6 : (tensor<1x14x14x16xf32>, tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>
  %8 = graph.cast %7 : (tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xbf16>
  kernel.yield %8 : tensor<1x14x14x16xbf16>
}
kernel.func @windows symbols [] layouts ["", "conv48_pairs", ""] schedule "PackedConv" geometry <1, 1, 0> {
^bb0(%0: tensor<1x14x14x2048xbf16>, %1: tensor<16x2048x1x1xbf16>, %2: tensor<1x14x14x16xbf16>):
  %3 = graph.cast %0 : (tensor<1x14x14x2048xbf16>) -> tensor<1x14x14x2048xf32>
  %4 = graph.cast %1 : (tensor<16x2048x1x1xbf16>) -> tensor<16x2048x1x1xf32>
  %5 = graph.conv %3, %4 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<1x14x14x2048xf32>, tensor<16x2048x1x1xf32>) -> tensor<1x14x14x16xf32>
  %6 = graph.cast %2 : (tensor<1x14x14x16xbf16>) -> tensor<1x14x14x16xf32>
  %7 = graph.add %5, %6 : (tensor<1x14x14x16xf32>, tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>
  %8 = graph.cast %7 : (tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xbf16>
  kernel.yield %8 : tensor<1x14x14x16xbf16>
}
kernel.func @block symbols [] layouts ["", "conv48_pairs", ""] schedule "PackedConv" geometry <1, 1, 0> {
^bb0(%0: tensor<1x14x14x16xbf16>, %1: tensor<16x16x1x1xbf16>, %2: tensor<1x14x14x16xf32>):
  %3 = graph.cast %0 : (tensor<1x14x14x16xbf16>) -> tensor<1x14x14x16xf32>
  %4 = graph.cast %1 : (tensor<16x16x1x1xbf16>) -> tensor<16x16x1x1xf32>
  %5 = graph.conv %3, %4 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<1x14x14x16xf32>, tensor<16x16x1x1xf32>) -> tensor<1x14x14x16xf32>
  %6 = graph.add %5, %2 : (tensor<1x14x14x16xf32>, tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>
  kernel.yield %6 : tensor<1x14x14x16xf32>
}
kernel.func @blocks symbols [] layouts ["", "conv48_pairs", ""] schedule "PackedConv" geometry <1, 1, 0> {
^bb0(%0: tensor<1x14x14x2048xbf16>, %1: tensor<16x2048x1x1xbf16>, %2: tensor<1x14x14x16xf32>):
  %3 = graph.cast %0 : (tensor<1x14x14x2048xbf16>) -> tensor<1x14x14x2048xf32>
  %4 = graph.cast %1 : (tensor<16x2048x1x1xbf16>) -> tensor<16x2048x1x1xf32>
  %5 = graph.conv %3, %4 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<1x14x14x2048xf32>, tensor<16x2048x1x1xf32>) -> tensor<1x14x14x16xf32>
  %6 = graph.add %5, %2 : (tensor<1x14x14x16xf32>, tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>
  kernel.yield %6 : tensor<1x14x14x16xf32>
}

// -----

// Sums of bytes never wait in the result, of which they may be any number.

// CHECK:      exec.program
// CHECK:      exec.launch @bytes_over2 [
func.func @main(%a: tensor<16x2048xui8>, %b: tensor<2048x16xi8>, %x: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %0 = kernel.call @exp(%x) params <> : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = kernel.call @bytes(%a, %b, %0) params <> : (tensor<16x2048xui8>, tensor<2048x16xi8>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = kernel.call @exp(%1) params <> : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %2 : tensor<16x16xf32>
}
kernel.func @exp symbols [] layouts [""] schedule "Generic" geometry <16, 64, 0> {
^bb0(%0: tensor<16x16xf32>):
  %1 = graph.exp %0 : (tensor<16x16xf32>) -> tensor<16x16xf32>
  kernel.yield %1 : tensor<16x16xf32>
}
kernel.func @bytes symbols [] layouts ["", "packed48_quads", ""] schedule "PackedMatmulInt8" geometry <1, 1, 0> {
^bb0(%0: tensor<16x2048xui8>, %1: tensor<2048x16xi8>, %2: tensor<16x16xf32>):
  %3 = graph.cast %0 : (tensor<16x2048xui8>) -> tensor<16x2048xi32>
  %4 = graph.cast %1 : (tensor<2048x16xi8>) -> tensor<2048x16xi32>
  %5 = graph.matmul %3, %4 : (tensor<16x2048xi32>, tensor<2048x16xi32>) -> tensor<16x16xi32>
  %6 = graph.cast %5 : (tensor<16x16xi32>) -> tensor<16x16xf32>
  %7 = graph.add %6, %2 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  kernel.yield %7 : tensor<16x16xf32>
}

// -----

// A row's last pass stores it: a norm or softmax by rows may write over what it
// reads, itself or through elementwise ops, not over what it reads as another
// operand or in another place; nor may a reduction, or the generic schedule.

// CHECK:      exec.program
// CHECK:      exec.launch @norm_over0 [
// CHECK-NEXT: exec.launch @scaled_over1 [
// CHECK-NEXT: exec.launch @generic [
// CHECK-NEXT: exec.launch @turned [
// CHECK-NEXT: exec.launch @exp_over0 [
func.func @main(%x: tensor<64x64xf32>, %g: tensor<64xf32>, %f: tensor<f32>) -> tensor<64x64xf32> {
  %0 = kernel.call @exp(%x) params <> : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = kernel.call @norm(%0, %g, %g) params <> : (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  %2 = kernel.call @scaled(%f, %1) params <> : (tensor<f32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = kernel.call @generic(%2) params <> : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = kernel.call @turned(%3) params <> : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = kernel.call @exp(%4) params <> : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %6 = kernel.call @exp(%5) params <> : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %6 : tensor<64x64xf32>
}
kernel.func @exp symbols [] layouts [""] schedule "Generic" geometry <16, 64, 0> {
^bb0(%0: tensor<64x64xf32>):
  %1 = graph.exp %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  kernel.yield %1 : tensor<64x64xf32>
}
kernel.func @norm symbols [] layouts ["", "", ""] schedule "RowProgram" geometry <64, 1, 0> {
^bb0(%0: tensor<64x64xf32>, %1: tensor<64xf32>, %2: tensor<64xf32>):
  %3 = graph.layer_norm %0 {axis = 1 : i64, epsilon = 1.0e-5} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = graph.mul %3, %1 : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  %5 = graph.add %4, %2 : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  kernel.yield %5 : tensor<64x64xf32>
}
kernel.func @scaled symbols [] layouts ["", ""] schedule "RowProgram" geometry <64, 1, 0> {
^bb0(%0: tensor<f32>, %1: tensor<64x64xf32>):
  %2 = graph.mul %1, %0 : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %3 = graph.softmax %2 {axis = 1 : i64} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = graph.add %3, %1 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  kernel.yield %4 : tensor<64x64xf32>
}
kernel.func @generic symbols [] layouts [""] schedule "Generic" geometry <64, 1, 0> {
^bb0(%0: tensor<64x64xf32>):
  %1 = graph.softmax %0 {axis = 1 : i64} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  kernel.yield %1 : tensor<64x64xf32>
}
kernel.func @turned symbols [] layouts [""] schedule "RowProgram" geometry <64, 1, 0> {
^bb0(%0: tensor<64x64xf32>):
  %1 = graph.softmax %0 {axis = 1 : i64} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = graph.add %1, %2 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  kernel.yield %3 : tensor<64x64xf32>
}

// -----

// A scatter goes on where what it begins with lies, once for each; not where
// that is also what it puts there.

// CHECK:      exec.program
// CHECK:      exec.launch @rows_over0 [#exec.buffer<arena, 0, <[[A:[0-9]+]], 256>, "", "">, {{.*}}, #exec.buffer<arena, 0, <[[A]], 256>, "", "">]
// CHECK:      exec.launch @elements_over0 [#exec.buffer<arena, 0, <[[A]], 256>, "", "">, {{.*}}, #exec.buffer<arena, 0, <[[A]], 256>, "", "">]
// CHECK:      exec.launch @self [
func.func @main(%x: tensor<8x8xf32>, %i: tensor<2x1xi64>, %u: tensor<2x8xf32>, %j: tensor<8x8xi64>) -> tensor<8x8xf32> {
  %0 = kernel.call @exp(%x) params <> : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = kernel.call @rows(%0, %i, %u) params <> : (tensor<8x8xf32>, tensor<2x1xi64>, tensor<2x8xf32>) -> tensor<8x8xf32>
  %2 = kernel.call @elements(%1, %j, %x) params <> : (tensor<8x8xf32>, tensor<8x8xi64>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = kernel.call @self(%2, %j) params <> : (tensor<8x8xf32>, tensor<8x8xi64>) -> tensor<8x8xf32>
  %4 = kernel.call @exp(%3) params <> : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}
kernel.func @exp symbols [] layouts [""] schedule "Generic" geometry <8, 8, 0> {
^bb0(%0: tensor<8x8xf32>):
  %1 = graph.exp %0 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  kernel.yield %1 : tensor<8x8xf32>
}
kernel.func @rows symbols [] layouts ["", "", ""] schedule "Generic" geometry <1, 1, 256> {
^bb0(%0: tensor<8x8xf32>, %1: tensor<2x1xi64>, %2: tensor<2x8xf32>):
  %3 = graph.scatter_nd %0, %1, %2 {kind = #graph<scatter_kind assign>} : (tensor<8x8xf32>, tensor<2x1xi64>, tensor<2x8xf32>) -> tensor<8x8xf32>
  kernel.yield %3 : tensor<8x8xf32>
}
kernel.func @elements symbols [] layouts ["", "", ""] schedule "Generic" geometry <1, 1, 256> {
^bb0(%0: tensor<8x8xf32>, %1: tensor<8x8xi64>, %2: tensor<8x8xf32>):
  %3 = graph.scatter_elements %0, %1, %2 {axis = 0 : i64, kind = #graph<scatter_kind add>} : (tensor<8x8xf32>, tensor<8x8xi64>, tensor<8x8xf32>) -> tensor<8x8xf32>
  kernel.yield %3 : tensor<8x8xf32>
}
kernel.func @self symbols [] layouts ["", ""] schedule "Generic" geometry <1, 1, 256> {
^bb0(%0: tensor<8x8xf32>, %1: tensor<8x8xi64>):
  %2 = graph.scatter_elements %0, %1, %0 {axis = 0 : i64, kind = #graph<scatter_kind add>} : (tensor<8x8xf32>, tensor<8x8xi64>, tensor<8x8xf32>) -> tensor<8x8xf32>
  kernel.yield %2 : tensor<8x8xf32>
}

// -----

// What is appended goes behind what lies in a buffer of the same size, if nobody
// reads that afterwards; else both are copied.
// CHECK:      exec.launch @first [
// CHECK-NEXT: exec.launch @append_over0 [#exec.buffer<arena, 0, <[[A:[0-9]+]], 256>, "", "">, {{.*}}, #exec.buffer<arena, 0, <[[A]], 256>, "", "">]
// CHECK-NEXT: exec.launch @append [
// CHECK-NEXT: exec.launch @sum [
func.func @main(%x: tensor<8x2xf32>, %y: tensor<8x3xf32>) -> tensor<8x8xf32> {
  %0 = kernel.call @first(%x, %y) params <> : (tensor<8x2xf32>, tensor<8x3xf32>) -> tensor<8x8xf32>
  %1 = kernel.call @append(%0, %y) params <> : (tensor<8x8xf32>, tensor<8x3xf32>) -> tensor<8x8xf32>
  %2 = kernel.call @append(%1, %y) params <> : (tensor<8x8xf32>, tensor<8x3xf32>) -> tensor<8x8xf32>
  %3 = kernel.call @sum(%1, %2) params <> : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}
kernel.func @first symbols [] layouts ["", ""] schedule "Generic" geometry <40, 64, 0> {
^bb0(%0: tensor<8x2xf32>, %1: tensor<8x3xf32>):
  %2 = graph.append %0, %1 {axis = 1 : i64, length = #graph.dims<2>} : (tensor<8x2xf32>, tensor<8x3xf32>) -> tensor<8x8xf32>
  kernel.yield %2 : tensor<8x8xf32>
}
kernel.func @append symbols [] layouts ["", ""] schedule "Generic" geometry <64, 64, 0> {
^bb0(%0: tensor<8x8xf32>, %1: tensor<8x3xf32>):
  %2 = graph.append %0, %1 {axis = 1 : i64, length = #graph.dims<5>} : (tensor<8x8xf32>, tensor<8x3xf32>) -> tensor<8x8xf32>
  kernel.yield %2 : tensor<8x8xf32>
}
kernel.func @sum symbols [] layouts ["", ""] schedule "Generic" geometry <64, 64, 0> {
^bb0(%0: tensor<8x8xf32>, %1: tensor<8x8xf32>):
  %2 = graph.add %0, %1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  kernel.yield %2 : tensor<8x8xf32>
}
