//===- WinogradView.h - 3x3 convolutions with fewer products --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Winograd's F(m x m, 3 x 3): the m * m outputs of a tile are linear in n * n
// products, n = m + 2, of a transformed filter and a transformed patch of n * n
// inputs, so that a tile's products are n * n matrix products over channels,
// one for each position of the patch. F(2) has 16 of them for 36 of the plain
// sum, F(4) 36 for 144, and loses some three bits more.
//
// The filter is transformed when the artifact is made. It lies as
//
//   [ceil(M / winogradColumns)][position][C][winogradColumns]
//
// with zeros past M; the layout's name is "winograd2" or "winograd4". Where
// taps lie d apart, so do a tile's inputs and outputs: along an axis, the tiles
// of every d-th output from the first on come first, then those from the
// second. A block is some tiles of an image. A row of the launch is a part of a
// panel of a block (see PanelParts.h); what panels of a piece share, the
// transformed patches, they compute once.
//
// Of pairs of bf16 (see LineConvView.h) the filter lies as it is, in panels of
// PackedConv; each of them is transformed in front of its products, once for a
// block.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_WINOGRADVIEW_H
#define TENON_DIALECTS_KERNEL_WINOGRADVIEW_H

#include "dialects/Graph/Graph.h"

namespace tenon::kernel {

inline constexpr int64_t winogradColumns = 32;

/// The matrices of F(m x m, 3 x 3), each row of them a linear combination.
struct WinogradMatrices {
  using Row = llvm::SmallVector<double, 6>;
  llvm::SmallVector<Row, 6> filter; // n of 3 taps.
  llvm::SmallVector<Row, 6> input;  // n of n inputs.
  llvm::SmallVector<Row, 6> output; // m of n products.

  /// For m = 2 or 4.
  static WinogradMatrices of(int64_t outputs);
};

struct WinogradLayout {
  int64_t outputs; // 2 or 4, of a tile's side.

  /// nullopt for any other layout.
  static std::optional<WinogradLayout> parse(llvm::StringRef name);
  std::string name() const { return "winograd" + std::to_string(outputs); }
  int64_t positions() const { return (outputs + 2) * (outputs + 2); }
  /// Elements of a transformed filter; nullopt where it is not [M, C, 3, 3].
  std::optional<int64_t> elements(llvm::ArrayRef<int64_t> shape) const;
};

/// Tiles that every CPU level multiplies by whole strips.
inline constexpr int64_t winogradStrip = 12;

struct WinogradView {
  int64_t outputs, channels, maps, panels;
  int64_t columns = winogradColumns; // Of a panel.
  bool hasPairs = false;             // Of bf16: panels are as they were.
  int64_t lowY, lowX;                // The input's pads before.
  int64_t dilationY = 1, dilationX = 1;
  graph::Expr outHeight, outWidth;   // Where the images' sizes are symbols
  graph::Expr tilesX, tiles, blocks; // these are formulas. Tiles of an image,
  int64_t blockTiles, panelParts;    // and how they are cut: a part has a strip
                                     // or more.

  /// Whether sizes are symbols: then a block has whole strips of tiles.
  bool hasAnySize() const { return !tiles.asConstant(); }
  bool hasTapsApart() const { return dilationY > 1 || dilationX > 1; }
  int64_t side() const { return outputs + 2; }
  int64_t positions() const { return side() * side(); }
  /// Elements from one transformed patch to the next, and from one position to
  /// the next: positions start in different sets of the cache.
  int64_t patchStride() const {
    return channels + (channels % 512 == 0 ? 16 : 0);
  }
  int64_t patchesStride() const { return blockTiles * patchStride() + 16; }
  int64_t productsStride() const { return blockTiles * columns + 16; }
  int64_t filterStride() const {
    return channels * columns + (hasPairs ? 16 : 0);
  }
  int64_t scratchBytes() const {
    int64_t filter = hasPairs ? filterStride() : 0;
    return positions() * (patchesStride() + productsStride() + filter) * 4;
  }
};

/// nullopt with a reason for convolutions with channels last and a filter of
/// known sizes that it does not suit.
std::optional<WinogradView> winogradViewOf(graph::ConvOp op, int64_t outputs,
                                           std::string &why);

/// The same of pairs, of tiles of 2x2 and images of known sizes: of blocks of
/// so many lines, even or all of an image's, in panels that are cut into so
/// many parts.
std::optional<WinogradView> winogradViewOfPairs(graph::ConvOp op,
                                                int64_t blockLines,
                                                int64_t panelParts,
                                                std::string &why);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_WINOGRADVIEW_H
