//===- EmitPointwise.cpp - Kernels without root ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Neighbouring axes along which every operand is contiguous, or repeats, run
// as one: a merged axis is counted by the index of its last one, which passes
// that axis's size. Where the innermost loop would read along a column, tiles
// are read along the rows of the operand, turned in registers and go on from
// there.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/PointwiseTiles.h"
#include "dialects/Kernel/Geometry.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

/// Answers whether two axes of a tensor can be counted as one.
class Contiguity {
public:
  /// Axes `first` and `second` of `tensor`; -1 for one along which it repeats.
  bool holds(Value tensor, int64_t first, int64_t second) {
    if (first < 0 && second < 0)
      return true;
    if (!seen.insert({tensor.getAsOpaquePointer(), first, second}).second)
      return true;
    Operation *op = tensor.getDefiningOp();
    if (!op || kernel::roleOf(op) == kernel::Role::Constant)
      return isRowMajor(tensor, first, second);
    if (auto transpose = dyn_cast<graph::TransposeOp>(op)) {
      auto axis = [&](int64_t i) {
        return i < 0 ? -1 : transpose.getPermutation()[i];
      };
      return holds(transpose.getInput(), axis(first), axis(second));
    }
    if (kernel::roleOf(op) != kernel::Role::Pointwise &&
        !isa<graph::BroadcastOp>(op))
      return false;
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      std::optional<int64_t> x = axisOf(operand, tensor, first),
                             y = axisOf(operand, tensor, second);
      return x && y && holds(operand, *x, *y);
    });
  }

private:
  static bool isRowMajor(Value tensor, int64_t first, int64_t second) {
    if (first < 0 || second <= first)
      return false;
    SmallVector<Expr> dims = graph::getDims(tensor);
    return llvm::all_of(ArrayRef(dims).slice(first + 1, second - first - 1),
                        [](Expr dim) { return dim.isConstant(1); });
  }

  /// The operand's axis that an axis of the result runs along; none where that
  /// is known only at run time.
  static std::optional<int64_t> axisOf(Value operand, Value result,
                                       int64_t axis) {
    if (axis < 0)
      return -1;
    int64_t own = axis - (graph::getRank(result) - graph::getRank(operand));
    if (own < 0)
      return -1;
    Expr dim = graph::getDim(operand, own);
    if (dim.isConstant(1))
      return -1;
    if (dim == graph::getDim(result, axis))
      return own;
    return std::nullopt;
  }

  std::set<std::tuple<const void *, int64_t, int64_t>> seen;
};

/// The values whose elements are asked for at the index of the iteration;
/// empty when some yield is asked for in another way.
SmallVector<Value> yieldsAtIndex(kernel::FuncOp kernel, ArrayRef<Expr> dims) {
  SmallVector<Value> values;
  for (Value yielded : kernel.getYielded()) {
    Value inner = kernel::behindReshapes(yielded);
    if (graph::getDims(inner) == dims)
      values.push_back(inner);
    else if (graph::getDims(yielded) == dims)
      values.push_back(yielded);
    else
      return {};
  }
  return values;
}

/// Axes of the iteration in groups that are counted as one.
SmallVector<AxisRun> axisRuns(Emitter &e, ArrayRef<Expr> dims) {
  SmallVector<Value> values = yieldsAtIndex(e.kernel, dims);
  SmallVector<AxisRun> runs;
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (dim.isConstant(1))
      continue;
    int64_t axis = i;
    Value size = e.valueOf(dim);
    Contiguity contiguity;
    bool joins = !runs.empty() && !values.empty() &&
                 llvm::all_of(values, [&](Value value) {
                   return contiguity.holds(value, runs.back().axis, axis);
                 });
    if (joins)
      runs.back() = {axis,
                     e.atEntry([&] { return e.mul(runs.back().size, size); })};
    else
      runs.push_back({axis, size});
  }
  if (runs.empty())
    runs.push_back({static_cast<int64_t>(dims.size()) - 1, e.number(1)});
  return runs;
}

/// Where along the last axis a rotation goes on in another way: its first
/// elements, its second ones, and what it leaves.
SmallVector<Value> rotationCuts(Emitter &e) {
  SmallVector<Value> cuts;
  for (auto op : e.kernel.getBlock().getOps<graph::RotaryOp>()) {
    if (op.getInterleaved() || !cuts.empty())
      continue;
    Value half = e.valueOf(graph::getDim(op.getCos(), 2));
    cuts = {half, e.mul(half, e.number(2))};
  }
  return cuts;
}

/// Rows [begin, end), element by element. A row is the last axis.
void emitElements(Emitter &e, const PointwiseSpace &space, Value begin,
                  Value end) {
  Value length = e.valueOf(space.dims.back());
  ArrayRef<AxisRun> outer = ArrayRef(space.runs).drop_back();
  const AxisRun &inner = space.runs.back();
  auto span = [&](Value base, ArrayRef<Value> lead, Value from, Value to) {
    if (getConstantIntValue(from) && from == to)
      return;
    e.loop(from, to, [&](Value i) {
      Indices at(lead);
      at.push_back(i);
      e.storeYields(space.index(e, at), e.add(base, i));
    });
  };
  if (outer.empty())
    return span(e.number(0), {}, e.mul(begin, length), e.mul(end, length));
  Value rows = space.rowsOfInner(e);
  Value stop = e.div(e.add(end, e.sub(rows, e.number(1))), rows);
  bool isRow = getConstantIntValue(rows) == 1;
  SmallVector<Value> cuts;
  if (isRow)
    cuts = rotationCuts(e);
  e.loop(e.div(begin, rows), stop, [&](Value run) {
    Value base = e.mul(run, inner.size);
    Indices lead = e.delinearise(run, sizesOf(outer));
    Value first = e.mul(run, rows);
    Value from = isRow ? e.number(0) : e.sub(e.max(begin, first), first);
    Value to = isRow ? rows : e.min(e.sub(end, first), rows);
    from = e.mul(from, length);
    to = e.mul(to, length);
    // Loops of their own, in which the vectoriser sees neighbours.
    for (Value cut : cuts) {
      span(base, lead, from, e.min(cut, to));
      from = e.min(cut, to);
    }
    span(base, lead, from, to);
  });
}

void emitFlat(Emitter &e, Value size) {
  Value block = e.number(kernel::flatBlock);
  e.loop(e.mul(e.begin, block), e.min(e.mul(e.end, block), size),
         [&](Value i) { e.storeYields(i, i); });
}

} // namespace

SmallVector<Value> sizesOf(ArrayRef<AxisRun> runs) {
  return llvm::map_to_vector(runs, [](const AxisRun &run) { return run.size; });
}

Indices PointwiseSpace::index(Emitter &e, ArrayRef<Value> counts) const {
  Indices whole(dims.size(), e.number(0));
  for (auto [run, count] : llvm::zip_equal(runs, counts))
    whole[run.axis] = count;
  return whole;
}

Value PointwiseSpace::rowsOfInner(Emitter &e) const {
  Value length = e.valueOf(dims.back());
  return e.atEntry([&] {
    // At least one, also where there are no elements.
    return e.max(e.div(runs.back().size, e.max(length, e.number(1))),
                 e.number(1));
  });
}

PointwiseSpace pointwiseSpace(Emitter &e) {
  PointwiseSpace space;
  space.dims = kernel::iterationDims(e.kernel.getBlock());
  if (!space.dims.empty())
    space.runs = axisRuns(e, space.dims);
  return space;
}

void emitPointwiseRows(Emitter &e) {
  PointwiseSpace space = pointwiseSpace(e);
  if (space.dims.empty())
    return e.loop(e.begin, e.end,
                  [&](Value) { e.storeYields({}, e.number(0)); });
  if (space.dims.size() == 1)
    return emitFlat(e, e.valueOf(space.dims[0]));
  auto elements = [&](Value begin, Value end) {
    emitElements(e, space, begin, end);
  };
  if (!emitTransposedTiles(e, space, elements))
    elements(e.begin, e.end);
}

} // namespace tenon::cpu
