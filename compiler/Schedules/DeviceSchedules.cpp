//===- DeviceSchedules.cpp - Schedules of matrix products on devices ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedules/DeviceSchedules.h"
#include "dialects/Kernel/DeviceTiles.h"
#include "dialects/Kernel/FewBitsRhs.h"
#include "dialects/Kernel/FragmentLayout.h"

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
                                          StringRef schedule) {
  for (graph::Expr lines : {sizes.rows, sizes.columns})
    if (lines.asConstant().value_or(fewestLines) < fewestLines)
      return "it has so few rows or columns that tiles would be mostly empty";
  if (!kernel::tileGeometry(sizes, schedule))
    return "the number of its tiles is beyond what an expression holds";
  return std::nullopt;
}

std::optional<std::string> refusalOfMma(const KernelView &view,
                                        StringRef schedule) {
  if (std::optional<std::string> why = refusalOfTiles(view))
    return why;
  kernel::MatmulView sizes = matmulOf(view);
  if (sizes.quantized) {
    std::optional<std::string> why = refusalOfFewBits(view, sizes);
    return why ? why : refusalOfSizes(sizes, schedule);
  }
  Type type = graph::getElementType(sizes.lhs.base);
  if (type != graph::getElementType(sizes.rhs.base))
    return "its operands are of two types";
  if (!type.isBF16() && !type.isF16())
    return "its operands are neither bf16 nor f16";
  for (const kernel::StridedView *operand : {&sizes.lhs, &sizes.rhs})
    if (kernel::copyBytes(sizes, *operand, 0) == 0 &&
        kernel::copyBytes(sizes, *operand, 1) == 0)
      return "no elements of an operand lie together";
  return refusalOfSizes(sizes, schedule);
}

std::optional<std::string> refusalOfSimt(const KernelView &view,
                                         StringRef schedule) {
  if (std::optional<std::string> why = refusalOfTiles(view))
    return why;
  kernel::MatmulView sizes = matmulOf(view);
  for (const kernel::StridedView *operand : {&sizes.lhs, &sizes.rhs})
    if (!graph::getElementType(operand->base).isF32())
      return "an operand is not f32";
  return refusalOfSizes(sizes, schedule);
}

SmallVector<std::string> rowMajor(const KernelView &view) {
  return SmallVector<std::string>(view.body.getNumArguments());
}

} // namespace

std::optional<std::string> refusalOfFewBits(const KernelView &view,
                                            const kernel::MatmulView &sizes) {
  if (sizes.picks)
    return "its batches choose their matrices, which have few bits";
  const kernel::QuantizedRhs &rhs = *sizes.quantized;
  for (Value part : {rhs.numbers, rhs.scales, rhs.zeros}) {
    auto argument = dyn_cast_if_present<BlockArgument>(part);
    if (part && (!argument || !view.isWeight[argument.getArgNumber()] ||
                 !argument.hasOneUse()))
      return "numbers, a scale or a zero point are no weight of their own";
  }
  if (std::optional<std::string> why = kernel::refusalOfFragments(rhs))
    return why;
  if (!graph::getElementType(sizes.lhs.base).isBF16())
    return "rhs has few bits, and lhs is not bf16";
  if (kernel::copyBytes(sizes, sizes.lhs, /*axis=*/1) < 4 ||
      !sizes.depth.exactDiv(graph::Expr::constant(sizes.depth.getContext(), 2)))
    return "rhs has few bits, and steps of k of lhs do not lie in pairs";
  return std::nullopt;
}

SmallVector<std::string> layoutsOfDevice(const KernelView &view) {
  SmallVector<std::string> layouts = rowMajor(view);
  kernel::MatmulView sizes = matmulOf(view);
  if (!sizes.quantized)
    return layouts;
  const kernel::QuantizedRhs &rhs = *sizes.quantized;
  auto set = [&](Value part, StringRef layout) {
    if (part)
      layouts[cast<BlockArgument>(part).getArgNumber()] =
          (layout + (sizes.halves ? "_halves" : "")).str();
  };
  using Layout = kernel::FragmentLayout;
  set(rhs.numbers, rhs.bits == 4 ? Layout::nibbles : Layout::bytes);
  set(rhs.scales, Layout::sides);
  set(rhs.zeros, Layout::sides);
  return layouts;
}

std::optional<std::string> refusalMatmulMma(const KernelView &view) {
  return refusalOfMma(view, kernel::mmaSchedule);
}
kernel::Geometry geometryMatmulMma(const KernelView &view) {
  return kernel::tileGeometry(matmulOf(view), kernel::mmaSchedule);
}
SmallVector<std::string> layoutsMatmulMma(const KernelView &view) {
  return layoutsOfDevice(view);
}

std::optional<std::string> refusalMatmulMmaSmall(const KernelView &view) {
  return refusalOfMma(view, kernel::mmaSmallSchedule);
}
kernel::Geometry geometryMatmulMmaSmall(const KernelView &view) {
  return kernel::tileGeometry(matmulOf(view), kernel::mmaSmallSchedule);
}
SmallVector<std::string> layoutsMatmulMmaSmall(const KernelView &view) {
  return layoutsOfDevice(view);
}
kernel::Expr whenMatmulMmaSmall(const KernelView &view) {
  return kernel::hasFewTiles(matmulOf(view));
}

std::optional<std::string> refusalMatmulSimt(const KernelView &view) {
  return refusalOfSimt(view, kernel::simtSchedule);
}
kernel::Geometry geometryMatmulSimt(const KernelView &view) {
  return kernel::tileGeometry(matmulOf(view), kernel::simtSchedule);
}
SmallVector<std::string> layoutsMatmulSimt(const KernelView &view) {
  return rowMajor(view);
}

std::optional<std::string> refusalMatmulSimtSmall(const KernelView &view) {
  return refusalOfSimt(view, kernel::simtSmallSchedule);
}
kernel::Geometry geometryMatmulSimtSmall(const KernelView &view) {
  return kernel::tileGeometry(matmulOf(view), kernel::simtSmallSchedule);
}
SmallVector<std::string> layoutsMatmulSimtSmall(const KernelView &view) {
  return rowMajor(view);
}
kernel::Expr whenMatmulSimtSmall(const KernelView &view) {
  return kernel::hasFewTiles(matmulOf(view));
}

std::optional<std::string> refusalMatmulTf32(const KernelView &view) {
  return refusalOfSimt(view, kernel::tf32Schedule);
}
kernel::Geometry geometryMatmulTf32(const KernelView &view) {
  return kernel::tileGeometry(matmulOf(view), kernel::tf32Schedule);
}
SmallVector<std::string> layoutsMatmulTf32(const KernelView &view) {
  return rowMajor(view);
}

std::optional<std::string> refusalMatmulTf32Small(const KernelView &view) {
  return refusalOfSimt(view, kernel::tf32SmallSchedule);
}
kernel::Geometry geometryMatmulTf32Small(const KernelView &view) {
  return kernel::tileGeometry(matmulOf(view), kernel::tf32SmallSchedule);
}
SmallVector<std::string> layoutsMatmulTf32Small(const KernelView &view) {
  return rowMajor(view);
}
kernel::Expr whenMatmulTf32Small(const KernelView &view) {
  return kernel::hasFewTiles(matmulOf(view));
}

std::optional<std::string> refusalMatmulTf32x3(const KernelView &view) {
  return refusalOfSimt(view, kernel::tf32x3Schedule);
}
kernel::Geometry geometryMatmulTf32x3(const KernelView &view) {
  return kernel::tileGeometry(matmulOf(view), kernel::tf32x3Schedule);
}
SmallVector<std::string> layoutsMatmulTf32x3(const KernelView &view) {
  return rowMajor(view);
}

std::optional<std::string> refusalMatmulTf32x3Small(const KernelView &view) {
  return refusalOfSimt(view, kernel::tf32x3SmallSchedule);
}
kernel::Geometry geometryMatmulTf32x3Small(const KernelView &view) {
  return kernel::tileGeometry(matmulOf(view), kernel::tf32x3SmallSchedule);
}
SmallVector<std::string> layoutsMatmulTf32x3Small(const KernelView &view) {
  return rowMajor(view);
}
kernel::Expr whenMatmulTf32x3Small(const KernelView &view) {
  return kernel::hasFewTiles(matmulOf(view));
}

} // namespace tenon
