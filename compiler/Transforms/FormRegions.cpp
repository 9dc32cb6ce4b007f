//===- FormRegions.cpp - Decide which ops share a kernel ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/GroupRules.h"
#include "compiler/Transforms/KernelGroups.h"
#include "compiler/Transforms/Passes.h"
#include "dialects/Kernel/Kernel.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_FORMREGIONSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {
using kernel::Role;
using kernel::roleOf;

class RegionBuilder {
public:
  RegionBuilder(Block &block, bool isCuda)
      : block(block), formed(groupOps(block, isCuda)) {}

  void run(bool explain) {
    if (explain)
      for (auto &group : formed.groups)
        remarkOnEnd(group->ops.back());
    for (auto &group : formed.groups)
      build(*group);
    wrapConstants();
    dropDeadConstants();
  }

private:
  /// Says why a kernel ends with `op` and does not go on into its user.
  void remarkOnEnd(Operation *op) {
    std::string why;
    SmallPtrSet<Operation *, 4> users(op->user_begin(), op->user_end());
    Operation *user = users.empty() ? nullptr : *users.begin();
    if (!user)
      why = "its result has no user";
    else if (users.size() > 1)
      why = "its result has several users";
    else if (isa<func::ReturnOp, graph::YieldOp>(user))
      why = "its result is returned";
    else if (auto found = formed.refusals.find(op);
             found != formed.refusals.end())
      why = found->second;
    else if (user->getBlock() != &block)
      why = "its user is in a branch of an If, or in a Loop";
    else if (isa<graph::IfOp, graph::LoopOp>(user))
      why = "its user is the condition of an If, or what a Loop begins with";
    else if (onlyRenames(user))
      why = "its user " + quoted(user) + " only renames the memory";
    else
      why = "its user " + quoted(user) + " does not read it element by element";
    op->emitRemark("kernel ends here: ") << why;
  }

  void build(KernelGroup &group) {
    SmallVector<Operation *> ops = group.ops.takeVector();
    llvm::sort(
        ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    Operation *last = ops.back();
    llvm::SmallPtrSet<Operation *, 16> inside(ops.begin(), ops.end());

    llvm::SetVector<Value> operands;
    llvm::SetVector<Operation *> constants;
    for (Operation *op : ops)
      for (Value operand : op->getOperands()) {
        Operation *producer = operand.getDefiningOp();
        if (producer && inside.contains(producer))
          continue;
        if (producer && isInlined(producer))
          constants.insert(producer);
        else
          operands.insert(operand);
      }

    OpBuilder builder(last);
    Location loc = last->getLoc();
    SmallVector<Value> results(last->getResults());
    if (group.also)
      results.insert(results.begin(), group.also);
    auto region = kernel::RegionOp::create(
        builder, loc, ValueRange(results).getTypes(), operands.getArrayRef());
    Block *body = builder.createBlock(&region.getBody());
    IRMapping map;
    for (Value operand : operands)
      map.map(operand, body->addArgument(operand.getType(), operand.getLoc()));
    for (Operation *op : constants)
      builder.clone(*op, map);
    for (Operation *op : ops)
      builder.clone(*op, map);
    SmallVector<Value> yielded;
    for (Value result : results)
      yielded.push_back(map.lookup(result));
    kernel::YieldOp::create(builder, loc, yielded);
    for (auto [result, made] : llvm::zip(results, region.getResults()))
      result.replaceUsesWithIf(made, [&](OpOperand &use) {
        return !inside.contains(use.getOwner());
      });
    for (Operation *op : llvm::reverse(ops))
      op->erase();
  }

  /// A few numbers are copied into the kernels that read them; more are data,
  /// so that layers that differ by them still share a kernel.
  static bool isInlined(Operation *op) {
    if (isa<graph::SizesOp, graph::IotaOp>(op))
      return true;
    auto constant = dyn_cast<graph::ConstantOp>(op);
    return constant &&
           cast<ShapedType>(constant.getType()).getNumElements() <= 4;
  }

  /// Numbers that something else than a kernel reads need a buffer, so a kernel
  /// writes them. (A `constant` is data of the artifact instead.)
  void wrapConstants() {
    SmallVector<Operation *> left;
    for (Operation &op : block)
      if (isa<graph::SizesOp, graph::IotaOp>(op) && !op.use_empty())
        left.push_back(&op);
    for (Operation *op : left) {
      sink(op);
      KernelGroup group;
      group.ops.insert(op);
      build(group);
    }
  }

  /// In front of its first reader: what folds to constants is moved to the
  /// block's beginning, where symbols of the run have no value yet.
  void sink(Operation *op) {
    Operation *first = block.getTerminator();
    for (Operation *user : op->getUsers())
      if (Operation *own = block.findAncestorOpInBlock(*user);
          own && own->isBeforeInBlock(first))
        first = own;
    op->moveBefore(first);
  }

  void dropDeadConstants() {
    for (Operation &op : llvm::make_early_inc_range(block))
      if (roleOf(&op) == Role::Constant && op.use_empty())
        op.erase();
  }

  Block &block;
  KernelGroups formed;
};

struct FormRegions : impl::FormRegionsPassBase<FormRegions> {
  using FormRegionsPassBase::FormRegionsPassBase;

  void runOnOperation() override {
    if (target != "cpu" && target != "cuda") {
      getOperation().emitError("there is no target '") << target << "'";
      return signalPassFailure();
    }
    SmallVector<Block *> blocks = {&getOperation().getBody().front()};
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<graph::IfOp, graph::LoopOp>(op))
        for (Region &region : op->getRegions())
          blocks.push_back(&region.front());
    });
    // Inner blocks first: they copy the constants that they read, so that
    // what is left in outer blocks is what needs a buffer.
    for (Block *block : llvm::reverse(blocks))
      RegionBuilder(*block, target == "cuda").run(explain);
  }
};

} // namespace
} // namespace tenon
