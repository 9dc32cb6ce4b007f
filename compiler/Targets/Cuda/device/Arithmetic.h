//===- Arithmetic.h - What functions of floats are made of ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CUDA_DEVICE_ARITHMETIC_H
#define TENON_COMPILER_TARGETS_CUDA_DEVICE_ARITHMETIC_H

// Devices have no C library and so no headers of it.
using Bits = unsigned long long;
using Signed = long long;

inline double fma(double x, double y, double z) {
  return __builtin_fma(x, y, z);
}
inline double abs(double x) { return __builtin_fabs(x); }
inline double root(double x) { return __builtin_elementwise_sqrt(x); }
inline double signOf(double size, double x) {
  return __builtin_copysign(size, x);
}
inline double nearest(double x) { return __builtin_elementwise_roundeven(x); }
inline bool isNan(double x) { return x != x; }
inline Bits bitsOf(double x) { return __builtin_bit_cast(Bits, x); }
inline double fromBits(Bits x) { return __builtin_bit_cast(double, x); }

constexpr double infinity = __builtin_inf();
constexpr double nan = __builtin_nan("");
constexpr double ln2High = 0x1.62e42fefa3800p-1, ln2Low = 0x1.ef35793c76730p-45;
constexpr double halfPi = 0x1.921fb54442d18p+0,
                 halfPiLow = 0x1.1a62633145c07p-54;

/// high + low, where low is less than half a unit of high's last place.
struct Pair {
  double high, low;
};

inline Pair sumOf(double large, double small) {
  double sum = large + small;
  return {sum, small - (sum - large)};
}

inline Pair productOf(double x, double y) {
  double product = x * y;
  return {product, fma(x, y, -product)};
}

/// x 2^power, for a power in [-2000, 2000], rounded once.
inline double scale(double x, int power) {
  int half = power / 2;
  return x * fromBits(Bits(1023 + half) << 52) *
         fromBits(Bits(1023 + power - half) << 52);
}

/// Coefficients from the highest down.
template <int count>
inline double polynomial(const double (&coefficients)[count], double x) {
  double sum = coefficients[0];
#pragma clang loop unroll(full)
  for (int i = 1; i < count; ++i)
    sum = fma(sum, x, coefficients[i]);
  return sum;
}

#endif // TENON_COMPILER_TARGETS_CUDA_DEVICE_ARITHMETIC_H
