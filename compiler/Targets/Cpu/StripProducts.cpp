//===- StripProducts.cpp - Products of a strip in vector registers --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/StripProducts.h"
#include "compiler/Targets/Cpu/MatmulOperands.h"
#include "compiler/Targets/Cpu/QuadPanel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::cpu {

Value StripProducts::bitcast(Type type, Value value) {
  return LLVM::BitcastOp::create(b, type, value);
}

Value StripProducts::callIntrinsic(StringRef name, ArrayRef<Value> operands) {
  return LLVM::CallIntrinsicOp::create(b, vector, b.getStringAttr(name),
                                       operands)
      .getResult(0);
}

Value StripProducts::add(Value x, Value y, Value sum) {
  if (kind == StripKind::Quads)
    return level.quadDots ? addQuads(x, y, sum) : addWidenedQuads(x, y, sum);
  if (kind == StripKind::Words)
    return arith::AddIOp::create(b, sum, timesWords(x, y));
  if (kind == StripKind::Pairs)
    return addPairs(x, y, sum);
  if (addsF16(kind))
    return addF16(x, y, sum);
  return LLVM::FMAOp::create(b, x, y, sum);
}

Value StripProducts::addPairs(Value x, Value y, Value sum) {
  if (level.pairDots == PairDots::Native) {
    auto pairs =
        VectorType::get({2 * vector.getNumElements()}, b.getBF16Type());
    return callIntrinsic("llvm.x86.avx512bf16.dpbf16ps.512",
                         {sum, bitcast(pairs, x), bitcast(pairs, y)});
  }
  for (int64_t half = 0; half < 2; ++half)
    sum =
        LLVM::FMAOp::create(b, halfOf({x}, half)[0], halfOf({y}, half)[0], sum);
  return sum;
}

VectorType StripProducts::pairsOfF16() {
  return VectorType::get({2 * vector.getNumElements()}, b.getF16Type());
}

Value StripProducts::zeroPairs() {
  return arith::ConstantOp::create(b, b.getZeroAttr(pairsOfF16()));
}

Value StripProducts::addF16(Value x, Value y, Value sum) {
  x = bitcast(pairsOfF16(), x);
  y = bitcast(pairsOfF16(), y);
  if (level.f16Fma == F16Fma::Native)
    return LLVM::FMAOp::create(b, x, y, sum);
  Type wide = sameShape(pairsOfF16(), b.getF32Type());
  auto extend = [&](Value value) {
    return arith::ExtFOp::create(b, wide, value);
  };
  return arith::TruncFOp::create(
      b, pairsOfF16(),
      LLVM::FMAOp::create(b, extend(x), extend(y), extend(sum)));
}

Value StripProducts::together(Value x, Value y) {
  int64_t lanes = vector.getNumElements();
  // Neither moves an element: `crossed` has the odd ones of x and even of y.
  SmallVector<int64_t> straight, crossed;
  for (int64_t i = 0; i < 2 * lanes; ++i) {
    straight.push_back(i % 2 ? 2 * lanes + i : i);
    crossed.push_back(i % 2 ? i : 2 * lanes + i);
  }
  auto words = VectorType::get({lanes}, b.getI32Type());
  Value half = constantLike(b, words, 16);
  Value other = bitcast(words, vector::ShuffleOp::create(b, x, y, crossed));
  Value turned = LLVM::FshlOp::create(b, words, other, other, half);
  return arith::AddFOp::create(b, vector::ShuffleOp::create(b, x, y, straight),
                               bitcast(pairsOfF16(), turned));
}

Value StripProducts::widened(Value sums, int64_t half) {
  int64_t lanes = vector.getNumElements();
  SmallVector<int64_t> mask =
      llvm::to_vector(llvm::seq(half * lanes, (half + 1) * lanes));
  Value part = vector::ShuffleOp::create(b, sums, sums, mask);
  return arith::ExtFOp::create(b, vector, part);
}

Value StripProducts::everySecond(Value low, Value high, int64_t first) {
  SmallVector<int64_t> mask;
  for (int64_t i = 0; i < vector.getNumElements(); ++i)
    mask.push_back(2 * i + first);
  return vector::ShuffleOp::create(b, low, high, mask);
}

SmallVector<Value> StripProducts::inTurn(ArrayRef<Value> sums) {
  SmallVector<Value> both;
  for (size_t i = 0; i < sums.size(); i += 2)
    both.push_back(
        together(sums[i], i + 1 < sums.size() ? sums[i + 1] : sums[i]));
  return both;
}

SmallVector<Value> StripProducts::widened(ArrayRef<Value> sums) {
  SmallVector<Value> wide;
  for (Value both : inTurn(sums)) {
    Value low = widened(both, 0), high = widened(both, 1);
    for (int64_t first = 0; first < 2; ++first)
      wide.push_back(everySecond(low, high, first));
  }
  wide.resize(sums.size());
  return wide;
}

/// Four products of ui8 by i8 to each sum.
Value StripProducts::addQuads(Value x, Value y, Value sum) {
  auto quads = VectorType::get({4 * vector.getNumElements()}, b.getI8Type());
  return callIntrinsic(level.vectorBits >= 512 ? "llvm.x86.avx512.vpdpbusd.512"
                                               : "llvm.x86.avx512.vpdpbusd.256",
                       {sum, bitcast(quads, x), bitcast(quads, y)});
}

/// Two products of 16 bits, which hold any of ui8 by i8, for each sum.
Value StripProducts::timesWords(Value x, Value y) {
  auto words = VectorType::get({2 * vector.getNumElements()}, b.getI16Type());
  StringRef name = level.vectorBits >= 512 ? "llvm.x86.avx512.pmaddw.d.512"
                                           : "llvm.x86.avx2.pmadd.wd";
  return callIntrinsic(name, {bitcast(words, x), bitcast(words, y)});
}

/// Quads where no instruction multiplies them.
Value StripProducts::addWidenedQuads(Value x, Value y, Value sum) {
  std::pair<Value, Value> factors = wordsOfQuads(b, x, /*areSigned=*/false);
  std::pair<Value, Value> others = wordsOfQuads(b, y, /*areSigned=*/true);
  Value products =
      arith::AddIOp::create(b, timesWords(factors.first, others.first),
                            timesWords(factors.second, others.second));
  return arith::AddIOp::create(b, sum, products);
}

SmallVector<Value> StripProducts::halfOf(ArrayRef<Value> pairs, int64_t half) {
  auto bitsType = VectorType::get(vector.getShape(), b.getI32Type());
  SmallVector<Value> result;
  for (Value each : pairs)
    result.push_back(
        bitcast(vector, halfOfPairs(b, bitcast(bitsType, each), half == 1)));
  return result;
}

} // namespace tenon::cpu
