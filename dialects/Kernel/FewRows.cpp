//===- FewRows.cpp - Matrix products of few rows on devices ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/FewRows.h"
#include "dialects/Kernel/DepthPieces.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

/// Two on each multiprocessor of a large device.
constexpr int64_t wantedBlocks = 264;

Expr number(const MatmulView &view, int64_t value) {
  return Expr::constant(view.rows.getContext(), value);
}

/// Parts of the result that are summed by themselves.
Expr partsOf(const MatmulView &view, const FewRows &plan) {
  int64_t columns = plan.columns() / (view.halves ? 2 : 1);
  Expr parts = graph::product(view.rows.getContext(), view.batchDims);
  if (!parts || !(parts = parts * view.columns.ceilDiv(number(view, columns))))
    return {};
  return parts * view.rows.ceilDiv(number(view, plan.rows));
}

} // namespace

FewRows fewRowsOf(const MatmulView &view) {
  const StridedView &rhs = view.rhs;
  int64_t size = graph::byteWidth(graph::getElementType(rhs.base));
  FewRows plan;
  if (view.quantized) {
    // Two fragments of lhs; of rhs, each half of the columns has a panel.
    plan.alongDepth = false;
    plan.rows = 16;
    plan.panels = view.halves ? 2 : 1;
    return plan;
  }
  plan.alongDepth = rhs.strides[rhs.strides.size() - 2].isConstant(1);
  plan.together = 16 / size;
  plan.rows = 32 / plan.together;
  int64_t bytes = copyBytes(view, rhs, plan.alongDepth ? 0 : 1);
  plan.width = std::max<int64_t>(bytes / size, 1);
  // No load reaches behind the last line.
  Expr lines = plan.alongDepth ? view.depth : view.columns;
  while (plan.width > 1 && !lines.exactDiv(number(view, plan.width)))
    plan.width /= 2;
  return plan;
}

DeviceTile fewRowsTileOf(const MatmulView &view) {
  FewRows plan = fewRowsOf(view);
  return {plan.rows,    plan.columns(),   plan.depth(),
          /*stages=*/1, FewRows::threads, plan.sharedBytes()};
}

Expr hasFewRows(const MatmulView &view) {
  // Of 16 bits, twice as many products come with the bytes of rhs, and the
  // matrix instructions are soon faster: those of few bits take them here, too.
  bool isWide = view.quantized || graph::getElementType(view.rhs.base).isF32();
  Expr spare = number(view, isWide ? 17 : 9) - view.rows;
  return spare.max(number(view, 0)).min(number(view, 1));
}

Expr depthPiecesOf(const MatmulView &view, const FewRows &plan) {
  Expr steps = view.depth.ceilDiv(number(view, plan.depth()));
  return depthPieces(partsOf(view, plan), wantedBlocks,
                     steps.max(number(view, 1)));
}

Geometry fewRowsGeometry(const MatmulView &view) {
  FewRows plan = fewRowsOf(view);
  Expr parts = partsOf(view, plan), pieces = depthPiecesOf(view, plan);
  if (!parts || !pieces)
    return {};
  Geometry geometry = {parts * pieces, number(view, 1), number(view, 0)};
  if (!pieces.isConstant(1))
    geometry.shared = pieceBytes(parts, pieces, plan.slabElements() * 4);
  return geometry;
}

} // namespace tenon::kernel
