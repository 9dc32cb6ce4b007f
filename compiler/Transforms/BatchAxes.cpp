//===- BatchAxes.cpp - Where the items of a batch lie in values -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/BatchAxes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tenon {
using graph::Expr;

bool BatchAxes::mentions(Expr expr) const {
  bool found = false;
  expr.forEachSymbol(
      [&](Expr symbol) { found |= llvm::is_contained(symbols, symbol); });
  return found;
}

bool BatchAxes::mentions(Value value) const {
  return llvm::any_of(graph::getDims(value),
                      [&](Expr dim) { return mentions(dim); });
}

/// The dims must bear out what a rule says.
bool BatchAxes::note(Value value, Found place) {
  if (!place)
    return false;
  for (auto [i, dim] : llvm::enumerate(graph::getDims(value))) {
    bool isApart = int64_t(i) != place->axis
                       ? !mentions(dim)
                       : llvm::any_of(symbols, [&](Expr symbol) {
                           Expr inner =
                               dim.exactDiv(symbol).exactDiv(place->outer);
                           return inner && !mentions(inner);
                         });
    if (!isApart)
      return false;
  }
  places[value] = *place;
  return true;
}

bool BatchAxes::addInput(Value value) {
  Place first = {0, Expr::constant(value.getContext(), 1)};
  return note(value, mentions(value) ? first : Place());
}

bool BatchAxes::isInOrder(Value value) const {
  if (isShared(value))
    return true;
  Place place = of(value);
  SmallVector<Expr> dims = graph::getDims(value);
  return graph::areOnes(ArrayRef(dims).take_front(place.axis)) &&
         place.outer.isConstant(1) && dims[place.axis].exactDiv(symbols[0]);
}

/// What an op requires to be no less than the items; null where it requires
/// anything else.
Expr BatchAxes::longerBy(graph::RequireOp op) const {
  Expr longer = op.getSizes()[1];
  bool isBound = op.getRelation() == graph::Relation::LessEqual &&
                 op.getSizes()[0] == symbols[0] && longer.isSymbol();
  return isBound ? longer : Expr();
}

void BatchAxes::addLonger(graph::RequireOp op) {
  if (Expr longer = longerBy(op);
      longer && !llvm::is_contained(symbols, longer))
    symbols.push_back(longer);
}

bool BatchAxes::add(Operation *op) {
  // That holds of some of the items as well; what else is said of their number
  // may not.
  if (auto require = dyn_cast<graph::RequireOp>(op);
      require && longerBy(require))
    return true;
  if (op->getNumRegions() > 0 || isa<graph::BindOp>(op))
    return false;
  for (NamedAttribute attr : op->getAttrs())
    if (auto dims = dyn_cast<graph::DimsAttr>(attr.getValue()))
      for (Expr expr : dims.exprs())
        if (mentions(expr))
          return false;
  bool isOfItems =
      llvm::any_of(op->getOperands(),
                   [&](Value value) { return !isShared(value); }) ||
      llvm::any_of(op->getResults(),
                   [&](Value value) { return mentions(value); });
  Found place = isOfItems ? ofResult(op) : Place();
  return llvm::all_of(op->getResults(),
                      [&](Value result) { return note(result, place); });
}

/// The place in all results of an op.
BatchAxes::Found BatchAxes::ofResult(Operation *op) const {
  if (graph::isPointwise(op))
    return aligned(op->getOperands(), graph::getRank(op->getResult(0)));
  if (Found place = ofMovement(op))
    return place;
  if (Found place = ofRows(op))
    return place;
  if (Found place = ofPicks(op))
    return place;
  return llvm::TypeSwitch<Operation *, Found>(op)
      .Case([&](graph::MatmulOp op) { return ofMatmul(op); })
      .Case([&](graph::AttentionOp op) { return ofAttention(op); })
      .Case<graph::ConvOp, graph::ConvTransposeOp>(
          [&](auto op) { return ofImages(op.getInput(), op.getFilter()); })
      .Case<graph::MaxPoolOp, graph::AveragePoolOp, graph::LpPoolOp>(
          [&](auto op) { return ofImages(op.getInput(), {}); })
      .Default([](Operation *) { return Found(); });
}

BatchAxes::Found BatchAxes::ofMovement(Operation *op) const {
  return llvm::TypeSwitch<Operation *, Found>(op)
      .Case([&](graph::ReshapeOp op) { return ofReshape(op); })
      .Case([&](graph::BroadcastOp op) { return ofBroadcast(op); })
      .Case([&](graph::TransposeOp op) {
        auto order = op.getPermutation();
        auto found = llvm::find(order, of(op.getInput()).axis);
        return moved(op.getInput(), found - order.begin());
      })
      .Case([&](graph::SliceOp op) { return ofSlice(op); })
      .Case([&](graph::WindowsOp op) -> Found {
        int64_t axis = of(op.getInput()).axis, along = op.getAxis();
        if (axis == along)
          return std::nullopt;
        return moved(op.getInput(), axis + (axis > along));
      })
      .Case([&](graph::ConcatOp op) {
        return joined(op.getInputs(), op.getAxis());
      })
      .Case([&](graph::AppendOp op) {
        return joined({op.getBuffer(), op.getRows()}, op.getAxis());
      })
      .Case([&](graph::PadOp op) -> Found {
        Found place = whole(op.getInput(), op.getResult());
        bool isKept = place && isShared(op.getValue()) &&
                      op.getLow()[place->axis].isConstant(0);
        return isKept ? place : std::nullopt;
      })
      .Case([&](graph::ResizeOp op) -> Found {
        Found place = whole(op.getInput(), op.getResult());
        bool isKept =
            place && op.getCoordinates() != "tf_crop_and_resize" &&
            (op.getScales().empty() || op.getScales()[place->axis] == 1);
        return isKept ? place : std::nullopt;
      })
      .Default([](Operation *) { return Found(); });
}

/// Of what combines the elements of some axes.
BatchAxes::Found BatchAxes::ofRows(Operation *op) const {
  return llvm::TypeSwitch<Operation *, Found>(op)
      .Case(
          [&](graph::ReduceOp op) { return kept(op.getInput(), op.getAxes()); })
      .Case<graph::ArgReduceOp, graph::SoftmaxOp, graph::LogSoftmaxOp,
            graph::CumulativeOp, graph::TopkOp>(
          [&](auto op) { return kept(op.getInput(), {int64_t(op.getAxis())}); })
      .Case<graph::LayerNormOp, graph::RmsNormOp>(
          [&](auto op) { return before({op.getInput()}, op.getAxis()); })
      .Case([&](graph::QuantizeRowsOp op) {
        return before({op.getInput()}, graph::getRank(op.getInput()) - 1);
      })
      .Case([&](graph::SuppressOp op) -> Found {
        if (!isShared(op.getThreshold()) || !isShared(op.getLimit()))
          return std::nullopt;
        return before({op.getBoxes(), op.getCandidates()},
                      graph::getRank(op.getCandidates()) - 1);
      })
      .Case([&](graph::LinearAttentionOp op) {
        return before(op->getOperands(), 1);
      })
      .Case([&](graph::RotaryOp op) -> Found {
        Found place = before({op.getInput()}, 1);
        for (Value table : {op.getCos(), op.getSin()})
          if (isShared(table) ? !graph::getDim(table, 0).isConstant(1)
                              : of(table) != place)
            return std::nullopt;
        return place;
      })
      .Default([](Operation *) { return Found(); });
}

/// Of what reads by index.
BatchAxes::Found BatchAxes::ofPicks(Operation *op) const {
  if (auto gather = dyn_cast<graph::GatherOp>(op)) {
    int64_t input = of(gather.getInput()).axis, along = gather.getAxis();
    if (input == none)
      return moved(gather.getIndices(), along + of(gather.getIndices()).axis);
    if (!isShared(gather.getIndices()) || input == along)
      return std::nullopt;
    int64_t added = graph::getRank(gather.getIndices()) - 1;
    return moved(gather.getInput(), input < along ? input : input + added);
  }
  if (auto gather = dyn_cast<graph::GatherElementsOp>(op))
    return joined({gather.getInput(), gather.getIndices()}, gather.getAxis());
  if (auto gather = dyn_cast<graph::GatherNdOp>(op)) {
    int64_t last = graph::getRank(gather.getIndices()) - 1;
    if (isShared(gather.getInput()))
      return before({gather.getIndices()}, last);
    return before({gather.getInput(), gather.getIndices()},
                  gather.getBatchDims());
  }
  if (auto scatter = dyn_cast<graph::ScatterElementsOp>(op))
    return joined(
        {scatter.getInput(), scatter.getIndices(), scatter.getUpdates()},
        scatter.getAxis());
  return std::nullopt;
}

/// Of operands that broadcast with their last axes aligned: all that have items
/// have them alike at the same place, others have but one element there.
BatchAxes::Found BatchAxes::aligned(ValueRange operands, int64_t rank) const {
  Value first;
  int64_t axis = none;
  for (Value operand : operands) {
    if (isShared(operand))
      continue;
    int64_t at = of(operand).axis + rank - graph::getRank(operand);
    bool isAlike =
        !first || (at == axis && of(operand).outer == of(first).outer &&
                   graph::getDim(operand, of(operand).axis) ==
                       graph::getDim(first, of(first).axis));
    if (!isAlike)
      return std::nullopt;
    first = operand;
    axis = at;
  }
  if (!first)
    return std::nullopt;
  for (Value operand : operands) {
    int64_t at = axis - rank + graph::getRank(operand);
    if (isShared(operand) && at >= 0 &&
        !graph::getDim(operand, at).isConstant(1))
      return std::nullopt;
  }
  return moved(first, axis);
}

/// Of operands that all have items alike at one axis, which is not `along`,
/// where they may differ.
BatchAxes::Found BatchAxes::joined(ValueRange operands, int64_t along) const {
  Place place = of(operands.front());
  if (place.axis == none || place.axis == along)
    return std::nullopt;
  Expr dim = graph::getDim(operands.front(), place.axis);
  for (Value operand : operands)
    if (of(operand) != place || graph::getDim(operand, place.axis) != dim)
      return std::nullopt;
  return place;
}

BatchAxes::Found BatchAxes::kept(Value input, ArrayRef<int64_t> without) const {
  bool isKept =
      !isShared(input) && !llvm::is_contained(without, of(input).axis);
  return isKept ? Found(of(input)) : std::nullopt;
}

/// Of operands that all have items alike at one axis before `end`.
BatchAxes::Found BatchAxes::before(ValueRange operands, int64_t end) const {
  Found place = joined(operands, end);
  return place && place->axis < end ? place : std::nullopt;
}

/// Before the items lie as many elements as before.
BatchAxes::Found BatchAxes::ofReshape(graph::ReshapeOp op) const {
  Place place = of(op.getInput());
  if (place.axis == none)
    return std::nullopt;
  SmallVector<Expr> from = graph::getDims(op.getInput());
  Expr elements =
      graph::product(op.getContext(), ArrayRef(from).take_front(place.axis)) *
      place.outer;
  Expr others = Expr::constant(op.getContext(), 1);
  for (auto [i, dim] : llvm::enumerate(graph::getDims(op.getResult()))) {
    if (mentions(dim)) {
      Expr outer = elements.exactDiv(others);
      return outer ? Found(Place{int64_t(i), outer}) : std::nullopt;
    }
    others = others * dim;
  }
  return std::nullopt;
}

/// What all items share has one element where they are, or no such axis.
BatchAxes::Found BatchAxes::ofBroadcast(graph::BroadcastOp op) const {
  SmallVector<Expr> dims = graph::getDims(op.getResult());
  Value input = op.getInput();
  if (!isShared(input)) {
    int64_t axis = of(input).axis;
    int64_t at = axis + int64_t(dims.size()) - graph::getRank(input);
    return dims[at] == graph::getDim(input, axis) ? moved(input, at)
                                                  : std::nullopt;
  }
  for (auto [i, dim] : llvm::enumerate(dims))
    if (mentions(dim))
      return Place{int64_t(i), Expr::constant(op.getContext(), 1)};
  return std::nullopt;
}

/// Of what keeps all that lies along the axis of the items.
BatchAxes::Found BatchAxes::whole(Value input, Value result) const {
  Place place = of(input);
  bool isWhole = place.axis != none && graph::getDim(result, place.axis) ==
                                           graph::getDim(input, place.axis);
  return isWhole ? Found(place) : std::nullopt;
}

/// Of an input that has more, as many items as the batch are the first ones.
BatchAxes::Found BatchAxes::ofSlice(graph::SliceOp op) const {
  Place place = of(op.getInput());
  if (place.axis == none || !op.getStarts()[place.axis].isConstant(0) ||
      !op.getSteps()[place.axis].isConstant(1))
    return std::nullopt;
  bool isFirst =
      graph::getDim(op.getResult(), place.axis) == symbols[0] &&
      llvm::is_contained(symbols, graph::getDim(op.getInput(), place.axis));
  return isFirst ? Found(place) : whole(op.getInput(), op.getResult());
}

/// Items are matrices, rows of the left side, or columns of the right one.
BatchAxes::Found BatchAxes::ofMatmul(graph::MatmulOp op) const {
  int64_t rank = graph::getRank(op.getResult());
  auto fromEnd = [&](Value operand) {
    return isShared(operand) ? 0 : graph::getRank(operand) - of(operand).axis;
  };
  Value lhs = op.getLhs(), rhs = op.getRhs();
  int64_t ofLhs = fromEnd(lhs), ofRhs = fromEnd(rhs);
  if (ofLhs == 2 && ofRhs == 0)
    return moved(lhs, rank - 2);
  if (ofLhs == 0 && ofRhs == 1)
    return moved(rhs, rank - 1);
  bool areMatrices = (ofLhs == 0 || ofLhs > 2) && (ofRhs == 0 || ofRhs > 2);
  return areMatrices ? aligned({lhs, rhs}, rank) : std::nullopt;
}

/// Of a bias for n entries an entry reads the one of its number modulo n: that
/// says the same of each item where each has a multiple of n.
BatchAxes::Found BatchAxes::ofAttention(graph::AttentionOp op) const {
  SmallVector<Value> operands = {op.getQuery(), op.getKey(), op.getValue()};
  for (Value operand : {Value(op.getKeyMask()), Value(op.getOffsets())})
    if (operand)
      operands.push_back(operand);
  Found place = before(operands, 1);
  if (!place)
    return std::nullopt;
  Expr entries = graph::getDim(op.getQuery(), 0);
  Expr ofItem = entries.exactDiv(symbols[0]).exactDiv(place->outer);
  for (Value bias : op.getBiases()) {
    Expr biases = graph::getDim(bias, 0);
    bool isAlike = isShared(bias) ? bool(ofItem.exactDiv(biases))
                                  : of(bias) == *place && biases == entries;
    if (!isAlike)
      return std::nullopt;
  }
  return place;
}

/// Of images [N, ...] and what is done to each of them alike.
BatchAxes::Found BatchAxes::ofImages(Value images, Value filter) const {
  return isShared(filter) ? before({images}, 1) : std::nullopt;
}

} // namespace tenon
