// RUN: tenon-opt %s --form-regions=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// A chain of elementwise ops is one kernel; what it reads from outside are its
// operands.

// CHECK-LABEL: @chain
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<8xf32>
func.func @chain(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  // CHECK-NEXT: %[[Y:.*]] = kernel.region(%[[X]], %[[B]])
  // CHECK-NEXT: ^bb0(%[[X1:.*]]: tensor<4x8xf32>, %[[B1:.*]]: tensor<8xf32>):
  // CHECK-NEXT:   %[[SUM:.*]] = graph.add %[[X1]], %[[B1]]
  // CHECK-NEXT:   %[[TANH:.*]] = graph.tanh %[[SUM]]
  // CHECK-NEXT:   %[[PROD:.*]] = graph.mul %[[X1]], %[[TANH]]
  // CHECK-NEXT:   kernel.yield %[[PROD]]
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[Y]]
  %0 = graph.add %x, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = graph.tanh %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %2 = graph.mul %x, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// Elementwise ops join the root that feeds them; the root's own operands do
// not.

// CHECK-LABEL: @epilogue
func.func @epilogue(%x: tensor<?x8xf32, #graph.dims<B, 8>>, %w: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<?x16xf32, #graph.dims<B, 16>> {
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT:   graph.abs
  // CHECK-NEXT:   kernel.yield
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT:   graph.matmul
  // CHECK-NEXT:   graph.add
  // CHECK-NEXT:   graph.sigmoid
  // CHECK-NEXT:   kernel.yield
  // CHECK-NOT:  kernel.region
  // expected-remark@+1 {{kernel ends here: its user 'graph.matmul' does not read it element by element}}
  %0 = graph.abs %x : (tensor<?x8xf32, #graph.dims<B, 8>>) -> tensor<?x8xf32, #graph.dims<B, 8>>
  %1 = graph.matmul %0, %w : (tensor<?x8xf32, #graph.dims<B, 8>>, tensor<8x16xf32>) -> tensor<?x16xf32, #graph.dims<B, 16>>
  %2 = graph.add %1, %b : (tensor<?x16xf32, #graph.dims<B, 16>>, tensor<16xf32>) -> tensor<?x16xf32, #graph.dims<B, 16>>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %3 = graph.sigmoid %2 : (tensor<?x16xf32, #graph.dims<B, 16>>) -> tensor<?x16xf32, #graph.dims<B, 16>>
  return %3 : tensor<?x16xf32, #graph.dims<B, 16>>
}

// -----

// Of two roots, one joins; the other's result comes through memory.

// CHECK-LABEL: @two_roots
func.func @two_roots(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK-COUNT-2: kernel.region
  // CHECK-NOT:     kernel.region
  %0 = graph.softmax %x {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark@+1 {{kernel ends here: its user already shares a kernel with 'graph.softmax', and a kernel has one root}}
  %1 = graph.softmax %y {axis = 0 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark@+1 {{its result is returned}}
  %2 = graph.add %0, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// A result with two users stays in memory: joining would compute it twice.

// CHECK-LABEL: @used_twice
func.func @used_twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK:     %[[E:.*]] = kernel.region
  // CHECK:     graph.exp
  // CHECK:     %[[N:.*]] = kernel.region(%[[E]])
  // CHECK:     return %[[N]], %[[E]]
  // expected-remark@+1 {{kernel ends here: its result has several users}}
  %0 = graph.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark@+1 {{its result is returned}}
  %1 = graph.neg %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %0 : tensor<4xf32>, tensor<4xf32>
}

// -----

// The same user twice is one user.

// CHECK-LABEL: @squared
func.func @squared(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK:     kernel.region
  // CHECK-NOT: kernel.region
  %0 = graph.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark@+1 {{its result is returned}}
  %1 = graph.mul %0, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// All readers in one kernel are as good as one: x * f(x).

// CHECK-LABEL: @diamond
func.func @diamond(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-COUNT-1: kernel.region
  // CHECK-NOT: kernel.region
  %0 = graph.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.sigmoid %0 : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %2 = graph.mul %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// Also where none of them is the last one: (0.5 * x) * f(x + x * x).

// CHECK-LABEL: @wide_diamond
func.func @wide_diamond(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %half: tensor<f32>) -> tensor<4x8xf32> {
  // CHECK-COUNT-1: kernel.region
  // CHECK-NOT: kernel.region
  %0 = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = graph.mul %0, %half : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %2 = graph.mul %0, %0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = graph.add %0, %2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = graph.sin %3 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %5 = graph.mul %1, %4 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %5 : tensor<4x8xf32>
}

// -----

// Not so where one of the readers is read elsewhere, too.

// CHECK-LABEL: @leaky_diamond
func.func @leaky_diamond(%x: tensor<4xf32>, %half: tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-COUNT-3: kernel.region
  // CHECK-NOT: kernel.region
  // expected-remark@+1 {{kernel ends here: its result has several users}}
  %0 = graph.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.mul %0, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // expected-remark@+1 {{kernel ends here: its result has several users}}
  %2 = graph.sigmoid %0 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = graph.sin %2 : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %4 = graph.mul %1, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %4, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Nor where one of them repeats what it reads: it would be computed again for
// each of its rows.

// CHECK-LABEL: @spread_diamond
func.func @spread_diamond(%x: tensor<8xf32>, %half: tensor<f32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK-COUNT-2: kernel.region
  // CHECK-NOT: kernel.region
  // expected-remark@+1 {{kernel ends here: its result has several users}}
  %0 = graph.exp %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = graph.add %0, %y : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = graph.mul %0, %y : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = graph.sin %2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %4 = graph.mul %1, %3 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// -----

// Not so when they read it at different places.

// CHECK-LABEL: @crossed
func.func @crossed(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK-COUNT-2: kernel.region
  // expected-remark@+1 {{kernel ends here: its result has several users}}
  %0 = graph.exp %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %2 = graph.mul %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// The halves of a product's columns meet in its kernel.

// CHECK-LABEL: @halves
func.func @halves(%x: tensor<4x8xf32>, %w: tensor<8x12xf32>) -> tensor<4x6xf32> {
  // CHECK-NEXT: kernel.region(%arg0, %arg1)
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT:   graph.matmul
  // CHECK-NEXT:   graph.slice
  // CHECK-NEXT:   graph.slice
  // CHECK-NEXT:   graph.sigmoid
  // CHECK-NEXT:   graph.mul
  // CHECK-NEXT:   graph.mul
  // CHECK-NEXT:   kernel.yield
  %0 = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x12xf32>) -> tensor<4x12xf32>
  %1 = graph.slice %0 {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<4x12xf32>) -> tensor<4x6xf32>
  %2 = graph.slice %0 {starts = #graph.dims<0, 6>, steps = #graph.dims<1, 1>} : (tensor<4x12xf32>) -> tensor<4x6xf32>
  %3 = graph.sigmoid %1 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %4 = graph.mul %1, %3 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %5 = graph.mul %4, %2 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %5 : tensor<4x6xf32>
}

// -----

// Halves that are moved before they meet are read from memory.

// CHECK-LABEL: @halves_moved
func.func @halves_moved(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<2x4x4xf32> {
  // CHECK-COUNT-2: kernel.region
  // expected-remark@+1 {{kernel ends here: its result has several users}}
  %0 = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = graph.slice %0 {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<4x16xf32>) -> tensor<4x8xf32>
  %2 = graph.reshape %1 : (tensor<4x8xf32>) -> tensor<4x2x4xf32>
  %3 = graph.transpose %2 {permutation = array<i64: 1, 0, 2>} : (tensor<4x2x4xf32>) -> tensor<2x4x4xf32>
  %4 = graph.slice %0 {starts = #graph.dims<0, 8>, steps = #graph.dims<1, 1>} : (tensor<4x16xf32>) -> tensor<4x8xf32>
  %5 = graph.reshape %4 : (tensor<4x8xf32>) -> tensor<4x2x4xf32>
  %6 = graph.transpose %5 {permutation = array<i64: 1, 0, 2>} : (tensor<4x2x4xf32>) -> tensor<2x4x4xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %7 = graph.mul %3, %6 : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return %7 : tensor<2x4x4xf32>
}

// -----

// Other slices are read from memory.

// CHECK-LABEL: @no_halves
func.func @no_halves(%x: tensor<4x8xf32>, %w: tensor<8x12xf32>) -> tensor<4x5xf32> {
  // CHECK-COUNT-2: kernel.region
  // expected-remark@+1 {{kernel ends here: its result has several users}}
  %0 = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x12xf32>) -> tensor<4x12xf32>
  %1 = graph.slice %0 {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<4x12xf32>) -> tensor<4x5xf32>
  %2 = graph.slice %0 {starts = #graph.dims<0, 6>, steps = #graph.dims<1, 1>} : (tensor<4x12xf32>) -> tensor<4x5xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %3 = graph.mul %1, %2 : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  return %3 : tensor<4x5xf32>
}

// -----

// Different sizes are different loops.

// CHECK-LABEL: @other_sizes
func.func @other_sizes(%x: tensor<8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK-COUNT-2: kernel.region
  // expected-remark@+1 {{kernel ends here: the sizes of its user are not proven to be its own}}
  %0 = graph.exp %x : (tensor<8xf32>) -> tensor<8xf32>
  // expected-remark@+1 {{its result is returned}}
  %1 = graph.add %0, %y : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// Reshapes rename memory and stay outside.

// CHECK-LABEL: @view
func.func @view(%x: tensor<2x4xf32>) -> tensor<8xf32> {
  // CHECK:      %[[E:.*]] = kernel.region
  // CHECK:      %[[R:.*]] = graph.reshape %[[E]]
  // CHECK-NEXT: kernel.region(%[[R]])
  // expected-remark@+1 {{kernel ends here: its user 'graph.reshape' only renames the memory}}
  %0 = graph.exp %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = graph.reshape %0 : (tensor<2x4xf32>) -> tensor<8xf32>
  // expected-remark@+1 {{its result is returned}}
  %2 = graph.neg %1 : (tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

// Rows that are looked up are read in place, by a kernel that computes along
// rows and stores them.

// CHECK-LABEL: @picked_rows
func.func @picked_rows(%x: tensor<4x8xf32>, %i: tensor<4xi64>, %j: tensor<4xi64>, %y: tensor<9x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT:   graph.gather
  // CHECK-NEXT:   graph.gather
  // CHECK-NEXT:   graph.add
  // CHECK-NEXT:   graph.mul
  // CHECK-NEXT:   kernel.yield
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT:   graph.softmax
  %0 = graph.gather %y, %i {axis = 0 : i64} : (tensor<9x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
  %1 = graph.gather %y, %j {axis = 0 : i64} : (tensor<9x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
  %2 = graph.add %0, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark@+1 {{kernel ends here: rows are looked up for what is computed along rows alone}}
  %3 = graph.mul %2, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark@+1 {{its result is returned}}
  %4 = graph.softmax %3 {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %4, %x : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Short rows are elements.

// CHECK-LABEL: @picked_short_rows
func.func @picked_short_rows(%x: tensor<4x2xf32>, %i: tensor<4xi64>, %y: tensor<9x2xf32>) -> tensor<4x2xf32> {
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT:   graph.gather
  // CHECK-NEXT:   kernel.yield
  // expected-remark@+1 {{kernel ends here: its elements are found by a search}}
  %0 = graph.gather %y, %i {axis = 0 : i64} : (tensor<9x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
  // expected-remark@+1 {{its result is returned}}
  %1 = graph.mul %0, %x : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// -----

// Not where elements are, nor by a product's kernel.

// CHECK-LABEL: @picked_elements
func.func @picked_elements(%x: tensor<8x4xf32>, %w: tensor<4x16xf32>, %i: tensor<4xi64>, %y: tensor<8x9xf32>, %z: tensor<9x16xf32>, %j: tensor<8xi64>) -> (tensor<8x4xf32>, tensor<8x16xf32>) {
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT:   graph.gather
  // CHECK-NEXT:   kernel.yield
  // expected-remark@+1 {{kernel ends here: its elements are found by a search}}
  %0 = graph.gather %y, %i {axis = 1 : i64} : (tensor<8x9xf32>, tensor<4xi64>) -> tensor<8x4xf32>
  // expected-remark@+1 {{its result is returned}}
  %1 = graph.sub %x, %0 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK:      graph.sub
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT:   graph.gather
  // CHECK-NEXT:   kernel.yield
  %2 = graph.matmul %x, %w : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  // expected-remark@+1 {{kernel ends here: its elements are found by a search}}
  %3 = graph.gather %z, %j {axis = 0 : i64} : (tensor<9x16xf32>, tensor<8xi64>) -> tensor<8x16xf32>
  // expected-remark@+1 {{its result is returned}}
  %4 = graph.add %2, %3 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %1, %4 : tensor<8x4xf32>, tensor<8x16xf32>
}

// -----

// A transpose is read in place; a gather is not.

// CHECK-LABEL: @movement
func.func @movement(%x: tensor<8x4xf32>, %i: tensor<4xi64>, %y: tensor<9x8xf32>) -> tensor<4x8xf32> {
  // CHECK:      kernel.region
  // CHECK:        graph.gather
  // CHECK:      kernel.region
  // CHECK:        graph.transpose
  // CHECK:        graph.sub
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  // expected-remark@+1 {{kernel ends here: its elements are found by a search}}
  %1 = graph.gather %y, %i {axis = 0 : i64} : (tensor<9x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
  // expected-remark@+1 {{its result is returned}}
  %2 = graph.sub %0, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// Several results are several buffers.

// CHECK-LABEL: @several_results
func.func @several_results(%x: tensor<8xf32>) -> (tensor<2xf32>, tensor<2xi64>) {
  // CHECK: %[[T:.*]]:2 = kernel.region
  // CHECK: kernel.region(%[[T]]#0)
  // CHECK: return %{{.*}}, %[[T]]#1
  // expected-remark@+1 {{kernel ends here: its result has several users}}
  %v, %i = graph.topk %x {axis = 0 : i64, largest = true} : (tensor<8xf32>) -> (tensor<2xf32>, tensor<2xi64>)
  // expected-remark@+1 {{its result is returned}}
  %0 = graph.neg %v : (tensor<2xf32>) -> tensor<2xf32>
  return %0, %i : tensor<2xf32>, tensor<2xi64>
}

// -----

// A norm's rows become bytes in its kernel, which stores them for others too;
// those of a softmax are read again.

// CHECK-LABEL: @rows_as_bytes
func.func @rows_as_bytes(%x: tensor<4x64xf32>) -> (tensor<4x64xui8>, tensor<4x1xf32>, tensor<4x1xui8>, tensor<4x64xf32>, tensor<4x64xui8>, tensor<4x1xf32>, tensor<4x1xui8>) {
  // CHECK:      kernel.region(%{{.*}}) : (tensor<4x64xf32>) -> (tensor<4x64xf32>, tensor<4x64xui8>, tensor<4x1xf32>, tensor<4x1xui8>)
  // CHECK:        graph.layer_norm
  // CHECK-NEXT:   %[[N:.*]] = graph.neg
  // CHECK-NEXT:   %[[B:.*]], %[[S:.*]], %[[Z:.*]] = graph.quantize_rows %[[N]]
  // CHECK-NEXT:   kernel.yield %[[N]], %[[B]], %[[S]], %[[Z]]
  // CHECK:      kernel.region
  // CHECK:        graph.softmax
  // CHECK-NEXT:   kernel.yield
  // CHECK:      kernel.region
  // CHECK-NOT:    graph.softmax
  // CHECK:        graph.quantize_rows
  %0 = graph.layer_norm %x {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %1 = graph.neg %0 : (tensor<4x64xf32>) -> tensor<4x64xf32>
  // expected-remark@+1 {{its result is returned}}
  %2:3 = graph.quantize_rows %1 : (tensor<4x64xf32>) -> (tensor<4x64xui8>, tensor<4x1xf32>, tensor<4x1xui8>)
  // expected-remark@+1 {{kernel ends here: its user already shares a kernel}}
  %3 = graph.softmax %x {axis = 1 : i64} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  // expected-remark@+1 {{its result is returned}}
  %4:3 = graph.quantize_rows %3 : (tensor<4x64xf32>) -> (tensor<4x64xui8>, tensor<4x1xf32>, tensor<4x1xui8>)
  return %2#0, %2#1, %2#2, %1, %4#0, %4#1, %4#2 : tensor<4x64xui8>, tensor<4x1xf32>, tensor<4x1xui8>, tensor<4x64xf32>, tensor<4x64xui8>, tensor<4x1xf32>, tensor<4x1xui8>
}

// -----

// Sizes are made where they are read, and are gone where nobody reads them;
// what else needs them gets them from a kernel.

// CHECK-LABEL: @constants
func.func @constants(%x: tensor<?xi64, #graph.dims<B>>) -> (tensor<?xi64, #graph.dims<B>>, tensor<1xi64>) {
  // CHECK-NEXT: %[[SUM:.*]] = kernel.region(%{{[^)]*}})
  // CHECK:        graph.sizes
  // CHECK-NEXT:   graph.add
  // CHECK:      %[[S:.*]] = kernel.region() : () -> tensor<1xi64>
  // CHECK-NEXT:   graph.sizes
  // CHECK:      return %[[SUM]], %[[S]]
  %dead = graph.sizes {value = #graph.dims<B, B>} : () -> tensor<2xi64>
  %0 = graph.sizes {value = #graph.dims<B>} : () -> tensor<1xi64>
  // expected-remark@+1 {{its result is returned}}
  %1 = graph.add %x, %0 : (tensor<?xi64, #graph.dims<B>>, tensor<1xi64>) -> tensor<?xi64, #graph.dims<B>>
  return %1, %0 : tensor<?xi64, #graph.dims<B>>, tensor<1xi64>
}

// -----

// Each branch has kernels of its own; nothing crosses into it.

// CHECK-LABEL: @branches
func.func @branches(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK:      %[[E:.*]] = kernel.region
  // CHECK:      graph.if
  // CHECK-NEXT:   %[[N:.*]] = kernel.region(%[[E]])
  // CHECK:        graph.yield %[[N]]
  // CHECK:      } else {
  // CHECK-NEXT:   graph.yield %[[E]]
  %three = graph.constant {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
  // expected-remark@+1 {{kernel ends here: its result has several users}}
  %0 = graph.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.if %c : (tensor<i1>) -> tensor<4xf32> {
    // expected-remark@+1 {{its result is returned}}
    %2 = graph.mul %0, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    graph.yield %2 : tensor<4xf32>
  } else {
    graph.yield %0 : tensor<4xf32>
  }
  return %1 : tensor<4xf32>
}

// -----

// Steps of a loop have kernels of their own, too, which make the sizes that they
// read where they are: the number of a step has no value outside.

// CHECK-LABEL: @steps
func.func @steps(%c: tensor<i1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<?xi64, #graph.dims<n>>) {
  // CHECK:      %[[E:.*]] = kernel.region
  // CHECK:      graph.loop "i"
  // CHECK-NEXT: ^bb0(%[[S:.*]]: tensor<4xf32>):
  // CHECK-NEXT:   %[[N:.*]] = kernel.region(%[[S]], %[[E]])
  // CHECK:        %[[I:.*]] = kernel.region()
  // CHECK-NEXT:     graph.sizes {value = #graph.dims<i>}
  // CHECK:        graph.yield %{{.*}}, %[[N]], %[[I]]
  // expected-remark@+1 {{kernel ends here: its user is in a branch of an If, or in a Loop}}
  %0 = graph.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1:2 = graph.loop "i" %c, %x attributes {room = #graph.dims<9>} : (tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>, tensor<?xi64, #graph.dims<n>>) {
  ^bb0(%s: tensor<4xf32>):
    %2 = graph.sizes {value = #graph.dims<i>} : () -> tensor<i64>
    // expected-remark@+1 {{its result is returned}}
    %3 = graph.mul %s, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %c, %3, %2 : tensor<i1>, tensor<4xf32>, tensor<i64>
  }
  return %1#0, %1#1 : tensor<4xf32>, tensor<?xi64, #graph.dims<n>>
}

// -----

// A row program computes the elements of its row itself, each once.

// CHECK-LABEL: @prologue
func.func @prologue(%x: tensor<4x8xf32>, %m: tensor<8xf32>) -> tensor<4x8xf32> {
  // CHECK:      kernel.region
  // CHECK:      graph.add
  // CHECK-NEXT: graph.softmax
  // CHECK-NOT:  kernel.region
  %0 = graph.add %x, %m : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // expected-remark@+1 {{its result is returned}}
  %1 = graph.softmax %0 {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// Attention reads heads where the projection left them and writes its own side
// by side; a transpose with another reader is copied for it.

// CHECK-LABEL: @heads
func.func @heads(%q: tensor<1x6x8xf32>, %kv: tensor<1x6x4x4xf32>) -> (tensor<1x6x2x4xf32>, tensor<1x2x6x4xf32>) {
  // CHECK:      kernel.region
  // CHECK:      graph.slice
  // CHECK-NEXT: graph.transpose
  // CHECK:      kernel.region
  // CHECK:      graph.reshape
  // CHECK:      graph.transpose
  // CHECK:      graph.slice
  // CHECK:      graph.transpose
  // CHECK:      graph.slice
  // CHECK:      graph.transpose
  // CHECK:      graph.attention
  // CHECK-NEXT: graph.transpose
  // CHECK-NEXT: kernel.yield
  // CHECK-NOT:  kernel.region
  %0 = graph.reshape %q : (tensor<1x6x8xf32>) -> tensor<1x6x2x4xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x6x2x4xf32>) -> tensor<1x2x6x4xf32>
  %2 = graph.slice %kv {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x6x4x4xf32>) -> tensor<1x6x2x4xf32>
  %3 = graph.transpose %2 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x6x2x4xf32>) -> tensor<1x2x6x4xf32>
  %4 = graph.slice %kv {starts = #graph.dims<0, 0, 2, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x6x4x4xf32>) -> tensor<1x6x2x4xf32>
  // expected-remark@+1 {{its result is returned}}
  %5 = graph.transpose %4 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x6x2x4xf32>) -> tensor<1x2x6x4xf32>
  %6 = graph.attention %1, %3, %5 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x6x4xf32>, tensor<1x2x6x4xf32>, tensor<1x2x6x4xf32>) -> tensor<1x2x6x4xf32>
  // expected-remark@+1 {{its result is returned}}
  %7 = graph.transpose %6 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x2x6x4xf32>) -> tensor<1x6x2x4xf32>
  return %7, %5 : tensor<1x6x2x4xf32>, tensor<1x2x6x4xf32>
}

// -----

// A norm reads rows: a transpose that takes their elements apart is brought
// together before, one that keeps them is read through.

// CHECK-LABEL: @norm_of_columns
func.func @norm_of_columns(%x: tensor<1x40x8xf32>, %y: tensor<2x40x8xf32>) -> (tensor<1x8x40xf32>, tensor<40x2x8xf32>) {
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: graph.transpose
  // CHECK-NEXT: kernel.yield
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: graph.layer_norm
  // CHECK-NEXT: kernel.yield
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: graph.transpose
  // CHECK-NEXT: graph.layer_norm
  // CHECK-NEXT: kernel.yield
  // expected-remark@+1 {{'graph.layer_norm' would read its rows element by element}}
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<1x40x8xf32>) -> tensor<1x8x40xf32>
  // expected-remark@+1 {{its result is returned}}
  %1 = graph.layer_norm %0 {axis = 2, epsilon = 1.0e-5} : (tensor<1x8x40xf32>) -> tensor<1x8x40xf32>
  %2 = graph.transpose %y {permutation = array<i64: 1, 0, 2>} : (tensor<2x40x8xf32>) -> tensor<40x2x8xf32>
  // expected-remark@+1 {{its result is returned}}
  %3 = graph.layer_norm %2 {axis = 2, epsilon = 1.0e-5} : (tensor<40x2x8xf32>) -> tensor<40x2x8xf32>
  return %1, %3 : tensor<1x8x40xf32>, tensor<40x2x8xf32>
}

// -----

// Heads whose elements lie apart are brought together by kernels of their own,
// and the result goes apart in one: attention reads and writes rows. What lies
// nearer by and keeps them is read through.

// CHECK-LABEL: @heads_apart
func.func @heads_apart(%q: tensor<1x4x6x2xf32>, %kv: tensor<1x2x8x6xf32>) -> tensor<1x4x6x2xf32> {
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: graph.transpose
  // CHECK-NEXT: kernel.yield
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: graph.transpose
  // CHECK-NEXT: kernel.yield
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: graph.slice
  // CHECK-NEXT: graph.slice
  // CHECK-NEXT: graph.attention
  // CHECK-NEXT: kernel.yield
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: graph.transpose
  // CHECK-NEXT: kernel.yield
  // expected-remark@+1 {{does not read it element by element}}
  %0 = graph.transpose %q {permutation = array<i64: 0, 3, 2, 1>} : (tensor<1x4x6x2xf32>) -> tensor<1x2x6x4xf32>
  // expected-remark@+1 {{its result has several users}}
  %1 = graph.transpose %kv {permutation = array<i64: 0, 1, 3, 2>} : (tensor<1x2x8x6xf32>) -> tensor<1x2x6x8xf32>
  %2 = graph.slice %1 {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x2x6x8xf32>) -> tensor<1x2x6x4xf32>
  %3 = graph.slice %1 {starts = #graph.dims<0, 0, 0, 4>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<1x2x6x8xf32>) -> tensor<1x2x6x4xf32>
  // expected-remark@+1 {{does not read it element by element}}
  %4 = graph.attention %0, %2, %3 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x6x4xf32>, tensor<1x2x6x4xf32>, tensor<1x2x6x4xf32>) -> tensor<1x2x6x4xf32>
  // expected-remark@+1 {{its result is returned}}
  %5 = graph.transpose %4 {permutation = array<i64: 0, 3, 2, 1>} : (tensor<1x2x6x4xf32>) -> tensor<1x4x6x2xf32>
  return %5 : tensor<1x4x6x2xf32>
}

// -----

// A rotation and an append read rows where a merged projection left them.

// CHECK-LABEL: @rotation_and_append
func.func @rotation_and_append(%qk: tensor<1x6x16xf32>, %c: tensor<1x6x2xf32>, %p: tensor<1x2x3x4xf32>) -> (tensor<1x2x6x4xf32>, tensor<1x2x9x4xf32>) {
  // CHECK-NEXT: kernel.region(%arg0, %arg1)
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT:   graph.slice
  // CHECK-NEXT:   graph.reshape
  // CHECK-NEXT:   graph.transpose
  // CHECK-NEXT:   graph.rotary
  // CHECK-NEXT:   kernel.yield
  // CHECK:      kernel.region(%arg0, %arg2)
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT:   graph.slice
  // CHECK-NEXT:   graph.reshape
  // CHECK-NEXT:   graph.transpose
  // CHECK-NEXT:   graph.concat
  // CHECK-NEXT:   kernel.yield
  // CHECK-NOT:  kernel.region
  %0 = graph.slice %qk {starts = #graph.dims<0, 0, 0>, steps = #graph.dims<1, 1, 1>} : (tensor<1x6x16xf32>) -> tensor<1x6x8xf32>
  %1 = graph.reshape %0 : (tensor<1x6x8xf32>) -> tensor<1x6x2x4xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x6x2x4xf32>) -> tensor<1x2x6x4xf32>
  // expected-remark@+1 {{its result is returned}}
  %3 = graph.rotary %2, %c, %c {interleaved = false} : (tensor<1x2x6x4xf32>, tensor<1x6x2xf32>, tensor<1x6x2xf32>) -> tensor<1x2x6x4xf32>
  %4 = graph.slice %qk {starts = #graph.dims<0, 0, 8>, steps = #graph.dims<1, 1, 1>} : (tensor<1x6x16xf32>) -> tensor<1x6x8xf32>
  %5 = graph.reshape %4 : (tensor<1x6x8xf32>) -> tensor<1x6x2x4xf32>
  %6 = graph.transpose %5 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x6x2x4xf32>) -> tensor<1x2x6x4xf32>
  // expected-remark@+1 {{its result is returned}}
  %7 = graph.concat %p, %6 {axis = 2 : i64} : (tensor<1x2x3x4xf32>, tensor<1x2x6x4xf32>) -> tensor<1x2x9x4xf32>
  return %3, %7 : tensor<1x2x6x4xf32>, tensor<1x2x9x4xf32>
}

// -----

// Not through a view whose rows are columns of memory.

// CHECK-LABEL: @columns_appended
func.func @columns_appended(%p: tensor<2x3x4xf32>, %k: tensor<2x4x6xf32>) -> tensor<2x9x4xf32> {
  // CHECK-COUNT-2: kernel.region
  // expected-remark@+1 {{its user 'graph.concat' does not read it element by element}}
  %0 = graph.transpose %k {permutation = array<i64: 0, 2, 1>} : (tensor<2x4x6xf32>) -> tensor<2x6x4xf32>
  // expected-remark@+1 {{its result is returned}}
  %1 = graph.concat %p, %0 {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<2x6x4xf32>) -> tensor<2x9x4xf32>
  return %1 : tensor<2x9x4xf32>
}

// -----

// A product stores its tiles turned, and what is added to them there.

// CHECK-LABEL: @turned
func.func @turned(%x: tensor<2x4x8xf32>, %w: tensor<8x6xf32>, %b: tensor<6xf32>, %r: tensor<2x6x4xf32>) -> tensor<2x6x4xf32> {
  // CHECK-NEXT: kernel.region
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT:   graph.matmul
  // CHECK-NEXT:   graph.add
  // CHECK-NEXT:   graph.transpose
  // CHECK-NEXT:   graph.add
  // CHECK-NEXT:   kernel.yield
  %0 = graph.matmul %x, %w : (tensor<2x4x8xf32>, tensor<8x6xf32>) -> tensor<2x4x6xf32>
  %1 = graph.add %0, %b : (tensor<2x4x6xf32>, tensor<6xf32>) -> tensor<2x4x6xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 0, 2, 1>} : (tensor<2x4x6xf32>) -> tensor<2x6x4xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %3 = graph.add %2, %r : (tensor<2x6x4xf32>, tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  return %3 : tensor<2x6x4xf32>
}

// -----

// Both orders are needed.

// CHECK-LABEL: @both_orders
func.func @both_orders(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>) -> (tensor<4x6xf32>, tensor<6x4xf32>) {
  // CHECK-COUNT-2: kernel.region
  // expected-remark@+1 {{kernel ends here: its result has several users}}
  %0 = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  return %0, %1 : tensor<4x6xf32>, tensor<6x4xf32>
}

// -----

// The sums of a deep product wait in its result between blocks of k.

// CHECK-LABEL: @deep
func.func @deep(%x: tensor<4x897xf32>, %w: tensor<897x6xf32>) -> tensor<6x4xf32> {
  // CHECK-COUNT-2: kernel.region
  // expected-remark@+1 {{kernel ends here: its user 'graph.transpose' does not read it element by element}}
  %0 = graph.matmul %x, %w : (tensor<4x897xf32>, tensor<897x6xf32>) -> tensor<4x6xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  return %1 : tensor<6x4xf32>
}

// -----

// Of several batches, rows of one would follow those of the other.

// CHECK-LABEL: @batches_turned
func.func @batches_turned(%x: tensor<2x4x8xf32>, %w: tensor<8x6xf32>) -> tensor<6x2x4xf32> {
  // CHECK-COUNT-2: kernel.region
  // expected-remark@+1 {{kernel ends here: its user 'graph.transpose' does not read it element by element}}
  %0 = graph.matmul %x, %w : (tensor<2x4x8xf32>, tensor<8x6xf32>) -> tensor<2x4x6xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %1 = graph.transpose %0 {permutation = array<i64: 2, 0, 1>} : (tensor<2x4x6xf32>) -> tensor<6x2x4xf32>
  return %1 : tensor<6x2x4xf32>
}

// -----

// A second transpose is a kernel of its own.

// CHECK-LABEL: @turned_twice
func.func @turned_twice(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>, %r: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK: kernel.region
  // CHECK: graph.matmul
  // CHECK-NEXT: graph.transpose
  // CHECK-NEXT: graph.add
  // CHECK-NEXT: kernel.yield
  // CHECK: kernel.region
  // CHECK: graph.transpose
  %0 = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // expected-remark@+1 {{kernel ends here}}
  %2 = graph.add %1, %r : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %3 = graph.transpose %2 {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// -----

// No other root stores its result through a transpose.

// CHECK-LABEL: @no_writer
func.func @no_writer(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  // CHECK-COUNT-2: kernel.region
  // expected-remark@+1 {{kernel ends here: its user 'graph.transpose' does not read it element by element}}
  %0 = graph.softmax %x {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark@+1 {{its result is returned}}
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

// Overlapping windows of columns, each times a matrix of its own: the product
// reads them where they lie.

// CHECK-LABEL: @windows_in_place
func.func @windows_in_place(%x: tensor<7x5x2xf32>, %y: tensor<2x9xf32>) -> tensor<7x5x3xf32> {
  // CHECK: kernel.region(%arg1, %arg0)
  // CHECK: graph.windows
  // CHECK: graph.transpose
  // CHECK: graph.matmul
  // CHECK: kernel.yield
  // CHECK-NOT: kernel.region
  %0 = graph.windows %y {axis = 1 : i64, stride = 1 : i64, step = 1 : i64} : (tensor<2x9xf32>) -> tensor<2x7x3xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0, 2>} : (tensor<2x7x3xf32>) -> tensor<7x2x3xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %2 = graph.matmul %x, %1 : (tensor<7x5x2xf32>, tensor<7x2x3xf32>) -> tensor<7x5x3xf32>
  return %2 : tensor<7x5x3xf32>
}

// -----

// Rows that lie elsewhere, found through reshapes: one kernel adds them up.

// CHECK-LABEL: @rows_elsewhere
func.func @rows_elsewhere(%x: tensor<16x8xf32>, %y: tensor<4x4x8xf32>, %zero: tensor<f32>) -> tensor<16x8xf32> {
  // CHECK: kernel.region
  // CHECK: graph.transpose
  // CHECK: graph.pad
  // CHECK: graph.reshape
  // CHECK: graph.add
  // CHECK: kernel.yield
  // CHECK-NOT: kernel.region
  %0 = graph.transpose %y {permutation = array<i64: 1, 0, 2>} : (tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
  %1 = graph.pad %0, %zero {low = #graph.dims<0, -1, 0>, mode = #graph<pad_mode wrap>} : (tensor<4x4x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
  %2 = graph.reshape %1 : (tensor<4x4x8xf32>) -> tensor<16x8xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %3 = graph.add %x, %2 : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
  return %3 : tensor<16x8xf32>
}

// -----

// A norm reads its rows from there.

// CHECK-LABEL: @norm_of_rows_elsewhere
func.func @norm_of_rows_elsewhere(%x: tensor<4x4x8xf32>) -> tensor<16x8xf32> {
  // CHECK: kernel.region(%arg0)
  // CHECK: graph.transpose
  // CHECK: graph.reshape
  // CHECK: graph.layer_norm
  // CHECK: kernel.yield
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
  %1 = graph.reshape %0 : (tensor<4x4x8xf32>) -> tensor<16x8xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %2 = graph.layer_norm %1 {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return %2 : tensor<16x8xf32>
}

// -----

// Rows that are cut or joined on the way: each element would be looked up.

// CHECK-LABEL: @rows_cut
func.func @rows_cut(%x: tensor<4x4x8xf32>) -> tensor<4x32xf32> {
  // CHECK: kernel.region(%arg0)
  // CHECK: kernel.yield
  // CHECK: graph.reshape
  // CHECK: kernel.region
  // expected-remark@+1 {{kernel ends here: its user 'graph.reshape' only renames the memory}}
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
  %1 = graph.reshape %0 : (tensor<4x4x8xf32>) -> tensor<4x32xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %2 = graph.layer_norm %1 {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<4x32xf32>) -> tensor<4x32xf32>
  return %2 : tensor<4x32xf32>
}

// -----

// Rows that something else reads too are put there once.

// CHECK-LABEL: @rows_used_twice
func.func @rows_used_twice(%x: tensor<4x4x8xf32>) -> (tensor<16x8xf32>, tensor<16x8xf32>) {
  // CHECK: kernel.region(%arg0)
  // CHECK: graph.transpose
  // CHECK: kernel.yield
  // CHECK: kernel.region
  // expected-remark@+1 {{kernel ends here: its user 'graph.reshape' only renames the memory}}
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
  %1 = graph.reshape %0 : (tensor<4x4x8xf32>) -> tensor<16x8xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %2 = graph.layer_norm %1 {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return %2, %1 : tensor<16x8xf32>, tensor<16x8xf32>
}

// -----

// The tiles of a product do not follow rows.

// CHECK-LABEL: @rows_behind_product
func.func @rows_behind_product(%x: tensor<16x8xf32>, %w: tensor<8x8xf32>, %y: tensor<4x4x8xf32>) -> tensor<16x8xf32> {
  // CHECK: kernel.region(%arg2)
  // CHECK: graph.transpose
  // CHECK: kernel.yield
  // CHECK: kernel.region
  // CHECK: graph.matmul
  // CHECK-NEXT: graph.add
  // expected-remark@+1 {{kernel ends here: its user 'graph.reshape' only renames the memory}}
  %0 = graph.transpose %y {permutation = array<i64: 1, 0, 2>} : (tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
  %1 = graph.reshape %0 : (tensor<4x4x8xf32>) -> tensor<16x8xf32>
  %2 = graph.matmul %x, %w : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %3 = graph.add %1, %2 : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
  return %3 : tensor<16x8xf32>
}

// -----

// A transpose that is an output is written once, and read in place all the
// same.

// CHECK-LABEL: @transpose_is_output
func.func @transpose_is_output(%x: tensor<3x4xf32>, %y: tensor<5x4xf32>) -> (tensor<3x5xf32>, tensor<4x5xf32>) {
  // CHECK: kernel.region(%arg1)
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: graph.transpose
  // CHECK-NEXT: kernel.yield
  // CHECK: kernel.region(%arg1, %arg0)
  // CHECK: graph.transpose
  // CHECK: graph.matmul
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %0 = graph.transpose %y {permutation = array<i64: 1, 0>} : (tensor<5x4xf32>) -> tensor<4x5xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %1 = graph.matmul %x, %0 : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return %1, %0 : tensor<3x5xf32>, tensor<4x5xf32>
}

// -----

// Heads cut out of a merged projection: pieces of rows follow each other, too.

// CHECK-LABEL: @pieces_of_rows
func.func @pieces_of_rows(%x: tensor<4x96xf32>) -> tensor<4x4x8xf32> {
  // CHECK: kernel.region(%arg0)
  // CHECK: graph.slice
  // CHECK-NEXT: graph.reshape
  // CHECK-NEXT: graph.transpose
  // CHECK-NEXT: kernel.yield
  %0 = graph.slice %x {starts = #graph.dims<0, 32>, steps = #graph.dims<1, 1>} : (tensor<4x96xf32>) -> tensor<4x32xf32>
  %1 = graph.reshape %0 : (tensor<4x32xf32>) -> tensor<4x4x8xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %2 = graph.transpose %1 {permutation = array<i64: 1, 0, 2>} : (tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
  return %2 : tensor<4x4x8xf32>
}

// -----

// Pieces of two elements are not worth it.

// CHECK-LABEL: @short_pieces
func.func @short_pieces(%x: tensor<4x96xf32>) -> tensor<16x4x2xf32> {
  // CHECK-COUNT-2: kernel.region
  // expected-remark@+1 {{kernel ends here: its user 'graph.reshape' only renames the memory}}
  %0 = graph.slice %x {starts = #graph.dims<0, 32>, steps = #graph.dims<1, 1>} : (tensor<4x96xf32>) -> tensor<4x32xf32>
  %1 = graph.reshape %0 : (tensor<4x32xf32>) -> tensor<4x16x2xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %2 = graph.transpose %1 {permutation = array<i64: 1, 0, 2>} : (tensor<4x16x2xf32>) -> tensor<16x4x2xf32>
  return %2 : tensor<16x4x2xf32>
}

// -----

// No schedule of attention does anything else with what it computes.

// CHECK-LABEL: @gate_behind_attention
func.func @gate_behind_attention(%q: tensor<1x2x6x4xf32>, %gate: tensor<1x2x6x4xf32>) -> tensor<1x2x6x4xf32> {
  // CHECK:      kernel.region
  // CHECK:      graph.attention
  // CHECK-NEXT: kernel.yield
  // CHECK:      kernel.region
  // CHECK:      graph.mul
  // CHECK-NOT:  kernel.region
  // expected-remark@+1 {{kernel ends here: 'graph.attention' is followed by nothing but views}}
  %0 = graph.attention %q, %q, %q {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x6x4xf32>, tensor<1x2x6x4xf32>, tensor<1x2x6x4xf32>) -> tensor<1x2x6x4xf32>
  // expected-remark@+1 {{its result is returned}}
  %1 = graph.mul %0, %gate : (tensor<1x2x6x4xf32>, tensor<1x2x6x4xf32>) -> tensor<1x2x6x4xf32>
  return %1 : tensor<1x2x6x4xf32>
}

// -----

// What is rounded for one reader and read as it was by another is stored twice
// by the kernel that makes it.

// CHECK-LABEL: @rounded_and_not
func.func @rounded_and_not(%x: tensor<4x64xf32>, %n: tensor<4xi64>) -> (tensor<4x64xf32>, tensor<4x64xbf16>) {
  // CHECK:      %[[TWO:.*]]:2 = kernel.region(%arg0)
  // CHECK:      %[[N:.*]] = graph.layer_norm
  // CHECK-NEXT: %[[R:.*]] = graph.cast %[[N]]
  // CHECK-NEXT: kernel.yield %[[N]], %[[R]]
  // CHECK:      %[[G:.*]] = kernel.region(%[[TWO]]#1,
  // CHECK:      %[[A:.*]] = kernel.region(%[[TWO]]#0,
  // CHECK:      return %[[A]], %[[G]]
  %0 = graph.layer_norm %x {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  // expected-remark@+1 {{kernel ends here: its user 'graph.gather' does not read it element by element}}
  %1 = graph.cast %0 : (tensor<4x64xf32>) -> tensor<4x64xbf16>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %2 = graph.gather %1, %n {axis = 0 : i64} : (tensor<4x64xbf16>, tensor<4xi64>) -> tensor<4x64xbf16>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %3 = graph.add %0, %x : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  return %3, %2 : tensor<4x64xf32>, tensor<4x64xbf16>
}

// -----

// So are the bytes of a product whose lhs was calibrated.

// CHECK-LABEL: @quantized_and_not
func.func @quantized_and_not(%x: tensor<4x64xf32>) -> (tensor<4x64xf32>, tensor<4x64xi32>) {
  %w = graph.weight {name = "w"} : () -> tensor<64x64xi8>
  // CHECK:      %[[TWO:.*]]:2 = kernel.region(%arg0, %{{.*}}, %{{.*}}) : {{.*}} -> (tensor<4x64xf32>, tensor<4x64xui8>)
  // CHECK:      %[[N:.*]] = graph.layer_norm
  // CHECK-NEXT: %[[S:.*]] = graph.mul %[[N]]
  // CHECK-NEXT: %[[Q:.*]] = graph.quantize %[[S]]
  // CHECK-NEXT: kernel.yield %[[N]], %[[Q]]
  // CHECK:      kernel.region(%[[TWO]]#1,
  // CHECK:      kernel.region(%[[TWO]]#0,
  %0 = graph.layer_norm %x {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %f = graph.weight {name = "f"} : () -> tensor<64xf32>
  %z = graph.weight {name = "z"} : () -> tensor<ui8>
  %1 = graph.mul %0, %f : (tensor<4x64xf32>, tensor<64xf32>) -> tensor<4x64xf32>
  %one = graph.constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  // expected-remark@+1 {{kernel ends here: its user 'graph.cast' does not read it element by element}}
  %2 = graph.quantize %1, %one, %z : (tensor<4x64xf32>, tensor<f32>, tensor<ui8>) -> tensor<4x64xui8>
  %3 = graph.cast %2 : (tensor<4x64xui8>) -> tensor<4x64xi32>
  %4 = graph.cast %w : (tensor<64x64xi8>) -> tensor<64x64xi32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %5 = graph.matmul %3, %4 : (tensor<4x64xi32>, tensor<64x64xi32>) -> tensor<4x64xi32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %6 = graph.add %0, %x : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  return %6, %5 : tensor<4x64xf32>, tensor<4x64xi32>
}

// -----

// Behind another root a kernel has one result.

// CHECK-LABEL: @product_and_rounded
func.func @product_and_rounded(%x: tensor<4x64xf32>, %w: tensor<64x64xf32>) -> (tensor<4x64xf32>, tensor<4x64xbf16>) {
  // CHECK-COUNT-2: kernel.region
  // expected-remark@+1 {{kernel ends here: its result has several users}}
  %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %1 = graph.cast %0 : (tensor<4x64xf32>) -> tensor<4x64xbf16>
  return %0, %1 : tensor<4x64xf32>, tensor<4x64xbf16>
}

// -----

// What is added to scores is copied first where its keys do not follow each
// other: every layer would gather it anew. A view in which they do is read.

// CHECK-LABEL: @biases
func.func @biases(%q: tensor<1x2x6x4xf32>, %table: tensor<6x6x2xf32>, %heads: tensor<1x6x2x6xf32>) -> tensor<1x2x6x4xf32> {
  // CHECK:      kernel.region
  // CHECK:      graph.transpose {{.*}}i64: 2, 0, 1>
  // CHECK-NOT:  graph.attention
  // CHECK:      kernel.region
  // CHECK-NOT:  i64: 2, 0, 1>
  // CHECK:      graph.transpose {{.*}}i64: 0, 2, 1, 3>
  // CHECK:      graph.attention
  // expected-remark@+1 {{its user 'graph.reshape' only renames the memory}}
  %0 = graph.transpose %table {permutation = array<i64: 2, 0, 1>} : (tensor<6x6x2xf32>) -> tensor<2x6x6xf32>
  %1 = graph.reshape %0 : (tensor<2x6x6xf32>) -> tensor<1x2x6x6xf32>
  %2 = graph.transpose %heads {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x6x2x6xf32>) -> tensor<1x2x6x6xf32>
  // expected-remark@+1 {{its result is returned}}
  %3 = graph.attention %q, %q, %q, %1, %2 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 2>, scale = 0.5 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x2x6x4xf32>, tensor<1x2x6x4xf32>, tensor<1x2x6x4xf32>, tensor<1x2x6x6xf32>, tensor<1x2x6x6xf32>) -> tensor<1x2x6x4xf32>
  return %3 : tensor<1x2x6x4xf32>
}

// -----

// A product takes in what dequantizes its weight; one whose numbers another op
// reads as well does not.
// CHECK-LABEL: @quantized_weight
func.func @quantized_weight(%x: tensor<4x64xf32>)
    -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<2x32x16xf32>) {
  %q = graph.weight {name = "q"} : () -> tensor<64x16xi8>
  %s = graph.weight {name = "s"} : () -> tensor<2x16xf32>
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  // CHECK:      kernel.region(%{{.*}}, %{{.*}}, %arg0)
  // CHECK:        graph.dequantize
  // CHECK-NEXT:   graph.reshape
  // CHECK-NEXT:   graph.matmul
  %q3 = graph.reshape %q : (tensor<64x16xi8>) -> tensor<2x32x16xi8>
  %s3 = graph.reshape %s : (tensor<2x16xf32>) -> tensor<2x1x16xf32>
  %d = graph.dequantize %q3, %s3, %z
      : (tensor<2x32x16xi8>, tensor<2x1x16xf32>, tensor<i8>) -> tensor<2x32x16xf32>
  %b = graph.reshape %d : (tensor<2x32x16xf32>) -> tensor<64x16xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %c = graph.matmul %x, %b : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  // CHECK:      kernel.region
  // CHECK:        graph.dequantize
  // CHECK-NEXT:   kernel.yield
  %q4 = graph.reshape %q : (tensor<64x16xi8>) -> tensor<2x32x16xi8>
  %s4 = graph.reshape %s : (tensor<2x16xf32>) -> tensor<2x1x16xf32>
  // expected-remark@+1 {{kernel ends here: its result has several users}}
  %d1 = graph.dequantize %q4, %s4, %z
      : (tensor<2x32x16xi8>, tensor<2x1x16xf32>, tensor<i8>) -> tensor<2x32x16xf32>
  %b1 = graph.reshape %d1 : (tensor<2x32x16xf32>) -> tensor<64x16xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %c1 = graph.matmul %x, %b1 : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  return %c, %c1, %d1 : tensor<4x16xf32>, tensor<4x16xf32>, tensor<2x32x16xf32>
}

// -----

// So does a cell of its recurrence, for each that reads it; bytes that are no
// weight it does not.
// CHECK-LABEL: @quantized_cell
func.func @quantized_cell(%x: tensor<7x2x16xf32>, %given: tensor<1x16x16xi8>)
    -> (tensor<7x1x2x16xf32>, tensor<7x1x2x16xf32>, tensor<7x1x2x16xf32>) {
  %q = graph.weight {name = "q"} : () -> tensor<1x16x16xi8>
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %d = graph.dequantize %q, %s, %z : (tensor<1x16x16xi8>, tensor<f32>, tensor<i8>) -> tensor<1x16x16xf32>
  // CHECK:      kernel.region
  // CHECK:        graph.dequantize
  // CHECK-NEXT:   graph.recurrent
  // CHECK:      kernel.region
  // CHECK:        graph.dequantize
  // CHECK-NEXT:   graph.recurrent
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %0:3 = graph.recurrent %x, %d {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind rnn>, direction = "forward", activations = ["Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x16xf32>, tensor<1x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %1:3 = graph.recurrent %x, %d {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind rnn>, direction = "forward", activations = ["Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x16xf32>, tensor<1x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  // CHECK:      kernel.region
  // CHECK:        graph.dequantize
  // CHECK-NEXT:   kernel.yield
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb
  // CHECK-NEXT:   graph.recurrent
  // expected-remark@+1 {{kernel ends here: its user 'graph.recurrent' does not read it element by element}}
  %e = graph.dequantize %given, %s, %z : (tensor<1x16x16xi8>, tensor<f32>, tensor<i8>) -> tensor<1x16x16xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %2:3 = graph.recurrent %x, %e {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind rnn>, direction = "forward", activations = ["Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x16xf32>, tensor<1x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  return %0#0, %1#0, %2#0 : tensor<7x1x2x16xf32>, tensor<7x1x2x16xf32>, tensor<7x1x2x16xf32>
}

// -----

// Nothing follows in a kernel what it appends to memory, but what reads a slice
// of that takes the slice in.
// CHECK-LABEL: @appended
func.func @appended(%x: tensor<7x8xf32>, %y: tensor<7x4xf32>) -> (tensor<7x12xf32>, tensor<7x9xf32>) {
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb
  // CHECK-NEXT:   graph.append
  // CHECK-NEXT:   kernel.yield
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb
  // CHECK-NEXT:   graph.exp
  // CHECK-NEXT:   kernel.yield
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb
  // CHECK-NEXT:   graph.append
  // CHECK-NEXT:   kernel.yield
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb
  // CHECK-NEXT:   graph.slice
  // CHECK-NEXT:   graph.neg
  // expected-remark@+1 {{kernel ends here: it appends to what lies in memory}}
  %0 = graph.append %x, %y {axis = 1 : i64, length = #graph.dims<8>} : (tensor<7x8xf32>, tensor<7x4xf32>) -> tensor<7x12xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %1 = graph.exp %0 : (tensor<7x12xf32>) -> tensor<7x12xf32>
  // expected-remark@+1 {{kernel ends here: its user 'graph.slice' does not read it element by element}}
  %2 = graph.append %x, %y {axis = 1 : i64, length = #graph.dims<8>} : (tensor<7x8xf32>, tensor<7x4xf32>) -> tensor<7x12xf32>
  %3 = graph.slice %2 {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<7x12xf32>) -> tensor<7x9xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %4 = graph.neg %3 : (tensor<7x9xf32>) -> tensor<7x9xf32>
  return %1, %4 : tensor<7x12xf32>, tensor<7x9xf32>
}

// -----

// A cell that rounds its state reads a recurrence of bf16; for others that is
// widened.
// CHECK-LABEL: @rounded_cell
func.func @rounded_cell(%x: tensor<7x2x16xf32>)
    -> (tensor<7x1x2x16xf32>, tensor<7x1x2x16xf32>) {
  %r = graph.weight {name = "r"} : () -> tensor<1x16x16xbf16>
  // CHECK:      kernel.region
  // CHECK:        graph.cast
  // CHECK-NEXT:   kernel.yield
  // CHECK:      kernel.region
  // CHECK:        graph.cast
  // CHECK-NEXT:   graph.recurrent
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb
  // CHECK-NEXT:   graph.recurrent
  // expected-remark@+1 {{kernel ends here: its user 'graph.recurrent' does not read it element by element}}
  %w = graph.cast %r : (tensor<1x16x16xbf16>) -> tensor<1x16x16xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %0:3 = graph.recurrent %x, %w {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind rnn>, direction = "forward", activations = ["Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false, rounds_state} : (tensor<7x2x16xf32>, tensor<1x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %1:3 = graph.recurrent %x, %w {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>, cell = #graph<cell_kind rnn>, direction = "forward", activations = ["Tanh"], alpha = array<f64>, beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false, input_forget = false} : (tensor<7x2x16xf32>, tensor<1x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
  return %0#0, %1#0 : tensor<7x1x2x16xf32>, tensor<7x1x2x16xf32>
}

// -----

// What a kernel stores rounded, its reader's kernel widens; where no kernel has
// a root, one kernel does both.
// CHECK-LABEL: @rounded_between
// CHECK:      kernel.region{{.*}} -> tensor<4x64xbf16>
// CHECK:      kernel.region{{.*}} -> tensor<4x64xf32>
// CHECK:        graph.matmul
// CHECK:        graph.cast %{{.*}} : (tensor<4x64xbf16>) -> tensor<4x64xf32>
// CHECK:        graph.add
// CHECK:      kernel.region{{.*}} -> tensor<4x64xf32>
// CHECK:        graph.exp
// CHECK:        graph.cast %{{.*}} -> tensor<4x64xbf16>
// CHECK:        graph.neg
func.func @rounded_between(%x: tensor<4x64xf32>, %v: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> (tensor<4x64xf32>, tensor<4x64xf32>) {
  %0 = graph.matmul %x, %v : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  %1 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  // expected-remark@+1 {{kernel ends here: it stores 16 bits, which its user widens}}
  %2 = graph.cast %1 : (tensor<4x64xf32>) -> tensor<4x64xbf16>
  %3 = graph.cast %2 : (tensor<4x64xbf16>) -> tensor<4x64xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %4 = graph.add %0, %3 : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %5 = graph.exp %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %6 = graph.cast %5 : (tensor<4x64xf32>) -> tensor<4x64xbf16>
  %7 = graph.cast %6 : (tensor<4x64xbf16>) -> tensor<4x64xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %8 = graph.neg %7 : (tensor<4x64xf32>) -> tensor<4x64xf32>
  return %4, %8 : tensor<4x64xf32>, tensor<4x64xf32>
}

// -----

// A convolution takes in what widens its pairs of bf16, and the rounding behind
// it.

// CHECK-LABEL: @convolution_of_pairs
// CHECK:      kernel.region(%arg0, %{{.*}}) : (tensor<1x9x9x8xbf16>, tensor<16x8x3x3xbf16>) -> tensor<1x7x7x16xbf16>
// CHECK:        graph.conv
// CHECK-NEXT:   graph.cast
// CHECK-NEXT:   kernel.yield
func.func @convolution_of_pairs(%x: tensor<1x9x9x8xbf16>) -> tensor<1x7x7x16xbf16> {
  %w = graph.weight {name = "w"} : () -> tensor<16x8x3x3xbf16>
  %0 = graph.cast %x : (tensor<1x9x9x8xbf16>) -> tensor<1x9x9x8xf32>
  %1 = graph.cast %w : (tensor<16x8x3x3xbf16>) -> tensor<16x8x3x3xf32>
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last} : (tensor<1x9x9x8xf32>, tensor<16x8x3x3xf32>) -> tensor<1x7x7x16xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %3 = graph.cast %2 : (tensor<1x7x7x16xf32>) -> tensor<1x7x7x16xbf16>
  return %3 : tensor<1x7x7x16xbf16>
}

// -----

// Planes that become pixels of a few channels are padded and rounded by the
// kernel that turns them; others are padded by one of its own.

// CHECK-LABEL: @turned_channels
// CHECK:      kernel.region(%arg0) : (tensor<1x3x8x9xf32>) -> tensor<1x8x9x4xbf16>
// CHECK:        graph.transpose
// CHECK-NEXT:   graph.pad
// CHECK-NEXT:   graph.cast
// CHECK-NEXT:   kernel.yield
// CHECK:      kernel.region(%arg1) : (tensor<1x8x9x3xf32>) -> tensor<1x8x9x4xf32>
// CHECK:        graph.pad
// CHECK-NEXT:   kernel.yield
// CHECK:        graph.cast
func.func @turned_channels(%x: tensor<1x3x8x9xf32>, %y: tensor<1x8x9x3xf32>) -> (tensor<1x8x9x4xbf16>, tensor<1x8x9x4xbf16>) {
  %z = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x3x8x9xf32>) -> tensor<1x8x9x3xf32>
  %1 = graph.pad %0, %z {low = #graph.dims<0, 0, 0, 0>, mode = #graph<pad_mode constant>} : (tensor<1x8x9x3xf32>, tensor<f32>) -> tensor<1x8x9x4xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %2 = graph.cast %1 : (tensor<1x8x9x4xf32>) -> tensor<1x8x9x4xbf16>
  // expected-remark@+1 {{kernel ends here: its elements are found by a search}}
  %3 = graph.pad %y, %z {low = #graph.dims<0, 0, 0, 0>, mode = #graph<pad_mode constant>} : (tensor<1x8x9x3xf32>, tensor<f32>) -> tensor<1x8x9x4xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %4 = graph.cast %3 : (tensor<1x8x9x4xf32>) -> tensor<1x8x9x4xbf16>
  return %2, %4 : tensor<1x8x9x4xbf16>, tensor<1x8x9x4xbf16>
}

// -----

// Sizes of the run are written behind what binds them, wherever folding has
// left them.

// CHECK-LABEL: @late_sizes
func.func @late_sizes(%n: tensor<1xi64>) -> (tensor<2xi64>, tensor<1xi64>) {
  // CHECK-NEXT: graph.bind
  // CHECK-NEXT: %[[NEXT:.*]] = kernel.region
  // CHECK-NEXT:   %{{.*}} = graph.sizes {{.*}}#graph.dims<2 * n>
  // CHECK:      graph.bind %[[NEXT]]
  // CHECK-NEXT: %[[SIZES:.*]] = kernel.region
  // CHECK-NEXT:   %{{.*}} = graph.sizes {{.*}}#graph.dims<2, n>
  // CHECK:      return %[[SIZES]], %[[NEXT]]
  %0 = graph.sizes {value = #graph.dims<2, n>} : () -> tensor<2xi64>
  %1 = graph.sizes {value = #graph.dims<n * 2>} : () -> tensor<1xi64>
  graph.bind %n {symbols = ["n"], lo = array<i64: 0>, hi = array<i64: 9>} : (tensor<1xi64>) -> ()
  graph.bind %1 {symbols = ["m"], lo = array<i64: 0>, hi = array<i64: 99>} : (tensor<1xi64>) -> ()
  return %0, %1 : tensor<2xi64>, tensor<1xi64>
}

// -----

// What chooses the matrices of a product for its batches joins it, though
// another product reads them, too.

// CHECK-LABEL: @picked
func.func @picked(%x: tensor<3x1x8xf32>, %z: tensor<3x2x8xf32>, %w: tensor<5x8x16xf32>, %i: tensor<3xi64>) -> (tensor<3x1x16xf32>, tensor<3x2x16xf32>) {
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT:   graph.gather
  // CHECK-NEXT:   graph.matmul
  // CHECK-NEXT:   graph.abs
  // CHECK-NEXT:   kernel.yield
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT:   graph.gather
  // CHECK-NEXT:   graph.matmul
  // CHECK-NEXT:   kernel.yield
  // CHECK-NOT:  kernel.region
  %0 = graph.gather %w, %i {axis = 0 : i64} : (tensor<5x8x16xf32>, tensor<3xi64>) -> tensor<3x8x16xf32>
  %1 = graph.matmul %x, %0 : (tensor<3x1x8xf32>, tensor<3x8x16xf32>) -> tensor<3x1x16xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %2 = graph.abs %1 : (tensor<3x1x16xf32>) -> tensor<3x1x16xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %3 = graph.matmul %z, %0 : (tensor<3x2x8xf32>, tensor<3x8x16xf32>) -> tensor<3x2x16xf32>
  return %2, %3 : tensor<3x1x16xf32>, tensor<3x2x16xf32>
}

// -----

// Rows that are picked of one matrix do not, nor one matrix for all.

// CHECK-LABEL: @not_picked
func.func @not_picked(%x: tensor<1x8xf32>, %w: tensor<9x16xf32>, %i: tensor<8xi64>, %v: tensor<5x8x16xf32>, %j: tensor<1xi64>, %z: tensor<3x1x8xf32>) -> (tensor<1x16xf32>, tensor<3x1x16xf32>) {
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT:   graph.gather
  // CHECK-NEXT:   kernel.yield
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT:   graph.matmul
  // CHECK-NEXT:   kernel.yield
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT:   graph.gather
  // CHECK-NEXT:   kernel.yield
  // CHECK:      kernel.region
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT:   graph.matmul
  // CHECK-NEXT:   kernel.yield
  // expected-remark@+1 {{kernel ends here: its user 'graph.matmul' does not read it element by element}}
  %0 = graph.gather %w, %i {axis = 0 : i64} : (tensor<9x16xf32>, tensor<8xi64>) -> tensor<8x16xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %1 = graph.matmul %x, %0 : (tensor<1x8xf32>, tensor<8x16xf32>) -> tensor<1x16xf32>
  // One for all batches.
  // expected-remark@+1 {{kernel ends here: its user 'graph.matmul' does not read it element by element}}
  %2 = graph.gather %v, %j {axis = 0 : i64} : (tensor<5x8x16xf32>, tensor<1xi64>) -> tensor<1x8x16xf32>
  // expected-remark@+1 {{kernel ends here: its result is returned}}
  %3 = graph.matmul %z, %2 : (tensor<3x1x8xf32>, tensor<1x8x16xf32>) -> tensor<3x1x16xf32>
  return %1, %3 : tensor<1x16xf32>, tensor<3x1x16xf32>
}
