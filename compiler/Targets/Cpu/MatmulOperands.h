//===- MatmulOperands.h - Copies matmul operands for the strip ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_MATMULOPERANDS_H
#define TENON_COMPILER_TARGETS_CPU_MATMULOPERANDS_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// A matrix in memory: element (i, j) of f32, or bf16, is `base` +
/// i * rowStride + j * columnStride. A stride that is known to be 1 is the
/// constant 1.
struct Matrix {
  Value base, rowStride, columnStride;
  bool isHalf = false;

  Value at(Emitter &e, Value row, Value column) const;
};

/// out[rows][depth] = a, or as the strip takes interleaved rows. Where they are
/// not, they may have a stride.
void copyLhs(Emitter &e, const Matrix &a, Value out, Value rows, Value depth,
             bool interleaved, Value outStride = {});

/// out[row * outStride + k] = a[row][k] as f32, of a bf16 matrix of contiguous
/// rows.
void widenLhs(Emitter &e, const Matrix &a, Value out, Value outStride,
              Value rows, Value depth);

/// Two vectors of f32 that bf16 holds as one of pairs; halfOfPairs is the way
/// back.
Value pairsOf(mlir::ImplicitLocOpBuilder &b, Value even, Value odd);

/// Two vectors of 16 f32 rounded to bf16, one behind the other, by an
/// instruction of levels that multiply pairs.
Value roundedBoth(mlir::ImplicitLocOpBuilder &b, Value first, Value second);

/// Two vectors of f32, rounded to bf16, as one of pairs.
Value roundedPairs(mlir::ImplicitLocOpBuilder &b, const CpuLevel &level,
                   Value even, Value odd);

/// The elements of even steps of a vector of pairs as bits of f32, or those of
/// odd ones.
Value halfOfPairs(mlir::ImplicitLocOpBuilder &b, Value pairs, bool odd);

/// A vector of pairs as the bits of twice as many f32, one behind the other.
Value widenedPairs(mlir::ImplicitLocOpBuilder &b, Value pairs);

/// out[2 * pairs][panelColumns] = a block of a panel of pairs as f32.
void widenPanel(Emitter &e, Value packed, Value out, Value pairs);

/// out[depth][panelColumns] = b; what lies behind `columns` is zero.
void packPanel(Emitter &e, const Matrix &b, Value out, Value depth,
               Value columns);

/// out[pairs][panelColumns] = pairs of rows of b, a bf16 whose columns lie
/// together, or whose rows do, each column from an even place on.
void packPairs(Emitter &e, const Matrix &b, Value out, Value pairs,
               Value columns);

/// out[r / 8 * groupStride + k * stepStride + r % 8] = a[r * aStride + k] for
/// all rows r and steps k, by a function that a module's kernels share.
struct TransposedCopy {
  Value a, aStride, out, groupStride, stepStride, rows, depth;
};
void callTranspose(mlir::OpBuilder &b, mlir::ModuleOp module,
                   const CpuLevel &level, const TransposedCopy &copy);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_MATMULOPERANDS_H
