//===- FixedPointRow.cpp - A row's elements as whole numbers --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/FixedPointRow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

constexpr int64_t lanes = 8;
/// Of f32: the exponent's place, and what the largest element's becomes.
constexpr uint32_t exponentBit = 23, exponentMask = 0xffu << exponentBit;
constexpr uint32_t bias = 127, largestExponent = 14;
/// Added to a float of less than 2^22 it leaves a whole number in the low bits.
constexpr float wholeFrom = 0x1.8p23f;

} // namespace

FixedPointRow::FixedPointRow(ImplicitLocOpBuilder &b, int64_t block)
    : b(b), floats(VectorType::get({lanes}, b.getF32Type())),
      ints(VectorType::get({lanes}, b.getI32Type())), block(block) {
  auto allocate = [&](Type type, int64_t count) -> Value {
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    Value size = arith::ConstantIntOp::create(b, count, 64);
    return LLVM::AllocaOp::create(b, pointer, type, size, 32);
  };
  room = allocate(b.getI32Type(), block / 2);
  part = allocate(b.getF32Type(), block);
}

Value FixedPointRow::words(uint32_t value) {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(ints, ArrayRef<uint32_t>{value}));
}

Value FixedPointRow::splat(float value) {
  return arith::ConstantOp::create(b, SplatElementsAttr::get(floats, value));
}

Value FixedPointRow::at(Value base, Type type, LLVM::GEPArg offset) {
  return LLVM::GEPOp::create(b, base.getType(), type, base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

/// Combines all lanes; every one has the result.
template <typename Combine>
Value FixedPointRow::inEachLane(Value value, Combine combine) {
  for (int64_t step = lanes / 2; step > 0; step /= 2) {
    SmallVector<int64_t> turned;
    for (int64_t i = 0; i < lanes; ++i)
      turned.push_back((i + step) % lanes);
    value = combine(value, vector::ShuffleOp::create(b, value, value, turned));
  }
  return value;
}

Value FixedPointRow::largest(ArrayRef<Value> elements) {
  auto larger = [&](Value x, Value y) -> Value {
    return arith::MaxUIOp::create(b, x, y);
  };
  Value most;
  for (Value element : elements) {
    Value bits = LLVM::BitcastOp::create(b, ints, element);
    bits = arith::AndIOp::create(b, bits, words(0x7fffffffu));
    most = most ? larger(most, bits) : bits;
  }
  return inEachLane(most, larger);
}

/// Where a block's elements are, and zeros behind them.
Value FixedPointRow::wholeBlock(Value elements, Value count) {
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, value, 64);
  };
  Value isWhole =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, count, index(block));
  auto choice = scf::IfOp::create(b, part.getType(), isWhole,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  scf::YieldOp::create(b, elements);
  b.setInsertionPointToStart(choice.elseBlock());
  for (int64_t i = 0; i < block; i += lanes)
    LLVM::StoreOp::create(b, splat(0.0f), at(part, b.getF32Type(), int32_t(i)),
                          32);
  auto loop = scf::ForOp::create(b, index(0), count, index(1));
  scf::YieldOp::create(b, part);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  auto placeIn = [&](Value base) {
    return at(base, b.getF32Type(), loop.getInductionVar());
  };
  Value element = LLVM::LoadOp::create(b, b.getF32Type(), placeIn(elements));
  LLVM::StoreOp::create(b, element, placeIn(part));
  return choice.getResult(0);
}

FixedPointRow::Block FixedPointRow::convert(Value elements, Value count) {
  elements = wholeBlock(elements, count);
  SmallVector<Value> read;
  for (int64_t i = 0; i < block; i += lanes)
    read.push_back(LLVM::LoadOp::create(
        b, floats, at(elements, b.getF32Type(), int32_t(i)), 4));
  Value most = largest(read);
  // Both powers of two are made of bits. Neither may be a subnormal.
  Value exponent = arith::AndIOp::create(b, most, words(exponentMask));
  exponent = arith::MaxUIOp::create(
      b, exponent, words((largestExponent + 1) << exponentBit));
  auto power = [&](Value bits) -> Value {
    return LLVM::BitcastOp::create(b, floats, bits);
  };
  Value up = power(arith::SubIOp::create(
      b, words((2 * bias + largestExponent) << exponentBit), exponent));
  Value down = power(arith::SubIOp::create(
      b, exponent, words(largestExponent << exponentBit)));
  // Of 8 bits the largest is at most 255 / 256 of 2^15: none becomes that.
  Value whole = splat(wholeFrom);
  Value sum;
  for (auto [i, element] : llvm::enumerate(read)) {
    Value number = LLVM::BitcastOp::create(
        b, ints, LLVM::FMAOp::create(b, element, up, whole));
    sum = sum ? arith::AddIOp::create(b, sum, number) : number;
    storePairs(number,
               at(room, b.getI32Type(), int32_t(i * size_t(lanes) / 2)));
  }
  // What made them whole comes off, once for each vector.
  uint32_t added = llvm::bit_cast<uint32_t>(wholeFrom) * uint32_t(read.size());
  sum = arith::SubIOp::create(b, sum, words(added));
  Block result;
  result.sum = inEachLane(sum, [&](Value x, Value y) -> Value {
    return arith::AddIOp::create(b, x, y);
  });
  // Times zero what is not finite is NaN, all else nothing.
  result.scale = LLVM::FMAOp::create(b, power(most), splat(0.0f), down);
  return result;
}

/// Of 8 numbers, each of the first 4 below the one 4 behind it.
void FixedPointRow::storePairs(Value numbers, Value place) {
  auto half = VectorType::get({lanes / 2}, b.getI32Type());
  auto part = [&](int64_t from) -> Value {
    SmallVector<int64_t> own;
    for (int64_t i = 0; i < lanes / 2; ++i)
      own.push_back(from + i);
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

Value FixedPointRow::pairAt(Value first, int64_t step) {
  Value two = arith::ConstantIntOp::create(b, 2, 64);
  Value place = at(room, b.getI32Type(), int32_t(step));
  place = at(place, b.getI32Type(),
             arith::DivUIOp::create(b, first, two).getResult());
  Value pair = LLVM::LoadOp::create(b, b.getI32Type(), place);
  Value all = vector::BroadcastOp::create(b, ints, pair);
  return LLVM::BitcastOp::create(
      b, VectorType::get({2 * lanes}, b.getI16Type()), all);
}

} // namespace tenon::cpu
