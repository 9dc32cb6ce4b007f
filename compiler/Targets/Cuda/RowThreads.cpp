//===- RowThreads.cpp - Threads of a block that share a row ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/RowThreads.h"

using namespace mlir;

namespace tenon::cuda {

constexpr int64_t warp = 32, slotBytes = 8;

Value RowThreads::number() const {
  return count == e.threads ? e.threadNumber()
                            : e.rem(e.threadNumber(), e.number(count));
}

RowThreads::Values RowThreads::butterfly(Values mine, int64_t among,
                                         Join join) {
  for (int64_t distance = among / 2; distance > 0; distance /= 2) {
    Values other;
    for (Value value : mine)
      other.push_back(e.exchange(value, distance));
    mine = join(mine, other);
  }
  return mine;
}

RowThreads::Values RowThreads::join(Values mine, Join join) {
  mine = butterfly(std::move(mine), std::min(count, warp), join);
  if (count <= warp)
    return mine;
  // Each time in slots of its own: one barrier is enough.
  int64_t warps = count / warp;
  Value lane = e.rem(e.threadNumber(), e.number(warp));
  auto slot = [&](size_t value, Value of) {
    Value offset = e.add(e.mul(of, e.number(slotBytes)),
                         e.number((slots + value) * warps * slotBytes));
    return e.address(e.sharedMemory(), e.b.getI8Type(), offset);
  };
  e.ifThen(e.equal(lane, e.number(0)), [&] {
    Value own = e.div(e.threadNumber(), e.number(warp));
    for (auto [i, value] : llvm::enumerate(mine))
      LLVM::StoreOp::create(e.b, value, slot(i, own), slotBytes);
  });
  e.barrier();
  Value from = e.rem(lane, e.number(warps));
  for (auto [i, value] : llvm::enumerate(mine))
    value =
        LLVM::LoadOp::create(e.b, value.getType(), slot(i, from), slotBytes);
  slots += mine.size();
  ++joins;
  return butterfly(std::move(mine), warps, join);
}

Value RowThreads::join(Value mine, function_ref<Value(Value, Value)> joinTwo) {
  return join(Values{mine}, [&](ValueRange x, ValueRange y) {
    return Values{joinTwo(x[0], y[0])};
  })[0];
}

void RowThreads::finish() {
  // With two joins, the second one's barrier is behind all reads of the first.
  if (joins == 1)
    e.barrier();
}

} // namespace tenon::cuda
