//===- PackedMatmulStrip.cpp - The inner kernel of packed matmuls ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which tiles a strip is cut into, and what computes them: vectors, or the
// matrix registers of levels that have them.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/PackedMatmulStrip.h"
#include "compiler/Targets/Cpu/AmxStrip.h"
#include "compiler/Targets/Cpu/F16Strip.h"
#include "compiler/Targets/Cpu/VectorStrip.h"

using namespace mlir;

namespace tenon::cpu {

int64_t stripTileRows(const CpuLevel &level, StripKind kind) {
  if (usesAmx(level, kind))
    return amxTileRows;
  if (addsF16(kind))
    return f16TileRows;
  return vectorStripRows(level, kind);
}

RowBlocks::RowBlocks(Emitter &e, Value rows, Value blocks, StripKind kind,
                     bool interleaved)
    : e(&e), step(interleaved              ? kernel::interleavedRows
                  : usesAmx(e.level, kind) ? amxTileRows
                                           : 1) {
  Value some = e.max(blocks, e.number(1));
  Value tiles = e.ceilDiv(rows, e.number(step));
  low = e.mul(e.div(tiles, some), e.number(step));
  smaller = e.sub(some, e.rem(tiles, some));
}

RowBlocks RowBlocks::whole(Emitter &e, int64_t height) {
  return RowBlocks(e, e.number(height));
}

Value RowBlocks::first(Value block) const {
  Value row = e->mul(block, low);
  if (!smaller)
    return row;
  Value larger = e->max(e->sub(block, smaller), e->number(0));
  return e->add(row, e->mul(larger, e->number(step)));
}

void forEachStripTile(Emitter &e, const Strip &strip,
                      function_ref<void(const StripTile &)> body) {
  Value most = strip.mostRows ? strip.mostRows
                              : e.number(stripTileRows(e.level, strip.kind));
  Value count = e.ceilDiv(strip.rows, most);
  // Interleaved rows come in tiles of the full height, and those of whole
  // registers; else heights differ by one at most.
  bool areFull = strip.isInterleaved || usesAmx(e.level, strip.kind);
  Value low, larger;
  if (!areFull) {
    low = e.div(strip.rows, e.max(count, e.number(1)));
    larger = e.sub(strip.rows, e.mul(low, count));
  }
  e.loop(e.number(0), count, [&](Value index) {
    StripTile tile;
    tile.index = index;
    tile.count = count;
    if (areFull) {
      tile.row = e.mul(index, most);
      tile.rows = e.min(e.sub(strip.rows, tile.row), most);
    } else {
      tile.row = e.add(e.mul(index, low), e.min(index, larger));
      tile.rows = e.select(e.less(index, larger), e.add(low, e.number(1)), low);
    }
    body(tile);
  });
}

static LLVM::LLVMFuncOp stripFunction(Emitter &e, const Strip &strip) {
  if (usesAmx(e.level, strip.kind))
    return amxStripFunction(e.module, e.level, strip);
  return addsF16(strip.kind) ? f16StripFunction(e.module, e.level, strip)
                             : vectorStripFunction(e.module, e.level, strip);
}

void callStripTile(Emitter &e, const Strip &strip, const StripTile &tile,
                   const StripTarget &target) {
  auto element = [&](Value base, Value row, Value stride) {
    return e.address(base, e.b.getF32Type(), e.mul(row, stride));
  };
  Value nextBytes =
      strip.nextBytes ? strip.nextBytes : e.number(kernel::panelColumns * 4);
  SmallVector<Value> operands = {element(strip.a, tile.row, strip.aStride),
                                 strip.aStride,
                                 strip.b,
                                 strip.depth,
                                 element(strip.c, tile.row, strip.cStride),
                                 strip.cStride,
                                 tile.rows,
                                 strip.accumulate,
                                 strip.next,
                                 target.out,
                                 target.stride,
                                 tile.index,
                                 tile.count,
                                 nextBytes};
  if (addsF16(strip.kind))
    operands.push_back(e.address(strip.factors, e.b.getF32Type(), tile.row));
  if (strip.columnFactors)
    operands.push_back(strip.columnFactors);
  if (keepsRhs(strip.kind))
    operands.push_back(strip.kept);
  LLVM::CallOp::create(e.b, stripFunction(e, strip), operands);
}

StripTarget placeInC(Emitter &e, const Strip &strip, const StripTile &tile) {
  return {e.address(strip.c, e.b.getF32Type(), e.mul(tile.row, strip.cStride)),
          strip.cStride};
}

StripTarget targetBehind(Emitter &e, const StripTarget &own,
                         const StripTarget &here, bool isOneBlock,
                         Value isLast) {
  if (isOneBlock)
    return here;
  return {e.select(isLast, here.out, own.out),
          e.select(isLast, here.stride, own.stride)};
}

void callStrip(Emitter &e, const Strip &strip) {
  forEachStripTile(e, strip, [&](const StripTile &tile) {
    callStripTile(e, strip, tile, placeInC(e, strip, tile));
  });
}

} // namespace tenon::cpu
