//===- ByteProduct.cpp - Products of 8-bit numbers on devices -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/ByteProduct.h"
#include "dialects/Kernel/DeviceTiles.h"
#include "dialects/Kernel/IntegerMatmulView.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

/// Whether numbers less their zero point are bytes, or are with one bit turned.
bool isCentered(const IntegerFactor &factor) {
  if (!factor.zero)
    return true;
  return !factor.isSigned() && graph::isConstantOf(factor.zero, byteMiddle);
}

} // namespace

bool liesByFours(const StridedView &rows) {
  if (!rows.strides.back().isConstant(1))
    return false;
  SmallVector<Expr> steps = {rows.offset};
  llvm::append_range(steps, ArrayRef(rows.strides).drop_back());
  return widestCopy(graph::getElementType(rows.base), steps) >= narrowestCopy;
}

std::optional<MatmulView> byteProductOf(graph::MatmulOp op) {
  std::optional<IntegerMatmulView> bytes = integerMatmulViewOf(op);
  if (!bytes || !bytes->isByKnownMatrix() || !isCentered(bytes->lhs) ||
      !bytes->rhs.isSigned() || bytes->rhs.zero ||
      !liesByFours(bytes->lhs.view) ||
      graph::getDims(bytes->rhs.view.base) != graph::getDims(op.getRhs()) ||
      !bytes->rhs.view.strides.back().isConstant(1))
    return std::nullopt;
  return MatmulView{bytes->lhs.view,
                    bytes->rhs.view,
                    {},
                    bytes->rows,
                    bytes->columns,
                    bytes->depth,
                    {},
                    {},
                    {},
                    {}};
}

bool countsFromMiddle(graph::MatmulOp op) {
  std::optional<IntegerMatmulView> bytes = integerMatmulViewOf(op);
  return bytes && bytes->lhs.zero;
}

} // namespace tenon::kernel
