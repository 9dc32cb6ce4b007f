// Every refusal of the dialect, one case each.

// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @case(%x: tensor<4xf32>) {
  // expected-error@+1 {{block arguments and operands differ in type}}
  kernel.region(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<5xf32>):
    %1 = graph.abs %0 : (tensor<5xf32>) -> tensor<5xf32>
    kernel.yield %1 : tensor<5xf32>
  }
  return
}

// -----

func.func @case(%x: tensor<4xf32>) {
  // expected-error@+1 {{yields other types than its results}}
  kernel.region(%x) : (tensor<4xf32>) -> tensor<4xf16> {
  ^bb0(%0: tensor<4xf32>):
    %1 = graph.abs %0 : (tensor<4xf32>) -> tensor<4xf32>
    kernel.yield %1 : tensor<4xf32>
  }
  return
}

// -----

func.func @case() {
  // expected-error@+1 {{cannot hold 'graph.weight'}}
  kernel.region() : () -> tensor<4xf32> {
    %1 = graph.weight {name = "w"} : () -> tensor<4xf32>
    kernel.yield %1 : tensor<4xf32>
  }
  return
}

// -----

// Rows that a norm gives may become bytes in its kernel, those of softmax not.

func.func @case(%x: tensor<4x4xf32>) {
  %r:3 = kernel.region(%x) : (tensor<4x4xf32>) -> (tensor<4x4xui8>, tensor<4x1xf32>, tensor<4x1xui8>) {
  ^bb0(%a: tensor<4x4xf32>):
    %1 = graph.rms_norm %a {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2:3 = graph.quantize_rows %1 : (tensor<4x4xf32>) -> (tensor<4x4xui8>, tensor<4x1xf32>, tensor<4x1xui8>)
    kernel.yield %2#0, %2#1, %2#2 : tensor<4x4xui8>, tensor<4x1xf32>, tensor<4x1xui8>
  }
  // expected-error@+1 {{has two roots: 'graph.softmax' and 'graph.quantize_rows'}}
  %s:3 = kernel.region(%x) : (tensor<4x4xf32>) -> (tensor<4x4xui8>, tensor<4x1xf32>, tensor<4x1xui8>) {
  ^bb0(%b: tensor<4x4xf32>):
    %3 = graph.softmax %b {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %4:3 = graph.quantize_rows %3 : (tensor<4x4xf32>) -> (tensor<4x4xui8>, tensor<4x1xf32>, tensor<4x1xui8>)
    kernel.yield %4#0, %4#1, %4#2 : tensor<4x4xui8>, tensor<4x1xf32>, tensor<4x1xui8>
  }
  return
}

// -----

// One root only: two reductions are two kernels.

func.func @case(%x: tensor<4x4xf32>) {
  // expected-error@+1 {{has two roots: 'graph.softmax' and 'graph.reduce'}}
  kernel.region(%x) : (tensor<4x4xf32>) -> tensor<4x1xf32> {
  ^bb0(%0: tensor<4x4xf32>):
    %1 = graph.softmax %0 {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = graph.reduce %1 {axes = array<i64: 1>, kind = #graph<reduce_kind sum>} : (tensor<4x4xf32>) -> tensor<4x1xf32>
    kernel.yield %2 : tensor<4x1xf32>
  }
  return
}

// -----

func.func @case(%x: tensor<4xf32>) {
  // expected-error@+1 {{yields nothing}}
  kernel.region(%x) : (tensor<4xf32>) -> () {
  ^bb0(%0: tensor<4xf32>):
    %1 = graph.abs %0 : (tensor<4xf32>) -> tensor<4xf32>
  }
  return
}

// -----

// expected-error@+1 {{geometry is rows, grain and scratch bytes, and bytes that all pieces share}}
kernel.func @case symbols [] layouts [""] schedule "Generic" geometry <1, 1> {
^bb0(%0: tensor<4xf32>):
  %1 = graph.abs %0 : (tensor<4xf32>) -> tensor<4xf32>
  kernel.yield %1 : tensor<4xf32>
}

// -----

// expected-error@+1 {{needs one layout per argument}}
kernel.func @case symbols [] layouts [] schedule "Generic" geometry <1, 1, 0> {
^bb0(%0: tensor<4xf32>):
  %1 = graph.abs %0 : (tensor<4xf32>) -> tensor<4xf32>
  kernel.yield %1 : tensor<4xf32>
}
