//===- BlockRecurrent.cpp - RNN, GRU and LSTM by blocks -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block has a sequence of one direction, whose state is in shared memory. A
// warp sums a unit of a gate at a time, so that weights are read by neighbours;
// each thread then has some hidden units.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Recurrence.h"
#include "compiler/Targets/Cpu/Reduction.h"
#include "compiler/Targets/Cpu/WholeRoots.h"
#include "compiler/Targets/Cuda/MemoryTiles.h"
#include "dialects/Kernel/SerialTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

constexpr int64_t warp = 32;

class BlockRecurrence : public cpu::Recurrence {
public:
  BlockRecurrence(DeviceEmitter &e, graph::RecurrentOp op,
                  ArrayRef<Value> bases, State state)
      : Recurrence(e, op, bases, state), device(e),
        zero(e.zero(cpu::computeType(graph::getElementType(op.getInput())))),
        lane(e.rem(e.threadNumber(), e.number(warp))),
        warpNumber(e.div(e.threadNumber(), e.number(warp))) {}

protected:
  void overUnits(Value count, Body body) override {
    e.loop(device.threadNumber(), count, body, device.threads);
  }
  void overSums(Value count, Body body) override {
    e.loop(warpNumber, count, body, device.threads / warp);
  }
  Value sum(Value count, Term term) override {
    Value mine = e.loop(
        lane, count, zero,
        [&](Value i, ValueRange carried) {
          return SmallVector<Value>{cpu::addInAnyOrder(e, carried[0], term(i))};
        },
        warp)[0];
    for (int64_t distance = warp / 2; distance > 0; distance /= 2)
      mine = cpu::emitAdd(e.b, mine, device.exchange(mine, distance));
    return mine;
  }
  void keep(Value value, Value base, Value i) override {
    e.ifThen(e.equal(lane, e.number(0)), [&] { e.storeRaw(value, base, i); });
  }
  void meet() override { device.barrier(); }

private:
  DeviceEmitter &device;
  Value zero, lane, warpNumber;
};

} // namespace

void emitBlockRecurrent(DeviceEmitter &e, Value ordinal) {
  auto op = cast<graph::RecurrentOp>(kernel::findRoot(e.kernel.getBlock()));
  int64_t offset = 0;
  SmallVector<Value> areas;
  for (int64_t bytes : kernel::recurrentAreas(op)) {
    areas.push_back(
        e.address(e.sharedMemory(), e.b.getI8Type(), e.number(offset)));
    offset += bytes;
  }
  BlockRecurrence cells(e, op, cpu::yieldedBuffers(e, op),
                        {areas[0], areas[1], areas[2], areas[3], areas[1]});
  cells.group(ordinal);
}

} // namespace tenon::cuda
