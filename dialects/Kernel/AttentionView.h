//===- AttentionView.h - An attention as the Attention schedule sees it ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The queries of all heads that share a key head are one list: query i of the
// g-th of them is number i * group + g. A unit of work is `queryBlock` numbers
// of a list against all keys, `keyBlock` of them at a time; what a unit needs
// of scratch memory does not depend on how many there are. Where units are few
// and keys many, several pieces of the keys are worked on at once; who comes
// last joins what they came to.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_ATTENTIONVIEW_H
#define TENON_DIALECTS_KERNEL_ATTENTIONVIEW_H

#include "dialects/Kernel/Geometry.h"
#include "dialects/Kernel/StridedView.h"

namespace tenon::kernel {

inline constexpr int64_t queryBlock = 48;
inline constexpr int64_t keyBlock = 64;
/// Wider heads do not fit in the cache with a block of queries.
inline constexpr int64_t widestHead = 1024;

/// Operands and result in memory: the last axis of query, key, value and
/// result is contiguous.
struct AttentionView {
  graph::AttentionOp op;
  int64_t heads, keyHeads, depth, width; // H, KV, D, E
  StridedView query, key, value;
  llvm::SmallVector<StridedView> biases;
  llvm::SmallVector<Expr> result; // Strides in what is yielded.

  int64_t group() const { return heads / keyHeads; }
  /// Of queries: blocks of lists.
  Expr units() const;
  /// Into how many pieces the keys of a unit are cut, by the sizes alone.
  Expr pieces() const;
  Geometry geometry() const;
};

/// The bytes of what pieces share, behind TENON_SHARED_ZEROS bytes in which
/// those of each unit are counted.
struct AttentionPiece {
  explicit AttentionPiece(const AttentionView &view);

  int64_t sums = 0; // As the unit has them in scratch memory.
  int64_t largest, total;
  int64_t end;
};

/// The byte offsets of what a unit keeps in scratch memory.
struct AttentionScratch {
  explicit AttentionScratch(const AttentionView &view);

  int64_t query = 0; // [D][queryBlock], scaled
  int64_t sums;      // [E][queryBlock]
  int64_t scores;    // [keyBlock][queryBlock]
  int64_t biases;    // The same, where there are any.
  int64_t largest;   // [queryBlock], as are the others
  int64_t total, factor;
  int64_t firstKey, lastKey; // i32, within the block of keys
  int64_t spare;             // [E], for rows that nobody wants
  int64_t masked;            // [2 * keyBlock], where there is a mask of keys
  int64_t end;
};

/// Nothing where the schedule cannot run the body; `why` says why.
std::optional<AttentionView> attentionViewOf(mlir::Block &body,
                                             std::string &why);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_ATTENTIONVIEW_H
