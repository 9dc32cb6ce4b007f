//===- EmitRecurrent.cpp - RNN, GRU and LSTM ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On CPUs one sequence after another, by one thread.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Recurrence.h"
#include "compiler/Targets/Cpu/Reduction.h"
#include "compiler/Targets/Cpu/WholeRoots.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using graph::CellKind;

struct ActivationDefaults {
  StringLiteral name;
  double alpha, beta;
};
constexpr ActivationDefaults knownActivations[] = {
    {"affine", 1, 0},
    {"elu", 1, 0},
    {"hardsigmoid", 0.2, 0.5},
    {"leakyrelu", 0.01, 0},
    {"relu", 0, 0},
    {"scaledtanh", 1, 1},
    {"sigmoid", 0, 0},
    {"softplus", 0, 0},
    {"softsign", 0, 0},
    {"tanh", 0, 0},
    {"thresholdedrelu", 1, 0},
};

int64_t gatesOf(graph::RecurrentOp op) {
  return op.getCell() == CellKind::Lstm  ? 4
         : op.getCell() == CellKind::Gru ? 3
                                         : 1;
}

} // namespace

Recurrence::Recurrence(Emitter &e, graph::RecurrentOp op, ArrayRef<Value> bases,
                       State state, Type type, int64_t entries)
    : gates(gatesOf(op)),
      directions(op.getDirection() == "bidirectional" ? 2 : 1),
      entries(entries), batch(e.dimsOf(op.getInput())[1]), e(e), op(op),
      element(graph::getElementType(op.getInput())),
      type(type ? type : computeType(element)),
      steps(e.dimsOf(op.getInput())[0]), width(e.dimsOf(op.getInput())[2]),
      hidden(e.dimsOf(op.getRecurrence())[2]),
      units(e.mul(hidden, e.number(gates))), state(state), b(e.b),
      bases(bases) {}

//===----------------------------------------------------------------------===//
// By one thread
//===----------------------------------------------------------------------===//

void Recurrence::overUnits(Value count, Body body) {
  e.loop(e.number(0), count, body);
}
void Recurrence::overSums(Value count, Body body) {
  e.loop(e.number(0), count, body);
}
Value Recurrence::sum(Value count, Term term) {
  return e.loop(e.number(0), count, real(0), [&](Value i, ValueRange carried) {
    return SmallVector<Value>{addInAnyOrder(e, carried[0], term(i))};
  })[0];
}
void Recurrence::keep(Value value, Value base, Value i) {
  e.storeRaw(value, base, i);
}

Value Recurrence::at(Value tensor, ArrayRef<Value> index) {
  return e.element(tensor, index);
}
Value Recurrence::load(Value base, Value i) { return e.loadRaw(base, type, i); }
void Recurrence::put(Value value, Value base, Value i) {
  e.storeRaw(value, base, i);
}
void Recurrence::putResult(Value value, Value base, Value i) {
  e.store(roundTo(b, value, element), base, element, i);
}

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

Value Recurrence::plus(Value x, Value y) { return emitAdd(b, x, y); }
Value Recurrence::times(Value x, Value y) { return emitMul(b, x, y); }
Value Recurrence::minus(Value x, Value y) {
  return arith::SubFOp::create(b, x, y);
}
Value Recurrence::real(double value) { return constantLike(b, type, value); }

Value Recurrence::unit(int64_t which, Value i) {
  return e.add(e.mul(hidden, e.number(which)), i);
}

void Recurrence::readActivations(int64_t d) {
  size_t count = gates == 4 ? 3 : gates == 3 ? 2 : 1;
  activations.clear();
  for (size_t i = d * count; i < (d + 1) * count; ++i) {
    std::string name;
    if (i < op.getActivations().size())
      name = cast<StringAttr>(op.getActivations()[i]).getValue().lower();
    auto known = llvm::find_if(
        knownActivations, [&](const auto &row) { return row.name == name; });
    if (known == std::end(knownActivations)) {
      e.giveUp("does not know the activation '" + name + "'");
      known = std::begin(knownActivations);
    }
    activations.push_back(
        {name, i < op.getAlpha().size() ? op.getAlpha()[i] : known->alpha,
         i < op.getBeta().size() ? op.getBeta()[i] : known->beta,
         op.getClip().convertToDouble()});
  }
}

Value Recurrence::activate(size_t which, Value x) {
  const Activation &f = activations[which];
  if (f.clip > 0) {
    x = emitMax(b, x, real(-f.clip), type);
    x = emitMin(b, x, real(f.clip), type);
  }
  auto positive = [&](double bound) -> Value {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, real(bound));
  };
  if (f.name == "sigmoid")
    return emitSigmoid(b, e, x);
  if (f.name == "tanh")
    return emitTanh(b, e, x);
  if (f.name == "relu")
    return emitMax(b, x, real(0), type);
  if (f.name == "softplus")
    return emitSoftplus(b, e, x);
  if (f.name == "affine")
    return plus(times(real(f.alpha), x), real(f.beta));
  if (f.name == "elu")
    return e.select(
        positive(0), x,
        times(real(f.alpha), emitMathCall(b, e, TENON_MATH_EXPM1, x)));
  if (f.name == "hardsigmoid") {
    Value y = plus(times(real(f.alpha), x), real(f.beta));
    return emitMin(b, emitMax(b, y, real(0), type), real(1), type);
  }
  if (f.name == "leakyrelu")
    return e.select(positive(0), x, times(real(f.alpha), x));
  if (f.name == "scaledtanh")
    return times(real(f.alpha), emitTanh(b, e, times(real(f.beta), x)));
  if (f.name == "softsign")
    return arith::DivFOp::create(b, x,
                                 plus(real(1), math::AbsFOp::create(b, x)));
  return e.select(positive(f.alpha), x, real(0)); // thresholdedrelu
}

/// The elements of an optional operand, or 0.
Value Recurrence::optional(Value tensor, ArrayRef<Value> index) {
  return tensor ? at(tensor, index) : real(0);
}

Indices Recurrence::projected(Value u) {
  return {place, entry, e.add(e.mul(direction, units), u)};
}

/// x W^T + Wb of a gate's unit at the current step.
Value Recurrence::project(Value u) {
  if (!op.getWeights())
    return at(op.getInput(), projected(u));
  Value all = sum(width, [&](Value i) {
    return times(e.element(op.getInput(), {place, entry, i}),
                 e.element(op.getWeights(), {direction, u, i}));
  });
  return plus(all, optional(op.getBias(), {direction, u}));
}

/// s R^T + Rb of a gate's unit, for a state s.
Value Recurrence::recur(Value u, Value from) {
  Value all = sum(hidden, [&](Value i) {
    return times(load(from, i),
                 e.element(op.getRecurrence(), {direction, u, i}));
  });
  return withBias(all, u);
}

Value Recurrence::withBias(Value sum, Value u) {
  if (!op.getBias())
    return sum;
  return plus(sum, at(op.getBias(), {direction, e.add(units, u)}));
}

Value Recurrence::peep(int64_t which, Value i, Value cell) {
  if (!op.getPeepholes())
    return real(0);
  return times(at(op.getPeepholes(), {direction, unit(which, i)}), cell);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void Recurrence::sumGates() {
  overSums(units, [&](Value u) {
    Value all = project(u);
    if (!isGru())
      all = plus(all, recur(u, state.h));
    keep(all, state.sums, u);
    if (isGru())
      keep(recur(u, state.h), state.sums, e.add(units, u));
  });
}

/// A unit's state behind the current step.
void Recurrence::setState(Value next, Value i) {
  put(next, state.next, i);
  if (bases[0])
    putResult(next, bases[0], e.add(e.mul(position, hidden), i));
}

void Recurrence::finishRnn(Value i, Value sum) {
  setState(activate(0, sum), i);
}

void Recurrence::finishGru(Value i, Value update, Value input, Value past) {
  Value next = activate(1, plus(input, past));
  setState(plus(times(minus(real(1), update), next),
                times(update, load(state.h, i))),
           i);
}

/// Gates i, o, f, c; peepholes i, o, f.
void Recurrence::finishLstm(Value i, GateOf sumOf) {
  Value old = load(state.c, i);
  Value input = activate(0, plus(sumOf(0), peep(0, i, old)));
  Value forget = op.getInputForget()
                     ? minus(real(1), input)
                     : activate(0, plus(sumOf(2), peep(2, i, old)));
  Value next = plus(times(forget, old), times(input, activate(1, sumOf(3))));
  Value output = activate(0, plus(sumOf(1), peep(1, i, next)));
  put(next, state.c, i);
  setState(times(output, activate(2, next)), i);
}

void Recurrence::step() {
  sumGates();
  meet();
  auto sumOf = [&](int64_t gate, Value i) {
    return load(state.sums, unit(gate, i));
  };
  if (isGru())
    stepGru();
  else
    overUnits(hidden, [&](Value i) {
      if (gates == 4)
        finishLstm(i, [&](int64_t gate) { return sumOf(gate, i); });
      else
        finishRnn(i, sumOf(0, i));
    });
  meet();
}

/// Gates z, r, h. The last one's sum is of what r leaves of the state, or what
/// r leaves of the sum.
void Recurrence::stepGru() {
  auto pastOf = [&](int64_t gate, Value i) {
    return load(state.sums, e.add(units, unit(gate, i)));
  };
  auto gate = [&](int64_t which, Value i) {
    return activate(0,
                    plus(load(state.sums, unit(which, i)), pastOf(which, i)));
  };
  auto finish = [&](Value i, Value update, Value past) {
    finishGru(i, update, load(state.sums, unit(2, i)), past);
  };
  if (op.getLinearBeforeReset())
    return overUnits(hidden, [&](Value i) {
      Value update = gate(0, i), reset = gate(1, i);
      finish(i, update, times(reset, pastOf(2, i)));
    });
  overUnits(hidden, [&](Value i) {
    Value update = gate(0, i), reset = gate(1, i);
    put(update, state.sums, i);
    put(times(reset, load(state.h, i)), state.gated, i);
  });
  meet();
  overSums(hidden, [&](Value i) {
    Value u = unit(2, i);
    keep(recur(u, state.gated), state.sums, e.add(units, u));
  });
  meet();
  overUnits(hidden,
            [&](Value i) { finish(i, load(state.sums, i), pastOf(2, i)); });
}

Value Recurrence::lengthOf(Value which, bool isNew) {
  if (!op.getLengths())
    return steps;
  Type indexType = graph::getElementType(op.getLengths());
  Value own = emitCast(b, e.element(op.getLengths(), {which}), indexType,
                       b.getI64Type());
  if (isNew)
    e.fault(e.either(e.less(own, e.number(0)), e.less(steps, own)),
            TENON_FAULT_VALUE, op);
  return e.max(e.number(0), e.min(own, steps));
}

void Recurrence::enter(Value which) {
  entry = which;
  if (!turn)
    return;
  place = isReverse ? e.sub(e.sub(length, e.number(1)), turn) : turn;
  position = positionOf(place);
}

/// Of the current entry's state behind a step, among all states.
Value Recurrence::positionOf(Value at) {
  Value row = e.add(e.mul(at, e.number(directions)), direction);
  return e.add(e.mul(row, batch), entry);
}

/// What a sequence leaves.
void Recurrence::storeState(Value State::*from, Value base) {
  if (!base)
    return;
  overUnits(hidden, [&](Value i) {
    Value place = e.mul(positionOf(e.number(0)), hidden);
    putResult(load(state.*from, i), base, e.add(place, i));
  });
}

void Recurrence::group(Value number) {
  Value groups = e.ceilDiv(batch, e.number(entries));
  Value which = e.div(number, groups);
  Value from = e.mul(e.rem(number, groups), e.number(entries));
  for (int64_t d = 0; d < directions; ++d)
    e.ifThen(e.equal(which, e.number(d)), [&] { group(d, from); });
}

void Recurrence::group(int64_t d, Value from) {
  readActivations(d);
  first = from;
  direction = e.number(d);
  isReverse = d == 1 || op.getDirection() == "reverse";
  turn = {};
  isOver = false;
  enter(first);
  overUnits(hidden, [&](Value i) {
    put(optional(op.getInitialH(), {direction, entry, i}), state.h, i);
    put(gates == 4 ? optional(op.getInitialC(), {direction, entry, i})
                   : real(0),
        state.c, i);
  });
  meet();
  e.loop(e.number(0), longest(), [&](Value i) {
    turn = i;
    if (entries == 1)
      enter(first);
    step();
  });
  turn = {};
  isOver = true;
  enter(first);
  if (bases[0] && op.getLengths())
    overUnits(hidden, [&](Value i) {
      e.loop(length, steps, [&](Value at) {
        putResult(real(0), bases[0], e.add(e.mul(positionOf(at), hidden), i));
      });
    });
  storeState(&State::h, bases[1]);
  storeState(&State::c, bases[2]);
  meet();
}

bool emitRecurrent(Emitter &e, Operation *root) {
  auto op = dyn_cast<graph::RecurrentOp>(root);
  if (!op)
    return false;
  emitWhole(e, root, [&](ArrayRef<Value> bases) {
    Recurrence cells(
        e, op, bases,
        {e.scratch(3), e.scratch(4), e.scratch(5), e.scratch(6), e.scratch(4)});
    for (int64_t d = 0; d < cells.directions; ++d)
      e.loop(e.number(0), cells.batch,
             [&](Value entry) { cells.group(d, entry); });
  });
  return true;
}

} // namespace tenon::cpu
