//===- RecogniseRotary.cpp - Rotations written out -> graph.rotary --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With x1 and x2 the two halves of x, or its even and odd elements:
//
//   x * cos + join(-x2, x1) * sin                     with tables as wide as x
//   join(x1 * cos - x2 * sin, x1 * sin + x2 * cos)    with tables half as wide
//
// where join puts halves one behind the other, or elements side by side.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/RotaryTables.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_RECOGNISEROTARYPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

using graph::Expr;

/// Two values that a join puts together.
struct Join {
  Value first, second;
  bool interleaved = false;
};

/// The value that a reshape gives one more axis, of size one, at the end.
Value beforeUnsqueeze(Value value) {
  auto reshape = value.getDefiningOp<graph::ReshapeOp>();
  if (!reshape)
    return {};
  SmallVector<Expr> dims = graph::getDims(reshape.getInput());
  dims.push_back(Expr::constant(reshape.getContext(), 1));
  return graph::getDims(value) == dims ? reshape.getInput() : Value();
}

bool isLastAxis(graph::ConcatOp concat) {
  return static_cast<int64_t>(concat.getAxis()) + 1 == graph::getRank(concat);
}

std::optional<Join> joinOf(Value value) {
  auto flat = value.getDefiningOp<graph::ReshapeOp>();
  auto concat =
      (flat ? flat.getInput() : value).getDefiningOp<graph::ConcatOp>();
  if (!concat || concat.getInputs().size() != 2 || !isLastAxis(concat))
    return std::nullopt;
  Value first = concat.getInputs()[0], second = concat.getInputs()[1];
  if (!flat) {
    if (first.getType() != second.getType())
      return std::nullopt;
    return Join{first, second, false};
  }
  first = beforeUnsqueeze(first);
  second = beforeUnsqueeze(second);
  if (!first || !second || first.getType() != second.getType())
    return std::nullopt;
  SmallVector<Expr> dims = graph::getDims(first);
  if (dims.empty())
    return std::nullopt;
  dims.back() = dims.back() * 2;
  if (graph::getDims(value) != dims)
    return std::nullopt;
  return Join{first, second, true};
}

/// What `value` is the first (or second) half of; null when it is none.
Value wholeOf(Value value, bool second, bool interleaved) {
  auto slice = value.getDefiningOp<graph::SliceOp>();
  if (!slice)
    return {};
  SmallVector<Expr> from = graph::getDims(slice.getInput());
  SmallVector<Expr> to = graph::getDims(value);
  int64_t last = from.size() - 1;
  for (int64_t i = 0; i <= last; ++i) {
    Expr start = slice.getStarts()[i], step = slice.getSteps()[i];
    if (i < last) {
      if (from[i] != to[i] || !start.isConstant(0) || !step.isConstant(1))
        return {};
      continue;
    }
    Expr begin = interleaved ? Expr::constant(slice.getContext(), 1) : to[i];
    if (to[i] * 2 != from[i] || !step.isConstant(interleaved ? 2 : 1) ||
        !(second ? start == begin : start.isConstant(0)))
      return {};
  }
  return slice.getInput();
}

/// x, where `value` is join(-x2, x1).
Value turnedQuarter(Value value, bool &interleaved) {
  std::optional<Join> join = joinOf(value);
  if (!join)
    return {};
  interleaved = join->interleaved;
  auto negated = join->first.getDefiningOp<graph::NegOp>();
  Value x = wholeOf(join->second, false, interleaved);
  return negated && x && wholeOf(negated.getInput(), true, interleaved) == x
             ? x
             : Value();
}

/// Whether `value` is the first (or second) half of x, where both are slices of
/// a wider tensor.
bool isHalfOf(Value value, Value x, bool second, bool interleaved) {
  auto half = value.getDefiningOp<graph::SliceOp>(),
       whole = x.getDefiningOp<graph::SliceOp>();
  if (!half || !whole || half.getInput() != whole.getInput())
    return false;
  SmallVector<Expr> from = graph::getDims(x), to = graph::getDims(value);
  size_t last = from.size() - 1;
  for (size_t i = 0; i <= last; ++i) {
    Expr step = whole.getSteps()[i], begin = whole.getStarts()[i];
    bool isHalved = i == last;
    if (isHalved && second)
      begin = begin + (interleaved ? step : step * to[i]);
    if (isHalved && interleaved)
      step = step * 2;
    if (!begin || half.getStarts()[i] != begin || half.getSteps()[i] != step ||
        (isHalved ? to[i] * 2 : to[i]) != from[i])
      return false;
  }
  return true;
}

/// Whether `value` is join(-x2, x1), where x is a part of what is sliced.
bool turnsPart(Value value, Value x, bool &interleaved) {
  std::optional<Join> join = joinOf(value);
  auto negated =
      join ? join->first.getDefiningOp<graph::NegOp>() : graph::NegOp();
  if (!negated || !isHalfOf(negated.getInput(), x, true, join->interleaved) ||
      !isHalfOf(join->second, x, false, join->interleaved))
    return false;
  interleaved = join->interleaved;
  return true;
}

/// Whether a value at least joins something negated to something else.
bool looksTurned(Value value) {
  std::optional<Join> join = joinOf(value);
  return join && (join->first.getDefiningOp<graph::NegOp>() ||
                  join->second.getDefiningOp<graph::NegOp>());
}

/// Dims with as many ones in front as make four.
SmallVector<Expr> asRank4(Value value) {
  SmallVector<Expr> dims = graph::getDims(value);
  while (dims.size() < 4)
    dims.insert(dims.begin(), Expr::constant(value.getContext(), 1));
  return dims;
}

class Recogniser {
public:
  explicit Recogniser(Operation *op) : op(op) {}

  /// Replaces the rotation, or says why it is none; with an empty reason for
  /// what does not look like one.
  std::optional<StringRef> run() {
    if (auto sum = dyn_cast<graph::AddOp>(op))
      return replaceSum(sum);
    if (std::optional<StringRef> why = replacePartial())
      return replaceJoin();
    return std::nullopt;
  }

private:
  /// x * cos + turned(x) * sin
  std::optional<StringRef> replaceSum(graph::AddOp sum) {
    StringRef why = "";
    for (bool swapped : {false, true}) {
      auto straight = sum->getOperand(swapped).getDefiningOp<graph::MulOp>();
      auto turned = sum->getOperand(!swapped).getDefiningOp<graph::MulOp>();
      if (!straight || !turned)
        return "";
      for (Value quarter : turned->getOperands()) {
        if (looksTurned(quarter))
          why = "what is negated and joined are not the halves of one tensor";
        x = turnedQuarter(quarter, interleaved);
        for (Value each : straight->getOperands())
          if (!x && turnsPart(quarter, each, interleaved))
            x = each;
        if (!x)
          continue;
        if (!llvm::is_contained(straight->getOperands(), x))
          return "what is multiplied by the cosines is not what was turned";
        cos = otherOperand(straight, x);
        sin = otherOperand(turned, quarter);
        RotaryTables tables(interleaved);
        if (!tables.isDoubled(cos) || !tables.isDoubled(sin))
          return "the halves of a table are not proven equal";
        return replace(1, [&](Value table) { return tables.halve(table); });
      }
    }
    return why;
  }

  /// join(x1 * cos - x2 * sin, x1 * sin + x2 * cos)
  std::optional<StringRef> replaceJoin() {
    std::optional<Join> join = joinOf(op->getResult(0));
    if (!join)
      return "";
    interleaved = join->interleaved;
    auto real = join->first.getDefiningOp<graph::SubOp>();
    auto imaginary = join->second.getDefiningOp<graph::AddOp>();
    if (!real || !imaginary)
      return "";
    Value first, second;
    if (!splitProduct(real.getLhs(), false, first, cos) ||
        !splitProduct(real.getRhs(), true, second, sin))
      return "";
    if (!isSumOf(imaginary, first, sin, second, cos))
      return "the two sums do not take the same halves and tables";
    return replace(2, [](Value table) { return table; });
  }

  /// A half of x times a table.
  bool splitProduct(Value value, bool isSecond, Value &half, Value &table) {
    auto mul = value.getDefiningOp<graph::MulOp>();
    if (!mul)
      return false;
    for (Value operand : mul->getOperands()) {
      Value whole = wholeOf(operand, isSecond, interleaved);
      if (!whole || (x && whole != x))
        continue;
      x = whole;
      half = operand;
      table = otherOperand(mul, operand);
      return true;
    }
    return false;
  }

  static bool isProduct(Value value, Value a, Value b) {
    auto mul = value.getDefiningOp<graph::MulOp>();
    return mul && ((mul.getLhs() == a && mul.getRhs() == b) ||
                   (mul.getLhs() == b && mul.getRhs() == a));
  }

  /// sum == a * b + c * d
  static bool isSumOf(graph::AddOp sum, Value a, Value b, Value c, Value d) {
    return (isProduct(sum.getLhs(), a, b) && isProduct(sum.getRhs(), c, d)) ||
           (isProduct(sum.getLhs(), c, d) && isProduct(sum.getRhs(), a, b));
  }

  /// concat(rotary(x[:r]), x[r:]) -> rotary(x)
  std::optional<StringRef> replacePartial() {
    auto concat = dyn_cast<graph::ConcatOp>(op);
    if (!concat || concat.getInputs().size() != 2 || !isLastAxis(concat))
      return "";
    auto rotary = concat.getInputs()[0].getDefiningOp<graph::RotaryOp>();
    auto rest = concat.getInputs()[1].getDefiningOp<graph::SliceOp>();
    if (!rotary || !rest || !rotary->hasOneUse())
      return "";
    auto part = rotary.getInput().getDefiningOp<graph::SliceOp>();
    if (!part || part.getInput() != rest.getInput() ||
        rest.getInput().getType() != concat.getType())
      return "";
    Expr zero = Expr::constant(op->getContext(), 0);
    if (!isRange(part, zero) ||
        !isRange(rest, graph::getDim(rotary.getResult(), 3)))
      return "";
    OpBuilder builder(op);
    Value result = graph::RotaryOp::create(
        builder, rotary.getLoc(), rest.getInput(), rotary.getCos(),
        rotary.getSin(), rotary.getInterleaved());
    finish(result);
    return std::nullopt;
  }

  /// Whether a slice takes a range of the last axis, from `start` on.
  static bool isRange(graph::SliceOp slice, Expr start) {
    SmallVector<Expr> from = graph::getDims(slice.getInput());
    SmallVector<Expr> to = graph::getDims(slice.getResult());
    size_t last = from.size() - 1;
    for (size_t i = 0; i <= last; ++i)
      if (!slice.getSteps()[i].isConstant(1) ||
          (i < last &&
           (from[i] != to[i] || !slice.getStarts()[i].isConstant(0))))
        return false;
    return slice.getStarts()[last] == start;
  }

  /// Makes the op when the sizes of the tables are proven to fit; x is `ratio`
  /// times as wide as they are.
  std::optional<StringRef> replace(int64_t ratio,
                                   function_ref<Value(Value)> halve) {
    SmallVector<Expr> dims = graph::getDims(x);
    if (dims.size() != 4)
      return "the input has not four axes";
    if (graph::getRank(cos) > 4 || graph::getRank(sin) > 4)
      return "a table has more than four axes";
    // Heads before positions, as the op has them, or behind.
    SmallVector<Expr> table = asRank4(cos);
    bool isTransposed = !table[1].isConstant(1) && table[2].isConstant(1);
    int64_t heads = isTransposed ? 2 : 1, positions = isTransposed ? 1 : 2;
    if (op->getResult(0).getType() != x.getType() || table != asRank4(sin) ||
        !table[heads].isConstant(1) || table[positions] != dims[positions] ||
        (!table[0].isConstant(1) && table[0] != dims[0]) ||
        table[3] * ratio != dims[3] || !dims[3].asConstant())
      return "the sizes of the tables are not proven to fit the input";
    OpBuilder builder(op);
    Location loc = op->getLoc();
    auto tableOf = [&](Value full) -> Value {
      Value half = halve(full);
      SmallVector<Expr> to = {table[0], table[positions],
                              graph::getDims(half).back()};
      return graph::ReshapeOp::create(
          builder, loc, graph::tensorOf(to, graph::getElementType(half)), half);
    };
    Value cosines = tableOf(cos), sines = tableOf(sin), input = x;
    int64_t permutation[] = {0, 2, 1, 3};
    auto turn = [&](Value value) -> Value {
      return isTransposed
                 ? graph::TransposeOp::create(builder, loc, value, permutation)
                 : value;
    };
    input = turn(input);
    finish(turn(graph::RotaryOp::create(builder, loc, input, cosines, sines,
                                        interleaved)));
    return std::nullopt;
  }

  void finish(Value result) {
    op->getResult(0).replaceAllUsesWith(result);
    eraseUnused(op);
  }

  Operation *op;
  Value x, cos, sin;
  bool interleaved = false;
};

struct RecogniseRotary : impl::RecogniseRotaryPassBase<RecogniseRotary> {
  using RecogniseRotaryPassBase::RecogniseRotaryPassBase;

  void runOnOperation() override {
    // Users behind what they use: a partial rotation has a whole one inside.
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<graph::AddOp, graph::ConcatOp, graph::ReshapeOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (isOpTriviallyDead(op))
        continue;
      std::optional<StringRef> why = Recogniser(op).run();
      if (explain && why && !why->empty())
        op->emitRemark("not a rotation: ") << *why;
    }
  }
};

} // namespace
} // namespace tenon
