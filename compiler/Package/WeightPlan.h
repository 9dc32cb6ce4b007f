//===- WeightPlan.h - Which weights go into the file, where and how -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A layout says how the elements of a weight lie in the file:
//
//   ""          as in the WeightStore, row-major
//   "packed48"  an f32 matrix [K, N] as [ceil(N / 48)][K][48], padded with 0,
//               or matrices [B, K, N] one after the other
//   "rows48"    an f32 matrix [N, K] as [ceil(N / 48)][K][48], padded with 0:
//               its transpose in "packed48"; of 8 bits see NarrowPanels.h
//   "packed48_halves" the same of the left and the right half of the columns,
//               their panels in turn
//               The three of a bf16 matrix lie in pairs of k, the last one
//               completed by 0: [ceil(N / 48)][ceil(K / 2)][48][2]; of f16 as
//               of f32
//   "packed48_quads" a matrix [K, N] of ui8 or i8 by panels in quads of k, with
//               the sums of columns (see dialects/Kernel/IntegerMatmulView.h)
//   "conv48"    a filter [M, C, taps..] of any floats as
//               [ceil(M / 48)][taps..][C][48], padded with 0; the same of other
//               widths, "conv48/G" of G groups, and "conv48_pairs" of pairs
//               of channels (see dialects/Kernel/FilterLayout.h); with "_even"
//               the last two panels have equal shares (PanelCut.h), as with
//               those of the next two
//   "conv48_quads", "conv48_quad_taps" a filter of ui8 or i8 by panels in quads
//               of a line's numbers, with the sums of maps (see
//               dialects/Kernel/IntegerConvView.h)
//   "winograd4" an f32 filter [M, C, 3, 3] transformed for tiles of
//               4x4 outputs, and "winograd2" for those of 2x2 (see
//               dialects/Kernel/WinogradView.h)
//   "cells16"   the f32 recurrence [D, G*H, H] of a cell by tiles of hidden
//               units (see dialects/Kernel/RecurrentView.h)
//   "cells16_quads" one of ui8 or i8 by such tiles, in quads of steps, with
//               sums (see there)
//   "lines48", "nibbles48" and both with "_halves": see NarrowPanels.h
//   "bytes32", "nibbles32", "quads32", "sides32" and all with "_halves": see
//               dialects/Kernel/FragmentLayout.h
//   "taps_first" an f32 filter [M, C, taps..] as [taps..][C][M]
//
// Weights of equal bytes in one layout are stored once.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_PACKAGE_WEIGHTPLAN_H
#define TENON_COMPILER_PACKAGE_WEIGHTPLAN_H

#include "compiler/Weights/WeightStore.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>

namespace tenon {

struct PlacedWeight {
  const Weight *weight;
  std::string layout;
  uint64_t offset, bytes; // In the file's weights.
};

/// Takes the bytes of a weight, piece by piece.
using ByteSink = llvm::function_ref<void(llvm::ArrayRef<char>)>;

class WeightPlan {
public:
  explicit WeightPlan(const WeightStore &store) : store(store) {}

  /// The place of a weight in a layout; asks for it if it has none yet. Fails
  /// when there is no such weight or layout.
  llvm::Expected<PlacedWeight> place(llvm::StringRef name,
                                     llvm::StringRef layout);

  /// All that differ, by offset.
  llvm::ArrayRef<PlacedWeight> placed() const { return unique; }

  /// Bytes of all weights, with the padding between them.
  uint64_t totalBytes() const { return end; }

private:
  using Content = std::tuple<uint64_t, uint64_t, uint64_t, std::string>;

  const WeightStore &store;
  std::vector<PlacedWeight> unique;
  std::map<std::pair<std::string, std::string>, size_t> byName;
  std::map<Content, size_t> byContent;
  uint64_t end = 0;
};

/// Produces a weight in its layout, exactly `bytes` of it.
void layOut(const PlacedWeight &weight, ByteSink sink);

} // namespace tenon

#endif // TENON_COMPILER_PACKAGE_WEIGHTPLAN_H
