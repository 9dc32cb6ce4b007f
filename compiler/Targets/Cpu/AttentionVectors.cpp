//===- AttentionVectors.cpp - Vectors of queries --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/AttentionVectors.h"
#include "compiler/Targets/Cpu/MatmulOperands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::cpu {

Value AttentionVectors::load(VectorType type, Value at) {
  return LLVM::LoadOp::create(e.b, type, at, /*alignment=*/4);
}

void AttentionVectors::store(Value value, Value at) {
  Type element = getElementTypeOrSelf(value);
  LLVM::StoreOp::create(e.b, value, at,
                        /*alignment=*/element.getIntOrFloatBitWidth() / 8);
}

/// 0, 1, 2, .. in i64, as many as `type` has lanes.
static Value laneNumbers(Emitter &e, VectorType type) {
  auto wide = VectorType::get(type.getShape(), e.b.getI64Type());
  SmallVector<int64_t> lanes =
      llvm::to_vector(llvm::seq<int64_t>(0, type.getNumElements()));
  return arith::ConstantOp::create(
      e.b, DenseElementsAttr::get(wide, ArrayRef<int64_t>(lanes)));
}

Value AttentionVectors::isBelow(VectorType type, Value count) {
  Value lanes = laneNumbers(e, type);
  Value bound = vector::BroadcastOp::create(e.b, lanes.getType(), count);
  return arith::CmpIOp::create(e.b, arith::CmpIPredicate::slt, lanes, bound);
}

Value AttentionVectors::loadSome(VectorType type, Value at, Value count) {
  Value zero = constantLike(e.b, type, 0);
  return LLVM::MaskedLoadOp::create(e.b, type, at, isBelow(type, count), zero,
                                    /*alignment=*/4);
}

/// What was loaded, of any type, as f32.
static Value widened(Emitter &e, VectorType type, Value value, Type stored) {
  if (isa<IntegerType>(stored))
    return arith::SIToFPOp::create(e.b, type, value);
  return e.fromMemory(value, stored);
}

Value AttentionVectors::loadAs(VectorType type, Type stored, Value at) {
  VectorType memory = type.clone(Emitter::memoryType(stored));
  return widened(
      e, type, LLVM::LoadOp::create(e.b, memory, at, graph::byteWidth(stored)),
      stored);
}

Value AttentionVectors::loadSomeAs(VectorType type, Type stored, Value at,
                                   Value count) {
  VectorType memory = type.clone(Emitter::memoryType(stored));
  Value zero = constantLike(e.b, memory, 0);
  Value some = LLVM::MaskedLoadOp::create(e.b, memory, at, isBelow(type, count),
                                          zero, graph::byteWidth(stored));
  return widened(e, type, some, stored);
}

Value AttentionVectors::gatherSome(VectorType type, Value at, Value stride,
                                   Value count) {
  Value lanes = laneNumbers(e, type);
  Value steps = vector::BroadcastOp::create(e.b, lanes.getType(), stride);
  Value offsets = arith::MulIOp::create(e.b, lanes, steps);
  auto pointers = VectorType::get(type.getShape(), at.getType());
  Value places = LLVM::GEPOp::create(e.b, pointers, type.getElementType(), at,
                                     ArrayRef<LLVM::GEPArg>{offsets});
  Value zero = constantLike(e.b, type, 0);
  return LLVM::masked_gather::create(e.b, type, places, isBelow(type, count),
                                     ValueRange{zero}, /*alignment=*/4);
}

Value AttentionVectors::loadSplat(VectorType type, Value at) {
  Value value = LLVM::LoadOp::create(e.b, type.getElementType(), at);
  return vector::BroadcastOp::create(e.b, type, value);
}

static Value joined(Emitter &e, Value first, Value second) {
  int64_t lanes = cast<VectorType>(first.getType()).getNumElements();
  SmallVector<int32_t> mask =
      llvm::to_vector(llvm::seq<int32_t>(0, int32_t(2 * lanes)));
  return LLVM::ShuffleVectorOp::create(e.b, first, second, mask);
}

std::pair<Value, Value> AttentionVectors::exchange(Value upper, Value lower,
                                                   int64_t half) {
  int64_t lanes = cast<VectorType>(upper.getType()).getNumElements();
  Value result[2];
  for (int64_t side : {0, 1}) {
    SmallVector<int32_t> mask;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t from = side ? lane | half : lane & ~half;
      mask.push_back(int32_t(lane & half ? lanes + from : from));
    }
    result[side] = LLVM::ShuffleVectorOp::create(e.b, upper, lower, mask);
  }
  return {result[0], result[1]};
}

/// Two vectors of f32 as one of 16 bits.
Value AttentionVectors::narrowed(Value first, Value second,
                                 ArrayRef<int32_t> mask) {
  Type bf16 = e.b.getBF16Type();
  int64_t lanes = cast<VectorType>(first.getType()).getNumElements();
  Value both;
  if (inF16) {
    Type half = sameShape(first.getType(), e.b.getF16Type());
    both = joined(e, arith::TruncFOp::create(e.b, half, first),
                  arith::TruncFOp::create(e.b, half, second));
  } else if (e.level.pairDots == PairDots::Native) {
    both = roundedBoth(e.b, first, second);
  } else {
    auto round = [&](Value value) {
      return e.toMemory(roundTo(e.b, value, bf16), bf16);
    };
    both = joined(e, round(first), round(second));
  }
  if (!mask.empty())
    both = LLVM::ShuffleVectorOp::create(e.b, both, both, mask);
  return LLVM::BitcastOp::create(
      e.b, VectorType::get({lanes}, e.b.getI32Type()), both);
}

Value AttentionVectors::round(Value first, Value second) {
  return narrowed(first, second, {});
}

Value AttentionVectors::roundPairs(Value first, Value second) {
  SmallVector<int32_t> mask;
  int32_t lanes = cast<VectorType>(first.getType()).getNumElements();
  for (int32_t lane = 0; lane < lanes; ++lane)
    mask.append({lane, lanes + lane});
  return narrowed(first, second, mask);
}

Value AttentionVectors::joinPairs(Value first, Value second) {
  Type words = sameShape(first.getType(), e.b.getI32Type());
  Value low = arith::BitcastOp::create(e.b, words, first);
  Value high = arith::BitcastOp::create(e.b, words, second);
  low = arith::ShRUIOp::create(e.b, low, constantLike(e.b, words, 16));
  return arith::OrIOp::create(e.b, low, high);
}

SmallVector<Value> AttentionVectors::transpose(ArrayRef<Value> rows) {
  SmallVector<Value> result(rows);
  // Quarters of ever smaller squares change places across the diagonal.
  int64_t count = rows.size();
  for (int64_t half = count / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < count; ++i)
      if (!(i & half))
        std::tie(result[i], result[i + half]) =
            exchange(result[i], result[i + half], half);
  return result;
}

Value AttentionVectors::join(Value first, Value second) {
  return joined(e, first, second);
}

Value AttentionVectors::part(Value whole, int64_t at, int64_t lanes) {
  if (cast<VectorType>(whole.getType()).getNumElements() == lanes)
    return whole;
  SmallVector<int32_t> mask = llvm::to_vector(
      llvm::seq<int32_t>(int32_t(at * lanes), int32_t((at + 1) * lanes)));
  return LLVM::ShuffleVectorOp::create(e.b, whole, whole, mask);
}

Value AttentionVectors::sumEach(ArrayRef<Value> rows) {
  SmallVector<Value> sums(rows);
  for (size_t half = rows.size() / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i) {
      auto [x, y] = exchange(sums[i], sums[i + half], half);
      sums[i] = emitAdd(e.b, x, y);
    }
  return sums[0];
}

Value AttentionVectors::larger(Value x, Value y) {
  Value isLarger = arith::CmpFOp::create(e.b, arith::CmpFPredicate::OGT, x, y);
  return arith::SelectOp::create(e.b, isLarger, x, y);
}

/// c[0] * x^n + .. + c[n]
static Value polynomial(ImplicitLocOpBuilder &b, ArrayRef<float> c, Value x) {
  Value sum = constantLike(b, x.getType(), c[0]);
  for (float next : c.drop_front())
    sum = emitMulAdd(b, sum, x, constantLike(b, x.getType(), next));
  return sum;
}

/// By what AVX-512 has for it: y less its floor, and scaling by the floor's
/// power of two, both of which know infinities and NaN. Lanes that would come
/// below the normal numbers are left out, as each costs a hundred cycles.
static Value powerOfTwo512(ImplicitLocOpBuilder &b, Value y,
                           ArrayRef<float> fit) {
  auto type = cast<VectorType>(y.getType());
  auto number = [&](int64_t value, unsigned width) -> Value {
    return arith::ConstantIntOp::create(b, value, width);
  };
  auto call = [&](StringRef name, ArrayRef<Value> operands) {
    return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name),
                                         operands)
        .getResult(0);
  };
  constexpr int64_t downwards = 1, asUsual = 4;
  Value all = number(-1, 16), rounding = number(asUsual, 32);
  Value r = call("llvm.x86.avx512.mask.reduce.ps.512",
                 {y, number(downwards, 32), y, all, rounding});
  Value fraction = polynomial(b, fit, r);
  Value zero = constantLike(b, type, 0);
  Value isNormal = arith::CmpFOp::create(b, arith::CmpFPredicate::UGE, y,
                                         constantLike(b, type, -126));
  isNormal = LLVM::BitcastOp::create(b, b.getI16Type(), isNormal);
  return call("llvm.x86.avx512.mask.scalef.ps.512",
              {fraction, y, zero, isNormal, rounding});
}

Value AttentionVectors::roughPowerOfTwo(Value y) {
  static constexpr float fit[] = {7.802452e-02f, 2.2606716e-01f, 6.9583354e-01f,
                                  9.9992522e-01f};
  return powerOfTwo512(e.b, y, fit);
}

Value AttentionVectors::powerOfTwo(Value y) {
  auto vector = dyn_cast<VectorType>(y.getType());
  if (vector && vector.getNumElements() == 16) {
    // A minimax fit of 2^r over [0, 1].
    static constexpr float fit[] = {1.877576695e-03f, 8.989339694e-03f,
                                    5.582631752e-02f, 2.401536107e-01f,
                                    6.931530833e-01f, 9.999999404e-01f};
    return powerOfTwo512(e.b, y, fit);
  }
  // A minimax fit of 2^r over |r| <= 1/2.
  static constexpr float fit[] = {1.327647137e-03f, 9.675541329e-03f,
                                  5.550713275e-02f, 2.402211972e-01f,
                                  6.931469671e-01f, 1.000000072e+00f};
  ImplicitLocOpBuilder &b = e.b;
  Type type = y.getType();
  auto number = [&](double value) { return constantLike(b, type, value); };
  // At -127 the exponent's field is 0, and with it the result. NaN stays.
  Value isTiny =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, y, number(-127));
  y = arith::SelectOp::create(b, isTiny, number(-127), y);
  // Adding 1.5 * 2^23 leaves the rounded integer in the low bits; here plus
  // the exponent's bias.
  Value magic = number(12582912 + 127);
  Value shifted = arith::AddFOp::create(b, y, magic);
  Value r =
      arith::SubFOp::create(b, y, arith::SubFOp::create(b, shifted, magic));
  Value sum = polynomial(b, fit, r);
  Type bitsType = sameShape(type, b.getI32Type());
  Value bits = arith::BitcastOp::create(b, bitsType, shifted);
  bits = arith::ShLIOp::create(b, bits, constantLike(b, bitsType, 23));
  return arith::MulFOp::create(b, sum, arith::BitcastOp::create(b, type, bits));
}

} // namespace tenon::cpu
