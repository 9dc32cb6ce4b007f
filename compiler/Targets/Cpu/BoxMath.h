//===- BoxMath.h - What two boxes share -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_BOXMATH_H
#define TENON_COMPILER_TARGETS_CPU_BOXMATH_H

#include "compiler/Targets/Cpu/Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tenon::cpu {

/// Low and high corner, then the area: scalars, or vectors of them.
using Box = llvm::SmallVector<Value, 5>;

/// Of one box, or of a box and a vector of others.
class BoxMath {
public:
  explicit BoxMath(Emitter &e) : e(e) {}

  Value isLess(Value x, Value y) {
    return mlir::arith::CmpFOp::create(e.b, mlir::arith::CmpFPredicate::OLT, x,
                                       y);
  }
  Value isNotLess(Value x, Value y) {
    return mlir::arith::CmpFOp::create(e.b, mlir::arith::CmpFPredicate::UGE, x,
                                       y);
  }
  Value isPositive(Value x) { return isLess(e.zero(x.getType()), x); }
  Value both(Value x, Value y) {
    return mlir::arith::AndIOp::create(e.b, x, y);
  }
  /// The second where one is no number.
  Value lesser(Value x, Value y) { return e.select(isLess(x, y), x, y); }
  Value greater(Value x, Value y) { return e.select(isLess(y, x), x, y); }
  Value sub(Value x, Value y) { return mlir::arith::SubFOp::create(e.b, x, y); }
  Value mul(Value x, Value y) { return mlir::arith::MulFOp::create(e.b, x, y); }
  Value div(Value x, Value y) { return mlir::arith::DivFOp::create(e.b, x, y); }

  Box spread(const Box &box, int64_t width) {
    Box result;
    for (Value number : box)
      result.push_back(e.spread(number, width));
    return result;
  }

  std::pair<Value, Value> sharedSides(const Box &a, const Box &b) {
    Value height = sub(lesser(a[2], b[2]), greater(a[0], b[0]));
    Value breadth = sub(lesser(a[3], b[3]), greater(a[1], b[1]));
    return {height, breadth};
  }
  Value meets(Value height, Value breadth) {
    return both(isPositive(height), isPositive(breadth));
  }

  Value together(const Box &a, const Box &b, Value shared) {
    return sub(mlir::arith::AddFOp::create(e.b, a[4], b[4]), shared);
  }

  /// Of boxes that meet.
  Value overlaps(const Box &a, const Box &b, Value shared, Value threshold) {
    Value whole = together(a, b, shared);
    Value isAbove = isLess(threshold, div(shared, whole));
    for (Value number : {a[4], b[4], whole})
      isAbove = both(isAbove, isPositive(number));
    return isAbove;
  }

private:
  Emitter &e;
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_BOXMATH_H
