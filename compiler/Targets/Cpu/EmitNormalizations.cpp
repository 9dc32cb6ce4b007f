//===- EmitNormalizations.cpp - Softmax and its relatives -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row's elements are computed once, into scratch memory; then come the
// passes over it, in f32 (f64 for f64).
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Reduction.h"
#include "compiler/Targets/Cpu/RowBytes.h"
#include "dialects/Kernel/Geometry.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

/// A row of the input in scratch memory, and its way to the results.
struct ScratchRow {
  Emitter &e;
  Operation *op;
  Type type; // Of its elements.
  Value base, length;
  std::function<Indices(Value)> indexOf; // Of a position in the row.

  Value load(Value i) const { return e.loadRaw(base, type, i); }

  /// One pass that replaces each element by `body(element, carried)`'s first
  /// value and carries the second, of which several are joined to one.
  Value pass(Value initial,
             function_ref<std::pair<Value, Value>(Value, Value)> body,
             Emitter::Join join, bool isFirst = false) const {
    return e.foldColumns(
        e.number(0), length, initial,
        [&](Value i, Value carried) {
          Value x =
              isFirst ? e.element(op->getOperand(0), indexOf(i)) : load(i);
          auto [next, sum] = body(x, carried);
          if (isFirst || next != x)
            e.storeRaw(next, base, i);
          return sum;
        },
        join);
  }

  /// Stores what is yielded, the root's elements being `body(element)`.
  void finish(ArrayRef<Value> dims, function_ref<Value(Value)> body) const {
    Value result = op->getResult(0);
    graph::QuantizeRowsOp bytes = kernel::quantizedRowsOf(e.kernel.getBlock());
    e.columns(e.number(0), length, [&](Value i) {
      Indices index = indexOf(i);
      Value value = body(load(i));
      e.bind(result, index, roundTo(e.b, value, graph::getElementType(result)));
      e.storeYields(index, e.linearise(index, dims));
      if (bytes)
        e.storeRaw(e.element(bytes.getInput(), index), base, i);
    });
    if (bytes)
      storeBytes(bytes);
  }

  /// Stores its elements as bytes.
  void storeBytes(graph::QuantizeRowsOp bytes) const {
    Value zero = e.zero(type);
    auto fold = [&](Value RowEnds::*end) {
      return e.foldColumns(
          e.number(0), length, zero,
          [&](Value i, Value carried) {
            RowEnds sofar = {zero, zero, zero};
            sofar.*end = carried;
            return sofar.with(e, load(i)).*end;
          },
          [&](Value x, Value y) {
            return RowEnds{x, x, x}.joined(e, {y, y, y}).*end;
          });
    };
    RowBytes row(
        e, bytes,
        {fold(&RowEnds::low), fold(&RowEnds::high), fold(&RowEnds::none)});
    row.storeSides(indexOf(e.number(0)));
    e.columns(e.number(0), length,
              [&](Value i) { row.store(indexOf(i), load(i)); });
  }
};

/// exp(x - max) / sum, or x - max - log(sum).
void softmaxRow(const ScratchRow &row, ArrayRef<Value> dims, bool isLog) {
  Emitter &e = row.e;
  double infinity = std::numeric_limits<double>::infinity();
  auto larger = [&](Value x, Value y) { return maximum(e, x, y); };
  auto add = [&](Value x, Value y) { return addInAnyOrder(e, x, y); };
  Value largest = row.pass(
      constantLike(e.b, row.type, -infinity),
      [&](Value x, Value sofar) { return std::pair(x, larger(sofar, x)); },
      larger, /*isFirst=*/true);
  Value sum = row.pass(
      e.zero(row.type),
      [&](Value x, Value sofar) {
        Value power = emitExp(e.b, e, subtract(e, x, largest));
        return std::pair(isLog ? x : power, add(sofar, power));
      },
      add);
  if (isLog) {
    Value logOfSum = emitLog(e.b, e, sum);
    return row.finish(dims, [&](Value x) {
      return subtract(e, subtract(e, x, largest), logOfSum);
    });
  }
  Value scale = inverse(e, sum);
  row.finish(dims, [&](Value x) { return multiply(e, x, scale); });
}

/// (x - mean) / sqrt(mean of squares + epsilon); the mean is 0 for rms_norm.
void normRow(const ScratchRow &row, ArrayRef<Value> dims, double epsilon,
             bool hasMean) {
  Emitter &e = row.e;
  Value count = arith::SIToFPOp::create(e.b, row.type, row.length);
  Value zero = e.zero(row.type);
  auto add = [&](Value x, Value y) { return addInAnyOrder(e, x, y); };
  auto addSquare = [&](Value sum, Value x) {
    return add(sum, multiply(e, x, x));
  };
  Value squares;
  if (hasMean) {
    Value sum = row.pass(
        zero, [&](Value x, Value sofar) { return std::pair(x, add(sofar, x)); },
        add,
        /*isFirst=*/true);
    Value mean = arith::DivFOp::create(e.b, sum, count);
    squares = row.pass(
        zero,
        [&](Value x, Value sofar) {
          Value centred = subtract(e, x, mean);
          return std::pair(centred, addSquare(sofar, centred));
        },
        add);
  } else {
    squares = row.pass(
        zero,
        [&](Value x, Value sofar) { return std::pair(x, addSquare(sofar, x)); },
        add, /*isFirst=*/true);
  }
  Value variance = arith::DivFOp::create(e.b, squares, count);
  variance = emitAdd(e.b, variance, constantLike(e.b, row.type, epsilon));
  Value scale = inverse(e, math::SqrtOp::create(e.b, variance));
  row.finish(dims, [&](Value x) { return multiply(e, x, scale); });
}

void emitSoftmax(Emitter &e, Operation *op, size_t axis, bool isLog) {
  Value result = op->getResult(0);
  Indices dims = e.dimsOf(result);
  Type type = computeType(graph::getElementType(result));
  Indices others = dims;
  others[axis] = e.number(1);
  e.loop(e.begin, e.end, [&](Value row) {
    Indices lead = e.delinearise(row, others);
    auto indexOf = [&](Value i) {
      Indices index = lead;
      index[axis] = i;
      return index;
    };
    softmaxRow({e, op, type, e.scratch(0), dims[axis], indexOf}, dims, isLog);
  });
}

template <typename NormOp> void emitNorm(Emitter &e, NormOp op, bool hasMean) {
  Indices dims = e.dimsOf(op.getResult());
  size_t axis = op.getAxis();
  Type type = computeType(graph::getElementType(op.getResult()));
  Value length = e.number(1);
  for (Value dim : ArrayRef(dims).drop_front(axis))
    length = e.atEntry([&] { return e.mul(length, dim); });
  e.loop(e.begin, e.end, [&](Value row) {
    Indices lead = e.delinearise(row, ArrayRef(dims).take_front(axis));
    auto indexOf = [&](Value i) {
      Indices index = lead;
      llvm::append_range(index,
                         e.delinearise(i, ArrayRef(dims).drop_front(axis)));
      return index;
    };
    normRow({e, op, type, e.scratch(0), length, indexOf}, dims,
            op.getEpsilon().convertToDouble(), hasMean);
  });
}

void emitQuantizeRows(Emitter &e, graph::QuantizeRowsOp op) {
  Indices dims = e.dimsOf(op.getInput());
  Value length = dims.back();
  dims.back() = e.number(1);
  e.loop(e.begin, e.end, [&](Value row) {
    Indices lead = e.delinearise(row, dims);
    auto indexOf = [&](Value i) {
      Indices index = lead;
      index.back() = i;
      return index;
    };
    Type f32 = e.b.getF32Type();
    ScratchRow elements = {e, op, f32, e.scratch(0), length, indexOf};
    e.columns(e.number(0), length, [&](Value i) {
      e.storeRaw(e.element(op.getInput(), indexOf(i)), elements.base, i);
    });
    elements.storeBytes(op);
  });
}

} // namespace

bool emitNormalizations(Emitter &e, Operation *root) {
  if (auto op = dyn_cast<graph::SoftmaxOp>(root))
    emitSoftmax(e, op, op.getAxis(), /*isLog=*/false);
  else if (auto op = dyn_cast<graph::LogSoftmaxOp>(root))
    emitSoftmax(e, op, op.getAxis(), /*isLog=*/true);
  else if (auto op = dyn_cast<graph::LayerNormOp>(root))
    emitNorm(e, op, /*hasMean=*/true);
  else if (auto op = dyn_cast<graph::RmsNormOp>(root))
    emitNorm(e, op, /*hasMean=*/false);
  else if (auto op = dyn_cast<graph::QuantizeRowsOp>(root))
    emitQuantizeRows(e, op);
  else
    return false;
  return true;
}

} // namespace tenon::cpu
