//===- OutlineKernels.cpp - Make equal regions one kernel.func ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/RegionFunction.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {
using graph::DimsAttr;
using graph::Expr;

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
    RegionFunction made(region);
    kernel::FuncOp function = made.function();
    module.push_back(function);
    auto [found, isNew] = known.try_emplace(made.text(), function);
    if (isNew) {
      function.setSymName(describe(region) + "_" +
                          std::to_string(known.size() - 1));
    } else {
      function->erase();
      function = found->second;
    }
    replaceByCall(region, function, made.symbols());
  }

private:
  void replaceByCall(kernel::RegionOp region, kernel::FuncOp function,
                     ArrayRef<Expr> symbols) {
    OpBuilder builder(region);
    SmallVector<Attribute> nodes;
    for (Operation &op : region.getBody().front().without_terminator())
      nodes.push_back(builder.getStringAttr(nodeOf(op.getLoc())));
    auto call = kernel::CallOp::create(
        builder, region.getLoc(), region.getResultTypes(),
        function.getSymName(), region.getOperands(),
        DimsAttr::get(builder.getContext(), symbols));
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
