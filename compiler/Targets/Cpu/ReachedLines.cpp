//===- ReachedLines.cpp - Taps that lie inside of an image ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/ReachedLines.h"

using namespace mlir;

namespace tenon::cpu {

ReachedLines::ReachedLines(Emitter &e, graph::ConvOp op,
                           const kernel::ConvDepth &depth)
    : e(e), op(op), depth(depth), inputDims(e.dimsOf(op.getInput())),
      leadDims(e.dimsOf(op.getResult())) {
  leadDims.pop_back();
}

bool ReachedLines::mayMiss(graph::ConvOp op, const kernel::ConvDepth &depth) {
  return !depth.lineTaps.empty() && depth.blockLines < depth.lines &&
         llvm::any_of(op.getDilations(), [](int64_t d) { return d > 1; });
}

Value ReachedLines::holds(Value line, ArrayRef<Value> from,
                          ArrayRef<Value> to) const {
  Indices tapDims;
  for (int64_t taps : depth.lineTaps)
    tapDims.push_back(e.number(taps));
  Indices taps = e.delinearise(line, tapDims);
  Value all;
  for (size_t axis = 0; axis < taps.size(); ++axis) {
    Value stride = e.number(op.getStrides()[axis]);
    Value offset = e.sub(e.mul(taps[axis], e.number(op.getDilations()[axis])),
                         e.valueOf(op.getPads()[axis]));
    Value low = e.add(e.mul(from[axis], stride), offset);
    Value high = e.add(e.mul(to[axis], stride), offset);
    Value meets =
        e.both(e.less(low, inputDims[1 + axis]), e.less(e.number(-1), high));
    all = all ? e.both(all, meets) : meets;
  }
  return all;
}

bool ReachedLines::tilesMiss() const {
  constexpr int64_t widest = 7; // Times what taps are apart: a twentieth.
  int64_t dilation = op.getDilations().back();
  int64_t taps =
      cast<RankedTensorType>(op.getFilter().getType()).getShape().back();
  SmallVector<graph::Expr> dims = graph::getDims(op.getResult());
  std::optional<int64_t> count = dims[dims.size() - 2].asConstant();
  return dilation > 1 && taps > 1 &&
         (!count || *count / widest <= dilation * (taps - 1));
}

void ReachedLines::rangesOf(Value first, Value last, Indices &from,
                            Indices &to) const {
  Indices low = e.delinearise(first, leadDims);
  Indices high = e.delinearise(e.sub(last, e.number(1)), leadDims);
  Value isSame = e.equal(low[0], high[0]);
  for (size_t axis = 1; axis < leadDims.size(); ++axis) {
    from.push_back(e.select(isSame, low[axis], e.number(0)));
    to.push_back(
        e.select(isSame, high[axis], e.sub(leadDims[axis], e.number(1))));
    isSame = e.both(isSame, e.equal(low[axis], high[axis]));
  }
}

Value ReachedLines::any(Value first, Value last, Value line,
                        Value lines) const {
  Indices from, to;
  rangesOf(first, last, from, to);
  Value no = constantLike(e.b, e.b.getI1Type(), 0);
  return e.loop(
      line, e.add(line, lines), ValueRange{no}, [&](Value i, ValueRange sofar) {
        return SmallVector<Value>{e.either(sofar[0], holds(i, from, to))};
      })[0];
}

ReachedLines::Reach ReachedLines::of(Value first, Value last, Value line,
                                     Value lines) const {
  Indices from, to;
  rangesOf(first, last, from, to);
  Value no = constantLike(e.b, e.b.getI1Type(), 0), end = e.add(line, lines);
  SmallVector<Value> any = e.loop(
      e.number(0), e.number(depth.lines), ValueRange{no, no, no},
      [&](Value i, ValueRange sofar) {
        Value meets = holds(i, from, to), isBefore = e.less(i, line);
        Value isBehind = e.less(e.sub(end, e.number(1)), i);
        Value isHere = e.equal(isBefore, isBehind); // Neither.
        return SmallVector<Value>{e.either(sofar[0], e.both(meets, isBefore)),
                                  e.either(sofar[1], e.both(meets, isHere)),
                                  e.either(sofar[2], e.both(meets, isBehind))};
      });
  Value some = e.either(any[0], e.either(any[1], any[2]));
  Value isFirst = e.both(e.equal(some, no), e.equal(line, e.number(0)));
  return {any[0], e.either(any[1], isFirst), any[2]};
}

} // namespace tenon::cpu
