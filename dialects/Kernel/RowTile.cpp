//===- RowTile.cpp - How threads of a device share rows -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/RowTile.h"
#include "dialects/Kernel/DepthPieces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

constexpr int64_t warp = 32, mostThreads = 1024;

/// Of a block that has several rows, or rows of an unknown length.
constexpr int64_t usualThreads = 128;

/// Values that a thread should have of a row, and those that it has the
/// registers for.
constexpr int64_t fewValues = 16, mostValues = 32;

/// Four slots of 8 bytes for each warp: two values, twice.
/// Behind them, a word for all.
int64_t sharedBytes(int64_t threads) { return threads / warp * 4 * 8 + 16; }

} // namespace

int64_t powerInside(Expr size, int64_t limit) {
  if (size.isConstant(0))
    return limit;
  while (limit > 1 && !size.exactDiv(Expr::constant(size.getContext(), limit)))
    limit /= 2;
  return limit;
}

int64_t widestVector(Block &body) {
  int64_t narrowest = 4;
  auto visit = [&](Value value) {
    Type element = graph::getElementType(value);
    if (isa<FloatType>(element))
      narrowest = std::min<int64_t>(narrowest, graph::byteWidth(element));
  };
  llvm::for_each(body.getArguments(), visit);
  llvm::for_each(body.getTerminator()->getOperands(), visit);
  return 16 / narrowest;
}

RowTile rowTileOf(Block &body, const RowView &view) {
  int64_t width = widestVector(body);
  std::optional<int64_t> length = view.length.asConstant();
  if (!length) // Whether rows are whole vectors is seen when they are there.
    return {width, usualThreads, usualThreads, 0, sharedBytes(usualThreads)};
  width = powerInside(view.length, width);
  int64_t vectors = std::max<int64_t>(llvm::divideCeil(*length, width), 1);
  int64_t few = std::max<int64_t>(std::max(fewValues, 4 * width) / width, 1);
  RowTile tile = {width, usualThreads, warp, 0, 0};
  if (vectors <= warp * few) {
    tile.rowThreads = std::min<int64_t>(
        llvm::PowerOf2Ceil(llvm::divideCeil(vectors, 2)), warp);
  } else {
    tile.threads =
        std::clamp<int64_t>(llvm::PowerOf2Ceil(llvm::divideCeil(vectors, few)),
                            usualThreads, mostThreads);
    tile.rowThreads = tile.threads;
    tile.sharedBytes = sharedBytes(tile.threads);
  }
  int64_t held = llvm::divideCeil(vectors, tile.rowThreads);
  if (held * width <= mostValues && view.steps.empty())
    tile.held = held;
  return tile;
}

Expr rowPieces(const RowView &view, const RowTile &tile) {
  // What a thread should have of a piece, and blocks that keep a device busy.
  constexpr int64_t fewVectors = 8, wantedBlocks = 256;
  auto number = [&](int64_t value) {
    return Expr::constant(view.root->getContext(), value);
  };
  if (!isa<graph::ReduceOp, graph::ArgReduceOp>(view.root) || tile.held > 0 ||
      tile.rows() > 1 || !view.steps.empty())
    return number(1);
  Expr vectors = number(tile.threads * tile.width * fewVectors);
  Expr most = view.length.ceilDiv(vectors).min(number(tile.threads));
  Expr rows = graph::product(view.root->getContext(), view.leadDims);
  Expr pieces = depthPieces(rows, wantedBlocks, most);
  return pieces && pieceBytes(rows, pieces, rowPieceBytes) ? pieces : number(1);
}

Geometry rowTileGeometry(const RowView &view, const RowTile &tile) {
  MLIRContext *context = view.root->getContext();
  auto number = [&](int64_t value) { return Expr::constant(context, value); };
  Expr rows = graph::product(context, view.leadDims);
  if (!rows)
    return {};
  Expr pieces = rowPieces(view, tile);
  if (pieces.isConstant(1))
    return {rows.ceilDiv(number(tile.rows())), number(1), number(0)};
  return {rows * pieces, number(1), number(0),
          pieceBytes(rows, pieces, rowPieceBytes)};
}

ColumnTile columnTileOf(Block &body, const RowView &view) {
  // Fewer blocks leave most of a device idle.
  constexpr int64_t enoughBlocks = 256, fewestThreads = 64;
  MLIRContext *context = view.root->getContext();
  int64_t width = powerInside(view.length, widestVector(body));
  if (!view.length.asConstant())
    width = 1;
  Expr lead = graph::product(context, view.leadDims);
  std::optional<int64_t> columns, steps;
  if (lead && (lead = lead * view.length))
    columns = lead.asConstant();
  while (width > 1 && columns.value_or(0) < enoughBlocks * warp * width)
    width /= 2;
  if (Expr walked = graph::product(context, view.stepDims))
    steps = walked.asConstant();
  // Four steps at a time for each warp.
  int64_t threads = llvm::PowerOf2Ceil(steps.value_or(32) / 4 + 1) * warp;
  threads = std::clamp(threads, fewestThreads, mostThreads / width);
  // A double, or two floats, of each column.
  return {width, threads, threads * width * 8};
}

Geometry columnTileGeometry(const RowView &view, const ColumnTile &tile) {
  MLIRContext *context = view.root->getContext();
  auto number = [&](int64_t value) { return Expr::constant(context, value); };
  Expr blocks = graph::product(context, view.leadDims);
  if (!blocks ||
      !(blocks = blocks * view.length.ceilDiv(number(warp * tile.width))))
    return {};
  return {blocks, number(1), number(0)};
}

} // namespace tenon::kernel
