//===- RecurrentMatrices.cpp - Sums of cells by matrices in registers -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of A are states, B is 16 lines of R by 16 units of a gate. Registers of
// B, which come from behind the first level of the cache, are read once for all
// states: six registers have the sums.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/RecurrentMatrices.h"
#include "compiler/Targets/Cpu/TileFunction.h"
#include "dialects/Kernel/RecurrentView.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

constexpr int64_t mostSums = AmxUnit::mostWidth * AmxUnit::mostHeight;

/// What one function computes.
struct Shape {
  int64_t gates, width, height, chains;
};

class CellWriter : TileBuilder {
public:
  CellWriter(ModuleOp module, const CpuLevel &level, const Shape &shape)
      : TileBuilder(module), level(level), shape(shape) {}

  /// cells(a, aStride, b, steps, out, outStride, rows): a step is of `chains`
  /// registers, strides are bytes, and registers have `rows` rows.
  LLVM::LLVMFuncOp write() {
    std::string name =
        ("amx_cells_" + Twine(shape.width) + "of" + Twine(shape.gates) + "_" +
         Twine(shape.height) + "x" + Twine(shape.chains) + "." + level.name)
            .str();
    if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
      return function;
    LLVM::LLVMFuncOp function = startTileFunction(
        b, module, name, {pointer, i64, pointer, i64, pointer, i64, i64});
    auto argument = [&](int i) { return function.getArgument(i); };
    Value rows = argument(6);
    AmxUnit unit(b, level, /*isInt8=*/false, rows, number(AmxUnit::rows), rows);
    int64_t columns = shape.chains * shape.width;
    for (int64_t row = 0; row < shape.height; ++row)
      for (int64_t column = 0; column < columns; ++column)
        unit.zero(AmxUnit::sumAt(row, column));
    Value aStride = argument(1), below = mul(number(AmxUnit::rows), aStride);
    auto loop = scf::ForOp::create(b, number(0), argument(3), number(1),
                                   ValueRange{argument(0), argument(2)});
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value from = loop.getRegionIterArg(0), r = loop.getRegionIterArg(1);
      for (int64_t chain = 0; chain < shape.chains; ++chain) {
        Value a = byte(from, int32_t(chain * AmxUnit::rowBytes));
        Value rowsOfA[] = {a, byte(a, below)};
        unit.multiplyAll(ArrayRef(rowsOfA).take_front(shape.height), aStride,
                         byte(r, int32_t(chain * AmxUnit::rows * lineBytes())),
                         number(lineBytes()), shape.width,
                         /*first=*/chain * shape.width);
      }
      unit.keepAwake();
      scf::YieldOp::create(
          b, ValueRange{
                 byte(from, int32_t(shape.chains * AmxUnit::rowBytes)),
                 byte(r, int32_t(shape.chains * AmxUnit::rows * lineBytes()))});
    }
    for (int64_t row = 0; row < shape.height; ++row) {
      Value to =
          byte(argument(4), mul(number(row * AmxUnit::rows), argument(5)));
      for (int64_t column = 0; column < columns; ++column)
        unit.store(AmxUnit::sumAt(row, column),
                   byte(to, int32_t(column * AmxUnit::rowBytes)), argument(5));
    }
    LLVM::ReturnOp::create(b, ValueRange());
    return function;
  }

private:
  int64_t lineBytes() const { return shape.gates * AmxUnit::rowBytes; }

  const CpuLevel &level;
  const Shape shape;
};

} // namespace

int64_t CellTile::chains() const {
  int64_t steps = lines / AmxUnit::rows;
  int64_t most = kernel::RecurrentView::mostSums;
  for (int64_t chains : {4, 2})
    if (steps % chains == 0 && width * chains <= most &&
        width * chains * height() <= mostSums)
      return chains;
  return 1;
}

void callCellTile(Emitter &e, const CellTile &tile, Value states,
                  int64_t stride, Value recurrence, Value out, Value count) {
  int64_t chains = tile.chains();
  auto call = [&](int64_t height) {
    int64_t each = tile.width * height > mostSums ? 2 : tile.width;
    for (int64_t first = 0; first < tile.width; first += each) {
      Shape shape{tile.gates, std::min(each, tile.width - first), height,
                  chains};
      LLVM::LLVMFuncOp function = CellWriter(e.module, e.level, shape).write();
      auto at = [&](Value base) {
        return e.address(base, e.b.getI8Type(),
                         e.number(first * AmxUnit::rowBytes));
      };
      LLVM::CallOp::create(
          e.b, function,
          ValueRange{states, e.number(stride), at(recurrence),
                     e.number(tile.lines / AmxUnit::rows / chains), at(out),
                     e.number(tile.width * chains * AmxUnit::rowBytes),
                     e.number(std::min(tile.rows, AmxUnit::rows))});
    }
  };
  if (tile.height() == 1)
    return call(1);
  Value isHalf = e.less(count, e.number(AmxUnit::rows + 1));
  e.ifThen(isHalf, [&] { call(1); });
  e.ifThen(e.less(e.number(AmxUnit::rows), count), [&] { call(2); });
}

} // namespace tenon::cpu
