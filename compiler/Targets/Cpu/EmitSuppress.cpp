//===- EmitSuppress.cpp - Boxes that overlap a better one -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/BoxMath.h"
#include "compiler/Targets/Cpu/Reduction.h"
#include "compiler/Targets/Cpu/RowVectors.h"
#include "dialects/Kernel/BoxCells.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>

using namespace mlir;

namespace tenon::cpu {
namespace {

/// The boxes of a row that are kept so far, one after the other: for code that
/// has no vectors.
class KeptList {
public:
  KeptList(Emitter &e, Value threshold) : e(e), math(e), threshold(threshold) {}

  void start() {}

  /// Whether a box overlaps one of the `count` that are kept.
  Value overlapsAny(const Box &box, Value count) {
    return e.loop(e.number(0), count, zeroBit(e),
                  [&](Value i, ValueRange carried) {
                    return SmallVector<Value>{e.branch(
                        carried[0], [&] { return carried[0]; },
                        [&] { return overlaps(i, box); })};
                  })[0];
  }

  void keep(const Box &box, Value count) {
    for (auto [i, number] : llvm::enumerate(box))
      e.storeRaw(number, e.scratch(i), count);
  }

private:
  Value overlaps(Value i, const Box &box) {
    Box kept;
    for (unsigned number = 0; number < 5; ++number)
      kept.push_back(e.loadRaw(e.scratch(number), e.b.getF32Type(), i));
    auto [height, breadth] = math.sharedSides(kept, box);
    return math.both(
        math.meets(height, breadth),
        math.overlaps(kept, box, math.mul(height, breadth), threshold));
  }

  Emitter &e;
  BoxMath math;
  Value threshold;
};

/// The same in blocks, as BoxCells has them: most of those whose bounds a box
/// does not meet are passed over, a vector of blocks by one comparison.
class KeptCells {
public:
  KeptCells(Emitter &e, Value threshold)
      : e(e), math(e), f32(e.b.getF32Type()), width(e.level.lanes(4)),
        threshold(threshold), places(e.scratch(Cells::Places)),
        grid(e.scratch(Cells::Grid)) {
    // A product by it is not above one by the threshold, however it is rounded.
    Value margin = math.mul(math::AbsFOp::create(e.b, threshold), real(1e-6));
    lessThanThreshold = math.sub(threshold, margin);
  }

  void start() {
    forgetPlaces(Cells::NumPlaces);
    setPlace(Cells::NextGrid, e.number(Cells::firstBlocks * width));
  }

  Value overlapsAny(const Box &box, Value) {
    Value blocks = place(Cells::NumBlocks);
    Box here = math.spread(box, width);
    return e.loop(
        e.number(0), blocks, zeroBit(e),
        [&](Value first, ValueRange carried) {
          return SmallVector<Value>{e.branch(
              carried[0], [&] { return carried[0]; },
              [&] { return overlapsBlocks(first, blocks, here); })};
        },
        width)[0];
  }

  void keep(const Box &box, Value count) {
    Value cell = e.branch(
        e.less(count, e.number(Cells::firstBlocks * width)),
        [&] { return e.number(Cells::First); }, [&] { return cellOf(box); });
    Value at = placeIn(cell);
    for (auto [i, number] : llvm::enumerate(box))
      e.storeRaw(number, e.scratch(Cells::Boxes + i), at);
    Value block = e.div(at, e.number(width));
    for (unsigned i = 0; i < 4; ++i) {
      Value bounds = e.scratch(Cells::Bounds + i);
      Value bound = e.loadRaw(bounds, f32, block);
      e.storeRaw(i < 2 ? math.lesser(box[i], bound)
                       : math.greater(box[i], bound),
                 bounds, block);
    }
    Value next = place(Cells::NextGrid);
    e.ifThen(e.equal(e.add(count, e.number(1)), next), [&] {
      makeGrid();
      forgetPlaces(Cells::cells);
      Value isLast = e.less(e.number(Cells::lastGrid), next);
      setPlace(Cells::NextGrid,
               e.select(isLast, e.number(INT64_MAX),
                        e.mul(next, e.number(Cells::gridGrowth))));
    });
  }

private:
  using Cells = kernel::BoxCells;

  Value placeAt(Value cell) {
    return e.loadRaw(places, e.b.getI64Type(), cell);
  }
  Value place(Cells::Place which) { return placeAt(e.number(which)); }
  void setPlace(Cells::Place which, Value value) {
    e.storeRaw(value, places, e.number(which));
  }
  void forgetPlaces(int64_t count) {
    e.loop(e.number(0), e.number(count),
           [&](Value i) { e.storeRaw(e.number(0), places, i); });
  }
  Value real(double value) { return constantLike(e.b, f32, value); }
  Value loadGrid(unsigned i) { return e.loadRaw(grid, f32, e.number(i)); }
  void storeGrid(Value value, unsigned i) {
    e.storeRaw(value, grid, e.number(i));
  }
  /// Areas of scratch memory are whole vectors.
  Value loadVector(unsigned area, Value i) {
    return LLVM::LoadOp::create(e.b, VectorType::get({width}, f32),
                                e.address(e.scratch(area), f32, i),
                                /*alignment=*/4);
  }
  Value any(Value lanes) {
    return vector::ReductionOp::create(e.b, vector::CombiningKind::OR, lanes);
  }

  /// Whether a box, in all lanes, overlaps one of the blocks from `first` on,
  /// as many as a vector holds.
  Value overlapsBlocks(Value first, Value blocks, const Box &here) {
    Value isNear = RowVectors::lanesBelow(e, first, width, blocks).mask;
    for (unsigned i : {0, 1}) {
      Value low = loadVector(Cells::Bounds + i, first);
      Value high = loadVector(Cells::Bounds + i + 2, first);
      isNear = math.both(isNear, math.isLess(low, here[i + 2]));
      isNear = math.both(isNear, math.isLess(here[i], high));
    }
    Value bits =
        LLVM::BitcastOp::create(e.b, e.b.getIntegerType(width), isNear);
    bits = arith::ExtUIOp::create(e.b, e.b.getI64Type(), bits);
    Value near = math::CtPopOp::create(e.b, bits);
    return e.loop(
        e.number(0), near, ValueRange{zeroBit(e), bits},
        [&](Value, ValueRange carried) -> SmallVector<Value> {
          Value lane = math::CountTrailingZerosOp::create(e.b, carried[1]);
          Value isTaken = e.branch(
              carried[0], [&] { return carried[0]; },
              [&] { return overlapsBlock(e.add(first, lane), here); });
          Value rest = arith::AndIOp::create(e.b, carried[1],
                                             e.sub(carried[1], e.number(1)));
          return {isTaken, rest};
        })[0];
  }

  /// Lanes that hold no box have no area.
  Value overlapsBlock(Value block, const Box &here) {
    Box kept;
    for (unsigned number = 0; number < 5; ++number)
      kept.push_back(
          loadVector(Cells::Boxes + number, e.mul(block, e.number(width))));
    auto [height, breadth] = math.sharedSides(kept, here);
    // Divisions are slow, and few boxes share so much as to need one.
    Value shared = math.mul(height, breadth);
    Value least = math.mul(math.together(kept, here, shared),
                           e.spread(lessThanThreshold, width));
    Value mayOverlap =
        math.both(math.meets(height, breadth), math.isNotLess(shared, least));
    return e.branch(
        any(mayOverlap),
        [&] {
          return any(
              math.both(mayOverlap, math.overlaps(kept, here, shared,
                                                  e.spread(threshold, width))));
        },
        [&] { return zeroBit(e); });
  }

  /// Where the next box of a cell goes, in a new block where its last is full.
  Value placeIn(Value cell) {
    Value next = placeAt(cell), blocks = place(Cells::NumBlocks);
    Value isFull = e.equal(e.rem(next, e.number(width)), e.number(0));
    Value result = e.select(isFull, e.mul(blocks, e.number(width)), next);
    e.ifThen(isFull, [&] {
      Value none = e.zero(VectorType::get({width}, f32));
      LLVM::StoreOp::create(e.b, none, e.address(e.scratch(4), f32, result), 4);
      for (unsigned i = 0; i < 4; ++i)
        e.storeRaw(real(i < 2 ? INFINITY : -INFINITY),
                   e.scratch(Cells::Bounds + i), blocks);
      setPlace(Cells::NumBlocks, e.add(blocks, e.number(1)));
    });
    e.storeRaw(e.add(result, e.number(1)), places, cell);
    return result;
  }

  /// By the low corner; what is no number is in the first cell, and what lies
  /// beyond the grid in one at its edge.
  Value cellOf(const Box &box) {
    Value cell = real(0);
    for (unsigned axis : {0, 1}) {
      Value at = onAxis(box[axis], axis, loadGrid(4 * axis + 1));
      at = math.lesser(at, loadGrid(4 * axis + 2));
      at = math::FloorOp::create(e.b, at);
      cell = arith::AddFOp::create(e.b, cell,
                                   math.mul(at, loadGrid(4 * axis + 3)));
    }
    return arith::FPToSIOp::create(e.b, e.b.getI64Type(), cell);
  }

  Value onAxis(Value corner, unsigned axis, Value scale) {
    Value at = math.mul(math.sub(corner, loadGrid(4 * axis)), scale);
    return math.greater(at, real(0));
  }

  /// Over the boxes so far. Where the first lie along its diagonal, as those of
  /// many classes do that are set apart by what is added to all their corners,
  /// one axis has all cells.
  void makeGrid() {
    SmallVector<Value> sides;
    for (unsigned axis : {0, 1}) {
      SmallVector<Value> ends = e.loop(
          e.number(0), place(Cells::NumBlocks),
          ValueRange{real(INFINITY), real(-INFINITY)},
          [&](Value i, ValueRange carried) -> SmallVector<Value> {
            Value low = e.loadRaw(e.scratch(Cells::Bounds + axis), f32, i);
            Value high = e.loadRaw(e.scratch(Cells::Bounds + axis + 2), f32, i);
            return {math.lesser(low, carried[0]),
                    math.greater(high, carried[1])};
          });
      sides.push_back(math.sub(ends[1], ends[0]));
      storeGrid(ends[0], 4 * axis);
    }
    Value isDiagonal = areDiagonal(sides);
    auto store = [&](unsigned axis, double diagonal, double step) {
      Value along =
          e.select(isDiagonal, real(diagonal), real(Cells::alongAxis));
      storeGrid(math.div(along, sides[axis]), 4 * axis + 1);
      storeGrid(math.sub(along, real(1)), 4 * axis + 2);
      storeGrid(e.select(isDiagonal, real(1), real(step)), 4 * axis + 3);
    };
    store(0, Cells::cells, Cells::alongAxis);
    store(1, 1, 1);
  }

  /// Whether most of the first boxes lie as far along one axis as along the
  /// other, by cells.
  Value areDiagonal(ArrayRef<Value> sides) {
    int64_t count = Cells::firstBlocks * width;
    Value even = e.loop(
        e.number(0), e.number(count), ValueRange{e.number(0)},
        [&](Value i, ValueRange carried) -> SmallVector<Value> {
          SmallVector<Value> at;
          for (unsigned axis : {0, 1})
            at.push_back(onAxis(e.loadRaw(e.scratch(axis), f32, i), axis,
                                math.div(real(Cells::alongAxis), sides[axis])));
          Value apart = math::AbsFOp::create(e.b, math.sub(at[0], at[1]));
          Value isNear = math.isLess(apart, real(1));
          return {
              e.add(carried[0], e.select(isNear, e.number(1), e.number(0)))};
        })[0];
    return e.less(e.number(count / 2), even);
  }

  Emitter &e;
  BoxMath math;
  Type f32;
  int64_t width;
  Value threshold, lessThanThreshold, places, grid;
};

/// Of a row of boxes, the next that overlaps none that are kept is kept.
template <typename Kept> class BoxRow {
public:
  BoxRow(Emitter &e, graph::SuppressOp op, Indices index)
      : e(e), op(op), index(std::move(index)),
        limit(e.element(op.getLimit(), {})),
        kept(e, e.element(op.getThreshold(), {})) {}

  void emit(Value size, function_ref<void(ArrayRef<Value>, Value)> put) {
    kept.start();
    e.loop(e.number(0), size, e.number(0), [&](Value i, ValueRange carried) {
      Value count = carried[0];
      index.back() = i;
      Value isOpen =
          e.both(e.element(op.getCandidates(), index), e.less(count, limit));
      Value isKept = e.branch(
          isOpen, [&] { return keepIfFree(count); },
          [&] { return zeroBit(e); });
      put(index, isKept);
      return SmallVector<Value>{
          e.add(count, e.select(isKept, e.number(1), e.number(0)))};
    });
  }

private:
  Value keepIfFree(Value count) {
    Box box = boxHere();
    Value isFree = e.equal(kept.overlapsAny(box, count), zeroBit(e));
    e.ifThen(isFree, [&] { kept.keep(box, count); });
    return isFree;
  }

  Box boxHere() {
    BoxMath math(e);
    Value corners[4];
    for (auto [i, corner] : llvm::enumerate(corners)) {
      Indices at = index;
      at.push_back(e.number(i));
      corner = e.element(op.getBoxes(), at);
    }
    Box box = {math.lesser(corners[0], corners[2]),
               math.lesser(corners[1], corners[3]),
               math.greater(corners[0], corners[2]),
               math.greater(corners[1], corners[3])};
    box.push_back(math.mul(math.sub(box[2], box[0]), math.sub(box[3], box[1])));
    return box;
  }

  Emitter &e;
  graph::SuppressOp op;
  Indices index;
  Value limit;
  Kept kept;
};

template <typename Kept> void emitBoxes(Emitter &e, graph::SuppressOp op) {
  Indices dims = e.dimsOf(op.getResult()), rows = dims;
  rows.back() = e.number(1);
  e.loop(e.begin, e.end, [&](Value row) {
    BoxRow<Kept>(e, op, e.delinearise(row, rows))
        .emit(dims.back(), [&](ArrayRef<Value> index, Value isKept) {
          e.bind(op.getResult(), index, isKept);
          e.storeYields(index, e.linearise(index, dims));
        });
  });
}

} // namespace

bool emitSuppress(Emitter &e, Operation *root) {
  auto op = dyn_cast<graph::SuppressOp>(root);
  if (!op)
    return false;
  if (e.level.hasVectors())
    emitBoxes<KeptCells>(e, op);
  else
    emitBoxes<KeptList>(e, op);
  return true;
}

} // namespace tenon::cpu
