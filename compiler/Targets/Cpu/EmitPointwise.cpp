//===- EmitPointwise.cpp - Kernels without root ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the innermost loop would read along a column, tiles
// are read along the rows of the operand, turned in registers and go on from
// there.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/PointwiseTiles.h"
#include "compiler/Targets/Cpu/RowVectors.h"
#include "compiler/Targets/Cpu/TurnedChannels.h"
#include "dialects/Kernel/PointwiseView.h"
#include "dialects/Kernel/ResultPlaces.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

/// Axes of the iteration in groups that are counted as one.
SmallVector<AxisRun> axisRuns(Emitter &e, const kernel::PointwiseView &view) {
  SmallVector<AxisRun> runs;
  for (const kernel::PointwiseView::Run &run : view.runs)
    runs.push_back({run.axis, e.valueOf(run.size)});
  if (runs.empty())
    runs.push_back({static_cast<int64_t>(view.dims.size()) - 1, e.number(1)});
  return runs;
}

/// More loops than this would be much code for few elements each.
constexpr size_t maxJoined = 16;

/// Where a rotation goes on in another way: behind its first elements, its
/// second ones, and what it leaves.
SmallVector<Value> rotationCuts(Emitter &e, graph::RotaryOp op) {
  if (op.getInterleaved())
    return {};
  Value half = e.valueOf(graph::getDim(op.getCos(), 2));
  return {half, e.mul(half, e.number(2))};
}

/// Where a row's elements come from another operand than before.
SmallVector<Value> joints(Emitter &e, graph::ConcatOp op, Value length) {
  SmallVector<Value> ends;
  int64_t last = graph::getRank(op.getResult()) - 1;
  if (int64_t(op.getAxis()) != last || op.getInputs().size() > maxJoined ||
      e.valueOf(graph::getDim(op.getResult(), last)) != length)
    return {};
  Value end = e.number(0);
  for (Value input : op.getInputs().drop_back()) {
    end = e.add(end, e.valueOf(graph::getDim(input, last)));
    ends.push_back(end);
  }
  return ends;
}

/// Where what is padded begins and ends in a row of the result.
SmallVector<Value> borders(Emitter &e, graph::PadOp op, Value length) {
  int64_t last = graph::getRank(op.getResult()) - 1;
  Value low = e.valueOf(op.getLow()[last]);
  Value end = e.add(low, e.valueOf(graph::getDim(op.getInput(), last)));
  Value first = e.min(e.max(low, e.number(0)), length);
  return {first, e.max(first, e.min(end, length))};
}

/// Where along the last axis, of so many elements, loops begin anew; and the op
/// that pads it, whose own elements are between the two.
struct Cuts {
  SmallVector<Value> ends;
  graph::PadOp pad;
};

Cuts cutsOf(Emitter &e, ArrayRef<Expr> dims) {
  Value length = e.valueOf(dims.back());
  Cuts cuts;
  for (Operation &op : e.kernel.getBlock()) {
    if (auto rotary = dyn_cast<graph::RotaryOp>(op))
      cuts.ends = rotationCuts(e, rotary);
    else if (auto concat = dyn_cast<graph::ConcatOp>(op))
      cuts.ends = joints(e, concat, length);
    else if (auto pad = dyn_cast<graph::PadOp>(op);
             pad && graph::getDims(pad.getResult()) == dims &&
             graph::getDims(pad.getInput()).back() != dims.back())
      cuts = {borders(e, pad, length), pad};
    if (!cuts.ends.empty())
      break;
  }
  return cuts;
}

/// Whether a kernel computes with rows that an index names, of tables that lie
/// row by row.
bool picksRows(Emitter &e) {
  bool isAny = false;
  for (auto gather : e.kernel.getBlock().getOps<graph::GatherOp>()) {
    auto table = dyn_cast<BlockArgument>(gather.getInput());
    Attribute layout =
        table ? e.kernel.getLayouts()[table.getArgNumber()] : Attribute();
    if (table && !cast<StringAttr>(layout).getValue().empty())
      return false;
    isAny |= llvm::any_of(gather->getUsers(), graph::isPointwise);
  }
  return isAny;
}

/// Whether what a kernel looks up can be stored by vectors. Rows of one element
/// that lie apart have no neighbours.
bool looksUpRows(Emitter &e, ArrayRef<Expr> dims) {
  bool isScattered =
      kernel::hasRowsApart(e.kernel) && dims.back().isConstant(1);
  return e.level.hasVectors() && !isScattered &&
         (e.looksUp() || picksRows(e)) &&
         llvm::all_of(e.kernel.getYielded(), [&](Value value) {
           return graph::getDims(value) == dims;
         });
}

/// Elements [from, to) of the inner run by vectors: of a loop over elements
/// LLVM would not make permutes of bytes.
void emitLookedUp(Emitter &e, const PointwiseSpace &space, Value base,
                  ArrayRef<Value> lead, Value from, Value to) {
  Value count = e.max(e.sub(to, from), e.number(0));
  RowVectors(e, count, /*mostResident=*/0)
      .forEach(1, [&](const RowVectors::Step &step) {
        Value i = e.add(from, step.lanes.first);
        Indices at(lead);
        at.push_back(i);
        e.storeYields(space.index(e, at), e.add(base, i));
      });
}

/// Rows [begin, end), element by element. A row is the last axis.
void emitElements(Emitter &e, const PointwiseSpace &space, Value begin,
                  Value end) {
  Value length = e.valueOf(space.dims.back());
  ArrayRef<AxisRun> outer = ArrayRef(space.runs).drop_back();
  const AxisRun &inner = space.runs.back();
  Cuts cuts;
  auto span = [&](Value base, ArrayRef<Value> lead, Value from, Value to,
                  PadPart part = PadPart::Outside) {
    if (getConstantIntValue(from) && from == to)
      return;
    if (looksUpRows(e, space.dims) && !cuts.pad)
      return emitLookedUp(e, space, base, lead, from, to);
    e.loop(from, to, [&](Value i) {
      Indices at(lead);
      at.push_back(i);
      Indices index = space.index(e, at);
      if (cuts.pad)
        e.bind(cuts.pad.getResult(), index, emitPad(e, cuts.pad, index, part));
      e.storeYields(index, e.add(base, i));
    });
  };
  Value rows = space.rowsOfInner(e);
  bool isRow = getConstantIntValue(rows) == 1;
  if (outer.empty() && !isRow)
    return span(e.number(0), {}, e.mul(begin, length), e.mul(end, length));
  Value stop = e.ceilDiv(end, rows);
  if (isRow)
    cuts = cutsOf(e, space.dims);
  e.loop(e.div(begin, rows), stop, [&](Value run) {
    Value base = e.mul(run, inner.size);
    Indices lead = e.delinearise(run, sizesOf(outer));
    Value first = e.mul(run, rows);
    Value from = isRow ? e.number(0) : e.sub(e.max(begin, first), first);
    Value to = isRow ? rows : e.min(e.sub(end, first), rows);
    from = e.mul(from, length);
    to = e.mul(to, length);
    // Loops of their own, in which the vectoriser sees neighbours.
    for (auto [i, cut] : llvm::enumerate(cuts.ends)) {
      span(base, lead, from, e.min(cut, to),
           i == 0 ? PadPart::Outside : PadPart::Inside);
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
  if (runs.back().size == length)
    return e.number(1); // Known to be, where the size is not.
  return e.atEntry([&] {
    // At least one, also where there are no elements.
    return e.max(e.div(runs.back().size, e.max(length, e.number(1))),
                 e.number(1));
  });
}

PointwiseSpace pointwiseSpace(Emitter &e) {
  kernel::PointwiseView view = kernel::pointwiseViewOf(e.kernel.getBlock());
  PointwiseSpace space;
  space.dims = view.dims;
  if (!space.dims.empty())
    space.runs = axisRuns(e, view);
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
  if (!emitTransposedTiles(e, space, elements) && !emitTurnedChannels(e, space))
    elements(e.begin, e.end);
}

} // namespace tenon::cpu
