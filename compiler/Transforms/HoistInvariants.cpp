//===- HoistInvariants.cpp - What every step of a loop would compute ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decoder that stops by itself projects its encoder's output in each step.
// What depends on nothing that a step changes is computed in front of the loop,
// with the views that it reads through. A view alone costs nothing and stays.
// Paddle's loops hand on all that they read, which is read from outside then.
// What a recurrent cell projects of each step's input is a row of one product.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Passes.h"
#include "dialects/Graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_HOISTINVARIANTSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

/// Whether it is work, and can be done also where the loop has no step.
bool isWork(Operation *op) {
  if (isa<graph::MatmulOp, graph::ConvOp, graph::LayerNormOp, graph::RmsNormOp,
          graph::SoftmaxOp, graph::ConcatOp, graph::PadOp>(op))
    return true;
  return graph::isPointwise(op) && !graph::dividesIntegers(op);
}

bool isView(Operation *op) {
  return isa<graph::ReshapeOp, graph::BroadcastOp, graph::TransposeOp,
             graph::SliceOp, graph::ConstantOp, graph::SizesOp, graph::IotaOp,
             graph::WeightOp>(op);
}

/// Reads from outside what each step hands on as it is.
void dropKept(graph::LoopOp loop) {
  Block &body = loop.getBody().front();
  SmallVector<Value> left = {loop.getCondition()};
  SmallVector<Type> types;
  llvm::BitVector kept(body.getNumArguments());
  for (auto [i, init, state, next, last] :
       llvm::enumerate(loop.getInit(), body.getArguments(), loop.getNextState(),
                       loop.getLastState())) {
    kept[i] = next == state && state.getType() == init.getType() &&
              last.getType() == state.getType();
    if (!kept[i]) {
      left.push_back(init);
      types.push_back(last.getType());
      continue;
    }
    state.replaceAllUsesWith(init);
    last.replaceAllUsesWith(init);
  }
  if (kept.none())
    return;
  llvm::append_range(types, loop.getStacks().getTypes());
  OperationState made(loop.getLoc(), loop->getName());
  made.addOperands(left);
  made.addAttributes(loop->getAttrs());
  made.addTypes(types);
  made.addRegion()->takeBody(loop.getBody());
  body.eraseArguments(kept);
  for (unsigned i : llvm::reverse(llvm::to_vector(kept.set_bits())))
    body.getTerminator()->eraseOperand(1 + i);
  kept.resize(loop->getNumResults());
  auto results = OpBuilder(loop).create(made)->result_begin();
  for (OpResult result : loop->getResults())
    if (!kept[result.getResultNumber()])
      result.replaceAllUsesWith(*results++);
  loop.erase();
}

class Hoisting {
public:
  explicit Hoisting(graph::LoopOp loop) : loop(loop) {
    changing.insert(loop.getStep());
    for (Value state : loop.getBody().getArguments())
      addOwn(state.getType());
    loop.getBody().walk([&](Operation *op) {
      if (auto bind = dyn_cast<graph::BindOp>(op))
        for (auto symbol : bind.getSymbols().getAsRange<StringAttr>())
          changing.insert(symbol.getValue());
      if (isa<graph::IfOp, graph::LoopOp>(op))
        for (Type type : op->getResultTypes())
          addOwn(type);
    });
  }

  void run() {
    SmallVector<Operation *> ops;
    for (Operation &op : llvm::make_early_inc_range(
             loop.getBody().front().without_terminator())) {
      // What a step requires of sizes holds behind that alone.
      if (isa<graph::RequireOp>(op))
        graph::forEachSymbol(
            &op, [&](graph::Expr symbol) { changing.insert(symbol.name()); });
      else if (isInvariant(&op))
        invariant.insert(&op);
      else if (auto product = dyn_cast<graph::MatmulOp>(op)) {
        if (Operation *whole = projectAll(product))
          ops.push_back(whole);
        continue;
      }
      if (isWork(&op) && invariant.contains(&op))
        ops.push_back(&op);
    }
    for (Operation *op : ops)
      hoist(op);
  }

private:
  /// Notes symbols that are not of outside, or may not be.
  void addOwn(Type type) {
    for (graph::Expr dim : graph::getDims(type))
      if (dim.isSymbol() && !isOfInit(dim))
        changing.insert(dim.name());
  }

  bool isOfInit(graph::Expr dim) {
    return llvm::any_of(loop.getInit(), [&](Value init) {
      return llvm::is_contained(graph::getDims(init), dim);
    });
  }

  bool isInside(Value value) {
    return loop.getBody().isAncestor(value.getParentRegion());
  }

  bool isInvariant(Operation *op) {
    if (!isWork(op) && !isView(op))
      return false;
    for (Value operand : op->getOperands())
      if (isInside(operand) && !invariant.contains(operand.getDefiningOp()))
        return false;
    return !changes(op);
  }

  /// Whether a type or an op has sizes that are of a step.
  template <typename T> bool changes(T of) {
    bool any = false;
    graph::forEachSymbol(of, [&](graph::Expr symbol) {
      any = any || changing.contains(symbol.name());
    });
    return any;
  }

  /// The op that takes one place of an invariant's first axis, whose other axes
  /// the value has, maybe by way of a reshape that drops the first.
  Operation *placeOf(Value value) {
    Operation *op = value.getDefiningOp();
    auto reshape = dyn_cast_if_present<graph::ReshapeOp>(op);
    if (reshape)
      op = reshape.getInput().getDefiningOp();
    if (!op || !isa<graph::GatherOp, graph::SliceOp>(op))
      return nullptr;
    Value input = op->getOperand(0);
    if (graph::getRank(input) < 2 || graph::getDim(input, 0).isConstant(1) ||
        (isInside(input) && !invariant.contains(input.getDefiningOp())))
      return nullptr;
    SmallVector<graph::Expr> rest = graph::getDims(input);
    rest.erase(rest.begin());
    if (graph::getDims(value) != rest)
      return nullptr;
    if (auto gather = dyn_cast<graph::GatherOp>(op))
      return !reshape && gather.getAxis() == 0 ? op : nullptr;
    auto slice = cast<graph::SliceOp>(op);
    bool isWhole = reshape && graph::getDim(slice.getResult(), 0).isConstant(1);
    for (size_t i = 1; i < slice.getStarts().size() && isWhole; ++i)
      isWhole = slice.getStarts()[i].isConstant(0) &&
                slice.getSteps()[i].isConstant(1) &&
                graph::getDim(slice.getResult(), i) == rest[i - 1];
    return isWhole ? op : nullptr;
  }

  /// Of a product of each step's row, the product of all rows; null where the
  /// weight or the rows are made in the step.
  Operation *projectAll(graph::MatmulOp product) {
    Value weight = product.getRhs();
    Operation *place = placeOf(product.getLhs());
    if (!place || graph::getRank(weight) != 2 ||
        (isInside(weight) && !invariant.contains(weight.getDefiningOp())))
      return nullptr;
    Value input = place->getOperand(0);
    if (changes(input.getType()) || changes(weight.getType()))
      return nullptr;
    OpBuilder b(product);
    auto whole = graph::MatmulOp::create(b, product.getLoc(), input, weight);
    IRMapping map;
    map.map(input, whole.getResult());
    Operation *own = b.clone(*place, map);
    SmallVector<graph::Expr> dims = graph::getDims(own->getResult(0));
    dims.back() = graph::getDims(whole.getResult()).back();
    own->getResult(0).setType(
        graph::tensorOf(dims, graph::getElementType(whole.getResult())));
    Value row = own->getResult(0);
    if (row.getType() != product.getType())
      row =
          graph::ReshapeOp::create(b, product.getLoc(), product.getType(), row);
    product.getResult().replaceAllUsesWith(row);
    product.erase();
    invariant.insert(whole);
    return whole;
  }

  void hoist(Operation *op) {
    if (!loop.getBody().isAncestor(op->getParentRegion()))
      return;
    for (Value operand : op->getOperands())
      if (isInside(operand))
        hoist(operand.getDefiningOp());
    op->moveBefore(loop);
  }

  graph::LoopOp loop;
  llvm::StringSet<> changing;
  llvm::SetVector<Operation *> invariant;
};

struct HoistInvariants : impl::HoistInvariantsPassBase<HoistInvariants> {
  void runOnOperation() override {
    // Inner loops first: what they give up may leave outer ones, too.
    SmallVector<graph::LoopOp> loops;
    getOperation().walk([&](graph::LoopOp loop) { loops.push_back(loop); });
    for (graph::LoopOp loop : loops)
      dropKept(loop);
    getOperation().walk([](graph::LoopOp loop) { Hoisting(loop).run(); });
  }
};

} // namespace
} // namespace tenon
