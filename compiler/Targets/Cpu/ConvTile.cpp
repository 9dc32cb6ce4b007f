//===- ConvTile.cpp - The inner kernel of direct convolutions -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All distances are numbers, so that one register holds the address of every
// pixel of the tile.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/ConvTile.h"
#include "compiler/Targets/Cpu/EvenTiles.h"
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

/// With registers of 256 bits, the most pixels by three vectors of columns.
constexpr int64_t pixelsOfThree = 4;
/// Steps of k between which a tile fetches; an iteration has as many. It has
/// fewer where elements of a pixel are others of its neighbour too, few steps
/// away: LLVM would keep all that are read twice, and spill them.
constexpr int64_t fetchSteps = 4;
constexpr int64_t cacheLine = 64;
/// Steps until sums of f16 are widened, of a run that has as many.
constexpr int64_t stepsInF16 = 64;
/// Sums beside which registers are left for factors of two steps, whose loads
/// the code generator puts side by side: a sum would go to the stack. Sums of
/// words do so always, as LLVM adds up two steps' products first.
constexpr int64_t roomySums = 24;

class TileWriter : TileBuilder {
public:
  TileWriter(ModuleOp module, const CpuLevel &level, const ConvTile &tile,
             bool countsTaps)
      : TileBuilder(module), tile(tile), lanes(level.vectorBits / 32),
        vectors(tile.columns / lanes), countsTaps(countsTaps),
        unroll(tile.pixels * vectors > roomySums || isNarrow(level) ||
                       tile.kind == StripKind::Words
                   ? 1
                   : std::clamp<int64_t>(tile.pixelStride, 1, fetchSteps)),
        parts(tile.kind == StripKind::Widened ? 2 : 1),
        inF16(addsF16(tile.kind)),
        each(addsIntegers(tile.kind) ? Type(b.getI32Type()) : b.getF32Type()),
        vector(VectorType::get({lanes}, each)),
        products(b, level, tile.kind, vector) {}

  LLVM::LLVMFuncOp write(StringRef name) {
    SmallVector<Type> types(4, pointer);
    if (countsTaps)
      types.push_back(b.getI64Type());
    if (inF16)
      types.push_back(b.getF32Type());
    LLVM::LLVMFuncOp function = startTileFunction(b, module, name, types);
    if (countsTaps)
      taps = function.getArgument(4);
    function.setNoInline(true);
    if (inF16)
      return writeInF16(function);
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(vector));
    SmallVector<Value> state(tile.pixels * vectors, zero);
    state.push_back(function.getArgument(1));
    state.push_back(function.getArgument(3));
    state = overTaps(0, function.getArgument(0), state);
    for (int64_t i = 0; i < tile.pixels * vectors; ++i) {
      Value at = element(function.getArgument(2),
                         i / vectors * tile.width + i % vectors * lanes);
      Value sum = state[i];
      if (tile.accumulates) {
        Value before = LLVM::LoadOp::create(b, vector, at, /*alignment=*/4);
        sum = addsIntegers(tile.kind)
                  ? arith::AddIOp::create(b, before, sum).getResult()
                  : arith::AddFOp::create(b, before, sum).getResult();
      }
      LLVM::StoreOp::create(b, sum, at, /*alignment=*/4);
    }
    LLVM::ReturnOp::create(b, ValueRange());
    return function;
  }

private:
  /// One vector by many pixels: factors of several steps leave no registers.
  bool isNarrow(const CpuLevel &level) const {
    return level.vectorBits < 512 && vectors == 1 && tile.pixels > 6;
  }

  /// The state is where b goes on and what to fetch next: sums of some steps
  /// are added to what out holds.
  LLVM::LLVMFuncOp writeInF16(LLVM::LLVMFuncOp function) {
    out = function.getArgument(2);
    Value last = function.getArgument(function.getNumArguments() - 1);
    scale = vector::BroadcastOp::create(b, vector, last);
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(vector));
    for (int64_t i = 0; i < tile.pixels * vectors && !tile.accumulates; ++i)
      storeTotal(zero, i);
    SmallVector<Value> state = {function.getArgument(1),
                                function.getArgument(3)};
    overTaps(0, function.getArgument(0), state);
    LLVM::ReturnOp::create(b, ValueRange());
    return function;
  }

  /// Volatile, or LLVM would look for registers for all of them.
  void storeTotal(Value value, int64_t i) {
    LLVM::StoreOp::create(b, value, totalAt(i), /*alignment=*/4,
                          /*isVolatile=*/true);
  }
  Value totalAt(int64_t i) {
    return element(out, i / vectors * tile.width + i % vectors * lanes);
  }

  /// Some steps that are added up in f16, and then to out.
  SmallVector<Value> overSome(Value a, int64_t length, uint32_t reached,
                              ValueRange before) {
    SmallVector<Value> state(tile.pixels * vectors, products.zeroPairs());
    llvm::append_range(state, before);
    state = overSteps(a, length, reached, state);
    SmallVector<int64_t> places;
    SmallVector<Value> sums;
    for (int64_t i = 0; i < tile.pixels * vectors; ++i)
      if (reached >> (i / vectors) & 1) {
        places.push_back(i);
        sums.push_back(state[i]);
      }
    for (auto [i, sum] : llvm::zip_equal(places, products.widened(sums))) {
      Value total = LLVM::LoadOp::create(b, vector, totalAt(i), /*alignment=*/4,
                                         /*isVolatile=*/true);
      storeTotal(LLVM::FMAOp::create(b, sum, scale, total), i);
    }
    return SmallVector<Value>(ArrayRef<Value>(state).take_back(2));
  }

  SmallVector<Value> overPartInF16(Value a, int64_t length, uint32_t reached,
                                   ValueRange before) {
    int64_t whole = length / stepsInF16 * stepsInF16;
    SmallVector<Value> state(before);
    if (whole) {
      auto loop = scf::ForOp::create(b, number(0), number(whole),
                                     number(stepsInF16), state);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      scf::YieldOp::create(b, overSome(stepsBehind(a, loop.getInductionVar()),
                                       stepsInF16, reached,
                                       loop.getRegionIterArgs()));
      state.assign(loop.getResults().begin(), loop.getResults().end());
    }
    return whole == length ? state
                           : overSome(stepsBehind(a, whole), length - whole,
                                      reached, state);
  }

  Value element(Value base, LLVM::GEPArg offset) {
    return address(base, b.getF32Type(), offset);
  }
  Value element(Value base, int64_t offset) {
    return element(base, LLVM::GEPArg(int32_t(offset)));
  }
  /// So many steps of k behind an address in a.
  Value stepsBehind(Value a, int64_t steps) {
    return element(a, steps * parts);
  }
  Value stepsBehind(Value a, Value steps) {
    return element(
        a, parts == 1
               ? steps
               : arith::MulIOp::create(b, steps, number(parts)).getResult());
  }

  /// The state is the sums, where b goes on and what to fetch next.
  SmallVector<Value> overTaps(size_t depth, Value a, ValueRange before) {
    if (depth == tile.loops.size())
      return overRun(a, before);
    const TapLoop &each = tile.loops[depth];
    Value end = depth == 0 && taps ? taps : number(each.taps);
    auto loop = scf::ForOp::create(b, number(0), end, number(1), before);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value offset =
        arith::MulIOp::create(b, loop.getInductionVar(), number(each.stride));
    scf::YieldOp::create(b, overTaps(depth + 1, stepsBehind(a, offset),
                                     loop.getRegionIterArgs()));
    return SmallVector<Value>(loop.getResults());
  }

  SmallVector<Value> overRun(Value a, ValueRange before) {
    SmallVector<uint32_t> parts = tile.reached;
    if (parts.empty())
      parts.push_back(~0u);
    int64_t length = tile.run / int64_t(parts.size());
    int64_t stride = tile.partStride > 0 ? tile.partStride : length;
    SmallVector<Value> state(before);
    for (size_t first = 0, last; first < parts.size(); first = last) {
      for (last = first + 1; last < parts.size(); ++last)
        if (parts[last] != parts[first] || stride != length)
          break;
      state = overPart(stepsBehind(a, int64_t(first) * stride),
                       int64_t(last - first) * length, parts[first], state);
    }
    return state;
  }

  /// Steps of k that the same pixels take part in.
  SmallVector<Value> overPart(Value a, int64_t length, uint32_t reached,
                              ValueRange before) {
    return inF16 ? overPartInF16(a, length, reached, before)
                 : overSteps(a, length, reached, before);
  }

  SmallVector<Value> overSteps(Value a, int64_t length, uint32_t reached,
                               ValueRange before) {
    int64_t whole = length / unroll * unroll;
    SmallVector<Value> state(before);
    // Steps behind a loop are another block, where they may read elements of
    // its pixels again.
    bool hasOverlap = unroll < fetchSteps && 0 < whole && whole < length;
    if (whole > unroll || hasOverlap) {
      auto loop = scf::ForOp::create(b, number(0), number(whole),
                                     number(unroll), state);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      scf::YieldOp::create(b, steps(stepsBehind(a, loop.getInductionVar()),
                                    unroll, reached, loop.getRegionIterArgs()));
      state.assign(loop.getResults().begin(), loop.getResults().end());
    } else if (whole) {
      state = steps(a, unroll, reached, state);
    }
    return steps(stepsBehind(a, whole), length - whole, reached, state);
  }

  SmallVector<Value> steps(Value a, int64_t count, uint32_t reached,
                           ValueRange before) {
    SmallVector<Value> state(before);
    Value &panel = state[state.size() - 2], &next = state.back();
    int64_t fetch = llvm::divideCeil(tile.fetch * unroll, fetchSteps);
    if (count == unroll && fetch > 0) {
      for (int64_t at = 0; at < fetch; at += cacheLine)
        LLVM::Prefetch::create(b, byte(next, int32_t(at)), 0, 3, 1);
      next = byte(next, int32_t(fetch));
    }
    for (int64_t k = 0; k < count; ++k) {
      SmallVector<Value> columns;
      for (int64_t v = 0; v < vectors; ++v)
        columns.push_back(LLVM::LoadOp::create(
            b, vector, element(panel, k * tile.width + v * lanes),
            /*alignment=*/4));
      for (int64_t part = 0; part < parts; ++part)
        addProducts(stepsBehind(a, k), part, reached,
                    parts == 1 ? columns : products.halfOf(columns, part),
                    state);
    }
    panel = element(panel, count * tile.width);
    return state;
  }

  /// Adds each pixel's factor times a row of b, or half of its pairs.
  void addProducts(Value a, int64_t part, uint32_t reached,
                   ArrayRef<Value> columns, MutableArrayRef<Value> sums) {
    for (int64_t p = 0; p < tile.pixels; ++p) {
      if (!(reached >> p & 1))
        continue;
      // Rows of quads begin anywhere.
      Value scalar = LLVM::LoadOp::create(
          b, each, element(a, tile.offsetOf(p) * parts + part),
          tile.kind == StripKind::Quads ? 1 : 4);
      Value factor = vector::BroadcastOp::create(b, vector, scalar);
      for (int64_t v = 0; v < vectors; ++v) {
        Value &sum = sums[p * vectors + v];
        sum = products.add(factor, columns[v], sum);
      }
    }
  }

  const ConvTile &tile;
  int64_t lanes, vectors;
  bool countsTaps;
  int64_t unroll; // Steps of k per iteration.
  int64_t parts;  // Elements of a for each.
  bool inF16;
  Value out, scale; // Of that.
  Value taps;       // Of the outermost loop, where they are counted.
  Type each;
  VectorType vector;
  StripProducts products;
};

} // namespace

int64_t ConvTile::offsetOf(int64_t pixel) const {
  if (lines.length == 0)
    return pixel * pixelStride;
  int64_t number = lines.first + pixel;
  return number / lines.length * lines.stride +
         (number % lines.length - lines.first) * pixelStride;
}

int64_t tilePixels(const CpuLevel &level, int64_t width, int64_t columns) {
  if (level.vectorBits < 512)
    return columns <= 8                    ? 12
           : columns > 16 && columns <= 24 ? 2 * pixelsOfThree
                                           : 6;
  return width == 48 ? 8 : width == 32 ? 12 : 14;
}

static LLVM::LLVMFuncOp convTile(ModuleOp module, const CpuLevel &level,
                                 const ConvTile &tile, bool countsTaps) {
  std::string name;
  llvm::raw_string_ostream text(name);
  text << "conv_tile_" << tile.pixels << "x" << tile.columns << "of"
       << tile.width << "_at" << tile.pixelStride << "_run" << tile.run;
  for (const TapLoop &loop : tile.loops)
    text << "_" << loop.taps << "x" << loop.stride;
  if (tile.lines.length > 0)
    text << "_from" << tile.lines.first << "of" << tile.lines.length << "_"
         << tile.lines.stride;
  if (tile.partStride > 0)
    text << "by" << tile.partStride;
  for (uint32_t pixels : tile.reached)
    text << "_reach" << llvm::utohexstr(pixels, /*LowerCase=*/true);
  text << suffixOf(tile.kind) << (tile.accumulates ? "_more" : "")
       << (countsTaps ? "_counted" : "") << "_fetch" << tile.fetch << "."
       << level.name;
  if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return function;
  return TileWriter(module, level, tile, countsTaps).write(name);
}

/// The first of a tile's pixels, or some behind them.
static ConvTile somePixels(const ConvTile &tile, int64_t first, int64_t count) {
  ConvTile some = tile;
  some.pixels = count;
  if (tile.lines.length > 0)
    some.lines.first = (tile.lines.first + first) % tile.lines.length;
  for (uint32_t &pixels : some.reached)
    pixels >>= first;
  return some;
}

/// How many columns to compute at once, of those that are left: with registers
/// of 256 bits two vectors, or the last three, or the last one.
static int64_t columnsAtOnce(const CpuLevel &level, int64_t left) {
  if (level.vectorBits >= 512)
    return llvm::alignTo(left, 16);
  int64_t whole = llvm::alignTo(left, 8);
  return whole == 24 ? 24 : std::min<int64_t>(whole, 16);
}

void callConvTile(Emitter &e, ConvTile tile, const ConvTilePlaces &places,
                  int64_t columns) {
  auto behind = [&](Value base, int64_t offset) {
    return LLVM::GEPOp::create(e.b, base.getType(), e.b.getF32Type(), base,
                               ArrayRef<LLVM::GEPArg>{int32_t(offset)});
  };
  int64_t parts = tile.kind == StripKind::Widened ? 2 : 1;
  for (int64_t n = 0; n < columns; n += tile.columns) {
    tile.columns = columnsAtOnce(e.level, columns - n);
    bool areThree = e.level.vectorBits < 512 && tile.columns == 24;
    EvenTiles some(tile.pixels,
                   areThree ? llvm::divideCeil(tile.pixels, pixelsOfThree) : 1);
    for (int64_t i = 0; i < some.count; ++i) {
      int64_t first = some.before(i);
      ConvTile part = somePixels(tile, first, some.before(i + 1) - first);
      LLVM::LLVMFuncOp function =
          convTile(e.module, e.level, part, /*countsTaps=*/bool(places.taps));
      SmallVector<Value> operands = {
          behind(places.a, tile.offsetOf(first) * parts), behind(places.b, n),
          behind(places.out, first * tile.width + n), places.next};
      if (places.taps)
        operands.push_back(places.taps);
      if (places.scale)
        operands.push_back(places.scale);
      LLVM::CallOp::create(e.b, function, operands);
    }
  }
}

} // namespace tenon::cpu
