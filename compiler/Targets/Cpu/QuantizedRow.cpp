//===- QuantizedRow.cpp - One row times quantized weights -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/QuantizedRow.h"
#include "compiler/Targets/Cpu/QuantizedReader.h"
#include "dialects/Kernel/Packing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::panelColumns;
using kernel::stepsOfWord;

constexpr int64_t rowLanes = 8;
/// Steps of a block whose products a lane of 32 bits can add up.
constexpr int64_t mostSteps = 4096;
/// Of f32: the exponent's place, and what the largest element's becomes.
constexpr uint32_t exponentBit = 23, exponentMask = 0xffu << exponentBit;
constexpr uint32_t bias = 127, largestExponent = 14;
/// Added to a float of less than 2^22 it leaves a whole number in the low bits.
constexpr float wholeFrom = 0x1.8p23f;

class RowTile : QuantizedReader {
public:
  RowTile(ModuleOp module, const kernel::QuantizedRhs &rhs,
          const CpuLevel &level)
      : QuantizedReader(module.getContext(), rhs, level,
                        panelColumns / rowLanes),
        module(module), halves(VectorType::get({2 * lanes}, b.getI16Type())) {}

  LLVM::LLVMFuncOp write(StringRef name) {
    LLVM::LLVMFuncOp function = startTile(module, name);
    auto argument = [&](int i) { return function.getArgument(i); };
    elements = argument(0);
    room = LLVM::AllocaOp::create(b, pointer, i32, number(block / 2), 32);
    part = LLVM::AllocaOp::create(b, pointer, f32, number(block), 32);
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
    Whole own = convert(at(elements, f32, of.first), of.count);
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
    Value pairs = at(room, i32, div(first, 2));
    for (int64_t v = 0; v < vectors; ++v) {
      Value read = load(i32, line, v * lanes);
      if (isSigned)
        read = arith::XOrIOp::create(b, read, word(0x88888888u));
      for (int64_t j = 0; j < stepsOfWord / 2; ++j)
        sums[v] = arith::AddIOp::create(
            b, sums[v], timesPairs(numberPairs(read, j), pairAt(pairs, j)));
    }
    return sums;
  }

  /// The row's numbers that those meet, in each lane.
  Value pairAt(Value pairs, int64_t j) {
    Value pair = LLVM::LoadOp::create(b, i32, at(pairs, i32, int32_t(j)));
    return LLVM::BitcastOp::create(b, halves,
                                   vector::BroadcastOp::create(b, words, pair));
  }

  /// Numbers j and j + 4 of words, each in a half of its lane.
  Value numberPairs(Value read, int64_t j) {
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

  /// What a block of the row is besides its numbers, in each lane.
  struct Whole {
    Value scale; // f32; NaN if an element is not finite.
    Value sum;   // i32: of all numbers.
  };

  /// Stores the numbers of `count` elements from `place` on; those that a block
  /// lacks are zero.
  Whole convert(Value place, Value count) {
    place = wholeBlock(place, count);
    SmallVector<Value> read;
    for (int64_t i = 0; i < block; i += lanes)
      read.push_back(load(f32, place, i));
    Value most = largest(read);
    // Both powers of two are made of bits. Neither may be a subnormal.
    Value exponent = arith::AndIOp::create(b, most, word(exponentMask));
    exponent = arith::MaxUIOp::create(
        b, exponent, word((largestExponent + 1) << exponentBit));
    auto power = [&](Value bits) -> Value {
      return LLVM::BitcastOp::create(b, vector, bits);
    };
    Value up =
        power(sub(word((2 * bias + largestExponent) << exponentBit), exponent));
    Value down = power(sub(exponent, word(largestExponent << exponentBit)));
    // Of 8 bits the largest is at most 255 / 256 of 2^15: none becomes that.
    Value whole = splat(wholeFrom), sum;
    for (auto [i, element] : llvm::enumerate(read)) {
      Value number = LLVM::BitcastOp::create(
          b, words, LLVM::FMAOp::create(b, element, up, whole));
      sum = sum ? add(sum, number) : number;
      storePairs(number, at(room, i32, int32_t(int64_t(i) * lanes / 2)));
    }
    // What made them whole comes off, once for each vector.
    uint32_t added =
        llvm::bit_cast<uint32_t>(wholeFrom) * uint32_t(read.size());
    sum = inEachLane(sub(sum, word(added)),
                     [&](Value x, Value y) { return add(x, y); });
    // Times zero what is not finite is NaN, all else nothing.
    return {LLVM::FMAOp::create(b, power(most), splat(0.0f), down), sum};
  }

  /// The largest of elements' bits without their signs.
  Value largest(ArrayRef<Value> elements) {
    auto larger = [&](Value x, Value y) -> Value {
      return arith::MaxUIOp::create(b, x, y);
    };
    Value most;
    for (Value element : elements) {
      Value bits = LLVM::BitcastOp::create(b, words, element);
      bits = arith::AndIOp::create(b, bits, word(0x7fffffffu));
      most = most ? larger(most, bits) : bits;
    }
    return inEachLane(most, larger);
  }

  /// Where a block's elements are, and zeros behind them.
  Value wholeBlock(Value place, Value count) {
    Value isWhole = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, count,
                                          number(block));
    auto choice = scf::IfOp::create(b, pointer, isWhole,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    scf::YieldOp::create(b, place);
    b.setInsertionPointToStart(choice.elseBlock());
    for (int64_t i = 0; i < block; i += lanes)
      storeVector(splat(0.0f), part, i);
    loop(number(0), count, {}, [&](Value i, ValueRange) {
      Value element = LLVM::LoadOp::create(b, f32, at(place, f32, i));
      LLVM::StoreOp::create(b, element, at(part, f32, i));
      return SmallVector<Value>();
    });
    scf::YieldOp::create(b, part);
    return choice.getResult(0);
  }

  /// Of 8 numbers, each of the first 4 below the one 4 behind it.
  void storePairs(Value numbers, Value place) {
    auto half = VectorType::get({lanes / 2}, i32);
    auto part = [&](int64_t from) -> Value {
      SmallVector<int64_t> own =
          llvm::to_vector(llvm::seq(from, from + lanes / 2));
      return vector::ShuffleOp::create(b, numbers, numbers, own);
    };
    auto constant = [&](uint32_t value) -> Value {
      return arith::ConstantOp::create(
          b, DenseElementsAttr::get(half, ArrayRef<uint32_t>{value}));
    };
    Value low = arith::AndIOp::create(b, part(0), constant(0xffffu));
    Value high = arith::ShLIOp::create(b, part(lanes / 2), constant(16));
    LLVM::StoreOp::create(b, arith::OrIOp::create(b, low, high), place, 16);
  }

  ModuleOp module;
  VectorType halves; // Of words.
  Value elements;
  Value room, part; // On the stack: a block's numbers, and its elements.
};

} // namespace

bool hasQuantizedRow(const kernel::QuantizedRhs &rhs, const CpuLevel &level) {
  return rhs.bits == 4 && rhs.codebook.empty() && level.lanes(4) == rowLanes &&
         rhs.blocks > 1 && rhs.block % stepsOfWord == 0 &&
         rhs.block <= mostSteps;
}

LLVM::LLVMFuncOp writeQuantizedRow(ModuleOp module,
                                   const kernel::QuantizedRhs &rhs,
                                   const CpuLevel &level, StringRef name) {
  return RowTile(module, rhs, level).write(name);
}

} // namespace tenon::cpu
