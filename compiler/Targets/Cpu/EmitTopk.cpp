//===- EmitTopk.cpp - The best of a row, in order -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/Reduction.h"
#include "dialects/Kernel/Geometry.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

/// Whether one of the elements at `i` and behind it, a vector of them, is
/// better than `bound`.
Value anyIsBetter(Emitter &e, graph::TopkOp op, Value values, Value i,
                  Value bound) {
  Type type = bound.getType();
  unsigned bytes = graph::byteWidth(type);
  int64_t lanes = e.level.lanes(bytes);
  auto vector = VectorType::get({lanes}, type);
  Value x =
      LLVM::LoadOp::create(e.b, vector, e.address(values, type, i), bytes);
  Value better =
      isBetter(e, x, e.spread(bound, lanes),
               graph::getElementType(op.getInput()), op.getLargest());
  return vector::ReductionOp::create(e.b, vector::CombiningKind::OR, better);
}

/// The order of the best of a row's values, equal ones by position. Where few
/// are kept of many, twice as many are sorted at a time: what is no better than
/// the last that is kept so far is left out, a vector of elements by one
/// comparison.
class TopkRow {
public:
  TopkRow(Emitter &e, graph::TopkOp op, Value count, Value kept)
      : e(e), op(op), type(computeType(graph::getElementType(op.getInput()))),
        keyBytes(graph::byteWidth(type)), values(e.scratch(0)),
        places(e.scratch(1)), spare(e.scratch(2)), counters(e.scratch(3)),
        count(count), kept(kept), lanes(e.level.lanes(keyBytes)) {}

  /// Loads the row and returns where the positions of its best lie.
  Value sort(function_ref<Indices(Value)> indexOf) {
    e.loop(e.number(0), count, [&](Value i) {
      e.storeRaw(e.element(op.getInput(), indexOf(i)), values, i);
    });
    Value twice = e.mul(kept, e.number(2));
    Value room = e.add(twice, e.number(lanes));
    SmallVector<Value> held = e.loop(
        e.number(0), count, ValueRange{e.number(0)},
        [&](Value i, ValueRange carried) -> SmallVector<Value> {
          // All before the first sort, which comes when this is full.
          Value areAll = e.less(i, e.add(room, e.number(1)));
          // What lies behind the row's end does no harm.
          Value isAny = anyOf(
              areAll, [&] { return anyIsBetter(e, op, values, i, worst()); });
          Value size = e.branch(
              isAny, [&] { return take(i, carried[0], areAll); },
              [&] { return carried[0]; });
          return {e.branch(
              e.less(room, size), [&] { return keepBest(size); },
              [&] { return size; })};
        },
        lanes);
    keepBest(held[0]);
    return places;
  }

  Value valueAt(Value position) { return e.loadRaw(values, type, position); }

private:
  static constexpr int64_t digitBits = 8, digits = kernel::topkDigits;
  /// So few are compared with each other instead.
  static constexpr int64_t fewest = 32;

  Type i64() { return e.b.getI64Type(); }
  Value placeAt(Value area, Value i) { return e.loadRaw(area, i64(), i); }

  Value anyOf(Value condition, function_ref<Value()> otherwise) {
    return e.branch(
        condition, [&] { return constantLike(e.b, condition.getType(), 1); },
        otherwise);
  }

  /// The last that is kept, if there is one.
  Value worst() {
    Value last = e.max(e.sub(kept, e.number(1)), e.number(0));
    return valueAt(placeAt(places, last));
  }

  /// Adds to `size` positions those of a vector's elements that are better.
  Value take(Value i, Value size, Value areAll) {
    Value end = e.min(e.add(i, e.number(lanes)), count);
    return e.loop(i, end, ValueRange{size},
                  [&](Value at, ValueRange carried) -> SmallVector<Value> {
                    e.storeRaw(at, places, carried[0]);
                    Value isTaken = anyOf(areAll, [&] {
                      return isBetter(e, valueAt(at), worst(),
                                      graph::getElementType(op.getInput()),
                                      op.getLargest());
                    });
                    return {e.add(carried[0],
                                  e.select(isTaken, e.number(1), e.number(0)))};
                  })[0];
  }

  /// Sorts `size` positions, and says how many of them are kept.
  Value keepBest(Value size) {
    Value left = e.min(size, kept);
    Value sorted = e.branch(
        e.less(e.number(fewest), size), [&] { return deal(size); },
        [&] { return rank(size); });
    e.loop(e.number(0), left,
           [&](Value i) { e.storeRaw(placeAt(sorted, i), places, i); });
    return left;
  }

  /// A number, as i64 without sign, that is less where isBetter holds and equal
  /// where neither of two is better.
  Value keyOf(Value x) {
    auto bits = e.b.getIntegerType(8 * keyBytes);
    Value sign = intConstant(bits, llvm::APInt::getSignMask(8 * keyBytes));
    Value all = intConstant(bits, llvm::APInt::getAllOnes(8 * keyBytes));
    Type element = graph::getElementType(op.getInput());
    Value key = x;
    if (isa<FloatType>(type)) {
      // Both zeros are one; what is negative counts backwards.
      key = arith::AddFOp::create(e.b, x, e.zero(type));
      key = arith::BitcastOp::create(e.b, bits, key);
      Value top =
          intConstant(bits, llvm::APInt(8 * keyBytes, 8 * keyBytes - 1));
      Value isNegative = arith::ShRSIOp::create(e.b, key, top);
      sign = arith::OrIOp::create(e.b, sign, isNegative);
    }
    if (!element.isUnsignedInteger())
      key = arith::XOrIOp::create(e.b, key, sign);
    if (op.getLargest())
      key = arith::XOrIOp::create(e.b, key, all);
    if (isa<FloatType>(type)) // Before all numbers, whose keys are not 0.
      key =
          e.select(arith::CmpFOp::create(e.b, arith::CmpFPredicate::UNO, x, x),
                   e.zero(bits), key);
    if (keyBytes < 8)
      key = arith::ExtUIOp::create(e.b, i64(), key);
    return key;
  }
  Value intConstant(IntegerType bits, const llvm::APInt &value) {
    return arith::ConstantOp::create(e.b, e.b.getIntegerAttr(bits, value));
  }
  Value keyAt(Value place) { return keyOf(valueAt(place)); }
  Value digitOf(Value key, Value pass) {
    Value shift = e.mul(pass, e.number(digitBits));
    Value digit = arith::ShRUIOp::create(e.b, key, shift);
    return arith::AndIOp::create(e.b, digit, e.number(digits - 1));
  }

  /// By how many keys are before each one.
  Value rank(Value size) {
    Value keys = counters;
    e.loop(e.number(0), size,
           [&](Value i) { e.storeRaw(keyAt(placeAt(places, i)), keys, i); });
    e.loop(e.number(0), size, [&](Value i) {
      Value key = e.loadRaw(keys, i64(), i);
      auto countFrom = [&](Value from, Value to, Value sum,
                           arith::CmpIPredicate isBefore) {
        return e.loop(from, to, ValueRange{sum},
                      [&](Value j, ValueRange carried) -> SmallVector<Value> {
                        Value before = arith::CmpIOp::create(
                            e.b, isBefore, e.loadRaw(keys, i64(), j), key);
                        return {e.add(carried[0], e.select(before, e.number(1),
                                                           e.number(0)))};
                      })[0];
      };
      using P = arith::CmpIPredicate;
      Value sum = countFrom(e.number(0), i, e.number(0), P::ule);
      sum = countFrom(i, size, sum, P::ult);
      e.storeRaw(placeAt(places, i), spare, sum);
    });
    return spare;
  }

  /// Deals positions by one digit of their keys after the other, from the
  /// lowest; those of one digit stay in order.
  Value deal(Value size) {
    Value passes = e.number(keyBytes);
    e.loop(e.number(0), e.mul(passes, e.number(digits)),
           [&](Value i) { e.storeRaw(e.number(0), counters, i); });
    e.loop(e.number(0), size, [&](Value i) {
      Value key = keyAt(placeAt(places, i));
      for (unsigned pass = 0; pass < keyBytes; ++pass) {
        Value counter = counterOf(key, e.number(pass));
        e.storeRaw(e.add(e.loadRaw(counters, i64(), counter), e.number(1)),
                   counters, counter);
      }
    });
    Value first = keyAt(placeAt(places, e.number(0)));
    Value isTurned =
        e.loop(e.number(0), passes, ValueRange{zeroBit(e)},
               [&](Value pass, ValueRange carried) -> SmallVector<Value> {
                 Value counted =
                     e.loadRaw(counters, i64(), counterOf(first, pass));
                 return {e.branch(
                     e.equal(counted, size), [&] { return carried[0]; },
                     [&] {
                       dealOne(pass, size, e.select(carried[0], spare, places),
                               e.select(carried[0], places, spare));
                       return e.equal(carried[0], zeroBit(e));
                     })};
               })[0];
    return e.select(isTurned, spare, places);
  }

  Value counterOf(Value key, Value pass) {
    return e.add(e.mul(pass, e.number(digits)), digitOf(key, pass));
  }

  void dealOne(Value pass, Value size, Value from, Value to) {
    // Counters become where the next of their digit goes.
    Value begin = e.mul(pass, e.number(digits));
    e.loop(begin, e.add(begin, e.number(digits)), ValueRange{e.number(0)},
           [&](Value i, ValueRange carried) -> SmallVector<Value> {
             Value counted = e.loadRaw(counters, i64(), i);
             e.storeRaw(carried[0], counters, i);
             return {e.add(carried[0], counted)};
           });
    e.loop(e.number(0), size, [&](Value i) {
      Value place = placeAt(from, i);
      Value counter = counterOf(keyAt(place), pass);
      Value at = e.loadRaw(counters, i64(), counter);
      e.storeRaw(place, to, at);
      e.storeRaw(e.add(at, e.number(1)), counters, counter);
    });
  }

  Emitter &e;
  graph::TopkOp op;
  Type type;
  unsigned keyBytes;
  Value values, places, spare, counters, count, kept;
  int64_t lanes;
};

/// The best few of a row in order, equal ones by position: while the row
/// passes, those that are better than the last of them are put in their places.
/// Of long rows hardly any are, and a vector of elements takes one comparison.
class FewBest {
public:
  /// Above this, what an element costs that is put in place is no longer small
  /// against a sort.
  static constexpr int64_t most = 64;

  FewBest(Emitter &e, graph::TopkOp op, Value count, Value kept)
      : e(e), op(op), element(graph::getElementType(op.getInput())),
        type(computeType(element)), values(e.scratch(0)), places(e.scratch(1)),
        bests(e.scratch(2)), count(count), kept(kept) {}

  /// Loads the row and returns where the positions of its best lie.
  Value select(function_ref<Indices(Value)> indexOf) {
    e.loop(e.number(0), count, [&](Value i) {
      e.storeRaw(e.element(op.getInput(), indexOf(i)), values, i);
    });
    e.loop(e.number(0), kept, [&](Value i) {
      SmallVector<Value> last = insert(i, i);
      e.storeRaw(last[0], bests, i);
      e.storeRaw(last[1], places, i);
    });
    int64_t lanes = e.level.lanes(type.getIntOrFloatBitWidth() / 8);
    e.ifThen(e.less(e.number(0), kept), [&] {
      Value vectors = e.div(e.sub(count, kept), e.number(lanes));
      Value stop = e.add(kept, e.mul(vectors, e.number(lanes)));
      e.loop(
          kept, stop,
          [&](Value i) {
            e.ifThen(anyIsBetter(e, op, values, i, lastBest()), [&] {
              e.loop(i, e.add(i, e.number(lanes)),
                     [&](Value at) { consider(at); });
            });
          },
          lanes);
      e.loop(stop, count, [&](Value at) { consider(at); });
    });
    return places;
  }

private:
  Value lastBest() { return e.loadRaw(bests, type, e.sub(kept, e.number(1))); }

  void consider(Value i) {
    Value x = e.loadRaw(values, type, i);
    e.ifThen(isBetter(e, x, lastBest(), element, op.getLargest()),
             [&] { insert(i, kept); });
  }

  /// Puts element i among the first `size` of the best; what falls out behind
  /// is returned, with its position.
  SmallVector<Value> insert(Value i, Value size) {
    Value x = e.loadRaw(values, type, i);
    return e.loop(
        e.number(0), size, ValueRange{x, i, zeroBit(e)},
        [&](Value at, ValueRange carried) {
          Value best = e.loadRaw(bests, type, at);
          Value place = e.loadRaw(places, e.b.getI64Type(), at);
          Value moves =
              e.either(carried[2],
                       isBetter(e, carried[0], best, element, op.getLargest()));
          e.storeRaw(e.select(moves, carried[0], best), bests, at);
          e.storeRaw(e.select(moves, carried[1], place), places, at);
          return SmallVector<Value>{e.select(moves, best, carried[0]),
                                    e.select(moves, place, carried[1]), moves};
        });
  }

  Emitter &e;
  graph::TopkOp op;
  Type element, type;
  Value values, places, bests, count, kept;
};

void emitRows(Emitter &e, graph::TopkOp op) {
  size_t axis = op.getAxis();
  Indices dims = e.dimsOf(op.getValues()), others = dims;
  others[axis] = e.number(1);
  Value count = e.valueOf(graph::getDim(op.getInput(), axis));
  Type indexType = graph::getElementType(op.getIndices());
  std::optional<int64_t> wanted =
      graph::getDim(op.getValues(), axis).asConstant();
  bool isFew = wanted && *wanted <= FewBest::most;
  e.loop(e.begin, e.end, [&](Value row) {
    Indices index = e.delinearise(row, others);
    auto indexOf = [&](Value i) {
      Indices at = index;
      at[axis] = i;
      return at;
    };
    e.fault(e.less(count, dims[axis]), TENON_FAULT_COUNT, op);
    Value kept = e.min(dims[axis], count);
    TopkRow sorted(e, op, count, kept);
    Value order = isFew ? FewBest(e, op, count, kept).select(indexOf)
                        : sorted.sort(indexOf);
    e.loop(e.number(0), kept, [&](Value i) {
      Indices at = indexOf(i);
      Value position = e.loadRaw(order, e.b.getI64Type(), i);
      e.bind(op.getValues(), at, sorted.valueAt(position));
      e.bind(op.getIndices(), at,
             emitCast(e.b, position, e.b.getI64Type(), indexType));
      e.storeYields(at, e.linearise(at, dims));
    });
  });
}

} // namespace

bool emitTopk(Emitter &e, Operation *root) {
  auto op = dyn_cast<graph::TopkOp>(root);
  if (op)
    emitRows(e, op);
  return bool(op);
}

} // namespace tenon::cpu
