//===- PixelLines.h - Convolutions pixel by pixel -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_PIXELLINES_H
#define TENON_COMPILER_TARGETS_CPU_PIXELLINES_H

#include "compiler/Targets/Cpu/RowVectors.h"
#include "compiler/Targets/Cpu/Windows.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace tenon::cpu {

/// A convolution with channels last, of images of any sizes: a row of the
/// launch is a pixel of the result. Several side by side are computed at a time
/// where all taps of the line's axis lie inside of the image.
class PixelLines {
public:
  PixelLines(Emitter &e, graph::ConvOp op);

protected:
  /// The taps [from, to) of an axis that lie inside, and where tap 0 would.
  struct Taps {
    Value from, to, start;
  };

  /// Calls `emit` with the first of some pixels of the current line and their
  /// number: `sizes` in turn, from many to few, then 1.
  void forPixels(llvm::ArrayRef<int64_t> sizes,
                 llvm::function_ref<void(Value x, int64_t pixels)> emit);

  /// The taps of each axis for some pixels from x on.
  llvm::SmallVector<Taps> tapsAt(Value x, int64_t pixels);

  /// Goes over the taps of all axes but the last `inner`, carrying sums: calls
  /// `emit` with the pixel of the input and the tap, both known up to there.
  using Sums = llvm::SmallVector<Value>;
  Sums forTaps(
      llvm::ArrayRef<Taps> taps, size_t inner, mlir::ValueRange before,
      llvm::function_ref<Sums(Value pixel, Value tap, mlir::ValueRange before)>
          emit);

  /// Stores pixels from x on, of which element c waits at sums[pixel * count +
  /// c].
  void storePixels(Value x, int64_t pixels, int64_t count);

  Value element(Value base, Value offset) {
    return e.address(base, e.b.getF32Type(), offset);
  }
  /// Some lanes of a vector if there is a mask, and zeros for others.
  Value load(Value at, Value mask);
  Value zero();

  Emitter &e;
  graph::ConvOp op;
  int64_t lanes;
  mlir::VectorType vector;
  llvm::SmallVector<WindowAxis> axes;
  Value input, filter, sums;
  Line line; // Of pixels: the current one.

private:
  Taps tapsOf(const WindowAxis &axis, Value o);
  void emitLine(llvm::ArrayRef<int64_t> sizes,
                llvm::function_ref<void(Value x, int64_t pixels)> emit);
};

/// The convolution of two operands at a kernel's root; null for another.
graph::ConvOp rootConvOf(Emitter &e);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_PIXELLINES_H
