// RUN: tenon-opt %s --apply-schedules=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// A cell whose input is multiplied before, and whose recurrence is a weight of
// whole tiles of units, has a row of the launch for each sequence and direction.

func.func @main(%x: tensor<7x2x96xf32>) {
  %r = graph.weight {name = "r"} : () -> tensor<2x48x16xf32>
  %0 = kernel.call @tiles(%x, %r) params <> : (tensor<7x2x96xf32>, tensor<2x48x16xf32>) -> tensor<7x2x2x16xf32>
  return
}
// CHECK: kernel.func @tiles symbols [] layouts ["", "cells16"] schedule "RecurrentTiles" geometry <4, 1, 320>
kernel.func @tiles symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<7x2x96xf32>, %1: tensor<2x48x16xf32>):
  %2:3 = graph.recurrent %0, %1 {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind gru>, direction = "bidirectional", activations = ["Sigmoid", "Tanh", "Sigmoid", "Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x96xf32>, tensor<2x48x16xf32>) -> (tensor<7x2x2x16xf32>, tensor<2x2x16xf32>, tensor<2x2x16xf32>)
  kernel.yield %2#0 : tensor<7x2x2x16xf32>
}

// -----

// Where it has many weights, each thread that may take part has a row.

func.func @main(%x: tensor<7x1x1024xf32>) {
  %r = graph.weight {name = "r"} : () -> tensor<1x1024x256xf32>
  %0 = kernel.call @parts(%x, %r) params <> : (tensor<7x1x1024xf32>, tensor<1x1024x256xf32>) -> tensor<7x1x1x256xf32>
  return
}
// CHECK: kernel.func @parts symbols [] layouts ["", "cells16"] schedule "RecurrentTiles" geometry <2, 1, 3136, 3584>
kernel.func @parts symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<7x1x1024xf32>, %1: tensor<1x1024x256xf32>):
  %2:3 = graph.recurrent %0, %1 {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind lstm>, direction = "forward", activations = ["Sigmoid", "Tanh", "Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x1x1024xf32>, tensor<1x1024x256xf32>) -> (tensor<7x1x1x256xf32>, tensor<1x1x256xf32>, tensor<1x1x256xf32>)
  kernel.yield %2#0 : tensor<7x1x1x256xf32>
}

// -----

// Then four sequences of a batch are a group, for which they are read once.

func.func @main(%x: tensor<7x9x1024xf32>) {
  %r = graph.weight {name = "r"} : () -> tensor<1x1024x256xf32>
  %0 = kernel.call @groups(%x, %r) params <> : (tensor<7x9x1024xf32>, tensor<1x1024x256xf32>) -> tensor<7x1x9x256xf32>
  return
}
// CHECK: kernel.func @groups symbols [] layouts ["", "cells16"] schedule "RecurrentTiles" geometry <6, 1, 13376, 12800>
kernel.func @groups symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<7x9x1024xf32>, %1: tensor<1x1024x256xf32>):
  %2:3 = graph.recurrent %0, %1 {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind lstm>, direction = "forward", activations = ["Sigmoid", "Tanh", "Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x9x1024xf32>, tensor<1x1024x256xf32>) -> (tensor<7x1x9x256xf32>, tensor<1x9x256xf32>, tensor<1x9x256xf32>)
  kernel.yield %2#0 : tensor<7x1x9x256xf32>
}

// -----

// Of more than a core's cache has room for, up to 32, four after the other.

func.func @main(%x: tensor<7x33x2048xf32>) {
  %r = graph.weight {name = "r"} : () -> tensor<1x2048x512xf32>
  %0 = kernel.call @turns(%x, %r) params <> : (tensor<7x33x2048xf32>, tensor<1x2048x512xf32>) -> tensor<7x1x33x512xf32>
  return
}
// CHECK: kernel.func @turns symbols [] layouts ["", "cells16"] schedule "RecurrentTiles" geometry <16, 1, 197696, 197120>
kernel.func @turns symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<7x33x2048xf32>, %1: tensor<1x2048x512xf32>):
  %2:3 = graph.recurrent %0, %1 {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind lstm>, direction = "forward", activations = ["Sigmoid", "Tanh", "Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x33x2048xf32>, tensor<1x2048x512xf32>) -> (tensor<7x1x33x512xf32>, tensor<1x33x512xf32>, tensor<1x33x512xf32>)
  kernel.yield %2#0 : tensor<7x1x33x512xf32>
}

// -----

// Memory is for as many as a run has.

func.func @main(%x: tensor<7x?x2048xf32, #graph.dims<7, B, 2048>>) {
  %r = graph.weight {name = "r"} : () -> tensor<1x2048x512xf32>
  %0 = kernel.call @any(%x, %r) params <B> : (tensor<7x?x2048xf32, #graph.dims<7, B, 2048>>, tensor<1x2048x512xf32>) -> tensor<7x1x?x512xf32, #graph.dims<7, 1, B, 512>>
  return
}
// CHECK: kernel.func @any symbols ["B"] layouts ["", "cells16"] schedule "RecurrentTiles" geometry <8 * floordiv(B + 31, 32), 1, 6144 * min(32, B) + 1088, 6144 * min(32, B) + 512>
kernel.func @any symbols ["B"] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<7x?x2048xf32, #graph.dims<7, B, 2048>>, %1: tensor<1x2048x512xf32>):
  %2:3 = graph.recurrent %0, %1 {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind lstm>, direction = "forward", activations = ["Sigmoid", "Tanh", "Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x?x2048xf32, #graph.dims<7, B, 2048>>, tensor<1x2048x512xf32>) -> (tensor<7x1x?x512xf32, #graph.dims<7, 1, B, 512>>, tensor<1x?x512xf32, #graph.dims<1, B, 512>>, tensor<1x?x512xf32, #graph.dims<1, B, 512>>)
  kernel.yield %2#0 : tensor<7x1x?x512xf32, #graph.dims<7, 1, B, 512>>
}

// -----

func.func @main(%x: tensor<7x2x15xf32>) {
  %r = graph.weight {name = "r"} : () -> tensor<1x15x5xf32>
  %0 = kernel.call @narrow(%x, %r) params <> : (tensor<7x2x15xf32>, tensor<1x15x5xf32>) -> tensor<7x1x2x5xf32>
  return
}
// CHECK: kernel.func @narrow {{.*}} schedule "Generic"
// expected-remark@+1 {{by RecurrentTiles: its hidden units are no multiple of 16}}
kernel.func @narrow symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<7x2x15xf32>, %1: tensor<1x15x5xf32>):
  %2:3 = graph.recurrent %0, %1 {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind gru>, direction = "forward", activations = ["Sigmoid", "Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x15xf32>, tensor<1x15x5xf32>) -> (tensor<7x1x2x5xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>)
  kernel.yield %2#0 : tensor<7x1x2x5xf32>
}

// -----

func.func @main(%x: tensor<7x2x48xf32>, %r: tensor<1x48x16xf32>) {
  %0 = kernel.call @given(%x, %r) params <> : (tensor<7x2x48xf32>, tensor<1x48x16xf32>) -> tensor<7x1x2x16xf32>
  return
}
// CHECK: kernel.func @given {{.*}} schedule "Generic"
// expected-remark@+1 {{by RecurrentTiles: the recurrence is no weight of its own}}
kernel.func @given symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<7x2x48xf32>, %1: tensor<1x48x16xf32>):
  %2:3 = graph.recurrent %0, %1 {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind gru>, direction = "forward", activations = ["Sigmoid", "Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x48xf32>, tensor<1x48x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  kernel.yield %2#0 : tensor<7x1x2x16xf32>
}

// -----

// A recurrence that is quantized is read as bytes, whose factors are bytes, too.

func.func @main(%x: tensor<7x2x48xf32>) {
  %r = graph.weight {name = "r"} : () -> tensor<1x48x16xui8>
  %s = graph.weight {name = "s"} : () -> tensor<1x48x1xf32>
  %0 = kernel.call @bytes(%x, %r, %s) params <> : (tensor<7x2x48xf32>, tensor<1x48x16xui8>, tensor<1x48x1xf32>) -> tensor<7x1x2x16xf32>
  return
}
// CHECK: kernel.func @bytes symbols [] layouts ["", "cells16_quads", ""] schedule "RecurrentTiles" geometry <2, 1, 384>
kernel.func @bytes symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<7x2x48xf32>, %1: tensor<1x48x16xui8>, %2: tensor<1x48x1xf32>):
  %z = graph.constant {value = dense<9> : tensor<ui8>} : () -> tensor<ui8>
  %3 = graph.dequantize %1, %2, %z : (tensor<1x48x16xui8>, tensor<1x48x1xf32>, tensor<ui8>) -> tensor<1x48x16xf32>
  %4:3 = graph.recurrent %0, %3 {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind gru>, direction = "forward", activations = ["Sigmoid", "Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x48xf32>, tensor<1x48x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  kernel.yield %4#0 : tensor<7x1x2x16xf32>
}

// -----

// Not where scales differ along what is summed.

func.func @main(%x: tensor<7x2x48xf32>) {
  %r = graph.weight {name = "r"} : () -> tensor<1x48x16xi8>
  %s = graph.weight {name = "s"} : () -> tensor<1x48x16xf32>
  %0 = kernel.call @along(%x, %r, %s) params <> : (tensor<7x2x48xf32>, tensor<1x48x16xi8>, tensor<1x48x16xf32>) -> tensor<7x1x2x16xf32>
  return
}
// CHECK: kernel.func @along {{.*}} schedule "Generic"
// expected-remark@+1 {{by RecurrentTiles: an operand of the cell is computed in the kernel}}
kernel.func @along symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<7x2x48xf32>, %1: tensor<1x48x16xi8>, %2: tensor<1x48x16xf32>):
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %3 = graph.dequantize %1, %2, %z : (tensor<1x48x16xi8>, tensor<1x48x16xf32>, tensor<i8>) -> tensor<1x48x16xf32>
  %4:3 = graph.recurrent %0, %3 {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind gru>, direction = "forward", activations = ["Sigmoid", "Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x48xf32>, tensor<1x48x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  kernel.yield %4#0 : tensor<7x1x2x16xf32>
}

// -----

// Nor where those of units are made in the kernel.

func.func @main(%x: tensor<7x2x48xf32>) {
  %r = graph.weight {name = "r"} : () -> tensor<1x48x16xi8>
  %s = graph.weight {name = "s"} : () -> tensor<1x48x1xf32>
  %0 = kernel.call @made(%x, %r, %s) params <> : (tensor<7x2x48xf32>, tensor<1x48x16xi8>, tensor<1x48x1xf32>) -> tensor<7x1x2x16xf32>
  return
}
// CHECK: kernel.func @made {{.*}} schedule "Generic"
// expected-remark@+1 {{by RecurrentTiles: scales or zero points of units are computed in the kernel}}
kernel.func @made symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<7x2x48xf32>, %1: tensor<1x48x16xi8>, %2: tensor<1x48x1xf32>):
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %n = graph.neg %2 : (tensor<1x48x1xf32>) -> tensor<1x48x1xf32>
  %3 = graph.dequantize %1, %n, %z : (tensor<1x48x16xi8>, tensor<1x48x1xf32>, tensor<i8>) -> tensor<1x48x16xf32>
  %4:3 = graph.recurrent %0, %3 {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind gru>, direction = "forward", activations = ["Sigmoid", "Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x48xf32>, tensor<1x48x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  kernel.yield %4#0 : tensor<7x1x2x16xf32>
}

// -----

// A recurrence of bf16 lies by pairs of steps, where its cell rounds its state.
// Matrices multiply 16 states at once, so a group has that many, but as others
// have threads as well.

func.func @main(%x: tensor<7x33x1024xf32>) {
  %r = graph.weight {name = "r"} : () -> tensor<1x1024x256xbf16>
  %0 = kernel.call @pairs(%x, %r) params <> : (tensor<7x33x1024xf32>, tensor<1x1024x256xbf16>) -> tensor<7x1x33x256xf32>
  return
}
// CHECK: kernel.func @pairs symbols [] layouts ["", "cells16_pairs"] schedule "RecurrentTiles" geometry <4, 1, 124992, 98816>
kernel.func @pairs symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<7x33x1024xf32>, %1: tensor<1x1024x256xbf16>):
  %2 = graph.cast %1 : (tensor<1x1024x256xbf16>) -> tensor<1x1024x256xf32>
  %3:3 = graph.recurrent %0, %2 {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind lstm>, direction = "forward", activations = ["Sigmoid", "Tanh", "Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false, rounds_state} : (tensor<7x33x1024xf32>, tensor<1x1024x256xf32>) -> (tensor<7x1x33x256xf32>, tensor<1x33x256xf32>, tensor<1x33x256xf32>)
  kernel.yield %3#0 : tensor<7x1x33x256xf32>
}

// -----

func.func @main(%x: tensor<7x9x192xf32>) {
  %r = graph.weight {name = "r"} : () -> tensor<1x192x64xbf16>
  %0 = kernel.call @small(%x, %r) params <> : (tensor<7x9x192xf32>, tensor<1x192x64xbf16>) -> tensor<7x1x9x64xf32>
  return
}
// CHECK: kernel.func @small symbols [] layouts ["", "cells16_pairs"] schedule "RecurrentTiles" geometry <3, 1, 6912>
kernel.func @small symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<7x9x192xf32>, %1: tensor<1x192x64xbf16>):
  %2 = graph.cast %1 : (tensor<1x192x64xbf16>) -> tensor<1x192x64xf32>
  %3:3 = graph.recurrent %0, %2 {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind gru>, direction = "forward", activations = ["Sigmoid", "Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false, rounds_state} : (tensor<7x9x192xf32>, tensor<1x192x64xf32>) -> (tensor<7x1x9x64xf32>, tensor<1x9x64xf32>, tensor<1x9x64xf32>)
  kernel.yield %3#0 : tensor<7x1x9x64xf32>
}

// -----

// What no cell rounds is widened by somebody else.

func.func @main(%x: tensor<7x9x192xf32>) {
  %r = graph.weight {name = "r"} : () -> tensor<1x192x64xbf16>
  %0 = kernel.call @exact(%x, %r) params <> : (tensor<7x9x192xf32>, tensor<1x192x64xbf16>) -> tensor<7x1x9x64xf32>
  return
}
// CHECK: kernel.func @exact {{.*}} schedule "Generic"
// expected-remark@+1 {{by RecurrentTiles: an operand of the cell is computed in the kernel}}
kernel.func @exact symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<7x9x192xf32>, %1: tensor<1x192x64xbf16>):
  %2 = graph.cast %1 : (tensor<1x192x64xbf16>) -> tensor<1x192x64xf32>
  %3:3 = graph.recurrent %0, %2 {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind gru>, direction = "forward", activations = ["Sigmoid", "Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x9x192xf32>, tensor<1x192x64xf32>) -> (tensor<7x1x9x64xf32>, tensor<1x9x64xf32>, tensor<1x9x64xf32>)
  kernel.yield %3#0 : tensor<7x1x9x64xf32>
}
