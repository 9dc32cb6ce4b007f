//===- RecurrentTiles.cpp - RNN, GRU and LSTM by vectors of units ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread has some sequences of one direction, or takes part in them, and
// computes with vectors of hidden units. The sums of all gates of such a vector
// are one loop over the states, an element of which multiplies what lies
// together in the recurrence's layout.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/RecurrentTiles.h"
#include "compiler/Targets/Cpu/Recurrence.h"
#include "compiler/Targets/Cpu/RecurrentPairs.h"
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
                   VectorType::get({cellUnits}, e.b.getF32Type()),
                   view.entries),
        view(view), team(team), states(state),
        sums(makeRecurrentSums(e, op, view)) {}

protected:
  void overUnits(Value count, Body body) override {
    auto each = [&](Value unit) { overEntries([&] { body(unit); }); };
    if (team)
      return team->round({}, [] {}, each);
    e.loop(e.number(0), count, each, cellUnits);
  }

  Value longest() override {
    if (entries == 1)
      return Recurrence::longest();
    return longestOf(e.number(0), count(), /*areNew=*/true);
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

  void step() override {
    // There and back again: what one step read last the next one finds in the
    // cache, which has not room for all of the recurrence.
    Value isBack = isOdd(turn);
    bool isTwice = isGru() && !op.getLinearBeforeReset();
    auto all = llvm::to_vector(llvm::seq<int64_t>(0, isTwice ? 2 : gates));
    overSumsOf(&State::h, isBack, all, [&](Value i, ArrayRef<Value> past) {
      auto sumOf = [&](int64_t gate) {
        return plus(project(unit(gate, i)), past[gate]);
      };
      if (gates == 4)
        return finishLstm(i, sumOf);
      if (gates == 1)
        return finishRnn(i, sumOf(0));
      Value update = activate(0, sumOf(0)), reset = activate(0, sumOf(1));
      if (!isTwice)
        return finishGru(i, update, project(unit(2, i)), times(reset, past[2]));
      put(update, state.sums, i);
      put(times(reset, load(state.h, i)), state.gated, i);
    });
    if (isTwice)
      overSumsOf(&State::gated, {}, {2}, [&](Value i, ArrayRef<Value> past) {
        finishGru(i, load(state.sums, i), project(unit(2, i)), past[0]);
      });
  }

private:
  /// Entries of the current group.
  Value count() { return e.min(e.number(entries), e.sub(batch, first)); }

  /// Of some entries' sequences.
  Value longestOf(Value from, Value to, bool areNew) {
    return e.loop(from, to, {e.number(0)},
                  [&](Value number, ValueRange carried) {
                    Value own = lengthOf(e.add(first, number), areNew);
                    return SmallVector<Value>{e.max(carried[0], own)};
                  })[0];
  }

  /// Runs `body` with an entry of the group as the current one, unless its
  /// sequence is over.
  void within(Value number, function_ref<void()> body) {
    State own = state;
    if (entries > 1) {
      length = lengthOf(e.add(first, number), /*isNew=*/false);
      enter(e.add(first, number));
    }
    state = stateOf(number);
    if (entries > 1 && turn && op.getLengths())
      e.ifThen(e.less(turn, length), body);
    else
      body();
    state = own;
  }
  void overSome(Value from, Value to, Body body) {
    auto one = [&](Value number) { within(number, [&] { body(number); }); };
    if (entries == 1)
      return one(e.number(0));
    e.loop(from, to, one);
  }
  void overEntries(function_ref<void()> body) {
    overSome(e.number(0), count(), [&](Value) { body(); });
  }
  /// Those abreast from one on end there.
  Value endOf(Value from) {
    return e.min(e.add(from, e.number(view.abreast)), count());
  }
  /// Runs `body` for each of those, with the sums of so many gates.
  void overAbreast(Value from, CellSums sums, int64_t each,
                   function_ref<void(ArrayRef<Value> own)> body) {
    if (entries == 1 && !sums.base)
      return within(e.number(0), [&] { body(sums.values); });
    if (!sums.base) {
      sums.base = e.atEntry([&] {
        return e.address(e.scratch(0), e.b.getI8Type(),
                         e.number(view.sumsAt()));
      });
      for (auto [i, sum] : llvm::enumerate(sums.values))
        put(sum, sums.base, e.number(int64_t(i) * cellUnits));
    }
    overSome(from, endOf(from), [&](Value number) {
      body(loadSums(sums, e.sub(number, from), each));
    });
  }
  SmallVector<Value> loadSums(const CellSums &sums, Value before,
                              int64_t each) {
    SmallVector<Value> own;
    Value first = e.mul(before, e.number(sums.chains * each * cellUnits));
    for (int64_t i = 0; i < sums.chains * each; ++i) {
      Value sum = load(sums.base, e.add(first, e.number(i * cellUnits)));
      if (i < each)
        own.push_back(sum);
      else
        own[i % each] = plus(own[i % each], sum);
    }
    return own;
  }

  Value isOdd(Value steps) {
    return e.equal(e.rem(steps, e.number(2)), e.number(1));
  }
  /// h is where the last step left it, which is for some the one before.
  State stateOf(Value number) {
    auto at = [&](Value base) {
      return GroupStates{base, view.stateBytes(), {}}.at(e, number);
    };
    Value h = at(states.h), next = at(states.next);
    if (!turn && !isOver)
      return {at(states.sums), h, at(states.c), at(states.gated), h};
    Value isSecond = isOdd(turn ? turn : length);
    return {at(states.sums), e.select(isSecond, next, h), at(states.c),
            at(states.gated), e.select(isSecond, h, next)};
  }

  /// Whether a sequence of those from one on goes on.
  Value areOpen(Value from) {
    return e.less(turn, longestOf(from, endOf(from), /*areNew=*/false));
  }

  /// Runs `body` for all units of each sequence, with sums of some gates for a
  /// part of its state, and biases. Where `isBack` is true, from the last units
  /// to the first.
  void overSumsOf(Value State::*part, Value isBack, ArrayRef<int64_t> which,
                  function_ref<void(Value unit, ArrayRef<Value> past)> body) {
    auto prepare = [&] {
      sums->read({stateOf(e.number(0)).*part, view.stateBytes(), count()});
    };
    auto abreast = [&](Value i, Value from) {
      // Behind the sums it would be waited for.
      overSome(from, endOf(from), [&](Value) {
        for (int64_t gate : which)
          fetchProjected(unit(gate, i));
      });
      CellSums found = sums->of(direction, i, from, which);
      overAbreast(from, found, which.size(), [&](ArrayRef<Value> own) {
        SmallVector<Value> past;
        for (auto [gate, sum] : llvm::zip(which, own))
          past.push_back(withBias(sum, unit(gate, i)));
        body(i, past);
      });
    };
    auto each = [&](Value i) {
      if (view.abreast == entries)
        return abreast(i, e.number(0));
      e.loop(
          e.number(0), count(),
          [&](Value from) {
            if (!op.getLengths())
              return abreast(i, from);
            e.ifThen(areOpen(from), [&] { abreast(i, from); });
          },
          view.abreast);
    };
    if (team)
      return team->round(isBack, prepare, each);
    prepare();
    Value last = e.number(view.hidden - cellUnits);
    e.loop(
        e.number(0), hidden,
        [&](Value number) {
          each(isBack ? e.select(isBack, e.sub(last, number), number) : number);
        },
        cellUnits);
  }

  void fetchProjected(Value u) {
    Value place = e.linearise(projected(u), e.dimsOf(op.getInput()));
    fetchUnits(e, bufferOf(op.getInput()), place);
  }

  Value bufferOf(Value tensor) {
    return e.argumentBuffer(cast<BlockArgument>(tensor).getArgNumber());
  }

  Value vectorAt(Value base, Value i) {
    return loadUnits(e, cast<VectorType>(type), base, i);
  }

  kernel::RecurrentView view;
  RecurrentTeam *team; // Null: a thread has all of a group.
  const State states;  // Of the first entry; others follow.
  std::unique_ptr<RecurrentSums> sums;
};

/// A thread's own states.
Value ownStates(Emitter &e, const kernel::RecurrentView &view) {
  return e.address(e.scratch(0), e.b.getI8Type(), e.number(view.statesAt()));
}

/// The areas of a sequence's state, `base` is a function for the entry.
Recurrence::State stateAt(Emitter &e, const kernel::RecurrentView &view,
                          function_ref<Value()> base) {
  auto area = [&](int64_t floats) {
    return e.atEntry(
        [&] { return e.address(base(), e.b.getF32Type(), e.number(floats)); });
  };
  int64_t hidden = view.hidden;
  bool isGru = view.gates == 3; // Others have no more areas.
  return {area(isGru ? 4 * hidden : 0), area(0), area(2 * hidden),
          area(isGru ? 3 * hidden : 0), area(hidden)};
}

Value groupsOf(Emitter &e, graph::RecurrentOp op,
               const kernel::RecurrentView &view) {
  return e.atEntry([&] {
    Value each = e.ceilDiv(e.dimsOf(op.getInput())[1], e.number(view.entries));
    return e.mul(each, e.number(view.directions));
  });
}

void computeAlone(Emitter &e, graph::RecurrentOp op,
                  const kernel::RecurrentView &view) {
  auto state = stateAt(e, view, [&] { return ownStates(e, view); });
  TiledRecurrence cells(e, op, yieldedBuffers(e, op), state, view, nullptr);
  withCellMatrices(e, view, [&] {
    e.loop(e.begin, e.min(e.end, groupsOf(e, op, view)),
           [&](Value row) { cells.group(row); });
  });
}

/// Few groups one after another, all by all threads; of many, each by one.
void computeTogether(Emitter &e, graph::RecurrentOp op,
                     const kernel::RecurrentView &view) {
  Value zero = e.number(0), one = e.number(1);
  Value groups = groupsOf(e, op, view);
  Value isShared = e.atEntry(
      [&] { return e.less(groups, e.number(view.mostTogether() + 1)); });
  auto state = stateAt(e, view, [&] {
    Value shared = e.address(e.shared(), e.b.getI8Type(),
                             e.number(kernel::RecurrentView::stateAt));
    return e.select(isShared, shared, ownStates(e, view));
  });
  RecurrentTeam team(e, view, isShared);
  TiledRecurrence cells(e, op, yieldedBuffers(e, op), state, view, &team);
  // Some rows have work, at equal distances, so that all threads find some.
  Value distance = e.select(isShared, groups, e.number(view.parts()));
  withCellMatrices(e, view, [&] {
    e.loop(e.begin, e.end, [&](Value row) {
      e.ifThen(e.equal(e.rem(row, distance), zero), [&] {
        Value number = e.div(row, distance);
        team.join(e.select(isShared, number, zero));
        Value from = e.select(isShared, zero, number);
        Value to = e.add(from, e.select(isShared, groups, one));
        e.loop(from, to, [&](Value each) { cells.group(each); });
      });
    });
  });
}

void compute(Emitter &e, graph::RecurrentOp op, kernel::RecurrentView view) {
  // Matrices multiply all states of a group at once.
  if (sumsByMatrices(e.level, view))
    view.abreast = view.entries;
  if (view.parts() == 1)
    computeAlone(e, op, view);
  else
    computeTogether(e, op, view);
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
  Value batch = e.dimsOf(op.getInput())[1];
  if (view->entries == 1 || graph::getDim(op.getInput(), 1).asConstant()) {
    compute(e, op, *view);
    return success();
  }
  // As there is no telling, both.
  kernel::RecurrentView single = *view;
  single.entries = single.abreast = 1;
  Value few = e.number(view->mostApart());
  Value isFew = e.less(batch, e.add(few, e.number(1)));
  e.ifThen(isFew, [&] { compute(e, op, single); });
  e.ifThen(e.less(few, batch), [&] { compute(e, op, *view); });
  return success();
}

} // namespace tenon::cpu
