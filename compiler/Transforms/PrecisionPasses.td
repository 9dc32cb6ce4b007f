//===- PrecisionPasses.td - What multiplies how ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_PRECISIONPASSES_TD
#define TENON_COMPILER_TRANSFORMS_PRECISIONPASSES_TD

include "mlir/Pass/PassBase.td"

def AssignPrecisionPass : Pass<"assign-precision", "::mlir::func::FuncOp"> {
  let summary = "The precision that each op asks for";
  let description = [{
    Products, attention, convolutions, tables that are looked up and cells by
    stored recurrences are given the precision that a plan has for them, or all
    the same one, and the name that plans call them by. Passes that lower
    precision go by that. Without a plan a product whose few columns are
    compared, to choose experts, is fp32.

    ```mlir
    func.func @main(%x: tensor<4x64xf32>, %w: tensor<64x64xf32>)
        -> tensor<4x64xf32> {
      %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x64xf32>)
          -> tensor<4x64xf32> loc("fc")
      return %0 : tensor<4x64xf32>
    }
    // becomes
    func.func @main(%x: tensor<4x64xf32>, %w: tensor<64x64xf32>)
        -> tensor<4x64xf32> {
      %0 = graph.matmul %x, %w {graph.op = "fc", graph.precision = "bf16"}
          : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
      return %0 : tensor<4x64xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"precision", "precision", "std::string", "\"bf16\"",
                        "For all ops, without a plan">,
                 Option<"compensates", "compensates", "bool", "false",
                        "Without a plan, weights in few bits are rounded by "
                        "what products read">];
}

def ProbePrecisionPass : Pass<"probe-precision", "::mlir::func::FuncOp"> {
  let summary = "Copies of ops in other precisions, to see what that does";
  let description = [{
    Each op that assign-precision names gets a copy for each candidate, in a
    branch of its own, so that only copies run that a last argument says. A last
    result of the function has, for each copy that ran, the square of its
    difference from the op's first result over the square of that. The argument
    has a bit for each copy, one for each op of which any runs, and one that
    leaves ops' own results in place, for errors of exact inputs.

    ```mlir
    func.func @main(%x: tensor<1x4xf32>, %w: tensor<4x4xf32>)
        -> tensor<1x4xf32> {
      %0 = graph.matmul %x, %w {graph.op = "fc", graph.precision = "fp32"}
          : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
      return %0 : tensor<1x4xf32>
    }
    // becomes
    func.func @main(%x: tensor<1x4xf32>, %w: tensor<4x4xf32>,
        %mask: tensor<3xi1> {graph.name = "graph.precision_mask"})
            -> (tensor<1x4xf32>,
                tensor<1xf32> {graph.name = "graph.precision_errors"}) {
      %0 = graph.matmul %x, %w {graph.op = "fc", graph.precision = "fp32"}
          : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
      %1 = graph.constant {value = dense<0.0> : tensor<1xf32>}
          : () -> tensor<1xf32>
      %2 = graph.slice %mask {starts = #graph.dims<1>,
          steps = #graph.dims<1>} : (tensor<3xi1>) -> tensor<1xi1>
      %3 = graph.reshape %2 : (tensor<1xi1>) -> tensor<i1>
      %4:2 = graph.if %3 : (tensor<i1>) -> (tensor<1x4xf32>, tensor<1xf32>) {
        %6 = graph.slice %mask {starts = #graph.dims<0>,
            steps = #graph.dims<1>} : (tensor<3xi1>) -> tensor<1xi1>
        %7 = graph.reshape %6 : (tensor<1xi1>) -> tensor<i1>
        %8:2 = graph.if %7 : (tensor<i1>) -> (tensor<1x4xf32>, tensor<1xf32>) {
          %9 = graph.matmul %x, %w {graph.op = "probe 0",
              graph.precision = "bf16"}
                  : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
          %10 = graph.mul %0, %0
              : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
          %11 = graph.reduce %10
              {axes = array<i64: 0, 1>, kind = #graph<reduce_kind sum>}
                  : (tensor<1x4xf32>) -> tensor<1x1xf32>
          %12 = graph.reshape %11 : (tensor<1x1xf32>) -> tensor<1xf32>
          %13 = graph.sub %9, %0
              : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
          %14 = graph.mul %13, %13
              : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
          %15 = graph.reduce %14
              {axes = array<i64: 0, 1>, kind = #graph<reduce_kind sum>}
                  : (tensor<1x4xf32>) -> tensor<1x1xf32>
          %16 = graph.reshape %15 : (tensor<1x1xf32>) -> tensor<1xf32>
          %17 = graph.div %16, %12
              : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
          %18 = graph.slice %mask {starts = #graph.dims<2>,
              steps = #graph.dims<1>} : (tensor<3xi1>) -> tensor<1xi1>
          %19 = graph.reshape %18 : (tensor<1xi1>) -> tensor<1x1xi1>
          %20 = graph.select %19, %0, %9
              : (tensor<1x1xi1>, tensor<1x4xf32>, tensor<1x4xf32>)
                  -> tensor<1x4xf32>
          graph.yield %20, %17 : tensor<1x4xf32>, tensor<1xf32>
        } else {
          graph.yield %0, %1 : tensor<1x4xf32>, tensor<1xf32>
        }
        graph.yield %8#0, %8#1 : tensor<1x4xf32>, tensor<1xf32>
      } else {
        graph.yield %0, %1 : tensor<1x4xf32>, tensor<1xf32>
      }
      %5 = graph.concat %4#1 {axis = 0 : i64} : (tensor<1xf32>) -> tensor<1xf32>
      return %4#0, %5 : tensor<1x4xf32>, tensor<1xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"precisions", "precisions", "std::string", "\"bf16\"",
                        "Candidates, with + between them">];
}

def IntegerProductsPass : Pass<"integer-products", "::mlir::func::FuncOp"> {
  let summary = "Products of quantized numbers multiply integers";
  let description = [{
    A product of two dequantized operands, of which the left one has one scale
    and the right one has one, too, or is a weight with one for each column,
    becomes one of i32, times the scales: the same but for the rounding of f32.
    What comes before and behind it stays, with all its saturation. So does a
    convolution of one group, of an image of one scale and a filter of one scale
    or one for each map, and in f32 of exact sums one of each channel by itself;
    where there are such, what divides by one number to quantize multiplies by
    its inverse. Integers that are convolved by groups become f32, if that is
    exact, and a max pool of dequantized bytes finds the largest byte. Products of i32 come in one form for
    kernels: each operand is a cast of 8-bit numbers, seen in any way, less
    their zero point if that is not 0.

    ```mlir
    func.func @main(%x: tensor<?x64xui8, #graph.dims<s, 64>>)
        -> tensor<?x32xf32, #graph.dims<s, 32>> {
      %w = graph.weight {name = "w"} : () -> tensor<64x32xi8>
      %c = graph.weight {name = "c"} : () -> tensor<32xf32>
      %s = graph.constant {value = dense<0.5> : tensor<f32>}
          : () -> tensor<f32>
      %z = graph.constant {value = dense<3> : tensor<ui8>} : () -> tensor<ui8>
      %n = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
      %0 = graph.dequantize %x, %s, %z
          : (tensor<?x64xui8, #graph.dims<s, 64>>, tensor<f32>, tensor<ui8>)
          -> tensor<?x64xf32, #graph.dims<s, 64>>
      %1 = graph.dequantize %w, %c, %n
          : (tensor<64x32xi8>, tensor<32xf32>, tensor<i8>) -> tensor<64x32xf32>
      %2 = graph.matmul %0, %1
          : (tensor<?x64xf32, #graph.dims<s, 64>>, tensor<64x32xf32>)
          -> tensor<?x32xf32, #graph.dims<s, 32>>
      return %2 : tensor<?x32xf32, #graph.dims<s, 32>>
    }
    // becomes
    func.func @main(%x: tensor<?x64xui8, #graph.dims<s, 64>>)
        -> tensor<?x32xf32, #graph.dims<s, 32>> {
      %w = graph.weight {name = "w"} : () -> tensor<64x32xi8>
      %c = graph.weight {name = "c"} : () -> tensor<32xf32>
      %s = graph.constant {value = dense<5.000000e-01> : tensor<f32>}
          : () -> tensor<f32>
      %z = graph.constant {value = dense<3> : tensor<ui8>} : () -> tensor<ui8>
      %0 = graph.cast %x : (tensor<?x64xui8, #graph.dims<s, 64>>)
          -> tensor<?x64xi32, #graph.dims<s, 64>>
      %1 = graph.cast %z : (tensor<ui8>) -> tensor<i32>
      %2 = graph.sub %0, %1
          : (tensor<?x64xi32, #graph.dims<s, 64>>, tensor<i32>)
          -> tensor<?x64xi32, #graph.dims<s, 64>>
      %3 = graph.cast %w : (tensor<64x32xi8>) -> tensor<64x32xi32>
      %4 = graph.matmul %2, %3
          : (tensor<?x64xi32, #graph.dims<s, 64>>, tensor<64x32xi32>)
          -> tensor<?x32xi32, #graph.dims<s, 32>>
      %5 = graph.cast %4 : (tensor<?x32xi32, #graph.dims<s, 32>>)
          -> tensor<?x32xf32, #graph.dims<s, 32>>
      %6 = graph.mul %s, %c : (tensor<f32>, tensor<32xf32>) -> tensor<32xf32>
      %7 = graph.mul %5, %6
          : (tensor<?x32xf32, #graph.dims<s, 32>>, tensor<32xf32>)
          -> tensor<?x32xf32, #graph.dims<s, 32>>
      return %7 : tensor<?x32xf32, #graph.dims<s, 32>>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on products of dequantized operands that stay">,
                 Option<"target", "target", "std::string", "\"cpu\"",
                        "cpu, or cuda: products by i8 alone">];
}

def CenterProductsPass : Pass<"center-products", "::mlir::func::FuncOp"> {
  let summary = "Products of bytes as devices multiply them";
  let description = [{
    The left factor of a product of i32, bytes less one zero point, loses that,
    where devices then multiply the bytes. What that leaves are the sums of the
    weight's columns, times one number, which are subtracted: one vector where
    the model knows the number. A weight of ui8 becomes one of i8, and that and
    its zero points leave out sums of rows, times a number for each column.

    ```mlir
    func.func @main(%x: tensor<4x64xui8>) -> tensor<4x32xi32> {
      %w = graph.weight {name = "w"} : () -> tensor<64x32xi8>
      %z = graph.constant {value = dense<3> : tensor<i32>} : () -> tensor<i32>
      %0 = graph.cast %x : (tensor<4x64xui8>) -> tensor<4x64xi32>
      %1 = graph.sub %0, %z
          : (tensor<4x64xi32>, tensor<i32>) -> tensor<4x64xi32>
      %2 = graph.cast %w : (tensor<64x32xi8>) -> tensor<64x32xi32>
      %3 = graph.matmul %1, %2
          : (tensor<4x64xi32>, tensor<64x32xi32>) -> tensor<4x32xi32>
      return %3 : tensor<4x32xi32>
    }
    // becomes
    func.func @main(%x: tensor<4x64xui8>) -> tensor<4x32xi32> {
      %w = graph.weight {name = "w"} : () -> tensor<64x32xi8>
      %z = graph.constant {value = dense<3> : tensor<i32>} : () -> tensor<i32>
      %0 = graph.cast %x : (tensor<4x64xui8>) -> tensor<4x64xi32>
      %1 = graph.cast %w : (tensor<64x32xi8>) -> tensor<64x32xi32>
      %2 = graph.matmul %0, %1
          : (tensor<4x64xi32>, tensor<64x32xi32>) -> tensor<4x32xi32>
      %3 = graph.weight {name = "w.sums"} : () -> tensor<32xi32>
      %4 = graph.mul %3, %z : (tensor<32xi32>, tensor<i32>) -> tensor<32xi32>
      %5 = graph.sub %2, %4
          : (tensor<4x32xi32>, tensor<32xi32>) -> tensor<4x32xi32>
      return %5 : tensor<4x32xi32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

def LowerInt8Pass : Pass<"lower-int8", "::mlir::func::FuncOp"> {
  let summary = "Products by weights of 8-bit numbers";
  let description = [{
    The weight of a product of f32 is quantized to i8, with a scale for each
    column, and its left operand at run time to ui8, with a scale and a zero
    point for each row: from its least element to its greatest, zero among them,
    there are 255 steps. What is computed of a product for such products alone is
    rounded to bf16 before. On cuda all rows count from 128, in steps of the
    largest magnitude over 127. The product is then one of i32, times both scales. Fires
    where the weight is of some size; whoever else reads the left operand sees
    it as it was.

    ```mlir
    func.func @main(%x: tensor<4x128xf32>) -> tensor<4x64xf32> {
      %w = graph.weight {name = "w"} : () -> tensor<128x64xf32>
      %0 = graph.matmul %x, %w
          : (tensor<4x128xf32>, tensor<128x64xf32>) -> tensor<4x64xf32>
      return %0 : tensor<4x64xf32>
    }
    // becomes
    func.func @main(%x: tensor<4x128xf32>) -> tensor<4x64xf32> {
      %numbers, %scale, %zero_point = graph.quantize_rows %x
          : (tensor<4x128xf32>)
          -> (tensor<4x128xui8>, tensor<4x1xf32>, tensor<4x1xui8>)
      %0 = graph.cast %zero_point : (tensor<4x1xui8>) -> tensor<4x1xi32>
      %1 = graph.weight {name = "w"} : () -> tensor<128x64xf32>
      %2 = graph.abs %1 : (tensor<128x64xf32>) -> tensor<128x64xf32>
      %3 = graph.reduce %2
          {axes = array<i64: 0>, kind = #graph<reduce_kind max>}
          : (tensor<128x64xf32>) -> tensor<1x64xf32>
      %4 = graph.constant {value = dense<1.000000e-30> : tensor<f32>}
          : () -> tensor<f32>
      %5 = graph.less %3, %4 : (tensor<1x64xf32>, tensor<f32>) -> tensor<1x64xi1>
      %6 = graph.constant {value = dense<1.270000e+02> : tensor<f32>}
          : () -> tensor<f32>
      %7 = graph.div %3, %6 : (tensor<1x64xf32>, tensor<f32>) -> tensor<1x64xf32>
      %8 = graph.constant {value = dense<1.000000e+00> : tensor<f32>}
          : () -> tensor<f32>
      %9 = graph.select %5, %8, %7
          : (tensor<1x64xi1>, tensor<f32>, tensor<1x64xf32>) -> tensor<1x64xf32>
      %10 = graph.constant {value = dense<1.000000e+00> : tensor<f32>}
          : () -> tensor<f32>
      %11 = graph.div %10, %9 : (tensor<f32>, tensor<1x64xf32>) -> tensor<1x64xf32>
      %12 = graph.mul %1, %11
          : (tensor<128x64xf32>, tensor<1x64xf32>) -> tensor<128x64xf32>
      %13 = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
      %14 = graph.constant {value = dense<1.000000e+00> : tensor<f32>}
          : () -> tensor<f32>
      %15 = graph.quantize %12, %14, %13
          : (tensor<128x64xf32>, tensor<f32>, tensor<i8>) -> tensor<128x64xi8>
      %16 = graph.cast %numbers : (tensor<4x128xui8>) -> tensor<4x128xi32>
      %17 = graph.sub %16, %0
          : (tensor<4x128xi32>, tensor<4x1xi32>) -> tensor<4x128xi32>
      %18 = graph.cast %15 : (tensor<128x64xi8>) -> tensor<128x64xi32>
      %19 = graph.matmul %17, %18
          : (tensor<4x128xi32>, tensor<128x64xi32>) -> tensor<4x64xi32>
      %20 = graph.cast %19 : (tensor<4x64xi32>) -> tensor<4x64xf32>
      %21 = graph.mul %20, %scale
          : (tensor<4x64xf32>, tensor<4x1xf32>) -> tensor<4x64xf32>
      %22 = graph.mul %21, %9
          : (tensor<4x64xf32>, tensor<1x64xf32>) -> tensor<4x64xf32>
      return %22 : tensor<4x64xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on each product that stays in f32">,
                 Option<"target", "target", "std::string", "\"cpu\"",
                        "What the kernels are for: cpu or cuda">];
}

def LowerPrecisionPass : Pass<"lower-precision", "::mlir::func::FuncOp"> {
  let summary = "Operands of products in 16 bits";
  let description = [{
    Both operands of a product by a weight are rounded to bf16 and widened
    again: the product stays one of f32, with f32 sums, and its kernel reads
    bf16. Tables that are looked up are rounded too. Fires where the weight is
    of some size and k is even; lhs stays f32 where its rows are not contiguous.
    Convolutions of one group are such where channels are even, a CPU level
    multiplies pairs and they take some time; what reads their images element
    by element reads them rounded, and so do what takes the largest of them and
    sums of two convolutions. The few channels of a network's first image are
    made even by one of zeros. Products of two activations are such where a CPU
    level multiplies pairs and rows are not few; for CUDA, where elements of
    both lie in memory by twos, and so are attention and all convolutions by
    large filters.
    Fold-constants then rounds the weights. Of f16 the same, where no number of
    the weight is beyond its range, but for CPUs: there it is weights and tables
    alone, whatever k is, and two activations where a level adds up in f16,
    whose kernels round them; in bf16, too, where they do not lie by twos. Ops
    that assign-precision gave another precision are left to the passes of that.

    ```mlir
    func.func @main(%x: tensor<?x128xf32, #graph.dims<s, 128>>)
        -> tensor<?x64xf32, #graph.dims<s, 64>> {
      %w = graph.weight {name = "w"} : () -> tensor<128x64xf32>
      %0 = graph.matmul %x, %w
          : (tensor<?x128xf32, #graph.dims<s, 128>>, tensor<128x64xf32>)
          -> tensor<?x64xf32, #graph.dims<s, 64>>
      return %0 : tensor<?x64xf32, #graph.dims<s, 64>>
    }
    // becomes
    func.func @main(%x: tensor<?x128xf32, #graph.dims<s, 128>>)
        -> tensor<?x64xf32, #graph.dims<s, 64>> {
      %0 = graph.cast %x : (tensor<?x128xf32, #graph.dims<s, 128>>)
          -> tensor<?x128xbf16, #graph.dims<s, 128>>
      %w = graph.weight {name = "w"} : () -> tensor<128x64xf32>
      %1 = graph.cast %w : (tensor<128x64xf32>) -> tensor<128x64xbf16>
      %2 = graph.cast %1 : (tensor<128x64xbf16>) -> tensor<128x64xf32>
      %3 = graph.cast %0 : (tensor<?x128xbf16, #graph.dims<s, 128>>)
          -> tensor<?x128xf32, #graph.dims<s, 128>>
      %4 = graph.matmul %3, %2 {graph.adds_f16}
          : (tensor<?x128xf32, #graph.dims<s, 128>>, tensor<128x64xf32>)
          -> tensor<?x64xf32, #graph.dims<s, 64>>
      return %4 : tensor<?x64xf32, #graph.dims<s, 64>>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on each product that stays in f32">,
                 Option<"target", "target", "std::string", "\"cpu\"",
                        "cpu or cuda">,
                 Option<"f16", "f16", "bool", "false",
                        "Round to f16 in place of bf16">,
                 Option<"hasPairDots", "pair-dots", "bool", "true",
                        "Whether a CPU of the program's multiplies pairs">,
                 Option<"hasF16Fma", "f16-fma", "bool", "true",
                        "Whether a CPU of the program's adds up in f16">];
}

def LowerStaticInt8Pass : Pass<"lower-static-int8", "::mlir::func::FuncOp"> {
  let summary = "Products of 8-bit numbers whose lhs was calibrated";
  let description = [{
    Where `graph.lhs` says so, the left operand of a product is quantized to ui8
    with one scale and one zero point, which calibration found. Each channel may
    be divided by a power of two before, `shifts`, that the weight's row is
    multiplied by. The rest is as lower-int8 has it. An operand that several
    products read with the same numbers is quantized once. Images of
    convolutions are so, too, without shifts, and filters have a scale for each
    map; sums that read the image as well read its bytes.

    ```mlir
    func.func @main(%x: tensor<4x128xf32>) -> tensor<4x64xf32> {
      %w = graph.weight {name = "w"} : () -> tensor<128x64xf32>
      %0 = graph.matmul %x, %w {graph.lhs = {scale = 0.25 : f32, zero = 3}}
          : (tensor<4x128xf32>, tensor<128x64xf32>) -> tensor<4x64xf32>
      return %0 : tensor<4x64xf32>
    }
    // becomes
    func.func @main(%x: tensor<4x128xf32>) -> tensor<4x64xf32> {
      %0 = graph.constant {value = dense<4.000000e+00> : tensor<128xf32>}
          : () -> tensor<128xf32>
      %1 = graph.constant {value = dense<2.500000e-01> : tensor<f32>}
          : () -> tensor<f32>
      %2 = graph.constant {value = dense<3> : tensor<ui8>} : () -> tensor<ui8>
      %3 = graph.constant {value = dense<3> : tensor<i32>} : () -> tensor<i32>
      %4 = graph.mul %x, %0
          : (tensor<4x128xf32>, tensor<128xf32>) -> tensor<4x128xf32>
      %5 = graph.constant {value = dense<1.000000e+00> : tensor<f32>}
          : () -> tensor<f32>
      %6 = graph.quantize %4, %5, %2
          : (tensor<4x128xf32>, tensor<f32>, tensor<ui8>) -> tensor<4x128xui8>
      %7 = graph.weight {name = "w"} : () -> tensor<128x64xf32>
      %8 = graph.abs %7 : (tensor<128x64xf32>) -> tensor<128x64xf32>
      %9 = graph.reduce %8
          {axes = array<i64: 0>, kind = #graph<reduce_kind max>}
          : (tensor<128x64xf32>) -> tensor<1x64xf32>
      %10 = graph.constant {value = dense<1.000000e-30> : tensor<f32>}
          : () -> tensor<f32>
      %11 = graph.less %9, %10
          : (tensor<1x64xf32>, tensor<f32>) -> tensor<1x64xi1>
      %12 = graph.constant {value = dense<1.270000e+02> : tensor<f32>}
          : () -> tensor<f32>
      %13 = graph.div %9, %12
          : (tensor<1x64xf32>, tensor<f32>) -> tensor<1x64xf32>
      %14 = graph.constant {value = dense<1.000000e+00> : tensor<f32>}
          : () -> tensor<f32>
      %15 = graph.select %11, %14, %13
          : (tensor<1x64xi1>, tensor<f32>, tensor<1x64xf32>) -> tensor<1x64xf32>
      %16 = graph.constant {value = dense<1.000000e+00> : tensor<f32>}
          : () -> tensor<f32>
      %17 = graph.div %16, %15
          : (tensor<f32>, tensor<1x64xf32>) -> tensor<1x64xf32>
      %18 = graph.mul %7, %17
          : (tensor<128x64xf32>, tensor<1x64xf32>) -> tensor<128x64xf32>
      %19 = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
      %20 = graph.constant {value = dense<1.000000e+00> : tensor<f32>}
          : () -> tensor<f32>
      %21 = graph.quantize %18, %20, %19
          : (tensor<128x64xf32>, tensor<f32>, tensor<i8>) -> tensor<128x64xi8>
      %22 = graph.cast %6 : (tensor<4x128xui8>) -> tensor<4x128xi32>
      %23 = graph.sub %22, %3
          : (tensor<4x128xi32>, tensor<i32>) -> tensor<4x128xi32>
      %24 = graph.cast %21 : (tensor<128x64xi8>) -> tensor<128x64xi32>
      %25 = graph.matmul %23, %24 {graph.lhs = {scale = 2.500000e-01
          : f32, zero = 3 : i64}}
          : (tensor<4x128xi32>, tensor<128x64xi32>) -> tensor<4x64xi32>
      %26 = graph.cast %25 : (tensor<4x64xi32>) -> tensor<4x64xf32>
      %27 = graph.mul %26, %1
          : (tensor<4x64xf32>, tensor<f32>) -> tensor<4x64xf32>
      %28 = graph.mul %27, %15
          : (tensor<4x64xf32>, tensor<1x64xf32>) -> tensor<4x64xf32>
      return %28 : tensor<4x64xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on each product that stays in f32">];
}

def NarrowCachesPass : Pass<"narrow-caches", "::mlir::func::FuncOp"> {
  let summary = "Caches are kept in fewer bits";
  let description = [{
    Each cache that append-caches has given room becomes one of `type`, as input
    and as output: new rows are rounded when they are appended, and attention
    widens what it reads. A cache that something else reads, or of which it
    reads elements that lie apart, stays; where all do, that is an error. On
    CUDA, whose kernels multiply numbers of one type, queries are rounded too.
    Of int8 each row of the last axis has a scale; those are a cache of their
    own, the last input and output, without that axis.

    ```mlir
    func.func @main(%past: tensor<1x2x?x8xf32, #graph.dims<1, 2, room0, 8>>
                        {graph.dims = #graph.dims<1, 2, P, 8>},
                    %q: tensor<1x2x1x8xf32>, %k: tensor<1x2x1x8xf32>)
        -> (tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>
                {graph.appends_to = 0 : i64,
                 graph.dims = #graph.dims<1, 2, P + 1, 8>},
            tensor<1x2x1x8xf32>) {
      %0 = graph.append %past, %k {axis = 2 : i64, length = #graph.dims<P>}
          : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room0, 8>>,
             tensor<1x2x1x8xf32>)
          -> tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>
      %1 = graph.slice %0 {starts = #graph.dims<0, 0, 0, 0>,
                           steps = #graph.dims<1, 1, 1, 1>}
          : (tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>)
          -> tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
      %2 = graph.attention %q, %1, %1 {
          operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64,
          softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>,
          window = 0 : i64, dead_rows = #graph<dead_rows zero>}
          : (tensor<1x2x1x8xf32>,
             tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>,
             tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>)
          -> tensor<1x2x1x8xf32>
      return %0, %2 : tensor<1x2x?x8xf32, #graph.dims<1, 2, room1, 8>>,
                      tensor<1x2x1x8xf32>
    }
    // becomes
    func.func @main(%past: tensor<1x2x?x8xbf16, #graph.dims<1, 2, room0, 8>>
                        {graph.dims = #graph.dims<1, 2, P, 8>},
                    %q: tensor<1x2x1x8xf32>, %k: tensor<1x2x1x8xf32>)
        -> (tensor<1x2x?x8xbf16, #graph.dims<1, 2, room1, 8>>
                {graph.appends_to = 0 : i64,
                 graph.dims = #graph.dims<1, 2, P + 1, 8>},
            tensor<1x2x1x8xf32>) {
      %0 = graph.cast %k : (tensor<1x2x1x8xf32>) -> tensor<1x2x1x8xbf16>
      %1 = graph.append %past, %0 {axis = 2 : i64, length = #graph.dims<P>}
          : (tensor<1x2x?x8xbf16, #graph.dims<1, 2, room0, 8>>,
             tensor<1x2x1x8xbf16>)
          -> tensor<1x2x?x8xbf16, #graph.dims<1, 2, room1, 8>>
      %2 = graph.slice %1 {starts = #graph.dims<0, 0, 0, 0>,
                           steps = #graph.dims<1, 1, 1, 1>}
          : (tensor<1x2x?x8xbf16, #graph.dims<1, 2, room1, 8>>)
          -> tensor<1x2x?x8xbf16, #graph.dims<1, 2, P + 1, 8>>
      %3 = graph.cast %2
          : (tensor<1x2x?x8xbf16, #graph.dims<1, 2, P + 1, 8>>)
          -> tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>
      %4 = graph.attention %q, %3, %3 {
          operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.5 : f64,
          softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>,
          window = 0 : i64, dead_rows = #graph<dead_rows zero>}
          : (tensor<1x2x1x8xf32>,
             tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>,
             tensor<1x2x?x8xf32, #graph.dims<1, 2, P + 1, 8>>)
          -> tensor<1x2x1x8xf32>
      return %1, %4 : tensor<1x2x?x8xbf16, #graph.dims<1, 2, room1, 8>>,
                      tensor<1x2x1x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [
    Option<"type", "type", "std::string", "\"bf16\"",
           "What caches hold: f32, f16, bf16 or int8">,
    Option<"target", "target", "std::string", "\"cpu\"",
           "What the program is for: cpu or cuda">,
    Option<"explain", "explain", "bool", "false",
           "Remark on caches that stay: why">];
}

def ObserveProductsPass : Pass<"observe-products", "::mlir::func::FuncOp"> {
  let summary = "Return the left operands of what could multiply 8 bits";
  let description = [{
    Products that ask for int8, and could have it, are to be f32, and the
    function returns the left operand of each behind its own results: what
    calibration looks at. So are convolutions, and their images. An operand of several products is returned once.
    Products in a branch of an If stay as they are. With `of-weights` it is
    those that ask for weights alone in few bits, and all other ops are to be
    f32 as well: what the model's products read, exactly.

    ```mlir
    func.func @main(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
      %w = graph.weight {name = "w"} : () -> tensor<64x64xf32>
      %0 = graph.exp %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
      %1 = graph.matmul %0, %w {graph.op = "fc", graph.precision = "int8"}
          : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
      return %1 : tensor<4x64xf32>
    }
    // becomes
    func.func @main(%x: tensor<4x64xf32>)
        -> (tensor<4x64xf32>,
            tensor<4x64xf32> {graph.name = "graph.lhs 0"}) {
      %w = graph.weight {name = "w"} : () -> tensor<64x64xf32>
      %0 = graph.exp %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
      %1 = graph.matmul %0, %w {graph.op = "fc", graph.precision = "fp32"}
          : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
      return %1, %0 : tensor<4x64xf32>, tensor<4x64xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"ofWeights", "of-weights", "bool", "false",
                        "Those of weights alone in few bits, not of int8">];
}

def RecordPrecisionPass : Pass<"record-precision", "::mlir::func::FuncOp"> {
  let summary = "The precisions that ops have got";
  let description = [{
    Takes the attributes of assign-precision away again, and notes what they say
    by then.

    ```mlir
    func.func @main(%x: tensor<4x64xf32>, %w: tensor<64x64xf32>)
        -> tensor<4x64xf32> {
      %0 = graph.matmul %x, %w {graph.op = "fc", graph.precision = "bf16"}
          : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
      return %0 : tensor<4x64xf32>
    }
    // becomes
    func.func @main(%x: tensor<4x64xf32>, %w: tensor<64x64xf32>)
        -> tensor<4x64xf32> {
      %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x64xf32>)
          -> tensor<4x64xf32>
      return %0 : tensor<4x64xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

#endif // TENON_COMPILER_TRANSFORMS_PRECISIONPASSES_TD
