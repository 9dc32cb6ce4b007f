//===- AttentionSoftmax.cpp - Scores become weights -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/AttentionColumns.h"
#include "compiler/Targets/Cpu/StripProducts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {

constexpr int64_t unroll = 4; // Keys per step of the softmax.

Value AttentionColumns::weight(Value score, Value shift) {
  if (!rounds())
    return power(score, shift);
  if (scalesLast())
    return vectors.roughPowerOfTwo(emitMulAdd(
        e.b, score, splat(scale), emitMul(e.b, shift, splat(-scale))));
  // Biases may be the lowest number, and that times log2(e) no number.
  Value y = arith::SubFOp::create(e.b, score, shift);
  return vectors.roughPowerOfTwo(isPlain ? y : emitMul(e.b, y, splat(log2OfE)));
}

/// Rounds the weights of some keys to pairs, in the place of scores that have
/// been read, and adds up what they have become: that takes the mean of their
/// errors out again.
Value AttentionColumns::storePairs(ArrayRef<Value> weights, Value key,
                                   Value column) {
  StripProducts products(e.b, e.level, StripKind::Pairs, vector);
  auto words = VectorType::get({lanes}, e.b.getI32Type());
  Value ones = constantLike(e.b, words, 0x3f803f80), sum = splat(0);
  Value line = e.div(key, e.number(2));
  for (size_t i = 0; i < weights.size(); i += 2) {
    Value pairs = vectors.roundPairs(weights[i], weights[i + 1]);
    store(pairs, cell(areas.scores, e.add(line, e.number(i / 2)), column));
    // What f16 errs by is nothing beside what the powers do.
    sum = usesF16()
              ? emitAdd(e.b, sum, emitAdd(e.b, weights[i], weights[i + 1]))
              : products.add(pairs, ones, sum);
  }
  return sum;
}

/// Multiplies the sums so far by their factors, unless no maximum has
/// changed.
void AttentionColumns::scaleSums(Value column, Value changes, Value factor) {
  Type bits = e.b.getIntegerType(lanes);
  Value isAny = arith::CmpIOp::create(
      e.b, arith::CmpIPredicate::ne,
      LLVM::BitcastOp::create(e.b, bits, changes), e.zero(bits));
  e.ifThen(isAny, [&] {
    e.loop(e.number(0), e.number(view.width), [&](Value n) {
      Value at = cell(areas.sums, n, column);
      store(emitMul(e.b, load(at), factor), at);
    });
  });
}

/// Scores of a block become weights; the block joins those before.
void AttentionColumns::softmax(Value column, Value padded) {
  auto at = [&](Value key, int64_t i) {
    return cell(areas.scores, e.add(key, e.number(i)), column);
  };
  Value before = load(cell(areas.largest, column));
  Value largest = e.loop(
      e.number(0), padded, before,
      [&](Value key, ValueRange carried) {
        SmallVector<Value> scores;
        for (int64_t i = 0; i < unroll; ++i)
          scores.push_back(load(at(key, i)));
        Value upper = vectors.larger(scores[0], scores[1]);
        Value lower = vectors.larger(scores[2], scores[3]);
        Value all = vectors.larger(upper, lower);
        return SmallVector<Value>{vectors.larger(all, carried[0])};
      },
      unroll)[0];
  // As long as no score came but -infinity, weights are 0.
  Value isNone = arith::CmpFOp::create(e.b, arith::CmpFPredicate::OEQ, largest,
                                       splat(-infinity));
  Value shift = arith::SelectOp::create(e.b, isNone, splat(0), largest);
  Value sum = e.loop(
      e.number(0), padded, splat(0),
      [&](Value key, ValueRange carried) {
        SmallVector<Value> weights;
        for (int64_t i = 0; i < unroll; ++i)
          weights.push_back(weight(load(at(key, i)), shift));
        if (rounds())
          return SmallVector<Value>{
              emitAdd(e.b, carried[0], storePairs(weights, key, column))};
        for (int64_t i = 0; i < unroll; ++i)
          store(weights[i], at(key, i));
        Value upper = emitAdd(e.b, weights[0], weights[1]);
        Value lower = emitAdd(e.b, weights[2], weights[3]);
        Value all = emitAdd(e.b, upper, lower);
        return SmallVector<Value>{emitAdd(e.b, carried[0], all)};
      },
      unroll)[0];
  Value factor = weight(before, shift);
  if (rounds()) { // A rough power of 0 is not 1.
    Value changes =
        arith::CmpFOp::create(e.b, arith::CmpFPredicate::UNE, before, largest);
    factor = arith::SelectOp::create(e.b, changes, factor, splat(1));
    if (usesMatrices())
      scaleSums(column, changes, factor);
  }
  Value total = load(cell(areas.total, column));
  store(emitMulAdd(e.b, total, factor, sum), cell(areas.total, column));
  store(factor, cell(areas.factor, column));
  store(largest, cell(areas.largest, column));
}

/// What the pieces of some queries came to becomes what they come to.
void AttentionColumns::joinPieces(Value column) {
  kernel::AttentionPiece layout(view);
  auto at = [&](Value piece, int64_t offset) {
    return element(pieceAt(piece, offset), column);
  };
  Value largest = e.loop(e.number(0), pieces, splat(-infinity),
                         [&](Value piece, ValueRange carried) {
                           return SmallVector<Value>{vectors.larger(
                               load(at(piece, layout.largest)), carried[0])};
                         })[0];
  Value isNone = arith::CmpFOp::create(e.b, arith::CmpFPredicate::OEQ, largest,
                                       splat(-infinity));
  Value shift = arith::SelectOp::create(e.b, isNone, splat(0), largest);
  e.loop(e.number(0), e.number(view.width),
         [&](Value n) { store(splat(0), cell(areas.sums, n, column)); });
  Value total = e.loop(
      e.number(0), pieces, splat(0), [&](Value piece, ValueRange carried) {
        Value factor = weight(load(at(piece, layout.largest)), shift);
        Value sums = at(piece, layout.sums);
        e.loop(e.number(0), e.number(view.width), [&](Value n) {
          Value to = cell(areas.sums, n, column);
          Value each = load(element(sums, e.mul(n, e.number(queryBlock))));
          store(emitMulAdd(e.b, each, factor, load(to)), to);
        });
        Value each = load(at(piece, layout.total));
        return SmallVector<Value>{emitMulAdd(e.b, each, factor, carried[0])};
      })[0];
  store(total, cell(areas.total, column));
}

} // namespace tenon::cpu
