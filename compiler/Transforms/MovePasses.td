//===- MovePasses.td - Ops that move up or down ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_MOVEPASSES_TD
#define TENON_COMPILER_TRANSFORMS_MOVEPASSES_TD

include "mlir/Pass/PassBase.td"

def HoistInvariantsPass : Pass<"hoist-invariants", "::mlir::func::FuncOp"> {
  let summary = "Compute in front of a loop what all of its steps would";
  let description = [{
    Products, convolutions, norms, joins and pointwise ops of a loop's body that
    depend on nothing a step changes move in front of the loop, with the views
    that they read through. Not what could fail, since the loop may have no
    step, and not behind a requirement on the same sizes. A state that every
    step hands on as it is goes. A product of the row that a step takes of a
    tensor from outside becomes a row of one product.

    ```mlir
    func.func @main(%c: tensor<i1>, %x: tensor<4x4xf32>) -> tensor<4x4xf32> {
      %0 = graph.loop "i" %c, %x attributes {room = #graph.dims<0>}
          : (tensor<i1>, tensor<4x4xf32>) -> tensor<4x4xf32> {
      ^bb0(%s: tensor<4x4xf32>):
        %1 = graph.matmul %x, %x
            : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
        %2 = graph.add %s, %1
            : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
        graph.yield %c, %2 : tensor<i1>, tensor<4x4xf32>
      }
      return %0 : tensor<4x4xf32>
    }
    // becomes
    func.func @main(%c: tensor<i1>, %x: tensor<4x4xf32>) -> tensor<4x4xf32> {
      %1 = graph.matmul %x, %x
          : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %0 = graph.loop "i" %c, %x attributes {room = #graph.dims<0>}
          : (tensor<i1>, tensor<4x4xf32>) -> tensor<4x4xf32> {
      ^bb0(%s: tensor<4x4xf32>):
        %2 = graph.add %s, %1
            : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
        graph.yield %c, %2 : tensor<i1>, tensor<4x4xf32>
      }
      return %0 : tensor<4x4xf32>
    }
    ```
  }];
}

def HoistReshapesPass : Pass<"hoist-reshapes", "::mlir::func::FuncOp"> {
  let summary = "Products have the axes of what follows them";
  let description = [{
    A reshape between a product by one matrix and a pointwise op moves above the
    product, with the pointwise ops that lie between, so that one kernel
    computes all. Fires where nothing else reads what lies between, and the last
    axis stays.

    ```mlir
    func.func @main(%x: tensor<2x3x8xf32>, %w: tensor<8x4xf32>)
        -> tensor<2x3x4xf32> {
      %0 = graph.reshape %x : (tensor<2x3x8xf32>) -> tensor<6x8xf32>
      %1 = graph.matmul %0, %w
          : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
      %2 = graph.reshape %1 : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
      %3 = graph.tanh %2 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
      return %3 : tensor<2x3x4xf32>
    }
    // becomes
    func.func @main(%x: tensor<2x3x8xf32>, %w: tensor<8x4xf32>)
        -> tensor<2x3x4xf32> {
      %0 = graph.matmul %x, %w
          : (tensor<2x3x8xf32>, tensor<8x4xf32>) -> tensor<2x3x4xf32>
      %1 = graph.tanh %0 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
      return %1 : tensor<2x3x4xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on each such reshape that stays: why">];
}

def HoistRowMovesPass : Pass<"hoist-row-moves", "::mlir::func::FuncOp"> {
  let summary = "Norms read rows from where they lie";
  let description = [{
    Transposes, reshapes and rolls that keep each row (the last axis) whole move
    above a norm of rows, its scale and its bias, when these have no other user.

    ```mlir
    func.func @main(%x: tensor<4x6x8xf32>, %g: tensor<8xf32>)
        -> tensor<6x4x8xf32> {
      %0 = graph.layer_norm %x {axis = 2 : i64, epsilon = 1.0e-05 : f64}
          : (tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
      %1 = graph.mul %0, %g
          : (tensor<4x6x8xf32>, tensor<8xf32>) -> tensor<4x6x8xf32>
      %2 = graph.transpose %1 {permutation = array<i64: 1, 0, 2>}
          : (tensor<4x6x8xf32>) -> tensor<6x4x8xf32>
      return %2 : tensor<6x4x8xf32>
    }
    // becomes
    func.func @main(%x: tensor<4x6x8xf32>, %g: tensor<8xf32>)
        -> tensor<6x4x8xf32> {
      %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>}
          : (tensor<4x6x8xf32>) -> tensor<6x4x8xf32>
      %1 = graph.layer_norm %0 {axis = 2 : i64, epsilon = 1.0e-05 : f64}
          : (tensor<6x4x8xf32>) -> tensor<6x4x8xf32>
      %2 = graph.mul %1, %g
          : (tensor<6x4x8xf32>, tensor<8xf32>) -> tensor<6x4x8xf32>
      return %2 : tensor<6x4x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on movement that stays behind a norm: why">];
}

def HoistSlicesPass : Pass<"hoist-slices", "::mlir::func::FuncOp"> {
  let summary = "Compute only the rows that are read";
  let description = [{
    A slice moves above the op that it reads, when nothing else reads that and
    the op computes each row of the slice from the same rows of its operands.
    Above a convolution it becomes less of a border, where it cuts off no more
    than that adds, with a stride of one.

    ```mlir
    func.func @main(%x: tensor<2x9x8xf32>) -> tensor<2x1x8xf32> {
      %0 = graph.layer_norm %x {axis = 2 : i64, epsilon = 1.0e-05 : f64}
          : (tensor<2x9x8xf32>) -> tensor<2x9x8xf32>
      %1 = graph.slice %0 {starts = #graph.dims<0, 0, 0>,
          steps = #graph.dims<1, 1, 1>}
          : (tensor<2x9x8xf32>) -> tensor<2x1x8xf32>
      return %1 : tensor<2x1x8xf32>
    }
    // becomes
    func.func @main(%x: tensor<2x9x8xf32>) -> tensor<2x1x8xf32> {
      %0 = graph.slice %x {starts = #graph.dims<0, 0, 0>,
          steps = #graph.dims<1, 1, 1>}
          : (tensor<2x9x8xf32>) -> tensor<2x1x8xf32>
      %1 = graph.layer_norm %0 {axis = 2 : i64, epsilon = 1.0e-05 : f64}
          : (tensor<2x1x8xf32>) -> tensor<2x1x8xf32>
      return %1 : tensor<2x1x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

def AppendMapsPass : Pass<"append-maps", "::mlir::func::FuncOp"> {
  let summary = "Joined maps grow where they lie";
  let description = [{
    Fires where a concatenation goes on from another one, which else is read
    element by element, and that before.

    ```mlir
    func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>)
        -> tensor<2x14xf32> {
      %0 = graph.concat %x, %y {axis = 1 : i64}
          : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>
      %1 = graph.exp %0 : (tensor<2x7xf32>) -> tensor<2x7xf32>
      %2 = graph.concat %0, %1 {axis = 1 : i64}
          : (tensor<2x7xf32>, tensor<2x7xf32>) -> tensor<2x14xf32>
      return %2 : tensor<2x14xf32>
    }
    // becomes
    func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>)
        -> tensor<2x14xf32> {
      %0 = graph.append %x, %y {axis = 1 : i64, length = #graph.dims<3>}
          : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x14xf32>
      %1 = graph.slice %0 {starts = #graph.dims<0, 0>,
          steps = #graph.dims<1, 1>} : (tensor<2x14xf32>) -> tensor<2x7xf32>
      %2 = graph.exp %1 : (tensor<2x7xf32>) -> tensor<2x7xf32>
      %3 = graph.append %0, %2 {axis = 1 : i64, length = #graph.dims<7>}
          : (tensor<2x14xf32>, tensor<2x7xf32>) -> tensor<2x14xf32>
      return %3 : tensor<2x14xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

def ExtendConcatsPass : Pass<"extend-concats", "::mlir::func::FuncOp"> {
  let summary = "Concatenations go on from shorter ones";
  let description = [{
    Fires where the first operands of a concatenation, two at least, are those
    of another one before it.

    ```mlir
    func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>)
        -> (tensor<2x7xf32>, tensor<2x10xf32>) {
      %0 = graph.concat %x, %y {axis = 1 : i64}
          : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>
      %1 = graph.concat %x, %y, %x {axis = 1 : i64}
          : (tensor<2x3xf32>, tensor<2x4xf32>, tensor<2x3xf32>)
          -> tensor<2x10xf32>
      return %0, %1 : tensor<2x7xf32>, tensor<2x10xf32>
    }
    // becomes
    func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>)
        -> (tensor<2x7xf32>, tensor<2x10xf32>) {
      %0 = graph.concat %x, %y {axis = 1 : i64}
          : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>
      %1 = graph.concat %0, %x {axis = 1 : i64}
          : (tensor<2x7xf32>, tensor<2x3xf32>) -> tensor<2x10xf32>
      return %0, %1 : tensor<2x7xf32>, tensor<2x10xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

def HoistCastsPass : Pass<"hoist-casts", "::mlir::func::FuncOp"> {
  let summary = "What is only moved is rounded before";
  let description = [{
    Fires for a concatenation of f32 of which all that is read is cast to the
    same type of 16 bits; for the largest of windows where all that is read of
    its operand is rounded to that, too; for averages of windows over what has
    been rounded to it; for what a product or a convolution becomes, where all
    that is read of it, through slices, reshapes and transposes, is rounded to
    bf16. Results keep their bits.

    ```mlir
    func.func @main(%x: tensor<2x4xf32>, %y: tensor<2x5xf32>)
        -> tensor<2x9xbf16> {
      %0 = graph.concat %x, %y {axis = 1 : i64}
          : (tensor<2x4xf32>, tensor<2x5xf32>) -> tensor<2x9xf32>
      %1 = graph.cast %0 : (tensor<2x9xf32>) -> tensor<2x9xbf16>
      return %1 : tensor<2x9xbf16>
    }
    // becomes
    func.func @main(%x: tensor<2x4xf32>, %y: tensor<2x5xf32>)
        -> tensor<2x9xbf16> {
      %0 = graph.cast %x : (tensor<2x4xf32>) -> tensor<2x4xbf16>
      %1 = graph.cast %y : (tensor<2x5xf32>) -> tensor<2x5xbf16>
      %2 = graph.concat %0, %1 {axis = 1 : i64}
          : (tensor<2x4xbf16>, tensor<2x5xbf16>) -> tensor<2x9xbf16>
      return %2 : tensor<2x9xbf16>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"products", "products", "bool", "true",
                        "Round what products become, where all readers do">];
}

def RoundConcatsPass : Pass<"round-concats", "::mlir::func::FuncOp"> {
  let summary = "Channels that wait for convolutions in bf16 are joined in it";
  let description = [{
    Fires for a concatenation of f32 along the last axis where all that reads it
    are convolutions of pairs of bf16, which round it, behind ops with constants
    element by element, averages of windows or in longer concatenations. It is
    rounded once more, as what convolutions leave to sums is, and hoist-casts
    moves that in front.

    ```mlir
    func.func @main(%x: tensor<1x8x8x16xf32>, %y: tensor<1x8x8x16xf32>)
        -> tensor<1x8x8x32xf32> {
      %w = graph.weight {name = "w"} : () -> tensor<32x32x1x1xbf16>
      %0 = graph.concat %x, %y {axis = 3 : i64}
          : (tensor<1x8x8x16xf32>, tensor<1x8x8x16xf32>) -> tensor<1x8x8x32xf32>
      %1 = graph.tanh %0 : (tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
      %2 = graph.cast %1 : (tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xbf16>
      %3 = graph.cast %2 : (tensor<1x8x8x32xbf16>) -> tensor<1x8x8x32xf32>
      %4 = graph.cast %w : (tensor<32x32x1x1xbf16>) -> tensor<32x32x1x1xf32>
      %5 = graph.conv %3, %4 {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64}
          : (tensor<1x8x8x32xf32>, tensor<32x32x1x1xf32>) -> tensor<1x8x8x32xf32>
      return %5 : tensor<1x8x8x32xf32>
    }
    // becomes
    func.func @main(%x: tensor<1x8x8x16xf32>, %y: tensor<1x8x8x16xf32>)
        -> tensor<1x8x8x32xf32> {
      %w = graph.weight {name = "w"} : () -> tensor<32x32x1x1xbf16>
      %j = graph.concat %x, %y {axis = 3 : i64}
          : (tensor<1x8x8x16xf32>, tensor<1x8x8x16xf32>) -> tensor<1x8x8x32xf32>
      %n = graph.cast %j : (tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xbf16>
      %0 = graph.cast %n : (tensor<1x8x8x32xbf16>) -> tensor<1x8x8x32xf32>
      %1 = graph.tanh %0 : (tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
      %2 = graph.cast %1 : (tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xbf16>
      %3 = graph.cast %2 : (tensor<1x8x8x32xbf16>) -> tensor<1x8x8x32xf32>
      %4 = graph.cast %w : (tensor<32x32x1x1xbf16>) -> tensor<32x32x1x1xf32>
      %5 = graph.conv %3, %4 {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1 : i64}
          : (tensor<1x8x8x32xf32>, tensor<32x32x1x1xf32>) -> tensor<1x8x8x32xf32>
      return %5 : tensor<1x8x8x32xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

def SinkScalesPass : Pass<"sink-scales", "::mlir::func::FuncOp"> {
  let summary = "Scales of floats of 8 or 4 bits, behind products";
  let description = [{
    Fires for products of two operands that are numbers of such a type times
    scales, of which none differs along the steps that are added up. A rounding
    to f16 in front of the product falls away.

    ```mlir
    func.func @main(%x: tensor<2x8xf32>, %s: tensor<f32>) -> tensor<2x4xf32> {
      %0 = graph.round_float %x {to = f8E4M3FN, saturates = true}
          : (tensor<2x8xf32>) -> tensor<2x8xf32>
      %1 = graph.cast %0 : (tensor<2x8xf32>) -> tensor<2x8xbf16>
      %2 = graph.cast %1 : (tensor<2x8xbf16>) -> tensor<2x8xf32>
      %3 = graph.mul %2, %s : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
      %w = graph.weight {name = "w"} : () -> tensor<8x4xbf16>
      %4 = graph.cast %w : (tensor<8x4xbf16>) -> tensor<8x4xf32>
      %t = graph.weight {name = "t"} : () -> tensor<4xf32>
      %5 = graph.mul %4, %t : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
      %6 = graph.matmul %3, %5
          : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
      return %6 : tensor<2x4xf32>
    }
    // becomes
    func.func @main(%x: tensor<2x8xf32>, %s: tensor<f32>) -> tensor<2x4xf32> {
      %0 = graph.round_float %x {saturates = true, to = f8E4M3FN}
          : (tensor<2x8xf32>) -> tensor<2x8xf32>
      %1 = graph.cast %0 : (tensor<2x8xf32>) -> tensor<2x8xbf16>
      %2 = graph.cast %1 : (tensor<2x8xbf16>) -> tensor<2x8xf32>
      %3 = graph.weight  {name = "w"} : () -> tensor<8x4xbf16>
      %4 = graph.cast %3 : (tensor<8x4xbf16>) -> tensor<8x4xf32>
      %5 = graph.weight  {name = "t"} : () -> tensor<4xf32>
      %6 = graph.reshape %5 : (tensor<4xf32>) -> tensor<1x4xf32>
      %7 = graph.matmul %2, %4
          : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
      %8 = graph.mul %7, %s : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
      %9 = graph.mul %8, %6
          : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
      return %9 : tensor<2x4xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

def SinkDequantizePass : Pass<"sink-dequantize", "::mlir::func::FuncOp"> {
  let summary = "Move bytes, and do not quantize them again";
  let description = [{
    What is dequantized, moved, and quantized again by the same scale and zero
    point moves as it is, also where a factor in between makes the one scale the
    other; a table of bytes is gathered from before it is dequantized. Fires for
    scales that are constant numbers, of tables for any that are one number.

    ```mlir
    func.func @main(%x: tensor<2x3xui8>) -> tensor<3x2xui8> {
      %s = graph.constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
      %z = graph.constant {value = dense<9> : tensor<ui8>} : () -> tensor<ui8>
      %0 = graph.dequantize %x, %s, %z
          : (tensor<2x3xui8>, tensor<f32>, tensor<ui8>) -> tensor<2x3xf32>
      %1 = graph.transpose %0 {permutation = array<i64: 1, 0>}
          : (tensor<2x3xf32>) -> tensor<3x2xf32>
      %2 = graph.quantize %1, %s, %z
          : (tensor<3x2xf32>, tensor<f32>, tensor<ui8>) -> tensor<3x2xui8>
      return %2 : tensor<3x2xui8>
    }
    // becomes
    func.func @main(%x: tensor<2x3xui8>) -> tensor<3x2xui8> {
      %0 = graph.transpose %x {permutation = array<i64: 1, 0>}
          : (tensor<2x3xui8>) -> tensor<3x2xui8>
      return %0 : tensor<3x2xui8>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

def SinkMovesPass : Pass<"sink-moves", "::mlir::func::FuncOp"> {
  let summary = "Compute first, then put rows elsewhere";
  let description = [{
    Pointwise ops whose operands were all moved alike, by transposes and
    reshapes that keep rows whole, work in front of that, where they share the
    kernel of what makes the operands. Fires where only products and attentions
    read the result, which see through the movement, and nothing else reads the
    operands.

    ```mlir
    func.func @main(%x: tensor<5x8x16xf32>, %y: tensor<5x8x16xf32>,
                    %w: tensor<8x16x4xf32>) -> tensor<8x5x4xf32> {
      %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>}
          : (tensor<5x8x16xf32>) -> tensor<8x5x16xf32>
      %1 = graph.transpose %y {permutation = array<i64: 1, 0, 2>}
          : (tensor<5x8x16xf32>) -> tensor<8x5x16xf32>
      %2 = graph.mul %0, %1
          : (tensor<8x5x16xf32>, tensor<8x5x16xf32>) -> tensor<8x5x16xf32>
      %3 = graph.matmul %2, %w
          : (tensor<8x5x16xf32>, tensor<8x16x4xf32>) -> tensor<8x5x4xf32>
      return %3 : tensor<8x5x4xf32>
    }
    // becomes
    func.func @main(%x: tensor<5x8x16xf32>, %y: tensor<5x8x16xf32>,
                    %w: tensor<8x16x4xf32>) -> tensor<8x5x4xf32> {
      %0 = graph.mul %x, %y
          : (tensor<5x8x16xf32>, tensor<5x8x16xf32>) -> tensor<5x8x16xf32>
      %1 = graph.transpose %0 {permutation = array<i64: 1, 0, 2>}
          : (tensor<5x8x16xf32>) -> tensor<8x5x16xf32>
      %2 = graph.matmul %1, %w
          : (tensor<8x5x16xf32>, tensor<8x16x4xf32>) -> tensor<8x5x4xf32>
      return %2 : tensor<8x5x4xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on ops that stay behind movement: why">];
}

def SinkRowTransposesPass
    : Pass<"sink-row-transposes", "::mlir::func::FuncOp"> {
  let summary = "Multiply rows first, then transpose them";
  let description = [{
    A transpose in front of a product by one matrix moves behind it and behind
    pointwise ops that do the same to all rows. Fires where it keeps rows whole
    and other rows are next to each other because of it: those of one batch are
    what a kernel multiplies at once.

    ```mlir
    func.func @main(%x: tensor<2x9x16xf32>, %w: tensor<16x4xf32>,
                    %c: tensor<4xf32>) -> tensor<9x2x4xf32> {
      %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>}
          : (tensor<2x9x16xf32>) -> tensor<9x2x16xf32>
      %1 = graph.matmul %0, %w
          : (tensor<9x2x16xf32>, tensor<16x4xf32>) -> tensor<9x2x4xf32>
      %2 = graph.add %1, %c
          : (tensor<9x2x4xf32>, tensor<4xf32>) -> tensor<9x2x4xf32>
      return %2 : tensor<9x2x4xf32>
    }
    // becomes
    func.func @main(%x: tensor<2x9x16xf32>, %w: tensor<16x4xf32>,
                    %c: tensor<4xf32>) -> tensor<9x2x4xf32> {
      %0 = graph.matmul %x, %w
          : (tensor<2x9x16xf32>, tensor<16x4xf32>) -> tensor<2x9x4xf32>
      %1 = graph.add %0, %c
          : (tensor<2x9x4xf32>, tensor<4xf32>) -> tensor<2x9x4xf32>
      %2 = graph.transpose %1 {permutation = array<i64: 1, 0, 2>}
          : (tensor<2x9x4xf32>) -> tensor<9x2x4xf32>
      return %2 : tensor<9x2x4xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

def SinkWindowsPass : Pass<"sink-windows", "::mlir::func::FuncOp"> {
  let summary = "Multiply first what overlapping windows share";
  let description = [{
    Windows along the rows of lhs or the columns of rhs move behind the product,
    which then takes each row or column once. Fires where they overlap and the
    other operand is one matrix.

    ```mlir
    func.func @main(%x: tensor<5x2xf32>, %y: tensor<2x9xf32>)
        -> tensor<7x5x3xf32> {
      %0 = graph.windows %y {axis = 1 : i64, stride = 1 : i64, step = 1 : i64}
          : (tensor<2x9xf32>) -> tensor<2x7x3xf32>
      %1 = graph.transpose %0 {permutation = array<i64: 1, 0, 2>}
          : (tensor<2x7x3xf32>) -> tensor<7x2x3xf32>
      %2 = graph.matmul %x, %1
          : (tensor<5x2xf32>, tensor<7x2x3xf32>) -> tensor<7x5x3xf32>
      return %2 : tensor<7x5x3xf32>
    }
    // becomes
    func.func @main(%x: tensor<5x2xf32>, %y: tensor<2x9xf32>)
        -> tensor<7x5x3xf32> {
      %0 = graph.matmul %x, %y
          : (tensor<5x2xf32>, tensor<2x9xf32>) -> tensor<5x9xf32>
      %1 = graph.windows %0 {axis = 1 : i64, stride = 1 : i64, step = 1 : i64}
          : (tensor<5x9xf32>) -> tensor<5x7x3xf32>
      %2 = graph.transpose %1 {permutation = array<i64: 1, 0, 2>}
          : (tensor<5x7x3xf32>) -> tensor<7x5x3xf32>
      return %2 : tensor<7x5x3xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on products of windows that stay: why">];
}

def RecogniseRowIndicesPass : Pass<"recognise-row-indices",
                                   "::mlir::func::FuncOp"> {
  let summary = "Elements that are moved row by row, by one index for each";
  let description = [{
    Where the indices of a `gather_elements` or `scatter_elements` are expanded
    along all axes behind its own, and those are the input's, they become one
    index for each row: a `gather` where they are the same for all that lies in
    front of the axis, else a `gather_nd`; a `scatter_nd` along the first axis.

    ```mlir
    func.func @main(%x: tensor<2x8x4xf32>, %i: tensor<2x3x1xi64>)
        -> tensor<2x3x4xf32> {
      %0 = graph.broadcast %i : (tensor<2x3x1xi64>) -> tensor<2x3x4xi64>
      %1 = graph.gather_elements %x, %0 {axis = 1 : i64}
          : (tensor<2x8x4xf32>, tensor<2x3x4xi64>) -> tensor<2x3x4xf32>
      return %1 : tensor<2x3x4xf32>
    }
    // becomes
    func.func @main(%x: tensor<2x8x4xf32>, %i: tensor<2x3x1xi64>)
        -> tensor<2x3x4xf32> {
      %0 = graph.gather_nd %x, %i {batch_dims = 1 : i64}
          : (tensor<2x8x4xf32>, tensor<2x3x1xi64>) -> tensor<2x3x4xf32>
      return %0 : tensor<2x3x4xf32>
    }
    ```
  }];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on elements that are moved one by one: why">];
}

#endif // TENON_COMPILER_TRANSFORMS_MOVEPASSES_TD
