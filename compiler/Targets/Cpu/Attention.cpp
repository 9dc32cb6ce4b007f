//===- Attention.cpp - Attention by blocks of queries and keys ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Per unit (see kernel::AttentionView): its queries are copied, transposed and
// scaled; then, a block of keys at a time, scores, what is added to them and
// masked, the softmax so far, and the sums over values. Queries lie along the
// vectors throughout: maxima and sums of a row go down a column, and keys and
// values are read in place.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/AttentionKeys.h"
#include "compiler/Targets/Cpu/AttentionTiles.h"
#include "compiler/Targets/Cpu/AttentionVectors.h"
#include "dialects/Kernel/AttentionView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::AttentionView;
using kernel::keyBlock;
using kernel::queryBlock;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double log2OfE = 1.4426950408889634;
constexpr int64_t unroll = 4; // Keys per step of the softmax.

class Attention {
public:
  Attention(Emitter &e, const AttentionView &view)
      : e(e), view(view), op(view.op), areas(view), lanes(e.level.lanes(4)),
        step(columnStep(e.level)), f32(e.b.getF32Type()),
        vector(VectorType::get({lanes}, f32)), vectors(e, f32),
        base(e.scratch(0)), keys(e.dimsOf(op.getKey())[2]),
        group(e.number(view.group())) {
    // Without anything added to scores, they are powers of two from the start.
    softcap = op.getSoftcap().convertToDouble();
    isPlain = view.biases.empty() && !(softcap > 0);
    scale = op.getScale().convertToDouble();
    if (isPlain)
      scale *= log2OfE;
    else if (softcap > 0)
      scale /= softcap;
    listLength = e.mul(e.dimsOf(op.getQuery())[2], group);
  }

  void emit() {
    Value blocks = e.div(e.add(listLength, e.number(queryBlock - 1)),
                         e.number(queryBlock));
    e.loop(e.begin, e.end, [&](Value unit) {
      Value list = e.div(unit, blocks);
      first = e.mul(e.rem(unit, blocks), e.number(queryBlock));
      keyHead = e.rem(list, e.number(view.keyHeads));
      batch = e.div(list, e.number(view.keyHeads));
      count = e.min(e.number(queryBlock), e.sub(listLength, first));
      columns = e.mul(e.div(e.add(count, e.number(step - 1)), e.number(step)),
                      e.number(step));
      emitUnit();
    });
  }

private:
  //===--- Places ---------------------------------------------------------===//

  Value area(int64_t offset) {
    return e.address(base, e.b.getI8Type(), e.number(offset));
  }
  Value element(Value base, Value offset) {
    return e.address(base, f32, offset);
  }
  /// Element [row][column] of an area whose rows are `queryBlock` long.
  Value cell(int64_t offset, Value row, Value column) {
    return element(area(offset),
                   e.add(e.mul(row, e.number(queryBlock)), column));
  }
  Value cell(int64_t offset, Value column) {
    return element(area(offset), column);
  }
  Value load(Value at) { return vectors.load(vector, at); }
  void store(Value value, Value at) { vectors.store(value, at); }
  Value splat(double value) { return constantLike(e.b, vector, value); }

  Value bufferOf(const kernel::StridedView &seen) {
    auto argument = cast<BlockArgument>(seen.base);
    return element(e.argumentBuffer(argument.getArgNumber()),
                   e.valueOf(seen.offset));
  }
  /// Element 0 of key 0 of the unit's head.
  Value headOf(const kernel::StridedView &seen) {
    Value offset = e.add(e.mul(batch, e.valueOf(seen.strides[0])),
                         e.mul(keyHead, e.valueOf(seen.strides[1])));
    return element(bufferOf(seen), offset);
  }

  /// A query of the list: its position and its head.
  std::pair<Value, Value> queryAt(Value number) {
    return {e.div(number, group),
            e.add(e.mul(keyHead, group), e.rem(number, group))};
  }
  /// The offset of a query, its batch aside, in a tensor of these strides.
  Value offsetOf(Value number, ArrayRef<Expr> strides) {
    auto [position, head] = queryAt(number);
    return e.add(e.mul(head, e.valueOf(strides[1])),
                 e.mul(position, e.valueOf(strides[2])));
  }
  /// Query `column` of the unit, or the last one of the list for those behind.
  Value numberOf(Value column) {
    return e.min(e.add(first, column), e.sub(listLength, e.number(1)));
  }

  void forColumns(int64_t step, function_ref<void(Value)> body) {
    e.loop(e.number(0), columns, body, step);
  }

  //===--- Steps ----------------------------------------------------------===//

  void emitUnit() {
    copyQueries();
    forColumns(lanes, [&](Value column) {
      e.loop(e.number(0), e.number(view.width),
             [&](Value n) { store(splat(0), cell(areas.sums, n, column)); });
      store(splat(-infinity), cell(areas.largest, column));
      store(splat(0), cell(areas.total, column));
    });
    Value offset = positionOffset(e, op, batch);
    firstLast = e.add(e.div(first, group), offset);
    Value end = e.sub(e.add(first, count), e.number(1));
    lastLast = e.add(e.div(end, group), offset);
    auto [from, to] = keyRange(e, op, firstLast, lastLast);
    e.loop(
        from, to,
        [&, to = to](Value key) {
          block = key;
          blockKeys = e.min(e.number(keyBlock), e.sub(to, key));
          emitBlock();
        },
        keyBlock);
    storeRows();
    e.loop(e.number(0), count, [&](Value column) {
      Value total = e.loadRaw(area(areas.total), f32, column);
      Value isDead = arith::CmpFOp::create(e.b, arith::CmpFPredicate::OEQ,
                                           total, e.zero(f32));
      e.ifThen(isDead, [&] { fillDead(column); });
    });
  }

  /// [queries][D] -> [D][queries], scaled.
  void copyQueries() {
    Value head = element(bufferOf(view.query),
                         e.mul(batch, e.valueOf(view.query.strides[0])));
    forColumns(tile, [&](Value column) {
      SmallVector<Value> rows;
      for (int64_t i = 0; i < tile; ++i)
        rows.push_back(
            element(head, offsetOf(numberOf(e.add(column, e.number(i))),
                                   view.query.strides)));
      // The last tile may overlap the one before.
      e.loop(
          e.number(0), e.number(view.depth),
          [&](Value next) {
            Value d = e.min(next, e.number(view.depth - tile));
            SmallVector<Value> in;
            for (Value row : rows)
              in.push_back(vectors.loadTile(element(row, d)));
            for (auto [u, out] : llvm::enumerate(vectors.transpose(in))) {
              Value factor = constantLike(e.b, out.getType(), scale);
              store(arith::MulFOp::create(e.b, out, factor),
                    cell(areas.query, e.add(d, e.number(u)), column));
            }
          },
          tile);
    });
  }

  void emitBlock() {
    AttentionTileWork work;
    work.stride = e.valueOf(view.key.strides[2]);
    work.a = element(headOf(view.key), e.mul(block, work.stride));
    work.b = area(areas.query);
    work.depth = e.number(view.depth);
    work.c = area(areas.scores);
    work.rows = blockKeys;
    work.columns = columns;
    work.factor = area(areas.factor); // Not read.
    callAttentionProduct(
        e.b, attentionProduct(e.module, e.level, AttentionProduct::Scores),
        work);
    if (!view.biases.empty())
      copyBiases();
    if (!isPlain)
      changeScores();
    if (op.getCausal())
      maskByPosition();
    if (op.getKeyMask())
      maskKeys();
    Value padded =
        e.mul(e.div(e.add(blockKeys, e.number(unroll - 1)), e.number(unroll)),
              e.number(unroll));
    e.loop(blockKeys, padded, [&](Value key) { dropKey(key); });
    forColumns(lanes, [&](Value column) { softmax(column, padded); });
    work.stride = e.valueOf(view.value.strides[2]);
    work.a = element(headOf(view.value), e.mul(block, work.stride));
    work.b = area(areas.scores);
    work.depth = blockKeys;
    work.c = area(areas.sums);
    work.rows = e.number(view.width);
    callAttentionProduct(
        e.b, attentionProduct(e.module, e.level, AttentionProduct::Values),
        work);
  }

  //===--- Scores ---------------------------------------------------------===//

  /// The sum of the biases, [queries][keys] -> [keys][queries].
  void copyBiases() {
    forColumns(tile, [&](Value column) {
      SmallVector<SmallVector<Value>> rows; // By bias.
      for (auto [bias, seen] : llvm::zip(op.getBiases(), view.biases)) {
        Value batches = e.max(e.dimsOf(bias)[0], e.number(1));
        Value start = e.mul(e.rem(batch, batches), e.valueOf(seen.strides[0]));
        SmallVector<Value> &own = rows.emplace_back();
        for (int64_t i = 0; i < tile; ++i) {
          Value number = numberOf(e.add(column, e.number(i)));
          own.push_back(element(bufferOf(seen),
                                e.add(start, offsetOf(number, seen.strides))));
        }
      }
      e.loop(
          e.number(0), blockKeys,
          [&](Value key) {
            Value left = e.sub(blockKeys, key), at = e.add(block, key);
            SmallVector<Value> in;
            for (int64_t i = 0; i < tile; ++i) {
              Value sum;
              for (auto [own, seen] : llvm::zip(rows, view.biases)) {
                Value part = seen.strides[3].isConstant(0)
                                 ? vectors.splatTile(own[i])
                                 : vectors.loadTile(element(own[i], at), left);
                sum = sum ? emitAdd(e.b, sum, part) : part;
              }
              in.push_back(sum);
            }
            for (auto [u, out] : llvm::enumerate(vectors.transpose(in)))
              store(out, cell(areas.biases, e.add(key, e.number(u)), column));
          },
          tile);
    });
  }

  void changeScores() {
    e.loop(e.number(0), blockKeys, [&](Value key) {
      forColumns(lanes, [&](Value column) {
        Value at = cell(areas.scores, key, column);
        Value score = load(at);
        if (softcap > 0)
          score = arith::MulFOp::create(e.b, emitTanh(e.b, e, score),
                                        splat(softcap));
        if (!view.biases.empty())
          score = emitAdd(e.b, score, load(cell(areas.biases, key, column)));
        store(score, at);
      });
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

  /// 2^(score - shift) in units of the scores.
  Value power(Value score, Value shift) {
    Value y = arith::SubFOp::create(e.b, score, shift);
    if (!isPlain)
      y = arith::MulFOp::create(e.b, y, splat(log2OfE));
    return vectors.powerOfTwo(y);
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
          for (int64_t i = 0; i < unroll; ++i) {
            weights.push_back(power(load(at(key, i)), shift));
            store(weights[i], at(key, i));
          }
          Value upper = emitAdd(e.b, weights[0], weights[1]);
          Value lower = emitAdd(e.b, weights[2], weights[3]);
          Value all = emitAdd(e.b, upper, lower);
          return SmallVector<Value>{emitAdd(e.b, carried[0], all)};
        },
        unroll)[0];
    Value factor = power(before, shift);
    Value total = load(cell(areas.total, column));
    store(emitMulAdd(e.b, total, factor, sum), cell(areas.total, column));
    store(factor, cell(areas.factor, column));
    store(largest, cell(areas.largest, column));
  }

  //===--- Results --------------------------------------------------------===//

  Value resultRow(Value number) {
    Value offset = e.add(e.mul(batch, e.valueOf(view.result[0])),
                         offsetOf(number, view.result));
    return element(e.resultBuffer(0), offset);
  }

  /// [E][queries] -> [queries][E], divided by the sums of weights.
  void storeRows() {
    forColumns(lanes, [&](Value column) {
      Value total = load(cell(areas.total, column));
      store(arith::DivFOp::create(e.b, splat(1), total),
            cell(areas.factor, column));
    });
    forColumns(tile, [&](Value column) {
      SmallVector<Value> rows;
      for (int64_t i = 0; i < tile; ++i) {
        Value query = e.add(column, e.number(i));
        rows.push_back(e.select(e.less(query, count),
                                resultRow(numberOf(query)), area(areas.spare)));
      }
      Value factor = vectors.loadTile(cell(areas.factor, column));
      e.loop(
          e.number(0), e.number(view.width),
          [&](Value next) {
            Value n = e.min(next, e.number(view.width - tile));
            SmallVector<Value> in;
            for (int64_t i = 0; i < tile; ++i) {
              Value sum = vectors.loadTile(
                  cell(areas.sums, e.add(n, e.number(i)), column));
              in.push_back(arith::MulFOp::create(e.b, sum, factor));
            }
            for (auto [row, out] : llvm::zip(rows, vectors.transpose(in)))
              store(out, element(row, n));
          },
          tile);
    });
  }

  /// A query to which no key adds anything. Where a key does take part, its
  /// score is -infinity, and so is the largest one: that gives NaN.
  void fillDead(Value column) {
    Value number = e.add(first, column);
    Value last = e.add(queryAt(number).first, positionOffset(e, op, batch));
    auto [from, to] = keyRange(e, op, last, last);
    Value alive = e.less(from, to);
    if (op.getKeyMask())
      alive = e.loop(from, to, e.zero(e.b.getI1Type()),
                     [&](Value key, ValueRange carried) {
                       Value part = e.element(op.getKeyMask(), {batch, key});
                       return SmallVector<Value>{e.either(carried[0], part)};
                     })[0];
    Value row = resultRow(number);
    e.loop(e.number(0), e.number(view.width), [&](Value n) {
      Value value = constantLike(e.b, f32, std::nan(""));
      if (op.getDeadRows() == graph::DeadRows::Zero)
        value = e.select(alive, value, e.zero(f32));
      if (op.getDeadRows() == graph::DeadRows::Uniform)
        value = e.select(alive, value, meanOf(n));
      e.storeRaw(value, row, n);
    });
  }

  Value meanOf(Value n) {
    Value head = headOf(view.value);
    Value stride = e.valueOf(view.value.strides[2]);
    Value sum = e.loop(
        e.number(0), keys, e.zero(f32), [&](Value key, ValueRange carried) {
          Value at = e.add(e.mul(key, stride), n);
          return SmallVector<Value>{
              emitAdd(e.b, carried[0], e.loadRaw(head, f32, at))};
        })[0];
    return arith::DivFOp::create(e.b, sum,
                                 arith::SIToFPOp::create(e.b, f32, keys));
  }

  static constexpr int64_t tile = AttentionVectors::tile;

  Emitter &e;
  const AttentionView &view;
  graph::AttentionOp op;
  kernel::AttentionScratch areas;
  int64_t lanes, step;
  Type f32;
  VectorType vector;
  AttentionVectors vectors;
  Value base, keys, group, listLength;
  double softcap, scale;
  bool isPlain; // Scores are used as they are, in powers of two.
  // Of the current unit and block of keys.
  Value batch, keyHead, first, count, columns, firstLast, lastLast;
  Value block, blockKeys;
};

} // namespace

LogicalResult emitAttentionBlocks(Emitter &e) {
  std::string why;
  std::optional<AttentionView> view =
      kernel::attentionViewOf(e.kernel.getBlock(), why);
  if (!view)
    return e.kernel.emitOpError("cannot run by its schedule: ") << why;
  Attention(e, *view).emit();
  return success();
}

} // namespace tenon::cpu
