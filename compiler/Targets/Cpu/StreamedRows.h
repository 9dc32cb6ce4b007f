//===- StreamedRows.h - A few rows by a matrix as it lies -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_STREAMEDROWS_H
#define TENON_COMPILER_TARGETS_CPU_STREAMEDROWS_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// sums[rows][columns] = A[rows][depth] * B[depth][columns] in f32, each sum
/// from zero by fused multiply-adds in the order of k. Elements of a row lie
/// together, rows at a stride; all sizes are i64 in elements. What lies behind
/// the columns is not read of B; of sums, streamedPadding elements are.
struct StreamedRows {
  Value a, aStride, b, bStride, depth, columns, sums, sumsStride;
};
inline constexpr int64_t streamedPadding = 16;

/// By a function that all kernels of a module share, for kernel::streamedRows
/// rows at most.
void callStreamedRows(Emitter &e, int64_t rows, const StreamedRows &operands);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_STREAMEDROWS_H
