// RUN: tenon-opt %s --lower-to-exec --split-input-file --verify-diagnostics | FileCheck %s
// RUN: tenon-opt %s --lower-to-exec=target=cuda --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=CUDA

// What is joined is computed where it belongs.

// Channels of two convolutions take turns: rows of 16 and of 24 elements, 40
// apart. CUDA's kernels leave no room between rows.

// CHECK:      exec.program
// CHECK:      exec.segment
// CHECK-NEXT: exec.launch @wide_apart40 [{{.*}}, #exec.buffer<output, 0, <64, 10176>, "", "">]
// CHECK-NEXT: exec.launch @narrow_apart40 [{{.*}}, #exec.buffer<output, 0, <0, 10240>, "", "">]
// CHECK-NEXT: {{^ *[}]$}}
// CHECK:      kernel.func @narrow_apart40 {{.*}} attributes {pitch = 40 : i64}
// CHECK:      kernel.func @wide_apart40 {{.*}} attributes {pitch = 40 : i64}
// CUDA:       exec.program
// CUDA:       exec.launch @wide [
// CUDA-NEXT:  exec.launch @narrow [
// CUDA-NEXT:  exec.launch @join [
func.func @turns(%x: tensor<1x8x8x8xf32>, %u: tensor<16x8x1x1xf32>, %v: tensor<24x8x1x1xf32>) -> tensor<1x8x8x40xf32> {
  %0 = kernel.call @wide(%x, %v) params <> : (tensor<1x8x8x8xf32>, tensor<24x8x1x1xf32>) -> tensor<1x8x8x24xf32>
  %1 = kernel.call @narrow(%x, %u) params <> : (tensor<1x8x8x8xf32>, tensor<16x8x1x1xf32>) -> tensor<1x8x8x16xf32>
  %2 = kernel.call @join(%1, %0) params <> : (tensor<1x8x8x16xf32>, tensor<1x8x8x24xf32>) -> tensor<1x8x8x40xf32>
  return %2 : tensor<1x8x8x40xf32>
}
kernel.func @narrow symbols [] layouts ["", ""] schedule "DirectConv" geometry <1, 1, 0> {
^bb0(%0: tensor<1x8x8x8xf32>, %1: tensor<16x8x1x1xf32>):
  %2 = graph.conv %0, %1 {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<1x8x8x8xf32>, tensor<16x8x1x1xf32>) -> tensor<1x8x8x16xf32>
  kernel.yield %2 : tensor<1x8x8x16xf32>
}
kernel.func @wide symbols [] layouts ["", ""] schedule "DirectConv" geometry <1, 1, 0> {
^bb0(%0: tensor<1x8x8x8xf32>, %1: tensor<24x8x1x1xf32>):
  %2 = graph.conv %0, %1 {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<1x8x8x8xf32>, tensor<24x8x1x1xf32>) -> tensor<1x8x8x24xf32>
  kernel.yield %2 : tensor<1x8x8x24xf32>
}
kernel.func @join symbols [] layouts ["", ""] schedule "Generic" geometry <64, 64, 0> {
^bb0(%0: tensor<1x8x8x16xf32>, %1: tensor<1x8x8x24xf32>):
  %2 = graph.concat %0, %1 {axis = 3 : i64} : (tensor<1x8x8x16xf32>, tensor<1x8x8x24xf32>) -> tensor<1x8x8x40xf32>
  kernel.yield %2 : tensor<1x8x8x40xf32>
}

// -----

// What another kernel reads, too, is stored a second time. The arena has the
// join from its first part on.

// CHECK:      exec.program
// CHECK:      exec.launch @first_twice24 [{{.*}}, #exec.buffer<arena, 0, <[[A:[0-9]+]], 4096>, "", "">, #exec.buffer<arena, 0, <[[J:[0-9]+]], 6144>, "", "">]
// CHECK-SAME: cost = #graph.dims<16384, 0, 10752>
// CHECK-NEXT: exec.launch @second_apart24 [#exec.buffer<arena, 0, <[[A]], 4096>, "", "">, {{.*}}, #exec.buffer<arena, 0, <{{[0-9]+}}, 6080>, "", "">]
// CHECK-NEXT: exec.launch @third [#exec.buffer<arena, 0, <[[J]], 6144>, "", "">,
// CHECK:      kernel.func @first_twice24 {{.*}} attributes {copy_pitch = 24 : i64}
func.func @read_elsewhere(%x: tensor<1x8x8x8xf32>, %u: tensor<16x8x1x1xf32>, %v: tensor<8x16x1x1xf32>, %w: tensor<8x24x1x1xf32>) -> tensor<1x8x8x8xf32> {
  %0 = kernel.call @first(%x, %u) params <> : (tensor<1x8x8x8xf32>, tensor<16x8x1x1xf32>) -> tensor<1x8x8x16xf32>
  %1 = kernel.call @second(%0, %v) params <> : (tensor<1x8x8x16xf32>, tensor<8x16x1x1xf32>) -> tensor<1x8x8x8xf32>
  %2 = kernel.call @join(%0, %1) params <> : (tensor<1x8x8x16xf32>, tensor<1x8x8x8xf32>) -> tensor<1x8x8x24xf32>
  %3 = kernel.call @third(%2, %w) params <> : (tensor<1x8x8x24xf32>, tensor<8x24x1x1xf32>) -> tensor<1x8x8x8xf32>
  return %3 : tensor<1x8x8x8xf32>
}
kernel.func @first symbols [] layouts ["", ""] schedule "DirectConv" geometry <1, 1, 0> {
^bb0(%0: tensor<1x8x8x8xf32>, %1: tensor<16x8x1x1xf32>):
  %2 = graph.conv %0, %1 {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<1x8x8x8xf32>, tensor<16x8x1x1xf32>) -> tensor<1x8x8x16xf32>
  kernel.yield %2 : tensor<1x8x8x16xf32>
}
kernel.func @second symbols [] layouts ["", ""] schedule "DirectConv" geometry <1, 1, 0> {
^bb0(%0: tensor<1x8x8x16xf32>, %1: tensor<8x16x1x1xf32>):
  %2 = graph.conv %0, %1 {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<1x8x8x16xf32>, tensor<8x16x1x1xf32>) -> tensor<1x8x8x8xf32>
  kernel.yield %2 : tensor<1x8x8x8xf32>
}
kernel.func @third symbols [] layouts ["", ""] schedule "DirectConv" geometry <1, 1, 0> {
^bb0(%0: tensor<1x8x8x24xf32>, %1: tensor<8x24x1x1xf32>):
  %2 = graph.conv %0, %1 {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<1x8x8x24xf32>, tensor<8x24x1x1xf32>) -> tensor<1x8x8x8xf32>
  kernel.yield %2 : tensor<1x8x8x8xf32>
}
kernel.func @join symbols [] layouts ["", ""] schedule "Generic" geometry <64, 64, 0> {
^bb0(%0: tensor<1x8x8x16xf32>, %1: tensor<1x8x8x8xf32>):
  %2 = graph.concat %0, %1 {axis = 3 : i64} : (tensor<1x8x8x16xf32>, tensor<1x8x8x8xf32>) -> tensor<1x8x8x24xf32>
  kernel.yield %2 : tensor<1x8x8x24xf32>
}

// -----

// Not where a part is the caller's, is joined twice, or is made by a kernel that
// stores rows elsewhere than one behind the other: all of it is moved.

// CHECK:      exec.program
// CHECK:      exec.launch @conv [
// CHECK-NEXT: exec.launch @join [
// CHECK-NEXT: exec.launch @join [
// CHECK-NEXT: exec.launch @softmax [
// CHECK-NEXT: exec.launch @join [
func.func @stays(%x: tensor<1x8x8x8xf32>, %u: tensor<8x8x1x1xf32>) -> (tensor<1x8x8x16xf32>, tensor<1x8x8x16xf32>, tensor<1x8x8x16xf32>) {
  %0 = kernel.call @conv(%x, %u) params <> : (tensor<1x8x8x8xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x8x8xf32>
  %1 = kernel.call @join(%0, %x) params <> : (tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>) -> tensor<1x8x8x16xf32>
  %2 = kernel.call @join(%0, %0) params <> : (tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>) -> tensor<1x8x8x16xf32>
  %3 = kernel.call @softmax(%x) params <> : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %4 = kernel.call @join(%0, %3) params <> : (tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>) -> tensor<1x8x8x16xf32>
  return %1, %2, %4 : tensor<1x8x8x16xf32>, tensor<1x8x8x16xf32>, tensor<1x8x8x16xf32>
}
kernel.func @conv symbols [] layouts ["", ""] schedule "DirectConv" geometry <1, 1, 0> {
^bb0(%0: tensor<1x8x8x8xf32>, %1: tensor<8x8x1x1xf32>):
  %2 = graph.conv %0, %1 {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<1x8x8x8xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x8x8xf32>
  kernel.yield %2 : tensor<1x8x8x8xf32>
}
kernel.func @softmax symbols [] layouts [""] schedule "RowProgram" geometry <64, 64, 0> {
^bb0(%0: tensor<1x8x8x8xf32>):
  %1 = graph.softmax %0 {axis = 3 : i64} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  kernel.yield %1 : tensor<1x8x8x8xf32>
}
kernel.func @join symbols [] layouts ["", ""] schedule "Generic" geometry <64, 64, 0> {
^bb0(%0: tensor<1x8x8x8xf32>, %1: tensor<1x8x8x8xf32>):
  %2 = graph.concat %0, %1 {axis = 3 : i64} : (tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>) -> tensor<1x8x8x16xf32>
  kernel.yield %2 : tensor<1x8x8x16xf32>
}

// -----

// Parts that are runs of bytes are computed there by any kernel, also for other
// readers, also on GPUs. A run that begins inside of a line of 64 bytes is
// moved.

// CHECK:      exec.program
// CHECK:      exec.launch @exp [{{.*}}, #exec.buffer<arena, 0, <[[J:[0-9]+]], 64>, "", "">]
// CHECK-NEXT: exec.launch @log [#exec.buffer<arena, 0, <[[J]], 64>, "", "">, #exec.buffer<arena, 0, <{{[0-9]+}}, 64>, "", "">]
// CHECK-NEXT: exec.launch @use [#exec.buffer<arena, 0, <[[J]], 128>, "", "">,
// CHECK-NEXT: exec.launch @short [
// CHECK-NEXT: exec.launch @exp [
// CHECK-NEXT: exec.launch @odd [
// CUDA:       exec.program
// CUDA:       exec.launch @exp
// CUDA-NEXT:  exec.launch @log
// CUDA-NEXT:  exec.launch @use
func.func @runs(%x: tensor<1x16xf32>, %y: tensor<1x3xf32>) -> (tensor<2x16xf32>, tensor<1x19xf32>) {
  %0 = kernel.call @exp(%x) params <> : (tensor<1x16xf32>) -> tensor<1x16xf32>
  %1 = kernel.call @log(%0) params <> : (tensor<1x16xf32>) -> tensor<1x16xf32>
  %2 = kernel.call @join(%0, %1) params <> : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<2x16xf32>
  %3 = kernel.call @use(%2) params <> : (tensor<2x16xf32>) -> tensor<2x16xf32>
  %4 = kernel.call @short(%y) params <> : (tensor<1x3xf32>) -> tensor<1x3xf32>
  %5 = kernel.call @exp(%x) params <> : (tensor<1x16xf32>) -> tensor<1x16xf32>
  %6 = kernel.call @odd(%4, %5) params <> : (tensor<1x3xf32>, tensor<1x16xf32>) -> tensor<1x19xf32>
  return %3, %6 : tensor<2x16xf32>, tensor<1x19xf32>
}
kernel.func @exp symbols [] layouts [""] schedule "Generic" geometry <1, 1, 0> {
^bb0(%0: tensor<1x16xf32>):
  %1 = graph.exp %0 : (tensor<1x16xf32>) -> tensor<1x16xf32>
  kernel.yield %1 : tensor<1x16xf32>
}
kernel.func @log symbols [] layouts [""] schedule "RowProgram" geometry <1, 1, 0> {
^bb0(%0: tensor<1x16xf32>):
  %1 = graph.log %0 : (tensor<1x16xf32>) -> tensor<1x16xf32>
  kernel.yield %1 : tensor<1x16xf32>
}
kernel.func @use symbols [] layouts [""] schedule "Generic" geometry <1, 1, 0> {
^bb0(%0: tensor<2x16xf32>):
  %1 = graph.tanh %0 : (tensor<2x16xf32>) -> tensor<2x16xf32>
  kernel.yield %1 : tensor<2x16xf32>
}
kernel.func @short symbols [] layouts [""] schedule "Generic" geometry <1, 1, 0> {
^bb0(%0: tensor<1x3xf32>):
  %1 = graph.exp %0 : (tensor<1x3xf32>) -> tensor<1x3xf32>
  kernel.yield %1 : tensor<1x3xf32>
}
kernel.func @join symbols [] layouts ["", ""] schedule "Generic" geometry <2, 1, 0> {
^bb0(%0: tensor<1x16xf32>, %1: tensor<1x16xf32>):
  %2 = graph.concat %0, %1 {axis = 0 : i64} : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<2x16xf32>
  kernel.yield %2 : tensor<2x16xf32>
}
kernel.func @odd symbols [] layouts ["", ""] schedule "Generic" geometry <1, 1, 0> {
^bb0(%0: tensor<1x3xf32>, %1: tensor<1x16xf32>):
  %2 = graph.concat %0, %1 {axis = 1 : i64} : (tensor<1x3xf32>, tensor<1x16xf32>) -> tensor<1x19xf32>
  kernel.yield %2 : tensor<1x19xf32>
}

// -----

// What is appended in place is computed there; not what was computed before the
// kernel that fills the place.

// CHECK:      exec.program
// CHECK:      exec.launch @early [
// CHECK-NEXT: exec.launch @fill [{{.*}}, #exec.buffer<arena, 0, <[[J:[0-9]+]], 10240>, "", "">]
// CHECK-NEXT: exec.launch @part_apart40 [{{.*}}, #exec.buffer<arena, 0, <{{[0-9]+}}, 10176>, "", "">]
// CHECK-NEXT: exec.launch @append_early_over0 [
// CHECK-NEXT: exec.launch @use [#exec.buffer<arena, 0, <[[J]], 10240>, "", "">,
func.func @appends(%x: tensor<1x8x8x8xf32>, %u: tensor<8x8x1x1xf32>) -> tensor<1x8x8x40xf32> {
  %0 = kernel.call @early(%x, %u) params <> : (tensor<1x8x8x8xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x8x8xf32>
  %1 = kernel.call @fill(%x) params <> : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x40xf32>
  %2 = kernel.call @part(%x, %u) params <> : (tensor<1x8x8x8xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x8x8xf32>
  %3 = kernel.call @append_part(%1, %2) params <> : (tensor<1x8x8x40xf32>, tensor<1x8x8x8xf32>) -> tensor<1x8x8x40xf32>
  %4 = kernel.call @append_early(%3, %0) params <> : (tensor<1x8x8x40xf32>, tensor<1x8x8x8xf32>) -> tensor<1x8x8x40xf32>
  %5 = kernel.call @use(%4) params <> : (tensor<1x8x8x40xf32>) -> tensor<1x8x8x40xf32>
  return %5 : tensor<1x8x8x40xf32>
}
kernel.func @early symbols [] layouts ["", ""] schedule "DirectConv" geometry <1, 1, 0> {
^bb0(%0: tensor<1x8x8x8xf32>, %1: tensor<8x8x1x1xf32>):
  %2 = graph.conv %0, %1 {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<1x8x8x8xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x8x8xf32>
  kernel.yield %2 : tensor<1x8x8x8xf32>
}
kernel.func @part symbols [] layouts ["", ""] schedule "DirectConv" geometry <1, 1, 0> {
^bb0(%0: tensor<1x8x8x8xf32>, %1: tensor<8x8x1x1xf32>):
  %2 = graph.conv %0, %1 {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<1x8x8x8xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x8x8xf32>
  kernel.yield %2 : tensor<1x8x8x8xf32>
}
kernel.func @fill symbols [] layouts [""] schedule "Generic" geometry <64, 64, 0> {
^bb0(%0: tensor<1x8x8x8xf32>):
  %1 = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %2 = graph.pad %0, %1 {low = #graph.dims<0, 0, 0, 0>, mode = #graph<pad_mode constant>} : (tensor<1x8x8x8xf32>, tensor<f32>) -> tensor<1x8x8x40xf32>
  kernel.yield %2 : tensor<1x8x8x40xf32>
}
kernel.func @use symbols [] layouts [""] schedule "RowProgram" geometry <64, 64, 0> {
^bb0(%0: tensor<1x8x8x40xf32>):
  %1 = graph.softmax %0 {axis = 3 : i64} : (tensor<1x8x8x40xf32>) -> tensor<1x8x8x40xf32>
  kernel.yield %1 : tensor<1x8x8x40xf32>
}
kernel.func @append_part symbols [] layouts ["", ""] schedule "Generic" geometry <64, 64, 0> {
^bb0(%0: tensor<1x8x8x40xf32>, %1: tensor<1x8x8x8xf32>):
  %2 = graph.append %0, %1 {axis = 3 : i64, length = #graph.dims<16>} : (tensor<1x8x8x40xf32>, tensor<1x8x8x8xf32>) -> tensor<1x8x8x40xf32>
  kernel.yield %2 : tensor<1x8x8x40xf32>
}
kernel.func @append_early symbols [] layouts ["", ""] schedule "Generic" geometry <64, 64, 0> {
^bb0(%0: tensor<1x8x8x40xf32>, %1: tensor<1x8x8x8xf32>):
  %2 = graph.append %0, %1 {axis = 3 : i64, length = #graph.dims<24>} : (tensor<1x8x8x40xf32>, tensor<1x8x8x8xf32>) -> tensor<1x8x8x40xf32>
  kernel.yield %2 : tensor<1x8x8x40xf32>
}

// -----

// Nor where another kernel reads what was there in between.

// CHECK:      exec.program
// CHECK:      exec.launch @fill [
// CHECK-NEXT: exec.launch @part [
// CHECK-NEXT: exec.launch @use [
// CHECK-NEXT: exec.launch @append_part_over0 [
func.func @read_between(%x: tensor<1x8x8x8xf32>, %u: tensor<8x8x1x1xf32>) -> (tensor<1x8x8x40xf32>, tensor<1x8x8x40xf32>) {
  %0 = kernel.call @fill(%x) params <> : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x40xf32>
  %1 = kernel.call @part(%x, %u) params <> : (tensor<1x8x8x8xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x8x8xf32>
  %2 = kernel.call @use(%0) params <> : (tensor<1x8x8x40xf32>) -> tensor<1x8x8x40xf32>
  %3 = kernel.call @append_part(%0, %1) params <> : (tensor<1x8x8x40xf32>, tensor<1x8x8x8xf32>) -> tensor<1x8x8x40xf32>
  %4 = kernel.call @use(%3) params <> : (tensor<1x8x8x40xf32>) -> tensor<1x8x8x40xf32>
  return %2, %4 : tensor<1x8x8x40xf32>, tensor<1x8x8x40xf32>
}
kernel.func @fill symbols [] layouts [""] schedule "Generic" geometry <64, 64, 0> {
^bb0(%0: tensor<1x8x8x8xf32>):
  %1 = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %2 = graph.pad %0, %1 {low = #graph.dims<0, 0, 0, 0>, mode = #graph<pad_mode constant>} : (tensor<1x8x8x8xf32>, tensor<f32>) -> tensor<1x8x8x40xf32>
  kernel.yield %2 : tensor<1x8x8x40xf32>
}
kernel.func @part symbols [] layouts ["", ""] schedule "DirectConv" geometry <1, 1, 0> {
^bb0(%0: tensor<1x8x8x8xf32>, %1: tensor<8x8x1x1xf32>):
  %2 = graph.conv %0, %1 {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64} : (tensor<1x8x8x8xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x8x8xf32>
  kernel.yield %2 : tensor<1x8x8x8xf32>
}
kernel.func @use symbols [] layouts [""] schedule "RowProgram" geometry <64, 64, 0> {
^bb0(%0: tensor<1x8x8x40xf32>):
  %1 = graph.softmax %0 {axis = 3 : i64} : (tensor<1x8x8x40xf32>) -> tensor<1x8x8x40xf32>
  kernel.yield %1 : tensor<1x8x8x40xf32>
}
kernel.func @append_part symbols [] layouts ["", ""] schedule "Generic" geometry <64, 64, 0> {
^bb0(%0: tensor<1x8x8x40xf32>, %1: tensor<1x8x8x8xf32>):
  %2 = graph.append %0, %1 {axis = 3 : i64, length = #graph.dims<16>} : (tensor<1x8x8x40xf32>, tensor<1x8x8x8xf32>) -> tensor<1x8x8x40xf32>
  kernel.yield %2 : tensor<1x8x8x40xf32>
}
