//===- AmxLines.cpp - Tiles whose rows are pixels of lines ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tile of AmxStrip.cpp, whose sums stay in registers over all runs of a
// window. It fetches nothing ahead unless a filter is large: what is in the
// second level of the cache anyway, as panels of the others are from one block
// of lines to the next, costs a tenth to a third of the loop to be fetched.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/AmxLines.h"
#include "compiler/Targets/Cpu/TileFunction.h"
#include "dialects/Kernel/Packing.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

constexpr int64_t lineBytes = kernel::panelColumns * 4;

/// for (i = 0; i < count; ++i), carrying addresses.
void carry(ImplicitLocOpBuilder &b, Value count, SmallVector<Value> &values,
           function_ref<void(Value i, SmallVector<Value> &values)> body) {
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, value, 64);
  };
  auto loop = scf::ForOp::create(b, number(0), count, number(1), values);
  values = llvm::to_vector_of<Value>(loop.getRegionIterArgs());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar(), values);
  scf::YieldOp::create(b, values);
  values = llvm::to_vector_of<Value>(loop.getResults());
}

} // namespace

LLVM::LLVMFuncOp amxLinesFunction(ModuleOp module, const CpuLevel &level,
                                  const AmxLines &lines) {
  int64_t width = llvm::divideCeil(lines.columns, AmxUnit::rows);
  std::string name = ((lines.fetches ? "amx_fetching_lines_" : "amx_lines_") +
                      Twine(lines.step) + "x" + Twine(width) +
                      (lines.isInt8 ? "_quads." : "_pairs.") + level.name)
                         .str();
  if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return function;
  ImplicitLocOpBuilder b(UnknownLoc::get(module.getContext()),
                         module.getContext());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  Type i64 = b.getI64Type();
  SmallVector<Type> types = {pointer, pointer, i64,     pointer, i64,
                             i64,     pointer, pointer, i64,     i64};
  if (lines.fetches)
    types.append({pointer, i64});
  LLVM::LLVMFuncOp function = startTileFunction(b, module, name, types);
  auto argument = [&](int i) { return function.getArgument(i); };
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, value, 64);
  };
  auto byte = [&](Value base, LLVM::GEPArg offset) -> Value {
    return LLVM::GEPOp::create(b, pointer, b.getI8Type(), base,
                               ArrayRef<LLVM::GEPArg>{offset});
  };
  Value rows = argument(9), stride = number(lineBytes);
  AmxUnit unit(b, level, lines.isInt8, rows, number(lines.step), rows);
  auto forEachSum = [&](function_ref<void(int64_t row, int64_t column)> body) {
    for (int64_t row = 0; row < AmxUnit::mostHeight; ++row)
      for (int64_t column = 0; column < width; ++column)
        body(row, column);
  };
  forEachSum([&](int64_t row, int64_t column) {
    unit.zero(AmxUnit::sumAt(row, column));
  });
  SmallVector<Value> panels = {argument(6)};
  if (lines.fetches)
    panels.push_back(argument(10));
  carry(b, argument(4), panels, [&](Value run, SmallVector<Value> &panels) {
    Value at = LLVM::GEPOp::create(b, pointer, i64, argument(3),
                                   ArrayRef<LLVM::GEPArg>{run});
    Value start = LLVM::LoadOp::create(b, i64, at);
    SmallVector<Value> all = {byte(argument(0), start),
                              byte(argument(1), start)};
    llvm::append_range(all, panels);
    carry(b, argument(5), all, [&](Value, SmallVector<Value> &all) {
      unit.multiplyAll(ArrayRef(all).take_front(2), argument(2), all[2], stride,
                       width);
      unit.keepAwake();
      for (Value &a : MutableArrayRef(all).take_front(2))
        a = byte(a, int32_t(4 * lines.step));
      all[2] = byte(all[2], int32_t(lines.step * lineBytes));
      if (!lines.fetches)
        return;
      for (int64_t i = 0; i < amxFetchedLines; ++i)
        // Read; to the second level; data.
        LLVM::Prefetch::create(b, byte(all[3], int32_t(i * 64)), 0, 2, 1);
      all[3] = byte(all[3], argument(11));
    });
    llvm::copy(ArrayRef(all).drop_front(2), panels.begin());
  });
  Value lower = byte(argument(7),
                     arith::MulIOp::create(b, rows, argument(8)).getResult());
  forEachSum([&](int64_t row, int64_t column) {
    Value out = byte(row == 0 ? argument(7) : lower,
                     int32_t(column * AmxUnit::rowBytes));
    unit.store(AmxUnit::sumAt(row, column), out, argument(8));
  });
  LLVM::ReturnOp::create(b, ValueRange());
  return function;
}

} // namespace tenon::cpu
