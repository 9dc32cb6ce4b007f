//===- MemorySchedules.cpp - Schedules of what memory bounds on devices ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedules/MemorySchedules.h"
#include "dialects/Kernel/PointwiseView.h"
#include "dialects/Kernel/RowTile.h"

using namespace mlir;

namespace tenon {
namespace {

constexpr llvm::StringLiteral tooMany =
    "the number of its blocks is beyond what an expression holds";

using graph::Expr;

SmallVector<std::string> rowMajor(const KernelView &view) {
  return SmallVector<std::string>(view.body.getNumArguments());
}

kernel::RowView rowsOf(const KernelView &view) {
  std::string why;
  return *kernel::rowViewOf(view.body, why);
}

} // namespace

//===--- Rows ---===//

std::optional<std::string> refusalBlockColumns(const KernelView &view) {
  std::string why;
  std::optional<kernel::RowView> rows = kernel::rowViewOf(view.body, why);
  if (!rows)
    return why;
  if (isa<graph::CumulativeOp>(rows->root))
    return "its sums run along the columns";
  if (rows->combinesRun)
    return "it works along rows";
  if (rows->length.isConstant(0))
    return "its rows are empty";
  if (!geometryBlockColumns(view))
    return tooMany.str();
  return std::nullopt;
}

kernel::Geometry geometryBlockColumns(const KernelView &view) {
  kernel::RowView rows = rowsOf(view);
  return kernel::columnTileGeometry(rows,
                                    kernel::columnTileOf(view.body, rows));
}

SmallVector<std::string> layoutsBlockColumns(const KernelView &view) {
  return rowMajor(view);
}

std::optional<std::string> refusalBlockRows(const KernelView &view) {
  std::string why;
  std::optional<kernel::RowView> rows = kernel::rowViewOf(view.body, why);
  if (!rows)
    return why;
  if (isa<graph::CumulativeOp>(rows->root))
    return "its sums run along the row";
  if (rows->quantize)
    return "its rows become bytes";
  if (!rows->combinesRun)
    return "it works along columns";
  if (rows->length.isConstant(0))
    return "its rows are empty";
  if (!geometryBlockRows(view))
    return tooMany.str();
  return std::nullopt;
}

kernel::Geometry geometryBlockRows(const KernelView &view) {
  kernel::RowView rows = rowsOf(view);
  return kernel::rowTileGeometry(rows, kernel::rowTileOf(view.body, rows));
}

SmallVector<std::string> layoutsBlockRows(const KernelView &view) {
  return rowMajor(view);
}

//===--- Kernels without root ---===//

std::optional<std::string> refusalVectorMap(const KernelView &view) {
  if (kernel::findRoot(view.body))
    return "it has a root";
  kernel::PointwiseView map = kernel::pointwiseViewOf(view.body);
  if (!map.isOneShape)
    return "its results are of several shapes";
  if (map.runs.empty())
    return "it computes one element";
  if (!geometryVectorMap(view))
    return tooMany.str();
  return std::nullopt;
}

kernel::Geometry geometryVectorMap(const KernelView &view) {
  kernel::PointwiseView map = kernel::pointwiseViewOf(view.body);
  MLIRContext *context = map.runs.back().size.getContext();
  auto number = [&](int64_t value) { return Expr::constant(context, value); };
  Expr count = graph::product(context, map.dims);
  if (!count)
    return {};
  int64_t elements = kernel::vectorTileOf(view.body, map).elements;
  return {count.ceilDiv(number(elements)), number(1), number(0)};
}

SmallVector<std::string> layoutsVectorMap(const KernelView &view) {
  return rowMajor(view);
}

std::optional<std::string> refusalTurnedMap(const KernelView &view) {
  if (kernel::findRoot(view.body))
    return "it has a root";
  kernel::PointwiseView map = kernel::pointwiseViewOf(view.body);
  if (!kernel::turnedPlaneOf(view.body, map))
    return "no transposition in it turns rows into columns";
  if (!geometryTurnedMap(view))
    return tooMany.str();
  return std::nullopt;
}

kernel::Geometry geometryTurnedMap(const KernelView &view) {
  kernel::PointwiseView map = kernel::pointwiseViewOf(view.body);
  kernel::TurnedPlane plane = *kernel::turnedPlaneOf(view.body, map);
  MLIRContext *context = plane.op.getContext();
  Expr side = Expr::constant(context, kernel::turnedSide);
  Expr tiles = Expr::constant(context, 1);
  for (auto [i, run] : llvm::enumerate(map.runs)) {
    bool isInPlane = i == plane.run || i + 1 == map.runs.size();
    tiles = tiles * (isInPlane ? run.size.ceilDiv(side) : run.size);
    if (!tiles)
      return {};
  }
  return {tiles, Expr::constant(context, 1), Expr::constant(context, 0)};
}

SmallVector<std::string> layoutsTurnedMap(const KernelView &view) {
  return rowMajor(view);
}

} // namespace tenon
