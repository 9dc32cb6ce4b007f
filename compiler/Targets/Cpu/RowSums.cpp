//===- RowSums.cpp - Reductions and running sums of rows ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/RowProgram.h"
#include "compiler/Targets/Cpu/RowReduction.h"
#include "compiler/Targets/Cpu/RowVectors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using Values = RowVectors::Values;
using Step = RowVectors::Step;

void reduceRow(RowProgram &program, graph::ReduceOp op, ArrayRef<Value> lead,
               Value unit) {
  Emitter &e = program.e;
  int64_t width = RowVectors::widthOf(e);
  RowReduction reduction(e, op.getKind(), width);
  auto join = [&](ValueRange x, ValueRange y) { return reduction.join(x, y); };
  Values lanes = program.overSteps(
      reduction.start(), [&](ArrayRef<Value> steps, ValueRange sofar) {
        Values own =
            RowVectors(e, program.length, /*mostResident=*/4)
                .pass(
                    4, reduction.start(),
                    [&](const Step &step, ValueRange carried) {
                      Indices index =
                          program.indexOf(lead, steps, step.lanes.first);
                      return reduction.add(carried, program.input(index, width),
                                           step.lanes.mask);
                    },
                    join);
        return steps.empty() ? own : reduction.join(sofar, own);
      });
  Value value = reduction.finish(reduction.fold(lanes), program.workedCount(),
                                 graph::getElementType(program.result));
  Indices index = program.indexOf(
      lead, Indices(program.stepDims.size(), e.number(0)), e.number(0));
  e.bind(program.result, index, value);
  e.storeYields(index, unit);
}

void argReduceRow(RowProgram &program, graph::ArgReduceOp op,
                  ArrayRef<Value> lead, Value unit) {
  Emitter &e = program.e;
  int64_t width = RowVectors::widthOf(e);
  e.fault(e.less(program.length, e.number(1)), TENON_FAULT_COUNT, op);
  ArgReduction reduction(e, op, width);
  Values lanes =
      RowVectors(e, program.length, /*mostResident=*/4)
          .pass(
              4, reduction.start(),
              [&](const Step &step, ValueRange carried) {
                Value first = step.lanes.first;
                return reduction.add(
                    carried,
                    program.input(program.indexOf(lead, {}, first), width),
                    reduction.placesFrom(first), step.lanes.mask);
              },
              [&](ValueRange x, ValueRange y) { return reduction.join(x, y); });
  Indices index = program.indexOf(lead, {}, e.number(0));
  e.bind(program.result, index, reduction.finish(reduction.fold(lanes)[1]));
  e.storeYields(index, unit);
}

/// Sums of the lanes up to each: of those next to it, of pairs, of fours, ...
class RunningSums {
public:
  RunningSums(Emitter &e, bool isProduct, int64_t width)
      : e(e), isProduct(isProduct), width(width),
        none(constantLike(e.b, VectorType::get({width}, e.b.getF64Type()),
                          isProduct ? 1 : 0)) {}

  Value upTo(Value x) const {
    for (int64_t distance = 1; distance < width; distance *= 2)
      x = join(x, shifted(x, none, distance));
    return x;
  }
  Value join(Value x, Value y) const {
    return isProduct ? emitMul(e.b, x, y) : emitAdd(e.b, x, y);
  }
  /// x moved up, what was last in `before` coming in.
  Value shifted(Value x, Value before, int64_t distance) const {
    SmallVector<int32_t> from;
    for (int64_t lane = 0; lane < width; ++lane)
      from.push_back(width + lane - distance);
    return LLVM::ShuffleVectorOp::create(e.b, before, x, from);
  }
  /// The last lane in all of them.
  Value lastOf(Value x) const {
    SmallVector<int32_t> from(width, width - 1);
    return LLVM::ShuffleVectorOp::create(e.b, x, x, from);
  }

  Emitter &e;
  bool isProduct;
  int64_t width;
  Value none;
};

void accumulateRow(RowProgram &program, graph::CumulativeOp op,
                   ArrayRef<Value> lead) {
  Emitter &e = program.e;
  int64_t width = RowVectors::widthOf(e);
  RunningSums sums(e, op.getKind() == graph::ReduceKind::Prod, width);
  Type element = graph::getElementType(program.result);
  RowVectors(e, program.length, /*mostResident=*/0)
      .pass(
          1, sums.none,
          [&](const Step &step, ValueRange carried) {
            Indices index = program.indexOf(lead, {}, step.lanes.first);
            Value x = arith::ExtFOp::create(e.b, sums.none.getType(),
                                            program.input(index, width));
            Value upTo = sums.join(sums.upTo(x), carried[0]);
            Value value =
                op.getExclusive() ? sums.shifted(upTo, carried[0], 1) : upTo;
            program.store(index,
                          emitCast(e.b, value, e.b.getF64Type(), element));
            return Values{sums.lastOf(upTo)};
          },
          [&](ValueRange x, ValueRange) { return Values(x); });
}

} // namespace

void emitRowsToSums(RowProgram &program) {
  Emitter &e = program.e;
  e.loop(e.begin, e.end, [&](Value unit) {
    Indices lead = e.delinearise(unit, program.leadDims);
    if (auto op = dyn_cast<graph::ArgReduceOp>(program.root))
      argReduceRow(program, op, lead, unit);
    else if (auto op = dyn_cast<graph::CumulativeOp>(program.root))
      accumulateRow(program, op, lead);
    else
      reduceRow(program, cast<graph::ReduceOp>(program.root), lead, unit);
  });
}

} // namespace tenon::cpu
