//===- TurnedChannels.cpp - Planes that become pixels ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Some pixels of a line at a time: a row of each plane is read, side by side on
// the stack; put between each other there; and goes on along the pixels through
// whatever else the kernel computes. All three are loops that LLVM vectorises,
// where one over pixels and channels would be none.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/TurnedChannels.h"
#include "dialects/Kernel/PointwiseView.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

constexpr int64_t tilePixels = 64;

class TurnedChannels {
public:
  TurnedChannels(Emitter &e, const PointwiseSpace &space,
                 const kernel::TurnedChannels &view)
      : e(e), space(space), view(view), result(view.end->getResult(0)),
        type(computeType(graph::getElementType(result))),
        width(space.runs[space.runs.size() - 2].size) {
    for (auto [tile, channels] :
         {std::pair(&planes, view.channels), std::pair(&pixels, view.padded)})
      *tile = e.atEntry([&]() -> Value {
        return LLVM::AllocaOp::create(
            e.b, LLVM::LLVMPointerType::get(e.b.getContext()), type,
            e.number(tilePixels * channels), 64);
      });
  }

  /// Rows, which are pixels, line by line.
  void emit() {
    ArrayRef<AxisRun> outer = ArrayRef(space.runs).drop_back(2);
    Value size = e.atEntry([&] { return e.max(width, e.number(1)); });
    Value stop = e.ceilDiv(e.end, size);
    e.loop(e.div(e.begin, size), stop, [&](Value line) {
      firstPixel = e.mul(line, size);
      lead = e.delinearise(line, sizesOf(outer));
      Value low = e.sub(e.max(e.begin, firstPixel), firstPixel);
      Value high = e.min(e.sub(e.end, firstPixel), size);
      e.loop(
          low, high, [&](Value pixel) { emitTile(pixel, e.sub(high, pixel)); },
          tilePixels);
    });
  }

private:
  void emitTile(Value pixel, Value left) {
    // A number of pixels that the vectoriser knows.
    Value full = e.number(tilePixels);
    Value isShort = e.less(left, full);
    e.ifThen(isShort, [&] { emitPixels(pixel, left); });
    e.ifThen(e.less(e.number(tilePixels - 1), left),
             [&] { emitPixels(pixel, full); });
  }

  void emitPixels(Value pixel, Value count) {
    for (int64_t channel = 0; channel < view.channels; ++channel)
      e.loop(e.number(0), count, [&](Value i) {
        Indices index = indexOf(e.add(pixel, i), e.number(channel));
        Indices from(index.size());
        for (auto [axis, input] : llvm::enumerate(view.turn.getPermutation()))
          from[input] = index[axis];
        e.storeRaw(e.element(view.turn.getInput(), from), planes,
                   e.add(e.number(channel * tilePixels), i));
      });
    Value behind = view.padded > view.channels
                       ? e.element(view.pad.getValue(), {})
                       : Value();
    e.loop(e.number(0), count, [&](Value i) {
      Value first = e.mul(i, e.number(view.padded));
      for (int64_t channel = 0; channel < view.padded; ++channel) {
        Value plane = e.number(channel * tilePixels);
        Value element = channel < view.channels
                            ? e.loadRaw(planes, type, e.add(plane, i))
                            : behind;
        e.storeRaw(element, pixels, e.add(first, e.number(channel)));
      }
    });
    Value padded = e.number(view.padded);
    Value base = e.mul(e.add(firstPixel, pixel), padded);
    e.loop(e.number(0), e.mul(count, padded), [&](Value i) {
      Indices index = indexOf(e.add(pixel, e.div(i, padded)), e.rem(i, padded));
      e.bind(result, index, e.loadRaw(pixels, type, i));
      e.storeYields(index, e.add(base, i));
    });
  }

  Indices indexOf(Value pixel, Value channel) {
    Indices counts = lead;
    counts.append({pixel, channel});
    return space.index(e, counts);
  }

  Emitter &e;
  const PointwiseSpace &space;
  kernel::TurnedChannels view;
  Value result;
  Type type;
  Value width;          // Of a line, in pixels.
  Value planes, pixels; // The tile on the stack, before and behind the turn.
  // Of the current line.
  Value firstPixel;
  Indices lead;
};

/// What of the kernel is turned, if its last axis is that of the channels.
std::optional<kernel::TurnedChannels>
turnedChannelsOf(Emitter &e, const PointwiseSpace &space) {
  int64_t last = int64_t(space.dims.size()) - 1;
  if (space.runs.size() < 2 || space.runs.back().axis != last ||
      space.runs[space.runs.size() - 2].axis != last - 1)
    return std::nullopt;
  for (auto op : e.kernel.getBlock().getOps<graph::TransposeOp>()) {
    Operation *end = op;
    if (op->hasOneUse() && isa<graph::PadOp>(*op->user_begin()))
      end = *op->user_begin();
    std::optional<kernel::TurnedChannels> view = kernel::turnedChannelsOf(end);
    if (view && graph::getDims(end->getResult(0)) == space.dims)
      return view;
  }
  return std::nullopt;
}

} // namespace

bool emitTurnedChannels(Emitter &e, const PointwiseSpace &space) {
  std::optional<kernel::TurnedChannels> view = turnedChannelsOf(e, space);
  if (!view || !e.level.hasVectors())
    return false;
  TurnedChannels(e, space, *view).emit();
  return true;
}

} // namespace tenon::cpu
