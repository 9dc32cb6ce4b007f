//===- LhsSlices.cpp - The left side of a product, slice by slice ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/LhsSlices.h"
#include "compiler/Targets/Cpu/F16Operands.h"
#include "dialects/Kernel/Packing.h"

using namespace mlir;

namespace tenon::cpu {

LhsSlices::LhsSlices(Emitter &e, const kernel::MatmulView &view, RhsPanels &rhs,
                     ListedRows *listed)
    : e(e), view(view), rhs(rhs), listed(listed), kind(rhs.kind()) {
  bool converts =
      rhs.multipliesF16() || (view.hasHalfLhs() && !rhs.multipliesPairs());
  canInterleave = canInterleaveLhs(e.level, kind) && rhs.takesInterleaved() &&
                  !converts && !listed;
  rowPadding = converts ? kernel::widenedRowPadding : 0;
  isCopied = listed || converts || !view.lhsDepthStride().isConstant(1);
  mayBeCopied = !isCopied && view.rowsLiePagesApart() && canInterleave &&
                e.level.cacheWays <= kernel::interleavedRows;
}

Value LhsSlices::stepsAtOnce(Value rows, Value depth) {
  Value block = e.number(rhs.blockDepth());
  if (!isCopied)
    return rhs.stepsAtOnce(rows);
  if (rowPadding == 0)
    return block;
  // Of a few rows that are widened, scratch memory may hold all.
  Value fits =
      e.less(e.mul(rows, strideOfCopy(depth)), e.number(bytesOfCopy() / 4 + 1));
  return e.select(fits, rhs.stepsAtOnce(rows), block);
}

void LhsSlices::copySlice(Value first, Value count, Value k, Value kEnd) {
  Value steps = e.sub(kEnd, k), stride = strideOfCopy(steps);
  if (kind == StripKind::F16Pairs)
    return round(first, count, k, steps);
  if (listed)
    return listed->copy(lhs, k, steps, copy, stride);
  Matrix slice = lhs;
  slice.base = lhs.at(e, first, k);
  if (lhs.isHalf)
    widenLhs(e, slice, copy, stride, count, steps);
  else
    copyLhs(e, slice, copy, count, steps, canInterleave);
}

/// To pairs of f16. Rows that are listed, or whose elements lie apart, are
/// first copied: further apart than rows of pairs, which so are stored where
/// nothing is read any more.
void LhsSlices::round(Value first, Value count, Value k, Value pairs) {
  Value two = e.number(2), from = e.mul(k, two), steps = e.mul(pairs, two);
  Value stride = strideOfCopy(steps);
  Matrix slice = lhs;
  slice.base = lhs.at(e, first, from);
  bool liesApart = !view.lhsDepthStride().isConstant(1);
  if (listed) {
    listed->copy(lhs, from, steps, copy, stride);
    count = listed->count();
  } else if (liesApart) {
    copyLhs(e, slice, copy, count, steps, /*interleaved=*/false, stride);
  }
  if (listed || liesApart)
    slice = {copy, stride, e.number(1)};
  callRoundRows(e, slice, {copy, strideOfCopy(pairs), factors(), count, pairs});
}

int64_t LhsSlices::bytesOfCopy() const {
  std::optional<int64_t> steps = rhs.scratchDepth();
  return kind == StripKind::F16Pairs && steps ? kernel::roundedLhsBytes(*steps)
                                              : kernel::widenedLhsBytes(steps);
}

/// Of rows, behind the largest copy.
Value LhsSlices::factors() {
  return e.address(copy, e.b.getI8Type(), e.number(bytesOfCopy()));
}

/// From row to row.
Value LhsSlices::strideOfCopy(Value steps) {
  return e.add(steps, e.number(rowPadding));
}

void LhsSlices::placeRows(Strip &work, Value row, Value first, Value k) {
  auto element = [&](Value base, Value offset) {
    return e.address(base, e.b.getF32Type(), offset);
  };
  work.aStride = isCopied ? strideOfCopy(work.depth) : lhs.rowStride;
  work.a = isCopied ? element(copy, e.mul(e.sub(row, first), work.aStride))
                    : lhs.at(e, row, k);
  if (kind == StripKind::F16Pairs)
    work.factors = element(factors(), e.sub(row, first));
  work.isInterleaved = interleaves();
}

} // namespace tenon::cpu
