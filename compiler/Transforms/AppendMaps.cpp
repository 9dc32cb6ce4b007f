//===- AppendMaps.cpp - Joined maps grow where they lie -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each layer of a dense block joins what all before it made with maps of its
// own, which moves all of them, only for a normalization to read them. So the
// maps of the first layer get room for those of the last, and others are
// appended: where nobody reads what was there any more, the memory is the same,
// and new maps alone are written (see Storages.cpp). What computes element by
// element reads a slice as well as all. Others do not, and whoever reads what
// is joined in another way ends a block.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Passes.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Kernel/StridedView.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_APPENDMAPSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {
using graph::DimsAttr;
using graph::Expr;

bool hasFixedParts(graph::ConcatOp op) {
  return llvm::all_of(op.getInputs(), [&](Value input) {
    return graph::getDim(input, op.getAxis()).asConstant().has_value();
  });
}

/// The concatenation that goes on from another one, where all else that reads
/// that one does so before, element by element.
graph::ConcatOp nextOf(graph::ConcatOp op) {
  graph::ConcatOp next;
  for (OpOperand &use : op->getUses()) {
    auto user = dyn_cast<graph::ConcatOp>(use.getOwner());
    if (!user)
      continue;
    if (next || use.getOperandNumber() != 0 || user.getAxis() != op.getAxis() ||
        user->getBlock() != op->getBlock() || !hasFixedParts(user))
      return {};
    next = user;
  }
  bool suits = next && llvm::all_of(op->getUsers(), [&](Operation *user) {
                 return user == next || (graph::isPointwise(user) &&
                                         user->getBlock() == op->getBlock() &&
                                         user->isBeforeInBlock(next));
               });
  return suits ? next : graph::ConcatOp();
}

class Appender {
public:
  explicit Appender(MutableArrayRef<graph::ConcatOp> block)
      : block(block), axis(block.front().getAxis()),
        room(graph::getDim(block.back().getResult(), axis)) {}

  void run() {
    Value maps;
    for (graph::ConcatOp op : block) {
      OpBuilder builder(op);
      auto inputs = llvm::to_vector(op.getInputs());
      if (!maps)
        maps = firstOf(op, inputs);
      for (Value input : ArrayRef(inputs).drop_front())
        maps = append(builder, maps, input);
      if (op == block.back())
        op.getResult().replaceAllUsesWith(maps);
      else if (maps != op.getResult() && !op->hasOneUse())
        replaceReaders(builder, op, maps);
    }
    for (graph::ConcatOp op : llvm::reverse(block))
      if (op->use_empty())
        op->erase();
  }

private:
  /// What the first ones are appended to. A kernel appends to memory: what is
  /// seen through a view is joined first.
  Value firstOf(graph::ConcatOp op, SmallVector<Value> &inputs) {
    length = graph::getDim(inputs[0], axis);
    Operation *source = inputs[0].getDefiningOp();
    if (!source || !kernel::isViewOp(source))
      return inputs[0];
    length = graph::getDim(op.getResult(), axis);
    inputs.resize(1);
    return op.getResult();
  }

  Value append(OpBuilder &builder, Value maps, Value more) {
    SmallVector<Expr> dims = graph::getDims(maps);
    dims[axis] = room;
    Type element = graph::getElementType(maps);
    auto at = DimsAttr::get(builder.getContext(), {length});
    length = length + graph::getDim(more, axis);
    return graph::AppendOp::create(builder, more.getLoc(),
                                   graph::tensorOf(dims, element), maps, more,
                                   builder.getI64IntegerAttr(axis), at);
  }

  void replaceReaders(OpBuilder &builder, graph::ConcatOp op, Value maps) {
    MLIRContext *context = builder.getContext();
    size_t rank = graph::getDims(maps).size();
    SmallVector<Expr> starts(rank, Expr::constant(context, 0));
    SmallVector<Expr> steps(rank, Expr::constant(context, 1));
    Value slice = graph::SliceOp::create(builder, op.getLoc(), op.getType(),
                                         maps, DimsAttr::get(context, starts),
                                         DimsAttr::get(context, steps));
    op.getResult().replaceUsesWithIf(slice, [&](OpOperand &use) {
      return !isa<graph::AppendOp, graph::ConcatOp>(use.getOwner());
    });
  }

  MutableArrayRef<graph::ConcatOp> block;
  const int64_t axis;
  const Expr room;
  Expr length; // What has been appended so far.
};

struct AppendMaps : impl::AppendMapsPassBase<AppendMaps> {
  void runOnOperation() override {
    SmallVector<graph::ConcatOp> all;
    getOperation().walk([&](graph::ConcatOp op) { all.push_back(op); });
    llvm::DenseSet<Operation *> taken;
    for (graph::ConcatOp op : all) {
      if (taken.contains(op) || !hasFixedParts(op))
        continue;
      SmallVector<graph::ConcatOp> block = {op};
      while (graph::ConcatOp next = nextOf(block.back()))
        block.push_back(next);
      if (block.size() < 2)
        continue;
      taken.insert(block.begin(), block.end());
      Appender(block).run();
    }
  }
};

} // namespace
} // namespace tenon
