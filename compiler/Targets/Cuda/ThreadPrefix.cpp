//===- ThreadPrefix.cpp - What the threads before one have ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/ThreadPrefix.h"

using namespace mlir;

namespace tenon::cuda {

constexpr int64_t warp = 32, slotBytes = 8;

ThreadPrefix::ThreadPrefix(DeviceEmitter &e)
    : e(e), lane(e.rem(e.threadNumber(), e.number(warp))),
      warpNumber(e.div(e.threadNumber(), e.number(warp))) {}

/// Of the lanes up to each, itself included.
Value ThreadPrefix::upTo(Value mine, Join join) {
  for (int64_t distance = 1; distance < warp; distance *= 2) {
    Value below = e.fromBelow(mine, distance);
    mine = e.select(e.less(lane, e.number(distance)), mine, join(below, mine));
  }
  return mine;
}

Value ThreadPrefix::before(Value mine, Value neutral, Join join, Value &all) {
  Value inWarp = upTo(mine, join);
  Value before =
      e.select(e.equal(lane, e.number(0)), neutral, e.fromBelow(inWarp, 1));
  int64_t warps = e.threads / warp;
  auto slot = [&](Value of) {
    return e.address(e.sharedMemory(), e.b.getI8Type(),
                     e.mul(of, e.number(slotBytes)));
  };
  e.barrier(); // Nobody reads what was there any more.
  e.ifThen(e.equal(lane, e.number(warp - 1)), [&] {
    LLVM::StoreOp::create(e.b, inWarp, slot(warpNumber), slotBytes);
  });
  e.barrier();
  // There are few warps: each thread joins what they have.
  Value beforeWarp = neutral;
  all = neutral;
  for (int64_t i = 0; i < warps; ++i) {
    Value other =
        LLVM::LoadOp::create(e.b, mine.getType(), slot(e.number(i)), slotBytes);
    beforeWarp = e.select(e.equal(warpNumber, e.number(i)), all, beforeWarp);
    all = join(all, other);
  }
  return join(beforeWarp, before);
}

} // namespace tenon::cuda
