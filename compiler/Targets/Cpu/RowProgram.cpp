//===- RowProgram.cpp - Norms and softmax of rows -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row stays in registers from pass to pass where it is short; else it is read
// again from where it lies, or from scratch memory when it was computed.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/RowProgram.h"
#include "compiler/Targets/Cpu/Reduction.h"
#include "compiler/Targets/Cpu/RowReduction.h"
#include "compiler/Targets/Cpu/RowsTogether.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tenon::cpu {

Indices RowProgram::indexOf(ArrayRef<Value> lead, ArrayRef<Value> steps,
                            Value position) const {
  Indices index(graph::getRank(root->getOperand(0)), e.number(0));
  for (auto [axis, count] : llvm::zip_equal(view.lead, lead))
    index[axis] = count;
  for (auto [axis, count] : llvm::zip_equal(view.steps, steps))
    index[axis] = count;
  index[view.run.back()] = position;
  return index;
}

Value RowProgram::input(ArrayRef<Value> index, int64_t width) const {
  return e.spread(e.element(root->getOperand(0), index), width);
}

bool RowProgram::isPlain() const {
  Value operand = root->getOperand(0);
  return isa<BlockArgument>(operand) && graph::getElementType(operand).isF32();
}

void RowProgram::store(ArrayRef<Value> index, Value value) const {
  e.bind(result, index, value);
  e.storeYields(index, e.linearise(index, e.dimsOf(result)));
}

SmallVector<Value> RowProgram::overSteps(ValueRange initial, StepBody body) {
  Indices counts;
  std::function<SmallVector<Value>(ValueRange)> nest = [&](ValueRange carried) {
    if (counts.size() == stepDims.size())
      return body(counts, carried);
    return e.loop(e.number(0), stepDims[counts.size()], carried,
                  [&](Value i, ValueRange inner) {
                    counts.push_back(i);
                    SmallVector<Value> next = nest(inner);
                    counts.pop_back();
                    return next;
                  });
  };
  return nest(initial);
}

Value RowProgram::workedCount() const {
  Value count = view.combinesRun ? length : e.number(1);
  for (Value dim : stepDims)
    count = e.mul(count, dim);
  return count;
}

namespace {

using Values = RowsTogether::Values;
using Step = RowsTogether::Step;

/// Vectors of a row that stay in registers: of the norms, and where each of
/// them takes an exponential.
constexpr int64_t mostOfNorm = 6, mostOfSoftmax = 4;

/// exp(x - max) / sum, or x - max - log(sum). NaN passes by the maximum, but
/// not by the sum.
void softmaxRows(RowsTogether &rows, bool isLog) {
  Emitter &e = rows.e;
  double infinity = std::numeric_limits<double>::infinity();
  Value lowest = constantLike(e.b, rows.type, -infinity);
  auto larger = [&](Value x, Value y) { return largerOf(e, x, y); };
  auto add = [&](Value x, Value y) { return emitAdd(e.b, x, y); };
  Values largest = rows.pass(
      lowest,
      [&](const Step &step, size_t row, Value sofar) {
        return larger(rows.alive(step, rows.first(step, row), lowest), sofar);
      },
      larger);
  for (Value &value : largest)
    value = rows.splat(value);
  auto below = [&](const Step &step, size_t row) {
    return subtract(e, rows.again(step, row), largest[row]);
  };
  Values scales = rows.pass(
      rows.zero(),
      [&](const Step &step, size_t row, Value sofar) {
        if (row == 0)
          rows.prefetchNext(step);
        Value power = emitExp(e.b, e, below(step, row));
        if (!isLog)
          rows.hold(step, row, power);
        return add(sofar, rows.alive(step, power, rows.zero()));
      },
      add, /*chains=*/1);
  for (Value &value : scales)
    value = rows.splat(isLog ? emitLog(e.b, e, value) : inverse(e, value));
  rows.finish([&](const Step &step, size_t row) {
    return isLog ? subtract(e, below(step, row), scales[row])
                 : multiply(e, rows.held(step, row), scales[row]);
  });
}

/// (x - mean) / sqrt(mean of squares + epsilon); the mean is 0 for rms_norm.
void normRows(RowsTogether &rows, double epsilon, bool hasMean) {
  Emitter &e = rows.e;
  Type f32 = e.b.getF32Type();
  Value count = arith::SIToFPOp::create(e.b, f32, rows.program.length);
  auto add = [&](Value x, Value y) { return emitAdd(e.b, x, y); };
  Values means;
  if (hasMean)
    means = rows.pass(
        rows.zero(),
        [&](const Step &step, size_t row, Value sofar) {
          Value x = rows.first(step, row);
          return add(sofar, rows.alive(step, x, rows.zero()));
        },
        add);
  for (Value &mean : means)
    mean = rows.splat(arith::DivFOp::create(e.b, mean, count));
  auto centred = [&](const Step &step, size_t row) {
    Value x = rows.again(step, row);
    return hasMean ? subtract(e, x, means[row]) : x;
  };
  Values scales = rows.pass(
      rows.zero(),
      [&](const Step &step, size_t row, Value sofar) {
        if (hasMean && row == 0)
          rows.prefetchNext(step);
        Value x = hasMean ? centred(step, row) : rows.first(step, row);
        x = rows.alive(step, x, rows.zero());
        return emitMulAdd(e.b, x, x, sofar);
      },
      add);
  for (Value &scale : scales) {
    Value variance = arith::DivFOp::create(e.b, scale, count);
    variance = add(variance, constantLike(e.b, f32, epsilon));
    scale = rows.splat(inverse(e, math::SqrtOp::create(e.b, variance)));
  }
  rows.finish([&](const Step &step, size_t row) {
    if (!hasMean && row == 0)
      rows.prefetchNext(step);
    return multiply(e, centred(step, row), scales[row]);
  });
}

void emitRows(RowProgram &program, ArrayRef<Indices> leads) {
  Operation *root = program.root;
  if (isa<graph::SoftmaxOp, graph::LogSoftmaxOp>(root)) {
    RowsTogether rows(program, leads, mostOfSoftmax);
    return softmaxRows(rows, isa<graph::LogSoftmaxOp>(root));
  }
  RowsTogether rows(program, leads, mostOfNorm);
  if (isa<graph::QuantizeRowsOp>(root))
    return rows.finishBytes(
        [&](const Step &step, size_t row) { return rows.first(step, row); });
  if (auto op = dyn_cast<graph::LayerNormOp>(root))
    return normRows(rows, op.getEpsilon().convertToDouble(), true);
  auto op = cast<graph::RmsNormOp>(root);
  normRows(rows, op.getEpsilon().convertToDouble(), false);
}

} // namespace

void emitRowsOfRun(RowProgram &program) {
  Emitter &e = program.e;
  auto leadOf = [&](Value unit) {
    return e.delinearise(unit, program.leadDims);
  };
  constexpr int64_t together = kernel::rowsTogether;
  Value groups = e.div(e.sub(e.end, e.begin), e.number(together));
  Value rest = e.add(e.begin, e.mul(groups, e.number(together)));
  e.loop(
      e.begin, rest,
      [&](Value unit) {
        SmallVector<Indices> leads;
        for (int64_t row = 0; row < together; ++row)
          leads.push_back(leadOf(e.add(unit, e.number(row))));
        emitRows(program, leads);
      },
      together);
  e.loop(rest, e.end, [&](Value unit) { emitRows(program, leadOf(unit)); });
}

LogicalResult emitRowProgram(Emitter &e) {
  std::string why;
  std::optional<kernel::RowView> view =
      kernel::rowViewOf(e.kernel.getBlock(), why);
  if (!view)
    return e.kernel.emitOpError("is no row program: ") << why;
  RowProgram program(e, *view);
  if (!view->combinesRun)
    emitRowsOfColumns(program);
  else if (isa<graph::ArgReduceOp, graph::CumulativeOp, graph::ReduceOp>(
               view->root))
    emitRowsToSums(program);
  else
    emitRowsOfRun(program);
  return success();
}

} // namespace tenon::cpu
