//===- QuantizedCopy.cpp - Panels of quantized weights as floats ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For many rows, which share what numbers stand for. With vectors of 8 elements
// those of 4 bits are converted where they are in their words, as tiles do it
// (see QuantizedTile.cpp): number j times a scale that is 16^-j as large. That
// spares two shifts for each, of which such CPUs do one in a cycle. With
// vectors of 16 elements pairs of 16 bits are made of two steps while they are
// in registers.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/F16Operands.h"
#include "compiler/Targets/Cpu/MatmulOperands.h"
#include "compiler/Targets/Cpu/QuantizedReader.h"
#include "compiler/Targets/Cpu/QuantizedTile.h"
#include "compiler/Targets/Cpu/TileFunction.h"
#include "dialects/Kernel/Packing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::panelColumns;
using kernel::QuantizedRhs;
using kernel::stepsOfWord;

/// All of a panel, where a block's numbers come vector by vector.
int64_t vectorsOf(const QuantizedRhs &rhs, const CpuLevel &level) {
  if (level.lanes(4) == 16)
    return 3;
  return rhs.bits == 4 && rhs.codebook.empty() ? 6 : 2;
}

class CopyWriter : public QuantizedReader {
public:
  /// Of pairs of `half`, or of f32 where that is null.
  CopyWriter(ModuleOp module, const QuantizedRhs &rhs, const CpuLevel &level,
             Type half = {})
      : QuantizedReader(module.getContext(), rhs, level, vectorsOf(rhs, level)),
        module(module), level(level), half(half) {}

  /// copy(numbers, depth, scales, zeros, out): `columns` of each line of out.
  LLVM::LLVMFuncOp write(StringRef name) {
    LLVM::LLVMFuncOp function = startTileFunction(
        b, module, name, {pointer, i64, pointer, pointer, pointer});
    begin(function.getArgument(0), function.getArgument(2),
          function.getArgument(3));
    out = function.getArgument(4);
    forEachBlock(function.getArgument(1), {}, [&](const Block &of, ValueRange) {
      if (half)
        copyPairs(of);
      else if (bits == 4 && !hasTable)
        copyInPlace(of);
      else
        copyScaled(of);
      return SmallVector<Value>();
    });
    LLVM::ReturnOp::create(b, ValueRange());
    return function;
  }

private:
  Value lineOf(Value k) { return at(out, f32, mul(k, number(panelColumns))); }

  void copyScaled(const Block &of) {
    Sides sides = sidesOf(of.index);
    forEachStep(of, {}, [&](Value k, ArrayRef<Value> numbers, ValueRange) {
      for (int64_t v = 0; v < vectors; ++v)
        storeVector(scaled(numbers[v], sides, v), lineOf(k), v * lanes);
      return SmallVector<Value>();
    });
  }

  Value pair(Value even, Value odd) {
    Value both = half.isF16() ? f16PairsOf(b, even, odd)
                              : roundedPairs(b, level, even, odd);
    return LLVM::BitcastOp::create(b, words, both);
  }

  void copyPairs(const Block &of) {
    Sides sides = sidesOf(of.index);
    forEachUnit(
        of, {},
        [&](Value k, Value line, ValueRange) {
          Values read = wordsOf(line);
          Value to = lineOf(div(k, 2));
          for (int64_t j = 0; j < unit; j += 2) {
            Values even = numbersAt(line, read, j),
                   odd = numbersAt(line, read, j + 1);
            for (int64_t v = 0; v < vectors; ++v)
              storeVector(
                  pair(scaled(even[v], sides, v), scaled(odd[v], sides, v)), to,
                  j / 2 * panelColumns + v * lanes);
          }
          return Values();
        },
        [&](Value k, ArrayRef<Value> numbers, ValueRange) {
          for (int64_t v = 0; v < vectors; ++v)
            storeHalf(scaled(numbers[v], sides, v), k, v * lanes);
          return Values();
        });
  }

  /// Of a pair, of which an even step comes first.
  void storeHalf(Value number, Value k, int64_t offset) {
    Value to = lineOf(div(k, 2));
    Value isOdd = arith::TruncIOp::create(b, b.getI1Type(), k);
    auto either = [&](uint32_t then, uint32_t otherwise) -> Value {
      return arith::SelectOp::create(b, isOdd, word(then), word(otherwise));
    };
    Value before =
        arith::AndIOp::create(b, load(i32, to, offset), either(0xffff, 0));
    Value own = arith::AndIOp::create(b, pair(number, number),
                                      either(0xffff0000, 0xffff));
    storeVector(arith::OrIOp::create(b, before, own), to, offset);
  }

  /// Vector by vector: each has factors for a word's numbers, as many as fit
  /// the registers. Block by block: what is stored stays in the first cache
  /// till its lines are whole.
  void copyInPlace(const Block &of) {
    Sides sides = sidesOf(of.index);
    for (int64_t v = 0; v < vectors; ++v)
      copyVector(of, sides, v);
  }

  void copyVector(const Block &of, const Sides &sides, int64_t v) {
    SmallVector<Value> factors, added;
    for (int64_t j = 0; j < stepsOfWord; ++j) {
      float share = 1.0f / float(int64_t(1) << 4 * j);
      factors.push_back(
          arith::MulFOp::create(b, sides.scales[v], splat(share)));
      Value lift = splat(float(liftOf(j)));
      if (hasOffset)
        lift = arith::SubFOp::create(b, lift, sides.zeros[v]);
      added.push_back(arith::MulFOp::create(b, lift, sides.scales[v]));
    }
    forEachUnit(
        of, {},
        [&](Value k, Value line, ValueRange) {
          Value read = turned(load(i32, line, v * lanes));
          Value to = lineOf(k);
          for (int64_t j = 0; j < stepsOfWord; ++j)
            storeVector(LLVM::FMAOp::create(b, numberInPlace(read, j),
                                            factors[j], added[j]),
                        to, j * panelColumns + v * lanes);
          return SmallVector<Value>();
        },
        [&](Value k, ArrayRef<Value> numbers, ValueRange) {
          storeVector(scaled(numbers[v], sides, v), lineOf(k), v * lanes);
          return SmallVector<Value>();
        });
  }

  ModuleOp module;
  const CpuLevel &level;
  Type half;
  Value out;
};

void callCopy(Emitter &e, const QuantizedRhs &rhs, const QuantizedPanel &panel,
              Value out, std::string name, Type half) {
  name += quantizedForm(rhs, e.level);
  CopyWriter writer(e.module, rhs, e.level, half);
  auto function = e.module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function)
    function = writer.write(name);
  for (int64_t i = 0; i < panelColumns; i += writer.getColumns()) {
    QuantizedPanel part = columnsFrom(e, rhs, panel, i);
    Value to = e.address(out, e.b.getF32Type(), e.number(i));
    LLVM::CallOp::create(
        e.b, function,
        ValueRange{part.numbers, part.depth, part.scales, part.zeros, to});
  }
}

} // namespace

void callQuantizedCopy(Emitter &e, const QuantizedRhs &rhs,
                       const QuantizedPanel &panel, Value out) {
  callCopy(e, rhs, panel, out, "quantized_copy_", {});
}

void callQuantizedPairs(Emitter &e, const QuantizedRhs &rhs,
                        const QuantizedPanel &panel, Value out, Type half) {
  callCopy(e, rhs, panel, out,
           half.isF16() ? "quantized_f16_pairs_" : "quantized_pairs_", half);
}

} // namespace tenon::cpu
