//===- RegionFunction.cpp - What regions that do the same have in common --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/RegionFunction.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tenon {
using graph::DimsAttr;
using graph::Expr;

RegionFunction::RegionFunction(kernel::RegionOp region) {
  auto note = [&](Expr symbol) { add(symbol); };
  for (Value argument : region.getBody().getArguments())
    graph::forEachSymbol(argument.getType(), note);
  for (Operation &op : region.getBody().front())
    graph::forEachSymbol(&op, note);
  OpBuilder builder(region.getContext());
  SmallVector<Attribute> names, layouts;
  for (size_t i = 0; i < order.size(); ++i)
    names.push_back(builder.getStringAttr("d" + std::to_string(i)));
  layouts.assign(region.getNumOperands(), builder.getStringAttr(""));
  Expr zero = Expr::constant(region.getContext(), 0);
  made = kernel::FuncOp::create(
      builder, builder.getUnknownLoc(), "kernel", builder.getArrayAttr(names),
      builder.getArrayAttr(layouts), "",
      DimsAttr::get(region.getContext(), ArrayRef<Expr>{zero, zero, zero}));
  IRMapping map;
  region.getBody().cloneInto(&made.getBody(), map);
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](DimsAttr dims) -> std::pair<Attribute, WalkResult> {
        return {rename(dims), WalkResult::skip()};
      });
  replacer.recursivelyReplaceElementsIn(made, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

void RegionFunction::add(Expr symbol) {
  std::string name = "d" + std::to_string(order.size());
  Expr renamed = Expr::symbol(symbol.getContext(), name, symbol.value());
  if (names.insert({symbol.getAttr(), renamed}).second)
    order.push_back(symbol);
}

DimsAttr RegionFunction::rename(DimsAttr dims) const {
  SmallVector<Expr> renamed;
  for (Expr expr : dims.exprs())
    renamed.push_back(expr.substitute(
        [&](Expr symbol) { return names.lookup(symbol.getAttr()); }));
  return DimsAttr::get(dims.getContext(), renamed);
}

std::string RegionFunction::text() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  made->print(os, OpPrintingFlags().useLocalScope());
  return text;
}

} // namespace tenon
