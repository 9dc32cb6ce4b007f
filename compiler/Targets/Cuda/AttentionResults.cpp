//===- AttentionResults.cpp - What an attention's sums come to ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums leave through shared memory: there, a warp goes along its rows, so that
// neighbouring threads store neighbours whatever follows the attention.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/AttentionKeys.h"
#include "compiler/Targets/Cuda/LastBlock.h"
#include "compiler/Targets/Cuda/PieceSums.h"
#include "compiler/Targets/Cuda/TileAttention.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tenon::cuda {

/// Those that are joined at a time.
static constexpr int64_t piecesTogether = 2;

void TileAttention::finish() {
  warpBarrier();
  if (view.pieces().isConstant(1))
    return storeRows();
  Value isCut = e.less(e.number(1), pieces);
  Value once = e.select(isCut, e.number(1), e.number(0));
  Value isWhole = arith::ConstantIntOp::create(e.b, 1, 1);
  isWhole = e.loop(e.number(0), once, isWhole, [&](Value, ValueRange) {
    Value isLast = sharePiece();
    e.ifThen(isLast, [&] { joinPieces(); });
    return Values{isLast};
  })[0];
  e.ifThen(isWhole, [&] { storeRows(); });
}

void TileAttention::storeStats(ArrayRef<Value> largest,
                               ArrayRef<Value> totals) {
  for (int64_t r = 0; r < slots().rows; ++r) {
    Value total = overRow(totals[r], /*isSum=*/true);
    Value isFirst =
        e.equal(e.rem(lane, e.number(slots().rowLanes)), e.number(0));
    e.ifThen(isFirst, [&] {
      LLVM::StoreOp::create(e.b, largest[r], statAt(rowAt(r), 0));
      LLVM::StoreOp::create(e.b, total, statAt(rowAt(r), 1));
    });
  }
}

Value TileAttention::statAt(Value row, int64_t ordinal) {
  return sharedAt(
      e.add(e.mul(row, e.number(8)), e.number(view.statStart() + ordinal * 4)));
}

Value TileAttention::sumAt(Value row, Value column) {
  Value place = e.add(e.mul(row, e.number(view.sumStride())), column);
  return sharedAt(e.mul(place, e.number(4)));
}

/// The warp's rows that are there, and a lane's columns.
void TileAttention::eachRow(function_ref<void(Value)> body) {
  Value end = e.add(warpRow, e.number(view.rows / view.warps));
  e.loop(warpRow, e.min(end, count), body);
}
void TileAttention::eachColumn(function_ref<void(Value)> body) {
  e.loop(lane, e.number(view.width), body, /*step=*/32);
}

//===----------------------------------------------------------------------===//
// Pieces of the keys
//===----------------------------------------------------------------------===//

Value TileAttention::pieceAt(Value ordinal, Value row, Value column) {
  Value place = e.mul(e.add(e.mul(unit, pieces), ordinal),
                      e.number(view.pieceBytes() / 4));
  place = e.add(place, e.add(e.mul(row, e.number(view.width + 2)), column));
  return at(e.shared(),
            e.add(e.mul(place, e.number(4)), e.number(view.piecesStart)));
}

/// Gives the sums of this piece to whoever comes last, and says whether that
/// is this one.
Value TileAttention::sharePiece() {
  auto give = [&](Value from, Value to) {
    LLVM::StoreOp::create(e.b, Value(LLVM::LoadOp::create(e.b, f32, from)), to);
  };
  eachRow([&](Value row) {
    eachColumn([&](Value n) { give(sumAt(row, n), pieceAt(piece, row, n)); });
    e.ifThen(e.equal(lane, e.number(0)), [&] {
      for (int64_t i : {0, 1})
        give(statAt(row, i), pieceAt(piece, row, e.number(view.width + i)));
    });
  });
  Value counter = e.address(e.shared(), e.b.getI32Type(), unit);
  Value flag = sharedAt(e.number(view.statStart() + view.rows * 8));
  return isLastBlock(e, counter, pieces, thread, flag);
}

/// The sums of all pieces, in their order, to where one has its own.
void TileAttention::joinPieces() {
  joinStats();
  warpBarrier();
  // Two rows at a time: there are registers for them, whatever the heads.
  constexpr int64_t together = 2;
  Value mine = e.min(e.number(view.rows / view.warps), e.sub(count, warpRow));
  e.loop(
      e.number(0), mine, [&](Value first) { joinRows(first, together); },
      together);
  warpBarrier();
}

/// The largest score and the total of each of the warp's rows: a lane has one.
void TileAttention::joinStats() {
  Value mine =
      e.add(warpRow, e.min(lane, e.number(view.rows / view.warps - 1)));
  Value there = e.min(mine, e.sub(count, e.number(1)));
  auto load = [&](Value ordinal, int64_t which) -> Value {
    return LLVM::LoadOp::create(
        e.b, f32, pieceAt(ordinal, there, e.number(view.width + which)));
  };
  Value none = real(-std::numeric_limits<double>::infinity());
  Value largest = overPieces(
      e, pieces, piecesTogether, none,
      [&](ArrayRef<Value> ordinals, ArrayRef<Value>, ValueRange before) {
        Value now = before[0];
        for (Value ordinal : ordinals)
          now = arith::MaxNumFOp::create(e.b, now, load(ordinal, 0));
        return Values{now};
      })[0];
  Value shift = shiftOf(largest);
  Value total = overPieces(
      e, pieces, piecesTogether, real(0),
      [&](ArrayRef<Value> ordinals, ArrayRef<Value> areThere,
          ValueRange before) {
        Values scores, totals;
        for (Value ordinal : ordinals) {
          scores.push_back(load(ordinal, 0));
          totals.push_back(load(ordinal, 1));
        }
        Value now = before[0];
        for (auto [score, each, isThere] : llvm::zip(scores, totals, areThere))
          now = e.select(isThere, fma(each, power(score, shift), now), now);
        return Values{now};
      })[0];
  LLVM::StoreOp::create(e.b, largest, statAt(mine, 0));
  LLVM::StoreOp::create(e.b, total, statAt(mine, 1));
}

/// Of the warp's rows from number `first` on.
void TileAttention::joinRows(Value first, int64_t rows) {
  struct Row {
    Value inTile, there, shift;
  };
  SmallVector<Row> all;
  for (int64_t i = 0; i < rows; ++i) {
    Value row = e.add(warpRow, e.add(first, e.number(i)));
    Value largest = LLVM::LoadOp::create(e.b, f32, statAt(row, 0));
    all.push_back(
        {row, e.min(row, e.sub(count, e.number(1))), shiftOf(largest)});
  }
  int64_t across = llvm::divideCeil(view.width, 32);
  Values columns;
  for (int64_t i = 0; i < across; ++i)
    columns.push_back(e.add(lane, e.number(32 * i)));
  bool isSure = view.width % 32 == 0;
  Value lastColumn = e.number(view.width - 1);
  auto load = [&](Value ordinal, const Row &row, Value column) -> Value {
    return LLVM::LoadOp::create(e.b, f32, pieceAt(ordinal, row.there, column));
  };
  Values sums = overPieces(
      e, pieces, piecesTogether, Values(size_t(rows * across), real(0)),
      [&](ArrayRef<Value> ordinals, ArrayRef<Value> areThere,
          ValueRange before) {
        Values scores, parts;
        for (Value ordinal : ordinals)
          for (const Row &row : all) {
            scores.push_back(load(ordinal, row, e.number(view.width)));
            for (Value column : columns)
              parts.push_back(load(
                  ordinal, row, isSure ? column : e.min(column, lastColumn)));
          }
        Values now(before);
        size_t at = 0;
        for (Value isThere : areThere)
          for (size_t r = 0; r < all.size(); ++r, ++at) {
            Value factor = power(scores[at], all[r].shift);
            for (size_t c = 0; c < columns.size(); ++c) {
              Value &sum = now[r * columns.size() + c];
              Value more = fma(parts[at * columns.size() + c], factor, sum);
              sum = e.select(isThere, more, sum);
            }
          }
        return now;
      });
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Value column = columns[i % columns.size()];
    Value to = sumAt(all[i / columns.size()].inTile, column);
    auto store = [&] { LLVM::StoreOp::create(e.b, sum, to); };
    if (isSure)
      store();
    else
      e.ifThen(e.less(column, e.number(view.width)), store);
  }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void TileAttention::storeRows() {
  Type type = graph::getElementType(op.getResult());
  Indices dims = e.dimsOf(op.getResult());
  SmallVector<Expr> sizes = graph::getDims(op.getResult());
  eachRow([&](Value row) {
    Value number = e.add(first, row);
    auto [position, head] = queryAt(number);
    Indices index = {batch, head, position};
    // As operands that broadcast see it.
    for (auto [axis, dim] : llvm::enumerate(ArrayRef(sizes).take_front(3)))
      if (dim.isConstant(1))
        index[axis] = e.number(0);
    Value line = e.mul(e.linearise(index, ArrayRef(dims).take_front(3)),
                       e.number(view.width));
    Value total = LLVM::LoadOp::create(e.b, f32, statAt(row, 1));
    Value isDead =
        arith::CmpFOp::create(e.b, arith::CmpFPredicate::OEQ, total, real(0));
    Value factor = arith::DivFOp::create(e.b, real(1), total);
    eachColumn([&](Value n) {
      Value value = e.branch(
          isDead, [&] { return deadValue(position, n); },
          [&] {
            Value sum = LLVM::LoadOp::create(e.b, f32, sumAt(row, n));
            return multiply(sum, factor);
          });
      Indices whole = index;
      whole.push_back(n);
      e.bind(op.getResult(), whole, cpu::roundTo(e.b, value, type));
      e.storeYields(whole, e.add(line, n));
    });
  });
}

/// The result of a query to which no key adds anything: NaN where a key does
/// take part, with a score of -infinity.
Value TileAttention::deadValue(Value position, Value column) {
  Value last = e.add(position, offset), all = keys;
  auto [from, to] = cpu::keyRange(e, op, last, last);
  Value isAlive = e.less(from, to);
  if (op.getKeyMask())
    isAlive = e.loop(from, to, e.zero(e.b.getI1Type()),
                     [&](Value key, ValueRange before) -> Values {
                       Value part = e.element(op.getKeyMask(), {batch, key});
                       return {e.either(before[0], part)};
                     })[0];
  Value nan = real(std::numeric_limits<double>::quiet_NaN());
  switch (op.getDeadRows()) {
  case graph::DeadRows::NaN:
    return nan;
  case graph::DeadRows::Zero:
    return e.select(isAlive, nan, real(0));
  case graph::DeadRows::Uniform:
    break;
  }
  Value sum = e.loop(
      e.number(0), all, real(0), [&](Value key, ValueRange before) -> Values {
        Value value = e.element(op.getValue(), {batch, keyHead, key, column});
        return {cpu::emitAdd(e.b, before[0], value)};
      })[0];
  Value mean =
      arith::DivFOp::create(e.b, sum, arith::SIToFPOp::create(e.b, f32, all));
  return e.select(isAlive, nan, mean);
}

} // namespace tenon::cuda
