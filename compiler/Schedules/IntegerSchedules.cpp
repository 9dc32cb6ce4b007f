//===- IntegerSchedules.cpp - Schedules of products of 8-bit numbers ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedules/IntegerSchedules.h"
#include "compiler/Schedules/ConvSchedules.h"
#include "dialects/Kernel/ByteProduct.h"
#include "dialects/Kernel/DeviceTiles.h"
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

std::optional<std::string> refusalPackedMatmulInt8(const KernelView &view) {
  graph::MatmulOp matmul = matmulOf(view);
  if (!matmul)
    return "its root is no matmul";
  std::optional<kernel::IntegerMatmulView> sizes =
      kernel::integerMatmulViewOf(matmul);
  if (!sizes)
    return "its operands are no rows and matrix of ui8 or i8 less zero points";
  if (!isa<BlockArgument>(sizes->lhs.view.base))
    return "lhs is computed in the kernel";
  auto rhs = dyn_cast<BlockArgument>(sizes->rhs.view.base);
  if (!rhs || !view.isWeight[rhs.getArgNumber()] ||
      graph::getDims(rhs) != graph::getDims(matmul.getRhs()))
    return "rhs is no weight";
  if (!rhs.hasOneUse())
    return "rhs has another user in the kernel";
  if (movesBehind(view, matmul))
    return "it moves data behind the matmul";
  return std::nullopt;
}

/// A unit is a panel of a block of rows, as in Packing.h. A copy of lhs is for
/// all panels of a piece.
kernel::Geometry geometryPackedMatmulInt8(const KernelView &view) {
  constexpr int64_t pieceProducts = 600000; // Some microseconds.
  kernel::IntegerMatmulView sizes = sizesOf(view);
  auto number = [&](int64_t value) {
    return Expr::constant(sizes.rows.getContext(), value);
  };
  Expr blocks = sizes.rows.ceilDiv(number(kernel::blockRows));
  Expr panels = number(llvm::divideCeil(sizes.columns, kernel::panelColumns));
  Expr units = blocks * panels;
  Expr height = sizes.rows.min(number(kernel::blockRows));
  Expr products = height * number(kernel::panelColumns * sizes.depth);
  if (!units || !products)
    return {};
  Expr least = number(pieceProducts).ceilDiv(products.max(number(1)));
  int64_t fewest = sizes.copiesLhs() ? 8 : 4;
  Expr wanted = panels.floorDiv(number(8)).max(number(fewest)).min(number(16));
  Expr grain = blocks.min(number(kernel::groupBlocks)) * wanted;
  Expr share = units.ceilDiv(number(sizes.copiesLhs() ? 2 : 4));
  grain = grain.min(share.max(least));
  return {units, grain, number(sizes.scratchBytes())};
}

SmallVector<std::string> layoutsPackedMatmulInt8(const KernelView &view) {
  SmallVector<std::string> layouts(view.body.getNumArguments());
  auto rhs = cast<BlockArgument>(sizesOf(view).rhs.view.base);
  layouts[rhs.getArgNumber()] = kernel::quadsLayout.str();
  return layouts;
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
    return "its operands are not rows of i8, or of ui8 less 128, that lie "
           "together by fours, and a matrix of i8";
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
