//===- AmxStrip.cpp - Strips by matrices in registers ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AMX has eight registers of 16 rows of 64 bytes. Six hold the sums of 32 rows
// by 48 columns; of A and of B there is one each, which the products of a step
// of 16 lines of B take turns with:
//
//     A0  B0 B1 B2    A1  B2 B1 B0
//
// that is 7 loads for 6 products, of which B's second ones are from the first
// level of the cache, whatever A's rows' distance. Two rows of registers for A
// and two for B leave sums of 32 by 32, and 8 loads for as many products.
//
// A panel's lines are as VNNI and BF16 instructions read them: 16 lines by 16
// columns of it are a register of B, and rows of A are registers as they lie.
//
// Rows 17 to 31 of a tile are its last 16: some are computed twice, to the same
// bits, and both times stored. Fewer than 16 rows, and what is left of k behind
// the last whole step, take other shapes, which a kernel's others are restored
// from: giving shapes costs as much as some ten products.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/AmxStrip.h"
#include "compiler/Targets/Cpu/TileFunction.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::panelColumns;

/// Lines of B per step, and bytes of each of A's rows in one.
constexpr int64_t stepLines = AmxUnit::rows;
constexpr int64_t rowBytes = AmxUnit::rowBytes;
constexpr int64_t lineBytes = panelColumns * 4;
constexpr int64_t cacheLine = 64;
/// How far ahead a strip of one tile fetches what it reads itself.
constexpr int64_t streamAhead = 8192;
/// What a tile fetches while it computes: its share of the next panel, or what
/// it reads itself (see PackedMatmulStrip.cpp).
enum Fetch { Share, Own, Fetches };

class StripWriter : TileBuilder {
public:
  StripWriter(ModuleOp module, const CpuLevel &level, StripKind kind,
              int64_t columns)
      : TileBuilder(module), level(level), kind(kind),
        width(llvm::divideCeil(columns, AmxUnit::rows)),
        suffix(((kind == StripKind::Quads ? "_quads." : "_pairs.") + level.name)
                   .str()) {}

  LLVM::LLVMFuncOp write() {
    std::string name = ("amx_strip_x" + Twine(width) + suffix).str();
    if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
      return function;
    for (int64_t fetch = 0; fetch < Fetches; ++fetch)
      for (int64_t height = 1; height <= AmxUnit::mostHeight; ++height)
        tiles[fetch][height - 1] = writeTile(height, Fetch(fetch));
    LLVM::LLVMFuncOp function = startTileFunction(
        b, module, name,
        {pointer, i64, pointer, i64, pointer, i64, i64, b.getI1Type(), pointer,
         pointer, i64, i64, i64, i64});
    writeStrip(function);
    LLVM::ReturnOp::create(b, ValueRange());
    return function;
  }

private:
  Value isAtMost(Value x, int64_t y) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ule, x, number(y));
  }
  void prefetch(Value base, int64_t offset) {
    // Read; to the second level; data.
    LLVM::Prefetch::create(b, byte(base, int32_t(offset)), 0, 2, 1);
  }
  /// The next panel, spread over all tiles: bytes per step, of whole lines.
  /// What has been fetched would cost as much again.
  Value shareOf(Value bytesOfStep, Value count) {
    Value most = mul(count, number(cacheLine));
    Value lines = div(sub(add(bytesOfStep, most), number(1)), most);
    return mul(lines, number(cacheLine));
  }
  void fetchLines(Value base, Value bytes) {
    auto loop = scf::ForOp::create(b, number(0), bytes, number(cacheLine));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    prefetch(byte(base, loop.getInductionVar()), 0);
  }
  void ifThen(Value condition, function_ref<void()> body) {
    auto choice = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    body();
  }
  void choose(Value condition, function_ref<void()> then,
              function_ref<void()> otherwise) {
    auto choice = scf::IfOp::create(b, condition, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    then();
    b.setInsertionPointToStart(choice.elseBlock());
    otherwise();
  }

  /// tile(a, aLower, aStride, b, steps, c, cLower, cStride, out, outLower,
  /// outStride, accumulate, next, nextStep, rows, lines): strides are bytes;
  /// *Lower is where the second register's rows begin; `rows` of the first
  /// register and `lines` of B's are what they have been shaped for.
  LLVM::LLVMFuncOp writeTile(int64_t height, Fetch fetch) {
    constexpr const char *prefixes[] = {"amx_tile_", "amx_stream_"};
    LLVM::LLVMFuncOp tile = startTileFunction(
        b, module,
        (prefixes[fetch] + Twine(height) + "x" + Twine(width) + suffix).str(),
        {pointer, pointer, i64, pointer, i64, pointer, pointer, i64, pointer,
         pointer, i64, b.getI1Type(), pointer, i64, i64, i64});
    auto argument = [&](int i) { return tile.getArgument(i); };
    Value aStride = argument(2), steps = argument(4);
    AmxUnit unit(b, level, kind == StripKind::Quads, argument(14),
                 argument(15));
    auto forEachSum =
        [&](function_ref<void(int64_t sum, int64_t row, int32_t offset)> body) {
          for (int64_t row = 0; row < height; ++row)
            for (int64_t v = 0; v < width; ++v)
              body(AmxUnit::sumAt(row, v), row, int32_t(v * rowBytes));
        };
    choose(
        argument(11),
        [&] {
          forEachSum([&](int64_t sum, int64_t row, int32_t offset) {
            unit.load(sum, byte(argument(row == 0 ? 5 : 6), offset),
                      argument(7));
          });
        },
        [&] {
          forEachSum([&](int64_t sum, int64_t, int32_t) { unit.zero(sum); });
        });
    Value bytes = number(lineBytes);
    auto main = scf::ForOp::create(
        b, number(0), steps, number(1),
        ValueRange{argument(0), argument(1), argument(3), argument(12)});
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(main.getBody());
      auto in = main.getRegionIterArgs();
      Value panel = in[2], next = in[3];
      unit.multiplyAll(in.take_front(height), aStride, panel, bytes, width);
      unit.keepAwake();
      if (fetch == Own)
        for (int64_t line = 0; line < stepLines; ++line)
          for (int64_t v = 0; v < width; ++v)
            prefetch(panel, streamAhead + line * lineBytes + v * cacheLine);
      else
        fetchLines(next, argument(13));
      scf::YieldOp::create(
          b, ValueRange{byte(in[0], int32_t(rowBytes)),
                        byte(in[1], int32_t(rowBytes)),
                        byte(panel, int32_t(stepLines * lineBytes)),
                        byte(next, argument(13))});
    }
    forEachSum([&](int64_t sum, int64_t row, int32_t offset) {
      unit.store(sum, byte(argument(row == 0 ? 8 : 9), offset), argument(10));
    });
    LLVM::ReturnOp::create(b, ValueRange());
    return tile;
  }

  void writeStrip(LLVM::LLVMFuncOp function) {
    auto argument = [&](int i) { return function.getArgument(i); };
    auto inBytes = [&](int i) { return mul(argument(i), number(4)); };
    Value a = argument(0), panel = argument(2), depth = argument(3);
    Value c = argument(4), rows = argument(6), out = argument(9);
    Value index = argument(11), count = argument(12);
    Value aStride = inBytes(1), cStride = inBytes(5), outStride = inBytes(10);
    Value steps = arith::DivUIOp::create(b, depth, number(stepLines));
    Value rest = arith::RemUIOp::create(b, depth, number(stepLines));
    Value share = shareOf(mul(argument(13), number(stepLines)), count);
    Value isHigh = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, rows,
                                         number(AmxUnit::rows));
    Value upper = min(rows, number(AmxUnit::rows)), lower = sub(rows, upper);
    auto below = [&](Value base, Value stride) {
      return byte(base, mul(lower, stride));
    };
    Value isShort = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, rows,
                                          number(AmxUnit::rows));
    Value whole = number(rowBytes);
    ifThen(isShort, [&] { AmxUnit::shape(b, level, upper, whole); });
    auto callTile = [&](LLVM::LLVMFuncOp tile, Value a, Value panel,
                        Value steps, Value c, Value cStride, Value accumulate,
                        Value next, Value nextStep, Value lines) {
      LLVM::CallOp::create(
          b, tile,
          ValueRange{a, below(a, aStride), aStride, panel, steps, c,
                     below(c, cStride), cStride, out, below(out, outStride),
                     outStride, accumulate, next, nextStep, upper, lines});
    };
    auto callMain = [&](Fetch fetch, int64_t height) {
      Value next = byte(argument(8), mul(index, mul(steps, share)));
      callTile(tiles[fetch][height - 1], a, panel, steps, c, cStride,
               argument(7), next, share, number(stepLines));
    };
    auto byHeight = [&](Fetch fetch) {
      choose(isHigh, [&] { callMain(fetch, 2); }, [&] { callMain(fetch, 1); });
    };
    choose(
        isAtMost(count, 1), [&] { byHeight(Own); }, [&] { byHeight(Share); });
    Value hasRest =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, rest, number(0));
    ifThen(hasRest, [&] {
      AmxUnit::shape(b, level, upper, mul(rest, number(4)));
      Value yes = arith::ConstantIntOp::create(b, b.getI1Type(), 1);
      auto callRest = [&](int64_t height) {
        callTile(tiles[Share][height - 1], byte(a, mul(steps, whole)),
                 byte(panel, mul(steps, number(stepLines * lineBytes))),
                 number(1), out, outStride, yes, argument(8), number(0), rest);
      };
      choose(isHigh, [&] { callRest(2); }, [&] { callRest(1); });
    });
    ifThen(arith::OrIOp::create(b, isShort, hasRest),
           [&] { AmxUnit::shape(b, level, number(AmxUnit::rows), whole); });
  }

  const CpuLevel &level;
  StripKind kind;
  int64_t width;      // In registers.
  std::string suffix; // Of the functions' names.
  LLVM::LLVMFuncOp tiles[Fetches][AmxUnit::mostHeight]; // By height - 1.
};

} // namespace

bool usesAmx(const CpuLevel &level, StripKind kind) {
  return level.amx != Amx::None &&
         (kind == StripKind::Pairs || kind == StripKind::Quads);
}

void withAmx(Emitter &e, bool used, function_ref<void()> body) {
  if (used)
    AmxUnit::shape(e.b, e.level, e.number(AmxUnit::rows), e.number(rowBytes));
  body();
  if (used)
    AmxUnit::release(e.b, e.level);
}

LLVM::LLVMFuncOp amxStripFunction(ModuleOp module, const CpuLevel &level,
                                  const Strip &strip) {
  return StripWriter(module, level, strip.kind, strip.columns).write();
}

} // namespace tenon::cpu
