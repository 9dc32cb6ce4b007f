//===- Trigonometry.h - Sine and cosine of any angle ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CUDA_DEVICE_TRIGONOMETRY_H
#define TENON_COMPILER_TARGETS_CUDA_DEVICE_TRIGONOMETRY_H

#include "compiler/Targets/Cuda/device/Arithmetic.h"

/// An angle less `quadrant` (modulo 4) times pi / 2: in about [-pi/4, pi/4].
struct Angle {
  int quadrant;
  Pair rest;
};

/// 2 / pi in units of 2^-64, 2^-128, ..., behind 64 zeros.
inline Bits twoOverPi(int word) {
  static constexpr Bits words[] = {0,
                                   0xa2f9836e4e441529,
                                   0xfc2757d1f534ddc0,
                                   0xdb6295993c439041,
                                   0xfe5163abdebbc561,
                                   0xb7246e3a424dd2e0,
                                   0x06492eea09d1921c,
                                   0xfe1deb1cb129a73e,
                                   0xe88235f52ebb4484,
                                   0xe99c7026b45f7e41,
                                   0x3991d639835339f4,
                                   0x9c845f8bbdf9283b,
                                   0x1ff897ffde05980f,
                                   0xef2f118b5a0a6d1f,
                                   0x6d367ecf27cb09b7,
                                   0x4f463f669e5fea2d,
                                   0x7527bac7ebe5f17b,
                                   0x3d0739f78a5292ea,
                                   0x6bfb5fb11f8d5d08,
                                   0x56033046fc7b6bab,
                                   0xf0cfbc209af4361d};
  return words[word];
}

inline Bits highProduct(Bits x, Bits y) {
  return Bits((static_cast<unsigned __int128>(x) * y) >> 64);
}

/// For numbers from 2^-9 on: the product with those bits of 2 / pi that make
/// something else than whole turns of it.
inline Angle reduceByTable(double x) {
  Bits bits = bitsOf(abs(x));
  Bits mantissa = (bits & 0xfffffffffffff) | Bits(1) << 52;
  // The window starts with the bit that x moves to 2^1.
  int start = int(bits >> 52) - 1075 - 2 + 64;
  int word = start / 64, shift = start % 64;
  Bits window[3];
  for (int i = 0; i < 3; ++i) {
    Bits high = twoOverPi(word + i), low = twoOverPi(word + i + 1);
    window[i] = shift ? high << shift | low >> (64 - shift) : high;
  }
  // Modulo 2^192, of which the two highest bits count quadrants.
  Bits middle = highProduct(mantissa, window[2]) + mantissa * window[1];
  Bits carry = middle < mantissa * window[1];
  Bits top = mantissa * window[0] + highProduct(mantissa, window[1]) + carry;
  int quadrant = int((top + (Bits(1) << 61)) >> 62);
  top -= Bits(quadrant) << 62;
  bool isNegative = Signed(top) < 0;
  if (isNegative) {
    middle = ~middle + 1;
    top = ~top + (middle == 0);
  }
  // In quadrants: bits of `top` that one double holds, and the others.
  Pair turn = sumOf(double(top & ~Bits(0xff)) * 0x1p-62,
                    double(top & 0xff) * 0x1p-62 + double(middle) * 0x1p-126);
  Pair rest = productOf(turn.high, halfPi);
  rest =
      sumOf(rest.high, rest.low + fma(turn.high, halfPiLow, turn.low * halfPi));
  bool flips = isNegative != (x < 0);
  if (flips)
    rest = {-rest.high, -rest.low};
  return {x < 0 ? (4 - quadrant) & 3 : quadrant & 3, rest};
}

inline Angle reduceByHalfPi(double x) {
  if (!(abs(x) < infinity))
    return {0, {nan, 0}};
  if (abs(x) < 0.7853981)
    return {0, {x, 0}};
  if (abs(x) < 0x1p30) {
    // pi / 2 in three parts; the first has 33 bits, so that x less its multiple
    // is exact.
    double n = nearest(x * 0x1.45f306dc9c883p-1);
    double first = fma(-n, 0x1.921fb54400000p+0, x);
    Pair second = productOf(n, 0x1.0b4611a600000p-34);
    double high = first - second.high;
    double low =
        ((first - high) - second.high) - second.low - n * 0x1.3198a2e037073p-69;
    // Where nothing cancelled that matters.
    if (abs(high) > 0x1p-20)
      return {int(Signed(n) & 3), sumOf(high, low)};
  }
  return reduceByTable(x);
}

/// Both for angles in [-pi/4, pi/4].
inline double sine(Pair angle) {
  constexpr double series[] = {1.0 / 355687428096000.0,
                               -1.0 / 1307674368000.0,
                               1.0 / 6227020800.0,
                               -1.0 / 39916800.0,
                               1.0 / 362880.0,
                               -1.0 / 5040.0,
                               1.0 / 120.0,
                               -1.0 / 6.0};
  double x = angle.high, z = x * x;
  double rest =
      fma(x * z, polynomial(series, z), angle.low * fma(z, -0.5, 1.0));
  return x + rest;
}

inline double cosine(Pair angle) {
  constexpr double series[] = {-1.0 / 6402373705728000.0,
                               1.0 / 20922789888000.0,
                               -1.0 / 87178291200.0,
                               1.0 / 479001600.0,
                               -1.0 / 3628800.0,
                               1.0 / 40320.0,
                               -1.0 / 720.0,
                               1.0 / 24.0};
  double x = angle.high, z = x * x, half = 0.5 * z, first = 1 - half;
  double rest = fma(z * z, polynomial(series, z), -x * angle.low);
  return first + (((1 - first) - half) + rest);
}

#endif // TENON_COMPILER_TARGETS_CUDA_DEVICE_TRIGONOMETRY_H
