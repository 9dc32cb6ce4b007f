// RUN: tenon-opt %s --lower-to-exec --split-input-file | FileCheck %s

// A product has two operations for each term, and reads and writes all of its
// operands once. Its weight has a layout of its own: packaging adds its bytes.

// CHECK: exec.launch @matmul
// CHECK-SAME: cost = #graph.dims<256 * B, 0, 96 * B>, factors = f32
func.func @main(%x: tensor<?x8xf32, #graph.dims<B, 8>> {graph.name = "x"}) -> (tensor<?x16xf32, #graph.dims<B, 16>> {graph.name = "y"}) {
  %w = graph.weight {name = "w"} : () -> tensor<8x16xf32>
  %0 = kernel.call @matmul(%x, %w) params <B> : (tensor<?x8xf32, #graph.dims<B, 8>>, tensor<8x16xf32>) -> tensor<?x16xf32, #graph.dims<B, 16>>
  return %0 : tensor<?x16xf32, #graph.dims<B, 16>>
}
kernel.func @matmul symbols ["d0"] layouts ["", "packed48"] schedule "PackedMatmul" geometry <d0, 1, 0> {
^bb0(%0: tensor<?x8xf32, #graph.dims<d0, 8>>, %1: tensor<8x16xf32>):
  %2 = graph.matmul %0, %1 : (tensor<?x8xf32, #graph.dims<d0, 8>>, tensor<8x16xf32>) -> tensor<?x16xf32, #graph.dims<d0, 16>>
  kernel.yield %2 : tensor<?x16xf32, #graph.dims<d0, 16>>
}

// -----

// An operand that comes twice is read once; of a table only the rows that are
// picked are read.

// CHECK: exec.launch @add {{.*}}cost = #graph.dims<0, 0, 64>
// CHECK: exec.launch @gather {{.*}}cost = #graph.dims<0, 64, 96>
func.func @main(%x: tensor<8xf32> {graph.name = "x"}, %i: tensor<4xi64> {graph.name = "i"}) -> (tensor<8xf32> {graph.name = "y"}, tensor<4x4xf32> {graph.name = "z"}) {
  %0 = kernel.call @add(%x, %x) params <> : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %w = graph.weight {name = "w"} : () -> tensor<1000x4xf32>
  %1 = kernel.call @gather(%w, %i) params <> : (tensor<1000x4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
  return %0, %1 : tensor<8xf32>, tensor<4x4xf32>
}
kernel.func @add symbols [] layouts ["", ""] schedule "Generic" geometry <1, 1, 0> {
^bb0(%0: tensor<8xf32>, %1: tensor<8xf32>):
  %2 = graph.add %0, %1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  kernel.yield %2 : tensor<8xf32>
}
kernel.func @gather symbols [] layouts ["", ""] schedule "Generic" geometry <4, 1, 0> {
^bb0(%0: tensor<1000x4xf32>, %1: tensor<4xi64>):
  %2 = graph.gather %0, %1 {axis = 0 : i64} : (tensor<1000x4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
  kernel.yield %2 : tensor<4x4xf32>
}

// -----

// Attention has a term for each element of a key and of a value, for each pair
// of a query and a key.

// CHECK: exec.launch @attention
// CHECK-SAME: cost = #graph.dims<1152 * S, 0, 192 * S + 1152>, factors = f32
func.func @main(%q: tensor<1x2x?x16xf32, #graph.dims<1, 2, S, 16>> {graph.name = "q"}, %k: tensor<1x1x12x16xf32> {graph.name = "k"}, %v: tensor<1x1x12x8xf32> {graph.name = "v"}) -> (tensor<1x2x?x8xf32, #graph.dims<1, 2, S, 8>> {graph.name = "y"}) {
  %0 = kernel.call @attention(%q, %k, %v) params <S> : (tensor<1x2x?x16xf32, #graph.dims<1, 2, S, 16>>, tensor<1x1x12x16xf32>, tensor<1x1x12x8xf32>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, S, 8>>
  return %0 : tensor<1x2x?x8xf32, #graph.dims<1, 2, S, 8>>
}
kernel.func @attention symbols ["d0"] layouts ["", "", ""] schedule "Generic" geometry <2 * d0, 1, 0> {
^bb0(%0: tensor<1x2x?x16xf32, #graph.dims<1, 2, d0, 16>>, %1: tensor<1x1x12x16xf32>, %2: tensor<1x1x12x8xf32>):
  %3 = graph.attention %0, %1, %2 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.25 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x?x16xf32, #graph.dims<1, 2, d0, 16>>, tensor<1x1x12x16xf32>, tensor<1x1x12x8xf32>) -> tensor<1x2x?x8xf32, #graph.dims<1, 2, d0, 8>>
  kernel.yield %3 : tensor<1x2x?x8xf32, #graph.dims<1, 2, d0, 8>>
}

// -----

// Products of bf16 whose sums are f32 count as products of bf16; one operand
// that is widened alone does not make them so.

// CHECK: exec.launch @narrow
// CHECK-SAME: cost = #graph.dims<1024, 0, 576>, factors = bf16
// CHECK: exec.launch @wide
// CHECK-SAME: factors = f32
func.func @main(%x: tensor<4x8xbf16> {graph.name = "x"}, %v: tensor<8x16xbf16> {graph.name = "v"}, %w: tensor<4x8xf32> {graph.name = "w"}) -> (tensor<4x16xf32> {graph.name = "y"}, tensor<4x16xf32> {graph.name = "z"}) {
  %0 = kernel.call @narrow(%x, %v) params <> : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xf32>
  %1 = kernel.call @wide(%w, %v) params <> : (tensor<4x8xf32>, tensor<8x16xbf16>) -> tensor<4x16xf32>
  return %0, %1 : tensor<4x16xf32>, tensor<4x16xf32>
}
kernel.func @narrow symbols [] layouts ["", ""] schedule "Generic" geometry <1, 1, 0> {
^bb0(%0: tensor<4x8xbf16>, %1: tensor<8x16xbf16>):
  %2 = graph.cast %0 : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %3 = graph.cast %1 : (tensor<8x16xbf16>) -> tensor<8x16xf32>
  %4 = graph.matmul %2, %3 : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  kernel.yield %4 : tensor<4x16xf32>
}
kernel.func @wide symbols [] layouts ["", ""] schedule "Generic" geometry <1, 1, 0> {
^bb0(%0: tensor<4x8xf32>, %1: tensor<8x16xbf16>):
  %2 = graph.cast %1 : (tensor<8x16xbf16>) -> tensor<8x16xf32>
  %3 = graph.matmul %0, %2 : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  kernel.yield %3 : tensor<4x16xf32>
}

// -----

// The same of convolutions.

// CHECK: exec.launch @pairs
// CHECK-SAME: factors = bf16
func.func @main(%x: tensor<1x9x8xbf16> {graph.name = "x"}, %w: tensor<4x8x3xbf16> {graph.name = "w"}) -> (tensor<1x7x4xf32> {graph.name = "y"}) {
  %0 = kernel.call @pairs(%x, %w) params <> : (tensor<1x9x8xbf16>, tensor<4x8x3xbf16>) -> tensor<1x7x4xf32>
  return %0 : tensor<1x7x4xf32>
}
kernel.func @pairs symbols [] layouts ["", ""] schedule "Generic" geometry <1, 1, 0> {
^bb0(%0: tensor<1x9x8xbf16>, %1: tensor<4x8x3xbf16>):
  %2 = graph.cast %0 : (tensor<1x9x8xbf16>) -> tensor<1x9x8xf32>
  %3 = graph.cast %1 : (tensor<4x8x3xbf16>) -> tensor<4x8x3xf32>
  %4 = graph.conv %2, %3 {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1, channels_last} : (tensor<1x9x8xf32>, tensor<4x8x3xf32>) -> tensor<1x7x4xf32>
  kernel.yield %4 : tensor<1x7x4xf32>
}
