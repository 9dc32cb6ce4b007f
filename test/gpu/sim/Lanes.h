//===- Lanes.h - Loops over the lanes of a warp ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions on registers are a functor applied lane by lane. With all lanes
// active the loop has no condition, and becomes vector code.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_GPU_SIM_LANES_H
#define TENON_TEST_GPU_SIM_LANES_H

#include "test/gpu/sim/Warp.h"

namespace tenon::sim {

constexpr uint32_t kAllLanes = ~0u;

/// Stores value(lane) into the active lanes of a result.
template <typename Result, typename Value>
inline void forLanes(Warp &warp, const Operand &target, Value value) {
  if (target.sink)
    return;
  Result *out = warp.lanes<Result>(target);
  if (warp.active == kAllLanes) {
    // A result may be a source: at the same lane, so order does not matter.
#pragma clang loop vectorize(assume_safety)
    for (int lane = 0; lane < kLanes; ++lane)
      out[lane] = value(lane);
    return;
  }
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1)
      out[lane] = value(lane);
}

/// target = F(a), on lanes of these types.
template <typename F, typename Result, typename A>
Step unary(Warp &warp, const Instruction &instruction) {
  const A *a = warp.lanes<A>(instruction.operands[1]);
  forLanes<Result>(warp, instruction.operands[0], [&](int lane) {
    return static_cast<Result>(F::apply(a[lane], instruction));
  });
  return Step::Next;
}

template <typename F, typename Result, typename A, typename B>
Step binary(Warp &warp, const Instruction &instruction) {
  const A *a = warp.lanes<A>(instruction.operands[1]);
  const B *b = warp.lanes<B>(instruction.operands[2]);
  forLanes<Result>(warp, instruction.operands[0], [&](int lane) {
    return static_cast<Result>(F::apply(a[lane], b[lane], instruction));
  });
  return Step::Next;
}

template <typename F, typename Result, typename A, typename B, typename C>
Step ternary(Warp &warp, const Instruction &instruction) {
  const A *a = warp.lanes<A>(instruction.operands[1]);
  const B *b = warp.lanes<B>(instruction.operands[2]);
  const C *c = warp.lanes<C>(instruction.operands[3]);
  forLanes<Result>(warp, instruction.operands[0], [&](int lane) {
    return static_cast<Result>(
        F::apply(a[lane], b[lane], c[lane], instruction));
  });
  return Step::Next;
}

/// The functor's unary or binary function for an integer type, or null.
template <typename F> Execute integerUnary(Type type) {
  bool isSigned = type.kind == Type::Signed;
  switch (type.values == 1 ? type.bits : 0) {
  case 16:
    return isSigned ? unary<F, int16_t, int16_t> : unary<F, uint16_t, uint16_t>;
  case 32:
    return isSigned ? unary<F, int32_t, int32_t> : unary<F, uint32_t, uint32_t>;
  case 64:
    return isSigned ? unary<F, int64_t, int64_t> : unary<F, uint64_t, uint64_t>;
  default:
    return nullptr;
  }
}

template <typename F> Execute integerBinary(Type type) {
  bool isSigned = type.kind == Type::Signed;
  switch (type.values == 1 ? type.bits : 0) {
  case 16:
    return isSigned ? binary<F, int16_t, int16_t, int16_t>
                    : binary<F, uint16_t, uint16_t, uint16_t>;
  case 32:
    return isSigned ? binary<F, int32_t, int32_t, int32_t>
                    : binary<F, uint32_t, uint32_t, uint32_t>;
  case 64:
    return isSigned ? binary<F, int64_t, int64_t, int64_t>
                    : binary<F, uint64_t, uint64_t, uint64_t>;
  default:
    return nullptr;
  }
}

template <typename F> Execute integerTernary(Type type) {
  bool isSigned = type.kind == Type::Signed;
  switch (type.values == 1 ? type.bits : 0) {
  case 16:
    return isSigned ? ternary<F, int16_t, int16_t, int16_t, int16_t>
                    : ternary<F, uint16_t, uint16_t, uint16_t, uint16_t>;
  case 32:
    return isSigned ? ternary<F, int32_t, int32_t, int32_t, int32_t>
                    : ternary<F, uint32_t, uint32_t, uint32_t, uint32_t>;
  case 64:
    return isSigned ? ternary<F, int64_t, int64_t, int64_t, int64_t>
                    : ternary<F, uint64_t, uint64_t, uint64_t, uint64_t>;
  default:
    return nullptr;
  }
}

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_LANES_H
