//===- BlockScan.cpp - Running sums along rows ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block walks along a row. Of some neighbours each thread has the sums up to
// each; threads tell each other what is before theirs.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Reduction.h"
#include "compiler/Targets/Cuda/MemoryTiles.h"
#include "compiler/Targets/Cuda/ThreadPrefix.h"
#include "dialects/Kernel/SerialTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

constexpr int64_t items = kernel::scanItems;

class BlockScan {
public:
  BlockScan(DeviceEmitter &e, graph::CumulativeOp op, Value row)
      : e(e), op(op), reduction(op.getKind(), op.getInput()),
        dims(e.dimsOf(op.getResult())), length(dims[op.getAxis()]), threads(e) {
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
    Value below = threads.before(
        sum, neutral, [&](Value x, Value y) { return join(x, y); }, all);
    Value earlier = join(before, below);
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

  DeviceEmitter &e;
  graph::CumulativeOp op;
  cpu::Reduction reduction;
  Indices dims;
  Value length;
  ThreadPrefix threads;
  Indices lead;
};

} // namespace

void emitBlockScan(DeviceEmitter &e, Value row) {
  auto op = cast<graph::CumulativeOp>(kernel::findRoot(e.kernel.getBlock()));
  BlockScan(e, op, row).emit();
}

} // namespace tenon::cuda
