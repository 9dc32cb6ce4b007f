//===- ScatterFold.cpp - Scatters by elements of their results ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread has an element of the result and takes what updates it, in their
// order: no two threads write to one place, and of updates of one element the
// last wins, whatever runs when.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cuda/MemoryTiles.h"
#include "dialects/Kernel/SerialTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

template <typename ScatterOp> class ScatterFold {
public:
  ScatterFold(DeviceEmitter &e, ScatterOp op)
      : e(e), op(op), element(graph::getElementType(op.getResult())),
        sizes(e.dimsOf(op.getInput())), updates(e.dimsOf(op.getUpdates())) {}

  void emit(Value ordinal) {
    Value count = e.number(1);
    for (Value size : sizes)
      count = e.atEntry([&] { return e.mul(count, size); });
    Value position = e.add(e.mul(ordinal, e.number(kernel::scatterThreads)),
                           e.threadNumber());
    e.ifThen(e.less(position, count), [&] {
      Indices index = e.delinearise(position, sizes);
      e.bind(op.getResult(), index, fold(index));
      e.storeYields(index, position);
    });
  }

private:
  Value fold(ArrayRef<Value> index);

  Value combined(Value old, ArrayRef<Value> from) {
    Value update = e.element(op.getUpdates(), from);
    switch (op.getKind()) {
    case graph::ScatterKind::Assign:
      return update;
    case graph::ScatterKind::Add:
      return cpu::roundTo(e.b, cpu::emitAdd(e.b, old, update), element);
    case graph::ScatterKind::Mul:
      return cpu::roundTo(e.b, cpu::emitMul(e.b, old, update), element);
    case graph::ScatterKind::Max:
      return cpu::emitMax(e.b, old, update, element);
    case graph::ScatterKind::Min:
      return cpu::emitMin(e.b, old, update, element);
    }
    llvm_unreachable("all kinds of scatter");
  }

  /// The updates [0, count) of an element, each of which `update` combines
  /// with what is there so far.
  Value overAll(Value count, ArrayRef<Value> index,
                function_ref<Value(Value, Value)> update) {
    Value old = e.element(op.getInput(), index);
    return e.loop(e.number(0), count, old, [&](Value i, ValueRange carried) {
      return SmallVector<Value>{update(i, carried[0])};
    })[0];
  }

  DeviceEmitter &e;
  ScatterOp op;
  Type element;
  Indices sizes, updates;
};

/// Along the axis, where the updates have the element's other indices.
template <>
Value ScatterFold<graph::ScatterElementsOp>::fold(ArrayRef<Value> index) {
  size_t axis = op.getAxis();
  Value count = updates[axis];
  for (size_t i = 0; i < index.size(); ++i)
    if (i != axis)
      count = e.select(e.less(index[i], updates[i]), count, e.number(0));
  return overAll(count, index, [&](Value i, Value sofar) {
    Indices from(index);
    from[axis] = i;
    Value to = e.checkedIndex(op.getIndices(), from, sizes[axis], op);
    return e.branch(
        e.equal(to, index[axis]), [&] { return combined(sofar, from); },
        [&] { return sofar; });
  });
}

/// All slices, of which those that the element lies in count.
template <> Value ScatterFold<graph::ScatterNdOp>::fold(ArrayRef<Value> index) {
  SmallVector<Expr> indexDims = graph::getDims(op.getIndices());
  size_t lead = indexDims.size() - 1;
  int64_t depth = *indexDims.back().asConstant();
  ArrayRef<Value> leadSizes = ArrayRef(updates).take_front(lead);
  Value count = e.number(1);
  for (Value size : leadSizes)
    count = e.mul(count, size);
  return overAll(count, index, [&](Value i, Value sofar) {
    Indices from = e.delinearise(i, leadSizes);
    Value holds = e.equal(i, i);
    for (int64_t k = 0; k < depth; ++k) {
      Indices at = from;
      at.push_back(e.number(k));
      Value to = e.checkedIndex(op.getIndices(), at, sizes[k], op);
      holds = e.both(holds, e.equal(to, index[k]));
    }
    llvm::append_range(from, index.drop_front(depth));
    return e.branch(
        holds, [&] { return combined(sofar, from); }, [&] { return sofar; });
  });
}

} // namespace

void emitScatterFold(DeviceEmitter &e, Value ordinal) {
  Operation *root = kernel::findRoot(e.kernel.getBlock());
  if (auto op = dyn_cast<graph::ScatterElementsOp>(root))
    ScatterFold(e, op).emit(ordinal);
  else
    ScatterFold(e, cast<graph::ScatterNdOp>(root)).emit(ordinal);
}

} // namespace tenon::cuda
