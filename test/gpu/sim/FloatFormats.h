//===- FloatFormats.h - Bits of narrow floats -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_GPU_SIM_FLOATFORMATS_H
#define TENON_TEST_GPU_SIM_FLOATFORMATS_H

#include "test/gpu/sim/Program.h"

#include <bit>
#include <cstdint>

namespace tenon::sim {

/// What GPUs answer for every NaN of f32.
constexpr uint32_t kNan32 = 0x7fffffff;

inline float bitsToFloat(uint32_t bits) { return std::bit_cast<float>(bits); }
inline uint32_t floatToBits(float value) {
  return std::bit_cast<uint32_t>(value);
}

inline float canonical(float value) {
  return value == value ? value : bitsToFloat(kNan32);
}
inline double canonical(double value) { return value; }

/// f16 to f32, exactly.
inline float halfToFloat(uint16_t half) {
  // The exponent's excess is taken off by a product, which also normalises.
  uint32_t shifted = (half & 0x7fffu) << 13;
  float value = bitsToFloat(shifted) * 0x1p112f;
  uint32_t infinite = shifted >= 0x0f800000u ? 0x7f800000u : 0u;
  return bitsToFloat(floatToBits(value) | infinite | (half & 0x8000u) << 16);
}

inline float brainToFloat(uint16_t brain) {
  return bitsToFloat(uint32_t(brain) << 16);
}

/// f32 to f16, to nearest even; NaN becomes 0x7fff.
inline uint16_t floatToHalf(float value) {
  uint32_t bits = floatToBits(value), sign = bits >> 16 & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  // Below the least normal, a sum with 0.5 puts the units where f16 has them.
  uint32_t small = floatToBits(bitsToFloat(magnitude) + 0.5f) - 0x3f000000u;
  uint32_t normal = (magnitude + 0xc8000fffu + (magnitude >> 13 & 1)) >> 13;
  uint32_t result = magnitude < 0x38800000u ? small : normal;
  result = magnitude >= 0x477ff000u ? 0x7c00u : result;
  return magnitude > 0x7f800000u ? 0x7fff : uint16_t(result | sign);
}

/// f32 to bf16, to nearest even; NaN becomes 0x7fff.
inline uint16_t floatToBrain(float value) {
  uint32_t bits = floatToBits(value);
  uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  return (bits & 0x7fffffff) > 0x7f800000u ? 0x7fff : uint16_t(rounded);
}

/// A double's nearest value with one more rounding to come: inexact sums get
/// an odd last bit, so that the next rounding cannot see a false tie.
inline double oddSum(double a, double b) {
  double sum = a + b;
  double virtualB = sum - a;
  double error = (a - (sum - virtualB)) + (b - virtualB);
  uint64_t bits = std::bit_cast<uint64_t>(sum);
  if (error == 0 || error != error || (bits & 1))
    return sum;
  bool away = (error > 0) == (sum > 0);
  return std::bit_cast<double>(away ? bits + 1 : bits - 1);
}

/// Any of PTX's float formats to and from a double: value and rounding are
/// exact, except for NaN, which is canonical.
double decodeFloat(Type type, uint64_t bits);
/// `finite`: too large becomes the largest value (.satfinite).
uint64_t encodeFloat(Type type, double value, Rounding rounding, bool finite);

/// A double to f16 or bf16, to nearest even.
inline uint16_t doubleToNarrow(bool brain, double value) {
  Type type{brain ? Type::BFloat : Type::Float, 16, 1, uint8_t(brain ? 8 : 5)};
  return uint16_t(encodeFloat(type, value, Rounding::Even, false));
}

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_FLOATFORMATS_H
