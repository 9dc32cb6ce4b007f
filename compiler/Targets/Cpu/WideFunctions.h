//===- WideFunctions.h - Functions of f32 by way of f64 -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where f32 would lose digits on the way, f64 terms are more precise than an
// f32 result can show: one rounding is all that is lost.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CPU_WIDEFUNCTIONS_H
#define TENON_COMPILER_TARGETS_CPU_WIDEFUNCTIONS_H

#include "compiler/Targets/Cpu/FloatTerm.h"

namespace tenon::cpu {

/// The logarithm to base 2 of a positive normal number, to 2^-38.
Term wideLog2(Term x);

/// 2^x for x in [-1000, 1000], to 2^-37.
Term widePowerOfTwo(Term x);

/// A trigonometric or hyperbolic function (a tenon_math_t) or its inverse; f64
/// by a call.
mlir::Value emitTrigonometry(ImplicitLocOpBuilder &b, FormulaHost &host,
                             int function, mlir::Value x);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_WIDEFUNCTIONS_H
