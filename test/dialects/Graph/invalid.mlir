// Every refusal of the dialect, one case each.

// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// The text of sizes.

// expected-error@+1 {{unknown size function 'log'}}
func.func private @case(tensor<?xf32, #graph.dims<log(B, 2)>>)

// -----

// expected-error@+1 {{size expression overflows or divides by zero}}
func.func private @case(tensor<?xf32, #graph.dims<floordiv(B, 0)>>)

// -----

// expected-error@+1 {{size expression overflows or divides by zero}}
func.func private @case(tensor<?xf32, #graph.dims<B + 9223372036854775807 * 2>>)

// -----

// expected-error@+1 {{size expression is nested too deeply}}
func.func private @case(tensor<?xf32, #graph.dims<((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((B))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))>>)

// -----

// expected-error@+1 {{a tensor of rank 2 has 1 sizes}}
func.func private @case(tensor<?x4xf32, #graph.dims<B>>)

// -----

// expected-error@+1 {{axis 1 of the type and of its sizes differ}}
func.func private @case(tensor<?x4xf32, #graph.dims<B, 5>>)

// -----

// Every size must be known.

func.func @case(%x: tensor<?xf32>) {
  // expected-error@+1 {{must be a shaped tensor of numbers}}
  graph.abs %x : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{input and result must have the same sizes}}
  graph.cast %x : (tensor<2x3xf32>) -> tensor<3x2xi8>
  return
}

// -----

func.func @case(%x: tensor<4xf32>) {
  // expected-error@+1 {{input and result must have elements of as many bits}}
  graph.bitcast %x : (tensor<4xf32>) -> tensor<4xi16>
  return
}

// -----

func.func @case(%x: tensor<4xf32>) {
  // expected-error@+1 {{input and result must have the same sizes}}
  graph.bitcast %x : (tensor<4xf32>) -> tensor<2x2xi32>
  return
}

// -----

func.func @case(%x: tensor<4xf32>) {
  // expected-error@+1 {{cannot round to 'f8E8M0FNU'}}
  graph.round_float %x {to = f8E8M0FNU, saturates = true} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @case(%x: tensor<4xf32>, %s: tensor<f32>, %z: tensor<i8>) {
  // expected-error@+1 {{input and result must have the same sizes}}
  graph.quantize %x, %s, %z : (tensor<4xf32>, tensor<f32>, tensor<i8>) -> tensor<5xi8>
  return
}

// -----

func.func @case(%x: tensor<4xf32>, %s: tensor<f32>, %z: tensor<i8>) {
  // expected-error@+1 {{zero point and result must have one element type}}
  graph.quantize %x, %s, %z : (tensor<4xf32>, tensor<f32>, tensor<i8>) -> tensor<4xui8>
  return
}

// -----

func.func @case(%x: tensor<4xf32>, %s: tensor<3xf32>, %z: tensor<i8>) {
  // expected-error@+1 {{cannot broadcast size 3 to size 4}}
  graph.quantize %x, %s, %z : (tensor<4xf32>, tensor<3xf32>, tensor<i8>) -> tensor<4xi8>
  return
}

// -----

func.func @case(%x: tensor<4xf32>, %s: tensor<f32>, %z: tensor<1x4xi8>) {
  // expected-error@+1 {{cannot broadcast rank 2 to rank 1}}
  graph.quantize %x, %s, %z : (tensor<4xf32>, tensor<f32>, tensor<1x4xi8>) -> tensor<4xi8>
  return
}

// -----

func.func @case(%x: tensor<4xi8>, %s: tensor<f32>, %z: tensor<i8>) {
  // expected-error@+1 {{input and result must have the same sizes}}
  graph.dequantize %x, %s, %z : (tensor<4xi8>, tensor<f32>, tensor<i8>) -> tensor<5xf32>
  return
}

// -----

func.func @case(%x: tensor<4xi8>, %s: tensor<f32>, %z: tensor<ui8>) {
  // expected-error@+1 {{zero point and input must have one element type}}
  graph.dequantize %x, %s, %z : (tensor<4xi8>, tensor<f32>, tensor<ui8>) -> tensor<4xf32>
  return
}

// -----

func.func @case(%x: tensor<4xi8>, %s: tensor<f32>) {
  // expected-error@+1 {{a codebook has 16 values, not 2}}
  graph.decode %x, %s {codebook = array<f32: 0.0, 1.0>} : (tensor<4xi8>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @case() {
  // expected-error@+1 {{value has type 'tensor<3xi64>'}}
  graph.constant {value = dense<0> : tensor<3xi64>} : () -> tensor<2xi64>
  return
}

// -----

func.func @case() {
  // expected-error@+1 {{has 2 sizes for a result of 3 elements}}
  graph.sizes {value = #graph.dims<B, 2>} : () -> tensor<3xi64>
  return
}

// -----

func.func @case(%n: tensor<3xi64>) {
  // expected-error@+1 {{has 1 symbols for an input of 3 elements}}
  graph.bind %n {symbols = ["n"], lo = array<i64: 0>, hi = array<i64: 1>} : (tensor<3xi64>) -> ()
  return
}

// -----

func.func @case(%n: tensor<1xi64>) {
  // expected-error@+1 {{needs one range per symbol}}
  graph.bind %n {symbols = ["n"], lo = array<i64: 0>, hi = array<i64>} : (tensor<1xi64>) -> ()
  return
}

// -----

func.func @case() {
  // expected-error@+1 {{relates two sizes, not 3}}
  graph.require {sizes = #graph.dims<a, b, c>, relation = #graph<relation equal>, message = ""} : () -> ()
  return
}

// -----

func.func @case() {
  // expected-error@+1 {{result must have rank 1}}
  graph.iota : () -> tensor<2x2xi64>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{cannot reshape 6 elements to 7}}
  graph.reshape %x : (tensor<2x3xf32>) -> tensor<7xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{input and result must have one element type}}
  graph.reshape %x : (tensor<2x3xf32>) -> tensor<6xi32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{the number of elements overflows}}
  graph.reshape %x : (tensor<2x3xf32>) -> tensor<?x4611686018427387904x2xf32, #graph.dims<B, 4611686018427387904, 2>>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{cannot broadcast size 3 to size 4}}
  graph.broadcast %x : (tensor<2x3xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{cannot broadcast rank 2 to rank 1}}
  graph.broadcast %x : (tensor<2x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{input and result must have one element type}}
  graph.broadcast %x : (tensor<2x3xf32>) -> tensor<2x3xf16>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{needs a start, a step and a result size per axis}}
  graph.slice %x {starts = #graph.dims<0>, steps = #graph.dims<1, 1>} : (tensor<2x3xf32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{step of axis 1 is zero}}
  graph.slice %x {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 0>} : (tensor<2x3xf32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{input and result must have one element type}}
  graph.slice %x {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<2x3xf32>) -> tensor<1x1xi8>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>, %v: tensor<f32>) {
  // expected-error@+1 {{needs a border and a result size per axis}}
  graph.pad %x, %v {low = #graph.dims<0>, mode = #graph<pad_mode edge>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>, %v: tensor<1xf32>) {
  // expected-error@+1 {{value must be a scalar of the input's type}}
  graph.pad %x, %v {low = #graph.dims<0, 0>, mode = #graph<pad_mode edge>} : (tensor<2x3xf32>, tensor<1xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>, %v: tensor<f32>) {
  // expected-error@+1 {{input and result must have one element type}}
  graph.pad %x, %v {low = #graph.dims<0, 0>, mode = #graph<pad_mode edge>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf16>
  return
}

// -----

func.func @case(%boxes: tensor<2x3xf32>, %rows: tensor<2x3xi1>, %t: tensor<f32>, %l: tensor<i64>) {
  // expected-error@+2 {{needs a box of 4 numbers per candidate}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.suppress %boxes, %rows, %t, %l : (tensor<2x3xf32>, tensor<2x3xi1>, tensor<f32>, tensor<i64>) -> tensor<2x3xi1>
  return
}

// -----

func.func @case(%boxes: tensor<2x5x4xf32>, %rows: tensor<2x3xi1>, %t: tensor<f32>, %l: tensor<i64>) {
  // expected-error@+2 {{boxes and candidates: 5 is not 3}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.suppress %boxes, %rows, %t, %l : (tensor<2x5x4xf32>, tensor<2x3xi1>, tensor<f32>, tensor<i64>) -> tensor<2x3xi1>
  return
}

// -----

func.func @case(%boxes: tensor<3x4xf32>, %rows: tensor<3xi1>, %t: tensor<1xf32>, %l: tensor<i64>) {
  // expected-error@+2 {{threshold and limit must be scalars}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.suppress %boxes, %rows, %t, %l : (tensor<3x4xf32>, tensor<3xi1>, tensor<1xf32>, tensor<i64>) -> tensor<3xi1>
  return
}

// -----

func.func @case(%boxes: tensor<3x4xf16>, %rows: tensor<3xi1>, %t: tensor<f32>, %l: tensor<i64>) {
  // expected-error@+2 {{boxes and threshold must be f32, the limit i64}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.suppress %boxes, %rows, %t, %l : (tensor<3x4xf16>, tensor<3xi1>, tensor<f32>, tensor<i64>) -> tensor<3xi1>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{input and numbers must have the same sizes}}
  graph.quantize_rows %x : (tensor<2x3xf32>) -> (tensor<2x1xui8>, tensor<2x1xf32>, tensor<2x1xui8>)
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{needs a scale and a zero point for each row}}
  graph.quantize_rows %x : (tensor<2x3xf32>) -> (tensor<2x3xui8>, tensor<1x3xf32>, tensor<2x1xui8>)
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{makes ui8 of f32, with scales of f32}}
  graph.quantize_rows %x : (tensor<2x3xf32>) -> (tensor<2x3xi8>, tensor<2x1xf32>, tensor<2x1xui8>)
  return
}

// -----

func.func @case(%x: tensor<f32>) {
  // expected-error@+1 {{needs an axis}}
  graph.quantize_rows %x : (tensor<f32>) -> (tensor<ui8>, tensor<f32>, tensor<ui8>)
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{axis 2 is outside the input}}
  graph.topk %x {axis = 2 : i64, largest = true} : (tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<2x1xi64>)
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{both results must have the same sizes}}
  graph.topk %x {axis = 1 : i64, largest = true} : (tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<2x2xi64>)
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{input and values must have one element type}}
  graph.topk %x {axis = 1 : i64, largest = true} : (tensor<2x3xf32>) -> (tensor<2x1xf16>, tensor<2x1xi64>)
  return
}

// -----

func.func @case(%x: tensor<1x3x8xf32>) {
  // expected-error@+1 {{input, result and attributes differ in spatial rank}}
  graph.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
  return
}

// -----

func.func @case(%x: tensor<1x3x8xf32>) {
  // expected-error@+1 {{input, result and attributes differ in spatial rank}}
  graph.average_pool %x {kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pads = #graph.dims<0>, count_pads = true} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
  return
}

// -----

func.func @case(%x: tensor<1x3x8xf32>) {
  // expected-error@+1 {{kernel, strides and dilations must be positive}}
  graph.lp_pool %x {kernel = array<i64: 2>, strides = array<i64: 0>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, p = 2 : i64} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
  return
}

// -----

func.func @case(%x: tensor<1x3x8xf32>) {
  // expected-error@+1 {{input and result must have one element type}}
  graph.max_pool %x {kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf16>
  return
}

// -----

func.func @case(%x: tensor<1x3x8xf32>) {
  // expected-error@+1 {{input, result and attributes differ in spatial rank}}
  graph.max_pool_indices %x {kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, column_major = false} : (tensor<1x3x8xf32>) -> tensor<1x3xi64>
  return
}

// -----

func.func @case(%x: tensor<1x3x8xf32>, %w: tensor<3x2xf32>) {
  // expected-error@+1 {{input and filter differ in rank}}
  graph.conv_transpose %x, %w {strides = array<i64: 2>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x3x8xf32>, tensor<3x2xf32>) -> tensor<1x2x8xf32>
  return
}

// -----

func.func @case(%x: tensor<1x3x8xf32>, %w: tensor<3x2x2xf32>) {
  // expected-error@+1 {{group must be positive, not 0}}
  graph.conv_transpose %x, %w {strides = array<i64: 2>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 0 : i64} : (tensor<1x3x8xf32>, tensor<3x2x2xf32>) -> tensor<1x2x8xf32>
  return
}

// -----

func.func @case(%x: tensor<1x3x8xf32>, %w: tensor<3x2x2xf32>) {
  // expected-error@+1 {{input, result and attributes differ in spatial rank}}
  graph.conv_transpose %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x3x8xf32>, tensor<3x2x2xf32>) -> tensor<1x2x8xf32>
  return
}

// -----

func.func @case(%x: tensor<1x3x8xf32>, %w: tensor<3x2x2xf32>) {
  // expected-error@+1 {{input and result must have one element type}}
  graph.conv_transpose %x, %w {strides = array<i64: 2>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x3x8xf32>, tensor<3x2x2xf32>) -> tensor<1x2x8xf16>
  return
}

// -----

func.func @case(%x: tensor<1x3x8xf32>) {
  // expected-error@+1 {{input and result differ in rank}}
  graph.resize %x {mode = #graph<resize_mode nearest>, coordinates = "half_pixel", nearest = "floor", scales = array<f64>, roi = array<f64>, cubic_coefficient = -0.75 : f64, exclude_outside = false, extrapolation = 0.0 : f64, antialias = false} : (tensor<1x3x8xf32>) -> tensor<1x3xf32>
  return
}

// -----

func.func @case(%x: tensor<1x3x8xf32>) {
  // expected-error@+1 {{input and result must have one element type}}
  graph.resize %x {mode = #graph<resize_mode nearest>, coordinates = "half_pixel", nearest = "floor", scales = array<f64>, roi = array<f64>, cubic_coefficient = -0.75 : f64, exclude_outside = false, extrapolation = 0.0 : f64, antialias = false} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf16>
  return
}

// -----

func.func @case(%x: tensor<1x3x8xf32>) {
  // expected-error@+1 {{scales and roi do not fit rank 3}}
  graph.resize %x {mode = #graph<resize_mode nearest>, coordinates = "half_pixel", nearest = "floor", scales = array<f64: 1.0>, roi = array<f64>, cubic_coefficient = -0.75 : f64, exclude_outside = false, extrapolation = 0.0 : f64, antialias = false} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
  return
}

// -----

func.func @case(%x: tensor<1x3x8xf32>) {
  // expected-error@+1 {{result must be [3, n], a column per element}}
  graph.nonzero %x : (tensor<1x3x8xf32>) -> tensor<2x?xi64, #graph.dims<2, n>>
  return
}

// -----

func.func @case(%c: tensor<i1>, %x: tensor<2xf32>) {
  // expected-error@+1 {{has 1 results but yields 0}}
  graph.if %c : (tensor<i1>) -> tensor<2xf32> {
    graph.yield %x : tensor<2xf32>
  } else {
    graph.yield
  }
  return
}

// -----

func.func @case(%c: tensor<i1>, %x: tensor<2xf32>) {
  // expected-error@+1 {{a branch yields 'tensor<2xf32>' for 'tensor<1x2xf32>'}}
  graph.if %c : (tensor<i1>) -> tensor<1x2xf32> {
    graph.yield %x : tensor<2xf32>
  } else {
    graph.yield %x : tensor<2xf32>
  }
  return
}

// -----

func.func @case(%c: tensor<i1>, %x: tensor<2xf32>) {
  // expected-error@+1 {{needs the name of a step, and one size as its room}}
  graph.loop "" %c, %x attributes {room = #graph.dims<0>} : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%s: tensor<2xf32>):
    graph.yield %c, %s : tensor<i1>, tensor<2xf32>
  }
  return
}

// -----

func.func @case(%c: tensor<i1>, %x: tensor<2xf32>) {
  // expected-error@+1 {{has 1 values of state, but a body of 0, 1 results, and yields 2}}
  graph.loop "i" %c, %x attributes {room = #graph.dims<0>} : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32> {
    graph.yield %c, %x : tensor<i1>, tensor<2xf32>
  }
  return
}

// -----

func.func @case(%c: tensor<i1>, %x: tensor<2xf32>) {
  // expected-error@+1 {{needs scalars of bool as its conditions}}
  graph.loop "i" %c, %x attributes {room = #graph.dims<0>} : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%s: tensor<2xf32>):
    graph.yield %s, %s : tensor<2xf32>, tensor<2xf32>
  }
  return
}

// -----

func.func @case(%c: tensor<i1>, %x: tensor<2xf32>) {
  // expected-error@+1 {{a state of 'tensor<1x2xf32>' begins as 'tensor<2xf32>', goes on as 'tensor<1x2xf32>' and ends as 'tensor<2xf32>'}}
  graph.loop "i" %c, %x attributes {room = #graph.dims<0>} : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%s: tensor<1x2xf32>):
    graph.yield %c, %s : tensor<i1>, tensor<1x2xf32>
  }
  return
}

// -----

func.func @case(%c: tensor<i1>, %x: tensor<2xf32>) {
  // expected-error@+1 {{stacks 'tensor<2xf32>' to 'tensor<2xf32>'}}
  graph.loop "i" %c attributes {room = #graph.dims<1>} : (tensor<i1>) -> tensor<2xf32> {
    graph.yield %c, %x : tensor<i1>, tensor<2xf32>
  }
  return
}

// -----

// What is inferred: a reason from the op, then the framework's own line.

func.func @case(%x: tensor<3xf32>, %y: tensor<4xf32>) {
  // expected-error@+2 {{sizes 3 and 4 of axis 0 do not broadcast}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.add %x, %y : (tensor<3xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// A symbol meets a number: the number, not the symbol, is the result's size.

func.func @case(%x: tensor<3xf32>, %y: tensor<?xf32, #graph.dims<B>>) {
  // expected-error@+2 {{incompatible with return type(s) of operation}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.add %x, %y : (tensor<3xf32>, tensor<?xf32, #graph.dims<B>>) -> tensor<?xf32, #graph.dims<B>>
  return
}

// -----

func.func @case(%c: tensor<3xi1>, %x: tensor<3xf32>, %y: tensor<3xf16>) {
  // expected-error@+2 {{lhs and rhs differ in element type}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.select %c, %x, %y : (tensor<3xi1>, tensor<3xf32>, tensor<3xf16>) -> tensor<3xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{is no permutation of 2 axes}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.transpose %x {permutation = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @case() {
  // expected-error@+2 {{needs an operand}}
  // expected-error@+1 {{failed to infer returned types}}
  "graph.concat"() {axis = 0 : i64} : () -> tensor<2xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{axis 2 is outside a tensor of rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.concat %x, %x {axis = 2 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error@+2 {{sizes differ: 3 is not 4}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.concat %x, %y {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>, %y: tensor<2x3xf16>) {
  // expected-error@+2 {{operands differ in rank or element type}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.concat %x, %y {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x3xf16>) -> tensor<4x3xf32>
  return
}

// -----

func.func @case(%x: tensor<?xf32, #graph.dims<B * 9223372036854775807>>) {
  // expected-error@+2 {{a size is negative or overflows}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.concat %x, %x {axis = 0 : i64} : (tensor<?xf32, #graph.dims<B * 9223372036854775807>>, tensor<?xf32, #graph.dims<B * 9223372036854775807>>) -> tensor<2xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>, %i: tensor<1xi64>) {
  // expected-error@+2 {{axis -1 is outside a tensor of rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.gather %x, %i {axis = -1 : i64} : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<2x1xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>, %i: tensor<1xi64>) {
  // expected-error@+2 {{input and indices differ in rank}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.gather_elements %x, %i {axis = 0 : i64} : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<1xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>, %i: tensor<1xi64>) {
  // expected-error@+2 {{batch_dims 1 does not fit indices of rank 1}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.gather_nd %x, %i {batch_dims = 1 : i64} : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<1xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>, %i: tensor<4x3xi64>) {
  // expected-error@+2 {{index vectors of length 3 do not fit an input of rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.gather_nd %x, %i {batch_dims = 0 : i64} : (tensor<2x3xf32>, tensor<4x3xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>, %i: tensor<1xi64>, %u: tensor<1x1xf32>) {
  // expected-error@+2 {{input, indices and updates differ in rank}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.scatter_elements %x, %i, %u {axis = 0 : i64, kind = #graph<scatter_kind assign>} : (tensor<2x3xf32>, tensor<1xi64>, tensor<1x1xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>, %i: tensor<1x1xi64>, %u: tensor<1x1xi8>) {
  // expected-error@+2 {{input and updates differ in element type}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.scatter_elements %x, %i, %u {axis = 0 : i64, kind = #graph<scatter_kind assign>} : (tensor<2x3xf32>, tensor<1x1xi64>, tensor<1x1xi8>) -> tensor<2x3xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>, %i: tensor<1x2xi64>, %u: tensor<1x1xf32>) {
  // expected-error@+2 {{updates: 2 is not 1}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.scatter_elements %x, %i, %u {axis = 0 : i64, kind = #graph<scatter_kind assign>} : (tensor<2x3xf32>, tensor<1x2xi64>, tensor<1x1xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>, %i: tensor<i64>, %u: tensor<1x1xf32>) {
  // expected-error@+2 {{the length of index vectors is not known}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.scatter_nd %x, %i, %u {kind = #graph<scatter_kind assign>} : (tensor<2x3xf32>, tensor<i64>, tensor<1x1xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>, %i: tensor<1x3xi64>, %u: tensor<1xf32>) {
  // expected-error@+2 {{index vectors of length 3 do not fit an input of rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.scatter_nd %x, %i, %u {kind = #graph<scatter_kind assign>} : (tensor<2x3xf32>, tensor<1x3xi64>, tensor<1xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>, %i: tensor<1x1xi64>, %u: tensor<3xf32>) {
  // expected-error@+2 {{updates do not fit input and indices}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.scatter_nd %x, %i, %u {kind = #graph<scatter_kind assign>} : (tensor<2x3xf32>, tensor<1x1xi64>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @case(%x: tensor<3xf32>, %y: tensor<3x2xf32>) {
  // expected-error@+2 {{operands must have rank 2 or more}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.matmul %x, %y : (tensor<3xf32>, tensor<3x2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @case(%x: tensor<4x8xf32>, %y: tensor<7x2xf32>) {
  // expected-error@+2 {{columns of lhs and rows of rhs: 8 is not 7}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.matmul %x, %y : (tensor<4x8xf32>, tensor<7x2xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @case(%x: tensor<2x4x8xf32>, %y: tensor<3x8x2xf32>) {
  // expected-error@+2 {{sizes 2 and 3 of axis 0 do not broadcast}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.matmul %x, %y : (tensor<2x4x8xf32>, tensor<3x8x2xf32>) -> tensor<2x4x2xf32>
  return
}

// -----

func.func @case(%x: tensor<1x4x9xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error@+2 {{input, filter and attributes differ in spatial rank}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x4x9xf32>, tensor<6x4x3xf32>) -> tensor<1x4x9xf32>
  return
}

// -----

func.func @case(%x: tensor<1x4x9xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error@+2 {{group must be positive, not 0}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 0 : i64} : (tensor<1x4x9xf32>, tensor<6x4x3xf32>) -> tensor<1x4x9xf32>
  return
}

// -----

func.func @case(%x: tensor<1x4x9xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error@+2 {{input channels: 4 is not 8}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 2 : i64} : (tensor<1x4x9xf32>, tensor<6x4x3xf32>) -> tensor<1x4x9xf32>
  return
}

// -----

func.func @case(%x: tensor<1x4x9xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error@+2 {{strides and dilations must be positive}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.conv %x, %w {strides = array<i64: 0>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x4x9xf32>, tensor<6x4x3xf32>) -> tensor<1x4x9xf32>
  return
}

// -----

func.func @case(%x: tensor<1x4x9xf32>, %w: tensor<5x2x3xf32>) {
  // expected-error@+2 {{5 filters are no multiple of group 2}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 2 : i64} : (tensor<1x4x9xf32>, tensor<5x2x3xf32>) -> tensor<1x4x9xf32>
  return
}

// -----

func.func @case(%x: tensor<1x4x9xf32>, %w: tensor<6x4x30xf32>) {
  // expected-error@+2 {{a size is negative or overflows}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64} : (tensor<1x4x9xf32>, tensor<6x4x30xf32>) -> tensor<1x4x9xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{axis 2 is outside a tensor of rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.reduce %x {axes = array<i64: 2>, kind = #graph<reduce_kind sum>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{axis 2 is outside a tensor of rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.arg_reduce %x {axis = 2 : i64, kind = #graph<reduce_kind max>, last = false} : (tensor<2x3xf32>) -> tensor<2x3xi64>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{axis 2 is outside a tensor of rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  graph.softmax %x {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{axis 2 is outside the input}}
  graph.windows %x {axis = 2 : i64, stride = 1 : i64, step = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x2x2xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{result must have one axis more than the input}}
  graph.windows %x {axis = 1 : i64, stride = 1 : i64, step = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{stride and step must be positive}}
  graph.windows %x {axis = 1 : i64, stride = 0 : i64, step = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x2x2xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{reads outside of axis 1}}
  graph.windows %x {axis = 1 : i64, stride = 1 : i64, step = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x2x3xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{changes the size of an axis other than 1}}
  graph.windows %x {axis = 1 : i64, stride = 1 : i64, step = 1 : i64} : (tensor<2x3xf32>) -> tensor<1x2x2xf32>
  return
}

// -----

func.func @case(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{input and result must have one element type}}
  graph.windows %x {axis = 1 : i64, stride = 1 : i64, step = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x2x2xi8>
  return
}

// -----

func.func @append_axis(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axis 2 is outside the result}}
  graph.append %x, %x {axis = 2 : i64, length = #graph.dims<1>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x9xf32>
  return
}

// -----

func.func @append_lengths(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{needs one length}}
  graph.append %x, %x {axis = 1 : i64, length = #graph.dims<1, 2>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x9xf32>
  return
}

// -----

func.func @append_other_axis(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{operands and result differ in an axis other than 1}}
  graph.append %x, %x {axis = 1 : i64, length = #graph.dims<1>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x9xf32>
  return
}

// -----

func.func @append_types(%x: tensor<2x3xf32>, %y: tensor<2x3xi64>) {
  // expected-error @+1 {{rows and result}}
  graph.append %x, %y {axis = 1 : i64, length = #graph.dims<1>} : (tensor<2x3xf32>, tensor<2x3xi64>) -> tensor<2x9xf32>
  return
}

// -----

func.func @case(%q: tensor<2x3x4x4xf16>, %k: tensor<2x3x2x4xf16>, %v: tensor<2x3x2x16xf16>) {
  // expected-error@+1 {{operands must be of f32}}
  graph.linear_attention %q, %k, %v {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64} : (tensor<2x3x4x4xf16>, tensor<2x3x2x4xf16>, tensor<2x3x2x16xf16>) -> (tensor<2x3x4x16xf16>, tensor<2x2x4x16xf16>)
  return
}

// -----

func.func @case(%q: tensor<2x3x16xf32>, %k: tensor<2x3x2x4xf32>, %v: tensor<2x3x2x16xf32>) {
  // expected-error@+1 {{must have rank 4}}
  graph.linear_attention %q, %k, %v {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64} : (tensor<2x3x16xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2x16xf32>) -> (tensor<2x3x4x16xf32>, tensor<2x2x4x16xf32>)
  return
}

// -----

func.func @case(%q: tensor<2x3x3x4xf32>, %k: tensor<2x3x2x4xf32>, %v: tensor<2x3x2x16xf32>) {
  // expected-error@+1 {{those of value divide those of query: 3 and 2}}
  graph.linear_attention %q, %k, %v {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64} : (tensor<2x3x3x4xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2x16xf32>) -> (tensor<2x3x4x16xf32>, tensor<2x2x4x16xf32>)
  return
}

// -----

func.func @case(%q: tensor<2x3x4x4xf32>, %k: tensor<2x3x2x5xf32>, %v: tensor<2x3x2x16xf32>) {
  // expected-error@+1 {{differ in batch, steps, heads or head size}}
  graph.linear_attention %q, %k, %v {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64} : (tensor<2x3x4x4xf32>, tensor<2x3x2x5xf32>, tensor<2x3x2x16xf32>) -> (tensor<2x3x4x16xf32>, tensor<2x2x4x16xf32>)
  return
}

// -----

func.func @case(%q: tensor<2x3x4x4xf32>, %k: tensor<2x3x2x4xf32>, %v: tensor<2x3x2x16xf32>, %s: tensor<2x2x16x4xf32>) {
  // expected-error@+1 {{state must be [batch, heads, key size, value size]}}
  graph.linear_attention %q, %k, %v, %s {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>, scale = 0.5 : f64} : (tensor<2x3x4x4xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2x16xf32>, tensor<2x2x16x4xf32>) -> (tensor<2x3x4x16xf32>, tensor<2x2x4x16xf32>)
  return
}

// -----

func.func @case(%q: tensor<2x3x4x4xf32>, %k: tensor<2x3x2x4xf32>, %v: tensor<2x3x2x16xf32>, %g: tensor<2x3x2x3xf32>) {
  // expected-error@+1 {{decay must be [batch, steps, heads, key size or 1]}}
  graph.linear_attention %q, %k, %v, %g {operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>, scale = 0.5 : f64} : (tensor<2x3x4x4xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2x16xf32>, tensor<2x3x2x3xf32>) -> (tensor<2x3x4x16xf32>, tensor<2x2x4x16xf32>)
  return
}

// -----

func.func @case(%q: tensor<2x3x4x4xf32>, %k: tensor<2x3x2x4xf32>, %v: tensor<2x3x2x16xf32>, %b: tensor<2x3x4xf32>) {
  // expected-error@+1 {{beta must be [batch, steps, heads or 1]}}
  graph.linear_attention %q, %k, %v, %b {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>, scale = 0.5 : f64} : (tensor<2x3x4x4xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2x16xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4x16xf32>, tensor<2x2x4x16xf32>)
  return
}

// -----

func.func @case(%q: tensor<2x3x4x4xf32>, %k: tensor<2x3x2x4xf32>, %v: tensor<2x3x2x16xf32>) {
  // expected-error@+1 {{results must be [batch, steps, heads, value size]}}
  graph.linear_attention %q, %k, %v {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64} : (tensor<2x3x4x4xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2x16xf32>) -> (tensor<2x3x2x16xf32>, tensor<2x2x4x16xf32>)
  return
}
