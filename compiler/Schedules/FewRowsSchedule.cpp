//===- FewRowsSchedule.cpp - The schedule of products of few rows ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedules/FewRowsSchedule.h"
#include "compiler/Schedules/DeviceSchedules.h"
#include "dialects/Kernel/FewRows.h"

using namespace mlir;

namespace tenon {

static kernel::MatmulView matmulOf(const KernelView &view) {
  return *kernel::matmulViewOf(
      cast<graph::MatmulOp>(kernel::findRoot(view.body)));
}

static std::optional<std::string>
refusalOfOperands(const KernelView &view, const kernel::MatmulView &sizes) {
  if (sizes.quantized)
    return refusalOfFewBits(view, sizes);
  for (const kernel::StridedView *operand : {&sizes.lhs, &sizes.rhs}) {
    Type type = graph::getElementType(operand->base);
    if (!type.isF32() && !type.isBF16() && !type.isF16())
      return "an operand is neither f32 nor bf16 nor f16";
  }
  return std::nullopt;
}

std::optional<std::string> refusalMatmulRows(const KernelView &view) {
  if (std::optional<std::string> why = refusalOfTiles(view))
    return why;
  kernel::MatmulView sizes = matmulOf(view);
  if (std::optional<std::string> why = refusalOfOperands(view, sizes))
    return why;
  kernel::Geometry geometry = kernel::fewRowsGeometry(sizes);
  if (!geometry)
    return "the number of its parts is beyond what an expression holds";
  kernel::Expr when = kernel::hasFewRows(sizes);
  if (!when || when.isConstant(0))
    return "it has too many rows to read rhs for a few of them at a time";
  return std::nullopt;
}

kernel::Expr whenMatmulRows(const KernelView &view) {
  return kernel::hasFewRows(matmulOf(view));
}

kernel::Geometry geometryMatmulRows(const KernelView &view) {
  return kernel::fewRowsGeometry(matmulOf(view));
}

SmallVector<std::string> layoutsMatmulRows(const KernelView &view) {
  return layoutsOfDevice(view);
}

} // namespace tenon
