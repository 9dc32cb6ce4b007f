//===- ColumnTile.cpp - Tiles that multiply columns by rows ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/ColumnTile.h"
#include "compiler/Targets/Cuda/Words.h"
#include "dialects/Kernel/FragmentLayout.h"
#include "dialects/Ptx/Ptx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {

using kernel::fragmentColumns;

namespace {

constexpr int64_t chunkBytes = 16;
/// Chunks of a row of lhs.
constexpr int64_t rowChunks = 4;

} // namespace

ColumnTile::ColumnTile(DeviceEmitter &e, Product &product,
                       kernel::DeviceTile tile, int64_t halves,
                       ArrayRef<int64_t> partBytes)
    : WarpTile(e, product, tile), halves(halves),
      panels(tile.columns / fragmentColumns), partBytes(partBytes),
      stageBytes(tile.rows * rowChunks * chunkBytes) {
  assert(tile.depth * graph::byteWidth(product.lhs->type) ==
             rowChunks * chunkBytes &&
         "a panel is a block of k");
  for (int64_t bytes : partBytes) {
    partStarts.push_back(stageBytes);
    stageBytes += panels * bytes;
  }
  assert(tile.stages * stageBytes <= tile.sharedBytes);
}

void ColumnTile::sumProducts() {
  Value thread = threadHere();
  PanelCopies lhs = planLhs(thread);
  auto fetch = [&](Value block, Value stage) {
    start(lhs, block, stage);
    for (size_t part = 0; part < partBytes.size(); ++part)
      startPart(part, block, stage);
  };
  locateThread(thread);
  lhsPlace = placeOf(
      e.add(e.mul(warpRow, e.number(warpRows)), e.div(lane, e.number(4))),
      e.rem(lane, e.number(4)));
  SmallVector<Value> zeros(warpRows / groupRows * groupSums, noSums());
  sums =
      sumPanels(zeros, stageBytes, fetch, [&](Value stage, ValueRange before) {
        return addBlock(stage, before);
      });
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Rows share banks by twos: which chunk lies where is turned from two rows to
/// two.
Value ColumnTile::placeOf(Value row, Value chunk) {
  Value turn = e.rem(e.div(row, e.number(2)), e.number(rowChunks));
  Value turned = arith::XOrIOp::create(e.b, chunk, turn);
  return e.mul(e.add(e.mul(row, e.number(rowChunks)), turned),
               e.number(chunkBytes));
}

TileProduct::PanelCopies ColumnTile::planLhs(Value thread) {
  Operand &lhs = operandOf(/*isLhs=*/true);
  int64_t elements = chunkBytes / int64_t(graph::byteWidth(lhs.type));
  Value chunk = e.rem(thread, e.number(rowChunks));
  Value row = e.div(thread, e.number(rowChunks));
  int64_t further = tile.threads / rowChunks; // Rows, by round.
  PanelCopies copies = {
      &lhs,
      {/*isAlongDepth=*/true, hasWholeDepth(), elements, lhs.alongDepth},
      {},
      placeOf(row, chunk),
      further * rowChunks * chunkBytes};
  for (int64_t i = 0; i < tile.rows / further; ++i)
    copies.add(lineOf(e.add(row, e.number(i * further)), /*isLhs=*/true),
               e.mul(chunk, e.number(elements)));
  return copies;
}

/// Where in memory the tile's panel `i` is; behind the last one, that.
Value ColumnTile::memoryPanel(Value i) {
  Value ofHalf = e.number(panels / halves);
  Value inHalf =
      e.add(e.div(tileColumn(), e.number(fragmentColumns)), e.rem(i, ofHalf));
  Value last =
      e.div(e.sub(product.columns, e.number(1)), e.number(fragmentColumns));
  return e.add(e.mul(e.min(inHalf, last), e.number(halves)), e.div(i, ofHalf));
}

/// By as many threads as there are chunks of 16 bytes. What is computed of the
/// thread is found again for each block: registers are for sums.
void ColumnTile::startPart(size_t part, Value block, Value stage) {
  Value thread = threadHere();
  int64_t chunks = partBytes[part] / chunkBytes;
  for (int64_t from = 0; from < panels * chunks; from += tile.threads) {
    Value chunk = e.add(thread, e.number(from));
    Value panel = memoryPanel(e.div(chunk, e.number(chunks)));
    Value inside = e.mul(e.rem(chunk, e.number(chunks)), e.number(chunkBytes));
    Value place =
        e.add(e.mul(chunk, e.number(chunkBytes)), e.number(partStarts[part]));
    e.ifThen(e.less(chunk, e.number(panels * chunks)), [&] {
      Value address =
          e.address(addressOf(part, panel, block), e.b.getI8Type(), inside);
      ptx::CpAsyncOp::create(e.b, ptx::Cache::CG, uint32_t(chunkBytes),
                             sharedAt(stage, place), address, Value());
    });
  }
}

//===----------------------------------------------------------------------===//
// What a lane has
//===----------------------------------------------------------------------===//

Value ColumnTile::partAt(Value stage, size_t part) {
  return sharedAt(stage, e.add(e.number(partStarts[part]),
                               e.mul(warpColumn, e.number(partBytes[part]))));
}

Value ColumnTile::rowAt(Value stage, int64_t row) {
  // Every eighth row is turned alike.
  return sharedAt(sharedAt(stage, lhsPlace),
                  e.number(row * rowChunks * chunkBytes));
}

void ColumnTile::storeChunk(Value ordinal, Value thread) {
  locateThread(thread);
  Value height = e.number(kernel::chunkRows);
  Value row = e.mul(warpRow, e.number(warpRows));
  e.ifThen(e.equal(e.div(row, height), ordinal), [&] {
    Value top =
        e.add(e.rem(row, height), e.mul(e.rem(lane, e.number(4)), e.number(2)));
    Value left = e.add(e.mul(warpColumn, e.number(warpColumns)),
                       e.div(lane, e.number(4)));
    Value corner = e.add(e.mul(top, e.number(chunkStride)), left);
    for (auto [i, sum] : llvm::enumerate(sums))
      for (int64_t each = 0; each < 4; ++each) {
        int64_t group = int64_t(i) / groupSums, half = int64_t(i) % groupSums;
        int64_t place = (group * groupRows + each % 2) * chunkStride +
                        half * 16 + each / 2 * 8;
        e.storeRaw(elementOf(e, sum, each), sharedMemory,
                   e.add(corner, e.number(place)));
      }
  });
}

} // namespace tenon::cuda
