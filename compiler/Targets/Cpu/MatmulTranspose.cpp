//===- MatmulTranspose.cpp - Transposing copies of matmul operands --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Eight rows by four steps of k at a time, transposed in registers: the loads
// put rows i and i + 4 side by side, then pairs and quads of rows are made
// within 128-bit lanes.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/MatmulOperands.h"
#include "compiler/Targets/Cpu/TileFunction.h"
#include "dialects/Kernel/Packing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

constexpr int64_t width = kernel::interleavedRows;
constexpr int64_t lane = 4;   // f32 in 128 bits.
constexpr int64_t lanes = 16; // In a line of the cache.
constexpr int64_t ahead = 4 * lanes;

class Writer : TileBuilder {
public:
  Writer(ModuleOp module) : TileBuilder(module), f32(b.getF32Type()) {}

  LLVM::LLVMFuncOp write(StringRef name) {
    Type i64 = b.getI64Type();
    LLVM::LLVMFuncOp function = startTileFunction(
        b, module, name, {pointer, i64, pointer, i64, i64, i64, i64});
    a = function.getArgument(0);
    aStride = function.getArgument(1);
    out = function.getArgument(2);
    groupStride = function.getArgument(3);
    stepStride = function.getArgument(4);
    Value rows = function.getArgument(5), depth = function.getArgument(6);
    Value whole = floorTo(rows, width), steps = floorTo(depth, lanes);
    loop(number(0), whole, width, [&](Value row) {
      loop(number(0), steps, lanes, [&](Value k) {
        fetchAhead(row, k, depth);
        for (int64_t i = 0; i < lanes; i += lane)
          transpose(row, add(k, number(i)));
      });
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
  /// The largest multiple of a power of two that is no larger.
  Value floorTo(Value x, int64_t power) {
    return arith::AndIOp::create(b, x, number(-power));
  }
  Value element(Value base, Value offset) { return address(base, f32, offset); }
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

  /// Fetches what transpose() reads `ahead` steps later: of these rows or, past
  /// their end, of the next. A row lies in pages of its own, so the hardware
  /// would start anew on each.
  void fetchAhead(Value row, Value k, Value depth) {
    Value later = add(k, number(ahead));
    Value isBehind =
        arith::CmpIOp::create(b, arith::CmpIPredicate::uge, later, depth);
    Value none = number(0);
    Value over = arith::SelectOp::create(b, isBehind, depth, none);
    Value skipped = arith::SelectOp::create(b, isBehind, number(width), none);
    Value from =
        source(add(row, skipped), arith::SubIOp::create(b, later, over));
    for (int64_t i = 0; i < width; ++i)
      // Read; expected to be needed again soon; data.
      LLVM::Prefetch::create(b, element(from, mul(aStride, number(i))), 0, 3,
                             1);
  }

  /// Element i of the result is element pick(i) of x and y end to end.
  Value shuffle(Value x, Value y, int64_t count,
                function_ref<int64_t(int64_t)> pick) {
    SmallVector<int32_t> mask;
    for (int64_t i = 0; i < count; ++i)
      mask.push_back(int32_t(pick(i)));
    return LLVM::ShuffleVectorOp::create(b, x, y, mask);
  }

  /// Four steps of eight rows, of which 128 bits of rows i and i + 4 are loaded
  /// as one vector: the second of them by the load itself.
  void transpose(Value row, Value k) {
    auto quad = VectorType::get({lane}, f32);
    auto load = [&](int64_t i) {
      return LLVM::LoadOp::create(b, quad, source(add(row, number(i)), k),
                                  /*alignment=*/4);
    };
    SmallVector<Value> rows;
    for (int64_t i = 0; i < lane; ++i)
      rows.push_back(shuffle(load(i), load(i + lane), width,
                             [](int64_t at) { return at; }));
    // Elements 2 * half and 2 * half + 1 of each lane, of two rows in turn.
    auto pairs = [&](Value x, Value y, int64_t half) {
      return shuffle(x, y, width, [&](int64_t i) {
        return i / lane * lane + 2 * half + i % lane / 2 + i % 2 * width;
      });
    };
    for (int64_t half = 0; half < 2; ++half) {
      Value upper = pairs(rows[0], rows[1], half);
      Value lower = pairs(rows[2], rows[3], half);
      for (int64_t odd = 0; odd < 2; ++odd) {
        Value step = shuffle(upper, lower, width, [&](int64_t i) {
          return i / lane * lane + 2 * odd + i % 2 + i % lane / 2 * width;
        });
        LLVM::StoreOp::create(b, step,
                              target(row, add(k, number(2 * half + odd))),
                              /*alignment=*/4);
      }
    }
  }

  Type f32;
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
