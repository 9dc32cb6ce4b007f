//===- Math.cpp - Functions that kernels call through their context -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Math.h"

#include <math.h>

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
    powf, fmodf};
