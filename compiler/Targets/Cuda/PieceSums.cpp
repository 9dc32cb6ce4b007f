//===- PieceSums.cpp - Sums of pieces of k meet in memory -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/PieceSums.h"
#include "compiler/Targets/Cuda/LastBlock.h"
#include "dialects/Kernel/DepthPieces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {

SmallVector<Value> overPieces(
    DeviceEmitter &e, Value pieces, int64_t together, ValueRange initial,
    function_ref<SmallVector<Value>(
        ArrayRef<Value> pieces, ArrayRef<Value> areThere, ValueRange before)>
        body) {
  Value last = e.sub(pieces, e.number(1));
  return e.loop(
      e.number(0), pieces, initial,
      [&](Value first, ValueRange before) {
        if (together == 1) // Which is there.
          return body(first, e.equal(first, first), before);
        SmallVector<Value> ordinals, areThere;
        for (int64_t i = 0; i < together; ++i) {
          Value ordinal = e.add(first, e.number(i));
          areThere.push_back(e.less(ordinal, pieces));
          ordinals.push_back(e.min(ordinal, last));
        }
        return body(ordinals, areThere, before);
      },
      together);
}

Value PieceSums::addressOf(Value part, Value piece, Value i) {
  Value block = e.add(e.mul(part, pieces), piece);
  Value sums =
      e.address(e.shared(), e.b.getI8Type(), e.number(kernel::counterBytes));
  return e.address(sums, e.b.getF32Type(),
                   e.add(e.mul(block, e.number(elements)), i));
}

Value PieceSums::isLast(Value part, Value thread) {
  Value counter = e.address(e.shared(), e.b.getI32Type(), part);
  return isLastBlock(e, counter, pieces, thread, flag);
}

Value PieceSums::total(Value part, Value i) {
  Type f32 = e.b.getF32Type();
  auto add = [&](ArrayRef<Value> ordinals, ArrayRef<Value> areThere,
                 ValueRange before) -> SmallVector<Value> {
    SmallVector<Value> sums;
    for (Value ordinal : ordinals)
      sums.push_back(
          LLVM::LoadOp::create(e.b, f32, addressOf(part, ordinal, i)));
    Value sum = before[0];
    for (auto [each, isThere] : llvm::zip(sums, areThere))
      sum = e.select(isThere, arith::AddFOp::create(e.b, sum, each), sum);
    return {sum};
  };
  return overPieces(e, pieces, /*together=*/8, e.zero(f32), add)[0];
}

} // namespace tenon::cuda
