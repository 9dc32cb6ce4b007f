//===- WeightPasses.td - Passes on weights of few bits ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_WEIGHTPASSES_TD
#define TENON_COMPILER_TRANSFORMS_WEIGHTPASSES_TD

include "mlir/Pass/PassBase.td"

def LowerWeightsPass : Pass<"lower-weights", "::mlir::func::FuncOp"> {
  let summary = "Weights of products in 8 or 4 bits";
  let description = [{
    A weight of f32 of some size, a matrix or one for each batch, that is rhs of
    a product is dequantized from numbers of few bits, with a scale of bf16 for each block of
    k of each column, in the form that kernels take in. Numbers are rounded to
    nearest, and a block's scale is searched for the least squared error; with
    the attribute `graph.compensated`, rows make up for the errors of others, as
    what the product reads says. Of 4 bits, a weight has zero points where that
    takes a tenth off it. The product stays one of f32; so does a small product
    whose largest results choose experts. Tables whose rows are looked up have 8
    bits where they ask for 4, too; what is picked are rows of numbers and of
    scales. For CUDA a weight may be seen transposed and is one matrix, lhs must
    be rounded to bf16, which is what kernels multiply there, and tables stay.
    Each op asks for its precision and its blocks; one to which none was
    assigned, for those of the options.
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"precision", "precision", "std::string", "\"fp32\"",
                        "Of products to which none was assigned: int8-weights, "
                        "int4-weights, or others, which do nothing">,
                 Option<"block", "block", "int64_t", "32",
                        "Steps of k with a scale in common, of products to "
                        "which none was assigned: a multiple of 16, 256 at "
                        "most">,
                 Option<"target", "target", "std::string", "\"cpu\"",
                         "cpu or cuda">,
                 Option<"explain", "explain", "bool", "false",
                        "Remark on each product: why it stays in f32, or what "
                        "its weight is">];
}

def LowerRecurrencesPass : Pass<"lower-recurrences", "::mlir::func::FuncOp"> {
  let summary = "Recurrences of cells in 8 bits or bf16";
  let description = [{
    A weight of f32 that a cell with its input projected multiplies its state by
    is dequantized from bytes, with a scale of f32 for each unit, in the form
    that kernels read. Each cell asks for its precision; one to which none was
    assigned, for that of the option. Any of 8 or 4 bits is 8 here, and the
    cell's attribute then says `int8-weights`. For one that asks for bf16, on
    CPUs, the weight is of bf16 and widened, and the op gets `rounds_state`. One
    that asks for f16, or has fewer than 64 units, stays f32.
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"precision", "precision", "std::string", "\"fp32\"",
                        "Of cells to which none was assigned">,
                 Option<"target", "target", "std::string", "\"cpu\"",
                        "cpu or cuda">,
                 Option<"explain", "explain", "bool", "false",
                        "Remark on each cell: why it stays in f32, or what its "
                        "recurrence is">];
}

def WidenHalvesPass : Pass<"widen-halves", "::mlir::func::FuncOp"> {
  let summary = "What comes in f16 or bf16 is computed in f32";
  let description = [{
    Each op that computes of f16 or bf16 reads and makes f32. Values are rounded
    where they leave the program, and where they are joined with what it is
    given in 16 bits, which moves as it is. Weights become the same in f32. For
    targets that compute in f32.

    A cast to 16 bits stays where it has no readers but casts.

    ```mlir
    func.func @main(%x: tensor<4xf16>, %y: tensor<4xf16>) -> tensor<4xf16> {
      %0 = graph.add %x, %y : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
      %1 = graph.exp %0 : (tensor<4xf16>) -> tensor<4xf16>
      return %1 : tensor<4xf16>
    }
    // becomes
    func.func @main(%x: tensor<4xf16>, %y: tensor<4xf16>) -> tensor<4xf16> {
      %0 = graph.cast %y : (tensor<4xf16>) -> tensor<4xf32>
      %1 = graph.cast %x : (tensor<4xf16>) -> tensor<4xf32>
      %2 = graph.add %1, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %3 = graph.exp %2 : (tensor<4xf32>) -> tensor<4xf32>
      %4 = graph.cast %3 : (tensor<4xf32>) -> tensor<4xf16>
      return %4 : tensor<4xf16>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

def ExactProductsPass : Pass<"exact-products", "::mlir::func::FuncOp"> {
  let summary = "Products that bf16 has without an error";
  let description = [{
    Behind assign-precision: a product of numbers of 8 or 4 bits that was to be
    computed in fp32 is lowered to bf16, which has all of them, and added up in
    f32 at all levels; so is one that was to be in bf16 anyway.

    ```mlir
    func.func @main(%x: tensor<2x8xf32>, %y: tensor<8x4xf32>) -> tensor<2x4xf32> {
      %0 = graph.round_float %x {to = f8E4M3FN, saturates = true}
          : (tensor<2x8xf32>) -> tensor<2x8xf32>
      %1 = graph.round_float %y {to = f8E5M2, saturates = true}
          : (tensor<8x4xf32>) -> tensor<8x4xf32>
      %2 = graph.matmul %0, %1 {graph.precision = "fp32"}
          : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
      return %2 : tensor<2x4xf32>
    }
    // becomes
    func.func @main(%x: tensor<2x8xf32>, %y: tensor<8x4xf32>) -> tensor<2x4xf32> {
      %0 = graph.round_float %x {saturates = true, to = f8E4M3FN}
          : (tensor<2x8xf32>) -> tensor<2x8xf32>
      %1 = graph.round_float %y {saturates = true, to = f8E5M2}
          : (tensor<8x4xf32>) -> tensor<8x4xf32>
      %2 = graph.matmul %0, %1 {graph.exact, graph.precision = "bf16"}
          : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
      return %2 : tensor<2x4xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

def KeepHalvesPass : Pass<"keep-halves", "::mlir::func::FuncOp"> {
  let summary = "Weights that came in 16 bits are read in them";
  let description = [{
    A weight of some size that widen-halves made f32 and that a product in f32
    multiplies by is stored as it came: its kernel widens what it reads. Of bf16
    where k is even.
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

def RecogniseQuantizedWeightsPass
    : Pass<"recognise-quantized-weights", "::mlir::func::FuncOp"> {
  let summary = "One form of products by weights of few bits";
  let description = [{
    A product of f32 whose rhs is dequantized from stored numbers of 8 bits, or
    4, reads them in the form that kernels take in: numbers [K, N] and, for each
    block of k and each column, a scale and a zero point. Numbers may lie either
    way round, in two axes or with blocks as a third one; scales may be one for
    all, for each column or for each block of it. Several blocks must have a
    multiple of 16 steps of k each, and 256 at most.

    ```mlir
    func.func @main(%x: tensor<4x32xf32>) -> tensor<4x8xf32> {
      %q = graph.constant {value = dense<3> : tensor<8x32xi8>}
          : () -> tensor<8x32xi8>
      %s = graph.constant {value = dense<0.5> : tensor<8x1xf32>}
          : () -> tensor<8x1xf32>
      %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
      %0 = graph.dequantize %q, %s, %z
          : (tensor<8x32xi8>, tensor<8x1xf32>, tensor<i8>) -> tensor<8x32xf32>
      %1 = graph.transpose %0 {permutation = array<i64: 1, 0>}
          : (tensor<8x32xf32>) -> tensor<32x8xf32>
      %2 = graph.matmul %x, %1
          : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32>
      return %2 : tensor<4x8xf32>
    }
    // becomes
    func.func @main(%x: tensor<4x32xf32>) -> tensor<4x8xf32> {
      %0 = graph.weight {name = "quantized_2_1"} : () -> tensor<32x8xi8>
      %1 = graph.reshape %0 : (tensor<32x8xi8>) -> tensor<1x32x8xi8>
      %2 = graph.weight {name = "quantized_1"} : () -> tensor<1x8xf32>
      %3 = graph.reshape %2 : (tensor<1x8xf32>) -> tensor<1x1x8xf32>
      %4 = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
      %5 = graph.dequantize %1, %3, %4
          : (tensor<1x32x8xi8>, tensor<1x1x8xf32>, tensor<i8>)
          -> tensor<1x32x8xf32>
      %6 = graph.reshape %5 : (tensor<1x32x8xf32>) -> tensor<32x8xf32>
      %7 = graph.matmul %x, %6
          : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32>
      return %7 : tensor<4x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on each such weight that has another form">];
}

#endif // TENON_COMPILER_TRANSFORMS_WEIGHTPASSES_TD
