//===- RecogniseWindows.cpp - Windows that exporters spell out ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop over windows arrives unrolled, as hundreds of slices and one concat,
// or vectorised, as a gather by a table of positions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Passes.h"
#include "compiler/Weights/WeightStore.h"
#include "llvm/ADT/Sequence.h"
#include <cstring>

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_RECOGNISEWINDOWSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {
using graph::Expr;
using Exprs = SmallVector<Expr>;

/// Fewer slices than that are halves and rolls, which are as cheap as they are.
constexpr size_t minWindows = 3;

/// Windows of `axis` of `input`: position i of window w, of `count` by `size`,
/// is at starts[axis] + w * stride + i * step. On the other axes, start, step
/// and size are those of a slice.
struct Windows {
  Value input;
  int64_t axis = 0, count = 0, stride = 1;
  Exprs starts, steps, sizes;

  /// Of the axis; a number, as matched.
  int64_t step() const { return *steps[axis].asConstant(); }
};

Expr number(Value value, int64_t each) {
  return Expr::constant(value.getContext(), each);
}

/// The input as a slice of these sizes; null when a number overflows.
Value sliceOf(OpBuilder &builder, Location loc, const Windows &windows,
              ArrayRef<Expr> steps, ArrayRef<Expr> sizes) {
  auto all = [](ArrayRef<Expr> list, int64_t value) {
    return llvm::all_of(list,
                        [&](Expr each) { return each.isConstant(value); });
  };
  if (sizes == ArrayRef(graph::getDims(windows.input)) &&
      all(windows.starts, 0) && all(steps, 1))
    return windows.input;
  RankedTensorType type =
      graph::tensorOf(sizes, graph::getElementType(windows.input));
  if (!type)
    return {};
  MLIRContext *context = builder.getContext();
  return graph::SliceOp::create(builder, loc, type, windows.input,
                                graph::DimsAttr::get(context, windows.starts),
                                graph::DimsAttr::get(context, steps));
}

/// [a.., windows, positions, b..]; null when a number overflows.
Value emitWindows(OpBuilder &builder, Location loc, const Windows &windows) {
  int64_t axis = windows.axis;
  Exprs sizes = windows.sizes, steps = windows.steps;
  sizes.insert(sizes.begin() + axis, number(windows.input, windows.count));
  RankedTensorType type =
      graph::tensorOf(sizes, graph::getElementType(windows.input));
  if (!type)
    return {};
  Value slice;
  if (windows.count == 1) {
    slice = sliceOf(builder, loc, windows, steps, windows.sizes);
  } else {
    Exprs read = windows.sizes;
    read[axis] = (sizes[axis] - 1) * windows.stride +
                 (read[axis] - 1) * windows.step() + 1;
    steps[axis] = number(windows.input, 1);
    slice = sliceOf(builder, loc, windows, steps, read);
  }
  if (!slice)
    return {};
  // One window, or some side by side, are only another shape.
  if (windows.count == 1 ||
      (windows.step() == 1 && windows.sizes[axis].isConstant(windows.stride)))
    return graph::ReshapeOp::create(builder, loc, type, slice);
  return graph::WindowsOp::create(builder, loc, type, slice,
                                  builder.getI64IntegerAttr(axis),
                                  builder.getI64IntegerAttr(windows.stride),
                                  builder.getI64IntegerAttr(windows.step()));
}

/// `value` with an axis moved to another place.
Value moveAxis(OpBuilder &builder, Location loc, Value value, int64_t from,
               int64_t to) {
  if (from == to)
    return value;
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, graph::getRank(value)));
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  Exprs dims;
  for (int64_t axis : order)
    dims.push_back(graph::getDim(value, axis));
  return graph::TransposeOp::create(
      builder, loc, graph::tensorOf(dims, graph::getElementType(value)), value,
      order);
}

//===--- Slices and a concat ---===//

/// The slice that an operand of a concat is, perhaps under another shape.
graph::SliceOp sliceOf(Value operand) {
  if (auto reshape = operand.getDefiningOp<graph::ReshapeOp>())
    operand = reshape.getInput();
  return operand.getDefiningOp<graph::SliceOp>();
}

bool isOfSlices(graph::ConcatOp op) {
  return op.getInputs().size() >= minWindows &&
         llvm::all_of(op.getInputs(),
                      [](Value operand) { return sliceOf(operand); });
}

/// Compares the starts of all slices; a reason when they are no windows.
std::optional<StringRef> matchStarts(graph::ConcatOp op, Windows &windows) {
  graph::SliceOp first = sliceOf(op.getInputs()[0]);
  graph::SliceOp second = sliceOf(op.getInputs()[1]);
  std::optional<int64_t> axis;
  for (int64_t i = 0; i < graph::getRank(first.getInput()); ++i) {
    if (first.getStarts()[i] == second.getStarts()[i])
      continue;
    if (axis)
      return "its slices move along two axes";
    axis = i;
  }
  Expr apart =
      axis ? second.getStarts()[*axis] - first.getStarts()[*axis] : Expr();
  if (!apart || !apart.asConstant() || *apart.asConstant() < 1)
    return "its slices do not move forward by a number";
  windows.axis = *axis;
  windows.stride = *apart.asConstant();
  Exprs starts(first.getStarts().exprs());
  for (Value operand : op.getInputs()) {
    if (ArrayRef(starts) != ArrayRef(sliceOf(operand).getStarts().exprs()))
      return "its slices are not equally far apart";
    starts[*axis] = starts[*axis] + windows.stride;
  }
  return std::nullopt;
}

std::optional<StringRef> matchConcat(graph::ConcatOp op, Windows &windows) {
  graph::SliceOp first = sliceOf(op.getInputs()[0]);
  for (Value operand : op.getInputs()) {
    graph::SliceOp slice = sliceOf(operand);
    if (slice.getInput() != first.getInput())
      return "its slices are of different tensors";
    if (operand.getType() != op.getInputs()[0].getType() ||
        slice.getType() != first.getType() ||
        slice.getSteps() != first.getSteps())
      return "its slices differ in size or step";
  }
  windows.input = first.getInput();
  windows.count = op.getInputs().size();
  windows.starts = Exprs(first.getStarts().exprs());
  windows.steps = Exprs(first.getSteps().exprs());
  windows.sizes = graph::getDims(first.getResult());
  if (std::optional<StringRef> why = matchStarts(op, windows))
    return why;
  std::optional<int64_t> step = windows.steps[windows.axis].asConstant();
  if (!step || *step < 1)
    return "its slices do not step forward by a number";
  if (!windows.sizes[windows.axis].isPositive())
    return "its slices may be empty";
  return std::nullopt;
}

/// Which axis of a slice the windows come before, where the concat sets its
/// operands end to end: as many elements lie outside of it.
std::optional<int64_t> placeOfWindows(graph::ConcatOp op,
                                      const Windows &windows) {
  MLIRContext *context = op.getContext();
  Exprs operand = graph::getDims(op.getInputs()[0]);
  Expr outside =
      graph::product(context, ArrayRef(operand).take_front(op.getAxis()));
  auto fits = [&](int64_t place) {
    return outside ==
           graph::product(context, ArrayRef(windows.sizes).take_front(place));
  };
  if (fits(windows.axis))
    return windows.axis;
  for (size_t place = 0; place <= windows.sizes.size(); ++place)
    if (fits(place))
      return place;
  return std::nullopt;
}

/// Why the concat stays; nullopt when it has been replaced.
std::optional<StringRef> rewriteConcat(graph::ConcatOp op) {
  Windows windows;
  if (std::optional<StringRef> why = matchConcat(op, windows))
    return why;
  std::optional<int64_t> place = placeOfWindows(op, windows);
  if (!place)
    return "it cuts the reshaped slices elsewhere";
  OpBuilder builder(op);
  Value value = emitWindows(builder, op.getLoc(), windows);
  if (!value)
    return "a number overflows";
  value = moveAxis(builder, op.getLoc(), value, windows.axis, *place);
  if (value.getType() != op.getType())
    value = graph::ReshapeOp::create(builder, op.getLoc(), op.getType(), value);
  SmallVector<Value> operands(op.getInputs());
  op.getResult().replaceAllUsesWith(value);
  op.erase();
  for (Value operand : operands)
    while (Operation *producer = operand.getDefiningOp()) {
      if (!producer->use_empty() ||
          !isa<graph::ReshapeOp, graph::SliceOp>(producer))
        break;
      operand = producer->getOperand(0);
      producer->erase();
    }
  return std::nullopt;
}

//===--- A gather by a table ---===//

/// The elements of an integer tensor that is known now.
std::optional<SmallVector<int64_t>> elementsOf(Value table,
                                               const WeightStore *weights) {
  SmallVector<int64_t> elements;
  if (auto constant = table.getDefiningOp<graph::ConstantOp>()) {
    auto dense = dyn_cast<DenseIntElementsAttr>(constant.getValue());
    if (!dense)
      return std::nullopt;
    for (const APInt &each : dense)
      elements.push_back(each.getSExtValue());
    return elements;
  }
  auto op = table.getDefiningOp<graph::WeightOp>();
  const Weight *weight =
      op && weights ? weights->lookup(op.getName()) : nullptr;
  if (!weight || !(weight->elementType.isSignlessInteger(32) ||
                   weight->elementType.isSignlessInteger(64)))
    return std::nullopt;
  size_t width = weight->elementType.getIntOrFloatBitWidth() / 8;
  for (size_t at = 0; at + width <= weight->bytes().size(); at += width) {
    int64_t wide = 0;
    int32_t narrow = 0;
    if (width == 8)
      std::memcpy(&wide, weight->bytes().data() + at, width);
    else
      std::memcpy(&narrow, weight->bytes().data() + at, width);
    elements.push_back(width == 8 ? wide : narrow);
  }
  return elements;
}

/// Start, distances of rows and of columns of a table [rows, columns].
struct Arithmetic {
  int64_t start, stride, step;
};

/// nullopt unless all rows, and all columns, are equally far apart and no
/// element is negative.
std::optional<Arithmetic> arithmeticOf(ArrayRef<int64_t> table, size_t rows,
                                       size_t columns) {
  if (llvm::any_of(table, [](int64_t each) { return each < 0; }))
    return std::nullopt;
  Arithmetic found = {table[0], rows > 1 ? table[columns] - table[0] : 1,
                      columns > 1 ? table[1] - table[0] : 1};
  for (size_t i = 0; i < table.size(); ++i) {
    if (i >= columns && table[i] - table[i - columns] != found.stride)
      return std::nullopt;
    if (i % columns != 0 && table[i] - table[i - 1] != found.step)
      return std::nullopt;
  }
  return found;
}

/// Why the gather stays; nullopt when it has been replaced.
std::optional<StringRef> rewriteGather(graph::GatherOp op,
                                       ArrayRef<int64_t> table) {
  auto shape = cast<RankedTensorType>(op.getIndices().getType()).getShape();
  size_t columns = shape.back(), rows = shape.size() == 2 ? shape[0] : 1;
  std::optional<Arithmetic> found = arithmeticOf(table, rows, columns);
  if (!found || found->stride < 1 || found->step < 1)
    return "its table does not go forward by equal distances";
  Windows windows;
  windows.input = op.getInput();
  windows.axis = op.getAxis();
  windows.count = rows;
  windows.stride = found->stride;
  windows.sizes = graph::getDims(op.getInput());
  windows.starts.assign(windows.sizes.size(), number(op.getInput(), 0));
  windows.steps.assign(windows.sizes.size(), number(op.getInput(), 1));
  Expr left = windows.sizes[windows.axis] - 1 - table.back();
  if (!left || !left.isNonNegative())
    return "its table may lead outside of its input";
  windows.starts[windows.axis] = number(op.getInput(), found->start);
  windows.steps[windows.axis] = number(op.getInput(), found->step);
  windows.sizes[windows.axis] = number(op.getInput(), columns);
  OpBuilder builder(op);
  Value value = emitWindows(builder, op.getLoc(), windows);
  if (!value)
    return "a number overflows";
  if (value.getType() != op.getType())
    value = graph::ReshapeOp::create(builder, op.getLoc(), op.getType(), value);
  op.getResult().replaceAllUsesWith(value);
  op.erase();
  return std::nullopt;
}

class Recogniser {
public:
  Recogniser(const WeightStore *weights, bool explain)
      : weights(weights), explain(explain) {}

  void run(graph::ConcatOp op) {
    if (isOfSlices(op))
      report(op, rewriteConcat(op));
  }
  void run(graph::GatherOp op) {
    auto type = cast<RankedTensorType>(op.getIndices().getType());
    if (type.getRank() < 1 || type.getRank() > 2 || !type.hasStaticShape() ||
        type.getNumElements() < 2)
      return;
    // A weight is data already, whatever picks from it.
    if (op.getInput().getDefiningOp<graph::WeightOp>())
      return;
    if (auto table = elementsOf(op.getIndices(), weights))
      report(op, rewriteGather(op, *table));
  }

private:
  /// `op` is looked at only where there is a reason: else it is gone.
  void report(Operation *op, std::optional<StringRef> why) {
    if (why && explain)
      op->emitRemark("is no view of windows: ") << *why;
  }

  const WeightStore *weights;
  bool explain;
};

struct RecogniseWindows : impl::RecogniseWindowsPassBase<RecogniseWindows> {
  using Base = impl::RecogniseWindowsPassBase<RecogniseWindows>;
  using Base::Base;
  RecogniseWindows(const WeightStore &weights,
                   RecogniseWindowsPassOptions options)
      : Base(options), weights(&weights) {}

  void runOnOperation() override {
    Recogniser recogniser(weights, explain);
    SmallVector<graph::ConcatOp> concats;
    SmallVector<graph::GatherOp> gathers;
    getOperation().walk([&](Operation *op) {
      if (auto concat = dyn_cast<graph::ConcatOp>(op))
        concats.push_back(concat);
      else if (auto gather = dyn_cast<graph::GatherOp>(op))
        gathers.push_back(gather);
    });
    for (graph::ConcatOp op : concats)
      recogniser.run(op);
    for (graph::GatherOp op : gathers)
      recogniser.run(op);
  }

  const WeightStore *weights = nullptr;
};

} // namespace

std::unique_ptr<Pass>
createRecogniseWindowsPass(const WeightStore &weights,
                           RecogniseWindowsPassOptions options) {
  return std::make_unique<RecogniseWindows>(weights, options);
}
} // namespace tenon
