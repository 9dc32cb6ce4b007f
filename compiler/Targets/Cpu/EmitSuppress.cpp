//===- EmitSuppress.cpp - Boxes that overlap a better one -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/RowVectors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

/// A row of boxes: each is compared with those that are kept before it, whose
/// corners lie together, number by number: a vector of them at a time, until
/// one overlaps.
class BoxRow {
public:
  BoxRow(Emitter &e, graph::SuppressOp op, Indices index)
      : e(e), op(op), index(std::move(index)), f32(e.b.getF32Type()),
        width(e.level.lanes(4)), threshold(e.element(op.getThreshold(), {})),
        limit(e.element(op.getLimit(), {})) {}

  void emit(Value size, function_ref<void(ArrayRef<Value>, Value)> put) {
    e.loop(e.number(0), size, e.number(0), [&](Value i, ValueRange carried) {
      Value count = carried[0];
      index.back() = i;
      Value isOpen =
          e.both(e.element(op.getCandidates(), index), e.less(count, limit));
      Value isKept = e.branch(
          isOpen, [&] { return keep(count); },
          [&] { return e.zero(e.b.getI1Type()); });
      put(index, isKept);
      return SmallVector<Value>{
          e.add(count, e.select(isKept, e.number(1), e.number(0)))};
    });
  }

private:
  /// Low and high corner, then the area.
  using Box = SmallVector<Value, 5>;

  Value lesser(Value x, Value y) { return e.select(isLess(x, y), x, y); }
  Value greater(Value x, Value y) { return e.select(isLess(y, x), x, y); }
  Value isLess(Value x, Value y) {
    return arith::CmpFOp::create(e.b, arith::CmpFPredicate::OLT, x, y);
  }
  Value sub(Value x, Value y) { return arith::SubFOp::create(e.b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(e.b, x, y); }

  Box boxHere() {
    Value corners[4];
    for (auto [i, corner] : llvm::enumerate(corners)) {
      Indices at = index;
      at.push_back(e.number(i));
      corner = e.element(op.getBoxes(), at);
    }
    Box box = {lesser(corners[0], corners[2]), lesser(corners[1], corners[3]),
               greater(corners[0], corners[2]),
               greater(corners[1], corners[3])};
    box.push_back(mul(sub(box[2], box[0]), sub(box[3], box[1])));
    return box;
  }

  Value keep(Value count) {
    Box box = boxHere();
    Value isTaken = e.loop(
        e.number(0), count, e.zero(e.b.getI1Type()),
        [&](Value i, ValueRange carried) {
          return SmallVector<Value>{e.branch(
              carried[0], [&] { return carried[0]; },
              [&] { return overlapsAny(i, count, box); })};
        },
        width)[0];
    Value isFree = e.equal(isTaken, e.zero(e.b.getI1Type()));
    e.ifThen(isFree, [&] {
      for (auto [i, number] : llvm::enumerate(box))
        e.storeRaw(number, e.scratch(i), count);
    });
    return isFree;
  }

  /// Whether a box overlaps one of those kept from the i-th on, as many as a
  /// vector holds.
  Value overlapsAny(Value i, Value count, const Box &box) {
    Box kept, here = box;
    for (unsigned number = 0; number < 5; ++number)
      kept.push_back(width == 1 ? e.loadRaw(e.scratch(number), f32, i)
                                : keptVector(number, i));
    if (width == 1) {
      auto [height, breadth] = sharedSides(kept, here);
      return both(meets(height, breadth),
                  overlaps(kept, here, height, breadth));
    }
    for (Value &number : here)
      number = e.spread(number, width);
    auto [height, breadth] = sharedSides(kept, here);
    // Most boxes are apart, and divisions are slow.
    Value candidates = both(meets(height, breadth),
                            RowVectors::lanesBelow(e, i, width, count).mask);
    return e.branch(
        any(candidates),
        [&] {
          return any(both(candidates, overlaps(kept, here, height, breadth)));
        },
        [&] { return e.zero(e.b.getI1Type()); });
  }

  /// Areas of scratch memory are whole vectors.
  Value keptVector(unsigned number, Value i) {
    return LLVM::LoadOp::create(e.b, VectorType::get({width}, f32),
                                e.address(e.scratch(number), f32, i),
                                /*alignment=*/4);
  }

  Value both(Value x, Value y) { return arith::AndIOp::create(e.b, x, y); }
  Value any(Value lanes) {
    return vector::ReductionOp::create(e.b, vector::CombiningKind::OR, lanes);
  }
  Value isPositive(Value x) { return isLess(e.zero(x.getType()), x); }

  std::pair<Value, Value> sharedSides(const Box &a, const Box &b) {
    Value height = sub(lesser(a[2], b[2]), greater(a[0], b[0]));
    Value breadth = sub(lesser(a[3], b[3]), greater(a[1], b[1]));
    return {height, breadth};
  }
  Value meets(Value height, Value breadth) {
    return both(isPositive(height), isPositive(breadth));
  }

  /// Of boxes that meet.
  Value overlaps(const Box &a, const Box &b, Value height, Value breadth) {
    Value shared = mul(height, breadth);
    Value together = sub(arith::AddFOp::create(e.b, a[4], b[4]), shared);
    Value least = isa<VectorType>(shared.getType()) ? e.spread(threshold, width)
                                                    : threshold;
    Value isAbove = isLess(least, arith::DivFOp::create(e.b, shared, together));
    for (Value number : {a[4], b[4], together})
      isAbove = both(isAbove, isPositive(number));
    return isAbove;
  }

  Emitter &e;
  graph::SuppressOp op;
  Indices index;
  Type f32;
  int64_t width;
  Value threshold, limit;
};

} // namespace

bool emitSuppress(Emitter &e, Operation *root) {
  auto op = dyn_cast<graph::SuppressOp>(root);
  if (!op)
    return false;
  Indices dims = e.dimsOf(op.getResult()), rows = dims;
  rows.back() = e.number(1);
  e.loop(e.begin, e.end, [&](Value row) {
    BoxRow(e, op, e.delinearise(row, rows))
        .emit(dims.back(), [&](ArrayRef<Value> index, Value isKept) {
          e.bind(op.getResult(), index, isKept);
          e.storeYields(index, e.linearise(index, dims));
        });
  });
  return true;
}

} // namespace tenon::cpu
