//===- MatmulTranspose.cpp - Transposing copies of matmul operands --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Eight rows by sixteen steps of k at a time, transposed in registers: pairs,
// then quads of rows within 128-bit lanes, then the lanes themselves.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/MatmulOperands.h"
#include "dialects/Kernel/Packing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

constexpr int64_t width = kernel::interleavedRows;
constexpr int64_t lanes = 16, lane = 4; // f32 in a vector, in 128 bits.

class Writer {
public:
  Writer(ModuleOp module)
      : b(UnknownLoc::get(module.getContext()), module.getContext()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())),
        f32(b.getF32Type()), vector(VectorType::get({lanes}, f32)) {
    b.setInsertionPointToEnd(module.getBody());
  }

  LLVM::LLVMFuncOp write(StringRef name) {
    Type i64 = b.getI64Type();
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(b.getContext()),
        {pointer, i64, pointer, i64, i64, i64, i64});
    auto function =
        LLVM::LLVMFuncOp::create(b, name, type, LLVM::Linkage::Internal);
    b.setInsertionPointToStart(function.addEntryBlock(b));
    a = function.getArgument(0);
    aStride = function.getArgument(1);
    out = function.getArgument(2);
    groupStride = function.getArgument(3);
    stepStride = function.getArgument(4);
    Value rows = function.getArgument(5), depth = function.getArgument(6);
    Value whole = floorTo(rows, width), steps = floorTo(depth, lanes);
    loop(number(0), whole, width, [&](Value row) {
      loop(number(0), steps, lanes, [&](Value k) { transpose(row, k); });
      loop(steps, depth, 1, [&](Value k) {
        loop(number(0), number(width), 1, [&](Value i) { copy(row, i, k); });
      });
    });
    loop(whole, rows, 1, [&](Value row) {
      loop(number(0), depth, 1, [&](Value k) {
        copy(whole, arith::SubIOp::create(b, row, whole), k);
      });
    });
    LLVM::ReturnOp::create(b, ValueRange());
    return function;
  }

private:
  Value number(int64_t value) {
    return arith::ConstantIntOp::create(b, value, 64);
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
  /// The largest multiple of a power of two that is no larger.
  Value floorTo(Value x, int64_t power) {
    return arith::AndIOp::create(b, x, number(-power));
  }
  Value element(Value base, Value offset) {
    return LLVM::GEPOp::create(b, pointer, f32, base,
                               ArrayRef<LLVM::GEPArg>{offset});
  }
  Value source(Value row, Value k) {
    return element(a, add(mul(row, aStride), k));
  }

  /// Where eight rows from `row` on have their step k.
  Value target(Value row, Value k) {
    Value group = arith::DivUIOp::create(b, row, number(width));
    return element(out, add(mul(group, groupStride), mul(k, stepStride)));
  }
  /// Row + i alone, where row is a multiple of eight.
  void copy(Value row, Value i, Value k) {
    Value value = LLVM::LoadOp::create(b, f32, source(add(row, i), k));
    LLVM::StoreOp::create(b, value, element(target(row, k), i));
  }

  void loop(Value from, Value to, int64_t step,
            function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(b, from, to, number(step));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  /// Element i of the result is element pick(i) of x and y end to end.
  Value shuffle(Value x, Value y, function_ref<int64_t(int64_t)> pick) {
    SmallVector<int32_t> mask;
    for (int64_t i = 0; i < lanes; ++i)
      mask.push_back(int32_t(pick(i)));
    return LLVM::ShuffleVectorOp::create(b, x, y, mask);
  }

  /// Of 4 rows: result j holds, in 128-bit lane l, the rows' step 4 * l + j.
  SmallVector<Value> transposeLanes(ArrayRef<Value> rows) {
    // Elements 2 * half and 2 * half + 1 of each lane, of two rows in turn.
    auto pairs = [&](Value x, Value y, int64_t half) {
      return shuffle(x, y, [&](int64_t i) {
        return i / lane * lane + 2 * half + i % lane / 2 + i % 2 * lanes;
      });
    };
    SmallVector<Value> result;
    for (int64_t half = 0; half < 2; ++half) {
      Value upper = pairs(rows[0], rows[1], half);
      Value lower = pairs(rows[2], rows[3], half);
      for (int64_t odd = 0; odd < 2; ++odd)
        result.push_back(shuffle(upper, lower, [&](int64_t i) {
          return i / lane * lane + 2 * odd + i % 2 + i % lane / 2 * lanes;
        }));
    }
    return result;
  }

  void transpose(Value row, Value k) {
    SmallVector<Value> rows;
    for (int64_t i = 0; i < width; ++i)
      rows.push_back(LLVM::LoadOp::create(
          b, vector, source(add(row, number(i)), k), /*alignment=*/4));
    SmallVector<Value> upper = transposeLanes(ArrayRef(rows).take_front(lane));
    SmallVector<Value> lower = transposeLanes(ArrayRef(rows).drop_front(lane));
    // A vector holds steps 2 * pair and 2 * pair + 1: from lane l
    // = pair / 2 of two neighbours j, each [upper rows][lower rows].
    for (int64_t half = 0; half < 2; ++half) {
      SmallVector<Value> steps;
      for (int64_t odd = 0; odd < 2; ++odd)
        for (int64_t l = 0; l < lane; l += 2)
          // [upper l][lower l][upper l + 1][lower l + 1]
          steps.push_back(shuffle(upper[2 * half + odd], lower[2 * half + odd],
                                  [&](int64_t i) {
                                    return (l + i / (2 * lane)) * lane +
                                           i % lane + i / lane % 2 * lanes;
                                  }));
      for (int64_t l = 0; l < lane; ++l) {
        Value joined = shuffle(steps[l / 2], steps[2 + l / 2], [&](int64_t i) {
          return l % 2 * (lanes / 2) + i % (2 * lane) + i / (2 * lane) * lanes;
        });
        for (int64_t odd = 0; odd < 2; ++odd) {
          SmallVector<int32_t> mask;
          for (int64_t i = 0; i < width; ++i)
            mask.push_back(int32_t(odd * width + i));
          Value step = LLVM::ShuffleVectorOp::create(b, joined, joined, mask);
          Value at = add(k, number(2 * (2 * l + half) + odd));
          LLVM::StoreOp::create(b, step, target(row, at), /*alignment=*/4);
        }
      }
    }
  }

  ImplicitLocOpBuilder b;
  Type pointer, f32;
  VectorType vector;
  Value a, aStride, out, groupStride, stepStride;
};

} // namespace

void callTranspose(OpBuilder &b, ModuleOp module, const CpuLevel &level,
                   const TransposedCopy &copy) {
  std::string name = ("matmul_transpose." + level.name).str();
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function)
    function = Writer(module).write(name);
  LLVM::CallOp::create(b, UnknownLoc::get(b.getContext()), function,
                       ValueRange{copy.a, copy.aStride, copy.out,
                                  copy.groupStride, copy.stepStride, copy.rows,
                                  copy.depth});
}

} // namespace tenon::cpu
