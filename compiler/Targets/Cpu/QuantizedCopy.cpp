//===- QuantizedCopy.cpp - Panels of quantized weights as f32 -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For many rows, which share what numbers stand for. With vectors of 8 elements
// those of 4 bits are converted where they are in their words, as tiles do it
// (see QuantizedTile.cpp): number j times a scale that is 16^-j as large. That
// spares two shifts for each, of which such CPUs do one in a cycle.
//
//===----------------------------------------------------------------------===//

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
  CopyWriter(ModuleOp module, const QuantizedRhs &rhs, const CpuLevel &level)
      : QuantizedReader(module.getContext(), rhs, level, vectorsOf(rhs, level)),
        module(module) {}

  /// copy(numbers, depth, scales, zeros, out): `columns` of each line of out.
  LLVM::LLVMFuncOp write(StringRef name) {
    LLVM::LLVMFuncOp function = startTileFunction(
        b, module, name, {pointer, i64, pointer, pointer, pointer});
    begin(function.getArgument(0), function.getArgument(2),
          function.getArgument(3));
    out = function.getArgument(4);
    forEachBlock(function.getArgument(1), {}, [&](const Block &of, ValueRange) {
      if (bits == 4 && !hasTable)
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
  Value out;
};

} // namespace

void callQuantizedCopy(Emitter &e, const QuantizedRhs &rhs,
                       const QuantizedPanel &panel, Value out) {
  std::string name = "quantized_copy_" + quantizedForm(rhs, e.level);
  CopyWriter writer(e.module, rhs, e.level);
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

} // namespace tenon::cpu
