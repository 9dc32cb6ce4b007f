//===- ExecOps.td - When and where kernels run -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_DIALECTS_EXEC_EXECOPS_TD
#define TENON_DIALECTS_EXEC_EXECOPS_TD

include "dialects/Exec/ExecEnums.td"
include "dialects/Graph/GraphDialect.td"
include "mlir/IR/SymbolInterfaces.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::tenon::exec";
  let summary = "The host program: buffers, launches, run-time sizes";
  let description = [{
    Everything here is data: an op becomes one step of the launch table that
    the runtime walks (runtime/model_format.h). Sizes are expressions over the
    symbols set so far.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

class Exec_Op<string mnemonic, list<Trait> traits = []>
    : Op<Exec_Dialect, mnemonic, traits>;

def Exec_PlaceAttr : EnumAttr<Exec_Dialect, Exec_Place, "place">;

def Exec_BufferAttr : AttrDef<Exec_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "Bytes in a place: input or output number, arena segment, weight";
  let description = [{
    `sizes` is offset and length in bytes. `index` is the input, output or
    segment; `weight` names an entry of the WeightStore in layout `layout`.
  }];
  let parameters = (ins EnumParameter<Exec_Place>:$place, "int64_t":$index,
                        "::tenon::graph::DimsAttr":$sizes,
                        "::mlir::StringAttr":$weight,
                        "::mlir::StringAttr":$layout);
  let assemblyFormat = "`<` $place `,` $index `,` $sizes `,` $weight `,` $layout `>`";
}
def Exec_BufferArrayAttr : TypedArrayAttrBase<Exec_BufferAttr, "buffers">;

def Exec_ProgramOp : Exec_Op<"program", [IsolatedFromAbove, SingleBlock,
                                         NoTerminator]> {
  let summary = "The launch table of a model";
  let description = [{
    `inputs` and `outputs` are names, `input_types` and `output_types` tensor
    types with the sizes. `symbols` names every symbol, with ranges `lo`, `hi`.
    `segments` are the arena's sizes in bytes. Where values may have room for
    more than they hold, `stored_inputs` and `stored_outputs` are the types of
    all with that room; `appends_to` says for each output which input may share
    its memory, or -1. `batch` is the symbol that counts independent items, each
    of which lies behind the one before in inputs and outputs, then others that
    are no less, of whose items as many are read.

    ```mlir
    exec.program attributes {
        inputs = ["x"], input_types = [tensor<?x8xf32, #graph.dims<B, 8>>],
        outputs = ["y"], output_types = [tensor<?x8xf32, #graph.dims<B, 8>>],
        symbols = ["B"], lo = array<i64: 0>, hi = array<i64: 2147483647>,
        segments = #graph.dims<0>} {
      exec.segment 0
      exec.launch @exp_f32_0 [#exec.buffer<input, 0, <0, 32 * B>, "", "">,
          #exec.buffer<output, 0, <0, 32 * B>, "", "">]
          params <B> geometry <B, 64, 0>
    }
    ```
  }];
  let arguments = (ins StrArrayAttr:$inputs, TypeArrayAttr:$input_types,
                       StrArrayAttr:$outputs, TypeArrayAttr:$output_types,
                       StrArrayAttr:$symbols, DenseI64ArrayAttr:$lo,
                       DenseI64ArrayAttr:$hi, Graph_DimsAttr:$segments,
                       OptionalAttr<TypeArrayAttr>:$stored_inputs,
                       OptionalAttr<TypeArrayAttr>:$stored_outputs,
                       OptionalAttr<DenseI64ArrayAttr>:$appends_to,
                       OptionalAttr<StrArrayAttr>:$batch);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
}
def Exec_SegmentOp : Exec_Op<"segment"> {
  let summary = "Make a segment of the arena";
  let description = [{
    ```mlir
    exec.segment 1
    ```
  }];
  let arguments = (ins I64Attr:$index);
  let assemblyFormat = "$index attr-dict";
}
def Exec_LaunchOp : Exec_Op<"launch"> {
  let summary = "Run a kernel on buffers; geometry is rows, grain, scratch";
  let description = [{
    The attribute `cost` is for profiles: floating point operations on factors
    of type `factors`, bytes of weights (less those in a layout of their own:
    packaging knows their size), and bytes of all other operands.

    ```mlir
    exec.launch @exp_f32_0 [#exec.buffer<input, 0, <0, 32 * B>, "", "">,
        #exec.buffer<arena, 0, <64, 32 * B>, "", "">]
        params <B> geometry <B, 64, 0>
        {cost = #graph.dims<0, 0, 64 * B>, nodes = ["e"]}
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Exec_BufferArrayAttr:$buffers,
                       Graph_DimsAttr:$params, Graph_DimsAttr:$geometry);
  let assemblyFormat = "$kernel $buffers `params` $params `geometry` $geometry attr-dict";
}
def Exec_BindOp : Exec_Op<"bind"> {
  let summary = "Read integers of a buffer into symbols";
  let description = [{
    ```mlir
    exec.bind <arena, 0, <0, 8>, "", ""> as i64 ["n"]
    ```
  }];
  let arguments = (ins Exec_BufferAttr:$buffer, TypeAttr:$element,
                       StrArrayAttr:$symbols);
  let assemblyFormat = "$buffer `as` $element $symbols attr-dict";
}
def Exec_SetOp : Exec_Op<"set"> {
  let summary = "Give a symbol a value";
  let description = [{
    ```mlir
    exec.set "k" <n + 1>
    ```
  }];
  let arguments = (ins StrAttr:$symbol, Graph_DimsAttr:$value);
  let assemblyFormat = "$symbol $value attr-dict";
}
def Exec_RequireOp : Exec_Op<"require"> {
  let summary = "Fail with a sentence unless two sizes are so related";
  let description = [{
    ```mlir
    exec.require <B, S> broadcasts
        "node 'sum': sizes B and S do not broadcast"
    ```
  }];
  let arguments = (ins Graph_DimsAttr:$sizes, Graph_RelationAttr:$relation,
                       StrAttr:$message);
  let assemblyFormat = "$sizes $relation $message attr-dict";
}
def Exec_CopyOp : Exec_Op<"copy"> {
  let summary = "Copy a buffer whole";
  let description = [{
    ```mlir
    exec.copy <arena, 0, <0, 32>, "", ""> to <output, 1, <0, 32>, "", "">
    ```
  }];
  let arguments = (ins Exec_BufferAttr:$source, Exec_BufferAttr:$target);
  let assemblyFormat = "$source `to` $target attr-dict";
}
def Exec_IfOp : Exec_Op<"if", [SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "One of two lists of steps, by a bool in a buffer";
  let description = [{
    ```mlir
    exec.if <input, 0, <0, 1>, "", ""> {
      exec.set "k" <4>
    } else {
      exec.set "k" <2>
    }
    ```
  }];
  let arguments = (ins Exec_BufferAttr:$condition);
  let regions = (region SizedRegion<1>:$then_region,
                        SizedRegion<1>:$else_region);
  let assemblyFormat = "$condition attr-dict-with-keyword $then_region `else` $else_region";
}
def Exec_LoopOp : Exec_Op<"loop", [SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "Steps that are repeated while a bool in a buffer is true";
  let description = [{
    ```mlir
    exec.loop <arena, 0, <0, 1>, "", ""> {
      exec.set "i" <i + 1>
    }
    ```
  }];
  let arguments = (ins Exec_BufferAttr:$condition);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$condition attr-dict-with-keyword $body";
}
def Exec_PiecesOp : Exec_Op<"pieces", [SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "Steps that are repeated for one piece of a size after another";
  let description = [{
    In the body the symbol `from` is where a piece begins, and `here` how much
    it has. `sizes` is the whole size and the latter, a formula of the former,
    at least 1 and no more than is left. A whole of 0 is one piece of 0.

    ```mlir
    exec.pieces "B.from" "B.here" <B, min(8, B + -1 * B.from)> {
      exec.launch @exp_f32_0 [#exec.buffer<input, 0, <32 * B.from, 32 * B.here>, "", "">,
          #exec.buffer<output, 0, <32 * B.from, 32 * B.here>, "", "">]
          params <B.here> geometry <B.here, 64, 0>
    }
    ```
  }];
  let arguments = (ins StrAttr:$from, StrAttr:$here, Graph_DimsAttr:$sizes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$from $here $sizes attr-dict-with-keyword $body";
}

#endif // TENON_DIALECTS_EXEC_EXECOPS_TD
