//===- DeviceTiles.cpp - How devices cut matrix products into tiles -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/DeviceTiles.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

/// Tiles of that size that keep a large device busy.
constexpr int64_t wantedTiles = 128;

/// Whether a product is known to be too small for large tiles.
bool isSmall(const MatmulView &view, int64_t rows, int64_t columns) {
  auto tiles = [](Expr size, int64_t of) -> std::optional<int64_t> {
    std::optional<int64_t> known = size.asConstant();
    return known ? std::optional((*known + of - 1) / of) : std::nullopt;
  };
  auto high = tiles(view.rows, rows), wide = tiles(view.columns, columns);
  if (!high || !wide)
    return wide && *wide <= 2;
  int64_t count = *high * *wide;
  for (Expr dim : view.batchDims) {
    std::optional<int64_t> known = dim.asConstant();
    if (!known)
      return false;
    count *= *known;
    if (count >= wantedTiles)
      return false;
  }
  return count < wantedTiles;
}

} // namespace

DeviceTile simtTileOf(const MatmulView &view) {
  DeviceTile tile = {128, 128, 8, 4, 256, 0};
  if (isSmall(view, tile.rows, tile.columns))
    tile = {64, 64, 16, 4, 256, 0};
  tile.sharedBytes = tile.stages * tile.depth *
                     (tile.rows + tile.columns + 2 * simtPadding) * 4;
  return tile;
}

DeviceTile mmaTileOf(const MatmulView &view) {
  DeviceTile tile = {128, 128, 32, 4, 256, 0};
  if (isSmall(view, tile.rows, tile.columns))
    tile = {64, 64, 32, 4, 128, 0};
  tile.sharedBytes = tile.stages * tile.depth * (tile.rows + tile.columns) * 2;
  return tile;
}

Geometry tileGeometry(const MatmulView &view, const DeviceTile &tile) {
  MLIRContext *context = view.rows.getContext();
  auto number = [&](int64_t value) { return Expr::constant(context, value); };
  int64_t columns = view.halves ? tile.columns / 2 : tile.columns;
  Expr tiles = graph::product(context, view.batchDims);
  if (!tiles || !(tiles = tiles * view.rows.ceilDiv(number(tile.rows))) ||
      !(tiles = tiles * view.columns.ceilDiv(number(columns))))
    return {};
  return {tiles, number(1), number(0)};
}

int64_t copyBytes(const MatmulView &view, const StridedView &operand,
                  unsigned axis) {
  size_t rank = operand.strides.size();
  if (!operand.strides[rank - 2 + axis].isConstant(1))
    return 0;
  SmallVector<Expr> steps = {operand.offset, operand.strides[rank - 1 - axis]};
  llvm::append_range(steps, ArrayRef(operand.strides).drop_back(2));
  // The second half of the columns starts there.
  if (view.halves && &operand == &view.rhs)
    steps.push_back(view.columns);
  return widestCopy(graph::getElementType(operand.base), steps);
}

int64_t widestCopy(Type element, ArrayRef<Expr> steps) {
  int64_t width = graph::byteWidth(element);
  int64_t bytes = 16;
  for (Expr step : steps)
    while (bytes > width && !step.isConstant(0) &&
           !step.exactDiv(Expr::constant(step.getContext(), bytes / width)))
      bytes /= 2;
  return bytes;
}

} // namespace tenon::kernel
