//===- Math.h - Functions that kernels call through their context ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_RUNTIME_MATH_H
#define TENON_RUNTIME_MATH_H

#include "runtime/model_format.h"

namespace tenon::runtime {

extern double (*const unaryMath[TENON_MATH_UNARY_COUNT])(double);
extern double (*const binaryMath[TENON_MATH_BINARY_COUNT])(double, double);
extern float (*const unaryMathF32[TENON_MATH_UNARY_COUNT])(float);
extern float (*const binaryMathF32[TENON_MATH_BINARY_COUNT])(float, float);

} // namespace tenon::runtime

#endif // TENON_RUNTIME_MATH_H
