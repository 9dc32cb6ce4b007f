//===- PackedMatmulStrip.h - The inner kernel of packed matmuls -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_PACKEDMATMULSTRIP_H
#define TENON_COMPILER_TARGETS_CPU_PACKEDMATMULSTRIP_H

#include "compiler/Targets/Cpu/Emitter.h"
#include "dialects/Kernel/Packing.h"

namespace tenon::cpu {

/// How the operands of a strip lie.
enum class StripKind {
  F32,
  /// B and A are pairs of bf16 along k, and a step is one pair: levels that do
  /// not multiply pairs widen both in registers.
  Pairs,
  /// B is pairs of bf16, A is f32 and not interleaved: a step is two elements
  /// of a row of A.
  Widened,
  /// The same of a strip's first tile: what it widens it also stores, for the
  /// others to read as F32.
  WidenedAndKept,
  /// B is f16, A is f32: a step is one, and loads of B widen.
  F16,
  F16AndKept, // As WidenedAndKept.
  /// B and A are pairs of f16 along k, and a step is one pair: of some steps
  /// sums are of f16, for levels that multiply and add such. Rows of A come
  /// with factors.
  F16Pairs,
  /// The same of a strip's first tile, whose B is f16 as it lies: what it makes
  /// of that it stores, for the others to read as F16Pairs.
  F16PairsAndKept,
  /// A is four of ui8 and B four of i8 along k, a step is those, and sums are
  /// of i32 modulo 2^32.
  Quads,
  /// The same numbers widened to 16 bits, for levels that multiply no quads: A
  /// and B are pairs along k, and a step is one pair. A quad is two steps, its
  /// numbers 0 and 2 and its numbers 1 and 3.
  Words,
};

/// Whether sums are of i32.
inline bool addsIntegers(StripKind kind) {
  return kind == StripKind::Quads || kind == StripKind::Words;
}

/// What is computed: `rows` rows of
///
///     C[rows][columns] (+)= A[rows][depth] * B[depth][panelColumns]
///
/// with B contiguous and the other two at a stride (A may be interleaved
/// instead: [ceil(rows / interleavedRows)][depth][interleavedRows], with its
/// depth for a stride), in f32, each sum from zero by fused multiply-adds in
/// the order of k, then added to C. All sizes are i64 in elements of 4 bytes,
/// or of B's f16; pairs are one, and depth is that of B. Columns of B from
/// `columns` on may be left out.
struct Strip {
  mlir::Value a, aStride, b, depth, c, cStride, rows;
  mlir::Value accumulate; // i1: add to what C holds.
  mlir::Value next;       // Another such B: fetched into the cache meanwhile.
  mlir::Value nextBytes;  // Of `next` per row of B; null: as B's rows have.
  mlir::Value mostRows;   // Of a tile; null: stripTileRows.
  mlir::Value narrow;     // What `b` was widened from; null: it was not.
  mlir::Value kept;       // Where a first tile stores B.
  mlir::Value scales, zeros; // Of those numbers, where they are quantized.
  /// Of pairs of f16, what the sums of each row of A, and of each column of B,
  /// are multiplied by at last; columnFactors may be null: by nothing.
  mlir::Value factors, columnFactors;
  int64_t stepsInF16 = 64; // Until sums of such are widened.
  StripKind kind = StripKind::F32;
  bool isInterleaved = false;
  int64_t columns = kernel::panelColumns;
};

/// Whether a tile stores what it makes of B.
inline bool keepsRhs(StripKind kind) {
  return kind == StripKind::WidenedAndKept || kind == StripKind::F16AndKept ||
         kind == StripKind::F16PairsAndKept;
}
/// Whether it adds up in f16.
inline bool addsF16(StripKind kind) {
  return kind == StripKind::F16Pairs || kind == StripKind::F16PairsAndKept;
}

/// Some rows of a strip, whose sums stay in registers while k runs.
struct StripTile {
  mlir::Value index, count; // This of so many tiles.
  mlir::Value row, rows;
};

/// Where the sums of a tile go, which may be C.
struct StripTarget {
  mlir::Value out, stride;
};

/// Rows cut into so many blocks that differ by a row at most, or by a tile
/// where those are interleaved or made of registers: a last block of a few rows
/// would leave a thread without work. The larger ones, one of which may have a
/// tile that is not full, come last.
class RowBlocks {
public:
  RowBlocks(Emitter &e, mlir::Value rows, mlir::Value blocks, StripKind kind,
            bool interleaved);
  /// Blocks of `height` rows.
  static RowBlocks whole(Emitter &e, int64_t height);

  /// The first row of a block, or one behind all.
  mlir::Value first(mlir::Value block) const;

private:
  RowBlocks(Emitter &e, mlir::Value low) : e(&e), low(low) {}

  Emitter *e;
  mlir::Value low;     // Rows of the smaller blocks,
  mlir::Value smaller; // of which there are so many, or only such if null.
  int64_t step = 1;    // By which the others are larger.
};

/// Cuts a strip into tiles.
void forEachStripTile(Emitter &e, const Strip &strip,
                      llvm::function_ref<void(const StripTile &)> body);

/// Computes a tile, by a function that all kernels of a module share.
void callStripTile(Emitter &e, const Strip &strip, const StripTile &tile,
                   const StripTarget &target);

/// The place of a tile in C.
StripTarget placeInC(Emitter &e, const Strip &strip, const StripTile &tile);
/// Where a tile's sums go that something follows: to `here` behind the last
/// block of the depth, to `own` between blocks.
StripTarget targetBehind(Emitter &e, const StripTarget &own,
                         const StripTarget &here, bool isOneBlock,
                         Value isLast);

/// Computes all of C.
void callStrip(Emitter &e, const Strip &strip);

/// The most rows of a tile.
int64_t stripTileRows(const CpuLevel &level, StripKind kind = StripKind::F32);
/// The most rows whose tiles each widen pairs with vectors of 256 bits: for
/// more a panel is widened once.
inline int64_t mostRowsThatWiden(const CpuLevel &level) {
  constexpr int64_t tiles = 5;
  return tiles * stripTileRows(level, StripKind::Widened);
}

/// Whether a level's tiles are as high as what is interleaved.
inline bool canInterleaveLhs(const CpuLevel &level,
                             StripKind kind = StripKind::F32) {
  return stripTileRows(level, kind) == kernel::interleavedRows;
}

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_PACKEDMATMULSTRIP_H
