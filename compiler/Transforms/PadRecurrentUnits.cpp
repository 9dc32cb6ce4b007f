//===- PadRecurrentUnits.cpp - Cells of whole vectors of units ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of recurrent cells compute with vectors of hidden units, which many
// models have no whole number of (50, 100, 200, 300). Units whose weights are
// zeros stay zero, and nothing reads them: with so many more of them a cell has
// the fast kernels.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/PadChannels.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/StoredTensors.h"
#include "dialects/Kernel/RecurrentView.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_PADRECURRENTUNITSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

using graph::Expr;

/// Padded weights of more numbers would not be folded, but made in each run.
constexpr int64_t mostElements = int64_t(1) << 22;

/// Fewer units are computed sooner one by one.
constexpr int64_t fewestUnits = 5;

/// Of no input they make the zero, or what a state of zero is multiplied by.
bool keepZeros(ArrayAttr activations) {
  return llvm::all_of(activations, [](Attribute name) {
    StringRef text = cast<StringAttr>(name).getValue();
    return text == "Sigmoid" || text == "Tanh";
  });
}

int64_t unitsOf(graph::RecurrentOp op) {
  return cast<RankedTensorType>(op.getRecurrence().getType()).getShape().back();
}

int64_t paddedUnits(int64_t hidden) {
  return int64_t(llvm::alignTo(hidden, kernel::cellUnits));
}

class Padding {
public:
  Padding(OpBuilder &b, graph::RecurrentOp op)
      : b(b), op(op), loc(op.getLoc()), hidden(unitsOf(op)),
        units(paddedUnits(hidden)) {}

  void pad() {
    b.setInsertionPoint(op);
    op.getWeightsMutable().assign(ofGates(op.getWeights()));
    op.getRecurrenceMutable().assign(behind(ofGates(op.getRecurrence()), 2));
    if (op.getBias())
      op.getBiasMutable().assign(ofGates(op.getBias()));
    if (op.getPeepholes())
      op.getPeepholesMutable().assign(ofGates(op.getPeepholes()));
    if (op.getInitialH())
      op.getInitialHMutable().assign(behind(op.getInitialH(), 2));
    if (op.getInitialC())
      op.getInitialCMutable().assign(behind(op.getInitialC(), 2));
    b.setInsertionPointAfter(op);
    for (Value result : op->getResults())
      cut(result);
  }

private:
  Expr number(int64_t value) { return Expr::constant(b.getContext(), value); }

  Value reshaped(Value value, ArrayRef<Expr> dims) {
    return graph::ReshapeOp::create(
        b, loc, graph::tensorOf(dims, graph::getElementType(value)), value);
  }

  /// Zeros behind what lies along an axis, as many as units are missing.
  Value behind(Value value, int64_t axis) {
    SmallVector<Expr> dims = graph::getDims(value);
    dims[size_t(axis)] = number(units);
    return padded(b, loc, value, dims);
  }

  /// [D, G*H, ..] with each gate's units padded.
  Value ofGates(Value value) {
    SmallVector<Expr> dims = graph::getDims(value);
    int64_t gates = *dims[1].asConstant() / hidden;
    SmallVector<Expr> apart = {dims[0], number(gates), number(hidden)};
    llvm::append_range(apart, ArrayRef(dims).drop_front(2));
    dims[1] = number(gates * units);
    return reshaped(behind(reshaped(value, apart), 2), dims);
  }

  /// A result of the wider cell, with what was there for its users.
  void cut(Value result) {
    SmallVector<Expr> dims = graph::getDims(result);
    Type before = result.getType();
    dims.back() = number(units);
    result.setType(graph::tensorOf(dims, graph::getElementType(result)));
    if (result.use_empty())
      return;
    Value first = firstOf(b, loc, result, before);
    result.replaceAllUsesExcept(first, first.getDefiningOp());
  }

  OpBuilder &b;
  graph::RecurrentOp op;
  Location loc;
  int64_t hidden, units; // As they are, and padded.
};

bool canPad(graph::RecurrentOp op) {
  auto recurrence = cast<RankedTensorType>(op.getRecurrence().getType());
  Type element = recurrence.getElementType();
  if (!recurrence.hasStaticShape() || recurrence.getRank() != 3 ||
      element.isF64() || !keepZeros(op.getActivations()))
    return false;
  int64_t hidden = unitsOf(op), padded = paddedUnits(hidden);
  if (hidden < fewestUnits || hidden == padded ||
      recurrence.getDimSize(1) % hidden != 0 || !op.getWeights())
    return false;
  auto isSmall = [&](Value value) {
    if (!value)
      return true;
    if (!isWeightOrConstant(value))
      return false;
    int64_t ofUnit =
        cast<RankedTensorType>(value.getType()).getNumElements() / hidden;
    if (value == op.getRecurrence())
      ofUnit = ofUnit / hidden * padded;
    return ofUnit <= mostElements / padded;
  };
  return isSmall(op.getWeights()) && isSmall(op.getRecurrence()) &&
         isSmall(op.getBias()) && isSmall(op.getPeepholes());
}

struct PadRecurrentUnits : impl::PadRecurrentUnitsPassBase<PadRecurrentUnits> {
  void runOnOperation() override {
    SmallVector<graph::RecurrentOp> ops;
    getOperation().walk([&](graph::RecurrentOp op) { ops.push_back(op); });
    for (graph::RecurrentOp op : ops) {
      OpBuilder builder(op);
      if (canPad(op))
        Padding(builder, op).pad();
    }
  }
};

} // namespace
} // namespace tenon
