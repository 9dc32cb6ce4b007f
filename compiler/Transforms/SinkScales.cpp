//===- SinkScales.cpp - Scales of floats in few bits, behind products -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product of dequantized floats of 8 or 4 bits is one of numbers that bf16
// has, times a scale for each row and one for each column: as such it can be
// multiplied in bf16 without a further error. Before constants are folded,
// which would make other numbers of the weight's.
//
// A rounding to f16 in front of the product falls away.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/FewBitFloats.h"
#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_SINKSCALESPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

using graph::Expr;

/// Whether a value is widened from numbers of floats in few bits: computed so,
/// or constants of bf16.
bool holdsFewBits(Value value) {
  auto cast = dyn_cast_if_present<graph::CastOp>(
      behind<graph::ReshapeOp, graph::TransposeOp>(value));
  if (!cast || !graph::getElementType(cast.getInput()).isBF16())
    return false;
  return isInFewBits(value) ||
         isa_and_present<graph::ConstantOp, graph::WeightOp>(
             behind<graph::ReshapeOp, graph::TransposeOp>(cast.getInput()));
}

/// An operand that is `numbers * scale` as `views` see it, of which the last
/// one comes first.
struct Scaled {
  Value numbers, scale;
  SmallVector<Operation *> views;

  static std::optional<Scaled> of(Value value) {
    Scaled found;
    bool isRenamed = false;
    while (Operation *op = value.getDefiningOp()) {
      auto cast = dyn_cast<graph::CastOp>(op);
      bool isHalf = cast && graph::getElementType(cast.getResult()).isF16() &&
                    graph::getElementType(cast.getInput()).isF32();
      if (!isHalf && !isa<graph::ReshapeOp, graph::TransposeOp>(op))
        break;
      isRenamed |= isa<graph::ReshapeOp>(op);
      if (!isHalf)
        found.views.push_back(op);
      value = op->getOperand(0);
    }
    auto product = value.getDefiningOp<graph::MulOp>();
    if (!product || !graph::getElementType(product.getResult()).isF32())
      return std::nullopt;
    bool isFirst = holdsFewBits(product.getLhs());
    found.numbers = isFirst ? product.getLhs() : product.getRhs();
    found.scale = isFirst ? product.getRhs() : product.getLhs();
    // Of several scales it must be known which elements they are of.
    if (!holdsFewBits(found.numbers) ||
        product.getType() != found.numbers.getType() ||
        (isRenamed && !found.isOne()))
      return std::nullopt;
    return found;
  }

  bool isOne() const {
    return llvm::all_of(graph::getDims(scale),
                        [](Expr dim) { return dim.isConstant(1); });
  }

  Value numbersIn(OpBuilder &builder) const {
    return throughViews(builder, views, numbers);
  }

  /// With the operand's rank.
  Value scaleIn(OpBuilder &builder) const {
    SmallVector<Expr> dims = graph::getDims(scale);
    Location loc = scale.getLoc();
    auto renamed = [&](ArrayRef<Expr> to) -> Value {
      return graph::ReshapeOp::create(
          builder, loc, graph::tensorOf(to, builder.getF32Type()), scale);
    };
    if (isOne())
      return dims.empty() ? scale : renamed({});
    dims.insert(dims.begin(), graph::getRank(numbers) - dims.size(),
                Expr::constant(builder.getContext(), 1));
    Value seen = renamed(dims);
    for (Operation *view : llvm::reverse(views))
      seen = graph::TransposeOp::create(
          builder, loc, seen, cast<graph::TransposeOp>(view).getPermutation());
    return seen;
  }
};

struct SinkScales : impl::SinkScalesPassBase<SinkScales> {
  void runOnOperation() override {
    SmallVector<Operation *> products;
    getOperation().walk([&](Operation *op) {
      if (isa<graph::ConvOp, graph::MatmulOp>(op))
        products.push_back(op);
    });
    for (Operation *op : products)
      sink(op);
  }

private:
  void sink(Operation *op) {
    std::optional<Scaled> lhs = Scaled::of(op->getOperand(0));
    std::optional<Scaled> rhs = Scaled::of(op->getOperand(1));
    if (!lhs || !rhs)
      return;
    OpBuilder builder(op);
    Value factors[] = {lhs->scaleIn(builder), rhs->scaleIn(builder)};
    auto matmul = dyn_cast<graph::MatmulOp>(op);
    if (matmul ? !areAlong(matmul, factors)
               : !fitFilter(op, factors, builder)) {
      for (Value factor : factors)
        if (Operation *link = factor.getDefiningOp())
          eraseUnused(link);
      return;
    }
    Value result = op->getResult(0);
    Type f32 = graph::tensorOf(graph::getDims(result), builder.getF32Type());
    Value numbers[] = {lhs->numbersIn(builder), rhs->numbersIn(builder)};
    Operation *exact = builder.clone(*op);
    exact->setOperands(numbers);
    Value scaled = exact->getResult(0);
    scaled.setType(f32);
    auto times = [&](Value x, Value factor) -> Value {
      return graph::MulOp::create(builder, op->getLoc(), x.getType(), x,
                                  factor);
    };
    // Constants are folded to one factor.
    bool areOne = graph::getRank(factors[0]) == 0 && isKnown(factors[0]) &&
                  isKnown(factors[1]);
    scaled = areOne ? times(scaled, times(factors[1], factors[0]))
                    : times(times(scaled, factors[0]), factors[1]);
    if (!graph::getElementType(result).isF32())
      scaled =
          castTo(builder, op->getLoc(), scaled, graph::getElementType(result));
    SmallVector<Value> operands = {op->getOperand(0), op->getOperand(1)};
    result.replaceAllUsesWith(scaled);
    op->erase();
    for (Value operand : operands)
      if (Operation *link = operand.getDefiningOp())
        eraseUnused(link);
  }

  static bool isKnown(Value factor) {
    return isa_and_present<graph::ConstantOp, graph::WeightOp>(
        behind<graph::CastOp, graph::ReshapeOp, graph::TransposeOp>(factor));
  }

  /// Whether no scale differs along the steps that are added up, and each
  /// broadcasts to the result.
  static bool areAlong(graph::MatmulOp op, ArrayRef<Value> factors) {
    auto isOneAt = [](Value factor, size_t fromEnd) {
      SmallVector<Expr> dims = graph::getDims(factor);
      return dims.size() < fromEnd || dims[dims.size() - fromEnd].isConstant(1);
    };
    return graph::getRank(op.getLhs()) >= 2 &&
           graph::getRank(op.getRhs()) >= 2 && isOneAt(factors[0], 1) &&
           isOneAt(factors[1], 2);
  }

  /// Whether the image has one scale and the filter one for each map, which is
  /// seen from the result then.
  static bool fitFilter(Operation *op, MutableArrayRef<Value> factors,
                        OpBuilder &builder) {
    if (graph::getRank(factors[0]) > 0 ||
        cast<graph::ConvOp>(op).getChannelsLast())
      return false;
    SmallVector<Expr> dims = graph::getDims(factors[1]);
    if (dims.empty())
      return true;
    if (!llvm::all_of(ArrayRef(dims).drop_front(),
                      [](Expr dim) { return dim.isConstant(1); }))
      return false;
    dims.pop_back(); // The axis of channels.
    factors[1] = graph::ReshapeOp::create(
        builder, op->getLoc(), graph::tensorOf(dims, builder.getF32Type()),
        factors[1]);
    return true;
  }
};

} // namespace
} // namespace tenon
