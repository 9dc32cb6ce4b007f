//===- VectorStrip.cpp - Strips by sums in vector registers ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A strip is cut into tiles of a few rows whose sums stay in registers while k
// runs. There is one function per height of a tile and per what it fetches
// meanwhile.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/VectorStrip.h"
#include "compiler/Targets/Cpu/StripProducts.h"
#include "compiler/Targets/Cpu/TileFunction.h"
#include "dialects/Kernel/Packing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

/// Sums in registers: height * vectors, which with a row of B and one element
/// of A fill the register file.
struct TileShape {
  int64_t height, vectors, lanes;

  int64_t steps; // Tiles side by side in a panel.

  int64_t columns() const { return vectors * lanes; }
};

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

/// Steps of k per iteration.
constexpr int64_t unroll = 4;
constexpr int64_t cacheLine = 64;
/// What a tile fetches while it computes.
enum Fetch {
  Next,       // Its share of the next B, of many tiles.
  MuchOfNext, // Of a few.
  Own,        // What comes behind in B itself, which it alone reads.
  Fetches
};
/// Lines per `unroll` steps that a share may be.
constexpr int64_t linesOf(Fetch fetch) { return fetch == MuchOfNext ? 4 : 2; }
constexpr int64_t fewTiles = 5;
/// How far ahead a strip of one tile fetches what it reads itself.
constexpr int64_t streamAhead = 4096;
/// Steps of k that such a strip of narrow tiles takes through all columns of a
/// panel at once, which stay in the nearest cache meanwhile.
constexpr int64_t streamSteps = 64;

class StripWriter : TileBuilder {
public:
  StripWriter(ModuleOp module, const CpuLevel &level, StripKind kind,
              bool interleaved, const TileShape &shape, StringRef suffix)
      : TileBuilder(module), level(level), suffix(suffix), kind(kind),
        interleaved(interleaved), shape(shape),
        each(kind == StripKind::Quads ? Type(b.getI32Type()) : b.getF32Type()),
        ofRhs(isF16() ? Type(b.getF16Type()) : each),
        vector(VectorType::get({shape.lanes}, each)),
        products(b, level, kind, vector) {}

  /// strip(a, aStride, b, depth, c, cStride, rows, accumulate, next, out,
  /// outStride, index, count, nextBytes[, kept])
  LLVM::LLVMFuncOp write(StringRef name) {
    // A narrow last panel is not worth code that streams it; nor is the first
    // of many tiles.
    bool hasStreams = shape.columns() * shape.steps == kernel::panelColumns &&
                      !keepsRhs(kind);
    resumes = hasStreams && shape.steps > 1;
    for (int64_t height = 1; height <= shape.height; ++height) {
      tiles[Next].push_back(tileOf(height, Next));
      // One of several tiles is at least half as high as can be.
      bool isOneOfFew = hasStreams && 2 * height >= shape.height;
      tiles[MuchOfNext].push_back(isOneOfFew ? tileOf(height, MuchOfNext)
                                             : tiles[Next].back());
      tiles[Own].push_back(hasStreams ? tileOf(height, Own)
                                      : tiles[Next].back());
    }
    if (resumes)
      wholeRow =
          StripWriter(module, level, kind, interleaved,
                      {1, shape.vectors * shape.steps, shape.lanes, 1}, suffix)
              .tileOf(1, Own);
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
  bool isF16() const {
    return kind == StripKind::F16 || kind == StripKind::F16AndKept;
  }
  bool isWidened() const {
    return kind == StripKind::Widened || kind == StripKind::WidenedAndKept;
  }
  Type i1() { return b.getI1Type(); }

  Value element(Value base, LLVM::GEPArg offset) {
    return address(base, each, offset);
  }
  Value loadVector(Value base, int64_t offset) {
    return LLVM::LoadOp::create(b, vector, element(base, int32_t(offset)),
                                /*alignment=*/4);
  }
  /// Of a row of B, as f32 where it is f16: one instruction loads and widens.
  Value loadColumns(Value line, int64_t offset) {
    if (!isF16())
      return loadVector(line, offset);
    Value narrow = LLVM::LoadOp::create(
        b, VectorType::get({shape.lanes}, ofRhs),
        address(line, ofRhs, int32_t(offset)), /*alignment=*/2);
    return arith::ExtFOp::create(b, vector, narrow);
  }
  void prefetch(Value at) {
    // Read; expected to be needed again soon; data.
    LLVM::Prefetch::create(b, at, 0, 3, 1);
  }

  /// A position of the tile, over all its vectors.
  template <typename Body> void forEach(int64_t height, Body body) {
    for (int64_t row = 0; row < height; ++row)
      for (int64_t v = 0; v < shape.vectors; ++v)
        body(row, v);
  }

  /// Stores the sums, plus what `c` holds if `accumulate`. Added last, it has
  /// arrived by then: sums that start from it would wait for the cache.
  void storeSums(ArrayRef<Value> out, ArrayRef<Value> c, Value accumulate,
                 ValueRange sums) {
    auto choice = scf::IfOp::create(b, sums.getTypes(), accumulate,
                                    /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(choice.thenBlock());
      SmallVector<Value> totals;
      forEach(out.size(), [&](int64_t row, int64_t v) {
        Value before = loadVector(c[row], v * shape.lanes);
        Value sum = sums[row * shape.vectors + v];
        if (kind == StripKind::Quads)
          totals.push_back(arith::AddIOp::create(b, before, sum));
        else
          totals.push_back(arith::AddFOp::create(b, before, sum));
      });
      scf::YieldOp::create(b, totals);
      b.setInsertionPointToStart(choice.elseBlock());
      scf::YieldOp::create(b, sums);
    }
    forEach(out.size(), [&](int64_t row, int64_t v) {
      LLVM::StoreOp::create(b, choice.getResult(row * shape.vectors + v),
                            element(out[row], int32_t(v * shape.lanes)),
                            /*alignment=*/4);
    });
  }

  /// Adds to the sums what `count` steps from k on contribute; B is also stored
  /// to `kept`, if given.
  SmallVector<Value> step(ArrayRef<Value> rows, Value base, Value kept, Value k,
                          int64_t count, ValueRange before) {
    constexpr int64_t width = kernel::interleavedRows;
    SmallVector<Value> sums(before);
    // Of A, a step has two elements where B's pairs are widened.
    Value first = isWidened() ? mul(k, number(2)) : k;
    Value interleavedLine;
    if (interleaved)
      interleavedLine = element(rows[0], mul(k, number(width)));
    Value line = address(base, ofRhs, mul(k, number(kernel::panelColumns)));
    Value keptLine;
    if (kept)
      keptLine = element(kept, mul(first, number(kernel::panelColumns)));
    auto factorAt = [&](size_t i, int64_t u) {
      return interleaved ? element(interleavedLine, int32_t(u * width + i))
                         : element(element(rows[i], first), int32_t(u));
    };
    for (int64_t u = 0; u < count; ++u) {
      SmallVector<Value> columns;
      for (int64_t v = 0; v < shape.vectors; ++v)
        columns.push_back(
            loadColumns(line, u * kernel::panelColumns + v * shape.lanes));
      if (isWidened() && rows.size() == 1 && !kept) {
        addWidened(factorAt(0, 2 * u), factorAt(0, 2 * u + 1), columns, sums);
        continue;
      }
      if (!isWidened()) {
        addProducts(
            rows.size(), [&](size_t i) { return factorAt(i, u); }, columns,
            sums);
        if (kept)
          keep(columns, keptLine, u);
        continue;
      }
      for (int64_t half = 0; half < 2; ++half) {
        SmallVector<Value> wide = products.halfOf(columns, half);
        addProducts(
            rows.size(), [&](size_t i) { return factorAt(i, 2 * u + half); },
            wide, sums);
        if (kept)
          keep(wide, keptLine, 2 * u + half);
      }
    }
    return sums;
  }

  /// Steps [from, to), one per iteration.
  SmallVector<Value> singleSteps(ArrayRef<Value> rows, Value base, Value kept,
                                 Value from, Value to, ValueRange before) {
    auto loop = scf::ForOp::create(b, from, to, number(1), before);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(b, step(rows, base, kept, loop.getInductionVar(), 1,
                                 loop.getRegionIterArgs()));
    return llvm::to_vector_of<Value>(loop.getResults());
  }

  void keep(ArrayRef<Value> columns, Value line, int64_t row) {
    for (auto [v, vector] : llvm::enumerate(columns)) {
      int64_t at = row * kernel::panelColumns + int64_t(v) * shape.lanes;
      LLVM::StoreOp::create(b, vector, element(line, int32_t(at)), 4);
    }
  }

  Value factorFrom(Value place) {
    // Rows of quads begin anywhere.
    Value scalar =
        LLVM::LoadOp::create(b, each, place, kind == StripKind::Quads ? 1 : 4);
    return vector::BroadcastOp::create(b, vector, scalar);
  }

  /// Adds a row's two factors times a row of pairs, vector by vector: both
  /// halves of all would be more than the registers.
  void addWidened(Value low, Value high, ArrayRef<Value> columns,
                  MutableArrayRef<Value> sums) {
    Value factors[] = {factorFrom(low), factorFrom(high)};
    for (int64_t v = 0; v < shape.vectors; ++v)
      for (int64_t half = 0; half < 2; ++half)
        sums[v] = products.add(factors[half],
                               products.halfOf({columns[v]}, half)[0], sums[v]);
  }

  /// Adds each row's factor times a row of B.
  void addProducts(size_t height, function_ref<Value(size_t)> factorAt,
                   ArrayRef<Value> columns, MutableArrayRef<Value> sums) {
    for (size_t i = 0; i < height; ++i) {
      Value factor = factorFrom(factorAt(i));
      for (int64_t v = 0; v < shape.vectors; ++v) {
        Value &sum = sums[i * shape.vectors + v];
        sum = products.add(factor, columns[v], sum);
      }
    }
  }

  /// Where the sums will be stored or added to. Were those lines still on their
  /// way by then, the next tile would wait too: for stores to rows a multiple
  /// of 4 KiB apart, which look like what it loads.
  void fetchSums(ArrayRef<Value> rows) {
    for (Value row : rows)
      for (int64_t v = 0; v < shape.vectors; ++v)
        prefetch(element(row, int32_t(v * shape.lanes)));
  }

  /// The lines that `unroll` steps from k on read, so far ahead.
  void fetchAhead(Value base, Value k) {
    Value line = address(base, ofRhs, mul(k, number(kernel::panelColumns)));
    int64_t bytes = ofRhs.getIntOrFloatBitWidth() / 8;
    int64_t row = kernel::panelColumns * bytes, part = shape.columns() * bytes;
    // Whole rows follow each other.
    int64_t parts = part == row ? 1 : unroll;
    int64_t ahead = resumes ? row * streamSteps : streamAhead;
    for (int64_t u = 0; u < parts; ++u)
      for (int64_t byte = 0; byte < part * unroll / parts; byte += cacheLine)
        prefetch(address(line, b.getI8Type(), int32_t(u * row + byte + ahead)));
  }

  /// Sums that lie in memory if `isThere`, else others.
  SmallVector<Value> sumsOr(ArrayRef<Value> rows, Value isThere,
                            ValueRange others) {
    auto choice = scf::IfOp::create(b, others.getTypes(), isThere,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    SmallVector<Value> sums;
    forEach(rows.size(), [&](int64_t row, int64_t v) {
      sums.push_back(loadVector(rows[row], v * shape.lanes));
    });
    scf::YieldOp::create(b, sums);
    b.setInsertionPointToStart(choice.elseBlock());
    scf::YieldOp::create(b, others);
    return llvm::to_vector_of<Value>(choice.getResults());
  }

  /// Strips of other widths may have made it.
  LLVM::LLVMFuncOp tileOf(int64_t height, Fetch fetch) {
    constexpr const char *prefixes[] = {"matmul_tile_", "matmul_few_",
                                        "matmul_stream_"};
    std::string name = (prefixes[fetch] + Twine(height) + "x" +
                        Twine(shape.columns()) + suffix)
                           .str();
    if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
      return function;
    return writeTile(name, height, fetch);
  }

  /// tile(a, aStride, b, depth, c, cStride, out, outStride, accumulate, next,
  /// nextStep[, kept | isResumed, partial]): meanwhile fetches nextStep bytes
  /// from `next` on per `unroll` steps of k; or if it fetches its own, for a B
  /// that is read by this tile alone, what comes behind in B itself. Then it
  /// may go on with sums that lie in `partial`.
  LLVM::LLVMFuncOp writeTile(StringRef name, int64_t height, Fetch fetch) {
    SmallVector<Type> types = {pointer, i64, pointer, i64,     pointer, i64,
                               pointer, i64, i1(),    pointer, i64};
    if (keepsRhs(kind))
      types.push_back(pointer);
    bool mayResume = resumes && fetch == Own;
    if (mayResume)
      types.append({i1(), pointer});
    LLVM::LLVMFuncOp tile = startTileFunction(b, module, name, types);
    auto argument = [&](int i) { return tile.getArgument(i); };
    Value kept = keepsRhs(kind) ? argument(11) : Value();
    auto rowsFrom = [&](Value base, Value stride) {
      SmallVector<Value> rows = {base};
      while (int64_t(rows.size()) < height)
        rows.push_back(element(rows.back(), stride));
      return rows;
    };
    auto rowsOf = [&](int base) {
      return rowsFrom(argument(base), argument(base + 1));
    };
    Value depth = argument(3), step4 = number(unroll);
    SmallVector<Value> rows = rowsOf(0);
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(vector));
    SmallVector<Value> sums(height * shape.vectors, zero);
    if (mayResume)
      sums = sumsOr(rowsFrom(argument(12), number(kernel::panelColumns)),
                    argument(11), sums);
    sums.push_back(argument(9));
    fetchSums(rowsOf(4));
    Value whole =
        sub(depth, arith::AndIOp::create(b, depth, number(unroll - 1)));
    auto main = scf::ForOp::create(b, number(0), whole, step4, sums);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(main.getBody());
      Value next = main.getRegionIterArgs().back();
      if (fetch == Own) {
        fetchAhead(argument(2), main.getInductionVar());
      } else {
        for (int64_t line = 0; line < linesOf(fetch); ++line)
          prefetch(address(next, b.getI8Type(), int32_t(line * cacheLine)));
      }
      Value k = main.getInductionVar();
      ValueRange before = main.getRegionIterArgs().drop_back();
      // Stores between steps would have all their factors loaded before.
      SmallVector<Value> after =
          kept ? singleSteps(rows, argument(2), kept, k, add(k, step4), before)
               : step(rows, argument(2), kept, k, unroll, before);
      after.push_back(address(next, b.getI8Type(), argument(10)));
      scf::YieldOp::create(b, after);
    }
    SmallVector<Value> totals = singleSteps(
        rows, argument(2), kept, whole, depth, main.getResults().drop_back());
    storeSums(rowsOf(6), rowsOf(4), argument(8), totals);
    LLVM::ReturnOp::create(b, ValueRange());
    return tile;
  }

  /// One of `count` tiles. Of one, nothing is left to read B from the cache.
  void callTile(Value height, Value count, ArrayRef<Value> operands) {
    OpBuilder::InsertionGuard guard(b);
    for (auto [most, fetch] :
         {std::pair<int64_t, Fetch>(1, Own),
          std::pair<int64_t, Fetch>(fewTiles, MuchOfNext)}) {
      if (resumes && fetch == Own)
        continue;
      auto choice = scf::IfOp::create(b, isAtMost(count, most),
                                      /*withElseRegion=*/true);
      b.setInsertionPointToStart(choice.thenBlock());
      callTile(height, tiles[fetch], operands);
      b.setInsertionPointToStart(choice.elseBlock());
    }
    callTile(height, tiles[Next], operands);
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
    if (!wholeRow)
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
      callTile(argument(6), tiles[Own],
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
    Value most = arith::SelectOp::create(
        b, isAtMost(count, fewTiles), number(linesOf(MuchOfNext) * cacheLine),
        number(linesOf(Next) * cacheLine));
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
  std::string suffix; // Of the functions' names.
  StripKind kind;
  bool interleaved;
  TileShape shape;
  Type each;  // Of the sums, and of A.
  Type ofRhs; // Elements of B.
  VectorType vector;
  StripProducts products;
  SmallVector<LLVM::LLVMFuncOp> tiles[Fetches]; // By height - 1.
  bool resumes = false; // Narrow tiles of a strip of one.
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
