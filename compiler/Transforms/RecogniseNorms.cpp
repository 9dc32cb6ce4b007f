//===- RecogniseNorms.cpp - Formulas of norms -> layer_norm, rms_norm -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each formula has a root of a mean of squares plus epsilon. From there the
// values that are squared are found upwards, and those that are divided by the
// root downwards; when both are the same x, or x less its mean, it is a norm.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include <cmath>

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_RECOGNISENORMSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

/// What is under the root.
struct Statistics {
  Value squared;    // Its squares are averaged; null where those of x are, less
                    // the square of its mean.
  Value x;          // The input of the norm.
  Value mean;       // Null for an RMS norm.
  int64_t axis = 0; // All axes from here on are averaged.
  double epsilon = 0;
};

/// The value before casts between floats that lose nothing.
Value beforeCasts(Value value) {
  while (auto cast = value.getDefiningOp<graph::CastOp>()) {
    auto from = dyn_cast<FloatType>(graph::getElementType(cast.getInput()));
    auto to = dyn_cast<FloatType>(graph::getElementType(value));
    if (!from || !to || from.getWidth() > to.getWidth() ||
        (from.getWidth() == to.getWidth() && from != to))
      break;
    value = cast.getInput();
  }
  return value;
}

/// Whether two values are the same number at each place; subtractions may be
/// written out twice.
bool areSame(Value a, Value b) {
  a = beforeCasts(a);
  b = beforeCasts(b);
  if (a == b)
    return true;
  auto lhs = a.getDefiningOp<graph::SubOp>(),
       rhs = b.getDefiningOp<graph::SubOp>();
  return lhs && rhs && beforeCasts(lhs.getLhs()) == beforeCasts(rhs.getLhs()) &&
         beforeCasts(lhs.getRhs()) == beforeCasts(rhs.getRhs());
}

/// A mean over the last axes: from which one on, and of what.
std::optional<std::pair<Value, int64_t>> meanOverLastAxes(Value value) {
  Value sum = value;
  std::optional<double> factor;
  if (auto mul = value.getDefiningOp<graph::MulOp>()) {
    factor = splatOf(mul.getRhs());
    sum = mul.getLhs();
    if (!factor) {
      factor = splatOf(mul.getLhs());
      sum = mul.getRhs();
    }
  } else if (auto div = value.getDefiningOp<graph::DivOp>()) {
    sum = div.getLhs();
    if (std::optional<double> divisor = splatOf(div.getRhs()))
      factor = 1 / *divisor;
  }
  auto reduce = sum.getDefiningOp<graph::ReduceOp>();
  if (!reduce || (sum != value && !factor))
    return std::nullopt;
  int64_t rank = graph::getRank(sum);
  int64_t axis = rank - static_cast<int64_t>(reduce.getAxes().size());
  SmallVector<int64_t> axes(reduce.getAxes());
  llvm::sort(axes);
  for (auto [i, each] : llvm::enumerate(axes))
    if (each != axis + static_cast<int64_t>(i))
      return std::nullopt;
  if (axes.empty())
    return std::nullopt;
  if (sum == value)
    return reduce.getKind() == graph::ReduceKind::Mean
               ? std::optional(std::pair(reduce.getInput(), axis))
               : std::nullopt;
  graph::Expr count = graph::product(
      reduce.getContext(),
      ArrayRef(graph::getDims(reduce.getInput())).drop_front(axis));
  std::optional<int64_t> number = count.asConstant();
  if (reduce.getKind() != graph::ReduceKind::Sum || !number || *number == 0 ||
      std::abs(*factor * static_cast<double>(*number) - 1) > 1e-6)
    return std::nullopt;
  return std::pair(reduce.getInput(), axis);
}

/// What is squared; null when it is no square.
Value baseOfSquare(Value square) {
  if (auto mul = square.getDefiningOp<graph::MulOp>())
    return mul.getLhs() == mul.getRhs() ? mul.getLhs() : Value();
  auto pow = square.getDefiningOp<graph::PowOp>();
  return pow && splatOf(pow.getRhs()) == 2.0 &&
                 pow.getType() == pow.getLhs().getType()
             ? pow.getLhs()
             : Value();
}

/// Whether a reduction is here or one step further up.
bool isOfReduction(Value value) {
  Operation *op = value.getDefiningOp();
  return op && (isa<graph::ReduceOp>(op) ||
                llvm::any_of(op->getOperands(), [](Value operand) {
                  return bool(operand.getDefiningOp<graph::ReduceOp>());
                }));
}

class Recogniser {
public:
  explicit Recogniser(graph::SqrtOp root) : root(root) {}

  /// Replaces the norm, or says why it is none; with an empty reason for what
  /// does not look like one.
  std::optional<StringRef> run() {
    auto sum = root.getInput().getDefiningOp<graph::AddOp>();
    if (!sum)
      return meanOverLastAxes(root.getInput())
                 ? "there is no epsilon under the root"
                 : "";
    std::optional<double> epsilon = splatOf(sum.getRhs());
    Value variance = sum.getLhs();
    if (!epsilon) {
      epsilon = splatOf(sum.getLhs());
      variance = sum.getRhs();
    }
    if (!epsilon || !findMoments(variance)) {
      auto mean = meanOverLastAxes(variance);
      if (!epsilon || !mean)
        return isOfReduction(variance)
                   ? "the root is not of a mean over the last axes"
                   : "";
      statistics.axis = mean->second;
      statistics.squared = baseOfSquare(mean->first);
      if (!statistics.squared)
        return "the mean is not of squares";
      findInput();
    }
    statistics.epsilon = *epsilon;
    if (!root->hasOneUse())
      return "the root has several users";
    return replaceQuotient();
  }

private:
  /// mean(x * x) - mean(x) * mean(x), perhaps bounded below by 0.
  bool findMoments(Value variance) {
    if (auto max = variance.getDefiningOp<graph::MaxOp>()) {
      bool isFirst = splatOf(max.getLhs()) == 0.0;
      if (!isFirst && splatOf(max.getRhs()) != 0.0)
        return false;
      variance = isFirst ? max.getRhs() : max.getLhs();
    }
    auto difference = variance.getDefiningOp<graph::SubOp>();
    auto squares =
        difference ? meanOverLastAxes(difference.getLhs()) : std::nullopt;
    Value x = squares ? baseOfSquare(squares->first) : Value();
    Value mean = x ? baseOfSquare(difference.getRhs()) : Value();
    auto average = mean ? meanOverLastAxes(mean) : std::nullopt;
    if (!average || average->second != squares->second ||
        !areSame(average->first, x))
      return false;
    statistics.x = x;
    statistics.mean = mean;
    statistics.axis = squares->second;
    return true;
  }

  /// Whether a value is what is to be divided by the root.
  bool isCentred(Value value) const {
    if (statistics.squared)
      return areSame(value, statistics.squared);
    auto difference = beforeCasts(value).getDefiningOp<graph::SubOp>();
    return difference && areSame(difference.getLhs(), statistics.x) &&
           areSame(difference.getRhs(), statistics.mean);
  }

  /// x, and its mean where what is squared is x less its mean.
  void findInput() {
    statistics.x = statistics.squared;
    auto difference =
        beforeCasts(statistics.squared).getDefiningOp<graph::SubOp>();
    if (!difference)
      return;
    auto mean = meanOverLastAxes(difference.getRhs());
    if (!mean || mean->second != statistics.axis ||
        !areSame(mean->first, difference.getLhs()))
      return;
    statistics.x = difference.getLhs();
    statistics.mean = difference.getRhs();
  }

  /// x / root, x * (1 / root) in any order, or what TensorFlow writes.
  std::optional<StringRef> replaceQuotient() {
    Operation *user = *root->user_begin();
    if (auto div = dyn_cast<graph::DivOp>(user); div && div.getRhs() == root) {
      if (splatOf(div.getLhs()) == 1.0)
        return replaceProduct(user);
      return replace(user, div.getLhs());
    }
    if (isa<graph::ReciprocalOp>(user))
      return replaceProduct(user);
    return "the root divides nothing";
  }

  std::optional<StringRef> replaceProduct(Operation *inverse) {
    Value factor = inverse->getResult(0);
    if (!factor.hasOneUse())
      return "one over the root has several users";
    auto mul = dyn_cast<graph::MulOp>(*factor.user_begin());
    if (!mul)
      return "one over the root is not multiplied";
    Value other = otherOperand(mul, factor);
    if (isCentred(other))
      return replace(mul, other);
    if (mul->hasOneUse())
      return replaceScaled(mul, other);
    return replaceFolded(mul, other);
  }

  /// Replaces `quotient`, which is `dividend` over the root.
  std::optional<StringRef> replace(Operation *quotient, Value dividend) {
    if (!isCentred(dividend))
      return "what is divided is not what was squared";
    if (graph::getDims(dividend) != graph::getDims(quotient->getResult(0)))
      return "epsilon or a factor has axes that the input lacks";
    OpBuilder builder(quotient);
    Value x = dividend;
    if (statistics.mean)
      x = beforeCasts(dividend).getDefiningOp<graph::SubOp>().getLhs();
    if (x.getType() != quotient->getResult(0).getType())
      x = graph::CastOp::create(builder, quotient->getLoc(),
                                quotient->getResult(0).getType(), x);
    replaceWithNorm(builder, quotient, x);
    return std::nullopt;
  }

  /// gamma / root = g; x * g, of a centred x where there is a mean.
  std::optional<StringRef> replaceScaled(graph::MulOp scale, Value gamma) {
    auto product = dyn_cast<graph::MulOp>(*scale->user_begin());
    Value x = product ? otherOperand(product, scale) : Value();
    if (!x || !isCentred(x))
      return "what is divided is not what was squared";
    if (statistics.mean)
      x = beforeCasts(x).getDefiningOp<graph::SubOp>().getLhs();
    OpBuilder builder(product);
    Value norm = makeNorm(builder, product.getLoc(), x);
    Value result = graph::MulOp::create(builder, product.getLoc(), norm, gamma);
    return putInPlace(product, result, {result, norm});
  }

  /// Puts what was made, its own last op first, in the place of an op.
  static std::optional<StringRef> putInPlace(Operation *op, Value result,
                                             ArrayRef<Value> made) {
    if (result.getType() != op->getResult(0).getType()) {
      for (Value unused : made)
        unused.getDefiningOp()->erase();
      return "scale or bias has axes that the input lacks";
    }
    op->replaceAllUsesWith(ValueRange(result));
    eraseUnused(op);
    return std::nullopt;
  }

  /// gamma / root = g; x * g + (beta - mean * g): scaled before it is centred.
  /// The mean may be negative, and added.
  std::optional<StringRef> replaceFolded(graph::MulOp scale, Value gamma) {
    constexpr StringRef why = "what is divided is not what was squared";
    if (!statistics.mean)
      return why;
    graph::MulOp scaled, shift;
    bool isNegative = false;
    for (Operation *user : scale->getUsers()) {
      auto mul = dyn_cast<graph::MulOp>(user);
      if (!mul)
        return why;
      Value other = otherOperand(mul, scale);
      auto negative = other.getDefiningOp<graph::NegOp>();
      isNegative |= bool(negative);
      other = negative ? negative.getInput() : other;
      if (!negative && beforeCasts(other) == beforeCasts(statistics.x))
        scaled = mul;
      else if (beforeCasts(other) == beforeCasts(statistics.mean))
        shift = mul;
      else
        return why;
    }
    if (!scaled || !shift || !shift->hasOneUse() || !scaled->hasOneUse())
      return why;
    Operation *rest = *shift->user_begin();
    auto difference = dyn_cast<graph::SubOp>(rest);
    bool isRest = isNegative
                      ? isa<graph::AddOp>(rest)
                      : difference && difference.getRhs() == shift.getResult();
    auto sum = dyn_cast<graph::AddOp>(*scaled->user_begin());
    if (!isRest || !rest->hasOneUse() || !sum ||
        otherOperand(sum, scaled) != rest->getResult(0))
      return why;
    OpBuilder builder(sum);
    Value norm = makeNorm(builder, sum.getLoc(), otherOperand(scaled, scale));
    Value product = graph::MulOp::create(builder, sum.getLoc(), norm, gamma);
    Value result = graph::AddOp::create(builder, sum.getLoc(), product,
                                        otherOperand(rest, shift));
    return putInPlace(sum, result, {result, product, norm});
  }

  Value makeNorm(OpBuilder &builder, Location loc, Value x) {
    IntegerAttr axis = builder.getI64IntegerAttr(statistics.axis);
    FloatAttr epsilon = builder.getF64FloatAttr(statistics.epsilon);
    if (statistics.mean)
      return graph::LayerNormOp::create(builder, loc, x, axis, epsilon);
    return graph::RmsNormOp::create(builder, loc, x, axis, epsilon);
  }

  /// A norm between casts from and to a narrow type is the narrow one's: both
  /// compute in f32 and round once.
  void replaceWithNorm(OpBuilder &builder, Operation *quotient, Value x) {
    Operation *replaced = quotient;
    Value narrow = beforeCasts(x);
    if (narrow != x && quotient->hasOneUse() &&
        !graph::getElementType(x).isF64()) {
      auto cast = dyn_cast<graph::CastOp>(*quotient->user_begin());
      if (cast && cast.getType() == narrow.getType()) {
        x = narrow;
        replaced = cast;
        builder.setInsertionPoint(cast);
      }
    }
    Value norm = makeNorm(builder, quotient->getLoc(), x);
    replaced->getResult(0).replaceAllUsesWith(norm);
    eraseUnused(replaced);
  }

  graph::SqrtOp root;
  Statistics statistics;
};

struct RecogniseNorms : impl::RecogniseNormsPassBase<RecogniseNorms> {
  using RecogniseNormsPassBase::RecogniseNormsPassBase;

  void runOnOperation() override {
    SmallVector<graph::SqrtOp> roots;
    getOperation().walk([&](graph::SqrtOp op) { roots.push_back(op); });
    for (graph::SqrtOp op : roots) {
      std::optional<StringRef> why = Recogniser(op).run();
      if (explain && why && !why->empty())
        op->emitRemark("not a norm: ") << *why;
    }
  }
};

} // namespace
} // namespace tenon
