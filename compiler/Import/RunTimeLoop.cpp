//===- RunTimeLoop.cpp - Steps that only a run counts ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/RunTimeLoop.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;

class LoopEmitter {
public:
  LoopEmitter(NodeConverter &node, const RunTimeLoop &loop)
      : node(node), loop(loop) {}

  RunTimeLoopResult run() {
    if (failed(takeState()))
      return {};
    // A size that a step changes is a symbol when the body is imported again.
    std::unique_ptr<Region> body;
    do {
      body = importBody();
      if (node.failed())
        return {};
    } while (!body);
    SmallVector<Type> types;
    if (failed(addResultTypes(types)))
      return {};
    Value condition = loop.condition ? node.reshape(loop.condition, {})
                                     : node.scalar(node.boolean(), 1);
    condition = bounded(condition, node.size(0));
    if (node.failed())
      return {};
    OperationState made(node.loc, graph::LoopOp::getOperationName());
    made.addOperands(condition);
    made.addOperands(carried);
    made.addAttribute("step", node.builder.getStringAttr(step.name()));
    bool hasRoom = !rows.empty();
    made.addAttribute(
        "room", graph::DimsAttr::get(node.context(),
                                     {hasRoom ? loop.count : node.size(0)}));
    made.addTypes(types);
    made.addRegion(std::move(body));
    return resultsOf(node.builder.create(made));
  }

private:
  /// What goes from step to step.
  LogicalResult takeState() {
    for (auto [value, kind] : llvm::zip_equal(loop.state, loop.kinds)) {
      if (kind == StateKind::Appended && value.sequence)
        continue;
      if (kind == StateKind::Kept)
        continue;
      if (!value.value)
        return node.unsupported(
            "only a run knows its number of steps, and they hand on what is "
            "neither a tensor nor a sequence that they only put tensors behind",
            "export the model with a fixed number of steps, or fix the sizes "
            "that it depends on with --dim NAME=N");
      if (node.isNarrow(value.value) || node.fewBitsOf(value.value))
        return node.unsupported(
            "only a run knows its number of steps, and they hand on numbers of "
            "8 or 4 bits that have no type of their own",
            "cast them to float in front of it");
      carried.push_back(value.value);
      types.push_back(cast<RankedTensorType>(value.value.getType()));
    }
    return success();
  }

  /// Imports a step on states of `types`; null where it gives others, which
  /// `types` then has symbols for.
  std::unique_ptr<Region> importBody() {
    auto region = std::make_unique<Region>();
    Block &block = region->emplaceBlock();
    OpBuilder::InsertionGuard guard(node.builder);
    node.builder.setInsertionPointToEnd(&block);
    ImportState &state = node.state;
    ImportState::Notes before = state.notes();
    firstOwnSymbol = state.symbolsMade.size();
    step = node.freshSymbol("step");
    if (loop.count) { // There is such a step.
      node.assume(step, graph::Relation::LessEqual, loop.count);
      node.assume(step + 1, graph::Relation::LessEqual, loop.count);
    }
    for (RankedTensorType type : types)
      block.addArgument(type, node.loc);
    SmallVector<NamedValue> given;
    size_t next = 0;
    for (auto [value, kind] : llvm::zip_equal(loop.state, loop.kinds))
      if (kind == StateKind::Appended)
        given.push_back(node.sequenceOf({value.sequence->element, {}, {}}));
      else
        given.push_back(kind == StateKind::Kept
                            ? value
                            : NamedValue::of(block.getArgument(next++)));
    state.countedSteps.push_back(step);
    SmallVector<NamedValue> results = loop.body(step, given);
    state.countedSteps.pop_back();
    if (node.failed() || !finishBody(block, results)) {
      state.goBack(std::move(before));
      return nullptr;
    }
    state.known = std::move(before.known);
    return region;
  }

  /// Yields what a step gives; false where that is of other types.
  bool finishBody(Block &block, ArrayRef<NamedValue> results) {
    SmallVector<Value> yielded = {nextCondition(results[0])};
    auto given = results.drop_front();
    bool fits = true;
    rows.clear();
    for (auto [i, kind] : llvm::enumerate(loop.kinds)) {
      if (kind == StateKind::Kept)
        continue;
      if (kind == StateKind::Appended) {
        takeAppended(given[i]);
        continue;
      }
      Value value = node.tensorOf(given[i], "state " + Twine(i));
      if (node.failed())
        return false;
      fits &= takesType(yielded.size() - 1, value);
      yielded.push_back(value);
    }
    for (auto [i, row] : llvm::enumerate(given.drop_front(loop.state.size())))
      rows.push_back(
          node.tensorOf(row, "result " + Twine(loop.state.size() + i)));
    if (node.failed())
      return false;
    llvm::append_range(yielded, rows);
    graph::YieldOp::create(node.builder, node.loc, yielded);
    return fits;
  }

  /// What a step put behind a sequence is a row.
  void takeAppended(const NamedValue &given) {
    const Sequence *list = given.sequence.get();
    if (!list || list->stack || list->values.size() != 1)
      (void)node.unsupported("only a run knows its number of steps, and they "
                             "do not put one tensor each behind a sequence",
                             "stack them to one tensor in the step");
    else
      rows.push_back(list->values[0]);
  }

  Value nextCondition(const NamedValue &given) {
    bool isGiven = given.state != NamedValue::State::Absent;
    Value flag = isGiven ? node.tensorOf(given, "the condition") : Value();
    if (isGiven && !node.failed() && node.computedInt(flag) != 1)
      decidesAtRunTime = true;
    else
      flag = node.scalar(node.boolean(), 1);
    return bounded(node.reshape(flag, {}), step + 1);
  }

  /// Whether a condition holds and there is a step of that number.
  Value bounded(Value condition, Expr number) {
    if (!node.failed() && !graph::getElementType(condition).isInteger(1))
      (void)node.invalid("its condition must be a bool");
    if (!loop.count || node.failed())
      return condition;
    auto scalar = [&](Expr size) { return node.sizeScalar(size); };
    Value isOne =
        node.emit<graph::LessOp>({scalar(number), scalar(loop.count)});
    if (node.computedInt(condition) == 1)
      return isOne;
    return node.emit<graph::AndOp>({condition, isOne});
  }

  /// Whether a state goes on with its type; sizes that do not become symbols.
  bool takesType(size_t index, Value value) {
    RankedTensorType &type = types[index];
    auto dims = graph::getDims(type), now = graph::getDims(value);
    if (graph::getElementType(value) != type.getElementType()) {
      (void)node.invalid("a step changes the element type of its state");
      return false;
    }
    if (dims.size() != now.size()) {
      (void)node.unsupported(
          "only a run knows its number of steps, and each changes the rank of "
          "its state",
          "fix the sizes that it depends on with --dim NAME=N");
      return false;
    }
    bool fits = true;
    for (auto [dim, other] : llvm::zip(dims, now))
      if (dim != other && !llvm::is_contained(changing, dim)) {
        changing.push_back(dim = node.freshSymbol("state"));
        fits = false;
      }
    type = graph::tensorOf(dims, type.getElementType());
    return fits;
  }

  LogicalResult addResultTypes(SmallVector<Type> &results) {
    llvm::DenseMap<Attribute, Expr> last;
    for (RankedTensorType type : types) {
      auto dims = graph::getDims(type);
      for (Expr &dim : dims)
        if (llvm::is_contained(changing, dim)) {
          Expr &symbol = last[dim.getAttr()];
          if (!symbol)
            symbol = node.freshSymbol("last");
          dim = symbol;
        }
      results.push_back(graph::tensorOf(dims, type.getElementType()));
    }
    if (rows.empty())
      return success();
    if (!loop.count)
      return node.unsupported(
          "it collects a result of each step, and has no trip count that says "
          "for how many there must be room",
          "give it a trip count that is never reached");
    bool isExact = !decidesAtRunTime && !loop.condition;
    Expr steps = isExact ? loop.count : node.freshSymbol("steps");
    for (Value row : rows) {
      auto dims = graph::getDims(row);
      if (llvm::any_of(dims, [&](Expr dim) { return isOwn(dim); }))
        return node.unsupported(
            "only a run knows its number of steps, and it collects results "
            "whose sizes a step decides",
            "fix the sizes that it depends on with --dim NAME=N");
      dims.insert(dims.begin(), steps);
      results.push_back(graph::tensorOf(dims, graph::getElementType(row)));
    }
    return success();
  }

  /// Whether a size depends on symbols that only the body knows.
  bool isOwn(Expr size) const {
    bool found = false;
    auto own = ArrayRef(node.state.symbolsMade).drop_front(firstOwnSymbol);
    size.forEachSymbol([&](Expr symbol) {
      found |= llvm::is_contained(changing, symbol) ||
               llvm::is_contained(own, symbol.name());
    });
    return found;
  }

  RunTimeLoopResult resultsOf(Operation *op) {
    RunTimeLoopResult result;
    ValueRange last = op->getResults().take_front(carried.size());
    ValueRange stacks = op->getResults().drop_front(carried.size());
    auto pop = [](ValueRange &values) {
      Value first = values.front();
      values = values.drop_front();
      return first;
    };
    for (auto [value, kind] : llvm::zip_equal(loop.state, loop.kinds))
      if (kind == StateKind::Appended)
        result.state.push_back(appended(*value.sequence, pop(stacks)));
      else
        result.state.push_back(
            kind == StateKind::Kept ? value : NamedValue::of(pop(last)));
    llvm::append_range(result.stacks, stacks);
    return result;
  }

  NamedValue appended(Sequence list, Value stack) {
    list.stack = list.stack ? node.concat({list.stack, stack}, 0) : stack;
    return node.sequenceOf(std::move(list));
  }

  NodeConverter &node;
  const RunTimeLoop &loop;
  SmallVector<Value> carried;
  SmallVector<RankedTensorType> types;
  SmallVector<Expr> changing;
  Expr step;
  SmallVector<Value> rows;
  bool decidesAtRunTime = false;
  size_t firstOwnSymbol = 0;
};

} // namespace

RunTimeLoopResult emitLoop(NodeConverter &node, const RunTimeLoop &loop) {
  return LoopEmitter(node, loop).run();
}

} // namespace tenon
