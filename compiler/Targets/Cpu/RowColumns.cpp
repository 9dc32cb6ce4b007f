//===- RowColumns.cpp - Reductions and softmax of columns -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Some vectors of neighbouring columns go together along the axes that are
// worked along: what is carried for them stays in registers.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/RowProgram.h"
#include "compiler/Targets/Cpu/RowReduction.h"
#include "compiler/Targets/Cpu/RowVectors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using Values = RowVectors::Values;

class RowColumns {
public:
  explicit RowColumns(RowProgram &program)
      : program(program), e(program.e), width(RowVectors::widthOf(e)),
        type(VectorType::get({width}, e.b.getF32Type())) {}

  void emit() {
    Value columns = e.number(kernel::rowColumns);
    Value blocks = e.atEntry(
        [&] { return e.max(e.ceilDiv(program.length, columns), e.number(1)); });
    e.loop(e.begin, e.end, [&](Value unit) {
      lead = e.delinearise(e.div(unit, blocks), program.leadDims);
      blockStart = e.mul(e.rem(unit, blocks), columns);
      Value end = e.min(e.add(blockStart, columns), program.length);
      int64_t stride = vectors * width;
      Value count = e.div(e.sub(end, blockStart), e.number(stride));
      Value rest = e.add(blockStart, e.mul(count, e.number(stride)));
      e.loop(
          blockStart, rest,
          [&](Value i) {
            lanes = {{i, width, {}, {}}};
            for (int64_t v = 1; v < vectors; ++v)
              lanes.push_back(
                  {arith::AddIOp::create(e.b, i, e.number(v * width)),
                   width,
                   {},
                   {}});
            emitGroup();
          },
          stride);
      e.loop(
          rest, end,
          [&](Value i) {
            lanes = {RowVectors::lanesBelow(e, i, width, end)};
            emitGroup();
          },
          width);
    });
  }

private:
  /// Vectors that go together.
  static constexpr int64_t vectors = 4;

  void emitGroup() {
    if (auto op = dyn_cast<graph::ReduceOp>(program.root))
      reduce(op);
    else if (auto op = dyn_cast<graph::ArgReduceOp>(program.root))
      argReduce(op);
    else if (auto op = dyn_cast<graph::CumulativeOp>(program.root))
      accumulate(op);
    else
      softmax(isa<graph::LogSoftmaxOp>(program.root));
  }

  /// Runs `body` in each vector's lanes.
  void forEach(function_ref<void(size_t v)> body) {
    for (auto [v, group] : llvm::enumerate(lanes))
      e.inLanes(group, [&] { body(v); });
  }
  Value input(ArrayRef<Value> steps, size_t v) {
    return program.input(program.indexOf(lead, steps, lanes[v].first), width);
  }
  void store(ArrayRef<Value> steps, size_t v, Value value) {
    program.store(program.indexOf(lead, steps, lanes[v].first), value);
  }

  void reduce(graph::ReduceOp op) {
    RowReduction reduction(e, op.getKind(), width);
    Values all, start = reduction.start();
    for (size_t v = 0; v < lanes.size(); ++v)
      llvm::append_range(all, start);
    auto part = [&](ValueRange values, size_t v) {
      return values.slice(v * start.size(), start.size());
    };
    all =
        program.overSteps(all, [&](ArrayRef<Value> steps, ValueRange carried) {
          Values next;
          forEach([&](size_t v) {
            llvm::append_range(
                next, reduction.add(part(carried, v), input(steps, v), {}));
          });
          return next;
        });
    Indices none(program.stepDims.size(), e.number(0));
    forEach([&](size_t v) {
      store(none, v,
            reduction.finish(part(all, v), program.workedCount(),
                             graph::getElementType(program.result)));
    });
  }

  void argReduce(graph::ArgReduceOp op) {
    ArgReduction reduction(e, op, width);
    Value count = program.workedCount();
    e.fault(e.less(count, e.number(1)), TENON_FAULT_COUNT, op);
    Values all;
    for (size_t v = 0; v < lanes.size(); ++v)
      llvm::append_range(all, reduction.start());
    all =
        program.overSteps(all, [&](ArrayRef<Value> steps, ValueRange carried) {
          Value step = steps.empty() ? e.number(0) : steps[0];
          Value place = e.spread(
              arith::TruncIOp::create(e.b, e.b.getI32Type(), step), width);
          Values next;
          forEach([&](size_t v) {
            llvm::append_range(next, reduction.add(carried.slice(2 * v, 2),
                                                   input(steps, v), place, {}));
          });
          return next;
        });
    Indices none(program.stepDims.size(), e.number(0));
    forEach(
        [&](size_t v) { store(none, v, reduction.finish(all[2 * v + 1])); });
  }

  void accumulate(graph::CumulativeOp op) {
    RowReduction reduction(e, op.getKind(), width);
    Type element = graph::getElementType(program.result);
    Values all;
    for (size_t v = 0; v < lanes.size(); ++v)
      llvm::append_range(all, reduction.start());
    program.overSteps(all, [&](ArrayRef<Value> steps, ValueRange carried) {
      Indices at(steps);
      if (op.getReverse() && !at.empty())
        at[0] = e.sub(e.sub(program.stepDims[0], e.number(1)), at[0]);
      Values next;
      forEach([&](size_t v) {
        next.push_back(reduction.add(carried[v], input(at, v), {})[0]);
        Value sum = op.getExclusive() ? carried[v] : next.back();
        store(at, v, reduction.finish(sum, e.number(1), element));
      });
      return next;
    });
  }

  /// Where a vector of a step waits in scratch memory.
  Value place(ArrayRef<Value> steps, size_t v) {
    Value row = e.linearise(steps, program.stepDims);
    Value column = e.sub(lanes[v].first, blockStart);
    return e.address(
        e.scratch(0), e.b.getF32Type(),
        e.add(e.mul(row, e.valueOf(program.view.heldColumns())), column));
  }
  Value again(ArrayRef<Value> steps, size_t v) {
    return program.isPlain() ? input(steps, v) : held(steps, v);
  }
  Value held(ArrayRef<Value> steps, size_t v) {
    return LLVM::LoadOp::create(e.b, type, place(steps, v), /*alignment=*/4);
  }
  void hold(ArrayRef<Value> steps, size_t v, Value value) {
    LLVM::StoreOp::create(e.b, value, place(steps, v), /*alignment=*/4);
  }
  /// One vector for each, carried along the steps.
  Values pass(double start,
              function_ref<Value(ArrayRef<Value>, size_t, Value)> body) {
    Values initial(lanes.size(), constantLike(e.b, type, start));
    return program.overSteps(initial, [&](ArrayRef<Value> steps,
                                          ValueRange carried) {
      Values next;
      forEach([&](size_t v) { next.push_back(body(steps, v, carried[v])); });
      return next;
    });
  }

  void softmax(bool isLog) {
    double infinity = std::numeric_limits<double>::infinity();
    Values largest =
        pass(-infinity, [&](ArrayRef<Value> steps, size_t v, Value sofar) {
          Value x = input(steps, v);
          if (!program.isPlain())
            hold(steps, v, x);
          return largerOf(e, x, sofar);
        });
    Values sums = pass(0, [&](ArrayRef<Value> steps, size_t v, Value sofar) {
      Value x = arith::SubFOp::create(e.b, again(steps, v), largest[v]);
      Value power = emitExp(e.b, e, x);
      if (!isLog)
        hold(steps, v, power);
      return emitAdd(e.b, sofar, power);
    });
    for (Value &sum : sums)
      sum = isLog ? emitLog(e.b, e, sum)
                  : arith::DivFOp::create(e.b, constantLike(e.b, type, 1), sum)
                        .getResult();
    Type element = graph::getElementType(program.result);
    program.overSteps({}, [&](ArrayRef<Value> steps, ValueRange) {
      forEach([&](size_t v) {
        Value value =
            isLog ? arith::SubFOp::create(
                        e.b,
                        arith::SubFOp::create(e.b, again(steps, v), largest[v]),
                        sums[v])
                        .getResult()
                  : arith::MulFOp::create(e.b, held(steps, v), sums[v])
                        .getResult();
        store(steps, v, roundTo(e.b, value, element));
      });
      return Values();
    });
  }

  RowProgram &program;
  Emitter &e;
  int64_t width;
  VectorType type;
  // Of the current group.
  Indices lead;
  Value blockStart;
  SmallVector<Lanes> lanes;
};

} // namespace

void emitRowsOfColumns(RowProgram &program) { RowColumns(program).emit(); }

} // namespace tenon::cpu
