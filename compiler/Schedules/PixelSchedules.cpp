//===- PixelSchedules.cpp - Convolutions pixel by pixel -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedules/ConvKernels.h"
#include "compiler/Schedules/ConvSchedules.h"
#include "dialects/Kernel/ConvDepth.h"
#include "dialects/Kernel/DepthwiseView.h"
#include "dialects/Kernel/FilterLayout.h"
#include "dialects/Kernel/PlanesView.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;

/// Of kernels whose rows are pixels. Those side by side share work: whole lines
/// of them.
kernel::Geometry geometryOfLines(const KernelView &view) {
  kernel::Geometry geometry = kernel::geometryOf(view.body);
  if (!geometry)
    return {};
  SmallVector<Expr> dims = graph::getDims(convOf(view).getResult());
  geometry.grain = geometry.grain.max(dims[dims.size() - 2]);
  return geometry;
}

} // namespace

//===--- FewMapsConv ---===//

std::optional<std::string> refusalFewMapsConv(const KernelView &view) {
  if (auto why = refusalOfConv(view))
    return why;
  if (convOf(view).getGroup() != 1)
    return "it has several groups";
  if (!kernel::hasFewMaps(convOf(view)))
    return "it has more than a few maps, or few channels for them";
  return std::nullopt;
}

kernel::Geometry geometryFewMapsConv(const KernelView &view) {
  kernel::Geometry geometry = geometryOfLines(view);
  if (geometry)
    geometry.scratch =
        Expr::constant(convOf(view).getContext(), kernel::fewMapsScratch);
  return geometry;
}

SmallVector<std::string> layoutsFewMapsConv(const KernelView &view) {
  return withFilter(view, kernel::FilterLayout{1}.name());
}

//===--- DepthwiseTiles ---===//

static std::optional<std::string> refusalOfTiles(const KernelView &view,
                                                 Narrow taken) {
  if (auto why = refusalOfConv(view, taken))
    return why;
  if (auto why = refusalOfBehind(view))
    return why;
  std::string why;
  if (!kernel::depthwiseViewOf(convOf(view), why))
    return why;
  return std::nullopt;
}

std::optional<std::string> refusalDepthwiseTiles(const KernelView &view) {
  if (auto why = refusalOfTiles(view, Narrow::Depthwise))
    return why;
  if (!kernel::isDepthwise(convOf(view)))
    return "a group has several channels";
  return std::nullopt;
}

kernel::Geometry geometryDepthwiseTiles(const KernelView &view) {
  graph::ConvOp conv = convOf(view);
  std::string why;
  auto sizes = kernel::depthwiseViewOf(conv, why);
  auto number = [&](int64_t value) {
    return Expr::constant(conv.getContext(), value);
  };
  Expr images = graph::getDims(conv.getResult())[0];
  Expr rows = images * number(sizes->blocks() * sizes->lines.count);
  // Lines of a piece share what they read; those of a low band belong
  // together.
  constexpr int64_t few = 14;
  int64_t lines = sizes->bandLines();
  Expr grain = rows.floorDiv(number(16));
  grain = lines <= few
              ? grain.ceilDiv(number(lines)).max(number(1)) * number(lines)
              : grain.max(number(few / 2)).min(number(lines));
  return {rows, grain, number(0)};
}

SmallVector<std::string> layoutsDepthwiseTiles(const KernelView &view) {
  return withFilter(view, kernel::depthwiseLayout);
}

//===--- GroupTiles ---===//

std::optional<std::string> refusalGroupTiles(const KernelView &view) {
  if (auto why = refusalOfTiles(view, Narrow::None))
    return why;
  if (kernel::isDepthwise(convOf(view)))
    return "each channel is a group with one map";
  return std::nullopt;
}

kernel::Geometry geometryGroupTiles(const KernelView &view) {
  return geometryDepthwiseTiles(view);
}

SmallVector<std::string> layoutsGroupTiles(const KernelView &view) {
  return layoutsDepthwiseTiles(view);
}

//===--- DepthwisePlanes ---===//

std::optional<std::string> refusalDepthwisePlanes(const KernelView &view) {
  graph::ConvOp conv = convOf(view);
  if (!conv)
    return "its root is no convolution";
  if (conv.getChannelsLast())
    return "channels are the last axis";
  if (auto why = refusalOfOperands(view, conv))
    return why;
  std::string why;
  if (!kernel::planesViewOf(conv, why))
    return why;
  return std::nullopt;
}

kernel::Geometry geometryDepthwisePlanes(const KernelView &view) {
  std::string why;
  return kernel::planesViewOf(convOf(view), why)->geometry(view.body);
}

SmallVector<std::string> layoutsDepthwisePlanes(const KernelView &view) {
  return SmallVector<std::string>(view.body.getNumArguments());
}

//===--- DepthwiseConv ---===//

std::optional<std::string> refusalDepthwiseConv(const KernelView &view) {
  if (auto why = refusalOfConv(view))
    return why;
  graph::ConvOp conv = convOf(view);
  if (!kernel::isDepthwise(conv))
    return "a group has several channels";
  return std::nullopt;
}

kernel::Geometry geometryDepthwiseConv(const KernelView &view) {
  kernel::Geometry geometry = geometryOfLines(view);
  if (geometry)
    geometry.scratch = geometry.scratch * kernel::tilePixels;
  return geometry;
}

SmallVector<std::string> layoutsDepthwiseConv(const KernelView &view) {
  return withFilter(view, kernel::depthwiseLayout);
}

} // namespace tenon
