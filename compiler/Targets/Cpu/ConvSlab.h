//===- ConvSlab.h - What a block of a convolution reads -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_CONVSLAB_H
#define TENON_COMPILER_TARGETS_CPU_CONVSLAB_H

#include "compiler/Targets/Cpu/Emitter.h"
#include "dialects/Kernel/DirectConvView.h"
#include "dialects/Kernel/IntegerMatmulView.h"

namespace tenon::cpu {

/// A block of the result: so many lines and pixels from the first ones on.
struct ConvBlock {
  Indices outer; // Its image, then its index of the axes before lines.
  Value firstLine, lines, firstPixel, pixels;
};

/// Copies the slab of a block from an image, of f32, of pairs of bf16 or of
/// quads of bytes (see ConvDepth.h), to scratch memory. Where a slab has one
/// group, the image begins with that.
class ConvSlab {
public:
  /// `bytes` are what quads are of, else null. Pairs that are widened become
  /// two f32 each, so that all distances in the slab are twice as far.
  ConvSlab(Emitter &e, const kernel::DirectConvView &view, Value input,
           Value slab, const kernel::IntegerFactor *bytes = nullptr,
           bool widens = false);

  void copy(const ConvBlock &block);

private:
  void gather(const ConvBlock &block);
  void copyLines(const ConvBlock &block, Value image, Value isInside, Value to);
  void copyLine(Value from, Value firstPixel, Value pixels, Value isInside,
                Value to);
  /// With what lies around the image.
  void fillAround(Value to, Value count);
  void copyElements(Value from, Value to, Value count);
  /// Elements as they are stored.
  Value stored(Value elements);
  Value maskBelow(Value count);
  Value element(Value base, Value offset);
  Value inSlab(Value base, Value offset);
  /// Where position `index` of an axis of the slab lies in the input.
  Value positionOf(const kernel::DirectConvAxis &axis, Value index);
  Value isInside(const kernel::DirectConvAxis &axis, Value position);

  Emitter &e;
  const kernel::DirectConvView &view;
  Value input, slab;
  int64_t channels, stride; // Of the slab; between pixels of the image.
  mlir::VectorType vector;
  Value around;
  bool flips = false; // To ui8.
  bool widens;
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_CONVSLAB_H
