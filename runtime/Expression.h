//===- Expression.h - Sizes as formulas of the symbols --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_RUNTIME_EXPRESSION_H
#define TENON_RUNTIME_EXPRESSION_H

#include <stdint.h>

namespace tenon::runtime {

/// Operands that an expression may have waiting at once.
constexpr uint32_t maxExpressionDepth = 64;

enum class ExpressionFault {
  None,
  Overflow, // A value leaves 64 bits.
  Divisor,  // A division by zero or by a negative value.
  Unset,    // A symbol that has no value yet.
};

/// "its size overflows", ...; never null.
const char *faultText(ExpressionFault fault);

/// Why `code` is no expression over `symbolCount` symbols, or null.
const char *checkExpression(const int64_t *code, uint32_t count,
                            uint32_t symbolCount);

/// Evaluates checked code. `symbolSet[i]` says whether `symbols[i]` counts.
ExpressionFault evaluate(const int64_t *code, uint32_t count,
                         const int64_t *symbols, const bool *symbolSet,
                         int64_t &value);

/// Writes checked code as text, "2 * seq + 1", cut short with "..." where it
/// does not fit.
void printExpression(const int64_t *code, uint32_t count,
                     const char *const *symbolNames, char *text,
                     uint32_t textBytes);

} // namespace tenon::runtime

#endif // TENON_RUNTIME_EXPRESSION_H
