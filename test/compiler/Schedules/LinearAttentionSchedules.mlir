// RUN: tenon-opt %s --apply-schedules=explain=true --split-input-file --verify-diagnostics | FileCheck %s
// RUN: tenon-opt %s --apply-schedules=target=cuda --split-input-file | FileCheck %s --check-prefix=CUDA

// A row of the launch for 32 columns of each state, which are scratch memory.

func.func @main(%q: tensor<2x7x4x8xf32>, %k: tensor<2x7x2x8xf32>, %v: tensor<2x7x2x64xf32>) {
  %0:2 = kernel.call @tiles(%q, %k, %v) params <> : (tensor<2x7x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x64xf32>) -> (tensor<2x7x4x64xf32>, tensor<2x2x8x64xf32>)
  return
}
// CHECK: kernel.func @tiles symbols [] layouts ["", "", ""] schedule "LinearAttention" geometry <8, 1, 17408>
// CUDA: kernel.func @tiles symbols [] layouts ["", "", ""] schedule "BlockState" geometry <4, 1, 0>
kernel.func @tiles symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<2x7x4x8xf32>, %1: tensor<2x7x2x8xf32>, %2: tensor<2x7x2x64xf32>):
  %3:2 = graph.linear_attention %0, %1, %2 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64} : (tensor<2x7x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x64xf32>) -> (tensor<2x7x4x64xf32>, tensor<2x2x8x64xf32>)
  kernel.yield %3#0, %3#1 : tensor<2x7x4x64xf32>, tensor<2x2x8x64xf32>
}

// -----

func.func @main(%q: tensor<2x7x4x8xf32>, %k: tensor<2x7x2x8xf32>, %v: tensor<2x7x2x20xf32>) {
  %0:2 = kernel.call @narrow(%q, %k, %v) params <> : (tensor<2x7x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x20xf32>) -> (tensor<2x7x4x20xf32>, tensor<2x2x8x20xf32>)
  return
}
// CHECK: kernel.func @narrow symbols [] layouts ["", "", ""] schedule "Generic"
// CUDA: kernel.func @narrow symbols [] layouts ["", "", ""] schedule "BlockState"
// expected-remark@+1 {{by LinearAttention: head sizes are symbols, or that of values no multiple of 16}}
kernel.func @narrow symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<2x7x4x8xf32>, %1: tensor<2x7x2x8xf32>, %2: tensor<2x7x2x20xf32>):
  %3:2 = graph.linear_attention %0, %1, %2 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64} : (tensor<2x7x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x20xf32>) -> (tensor<2x7x4x20xf32>, tensor<2x2x8x20xf32>)
  kernel.yield %3#0, %3#1 : tensor<2x7x4x20xf32>, tensor<2x2x8x20xf32>
}

// -----

func.func @main(%q: tensor<2x7x4x8xf32>, %k: tensor<2x7x2x8xf32>, %v: tensor<2x7x2x32xf32>) {
  %0 = kernel.call @follows(%q, %k, %v) params <> : (tensor<2x7x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x32xf32>) -> tensor<2x7x4x32xf32>
  return
}
// CHECK: kernel.func @follows symbols [] layouts ["", "", ""] schedule "Generic"
// CUDA: kernel.func @follows symbols [] layouts ["", "", ""] schedule "Generic"
// expected-remark@+1 {{by LinearAttention: its two results are not what is yielded}}
kernel.func @follows symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<2x7x4x8xf32>, %1: tensor<2x7x2x8xf32>, %2: tensor<2x7x2x32xf32>):
  %3:2 = graph.linear_attention %0, %1, %2 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64} : (tensor<2x7x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x32xf32>) -> (tensor<2x7x4x32xf32>, tensor<2x2x8x32xf32>)
  %4 = graph.tanh %3#0 : (tensor<2x7x4x32xf32>) -> tensor<2x7x4x32xf32>
  kernel.yield %4 : tensor<2x7x4x32xf32>
}
