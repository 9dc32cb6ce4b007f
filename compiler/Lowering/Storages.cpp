//===- Storages.cpp - The memory that a function's values need ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Lowering/Storages.h"
#include "compiler/Weights/WeightStore.h"
#include "dialects/Kernel/ResultPlaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tenon {

using exec::BufferAttr;
using exec::Place;
using graph::DimsAttr;
using graph::Expr;

static Expr byteCount(Value value) {
  return graph::elementCount(value) *
         static_cast<int64_t>(graph::byteWidth(graph::getElementType(value)));
}

/// Of one of what is stacked.
static Expr rowBytes(Value stack) {
  Expr bytes = Expr::constant(stack.getContext(),
                              graph::byteWidth(graph::getElementType(stack)));
  SmallVector<Expr> dims = graph::getDims(stack);
  for (Expr dim : llvm::drop_begin(dims))
    bytes = bytes * dim;
  return bytes;
}

Storages::Storages(func::FuncOp function, WeightStore &weights,
                   bool storesApart)
    : function(function), weights(weights), storesApart(storesApart),
      kernels(function->getParentOfType<ModuleOp>()),
      context(function.getContext()) {}

Value Storages::rootOf(Value value) const {
  Value source = viewOf.lookup(value);
  return source ? source : value;
}

/// Whether a symbol is born at a step, or by none that is known yet.
bool Storages::bearsAt(StringRef symbol, unsigned step) const {
  auto found = birth.find(symbol);
  return found == birth.end() || found->second == step;
}

SmallVector<Expr> Storages::bornBy(ValueRange values, unsigned step) const {
  SmallVector<Expr> born;
  for (Value value : values)
    for (Expr dim : graph::getDims(value))
      if (dim.isSymbol() && !llvm::is_contained(born, dim) &&
          bearsAt(dim.name(), step))
        born.push_back(dim);
  return born;
}

SmallVector<Expr> Storages::bornBy(graph::IfOp op) const {
  return bornBy(op.getResults(), endOf.lookup(op));
}

SmallVector<Expr> Storages::bornByStep(graph::LoopOp op) const {
  return bornBy(op.getBody().getArguments(), stepOf.lookup(op));
}

SmallVector<Expr> Storages::bornByEnd(graph::LoopOp op) const {
  return bornBy(op.getResults(), endOf.lookup(op));
}

Expr Storages::nextOf(Expr symbol) const {
  return Expr::symbol(context, symbol.name().str() + ".next");
}

/// Numbers ops, notes births and views, and gives each value a home.
void Storages::number(Block &block) {
  for (Operation &op : block) {
    unsigned step = stepOf[&op] = ++steps;
    for (Value operand : op.getOperands())
      use(operand, step);
    if (auto branch = dyn_cast<graph::IfOp>(op)) {
      number(branch.getThenRegion().front());
      number(branch.getElseRegion().front());
      endOf[&op] = ++steps;
      for (Expr symbol : bornBy(branch))
        birth[symbol.name()] = steps;
    }
    if (auto loop = dyn_cast<graph::LoopOp>(op)) {
      numberLoop(loop);
      continue;
    }
    if (auto bind = dyn_cast<graph::BindOp>(op))
      for (auto symbol : bind.getSymbols().getAsRange<StringAttr>())
        birth[symbol.getValue()] = step;
    giveHome(op);
  }
}

void Storages::giveHome(Operation &op) {
  if (auto reshape = dyn_cast<graph::ReshapeOp>(op)) {
    viewOf[reshape.getResult()] = rootOf(reshape.getInput());
    return;
  }
  for (Value result : op.getResults()) {
    if (isa<graph::WeightOp, graph::ConstantOp>(op)) {
      homes[result] = Home{Place::Weights, 0, nullptr, result};
      continue;
    }
    // The results of an `if` are written at the end of its branches.
    unsigned begin = isa<graph::IfOp>(op) ? stepOf[&op] : steps;
    homes[result] =
        Home{Place::Arena, 0, store(byteCount(result), begin, steps), {}};
  }
}

Storage *Storages::store(Expr bytes, unsigned begin, unsigned end) {
  storages.push_back(std::make_unique<Storage>(Storage{
      bytes, begin, end, static_cast<unsigned>(storages.size()), 0, {}}));
  return storages.back().get();
}

void Storages::numberLoop(graph::LoopOp loop) {
  Block &body = loop.getBody().front();
  unsigned start = stepOf[loop];
  SmallVector<Expr> changing = bornByStep(loop);
  birth[loop.getStep()] = start;
  for (Expr symbol : changing)
    birth[symbol.name()] = start;
  for (BlockArgument state : body.getArguments())
    homes[state] =
        Home{Place::Arena, 0, store(byteCount(state), start, start), {}};
  for (Value stack : loop.getStacks())
    homes[stack] =
        Home{Place::Arena,
             0,
             store(loop.getRoom()[0] * rowBytes(stack), start, start),
             {}};
  number(body);
  unsigned next = nextStepOf[loop] = ++steps;
  for (Expr symbol : changing)
    birth[nextOf(symbol).name()] = next;
  unsigned end = endOf[loop] = ++steps;
  conditions[loop] = store(Expr::constant(context, 1), start, end);
  for (Value stack : loop.getStacks())
    use(stack, end);
  for (Value given : loop.getYield().getValues())
    use(given, end);
  for (auto [state, given, last] : llvm::zip_equal(
           body.getArguments(), loop.getNextState(), loop.getLastState())) {
    use(state, end);
    viewOf[last] = state;
    auto isChanging = [&](Expr dim) {
      return llvm::is_contained(changing, dim);
    };
    auto other = dyn_cast<BlockArgument>(rootOf(given));
    bool isRead = other && other != state && other.getOwner() == &body;
    if (!isRead && llvm::none_of(graph::getDims(state), isChanging))
      continue;
    Expr bytes = byteCount(state).substitute([&](Expr symbol) {
      return llvm::is_contained(changing, symbol) ? nextOf(symbol) : symbol;
    });
    waiting[state] = store(bytes, next, end);
  }
  for (Expr symbol : bornByEnd(loop))
    birth[symbol.name()] = end;
}

/// What comes from outside of a loop and is read inside is read in each step.
void Storages::keepThroughLoops() {
  function.walk([&](graph::LoopOp loop) {
    loop.getBody().walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (Value root = rootOf(operand);
            !loop.getBody().isAncestor(root.getParentRegion()))
          use(root, endOf[loop]);
    });
  });
}

void Storages::use(Value value, unsigned step) {
  auto found = homes.find(rootOf(value));
  if (found != homes.end() && found->second.storage)
    found->second.storage->end = std::max(found->second.storage->end, step);
}

bool Storages::isBornBy(Expr expr, unsigned step) const {
  bool born = true;
  expr.forEachSymbol([&](Expr symbol) {
    auto found = birth.find(symbol.name());
    born = born && found != birth.end() && found->second <= step;
  });
  return born;
}

/// Lets returned values live in the caller's memory from the start, where the
/// output's size is known by then and no other output has the value.
void Storages::takeOutputs() {
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    Home &home = homes[rootOf(value)];
    copies.push_back(true);
    if (home.place != Place::Arena)
      continue;
    bool known = true;
    for (Expr dim : graph::getDims(value))
      known = known && isBornBy(dim, home.storage->begin);
    if (!known)
      continue;
    home = Home{Place::Output, static_cast<unsigned>(index), nullptr, {}};
    copies.back() = false;
  }
}

/// A pointwise kernel may write its result over an operand that it reads
/// element for element and that nobody reads afterwards.
void Storages::reuseInPlace(kernel::CallOp call) {
  auto callee = kernels.lookup<kernel::FuncOp>(call.getCallee());
  if (!callee || call.getNumResults() != 1)
    return;
  const Home &result = homes[call.getResult(0)];
  Storage *target = result.storage;
  if (!target || result.join || joined.contains(call))
    return;
  for (auto [index, operand] : llvm::enumerate(call.getOperands())) {
    Storage *source = homes[rootOf(operand)].storage;
    // The kernel trusts that no other operand overlaps the result.
    auto isSource = [&](Value other) {
      return homes[rootOf(other)].storage == source;
    };
    if (!source || source == target || source->bytes != target->bytes ||
        source->end != stepOf[call] || !kernel::mayOverwrite(callee, index) ||
        llvm::count_if(call.getOperands(), isSource) != 1)
      continue;
    source->end = target->end;
    for (auto &[value, home] : homes)
      if (home.storage == target)
        home.storage = source;
    inPlace[call] = index;
    return;
  }
}

std::optional<unsigned> Storages::inPlaceOperand(kernel::CallOp call) const {
  auto found = inPlace.find(call);
  if (found == inPlace.end())
    return std::nullopt;
  return found->second;
}

/// Segment 0 is made at the start. An op that bears symbols is followed by a
/// segment of its own when a storage's size needs them.
void Storages::assignSegments() {
  unsigned count = 1;
  llvm::SetVector<Storage *> inArena;
  auto assign = [&](Storage *storage, Operation *branch) {
    // Of values that share a storage, the first one decides.
    if (!inArena.insert(storage))
      return;
    unsigned latest = 0;
    storage->bytes.forEachSymbol([&](Expr symbol) {
      latest = std::max(latest, birth.lookup(symbol.name()));
    });
    if (latest == 0)
      return;
    bool isResult = branch && endOf.lookup(branch) == latest;
    auto &list = isResult ? resultSegment : segmentAfter;
    auto [found, isNew] = list.insert({latest, count});
    count += isNew;
    storage->segment = found->second;
  };
  for (auto &[value, home] : homes)
    if (home.storage)
      assign(home.storage, value.getDefiningOp<graph::IfOp>());
  for (auto &[loop, storage] : conditions)
    assign(storage, nullptr);
  for (auto &[state, storage] : waiting)
    assign(storage, nullptr);
  SmallVector<Storage *> list = inArena.takeVector();
  segments = planMemory(context, list, count);
}

/// Symbols that are set before the first step.
void Storages::takeFromCaller(ArrayRef<Expr> dims) {
  for (Expr dim : dims)
    dim.forEachSymbol([&](Expr symbol) { birth[symbol.name()] = 0; });
}

LogicalResult Storages::plan() {
  for (BlockArgument argument : function.getArguments()) {
    homes[argument] = Home{Place::Input, argument.getArgNumber(), nullptr, {}};
    takeFromCaller(graph::getDims(argument));
    if (auto held = function.getArgAttrOfType<DimsAttr>(argument.getArgNumber(),
                                                        "graph.dims"))
      takeFromCaller(held.exprs());
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (function.getResultAttr(i, "graph.appends_to"))
      takeFromCaller(graph::getDims(function.getResultTypes()[i]));
  number(function.getBody().front());
  keepThroughLoops();
  for (auto &[value, home] : homes)
    if (home.storage && !home.storage->bytes)
      return mlir::emitError(value.getLoc(),
                             "the size of a tensor in bytes overflows");
  takeOutputs();
  function.walk([&](kernel::CallOp call) { placeParts(call); });
  function.walk([&](kernel::CallOp call) {
    reuseInPlace(call);
    placeAppended(call);
  });
  assignSegments();
  for (Expr size : segments.sizes)
    if (!size)
      return function.emitError("the size of the arena overflows");
  return success();
}

SmallVector<unsigned> Storages::segmentsAfter(Operation *op) const {
  if (!op)
    return segments.withAll(0);
  if (isa<graph::IfOp, graph::LoopOp>(op))
    return segmentsAt(segmentAfter, endOf.lookup(op));
  return segmentsAt(segmentAfter, stepOf.lookup(op));
}

SmallVector<unsigned> Storages::segmentsOfResults(Operation *op) const {
  return segmentsAt(resultSegment, endOf.lookup(op));
}

SmallVector<unsigned> Storages::segmentsOfStep(graph::LoopOp op) const {
  return segmentsAt(segmentAfter, stepOf.lookup(op));
}

SmallVector<unsigned> Storages::segmentsOfNext(graph::LoopOp op) const {
  return segmentsAt(segmentAfter, nextStepOf.lookup(op));
}

SmallVector<unsigned>
Storages::segmentsAt(const llvm::DenseMap<unsigned, unsigned> &list,
                     unsigned step) const {
  auto found = list.find(step);
  return found == list.end() ? SmallVector<unsigned>{}
                             : segments.withAll(found->second);
}

StringRef Storages::weightName(Value source) {
  if (auto weight = source.getDefiningOp<graph::WeightOp>())
    return weight.getName();
  auto constant = source.getDefiningOp<graph::ConstantOp>();
  std::string &name = constantNames[constant];
  if (!name.empty())
    return name;
  // A splat attribute holds one element, so the bytes are written one by one.
  auto elements = cast<DenseElementsAttr>(constant.getValue());
  auto type = cast<RankedTensorType>(constant.getType());
  std::vector<char> bytes;
  unsigned width = graph::byteWidth(type.getElementType());
  auto append = [&](APInt bits) {
    for (unsigned i = 0; i < width; ++i)
      bytes.push_back(static_cast<char>(
          bits.zextOrTrunc(64).getZExtValue() >> (8 * i) & 0xff));
  };
  if (isa<FloatType>(type.getElementType()))
    for (const APFloat &value : elements.getValues<APFloat>())
      append(value.bitcastToAPInt());
  else
    for (const APInt &value : elements.getValues<APInt>())
      append(value);
  auto added = weights.addOwned("constant", type.getElementType(),
                                type.getShape(), std::move(bytes));
  name = llvm::cantFail(std::move(added))->name;
  return name;
}

/// Bytes of a place that is no weight.
BufferAttr Storages::bytesAt(Place place, int64_t index, Expr offset,
                             Expr bytes) {
  StringAttr none = StringAttr::get(context, "");
  return BufferAttr::get(context, place, index,
                         DimsAttr::get(context, ArrayRef{offset, bytes}), none,
                         none);
}

/// Of no weight.
BufferAttr Storages::bufferAt(Value value, const Home &home) {
  Expr offset = home.offset ? home.offset : Expr::constant(context, 0);
  // Between its rows lie those of others.
  Expr bytes =
      home.pitch != 0 ? byteCount(home.join) - offset : byteCount(value);
  if (home.place != Place::Arena)
    return bytesAt(home.place, home.index, offset, bytes);
  return bytesAt(Place::Arena, home.storage->segment,
                 home.storage->offset + offset, bytes);
}

BufferAttr Storages::bufferOf(Value value, StringRef layout) {
  const Home &home = homes.find(rootOf(value))->second;
  if (home.place != Place::Weights)
    return bufferAt(value, home);
  Expr zero = Expr::constant(context, 0), bytes = byteCount(value);
  return BufferAttr::get(context, Place::Weights, 0,
                         DimsAttr::get(context, ArrayRef{zero, bytes}),
                         StringAttr::get(context, weightName(home.source)),
                         StringAttr::get(context, layout));
}

BufferAttr Storages::bufferOf(const Storage &storage) {
  return bytesAt(Place::Arena, storage.segment, storage.offset, storage.bytes);
}

BufferAttr Storages::conditionOf(graph::LoopOp op) {
  return bufferOf(*conditions.lookup(op));
}

std::optional<BufferAttr> Storages::waitingOf(BlockArgument state) {
  if (Storage *storage = waiting.lookup(state))
    return bufferOf(*storage);
  return std::nullopt;
}

BufferAttr Storages::rowOf(graph::LoopOp op, Value stack) {
  BufferAttr all = bufferOf(stack);
  Expr bytes = rowBytes(stack);
  Expr offset = all.getSizes()[0] + Expr::symbol(context, op.getStep()) * bytes;
  return bytesAt(all.getPlace(), all.getIndex(), offset, bytes);
}

BufferAttr Storages::outputBuffer(unsigned index, Value value) {
  return bytesAt(Place::Output, index, Expr::constant(context, 0),
                 byteCount(value));
}

} // namespace tenon
