//===- EmitMovement.cpp - Elements that are found by their index ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rule turns an index of the result into an index of an operand. What
// would lie outside is never read.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "runtime/model_format.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

/// Runs of axes [input, result) that hold the same elements in a reshape.
struct AxisGroup {
  size_t inputBegin, inputEnd, resultBegin, resultEnd;
};

/// The finest groups whose sizes are provably equal; what cannot be told apart
/// ends up in one group.
SmallVector<AxisGroup> groupAxes(MLIRContext *context, ArrayRef<Expr> input,
                                 ArrayRef<Expr> result) {
  SmallVector<AxisGroup> groups;
  size_t i = 0, r = 0;
  auto take = [&](ArrayRef<Expr> dims, size_t &at) {
    return at < dims.size() ? dims[at++] : Expr::constant(context, 1);
  };
  while (i < input.size() || r < result.size()) {
    AxisGroup group{i, 0, r, 0};
    Expr left = take(input, i), right = take(result, r);
    while (left != right) {
      if (left && right && right.exactDiv(left) && i < input.size()) {
        left = left * input[i++];
      } else if (left && right && left.exactDiv(right) && r < result.size()) {
        right = right * result[r++];
      } else {
        i = input.size();
        r = result.size();
        break;
      }
    }
    group.inputEnd = i;
    group.resultEnd = r;
    groups.push_back(group);
  }
  return groups;
}

Value reshape(Emitter &e, graph::ReshapeOp op, ArrayRef<Value> index) {
  Indices inputDims = e.dimsOf(op.getInput()), dims = e.dimsOf(op.getResult());
  Indices from;
  for (const AxisGroup &group :
       groupAxes(op.getContext(), graph::getDims(op.getInput()),
                 graph::getDims(op.getResult()))) {
    auto slice = [](ArrayRef<Value> values, size_t begin, size_t end) {
      return values.slice(begin, end - begin);
    };
    Value position =
        e.linearise(slice(index, group.resultBegin, group.resultEnd),
                    slice(dims, group.resultBegin, group.resultEnd));
    llvm::append_range(
        from, e.delinearise(position, slice(inputDims, group.inputBegin,
                                            group.inputEnd)));
  }
  return e.element(op.getInput(), from);
}

Value transpose(Emitter &e, graph::TransposeOp op, ArrayRef<Value> index) {
  Indices from(index.size());
  for (auto [i, axis] : llvm::enumerate(op.getPermutation()))
    from[axis] = index[i];
  return e.element(op.getInput(), from);
}

Value slice(Emitter &e, graph::SliceOp op, ArrayRef<Value> index) {
  Indices from;
  for (size_t i = 0; i < index.size(); ++i)
    from.push_back(e.add(e.valueOf(op.getStarts()[i]),
                         e.mul(index[i], e.valueOf(op.getSteps()[i]))));
  return e.element(op.getInput(), from);
}

Value windows(Emitter &e, graph::WindowsOp op, ArrayRef<Value> index) {
  int64_t axis = op.getAxis();
  auto scaled = [&](Value position, int64_t factor) {
    return factor == 1 ? position : e.mul(position, e.number(factor));
  };
  Indices from(index.take_front(axis));
  from.push_back(e.add(scaled(index[axis], op.getStride()),
                       scaled(index[axis + 1], op.getStep())));
  llvm::append_range(from, index.drop_front(axis + 2));
  return e.element(op.getInput(), from);
}

/// The element among operands [first, end), `index` counting from the first;
/// halving keeps the branches shallow.
Value concat(Emitter &e, graph::ConcatOp op, ArrayRef<Value> index,
             size_t first, size_t end) {
  if (first + 1 == end)
    return e.element(op.getInputs()[first], index);
  size_t axis = op.getAxis(), middle = (first + end) / 2;
  Value size = e.atEntry([&] {
    Value sum = e.number(0);
    for (size_t i = first; i < middle; ++i)
      sum = e.add(sum, e.valueOf(graph::getDim(op.getInputs()[i], axis)));
    return sum;
  });
  return e.branch(
      e.less(index[axis], size),
      [&] { return concat(e, op, index, first, middle); },
      [&] {
        Indices rest(index);
        rest[axis] = e.sub(index[axis], size);
        return concat(e, op, rest, middle, end);
      });
}

/// The position inside [0, size) that stands for `position`, by the mode.
Value wrapped(Emitter &e, Value position, Value size, graph::PadMode mode) {
  Value last = e.sub(size, e.number(1));
  switch (mode) {
  case graph::PadMode::Constant:
    return position;
  case graph::PadMode::Edge:
    return e.max(e.number(0), e.min(position, last));
  case graph::PadMode::Wrap:
    return e.floorMod(position, e.max(size, e.number(1)));
  case graph::PadMode::Reflect: {
    Value period = e.max(e.mul(last, e.number(2)), e.number(1));
    Value inside = e.floorMod(position, period);
    return e.min(inside, e.sub(period, inside));
  }
  }
  llvm_unreachable("all modes");
}

/// The element at an index that has been checked, unless an axis that was
/// indexed has no element at all.
Value guarded(Emitter &e, Value input, ArrayRef<Value> index,
              ArrayRef<int64_t> axes) {
  Value some;
  for (int64_t axis : axes) {
    Expr dim = graph::getDim(input, axis);
    if (dim.isPositive())
      continue;
    Value holds = e.less(e.number(0), e.valueOf(dim));
    some = some ? e.both(some, holds) : holds;
  }
  if (!some)
    return e.element(input, index);
  Type type; // Of one element, or of lanes.
  return e.branch(
      some,
      [&] {
        Value value = e.element(input, index);
        type = value.getType();
        return value;
      },
      [&] { return e.zero(type); });
}

Value gather(Emitter &e, graph::GatherOp op, ArrayRef<Value> index) {
  int64_t axis = op.getAxis(), count = graph::getRank(op.getIndices());
  Value picked = e.checkedIndex(op, index.slice(axis, count));
  Indices from(index.take_front(axis));
  from.push_back(picked);
  llvm::append_range(from, index.drop_front(axis + count));
  return guarded(e, op.getInput(), from, axis);
}

Value gatherElements(Emitter &e, graph::GatherElementsOp op,
                     ArrayRef<Value> index) {
  int64_t axis = op.getAxis();
  Indices from(index);
  from[axis] =
      e.checkedIndex(op.getIndices(), index,
                     e.valueOf(graph::getDim(op.getInput(), axis)), op);
  return guarded(e, op.getInput(), from, axis);
}

Value gatherNd(Emitter &e, graph::GatherNdOp op, ArrayRef<Value> index) {
  SmallVector<Expr> indexDims = graph::getDims(op.getIndices());
  size_t lead = indexDims.size() - 1, batch = op.getBatchDims();
  Indices from(index.take_front(batch));
  SmallVector<int64_t> axes;
  for (int64_t k = 0, depth = *indexDims.back().asConstant(); k < depth; ++k) {
    Indices at(index.take_front(lead));
    at.push_back(e.number(k));
    axes.push_back(batch + k);
    from.push_back(
        e.checkedIndex(op.getIndices(), at,
                       e.valueOf(graph::getDim(op.getInput(), batch + k)), op));
  }
  llvm::append_range(from, index.drop_front(lead));
  return guarded(e, op.getInput(), from, axes);
}

/// Which elements of a row make element `at` of it: pair i holds `first` and
/// `second`, and `at` is the second one or the first.
struct RotaryPair {
  Value i, first, second, isSecond;
};

RotaryPair pairOf(Emitter &e, graph::RotaryOp op, Value at, Value half) {
  if (op.getInterleaved()) {
    Value two = e.number(2), i = e.div(at, two), first = e.mul(i, two);
    return {i, first, e.add(first, e.number(1)),
            e.equal(e.rem(at, two), e.number(1))};
  }
  Value isSecond = e.less(e.sub(half, e.number(1)), at);
  Value i = e.select(isSecond, e.sub(at, half), at);
  return {i, i, e.add(i, half), isSecond};
}

Value rotated(Emitter &e, graph::RotaryOp op, ArrayRef<Value> index,
              Value half) {
  RotaryPair pair = pairOf(e, op, index[3], half);
  auto element = [&](Value at) {
    return e.element(op.getInput(), {index[0], index[1], index[2], at});
  };
  SmallVector<Expr> dims = graph::getDims(op.getInput());
  Value batch =
      e.broadcastAxis(index[0], dims[0], graph::getDim(op.getCos(), 0));
  auto angle = [&](Value table) {
    return e.element(table, {batch, index[2], pair.i});
  };
  Value first = element(pair.first), second = element(pair.second);
  Value cos = angle(op.getCos()), sin = angle(op.getSin());
  Value own = e.select(pair.isSecond, second, first);
  Value other = e.select(pair.isSecond, first,
                         arith::NegFOp::create(e.b, second).getResult());
  Value sum = arith::AddFOp::create(e.b, arith::MulFOp::create(e.b, own, cos),
                                    arith::MulFOp::create(e.b, other, sin));
  return roundTo(e.b, sum, graph::getElementType(op.getResult()));
}

/// Pairs turn by their angles; what lies behind them stays.
Value rotary(Emitter &e, graph::RotaryOp op, ArrayRef<Value> index) {
  Expr half = graph::getDim(op.getCos(), 2);
  Value count = e.valueOf(half);
  if (half * 2 == graph::getDim(op.getInput(), 3))
    return rotated(e, op, index, count);
  return e.branch(
      e.less(index[3], e.mul(count, e.number(2))),
      [&] { return rotated(e, op, index, count); },
      [&] { return e.element(op.getInput(), index); });
}

Value iota(Emitter &e, graph::IotaOp op, ArrayRef<Value> index) {
  return emitCast(e.b, index[0], e.b.getI64Type(),
                  graph::getElementType(op.getResult()));
}

} // namespace

Value Emitter::checkedIndex(graph::GatherOp op, ArrayRef<Value> index) {
  Value size = valueOf(graph::getDim(op.getInput(), op.getAxis()));
  return checkedIndex(op.getIndices(), index, size, op);
}

Value Emitter::checkedIndex(Value tensor, ArrayRef<Value> index, Value size,
                            Operation *op) {
  Value value = emitCast(b, element(tensor, index),
                         graph::getElementType(tensor), b.getI64Type());
  value = select(less(value, number(0)), add(value, size), value);
  Value bad = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, value, size);
  fault(bad, TENON_FAULT_INDEX, op);
  return select(bad, number(0), value);
}

Value emitPad(Emitter &e, graph::PadOp op, ArrayRef<Value> index,
              PadPart part) {
  bool isConstant = op.getMode() == graph::PadMode::Constant;
  if (isConstant && part == PadPart::Outside)
    return e.element(op.getValue(), {});
  Indices from, dims = e.dimsOf(op.getInput());
  Value inside;
  SmallVector<Expr> sizes = graph::getDims(op.getInput());
  SmallVector<Expr> results = graph::getDims(op.getResult());
  for (size_t i = 0; i < index.size(); ++i) {
    Expr low = op.getLow()[i];
    if (low.isConstant(0) && sizes[i] == results[i]) {
      from.push_back(index[i]);
      continue;
    }
    Value position = e.sub(index[i], e.valueOf(low));
    if (i + 1 == index.size() && part == PadPart::Inside) {
      from.push_back(position);
      continue;
    }
    position = wrapped(e, position, dims[i], op.getMode());
    from.push_back(position);
    // Other modes leave the input only where it has no element.
    if (!isConstant && sizes[i].isPositive())
      continue;
    Value holds =
        e.both(e.less(e.number(-1), position), e.less(position, dims[i]));
    inside = inside ? e.both(inside, holds) : holds;
  }
  if (!inside)
    return e.element(op.getInput(), from);
  return e.branch(
      inside, [&] { return e.element(op.getInput(), from); },
      [&] {
        return isConstant
                   ? e.element(op.getValue(), {})
                   : e.zero(computeType(graph::getElementType(op.getInput())));
      });
}

Value emitMovement(Emitter &e, Operation *op, ArrayRef<Value> index) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](graph::ReshapeOp op) { return reshape(e, op, index); })
      .Case([&](graph::BroadcastOp op) {
        return e.element(op.getInput(),
                         e.broadcastIndex(index, graph::getDims(op.getResult()),
                                          op.getInput()));
      })
      .Case([&](graph::TransposeOp op) { return transpose(e, op, index); })
      .Case([&](graph::SliceOp op) { return slice(e, op, index); })
      .Case([&](graph::ConcatOp op) {
        return concat(e, op, index, 0, op.getInputs().size());
      })
      .Case([&](graph::PadOp op) { return emitPad(e, op, index); })
      .Case([&](graph::GatherOp op) { return gather(e, op, index); })
      .Case([&](graph::GatherElementsOp op) {
        return gatherElements(e, op, index);
      })
      .Case([&](graph::GatherNdOp op) { return gatherNd(e, op, index); })
      .Case([&](graph::RotaryOp op) { return rotary(e, op, index); })
      .Case([&](graph::WindowsOp op) { return windows(e, op, index); })
      .Case([&](graph::IotaOp op) { return iota(e, op, index); })
      .Case<graph::ConstantOp, graph::SizesOp>(
          [&](auto op) { return e.constantElement(op, index); });
}

} // namespace tenon::cpu
