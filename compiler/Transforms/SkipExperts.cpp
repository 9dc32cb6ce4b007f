//===- SkipExperts.cpp - Compute only what a mixture chooses --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters compute all experts of a mixture for every token, and multiply what
// they give by weights most of which are zero. Chosen by those weights instead,
// zero is what the others give, and kernels skip the rows that lead to it.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_SKIPEXPERTSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {
using graph::Expr;
using Exprs = SmallVector<Expr>;

bool isZero(Value value) {
  if (auto broadcast = value.getDefiningOp<graph::BroadcastOp>())
    return isZero(broadcast.getInput());
  return splatOf(value) == 0.0;
}

/// Whether few numbers are put among the zeros of a scatter's input.
bool leavesZeros(graph::ScatterElementsOp op) {
  int64_t axis = op.getAxis();
  std::optional<int64_t> all = graph::getDim(op.getInput(), axis).asConstant();
  std::optional<int64_t> set =
      graph::getDim(op.getUpdates(), axis).asConstant();
  return isZero(op.getInput()) && all && (!set || *set * 2 <= *all);
}

/// Whether most elements of a value are likely to be zero: whether one is, a
/// run finds out.
bool isMostlyZero(Value value, unsigned depth = 8) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (auto scatter = dyn_cast<graph::ScatterElementsOp>(op))
    return leavesZeros(scatter);
  if (auto select = dyn_cast<graph::SelectOp>(op))
    return isZero(select.getLhs()) || isZero(select.getRhs());
  if (auto cast = dyn_cast<graph::CastOp>(op);
      cast && cast.getInput().getDefiningOp<graph::EqualOp>())
    return true;
  auto among = [&](unsigned count) {
    return llvm::any_of(op->getOperands().take_front(count),
                        [&](Value x) { return isMostlyZero(x, depth - 1); });
  };
  if (auto reduce = dyn_cast<graph::ReduceOp>(op))
    return reduce.getKind() == graph::ReduceKind::Sum && among(1);
  if (isa<graph::CastOp, graph::DivOp, graph::ReshapeOp, graph::TransposeOp>(
          op))
    return among(1);
  return isa<graph::MulOp>(op) && among(2);
}

/// Whether only sums over an axis read a value.
bool isSummed(Value value, int64_t axis) {
  return !value.use_empty() &&
         llvm::all_of(value.getUsers(), [&](Operation *user) {
           auto reduce = dyn_cast<graph::ReduceOp>(user);
           return reduce && reduce.getKind() == graph::ReduceKind::Sum &&
                  reduce.getAxes() == ArrayRef(axis);
         });
}

/// sum1(transpose(x) * w) -> sum0(x * transpose(w)), with experts first; the op
/// itself where it is none such.
graph::MulOp putExpertsFirst(graph::MulOp op) {
  SmallVector<int64_t> order = {1, 0, 2};
  Exprs perRow = graph::getDims(op.getResult());
  if (perRow.size() != 3 || !isSummed(op.getResult(), 1))
    return op;
  perRow.back() = Expr::constant(op.getContext(), 1);
  for (Value value : {op.getLhs(), op.getRhs()}) {
    auto transpose = value.getDefiningOp<graph::TransposeOp>();
    Value weights = otherOperand(op, value);
    if (!transpose || !transpose->hasOneUse() ||
        transpose.getPermutation() != ArrayRef(order) ||
        !transpose.getInput().getDefiningOp<graph::MatmulOp>() ||
        graph::getDims(weights) != perRow || !isMostlyZero(weights))
      continue;
    OpBuilder builder(op);
    Value input = transpose.getInput();
    std::swap(perRow[0], perRow[1]);
    weights = graph::TransposeOp::create(
        builder, weights.getLoc(),
        graph::tensorOf(perRow, graph::getElementType(weights)), weights,
        order);
    auto scaled = graph::MulOp::create(builder, op.getLoc(), input.getType(),
                                       input, weights);
    Exprs summed = graph::getDims(input);
    summed[0] = Expr::constant(op.getContext(), 1);
    for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
      auto reduce = cast<graph::ReduceOp>(user);
      builder.setInsertionPoint(reduce);
      Value sum = graph::ReduceOp::create(
          builder, reduce.getLoc(),
          graph::tensorOf(summed, graph::getElementType(input)), scaled,
          builder.getDenseI64ArrayAttr({0}), reduce.getKindAttr());
      reduce.getResult().replaceAllUsesWith(graph::ReshapeOp::create(
          builder, reduce.getLoc(), reduce.getType(), sum));
      reduce.erase();
    }
    eraseUnused(op);
    return scaled;
  }
  return op;
}

/// A mixture: product * weights, or a product of something * weights, of which
/// a sum over the experts is all that is read.
class Mixture {
public:
  explicit Mixture(graph::MulOp scaled)
      : scaled(scaled), end(scaled), dims(graph::getDims(scaled.getResult())) {}

  /// Whether it is one.
  bool find() {
    if (dims.size() != 3)
      return false;
    if (!isSummed(scaled.getResult(), 0)) {
      product = scaled->hasOneUse()
                    ? dyn_cast<graph::MatmulOp>(*scaled->user_begin())
                    : graph::MatmulOp();
      if (!product || product.getLhs() != scaled.getResult() ||
          graph::getRank(product.getResult()) != 3 ||
          !isSummed(product.getResult(), 0))
        return false;
      end = product;
    }
    Exprs perRow = dims;
    perRow.back() = Expr::constant(scaled.getContext(), 1);
    for (Value value : {scaled.getLhs(), scaled.getRhs()})
      if (graph::getDims(value) == perRow)
        weights = value;
    return weights && graph::getElementType(weights).isF32() &&
           graph::getDims(otherOperand(scaled, weights)) == dims &&
           isMostlyZero(weights);
  }

  /// Why all experts are computed.
  std::optional<StringRef> refusal() {
    if (!product)
      findProduct();
    if (!product || product->getBlock() != scaled->getBlock())
      return "they are not the rows of one product";
    if (graph::getRank(product.getRhs()) != 3)
      return "they share a matrix";
    return std::nullopt;
  }

  void rewrite() {
    Operation *hidden = product.getLhs().getDefiningOp();
    SmallVector<Operation *> inner, outer;
    if (hidden && graph::isPointwise(hidden) && hidden->hasOneUse() &&
        hidden->getBlock() == end->getBlock())
      inner = sorted(pointwiseTree(hidden));
    if (end == scaled)
      outer = sorted(pointwiseTree(scaled));
    findProducts(inner);
    // Behind the weights, in the old order.
    Operation *chain[] = {product};
    for (Operation *op : llvm::concat<Operation *>(inner, chain, outer))
      if (op != end)
        op->moveBefore(end);
    Operation *first = inner.empty() ? product : inner.front();
    chooseZero(first);
    for (Value each : products)
      choose(asBatches(each, first));
    if (!products.empty())
      choose(hidden->getResult(0));
    choose(end->getResult(0));
  }

private:
  void findProduct() {
    for (Operation *op : pointwiseTree(scaled))
      for (Value operand : op->getOperands())
        if (auto matmul = operand.getDefiningOp<graph::MatmulOp>())
          if (graph::getDims(operand) == dims && isOnlyReadBy(operand, op))
            product = matmul;
  }

  static bool isOnlyReadBy(Value value, Operation *op) {
    return llvm::all_of(value.getUsers(),
                        [&](Operation *user) { return user == op; });
  }

  static SmallVector<Operation *>
  sorted(const llvm::SetVector<Operation *> &ops) {
    SmallVector<Operation *> result(ops.begin(), ops.end());
    llvm::sort(result, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    return result;
  }

  /// The products of weights that ops read, each by experts or transposed to
  /// that, and which nothing else reads.
  void findProducts(ArrayRef<Operation *> ops) {
    for (Operation *op : ops)
      for (Value operand : op->getOperands())
        if (!llvm::is_contained(products, operand) &&
            !llvm::is_contained(ops, operand.getDefiningOp()) &&
            llvm::all_of(operand.getUsers(),
                         [&](Operation *user) {
                           return llvm::is_contained(ops, user);
                         }) &&
            isProductOfExperts(operand))
          products.push_back(operand);
  }

  bool isProductOfExperts(Value value) {
    Exprs own = graph::getDims(value);
    if (own.size() != 3 || own[0] != dims[0] || own[1] != dims[1])
      return false;
    if (auto matmul = value.getDefiningOp<graph::MatmulOp>())
      return graph::getRank(matmul.getRhs()) == 3;
    return joined(value) != nullptr;
  }

  /// x * w of transpose(reshape(x * w)), which cuts w into experts.
  graph::MatmulOp joined(Value value) {
    auto transpose = value.getDefiningOp<graph::TransposeOp>();
    if (!transpose || transpose.getPermutation() != ArrayRef<int64_t>{1, 0, 2})
      return {};
    auto reshape = transpose.getInput().getDefiningOp<graph::ReshapeOp>();
    auto matmul = reshape && reshape->hasOneUse()
                      ? reshape.getInput().getDefiningOp<graph::MatmulOp>()
                      : graph::MatmulOp();
    if (!matmul || !matmul->hasOneUse() ||
        matmul->getBlock() != scaled->getBlock())
      return {};
    auto weight = matmul.getRhs().getDefiningOp<graph::WeightOp>();
    bool fits =
        weight && weight->hasOneUse() && graph::getRank(matmul.getLhs()) == 2 &&
        graph::getRank(weight.getResult()) == 2 && dims[0].asConstant() &&
        graph::getDims(value).back().asConstant();
    return fits ? matmul : graph::MatmulOp();
  }

  /// The zeros of the weights, as a condition.
  void chooseZero(Operation *first) {
    OpBuilder builder(first);
    zero = scalarOf(builder, scaled.getLoc(), builder.getF32FloatAttr(0));
    isZeroRow = graph::EqualOp::create(
        builder, scaled.getLoc(),
        graph::tensorOf(graph::getDims(weights), builder.getI1Type()), weights,
        zero);
  }

  /// A product as a matrix per expert, in front of `first`.
  ///
  /// transpose(reshape(x * w)) -> x * transpose(reshape(w))
  Value asBatches(Value value, Operation *first) {
    if (auto matmul = value.getDefiningOp<graph::MatmulOp>()) {
      matmul->moveBefore(first);
      return value;
    }
    graph::MatmulOp matmul = joined(value);
    OpBuilder builder(first);
    Location loc = matmul.getLoc();
    Type element = graph::getElementType(value);
    Expr depth = graph::getDims(matmul.getLhs()).back();
    Exprs own = graph::getDims(value);
    Value rhs = graph::ReshapeOp::create(
        builder, loc, graph::tensorOf({depth, own[0], own[2]}, element),
        matmul.getRhs());
    rhs = graph::TransposeOp::create(
        builder, loc, graph::tensorOf({own[0], depth, own[2]}, element), rhs,
        ArrayRef<int64_t>{1, 0, 2});
    Value batches = graph::MatmulOp::create(builder, loc, value.getType(),
                                            matmul.getLhs(), rhs);
    Operation *old = value.getDefiningOp();
    value.replaceAllUsesWith(batches);
    eraseUnused(old);
    return batches;
  }

  /// value -> weights == 0 ? 0 : value
  void choose(Value value) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    auto select = graph::SelectOp::create(
        builder, value.getLoc(), value.getType(), isZeroRow, zero, value);
    value.replaceAllUsesExcept(select.getResult(), select);
  }

  graph::MulOp scaled;
  Operation *end; // What is summed.
  Exprs dims;     // [expert, token, column]
  Value weights;
  graph::MatmulOp product;
  SmallVector<Value> products; // That its lhs is computed of.
  Value zero, isZeroRow;
};

struct SkipExperts : impl::SkipExpertsPassBase<SkipExperts> {
  using SkipExpertsPassBase::SkipExpertsPassBase;

  void runOnOperation() override {
    SmallVector<graph::MulOp> all;
    getOperation().walk([&](graph::MulOp op) { all.push_back(op); });
    for (graph::MulOp op : all) {
      Mixture mixture(putExpertsFirst(op));
      if (!mixture.find())
        continue;
      std::optional<StringRef> why = mixture.refusal();
      if (!why)
        mixture.rewrite();
      else if (explain)
        op.emitRemark("computes experts that no token chose: ") << *why;
    }
  }
};

} // namespace
} // namespace tenon
