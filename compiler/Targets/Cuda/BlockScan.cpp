//===- BlockScan.cpp - Running sums along rows ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block walks along a row. Of some neighbours each thread has the sums up to
// each; threads of a warp exchange what is before theirs, in ever larger steps,
// and so do warps through shared memory.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Reduction.h"
#include "compiler/Targets/Cuda/MemoryTiles.h"
#include "dialects/Kernel/SerialTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

constexpr int64_t warp = 32, slotBytes = 8;
constexpr int64_t items = kernel::scanItems;

class BlockScan {
public:
  BlockScan(DeviceEmitter &e, graph::CumulativeOp op, Value row)
      : e(e), op(op), reduction(op.getKind(), op.getInput()),
        dims(e.dimsOf(op.getResult())), length(dims[op.getAxis()]),
        lane(e.rem(e.threadNumber(), e.number(warp))),
        warpNumber(e.div(e.threadNumber(), e.number(warp))) {
    Indices others = dims;
    others[op.getAxis()] = e.number(1);
    lead = e.delinearise(row, others);
  }

  void emit() {
    Value neutral = reduction.start(e);
    e.loop(
        e.number(0), length, neutral,
        [&](Value chunk, ValueRange carried) {
          return SmallVector<Value>{emitChunk(chunk, carried[0])};
        },
        e.threads * items);
  }

private:
  Value join(Value x, Value y) { return reduction.joinSums(e, x, y); }

  Indices indexAt(Value place) {
    Indices index = lead;
    Value last = e.sub(length, e.number(1));
    index[op.getAxis()] = op.getReverse() ? e.sub(last, place) : place;
    return index;
  }

  /// What comes before the next chunk.
  Value emitChunk(Value chunk, Value before) {
    Value first = e.add(chunk, e.mul(e.threadNumber(), e.number(items)));
    Value neutral = reduction.start(e);
    SmallVector<Value> sums; // Up to each of this thread's, without it.
    Value sum = neutral;
    for (int64_t i = 0; i < items; ++i) {
      sums.push_back(sum);
      sum = join(sum, termAt(e.add(first, e.number(i))));
    }
    Value all;
    Value earlier = join(before, beforeThread(sum, all));
    sums.push_back(sum);
    for (int64_t i = 0; i < items; ++i)
      store(e.add(first, e.number(i)),
            join(earlier, sums[op.getExclusive() ? i : i + 1]));
    return join(before, all);
  }

  /// An element as it is carried; of one that is not there what changes
  /// nothing.
  Value termAt(Value place) {
    Value neutral = reduction.start(e);
    Value isThere = e.less(place, length);
    Value from = e.min(place, e.sub(length, e.number(1)));
    Value term =
        reduction.join(e, neutral, e.element(op.getInput(), indexAt(from)));
    return e.select(isThere, term, neutral);
  }

  void store(Value place, Value sum) {
    e.ifThen(e.less(place, length), [&] {
      Indices index = indexAt(place);
      e.bind(op.getResult(), index, reduction.finish(e, sum, e.number(1), op));
      e.storeYields(index, e.linearise(index, dims));
    });
  }

  /// Sums of the lanes up to each, itself included.
  Value upTo(Value mine, int64_t lanes, Value place) {
    for (int64_t distance = 1; distance < lanes; distance *= 2) {
      Value below = e.fromBelow(mine, distance);
      mine =
          e.select(e.less(place, e.number(distance)), mine, join(below, mine));
    }
    return mine;
  }
  /// The same without itself.
  Value shifted(Value sums, Value place) {
    Value neutral = reduction.start(e);
    return e.select(e.equal(place, e.number(0)), neutral, e.fromBelow(sums, 1));
  }

  /// What all threads before this one have; and what all have.
  Value beforeThread(Value mine, Value &all) {
    Value inWarp = upTo(mine, warp, lane);
    Value before = shifted(inWarp, lane);
    int64_t warps = e.threads / warp;
    auto slot = [&](Value of) {
      return e.address(e.sharedMemory(), e.b.getI8Type(),
                       e.mul(of, e.number(slotBytes)));
    };
    e.barrier(); // Nobody reads the last chunk's any more.
    e.ifThen(e.equal(lane, e.number(warp - 1)), [&] {
      LLVM::StoreOp::create(e.b, inWarp, slot(warpNumber), slotBytes);
    });
    e.barrier();
    // There are few warps: each thread adds up what they have.
    Value beforeWarp = reduction.start(e);
    all = beforeWarp;
    for (int64_t i = 0; i < warps; ++i) {
      Value other = LLVM::LoadOp::create(e.b, mine.getType(), slot(e.number(i)),
                                         slotBytes);
      beforeWarp = e.select(e.equal(warpNumber, e.number(i)), all, beforeWarp);
      all = join(all, other);
    }
    return join(beforeWarp, before);
  }

  DeviceEmitter &e;
  graph::CumulativeOp op;
  cpu::Reduction reduction;
  Indices dims;
  Value length, lane, warpNumber;
  Indices lead;
};

} // namespace

void emitBlockScan(DeviceEmitter &e, Value row) {
  auto op = cast<graph::CumulativeOp>(kernel::findRoot(e.kernel.getBlock()));
  BlockScan(e, op, row).emit();
}

} // namespace tenon::cuda
