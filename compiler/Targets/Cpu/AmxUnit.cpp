//===- AmxUnit.cpp - Matrices in registers --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/AmxUnit.h"
#include "compiler/Targets/Cpu/TileFunction.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

constexpr int64_t tiles = 8;
constexpr int64_t tileRows = AmxUnit::rows, rowBytes = AmxUnit::rowBytes;
constexpr int64_t wordsOfRow = rowBytes / 4;
/// Where ldtilecfg reads a register's bytes per row, of 16 bits, and its rows.
constexpr int64_t bytesAt = 16, rowsAt = 48;

void callIntrinsic(ImplicitLocOpBuilder &b, StringRef name,
                   ArrayRef<Value> operands) {
  LLVM::CallIntrinsicOp::create(b, b.getStringAttr(name), operands);
}

Value byteOf(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIntOp::create(b, value, 8);
}

Value onStack(ImplicitLocOpBuilder &b, int64_t bytes) {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value size = arith::ConstantIntOp::create(b, bytes, 64);
  return LLVM::AllocaOp::create(b, pointer, b.getI8Type(), size,
                                /*alignment=*/64);
}

Value byteAt(ImplicitLocOpBuilder &b, Value base, LLVM::GEPArg offset) {
  return LLVM::GEPOp::create(b, base.getType(), b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

/// shape(rows, bytes), which all kernels of a module share.
LLVM::LLVMFuncOp shapeFunction(ImplicitLocOpBuilder &b, const CpuLevel &level,
                               bool below) {
  auto module =
      b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  std::string name =
      ((below ? "amx_shape_all." : "amx_shape.") + level.name).str();
  if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return function;
  OpBuilder::InsertionGuard guard(b);
  Type i64 = b.getI64Type();
  LLVM::LLVMFuncOp function = startTileFunction(b, module, name, {i64, i64});
  Value area = onStack(b, rowBytes);
  SmallVector<int8_t> whole(rowBytes, 0);
  whole[0] = 1; // The palette.
  for (int64_t tile = 0; tile < tiles; ++tile) {
    whole[bytesAt + 2 * tile] = rowBytes;
    whole[rowsAt + tile] = tileRows;
  }
  auto type = VectorType::get({rowBytes}, b.getI8Type());
  LLVM::StoreOp::create(
      b,
      arith::ConstantOp::create(
          b, DenseElementsAttr::get(type, ArrayRef<int8_t>(whole))),
      area, /*alignment=*/64);
  auto put = [&](Value value, int64_t at) {
    Value byte = arith::TruncIOp::create(b, b.getI8Type(), value);
    LLVM::StoreOp::create(b, byte, byteAt(b, area, int32_t(at)));
  };
  Value rows = function.getArgument(0), bytes = function.getArgument(1);
  for (int64_t tile = 0; tile < (below ? AmxUnit::a : AmxUnit::mostWidth);
       ++tile)
    put(rows, rowsAt + tile);
  put(rows, rowsAt + AmxUnit::a);
  put(bytes, bytesAt + 2 * AmxUnit::a);
  Value two = arith::ConstantIntOp::create(b, 2, 64);
  put(arith::ShRUIOp::create(b, bytes, two), rowsAt + AmxUnit::b);
  callIntrinsic(b, "llvm.x86.ldtilecfg", {area});
  LLVM::ReturnOp::create(b, ValueRange());
  return function;
}

} // namespace

AmxUnit::AmxUnit(ImplicitLocOpBuilder &builder, const CpuLevel &level,
                 bool isInt8, Value rowsOfA, Value linesOfB, Value rowsBelow)
    : builder(builder), isExpanded(level.amx == Amx::Expanded), isInt8(isInt8),
      rowsOfA(rowsOfA), linesOfB(linesOfB),
      rowsBelow(rowsBelow ? rowsBelow : number(rows)) {
  if (isExpanded)
    registers = onStack(builder, tiles * tileRows * rowBytes);
}

void AmxUnit::zero(int64_t tile) {
  if (!isExpanded)
    return callIntrinsic(builder, "llvm.x86.tilezero", {byteOf(builder, tile)});
  Value none = arith::ConstantIntOp::create(builder, 0, 32);
  forEachWord(tile, [&](Value row, Value column) {
    LLVM::StoreOp::create(builder, none, word(tile, row, column));
  });
}

void AmxUnit::load(int64_t tile, Value base, Value stride) {
  if (!isExpanded)
    return callIntrinsic(builder, "llvm.x86.tileloadd64",
                         {byteOf(builder, tile), base, stride});
  forEachWord(tile, [&](Value row, Value column) {
    Value value = LLVM::LoadOp::create(builder, builder.getI32Type(),
                                       wordAt(base, stride, row, column), 1);
    LLVM::StoreOp::create(builder, value, word(tile, row, column));
  });
}

void AmxUnit::store(int64_t tile, Value base, Value stride) {
  if (!isExpanded)
    return callIntrinsic(builder, "llvm.x86.tilestored64",
                         {byteOf(builder, tile), base, stride});
  forEachWord(tile, [&](Value row, Value column) {
    Value value = LLVM::LoadOp::create(builder, builder.getI32Type(),
                                       word(tile, row, column));
    LLVM::StoreOp::create(builder, value, wordAt(base, stride, row, column), 1);
  });
}

void AmxUnit::multiply(int64_t sum) {
  if (!isExpanded)
    return callIntrinsic(
        builder, isInt8 ? "llvm.x86.tdpbusd" : "llvm.x86.tdpbf16ps",
        {byteOf(builder, sum), byteOf(builder, a), byteOf(builder, b)});
  forEachWord(sum, [&](Value row, Value column) {
    loop(linesOfB, [&](Value line) {
      Type i32 = builder.getI32Type();
      auto load = [&](int64_t tile, Value row, Value column) -> Value {
        return LLVM::LoadOp::create(builder, i32, word(tile, row, column));
      };
      Value total = product(load(a, row, line), load(b, line, column),
                            load(sum, row, column));
      LLVM::StoreOp::create(builder, total, word(sum, row, column));
    });
  });
}

void AmxUnit::keepAwake() {
  if (isExpanded)
    return;
  auto pass = [&](TypeRange results, Value value, StringRef constraints) {
    // Of no instructions: LLVM knows nothing of what goes through.
    return LLVM::InlineAsmOp::create(
        builder, results, value, "", constraints, /*has_side_effects=*/true,
        /*is_align_stack=*/false, LLVM::TailCallKind::None,
        LLVM::AsmDialectAttr(), ArrayAttr());
  };
  Type f32 = builder.getF32Type();
  Value zero = arith::ConstantOp::create(builder, builder.getF32FloatAttr(0));
  zero = pass(f32, zero, "=x,0").getResult(0);
  pass({}, arith::AddFOp::create(builder, zero, zero), "x");
}

void AmxUnit::multiplyAll(ValueRange rowsOfA, Value aStride, Value b,
                          Value bStride, int64_t width, int64_t first) {
  for (auto [row, from] : llvm::enumerate(rowsOfA)) {
    load(a, from, aStride);
    for (int64_t i = 0; i < width; ++i) {
      int64_t column = row == 0 ? i : width - 1 - i;
      // The first of a second row is still there.
      if (row == 0 || i > 0)
        load(AmxUnit::b, byteAt(builder, b, int32_t(column * rowBytes)),
             bStride);
      multiply(sumAt(row, first + column));
    }
  }
}

/// What instructions add for a word of A and one of B.
Value AmxUnit::product(Value x, Value y, Value sum) {
  Type i32 = builder.getI32Type(), f32 = builder.getF32Type();
  auto shifted = [&](Value value, int64_t left) -> Value {
    return arith::ShLIOp::create(
        builder, value, arith::ConstantIntOp::create(builder, left, 32));
  };
  if (isInt8) {
    Value down = arith::ConstantIntOp::create(builder, 24, 32);
    for (int64_t left : {24, 16, 8, 0}) {
      Value u = arith::ShRUIOp::create(builder, shifted(x, left), down);
      Value s = arith::ShRSIOp::create(builder, shifted(y, left), down);
      sum = arith::AddIOp::create(builder, sum,
                                  arith::MulIOp::create(builder, u, s));
    }
    return sum;
  }
  Value high = arith::ConstantIntOp::create(builder, i32, 0xffff0000);
  auto toFloat = [&](Value bits) -> Value {
    return LLVM::BitcastOp::create(builder, f32, bits);
  };
  Value total = toFloat(sum);
  for (bool odd : {false, true}) {
    auto half = [&](Value pair) {
      return toFloat(
          odd ? arith::AndIOp::create(builder, pair, high).getResult()
              : shifted(pair, 16));
    };
    total = LLVM::FMAOp::create(builder, half(x), half(y), total);
  }
  return LLVM::BitcastOp::create(builder, i32, total);
}

void AmxUnit::shape(ImplicitLocOpBuilder &builder, const CpuLevel &level,
                    Value rows, Value bytes, bool below) {
  if (level.amx == Amx::Native)
    LLVM::CallOp::create(builder, shapeFunction(builder, level, below),
                         ValueRange{rows, bytes});
}

void AmxUnit::release(ImplicitLocOpBuilder &builder, const CpuLevel &level) {
  if (level.amx == Amx::Native)
    callIntrinsic(builder, "llvm.x86.tilerelease", {});
}

Value AmxUnit::number(int64_t value) {
  return arith::ConstantIntOp::create(builder, value, 64);
}

Value AmxUnit::rowsOf(int64_t tile) {
  return tile == b                       ? linesOfB
         : tile < mostWidth || tile == a ? rowsOfA
                                         : rowsBelow;
}

Value AmxUnit::wordsOf(int64_t tile) {
  return tile == a ? linesOfB : number(wordsOfRow);
}

Value AmxUnit::wordAt(Value base, Value stride, Value row, Value column) {
  Value line = byteAt(builder, base,
                      arith::MulIOp::create(builder, row, stride).getResult());
  return byteAt(builder, line,
                arith::MulIOp::create(builder, column, number(4)).getResult());
}

Value AmxUnit::word(int64_t tile, Value row, Value column) {
  Value line = arith::AddIOp::create(builder, row, number(tile * tileRows));
  Value first = arith::MulIOp::create(builder, line, number(wordsOfRow));
  Value at = arith::AddIOp::create(builder, first, column);
  return LLVM::GEPOp::create(builder, registers.getType(), builder.getI32Type(),
                             registers, ArrayRef<LLVM::GEPArg>{at});
}

void AmxUnit::forEachWord(int64_t tile,
                          function_ref<void(Value row, Value column)> body) {
  loop(rowsOf(tile), [&](Value row) {
    loop(wordsOf(tile), [&](Value column) { body(row, column); });
  });
}

void AmxUnit::loop(Value count, function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(builder, number(0), count, number(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

} // namespace tenon::cpu
