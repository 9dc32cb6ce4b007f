// RUN: tenon-opt %s --apply-schedules=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// What elements are made of lies in tables: 9 and 30 positions by two taps,
// whose indices and weights begin at multiples of 64 bytes; behind them, a row
// of the input and 128 bytes.

// CHECK: kernel.func @image {{.*}} schedule "ResizeRows" geometry <27, {{.*}}, 980>
kernel.func @image symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1x3x5x21xf32>):
  %1 = graph.resize %0 {mode = #graph<resize_mode linear>, coordinates = "half_pixel", nearest = "floor", scales = array<f64>, roi = array<f64>, cubic_coefficient = -0.75 : f64, exclude_outside = false, extrapolation = 0.0 : f64, antialias = false} : (tensor<1x3x5x21xf32>) -> tensor<1x3x9x30xf32>
  kernel.yield %1 : tensor<1x3x9x30xf32>
}
// Of an open size, with channels last.
// CHECK: kernel.func @pixels {{.*}} schedule "ResizeRows" geometry <9 * d0, {{.*}}>
kernel.func @pixels symbols ["d0"] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<5x6x21xbf16>):
  %1 = graph.resize %0 {mode = #graph<resize_mode cubic>, coordinates = "align_corners", nearest = "floor", scales = array<f64>, roi = array<f64>, cubic_coefficient = -0.75 : f64, exclude_outside = false, extrapolation = 0.0 : f64, antialias = false} : (tensor<5x6x21xbf16>) -> tensor<9x?x21xbf16, #graph.dims<9, d0, 21>>
  kernel.yield %1 : tensor<9x?x21xbf16, #graph.dims<9, d0, 21>>
}

// Smaller and smoothed, by scales that are known: of five others at most. Where
// the border is left out, of no more than elsewhere.
// CHECK: kernel.func @antialiased {{.*}} schedule "ResizeRows" geometry <4, {{.*}}, 1444>
kernel.func @antialiased symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<9x9xf32>):
  %1 = graph.resize %0 {mode = #graph<resize_mode linear>, coordinates = "half_pixel", nearest = "floor", scales = array<f64>, roi = array<f64>, cubic_coefficient = -0.75 : f64, exclude_outside = false, extrapolation = 0.0 : f64, antialias = true} : (tensor<9x9xf32>) -> tensor<4x4xf32>
  kernel.yield %1 : tensor<4x4xf32>
}
// CHECK: kernel.func @inside {{.*}} schedule "ResizeRows"
kernel.func @inside symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<9x9xf32>):
  %1 = graph.resize %0 {mode = #graph<resize_mode cubic>, coordinates = "half_pixel", nearest = "floor", scales = array<f64>, roi = array<f64>, cubic_coefficient = -0.75 : f64, exclude_outside = true, extrapolation = 0.0 : f64, antialias = false} : (tensor<9x9xf32>) -> tensor<12x12xf32>
  kernel.yield %1 : tensor<12x12xf32>
}

// -----

// What an element is made of is of no known number, of too many, or no float.

// CHECK: kernel.func @smaller {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by ResizeRows: of how many others an element is made is not known, or is many}}
kernel.func @smaller symbols ["d0"] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<9x9xf32>):
  %1 = graph.resize %0 {mode = #graph<resize_mode linear>, coordinates = "half_pixel", nearest = "floor", scales = array<f64>, roi = array<f64>, cubic_coefficient = -0.75 : f64, exclude_outside = false, extrapolation = 0.0 : f64, antialias = true} : (tensor<9x9xf32>) -> tensor<4x?xf32, #graph.dims<4, d0>>
  kernel.yield %1 : tensor<4x?xf32, #graph.dims<4, d0>>
}
// CHECK: kernel.func @tiny {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by ResizeRows: of how many others an element is made is not known, or is many}}
kernel.func @tiny symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<9x90xf32>):
  %1 = graph.resize %0 {mode = #graph<resize_mode linear>, coordinates = "half_pixel", nearest = "floor", scales = array<f64>, roi = array<f64>, cubic_coefficient = -0.75 : f64, exclude_outside = false, extrapolation = 0.0 : f64, antialias = true} : (tensor<9x90xf32>) -> tensor<4x4xf32>
  kernel.yield %1 : tensor<4x4xf32>
}
// CHECK: kernel.func @cropped {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by ResizeRows: it crops}}
kernel.func @cropped symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<9x9xf32>):
  %1 = graph.resize %0 {mode = #graph<resize_mode linear>, coordinates = "tf_crop_and_resize", nearest = "floor", scales = array<f64>, roi = array<f64: 0.1, 0.1, 0.9, 0.9>, cubic_coefficient = -0.75 : f64, exclude_outside = false, extrapolation = 0.0 : f64, antialias = false} : (tensor<9x9xf32>) -> tensor<4x4xf32>
  kernel.yield %1 : tensor<4x4xf32>
}
// CHECK: kernel.func @bytes {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by ResizeRows: its elements are not f32, f16 or bf16}}
kernel.func @bytes symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<9x9xui8>):
  %1 = graph.resize %0 {mode = #graph<resize_mode linear>, coordinates = "half_pixel", nearest = "floor", scales = array<f64>, roi = array<f64>, cubic_coefficient = -0.75 : f64, exclude_outside = false, extrapolation = 0.0 : f64, antialias = false} : (tensor<9x9xui8>) -> tensor<4x4xui8>
  kernel.yield %1 : tensor<4x4xui8>
}
// CHECK: kernel.func @cube {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by ResizeRows: an element is made of those of too many rows}}
kernel.func @cube symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<9x9x9x4xf32>):
  %1 = graph.resize %0 {mode = #graph<resize_mode linear>, coordinates = "half_pixel", nearest = "floor", scales = array<f64>, roi = array<f64>, cubic_coefficient = -0.75 : f64, exclude_outside = false, extrapolation = 0.0 : f64, antialias = true} : (tensor<9x9x9x4xf32>) -> tensor<4x4x4x4xf32>
  kernel.yield %1 : tensor<4x4x4x4xf32>
}
// CHECK: kernel.func @same {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by ResizeRows: no axis changes}}
kernel.func @same symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<4x4xf32>):
  %1 = graph.resize %0 {mode = #graph<resize_mode linear>, coordinates = "half_pixel", nearest = "floor", scales = array<f64>, roi = array<f64>, cubic_coefficient = -0.75 : f64, exclude_outside = false, extrapolation = 0.0 : f64, antialias = false} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  kernel.yield %1 : tensor<4x4xf32>
}
// CHECK: kernel.func @column {{.*}} schedule "Generic"
// expected-remark@+1 {{does not run by ResizeRows: its rows are of one element}}
kernel.func @column symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<4x1xf32>):
  %1 = graph.resize %0 {mode = #graph<resize_mode linear>, coordinates = "half_pixel", nearest = "floor", scales = array<f64>, roi = array<f64>, cubic_coefficient = -0.75 : f64, exclude_outside = false, extrapolation = 0.0 : f64, antialias = false} : (tensor<4x1xf32>) -> tensor<7x1xf32>
  kernel.yield %1 : tensor<7x1xf32>
}
