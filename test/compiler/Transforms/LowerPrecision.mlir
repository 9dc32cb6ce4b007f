// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --lower-precision --split-input-file | FileCheck %s
// RUN: tenon-opt %s --lower-precision=explain --split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY
// RUN: tenon-opt %s --lower-precision=f16 --split-input-file | FileCheck %s --check-prefix=F16
// RUN: tenon-opt %s --lower-precision="f16 explain" --split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY16
// RUN: tenon-opt %s --lower-precision="f16 f16-fma=false" --split-input-file | FileCheck %s --check-prefix=STORED

// Both operands of a product by a weight, lhs behind what renames its elements.
// CHECK-LABEL: @product
// CHECK:      %[[X:.*]] = graph.cast %arg0 : (tensor<?x2x64xf32, {{.*}}>) -> tensor<?x2x64xbf16,
// CHECK:      %[[W:.*]] = graph.cast %{{.*}} : (tensor<128x64xf32>) -> tensor<128x64xbf16>
// CHECK:      %[[WIDE:.*]] = graph.cast %[[W]] : (tensor<128x64xbf16>) -> tensor<128x64xf32>
// CHECK:      %[[ROWS:.*]] = graph.reshape %[[X]] : {{.*}} -> tensor<?x128xbf16
// CHECK:      %[[LHS:.*]] = graph.cast %[[ROWS]]
// CHECK:      graph.matmul %[[LHS]], %[[WIDE]] {graph.adds_f16} : {{.*}} -> tensor<?x64xf32
func.func @product(%x: tensor<?x2x64xf32, #graph.dims<s, 2, 64>>)
    -> tensor<?x64xf32, #graph.dims<s, 64>> {
  %w = graph.weight {name = "w"} : () -> tensor<128x64xf32>
  %0 = graph.reshape %x : (tensor<?x2x64xf32, #graph.dims<s, 2, 64>>)
      -> tensor<?x128xf32, #graph.dims<s, 128>>
  %1 = graph.matmul %0, %w
      : (tensor<?x128xf32, #graph.dims<s, 128>>, tensor<128x64xf32>)
      -> tensor<?x64xf32, #graph.dims<s, 64>>
  return %1 : tensor<?x64xf32, #graph.dims<s, 64>>
}

// -----

// A value is rounded once for all its products; others read it as it was.
// CHECK-LABEL: @shared
// CHECK:      %[[E:.*]] = graph.exp
// CHECK-NEXT: %[[R:.*]] = graph.cast %[[E]] : {{.*}} -> tensor<4x128xbf16>
// CHECK-NOT:  -> tensor<4x128xbf16>
// CHECK:      graph.matmul
// CHECK:      graph.matmul
// CHECK:      graph.add %[[E]],
func.func @shared(%x: tensor<4x128xf32>)
    -> (tensor<4x64xf32>, tensor<4x64xf32>, tensor<4x128xf32>) {
  %v = graph.weight {name = "v"} : () -> tensor<128x64xf32>
  %w = graph.weight {name = "w"} : () -> tensor<128x64xf32>
  %e = graph.exp %x : (tensor<4x128xf32>) -> tensor<4x128xf32>
  %0 = graph.matmul %e, %v : (tensor<4x128xf32>, tensor<128x64xf32>)
      -> tensor<4x64xf32>
  %1 = graph.matmul %e, %w : (tensor<4x128xf32>, tensor<128x64xf32>)
      -> tensor<4x64xf32>
  %2 = graph.add %e, %x : (tensor<4x128xf32>, tensor<4x128xf32>)
      -> tensor<4x128xf32>
  return %0, %1, %2 : tensor<4x64xf32>, tensor<4x64xf32>, tensor<4x128xf32>
}

// -----

// Rows are looked up in a table of bf16.
// CHECK-LABEL: @table
// CHECK:      %[[T:.*]] = graph.cast %{{.*}} -> tensor<100x64xbf16>
// CHECK:      %[[G:.*]] = graph.gather %[[T]], %arg0 {{.*}} -> tensor<4x64xbf16>
// CHECK:      graph.cast %[[G]] : (tensor<4x64xbf16>) -> tensor<4x64xf32>
func.func @table(%i: tensor<4xi64>) -> tensor<4x64xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<100x64xf32>
  %0 = graph.gather %w, %i {axis = 0 : i64}
      : (tensor<100x64xf32>, tensor<4xi64>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}

// -----

// Many rows that lie as columns are rounded as they are turned, by a kernel of
// its own, where a CPU level multiplies pairs.
// CHECK-LABEL: @turned
// CHECK:      %[[T:.*]] = graph.transpose %arg0
// CHECK-NEXT: %[[N:.*]] = graph.cast %[[T]] : {{.*}} -> tensor<300x128xbf16>
// CHECK:      %[[L:.*]] = graph.cast %[[N]]
// CHECK:      graph.matmul %[[L]],
func.func @turned(%x: tensor<128x300xf32>) -> tensor<300x64xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<128x64xf32>
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>}
      : (tensor<128x300xf32>) -> tensor<300x128xf32>
  %1 = graph.matmul %0, %w : (tensor<300x128xf32>, tensor<128x64xf32>)
      -> tensor<300x64xf32>
  return %1 : tensor<300x64xf32>
}

// -----

// A few rows are not worth that: lhs stays, the weight does not.
// CHECK-LABEL: @columns
// CHECK-NOT:  tensor<4x128xbf16>
// CHECK:      graph.cast %{{.*}} -> tensor<128x64xbf16>
// CHECK:      %[[T:.*]] = graph.transpose
// CHECK:      graph.matmul %[[T]],
// WHY: remark: operand 0 stays in f32: its rows are not contiguous
func.func @columns(%x: tensor<128x4xf32>) -> tensor<4x64xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<128x64xf32>
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>}
      : (tensor<128x4xf32>) -> tensor<4x128xf32>
  %1 = graph.matmul %0, %w : (tensor<4x128xf32>, tensor<128x64xf32>)
      -> tensor<4x64xf32>
  return %1 : tensor<4x64xf32>
}

// -----

// Pairs of bf16 lie together; of f16 no pairs are multiplied.
// CHECK-LABEL: @odd
// CHECK-NOT:  bf16
// WHY: remark: stays in f32: k is odd
// F16-LABEL: @odd
// F16:       graph.cast %{{.*}} : (tensor<129x64xf32>) -> tensor<129x64xf16>
func.func @odd(%x: tensor<4x129xf32>) -> tensor<4x64xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<129x64xf32>
  %0 = graph.matmul %x, %w : (tensor<4x129xf32>, tensor<129x64xf32>)
      -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}

// -----

// A small weight, one of f16, and none at all.
// CHECK-LABEL: @others
// CHECK-NOT:  bf16
// WHY: remark: stays in f32: rhs is no weight of f32 of some size
// WHY: remark: stays in f32: rhs is no weight of f32 of some size
// WHY: remark: stays in f32: it is of few rows or of one column
func.func @others(%x: tensor<4x8xf32>, %h: tensor<4x128xf16>,
                  %y: tensor<8x1024xf32>)
    -> (tensor<4x8xf32>, tensor<4x64xf16>, tensor<4x1024xf32>) {
  %v = graph.weight {name = "v"} : () -> tensor<8x8xf32>
  %w = graph.weight {name = "w"} : () -> tensor<128x64xf16>
  %0 = graph.matmul %x, %v : (tensor<4x8xf32>, tensor<8x8xf32>)
      -> tensor<4x8xf32>
  %1 = graph.matmul %h, %w : (tensor<4x128xf16>, tensor<128x64xf16>)
      -> tensor<4x64xf16>
  %2 = graph.matmul %x, %y : (tensor<4x8xf32>, tensor<8x1024xf32>)
      -> tensor<4x1024xf32>
  return %0, %1, %2 : tensor<4x8xf32>, tensor<4x64xf16>, tensor<4x1024xf32>
}

// -----

// A matrix for each batch; and one for all pairs of batches, which no kernel
// packs.
// CHECK-LABEL: @batches
// CHECK:      graph.matmul {{.*}} : (tensor<3x4x128xf32>, tensor<3x128x64xf32>)
// CHECK-SAME: -> tensor<3x4x64xf32>
// CHECK-NOT:  bf16
// CHECK:      graph.matmul {{.*}} : (tensor<2x3x4x128xf32>, tensor<3x128x64xf32>)
// WHY: remark: stays in f32: rhs is neither a matrix nor one for each batch
// WHY16: remark: stays in f32: rhs is neither a matrix nor one for each batch
func.func @batches(%x: tensor<3x4x128xf32>, %y: tensor<2x3x4x128xf32>)
    -> (tensor<3x4x64xf32>, tensor<2x3x4x64xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<3x128x64xf32>
  %v = graph.weight {name = "v"} : () -> tensor<3x128x64xf32>
  %0 = graph.matmul %x, %w : (tensor<3x4x128xf32>, tensor<3x128x64xf32>)
      -> tensor<3x4x64xf32>
  %1 = graph.matmul %y, %v : (tensor<2x3x4x128xf32>, tensor<3x128x64xf32>)
      -> tensor<2x3x4x64xf32>
  return %0, %1 : tensor<3x4x64xf32>, tensor<2x3x4x64xf32>
}

// -----

// Weights and tables become f16, what a product multiplies them by does not.
// F16-LABEL: @half
// F16-NOT:  tensor<4x128xf16>
// F16:      %[[W:.*]] = graph.cast %{{.*}} : (tensor<128x64xf32>) -> tensor<128x64xf16>
// F16:      %[[WIDE:.*]] = graph.cast %[[W]] : (tensor<128x64xf16>) -> tensor<128x64xf32>
// F16:      graph.matmul %arg0, %[[WIDE]] : (tensor<4x128xf32>, tensor<128x64xf32>)
// F16:      graph.gather %[[W]], {{.*}} -> tensor<4x64xf16>
func.func @half(%x: tensor<4x128xf32>, %i: tensor<4xi64>)
    -> (tensor<4x64xf32>, tensor<4x64xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<128x64xf32>
  %0 = graph.matmul %x, %w : (tensor<4x128xf32>, tensor<128x64xf32>)
      -> tensor<4x64xf32>
  %1 = graph.gather %w, %i {axis = 0 : i64}
      : (tensor<128x64xf32>, tensor<4xi64>) -> tensor<4x64xf32>
  return %0, %1 : tensor<4x64xf32>, tensor<4x64xf32>
}

// -----

// What meets a weight of 4 bits, or 8, is rounded, the weight is left to
// lower-weights; a stack of matrices stays what it is.
// CHECK-LABEL: @nibbles
// CHECK-DAG:  graph.cast %arg0 : (tensor<4x128xf32>) -> tensor<4x128xbf16>
// CHECK-DAG:  graph.cast %arg1 : (tensor<4x128xf32>) -> tensor<4x128xbf16>
// CHECK-NOT:  -> tensor<{{.*}}xbf16>
// CHECK:      return
func.func @nibbles(%x: tensor<4x128xf32>, %y: tensor<4x128xf32>,
                   %z: tensor<3x4x128xf32>)
    -> (tensor<4x64xf32>, tensor<4x64xf32>, tensor<3x4x64xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<128x64xf32>
  %s = graph.weight {name = "s"} : () -> tensor<3x128x64xf32>
  %0 = graph.matmul %x, %w {graph.precision = "int4-weights"}
      : (tensor<4x128xf32>, tensor<128x64xf32>) -> tensor<4x64xf32>
  %1 = graph.matmul %y, %w {graph.precision = "int8-weights"}
      : (tensor<4x128xf32>, tensor<128x64xf32>) -> tensor<4x64xf32>
  %2 = graph.matmul %z, %s {graph.precision = "int4-weights"}
      : (tensor<3x4x128xf32>, tensor<3x128x64xf32>) -> tensor<3x4x64xf32>
  return %0, %1, %2 : tensor<4x64xf32>, tensor<4x64xf32>, tensor<3x4x64xf32>
}

// -----

// What attention multiplies is rounded in front of it, whoever made it.
// CHECK-LABEL: @attention
// CHECK:      %[[E:.*]] = graph.exp
// CHECK-NEXT: %[[NV:.*]] = graph.cast %[[E]] : {{.*}} -> tensor<1x2x6x8xbf16>
// CHECK-NEXT: %[[V:.*]] = graph.cast %[[NV]] : {{.*}} -> tensor<1x2x6x8xf32>
// CHECK-NEXT: %[[NK:.*]] = graph.cast %arg0 : {{.*}} -> tensor<1x2x6x8xbf16>
// CHECK-NEXT: %[[K:.*]] = graph.cast %[[NK]] : {{.*}} -> tensor<1x2x6x8xf32>
// CHECK:      graph.attention %{{.*}}, %[[K]], %[[V]] {
// F16-LABEL: @attention
// F16:       graph.cast %{{.*}} -> tensor<1x2x6x8xf16>
// F16:       graph.attention
// STORED-LABEL: @attention
// STORED-NOT:   f16
// STORED:       graph.attention
func.func @attention(%x: tensor<1x2x6x8xf32>) -> tensor<1x2x6x8xf32> {
  %e = graph.exp %x : (tensor<1x2x6x8xf32>) -> tensor<1x2x6x8xf32>
  %0 = graph.attention %e, %x, %e {causal = false,
      dead_rows = #graph<dead_rows zero>, offset = #graph.dims<0>,
      scale = 1.0 : f64, softcap = 0.0 : f64, window = 0 : i64,
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
      : (tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>)
      -> tensor<1x2x6x8xf32>
  return %0 : tensor<1x2x6x8xf32>
}

// -----

// What it computes is rounded in front of what only puts it elsewhere: its
// kernel stores that.
// CHECK-LABEL: @behind_attention
// CHECK:      %[[A:.*]] = graph.attention
// CHECK-NEXT: %[[N:.*]] = graph.cast %[[A]] : {{.*}} -> tensor<1x2x6x64xbf16>
// CHECK:      %[[T:.*]] = graph.transpose %[[N]]
// CHECK-NEXT: %[[R:.*]] = graph.reshape %[[T]] : {{.*}} -> tensor<1x6x128xbf16>
// CHECK-NEXT: graph.cast %[[R]]
// Where somebody else reads it, the product rounds what it reads.
// CHECK-LABEL: @read_behind_attention
// CHECK:      %[[A:.*]] = graph.attention
// CHECK-NEXT: graph.transpose %[[A]] {{.*}} -> tensor<1x6x2x64xf32>
func.func @behind_attention(%x: tensor<1x2x6x64xf32>)
    -> tensor<1x6x64xf32> {
  %0 = graph.attention %x, %x, %x {causal = false,
      dead_rows = #graph<dead_rows zero>, offset = #graph.dims<0>,
      scale = 1.0 : f64, softcap = 0.0 : f64, window = 0 : i64,
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
      : (tensor<1x2x6x64xf32>, tensor<1x2x6x64xf32>, tensor<1x2x6x64xf32>)
      -> tensor<1x2x6x64xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<1x2x6x64xf32>) -> tensor<1x6x2x64xf32>
  %2 = graph.reshape %1 : (tensor<1x6x2x64xf32>) -> tensor<1x6x128xf32>
  %3 = graph.weight {name = "w"} : () -> tensor<128x64xf32>
  %4 = graph.matmul %2, %3
      : (tensor<1x6x128xf32>, tensor<128x64xf32>) -> tensor<1x6x64xf32>
  return %4 : tensor<1x6x64xf32>
}
func.func @read_behind_attention(%x: tensor<1x2x6x64xf32>)
    -> (tensor<1x6x64xf32>, tensor<1x6x128xf32>) {
  %0 = graph.attention %x, %x, %x {causal = false,
      dead_rows = #graph<dead_rows zero>, offset = #graph.dims<0>,
      scale = 1.0 : f64, softcap = 0.0 : f64, window = 0 : i64,
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
      : (tensor<1x2x6x64xf32>, tensor<1x2x6x64xf32>, tensor<1x2x6x64xf32>)
      -> tensor<1x2x6x64xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<1x2x6x64xf32>) -> tensor<1x6x2x64xf32>
  %2 = graph.reshape %1 : (tensor<1x6x2x64xf32>) -> tensor<1x6x128xf32>
  %3 = graph.weight {name = "w"} : () -> tensor<128x64xf32>
  %4 = graph.matmul %2, %3
      : (tensor<1x6x128xf32>, tensor<128x64xf32>) -> tensor<1x6x64xf32>
  return %4, %2 : tensor<1x6x64xf32>, tensor<1x6x128xf32>
}

// -----

// An image that is looked up is there in 16 bits, for several convolutions too.
// CHECK-LABEL: @looked_up
// CHECK:      %[[G:.*]] = graph.gather {{.*}} -> tensor<2x80x128xbf16>
// CHECK-NOT:  -> tensor<2x80x128xf32>
// CHECK:      %[[A:.*]] = graph.reshape %[[G]] : {{.*}} -> tensor<2x1x80x128xbf16>
// CHECK:      graph.cast %[[A]]
// CHECK:      graph.conv
// CHECK:      %[[B:.*]] = graph.reshape %[[G]] : {{.*}} -> tensor<2x1x80x128xbf16>
// CHECK:      graph.cast %[[B]]
// CHECK:      graph.conv
func.func @looked_up(%i: tensor<2x80xi64>) -> (tensor<2x1x78x96xf32>, tensor<2x1x77x96xf32>) {
  %t = graph.weight {name = "t"} : () -> tensor<64x128xf32>
  %0 = graph.gather %t, %i {axis = 0 : i64}
      : (tensor<64x128xf32>, tensor<2x80xi64>) -> tensor<2x80x128xf32>
  %1 = graph.reshape %0 : (tensor<2x80x128xf32>) -> tensor<2x1x80x128xf32>
  %v = graph.weight {name = "v"} : () -> tensor<96x128x1x3xf32>
  %2 = graph.conv %1, %v {strides = array<i64: 1, 1>,
      dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>,
      group = 1 : i64, channels_last}
      : (tensor<2x1x80x128xf32>, tensor<96x128x1x3xf32>) -> tensor<2x1x78x96xf32>
  %w = graph.weight {name = "w"} : () -> tensor<96x128x1x4xf32>
  %3 = graph.conv %1, %w {strides = array<i64: 1, 1>,
      dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>,
      group = 1 : i64, channels_last}
      : (tensor<2x1x80x128xf32>, tensor<96x128x1x4xf32>) -> tensor<2x1x77x96xf32>
  return %2, %3 : tensor<2x1x78x96xf32>, tensor<2x1x77x96xf32>
}

// -----

// Columns of memory are no rows that its kernel could read.
// CHECK-LABEL: @turned
// CHECK-NOT:  bf16
// WHY: remark: stays in f32: rows of an operand are not contiguous
func.func @turned(%x: tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {
  %t = graph.transpose %x {permutation = array<i64: 0, 1, 3, 2>}
      : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %0 = graph.attention %x, %t, %x {causal = false,
      dead_rows = #graph<dead_rows zero>, offset = #graph.dims<0>,
      scale = 1.0 : f64, softcap = 0.0 : f64, window = 0 : i64,
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
      : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>)
      -> tensor<1x2x8x8xf32>
  return %0 : tensor<1x2x8x8xf32>
}

// -----

// Beside products in int8 attention multiplies in bf16; one that a plan wants
// in f32 does not.
// CHECK-LABEL: @beside
// F16-LABEL: @beside
// CHECK-COUNT-1: -> tensor<1x2x6x8xbf16>
// CHECK:      graph.attention {{.*}}graph.precision = "bf16"
// CHECK-NOT:  bf16
// CHECK:      graph.attention {{.*}}graph.precision = "fp32"
func.func @beside(%x: tensor<1x2x6x8xf32>, %y: tensor<1x2x6x8xf32>)
    -> (tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>) {
  %0 = graph.attention %x, %x, %x {causal = false,
      dead_rows = #graph<dead_rows zero>, offset = #graph.dims<0>,
      graph.precision = "int8",
      scale = 1.0 : f64, softcap = 0.0 : f64, window = 0 : i64,
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
      : (tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>)
      -> tensor<1x2x6x8xf32>
  %1 = graph.attention %y, %y, %y {causal = false,
      dead_rows = #graph<dead_rows zero>, offset = #graph.dims<0>,
      graph.precision = "fp32",
      scale = 1.0 : f64, softcap = 0.0 : f64, window = 0 : i64,
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
      : (tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>)
      -> tensor<1x2x6x8xf32>
  return %0, %1 : tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>
}

// -----

// So do products by a stack of matrices, which have no kernel of 8 bits; one by
// a matrix is for lower-int8.
// CHECK-LABEL: @experts
// CHECK-DAG:  graph.cast %{{.*}} : (tensor<4x64x64xf32>) -> tensor<4x64x64xbf16>
// CHECK-DAG:  graph.cast %arg0 : (tensor<4x32x64xf32>) -> tensor<4x32x64xbf16>
// CHECK:      graph.matmul %{{.*}} {graph.adds_f16, graph.precision = "bf16"}
// CHECK:      graph.matmul %arg1, %{{[0-9]+}} {graph.precision = "int8"} : (tensor<32x64xf32>, tensor<64x64xf32>)
func.func @experts(%x: tensor<4x32x64xf32>, %y: tensor<32x64xf32>)
    -> (tensor<4x32x64xf32>, tensor<32x64xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<4x64x64xf32>
  %v = graph.weight {name = "v"} : () -> tensor<64x64xf32>
  %0 = graph.matmul %x, %w {graph.precision = "int8"}
      : (tensor<4x32x64xf32>, tensor<4x64x64xf32>) -> tensor<4x32x64xf32>
  %1 = graph.matmul %y, %v {graph.precision = "int8"}
      : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %0, %1 : tensor<4x32x64xf32>, tensor<32x64xf32>
}

// -----

// A weight that comes in few bits stays as it is, and what it meets is rounded;
// where f32 is asked for that is not, either.
// CHECK-LABEL: @comesQuantized
// CHECK:      %[[N:.*]] = graph.cast %arg0 : (tensor<4x64xf32>) -> tensor<4x64xbf16>
// CHECK:      %[[D:.*]] = graph.dequantize
// CHECK-NOT:  graph.cast %[[D]]
// CHECK:      graph.matmul %arg0, %[[B:.*]] {graph.precision = "fp32"}
// CHECK:      %[[X:.*]] = graph.cast %[[N]] : (tensor<4x64xbf16>) -> tensor<4x64xf32>
// CHECK:      graph.matmul %[[X]], %[[B]] {graph.precision = "bf16"}
func.func @comesQuantized(%x: tensor<4x64xf32>)
    -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %q = graph.weight {name = "q"} : () -> tensor<64x16xi8>
  %s = graph.weight {name = "s"} : () -> tensor<2x16xf32>
  %q3 = graph.reshape %q : (tensor<64x16xi8>) -> tensor<2x32x16xi8>
  %s3 = graph.reshape %s : (tensor<2x16xf32>) -> tensor<2x1x16xf32>
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %d = graph.dequantize %q3, %s3, %z
      : (tensor<2x32x16xi8>, tensor<2x1x16xf32>, tensor<i8>) -> tensor<2x32x16xf32>
  %b = graph.reshape %d : (tensor<2x32x16xf32>) -> tensor<64x16xf32>
  %0 = graph.matmul %x, %b {graph.precision = "fp32"}
      : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  %1 = graph.matmul %x, %b {graph.precision = "int8-weights"}
      : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  return %0, %1 : tensor<4x16xf32>, tensor<4x16xf32>
}

// -----

// What the model itself rounds to bf16 in front of such a weight is rounded
// where it is made; not what it rounds to f16, and not in front of another.
// CHECK-LABEL: @comesRounded
// CHECK:      %[[N:.*]] = graph.cast %arg0 : (tensor<2x2x64xf32>) -> tensor<2x2x64xbf16>
// CHECK:      %[[R:.*]] = graph.reshape %arg0
// CHECK:      %[[H:.*]] = graph.cast %[[R]] : {{.*}} -> tensor<4x64xf16>
// CHECK:      %[[G:.*]] = graph.cast %[[H]]
// CHECK:      %[[K:.*]] = graph.cast %[[R]] : {{.*}} -> tensor<4x64xbf16>
// CHECK:      %[[L:.*]] = graph.cast %[[K]]
// CHECK:      %[[M:.*]] = graph.reshape %[[N]]
// CHECK:      %[[X:.*]] = graph.cast %[[M]] : (tensor<4x64xbf16>) -> tensor<4x64xf32>
// CHECK:      graph.matmul %[[X]], %{{.*}} {graph.precision = "bf16"}
// CHECK:      graph.matmul %[[G]], %{{.*}} {graph.precision = "fp32"}
// CHECK:      graph.matmul %[[L]], %{{.*}} {graph.precision = "fp32"}
func.func @comesRounded(%x: tensor<2x2x64xf32>)
    -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) {
  %q = graph.weight {name = "q"} : () -> tensor<64x16xi8>
  %s = graph.weight {name = "s"} : () -> tensor<2x16xf32>
  %w = graph.weight {name = "w"} : () -> tensor<64x16xf32>
  %q3 = graph.reshape %q : (tensor<64x16xi8>) -> tensor<2x32x16xi8>
  %s3 = graph.reshape %s : (tensor<2x16xf32>) -> tensor<2x1x16xf32>
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %d = graph.dequantize %q3, %s3, %z
      : (tensor<2x32x16xi8>, tensor<2x1x16xf32>, tensor<i8>) -> tensor<2x32x16xf32>
  %b = graph.reshape %d : (tensor<2x32x16xf32>) -> tensor<64x16xf32>
  %r = graph.reshape %x : (tensor<2x2x64xf32>) -> tensor<4x64xf32>
  %h = graph.cast %r : (tensor<4x64xf32>) -> tensor<4x64xf16>
  %hf = graph.cast %h : (tensor<4x64xf16>) -> tensor<4x64xf32>
  %n = graph.cast %r : (tensor<4x64xf32>) -> tensor<4x64xbf16>
  %nf = graph.cast %n : (tensor<4x64xbf16>) -> tensor<4x64xf32>
  %0 = graph.matmul %nf, %b {graph.precision = "fp32"}
      : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  %1 = graph.matmul %hf, %b {graph.precision = "fp32"}
      : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  %2 = graph.matmul %nf, %w {graph.precision = "fp32"}
      : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  return %0, %1, %2 : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>
}

// -----

// Many rows of f32 may be rounded by the product's own kernel, if some level
// adds up in f16: they are not stored so.
// F16-LABEL: @rounded
// F16:      %[[X:.*]] = graph.exp %arg0
// F16-DAG:  %[[N:.*]] = graph.cast %[[X]] : {{.*}} -> tensor<?x128xf16,
// F16-DAG:  %[[LHS:.*]] = graph.cast %[[N]] : {{.*}} -> tensor<?x128xf32,
// F16-DAG:  %[[RHS:.*]] = graph.cast %{{.*}} : (tensor<128x64xf16>) -> tensor<128x64xf32>
// F16:      graph.matmul %[[LHS]], %[[RHS]] {graph.adds_f16}
// F16:      graph.add %[[X]], %[[X]]
// STORED-LABEL: @rounded
// STORED-NOT:   x128xf16,
// STORED:       graph.cast %{{.*}} : (tensor<128x64xf16>) -> tensor<128x64xf32>
// STORED-NOT:   adds_f16
func.func @rounded(%x: tensor<?x128xf32, #graph.dims<s, 128>>)
    -> (tensor<?x64xf32, #graph.dims<s, 64>>,
        tensor<?x128xf32, #graph.dims<s, 128>>) {
  %w = graph.weight {name = "w"} : () -> tensor<128x64xf32>
  %0 = graph.exp %x : (tensor<?x128xf32, #graph.dims<s, 128>>)
      -> tensor<?x128xf32, #graph.dims<s, 128>>
  %1 = graph.matmul %0, %w
      : (tensor<?x128xf32, #graph.dims<s, 128>>, tensor<128x64xf32>)
      -> tensor<?x64xf32, #graph.dims<s, 64>>
  %2 = graph.add %0, %0
      : (tensor<?x128xf32, #graph.dims<s, 128>>,
         tensor<?x128xf32, #graph.dims<s, 128>>)
      -> tensor<?x128xf32, #graph.dims<s, 128>>
  return %1, %2 : tensor<?x64xf32, #graph.dims<s, 64>>,
      tensor<?x128xf32, #graph.dims<s, 128>>
}

// -----

// A few steps of k are not worth it. Rows whose elements lie apart are: the
// kernel turns them as it rounds.
// F16-LABEL: @turned
// F16-NOT:   x62xf16,
// F16:       graph.matmul
// F16:       graph.cast %{{.*}} -> tensor<?x128xf16,
// F16:       graph.matmul {{.*}} {graph.adds_f16}
func.func @turned(%x: tensor<?x62xf32, #graph.dims<s, 62>>,
                  %y: tensor<128x?xf32, #graph.dims<128, s>>)
    -> (tensor<?x64xf32, #graph.dims<s, 64>>,
        tensor<?x64xf32, #graph.dims<s, 64>>) {
  %v = graph.weight {name = "v"} : () -> tensor<62x64xf32>
  %0 = graph.matmul %x, %v
      : (tensor<?x62xf32, #graph.dims<s, 62>>, tensor<62x64xf32>)
      -> tensor<?x64xf32, #graph.dims<s, 64>>
  %w = graph.weight {name = "w"} : () -> tensor<128x64xf32>
  %1 = graph.transpose %y {permutation = array<i64: 1, 0>}
      : (tensor<128x?xf32, #graph.dims<128, s>>)
      -> tensor<?x128xf32, #graph.dims<s, 128>>
  %2 = graph.matmul %1, %w
      : (tensor<?x128xf32, #graph.dims<s, 128>>, tensor<128x64xf32>)
      -> tensor<?x64xf32, #graph.dims<s, 64>>
  return %0, %2 : tensor<?x64xf32, #graph.dims<s, 64>>,
      tensor<?x64xf32, #graph.dims<s, 64>>
}

// -----

// A weight that comes in f16 is read as it is.
// F16-LABEL: @half_weight
// F16:      graph.cast %arg0 : {{.*}} -> tensor<?x128xf16,
// F16:      graph.matmul {{.*}} {graph.adds_f16}
func.func @half_weight(%x: tensor<?x128xf32, #graph.dims<s, 128>>)
    -> tensor<?x64xf32, #graph.dims<s, 64>> {
  %w = graph.weight {name = "w"} : () -> tensor<128x64xf16>
  %0 = graph.cast %w : (tensor<128x64xf16>) -> tensor<128x64xf32>
  %1 = graph.matmul %x, %0
      : (tensor<?x128xf32, #graph.dims<s, 128>>, tensor<128x64xf32>)
      -> tensor<?x64xf32, #graph.dims<s, 64>>
  return %1 : tensor<?x64xf32, #graph.dims<s, 64>>
}
