//===- LinearAttention.cpp - Attention by a state -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One step after another, the state in float64 and not rounded in between.
//
//===----------------------------------------------------------------------===//

#include "compiler/Reference/Call.h"

using namespace mlir;

namespace tenon::reference {
namespace {

class States {
public:
  States(Call &call, graph::LinearAttentionOp op) : call(call), op(op) {}
  llvm::Error run();

private:
  /// Null for an operand that is left out.
  const Tensor *operand(unsigned i) { return optionalOperand(call, op, i); }
  void step(int64_t row, int64_t number, double *state);

  Call &call;
  graph::LinearAttentionOp op;
  int64_t batch, steps, heads, states, depth, width;
  const Tensor *decay, *beta;
};

/// A step, which is a row of the tensors, of one of its states.
void States::step(int64_t row, int64_t number, double *state) {
  int64_t at = row * states + number;
  const double *key = operand(1)->floats().data() + at * depth;
  const double *value = operand(2)->floats().data() + at * width;
  if (decay)
    for (int64_t i = 0; i < depth; ++i)
      for (int64_t j = 0; j < width; ++j)
        state[i * width + j] *=
            decay->floats()[decay->shape[3] == 1 ? at : at * depth + i];
  for (int64_t j = 0; j < width; ++j) {
    double added = value[j];
    if (beta) {
      for (int64_t i = 0; i < depth; ++i)
        added -= state[i * width + j] * key[i];
      added *= beta->floats()[beta->shape[2] == 1 ? row : at];
    }
    for (int64_t i = 0; i < depth; ++i)
      state[i * width + j] += key[i] * added;
  }
  int64_t group = heads / states;
  for (int64_t h = number * group; h < (number + 1) * group; ++h) {
    const double *query =
        operand(0)->floats().data() + (row * heads + h) * depth;
    double *all =
        call.results[0].writeFloats().data() + (row * heads + h) * width;
    for (int64_t j = 0; j < width; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < depth; ++i)
        sum += state[i * width + j] * query[i];
      all[j] = op.getScale().convertToDouble() * sum;
    }
  }
}

llvm::Error States::run() {
  const Shape &query = operand(0)->shape, &value = operand(2)->shape;
  batch = query[0], steps = query[1], heads = query[2], depth = query[3];
  states = value[2], width = value[3];
  decay = operand(4), beta = operand(5);
  Shape all = {batch, steps, states, depth};
  if (decay && decay->shape.back() == 1)
    all.back() = 1;
  Shape ofBeta = {batch, steps, beta && beta->shape.back() == 1 ? 1 : states};
  if (auto error =
          expectShape(operand(1), {batch, steps, states, depth}, "key"))
    return error;
  if (auto error =
          expectShape(operand(2), {batch, steps, states, width}, "value"))
    return error;
  if (auto error =
          expectShape(operand(3), {batch, states, depth, width}, "state"))
    return error;
  if (auto error = expectShape(operand(4), all, "decay"))
    return error;
  if (auto error = expectShape(operand(5), ofBeta, "beta"))
    return error;
  call.make(0);
  double *state = call.make(1).writeFloats().data();
  if (const Tensor *initial = operand(3))
    llvm::copy(initial->floats(), state);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t number = 0; number < states; ++number)
      for (int64_t t = 0; t < steps; ++t)
        step(b * steps + t, number,
             state + (b * states + number) * depth * width);
  call.round(0);
  call.round(1);
  return llvm::Error::success();
}

} // namespace

llvm::Error evaluateLinearAttention(Call &call) {
  return States(call, cast<graph::LinearAttentionOp>(call.op)).run();
}

} // namespace tenon::reference
