//===- EmitPools.cpp - Pools, by rows -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/Power.h"
#include "compiler/Targets/Cpu/Reduction.h"
#include "compiler/Targets/Cpu/Windows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

/// The element under a tap; `position` are the spatial axes.
Value underTap(Emitter &e, Value input, ArrayRef<Value> lead,
               ArrayRef<Value> position) {
  Indices index(lead.take_front(2));
  llvm::append_range(index, position);
  return e.element(input, index);
}

bool emitMaxPool(Emitter &e, graph::MaxPoolOp op) {
  Type element = graph::getElementType(op.getInput());
  Type type = computeType(element);
  Value sums = e.scratch(0);
  SmallVector<WindowAxis> axes = poolAxes(e, op, /*first=*/2);
  return forEachRow(e, op, [&](Value row, ArrayRef<Value> lead, Value length) {
    clear(e, sums, length, extreme(e, element, /*lowest=*/true));
    WindowRow(e, axes, lead)
        .forEachTap([](ArrayRef<Value>) {},
                    [&](Value o, ArrayRef<Value> position) {
                      Value x = underTap(e, op.getInput(), lead, position);
                      Value sofar = e.loadRaw(sums, type, o);
                      e.storeRaw(emitMax(e.b, sofar, x, element), sums, o);
                    });
    e.storeRow(op, lead, row, length,
               [&](Value o) { return e.loadRaw(sums, type, o); });
  });
}

/// The flat index of an element of the input, in the order asked for.
Value flatIndex(Emitter &e, graph::MaxPoolIndicesOp op, ArrayRef<Value> lead,
                ArrayRef<Value> position) {
  Indices dims = e.dimsOf(op.getInput());
  Indices index(lead.take_front(2));
  if (!op.getColumnMajor()) {
    llvm::append_range(index, position);
    return e.linearise(index, dims);
  }
  for (size_t i = position.size(); i-- > 0;)
    index.push_back(position[i]);
  std::reverse(dims.begin() + 2, dims.end());
  return e.linearise(index, dims);
}

bool emitMaxPoolIndices(Emitter &e, graph::MaxPoolIndicesOp op) {
  Type element = graph::getElementType(op.getInput());
  Type type = computeType(element), i64 = e.b.getI64Type();
  Value best = e.scratch(0), places = e.scratch(1);
  SmallVector<WindowAxis> axes = poolAxes(e, op, /*first=*/2);
  return forEachRow(e, op, [&](Value row, ArrayRef<Value> lead, Value length) {
    e.loop(e.number(0), length, [&](Value o) {
      e.storeRaw(e.zero(type), best, o);
      e.storeRaw(e.number(-1), places, o);
    });
    WindowRow(e, axes, lead)
        .forEachTap(
            [](ArrayRef<Value>) {},
            [&](Value o, ArrayRef<Value> position) {
              Value x = underTap(e, op.getInput(), lead, position);
              Value sofar = e.loadRaw(best, type, o);
              Value place = e.loadRaw(places, i64, o);
              Value better = e.either(e.less(place, e.number(0)),
                                      isBetter(e, x, sofar, element, true));
              e.storeRaw(e.select(better, x, sofar), best, o);
              e.storeRaw(
                  e.select(better, flatIndex(e, op, lead, position), place),
                  places, o);
            });
    e.storeRow(op, lead, row, length, [&](Value o) {
      Value place = e.max(e.loadRaw(places, i64, o), e.number(0));
      return emitCast(e.b, place, i64, graph::getElementType(op.getResult()));
    });
  });
}

/// Sums in f64 of elements or of powers of them.
template <typename PoolOp>
void sumWindows(Emitter &e, PoolOp op, ArrayRef<WindowAxis> axes,
                ArrayRef<Value> lead, Value length,
                function_ref<Value(Value)> term) {
  Type f64 = e.b.getF64Type();
  Type element = graph::getElementType(op.getInput());
  Value sums = e.scratch(0);
  clear(e, sums, length, e.zero(f64));
  WindowRow(e, axes, lead)
      .forEachTap([](ArrayRef<Value>) {},
                  [&](Value o, ArrayRef<Value> position) {
                    Value x = underTap(e, op.getInput(), lead, position);
                    if (isa<FloatType>(element))
                      x = emitCast(e.b, x, computeType(element), f64);
                    else
                      x = emitCast(e.b, x, element, f64);
                    Value sum = e.loadRaw(sums, f64, o);
                    e.storeRaw(emitAdd(e.b, sum, term(x)), sums, o);
                  });
}

bool emitAveragePool(Emitter &e, graph::AveragePoolOp op) {
  Type f64 = e.b.getF64Type();
  SmallVector<WindowAxis> axes = poolAxes(e, op, /*first=*/2);
  return forEachRow(e, op, [&](Value row, ArrayRef<Value> lead, Value length) {
    sumWindows(e, op, axes, lead, length, [](Value x) { return x; });
    auto countAt = [&](size_t axis, Value o) {
      Value high = e.valueOf(op.getPads()[axes.size() + axis]);
      return tapsInside(e, axes[axis], o, high, op.getCountPads());
    };
    Value others = e.number(1);
    for (size_t axis = 0; axis + 1 < axes.size(); ++axis)
      others = e.mul(others, countAt(axis, lead[2 + axis]));
    e.storeRow(op, lead, row, length, [&](Value o) {
      Value count = e.mul(others, countAt(axes.size() - 1, o));
      Value mean =
          arith::DivFOp::create(e.b, e.loadRaw(e.scratch(0), f64, o),
                                arith::SIToFPOp::create(e.b, f64, count));
      return emitCast(e.b, mean, f64, graph::getElementType(op.getResult()));
    });
  });
}

bool emitLpPool(Emitter &e, graph::LpPoolOp op) {
  Type f64 = e.b.getF64Type();
  SmallVector<WindowAxis> axes = poolAxes(e, op, /*first=*/2);
  double p = static_cast<double>(op.getP());
  auto power = [&](Value x, double exponent) {
    return emitPow(e.b, e, x, exponent);
  };
  return forEachRow(e, op, [&](Value row, ArrayRef<Value> lead, Value length) {
    sumWindows(e, op, axes, lead, length,
               [&](Value x) { return power(math::AbsFOp::create(e.b, x), p); });
    e.storeRow(op, lead, row, length, [&](Value o) {
      Value norm = power(e.loadRaw(e.scratch(0), f64, o), 1 / p);
      return emitCast(e.b, norm, f64, graph::getElementType(op.getResult()));
    });
  });
}

} // namespace

bool emitPools(Emitter &e, Operation *root) {
  if (auto op = dyn_cast<graph::MaxPoolOp>(root))
    return emitMaxPool(e, op);
  if (auto op = dyn_cast<graph::MaxPoolIndicesOp>(root))
    return emitMaxPoolIndices(e, op);
  if (auto op = dyn_cast<graph::AveragePoolOp>(root))
    return emitAveragePool(e, op);
  if (auto op = dyn_cast<graph::LpPoolOp>(root))
    return emitLpPool(e, op);
  return false;
}

} // namespace tenon::cpu
