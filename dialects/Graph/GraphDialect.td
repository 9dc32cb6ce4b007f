//===- GraphDialect.td - What the model computes ---------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_DIALECTS_GRAPH_GRAPHDIALECT_TD
#define TENON_DIALECTS_GRAPH_GRAPHDIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::tenon::graph";
  let summary = "What the model computes, before any device is chosen";
  let description = [{
    Ops on tensors with value semantics. A dimension is a number or an
    expression over symbols, carried by the type:
    `tensor<?x?x64xf32, #graph.dims<batch, past + S, 64>>`. There are no shape
    operands: whatever shapes a tensor is an expression in an attribute, and a
    value only known at run time enters through `graph.bind`.

    Integers are signless when signed (`i64`), and `ui8` .. `ui64` when
    unsigned. `i1` is bool and occupies a byte.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
}

class Graph_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Graph_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Graph_ExprAttr : Graph_Attr<"Expr", "expr"> {
  let summary = "One size expression; use it through the class Expr";
  let parameters = (ins "uint32_t":$kind, "int64_t":$value,
                        StringRefParameter<>:$name,
                        ArrayRefParameter<"::mlir::Attribute">:$operands);
  let hasCustomAssemblyFormat = 1;
}

def Graph_DimsAttr : Graph_Attr<"Dims", "dims",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "A list of size expressions: the shape of a tensor, or bounds";
  let parameters = (ins ArrayRefParameter<"::mlir::Attribute">:$attrs);
  let extraClassDeclaration = [{
    static DimsAttr get(::mlir::MLIRContext *context,
                        ::llvm::ArrayRef<Expr> exprs);
    size_t size() const { return getAttrs().size(); }
    Expr operator[](size_t i) const { return Expr(getAttrs()[i]); }
    ::llvm::SmallVector<Expr> exprs() const;
  }];
  let hasCustomAssemblyFormat = 1;
}

class Graph_Enum<string name, string summary,
                 list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::tenon::graph";
  let genSpecializedAttr = 0;
}
class Graph_EnumAttr<EnumInfo info, string mnemonic>
    : EnumAttr<Graph_Dialect, info, mnemonic>;

def Graph_ReduceKind : Graph_Enum<"ReduceKind", "How to combine", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Mean", 1, "mean">,
    I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
    I32EnumAttrCase<"Prod", 4, "prod">]>;
def Graph_ReduceKindAttr : Graph_EnumAttr<Graph_ReduceKind, "reduce_kind">;

def Graph_ScatterKind : Graph_Enum<"ScatterKind", "How updates combine", [
    I32EnumAttrCase<"Assign", 0, "assign">, I32EnumAttrCase<"Add", 1, "add">,
    I32EnumAttrCase<"Mul", 2, "mul">, I32EnumAttrCase<"Max", 3, "max">,
    I32EnumAttrCase<"Min", 4, "min">]>;
def Graph_ScatterKindAttr : Graph_EnumAttr<Graph_ScatterKind, "scatter_kind">;

def Graph_PadMode : Graph_Enum<"PadMode", "What lies beyond the border", [
    I32EnumAttrCase<"Constant", 0, "constant">,
    I32EnumAttrCase<"Edge", 1, "edge">, I32EnumAttrCase<"Reflect", 2, "reflect">,
    I32EnumAttrCase<"Wrap", 3, "wrap">]>;
def Graph_PadModeAttr : Graph_EnumAttr<Graph_PadMode, "pad_mode">;

def Graph_GeluKind : Graph_Enum<"GeluKind", "Which formula of GELU", [
    I32EnumAttrCase<"Erf", 0, "erf">, I32EnumAttrCase<"Tanh", 1, "tanh">,
    I32EnumAttrCase<"Quick", 2, "quick">]>;
def Graph_GeluKindAttr : Graph_EnumAttr<Graph_GeluKind, "gelu_kind">;

def Graph_DeadRows : Graph_Enum<"DeadRows", "What a query without any key gives", [
    I32EnumAttrCase<"Zero", 0, "zero">, I32EnumAttrCase<"Uniform", 1, "uniform">,
    I32EnumAttrCase<"NaN", 2, "nan">]>;
def Graph_DeadRowsAttr : Graph_EnumAttr<Graph_DeadRows, "dead_rows">;

def Graph_CellKind : Graph_Enum<"CellKind", "The recurrent cell", [
    I32EnumAttrCase<"Rnn", 0, "rnn">, I32EnumAttrCase<"Gru", 1, "gru">,
    I32EnumAttrCase<"Lstm", 2, "lstm">]>;
def Graph_CellKindAttr : Graph_EnumAttr<Graph_CellKind, "cell_kind">;

def Graph_Relation : Graph_Enum<"Relation", "What two sizes must satisfy", [
    I32EnumAttrCase<"Equal", 1, "equal">,
    I32EnumAttrCase<"LessEqual", 2, "less_equal">,
    I32EnumAttrCase<"Broadcasts", 3, "broadcasts">,
    I32EnumAttrCase<"Divides", 4, "divides">]>;
def Graph_RelationAttr : Graph_EnumAttr<Graph_Relation, "relation">;

def Graph_ResizeMode : Graph_Enum<"ResizeMode", "How to interpolate", [
    I32EnumAttrCase<"Nearest", 0, "nearest">,
    I32EnumAttrCase<"Linear", 1, "linear">,
    I32EnumAttrCase<"Cubic", 2, "cubic">]>;
def Graph_ResizeModeAttr : Graph_EnumAttr<Graph_ResizeMode, "resize_mode">;

// A ranked tensor all of whose dims are known as numbers or expressions.
def Graph_IsShaped : CPred<"::tenon::graph::hasDims($_self)">;
class Graph_TensorOf<list<Type> elements, string summary>
    : Type<And<[TensorOf<elements>.predicate, Graph_IsShaped]>, summary,
           "::mlir::RankedTensorType">;

def Graph_Float : AnyTypeOf<[F16, BF16, F32, F64]>;
def Graph_Int : AnyTypeOf<[I8, I16, I32, I64, UI8, UI16, UI32, UI64]>;
def Graph_Number : AnyTypeOf<[F16, BF16, F32, F64, I8, I16, I32, I64, UI8,
                              UI16, UI32, UI64]>;
def Graph_Tensor : Graph_TensorOf<[Graph_Number, I1], "a shaped tensor">;
def Graph_NumberTensor : Graph_TensorOf<[Graph_Number], "a shaped tensor of numbers">;
def Graph_FloatTensor : Graph_TensorOf<[Graph_Float], "a shaped tensor of floats">;
def Graph_IntTensor : Graph_TensorOf<[Graph_Int], "a shaped tensor of integers">;
def Graph_WordTensor : Graph_TensorOf<[UI64], "a shaped tensor of ui64">;
def Graph_BoolTensor : Graph_TensorOf<[I1], "a shaped tensor of bools">;
def Graph_IndexTensor : Graph_TensorOf<[I32, I64], "a shaped tensor of i32 or i64">;

// Computes each element from the broadcast elements of its operands.
def Graph_Pointwise : NativeOpTrait<"Pointwise"> {
  let cppNamespace = "::tenon::graph";
}

class Graph_Op<string mnemonic, list<Trait> traits = []>
    : Op<Graph_Dialect, mnemonic, traits> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

// An op whose result type follows from operands and attributes
// (GraphInfer.cpp).
class Graph_InferredOp<string mnemonic, list<Trait> traits = []>
    : Graph_Op<mnemonic, traits # [Pure, InferTypeOpAdaptor]>;

#endif // TENON_DIALECTS_GRAPH_GRAPHDIALECT_TD
