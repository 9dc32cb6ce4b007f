//===- DeviceSchedules.cpp - Schedules of matrix products on devices ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedules/DeviceSchedules.h"
#include "dialects/Kernel/DeviceTiles.h"

using namespace mlir;

namespace tenon {
namespace {

kernel::MatmulView matmulOf(const KernelView &view) {
  return *kernel::matmulViewOf(
      cast<graph::MatmulOp>(kernel::findRoot(view.body)));
}

/// Fewer lines than that leave most of a tile idle.
constexpr int64_t fewestLines = 4;

std::optional<std::string> refusalOfSizes(const kernel::MatmulView &sizes,
                                          const kernel::DeviceTile &tile) {
  for (graph::Expr lines : {sizes.rows, sizes.columns})
    if (lines.asConstant().value_or(fewestLines) < fewestLines)
      return "it has so few rows or columns that tiles would be mostly empty";
  if (!kernel::tileGeometry(sizes, tile))
    return "the number of its tiles is beyond what an expression holds";
  return std::nullopt;
}

} // namespace

std::optional<std::string> refusalMatmulMma(const KernelView &view) {
  if (std::optional<std::string> why = refusalOfTiles(view))
    return why;
  kernel::MatmulView sizes = matmulOf(view);
  Type type = graph::getElementType(sizes.lhs.base);
  if (type != graph::getElementType(sizes.rhs.base))
    return "its operands are of two types";
  if (!type.isBF16() && !type.isF16())
    return "its operands are neither bf16 nor f16";
  for (const kernel::StridedView *operand : {&sizes.lhs, &sizes.rhs})
    if (kernel::copyBytes(sizes, *operand, 0) < 4 &&
        kernel::copyBytes(sizes, *operand, 1) < 4)
      return "rows of an operand do not begin at multiples of 4 bytes";
  return refusalOfSizes(sizes, kernel::mmaTileOf(sizes));
}

kernel::Geometry geometryMatmulMma(const KernelView &view) {
  kernel::MatmulView sizes = matmulOf(view);
  return kernel::tileGeometry(sizes, kernel::mmaTileOf(sizes));
}

SmallVector<std::string> layoutsMatmulMma(const KernelView &view) {
  return SmallVector<std::string>(view.body.getNumArguments());
}

std::optional<std::string> refusalMatmulSimt(const KernelView &view) {
  if (std::optional<std::string> why = refusalOfTiles(view))
    return why;
  kernel::MatmulView sizes = matmulOf(view);
  for (const kernel::StridedView *operand : {&sizes.lhs, &sizes.rhs})
    if (!graph::getElementType(operand->base).isF32())
      return "an operand is not f32";
  return refusalOfSizes(sizes, kernel::simtTileOf(sizes));
}

kernel::Geometry geometryMatmulSimt(const KernelView &view) {
  kernel::MatmulView sizes = matmulOf(view);
  return kernel::tileGeometry(sizes, kernel::simtTileOf(sizes));
}

SmallVector<std::string> layoutsMatmulSimt(const KernelView &view) {
  return SmallVector<std::string>(view.body.getNumArguments());
}

} // namespace tenon
