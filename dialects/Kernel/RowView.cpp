//===- RowView.cpp - Kernels that work along rows -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/RowView.h"
#include "llvm/ADT/TypeSwitch.h"
#include <set>

using namespace mlir;

namespace tenon::kernel {
namespace {

using graph::getDim;
using graph::getDims;
using graph::getElementType;
using Axes = SmallVector<int64_t>;

/// Simple element operations that make a piece worth handing to a thread.
constexpr int64_t pieceCost = 60000;

/// Below this, one element after the other is faster.
constexpr int64_t shortestRow = 8;

/// Answers whether elements along a run of axes of a value lie one behind the
/// other in memory, or are one element, all the way to the operands.
class Neighbours {
public:
  explicit Neighbours(Operation *root) : root(root) {}

  bool hold(Value value, ArrayRef<int64_t> run) {
    Operation *op = value.getDefiningOp();
    if (run.empty() || (op && op == root))
      return true;
    if (!seen.insert({value.getAsOpaquePointer(), Axes(run)}).second)
      return true;
    if (!op || isa<graph::ConstantOp>(op))
      return isSplat(op) || isRowMajor(value, run);
    if (roleOf(op) == Role::Pointwise || isa<graph::BroadcastOp>(op))
      return !graph::dividesIntegers(op) &&
             llvm::all_of(op->getOperands(), [&](Value x) {
               std::optional<Axes> own = axesOf(x, value, run);
               return own && hold(x, *own);
             });
    return llvm::TypeSwitch<Operation *, bool>(op)
        .Case<graph::TransposeOp, graph::ReshapeOp, graph::SliceOp,
              graph::GatherOp, graph::ConcatOp, graph::PadOp, graph::WindowsOp>(
            [&](auto moved) { return holdsBehind(moved, run); })
        .Default([](Operation *) { return false; });
  }

private:
  bool holdsBehind(graph::TransposeOp op, ArrayRef<int64_t> run) {
    Axes before;
    for (int64_t axis : run)
      before.push_back(op.getPermutation()[axis]);
    return hold(op.getInput(), before);
  }
  bool holdsBehind(graph::ReshapeOp op, ArrayRef<int64_t> run) {
    // The same innermost axis on both sides.
    SmallVector<Expr> dims = getDims(op.getInput());
    int64_t last = dims.size() - 1;
    while (last >= 0 && dims[last].isConstant(1))
      --last;
    return run.size() == 1 && last >= 0 && isRowMajor(op.getResult(), run) &&
           dims[last] == getDim(op.getResult(), run[0]) &&
           hold(op.getInput(), {last});
  }
  bool holdsBehind(graph::SliceOp op, ArrayRef<int64_t> run) {
    return llvm::all_of(run,
                        [&](int64_t axis) {
                          return op.getSteps()[axis].isConstant(1) &&
                                 (axis == run[0] ||
                                  getDim(op.getInput(), axis) ==
                                      getDim(op.getResult(), axis));
                        }) &&
           hold(op.getInput(), run);
  }
  bool holdsBehind(graph::GatherOp op, ArrayRef<int64_t> run) {
    // Of an axis that may be empty, elements are asked for one by one.
    if (!getDim(op.getInput(), op.getAxis()).isPositive())
      return false;
    int64_t count = graph::getRank(op.getIndices());
    Axes before;
    for (int64_t axis : run) {
      bool isBehind = axis >= int64_t(op.getAxis()) + count;
      if (!isBehind && axis >= int64_t(op.getAxis()))
        return false;
      before.push_back(isBehind ? axis - count + 1 : axis);
    }
    return hold(op.getInput(), before);
  }
  bool holdsBehind(graph::ConcatOp op, ArrayRef<int64_t> run) {
    return !llvm::is_contained(run, int64_t(op.getAxis())) &&
           llvm::all_of(op.getInputs(),
                        [&](Value input) { return hold(input, run); });
  }

  bool holdsBehind(graph::PadOp op, ArrayRef<int64_t> run) {
    // Rolls and the like: an element of the input wherever the result has one.
    SmallVector<Expr> dims = getDims(op.getInput());
    auto isWhole = [&](int64_t axis) {
      return op.getLow()[axis].isConstant(0) &&
             dims[axis] == getDim(op.getResult(), axis);
    };
    for (size_t axis = 0; axis < dims.size(); ++axis)
      if (!isWhole(axis) && !dims[axis].isPositive())
        return false;
    return op.getMode() != graph::PadMode::Constant &&
           llvm::all_of(run, isWhole) && hold(op.getInput(), run);
  }
  bool holdsBehind(graph::WindowsOp op, ArrayRef<int64_t> run) {
    Axes before;
    for (int64_t axis : run) {
      if (axis == int64_t(op.getAxis()) ||
          (axis == int64_t(op.getAxis()) + 1 && op.getStep() != 1))
        return false;
      before.push_back(axis > int64_t(op.getAxis()) ? axis - 1 : axis);
    }
    // A run that goes on past a window's end does not in the input.
    bool isInside = run.size() == 1 ||
                    !llvm::is_contained(run, int64_t(op.getAxis()) + 1) ||
                    run[0] == int64_t(op.getAxis()) + 1;
    return isInside && hold(op.getInput(), before);
  }

  static bool isSplat(Operation *op) {
    auto constant = dyn_cast_if_present<graph::ConstantOp>(op);
    auto elements =
        constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
    return elements && elements.isSplat();
  }
  static bool isRowMajor(Value value, ArrayRef<int64_t> run) {
    SmallVector<Expr> dims = getDims(value);
    for (size_t i = 0; i < run.size(); ++i) {
      int64_t next = i + 1 < run.size() ? run[i + 1] : int64_t(dims.size());
      if (next <= run[i])
        return false;
      for (Expr dim : ArrayRef(dims).slice(run[i] + 1, next - run[i] - 1))
        if (!dim.isConstant(1))
          return false;
    }
    return true;
  }

  /// The operand's axes that a run of the result lies along: all, or none.
  static std::optional<Axes> axesOf(Value operand, Value result,
                                    ArrayRef<int64_t> run) {
    Axes own;
    int64_t skip = graph::getRank(result) - graph::getRank(operand);
    for (int64_t axis : run) {
      if (axis < skip || getDim(operand, axis - skip).isConstant(1))
        continue;
      if (getDim(operand, axis - skip) != getDim(result, axis))
        return std::nullopt; // Known only at run time.
      own.push_back(axis - skip);
    }
    if (!own.empty() && own.size() != run.size())
      return std::nullopt;
    return own;
  }

  Operation *root;
  std::set<std::pair<const void *, Axes>> seen;
};

/// The axes that a root works along; empty for one that is no row program.
Axes workedAxes(Operation *root) {
  return llvm::TypeSwitch<Operation *, Axes>(root)
      .Case<graph::SoftmaxOp, graph::LogSoftmaxOp>(
          [](auto op) { return Axes{int64_t(op.getAxis())}; })
      .Case<graph::LayerNormOp, graph::RmsNormOp>([](auto op) {
        return llvm::to_vector(
            llvm::seq<int64_t>(op.getAxis(), graph::getRank(op.getResult())));
      })
      .Case([](graph::QuantizeRowsOp op) {
        return Axes{graph::getRank(op.getInput()) - 1};
      })
      .Case([](graph::ReduceOp op) { return Axes(op.getAxes()); })
      .Case<graph::ArgReduceOp, graph::CumulativeOp>(
          [](auto op) { return Axes{int64_t(op.getAxis())}; })
      .Default([](Operation *) { return Axes(); });
}

/// Lists the axes of more than one element; the run is the innermost of those
/// that are worked along, or of those that are not.
RowView splitAxes(Operation *root, bool mergesRun) {
  RowView view;
  view.root = root;
  SmallVector<Expr> dims = getDims(root->getOperand(0));
  Axes worked = workedAxes(root);
  view.length = Expr::constant(root->getContext(), 1);
  bool isRun = true;
  for (int64_t axis = dims.size(); axis-- > 0;) {
    if (dims[axis].isConstant(1))
      continue;
    bool isWorked = llvm::is_contained(worked, axis);
    if (view.run.empty())
      view.combinesRun = isWorked;
    isRun = isRun && isWorked == view.combinesRun &&
            (view.run.empty() || mergesRun);
    if (isRun) {
      view.run.insert(view.run.begin(), axis);
      view.length = view.length ? view.length * dims[axis] : Expr();
    } else {
      Axes &into = isWorked ? view.steps : view.lead;
      into.insert(into.begin(), axis);
    }
  }
  for (int64_t axis : view.lead)
    view.leadDims.push_back(dims[axis]);
  for (int64_t axis : view.steps)
    view.stepDims.push_back(dims[axis]);
  return view;
}

/// Whether an axis that is worked along leaves one element.
bool isReduction(Operation *root) {
  return isa<graph::ArgReduceOp, graph::ReduceOp>(root);
}

/// Whether everything that is computed lies along the run.
bool isAligned(Block &body, const RowView &view) {
  Neighbours neighbours(view.root);
  if (!neighbours.hold(view.root->getOperand(0), view.run))
    return false;
  if (isReduction(view.root) && view.combinesRun)
    return true; // What is yielded is one element for the run.
  Value result = view.root->getResult(0);
  graph::QuantizeRowsOp bytes = view.quantize;
  return llvm::all_of(body.getTerminator()->getOperands(), [&](Value yielded) {
    if (bytes && yielded.getDefiningOp() == bytes)
      return neighbours.hold(bytes.getInput(), view.run);
    // The one of its names that is stored by the root's index.
    Value named = behindReshapes(yielded);
    if (getDims(named) != getDims(result))
      named = yielded;
    return getDims(named) == getDims(result) &&
           neighbours.hold(named, view.run);
  });
}

} // namespace

bool liesAlong(Value value, ArrayRef<int64_t> axes, Operation *root) {
  return Neighbours(root).hold(value, axes);
}

Expr RowView::heldColumns() const {
  auto number = [&](int64_t value) {
    return Expr::constant(root->getContext(), value);
  };
  Expr vectors = length.min(number(rowColumns)).ceilDiv(number(16));
  return vectors * 16;
}

Geometry RowView::geometry(Block &body) const {
  MLIRContext *context = root->getContext();
  auto number = [&](int64_t value) { return Expr::constant(context, value); };
  Expr units = graph::product(context, leadDims);
  Expr walked = graph::product(context, stepDims);
  if (!units || !walked || !length)
    return {};
  bool isReduce = isReduction(root) || isa<graph::CumulativeOp>(root);
  Expr elements, scratch = number(0);
  if (combinesRun) {
    elements = walked * length;
    if (!isReduce)
      scratch = (length * 4).ceilDiv(number(64)) * (64 * rowsTogether);
  } else {
    units = units * length.ceilDiv(number(rowColumns));
    elements = walked * rowColumns;
    if (!isReduce)
      scratch = walked * heldColumns() * 4;
  }
  int64_t ops = std::distance(body.begin(), body.end());
  Expr cost = elements ? elements * ((isReduce ? 1 : 8) + ops) : elements;
  // A cost beyond all numbers: one row is a piece.
  Expr grain = cost ? number(pieceCost).ceilDiv(cost.max(number(1))) : cost;
  return {units, grain ? grain : number(1), scratch};
}

std::optional<RowView> rowViewOf(Block &body, std::string &why) {
  Operation *root = findRoot(body);
  auto refuse = [&](const char *reason) {
    why = reason;
    return std::nullopt;
  };
  if (!root || !isa<graph::ArgReduceOp, graph::CumulativeOp, graph::LayerNormOp,
                    graph::LogSoftmaxOp, graph::QuantizeRowsOp, graph::ReduceOp,
                    graph::RmsNormOp, graph::SoftmaxOp>(root))
    return refuse("its root is no norm, softmax, reduction or running sum");
  Type element = getElementType(root->getOperand(0));
  if (!element.isF32() && !element.isF16() && !element.isBF16())
    return refuse("its elements are not f32, f16 or bf16");
  auto sums = dyn_cast<graph::CumulativeOp>(root);
  if (sums && (sums.getKind() == graph::ReduceKind::Max ||
               sums.getKind() == graph::ReduceKind::Min))
    return refuse("it carries extremes");
  for (bool mergesRun : {true, false}) {
    RowView view = splitAxes(root, mergesRun);
    if (view.run.empty())
      return refuse("its rows are single elements");
    view.quantize = quantizedRowsOf(body);
    if (view.quantize && !view.combinesRun)
      return refuse("its bytes are rows of single elements");
    if (!view.length)
      return refuse("the sizes of its rows overflow");
    if (isa<graph::LayerNormOp, graph::RmsNormOp>(root) &&
        (!view.combinesRun || !view.steps.empty()))
      continue; // Over axes that do not make one run.
    std::optional<int64_t> known = view.length.asConstant();
    if (view.combinesRun && known && *known < shortestRow)
      return refuse("its rows are too short for vectors");
    if (sums && view.combinesRun && sums.getReverse())
      return refuse("its sums run down along the innermost axis");
    if (isAligned(body, view))
      return view;
  }
  return refuse("what it reads or writes does not lie along its rows");
}

} // namespace tenon::kernel
