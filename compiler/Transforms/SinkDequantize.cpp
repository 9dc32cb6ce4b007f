//===- SinkDequantize.cpp - Numbers move before they are widened ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantizers put a pair of ops between any two others, around reshapes and
// transposes too, and in front of the gather that reads a table. What is only
// moved stays in bytes, and is not rounded again to what it is.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/QuantizedFactors.h"
#include "dialects/Kernel/StridedView.h"
#include <cmath>

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_SINKDEQUANTIZEPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

/// Whether two values are the same constant number.
bool areEqual(Value a, Value b) {
  auto first = a.getDefiningOp<graph::ConstantOp>();
  auto second = b.getDefiningOp<graph::ConstantOp>();
  return first && second && graph::isOneNumber(a) && graph::isOneNumber(b) &&
         first.getValue() == second.getValue();
}

/// A constant positive number by which f32 are multiplied and divided without
/// an overflow or a loss of bits, integers of 16 bits being the others.
std::optional<double> scaleOf(Value value) {
  std::optional<double> number = splatOf(value);
  return number && graph::isOneNumber(value) && *number >= 0x1p-30 &&
                 *number <= 0x1p30
             ? number
             : std::nullopt;
}

/// Whether integers of these bits times a number round to themselves.
bool keepsIntegers(double factor, unsigned bits) {
  return std::abs(factor - 1) * std::ldexp(1, int(bits)) < 0.25;
}

/// What an op quantizes, seen through what only moves it, by ops of which the
/// last one comes first, and through factors.
struct Requantized {
  graph::DequantizeOp source;
  SmallVector<Operation *> moves;
  double factor = 1;

  static Requantized of(graph::QuantizeOp op) {
    Requantized found;
    Value value = op.getInput();
    while (found.lookThrough(value))
      ;
    found.source = value.getDefiningOp<graph::DequantizeOp>();
    return found;
  }

  /// Whether all integers stay what they were.
  bool isWhatItWas(graph::QuantizeOp op) {
    Type numbers = graph::getElementType(op.getResult());
    if (!source || graph::getElementType(source.getInput()) != numbers ||
        numbers.getIntOrFloatBitWidth() > 16 ||
        !graph::getElementType(source.getResult()).isF32() ||
        !areEqual(op.getZeroPoint(), source.getZeroPoint()))
      return false;
    std::optional<double> before = scaleOf(source.getScale());
    std::optional<double> behind = scaleOf(op.getScale());
    return before && behind &&
           keepsIntegers(*before * factor / *behind,
                         numbers.getIntOrFloatBitWidth());
  }

private:
  bool lookThrough(Value &value) {
    Operation *op = value.getDefiningOp();
    if (op && kernel::isViewOp(op)) {
      moves.push_back(op);
      value = op->getOperand(0);
      return true;
    }
    auto mul = dyn_cast_if_present<graph::MulOp>(op);
    for (unsigned i = 0; mul && i < 2; ++i) {
      std::optional<double> number = scaleOf(mul->getOperand(i));
      Value other = mul->getOperand(1 - i);
      if (!number || graph::getDims(other) != graph::getDims(value))
        continue;
      factor *= *number;
      value = other;
      return true;
    }
    return false;
  }
};

/// quantize(move(dequantize(x) * c)) -> move(x)
void dropQuantize(graph::QuantizeOp op) {
  Requantized found = Requantized::of(op);
  if (!found.isWhatItWas(op))
    return;
  OpBuilder builder(op);
  op.getResult().replaceAllUsesWith(
      throughViews(builder, found.moves, found.source.getInput()));
  eraseUnused(op);
}

/// The table of bytes that an op reads some elements of; null for other ops.
graph::DequantizeOp tableOf(Operation *op) {
  if (!isa<graph::GatherOp, graph::SliceOp>(op))
    return {};
  auto table = op->getOperand(0).getDefiningOp<graph::DequantizeOp>();
  return table && table.getInput().getDefiningOp<graph::WeightOp>() &&
                 graph::isOneNumber(table.getScale()) &&
                 graph::isOneNumber(table.getZeroPoint())
             ? table
             : graph::DequantizeOp();
}

/// gather(dequantize(x)) -> dequantize(gather(x))
void readBytes(Operation *op) {
  graph::DequantizeOp table = tableOf(op);
  if (!table)
    return;
  OpBuilder builder(op);
  Operation *copy = builder.clone(*op);
  copy->setOperand(0, table.getInput());
  Value numbers = copy->getResult(0), result = op->getResult(0);
  numbers.setType(graph::tensorOf(graph::getDims(result),
                                  graph::getElementType(table.getInput())));
  Value widened =
      graph::DequantizeOp::create(builder, table.getLoc(), result.getType(),
                                  numbers, asScalar(builder, table.getScale()),
                                  asScalar(builder, table.getZeroPoint()));
  result.replaceAllUsesWith(widened);
  eraseUnused(op);
}

struct SinkDequantize : impl::SinkDequantizePassBase<SinkDequantize> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<graph::QuantizeOp, graph::GatherOp, graph::SliceOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      if (auto quantize = dyn_cast<graph::QuantizeOp>(op))
        dropQuantize(quantize);
      else
        readBytes(op);
  }
};

} // namespace
} // namespace tenon
