//===- IntegerSchedules.cpp - Schedules of products of 8-bit numbers ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedules/IntegerSchedules.h"
#include "compiler/Schedules/ConvKernels.h"
#include "compiler/Schedules/ConvSchedules.h"
#include "dialects/Kernel/ByteProduct.h"
#include "dialects/Kernel/DeviceTiles.h"
#include "dialects/Kernel/FineUnits.h"
#include "dialects/Kernel/FragmentLayout.h"
#include "dialects/Kernel/IntegerMatmulView.h"
#include "dialects/Kernel/Packing.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;

/// Null where the root is another op, or there is none.
graph::MatmulOp matmulOf(const KernelView &view) {
  return dyn_cast_if_present<graph::MatmulOp>(kernel::findRoot(view.body));
}

kernel::IntegerMatmulView sizesOf(const KernelView &view) {
  return *kernel::integerMatmulViewOf(matmulOf(view));
}

} // namespace

/// Why a kernel cannot run over panels of bytes.
static std::optional<std::string> refusalOfQuads(const KernelView &view) {
  graph::MatmulOp matmul = matmulOf(view);
  if (!matmul)
    return "its root is no matmul";
  std::optional<kernel::IntegerMatmulView> sizes =
      kernel::integerMatmulViewOf(matmul);
  if (!sizes)
    return "its operands are no matrices of ui8 or i8 less zero points";
  if (!isa<BlockArgument>(sizes->lhs.view.base))
    return "lhs is computed in the kernel";
  if (!isa<BlockArgument>(sizes->rhs.view.base))
    return "rhs is computed in the kernel";
  if (movesBehind(view, matmul))
    return "it moves data behind the matmul";
  return std::nullopt;
}

std::optional<std::string> refusalPackedMatmulInt8(const KernelView &view) {
  if (std::optional<std::string> why = refusalOfQuads(view))
    return why;
  graph::MatmulOp matmul = matmulOf(view);
  kernel::IntegerMatmulView sizes = sizesOf(view);
  auto rhs = cast<BlockArgument>(sizes.rhs.view.base);
  if (!view.isWeight[rhs.getArgNumber()] ||
      graph::getDims(rhs) != graph::getDims(matmul.getRhs()))
    return "rhs is no weight";
  if (!sizes.isByKnownMatrix())
    return "rhs is not one matrix, is empty, or has a size that is no number";
  if (!rhs.hasOneUse())
    return "rhs has another user in the kernel";
  return std::nullopt;
}

namespace {

/// What blocks of rows and panels make units of.
struct Units {
  Expr blocks, panels;
  Expr least; // Units that are worth a thread's while: some microseconds.

  explicit Units(const kernel::IntegerMatmulView &sizes,
                 kernel::UnitSize size) {
    constexpr int64_t pieceProducts = 600000;
    auto number = [&](int64_t value) {
      return Expr::constant(sizes.rows.getContext(), value);
    };
    blocks = sizes.rows.ceilDiv(number(kernel::blockRows));
    panels = sizes.columns.ceilDiv(number(kernel::panelColumns));
    Expr products =
        sizes.rows.min(number(size.rows)) * sizes.depth * size.columns;
    if (products)
      least = number(pieceProducts).ceilDiv(products.max(number(1)));
  }
};

} // namespace

/// A copy of lhs is for all panels of a piece.
kernel::Geometry geometryPackedMatmulInt8(const KernelView &view) {
  kernel::IntegerMatmulView sizes = sizesOf(view);
  Units of(sizes, kernel::fineUnit);
  auto number = [&](int64_t value) {
    return Expr::constant(sizes.rows.getContext(), value);
  };
  kernel::FineUnits fine(sizes.rows, sizes.columns);
  Expr units = fine.all();
  if (!units || !of.least)
    return {};
  Expr wanted = of.panels.floorDiv(number(8)).max(number(4)).min(number(16));
  // A copy is for many panels, and for all where there are groups enough.
  if (sizes.copiesLhs()) {
    wanted = of.panels.floorDiv(number(4)).max(number(8)).min(number(32));
    wanted =
        wanted.max((of.blocks.floorDiv(number(8)) * of.panels).min(of.panels));
  }
  Expr grain = fine.ofPanels(wanted);
  Expr share = units.ceilDiv(number(sizes.copiesLhs() ? 2 : 4));
  grain = grain.min(share.max(of.least));
  return {units, grain, sizes.scratch(/*packsRhs=*/false).all()};
}

SmallVector<std::string> layoutsPackedMatmulInt8(const KernelView &view) {
  SmallVector<std::string> layouts(view.body.getNumArguments());
  auto rhs = cast<BlockArgument>(sizesOf(view).rhs.view.base);
  layouts[rhs.getArgNumber()] = kernel::quadsLayout.str();
  return layouts;
}

//===--- BatchedMatmulInt8 ---===//

std::optional<std::string> refusalBatchedMatmulInt8(const KernelView &view) {
  return refusalOfQuads(view);
}

/// Pieces are whole groups of rows by all panels, which share a copy and what
/// is packed, or some groups; of few, parts of them.
kernel::Geometry geometryBatchedMatmulInt8(const KernelView &view) {
  kernel::IntegerMatmulView sizes = sizesOf(view);
  Units of(sizes, kernel::blockUnit);
  auto number = [&](int64_t value) {
    return Expr::constant(sizes.rows.getContext(), value);
  };
  Expr batches = graph::product(sizes.rows.getContext(), sizes.batchDims);
  Expr group =
      of.blocks.min(number(sizes.blocksOfGroup(/*packsRhs=*/true))) * of.panels;
  if (!batches || !group || !of.least)
    return {};
  Expr units = batches * of.blocks * of.panels;
  Expr share = units.ceilDiv(number(4));
  return {units, group.min(share).max(of.least),
          sizes.scratch(/*packsRhs=*/true).all()};
}

SmallVector<std::string> layoutsBatchedMatmulInt8(const KernelView &view) {
  return SmallVector<std::string>(view.body.getNumArguments());
}

//===--- MatmulMmaInt8 ---===//

namespace {

kernel::MatmulView bytesOf(const KernelView &view) {
  return *kernel::byteProductOf(matmulOf(view));
}

std::optional<std::string> refusalOfBytes(const KernelView &view,
                                          StringRef schedule) {
  graph::MatmulOp matmul = matmulOf(view);
  if (!matmul)
    return "its root is no matmul";
  std::optional<kernel::MatmulView> bytes = kernel::byteProductOf(matmul);
  if (!bytes)
    return "its operands are not rows of i8 or ui8, or of ui8 less 128, that "
           "lie together by fours, and a matrix of i8";
  if (!isa<BlockArgument>(bytes->lhs.base))
    return "lhs is computed in the kernel";
  auto rhs = dyn_cast<BlockArgument>(bytes->rhs.base);
  if (!rhs || !view.isWeight[rhs.getArgNumber()])
    return "rhs is no weight";
  if (!rhs.hasOneUse())
    return "rhs has another user in the kernel";
  if (movesBehind(view, matmul))
    return "it moves data behind the matmul";
  if (!kernel::tileGeometry(*bytes, schedule))
    return "the number of its tiles is beyond what an expression holds";
  return std::nullopt;
}

} // namespace

std::optional<std::string> refusalMatmulMmaInt8(const KernelView &view) {
  return refusalOfBytes(view, kernel::byteSchedule);
}

kernel::Geometry geometryMatmulMmaInt8(const KernelView &view) {
  return kernel::tileGeometry(bytesOf(view), kernel::byteSchedule);
}

SmallVector<std::string> layoutsMatmulMmaInt8(const KernelView &view) {
  SmallVector<std::string> layouts(view.body.getNumArguments());
  auto rhs = cast<BlockArgument>(bytesOf(view).rhs.base);
  layouts[rhs.getArgNumber()] = kernel::FragmentLayout::quads.str();
  return layouts;
}

std::optional<std::string> refusalMatmulMmaInt8Small(const KernelView &view) {
  return refusalOfBytes(view, kernel::byteSmallSchedule);
}

kernel::Expr whenMatmulMmaInt8Small(const KernelView &view) {
  return kernel::hasFewTiles(bytesOf(view));
}

kernel::Geometry geometryMatmulMmaInt8Small(const KernelView &view) {
  return kernel::tileGeometry(bytesOf(view), kernel::byteSmallSchedule);
}

SmallVector<std::string> layoutsMatmulMmaInt8Small(const KernelView &view) {
  return layoutsMatmulMmaInt8(view);
}

} // namespace tenon
