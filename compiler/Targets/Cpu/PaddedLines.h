//===- PaddedLines.h - Windows along lines in scratch memory --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_PADDEDLINES_H
#define TENON_COMPILER_TARGETS_CPU_PADDEDLINES_H

#include "compiler/Targets/Cpu/Windows.h"

namespace tenon::cpu {

/// Lines of f32 in scratch memory, of kernel::paddedLineBytes, that have the
/// elements of an image's line between those that stand for its border. Windows
/// along them are vectors.
class PaddedLines {
public:
  /// For windows of so many taps.
  PaddedLines(Emitter &e, const WindowAxis &axis, int64_t taps);

  /// Elements [from, to) of the image's line are read; the first lies in this
  /// cell, others behind it.
  Value from, to, cell;

  /// Sets what lies beside the image.
  void pad(Value line, Value empty) const;
  /// A vector from a cell on.
  Value load(Value line, Value at) const;
  /// One of elements that lie the stride apart, of which the first is so many
  /// behind a cell. Neighbouring taps are made of the same vectors.
  Value strided(Value line, Value at, int64_t behind) const;

private:
  Value gathered(Value line, Value at) const;

  /// How far apart what shuffles find is.
  static constexpr int64_t mostShuffled = 4;

  Emitter &e;
  int64_t stride, width;
  Value cells; // That windows have.
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_PADDEDLINES_H
