//===- QuantizedReader.cpp - Numbers of quantized weights as f32 ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/QuantizedReader.h"
#include "compiler/Targets/Cpu/MatmulOperands.h"
#include "compiler/Targets/Cpu/TileFunction.h"
#include "dialects/Kernel/Packing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::panelColumns;
using kernel::QuantizedRhs;
using kernel::stepsOfWord;

/// How far ahead numbers are fetched, and scales by as many steps.
constexpr int64_t streamAhead = 4096;
constexpr int64_t cacheLine = 64;
/// Steps of k of numbers of 8 bits per iteration.
constexpr int64_t unrolledBytes = 4;

} // namespace

QuantizedReader::QuantizedReader(MLIRContext *context, const QuantizedRhs &rhs,
                                 const CpuLevel &level, int64_t vectors)
    : zeroPoint(rhs.zeroPoint), hasZeros(rhs.zeros),
      block(rhs.blocks == 1 ? 0 : rhs.block), isSigned(rhs.isSigned()),
      bits(rhs.bits), lanes(level.lanes(4)), vectors(vectors),
      columns(lanes * vectors), b(UnknownLoc::get(context), context),
      pointer(LLVM::LLVMPointerType::get(context)), i64(b.getI64Type()),
      f32(b.getF32Type()), i32(b.getI32Type()),
      vector(VectorType::get({lanes}, f32)),
      words(VectorType::get({lanes}, i32)),
      unit(bits == 4 ? stepsOfWord : unrolledBytes),
      codebook(rhs.codebook.begin(), rhs.codebook.end()),
      scaleType(graph::getElementType(rhs.scales)) {
  hasTable = bits == 4 && (lanes == 16 || !codebook.empty());
  hasOffset = hasZeros || (zeroPoint != 0 && !hasTable);
}

//===--- Numbers ---===//

Value QuantizedReader::number(int64_t value) {
  return arith::ConstantIntOp::create(b, value, 64);
}
Value QuantizedReader::add(Value x, Value y) {
  return arith::AddIOp::create(b, x, y);
}
Value QuantizedReader::sub(Value x, Value y) {
  return arith::SubIOp::create(b, x, y);
}
Value QuantizedReader::mul(Value x, Value y) {
  return arith::MulIOp::create(b, x, y);
}
Value QuantizedReader::div(Value x, int64_t y) {
  return arith::DivUIOp::create(b, x, number(y));
}
Value QuantizedReader::splat(float value) {
  return arith::ConstantOp::create(b, SplatElementsAttr::get(vector, value));
}
Value QuantizedReader::word(uint32_t value) {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(words, ArrayRef<uint32_t>{value}));
}

Value QuantizedReader::inEachLane(Value value,
                                  function_ref<Value(Value, Value)> combine) {
  for (int64_t step = lanes / 2; step > 0; step /= 2) {
    SmallVector<int64_t> turned;
    for (int64_t i = 0; i < lanes; ++i)
      turned.push_back((i + step) % lanes);
    value = combine(value, vector::ShuffleOp::create(b, value, value, turned));
  }
  return value;
}

//===--- Memory ---===//

Value QuantizedReader::at(Value base, Type type, LLVM::GEPArg offset) {
  return LLVM::GEPOp::create(b, pointer, type, base,
                             ArrayRef<LLVM::GEPArg>{offset});
}
Value QuantizedReader::byte(Value base, LLVM::GEPArg offset) {
  return at(base, b.getI8Type(), offset);
}
Value QuantizedReader::load(Type element, Value base, int64_t offset) {
  return LLVM::LoadOp::create(b, VectorType::get({lanes}, element),
                              at(base, element, int32_t(offset)), 1);
}
void QuantizedReader::storeVector(Value value, Value base, int64_t offset) {
  LLVM::StoreOp::create(b, value, at(base, f32, int32_t(offset)), 4);
}
void QuantizedReader::storeSums(ArrayRef<Value> out, ArrayRef<Value> c,
                                Value accumulate, ValueRange sums) {
  auto placeOf = [&](size_t i) { return int64_t(i) % vectors * lanes; };
  ValueRange totals = plusIf(b, accumulate, sums, [&](size_t i) {
    return load(f32, c[i / vectors], placeOf(i));
  });
  for (auto [i, total] : llvm::enumerate(totals))
    storeVector(total, out[i / vectors], placeOf(i));
}

void QuantizedReader::prefetch(Value base, int64_t offset) {
  // Read; expected to be needed again soon; data.
  LLVM::Prefetch::create(b, byte(base, int32_t(offset)), 0, 3, 1);
}

LLVM::LLVMFuncOp QuantizedReader::startTile(ModuleOp module, StringRef name) {
  LLVM::LLVMFuncOp tile =
      startTileFunction(b, module, name,
                        {pointer, i64, pointer, i64, pointer, pointer, pointer,
                         i64, pointer, i64, b.getI1Type()});
  begin(tile.getArgument(2), tile.getArgument(4), tile.getArgument(5));
  return tile;
}

void QuantizedReader::begin(Value numbers, Value scales, Value zeros) {
  this->numbers = numbers;
  this->scales = scales;
  this->zeros = zeros;
  if (!hasTable)
    return;
  SmallVector<float> values(codebook.begin(), codebook.end());
  for (int64_t i = int64_t(values.size()); i < 16; ++i) {
    int64_t value = isSigned && i > 7 ? i - 16 : i;
    values.push_back(float(value - (hasZeros ? 0 : zeroPoint)));
  }
  tables.clear();
  for (int64_t i = 0; i < 16; i += lanes)
    tables.push_back(arith::ConstantOp::create(
        b, DenseElementsAttr::get(vector,
                                  ArrayRef<float>(values).slice(i, lanes))));
}

//===--- Loops ---===//

QuantizedReader::Values QuantizedReader::loop(Value from, Value to,
                                              ValueRange carried, Carry body) {
  auto made = scf::ForOp::create(b, from, to, number(1), carried);
  OpBuilder::InsertionGuard guard(b);
  // A loop that carries nothing comes with a terminator.
  if (carried.empty())
    b.setInsertionPoint(made.getBody()->getTerminator());
  else
    b.setInsertionPointToStart(made.getBody());
  SmallVector<Value> after =
      body(made.getInductionVar(), made.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(b, after);
  return SmallVector<Value>(made.getResults());
}

QuantizedReader::Values
QuantizedReader::forEachBlock(Value depth, ValueRange carried, OnBlock body) {
  if (block == 0)
    return body({number(0), number(0), depth, 0}, carried);
  Value whole = div(depth, block);
  SmallVector<Value> sums =
      loop(number(0), whole, carried, [&](Value i, ValueRange in) {
        return body({i, mul(i, number(block)), number(block), block}, in);
      });
  // What is left of a last block.
  Value first = mul(whole, number(block)), rest = sub(depth, first);
  Value isThere = arith::MinUIOp::create(b, rest, number(1));
  return loop(number(0), isThere, sums, [&](Value, ValueRange in) {
    return body({whole, first, rest, 0}, in);
  });
}

QuantizedReader::Values
QuantizedReader::forEachStep(const Block &of, ValueRange carried, OnStep body) {
  return forEachUnit(
      of, carried,
      [&](Value k, Value line, ValueRange in) {
        SmallVector<Value> carry(in), read = wordsOf(line);
        for (int64_t j = 0; j < unit; ++j) {
          carry = body(add(k, number(j)), numbersAt(line, read, j), carry);
          if (tables.size() > 1 && !carry.empty())
            keepOrder(read, carry);
        }
        return carry;
      },
      body);
}

/// LLVM would look up the numbers of all steps before it multiplies the first,
/// and have no registers for them. So each vector's words seem to be made of
/// its rows' sums of the step before.
void QuantizedReader::keepOrder(MutableArrayRef<Value> words,
                                MutableArrayRef<Value> sums) {
  for (auto [v, word] : llvm::enumerate(words)) {
    SmallVector<Value *> tied = {&word};
    for (size_t i = v; i < sums.size(); i += words.size())
      tied.push_back(&sums[i]);
    SmallVector<Value> before;
    SmallVector<Type> types;
    std::string outputs, inputs;
    for (auto [i, value] : llvm::enumerate(tied)) {
      before.push_back(*value);
      types.push_back(value->getType());
      outputs += "=x,";
      inputs += (i == 0 ? "" : ",") + std::to_string(i);
    }
    auto all = LLVM::LLVMStructType::getLiteral(b.getContext(), types);
    Value after = LLVM::InlineAsmOp::create(
                      b, all, before, "", outputs + inputs,
                      /*has_side_effects=*/false,
                      /*is_align_stack=*/false, LLVM::TailCallKind::None,
                      LLVM::AsmDialectAttr(), ArrayAttr())
                      .getResult(0);
    for (auto [i, value] : llvm::enumerate(tied))
      *value = LLVM::ExtractValueOp::create(b, after, int64_t(i));
  }
}

QuantizedReader::Values QuantizedReader::forEachLine(const Block &of,
                                                     Value lines,
                                                     ValueRange carried,
                                                     OnUnit body) {
  return loop(number(0), lines, carried, [&](Value i, ValueRange in) {
    Value k = add(of.first, mul(i, number(unit)));
    Value line = lineAt(k);
    for (int64_t at = 0; at < lineBytes(); at += cacheLine)
      prefetch(line, streamAhead + at);
    return body(k, line, in);
  });
}

QuantizedReader::Values QuantizedReader::forEachUnit(const Block &of,
                                                     ValueRange carried,
                                                     OnUnit onUnit,
                                                     OnStep onStep) {
  Value units = of.known ? number(of.known / unit) : div(of.count, unit);
  SmallVector<Value> sums = forEachLine(of, units, carried, onUnit);
  if (of.known)
    return sums;
  Value first = mul(units, number(unit));
  return loop(first, of.count, sums, [&](Value i, ValueRange in) {
    Value k = add(of.first, i);
    SmallVector<Value> carry(in);
    return onStep(k, numberAt(add(of.first, first), sub(i, first)), carry);
  });
}

/// Bytes of a tile's columns in `unit` steps that lie one behind the other.
int64_t QuantizedReader::lineBytes() const {
  return bits == 4 ? columns * 4 : unit * panelColumns;
}

/// Where the line of a step begins, the first one of its word.
Value QuantizedReader::lineAt(Value k) {
  if (bits == 4)
    return byte(numbers, mul(div(k, stepsOfWord), number(panelColumns * 4)));
  return byte(numbers, mul(k, number(panelColumns)));
}

QuantizedReader::Values QuantizedReader::wordsOf(Value line) {
  Values read;
  for (int64_t v = 0; v < vectors && bits == 4; ++v)
    read.push_back(load(i32, line, v * lanes));
  return read;
}

QuantizedReader::Values
QuantizedReader::numbersAt(Value line, ArrayRef<Value> read, int64_t j) {
  SmallVector<Value> result;
  for (int64_t v = 0; v < vectors; ++v) {
    if (bits == 4) {
      result.push_back(fromWord(read[v], j));
      continue;
    }
    result.push_back(
        fromByte(load(b.getI8Type(), line, j * panelColumns + v * lanes)));
  }
  return result;
}

/// The same of a step j that is counted at run time, from step k on.
QuantizedReader::Values QuantizedReader::numberAt(Value k, Value j) {
  SmallVector<Value> result;
  Value line = bits == 4 ? lineAt(k) : lineAt(add(k, j));
  for (int64_t v = 0; v < vectors; ++v) {
    if (bits == 8) {
      result.push_back(fromByte(load(b.getI8Type(), line, v * lanes)));
      continue;
    }
    Value narrow = arith::TruncIOp::create(b, i32, mul(j, number(4)));
    Value shift = vector::BroadcastOp::create(b, words, narrow);
    Value shifted =
        arith::ShRUIOp::create(b, load(i32, line, v * lanes), shift);
    result.push_back(fromWord(shifted, 0));
  }
  return result;
}

Value QuantizedReader::fromByte(Value bytes) {
  Value wide = isSigned ? arith::ExtSIOp::create(b, words, bytes).getResult()
                        : arith::ExtUIOp::create(b, words, bytes);
  return arith::SIToFPOp::create(b, vector, wide);
}

/// Of an index as many bits are read as a table needs.
Value QuantizedReader::lookedUp(Value table, Value indices) {
  StringRef name =
      lanes == 16 ? "llvm.x86.avx512.permvar.sf.512" : "llvm.x86.avx2.permps";
  return LLVM::CallIntrinsicOp::create(b, vector, b.getStringAttr(name),
                                       ValueRange{table, indices})
      .getResult(0);
}

/// Number j of a vector of words.
Value QuantizedReader::fromWord(Value value, int64_t j) {
  uint32_t above = uint32_t(28 - 4 * j);
  auto highest = [&]() -> Value {
    return above == 0 ? value : arith::ShLIOp::create(b, value, word(above));
  };
  if (hasTable) {
    Value low = j == 0 ? value : arith::ShRUIOp::create(b, value, word(4 * j));
    if (tables.size() == 1)
      return lookedUp(tables[0], low);
    Value isUpper =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, highest(), word(0));
    return arith::SelectOp::create(b, isUpper, lookedUp(tables[1], low),
                                   lookedUp(tables[0], low));
  }
  Value high = highest();
  Value low = isSigned ? arith::ShRSIOp::create(b, high, word(28)).getResult()
                       : arith::ShRUIOp::create(b, high, word(28));
  return arith::SIToFPOp::create(b, vector, low);
}

Value QuantizedReader::turned(Value words) {
  return arith::XOrIOp::create(b, words,
                               word(isSigned ? 0x08888888u : 0x80000000u));
}

Value QuantizedReader::numberInPlace(Value turned, int64_t j) {
  return arith::SIToFPOp::create(
      b, vector, arith::AndIOp::create(b, turned, word(0xfu << 4 * j)));
}

int64_t QuantizedReader::liftOf(int64_t j) const {
  bool hasSign = j + 1 == stepsOfWord;
  return isSigned == hasSign ? 0 : isSigned ? -8 : 8;
}

//===--- Scales ---===//

Value QuantizedReader::widened(Value value) {
  Type element = cast<VectorType>(value.getType()).getElementType();
  if (element.isF32())
    return value;
  // An extension moves to where its result is used, and if that is another
  // block, LLVM carries bf16 there in a form that it has to be rounded to.
  if (element.isBF16()) {
    auto pairs = VectorType::get({lanes / 2}, i32);
    return LLVM::BitcastOp::create(
        b, vector, widenedPairs(b, LLVM::BitcastOp::create(b, pairs, value)));
  }
  if (isa<FloatType>(element))
    return arith::ExtFOp::create(b, vector, value);
  return fromByte(value);
}

QuantizedReader::Sides QuantizedReader::sidesOf(Value index) {
  Sides sides;
  Value place = mul(index, number(panelColumns));
  Value scaleLine = at(scales, scaleType, place);
  if (block != 0) {
    // As far ahead in steps of k as numbers are fetched in bytes.
    int64_t width = scaleType.getIntOrFloatBitWidth() / 8;
    int64_t steps = streamAhead * (bits == 4 ? 2 : 1) / panelColumns;
    int64_t ahead = (steps + block - 1) / block * panelColumns;
    for (int64_t i = 0; i < columns * width; i += cacheLine)
      prefetch(scaleLine, ahead * width + i);
    if (hasZeros)
      prefetch(byte(zeros, place), ahead);
  }
  for (int64_t v = 0; v < vectors; ++v) {
    sides.scales.push_back(widened(load(scaleType, scaleLine, v * lanes)));
    if (!hasOffset)
      continue;
    sides.zeros.push_back(
        hasZeros ? widened(load(b.getI8Type(), byte(zeros, place), v * lanes))
                 : splat(float(zeroPoint)));
    Value negative = arith::NegFOp::create(b, sides.zeros.back());
    sides.offsets.push_back(
        arith::MulFOp::create(b, negative, sides.scales.back()));
  }
  return sides;
}

Value QuantizedReader::scaled(Value numbers, const Sides &sides, int64_t v) {
  if (!hasOffset)
    return arith::MulFOp::create(b, numbers, sides.scales[v]);
  return LLVM::FMAOp::create(b, numbers, sides.scales[v], sides.offsets[v]);
}

} // namespace tenon::cpu
