//===- DepthwiseTile.cpp - Convolutions of small groups, tile by tile -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The taps of a line wait in registers beside the sums, so that each column of
// the input is loaded once a line, for all pixels whose windows it is in, or
// once for each member of a group, whose lanes are put in their place then.
// Volatile, or LLVM would keep columns for the next member, on the stack.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/DepthwiseTile.h"
#include "compiler/Targets/Cpu/BitFormulas.h"
#include "compiler/Targets/Cpu/TileFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

class TileWriter : TileBuilder {
public:
  TileWriter(ModuleOp module, const CpuLevel &level, const DepthwiseTile &tile)
      : TileBuilder(module), tile(tile), lanes(level.vectorBits / 32),
        mostTaps(level.vectorBits >= 512 ? 11
                 : tile.members > 1      ? 3
                                         : 7),
        vector(VectorType::get({lanes}, b.getF32Type())) {}

  LLVM::LLVMFuncOp write(StringRef name) {
    LLVM::LLVMFuncOp function = startTileFunction(
        b, module, name,
        {pointer, pointer, pointer, b.getI64Type(), b.getF32Type()});
    function.setNoInline(true);
    zero = arith::ConstantOp::create(b, SplatElementsAttr::get(vector, 0.0f));
    if (tile.count < lanes)
      mask = maskOfCount();
    if (tile.image != DepthwiseTile::F32)
      zeroPoint =
          vector::BroadcastOp::create(b, vector, function.getArgument(4));
    SmallVector<Value> state(tile.pixels, zero);
    state.push_back(function.getArgument(0));
    state.push_back(function.getArgument(1));
    auto loop = scf::ForOp::create(b, number(0), function.getArgument(3),
                                   number(1), state);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      scf::YieldOp::create(b, addLine(loop.getRegionIterArgs()));
    }
    // The room of a pixel is wide enough for whole vectors.
    for (int64_t p = 0; p < tile.pixels; ++p)
      LLVM::StoreOp::create(b, loop.getResult(p),
                            element(function.getArgument(2), p * tile.width),
                            /*alignment=*/4);
    LLVM::ReturnOp::create(b, ValueRange());
    return function;
  }

private:
  Value element(Value base, int64_t offset) {
    return address(base, b.getF32Type(), number(offset));
  }

  Value maskOfCount() {
    SmallVector<bool> isThere;
    for (int64_t i = 0; i < lanes; ++i)
      isThere.push_back(i < tile.count);
    auto type = VectorType::get({lanes}, b.getI1Type());
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, isThere));
  }

  Value load(Value at, bool isVolatile = false) {
    if (!mask)
      return LLVM::LoadOp::create(b, vector, at, /*alignment=*/4, isVolatile);
    return LLVM::MaskedLoadOp::create(b, vector, at, mask, zero,
                                      /*alignment=*/4);
  }

  Value columnOf(Value base, int64_t offset) {
    return address(base, typeOf(b, tile.image), number(offset));
  }

  Value loadNarrow(Value at) {
    Type element = typeOf(b, tile.image);
    unsigned bits = element.getIntOrFloatBitWidth();
    auto type = VectorType::get({lanes}, element);
    if (!mask)
      return LLVM::LoadOp::create(b, type, at, /*alignment=*/bits / 8);
    auto nothing = DenseElementsAttr::get(type, APInt(bits, 0));
    return LLVM::MaskedLoadOp::create(b, type, at, mask,
                                      arith::ConstantOp::create(b, nothing),
                                      /*alignment=*/bits / 8);
  }

  /// A column of the image as f32.
  Value loadColumn(Value at) {
    if (tile.image == DepthwiseTile::F32)
      return load(at, /*isVolatile=*/tile.members > 1);
    Value narrow = loadNarrow(at);
    if (tile.image == DepthwiseTile::Bf16)
      return fromMemory(b, narrow, b.getBF16Type());
    auto wide = VectorType::get({lanes}, b.getI32Type());
    Value numbers = tile.image == DepthwiseTile::Signed
                        ? Value(arith::ExtSIOp::create(b, wide, narrow))
                        : arith::ExtUIOp::create(b, wide, narrow);
    Value values = arith::SIToFPOp::create(b, vector, numbers);
    return arith::SubFOp::create(b, values, zeroPoint);
  }

  /// Each lane is a member of its group.
  Value loadMember(Value at, int64_t member) {
    if (tile.members == 1)
      return loadColumn(at);
    if (tile.members >= lanes)
      return vector::BroadcastOp::create(
          b, vector,
          LLVM::LoadOp::create(b, b.getF32Type(), element(at, member),
                               /*alignment=*/4));
    SmallVector<int64_t> from;
    for (int64_t lane = 0; lane < lanes; ++lane)
      from.push_back(lane / tile.members * tile.members + member);
    Value column = loadColumn(at);
    return vector::ShuffleOp::create(b, column, column, from);
  }

  /// The state is the sums, and where a and b go on.
  SmallVector<Value> addLine(ValueRange before) {
    SmallVector<Value> state(before);
    Value &a = state[tile.pixels], &filter = state[tile.pixels + 1];
    for (int64_t member = 0; member < tile.members; ++member)
      for (int64_t first = 0; first < tile.taps; first += mostTaps)
        addTaps(a, filter, member, first, std::min(tile.taps, first + mostTaps),
                state);
    a = columnOf(a, tile.lineStride);
    filter = element(filter, tile.taps * tile.members * tile.channels);
    return state;
  }

  void addTaps(Value a, Value filter, int64_t member, int64_t from, int64_t to,
               MutableArrayRef<Value> sums) {
    SmallVector<Value> factors;
    for (int64_t tap = from; tap < to; ++tap)
      factors.push_back(
          load(element(filter, (tap * tile.members + member) * tile.channels)));
    for (int64_t column = tile.low; column < tile.high; ++column) {
      Value input;
      for (int64_t p = 0; p < tile.pixels; ++p) {
        int64_t apart = column - p * tile.stride, tap = apart / tile.dilation;
        if (apart < 0 || apart % tile.dilation != 0 || tap < from || tap >= to)
          continue;
        if (!input)
          input = loadMember(columnOf(a, column * tile.channels), member);
        sums[p] = LLVM::FMAOp::create(b, input, factors[tap - from], sums[p]);
      }
    }
  }

  const DepthwiseTile &tile;
  int64_t lanes, mostTaps; // Taps that have a register each.
  VectorType vector;
  Value zero, zeroPoint, mask;
};

} // namespace

Type typeOf(OpBuilder &b, DepthwiseTile::Image image) {
  return image == DepthwiseTile::F32    ? Type(b.getF32Type())
         : image == DepthwiseTile::Bf16 ? b.getIntegerType(16)
                                        : b.getIntegerType(8);
}

int64_t depthwisePixels(const CpuLevel &level, int64_t members) {
  return level.vectorBits >= 512 ? 14 : members > 1 ? 10 : 7;
}

LLVM::LLVMFuncOp depthwiseTile(ModuleOp module, const CpuLevel &level,
                               const DepthwiseTile &tile) {
  std::string name;
  llvm::raw_string_ostream text(name);
  constexpr const char *images[] = {"", "ui8_", "i8_", "bf16_"};
  text << "depthwise_tile_" << images[tile.image] << tile.pixels << "x"
       << tile.count << "of" << tile.width;
  if (tile.members > 1)
    text << "_members" << tile.members;
  text << "_taps" << tile.taps << "_by" << tile.stride << "_" << tile.dilation
       << "_in" << tile.low << "_" << tile.high << "_at" << tile.channels << "_"
       << tile.lineStride << "." << level.name;
  if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return function;
  return TileWriter(module, level, tile).write(name);
}

} // namespace tenon::cpu
