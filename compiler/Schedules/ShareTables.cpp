//===- ShareTables.cpp - Tables that are packed anyway --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Language models often multiply by the transpose of the table that they look
// tokens up in. It is the largest of their weights. So it is where both are of
// the same numbers of 8 bits.
//
//===----------------------------------------------------------------------===//

#include "compiler/Schedules/Passes.h"
#include "compiler/Weights/WeightStore.h"
#include "dialects/Kernel/Packing.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_SHARETABLESPASS
#include "compiler/Schedules/Passes.h.inc"

namespace {

struct ShareTables : impl::ShareTablesPassBase<ShareTables> {
  ShareTables() = default;
  explicit ShareTables(const WeightStore &weights) : weights(&weights) {}

  void runOnOperation() override {
    if (!weights)
      return;
    forEachArgument([&](Value operand, kernel::FuncOp callee, unsigned i) {
      const Weight *weight = weightOf(operand);
      if (weight && weight->transposed &&
          isPacked(*weight, layoutOf(callee, i)))
        packed.insert(weight->transposed);
    });
    // A kernel may serve several calls.
    using Argument = std::pair<Operation *, unsigned>;
    llvm::SetVector<Argument> shared;
    llvm::DenseSet<Argument> others;
    forEachArgument([&](Value operand, kernel::FuncOp callee, unsigned i) {
      const Weight *weight = weightOf(operand);
      bool isShared = weight && packed.contains(weight) &&
                      layoutOf(callee, i).empty() && isTable(callee, i);
      if (isShared)
        shared.insert({callee, i});
      else
        others.insert({callee, i});
    });
    for (Argument argument : shared)
      if (!others.contains(argument))
        setLayout(cast<kernel::FuncOp>(argument.first), argument.second);
  }

private:
  const Weight *weightOf(Value value) {
    auto op = value.getDefiningOp<graph::WeightOp>();
    return op ? weights->lookup(op.getName()) : nullptr;
  }

  void forEachArgument(
      function_ref<void(Value operand, kernel::FuncOp, unsigned)> body) {
    SymbolTable symbols(getOperation());
    getOperation().walk([&](kernel::CallOp call) {
      auto callee = symbols.lookup<kernel::FuncOp>(call.getCallee());
      if (!callee)
        return;
      for (auto [i, operand] : llvm::enumerate(call.getOperands()))
        body(operand, callee, unsigned(i));
    });
  }

  /// Whether its transpose can be read row by row.
  static bool isPacked(const Weight &weight, StringRef layout) {
    return layout == kernel::packedLayout ||
           (layout == kernel::linesLayout && weight.elementType.isInteger(8));
  }

  static StringRef layoutOf(kernel::FuncOp function, unsigned i) {
    return cast<StringAttr>(function.getLayouts()[i]).getValue();
  }

  /// Whether whole rows of it are picked and nothing else is read.
  static bool isTable(kernel::FuncOp function, unsigned i) {
    BlockArgument argument = function.getBlock().getArgument(i);
    return llvm::all_of(argument.getUses(), [](OpOperand &use) {
      auto gather = dyn_cast<graph::GatherOp>(use.getOwner());
      return gather && use.getOperandNumber() == 0 && gather.getAxis() == 0;
    });
  }

  static void setLayout(kernel::FuncOp function, unsigned i) {
    SmallVector<Attribute> layouts(function.getLayouts().getValue());
    layouts[i] = StringAttr::get(function.getContext(), kernel::rowsLayout);
    function.setLayoutsAttr(ArrayAttr::get(function.getContext(), layouts));
  }

  const WeightStore *weights = nullptr;
  llvm::SmallPtrSet<const Weight *, 4> packed;
};

} // namespace

std::unique_ptr<Pass> createShareTablesPass(const WeightStore &weights) {
  return std::make_unique<ShareTables>(weights);
}
} // namespace tenon
