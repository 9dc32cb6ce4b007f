//===- OnlineSoftmax.cpp - Softmax in one pass before the last ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/OnlineSoftmax.h"
#include "compiler/Targets/Cpu/Reduction.h"
#include "compiler/Targets/Cpu/RowReduction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {

using P = arith::CmpFPredicate;

/// `value` in as many lanes as `like` has.
static Value alike(cpu::Emitter &e, Value value, Value like) {
  auto vector = dyn_cast<VectorType>(like.getType());
  return vector ? e.spread(value, vector.getNumElements()) : value;
}

Value OnlineSoftmax::power(Value x, Value largest) const {
  double infinity = std::numeric_limits<double>::infinity();
  Value lowest = cpu::constantLike(e.b, x.getType(), -infinity);
  Value isLowest = arith::CmpFOp::create(e.b, P::OEQ, x, lowest);
  Value power = cpu::emitExp(e.b, e, cpu::subtract(e, x, alike(e, largest, x)));
  return arith::SelectOp::create(e.b, isLowest,
                                 cpu::constantLike(e.b, x.getType(), 0), power);
}

Value OnlineSoftmax::corrected(Value before, Value sum, Value now) const {
  Value stays = arith::CmpFOp::create(e.b, P::OEQ, before, now);
  Value factor = cpu::emitExp(e.b, e, cpu::subtract(e, before, now));
  Value one = cpu::constantLike(e.b, factor.getType(), 1);
  factor = arith::SelectOp::create(e.b, stays, one, factor);
  return cpu::multiply(e, sum, alike(e, factor, sum));
}

OnlineSoftmax::Values OnlineSoftmax::join(ValueRange x, ValueRange y) const {
  Value largest = cpu::largerOf(e, x[0], y[0]);
  return {largest, cpu::emitAdd(e.b, corrected(x[0], x[1], largest),
                                corrected(y[0], y[1], largest))};
}

} // namespace tenon::cuda
