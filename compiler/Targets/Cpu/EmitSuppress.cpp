//===- EmitSuppress.cpp - Boxes that overlap a better one -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

/// A row of boxes: each is compared with all that are kept before it, whose
/// corners lie together, number by number, so that LLVM compares many at once.
class BoxRow {
public:
  BoxRow(Emitter &e, graph::SuppressOp op, Indices index)
      : e(e), op(op), index(std::move(index)), f32(e.b.getF32Type()),
        zero(e.zero(f32)), threshold(e.element(op.getThreshold(), {})),
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
    Value isFree = e.loop(e.number(0), count, e.zero(e.b.getI1Type()),
                          [&](Value i, ValueRange carried) {
                            return SmallVector<Value>{e.either(
                                carried[0], overlaps(keptBox(i), box))};
                          })[0];
    isFree = e.equal(isFree, e.zero(e.b.getI1Type()));
    e.ifThen(isFree, [&] {
      for (auto [i, number] : llvm::enumerate(box))
        e.storeRaw(number, e.scratch(i), count);
    });
    return isFree;
  }

  Box keptBox(Value i) {
    Box box;
    for (unsigned number = 0; number < 5; ++number)
      box.push_back(e.loadRaw(e.scratch(number), f32, i));
    return box;
  }

  Value overlaps(const Box &a, const Box &b) {
    Value height = sub(lesser(a[2], b[2]), greater(a[0], b[0]));
    Value width = sub(lesser(a[3], b[3]), greater(a[1], b[1]));
    Value shared = mul(height, width);
    Value together = sub(arith::AddFOp::create(e.b, a[4], b[4]), shared);
    Value isAbove =
        isLess(threshold, arith::DivFOp::create(e.b, shared, together));
    for (Value number : {height, width, a[4], b[4], together})
      isAbove = e.both(isAbove, isLess(zero, number));
    return isAbove;
  }

  Emitter &e;
  graph::SuppressOp op;
  Indices index;
  Type f32;
  Value zero, threshold, limit;
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
