// RUN: tenon-opt %s --split-conv-transposes=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// Taps that the strides divide: the phases are the maps of one convolution,
// each with its taps in reverse; the border is cropped last.

// CHECK-LABEL: @equal_phases
func.func @equal_phases(%x: tensor<1x8x5x6xf32>) -> tensor<1x3x10x12xf32> {
  // CHECK: graph.slice %{{.*}} {starts = #graph.dims<0, 0, 2, 2>, steps = #graph.dims<1, 1, -2, -2>} : (tensor<3x8x4x4xf32>) -> tensor<3x8x2x2xf32>
  // CHECK: graph.slice %{{.*}} {starts = #graph.dims<0, 0, 3, 3>, steps = #graph.dims<1, 1, -2, -2>}
  // CHECK: graph.conv {{.*}} {channels_last, dilations = array<i64: 1, 1>, group = 1 : i64, pads = #graph.dims<1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x5x6x8xf32>, tensor<12x8x2x2xf32>) -> tensor<1x6x7x12xf32>
  // CHECK: graph.slice %{{.*}} {starts = #graph.dims<0, 1, 1, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x12x14x3xf32>) -> tensor<1x10x12x3xf32>
  // CHECK-NOT: graph.conv_transpose
  %w = graph.weight {name = "w"} : () -> tensor<8x3x4x4xf32>
  %0 = graph.conv_transpose %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1 : i64} : (tensor<1x8x5x6xf32>, tensor<8x3x4x4xf32>) -> tensor<1x3x10x12xf32>
  return %0 : tensor<1x3x10x12xf32>
}

// -----

// Else each phase is a convolution with as many taps as it has.

// CHECK-LABEL: @unequal_phases
func.func @unequal_phases(%x: tensor<1x8x5xf32>) -> tensor<1x3x11xf32> {
  // CHECK: graph.conv {{.*}} (tensor<1x5x8xf32>, tensor<3x8x2xf32>) -> tensor<1x6x3xf32>
  // CHECK: graph.conv {{.*}} (tensor<1x5x8xf32>, tensor<3x8x1xf32>) -> tensor<1x6x3xf32>
  // CHECK: graph.concat
  %w = graph.weight {name = "w"} : () -> tensor<8x3x3xf32>
  %0 = graph.conv_transpose %x, %w {strides = array<i64: 2>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x8x5xf32>, tensor<8x3x3xf32>) -> tensor<1x3x11xf32>
  return %0 : tensor<1x3x11xf32>
}

// -----

// Without a stride it is one convolution, dilated like it, of any size.

// CHECK-LABEL: @dilated
func.func @dilated(%x: tensor<?x8x?xf32, #graph.dims<n, 8, h>>) -> tensor<?x4x?xf32, #graph.dims<n, 4, h + 2>> {
  // CHECK: graph.conv {{.*}} {channels_last, dilations = array<i64: 2>, group = 2 : i64, pads = #graph.dims<3, 3>, strides = array<i64: 1>}
  // CHECK-NOT: graph.concat
  %w = graph.weight {name = "w"} : () -> tensor<8x2x3xf32>
  %0 = graph.conv_transpose %x, %w {strides = array<i64: 1>, dilations = array<i64: 2>, pads = #graph.dims<1, 1>, group = 2 : i64} : (tensor<?x8x?xf32, #graph.dims<n, 8, h>>, tensor<8x2x3xf32>) -> tensor<?x4x?xf32, #graph.dims<n, 4, h + 2>>
  return %0 : tensor<?x4x?xf32, #graph.dims<n, 4, h + 2>>
}

// -----

// CHECK-LABEL: @halves
func.func @halves(%x: tensor<1x8x5xf16>) -> tensor<1x3x10xf16> {
  // CHECK: graph.conv {{.*}} (tensor<1x5x8xf16>, tensor<6x8x1xf16>) -> tensor<1x5x6xf16>
  // CHECK-NOT: graph.conv_transpose
  %w = graph.weight {name = "w"} : () -> tensor<8x3x2xf16>
  %0 = graph.conv_transpose %x, %w {strides = array<i64: 2>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x8x5xf16>, tensor<8x3x2xf16>) -> tensor<1x3x10xf16>
  return %0 : tensor<1x3x10xf16>
}

// -----

// Must not fire: a filter that is computed, gaps between the taps of a phase,
// results without a tap.

// CHECK-LABEL: @others
func.func @others(%x: tensor<1x8x5xf32>, %f: tensor<8x3x2xf32>) -> (tensor<1x3x10xf32>, tensor<1x3x13xf32>, tensor<1x3x9xf32>) {
  // CHECK-COUNT-3: graph.conv_transpose
  %w = graph.weight {name = "w"} : () -> tensor<8x3x3xf32>
  %v = graph.weight {name = "v"} : () -> tensor<8x3x1xf32>
  // expected-remark@+1 {{transposed convolution is not split: its filter is no weight}}
  %0 = graph.conv_transpose %x, %f {strides = array<i64: 2>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x8x5xf32>, tensor<8x3x2xf32>) -> tensor<1x3x10xf32>
  // expected-remark@+1 {{transposed convolution is not split: an axis has both a stride and a dilation}}
  %1 = graph.conv_transpose %x, %w {strides = array<i64: 2>, dilations = array<i64: 2>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x8x5xf32>, tensor<8x3x3xf32>) -> tensor<1x3x13xf32>
  // expected-remark@+1 {{transposed convolution is not split: some results have no tap}}
  %2 = graph.conv_transpose %x, %v {strides = array<i64: 2>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x8x5xf32>, tensor<8x3x1xf32>) -> tensor<1x3x9xf32>
  return %0, %1, %2 : tensor<1x3x10xf32>, tensor<1x3x13xf32>, tensor<1x3x9xf32>
}

// -----

// Nor doubles, which have no faster kernels.

// CHECK-LABEL: @doubles
func.func @doubles(%x: tensor<1x8x5xf64>) -> tensor<1x3x10xf64> {
  // CHECK: graph.conv_transpose
  %w = graph.weight {name = "w"} : () -> tensor<8x3x2xf64>
  // expected-remark@+1 {{transposed convolution is not split: it is not of f32, f16 or bf16 with spatial axes}}
  %0 = graph.conv_transpose %x, %w {strides = array<i64: 2>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x8x5xf64>, tensor<8x3x2xf64>) -> tensor<1x3x10xf64>
  return %0 : tensor<1x3x10xf64>
}
