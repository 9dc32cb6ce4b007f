//===- DeviceTiles.cpp - How devices cut matrix products into tiles -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/DeviceTiles.h"
#include "dialects/Kernel/DepthPieces.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

/// Large tiles that keep a large device busy, and blocks of small ones: of the
/// matrix instructions, fewer are enough.
constexpr int64_t wantedTiles = 128, simtBlocks = 264, mmaBlocks = 160;

bool isSmall(StringRef schedule) { return schedule.ends_with("Small"); }

bool isTf32(StringRef schedule) {
  return isTf32Schedule(schedule) || isTf32x3Schedule(schedule);
}

Expr tilesOf(const MatmulView &view, const DeviceTile &tile) {
  MLIRContext *context = view.rows.getContext();
  auto number = [&](int64_t value) { return Expr::constant(context, value); };
  int64_t columns = view.halves ? tile.columns / 2 : tile.columns;
  Expr tiles = graph::product(context, view.batchDims);
  if (!tiles || !(tiles = tiles * view.rows.ceilDiv(number(tile.rows))))
    return {};
  return tiles * view.columns.ceilDiv(number(columns));
}

} // namespace

std::optional<DeviceTile> matmulTileOf(StringRef schedule, bool hasFewBits) {
  DeviceTile tile;
  if (schedule == simtSchedule)
    tile = {128, 128, 8, 4, 256, 0};
  else if (schedule == simtSmallSchedule)
    tile = {64, 64, 16, 4, 256, 0};
  else if (schedule == mmaSchedule && hasFewBits)
    tile = {128, 128, 32, 4, 256, 0};
  else if (schedule == mmaSmallSchedule && hasFewBits)
    tile = {64, 64, 32, 4, 128, 0};
  else if (schedule == mmaSchedule)
    tile = {128, 128, 64, 3, 128, 0};
  else if (schedule == mmaSmallSchedule)
    tile = {64, 64, 64, 4, 128, 0};
  else if (schedule == byteSchedule)
    tile = {128, 128, 64, 4, 256, 0};
  else if (schedule == byteSmallSchedule)
    tile = {64, 64, 64, 4, 128, 0};
  else if (isTf32(schedule))
    tile = isSmall(schedule) ? DeviceTile{64, 64, 16, 4, 128, 0}
                             : DeviceTile{128, 128, 16, 4, 256, 0};
  else
    return std::nullopt;
  int64_t lines = tile.rows + tile.columns, step = lines * 2;
  if (schedule == simtSchedule || schedule == simtSmallSchedule)
    step = (lines + 2 * simtPadding) * 4;
  if (isByteSchedule(schedule))
    step = lines;
  // By lines, four elements lie between those of one and the next.
  if (isTf32(schedule))
    step = (lines + std::max(2 * mmaPadding, lines * 4 / tile.depth)) * 4;
  tile.sharedBytes = tile.stages * tile.depth * step;
  return tile;
}

Expr isFew(Expr tiles) {
  auto number = [&](int64_t value) {
    return Expr::constant(tiles.getContext(), value);
  };
  return (number(wantedTiles) - tiles).max(number(0)).min(number(1));
}

Expr tilePieces(Expr tiles, const DeviceTile &tile, Expr depth, bool isMma) {
  constexpr int64_t fewestPanels = 4;
  auto number = [&](int64_t value) {
    return Expr::constant(depth.getContext(), value);
  };
  Expr most = depth.ceilDiv(number(fewestPanels * tile.depth));
  return depthPieces(tiles, isMma ? mmaBlocks : simtBlocks,
                     most ? most.max(number(1)) : most);
}

Geometry pieceGeometry(Expr tiles, Expr pieces, const DeviceTile &tile) {
  if (!tiles || !pieces)
    return {};
  auto number = [&](int64_t value) {
    return Expr::constant(tiles.getContext(), value);
  };
  Geometry geometry = {tiles * pieces, number(1), number(0), {}};
  if (!pieces.isConstant(1))
    geometry.shared = pieceBytes(tiles, pieces, tile.rows * tile.columns * 4);
  return geometry;
}

Expr hasFewTiles(const MatmulView &view) {
  Expr tiles = tilesOf(view, *matmulTileOf(simtSchedule));
  return tiles ? isFew(tiles) : Expr();
}

Expr tilePiecesOf(const MatmulView &view, StringRef schedule) {
  if (!isSmall(schedule))
    return Expr::constant(view.rows.getContext(), 1);
  DeviceTile tile = *matmulTileOf(schedule, view.quantized.has_value());
  return tilePieces(tilesOf(view, tile), tile, view.depth,
                    isMmaSchedule(schedule) || isByteSchedule(schedule));
}

Geometry tileGeometry(const MatmulView &view, StringRef schedule) {
  DeviceTile tile = *matmulTileOf(schedule, view.quantized.has_value());
  return pieceGeometry(tilesOf(view, tile), tilePiecesOf(view, schedule), tile);
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
