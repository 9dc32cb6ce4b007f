//===- BlockNonzero.cpp - Where elements are not 0 ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block walks along all elements, of which each thread has some neighbours.
// How many of them were found before tells it where its own ones go.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Reduction.h"
#include "compiler/Targets/Cuda/MemoryTiles.h"
#include "compiler/Targets/Cuda/ThreadPrefix.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

constexpr int64_t items = 4;

class BlockNonzero {
public:
  BlockNonzero(DeviceEmitter &e, graph::NonzeroOp op)
      : e(e), op(op), base(e.resultBuffer(0)), dims(e.dimsOf(op.getInput())),
        room(e.dimsOf(op.getResult()).back()), count(e.number(1)), threads(e) {
    for (Value dim : dims)
      count = e.mul(count, dim);
  }

  void emit() {
    Value found = e.loop(
        e.number(0), count, ValueRange{e.number(0)},
        [&](Value chunk, ValueRange carried) {
          return SmallVector<Value>{emitChunk(chunk, carried[0])};
        },
        e.threads * items)[0];
    e.fault(e.either(e.less(found, room), e.less(room, found)),
            TENON_FAULT_COUNT, op);
  }

private:
  /// How many were found up to the chunk's end.
  Value emitChunk(Value chunk, Value found) {
    Value first = e.add(chunk, e.mul(e.threadNumber(), e.number(items)));
    SmallVector<Value> holds;
    Value mine = e.number(0), one = e.number(1), none = e.number(0);
    for (int64_t i = 0; i < items; ++i) {
      holds.push_back(holdsAt(e.add(first, e.number(i))));
      mine = e.add(mine, e.select(holds.back(), one, none));
    }
    Value all;
    Value below = threads.before(
        mine, none, [&](Value x, Value y) { return e.add(x, y); }, all);
    Value to = e.add(found, below);
    for (int64_t i = 0; i < items; ++i) {
      e.ifThen(e.both(holds[i], e.less(to, room)),
               [&] { store(e.add(first, e.number(i)), to); });
      to = e.add(to, e.select(holds[i], one, none));
    }
    return e.add(found, all);
  }

  Value holdsAt(Value place) {
    Value from = e.min(place, e.sub(count, e.number(1)));
    Type element = graph::getElementType(op.getInput());
    Value holds =
        cpu::emitCast(e.b, e.element(op.getInput(), e.delinearise(from, dims)),
                      element, e.b.getI1Type());
    return e.both(e.less(place, count), holds);
  }

  void store(Value place, Value to) {
    Type type = graph::getElementType(op.getResult());
    for (auto [axis, i] : llvm::enumerate(e.delinearise(place, dims)))
      e.store(cpu::emitCast(e.b, i, e.b.getI64Type(), type), base, type,
              e.add(e.mul(e.number(axis), room), to));
  }

  DeviceEmitter &e;
  graph::NonzeroOp op;
  Value base;
  Indices dims;
  Value room, count;
  ThreadPrefix threads;
};

} // namespace

void emitBlockNonzero(DeviceEmitter &e) {
  auto op = cast<graph::NonzeroOp>(kernel::findRoot(e.kernel.getBlock()));
  BlockNonzero(e, op).emit();
}

} // namespace tenon::cuda
