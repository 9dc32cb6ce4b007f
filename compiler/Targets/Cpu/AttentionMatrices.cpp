//===- AttentionMatrices.cpp - The products of attention by AMX -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Six registers are the sums of 32 rows by 48 queries. Of A and B there is one
// each.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/AttentionMatrices.h"
#include "compiler/Targets/Cpu/TileFunction.h"
#include "dialects/Kernel/AttentionView.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

constexpr int64_t rowBytes = AmxUnit::rowBytes;
constexpr int64_t lineBytes = kernel::queryBlock * 4;
constexpr int64_t mostWidth = AmxUnit::mostWidth;
constexpr int64_t mostHeight = AmxUnit::mostHeight;
static_assert(mostWidth * matrixRows == kernel::queryBlock);

class MatrixWriter : TileBuilder {
public:
  MatrixWriter(ModuleOp module, const CpuLevel &level, AttentionProduct product,
               StringRef name)
      : TileBuilder(module), level(level), name(name),
        isScores(product == AttentionProduct::Scores) {}

  LLVM::LLVMFuncOp write() {
    for (int64_t height = 1; height <= mostHeight; ++height)
      for (int64_t width = 1; width <= mostWidth; ++width)
        tiles[height - 1][width - 1] = writeTile(height, width);
    LLVM::LLVMFuncOp function = startTileFunction(
        b, module, name, {pointer, i64, pointer, i64, pointer, i64, i64});
    SmallVector<int64_t> cases;
    for (int64_t width = 1; width < mostWidth; ++width)
      cases.push_back(width * matrixRows);
    Value columns = arith::IndexCastOp::create(b, b.getIndexType(),
                                               function.getArgument(6));
    auto choice = scf::IndexSwitchOp::create(b, TypeRange(), columns, cases,
                                             cases.size());
    for (int64_t width = 1; width <= mostWidth; ++width) {
      OpBuilder::InsertionGuard guard(b);
      Region &region = width < mostWidth ? choice.getCaseRegions()[width - 1]
                                         : choice.getDefaultRegion();
      b.setInsertionPointToStart(&region.emplaceBlock());
      writeRows(function, width);
      scf::YieldOp::create(b);
    }
    LLVM::ReturnOp::create(b, ValueRange());
    return function;
  }

private:
  /// tile(a, aLower, b, steps, c)
  LLVM::LLVMFuncOp writeTile(int64_t height, int64_t width) {
    LLVM::LLVMFuncOp tile = startTileFunction(
        b, module, (name + "_" + Twine(height) + "x" + Twine(width)).str(),
        {pointer, pointer, pointer, i64, pointer});
    AmxUnit unit(b, level, /*isInt8=*/false, number(matrixRows),
                 number(matrixRows));
    Value line = number(lineBytes), row = number(rowBytes);
    auto forEachSum = [&](function_ref<void(int64_t sum, Value at)> body) {
      for (int64_t i = 0; i < height; ++i)
        for (int64_t v = 0; v < width; ++v)
          body(AmxUnit::sumAt(i, v),
               byte(tile.getArgument(4),
                    int32_t(i * matrixRows * lineBytes + v * rowBytes)));
    };
    forEachSum([&](int64_t sum, Value at) {
      if (isScores)
        unit.zero(sum);
      else
        unit.load(sum, at, line);
    });
    auto loop =
        scf::ForOp::create(b, number(0), tile.getArgument(3), number(1),
                           ValueRange{tile.getArgument(0), tile.getArgument(1),
                                      tile.getArgument(2)});
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      auto in = loop.getRegionIterArgs();
      unit.multiplyAll(in.take_front(height), row, in[2], line, width);
      scf::YieldOp::create(
          b, ValueRange{byte(in[0], int32_t(matrixBytes)),
                        byte(in[1], int32_t(matrixBytes)),
                        byte(in[2], int32_t(matrixSteps / 2 * lineBytes))});
    }
    forEachSum([&](int64_t sum, Value at) { unit.store(sum, at, line); });
    LLVM::ReturnOp::create(b, ValueRange());
    return tile;
  }

  /// All rows of some columns, two tiles at a time; of an odd number, the last
  /// one alone.
  void writeRows(LLVM::LLVMFuncOp function, int64_t width) {
    Value aStep = mul(function.getArgument(1), number(matrixBytes));
    auto call = [&](int64_t height, Value at) {
      Value a = byte(function.getArgument(0), mul(at, aStep));
      Value c = byte(function.getArgument(4),
                     mul(at, number(matrixRows * lineBytes)));
      LLVM::CallOp::create(b, tiles[height - 1][width - 1],
                           ValueRange{a, byte(a, aStep),
                                      function.getArgument(2),
                                      function.getArgument(3), c});
    };
    Value count = function.getArgument(5), one = number(1);
    Value last = arith::SubIOp::create(b, count, one);
    auto loop = scf::ForOp::create(b, number(0), last, number(mostHeight));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    call(mostHeight, loop.getInductionVar());
    b.setInsertionPointAfter(loop);
    Value isOdd =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                              arith::AndIOp::create(b, count, one), number(0));
    auto choice = scf::IfOp::create(b, isOdd, /*withElseRegion=*/false);
    b.setInsertionPointToStart(choice.thenBlock());
    call(1, last);
  }

  const CpuLevel &level;
  StringRef name;
  bool isScores;
  LLVM::LLVMFuncOp tiles[mostHeight][mostWidth];
};

} // namespace

void callAttentionMatrices(OpBuilder &b, ModuleOp module, const CpuLevel &level,
                           AttentionProduct product,
                           const AttentionMatrixWork &work) {
  std::string name = product == AttentionProduct::Scores
                         ? "attention_amx_scores."
                         : "attention_amx_values.";
  name += level.name;
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function)
    function = MatrixWriter(module, level, product, name).write();
  LLVM::CallOp::create(b, UnknownLoc::get(b.getContext()), function,
                       ValueRange{work.a, work.aStep, work.b, work.steps,
                                  work.c, work.tiles, work.columns});
}

} // namespace tenon::cpu
