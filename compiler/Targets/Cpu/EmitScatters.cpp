//===- EmitScatters.cpp - Scatters and the search for non-zeros -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One row, in row-major order: later updates see earlier ones.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/WholeRoots.h"
#include "dialects/Kernel/Geometry.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cpu {

SmallVector<Value> yieldedBuffers(Emitter &e, Operation *root) {
  SmallVector<Value> bases;
  for (Value result : root->getResults()) {
    Value &base = bases.emplace_back();
    for (auto [i, yielded] : llvm::enumerate(e.kernel.getYielded()))
      if (!base && kernel::behindReshapes(yielded) == result)
        base = e.resultBuffer(i);
  }
  return bases;
}

void emitWhole(Emitter &e, Operation *root,
               function_ref<void(ArrayRef<Value>)> body) {
  SmallVector<Value> bases = yieldedBuffers(e, root);
  for (auto [i, base] : llvm::enumerate(bases))
    if (!base)
      base = e.scratch(i);
  // There is one row, and a launch without rows does nothing.
  e.loop(e.begin, e.end, [&](Value) {
    body(bases);
    for (auto [i, result] : llvm::enumerate(root->getResults()))
      e.place(result, bases[i]);
    for (auto [y, yielded] : llvm::enumerate(e.kernel.getYielded())) {
      if (llvm::is_contained(bases, e.resultBuffer(y)))
        continue;
      Indices dims = e.dimsOf(yielded);
      e.loops(dims, [&](ArrayRef<Value> index) {
        e.store(e.element(yielded, index), e.resultBuffer(y),
                graph::getElementType(yielded), e.linearise(index, dims));
      });
    }
  });
}

namespace {

Value combine(Emitter &e, graph::ScatterKind kind, Value old, Value update,
              Type element) {
  switch (kind) {
  case graph::ScatterKind::Assign:
    return update;
  case graph::ScatterKind::Add:
    return roundTo(e.b, emitAdd(e.b, old, update), element);
  case graph::ScatterKind::Mul:
    return roundTo(e.b, emitMul(e.b, old, update), element);
  case graph::ScatterKind::Max:
    return emitMax(e.b, old, update, element);
  case graph::ScatterKind::Min:
    return emitMin(e.b, old, update, element);
  }
  llvm_unreachable("all kinds of scatter");
}

/// Unless it lies there already.
void copyInput(Emitter &e, Value input, Value base) {
  if (auto argument = dyn_cast<BlockArgument>(input);
      argument && e.argumentBuffer(argument.getArgNumber()) == base)
    return;
  Indices dims = e.dimsOf(input);
  e.loops(dims, [&](ArrayRef<Value> index) {
    e.store(e.element(input, index), base, graph::getElementType(input),
            e.linearise(index, dims));
  });
}

/// Combines one element of the result with one of the updates, unless the
/// result has no element.
template <typename ScatterOp>
void update(Emitter &e, ScatterOp op, Value base, ArrayRef<Value> to,
            ArrayRef<Value> from) {
  Indices dims = e.dimsOf(op.getResult());
  Type element = graph::getElementType(op.getResult());
  Value some = constantLike(e.b, e.b.getI1Type(), -1);
  for (Value dim : dims)
    some = e.both(some, e.less(e.number(0), dim));
  e.ifThen(some, [&] {
    Value position = e.linearise(to, dims);
    Value value = e.element(op.getUpdates(), from);
    if (op.getKind() != graph::ScatterKind::Assign)
      value = combine(e, op.getKind(), e.load(base, element, position), value,
                      element);
    e.store(value, base, element, position);
  });
}

void emitScatterElements(Emitter &e, graph::ScatterElementsOp op, Value base) {
  copyInput(e, op.getInput(), base);
  size_t axis = op.getAxis();
  Value size = e.dimsOf(op.getInput())[axis];
  e.loops(e.dimsOf(op.getUpdates()), [&](ArrayRef<Value> from) {
    Indices to(from);
    to[axis] = e.checkedIndex(op.getIndices(), from, size, op);
    update(e, op, base, to, from);
  });
}

void emitScatterNd(Emitter &e, graph::ScatterNdOp op, Value base) {
  copyInput(e, op.getInput(), base);
  SmallVector<Expr> indexDims = graph::getDims(op.getIndices());
  Indices sizes = e.dimsOf(op.getInput());
  size_t lead = indexDims.size() - 1;
  int64_t depth = *indexDims.back().asConstant();
  Indices updateDims = e.dimsOf(op.getUpdates());
  e.loops(ArrayRef(updateDims).take_front(lead), [&](ArrayRef<Value> at) {
    Indices slice;
    for (int64_t k = 0; k < depth; ++k) {
      Indices index(at);
      index.push_back(e.number(k));
      slice.push_back(e.checkedIndex(op.getIndices(), index, sizes[k], op));
    }
    Indices outer(at);
    e.loops(ArrayRef(updateDims).drop_front(lead), [&](ArrayRef<Value> rest) {
      Indices to = slice, from = outer;
      llvm::append_range(to, rest);
      llvm::append_range(from, rest);
      update(e, op, base, to, from);
    });
  });
}

/// The loops over all elements, carrying how many were not 0 so far.
class NonzeroSearch {
public:
  NonzeroSearch(Emitter &e, graph::NonzeroOp op, Value base)
      : e(e), op(op), base(base), dims(e.dimsOf(op.getInput())),
        room(e.dimsOf(op.getResult()).back()) {}

  void emit() {
    Value found = search({}, e.number(0));
    e.fault(e.either(e.less(found, room), e.less(room, found)),
            TENON_FAULT_COUNT, op);
  }

private:
  Value search(Indices index, Value found) {
    if (index.size() < dims.size())
      return e.loop(e.number(0), dims[index.size()], found,
                    [&](Value i, ValueRange carried) {
                      Indices inner = index;
                      inner.push_back(i);
                      return SmallVector<Value>{search(inner, carried[0])};
                    })[0];
    Type element = graph::getElementType(op.getInput());
    Value holds = emitCast(e.b, e.element(op.getInput(), index), element,
                           e.b.getI1Type());
    e.ifThen(e.both(holds, e.less(found, room)), [&] {
      Type type = graph::getElementType(op.getResult());
      for (auto [axis, i] : llvm::enumerate(index))
        e.store(emitCast(e.b, i, e.b.getI64Type(), type), base, type,
                e.add(e.mul(e.number(axis), room), found));
    });
    return e.add(found, e.select(holds, e.number(1), e.number(0)));
  }

  Emitter &e;
  graph::NonzeroOp op;
  Value base;
  Indices dims;
  Value room;
};

} // namespace

bool emitScatters(Emitter &e, Operation *root) {
  if (!isa<graph::ScatterElementsOp, graph::ScatterNdOp, graph::NonzeroOp>(
          root))
    return false;
  emitWhole(e, root, [&](ArrayRef<Value> bases) {
    if (auto op = dyn_cast<graph::ScatterElementsOp>(root))
      emitScatterElements(e, op, bases[0]);
    else if (auto op = dyn_cast<graph::ScatterNdOp>(root))
      emitScatterNd(e, op, bases[0]);
    else
      NonzeroSearch(e, cast<graph::NonzeroOp>(root), bases[0]).emit();
  });
  return true;
}

} // namespace tenon::cpu
