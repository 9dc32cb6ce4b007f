//===- BitFormulas.h - What is done with the bits of numbers --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_BITFORMULAS_H
#define TENON_COMPILER_TARGETS_CPU_BITFORMULAS_H

#include "compiler/Targets/Cpu/Formulas.h"

namespace tenon::cpu {

/// The type that elements of a tensor have in memory, and conversions between
/// it and the one that they are computed in.
mlir::Type memoryType(mlir::Type element);
mlir::Value fromMemory(ImplicitLocOpBuilder &b, mlir::Value value,
                       mlir::Type element);
/// Of values that the element type holds: nothing is left to round.
mlir::Value toMemory(ImplicitLocOpBuilder &b, mlir::Value value,
                     mlir::Type element);

/// Formulas (see Formulas.h) of an element x.
mlir::Value emitBitcast(ImplicitLocOpBuilder &b, graph::BitcastOp op,
                        mlir::Value x);
mlir::Value emitRoundFloat(ImplicitLocOpBuilder &b, graph::RoundFloatOp op,
                           mlir::Value x);
/// Of a counter and a key, of 64 bits each.
mlir::Value emitRandomBits(ImplicitLocOpBuilder &b, mlir::Value counter,
                           mlir::Value key);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_BITFORMULAS_H
