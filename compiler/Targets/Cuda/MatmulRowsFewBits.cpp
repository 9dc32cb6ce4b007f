//===- MatmulRowsFewBits.cpp - Few rows by weights of few bits ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A warp takes every eighth block of k of a panel, and multiplies its columns
// as the lhs of matrix instructions: eight rows cost what one does, and no
// number is rounded. Some blocks are on their way at a time.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cuda/RowsMatmul.h"
#include "compiler/Targets/Cuda/WideLoads.h"
#include "compiler/Targets/Cuda/Words.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tenon::cuda {

using kernel::FewRows;
using kernel::fragmentColumns;
using kernel::fragmentSteps;

/// A lane's eight steps of k of a row, from step `k` on, as pairs; where lhs
/// may end within them, zeros behind.
SmallVector<Value> RowsMatmul::lhsPairs(Value offset, Value k, bool mayEnd) {
  constexpr int64_t steps = 8;
  int64_t wide = left.alongDepth / 2;
  SmallVector<Value> words;
  for (int64_t i = 0; i < steps; i += wide) {
    Value at = e.add(k, e.number(i)), isThere;
    if (mayEnd) {
      isThere = e.less(at, product.depth);
      at = e.select(isThere, at, e.number(0));
    }
    Value place = e.add(offset, e.mul(at, left.depthStride));
    Value from = e.address(left.base, e.memoryType(left.type), place);
    for (Value word : loadWords(e, from, wide / 2)) {
      if (mayEnd)
        word = arith::SelectOp::create(e.b, isThere, word,
                                       e.zero(e.b.getI32Type()));
      words.push_back(word);
    }
  }
  return words;
}

RowsMatmul::LaneBlock RowsMatmul::loadBlock(ArrayRef<Value> lhs, Value block,
                                            bool mayEnd) {
  LaneBlock loaded;
  Value lane = e.rem(thread, e.number(32));
  for (int64_t part = 0; part < plan.panels; ++part) {
    Value panel = fewBits->panelOf(e.div(column, e.number(fragmentColumns)),
                                   e.number(part));
    loaded.rhs.push_back(fewBits->load(fewBits->numbersAt(panel, block),
                                       fewBits->scalesAt(panel, block),
                                       fewBits->zerosAt(panel, block), lane));
  }
  Value k = e.add(e.mul(block, e.number(fragmentSteps)),
                  e.mul(e.rem(lane, e.number(4)), e.number(8)));
  for (Value offset : lhs)
    loaded.lhs.push_back(lhsPairs(offset, k, mayEnd));
  return loaded;
}

/// Adds the products of a block to sums of [panel][group of rows].
void RowsMatmul::addBlock(const LaneBlock &block, MutableArrayRef<Value> sums) {
  for (const FewBits::Words &words : block.rhs) {
    FewBits::Factors columns = fewBits->factorsOf(words);
    for (const SmallVector<Value> &row : block.lhs) {
      fewBits->multiply(columns, row, sums.take_front(FewBits::groupSums));
      sums = sums.drop_front(FewBits::groupSums);
    }
  }
}

void RowsMatmul::sumFewBits(int64_t lines) {
  Value lane = e.rem(thread, e.number(32)), warp = e.div(thread, e.number(32));
  SmallVector<Value> lhs;
  Value last = e.sub(product.rows, e.number(1));
  for (int64_t first = 0; first < lines; first += FewBits::groupRows) {
    Value mine = e.add(e.number(first), e.div(lane, e.number(4)));
    lhs.push_back(e.mul(e.min(e.add(row, mine), last), left.lineStride));
  }
  SmallVector<Value> sums(size_t(plan.panels) * lhs.size() * FewBits::groupSums,
                          fewBits->noSums());
  // As many loads of numbers on their way as registers of lhs and rhs allow.
  int64_t atOnce =
      std::max<int64_t>(1, 16 / (fewBits->numberBytes() / 128 * plan.panels));
  auto sumBlocks = [&](Value first, Value end, int64_t count, bool mayEnd) {
    sums = e.loop(
        first, end, sums,
        [&](Value block, ValueRange before) {
          SmallVector<Value> now(before);
          std::vector<LaneBlock> blocks;
          for (int64_t i = 0; i < count; ++i)
            blocks.push_back(loadBlock(
                lhs, e.add(block, e.number(i * FewRows::warps)), mayEnd));
          for (const LaneBlock &each : blocks)
            addBlock(each, now);
          return now;
        },
        count * FewRows::warps);
  };
  std::optional<int64_t> known = getConstantIntValue(product.depth);
  bool mayEnd = !known || *known % fragmentSteps != 0;
  // Whole ones by fours and the like; what is left of them, and the last one.
  Value first = e.add(e.div(from, e.number(fragmentSteps)), warp);
  Value whole = e.div(to, e.number(fragmentSteps));
  int64_t further = atOnce * FewRows::warps;
  Value most = e.sub(whole, e.number(further - FewRows::warps));
  if (atOnce > 1) {
    sumBlocks(first, most, atOnce, /*mayEnd=*/false);
    Value rounds =
        e.ceilDiv(e.max(e.sub(most, first), e.number(0)), e.number(further));
    first = e.add(first, e.mul(rounds, e.number(further)));
  }
  sumBlocks(first, e.ceilDiv(to, e.number(fragmentSteps)), 1, mayEnd);
  storeFewBitsSums(sums, lines / FewBits::groupRows);
}

void RowsMatmul::storeFewBitsSums(ArrayRef<Value> sums, int64_t groups) {
  Value lane = e.rem(thread, e.number(32)), warp = e.div(thread, e.number(32));
  Value slab = e.mul(warp, e.number(plan.slabElements()));
  Value first = e.mul(e.rem(lane, e.number(4)), e.number(2));
  for (auto [i, sum] : llvm::enumerate(sums))
    for (int64_t each = 0; each < 4; ++each) {
      int64_t half = int64_t(i) % FewBits::groupSums; // Of a panel.
      int64_t group = int64_t(i) / FewBits::groupSums % groups;
      int64_t panel = int64_t(i) / FewBits::groupSums / groups;
      Value line =
          e.add(first, e.number(group * FewBits::groupRows + each % 2));
      Value n =
          e.add(e.div(lane, e.number(4)),
                e.number(panel * fragmentColumns + half * 16 + each / 2 * 8));
      Value place = e.add(e.mul(line, e.number(plan.columns())), n);
      e.storeRaw(elementOf(e, sum, each), sharedMemory, e.add(slab, place));
    }
}

} // namespace tenon::cuda
