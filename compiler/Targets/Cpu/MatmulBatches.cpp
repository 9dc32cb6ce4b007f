//===- MatmulBatches.cpp - Products of many pairs of matrices -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/MatmulBatches.h"

using namespace mlir;

namespace tenon::cpu {

void forEachBatch(Emitter &e, Value rowsOfBatch,
                  function_ref<void(Value batch, Value from, Value to)> body) {
  Value units = e.max(rowsOfBatch, e.number(1));
  e.loop(e.div(e.begin, units), e.ceilDiv(e.end, units), [&](Value batch) {
    Value first = e.mul(batch, units);
    body(batch, e.sub(e.max(e.begin, first), first),
         e.min(e.sub(e.end, first), rowsOfBatch));
  });
}

Value batchOffset(Emitter &e, const kernel::StridedView &view, Value tensor,
                  ArrayRef<Expr> batchDims, Value batch, int64_t elements) {
  auto valueOf = [&](Expr expr) {
    return e.div(e.valueOf(expr), e.number(elements));
  };
  Value offset = valueOf(view.offset);
  SmallVector<Expr> dims = graph::getDims(tensor);
  size_t own = dims.size() - 2;
  if (batchDims.empty() || own == 0)
    return offset;
  Indices sizes;
  for (Expr dim : batchDims)
    sizes.push_back(e.valueOf(dim));
  Indices index = e.delinearise(batch, sizes);
  size_t skip = sizes.size() - own;
  for (size_t i = 0; i < own; ++i) {
    Value at = e.broadcastAxis(index[skip + i], batchDims[skip + i], dims[i]);
    offset = e.add(offset, e.mul(at, valueOf(view.strides[i])));
  }
  return offset;
}

/// Bytes of the matrix of a batch of f32 whose rows follow each other; nullopt
/// for others, and where all batches have one.
static std::optional<int64_t> denseBytes(const kernel::StridedView &view,
                                         Value tensor) {
  constexpr int64_t most = 128 << 10;
  SmallVector<Expr> dims = graph::getDims(tensor);
  size_t rank = dims.size();
  std::optional<int64_t> rows = dims[rank - 2].asConstant(),
                         columns = dims[rank - 1].asConstant();
  if (rank < 3 || dims[rank - 3].isConstant(1) || !view.element().isF32() ||
      !rows || !columns || !view.strides[rank - 1].isConstant(1) ||
      !view.strides[rank - 2].isConstant(*columns))
    return std::nullopt;
  int64_t bytes = *rows * *columns * 4;
  return bytes > 0 && bytes <= most ? std::optional(bytes) : std::nullopt;
}

std::optional<NextBatch> NextBatch::of(graph::MatmulOp op,
                                       const kernel::MatmulView &view) {
  std::optional<int64_t> lhsBytes = denseBytes(view.lhs, op.getLhs()),
                         rhsBytes = denseBytes(view.rhs, op.getRhs());
  if (!lhsBytes || !rhsBytes || view.batchDims.empty() || view.halves ||
      view.skipped)
    return std::nullopt;
  NextBatch next;
  next.lhsBytes = *lhsBytes;
  next.rhsBytes = *rhsBytes;
  next.depth = *view.depth.asConstant();
  next.panels =
      llvm::divideCeil(*view.columns.asConstant(), kernel::panelColumns);
  next.rhsPanels =
      std::max<int64_t>(next.panels * *rhsBytes / (*lhsBytes + *rhsBytes), 1);
  return next;
}

void NextBatch::start(Value lhs, Value rhs) {
  this->lhs = lhs;
  this->rhs = rhs;
}

void NextBatch::share(Emitter &e, Strip &work, Value panel) const {
  int64_t lhsPanels = std::max<int64_t>(panels - rhsPanels, 1);
  Value isRhs = e.less(panel, e.number(rhsPanels));
  Value bytes = e.select(isRhs, e.number(llvm::divideCeil(rhsBytes, rhsPanels)),
                         e.number(llvm::divideCeil(lhsBytes, lhsPanels)));
  Value number = e.select(isRhs, panel, e.sub(panel, e.number(rhsPanels)));
  work.next = e.address(e.select(isRhs, rhs, lhs), e.b.getI8Type(),
                        e.mul(number, bytes));
  work.nextBytes = e.ceilDiv(bytes, e.number(depth));
}

} // namespace tenon::cpu
