//===- Numbers.cpp - Rounding and wrapping to element types ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Reference/Numbers.h"
#include <bit>
#include <cmath>
#include <limits>

using namespace mlir;

namespace tenon::reference {

double roundBits(double value, int precision, int minExponent, double largest) {
  if (!std::isfinite(value) || value == 0)
    return value;
  double rounded;
  if (std::fabs(value) < std::ldexp(1.0, minExponent)) {
    // Adding 1.5 * 2^52 quanta leaves no bit below one quantum.
    double shift = std::ldexp(1.5, minExponent - (precision - 1) + 52);
    rounded = std::copysign((value + shift) - shift, value);
  } else {
    int drop = 53 - precision;
    uint64_t bits = std::bit_cast<uint64_t>(value);
    bits += (uint64_t(1) << (drop - 1)) - 1 + ((bits >> drop) & 1);
    bits &= ~((uint64_t(1) << drop) - 1);
    rounded = std::bit_cast<double>(bits);
  }
  if (std::fabs(rounded) > largest)
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  return rounded;
}

double roundTo(Type element, double value) {
  if (element.isF32())
    return static_cast<float>(value);
  if (element.isF16())
    return roundBits(value, 11, -14, 65504.0);
  if (element.isBF16())
    return roundBits(value, 8, -126, 0x1.fep127);
  return value;
}

void roundAll(Type element, llvm::MutableArrayRef<double> values) {
  if (element.isF64())
    return;
  if (element.isF32()) {
    for (double &value : values)
      value = static_cast<float>(value);
    return;
  }
  for (double &value : values)
    value = roundTo(element, value);
}

IntKind IntKind::of(Type element) {
  auto type = cast<IntegerType>(element);
  return {type.getWidth(), type.isUnsigned() || type.getWidth() == 1};
}

int64_t IntKind::wrap(int64_t value) const {
  if (width >= 64)
    return value;
  unsigned shift = 64 - width;
  uint64_t high = static_cast<uint64_t>(value) << shift;
  return isUnsigned ? static_cast<int64_t>(high >> shift)
                    : static_cast<int64_t>(high) >> shift;
}

int64_t IntKind::lowest() const {
  return isUnsigned ? 0 : std::numeric_limits<int64_t>::min() >> (64 - width);
}

int64_t IntKind::highest() const {
  if (isU64())
    return -1;
  return std::numeric_limits<int64_t>::max() >>
         (64 - width - (isUnsigned ? 1 : 0));
}

bool IntKind::less(int64_t lhs, int64_t rhs) const {
  return isU64() ? static_cast<uint64_t>(lhs) < static_cast<uint64_t>(rhs)
                 : lhs < rhs;
}

double IntKind::toDouble(int64_t value) const {
  return isU64() ? static_cast<double>(static_cast<uint64_t>(value))
                 : static_cast<double>(value);
}

int64_t IntKind::fromDouble(double value) const {
  if (std::isnan(value))
    return 0;
  value = std::trunc(value);
  // 2^63 and 2^64 are exact doubles, the highest integers are not.
  if (isU64()) {
    if (value <= 0)
      return 0;
    return value >= 0x1p64 ? -1
                           : static_cast<int64_t>(static_cast<uint64_t>(value));
  }
  if (value <= static_cast<double>(lowest()))
    return lowest();
  if (value >= static_cast<double>(highest()))
    return highest();
  return static_cast<int64_t>(value);
}

} // namespace tenon::reference
