//===- Product.cpp - What tiles are sums of products of -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/Product.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

/// What follows a product, as far as it is by elements.
class Followers {
public:
  explicit Followers(ArrayRef<Value> results)
      : dims(graph::getDims(results[0])) {
    for (Value result : results)
      behind.insert(result);
  }

  /// Whether all of it reads its operands line by line.
  bool readLines(Block &body) {
    for (Operation &op : body.without_terminator()) {
      if (!llvm::any_of(op.getOperands(),
                        [&](Value value) { return behind.contains(value); }))
        continue;
      bool isTail = isa<graph::ReshapeOp>(op);
      if (!isTail && (!graph::isPointwise(&op) ||
                      graph::getDims(op.getResult(0)) != dims ||
                      !llvm::all_of(op.getOperands(), [&](Value value) {
                        return isByLines(value);
                      })))
        return false;
      if (!isTail)
        behind.insert(op.getResult(0));
    }
    return llvm::all_of(
        body.getTerminator()->getOperands(), [&](Value yielded) {
          return graph::getDims(kernel::behindReshapes(yielded)) == dims;
        });
  }

private:
  bool isByLines(Value value) {
    if (behind.contains(value))
      return true;
    SmallVector<Expr> own = graph::getDims(value);
    if (own.size() > dims.size())
      return false;
    ArrayRef<Expr> lines = ArrayRef(own).drop_back(own.empty() ? 0 : 1);
    if (!graph::areOnes(lines) && lines != ArrayRef(dims).drop_back())
      return false;
    Operation *op = value.getDefiningOp();
    return !op || isa<graph::ConstantOp>(op) ||
           (graph::isPointwise(op) &&
            llvm::all_of(op->getOperands(),
                         [&](Value from) { return isByLines(from); }));
  }

  SmallVector<Expr> dims;
  llvm::DenseSet<Value> behind;
};

} // namespace

bool Product::countsLines(kernel::FuncOp kernel) const {
  return Followers(results).readLines(kernel.getBlock());
}

Indices Product::indexOf(DeviceEmitter &e, Value line, Value column) const {
  SmallVector<Expr> dims = graph::getDims(results[0]);
  size_t last = dims.size() - 1;
  Indices index(last, e.number(0));
  if (hasFlatLines) {
    size_t axis = last;
    while (axis > 0 && dims[axis - 1].isConstant(1))
      --axis;
    if (axis > 0)
      index[axis - 1] = line;
  } else {
    Indices sizes = e.dimsOf(results[0]);
    sizes.pop_back();
    index = e.delinearise(line, sizes);
  }
  index.push_back(column);
  // As operands that broadcast see it.
  for (auto [axis, dim] : llvm::enumerate(dims))
    if (dim.isConstant(1))
      index[axis] = e.number(0);
  return index;
}

} // namespace tenon::cuda
