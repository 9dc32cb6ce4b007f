//===- ByteTiles.cpp - Tiles of products of 8-bit numbers -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bytes by a weight of i8 by the matrix instructions of warps,
// exact sums in i32. A lane has sixteen steps of k of each of its columns and
// rows, which are two instructions' worth.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cuda/ColumnTile.h"
#include "compiler/Targets/Cuda/Words.h"
#include "dialects/Kernel/FragmentLayout.h"
#include "dialects/Ptx/Ptx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

constexpr kernel::FragmentLayout layout = {8, 1, /*isOfQuads=*/true};

class ByteTile : public ColumnTile {
public:
  ByteTile(DeviceEmitter &e, Product &product, kernel::DeviceTile tile,
           const ByteOperands &operands)
      : ColumnTile(e, product, tile, /*halves=*/1, layout.blockBytes(1)),
        operands(operands), blocks(layout.blocks(operands.depth)),
        kind(product.lhs->type.isUnsignedInteger() && !operands.isFromMiddle
                 ? ptx::Mma::S8U8
                 : ptx::Mma::S8) {}

protected:
  Value addressOf(size_t, Value panel, Value block) override {
    Value ordinal = e.add(e.mul(panel, e.number(blocks)), block);
    return e.address(e.argumentBuffer(operands.rhs.getArgNumber()),
                     e.b.getI8Type(),
                     e.mul(ordinal, e.number(layout.blockBytes(1))));
  }

  Value noSums() override {
    auto type = VectorType::get({4}, e.b.getI32Type());
    return arith::ConstantOp::create(e.b, e.b.getZeroAttr(type));
  }

  SmallVector<Value> addBlock(Value stage, ValueRange before) override {
    // Words [four steps][column] of a lane, 512 bytes from four to four.
    SmallVector<SmallVector<Value>> columns;
    Value mine = sharedAt(partAt(stage, 0), e.mul(lane, e.number(16)));
    for (int64_t i = 0; i < 4; ++i)
      columns.push_back(loadWords(e, sharedAt(mine, e.number(i * 512)), 4));
    SmallVector<Value> now(before);
    for (auto [i, sum] : llvm::enumerate(now)) {
      int64_t row = int64_t(i) / groupSums * groupRows;
      size_t first = i % groupSums * 2; // Of the lane's columns.
      if (first == 0)
        steps = centered(loadWords(e, rowAt(stage, row), 4));
      for (size_t step = 0; step < 4; step += 2)
        sum = ptx::MmaOp::create(
            e.b, kind,
            together(e,
                     {columns[step][first], columns[step][first + 1],
                      columns[step + 1][first], columns[step + 1][first + 1]}),
            together(e, {steps[step], steps[step + 1]}), sum);
    }
    return now;
  }

private:
  /// Of ui8, less 128: the upper bit, turned, is a sign. What is not there is
  /// not 0 then, but meets zeros of the weight.
  SmallVector<Value> centered(SmallVector<Value> words) {
    if (!operands.isFromMiddle)
      return words;
    Value signs = arith::ConstantIntOp::create(e.b, int32_t(0x80808080), 32);
    for (Value &each : words)
      each = arith::XOrIOp::create(e.b, each, signs);
    return words;
  }

  const ByteOperands operands;
  const int64_t blocks;
  const ptx::Mma kind;
  SmallVector<Value> steps; // Of the row whose products are made.
};

} // namespace

void emitByteTile(DeviceEmitter &e, Product &product, kernel::DeviceTile tile,
                  const ByteOperands &operands, Value ordinal) {
  ByteTile(e, product, tile, operands).emit(ordinal);
}

} // namespace tenon::cuda
