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
namespace {

constexpr int64_t side = 8; // Of the squares that are turned in registers.

/// The sums of `side` columns from `column` on: a vector of rows for each.
SmallVector<Value> turnedSums(Emitter &e, const TurnedTile &tile,
                              Value column) {
  auto type = VectorType::get({side}, e.b.getF32Type());
  SmallVector<Value> lines;
  for (int64_t row = 0; row < side; ++row) {
    int64_t at = std::min(row, tile.readableRows - 1) * tile.apart;
    Value line =
        e.address(tile.sums, e.b.getF32Type(), e.add(column, e.number(at)));
    lines.push_back(LLVM::LoadOp::create(e.b, type, line, /*alignment=*/4));
  }
  turnRegisters(e, lines);
  return lines;
}

/// A tile of `side` rows at most.
void storeTurnedRows(Emitter &e, Value product, graph::TransposeOp turn,
                     const TurnedTile &tile) {
  Value yielded = kernel::behindReshapes(e.kernel.getYielded()[0]);
  Type element = graph::getElementType(yielded);
  // An index of its own, which no other one can be mistaken for.
  Value none = e.atEntry(
      [&]() -> Value { return arith::SubIOp::create(e.b, e.begin, e.begin); });
  Indices index = tile.lead;
  Value first = arith::AddIOp::create(e.b, none, index.back());
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
        SmallVector<Value> sums = turnedSums(e, tile, from);
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

} // namespace tenon::cpu
