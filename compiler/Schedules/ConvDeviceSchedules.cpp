//===- ConvDeviceSchedules.cpp - Schedules of convolutions on devices -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedules/ConvDeviceSchedules.h"
#include "compiler/Schedules/ConvKernels.h"
#include "dialects/Kernel/ConvDepth.h"
#include "dialects/Kernel/ConvTiles.h"
#include "dialects/Kernel/FragmentLayout.h"

using namespace mlir;

namespace tenon {
namespace {

/// Tiles with fewer pixels would be mostly empty.
constexpr int64_t fewestPixels = 4;
/// A word tells which taps of a window are inside.
constexpr int64_t mostTapBits = 63;
/// Of a line of a depthwise filter: there is code for each.
constexpr int64_t mostTaps = 64;

kernel::ConvTilesView sizesOf(const KernelView &view) {
  std::string why;
  return *kernel::convTilesViewOf(convOf(view), why);
}

/// Why neither tiles nor threads by themselves can compute a convolution.
std::optional<std::string>
refusalOfAll(const KernelView &view,
             std::optional<kernel::ConvTilesView> &sizes) {
  graph::ConvOp conv = convOf(view);
  if (!conv)
    return "its root is no convolution";
  std::string why;
  sizes = kernel::convTilesViewOf(conv, why);
  if (!sizes)
    return why;
  if (!view.isWeight[sizes->filter.getArgNumber()])
    return "the filter is no weight";
  if (movesBehind(view, conv))
    return "it moves data behind the convolution";
  return std::nullopt;
}

std::optional<std::string> refusalOfTiles(const KernelView &view,
                                          StringRef schedule) {
  bool isMma = kernel::isConvMma(schedule);
  std::optional<kernel::ConvTilesView> sizes;
  if (auto why = refusalOfAll(view, sizes))
    return why;
  Type type = sizes->type();
  bool isOfBytes = kernel::isConvBytes(schedule);
  if (isMma && !type.isBF16() && !type.isF16())
    return "its operands are neither bf16 nor f16";
  if (isOfBytes && !sizes->isOfBytes())
    return "its operands are not 8-bit numbers";
  if (!isMma && !isOfBytes && !type.isF32())
    return "its operands are not f32";
  if (isOfBytes &&
      (sizes->groups > 1 || sizes->copyBytes() < kernel::narrowestCopy))
    return "it has several groups, or channels that do not lie by fours";
  if (sizes->maps < kernel::fewestTileMaps ||
      sizes->rows.asConstant().value_or(fewestPixels) < fewestPixels)
    return "it has so few pixels, or maps in a group, that tiles would be "
           "mostly empty";
  if (sizes->tapBits() > mostTapBits)
    return "padded axes have more than 63 taps together";
  if (!kernel::tileGeometry(*sizes, schedule))
    return "the number of its tiles is beyond what an expression holds";
  return std::nullopt;
}

std::optional<std::string> refusalOfSmallTiles(const KernelView &view,
                                               StringRef schedule) {
  if (std::optional<std::string> why = refusalOfTiles(view, schedule))
    return why;
  kernel::Expr when = kernel::hasFewTiles(sizesOf(view));
  if (!when || when.isConstant(0))
    return "large tiles keep a device busy";
  return std::nullopt;
}

SmallVector<std::string> withFilter(const KernelView &view) {
  kernel::ConvTilesView sizes = sizesOf(view);
  SmallVector<std::string> layouts(view.body.getNumArguments());
  layouts[sizes.filter.getArgNumber()] =
      sizes.isOfBytes() ? kernel::FragmentLayout::quads.str()
                        : sizes.layout.name();
  return layouts;
}

} // namespace

std::optional<std::string> refusalConvMma(const KernelView &view) {
  return refusalOfTiles(view, kernel::convMmaSchedule);
}
kernel::Geometry geometryConvMma(const KernelView &view) {
  return kernel::tileGeometry(sizesOf(view), kernel::convMmaSchedule);
}
SmallVector<std::string> layoutsConvMma(const KernelView &view) {
  return withFilter(view);
}

std::optional<std::string> refusalConvMmaSmall(const KernelView &view) {
  return refusalOfSmallTiles(view, kernel::convMmaSmallSchedule);
}
kernel::Geometry geometryConvMmaSmall(const KernelView &view) {
  return kernel::tileGeometry(sizesOf(view), kernel::convMmaSmallSchedule);
}
SmallVector<std::string> layoutsConvMmaSmall(const KernelView &view) {
  return withFilter(view);
}
kernel::Expr whenConvMmaSmall(const KernelView &view) {
  return kernel::hasFewTiles(sizesOf(view));
}

std::optional<std::string> refusalConvMmaInt8(const KernelView &view) {
  return refusalOfTiles(view, kernel::convBytesSchedule);
}
kernel::Geometry geometryConvMmaInt8(const KernelView &view) {
  return kernel::tileGeometry(sizesOf(view), kernel::convBytesSchedule);
}
SmallVector<std::string> layoutsConvMmaInt8(const KernelView &view) {
  return withFilter(view);
}

std::optional<std::string> refusalConvMmaInt8Small(const KernelView &view) {
  return refusalOfSmallTiles(view, kernel::convBytesSmallSchedule);
}
kernel::Geometry geometryConvMmaInt8Small(const KernelView &view) {
  return kernel::tileGeometry(sizesOf(view), kernel::convBytesSmallSchedule);
}
SmallVector<std::string> layoutsConvMmaInt8Small(const KernelView &view) {
  return withFilter(view);
}
kernel::Expr whenConvMmaInt8Small(const KernelView &view) {
  return kernel::hasFewTiles(sizesOf(view));
}

std::optional<std::string> refusalConvSimt(const KernelView &view) {
  return refusalOfTiles(view, kernel::convSimtSchedule);
}
kernel::Geometry geometryConvSimt(const KernelView &view) {
  return kernel::tileGeometry(sizesOf(view), kernel::convSimtSchedule);
}
SmallVector<std::string> layoutsConvSimt(const KernelView &view) {
  return withFilter(view);
}

std::optional<std::string> refusalConvSimtSmall(const KernelView &view) {
  return refusalOfSmallTiles(view, kernel::convSimtSmallSchedule);
}
kernel::Geometry geometryConvSimtSmall(const KernelView &view) {
  return kernel::tileGeometry(sizesOf(view), kernel::convSimtSmallSchedule);
}
SmallVector<std::string> layoutsConvSimtSmall(const KernelView &view) {
  return withFilter(view);
}
kernel::Expr whenConvSimtSmall(const KernelView &view) {
  return kernel::hasFewTiles(sizesOf(view));
}

std::optional<std::string> refusalConvTf32(const KernelView &view) {
  return refusalOfTiles(view, kernel::convTf32Schedule);
}
kernel::Geometry geometryConvTf32(const KernelView &view) {
  return kernel::tileGeometry(sizesOf(view), kernel::convTf32Schedule);
}
SmallVector<std::string> layoutsConvTf32(const KernelView &view) {
  return withFilter(view);
}

std::optional<std::string> refusalConvTf32Small(const KernelView &view) {
  return refusalOfSmallTiles(view, kernel::convTf32SmallSchedule);
}
kernel::Geometry geometryConvTf32Small(const KernelView &view) {
  return kernel::tileGeometry(sizesOf(view), kernel::convTf32SmallSchedule);
}
SmallVector<std::string> layoutsConvTf32Small(const KernelView &view) {
  return withFilter(view);
}
kernel::Expr whenConvTf32Small(const KernelView &view) {
  return kernel::hasFewTiles(sizesOf(view));
}

std::optional<std::string> refusalConvTf32x3(const KernelView &view) {
  return refusalOfTiles(view, kernel::convTf32x3Schedule);
}
kernel::Geometry geometryConvTf32x3(const KernelView &view) {
  return kernel::tileGeometry(sizesOf(view), kernel::convTf32x3Schedule);
}
SmallVector<std::string> layoutsConvTf32x3(const KernelView &view) {
  return withFilter(view);
}

std::optional<std::string> refusalConvTf32x3Small(const KernelView &view) {
  return refusalOfSmallTiles(view, kernel::convTf32x3SmallSchedule);
}
kernel::Geometry geometryConvTf32x3Small(const KernelView &view) {
  return kernel::tileGeometry(sizesOf(view), kernel::convTf32x3SmallSchedule);
}
SmallVector<std::string> layoutsConvTf32x3Small(const KernelView &view) {
  return withFilter(view);
}
kernel::Expr whenConvTf32x3Small(const KernelView &view) {
  return kernel::hasFewTiles(sizesOf(view));
}

std::optional<std::string> refusalDepthwiseDevice(const KernelView &view) {
  std::optional<kernel::ConvTilesView> sizes;
  if (auto why = refusalOfAll(view, sizes))
    return why;
  if (!sizes->isDepthwise())
    return "a group has several channels or maps";
  if (!graph::getElementType(convOf(view).getInput()).isF32() ||
      !sizes->type().isF32())
    return "its operands are not f32";
  if (sizes->axes.back().taps > mostTaps)
    return "a line of its filter has more than 64 taps";
  SmallVector<graph::Expr> dims = graph::getDims(convOf(view).getResult());
  for (Value yielded : view.body.getTerminator()->getOperands())
    if (graph::getDims(kernel::behindReshapes(yielded)) != dims)
      return "it yields something of another size";
  if (!kernel::depthwiseGeometry(*sizes, view.body))
    return "the number of its threads is beyond what an expression holds";
  return std::nullopt;
}
kernel::Geometry geometryDepthwiseDevice(const KernelView &view) {
  return kernel::depthwiseGeometry(sizesOf(view), view.body);
}
SmallVector<std::string> layoutsDepthwiseDevice(const KernelView &view) {
  SmallVector<std::string> layouts(view.body.getNumArguments());
  layouts[sizesOf(view).filter.getArgNumber()] = kernel::depthwiseLayout.str();
  return layouts;
}

} // namespace tenon
