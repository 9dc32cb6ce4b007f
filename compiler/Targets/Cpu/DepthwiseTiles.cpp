//===- DepthwiseTiles.cpp - Convolutions of small groups, by tiles --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Per band and block of channels: tile by tile of a line, down the lines of the
// piece. The sums of a tile wait on the stack for what follows the convolution.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/DepthwiseTiles.h"
#include "compiler/Targets/Cpu/ConvRoot.h"
#include "compiler/Targets/Cpu/DepthwiseTile.h"
#include "compiler/Targets/Cpu/EvenTiles.h"
#include "compiler/Targets/Cpu/PanelEpilogue.h"
#include "dialects/Kernel/ConvDepth.h"
#include "dialects/Kernel/DepthwiseView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::DepthwiseView;
using kernel::DirectConvAxis;
constexpr int64_t width = kernel::depthwiseBlock;

class DepthwiseTiles {
public:
  DepthwiseTiles(Emitter &e, graph::ConvOp op, const DepthwiseView &view)
      : e(e), op(op), view(view), lanes(e.level.vectorBits / 32),
        tiles(view.pixels.count,
              llvm::divideCeil(view.pixels.count,
                               depthwisePixels(e.level, view.members))) {
    auto bufferOf = [&](Value operand) {
      auto argument = cast<BlockArgument>(kernel::operandOf(op, operand));
      return e.argumentBuffer(argument.getArgNumber());
    };
    Type f32 = e.b.getF32Type();
    zero = e.zero(f32);
    if (auto bytes = kernel::depthwiseBytesOf(op)) {
      kind =
          bytes->isSigned() ? DepthwiseTile::Signed : DepthwiseTile::Unsigned;
      if (bytes->zero)
        zero = e.atEntry([&]() -> Value {
          Indices index(graph::getRank(bytes->zero), e.number(0));
          return arith::SIToFPOp::create(e.b, f32,
                                         e.element(bytes->zero, index));
        });
    }
    if (kernel::depthwiseBf16Of(op))
      kind = DepthwiseTile::Bf16;
    input = bufferOf(op.getInput());
    filter = bufferOf(op.getFilter());
    sums = e.atEntry([&]() -> Value {
      return LLVM::AllocaOp::create(
          e.b, input.getType(), e.b.getF32Type(),
          e.number(std::min(depthwisePixels(e.level, view.members),
                            view.pixels.count) *
                   width),
          64);
    });
    addStrips();
  }

  /// Rows [begin, end): block after block of a band, of each some lines.
  void emit() {
    Value units = e.number(view.bandLines());
    Value last = e.ceilDiv(e.end, units);
    e.loop(e.div(e.begin, units), last, [&](Value number) {
      Value first = e.mul(number, units);
      Value band = e.div(number, e.number(view.blocks()));
      Value before = e.mul(e.rem(band, e.number(view.bands())),
                           e.number(view.bandLines()));
      from = e.add(before, e.sub(e.max(e.begin, first), first));
      to = e.add(before, e.min(e.sub(e.end, first), units));
      image = e.div(band, e.number(view.bands()));
      Value block = e.rem(number, e.number(view.blocks()));
      channel = e.mul(block, e.number(width));
      int64_t rest = view.channels % width;
      if (rest == 0)
        return emitStrips(width);
      Value ragged = e.number(view.blocks() - 1);
      if (view.blocks() > 1)
        e.ifThen(e.less(block, ragged), [&] { emitStrips(width); });
      e.ifThen(e.equal(block, ragged), [&] { emitStrips(rest); });
    });
  }

private:
  /// Tiles [first, last) of each line, which have as many pixels each and reach
  /// as far over the ends of the line: of the columns that each reads, [low,
  /// high) are there.
  struct Strip {
    int64_t first, last, pixels, low, high;

    bool goesOn(const Strip &next) const {
      return pixels == next.pixels && low == next.low && high == next.high;
    }
  };

  void addStrips() {
    const DirectConvAxis &axis = view.pixels;
    for (int64_t tile = 0; tile < tiles.count; ++tile) {
      int64_t first = tiles.before(tile),
              count = tiles.before(tile + 1) - first;
      int64_t start = first * axis.stride - axis.low;
      int64_t reach =
          (count - 1) * axis.stride + (axis.taps - 1) * axis.dilation + 1;
      int64_t low = std::clamp<int64_t>(-start, 0, reach);
      int64_t high = std::clamp(axis.size - start, low, reach);
      Strip strip{tile, tile + 1, count, low, high};
      if (low == high) // All of them over the end.
        strip.low = strip.high = 0;
      if (!strips.empty() && strips.back().goesOn(strip))
        strips.back().last = tile + 1;
      else
        strips.push_back(strip);
    }
  }

  void emitStrips(int64_t channels) {
    for (const Strip &strip : strips)
      e.loop(e.number(strip.first), e.number(strip.last), [&](Value tile) {
        Value pixel = tiles.before(e, tile);
        e.loop(from, to,
               [&](Value line) { emitTile(strip, line, pixel, channels); });
      });
  }

  void emitTile(const Strip &strip, Value line, Value pixel, int64_t channels) {
    const DirectConvAxis &lines = view.lines, &pixels = view.pixels;
    // Of the filter's lines, [first, last) lie in the image.
    Value start =
        e.sub(e.mul(line, e.number(lines.stride)), e.number(lines.low));
    auto reach = [&](Value limit) { // ceil(limit / dilation) in [0, taps]
      Value up = e.add(e.max(limit, e.number(0)), e.number(lines.dilation - 1));
      return e.min(e.number(lines.taps), e.div(up, e.number(lines.dilation)));
    };
    Value first = reach(e.sub(e.number(0), start));
    Value last = reach(e.sub(e.number(lines.size), start));
    Value y = e.add(start, e.mul(first, e.number(lines.dilation)));
    Value x =
        e.sub(e.mul(pixel, e.number(pixels.stride)), e.number(pixels.low));
    y = e.add(e.mul(image, e.number(lines.size)), y);
    x = e.add(e.mul(y, e.number(pixels.size)), x);
    Value a = imageAt(input, e.add(e.mul(x, e.number(view.channels)), channel));
    Value b =
        element(filter, e.add(e.mul(first, e.number(pixels.taps * view.members *
                                                    view.channels)),
                              channel));
    Value count = e.sub(last, first);
    for (int64_t c = 0; c < channels; c += lanes) {
      int64_t firstMember = c / view.members * view.members;
      DepthwiseTile tile{strip.pixels,
                         pixels.taps,
                         pixels.stride,
                         pixels.dilation,
                         strip.low,
                         strip.high,
                         std::min(lanes, channels - c),
                         view.channels,
                         lines.dilation * pixels.size * view.channels,
                         width,
                         view.members,
                         kind};
      LLVM::CallOp::create(e.b, depthwiseTile(e.module, e.level, tile),
                           ValueRange{imageAt(a, e.number(firstMember)),
                                      element(b, e.number(c)),
                                      element(sums, e.number(c)), count, zero});
    }
    emitBehind(line, pixel, strip.pixels, channels);
  }

  /// Everything behind the convolution, for the sums of a tile.
  void emitBehind(Value line, Value firstPixel, int64_t pixels,
                  int64_t channels) {
    Value before = e.add(e.mul(image, e.number(view.lines.count)), line);
    before = e.add(e.mul(before, e.number(view.pixels.count)), firstPixel);
    e.loop(e.number(0), e.number(pixels), [&](Value i) {
      Indices lead = {image};
      if (view.hasLines)
        lead.push_back(line);
      lead.push_back(e.add(firstPixel, i));
      Value position =
          e.add(e.mul(e.add(before, i), e.number(view.channels)), channel);
      storePanelRow(e, op.getResult(),
                    {lead, channel, e.number(channels), position, sums,
                     e.mul(i, e.number(width))});
    });
  }

  /// Addresses outside of the image are made, but not read.
  Value imageAt(Value base, Value offset) {
    return LLVM::GEPOp::create(e.b, base.getType(), typeOf(e.b, kind), base,
                               ArrayRef<LLVM::GEPArg>{offset});
  }
  Value element(Value base, Value offset) {
    return LLVM::GEPOp::create(e.b, base.getType(), e.b.getF32Type(), base,
                               ArrayRef<LLVM::GEPArg>{offset});
  }

  Emitter &e;
  graph::ConvOp op;
  DepthwiseView view;
  int64_t lanes;
  EvenTiles tiles; // Of a line.
  SmallVector<Strip> strips;
  DepthwiseTile::Image kind = DepthwiseTile::F32;
  Value input, filter, sums, zero;
  // Of the current block of channels: its lines [from, to).
  Value image, channel, from, to;
};

} // namespace

LogicalResult emitDepthwiseTiles(Emitter &e) {
  FailureOr<graph::ConvOp> op = convRootOf(e);
  if (failed(op))
    return failure();
  std::string why;
  std::optional<DepthwiseView> view = kernel::depthwiseViewOf(*op, why);
  if (!view)
    return e.kernel.emitOpError("cannot run by tiles of pixels: ") << why;
  DepthwiseTiles(e, *op, *view).emit();
  return success();
}

} // namespace tenon::cpu
