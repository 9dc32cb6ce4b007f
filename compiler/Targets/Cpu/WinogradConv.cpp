//===- WinogradConv.cpp - 3x3 convolutions with fewer products ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Per block of tiles: the patches of the input are transformed to scratch
// memory; then per panel of maps there is a small matrix product for each
// position of a patch, and each tile's products become its outputs, which wait
// on the stack for what follows the convolution. What tiles reach over the
// edges of the image is zero, and what they compute there is not stored. Of
// pairs of bf16, patches are widened on the way, and a panel of the filter is
// transformed to scratch memory before its products.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/WinogradConv.h"
#include "compiler/Targets/Cpu/ConvRoot.h"
#include "compiler/Targets/Cpu/ConvTile.h"
#include "compiler/Targets/Cpu/EvenTiles.h"
#include "compiler/Targets/Cpu/MatmulOperands.h"
#include "compiler/Targets/Cpu/PanelEpilogue.h"
#include "compiler/Targets/Cpu/PanelParts.h"
#include "compiler/Targets/Cpu/WinogradTransform.h"
#include "dialects/Kernel/ConvDepth.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::WinogradMatrices;
using kernel::WinogradView;

class WinogradConv {
public:
  WinogradConv(Emitter &e, graph::ConvOp op, const WinogradView &view)
      : e(e), op(op), view(view), matrices(WinogradMatrices::of(view.outputs)),
        lanes(e.level.vectorBits / 32),
        vector(VectorType::get({lanes}, e.b.getF32Type())),
        mostOfStrip(tilePixels(e.level, view.columns, view.columns)),
        known(view.blockTiles,
              std::max<int64_t>(llvm::divideCeil(view.blockTiles, mostOfStrip),
                                view.hasAnySize() ? 1 : view.panelParts)) {
    auto bufferOf = [&](Value operand) {
      auto argument = cast<BlockArgument>(kernel::operandOf(op, operand));
      return e.argumentBuffer(argument.getArgNumber());
    };
    Indices sizes = e.dimsOf(op.getInput());
    height = sizes[1], width = sizes[2];
    outHeight = e.valueOf(view.outHeight), outWidth = e.valueOf(view.outWidth);
    input = bufferOf(op.getInput());
    filter = bufferOf(op.getFilter());
    patches = e.atEntry(
        [&] { return e.loadRaw(e.context, input.getType(), e.number(0)); });
    products = e.atEntry([&] {
      return element(patches,
                     e.number(view.positions() * view.patchesStride()));
    });
    if (view.hasPairs)
      transformed = e.atEntry([&] {
        return element(products,
                       e.number(view.positions() * view.productsStride()));
      });
    sums = e.atEntry([&]() -> Value {
      return LLVM::AllocaOp::create(
          e.b, input.getType(), e.b.getF32Type(),
          e.number(view.outputs * view.outputs * view.columns), 64);
    });
  }

  /// Rows [begin, end): block after block, of each some panels.
  void emit() {
    PanelParts parts(e, view.panels, view.panelParts);
    parts.forEachBlock([&](Value number) {
      Value perImage = e.valueOf(view.blocks);
      image = e.div(number, perImage);
      firstTile = e.mul(e.rem(number, perImage), e.number(view.blockTiles));
      tiles = e.min(e.number(view.blockTiles),
                    e.sub(e.valueOf(view.tiles), firstTile));
      Value all = strips();
      forEachTile(parts.ofAll(all),
                  [&](const Tile &tile) { transformPatch(tile); });
      e.loop(parts.beginPanel(), parts.endPanel(), [&](Value panel) {
        PanelParts::Range some = parts.ofPanel(panel, all);
        if (!view.hasPairs)
          return emitPanel(panel, some);
        forWidthOf(e, {view.maps, /*isEven=*/true}, panel,
                   [&](Value first, int64_t columns) {
                     emitPairs(panel, first, columns, some);
                   });
      });
    });
  }

private:
  /// One of the block, and where its outputs begin.
  struct Tile {
    Value index, y, x;
  };

  /// Of a block of known size there are as many strips, of one tile more or
  /// less; of others, as many whole ones as hold its tiles.
  Value strips() {
    Value most = e.number(mostOfStrip);
    return view.hasAnySize() ? e.ceilDiv(tiles, most) : e.number(known.count);
  }

  /// Where a strip begins.
  Value rowOf(Value strip) {
    if (view.hasAnySize())
      return e.mul(strip, e.number(mostOfStrip));
    return known.before(e, strip);
  }

  void forEachTile(PanelParts::Range some,
                   function_ref<void(const Tile &)> body) {
    Value end = e.min(tiles, rowOf(some.to));
    Value lines = view.dilationY == 1
                      ? Value()
                      : e.div(e.valueOf(view.tiles), e.valueOf(view.tilesX));
    e.loop(rowOf(some.from), end, [&](Value index) {
      Value number = e.add(firstTile, index), line = e.valueOf(view.tilesX);
      body({index, firstOutput(e.div(number, line), lines, view.dilationY),
            firstOutput(e.rem(number, line), line, view.dilationX)});
    });
  }

  /// Of a tile among those of an axis.
  Value firstOutput(Value tile, Value tiles, int64_t dilation) {
    if (dilation == 1)
      return e.mul(tile, e.number(view.outputs));
    Value some = e.div(tiles, e.number(dilation));
    return e.add(e.div(tile, some),
                 e.mul(e.rem(tile, some), e.number(view.outputs * dilation)));
  }

  void transformPatch(const Tile &tile) {
    Value y = e.sub(tile.y, e.number(view.lowY));
    Value x = e.sub(tile.x, e.number(view.lowX));
    auto isInside = [&](Value from, Value size, int64_t dilation) {
      Value reach = e.number((view.side() - 1) * dilation);
      return e.both(e.less(e.number(-1), from),
                    e.less(from, e.sub(size, reach)));
    };
    Value inside = e.both(isInside(y, height, view.dilationY),
                          isInside(x, width, view.dilationX));
    e.ifThen(inside, [&] { transformChannels(tile, y, x, {}); });
    e.ifThen(e.equal(inside, falseValue()),
             [&] { transformChannels(tile, y, x, insidesOf(y, x)); });
  }

  Value falseValue() {
    return arith::ConstantOp::create(e.b, e.b.getBoolAttr(false));
  }

  /// Elements of the input; where they are not inside of the image, zeros.
  Value loadInput(Value offset, Value inside) {
    Value zero =
        arith::ConstantOp::create(e.b, SplatElementsAttr::get(vector, 0.0f));
    if (view.hasPairs)
      return loadHalves(offset, inside, zero);
    Value at = element(input, offset);
    if (!inside)
      return LLVM::LoadOp::create(e.b, vector, at, 4);
    auto type = VectorType::get({lanes}, e.b.getI1Type());
    Value mask = vector::BroadcastOp::create(e.b, type, inside);
    return LLVM::MaskedLoadOp::create(e.b, vector, at, mask, zero, 4);
  }

  Value loadHalves(Value offset, Value inside, Value zero) {
    if (inside)
      offset = e.select(inside, offset, e.number(0));
    auto pairs = VectorType::get({lanes / 2}, e.b.getI32Type());
    Value at = LLVM::GEPOp::create(e.b, input.getType(), e.b.getI16Type(),
                                   input, ArrayRef<LLVM::GEPArg>{offset});
    Value value = arith::BitcastOp::create(
        e.b, vector,
        widenedPairs(e.b, LLVM::LoadOp::create(e.b, pairs, at, 2)));
    return inside ? e.select(inside, value, zero) : value;
  }

  /// For each input of a patch whether it is inside of the image.
  SmallVector<Value> insidesOf(Value y, Value x) {
    auto insides = [&](Value from, Value size, int64_t dilation) {
      SmallVector<Value> inside;
      for (int64_t i = 0; i < view.side(); ++i) {
        Value at = e.add(from, e.number(i * dilation));
        inside.push_back(e.both(e.less(e.number(-1), at), e.less(at, size)));
      }
      return inside;
    };
    SmallVector<Value> all, lines = insides(y, height, view.dilationY),
                            pixels = insides(x, width, view.dilationX);
    for (Value line : lines)
      for (Value pixel : pixels)
        all.push_back(e.both(line, pixel));
    return all;
  }

  void transformChannels(const Tile &tile, Value y, Value x,
                         ArrayRef<Value> insides) {
    Value channels = e.number(view.channels);
    Value line = e.add(e.mul(image, height), y);
    Value pixel = e.add(e.mul(line, width), x);
    Value from = e.mul(pixel, channels), perLine = e.mul(width, channels);
    Value to = e.mul(tile.index, e.number(view.patchStride()));
    e.loop(
        e.number(0), e.number(view.channels),
        [&](Value channel) {
          transformSquare(
              e, vector, matrices.input,
              [&](int64_t i, int64_t j) -> Value {
                Value apart =
                    e.add(e.mul(e.number(i * view.dilationY), perLine),
                          e.number(j * view.dilationX * view.channels));
                Value offset = e.add(e.add(from, channel), apart);
                return loadInput(offset, insides.empty()
                                             ? Value()
                                             : insides[i * view.side() + j]);
              },
              [&](int64_t i, int64_t j, Value value) {
                int64_t apart = (i * view.side() + j) * view.patchesStride();
                LLVM::StoreOp::create(e.b, value,
                                      element(patches, e.add(e.add(to, channel),
                                                             e.number(apart))),
                                      4);
              });
        },
        lanes);
  }

  void emitPanel(Value panel, PanelParts::Range some) {
    Value ofPanel = element(
        filter, e.mul(panel, e.number(view.positions() * view.filterStride())));
    multiplyAll(ofPanel, view.columns, some);
    Value column = e.mul(panel, e.number(view.columns));
    int64_t rest = view.maps % view.columns;
    forEachTile(some, [&](const Tile &tile) {
      transformProducts(tile, view.columns);
      if (rest == 0)
        return storeOutputs(column, tile, view.columns);
      Value last = e.number(view.panels - 1);
      e.ifThen(e.less(panel, last),
               [&] { storeOutputs(column, tile, view.columns); });
      e.ifThen(e.equal(panel, last), [&] { storeOutputs(column, tile, rest); });
    });
  }

  void emitPairs(Value panel, Value firstMap, int64_t columns,
                 PanelParts::Range some) {
    int64_t whole = llvm::alignTo(columns, 16);
    transformFilter(panel, whole);
    multiplyAll(transformed, whole, some);
    forEachTile(some, [&](const Tile &tile) {
      transformProducts(tile, whole);
      storeOutputs(firstMap, tile, columns);
    });
  }

  /// Of a panel of pairs, taps first.
  void transformFilter(Value panel, int64_t columns) {
    constexpr int64_t taps = 3;
    int64_t ofTap = view.channels / 2 * view.columns; // Pairs.
    Value packed = element(filter, e.mul(panel, e.number(taps * taps * ofTap)));
    auto bits = VectorType::get({lanes}, e.b.getI32Type());
    e.loop(e.number(0), e.number(view.channels / 2), [&](Value pair) {
      Value from = e.mul(pair, e.number(view.columns));
      Value to = e.mul(pair, e.number(2 * view.columns));
      for (int64_t column = 0; column < columns; column += lanes)
        for (int64_t half : {0, 1})
          transformSquare(
              e, vector, matrices.filter,
              [&](int64_t i, int64_t j) -> Value {
                Value at =
                    e.add(from, e.number((i * taps + j) * ofTap + column));
                Value pairs =
                    LLVM::LoadOp::create(e.b, bits, element(packed, at), 4);
                return arith::BitcastOp::create(
                    e.b, vector, halfOfPairs(e.b, pairs, /*odd=*/half == 1));
              },
              [&](int64_t i, int64_t j, Value value) {
                Value at = e.add(
                    to, e.number((i * view.side() + j) * view.filterStride() +
                                 half * view.columns + column));
                LLVM::StoreOp::create(e.b, value, element(transformed, at), 4);
              });
    });
  }

  /// Position by position.
  void multiplyAll(Value panel, int64_t columns, PanelParts::Range some) {
    e.loop(e.number(0), e.number(view.positions()),
           [&](Value position) { multiply(panel, columns, position, some); });
  }

  /// Patches of some strips, at a position, by a panel.
  void multiply(Value panel, int64_t columns, Value position,
                PanelParts::Range some) {
    Value b = element(panel, e.mul(position, e.number(view.filterStride())));
    Value a = element(patches, e.mul(position, e.number(view.patchesStride())));
    Value c =
        element(products, e.mul(position, e.number(view.productsStride())));
    auto multiplyOne = [&](Value number, int64_t pixels) {
      Value row = rowOf(number);
      multiplyStrip({element(a, e.mul(row, e.number(view.patchStride()))), b,
                     element(c, e.mul(row, e.number(view.columns))), number},
                    pixels, columns);
    };
    if (!view.hasAnySize())
      return known.forEach(e, some.from, some.to, multiplyOne);
    e.loop(some.from, some.to,
           [&](Value number) { multiplyOne(number, mostOfStrip); });
  }

  /// Some patches: where they, the filter's slice and their products lie, and
  /// which of the block's strips they are.
  struct Strip {
    Value a, b, c, number;
  };

  void multiplyStrip(const Strip &strip, int64_t pixels, int64_t columns) {
    int64_t steps = view.filterStride();
    ConvTile tile;
    tile.pixels = pixels;
    tile.width = view.columns;
    tile.pixelStride = view.patchStride();
    tile.run = view.channels;
    // Together, all strips fetch the next slice.
    tile.fetch = llvm::divideCeil(4 * view.columns * 4, known.count);
    Value ahead =
        e.add(e.number(4 * steps),
              e.mul(strip.number, e.number(tile.fetch * (view.channels / 4))));
    Value next = LLVM::GEPOp::create(e.b, strip.b.getType(), e.b.getI8Type(),
                                     strip.b, ArrayRef<LLVM::GEPArg>{ahead});
    callConvTile(e, tile, {strip.a, strip.b, strip.c, next}, columns);
  }

  /// To the sums of its outputs.
  void transformProducts(const Tile &tile, int64_t columns) {
    Value from = e.mul(tile.index, e.number(view.columns));
    e.loop(
        e.number(0), e.number(columns),
        [&](Value column) {
          transformSquare(
              e, vector, matrices.output,
              [&](int64_t i, int64_t j) -> Value {
                int64_t apart = (i * view.side() + j) * view.productsStride();
                return LLVM::LoadOp::create(
                    e.b, vector,
                    element(products,
                            e.add(e.add(from, column), e.number(apart))),
                    4);
              },
              [&](int64_t i, int64_t j, Value value) {
                int64_t apart = (i * view.outputs + j) * view.columns;
                LLVM::StoreOp::create(
                    e.b, value, element(sums, e.add(column, e.number(apart))),
                    4);
              });
        },
        lanes);
  }

  /// Everything behind the convolution, for what lies in the image.
  void storeOutputs(Value column, const Tile &tile, int64_t maps) {
    Value outputs = e.number(view.outputs);
    auto inImage = [&](Value size, Value first, int64_t dilation) {
      Value rest = e.sub(size, first);
      if (dilation > 1) // There may be none.
        rest = e.ceilDiv(e.max(rest, e.number(0)), e.number(dilation));
      return e.min(outputs, rest);
    };
    Value lines = inImage(outHeight, tile.y, view.dilationY);
    Value pixels = inImage(outWidth, tile.x, view.dilationX);
    e.loop(e.number(0), lines, [&](Value i) {
      Value y = e.add(tile.y, e.mul(i, e.number(view.dilationY)));
      Value line = e.add(e.mul(image, outHeight), y);
      e.loop(e.number(0), pixels, [&](Value j) {
        Value x = e.add(tile.x, e.mul(j, e.number(view.dilationX)));
        Value row = e.add(e.mul(line, outWidth), x);
        Value first = e.add(e.mul(row, e.number(view.maps)), column);
        Value waits =
            e.mul(e.add(e.mul(i, outputs), j), e.number(view.columns));
        storePanelRow(
            e, op.getResult(),
            {{image, y, x}, column, e.number(maps), first, sums, waits});
      });
    });
  }

  /// Addresses outside of the image are made, but not read.
  Value element(Value base, Value offset) {
    return LLVM::GEPOp::create(e.b, base.getType(), e.b.getF32Type(), base,
                               ArrayRef<LLVM::GEPArg>{offset});
  }

  Emitter &e;
  graph::ConvOp op;
  WinogradView view;
  WinogradMatrices matrices;
  int64_t lanes;
  VectorType vector;
  int64_t mostOfStrip; // Tiles.
  EvenTiles known;     // The strips of a block of known size.
  Value height, width, outHeight, outWidth;
  Value input, filter, patches, products, sums;
  Value transformed; // A panel of pairs.
  // Of the current block.
  Value image, firstTile, tiles;
};

} // namespace

void emitWinogradTiles(Emitter &e, graph::ConvOp op, const WinogradView &view) {
  WinogradConv(e, op, view).emit();
}

LogicalResult emitWinogradConv(Emitter &e, int64_t outputs) {
  FailureOr<graph::ConvOp> op = convRootOf(e);
  if (failed(op))
    return failure();
  std::string why;
  std::optional<WinogradView> view = kernel::winogradViewOf(*op, outputs, why);
  if (!view)
    return e.kernel.emitOpError("cannot run by Winograd tiles: ") << why;
  emitWinogradTiles(e, *op, *view);
  return success();
}

} // namespace tenon::cpu
