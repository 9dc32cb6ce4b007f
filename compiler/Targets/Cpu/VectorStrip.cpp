//===- VectorStrip.cpp - Strips by sums in vector registers ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A strip is cut into tiles of a few rows whose sums stay in registers while k
// runs. There is one function per height of a tile and per what it fetches
// meanwhile.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/VectorStrip.h"
#include "compiler/Targets/Cpu/VectorTile.h"
#include "dialects/Kernel/Packing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

/// Where pairs or quads are widened, both halves of a row of B take registers.
TileShape tileShape(const CpuLevel &level, StripKind kind, int64_t columns) {
  int64_t width = llvm::divideCeil(columns, 16);
  bool widens =
      kind == StripKind::Widened ||
      (kind == StripKind::Pairs && level.pairDots == PairDots::None) ||
      (kind == StripKind::Quads && !level.quadDots);
  if (level.vectorBits >= 512)
    return {widens ? 6 : 8, width, 16, 1};
  return {widens ? 4 : 6, 2, 8, width};
}

/// Tiles of a strip that fetch much each.
constexpr int64_t fewTiles = 5;

class StripWriter : VectorTile {
public:
  StripWriter(ModuleOp module, const CpuLevel &level, StripKind kind,
              bool interleaved, const TileShape &shape, StringRef suffix)
      : VectorTile(module, level, kind, interleaved, shape, suffix,
                   hasStreams(kind, shape) && shape.steps > 1),
        level(level) {}

  /// strip(a, aStride, b, depth, c, cStride, rows, accumulate, next, out,
  /// outStride, index, count, nextBytes[, kept])
  LLVM::LLVMFuncOp write(StringRef name) {
    bool streams = hasStreams(kind, shape);
    for (int64_t height = 1; height <= shape.height; ++height) {
      auto add = [&](Fetch fetch, bool has) {
        SmallVector<LLVM::LLVMFuncOp> &own = tiles[int(fetch)];
        own.push_back(has ? functionOf(height, fetch)
                          : tilesOf(Fetch::Next).back());
      };
      add(Fetch::Next, true);
      // One of several tiles is at least half as high as can be.
      add(Fetch::MuchOfNext, streams && 2 * height >= shape.height);
      add(Fetch::Own, streams);
    }
    if (resumes)
      wholeRow =
          VectorTile(module, level, kind, interleaved,
                     {1, shape.vectors * shape.steps, shape.lanes, 1}, suffix,
                     /*resumes=*/false)
              .functionOf(1, Fetch::Own);
    SmallVector<Type> types = {pointer, i64, pointer, i64,     pointer,
                               i64,     i64, i1(),    pointer, pointer,
                               i64,     i64, i64,     i64};
    if (keepsRhs(kind))
      types.push_back(pointer);
    LLVM::LLVMFuncOp function = startTileFunction(b, module, name, types);
    writeStripTile(function);
    LLVM::ReturnOp::create(b, ValueRange());
    return function;
  }

private:
  /// A narrow last panel is not worth code that streams it; nor is the first
  /// of many tiles, or a panel that was widened for many.
  static bool hasStreams(StripKind kind, const TileShape &shape) {
    return shape.columns() * shape.steps == kernel::panelColumns &&
           !keepsRhs(kind) && kind != StripKind::Words;
  }

  ArrayRef<LLVM::LLVMFuncOp> tilesOf(Fetch fetch) const {
    return tiles[int(fetch)];
  }

  /// One of `count` tiles. Of one, nothing is left to read B from the cache.
  void callTile(Value height, Value count, ArrayRef<Value> operands) {
    OpBuilder::InsertionGuard guard(b);
    for (auto [most, fetch] :
         {std::pair<int64_t, Fetch>(1, Fetch::Own),
          std::pair<int64_t, Fetch>(fewTiles, Fetch::MuchOfNext)}) {
      if (resumes && fetch == Fetch::Own)
        continue;
      auto choice = scf::IfOp::create(b, isAtMost(count, most),
                                      /*withElseRegion=*/true);
      b.setInsertionPointToStart(choice.thenBlock());
      callTile(height, tilesOf(fetch), operands);
      b.setInsertionPointToStart(choice.elseBlock());
    }
    callTile(height, tilesOf(Fetch::Next), operands);
  }

  Value isAtMost(Value count, int64_t most) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ule, count,
                                 number(most));
  }

  void callTile(Value height, ArrayRef<LLVM::LLVMFuncOp> tiles,
                ArrayRef<Value> operands) {
    SmallVector<int64_t> cases;
    for (int64_t i = 1; i < shape.height; ++i)
      cases.push_back(i);
    Value index = arith::IndexCastOp::create(b, b.getIndexType(), height);
    auto choice =
        scf::IndexSwitchOp::create(b, TypeRange(), index, cases, cases.size());
    OpBuilder::InsertionGuard guard(b);
    for (int64_t i = 0; i < shape.height; ++i) {
      Region &region = i + 1 < shape.height ? choice.getCaseRegions()[i]
                                            : choice.getDefaultRegion();
      b.setInsertionPointToStart(&region.emplaceBlock());
      LLVM::CallOp::create(b, tiles[i], operands);
      scf::YieldOp::create(b);
    }
  }

  void writeStripTile(LLVM::LLVMFuncOp function) {
    if (!resumes)
      return writeSteps(function);
    auto argument = [&](int i) { return function.getArgument(i); };
    Value partial = LLVM::AllocaOp::create(
        b, pointer, each, number(shape.height * kernel::panelColumns), 64);
    OpBuilder::InsertionGuard guard(b);
    auto isOne = scf::IfOp::create(b, isAtMost(argument(12), 1),
                                   /*withElseRegion=*/true);
    b.setInsertionPointToStart(isOne.elseBlock());
    writeSteps(function);
    b.setInsertionPointToStart(isOne.thenBlock());
    auto isRow = scf::IfOp::create(b, isAtMost(argument(6), 1),
                                   /*withElseRegion=*/true);
    b.setInsertionPointToStart(isRow.thenBlock());
    LLVM::CallOp::create(b, wholeRow,
                         ValueRange{argument(0), argument(1), argument(2),
                                    argument(3), argument(4), argument(5),
                                    argument(9), argument(10), argument(7),
                                    argument(8), number(0)});
    b.setInsertionPointToStart(isRow.elseBlock());
    writeStream(function, partial);
  }

  /// A strip of one tile, `streamSteps` of k at a time: the sums of all columns
  /// are in `partial` until the last ones.
  void writeStream(LLVM::LLVMFuncOp function, Value partial) {
    auto argument = [&](int i) { return function.getArgument(i); };
    Value depth = argument(3), some = number(streamSteps);
    auto loop = scf::ForOp::create(
        b, number(0), arith::MaxUIOp::create(b, depth, number(1)), some);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop.getBody()->getTerminator());
    Value k = loop.getInductionVar(), rest = sub(depth, k);
    Value isLast = isAtMost(rest, streamSteps);
    Value isResumed =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, k, number(0));
    Value out = arith::SelectOp::create(b, isLast, argument(9), partial);
    Value stride = arith::SelectOp::create(b, isLast, argument(10),
                                           number(kernel::panelColumns));
    Value a = element(argument(0), isWidened() ? mul(k, number(2)) : k);
    Value line =
        address(argument(2), ofRhs, mul(k, number(kernel::panelColumns)));
    for (int64_t i = 0; i < shape.steps; ++i) {
      int32_t n = int32_t(i * shape.columns());
      callTile(argument(6), tilesOf(Fetch::Own),
               {a, argument(1), address(line, ofRhs, n), min(rest, some),
                element(argument(4), n), argument(5), element(out, n), stride,
                arith::AndIOp::create(b, isLast, argument(7)), argument(8),
                number(0), isResumed, element(partial, n)});
    }
  }

  void writeSteps(LLVM::LLVMFuncOp function) {
    auto argument = [&](int i) { return function.getArgument(i); };
    Value depth = argument(3), index = argument(11), count = argument(12);
    // The next panel, spread over all tiles; what a tile cannot take in
    // passing is left to the hardware.
    Value bytes = div(mul(argument(13), number(unroll)), number(shape.steps));
    Value most = arith::SelectOp::create(b, isAtMost(count, fewTiles),
                                         number(bytesOf(Fetch::MuchOfNext)),
                                         number(bytesOf(Fetch::Next)));
    Value nextStep = arith::MinUIOp::create(b, div(bytes, count), most);
    Value nextBytes = mul(div(depth, number(unroll)), nextStep);
    Value first = mul(mul(index, number(shape.steps)), nextBytes);
    for (int64_t i = 0; i < shape.steps; ++i) {
      int32_t n = int32_t(i * shape.columns());
      Value skipped = add(first, mul(number(i), nextBytes));
      SmallVector<Value> operands = {
          argument(0),
          argument(1),
          address(argument(2), ofRhs, n),
          depth,
          element(argument(4), n),
          argument(5),
          element(argument(9), n),
          argument(10),
          argument(7),
          address(argument(8), b.getI8Type(), skipped),
          nextStep};
      if (keepsRhs(kind))
        operands.push_back(element(argument(14), n));
      callTile(argument(6), count, operands);
    }
  }

  const CpuLevel &level;
  SmallVector<LLVM::LLVMFuncOp> tiles[3]; // By Fetch; by height - 1.
  /// Of one row that has a panel to itself, where other tiles are narrower than
  /// that: it reads it as one stream, with enough sums to hide how long
  /// additions take.
  LLVM::LLVMFuncOp wholeRow;
};

} // namespace

StringRef suffixOf(StripKind kind) {
  switch (kind) {
  case StripKind::F32:
    return "";
  case StripKind::Pairs:
    return "_pairs";
  case StripKind::Widened:
    return "_widened";
  case StripKind::WidenedAndKept:
    return "_widened_kept";
  case StripKind::F16:
    return "_f16";
  case StripKind::F16AndKept:
    return "_f16_kept";
  case StripKind::F16Pairs:
    return "_f16_pairs";
  case StripKind::F16PairsAndKept:
    return "_f16_pairs_kept";
  case StripKind::Quads:
    return "_quads";
  case StripKind::Words:
    return "_words";
  }
  llvm_unreachable("all kinds of strips");
}

int64_t vectorStripRows(const CpuLevel &level, StripKind kind) {
  return tileShape(level, kind, kernel::panelColumns).height;
}

LLVM::LLVMFuncOp vectorStripFunction(ModuleOp module, const CpuLevel &level,
                                     const Strip &strip) {
  TileShape shape = tileShape(level, strip.kind, strip.columns);
  std::string suffix =
      (suffixOf(strip.kind) + (strip.isInterleaved ? "_interleaved." : ".") +
       level.name)
          .str();
  std::string name =
      ("matmul_strip_x" + Twine(shape.columns() * shape.steps) + suffix).str();
  if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return function;
  return StripWriter(module, level, strip.kind, strip.isInterleaved, shape,
                     suffix)
      .write(name);
}

} // namespace tenon::cpu
