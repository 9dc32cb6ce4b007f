//===- Math.cpp - Functions that kernels call through their context -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Math.h"

#include <math.h>
#include <stdint.h>

/// As fmodf, which may go bit by bit: up to this size a quotient of two
/// f32, rounded to f64, is no integer that the exact one is below, and what it
/// says is multiplied exactly.
static float remainderOf(float x, float y) {
  constexpr double mostExact = 1 << 28;
  double size = fabs(double(x)), by = fabs(double(y)), ratio = size / by;
  if (!(ratio < mostExact && by < double(INFINITY)))
    return fmodf(x, y);
  return copysignf(float(size - double(int64_t(ratio)) * by), x);
}

// In the order of `tenon_math_t`.
double (*const tenon::runtime::unaryMath[TENON_MATH_UNARY_COUNT])(double) = {
    acos, acosh, asin, asinh, atan, atanh, cos, cosh, erf,
    exp,  expm1, log,  log1p, sin,  sinh,  tan, tanh};

double (*const tenon::runtime::binaryMath[TENON_MATH_BINARY_COUNT])(double,
                                                                    double) = {
    pow, fmod};

float (*const tenon::runtime::unaryMathF32[TENON_MATH_UNARY_COUNT])(float) = {
    acosf, acoshf, asinf, asinhf, atanf, atanhf, cosf, coshf, erff,
    expf,  expm1f, logf,  log1pf, sinf,  sinhf,  tanf, tanhf};

float (*const tenon::runtime::binaryMathF32[TENON_MATH_BINARY_COUNT])(float,
                                                                      float) = {
    powf, remainderOf};
