//===- Math.h - Functions of floats that device code calls ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Those of tenon_math_t, in f64 and (name ending in f) in f32, to a few units
// in the last place over all numbers, and with C's results for the special
// ones. Compiled for devices, and for the machine that tests them.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CUDA_DEVICE_MATH_H
#define TENON_COMPILER_TARGETS_CUDA_DEVICE_MATH_H

// clang-format off: it finds no layout of this list that it leaves alone.
#define TENON_UNARY_FUNCTIONS(DO)                                              \
  DO(acos) DO(acosh) DO(asin) DO(asinh) DO(atan) DO(atanh) DO(cos) DO(cosh)    \
  DO(erf) DO(exp) DO(expm1) DO(log) DO(log1p) DO(sin) DO(sinh) DO(tan) DO(tanh)
// clang-format on
#define TENON_BINARY_FUNCTIONS(DO) DO(pow) DO(fmod)

extern "C" {
#define DECLARE(NAME)                                                          \
  double tenon_##NAME(double x);                                               \
  float tenon_##NAME##f(float x);
TENON_UNARY_FUNCTIONS(DECLARE)
#undef DECLARE
#define DECLARE(NAME)                                                          \
  double tenon_##NAME(double x, double y);                                     \
  float tenon_##NAME##f(float x, float y);
TENON_BINARY_FUNCTIONS(DECLARE)
#undef DECLARE
}

#endif // TENON_COMPILER_TARGETS_CUDA_DEVICE_MATH_H
