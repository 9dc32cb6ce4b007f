//===- DeviceTiles.h - How devices cut matrix products into tiles ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block computes a tile of the result at a time: a row of the launch. What
// the tile needs of both operands comes to shared memory by panels, some steps
// of k at a time; the panels of the next steps are on their way meanwhile.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_DEVICETILES_H
#define TENON_DIALECTS_KERNEL_DEVICETILES_H

#include "dialects/Kernel/Geometry.h"
#include "dialects/Kernel/MatmulView.h"

namespace tenon::kernel {

constexpr llvm::StringLiteral simtSchedule = "MatmulSimt";
constexpr llvm::StringLiteral mmaSchedule = "MatmulMma";
constexpr llvm::StringLiteral simtSmallSchedule = "MatmulSimtSmall";
constexpr llvm::StringLiteral mmaSmallSchedule = "MatmulMmaSmall";
constexpr llvm::StringLiteral tf32Schedule = "MatmulTf32";
constexpr llvm::StringLiteral tf32SmallSchedule = "MatmulTf32Small";
constexpr llvm::StringLiteral tf32x3Schedule = "MatmulTf32x3";
constexpr llvm::StringLiteral tf32x3SmallSchedule = "MatmulTf32x3Small";

constexpr llvm::StringLiteral byteSchedule = "MatmulMmaInt8";
constexpr llvm::StringLiteral byteSmallSchedule = "MatmulMmaInt8Small";

inline bool isByteSchedule(llvm::StringRef schedule) {
  return schedule == byteSchedule || schedule == byteSmallSchedule;
}
inline bool isMmaSchedule(llvm::StringRef schedule) {
  return schedule == mmaSchedule || schedule == mmaSmallSchedule;
}
inline bool isTf32Schedule(llvm::StringRef schedule) {
  return schedule == tf32Schedule || schedule == tf32SmallSchedule;
}
inline bool isTf32x3Schedule(llvm::StringRef schedule) {
  return schedule == tf32x3Schedule || schedule == tf32x3SmallSchedule;
}

/// A tile of rows x columns; where two halves of the columns meet, of half as
/// many of each. Panels are of `depth` steps of k, `stages` of them at a time.
struct DeviceTile {
  int64_t rows, columns, depth, stages, threads, sharedBytes;
};

/// Bytes of the narrowest copies to shared memory.
constexpr int64_t narrowestCopy = 4;

/// Sums wait in shared memory for what follows the product by so many rows.
constexpr int64_t chunkRows = 64;
/// Between its rows lie so many elements that nobody reads, of f32: columns of
/// neighbouring rows are then in other banks.
constexpr int64_t simtPadding = 4, mmaPadding = 8;

/// The tile of a schedule of matrix products, if it is one of those; of those
/// by weights of few bits, another one.
std::optional<DeviceTile> matmulTileOf(llvm::StringRef schedule,
                                       bool hasFewBits = false);

/// 1 for sizes at which large tiles are so few that small ones are faster.
Expr hasFewTiles(const MatmulView &view);

/// The same of so many large tiles; in how many pieces the steps of k of each
/// of some small tiles are computed; and the launch of those.
Expr isFew(Expr tiles);
Expr tilePieces(Expr tiles, const DeviceTile &tile, Expr depth, bool isMma);
Geometry pieceGeometry(Expr tiles, Expr pieces, const DeviceTile &tile);

/// Blocks that share the steps of k of a tile.
Expr tilePiecesOf(const MatmulView &view, llvm::StringRef schedule);

/// A row of the launch per tile and piece of k.
Geometry tileGeometry(const MatmulView &view, llvm::StringRef schedule);

/// Bytes of the widest copies that all rows of an operand's panels can be made
/// of, up to 16: `axis` is the contiguous one, the last but one or the last.
int64_t copyBytes(const MatmulView &view, const StridedView &operand,
                  unsigned axis);

/// Bytes, up to 16, of which all distances are multiples that steps of so many
/// elements lead to.
int64_t widestCopy(mlir::Type element, llvm::ArrayRef<Expr> steps);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_DEVICETILES_H
