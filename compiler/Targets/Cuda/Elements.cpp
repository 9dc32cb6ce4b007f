//===- Elements.cpp - One element of a kernel by one thread ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where no element of a kernel needs another one, neighbouring threads compute
// neighbouring elements, so that their loads and stores meet in memory. Sums
// stay in registers.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/PointwiseTiles.h"
#include "compiler/Targets/Cpu/Reduction.h"
#include "compiler/Targets/Cuda/ElementRoots.h"
#include "dialects/Kernel/MatmulView.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

using cpu::Emitter;
using cpu::Reduction;

void storeRoot(Emitter &e, Operation *root, ArrayRef<Value> index, Value value,
               Value position) {
  Value result = root->getResult(0);
  e.bind(result, index,
         cpu::roundTo(e.b, value, graph::getElementType(result)));
  e.storeYields(index, position);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

class Product {
public:
  Product(Emitter &e, graph::MatmulOp op) : e(e), op(op) {
    SmallVector<Expr> dims = graph::getDims(op.getResult());
    batchDims.assign(dims.begin(), dims.end() - 2);
  }

  /// The sums of a row, in the order of k, in some columns.
  SmallVector<Value> sums(ArrayRef<Value> lead, ArrayRef<Value> columns) {
    Type type = cpu::computeType(graph::getElementType(op.getResult()));
    SmallVector<Value> zeros(columns.size(), e.zero(type));
    return e.loop(e.number(0), e.dimsOf(op.getLhs()).back(), zeros,
                  [&](Value k, ValueRange carried) {
                    Value x =
                        operand(op.getLhs(), lead.drop_back(), lead.back(), k);
                    SmallVector<Value> next;
                    for (auto [column, sum] : llvm::zip(columns, carried)) {
                      Value y =
                          operand(op.getRhs(), lead.drop_back(), k, column);
                      next.push_back(cpu::emitMulAdd(e.b, x, y, sum));
                    }
                    return next;
                  });
  }

private:
  /// The batch axes broadcast like those of pointwise ops.
  Value operand(Value tensor, ArrayRef<Value> batch, Value row, Value column) {
    SmallVector<Expr> dims = graph::getDims(tensor);
    size_t own = dims.size() - 2, skip = batchDims.size() - own;
    Indices index;
    for (size_t i = 0; i < own; ++i)
      index.push_back(
          e.broadcastAxis(batch[skip + i], batchDims[skip + i], dims[i]));
    index.append({row, column});
    return e.element(tensor, index);
  }

  Emitter &e;
  graph::MatmulOp op;
  SmallVector<Expr> batchDims;
};

void emitMatmul(Emitter &e, graph::MatmulOp op, ArrayRef<Value> index,
                Value position) {
  Product product(e, op);
  std::optional<kernel::ColumnHalves> halves = kernel::columnHalvesOf(op);
  if (!halves) {
    Value sum = product.sums(index.drop_back(), index.back())[0];
    return storeRoot(e, op, index, sum, position);
  }
  Value width = e.dimsOf(halves->low.getResult()).back();
  SmallVector<Value> sums = product.sums(
      index.drop_back(), {index.back(), e.add(width, index.back())});
  Type type = graph::getElementType(op.getResult());
  e.bind(halves->low.getResult(), index, cpu::roundTo(e.b, sums[0], type));
  e.bind(halves->high.getResult(), index, cpu::roundTo(e.b, sums[1], type));
  e.storeYields(index, position);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The reduction over axes[from..], starting with `sum`.
Value reduceAxes(Emitter &e, graph::ReduceOp op, const Reduction &reduction,
                 ArrayRef<int64_t> axes, Indices index, Value sum) {
  if (axes.empty())
    return reduction.join(e, sum, e.element(op.getInput(), index));
  return e.loop(e.number(0), e.dimsOf(op.getInput())[axes[0]], sum,
                [&](Value i, ValueRange sums) {
                  Indices inner = index;
                  inner[axes[0]] = i;
                  return SmallVector<Value>{reduceAxes(
                      e, op, reduction, axes.drop_front(), inner, sums[0])};
                })[0];
}

Value reduced(Emitter &e, graph::ReduceOp op, ArrayRef<Value> index) {
  Reduction reduction(op.getKind(), op.getInput());
  SmallVector<int64_t> axes(op.getAxes());
  llvm::sort(axes);
  axes.erase(llvm::unique(axes), axes.end());
  Indices dims = e.dimsOf(op.getInput());
  Indices at(index);
  at.resize(dims.size(), e.number(0));
  Value sum = reduceAxes(e, op, reduction, axes, at, reduction.start(e));
  Value count = e.number(1);
  for (int64_t axis : axes)
    count = e.mul(count, dims[axis]);
  return reduction.finish(e, sum, count, op);
}

Value bestPlace(Emitter &e, graph::ArgReduceOp op, ArrayRef<Value> index) {
  size_t axis = op.getAxis();
  Type element = graph::getElementType(op.getInput());
  bool largest = op.getKind() == graph::ReduceKind::Max;
  Value count = e.dimsOf(op.getInput())[axis];
  Value isEmpty = e.less(count, e.number(1));
  e.fault(isEmpty, TENON_FAULT_COUNT, op);
  auto elementAt = [&](Value i) {
    Indices at(index);
    at[axis] = i;
    return e.element(op.getInput(), at);
  };
  Value none = e.zero(cpu::computeType(element));
  Value first = e.branch(
      isEmpty, [&] { return none; }, [&] { return elementAt(e.number(0)); });
  return e.loop(
      e.number(1), count, ValueRange{first, e.number(0)},
      [&](Value i, ValueRange carried) {
        Value x = elementAt(i), best = carried[0];
        Value stays = op.getLast() ? isBetter(e, best, x, element, largest)
                                   : isBetter(e, x, best, element, largest);
        auto choose = [&](Value fresh, Value old) {
          return op.getLast() ? e.select(stays, old, fresh)
                              : e.select(stays, fresh, old);
        };
        return SmallVector<Value>{choose(x, best), choose(i, carried[1])};
      })[1];
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// The root's element at an index, still to be rounded; null for a root that
/// has no such emission.
Value rootElement(Emitter &e, Operation *root, ArrayRef<Value> index) {
  if (auto op = dyn_cast<graph::ReduceOp>(root))
    return reduced(e, op, index);
  if (auto op = dyn_cast<graph::ArgReduceOp>(root))
    return bestPlace(e, op, index);
  if (auto op = dyn_cast<graph::ResizeOp>(root))
    return resized(e, op, index);
  return windowElement(e, root, index);
}

} // namespace

LogicalResult emitElement(Emitter &e, Value position) {
  Operation *root = kernel::findRoot(e.kernel.getBlock());
  if (!root) {
    cpu::PointwiseSpace space = cpu::pointwiseSpace(e);
    Indices counts = e.delinearise(position, sizesOf(space.runs));
    e.storeYields(space.index(e, counts), position);
    return success();
  }
  Indices index = e.delinearise(position, e.dimsOf(kernel::loopedOver(root)));
  if (auto matmul = dyn_cast<graph::MatmulOp>(root)) {
    emitMatmul(e, matmul, index, position);
    return success();
  }
  Value value = rootElement(e, root, index);
  if (!value)
    return root->emitOpError("has no emission by elements; please report this");
  storeRoot(e, root, index, value, position);
  return success();
}

} // namespace tenon::cuda
