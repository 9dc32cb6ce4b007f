//===- GraphPointwise.td - Element by element ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every op here broadcasts its operands by the NumPy rule, computes in the
// element type (f16 and bf16 in f32) and rounds once.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_GRAPH_GRAPHPOINTWISE_TD
#define TENON_DIALECTS_GRAPH_GRAPHPOINTWISE_TD

include "dialects/Graph/GraphDialect.td"

// result[i] = f(input[i]), in the operand's type.
class Graph_Unary<string mnemonic, Type type, string element = "f32">
    : Graph_Op<mnemonic, [Pure, Graph_Pointwise, SameOperandsAndResultType]> {
  defvar tensor = "tensor<4x" # element # ">";
  let description = "```mlir\n%y = graph." # mnemonic # " %x : (" # tensor
      # ") -> " # tensor # "\n```\n";
  let arguments = (ins type:$input);
  let results = (outs type:$result);
}

// result[i] = f(lhs[i], rhs[i]); element types agree.
class Graph_Binary<string mnemonic, Type type, string element = "f32">
    : Graph_InferredOp<mnemonic, [Graph_Pointwise, SameOperandsElementType]> {
  let description = "```mlir\n%y = graph." # mnemonic # " %a, %b : (tensor<4x1x"
      # element # ">, tensor<3x" # element # ">) -> tensor<4x3x" # element
      # ">\n```\n";
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
}

// result[i] = lhs[i] REL rhs[i], a bool.
class Graph_Comparison<string mnemonic>
    : Graph_InferredOp<mnemonic, [Graph_Pointwise, SameOperandsElementType]> {
  let description = "```mlir\n%p = graph." # mnemonic
      # " %a, %b : (tensor<4xi64>, tensor<i64>) -> tensor<4xi1>\n```\n";
  let arguments = (ins Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let results = (outs Graph_BoolTensor:$result);
  let hasFolder = 1;
}

// result[i] = p(input[i]), a bool.
class Graph_Predicate<string mnemonic>
    : Graph_InferredOp<mnemonic, [Graph_Pointwise]> {
  let description = "```mlir\n%p = graph." # mnemonic
      # " %x : (tensor<4xf32>) -> tensor<4xi1>\n```\n";
  let arguments = (ins Graph_FloatTensor:$input);
  let results = (outs Graph_BoolTensor:$result);
}

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

def Graph_AbsOp : Graph_Unary<"abs", Graph_NumberTensor> {
  let summary = "Absolute value; the most negative integer stays itself";
}
def Graph_AcosOp : Graph_Unary<"acos", Graph_FloatTensor> {
  let summary = "Arc cosine";
}
def Graph_AcoshOp : Graph_Unary<"acosh", Graph_FloatTensor> {
  let summary = "Inverse hyperbolic cosine";
}
def Graph_AsinOp : Graph_Unary<"asin", Graph_FloatTensor> {
  let summary = "Arc sine";
}
def Graph_AsinhOp : Graph_Unary<"asinh", Graph_FloatTensor> {
  let summary = "Inverse hyperbolic sine";
}
def Graph_AtanOp : Graph_Unary<"atan", Graph_FloatTensor> {
  let summary = "Arc tangent";
}
def Graph_AtanhOp : Graph_Unary<"atanh", Graph_FloatTensor> {
  let summary = "Inverse hyperbolic tangent";
}
def Graph_CeilOp : Graph_Unary<"ceil", Graph_FloatTensor> {
  let summary = "Round towards plus infinity";
}
def Graph_CosOp : Graph_Unary<"cos", Graph_FloatTensor> {
  let summary = "Cosine";
}
def Graph_CoshOp : Graph_Unary<"cosh", Graph_FloatTensor> {
  let summary = "Hyperbolic cosine";
}
def Graph_ErfOp : Graph_Unary<"erf", Graph_FloatTensor> {
  let summary = "Gauss error function";
}
def Graph_ExpOp : Graph_Unary<"exp", Graph_FloatTensor> {
  let summary = "Exponential";
}
def Graph_FloorOp : Graph_Unary<"floor", Graph_FloatTensor> {
  let summary = "Round towards minus infinity";
}
def Graph_LogOp : Graph_Unary<"log", Graph_FloatTensor> {
  let summary = "Natural logarithm";
}
def Graph_NegOp : Graph_Unary<"neg", Graph_NumberTensor> {
  let summary = "Negation; integers wrap";
  let hasFolder = 1;
}
def Graph_ReciprocalOp : Graph_Unary<"reciprocal", Graph_FloatTensor> {
  let summary = "One divided by x";
}
def Graph_RoundOp : Graph_Unary<"round", Graph_FloatTensor> {
  let summary = "Round to nearest, halves to even";
}
def Graph_SigmoidOp : Graph_Unary<"sigmoid", Graph_FloatTensor> {
  let summary = "`1 / (1 + exp(-x))`";
}
def Graph_SignOp : Graph_Unary<"sign", Graph_NumberTensor> {
  let summary = "-1, 0 or 1; NaN stays NaN";
}
def Graph_SinOp : Graph_Unary<"sin", Graph_FloatTensor> {
  let summary = "Sine";
}
def Graph_SinhOp : Graph_Unary<"sinh", Graph_FloatTensor> {
  let summary = "Hyperbolic sine";
}
def Graph_SoftplusOp : Graph_Unary<"softplus", Graph_FloatTensor> {
  let summary = "`log(1 + exp(x))`, without overflow";
}
def Graph_SqrtOp : Graph_Unary<"sqrt", Graph_FloatTensor> {
  let summary = "Square root; NaN below zero";
}
def Graph_TanOp : Graph_Unary<"tan", Graph_FloatTensor> {
  let summary = "Tangent";
}
def Graph_TanhOp : Graph_Unary<"tanh", Graph_FloatTensor> {
  let summary = "Hyperbolic tangent";
}
def Graph_BitNotOp : Graph_Unary<"bit_not", Graph_IntTensor, "i32"> {
  let summary = "Bitwise complement";
}
def Graph_NotOp : Graph_Unary<"not", Graph_BoolTensor, "i1"> {
  let summary = "Logical complement";
  let hasFolder = 1;
}
def Graph_GeluOp : Graph_Op<"gelu",
    [Pure, Graph_Pointwise, SameOperandsAndResultType]> {
  let summary = "Gaussian error linear unit";
  let description = [{
    `erf`: x/2 (1 + erf(x / sqrt 2)). `tanh`: x/2 (1 + tanh(sqrt(2/pi) (x +
    0.044715 x^3))). `quick`: x sigmoid(1.702 x).

    ```mlir
    %y = graph.gelu %x {kind = #graph<gelu_kind tanh>}
        : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$input, Graph_GeluKindAttr:$kind);
  let results = (outs Graph_FloatTensor:$result);
}
def Graph_IsNanOp : Graph_Predicate<"is_nan"> {
  let summary = "Whether x is NaN";
}
def Graph_IsInfOp : Graph_InferredOp<"is_inf", [Graph_Pointwise]> {
  let summary = "Whether x is an infinity of an asked-for sign";
  let description = [{
    ```mlir
    %p = graph.is_inf %x {negative = true, positive = true}
        : (tensor<4xf32>) -> tensor<4xi1>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$input, BoolAttr:$negative,
                       BoolAttr:$positive);
  let results = (outs Graph_BoolTensor:$result);
}
def Graph_CastOp : Graph_Op<"cast", [Pure, Graph_Pointwise]> {
  let summary = "Convert the element type";
  let description = [{
    Between floats: round to nearest even, overflow to infinity. Float to
    integer: truncate; a value out of range saturates, NaN gives 0 (the
    specification leaves both open). Integer to integer: wrap. To bool: x != 0.

    ```mlir
    %y = graph.cast %x : (tensor<4xf32>) -> tensor<4xi8>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input);
  let results = (outs Graph_Tensor:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Graph_BitcastOp : Graph_Op<"bitcast", [Pure, Graph_Pointwise]> {
  let summary = "The same bits as another element type of as many";
  let description = [{
    A bool is a byte of 0 or 1, and no result.

    ```mlir
    %y = graph.bitcast %x : (tensor<4xf32>) -> tensor<4xi32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input);
  let results = (outs Graph_NumberTensor:$result);
  let hasVerifier = 1;
}
def Graph_RoundFloatOp : Graph_Op<"round_float",
    [Pure, Graph_Pointwise, SameOperandsAndResultType]> {
  let summary = "The nearest number that a float type of 8 or 4 bits has";
  let description = [{
    Halves go to even. What lies beyond the type's largest number, infinities
    too, becomes that number if it `saturates`, else the type's infinity, or NaN
    where it has none. NaN stays NaN, and is 0 in a type without.

    ```mlir
    %y = graph.round_float %x {to = f8E4M3FN, saturates = true}
        : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Graph_TensorOf<[F32], "a shaped tensor of f32">:$input,
                       TypeAttr:$to, BoolAttr:$saturates);
  let results = (outs Graph_TensorOf<[F32], "a shaped tensor of f32">:$result);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//

def Graph_AddOp : Graph_Binary<"add", Graph_NumberTensor> {
  let summary = "Sum; integers wrap";
  let hasFolder = 1;
}
def Graph_AndOp : Graph_Binary<"and", Graph_BoolTensor, "i1"> {
  let summary = "Both";
  let hasFolder = 1;
}
def Graph_BitAndOp : Graph_Binary<"bit_and", Graph_IntTensor, "i32"> {
  let summary = "Bitwise and";
}
def Graph_BitOrOp : Graph_Binary<"bit_or", Graph_IntTensor, "i32"> {
  let summary = "Bitwise or";
}
def Graph_BitXorOp : Graph_Binary<"bit_xor", Graph_IntTensor, "i32"> {
  let summary = "Bitwise exclusive or";
}
def Graph_DivOp : Graph_Binary<"div", Graph_NumberTensor> {
  let summary = "Quotient; integers truncate, and a zero divisor is a fault of the data";
  let hasFolder = 1;
}
def Graph_FmodOp : Graph_Binary<"fmod", Graph_NumberTensor> {
  let summary = "Remainder with the sign of the dividend";
}
def Graph_MaxOp : Graph_Binary<"max", Graph_NumberTensor> {
  let summary = "The larger; NaN wins";
  let hasFolder = 1;
}
def Graph_MinOp : Graph_Binary<"min", Graph_NumberTensor> {
  let summary = "The smaller; NaN wins";
  let hasFolder = 1;
}
def Graph_ModOp : Graph_Binary<"mod", Graph_NumberTensor> {
  let summary = "Remainder with the sign of the divisor";
  let hasFolder = 1;
}
def Graph_MulOp : Graph_Binary<"mul", Graph_NumberTensor> {
  let summary = "Product; integers wrap";
  let hasFolder = 1;
}
def Graph_OrOp : Graph_Binary<"or", Graph_BoolTensor, "i1"> {
  let summary = "Either";
  let hasFolder = 1;
}
def Graph_PowOp : Graph_Binary<"pow", Graph_NumberTensor> {
  let summary = "lhs to the power rhs, in the type of lhs; rhs has been cast to it";
}
def Graph_RandomBitsOp : Graph_Binary<"random_bits", Graph_WordTensor, "ui64"> {
  let summary = "Threefry-2x32 of 20 rounds: bits of a counter, lhs, by a key, rhs; first words are the low halves";
}
def Graph_ShiftLeftOp : Graph_Binary<"shift_left", Graph_IntTensor, "i32"> {
  let summary = "Bits shifted up; zero from the width on";
}
def Graph_ShiftRightOp : Graph_Binary<"shift_right", Graph_IntTensor, "i32"> {
  let summary = "Bits shifted down, zeros shifted in; zero from the width on";
}
def Graph_SubOp : Graph_Binary<"sub", Graph_NumberTensor> {
  let summary = "Difference; integers wrap";
  let hasFolder = 1;
}
def Graph_XorOp : Graph_Binary<"xor", Graph_BoolTensor, "i1"> {
  let summary = "Exactly one";
  let hasFolder = 1;
}
def Graph_EqualOp : Graph_Comparison<"equal"> {
  let summary = "lhs == rhs; false when one is NaN";
}
def Graph_LessOp : Graph_Comparison<"less"> {
  let summary = "lhs < rhs; false when one is NaN";
}
def Graph_LessEqualOp : Graph_Comparison<"less_equal"> {
  let summary = "lhs <= rhs; false when one is NaN";
}

//===----------------------------------------------------------------------===//
// Three operands
//===----------------------------------------------------------------------===//

def Graph_SelectOp : Graph_InferredOp<"select", [Graph_Pointwise]> {
  let summary = "condition ? lhs : rhs";
  let description = [{
    ```mlir
    %y = graph.select %c, %a, %b
        : (tensor<4x1xi1>, tensor<3xf32>, tensor<f32>) -> tensor<4x3xf32>
    ```
  }];
  let arguments = (ins Graph_BoolTensor:$condition, Graph_Tensor:$lhs,
                       Graph_Tensor:$rhs);
  let results = (outs Graph_Tensor:$result);
  let hasFolder = 1;
}
def Graph_QuantizeOp : Graph_Op<"quantize", [Pure, Graph_Pointwise]> {
  let summary = "saturate(round(input / scale) + zero_point)";
  let description = [{
    Divides in the type of `scale` (f32 for f16 input, as the specification
    has it), rounds halves to even and saturates to the result's type. Scale
    and zero point have been reshaped to broadcast against the input; the
    result has the input's dims.

    ```mlir
    %q = graph.quantize %x, %scale, %zero
        : (tensor<2x4xf32>, tensor<4xf32>, tensor<ui8>) -> tensor<2x4xui8>
    ```
  }];
  let arguments = (ins Graph_NumberTensor:$input, Graph_FloatTensor:$scale,
                       Graph_IntTensor:$zero_point);
  let results = (outs Graph_IntTensor:$result);
  let hasVerifier = 1;
}
def Graph_DequantizeOp : Graph_Op<"dequantize", [Pure, Graph_Pointwise]> {
  let summary = "(input - zero_point) * scale, in the type of the result";
  let description = [{
    ```mlir
    %x = graph.dequantize %q, %scale, %zero
        : (tensor<2x4xi8>, tensor<f32>, tensor<i8>) -> tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Graph_IntTensor:$input, Graph_FloatTensor:$scale,
                       Graph_IntTensor:$zero_point);
  let results = (outs Graph_FloatTensor:$result);
  let hasVerifier = 1;
}
def Graph_DecodeOp : Graph_Op<"decode", [Pure, Graph_Pointwise]> {
  let summary = "codebook[input] * scale, in the type of the result";
  let description = [{
    The codebook has sixteen values. Of an input the low four bits count. The
    scale has been reshaped to broadcast against the input, whose dims the
    result has.

    ```mlir
    %x = graph.decode %q, %scale {codebook = array<f32: -8.0, -5.0, -3.0, -2.0,
        -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 8.0>}
        : (tensor<2x4xui8>, tensor<2x1xf32>) -> tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Graph_IntTensor:$input, Graph_FloatTensor:$scale,
                       DenseF32ArrayAttr:$codebook);
  let results = (outs Graph_FloatTensor:$result);
  let hasVerifier = 1;
}

#endif // TENON_DIALECTS_GRAPH_GRAPHPOINTWISE_TD
