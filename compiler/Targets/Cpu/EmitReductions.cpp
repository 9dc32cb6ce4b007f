//===- EmitReductions.cpp - Reductions along axes -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums, means and products are carried in f64 or 64-bit integers.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Reduction.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using graph::ReduceKind;

class ReduceRow {
public:
  ReduceRow(Emitter &e, graph::ReduceOp op, ArrayRef<Value> lead)
      : e(e), op(op), reduction(op.getKind(), op.getInput()),
        inputDims(e.dimsOf(op.getInput())), lead(lead),
        axes(op.getAxes().begin(), op.getAxes().end()) {
    llvm::sort(axes);
    axes.erase(llvm::unique(axes), axes.end());
  }

  void emit(Value row, Value length) {
    int64_t last = static_cast<int64_t>(inputDims.size()) - 1;
    if (last < 0 || llvm::is_contained(axes, last)) {
      Indices index(inputDims.size(), e.number(0));
      llvm::copy(lead, index.begin());
      Value sum = e.joinThreads(
          carry(0, index, reduction.start(e)),
          [&](Value x, Value y) { return reduction.joinSums(e, x, y); });
      return e.storeRow(op, lead, row, length,
                        [&](Value) { return finish(sum); });
    }
    Value sums = e.scratch(0);
    e.loop(e.number(0), length,
           [&](Value i) { e.storeRaw(reduction.start(e), sums, i); });
    SmallVector<Value> sizes;
    for (int64_t axis : axes)
      sizes.push_back(inputDims[axis]);
    e.loops(sizes, [&](ArrayRef<Value> reduced) {
      e.loop(e.number(0), length, [&](Value i) {
        Indices index(lead);
        index.push_back(i);
        for (auto [axis, at] : llvm::zip(axes, reduced))
          index[axis] = at;
        Value sum = e.loadRaw(sums, reduction.type(e), i);
        e.storeRaw(reduction.join(e, sum, e.element(op.getInput(), index)),
                   sums, i);
      });
    });
    e.storeRow(op, lead, row, length, [&](Value i) {
      return finish(e.loadRaw(sums, reduction.type(e), i));
    });
  }

private:
  /// The reduction over axes[from..], starting with `sum`.
  Value carry(size_t from, Indices index, Value sum) {
    if (from == axes.size())
      return reduction.join(e, sum, e.element(op.getInput(), index));
    bool isLast = from + 1 == axes.size();
    return e.loop(
        isLast ? e.firstColumn() : e.number(0), inputDims[axes[from]], sum,
        [&](Value i, ValueRange sums) {
          Indices inner = index;
          inner[axes[from]] = i;
          return SmallVector<Value>{carry(from + 1, inner, sums[0])};
        },
        isLast ? e.columnStep() : 1)[0];
  }

  Value finish(Value sum) {
    Value count = e.number(1);
    for (int64_t axis : axes)
      count = e.mul(count, inputDims[axis]);
    return reduction.finish(e, sum, count, op);
  }

  Emitter &e;
  graph::ReduceOp op;
  Reduction reduction;
  Indices inputDims;
  ArrayRef<Value> lead;
  SmallVector<int64_t> axes;
};

void emitReduce(Emitter &e, graph::ReduceOp op) {
  Indices dims = e.dimsOf(op.getResult());
  e.loop(e.begin, e.end, [&](Value row) {
    Indices lead = dims.empty()
                       ? Indices()
                       : e.delinearise(row, ArrayRef(dims).drop_back());
    ReduceRow(e, op, lead).emit(row, dims.empty() ? e.number(1) : dims.back());
  });
}

/// Elements of a row advance together along the reduced axis.
void emitArgReduce(Emitter &e, graph::ArgReduceOp op) {
  Indices dims = e.dimsOf(op.getResult());
  size_t axis = op.getAxis();
  Type element = graph::getElementType(op.getInput());
  Type compute = computeType(element);
  bool largest = op.getKind() == graph::ReduceKind::Max;
  Value count = e.valueOf(graph::getDim(op.getInput(), axis));
  Value best = e.scratch(0), places = e.scratch(1);
  e.loop(e.begin, e.end, [&](Value row) {
    Indices lead = e.delinearise(row, ArrayRef(dims).drop_back());
    e.fault(e.less(count, e.number(1)), TENON_FAULT_COUNT, op);
    auto visit = [&](Value at, bool isFirst) {
      e.loop(e.number(0), dims.back(), [&](Value i) {
        Indices index(lead);
        index.push_back(i);
        index[axis] = at;
        Value value = e.element(op.getInput(), index), place = at;
        if (!isFirst) {
          Value old = e.loadRaw(best, compute, i);
          Value better =
              op.getLast() ? e.select(isBetter(e, old, value, element, largest),
                                      zeroBit(e), oneBit(e))
                           : isBetter(e, value, old, element, largest);
          value = e.select(better, value, old);
          place = e.select(better, at, e.loadRaw(places, e.b.getI64Type(), i));
        }
        e.storeRaw(value, best, i);
        e.storeRaw(place, places, i);
      });
    };
    e.ifThen(e.less(e.number(0), count),
             [&] { visit(e.number(0), /*isFirst=*/true); });
    e.loop(e.number(1), count, [&](Value at) { visit(at, /*isFirst=*/false); });
    e.storeRow(op, lead, row, dims.back(),
               [&](Value i) { return e.loadRaw(places, e.b.getI64Type(), i); });
  });
}

} // namespace

bool emitReductions(Emitter &e, Operation *root) {
  if (auto op = dyn_cast<graph::ReduceOp>(root))
    emitReduce(e, op);
  else if (auto op = dyn_cast<graph::ArgReduceOp>(root))
    emitArgReduce(e, op);
  else
    return false;
  return true;
}

} // namespace tenon::cpu
