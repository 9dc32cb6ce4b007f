//===- MatmulView.cpp - Matrix products as their operands lie -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/MatmulView.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

/// Whether the axes of lhs but the last lie one behind the other, as one.
bool rowsFold(ArrayRef<Expr> dims, ArrayRef<Expr> strides) {
  for (size_t i = 0; i + 2 < dims.size(); ++i) {
    Expr inside = strides[i + 1] * dims[i + 1];
    if (!dims[i].isConstant(1) && strides[i] != inside)
      return false;
  }
  return true;
}

} // namespace

bool MatmulView::rowsLiePagesApart() const {
  std::optional<int64_t> stride = lhsRowStride().asConstant();
  std::optional<int64_t> steps = depth.asConstant();
  return stride && *stride != 0 && *stride % 1024 == 0 && steps &&
         *steps >= 512;
}

bool MatmulView::mayCopyLhs() const {
  return !lhsDepthStride().isConstant(1) || rowsLiePagesApart();
}

std::optional<MatmulView> matmulViewOf(graph::MatmulOp op) {
  std::optional<StridedView> lhs = stridedViewOf(op.getLhs());
  std::optional<StridedView> rhs = stridedViewOf(op.getRhs());
  if (!lhs || !rhs || !isa<BlockArgument>(lhs->base) ||
      !isa<BlockArgument>(rhs->base))
    return std::nullopt;
  SmallVector<Expr> result = graph::getDims(op.getResult());
  SmallVector<Expr> dims = graph::getDims(op.getLhs());
  MatmulView view{*lhs,          *rhs,       {}, result[result.size() - 2],
                  result.back(), dims.back()};
  if (view.rhs.strides.size() == 2 && rowsFold(dims, view.lhs.strides))
    view.rows = graph::product(op.getContext(), ArrayRef(result).drop_back());
  else
    llvm::append_range(view.batchDims, ArrayRef(result).drop_back(2));
  if (!view.rows)
    return std::nullopt;
  return view;
}

} // namespace tenon::kernel
