//===- LowerToExec.cpp - Write the launch table ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Lowering/LaunchCost.h"
#include "compiler/Lowering/Passes.h"
#include "compiler/Lowering/Storages.h"
#include "compiler/Weights/WeightStore.h"
#include "dialects/Kernel/OtherSizes.h"
#include "dialects/Kernel/ResultPlaces.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_LOWERTOEXECPASS
#include "compiler/Lowering/Passes.h.inc"

namespace {
using graph::DimsAttr;
using graph::Expr;

/// The symbols of a program, in order of birth.
struct SymbolTableBuilder {
  void add(StringRef name, int64_t lo, int64_t hi) {
    if (!known.insert({name, names.size()}).second)
      return;
    names.push_back(name.str());
    los.push_back(lo);
    his.push_back(hi);
  }
  llvm::StringMap<size_t> known;
  SmallVector<std::string> names;
  SmallVector<int64_t> los, his;
};

class Lowering {
public:
  Lowering(func::FuncOp function, WeightStore &weights, bool storesApart)
      : function(function), storages(function, weights, storesApart),
        kernels(function->getParentOfType<ModuleOp>()),
        builder(function.getContext()) {}

  LogicalResult run() {
    if (failed(checkOps()) || failed(storages.plan()))
      return failure();
    builder.setInsertionPoint(function);
    exec::ProgramOp program = createProgram();
    Block *body = builder.createBlock(&program.getBody());
    builder.setInsertionPointToStart(body);
    makeSegments(nullptr);
    lowerBlock(function.getBody().front());
    program.setSymbolsAttr(strings(symbols.names));
    program.setLo(symbols.los);
    program.setHi(symbols.his);
    function.erase();
    dropUnusedKernels();
    return success(!overflow);
  }

private:
  /// What the launch table can say; any other op would get lost.
  LogicalResult checkOps() {
    auto check = [&](Operation *op) -> WalkResult {
      if (auto call = dyn_cast<kernel::CallOp>(op))
        return kernels.lookup<kernel::FuncOp>(call.getCallee())
                   ? WalkResult::advance()
                   : WalkResult(call.emitOpError("calls no kernel.func"));
      if (op == function ||
          isa<func::ReturnOp, graph::BindOp, graph::ConstantOp, graph::IfOp,
              graph::LoopOp, graph::RequireOp, graph::ReshapeOp,
              graph::WeightOp, graph::YieldOp>(op))
        return WalkResult::advance();
      return op->emitOpError("is in no kernel; please report this model");
    };
    return failure(function.walk(check).wasInterrupted());
  }

  ArrayAttr strings(ArrayRef<std::string> names) {
    SmallVector<Attribute> attrs;
    for (const std::string &name : names)
      attrs.push_back(builder.getStringAttr(name));
    return builder.getArrayAttr(attrs);
  }

  DimsAttr dims(ArrayRef<Expr> exprs) {
    return DimsAttr::get(builder.getContext(), exprs);
  }

  exec::ProgramOp createProgram() {
    SmallVector<std::string> inputs, outputs;
    SmallVector<Type> inputTypes, outputTypes;
    SmallVector<int64_t> appendsTo;
    auto addSymbols = [&](Type type) {
      for (Expr dim : graph::getDims(type))
        dim.forEachSymbol([&](Expr symbol) { addInputSymbol(symbol); });
    };
    auto text = [](StringAttr name) { return name ? name.str() : ""; };
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      inputs.push_back(
          text(function.getArgAttrOfType<StringAttr>(i, "graph.name")));
      inputTypes.push_back(
          heldType(function.getArgumentTypes()[i],
                   function.getArgAttrOfType<DimsAttr>(i, "graph.dims")));
      addSymbols(inputTypes.back());
    }
    // What a caller need not know of comes last.
    for (Type type : function.getArgumentTypes())
      addSymbols(type);
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      outputs.push_back(
          text(function.getResultAttrOfType<StringAttr>(i, "graph.name")));
      auto dims = function.getResultAttrOfType<DimsAttr>(i, "graph.dims");
      outputTypes.push_back(heldType(function.getResultTypes()[i], dims));
      if (dims)
        addSymbols(function.getResultTypes()[i]);
      auto input =
          function.getResultAttrOfType<IntegerAttr>(i, "graph.appends_to");
      appendsTo.push_back(input ? input.getInt() : -1);
    }
    auto program = exec::ProgramOp::create(
        builder, function.getLoc(), strings(inputs),
        builder.getTypeArrayAttr(inputTypes), strings(outputs),
        builder.getTypeArrayAttr(outputTypes), builder.getArrayAttr({}),
        ArrayRef<int64_t>{}, ArrayRef<int64_t>{}, dims(storages.segmentSizes()),
        ArrayAttr(), ArrayAttr(), DenseI64ArrayAttr(),
        function->getAttrOfType<ArrayAttr>("graph.batch"));
    if (llvm::any_of(appendsTo, [](int64_t input) { return input >= 0; })) {
      program.setStoredInputsAttr(
          builder.getTypeArrayAttr(function.getArgumentTypes()));
      program.setStoredOutputsAttr(
          builder.getTypeArrayAttr(function.getResultTypes()));
      program.setAppendsTo(appendsTo);
    }
    return program;
  }

  /// The type of a value that has room for more, without that.
  static Type heldType(Type stored, DimsAttr dims) {
    if (!dims)
      return stored;
    return graph::tensorOf(dims.exprs(),
                           cast<RankedTensorType>(stored).getElementType());
  }

  /// `graph.ranges` of the function holds what the user promised by --dim.
  void addInputSymbol(Expr symbol) {
    int64_t lo = 0, hi = INT32_MAX;
    auto ranges = function->getAttrOfType<DictionaryAttr>("graph.ranges");
    if (ranges)
      if (auto range = ranges.getAs<DenseI64ArrayAttr>(symbol.name()))
        lo = range[0], hi = range[1];
    symbols.add(symbol.name(), lo, hi);
  }

  void makeSegments(Operation *after) {
    makeSegments(storages.segmentsAfter(after));
  }

  void makeSegments(ArrayRef<unsigned> indices) {
    for (unsigned index : indices)
      exec::SegmentOp::create(builder, builder.getUnknownLoc(), index);
  }

  void lowerBlock(Block &block) {
    for (Operation &op : block) {
      lowerOp(op);
      makeSegments(&op);
    }
  }

  void lowerOp(Operation &op) {
    if (auto call = dyn_cast<kernel::CallOp>(op))
      return lowerCall(call);
    if (auto branch = dyn_cast<graph::IfOp>(op))
      return lowerIf(branch);
    if (auto loop = dyn_cast<graph::LoopOp>(op))
      return lowerLoop(loop);
    if (auto bind = dyn_cast<graph::BindOp>(op))
      return lowerBind(bind);
    if (auto require = dyn_cast<graph::RequireOp>(op)) {
      exec::RequireOp::create(builder, op.getLoc(), require.getSizes(),
                              require.getRelation(), require.getMessage());
      return;
    }
    if (isa<func::ReturnOp>(op))
      for (auto [index, value] : llvm::enumerate(op.getOperands()))
        if (storages.needsCopy(index))
          copy(value, storages.outputBuffer(index, value));
  }

  void copy(Value from, exec::BufferAttr to) {
    exec::BufferAttr source = storages.bufferOf(from);
    if (source != to)
      exec::CopyOp::create(builder, from.getLoc(), source, to);
  }

  /// A launch of the kernel and of each that runs at other sizes.
  void lowerCall(kernel::CallOp call) {
    if (storages.isJoined(call))
      return;
    for (kernel::FuncOp callee : kernel::kernelsOf(call, kernels))
      lowerCall(call, callee);
  }

  void lowerCall(kernel::CallOp call, kernel::FuncOp callee) {
    SmallVector<Attribute> buffers;
    for (auto [operand, layout] : llvm::zip(
             call.getOperands(), callee.getLayouts().getAsRange<StringAttr>()))
      buffers.push_back(storages.bufferOf(operand, layout));
    for (Value result : call.getResults())
      buffers.push_back(storages.bufferOf(result));
    llvm::StringMap<Expr> values;
    for (auto [name, value] :
         llvm::zip(callee.getSymbols().getAsRange<StringAttr>(),
                   call.getParams().exprs()))
      values[name] = value;
    auto bind = [&](Expr expr) {
      return expr.substitute(
          [&](Expr symbol) { return values.lookup(symbol.name()); });
    };
    SmallVector<Expr> geometry;
    for (Expr expr : callee.getGeometry().exprs())
      geometry.push_back(bind(expr));
    if (!llvm::all_of(geometry, [](Expr expr) { return bool(expr); })) {
      call.emitOpError("has sizes that overflow");
      overflow = true;
      return;
    }
    LaunchCost cost = costOf(callee);
    if (std::optional<unsigned> operand = storages.inPlaceOperand(call))
      callee = variantOf(callee, "over", kernel::inPlace, *operand);
    if (int64_t pitch = storages.pitchOf(call))
      callee = variantOf(callee, "apart", kernel::pitch, pitch);
    if (auto copy = storages.copyOf(call)) {
      callee = variantOf(callee, "twice", kernel::copyPitch, copy->pitch);
      buffers.push_back(copy->buffer);
      cost.writes = cost.writes * 2;
    }
    auto launch = exec::LaunchOp::create(
        builder, call.getLoc(), callee.getSymName(),
        builder.getArrayAttr(buffers), call.getParams(), dims(geometry));
    if (Attribute nodes = call->getAttr("nodes"))
      launch->setAttr("nodes", nodes);
    setCost(launch, cost, bind);
  }

  /// Attaches what the launch has to do, if that can be said.
  void setCost(exec::LaunchOp launch, const LaunchCost &cost,
               llvm::function_ref<Expr(Expr)> bind) {
    Expr weights = Expr::constant(builder.getContext(), 0);
    Expr others = cost.writes;
    llvm::SmallDenseSet<Attribute> seen;
    // Behind the operands are the results.
    for (auto [i, read] : llvm::enumerate(cost.reads)) {
      auto buffer = cast<exec::BufferAttr>(launch.getBuffers()[i]);
      if (!seen.insert(buffer).second)
        continue;
      // What others in a layout take is known once they are placed.
      if (buffer.getPlace() != exec::Place::Weights)
        others = others + read;
      else if (buffer.getLayout().empty() || cost.picked == i)
        weights = weights + read;
    }
    if (cost.picked)
      launch->setAttr("picked", builder.getI64IntegerAttr(*cost.picked));
    if (!cost.flops || !weights || !others)
      return;
    SmallVector<Expr> all = {bind(cost.flops), bind(weights), bind(others)};
    if (!llvm::all_of(all, [](Expr expr) { return bool(expr); }))
      return;
    launch->setAttr("cost", dims(all));
    if (cost.factors)
      launch->setAttr("factors", TypeAttr::get(cost.factors));
  }

  /// A kernel that leaves its result elsewhere (see ResultPlaces.h). Over an
  /// operand, that is read through the result's pointer: so its code knows that
  /// the two are one, and needs no check for overlap.
  kernel::FuncOp variantOf(kernel::FuncOp callee, StringRef suffix,
                           StringRef attribute, int64_t value) {
    std::string name =
        (callee.getSymName() + "_" + suffix + Twine(value)).str();
    if (auto known = kernels.lookup<kernel::FuncOp>(name))
      return known;
    kernel::FuncOp variant = callee.clone();
    variant.setSymName(name);
    variant->setAttr(attribute, builder.getI64IntegerAttr(value));
    kernels.insert(variant, std::next(callee->getIterator()));
    return variant;
  }

  /// Kernels all of whose calls became calls of a variant.
  void dropUnusedKernels() {
    llvm::StringSet<> used;
    ModuleOp module = cast<ModuleOp>(kernels.getOp());
    module.walk([&](exec::LaunchOp op) { used.insert(op.getKernel()); });
    for (auto function :
         llvm::make_early_inc_range(module.getOps<kernel::FuncOp>()))
      if (!used.contains(function.getSymName()))
        kernels.erase(function);
  }

  void lowerBind(graph::BindOp bind) {
    for (auto [name, lo, hi] :
         llvm::zip(bind.getSymbols().getAsRange<StringAttr>(), bind.getLo(),
                   bind.getHi()))
      symbols.add(name, lo, hi);
    exec::BindOp::create(
        builder, bind.getLoc(), storages.bufferOf(bind.getInput()),
        graph::getElementType(bind.getInput()), bind.getSymbols());
  }

  void lowerIf(graph::IfOp branch) {
    SmallVector<Expr> born = storages.bornBy(branch);
    for (Expr symbol : born)
      symbols.add(symbol.name(), 0, INT32_MAX);
    auto lowered = exec::IfOp::create(builder, branch.getLoc(),
                                      storages.bufferOf(branch.getCondition()));
    OpBuilder::InsertionGuard guard(builder);
    for (unsigned i = 0; i < 2; ++i) {
      Block &from = branch->getRegion(i).front();
      builder.createBlock(&lowered->getRegion(i));
      lowerBlock(from);
      finishBranch(branch, from.getTerminator()->getOperands(), born);
    }
  }

  /// Sets the symbols that the branch decides, then copies what it yields.
  void finishBranch(graph::IfOp branch, ValueRange yielded,
                    ArrayRef<Expr> born) {
    setSizes(branch, branch.getResults(), yielded, born, "a branch of an If");
    makeSegments(storages.segmentsOfResults(branch));
    for (auto [result, value] : llvm::zip(branch.getResults(), yielded))
      copy(value, storages.bufferOf(result));
  }

  void requireEqual(Operation *op, const Twine &what, Expr dim, Expr actual) {
    exec::RequireOp::create(builder, op->getLoc(), dims({dim, actual}),
                            graph::Relation::Equal,
                            (what + " gives size " + actual.str() + " where " +
                             dim.str() + " is declared")
                                .str());
  }

  void setSymbol(Operation *op, Expr symbol, Expr value) {
    exec::SetOp::create(builder, op->getLoc(), symbol.name(), dims({value}));
  }

  /// Sets `nameOf(dim)` for each dim of `like` that is one of `born`, to what
  /// the values have there; states what the others must be.
  void setSizes(
      Operation *op, ValueRange like, ValueRange values, ArrayRef<Expr> born,
      const Twine &what,
      llvm::function_ref<Expr(Expr)> nameOf = [](Expr dim) { return dim; }) {
    llvm::SmallDenseSet<Attribute> done;
    for (auto [declared, value] : llvm::zip_equal(like, values))
      for (auto [dim, actual] :
           llvm::zip_equal(graph::getDims(declared), graph::getDims(value))) {
        if (llvm::is_contained(born, dim) && done.insert(dim.getAttr()).second)
          setSymbol(op, nameOf(dim), actual);
        else if (nameOf(dim) != actual)
          requireEqual(op, what, nameOf(dim), actual);
      }
  }

  void lowerLoop(graph::LoopOp loop) {
    Block &body = loop.getBody().front();
    auto states = body.getArguments();
    SmallVector<Expr> changing = storages.bornByStep(loop);
    Expr step = Expr::symbol(builder.getContext(), loop.getStep());
    addSymbols(step);
    for (Expr symbol : changing) {
      addSymbols(symbol);
      addSymbols(storages.nextOf(symbol));
    }
    setSymbol(loop, step, Expr::constant(builder.getContext(), 0));
    setSizes(loop, states, loop.getInit(), changing, "the state of a Loop");
    makeSegments(storages.segmentsOfStep(loop));
    copy(loop.getCondition(), storages.conditionOf(loop));
    for (auto [init, state] : llvm::zip_equal(loop.getInit(), states))
      copy(init, storages.bufferOf(state));
    auto lowered = exec::LoopOp::create(builder, loop.getLoc(),
                                        storages.conditionOf(loop));
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.createBlock(&lowered.getBody());
      lowerBlock(body);
      finishStep(loop, step, changing);
    }
    SmallVector<Expr> last = storages.bornByEnd(loop);
    for (Expr symbol : last)
      addSymbols(symbol);
    setSizes(loop, loop.getLastState(), states, last, "the state of a Loop");
    finishStacks(loop, step, last);
  }

  void addSymbols(Expr symbol) { symbols.add(symbol.name(), 0, INT32_MAX); }

  /// Copies what a step gave to where the next one reads it.
  void finishStep(graph::LoopOp loop, Expr step, ArrayRef<Expr> changing) {
    auto states = loop.getBody().getArguments();
    auto next = [&](Expr expr) {
      return expr.substitute([&](Expr symbol) {
        return llvm::is_contained(changing, symbol) ? storages.nextOf(symbol)
                                                    : symbol;
      });
    };
    setSizes(loop, states, loop.getNextState(), changing, "a step of a Loop",
             next);
    makeSegments(storages.segmentsOfNext(loop));
    for (auto [state, given] : llvm::zip_equal(states, loop.getNextState()))
      if (auto place = storages.waitingOf(state))
        copy(given, *place);
    for (auto [row, stack] :
         llvm::zip_equal(loop.getRows(), loop.getStacks())) {
      SmallVector<Expr> dims = graph::getDims(stack);
      for (auto [dim, actual] :
           llvm::zip_equal(ArrayRef(dims).drop_front(), graph::getDims(row)))
        if (dim != actual)
          requireEqual(loop, "a step of a Loop", dim, actual);
      copy(row, storages.rowOf(loop, stack));
    }
    copy(loop.getNextCondition(), storages.conditionOf(loop));
    for (auto [state, given] : llvm::zip_equal(states, loop.getNextState()))
      if (!storages.waitingOf(state))
        copy(given, storages.bufferOf(state));
    for (Expr symbol : changing)
      setSymbol(loop, symbol, storages.nextOf(symbol));
    setSymbol(loop, step, step + 1);
    makeSegments(storages.segmentsOfStep(loop));
    for (BlockArgument state : states)
      if (auto place = storages.waitingOf(state))
        exec::CopyOp::create(builder, loop.getLoc(), *place,
                             storages.bufferOf(state));
  }

  /// The stacks have as many rows as there were steps.
  void finishStacks(graph::LoopOp loop, Expr step, ArrayRef<Expr> born) {
    llvm::SmallDenseSet<Attribute> done;
    for (Value stack : loop.getStacks()) {
      Expr rows = graph::getDims(stack)[0];
      if (!done.insert(rows.getAttr()).second)
        continue;
      if (llvm::is_contained(born, rows))
        setSymbol(loop, rows, step);
      else
        requireEqual(loop, "a Loop", rows, step);
    }
  }

  func::FuncOp function;
  Storages storages;
  SymbolTable kernels;
  OpBuilder builder;
  SymbolTableBuilder symbols;
  bool overflow = false;
};

struct LowerToExec : impl::LowerToExecPassBase<LowerToExec> {
  using Base = impl::LowerToExecPassBase<LowerToExec>;
  using Base::Base;
  LowerToExec(WeightStore &weights, LowerToExecPassOptions options)
      : Base(std::move(options)), weights(&weights) {}

  void runOnOperation() override {
    WeightStore none;
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (failed(Lowering(function, weights ? *weights : none, target == "cpu")
                     .run()))
        return signalPassFailure();
  }

  WeightStore *weights = nullptr;
};

} // namespace

std::unique_ptr<Pass> createLowerToExecPass(WeightStore &weights,
                                            LowerToExecPassOptions options) {
  return std::make_unique<LowerToExec>(weights, std::move(options));
}
} // namespace tenon
