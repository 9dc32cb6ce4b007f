//===- Expression.cpp - Sizes as formulas ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Expression.h"
#include "runtime/model_format.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace tenon::runtime;

namespace {
using Code = std::vector<int64_t>;

constexpr int64_t C = TENON_PUSH_CONSTANT, S = TENON_PUSH_SYMBOL;
const int64_t symbols[] = {5, -3, INT64_MAX};
const bool allSet[] = {true, true, true};

std::string value(const Code &code) {
  EXPECT_EQ(checkExpression(code.data(), code.size(), 3), nullptr);
  int64_t result = 0;
  ExpressionFault fault =
      evaluate(code.data(), code.size(), symbols, allSet, result);
  return fault == ExpressionFault::None ? std::to_string(result)
                                        : faultText(fault);
}

std::string text(const Code &code) {
  const char *names[] = {"batch", "seq", "a_symbol_with_a_rather_long_name"};
  char result[60];
  printExpression(code.data(), code.size(), names, result, sizeof result);
  return result;
}

TEST(Expression, Evaluates) {
  EXPECT_EQ(value({C, 7}), "7");
  EXPECT_EQ(value({S, 0}), "5");
  EXPECT_EQ(value({S, 0, C, 2, TENON_ADD}), "7");
  EXPECT_EQ(value({S, 0, S, 1, TENON_MUL}), "-15");
  EXPECT_EQ(value({C, -7, C, 2, TENON_FLOOR_DIV}), "-4");
  EXPECT_EQ(value({C, 7, C, 2, TENON_FLOOR_DIV}), "3");
  EXPECT_EQ(value({C, -7, C, 2, TENON_MOD}), "1");
  EXPECT_EQ(value({C, 7, C, 4, TENON_MOD}), "3");
  EXPECT_EQ(value({C, 7, C, 4, TENON_MIN}), "4");
  EXPECT_EQ(value({C, 7, C, 4, TENON_MAX}), "7");
  EXPECT_EQ(value({C, 1, C, 4, TENON_BROADCAST}), "4");
  EXPECT_EQ(value({C, 3, C, 1, TENON_BROADCAST}), "3");
}

TEST(Expression, RefusesOverflowAndDivisors) {
  std::string overflow = faultText(ExpressionFault::Overflow);
  std::string divisor = faultText(ExpressionFault::Divisor);
  EXPECT_EQ(value({S, 2, C, 1, TENON_ADD}), overflow);
  EXPECT_EQ(value({S, 2, C, 2, TENON_MUL}), overflow);
  EXPECT_EQ(value({S, 0, C, 0, TENON_FLOOR_DIV}), divisor);
  EXPECT_EQ(value({S, 0, C, -1, TENON_MOD}), divisor);
  EXPECT_EQ(value({C, INT64_MIN, C, 1, TENON_FLOOR_DIV}),
            std::to_string(INT64_MIN));
}

TEST(Expression, KnowsUnsetSymbols) {
  const bool set[] = {true, false, false};
  Code code = {S, 1};
  int64_t result;
  EXPECT_EQ(evaluate(code.data(), code.size(), symbols, set, result),
            ExpressionFault::Unset);
}

TEST(Expression, Prints) {
  EXPECT_EQ(text({C, -4}), "-4");
  EXPECT_EQ(text({C, 2, S, 1, TENON_MUL, C, 1, TENON_ADD}), "2 * seq + 1");
  EXPECT_EQ(text({S, 0, C, 1, TENON_ADD, S, 1, TENON_MUL}),
            "(batch + 1) * seq");
  EXPECT_EQ(text({S, 0, S, 1, TENON_ADD, C, 2, TENON_FLOOR_DIV}),
            "floor((batch + seq) / 2)");
  EXPECT_EQ(text({S, 0, S, 1, TENON_ADD, C, 2, TENON_MAX}),
            "max(batch + seq, 2)");
  Code large = {S, 2};
  for (int i = 0; i < 50; ++i)
    large.insert(large.end(), {S, 2, TENON_ADD});
  EXPECT_LT(text(large).size(), 60u);
}
} // namespace
