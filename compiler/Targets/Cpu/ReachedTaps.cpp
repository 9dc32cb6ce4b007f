//===- ReachedTaps.cpp - Taps of a tile that read the image ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/ReachedTaps.h"

using namespace mlir;

namespace tenon::cpu {

using kernel::DirectConvAxis;
using kernel::DirectConvView;

SmallVector<uint32_t> reachedPixels(const DirectConvAxis &axis,
                                    ArrayRef<int64_t> pixels) {
  uint32_t all = llvm::maskTrailingOnes<uint32_t>(pixels.size());
  SmallVector<uint32_t> reached(axis.taps, 0);
  for (int64_t tap = 0; tap < axis.taps; ++tap)
    for (auto [i, pixel] : llvm::enumerate(pixels)) {
      int64_t at = pixel * axis.stride + tap * axis.dilation - axis.low;
      if (at >= 0 && at < axis.size)
        reached[tap] |= 1u << i;
    }
  if (llvm::all_of(reached, [&](uint32_t tap) { return tap == all; }))
    reached.clear();
  return reached;
}

SmallVector<uint32_t> reachedUnder(const DirectConvView &view, int64_t first,
                                   int64_t count, int64_t lineTap,
                                   bool isByTap) {
  const DirectConvAxis &lines = view.lines(), &axis = view.pixels();
  SmallVector<int64_t> inLine, line;
  for (int64_t pixel = first; pixel < first + count; ++pixel) {
    inLine.push_back(pixel % axis.count);
    line.push_back(pixel / axis.count);
  }
  uint32_t all = llvm::maskTrailingOnes<uint32_t>(count);
  SmallVector<uint32_t> reached, byLine = reachedPixels(lines, line);
  if (isByTap)
    reached = reachedPixels(axis, inLine);
  uint32_t here = byLine.empty() ? all : byLine[lineTap];
  if (here == all)
    return reached;
  if (reached.empty())
    reached.assign(isByTap ? axis.taps : 1, all);
  for (uint32_t &tap : reached)
    tap &= here;
  return reached;
}

TapRange reachedTaps(Emitter &e, const DirectConvAxis &axis, Value output) {
  Value start = e.mul(output, e.number(axis.stride));
  // Taps that lie before a position of the image.
  auto before = [&](int64_t position) {
    Value distance = e.sub(e.number(position + axis.low), start);
    Value taps =
        e.ceilDiv(e.max(distance, e.number(0)), e.number(axis.dilation));
    return e.min(taps, e.number(axis.taps));
  };
  Value first = before(0);
  return {first, e.sub(before(axis.size), first)};
}

TapRange reachedOuterTaps(Emitter &e, const DirectConvView &view,
                          ArrayRef<Value> outer) {
  const DirectConvAxis *axis = view.outerAxis();
  if (!axis || axis->isInside())
    return {};
  return reachedTaps(e, *axis, outer.front());
}

} // namespace tenon::cpu
