//===- EmitRecurrent.cpp - RNN, GRU and LSTM ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One sequence after another, one step after another; the state stays in f32
// (f64 for f64) and is rounded only where it is stored as a result.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Reduction.h"
#include "compiler/Targets/Cpu/WholeRoots.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using graph::CellKind;

/// An activation function with its parameters.
struct Activation {
  std::string name; // In lower case.
  double alpha, beta, clip;
};

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

class Recurrence {
public:
  Recurrence(Emitter &e, graph::RecurrentOp op, ArrayRef<Value> bases)
      : e(e), b(e.b), op(op), bases(bases),
        element(graph::getElementType(op.getInput())),
        type(computeType(element)), steps(e.dimsOf(op.getInput())[0]),
        batch(e.dimsOf(op.getInput())[1]), width(e.dimsOf(op.getInput())[2]),
        hidden(e.dimsOf(op.getRecurrence())[2]), inputPart(e.scratch(3)),
        h(e.scratch(4)), c(e.scratch(5)), gated(e.scratch(6)) {
    gates = op.getCell() == CellKind::Lstm  ? 4
            : op.getCell() == CellKind::Gru ? 3
                                            : 1;
    units = e.mul(hidden, e.number(gates));
    directions = op.getDirection() == "bidirectional" ? 2 : 1;
  }

  void emit() {
    clearResult();
    for (int64_t d = 0; d < directions; ++d) {
      readActivations(d);
      direction = e.number(d);
      bool isReverse = d == 1 || op.getDirection() == "reverse";
      e.loop(e.number(0), batch,
             [&](Value entry) { sequence(entry, isReverse); });
    }
  }

private:
  using Body = function_ref<void(Value)>;
  void overHidden(Body body) { e.loop(e.number(0), hidden, body); }
  Value load(Value base, Value i) { return e.loadRaw(base, type, i); }
  Value plus(Value x, Value y) { return emitAdd(b, x, y); }
  Value times(Value x, Value y) { return emitMul(b, x, y); }
  Value minus(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value real(double value) { return constantLike(b, type, value); }
  /// Row `which` of the gates.
  Value unit(int64_t which, Value i) {
    return e.add(e.mul(hidden, e.number(which)), i);
  }

  void clearResult() {
    Indices dims = e.dimsOf(op.getAll());
    Value count = e.number(1);
    for (Value dim : dims)
      count = e.mul(count, dim);
    e.loop(e.number(0), count,
           [&](Value i) { e.store(real(0), bases[0], element, i); });
  }

  void readActivations(int64_t d) {
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

  Value activate(size_t which, Value x) {
    const Activation &f = activations[which];
    if (f.clip > 0) {
      x = emitMax(b, x, real(-f.clip), type);
      x = emitMin(b, x, real(f.clip), type);
    }
    auto positive = [&](double bound) -> Value {
      return arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x,
                                   real(bound));
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
  Value optional(Value tensor, ArrayRef<Value> index) {
    return tensor ? e.element(tensor, index) : real(0);
  }

  Value dot(Value count, function_ref<Value(Value)> left,
            function_ref<Value(Value)> right) {
    return e.loop(e.number(0), count, real(0),
                  [&](Value i, ValueRange carried) {
                    return SmallVector<Value>{
                        addInAnyOrder(e, carried[0], times(left(i), right(i)))};
                  })[0];
  }

  /// x W^T + Wb of a gate's unit at a step.
  Value project(Value u, Value step, Value entry) {
    Value sum = dot(
        width,
        [&](Value i) { return e.element(op.getInput(), {step, entry, i}); },
        [&](Value i) { return e.element(op.getWeights(), {direction, u, i}); });
    return plus(sum, optional(op.getBias(), {direction, u}));
  }

  /// s R^T + Rb of a gate's unit, for a state s.
  Value recur(Value u, Value state) {
    Value sum = dot(
        hidden, [&](Value i) { return load(state, i); },
        [&](Value i) {
          return e.element(op.getRecurrence(), {direction, u, i});
        });
    return plus(sum, optional(op.getBias(), {direction, e.add(units, u)}));
  }

  Value peep(int64_t which, Value i, Value state) {
    if (!op.getPeepholes())
      return real(0);
    return times(e.element(op.getPeepholes(), {direction, unit(which, i)}),
                 state);
  }

  /// Sums of all gates; a unit of the last one of a GRU is left to its step.
  void sumGates(Value step, Value entry) {
    bool isGru = op.getCell() == CellKind::Gru;
    e.loop(e.number(0), units, [&](Value u) {
      Value sum = project(u, step, entry);
      if (!isGru)
        sum = plus(sum, recur(u, h));
      e.storeRaw(sum, inputPart, u);
      if (isGru)
        e.storeRaw(recur(u, h), inputPart, e.add(units, u));
    });
  }

  void stepRnn() {
    overHidden(
        [&](Value i) { e.storeRaw(activate(0, load(inputPart, i)), h, i); });
  }

  /// Gates z, r, h.
  void stepGru() {
    auto sum = [&](Value u) {
      return plus(load(inputPart, u), load(inputPart, e.add(units, u)));
    };
    overHidden([&](Value i) {
      Value update = activate(0, sum(i));
      Value reset = activate(0, sum(unit(1, i)));
      e.storeRaw(update, inputPart, i);
      e.storeRaw(reset, inputPart, unit(1, i));
      e.storeRaw(times(reset, load(h, i)), gated, i);
    });
    overHidden([&](Value i) {
      Value u = unit(2, i);
      Value past = op.getLinearBeforeReset()
                       ? times(load(inputPart, unit(1, i)),
                               load(inputPart, e.add(units, u)))
                       : recur(u, gated);
      Value update = load(inputPart, i);
      Value next = activate(1, plus(load(inputPart, u), past));
      e.storeRaw(
          plus(times(minus(real(1), update), next), times(update, load(h, i))),
          h, i);
    });
  }

  /// Gates i, o, f, c; peepholes i, o, f.
  void stepLstm() {
    overHidden([&](Value i) {
      auto gate = [&](int64_t which) {
        return load(inputPart, unit(which, i));
      };
      Value old = load(c, i);
      Value input = activate(0, plus(gate(0), peep(0, i, old)));
      Value forget = op.getInputForget()
                         ? minus(real(1), input)
                         : activate(0, plus(gate(2), peep(2, i, old)));
      Value next = plus(times(forget, old), times(input, activate(1, gate(3))));
      Value output = activate(0, plus(gate(1), peep(1, i, next)));
      e.storeRaw(next, c, i);
      e.storeRaw(times(output, activate(2, next)), h, i);
    });
  }

  Value lengthOf(Value entry) {
    if (!op.getLengths())
      return steps;
    Type indexType = graph::getElementType(op.getLengths());
    Value length = emitCast(b, e.element(op.getLengths(), {entry}), indexType,
                            b.getI64Type());
    e.fault(e.either(e.less(length, e.number(0)), e.less(steps, length)),
            TENON_FAULT_VALUE, op);
    return e.max(e.number(0), e.min(length, steps));
  }

  void storeState(Value state, Value base, Value position) {
    overHidden([&](Value i) {
      e.store(roundTo(b, load(state, i), element), base, element,
              e.add(e.mul(position, hidden), i));
    });
  }

  void sequence(Value entry, bool isReverse) {
    overHidden([&](Value i) {
      e.storeRaw(optional(op.getInitialH(), {direction, entry, i}), h, i);
      e.storeRaw(gates == 4 ? optional(op.getInitialC(), {direction, entry, i})
                            : real(0),
                 c, i);
    });
    Value length = lengthOf(entry);
    e.loop(e.number(0), length, [&](Value i) {
      Value step = isReverse ? e.sub(e.sub(length, e.number(1)), i) : i;
      sumGates(step, entry);
      if (gates == 4)
        stepLstm();
      else if (gates == 3)
        stepGru();
      else
        stepRnn();
      Value position = e.add(
          e.mul(e.add(e.mul(step, e.number(directions)), direction), batch),
          entry);
      storeState(h, bases[0], position);
    });
    Value position = e.add(e.mul(direction, batch), entry);
    storeState(h, bases[1], position);
    storeState(c, bases[2], position);
  }

  Emitter &e;
  ImplicitLocOpBuilder &b;
  graph::RecurrentOp op;
  ArrayRef<Value> bases;
  Type element, type;
  Value steps, batch, width, hidden, inputPart, h, c, gated, units, direction;
  int64_t gates, directions;
  SmallVector<Activation> activations;
};

} // namespace

bool emitRecurrent(Emitter &e, Operation *root) {
  auto op = dyn_cast<graph::RecurrentOp>(root);
  if (!op)
    return false;
  emitWhole(e, root,
            [&](ArrayRef<Value> bases) { Recurrence(e, op, bases).emit(); });
  return true;
}

} // namespace tenon::cpu
