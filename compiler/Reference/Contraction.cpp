//===- Contraction.cpp - Matrix products ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Reference/Call.h"

using namespace mlir;

namespace tenon::reference {
namespace {

// Four rows by four columns of sums live in registers; more would spill.
constexpr int64_t rows = 4, columns = 4;
using Lanes = double __attribute__((vector_size(columns * sizeof(double))));

Lanes load(const double *from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}

void multiplyTile(int64_t k, const double *a, const double *b, double *c,
                  int64_t aRow, int64_t bRow, int64_t cRow) {
  Lanes sums[rows] = {};
  for (int64_t p = 0; p < k; ++p) {
    Lanes right = load(b + p * bRow);
    sums[0] += a[p] * right;
    sums[1] += a[aRow + p] * right;
    sums[2] += a[2 * aRow + p] * right;
    sums[3] += a[3 * aRow + p] * right;
  }
  for (int64_t i = 0; i < rows; ++i) {
    Lanes sum = load(c + i * cRow) + sums[i];
    std::memcpy(c + i * cRow, &sum, sizeof(sum));
  }
}

/// Any number of rows and columns, for the borders.
void multiplyPlain(int64_t m, int64_t n, int64_t k, const double *a,
                   const double *b, double *c, int64_t aRow, int64_t bRow,
                   int64_t cRow) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p) {
      double left = a[i * aRow + p];
      for (int64_t j = 0; j < n; ++j)
        c[i * cRow + j] += left * b[p * bRow + j];
    }
}

template <typename Word>
void multiplyBatches(Tensor &result, const Word *lhs, const Word *rhs, Word *to,
                     const Shape &left, const Shape &right, int64_t m,
                     int64_t n, int64_t k) {
  Shape index(left.size(), 0);
  ArrayRef<int64_t> batch = ArrayRef(result.shape).drop_back(2);
  int64_t at = 0;
  do {
    int64_t a = 0, b = 0;
    for (size_t i = 0; i < index.size(); ++i) {
      a += index[i] * left[i];
      b += index[i] * right[i];
    }
    multiplyAdd(m, n, k, lhs + a * m * k, rhs + b * k * n, to + at * m * n, k,
                n, n);
    ++at;
  } while (step(index, batch));
}

} // namespace

void multiplyAdd(int64_t m, int64_t n, int64_t k, const double *a,
                 const double *b, double *c, int64_t aRow, int64_t bRow,
                 int64_t cRow) {
  // A slice of B that stays in the cache while all rows of A pass.
  constexpr int64_t depth = 256, width = 64;
  int64_t fullRows = m - m % rows;
  for (int64_t p = 0; p < k; p += depth) {
    int64_t kb = std::min(depth, k - p);
    for (int64_t j = 0; j < n; j += width) {
      int64_t nb = std::min(width, n - j), fullColumns = nb - nb % columns;
      const double *right = b + p * bRow + j;
      for (int64_t i = 0; i < fullRows; i += rows) {
        const double *left = a + i * aRow + p;
        double *out = c + i * cRow + j;
        for (int64_t jj = 0; jj < fullColumns; jj += columns)
          multiplyTile(kb, left, right + jj, out + jj, aRow, bRow, cRow);
        multiplyPlain(rows, nb - fullColumns, kb, left, right + fullColumns,
                      out + fullColumns, aRow, bRow, cRow);
      }
      multiplyPlain(m - fullRows, nb, kb, a + fullRows * aRow + p, right,
                    c + fullRows * cRow + j, aRow, bRow, cRow);
    }
  }
}

void multiplyAdd(int64_t m, int64_t n, int64_t k, const int64_t *a,
                 const int64_t *b, int64_t *c, int64_t aRow, int64_t bRow,
                 int64_t cRow) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p) {
      int64_t left = a[i * aRow + p];
      const int64_t *right = b + p * bRow;
      int64_t *out = c + i * cRow;
      for (int64_t j = 0; j < n; ++j)
        out[j] = wrapAdd(out[j], wrapMul(left, right[j]));
    }
}

llvm::Error evaluateMatmul(Call &call) {
  const Tensor &lhs = call.operands[0], &rhs = call.operands[1];
  ArrayRef<int64_t> l = lhs.shape, r = rhs.shape;
  Tensor &result = call.make();
  ArrayRef<int64_t> batch = ArrayRef(result.shape).drop_back(2);
  int64_t m = l[l.size() - 2], n = r.back(), k = l.back();
  if (r[r.size() - 2] != k || result.shape.back() != n ||
      result.shape[result.rank() - 2] != m)
    return fault("cannot multiply " + str(l) + " by " + str(r) + " to give " +
                 str(result.shape));
  auto left = broadcastStrides(l.drop_back(2), batch);
  if (!left)
    return left.takeError();
  auto right = broadcastStrides(r.drop_back(2), batch);
  if (!right)
    return right.takeError();
  if (!result.count())
    return llvm::Error::success();
  if (result.isFloat()) {
    multiplyBatches(result, lhs.floats().data(), rhs.floats().data(),
                    result.writeFloats().data(), *left, *right, m, n, k);
    call.round();
    return llvm::Error::success();
  }
  multiplyBatches(result, lhs.ints().data(), rhs.ints().data(),
                  result.writeInts().data(), *left, *right, m, n, k);
  IntKind kind = IntKind::of(result.element);
  for (int64_t &value : result.writeInts())
    value = kind.wrap(value);
  return llvm::Error::success();
}

} // namespace tenon::reference
