//===- EmitScans.cpp - Running sums and sorting along an axis -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/Reduction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

void emitCumulative(Emitter &e, graph::CumulativeOp op) {
  Value result = op.getResult();
  Indices dims = e.dimsOf(result), others = dims;
  size_t axis = op.getAxis();
  others[axis] = e.number(1);
  Reduction reduction(op.getKind(), op.getInput());
  e.loop(e.begin, e.end, [&](Value row) {
    Indices index = e.delinearise(row, others);
    e.loop(e.number(0), dims[axis], reduction.start(e),
           [&](Value i, ValueRange carried) {
             Value last = e.sub(dims[axis], e.number(1));
             index[axis] = op.getReverse() ? e.sub(last, i) : i;
             Value next =
                 reduction.join(e, carried[0], e.element(op.getInput(), index));
             Value sum = op.getExclusive() ? carried[0] : next;
             e.bind(result, index, reduction.finish(e, sum, e.number(1), op));
             e.storeYields(index, e.linearise(index, dims));
             return SmallVector<Value>{next};
           });
  });
}

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

/// The order of the best of a row's values, equal ones by position: a merge
/// sort of positions. Where few are kept of many, it is one of twice as many at
/// a time: what is no better than the last that is kept so far is left out, a
/// vector of elements by one comparison.
class TopkRow {
public:
  TopkRow(Emitter &e, graph::TopkOp op, Value count, Value kept)
      : e(e), op(op), element(graph::getElementType(op.getInput())),
        type(computeType(element)), values(e.scratch(0)), places(e.scratch(1)),
        count(count), kept(kept), lanes(e.level.lanes(graph::byteWidth(type))) {
  }

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
  Value anyOf(Value condition, function_ref<Value()> otherwise) {
    return e.branch(
        condition, [&] { return constantLike(e.b, condition.getType(), 1); },
        otherwise);
  }

  /// The last that is kept, if there is one.
  Value worst() {
    Value last = e.max(e.sub(kept, e.number(1)), e.number(0));
    return valueAt(e.loadRaw(places, e.b.getI64Type(), last));
  }

  /// Adds to `size` positions those of a vector's elements that are better.
  Value take(Value i, Value size, Value areAll) {
    Value end = e.min(e.add(i, e.number(lanes)), count);
    return e.loop(i, end, ValueRange{size},
                  [&](Value at, ValueRange carried) -> SmallVector<Value> {
                    e.storeRaw(at, places, carried[0]);
                    Value isTaken = anyOf(areAll, [&] {
                      return isBetter(e, valueAt(at), worst(), element,
                                      op.getLargest());
                    });
                    return {e.add(carried[0],
                                  e.select(isTaken, e.number(1), e.number(0)))};
                  })[0];
  }

  /// Sorts `size` positions, and says how many of them are kept.
  Value keepBest(Value size) {
    Value left = e.min(size, kept);
    // Runs of 1, 2, 4, ... positions are in order already.
    Value passes = arith::SubIOp::create(
        e.b, e.number(64),
        LLVM::CountLeadingZerosOp::create(
            e.b, e.b.getI64Type(), e.max(e.sub(size, e.number(1)), e.number(0)),
            false));
    Value sorted = e.loop(e.number(0), passes, ValueRange{places, e.scratch(2)},
                          [&](Value pass, ValueRange buffers) {
                            Value width =
                                arith::ShLIOp::create(e.b, e.number(1), pass);
                            mergeAll(buffers[0], buffers[1], width, size);
                            return SmallVector<Value>{buffers[1], buffers[0]};
                          })[0];
    e.loop(e.number(0), left, [&](Value i) {
      e.storeRaw(e.loadRaw(sorted, e.b.getI64Type(), i), places, i);
    });
    return left;
  }

  void mergeAll(Value from, Value to, Value width, Value size) {
    Value both = e.mul(width, e.number(2));
    Value runs = e.ceilDiv(size, both);
    e.loop(e.number(0), runs, [&](Value run) {
      Value low = e.mul(run, both);
      Value middle = e.min(e.add(low, width), size);
      Value high = e.min(e.add(low, both), size);
      e.loop(low, high, ValueRange{low, middle},
             [&](Value out, ValueRange heads) {
               return merge(from, to, out, heads[0], heads[1], middle, high);
             });
    });
  }

  /// Moves the better of two heads; the left one when they are equal.
  SmallVector<Value> merge(Value from, Value to, Value out, Value left,
                           Value right, Value middle, Value high) {
    Value last = e.sub(high, e.number(1));
    auto load = [&](Value head) {
      return e.loadRaw(from, e.b.getI64Type(), e.min(head, last));
    };
    Value leftPosition = load(left), rightPosition = load(right);
    Value isBefore = isBetter(e, valueAt(rightPosition), valueAt(leftPosition),
                              element, op.getLargest());
    Value takeRight =
        e.both(e.less(right, high),
               e.either(e.less(e.sub(middle, e.number(1)), left), isBefore));
    e.storeRaw(e.select(takeRight, rightPosition, leftPosition), to, out);
    Value one = e.number(1), none = e.number(0);
    return {e.add(left, e.select(takeRight, none, one)),
            e.add(right, e.select(takeRight, one, none))};
  }

  Emitter &e;
  graph::TopkOp op;
  Type element, type;
  Value values, places, count, kept;
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

void emitTopk(Emitter &e, graph::TopkOp op) {
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

bool emitScans(Emitter &e, Operation *root) {
  if (auto op = dyn_cast<graph::CumulativeOp>(root))
    emitCumulative(e, op);
  else if (auto op = dyn_cast<graph::TopkOp>(root))
    emitTopk(e, op);
  else
    return false;
  return true;
}

} // namespace tenon::cpu
