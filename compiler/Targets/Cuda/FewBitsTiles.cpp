//===- FewBitsTiles.cpp - Tiles of products by weights of few bits --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bf16 by numbers of few bits by the matrix instructions of warps,
// sums in f32. Numbers come to shared memory as they lie in memory, and become
// bf16 in registers, which is exact; the sums of a block of k are multiplied by
// the scales of its columns and added to those of the tile.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cuda/ColumnTile.h"
#include "compiler/Targets/Cuda/FewBits.h"
#include "compiler/Targets/Cuda/Words.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

enum Part : size_t { Numbers, Scales, Zeros };

class FewBitsTile : public ColumnTile {
public:
  FewBitsTile(DeviceEmitter &e, Product &product, kernel::DeviceTile tile,
              FewBits ofRhs)
      : ColumnTile(
            e, product, tile, ofRhs.parts,
            {ofRhs.numberBytes(), ofRhs.scaleBytes(), ofRhs.zeroBytes()}),
        bits(ofRhs) {}

protected:
  Value addressOf(size_t part, Value panel, Value block) override {
    return part == Numbers  ? bits.numbersAt(panel, block)
           : part == Scales ? bits.scalesAt(panel, block)
                            : bits.zerosAt(panel, block);
  }

  Value noSums() override { return bits.noSums(); }

  SmallVector<Value> addBlock(Value stage, ValueRange before) override {
    Value zeros = bits.zeroBytes() > 0 ? partAt(stage, Zeros) : Value();
    FewBits::Factors columns = bits.factorsOf(
        bits.load(partAt(stage, Numbers), partAt(stage, Scales), zeros, lane));
    SmallVector<Value> now(before);
    MutableArrayRef<Value> rest = now;
    for (int64_t row = 0; row < warpRows; row += groupRows) {
      bits.multiply(columns, loadWords(e, rowAt(stage, row), 4),
                    rest.take_front(groupSums));
      rest = rest.drop_front(groupSums);
    }
    return now;
  }

private:
  FewBits bits;
};

} // namespace

void emitFewBitsTile(DeviceEmitter &e, Product &product,
                     kernel::DeviceTile tile, const kernel::QuantizedRhs &rhs,
                     Value ordinal) {
  FewBitsTile(e, product, tile,
              FewBits(e, rhs, int64_t(product.results.size())))
      .emit(ordinal);
}

} // namespace tenon::cuda
