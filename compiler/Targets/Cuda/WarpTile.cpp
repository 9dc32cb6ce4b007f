//===- WarpTile.cpp - Tiles whose sums warps have in fragments ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/WarpTile.h"
#include "compiler/Targets/Cuda/Words.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {

void WarpTile::locateThread(Value thread) {
  lane = e.rem(thread, e.number(32));
  Value warp = e.div(thread, e.number(32));
  warpColumn = e.rem(warp, e.number(warpsAcross));
  warpRow = e.div(warp, e.number(warpsAcross));
}

SmallVector<Value> WarpTile::zeros() {
  auto type = VectorType::get({4}, e.b.getF32Type());
  Value zero =
      arith::ConstantOp::create(e.b, DenseElementsAttr::get(type, 0.0f));
  return SmallVector<Value>(warpRows / 16 * (warpColumns / 8), zero);
}

void WarpTile::storeChunk(Value ordinal, Value thread) {
  locateThread(thread);
  Value row = e.mul(warpRow, e.number(warpRows));
  Value height = e.number(kernel::chunkRows);
  e.ifThen(e.equal(e.div(row, height), ordinal), [&] {
    Value top = e.add(e.rem(row, height), e.div(lane, e.number(4)));
    Value left = e.add(e.mul(warpColumn, e.number(warpColumns)),
                       e.mul(e.rem(lane, e.number(4)), e.number(2)));
    Value corner = e.add(e.mul(top, e.number(chunkStride)), left);
    Value base = sharedAt(sharedMemory, e.mul(corner, e.number(4)));
    for (auto [i, sum] : llvm::enumerate(sums))
      for (int64_t half : {0, 1})
        storePair(sum, half, base, i / (warpColumns / 8) * 16 + half * 8,
                  i % (warpColumns / 8) * 8);
  });
}

/// Both sums of a row of a fragment, `row` and `column` from the corner.
void WarpTile::storePair(Value sum, int64_t half, Value base, int64_t row,
                         int64_t column) {
  int64_t place = ((row % kernel::chunkRows) * chunkStride + column) * 4;
  LLVM::StoreOp::create(e.b, halfOf(e, sum, half),
                        sharedAt(base, e.number(place)), 8);
}

} // namespace tenon::cuda
