//===- AttentionColumns.cpp - Attention of many queries -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The queries are copied, transposed and scaled; then, a block of keys at a
// time, scores, what is added to them and masked, the softmax so far, and the
// sums over values. Queries lie along the vectors throughout: maxima and sums
// of a row go down a column.
//
// Where bf16 is multiplied, operands are rounded while they are copied, and
// weights when they are made. Queries are rounded as they are, and the scores
// scaled: a scaled query would be rounded to other numbers than the body says.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/AttentionMatrices.h"
#include "compiler/Targets/Cpu/AttentionPanels.h"
#include "compiler/Targets/Cpu/StripProducts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int64_t unroll = 4; // Keys per step of the softmax.

class AttentionColumns : AttentionUnit {
public:
  AttentionColumns(const AttentionUnit &unit)
      : AttentionUnit(unit), panels(unit) {
    Value step = e.number(columnStep(e.level));
    columns = e.mul(e.div(e.add(count, e.sub(step, e.number(1))), step), step);
  }

  void emit() {
    if (rounds())
      roundQueries();
    else
      copyQueries();
    int64_t width = usesMatrices() ? view.matrixWidth() : view.paddedWidth();
    forColumns(lanes, [&](Value column) {
      e.loop(e.number(0), e.number(width),
             [&](Value n) { store(splat(0), cell(areas.sums, n, column)); });
      store(splat(-infinity), cell(areas.largest, column));
      store(splat(0), cell(areas.total, column));
    });
    Value offset = positionOffset(e, op, batch);
    firstLast = e.add(e.div(first, group), offset);
    Value end = e.sub(e.add(first, count), e.number(1));
    lastLast = e.add(e.div(end, group), offset);
    panels.start();
    auto [from, to] = keysOf(firstLast, lastLast);
    e.loop(
        from, to,
        [&, to = to](Value key) {
          block = key;
          blockKeys = e.min(e.number(keyBlock), e.sub(to, key));
          emitBlock();
        },
        keyBlock);
    finishWith(
        e.number(view.width * queryBlock),
        [&] { forColumns(lanes, [&](Value column) { joinPieces(column); }); },
        [&] { finish(); });
  }

private:
  /// Element [row][column] of an area whose rows are `queryBlock` long.
  Value cell(int64_t offset, Value row, Value column) {
    return element(area(offset),
                   e.add(e.mul(row, e.number(queryBlock)), column));
  }
  Value cell(int64_t offset, Value column) {
    return element(area(offset), column);
  }
  /// Query `column` of the unit, or the last one of the list for those behind.
  Value numberOf(Value column) {
    return e.min(e.add(first, column), e.sub(listLength, e.number(1)));
  }

  void forColumns(int64_t step, function_ref<void(Value)> body) {
    e.loop(e.number(0), columns, body, step);
  }

  /// Where some queries' rows begin, from that of a column on.
  SmallVector<Value> queriesFrom(Value column, int64_t count) {
    Value head = element(bufferOf(view.query),
                         e.mul(batch, e.valueOf(view.query.strides[0])));
    SmallVector<Value> rows;
    for (int64_t i = 0; i < count; ++i)
      rows.push_back(
          element(head, offsetOf(numberOf(e.add(column, e.number(i))),
                                 view.query.strides)));
    return rows;
  }

  /// [queries][D] -> [D][queries], scaled.
  void copyQueries() {
    int64_t step = view.depth < lanes ? tile : lanes;
    auto type = VectorType::get({step}, f32);
    forColumns(tile, [&](Value column) {
      SmallVector<Value> rows = queriesFrom(column, tile);
      // The last tile may overlap the one before.
      e.loop(
          e.number(0), e.number(view.depth),
          [&](Value next) {
            Value d = e.min(next, e.number(view.depth - step));
            SmallVector<Value> in;
            for (Value row : rows)
              in.push_back(arith::MulFOp::create(
                  e.b, vectors.load(type, element(row, d)),
                  constantLike(e.b, type, scale)));
            for (auto [u, out] : llvm::enumerate(vectors.transpose(in)))
              for (int64_t at = 0; at < step / tile; ++at)
                store(vectors.part(out, at, tile),
                      cell(areas.query, e.add(d, e.number(at * tile + u)),
                           column));
          },
          step);
    });
    forColumns(lanes, [&](Value column) {
      for (int64_t d = view.depth; d < view.paddedDepth(); ++d)
        store(splat(0), cell(areas.query, e.number(d), column));
    });
  }

  /// [queries][D] -> [D / 2][queries][2]
  void roundQueries() {
    int64_t whole = view.depth / matrixSteps * matrixSteps;
    forColumns(lanes, [&](Value column) {
      SmallVector<Value> rows = queriesFrom(column, lanes);
      auto turn = [&](Value d, function_ref<Value(Value row)> words) {
        Value line = e.div(d, e.number(2));
        for (auto [u, out] : llvm::enumerate(
                 vectors.transpose(llvm::map_to_vector(rows, words))))
          store(out, cell(areas.query, e.add(line, e.number(u)), column));
      };
      e.loop(
          e.number(0), e.number(whole),
          [&](Value d) {
            turn(d, [&](Value row) {
              Value at = element(row, d);
              return vectors.round(load(at),
                                   load(element(at, e.number(lanes))));
            });
          },
          matrixSteps);
      if (whole < view.depth)
        turn(e.number(whole), [&](Value row) {
          return vectors.round(
              loadHead(view.query, row, whole, view.depth),
              loadHead(view.query, row, whole + lanes, view.depth));
        });
    });
  }

  Value tilesOf(Value rows) { return e.div(rows, e.number(tileRows(e.level))); }
  Value ceil(Value count) {
    Value step = e.number(usesMatrices() ? matrixSteps : kernel::keyPanel);
    return e.mul(e.div(e.add(count, e.sub(step, e.number(1))), step), step);
  }

  void emitBlock() {
    panels.provide(block);
    Value padded = ceil(blockKeys);
    if (usesMatrices())
      return emitMatrices(padded);
    AttentionTileWork work;
    work.a = panels.keysAt(block);
    work.aStep = panels.keyStep();
    work.b = area(areas.query);
    work.depth = e.number(panels.depthSteps());
    work.c = area(areas.scores);
    work.tiles = tilesOf(padded);
    work.columns = columns;
    work.factor = area(areas.factor); // Not read.
    work.after = panels.valuesAt(block);
    callAttentionProduct(e.b, e.module, e.level, AttentionProduct::Scores,
                         usesPairs(), work);
    makeWeights(padded);
    work.a = panels.valuesAt(block);
    work.aStep = panels.valueStep();
    work.b = area(areas.scores);
    work.depth = usesPairs() ? e.div(padded, e.number(2)) : padded;
    work.c = area(areas.sums);
    work.tiles = tilesOf(e.number(view.paddedWidth()));
    work.after = panels.keysAt(e.add(block, e.number(keyBlock)));
    callAttentionProduct(e.b, e.module, e.level, AttentionProduct::Values,
                         usesPairs(), work);
  }

  void emitMatrices(Value padded) {
    AttentionMatrixWork work;
    work.a = panels.keysAt(block);
    work.aStep = work.steps = e.number(view.matrixDepth() / matrixSteps);
    work.b = area(areas.query);
    work.c = area(areas.scores);
    work.tiles = e.div(padded, e.number(matrixRows));
    work.columns = columns;
    callAttentionMatrices(e.b, e.module, e.level, AttentionProduct::Scores,
                          work);
    makeWeights(padded);
    work.a = panels.valuesAt(block);
    work.aStep = e.number(keyBlock / matrixSteps);
    work.b = area(areas.scores);
    work.steps = e.div(padded, e.number(matrixSteps));
    work.c = area(areas.sums);
    work.tiles = e.number(view.matrixWidth() / matrixRows);
    callAttentionMatrices(e.b, e.module, e.level, AttentionProduct::Values,
                          work);
  }

  /// Scores become weights.
  void makeWeights(Value padded) {
    if (rounds() && isPlain && !scalesLast())
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
    forColumns(lanes, [&](Value column) { softmax(column, padded); });
  }

  //===--- Scores ---------------------------------------------------------===//

  /// Whether scores are scaled when weights are made of them, to which nothing
  /// is done before that. The largest one must stay so.
  bool scalesLast() const { return rounds() && isPlain && scale > 0; }
  /// Of what is done to scores first.
  Value scaled(Value score) {
    return rounds() ? emitMul(e.b, score, splat(scale)) : score;
  }

  void scaleScores() {
    e.loop(e.number(0), blockKeys, [&](Value key) {
      forColumns(lanes, [&](Value column) {
        Value at = cell(areas.scores, key, column);
        store(scaled(load(at)), at);
      });
    });
  }

  void cap() {
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
  void addBiases() {
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
            bool isScaled = !rounds() || softcap > 0;
            store(isScaled
                      ? emitAdd(e.b, score, bias)
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
  void maskByPosition() {
    Value last = e.sub(e.add(block, blockKeys), e.number(1));
    Value cuts = e.less(firstLast, last);
    int64_t window = std::min<int64_t>(op.getWindow(), 2 * farAway);
    if (window > 0)
      cuts = e.either(
          cuts,
          e.less(block, e.add(e.sub(lastLast, e.number(window)), e.number(1))));
    Type i32 = e.b.getI32Type();
    auto wide = VectorType::get({lanes}, i32);
    e.ifThen(cuts, [&] {
      // Each query's first and last key, counted from the block's first.
      Value offset = e.sub(positionOffset(e, op, batch), block);
      forColumns(1, [&](Value column) {
        Value key = e.add(e.div(numberOf(column), group), offset);
        auto put = [&](Value key, int64_t place) {
          key = e.max(e.min(key, e.number(keyBlock)), e.number(-1));
          e.storeRaw(arith::TruncIOp::create(e.b, i32, key), area(place),
                     column);
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
              e.b, P::sle, here,
              vectors.load(wide, cell(areas.lastKey, column)));
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

  void maskKeys() {
    e.loop(e.number(0), blockKeys, [&](Value key) {
      Value part = e.element(op.getKeyMask(), {batch, e.add(block, key)});
      Value isMasked = arith::XOrIOp::create(
          e.b, part, constantLike(e.b, e.b.getI1Type(), -1));
      e.ifThen(isMasked, [&] { dropKey(key); });
    });
  }

  void dropKey(Value key) {
    forColumns(lanes, [&](Value column) {
      store(splat(-infinity), cell(areas.scores, key, column));
    });
  }

  //===--- Softmax --------------------------------------------------------===//

  Value weight(Value score, Value shift) {
    if (!rounds())
      return power(score, shift);
    if (scalesLast())
      return vectors.roughPowerOfTwo(emitMulAdd(
          e.b, score, splat(scale), emitMul(e.b, shift, splat(-scale))));
    // Biases may be the lowest number, and that times log2(e) no number.
    Value y = arith::SubFOp::create(e.b, score, shift);
    return vectors.roughPowerOfTwo(isPlain ? y
                                           : emitMul(e.b, y, splat(log2OfE)));
  }

  /// Rounds the weights of some keys to pairs, in the place of scores that have
  /// been read, and adds up what they have become: that takes the mean of their
  /// errors out again.
  Value storePairs(ArrayRef<Value> weights, Value key, Value column) {
    StripProducts products(e.b, e.level, StripKind::Pairs, vector);
    auto words = VectorType::get({lanes}, e.b.getI32Type());
    Value ones = constantLike(e.b, words, 0x3f803f80), sum = splat(0);
    Value line = e.div(key, e.number(2));
    for (size_t i = 0; i < weights.size(); i += 2) {
      Value pairs = vectors.roundPairs(weights[i], weights[i + 1]);
      store(pairs, cell(areas.scores, e.add(line, e.number(i / 2)), column));
      sum = products.add(pairs, ones, sum);
    }
    return sum;
  }

  /// Multiplies the sums so far by their factors, unless no maximum has
  /// changed.
  void scaleSums(Value column, Value changes, Value factor) {
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
  void softmax(Value column, Value padded) {
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
    Value isNone = arith::CmpFOp::create(e.b, arith::CmpFPredicate::OEQ,
                                         largest, splat(-infinity));
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
      Value changes = arith::CmpFOp::create(e.b, arith::CmpFPredicate::UNE,
                                            before, largest);
      factor = arith::SelectOp::create(e.b, changes, factor, splat(1));
      if (usesMatrices())
        scaleSums(column, changes, factor);
    }
    Value total = load(cell(areas.total, column));
    store(emitMulAdd(e.b, total, factor, sum), cell(areas.total, column));
    store(factor, cell(areas.factor, column));
    store(largest, cell(areas.largest, column));
  }

  //===--- Results --------------------------------------------------------===//

  /// What the pieces of some queries came to becomes what they come to.
  void joinPieces(Value column) {
    kernel::AttentionPiece layout(view);
    auto at = [&](Value piece, int64_t offset) {
      return element(pieceAt(piece, offset), column);
    };
    Value largest = e.loop(e.number(0), pieces, splat(-infinity),
                           [&](Value piece, ValueRange carried) {
                             return SmallVector<Value>{vectors.larger(
                                 load(at(piece, layout.largest)), carried[0])};
                           })[0];
    Value isNone = arith::CmpFOp::create(e.b, arith::CmpFPredicate::OEQ,
                                         largest, splat(-infinity));
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

  void finish() {
    storeRows();
    e.loop(e.number(0), count, [&](Value column) {
      Value total = e.loadRaw(area(areas.total), f32, column);
      Value isDead = arith::CmpFOp::create(e.b, arith::CmpFPredicate::OEQ,
                                           total, e.zero(f32));
      e.ifThen(isDead, [&] { fillDead(e.add(first, column)); });
    });
  }

  /// [E][queries] -> [queries][E], divided by the sums of weights.
  void storeRows() {
    forColumns(lanes, [&](Value column) {
      Value total = load(cell(areas.total, column));
      store(arith::DivFOp::create(e.b, splat(1), total),
            cell(areas.factor, column));
    });
    forColumns(lanes, [&](Value column) {
      SmallVector<Value> rows;
      for (int64_t i = 0; i < lanes; ++i) {
        Value query = e.add(column, e.number(i));
        rows.push_back(e.select(e.less(query, count),
                                resultRow(numberOf(query)), area(areas.spare)));
      }
      Value factor = load(cell(areas.factor, column));
      e.loop(
          e.number(0), e.number(view.width),
          [&](Value next) {
            Value n = e.min(next, e.number(view.width - tile));
            SmallVector<Value> in;
            for (int64_t i = 0; i < tile; ++i) {
              Value sum = load(cell(areas.sums, e.add(n, e.number(i)), column));
              in.push_back(arith::MulFOp::create(e.b, sum, factor));
            }
            for (auto [u, out] : llvm::enumerate(vectors.transpose(in)))
              for (int64_t at = 0; at < lanes / tile; ++at)
                store(vectors.part(out, at, tile),
                      element(rows[at * tile + u], n));
          },
          tile);
    });
  }

  static constexpr int64_t tile = AttentionVectors::tile;

  AttentionPanels panels;
  VectorType tileType = VectorType::get({tile}, f32);
  Value columns, firstLast, lastLast;
  // Of the current block of keys.
  Value block, blockKeys;
};

} // namespace

void emitAttentionColumns(const AttentionUnit &unit) {
  AttentionColumns(unit).emit();
}

} // namespace tenon::cpu
