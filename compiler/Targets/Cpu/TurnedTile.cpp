//===- TurnedTile.cpp - Tiles whose rows become columns -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/TurnedTile.h"
#include "compiler/Targets/Cpu/PointwiseTiles.h"
#include "compiler/Targets/Cpu/RowVectors.h"
#include "dialects/Kernel/Geometry.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tenon::cpu {

SmallVector<Value> turnedColumns(Emitter &e, Value square, int64_t apart,
                                 int64_t readableRows) {
  auto type = VectorType::get({turnedSide}, e.b.getF32Type());
  SmallVector<Value> lines;
  for (int64_t row = 0; row < turnedSide; ++row) {
    int64_t at = std::min(row, readableRows - 1) * apart;
    Value line = e.address(square, e.b.getF32Type(), e.number(at));
    lines.push_back(LLVM::LoadOp::create(e.b, type, line, /*alignment=*/4));
  }
  turnRegisters(e, lines);
  return lines;
}

namespace {

constexpr int64_t side = turnedSide;

/// 0 as an index of its own, which no other one can be mistaken for.
Value ownZero(Emitter &e) {
  return e.atEntry(
      [&]() -> Value { return arith::SubIOp::create(e.b, e.begin, e.begin); });
}

/// A tile of `side` rows at most.
void storeTurnedRows(Emitter &e, Value product, graph::TransposeOp turn,
                     const TurnedTile &tile) {
  Value yielded = kernel::behindReshapes(e.kernel.getYielded()[0]);
  Type element = graph::getElementType(yielded);
  Indices index = tile.lead;
  Value first = arith::AddIOp::create(e.b, ownZero(e), index.back());
  index.back() = first;
  index.push_back({});
  Lanes lanes = RowVectors::lanesBelow(e, first, side, e.add(first, tile.rows));
  auto storeColumn = [&](Value column, Value sums) {
    index.back() = column;
    Indices turned;
    for (int64_t axis : turn.getPermutation())
      turned.push_back(index[axis]);
    e.inLanes(lanes, [&] {
      e.bind(product, index, sums);
      e.store(e.spread(e.element(yielded, turned), side), e.resultBuffer(0),
              element, e.linearise(turned, e.dimsOf(yielded)));
    });
  };
  std::optional<int64_t> known = getConstantIntValue(tile.columns);
  bool isWhole = known && *known % side == 0;
  e.loop(
      e.number(0), tile.columns,
      [&](Value from) {
        SmallVector<Value> sums =
            turnedColumns(e, e.address(tile.sums, e.b.getF32Type(), from),
                          tile.apart, tile.readableRows);
        for (int64_t i = 0; i < side; ++i) {
          Value at = e.add(from, e.number(i));
          auto store = [&] { storeColumn(e.add(tile.column, at), sums[i]); };
          if (isWhole)
            store();
          else
            e.ifThen(e.less(at, tile.columns), store);
        }
      },
      side);
}

/// Stores squares of pixels by maps.
class PixelSquares {
public:
  PixelSquares(Emitter &e, graph::ConvOp op, const kernel::ChannelTail &tail,
               const TurnedPixels &pixels)
      : e(e), op(op), tail(tail), pixels(pixels), none(ownZero(e)) {
    int64_t maps = *graph::getDims(op.getResult()).back().asConstant();
    Value map = e.add(e.mul(pixels.image, e.number(maps)), pixels.column);
    place = e.add(e.mul(map, e.number(pixels.ofImage)), pixels.first);
  }

  void emit() {
    int64_t whole = pixels.columns / side * side;
    e.loop(
        e.number(0), e.number(whole),
        [&](Value column) { emitColumns(column, side); }, side);
    if (whole < pixels.columns)
      emitColumns(e.number(whole), pixels.columns - whole);
  }

private:
  void emitColumns(Value column, int64_t count) {
    Value full = e.number(side), isFew = e.less(pixels.count, full);
    auto all = [&] {
      // The last square begins where it ends with the last pixel.
      Value last = e.sub(pixels.count, full);
      e.loop(
          e.number(0), pixels.count,
          [&](Value from) { store(e.min(from, last), column, count, {}); },
          side);
    };
    if (!pixels.mayBeFew)
      return all();
    e.ifThen(isFew, [&] { store(e.number(0), column, count, pixels.count); });
    e.ifThen(e.less(e.number(side - 1), pixels.count), all);
  }

  /// Of `few` pixels only, if given.
  void store(Value pixel, Value column, int64_t count, Value few) {
    Type type = e.b.getF32Type();
    Value first = arith::AddIOp::create(e.b, none, pixel);
    Lanes lanes{first, side, {}, {}};
    if (few)
      lanes = RowVectors::lanesBelow(e, first, side, e.add(first, few));
    Indices index(graph::getRank(op.getResult()), e.number(0));
    index[0] = pixels.image;
    index[tail.pixelAxis] = first;
    Value square = e.address(
        pixels.sums, type, e.add(e.mul(pixel, e.number(pixels.apart)), column));
    SmallVector<Value> sums = turnedColumns(e, square, pixels.apart);
    for (int64_t i = 0; i < count; ++i) {
      Value map = e.add(column, e.number(i));
      Value at = e.add(place, e.mul(map, e.number(pixels.ofImage)));
      index.back() = e.add(pixels.column, map);
      e.inLanes(lanes, [&] {
        e.bind(op.getResult(), index, sums[i]);
        e.store(e.spread(e.element(tail.last, index), side), e.resultBuffer(0),
                type, e.add(at, first));
      });
    }
  }

  Emitter &e;
  graph::ConvOp op;
  const kernel::ChannelTail &tail;
  const TurnedPixels &pixels;
  Value none, place; // Where the first pixel of the first map is stored.
};

} // namespace

void storeTurnedTile(Emitter &e, Value product, graph::TransposeOp turn,
                     const TurnedTile &tile) {
  if (tile.readableRows <= side)
    return storeTurnedRows(e, product, turn, tile);
  assert(tile.readableRows % side == 0 && "a square would be read in part");
  e.loop(
      e.number(0), tile.rows,
      [&](Value row) {
        TurnedTile part = tile;
        part.lead.back() = e.add(tile.lead.back(), row);
        part.rows = e.min(e.sub(tile.rows, row), e.number(side));
        part.readableRows = side;
        part.sums = e.address(tile.sums, e.b.getF32Type(),
                              e.mul(row, e.number(tile.apart)));
        storeTurnedRows(e, product, turn, part);
      },
      side);
}

void storeTurnedPixels(Emitter &e, graph::ConvOp op,
                       const kernel::ChannelTail &tail,
                       const TurnedPixels &pixels) {
  PixelSquares(e, op, tail, pixels).emit();
}

} // namespace tenon::cpu
