//===- FragmentLayout.h - Weights of few bits as warps multiply them ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What devices read of a quantized weight (see QuantizedRhs.h), matrices
// [K, N], lies by panels of 32 columns and blocks of 32 steps of k. Lane
// 4 * g + t of a warp has columns g, g + 8, g + 16 and g + 24 of a panel and
// steps 8 * t and on, eight of them, of a block: a load of 16 bytes takes a
// word for each of its columns, and 8 * t is where a load of as many bytes of
// bf16 begins in lhs.
//
//   "nibbles32"  numbers of 4 bits as [ceil(N / 32)][ceil(K / 32)][lane][4]
//                words: steps 2 * i and 2 * i + 1 are nibbles i and i + 4.
//                Those with a sign are 8 more: all are from 0 to 15
//   "bytes32"    numbers of 8 bits as [ceil(N / 32)][ceil(K / 32)][2][lane][4]
//                words, four steps each: bytes 0, 2, 1 and 3
//   "quads32"    numbers of 8 bits as [ceil(N / 32)][ceil(K / 64)][4][lane][4]
//                words, in the order of k: a lane has sixteen steps of a block
//                of 64, from 16 * t on, for products of bytes. A filter
//                [M, C, taps..] is the matrix [taps.. * C, M], and behind it
//                are the sums of its columns, i32
//   "sides32"    scales or zero points [B, N] as [ceil(N / 32)][B][g][4]
//
// and all with "_halves" behind: of the left and the right half of the columns,
// their panels in turn. What is not there is 0.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_FRAGMENTLAYOUT_H
#define TENON_DIALECTS_KERNEL_FRAGMENTLAYOUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace tenon::kernel {

/// Columns of a panel, and steps of k of a block.
inline constexpr int64_t fragmentColumns = 32, fragmentSteps = 32;

struct FragmentLayout {
  static constexpr llvm::StringLiteral nibbles = "nibbles32", bytes = "bytes32",
                                       quads = "quads32", sides = "sides32";

  /// Of a number; 0: of scales or zero points, whose rows are blocks already.
  int64_t bits;
  int64_t parts = 1; // Ranges of columns whose panels lie in turn.
  bool isOfQuads = false;

  /// nullopt for any other layout.
  static std::optional<FragmentLayout> parse(llvm::StringRef name);

  /// The rows and columns of the matrix that a weight of that shape is; nullopt
  /// where the layout has none of it.
  struct Matrix {
    int64_t rows, columns;
  };
  std::optional<Matrix> matrixOf(llvm::ArrayRef<int64_t> shape) const;
  /// Bytes of a weight of that shape, its sums included.
  std::optional<int64_t> bytesOf(llvm::ArrayRef<int64_t> shape,
                                 int64_t width) const;

  /// Rows of a block.
  int64_t steps() const {
    return bits == 0 ? 1 : isOfQuads ? 2 * fragmentSteps : fragmentSteps;
  }
  /// Bytes of a block of a panel, of elements of so many bytes in the IR.
  int64_t blockBytes(int64_t width) const {
    return fragmentColumns * steps() * (bits == 0 ? 8 * width : bits) / 8;
  }
  /// Blocks of a panel of so many rows.
  int64_t blocks(int64_t rows) const;
  /// Bytes of a matrix; nullopt where its columns cannot be cut so.
  std::optional<int64_t> totalBytes(int64_t rows, int64_t columns,
                                    int64_t width) const;

  /// Where a block has what belongs to a row and a column of it: the first bit.
  int64_t placeInBlock(int64_t row, int64_t column, int64_t width) const;
};

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_FRAGMENTLAYOUT_H
