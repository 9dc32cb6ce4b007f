//===- Convert.cpp - cvt --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Decoder.h"
#include "test/gpu/sim/FloatFormats.h"
#include "test/gpu/sim/Lanes.h"

#include <cmath>

namespace tenon::sim {

namespace {

uint64_t mask(int bits) {
  return bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
}

/// A value of an integer type to 65 bits' worth of meaning.
__int128 integerValue(Type type, uint64_t bits) {
  bits &= mask(type.bits);
  if (type.kind == Type::Signed && (bits >> (type.bits - 1) & 1))
    return __int128(bits) - (__int128(1) << type.bits);
  return __int128(bits);
}

/// Into a type's range, extended to 64 bits the way the type extends.
uint64_t clampInteger(Type type, __int128 value) {
  bool isSigned = type.kind == Type::Signed;
  __int128 most = (__int128(1) << (type.bits - (isSigned ? 1 : 0))) - 1;
  __int128 least = isSigned ? -most - 1 : 0;
  return uint64_t(value < least ? least : value > most ? most : value);
}

uint64_t integerToInteger(const Instruction &line, uint64_t bits) {
  __int128 value = integerValue(line.from, bits);
  if (line.saturate)
    return clampInteger(line.type, value);
  return uint64_t(integerValue(line.type, uint64_t(value)));
}

uint64_t integerToFloat(const Instruction &line, uint64_t bits) {
  __int128 value = integerValue(line.from, bits);
  Type to = line.type;
  if (line.rounding == Rounding::Even && to.kind == Type::Float &&
      to.bits == 32)
    return floatToBits(float(value));
  if (line.rounding == Rounding::Even && to.bits == 64)
    return std::bit_cast<uint64_t>(double(value));
  // A sum of two doubles holds the integer exactly.
  double high = double(int64_t(value >> 32)) * 0x1p32;
  double low = double(uint32_t(value));
  return encodeFloat(to, oddSum(high, low), line.rounding, false);
}

double roundToIntegral(double value, Rounding rounding) {
  switch (rounding) {
  case Rounding::Even:
    return std::nearbyint(value);
  case Rounding::Zero:
    return std::trunc(value);
  case Rounding::Down:
    return std::floor(value);
  case Rounding::Up:
    return std::ceil(value);
  default:
    return std::round(value);
  }
}

double flush(Type type, double value) {
  double least = type.bits == 64      ? 0x1p-1022
                 : type.exponent == 5 ? 0x1p-14
                                      : 0x1p-126;
  return std::fabs(value) < least ? std::copysign(0.0, value) : value;
}

uint64_t floatToInteger(const Instruction &line, uint64_t bits) {
  double value = decodeFloat(line.from, bits);
  if (line.flush)
    value = flush(line.from, value);
  if (std::isnan(value))
    return line.type.bits == 64 ? uint64_t(1) << 63 : 0;
  value = roundToIntegral(value, line.rounding);
  value = std::fmax(std::fmin(value, 0x1p100), -0x1p100);
  return clampInteger(line.type, __int128(value));
}

uint64_t floatToFloat(const Instruction &line, uint64_t bits) {
  double value = decodeFloat(line.from, bits);
  if (line.flush)
    value = flush(line.from, value);
  if (line.second) // To an integral value.
    value = roundToIntegral(value, line.rounding);
  if (line.saturate)
    value = value > 0 ? std::fmin(value, 1.0) : 0;
  if (line.relu && value < 0)
    value = 0;
  uint64_t result = encodeFloat(line.type, value, line.rounding, line.option);
  if (line.flush && line.type.bits == 32 &&
      std::fabs(bitsToFloat(uint32_t(result))) < 0x1p-126f)
    result &= 0x80000000u;
  return result;
}

template <uint64_t (*kConvert)(const Instruction &, uint64_t)>
Step convert(Warp &warp, const Instruction &line) {
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1)
      warp.setValue(line.operands[0], lane,
                    kConvert(line, warp.value(line.operands[1], lane)));
  return Step::Next;
}

/// Two floats into one register: the first source is the upper half.
Step convertToPair(Warp &warp, const Instruction &line) {
  int bits = line.type.bits;
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1) {
      uint64_t high = floatToFloat(line, warp.value(line.operands[1], lane));
      uint64_t low = floatToFloat(line, warp.value(line.operands[2], lane));
      warp.setValue(line.operands[0], lane, high << bits | low);
    }
  return Step::Next;
}

/// f16x2 and the pairs of eight bits.
Step convertPair(Warp &warp, const Instruction &line) {
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1) {
      uint64_t source = warp.value(line.operands[1], lane), result = 0;
      for (int half = 0; half < 2; ++half) {
        uint64_t part = source >> half * line.from.bits & mask(line.from.bits);
        result |= floatToFloat(line, part) << half * line.type.bits;
      }
      warp.setValue(line.operands[0], lane, result);
    }
  return Step::Next;
}

struct Cast {
  template <typename T> static T apply(T a, const Instruction &) { return a; }
};
struct ToHalf {
  static uint16_t apply(float a, const Instruction &) { return floatToHalf(a); }
};
struct ToBrain {
  static uint16_t apply(float a, const Instruction &) {
    return floatToBrain(a);
  }
};
struct FromHalf {
  static float apply(uint16_t a, const Instruction &) {
    return canonical(halfToFloat(a));
  }
};
struct FromBrain {
  static float apply(uint16_t a, const Instruction &) {
    return canonical(brainToFloat(a));
  }
};

/// Loops that become vector code, for registers of just the types' sizes.
Execute fastConvert(const Instruction &line) {
  if (line.saturate || line.flush || line.relu || line.option || line.second ||
      line.rounding != Rounding::Even)
    return nullptr;
  Type to = line.type, from = line.from;
  bool isSigned = from.kind == Type::Signed;
  if (to.isInteger() && from.isInteger()) {
    if (to.bits == 64 && from.bits == 32)
      return isSigned ? unary<Cast, int64_t, int32_t>
                      : unary<Cast, uint64_t, uint32_t>;
    if (to.bits == 32 && from.bits == 64)
      return unary<Cast, uint32_t, uint64_t>;
    if (to.bits == 32 && from.bits == 16)
      return isSigned ? unary<Cast, int32_t, int16_t>
                      : unary<Cast, uint32_t, uint16_t>;
    if (to.bits == 16 && from.bits == 32)
      return unary<Cast, uint16_t, uint32_t>;
    return nullptr;
  }
  bool toFloat = to == Type{Type::Float, 32, 1, 8};
  if (toFloat && from.isInteger() && from.bits == 32)
    return isSigned ? unary<Cast, float, int32_t>
                    : unary<Cast, float, uint32_t>;
  if (toFloat && from.isFloat() && from.bits == 16)
    return from.kind == Type::BFloat ? unary<FromBrain, float, uint16_t>
                                     : unary<FromHalf, float, uint16_t>;
  if (from == Type{Type::Float, 32, 1, 8} && to.isFloat() && to.bits == 16)
    return to.kind == Type::BFloat ? unary<ToBrain, uint16_t, float>
                                   : unary<ToHalf, uint16_t, float>;
  return nullptr;
}

Step brainPair(Warp &warp, const Instruction &line) {
  const float *a = warp.lanes<float>(line.operands[1]);
  const float *b = warp.lanes<float>(line.operands[2]);
  forLanes<uint32_t>(warp, line.operands[0], [&](int lane) {
    return uint32_t(floatToBrain(a[lane])) << 16 | floatToBrain(b[lane]);
  });
  return Step::Next;
}

Step halfPair(Warp &warp, const Instruction &line) {
  const float *a = warp.lanes<float>(line.operands[1]);
  const float *b = warp.lanes<float>(line.operands[2]);
  forLanes<uint32_t>(warp, line.operands[0], [&](int lane) {
    return uint32_t(floatToHalf(a[lane])) << 16 | floatToHalf(b[lane]);
  });
  return Step::Next;
}

/// Bits that hold a type's values.
Type container(Type type) {
  uint8_t bits = type.bits * type.values;
  return {Type::Bits, bits < 16 && type.isFloat() ? uint8_t(16) : bits};
}

bool decodePair(Line &line, bool plain) {
  Instruction &out = line.out;
  if (!line.target(0, container(out.type)))
    return false;
  if (out.from.values == 2)
    return line.expect(2) && line.source(1, container(out.from)) &&
           line.finish(convertPair);
  if (!line.expect(3) || !line.source(1, out.from) || !line.source(2, out.from))
    return false;
  if (plain && out.from.bits == 32 && out.type.bits == 16)
    return line.finish(out.type.kind == Type::BFloat ? brainPair : halfPair);
  return line.finish(convertToPair);
}

bool decodeConvert(Line &line) {
  Instruction &out = line.out;
  if (!line.takeType(out.from) || !line.takeType(out.type))
    return false;
  if (out.from.kind == Type::Predicate || out.type.kind == Type::Predicate)
    return line.fail("a predicate is not converted");
  out.second = line.takeOneOf({"rni", "rzi", "rmi", "rpi"}) + 1;
  if (out.second)
    out.rounding = Rounding(out.second - 1);
  else
    line.takeRounding(out.rounding);
  out.flush = line.take("ftz");
  out.option = line.take("satfinite"); // Too large is the largest.
  out.saturate = line.take("sat");
  out.relu = line.take("relu");
  bool plain = !out.second && !out.flush && !out.option && !out.saturate &&
               !out.relu && out.rounding == Rounding::Even;
  if (out.type.values == 2 || out.from.values == 2)
    return decodePair(line, plain);
  bool toFloat = out.type.isFloat(), fromFloat = out.from.isFloat();
  if (!toFloat)
    out.second = 0; // The rounding alone matters.
  if (!line.expect(2) || !line.target(0, container(out.type), true) ||
      !line.source(1, container(out.from), true))
    return false;
  bool exact = line.fits(0, out.type) && line.fits(1, out.from);
  if (Execute fast = exact ? fastConvert(out) : nullptr)
    return line.finish(fast);
  if (toFloat)
    return line.finish(fromFloat ? convert<floatToFloat>
                                 : convert<integerToFloat>);
  return line.finish(fromFloat ? convert<floatToInteger>
                               : convert<integerToInteger>);
}

} // namespace

void addConvertInstructions(DecodeTable &table) {
  table["cvt"] = decodeConvert;
}

} // namespace tenon::sim
