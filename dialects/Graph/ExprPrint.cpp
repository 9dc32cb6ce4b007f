//===- ExprPrint.cpp - Size expressions as text ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Graph/Expr.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tenon::graph {

void Expr::print(llvm::raw_ostream &os) const {
  if (!attr) {
    os << "<overflow>";
    return;
  }
  auto call = [&](StringRef function) {
    os << function << "(";
    operand(0).print(os);
    os << ", ";
    operand(1).print(os);
    os << ")";
  };
  switch (kind()) {
  case ExprKind::Constant:
    os << value();
    return;
  case ExprKind::Symbol:
    if (value())
      os << "signed(" << name() << ")";
    else
      os << name();
    return;
  case ExprKind::Product:
    if (value() != 1)
      os << value() << " * ";
    for (size_t i = 0; i < size(); ++i) {
      if (i)
        os << " * ";
      operand(i).print(os);
    }
    return;
  case ExprKind::Sum:
    for (size_t i = 0; i < size(); ++i) {
      if (i)
        os << " + ";
      operand(i).print(os);
    }
    return;
  case ExprKind::FloorDiv:
    return call("floordiv");
  case ExprKind::Mod:
    return call("mod");
  case ExprKind::Min:
    return call("min");
  case ExprKind::Max:
    return call("max");
  case ExprKind::Broadcast:
    return call("broadcast");
  }
}

std::string Expr::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os);
  return text;
}

} // namespace tenon::graph
