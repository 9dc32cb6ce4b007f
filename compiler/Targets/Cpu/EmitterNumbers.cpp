//===- EmitterNumbers.cpp - Numbers, and what is known of them ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

// Identities of what is remembered, by address.
constexpr char addTag = 0, subTag = 0, mulTag = 0, divTag = 0, remTag = 0,
               minTag = 0, maxTag = 0, lessTag = 0, equalTag = 0, bothTag = 0,
               eitherTag = 0, exprTag = 0, numberTag = 0, floorModTag = 0,
               floorDivTag = 0;

} // namespace

Value Emitter::number(int64_t value) {
  Key key = {&numberTag, reinterpret_cast<const void *>(value)};
  if (auto found = scopes[0].find(key); found != scopes[0].end())
    return found->second;
  return atEntry([&] {
    return memo(key, [&]() -> Value {
      return arith::ConstantIntOp::create(b, value, 64);
    });
  });
}

Value Emitter::binary(const void *tag, Value x, Value y,
                      std::optional<int64_t> (*fold)(int64_t, int64_t),
                      function_ref<Value()> make) {
  std::optional<int64_t> left = getConstantIntValue(x),
                         right = getConstantIntValue(y);
  if (left && right)
    if (std::optional<int64_t> known = fold(*left, *right))
      return number(*known);
  return memo({tag, x.getAsOpaquePointer(), y.getAsOpaquePointer()}, make);
}

Value Emitter::add(Value x, Value y) {
  if (getConstantIntValue(x) == 0)
    return y;
  if (getConstantIntValue(y) == 0)
    return x;
  return binary(
      &addTag, x, y,
      [](int64_t l, int64_t r) { return llvm::checkedAdd(l, r); },
      [&]() -> Value { return arith::AddIOp::create(b, x, y); });
}

Value Emitter::sub(Value x, Value y) {
  if (getConstantIntValue(y) == 0)
    return x;
  return binary(
      &subTag, x, y,
      [](int64_t l, int64_t r) { return llvm::checkedSub(l, r); },
      [&]() -> Value { return arith::SubIOp::create(b, x, y); });
}

Value Emitter::mul(Value x, Value y) {
  if (getConstantIntValue(x) == 1 || getConstantIntValue(y) == 0)
    return y;
  if (getConstantIntValue(y) == 1 || getConstantIntValue(x) == 0)
    return x;
  return binary(
      &mulTag, x, y,
      [](int64_t l, int64_t r) { return llvm::checkedMul(l, r); },
      [&]() -> Value { return arith::MulIOp::create(b, x, y); });
}

Value Emitter::div(Value x, Value y) {
  if (getConstantIntValue(y) == 1 || getConstantIntValue(x) == 0)
    return x;
  return binary(&divTag, x, y, graph::floorDivide,
                [&]() -> Value { return arith::DivUIOp::create(b, x, y); });
}

Value Emitter::rem(Value x, Value y) {
  if (getConstantIntValue(y) == 1)
    return number(0);
  if (getConstantIntValue(x) == 0)
    return x;
  return binary(&remTag, x, y, graph::floorModulo,
                [&]() -> Value { return arith::RemUIOp::create(b, x, y); });
}

Value Emitter::ceilDiv(Value x, Value y) {
  return div(add(x, sub(y, number(1))), y);
}

Value Emitter::floorMod(Value x, Value y) {
  return binary(&floorModTag, x, y, graph::floorModulo, [&]() -> Value {
    Value rest = arith::RemSIOp::create(b, x, y);
    return select(less(rest, number(0)), add(rest, y), rest);
  });
}

Value Emitter::floorDiv(Value x, Value y) {
  return binary(&floorDivTag, x, y, graph::floorDivide, [&]() -> Value {
    return arith::DivSIOp::create(b, sub(x, floorMod(x, y)), y);
  });
}

Value Emitter::min(Value x, Value y) {
  if (x == y)
    return x;
  return binary(
      &minTag, x, y,
      [](int64_t l, int64_t r) { return std::optional(std::min(l, r)); },
      [&]() -> Value { return arith::MinSIOp::create(b, x, y); });
}

Value Emitter::max(Value x, Value y) {
  if (x == y)
    return x;
  return binary(
      &maxTag, x, y,
      [](int64_t l, int64_t r) { return std::optional(std::max(l, r)); },
      [&]() -> Value { return arith::MaxSIOp::create(b, x, y); });
}

Value Emitter::less(Value x, Value y) {
  std::optional<int64_t> left = getConstantIntValue(x),
                         right = getConstantIntValue(y);
  if (left && right)
    return arith::ConstantIntOp::create(b, *left < *right, 1);
  return memo({&lessTag, x.getAsOpaquePointer(), y.getAsOpaquePointer()},
              [&]() -> Value {
                return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x,
                                             y);
              });
}

Value Emitter::equal(Value x, Value y) {
  std::optional<int64_t> left = getConstantIntValue(x),
                         right = getConstantIntValue(y);
  if ((left && right) || x == y)
    return arith::ConstantIntOp::create(b, x == y || *left == *right, 1);
  return memo({&equalTag, x.getAsOpaquePointer(), y.getAsOpaquePointer()},
              [&]() -> Value {
                return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, y);
              });
}

Value Emitter::both(Value x, Value y) {
  // A true i1 constant reads as -1.
  std::optional<int64_t> left = getConstantIntValue(x),
                         right = getConstantIntValue(y);
  if (left)
    return *left ? y : x;
  if (right)
    return *right ? x : y;
  return memo({&bothTag, x.getAsOpaquePointer(), y.getAsOpaquePointer()},
              [&]() -> Value { return arith::AndIOp::create(b, x, y); });
}

Value Emitter::either(Value x, Value y) {
  std::optional<int64_t> left = getConstantIntValue(x),
                         right = getConstantIntValue(y);
  if (left)
    return *left ? x : y;
  if (right)
    return *right ? y : x;
  return memo({&eitherTag, x.getAsOpaquePointer(), y.getAsOpaquePointer()},
              [&]() -> Value { return arith::OrIOp::create(b, x, y); });
}

Value Emitter::select(Value condition, Value x, Value y) {
  if (std::optional<int64_t> known = getConstantIntValue(condition))
    return *known ? x : y;
  return x == y ? x : arith::SelectOp::create(b, condition, x, y).getResult();
}

Indices Emitter::delinearise(Value position, ArrayRef<Value> dims) {
  Indices index(dims.size());
  for (size_t i = dims.size(); i-- > 0;) {
    if (i == 0) {
      index[i] = position;
      break;
    }
    index[i] = rem(position, dims[i]);
    position = div(position, dims[i]);
  }
  return index;
}

/// What both the quotient and the rest of a division by `dim` come from; null
/// for other numbers.
static Value dividedBy(Value quotient, Value rest, Value dim) {
  auto division = quotient.getDefiningOp<arith::DivUIOp>();
  auto remainder = rest.getDefiningOp<arith::RemUIOp>();
  if (!division || !remainder ||
      division.getOperands() != remainder.getOperands() ||
      division.getRhs() != dim)
    return {};
  return division.getLhs();
}

Value Emitter::linearise(ArrayRef<Value> index, ArrayRef<Value> dims) {
  Value position = number(0);
  for (auto [i, dim] : llvm::zip_equal(index, dims)) {
    Value whole = dividedBy(position, i, dim);
    position = whole ? whole : add(mul(position, dim), i);
  }
  return position;
}

Value Emitter::valueOf(Expr expr) {
  if (std::optional<int64_t> known = expr.asConstant())
    return number(*known);
  return atEntry([&] { return evaluate(expr); });
}

Value Emitter::evaluate(Expr expr) {
  Key key = {&exprTag, expr.getAttr().getAsOpaquePointer()};
  auto operand = [&](size_t i) { return evaluate(expr.operand(i)); };
  auto overAll = [&](auto combine) {
    Value value = operand(0);
    for (size_t i = 1; i < expr.size(); ++i)
      value = combine(value, operand(i));
    return value;
  };
  auto quotient = [&](bool wantRest) -> Value {
    // Sizes that divide are positive; a zero-sized tensor must not trap.
    Value x = operand(0), y = max(operand(1), number(1));
    if (expr.operand(0).isNonNegative())
      return wantRest ? rem(x, y) : div(x, y);
    return wantRest ? floorMod(x, y) : floorDiv(x, y);
  };
  switch (expr.kind()) {
  case graph::ExprKind::Constant:
    return number(expr.value());
  case graph::ExprKind::Symbol:
    return memo(key, [&]() -> Value {
      auto symbols = kernel.getSymbols();
      for (auto [i, symbol] : llvm::enumerate(symbols))
        if (cast<StringAttr>(symbol).getValue() == expr.name())
          return symbolValue(i);
      return giveUp("has no symbol '" + expr.name() + "'");
    });
  case graph::ExprKind::Product: {
    Value value = number(expr.value());
    for (size_t i = 0; i < expr.size(); ++i)
      value = mul(value, operand(i));
    return value;
  }
  case graph::ExprKind::Sum:
    return overAll([&](Value x, Value y) { return add(x, y); });
  case graph::ExprKind::FloorDiv:
    return memo(key, [&] { return quotient(false); });
  case graph::ExprKind::Mod:
    return memo(key, [&] { return quotient(true); });
  case graph::ExprKind::Min:
    return overAll([&](Value x, Value y) { return min(x, y); });
  case graph::ExprKind::Max:
    return overAll([&](Value x, Value y) { return max(x, y); });
  case graph::ExprKind::Broadcast:
    return memo(key, [&] {
      return overAll(
          [&](Value x, Value y) { return select(equal(x, number(1)), y, x); });
    });
  }
  llvm_unreachable("all kinds of expressions");
}

} // namespace tenon::cpu
