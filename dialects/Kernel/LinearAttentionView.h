//===- LinearAttentionView.h - Columns of states that are attended --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Columns of a state do not depend on each other. So the LinearAttention
// schedule has a row of the launch for some columns of each state: they stay in
// scratch memory, [depth][columns], over all steps, which is the first level of
// the cache for depths of a hundred or two. On devices a block has a state,
// whose columns its threads take in turn, where the result is.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_LINEARATTENTIONVIEW_H
#define TENON_DIALECTS_KERNEL_LINEARATTENTIONVIEW_H

#include "dialects/Graph/Graph.h"

namespace tenon::kernel {

inline constexpr llvm::StringLiteral blockStateSchedule = "BlockState";

/// Sizes of an op's states. Heads are numbers always.
struct LinearAttentionView {
  int64_t states, group; // Of an entry; heads that read one.
  std::optional<int64_t> depth, width;

  explicit LinearAttentionView(graph::LinearAttentionOp op);

  /// Columns that are computed side by side; 0 where a size is a symbol, or the
  /// width not made of such.
  int64_t columns() const;
  /// Of a state, where there are such.
  int64_t tiles() const { return *width / columns(); }
  /// Threads' columns lie apart: what a core fetches ahead of its own would be
  /// what its neighbour just wrote, in each step (on a Zen 5 two threads took
  /// 1.74 ms where one takes 2.06, and 1.1 from 16 KB on).
  int64_t scratchBytes() const { return 4 * *depth * columns() + apart; }
  static constexpr int64_t apart = 16 << 10;
  /// Of a device's block.
  int64_t threads() const;
};

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_LINEARATTENTIONVIEW_H
