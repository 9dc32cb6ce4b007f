//===- PointwiseView.h - The axes of a kernel without root ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Neighbouring axes along which every operand is contiguous, or repeats, run
// as one: a merged axis is counted by the index of its last one, which passes
// that axis's size.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_POINTWISEVIEW_H
#define TENON_DIALECTS_KERNEL_POINTWISEVIEW_H

#include "dialects/Kernel/Geometry.h"

namespace tenon::kernel {

constexpr llvm::StringLiteral vectorMapSchedule = "VectorMap";
constexpr llvm::StringLiteral turnedMapSchedule = "TurnedMap";

/// What a kernel without root iterates over. Axes of size 1 are in no run; a
/// scalar has neither dims nor runs.
struct PointwiseView {
  struct Run {
    int64_t axis;
    Expr size;
  };
  llvm::SmallVector<Expr> dims;
  llvm::SmallVector<Run> runs; // Outermost first.
  /// Whether all that is yielded has these dims.
  bool isOneShape = false;
};

PointwiseView pointwiseViewOf(mlir::Block &body);

/// How blocks of a device share what a kernel without root yields: each has so
/// many neighbouring elements, its threads have vectors of `width` of them.
struct VectorTile {
  int64_t width, threads, elements;
};

VectorTile vectorTileOf(mlir::Block &body, const PointwiseView &view);

/// A plane of a result whose columns, along `run`, are rows of what `op` reads:
/// the result's own rows are its last run. Blocks turn tiles of it.
struct TurnedPlane {
  graph::TransposeOp op;
  size_t run;
};
constexpr int64_t turnedSide = 32, turnedThreads = 256;

std::optional<TurnedPlane> turnedPlaneOf(mlir::Block &body,
                                         const PointwiseView &view);

/// Planes of a few channels that become pixels with their channels side by
/// side; `pad`, if any, gives them some channels more.
struct TurnedChannels {
  graph::TransposeOp turn;
  graph::PadOp pad;
  mlir::Operation *end;     // The last one of these.
  int64_t channels, padded; // The latter with those that the pad adds.
};

/// nullopt for an op that is neither such a transposition nor its pad.
std::optional<TurnedChannels> turnedChannelsOf(mlir::Operation *op);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_POINTWISEVIEW_H
