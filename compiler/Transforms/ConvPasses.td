//===- ConvPasses.td - Convolutions as kernels want them -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_CONVPASSES_TD
#define TENON_COMPILER_TRANSFORMS_CONVPASSES_TD

include "mlir/Pass/PassBase.td"

def ChannelsLastPass : Pass<"channels-last", "::mlir::func::FuncOp"> {
  let summary = "Convolutions keep their channels together";
  let description = [{
    Convolutions of floats, and of bytes less zero points, read and write
    [N, d.., C], the order in which their kernels are fast. The transposes that this takes are moved through the ops
    around (which rename their axes; weights are transposed at compile time)
    until they meet and vanish, those that the model came with among them.
    Their number never grows in this. Pools follow the order around them.

    ```mlir
    func.func @main(%x: tensor<1x8x8x3xf32>, %w: tensor<4x3x3x3xf32>)
        -> tensor<1x6x6x4xf32> {
      %0 = graph.transpose %x {permutation = array<i64: 0, 3, 1, 2>}
          : (tensor<1x8x8x3xf32>) -> tensor<1x3x8x8xf32>
      %1 = graph.conv %0, %w {strides = array<i64: 1, 1>,
          dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>,
          group = 1 : i64}
          : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
      %2 = graph.tanh %1 : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
      %3 = graph.transpose %2 {permutation = array<i64: 0, 2, 3, 1>}
          : (tensor<1x4x6x6xf32>) -> tensor<1x6x6x4xf32>
      return %3 : tensor<1x6x6x4xf32>
    }
    // becomes
    func.func @main(%x: tensor<1x8x8x3xf32>, %w: tensor<4x3x3x3xf32>)
        -> tensor<1x6x6x4xf32> {
      %0 = graph.conv %x, %w {channels_last, strides = array<i64: 1, 1>,
          dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>,
          group = 1 : i64}
          : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x6x6x4xf32>
      %1 = graph.tanh %0 : (tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
      return %1 : tensor<1x6x6x4xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on each transpose that is left">];
}

def FoldBatchNormPass : Pass<"fold-batch-norm", "::mlir::func::FuncOp"> {
  let summary = "Scales behind a convolution go into its filter";
  let description = [{
    What comes behind a convolution and only adds, subtracts or multiplies
    constants of f32 or f64 per channel becomes one bias, and a factor of the
    filter that fold-constants computes. Fires only where nothing else reads
    the convolution.

    ```mlir
    func.func @main(%x: tensor<1x3x8xf32>) -> tensor<1x4x8xf32> {
      %w = graph.weight {name = "w"} : () -> tensor<4x3x1xf32>
      %c = graph.weight {name = "c"} : () -> tensor<4x1xf32>
      %0 = graph.conv %x, %w {strides = array<i64: 1>,
          dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64}
          : (tensor<1x3x8xf32>, tensor<4x3x1xf32>) -> tensor<1x4x8xf32>
      %1 = graph.mul %0, %c
          : (tensor<1x4x8xf32>, tensor<4x1xf32>) -> tensor<1x4x8xf32>
      return %1 : tensor<1x4x8xf32>
    }
    // becomes
    func.func @main(%x: tensor<1x3x8xf32>) -> tensor<1x4x8xf32> {
      %w = graph.weight {name = "w"} : () -> tensor<4x3x1xf32>
      %c = graph.weight {name = "c"} : () -> tensor<4x1xf32>
      %0 = graph.reshape %c : (tensor<4x1xf32>) -> tensor<4x1x1xf32>
      %1 = graph.mul %w, %0
          : (tensor<4x3x1xf32>, tensor<4x1x1xf32>) -> tensor<4x3x1xf32>
      %2 = graph.conv %x, %1 {strides = array<i64: 1>,
          dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64}
          : (tensor<1x3x8xf32>, tensor<4x3x1xf32>) -> tensor<1x4x8xf32>
      return %2 : tensor<1x4x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

def FoldPadsPass : Pass<"fold-pads", "::mlir::func::FuncOp"> {
  let summary = "Zeros around an image become its reader's border";
  let description = [{
    A convolution or an average pool reads the image itself where a pad by zeros
    is in front of it, however many ops read that pad; so does a largest pool of
    what is not below zero. Transposes, other axes of size one, and quantizing
    and back may lie in between. Fires where the borders are numbers and each
    window reaches the image; one that crops stays a pad.

    ```mlir
    func.func @main(%x: tensor<1x3x8xf32>, %w: tensor<4x3x2xf32>)
        -> tensor<1x4x8xf32> {
      %zero = graph.constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
      %0 = graph.pad %x, %zero {low = #graph.dims<0, 0, 1>, mode = #graph<pad_mode constant>}
          : (tensor<1x3x8xf32>, tensor<f32>) -> tensor<1x3x9xf32>
      %1 = graph.conv %0, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64}
          : (tensor<1x3x9xf32>, tensor<4x3x2xf32>) -> tensor<1x4x8xf32>
      return %1 : tensor<1x4x8xf32>
    }
    // becomes
    func.func @main(%x: tensor<1x3x8xf32>, %w: tensor<4x3x2xf32>)
        -> tensor<1x4x8xf32> {
      %0 = graph.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = #graph.dims<1, 0>, group = 1 : i64}
          : (tensor<1x3x8xf32>, tensor<4x3x2xf32>) -> tensor<1x4x8xf32>
      return %0 : tensor<1x4x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

def TrimTapsPass : Pass<"trim-taps", "::mlir::func::FuncOp"> {
  let summary = "Taps that only read beside an image are left out";
  let description = [{
    A convolution loses the first and last taps of an axis by which no window
    reads the image, and as much of its border. Fires with channels last, where
    sizes and borders are numbers and the filter is a weight or a constant; a
    slice, which fold-constants computes, makes the filter that is left.

    ```mlir
    func.func @main(%x: tensor<1x1x4x8xf32>) -> tensor<1x1x4x16xf32> {
      %w = graph.weight {name = "w"} : () -> tensor<16x8x3x3xf32>
      %0 = graph.conv %x, %w {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1 : i64}
          : (tensor<1x1x4x8xf32>, tensor<16x8x3x3xf32>) -> tensor<1x1x4x16xf32>
      return %0 : tensor<1x1x4x16xf32>
    }
    // becomes
    func.func @main(%x: tensor<1x1x4x8xf32>) -> tensor<1x1x4x16xf32> {
      %w = graph.weight {name = "w"} : () -> tensor<16x8x3x3xf32>
      %0 = graph.slice %w {starts = #graph.dims<0, 0, 1, 0>, steps = #graph.dims<1, 1, 1, 1>}
          : (tensor<16x8x3x3xf32>) -> tensor<16x8x1x3xf32>
      %1 = graph.conv %x, %0 {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 1, 0, 1>, group = 1 : i64}
          : (tensor<1x1x4x8xf32>, tensor<16x8x1x3xf32>) -> tensor<1x1x4x16xf32>
      return %1 : tensor<1x1x4x16xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

def PadQuadsPass : Pass<"pad-quads", "::mlir::func::FuncOp"> {
  let summary = "Give images of bytes whole quads of channels";
  let description = [{
    A convolution of bytes with channels last reads an image with zeros behind
    its channels, up to a multiple of four, and a filter with as many. Fires for
    images of few channels, which a kernel that moves or computes them can pad;
    not where the filter has zero points, to which zeros are numbers.

    ```mlir
    func.func @main(%x: tensor<1x9x9x3xui8>) -> tensor<1x7x7x8xi32> {
      %w = graph.weight {name = "w"} : () -> tensor<8x3x3x3xi8>
      %0 = graph.cast %x : (tensor<1x9x9x3xui8>) -> tensor<1x9x9x3xi32>
      %1 = graph.cast %w : (tensor<8x3x3x3xi8>) -> tensor<8x3x3x3xi32>
      %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last}
          : (tensor<1x9x9x3xi32>, tensor<8x3x3x3xi32>) -> tensor<1x7x7x8xi32>
      return %2 : tensor<1x7x7x8xi32>
    }
    // becomes
    func.func @main(%x: tensor<1x9x9x3xui8>) -> tensor<1x7x7x8xi32> {
      %w = graph.weight {name = "w"} : () -> tensor<8x3x3x3xi8>
      %0 = graph.constant {value = dense<0> : tensor<ui8>} : () -> tensor<ui8>
      %1 = graph.pad %x, %0 {low = #graph.dims<0, 0, 0, 0>, mode = #graph<pad_mode constant>}
          : (tensor<1x9x9x3xui8>, tensor<ui8>) -> tensor<1x9x9x4xui8>
      %2 = graph.cast %1 : (tensor<1x9x9x4xui8>) -> tensor<1x9x9x4xi32>
      %3 = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
      %4 = graph.pad %w, %3 {low = #graph.dims<0, 0, 0, 0>, mode = #graph<pad_mode constant>}
          : (tensor<8x3x3x3xi8>, tensor<i8>) -> tensor<8x4x3x3xi8>
      %5 = graph.cast %4 : (tensor<8x4x3x3xi8>) -> tensor<8x4x3x3xi32>
      %6 = graph.conv %2, %5 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<0, 0, 0, 0>, group = 1, channels_last}
          : (tensor<1x9x9x4xi32>, tensor<8x4x3x3xi32>) -> tensor<1x7x7x8xi32>
      return %6 : tensor<1x7x7x8xi32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
}

def DepthwisePlanesPass : Pass<"depthwise-planes", "::mlir::func::FuncOp"> {
  let summary = "Convolutions of each channel between channels first keep them";
  let description = [{
    Behind `channels-last`: where a convolution with a group for each channel,
    and what is around it, take the order [N, C, d..] with fewer transposes than
    before, they do. Fires for f32 by a weight of few taps, where lines have
    eight results or more; `explain` says where.

    ```mlir
    func.func @main(%x: tensor<1x8x6x9xf32>) -> tensor<1x8x6x9xf32> {
      %w = graph.weight {name = "w"} : () -> tensor<8x1x3x3xf32>
      %0 = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>}
          : (tensor<1x8x6x9xf32>) -> tensor<1x6x9x8xf32>
      %1 = graph.conv %0, %w {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 8 : i64}
          : (tensor<1x6x9x8xf32>, tensor<8x1x3x3xf32>) -> tensor<1x6x9x8xf32>
      %2 = graph.transpose %1 {permutation = array<i64: 0, 3, 1, 2>}
          : (tensor<1x6x9x8xf32>) -> tensor<1x8x6x9xf32>
      return %2 : tensor<1x8x6x9xf32>
    }
    // becomes
    func.func @main(%x: tensor<1x8x6x9xf32>) -> tensor<1x8x6x9xf32> {
      %w = graph.weight {name = "w"} : () -> tensor<8x1x3x3xf32>
      %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 8 : i64}
          : (tensor<1x8x6x9xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x6x9xf32>
      return %0 : tensor<1x8x6x9xf32>
    }
    ```
  }];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on what fires">];
}
def SplitConvGroupsPass : Pass<"split-conv-groups", "::mlir::func::FuncOp"> {
  let summary = "Convolutions by groups become one for each";
  let description = [{
    For CPUs, whose kernel for groups needs images of sizes that are numbers.
    Fires where that does not suit, and the filter is a weight of f32 with at
    least 8 maps and 4 channels in each of at most 64 groups.

    ```mlir
    func.func @main(%x: tensor<1x?x8xf32, #graph.dims<1, s, 8>>)
        -> tensor<1x?x16xf32, #graph.dims<1, s, 16>> {
      %w = graph.weight {name = "w"} : () -> tensor<16x4x1xf32>
      %0 = graph.conv %x, %w {channels_last, strides = array<i64: 1>,
          dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 2 : i64}
          : (tensor<1x?x8xf32, #graph.dims<1, s, 8>>, tensor<16x4x1xf32>)
          -> tensor<1x?x16xf32, #graph.dims<1, s, 16>>
      return %0 : tensor<1x?x16xf32, #graph.dims<1, s, 16>>
    }
    // becomes
    func.func @main(%x: tensor<1x?x8xf32, #graph.dims<1, s, 8>>)
        -> tensor<1x?x16xf32, #graph.dims<1, s, 16>> {
      %w = graph.weight {name = "w"} : () -> tensor<16x4x1xf32>
      %0 = graph.slice %x {starts = #graph.dims<0, 0, 0>,
          steps = #graph.dims<1, 1, 1>}
          : (tensor<1x?x8xf32, #graph.dims<1, s, 8>>)
          -> tensor<1x?x4xf32, #graph.dims<1, s, 4>>
      %1 = graph.slice %w {starts = #graph.dims<0, 0, 0>,
          steps = #graph.dims<1, 1, 1>}
          : (tensor<16x4x1xf32>) -> tensor<8x4x1xf32>
      %2 = graph.conv %0, %1 {channels_last, strides = array<i64: 1>,
          dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64}
          : (tensor<1x?x4xf32, #graph.dims<1, s, 4>>, tensor<8x4x1xf32>)
          -> tensor<1x?x8xf32, #graph.dims<1, s, 8>>
      %3 = graph.slice %x {starts = #graph.dims<0, 0, 4>,
          steps = #graph.dims<1, 1, 1>}
          : (tensor<1x?x8xf32, #graph.dims<1, s, 8>>)
          -> tensor<1x?x4xf32, #graph.dims<1, s, 4>>
      %4 = graph.slice %w {starts = #graph.dims<8, 0, 0>,
          steps = #graph.dims<1, 1, 1>}
          : (tensor<16x4x1xf32>) -> tensor<8x4x1xf32>
      %5 = graph.conv %3, %4 {channels_last, strides = array<i64: 1>,
          dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64}
          : (tensor<1x?x4xf32, #graph.dims<1, s, 4>>, tensor<8x4x1xf32>)
          -> tensor<1x?x8xf32, #graph.dims<1, s, 8>>
      %6 = graph.concat %2, %5 {axis = 2 : i64}
          : (tensor<1x?x8xf32, #graph.dims<1, s, 8>>,
             tensor<1x?x8xf32, #graph.dims<1, s, 8>>)
          -> tensor<1x?x16xf32, #graph.dims<1, s, 16>>
      return %6 : tensor<1x?x16xf32, #graph.dims<1, s, 16>>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on each that stays together: why">];
}

def SplitConvTransposesPass
    : Pass<"split-conv-transposes", "::mlir::func::FuncOp"> {
  let summary = "Transposed convolutions become convolutions";
  let description = [{
    Results whose places leave the same remainder by the strides are one
    convolution each, with the taps that reach them in reverse; they are
    computed as channels, channels last, and put in their places. Fires where
    the filter is a weight of f32 and no axis has both a stride and a dilation.

    ```mlir
    func.func @main(%x: tensor<1x3x4xf32>) -> tensor<1x2x8xf32> {
      %w = graph.weight {name = "w"} : () -> tensor<3x2x2xf32>
      %0 = graph.conv_transpose %x, %w {strides = array<i64: 2>,
          dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64}
          : (tensor<1x3x4xf32>, tensor<3x2x2xf32>) -> tensor<1x2x8xf32>
      return %0 : tensor<1x2x8xf32>
    }
    // becomes
    func.func @main(%x: tensor<1x3x4xf32>) -> tensor<1x2x8xf32> {
      %w = graph.weight {name = "w"} : () -> tensor<3x2x2xf32>
      %1 = graph.transpose %x {permutation = array<i64: 0, 2, 1>}
          : (tensor<1x3x4xf32>) -> tensor<1x4x3xf32>
      %2 = graph.reshape %w : (tensor<3x2x2xf32>) -> tensor<1x3x2x2xf32>
      %3 = graph.transpose %2 {permutation = array<i64: 0, 2, 1, 3>}
          : (tensor<1x3x2x2xf32>) -> tensor<1x2x3x2xf32>
      %4 = graph.reshape %3 : (tensor<1x2x3x2xf32>) -> tensor<2x3x2xf32>
      %5 = graph.slice %4 {starts = #graph.dims<0, 0, 0>,
          steps = #graph.dims<1, 1, -2>}
          : (tensor<2x3x2xf32>) -> tensor<2x3x1xf32>
      %6 = graph.slice %4 {starts = #graph.dims<0, 0, 1>,
          steps = #graph.dims<1, 1, -2>}
          : (tensor<2x3x2xf32>) -> tensor<2x3x1xf32>
      %7 = graph.reshape %5 : (tensor<2x3x1xf32>) -> tensor<1x2x3x1xf32>
      %8 = graph.reshape %6 : (tensor<2x3x1xf32>) -> tensor<1x2x3x1xf32>
      %9 = graph.concat %7, %8 {axis = 1 : i64}
          : (tensor<1x2x3x1xf32>, tensor<1x2x3x1xf32>) -> tensor<1x4x3x1xf32>
      %10 = graph.reshape %9 : (tensor<1x4x3x1xf32>) -> tensor<4x3x1xf32>
      %11 = graph.conv %1, %10 {channels_last, strides = array<i64: 1>,
          dilations = array<i64: 1>, pads = #graph.dims<0, 0>, group = 1 : i64}
          : (tensor<1x4x3xf32>, tensor<4x3x1xf32>) -> tensor<1x4x4xf32>
      %12 = graph.reshape %11 : (tensor<1x4x4xf32>) -> tensor<1x4x1x2x2xf32>
      %13 = graph.transpose %12 {permutation = array<i64: 0, 1, 3, 2, 4>}
          : (tensor<1x4x1x2x2xf32>) -> tensor<1x4x2x1x2xf32>
      %14 = graph.reshape %13 : (tensor<1x4x2x1x2xf32>) -> tensor<1x8x2xf32>
      %15 = graph.slice %14 {starts = #graph.dims<0, 0, 0>,
          steps = #graph.dims<1, 1, 1>}
          : (tensor<1x8x2xf32>) -> tensor<1x8x2xf32>
      %16 = graph.transpose %15 {permutation = array<i64: 0, 2, 1>}
          : (tensor<1x8x2xf32>) -> tensor<1x2x8xf32>
      return %16 : tensor<1x2x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::graph::GraphDialect"];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark on each that is not split">];
}

#endif // TENON_COMPILER_TRANSFORMS_CONVPASSES_TD
