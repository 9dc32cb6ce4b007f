//===- QuantizeBlock.h - A few numbers in few bits ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements x of a block become numbers q of few bits, x = (q - zero) * scale,
// rounded to nearest. The scale is the one of several candidates that makes the
// sum of squared errors least; it is a bf16.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TRANSFORMS_QUANTIZEBLOCK_H
#define TENON_COMPILER_TRANSFORMS_QUANTIZEBLOCK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace tenon {

enum class BlockForm {
  Bytes,           // -128..127, zero at 0.
  Nibbles,         // -8..7, zero at 0.
  NibblesFromZero, // 0..15, zero at one of them.
};

/// Numbers that elements may become: those n with low <= n - zero <= high, and
/// what one of them is.
struct NumberGrid {
  float scale = 0, low = 0, high = 0;
  int8_t zero = 0;
};

/// What is worth a try for elements from `low` to `high`, either side of 0; for
/// a form always equally many. A scale may be too small to have an inverse.
llvm::SmallVector<NumberGrid, 8> gridsFor(float low, float high,
                                          BlockForm form);

/// 1.5 * 2^23: added to a float below 2^22 and taken off again, it leaves the
/// nearest integer, ties to even.
inline constexpr float roundingStep = 12582912;

struct QuantizedBlock {
  uint16_t scale = 0; // A bf16.
  int8_t zero = 0;
  double error = 0; // The sum of squares.
};

/// Infinities and NaN count as zero. `numbers` has an element for each value.
QuantizedBlock quantizeBlock(llvm::ArrayRef<float> values, BlockForm form,
                             llvm::MutableArrayRef<int8_t> numbers);

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_QUANTIZEBLOCK_H
