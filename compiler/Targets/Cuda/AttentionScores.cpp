//===- AttentionScores.cpp - Which scores count, and how much -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/AttentionKeys.h"
#include "compiler/Targets/Cuda/TileAttention.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {
namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
} // namespace

/// Scores of all keys but those that the mask of keys hides.
TileAttention::Values TileAttention::withAddends(Value start, Values scores) {
  auto [rows, columns, rowLanes] = slots();
  Values keysOfColumns;
  Value last = e.sub(to, e.number(1));
  if (op.getKeyMask() || !op.getBiases().empty())
    for (int64_t c = 0; c < columns; ++c) {
      Value column = e.add(firstColumn(), e.number(columnBehind(c)));
      keysOfColumns.push_back(e.min(e.add(start, column), last));
    }
  if (!isPlain)
    for (int64_t r = 0; r < rows; ++r) {
      Value number =
          e.min(e.add(first, rowAt(r)), e.sub(listLength, e.number(1)));
      auto mine = MutableArrayRef(scores).slice(r * columns, columns);
      for (Value &score : mine)
        score = capped(score);
      for (unsigned i = 0; i < op.getBiases().size(); ++i)
        addBias(i, number, keysOfColumns, mine);
    }
  if (op.getKeyMask())
    for (int64_t c = 0; c < columns; ++c) {
      Value isSeen = e.element(op.getKeyMask(), {batch, keysOfColumns[c]});
      for (int64_t r = 0; r < rows; ++r) {
        Value &score = scores[r * columns + c];
        score = e.select(isSeen, score, real(-infinity));
      }
    }
  return scores;
}

/// A product with its factor, and within the bounds of a soft cap: cap *
/// tanh(x / cap) is cap - 2 * cap / (exp(2 * x / cap) + 1).
Value TileAttention::capped(Value product) {
  double scale = op.getScale().convertToDouble();
  double cap = op.getSoftcap().convertToDouble();
  if (!(cap > 0))
    return multiply(product, real(scale));
  constexpr double twoLog2OfE = 2 * 1.4426950408889634;
  Value grown = e.power2(multiply(product, real(scale / cap * twoLog2OfE)));
  Value ratio = call("rcp.approx.ftz.f", f32,
                     Value(arith::AddFOp::create(e.b, grown, real(1))));
  return fma(ratio, real(-2 * cap), real(cap));
}

void TileAttention::addBias(unsigned ordinal, Value number,
                            ArrayRef<Value> keysOfColumns,
                            MutableArrayRef<Value> scores) {
  Value bias = op.getBiases()[ordinal];
  auto [position, head] = queryAt(number);
  Value batches = e.max(e.dimsOf(bias)[0], e.number(1));
  Value inBatches = e.rem(batch, batches);
  auto add = [&](Value &score, Value addend) {
    score = arith::AddFOp::create(e.b, score, addend);
  };
  const std::optional<kernel::StridedView> &seen = view.biases[ordinal];
  if (!seen) {
    SmallVector<Expr> dims = graph::getDims(bias);
    SmallVector<Expr> query = graph::getDims(op.getQuery());
    Expr all = graph::getDim(op.getKey(), 2);
    for (auto [score, key] : llvm::zip(scores, keysOfColumns))
      add(score,
          e.element(bias, {inBatches, e.broadcastAxis(head, query[1], dims[1]),
                           e.broadcastAxis(position, query[2], dims[2]),
                           e.broadcastAxis(key, all, dims[3])}));
    return;
  }
  auto along = [&](Value index, unsigned axis) {
    return e.mul(index, e.valueOf(seen->strides[axis]));
  };
  Type element = graph::getElementType(bias);
  Value line = e.address(
      bufferOf(*seen), cpu::Emitter::memoryType(element),
      e.add(along(inBatches, 0), e.add(along(head, 1), along(position, 2))));
  bool isOne = seen->strides[3].isConstant(0);
  Value one = isOne ? e.load(line, element, e.number(0)) : Value();
  for (auto [score, key] : llvm::zip(scores, keysOfColumns))
    add(score, isOne ? one : e.load(line, element, along(key, 3)));
}

/// Where some key of the tile is not seen by all queries, -infinity for it.
TileAttention::Values TileAttention::withoutUnseen(Value start, Values scores) {
  Value end = e.add(start, e.number(view.keys));
  Value isAny = e.less(to, end);
  Value window = e.number(std::min<int64_t>(op.getWindow(), 2 * cpu::farAway));
  bool hasWindow = op.getCausal() && op.getWindow() > 0;
  auto lastOf = [&](Value number) {
    return e.add(queryAt(number).first, offset);
  };
  if (op.getCausal())
    isAny = e.either(isAny, e.less(e.add(lastOf(first), e.number(1)), end));
  if (hasWindow) {
    Value last = lastOf(e.sub(e.add(first, count), e.number(1)));
    isAny =
        e.either(isAny, e.less(start, e.add(e.sub(last, window), e.number(1))));
  }
  auto within = [&](Value key) {
    Value column = e.sub(e.sub(key, start), firstColumn());
    column = e.min(e.max(column, e.number(-view.keys)), e.number(view.keys));
    return arith::TruncIOp::create(e.b, e.b.getI32Type(), column).getResult();
  };
  auto [rows, columns, rowLanes] = slots();
  Value once = e.select(isAny, e.number(1), e.number(0));
  return e.loop(e.number(0), once, scores, [&](Value, ValueRange all) {
    using P = arith::CmpIPredicate;
    Values left;
    for (int64_t r = 0; r < rows; ++r) {
      Value last = e.sub(to, e.number(1)), own;
      if (op.getCausal()) {
        own = lastOf(e.add(first, rowAt(r)));
        last = e.min(last, own);
      }
      Value lastColumn = within(last), before;
      if (hasWindow)
        before = within(e.sub(own, window));
      for (int64_t c = 0; c < columns; ++c) {
        Value column = word(columnBehind(c));
        Value isSeen = arith::CmpIOp::create(e.b, P::sle, column, lastColumn);
        if (hasWindow)
          isSeen = e.both(isSeen,
                          arith::CmpIOp::create(e.b, P::sgt, column, before));
        left.push_back(e.select(isSeen, all[r * columns + c], real(-infinity)));
      }
    }
    return left;
  });
}

/// Of what the lanes that share a row have of it.
Value TileAttention::overRow(Value mine, bool isSum) {
  for (int64_t distance = 1; distance < slots().rowLanes; distance *= 2) {
    Value other = e.exchange(mine, distance);
    mine = isSum ? Value(arith::AddFOp::create(e.b, mine, other))
                 : Value(arith::MaxNumFOp::create(e.b, mine, other));
  }
  return mine;
}

/// What power() takes for a row: as long as no key was seen, anything finite.
Value TileAttention::shiftOf(Value largest) {
  Value isNothing = arith::CmpFOp::create(e.b, arith::CmpFPredicate::OEQ,
                                          largest, real(-infinity));
  Value shift = e.select(isNothing, real(0), largest);
  return isPlain ? multiply(shift, real(-exponent)) : shift;
}

/// exp(score - largest), of a product where scores are only that. Biases may be
/// as low as floats get, so that no multiple of them is one.
Value TileAttention::power(Value score, Value shift) {
  Value distance = isPlain ? fma(score, real(exponent), shift)
                           : multiply(arith::SubFOp::create(e.b, score, shift),
                                      real(exponent));
  return e.power2(distance);
}

Value TileAttention::fma(Value x, Value y, Value z) {
  return cpu::emitMulAdd(e.b, x, y, z);
}

} // namespace tenon::cuda
