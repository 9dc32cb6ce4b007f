//===- StreamedRows.cpp - A few rows by a matrix as it lies ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The matrix is read once, some of its rows at a time from end to end, so that
// what comes next is where the processor expects it. Sums are in the nearest
// cache meanwhile: a vector of them is loaded and stored once for those rows.
// More of them would meet in the same sets of that cache where rows lie a
// multiple of 4 KiB apart.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/StreamedRows.h"
#include "compiler/Targets/Cpu/RowVectors.h"
#include "compiler/Targets/Cpu/TileFunction.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

class StreamedRowsWriter : TileBuilder {
public:
  StreamedRowsWriter(ModuleOp module, const CpuLevel &level, int64_t rows)
      : TileBuilder(module), rows(rows), isWide(level.vectorBits >= 512),
        vector(VectorType::get({isWide ? 16 : 8}, b.getF32Type())) {}

  /// streamed(a, aStride, b, bStride, depth, columns, sums, sumsStride)
  LLVM::LLVMFuncOp write(StringRef name) {
    function = startTileFunction(
        b, module, name, {pointer, i64, pointer, i64, i64, i64, pointer, i64});
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(vector));
    forEach(number(0), columns(), lanes(), [&](Value n) {
      for (int64_t row = 0; row < rows; ++row)
        LLVM::StoreOp::create(b, zero, sumAt(row, n), /*alignment=*/4);
    });
    Value depth = function.getArgument(4), some = number(stepsAtOnce());
    Value whole = mul(div(depth, some), some);
    forEach(number(0), whole, stepsAtOnce(),
            [&](Value k) { addSteps(k, stepsAtOnce()); });
    forEach(whole, depth, 1, [&](Value k) { addSteps(k, 1); });
    LLVM::ReturnOp::create(b, ValueRange());
    return function;
  }

private:
  int64_t lanes() const { return vector.getNumElements(); }
  Value columns() { return function.getArgument(5); }
  /// Rows of B whose factors are in registers, for all rows of A.
  int64_t stepsAtOnce() const { return isWide || rows <= 2 ? 4 : 2; }

  void forEach(Value from, Value to, int64_t step,
               function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(b, from, to, number(step));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  Value element(Value base, Value offset) {
    return address(base, b.getF32Type(), offset);
  }
  Value sumAt(int64_t row, Value n) {
    Value line = mul(number(row), function.getArgument(7));
    return element(function.getArgument(6), add(line, n));
  }

  /// Adds what steps of k from one on contribute to all sums.
  void addSteps(Value k, int64_t count) {
    auto argument = [&](int i) { return function.getArgument(i); };
    SmallVector<Value> factors, lines;
    for (int64_t i = 0; i < count; ++i) {
      Value step = add(k, number(i));
      lines.push_back(element(argument(2), mul(step, argument(3))));
      for (int64_t row = 0; row < rows; ++row) {
        Value at = add(mul(number(row), argument(1)), step);
        Value factor = LLVM::LoadOp::create(
            b, b.getF32Type(), element(argument(0), at), /*alignment=*/4);
        factors.push_back(vector::BroadcastOp::create(b, vector, factor));
      }
    }
    Value n = number(0);
    for (int64_t vectors : {rows == 1 ? 4 : 2, 1}) {
      Value step = number(vectors * lanes());
      Value end = add(n, mul(div(sub(columns(), n), step), step));
      forEach(n, end, vectors * lanes(), [&](Value at) {
        for (int64_t v = 0; v < vectors; ++v)
          addVector(factors, lines, add(at, number(v * lanes())), {});
      });
      n = end;
    }
    Value left = sub(columns(), n);
    auto isAny =
        scf::IfOp::create(b, arith::CmpIOp::create(b, arith::CmpIPredicate::sgt,
                                                   left, number(0)));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(isAny.thenBlock());
    addVector(factors, lines, n, lanesBelow(b, lanes(), left));
  }

  Value load(Value at, Value mask) {
    if (!mask)
      return LLVM::LoadOp::create(b, vector, at, /*alignment=*/4);
    Value none = arith::ConstantOp::create(b, b.getZeroAttr(vector));
    return LLVM::MaskedLoadOp::create(b, vector, at, mask, none, 4);
  }

  /// The same for a vector of columns.
  void addVector(ArrayRef<Value> factors, ArrayRef<Value> lines, Value n,
                 Value mask) {
    SmallVector<Value> sums;
    for (int64_t row = 0; row < rows; ++row)
      sums.push_back(load(sumAt(row, n), {}));
    for (auto [i, line] : llvm::enumerate(lines)) {
      Value own = load(element(line, n), mask);
      for (int64_t row = 0; row < rows; ++row)
        sums[row] =
            LLVM::FMAOp::create(b, factors[i * rows + row], own, sums[row]);
    }
    for (int64_t row = 0; row < rows; ++row)
      LLVM::StoreOp::create(b, sums[row], sumAt(row, n), /*alignment=*/4);
  }

  int64_t rows;
  bool isWide;
  VectorType vector;
  LLVM::LLVMFuncOp function;
};

LLVM::LLVMFuncOp streamedFunction(ModuleOp module, const CpuLevel &level,
                                  int64_t rows) {
  std::string name =
      ("matmul_streamed_" + Twine(rows) + "." + level.name).str();
  if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return function;
  return StreamedRowsWriter(module, level, rows).write(name);
}

} // namespace

void callStreamedRows(Emitter &e, int64_t rows, const StreamedRows &operands) {
  LLVM::CallOp::create(e.b, streamedFunction(e.module, e.level, rows),
                       ValueRange{operands.a, operands.aStride, operands.b,
                                  operands.bStride, operands.depth,
                                  operands.columns, operands.sums,
                                  operands.sumsStride});
}

} // namespace tenon::cpu
