//===- BlockTopk.cpp - The best of rows -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Few of a long row: a block finds the best of those that come after the last
// one found, again and again. Many: each thread counts those that come before
// its element, and puts it there; the elements pass through shared memory.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Reduction.h"
#include "compiler/Targets/Cuda/MemoryTiles.h"
#include "compiler/Targets/Cuda/RowThreads.h"
#include "dialects/Kernel/SerialTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

using Values = SmallVector<Value>;

/// What both ways need of the op.
class TopkRow {
public:
  TopkRow(DeviceEmitter &e, graph::TopkOp op)
      : e(e), op(op), axis(op.getAxis()),
        element(graph::getElementType(op.getInput())),
        dims(e.dimsOf(op.getValues())),
        count(e.valueOf(graph::getDim(op.getInput(), axis))) {
    e.fault(e.less(count, dims[axis]), TENON_FAULT_COUNT, op);
    kept = e.min(dims[axis], count);
  }

  void locate(Value row) {
    Indices others = dims;
    others[axis] = e.number(1);
    lead = e.delinearise(row, others);
  }

  /// An element; of one that is not there another one.
  Value at(Value i) {
    Indices index = lead;
    index[axis] = e.min(i, e.sub(count, e.number(1)));
    return e.element(op.getInput(), index);
  }

  Value isBetter(Value x, Value y) {
    return cpu::isBetter(e, x, y, element, op.getLargest());
  }
  Value no(Value bit) {
    return arith::XOrIOp::create(e.b, bit, cpu::oneBit(e));
  }

  void store(Value place, Value value, Value i) {
    Indices index = lead;
    index[axis] = place;
    Type type = graph::getElementType(op.getIndices());
    e.bind(op.getValues(), index, value);
    e.bind(op.getIndices(), index,
           cpu::emitCast(e.b, i, e.b.getI64Type(), type));
    e.storeYields(index, e.linearise(index, dims));
  }

  DeviceEmitter &e;
  graph::TopkOp op;
  size_t axis;
  Type element;
  Indices dims, lead;
  Value count, kept;
};

//===----------------------------------------------------------------------===//
// Few of many
//===----------------------------------------------------------------------===//

/// Elements that a thread asks for at a time.
constexpr int64_t together = 4;

class FewBest : TopkRow {
public:
  FewBest(DeviceEmitter &e, graph::TopkOp op)
      : TopkRow(e, op), threads(e, e.threads) {}

  void emit(Value row) {
    locate(row);
    Value none = e.zero(cpu::computeType(element));
    e.loop(e.number(0), kept, ValueRange{none, e.number(-1)},
           [&](Value place, ValueRange last) {
             Values best = threads.join(
                 ownBest(place, last),
                 [&](ValueRange x, ValueRange y) { return better(x, y); });
             Value isFirst = e.equal(e.threadNumber(), e.number(0));
             e.ifThen(isFirst, [&] { store(place, best[0], best[1]); });
             e.barrier(); // Nobody reads what was joined any more.
             return best;
           });
  }

private:
  /// The best of this thread's elements that come after the last one found;
  /// where there is none its position is -1.
  Values ownBest(Value place, ValueRange last) {
    Value isFirst = e.equal(place, e.number(0));
    Value none = e.zero(cpu::computeType(element));
    return e.loop(
        e.threadNumber(), count, ValueRange{none, e.number(-1)},
        [&](Value first, ValueRange carried) {
          Values best(carried), elements;
          for (int64_t i = 0; i < together; ++i)
            elements.push_back(at(e.add(first, e.number(i * e.threads))));
          for (auto [i, x] : llvm::enumerate(elements)) {
            Value position = e.add(first, e.number(i * e.threads));
            Value isWorse = e.either(
                isBetter(last[0], x),
                e.both(no(isBetter(x, last[0])), e.less(last[1], position)));
            Value wins = e.both(e.less(position, count),
                                e.both(e.either(isFirst, isWorse),
                                       e.either(e.less(best[1], e.number(0)),
                                                isBetter(x, best[0]))));
            best = {e.select(wins, x, best[0]),
                    e.select(wins, position, best[1])};
          }
          return best;
        },
        together * e.threads);
  }

  Values better(ValueRange x, ValueRange y) {
    Value isNone = e.less(x[1], e.number(0));
    Value isBefore =
        e.either(isBetter(x[0], y[0]),
                 e.both(no(isBetter(y[0], x[0])), e.less(x[1], y[1])));
    Value wins = e.either(e.less(y[1], e.number(0)), isBefore);
    wins = e.both(no(isNone), wins);
    return {e.select(wins, x[0], y[0]), e.select(wins, x[1], y[1])};
  }

  RowThreads threads;
};

//===----------------------------------------------------------------------===//
// Any number
//===----------------------------------------------------------------------===//

class RankedRow : TopkRow {
public:
  RankedRow(DeviceEmitter &e, graph::TopkOp op)
      : TopkRow(e, op), type(cpu::computeType(element)) {}

  void emit(Value ordinal) {
    Value width = e.number(e.threads);
    Value parts = e.max(e.ceilDiv(count, width), e.number(1));
    locate(e.div(ordinal, parts));
    // A row without elements has a block, for what is asked of it.
    e.ifThen(e.less(e.number(0), count),
             [&] { rankFrom(e.mul(e.rem(ordinal, parts), width), width); });
  }

private:
  void rankFrom(Value first, Value width) {
    Value position = e.add(first, e.threadNumber());
    own = at(position);
    // Of equals, those before this one come first.
    Value rank = e.number(0);
    rank = countIn(e.number(0), first, rank, [&](Value other, Value) {
      return no(isBetter(own, other));
    });
    Value behind = e.min(e.add(first, width), count);
    rank = countIn(first, behind, rank, [&](Value other, Value i) {
      Value isEarlier = e.less(i, position);
      return e.either(isBetter(other, own),
                      e.both(isEarlier, no(isBetter(own, other))));
    });
    rank = countIn(behind, count, rank,
                   [&](Value other, Value) { return isBetter(other, own); });
    Value isKept = e.both(e.less(position, count), e.less(rank, kept));
    e.ifThen(isKept, [&] { store(rank, own, position); });
  }

  /// Of elements [from, to) those that come before this thread's.
  Value countIn(Value from, Value to, Value sofar,
                function_ref<Value(Value other, Value i)> comesBefore) {
    return e.loop(
        from, to, sofar,
        [&](Value chunk, ValueRange carried) {
          Value mine = at(e.add(chunk, e.threadNumber()));
          e.storeRaw(mine, e.sharedMemory(), e.threadNumber());
          e.barrier();
          Value limit = e.min(e.sub(to, chunk), e.number(e.threads));
          Value counted = e.loop(
              e.number(0), limit, carried, [&](Value i, ValueRange before) {
                Value other = e.loadRaw(e.sharedMemory(), type, i);
                Value one = e.select(comesBefore(other, e.add(chunk, i)),
                                     e.number(1), e.number(0));
                return Values{e.add(before[0], one)};
              })[0];
          e.barrier();
          return Values{counted};
        },
        e.threads)[0];
  }

  Type type;
  Value own;
};

graph::TopkOp topkOf(DeviceEmitter &e) {
  return cast<graph::TopkOp>(kernel::findRoot(e.kernel.getBlock()));
}

} // namespace

void emitBlockTopk(DeviceEmitter &e, Value row) {
  FewBest(e, topkOf(e)).emit(row);
}

void emitRankTopk(DeviceEmitter &e, Value ordinal) {
  RankedRow(e, topkOf(e)).emit(ordinal);
}

} // namespace tenon::cuda
