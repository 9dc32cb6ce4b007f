//===- Storages.cpp - The memory that a function's values need ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Lowering/Storages.h"
#include "compiler/Weights/WeightStore.h"
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

Storages::Storages(func::FuncOp function, WeightStore &weights)
    : function(function), weights(weights),
      kernels(function->getParentOfType<ModuleOp>()),
      context(function.getContext()) {}

Value Storages::rootOf(Value value) const {
  Value source = viewOf.lookup(value);
  return source ? source : value;
}

SmallVector<Expr> Storages::bornBy(graph::IfOp op) const {
  SmallVector<Expr> born;
  for (Value result : op.getResults())
    for (Expr dim : graph::getDims(result))
      if (dim.isSymbol() && !llvm::is_contained(born, dim)) {
        auto found = birth.find(dim.name());
        if (found == birth.end() || found->second == endOf.lookup(op))
          born.push_back(dim);
      }
  return born;
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
    storages.push_back(std::make_unique<Storage>(
        Storage{byteCount(result),
                begin,
                steps,
                static_cast<unsigned>(storages.size()),
                0,
                {}}));
    homes[result] = Home{Place::Arena, 0, storages.back().get(), {}};
  }
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
  Storage *target = homes[call.getResult(0)].storage;
  if (!target)
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
  llvm::DenseMap<unsigned, Operation *> bearers;
  for (auto &[op, step] : stepOf)
    if (isa<graph::BindOp>(op))
      bearers[step] = op;
  for (auto &[op, step] : endOf)
    bearers[step] = op;
  for (auto &[value, home] : homes) {
    // Of values that share a storage, the first one decides.
    if (!home.storage || home.storage->segment != 0)
      continue;
    unsigned latest = 0;
    home.storage->bytes.forEachSymbol([&](Expr symbol) {
      latest = std::max(latest, birth.lookup(symbol.name()));
    });
    if (latest == 0)
      continue;
    Operation *bearer = bearers.lookup(latest);
    auto &list = value.getDefiningOp() == bearer ? resultSegment : segmentAfter;
    auto [found, isNew] = list.insert({bearer, count});
    count += isNew;
    home.storage->segment = found->second;
  }
  llvm::SetVector<Storage *> inArena;
  for (auto &[value, home] : homes)
    if (home.storage)
      inArena.insert(home.storage);
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
  for (auto &[value, home] : homes)
    if (home.storage && !home.storage->bytes)
      return mlir::emitError(value.getLoc(),
                             "the size of a tensor in bytes overflows");
  takeOutputs();
  function.walk([&](kernel::CallOp call) { reuseInPlace(call); });
  assignSegments();
  for (Expr size : segments.sizes)
    if (!size)
      return function.emitError("the size of the arena overflows");
  return success();
}

SmallVector<unsigned> Storages::segmentsAfter(Operation *op) const {
  if (!op)
    return segments.withAll(0);
  auto found = segmentAfter.find(op);
  return found == segmentAfter.end() ? SmallVector<unsigned>{}
                                     : segments.withAll(found->second);
}

SmallVector<unsigned> Storages::segmentsOfResults(Operation *op) const {
  auto found = resultSegment.find(op);
  return found == resultSegment.end() ? SmallVector<unsigned>{}
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

BufferAttr Storages::bufferOf(Value value, StringRef layout) {
  Expr zero = Expr::constant(context, 0), bytes = byteCount(value);
  StringAttr none = StringAttr::get(context, "");
  const Home &home = homes.find(rootOf(value))->second;
  auto at = [&](int64_t index, Expr offset) {
    return BufferAttr::get(context, home.place, index,
                           DimsAttr::get(context, ArrayRef{offset, bytes}),
                           none, none);
  };
  if (home.place == Place::Arena)
    return at(home.storage->segment, home.storage->offset);
  if (home.place != Place::Weights)
    return at(home.index, zero);
  return BufferAttr::get(context, Place::Weights, 0,
                         DimsAttr::get(context, ArrayRef{zero, bytes}),
                         StringAttr::get(context, weightName(home.source)),
                         StringAttr::get(context, layout));
}

BufferAttr Storages::outputBuffer(unsigned index, Value value) {
  Expr zero = Expr::constant(context, 0);
  StringAttr none = StringAttr::get(context, "");
  return BufferAttr::get(
      context, Place::Output, index,
      DimsAttr::get(context, ArrayRef<Expr>{zero, byteCount(value)}), none,
      none);
}

} // namespace tenon
