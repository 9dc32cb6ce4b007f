//===- Math.cpp - Functions of floats that device code calls --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each argument is brought into a small range by an identity; there a few terms
// of the function's series are enough. erf has polynomials fitted to it.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cuda/device/Math.h"
#include "compiler/Targets/Cuda/device/Arithmetic.h"
#include "compiler/Targets/Cuda/device/Trigonometry.h"

//===----------------------------------------------------------------------===//
// Exponentials and logarithms
//===----------------------------------------------------------------------===//

/// e^r - 1 - r for |r| <= ln(2) / 2.
static double expTail(double r) {
  constexpr double series[] = {
      1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0,
      1.0 / 362880.0,     1.0 / 40320.0,     1.0 / 5040.0,     1.0 / 720.0,
      1.0 / 120.0,        1.0 / 24.0,        1.0 / 6.0,        1.0 / 2.0};
  return r * r * polynomial(series, r);
}

/// x + low = n ln(2) + rest, the rest in two parts.
static Pair reduceByLn2(double x, double n, double low = 0) {
  double high = fma(n, -ln2High, x); // Exact.
  return sumOf(high, fma(n, -ln2Low, low));
}

/// e^(x + low), for a low that is tiny beside x.
static double expOf(double x, double low) {
  if (isNan(x))
    return x;
  if (x > 709.79)
    return infinity;
  if (x < -745.2)
    return 0;
  double n = nearest(x * 0x1.71547652b82fep+0);
  Pair r = reduceByLn2(x, n, low);
  double tail = expTail(r.high) + r.low * (1 + r.high);
  return scale(1 + (r.high + tail), int(n));
}

double tenon_exp(double x) { return expOf(x, 0); }

double tenon_expm1(double x) {
  if (isNan(x) || x == 0)
    return x;
  if (x > 709.79)
    return infinity;
  if (x < -50)
    return -1;
  double n = nearest(x * 0x1.71547652b82fep+0);
  Pair r = reduceByLn2(x, n);
  double less = r.high + (expTail(r.high) + r.low * (1 + r.high));
  if (n == 0)
    return less;
  // 2^n (1 + less) - 1, where 2^n may be too large to be a number.
  if (n > 1000)
    return scale(1 + less, int(n));
  double power = scale(1, int(n));
  return n < 53 ? fma(power, less, power - 1) : fma(power, less, -1.0) + power;
}

/// x = m 2^exponent with m in [sqrt(1/2), sqrt(2)), for positive numbers.
struct Parts {
  double mantissa;
  int exponent;
};

static Parts partsOf(double x) {
  int extra = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    extra = -54;
  }
  constexpr Bits rootOfHalf = 0x3fe6a09e667f3bcd;
  Signed moved = Signed(bitsOf(x) - rootOfHalf);
  int exponent = int(moved >> 52);
  return {fromBits(bitsOf(x) - (Bits(Signed(exponent)) << 52)),
          exponent + extra};
}

/// 2 atanh(s) / s - 2 - 2/3 z, as a multiple of z^2, z = s^2 up to 0.03.
static double atanhTail(double z) {
  constexpr double series[] = {2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15,
                               2.0 / 13, 2.0 / 11, 2.0 / 9,  2.0 / 7,  2.0 / 5};
  return polynomial(series, z);
}

/// What logarithms make of 0, negatives, infinity and NaN.
static double logOfSpecial(double x) {
  return x == 0 ? -infinity : x < 0 ? nan : x;
}

double tenon_log(double x) {
  if (!(x > 0 && x < infinity))
    return logOfSpecial(x);
  Parts parts = partsOf(x);
  double e = parts.exponent, f = parts.mantissa - 1, s = f / (2 + f);
  double z = s * s, halfSquare = 0.5 * f * f;
  double rest = z * fma(z, atanhTail(z), 2.0 / 3);
  double low = fma(s, halfSquare + rest, e * ln2Low);
  return fma(e, ln2High, f - (halfSquare - low));
}

double tenon_log1p(double x) {
  double sum = 1 + x;
  if (sum == 1 || !(sum > 0 && sum < infinity))
    return sum == 1 || sum > 0 ? x : logOfSpecial(sum);
  // What the sum lost by rounding, relative to it.
  double lost = x >= 1 ? 1 - (sum - x) : x - (sum - 1);
  return tenon_log(sum) + lost / sum;
}

/// log(x) to some 63 bits, for positive numbers.
static Pair longLog(double x) {
  Parts parts = partsOf(x);
  double e = parts.exponent, f = parts.mantissa - 1;
  // s = f / (2 + f)
  Pair below = sumOf(2, f);
  double s = f / below.high;
  double sLow = (fma(-s, below.high, f) - s * below.low) / below.high;
  Pair z = productOf(s, s);
  double zLow = fma(2 * s, sLow, z.low);
  // 2 s + 2/3 s^3 + ...
  Pair cube = productOf(z.high, s);
  double cubeLow = cube.low + zLow * s + z.high * sLow;
  constexpr double third = 0x1.5555555555555p-1;
  Pair term = productOf(cube.high, third);
  double termLow = term.low + cubeLow * third + cube.high * 0x1p-54 * third;
  double tail = cube.high * z.high * atanhTail(z.high);
  Pair sum = sumOf(2 * s, term.high);
  double sumLow = sum.low + (2 * sLow + termLow + tail);
  // e ln(2), whose first part is exact.
  Pair all = e == 0 ? Pair{sum.high, 0} : sumOf(e * ln2High, sum.high);
  return sumOf(all.high, all.low + (sumLow + e * ln2Low));
}

//===----------------------------------------------------------------------===//
// Powers and remainders
//===----------------------------------------------------------------------===//

/// Of a number: 0 when it is no integer, 1 when it is odd, 2 when even.
static int parity(double y) {
  double size = abs(y);
  if (size >= 0x1p53)
    return 2;
  double whole = __builtin_elementwise_trunc(size);
  if (whole != size)
    return 0;
  return Bits(whole) & 1 ? 1 : 2;
}

double tenon_pow(double x, double y) {
  if (y == 0 || x == 1)
    return 1;
  if (isNan(x) || isNan(y))
    return nan;
  double size = abs(x);
  int kind = parity(y);
  double sign = kind == 1 ? signOf(1, x) : 1;
  if (size == 0 || size == infinity)
    return sign * ((size == 0) == (y < 0) ? infinity : 0);
  if (abs(y) == infinity)
    return size == 1 ? 1 : (size < 1) == (y < 0) ? infinity : 0;
  if (x < 0 && kind == 0)
    return nan;
  Pair log = longLog(size);
  Pair product = productOf(y, log.high);
  if (!(abs(product.high) < 1e4)) // Also where it overflowed.
    return sign * ((size < 1) == (y < 0) ? infinity : 0);
  return sign * expOf(product.high, fma(y, log.low, product.low));
}

double tenon_fmod(double x, double y) {
  constexpr Bits implicit = Bits(1) << 52;
  Bits a = bitsOf(abs(x)), c = bitsOf(abs(y));
  if (isNan(y) || c == 0 || a >= bitsOf(infinity))
    return nan;
  if (a < c)
    return x;
  auto exponentOf = [](Bits bits) { return int(bits >> 52); };
  auto mantissaOf = [&](Bits bits) {
    return exponentOf(bits) ? (bits & (implicit - 1)) | implicit : bits;
  };
  // Denormals have the exponent of the smallest normals.
  int ea = exponentOf(a) ? exponentOf(a) : 1;
  int ec = exponentOf(c) ? exponentOf(c) : 1;
  Bits rest = mantissaOf(a), by = mantissaOf(c);
  if (ec == 0x7ff)
    return x;
  rest %= by;
  for (int left = ea - ec; left > 0 && rest; left -= 11)
    rest = (rest << (left < 11 ? left : 11)) % by;
  if (rest == 0)
    return signOf(0, x);
  int up = __builtin_clzll(rest) - 11;
  int exponent = ec - up;
  if (exponent <= 0)
    return signOf(fromBits(rest << (ec - 1)), x);
  return signOf(fromBits(((rest << up) - implicit) | Bits(exponent) << 52), x);
}

//===----------------------------------------------------------------------===//
// Trigonometry
//===----------------------------------------------------------------------===//

/// Below, a sine is the angle; and so has its sign if that is 0.
constexpr double tiny = 1e-9;

double tenon_sin(double x) {
  if (abs(x) < tiny)
    return x;
  Angle angle = reduceByHalfPi(x);
  double value = angle.quadrant & 1 ? cosine(angle.rest) : sine(angle.rest);
  return angle.quadrant & 2 ? -value : value;
}

double tenon_cos(double x) {
  Angle angle = reduceByHalfPi(x);
  double value = angle.quadrant & 1 ? sine(angle.rest) : cosine(angle.rest);
  return (angle.quadrant + 1) & 2 ? -value : value;
}

double tenon_tan(double x) {
  if (abs(x) < tiny)
    return x;
  Angle angle = reduceByHalfPi(x);
  double s = sine(angle.rest), c = cosine(angle.rest);
  return angle.quadrant & 1 ? -c / s : s / c;
}

double tenon_atan(double x) {
  // atan(k / 8), in two parts.
  static constexpr Pair table[] = {
      {0, 0},
      {0x1.fd5ba9aac2f6ep-4, -0x1.cd37686760c17p-59},
      {0x1.f5b75f92c80ddp-3, 0x1.8ab6e3cf7afbdp-57},
      {0x1.6f61941e4def1p-2, -0x1.c63aae6f6e918p-56},
      {0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
      {0x1.1e00babdefeb4p-1, -0x1.928df287a668fp-58},
      {0x1.4978fa3269ee1p-1, 0x1.2419a87f2a458p-56},
      {0x1.700a7c5784634p-1, -0x1.8c34d25aadef6p-56},
      {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55}};
  constexpr double series[] = {1.0 / 17, -1.0 / 15, 1.0 / 13, -1.0 / 11,
                               1.0 / 9,  -1.0 / 7,  1.0 / 5,  -1.0 / 3};
  if (isNan(x))
    return x;
  double size = abs(x);
  bool isLarge = size > 1;
  double t = isLarge ? 1 / size : size;
  int near = int(nearest(t * 8));
  double base = near * 0.125;
  double d = (t - base) / fma(t, base, 1);
  double z = d * d;
  double rest = fma(d * z, polynomial(series, z), d);
  double value = table[near].high + (rest + table[near].low);
  if (isLarge)
    value = halfPi - (value - halfPiLow);
  return signOf(value, x);
}

/// asin(x) for x in [0, sqrt(1/2)], z being x^2.
static double asinNear(double x, double z) {
  return tenon_atan(x / root(1 - z));
}

double tenon_asin(double x) {
  double size = abs(x);
  if (size <= 0.5)
    return size < tiny ? x : asinNear(x, x * x);
  double z = (1 - size) * 0.5;
  return signOf(halfPi - (2 * asinNear(root(z), z) - halfPiLow), x);
}

double tenon_acos(double x) {
  if (abs(x) <= 0.5)
    return halfPi - (asinNear(x, x * x) - halfPiLow);
  double z = (1 - abs(x)) * 0.5;
  double value = 2 * asinNear(root(z), z);
  return x < 0 ? 2 * halfPi - (value - 2 * halfPiLow) : value;
}

//===----------------------------------------------------------------------===//
// Hyperbolic functions
//===----------------------------------------------------------------------===//

double tenon_sinh(double x) {
  double size = abs(x);
  if (size > 22) {
    double half = tenon_exp(size * 0.5);
    return size < 709 ? signOf(0.5 * tenon_exp(size), x)
                      : signOf(0.5 * half * half, x);
  }
  double e = tenon_expm1(size);
  return signOf(0.5 * (e + e / (e + 1)), x);
}

double tenon_cosh(double x) {
  double size = abs(x);
  if (size > 22) {
    double half = tenon_exp(size * 0.5);
    return size < 709 ? 0.5 * tenon_exp(size) : 0.5 * half * half;
  }
  double e = tenon_exp(size);
  return 0.5 * e + 0.5 / e;
}

double tenon_tanh(double x) {
  double size = abs(x);
  if (size > 22)
    return signOf(1, x);
  double e = tenon_expm1(2 * size);
  return isNan(x) ? x : signOf(e / (e + 2), x);
}

double tenon_asinh(double x) {
  double size = abs(x);
  if (!(size < 0x1p28)) // Also NaN.
    return signOf(tenon_log(size) + 0x1.62e42fefa39efp-1, x);
  double z = size * size;
  return signOf(tenon_log1p(size + z / (1 + root(1 + z))), x);
}

double tenon_acosh(double x) {
  if (!(x >= 1))
    return nan;
  if (x >= 0x1p28)
    return tenon_log(x) + 0x1.62e42fefa39efp-1;
  double t = x - 1;
  return tenon_log1p(t + root(2 * t + t * t));
}

double tenon_atanh(double x) {
  double size = abs(x);
  return signOf(0.5 * tenon_log1p(2 * size / (1 - size)), x);
}

//===----------------------------------------------------------------------===//
// The error function
//===----------------------------------------------------------------------===//

double tenon_erf(double x) {
  // erf(x) / x, of x^2 in [0, 1].
  constexpr double near[] = {
      0x1.05ffd737fb32ep-34,  -0x1.389d4f2641625p-30, 0x1.f7b4bf3b13964p-27,
      -0x1.5f1ecb6f0764cp-23, 0x1.b9df224ca4b97p-20,  -0x1.f4d1e3183f7aep-17,
      0x1.f9a321d5b8e1ep-14,  -0x1.c02db3dac435fp-11, 0x1.565bcd0dbaa38p-8,
      -0x1.b82ce31284e00p-6,  0x1.ce2f21a042b30p-4,   -0x1.812746b0379e6p-2,
      0x1.20dd750429b6dp+0};
  // erfc(x) e^(x^2), of (x - 2.5) / (x + 2.5) for x in [1, 6].
  constexpr double far[] = {
      0x1.2afb1c52ac24cp-24,  0x1.7192050274bd2p-22,  0x1.4ddcaf4dae0f3p-24,
      -0x1.e3b8c3407cc04p-20, -0x1.3472778d38e8bp-19, 0x1.fad8951cd7c81p-18,
      0x1.384c7c85f405ep-16,  -0x1.1ebdcc253f1abp-15, -0x1.0e46678de05fbp-13,
      0x1.def2c8454f03cp-13,  0x1.cb3b61b2f73b9p-11,  -0x1.5a5716cd2b488p-9,
      -0x1.05bb2fe5b9447p-8,  0x1.470ba1f67e4f3p-5,   -0x1.0011543716c9bp-3,
      0x1.01c11a735cd99p-2,   -0x1.7ca88dec217a6p-2,  0x1.afbb3f3b7343bp-3};
  double size = abs(x);
  if (isNan(x))
    return x;
  if (size < 1)
    return x * polynomial(near, x * x);
  if (size >= 6)
    return signOf(1, x);
  double factor = polynomial(far, (size - 2.5) / (size + 2.5));
  return signOf(1 - factor * tenon_exp(-size * size), x);
}

//===----------------------------------------------------------------------===//
// f32
//===----------------------------------------------------------------------===//

#define DEFINE(NAME)                                                           \
  float tenon_##NAME##f(float x) { return float(tenon_##NAME(double(x))); }
TENON_UNARY_FUNCTIONS(DEFINE)
#undef DEFINE
#define DEFINE(NAME)                                                           \
  float tenon_##NAME##f(float x, float y) {                                    \
    return float(tenon_##NAME(double(x), double(y)));                          \
  }
TENON_BINARY_FUNCTIONS(DEFINE)
#undef DEFINE
