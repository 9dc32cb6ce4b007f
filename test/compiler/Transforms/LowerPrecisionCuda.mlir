// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --lower-precision=target=cuda --split-input-file | FileCheck %s
// RUN: tenon-opt %s "--lower-precision=target=cuda explain" --split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY
// RUN: not tenon-opt %s --lower-precision=target=tpu --split-input-file 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: there is no target 'tpu'

// A product of two activations.
// CHECK-LABEL: @activations
// CHECK-DAG:  %[[X:.*]] = graph.cast %arg0 : {{.*}} -> tensor<2x5x8xbf16>
// CHECK-DAG:  %[[Y:.*]] = graph.cast %arg1 : {{.*}} -> tensor<2x7x8xbf16>
// CHECK:      %[[T:.*]] = graph.transpose %[[Y]] {{.*}} -> tensor<2x8x7xbf16>
// CHECK-DAG:  %[[RHS:.*]] = graph.cast %[[T]] : {{.*}} -> tensor<2x8x7xf32>
// CHECK-DAG:  %[[LHS:.*]] = graph.cast %[[X]] : {{.*}} -> tensor<2x5x8xf32>
// CHECK:      graph.matmul %[[LHS]], %[[RHS]]
func.func @activations(%x: tensor<2x5x8xf32>, %y: tensor<2x7x8xf32>)
    -> tensor<2x5x7xf32> {
  %0 = graph.transpose %y {permutation = array<i64: 0, 2, 1>}
      : (tensor<2x7x8xf32>) -> tensor<2x8x7xf32>
  %1 = graph.matmul %x, %0 : (tensor<2x5x8xf32>, tensor<2x8x7xf32>)
      -> tensor<2x5x7xf32>
  return %1 : tensor<2x5x7xf32>
}

// -----

// Rows that begin at odd places; and those of a weight.
// CHECK-LABEL: @odd
// CHECK-NOT:  bf16
// WHY: remark: stays in f32: an operand's elements do not lie in memory by twos
// WHY: remark: stays in f32: rows of a weight have an odd length
func.func @odd(%x: tensor<2x5x7xf32>, %y: tensor<2x7x8xf32>)
    -> (tensor<2x5x8xf32>, tensor<2x5x1001xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<8x1001xf32>
  %0 = graph.matmul %x, %y : (tensor<2x5x7xf32>, tensor<2x7x8xf32>)
      -> tensor<2x5x8xf32>
  %1 = graph.matmul %0, %w : (tensor<2x5x8xf32>, tensor<8x1001xf32>)
      -> tensor<2x5x1001xf32>
  return %0, %1 : tensor<2x5x8xf32>, tensor<2x5x1001xf32>
}

// -----

// Attention of what a kernel makes, which also rounds it. Caches are rounded
// and widened as they are read, for each reader by itself, and queries that no
// kernel computes stay.
// CHECK-LABEL: @attention
// CHECK:      %[[E:.*]] = graph.exp
// CHECK-NEXT: %[[R:.*]] = graph.cast %[[E]] : {{.*}} -> tensor<1x2x6x8xbf16>
// CHECK-NOT:  -> tensor<1x2x6x8xbf16>
// CHECK:      graph.attention
// CHECK:      %[[C:.*]] = graph.cast %arg0 : {{.*}} -> tensor<1x2x6x8xbf16>
// CHECK-NEXT: %[[KEY:.*]] = graph.cast %[[C]] : {{.*}} -> tensor<1x2x6x8xf32>
// CHECK:      graph.attention %{{.*}}, %[[KEY]], %{{.*}} {
// CHECK:      graph.attention %arg0, %[[E]], %[[E]] {
// WHY: remark: stays in f32: no kernel that computes queries could round them
func.func @attention(%x: tensor<1x2x6x8xf32>)
    -> (tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>) {
  %e = graph.exp %x : (tensor<1x2x6x8xf32>) -> tensor<1x2x6x8xf32>
  %0 = graph.attention %e, %e, %e {causal = false,
      dead_rows = #graph<dead_rows zero>, offset = #graph.dims<0>,
      scale = 1.0 : f64, softcap = 0.0 : f64, window = 0 : i64,
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
      : (tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>)
      -> tensor<1x2x6x8xf32>
  %1 = graph.attention %e, %x, %e {causal = false,
      dead_rows = #graph<dead_rows zero>, offset = #graph.dims<0>,
      scale = 1.0 : f64, softcap = 0.0 : f64, window = 0 : i64,
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
      : (tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>)
      -> tensor<1x2x6x8xf32>
  %2 = graph.attention %x, %e, %e {causal = false,
      dead_rows = #graph<dead_rows zero>, offset = #graph.dims<0>,
      scale = 1.0 : f64, softcap = 0.0 : f64, window = 0 : i64,
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
      : (tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>)
      -> tensor<1x2x6x8xf32>
  return %0, %1, %2
      : tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>
}

// -----

// What an attention computes is rounded where its kernel can do so, in front of
// what renames it; not where somebody reads it as f32.
// CHECK-LABEL: @behind
// CHECK:      %[[A:.*]] = graph.attention
// CHECK-NEXT: %[[R:.*]] = graph.cast %[[A]] : {{.*}} -> tensor<1x2x6x64xbf16>
// CHECK:      %[[T:.*]] = graph.transpose %[[R]] {{.*}} -> tensor<1x6x2x64xbf16>
// CHECK:      %[[M:.*]] = graph.reshape %[[T]] : {{.*}} -> tensor<1x6x128xbf16>
// CHECK-NEXT: %[[W:.*]] = graph.cast %[[M]] : {{.*}} -> tensor<1x6x128xf32>
// CHECK-NEXT: graph.matmul %[[W]]
// CHECK-LABEL: @read
// CHECK:      %[[A:.*]] = graph.attention
// CHECK-NEXT: %[[T:.*]] = graph.transpose %[[A]] {{.*}} -> tensor<1x6x2x64xf32>
// CHECK-NEXT: graph.cast %[[T]] : {{.*}} -> tensor<1x6x2x64xbf16>
func.func @behind(%x: tensor<1x2x6x64xf32>) -> tensor<1x6x128xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<128x128xf32>
  %e = graph.exp %x : (tensor<1x2x6x64xf32>) -> tensor<1x2x6x64xf32>
  %0 = graph.attention %e, %e, %e {causal = false,
      dead_rows = #graph<dead_rows zero>, offset = #graph.dims<0>,
      scale = 1.0 : f64, softcap = 0.0 : f64, window = 0 : i64,
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
      : (tensor<1x2x6x64xf32>, tensor<1x2x6x64xf32>, tensor<1x2x6x64xf32>)
      -> tensor<1x2x6x64xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<1x2x6x64xf32>) -> tensor<1x6x2x64xf32>
  %2 = graph.reshape %1 : (tensor<1x6x2x64xf32>) -> tensor<1x6x128xf32>
  %3 = graph.matmul %2, %w : (tensor<1x6x128xf32>, tensor<128x128xf32>)
      -> tensor<1x6x128xf32>
  return %3 : tensor<1x6x128xf32>
}
func.func @read(%x: tensor<1x2x6x64xf32>) -> (tensor<1x6x128xf32>, tensor<1x6x128xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<128x128xf32>
  %e = graph.exp %x : (tensor<1x2x6x64xf32>) -> tensor<1x2x6x64xf32>
  %0 = graph.attention %e, %e, %e {causal = false,
      dead_rows = #graph<dead_rows zero>, offset = #graph.dims<0>,
      scale = 1.0 : f64, softcap = 0.0 : f64, window = 0 : i64,
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
      : (tensor<1x2x6x64xf32>, tensor<1x2x6x64xf32>, tensor<1x2x6x64xf32>)
      -> tensor<1x2x6x64xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 0, 2, 1, 3>}
      : (tensor<1x2x6x64xf32>) -> tensor<1x6x2x64xf32>
  %2 = graph.reshape %1 : (tensor<1x6x2x64xf32>) -> tensor<1x6x128xf32>
  %3 = graph.matmul %2, %w : (tensor<1x6x128xf32>, tensor<128x128xf32>)
      -> tensor<1x6x128xf32>
  return %3, %2 : tensor<1x6x128xf32>, tensor<1x6x128xf32>
}

// -----

// An image is rounded as it is read, not before it is moved.
// CHECK-LABEL: @moved
// CHECK:      %[[T:.*]] = graph.transpose %arg0 {{.*}} -> tensor<1x9x9x64xf32>
// CHECK:      graph.cast %[[T]] : {{.*}} -> tensor<1x9x9x64xbf16>
func.func @moved(%x: tensor<1x64x9x9xf32>) -> tensor<1x7x7x64xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<64x64x3x3xf32>
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>}
      : (tensor<1x64x9x9xf32>) -> tensor<1x9x9x64xf32>
  %1 = graph.conv %0, %w {dilations = array<i64: 1, 1>, group = 1 : i64,
      pads = #graph.dims<0, 0, 0, 0>, strides = array<i64: 1, 1>,
      channels_last}
      : (tensor<1x9x9x64xf32>, tensor<64x64x3x3xf32>) -> tensor<1x7x7x64xf32>
  return %1 : tensor<1x7x7x64xf32>
}

// -----

// Groups of a channel stay in f32.
// CHECK-LABEL: @depthwise
// CHECK-NOT:  bf16
// WHY: remark: stays in f32: a group has few maps
func.func @depthwise(%x: tensor<1x9x9x512xf32>) -> tensor<1x7x7x512xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<512x1x3x3xf32>
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, group = 512 : i64,
      pads = #graph.dims<0, 0, 0, 0>, strides = array<i64: 1, 1>,
      channels_last}
      : (tensor<1x9x9x512xf32>, tensor<512x1x3x3xf32>) -> tensor<1x7x7x512xf32>
  return %0 : tensor<1x7x7x512xf32>
}

// -----

// A convolution by a large filter, not by a small one.
// CHECK-LABEL: @convolutions
// CHECK-DAG:  graph.cast %arg0 : {{.*}} -> tensor<1x9x9x64xbf16>
// CHECK-DAG:  graph.cast %{{.*}} -> tensor<64x64x3x3xbf16>
// CHECK:      graph.conv
// CHECK-NOT:  bf16
// CHECK:      graph.conv
// WHY: remark: stays in f32: the filter is no weight of f32 of some size
func.func @convolutions(%x: tensor<1x9x9x64xf32>)
    -> (tensor<1x7x7x64xf32>, tensor<1x7x7x4xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<64x64x3x3xf32>
  %v = graph.weight {name = "v"} : () -> tensor<4x64x1x1xf32>
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, group = 1 : i64,
      pads = #graph.dims<0, 0, 0, 0>, strides = array<i64: 1, 1>,
      channels_last}
      : (tensor<1x9x9x64xf32>, tensor<64x64x3x3xf32>) -> tensor<1x7x7x64xf32>
  %1 = graph.conv %0, %v {dilations = array<i64: 1, 1>, group = 1 : i64,
      pads = #graph.dims<0, 0, 0, 0>, strides = array<i64: 1, 1>,
      channels_last}
      : (tensor<1x7x7x64xf32>, tensor<4x64x1x1xf32>) -> tensor<1x7x7x4xf32>
  return %0, %1 : tensor<1x7x7x64xf32>, tensor<1x7x7x4xf32>
}

// -----

// Of products by weights of few bits lhs alone is rounded, also where the
// weight is seen transposed or has rows of an odd length.
// CHECK-LABEL: @fewBits
// CHECK-NOT:  -> tensor<{{.*}}x{{.*}}xbf16>
// CHECK:      %[[X:.*]] = graph.cast %arg0 : (tensor<4x128xf32>) -> tensor<4x128xbf16>
// CHECK-NOT:  -> tensor<{{.*}}x{{.*}}xbf16>
// CHECK:      %[[LHS:.*]] = graph.cast %[[X]] : {{.*}} -> tensor<4x128xf32>
// CHECK-NEXT: graph.matmul %[[LHS]], %{{.*}} {graph.precision = "int4-weights"}
// CHECK:      graph.matmul %{{.*}}, %{{.*}} {graph.precision = "int8-weights"}
func.func @fewBits(%x: tensor<4x128xf32>)
    -> (tensor<4x65xf32>, tensor<4x64xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<128x65xf32>
  %t = graph.weight {name = "t"} : () -> tensor<64x128xf32>
  %v = graph.transpose %t {permutation = array<i64: 1, 0>}
      : (tensor<64x128xf32>) -> tensor<128x64xf32>
  %0 = graph.matmul %x, %w {graph.precision = "int4-weights"}
      : (tensor<4x128xf32>, tensor<128x65xf32>) -> tensor<4x65xf32>
  %1 = graph.matmul %x, %v {graph.precision = "int8-weights"}
      : (tensor<4x128xf32>, tensor<128x64xf32>) -> tensor<4x64xf32>
  return %0, %1 : tensor<4x65xf32>, tensor<4x64xf32>
}

// -----

// What has no kernel for few bits is bf16: products of two activations, those
// by batches of matrices and those whose rows of lhs are no pairs. Where bf16
// is refused too, f32 stays.
// CHECK-LABEL: @noFewBits
// CHECK:      graph.matmul {{.*}} {graph.precision = "bf16"} : (tensor<2x5x8xf32>, tensor<2x8x8xf32>)
// CHECK:      graph.matmul {{.*}} {graph.precision = "bf16"} : (tensor<2x5x8xf32>, tensor<2x8x512xf32>)
// CHECK:      graph.matmul {{.*}} {graph.precision = "fp32"} : (tensor<5x7xf32>, tensor<7x1001xf32>)
// WHY: remark: stays in f32: an operand's elements do not lie in memory by twos
func.func @noFewBits(%x: tensor<2x5x8xf32>, %y: tensor<2x8x8xf32>,
                     %z: tensor<5x7xf32>)
    -> (tensor<2x5x8xf32>, tensor<2x5x512xf32>, tensor<5x1001xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<2x8x512xf32>
  %v = graph.weight {name = "v"} : () -> tensor<7x1001xf32>
  %0 = graph.matmul %x, %y {graph.precision = "int4-weights"}
      : (tensor<2x5x8xf32>, tensor<2x8x8xf32>) -> tensor<2x5x8xf32>
  %1 = graph.matmul %x, %w {graph.precision = "int8-weights"}
      : (tensor<2x5x8xf32>, tensor<2x8x512xf32>) -> tensor<2x5x512xf32>
  %2 = graph.matmul %z, %v {graph.precision = "int8-weights"}
      : (tensor<5x7xf32>, tensor<7x1001xf32>) -> tensor<5x1001xf32>
  return %0, %1, %2
      : tensor<2x5x8xf32>, tensor<2x5x512xf32>, tensor<5x1001xf32>
}

// -----

// Products of 8 bits are lower-int8's; where steps do not lie together by fours,
// bf16 is taken.
// CHECK-LABEL: @int8
// CHECK:      graph.matmul %arg0, %{{.*}} {graph.precision = "int8"}
// CHECK:      graph.matmul {{.*}} {graph.precision = "bf16"} : (tensor<4x66xf32>
func.func @int8(%x: tensor<4x128xf32>) -> tensor<4x64xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<128x66xf32>
  %v = graph.weight {name = "v"} : () -> tensor<66x64xf32>
  %0 = graph.matmul %x, %w {graph.precision = "int8"}
      : (tensor<4x128xf32>, tensor<128x66xf32>) -> tensor<4x66xf32>
  %1 = graph.matmul %0, %v {graph.precision = "int8"}
      : (tensor<4x66xf32>, tensor<66x64xf32>) -> tensor<4x64xf32>
  return %1 : tensor<4x64xf32>
}

// -----

// A weight that comes in few bits stays as it is; one with zero points of bytes
// is rounded where it is dequantized.
// CHECK-LABEL: @quantized
// CHECK:      %[[D:.*]] = graph.dequantize
// CHECK-NOT:  graph.cast %[[D]]
// CHECK:      graph.matmul
// CHECK-LABEL: @zeroPoint
// CHECK:      %[[D:.*]] = graph.dequantize
// CHECK-NEXT: graph.cast %[[D]] : {{.*}} -> tensor<2x32x16xbf16>
func.func @quantized(%x: tensor<4x64xf32>) -> tensor<4x16xf32> {
  %q = graph.weight {name = "q"} : () -> tensor<64x16xi8>
  %s = graph.weight {name = "s"} : () -> tensor<2x16xf32>
  %q3 = graph.reshape %q : (tensor<64x16xi8>) -> tensor<2x32x16xi8>
  %s3 = graph.reshape %s : (tensor<2x16xf32>) -> tensor<2x1x16xf32>
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %d = graph.dequantize %q3, %s3, %z
      : (tensor<2x32x16xi8>, tensor<2x1x16xf32>, tensor<i8>) -> tensor<2x32x16xf32>
  %b = graph.reshape %d : (tensor<2x32x16xf32>) -> tensor<64x16xf32>
  %c = graph.matmul %x, %b : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  return %c : tensor<4x16xf32>
}
func.func @zeroPoint(%x: tensor<4x64xf32>) -> tensor<4x16xf32> {
  %q = graph.weight {name = "q"} : () -> tensor<64x16xi8>
  %s = graph.weight {name = "s"} : () -> tensor<2x16xf32>
  %q3 = graph.reshape %q : (tensor<64x16xi8>) -> tensor<2x32x16xi8>
  %s3 = graph.reshape %s : (tensor<2x16xf32>) -> tensor<2x1x16xf32>
  %z = graph.constant {value = dense<3> : tensor<i8>} : () -> tensor<i8>
  %d = graph.dequantize %q3, %s3, %z
      : (tensor<2x32x16xi8>, tensor<2x1x16xf32>, tensor<i8>) -> tensor<2x32x16xf32>
  %b = graph.reshape %d : (tensor<2x32x16xf32>) -> tensor<64x16xf32>
  %c = graph.matmul %x, %b : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  return %c : tensor<4x16xf32>
}

// -----

// What the model itself rounds in front of a weight of few bits is multiplied
// as that, also where f32 is asked for.
// CHECK-LABEL: @comesRounded
// CHECK:      %[[N:.*]] = graph.cast %arg0 : (tensor<4x64xf32>) -> tensor<4x64xbf16>
// CHECK-NOT:  graph.cast %arg0
// CHECK:      %[[X:.*]] = graph.cast %[[N]]
// CHECK:      graph.matmul %[[X]], %{{.*}} {graph.precision = "bf16"}
// CHECK:      graph.matmul %arg0, %{{.*}} {graph.precision = "fp32"}
func.func @comesRounded(%x: tensor<4x64xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %q = graph.weight {name = "q"} : () -> tensor<64x16xi8>
  %s = graph.weight {name = "s"} : () -> tensor<2x16xf32>
  %q3 = graph.reshape %q : (tensor<64x16xi8>) -> tensor<2x32x16xi8>
  %s3 = graph.reshape %s : (tensor<2x16xf32>) -> tensor<2x1x16xf32>
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %d = graph.dequantize %q3, %s3, %z
      : (tensor<2x32x16xi8>, tensor<2x1x16xf32>, tensor<i8>) -> tensor<2x32x16xf32>
  %b = graph.reshape %d : (tensor<2x32x16xf32>) -> tensor<64x16xf32>
  %n = graph.cast %x : (tensor<4x64xf32>) -> tensor<4x64xbf16>
  %w = graph.cast %n : (tensor<4x64xbf16>) -> tensor<4x64xf32>
  %0 = graph.matmul %w, %b {graph.precision = "fp32"}
      : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  %1 = graph.matmul %x, %b {graph.precision = "fp32"}
      : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  return %0, %1 : tensor<4x16xf32>, tensor<4x16xf32>
}
