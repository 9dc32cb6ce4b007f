//===- WidenHalves.cpp - What comes in 16 bits is computed in f32 ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CPUs compute in f32: of a model in f16 or bf16 each op would widen what it
// reads and round what it stores, and no kernel for products of f32 would take
// its products. So values become f32 from the first op that computes to the
// last one, and are rounded where they leave the program. What only moves
// elements that the program is given keeps their type: a cache of f16 stays
// such, and what is appended to it is rounded.
//
// Casts to 16 bits fall away with the type, but where nothing computes in it:
// that is a rounding that somebody wanted.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/WeightPasses.h"
#include "compiler/Weights/WeightStore.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_WIDENHALVESPASS
#include "compiler/Transforms/WeightPasses.h.inc"

namespace {

bool isHalf(Value value) {
  Type type = graph::getElementType(value);
  return type.isF16() || type.isBF16();
}

bool isTensor(Value value) { return isa<RankedTensorType>(value.getType()); }

bool onlyMoves(Operation *op) {
  return isa<graph::AppendOp, graph::BroadcastOp, graph::ConcatOp,
             graph::GatherElementsOp, graph::GatherNdOp, graph::GatherOp,
             graph::ReshapeOp, graph::SliceOp, graph::TransposeOp,
             graph::WindowsOp>(op);
}

class Widening {
public:
  Widening(func::FuncOp function, WeightStore *weights)
      : function(function), weights(weights) {}

  void run() {
    SmallVector<Operation *> ops;
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op != function && !isa<func::ReturnOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      if (auto cast = dyn_cast<graph::CastOp>(op))
        visit(cast);
      else if (!isStored(op) && !keepsType(op))
        widen(op);
    for (Operation *op : llvm::reverse(narrowings))
      if (op->use_empty())
        op->erase();
  }

private:
  static bool isStored(Operation *op) {
    return isa_and_present<graph::ConstantOp, graph::WeightOp>(op);
  }

  /// Whether an op moves what is given in 16 bits.
  bool keepsType(Operation *op) {
    return onlyMoves(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
             return isTensor(operand) && isHalf(operand) &&
                    !isStored(operand.getDefiningOp()) && !wide.count(operand);
           });
  }

  /// Whether all that read a cast to 16 bits widen it again, or move it until
  /// that is done, and it changes numbers: floats of 8 bits are bf16 already.
  static bool isRounding(graph::CastOp op) {
    if (!graph::getElementType(op.getInput()).isF32() ||
        op.getInput().getDefiningOp<graph::RoundFloatOp>())
      return false;
    llvm::SmallSetVector<Operation *, 4> movers;
    movers.insert(op);
    for (size_t i = 0; i < movers.size(); ++i) // It grows.
      for (Operation *user : movers[i]->getUsers())
        if (onlyMoves(user))
          movers.insert(user);
        else if (!isa<graph::CastOp>(user))
          return false;
    return true;
  }

  void visit(graph::CastOp op) {
    bool fromHalf = isHalf(op.getInput()), toHalf = isHalf(op.getResult());
    if (toHalf && !fromHalf && graph::getElementType(op.getInput()).isF32()) {
      if (!isRounding(op))
        wide[op.getResult()] = op.getInput();
      narrowings.push_back(op);
      return;
    }
    if (fromHalf && graph::getElementType(op.getResult()).isF32()) {
      op.getResult().replaceAllUsesWith(widened(op.getInput()));
      narrowings.push_back(op);
      return;
    }
    if (fromHalf || toHalf)
      widen(op);
  }

  void widen(Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (isTensor(operand.get()) && isHalf(operand.get()))
        operand.set(widened(operand.get()));
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    for (Value result : op->getResults()) {
      if (!isTensor(result) || !isHalf(result))
        continue;
      Type narrow = graph::getElementType(result);
      result.setType(
          graph::tensorOf(graph::getDims(result), builder.getF32Type()));
      Value rounded = castTo(builder, op->getLoc(), result, narrow);
      narrowings.push_back(rounded.getDefiningOp());
      result.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
      wide[rounded] = result;
    }
  }

  /// The value in f32, as it was before it was rounded.
  Value widened(Value value) {
    Value &known = wide[value];
    if (known)
      return known;
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    auto stored = value.getDefiningOp<graph::WeightOp>();
    const Weight *weight =
        stored && weights ? weights->lookup(stored.getName()) : nullptr;
    if (!weight)
      return known =
                 castTo(builder, value.getLoc(), value, builder.getF32Type());
    const Weight *made = weights->addWidened(*weight);
    auto type = RankedTensorType::get(made->shape, made->elementType);
    return known = graph::WeightOp::create(builder, value.getLoc(), type,
                                           made->name);
  }

  func::FuncOp function;
  WeightStore *weights;
  /// Of values of 16 bits, what is computed with in their place.
  llvm::DenseMap<Value, Value> wide;
  SmallVector<Operation *> narrowings;
};

struct WidenHalves : impl::WidenHalvesPassBase<WidenHalves> {
  WidenHalves() = default;
  explicit WidenHalves(WeightStore &weights) : weights(&weights) {}

  void runOnOperation() override { Widening(getOperation(), weights).run(); }

  WeightStore *weights = nullptr;
};

} // namespace

std::unique_ptr<Pass> createWidenHalvesPass(WeightStore &weights) {
  return std::make_unique<WidenHalves>(weights);
}
} // namespace tenon
