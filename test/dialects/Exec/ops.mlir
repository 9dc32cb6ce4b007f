// Every op of the dialect parses, verifies, and prints what parses again to
// the same text.

// RUN: tenon-opt %s -o %t
// RUN: tenon-opt %t | diff %t -
// RUN: FileCheck %s < %t

// CHECK: exec.program attributes {hi = array<i64: 2147483647, 9>,
// CHECK-SAME: inputs = ["x"]
// CHECK-SAME: segments = #graph.dims<256 * B, 64 * n>
exec.program attributes {
    inputs = ["x"], input_types = [tensor<?x8xf32, #graph.dims<B, 8>>],
    outputs = ["y"], output_types = [tensor<?x8xf32, #graph.dims<B, 8>>],
    symbols = ["B", "n"], lo = array<i64: 0, 0>, hi = array<i64: 2147483647, 9>,
    segments = #graph.dims<256 * B, 64 * n>} {
  // CHECK-NEXT: exec.segment 0
  exec.segment 0
  // CHECK-NEXT: exec.launch @add_f32_0 [#exec.buffer<input, 0, <0, 32 * B>, "", "">, #exec.buffer<weights, 0, <0, 32>, "w", "packed48">, #exec.buffer<arena, 0, <0, 32 * B>, "", "">] params <B> geometry <B, 64, 0>
  exec.launch @add_f32_0 [#exec.buffer<input, 0, <0, 32 * B>, "", "">, #exec.buffer<weights, 0, <0, 32>, "w", "packed48">, #exec.buffer<arena, 0, <0, 32 * B>, "", "">] params <B> geometry <B, 64, 0> {nodes = ["n"]}
  // CHECK-NEXT: exec.bind <arena, 0, <0, 8>, "", ""> as i64 ["n"]
  exec.bind <arena, 0, <0, 8>, "", ""> as i64 ["n"]
  // CHECK-NEXT: exec.require <n, B> less_equal "n is too large"
  exec.require <n, B> less_equal "n is too large"
  // CHECK-NEXT: exec.set "k" <n + 1>
  exec.set "k" <n + 1>
  // CHECK-NEXT: exec.if <none, 0, <0, 1>, "", ""> {
  exec.if <none, 0, <0, 1>, "", ""> {
    // CHECK-NEXT: exec.segment 1
    exec.segment 1
    // CHECK-NEXT: } else {
  } else {
    // CHECK-NEXT: exec.copy <arena, 0, <0, 32 * B>, "", ""> to <output, 0, <0, 32 * B>, "", "">
    exec.copy <arena, 0, <0, 32 * B>, "", ""> to <output, 0, <0, 32 * B>, "", "">
  }
  // CHECK: exec.loop <none, 0, <0, 1>, "", ""> {
  exec.loop <none, 0, <0, 1>, "", ""> {
    // CHECK-NEXT: exec.set "k" <k + 1>
    exec.set "k" <k + 1>
  }
  // CHECK: exec.pieces "B.from" "B.here" <B, min(8, B + -1 * B.from)> {
  exec.pieces "B.from" "B.here" <B, min(8, B + -1 * B.from)> {
    // CHECK-NEXT: exec.segment 1
    exec.segment 1
  }
}

// CHECK: exec.program attributes {appends_to = array<i64: 0>,
// CHECK-SAME: stored_inputs = [tensor<?x8xf32, #graph.dims<room0, 8>>], stored_outputs = [tensor<?x8xf32, #graph.dims<room1, 8>>]
exec.program attributes {
    inputs = ["past"], input_types = [tensor<?x8xf32, #graph.dims<P, 8>>],
    outputs = ["present"],
    output_types = [tensor<?x8xf32, #graph.dims<P + 1, 8>>],
    stored_inputs = [tensor<?x8xf32, #graph.dims<room0, 8>>],
    stored_outputs = [tensor<?x8xf32, #graph.dims<room1, 8>>],
    appends_to = array<i64: 0>,
    symbols = ["P", "room0", "room1"], lo = array<i64: 0, 0, 0>,
    hi = array<i64: 9, 9, 9>, segments = #graph.dims<0>} {
}
