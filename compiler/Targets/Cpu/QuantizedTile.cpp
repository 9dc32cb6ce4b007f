//===- QuantizedTile.cpp - The inner kernels of quantized weights ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile of one or two rows sums the products of a block's numbers as they are
// and scales that sum: two instructions for a vector of numbers besides the
// multiply-adds. Its zero points come off by the sum of the rows' elements. A
// higher one has no registers for two kinds of sums, and scales the numbers,
// which its rows share.
//
// Numbers of 4 bits: with vectors of 16 elements a table in a register says
// what each is, its zero point included where all have one. Elsewhere they are
// shifted into place and converted.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/QuantizedTile.h"
#include "compiler/Targets/Cpu/TileFunction.h"
#include "dialects/Kernel/Packing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::panelColumns;
using kernel::QuantizedRhs;
using kernel::stepsOfWord;

/// How far ahead numbers are fetched, and scales by as many steps.
constexpr int64_t streamAhead = 4096;
constexpr int64_t cacheLine = 64;
/// Rows whose products are summed before they are scaled: with half as many
/// registers, a row.
constexpr int64_t mostUnscaled(int64_t lanes) { return lanes == 16 ? 2 : 1; }
/// Steps of k of numbers of 8 bits per iteration.
constexpr int64_t unrolledBytes = 4;

class TileWriter {
public:
  TileWriter(ModuleOp module, const QuantizedRhs &rhs, const CpuLevel &level)
      : module(module), isSigned(rhs.isSigned()), bits(rhs.bits),
        block(rhs.blocks == 1 ? 0 : rhs.block), zeroPoint(rhs.zeroPoint),
        hasZeros(rhs.zeros), lanes(level.lanes(4)),
        vectors(lanes == 16 ? 3 : 2), columns(lanes * vectors),
        unit(bits == 4 ? stepsOfWord : unrolledBytes),
        b(UnknownLoc::get(module.getContext()), module.getContext()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())),
        i64(b.getI64Type()), f32(b.getF32Type()), i32(b.getI32Type()),
        vector(VectorType::get({lanes}, f32)),
        words(VectorType::get({lanes}, i32)),
        scaleType(graph::getElementType(rhs.scales)) {
    // What no table takes in.
    hasTable = bits == 4 && lanes == 16;
    hasOffset = hasZeros || (zeroPoint != 0 && !hasTable);
  }

  /// tile(a, aStride, numbers, depth, scales, zeros, c, cStride, out,
  /// outStride, accumulate), of `columns` columns.
  LLVM::LLVMFuncOp writeTile(StringRef name, int64_t height) {
    LLVM::LLVMFuncOp function =
        startTileFunction(b, module, name,
                          {pointer, i64, pointer, i64, pointer, pointer,
                           pointer, i64, pointer, i64, b.getI1Type()});
    auto argument = [&](int i) { return function.getArgument(i); };
    auto rowsOf = [&](int base) {
      SmallVector<Value> rows = {argument(base)};
      while (int64_t(rows.size()) < height)
        rows.push_back(at(rows.back(), f32, argument(base + 1)));
      return rows;
    };
    begin(argument(2), argument(4), argument(5));
    rows = rowsOf(0);
    SmallVector<Value> sums(height * vectors, splat(0.0f));
    sums = forEachBlock(argument(3), sums, [&](const Block &at, ValueRange in) {
      return height <= mostUnscaled(lanes) ? addUnscaled(at, in)
                                           : addScaled(at, in);
    });
    store(rowsOf(8), rowsOf(6), argument(10), sums);
    LLVM::ReturnOp::create(b, ValueRange());
    return function;
  }

  /// copy(numbers, depth, scales, zeros, out): `columns` of each line of out.
  LLVM::LLVMFuncOp writeCopy(StringRef name) {
    LLVM::LLVMFuncOp function = startTileFunction(
        b, module, name, {pointer, i64, pointer, pointer, pointer});
    begin(function.getArgument(0), function.getArgument(2),
          function.getArgument(3));
    Value out = function.getArgument(4);
    forEachBlock(function.getArgument(1), {}, [&](const Block &at, ValueRange) {
      Sides sides = sidesOf(at.index);
      forEachStep(at, {}, [&](Value k, ArrayRef<Value> numbers, ValueRange) {
        Value line = this->at(out, f32, mul(k, number(panelColumns)));
        for (int64_t v = 0; v < vectors; ++v)
          storeVector(scaled(numbers[v], sides, v), line, v * lanes);
        return SmallVector<Value>();
      });
      return SmallVector<Value>();
    });
    LLVM::ReturnOp::create(b, ValueRange());
    return function;
  }

  int64_t getColumns() const { return columns; }

private:
  /// Steps of k that have scales in common.
  struct Block {
    Value index;        // Of its scales.
    Value first, count; // Steps; a whole block has `known` many.
    int64_t known;      // 0: `count` says.
  };
  /// Scales and what is subtracted, or times the scales added.
  struct Sides {
    SmallVector<Value> scales, zeros, offsets;
  };

  //===--- Numbers ---===//

  Value number(int64_t value) {
    return arith::ConstantIntOp::create(b, value, 64);
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
  Value div(Value x, int64_t y) {
    return arith::DivUIOp::create(b, x, number(y));
  }
  Value splat(float value) {
    return arith::ConstantOp::create(b, SplatElementsAttr::get(vector, value));
  }
  Value word(int32_t value) {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(words, ArrayRef<int32_t>{value}));
  }

  //===--- Memory ---===//

  Value at(Value base, Type type, LLVM::GEPArg offset) {
    return LLVM::GEPOp::create(b, pointer, type, base,
                               ArrayRef<LLVM::GEPArg>{offset});
  }
  Value byte(Value base, LLVM::GEPArg offset) {
    return at(base, b.getI8Type(), offset);
  }
  Value load(Type element, Value base, int64_t offset) {
    return LLVM::LoadOp::create(b, VectorType::get({lanes}, element),
                                at(base, element, int32_t(offset)), 1);
  }
  void storeVector(Value value, Value base, int64_t offset) {
    LLVM::StoreOp::create(b, value, at(base, f32, int32_t(offset)), 4);
  }
  void prefetch(Value base, int64_t offset) {
    // Read; expected to be needed again soon; data.
    LLVM::Prefetch::create(b, byte(base, int32_t(offset)), 0, 3, 1);
  }

  void begin(Value numbers, Value scales, Value zeros) {
    this->numbers = numbers;
    this->scales = scales;
    this->zeros = zeros;
    if (!hasTable)
      return;
    SmallVector<float> values;
    for (int64_t i = 0; i < 16; ++i) {
      int64_t value = isSigned && i > 7 ? i - 16 : i;
      values.push_back(float(value - (hasZeros ? 0 : zeroPoint)));
    }
    table = arith::ConstantOp::create(
        b, DenseElementsAttr::get(vector, ArrayRef<float>(values)));
  }

  //===--- Loops ---===//

  using Carry = function_ref<SmallVector<Value>(Value, ValueRange)>;
  SmallVector<Value> loop(Value from, Value to, ValueRange carried,
                          Carry body) {
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

  using OnBlock =
      function_ref<SmallVector<Value>(const Block &, ValueRange carried)>;
  SmallVector<Value> forEachBlock(Value depth, ValueRange carried,
                                  OnBlock body) {
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

  using OnStep = function_ref<SmallVector<Value>(
      Value k, ArrayRef<Value> numbers, ValueRange carried)>;
  /// Steps of a block, `unit` at a time, then one by one.
  SmallVector<Value> forEachStep(const Block &of, ValueRange carried,
                                 OnStep body) {
    Value units = of.known ? number(of.known / unit) : div(of.count, unit);
    SmallVector<Value> sums =
        loop(number(0), units, carried, [&](Value i, ValueRange in) {
          Value k = add(of.first, mul(i, number(unit)));
          Value line = lineAt(k);
          for (int64_t at = 0; at < lineBytes(); at += cacheLine)
            prefetch(line, streamAhead + at);
          SmallVector<Value> carry(in), read;
          for (int64_t j = 0; j < unit; ++j) {
            if (j == 0 && bits == 4)
              for (int64_t v = 0; v < vectors; ++v)
                read.push_back(load(i32, line, v * lanes));
            carry = body(add(k, number(j)), numbersAt(line, read, j), carry);
          }
          return carry;
        });
    if (of.known)
      return sums;
    Value first = mul(units, number(unit));
    return loop(first, of.count, sums, [&](Value i, ValueRange in) {
      Value k = add(of.first, i);
      SmallVector<Value> carry(in);
      return body(k, numberAt(add(of.first, first), sub(i, first)), carry);
    });
  }

  /// Bytes of a tile's columns in `unit` steps that lie one behind the other.
  int64_t lineBytes() const {
    return bits == 4 ? columns * 4 : unit * panelColumns;
  }

  /// Where the line of a step begins, the first one of its word.
  Value lineAt(Value k) {
    if (bits == 4)
      return byte(numbers, mul(div(k, stepsOfWord), number(panelColumns * 4)));
    return byte(numbers, mul(k, number(panelColumns)));
  }

  /// The numbers of step j of a line as f32.
  SmallVector<Value> numbersAt(Value line, ArrayRef<Value> read, int64_t j) {
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
  SmallVector<Value> numberAt(Value k, Value j) {
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

  Value fromByte(Value bytes) {
    Value wide = isSigned ? arith::ExtSIOp::create(b, words, bytes).getResult()
                          : arith::ExtUIOp::create(b, words, bytes);
    return arith::SIToFPOp::create(b, vector, wide);
  }

  /// Number j of a vector of words.
  Value fromWord(Value value, int64_t j) {
    if (hasTable) {
      Value low =
          j == 0 ? value : arith::ShRUIOp::create(b, value, word(4 * j));
      return LLVM::CallIntrinsicOp::create(
                 b, vector, b.getStringAttr("llvm.x86.avx512.permvar.sf.512"),
                 ValueRange{table, low})
          .getResult(0);
    }
    int32_t above = int32_t(28 - 4 * j);
    Value high =
        above == 0 ? value : arith::ShLIOp::create(b, value, word(above));
    Value low = isSigned ? arith::ShRSIOp::create(b, high, word(28)).getResult()
                         : arith::ShRUIOp::create(b, high, word(28));
    return arith::SIToFPOp::create(b, vector, low);
  }

  //===--- Scales ---===//

  Value widened(Value value) {
    Type element = cast<VectorType>(value.getType()).getElementType();
    if (element.isF32())
      return value;
    if (isa<FloatType>(element))
      return arith::ExtFOp::create(b, vector, value);
    return fromByte(value);
  }

  Sides sidesOf(Value index) {
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

  Value scaled(Value numbers, const Sides &sides, int64_t v) {
    if (!hasOffset)
      return arith::MulFOp::create(b, numbers, sides.scales[v]);
    return LLVM::FMAOp::create(b, numbers, sides.scales[v], sides.offsets[v]);
  }

  //===--- Sums ---===//

  Value factor(size_t row, Value k) {
    Value scalar = LLVM::LoadOp::create(b, f32, at(rows[row], f32, k));
    return vector::BroadcastOp::create(b, vector, scalar);
  }

  /// Adds a block whose numbers are scaled one by one.
  SmallVector<Value> addScaled(const Block &of, ValueRange before) {
    Sides sides = sidesOf(of.index);
    return forEachStep(
        of, before, [&](Value k, ArrayRef<Value> numbers, ValueRange carried) {
          SmallVector<Value> sums(carried);
          SmallVector<Value> values;
          for (int64_t v = 0; v < vectors; ++v)
            values.push_back(scaled(numbers[v], sides, v));
          addProducts(k, values, sums);
          return sums;
        });
  }

  void addProducts(Value k, ArrayRef<Value> values,
                   MutableArrayRef<Value> sums) {
    for (size_t row = 0; row < rows.size(); ++row) {
      Value x = factor(row, k);
      for (int64_t v = 0; v < vectors; ++v) {
        Value &sum = sums[row * vectors + v];
        sum = LLVM::FMAOp::create(b, x, values[v], sum);
      }
    }
  }

  /// Adds a block's sums times its scales. Behind those of products come those
  /// of the rows' elements where zero points must come off.
  SmallVector<Value> addUnscaled(const Block &of, ValueRange before) {
    size_t height = rows.size();
    size_t products = height * vectors;
    SmallVector<Value> zero(products + (hasOffset ? height : 0), splat(0.0f));
    SmallVector<Value> sums = forEachStep(
        of, zero, [&](Value k, ArrayRef<Value> numbers, ValueRange carried) {
          SmallVector<Value> sums(carried);
          addProducts(k, numbers, sums);
          for (size_t row = 0; hasOffset && row < height; ++row) {
            Value &sum = sums[products + row];
            sum = arith::AddFOp::create(b, sum, factor(row, k));
          }
          return sums;
        });
    Sides sides = sidesOf(of.index);
    SmallVector<Value> result;
    for (size_t i = 0; i < products; ++i) {
      size_t v = i % vectors, row = i / vectors;
      Value sum = sums[i];
      if (hasOffset)
        sum = LLVM::FMAOp::create(b, arith::NegFOp::create(b, sides.zeros[v]),
                                  sums[products + row], sum);
      result.push_back(LLVM::FMAOp::create(b, sum, sides.scales[v], before[i]));
    }
    return result;
  }

  void store(ArrayRef<Value> out, ArrayRef<Value> c, Value accumulate,
             ValueRange sums) {
    auto choice = scf::IfOp::create(b, sums.getTypes(), accumulate,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    SmallVector<Value> totals;
    for (size_t i = 0; i < sums.size(); ++i)
      totals.push_back(arith::AddFOp::create(
          b, load(f32, c[i / vectors], int64_t(i) % vectors * lanes), sums[i]));
    scf::YieldOp::create(b, totals);
    b.setInsertionPointToStart(choice.elseBlock());
    scf::YieldOp::create(b, sums);
    b.setInsertionPointAfter(choice);
    for (size_t i = 0; i < sums.size(); ++i)
      storeVector(choice.getResult(unsigned(i)), out[i / vectors],
                  int64_t(i) % vectors * lanes);
  }

  ModuleOp module;
  bool isSigned;
  int64_t bits, block, zeroPoint; // Block: 0 where there is one.
  bool hasZeros;                  // For each block and column.
  int64_t lanes, vectors, columns, unit;
  ImplicitLocOpBuilder b;
  Type pointer, i64, f32, i32;
  VectorType vector, words;
  Type scaleType;
  bool hasTable, hasOffset;
  // Of the function.
  Value numbers, scales, zeros, table;
  SmallVector<Value> rows;
};

/// What a function's name says about the weight.
std::string formOf(const QuantizedRhs &rhs, const CpuLevel &level) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << (rhs.isSigned() ? "s" : "u") << rhs.bits << "x"
         << (rhs.blocks == 1 ? 0 : rhs.block) << "_"
         << graph::getElementType(rhs.scales);
  if (rhs.zeros)
    stream << "_zeros";
  else if (rhs.zeroPoint != 0)
    stream << "_zero" << (rhs.zeroPoint < 0 ? "m" : "")
           << std::abs(rhs.zeroPoint);
  stream << "." << level.name;
  return text;
}

} // namespace

int64_t quantizedTileRows(const CpuLevel &level) {
  return level.vectorBits >= 512 ? 6 : 3;
}

int64_t bytesOfSteps(const QuantizedRhs &rhs, int64_t steps) {
  return steps * panelColumns * rhs.bits / 8;
}

Value bytesOfSteps(Emitter &e, const QuantizedRhs &rhs, Value steps) {
  if (rhs.bits == 8)
    return e.mul(steps, e.number(panelColumns));
  Value words = e.div(steps, e.number(stepsOfWord));
  return e.mul(words, e.number(panelColumns * 4));
}

namespace {

/// Parts of a panel's columns from `i` on.
QuantizedPanel partOf(Emitter &e, const QuantizedRhs &rhs,
                      const QuantizedPanel &panel, int64_t i) {
  QuantizedPanel part = panel;
  Type bytes = e.b.getI8Type();
  part.numbers =
      e.address(panel.numbers, bytes, e.number(rhs.bits == 4 ? i * 4 : i));
  part.scales =
      e.address(panel.scales, graph::getElementType(rhs.scales), e.number(i));
  part.zeros =
      rhs.zeros ? e.address(panel.zeros, bytes, e.number(i)) : part.scales;
  return part;
}

} // namespace

void callQuantizedTile(Emitter &e, const QuantizedRhs &rhs,
                       const QuantizedPanel &panel,
                       const QuantizedProduct &product) {
  std::string form = formOf(rhs, e.level);
  TileWriter writer(e.module, rhs, e.level);
  for (int64_t height = 1; height <= quantizedTileRows(e.level); ++height) {
    std::string name = ("quantized_tile_" + Twine(height) + "_" + form).str();
    auto function = e.module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!function)
      function = writer.writeTile(name, height);
    e.ifThen(e.equal(product.rows, e.number(height)), [&] {
      for (int64_t i = 0; i < panelColumns; i += writer.getColumns()) {
        QuantizedPanel part = partOf(e, rhs, panel, i);
        auto column = [&](Value base) {
          return e.address(base, e.b.getF32Type(), e.number(i));
        };
        LLVM::CallOp::create(e.b, function,
                             ValueRange{product.a, product.aStride,
                                        part.numbers, part.depth, part.scales,
                                        part.zeros, column(product.c),
                                        product.cStride, column(product.out),
                                        product.outStride, product.accumulate});
      }
    });
  }
}

void callQuantizedCopy(Emitter &e, const QuantizedRhs &rhs,
                       const QuantizedPanel &panel, Value out) {
  std::string name = "quantized_copy_" + formOf(rhs, e.level);
  TileWriter writer(e.module, rhs, e.level);
  auto function = e.module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function)
    function = writer.writeCopy(name);
  for (int64_t i = 0; i < panelColumns; i += writer.getColumns()) {
    QuantizedPanel part = partOf(e, rhs, panel, i);
    Value to = e.address(out, e.b.getF32Type(), e.number(i));
    LLVM::CallOp::create(
        e.b, function,
        ValueRange{part.numbers, part.depth, part.scales, part.zeros, to});
  }
}

} // namespace tenon::cpu
