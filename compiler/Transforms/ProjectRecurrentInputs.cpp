//===- ProjectRecurrentInputs.cpp - One product for all steps -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a recurrent cell makes of its input, x W^T + Wb, does not depend on its
// state: for all steps, sequences and directions it is one product, which has
// fast kernels and can be of lower precision. The cell is left with h R^T.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/AxisOrder.h"
#include "compiler/Transforms/Passes.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_PROJECTRECURRENTINPUTSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

using graph::CellKind;
using graph::Expr;

class Projection {
public:
  Projection(OpBuilder &b, graph::RecurrentOp op)
      : b(b), op(op), loc(op.getLoc()),
        element(graph::getElementType(op.getInput())),
        weights(cast<RankedTensorType>(op.getWeights().getType())),
        rows(weights.getDimSize(0) * weights.getDimSize(1)) {}

  void take() {
    Value all = product();
    if (op.getBias())
      all = graph::AddOp::create(b, loc, all, takeBias());
    SmallVector<Expr> dims = graph::getDims(op.getInput());
    dims.back() = Expr::constant(b.getContext(), rows);
    op.getInputMutable().set(
        graph::ReshapeOp::create(b, loc, graph::tensorOf(dims, element), all));
    op.getWeightsMutable().clear();
  }

private:
  Type typeOf(ArrayRef<int64_t> sizes) {
    return RankedTensorType::get(sizes, element);
  }

  /// [S*B, I] by [I, D*G*H]. Were steps a batch, each would read all weights.
  Value product() {
    Value matrix = graph::ReshapeOp::create(
        b, loc, typeOf({rows, weights.getDimSize(2)}), op.getWeights());
    Value turned = graph::TransposeOp::create(b, loc, matrix, {1, 0});
    SmallVector<Expr> dims = graph::getDims(op.getInput());
    dims = {dims[0] * dims[1], dims[2]};
    Value flat = graph::ReshapeOp::create(
        b, loc, graph::tensorOf(dims, element), op.getInput());
    dims.back() = Expr::constant(b.getContext(), rows);
    return graph::MatmulOp::create(b, loc, graph::tensorOf(dims, element), flat,
                                   turned);
  }

  /// What can be added to all steps at once: but for the bias that a GRU adds
  /// before it resets, all.
  Value takeBias() {
    if (op.getCell() == CellKind::Gru && op.getLinearBeforeReset())
      return biasOf(0);
    Value all = graph::AddOp::create(b, loc, biasOf(0), biasOf(1));
    op.getBiasMutable().clear();
    return all;
  }

  /// The first or the second half of each direction's: [D*G*H].
  Value biasOf(int64_t half) {
    int64_t directions = weights.getDimSize(0), units = weights.getDimSize(1);
    auto number = [&](int64_t value) {
      return Expr::constant(b.getContext(), value);
    };
    Value part = graph::SliceOp::create(
        b, loc, typeOf({directions, units}), op.getBias(),
        graph::DimsAttr::get(b.getContext(), {number(0), number(half * units)}),
        graph::DimsAttr::get(b.getContext(), {number(1), number(1)}));
    return graph::ReshapeOp::create(b, loc, typeOf({rows}), part);
  }

  OpBuilder &b;
  graph::RecurrentOp op;
  Location loc;
  Type element;
  RankedTensorType weights;
  int64_t rows;
};

/// In f16 and bf16 the projection would be rounded, which a cell does not do.
bool isProjectable(graph::RecurrentOp op) {
  if (!op.getWeights() || !isStored(op.getWeights()))
    return false;
  if (!(graph::getDim(op.getInput(), 0) * graph::getDim(op.getInput(), 1)))
    return false; // Beyond all numbers.
  auto type = cast<RankedTensorType>(op.getWeights().getType());
  Type element = type.getElementType();
  return (element.isF32() || element.isF64()) && type.hasStaticShape() &&
         type.getRank() == 3 && type.getNumElements() > 0;
}

struct ProjectRecurrentInputs
    : impl::ProjectRecurrentInputsPassBase<ProjectRecurrentInputs> {
  void runOnOperation() override {
    getOperation().walk([&](graph::RecurrentOp op) {
      if (!isProjectable(op))
        return;
      OpBuilder builder(op);
      Projection(builder, op).take();
    });
  }
};

} // namespace
} // namespace tenon
