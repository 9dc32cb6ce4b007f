//===- SinkWindows.cpp - Multiply first what windows share ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Overlapping windows hold the same rows or columns many times. A product of
// all of them is computed from each once, and its windows are taken behind it.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_SINKWINDOWSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {
using graph::Expr;

/// transpose(windows(x)), or windows(x).
struct Tail {
  graph::WindowsOp windows;
  SmallVector<int64_t> order;
};

std::optional<Tail> tailOf(Value value) {
  Tail tail;
  if (auto transpose = value.getDefiningOp<graph::TransposeOp>()) {
    llvm::append_range(tail.order, transpose.getPermutation());
    value = transpose.getInput();
  } else {
    llvm::append_range(tail.order,
                       llvm::seq<int64_t>(0, graph::getRank(value)));
  }
  tail.windows = value.getDefiningOp<graph::WindowsOp>();
  return tail.windows ? std::optional(tail) : std::nullopt;
}

bool overlap(graph::WindowsOp op) {
  int64_t axis = op.getAxis();
  Expr copies = graph::getDim(op, axis) * graph::getDim(op, axis + 1);
  Expr more = copies ? copies - graph::getDim(op.getInput(), axis) : Expr();
  return more && more.isPositive();
}

/// Why each window is multiplied by itself.
std::optional<StringRef> refusalOfProduct(graph::MatmulOp op, const Tail &tail,
                                          bool isLhs) {
  graph::WindowsOp windows = tail.windows;
  int64_t rank = graph::getRank(windows.getInput());
  int64_t axis = windows.getAxis(), last = tail.order.size() - 1;
  if (graph::getRank(isLhs ? op.getRhs() : op.getLhs()) != 2 || rank < 2)
    return "the other operand has batches";
  if (!overlap(windows))
    return "they do not overlap";
  // Axes of the windows' result: the one that is summed over must be the same
  // axis before them, and the other one of the matrix no batch.
  bool fits = isLhs ? axis != rank - 1 && tail.order[last] == last
                    : axis == rank - 1 && tail.order[last] == last &&
                          tail.order[last - 1] == rank - 2;
  if (!fits)
    return "they are not along its rows or columns";
  return std::nullopt;
}

/// matmul(a, transpose(windows(x))) -> transpose(windows(matmul(a, x)))
///
/// Columns that several windows share are multiplied once.
void sinkWindows(graph::MatmulOp op, const Tail &tail, bool isLhs) {
  OpBuilder builder(op);
  graph::WindowsOp windows = tail.windows;
  Value input = windows.getInput();
  Type element = graph::getElementType(op.getResult());
  SmallVector<Expr> product = graph::getDims(input),
                    result = graph::getDims(windows);
  // Of the axis that is summed over, the size of the product's other one.
  size_t fromEnd = isLhs ? 1 : 2;
  product[product.size() - fromEnd] =
      isLhs ? graph::getDim(op.getRhs(), 1) : graph::getDim(op.getLhs(), 0);
  size_t summed = isLhs ? result.size() - 1 : product.size() - 2;
  result[summed] = product[product.size() - fromEnd];
  Value lhs = isLhs ? input : op.getLhs(), rhs = isLhs ? op.getRhs() : input;
  Value value = graph::MatmulOp::create(
      builder, op.getLoc(), graph::tensorOf(product, element), lhs, rhs);
  value = graph::WindowsOp::create(
      builder, windows.getLoc(), graph::tensorOf(result, element), value,
      windows.getAxisAttr(), windows.getStrideAttr(), windows.getStepAttr());
  if (!llvm::is_sorted(tail.order))
    value = graph::TransposeOp::create(
        builder, windows.getLoc(), op.getResult().getType(), value, tail.order);
  op.getResult().replaceAllUsesWith(value);
  eraseUnused(op);
}

struct SinkWindows : impl::SinkWindowsPassBase<SinkWindows> {
  using SinkWindowsPassBase::SinkWindowsPassBase;

  void runOnOperation() override {
    SmallVector<graph::MatmulOp> all;
    getOperation().walk([&](graph::MatmulOp op) { all.push_back(op); });
    for (graph::MatmulOp op : all)
      run(op);
  }

private:
  void run(graph::MatmulOp op) {
    for (bool isLhs : {false, true}) {
      std::optional<Tail> tail = tailOf(isLhs ? op.getLhs() : op.getRhs());
      if (!tail)
        continue;
      std::optional<StringRef> why = refusalOfProduct(op, *tail, isLhs);
      if (!why)
        return sinkWindows(op, *tail, isLhs);
      if (explain)
        op.emitRemark("multiplies windows one by one: ") << *why;
    }
  }
};

} // namespace
} // namespace tenon
