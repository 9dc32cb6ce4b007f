// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --split-batch --split-input-file | FileCheck %s
// RUN: tenon-opt %s --split-batch=explain=true --split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY
// RUN: tenon-opt %s --split-batch=at-once=3 --split-input-file | FileCheck %s --check-prefix=THREE

// What is computed of an item takes 8 MiB: four have it in caches.

// CHECK-LABEL: @arena
// CHECK: segments = #graph.dims<8388608 * B.here>, symbols = ["B", "B.from", "B.here"]
// CHECK: exec.pieces "B.from" "B.here" <B, floordiv(B + -1 * B.from + -1, max(1, floordiv(B + -1 * B.from, 4))) + 1> {
// CHECK-NEXT: exec.segment 0
// CHECK-NEXT: exec.launch @exp [#exec.buffer<input, 0, <4096 * B.from, 4096 * B.here>, "", "">, #exec.buffer<arena, 0, <0, 4096 * B.here>, "", "">] params <B.here> geometry <B.here, 1, 0>
// CHECK-SAME: cost = #graph.dims<0, 0, 8192 * B.here>
// CHECK-NEXT: exec.copy <arena, 0, <0, 4096 * B.here>, "", ""> to <output, 0, <4096 * B.from, 4096 * B.here>, "", "">

// THREE-LABEL: @arena
// THREE: exec.pieces "B.from" "B.here" <B, floordiv(B + -1 * B.from + -1, max(1, floordiv(B + -1 * B.from + 2, 3))) + 1> {
module @arena {
  exec.program attributes {
      inputs = ["x"], input_types = [tensor<?x1024xf32, #graph.dims<B, 1024>>],
      outputs = ["y"], output_types = [tensor<?x1024xf32, #graph.dims<B, 1024>>],
      symbols = ["B"], lo = array<i64: 0>, hi = array<i64: 2147483647>,
      segments = #graph.dims<8388608 * B>, batch = ["B"]} {
    exec.segment 0
    exec.launch @exp [#exec.buffer<input, 0, <0, 4096 * B>, "", "">,
        #exec.buffer<arena, 0, <0, 4096 * B>, "", "">]
        params <B> geometry <B, 1, 0> {cost = #graph.dims<0, 0, 8192 * B>}
    exec.copy <arena, 0, <0, 4096 * B>, "", ""> to <output, 0, <0, 4096 * B>, "", "">
  }
}

// -----

// Weights of 1 MiB each in two layouts, and a table of which little is read: an
// item moves 128 KiB, and 24 MiB are twelve times the weights, so 192 items run
// at a time.

// CHECK-LABEL: @weights
// CHECK: exec.pieces "B.from" "B.here" <B, floordiv(B + -1 * B.from + -1, max(1, floordiv(B + -1 * B.from, 192))) + 1> {
module @weights {
  exec.program attributes {
      inputs = ["x"], input_types = [tensor<?x256xf32, #graph.dims<B, 256>>],
      outputs = ["y"], output_types = [tensor<?x256xf32, #graph.dims<B, 256>>],
      symbols = ["B"], lo = array<i64: 0>, hi = array<i64: 2147483647>,
      segments = #graph.dims<1048576 * B>, batch = ["B"]} {
    exec.segment 0
    exec.launch @gather [#exec.buffer<weights, 0, <0, 99999744>, "t", "rows48">,
        #exec.buffer<input, 0, <0, 1024 * B>, "", "">,
        #exec.buffer<arena, 0, <0, 1024 * B>, "", "">]
        params <B> geometry <B, 1, 0> {cost = #graph.dims<0, 0, 98304 * B>}
    exec.launch @matmul [#exec.buffer<arena, 0, <0, 1024 * B>, "", "">,
        #exec.buffer<weights, 0, <0, 1048576>, "v", "packed48">,
        #exec.buffer<weights, 0, <0, 1048576>, "w", "">,
        #exec.buffer<output, 0, <0, 1024 * B>, "", "">]
        params <B> geometry <B, 1, 0> {cost = #graph.dims<0, 1048576, 32768 * B>}
  }
}

// -----

// A mask has items for more than the batch, of which those of a piece are read;
// what all share stays whole. What is required of sizes is of all, and comes
// first.

// CHECK-LABEL: @longer
// CHECK: exec.require <B, M> less_equal
// CHECK-NEXT: exec.pieces "B.from" "B.here" <B,
// CHECK-NEXT: exec.segment 0
// CHECK-NEXT: exec.launch @select [#exec.buffer<input, 0, <64 * B.from, 64 * B.here>, "", "">, #exec.buffer<input, 1, <16 * B.from, 16 * B.here>, "", "">, #exec.buffer<input, 2, <0, 64>, "", "">, #exec.buffer<output, 0, <64 * B.from, 64 * B.here>, "", "">] params <B.here, B.here> geometry <B.here, 1, 0>
module @longer {
  exec.program attributes {
      inputs = ["x", "m", "b"],
      input_types = [tensor<?x16xf32, #graph.dims<B, 16>>, tensor<?x16xi1, #graph.dims<M, 16>>, tensor<16xf32>],
      outputs = ["y"], output_types = [tensor<?x16xf32, #graph.dims<B, 16>>],
      symbols = ["B", "M"], lo = array<i64: 0, 0>, hi = array<i64: 2147483647, 2147483647>,
      segments = #graph.dims<0>, batch = ["B", "M"]} {
    exec.segment 0
    exec.require <B, M> less_equal "the mask must cover the batch"
    exec.launch @select [#exec.buffer<input, 0, <0, 64 * B>, "", "">,
        #exec.buffer<input, 1, <0, 16 * M>, "", "">,
        #exec.buffer<input, 2, <0, 64>, "", "">,
        #exec.buffer<output, 0, <0, 64 * B>, "", "">]
        params <B, M> geometry <B, 1, 0>
  }
}

// -----

// Not without independent items.

// CHECK-LABEL: @whole
// CHECK-NOT: exec.pieces
module @whole {
  exec.program attributes {
      inputs = ["x"], input_types = [tensor<?x16xf32, #graph.dims<B, 16>>],
      outputs = ["y"], output_types = [tensor<?x16xf32, #graph.dims<B, 16>>],
      symbols = ["B"], lo = array<i64: 0>, hi = array<i64: 2147483647>,
      segments = #graph.dims<0>} {
    exec.segment 0
    exec.launch @sum [#exec.buffer<input, 0, <0, 64 * B>, "", "">,
        #exec.buffer<output, 0, <0, 64 * B>, "", "">]
        params <B> geometry <B, 1, 0>
  }
}

// -----

// Nor where steps are taken by what data says.

// CHECK-LABEL: @branch
// CHECK-NOT: exec.pieces
// WHY-NOT: remark
// WHY: remark: all of B runs at once: sizes depend on data, or grow too long
// WHY-NOT: remark
module @branch {
  exec.program attributes {
      inputs = ["x", "c"], input_types = [tensor<?x16xf32, #graph.dims<B, 16>>, tensor<i1>],
      outputs = ["y"], output_types = [tensor<?x16xf32, #graph.dims<B, 16>>],
      symbols = ["B"], lo = array<i64: 0>, hi = array<i64: 2147483647>,
      segments = #graph.dims<0>, batch = ["B"]} {
    exec.segment 0
    exec.if <input, 1, <0, 1>, "", ""> {
      exec.copy <input, 0, <0, 64 * B>, "", ""> to <output, 0, <0, 64 * B>, "", "">
    } else {
    }
  }
}
