//===- RecurrentSums.cpp - What a cell's state is multiplied by -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/RecurrentSums.h"
#include "compiler/Targets/Cpu/RecurrentBytes.h"
#include "compiler/Targets/Cpu/RecurrentPairs.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::cellUnits;
using kernel::RecurrentView;
/// Of R, how far ahead of its use it is fetched for states of many sequences.
constexpr int64_t fetchLines = 32;

class FloatSums : public VectorSums {
public:
  FloatSums(Emitter &e, graph::RecurrentOp op, const RecurrentView &view)
      : VectorSums(e, op, view, view.hidden, view.hidden) {}

protected:
  void multiply(Value step, ArrayRef<Value> numbers, ArrayRef<Value> states,
                MutableArrayRef<Value> sums) override {
    addProducts(e, type, states, step, numbers, sums);
  }
};

} // namespace

Value GroupStates::at(Emitter &e, Value number, Value otherwise) const {
  if (otherwise)
    number = e.select(e.less(number, count), number, otherwise);
  return e.address(first, e.b.getI8Type(), e.mul(number, e.number(stride)));
}

SmallVector<Value>
inPieces(ArrayRef<int64_t> gates, int64_t entries, int64_t gatesEach,
         int64_t entriesEach,
         function_ref<SmallVector<Value>(const SumPiece &piece)> sumsOf) {
  SmallVector<Value> all(entries * gates.size());
  for (int64_t entry = 0; entry < entries; entry += entriesEach)
    for (size_t gate = 0; gate < gates.size(); gate += gatesEach) {
      SumPiece piece{gates.slice(gate).take_front(gatesEach), entry,
                     std::min(entriesEach, entries - entry)};
      SmallVector<Value> found = sumsOf(piece);
      for (auto [i, sum] : llvm::enumerate(found)) {
        int64_t each = piece.gates.size();
        all[(entry + i / each) * gates.size() + gate + i % each] = sum;
      }
    }
  return all;
}

SmallVector<Value>
sumSteps(Emitter &e, Value steps, int64_t count, int64_t chains, Value zero,
         function_ref<void(Value step, MutableArrayRef<Value> sums)> add,
         int64_t together) {
  together = std::max(together, chains);
  SmallVector<Value> all = e.loop(
      e.number(0), steps, SmallVector<Value>(chains * count, zero),
      [&](Value step, ValueRange carried) {
        SmallVector<Value> next(carried);
        for (int64_t i = 0; i < together; ++i)
          add(e.add(step, e.number(i)),
              MutableArrayRef(next).slice(i % chains * count, count));
        return next;
      },
      together);
  for (int64_t chain = 1; chain < chains; ++chain)
    for (int64_t i = 0; i < count; ++i)
      all[i] = emitAdd(e.b, all[i], all[chain * count + i]);
  all.resize(count);
  return all;
}

void addProducts(Emitter &e, VectorType type, ArrayRef<Value> states,
                 Value step, ArrayRef<Value> numbers,
                 MutableArrayRef<Value> sums) {
  for (auto [i, state] : llvm::enumerate(states)) {
    Value factor = vector::BroadcastOp::create(
        e.b, type, e.loadRaw(state, e.b.getF32Type(), step));
    for (auto [j, each] : llvm::enumerate(numbers)) {
      Value &sum = sums[i * numbers.size() + j];
      sum = LLVM::FMAOp::create(e.b, factor, each, sum);
    }
  }
}

VectorSums::VectorSums(Emitter &e, graph::RecurrentOp op,
                       const RecurrentView &view, int64_t lines, int64_t count)
    : e(e), view(view), type(VectorType::get({cellUnits}, e.b.getF32Type())),
      lines(lines), count(count),
      recurrence(e.argumentBuffer(
          cast<BlockArgument>(kernel::storedRecurrenceOf(op)).getArgNumber())) {
}

CellSums VectorSums::of(Value direction, Value unit, Value from,
                        ArrayRef<int64_t> gates) {
  states.clear();
  for (int64_t before = 0; before < view.abreast; ++before)
    states.push_back(group.at(e, e.add(from, e.number(before)),
                              before > 0 ? from : Value()));
  Value place = e.add(e.mul(direction, e.number(view.hidden)), unit);
  Value first = e.mul(place, e.number(view.gates * lines));
  // As many as eight of AVX2's registers hold: of four states one gate, so
  // that each reads the recurrence once.
  int64_t gatesEach = gates.size(), entriesEach = view.abreast;
  if (e.level.vectorBits < 512 && view.abreast > 1) {
    entriesEach = std::min<int64_t>(view.abreast, 4);
    gatesEach = 4 / entriesEach;
  }
  return {
      inPieces(gates, view.abreast, gatesEach, entriesEach,
               [&](const SumPiece &piece) { return sumsOf(first, piece); })};
}

SmallVector<Value> VectorSums::sumsOf(Value first, const SumPiece &piece) {
  // Products that do not wait for each other hide how long one takes. Those of
  // one sequence wait for what they read. Registers of 256 bits hold half of a
  // sum.
  bool isHalf = e.level.vectorBits < 512;
  uint64_t most = isHalf ? 6 : piece.entries == 1 ? 8 : 16, own = piece.count();
  auto chains = int64_t(llvm::bit_floor(std::max<uint64_t>(most / own, 1)));
  return sumSteps(
      e, e.number(count), int64_t(own), chains, constantLike(e.b, type, 0),
      [&](Value line, MutableArrayRef<Value> sums) {
        addLine(line, first, piece, sums);
      },
      isHalf ? 2 : 1);
}

void VectorSums::addLine(Value line, Value first, const SumPiece &piece,
                         MutableArrayRef<Value> sums) {
  Value row = e.add(first, e.mul(line, e.number(view.gates * cellUnits)));
  SmallVector<Value> numbers;
  for (int64_t gate : piece.gates) {
    Value place = e.add(row, e.number(gate * cellUnits));
    numbers.push_back(loadUnits(e, type, recurrence, place));
    if (view.abreast < view.entries)
      fetchUnits(e, recurrence,
                 e.add(place, e.number(fetchLines * view.gates * cellUnits)));
  }
  multiply(line, numbers, ArrayRef(states).slice(piece.entry, piece.entries),
           sums);
}

std::unique_ptr<RecurrentSums> makeRecurrentSums(Emitter &e,
                                                 graph::RecurrentOp op,
                                                 const RecurrentView &view) {
  if (view.hasPairs)
    return makePairSums(e, op, view);
  if (view.hasBytes)
    return makeByteSums(e, op, view);
  return std::make_unique<FloatSums>(e, op, view);
}

} // namespace tenon::cpu
