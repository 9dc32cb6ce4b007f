//===- RecurrentPairs.cpp - A cell's recurrence of bf16 -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/RecurrentPairs.h"
#include "compiler/Targets/Cpu/MatmulOperands.h"
#include "compiler/Targets/Cpu/RecurrentMatrices.h"
#include "compiler/Targets/Cpu/StripProducts.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::cellUnits;
using kernel::RecurrentView;

/// Rounds the states of a group to bf16, in a thread's scratch memory.
GroupStates rounded(Emitter &e, const RecurrentView &view,
                    const GroupStates &states) {
  auto type = VectorType::get({cellUnits}, e.b.getF32Type());
  Value base = e.atEntry([&] {
    return e.address(e.scratch(0), e.b.getI8Type(), e.number(view.factorsAt()));
  });
  GroupStates result = {base, view.factorStride(), states.count};
  auto put = [&](Value value, Value row, Value i) {
    LLVM::StoreOp::create(e.b, e.flushedBits(value),
                          e.address(row, e.b.getI16Type(), i), 2);
  };
  e.loop(e.number(0), states.count, [&](Value number) {
    Value from = states.at(e, number), to = result.at(e, number);
    e.loop(
        e.number(0), e.number(view.hidden),
        [&](Value i) { put(loadUnits(e, type, from, i), to, i); }, cellUnits);
    // What lies in memory by chance may be NaN, which 0 times is not 0.
    if (2 * view.pairLines() > view.hidden)
      put(constantLike(e.b, type, 0), to, e.number(view.hidden));
  });
  return result;
}

/// R is widened where it is multiplied.
class WidenedSums : public VectorSums {
public:
  WidenedSums(Emitter &e, graph::RecurrentOp op, const RecurrentView &view)
      : VectorSums(e, op, view, view.pairLines(), view.hidden / 2) {}

protected:
  void multiply(Value line, ArrayRef<Value> numbers, ArrayRef<Value> states,
                MutableArrayRef<Value> sums) override {
    auto words = VectorType::get({cellUnits}, e.b.getI32Type());
    Value step = e.mul(line, e.number(2));
    for (bool odd : {false, true}) {
      SmallVector<Value> halves;
      for (Value pairs : numbers)
        halves.push_back(LLVM::BitcastOp::create(
            e.b, type,
            halfOfPairs(e.b, LLVM::BitcastOp::create(e.b, words, pairs), odd)));
      addProducts(e, type, states, e.add(step, e.number(odd)), halves, sums);
    }
  }
};

class DotSums : public VectorSums {
public:
  DotSums(Emitter &e, graph::RecurrentOp op, const RecurrentView &view)
      : VectorSums(e, op, view, view.pairLines(), view.hidden / 2),
        products(e.b, e.level, StripKind::Pairs, type) {}

  void read(const GroupStates &states) override {
    VectorSums::read(rounded(e, view, states));
  }

protected:
  void multiply(Value line, ArrayRef<Value> numbers, ArrayRef<Value> states,
                MutableArrayRef<Value> sums) override {
    auto words = VectorType::get({cellUnits}, e.b.getI32Type());
    for (auto [i, state] : llvm::enumerate(states)) {
      Value factor = vector::BroadcastOp::create(
          e.b, words, e.loadRaw(state, e.b.getI32Type(), line));
      for (auto [j, pairs] : llvm::enumerate(numbers)) {
        Value &sum = sums[i * numbers.size() + j];
        sum = products.add(factor, pairs, sum);
      }
    }
  }

private:
  StripProducts products;
};

class MatrixSums : public RecurrentSums {
public:
  MatrixSums(Emitter &e, graph::RecurrentOp op, const RecurrentView &view)
      : e(e), view(view),
        recurrence(
            e.argumentBuffer(cast<BlockArgument>(kernel::storedRecurrenceOf(op))
                                 .getArgNumber())),
        base(e.atEntry([&] {
          return e.address(e.scratch(0), e.b.getI8Type(),
                           e.number(view.sumsAt()));
        })) {}

  void read(const GroupStates &states) override {
    group = rounded(e, view, states);
  }

  CellSums of(Value direction, Value unit, Value,
              ArrayRef<int64_t> gates) override {
    Value vector = e.add(e.mul(direction, e.number(view.vectors())),
                         e.div(unit, e.number(cellUnits)));
    int64_t lines = view.pairLines() * view.gates;
    Value place = e.add(e.mul(vector, e.number(lines)), e.number(gates[0]));
    Value first = e.address(recurrence, e.b.getI32Type(),
                            e.mul(place, e.number(cellUnits)));
    CellTile tile{view.gates, int64_t(gates.size()), view.matrixRows(),
                  view.pairLines()};
    callCellTile(e, tile, group.first, group.stride, first, base, group.count);
    return {{}, base, tile.chains()};
  }

private:
  Emitter &e;
  const RecurrentView view;
  const Value recurrence, base;
  GroupStates group;
};

} // namespace

bool sumsByMatrices(const CpuLevel &level, const RecurrentView &view) {
  return view.hasPairs && level.amx != Amx::None;
}

void withCellMatrices(Emitter &e, const RecurrentView &view,
                      function_ref<void()> body) {
  bool used = sumsByMatrices(e.level, view);
  if (used)
    AmxUnit::shape(
        e.b, e.level,
        e.number(std::min(view.matrixRows(), RecurrentView::matrixSide)),
        e.number(AmxUnit::rowBytes), /*below=*/true);
  body();
  if (used)
    AmxUnit::release(e.b, e.level);
}

std::unique_ptr<RecurrentSums> makePairSums(Emitter &e, graph::RecurrentOp op,
                                            const RecurrentView &view) {
  if (sumsByMatrices(e.level, view))
    return std::make_unique<MatrixSums>(e, op, view);
  if (e.level.pairDots != PairDots::None)
    return std::make_unique<DotSums>(e, op, view);
  return std::make_unique<WidenedSums>(e, op, view);
}

} // namespace tenon::cpu
