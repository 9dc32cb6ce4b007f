//===- RecurrentBytes.cpp - A cell's recurrence of bytes ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/RecurrentBytes.h"
#include "compiler/Targets/Cpu/QuadPanel.h"
#include "compiler/Targets/Cpu/StripProducts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <tuple>

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::cellUnits;
using kernel::RecurrentView;

class ByteSums : public RecurrentSums {
public:
  ByteSums(Emitter &e, graph::RecurrentOp op, const RecurrentView &view)
      : e(e), b(e.b), view(view), bytes(kernel::cellBytesOf(op)),
        floats(VectorType::get({cellUnits}, b.getF32Type())),
        words(VectorType::get({cellUnits}, b.getI32Type())),
        part(VectorType::get({e.level.lanes(4)}, b.getI32Type())),
        products(b, e.level,
                 e.level.quadDots ? StripKind::Quads : StripKind::Words, part),
        numbers(e.argumentBuffer(
            cast<BlockArgument>(bytes.getInput()).getArgNumber())) {
    for (int64_t number = 0; number < 2 * view.abreast; ++number)
      planes.push_back(e.atEntry([&] {
        return e.address(e.scratch(0), b.getI8Type(),
                         e.number(view.factorsAt() + number * view.hidden));
      }));
  }

  /// All of them are abreast.
  void read(const GroupStates &group) override {
    states.clear();
    Value first = e.number(0);
    for (int64_t number = 0; number < view.abreast; ++number)
      states.push_back(
          integersOf(group.at(e, e.number(number), number ? first : Value()),
                     ArrayRef(planes).slice(2 * number, 2)));
  }

  CellSums of(Value direction, Value unit, Value,
              ArrayRef<int64_t> gates) override {
    Value tile = e.div(unit, e.number(cellUnits));
    Value base = e.address(numbers, b.getI8Type(),
                           e.mul(direction, e.number(view.quadsBytes())));
    Value lines = e.mul(tile, e.number(quads() * view.gates));
    int64_t most = e.level.vectorBits < 512 ? 8 : 16; // Sums in registers.
    int64_t entries = std::min<int64_t>(view.abreast, most / 4);
    return {inPieces(gates, view.abreast,
                     std::max<int64_t>(most / (entries * sumsEach()), 1),
                     entries, [&](const SumPiece &piece) {
                       auto sums = sumsOf(base, lines, piece, most);
                       SmallVector<Value> result;
                       for (auto [i, sum] : llvm::enumerate(sums))
                         result.push_back(finish(
                             states[piece.entry + i / piece.gates.size()], base,
                             tile, direction, unit,
                             piece.gates[i % piece.gates.size()], sum));
                       return result;
                     })};
  }

private:
  /// A state in integers: what one is, and all together.
  struct Integers {
    ArrayRef<Value> planes;
    Value factor, sum;
  };

  int64_t quads() const { return view.hidden / kernel::cellQuad; }
  int64_t parts() const { return cellUnits / part.getNumElements(); }
  /// Planes that have sums of their own, and registers of a gate's sums.
  int64_t planesOfSums() const { return e.level.quadDots ? 2 : 1; }
  int64_t sumsEach() const { return planesOfSums() * parts(); }
  /// Of words, all products have one sum.
  double mostOfState() const {
    int64_t room = std::numeric_limits<int32_t>::max() / (128 * view.hidden);
    return double(e.level.quadDots ? 32767 : std::min<int64_t>(room, 32767));
  }

  Integers integersOf(Value state, ArrayRef<Value> own) {
    Value most = largestOf(state);
    Value all = vector::BroadcastOp::create(
        b, floats, quotient(real(mostOfState()), most));
    // The bits of a float in this range count integers.
    constexpr double middle = 12582912; // 1.5 * 2^23
    Value sums = e.loop(
        e.number(0), e.number(view.hidden), {constantLike(b, words, 0)},
        [&](Value i, ValueRange carried) {
          Value sum = LLVM::FMAOp::create(b, loadUnits(e, floats, state, i),
                                          all, constantLike(b, floats, middle));
          Value count =
              arith::SubIOp::create(b, LLVM::BitcastOp::create(b, words, sum),
                                    constantLike(b, words, 0x4b400000));
          if (e.level.quadDots)
            putBytes(count, own, i);
          else
            putWords(count, own, i);
          return SmallVector<Value>{
              arith::AddIOp::create(b, carried[0], count)};
        },
        cellUnits)[0];
    return {own, quotient(most, real(mostOfState())),
            vector::ReductionOp::create(b, vector::CombiningKind::ADD, sums)};
  }

  Value real(double value) { return constantLike(b, b.getF32Type(), value); }
  Value quotient(Value x, Value y) { return arith::DivFOp::create(b, x, y); }

  /// The largest magnitude of a state, or NaN; not 0.
  Value largestOf(Value state) {
    Value all = e.loop(
        e.number(0), e.number(view.hidden), {constantLike(b, floats, 1e-30)},
        [&](Value i, ValueRange carried) {
          Value size = math::AbsFOp::create(b, loadUnits(e, floats, state, i));
          return SmallVector<Value>{
              arith::MaximumFOp::create(b, carried[0], size)};
        },
        cellUnits)[0];
    return vector::ReductionOp::create(b, vector::CombiningKind::MAXIMUMF, all);
  }

  /// Integers of the steps from i on as two planes of bytes, from 32768 below.
  void putBytes(Value count, ArrayRef<Value> own, Value i) {
    auto narrow = VectorType::get({cellUnits}, b.getI8Type());
    Value from = arith::AddIOp::create(b, count, constantLike(b, words, 32768));
    Value bytesOf[] = {
        arith::ShRUIOp::create(b, from, constantLike(b, words, 8)), from};
    for (auto [plane, value] : llvm::zip(own, bytesOf))
      LLVM::StoreOp::create(b, arith::TruncIOp::create(b, narrow, value),
                            e.address(plane, b.getI8Type(), i), 1);
  }

  /// Those of the even steps as one plane of words, and of the odd ones.
  void putWords(Value count, ArrayRef<Value> own, Value i) {
    auto narrow = VectorType::get({cellUnits}, b.getI16Type());
    Value all = arith::TruncIOp::create(b, narrow, count);
    Value half = e.div(i, e.number(2));
    for (int64_t odd = 0; odd < 2; ++odd) {
      SmallVector<int64_t> mask;
      for (int64_t step = odd; step < cellUnits; step += 2)
        mask.push_back(step);
      LLVM::StoreOp::create(b, vector::ShuffleOp::create(b, all, all, mask),
                            e.address(own[odd], b.getI16Type(), half), 2);
    }
  }

  /// Of each entry and gate, the sums of each plane by parts of its units.
  SmallVector<SmallVector<Value>> sumsOf(Value base, Value lines,
                                         const SumPiece &piece, int64_t most) {
    int64_t count = piece.count() * sumsEach();
    // Those of steps that do not wait for each other.
    int64_t chains = e.level.vectorBits < 512 ? 1
                     : 4 * count <= most      ? 4
                     : 2 * count <= most      ? 2
                                              : 1;
    SmallVector<Value> all =
        sumSteps(e, e.number(quads()), count, chains, constantLike(b, part, 0),
                 [&](Value quad, MutableArrayRef<Value> sums) {
                   multiply(base, lines, quad, piece, sums);
                 });
    SmallVector<SmallVector<Value>> result(piece.count());
    for (int64_t i = 0; i < count; ++i)
      result[i / sumsEach()].push_back(all[i]);
    return result;
  }

  /// Adds what four steps make of each gate.
  void multiply(Value base, Value lines, Value quad, const SumPiece &piece,
                MutableArrayRef<Value> sums) {
    SmallVector<Value> factors;
    for (const Integers &state :
         ArrayRef(states).slice(piece.entry, piece.entries))
      for (Value plane : state.planes)
        factors.push_back(vector::BroadcastOp::create(
            b, part, e.loadRaw(plane, b.getI32Type(), quad)));
    Value line = e.add(lines, e.mul(quad, e.number(view.gates)));
    int64_t gates = piece.gates.size();
    for (int64_t gate = 0; gate < gates; ++gate)
      for (int64_t i = 0; i < parts(); ++i) {
        Value place = e.mul(e.add(line, e.number(piece.gates[gate])),
                            e.number(cellUnits));
        Value numbers = loadUnits(
            e, part, base, e.add(place, e.number(i * part.getNumElements())));
        Value even = numbers, odd = numbers;
        if (!e.level.quadDots)
          std::tie(even, odd) = wordsOfQuads(b, numbers, /*areSigned=*/true);
        for (int64_t entry = 0; entry < piece.entries; ++entry) {
          // Where both planes have one sum, it is that.
          Value *sum =
              &sums[(entry * gates + gate) * sumsEach() + i * planesOfSums()];
          Value *other = sum + planesOfSums() - 1;
          *sum = products.add(factors[2 * entry], even, *sum);
          *other = products.add(factors[2 * entry + 1], odd, *other);
        }
      }
  }

  /// What sums of integers stand for.
  Value finish(const Integers &state, Value base, Value tile, Value direction,
               Value unit, int64_t gate, ArrayRef<Value> sums) {
    SmallVector<Value, 2> planesSums;
    for (int64_t plane = 0; plane < planesOfSums(); ++plane) {
      SmallVector<Value> own;
      for (int64_t i = 0; i < parts(); ++i)
        own.push_back(sums[i * planesOfSums() + plane]);
      planesSums.push_back(joined(own));
    }
    Value all = toFloat(planesSums.back());
    if (e.level.quadDots) {
      // High bytes count from 128 below.
      Value line = e.add(e.mul(tile, e.number(view.gates)), e.number(gate));
      Value own = loadUnits(
          e, words,
          e.address(base, b.getI8Type(), e.number(view.units() * view.hidden)),
          e.mul(line, e.number(cellUnits)));
      Value high = arith::SubIOp::create(
          b, planesSums[0],
          arith::MulIOp::create(b, own, constantLike(b, words, 128)));
      all = LLVM::FMAOp::create(b, toFloat(high), constantLike(b, floats, 256),
                                all);
    }
    Value place = e.add(e.number(gate * view.hidden), unit);
    if (Value zero = zeroOf(direction, place))
      all = arith::SubFOp::create(
          b, all,
          emitMul(b, zero,
                  vector::BroadcastOp::create(
                      b, floats,
                      arith::SIToFPOp::create(b, b.getF32Type(), state.sum))));
    Value scale = perUnit(bytes.getScale(), direction, place);
    Value both =
        emitMul(b, scale, vector::BroadcastOp::create(b, floats, state.factor));
    return emitMul(b, all, both);
  }

  Value toFloat(Value integers) {
    return arith::SIToFPOp::create(b, floats, integers);
  }

  /// Parts of a vector of units, one behind the other.
  Value joined(ArrayRef<Value> values) {
    if (values.size() == 1)
      return values[0];
    auto all = llvm::to_vector(llvm::seq<int64_t>(0, cellUnits));
    return vector::ShuffleOp::create(b, values[0], values[1], all);
  }

  /// The zero point of units, of numbers as the layout has them; null for 0.
  Value zeroOf(Value direction, Value place) {
    Value zero = bytes.getZeroPoint();
    Type element = graph::getElementType(zero);
    bool isUnsigned = element.isUnsignedInteger();
    DenseElementsAttr known;
    if (auto constant = zero.getDefiningOp<graph::ConstantOp>())
      known = cast<DenseElementsAttr>(constant.getValue());
    if (!isUnsigned && known && known.isSplat() &&
        known.getSplatValue<APInt>().isZero())
      return {};
    Value result =
        emitCast(b, perUnit(zero, direction, place), element, b.getF32Type());
    return isUnsigned
               ? arith::SubFOp::create(b, result, constantLike(b, floats, 128))
               : result;
  }

  /// The numbers of a scale or zero point that belong to the units of a vector,
  /// `place` among those of all gates.
  Value perUnit(Value tensor, Value direction, Value place) {
    auto type = cast<RankedTensorType>(tensor.getType());
    Indices index = e.broadcastIndex({direction, place, e.number(0)},
                                     graph::getDims(bytes.getResult()), tensor);
    Type compute = computeType(type.getElementType());
    auto vector = VectorType::get({cellUnits}, compute);
    if (type.getRank() < 2 || type.getDimSize(type.getRank() - 2) == 1)
      return vector::BroadcastOp::create(b, vector, e.element(tensor, index));
    Value base = e.argumentBuffer(cast<BlockArgument>(tensor).getArgNumber());
    return loadUnits(e, vector, base, e.linearise(index, e.dimsOf(tensor)));
  }

  Emitter &e;
  ImplicitLocOpBuilder &b;
  const RecurrentView view;
  graph::DequantizeOp bytes;
  VectorType floats, words, part; // part: what a register has of words.
  StripProducts products;
  Value numbers;
  SmallVector<Value> planes; // Two of each state.
  SmallVector<Integers> states;
};

} // namespace

std::unique_ptr<RecurrentSums> makeByteSums(Emitter &e, graph::RecurrentOp op,
                                            const RecurrentView &view) {
  return std::make_unique<ByteSums>(e, op, view);
}

} // namespace tenon::cpu
