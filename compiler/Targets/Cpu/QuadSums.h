//===- QuadSums.h - Sums of products of bytes in a convolution ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions multiply ui8 by i8. So numbers of the image that are i8 count
// from 128 below, and those of a filter that are ui8 from 128 above, as do
// their zero points. With a and b for what is multiplied, y and z for the zero
// points, and K steps of a window, those that complete its lines among them,
//
//   sum (a - y) (b - z) = sum a b - y sum b - z (sum a - K y)
//
// modulo 2^32. Of the image, y also lies where a window has no pixel, and
// where a line has no number.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CPU_QUADSUMS_H
#define TENON_COMPILER_TARGETS_CPU_QUADSUMS_H

#include "compiler/Targets/Cpu/PanelEpilogue.h"
#include "dialects/Kernel/ConvDepth.h"
#include "dialects/Kernel/IntegerConvView.h"

namespace tenon::cpu {

/// The zero point of an image four times in an i32, or zero.
Value zeroPointQuad(Emitter &e, const kernel::IntegerFactor &image);
/// Bytes that are i8, in a vector of them or of i32, as ui8 from 128 below.
Value flippedToUnsigned(Emitter &e, Value bytes);

class QuadSums {
public:
  /// Of a kernel whose groups have so many rows at most.
  QuadSums(Emitter &e, graph::ConvOp op, const kernel::ConvDepth &depth,
           int64_t groupRows);

  bool needsRowSums() const { return bool(rowSums); }
  /// Sums `steps` elements of each of a group's rows, `stride` apart; those of
  /// blocks of the depth but the first are added to what is there.
  void sumRows(Value from, Value stride, Value rows, Value steps, Value more);
  /// As storePanelRow, of sums of i32 that wait: `inGroup` says which of the
  /// group's rows it is; the sums of the panel's maps are at `mapSums`.
  void storeRow(const PanelRow &row, Value inGroup, Value mapSums);

private:
  Value filterZero(Value map);
  Value i32Number(int64_t value);

  Emitter &e;
  graph::ConvOp op;
  kernel::IntegerConvView view;
  mlir::Type i32;
  int64_t window;           // Its steps.
  Value imageZero, rowSums; // Null where it is zero, or none are needed.
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_QUADSUMS_H
