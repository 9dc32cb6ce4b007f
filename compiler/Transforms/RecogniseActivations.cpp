//===- RecogniseActivations.cpp - Formulas of activations, in few ops -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters write the factors of a GELU in every order. Instead of a template
// for each, what feeds the erf, tanh or sigmoid is expanded into a polynomial
// in a candidate x, and what uses it into a polynomial in x and the function:
// equal polynomials are equal formulas.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_RECOGNISEACTIVATIONSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

/// The sum of number[i][j] * x^i * f^j.
struct Polynomial {
  static constexpr unsigned degree = 3;
  std::array<std::array<double, 2>, degree + 1> number = {};

  Polynomial scaled(double factor) const {
    Polynomial result = *this;
    for (auto &row : result.number)
      for (double &each : row)
        each *= factor;
    return result;
  }

  Polynomial operator+(const Polynomial &other) const {
    Polynomial result = *this;
    for (unsigned i = 0; i <= degree; ++i)
      for (unsigned j = 0; j < 2; ++j)
        result.number[i][j] += other.number[i][j];
    return result;
  }

  /// None above the degrees that are held.
  std::optional<Polynomial> times(const Polynomial &other) const {
    Polynomial result;
    for (unsigned i = 0; i <= degree; ++i)
      for (unsigned j = 0; j < 2; ++j)
        for (unsigned k = 0; k <= degree; ++k)
          for (unsigned l = 0; l < 2; ++l) {
            double term = number[i][j] * other.number[k][l];
            if (term == 0)
              continue;
            if (i + k > degree || j + l > 1)
              return std::nullopt;
            result.number[i + k][j + l] += term;
          }
    return result;
  }

  std::optional<double> asNumber() const {
    for (unsigned i = 0; i <= degree; ++i)
      for (unsigned j = 0; j < 2; ++j)
        if (i + j > 0 && number[i][j] != 0)
          return std::nullopt;
    return number[0][0];
  }

  /// Equal up to the rounding of the constants.
  bool is(const Polynomial &expected) const {
    for (unsigned i = 0; i <= degree; ++i)
      for (unsigned j = 0; j < 2; ++j)
        if (!isNear(number[i][j], expected.number[i][j]))
          return false;
    return true;
  }
};

Polynomial term(unsigned i, unsigned j, double value) {
  Polynomial result;
  result.number[i][j] = value;
  return result;
}

/// Expands values into polynomials and remembers the ops on the way.
class Expansion {
public:
  Expansion(Value x, Value function) : x(x), function(function) {}

  std::optional<Polynomial> of(Value value, unsigned depth = 0) {
    if (value == x)
      return term(1, 0, 1);
    if (value == function)
      return term(0, 1, 1);
    if (std::optional<double> number = splatOf(value))
      return term(0, 0, *number);
    Operation *op = value.getDefiningOp();
    // What broadcasts x would change its sizes, which a GELU keeps.
    if (!op || depth == maxDepth || value.getType() != x.getType())
      return std::nullopt;
    std::optional<Polynomial> result = ofOp(op, depth + 1);
    if (result)
      ops.insert(op);
    return result;
  }

  llvm::SetVector<Operation *> ops;

private:
  static constexpr unsigned maxDepth = 10;

  std::optional<Polynomial> ofOp(Operation *op, unsigned depth) {
    if (!isa<graph::AddOp, graph::SubOp, graph::MulOp, graph::DivOp,
             graph::PowOp, graph::NegOp>(op))
      return std::nullopt;
    std::optional<Polynomial> lhs = of(op->getOperand(0), depth);
    if (!lhs)
      return std::nullopt;
    if (isa<graph::NegOp>(op))
      return lhs->scaled(-1);
    std::optional<Polynomial> rhs = of(op->getOperand(1), depth);
    if (!rhs)
      return std::nullopt;
    if (isa<graph::AddOp>(op))
      return *lhs + *rhs;
    if (isa<graph::SubOp>(op))
      return *lhs + rhs->scaled(-1);
    if (isa<graph::MulOp>(op))
      return lhs->times(*rhs);
    std::optional<double> number = rhs->asNumber();
    if (!number)
      return std::nullopt;
    if (isa<graph::DivOp>(op))
      return *number == 0 ? std::nullopt
                          : std::optional(lhs->scaled(1 / *number));
    if (*number != 2 && *number != 3)
      return std::nullopt;
    std::optional<Polynomial> square = lhs->times(*lhs);
    return square && *number == 3 ? square->times(*lhs) : square;
  }

  Value x, function;
};

/// A formula around an erf, tanh or sigmoid.
struct Formula {
  graph::GeluKind kind;
  Polynomial argument, result;
};

const double root2OverPi = std::sqrt(2 / M_PI);

Formula formulaOf(Operation *function) {
  Polynomial half = term(1, 0, 0.5) + term(1, 1, 0.5);
  if (isa<graph::ErfOp>(function))
    return {graph::GeluKind::Erf, term(1, 0, M_SQRT1_2), half};
  if (isa<graph::TanhOp>(function))
    return {graph::GeluKind::Tanh,
            term(1, 0, root2OverPi) + term(3, 0, root2OverPi * 0.044715), half};
  return {graph::GeluKind::Quick, term(1, 0, 1.702), term(1, 1, 1)};
}

/// Values that the argument is computed from by arithmetic, nearest first.
SmallVector<Value> candidates(Value argument) {
  constexpr size_t most = 16;
  llvm::SetVector<Value> found;
  found.insert(argument);
  for (size_t i = 0; i < found.size() && found.size() < most; ++i) {
    Operation *op = found[i].getDefiningOp();
    if (isa_and_nonnull<graph::AddOp, graph::SubOp, graph::MulOp, graph::DivOp,
                        graph::PowOp, graph::NegOp>(op))
      for (Value operand : op->getOperands())
        if (operand.getType() == argument.getType())
          found.insert(operand);
  }
  return found.takeVector();
}

/// The only op that uses a value; null when there are several or none.
Operation *onlyUser(Value value) {
  SmallPtrSet<Operation *, 2> users(value.user_begin(), value.user_end());
  return users.size() == 1 ? *users.begin() : nullptr;
}

class Recogniser {
public:
  explicit Recogniser(Operation *function)
      : function(function), formula(formulaOf(function)) {}

  /// Replaces the formula, or says why it is none; with an empty reason for
  /// what does not look like one.
  std::optional<StringRef> run() {
    std::optional<StringRef> why;
    for (Value candidate : candidates(function->getOperand(0))) {
      if (!isInput(candidate))
        continue;
      why = replace();
      if (!why)
        return std::nullopt;
    }
    if (why)
      return why;
    return isa<graph::ErfOp>(function) || isCubic
               ? "its argument is not that of a GELU"
               : "";
  }

private:
  /// Replaces the formula of this x, or says why it is none.
  std::optional<StringRef> replace() {
    Expansion all(x, function->getResult(0));
    Operation *last = findResult(all);
    if (!last)
      return "its users do not make a GELU of it";
    all.of(function->getOperand(0));
    for (Operation *op : all.ops)
      for (Operation *user : op->getUsers())
        if (op != last && user != function && !all.ops.contains(user))
          return "an intermediate of the GELU has another user";
    OpBuilder builder(last);
    Value gelu = graph::GeluOp::create(
        builder, last->getLoc(), x.getType(), x,
        graph::GeluKindAttr::get(builder.getContext(), formula.kind));
    last->getResult(0).replaceAllUsesWith(gelu);
    eraseUnused(last);
    return std::nullopt;
  }

  /// Whether the argument is that of a GELU of a value, or what is below 0 the
  /// same: erf and tanh are odd, and 1 + f(x) is 1 - f(-x).
  bool isInput(Value candidate) {
    Expansion expansion(candidate, Value());
    std::optional<Polynomial> argument = expansion.of(function->getOperand(0));
    isCubic |= argument && argument->number[3][0] != 0;
    isNegative = argument && formula.kind != graph::GeluKind::Quick &&
                 argument->is(formula.argument.scaled(-1));
    if (!argument || (!isNegative && !argument->is(formula.argument)))
      return false;
    x = candidate;
    return true;
  }

  /// Goes from user to user until the formula is complete.
  Operation *findResult(Expansion &all) {
    constexpr unsigned most = 6;
    Operation *op = function;
    for (unsigned i = 0; i < most; ++i) {
      op = onlyUser(op->getResult(0));
      if (!op || op->getNumResults() != 1)
        return nullptr;
      std::optional<Polynomial> result = all.of(op->getResult(0));
      if (!result)
        return nullptr;
      if (isNegative)
        for (auto &row : result->number)
          row[1] = -row[1];
      if (result->is(formula.result))
        return op;
    }
    return nullptr;
  }

  Operation *function;
  Formula formula;
  Value x;
  bool isCubic = false, isNegative = false;
};

/// sigmoid(x) * x -> x * sigmoid(x)
bool orderSilu(graph::SigmoidOp sigmoid) {
  bool isSilu = false;
  for (Operation *user : sigmoid->getUsers()) {
    auto mul = dyn_cast<graph::MulOp>(user);
    if (!mul)
      continue;
    isSilu |= mul.getLhs() == sigmoid.getInput();
    if (mul.getLhs() != sigmoid || mul.getRhs() != sigmoid.getInput())
      continue;
    mul.getLhsMutable().set(sigmoid.getInput());
    mul.getRhsMutable().set(sigmoid);
    isSilu = true;
  }
  return isSilu;
}

/// tanh(softplus(x)) -> n / (n + 2), n being e^x (e^x + 2): one exponential for
/// three functions. From the largest x on, that is 1 in any type that holds n.
void simplifyMish(graph::TanhOp tanh) {
  auto softplus = tanh.getInput().getDefiningOp<graph::SoftplusOp>();
  if (!softplus)
    return;
  OpBuilder builder(tanh);
  Location loc = tanh->getLoc();
  Value x = softplus.getInput();
  Type type = x.getType(), element = graph::getElementType(x);
  auto number = [&](double value) {
    return scalarOf(builder, loc, builder.getFloatAttr(element, value));
  };
  Value least = graph::MinOp::create(builder, loc, type, x,
                                     number(element.isF16() ? 5 : 20));
  Value power = graph::ExpOp::create(builder, loc, type, least);
  Value factor = graph::AddOp::create(builder, loc, type, power, number(2));
  Value n = graph::MulOp::create(builder, loc, type, power, factor);
  Value more = graph::AddOp::create(builder, loc, type, n, number(2));
  Value ratio = graph::DivOp::create(builder, loc, type, n, more);
  tanh->getResult(0).replaceAllUsesWith(ratio);
  eraseUnused(tanh);
}

struct RecogniseActivations
    : impl::RecogniseActivationsPassBase<RecogniseActivations> {
  using RecogniseActivationsPassBase::RecogniseActivationsPassBase;

  void runOnOperation() override {
    SmallVector<Operation *> functions;
    getOperation().walk([&](Operation *op) {
      if (isa<graph::ErfOp, graph::TanhOp, graph::SigmoidOp>(op))
        functions.push_back(op);
    });
    for (Operation *op : functions) {
      if (auto sigmoid = dyn_cast<graph::SigmoidOp>(op);
          sigmoid && orderSilu(sigmoid))
        continue;
      std::optional<StringRef> why = Recogniser(op).run();
      if (explain && why && !why->empty())
        op->emitRemark("not a GELU: ") << *why;
      if (why && isa<graph::TanhOp>(op))
        simplifyMish(cast<graph::TanhOp>(op));
    }
  }
};

} // namespace
} // namespace tenon
