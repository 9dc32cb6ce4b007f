//===- FragmentLayout.cpp - Weights of few bits as warps multiply them ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/FragmentLayout.h"
#include "llvm/Support/MathExtras.h"

namespace tenon::kernel {

/// Columns and steps of a lane, and words of a row of lanes.
static constexpr int64_t laneColumns = 4, laneSteps = 8, wordBits = 32;

std::optional<FragmentLayout> FragmentLayout::parse(llvm::StringRef name) {
  int64_t parts = name.consume_back("_halves") ? 2 : 1;
  if (name == nibbles)
    return FragmentLayout{4, parts};
  if (name == bytes)
    return FragmentLayout{8, parts};
  if (name == quads)
    return FragmentLayout{8, parts, /*isOfQuads=*/true};
  if (name == sides)
    return FragmentLayout{0, parts};
  return std::nullopt;
}

std::optional<FragmentLayout::Matrix>
FragmentLayout::matrixOf(llvm::ArrayRef<int64_t> shape) const {
  if (shape.size() == 2)
    return Matrix{shape[0], shape[1]};
  if (shape.size() < 3 || !isOfQuads || parts != 1)
    return std::nullopt;
  int64_t depth = 1;
  for (int64_t size : shape.drop_front())
    depth *= size;
  return Matrix{depth, shape[0]};
}

std::optional<int64_t> FragmentLayout::bytesOf(llvm::ArrayRef<int64_t> shape,
                                               int64_t width) const {
  std::optional<Matrix> matrix = matrixOf(shape);
  if (!matrix)
    return std::nullopt;
  std::optional<int64_t> bytes =
      totalBytes(matrix->rows, matrix->columns, width);
  if (bytes && shape.size() > 2)
    *bytes += llvm::alignTo(matrix->columns, fragmentColumns) *
              int64_t(sizeof(int32_t));
  return bytes;
}

int64_t FragmentLayout::blocks(int64_t rows) const {
  return int64_t(llvm::divideCeil(rows, steps()));
}

std::optional<int64_t> FragmentLayout::totalBytes(int64_t rows, int64_t columns,
                                                  int64_t width) const {
  if (columns % parts != 0)
    return std::nullopt;
  int64_t panels = llvm::divideCeil(columns / parts, fragmentColumns) * parts;
  return panels * blocks(rows) * blockBytes(width);
}

int64_t FragmentLayout::placeInBlock(int64_t row, int64_t column,
                                     int64_t width) const {
  int64_t group = column % 8, inLane = column / 8;
  if (bits == 0)
    return (group * laneColumns + inLane) * width * 8;
  if (isOfQuads) {
    int64_t lane = group * 4 + row / (2 * laneSteps);
    int64_t word = (row % (2 * laneSteps) / 4 * 32 + lane) * laneColumns;
    return (word + inLane) * wordBits + row % 4 * 8;
  }
  int64_t lane = group * 4 + row / laneSteps, step = row % laneSteps;
  int64_t word = lane * laneColumns + inLane;
  // Of two neighbours one is in the lower half of a word, and one in the upper.
  int64_t half = step % 2 * (wordBits / 2);
  if (bits == 4)
    return word * wordBits + half + step / 2 * 4;
  word += step / 4 * 32 * laneColumns;
  return word * wordBits + half + step % 4 / 2 * 8;
}

} // namespace tenon::kernel
