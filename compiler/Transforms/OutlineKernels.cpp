//===- OutlineKernels.cpp - Make equal regions one kernel.func ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {
using graph::DimsAttr;
using graph::Expr;

/// The symbols in a region, in order of appearance, and their new names.
class Renaming {
public:
  explicit Renaming(kernel::RegionOp region) {
    for (Value argument : region.getBody().getArguments())
      addAll(argument.getType());
    for (Operation &op : region.getBody().front()) {
      for (NamedAttribute attr : op.getAttrs())
        if (auto dims = dyn_cast<DimsAttr>(attr.getValue()))
          addAll(dims);
      for (Type type : op.getResultTypes())
        addAll(type);
    }
  }

  DimsAttr rename(DimsAttr dims) const {
    SmallVector<Expr> renamed;
    for (Expr expr : dims.exprs())
      renamed.push_back(expr.substitute(
          [&](Expr symbol) { return names.lookup(symbol.getAttr()); }));
    return DimsAttr::get(dims.getContext(), renamed);
  }

  SmallVector<Expr> symbols() const { return order; }

private:
  void addAll(Type type) {
    if (auto dims = dyn_cast_if_present<DimsAttr>(
            cast<RankedTensorType>(type).getEncoding()))
      addAll(dims);
  }
  void addAll(DimsAttr dims) {
    for (Expr expr : dims.exprs())
      expr.forEachSymbol([&](Expr symbol) {
        std::string name = "d" + std::to_string(order.size());
        Expr renamed = Expr::symbol(symbol.getContext(), name, symbol.value());
        if (names.insert({symbol.getAttr(), renamed}).second)
          order.push_back(symbol);
      });
  }

  llvm::DenseMap<Attribute, Expr> names;
  SmallVector<Expr> order;
};

/// "matmul_add_gelu_f32": what a profile shows. At most four op names.
std::string describe(kernel::RegionOp region) {
  std::string name;
  unsigned count = 0, more = 0;
  for (Operation &op : region.getBody().front().without_terminator()) {
    if (kernel::roleOf(&op) == kernel::Role::Constant &&
        !isa<graph::IotaOp, graph::SizesOp>(op))
      continue;
    if (++count > 4) {
      ++more;
      continue;
    }
    name += (name.empty() ? "" : "_") + op.getName().stripDialect().str();
  }
  if (more)
    name += "_and" + std::to_string(more);
  std::string element;
  llvm::raw_string_ostream(element)
      << graph::getElementType(region.getResult(0));
  return (name.empty() ? "constant" : name) + "_" + element;
}

class Outliner {
public:
  explicit Outliner(ModuleOp module) : module(module) {}

  void outline(kernel::RegionOp region) {
    Renaming renaming(region);
    kernel::FuncOp function = makeFunction(region, renaming);
    std::string text;
    llvm::raw_string_ostream os(text);
    // The name must not count: functions are equal by what they compute.
    function.setSymName("kernel");
    function->print(os, OpPrintingFlags().useLocalScope());
    auto [found, isNew] = known.try_emplace(text, function);
    if (isNew) {
      function.setSymName(describe(region) + "_" +
                          std::to_string(known.size() - 1));
    } else {
      function->erase();
      function = found->second;
    }
    replaceByCall(region, function, renaming);
  }

private:
  kernel::FuncOp makeFunction(kernel::RegionOp region,
                              const Renaming &renaming) {
    OpBuilder builder(module.getBodyRegion());
    builder.setInsertionPointToEnd(module.getBody());
    SmallVector<Attribute> symbols, layouts;
    for (size_t i = 0; i < renaming.symbols().size(); ++i)
      symbols.push_back(builder.getStringAttr("d" + std::to_string(i)));
    layouts.assign(region.getNumOperands(), builder.getStringAttr(""));
    Expr zero = Expr::constant(module.getContext(), 0);
    auto function = kernel::FuncOp::create(
        builder, builder.getUnknownLoc(), "kernel",
        builder.getArrayAttr(symbols), builder.getArrayAttr(layouts), "",
        DimsAttr::get(module.getContext(), ArrayRef<Expr>{zero, zero, zero}));
    IRMapping map;
    region.getBody().cloneInto(&function.getBody(), map);
    AttrTypeReplacer replacer;
    replacer.addReplacement(
        [&](DimsAttr dims) -> std::pair<Attribute, WalkResult> {
          return {renaming.rename(dims), WalkResult::skip()};
        });
    replacer.recursivelyReplaceElementsIn(function, /*replaceAttrs=*/true,
                                          /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
    return function;
  }

  void replaceByCall(kernel::RegionOp region, kernel::FuncOp function,
                     const Renaming &renaming) {
    OpBuilder builder(region);
    SmallVector<Attribute> nodes;
    for (Operation &op : region.getBody().front().without_terminator())
      nodes.push_back(builder.getStringAttr(nodeOf(op.getLoc())));
    auto call = kernel::CallOp::create(
        builder, region.getLoc(), region.getResultTypes(),
        function.getSymName(), region.getOperands(),
        DimsAttr::get(builder.getContext(), renaming.symbols()));
    call->setAttr("nodes", builder.getArrayAttr(nodes));
    region.replaceAllUsesWith(call.getResults());
    region.erase();
  }

  ModuleOp module;
  llvm::StringMap<kernel::FuncOp> known;
};

struct OutlineKernels : impl::OutlineKernelsPassBase<OutlineKernels> {
  void runOnOperation() override {
    Outliner outliner(getOperation());
    SmallVector<kernel::RegionOp> regions;
    getOperation().walk(
        [&](kernel::RegionOp region) { regions.push_back(region); });
    for (kernel::RegionOp region : regions)
      outliner.outline(region);
  }
};

} // namespace
} // namespace tenon
