//===- Matrix.cpp - mma.sync ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// D[16][8] = A[16][k] * B[k][8] + C. A register holds 32 / bits elements that
// lie side by side along k; with t = lane % 4 and g = lane / 4, register i is
//   of A:  row g + 8 * (i % 2), k = elements * (t + 4 * (i / 2))
//   of B:  column g,            k = elements * (t + 4 * i)
//   of C:  row g + 8 * (i / 2), column 2 * t + i % 2 (words), or both (halves)
//
//===----------------------------------------------------------------------===//

#include "test/gpu/sim/Matrix.h"
#include "test/gpu/sim/Block.h"
#include "test/gpu/sim/Decoder.h"
#include "test/gpu/sim/FloatFormats.h"
#include "test/gpu/sim/Text.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace tenon::sim {

namespace {

constexpr Type kB32{Type::Bits, 32};
constexpr int kRows = 16, kColumns = 8, kMostDepth = 32;

template <typename T> struct Tiles {
  T a[kRows][kMostDepth], b[kMostDepth][kColumns], c[kRows][kColumns];
};

/// Operands: D, A, B, C; counts[0..3] registers of each.
template <typename T>
void loadOperands(Warp &warp, const Instruction &line, Tiles<T> &tiles) {
  const Operand *a = line.operands + line.counts[0];
  const Operand *b = a + line.counts[1];
  int elements = 32 / line.type.bits;
  for (int i = 0; i < line.counts[1]; ++i) {
    const uint32_t *words = warp.lanes<uint32_t>(a[i]);
    for (int lane = 0; lane < kLanes; ++lane)
      for (int j = 0; j < elements; ++j)
        tiles.a[lane / 4 + i % 2 * 8][elements * (lane % 4 + 4 * (i / 2)) + j] =
            matrixElement<T>(line.type, words[lane], j);
  }
  for (int i = 0; i < line.counts[2]; ++i) {
    const uint32_t *words = warp.lanes<uint32_t>(b[i]);
    for (int lane = 0; lane < kLanes; ++lane)
      for (int j = 0; j < elements; ++j)
        tiles.b[elements * (lane % 4 + 4 * i) + j][lane / 4] =
            matrixElement<T>(line.from, words[lane], j);
  }
}

template <typename T>
void loadAddend(Warp &warp, const Instruction &line, Tiles<T> &tiles) {
  const Operand *c =
      line.operands + line.counts[0] + line.counts[1] + line.counts[2];
  bool halves = line.counts[3] == 2;
  for (int i = 0; i < line.counts[3]; ++i) {
    const uint32_t *words = warp.lanes<uint32_t>(c[i]);
    for (int lane = 0; lane < kLanes; ++lane) {
      int column = lane % 4 * 2;
      if (halves) {
        T *row = tiles.c[lane / 4 + 8 * i];
        row[column] = halfToFloat(uint16_t(words[lane]));
        row[column + 1] = halfToFloat(uint16_t(words[lane] >> 16));
      } else {
        tiles.c[lane / 4 + i / 2 * 8][column + i % 2] =
            std::bit_cast<T>(words[lane]);
      }
    }
  }
}

template <typename T>
void storeResult(Warp &warp, const Instruction &line, const Tiles<T> &tiles) {
  bool halves = line.counts[0] == 2;
  for (int i = 0; i < line.counts[0]; ++i) {
    if (line.operands[i].sink)
      continue;
    uint32_t *words = warp.lanes<uint32_t>(line.operands[i]);
    for (int lane = 0; lane < kLanes; ++lane) {
      int column = lane % 4 * 2;
      if (halves) {
        const T *row = tiles.c[lane / 4 + 8 * i];
        words[lane] = floatToHalf(row[column]) |
                      uint32_t(floatToHalf(row[column + 1])) << 16;
      } else {
        words[lane] = std::bit_cast<uint32_t>(
            tiles.c[lane / 4 + i / 2 * 8][column + i % 2]);
      }
    }
  }
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void multiplyWide(Tiles<float> &tiles,
                                                      int depth) {
  for (int row = 0; row < kRows; ++row)
    for (int k = 0; k < depth; ++k)
      for (int column = 0; column < kColumns; ++column)
        tiles.c[row][column] = __builtin_fmaf(
            tiles.a[row][k], tiles.b[k][column], tiles.c[row][column]);
}
#endif

void multiply(Tiles<float> &tiles, int depth) {
#if defined(__x86_64__)
  static const bool kHas =
      __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
  if (kHas)
    return multiplyWide(tiles, depth);
#endif
  for (int row = 0; row < kRows; ++row)
    for (int k = 0; k < depth; ++k)
      for (int column = 0; column < kColumns; ++column)
        tiles.c[row][column] += tiles.a[row][k] * tiles.b[k][column];
}

void multiply(Tiles<int32_t> &tiles, int depth, bool saturates) {
  for (int row = 0; row < kRows; ++row)
    for (int column = 0; column < kColumns; ++column) {
      int64_t sum = tiles.c[row][column];
      for (int k = 0; k < depth; ++k)
        sum += tiles.a[row][k] * tiles.b[k][column];
      if (saturates)
        sum = std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(),
                                  std::numeric_limits<int32_t>::max());
      tiles.c[row][column] = int32_t(uint64_t(sum));
    }
}

template <typename T> Step product(Warp &warp, const Instruction &line) {
  Step step = meetWarp(warp, line);
  if (step != Step::Next)
    return step;
  Tiles<T> tiles;
  loadOperands(warp, line, tiles);
  loadAddend(warp, line, tiles);
  if constexpr (std::is_same_v<T, float>)
    multiply(tiles, line.option);
  else
    multiply(tiles, line.option, line.saturate);
  storeResult(warp, line, tiles);
  ++warp.block.state.counts.matrixProducts;
  return Step::Next;
}

bool takeTypes(Line &line, Type &d, Type &c) {
  if (!line.takeType(c) || !line.takeType(line.out.from) ||
      !line.takeType(line.out.type) || !line.takeType(d))
    return false;
  Type a = line.out.type, b = line.out.from;
  bool integers = a.isInteger();
  if (integers) {
    if (a.bits != 8 || b.bits != 8 || !b.isInteger() || d.bits != 32 ||
        d.kind != Type::Signed || !(c == d))
      return line.fail("no such product of integers");
    return true;
  }
  bool fp8 = a.bits == 8 && b.bits == 8 && b.isFloat();
  if (!fp8 && !(a == b))
    return line.fail("the operands differ in type");
  constexpr Type kF32{Type::Float, 32, 1, 8}, kF16{Type::Float, 16, 1, 5};
  if (!(d == kF32) && !(d == kF16 && a == kF16))
    return line.fail("no such type of sums");
  return c == d || line.fail("D and C differ in type");
}

bool decodeProduct(Line &line) {
  Instruction &out = line.out;
  if (!line.take("sync") || !line.take("aligned") || !line.take("row") ||
      !line.take("col"))
    return line.fail("it must be .sync.aligned and .row.col");
  int shape = line.takeOneOf({"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"});
  out.saturate = line.take("satfinite");
  Type d, c;
  if (shape < 0 || !takeTypes(line, d, c))
    return line.fail("unknown shape or types");
  int depth = 4 << shape, words = depth * out.type.bits / 32;
  // Eight rows of k fill one register of a warp with 4 words each.
  if (words != 4 && words != 8)
    return line.fail("no such depth for these types");
  out.option = depth;
  uint8_t given[4];
  if (!line.expect(4) || !line.targetList(0, kB32, given[0]) ||
      !line.sourceList(1, kB32, given[1]) ||
      !line.sourceList(2, kB32, given[2]) ||
      !line.sourceList(3, kB32, given[3]))
    return false;
  uint8_t sums = d.bits == 16 ? 2 : 4;
  uint8_t expected[4] = {sums, uint8_t(words / 2), uint8_t(words / 4), sums};
  for (int i = 0; i < 4; ++i) {
    if (given[i] != expected[i])
      return line.fail(format("operand %d has %d registers, not %d", i,
                              given[i], expected[i]));
    out.counts[i] = given[i];
  }
  return line.finish(out.type.isFloat() ? product<float> : product<int32_t>);
}

} // namespace

float floatElement(Type type, uint32_t word, int index) {
  switch (type.bits) {
  case 32: // tf32: the low bits are not looked at.
    return bitsToFloat(word & 0xffffe000u);
  case 16: {
    uint16_t half = uint16_t(word >> 16 * index);
    return type.kind == Type::BFloat ? brainToFloat(half) : halfToFloat(half);
  }
  default:
    return float(decodeFloat(type, word >> 8 * index & 0xff));
  }
}

int32_t integerElement(Type type, uint32_t word, int index) {
  uint8_t byte = uint8_t(word >> 8 * index);
  return type.kind == Type::Signed ? int8_t(byte) : byte;
}

Step meetWarp(Warp &warp, const Instruction &line) {
  if (warp.present != ~0u)
    return warp.fail(line, std::countr_zero(warp.active),
                     "the warp has fewer than 32 threads");
  return warp.meet(line, ~0u);
}

void addMatrixInstructions(DecodeTable &table) {
  table["ldmatrix"] = decodeLoadMatrix;
  table["mma"] = decodeProduct;
  table["movmatrix"] = decodeMoveMatrix;
  table["stmatrix"] = decodeStoreMatrix;
}

} // namespace tenon::sim
