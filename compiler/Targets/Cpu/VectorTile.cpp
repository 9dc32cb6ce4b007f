//===- VectorTile.cpp - Tiles whose sums stay in vector registers ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/VectorTile.h"
#include "compiler/Targets/Cpu/VectorStrip.h"
#include "dialects/Kernel/Packing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::cpu {

/// How far ahead a strip of one tile fetches what it reads itself.
constexpr int64_t streamAhead = 4096;

VectorTile::VectorTile(ModuleOp module, const CpuLevel &level, StripKind kind,
                       bool interleaved, const TileShape &shape,
                       StringRef suffix, bool resumes)
    : TileBuilder(module), kind(kind), interleaved(interleaved), shape(shape),
      suffix(suffix),
      each(addsIntegers(kind) ? Type(b.getI32Type()) : b.getF32Type()),
      ofRhs(isF16() ? Type(b.getF16Type()) : each), resumes(resumes),
      stepsAreApart(keepsRhs(kind) || (addsIntegers(kind) && !level.quadDots)),
      vector(VectorType::get({shape.lanes}, each)),
      products(b, level, kind, vector) {}

Value VectorTile::loadVector(Value base, int64_t offset) {
  return LLVM::LoadOp::create(b, vector, element(base, int32_t(offset)),
                              /*alignment=*/4);
}

/// Of a row of B, as f32 where it is f16: one instruction loads and widens.
Value VectorTile::loadColumns(Value line, int64_t offset) {
  if (!isF16())
    return loadVector(line, offset);
  Value narrow = LLVM::LoadOp::create(b, VectorType::get({shape.lanes}, ofRhs),
                                      address(line, ofRhs, int32_t(offset)),
                                      /*alignment=*/2);
  return arith::ExtFOp::create(b, vector, narrow);
}

void VectorTile::prefetch(Value at) {
  // Read; expected to be needed again soon; data.
  LLVM::Prefetch::create(b, at, 0, 3, 1);
}

/// A position of the tile, over all its vectors.
template <typename Body> void VectorTile::forEach(int64_t height, Body body) {
  for (int64_t row = 0; row < height; ++row)
    for (int64_t v = 0; v < shape.vectors; ++v)
      body(row, v);
}

/// Stores the sums, plus what `c` holds if `accumulate`.
void VectorTile::storeSums(ArrayRef<Value> out, ArrayRef<Value> c,
                           Value accumulate, ValueRange sums) {
  ValueRange totals = plusIf(b, accumulate, sums, [&](size_t i) {
    return loadVector(c[i / shape.vectors], i % shape.vectors * shape.lanes);
  });
  forEach(out.size(), [&](int64_t row, int64_t v) {
    LLVM::StoreOp::create(b, totals[row * shape.vectors + v],
                          element(out[row], int32_t(v * shape.lanes)),
                          /*alignment=*/4);
  });
}

/// Adds to the sums what `count` steps from k on contribute; B is also stored
/// to `kept`, if given.
VectorTile::Values VectorTile::step(ArrayRef<Value> rows, Value base,
                                    Value kept, Value k, int64_t count,
                                    ValueRange before, bool fetches) {
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
    if (fetches)
      fetchAhead(line, u);
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
          rows.size(), [&](size_t i) { return factorAt(i, u); }, columns, sums);
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
VectorTile::Values VectorTile::singleSteps(ArrayRef<Value> rows, Value base,
                                           Value kept, Value from, Value to,
                                           ValueRange before, bool fetches) {
  auto loop = scf::ForOp::create(b, from, to, number(1), before);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(b, step(rows, base, kept, loop.getInductionVar(), 1,
                               loop.getRegionIterArgs(), fetches));
  return llvm::to_vector_of<Value>(loop.getResults());
}

void VectorTile::keep(ArrayRef<Value> columns, Value line, int64_t row) {
  for (auto [v, vector] : llvm::enumerate(columns)) {
    int64_t at = row * kernel::panelColumns + int64_t(v) * shape.lanes;
    LLVM::StoreOp::create(b, vector, element(line, int32_t(at)), 4);
  }
}

Value VectorTile::factorFrom(Value place) {
  // Rows of quads begin anywhere.
  Value scalar =
      LLVM::LoadOp::create(b, each, place, kind == StripKind::Quads ? 1 : 4);
  return vector::BroadcastOp::create(b, vector, scalar);
}

/// Adds a row's two factors times a row of pairs, vector by vector: both
/// halves of all would be more than the registers.
void VectorTile::addWidened(Value low, Value high, ArrayRef<Value> columns,
                            MutableArrayRef<Value> sums) {
  Value factors[] = {factorFrom(low), factorFrom(high)};
  for (int64_t v = 0; v < shape.vectors; ++v)
    for (int64_t half = 0; half < 2; ++half)
      sums[v] = products.add(factors[half],
                             products.halfOf({columns[v]}, half)[0], sums[v]);
}

/// Adds each row's factor times a row of B.
void VectorTile::addProducts(size_t height,
                             function_ref<Value(size_t)> factorAt,
                             ArrayRef<Value> columns,
                             MutableArrayRef<Value> sums) {
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
void VectorTile::fetchSums(ArrayRef<Value> rows) {
  for (Value row : rows)
    for (int64_t v = 0; v < shape.vectors; ++v)
      prefetch(element(row, int32_t(v * shape.lanes)));
}

/// The lines that begin in what step u from `line` on reads, so far ahead.
/// Those of several steps at once would fill the queue of what the cache waits
/// for.
void VectorTile::fetchAhead(Value line, int64_t u) {
  int64_t bytes = ofRhs.getIntOrFloatBitWidth() / 8;
  int64_t row = kernel::panelColumns * bytes, part = shape.columns() * bytes;
  int64_t ahead = resumes ? row * streamSteps : streamAhead;
  // Whole rows follow each other: a line may begin in the one before.
  int64_t from = part == row ? llvm::alignTo(u * row, cacheLine) : u * row;
  for (int64_t at = from; at < u * row + part; at += cacheLine)
    prefetch(address(line, b.getI8Type(), int32_t(at + ahead)));
}

/// Sums that lie in memory if `isThere`, else others.
VectorTile::Values VectorTile::sumsOr(ArrayRef<Value> rows, Value isThere,
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
LLVM::LLVMFuncOp VectorTile::functionOf(int64_t height, Fetch fetch) {
  constexpr const char *prefixes[] = {"matmul_tile_", "matmul_few_",
                                      "matmul_stream_"};
  std::string name = (prefixes[int(fetch)] + Twine(height) + "x" +
                      Twine(shape.columns()) + suffix)
                         .str();
  if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return function;
  return write(name, height, fetch);
}

LLVM::LLVMFuncOp VectorTile::write(StringRef name, int64_t height,
                                   Fetch fetch) {
  SmallVector<Type> types = {pointer, i64, pointer, i64,     pointer, i64,
                             pointer, i64, i1(),    pointer, i64};
  if (keepsRhs(kind))
    types.push_back(pointer);
  bool mayResume = resumes && fetch == Fetch::Own;
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
  Value whole = sub(depth, arith::AndIOp::create(b, depth, number(unroll - 1)));
  auto main = scf::ForOp::create(b, number(0), whole, step4, sums);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(main.getBody());
    Value next = main.getRegionIterArgs().back();
    bool fetchesOwn = fetch == Fetch::Own;
    int64_t lines = fetchesOwn ? 0 : linesOf(fetch);
    for (int64_t line = 0; line < lines; ++line)
      prefetch(address(next, b.getI8Type(), int32_t(line * cacheLine)));
    Value k = main.getInductionVar();
    ValueRange before = main.getRegionIterArgs().drop_back();
    SmallVector<Value> after =
        stepsAreApart
            ? singleSteps(rows, argument(2), kept, k, add(k, step4), before,
                          fetchesOwn)
            : step(rows, argument(2), kept, k, unroll, before, fetchesOwn);
    after.push_back(address(next, b.getI8Type(), argument(10)));
    scf::YieldOp::create(b, after);
  }
  SmallVector<Value> totals = singleSteps(rows, argument(2), kept, whole, depth,
                                          main.getResults().drop_back(),
                                          /*fetches=*/false);
  storeSums(rowsOf(6), rowsOf(4), argument(8), totals);
  LLVM::ReturnOp::create(b, ValueRange());
  return tile;
}

} // namespace tenon::cpu
