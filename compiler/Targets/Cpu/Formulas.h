//===- Formulas.h - One formula per pointwise op --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements are computed as: f32 for f32, f16 and bf16 (the value always being
// one that the narrow type can hold), f64 for f64, iN for integers of either
// sign and for bools. Every function here takes scalars or vectors alike.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CPU_FORMULAS_H
#define TENON_COMPILER_TARGETS_CPU_FORMULAS_H

#include "dialects/Graph/Graph.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

namespace tenon::cpu {

/// What formulas need from the kernel that they are part of.
class FormulaHost {
public:
  virtual ~FormulaHost() = default;

  /// Calls a function of the context's tables; `function` is a tenon_math_t.
  /// Operands are scalar f32 or f64.
  virtual mlir::Value callMath(int function, mlir::ValueRange operands) = 0;

  /// 2^x of f32 to two units in the last place, if there is an instruction for
  /// it: 0 or infinity where it is beyond normal numbers.
  virtual bool hasPower2() const { return false; }
  virtual mlir::Value power2(mlir::Value x) { return x; }

  /// Makes the kernel report a fault (tenon_fault_t) of `op` where the i1
  /// scalar `bad` is true.
  virtual void fault(mlir::Value bad, int code, mlir::Operation *op) = 0;
};

using mlir::ImplicitLocOpBuilder;

/// The type that elements of a tensor are computed in.
mlir::Type computeType(mlir::Type element);

/// `scalar`, or a vector of it as long as `shape` when that is a vector.
mlir::Type sameShape(mlir::Type shape, mlir::Type scalar);

/// A float or integer constant of the (scalar or vector) type `like`.
mlir::Value constantLike(ImplicitLocOpBuilder &b, mlir::Type like,
                         double value);

/// The element that a pointwise op computes from its operands' elements. Null
/// for an op that is not pointwise.
mlir::Value emitFormula(ImplicitLocOpBuilder &b, FormulaHost &host,
                        mlir::Operation *op, mlir::ValueRange operands);

/// Rounds a value computed in f32 to what `element` (f16, bf16) can hold;
/// anything else is returned as it is.
mlir::Value roundTo(ImplicitLocOpBuilder &b, mlir::Value value,
                    mlir::Type element);

/// Converts by the rules of graph.cast; types are tensors' element types.
mlir::Value emitCast(ImplicitLocOpBuilder &b, mlir::Value value,
                     mlir::Type from, mlir::Type to);

/// x < y, and the larger or smaller where NaN wins; `element` tells signed
/// from unsigned.
mlir::Value emitLess(ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value y,
                     mlir::Type element);
mlir::Value emitMax(ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value y,
                    mlir::Type element);
mlir::Value emitMin(ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value y,
                    mlir::Type element);

/// Sums, products and fused multiply-adds (x * y + z) of compute types.
mlir::Value emitAdd(ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value y);
mlir::Value emitMul(ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value y);
mlir::Value emitMulAdd(ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value y,
                       mlir::Value z);

/// Functions of floats; f32 by polynomials, f64 through the host's tables.
mlir::Value emitExp(ImplicitLocOpBuilder &b, FormulaHost &host, mlir::Value x);
mlir::Value emitLog(ImplicitLocOpBuilder &b, FormulaHost &host, mlir::Value x);
mlir::Value emitSin(ImplicitLocOpBuilder &b, FormulaHost &host, mlir::Value x);
mlir::Value emitCos(ImplicitLocOpBuilder &b, FormulaHost &host, mlir::Value x);
mlir::Value emitTanh(ImplicitLocOpBuilder &b, FormulaHost &host, mlir::Value x);
mlir::Value emitErf(ImplicitLocOpBuilder &b, FormulaHost &host, mlir::Value x);
mlir::Value emitSigmoid(ImplicitLocOpBuilder &b, FormulaHost &host,
                        mlir::Value x);
/// To the last digits, or as well as bf16 needs it.
mlir::Value emitGelu(ImplicitLocOpBuilder &b, FormulaHost &host,
                     graph::GeluKind kind, mlir::Value x, bool isRough);
mlir::Value emitSoftplus(ImplicitLocOpBuilder &b, FormulaHost &host,
                         mlir::Value x);

/// Applies a function of the tables to each lane.
mlir::Value emitMathCall(ImplicitLocOpBuilder &b, FormulaHost &host,
                         int function, mlir::ValueRange operands);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_FORMULAS_H
