//===- AttentionScores.cpp - What is done to scores -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/AttentionColumns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::cpu {

void AttentionColumns::changeScores(Value padded) {
  if (scalesBehind() && isPlain && !scalesLast())
    scaleScores();
  if (softcap > 0)
    cap();
  if (!view.biases.empty())
    addBiases();
  if (op.getCausal())
    maskByPosition();
  if (op.getKeyMask())
    maskKeys();
  e.loop(blockKeys, padded, [&](Value key) { dropKey(key); });
}

/// Of what is done to scores first.
Value AttentionColumns::scaled(Value score) {
  return scalesBehind() ? emitMul(e.b, score, splat(scale)) : score;
}

void AttentionColumns::scaleScores() {
  e.loop(e.number(0), blockKeys, [&](Value key) {
    forColumns(lanes, [&](Value column) {
      Value at = cell(areas.scores, key, column);
      store(scaled(load(at)), at);
    });
  });
}

void AttentionColumns::cap() {
  e.loop(e.number(0), blockKeys, [&](Value key) {
    forColumns(lanes, [&](Value column) {
      Value at = cell(areas.scores, key, column);
      store(arith::MulFOp::create(e.b, emitTanh(e.b, e, scaled(load(at))),
                                  splat(softcap)),
            at);
    });
  });
}

/// Adds the biases, [queries][keys] -> [keys][queries].
void AttentionColumns::addBiases() {
  forColumns(tile, [&](Value column) {
    SmallVector<SmallVector<Value>> rows; // By bias.
    for (auto [bias, seen] : llvm::zip(op.getBiases(), view.biases)) {
      Value start = batchOf(bias, seen);
      SmallVector<Value> &own = rows.emplace_back();
      for (int64_t i = 0; i < tile; ++i) {
        Value number = numberOf(e.add(column, e.number(i)));
        own.push_back(element(start, offsetOf(number, seen.strides)));
      }
    }
    auto add = [&](Value key, int64_t keys, Value count) {
      auto type = VectorType::get({keys}, f32);
      SmallVector<Value> in;
      for (int64_t i = 0; i < tile; ++i) {
        Value sum;
        for (auto [own, seen] : llvm::zip(rows, view.biases)) {
          Value part = biasAt(type, seen, own[i], e.add(block, key), count);
          sum = sum ? emitAdd(e.b, sum, part) : part;
        }
        in.push_back(sum);
      }
      for (auto [u, out] : llvm::enumerate(vectors.transpose(in)))
        for (int64_t at = 0; at < keys / tile; ++at) {
          Value to =
              cell(areas.scores, e.add(key, e.number(at * tile + u)), column);
          Value score = vectors.load(tileType, to);
          Value bias = vectors.part(out, at, tile);
          bool isScaled = !scalesBehind() || softcap > 0;
          store(isScaled ? emitAdd(e.b, score, bias)
                         : emitMulAdd(e.b, score,
                                      constantLike(e.b, tileType, scale), bias),
                to);
        }
    };
    Value whole = e.sub(blockKeys, e.rem(blockKeys, e.number(lanes)));
    e.loop(
        e.number(0), whole,
        [&](Value key) { add(key, lanes, e.number(lanes)); }, lanes);
    // Behind the last key, scores are there to be dropped.
    e.loop(
        whole, blockKeys,
        [&](Value key) { add(key, tile, e.sub(blockKeys, key)); }, tile);
  });
}

/// Where some query does not see all keys of the block.
void AttentionColumns::maskByPosition() {
  Value last = e.sub(e.add(block, blockKeys), e.number(1));
  Value cuts = e.less(firstLast, last);
  int64_t window = std::min<int64_t>(op.getWindow(), 2 * farAway);
  if (window > 0)
    cuts = e.either(cuts, e.less(block, e.add(e.sub(lastLast, e.number(window)),
                                              e.number(1))));
  Type i32 = e.b.getI32Type();
  auto wide = VectorType::get({lanes}, i32);
  e.ifThen(cuts, [&] {
    // Each query's first and last key, counted from the block's first.
    Value offset = e.sub(positionOffset(e, op, batch), block);
    forColumns(1, [&](Value column) {
      Value key = e.add(e.div(numberOf(column), group), offset);
      auto put = [&](Value key, int64_t place) {
        key = e.max(e.min(key, e.number(keyBlock)), e.number(-1));
        e.storeRaw(arith::TruncIOp::create(e.b, i32, key), area(place), column);
      };
      put(key, areas.lastKey);
      if (window > 0)
        put(e.add(key, e.number(1 - window)), areas.firstKey);
    });
    e.loop(e.number(0), blockKeys, [&](Value key) {
      Value here = vector::BroadcastOp::create(
          e.b, wide, arith::TruncIOp::create(e.b, i32, key));
      forColumns(lanes, [&](Value column) {
        using P = arith::CmpIPredicate;
        Value sees = arith::CmpIOp::create(
            e.b, P::sle, here, vectors.load(wide, cell(areas.lastKey, column)));
        if (window > 0)
          sees = arith::AndIOp::create(
              e.b, sees,
              arith::CmpIOp::create(
                  e.b, P::sge, here,
                  vectors.load(wide, cell(areas.firstKey, column))));
        Value at = cell(areas.scores, key, column);
        store(arith::SelectOp::create(e.b, sees, load(at), splat(-infinity)),
              at);
      });
    });
  });
}

void AttentionColumns::maskKeys() {
  e.loop(e.number(0), blockKeys, [&](Value key) {
    Value part = e.element(op.getKeyMask(), {batch, e.add(block, key)});
    Value isMasked = arith::XOrIOp::create(
        e.b, part, constantLike(e.b, e.b.getI1Type(), -1));
    e.ifThen(isMasked, [&] { dropKey(key); });
  });
}

void AttentionColumns::dropKey(Value key) {
  forColumns(lanes, [&](Value column) {
    store(splat(-infinity), cell(areas.scores, key, column));
  });
}

} // namespace tenon::cpu
