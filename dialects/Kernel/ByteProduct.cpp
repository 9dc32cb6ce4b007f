//===- ByteProduct.cpp - Products of 8-bit numbers on devices -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/ByteProduct.h"
#include "dialects/Kernel/DeviceTiles.h"
#include "dialects/Kernel/IntegerMatmulView.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

/// What a ui8 has to be counted from to fit an i8.
constexpr int64_t middle = 128;
/// Bytes of the narrowest copies to shared memory.
constexpr int64_t fewestBytes = 4;

bool isConstant(Value value, int64_t wanted) {
  auto constant = value.getDefiningOp<graph::ConstantOp>();
  auto numbers = constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue())
                          : DenseIntElementsAttr();
  return numbers && numbers.isSplat() &&
         numbers.getSplatValue<APInt>() == uint64_t(wanted);
}

/// Whether numbers less their zero point are i8, or are with one bit turned.
bool isCentered(const IntegerFactor &factor) {
  if (factor.isSigned())
    return !factor.zero;
  return factor.zero && isConstant(factor.zero, middle);
}

} // namespace

std::optional<MatmulView> byteProductOf(graph::MatmulOp op) {
  std::optional<IntegerMatmulView> bytes = integerMatmulViewOf(op);
  if (!bytes || !bytes->isByKnownMatrix() || !isCentered(bytes->lhs) ||
      !bytes->rhs.isSigned() || bytes->rhs.zero ||
      !bytes->lhs.view.strides.back().isConstant(1) ||
      graph::getDims(bytes->rhs.view.base) != graph::getDims(op.getRhs()) ||
      !bytes->rhs.view.strides.back().isConstant(1))
    return std::nullopt;
  MatmulView view{bytes->lhs.view,
                  bytes->rhs.view,
                  {},
                  bytes->rows,
                  bytes->columns,
                  bytes->depth,
                  {},
                  {},
                  {},
                  {}};
  if (copyBytes(view, view.lhs, /*axis=*/1) < fewestBytes)
    return std::nullopt;
  return view;
}

} // namespace tenon::kernel
