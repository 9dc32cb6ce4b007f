//===- ApplySchedules.cpp - Choose how each kernel runs -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedules/Passes.h"
#include "compiler/Schedules/Schedules.h"
#include "dialects/Kernel/OtherSizes.h"

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
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<kernel::FuncOp>())) {
      SmallVector<bool> flags = weights.lookup(function.getSymName());
      flags.resize(function.getBlock().getNumArguments(), false);
      if (failed(apply(function, flags)))
        return signalPassFailure();
    }
  }

  /// How a kernel runs at the sizes for which `when` is 1; null: at all.
  struct Choice {
    const Schedule *schedule;
    kernel::Geometry geometry;
    graph::Expr when;
  };

  /// The schedules that do not refuse, up to the first one for all sizes.
  SmallVector<Choice> choose(kernel::FuncOp function, const KernelView &view) {
    const Schedule &last = schedules().back();
    if (generic)
      return {{&last, last.geometry(view), {}}};
    // Of kernels that reduce or contract: others have nothing to gain.
    Operation *root = explain ? kernel::findRoot(function.getBlock()) : nullptr;
    bool isExplained = false;
    SmallVector<Choice> choices;
    for (const Schedule &schedule : schedules().drop_back()) {
      if (!schedule.isOn(view.target) ||
          llvm::is_contained(without, schedule.name))
        continue;
      std::optional<std::string> why = schedule.refusal(view);
      graph::Expr when;
      if (!why && schedule.when) {
        when = schedule.when(view);
        if (!when || when.isConstant(0))
          why = "it is for other sizes";
      }
      kernel::Geometry geometry;
      if (!why && !(geometry = schedule.geometry(view)))
        why = "its sizes overflow, or are too long an expression";
      if (!why) {
        choices.push_back({&schedule, geometry, when});
        if (!when || when.isConstant(1))
          return choices;
        continue;
      }
      if (!root || !schedule.isFor(root))
        continue;
      isExplained = true;
      function.emitRemark("kernel '")
          << function.getSymName() << "' does not run by " << schedule.name
          << ": " << *why;
    }
    if (root && !isExplained)
      function.emitRemark("kernel '")
          << function.getSymName() << "' runs by " << last.name
          << ": there is no other schedule for '"
          << root->getName().getStringRef() << "'";
    choices.push_back({&last, last.geometry(view), {}});
    return choices;
  }

  /// Leaves each choice rows at its own sizes alone; false when an expression
  /// overflows.
  static bool separate(MutableArrayRef<Choice> choices) {
    graph::Expr others;
    for (Choice &choice : choices) {
      kernel::Geometry &geometry = choice.geometry;
      if (!geometry)
        return false;
      graph::Expr one = graph::Expr::constant(geometry.rows.getContext(), 1);
      graph::Expr when = choice.when ? choice.when : one;
      graph::Expr mine = others ? others * when : when;
      if (!mine || !(geometry.rows = geometry.rows * mine))
        return false;
      graph::Expr rest = one - when;
      if (!rest || !(others = others ? others * rest : rest))
        return false;
    }
    return true;
  }

  LogicalResult apply(kernel::FuncOp function, ArrayRef<bool> isWeight) {
    KernelView view{function.getBlock(), isWeight,
                    target == "cuda" ? Target::Cuda : Target::Cpu};
    SmallVector<Choice> choices = choose(function, view);
    SmallVector<Choice> apart = choices;
    // At all sizes, the last one can do it.
    if (separate(apart))
      choices = apart;
    else
      choices.erase(choices.begin(), std::prev(choices.end()));
    if (!choices[0].geometry)
      return function.emitError("the sizes of kernel '")
             << function.getSymName() << "' overflow";
    kernel::FuncOp first = function;
    for (auto [i, choice] : llvm::enumerate(choices)) {
      if (i > 0) {
        kernel::FuncOp next = first.clone();
        next.setSymName(
            (first.getSymName() + "_else" + std::to_string(i)).str());
        next->removeAttr(kernel::otherwise);
        function->getBlock()->getOperations().insertAfter(
            function->getIterator(), next);
        function->setAttr(kernel::otherwise, FlatSymbolRefAttr::get(next));
        function = next;
      }
      set(function, choice, view);
    }
    return success();
  }

  static void set(kernel::FuncOp function, const Choice &choice,
                  const KernelView &view) {
    Builder builder(function.getContext());
    SmallVector<Attribute> layouts;
    for (const std::string &layout : choice.schedule->layouts(view))
      layouts.push_back(builder.getStringAttr(layout));
    function.setSchedule(choice.schedule->name);
    function.setGeometryAttr(
        graph::DimsAttr::get(builder.getContext(), choice.geometry.exprs()));
    function.setLayoutsAttr(builder.getArrayAttr(layouts));
  }
};

} // namespace
} // namespace tenon
