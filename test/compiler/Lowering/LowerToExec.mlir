// RUN: tenon-opt %s --lower-to-exec --split-input-file --verify-diagnostics | FileCheck %s

// A chain: the input is read where it lies, the result is written where the
// caller wants it, and what dies may be written over.

// CHECK:      exec.program
// CHECK-SAME:   inputs = ["x"]
// CHECK-SAME:   outputs = ["y"]
// CHECK-SAME:   segments = #graph.dims<64 * B>
// CHECK-SAME:   symbols = ["B"]
// CHECK-NEXT: exec.segment 0
// CHECK-NEXT: exec.launch @exp [#exec.buffer<input, 0, <0, 64 * B>, "", "">, #exec.buffer<arena, 0, <0, 64 * B>, "", "">] params <B> geometry <B, 64, 0> {cost = #graph.dims<0, 0, 128 * B>, nodes = ["a"]}
// CHECK-NEXT: exec.launch @exp_over0 [#exec.buffer<arena, 0, <0, 64 * B>, "", "">, #exec.buffer<arena, 0, <0, 64 * B>, "", "">] params <B>
// CHECK-NEXT: exec.launch @exp [#exec.buffer<arena, 0, <0, 64 * B>, "", "">, #exec.buffer<output, 0, <0, 64 * B>, "", "">] params <B>
// CHECK-NEXT: {{^ *[}]$}}
// CHECK:      kernel.func @exp symbols
// CHECK:      kernel.func @exp_over0 {{.*}} attributes {in_place = 0 : i64}
func.func @main(%x: tensor<?x16xf32, #graph.dims<B, 16>> {graph.name = "x"}) -> (tensor<?x16xf32, #graph.dims<B, 16>> {graph.name = "y"}) {
  %0 = kernel.call @exp(%x) params <B> {nodes = ["a"]} : (tensor<?x16xf32, #graph.dims<B, 16>>) -> tensor<?x16xf32, #graph.dims<B, 16>>
  %1 = kernel.call @exp(%0) params <B> : (tensor<?x16xf32, #graph.dims<B, 16>>) -> tensor<?x16xf32, #graph.dims<B, 16>>
  %2 = kernel.call @exp(%1) params <B> : (tensor<?x16xf32, #graph.dims<B, 16>>) -> tensor<?x16xf32, #graph.dims<B, 16>>
  return %2 : tensor<?x16xf32, #graph.dims<B, 16>>
}
kernel.func @exp symbols ["d0"] layouts [""] schedule "Generic" geometry <d0, 64, 0> {
^bb0(%0: tensor<?x16xf32, #graph.dims<d0, 16>>):
  %1 = graph.exp %0 : (tensor<?x16xf32, #graph.dims<d0, 16>>) -> tensor<?x16xf32, #graph.dims<d0, 16>>
  kernel.yield %1 : tensor<?x16xf32, #graph.dims<d0, 16>>
}

// -----

// What is read later is not written over, nor is what a second operand also
// reads, nor an operand that a root reads as a whole.

// CHECK:      exec.program
// CHECK:      exec.launch @add [#exec.buffer<input, 0, {{.*}}>, #exec.buffer<input, 0, {{.*}}>, #exec.buffer<arena, 0, <[[A:[0-9]+]], 64>
// CHECK-NEXT: exec.launch @add [#exec.buffer<arena, 0, <[[A]], 64>, "", "">, #exec.buffer<arena, 0, <[[A]], 64>, "", "">, #exec.buffer<arena, 0, <[[B:[0-9]+]], 64>
// CHECK-NEXT: exec.launch @add_over1 [#exec.buffer<arena, 0, <[[A]], 64>, "", "">, #exec.buffer<arena, 0, <[[B]], 64>, "", "">, #exec.buffer<arena, 0, <[[B]], 64>
// CHECK-NEXT: exec.launch @softmax [#exec.buffer<arena, 0, <[[B]], 64>, "", "">, #exec.buffer<arena, 0, <[[C:[0-9]+]], 64>
// CHECK-NEXT: exec.launch @add [#exec.buffer<arena, 0, <[[C]], 64>, "", "">, #exec.buffer<arena, 0, <[[A]], 64>, "", "">, #exec.buffer<output, 0
func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = kernel.call @add(%x, %x) params <> : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %1 = kernel.call @add(%0, %0) params <> : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %2 = kernel.call @add(%0, %1) params <> : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %3 = kernel.call @softmax(%2) params <> : (tensor<16xf32>) -> tensor<16xf32>
  %4 = kernel.call @add(%3, %0) params <> : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %4 : tensor<16xf32>
}
kernel.func @add symbols [] layouts ["", ""] schedule "Generic" geometry <1, 1, 0> {
^bb0(%0: tensor<16xf32>, %1: tensor<16xf32>):
  %2 = graph.add %0, %1 : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  kernel.yield %2 : tensor<16xf32>
}
kernel.func @softmax symbols [] layouts [""] schedule "Generic" geometry <1, 1, 64> {
^bb0(%0: tensor<16xf32>):
  %1 = graph.softmax %0 {axis = 0 : i64} : (tensor<16xf32>) -> tensor<16xf32>
  kernel.yield %1 : tensor<16xf32>
}

// -----

// A value and its reshape are the same memory: they count as one operand when
// it comes to writing over it.

// CHECK:      exec.program
// CHECK:      exec.launch @exp
// CHECK-NEXT: exec.launch @sum [#exec.buffer<arena, 0, <0, 64>, "", "">, #exec.buffer<arena, 0, <0, 64>, "", "">, #exec.buffer<arena, 0, <64, 64>, "", "">]
// CHECK-NEXT: exec.launch @exp
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = kernel.call @exp(%x) params <> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.reshape %0 : (tensor<4x4xf32>) -> tensor<1x4x4xf32>
  %2 = graph.reshape %1 : (tensor<1x4x4xf32>) -> tensor<4x4xf32>
  %3 = kernel.call @sum(%0, %2) params <> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = kernel.call @exp(%3) params <> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}
kernel.func @exp symbols [] layouts [""] schedule "Generic" geometry <4, 1, 0> {
^bb0(%0: tensor<4x4xf32>):
  %1 = graph.exp %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  kernel.yield %1 : tensor<4x4xf32>
}
kernel.func @sum symbols [] layouts ["", ""] schedule "Generic" geometry <4, 1, 0> {
^bb0(%0: tensor<4x4xf32>, %1: tensor<4x4xf32>):
  %2 = graph.add %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  kernel.yield %2 : tensor<4x4xf32>
}

// -----

// A returned view is written in the caller's memory; a value returned twice, an
// input, a weight and a constant are copied there.

// CHECK:      exec.program
// CHECK-NEXT: exec.segment 0
// CHECK-NEXT: exec.launch @exp [#exec.buffer<input, 0, <0, 16>, "", "">, #exec.buffer<output, 0, <0, 16>, "", "">]
// CHECK-NEXT: exec.copy <output, 0, <0, 16>, "", ""> to <output, 1, <0, 16>, "", "">
// CHECK-NEXT: exec.copy <input, 0, <0, 16>, "", ""> to <output, 2, <0, 16>, "", "">
// CHECK-NEXT: exec.copy <weights, 0, <0, 8>, "w", ""> to <output, 3, <0, 8>, "", "">
// CHECK-NEXT: exec.copy <weights, 0, <0, 2>, "constant", ""> to <output, 4, <0, 2>, "", "">
// CHECK-NEXT: }
func.func @main(%x: tensor<4xf32>) -> (tensor<2x2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf16>, tensor<2xi1>) {
  %w = graph.weight {name = "w"} : () -> tensor<4xf16>
  %c = graph.constant {value = dense<true> : tensor<2xi1>} : () -> tensor<2xi1>
  %0 = kernel.call @exp(%x) params <> : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.reshape %0 : (tensor<4xf32>) -> tensor<2x2xf32>
  return %1, %0, %x, %w, %c : tensor<2x2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf16>, tensor<2xi1>
}
kernel.func @exp symbols [] layouts [""] schedule "Generic" geometry <1, 1, 0> {
^bb0(%0: tensor<4xf32>):
  %1 = graph.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
  kernel.yield %1 : tensor<4xf32>
}

// -----

// A weight is read in the layout of the kernel.

// CHECK:      exec.launch @matmul [#exec.buffer<input, 0, {{.*}}>, #exec.buffer<weights, 0, <0, 64>, "w", "packed48">, #exec.buffer<output, 0,
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %w = graph.weight {name = "w"} : () -> tensor<4x4xf32>
  %0 = kernel.call @matmul(%x, %w) params <> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
kernel.func @matmul symbols [] layouts ["", "packed48"] schedule "PackedMatmul" geometry <1, 1, 0> {
^bb0(%0: tensor<4x4xf32>, %1: tensor<4x4xf32>):
  %2 = graph.matmul %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  kernel.yield %2 : tensor<4x4xf32>
}

// -----

// What is as large as a number read at run time lies in a segment that is made
// once the number is known, even the result: its size comes too late.

// CHECK:      exec.program
// CHECK-SAME:   hi = array<i64: 100>
// CHECK-SAME:   lo = array<i64: 1>
// CHECK-SAME:   segments = #graph.dims<0, 64 * n>
// CHECK-SAME:   symbols = ["n"]
// CHECK-NEXT: exec.segment 0
// CHECK-NEXT: exec.bind <input, 0, <0, 8>, "", ""> as i64 ["n"]
// CHECK-NEXT: exec.segment 1
// CHECK-NEXT: exec.require <n, 50> less_equal "n is at most 50"
// CHECK-NEXT: exec.launch @iota [#exec.buffer<arena, 1, <0, 64 * n>, "", "">] params <n>
// CHECK-NEXT: exec.launch @neg [#exec.buffer<arena, 1, <0, 64 * n>, "", "">, #exec.buffer<output, 0, <0, 64 * n>, "", "">] params <n>
func.func @main(%x: tensor<1xi64>) -> tensor<?xf32, #graph.dims<16 * n>> {
  graph.bind %x {symbols = ["n"], lo = array<i64: 1>, hi = array<i64: 100>} : (tensor<1xi64>) -> ()
  graph.require {sizes = #graph.dims<n, 50>, relation = #graph<relation less_equal>, message = "n is at most 50"} : () -> ()
  %0 = kernel.call @iota() params <n> : () -> tensor<?xf32, #graph.dims<16 * n>>
  %1 = kernel.call @neg(%0) params <n> : (tensor<?xf32, #graph.dims<16 * n>>) -> tensor<?xf32, #graph.dims<16 * n>>
  return %1 : tensor<?xf32, #graph.dims<16 * n>>
}
kernel.func @iota symbols ["d0"] layouts [] schedule "Generic" geometry <1, 1, 0> {
  %0 = graph.iota : () -> tensor<?xf32, #graph.dims<16 * d0>>
  kernel.yield %0 : tensor<?xf32, #graph.dims<16 * d0>>
}
kernel.func @neg symbols ["d0"] layouts [""] schedule "Generic" geometry <1, 1, 0> {
^bb0(%0: tensor<?xf32, #graph.dims<16 * d0>>):
  %1 = graph.neg %0 : (tensor<?xf32, #graph.dims<16 * d0>>) -> tensor<?xf32, #graph.dims<16 * d0>>
  kernel.yield %1 : tensor<?xf32, #graph.dims<16 * d0>>
}

// -----

// Each branch sets the size in which the branches differ, makes the segment of
// the result, and copies what it yields; what the branches keep to themselves
// shares memory.

// CHECK:      exec.program
// CHECK-SAME:   segments = #graph.dims<128, 64 * floordiv(4 * k + 63, 64)>
// CHECK-NEXT: exec.segment 0
// CHECK-NEXT: exec.if <input, 0, <0, 1>, "", ""> {
// CHECK-NEXT:   exec.launch @exp [#exec.buffer<input, 1, {{.*}}>, #exec.buffer<arena, 0, <0, 16>, "", "">]
// CHECK-NEXT:   exec.set "k" <4>
// CHECK-NEXT:   exec.segment 1
// CHECK-NEXT:   exec.copy <arena, 0, <0, 16>, "", ""> to <arena, 1, <0, 4 * k>, "", "">
// CHECK-NEXT: } else {
// CHECK-NEXT:   exec.launch @exp [#exec.buffer<input, 1, {{.*}}>, #exec.buffer<arena, 0, <0, 16>, "", "">]
// CHECK-NEXT:   exec.launch @head [#exec.buffer<arena, 0, <0, 16>
// CHECK:        exec.set "k" <2>
// CHECK-NEXT:   exec.segment 1
// CHECK-NEXT:   exec.copy
// CHECK-NEXT: }
// CHECK-NEXT: exec.copy <arena, 1, <0, 4 * k>, "", ""> to <output, 0, <0, 4 * k>, "", "">
func.func @main(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<?xf32, #graph.dims<k>> {
  %0 = graph.if %c : (tensor<i1>) -> tensor<?xf32, #graph.dims<k>> {
    %1 = kernel.call @exp(%x) params <> : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  } else {
    %1 = kernel.call @exp(%x) params <> : (tensor<4xf32>) -> tensor<4xf32>
    %2 = kernel.call @head(%1) params <> : (tensor<4xf32>) -> tensor<2xf32>
    graph.yield %2 : tensor<2xf32>
  }
  return %0 : tensor<?xf32, #graph.dims<k>>
}
kernel.func @exp symbols [] layouts [""] schedule "Generic" geometry <1, 1, 0> {
^bb0(%0: tensor<4xf32>):
  %1 = graph.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
  kernel.yield %1 : tensor<4xf32>
}
kernel.func @head symbols [] layouts [""] schedule "Generic" geometry <1, 1, 0> {
^bb0(%0: tensor<4xf32>):
  %1 = graph.slice %0 {starts = #graph.dims<0>, steps = #graph.dims<1>} : (tensor<4xf32>) -> tensor<2xf32>
  kernel.yield %1 : tensor<2xf32>
}

// -----

// A branch whose size need not be the declared one is checked; a value from
// outside lives until both branches are done.

// CHECK:      exec.program
// CHECK-SAME:   segments = #graph.dims<64 * B>
// CHECK:      exec.launch @exp
// CHECK-NEXT: exec.if
// CHECK-NEXT:   exec.require <B, S> equal "a branch of an If gives size S where B is declared"
// CHECK-NEXT:   exec.copy <input, 2, {{.*}}> to <output, 0, <0, 64 * B>, "", "">
// CHECK-NEXT: } else {
// CHECK-NEXT:   exec.copy <arena, 0, <0, 64 * B>, "", ""> to <output, 0, <0, 64 * B>, "", "">
// CHECK-NEXT: }
// CHECK-NEXT: }
func.func @main(%c: tensor<i1>, %x: tensor<?x16xf32, #graph.dims<B, 16>>, %y: tensor<?x16xf32, #graph.dims<S, 16>>) -> tensor<?x16xf32, #graph.dims<B, 16>> {
  %0 = kernel.call @exp(%x) params <B> : (tensor<?x16xf32, #graph.dims<B, 16>>) -> tensor<?x16xf32, #graph.dims<B, 16>>
  %1 = graph.if %c : (tensor<i1>) -> tensor<?x16xf32, #graph.dims<B, 16>> {
    graph.yield %y : tensor<?x16xf32, #graph.dims<S, 16>>
  } else {
    graph.yield %0 : tensor<?x16xf32, #graph.dims<B, 16>>
  }
  return %1 : tensor<?x16xf32, #graph.dims<B, 16>>
}
kernel.func @exp symbols ["d0"] layouts [""] schedule "Generic" geometry <d0, 64, 0> {
^bb0(%0: tensor<?x16xf32, #graph.dims<d0, 16>>):
  %1 = graph.exp %0 : (tensor<?x16xf32, #graph.dims<d0, 16>>) -> tensor<?x16xf32, #graph.dims<d0, 16>>
  kernel.yield %1 : tensor<?x16xf32, #graph.dims<d0, 16>>
}

// -----

// A state of a loop has memory of its own, which is the result, too, and is the
// output's from the start. Each row has its place in the stack. What is read in
// each step keeps its memory: %1 has none of %0's.

// CHECK:      exec.program
// CHECK-SAME:   segments = #graph.dims<192>
// CHECK-NEXT: exec.segment 0
// CHECK-NEXT: exec.launch @exp [#exec.buffer<input, 1, <0, 16>, "", "">, #exec.buffer<arena, 0, <[[ZERO:[0-9]+]], 16>, "", "">]
// CHECK-NEXT: exec.set "i" <0>
// CHECK-NEXT: exec.copy <input, 0, <0, 1>, "", ""> to <arena, 0, <[[FLAG:[0-9]+]], 1>, "", "">
// CHECK-NEXT: exec.copy <input, 1, <0, 16>, "", ""> to <output, 0, <0, 16>, "", "">
// CHECK-NEXT: exec.loop <arena, 0, <[[FLAG]], 1>, "", ""> {
// CHECK-NEXT:   exec.launch @add [#exec.buffer<output, 0, <0, 16>, "", "">, #exec.buffer<arena, 0, <[[ZERO]], 16>, "", "">, #exec.buffer<arena, 0, <[[NEXT:[0-9]+]], 16>, "", "">]
// CHECK-NEXT:   exec.copy <output, 0, <0, 16>, "", ""> to <output, 1, <16 * i, 16>, "", "">
// CHECK-NEXT:   exec.copy <input, 0, <0, 1>, "", ""> to <arena, 0, <[[FLAG]], 1>, "", "">
// CHECK-NEXT:   exec.copy <arena, 0, <[[NEXT]], 16>, "", ""> to <output, 0, <0, 16>, "", "">
// CHECK-NEXT:   exec.set "i" <i + 1>
// CHECK-NEXT: }
// CHECK-NEXT: exec.require <9, i> equal "a Loop gives size i where 9 is declared"
// CHECK-NEXT: }
func.func @main(%c: tensor<i1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<9x4xf32>) {
  %0 = kernel.call @exp(%x) params <> : (tensor<4xf32>) -> tensor<4xf32>
  %1:2 = graph.loop "i" %c, %x attributes {room = #graph.dims<9>} : (tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>, tensor<9x4xf32>) {
  ^bb0(%s: tensor<4xf32>):
    %2 = kernel.call @add(%s, %0) params <> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %c, %2, %s : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  }
  return %1#0, %1#1 : tensor<4xf32>, tensor<9x4xf32>
}
kernel.func @exp symbols [] layouts [""] schedule "Generic" geometry <1, 1, 0> {
^bb0(%0: tensor<4xf32>):
  %1 = graph.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
  kernel.yield %1 : tensor<4xf32>
}
kernel.func @add symbols [] layouts ["", ""] schedule "Generic" geometry <1, 1, 0> {
^bb0(%0: tensor<4xf32>, %1: tensor<4xf32>):
  %2 = graph.add %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  kernel.yield %2 : tensor<4xf32>
}

// -----

// A size that each step changes is set at its end, when the next state is known
// and waits in a segment of its own; so do states that change places. How often
// it ran is the size of the stack, of which there is room for M rows.

// CHECK:      exec.program
// CHECK-SAME:   segments = #graph.dims<{{[^>]*}}floordiv(4 * M + 63, 64){{[^>]*}}, {{[^>]*}}s{{[^>]*}}, {{[^>]*}}s.next{{[^>]*}}>
// CHECK:      exec.set "i" <0>
// CHECK-NEXT: exec.set "s" <S>
// CHECK-NEXT: exec.segment 1
// CHECK-NEXT: exec.copy <input, 0, <0, 1>
// CHECK-NEXT: exec.copy <input, 1, <0, 4 * S>, "", ""> to <arena, 1, <{{.*}}, 4 * s>, "", "">
// CHECK-NEXT: exec.copy <input, 2, {{.*}} to <output, 1, <0, 4>, "", "">
// CHECK-NEXT: exec.copy <input, 3, {{.*}} to <output, 2, <0, 4>, "", "">
// CHECK-NEXT: exec.loop
// CHECK-NEXT:   exec.launch @twice
// CHECK-NEXT:   exec.set "s.next" <2 * s>
// CHECK-NEXT:   exec.segment 2
// CHECK-NEXT:   exec.copy <arena, 1, <{{.*}}, 8 * s>, "", ""> to <arena, 2, <0, 4 * s.next>, "", "">
// CHECK-NEXT:   exec.copy <output, 2, <0, 4>, "", ""> to <arena, 0, <[[WAITA:[0-9 a-zA-Z*+(),]+]], 4>, "", "">
// CHECK-NEXT:   exec.copy <output, 1, <0, 4>, "", ""> to <arena, 0, <[[WAITB:[0-9 a-zA-Z*+(),]+]], 4>, "", "">
// CHECK-NEXT:   exec.copy <output, 1, <0, 4>, "", ""> to <arena, 0, <4 * i, 4>, "", "">
// CHECK-NEXT:   exec.copy <input, 0, <0, 1>
// CHECK-NEXT:   exec.set "s" <s.next>
// CHECK-NEXT:   exec.set "i" <i + 1>
// CHECK-NEXT:   exec.segment 1
// CHECK-NEXT:   exec.copy <arena, 2, <0, 4 * s.next>, "", ""> to <arena, 1, <{{.*}}, 4 * s>, "", "">
// CHECK-NEXT:   exec.copy <arena, 0, <[[WAITA]], 4>, "", ""> to <output, 1, <0, 4>, "", "">
// CHECK-NEXT:   exec.copy <arena, 0, <[[WAITB]], 4>, "", ""> to <output, 2, <0, 4>, "", "">
// CHECK-NEXT: }
// CHECK-NEXT: exec.set "l" <s>
// CHECK-NEXT: exec.set "n" <i>
// CHECK-NEXT: exec.copy <arena, 1, <{{.*}}, 4 * l>, "", ""> to <output, 0, <0, 4 * l>, "", "">
func.func @main(%c: tensor<i1>, %x: tensor<?xf32, #graph.dims<S>>, %a: tensor<f32>, %b: tensor<f32>, %m: tensor<?xf32, #graph.dims<M>>) -> (tensor<?xf32, #graph.dims<l>>, tensor<f32>, tensor<f32>, tensor<?xf32, #graph.dims<n>>) {
  %0:4 = graph.loop "i" %c, %x, %a, %b attributes {room = #graph.dims<M>} : (tensor<i1>, tensor<?xf32, #graph.dims<S>>, tensor<f32>, tensor<f32>) -> (tensor<?xf32, #graph.dims<l>>, tensor<f32>, tensor<f32>, tensor<?xf32, #graph.dims<n>>) {
  ^bb0(%s: tensor<?xf32, #graph.dims<s>>, %u: tensor<f32>, %v: tensor<f32>):
    %1 = kernel.call @twice(%s) params <s> : (tensor<?xf32, #graph.dims<s>>) -> tensor<?xf32, #graph.dims<2 * s>>
    graph.yield %c, %1, %v, %u, %u : tensor<i1>, tensor<?xf32, #graph.dims<2 * s>>, tensor<f32>, tensor<f32>, tensor<f32>
  }
  return %0#0, %0#1, %0#2, %0#3 : tensor<?xf32, #graph.dims<l>>, tensor<f32>, tensor<f32>, tensor<?xf32, #graph.dims<n>>
}
kernel.func @twice symbols ["d0"] layouts [""] schedule "Generic" geometry <1, 1, 0> {
^bb0(%0: tensor<?xf32, #graph.dims<d0>>):
  %1 = graph.concat %0, %0 {axis = 0 : i64} : (tensor<?xf32, #graph.dims<d0>>, tensor<?xf32, #graph.dims<d0>>) -> tensor<?xf32, #graph.dims<2 * d0>>
  kernel.yield %1 : tensor<?xf32, #graph.dims<2 * d0>>
}

// -----

// What the user promised of a size is checked when the model runs.

// CHECK:      exec.program
// CHECK-SAME:   hi = array<i64: 8, 2147483647>
// CHECK-SAME:   lo = array<i64: 2, 0>
// CHECK-SAME:   symbols = ["B", "S"]
func.func @main(%x: tensor<?x?xf32, #graph.dims<B, S>>) attributes {graph.ranges = {B = array<i64: 2, 8>}} {
  return
}

// -----

// Nothing is lost in silence.

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{is in no kernel; please report this model}}
  %0 = graph.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A cache that grows: the sizes it holds, and those of its memory.

// CHECK: exec.program attributes {appends_to = array<i64: 0>,
// CHECK-SAME: input_types = [tensor<?x8xf32, #graph.dims<P, 8>>, tensor<?x8xf32, #graph.dims<S, 8>>]
// CHECK-SAME: output_types = [tensor<?x8xf32, #graph.dims<P + S, 8>>]
// CHECK-SAME: stored_inputs = [tensor<?x8xf32, #graph.dims<room0, 8>>, tensor<?x8xf32, #graph.dims<S, 8>>]
// CHECK-SAME: stored_outputs = [tensor<?x8xf32, #graph.dims<room1, 8>>]
// CHECK-SAME: symbols = ["P", "S", "room0", "room1"]
// CHECK: exec.launch @append [#exec.buffer<input, 0, <0, 32 * room0>, "", "">, #exec.buffer<input, 1, <0, 32 * S>, "", "">, #exec.buffer<output, 0, <0, 32 * room1>, "", "">]
func.func @main(%past: tensor<?x8xf32, #graph.dims<room0, 8>> {graph.dims = #graph.dims<P, 8>}, %x: tensor<?x8xf32, #graph.dims<S, 8>>)
    -> (tensor<?x8xf32, #graph.dims<room1, 8>> {graph.appends_to = 0 : i64, graph.dims = #graph.dims<P + S, 8>}) {
  %0 = kernel.call @append(%past, %x) params <room0, S, room1, P> : (tensor<?x8xf32, #graph.dims<room0, 8>>, tensor<?x8xf32, #graph.dims<S, 8>>) -> tensor<?x8xf32, #graph.dims<room1, 8>>
  return %0 : tensor<?x8xf32, #graph.dims<room1, 8>>
}
kernel.func @append symbols ["d0", "d1", "d2", "d3"] layouts ["", ""] schedule "Generic" geometry <d1 + d3, 64, 0> {
^bb0(%0: tensor<?x8xf32, #graph.dims<d0, 8>>, %1: tensor<?x8xf32, #graph.dims<d1, 8>>):
  %2 = graph.append %0, %1 {axis = 0 : i64, length = #graph.dims<d3>} : (tensor<?x8xf32, #graph.dims<d0, 8>>, tensor<?x8xf32, #graph.dims<d1, 8>>) -> tensor<?x8xf32, #graph.dims<d2, 8>>
  kernel.yield %2 : tensor<?x8xf32, #graph.dims<d2, 8>>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{calls no kernel.func}}
  %0 = kernel.call @exp(%x) params <> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<?x4611686018427387904xf32, #graph.dims<B, 4611686018427387904>>) {
  // expected-error@+1 {{the size of a tensor in bytes overflows}}
  %0 = kernel.call @exp(%x) params <B> : (tensor<?x4611686018427387904xf32, #graph.dims<B, 4611686018427387904>>) -> tensor<?x4611686018427387904xf32, #graph.dims<B, 4611686018427387904>>
  return
}
kernel.func @exp symbols ["d0"] layouts [""] schedule "Generic" geometry <d0, 64, 0> {
^bb0(%0: tensor<?x4611686018427387904xf32, #graph.dims<d0, 4611686018427387904>>):
  %1 = graph.exp %0 : (tensor<?x4611686018427387904xf32, #graph.dims<d0, 4611686018427387904>>) -> tensor<?x4611686018427387904xf32, #graph.dims<d0, 4611686018427387904>>
  kernel.yield %1 : tensor<?x4611686018427387904xf32, #graph.dims<d0, 4611686018427387904>>
}

// -----

func.func @main(%x: tensor<?xf32, #graph.dims<B>>) {
  // expected-error@+1 {{has sizes that overflow}}
  kernel.call @exp(%x) params <B * 4611686018427387904> : (tensor<?xf32, #graph.dims<B>>) -> tensor<?xf32, #graph.dims<B>>
  return
}
kernel.func @exp symbols ["d0"] layouts [""] schedule "Generic" geometry <4 * d0, 64, 0> {
^bb0(%0: tensor<?xf32, #graph.dims<d0>>):
  %1 = graph.exp %0 : (tensor<?xf32, #graph.dims<d0>>) -> tensor<?xf32, #graph.dims<d0>>
  kernel.yield %1 : tensor<?xf32, #graph.dims<d0>>
}

// -----

// expected-error@+1 {{the size of the arena overflows}}
func.func @main() -> tensor<4xf32> {
  %0 = kernel.call @big() params <> : () -> tensor<1152921504606846976xi8>
  %1 = kernel.call @big() params <> : () -> tensor<1152921504606846976xi8>
  %2 = kernel.call @big() params <> : () -> tensor<1152921504606846976xi8>
  %3 = kernel.call @big() params <> : () -> tensor<1152921504606846976xi8>
  %4 = kernel.call @big() params <> : () -> tensor<1152921504606846976xi8>
  %5 = kernel.call @big() params <> : () -> tensor<1152921504606846976xi8>
  %6 = kernel.call @big() params <> : () -> tensor<1152921504606846976xi8>
  %7 = kernel.call @big() params <> : () -> tensor<1152921504606846976xi8>
  %8 = kernel.call @all(%0, %1, %2, %3, %4, %5, %6, %7) params <> : (tensor<1152921504606846976xi8>, tensor<1152921504606846976xi8>, tensor<1152921504606846976xi8>, tensor<1152921504606846976xi8>, tensor<1152921504606846976xi8>, tensor<1152921504606846976xi8>, tensor<1152921504606846976xi8>, tensor<1152921504606846976xi8>) -> tensor<4xf32>
  return %8 : tensor<4xf32>
}
kernel.func @big symbols [] layouts [] schedule "Generic" geometry <1, 1, 0> {
  %0 = graph.iota : () -> tensor<1152921504606846976xi8>
  kernel.yield %0 : tensor<1152921504606846976xi8>
}
kernel.func @all symbols [] layouts [] schedule "Generic" geometry <1, 1, 0> {
  %0 = graph.iota : () -> tensor<4xf32>
  kernel.yield %0 : tensor<4xf32>
}
