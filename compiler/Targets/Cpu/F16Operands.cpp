//===- F16Operands.cpp - What is multiplied and added up in f16 -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Powers of two are made from exponents. The largest number is that of the
// largest bits without the sign.
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
// Of f32: the bits below the exponent, and what is added to that.
constexpr int64_t bitsBelow = 23, bias = 127;
constexpr int64_t aim = 1; // The exponent that factors make.

class Writer : TileBuilder {
public:
  Writer(ModuleOp module, bool ofBf16)
      : TileBuilder(module), ofBf16(ofBf16), i16(b.getI16Type()),
        i32(b.getI32Type()), f16(b.getF16Type()), f32(b.getF32Type()) {}

  /// rows(a, aStride, out, outStride, factors, rows, depth)
  LLVM::LLVMFuncOp writeRows(StringRef name) {
    LLVM::LLVMFuncOp function = startTileFunction(
        b, module, name, {pointer, i64, pointer, i64, pointer, i64, i64});
    auto argument = [&](int i) { return function.getArgument(i); };
    Value depth = argument(6);
    loop(number(0), argument(5), {}, [&](Value row, ValueRange) {
      Value from = address(argument(0), source(), mul(row, argument(1)));
      Value to = address(argument(2), f32, mul(row, argument(3)));
      auto [up, down] = f16FactorsOf(b, largestOf(from, depth));
      roundRow(from, to, up, depth);
      LLVM::StoreOp::create(b, down, address(argument(4), f32, row), 4);
      return SmallVector<Value>();
    });
    LLVM::ReturnOp::create(b, ValueRange());
    return function;
  }

  /// block(from, imageStride, images, lineStride, lines, length, out, count,
  /// factor)
  LLVM::LLVMFuncOp writeBlock(StringRef name) {
    LLVM::LLVMFuncOp function = startTileFunction(
        b, module, name,
        {pointer, i64, i64, i64, i64, i64, pointer, i64, pointer});
    auto argument = [&](int i) { return function.getArgument(i); };
    Value none = arith::ConstantIntOp::create(b, i32, 0);
    auto largest = loop(
        number(0), argument(2), {none}, [&](Value image, ValueRange before) {
          Value from = address(argument(0), source(), mul(image, argument(1)));
          return loop(number(0), argument(4), before,
                      [&](Value line, ValueRange inner) {
                        Value start =
                            address(from, source(), mul(line, argument(3)));
                        Value size = largestOf(start, argument(5));
                        return SmallVector<Value>{
                            arith::MaxUIOp::create(b, inner[0], size)};
                      });
        });
    auto [up, down] = f16FactorsOf(b, largest[0]);
    roundRow(argument(0), argument(6), up, argument(7));
    LLVM::StoreOp::create(b, down, argument(8), 4);
    LLVM::ReturnOp::create(b, ValueRange());
    return function;
  }

  /// panel(panel, pairs, factors): sixteen columns after the other, each pair
  /// stored where nothing is read any more.
  LLVM::LLVMFuncOp writePanel(StringRef name) {
    LLVM::LLVMFuncOp function =
        startTileFunction(b, module, name, {pointer, i64, pointer});
    Value pairs = function.getArgument(1);
    Value none = arith::ConstantOp::create(
        b, b.getZeroAttr(VectorType::get({lanes}, i32)));
    loop(
        number(0), number(kernel::panelColumns), {},
        [&](Value column, ValueRange) {
          Value panel = address(function.getArgument(0), f32, column);
          auto most = loop(
              number(0), pairs, {none}, [&](Value pair, ValueRange before) {
                Value size = before[0];
                for (Value step : loadSteps(panel, pair))
                  size = arith::MaxUIOp::create(b, size, bitsOfSize(b, step));
                return SmallVector<Value>{size};
              });
          auto factors = f16FactorsOf(b, most[0]);
          loop(number(0), pairs, {}, [&](Value pair, ValueRange) {
            auto steps = loadSteps(panel, pair);
            for (Value &step : steps)
              step = arith::MulFOp::create(b, step, factors.first);
            LLVM::StoreOp::create(b, f16PairsOf(b, steps[0], steps[1]),
                                  lineOf(panel, pair), 4);
            return SmallVector<Value>();
          });
          LLVM::StoreOp::create(b, factors.second,
                                address(function.getArgument(2), f32, column),
                                4);
          return SmallVector<Value>();
        },
        lanes);
    LLVM::ReturnOp::create(b, ValueRange());
    return function;
  }

private:
  using Body = function_ref<SmallVector<Value>(Value, ValueRange)>;

  Value lineOf(Value panel, Value line) {
    return address(panel, f32, mul(line, number(kernel::panelColumns)));
  }
  /// Both steps of a pair, of sixteen of a panel's columns.
  std::array<Value, 2> loadSteps(Value panel, Value pair) {
    auto wide = VectorType::get({lanes}, f32);
    if (!ofBf16) {
      Value even = lineOf(panel, mul(pair, number(2)));
      Value odd = address(even, f32, int32_t(kernel::panelColumns));
      return {LLVM::LoadOp::create(b, wide, even, 4),
              LLVM::LoadOp::create(b, wide, odd, 4)};
    }
    Value both = LLVM::LoadOp::create(b, VectorType::get({lanes}, i32),
                                      lineOf(panel, pair), 4);
    auto half = [&](bool odd) -> Value {
      return LLVM::BitcastOp::create(b, wide, halfOfPairs(b, both, odd));
    };
    return {half(false), half(true)};
  }

  Type source() { return ofBf16 ? i16 : f32; }
  /// A row's numbers from k on.
  Value load(Value row, Value k, Type wide) {
    Value place = address(row, source(), k);
    if (!ofBf16)
      return LLVM::LoadOp::create(b, wide, place, 4);
    Type bits = sameShape(wide, i32);
    Value narrow = LLVM::LoadOp::create(b, sameShape(wide, i16), place, 2);
    Value upper = arith::ShLIOp::create(
        b, arith::ExtUIOp::create(b, bits, narrow), constantLike(b, bits, 16));
    return LLVM::BitcastOp::create(b, wide, upper);
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

  Value wholeVectors(Value depth) {
    return arith::AndIOp::create(b, depth, number(-lanes));
  }

  /// The largest size of a row's numbers, of whole vectors and then one by one.
  Value largestOf(Value row, Value depth) {
    Value whole = wholeVectors(depth);
    auto larger = [&](Value k, Type type, Value before) {
      Value size = bitsOfSize(b, load(row, k, type));
      return SmallVector<Value>{arith::MaxUIOp::create(b, before, size)};
    };
    auto wide = VectorType::get({lanes}, f32);
    Value none = arith::ConstantOp::create(
        b, b.getZeroAttr(VectorType::get({lanes}, i32)));
    Value most = loop(
        number(0), whole, {none},
        [&](Value k, ValueRange before) { return larger(k, wide, before[0]); },
        lanes)[0];
    Value first =
        vector::ReductionOp::create(b, vector::CombiningKind::MAXUI, most);
    return loop(whole, depth, {first}, [&](Value k, ValueRange before) {
      return larger(k, f32, before[0]);
    })[0];
  }

  void roundRow(Value from, Value to, Value scale, Value depth) {
    Value whole = wholeVectors(depth);
    auto round = [&](Value k, Type wide, Type narrow, Value scale) {
      Value number = arith::MulFOp::create(b, load(from, k, wide), scale);
      number = arith::TruncFOp::create(b, narrow, number);
      LLVM::StoreOp::create(b, number, address(to, f16, k), 2);
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

  bool ofBf16; // What is read.
  Type i16, i32, f16, f32;
};

} // namespace

std::pair<Value, Value> f16FactorsOf(ImplicitLocOpBuilder &b, Value size) {
  Type type = size.getType();
  auto constant = [&](int64_t value) { return constantLike(b, type, value); };
  Value exponent = arith::ShRUIOp::create(b, size, constant(bitsBelow));
  exponent = arith::MaxUIOp::create(b, exponent, constant(aim + 1));
  exponent = arith::MinUIOp::create(b, exponent, constant(2 * bias));
  auto power = [&](Value biased) -> Value {
    Value bits = arith::ShLIOp::create(b, biased, constant(bitsBelow));
    return LLVM::BitcastOp::create(b, sameShape(type, b.getF32Type()), bits);
  };
  return {power(arith::SubIOp::create(b, constant(2 * bias + aim), exponent)),
          power(arith::SubIOp::create(b, exponent, constant(aim)))};
}

Value bitsOfSize(ImplicitLocOpBuilder &b, Value numbers) {
  Type type = sameShape(numbers.getType(), b.getI32Type());
  auto constant = [&](int64_t value) { return constantLike(b, type, value); };
  Value bits = arith::AndIOp::create(
      b, LLVM::BitcastOp::create(b, type, numbers), constant(0x7fffffff));
  Value isFinite = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, bits,
                                         constant(0x7f800000));
  return arith::SelectOp::create(b, isFinite, bits, constant(0));
}

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

void callRoundPanel(Emitter &e, Value panel, Value pairs, Value factors,
                    bool ofBf16) {
  StringRef source = ofBf16 ? "f16_panel_of_bf16." : "f16_panel.";
  std::string name = (source + e.level.name).str();
  auto function = e.module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function)
    function = Writer(e.module, ofBf16).writePanel(name);
  LLVM::CallOp::create(e.b, function, ValueRange{panel, pairs, factors});
}

void callRoundBlock(Emitter &e, const F16Block &block) {
  std::string name = ("f16_block_of_bf16." + e.level.name).str();
  auto function = e.module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function)
    function = Writer(e.module, /*ofBf16=*/true).writeBlock(name);
  LLVM::CallOp::create(e.b, function,
                       ValueRange{block.from, block.imageStride, block.images,
                                  block.lineStride, block.lines, block.length,
                                  block.out, block.count, block.factor});
}

Value interleaved(ImplicitLocOpBuilder &b, Value even, Value odd) {
  auto half = cast<VectorType>(even.getType());
  Type words = sameShape(half, b.getI32Type());
  // Of a shuffle, LLVM would first make vectors of twice the size of both.
  auto widened = [&](Value value) {
    Value bits =
        LLVM::BitcastOp::create(b, sameShape(half, b.getI16Type()), value);
    return arith::ExtUIOp::create(b, words, bits);
  };
  Value upper =
      arith::ShLIOp::create(b, widened(odd), constantLike(b, words, 16));
  return LLVM::BitcastOp::create(
      b, VectorType::get({2 * half.getNumElements()}, half.getElementType()),
      arith::OrIOp::create(b, widened(even), upper));
}

Value f16PairsOf(ImplicitLocOpBuilder &b, Value even, Value odd) {
  Type half = sameShape(even.getType(), b.getF16Type());
  return interleaved(b, arith::TruncFOp::create(b, half, even),
                     arith::TruncFOp::create(b, half, odd));
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
