//===- ApplySchedules.cpp - Choose how each kernel runs -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedules/Passes.h"
#include "compiler/Schedules/Schedules.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_APPLYSCHEDULESPASS
#include "compiler/Schedules/Passes.h.inc"

namespace {

struct ApplySchedules : impl::ApplySchedulesPassBase<ApplySchedules> {
  using ApplySchedulesPassBase::ApplySchedulesPassBase;

  void runOnOperation() override {
    if (target != "cpu" && target != "cuda") {
      getOperation().emitError("there is no target '") << target << "'";
      return signalPassFailure();
    }
    llvm::StringMap<SmallVector<bool>> weights;
    getOperation().walk([&](kernel::CallOp call) {
      auto [found, isNew] = weights.try_emplace(
          call.getCallee(), SmallVector<bool>(call.getNumOperands(), true));
      for (auto [flag, operand] : llvm::zip(found->second, call.getOperands()))
        flag =
            flag && isa_and_nonnull<graph::WeightOp>(operand.getDefiningOp());
    });
    for (auto function : getOperation().getOps<kernel::FuncOp>()) {
      SmallVector<bool> flags = weights.lookup(function.getSymName());
      flags.resize(function.getBlock().getNumArguments(), false);
      if (failed(apply(function, flags)))
        return signalPassFailure();
    }
  }

  const Schedule &choose(kernel::FuncOp function, const KernelView &view) {
    if (generic)
      return schedules().back();
    // Of kernels that reduce or contract: others have nothing to gain.
    Operation *root = explain ? kernel::findRoot(function.getBlock()) : nullptr;
    bool isExplained = false;
    for (const Schedule &schedule : schedules().drop_back()) {
      if (!schedule.isOn(view.target) ||
          llvm::is_contained(without, schedule.name))
        continue;
      std::optional<std::string> why = schedule.refusal(view);
      if (!why)
        return schedule;
      if (!root || !schedule.isFor(root))
        continue;
      isExplained = true;
      function.emitRemark("kernel '")
          << function.getSymName() << "' does not run by " << schedule.name
          << ": " << *why;
    }
    if (root && !isExplained)
      function.emitRemark("kernel '")
          << function.getSymName() << "' runs by " << schedules().back().name
          << ": there is no other schedule for '"
          << root->getName().getStringRef() << "'";
    return schedules().back();
  }

  LogicalResult apply(kernel::FuncOp function, ArrayRef<bool> isWeight) {
    KernelView view{function.getBlock(), isWeight,
                    target == "cuda" ? Target::Cuda : Target::Cpu};
    const Schedule &schedule = choose(function, view);
    kernel::Geometry geometry = schedule.geometry(view);
    if (!geometry)
      return function.emitError("the sizes of kernel '")
             << function.getSymName() << "' overflow";
    Builder builder(function.getContext());
    SmallVector<Attribute> layouts;
    for (const std::string &layout : schedule.layouts(view))
      layouts.push_back(builder.getStringAttr(layout));
    function.setSchedule(schedule.name);
    function.setGeometryAttr(
        graph::DimsAttr::get(builder.getContext(), geometry.exprs()));
    function.setLayoutsAttr(builder.getArrayAttr(layouts));
    return success();
  }
};

} // namespace
} // namespace tenon
