//===- WgmmaProduct.cpp - Matrices of a wgmma -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// D[64][n] += A[64][k] * B[k][n]. Warp w of the warpgroup holds rows 16 * w to
// 16 * w + 15 of D, and of A in registers; with t = lane % 4 and g = lane / 4,
// register i is
//   of D:  row g + 8 * (i / 2 % 2), column 8 * (i / 4) + 2 * t + i % 2 (words),
//          row g + 8 * (i % 2), columns 8 * (i / 2) + 2 * t and next (halves)
//   of A:  as in mma.sync
//
//===----------------------------------------------------------------------===//

#include "test/gpu/sim/Block.h"
#include "test/gpu/sim/FloatFormats.h"
#include "test/gpu/sim/Matrix.h"
#include "test/gpu/sim/TensorMap.h"
#include "test/gpu/sim/WgmmaShape.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace tenon::sim {

namespace {

constexpr uint32_t kRows = 64, kMostColumns = 256, kMostDepth = 32;
constexpr uint32_t kStrip = 32; // Columns that are summed at a time.

template <typename T> struct Tiles {
  T a[kRows][kMostDepth], b[kMostDepth][kMostColumns], d[kRows][kMostColumns];
};

/// Calls put(row of M or N, k, value) for all elements of a matrix.
template <typename T, typename Put>
void loadMatrix(const Block &block, const MatrixPlace &place, Type type,
                const WgmmaShape &shape, uint32_t rows, bool transposed,
                Put put) {
  uint32_t each = 128 / type.bits, inWord = 32 / type.bits;
  for (uint32_t i = 0; i < shape.outer(rows, transposed); ++i)
    for (uint32_t j = 0; j < shape.pieces(rows, transposed); ++j) {
      uint32_t words[4];
      memcpy(words, &block.shared[place.piece(i, j)], 16);
      for (uint32_t e = 0; e < each; ++e) {
        T value = matrixElement<T>(type, words[e / inWord], e % inWord);
        if (transposed)
          put(j * each + e, i, value);
        else
          put(i, j * each + e, value);
      }
    }
}

template <typename T>
void loadLeftRegisters(Block &block, uint32_t first, const Instruction &line,
                       Tiles<T> &tiles) {
  uint32_t inWord = 32 / line.type.bits;
  for (uint32_t w = 0; w < Warpgroup::kWarps; ++w)
    for (int i = 0; i < line.counts[1]; ++i) {
      const uint32_t *words = block.warps[first + w].lanes<uint32_t>(
          line.operands[line.targets + i]);
      for (int lane = 0; lane < kLanes; ++lane)
        for (uint32_t e = 0; e < inWord; ++e)
          tiles.a[16 * w + lane / 4 + i % 2 * 8]
                 [inWord * (lane % 4 + 4 * (i / 2)) + e] =
              matrixElement<T>(line.type, words[lane], e);
    }
}

/// Calls visit(word, row, column) for all sums; halves come by two.
template <typename Visit>
void forSums(Block &block, uint32_t first, const Instruction &line,
             Visit visit) {
  bool halves = line.option & HalfSums;
  for (uint32_t w = 0; w < Warpgroup::kWarps; ++w)
    for (int i = 0; i < line.targets; ++i) {
      if (line.operands[i].sink)
        continue;
      uint32_t *words =
          block.warps[first + w].lanes<uint32_t>(line.operands[i]);
      for (int lane = 0; lane < kLanes; ++lane) {
        uint32_t g = 16 * w + lane / 4, t = lane % 4 * 2;
        if (halves)
          visit(words[lane], g + i % 2 * 8, i / 2 * 8 + t);
        else
          visit(words[lane], g + i / 2 % 2 * 8, i / 4 * 8 + t + i % 2);
      }
    }
}

template <typename T>
void loadSums(Block &block, uint32_t first, const Instruction &line,
              Tiles<T> &tiles) {
  forSums(block, first, line,
          [&](uint32_t word, uint32_t row, uint32_t column) {
            if (line.option & HalfSums) {
              tiles.d[row][column] = T(halfToFloat(uint16_t(word)));
              tiles.d[row][column + 1] = T(halfToFloat(uint16_t(word >> 16)));
            } else {
              tiles.d[row][column] = std::bit_cast<T>(word);
            }
          });
}

template <typename T>
void storeSums(Block &block, uint32_t first, const Instruction &line,
               const Tiles<T> &tiles) {
  forSums(
      block, first, line, [&](uint32_t &word, uint32_t row, uint32_t column) {
        if (line.option & HalfSums)
          word = floatToHalf(float(tiles.d[row][column])) |
                 uint32_t(floatToHalf(float(tiles.d[row][column + 1]))) << 16;
        else
          word = std::bit_cast<uint32_t>(tiles.d[row][column]);
      });
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void
multiplyWide(Tiles<float> &tiles, uint32_t columns, uint32_t depth) {
  for (uint32_t strip = 0; strip < columns; strip += kStrip)
    for (uint32_t row = 0; row < kRows; ++row) {
      float sums[kStrip];
      memcpy(sums, &tiles.d[row][strip], sizeof sums);
      for (uint32_t k = 0; k < depth; ++k)
        for (uint32_t i = 0; i < kStrip; ++i)
          sums[i] =
              __builtin_fmaf(tiles.a[row][k], tiles.b[k][strip + i], sums[i]);
      memcpy(&tiles.d[row][strip], sums, sizeof sums);
    }
}
#endif

void multiply(Tiles<float> &tiles, uint32_t columns, uint32_t depth, bool) {
#if defined(__x86_64__)
  static const bool kHas =
      __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
  if (kHas)
    return multiplyWide(tiles, columns, depth);
#endif
  for (uint32_t row = 0; row < kRows; ++row)
    for (uint32_t k = 0; k < depth; ++k)
      for (uint32_t column = 0; column < columns; ++column)
        tiles.d[row][column] += tiles.a[row][k] * tiles.b[k][column];
}

void multiply(Tiles<int32_t> &tiles, uint32_t columns, uint32_t depth,
              bool saturates) {
  for (uint32_t row = 0; row < kRows; ++row)
    for (uint32_t column = 0; column < columns; ++column) {
      int64_t sum = tiles.d[row][column];
      for (uint32_t k = 0; k < depth; ++k)
        sum += tiles.a[row][k] * tiles.b[k][column];
      if (saturates)
        sum = std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(),
                                  std::numeric_limits<int32_t>::max());
      tiles.d[row][column] = int32_t(uint64_t(sum));
    }
}

template <typename T>
void perform(Block &block, uint32_t first, const Product &product) {
  const Instruction &line = *product.line;
  WgmmaShape shape(line);
  auto tiles = std::make_unique<Tiles<T>>();
  T leftSign = line.option & LeftNegated ? T(-1) : T(1);
  T rightSign = line.option & RightNegated ? T(-1) : T(1);
  if (line.counts[1])
    loadLeftRegisters(block, first, line, *tiles);
  else
    loadMatrix<T>(
        block, {product.left, shape.leftTransposed}, line.type, shape, kRows,
        shape.leftTransposed,
        [&](uint32_t row, uint32_t k, T value) { tiles->a[row][k] = value; });
  if (leftSign != rightSign)
    for (auto &row : tiles->a)
      for (T &value : row)
        value = -value;
  loadMatrix<T>(block, {product.right, shape.rightTransposed}, line.from, shape,
                shape.columns, shape.rightTransposed,
                [&](uint32_t column, uint32_t k, T value) {
                  tiles->b[k][column] = value;
                });
  if (product.adds)
    loadSums(block, first, line, *tiles);
  multiply(*tiles, shape.columns, shape.depth, line.saturate);
  storeSums(block, first, line, *tiles);
  block.state.counts.matrixProducts += Warpgroup::kWarps;
}

} // namespace

MatrixPlace::MatrixPlace(uint64_t descriptor, bool transposed)
    : descriptor(descriptor), transposed(transposed) {
  constexpr uint64_t kUnits = 0x3fff; // Of 16 bytes.
  start = uint32_t(descriptor & kUnits) * 16;
  leading = uint32_t(descriptor >> 16 & kUnits) * 16;
  stride = uint32_t(descriptor >> 32 & kUnits) * 16;
  // None, 128, 64, 32 bytes; numbered the other way round in tensor maps.
  uint32_t mode = uint32_t(descriptor >> 62);
  swizzle = mode ? 4 - mode : 0;
  span = 16u << swizzle;
}

bool MatrixPlace::isSound() const {
  constexpr uint64_t kUsed = 0x3fff | uint64_t(0x3fff) << 16 |
                             uint64_t(0x3fff) << 32 | uint64_t(3) << 62;
  return (descriptor & ~kUsed) == 0;
}

uint32_t MatrixPlace::piece(uint32_t i, uint32_t j) const {
  uint32_t at = start + i % 8 * span;
  uint32_t group = i / 8;
  if (swizzle == 0) // Blocks of 8 by 16 bytes, by both distances.
    return at + (transposed ? j * stride + group * leading
                            : group * stride + j * leading);
  uint32_t inSpan = span / 16;
  at += group * stride + j % inSpan * 16 + j / inSpan * leading;
  return swizzled(Swizzle(swizzle), at);
}

void performProduct(Block &block, uint32_t first, const Product &product) {
  if (product.line->type.isInteger())
    perform<int32_t>(block, first, product);
  else
    perform<float>(block, first, product);
}

} // namespace tenon::sim
