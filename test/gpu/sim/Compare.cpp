//===- Compare.cpp - setp, set, selp, slct --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Decoder.h"
#include "test/gpu/sim/FloatFormats.h"
#include "test/gpu/sim/Lanes.h"

#include <cmath>
#include <limits>

namespace tenon::sim {

namespace {

enum Comparison : uint8_t {
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Number, // Neither is NaN.
  Nan     // One of them is.
};
constexpr uint8_t kUnordered = 8; // Or'ed in: true as well if one is NaN.

enum Combination : uint8_t { Nothing, WithAnd, WithOr, WithXor };

constexpr Type kPredicate{Type::Predicate, 1};

template <typename T> bool compare(uint8_t how, T a, T b) {
  switch (how & 7) {
  case Equal:
    return a == b;
  case NotEqual: // Of floats: ordered and not equal.
    return a < b || a > b;
  case Less:
    return a < b;
  case LessEqual:
    return a <= b;
  case Greater:
    return a > b;
  case GreaterEqual:
    return a >= b;
  case Number:
    return a == a && b == b;
  default:
    return a != a || b != b;
  }
}

/// One bit per lane. The comparison is chosen outside the loop.
template <typename T>
uint32_t compareLanes(uint8_t how, const T *a, const T *b) {
  uint32_t bits = 0;
  auto gather = [&](auto test) {
    for (int lane = 0; lane < kLanes; ++lane)
      bits |= uint32_t(test(a[lane], b[lane])) << lane;
  };
  switch (how & 7) {
  case Equal:
    gather([](T x, T y) { return x == y; });
    break;
  case NotEqual:
    gather([](T x, T y) { return x < y || x > y; });
    break;
  case Less:
    gather([](T x, T y) { return x < y; });
    break;
  case LessEqual:
    gather([](T x, T y) { return x <= y; });
    break;
  case Greater:
    gather([](T x, T y) { return x > y; });
    break;
  case GreaterEqual:
    gather([](T x, T y) { return x >= y; });
    break;
  default:
    gather([how](T x, T y) { return compare(how, x, y); });
  }
  if (how & kUnordered)
    gather([](T x, T y) { return x != x || y != y; });
  return bits;
}

/// Narrow floats are compared as f32, and so are flushed ones.
uint32_t compareFloats(Warp &warp, const Instruction &line, const Operand &a,
                       const Operand &b, int half) {
  float left[kLanes], right[kLanes];
  auto load = [&](const Operand &operand, float *out) {
    for (int lane = 0; lane < kLanes; ++lane) {
      if (line.type.bits == 32) {
        float value = warp.lanes<float>(operand)[lane];
        out[lane] =
            std::fabs(value) < std::numeric_limits<float>::min() ? 0.0f : value;
        continue;
      }
      uint16_t bits =
          line.type.values == 2
              ? uint16_t(warp.lanes<uint32_t>(operand)[lane] >> 16 * half)
              : warp.lanes<uint16_t>(operand)[lane];
      out[lane] = line.type.kind == Type::BFloat ? brainToFloat(bits)
                                                 : halfToFloat(bits);
      if (line.flush && std::fabs(out[lane]) < 0x1p-14f &&
          line.type.kind == Type::Float)
        out[lane] = 0;
    }
  };
  load(a, left);
  load(b, right);
  return compareLanes(line.option, left, right);
}

uint32_t compareOperands(Warp &warp, const Instruction &line, const Operand &a,
                         const Operand &b, int half = 0) {
  Type type = line.type;
  if (type.isFloat() && (type.bits == 16 || line.flush))
    return compareFloats(warp, line, a, b, half);
  auto with = [&]<typename T>(T) {
    return compareLanes(line.option, warp.lanes<T>(a), warp.lanes<T>(b));
  };
  if (type.isFloat())
    return type.bits == 64 ? with(double()) : with(float());
  bool isSigned = type.kind == Type::Signed;
  if (type.bits == 16)
    return isSigned ? with(int16_t()) : with(uint16_t());
  if (type.bits == 32)
    return isSigned ? with(int32_t()) : with(uint32_t());
  return isSigned ? with(int64_t()) : with(uint64_t());
}

uint32_t combine(uint8_t how, uint32_t bits, uint32_t with) {
  return how == WithAnd   ? bits & with
         : how == WithOr  ? bits | with
         : how == WithXor ? bits ^ with
                          : bits;
}

/// Operands: targets (counts[0]), a, b, and c if combined.
Step setPredicate(Warp &warp, const Instruction &line) {
  const Operand *sources = line.operands + line.targets;
  bool pair = line.type.values == 2;
  uint32_t with = line.second ? warp.predicate(sources[2]) : 0;
  uint32_t bits = compareOperands(warp, line, sources[0], sources[1]);
  // Of a pair the second result is its second half's, else the negation's.
  uint32_t other =
      pair ? compareOperands(warp, line, sources[0], sources[1], 1) : ~bits;
  if (line.targets == 2)
    warp.setPredicate(line.operands[1], combine(line.second, other, with));
  warp.setPredicate(line.operands[0], combine(line.second, bits, with));
  return Step::Next;
}

/// set: all ones or 1.0 where true.
Step setValue(Warp &warp, const Instruction &line) {
  const Operand *sources = line.operands + 1;
  uint32_t with = line.second ? warp.predicate(sources[2]) : 0;
  uint32_t low = combine(
      line.second, compareOperands(warp, line, sources[0], sources[1]), with);
  uint32_t high = low;
  bool pair = line.type.values == 2;
  if (pair)
    high =
        combine(line.second,
                compareOperands(warp, line, sources[0], sources[1], 1), with);
  Type to = line.from; // The result's type.
  uint32_t one = to.kind == Type::BFloat ? 0x3f80
                 : !to.isFloat()         ? (to.bits == 16 ? 0xffffu : ~0u)
                 : to.bits == 16         ? 0x3c00
                                         : 0x3f800000u;
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1) {
      uint32_t value = low >> lane & 1 ? one : 0;
      if (pair)
        value |= (high >> lane & 1 ? one : 0) << 16;
      warp.setValue(line.operands[0], lane, value);
    }
  return Step::Next;
}

bool takeComparison(Line &line) {
  Instruction &out = line.out;
  int how = line.takeOneOf({"eq", "ne", "lt", "le", "gt", "ge", "num", "nan",
                            "equ", "neu", "ltu", "leu", "gtu", "geu", "lo",
                            "ls", "hi", "hs"});
  if (how < 0)
    return line.fail("a comparison is expected");
  if (how >= 14) // Unsigned whatever the type says.
    out.type.kind = Type::Unsigned;
  out.option = how < 8 ? how : how < 14 ? (how - 8) | kUnordered : how - 12;
  int with = line.takeOneOf({"and", "or", "xor"});
  out.second = with + 1;
  out.flush = line.take("ftz");
  return true;
}

bool takeSources(Line &line, size_t count) {
  return line.expect(line.out.second ? count + 1 : count) &&
         line.source(1, line.out.type) && line.source(2, line.out.type) &&
         (!line.out.second || line.source(3, kPredicate));
}

bool decodeSetPredicate(Line &line) {
  if (!line.takeType(line.out.type) || !takeComparison(line) || line.size() < 1)
    return line.fail("malformed comparison");
  const Node &targets = line.node(0);
  if (targets.kind == Node::Pair
          ? !line.targetNode(targets.items[0], kPredicate) ||
                !line.targetNode(targets.items[1], kPredicate)
          : !line.target(0, kPredicate))
    return false;
  return takeSources(line, 3) && line.finish(setPredicate);
}

bool decodeSet(Line &line) {
  Instruction &out = line.out;
  if (!line.takeType(out.type) || !line.takeType(out.from) ||
      !takeComparison(line))
    return false;
  Type target = out.from;
  if (out.type.values == 2)
    target = {Type::Bits, 32};
  return line.target(0, target) && takeSources(line, 3) &&
         line.finish(setValue);
}

template <typename T> Step select(Warp &warp, const Instruction &line) {
  const T *a = warp.lanes<T>(line.operands[1]);
  const T *b = warp.lanes<T>(line.operands[2]);
  uint32_t bits = warp.predicate(line.operands[3]);
  forLanes<T>(warp, line.operands[0],
              [&](int lane) { return bits >> lane & 1 ? a[lane] : b[lane]; });
  return Step::Next;
}

bool decodeSelect(Line &line) {
  Type &type = line.out.type;
  return line.takeType(type) && line.expect(4) && line.target(0, type) &&
         line.source(1, type) && line.source(2, type) &&
         line.source(3, kPredicate) &&
         line.finish(type.bytes() == 2   ? select<uint16_t>
                     : type.bytes() == 4 ? select<uint32_t>
                     : type.bytes() == 8 ? select<uint64_t>
                                         : nullptr);
}

/// slct: by the sign of a third value.
template <typename T, typename Test>
Step selectBySign(Warp &warp, const Instruction &line) {
  const T *a = warp.lanes<T>(line.operands[1]);
  const T *b = warp.lanes<T>(line.operands[2]);
  const Test *test = warp.lanes<Test>(line.operands[3]);
  forLanes<T>(warp, line.operands[0],
              [&](int lane) { return test[lane] >= 0 ? a[lane] : b[lane]; });
  return Step::Next;
}

bool decodeSelectBySign(Line &line) {
  Type test, &type = line.out.type;
  if (!line.takeType(test) || !line.takeType(type) || !line.expect(4) ||
      !line.target(0, type) || !line.source(1, type) || !line.source(2, type) ||
      !line.source(3, test))
    return false;
  if (type.bytes() == 8)
    return line.finish(test.isFloat() ? selectBySign<uint64_t, float>
                                      : selectBySign<uint64_t, int32_t>);
  return line.finish(test.isFloat() ? selectBySign<uint32_t, float>
                                    : selectBySign<uint32_t, int32_t>);
}

} // namespace

void addCompareInstructions(DecodeTable &table) {
  table["selp"] = decodeSelect;
  table["set"] = decodeSet;
  table["setp"] = decodeSetPredicate;
  table["slct"] = decodeSelectBySign;
}

} // namespace tenon::sim
