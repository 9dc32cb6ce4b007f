//===- F16Operands.cpp - What is multiplied and added up in f16 -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Powers of two are made from exponents, of which f32 has 8 bits above 23,
// biased by 127. The largest number is that of the largest bits without the
// sign. A row that is not finite has no sums that are, whatever it is
// multiplied by.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/F16Operands.h"
#include "compiler/Targets/Cpu/TileFunction.h"
#include "dialects/Kernel/Packing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

constexpr int64_t lanes = 16;
constexpr int64_t wideBits = 23; // Below the exponent.
constexpr int64_t wideBias = 127;
/// Rows' largest numbers become 2 to 4.
constexpr int64_t exponentOfRows = 1;

class Writer {
public:
  Writer(ModuleOp module, bool ofBf16)
      : module(module), ofBf16(ofBf16),
        b(UnknownLoc::get(module.getContext()), module.getContext()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())),
        i16(b.getI16Type()), i32(b.getI32Type()), i64(b.getI64Type()),
        f16(b.getF16Type()), f32(b.getF32Type()) {}

  /// rows(a, aStride, out, outStride, factors, rows, depth)
  LLVM::LLVMFuncOp writeRows(StringRef name) {
    LLVM::LLVMFuncOp function = startTileFunction(
        b, module, name, {pointer, i64, pointer, i64, pointer, i64, i64});
    auto argument = [&](int i) { return function.getArgument(i); };
    Value depth = argument(6);
    Value whole = arith::AndIOp::create(b, depth, number(-lanes));
    loop(number(0), argument(5), {}, [&](Value row, ValueRange) {
      Value from = at(argument(0), source(), mul(row, argument(1)));
      Value to = at(argument(2), f32, mul(row, argument(3)));
      Value exponent = arith::ShRUIOp::create(b, largestOf(from, whole, depth),
                                              constant(i32, wideBits));
      exponent = arith::MaxUIOp::create(b, exponent,
                                        constant(i32, exponentOfRows + 1));
      exponent = arith::MinUIOp::create(b, exponent, constant(i32, 254));
      Value up = arith::SubIOp::create(
          b, constant(i32, 2 * wideBias + exponentOfRows), exponent);
      Value down =
          arith::SubIOp::create(b, exponent, constant(i32, exponentOfRows));
      roundRow(from, to, power(up), whole, depth);
      LLVM::StoreOp::create(b, power(down), at(argument(4), f32, row), 4);
      return SmallVector<Value>();
    });
    LLVM::ReturnOp::create(b, ValueRange());
    return function;
  }

private:
  using Body = function_ref<SmallVector<Value>(Value, ValueRange)>;

  Value number(int64_t value) {
    return arith::ConstantIntOp::create(b, value, 64);
  }
  Value constant(Type type, int64_t value) {
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
  }
  Value zero(Type type) {
    return arith::ConstantOp::create(b, b.getZeroAttr(type));
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
  Value at(Value base, Type type, Value offset) {
    return LLVM::GEPOp::create(b, pointer, type, base,
                               ArrayRef<LLVM::GEPArg>{offset});
  }
  Type source() { return ofBf16 ? i16 : f32; }
  /// Bits of f32 of a row's numbers from k on.
  Value loadBits(Value row, Value k, Type bits) {
    Value place = at(row, source(), k);
    if (!ofBf16)
      return LLVM::LoadOp::create(b, bits, place, 4);
    Value narrow = LLVM::LoadOp::create(b, sameShape(bits, i16), place, 2);
    Value wide = arith::ExtUIOp::create(b, bits, narrow);
    return arith::ShLIOp::create(b, wide, constantLike(b, bits, 16));
  }
  /// 2 to the power that a biased exponent stands for.
  Value power(Value exponent) {
    Value bits = arith::ShLIOp::create(b, exponent, constant(i32, wideBits));
    return LLVM::BitcastOp::create(b, f32, bits);
  }

  SmallVector<Value> loop(Value from, Value to, ValueRange start, Body body,
                          int64_t step = 1) {
    auto loop = scf::ForOp::create(b, from, to, number(step), start);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> results =
        body(loop.getInductionVar(), loop.getRegionIterArgs());
    if (!start.empty())
      scf::YieldOp::create(b, results);
    return llvm::to_vector_of<Value>(loop.getResults());
  }

  /// The largest bits of a row's numbers without their signs: of whole vectors
  /// up to `whole`, then one by one.
  Value largestOf(Value row, Value whole, Value depth) {
    auto bits = VectorType::get({lanes}, i32);
    constexpr int64_t size = 0x7fffffff;
    Value most = loop(
        number(0), whole, {zero(bits)},
        [&](Value k, ValueRange before) {
          Value numbers = loadBits(row, k, bits);
          numbers =
              arith::AndIOp::create(b, numbers, constantLike(b, bits, size));
          return SmallVector<Value>{
              arith::MaxUIOp::create(b, before[0], numbers)};
        },
        lanes)[0];
    Value first =
        vector::ReductionOp::create(b, vector::CombiningKind::MAXUI, most);
    return loop(whole, depth, {first}, [&](Value k, ValueRange before) {
      Value number = loadBits(row, k, i32);
      number = arith::AndIOp::create(b, number, constant(i32, size));
      return SmallVector<Value>{arith::MaxUIOp::create(b, before[0], number)};
    })[0];
  }

  void roundRow(Value from, Value to, Value scale, Value whole, Value depth) {
    auto round = [&](Value k, Type wide, Type narrow, Value scale) {
      Value number = LLVM::BitcastOp::create(
          b, wide, loadBits(from, k, sameShape(wide, i32)));
      number = arith::MulFOp::create(b, number, scale);
      number = arith::TruncFOp::create(b, narrow, number);
      LLVM::StoreOp::create(b, number, at(to, f16, k), 2);
      return SmallVector<Value>();
    };
    auto wide = VectorType::get({lanes}, f32);
    auto narrow = VectorType::get({lanes}, f16);
    Value scales = vector::BroadcastOp::create(b, wide, scale);
    loop(
        number(0), whole, {},
        [&](Value k, ValueRange) { return round(k, wide, narrow, scales); },
        lanes);
    loop(whole, depth, {},
         [&](Value k, ValueRange) { return round(k, f32, f16, scale); });
  }

  ModuleOp module;
  bool ofBf16; // What is read.
  ImplicitLocOpBuilder b;
  Type pointer, i16, i32, i64, f16, f32;
};

} // namespace

void callRoundRows(Emitter &e, const Matrix &a, const F16Rows &to) {
  StringRef source = a.isHalf ? "f16_rows_of_bf16." : "f16_rows.";
  std::string name = (source + e.level.name).str();
  auto function = e.module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function)
    function = Writer(e.module, a.isHalf).writeRows(name);
  LLVM::CallOp::create(e.b, function,
                       ValueRange{a.base, a.rowStride, to.out, to.stride,
                                  to.factors, to.rows,
                                  e.mul(to.pairs, e.number(2))});
}

Value f16PairsOf(ImplicitLocOpBuilder &b, Value even, Value odd) {
  auto half = cast<VectorType>(sameShape(even.getType(), b.getF16Type()));
  SmallVector<int64_t> mask;
  for (int64_t i = 0; i < half.getNumElements(); ++i)
    mask.append({i, half.getNumElements() + i});
  return vector::ShuffleOp::create(b, arith::TruncFOp::create(b, half, even),
                                   arith::TruncFOp::create(b, half, odd), mask);
}

void pairsToF16(Emitter &e, Value packed, Value out, Value pairs) {
  auto bits = VectorType::get({lanes}, e.b.getI32Type());
  auto wide = VectorType::get({lanes}, e.b.getF32Type());
  e.loop(e.number(0), pairs, [&](Value pair) {
    Value line = e.mul(pair, e.number(kernel::panelColumns));
    for (int64_t i = 0; i < kernel::panelColumns; i += lanes) {
      Value at = e.add(line, e.number(i));
      auto place = [&](Value base) {
        return e.address(base, e.b.getF32Type(), at);
      };
      Value both = LLVM::LoadOp::create(e.b, bits, place(packed), 4);
      auto half = [&](bool odd) -> Value {
        return LLVM::BitcastOp::create(e.b, wide, halfOfPairs(e.b, both, odd));
      };
      LLVM::StoreOp::create(e.b, f16PairsOf(e.b, half(false), half(true)),
                            place(out), 4);
    }
  });
}

} // namespace tenon::cpu
