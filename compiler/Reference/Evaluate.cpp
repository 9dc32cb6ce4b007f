//===- Evaluate.cpp - Blocks, functions, and one op at a time -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Reference/Evaluate.h"
#include "compiler/Reference/Call.h"

using namespace mlir;

namespace tenon::reference {
namespace {

llvm::Error nodeFault(Operation *op, const llvm::Twine &reason) {
  return llvm::createStringError(("node '" + nodeName(op) + "' (" +
                                  op->getName().getStringRef() + "): " + reason)
                                     .str());
}

/// Binds symbols that a list of sizes consists of, then checks every size.
llvm::Error bindShape(ArrayRef<graph::Expr> dims, ArrayRef<int64_t> shape,
                      SymbolMap &symbols) {
  if (dims.size() != shape.size())
    return fault("has rank " + std::to_string(shape.size()) + " where rank " +
                 std::to_string(dims.size()) + " is declared");
  for (auto [dim, size] : llvm::zip(dims, shape))
    if (dim.isSymbol())
      symbols.try_emplace(dim.name(), size);
  for (auto [axis, pair] : llvm::enumerate(llvm::zip(dims, shape))) {
    auto [dim, size] = pair;
    std::optional<int64_t> expected = evaluateSize(dim, symbols);
    if (!expected)
      return fault("the size " + dim.str() + " of axis " +
                   std::to_string(axis) + " has no value");
    if (*expected != size)
      return fault("has size " + std::to_string(size) + " along axis " +
                   std::to_string(axis) + " where " + dim.str() + " = " +
                   std::to_string(*expected) + " is declared");
  }
  return llvm::Error::success();
}

/// One run of a block and those nested in it; they see its values.
class Run {
public:
  Run(SymbolMap &symbols, const EvaluateOptions &options)
      : symbols(symbols), options(options) {}

  llvm::Expected<SmallVector<Tensor>> block(Block &block,
                                            ArrayRef<Tensor> arguments);

private:
  llvm::Expected<Tensor> lookup(Operation *user, Value value);
  llvm::Expected<SmallVector<Tensor>> results(Operation *op,
                                              ArrayRef<Tensor> operands);
  llvm::Expected<SmallVector<Tensor>> branch(graph::IfOp op,
                                             const Tensor &condition);
  llvm::Expected<SmallVector<Tensor>> loop(graph::LoopOp op,
                                           ArrayRef<Tensor> operands);
  llvm::Expected<Tensor> stack(graph::LoopOp op, OpResult result,
                               ArrayRef<Tensor> rows);

  SymbolMap &symbols;
  const EvaluateOptions &options;
  DenseMap<Value, Tensor> values;
};

/// Weights are read when they are first used.
llvm::Expected<Tensor> Run::lookup(Operation *user, Value value) {
  if (auto found = values.find(value); found != values.end())
    return found->second;
  auto weight = value.getDefiningOp<graph::WeightOp>();
  if (!weight)
    return nodeFault(user, "an operand has no value");
  if (!options.weight)
    return nodeFault(user, "weight '" + weight.getName() + "' is not at hand");
  llvm::Expected<Tensor> tensor = options.weight(weight.getName());
  if (!tensor)
    return nodeFault(user, llvm::toString(tensor.takeError()));
  if (tensor->element != graph::getElementType(value))
    return nodeFault(user, "weight '" + weight.getName() +
                               "' has another element type");
  if (auto error = bindShape(graph::getDims(value), tensor->shape, symbols))
    return nodeFault(user, "weight '" + weight.getName() + "' " +
                               llvm::toString(std::move(error)));
  values[value] = *tensor;
  return *tensor;
}

llvm::Expected<SmallVector<Tensor>> Run::branch(graph::IfOp op,
                                                const Tensor &condition) {
  if (condition.count() != 1)
    return nodeFault(op, "the condition has shape " + str(condition.shape) +
                             ", not one element");
  Region &region =
      condition.ints()[0] ? op.getThenRegion() : op.getElseRegion();
  llvm::Expected<SmallVector<Tensor>> yielded = block(region.front(), {});
  if (!yielded)
    return yielded.takeError();
  for (auto [i, pair] : llvm::enumerate(llvm::zip(op.getResults(), *yielded))) {
    auto [result, tensor] = pair;
    if (auto error = bindShape(graph::getDims(result), tensor.shape, symbols))
      return nodeFault(op, "result " + std::to_string(i) + " " +
                               llvm::toString(std::move(error)));
  }
  return yielded;
}

/// Rows of all steps, one behind the other.
llvm::Expected<Tensor> Run::stack(graph::LoopOp op, OpResult result,
                                  ArrayRef<Tensor> rows) {
  SmallVector<int64_t> shape = {int64_t(rows.size())};
  SmallVector<graph::Expr> dims = graph::getDims(result);
  for (graph::Expr dim : llvm::drop_begin(dims))
    if (std::optional<int64_t> size = evaluateSize(dim, symbols))
      shape.push_back(*size);
    else
      return nodeFault(op, "the size " + dim.str() + " of a row has no value");
  if (!countOf(shape))
    return nodeFault(op, "what its steps give is too large");
  Tensor stacked(graph::getElementType(result), shape);
  for (auto [i, row] : llvm::enumerate(rows)) {
    if (ArrayRef(row.shape) != ArrayRef(shape).drop_front())
      return nodeFault(op, "a step gives a row of shape " + str(row.shape) +
                               ", which is not that of " + str(shape));
    if (row.isFloat())
      llvm::copy(row.floats(), stacked.writeFloats().begin() + i * row.count());
    else
      llvm::copy(row.ints(), stacked.writeInts().begin() + i * row.count());
  }
  return stacked;
}

llvm::Expected<SmallVector<Tensor>> Run::loop(graph::LoopOp op,
                                              ArrayRef<Tensor> operands) {
  Block &body = op.getBody().front();
  SmallVector<Tensor> state(operands.drop_front());
  SmallVector<SmallVector<Tensor>> rows(op.getRows().size());
  // Each step sets the symbols of the loop anew.
  const SymbolMap outer = symbols;
  Tensor condition = operands[0];
  for (int64_t step = 0; condition.ints()[0]; ++step) {
    if (step > INT32_MAX)
      return nodeFault(op, "it has more than 2147483647 steps");
    symbols = outer;
    symbols[op.getStep()] = step;
    for (auto [argument, tensor] : llvm::zip(body.getArguments(), state))
      if (auto error =
              bindShape(graph::getDims(argument), tensor.shape, symbols))
        return nodeFault(op, "its state " + llvm::toString(std::move(error)));
    llvm::Expected<SmallVector<Tensor>> yielded = block(body, state);
    if (!yielded)
      return yielded.takeError();
    condition = (*yielded)[0];
    auto given = ArrayRef(*yielded).drop_front();
    llvm::copy(given.take_front(state.size()), state.begin());
    for (auto [row, all] : llvm::zip(given.drop_front(state.size()), rows))
      all.push_back(row);
  }
  symbols = outer;
  for (auto [i, pair] : llvm::enumerate(llvm::zip(op.getLastState(), state))) {
    auto [result, tensor] = pair;
    if (auto error = bindShape(graph::getDims(result), tensor.shape, symbols))
      return nodeFault(op, "result " + std::to_string(i) + " " +
                               llvm::toString(std::move(error)));
  }
  for (auto [result, all] : llvm::zip(op.getStacks(), rows)) {
    llvm::Expected<Tensor> stacked = stack(op, cast<OpResult>(result), all);
    if (!stacked)
      return stacked.takeError();
    if (auto error = bindShape(graph::getDims(result), stacked->shape, symbols))
      return nodeFault(op,
                       "a stack of rows " + llvm::toString(std::move(error)));
    state.push_back(std::move(*stacked));
  }
  return state;
}

llvm::Expected<SmallVector<Tensor>> Run::results(Operation *op,
                                                 ArrayRef<Tensor> operands) {
  if (auto choice = dyn_cast<graph::IfOp>(op))
    return branch(choice, operands[0]);
  if (auto repeated = dyn_cast<graph::LoopOp>(op))
    return loop(repeated, operands);
  if (op->getNumRegions() == 0)
    return evaluateOp(op, operands, symbols, options);
  if (op->getNumRegions() != 1 || !op->getRegion(0).hasOneBlock() ||
      op->getRegion(0).getNumArguments() != operands.size())
    return nodeFault(op, "the evaluator does not know this op");
  return block(op->getRegion(0).front(), operands);
}

llvm::Expected<SmallVector<Tensor>> Run::block(Block &block,
                                               ArrayRef<Tensor> arguments) {
  for (auto [argument, tensor] : llvm::zip(block.getArguments(), arguments))
    values[argument] = tensor;
  // What to forget after which op of this block.
  DenseMap<Operation *, SmallVector<Value>> dead;
  auto noteLastUse = [&](Value value) {
    Operation *last = nullptr;
    for (Operation *user : value.getUsers())
      if (Operation *here = block.findAncestorOpInBlock(*user))
        if (!last || last->isBeforeInBlock(here))
          last = here;
    if (last)
      dead[last].push_back(value);
    return last;
  };
  for (Value argument : block.getArguments())
    if (!noteLastUse(argument))
      values.erase(argument);
  for (Operation &op : block) {
    bool isWeight = isa<graph::WeightOp>(op);
    SmallVector<Tensor> operands;
    if (!isWeight)
      for (Value operand : op.getOperands()) {
        llvm::Expected<Tensor> tensor = lookup(&op, operand);
        if (!tensor)
          return tensor.takeError();
        operands.push_back(std::move(*tensor));
      }
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      for (Value value : dead.lookup(&op))
        values.erase(value);
      return operands;
    }
    SmallVector<Tensor> tensors;
    if (!isWeight) {
      llvm::Expected<SmallVector<Tensor>> made = results(&op, operands);
      if (!made)
        return made.takeError();
      tensors = std::move(*made);
      if (options.observe)
        options.observe(&op, tensors);
    }
    for (auto [i, result] : llvm::enumerate(op.getResults()))
      if (noteLastUse(result) && !isWeight)
        values[result] = tensors[i];
    operands.clear();
    for (Value value : dead.lookup(&op))
      values.erase(value);
  }
  return SmallVector<Tensor>();
}

} // namespace

std::string nodeName(Operation *op) {
  Location loc = op->getLoc();
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (isa<NameLoc>(part)) {
        loc = part;
        break;
      }
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().str();
  return op->getName().getStringRef().str();
}

llvm::Expected<SmallVector<Tensor>>
evaluateBlock(Block &block, ArrayRef<Tensor> arguments, SymbolMap &symbols,
              const EvaluateOptions &options) {
  if (arguments.size() != block.getNumArguments())
    return fault("expected " + std::to_string(block.getNumArguments()) +
                 " inputs but got " + std::to_string(arguments.size()));
  // Plain symbols of every argument first: an expression may need a later one.
  for (auto [argument, tensor] : llvm::zip(block.getArguments(), arguments)) {
    SmallVector<graph::Expr> dims = graph::getDims(argument);
    for (auto [dim, size] : llvm::zip(dims, tensor.shape))
      if (dim.isSymbol())
        symbols.try_emplace(dim.name(), size);
  }
  for (auto [i, argument] : llvm::enumerate(block.getArguments())) {
    std::string name = "input " + std::to_string(i);
    if (auto function = dyn_cast<func::FuncOp>(block.getParentOp()))
      if (auto attr = function.getArgAttrOfType<StringAttr>(i, "graph.name"))
        name = "input '" + attr.str() + "'";
    if (arguments[i].element != graph::getElementType(argument))
      return fault(name + " has another element type than declared");
    if (auto error =
            bindShape(graph::getDims(argument), arguments[i].shape, symbols))
      return fault(name + " " + llvm::toString(std::move(error)));
  }
  return Run(symbols, options).block(block, arguments);
}

llvm::Expected<SmallVector<Tensor>>
evaluateFunction(func::FuncOp function, ArrayRef<Tensor> inputs,
                 const EvaluateOptions &options) {
  if (function.empty())
    return fault("the function has no body");
  SymbolMap symbols;
  return evaluateBlock(function.front(), inputs, symbols, options);
}

std::optional<DenseElementsAttr>
foldToAttr(Operation *op, ArrayRef<Attribute> operands, int64_t maxElements) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !type.hasStaticShape() ||
      countOf(type.getShape()).value_or(maxElements + 1) > maxElements)
    return std::nullopt;
  SmallVector<Tensor> tensors;
  for (Attribute operand : operands) {
    auto elements = dyn_cast_if_present<DenseElementsAttr>(operand);
    if (!elements || elements.getNumElements() > maxElements)
      return std::nullopt;
    std::optional<Tensor> tensor = Tensor::fromAttr(elements);
    if (!tensor)
      return std::nullopt;
    tensors.push_back(std::move(*tensor));
  }
  SymbolMap symbols;
  llvm::Expected<SmallVector<Tensor>> results =
      evaluateOp(op, tensors, symbols);
  if (!results) {
    llvm::consumeError(results.takeError());
    return std::nullopt;
  }
  return (*results)[0].toAttr();
}

} // namespace tenon::reference
