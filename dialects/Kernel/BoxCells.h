//===- BoxCells.h - Boxes that are kept, by where they lie ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_DIALECTS_KERNEL_BOXCELLS_H
#define TENON_DIALECTS_KERNEL_BOXCELLS_H

#include <cstdint>

namespace tenon::kernel {

/// A row of graph.suppress keeps boxes in blocks of as many as a vector has
/// lanes, and has the bounds of each block. A block is of one cell of a grid
/// over where boxes lie. The first few, before there is a grid, are of none;
/// when there are more it is made anew.
struct BoxCells {
  static constexpr int64_t alongAxis = 16, cells = alongAxis * alongAxis;
  static constexpr int64_t firstBlocks = 4, leastLanes = 8, mostLanes = 16;
  /// How many more boxes a new grid is made for, and how many at most.
  static constexpr int64_t gridGrowth = 8, lastGrid = 1024;
  /// Blocks that may be partly empty, at most.
  static constexpr int64_t grids = 3;
  static constexpr int64_t spareBlocks = grids * cells + firstBlocks;

  /// Areas of scratch memory: five numbers of each box (corners and area), four
  /// of each block (its bounds), the next place of each cell and other counts,
  /// and the grid: of each axis its low end, its cells in a pixel, the last of
  /// them, and how far apart they are in the list.
  enum Area : unsigned { Boxes = 0, Bounds = 5, Places = 9, Grid = 10 };
  static constexpr int64_t gridNumbers = 8;
  /// Behind the places of the cells: that of the first blocks, the number of
  /// blocks, and of how many boxes the next grid is made.
  enum Place : int64_t { First = cells, NumBlocks, NextGrid, NumPlaces };
};

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_BOXCELLS_H
