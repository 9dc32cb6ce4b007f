//===- StateColumns.cpp - Attention by a state, column by column ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step goes once over the rows of a state, to decay and add to them. While a
// row is in a register, the heads that read the state multiply it, and where
// the next step corrects what the state holds for its key, so does that key.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/StateColumns.h"
#include "compiler/Targets/Cpu/Formulas.h"
#include "compiler/Targets/Cpu/RecurrentSums.h"
#include "compiler/Targets/Cpu/WholeRoots.h"
#include "dialects/Kernel/LinearAttentionView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

constexpr int64_t floatBytes = 4;
/// Heads that multiply a row in one pass, and sums that do not wait for each
/// other.
constexpr int64_t mostHeads = 4, chains = 4;
/// How far ahead operands are fetched: the next step's key is read by this one.
constexpr int64_t stepsAhead = 3;
/// Numbers of an operand; the hardware follows those that lie together.
constexpr int64_t mostFetched = 512;

Value times(Emitter &e, Value x, Value y) {
  return arith::MulFOp::create(e.b, x, y);
}
Value multiplyAdd(Emitter &e, Value x, Value y, Value sum) {
  return LLVM::FMAOp::create(e.b, x, y, sum);
}

} // namespace

StateColumns::StateColumns(Emitter &e, graph::LinearAttentionOp op,
                           ArrayRef<Value> results, Type type)
    : e(e), op(op), results(results), f32(e.b.getF32Type()), type(type),
      group(kernel::LinearAttentionView(op).group),
      steps(e.dimsOf(op.getQuery())[1]), depth(e.dimsOf(op.getQuery())[3]) {}

Value StateColumns::all(Value number) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector::BroadcastOp::create(e.b, vector, number).getResult()
                : number;
}

Value StateColumns::zero() { return constantLike(e.b, type, 0); }

/// Elements of the last axis from an index on.
Value StateColumns::columnsOf(Value tensor, ArrayRef<Value> index) {
  if (type == f32)
    return e.element(tensor, index);
  Value base = e.argumentBuffer(cast<BlockArgument>(tensor).getArgNumber());
  Value place = e.address(base, f32, e.linearise(index, e.dimsOf(tensor)));
  return LLVM::LoadOp::create(e.b, type, place, floatBytes);
}

void StateColumns::putResult(unsigned result, ArrayRef<Value> index,
                             Value columns) {
  Value position = e.linearise(index, e.dimsOf(op.getResult(result)));
  LLVM::StoreOp::create(e.b, columns, e.address(results[result], f32, position),
                        floatBytes);
}

Value StateColumns::rowAt(Value i) {
  return e.address(here.area, f32, e.mul(i, here.stride));
}
Value StateColumns::loadRow(Value i) {
  return LLVM::LoadOp::create(e.b, type, rowAt(i), floatBytes);
}
void StateColumns::storeRow(Value row, Value i) {
  LLVM::StoreOp::create(e.b, row, rowAt(i), floatBytes);
}

/// A row as it comes to the current step.
Value StateColumns::decayed(Value t, Value i) {
  Value row = loadRow(i);
  if (!op.getDecay())
    return row;
  if (factor)
    return times(e, row, factor);
  return times(e, row,
               all(e.element(op.getDecay(), {here.entry, t, here.state, i})));
}

/// Sums over the rows, some of them at once.
SmallVector<Value> StateColumns::overRows(int64_t sums, Term term) {
  int64_t step = std::max<int64_t>(chains / sums, 1);
  if (getConstantIntValue(depth).value_or(1) % step != 0)
    step = 1;
  return sumSteps(e, depth, sums, step, zero(), term);
}

Value StateColumns::headAt(Value first, int64_t number) {
  return e.add(e.mul(here.state, e.number(group)),
               e.add(first, e.number(number)));
}

/// What a row gives to heads of the state, from number `first` on.
void StateColumns::addHeads(Value t, Value i, Value row,
                            MutableArrayRef<Value> sums, Value first) {
  for (auto [number, sum] : llvm::enumerate(sums)) {
    Value query =
        e.element(op.getQuery(), {here.entry, t, headAt(first, number), i});
    sum = multiplyAdd(e, all(query), row, sum);
  }
}

void StateColumns::putHeads(Value t, ArrayRef<Value> sums, Value first) {
  Value scale = constantLike(e.b, type, op.getScale().convertToDouble());
  for (auto [number, sum] : llvm::enumerate(sums))
    putResult(0, {here.entry, t, headAt(first, number), here.column},
              times(e, scale, sum));
}

/// What a state's rows are multiplied by to see what it holds for a step's key,
/// as it is before that step; but for the decay of all its rows.
Value StateColumns::coefficient(Value t, Value i) {
  Value key = e.element(op.getKey(), {here.entry, t, here.state, i});
  if (op.getDecay() && !decaysAsOne())
    key =
        times(e, key, e.element(op.getDecay(), {here.entry, t, here.state, i}));
  return all(key);
}

bool StateColumns::decaysAsOne() {
  return graph::getDims(op.getDecay()).back().isConstant(1);
}

/// What is added to the state along the key: `seen` is the sum of its rows by
/// their coefficients.
Value StateColumns::addedAt(Value t, Value seen) {
  Value value =
      columnsOf(op.getValue(), {here.entry, t, here.state, here.column});
  Value beta = op.getBeta();
  if (!beta)
    return value;
  if (factor)
    seen = times(e, factor, seen);
  bool isShared = graph::getDims(beta).back().isConstant(1);
  Value rate =
      e.element(beta, {here.entry, t, isShared ? e.number(0) : here.state});
  return times(e, all(rate), arith::SubFOp::create(e.b, value, seen));
}

/// Rows of steps lie pages apart, which the hardware does not follow. Where
/// they begin on the CPU, `size` numbers of them are fetched; behind the last
/// step that is what nobody reads.
void StateColumns::fetch(Value tensor, ArrayRef<Value> index, int64_t size) {
  constexpr int64_t line = 16;
  Value base = e.argumentBuffer(cast<BlockArgument>(tensor).getArgNumber());
  Value place = e.linearise(index, e.dimsOf(tensor));
  for (int64_t i = 0; i < std::min(size, mostFetched); i += line)
    LLVM::Prefetch::create(e.b, e.address(base, f32, e.add(place, e.number(i))),
                           /*rw=*/0, /*hint=*/3, /*cache=*/1);
}

void StateColumns::fetchStep(Value t) {
  auto vector = dyn_cast<VectorType>(type);
  std::optional<int64_t> size = getConstantIntValue(depth);
  if (!vector || !size)
    return;
  fetch(op.getKey(), {here.entry, t, here.state, e.number(0)}, *size);
  fetch(op.getQuery(), {here.entry, t, headAt(e.number(0), 0), e.number(0)},
        std::min(group, mostHeads) * *size);
  fetch(op.getValue(), {here.entry, t, here.state, here.column},
        vector.getNumElements());
}

/// Gives what is seen for the next step.
Value StateColumns::step(Value t, Value seen) {
  factor = Value();
  if (op.getDecay() && decaysAsOne())
    factor =
        all(e.element(op.getDecay(), {here.entry, t, here.state, e.number(0)}));
  fetchStep(e.add(t, e.number(stepsAhead)));
  Value added = addedAt(t, seen);
  // Behind the last step nobody needs it.
  Value next = e.min(e.add(t, e.number(1)), e.sub(steps, e.number(1)));
  bool looksAhead = op.getBeta() != nullptr;
  int64_t count = (group - 1) % mostHeads + 1;
  Value none = e.number(0);
  SmallVector<Value> sums =
      overRows(count + looksAhead, [&](Value i, MutableArrayRef<Value> sums) {
        Value key = e.element(op.getKey(), {here.entry, t, here.state, i});
        Value row = multiplyAdd(e, all(key), added, decayed(t, i));
        storeRow(row, i);
        addHeads(t, i, row, sums.take_front(count), none);
        if (looksAhead)
          sums.back() = multiplyAdd(e, coefficient(next, i), row, sums.back());
      });
  if (looksAhead)
    seen = sums.pop_back_val();
  putHeads(t, sums, none);
  if (count == group)
    return seen;
  e.loop(
      e.number(count), e.number(group),
      [&](Value first) {
        putHeads(t,
                 overRows(mostHeads,
                          [&](Value i, MutableArrayRef<Value> sums) {
                            Value row = loadRow(i);
                            addHeads(t, i, row, sums, first);
                          }),
                 first);
      },
      mostHeads);
  return seen;
}

void StateColumns::run(const StatePlace &place) {
  here = place;
  auto index = [&](Value i) {
    return Indices{here.entry, here.state, i, here.column};
  };
  e.loop(e.number(0), depth, [&](Value i) {
    Value row = op.getState() ? columnsOf(op.getState(), index(i)) : zero();
    storeRow(row, i);
  });
  Value none = e.number(0), seen = zero();
  if (op.getBeta() && op.getState())
    seen = e.branch(
        e.less(none, steps),
        [&] {
          return overRows(1, [&](Value i, MutableArrayRef<Value> sums) {
            Value row = loadRow(i);
            sums[0] = multiplyAdd(e, coefficient(none, i), row, sums[0]);
          })[0];
        },
        [&] { return zero(); });
  e.loop(none, steps, ValueRange{seen}, [&](Value t, ValueRange carried) {
    return SmallVector<Value>{step(t, carried[0])};
  });
  if (here.isResult)
    return;
  e.loop(e.number(0), depth,
         [&](Value i) { putResult(1, index(i), loadRow(i)); });
}

bool emitLinearAttention(Emitter &e, Operation *root) {
  auto op = dyn_cast<graph::LinearAttentionOp>(root);
  if (!op)
    return false;
  emitWhole(e, root, [&](ArrayRef<Value> bases) {
    StateColumns columns(e, op, bases, e.b.getF32Type());
    Value area = e.scratch(2);
    Indices last = e.dimsOf(op.getLast());
    e.loops({last[0], last[1], last[3]}, [&](ArrayRef<Value> at) {
      columns.run({at[0], at[1], at[2], area, e.number(1)});
    });
  });
  return true;
}

LogicalResult emitStateTiles(Emitter &e) {
  auto op = dyn_cast_if_present<graph::LinearAttentionOp>(
      kernel::findRoot(e.kernel.getBlock()));
  if (!op || kernel::LinearAttentionView(op).columns() == 0)
    return e.kernel.emitOpError("has no state of whole tiles of columns");
  kernel::LinearAttentionView view(op);
  int64_t side = view.columns();
  StateColumns columns(e, op, yieldedBuffers(e, op),
                       VectorType::get({side}, e.b.getF32Type()));
  Value tiles = e.number(view.tiles()), states = e.number(view.states);
  e.loop(e.begin, e.end, [&](Value row) {
    Value state = e.div(row, tiles);
    columns.run({e.div(state, states), e.rem(state, states),
                 e.mul(e.rem(row, tiles), e.number(side)), e.scratch(0),
                 e.number(side)});
  });
  return success();
}

} // namespace tenon::cpu
