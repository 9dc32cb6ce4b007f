//===- QuadPanel.h - Panels of bytes that are packed on the way -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_QUADPANEL_H
#define TENON_COMPILER_TARGETS_CPU_QUADPANEL_H

#include "compiler/Targets/Cpu/Emitter.h"

namespace tenon::cpu {

/// Columns of a matrix of bytes: step k of column n is at `base` + k *
/// stepStride + n * columnStride. A stride that is known to be 1 is the
/// constant 1.
struct ByteColumns {
  Value base, stepStride, columnStride;
  Value depth, columns; // Steps of k; at most kernel::panelColumns.
  bool isSigned;
  /// Whether four steps of k of a column are a word, and words are a whole
  /// number of them apart.
  bool liesInQuads;
};

/// Packs them to `out` as IntegerMatmulView.h has panels: what a column lacks
/// of four steps is zero, and columns that are not there are anything.
void packQuads(Emitter &e, const ByteColumns &source, Value out);

/// Vectors of quads of ui8 or i8 as two of StripKind::Words, in the type of the
/// quads.
std::pair<Value, Value> wordsOfQuads(mlir::ImplicitLocOpBuilder &b, Value quads,
                                     bool areSigned);
/// out[2 * lines][panelColumns] = a panel of quads as words.
void widenQuads(Emitter &e, Value panel, Value out, Value lines);
/// The same of rows of `quads` of ui8, `stride` bytes apart, to rows that are
/// `outStride` apart.
struct QuadRows {
  Value from, stride, rows, quads, out, outStride;
};
void widenQuadRows(Emitter &e, const QuadRows &rows);

/// The sum of `count` ui8 from `line` on, as i32.
Value sumOfBytes(Emitter &e, Value line, Value count);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_QUADPANEL_H
