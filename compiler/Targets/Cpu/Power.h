//===- Power.h - Powers of floats -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_POWER_H
#define TENON_COMPILER_TARGETS_CPU_POWER_H

#include "compiler/Targets/Cpu/Formulas.h"

namespace tenon::cpu {

/// x^y as C's pow has it: f32 rounded once, f64 by a call.
mlir::Value emitPow(ImplicitLocOpBuilder &b, FormulaHost &host, mlir::Value x,
                    mlir::Value y);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_POWER_H
