//===- FloatFormats.cpp - Bits of narrow floats ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/FloatFormats.h"

#include <cmath>
#include <limits>

namespace tenon::sim {

namespace {

struct Layout {
  int exponent, mantissa; // Bits.
  int unused = 0;         // Below the mantissa, as tf32 has them.
  bool infinities = true;
};

Layout layoutOf(Type type) {
  if (type.bits == 64)
    return {11, 52};
  if (type.bits == 32)
    return type.kind == Type::BFloat ? Layout{8, 10, 13} : Layout{8, 23};
  if (type.bits == 16)
    return type.exponent == 8 ? Layout{8, 7} : Layout{5, 10};
  return type.exponent == 4 ? Layout{4, 3, 0, false} : Layout{5, 2};
}

/// A scaled mantissa to an integer.
double roundInteger(double value, Rounding rounding) {
  switch (rounding) {
  case Rounding::Even: {
    double down = std::floor(value), rest = value - down;
    if (rest != 0.5)
      return rest < 0.5 ? down : down + 1;
    return std::fmod(down, 2) == 0 ? down : down + 1;
  }
  case Rounding::Zero:
    return std::trunc(value);
  case Rounding::Down:
    return std::floor(value);
  case Rounding::Up:
    return std::ceil(value);
  case Rounding::Away:
    return std::floor(value + 0.5);
  }
  return value;
}

} // namespace

double decodeFloat(Type type, uint64_t bits) {
  if (type.bits == 64)
    return std::bit_cast<double>(bits);
  Layout layout = layoutOf(type);
  bits >>= layout.unused;
  uint64_t mantissa = bits & ((uint64_t(1) << layout.mantissa) - 1);
  int top = (1 << layout.exponent) - 1, bias = top / 2;
  int exponent = bits >> layout.mantissa & top;
  double sign = bits >> (layout.exponent + layout.mantissa) & 1 ? -1 : 1;
  bool special = exponent == top &&
                 (layout.infinities || mantissa + 1 == 1u << layout.mantissa);
  if (special)
    return mantissa ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0)
    return sign * std::ldexp(double(mantissa), 1 - bias - layout.mantissa);
  return sign * std::ldexp(double(mantissa + (uint64_t(1) << layout.mantissa)),
                           exponent - bias - layout.mantissa);
}

uint64_t encodeFloat(Type type, double value, Rounding rounding, bool finite) {
  if (type.bits == 64)
    return std::bit_cast<uint64_t>(value);
  Layout layout = layoutOf(type);
  int top = (1 << layout.exponent) - 1, bias = top / 2;
  uint64_t all = (uint64_t(1) << (layout.exponent + layout.mantissa)) - 1;
  uint64_t infinity = uint64_t(top) << layout.mantissa;
  uint64_t largest = layout.infinities ? infinity - 1 : all - 1;
  if (std::isnan(value))
    return type.bits == 8 && layout.infinities ? 0x7f : all << layout.unused;
  bool minus = std::signbit(value);
  uint64_t sign = uint64_t(minus) << (layout.exponent + layout.mantissa);
  // On magnitudes, up and down trade places.
  if (minus && rounding == Rounding::Down)
    rounding = Rounding::Up;
  else if (minus && rounding == Rounding::Up)
    rounding = Rounding::Down;
  value = std::fabs(value);
  uint64_t result;
  if (std::isinf(value)) {
    result = layout.infinities && !finite ? infinity : finite ? largest : all;
  } else {
    int exponent = value == 0 ? 1 - bias : std::ilogb(value);
    exponent = std::max(exponent, 1 - bias);
    double scaled = std::ldexp(value, layout.mantissa - exponent);
    // Carries run from the mantissa into the exponent by themselves.
    uint64_t whole = uint64_t(roundInteger(scaled, rounding));
    result = whole + (uint64_t(exponent + bias - 1) << layout.mantissa);
    if (result > largest) {
      bool truncates = rounding == Rounding::Zero || rounding == Rounding::Down;
      result = finite || truncates ? largest
               : layout.infinities ? infinity
                                   : all;
    }
  }
  return (result | sign) << layout.unused;
}

} // namespace tenon::sim
