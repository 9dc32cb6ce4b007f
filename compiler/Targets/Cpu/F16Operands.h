//===- F16Operands.h - What is multiplied and added up in f16 -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f16 ends at 65504 and has its last full precision at 2^-14. So that neither
// matters, rows of lhs are multiplied by powers of two, of which sums of
// products are freed at last. Weights are below 64 (see NarrowRules.h), of
// which 128 products by numbers below 4 add up to no more than 2^15. Other rhs
// may have any numbers, and their columns have powers of two as well.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CPU_F16OPERANDS_H
#define TENON_COMPILER_TARGETS_CPU_F16OPERANDS_H

#include "compiler/Targets/Cpu/MatmulOperands.h"

namespace tenon::cpu {

/// Two powers of two: the first makes of the largest of some numbers one from 2
/// on and below 4, unless it is zero, and the second is its inverse. `size` is
/// the largest of their bitsOfSize, or a vector of such.
std::pair<Value, Value> f16FactorsOf(mlir::ImplicitLocOpBuilder &b, Value size);
/// The bits of f32, or of a vector of it, without the sign; 0 of what is not
/// finite, which spreads whatever it is multiplied by.
Value bitsOfSize(mlir::ImplicitLocOpBuilder &b, Value numbers);

/// Rows of a matrix of f32 or bf16, whose columns lie together, become ones of
/// f16 of `stride` pairs, multiplied by factors of their own, whose inverses
/// `factors` has.
struct F16Rows {
  Value out, stride, factors, rows, pairs;
};
void callRoundRows(Emitter &e, const Matrix &a, const F16Rows &to);

/// Lines of images in bf16, and so many elements from the first one's on, which
/// become f16, as one power of two and what lies in those lines wants it; its
/// inverse is stored to `factor`. Strides are in elements.
struct F16Block {
  Value from, imageStride, images, lineStride, lines, length;
  Value out, count, factor;
};
void callRoundBlock(Emitter &e, const F16Block &block);

/// Lanes of two vectors of f16, in turn.
Value interleaved(mlir::ImplicitLocOpBuilder &b, Value even, Value odd);
/// A block of a panel, [2 * pairs][panelColumns] of f32 or [pairs]
/// [panelColumns] pairs of bf16, becomes pairs of f16 in its place, each column
/// multiplied by a factor of its own, whose inverses are stored.
void callRoundPanel(Emitter &e, Value panel, Value pairs, Value factors,
                    bool ofBf16);

/// A vector of pairs of f16, seen as one of f16, of two of f32.
Value f16PairsOf(mlir::ImplicitLocOpBuilder &b, Value even, Value odd);

/// out[pairs][panelColumns] = a block of a panel of pairs of bf16 as ones of
/// f16.
void pairsToF16(Emitter &e, Value packed, Value out, Value pairs);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_F16OPERANDS_H
