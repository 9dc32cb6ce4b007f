//===- WinogradTransform.cpp - Linear combinations of vectors -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/WinogradTransform.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using Row = kernel::WinogradMatrices::Row;

/// The sum of factors times values. It begins with a factor of one, if there is
/// one.
Value combine(Emitter &e, VectorType vector, const Row &factors,
              ArrayRef<Value> values) {
  auto splat = [&](double factor) -> Value {
    return arith::ConstantOp::create(
        e.b, SplatElementsAttr::get(vector, float(factor)));
  };
  size_t first = llvm::find(factors, 1.0) - factors.begin();
  if (first == factors.size())
    first = 0;
  Value sum = values[first];
  if (factors[first] != 1)
    sum = arith::MulFOp::create(e.b, sum, splat(factors[first]));
  for (auto [i, factor] : llvm::enumerate(factors)) {
    if (i == first || factor == 0)
      continue;
    if (factor == 1)
      sum = arith::AddFOp::create(e.b, sum, values[i]);
    else if (factor == -1)
      sum = arith::SubFOp::create(e.b, sum, values[i]);
    else
      sum = LLVM::FMAOp::create(e.b, values[i], splat(factor), sum);
  }
  return sum;
}

} // namespace

void transformSquare(Emitter &e, VectorType vector, ArrayRef<Row> matrix,
                     function_ref<Value(int64_t, int64_t)> load,
                     function_ref<void(int64_t, int64_t, Value)> store) {
  int64_t side = matrix[0].size();
  SmallVector<SmallVector<Value>> rows(matrix.size());
  for (int64_t x = 0; x < side; ++x) {
    SmallVector<Value> column;
    for (int64_t y = 0; y < side; ++y)
      column.push_back(load(y, x));
    for (auto [row, factors] : llvm::zip(rows, matrix))
      row.push_back(combine(e, vector, factors, column));
  }
  for (auto [y, row] : llvm::enumerate(rows))
    for (auto [x, factors] : llvm::enumerate(matrix))
      store(y, x, combine(e, vector, factors, row));
}

} // namespace tenon::cpu
