//===- Passes.td - graph -> graph, graph -> kernel.region -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_PASSES_TD
#define TENON_COMPILER_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"
include "compiler/Transforms/ConvPasses.td"
include "compiler/Transforms/MovePasses.td"
include "compiler/Transforms/PrecisionPasses.td"

def FindBatchPass : Pass<"find-batch", "::mlir::func::FuncOp"> {
  let summary = "Find what counts items that do not depend on each other";
  let description = [{
    A symbol that is the first axis of an input, where what the function returns
    of an item depends on that item of its inputs and on what all items share.
    The items lie one behind the other in inputs and outputs. The function's
    attribute `graph.batch` names it, for `split-batch`, and behind it symbols
    that are no less, of whose items as many are read.

    ```mlir
    func.func @main(%x: tensor<?x8xf32, #graph.dims<B, 8>>)
        -> tensor<?x8xf32, #graph.dims<B, 8>> {
      %0 = graph.softmax %x {axis = 1 : i64}
          : (tensor<?x8xf32, #graph.dims<B, 8>>)
          -> tensor<?x8xf32, #graph.dims<B, 8>>
      return %0 : tensor<?x8xf32, #graph.dims<B, 8>>
    }
    // becomes
    func.func @main(%x: tensor<?x8xf32, #graph.dims<B, 8>>)
        -> tensor<?x8xf32, #graph.dims<B, 8>>
        attributes {graph.batch = ["B"]} {
      %0 = graph.softmax %x {axis = 1 : i64}
          : (tensor<?x8xf32, #graph.dims<B, 8>>)
          -> tensor<?x8xf32, #graph.dims<B, 8>>
      return %0 : tensor<?x8xf32, #graph.dims<B, 8>>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on what keeps items together">];
}

def AppendCachesPass : Pass<"append-caches", "::mlir::func::FuncOp"> {
  let summary = "Caches grow where they lie";
  let description = [{
    An input that goes out again with rows behind it along one axis: both get
    room for more rows, a symbol that the caller sets, and what reads the result
    sees a slice. `graph.dims` keeps the sizes of what they hold, and
    `graph.appends_to` says which input a result may share memory with. Not if
    the input is read elsewhere, or the size depends on data.

    ```mlir
    func.func @main(%past: tensor<2x?x8xf32, #graph.dims<2, P, 8>>,
                    %k: tensor<2x?x8xf32, #graph.dims<2, S, 8>>)
        -> tensor<2x?x8xf32, #graph.dims<2, P + S, 8>> {
      %0 = graph.concat %past, %k {axis = 1 : i64}
          : (tensor<2x?x8xf32, #graph.dims<2, P, 8>>,
             tensor<2x?x8xf32, #graph.dims<2, S, 8>>)
          -> tensor<2x?x8xf32, #graph.dims<2, P + S, 8>>
      return %0 : tensor<2x?x8xf32, #graph.dims<2, P + S, 8>>
    }
    // becomes
    func.func @main(%past: tensor<2x?x8xf32, #graph.dims<2, room0, 8>>
                        {graph.dims = #graph.dims<2, P, 8>},
                    %k: tensor<2x?x8xf32, #graph.dims<2, S, 8>>)
        -> (tensor<2x?x8xf32, #graph.dims<2, room1, 8>>
                {graph.appends_to = 0 : i64,
                 graph.dims = #graph.dims<2, P + S, 8>}) {
      %0 = graph.append %past, %k {axis = 1 : i64, length = #graph.dims<P>}
          : (tensor<2x?x8xf32, #graph.dims<2, room0, 8>>,
             tensor<2x?x8xf32, #graph.dims<2, S, 8>>)
          -> tensor<2x?x8xf32, #graph.dims<2, room1, 8>>
      return %0 : tensor<2x?x8xf32, #graph.dims<2, room1, 8>>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on outputs that stay: why">];
}

def FoldConstantsPass : Pass<"fold-constants", "::mlir::func::FuncOp"> {
  let summary = "Compute at compile time what depends on weights only";
  let description = [{
    Runs the reference evaluator on ops all of whose operands are constants or
    weights. A result takes no more bytes than its operands (or is tiny), so
    that the artifact never outgrows the weights, but for quantized ones whose
    kernels have no use for few bits: of convolutions by groups, and of
    recurrent cells but for those that read bytes. Transposes, reshapes and
    concatenations of weights move bytes instead and have no such bound.

    ```mlir
    func.func @main() -> tensor<2xf32> {
      %0 = graph.constant {value = dense<[1.0, 2.0]> : tensor<2xf32>}
          : () -> tensor<2xf32>
      %1 = graph.neg %0 : (tensor<2xf32>) -> tensor<2xf32>
      return %1 : tensor<2xf32>
    }
    // becomes
    func.func @main() -> tensor<2xf32> {
      %0 = graph.constant {value = dense<[1.0, 2.0]> : tensor<2xf32>}
          : () -> tensor<2xf32>
      %1 = graph.constant {value = dense<[-1.0, -2.0]> : tensor<2xf32>}
          : () -> tensor<2xf32>
      return %1 : tensor<2xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

def FormRegionsPass : Pass<"form-regions", "::mlir::func::FuncOp"> {
  let summary = "Decide which ops share a kernel";
  let description = [{
    A pointwise op joins the kernel of its consumer when that is its only user
    and both have the same sizes, as long as the kernel has at most one root.
    Constants are copied into each kernel. Reshapes stay outside: they only
    rename a buffer. Movement that leaves rows whole joins the pointwise op, row
    program or movement that is its only user, through reshapes that do so too.
    A transpose that makes columns of a product's rows joins the product, where
    all that it sums over is one block. So does a gather that chooses a matrix on
    the right for each of its batches: as experts are for tokens.

    ```mlir
    func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>)
        -> tensor<4x2xf32> {
      %0 = graph.matmul %x, %w
          : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
      %1 = graph.tanh %0 : (tensor<4x2xf32>) -> tensor<4x2xf32>
      return %1 : tensor<4x2xf32>
    }
    // becomes
    func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>)
        -> tensor<4x2xf32> {
      %0 = kernel.region(%x, %w)
          : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32> {
      ^bb0(%1: tensor<4x8xf32>, %2: tensor<8x2xf32>):
        %3 = graph.matmul %1, %2
            : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
        %4 = graph.tanh %3 : (tensor<4x2xf32>) -> tensor<4x2xf32>
        kernel.yield %4 : tensor<4x2xf32>
      }
      return %0 : tensor<4x2xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::kernel::KernelDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on each kernel: why it ends where it ends">,
                 Option<"target", "target", "std::string", "\"cpu\"",
                        "cpu or cuda">];
}

def MergeMatmulsPass : Pass<"merge-matmuls", "::mlir::func::FuncOp"> {
  let summary = "Products of one value by several weights become one";
  let description = [{
    Each product may have a bias behind it; where only some have, the others
    get zeros. Fires where nothing else reads the weights, but the same products
    in another branch of an If (the artifact does not grow), and every reader of
    the results takes a slice as it lies: attention and products, through ops
    that only rename positions, and what copies it in another order anyway,
    rotations and appends to a cache. Fold-constants then sets the weights side
    by side. A factor of all queries goes into the scale of their attention.

    Two products of equal width that meet in a pointwise op, a gate and what it
    gates, become the halves of one: form-regions puts what combines them into
    its kernel, and neither is ever stored.

    ```mlir
    func.func @main(%x: tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32> {
      %0 = graph.weight {name = "q"} : () -> tensor<8x8xf32>
      %1 = graph.weight {name = "k"} : () -> tensor<8x8xf32>
      %2 = graph.matmul %x, %0
          : (tensor<1x1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x1x4x8xf32>
      %3 = graph.matmul %x, %1
          : (tensor<1x1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x1x4x8xf32>
      %4 = graph.attention %2, %3, %x {
          operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>,
          scale = 1.0 : f64, softcap = 0.0 : f64, causal = false,
          offset = #graph.dims<0>, window = 0 : i64,
          dead_rows = #graph<dead_rows zero>}
          : (tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>)
          -> tensor<1x1x4x8xf32>
      return %4 : tensor<1x1x4x8xf32>
    }
    // becomes
    func.func @main(%x: tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32> {
      %0 = graph.weight {name = "q"} : () -> tensor<8x8xf32>
      %1 = graph.weight {name = "k"} : () -> tensor<8x8xf32>
      %2 = graph.concat %0, %1 {axis = 1 : i64}
          : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x16xf32>
      %3 = graph.matmul %x, %2
          : (tensor<1x1x4x8xf32>, tensor<8x16xf32>) -> tensor<1x1x4x16xf32>
      %4 = graph.slice %3 {starts = #graph.dims<0, 0, 0, 0>,
          steps = #graph.dims<1, 1, 1, 1>}
          : (tensor<1x1x4x16xf32>) -> tensor<1x1x4x8xf32>
      %5 = graph.slice %3 {starts = #graph.dims<0, 0, 0, 8>,
          steps = #graph.dims<1, 1, 1, 1>}
          : (tensor<1x1x4x16xf32>) -> tensor<1x1x4x8xf32>
      %6 = graph.attention %4, %5, %x {
          operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>,
          scale = 1.0 : f64, softcap = 0.0 : f64, causal = false,
          offset = #graph.dims<0>, window = 0 : i64,
          dead_rows = #graph<dead_rows zero>}
          : (tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>)
          -> tensor<1x1x4x8xf32>
      return %6 : tensor<1x1x4x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on each product that stays alone: why">];
}

def LiftConstantsPass : Pass<"lift-constants", "::mlir::func::FuncOp"> {
  let summary = "Scales in which kernels differ become operands";
  let description = [{
    Regions that differ by scales and zero points alone take them as operands,
    which are weights, so that outline-kernels makes one function of them. What
    a byte is looked up by stays, since the table is made when kernels are
    compiled, and so do the zero points of convolutions, whose borders are made
    of them. Of a quantization the attribute `kernel.normal_scale` says that its
    scale is one that needs no division.

    ```mlir
    func.func @main(%x: tensor<4xf32>) -> (tensor<4xui8>, tensor<4xui8>) {
      %a = kernel.region(%x) : (tensor<4xf32>) -> tensor<4xui8> {
      ^bb0(%1: tensor<4xf32>):
        %s = graph.constant {value = dense<5.0e-01> : tensor<f32>} : () -> tensor<f32>
        %z = graph.constant {value = dense<9> : tensor<ui8>} : () -> tensor<ui8>
        %2 = graph.quantize %1, %s, %z
            : (tensor<4xf32>, tensor<f32>, tensor<ui8>) -> tensor<4xui8>
        kernel.yield %2 : tensor<4xui8>
      }
      %b = kernel.region(%x) : (tensor<4xf32>) -> tensor<4xui8> {
      ^bb0(%1: tensor<4xf32>):
        %s = graph.constant {value = dense<2.5e-01> : tensor<f32>} : () -> tensor<f32>
        %z = graph.constant {value = dense<9> : tensor<ui8>} : () -> tensor<ui8>
        %2 = graph.quantize %1, %s, %z
            : (tensor<4xf32>, tensor<f32>, tensor<ui8>) -> tensor<4xui8>
        kernel.yield %2 : tensor<4xui8>
      }
      return %a, %b : tensor<4xui8>, tensor<4xui8>
    }
    // becomes
    func.func @main(%x: tensor<4xf32>) -> (tensor<4xui8>, tensor<4xui8>) {
      %q = graph.weight {name = "step_1"} : () -> tensor<f32>
      %p = graph.weight {name = "step"} : () -> tensor<f32>
      %a = kernel.region(%x, %p) : (tensor<4xf32>, tensor<f32>) -> tensor<4xui8> {
      ^bb0(%1: tensor<4xf32>, %2: tensor<f32>):
        %z = graph.constant {value = dense<9> : tensor<ui8>} : () -> tensor<ui8>
        %3 = graph.quantize %1, %2, %z {kernel.normal_scale}
            : (tensor<4xf32>, tensor<f32>, tensor<ui8>) -> tensor<4xui8>
        kernel.yield %3 : tensor<4xui8>
      }
      %b = kernel.region(%x, %q) : (tensor<4xf32>, tensor<f32>) -> tensor<4xui8> {
      ^bb0(%1: tensor<4xf32>, %2: tensor<f32>):
        %z = graph.constant {value = dense<9> : tensor<ui8>} : () -> tensor<ui8>
        %3 = graph.quantize %1, %2, %z {kernel.normal_scale}
            : (tensor<4xf32>, tensor<f32>, tensor<ui8>) -> tensor<4xui8>
        kernel.yield %3 : tensor<4xui8>
      }
      return %a, %b : tensor<4xui8>, tensor<4xui8>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

def OutlineKernelsPass : Pass<"outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Make equal regions one kernel.func";
  let description = [{
    Size symbols of a region become the parameters d0, d1, ... in order of
    appearance; regions that are then equal share one function.

    ```mlir
    func.func @main(%x: tensor<?xf32, #graph.dims<B>>) {
      %0 = kernel.region(%x) : (tensor<?xf32, #graph.dims<B>>)
          -> tensor<?xf32, #graph.dims<B>> {
      ^bb0(%1: tensor<?xf32, #graph.dims<B>>):
        %2 = graph.exp %1 : (tensor<?xf32, #graph.dims<B>>)
            -> tensor<?xf32, #graph.dims<B>>
        kernel.yield %2 : tensor<?xf32, #graph.dims<B>>
      }
      return
    }
    // becomes
    func.func @main(%x: tensor<?xf32, #graph.dims<B>>) {
      %0 = kernel.call @exp_f32_0(%x) params <B> {nodes = [""]}
          : (tensor<?xf32, #graph.dims<B>>) -> tensor<?xf32, #graph.dims<B>>
      return
    }
    kernel.func @exp_f32_0 symbols ["d0"] layouts [""] schedule ""
        geometry <0, 0, 0> {
    ^bb0(%0: tensor<?xf32, #graph.dims<d0>>):
      %1 = graph.exp %0 : (tensor<?xf32, #graph.dims<d0>>)
          -> tensor<?xf32, #graph.dims<d0>>
      kernel.yield %1 : tensor<?xf32, #graph.dims<d0>>
    }
    ```
  }];
  let dependentDialects = ["::tenon::kernel::KernelDialect"];
}

def RecogniseActivationsPass : Pass<"recognise-activations",
                                    "::mlir::func::FuncOp"> {
  let summary = "One gelu in place of its formula, one exponential in Mish";
  let description = [{
    Whatever the order of the factors: the formula around an erf, tanh or
    sigmoid is compared as a polynomial, its constants up to one part in a
    thousand. Nothing is computed twice: an intermediate with another user
    keeps the formula as it is. SiLU has no op; it is left as `x * sigmoid(x)`.
    Mish has none either: its `tanh(softplus(x))` becomes `n / (n + 2)`, n being
    `e^x (e^x + 2)` with x at most 20 (5 in f16), beyond which both are 1.

    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
      %1 = graph.constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
      %2 = graph.constant {value = dense<1.414213> : tensor<f32>}
          : () -> tensor<f32>
      %3 = graph.div %x, %2 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      %4 = graph.erf %3 : (tensor<4xf32>) -> tensor<4xf32>
      %5 = graph.add %4, %1 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      %6 = graph.mul %x, %5 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %7 = graph.mul %6, %0 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      return %7 : tensor<4xf32>
    }
    // becomes
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = graph.gelu %x {kind = #graph<gelu_kind erf>}
          : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on what looks like a GELU and is none">];
}

def RecogniseAttentionPass : Pass<"recognise-attention",
                                  "::mlir::func::FuncOp"> {
  let summary = "One attention in place of matmul, softmax, matmul";
  let description = [{
    Between the products may stand scalar factors, a softcap, addends and a
    guard against NaN, in that order. An addend `p ? 0 : fill` becomes a key
    mask, `causal` and a window when `p` is proven to be a conjunction of those
    and the fill absorbs every score (-inf, or in f32 at most -1e30); any other
    stays a bias. So does `p ? score : fill` with such a fill. What the fill and
    the guard make of a query without keys becomes `dead_rows`. Batch and heads
    may be one axis, there may be no heads, and masks may be added where there
    are other axes: reshapes on the way are looked through. Where scores are
    NaN, a guarded row may be NaN instead of zero. Rows that a select makes zero
    where a mask is -inf are made zero behind the attention, unless it knows
    them by its own masks. Heads of key and value that are repeated are read in
    place.

    ```mlir
    func.func @main(%q: tensor<1x4x7x16xf32>, %k: tensor<1x4x16x7xf32>,
                    %v: tensor<1x4x7x16xf32>) -> tensor<1x4x7x16xf32> {
      %0 = graph.constant {value = dense<0.25> : tensor<f32>}
          : () -> tensor<f32>
      %1 = graph.matmul %q, %k
          : (tensor<1x4x7x16xf32>, tensor<1x4x16x7xf32>) -> tensor<1x4x7x7xf32>
      %2 = graph.mul %1, %0
          : (tensor<1x4x7x7xf32>, tensor<f32>) -> tensor<1x4x7x7xf32>
      %3 = graph.softmax %2 {axis = 3 : i64}
          : (tensor<1x4x7x7xf32>) -> tensor<1x4x7x7xf32>
      %4 = graph.matmul %3, %v
          : (tensor<1x4x7x7xf32>, tensor<1x4x7x16xf32>) -> tensor<1x4x7x16xf32>
      return %4 : tensor<1x4x7x16xf32>
    }
    // becomes
    func.func @main(%q: tensor<1x4x7x16xf32>, %k: tensor<1x4x16x7xf32>,
                    %v: tensor<1x4x7x16xf32>) -> tensor<1x4x7x16xf32> {
      %0 = graph.transpose %k {permutation = array<i64: 0, 1, 3, 2>}
          : (tensor<1x4x16x7xf32>) -> tensor<1x4x7x16xf32>
      %1 = graph.attention %q, %0, %v {causal = false,
          dead_rows = #graph<dead_rows zero>, offset = #graph.dims<0>,
          operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>,
          scale = 2.500000e-01 : f64, softcap = 0.000000e+00 : f64,
          window = 0 : i64}
          : (tensor<1x4x7x16xf32>, tensor<1x4x7x16xf32>, tensor<1x4x7x16xf32>)
          -> tensor<1x4x7x16xf32>
      return %1 : tensor<1x4x7x16xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on each softmax that is no attention">];
}

def RecogniseNormsPass : Pass<"recognise-norms", "::mlir::func::FuncOp"> {
  let summary = "One layer_norm or rms_norm in place of its formula";
  let description = [{
    Starts at a root of a mean of squares plus epsilon. What is squared must be
    what is divided by the root (or multiplied by its inverse): some x, or x
    less its mean. The scale and the bias stay ordinary ops behind the norm.

    ```mlir
    func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %0 = graph.constant {value = dense<1.0e-5> : tensor<f32>}
          : () -> tensor<f32>
      %1 = graph.mul %x, %x
          : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
      %2 = graph.reduce %1 {axes = array<i64: 1>,
          kind = #graph<reduce_kind mean>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
      %3 = graph.add %2, %0 : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
      %4 = graph.sqrt %3 : (tensor<4x1xf32>) -> tensor<4x1xf32>
      %5 = graph.div %x, %4
          : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
      return %5 : tensor<4x8xf32>
    }
    // becomes
    func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %0 = graph.rms_norm %x {axis = 1 : i64,
          epsilon = 9.9999997473787516E-6 : f64}
          : (tensor<4x8xf32>) -> tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on what looks like a norm and is none">];
}

def RecognisePermutationsPass : Pass<"recognise-permutations",
                                     "::mlir::func::FuncOp"> {
  let summary = "Rolls, merged patches and gathers of everything as such";
  let description = [{
    Two slices that set the end of an axis before its start become a pad that
    wraps, except along the last axis. Slices with steps that together take each
    element once become a transpose. A gather whose positions are proven to be
    0, 1, 2, .. of the whole axis becomes a reshape.

    ```mlir
    func.func @main(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
      %0 = graph.slice %x {starts = #graph.dims<3, 0>,
          steps = #graph.dims<1, 1>} : (tensor<8x4xf32>) -> tensor<5x4xf32>
      %1 = graph.slice %x {starts = #graph.dims<0, 0>,
          steps = #graph.dims<1, 1>} : (tensor<8x4xf32>) -> tensor<3x4xf32>
      %2 = graph.concat %0, %1 {axis = 0 : i64}
          : (tensor<5x4xf32>, tensor<3x4xf32>) -> tensor<8x4xf32>
      return %2 : tensor<8x4xf32>
    }
    // becomes
    func.func @main(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
      %0 = graph.constant {value = dense<0.0> : tensor<f32>}
          : () -> tensor<f32>
      %1 = graph.pad %x, %0 {low = #graph.dims<-3, 0>,
          mode = #graph<pad_mode wrap>}
          : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
      return %1 : tensor<8x4xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on slices of one tensor that stay: why">];
}

def RecogniseRotaryPass : Pass<"recognise-rotary", "::mlir::func::FuncOp"> {
  let summary = "One rotary in place of its formula";
  let description = [{
    Both halves must come from one tensor, and tables as wide as it must be
    proven to hold each column twice: then the op takes what was repeated.

    ```mlir
    func.func @main(%x: tensor<1x2x7x4xf32>, %f: tensor<1x7x2xf32>)
        -> tensor<1x2x7x4xf32> {
      %0 = graph.concat %f, %f {axis = 2 : i64}
          : (tensor<1x7x2xf32>, tensor<1x7x2xf32>) -> tensor<1x7x4xf32>
      %1 = graph.reshape %0 : (tensor<1x7x4xf32>) -> tensor<1x1x7x4xf32>
      %2 = graph.cos %1 : (tensor<1x1x7x4xf32>) -> tensor<1x1x7x4xf32>
      %3 = graph.sin %1 : (tensor<1x1x7x4xf32>) -> tensor<1x1x7x4xf32>
      %4 = graph.slice %x {starts = #graph.dims<0, 0, 0, 0>,
          steps = #graph.dims<1, 1, 1, 1>}
          : (tensor<1x2x7x4xf32>) -> tensor<1x2x7x2xf32>
      %5 = graph.slice %x {starts = #graph.dims<0, 0, 0, 2>,
          steps = #graph.dims<1, 1, 1, 1>}
          : (tensor<1x2x7x4xf32>) -> tensor<1x2x7x2xf32>
      %6 = graph.neg %5 : (tensor<1x2x7x2xf32>) -> tensor<1x2x7x2xf32>
      %7 = graph.concat %6, %4 {axis = 3 : i64}
          : (tensor<1x2x7x2xf32>, tensor<1x2x7x2xf32>) -> tensor<1x2x7x4xf32>
      %8 = graph.mul %x, %2
          : (tensor<1x2x7x4xf32>, tensor<1x1x7x4xf32>) -> tensor<1x2x7x4xf32>
      %9 = graph.mul %7, %3
          : (tensor<1x2x7x4xf32>, tensor<1x1x7x4xf32>) -> tensor<1x2x7x4xf32>
      %10 = graph.add %8, %9
          : (tensor<1x2x7x4xf32>, tensor<1x2x7x4xf32>) -> tensor<1x2x7x4xf32>
      return %10 : tensor<1x2x7x4xf32>
    }
    // becomes
    func.func @main(%x: tensor<1x2x7x4xf32>, %f: tensor<1x7x2xf32>)
        -> tensor<1x2x7x4xf32> {
      %0 = graph.reshape %f : (tensor<1x7x2xf32>) -> tensor<1x1x7x2xf32>
      %1 = graph.cos %0 : (tensor<1x1x7x2xf32>) -> tensor<1x1x7x2xf32>
      %2 = graph.sin %0 : (tensor<1x1x7x2xf32>) -> tensor<1x1x7x2xf32>
      %3 = graph.reshape %1 : (tensor<1x1x7x2xf32>) -> tensor<1x7x2xf32>
      %4 = graph.reshape %2 : (tensor<1x1x7x2xf32>) -> tensor<1x7x2xf32>
      %5 = graph.rotary %x, %3, %4 {interleaved = false}
          : (tensor<1x2x7x4xf32>, tensor<1x7x2xf32>, tensor<1x7x2xf32>)
          -> tensor<1x2x7x4xf32>
      return %5 : tensor<1x2x7x4xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on what looks like a rotation and is none">];
}

def RecogniseWindowsPass : Pass<"recognise-windows", "::mlir::func::FuncOp"> {
  let summary = "One windows in place of slices or of a table of positions";
  let description = [{
    A concat of three or more slices of one tensor that are equally far apart,
    and a gather by constant positions that are equally far apart in both
    directions. No position may be negative or outside of the tensor.

    ```mlir
    func.func @main(%x: tensor<2x9xf32>) -> tensor<2x4x3xf32> {
      %0 = graph.constant {value = dense<[[1, 2, 3], [2, 3, 4], [3, 4, 5],
          [4, 5, 6]]> : tensor<4x3xi64>} : () -> tensor<4x3xi64>
      %1 = graph.gather %x, %0 {axis = 1 : i64}
          : (tensor<2x9xf32>, tensor<4x3xi64>) -> tensor<2x4x3xf32>
      return %1 : tensor<2x4x3xf32>
    }
    // becomes
    func.func @main(%x: tensor<2x9xf32>) -> tensor<2x4x3xf32> {
      %0 = graph.constant {value = dense<[[1, 2, 3], [2, 3, 4], [3, 4, 5],
          [4, 5, 6]]> : tensor<4x3xi64>} : () -> tensor<4x3xi64>
      %1 = graph.slice %x {starts = #graph.dims<0, 1>,
          steps = #graph.dims<1, 1>} : (tensor<2x9xf32>) -> tensor<2x6xf32>
      %2 = graph.windows %1 {axis = 1 : i64, stride = 1 : i64, step = 1 : i64}
          : (tensor<2x6xf32>) -> tensor<2x4x3xf32>
      return %2 : tensor<2x4x3xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on what looks like windows and is none">];
}

def SimplifyPass : Pass<"simplify", "::mlir::func::FuncOp"> {
  let summary = "Folding, identities, common subexpressions, dead code";
  let description = [{
    ```mlir
    func.func @main(%x: tensor<2x6xf32>) -> tensor<4x3xf32> {
      %0 = graph.reshape %x : (tensor<2x6xf32>) -> tensor<12xf32>
      %1 = graph.reshape %0 : (tensor<12xf32>) -> tensor<4x3xf32>
      %2 = graph.neg %x : (tensor<2x6xf32>) -> tensor<2x6xf32>
      return %1 : tensor<4x3xf32>
    }
    // becomes
    func.func @main(%x: tensor<2x6xf32>) -> tensor<4x3xf32> {
      %0 = graph.reshape %x : (tensor<2x6xf32>) -> tensor<4x3xf32>
      return %0 : tensor<4x3xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

def UnifySizesPass : Pass<"unify-sizes", "::mlir::func::FuncOp"> {
  let summary = "One symbol for sizes of inputs that must be equal";
  let description = [{
    Exporters that are not told names give each axis of each input one of its
    own. Where the graph requires that two are equal, all of them become the one
    that comes first; what was promised of either holds for it. A symbol that
    must equal an expression of others becomes that. Not where only a branch or
    a loop requires it, nor where a size may be 1 instead.

    ```mlir
    func.func @main(%x: tensor<?x4xf32, #graph.dims<B, 4>>,
                    %y: tensor<?x4xf32, #graph.dims<C, 4>>)
        -> tensor<?x8xf32, #graph.dims<B, 8>> {
      graph.require {message = "sizes must be equal",
                     relation = #graph<relation equal>,
                     sizes = #graph.dims<B, C>} : () -> ()
      %0 = graph.concat %x, %y {axis = 1 : i64}
          : (tensor<?x4xf32, #graph.dims<B, 4>>,
             tensor<?x4xf32, #graph.dims<C, 4>>)
          -> tensor<?x8xf32, #graph.dims<B, 8>>
      return %0 : tensor<?x8xf32, #graph.dims<B, 8>>
    }
    // becomes
    func.func @main(%x: tensor<?x4xf32, #graph.dims<B, 4>>,
                    %y: tensor<?x4xf32, #graph.dims<B, 4>>)
        -> tensor<?x8xf32, #graph.dims<B, 8>> {
      graph.require {message = "sizes must be equal",
                     relation = #graph<relation equal>,
                     sizes = #graph.dims<B, B>} : () -> ()
      %0 = graph.concat %x, %y {axis = 1 : i64}
          : (tensor<?x4xf32, #graph.dims<B, 4>>,
             tensor<?x4xf32, #graph.dims<B, 4>>)
          -> tensor<?x8xf32, #graph.dims<B, 8>>
      return %0 : tensor<?x8xf32, #graph.dims<B, 8>>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on sizes that may be equal or 1">];
}

def ReduceProductsPass : Pass<"reduce-products", "::mlir::func::FuncOp"> {
  let summary = "Products by a vector, row by row";
  let description = [{
    A product of f32 by one column becomes the sums of the rows of its matrix
    times that column; so does one of one row by a matrix that is transposed.
    One by a single column of a matrix that is transposed becomes one of a
    single row by the matrix as it lies. A product of one step becomes an
    element-wise one. Products whose operands were rounded to 16 bits stay, and
    so do those of which several batches share the matrix. CPUs only.

    ```mlir
    func.func @main(%x: tensor<2x3x8xf32>, %v: tensor<2x8x1xf32>) -> tensor<2x3x1xf32> {
      %0 = graph.matmul %x, %v : (tensor<2x3x8xf32>, tensor<2x8x1xf32>) -> tensor<2x3x1xf32>
      return %0 : tensor<2x3x1xf32>
    }
    // becomes
    func.func @main(%x: tensor<2x3x8xf32>, %v: tensor<2x8x1xf32>) -> tensor<2x3x1xf32> {
      %0 = graph.reshape %v : (tensor<2x8x1xf32>) -> tensor<2x1x8xf32>
      %1 = graph.mul %x, %0 : (tensor<2x3x8xf32>, tensor<2x1x8xf32>) -> tensor<2x3x8xf32>
      %2 = graph.reduce %1 {axes = array<i64: 2>, kind = #graph<reduce_kind sum>}
          : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
      return %2 : tensor<2x3x1xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

def SplitReductionsPass : Pass<"split-reductions", "::mlir::func::FuncOp"> {
  let summary = "A few neighbours are joined last";
  let description = [{
    A reduction over a few neighbours and over axes in front of one that stays
    becomes two: first over those axes, then over the neighbours. Fires for sums
    and means of f32 and f64, and for extremes.

    ```mlir
    func.func @main(%x: tensor<2x64x8x4xf32>) -> tensor<2x1x8x1xf32> {
      %0 = graph.reduce %x {kind = #graph<reduce_kind mean>, axes = array<i64: 1, 3>}
          : (tensor<2x64x8x4xf32>) -> tensor<2x1x8x1xf32>
      return %0 : tensor<2x1x8x1xf32>
    }
    // becomes
    func.func @main(%x: tensor<2x64x8x4xf32>) -> tensor<2x1x8x1xf32> {
      %0 = graph.reduce %x {axes = array<i64: 1>, kind = #graph<reduce_kind mean>}
          : (tensor<2x64x8x4xf32>) -> tensor<2x1x8x4xf32>
      %1 = graph.reduce %0 {axes = array<i64: 3>, kind = #graph<reduce_kind mean>}
          : (tensor<2x1x8x4xf32>) -> tensor<2x1x8x1xf32>
      return %1 : tensor<2x1x8x1xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

def SkipExpertsPass : Pass<"skip-experts", "::mlir::func::FuncOp"> {
  let summary = "Compute only what a mixture of experts chooses";
  let description = [{
    Where the rows of all experts are multiplied by weights most of which are
    zero (or what the last product is computed of is), and summed, a row with a
    weight of zero is chosen to be zero, and so are the rows that it is computed
    of. Kernels do not compute rows that are
    not chosen. The result is the same where what the experts give is finite;
    an infinity that was multiplied by zero is gone.

    ```mlir
    func.func @main(%x: tensor<8x5x16xf32>, %u: tensor<2x5x1xf32>,
                    %j: tensor<2x5x1xi64>,
                    %w: tensor<8x16x4xf32>) -> tensor<1x5x4xf32> {
      %0 = graph.constant {value = dense<0.0> : tensor<8x5x1xf32>}
          : () -> tensor<8x5x1xf32>
      %1 = graph.scatter_elements %0, %j, %u {axis = 0 : i64,
          kind = #graph<scatter_kind assign>} : (tensor<8x5x1xf32>,
          tensor<2x5x1xi64>, tensor<2x5x1xf32>) -> tensor<8x5x1xf32>
      %2 = graph.matmul %x, %w
          : (tensor<8x5x16xf32>, tensor<8x16x4xf32>) -> tensor<8x5x4xf32>
      %3 = graph.mul %2, %1
          : (tensor<8x5x4xf32>, tensor<8x5x1xf32>) -> tensor<8x5x4xf32>
      %4 = graph.reduce %3 {axes = array<i64: 0>,
          kind = #graph<reduce_kind sum>}
          : (tensor<8x5x4xf32>) -> tensor<1x5x4xf32>
      return %4 : tensor<1x5x4xf32>
    }
    // becomes
    func.func @main(%x: tensor<8x5x16xf32>, %u: tensor<2x5x1xf32>,
                    %j: tensor<2x5x1xi64>,
                    %w: tensor<8x16x4xf32>) -> tensor<1x5x4xf32> {
      %0 = graph.constant {value = dense<0.0> : tensor<8x5x1xf32>}
          : () -> tensor<8x5x1xf32>
      %1 = graph.scatter_elements %0, %j, %u {axis = 0 : i64,
          kind = #graph<scatter_kind assign>} : (tensor<8x5x1xf32>,
          tensor<2x5x1xi64>, tensor<2x5x1xf32>) -> tensor<8x5x1xf32>
      %2 = graph.constant {value = dense<0.0> : tensor<f32>}
          : () -> tensor<f32>
      %3 = graph.equal %1, %2
          : (tensor<8x5x1xf32>, tensor<f32>) -> tensor<8x5x1xi1>
      %4 = graph.matmul %x, %w
          : (tensor<8x5x16xf32>, tensor<8x16x4xf32>) -> tensor<8x5x4xf32>
      %5 = graph.mul %4, %1
          : (tensor<8x5x4xf32>, tensor<8x5x1xf32>) -> tensor<8x5x4xf32>
      %6 = graph.select %3, %2, %5 : (tensor<8x5x1xi1>, tensor<f32>,
          tensor<8x5x4xf32>) -> tensor<8x5x4xf32>
      %7 = graph.reduce %6 {axes = array<i64: 0>,
          kind = #graph<reduce_kind sum>}
          : (tensor<8x5x4xf32>) -> tensor<1x5x4xf32>
      return %7 : tensor<1x5x4xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on mixtures that compute all experts: why">];
}

def PadRecurrentUnitsPass
    : Pass<"pad-recurrent-units", "::mlir::func::FuncOp"> {
  let summary = "Recurrent cells have whole vectors of hidden units";
  let description = [{
    A cell whose hidden units are no multiple of 16 gets as many more as are
    missing, with weights of zeros: they stay zero, and are cut off its results.
    Cells of less than five units are left alone. Fires where the weights are stored and activations are Sigmoid and Tanh,
    which keep what is zero finite.

    ```mlir
    func.func @main(%x: tensor<7x2x3xf32>) -> tensor<7x1x2x5xf32> {
      %w = graph.weight {name = "w"} : () -> tensor<1x5x3xf32>
      %r = graph.weight {name = "r"} : () -> tensor<1x5x5xf32>
      %all, %h, %c = graph.recurrent %x, %w, %r {
          operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>,
          cell = #graph<cell_kind rnn>, direction = "forward",
          activations = ["Tanh"], alpha = array<f64>, beta = array<f64>,
          clip = 0.0 : f64, linear_before_reset = false, input_forget = false}
          : (tensor<7x2x3xf32>, tensor<1x5x3xf32>, tensor<1x5x5xf32>)
          -> (tensor<7x1x2x5xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>)
      return %all : tensor<7x1x2x5xf32>
    }
    // becomes
    func.func @main(%x: tensor<7x2x3xf32>) -> tensor<7x1x2x5xf32> {
      %w = graph.weight {name = "w"} : () -> tensor<1x5x3xf32>
      %r = graph.weight {name = "r"} : () -> tensor<1x5x5xf32>
      %0 = graph.reshape %w : (tensor<1x5x3xf32>) -> tensor<1x1x5x3xf32>
      %1 = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
      %2 = graph.pad %0, %1 {low = #graph.dims<0, 0, 0, 0>,
          mode = #graph<pad_mode constant>}
          : (tensor<1x1x5x3xf32>, tensor<f32>) -> tensor<1x1x16x3xf32>
      %3 = graph.reshape %2 : (tensor<1x1x16x3xf32>) -> tensor<1x16x3xf32>
      %4 = graph.reshape %r : (tensor<1x5x5xf32>) -> tensor<1x1x5x5xf32>
      %5 = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
      %6 = graph.pad %4, %5 {low = #graph.dims<0, 0, 0, 0>,
          mode = #graph<pad_mode constant>}
          : (tensor<1x1x5x5xf32>, tensor<f32>) -> tensor<1x1x16x5xf32>
      %7 = graph.reshape %6 : (tensor<1x1x16x5xf32>) -> tensor<1x16x5xf32>
      %8 = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
      %9 = graph.pad %7, %8 {low = #graph.dims<0, 0, 0>,
          mode = #graph<pad_mode constant>}
          : (tensor<1x16x5xf32>, tensor<f32>) -> tensor<1x16x16xf32>
      %all, %h, %c = graph.recurrent %x, %3, %9 {
          operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>,
          cell = #graph<cell_kind rnn>, direction = "forward",
          activations = ["Tanh"], alpha = array<f64>, beta = array<f64>,
          clip = 0.0 : f64, linear_before_reset = false, input_forget = false}
          : (tensor<7x2x3xf32>, tensor<1x16x3xf32>, tensor<1x16x16xf32>)
          -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
      %10 = graph.slice %all {starts = #graph.dims<0, 0, 0, 0>,
          steps = #graph.dims<1, 1, 1, 1>}
          : (tensor<7x1x2x16xf32>) -> tensor<7x1x2x5xf32>
      return %10 : tensor<7x1x2x5xf32>
    }
    ```
  }];
}

def ProjectRecurrentInputsPass
    : Pass<"project-recurrent-inputs", "::mlir::func::FuncOp"> {
  let summary = "The inputs of recurrent cells are multiplied at once";
  let description = [{
    What a cell makes of its input does not depend on its state, so it is one
    product for all steps and directions, with the biases, but for the one that
    a GRU adds behind its reset gate. Fires where the weights are stored, in f32
    or f64; others would be rounded on the way.

    ```mlir
    func.func @main(%x: tensor<7x2x3xf32>, %r: tensor<1x5x5xf32>)
        -> tensor<7x1x2x5xf32> {
      %w = graph.weight {name = "w"} : () -> tensor<1x5x3xf32>
      %all, %h, %c = graph.recurrent %x, %w, %r {
          operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>,
          cell = #graph<cell_kind rnn>, direction = "forward",
          activations = ["Tanh"], alpha = array<f64>, beta = array<f64>,
          clip = 0.0 : f64, linear_before_reset = false, input_forget = false}
          : (tensor<7x2x3xf32>, tensor<1x5x3xf32>, tensor<1x5x5xf32>)
          -> (tensor<7x1x2x5xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>)
      return %all : tensor<7x1x2x5xf32>
    }
    // becomes
    func.func @main(%x: tensor<7x2x3xf32>, %r: tensor<1x5x5xf32>)
        -> tensor<7x1x2x5xf32> {
      %w = graph.weight {name = "w"} : () -> tensor<1x5x3xf32>
      %0 = graph.reshape %w : (tensor<1x5x3xf32>) -> tensor<5x3xf32>
      %1 = graph.transpose %0 {permutation = array<i64: 1, 0>}
          : (tensor<5x3xf32>) -> tensor<3x5xf32>
      %2 = graph.reshape %x : (tensor<7x2x3xf32>) -> tensor<14x3xf32>
      %3 = graph.matmul %2, %1
          : (tensor<14x3xf32>, tensor<3x5xf32>) -> tensor<14x5xf32>
      %4 = graph.reshape %3 : (tensor<14x5xf32>) -> tensor<7x2x5xf32>
      %all, %h, %c = graph.recurrent %4, %r {
          operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>,
          cell = #graph<cell_kind rnn>, direction = "forward",
          activations = ["Tanh"], alpha = array<f64>, beta = array<f64>,
          clip = 0.0 : f64, linear_before_reset = false, input_forget = false}
          : (tensor<7x2x5xf32>, tensor<1x5x5xf32>)
          -> (tensor<7x1x2x5xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>)
      return %all : tensor<7x1x2x5xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

def ViewWeightsPass : Pass<"view-weights", "::mlir::func::FuncOp"> {
  let summary = "Products read transposed weights as they lie";
  let description = [{
    A weight that is the transpose of another, and that only products multiply
    by, becomes a view of the other: where that one is used as well, so that it
    is stored once, or where rows of the transpose do not all begin at multiples
    of 16 bytes. For targets that do not pack weights.
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

#endif // TENON_COMPILER_TRANSFORMS_PASSES_TD
