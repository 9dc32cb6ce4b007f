//===- QuantizeFormulas.h - Numbers of few bits, from and to floats -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_QUANTIZEFORMULAS_H
#define TENON_COMPILER_TARGETS_CPU_QUANTIZEFORMULAS_H

#include "compiler/Targets/Cpu/Formulas.h"

namespace tenon::cpu {

/// Formulas (see Formulas.h) of elements x, scale and zero point.
mlir::Value emitQuantize(ImplicitLocOpBuilder &b, graph::QuantizeOp op,
                         mlir::Value x, mlir::Value scale, mlir::Value zero);
mlir::Value emitDequantize(ImplicitLocOpBuilder &b, graph::DequantizeOp op,
                           mlir::Value x, mlir::Value scale, mlir::Value zero);
/// Of elements x and scale.
mlir::Value emitDecode(ImplicitLocOpBuilder &b, graph::DecodeOp op,
                       mlir::Value x, mlir::Value scale);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_QUANTIZEFORMULAS_H
