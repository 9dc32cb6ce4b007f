//===- ExprBroadcast.cpp - The size of a broadcast ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Graph/Polynomial.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tenon::graph {

/// Whether `from` adds nothing to a broadcast with `to`, given that the two do
/// broadcast: it is max(to, 0), which is `to` as no size is negative, or
/// min(to, c) with c > 1, which is 1 only when `to` is and else must be equal
/// to it.
static bool broadcastsInto(Expr from, Expr to) {
  auto holds = [&](llvm::function_ref<bool(int64_t)> number) {
    for (size_t i : {0, 1})
      if (std::optional<int64_t> c = from.operand(1 - i).asConstant())
        return from.operand(i) == to && number(*c);
    return false;
  };
  if (from.kind() == ExprKind::Min)
    return holds([](int64_t c) { return c > 1; });
  return from.kind() == ExprKind::Max &&
         holds([](int64_t c) { return c <= 0; });
}

/// What is broadcast together, whatever the order: sizes that do broadcast are
/// all equal or 1.
static void broadcastParts(Expr expr, SmallVectorImpl<Expr> &parts) {
  if (expr.kind() != ExprKind::Broadcast) {
    parts.push_back(expr);
    return;
  }
  broadcastParts(expr.operand(0), parts);
  broadcastParts(expr.operand(1), parts);
}

Expr Expr::broadcast(Expr rhs) const {
  if (!attr || !rhs)
    return {};
  if (*this == rhs || rhs.isConstant(1))
    return *this;
  if (isConstant(1))
    return rhs;
  // A number other than one is the result, whatever the other side is.
  if (asConstant())
    return *this;
  if (rhs.asConstant())
    return rhs;
  SmallVector<Expr> parts;
  broadcastParts(*this, parts);
  broadcastParts(rhs, parts);
  llvm::sort(parts, [](Expr a, Expr b) { return compare(a, b) < 0; });
  parts.erase(llvm::unique(parts), parts.end());
  SmallVector<Expr> needed = llvm::filter_to_vector(parts, [&](Expr from) {
    return llvm::none_of(
        parts, [&](Expr to) { return to != from && broadcastsInto(from, to); });
  });
  Expr result = needed.front();
  for (Expr part : ArrayRef(needed).drop_front())
    result = result ? makeBinary(ExprKind::Broadcast, result, part) : Expr();
  return result;
}

} // namespace tenon::graph
