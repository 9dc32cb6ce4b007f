//===- Recurrent.cpp - RNN, GRU and LSTM ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The equations of the ONNX operators, one sequence (a direction of one batch
// entry) at a time. The state is carried in float64 and not rounded between
// steps; to bf16 only where it is multiplied, if the op says so.
//
//===----------------------------------------------------------------------===//

#include "compiler/Reference/Call.h"
#include <cmath>

using namespace mlir;

namespace tenon::reference {
namespace {

struct Activation {
  llvm::StringLiteral name;
  double alpha, beta; // Where the model gives none.
  double (*apply)(double x, double alpha, double beta);
};

constexpr Activation activations[] = {
    {"affine", 1, 0, [](double x, double a, double b) { return a * x + b; }},
    {"elu", 1, 0,
     [](double x, double a, double) { return x < 0 ? a * std::expm1(x) : x; }},
    {"hardsigmoid", 0.2, 0.5,
     [](double x, double a, double b) {
       return std::fmin(1, std::fmax(0, a * x + b));
     }},
    {"leakyrelu", 0.01, 0,
     [](double x, double a, double) { return x < 0 ? a * x : x; }},
    {"relu", 0, 0, [](double x, double, double) { return x < 0 ? 0 : x; }},
    {"scaledtanh", 1, 1,
     [](double x, double a, double b) { return a * std::tanh(b * x); }},
    {"sigmoid", 0, 0,
     [](double x, double, double) { return 1 / (1 + std::exp(-x)); }},
    {"softplus", 0, 0,
     [](double x, double, double) {
       return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));
     }},
    {"softsign", 0, 0,
     [](double x, double, double) { return x / (1 + std::fabs(x)); }},
    {"tanh", 0, 0, [](double x, double, double) { return std::tanh(x); }},
    {"thresholdedrelu", 1, 0,
     [](double x, double a, double) { return x > a ? x : 0; }},
};

/// An activation with its parameters, and the clip that comes before it.
struct Squash {
  const Activation *row = nullptr;
  double alpha = 0, beta = 0, clip = 0;

  double operator()(double x) const {
    if (clip > 0)
      x = std::fmin(clip, std::fmax(-clip, x));
    return row->apply(x, alpha, beta);
  }
};

using Row = std::vector<double>;

/// The weights of one direction; null where there are none (of `weights`: the
/// input is projected already).
struct Direction {
  const double *weights, *recurrence, *bias, *peepholes;
  Squash f, g, h;
};

class Cells {
public:
  Cells(Call &call, graph::RecurrentOp op) : call(call), op(op) {}
  llvm::Error run();

private:
  /// Null for an operand that is left out.
  const Tensor *operand(unsigned i) { return optionalOperand(call, op, i); }
  llvm::Error checkShapes();
  llvm::Expected<Squash> activation(size_t i) const;
  llvm::Expected<Direction> direction(int64_t d);
  void sequence(const Direction &dir, int64_t d, int64_t b, bool isReverse,
                int64_t length);
  /// x W^T + Wb for every gate, and h R^T + Rb for one.
  Row project(const Direction &dir, const double *x) const;
  double recur(const Direction &dir, const Row &h, int64_t unit) const;
  Row factor(const Row &state) const;
  double recurBias(const Direction &dir, int64_t unit) const {
    return dir.bias ? dir.bias[gates * hidden + unit] : 0;
  }
  void stepRnn(const Direction &dir, const Row &x, Row &h) const;
  void stepGru(const Direction &dir, const Row &x, Row &h) const;
  void stepLstm(const Direction &dir, const Row &x, Row &h, Row &c) const;

  Call &call;
  mutable graph::RecurrentOp op; // Its getters are not const.
  int64_t steps, batch, width, directions, hidden, gates;
};

llvm::Error Cells::checkShapes() {
  const Tensor &input = call.operands[0], &recurrence = *operand(2);
  if (input.rank() != 3 || recurrence.rank() != 3)
    return fault("input and recurrence must have rank 3");
  steps = input.shape[0], batch = input.shape[1], width = input.shape[2];
  directions = recurrence.shape[0], hidden = recurrence.shape[2];
  gates = op.getCell() == graph::CellKind::Lstm  ? 4
          : op.getCell() == graph::CellKind::Gru ? 3
                                                 : 1;
  if (directions != (op.getDirection() == "bidirectional" ? 2 : 1))
    return fault("recurrence has " + std::to_string(directions) +
                 " directions where " + op.getDirection() + " is declared");
  int64_t rows = gates * hidden;
  Shape state = {directions, batch, hidden};
  struct Expected {
    const Tensor *tensor;
    Shape shape;
    StringRef name;
  } all[] = {{operand(1) ? nullptr : &input,
              {steps, batch, directions * rows},
              "projected input"},
             {operand(1), {directions, rows, width}, "weights"},
             {operand(2), {directions, rows, hidden}, "recurrence"},
             {operand(3), {directions, 2 * rows}, "bias"},
             {operand(4), {batch}, "lengths"},
             {operand(5), state, "initial_h"},
             {operand(6), state, "initial_c"},
             {operand(7), {directions, 3 * hidden}, "peepholes"},
             {&call.results[0], {steps, directions, batch, hidden}, "result"},
             {&call.results[1], state, "last_h"},
             {&call.results[2], state, "last_c"}};
  for (const Expected &one : all)
    if (auto error = expectShape(one.tensor, one.shape, one.name))
      return error;
  return llvm::Error::success();
}

llvm::Expected<Squash> Cells::activation(size_t i) const {
  if (i >= op.getActivations().size())
    return fault("lists too few activations");
  StringRef name = cast<StringAttr>(op.getActivations()[i]).getValue();
  for (const Activation &row : activations)
    if (name.equals_insensitive(row.name))
      return Squash{&row,
                    i < op.getAlpha().size() ? op.getAlpha()[i] : row.alpha,
                    i < op.getBeta().size() ? op.getBeta()[i] : row.beta,
                    op.getClip().convertToDouble()};
  return fault("does not know the activation '" + name + "'");
}

llvm::Expected<Direction> Cells::direction(int64_t d) {
  int64_t rows = gates * hidden;
  auto part = [&](unsigned i, int64_t size) {
    const Tensor *tensor = operand(i);
    return tensor ? tensor->floats().data() + d * size : nullptr;
  };
  Direction dir{part(1, rows * width),
                part(2, rows * hidden),
                part(3, 2 * rows),
                part(7, 3 * hidden),
                {},
                {},
                {}};
  size_t count = gates == 4 ? 3 : gates == 3 ? 2 : 1;
  Squash *slots[] = {&dir.f, &dir.g, &dir.h};
  for (size_t i = 0; i < count; ++i) {
    auto squash = activation(d * count + i);
    if (!squash)
      return squash.takeError();
    *slots[i] = *squash;
  }
  return dir;
}

Row Cells::project(const Direction &dir, const double *x) const {
  if (!dir.weights)
    return Row(x, x + gates * hidden);
  Row result(gates * hidden);
  for (int64_t unit = 0; unit < gates * hidden; ++unit) {
    double sum = dir.bias ? dir.bias[unit] : 0;
    for (int64_t i = 0; i < width; ++i)
      sum += x[i] * dir.weights[unit * width + i];
    result[unit] = sum;
  }
  return result;
}

double Cells::recur(const Direction &dir, const Row &h, int64_t unit) const {
  double sum = 0;
  for (int64_t i = 0; i < hidden; ++i)
    sum += h[i] * dir.recurrence[unit * hidden + i];
  return sum;
}

/// A state as the recurrence is multiplied by it.
Row Cells::factor(const Row &state) const {
  Row factors = state;
  if (op.getRoundsState())
    for (double &x : factors)
      x = call.round(BFloat16Type::get(op.getContext()), x);
  return factors;
}

void Cells::stepRnn(const Direction &dir, const Row &x, Row &h) const {
  Row next(hidden), past = factor(h);
  for (int64_t i = 0; i < hidden; ++i)
    next[i] = dir.f(x[i] + recur(dir, past, i) + recurBias(dir, i));
  h = std::move(next);
}

/// Gates z, r, h.
void Cells::stepGru(const Direction &dir, const Row &x, Row &h) const {
  Row update(hidden), reset(hidden), gated(hidden), next(hidden);
  Row factors = factor(h);
  for (int64_t i = 0; i < hidden; ++i) {
    int64_t r = hidden + i;
    update[i] = dir.f(x[i] + recur(dir, factors, i) + recurBias(dir, i));
    reset[i] = dir.f(x[r] + recur(dir, factors, r) + recurBias(dir, r));
    gated[i] = reset[i] * h[i];
  }
  gated = factor(gated);
  for (int64_t i = 0; i < hidden; ++i) {
    int64_t unit = 2 * hidden + i;
    double bias = recurBias(dir, unit);
    double past = op.getLinearBeforeReset()
                      ? reset[i] * (recur(dir, factors, unit) + bias)
                      : recur(dir, gated, unit) + bias;
    next[i] = (1 - update[i]) * dir.g(x[unit] + past) + update[i] * h[i];
  }
  h = std::move(next);
}

/// Gates i, o, f, c; peepholes i, o, f.
void Cells::stepLstm(const Direction &dir, const Row &x, Row &h, Row &c) const {
  Row next(hidden), past = factor(h);
  auto gate = [&](int64_t which, int64_t i) {
    int64_t unit = which * hidden + i;
    return x[unit] + recur(dir, past, unit) + recurBias(dir, unit);
  };
  auto peep = [&](int64_t which, int64_t i, double state) {
    return dir.peepholes ? dir.peepholes[which * hidden + i] * state : 0;
  };
  for (int64_t i = 0; i < hidden; ++i) {
    double input = dir.f(gate(0, i) + peep(0, i, c[i]));
    double forget =
        op.getInputForget() ? 1 - input : dir.f(gate(2, i) + peep(2, i, c[i]));
    c[i] = forget * c[i] + input * dir.g(gate(3, i));
    double output = dir.f(gate(1, i) + peep(1, i, c[i]));
    next[i] = output * dir.h(c[i]);
  }
  h = std::move(next);
}

void Cells::sequence(const Direction &dir, int64_t d, int64_t b, bool isReverse,
                     int64_t length) {
  int64_t state = (d * batch + b) * hidden;
  auto initial = [&](unsigned i) {
    const Tensor *tensor = operand(i);
    if (!tensor)
      return Row(hidden, 0.0);
    ArrayRef<double> values = tensor->floats().slice(state, hidden);
    return Row(values.begin(), values.end());
  };
  Row h = initial(5);
  Row c = gates == 4 ? initial(6) : Row(hidden, 0.0);
  const double *input = call.operands[0].floats().data();
  if (!dir.weights)
    input += d * gates * hidden;
  double *all = call.results[0].writeFloats().data();
  for (int64_t i = 0; i < length; ++i) {
    int64_t t = isReverse ? length - 1 - i : i;
    Row x = project(dir, input + (t * batch + b) * width);
    if (gates == 4)
      stepLstm(dir, x, h, c);
    else if (gates == 3)
      stepGru(dir, x, h);
    else
      stepRnn(dir, x, h);
    std::copy(h.begin(), h.end(),
              all + ((t * directions + d) * batch + b) * hidden);
  }
  std::copy(h.begin(), h.end(), call.results[1].writeFloats().data() + state);
  std::copy(c.begin(), c.end(), call.results[2].writeFloats().data() + state);
}

llvm::Error Cells::run() {
  if (auto error = checkShapes())
    return error;
  const Tensor *lengths = operand(4);
  for (int64_t b = 0; lengths && b < batch; ++b)
    if (int64_t length = lengths->ints()[b]; length < 0 || length > steps)
      return fault("a sequence length of " + std::to_string(length) +
                   " is outside 0 .. " + std::to_string(steps));
  for (unsigned i = 0; i < 3; ++i)
    call.make(i);
  for (int64_t d = 0; d < directions; ++d) {
    auto dir = direction(d);
    if (!dir)
      return dir.takeError();
    bool isReverse = d == 1 || op.getDirection() == "reverse";
    for (int64_t b = 0; b < batch; ++b)
      sequence(*dir, d, b, isReverse, lengths ? lengths->ints()[b] : steps);
  }
  for (unsigned i = 0; i < 3; ++i)
    call.round(i);
  return llvm::Error::success();
}

} // namespace

llvm::Error evaluateRecurrent(Call &call) {
  return Cells(call, cast<graph::RecurrentOp>(call.op)).run();
}

} // namespace tenon::reference
