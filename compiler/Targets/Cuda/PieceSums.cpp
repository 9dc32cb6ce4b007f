//===- PieceSums.cpp - Sums of pieces of k meet in memory -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/PieceSums.h"
#include "compiler/Targets/Cuda/LastBlock.h"
#include "dialects/Kernel/DepthPieces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {

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

/// Loads of some pieces are on their way together.
Value PieceSums::total(Value part, Value i) {
  constexpr int64_t together = 8;
  Type f32 = e.b.getF32Type();
  Value last = e.sub(pieces, e.number(1));
  return e.loop(
      e.number(0), pieces, ValueRange{e.zero(f32)},
      [&](Value first, ValueRange before) {
        SmallVector<Value> sums, ordinals;
        for (int64_t j = 0; j < together; ++j) {
          ordinals.push_back(e.add(first, e.number(j)));
          sums.push_back(LLVM::LoadOp::create(
              e.b, f32, addressOf(part, e.min(ordinals[j], last), i)));
        }
        Value sum = before[0];
        for (int64_t j = 0; j < together; ++j) {
          Value more = arith::AddFOp::create(e.b, sum, sums[j]);
          sum = e.select(e.less(ordinals[j], pieces), more, sum);
        }
        return SmallVector<Value>{sum};
      },
      together)[0];
}

} // namespace tenon::cuda
