//===- Power.h - Powers ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_POWER_H
#define TENON_COMPILER_TARGETS_CPU_POWER_H

#include "compiler/Targets/Cpu/Formulas.h"

namespace tenon::cpu {

/// x^y for elements of a power's operands. Of floats as C's pow has it: f32
/// rounded once, f64 by a call, both by products and roots where y is known to
/// be a small multiple of 1/4. Of integers, negative exponents truncate.
mlir::Value emitPow(ImplicitLocOpBuilder &b, FormulaHost &host, graph::PowOp op,
                    mlir::Value x, mlir::Value y);

/// The same of a float.
mlir::Value emitPow(ImplicitLocOpBuilder &b, FormulaHost &host, mlir::Value x,
                    double exponent);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_POWER_H
