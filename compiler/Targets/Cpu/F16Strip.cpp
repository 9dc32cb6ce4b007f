//===- F16Strip.cpp - Strips that are added up in f16 ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A multiply-add of f16 does twice the work of one of f32, and rounds each sum
// to 11 bits. So sums in registers are of some steps of k alone: then they are
// widened and added to totals of f32 in memory, and begin from zero. Of 64
// products the sum is off by some 2.3 * 2^-12 of what such sums usually are,
// twice as much as from rounding the factors to f16 and half of what rounding
// them to bf16 does.
//
// A register has the sums of 16 columns, each of even and of odd steps of k: so
// neighbours along a row of A are what is broadcast, and 64 products are 128
// steps of k. Even and odd ones meet as sums are widened, still in f16, which
// is one more step: so a register of f16 has the columns of two, in turn, and
// so have totals, which part at last.
// The first tile of a strip makes pairs of what lies as rows of B.
//
// Nothing overflows on the way: rows of A come multiplied by powers of two (see
// F16Operands.h), and so may columns of B; of both totals are freed.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/F16Strip.h"
#include "compiler/Targets/Cpu/F16Operands.h"
#include "compiler/Targets/Cpu/StripProducts.h"
#include "compiler/Targets/Cpu/TileFunction.h"
#include "compiler/Targets/Cpu/VectorStrip.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::panelColumns;

constexpr int64_t lanes = 16; // Of f32, and pairs of f16.
constexpr int64_t unroll = 4; // Steps, that is pairs, per iteration.
constexpr int64_t cacheLine = 64;
/// Lines of the next panel that a tile fetches per iteration at most.
constexpr int64_t mostLines = 4;

class StripWriter : TileBuilder {
public:
  StripWriter(ModuleOp module, const CpuLevel &level, const Strip &strip)
      : TileBuilder(module), keeps(keepsRhs(strip.kind)),
        hasColumnFactors(strip.columnFactors),
        vectors(llvm::divideCeil(strip.columns, lanes)),
        stepsInF16(strip.stepsInF16),
        suffix(("x" + Twine(vectors * lanes) + suffixOf(strip.kind) +
                (hasColumnFactors ? "_factors" : "") + "_by" +
                Twine(stepsInF16) + "." + level.name)
                   .str()),
        f32(b.getF32Type()), floats(VectorType::get({lanes}, f32)),
        half(VectorType::get({lanes}, b.getF16Type())),
        products(b, level, strip.kind, floats) {}

  LLVM::LLVMFuncOp write() {
    std::string name = "matmul_strip_" + suffix;
    if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
      return function;
    for (int64_t height = 1; height <= f16TileRows; ++height)
      tiles.push_back(writeTile(height));
    SmallVector<Type> types = {pointer, i64, pointer,       i64,     pointer,
                               i64,     i64, b.getI1Type(), pointer, pointer,
                               i64,     i64, i64,           i64,     pointer};
    types.resize(firstBehind + hasColumnFactors + keeps, pointer);
    LLVM::LLVMFuncOp function = startTileFunction(b, module, name, types);
    writeStrip(function);
    LLVM::ReturnOp::create(b, ValueRange());
    return function;
  }

private:
  /// Rows of A, and B; where that is to be stored as pairs.
  struct Operands {
    SmallVector<Value> rows;
    Value panel, kept;
  };

  /// Where those of rows are, and those of columns, if there are such.
  struct Factors {
    Value rows;
    SmallVector<Value> columns;
  };

  Value element(Value base, LLVM::GEPArg offset) {
    return address(base, f32, offset);
  }
  Value loadFloats(Value base, int64_t offset) {
    return LLVM::LoadOp::create(b, floats, element(base, int32_t(offset)), 4);
  }
  void storeFloats(Value value, Value base, int64_t offset) {
    LLVM::StoreOp::create(b, value, element(base, int32_t(offset)), 4);
  }
  /// Where totals wait. Volatile, or LLVM would look for registers for all of
  /// them, between which sums find no place.
  Value loadTotal(Value totals, int64_t i) {
    return LLVM::LoadOp::create(b, floats, element(totals, int32_t(i * lanes)),
                                cacheLine,
                                /*isVolatile=*/true);
  }
  void storeTotal(Value value, Value totals, int64_t i) {
    LLVM::StoreOp::create(b, value, element(totals, int32_t(i * lanes)),
                          cacheLine, /*isVolatile=*/true);
  }
  void prefetch(Value at) {
    // Read; expected to be needed again soon; data.
    LLVM::Prefetch::create(b, at, 0, 3, 1);
  }

  /// Pairs of a step's columns from `at` on, which lie so, or in rows; those
  /// are stored.
  Value loadPairs(Value panel, Value kept, Value at, int64_t offset) {
    if (!keeps)
      return loadFloats(element(panel, at), offset);
    Value rows = byte(panel, mul(at, number(4)));
    int64_t step = offset / panelColumns, column = offset % panelColumns;
    auto row = [&](int64_t i) -> Value {
      int64_t first = (2 * step + i) * panelColumns + column;
      return LLVM::LoadOp::create(b, half, byte(rows, int32_t(2 * first)), 2);
    };
    Value made =
        LLVM::BitcastOp::create(b, floats, interleaved(b, row(0), row(1)));
    storeFloats(made, element(kept, at), offset);
    return made;
  }

  /// Adds to the sums what `count` steps from k on contribute.
  SmallVector<Value> step(const Operands &in, Value k, int64_t count,
                          ValueRange before) {
    SmallVector<Value> sums(before);
    Value line = mul(k, number(panelColumns));
    for (int64_t u = 0; u < count; ++u) {
      SmallVector<Value> columns;
      for (int64_t v = 0; v < vectors; ++v)
        columns.push_back(
            loadPairs(in.panel, in.kept, line, u * panelColumns + v * lanes));
      for (auto [i, row] : llvm::enumerate(in.rows)) {
        Value pair = LLVM::LoadOp::create(
            b, f32, element(element(row, k), int32_t(u)), 4);
        Value factor = vector::BroadcastOp::create(b, floats, pair);
        for (int64_t v = 0; v < vectors; ++v) {
          Value &sum = sums[i * vectors + v];
          sum = products.add(factor, columns[v], sum);
        }
      }
    }
    return sums;
  }

  /// Steps [from, to), one per iteration.
  SmallVector<Value> singleSteps(const Operands &in, Value from, Value to,
                                 ValueRange before) {
    auto loop = scf::ForOp::create(b, from, to, number(1), before);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(
        b, step(in, loop.getInductionVar(), 1, loop.getRegionIterArgs()));
    return llvm::to_vector_of<Value>(loop.getResults());
  }

  /// The sums of steps [from, to).
  SmallVector<Value> sumsOf(const Operands &in, Value from, Value to,
                            Value &next, Value nextStep) {
    SmallVector<Value> start(in.rows.size() * vectors, products.zeroPairs());
    start.push_back(next);
    Value steps = sub(to, from);
    Value whole = sub(to, arith::AndIOp::create(b, steps, number(unroll - 1)));
    auto main = scf::ForOp::create(b, from, whole, number(unroll), start);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(main.getBody());
      Value at = main.getRegionIterArgs().back();
      for (int64_t line = 0; line < mostLines; ++line)
        prefetch(byte(at, int32_t(line * cacheLine)));
      Value k = main.getInductionVar();
      ValueRange before = main.getRegionIterArgs().drop_back();
      // Stores between steps would have all their factors loaded before.
      SmallVector<Value> after =
          keeps ? singleSteps(in, k, add(k, number(unroll)), before)
                : step(in, k, unroll, before);
      after.push_back(byte(at, nextStep));
      scf::YieldOp::create(b, after);
    }
    next = main.getResults().back();
    return singleSteps(in, whole, to, main.getResults().drop_back());
  }

  /// tile(a, aStride, b, depth, c, cStride, out, outStride, accumulate, next,
  /// nextStep, factors, totals, columnFactors, kept): meanwhile fetches
  /// nextStep bytes from `next` on per `unroll` steps of k.
  LLVM::LLVMFuncOp writeTile(int64_t height) {
    LLVM::LLVMFuncOp tile = startTileFunction(
        b, module, ("matmul_tile_" + Twine(height) + suffix).str(),
        {pointer, i64, pointer, i64, pointer, i64, pointer, i64, b.getI1Type(),
         pointer, i64, pointer, pointer, pointer, pointer});
    auto argument = [&](int i) { return tile.getArgument(i); };
    auto rowsOf = [&](int base) {
      SmallVector<Value> rows = {argument(base)};
      while (int64_t(rows.size()) < height)
        rows.push_back(element(rows.back(), argument(base + 1)));
      return rows;
    };
    int64_t count = height * vectors;
    Value totals = argument(12);
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(floats));
    for (int64_t i = 0; i < int64_t(llvm::alignTo(count, 2)); ++i)
      storeTotal(zero, totals, i);
    Operands in = {rowsOf(0), argument(2), argument(14)};
    Value depth = argument(3), one = number(1);
    Value behind = sub(arith::MaxUIOp::create(b, depth, one), one);
    Value last = mul(div(behind, number(stepsInF16)), number(stepsInF16));
    auto blocks = scf::ForOp::create(b, number(0), last, number(stepsInF16),
                                     ValueRange{argument(9)});
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(blocks.getBody());
      Value from = blocks.getInductionVar();
      Value next = blocks.getRegionIterArg(0);
      SmallVector<Value> sums =
          sumsOf(in, from, add(from, number(stepsInF16)), next, argument(10));
      for (auto [i, both] : llvm::enumerate(products.inTurn(sums)))
        for (int64_t half = 0; half < 2; ++half) {
          int64_t at = 2 * int64_t(i) + half;
          storeTotal(totalWith(totals, at, both, half), totals, at);
        }
      scf::YieldOp::create(b, next);
    }
    Value next = blocks.getResult(0);
    Factors factors = {argument(11), {}};
    for (int64_t v = 0; hasColumnFactors && v < vectors; ++v)
      factors.columns.push_back(loadFloats(argument(13), v * lanes));
    storeTotals(rowsOf(6), rowsOf(4), argument(8), totals,
                sumsOf(in, last, depth, next, argument(10)), factors);
    LLVM::ReturnOp::create(b, ValueRange());
    return tile;
  }

  /// A vector of totals and what the last steps add to it.
  Value totalWith(Value totals, int64_t at, Value sums, int64_t half) {
    Value before = loadTotal(totals, at);
    return arith::AddFOp::create(b, before, products.widened(sums, half));
  }

  /// Totals and the last sums, freed of factors, plus what `c` holds if
  /// `accumulate`.
  void storeTotals(ArrayRef<Value> out, ArrayRef<Value> c, Value accumulate,
                   Value totals, ArrayRef<Value> lastSums,
                   const Factors &factors) {
    SmallVector<Value> sums, all;
    for (auto [i, both] : llvm::enumerate(products.inTurn(lastSums))) {
      Value low = totalWith(totals, 2 * i, both, 0);
      Value high = totalWith(totals, 2 * i + 1, both, 1);
      for (int64_t first = 0; first < 2; ++first)
        all.push_back(products.everySecond(low, high, first));
    }
    for (int64_t row = 0; row < int64_t(out.size()); ++row) {
      Value own =
          LLVM::LoadOp::create(b, f32, element(factors.rows, int32_t(row)), 4);
      Value scale = vector::BroadcastOp::create(b, floats, own);
      for (int64_t v = 0; v < vectors; ++v) {
        // Their product may be in range where that of one and the sum is not.
        Value both = hasColumnFactors
                         ? arith::MulFOp::create(b, scale, factors.columns[v])
                         : scale;
        sums.push_back(arith::MulFOp::create(b, all[row * vectors + v], both));
      }
    }
    ValueRange stored = plusIf(b, accumulate, sums, [&](size_t i) {
      return loadFloats(c[i / vectors], (i % vectors) * lanes);
    });
    for (auto [i, sum] : llvm::enumerate(stored))
      storeFloats(sum, out[i / vectors], int64_t(i % vectors) * lanes);
  }

  void writeStrip(LLVM::LLVMFuncOp function) {
    auto argument = [&](int i) { return function.getArgument(i); };
    Value depth = argument(3), index = argument(11), count = argument(12);
    // The next panel, spread over all tiles; what a tile cannot take in
    // passing is left to the hardware.
    Value nextStep = min(div(mul(argument(13), number(unroll)), count),
                         number(mostLines * cacheLine));
    Value share = mul(div(depth, number(unroll)), nextStep);
    Value totals = LLVM::AllocaOp::create(
        b, pointer, f32, number(f16TileRows * vectors * lanes), cacheLine);
    SmallVector<Value> operands = {
        argument(0), argument(1),
        argument(2), depth,
        argument(4), argument(5),
        argument(9), argument(10),
        argument(7), byte(argument(8), mul(index, share)),
        nextStep,    argument(14),
        totals};
    operands.push_back(argument(hasColumnFactors ? firstBehind : 2));
    operands.push_back(argument(keeps ? firstBehind + hasColumnFactors : 2));
    SmallVector<int64_t> cases;
    for (int64_t i = 1; i < f16TileRows; ++i)
      cases.push_back(i);
    Value height = arith::IndexCastOp::create(b, b.getIndexType(), argument(6));
    auto choice =
        scf::IndexSwitchOp::create(b, TypeRange(), height, cases, cases.size());
    OpBuilder::InsertionGuard guard(b);
    for (auto [i, tile] : llvm::enumerate(tiles)) {
      Region &region = i < cases.size() ? choice.getCaseRegions()[i]
                                        : choice.getDefaultRegion();
      b.setInsertionPointToStart(&region.emplaceBlock());
      LLVM::CallOp::create(b, tile, operands);
      scf::YieldOp::create(b);
    }
  }

  /// The first argument that only some functions have.
  static constexpr unsigned firstBehind = 15;

  bool keeps; // B as pairs.
  bool hasColumnFactors;
  int64_t vectors;    // Side by side in a tile.
  int64_t stepsInF16; // Until sums are widened.
  std::string suffix; // Of the functions' names.
  Type f32;
  VectorType floats, half;
  StripProducts products;
  SmallVector<LLVM::LLVMFuncOp> tiles; // By height - 1.
};

} // namespace

LLVM::LLVMFuncOp f16StripFunction(ModuleOp module, const CpuLevel &level,
                                  const Strip &strip) {
  return StripWriter(module, level, strip).write();
}

} // namespace tenon::cpu
