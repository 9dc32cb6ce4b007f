//===- Expression.cpp - Sizes as formulas of the symbols ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Expression.h"
#include "runtime/model_format.h"

#include <stdio.h>

using namespace tenon::runtime;

const char *tenon::runtime::faultText(ExpressionFault fault) {
  switch (fault) {
  case ExpressionFault::None:
    break;
  case ExpressionFault::Overflow:
    return "it does not fit in 64 bits";
  case ExpressionFault::Divisor:
    return "it divides by a value that is not positive";
  case ExpressionFault::Unset:
    return "it depends on a size that has no value yet";
  }
  return "it has no fault";
}

const char *tenon::runtime::checkExpression(const int64_t *code, uint32_t count,
                                            uint32_t symbolCount) {
  uint32_t depth = 0;
  for (uint32_t i = 0; i < count; ++i) {
    int64_t word = code[i];
    if (word == TENON_PUSH_CONSTANT || word == TENON_PUSH_SYMBOL) {
      if (++i == count)
        return "its last instruction lacks the operand";
      if (word == TENON_PUSH_SYMBOL &&
          (code[i] < 0 || code[i] >= int64_t(symbolCount)))
        return "it names a symbol that does not exist";
      if (++depth > maxExpressionDepth)
        return "it needs too deep a stack";
    } else if (word >= TENON_ADD && word <= TENON_BROADCAST) {
      if (depth < 2)
        return "an instruction lacks an operand";
      --depth;
    } else {
      return "it has an unknown instruction";
    }
  }
  return depth == 1 ? nullptr : "it does not leave exactly one value";
}

static ExpressionFault apply(int64_t word, int64_t a, int64_t b, int64_t &r) {
  switch (word) {
  case TENON_ADD:
    return __builtin_add_overflow(a, b, &r) ? ExpressionFault::Overflow
                                            : ExpressionFault::None;
  case TENON_MUL:
    return __builtin_mul_overflow(a, b, &r) ? ExpressionFault::Overflow
                                            : ExpressionFault::None;
  case TENON_FLOOR_DIV:
    if (b <= 0)
      return ExpressionFault::Divisor;
    r = a / b - (a % b < 0);
    return ExpressionFault::None;
  case TENON_MOD:
    if (b <= 0)
      return ExpressionFault::Divisor;
    r = a % b + (a % b < 0 ? b : 0);
    return ExpressionFault::None;
  case TENON_MIN:
    r = a < b ? a : b;
    return ExpressionFault::None;
  case TENON_MAX:
    r = a > b ? a : b;
    return ExpressionFault::None;
  default: // TENON_BROADCAST
    r = a == 1 ? b : a;
    return ExpressionFault::None;
  }
}

ExpressionFault tenon::runtime::evaluate(const int64_t *code, uint32_t count,
                                         const int64_t *symbols,
                                         const bool *symbolSet,
                                         int64_t &value) {
  int64_t stack[maxExpressionDepth];
  uint32_t depth = 0;
  for (uint32_t i = 0; i < count; ++i) {
    int64_t word = code[i];
    if (word == TENON_PUSH_CONSTANT) {
      stack[depth++] = code[++i];
    } else if (word == TENON_PUSH_SYMBOL) {
      int64_t symbol = code[++i];
      if (!symbolSet[symbol])
        return ExpressionFault::Unset;
      stack[depth++] = symbols[symbol];
    } else {
      --depth;
      ExpressionFault fault =
          apply(word, stack[depth - 1], stack[depth], stack[depth - 1]);
      if (fault != ExpressionFault::None)
        return fault;
    }
  }
  value = stack[0];
  return ExpressionFault::None;
}

namespace {
/// A part of an expression as text. `strength` is how tightly its outermost
/// operator binds: 1 sum, 2 product, 3 anything that needs no parentheses.
struct Part {
  char text[128];
  int strength;
};

struct Operator {
  const char *format; // Of the two operands.
  int strength;
};

constexpr Operator operators[] = {
    {"%s + %s", 1},           {"%s * %s", 2},     {"floor(%s / %s)", 3},
    {"mod(%s, %s)", 3},       {"min(%s, %s)", 3}, {"max(%s, %s)", 3},
    {"broadcast(%s, %s)", 3},
};

void combine(int64_t word, Part &lhs, const Part &rhs) {
  const Operator &op = operators[word - TENON_ADD];
  // Only the operands of the infix operators are ever in doubt.
  int needed = word == TENON_FLOOR_DIV ? 3 : op.strength == 3 ? 0 : op.strength;
  int neededRight = word == TENON_ADD ? 1 : needed;
  char left[132], right[132], all[300];
  snprintf(left, sizeof left, lhs.strength < needed ? "(%s)" : "%s", lhs.text);
  snprintf(right, sizeof right, rhs.strength < neededRight ? "(%s)" : "%s",
           rhs.text);
  snprintf(all, sizeof all, op.format, left, right);
  int size = snprintf(lhs.text, sizeof lhs.text, "%s", all);
  if (size >= int(sizeof lhs.text))
    snprintf(lhs.text, sizeof lhs.text, "...");
  lhs.strength = size >= int(sizeof lhs.text) ? 3 : op.strength;
}
} // namespace

void tenon::runtime::printExpression(const int64_t *code, uint32_t count,
                                     const char *const *symbolNames, char *text,
                                     uint32_t textBytes) {
  Part stack[maxExpressionDepth];
  uint32_t depth = 0;
  for (uint32_t i = 0; i < count; ++i) {
    int64_t word = code[i];
    if (word == TENON_PUSH_CONSTANT) {
      snprintf(stack[depth].text, sizeof stack[depth].text, "%lld",
               static_cast<long long>(code[++i]));
      stack[depth++].strength = 3;
    } else if (word == TENON_PUSH_SYMBOL) {
      snprintf(stack[depth].text, sizeof stack[depth].text, "%s",
               symbolNames[code[++i]]);
      stack[depth++].strength = 3;
    } else {
      --depth;
      combine(word, stack[depth - 1], stack[depth]);
    }
  }
  snprintf(text, textBytes, "%s", stack[0].text);
}
