//===- AttentionRows.cpp - Attention of a few queries ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As when text is generated: a query alone cannot fill vectors of queries. Here
// keys lie along the vectors of scores, and values are read by vectors. The
// keys of a block stay in the cache while one query follows the other, then its
// values do; each query sees exactly its own range of keys.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/AttentionUnit.h"
#include "compiler/Targets/Cpu/FloatTerm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

/// Vectors of sums over values in registers, for even and for odd keys.
constexpr int64_t sumVectors = 4;
/// Vectors of a query in registers, beside the sums of as many keys as lanes.
constexpr int64_t depthVectors = 8;

class AttentionRows : AttentionUnit {
public:
  AttentionRows(const AttentionUnit &unit)
      : AttentionUnit(unit), offset(positionOffset(e, op, batch)) {}

  void emit() {
    forRows([&] { startRow(); });
    Value last = e.sub(e.add(first, count), e.number(1));
    auto [from, to] = keysOf(e.add(e.div(first, group), offset),
                             e.add(e.div(last, group), offset));
    int64_t step = keysOfBlock();
    e.loop(
        from, to,
        [&, to = to](Value next) {
          block = next;
          end = e.min(e.add(block, e.number(step)), to);
          if (op.getKeyMask())
            copyMask();
          forKeys([&](Value from, Value length) {
            scoreKeys(from, length);
            softmax(from, length);
          });
          forKeys([&](Value from, Value length) { addValues(from, length); });
        },
        step);
    finishWith(
        e.mul(count, e.number(view.width)),
        [&] { forRows([&] { joinRow(); }); },
        [&] { forRows([&] { finishRow(); }); });
  }

private:
  void forRows(function_ref<void()> body) {
    e.loop(e.number(0), count, [&](Value i) {
      row = i;
      number = e.add(first, i);
      body();
    });
  }

  /// Vector `at` of the row's part of an area whose rows are `width` long.
  Value part(int64_t place, int64_t width, int64_t at) {
    return element(area(place),
                   e.add(e.mul(row, e.number(width)), e.number(at)));
  }
  Value scores(Value key) {
    return element(area(areas.scores),
                   e.add(e.mul(row, e.number(keyBlock)), key));
  }
  Value splat(Value value) {
    return vector::BroadcastOp::create(e.b, vector, value);
  }
  using AttentionUnit::splat;

  void startRow() {
    const kernel::StridedView &seen = view.query;
    Value query = behind(seen, bufferOf(seen),
                         e.add(e.mul(batch, e.valueOf(seen.strides[0])),
                               offsetOf(number, seen.strides)));
    for (int64_t d = 0; d < view.depth; d += lanes) {
      Value scaled = arith::MulFOp::create(
          e.b, loadOf(seen, behind(seen, query, e.number(d))), splat(scale));
      store(scaled, part(areas.query, view.depth, d));
    }
    for (int64_t n = 0; n < view.width; n += lanes)
      store(splat(0), part(areas.sums, view.width, n));
    e.storeRaw(constantLike(e.b, f32, -infinity), area(areas.largest), row);
    e.storeRaw(e.zero(f32), area(areas.total), row);
  }

  /// As many as leave room for what else is in the fastest cache.
  int64_t keysOfBlock() const {
    constexpr int64_t cached = 16384; // Bytes.
    int64_t widest = std::max(bytesOf(view.key, view.depth),
                              bytesOf(view.value, view.width));
    int64_t keys = cached / widest / lanes * lanes;
    return view.group() > 1 ? std::clamp(keys, lanes, keyBlock) : keyBlock;
  }

  static int64_t bytesOf(const kernel::StridedView &seen, int64_t elements) {
    return graph::byteWidth(seen.element()) * elements;
  }

  /// For each row that sees any keys of the block, with those.
  void forKeys(function_ref<void(Value from, Value length)> body) {
    forRows([&] {
      Value last = e.add(queryAt(number).first, offset);
      auto [from, to] = keyRange(e, op, last, last);
      from = e.max(from, block);
      to = e.min(to, end);
      e.ifThen(e.less(from, to),
               [&, from = from, to = to] { body(from, e.sub(to, from)); });
    });
  }

  /// What the block's keys that take no part are compared with.
  void copyMask() {
    e.loop(e.number(0), e.sub(end, block), [&](Value key) {
      Value takes = e.element(op.getKeyMask(), {batch, e.add(block, key)});
      Value number = e.select(takes, e.zero(f32), constantLike(e.b, f32, 1));
      e.storeRaw(number, area(areas.masked), key);
    });
  }

  void scoreKeys(Value from, Value length) {
    e.loop(
        e.number(0), length,
        [&](Value key) {
          if (view.group() > 1)
            for (const kernel::StridedView *next : {&view.key, &view.value})
              prefetch(*next, key);
          store(scoresAt(from, key, length), scores(key));
        },
        lanes);
  }

  /// Fetches a share of the next block of keys or values: while several queries
  /// go over this one, memory would be idle.
  void prefetch(const kernel::StridedView &seen, Value key) {
    int64_t line = 64 / bytesOf(seen, 1); // Elements.
    int64_t width = &seen == &view.key ? view.depth : view.width;
    int64_t linesOfKey = llvm::divideCeil(width, line);
    int64_t share = llvm::divideCeil(linesOfKey * lanes, view.group());
    Value steps = e.add(e.mul(row, e.number(keysOfBlock() / lanes)),
                        e.div(key, e.number(lanes)));
    Value first = e.mul(steps, e.number(share));
    Value head = headOf(seen), stride = e.valueOf(seen.strides[2]);
    for (int64_t i = 0; i < share; ++i) {
      Value at = e.add(first, e.number(i)), lines = e.number(linesOfKey);
      Value ahead =
          e.add(e.add(block, e.number(keysOfBlock())), e.div(at, lines));
      Value place =
          e.add(e.mul(ahead, stride), e.mul(e.rem(at, lines), e.number(line)));
      constexpr int64_t toRead = 0, intoSecondCache = 2, ofData = 1;
      LLVM::Prefetch::create(e.b, behind(seen, head, place), toRead,
                             intoSecondCache, ofData);
    }
  }

  /// Adds to the sums the products of the query and the keys at `lines`, each
  /// of `count` vectors from element d on.
  SmallVector<Value> multiply(ArrayRef<Value> lines, Value d, int64_t count,
                              ValueRange before) {
    SmallVector<Value> query, sums(before);
    auto next = [&](int64_t c) { return e.add(d, e.number(c * lanes)); };
    Value own = part(areas.query, view.depth, 0);
    for (int64_t c = 0; c < count; ++c)
      query.push_back(load(element(own, next(c))));
    for (auto [line, sum] : llvm::zip(lines, sums))
      for (auto [c, chunk] : llvm::enumerate(query))
        sum = emitMulAdd(
            e.b, chunk, loadOf(view.key, behind(view.key, line, next(c))), sum);
    return sums;
  }

  /// Scores of the keys from `from` + `key` on, -infinity from `length` on.
  Value scoresAt(Value from, Value key, Value length) {
    Value head = headOf(view.key);
    Value stride = e.valueOf(view.key.strides[2]);
    Value last = e.sub(length, e.number(1));
    SmallVector<Value> lines, products;
    for (int64_t i = 0; i < lanes; ++i) {
      Value at = e.min(e.add(key, e.number(i)), last);
      lines.push_back(behind(view.key, head, e.mul(e.add(from, at), stride)));
    }
    // Of wide heads, some vectors at a time.
    int64_t whole = view.depth / lanes;
    int64_t chunk = whole > 2 * depthVectors ? depthVectors : whole;
    int64_t looped = whole == chunk ? 0 : whole / chunk * chunk * lanes;
    products.assign(lanes, splat(0));
    products = e.loop(
        e.number(0), e.number(looped), products,
        [&](Value d, ValueRange sums) {
          return multiply(lines, d, chunk, sums);
        },
        chunk * lanes);
    products =
        multiply(lines, e.number(looped), whole - looped / lanes, products);
    Value score = vectors.sumEach(products);
    Value left = e.sub(length, key);
    if (view.keyScales)
      score = arith::MulFOp::create(
          e.b, score, scalesFrom(view.keyScales, e.add(from, key), left));
    if (softcap > 0)
      score =
          arith::MulFOp::create(e.b, emitTanh(e.b, e, score), splat(softcap));
    for (auto [bias, seen] : llvm::zip(op.getBiases(), view.biases)) {
      Value line = element(batchOf(bias, seen), offsetOf(number, seen.strides));
      Value added = biasAt(vector, seen, line, e.add(from, key), left);
      score = emitAdd(e.b, score, added);
    }
    if (op.getKeyMask()) {
      Value masked =
          load(element(area(areas.masked), e.add(e.sub(from, block), key)));
      Value takes = arith::CmpFOp::create(e.b, arith::CmpFPredicate::OEQ,
                                          masked, splat(0));
      score = arith::SelectOp::create(e.b, takes, score, splat(-infinity));
    }
    return arith::SelectOp::create(e.b, vectors.isBelow(vector, left), score,
                                   splat(-infinity));
  }

  Value reduce(vector::CombiningKind kind, Value lanes) {
    return vector::ReductionOp::create(e.b, kind, lanes,
                                       arith::FastMathFlags::reassoc);
  }

  /// Weights of bytes, from a key on, take the bytes' scales.
  Value scaledForValues(Value weights, Value key, Value count) {
    if (!view.valueScales)
      return weights;
    return arith::MulFOp::create(e.b, weights,
                                 scalesFrom(view.valueScales, key, count));
  }

  /// Scores become weights.
  void softmax(Value from, Value length) {
    Value before = e.loadRaw(area(areas.largest), f32, row);
    Value all = e.loop(
        e.number(0), length, splat(before),
        [&](Value key, ValueRange carried) {
          return SmallVector<Value>{
              vectors.larger(load(scores(key)), carried[0])};
        },
        lanes)[0];
    Value largest = reduce(vector::CombiningKind::MAXNUMF, all);
    Value none = constantLike(e.b, f32, -infinity);
    Value isNone =
        arith::CmpFOp::create(e.b, arith::CmpFPredicate::OEQ, largest, none);
    Value shift = e.select(isNone, e.zero(f32), largest);
    Value sums = e.loop(
        e.number(0), length, splat(0),
        [&](Value key, ValueRange carried) {
          Value weights = power(load(scores(key)), splat(shift));
          store(scaledForValues(weights, e.add(from, key), e.sub(length, key)),
                scores(key));
          return SmallVector<Value>{emitAdd(e.b, carried[0], weights)};
        },
        lanes)[0];
    Value sum = reduce(vector::CombiningKind::ADD, sums);
    Value factor = power(before, shift);
    Value total = e.loadRaw(area(areas.total), f32, row);
    e.storeRaw(emitMulAdd(e.b, total, factor, sum), area(areas.total), row);
    e.storeRaw(largest, area(areas.largest), row);
    e.storeRaw(factor, area(areas.factor), row);
  }

  void addValues(Value from, Value length) {
    Value factor = e.loadRaw(area(areas.factor), f32, row);
    Value stride = e.valueOf(view.value.strides[2]);
    Value head = behind(view.value, headOf(view.value), e.mul(from, stride));
    Value whole = e.sub(length, e.rem(length, e.number(2)));
    for (int64_t n = 0; n < view.width; n += sumVectors * lanes) {
      int64_t used = std::min(sumVectors, (view.width - n) / lanes);
      auto add = [&](Value key, ValueRange before, int64_t keys) {
        SmallVector<Value> sums(before);
        for (int64_t k = 0; k < keys; ++k) {
          Value at = e.add(key, e.number(k));
          Value weight = vectors.loadSplat(vector, scores(at));
          Value line =
              behind(view.value, head, e.add(e.mul(at, stride), e.number(n)));
          for (int64_t v = 0; v < used; ++v) {
            Value &sum = sums[k * used + v];
            Value value = loadOf(view.value,
                                 behind(view.value, line, e.number(v * lanes)));
            sum = emitMulAdd(e.b, weight, value, sum);
          }
        }
        return sums;
      };
      SmallVector<Value> sums;
      for (int64_t v = 0; v < used; ++v)
        sums.push_back(arith::MulFOp::create(
            e.b, load(part(areas.sums, view.width, n + v * lanes)),
            splat(factor)));
      sums.append(used, splat(0));
      sums = e.loop(
          e.number(0), whole, sums,
          [&](Value key, ValueRange sums) { return add(key, sums, 2); }, 2);
      sums = e.loop(whole, length, sums, [&](Value key, ValueRange sums) {
        return add(key, sums, 1);
      });
      for (int64_t v = 0; v < used; ++v)
        store(emitAdd(e.b, sums[v], sums[used + v]),
              part(areas.sums, view.width, n + v * lanes));
    }
  }

  /// What the row's pieces came to becomes the row's.
  void joinRow() {
    kernel::AttentionPiece layout(view);
    Value none = constantLike(e.b, f32, -infinity);
    Value largest =
        e.loop(e.number(0), pieces, none, [&](Value piece, ValueRange carried) {
          Value each = e.loadRaw(pieceAt(piece, layout.largest), f32, row);
          return SmallVector<Value>{vectors.larger(each, carried[0])};
        })[0];
    Value isNone =
        arith::CmpFOp::create(e.b, arith::CmpFPredicate::OEQ, largest, none);
    Value shift = e.select(isNone, e.zero(f32), largest);
    for (int64_t n = 0; n < view.width; n += lanes)
      store(splat(0), part(areas.sums, view.width, n));
    Value total = e.loop(
        e.number(0), pieces, e.zero(f32), [&](Value piece, ValueRange carried) {
          Value before = e.loadRaw(pieceAt(piece, layout.largest), f32, row);
          Value factor = power(before, shift);
          Value sums = element(pieceAt(piece, layout.sums),
                               e.mul(row, e.number(view.width)));
          e.loop(
              e.number(0), e.number(view.width),
              [&](Value n) {
                Value at = element(area(areas.sums),
                                   e.add(e.mul(row, e.number(view.width)), n));
                store(emitMulAdd(e.b, load(element(sums, n)), splat(factor),
                                 load(at)),
                      at);
              },
              lanes);
          Value each = e.loadRaw(pieceAt(piece, layout.total), f32, row);
          return SmallVector<Value>{emitMulAdd(e.b, each, factor, carried[0])};
        })[0];
    e.storeRaw(total, area(areas.total), row);
  }

  void finishRow() {
    Value total = e.loadRaw(area(areas.total), f32, row);
    Value one = constantLike(e.b, f32, 1);
    Value factor = splat(arith::DivFOp::create(e.b, one, total));
    Value to = resultRow(number);
    for (int64_t n = 0; n < view.width; n += lanes)
      store(asResult(arith::MulFOp::create(
                e.b, load(part(areas.sums, view.width, n)), factor)),
            inResult(to, e.number(n)));
    Value isDead = arith::CmpFOp::create(e.b, arith::CmpFPredicate::OEQ, total,
                                         e.zero(f32));
    e.ifThen(isDead, [&] { fillDead(number); });
  }

  Value offset;
  // Of the current block of keys, and of the current row.
  Value block, end;
  Value row, number;
};

} // namespace

int64_t mostAttentionRows(const CpuLevel &level, const AttentionView &view) {
  int64_t lanes = level.lanes(4);
  return view.depth % lanes == 0 && view.width % lanes == 0 ? 8 : 0;
}

void emitAttentionRows(const AttentionUnit &unit) {
  AttentionRows(unit).emit();
}

} // namespace tenon::cpu
