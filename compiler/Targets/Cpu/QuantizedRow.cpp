//===- QuantizedRow.cpp - One row times quantized weights -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/QuantizedRow.h"
#include "compiler/Targets/Cpu/FixedPointRow.h"
#include "compiler/Targets/Cpu/QuantizedReader.h"
#include "compiler/Targets/Cpu/TileFunction.h"
#include "dialects/Kernel/Packing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::panelColumns;
using kernel::stepsOfWord;

constexpr int64_t rowLanes = 8;
/// Steps of a block whose products a lane of 32 bits can add up.
constexpr int64_t mostSteps = 4096;

class RowTile : QuantizedReader {
public:
  RowTile(ModuleOp module, const kernel::QuantizedRhs &rhs,
          const CpuLevel &level)
      : QuantizedReader(module.getContext(), rhs, level,
                        panelColumns / rowLanes),
        module(module) {}

  LLVM::LLVMFuncOp write(StringRef name) {
    LLVM::LLVMFuncOp function =
        startTileFunction(b, module, name,
                          {pointer, i64, pointer, i64, pointer, pointer,
                           pointer, i64, pointer, i64, b.getI1Type()});
    auto argument = [&](int i) { return function.getArgument(i); };
    begin(argument(2), argument(4), argument(5));
    elements = argument(0);
    row.emplace(b, block);
    SmallVector<Value> sums =
        addBlocks(argument(3), SmallVector<Value>(vectors, splat(0.0f)));
    storeSums(argument(8), argument(6), argument(10), sums);
    LLVM::ReturnOp::create(b, ValueRange());
    return function;
  }

private:
  /// Adds block after block.
  SmallVector<Value> addBlocks(Value depth, ValueRange before) {
    Value blocks = div(add(depth, number(block - 1)), block);
    return loop(number(0), blocks, before, [&](Value i, ValueRange in) {
      Value first = mul(i, number(block));
      Value left = sub(depth, first), all = number(block);
      return addBlock({i, first, arith::MinUIOp::create(b, left, all), 0}, in);
    });
  }

  SmallVector<Value> addBlock(const Block &of, ValueRange before) {
    FixedPointRow::Block own =
        row->convert(at(elements, f32, of.first), of.count);
    // Behind the last step, a word's numbers meet zeros.
    Value lines = div(add(of.count, number(stepsOfWord - 1)), stepsOfWord);
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(words));
    SmallVector<Value> sums =
        forEachLine(of, lines, SmallVector<Value>(vectors, zero),
                    [&](Value k, Value line, ValueRange carried) {
                      return addWords(sub(k, of.first), line, carried);
                    });
    Sides sides = sidesOf(of.index);
    SmallVector<Value> result;
    for (int64_t v = 0; v < vectors; ++v) {
      Value sum = sums[v];
      if (isSigned) // Numbers were 8 more than they are.
        sum = arith::SubIOp::create(b, sum,
                                    arith::MulIOp::create(b, own.sum, word(8)));
      Value total = arith::SIToFPOp::create(b, vector, sum);
      if (hasOffset)
        total = LLVM::FMAOp::create(b, arith::NegFOp::create(b, sides.zeros[v]),
                                    arith::SIToFPOp::create(b, vector, own.sum),
                                    total);
      Value scale = arith::MulFOp::create(b, own.scale, sides.scales[v]);
      result.push_back(LLVM::FMAOp::create(b, total, scale, before[v]));
    }
    return result;
  }

  /// Adds the products of a line, which meets the block's elements from `first`
  /// on.
  SmallVector<Value> addWords(Value first, Value line, ValueRange before) {
    SmallVector<Value> sums(before);
    for (int64_t v = 0; v < vectors; ++v) {
      Value read = load(i32, line, v * lanes);
      if (isSigned)
        read = arith::XOrIOp::create(b, read, word(0x88888888u));
      for (int64_t j = 0; j < stepsOfWord / 2; ++j)
        sums[v] = arith::AddIOp::create(
            b, sums[v],
            timesPairs(numberPairs(read, j), row->pairAt(first, j)));
    }
    return sums;
  }

  /// Numbers j and j + 4 of words, each in a half of its lane.
  Value numberPairs(Value read, int64_t j) {
    auto halves = VectorType::get({2 * lanes}, b.getI16Type());
    auto all = [&](uint16_t value) -> Value {
      return arith::ConstantOp::create(
          b, DenseElementsAttr::get(halves, ArrayRef<uint16_t>{value}));
    };
    Value result = LLVM::BitcastOp::create(b, halves, read);
    if (j > 0)
      result = arith::ShRUIOp::create(b, result, all(uint16_t(4 * j)));
    if (j + 1 < stepsOfWord / 2)
      result = arith::AndIOp::create(b, result, all(0xf));
    return result;
  }

  Value timesPairs(Value x, Value y) {
    return LLVM::CallIntrinsicOp::create(
               b, words, b.getStringAttr("llvm.x86.avx2.pmadd.wd"),
               ValueRange{x, y})
        .getResult(0);
  }

  ModuleOp module;
  Value elements;
  std::optional<FixedPointRow> row;
};

} // namespace

bool hasQuantizedRow(const kernel::QuantizedRhs &rhs, const CpuLevel &level) {
  return rhs.bits == 4 && level.lanes(4) == rowLanes && rhs.blocks > 1 &&
         rhs.block % stepsOfWord == 0 && rhs.block <= mostSteps;
}

LLVM::LLVMFuncOp writeQuantizedRow(ModuleOp module,
                                   const kernel::QuantizedRhs &rhs,
                                   const CpuLevel &level, StringRef name) {
  return RowTile(module, rhs, level).write(name);
}

} // namespace tenon::cpu
