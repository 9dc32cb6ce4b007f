//===- Packing.h - How matmuls are cut, and packed weights ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A weight [K, N] packed for the PackedMatmul schedule is
// [ceil(N / panelColumns)][K][panelColumns]: a panel is one contiguous stream,
// read once per block of rows. Columns past N are zero. The layout is the same
// for all CPU levels. The BatchedMatmul schedule packs blocks of panels on the
// way, into scratch memory.
//
// Where two halves of the columns meet in one kernel (see MatmulView.h), each
// is packed by itself, and their panels alternate: a pair of panels is still
// one stream.
//
// Of bf16, two steps of k lie where one of f32 would: [ceil(N / panelColumns)]
// [K / 2][panelColumns][2]. Levels that multiply such pairs read them as they
// are; the others widen a block of a panel at a time, and the rows that meet
// it.
//
// Of f16, elements lie as those of f32 do: tiles widen them as they load them.
//
// Of a quantized weight (see QuantizedRhs.h), numbers of 8 bits, scales and
// zero points lie in lines, [ceil(N / panelColumns)][K][panelColumns]; of
// numbers of 4 bits, eight steps of k are a word: [..][ceil(K /
// 8)][panelColumns].
//
// A row of the launch is one panel times one block of rows of the left operand,
// of one batch, where blocks are equal and of `blockRows` at most. Blocks
// come in groups of `groupBlocks` (the last group may be smaller); within a
// group, panels follow each other and each has the group's blocks in order. So
// a thread's share is contiguous in the weights, and the group's part of the
// left operand stays in its cache. Where panels are packed on the way, groups
// may be tall: a packed block then serves all slices of a group, `groupBlocks`
// high.
//
// Where panels come packed and all rows are computed, rows of the launch are
// finer: as much work as `unitRows` by `unitColumns` are (see FineUnits.h), so
// that pieces are equal whatever the last panel holds. A group is then what a
// block is above, of `groupBlocks` blocks' rows at most, and a panel's rows in
// it are cut where a piece ends.
//
// K is cut into blocks of `blockDepth` steps. Where the left operand does not
// lie as the inner loops want it (see MatmulView.h), a group's slice of it is
// first copied to scratch memory.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_PACKING_H
#define TENON_DIALECTS_KERNEL_PACKING_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstdint>
#include <optional>

namespace tenon::kernel {

inline constexpr llvm::StringLiteral packedLayout = "packed48";
/// Of the matrix whose transpose is packed.
inline constexpr llvm::StringLiteral rowsLayout = "rows48";
inline constexpr llvm::StringLiteral packedHalvesLayout = "packed48_halves";
inline constexpr llvm::StringLiteral linesLayout = "lines48";
inline constexpr llvm::StringLiteral nibblesLayout = "nibbles48";
inline constexpr int64_t stepsOfWord = 8;
inline constexpr int64_t panelColumns = 48;
inline constexpr int64_t blockRows = 64;
inline constexpr int64_t groupBlocks = 2;
/// Sums of a group's rows in a panel.
inline constexpr int64_t groupElements = groupBlocks * blockRows * panelColumns;
inline constexpr int64_t unitRows = 8;
inline constexpr int64_t unitColumns = 16;
/// Of a tall group.
inline constexpr int64_t tallGroupBlocks = 32;
/// Panels that a piece takes through a block of k before it begins the next:
/// for those that it packs itself, it has scratch memory.
inline constexpr int64_t chunkPanels = 24;
/// Rows of the left operand that a copy interleaves.
inline constexpr int64_t interleavedRows = 8;

/// The most steps of k in a block that is alone, and in one of several.
inline constexpr int64_t maxDepthAtOnce = 896;
inline constexpr int64_t maxBlockDepth = 512;

/// The steps of k in a block: equal blocks, of a multiple of 16 unless there is
/// one alone, that leave room in the second level of the cache: for the waiting
/// sums too where there are several.
inline int64_t blockDepth(std::optional<int64_t> depth) {
  if (!depth)
    return maxDepthAtOnce;
  if (*depth <= maxDepthAtOnce)
    return std::max<int64_t>(*depth, 1);
  int64_t blocks = llvm::divideCeil(*depth, maxBlockDepth);
  return llvm::alignTo(llvm::divideCeil(*depth, blocks), 16);
}

/// Bytes of scratch memory per thread for a block of a panel, and for a copy
/// of a group's slice of the left operand.
inline int64_t panelBytes(std::optional<int64_t> depth) {
  return panelColumns * blockDepth(depth) * 4;
}
/// Bytes for a tall group's sums, in a panel that is not full, that wait for
/// the next block of k.
inline int64_t tallSumsBytes(std::optional<int64_t> depth) {
  return depth && *depth <= blockDepth(depth)
             ? 0
             : tallGroupBlocks * blockRows * panelColumns * 4;
}
inline int64_t lhsCopyBytes(std::optional<int64_t> depth) {
  return groupBlocks * blockRows * blockDepth(depth) * 4;
}

/// The same of a copy whose rows are widened: some elements apart, so that
/// eight of them do not meet in a set of the cache.
inline constexpr int64_t widenedRowPadding = 16;
inline int64_t widenedLhsBytes(std::optional<int64_t> depth) {
  return groupBlocks * blockRows * (blockDepth(depth) + widenedRowPadding) * 4;
}
/// Of one that is rounded to f16, whose blocks may have as many pairs of steps
/// as others have steps. Factors of its rows, and of a panel's columns, lie
/// behind.
inline int64_t roundedLhsBytes(int64_t depth) {
  return std::max(widenedLhsBytes(depth), widenedLhsBytes(depth / 2));
}
inline constexpr int64_t rowFactorBytes = groupBlocks * blockRows * 4;
inline constexpr int64_t columnFactorBytes = panelColumns * 4;
/// The most rows by which a matrix is multiplied where it lies.
inline constexpr int64_t streamedRows = 4;
/// A group of at most so many rows widens 16 bits in registers: each tile does,
/// which is less work than to store them once.
inline constexpr int64_t fewRows = 24;

/// Pairs of panels whose sums may wait for the next block of k, and their
/// bytes.
inline constexpr int64_t waitingPairs = 12;
inline int64_t pairBytes(std::optional<int64_t> depth) {
  return depth && *depth <= blockDepth(depth)
             ? 0
             : waitingPairs * 2 * groupElements * 4;
}

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_PACKING_H
