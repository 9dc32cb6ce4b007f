//===- FewBits.cpp - Weights of few bits become fragments -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/FewBits.h"
#include "compiler/Targets/Cuda/Words.h"
#include "dialects/Kernel/FragmentLayout.h"
#include "dialects/Ptx/Ptx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {

using kernel::fragmentColumns;
using kernel::fragmentSteps;

//===----------------------------------------------------------------------===//
// Where they lie
//===----------------------------------------------------------------------===//

int64_t FewBits::numberBytes() const {
  return kernel::FragmentLayout{rhs.bits}.blockBytes(/*width=*/1);
}

int64_t FewBits::scaleBytes() const {
  return fragmentColumns * graph::byteWidth(graph::getElementType(rhs.scales));
}

int64_t FewBits::zeroBytes() const { return rhs.zeros ? fragmentColumns : 0; }

Value FewBits::panelOf(Value i, Value part) {
  return e.add(e.mul(i, e.number(parts)), part);
}

Value FewBits::at(Value tensor, Value panel, Value block, int64_t blocks,
                  int64_t bytes) {
  auto argument = cast<BlockArgument>(tensor);
  Value ordinal = e.add(e.mul(panel, e.number(blocks)), block);
  return e.address(e.argumentBuffer(argument.getArgNumber()), e.b.getI8Type(),
                   e.mul(ordinal, e.number(bytes)));
}

/// The one whose scale a block of 32 steps has.
Value FewBits::scaleBlock(Value block) {
  if (rhs.blocks == 1)
    return e.number(0);
  return e.div(block, e.number(rhs.block / fragmentSteps));
}

Value FewBits::numbersAt(Value panel, Value block) {
  int64_t blocks = llvm::divideCeil(rhs.blocks * rhs.block, fragmentSteps);
  return at(rhs.numbers, panel, block, blocks, numberBytes());
}

Value FewBits::scalesAt(Value panel, Value block) {
  return at(rhs.scales, panel, scaleBlock(block), rhs.blocks, scaleBytes());
}

Value FewBits::zerosAt(Value panel, Value block) {
  if (!rhs.zeros)
    return {};
  return at(rhs.zeros, panel, scaleBlock(block), rhs.blocks, zeroBytes());
}

//===----------------------------------------------------------------------===//
// What a lane has
//===----------------------------------------------------------------------===//

Value FewBits::word(int64_t bits) {
  return arith::ConstantIntOp::create(e.b, int32_t(uint32_t(bits)), 32);
}

/// The f32 that two bf16 in a word are.
std::array<Value, 2> FewBits::floatsOf(Value pair) {
  Value low = arith::ShLIOp::create(e.b, pair, word(16));
  Value high = arith::AndIOp::create(e.b, pair, word(0xffff0000));
  return {asFloat(low), asFloat(high)};
}

Value FewBits::asFloat(Value bits) {
  return arith::BitcastOp::create(e.b, e.b.getF32Type(), bits);
}

bool FewBits::hasWideScales() const {
  return graph::getElementType(rhs.scales).isF32();
}

FewBits::Words FewBits::load(Value numbers, Value scales, Value zeros,
                             Value lane) {
  auto behind = [&](Value from, Value bytes) {
    return e.address(from, e.b.getI8Type(), bytes);
  };
  constexpr int64_t each = 16, ofWarp = 32 * each;
  Words words;
  Value mine = behind(numbers, e.mul(lane, e.number(each)));
  for (int64_t from = 0; from < numberBytes(); from += ofWarp)
    words.numbers.append(loadWords(e, behind(mine, e.number(from)), 4));
  Value group = e.div(lane, e.number(4));
  auto ofGroup = [&](Value from, int64_t bytes) {
    return behind(from, e.mul(group, e.number(bytes / groupRows)));
  };
  words.scales =
      loadWords(e, ofGroup(scales, scaleBytes()), hasWideScales() ? 4 : 2);
  if (zeros)
    words.zeros = loadWords(e, ofGroup(zeros, zeroBytes()), 1)[0];
  return words;
}

//===----------------------------------------------------------------------===//
// Numbers become floats
//===----------------------------------------------------------------------===//

/// The bf16 of 128 ends with seven zeros, which stand for 64, 32, .. 1: with
/// the bits of `mask` in their place it is as much more.
Value FewBits::behind128(Value bits, int64_t mask) {
  Value masked = arith::AndIOp::create(e.b, bits, word(mask));
  return arith::OrIOp::create(e.b, masked, word(0x43004300));
}

/// -(128 + zero point), twice.
Value FewBits::minusOffset(const Words &words, int64_t column) {
  if (!words.zeros) {
    // Those with a sign are stored 8 higher.
    int64_t zero = rhs.zeroPoint + (rhs.isSigned() ? 8 : 0);
    return word((0xc300 | zero) * 0x10001);
  }
  // Bytes: of the zero points the column's, of the constant the lowest.
  Value operands[] = {words.zeros, word(0xc3), word(0x4040 | column * 0x101)};
  return LLVM::CallIntrinsicOp::create(e.b, e.b.getI32Type(),
                                       e.b.getStringAttr("llvm.nvvm.prmt"),
                                       operands)
      .getResult(0);
}

/// Of two pairs of bf16: from sm_80 on, only multiply-adds are such.
Value FewBits::add(Value x, Value y) {
  auto pair = VectorType::get({2}, e.b.getBF16Type());
  auto asPair = [&](Value bits) -> Value {
    return LLVM::BitcastOp::create(e.b, pair, bits);
  };
  Value operands[] = {asPair(x), asPair(word(0x3f803f80)), asPair(y)};
  Value sum =
      LLVM::CallIntrinsicOp::create(
          e.b, pair, e.b.getStringAttr("llvm.nvvm.fma.rn.bf16x2"), operands)
          .getResult(0);
  return LLVM::BitcastOp::create(e.b, e.b.getI32Type(), sum);
}

void FewBits::setPairs(Factors &columns, const Words &words, int64_t column) {
  auto shifted = [&](Value bits, int64_t by) -> Value {
    return by == 0 ? bits : arith::ShRUIOp::create(e.b, bits, word(by));
  };
  Value offset = rhs.bits == 4 ? minusOffset(words, column) : Value();
  for (int64_t i = 0; i < 4; ++i) {
    Value &pair = columns.pairs[size_t(column)][size_t(i)];
    if (rhs.bits == 4) {
      Value bits = shifted(words.numbers[size_t(column)], 4 * i);
      pair = add(behind128(bits, 0x000f000f), offset);
      continue;
    }
    // The eighth bit stands for -128: with it, 256 is taken off.
    Value bits = shifted(words.numbers[size_t(i / 2 * 4 + column)], i % 2 * 8);
    Value sign = arith::AndIOp::create(e.b, bits, word(0x00800080));
    pair = add(behind128(bits, 0x007f007f),
               arith::OrIOp::create(e.b, sign, word(0xc300c300)));
  }
}

FewBits::Factors FewBits::factorsOf(const Words &words) {
  Factors columns;
  for (int64_t column = 0; column < 4; ++column)
    setPairs(columns, words, column);
  for (size_t i = 0; i < columns.scales.size(); ++i)
    columns.scales[i] = hasWideScales() ? asFloat(words.scales[i])
                                        : floatsOf(words.scales[i / 2])[i % 2];
  return columns;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Value FewBits::noSums() {
  auto type = VectorType::get({4}, e.b.getF32Type());
  return arith::ConstantOp::create(e.b, e.b.getZeroAttr(type));
}

void FewBits::multiply(const Factors &columns, ArrayRef<Value> row,
                       MutableArrayRef<Value> sums) {
  for (size_t i = 0; i < groupSums; ++i) {
    const auto &top = columns.pairs[2 * i], &bottom = columns.pairs[2 * i + 1];
    Value products = noSums();
    for (size_t step = 0; step < 4; step += 2)
      products =
          ptx::MmaOp::create(e.b, ptx::Mma::BF16,
                             together(e, {top[step], bottom[step],
                                          top[step + 1], bottom[step + 1]}),
                             together(e, {row[step], row[step + 1]}), products);
    Value low = columns.scales[2 * i], high = columns.scales[2 * i + 1];
    sums[i] = cpu::emitMulAdd(e.b, products,
                              together(e, {low, low, high, high}), sums[i]);
  }
}

} // namespace tenon::cuda
