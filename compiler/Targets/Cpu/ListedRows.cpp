//===- ListedRows.cpp - Products of some rows only ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/ListedRows.h"
#include "dialects/Kernel/Packing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {

using kernel::blockRows;
using kernel::groupBlocks;

ListedRows::ListedRows(Emitter &e, kernel::SkippedRows skipped)
    : e(e), skipped(skipped), rowsOnStack(e.atEntry([&]() -> Value {
        // One more: what is not listed is written behind the last one.
        return LLVM::AllocaOp::create(
            e.b, LLVM::LLVMPointerType::get(e.b.getContext()), e.b.getI64Type(),
            e.number(groupBlocks * blockRows + 1), 64);
      })) {}

Value ListedRows::isSkipped(Value row) {
  Value isTrue = e.element(skipped.condition, {batch, row, e.number(0)});
  if (skipped.whenTrue)
    return isTrue;
  Value one = arith::ConstantIntOp::create(e.b, 1, 1);
  return arith::XOrIOp::create(e.b, isTrue, one);
}

void ListedRows::list(Value batch, Value first, Value rows) {
  this->batch = batch;
  Value count = e.number(0);
  starts = {count};
  for (int64_t block = 0; block < groupBlocks; ++block) {
    auto firstOf = [&](int64_t i) {
      return e.min(e.add(first, e.number(i * blockRows)), rows);
    };
    count = e.loop(firstOf(block), firstOf(block + 1), {count},
                   [&](Value row, ValueRange carried) {
                     e.storeRaw(row, rowsOnStack, carried[0]);
                     Value step =
                         e.select(isSkipped(row), e.number(0), e.number(1));
                     return SmallVector<Value>{e.add(carried[0], step)};
                   })[0];
    starts.push_back(count);
  }
}

Value ListedRows::before(Value block) {
  Value result = starts.back();
  for (int64_t i = groupBlocks; i-- > 0;)
    result = e.select(e.equal(block, e.number(i)), starts[i], result);
  return result;
}

Value ListedRows::rowAt(Value position) {
  return e.loadRaw(rowsOnStack, e.b.getI64Type(), position);
}

void ListedRows::copy(const Matrix &lhs, Value k, Value depth, Value out,
                      Value stride) {
  Type f32 = e.b.getF32Type();
  Type element = lhs.isHalf ? Type(e.b.getBF16Type()) : f32;
  e.loop(e.number(0), starts.back(), [&](Value i) {
    Value from = lhs.at(e, rowAt(i), k);
    Value to = e.address(out, f32, e.mul(i, stride));
    e.loop(e.number(0), depth, [&](Value j) {
      e.storeRaw(e.load(from, element, e.mul(j, lhs.columnStride)), to, j);
    });
  });
}

void ListedRows::forEachSkipped(Value from, Value to,
                                function_ref<void(Value)> body) {
  e.loop(from, to,
         [&](Value row) { e.ifThen(isSkipped(row), [&] { body(row); }); });
}

} // namespace tenon::cpu
