// RUN: tenon-opt %s --recognise-attention=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// Masks that look like another, and what is known of them.

// NaN is no fill: where it is added, all of the row is NaN.

// CHECK-LABEL: @fill_is_nan
func.func @fill_is_nan(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %m: tensor<2x1x1x7xi1>) -> tensor<2x4x7x16xf32> {
  // CHECK: graph.attention {{.*}} operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>
  %fill = graph.constant {value = dense<0x7FC00000> : tensor<f32>} : () -> tensor<f32>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %mask = graph.select %m, %zero, %fill : (tensor<2x1x1x7xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x1x7xf32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %s, %mask : (tensor<2x4x7x7xf32>, tensor<2x1x1x7xf32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// One mask added twice is -inf where it was the lowest number.

// CHECK-LABEL: @mask_twice
func.func @mask_twice(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %m: tensor<2x1x1x7xi1>) -> tensor<2x4x7x16xf32> {
  // CHECK: graph.attention {{.*}} operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 2>
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %mask = graph.select %m, %zero, %fill : (tensor<2x1x1x7xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x1x7xf32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %b = graph.add %s, %mask : (tensor<2x4x7x7xf32>, tensor<2x1x1x7xf32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %b, %mask : (tensor<2x4x7x7xf32>, tensor<2x1x1x7xf32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// Positions of queries that an input gives are no offset, even where there are
// as many as queries.

// CHECK-LABEL: @positions_from_input
func.func @positions_from_input(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %at: tensor<2x7xi64>) -> tensor<2x4x7x16xf32> {
  // CHECK: graph.attention {{.*}} {causal = false{{.*}} operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %j = graph.iota : () -> tensor<7xi64>
  %i = graph.reshape %at : (tensor<2x7xi64>) -> tensor<2x1x7x1xi64>
  %before = graph.less_equal %j, %i : (tensor<7xi64>, tensor<2x1x7x1xi64>) -> tensor<2x1x7x7xi1>
  %mask = graph.select %before, %zero, %fill : (tensor<2x1x7x7xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x7x7xf32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %s, %mask : (tensor<2x4x7x7xf32>, tensor<2x1x7x7xf32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// Nor is a past that an input counts: it is a number of the run, not a size.

// CHECK-LABEL: @past_from_input
func.func @past_from_input(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %past: tensor<i64>) -> tensor<2x4x7x16xf32> {
  // CHECK: graph.attention {{.*}} {causal = false{{.*}} operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %j = graph.iota : () -> tensor<7xi64>
  %k0 = graph.add %j, %past : (tensor<7xi64>, tensor<i64>) -> tensor<7xi64>
  %i = graph.reshape %k0 : (tensor<7xi64>) -> tensor<7x1xi64>
  %before = graph.less_equal %j, %i : (tensor<7xi64>, tensor<7x1xi64>) -> tensor<7x7xi1>
  %mask = graph.select %before, %zero, %fill : (tensor<7x7xi1>, tensor<f32>, tensor<f32>) -> tensor<7x7xf32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %s, %mask : (tensor<2x4x7x7xf32>, tensor<7x7xf32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// A mask picked per batch: the index vectors have no batch in them.

// CHECK-LABEL: @mask_per_batch
func.func @mask_per_batch(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %m: tensor<2x9xi1>) -> tensor<2x4x7x16xf32> {
  // CHECK:      %[[S:.*]] = graph.slice %arg3 {{.*}} -> tensor<2x7xi1>
  // CHECK-NEXT: %[[KEYS:.*]] = graph.reshape %[[S]]
  // CHECK:      graph.attention %arg0, %{{.*}}, %arg2, %[[KEYS]] {{.*}} operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %j = graph.iota : () -> tensor<7xi64>
  %j3 = graph.reshape %j : (tensor<7xi64>) -> tensor<1x7x1xi64>
  %at = graph.broadcast %j3 : (tensor<1x7x1xi64>) -> tensor<2x7x1xi64>
  %got = graph.gather_nd %m, %at {batch_dims = 1 : i64} : (tensor<2x9xi1>, tensor<2x7x1xi64>) -> tensor<2x7xi1>
  %m4 = graph.reshape %got : (tensor<2x7xi1>) -> tensor<2x1x1x7xi1>
  %mask = graph.select %m4, %zero, %fill : (tensor<2x1x1x7xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x1x7xf32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %s, %mask : (tensor<2x4x7x7xf32>, tensor<2x1x1x7xf32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// Keys in reverse are none of the op's.

// CHECK-LABEL: @mask_per_batch_in_reverse
func.func @mask_per_batch_in_reverse(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %m: tensor<2x9xi1>) -> tensor<2x4x7x16xf32> {
  // CHECK: graph.attention {{.*}} operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %j = graph.iota : () -> tensor<7xi64>
  %last = graph.constant {value = dense<6> : tensor<i64>} : () -> tensor<i64>
  %back = graph.sub %last, %j : (tensor<i64>, tensor<7xi64>) -> tensor<7xi64>
  %j3 = graph.reshape %back : (tensor<7xi64>) -> tensor<1x7x1xi64>
  %at = graph.broadcast %j3 : (tensor<1x7x1xi64>) -> tensor<2x7x1xi64>
  %got = graph.gather_nd %m, %at {batch_dims = 1 : i64} : (tensor<2x9xi1>, tensor<2x7x1xi64>) -> tensor<2x7xi1>
  %m4 = graph.reshape %got : (tensor<2x7xi1>) -> tensor<2x1x1x7xi1>
  %mask = graph.select %m4, %zero, %fill : (tensor<2x1x1x7xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x1x7xf32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %s, %mask : (tensor<2x4x7x7xf32>, tensor<2x1x1x7xf32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// A mask of fewer keys than there are: its flat index would go on in the next
// row. The run has to refuse it, whatever else stands in the mask.

// CHECK-LABEL: @mask_too_narrow
func.func @mask_too_narrow(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %m: tensor<2x5xi1>) -> tensor<2x4x7x16xf32> {
  // CHECK: graph.require {{.*}} less_equal>, sizes = #graph.dims<7, 5>
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %j = graph.iota : () -> tensor<7xi64>
  %j3 = graph.reshape %j : (tensor<7xi64>) -> tensor<1x7x1xi64>
  %at = graph.broadcast %j3 : (tensor<1x7x1xi64>) -> tensor<2x7x1xi64>
  %got = graph.gather_nd %m, %at {batch_dims = 1 : i64} : (tensor<2x5xi1>, tensor<2x7x1xi64>) -> tensor<2x7xi1>
  %m4 = graph.reshape %got : (tensor<2x7xi1>) -> tensor<2x1x1x7xi1>
  %mask = graph.select %m4, %zero, %fill : (tensor<2x1x1x7xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x1x7xf32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %s, %mask : (tensor<2x4x7x7xf32>, tensor<2x1x1x7xf32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// Positions that stand in a flat table, W for each batch, are j only where W is
// as many as there are keys: that is required, without any mask of keys.

// CHECK-LABEL: @positions_in_a_table
func.func @positions_in_a_table(%q: tensor<?x4x?x16xf32, #graph.dims<B, 4, T, 16>>, %k: tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, T>>, %v: tensor<?x4x?x16xf32, #graph.dims<B, 4, T, 16>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, T, 16>> {
  // CHECK: graph.require {{.*}} sizes = #graph.dims<T, W>
  // CHECK: graph.attention {{.*}} {causal = true{{.*}} operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %w0 = graph.iota : () -> tensor<?xi64, #graph.dims<W>>
  %w1 = graph.reshape %w0 : (tensor<?xi64, #graph.dims<W>>) -> tensor<1x?xi64, #graph.dims<1, W>>
  %w2 = graph.broadcast %w1 : (tensor<1x?xi64, #graph.dims<1, W>>) -> tensor<?x?xi64, #graph.dims<B, W>>
  %table = graph.reshape %w2 : (tensor<?x?xi64, #graph.dims<B, W>>) -> tensor<?xi64, #graph.dims<B * W>>
  %width = graph.sizes {value = #graph.dims<W>} : () -> tensor<i64>
  %b0 = graph.iota : () -> tensor<?xi64, #graph.dims<B>>
  %b1 = graph.reshape %b0 : (tensor<?xi64, #graph.dims<B>>) -> tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>
  %b2 = graph.mul %b1, %width : (tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>, tensor<i64>) -> tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>
  %j = graph.iota : () -> tensor<?xi64, #graph.dims<T>>
  %at = graph.add %j, %b2 : (tensor<?xi64, #graph.dims<T>>, tensor<?x1x1x1xi64, #graph.dims<B, 1, 1, 1>>) -> tensor<?x1x1x?xi64, #graph.dims<B, 1, 1, T>>
  %jj = graph.gather %table, %at {axis = 0 : i64} : (tensor<?xi64, #graph.dims<B * W>>, tensor<?x1x1x?xi64, #graph.dims<B, 1, 1, T>>) -> tensor<?x1x1x?xi64, #graph.dims<B, 1, 1, T>>
  %i = graph.reshape %j : (tensor<?xi64, #graph.dims<T>>) -> tensor<?x1xi64, #graph.dims<T, 1>>
  %before = graph.less_equal %jj, %i : (tensor<?x1x1x?xi64, #graph.dims<B, 1, 1, T>>, tensor<?x1xi64, #graph.dims<T, 1>>) -> tensor<?x1x?x?xi1, #graph.dims<B, 1, T, T>>
  %mask = graph.select %before, %zero, %fill : (tensor<?x1x?x?xi1, #graph.dims<B, 1, T, T>>, tensor<f32>, tensor<f32>) -> tensor<?x1x?x?xf32, #graph.dims<B, 1, T, T>>
  %s = graph.matmul %q, %k : (tensor<?x4x?x16xf32, #graph.dims<B, 4, T, 16>>, tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, T>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, T, T>>
  %a = graph.add %s, %mask : (tensor<?x4x?x?xf32, #graph.dims<B, 4, T, T>>, tensor<?x1x?x?xf32, #graph.dims<B, 1, T, T>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, T, T>>
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<?x4x?x?xf32, #graph.dims<B, 4, T, T>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, T, T>>
  %y = graph.matmul %p, %v : (tensor<?x4x?x?xf32, #graph.dims<B, 4, T, T>>, tensor<?x4x?x16xf32, #graph.dims<B, 4, T, 16>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, T, 16>>
  return %y : tensor<?x4x?x16xf32, #graph.dims<B, 4, T, 16>>
}

// -----

// Values of as many keys as the product proves, though under another name.

// CHECK-LABEL: @values_of_other_keys
func.func @values_of_other_keys(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x?xf32, #graph.dims<2, 4, 16, T>>, %v: tensor<2x4x?x16xf32, #graph.dims<2, 4, R, 16>>) -> tensor<2x4x7x16xf32> {
  // CHECK: graph.require {{.*}} sizes = #graph.dims<T, R>
  // CHECK: graph.attention
  graph.require {sizes = #graph.dims<T, R>, relation = #graph<relation equal>, message = "rows of the values"} : () -> ()
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x?xf32, #graph.dims<2, 4, 16, T>>) -> tensor<2x4x7x?xf32, #graph.dims<2, 4, 7, T>>
  %p = graph.softmax %s {axis = 3 : i64} : (tensor<2x4x7x?xf32, #graph.dims<2, 4, 7, T>>) -> tensor<2x4x7x?xf32, #graph.dims<2, 4, 7, T>>
  %y = graph.matmul %p, %v : (tensor<2x4x7x?xf32, #graph.dims<2, 4, 7, T>>, tensor<2x4x?x16xf32, #graph.dims<2, 4, R, 16>>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// What is multiplied by the probabilities is not always the values: as the
// right operand they are something else.

// CHECK-LABEL: @probabilities_on_the_right
func.func @probabilities_on_the_right(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>) -> tensor<2x4x16x7xf32> {
  // CHECK-NOT: graph.attention
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  // expected-remark@+1 {{not an attention: the probabilities are not the left operand of a matmul}}
  %p = graph.softmax %s {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %k, %p : (tensor<2x4x16x7xf32>, tensor<2x4x7x7xf32>) -> tensor<2x4x16x7xf32>
  return %y : tensor<2x4x16x7xf32>
}

// -----

// ai.onnx.Attention: rows in which a mask [queries, keys] hides every key are
// made 0, by what was added to the scores.

// CHECK-LABEL: @guard_of_rows
func.func @guard_of_rows(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32> {
  // CHECK: graph.attention {{.*}} {causal = true, dead_rows = #graph<dead_rows zero>, offset = #graph.dims<-2>{{.*}} operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>
  %infinite = graph.constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %two = graph.constant {value = dense<2> : tensor<i64>} : () -> tensor<i64>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %j = graph.iota : () -> tensor<7xi64>
  %j2 = graph.add %j, %two : (tensor<7xi64>, tensor<i64>) -> tensor<7xi64>
  %i = graph.reshape %j : (tensor<7xi64>) -> tensor<7x1xi64>
  %before = graph.less_equal %j2, %i : (tensor<7xi64>, tensor<7x1xi64>) -> tensor<7x7xi1>
  %mask = graph.select %before, %zero, %infinite : (tensor<7x7xi1>, tensor<f32>, tensor<f32>) -> tensor<7x7xf32>
  %top = graph.reduce %mask {axes = array<i64: 1>, kind = #graph<reduce_kind max>} : (tensor<7x7xf32>) -> tensor<7x1xf32>
  %hidden = graph.is_inf %top {negative = true, positive = false} : (tensor<7x1xf32>) -> tensor<7x1xi1>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %s, %mask : (tensor<2x4x7x7xf32>, tensor<7x7xf32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %g = graph.select %hidden, %zero, %p : (tensor<7x1xi1>, tensor<f32>, tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %g, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// The same of a mask that is not understood: the rows are made 0 behind.

// CHECK-LABEL: @guard_of_rows_of_a_bias
func.func @guard_of_rows_of_a_bias(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %mask: tensor<7x7xf32>) -> tensor<2x4x7x16xf32> {
  // CHECK:      %[[H:.*]] = graph.is_inf
  // CHECK:      %[[A:.*]] = graph.attention {{.*}} operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>
  // CHECK:      %[[Y:.*]] = graph.select %[[H]], %{{.*}}, %[[A]] : (tensor<7x1xi1>, tensor<f32>, tensor<2x4x7x16xf32>)
  // CHECK-NEXT: return %[[Y]]
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %top = graph.reduce %mask {axes = array<i64: 1>, kind = #graph<reduce_kind max>} : (tensor<7x7xf32>) -> tensor<7x1xf32>
  %hidden = graph.is_inf %top {negative = true, positive = false} : (tensor<7x1xf32>) -> tensor<7x1xi1>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %s, %mask : (tensor<2x4x7x7xf32>, tensor<7x7xf32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %g = graph.select %hidden, %zero, %p : (tensor<7x1xi1>, tensor<f32>, tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %g, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// What is hidden by one mask and made 0 by another: each as the graph says.

// CHECK-LABEL: @guard_of_another_mask
func.func @guard_of_another_mask(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %m: tensor<2x1x1x7xi1>, %other: tensor<7x7xf32>) -> tensor<2x4x7x16xf32> {
  // CHECK:      %[[H:.*]] = graph.is_inf
  // CHECK:      %[[A:.*]] = graph.attention {{.*}} dead_rows = #graph<dead_rows nan>
  // CHECK:      graph.select %[[H]], %{{.*}}, %[[A]]
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %infinite = graph.constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %mask = graph.select %m, %zero, %infinite : (tensor<2x1x1x7xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x1x7xf32>
  %top = graph.reduce %other {axes = array<i64: 1>, kind = #graph<reduce_kind max>} : (tensor<7x7xf32>) -> tensor<7x1xf32>
  %hidden = graph.is_inf %top {negative = true, positive = false} : (tensor<7x1xf32>) -> tensor<7x1xi1>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %s, %mask : (tensor<2x4x7x7xf32>, tensor<2x1x1x7xf32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %g = graph.select %hidden, %zero, %p : (tensor<7x1xi1>, tensor<f32>, tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %g, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// The highest of columns says nothing of rows.

// CHECK-LABEL: @guard_of_columns
func.func @guard_of_columns(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %mask: tensor<7x7xf32>) -> tensor<2x4x7x16xf32> {
  // CHECK-NOT: graph.attention
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %top = graph.reduce %mask {axes = array<i64: 0>, kind = #graph<reduce_kind max>} : (tensor<7x7xf32>) -> tensor<1x7xf32>
  %hidden = graph.is_inf %top {negative = true, positive = false} : (tensor<1x7xf32>) -> tensor<1x7xi1>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %s, %mask : (tensor<2x4x7x7xf32>, tensor<7x7xf32>) -> tensor<2x4x7x7xf32>
  // expected-remark@+1 {{not an attention: a select of probabilities is no guard of rows}}
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %g = graph.select %hidden, %zero, %p : (tensor<1x7xi1>, tensor<f32>, tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %g, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// m == 2 is masked in (m == 1 ? 0 : lowest): the mask asks for what it says, not
// for m != 0.

// CHECK-LABEL: @two_is_masked
func.func @two_is_masked(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %m: tensor<2x7xi64>) -> tensor<2x4x7x16xf32> {
  // CHECK:      %[[E:.*]] = graph.equal %{{.*}} : (tensor<2x7xi64>, tensor<i64>) -> tensor<2x7xi1>
  // CHECK:      graph.attention %arg0, %{{.*}}, %arg2, %[[E]] {{.*}} operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %one = graph.constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %m4 = graph.reshape %m : (tensor<2x7xi64>) -> tensor<2x1x1x7xi64>
  %kept = graph.equal %m4, %one : (tensor<2x1x1x7xi64>, tensor<i64>) -> tensor<2x1x1x7xi1>
  %mask = graph.select %kept, %zero, %fill : (tensor<2x1x1x7xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x1x7xf32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %s, %mask : (tensor<2x4x7x7xf32>, tensor<2x1x1x7xf32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// m != 2 ? lowest : 1 - m keeps keys with a score less by 1: no mask of 0.

// CHECK-LABEL: @kept_is_not_zero
func.func @kept_is_not_zero(%q: tensor<2x4x7x16xf32>, %k: tensor<2x4x16x7xf32>, %v: tensor<2x4x7x16xf32>, %m: tensor<2x1x1x7xf32>) -> tensor<2x4x7x16xf32> {
  // CHECK: graph.attention {{.*}} operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>
  %fill = graph.constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %one = graph.constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %two = graph.constant {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %d = graph.sub %one, %m : (tensor<f32>, tensor<2x1x1x7xf32>) -> tensor<2x1x1x7xf32>
  %e = graph.sub %two, %m : (tensor<f32>, tensor<2x1x1x7xf32>) -> tensor<2x1x1x7xf32>
  %c = graph.cast %e : (tensor<2x1x1x7xf32>) -> tensor<2x1x1x7xi1>
  %mask = graph.select %c, %fill, %d : (tensor<2x1x1x7xi1>, tensor<f32>, tensor<2x1x1x7xf32>) -> tensor<2x1x1x7xf32>
  %s = graph.matmul %q, %k : (tensor<2x4x7x16xf32>, tensor<2x4x16x7xf32>) -> tensor<2x4x7x7xf32>
  %a = graph.add %s, %mask : (tensor<2x4x7x7xf32>, tensor<2x1x1x7xf32>) -> tensor<2x4x7x7xf32>
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x7x7xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x7x16xf32>
  return %y : tensor<2x4x7x16xf32>
}

// -----

// A mask's keys may be a symbol of its own. The product requires that the sums
// have as many as there are; what may have one column is repeated, and where
// positions are compared there must be one for each key.

// CHECK-LABEL: @keys_of_their_own
// CHECK-DAG: %[[KEPT:.*]] = graph.broadcast %{{.*}} : (tensor<?x1x1x?xi1, #graph.dims<B, 1, 1, T>>) -> tensor<?x1x1x?xi1, #graph.dims<B, 1, 1, P>>
// CHECK-DAG: graph.require {{.*}} less_equal{{.*}} #graph.dims<P, T>
// CHECK: graph.attention {{.*}} {causal = true
func.func @keys_of_their_own(%q: tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, %k: tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P>>, %v: tensor<?x4x?x16xf32, #graph.dims<B, 4, P, 16>>, %m: tensor<?x1x1x?xi1, #graph.dims<B, 1, 1, T>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>> {
  %fill = graph.constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %j = graph.iota : () -> tensor<?xi64, #graph.dims<T>>
  %keys = graph.reshape %j : (tensor<?xi64, #graph.dims<T>>) -> tensor<1x?xi64, #graph.dims<1, T>>
  %i = graph.iota : () -> tensor<?xi64, #graph.dims<S>>
  %rows = graph.reshape %i : (tensor<?xi64, #graph.dims<S>>) -> tensor<?x1xi64, #graph.dims<S, 1>>
  %before = graph.less_equal %keys, %rows : (tensor<1x?xi64, #graph.dims<1, T>>, tensor<?x1xi64, #graph.dims<S, 1>>) -> tensor<?x?xi1, #graph.dims<S, T>>
  %both = graph.and %before, %m : (tensor<?x?xi1, #graph.dims<S, T>>, tensor<?x1x1x?xi1, #graph.dims<B, 1, 1, T>>) -> tensor<?x1x?x?xi1, #graph.dims<B, 1, S, T>>
  %s = graph.matmul %q, %k : (tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>, tensor<?x4x16x?xf32, #graph.dims<B, 4, 16, P>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P>>
  %a = graph.select %both, %s, %fill : (tensor<?x1x?x?xi1, #graph.dims<B, 1, S, T>>, tensor<?x4x?x?xf32, #graph.dims<B, 4, S, P>>, tensor<f32>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, broadcast(T, P)>>
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, broadcast(T, P)>>) -> tensor<?x4x?x?xf32, #graph.dims<B, 4, S, broadcast(T, P)>>
  %y = graph.matmul %p, %v : (tensor<?x4x?x?xf32, #graph.dims<B, 4, S, broadcast(T, P)>>, tensor<?x4x?x16xf32, #graph.dims<B, 4, P, 16>>) -> tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
  return %y : tensor<?x4x?x16xf32, #graph.dims<B, 4, S, 16>>
}

// -----

// A bias too, which asks for nothing.

// CHECK-LABEL: @bias_of_its_own_keys
// CHECK-NOT: graph.require
// CHECK: %[[BIAS:.*]] = graph.broadcast %arg3 : (tensor<1x1x?x?xf32, #graph.dims<1, 1, S, T>>) -> tensor<1x1x?x?xf32, #graph.dims<1, 1, S, P>>
// CHECK: graph.attention %arg0, %{{.*}}, %arg2, %[[BIAS]]
func.func @bias_of_its_own_keys(%q: tensor<2x4x?x16xf32, #graph.dims<2, 4, S, 16>>, %k: tensor<2x4x16x?xf32, #graph.dims<2, 4, 16, P>>, %v: tensor<2x4x?x16xf32, #graph.dims<2, 4, P, 16>>, %m: tensor<1x1x?x?xf32, #graph.dims<1, 1, S, T>>) -> tensor<2x4x?x16xf32, #graph.dims<2, 4, S, 16>> {
  %s = graph.matmul %q, %k : (tensor<2x4x?x16xf32, #graph.dims<2, 4, S, 16>>, tensor<2x4x16x?xf32, #graph.dims<2, 4, 16, P>>) -> tensor<2x4x?x?xf32, #graph.dims<2, 4, S, P>>
  %a = graph.add %s, %m : (tensor<2x4x?x?xf32, #graph.dims<2, 4, S, P>>, tensor<1x1x?x?xf32, #graph.dims<1, 1, S, T>>) -> tensor<2x4x?x?xf32, #graph.dims<2, 4, S, broadcast(P, T)>>
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<2x4x?x?xf32, #graph.dims<2, 4, S, broadcast(P, T)>>) -> tensor<2x4x?x?xf32, #graph.dims<2, 4, S, broadcast(P, T)>>
  %y = graph.matmul %p, %v : (tensor<2x4x?x?xf32, #graph.dims<2, 4, S, broadcast(P, T)>>, tensor<2x4x?x16xf32, #graph.dims<2, 4, P, 16>>) -> tensor<2x4x?x16xf32, #graph.dims<2, 4, S, 16>>
  return %y : tensor<2x4x?x16xf32, #graph.dims<2, 4, S, 16>>
}

// -----

// Not where queries may be those of the mask: one query of many keys, and a mask
// of many queries.

// CHECK-LABEL: @queries_of_their_own
// CHECK-NOT: graph.attention
func.func @queries_of_their_own(%q: tensor<2x4x?x16xf32, #graph.dims<2, 4, S, 16>>, %k: tensor<2x4x16x?xf32, #graph.dims<2, 4, 16, P>>, %v: tensor<2x4x?x16xf32, #graph.dims<2, 4, P, 16>>, %m: tensor<1x1x?x?xf32, #graph.dims<1, 1, R, P>>) -> tensor<2x4x?x16xf32, #graph.dims<2, 4, broadcast(S, R), 16>> {
  %s = graph.matmul %q, %k : (tensor<2x4x?x16xf32, #graph.dims<2, 4, S, 16>>, tensor<2x4x16x?xf32, #graph.dims<2, 4, 16, P>>) -> tensor<2x4x?x?xf32, #graph.dims<2, 4, S, P>>
  %a = graph.add %s, %m : (tensor<2x4x?x?xf32, #graph.dims<2, 4, S, P>>, tensor<1x1x?x?xf32, #graph.dims<1, 1, R, P>>) -> tensor<2x4x?x?xf32, #graph.dims<2, 4, broadcast(S, R), P>>
  // expected-remark@+1 {{not an attention: an addend changes the sizes of the scores}}
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<2x4x?x?xf32, #graph.dims<2, 4, broadcast(S, R), P>>) -> tensor<2x4x?x?xf32, #graph.dims<2, 4, broadcast(S, R), P>>
  %y = graph.matmul %p, %v : (tensor<2x4x?x?xf32, #graph.dims<2, 4, broadcast(S, R), P>>, tensor<2x4x?x16xf32, #graph.dims<2, 4, P, 16>>) -> tensor<2x4x?x16xf32, #graph.dims<2, 4, broadcast(S, R), 16>>
  return %y : tensor<2x4x?x16xf32, #graph.dims<2, 4, broadcast(S, R), 16>>
}

// -----

// What was made for such a mask goes where there is no attention after all.

// CHECK-LABEL: @own_keys_of_a_guarded_bias
// CHECK-NOT: graph.broadcast
// CHECK-NOT: #graph.dims<1, 1, S, P>
func.func @own_keys_of_a_guarded_bias(%q: tensor<2x4x?x16xf32, #graph.dims<2, 4, S, 16>>, %k: tensor<2x4x16x?xf32, #graph.dims<2, 4, 16, P>>, %v: tensor<2x4x?x16xf32, #graph.dims<2, 4, P, 16>>, %m: tensor<1x1x?x?xf32, #graph.dims<1, 1, S, T>>) -> tensor<2x4x?x16xf32, #graph.dims<2, 4, S, 16>> {
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %e = graph.exp %m : (tensor<1x1x?x?xf32, #graph.dims<1, 1, S, T>>) -> tensor<1x1x?x?xf32, #graph.dims<1, 1, S, T>>
  %b = graph.neg %e : (tensor<1x1x?x?xf32, #graph.dims<1, 1, S, T>>) -> tensor<1x1x?x?xf32, #graph.dims<1, 1, S, T>>
  %s = graph.matmul %q, %k : (tensor<2x4x?x16xf32, #graph.dims<2, 4, S, 16>>, tensor<2x4x16x?xf32, #graph.dims<2, 4, 16, P>>) -> tensor<2x4x?x?xf32, #graph.dims<2, 4, S, P>>
  %a = graph.add %s, %b : (tensor<2x4x?x?xf32, #graph.dims<2, 4, S, P>>, tensor<1x1x?x?xf32, #graph.dims<1, 1, S, T>>) -> tensor<2x4x?x?xf32, #graph.dims<2, 4, S, broadcast(P, T)>>
  // expected-remark@+1 {{not an attention: a row of NaN is guarded, and its mask is not understood}}
  %p = graph.softmax %a {axis = 3 : i64} : (tensor<2x4x?x?xf32, #graph.dims<2, 4, S, broadcast(P, T)>>) -> tensor<2x4x?x?xf32, #graph.dims<2, 4, S, broadcast(P, T)>>
  %n = graph.is_nan %p : (tensor<2x4x?x?xf32, #graph.dims<2, 4, S, broadcast(P, T)>>) -> tensor<2x4x?x?xi1, #graph.dims<2, 4, S, broadcast(P, T)>>
  %g = graph.select %n, %zero, %p : (tensor<2x4x?x?xi1, #graph.dims<2, 4, S, broadcast(P, T)>>, tensor<f32>, tensor<2x4x?x?xf32, #graph.dims<2, 4, S, broadcast(P, T)>>) -> tensor<2x4x?x?xf32, #graph.dims<2, 4, S, broadcast(P, T)>>
  %y = graph.matmul %g, %v : (tensor<2x4x?x?xf32, #graph.dims<2, 4, S, broadcast(P, T)>>, tensor<2x4x?x16xf32, #graph.dims<2, 4, P, 16>>) -> tensor<2x4x?x16xf32, #graph.dims<2, 4, S, 16>>
  return %y : tensor<2x4x?x16xf32, #graph.dims<2, 4, S, 16>>
}
