//===- FewBitsTiles.cpp - Tiles of products by weights of few bits --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bf16 by numbers of few bits by the matrix instructions of warps,
// sums in f32. Numbers come to shared memory as they lie in memory, and become
// bf16 in registers, which is exact; the sums of a block of k are multiplied by
// the scales of its columns and added to those of the tile. A warp has 32
// columns: a panel.
//
// A panel of lhs is 32 steps of k, by lines, in chunks of 16 bytes. A lane
// reads one of each eighth row: the steps that it has numbers of.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cuda/FewBits.h"
#include "compiler/Targets/Cuda/WarpTile.h"
#include "dialects/Kernel/FragmentLayout.h"
#include "dialects/Ptx/Ptx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

using kernel::fragmentColumns;
using kernel::fragmentSteps;

constexpr int64_t chunkBytes = 16, chunkElements = 8;
/// Chunks of a row of lhs, of 64 bytes.
constexpr int64_t rowChunks = fragmentSteps / chunkElements;

class FewBitsTile : public WarpTile {
public:
  FewBitsTile(DeviceEmitter &e, Product &product, kernel::DeviceTile tile,
              const kernel::QuantizedRhs &rhs)
      : WarpTile(e, product, tile),
        bits(e, rhs, int64_t(product.results.size())),
        panels(tile.columns / fragmentColumns),
        numbersStart(tile.rows * rowChunks * chunkBytes),
        scalesStart(numbersStart + panels * bits.numberBytes()),
        zerosStart(scalesStart + panels * bits.scaleBytes()),
        stageBytes(zerosStart + panels * bits.zeroBytes()) {
    assert(tile.depth == fragmentSteps && "a panel is a block of k");
    assert(tile.stages * stageBytes <= tile.sharedBytes);
  }

protected:
  void sumProducts() override {
    Value thread = threadHere();
    PanelCopies lhs = planLhs(thread);
    auto fetch = [&](Value panel, Value stage) {
      start(lhs, panel, stage);
      // Found again for each panel: registers are for sums.
      for (const BlockCopies &copies : planRhs(threadHere()))
        start(copies, panel, stage);
    };
    locateThread(thread);
    lhsPlace = placeOf(
        e.add(e.mul(warpRow, e.number(warpRows)), e.div(lane, e.number(4))),
        e.rem(lane, e.number(4)));
    sums = sumPanels(zeros(), stageBytes, fetch,
                     [&](Value stage, ValueRange before) {
                       return addPanel(stage, before);
                     });
  }

private:
  //===--- Copies ---===//

  /// Rows share banks by twos: which chunk lies where is turned from two rows
  /// to two.
  Value placeOf(Value row, Value chunk) {
    Value turn = e.rem(e.div(row, e.number(2)), e.number(rowChunks));
    Value turned = arith::XOrIOp::create(e.b, chunk, turn);
    return e.mul(e.add(e.mul(row, e.number(rowChunks)), turned),
                 e.number(chunkBytes));
  }

  PanelCopies planLhs(Value thread) {
    Value chunk = e.rem(thread, e.number(rowChunks));
    Value row = e.div(thread, e.number(rowChunks));
    int64_t further = tile.threads / rowChunks; // Rows, by round.
    PanelCopies copies = {&operandOf(/*isLhs=*/true),
                          {/*isAlongDepth=*/true, hasWholeDepth(),
                           chunkElements, operandOf(true).alongDepth},
                          {},
                          placeOf(row, chunk),
                          further * rowChunks * chunkBytes};
    for (int64_t i = 0; i < tile.rows / further; ++i)
      copies.add(lineOf(e.add(row, e.number(i * further)), /*isLhs=*/true),
                 e.mul(chunk, e.number(chunkElements)));
    return copies;
  }

  /// A chunk that a thread copies of what one tensor of rhs has for a block of
  /// k.
  struct BlockCopies {
    Value isMine;        // Whether the thread has one;
    Value panel, inside; // of which panel, and where in its block;
    Value place;         // where it goes to in the stage.
    Value (FewBits::*address)(Value panel, Value block);
  };

  SmallVector<BlockCopies> planRhs(Value thread) {
    SmallVector<BlockCopies> all;
    auto add = [&](int64_t panelBytes, int64_t start,
                   Value (FewBits::*address)(Value, Value)) {
      int64_t chunks = panelBytes / chunkBytes;
      for (int64_t from = 0; from < panels * chunks; from += tile.threads) {
        Value chunk = e.add(thread, e.number(from));
        Value inTile = e.div(chunk, e.number(chunks));
        Value inside =
            e.mul(e.rem(chunk, e.number(chunks)), e.number(chunkBytes));
        all.push_back(
            {e.less(chunk, e.number(panels * chunks)), memoryPanel(inTile),
             inside, e.add(e.mul(chunk, e.number(chunkBytes)), e.number(start)),
             address});
      }
    };
    add(bits.numberBytes(), numbersStart, &FewBits::numbersAt);
    add(bits.scaleBytes(), scalesStart, &FewBits::scalesAt);
    if (bits.zeroBytes() > 0)
      add(bits.zeroBytes(), zerosStart, &FewBits::zerosAt);
    return all;
  }

  /// Where in memory the tile's panel `i` is; behind the last one, that.
  Value memoryPanel(Value i) {
    Value ofPart = e.number(panels / bits.parts);
    Value inPart =
        e.add(e.div(tileColumn(), e.number(fragmentColumns)), e.rem(i, ofPart));
    Value last =
        e.div(e.sub(product.columns, e.number(1)), e.number(fragmentColumns));
    return bits.panelOf(e.min(inPart, last), e.div(i, ofPart));
  }

  using WarpTile::start;
  void start(const BlockCopies &copies, Value block, Value stage) {
    e.ifThen(copies.isMine, [&] {
      Value from = e.address((bits.*copies.address)(copies.panel, block),
                             e.b.getI8Type(), copies.inside);
      ptx::CpAsyncOp::create(e.b, ptx::Cache::CG, uint32_t(chunkBytes),
                             sharedAt(stage, copies.place), from, Value());
    });
  }

  //===--- Products ---===//

  /// Where what a tensor has for the warp's panel lies.
  Value panelAt(Value stage, int64_t start, int64_t bytes) {
    return sharedAt(stage,
                    e.add(e.number(start), e.mul(warpColumn, e.number(bytes))));
  }

  SmallVector<Value> addPanel(Value stage, ValueRange before) {
    Value zeroPoints;
    if (bits.zeroBytes() > 0)
      zeroPoints = panelAt(stage, zerosStart, bits.zeroBytes());
    FewBits::Factors columns = bits.factorsOf(bits.load(
        panelAt(stage, numbersStart, bits.numberBytes()),
        panelAt(stage, scalesStart, bits.scaleBytes()), zeroPoints, lane));
    SmallVector<Value> now(before);
    MutableArrayRef<Value> rest = now;
    for (int64_t row = 0; row < warpRows; row += FewBits::groupRows) {
      // Every eighth row is turned alike.
      Value place = e.number(row * rowChunks * chunkBytes);
      SmallVector<Value> pairs =
          bits.loadWords(sharedAt(sharedAt(stage, lhsPlace), place), 4);
      bits.multiply(columns, pairs, rest.take_front(FewBits::groupSums));
      rest = rest.drop_front(FewBits::groupSums);
    }
    return now;
  }

  /// A lane has sums of columns that lie in its panel eight apart, of two rows.
  void storeChunk(Value ordinal, Value thread) override {
    locateThread(thread);
    Value height = e.number(kernel::chunkRows);
    Value row = e.mul(warpRow, e.number(warpRows));
    e.ifThen(e.equal(e.div(row, height), ordinal), [&] {
      Value top = e.add(e.rem(row, height),
                        e.mul(e.rem(lane, e.number(4)), e.number(2)));
      Value left = e.add(e.mul(warpColumn, e.number(warpColumns)),
                         e.div(lane, e.number(4)));
      Value corner = e.add(e.mul(top, e.number(chunkStride)), left);
      for (auto [i, sum] : llvm::enumerate(sums))
        for (int64_t each = 0; each < 4; ++each) {
          int64_t group = int64_t(i) / FewBits::groupSums;
          int64_t half = int64_t(i) % FewBits::groupSums;
          int64_t place =
              (group * FewBits::groupRows + each % 2) * chunkStride +
              half * 16 + each / 2 * 8;
          Value element =
              LLVM::ExtractElementOp::create(e.b, sum, word(e.number(each)));
          e.storeRaw(element, sharedMemory, e.add(corner, e.number(place)));
        }
    });
  }

  FewBits bits;
  Value lhsPlace;       // Of the lane's first row, in a stage.
  const int64_t panels; // Of the tile.
  // Where parts of a stage begin.
  const int64_t numbersStart, scalesStart, zerosStart, stageBytes;
};

} // namespace

void emitFewBitsTile(DeviceEmitter &e, Product &product,
                     kernel::DeviceTile tile, const kernel::QuantizedRhs &rhs,
                     Value ordinal) {
  FewBitsTile(e, product, tile, rhs).emit(ordinal);
}

} // namespace tenon::cuda
