//===- GraphOps.td - Ops of the Graph dialect ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_DIALECTS_GRAPH_GRAPHOPS_TD
#define TENON_DIALECTS_GRAPH_GRAPHOPS_TD

include "dialects/Graph/GraphDialect.td"
include "dialects/Graph/GraphPointwise.td"

include "mlir/Interfaces/ControlFlowInterfaces.td"

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

def Graph_WeightOp : Graph_Op<"weight", [Pure]> {
  let summary = "A tensor of the WeightStore, by name";
  let description = [{
    ```mlir
    %w = graph.weight {name = "fc.weight"} : () -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs Graph_Tensor:$result);
}
def Graph_ConstantOp : Graph_Op<"constant", [Pure, ConstantLike]> {
  let summary = "A small tensor, kept in the IR";
  let description = [{
    At most a few hundred bytes; larger ones are weights.

    ```mlir
    %c = graph.constant {value = dense<[1, 2]> : tensor<2xi64>} : () -> tensor<2xi64>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Graph_Tensor:$result);
  let hasFolder = 1;
  let hasVerifier = 1;
}
def Graph_SizesOp : Graph_Op<"sizes", [Pure, ConstantLike]> {
  let summary = "An integer tensor whose elements are size expressions";
  let description = [{
    Row-major elements. All that folds from `Shape` nodes ends here, and no
    kernel is made for it unless a kernel reads the numbers.

    ```mlir
    %s = graph.sizes {value = #graph.dims<B, 2 * S, 64>} : () -> tensor<3xi64>
    ```
  }];
  let arguments = (ins Graph_DimsAttr:$value);
  let results = (outs Graph_IndexTensor:$result);
  let hasFolder = 1;
  let hasVerifier = 1;
}
def Graph_BindOp : Graph_Op<"bind"> {
  let summary = "Reads integers of a tensor into symbols, at run time";
  let description = [{
    The i-th element of the input becomes the i-th symbol; ops after this one
    may use the symbols in types and attributes. A value outside [lo, hi] is an
    error that names the node.

    ```mlir
    graph.bind %n {symbols = ["n"], lo = array<i64: 0>, hi = array<i64: 9>}
        : (tensor<1xi64>) -> ()
    ```
  }];
  let arguments = (ins Graph_IndexTensor:$input, StrArrayAttr:$symbols,
                       DenseI64ArrayAttr:$lo, DenseI64ArrayAttr:$hi);
  let hasVerifier = 1;
}
def Graph_RequireOp : Graph_Op<"require"> {
  let summary = "An obligation on sizes, checked when the symbols are known";
  let description = [{
    ```mlir
    graph.require {sizes = #graph.dims<8, B * S>,
        relation = #graph<relation divides>,
        message = "node 'r': B * S must be a multiple of 8"} : () -> ()
    ```
  }];
  let arguments = (ins Graph_DimsAttr:$sizes, Graph_RelationAttr:$relation,
                       StrAttr:$message);
  let hasVerifier = 1; // Two sizes: left and right of the relation.
}
def Graph_IotaOp : Graph_Op<"iota", [Pure]> {
  let summary = "0, 1, 2, ... along the only axis";
  let description = [{
    ```mlir
    %i = graph.iota : () -> tensor<?xi64, #graph.dims<S>>
    ```
  }];
  let results = (outs Graph_NumberTensor:$result);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

def Graph_ReshapeOp : Graph_Op<"reshape", [Pure]> {
  let summary = "The same elements in row-major order under another shape";
  let description = [{
    ```mlir
    %y = graph.reshape %x : (tensor<?x6xf32, #graph.dims<B, 6>>)
        -> tensor<?x2x3xf32, #graph.dims<B, 2, 3>>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input);
  let results = (outs Graph_Tensor:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Graph_BroadcastOp : Graph_Op<"broadcast", [Pure]> {
  let summary = "Repeat along axes of size one and new leading axes";
  let description = [{
    Input axes align with the last result axes; each is 1 or equal to the
    result's.

    ```mlir
    %y = graph.broadcast %x : (tensor<1x3xf32>)
        -> tensor<4x?x3xf32, #graph.dims<4, S, 3>>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input);
  let results = (outs Graph_Tensor:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Graph_TransposeOp : Graph_InferredOp<"transpose"> {
  let summary = "result axis i is input axis permutation[i]";
  let description = [{
    ```mlir
    %y = graph.transpose %x {permutation = array<i64: 1, 0>}
        : (tensor<2x3xf32>) -> tensor<3x2xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Graph_Tensor:$result);
  let hasFolder = 1;
}
def Graph_SliceOp : Graph_Op<"slice", [Pure]> {
  let summary = "result[i] = input[starts + i * steps], every axis listed";
  let description = [{
    Starts are inside the axis (or the result is empty along it); steps may be
    negative. Both have one entry per axis.

    ```mlir
    %odd = graph.slice %x {starts = #graph.dims<1, 0>,
        steps = #graph.dims<2, 1>} : (tensor<6x3xf32>) -> tensor<3x3xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Graph_DimsAttr:$starts,
                       Graph_DimsAttr:$steps);
  let results = (outs Graph_Tensor:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Graph_WindowsOp : Graph_Op<"windows", [Pure]> {
  let summary = "Windows of an axis at equal distances; they may overlap";
  let description = [{
    result[a.., w, i, b..] = input[a.., w * stride + i * step, b..]: `axis`
    becomes two, of the windows and of the positions in one. Both factors are
    positive, and the last position of the last window is inside the axis.

    ```mlir
    %y = graph.windows %x {axis = 1 : i64, stride = 1 : i64, step = 1 : i64}
        : (tensor<3x9xf32>) -> tensor<3x6x4xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, I64Attr:$axis, I64Attr:$stride,
                       I64Attr:$step);
  let results = (outs Graph_Tensor:$result);
  let hasVerifier = 1;
}
def Graph_ConcatOp : Graph_InferredOp<"concat"> {
  let summary = "Operands one after another along an axis";
  let description = [{
    ```mlir
    %y = graph.concat %a, %b {axis = 0 : i64}
        : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
    ```
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs Graph_Tensor:$result);
  let hasFolder = 1;
}
def Graph_AppendOp : Graph_Op<"append", [Pure]> {
  let summary = "Rows behind the `length` rows that a buffer holds";
  let description = [{
    Along `axis`, result[.., t, ..] is buffer[.., t, ..] for t < length, and
    rows[.., t - length, ..] behind that. Buffer and result may have room for
    more rows; what lies there is not specified. When both are the same memory
    with the same room, only the new rows are written.

    ```mlir
    %y = graph.append %cache, %k {axis = 1 : i64, length = #graph.dims<P>}
        : (tensor<2x?x8xf32, #graph.dims<2, room, 8>>,
           tensor<2x?x8xf32, #graph.dims<2, S, 8>>)
        -> tensor<2x?x8xf32, #graph.dims<2, more, 8>>
    ```
  }];
  let arguments = (ins Graph_Tensor:$buffer, Graph_Tensor:$rows, I64Attr:$axis,
                       Graph_DimsAttr:$length);
  let results = (outs Graph_Tensor:$result);
  let hasVerifier = 1;
}
def Graph_PadOp : Graph_Op<"pad", [Pure]> {
  let summary = "Border before and after each axis; negative borders crop";
  let description = [{
    `low` is the border before each axis; the result's dims give the rest.
    `value` (rank 0) fills in mode `constant` only.

    ```mlir
    %y = graph.pad %x, %zero {low = #graph.dims<0, 1>,
        mode = #graph<pad_mode constant>}
        : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x5xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$value,
                       Graph_DimsAttr:$low, Graph_PadModeAttr:$mode);
  let results = (outs Graph_Tensor:$result);
  let hasVerifier = 1;
}
def Graph_GatherOp : Graph_InferredOp<"gather"> {
  let summary = "Slices of the input along one axis, picked by index";
  let description = [{
    result[a.., i.., b..] = input[a.., indices[i..], b..]. A negative index
    counts from the end; one out of range is a fault of the data.

    ```mlir
    %rows = graph.gather %x, %i {axis = 0 : i64}
        : (tensor<9x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Graph_IndexTensor:$indices,
                       I64Attr:$axis);
  let results = (outs Graph_Tensor:$result);
  let hasFolder = 1;
}
def Graph_GatherElementsOp : Graph_InferredOp<"gather_elements"> {
  let summary = "result[i..] = input[i.. with the axis replaced by indices[i..]]";
  let description = [{
    ```mlir
    %y = graph.gather_elements %x, %i {axis = 1 : i64}
        : (tensor<2x9xf32>, tensor<2x4xi64>) -> tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Graph_IndexTensor:$indices,
                       I64Attr:$axis);
  let results = (outs Graph_Tensor:$result);
}
def Graph_GatherNdOp : Graph_InferredOp<"gather_nd"> {
  let summary = "Slices of the input, each picked by a vector of indices";
  let description = [{
    ```mlir
    %y = graph.gather_nd %x, %i {batch_dims = 0 : i64}
        : (tensor<5x6x7xf32>, tensor<4x2xi64>) -> tensor<4x7xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Graph_IndexTensor:$indices,
                       I64Attr:$batch_dims);
  let results = (outs Graph_Tensor:$result);
}
def Graph_ScatterElementsOp : Graph_InferredOp<"scatter_elements"> {
  let summary = "The input with single elements along an axis replaced";
  let description = [{
    Updates are applied in row-major order.

    ```mlir
    %y = graph.scatter_elements %x, %i, %u {axis = 0 : i64,
        kind = #graph<scatter_kind add>}
        : (tensor<5x3xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<5x3xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Graph_IndexTensor:$indices,
                       Graph_Tensor:$updates, I64Attr:$axis,
                       Graph_ScatterKindAttr:$kind);
  let results = (outs Graph_Tensor:$result);
}
def Graph_ScatterNdOp : Graph_InferredOp<"scatter_nd"> {
  let summary = "The input with slices, each found by an index vector, replaced";
  let description = [{
    Updates are applied in row-major order.

    ```mlir
    %y = graph.scatter_nd %x, %i, %u {kind = #graph<scatter_kind assign>}
        : (tensor<5x3xf32>, tensor<2x1xi64>, tensor<2x3xf32>) -> tensor<5x3xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Graph_IndexTensor:$indices,
                       Graph_Tensor:$updates, Graph_ScatterKindAttr:$kind);
  let results = (outs Graph_Tensor:$result);
}
def Graph_NonzeroOp : Graph_Op<"nonzero", [Pure]> {
  let summary = "Row-major coordinates [rank, n] of the elements that are not 0";
  let description = [{
    n has been bound from a count of the same input.

    ```mlir
    %where = graph.nonzero %x
        : (tensor<2x3xf32>) -> tensor<2x?xi64, #graph.dims<2, n>>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input);
  let results = (outs Graph_IndexTensor:$result);
  let hasVerifier = 1;
}
def Graph_ResizeOp : Graph_Op<"resize", [Pure]> {
  let summary = "Resample to the result's dims";
  let description = [{
    The coordinate formulas of ONNX Resize. `scales` holds the given scale per
    axis, or is empty where result / input is to be used. Nearest rounds by
    `nearest` (round_prefer_floor, round_prefer_ceil, floor, ceil). `roi` has
    2 * rank numbers for tf_crop_and_resize.

    ```mlir
    %y = graph.resize %x {mode = #graph<resize_mode linear>,
        coordinates = "half_pixel", nearest = "floor", scales = array<f64>,
        roi = array<f64>, cubic_coefficient = -0.75 : f64,
        exclude_outside = false, extrapolation = 0.0 : f64, antialias = false}
        : (tensor<1x3x8x8xf32>) -> tensor<1x3x16x16xf32>
    ```
  }];
  let arguments = (ins Graph_NumberTensor:$input, Graph_ResizeModeAttr:$mode,
                       StrAttr:$coordinates, StrAttr:$nearest,
                       DenseF64ArrayAttr:$scales, DenseF64ArrayAttr:$roi,
                       F64Attr:$cubic_coefficient, BoolAttr:$exclude_outside,
                       F64Attr:$extrapolation, BoolAttr:$antialias);
  let results = (outs Graph_NumberTensor:$result);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Contractions and windows
//===----------------------------------------------------------------------===//

def Graph_MatmulOp : Graph_InferredOp<"matmul", [SameOperandsElementType]> {
  let summary = "Batched matrix product";
  let description = [{
    result[b.., m, n] = sum over k of lhs[b.., m, k] * rhs[b.., k, n]; the
    batch axes broadcast. Both operands have rank 2 or more. Floats accumulate
    in f32 (f64 for f64) and are rounded once; integers wrap.

    ```mlir
    %y = graph.matmul %a, %b : (tensor<?x4x8xf16, #graph.dims<B, 4, 8>>,
        tensor<8x16xf16>) -> tensor<?x4x16xf16, #graph.dims<B, 4, 16>>
    ```
  }];
  let arguments = (ins Graph_NumberTensor:$lhs, Graph_NumberTensor:$rhs);
  let results = (outs Graph_NumberTensor:$result);
}
def Graph_ConvOp : Graph_InferredOp<"conv", [SameOperandsElementType]> {
  let summary = "Convolution, NCHW-like, over any number of spatial axes";
  let description = [{
    input [N, C, d..], filter [M, C / group, k..] -> [N, M, o..], with
    o = floor((d + low + high - dilation * (k - 1) - 1) / stride) + 1. `pads`
    lists all lows, then all highs. With `channels_last`, input and result are
    [N, d.., C] and [N, o.., M]; the filter stays as it is.

    ```mlir
    %y = graph.conv %x, %w {strides = array<i64: 2, 2>,
        dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>,
        group = 1 : i64}
        : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x4x4xf32>
    ```
  }];
  let arguments = (ins Graph_NumberTensor:$input, Graph_NumberTensor:$filter,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       Graph_DimsAttr:$pads, I64Attr:$group,
                       UnitAttr:$channels_last);
  let results = (outs Graph_NumberTensor:$result);
}
def Graph_ConvTransposeOp : Graph_Op<"conv_transpose",
    [Pure, SameOperandsElementType]> {
  let summary = "Transposed convolution; pads crop the result";
  let description = [{
    input [N, C, d..], filter [C, M / group, k..] -> [N, M, o..]. Element
    result[o] sums input[i] * filter[k] over o = i * stride + k * dilation - low.
    The result's dims are given.

    ```mlir
    %y = graph.conv_transpose %x, %w {strides = array<i64: 2>,
        dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64}
        : (tensor<1x3x4xf32>, tensor<3x2x2xf32>) -> tensor<1x2x8xf32>
    ```
  }];
  let arguments = (ins Graph_NumberTensor:$input, Graph_NumberTensor:$filter,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       Graph_DimsAttr:$pads, I64Attr:$group);
  let results = (outs Graph_NumberTensor:$result);
  let hasVerifier = 1;
}
class Graph_Pool<string mnemonic, dag extra> : Graph_Op<mnemonic, [Pure]> {
  let arguments = !con((ins Graph_NumberTensor:$input,
      DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
      DenseI64ArrayAttr:$dilations, Graph_DimsAttr:$pads), extra);
  let results = (outs Graph_NumberTensor:$result);
  let hasVerifier = 1;
}
def Graph_MaxPoolOp : Graph_Pool<"max_pool", (ins UnitAttr:$channels_last)> {
  let summary = "Largest element of each window inside the input";
  let description = [{
    With `channels_last`, input and result are [N, d.., C].

    ```mlir
    %y = graph.max_pool %x {kernel = array<i64: 2>,
        strides = array<i64: 2>, dilations = array<i64: 1>,
        pads = #graph.dims<0, 0>} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
    ```
  }];
}
def Graph_AveragePoolOp : Graph_Pool<"average_pool",
    (ins BoolAttr:$count_pads, UnitAttr:$channels_last)> {
  let summary = "Mean of each window";
  let description = [{
    Divides by the number of elements inside the input, or with `count_pads` by
    the number inside the padded input. With `channels_last`, input and result
    are [N, d.., C].

    ```mlir
    %y = graph.average_pool %x {kernel = array<i64: 2>,
        strides = array<i64: 2>, dilations = array<i64: 1>,
        pads = #graph.dims<0, 0>, count_pads = false}
        : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
    ```
  }];
}
def Graph_LpPoolOp : Graph_Pool<"lp_pool", (ins I64Attr:$p)> {
  let summary = "p-norm of each window";
  let description = [{
    ```mlir
    %y = graph.lp_pool %x {kernel = array<i64: 2>,
        strides = array<i64: 2>, dilations = array<i64: 1>,
        pads = #graph.dims<0, 0>, p = 2 : i64}
        : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
    ```
  }];
}
def Graph_MaxPoolIndicesOp : Graph_Op<"max_pool_indices", [Pure]> {
  let summary = "Flat index in the input of the element that max_pool picks";
  let description = [{
    ```mlir
    %y = graph.max_pool_indices %x {kernel = array<i64: 2>,
        strides = array<i64: 2>, dilations = array<i64: 1>,
        pads = #graph.dims<0, 0>, column_major = false}
        : (tensor<1x3x8xf32>) -> tensor<1x3x4xi64>
    ```
  }];
  let arguments = (ins Graph_NumberTensor:$input,
      DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
      DenseI64ArrayAttr:$dilations, Graph_DimsAttr:$pads,
      BoolAttr:$column_major);
  let results = (outs Graph_IndexTensor:$result);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

def Graph_ReduceOp : Graph_InferredOp<"reduce"> {
  let summary = "Combine all elements along some axes, which stay with size 1";
  let description = [{
    Of no element: sum 0, prod 1, max and min the type's lowest and highest
    (infinities for floats), mean NaN. Floats accumulate in f32 at least.

    ```mlir
    %sums = graph.reduce %x {axes = array<i64: 1>,
        kind = #graph<reduce_kind sum>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, DenseI64ArrayAttr:$axes,
                       Graph_ReduceKindAttr:$kind);
  let results = (outs Graph_Tensor:$result);
  let hasFolder = 1;
}
def Graph_ArgReduceOp : Graph_InferredOp<"arg_reduce"> {
  let summary = "i64 index of the largest (kind max) or smallest along an axis";
  let description = [{
    The axis stays with size 1; of equals the first, or the last.

    ```mlir
    %i = graph.arg_reduce %x {axis = 1 : i64,
        kind = #graph<reduce_kind max>, last = false}
        : (tensor<4x8xf32>) -> tensor<4x1xi64>
    ```
  }];
  let arguments = (ins Graph_NumberTensor:$input, I64Attr:$axis,
                       Graph_ReduceKindAttr:$kind, BoolAttr:$last);
  let results = (outs Graph_IntTensor:$result);
}
def Graph_SoftmaxOp : Graph_InferredOp<"softmax"> {
  let summary = "exp(x - max) / sum along one axis";
  let description = [{
    ```mlir
    %y = graph.softmax %x {axis = 1 : i64}
        : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$input, I64Attr:$axis);
  let results = (outs Graph_FloatTensor:$result);
}
def Graph_LogSoftmaxOp : Graph_InferredOp<"log_softmax"> {
  let summary = "x - max - log(sum of exp(x - max)) along one axis";
  let description = [{
    ```mlir
    %y = graph.log_softmax %x {axis = 1 : i64}
        : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$input, I64Attr:$axis);
  let results = (outs Graph_FloatTensor:$result);
}
def Graph_LayerNormOp : Graph_InferredOp<"layer_norm"> {
  let summary = "(x - mean) / sqrt(variance + epsilon) over the axes from `axis` on";
  let description = [{
    In f32 (f64 for f64), rounded once; no scale and bias, which are ordinary
    multiplications behind it.

    ```mlir
    %y = graph.layer_norm %x {axis = 1 : i64, epsilon = 1.0e-05 : f64}
        : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$input, I64Attr:$axis,
                       F64Attr:$epsilon);
  let results = (outs Graph_FloatTensor:$result);
}
def Graph_RmsNormOp : Graph_InferredOp<"rms_norm"> {
  let summary = "x / sqrt(mean of x^2 + epsilon) over the axes from `axis` on";
  let description = [{
    ```mlir
    %y = graph.rms_norm %x {axis = 1 : i64, epsilon = 1.0e-05 : f64}
        : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$input, I64Attr:$axis,
                       F64Attr:$epsilon);
  let results = (outs Graph_FloatTensor:$result);
}
def Graph_CumulativeOp : Graph_InferredOp<"cumulative"> {
  let summary = "Running sum or product along an axis";
  let description = [{
    ```mlir
    %y = graph.cumulative %x {axis = 1 : i64,
        kind = #graph<reduce_kind sum>, exclusive = false, reverse = false}
        : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Graph_NumberTensor:$input, I64Attr:$axis,
                       Graph_ReduceKindAttr:$kind, BoolAttr:$exclusive,
                       BoolAttr:$reverse);
  let results = (outs Graph_NumberTensor:$result);
}
def Graph_SuppressOp : Graph_InferredOp<"suppress"> {
  let summary = "Which candidates of a row of boxes overlap none kept before";
  let description = [{
    Along the last axis of `candidates` [..., n], in order: one is kept unless
    `limit` of its row are kept before it, or the area that it shares with one
    of these, divided by that of both together, is above `threshold`. `boxes`
    [..., n, 4] are two opposite corners, in f32, as is the arithmetic; one
    without area shares none.

    ```mlir
    %y = graph.suppress %boxes, %candidates, %threshold, %limit
        : (tensor<2x9x4xf32>, tensor<2x9xi1>, tensor<f32>, tensor<i64>)
        -> tensor<2x9xi1>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$boxes, Graph_BoolTensor:$candidates,
                       Graph_FloatTensor:$threshold, Graph_IndexTensor:$limit);
  let results = (outs Graph_BoolTensor:$result);
}
def Graph_TopkOp : Graph_Op<"topk", [Pure]> {
  let summary = "The k largest or smallest along an axis, sorted, and where";
  let description = [{
    k is the result's dim; more than there are is a fault. Equal values keep
    the order of their indices.

    ```mlir
    %values, %indices = graph.topk %x {axis = 1 : i64, largest = true}
        : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
    ```
  }];
  let arguments = (ins Graph_NumberTensor:$input, I64Attr:$axis,
                       BoolAttr:$largest);
  let results = (outs Graph_NumberTensor:$values, Graph_IndexTensor:$indices);
  let hasVerifier = 1;
}
def Graph_QuantizeRowsOp : Graph_Op<"quantize_rows", [Pure]> {
  let summary = "Each row as bytes, from its least element to its greatest";
  let description = [{
    A row is the last axis. Its low and high end are those of its elements and
    of 0; a NaN or an infinity makes its scale NaN. In f32,

        scale = (high - low) / 255, or 1 where high - low < 1e-30
        zero_point = saturate(round(-low * (1 / scale)))
        numbers = saturate(round(fma(input, 1 / scale, zero_point)))

    with halves rounded to even, and 0 for NaN.

    ```mlir
    %numbers, %scale, %zero = graph.quantize_rows %x : (tensor<4x8xf32>)
        -> (tensor<4x8xui8>, tensor<4x1xf32>, tensor<4x1xui8>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$input);
  let results = (outs Graph_IntTensor:$numbers, Graph_FloatTensor:$scale,
                      Graph_IntTensor:$zero_point);
  let hasVerifier = 1;
}
def Graph_RecurrentOp : Graph_Op<"recurrent",
    [Pure, AttrSizedOperandSegments]> {
  let summary = "RNN, GRU or LSTM over a sequence, by ONNX's equations";
  let description = [{
    input [S, B, I], weights [D, G*H, I], recurrence [D, G*H, H], bias
    [D, 2*G*H], lengths [B], initial_h and initial_c [D, B, H], peepholes
    [D, 3*H]; results all [S, D, B, H], last_h and last_c [D, B, H] (last_c of
    cells without one is zeros). D is 1, or 2 for `bidirectional`. Activations
    are listed per direction. Without weights the input is x W^T + Wb of all
    gates already, [S, B, D*G*H], and the first half of the bias is not read.
    With `rounds_state` a state is rounded to bf16 where it is multiplied by the
    recurrence; what cannot multiply bf16 may leave that out.

    ```mlir
    %all, %h, %c = graph.recurrent %x, %w, %r {
        operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>,
        cell = #graph<cell_kind gru>, direction = "forward",
        activations = ["Sigmoid", "Tanh"], alpha = array<f64>,
        beta = array<f64>, clip = 0.0 : f64, linear_before_reset = false,
        input_forget = false}
        : (tensor<7x2x3xf32>, tensor<1x15x3xf32>, tensor<1x15x5xf32>)
        -> (tensor<7x1x2x5xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$input,
      Optional<Graph_FloatTensor>:$weights, Graph_FloatTensor:$recurrence,
      Optional<Graph_FloatTensor>:$bias,
      Optional<Graph_IndexTensor>:$lengths,
      Optional<Graph_FloatTensor>:$initial_h,
      Optional<Graph_FloatTensor>:$initial_c,
      Optional<Graph_FloatTensor>:$peepholes, Graph_CellKindAttr:$cell,
      StrAttr:$direction, StrArrayAttr:$activations, DenseF64ArrayAttr:$alpha,
      DenseF64ArrayAttr:$beta, F64Attr:$clip, BoolAttr:$linear_before_reset,
      BoolAttr:$input_forget, UnitAttr:$rounds_state);
  let results = (outs Graph_FloatTensor:$all, Graph_FloatTensor:$last_h,
                      Graph_FloatTensor:$last_c);
}

//===----------------------------------------------------------------------===//
// Blocks of transformers
//===----------------------------------------------------------------------===//

def Graph_AttentionOp : Graph_Op<"attention",
    [Pure, AttrSizedOperandSegments]> {
  let summary = "Scaled dot-product attention";
  let description = [{
    query [B, H, S, D], key [B, KV, T, D], value [B, KV, T, E] -> [B, H, S, E];
    KV divides H, and head h reads key head h / (H / KV). The score of query i
    and key j is

        s = scale * (query[i] . key[j])
        s = softcap * tanh(s / softcap)           where softcap > 0
        s = s + biases[b mod n, h, i, j]          for each bias

    and a key takes part when all of these hold:

        key_mask[b, j]                            where there is one
        j <= i + e                                where `causal`
        j > i + e - window                        where window > 0

    with e = offset, plus offsets[b] where there are such. A row is the softmax
    over the keys that take part, times value; of none it is, by `dead_rows`,
    zero, the mean of all T rows of value (uniform), or NaN. A bias is [n, H, S,
    T], any of them 1, where n divides B or is 1.

    In f32 (f64 for f64), rounded once.

    ```mlir
    %y = graph.attention %q, %k, %v, %m {
        operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>,
        scale = 0.125 : f64, softcap = 0.0 : f64, causal = true,
        offset = #graph.dims<P>, window = 0 : i64,
        dead_rows = #graph<dead_rows zero>}
        : (tensor<?x12x?x64xf32, #graph.dims<B, 12, S, 64>>,
           tensor<?x4x?x64xf32, #graph.dims<B, 4, P + S, 64>>,
           tensor<?x4x?x64xf32, #graph.dims<B, 4, P + S, 64>>,
           tensor<?x?xi1, #graph.dims<B, P + S>>)
        -> tensor<?x12x?x64xf32, #graph.dims<B, 12, S, 64>>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$query, Graph_FloatTensor:$key,
      Graph_FloatTensor:$value, Optional<Graph_BoolTensor>:$key_mask,
      Optional<Graph_IndexTensor>:$offsets, Variadic<Graph_FloatTensor>:$biases,
      F64Attr:$scale, F64Attr:$softcap, BoolAttr:$causal, Graph_DimsAttr:$offset,
      I64Attr:$window, Graph_DeadRowsAttr:$dead_rows);
  let results = (outs Graph_FloatTensor:$result);
  let hasVerifier = 1;
}
def Graph_LinearAttentionOp : Graph_Op<"linear_attention",
    [Pure, AttrSizedOperandSegments]> {
  let summary = "Attention by a state that each step decays and adds to";
  let description = [{
    query [B, T, H, D], key [B, T, KV, D], value [B, T, KV, E] -> all [B, T, H,
    E], last [B, KV, D, E]; KV divides H, and head h reads state h / (H / KV).
    The state S [D, E] of an entry and a head begins as `state` [B, KV, D, E],
    or zero, and ends as `last`. Step t is

        S = decay[t] * S                      by rows, where there is a decay
        v = value[t]
        v = beta[t] * (v - S^T key[t])        where there is a beta
        S = S + key[t] v^T
        all[t] = scale * S^T query[t]

    decay is [B, T, KV, D] or [B, T, KV, 1], beta [B, T, KV] or [B, T, 1]. In
    f32.

    ```mlir
    %all, %last = graph.linear_attention %q, %k, %v, %s, %g, %b {
        operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1>, scale = 0.5 : f64}
        : (tensor<2x7x8x4xf32>, tensor<2x7x2x4xf32>, tensor<2x7x2x16xf32>,
           tensor<2x2x4x16xf32>, tensor<2x7x2x1xf32>, tensor<2x7x2xf32>)
        -> (tensor<2x7x8x16xf32>, tensor<2x2x4x16xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$query, Graph_FloatTensor:$key,
      Graph_FloatTensor:$value, Optional<Graph_FloatTensor>:$state,
      Optional<Graph_FloatTensor>:$decay, Optional<Graph_FloatTensor>:$beta,
      F64Attr:$scale);
  let results = (outs Graph_FloatTensor:$all, Graph_FloatTensor:$last);
  let hasVerifier = 1;
}
def Graph_RotaryOp : Graph_InferredOp<"rotary"> {
  let summary = "Rotary position embedding of the last axis";
  let description = [{
    input [B, H, S, D], cos and sin [B, S, R / 2] (B may be 1), R even and at
    most D. Pairs (x, y) of the first R elements become (x * cos - y * sin, y *
    cos + x * sin): elements d and d + R / 2, or with `interleaved` elements 2d
    and 2d + 1. The other D - R elements stay.

    ```mlir
    %y = graph.rotary %x, %cos, %sin {interleaved = false}
        : (tensor<1x4x7x16xf32>, tensor<1x7x8xf32>, tensor<1x7x8xf32>)
        -> tensor<1x4x7x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$input, Graph_FloatTensor:$cos,
                       Graph_FloatTensor:$sin, BoolAttr:$interleaved);
  let results = (outs Graph_FloatTensor:$result);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

def Graph_IfOp : Graph_Op<"if", [SingleBlock, NoRegionArguments,
    SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects]> {
  let summary = "One of two programs, chosen by a bool at run time";
  let description = [{
    Each branch yields the results. A result dim in which the branches differ is
    a symbol of its own in the result type, set by the branch that ran.

    ```mlir
    %y = graph.if %c : (tensor<i1>) -> tensor<?xf32, #graph.dims<n>> {
      graph.yield %a : tensor<4xf32>
    } else {
      graph.yield %b : tensor<2xf32>
    }
    ```
  }];
  let arguments = (ins Graph_BoolTensor:$condition);
  let regions = (region SizedRegion<1>:$then_region,
                        SizedRegion<1>:$else_region);
  let results = (outs Variadic<Graph_Tensor>:$results);
  let assemblyFormat = [{
    $condition attr-dict-with-keyword `:` functional-type($condition, results)
    $then_region `else` $else_region
  }];
  let hasVerifier = 1;
}
def Graph_LoopOp : Graph_Op<"loop", [SingleBlock,
    SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects]> {
  let summary = "Repeats a program while a bool of the run holds";
  let description = [{
    The body is given the state and yields the condition of a next step, the
    next state, and rows. Results are the state behind the last step, and of
    each row all steps, stacked along a new first axis. Symbol `step` is the
    step's number, from 0; no more than `room` steps give rows.

    A dim of a body's argument that is a symbol of its own may change from step
    to step, as one of a result has its last value.

    ```mlir
    %sum, %all = graph.loop "i" %c, %x attributes {room = #graph.dims<M>}
        : (tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32, #graph.dims<n, 4>>) {
    ^bb0(%s: tensor<4xf32>):
      %n = graph.add %s, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      graph.yield %c, %n, %n : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Graph_BoolTensor:$condition,
                       Variadic<Graph_Tensor>:$init, StrAttr:$step,
                       Graph_DimsAttr:$room);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<Graph_Tensor>:$results);
  let assemblyFormat = [{
    $step operands attr-dict-with-keyword `:` functional-type(operands, results)
    $body
  }];
  let extraClassDeclaration = [{
    YieldOp getYield();
    /// What the body yields: the condition, the state, and what is stacked.
    ::mlir::Value getNextCondition();
    ::mlir::OperandRange getNextState();
    ::mlir::OperandRange getRows();
    /// The results: the last state, and the rows of all steps.
    ::mlir::ResultRange getLastState();
    ::mlir::ResultRange getStacks();
  }];
  let hasVerifier = 1;
}
def Graph_YieldOp : Graph_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "The values of a branch, or of a step";
  let description = [{
    ```mlir
    %y = graph.if %c : (tensor<i1>) -> tensor<4xf32> {
      graph.yield %a : tensor<4xf32>
    } else {
      graph.yield %b : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{}]>];
}

#endif // TENON_DIALECTS_GRAPH_GRAPHOPS_TD
