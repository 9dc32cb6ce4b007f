//===- AttentionView.h - An attention as the Attention schedule sees it ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The queries of all heads that share a key head are one list: query i of the
// g-th of them is number i * group + g. A unit of work is `queryBlock` numbers
// of a list against all keys, `keyBlock` of them at a time. A list's keys and
// values are copied to panels when the first unit needs them; no other scratch
// memory depends on how many there are. Where units are few
// and keys many, several pieces of the keys are worked on at once; who comes
// last joins what they came to.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_ATTENTIONVIEW_H
#define TENON_DIALECTS_KERNEL_ATTENTIONVIEW_H

#include "dialects/Kernel/Geometry.h"
#include "dialects/Kernel/StridedView.h"
#include "llvm/Support/MathExtras.h"

namespace tenon::kernel {

inline constexpr int64_t queryBlock = 48;
inline constexpr int64_t keyBlock = 64;
/// Keys of a block and columns of values are padded to a multiple of it.
inline constexpr int64_t keyPanel = 8;
/// Wider heads do not fit in the cache with a block of queries.
inline constexpr int64_t widestHead = 1024;

/// What makes a value of bytes around 0, each row of which has a scale; null
/// for others.
graph::DequantizeOp rowsOfBytes(mlir::Value value);

/// What a kernel reads in the place of a query, key or value.
struct AttentionOperand {
  mlir::Value memory; // With the operand's dims.
  graph::DequantizeOp
      dequantize; // Of bytes around 0: has a scale for each row.
};

/// Where that lies and, of bytes, their scales; why not, or null.
const char *seeInMemory(AttentionOperand operand, StridedView &view,
                        std::optional<StridedView> &scales);

/// On CPUs: what lies in front of a rounding to 16 bits, if there is one, the
/// 16 bits that were widened, or of keys and values the bytes that were
/// dequantized.
struct StoredOperand : AttentionOperand {
  bool isRounded; // What the operand is holds no more than 16 bits.
  bool toF16;     // It is rounded to f16.
};
StoredOperand storedOperandOf(graph::AttentionOp op, mlir::Value operand);

/// Operands and result in memory: the last axis of query, key, value and
/// result is contiguous.
struct AttentionView {
  graph::AttentionOp op;
  int64_t heads, keyHeads, depth, width; // H, KV, D, E
  /// Whether query, key and value are rounded to 16 bits before they are
  /// multiplied, one of them to f16. Levels that gain nothing by that multiply
  /// them as they are.
  bool isRounded, toF16;
  // As panels and scratch memory have them.
  int64_t paddedDepth() const { return llvm::alignTo(depth, 4); }
  int64_t paddedWidth() const { return llvm::alignTo(width, keyPanel); }
  // The same where AMX multiplies bf16: whole registers of 16 rows by 64 bytes.
  int64_t matrixDepth() const { return llvm::alignTo(depth, 32); }
  int64_t matrixWidth() const { return llvm::alignTo(width, 16); }
  /// What a key and its value take in panels, in words of 4 bytes; enough for
  /// all levels.
  int64_t keyWords() const {
    return isRounded ? std::max(paddedDepth(), matrixDepth() / 2)
                     : paddedDepth();
  }
  int64_t valueWords() const { return paddedWidth(); }
  StridedView query, key, value;
  /// Of keys and values that are bytes: what each row is multiplied by, seen
  /// from their axes.
  std::optional<StridedView> keyScales, valueScales;
  llvm::SmallVector<StridedView> biases;
  llvm::SmallVector<Expr> result; // Strides in what is yielded.
  bool givesBf16 = false;         // Whether that is rounded.

  int64_t group() const { return heads / keyHeads; }
  /// Of queries: blocks of lists.
  Expr units() const;
  /// Into how many pieces the keys of a unit are cut, by the sizes alone.
  Expr pieces() const;
  Geometry geometry() const;
};

/// The bytes of what pieces share: how many of each unit are done (i32), which
/// scratch memories have panels of this launch (their addresses), and what the
/// pieces of the units came to.
struct AttentionPiece {
  static constexpr int64_t owners = 256, start = 512; // TENON_SHARED_ZEROS
  static constexpr int64_t mostOwners = (start - owners) / 8;

  explicit AttentionPiece(const AttentionView &view);

  int64_t sums = 0; // As the unit has them in scratch memory.
  int64_t largest, total;
  int64_t end;
};

/// The byte offsets of what a unit keeps in scratch memory.
struct AttentionScratch {
  explicit AttentionScratch(const AttentionView &view);
  /// The bytes of all.
  static Expr bytes(const AttentionView &view);

  int64_t query = 0; // [D][queryBlock], scaled; or pairs [D / 2][queryBlock][2]
  int64_t sums;      // [E][queryBlock]
  int64_t scores;    // [keyBlock][queryBlock]
  int64_t largest;   // [queryBlock], as are the others
  int64_t total, factor;
  int64_t firstKey, lastKey; // i32, within the block of keys
  int64_t spare;             // [E], for rows that nobody wants
  int64_t masked;            // [2 * keyBlock], where there is a mask of keys
  int64_t panels;            // i64: the list in the panels; its first key
  int64_t keys;              // there and the one behind the last.
                             // By keyBlock keys: [keys / panel][D][panel] and
                             // the values [E / panel][keys][panel]; or of bf16
                             // [keys / 16][D / 32][16][32] and
                             // [E / 16][keys / 32][16][32]
};

/// Whether a view is one of a block's argument.
bool isInMemory(const std::optional<StridedView> &view);

/// A bias seen from [n, H, S, T]: strides are 0 where it repeats. Nothing where
/// only run time shows that.
std::optional<StridedView> biasViewOf(graph::AttentionOp op, mlir::Value bias);

/// Nothing where the schedule cannot run the body; `why` says why.
std::optional<AttentionView> attentionViewOf(mlir::Block &body,
                                             std::string &why);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_ATTENTIONVIEW_H
