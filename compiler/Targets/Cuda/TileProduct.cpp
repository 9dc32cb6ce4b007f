//===- TileProduct.cpp - Tiles of a product and what follows them ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/TileProduct.h"
#include "compiler/Targets/Cuda/Compile.h"
#include "compiler/Targets/Cuda/ConvProduct.h"
#include "compiler/Targets/Cuda/MatmulRows.h"
#include "compiler/Targets/Cuda/MemoryTiles.h"
#include "compiler/Targets/Cuda/PieceSums.h"
#include "compiler/Targets/Cuda/TileAttention.h"
#include "compiler/Targets/Cuda/Words.h"
#include "dialects/Kernel/ByteProduct.h"
#include "dialects/Kernel/FewRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tenon::cuda {

using kernel::chunkRows;

TileProduct::TileProduct(DeviceEmitter &e, Product &product,
                         kernel::DeviceTile tile, int64_t padding)
    : e(e), product(product), tile(tile), chunkStride(tile.columns + padding),
      sharedMemory(e.sharedMemory()) {}

void TileProduct::emit(Value ordinal) {
  if (product.pieces) {
    piece = e.rem(ordinal, product.pieces);
    part = ordinal = e.div(ordinal, product.pieces);
  }
  locate(ordinal);
  sumProducts();
  if (e.readsWeightsFirst())
    e.waitForLaunch(); // Where there was no panel, for the first time.
  // Nobody reads panels any more.
  barrier();
  if (isDone)
    e.ifThen(isDone, [&] { emitChunks(); });
  else
    emitChunks();
}

/// Tiles of eight rows of tiles follow each other by columns: those that run at
/// the same time share what they read.
void TileProduct::locate(Value ordinal) {
  constexpr int64_t groupHeight = 8;
  Value high = e.ceilDiv(product.rows, e.number(tile.rows));
  Value wide = e.ceilDiv(product.columns, e.number(tileColumns()));
  Value batch = e.number(0);
  if (product.hasBatches) {
    Value count = e.max(e.mul(high, wide), e.number(1));
    batch = e.div(ordinal, count);
    ordinal = e.rem(ordinal, count);
  }
  Value inGroup = e.max(e.mul(wide, e.number(groupHeight)), e.number(1));
  Value first = e.mul(e.div(ordinal, inGroup), e.number(groupHeight));
  Value height = e.min(e.number(groupHeight), e.sub(high, first));
  Value place = e.rem(ordinal, inGroup);
  row = e.mul(e.add(first, e.rem(place, height)), e.number(tile.rows));
  column = e.mul(e.div(place, height), e.number(tileColumns()));
  product.enter(batch);
}

namespace {

bool isMultiple(Value size, int64_t of) {
  std::optional<int64_t> known = getConstantIntValue(size);
  return known && *known % of == 0;
}

} // namespace

Line TileProduct::lhsLine(Value i) {
  Value index = e.add(row, i);
  if (isMultiple(product.rows, tile.rows))
    return {index, Value()};
  return {index, e.sub(product.rows, index)};
}

Line TileProduct::rhsLine(Value i) {
  bool isWhole = isMultiple(product.columns, tileColumns());
  if (product.results.size() == 1) {
    Value index = e.add(column, i);
    return {index, isWhole ? Value() : e.sub(product.columns, index)};
  }
  Value inHalf = e.add(column, e.rem(i, e.number(tileColumns())));
  Value half = e.div(i, e.number(tileColumns()));
  return {e.add(inHalf, e.mul(half, product.columns)),
          isWhole ? Value() : e.sub(product.columns, inHalf)};
}

void TileProduct::barrier() {
  ptx::NamedBarrierOp::create(e.b, 0, tile.threads, /*arrive=*/false);
}

Value TileProduct::sharedAt(Value from, Value offset) {
  return e.address(from, e.b.getI8Type(), offset);
}

Value TileProduct::word(Value number) {
  return arith::TruncIOp::create(e.b, e.b.getI32Type(), number);
}

Value TileProduct::threadHere() { return e.threadHere(); }

bool TileProduct::hasWholeDepth() const {
  return isMultiple(product.depth, tile.depth);
}

//===----------------------------------------------------------------------===//
// What follows the product
//===----------------------------------------------------------------------===//

void TileProduct::emitChunks() {
  thread = threadHere();
  e.loop(e.number(0), e.number(tile.rows / chunkRows), [&](Value chunk) {
    storeChunk(chunk, thread);
    barrier();
    Value firstRow = e.add(row, e.mul(chunk, e.number(chunkRows)));
    if (product.hasRowsTogether) {
      storeTurned(firstRow);
    } else {
      Value inTile = e.rem(thread, e.number(tileColumns()));
      e.ifThen(e.less(e.add(column, inTile), product.columns), [&] {
        storeColumn(firstRow, inTile, tile.threads / tileColumns());
      });
    }
    barrier();
  });
}

/// Every `apart`-th row of a chunk. Where all are there, several at a time:
/// what they load is then on its way together.
void TileProduct::storeColumn(Value firstRow, Value inTile, int64_t apart) {
  // Small tiles of few threads have the registers for more.
  const int64_t together = tile.rows == 64 && tile.threads == 128 ? 8 : 4;
  Value mine = e.div(thread, e.number(tileColumns()));
  Value limit = e.sub(product.rows, firstRow);
  Value isWhole = e.less(e.number(chunkRows - 1), limit);
  std::optional<int64_t> known = getConstantIntValue(product.rows);
  bool isAlwaysWhole = known && *known % tile.rows == 0;
  if (isAlwaysWhole)
    isWhole = e.equal(limit, limit);
  e.ifThen(isWhole, [&] {
    e.loop(
        mine, e.number(chunkRows),
        [&](Value first) {
          for (int64_t i = 0; i < together; ++i)
            storeElement(firstRow, e.add(first, e.number(i * apart)), inTile);
        },
        apart * together);
  });
  if (isAlwaysWhole)
    return;
  e.ifThen(e.less(limit, e.number(chunkRows)), [&] {
    e.loop(
        mine, limit, [&](Value i) { storeElement(firstRow, i, inTile); },
        apart);
  });
}

/// Of a result that is the product's transpose, rows are neighbours.
void TileProduct::storeTurned(Value firstRow) {
  Value inChunk = e.rem(thread, e.number(chunkRows));
  Value limit = e.min(e.number(tileColumns()), e.sub(product.columns, column));
  e.ifThen(e.less(e.add(firstRow, inChunk), product.rows), [&] {
    e.loop(
        e.div(thread, e.number(chunkRows)), limit,
        [&](Value i) { storeElement(firstRow, inChunk, i); },
        tile.threads / chunkRows);
  });
}

void TileProduct::storeElement(Value firstRow, Value inChunk, Value inTile) {
  Type element = graph::getElementType(product.results[0]);
  Type type = isa<FloatType>(element) ? Type(e.b.getF32Type()) : element;
  Value at = e.add(e.mul(inChunk, e.number(chunkStride)), inTile);
  Value n = e.add(column, inTile);
  Product::Place place = product.placeOf(firstRow, inChunk, n);
  for (auto [i, result] : llvm::enumerate(product.results)) {
    Value from = i == 0 ? at : e.add(at, e.number(i * tileColumns()));
    Value sum = e.loadRaw(sharedMemory, type, from);
    if (isa<FloatType>(element))
      sum = cpu::roundTo(e.b, sum, element);
    else
      sum = product.finished(sum, n);
    e.bind(result, place.index, sum);
  }
  e.storeYields(place.index, place.position);
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

std::optional<kernel::DeviceTile> tileOf(kernel::FuncOp kernel) {
  if (std::optional<kernel::DeviceTile> tile = memoryTileOf(kernel))
    return tile;
  if (auto attention = attentionTileOf(kernel))
    return attention;
  StringRef schedule = kernel.getSchedule();
  Operation *root = kernel::findRoot(kernel.getBlock());
  std::optional<kernel::MatmulView> product;
  if (auto op = dyn_cast_if_present<graph::MatmulOp>(root))
    product = kernel::matmulViewOf(op);
  if (auto tile = kernel::matmulTileOf(schedule, product && product->quantized))
    return tile;
  if (schedule == kernel::fewRowsSchedule && product)
    return kernel::fewRowsTileOf(*product);
  std::string why;
  if (auto op = dyn_cast_if_present<graph::ConvOp>(root))
    if (auto view = kernel::convTilesViewOf(op, why))
      return kernel::convTileOf(*view, schedule);
  return std::nullopt;
}

/// Small tiles have the registers for it, where copies are wide: others spill.
bool copiesWeights(kernel::FuncOp kernel) {
  auto weights = kernel->getAttrOfType<DenseI64ArrayAttr>(weightsAttribute);
  auto op =
      dyn_cast_if_present<graph::MatmulOp>(kernel::findRoot(kernel.getBlock()));
  if (!weights || !op || kernel.getSchedule() != kernel::mmaSmallSchedule)
    return false;
  std::optional<kernel::MatmulView> view = kernel::matmulViewOf(op);
  // Which matrix a batch has, another launch may have found.
  if (!view || view->quantized || view->picks)
    return false;
  for (const kernel::StridedView *operand : {&view->lhs, &view->rhs})
    if (kernel::copyBytes(*view, *operand, 0) < 16 &&
        kernel::copyBytes(*view, *operand, 1) < 16)
      return false;
  auto rhs = cast<BlockArgument>(view->rhs.base);
  return llvm::is_contained(weights.asArrayRef(), int64_t(rhs.getArgNumber()));
}

LogicalResult emitTile(DeviceEmitter &e, Value ordinal) {
  if (std::optional<LogicalResult> done = emitMemoryTile(e, ordinal))
    return *done;
  if (attentionTileOf(e.kernel))
    return emitAttentionTile(e, ordinal);
  if (e.kernel.getSchedule() == kernel::fewRowsSchedule)
    return emitMatmulRows(e, ordinal);
  StringRef schedule = e.kernel.getSchedule();
  kernel::DeviceTile tile = *tileOf(e.kernel);
  Operation *root = kernel::findRoot(e.kernel.getBlock());
  if (auto op = dyn_cast<graph::ConvOp>(root)) {
    std::string why;
    auto view = kernel::convTilesViewOf(op, why);
    if (!view)
      return op.emitOpError(why) << "; please report this";
    ConvProduct product(e, op, *view, tile.depth);
    kernel::Expr pieces = kernel::tilePiecesOf(*view, schedule);
    if (!pieces.isConstant(1))
      product.pieces = e.valueOf(pieces);
    if (kernel::isConvBytes(schedule)) {
      emitByteTile(e, product, tile,
                   {view->filter, view->depth(), /*isFromMiddle=*/false},
                   ordinal);
      return success();
    }
    auto emit = kernel::isConvMma(schedule)      ? emitMmaTile
                : kernel::isConvTf32(schedule)   ? emitTf32Tile
                : kernel::isConvTf32x3(schedule) ? emitTf32x3Tile
                                                 : emitSimtTile;
    emit(e, product, tile, ordinal);
    return success();
  }
  auto op = cast<graph::MatmulOp>(root);
  bool isOfBytes = kernel::isByteSchedule(schedule);
  std::optional<kernel::MatmulView> view =
      isOfBytes ? kernel::byteProductOf(op) : kernel::matmulViewOf(op);
  if (!view)
    return op.emitOpError("is no product of views; please report this");
  MatmulProduct product(e, op, *view);
  kernel::Expr pieces = kernel::tilePiecesOf(*view, schedule);
  if (!pieces.isConstant(1))
    product.pieces = e.valueOf(pieces);
  if (isOfBytes) {
    emitByteTile(e, product, tile,
                 {cast<BlockArgument>(view->rhs.base),
                  *view->depth.asConstant(), kernel::countsFromMiddle(op)},
                 ordinal);
    return success();
  }
  if (view->quantized) {
    emitFewBitsTile(e, product, tile, *view->quantized, ordinal);
    return success();
  }
  auto emit = kernel::isMmaSchedule(schedule)      ? emitMmaTile
              : kernel::isTf32Schedule(schedule)   ? emitTf32Tile
              : kernel::isTf32x3Schedule(schedule) ? emitTf32x3Tile
                                                   : emitSimtTile;
  emit(e, product, tile, ordinal);
  return success();
}

} // namespace tenon::cuda
