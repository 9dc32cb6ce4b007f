//===- ReachedTaps.h - Taps of a tile that read the image -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_REACHEDTAPS_H
#define TENON_COMPILER_TARGETS_CPU_REACHEDTAPS_H

#include "compiler/Targets/Cpu/Emitter.h"
#include "dialects/Kernel/DirectConvView.h"

namespace tenon::cpu {

/// Of each tap of an axis, the pixels that it has read the image and not beside
/// it: bit i is the pixel of number pixels[i]. Empty where that is all of all.
llvm::SmallVector<uint32_t> reachedPixels(const kernel::DirectConvAxis &axis,
                                          llvm::ArrayRef<int64_t> pixels);

/// Of `count` pixels of an image, those from number `first` on: for each tap of
/// a line, or for all of them, the pixels that read the image under it and a
/// tap of lines; empty where all do.
llvm::SmallVector<uint32_t> reachedUnder(const kernel::DirectConvView &view,
                                         int64_t first, int64_t count,
                                         int64_t lineTap, bool isByTap = true);

/// The taps of an axis that read the image for an output, which follow each
/// other: the first one, and how many.
struct TapRange {
  Value first, count;
};
TapRange reachedTaps(Emitter &e, const kernel::DirectConvAxis &axis,
                     Value output);
/// The same of the axis before lines, at indices of the axes that are there;
/// null where there is none, or all its taps always read the image.
TapRange reachedOuterTaps(Emitter &e, const kernel::DirectConvView &view,
                          llvm::ArrayRef<Value> outer);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_REACHEDTAPS_H
