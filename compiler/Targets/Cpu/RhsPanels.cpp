//===- RhsPanels.cpp - The right side of a product, panel by panel --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/RhsPanels.h"
#include "compiler/Targets/Cpu/F16Operands.h"
#include "compiler/Targets/Cpu/QuantizedTile.h"
#include "dialects/Kernel/Packing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {

using kernel::panelColumns;

namespace {

Value element(Emitter &e, Value base, Value offset) {
  return e.address(base, e.b.getF32Type(), offset);
}

} // namespace

RhsPanels::RhsPanels(Emitter &e, const kernel::MatmulView &view, Value packed,
                     RowCount count)
    : e(e), view(view), quantized(view.quantized), packed(packed),
      depth(e.valueOf(view.depth)), knownDepth(view.depth.asConstant()),
      areFew(count == RowCount::Few), makesPairs(count == RowCount::Many),
      hasPairs(view.hasPairs()),
      multiplies(makesPairs || (hasPairs && multipliesPairs(e.level, view))),
      inF16(makesPairs && !multipliesPairs(e.level, view)),
      isF16(view.hasF16Rhs()), parts(view.halves ? 2 : 1) {
  Value pairs = e.div(depth, e.number(2));
  packedDepth = hasPairs ? pairs : depth;
  if (!multiplies)
    return;
  depth = pairs;
  knownDepth = *knownDepth / 2;
}

bool RhsPanels::multipliesPairs(const CpuLevel &level,
                                const kernel::MatmulView &view) {
  return level.pairDots != PairDots::None && view.lhsLiesInPairs();
}

bool RhsPanels::addsF16(const CpuLevel &level, const kernel::MatmulView &view) {
  std::optional<int64_t> depth = view.depth.asConstant();
  return level.f16Fma != F16Fma::None && !multipliesPairs(level, view) &&
         view.mayAddF16 && !(view.skipped && view.quantized) && depth &&
         *depth > 0 && *depth % 2 == 0;
}

bool RhsPanels::canMakePairs(const CpuLevel &level,
                             const kernel::MatmulView &view) {
  return addsF16(level, view) ||
         (multipliesPairs(level, view) && view.quantized &&
          view.depth.asConstant().value_or(1) % 2 == 0);
}

int64_t RhsPanels::panelElements() const {
  return view.panelScratchBytes(scratchDepth(), packed != nullptr) / 4;
}

int64_t RhsPanels::scratchBytes() const {
  return packed && !hasPairs && !isF16 && !quantized
             ? 0
             : parts * panelElements() * 4;
}

/// Of what comes packed in floats or pairs.
Value RhsPanels::inPacked(Value base, Value offset) {
  return isF16 ? e.address(base, e.b.getF16Type(), offset)
               : element(e, base, offset);
}

void RhsPanels::startBatch(Value batch, Value panels, const Matrix &matrix) {
  this->batch = batch;
  rhs = matrix;
  packedBatch = packed;
  if (packed && view.rhs.strides.size() > 2)
    packedBatch =
        inPacked(packed, e.mul(e.mul(batch, e.mul(panels, packedDepth)),
                               e.number(panelColumns)));
}

/// Where the packed block [k, ..) of a panel lies.
Value RhsPanels::packedAt(Value panel, Value k) {
  if (quantized)
    return quantizedAt(panel, makesPairs ? e.mul(k, e.number(2)) : k);
  Value row = hasPairs && !multiplies ? e.div(k, e.number(2))
              : makesPairs && isF16   ? e.mul(k, e.number(2))
                                      : k;
  return inPacked(packedBatch, e.mul(e.add(e.mul(panel, packedDepth), row),
                                     e.number(panelColumns)));
}

Value RhsPanels::scratchOf(Value place, int64_t part) {
  Value at = e.add(e.mul(place, e.number(parts)), e.number(part));
  return element(e, panel, e.mul(at, e.number(panelElements())));
}

/// A block of rhs that does not come packed. Pairs that the level does not
/// multiply lie at the end of their place until they are widened.
void RhsPanels::packBlock(const Strip &work, const PanelBlock &block,
                          int64_t part) {
  Value n = e.add(e.mul(block.panel, e.number(panelColumns)),
                  e.mul(e.valueOf(view.columns), e.number(part)));
  Value two = e.number(2);
  Matrix slice = rhs;
  slice.base = rhs.at(e, multiplies ? e.mul(block.k, two) : block.k, n);
  if (!hasPairs)
    packPanel(e, slice, work.b, inF16 ? e.mul(work.depth, two) : work.depth,
              block.width);
  else if (multiplies)
    packPairs(e, slice, work.b, work.depth, block.width);
  if (inF16)
    callRoundPanel(e, work.b, work.depth, work.columnFactors, hasPairs);
  if (!hasPairs || multiplies)
    return;
  Value pairs = e.div(work.depth, two);
  Value behind = element(e, work.b, e.mul(pairs, e.number(panelColumns)));
  packPairs(e, slice, behind, pairs, block.width);
  widenPanel(e, behind, work.b, pairs);
}

Strip RhsPanels::partOf(Strip work, const PanelBlock &block, int64_t part) {
  if (!packed) {
    work.b = scratchOf(block.place, part);
    work.next = scratchOf(block.nextPlace, part);
    if (inF16) // Half of the place has room for the numbers.
      work.columnFactors =
          element(e, work.b, e.mul(work.depth, e.number(panelColumns)));
    auto pack = [&] { packBlock(work, block, part); };
    if (block.isNew)
      e.ifThen(block.isNew, pack);
    else
      pack();
    return work;
  }
  auto panelOf = [&](Value block) {
    return e.add(e.mul(block, e.number(parts)), e.number(part));
  };
  Value own = panelOf(block.panel), first = panelOf(block.begin);
  // While one part is multiplied, the same part of the next panel is fetched:
  // what lies behind it is another part of this one.
  Value next = e.add(block.panel, e.number(1)), follower = panelOf(next);
  Value isLast = e.equal(next, block.end);
  work.b = packedAt(own, block.k);
  // Behind all blocks comes the next chunk, of this piece or another one.
  Value more = e.less(block.kEnd, depth);
  Value behind = e.select(more, block.kEnd, e.number(0));
  work.next = packedAt(e.select(e.both(isLast, more), first, follower),
                       e.select(isLast, behind, block.k));
  if (makesPairs && !isF16)
    return pairedPart(work, own, block.k, part);
  if (!widens() && !makesPairs)
    return work;
  if (quantized)
    return quantizedPart(work, own, block.k, part);
  work.narrow = work.b;
  work.b = scratchOf(e.number(0), part);
  if (makesPairs) // A step is two.
    return work;
  work.nextBytes = e.number(panelColumns * 2);
  if (isF16 || keepsPairs()) // The first tile widens it in passing.
    return work;
  e.ifThen(isMany(work.rows), [&] {
    widenPanel(e, work.narrow, work.b, e.div(work.depth, e.number(2)));
  });
  return work;
}

/// Where the numbers of a panel lie, from step k on. It holds all batches'.
Value RhsPanels::quantizedAt(Value panel, Value k) {
  const kernel::QuantizedRhs &rhs = *quantized;
  int64_t steps = llvm::alignTo(rhs.block * rhs.allBlocks(),
                                rhs.bits == 4 ? kernel::stepsOfWord : 1);
  Value first = e.mul(panel, e.number(bytesOfSteps(rhs, steps)));
  if (rhs.batches)
    first = e.add(
        first,
        e.mul(batch, e.number(bytesOfSteps(rhs, rhs.block * rhs.blocks))));
  return e.address(packedBatch, e.b.getI8Type(),
                   e.add(first, bytesOfSteps(e, rhs, k)));
}

/// The numbers of a strip's block, from step k on, and their scales.
void RhsPanels::findSides(Strip &work, Value panel, Value k) {
  const kernel::QuantizedRhs &rhs = *quantized;
  auto lineOf = [&](Value side) -> Value {
    if (!side)
      return {};
    Value row = e.mul(panel, e.number(rhs.allBlocks()));
    if (rhs.batches)
      row = e.add(row, e.mul(batch, e.number(rhs.blocks)));
    if (rhs.blocks > 1)
      row = e.add(row, e.div(k, e.number(rhs.block)));
    return e.address(e.argumentBuffer(cast<BlockArgument>(side).getArgNumber()),
                     Emitter::memoryType(graph::getElementType(side)),
                     e.mul(row, e.number(panelColumns)));
  };
  work.narrow = work.b;
  work.scales = lineOf(rhs.scales);
  work.zeros = lineOf(rhs.zeros);
}

Strip RhsPanels::pairedPart(Strip work, Value panel, Value k, int64_t part) {
  // Of rows that are listed there may be none.
  auto convert = [&](function_ref<void()> body) {
    if (view.skipped)
      e.ifThen(e.less(e.number(0), work.rows), body);
    else
      body();
  };
  if (hasPairs) {
    Value block = work.b;
    work.b = scratchOf(e.number(0), part);
    convert([&] { pairsToF16(e, block, work.b, work.depth); });
    return work;
  }
  const kernel::QuantizedRhs &rhs = *quantized;
  Value two = e.number(2);
  findSides(work, panel, e.mul(k, two));
  work.b = scratchOf(e.number(0), part);
  work.nextBytes = e.number(panelColumns * rhs.bits / 4);
  convert([&] {
    callQuantizedPairs(
        e, rhs, {work.narrow, work.scales, work.zeros, e.mul(work.depth, two)},
        work.b, inF16 ? Type(e.b.getF16Type()) : e.b.getBF16Type());
  });
  work.narrow = {};
  return work;
}

Strip RhsPanels::quantizedPart(Strip work, Value panel, Value k, int64_t part) {
  const kernel::QuantizedRhs &rhs = *quantized;
  findSides(work, panel, k);
  work.b = scratchOf(e.number(0), part);
  work.nextBytes = e.number(panelColumns * rhs.bits / 8);
  e.ifThen(isMany(work.rows), [&] {
    callQuantizedCopy(
        e, rhs, {work.narrow, work.scales, work.zeros, work.depth}, work.b);
  });
  return work;
}

void RhsPanels::callQuantized(const Strip &work, const StripTile &tile,
                              const StripTarget &target) {
  Value m = tile.row;
  e.ifThen(isFew(work.rows), [&] {
    callQuantizedTile(
        e, *quantized, {work.narrow, work.scales, work.zeros, work.depth},
        {element(e, work.a, e.mul(m, work.aStride)), work.aStride, tile.rows,
         element(e, work.c, e.mul(m, work.cStride)), work.cStride,
         work.accumulate, target.out, target.stride, view.hasHalfLhs()});
  });
  e.ifThen(isMany(work.rows),
           [&] { callWidth(work, tile, target, e.number(panelColumns)); });
}

int64_t RhsPanels::blockDepth() const {
  if (inF16 && view.hasBlocksOfPairs())
    return kernel::blockDepth(knownDepth);
  if (makesPairs)
    return (quantized ? quantized->blockDepth(2 * *knownDepth)
                      : kernel::blockDepth(2 * *knownDepth)) /
           2;
  return quantized ? quantized->blockDepth(knownDepth)
                   : kernel::blockDepth(knownDepth);
}

Value RhsPanels::stepsAtOnce(Value rows) {
  Value block = e.number(blockDepth());
  // A panel of a few rows is one stream.
  return quantized && !makesPairs
             ? e.select(isFew(rows), e.max(depth, e.number(1)), block)
             : block;
}

/// The most rows of a tile that turns what is narrow into f32.
int64_t RhsPanels::narrowTileRows() const {
  return quantized ? quantizedTileRows(e.level)
                   : stripTileRows(e.level, StripKind::Widened);
}

/// The most rows whose tiles each turn what is narrow into f32. Those of
/// shorter vectors are lower, so that more of them do it again.
int64_t RhsPanels::mostFew() const {
  if (e.level.vectorBits >= 512 || isF16)
    return kernel::fewRows;
  return quantized ? 2 * narrowTileRows() : mostRowsThatWiden(e.level);
}

/// Tiles of few rows scale sums of a block, others its numbers, which makes
/// other bits: so all rows decide, not those of the piece. Of rows that are
/// listed a piece may have any part of a group's list, and with it few or many,
/// but where a group is one block.
Value RhsPanels::isFew(Value rows) {
  if (areFew)
    return arith::ConstantIntOp::create(e.b, 1, 1);
  Value all = e.valueOf(view.rows);
  Value isFew = e.less(view.skipped ? rows : all, e.number(mostFew() + 1));
  if (!quantized || !view.skipped)
    return isFew;
  return e.both(isFew, e.less(all, e.number(kernel::blockRows + 1)));
}

Value RhsPanels::isMany(Value rows) {
  if (areFew)
    return arith::ConstantIntOp::create(e.b, 0, 1);
  if (!quantized || !view.skipped)
    return e.less(e.number(mostFew()),
                  view.skipped ? rows : e.valueOf(view.rows));
  Value one = arith::ConstantIntOp::create(e.b, 1, 1);
  return arith::XOrIOp::create(e.b, isFew(rows), one);
}

Value RhsPanels::mostRows(Value rows) {
  if (!widens() || isF16)
    return {};
  return e.select(isFew(rows), e.number(narrowTileRows()),
                  e.number(stripTileRows(e.level)));
}

void RhsPanels::callTile(const Strip &work, const StripTile &tile,
                         const StripTarget &target, Value width) {
  if (!work.narrow)
    return callWidth(work, tile, target, width);
  if (quantized)
    return callQuantized(work, tile, target);
  // From the panel as it lies where its rows are few.
  Strip narrow = work;
  if (makesPairs) {
    narrow.b = work.narrow;
    return keepFirst(work, narrow, StripKind::F16PairsAndKept, tile, target,
                     width);
  }
  if (isF16) {
    narrow.b = work.narrow;
    narrow.kind = StripKind::F16;
    return callAndKeep(work, narrow, StripKind::F16AndKept, tile, target,
                       width);
  }
  narrow.kind = StripKind::Widened;
  narrow.b = work.narrow;
  narrow.depth = e.div(work.depth, e.number(2));
  narrow.nextBytes = {};
  if (keepsPairs())
    return callAndKeep(work, narrow, StripKind::WidenedAndKept, tile, target,
                       width);
  e.ifThen(isFew(work.rows), [&] { callWidth(narrow, tile, target, width); });
  e.ifThen(isMany(work.rows), [&] { callWidth(work, tile, target, width); });
}

/// With AVX2 both halves of a row of B and sums of six rows are more than the
/// registers.
bool RhsPanels::keepsPairs() const {
  return hasPairs && packed && !multiplies && !quantized &&
         e.level.vectorBits >= 512;
}

/// Of few rows every tile widens, of many the first one does it for all.
void RhsPanels::callAndKeep(const Strip &work, const Strip &narrow,
                            StripKind keeping, const StripTile &tile,
                            const StripTarget &target, Value width) {
  e.ifThen(isFew(work.rows), [&] { callWidth(narrow, tile, target, width); });
  e.ifThen(isMany(work.rows),
           [&] { keepFirst(work, narrow, keeping, tile, target, width); });
}

void RhsPanels::keepFirst(const Strip &work, Strip narrow, StripKind keeping,
                          const StripTile &tile, const StripTarget &target,
                          Value width) {
  narrow.kept = work.b;
  narrow.kind = keeping;
  e.ifThen(e.equal(tile.index, e.number(0)),
           [&] { callWidth(narrow, tile, target, width); });
  e.ifThen(e.less(e.number(0), tile.index),
           [&] { callWidth(work, tile, target, width); });
}

void RhsPanels::callWidth(Strip work, const StripTile &tile,
                          const StripTarget &target, Value width) {
  auto call = [&](int64_t columns) {
    work.columns = columns;
    callStripTile(e, work, tile, target);
  };
  if (std::optional<int64_t> known = getConstantIntValue(width))
    return call(*known);
  if (packed)
    return call(panelColumns);
  constexpr int64_t step = 16;
  Value steps = e.ceilDiv(width, e.number(step));
  for (int64_t i = 1; i * step <= panelColumns; ++i)
    e.ifThen(e.equal(steps, e.number(i)), [&] { call(i * step); });
}

} // namespace tenon::cpu
