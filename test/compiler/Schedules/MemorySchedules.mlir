// RUN: tenon-opt %s --apply-schedules="target=cuda explain=true" --split-input-file --verify-diagnostics | FileCheck %s

// A row of 768 elements is a block's; of short rows a block has several.

// CHECK: kernel.func @long {{.*}} schedule "BlockRows" geometry <d0, 1, 0>
// expected-remark@+1 {{by BlockColumns: it works along rows}}
kernel.func @long symbols ["d0"] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<?x768xf32, #graph.dims<d0, 768>>):
  %1 = graph.softmax %0 {axis = 1} : (tensor<?x768xf32, #graph.dims<d0, 768>>) -> tensor<?x768xf32, #graph.dims<d0, 768>>
  kernel.yield %1 : tensor<?x768xf32, #graph.dims<d0, 768>>
}

// -----

// CHECK: kernel.func @short {{.*}} schedule "BlockRows" geometry <floordiv(d0 + 7, 8), 1, 0>
// expected-remark@+1 {{by BlockColumns: it works along rows}}
kernel.func @short symbols ["d0"] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<?x128xf32, #graph.dims<d0, 128>>):
  %1 = graph.softmax %0 {axis = 1} : (tensor<?x128xf32, #graph.dims<d0, 128>>) -> tensor<?x128xf32, #graph.dims<d0, 128>>
  kernel.yield %1 : tensor<?x128xf32, #graph.dims<d0, 128>>
}

// -----

// Columns are reduced by warps that share the steps.

// CHECK: kernel.func @columns {{.*}} schedule "BlockColumns" geometry <2 * d0, 1, 0>
kernel.func @columns symbols ["d0"] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<?x49x64xf32, #graph.dims<d0, 49, 64>>):
  %1 = graph.reduce %0 {axes = array<i64: 1>, kind = #graph<reduce_kind mean>} : (tensor<?x49x64xf32, #graph.dims<d0, 49, 64>>) -> tensor<?x1x64xf32, #graph.dims<d0, 1, 64>>
  kernel.yield %1 : tensor<?x1x64xf32, #graph.dims<d0, 1, 64>>
}

// -----

// Rows of integers, and rows that are read across, are those of one warp each.

// CHECK: kernel.func @integers {{.*}} schedule "Generic"
// expected-remark@+2 {{by BlockColumns: its elements are not f32, f16 or bf16}}
// expected-remark@+1 {{by BlockRows: its elements are not f32, f16 or bf16}}
kernel.func @integers symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<8x64xi32>):
  %1 = graph.reduce %0 {axes = array<i64: 1>, kind = #graph<reduce_kind sum>} : (tensor<8x64xi32>) -> tensor<8x1xi32>
  kernel.yield %1 : tensor<8x1xi32>
}

// -----

// Elements of results of one shape come in vectors.

// CHECK: kernel.func @map {{.*}} schedule "VectorMap" geometry <floordiv(768 * d0 + 511, 512), 1, 0>
kernel.func @map symbols ["d0"] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<?x768xf32, #graph.dims<d0, 768>>):
  %1 = graph.neg %0 : (tensor<?x768xf32, #graph.dims<d0, 768>>) -> tensor<?x768xf32, #graph.dims<d0, 768>>
  kernel.yield %1 : tensor<?x768xf32, #graph.dims<d0, 768>>
}

// -----

// Rows that become columns go through tiles; rows that stay rows do not.

// CHECK: kernel.func @turned {{.*}} schedule "TurnedMap" geometry <12 * d0, 1, 0>
kernel.func @turned symbols ["d0"] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<?x64x192xf32, #graph.dims<d0, 64, 192>>):
  %1 = graph.transpose %0 {permutation = array<i64: 0, 2, 1>} : (tensor<?x64x192xf32, #graph.dims<d0, 64, 192>>) -> tensor<?x192x64xf32, #graph.dims<d0, 192, 64>>
  kernel.yield %1 : tensor<?x192x64xf32, #graph.dims<d0, 192, 64>>
}

// -----

// CHECK: kernel.func @moved {{.*}} schedule "VectorMap"
kernel.func @moved symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<4x64x192xf32>):
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0, 2>} : (tensor<4x64x192xf32>) -> tensor<64x4x192xf32>
  kernel.yield %1 : tensor<64x4x192xf32>
}

// -----

// Results of several shapes are computed element by element.

// CHECK: kernel.func @shapes {{.*}} schedule "Generic"
kernel.func @shapes symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<4x6xf32>):
  %1 = graph.neg %0 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  kernel.yield %1, %2 : tensor<4x6xf32>, tensor<6x4xf32>
}

// -----

// A few of a long row are found one after the other, many all at once.

// CHECK: kernel.func @few {{.*}} schedule "BlockTopk" geometry <2, 1, 0>
kernel.func @few symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<2x50000xf32>):
  %1, %2 = graph.topk %0 {axis = 1 : i64, largest = true} : (tensor<2x50000xf32>) -> (tensor<2x10xf32>, tensor<2x10xi64>)
  kernel.yield %1, %2 : tensor<2x10xf32>, tensor<2x10xi64>
}

// -----

// CHECK: kernel.func @many {{.*}} schedule "RankTopk" geometry <8, 1, 0>
// expected-remark@+1 {{by BlockTopk: it takes many, or more than is known}}
kernel.func @many symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<2x1000xf32>):
  %1, %2 = graph.topk %0 {axis = 1 : i64, largest = true} : (tensor<2x1000xf32>) -> (tensor<2x300xf32>, tensor<2x300xi64>)
  kernel.yield %1, %2 : tensor<2x300xf32>, tensor<2x300xi64>
}

// -----

// Running sums along rows are a block's; along columns, a thread has each.

// CHECK: kernel.func @scan {{.*}} schedule "BlockScan" geometry <4, 1, 0>
// expected-remark@+2 {{by BlockColumns: its sums run along the columns}}
// expected-remark@+1 {{by BlockRows: its sums run along the row}}
kernel.func @scan symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<4x1000xf32>):
  %1 = graph.cumulative %0 {axis = 1, kind = #graph<reduce_kind sum>, exclusive = false, reverse = false} : (tensor<4x1000xf32>) -> tensor<4x1000xf32>
  kernel.yield %1 : tensor<4x1000xf32>
}

// -----

// CHECK: kernel.func @columnsums {{.*}} schedule "Generic"
// expected-remark@+3 {{by BlockColumns: its sums run along the columns}}
// expected-remark@+2 {{by BlockRows: its sums run along the row}}
// expected-remark@+1 {{by BlockScan: its sums run along columns}}
kernel.func @columnsums symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1000x8xf32>):
  %1 = graph.cumulative %0 {axis = 0, kind = #graph<reduce_kind sum>, exclusive = false, reverse = false} : (tensor<1000x8xf32>) -> tensor<1000x8xf32>
  kernel.yield %1 : tensor<1000x8xf32>
}

// -----

// An element of a scatter's result is a thread's, unless it moves on.

// CHECK: kernel.func @scatter {{.*}} schedule "ScatterFold" geometry <8, 1, 0>
kernel.func @scatter symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<16x64xf32>, %1: tensor<2x1xi64>, %2: tensor<2x64xf32>):
  %3 = graph.scatter_nd %0, %1, %2 {kind = #graph<scatter_kind assign>} : (tensor<16x64xf32>, tensor<2x1xi64>, tensor<2x64xf32>) -> tensor<16x64xf32>
  kernel.yield %3 : tensor<16x64xf32>
}

// -----

// CHECK: kernel.func @scattermoved {{.*}} schedule "Generic"
// expected-remark@+1 {{by ScatterFold: it moves data behind the scatter}}
kernel.func @scattermoved symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<16x64xf32>, %1: tensor<2x1xi64>, %2: tensor<2x64xf32>):
  %3 = graph.scatter_nd %0, %1, %2 {kind = #graph<scatter_kind assign>} : (tensor<16x64xf32>, tensor<2x1xi64>, tensor<2x64xf32>) -> tensor<16x64xf32>
  %4 = graph.transpose %3 {permutation = array<i64: 1, 0>} : (tensor<16x64xf32>) -> tensor<64x16xf32>
  kernel.yield %4 : tensor<64x16xf32>
}

// -----

// Blocks share a row of which one element is left, where rows are few.

// CHECK: kernel.func @whole {{.*}} schedule "BlockRows" geometry <31, 1, 0, 1008>
// expected-remark@+1 {{by BlockColumns: it works along rows}}
kernel.func @whole symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1000000xf32>):
  %1 = graph.reduce %0 {axes = array<i64: 0>, kind = #graph<reduce_kind sum>} : (tensor<1000000xf32>) -> tensor<1xf32>
  kernel.yield %1 : tensor<1xf32>
}

// -----

// CHECK: kernel.func @shortrows {{.*}} schedule "BlockRows" geometry <100, 1, 0>
// expected-remark@+1 {{by BlockColumns: it works along rows}}
kernel.func @shortrows symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<100x8192xf32>):
  %1 = graph.reduce %0 {axes = array<i64: 1>, kind = #graph<reduce_kind sum>} : (tensor<100x8192xf32>) -> tensor<100x1xf32>
  kernel.yield %1 : tensor<100x1xf32>
}

// -----

// A block looks for what is not 0, and another one has a sequence.

// CHECK: kernel.func @nonzero {{.*}} schedule "BlockNonzero" geometry <1, 1, 0>
kernel.func @nonzero symbols ["n"] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<40x50xf32>):
  %1 = graph.nonzero %0 : (tensor<40x50xf32>) -> tensor<2x?xi64, #graph.dims<2, n>>
  kernel.yield %1 : tensor<2x?xi64, #graph.dims<2, n>>
}

// -----

// CHECK: kernel.func @nonzeroturned {{.*}} schedule "Generic"
// expected-remark@+1 {{by BlockNonzero: something follows what it finds}}
kernel.func @nonzeroturned symbols ["n"] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<40x50xf32>):
  %1 = graph.nonzero %0 : (tensor<40x50xf32>) -> tensor<2x?xi64, #graph.dims<2, n>>
  %2 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<2x?xi64, #graph.dims<2, n>>) -> tensor<?x2xi64, #graph.dims<n, 2>>
  kernel.yield %2 : tensor<?x2xi64, #graph.dims<n, 2>>
}

// -----

// CHECK: kernel.func @cell {{.*}} schedule "BlockRecurrent" geometry <2, 1, 0>
kernel.func @cell symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<7x2x3xf32>, %1: tensor<1x15x3xf32>, %2: tensor<1x15x5xf32>):
  %3:3 = graph.recurrent %0, %1, %2 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind gru>, direction = "forward", activations = ["Sigmoid", "Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x3xf32>, tensor<1x15x3xf32>, tensor<1x15x5xf32>) -> (tensor<7x1x2x5xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>)
  kernel.yield %3#0, %3#1 : tensor<7x1x2x5xf32>, tensor<1x2x5xf32>
}

// -----

// CHECK: kernel.func @cellfollowed {{.*}} schedule "Generic"
// expected-remark@+1 {{by BlockRecurrent: something follows the cell}}
kernel.func @cellfollowed symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<7x2x3xf32>, %1: tensor<1x15x3xf32>, %2: tensor<1x15x5xf32>):
  %3:3 = graph.recurrent %0, %1, %2 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind gru>, direction = "forward", activations = ["Sigmoid", "Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x3xf32>, tensor<1x15x3xf32>, tensor<1x15x5xf32>) -> (tensor<7x1x2x5xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>)
  %4 = graph.neg %3#0 : (tensor<7x1x2x5xf32>) -> tensor<7x1x2x5xf32>
  kernel.yield %4 : tensor<7x1x2x5xf32>
}
