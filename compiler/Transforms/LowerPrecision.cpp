//===- LowerPrecision.cpp - Operands of products in bf16 ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a product multiplies is rounded to bf16 where it is made and widened
// again where it is read: the op itself stays one of f32, and so do its sums.
// Kernels take both casts in, so that between them lies bf16. Whoever else
// reads the value sees it as it was: sums over many layers stay exact.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Passes.h"
#include "dialects/Kernel/MatmulView.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_LOWERPRECISIONPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

/// Smaller weights stay: fold-constants would only widen them again.
constexpr int64_t fewestElements = int64_t(1) << 12;

Value castTo(OpBuilder &builder, Location loc, Value value, Type element) {
  return graph::CastOp::create(
      builder, loc, graph::tensorOf(graph::getDims(value), element), value);
}

bool isLargeWeight(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return value.getDefiningOp<graph::WeightOp>() && type.hasStaticShape() &&
         type.getElementType().isF32() &&
         type.getNumElements() >= fewestElements;
}

class Lowering {
public:
  Lowering(func::FuncOp function, bool explain)
      : function(function), explain(explain) {}

  void run() {
    SmallVector<graph::MatmulOp> products;
    SmallVector<graph::GatherOp> lookups;
    function.walk([&](Operation *op) {
      if (auto matmul = dyn_cast<graph::MatmulOp>(op))
        products.push_back(matmul);
      if (auto gather = dyn_cast<graph::GatherOp>(op))
        lookups.push_back(gather);
    });
    for (graph::MatmulOp op : products) {
      std::string why = refusal(op);
      if (why.empty())
        lower(op);
      else if (explain)
        op.emitRemark("stays in f32: ") << why;
    }
    for (graph::GatherOp op : lookups)
      if (isLargeWeight(op.getInput()) && op.getAxis() == 0)
        lower(op);
  }

private:
  std::string refusal(graph::MatmulOp op) {
    if (!isLargeWeight(op.getRhs()))
      return "rhs is no weight of f32 of some size";
    int64_t rank = graph::getRank(op.getRhs());
    bool isBatch =
        rank == 3 && graph::getRank(op.getResult()) == 3 &&
        graph::getDim(op.getRhs(), 0) == graph::getDim(op.getResult(), 0);
    if (rank != 2 && !isBatch)
      return "rhs is neither a matrix nor one for each batch";
    std::optional<int64_t> depth =
        graph::getDims(op.getLhs()).back().asConstant();
    if (!depth || *depth % 2 != 0)
      return "k is odd, and pairs of its steps lie together";
    return "";
  }

  void lower(graph::MatmulOp op) {
    OpBuilder builder(op);
    op.getRhsMutable().assign(castTo(
        builder, op.getLoc(), rounding(op.getRhs()), builder.getF32Type()));
    std::optional<kernel::StridedView> view =
        kernel::stridedViewOf(op.getLhs());
    if (!view || !view->strides.back().isConstant(1)) {
      if (explain)
        op.emitRemark("lhs stays in f32: its rows are not contiguous");
      return;
    }
    op.getLhsMutable().assign(
        widened(op.getLoc(), builder, op.getLhs(), *view));
  }

  /// The table is looked up as bf16.
  void lower(graph::GatherOp op) {
    OpBuilder builder(op);
    Value table = rounding(op.getInput());
    auto narrow = graph::GatherOp::create(
        builder, op.getLoc(),
        graph::tensorOf(graph::getDims(op.getResult()), builder.getBF16Type()),
        table, op.getIndices(), op.getAxis());
    Value wide =
        castTo(builder, op.getLoc(), narrow.getResult(), builder.getF32Type());
    op.getResult().replaceAllUsesWith(wide);
    op.erase();
  }

  /// The value rounded to bf16 and widened, as seen through what only renames
  /// its elements.
  Value widened(Location loc, OpBuilder &builder, Value value,
                const kernel::StridedView &view) {
    Value narrow = rounding(view.base);
    // Named, as reverse() would not keep it.
    SmallVector<Operation *> links = kernel::viewOpsOf(value, view);
    for (Operation *link : llvm::reverse(links)) {
      Operation *copy = builder.clone(*link);
      copy->setOperand(0, narrow);
      narrow = copy->getResult(0);
      narrow.setType(
          graph::tensorOf(graph::getDims(narrow), builder.getBF16Type()));
    }
    return castTo(builder, loc, narrow, builder.getF32Type());
  }

  /// The one cast to bf16 behind the value.
  Value rounding(Value value) {
    Value &known = casts[value];
    if (known)
      return known;
    OpBuilder builder(function.getContext());
    builder.setInsertionPointAfterValue(value);
    known = castTo(builder, value.getLoc(), value, builder.getBF16Type());
    return known;
  }

  func::FuncOp function;
  bool explain;
  llvm::DenseMap<Value, Value> casts;
};

struct LowerPrecision : impl::LowerPrecisionPassBase<LowerPrecision> {
  using LowerPrecisionPassBase::LowerPrecisionPassBase;

  void runOnOperation() override { Lowering(getOperation(), explain).run(); }
};

} // namespace
} // namespace tenon
