//===- WeightBlock.cpp - Parts of matrices, whatever they are made of -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Weights/WeightBlock.h"
#include "mlir/IR/BuiltinTypes.h"
#include <cstring>

namespace tenon {
namespace {

struct Bf16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};

float widen(float value) { return value; }
float widen(Bf16 value) { return widenBf16(value.bits); }
float widen(F16 value) { return widenF16(value.bits); }
float widen(int8_t value) { return value; }
float widen(uint8_t value) { return value; }

/// A block of a weight with bytes of its own, of elements stored as T.
template <typename T>
void readOwnBlock(const Weight &weight, const MatrixBlock &block, float *out,
                  int64_t stride) {
  const char *source = weight.bytes().data();
  int64_t length = weight.shape.empty() ? 1 : weight.shape.back();
  auto at = [&](int64_t row, int64_t column) {
    T element;
    std::memcpy(&element,
                source + (row * length + column) * int64_t(sizeof element),
                sizeof element);
    return widen(element);
  };
  for (int64_t i = 0; i < block.rows && !block.isTransposed; ++i)
    for (int64_t j = 0; j < block.columns; ++j)
      out[i * stride + j] = at(block.row + i, block.column + j);
  for (int64_t j = 0; j < block.columns && block.isTransposed; ++j)
    for (int64_t i = 0; i < block.rows; ++i)
      out[i * stride + j] = at(block.column + j, block.row + i);
}

/// Of matrices side by side, each its share.
void readJoined(const Weight &weight, const MatrixBlock &block, float *out,
                int64_t stride) {
  int64_t begin = block.isTransposed ? block.row : block.column;
  int64_t end = begin + (block.isTransposed ? block.rows : block.columns);
  int64_t first = 0;
  for (const Weight *part : weight.joined) {
    int64_t from = std::max(begin, first);
    int64_t to = std::min(end, first + part->shape[1]);
    if (from < to) {
      MatrixBlock share = block;
      (block.isTransposed ? share.row : share.column) = from - first;
      (block.isTransposed ? share.rows : share.columns) = to - from;
      readBlock(*part, share,
                out + (from - begin) * (block.isTransposed ? stride : 1),
                stride);
    }
    first += part->shape[1];
  }
}

} // namespace

void readBlock(const Weight &weight, const MatrixBlock &block, float *out,
               int64_t stride) {
  if (const Weight *source = weight.rounded ? weight.rounded : weight.widened)
    return readBlock(*source, block, out, stride);
  if (weight.transposed) {
    MatrixBlock other = block;
    other.isTransposed = !block.isTransposed;
    return readBlock(*weight.transposed, other, out, stride);
  }
  if (!weight.joined.empty())
    return readJoined(weight, block, out, stride);
  if (weight.elementType.isBF16())
    return readOwnBlock<Bf16>(weight, block, out, stride);
  if (weight.elementType.isF16())
    return readOwnBlock<F16>(weight, block, out, stride);
  if (weight.elementType.isUnsignedInteger(8))
    return readOwnBlock<uint8_t>(weight, block, out, stride);
  if (weight.elementType.isInteger(8))
    return readOwnBlock<int8_t>(weight, block, out, stride);
  readOwnBlock<float>(weight, block, out, stride);
}

void readRows(
    const Weight &weight,
    llvm::function_ref<void(int64_t first, llvm::ArrayRef<float>)> body) {
  // A transpose is read along columns: lines of the cache should be used.
  constexpr int64_t pieceElements = int64_t(1) << 20, leastRows = 16;
  int64_t count = elementCount(weight.shape).value_or(0);
  if (count == 0)
    return;
  int64_t columns = weight.shape.empty() ? 1 : weight.shape.back();
  int64_t rows = count / columns;
  int64_t atOnce = std::max(pieceElements / columns, leastRows);
  std::vector<float> piece;
  for (int64_t row = 0; row < rows; row += atOnce) {
    int64_t height = std::min(atOnce, rows - row);
    piece.resize(size_t(height * columns));
    readBlock(weight, {row, height, 0, columns, /*isTransposed=*/false},
              piece.data(), columns);
    body(row, piece);
  }
}

} // namespace tenon
