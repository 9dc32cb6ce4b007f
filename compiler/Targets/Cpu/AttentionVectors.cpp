//===- AttentionVectors.cpp - Vectors of queries --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/AttentionVectors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::cpu {

Value AttentionVectors::load(VectorType type, Value at) {
  return LLVM::LoadOp::create(e.b, type, at, /*alignment=*/4);
}

void AttentionVectors::store(Value value, Value at) {
  LLVM::StoreOp::create(e.b, value, at, /*alignment=*/4);
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

SmallVector<Value> AttentionVectors::transpose(ArrayRef<Value> rows) {
  SmallVector<Value> result(rows);
  // Quarters of ever smaller squares change places across the diagonal.
  for (int64_t half = tile / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < tile; ++i)
      if (!(i & half))
        std::tie(result[i], result[i + half]) =
            exchange(result[i], result[i + half], half);
  return result;
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

Value AttentionVectors::powerOfTwo(Value y) {
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
  Value sum = number(fit[0]);
  for (float c : ArrayRef(fit).drop_front())
    sum = emitMulAdd(b, sum, r, number(c));
  Type bitsType = sameShape(type, b.getI32Type());
  Value bits = arith::BitcastOp::create(b, bitsType, shifted);
  bits = arith::ShLIOp::create(b, bits, constantLike(b, bitsType, 23));
  return arith::MulFOp::create(b, sum, arith::BitcastOp::create(b, type, bits));
}

} // namespace tenon::cpu
