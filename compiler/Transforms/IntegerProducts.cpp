//===- IntegerProducts.cpp - Products of quantized numbers ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of two activations as of one and a weight. What is not one number for all of
// k cannot leave the sum: a scale for each row of the weight, or for blocks of
// them, keeps a product in f32. So do groups of a convolution (see
// IntegerConvs.cpp).
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/IntegerConvs.h"
#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "dialects/Kernel/ByteProduct.h"
#include "dialects/Kernel/MatmulView.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_INTEGERPRODUCTSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

/// Whether there is one number for all of k of a matrix [k, n].
bool isPerColumn(Value value) {
  SmallVector<graph::Expr> dims = graph::getDims(value);
  return dims.size() < 2 || dims[dims.size() - 2].isConstant(1);
}

bool exchangesTwo(Operation *op) {
  auto transpose = dyn_cast<graph::TransposeOp>(op);
  return transpose && transpose.getPermutation() == ArrayRef<int64_t>{1, 0};
}

class Rewriter {
public:
  Rewriter(const WeightStore &weights, bool isCuda, bool explain)
      : weights(weights), isCuda(isCuda), explain(explain) {}

  void rewrite(graph::MatmulOp op) {
    if (graph::getElementType(op.getResult()).isSignlessInteger(32)) {
      for (OpOperand &operand : op->getOpOperands())
        lowerViews(operand);
      return;
    }
    if (!graph::getElementType(op.getResult()).isF32())
      return;
    rewriteProduct(op);
  }

private:
  void rewriteProduct(graph::MatmulOp op) {
    Value lhs = op.getLhs(), rhs = op.getRhs();
    SmallVector<Operation *> lhsViews = viewsBehind(lhs);
    SmallVector<Operation *> rhsViews = viewsBehind(rhs);
    auto left = lhs.getDefiningOp<graph::DequantizeOp>();
    auto right = rhs.getDefiningOp<graph::DequantizeOp>();
    if (!left || !right)
      return;
    std::string why = refusal(left, right, rhsViews);
    if (why.empty() && isCuda)
      why = refusalOnCuda(left, lhsViews, right, rhsViews);
    if (why.empty())
      makeInteger(op, left, lhsViews, right, rhsViews);
    else if (explain)
      op.emitRemark("multiplies f32: ") << why;
  }

  std::string refusal(graph::DequantizeOp left, graph::DequantizeOp right,
                      ArrayRef<Operation *> rhsViews) const {
    if (!isByte(left.getInput()) ||
        !areBytesInMemory(right.getInput(), weights))
      return "an operand is not of 8 bits";
    if (!graph::isOneNumber(left.getScale()) ||
        !graph::isOneNumber(left.getZeroPoint()))
      return "lhs has several scales";
    Value numbers = right.getInput();
    if (!numbers.getDefiningOp<graph::WeightOp>())
      return graph::isOneNumber(right.getScale()) &&
                     graph::isOneNumber(right.getZeroPoint())
                 ? ""
                 : "rhs is no weight and has several scales";
    if (graph::getRank(numbers) != 2)
      return "rhs is no matrix of weights";
    bool turned = rhsViews.size() == 1 && exchangesTwo(rhsViews[0]);
    if (!rhsViews.empty() && !turned)
      return "the weight is seen in another shape";
    for (Value value : {right.getScale(), right.getZeroPoint()}) {
      SmallVector<graph::Expr> dims = graph::getDims(value);
      bool fits = turned ? dims.empty() || dims.back().isConstant(1)
                         : isPerColumn(value);
      if (!fits)
        return "scales of rhs differ along k";
    }
    return "";
  }

  /// Others than those that center-products brings into a form for matrix
  /// instructions have no kernel of integers there that is as fast as f32's.
  std::string refusalOnCuda(graph::DequantizeOp left,
                            ArrayRef<Operation *> lhsViews,
                            graph::DequantizeOp right,
                            ArrayRef<Operation *> rhsViews) const {
    Value numbers = right.getInput();
    if (!numbers.getDefiningOp<graph::WeightOp>())
      return "rhs is no weight, and GPUs multiply no bytes by others";
    graph::Expr depth = graph::getDims(numbers)[rhsViews.empty() ? 0 : 1];
    bool keepsRows = llvm::all_of(lhsViews, [&](Operation *view) {
      return isa<graph::ReshapeOp, graph::SliceOp>(view) &&
             graph::getDims(view->getResult(0)).back() == depth;
    });
    keepsRows &= graph::getDims(left.getResult()).back() == depth &&
                 liesByFours(left.getInput());
    if (depth.asConstant().value_or(1) % 4 != 0 || !keepsRows)
      return "rows of lhs do not lie together by fours";
    return "";
  }

  /// Whether rows of bytes do, where a kernel's view of them begins.
  static bool liesByFours(Value numbers) {
    SmallVector<graph::Expr> dims = graph::getDims(numbers);
    std::optional<kernel::StridedView> view =
        kernel::farthestView(numbers, [&](const kernel::StridedView &view) {
          return kernel::rowsFold(dims, view.strides);
        });
    return view && kernel::liesByFours(*view);
  }

  void makeInteger(graph::MatmulOp op, graph::DequantizeOp left,
                   ArrayRef<Operation *> lhsViews, graph::DequantizeOp right,
                   ArrayRef<Operation *> rhsViews) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    QuantizedFactor lhs = QuantizedFactor::of(left, weights),
                    rhs = QuantizedFactor::of(right, weights);
    see(builder, lhs, lhsViews);
    if (!rhs.numbers.getDefiningOp<graph::WeightOp>())
      see(builder, rhs, rhsViews);
    else if (!rhsViews.empty())
      for (Value *each : {&rhs.numbers, &rhs.zero, &rhs.scale})
        *each = *each ? turned(builder, *each) : Value();
    SmallVector<graph::Expr> dims = graph::getDims(op.getResult());
    Value first = lhs.centered(builder, loc);
    Value second = rhs.centered(builder, loc);
    Value sums = graph::MatmulOp::create(
        builder, loc, graph::tensorOf(dims, builder.getI32Type()), first,
        second);
    Value wide = castTo(builder, loc, sums, builder.getF32Type());
    SmallVector<graph::Expr> scaleDims = graph::getDims(rhs.scale);
    Value scale = graph::MulOp::create(
        builder, loc, graph::tensorOf(scaleDims, builder.getF32Type()),
        lhs.scale, rhs.scale);
    Value result =
        graph::MulOp::create(builder, loc, op.getType(), wide, scale);
    op.getResult().replaceAllUsesWith(result);
    eraseUnused(op);
  }

  /// Brings views in front of a factor that has one scale and zero point.
  static void see(OpBuilder &builder, QuantizedFactor &factor,
                  ArrayRef<Operation *> views) {
    factor.numbers = throughViews(builder, views, factor.numbers);
    for (Value *each : {&factor.zero, &factor.scale})
      *each = *each ? asScalar(builder, *each) : Value();
  }

  /// The transpose of a matrix; what is one number or a vector stays.
  static Value turned(OpBuilder &builder, Value value) {
    SmallVector<graph::Expr> dims = graph::getDims(value);
    if (dims.size() != 2)
      return graph::isOneNumber(value) ? asScalar(builder, value) : value;
    std::swap(dims[0], dims[1]);
    return graph::TransposeOp::create(
        builder, value.getLoc(),
        graph::tensorOf(dims, graph::getElementType(value)), value,
        builder.getDenseI64ArrayAttr({1, 0}));
  }

  const WeightStore &weights;
  bool isCuda, explain;
};

struct IntegerProducts : impl::IntegerProductsPassBase<IntegerProducts> {
  using Base = impl::IntegerProductsPassBase<IntegerProducts>;
  using Base::Base;
  IntegerProducts(WeightStore &weights, IntegerProductsPassOptions options)
      : Base(options), weights(&weights) {}

  void runOnOperation() override {
    SmallVector<graph::MatmulOp> products;
    SmallVector<graph::ConvOp> convolutions;
    getOperation().walk([&](graph::MatmulOp op) { products.push_back(op); });
    getOperation().walk([&](graph::ConvOp op) { convolutions.push_back(op); });
    SmallVector<graph::MaxPoolOp> pools;
    getOperation().walk([&](graph::MaxPoolOp op) { pools.push_back(op); });
    WeightStore none;
    WeightStore &store = weights ? *weights : none;
    bool isCuda = target == "cuda";
    Rewriter rewriter(store, isCuda, explain);
    for (graph::MatmulOp op : products)
      rewriter.rewrite(op);
    IntegerConvs convs(store, weights, isCuda, explain);
    for (graph::ConvOp op : convolutions)
      convs.rewrite(op);
    for (graph::MaxPoolOp op : pools)
      convs.rewrite(op);
    convs.multiplyByInverses(getOperation());
  }

private:
  WeightStore *weights = nullptr;
};

} // namespace

std::unique_ptr<Pass>
createIntegerProductsPass(WeightStore &weights,
                          IntegerProductsPassOptions options) {
  return std::make_unique<IntegerProducts>(weights, std::move(options));
}
} // namespace tenon
