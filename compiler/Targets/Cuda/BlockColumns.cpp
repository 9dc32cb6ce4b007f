//===- BlockColumns.cpp - Reductions and softmax of columns ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lanes of a warp have neighbouring vectors of columns, and warps share the
// steps along them. What they carry meets in shared memory, where the first one
// joins it in order.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Reduction.h"
#include "compiler/Targets/Cpu/RowProgram.h"
#include "compiler/Targets/Cpu/RowReduction.h"
#include "compiler/Targets/Cuda/MemoryTiles.h"
#include "compiler/Targets/Cuda/OnlineSoftmax.h"
#include "dialects/Kernel/RowTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

using Values = SmallVector<Value>;
using Join = function_ref<Values(ValueRange, ValueRange)>;

constexpr int64_t warp = 32;

/// Steps that a thread takes at a time.
constexpr int64_t together = 4;

class BlockColumns {
public:
  BlockColumns(DeviceEmitter &e, cpu::RowProgram &program,
               kernel::ColumnTile tile)
      : e(e), program(program), width(tile.width), groups(tile.threads / warp),
        lane(e.rem(e.threadNumber(), e.number(warp))),
        group(e.div(e.threadNumber(), e.number(warp))), count(e.number(1)) {
    for (Value dim : program.stepDims)
      count = e.atEntry([&] { return e.mul(count, dim); });
  }

  void emit(Value ordinal) {
    locate(ordinal);
    if (auto op = dyn_cast<graph::ReduceOp>(program.root))
      reduce(op);
    else if (auto op = dyn_cast<graph::ArgReduceOp>(program.root))
      argReduce(op);
    else
      softmax(isa<graph::LogSoftmaxOp>(program.root));
    e.barrier(); // Nobody reads what has been joined any more.
  }

private:
  void locate(Value ordinal) {
    Value wide = e.number(warp * width);
    Value blocks = e.atEntry(
        [&] { return e.max(e.ceilDiv(program.length, wide), e.number(1)); });
    lead = e.delinearise(e.div(ordinal, blocks), program.leadDims);
    Value column = e.add(e.mul(e.rem(ordinal, blocks), wide),
                         e.mul(lane, e.number(width)));
    isThere = e.less(column, program.length);
    // A value of its own: nothing else counts with these lanes.
    Value first = arith::SelectOp::create(e.b, isThere, column, e.number(0));
    lanes = {first, width, {}, {}};
  }

  Value read(ArrayRef<Value> steps) {
    return program.input(program.indexOf(lead, steps, lanes.first), width);
  }
  void store(ArrayRef<Value> steps, Value value) {
    program.store(program.indexOf(lead, steps, lanes.first), value);
  }

  /// What this thread's steps make of `start`. Of a step that is not there,
  /// for which `mask` is false, another one is passed.
  using Body =
      function_ref<Values(Value step, Value x, Value mask, ValueRange carried)>;
  Values fold(ValueRange start, Body body) {
    return e.loop(
        group, count, start,
        [&](Value first, ValueRange carried) {
          Values now(carried);
          for (int64_t i = 0; i < together; ++i) {
            Value step = e.add(first, e.number(i * groups)), mask;
            if (i > 0) {
              Value holds = e.less(step, count);
              step = e.select(holds, step, first);
              mask = e.spread(holds, width);
            }
            Indices steps = e.delinearise(step, program.stepDims);
            e.inLanes(lanes, [&] { now = body(step, read(steps), mask, now); });
          }
          return now;
        },
        together * groups);
  }

  /// The values of all warps as one, which all threads get.
  Values joined(Values mine, Join join) {
    auto load = [&](size_t i, Value of) -> Value {
      Type type = mine[i].getType();
      return LLVM::LoadOp::create(e.b, type, slot(i, type, of),
                                  slotAlign(type));
    };
    auto storeAll = [&](ValueRange values, Value of) {
      for (auto [i, value] : llvm::enumerate(values)) {
        Type type = value.getType();
        LLVM::StoreOp::create(e.b, value, slot(i, type, of), slotAlign(type));
      }
    };
    storeAll(mine, group);
    e.barrier();
    e.ifThen(e.equal(group, e.number(0)), [&] {
      Values all = e.loop(e.number(1), e.number(groups), mine,
                          [&](Value of, ValueRange sofar) {
                            Values other;
                            for (size_t i = 0; i < mine.size(); ++i)
                              other.push_back(load(i, of));
                            return join(sofar, other);
                          });
      storeAll(all, e.number(0));
    });
    e.barrier();
    Values all;
    for (size_t i = 0; i < mine.size(); ++i)
      all.push_back(load(i, e.number(0)));
    return all;
  }
  int64_t bytesOf(Type vector) const {
    return width * cast<VectorType>(vector).getElementTypeBitWidth() / 8;
  }
  int64_t slotAlign(Type vector) const {
    return std::min<int64_t>(bytesOf(vector), 16);
  }
  /// Where value `i` of this lane lies, of a warp.
  Value slot(size_t i, Type vector, Value of) {
    // Values of a pair are of one size.
    Value line = e.add(e.number(int64_t(i) * groups), of);
    Value place = e.add(e.mul(line, e.number(warp)), lane);
    return e.address(e.sharedMemory(), e.b.getI8Type(),
                     e.mul(place, e.number(bytesOf(vector))));
  }

  void storeOne(Value value) {
    e.ifThen(e.both(isThere, e.equal(group, e.number(0))), [&] {
      Indices none(program.stepDims.size(), e.number(0));
      e.inLanes(lanes, [&] { store(none, value); });
    });
  }

  void reduce(graph::ReduceOp op) {
    cpu::RowReduction reduction(e, op.getKind(), width);
    Values all = fold(reduction.start(),
                      [&](Value, Value x, Value mask, ValueRange carried) {
                        return reduction.add(carried, x, mask);
                      });
    all = joined(
        all, [&](ValueRange x, ValueRange y) { return reduction.join(x, y); });
    storeOne(reduction.finish(all, program.workedCount(),
                              graph::getElementType(program.result)));
  }

  void argReduce(graph::ArgReduceOp op) {
    e.fault(e.less(count, e.number(1)), TENON_FAULT_COUNT, op);
    cpu::ArgReduction reduction(e, op, width);
    Values all = fold(reduction.start(), [&](Value step, Value x, Value mask,
                                             ValueRange carried) {
      Value place = arith::TruncIOp::create(e.b, e.b.getI32Type(), step);
      return reduction.add(carried, x, e.spread(place, width), mask);
    });
    all = joined(
        all, [&](ValueRange x, ValueRange y) { return reduction.join(x, y); });
    storeOne(reduction.finish(all[1]));
  }

  void softmax(bool isLog) {
    OnlineSoftmax online(e);
    auto type = VectorType::get({width}, e.b.getF32Type());
    double infinity = std::numeric_limits<double>::infinity();
    Value lowest = cpu::constantLike(e.b, type, -infinity);
    Values all =
        fold(ValueRange{lowest, cpu::constantLike(e.b, type, 0)},
             [&](Value, Value x, Value mask, ValueRange carried) {
               if (mask)
                 x = arith::SelectOp::create(e.b, mask, x, lowest);
               Value largest = cpu::largerOf(e, x, carried[0]);
               Value before = online.corrected(carried[0], carried[1], largest);
               return Values{largest, cpu::emitAdd(e.b, before,
                                                   online.power(x, largest))};
             });
    all = joined(all,
                 [&](ValueRange x, ValueRange y) { return online.join(x, y); });
    Value scale =
        isLog ? cpu::emitLog(e.b, e, all[1]) : cpu::inverse(e, all[1]);
    Type element = graph::getElementType(program.result);
    e.loop(
        e.select(isThere, group, count), count,
        [&](Value step) {
          Indices steps = e.delinearise(step, program.stepDims);
          e.inLanes(lanes, [&] {
            Value below = cpu::subtract(e, read(steps), all[0]);
            Value value =
                isLog ? cpu::subtract(e, below, scale)
                      : cpu::multiply(e, cpu::emitExp(e.b, e, below), scale);
            store(steps, cpu::roundTo(e.b, value, element));
          });
        },
        groups);
  }

  DeviceEmitter &e;
  cpu::RowProgram &program;
  const int64_t width, groups;
  Value lane, group, count, isThere;
  cpu::Lanes lanes;
  Indices lead;
};

} // namespace

LogicalResult emitBlockColumns(DeviceEmitter &e, Value ordinal) {
  std::string why;
  Block &body = e.kernel.getBlock();
  std::optional<kernel::RowView> view = kernel::rowViewOf(body, why);
  if (!view)
    return e.kernel.emitOpError("has no columns: ")
           << why << "; please report it";
  cpu::RowProgram program(e, *view);
  BlockColumns(e, program, kernel::columnTileOf(body, *view)).emit(ordinal);
  return success();
}

} // namespace tenon::cuda
