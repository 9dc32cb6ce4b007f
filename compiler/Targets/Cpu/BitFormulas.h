//===- BitFormulas.h - What is done with the bits of numbers --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_BITFORMULAS_H
#define TENON_COMPILER_TARGETS_CPU_BITFORMULAS_H

#include "compiler/Targets/Cpu/Formulas.h"

namespace tenon::cpu {

/// Formulas (see Formulas.h) of an element x.
mlir::Value emitBitcast(ImplicitLocOpBuilder &b, graph::BitcastOp op,
                        mlir::Value x);
mlir::Value emitRoundFloat(ImplicitLocOpBuilder &b, graph::RoundFloatOp op,
                           mlir::Value x);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_BITFORMULAS_H
