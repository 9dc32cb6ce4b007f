//===- RecurrentTiles.cpp - RNN, GRU and LSTM by vectors of units ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread has a sequence of one direction, or takes part in it, and computes
// with vectors of hidden units. The sums of all gates of such a vector
// are one loop over the state, an element of which multiplies what lies
// together in the recurrence's layout.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/RecurrentTiles.h"
#include "compiler/Targets/Cpu/Recurrence.h"
#include "compiler/Targets/Cpu/RecurrentSums.h"
#include "compiler/Targets/Cpu/RecurrentTeam.h"
#include "compiler/Targets/Cpu/WholeRoots.h"
#include "dialects/Kernel/RecurrentView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::cellUnits;
constexpr int64_t floatBytes = 4;

class TiledRecurrence : public Recurrence {
public:
  TiledRecurrence(Emitter &e, graph::RecurrentOp op, ArrayRef<Value> bases,
                  State state, const kernel::RecurrentView &view,
                  RecurrentTeam *team)
      : Recurrence(e, op, bases, state,
                   VectorType::get({cellUnits}, e.b.getF32Type())),
        view(view), team(team), sums(makeRecurrentSums(e, op, view)) {}

protected:
  void overUnits(Value count, Body body) override {
    if (team)
      return team->round({}, [] {}, body);
    e.loop(e.number(0), count, body, cellUnits);
  }

  Value at(Value tensor, ArrayRef<Value> index) override {
    return vectorAt(bufferOf(tensor), e.linearise(index, e.dimsOf(tensor)));
  }
  Value load(Value base, Value i) override { return vectorAt(base, i); }
  void put(Value value, Value base, Value i) override {
    LLVM::StoreOp::create(e.b, value, e.address(base, e.b.getF32Type(), i),
                          floatBytes);
  }

  void putResult(Value value, Value base, Value i) override {
    put(value, base, i);
  }

  void sumGates(Value step, Value entry) override {
    // There and back again: what one step read last the next one finds in the
    // cache, which has not room for all of the recurrence.
    Value isOdd = e.equal(e.rem(step, e.number(2)), e.number(1));
    overSumsOf(state.h, isOdd, [&](Value i) {
      auto all = llvm::to_vector(llvm::seq<int64_t>(0, gates));
      // Behind the sums it would be waited for.
      for (int64_t gate : all)
        fetchProjected(unit(gate, i), step, entry);
      SmallVector<Value> sums = recurTile(i, all);
      for (int64_t gate : all) {
        Value u = unit(gate, i), input = project(u, step, entry);
        if (isGru())
          put(sums[gate], state.sums, e.add(units, u));
        else
          input = plus(input, sums[gate]);
        put(input, state.sums, u);
      }
    });
  }

  void sumGated() override {
    overSumsOf(state.gated, {}, [&](Value i) {
      put(recurTile(i, {2})[0], state.sums, e.add(units, unit(2, i)));
    });
  }

private:
  /// Runs `body` for all units, whose sums are of a state; where `isBack` is
  /// true, from the last ones to the first.
  void overSumsOf(Value from, Value isBack, Body body) {
    auto read = [&] { sums->read(from); };
    if (team)
      return team->round(isBack, read, body);
    read();
    Value last = e.number(view.hidden - cellUnits);
    overUnits(hidden, [&](Value number) {
      body(isBack ? e.select(isBack, e.sub(last, number), number) : number);
    });
  }

  void fetchProjected(Value u, Value step, Value entry) {
    Value place = e.linearise({step, entry, e.add(e.mul(direction, units), u)},
                              e.dimsOf(op.getInput()));
    LLVM::Prefetch::create(
        e.b, e.address(bufferOf(op.getInput()), e.b.getF32Type(), place),
        /*rw=*/0, /*hint=*/3, /*cache=*/1);
  }

  Value bufferOf(Value tensor) {
    return e.argumentBuffer(cast<BlockArgument>(tensor).getArgNumber());
  }

  Value vectorAt(Value base, Value i) {
    return LLVM::LoadOp::create(e.b, type, e.address(base, e.b.getF32Type(), i),
                                floatBytes);
  }

  /// s R^T + Rb of some gates of the units from i on, for the state s.
  SmallVector<Value> recurTile(Value i, ArrayRef<int64_t> which) {
    SmallVector<Value> result = sums->of(direction, i, which);
    for (auto [gate, sum] : llvm::zip(which, result))
      sum = withBias(sum, unit(gate, i));
    return result;
  }

  kernel::RecurrentView view;
  RecurrentTeam *team; // Null: a thread has all of a sequence.
  std::unique_ptr<RecurrentSums> sums;
};

/// The areas of a sequence's state, `base` is a function for the entry.
Recurrence::State stateAt(Emitter &e, const kernel::RecurrentView &view,
                          function_ref<Value()> base) {
  auto area = [&](int64_t floats) {
    return e.atEntry(
        [&] { return e.address(base(), e.b.getF32Type(), e.number(floats)); });
  };
  int64_t sums = view.sumsCount(), hidden = view.hidden;
  return {area(0), area(sums), area(sums + hidden), area(sums + 2 * hidden)};
}

void computeAlone(Emitter &e, graph::RecurrentOp op,
                  const kernel::RecurrentView &view) {
  auto state = stateAt(e, view, [&] { return e.scratch(0); });
  TiledRecurrence cells(e, op, yieldedBuffers(e, op), state, view, nullptr);
  e.loop(e.begin, e.end, [&](Value row) { cells.sequence(row); });
}

/// Few sequences one after another, all by all threads; of many, each by one.
void computeTogether(Emitter &e, graph::RecurrentOp op,
                     const kernel::RecurrentView &view) {
  Value zero = e.number(0), one = e.number(1);
  Value sequences = e.atEntry([&] {
    return e.mul(e.dimsOf(op.getInput())[1], e.number(view.directions));
  });
  Value isShared = e.atEntry(
      [&] { return e.less(sequences, e.number(view.mostTogether() + 1)); });
  auto state = stateAt(e, view, [&] {
    Value shared = e.address(e.shared(), e.b.getI8Type(),
                             e.number(kernel::RecurrentView::stateAt));
    return e.select(isShared, shared, e.scratch(0));
  });
  RecurrentTeam team(e, view, isShared);
  TiledRecurrence cells(e, op, yieldedBuffers(e, op), state, view, &team);
  // Some rows have work, at equal distances, so that all threads find some.
  Value distance = e.select(isShared, sequences, e.number(view.parts()));
  e.loop(e.begin, e.end, [&](Value row) {
    e.ifThen(e.equal(e.rem(row, distance), zero), [&] {
      Value number = e.div(row, distance);
      team.join(e.select(isShared, number, zero));
      Value from = e.select(isShared, zero, number);
      Value to = e.add(from, e.select(isShared, sequences, one));
      e.loop(from, to, [&](Value each) { cells.sequence(each); });
    });
  });
}

} // namespace

LogicalResult emitRecurrentTiles(Emitter &e) {
  auto op = dyn_cast_if_present<graph::RecurrentOp>(
      kernel::findRoot(e.kernel.getBlock()));
  std::string why = "its root is no recurrent cell";
  std::optional<kernel::RecurrentView> view;
  if (op)
    view = kernel::recurrentViewOf(op, why);
  if (!view)
    return e.kernel.emitOpError("cannot run by tiles of units: ") << why;
  if (view->parts() > 1)
    computeTogether(e, op, *view);
  else
    computeAlone(e, op, *view);
  return success();
}

} // namespace tenon::cpu
